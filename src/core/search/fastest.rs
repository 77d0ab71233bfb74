//! The fastest layout that fits here and that this software can run: the one search and the one rule behind these
//! words, for what is chosen, what is suggested and what is answered.

use super::allowance::WORK;
use super::engine::{Search, SearchProgress};
use super::ranking::FoundLayout;
use super::request::{PlanRequest, TOP};
use crate::issue::Issue;
use crate::memory::Verdict;
use crate::pipeline::able::can_run;
use crate::report::Peak;
use crate::run::Run;
use crate::units::SMALLEST_PRINTED;
use std::rc::Rc;

/// True if a layout fits here and this software can run it: nothing else is chosen, suggested or called the fastest.
pub fn serves(run: &Run, peak: &Peak) -> bool {
    serves_at(run, peak.overall)
}

/// [`serves`] of a layout whose verdict on GPU and host is known.
pub fn serves_at(run: &Run, overall: Verdict) -> bool {
    overall == Verdict::Fits && can_run(run)
}

/// The place in `found`, fastest first, of the fastest layout that serves. Of those that are printed as equally fast it
/// is one with an even split, then one with the fewest chunks a rank.
pub fn fastest(found: &[Rc<FoundLayout>]) -> Option<usize> {
    let serving = || found.iter().enumerate().filter(|(_, one)| serves(&one.run, &one.figures.peak));
    let limit = serving().next()?.1.figures.time_s.0 * (1.0 + SMALLEST_PRINTED);
    let alike = serving().take_while(|(_, one)| one.figures.time_s.0 <= limit);
    let plainest = alike.min_by_key(|(at, one)| (one.run.stage_layers.is_some(), one.run.virtual_stages, *at));
    plainest.map(|(at, _)| at)
}

/// The faster of what a search found and of the guess that it began with: its bounds may pass the guess over.
pub(super) fn faster<T>(found: Option<T>, guess: Option<T>, time_s: impl Fn(&T) -> f64) -> Option<T> {
    match (found, guess) {
        (Some(found), Some(guess)) => Some(if time_s(&guess) < time_s(&found) { guess } else { found }),
        (found, guess) => found.or(guess),
    }
}

/// The search for the fastest layout of a Run that serves, with its default work. It reports as many as the list of
/// layouts has: the bound of interleaved 1F1B with overlapped experts exceeds its step by some percent (35.3 s of
/// DeepSeek-V3 on 2,048 GPUs), so that a search for one alone passes it over.
#[derive(Clone, Debug)]
pub struct Fastest {
    search: Search,
}

impl Fastest {
    /// The search for `run`; the fields in `pins` stay as they are.
    ///
    /// # Errors
    /// A Run that has no model, GPU or precision; a pin that is no field.
    pub fn new(run: &Run, pins: &[&str]) -> Result<Self, Vec<Issue>> {
        Self::within(run, pins, WORK)
    }

    /// [`Self::new`] with about `work` units; one that has found nothing then goes on to the default.
    pub(super) fn within(run: &Run, pins: &[&str], work: u64) -> Result<Self, Vec<Issue>> {
        let mut search = PlanRequest::able(run, pins, TOP)?.search.sure();
        search.allow(work);
        Ok(Self { search })
    }

    /// Works for about `budget` units; true once it is over.
    pub fn step(&mut self, budget: u64) -> bool {
        self.search.step(budget).is_over()
    }

    /// The fastest so far.
    pub fn found(&self) -> Option<&Rc<FoundLayout>> {
        let found = self.search.best();
        fastest(found).map(|at| &found[at])
    }

    pub fn progress(&self) -> SearchProgress {
        self.search.progress()
    }
}
