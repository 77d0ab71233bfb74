//! The search itself: bound every layout, then ask the full report of the most promising until no other can win.
//!
//! It stops wherever its budget ends and goes on from there; where it stopped changes nothing of the answer.

use super::all_bounds::AllBounds;
use super::allowance::Allowance;
use super::promise::{LayoutPlace, Promise};
use super::proposal::{Proposal, Proposing};
use super::ranking::{FoundLayout, Known, Ranking, ReportOutcome};
use super::space::Space;
use crate::run::Run;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// Number of times that the most promising layout so far is reported before every layout is bounded: first rows to look
/// at.
const PREVIEWS: f64 = 16.0;
/// Units of work after which there is another one, however large the space.
const PREVIEW: u64 = 100_000;

/// Reports that a row of an answer takes: one while it is searched, then one again and one for each of up to three
/// other splits.
const SPLITS: u64 = 5;

/// Progress of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchProgress {
    pub done: bool,
    /// Share of the work that is done, about: 0 to 1.
    pub share: f64,
    pub evaluated: u64,
    /// Layouts that memory does not rule out.
    pub feasible: u64,
    /// Number of the layouts looked at, evaluated ones, that a full report was made of.
    pub reported: u64,
    /// The share of the layouts looked at, 0 to 1, where the search stopped at its limit of work.
    pub stopped: Option<f64>,
}

impl SearchProgress {
    /// True if nothing more is searched: it is done, or stopped at its limit of work.
    pub fn is_over(&self) -> bool {
        self.done || self.stopped.is_some()
    }
}

/// A search under way.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Search {
    space: Space,
    bounds: AllBounds,
    ranking: Ranking,
    reported: Known,
    previews: f64,
    /// Units of work since the last preview.
    unseen: u64,
    queued: usize,
    allowance: Option<Allowance>,
    /// Proposes an order of its own for the fastest layouts.
    proposing: Option<Proposing>,
    first_bound: f64,
    share: f64,
    done: bool,
    /// It ended at its limit of work.
    stopped: bool,
}

impl Search {
    /// A search for the `top` fastest layouts of `space`.
    pub fn new(space: Space, top: usize) -> Self {
        Self { space, ranking: Ranking::new(&[], top, false), previews: 1.0, ..Self::default() }
    }

    /// Ranks only what is called "fits"; before the first step.
    pub fn sure(mut self) -> Self {
        self.ranking = Ranking::new(&[], self.ranking.top(), true);
        self
    }

    /// Proposes an order of its own for the fastest layouts too; before the first step.
    pub(crate) fn propose(&mut self) {
        self.proposing = Some(Proposing::default());
    }

    /// The fastest layout with an order of its own, where it gains and the software takes an order.
    pub fn proposal(&self) -> Option<&Proposal> {
        self.proposing.as_ref()?.best.as_ref()
    }

    /// Hands over to the ranking what is bounded since the last time.
    fn queue(&mut self) {
        self.ranking.add(&self.bounds.promises[self.queued..]);
        self.queued = self.bounds.promises.len();
        self.first_bound = self.ranking.next_bound().unwrap_or(0.0);
    }

    /// Searches the layouts of `others` too; before the first step.
    pub(crate) fn also(&mut self, others: Vec<Run>) {
        self.space.also(others);
    }

    /// Has layouts of one stage, whose messages of experts the run has beside another micro-batch, tried without that
    /// too, and the faster taken; before the first step. Of pipelines the schedules are tried that have it and have it
    /// not.
    pub(crate) fn unpair(&mut self) {
        self.space.unpairs = true;
    }

    /// Limits the search to about `work` units; before the first step. One that has found nothing then goes on to the
    /// usual [`WORK`](super::WORK).
    pub fn allow(&mut self, work: u64) {
        self.allowance = Some(Allowance::new(work, &self.space));
    }

    /// Works for about `budget` units, each of a microsecond or a few, and returns the progress.
    pub fn step(&mut self, budget: u64) -> SearchProgress {
        let mut left = budget.max(1);
        while left > 0 && !self.progress().is_over() {
            let spent = if self.bounds.is_over(&self.space) { self.rank() } else { self.bound() };
            left = left.saturating_sub(spent.max(1));
        }
        self.share = self.share.max(self.share_now());
        self.progress()
    }

    pub fn finish(&mut self) {
        while !self.step(u64::MAX).is_over() {}
    }

    pub fn progress(&self) -> SearchProgress {
        let (ranking, bounds) = (&self.ranking, &self.bounds);
        SearchProgress {
            done: self.done,
            share: self.share,
            evaluated: bounds.evaluated - ranking.void,
            feasible: bounds.promises.len() as u64 - ranking.void - ranking.ran_out,
            reported: ranking.reported - ranking.void,
            stopped: self.allowance.as_ref().filter(|_| self.stopped).map(|allowance| allowance.looked(&self.space)),
        }
    }

    /// The fastest layouts so far, strictly by step time; equal ones in the order of the space.
    pub fn best(&self) -> &[Rc<FoundLayout>] {
        self.ranking.best()
    }

    /// The layout at `place`, where it was reported and counts as feasible.
    pub fn found(&self, place: LayoutPlace) -> Option<Rc<FoundLayout>> {
        self.reported.found(place)
    }

    /// True if the layout at `place` was reported.
    pub(crate) fn is_reported(&self, place: LayoutPlace) -> bool {
        self.reported.has(place)
    }

