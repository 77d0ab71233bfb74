//! A larger batch, where few micro-batches a pipeline are the loss: the idle share of 1F1B is `(p - 1) / (m + p - 1)`
//! (GPipe 2019), so twice the micro-batches m nearly halve it; what a step does once, the gradients' exchange and the
//! optimizer, is for as many more tokens; and a schedule that pairs passes pairs none below a count. Of a Run without a
//! pipeline no batch is proposed: what is said of a larger one counts the micro-batches of a pipeline.

use crate::report::{Report, plain_report as report};
use crate::run::Run;
use crate::search::fastest::serves;
use crate::search::paired::batch_for_pairs;
use crate::search::ranking::{Figures, cost};
use crate::time::PartKind;
use crate::units::Seconds;

/// The largest power of two by which the batch is multiplied.
const MOST: u32 = 3;
/// Share of the gain of the largest batch that is tried which a smaller one has to have, to be proposed: most of it. A
/// choice.
const ENOUGH: f64 = 0.75;
/// Share of the step that a larger batch lessens from which on the batch may be the loss: twice the batch about halves
/// it. A choice.
const LOSS: f64 = 0.1;
/// What a larger batch lessens for each token: the parts of a step that do not grow with its micro-batches.
const LESSENED: [PartKind; 3] = [PartKind::Bubble, PartKind::ExposedDp, PartKind::Optimizer];
/// Units of work of the largest report.
const WORK: u64 = 200_000;

/// The smallest of twice, four and eight times the batch of `run` that gains most of what they can, where that is told
/// and fits, and the units of work that this took. `own` is the report of `run`, `told_from` the share of a step from
/// which on a gain is told.
pub(super) fn larger_batch(run: &Run, own: &Report, told_from: f64) -> (Option<(Run, Figures)>, u64) {
    let mut spent = 1;
    // Below so many micro-batches no messages hide behind another micro-batch.
    let paired = batch_for_pairs(run, own.layout.dp);
    let lacks_pairs = run.schedule.pairs_passes() && run.global_batch < paired;
    let lessened = own.step.parts.iter().filter(|part| LESSENED.contains(&part.kind));
    let lessened: Seconds = lessened.map(|part| part.seconds).sum();
    let is_loss = lessened / own.step.time_s >= LOSS || lacks_pairs;
    if run.pp < 2 || !is_loss || run.microbatch_lengths.is_some() {
        return (None, spent);
    }
    let a_token = |figures: &Figures, run: &Run| figures.time_s.0 / run.global_batch as f64;
    let present = own.step.time_s.0 / run.global_batch as f64;
    // Where no passes run in pairs, the batch from which on they do is the one that the schedule's warning sets.
    let powers = (1..=MOST).map(|power| run.global_batch.saturating_mul(1 << power));
    let batches: Vec<u64> = if lacks_pairs { vec![paired] } else { powers.collect() };
    let mut found: Vec<(f64, Run, Figures)> = Vec::new();
    for global_batch in batches {
        let larger = Run { global_batch, ..run.clone() };
        let work = cost(&larger);
        if work > WORK {
            break;
        }
        spent += work;
        let Ok(after) = report(&larger) else { break };
        let figures = Figures::from(&after);
        if !serves(&larger, &figures.peak) {
            break;
        }
        found.push((1.0 - a_token(&figures, &larger) / present, larger, figures));
    }
    let most = found.iter().map(|(gain, ..)| *gain).fold(0.0, f64::max);
    let enough = told_from.max(ENOUGH * most);
    let first = found.into_iter().find(|(gain, ..)| *gain >= enough);
    (first.map(|(_, run, figures)| (run, figures)), spent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::told_from;
    use crate::search::ladder::{Ladder, LadderEnd};

    /// Llama 3.1 405B on 2,048 H100 in the layout that is chosen for it: bubble and gradients are more than a tenth of
    /// the step at a batch of 256. The batch that is proposed is one of its doublings, trains a token in less time by
    /// the two reports, and gains most of what eight times the batch does; the next smaller one does not.
    #[test]
    fn the_batch_of_a_chosen_layout_is_named_as_its_loss() {
        let set = [("model", "llama-3.1-405b"), ("gpus", "2048"), ("stack", "megatron-2025"), ("global_batch", "256")];
        let run = Run::default().with_texts(&set).unwrap();
        let LadderEnd::Chosen(choice) = Ladder::new(&run).unwrap().finished() else { panic!("none fits") };
        let gain = |batch: u64| {
            let time = |global_batch| {
                let run = Run { global_batch, ..choice.run.clone() };
                report(&run).unwrap().step.time_s.0 / global_batch as f64
            };
            1.0 - time(batch) / time(256)
        };
        let own = report(&choice.run).unwrap();
        let (larger, _) = larger_batch(&choice.run, &own, told_from(&choice.run));
        let (larger, figures) = larger.unwrap();
        assert_eq!(larger, Run { global_batch: larger.global_batch, ..choice.run.clone() });
        assert!([512, 1024, 2048].contains(&larger.global_batch) && serves(&larger, &figures.peak));
        let (least, most) = (told_from(&choice.run), gain(2048));
        assert!(gain(larger.global_batch) >= least.max(0.75 * most), "{}", larger.global_batch);
        assert!(gain(larger.global_batch / 2) < least.max(0.75 * most), "{}", larger.global_batch);
        // At 64 times the batch nothing is left to gain that can be told.
        let ample = Run { global_batch: 16_384, ..choice.run.clone() };
        assert_eq!(larger_batch(&ample, &report(&ample).unwrap(), least).0, None);
    }
}
