//! What a user can tell the planner, and what each command changes.

use super::PlanSession;
use crate::run::Run;
use crate::search::answers::{Answer, MAX_GPUS, Question, largest_micro_batch};
use crate::search::filter::{Axis, Filter};
use crate::search::map::Picture;
use crate::search::ranking::Place;
use crate::search::sweep::{Grown, Sweep, Until, doublings};
use std::rc::Rc;

/// Layouts that can be compared side by side.
const MAX_PINNED: usize = 4;
/// Shortest sequence of a sweep.
const MIN_TOKENS: u64 = 1024;
/// Longest sequence of a sweep.
const MAX_TOKENS: u64 = 1 << 22;
/// Largest batch of a sweep, sequences.
const MAX_SEQUENCES: u64 = 65_536;

/// A command for the planner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanCommand {
    /// Starts the search or continues it.
    Search,
    /// Pauses all work.
    Stop,
    /// Opens a closed fold, closes an open one.
    Toggle(Fold),
    /// Hides layouts that may not fit, or shows them again.
    FilterFits,
    /// Shows only the layouts with this value of the axis, or all again.
    Filter(Axis, u64),
    /// Shows only the layouts up to this tensor-parallel size, or all again.
    MaxTp(u64),
    /// Removes all filters.
    ClearFilter,
    /// Pins a row for comparison, or unpins it.
    Pin(Place),
    /// Unpins all rows.
    UnpinAll,
    /// Changes the axes of the map.
    Map(Picture),
    /// Searches the best layout over a range of sizes.
    Sweep(Grown),
    /// Answers a question.
    Ask(Question),
    /// Finds the largest micro-batch of the run's own layout.
    AskMicroBatch,
}

/// A part of the panel that opens and closes; it is computed only while open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// Why each layout beats the next.
    Why,
    /// Memory against throughput.
    Pareto,
    /// The map.
    Map,
    /// The sweep as a table.
    SweepTable,
    /// The playbook's recipe.
    Recipe,
}

impl Fold {
    /// Its name, unique in the panel.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Why => "why",
            Self::Pareto => "pareto",
            Self::Map => "map",
            Self::SweepTable => "sweep-table",
            Self::Recipe => "recipe",
        }
    }
}

impl PlanCommand {
    /// A name for tests and style sheets, such as `filter:ZeRO=2`; nothing parses it.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Search => "search".to_owned(),
            Self::Stop => "stop".to_owned(),
            Self::Toggle(fold) => format!("toggle:{}", fold.name()),
            Self::FilterFits => "filter:fits".to_owned(),
            Self::Filter(axis, value) => format!("filter:{}={value}", axis.name()),
            Self::MaxTp(tp) => format!("filter:max-TP={tp}"),
            Self::ClearFilter => "filter:none".to_owned(),
            Self::Pin(place) => format!("pin:{}.{}", place.block(), place.member()),
            Self::UnpinAll => "unpin".to_owned(),
            Self::Map(Picture::Fields(across, down)) => {
                format!("map:{},{}", across.name(), down.name())
            }
            Self::Map(Picture::Sizes) => "map:sizes".to_owned(),
            Self::Map(Picture::Layouts) => "map:layouts".to_owned(),
            Self::Sweep(Grown::Gpus) => "sweep:gpus".to_owned(),
            Self::Sweep(Grown::SeqLen) => "sweep:seq_len".to_owned(),
            Self::Sweep(Grown::GlobalBatch) => "sweep:global_batch".to_owned(),
            Self::Ask(Question::FewestGpus) => "ask:fewest".to_owned(),
            Self::Ask(Question::LongestSequence) => "ask:longest".to_owned(),
            Self::Ask(Question::Cheapest) => "ask:cheapest".to_owned(),
            Self::AskMicroBatch => "ask:micro-batch".to_owned(),
        }
    }
}

impl PlanSession {
    /// Carries out `command`; the work that it needs is done by [`PlanSession::step`].
    pub fn apply(&mut self, command: PlanCommand) {
        // Pinning needs no work: it does not resume a stopped search.
        if !matches!(command, PlanCommand::Pin(_) | PlanCommand::UnpinAll) {
            self.stopped = command == PlanCommand::Stop;
        }
        match command {
            PlanCommand::Search => self.search(),
            PlanCommand::Stop => {}
            PlanCommand::Toggle(fold) => self.toggle(fold),
            PlanCommand::FilterFits => self.change_filter(|filter| filter.fits = !filter.fits),
            PlanCommand::Filter(axis, value) => {
                self.change_filter(|filter| filter.toggle(axis, value));
            }
            PlanCommand::MaxTp(tp) => self.change_filter(|filter| filter.toggle_max_tp(tp)),
            PlanCommand::ClearFilter => self.change_filter(|filter| *filter = Filter::default()),
            PlanCommand::Pin(place) => self.pin(place),
            PlanCommand::UnpinAll => self.pinned.clear(),
            PlanCommand::Map(picture) => (self.picture, self.map) = (picture, None),
            PlanCommand::Sweep(grown) => self.sweep = Some(sweep(&self.question, grown)),
            PlanCommand::Ask(question) => {
                let sweep = Box::new(question.sweep(&self.question));
                self.answer = Some(Answer::Sweep(question, sweep));
            }
            PlanCommand::AskMicroBatch => {
                let largest = Box::new(largest_micro_batch(&self.run));
                self.answer = Some(Answer::MicroBatch(largest));
            }
        }
    }

    fn toggle(&mut self, fold: Fold) {
        if self.is_open(fold) {
            self.open.retain(|open| *open != fold);
        } else {
            self.open.push(fold);
        }
    }

    fn change_filter(&mut self, change: impl FnOnce(&mut Filter)) {
        change(&mut self.filter);
        (self.filtered, self.map) = (None, None);
    }

    fn pin(&mut self, place: Place) {
        if self.pinned.iter().any(|found| found.place == place) {
            self.pinned.retain(|found| found.place != place);
        } else if let Some(found) = self.rows().iter().find(|found| found.place == place) {
            let found = Rc::clone(found);
            self.pinned.truncate(MAX_PINNED - 1);
            self.pinned.push(found);
        }
    }
}

/// A sweep over doublings of `grown`.
fn sweep(run: &Run, grown: Grown) -> Sweep {
    let values = match grown {
        Grown::Gpus => doublings(1, MAX_GPUS),
        Grown::SeqLen => doublings(MIN_TOKENS, MAX_TOKENS),
        Grown::GlobalBatch => doublings(1, MAX_SEQUENCES),
    };
    Sweep::new(run, grown, values, Until::End)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{finish, session};
    use super::*;

    #[test]
    fn pinning_a_pinned_row_unpins_it() {
        let mut session = session();
        session.apply(PlanCommand::Search);
        finish(&mut session);
        let pin = PlanCommand::Pin(session.rows()[1].place);
        session.apply(pin);
        assert_eq!(session.pinned.len(), 1);
        session.apply(pin);
        assert!(session.pinned.is_empty());
    }
}
