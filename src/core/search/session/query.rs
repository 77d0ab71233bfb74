//! Requests of a user to the planner, and the effect of each command on them.

use crate::run::Run;
use crate::search::answers::PlanQuestion;
use crate::search::filter::{Filter, LayoutAxis};
use crate::search::map::MapAxes;
use crate::search::promise::LayoutPlace;
use crate::search::request::PlanRequest;
use crate::search::sweep::Grown;
use crate::statics::named;
use serde::{Deserialize, Serialize};

/// Layouts that can be compared side by side.
const MAX_PINNED: usize = 4;

/// A request to the planner.
#[allow(clippy::struct_excessive_bools)] // what is asked, independent of each other
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanQuery {
    /// The run; its layout matters only to [`Asked::MicroBatch`].
    pub run: Run,
    pub searches: bool,
    /// Adapters, quantised bases and offloading are searched too.
    pub also: bool,
    /// Layouts that do better than that of the run are wanted.
    pub improves: bool,
    /// No work is done.
    pub stopped: bool,
    pub filter: Filter,
    pub order: RowOrder,
    pub pinned: Vec<LayoutPlace>,
    pub picture: MapAxes,
    /// Quantity that grows in the sweep.
    pub sweep: Option<Grown>,
    pub asked: Option<Asked>,
    /// Results that are computed besides the rows.
    pub extras: Vec<Extra>,
}

named! {
    /// The order of the rows.
    #[derive(Default, Serialize, Deserialize)]
    pub enum RowOrder: label {
        /// The shortest steps first.
        #[default]
        Fastest = "Fastest",
        /// The least memory first, of the layouts that no other beats in both memory and step time.
        Leanest = "Least memory",
        /// The fewest GPU-hours for the tokens first, of the fastest layouts on up to the run's GPUs.
        Cheapest = "Cheapest",
    }
}

/// A question with one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Asked {
    /// A question that a sweep answers.
    Sweep(PlanQuestion),
    /// The largest micro-batch of the run's own layout.
    MicroBatch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanCommand {
    /// Starts the search or continues it.
    Search,
    /// Searches adapters and offloading too, or no longer.
    Also,
    /// Pauses all work.
    Stop,
    /// Computes a result besides the rows, or no longer.
    Want(Extra, bool),
    /// Hides layouts that may not fit, or shows them again.
    FilterFits,
    /// Shows only the layouts with this value of the axis, or all again.
    Filter(LayoutAxis, u64),
    Order(RowOrder),
    /// Shows only the layouts up to this tensor-parallel size, or all again.
    MaxTp(u64),
    ClearFilter,
    /// Pins a row for comparison, or unpins it.
    Pin(LayoutPlace),
    UnpinAll,
    /// Changes the axes of the map.
    Map(MapAxes),
    /// Searches the best layout over a range of sizes.
    Sweep(Grown),
    Ask(Asked),
}

/// A result that takes work of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Extra {
    /// The layouts that no other beats in both memory and step time.
    Front,
    /// The best layout of each cell of the map.
    Map,
    /// The layout of the run beside its neighbours.
    Neighbours,
}

impl PlanCommand {
    /// A name for tests and style sheets, such as `filter:ZeRO=2`; nothing parses it.
    pub fn name(self) -> String {
        match self {
            Self::Search => "search".to_owned(),
            Self::Stop => "stop".to_owned(),
            Self::Want(extra, wanted) => format!("want:{extra:?}={wanted}"),
            Self::FilterFits => "filter:fits".to_owned(),
            Self::Filter(axis, value) => format!("filter:{}={value}", axis.name()),
            Self::Order(order) => format!("order:{order:?}"),
            Self::Also => "also".to_owned(),
            Self::MaxTp(tp) => format!("filter:max-TP={tp}"),
            Self::ClearFilter => "filter:none".to_owned(),
            Self::Pin(place) => format!("pin:{}.{}", place.block(), place.member()),
            Self::UnpinAll => "unpin".to_owned(),
            Self::Map(MapAxes::Fields(across, down)) => {
                format!("map:{},{}", across.name(), down.name())
            }
            Self::Map(MapAxes::Sizes) => "map:sizes".to_owned(),
            Self::Map(MapAxes::Layouts) => "map:layouts".to_owned(),
            Self::Sweep(Grown::Gpus) => "sweep:gpus".to_owned(),
            Self::Sweep(Grown::SeqLen) => "sweep:seq_len".to_owned(),
            Self::Sweep(Grown::GlobalBatch) => "sweep:global_batch".to_owned(),
            Self::Ask(Asked::Sweep(PlanQuestion::FewestGpus)) => "ask:fewest".to_owned(),
            Self::Ask(Asked::Sweep(PlanQuestion::LongestSequence)) => "ask:longest".to_owned(),
            Self::Ask(Asked::MicroBatch) => "ask:micro-batch".to_owned(),
        }
    }
}

