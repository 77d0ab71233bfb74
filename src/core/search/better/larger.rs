//! A larger batch, where few micro-batches a pipeline are the loss: the idle share of 1F1B is `(p - 1) / (m + p - 1)`
//! (GPipe 2019), so twice the micro-batches m nearly halve it; and a schedule that pairs passes pairs none below a
//! count.

use crate::report::{Report, plain_report as report};
use crate::run::Run;
use crate::search::fastest::serves;
use crate::search::paired::batch_for_pairs;
use crate::search::ranking::{Figures, cost};

/// Times the batch, at most.
const MOST: u64 = 16;
/// Share of the time a token that a batch twice as large has to save.
const WORTH: f64 = 0.05;
/// Idle share from which on the batch may be the loss: twice the batch saves about half of it.
const IDLE: f64 = 2.0 * WORTH;
/// Units of work of the largest report.
const WORK: u64 = 200_000;

/// The batch of `run` doubled as long as each time saves something worth it and still fits, and the units of work that
/// this took. `own` is the report of `run`, `told_from` the share of a step from
/// which on a gain is told.
pub(super) fn larger_batch(run: &Run, own: &Report, told_from: f64) -> (Option<(Run, Figures)>, u64) {
    let mut spent = 1;
    // Below so many micro-batches no messages hide behind another micro-batch.
    let paired = batch_for_pairs(run, own.layout.dp);
    let lacks_pairs = run.schedule.pairs_passes() && run.global_batch < paired;
    let is_loss = own.pipeline.bubble_fraction >= IDLE || lacks_pairs;
    if run.pp < 2 || !is_loss || run.microbatch_lengths.is_some() {
        return (None, spent);
    }
    let a_token = |figures: &Figures, run: &Run| figures.time_s.0 / run.global_batch as f64;
    let present = own.step.time_s.0 / run.global_batch as f64;
    let mut best: Option<(Run, Figures)> = None;
    let mut least = present;
    // Where no passes run in pairs, the batch from which on they do is the one that the schedule's warning sets.
    let doubled = (1..=MOST.ilog2()).map(|power| run.global_batch.saturating_mul(1 << power));
    let batches: Vec<u64> = if lacks_pairs { vec![paired] } else { doubled.collect() };
    for global_batch in batches {
        let larger = Run { global_batch, ..run.clone() };
        let work = cost(&larger);
        if work > WORK {
            break;
        }
        spent += work;
        let Ok(after) = report(&larger) else { break };
        let figures = Figures::from(&after);
        let time = a_token(&figures, &larger);
        if !serves(&larger, &figures.peak) || time > least * (1.0 - WORTH) {
            break;
        }
        least = time;
        best = Some((larger, figures));
    }
    (best.filter(|_| least <= present * (1.0 - told_from)), spent)
}
