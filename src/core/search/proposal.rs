//! An order found by search for the best layouts of a plan, where the software takes an order: `optimal` is no schedule
//! of the space, since every layout under it takes a search of its own.

use super::ranking::{Figures, FoundLayout, cost, is_listed};
use crate::advice::is_told;
use crate::advice::run_with;
use crate::message::Message;
use crate::pipeline::able::can_run;
use crate::report::{ScheduleVariant, plain_report as report, work};
use crate::run::Schedule;
use crate::t;
use crate::units::show_percent;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// Layouts whose order is searched.
const LAYOUTS: usize = 2;
/// Most ops of an order that is searched: the search takes about 0.2 s.
const MOST_OPS: u64 = 4_000;
/// Least gain that is proposed.
const LEAST: f64 = 0.005;

/// A layout under the best order that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The layout with its figures.
    pub found: Rc<FoundLayout>,
    /// Share of the step time of the fastest layout under a schedule of the software that it saves.
    pub gain: f64,
}

impl Proposal {
    /// In a sentence; `complete` where no layout can be faster than those that were found.
    pub fn words(&self, complete: bool) -> Message {
        let share = show_percent(self.gain);
        if !is_told(&self.found.run, 1.0 - self.gain, 1.0) {
            return t!(
                "An order found by search, which this software reads from a file: {share} less than the fastest named \
                    schedule, which cannot be told apart.",
                share
            );
        }
        if complete {
            t!(
                "An order found by search, which this software reads from a file: {share} less time than the fastest \
                    of the named schedules.",
                share
            )
        } else {
            t!(
                "An order found by search, which this software reads from a file: {share} less time than the fastest \
                    layout found under a named schedule.",
                share
            )
        }
    }
}

/// The search for a proposal, one report at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proposing {
    /// Layouts to report, the next last; none before the first step.
    left: Option<Vec<FoundLayout>>,
    /// The best so far.
    pub best: Option<Proposal>,
}

impl Proposing {
    /// Reports one layout more under its own order, and returns the units of work that this took; none once all are
    /// reported. `ranked` are the fastest layouts under the schedules of the space.
    pub fn step(&mut self, ranked: &[Rc<FoundLayout>]) -> Option<u64> {
        let named = ranked.iter().find(|found| can_run(&found.run))?.figures.time_s;
        let next = self.left.get_or_insert_with(|| candidates(ranked, named.0)).pop()?;
        let spent = cost(&next.run);
        let Some(report) = report(&next.run).ok().filter(|report| is_listed(&report.memory)) else {
            return Some(spent);
        };
        let figures = Figures::from(&report);
        let gain = 1.0 - figures.time_s / named;
        let least = self.best.as_ref().map_or(LEAST, |best| best.gain);
        if gain > least {
            self.best = Some(Proposal { found: Rc::new(FoundLayout { figures, ..next }), gain });
        }
        Some(spent)
    }
}

/// The first of `ranked` that may gain by an order of their own, with as many micro-batches in memory as there are
/// ranks and with twice as many; the figures are those of the layouts as they are. The first comes last.
fn candidates(ranked: &[Rc<FoundLayout>], named: f64) -> Vec<FoundLayout> {
    let optimal = ScheduleVariant { schedule: Schedule::Optimal, chunks: None };
    let may_gain = |found: &&Rc<FoundLayout>| {
        let figures = &found.figures;
        found.run.pp > 1 && (figures.time_s - figures.bubble_s).0 * (1.0 + LEAST) < named
    };
    let mut list: Vec<FoundLayout> = Vec::new();
    for found in ranked.iter().filter(may_gain) {
        for limit in [found.run.pp, 2 * found.run.pp] {
            let Ok(run) = run_with(&found.run, optimal, limit) else { continue };
            let is_new = list.iter().all(|other| other.run != run);
            if is_new && list.len() < 2 * LAYOUTS && can_run(&run) && work(&run).is_some_and(|ops| ops <= MOST_OPS) {
                list.push(FoundLayout { run, ..(**found).clone() });
            }
        }
    }
    list.reverse();
    list
}
