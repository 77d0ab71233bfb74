//! The run that failed, by the sizes of its message: where more was allocated than the run on the page predicts, the
//! run of those tried that explains what was held and asked for.

use super::rules::tried;
use super::{Fingerprint, MemoryFound, PredictedMemory};
use crate::maths::ln;
use crate::message::Message;
use crate::run::{CrossEntropy, OneOf, Recompute, Run};
use crate::sort::sort_by;
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
    /// The settings whose logits have the size that was asked for, where the page has others: each alone has it.
    pub of_logits: Vec<Message>,
    /// Those of them, besides `set`, whose tensors are what was held and asked for as well.
    pub also: Vec<Message>,
    /// `set` in words, one for each of its fields.
    pub words: Vec<Message>,
}

/// A change that is tried, in words and in fields, one for each; both are empty for the run as it is.
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
        let mut known = other_logits(found, run);
        let of_logits: Vec<Message> = known.iter().flat_map(|(words, _)| words.clone()).collect();
        if known.is_empty() {
            known.push(TriedChange::default());
        }
        let needed = allocated + found.message.asked.unwrap_or(0.0);
        let of_each = known.iter().map(|known| nearest(known, needed, found, run));
        let mut explaining: Vec<(f64, Self)> = of_each.into_iter().flatten().collect();
        sort_by(&mut explaining, |a: &(f64, Self), b| a.0.total_cmp(&b.0));
        let mut explaining = explaining.into_iter().map(|(_, failed)| failed);
        if let Some(first) = explaining.next() {
            let also = explaining.map(|failed| Message::joined(", ", failed.words)).collect();
            return Some(Self { of_logits, also, ..first });
        }
        // Settings of which only one is true are none that are known.
        let (words, set) = if known.len() == 1 { known.remove(0) } else { TriedChange::default() };
        let memory = tried(Some(run), place, &set);
        Some(Self { set, memory, is_explained: false, of_logits, also: Vec::new(), words })
    }

    /// Each field of `set` with its words.
    pub fn settings(&self) -> impl Iterator<Item = (Message, (&'static str, String))> {
        self.words.iter().cloned().zip(self.set.iter().cloned())
    }

    /// The run itself; none if nothing that was tried explains the message.
    pub fn run(&self, page: &Run) -> Option<Run> {
        if self.is_explained { page.with_texts(&self.set) } else { None }
    }
}

/// The nearest of the runs with `known`, with each loss and recomputation, whose tensors are the `needed` bytes that
/// were held and asked for, and how far they are from it; none where none has as many.
fn nearest(known: &TriedChange, needed: f64, found: &MemoryFound, run: &Run) -> Option<(f64, FailedRun)> {
    let mut best: Option<(f64, FailedRun)> = None;
    for loss in losses(found, run) {
        for recompute in recomputations(run) {
            let parts = [known.clone(), loss.clone(), recompute];
            let (words, set): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
            let (words, set) = (words.concat(), set.concat());
            let Some(memory) = tried(Some(run), found.place(), &set) else {
                continue;
            };
            let [low, likely, high] = memory.tensors();
            let off = ln(needed / likely).abs();
            let is_nearer = best.as_ref().is_none_or(|(nearest, _)| off < *nearest);
            if (low..=high).contains(&needed) && is_nearer {
                let (of_logits, also) = (Vec::new(), Vec::new());
                let memory = Some(memory);
                best = Some((off, FailedRun { set, memory, is_explained: true, of_logits, also, words }));
            }
        }
    }
    best
}

/// The loss as it is, and the unfused one where logits in fp32 were asked for and the run's loss has none.
fn losses(found: &MemoryFound, run: &Run) -> Vec<TriedChange> {
    let mut all = vec![TriedChange::default()];
    let is_wide = found.fingerprint.as_ref().is_some_and(Fingerprint::has_wide_logits);
    if is_wide && run.software().cross_entropy != CrossEntropy::Megatron {
        let unfused = vec![("cross_entropy", CrossEntropy::Megatron.id().to_owned())];
        all.push((vec![t!("a loss that is not fused")], unfused));
    }
    all
}

/// Recomputation as it is, and none, selective and full where the run has another.
fn recomputations(run: &Run) -> Vec<TriedChange> {
    let others = ["none", "selective", "full"].into_iter().filter_map(|kind| {
        let set = vec![("recompute", kind.to_owned())];
        let other = run.with_texts(&set)?;
        // What is selective by its name may be full by what the software does.
        let is_full_as_well = kind == "selective" && *other.recomputed() == Recompute::Full;
        (other.recomputed() != run.recomputed() && !is_full_as_well).then(|| (vec![other.recomputed().words()], set))
    });
    std::iter::once(TriedChange::default()).chain(others).collect()
}

/// Settings of other runs whose logits have the size that was asked for: larger micro-batches, and no TP. Empty where
/// a tensor of the run itself has that size.
fn other_logits(found: &MemoryFound, run: &Run) -> Vec<TriedChange> {
    let Some(what) = found.fingerprint.as_ref().filter(|what| what.logits && what.longer) else {
        return Vec::new();
    };
    let batches = what.longer_tokens().into_iter().filter_map(|tokens| larger_micro_batch(tokens, run));
    let batches = batches.map(|batch| (vec![t!("micro-batch {batch}", batch)], vec![("micro_batch", batch)]));
    let without_tp = what.may_be_whole_vocabulary().then(|| (vec![t!("no TP")], vec![("tp", 1)]));
    let all = batches.chain(without_tp).map(|(words, set)| {
        let set: SetFields = set.into_iter().map(|(key, value)| (key, value.to_string())).collect();
        (words, set)
    });
    let works = |(_, set): &TriedChange| tried(Some(run), found.place(), set).is_some();
    all.filter(works).collect()
}

/// The micro-batch, larger than that of the run, that has as many `tokens` on a rank.
fn larger_micro_batch(tokens: f64, run: &Run) -> Option<u64> {
    let sequence_tokens = run.seq_len as f64 / run.cp as f64;
    let batch = crate::units::whole((tokens / sequence_tokens).round())?;
    let is_whole = (tokens / (batch as f64 * sequence_tokens) - 1.0).abs() < 0.005;
    (is_whole && batch > run.micro_batch).then_some(batch)
}
