//! How many GPUs a date needs where each number of GPUs has the layout that is chosen for it: the fastest that fits and
//! that the software can run.

use super::allowance::WORK;
use super::answers::MAX_GPUS;
use super::ladder::{ChoiceEnd, Choosing};
use super::sweep::doublings;
use crate::issue::Issue;
use crate::report::report;
use crate::run::Run;
use crate::whole_run::{Dates, Deadline};

const DAY: f64 = 86_400.0;

/// Numbers of GPUs that are tried between a number that is not enough and its double that is: these sixteenths of the
/// double.
const BETWEEN: std::ops::Range<u64> = 9..16;
/// Share by which twice as many GPUs end earlier at least, as long as more are tried.
const EARLIER: f64 = 0.02;

/// The work for the answer. Resumable: a step chooses a layout, or goes on with it.
pub struct ChosenDates {
    dates: Dates,
    days: f64,
    /// Numbers of GPUs that are tried next, from the end.
    left: Vec<u64>,
    /// The number under way, and the choice of its layout.
    choosing: Option<(u64, Box<Choosing>)>,
    /// The days of the last doubling, within which nine of ten runs end.
    last: Option<f64>,
    /// A doubling is enough: numbers below it are tried.
    is_between: bool,
}

impl ChosenDates {
    /// For `run`, whose layout does not matter; its number of GPUs matters as for [`Dates::new`].
    pub fn new(run: &Run, tokens: f64, days: f64) -> Self {
        let least = report(run).map_or(1.0, |report| {
            // As many GPUs as would do at their peak.
            let flops = report.step.model_flops / report.layout.tokens_per_step * tokens;
            flops / (report.step.peak.tflops * 1e12 * days * DAY)
        });
        let mut left: Vec<u64> =
            doublings(1, MAX_GPUS).into_iter().filter(|gpus| 2.0 * *gpus as f64 >= least).collect();
        left.reverse();
        Self { dates: Dates::of_chosen(run, tokens, days), days, left, choosing: None, last: None, is_between: false }
    }

    /// Works for about `budget` units; true where no number is left.
    pub fn step(&mut self, budget: u64) -> bool {
        let Some((gpus, choosing)) = &mut self.choosing else {
            let Some(gpus) = self.left.pop() else { return true };
            let run = Run { gpus, ..self.dates.run().clone() };
            if let Ok(choosing) = Choosing::new(&run, &[], WORK) {
                self.choosing = Some((gpus, Box::new(choosing)));
            }
            return false;
        };
        let gpus = *gpus;
        let chosen = match choosing.step(budget) {
            None => return false,
            Some(ChoiceEnd::Layout(choice)) => Some(choice.run.clone()),
            Some(ChoiceEnd::NoneFits | ChoiceEnd::Undivided) => None,
        };
        self.choosing = None;
        let high = chosen.and_then(|run| self.dates.take(&run));
        let is_enough = high.is_some_and(|high| high <= self.days);
        if self.is_between {
            if is_enough {
                self.left.clear();
            }
        } else if is_enough {
            self.is_between = true;
            let numbers = BETWEEN.filter(|part| (gpus * part).is_multiple_of(16)).map(|part| gpus * part / 16);
            self.left = numbers.rev().collect();
        } else if self.last.is_some()
            && high.is_none_or(|high| self.last.is_some_and(|last| high > last * (1.0 - EARLIER)))
        {
            // Still more GPUs would end no earlier.
            self.left.clear();
        } else {
            self.last = high.or(self.last);
        }
        false
    }

    /// The answer so far.
    ///
    /// # Errors
    /// No number that was tried has a layout that fits.
    pub fn deadline(&self) -> Result<Deadline, Vec<Issue>> {
        self.dates.deadline()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::ladder::{Ladder, LadderEnd};
    use crate::whole_run::deadline;

    /// The layout of the page as it opens ends 15 T tokens of 8 B parameters within 30 days on no number of GPUs: its
    /// batch leaves one micro-batch a pipeline. Chosen layouts do, and the number that is named is held by the layout
    /// that the ladder chooses for it.
    #[test]
    fn a_chosen_layout_meets_a_date_that_one_layout_does_not() {
        let run = Run { tokens_total: Some(15e12), ..Run::default() };
        assert!(deadline(&run, 15e12, 30.0).unwrap().gpus.is_none());
        let mut dates = ChosenDates::new(&run, 15e12, 30.0);
        while !dates.step(1_000_000) {}
        let found = dates.deadline().unwrap();
        let gpus = found.gpus.unwrap();
        assert!(found.high_days <= 30.0 && found.counts.is_sorted_by_key(|(gpus, ..)| *gpus), "{found:?}");
        assert!(found.counts.iter().all(|(count, _, high)| *count >= gpus || *high > 30.0), "{found:?}");
        let LadderEnd::Chosen(choice) = Ladder::new(&Run { gpus, ..run.clone() }).unwrap().finished() else { panic!() };
        let mut one = Dates::of_chosen(&run, 15e12, 30.0);
        assert_eq!(one.take(&choice.run), Some(found.high_days));
    }
}