impl PlanQuery {
    pub fn new(run: &Run) -> Self {
        Self { run: run.clone(), extras: vec![Extra::Front, Extra::Neighbours, Extra::Map], ..Self::default() }
    }

    /// A query for the fastest layouts of `run`.
    pub fn search(run: &Run) -> Self {
        Self { searches: true, ..Self::new(run) }
    }

    /// A query for the layouts that do better than that of `run`, and for the fastest.
    pub fn improve(run: &Run) -> Self {
        Self { improves: true, ..Self::search(run) }
    }

    /// True if nothing in it takes work.
    pub fn is_empty(&self) -> bool {
        !self.searches && self.sweep.is_none() && self.asked.is_none()
    }

    /// True where `extra` is to be computed.
    pub fn wants(&self, extra: Extra) -> bool {
        self.extras.contains(&extra)
    }

    /// Takes another run: what was asked about the old one is dropped, unless they differ in their layout only.
    pub fn set_run(&mut self, run: &Run) {
        if self.run == *run {
            return;
        }
        if PlanRequest::question(&self.run) != PlanRequest::question(run) {
            self.pinned.clear();
            (self.sweep, self.asked, self.stopped) = (None, None, false);
        }
        // The largest micro-batch belongs to one layout.
        self.asked.take_if(|asked| *asked == Asked::MicroBatch);
        self.run = run.clone();
    }

    pub fn apply(&mut self, command: PlanCommand) {
        // Pinning needs no work: it does not resume a stopped search.
        if !matches!(command, PlanCommand::Pin(_) | PlanCommand::UnpinAll) {
            self.stopped = command == PlanCommand::Stop;
        }
        match command {
            PlanCommand::Search => self.searches = true,
            PlanCommand::Stop => {}
            PlanCommand::Also => {
                self.also = !self.also;
                self.pinned.clear();
            }
            PlanCommand::Want(extra, wanted) => {
                self.extras.retain(|one| *one != extra);
                self.extras.extend(wanted.then_some(extra));
            }
            PlanCommand::FilterFits => self.filter.fits = !self.filter.fits,
            PlanCommand::Filter(axis, value) => self.filter.toggle(axis, value),
            PlanCommand::Order(order) => self.order = order,
            PlanCommand::MaxTp(tp) => self.filter.toggle_max_tp(tp),
            PlanCommand::ClearFilter => self.filter = Filter::default(),
            PlanCommand::Pin(place) => {
                self.pinned.truncate(MAX_PINNED);
                toggle(&mut self.pinned, place);
                if self.pinned.len() > MAX_PINNED {
                    self.pinned.swap_remove(MAX_PINNED - 1);
                }
            }
            PlanCommand::UnpinAll => self.pinned.clear(),
            PlanCommand::Map(picture) => self.picture = picture,
            PlanCommand::Sweep(grown) => self.sweep = Some(grown),
            PlanCommand::Ask(asked) => self.asked = Some(asked),
        }
    }
}

/// Removes `item` from `list`, or adds it.
fn toggle<T: PartialEq>(list: &mut Vec<T>, item: T) {
    let before = list.len();
    list.retain(|one| *one != item);
    if list.len() == before {
        list.push(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query() -> PlanQuery {
        PlanQuery::new(&Run::default())
    }

    #[test]
    fn pinning_a_pinned_row_unpins_it_and_four_are_kept() {
        let mut query = query();
        let pin = |member| PlanCommand::Pin(LayoutPlace::new(0, member));
        query.apply(pin(1));
        query.apply(pin(1));
        assert!(query.pinned.is_empty());
        for member in 0..6 {
            query.apply(pin(member));
        }
        assert_eq!(query.pinned.len(), MAX_PINNED);
        assert_eq!(query.pinned[3], LayoutPlace::new(0, 5));
    }

    #[test]
    fn another_layout_drops_the_largest_micro_batch_another_question_drops_all_but_the_search() {
        let mut query = query();
        query.apply(PlanCommand::Search);
        query.apply(PlanCommand::Sweep(Grown::Gpus));
        query.apply(PlanCommand::Ask(Asked::MicroBatch));
        query.set_run(&Run { tp: 4, ..Run::default() });
        assert_eq!((query.asked, query.sweep), (None, Some(Grown::Gpus)));
        query.set_run(&Run { seq_len: 4096, ..Run::default() });
        assert_eq!((query.sweep, query.searches), (None, true));
    }
}
