//! What the desk is asked besides the search: sweeps over a size, and single questions that sweeps answer.

use crate::run::Run;
use crate::search::answers::{MAX_GPUS, Question, largest_micro_batch};
use crate::search::sweep::{Grown, Sweep, Until, doublings};

/// Shortest sequence of a sweep.
const MIN_TOKENS: u64 = 1024;
/// Longest sequence of a sweep.
const MAX_TOKENS: u64 = 1 << 22;
/// Largest batch of a sweep, sequences.
const MAX_SEQUENCES: u64 = 65_536;

/// A single question with what is known of its answer.
#[derive(Clone, Debug)]
pub enum Asked {
    /// One that a sweep answers.
    Sweep(Question, Box<Sweep>),
    /// The largest micro-batch of the run's own layout.
    MicroBatch(Box<Option<Run>>),
}

/// The sweep called `of`; where nothing fits any more it ends.
pub(super) fn sweep(question: &Run, of: &str) -> Option<Sweep> {
    let (grown, values) = match of {
        "gpus" => (Grown::Gpus, doublings(1, MAX_GPUS)),
        "seq_len" => (Grown::SeqLen, doublings(MIN_TOKENS, MAX_TOKENS)),
        "global_batch" => (Grown::GlobalBatch, doublings(1, MAX_SEQUENCES)),
        _ => return None,
    };
    Some(Sweep::new(question, grown, values, Until::End))
}

/// The question called `of`.
pub(super) fn ask(run: &Run, question: &Run, of: &str) -> Option<Asked> {
    let asked = match of {
        "fewest" => Question::FewestGpus,
        "longest" => Question::LongestSequence,
        "cheapest" => Question::Cheapest,
        "micro-batch" => return Some(Asked::MicroBatch(Box::new(largest_micro_batch(run)))),
        _ => return None,
    };
    Some(Asked::Sweep(asked, Box::new(asked.sweep(question))))
}
