//! Every schedule under one Run: what each takes and holds. For the gallery and for a second schedule on the same axis.

use crate::memory::{StageMemory, Verdict};
use crate::message::Message;
use crate::pipeline::{Order, stats};
use crate::report::{Evaluation, ScheduleVariant, evaluate, work};
use crate::run::Run;
use crate::t;
use crate::units::{Bytes, Seconds};
use serde::{Deserialize, Serialize};

/// A schedule of more ops than this is not simulated beside the others.
pub const MAX_OPS: u64 = 200_000;

/// A schedule's row.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleRow {
    pub variant: ScheduleVariant,
    /// The fields to set, as the registry's texts; an empty text unsets.
    pub set: Vec<(&'static str, String)>,
    /// Its figures, or in a few words why there are none.
    pub figures: Result<ScheduleFigures, Message>,
}

impl ScheduleRow {
    /// The row of `variant` under `run`, its figures computed before; none where it cannot run.
    pub fn of(run: &Run, variant: ScheduleVariant, limit: u64, figures: Option<ScheduleFigures>) -> Self {
        let figures = match figures {
            Some(figures) => Ok(figures),
            // Why it cannot run is found before anything is simulated.
            None => schedule_figures(run, variant, limit),
        };
        let set = variant.set(run, limit);
        Self { variant, set, figures }
    }
}

/// Time and memory of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScheduleFigures {
    /// The whole step.
    pub step_s: Seconds,
    /// First start to last end of the pipeline; of one that never drains, a step.
    pub makespan_s: Seconds,
    /// Idle share of the ranks' time.
    pub bubble_fraction: f64,
    /// Idle between a rank's first and last op over its work, as the zero-bubble papers count.
    pub bubble_span: f64,
    /// Activations of the rank that holds most, in stage-micro-batches.
    pub in_flight: f64,
    /// Activations of the rank that holds most of them.
    pub activations_bytes: Bytes,
    /// Logits and inputs of the head for all micro-batches that the fullest GPU holds. A backward pass in two ops keeps
    /// them until the weight gradient of the head.
    pub head_bytes: Bytes,
    /// The rank of the fullest GPU.
    pub fullest: usize,
    /// Activations of a stage-micro-batch on the rank that holds most of them; then the most of activations, logits and
    /// inputs of the head together.
    pub each_bytes: [Bytes; 2],
    /// The fullest GPU.
    pub peak_bytes: Bytes,
    /// Memory that it is held against.
    pub capacity_bytes: Bytes,
    /// Fits, tight or out of memory.
    pub verdict: Verdict,
    /// Copies of its share of the weights on the rank that holds most.
    pub weight_copies: u32,
    /// Boundary tensors that cross ranks, forward and backward, per micro-batch.
    pub messages: f64,
}

impl ScheduleFigures {
    /// The figures of an evaluated Run.
    pub fn of(evaluation: &Evaluation) -> Self {
        let (report, order) = (&evaluation.report, &evaluation.order);
        let stages = &report.memory.per_stage;
        let most = |bytes: fn(&StageMemory) -> Bytes| stages.iter().map(bytes).fold(Bytes(0.0), Bytes::max);
        let peak = report.pipeline.peak_in_flight.iter().max();
        let in_flight = f64::from(peak.copied().unwrap_or(0)) / a_microbatch(order);
        let held = |rank: &StageMemory| rank.activations + head_bytes(rank);
        let each = [most(|rank| rank.activations), stages.iter().map(held).fold(Bytes(0.0), Bytes::max)];
        Self {
            step_s: report.step.time_s,
            makespan_s: report.pipeline.makespan_s,
            bubble_fraction: report.pipeline.bubble_fraction,
            bubble_span: report.pipeline.bubble_span,
            in_flight,
            head_bytes: stages.get(report.memory.peak_stage).map_or(Bytes::ZERO, head_bytes),
            fullest: report.memory.peak_stage,
            each_bytes: each.map(|bytes| Bytes(bytes.0 / in_flight.max(1.0))),
            activations_bytes: most(|rank| rank.activations),
            peak_bytes: report.memory.peak_bytes,
            capacity_bytes: report.memory.capacity_bytes,
            verdict: report.memory.overall(),
            weight_copies: report.pipeline.weight_copies.iter().copied().max().unwrap_or(1),
            messages: stats::messages_per_microbatch(order),
        }
    }
}

