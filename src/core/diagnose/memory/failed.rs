//! The run that failed, by the sizes of its message: where more was allocated than the run on the page predicts, the
//! run of those tried that explains what was held and asked for.

use super::rules::tried;
use super::{MemoryFound, PredictedMemory};
use crate::maths::ln;
use crate::message::Message;
use crate::run::{CrossEntropy, OneOf, Run};
use crate::t;

/// Fields and values of a change of a run.
pub(super) type SetFields = Vec<(&'static str, String)>;

/// A run that failed and is not the one on the page.
pub(super) struct FailedRun {
    /// Fields in which it differs from the run on the page, as far as they are known.
    pub set: SetFields,
    /// What is predicted with `set`; none if nothing of it is known.
    pub memory: Option<PredictedMemory>,
    /// The tensors that are predicted with `set` are those that the message says were held and asked for.
    pub is_explained: bool,
    /// The micro-batch whose logits were asked for, if it is larger than that of the page.
    pub micro_batch: Option<u64>,
    /// `set` in words.
    pub words: Vec<Message>,
}

/// A change that is tried, in words and in fields; both are empty for the run as it is.
type TriedChange = (Vec<Message>, SetFields);

impl FailedRun {
    /// The run that failed; none if the sizes of the message are no evidence of another run than `run`.
    pub fn of(found: &MemoryFound, run: &Run) -> Option<Self> {
        let allocated = found.message.allocated?;
        let [_, whole, _, capacity] = found.need?;
        // A run that does not fit by the prediction fails before all of its tensors are there.
        let [_, _, high] = found.predicted_tensors().filter(|_| whole <= capacity)?;
        if allocated <= high {
            return None;
        }
        let place = found.place();
        let micro_batch = larger_micro_batch(found, run);
        let known =
            micro_batch.map(|batch| (vec![t!("micro-batch {batch}", batch)], vec![("micro_batch", batch.to_string())]));
        let known: TriedChange = known.unwrap_or_default();
        let needed = allocated + found.message.asked.unwrap_or(0.0);
        let mut nearest: Option<(f64, Self)> = None;
        for loss in losses(found, run) {
            for recompute in recomputations(run) {
                let parts = [known.clone(), loss.clone(), recompute];
                let (words, set): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
                let (words, set) = (words.concat(), set.concat());
                let Some(memory) = tried(Some(run), place, &set) else {
                    continue;
                };
                let [low, likely, high] = memory.tensors();
                let off = ln(needed / likely).abs();
                let is_nearer = nearest.as_ref().is_none_or(|(best, _)| off < *best);
                if (low..=high).contains(&needed) && is_nearer {
                    let memory = Some(memory);
                    nearest = Some((off, Self { set, memory, is_explained: true, micro_batch, words }));
                }
            }
        }
        Some(nearest.map_or_else(
            || {
                let (words, set) = known;
                let memory = tried(Some(run), place, &set);
                Self { set, memory, is_explained: false, micro_batch, words }
            },
            |(_, explained)| explained,
        ))
    }

    /// The run itself; none if nothing that was tried explains the message.
    pub fn run(&self, page: &Run) -> Option<Run> {
        if self.is_explained { page.with_texts(&self.set) } else { None }
    }
}

/// The loss as it is, and the unfused one where logits in fp32 were asked for and the run's loss has none.
fn losses(found: &MemoryFound, run: &Run) -> Vec<TriedChange> {
    let mut all = vec![TriedChange::default()];
    let is_wide = found.fingerprint.as_ref().is_some_and(|what| what.logit_bytes == 4);
    if is_wide && run.software().cross_entropy != CrossEntropy::Megatron {
        let unfused = vec![("cross_entropy", CrossEntropy::Megatron.id().to_owned())];
        all.push((vec![t!("a loss that is not fused")], unfused));
    }
    all
}

/// Recomputation as it is, and none, selective and full where the run has another.
fn recomputations(run: &Run) -> Vec<TriedChange> {
    let kinds = [
        (t!("no recomputation"), "none"),
        (t!("selective recomputation"), "selective"),
        (t!("full recomputation"), "full"),
    ];
    let tried = kinds.into_iter().map(|(words, kind)| (vec![words], vec![("recompute", kind.to_owned())]));
    let others = tried.filter(|(_, set)| run.with_texts(set).is_some_and(|other| other.recompute != run.recompute));
    std::iter::once(TriedChange::default()).chain(others).collect()
}

/// The micro-batch, larger than that of the run, whose logits have the size that was asked for.
fn larger_micro_batch(found: &MemoryFound, run: &Run) -> Option<u64> {
    let tokens = found.fingerprint.as_ref().filter(|what| what.logits && what.longer)?.tokens?;
    let sequence_tokens = run.seq_len as f64 / run.cp as f64;
    let batch = crate::units::whole((tokens / sequence_tokens).round())?;
    let is_whole = (tokens / (batch as f64 * sequence_tokens) - 1.0).abs() < 0.005;
    let works = tried(Some(run), found.place(), &[("micro_batch", batch.to_string())]).is_some();
    (is_whole && works && batch > run.micro_batch).then_some(batch)
}