    /// The layout at `place`, reported now if it was not, and the units of work that this took.
    pub(crate) fn ask(&mut self, place: LayoutPlace) -> (Option<Rc<FoundLayout>>, u64) {
        let (_, work) = self.reported.ask(&self.space, place);
        (self.reported.found(place), work)
    }

    /// The best bound of the layout at `place`, and the units of work that this took.
    pub(crate) fn time(&mut self, place: LayoutPlace) -> (f64, u64) {
        self.bounds.time(&self.space, place)
    }

    /// Units of work that were spent of what the search may do; 0 without a limit.
    pub fn spent(&self) -> u64 {
        self.allowance.as_ref().map_or(0, Allowance::spent)
    }

    pub fn space(&self) -> &Space {
        &self.space
    }

    pub fn is_bounded(&self) -> bool {
        self.bounds.is_over(&self.space)
    }

    /// Lower bounds of every layout that memory does not rule out, in the order of the space: the best bounds after
    /// [`Search::time_all`].
    pub(crate) fn promises(&self) -> &[Promise] {
        &self.bounds.promises
    }

    /// Layouts that are tight at best and not listed, in the order of the space.
    pub(crate) fn near(&self) -> &[LayoutPlace] {
        &self.bounds.near
    }

    /// True if the layout at `place` is tight and not listed, and the units of work that this took.
    pub(crate) fn is_tight(&mut self, place: LayoutPlace) -> (bool, u64) {
        let (outcome, work) = self.reported.ask(&self.space, place);
        (matches!(outcome, ReportOutcome::Tight), work)
    }

    /// Goes on with a ranking of some of the promises: what was reported once is not reported again.
    pub(crate) fn rank_more(&mut self, ranking: &mut Ranking) -> u64 {
        ranking.step(&self.space, &mut self.bounds, &mut self.reported)
    }

    /// Works for about `budget` units on the best bounds of all layouts; true when they are known.
    pub(crate) fn time_all(&mut self, budget: u64) -> bool {
        let mut left = budget;
        while left > 0 {
            let Some(work) = self.bounds.time_next(&self.space) else {
                return true;
            };
            left = left.saturating_sub(work);
        }
        false
    }

    /// The bounds are taken for most of the work; then the bound climbs towards the time of the last row.
    fn share_now(&self) -> f64 {
        const SHARE_OF_BOUNDS: f64 = 0.7;
        if self.progress().is_over() {
            return 1.0;
        }
        let bounded = SHARE_OF_BOUNDS * self.bounds.share(&self.space);
        if !self.bounds.is_over(&self.space) {
            return bounded;
        }
        let climbed = match (self.ranking.next_bound(), self.ranking.slowest()) {
            (Some(next), Some(end)) if end > self.first_bound => (next - self.first_bound) / (end - self.first_bound),
            _ => 0.0,
        };
        bounded + (1.0 - SHARE_OF_BOUNDS) * climbed.clamp(0.0, 1.0)
    }

    fn bound(&mut self) -> u64 {
        let next = self.bounds.next();
        if let Some(allowance) = &mut self.allowance
            && allowance.passes_over(next)
        {
            self.bounds.pass_over(&self.space);
            self.queue_last();
            return 1;
        }
        let work = self.bounds.step(&self.space);
        self.unseen += work;
        let mut preview = 0;
        let share = self.bounds.share(&self.space);
        if self.bounds.is_first_round() && (share * PREVIEWS >= self.previews || self.unseen > PREVIEW) {
            self.previews += f64::from(u8::from(share * PREVIEWS >= self.previews));
            self.unseen = 0;
            self.queue();
            if !self.is_bounded() {
                preview = self.rank_next();
            }
        }
        self.queue_last();
        if let Some(allowance) = &mut self.allowance {
            allowance.look(work);
        }
        work + preview
    }

    /// Ranks what is left when every block is done.
    fn queue_last(&mut self) {
        if self.is_bounded() {
            if self.queued < self.bounds.promises.len() {
                self.queue();
            }
            self.bounds.settle();
        }
    }

    fn rank(&mut self) -> u64 {
        let over = self.ranking.is_over();
        let found = !self.best().is_empty();
        let spent = self.allowance.as_ref().is_some_and(|allowance| allowance.is_spent(found));
        if over
            && !spent
            && let Some(rows) = self.allowance.as_mut().and_then(|allowance| allowance.another_round(&self.space))
        {
            self.bounds.again(rows, &self.space);
            return 1;
        }
        if over || spent {
            if let Some(proposing) = &mut self.proposing
                && let Some(work) = proposing.step(self.ranking.best())
            {
                return work;
            }
            self.done = over && self.allowance.as_ref().is_none_or(Allowance::is_whole);
            self.stopped = !self.done;
            return 1;
        }
        self.rank_next()
    }

    /// Looks closer at the most promising layout.
    fn rank_next(&mut self) -> u64 {
        let rows = self.best().len();
        let work = self.ranking.step(&self.space, &mut self.bounds, &mut self.reported);
        if let Some(allowance) = &mut self.allowance {
            // The report of a row of the answer has those of other splits of its layers.
            let reports = if self.ranking.best().len() > rows { SPLITS } else { 1 };
            allowance.spend(work.saturating_mul(reports));
        }
        work
    }
}
