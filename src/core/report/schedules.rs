//! Every schedule under one Run: what each takes and holds, and what choosing it sets. For the gallery and for a second
//! schedule on the same axis.

use super::evaluate::{Evaluation, evaluate};
use super::schedule::spec;
use crate::memory::Verdict;
use crate::message::Message;
use crate::pipeline::spec::op_count;
use crate::pipeline::{Order, SCHEDULES, Schedule, Spec, schedule, stats};
use crate::run::{OneOf, Run, Scenario};
use crate::t;
use crate::units::{Bytes, Seconds};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// A schedule of more ops than this is not simulated beside the others.
pub const MAX_OPS: u64 = 200_000;

/// Chunks a rank with which interleaving is shown.
const CHUNKS: [u64; 3] = [2, 4, 8];

/// A schedule as it is shown beside the others: interleaving once for each number of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The schedule, as links write it.
    pub id: &'static str,
    /// Chunks a rank, where it is shown with several numbers of them.
    pub chunks: Option<u64>,
}

impl Variant {
    /// All that are shown for `run`, in the menu's order: an order of one's own only where the Run has one.
    #[must_use]
    pub fn all(run: &Run) -> Vec<Self> {
        let own = Self::of(run);
        let mut all = Vec::new();
        for Schedule { id, .. } in SCHEDULES {
            match *id {
                "custom" if own.id != *id => {}
                "interleaved-1f1b" => {
                    let mut chunks = CHUNKS.to_vec();
                    chunks.extend(own.chunks.filter(|chunks| !CHUNKS.contains(chunks)));
                    chunks.sort_unstable();
                    let each = chunks.into_iter().map(Some);
                    all.extend(each.map(|chunks| Self { id, chunks }));
                }
                _ => all.push(Self { id, chunks: None }),
            }
        }
        all
    }

    /// The one that `run` has.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let id = run.schedule.id();
        let chunks = (id == "interleaved-1f1b").then_some(run.virtual_stages);
        Self { id, chunks }
    }

    /// The one that a link names: `zb-v`, `interleaved-1f1b.4`.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        let (id, chunks) = match text.split_once('.') {
            Some((id, chunks)) => (id, Some(chunks.parse().ok().filter(|chunks| *chunks > 0)?)),
            None => (text, None),
        };
        let id = schedule(id)?.id;
        (chunks.is_some() == (id == "interleaved-1f1b")).then_some(Self { id, chunks })
    }

    /// As people write it.
    #[must_use]
    pub fn name(self) -> String {
        let name = schedule(self.id).map_or(self.id, |row| row.name);
        match self.chunks {
            Some(chunks) => format!("{name}, v = {chunks}"),
            None => name.to_owned(),
        }
    }

    /// What makes it the schedule of `run`, as the registry's texts: an empty text unsets. `limit` is the activations that
    /// a rank may hold of a schedule that is laid out within a limit, in stage-micro-batches.
    #[must_use]
    pub fn set(self, run: &Run, limit: u64) -> Vec<(&'static str, String)> {
        let mut set = with_chunks(run, self.id, self.chunks);
        let row = schedule(self.id).filter(|row| row.uses("memory_limit"));
        let is_set = run.schedule.id() == self.id && memory_limit(run) == limit;
        if let Some(row) = row.filter(|_| !is_set) {
            let chunks = u64::from(row.virtual_stages.unwrap_or(1));
            let default = limit == run.pp && run.schedule_options.memory_limit.is_none();
            if !default {
                let value = limit.saturating_mul(chunks).to_string();
                set.push(("schedule_options.memory_limit", value));
            }
        }
        set
    }
}

impl Display for Variant {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)?;
        self.chunks.map_or(Ok(()), |chunks| write!(f, ".{chunks}"))
    }
}

/// The activations that a rank of `run` may hold, in stage-micro-batches: p where its schedule takes no limit.
#[must_use]
pub fn memory_limit(run: &Run) -> u64 {
    let row = schedule(run.schedule.id()).filter(|row| row.uses("memory_limit"));
    let limit = row.and_then(|row| {
        let chunks = u64::from(row.virtual_stages.unwrap_or(1)).max(1);
        Some(run.schedule_options.memory_limit? / chunks)
    });
    limit.unwrap_or(run.pp)
}

