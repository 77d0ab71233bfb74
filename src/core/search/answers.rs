//! Questions with one answer: how few GPUs can train this, how long may a sequence be, how large a micro-batch. And
//! what is cheapest for a token budget: a row for each number of GPUs.

use super::sweep::{Grown, Points, Sweep, Until, doublings};
use crate::memory::Verdict;
use crate::report::plain_report as report;
use crate::run::Run;
use serde::{Deserialize, Serialize};

/// Most GPUs that are tried.
pub const MAX_GPUS: u64 = 131_072;
/// Longest sequence that is tried.
const MAX_TOKENS: u64 = 1 << 24;
/// Largest micro-batch that is tried.
const MAX_SEQUENCES: u64 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlanQuestion {
    /// Fewest GPUs on which some layout fits.
    FewestGpus,
    /// Longest sequence, by doubling, that some layout on these GPUs fits.
    LongestSequence,
}

/// State of the answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum AnswerState {
    Sweep(PlanQuestion, Points),
    /// The run's own layout with the largest micro-batch that fits, if any does.
    MicroBatch(Box<Option<Run>>),
}

impl PlanQuestion {
    /// The sweep that answers it for `run`.
    pub fn sweep(self, run: &Run) -> Sweep {
        let (grown, values, until) = match self {
            Self::FewestGpus => (Grown::Gpus, doublings(1, MAX_GPUS), Until::Fits),
            Self::LongestSequence => {
                let values = doublings(run.seq_len, MAX_TOKENS);
                (Grown::SeqLen, values, Until::Fails)
            }
        };
        Sweep::new(run, grown, values, until)
    }
}

/// The fastest layouts of `run` on 1, 2, 4, … GPUs up to those that it has.
pub(crate) fn fewer_gpus(run: &Run) -> Sweep {
    let mut values = doublings(1, run.gpus);
    if values.last() != Some(&run.gpus) {
        values.push(run.gpus);
    }
    Sweep::new(run, Grown::Gpus, values, Until::End)
}

/// The largest micro-batch that divides the batch and fits in the layout of `run`.
pub(crate) fn largest_micro_batch(run: &Run) -> Option<Run> {
    let sizes = (1..=MAX_SEQUENCES.min(run.global_batch)).rev();
    sizes
        .filter(|size| run.global_batch.is_multiple_of(*size))
        .map(|micro_batch| Run { micro_batch, microbatch_lengths: None, ..run.clone() })
        .find(|run| report(run).is_ok_and(|report| report.memory.overall() == Verdict::Fits))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 16 bytes and more a parameter: 8 B parameters do not train on one 80 GB GPU, and do on a node.
    #[test]
    fn eight_billion_parameters_need_more_than_one_gpu_and_at_most_a_node() {
        let run = Run { global_batch: 64, ..Run::default() };
        let mut sweep = PlanQuestion::FewestGpus.sweep(&run);
        sweep.finish();
        let (gpus, found) = sweep.found.last_fit().unwrap();
        assert!((2..=8).contains(&gpus), "{gpus}");
        assert_eq!(found.run.gpus, gpus);
    }

    #[test]
    fn the_largest_micro_batch_fits_and_twice_of_it_does_not() {
        let found = largest_micro_batch(&Run::default()).unwrap();
        let memory = |micro_batch| {
            let run = Run { micro_batch, ..Run::default() };
            report(&run).map(|report| report.memory.overall() == Verdict::Fits).ok()
        };
        assert_eq!(memory(found.micro_batch), Some(true));
        assert_ne!(memory(found.micro_batch * 2), Some(true));
    }
}