/// Logits and inputs of the head among the memory of a rank.
fn head_bytes(rank: &StageMemory) -> Bytes {
    let of_head = rank.items.iter().filter(|item| ["logits", "inputs of the head"].contains(&item.name));
    of_head.map(|item| item.bytes).sum()
}

/// Chunk activations that make a stage-micro-batch.
fn a_microbatch(order: &Order) -> f64 {
    f64::from(order.chunks_per_rank() * order.splits)
}

/// `run` under `variant`, if it is simulated beside the others, or in a few words why not.
///
/// # Errors
/// The refusal in words.
pub fn run_with(run: &Run, variant: ScheduleVariant, limit: u64) -> Result<Run, Message> {
    let other = run.with_texts(&variant.set(run, limit));
    let other = other.ok_or_else(|| t!("has no place in this run"))?;
    match work(&other) {
        Some(ops) if ops > MAX_OPS => Err(t!("{ops} ops: too many to show beside the others, choose it to see", ops)),
        _ => Ok(other),
    }
}

/// The figures of one schedule under this Run, or in a few words why there are none.
///
/// # Errors
/// The refusal in words.
pub fn schedule_figures(run: &Run, variant: ScheduleVariant, limit: u64) -> Result<ScheduleFigures, Message> {
    let first = |issues: Vec<crate::issue::Issue>| {
        let first = issues.into_iter().next();
        first.map_or_else(Message::default, |issue| issue.message)
    };
    let evaluation = evaluate(&run_with(run, variant, limit)?).map_err(first)?;
    Ok(ScheduleFigures::of(&evaluation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{memory_limit, report, with_schedule};

    fn row(run: &Run, text: &str) -> ScheduleRow {
        let variant = ScheduleVariant::named(text).unwrap();
        ScheduleRow::of(run, variant, memory_limit(run), None)
    }

    fn rows(run: &Run) -> Vec<ScheduleRow> {
        let variants = ScheduleVariant::all(run).into_iter();
        variants.map(|variant| row(run, &variant.to_string())).collect()
    }

    fn figures(run: &Run, text: &str) -> ScheduleFigures {
        row(run, text).figures.unwrap()
    }

    #[test]
    fn a_row_says_what_choosing_it_gives() {
        let run = Run::default();
        let mut runnable = 0;
        for row in rows(&run) {
            let chosen = report(&run.with_texts(&row.set).unwrap());
            let variant = row.variant;
            let Ok(figures) = row.figures else {
                assert!(chosen.is_err(), "{variant}");
                continue;
            };
            let chosen = chosen.unwrap();
            assert_eq!(chosen.pipeline.schedule, variant.schedule);
            assert_eq!(chosen.step.time_s, figures.step_s, "{variant}");
            assert_eq!(chosen.memory.peak_bytes, figures.peak_bytes, "{variant}");
            runnable += 1;
        }
        assert!(runnable >= 24, "{runnable} of 26 variants run on the default layout");
    }

    /// Messages and copies of the papers (`docs/methods/schedules.md`): 2(p−1), 2(pv−1), 4(p−1); 2/p weights for
    /// both directions.
    #[test]
    fn messages_and_weight_copies_are_those_of_the_papers() {
        let run = Run::default(); // p = 4, m = 32
        for (id, messages, copies) in [
            ("gpipe", 6.0, 1),
            ("1f1b", 6.0, 1),
            ("interleaved-1f1b.2", 14.0, 1),
            ("zb-v", 12.0, 1),
            ("dualpipe", 6.0, 2),
            ("dualpipev", 12.0, 1),
            ("chimera", 6.0, 2),
            ("pipedream", 6.0, 4),
        ] {
            let found = figures(&run, id);
            assert!((found.messages - messages).abs() < 1e-9, "{id}: {}", found.messages);
            assert_eq!(found.weight_copies, copies, "{id}");
        }
    }

    /// Peak activations of the papers (`docs/methods/schedules.md`), in stage-micro-batches: p, m, 2p − 1, (p + 1).
    #[test]
    fn peaks_are_those_of_the_papers() {
        let run = Run::default();
        for (id, peak) in [
            ("1f1b", 4.0),
            ("gpipe", 32.0),
            ("zb-h2", 7.0),
            ("dualpipe", 5.0),
            ("zb-v", 4.0),
            ("v-half", 3.0),
            ("v-min", 2.0),
        ] {
            let found = figures(&run, id).in_flight;
            assert!((found - peak).abs() < 1e-9, "{id}: {found}");
        }
    }

    #[test]
    fn what_cannot_run_says_why_and_what_is_too_long_is_left_out() {
        let odd = Run { pp: 1, ..Run::default() };
        let chimera = row(&odd, "chimera");
        assert!(chimera.figures.is_err_and(|why| !why.is_empty()));
        let custom = row(&odd, "custom");
        assert!(custom.figures.is_err_and(|why| why.to_string().contains("order")));
        let long = Run { pp: 32, tp: 1, gpus: 32, global_batch: 4096, ..Run::default() };
        let skipped = row(&long, "1f1b").figures.unwrap_err();
        assert!(skipped.to_string().contains("ops: too many"), "{skipped}");
    }

    #[test]
    fn uneven_layers_are_split_anew_where_the_stages_change() {
        let run = Run { stage_layers: Some(vec![7, 8, 8, 9]), ..Run::default() };
        assert!(with_schedule(&run, "gpipe").iter().all(|(key, _)| *key != "stage_layers"));
        assert!(with_schedule(&run, "zb-v").contains(&("stage_layers", String::new())));
        assert!(row(&run, "zb-v").figures.is_ok());
    }

    /// Zero Bubble, section 4: the less memory, the more bubble; the limit counts stage-micro-batches for both
    /// families.
    #[test]
    fn a_memory_limit_trades_memory_for_bubble() {
        let run = Run::default();
        for (id, chunks) in [("zb-auto", 1.0), ("zb-v-auto", 2.0)] {
            let figures = |limit: u64| {
                let variant = ScheduleVariant::named(id).unwrap();
                schedule_figures(&run, variant, limit).unwrap()
            };
            let (low, high) = (figures(4), figures(8));
            assert!(low.in_flight <= 4.0 && high.in_flight <= 8.0, "{id}");
            assert!(high.bubble_span <= low.bubble_span, "{id}");
            let set = ScheduleVariant::named(id).unwrap().set(&run, 8);
            let limit = (8.0 * chunks).to_string();
            assert!(set.contains(&("schedule_options.memory_limit", limit)), "{id}");
            let run = run.with_texts(&set).unwrap();
            assert_eq!(memory_limit(&run), 8, "{id}");
        }
    }

    #[test]
    fn interleaving_holds_the_activations_of_p_stages_and_a_share_of_p_minus_one() {
        // Korthikanti 2022: A (1 + (p - 1)/(p v)) where 1F1B holds A, the activations of p stages.
        for (v, held) in [(2, 4.0 + 3.0 / 2.0), (4, 4.0 + 3.0 / 4.0)] {
            let figures = {
                let variant = ScheduleVariant::named(&format!("interleaved-1f1b.{v}")).unwrap();
                schedule_figures(&Run::default(), variant, 4).unwrap()
            };
            assert!((figures.in_flight - held).abs() < 1e-9, "{v}: {}", figures.in_flight);
        }
    }
}