/// A schedule's row.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleRow {
    /// Which.
    pub variant: Variant,
    /// The fields to set, as the registry's texts; an empty text unsets.
    pub set: Vec<(&'static str, String)>,
    /// Its figures, or in a few words why there are none.
    pub figures: Result<ScheduleFigures, Message>,
}

impl ScheduleRow {
    /// The row of `variant` under `run`, its figures computed before; none where it cannot run.
    #[must_use]
    pub fn of(run: &Run, variant: Variant, limit: u64, figures: Option<ScheduleFigures>) -> Self {
        let figures = match figures {
            Some(figures) => Ok(figures),
            // Why it cannot run is found before anything is simulated.
            None => schedule_figures(run, variant, limit),
        };
        let set = variant.set(run, limit);
        Self {
            variant,
            set,
            figures,
        }
    }
}

/// What a schedule takes and holds.
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
    /// The fullest GPU.
    pub peak_bytes: Bytes,
    /// Fits, tight or out of memory.
    pub verdict: Verdict,
    /// Copies of its share of the weights on the rank that holds most.
    pub weight_copies: u32,
    /// Boundary tensors that cross ranks, forward and backward, per micro-batch.
    pub messages: f64,
}

impl ScheduleFigures {
    /// Of an evaluated Run.
    #[must_use]
    pub fn of(evaluation: &Evaluation) -> Self {
        let (report, order) = (&evaluation.report, &evaluation.order);
        let stages = &report.memory.per_stage;
        let most = |bytes: fn(&crate::memory::StageMemory) -> Bytes| {
            stages.iter().map(bytes).fold(Bytes(0.0), Bytes::max)
        };
        let peak = report.pipeline.peak_in_flight.iter().max();
        Self {
            step_s: report.step.time_s,
            makespan_s: report.pipeline.makespan_s,
            bubble_fraction: report.pipeline.bubble_fraction,
            bubble_span: report.pipeline.bubble_span,
            in_flight: f64::from(peak.copied().unwrap_or(0)) / a_microbatch(order),
            activations_bytes: most(|rank| rank.activations),
            peak_bytes: report.memory.peak_bytes,
            verdict: report.memory.verdict,
            weight_copies: report
                .pipeline
                .weight_copies
                .iter()
                .copied()
                .max()
                .unwrap_or(1),
            messages: stats::messages_per_microbatch(order),
        }
    }
}

/// Chunk activations that make a stage-micro-batch.
fn a_microbatch(order: &Order) -> f64 {
    f64::from(order.chunks_per_rank() * order.splits)
}

/// What `run` becomes under the schedule `id`: two chunks a rank where it needs several and has one, layers split anew
/// where their number of stages changes.
#[must_use]
pub fn with_schedule(run: &Run, id: &str) -> Vec<(&'static str, String)> {
    with_chunks(run, id, None)
}

/// The same with so many chunks a rank, where they are said.
fn with_chunks(run: &Run, id: &str, chunks: Option<u64>) -> Vec<(&'static str, String)> {
    let mut set = Vec::new();
    let Some(row) = schedule(id) else {
        return set;
    };
    if run.schedule.id() != id {
        set.push(("schedule", row.id.to_owned()));
    }
    let own = row.virtual_stages.is_some() || matches!(row.id, "hanayo" | "custom");
    let chunks = match chunks {
        Some(chunks) => chunks,
        None if own => 1,
        None if run.schedule.id() == id => run.virtual_stages,
        None => run.virtual_stages.max(2),
    };
    if chunks != run.virtual_stages {
        set.push(("virtual_stages", chunks.to_string()));
    }
    let stages = |run: &Run| run.schedule.stages(run);
    let split = [
        ("stage_layers", run.stage_layers.is_some()),
        ("mtp_stage", run.mtp_stage.is_some()),
    ];
    if run.with_texts(&set).as_ref().map(stages) != Some(stages(run)) {
        let said = split.into_iter().filter(|(_, said)| *said);
        set.extend(said.map(|(field, _)| (field, String::new())));
    }
    set
}

