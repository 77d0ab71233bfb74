//! Answer of a search: its layouts strictly by step time, those as good as the first, and the simplest of them.

use super::engine::SearchProgress;
use super::fastest::{fastest, serves};
use super::proposal::Proposal;
use super::ranking::FoundLayout;
use super::why::why;
use crate::advice::{answer, is_told, told_from};
use crate::issue::Issue;
use crate::memory::Verdict;
use crate::message::Message;
use crate::report::Report;
use crate::run::{Run, Value};
use serde::Serialize;
use std::rc::Rc;

/// One layout of the answer.
#[derive(Clone, Debug, Serialize)]
pub struct PlanRow {
    /// The layout, as an object of what differs from the default.
    pub run: Value,
    /// The report of `run`, splits of the layers included.
    pub report: Report,
    /// Its distance from the first is inside the error of such differences: [`crate::advice::is_told`].
    pub tie_with_first: bool,
    /// It fits here and the named software can run it.
    pub serves: bool,
    /// Why it beats the next, or that both may be equal; empty on the last.
    pub why: Message,
    #[serde(skip)]
    pub layout: Run,
}

/// The response to a `plan` request.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// Empty where there is an answer.
    pub errors: Vec<Issue>,
    /// Parts of the request that were not followed.
    pub warnings: Vec<Issue>,
    /// True if no other layout can be faster than those of `best`; false where the search ended at its limit of work:
    /// then they are the best that it saw.
    pub complete: bool,
    /// Layouts looked at: where it is complete, all of the space that divide and have an order.
    pub evaluated: u64,
    /// Number of these layouts that are listed: see [`super::is_listed`].
    pub feasible: u64,
    /// Number of these layouts that a full report was made of; the others cannot be among the best.
    pub reported: u64,
    /// The fastest, strictly by step time.
    pub best: Vec<PlanRow>,
    /// The fastest layout with an order found by search, where it beats every named schedule of the software and the
    /// software takes an order; not among `best`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optimal: Option<PlanRow>,
    /// The simplest of those that tie with the first; none where nothing fits.
    pub recommended: Option<usize>,
    /// The fastest of `best` that fits here and that the named software can run; none where none of them does both.
    pub fastest: Option<usize>,
}

impl Plan {
    /// The answer of a search that found `found`, and `proposal`.
    pub fn new(
        found: &[Rc<FoundLayout>],
        proposal: Option<&Proposal>,
        progress: SearchProgress,
        warnings: Vec<Issue>,
    ) -> Self {
        let tied = ties(found);
        let row = |one: &FoundLayout, tie_with_first, why| {
            let report = answer(&one.run).ok()?;
            let serves = serves(&one.run, &one.figures.peak);
            Some(PlanRow { run: one.run.to_value(), report, tie_with_first, serves, why, layout: one.run.clone() })
        };
        let ranked = found.iter().enumerate().filter_map(|(index, one)| {
            let why = found.get(index + 1).map_or_else(Message::default, |next| why(one, next));
            row(one, index < tied, why)
        });
        Self {
            errors: Vec::new(),
            warnings,
            complete: progress.done,
            evaluated: progress.evaluated,
            feasible: progress.feasible,
            reported: progress.reported,
            best: ranked.collect(),
            optimal: proposal.and_then(|proposal| row(&proposal.found, false, proposal.words(progress.done))),
            recommended: recommended(found),
            fastest: fastest(found),
        }
    }
}

/// Number of `found`, fastest first, that tie with the first.
pub fn ties(found: &[Rc<FoundLayout>]) -> usize {
    let time = |one: &Rc<FoundLayout>| one.figures.time_s.0;
    let Some(first) = found.first() else { return 0 };
    let limit = time(first) / (1.0 - told_from(&first.run));
    found.partition_point(|one| time(one) < limit)
}

/// The simplest of the layouts that tie with the first: the one with the smallest tp cp pp, then the fastest. Layouts
/// that serve go before those that only fit.
pub fn recommended(found: &[Rc<FoundLayout>]) -> Option<usize> {
    (0..ties(found)).min_by_key(|index| (simplicity(&found[*index]), *index))
}

/// By what the simplest of several layouts is told, the least first: whether it serves, whether it fits, its tp cp pp.
pub fn simplicity(one: &FoundLayout) -> (bool, bool, u64) {
    let (run, peak) = (&one.run, one.figures.peak);
    (!serves(run, &peak), peak.overall != Verdict::Fits, run.tp * run.cp * run.pp)
}

/// A layout of `others` that ties with the first of `found` and is simpler than each of those: the list holds the
/// fastest, and a slower layout that no estimate tells from them may be simpler.
pub fn simpler<'a>(
    found: &[Rc<FoundLayout>],
    others: impl Iterator<Item = &'a FoundLayout>,
) -> Option<&'a FoundLayout> {
    let listed = simplicity(&found[recommended(found)?]);
    let first = found.first()?;
    let is_tied = |one: &FoundLayout| !is_told(&first.run, first.figures.time_s.0, one.figures.time_s.0);
    let tied = others.filter(|one| one.run.gpus == first.run.gpus && is_tied(one));
    tied.min_by_key(|one| simplicity(one)).filter(|one| simplicity(one) < listed)
}
