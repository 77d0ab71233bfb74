//! Every schedule under one Run: what each takes and holds, and what choosing it sets. For the table on the page and
//! for a second schedule on the same axis.

use super::evaluate::{Evaluation, evaluate};
use super::schedule::spec;
use crate::memory::Verdict;
use crate::message::Message;
use crate::pipeline::spec::op_count;
use crate::pipeline::{Order, SCHEDULES, idea, stats};
use crate::run::{OneOf, Run, Scenario};
use crate::t;
use crate::units::{Bytes, Seconds};
use serde::{Deserialize, Serialize};

/// A schedule of more ops than this is not simulated for a row of the table.
pub const MAX_OPS: u64 = 200_000;

/// A schedule's row.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleRow {
    /// As links write it.
    pub id: &'static str,
    /// As people write it.
    pub name: &'static str,
    /// What it asks for.
    pub needs: &'static str,
    /// The fields to set, as the registry's texts; an empty text unsets.
    pub set: Vec<(&'static str, String)>,
    /// Its figures, or in a few words why there are none.
    pub figures: Result<ScheduleFigures, Message>,
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

/// What `run` becomes under the schedule `id`: two chunks a rank where it wants several and has one, layers split anew
/// where their number of stages changes.
#[must_use]
pub fn with_schedule(run: &Run, id: &str) -> Vec<(&'static str, String)> {
    let mut set = Vec::new();
    let Some(row) = crate::pipeline::schedule(id) else {
        return set;
    };
    set.push(("schedule", row.id.to_owned()));
    let own = row.virtual_stages.is_some() || matches!(row.id, "hanayo" | "custom");
    let chunks = if own {
        1
    } else if run.schedule.id() == id {
        run.virtual_stages
    } else {
        run.virtual_stages.max(2)
    };
    if chunks != run.virtual_stages {
        set.push(("virtual_stages", chunks.to_string()));
    }
    let stages = |run: &Run| run.schedule.stages(run);
    if run.stage_layers.is_some() && run.with_texts(&set).as_ref().map(stages) != Some(stages(run))
    {
        set.push(("stage_layers", String::new()));
    }
    set
}

/// Ops of the Run's schedule; none where the Run makes no sense.
#[must_use]
pub fn work(run: &Run) -> Option<u64> {
    let scenario = Scenario::new(run).ok()?;
    Some(op_count(&spec(&scenario).ok()?))
}

/// Ops above which a Run is not simulated between two key strokes.
const MAX_OPS_AT_ONCE: u64 = 50_000;

/// Whether the Run's simulation takes so long that an interactive program leaves it to a worker. False where the Run is
/// invalid: its errors are found at once.
#[must_use]
pub fn needs_worker(run: &Run) -> bool {
    work(run).is_some_and(|ops| ops > MAX_OPS_AT_ONCE)
}

/// The figures of one schedule under this Run, or in a few words why there are none.
///
/// # Errors
/// Those words.
pub fn schedule_figures(run: &Run, id: &str) -> Result<ScheduleFigures, Message> {
    if id == "custom" && run.schedule_options.order.is_none() {
        return Err(t!("needs an order of your own"));
    }
    let other = run.with_texts(&with_schedule(run, id));
    let other = other.ok_or_else(|| t!("has no place in this run"))?;
    match work(&other) {
        Some(ops) if ops > MAX_OPS => Err(t!(
            "{ops} ops: too many for this table, choose it to see",
            ops
        )),
        _ => match evaluate(&other) {
            Ok(evaluation) => Ok(ScheduleFigures::of(&evaluation)),
            Err(issues) => Err(issues
                .into_iter()
                .next()
                .map_or_else(Message::default, |issue| issue.message)),
        },
    }
}

/// The row of one schedule.
#[must_use]
pub fn schedule_row(run: &Run, id: &str) -> Option<ScheduleRow> {
    schedule_row_with(run, id, schedule_figures(run, id))
}

/// The row of one schedule, its figures computed before.
#[must_use]
pub fn schedule_row_with(
    run: &Run,
    id: &str,
    figures: Result<ScheduleFigures, Message>,
) -> Option<ScheduleRow> {
    let row = crate::pipeline::schedule(id)?;
    Some(ScheduleRow {
        id: row.id,
        name: row.name,
        needs: idea(id)?.needs,
        set: with_schedule(run, id),
        figures,
    })
}

/// Every id, in the menu's order.
pub fn schedule_ids() -> impl Iterator<Item = &'static str> {
    SCHEDULES.iter().map(|row| row.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::report;

    fn rows(run: &Run) -> Vec<ScheduleRow> {
        schedule_ids()
            .filter_map(|id| schedule_row(run, id))
            .collect()
    }

    fn figures(run: &Run, id: &str) -> ScheduleFigures {
        schedule_row(run, id).unwrap().figures.unwrap()
    }

    #[test]
    fn a_row_says_what_choosing_it_gives() {
        let run = Run::default();
        let mut shown = 0;
        for row in rows(&run) {
            let chosen = report(&run.with_texts(&row.set).unwrap());
            let Ok(figures) = row.figures else {
                assert!(row.id == "custom" || chosen.is_err(), "{}", row.id);
                continue;
            };
            let chosen = chosen.unwrap();
            assert_eq!(chosen.pipeline.schedule, row.id);
            assert_eq!(chosen.step.time_s, figures.step_s, "{}", row.id);
            assert_eq!(chosen.memory.peak_bytes, figures.peak_bytes, "{}", row.id);
            shown += 1;
        }
        assert!(
            shown >= 24,
            "{shown} of 25 schedules run on the default layout"
        );
    }

    /// Messages and copies as printed in the survey's table: 2(p−1), 2(pv−1), 4(p−1); 2/p weights for both directions.
    #[test]
    fn messages_and_weight_copies_are_those_of_the_papers() {
        let run = Run::default(); // p = 4, m = 32
        for (id, messages, copies) in [
            ("gpipe", 6.0, 1),
            ("1f1b", 6.0, 1),
            ("interleaved-1f1b", 14.0, 1),
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
        let chimera = schedule_row(&odd, "chimera").unwrap();
        assert!(chimera.figures.is_err_and(|why| !why.is_empty()));
        let custom = schedule_row(&odd, "custom").unwrap();
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
        let skipped = schedule_row(&long, "1f1b").unwrap().figures.unwrap_err();
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
        assert!(schedule_row(&run, "zb-v").unwrap().figures.is_ok());
    }
}