/// Ops of the Run's schedule; none where the Run makes no sense.
#[must_use]
pub fn work(run: &Run) -> Option<u64> {
    let scenario = Scenario::new(run).ok()?;
    Some(op_count(&spec(&scenario).ok()?))
}

/// Ops above which nothing is simulated between two key strokes.
pub const MAX_OPS_AT_ONCE: u64 = 50_000;

/// Micro-batches per rank that an order is simulated for, about, until it repeats itself.
const UNTIL_PERIODIC: u32 = 4;

/// Whether the Run's report takes so long that an interactive program leaves it to a worker: where many ops are laid out
/// or simulated for it, one by one. False where the Run is invalid: its errors are found at once.
#[must_use]
pub fn needs_worker(run: &Run) -> bool {
    let Some(spec) = Scenario::new(run).ok().and_then(|all| spec(&all).ok()) else {
        return false;
    };
    let whole = spec.schedule.uses_durations || run.microbatch_lengths.is_some();
    let few = spec.microbatches.min(UNTIL_PERIODIC * spec.pp);
    let microbatches = if whole { spec.microbatches } else { few };
    op_count(&Spec {
        microbatches,
        ..spec
    }) > MAX_OPS_AT_ONCE
}

/// `run` under `variant`, if it is simulated beside the others, or in a few words why not.
///
/// # Errors
/// Those words.
pub fn run_with(run: &Run, variant: Variant, limit: u64) -> Result<Run, Message> {
    let other = run.with_texts(&variant.set(run, limit));
    let other = other.ok_or_else(|| t!("has no place in this run"))?;
    match work(&other) {
        Some(ops) if ops > MAX_OPS => Err(t!(
            "{ops} ops: too many to show beside the others, choose it to see",
            ops
        )),
        _ => Ok(other),
    }
}

/// The figures of one schedule under this Run, or in a few words why there are none.
///
/// # Errors
/// Those words.
pub fn schedule_figures(
    run: &Run,
    variant: Variant,
    limit: u64,
) -> Result<ScheduleFigures, Message> {
    let first = |issues: Vec<crate::issue::Issue>| {
        let first = issues.into_iter().next();
        first.map_or_else(Message::default, |issue| issue.message)
    };
    let evaluation = evaluate(&run_with(run, variant, limit)?).map_err(first)?;
    Ok(ScheduleFigures::of(&evaluation))
}

/// Every id, in the menu's order.
pub fn schedule_ids() -> impl Iterator<Item = &'static str> {
    SCHEDULES.iter().map(|row| row.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::report;

    fn row(run: &Run, text: &str) -> ScheduleRow {
        let variant = Variant::named(text).unwrap();
        ScheduleRow::of(run, variant, memory_limit(run), None)
    }

    fn rows(run: &Run) -> Vec<ScheduleRow> {
        let all = Variant::all(run).into_iter();
        all.map(|variant| row(run, &variant.to_string())).collect()
    }

    fn figures(run: &Run, text: &str) -> ScheduleFigures {
        row(run, text).figures.unwrap()
    }

    #[test]
    fn a_row_says_what_choosing_it_gives() {
        let run = Run::default();
        let mut shown = 0;
        for row in rows(&run) {
            let chosen = report(&run.with_texts(&row.set).unwrap());
            let variant = row.variant;
            let Ok(figures) = row.figures else {
                assert!(chosen.is_err(), "{variant}");
                continue;
            };
            let chosen = chosen.unwrap();
            assert_eq!(chosen.pipeline.schedule, variant.id);
            assert_eq!(chosen.step.time_s, figures.step_s, "{variant}");
            assert_eq!(chosen.memory.peak_bytes, figures.peak_bytes, "{variant}");
            shown += 1;
        }
        assert!(
            shown >= 24,
            "{shown} of 26 variants run on the default layout"
        );
    }

    /// Messages and copies as printed in the survey's table: 2(p−1), 2(pv−1), 4(p−1); 2/p weights for both directions.
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
            assert!(
                (found.messages - messages).abs() < 1e-9,
                "{id}: {}",
                found.messages
            );
            assert_eq!(found.weight_copies, copies, "{id}");
        }
    }

    /// Peak activations of the survey's table, in stage-micro-batches: p, m, 2p − 1, (p + 1).
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
        let odd = Run {
            pp: 1,
            ..Run::default()
        };
        let chimera = row(&odd, "chimera");
        assert!(chimera.figures.is_err_and(|why| !why.is_empty()));
        let custom = row(&odd, "custom");
        assert!(
            custom
                .figures
                .is_err_and(|why| why.to_string().contains("order"))
        );
        let long = Run {
            pp: 32,
            tp: 1,
            gpus: 32,
            global_batch: 4096,
            ..Run::default()
        };
        let skipped = row(&long, "1f1b").figures.unwrap_err();
        assert!(skipped.to_string().contains("ops: too many"), "{skipped}");
    }

    #[test]
    fn uneven_layers_are_split_anew_where_the_stages_change() {
        let run = Run {
            stage_layers: Some(vec![7, 8, 8, 9]),
            ..Run::default()
        };
        assert!(
            with_schedule(&run, "gpipe")
                .iter()
                .all(|(key, _)| *key != "stage_layers")
        );
        assert!(with_schedule(&run, "zb-v").contains(&("stage_layers", String::new())));
        assert!(row(&run, "zb-v").figures.is_ok());
    }

    /// Narayanan 2021: interleaving divides the bubble's share of the work by v, and holds more activations.
    #[test]
    fn interleaving_is_shown_for_each_number_of_chunks_and_the_run_s_own() {
        let run = |virtual_stages| Run {
            schedule: crate::run::Schedule::Interleaved,
            virtual_stages,
            ..Run::default()
        };
        let chunks = |run: &Run| -> Vec<u64> {
            let all = Variant::all(run).into_iter();
            all.filter_map(|variant| variant.chunks).collect()
        };
        assert_eq!(chunks(&Run::default()), [2, 4, 8]);
        assert_eq!(chunks(&run(4)), [2, 4, 8]);
        assert_eq!(chunks(&run(3)), [2, 3, 4, 8]);
        // Korthikanti 2022: A (1 + (p - 1)/(p v)) where 1F1B holds A, the activations of p stages.
        for (v, held) in [(2, 4.0 + 3.0 / 2.0), (4, 4.0 + 3.0 / 4.0)] {
            let found = figures(&Run::default(), &format!("interleaved-1f1b.{v}"));
            assert!(
                (found.in_flight - held).abs() < 1e-9,
                "{v}: {}",
                found.in_flight
            );
        }
    }

    #[test]
    fn a_variant_reads_as_it_is_written_and_the_run_s_own_sets_nothing() {
        for variant in Variant::all(&Run::default()) {
            assert_eq!(Variant::named(&variant.to_string()), Some(variant));
        }
        for text in [
            "",
            "zb",
            "zb-v.2",
            "interleaved-1f1b",
            "interleaved-1f1b.0",
            "interleaved-1f1b.x",
        ] {
            assert_eq!(Variant::named(text), None, "{text}");
        }
        for id in schedule_ids().filter(|id| *id != "custom") {
            let run = Run::default();
            let run = run.with_texts(&with_schedule(&run, id)).unwrap();
            assert_eq!(Variant::of(&run).set(&run, memory_limit(&run)), [], "{id}");
        }
    }

    /// Zero Bubble, section 4: the less memory, the more bubble; the limit counts stage-micro-batches for both families.
    #[test]
    fn a_memory_limit_trades_memory_for_bubble() {
        let run = Run::default();
        for (id, chunks) in [("zb-auto", 1.0), ("zb-v-auto", 2.0)] {
            let of = |limit: u64| {
                let variant = Variant::named(id).unwrap();
                schedule_figures(&run, variant, limit).unwrap()
            };
            let (low, high) = (of(4), of(8));
            assert!(low.in_flight <= 4.0 && high.in_flight <= 8.0, "{id}");
            assert!(high.bubble_span <= low.bubble_span, "{id}");
            let set = Variant::named(id).unwrap().set(&run, 8);
            let limit = (8.0 * chunks).to_string();
            assert!(
                set.contains(&("schedule_options.memory_limit", limit)),
                "{id}"
            );
            let run = run.with_texts(&set).unwrap();
            assert_eq!(memory_limit(&run), 8, "{id}");
        }
    }
}
