//! A layout beside its neighbours: for each field the next values, each once with all else as it is and once with the
//! fastest layout that fits. They say why a layout is the best, or by what it is not.

use super::axes::Axes;
use super::engine::Search;
use super::fastest::faster;
use super::filter::LayoutAxis;
use super::promise::{LayoutPlace, Promise};
use super::ranking::{Figures, FoundLayout, Ranking, cost};
use crate::memory::Verdict;
use crate::pipeline::able::can_run;
use crate::report::{effort, plain_report as report};
use crate::run::Run;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// Fields whose next values are tried, in the order of the page.
const FIELDS: [LayoutAxis; 7] = [
    LayoutAxis::Tp,
    LayoutAxis::Pp,
    LayoutAxis::Cp,
    LayoutAxis::Ep,
    LayoutAxis::Zero,
    LayoutAxis::MicroBatch,
    LayoutAxis::Recompute,
];
/// Ops of the largest report that is made of a layout with one other value.
const MOST_OPS: u64 = 4_000_000;

/// Another value of one field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Neighbour {
    pub axis: LayoutAxis,
    pub value: u64,
    /// The layout with that value and all else as it is; none where it is no layout.
    pub alone: Option<Rc<FoundLayout>>,
    /// The fastest that fits with that value and that the software can run, of those that were searched and of `alone`;
    /// none where none is known.
    pub best: Option<Rc<FoundLayout>>,
    /// The fastest that is tight with an estimate within the memory, where it is faster than that; also of `alone`.
    pub tight: Option<Rc<FoundLayout>>,
    /// The search looked at layouts with that value: more tensor-parallel ranks than a node has GPUs are not.
    pub is_searched: bool,
}

/// The neighbours of a layout, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Neighbours {
    pub list: Vec<Neighbour>,
    pub done: bool,
}

/// The work for them.
#[derive(Clone, Debug)]
pub(super) struct Comparing {
    run: Run,
    axes: Axes,
    /// What is not tried yet, from the end.
    left: Vec<(LayoutAxis, u64)>,
    /// The ranking of the layouts with the last of them.
    ranking: Option<Ranking>,
    found: Neighbours,
}

/// The value of `axis` in `run`, by which the search names it; none where the search does not try it.
fn value_of(axis: LayoutAxis, run: &Run, axes: &Axes) -> Option<u64> {
    Some(match axis {
        LayoutAxis::Tp => run.tp,
        LayoutAxis::Pp => run.pp,
        LayoutAxis::Cp => run.cp,
        LayoutAxis::Ep => run.ep,
        LayoutAxis::Zero => run.zero,
        LayoutAxis::MicroBatch => run.micro_batch,
        LayoutAxis::Schedule => return None,
        LayoutAxis::Recompute => axes.recompute.iter().position(|kind| *kind == run.recompute)? as u64,
    })
}

/// `run` with another value of `axis`, all else as it is; none where that names nothing.
fn with(run: &Run, axis: LayoutAxis, value: u64, axes: &Axes) -> Option<Run> {
    let mut run = run.clone();
    match axis {
        LayoutAxis::Tp => {
            // Without tensor parallelism the switch has no effect, and says nothing of what is wanted with it.
            run.sequence_parallel |= run.tp == 1;
            run.tp = value;
        }
        LayoutAxis::Pp => (run.pp, run.stage_layers, run.mtp_stage) = (value, None, None),
        LayoutAxis::Cp => run.cp = value,
        LayoutAxis::Ep => run.ep = value,
        LayoutAxis::Zero => run.zero = value,
        LayoutAxis::MicroBatch => run.micro_batch = value,
        LayoutAxis::Schedule => return None,
        LayoutAxis::Recompute => run.recompute = axes.recompute.get(usize::try_from(value).ok()?)?.clone(),
    }
    Some(run)
}

/// The values of `axis` beside that of `run`: the next ones of a size, all others of a kind and of the few sizes of
/// tensor parallelism within a node.
fn beside(axis: LayoutAxis, run: &Run, axes: &Axes) -> Vec<u64> {
    let (Some(own), values) = (value_of(axis, run, axes), axis.values(axes)) else { return Vec::new() };
    let others = || values.iter().copied().filter(|value| *value != own);
    if matches!(axis, LayoutAxis::Zero | LayoutAxis::Recompute) {
        return others().collect();
    }
    let below = values.iter().copied().filter(|value| *value < own).max();
    let above = values.iter().copied().filter(|value| *value > own).min();
    // Beyond the node, which the search leaves out.
    let across = (axis == LayoutAxis::Tp && above.is_none() && own > 1).then(|| own.saturating_mul(2));
    let across = across.filter(|tp| *tp <= run.training_gpus());
    if axis == LayoutAxis::Tp {
        return others().chain(across).collect();
    }
    below.into_iter().chain(above).collect()
}

/// The report of `run` as a layout; none where it is none, or takes long.
pub(super) fn layout(run: Run) -> Option<Rc<FoundLayout>> {
    let report = Some(effort(&run)).filter(|ops| *ops <= MOST_OPS).and_then(|_| report(&run).ok())?;
    Some(Rc::new(FoundLayout { figures: Figures::from(&report), run, place: LayoutPlace::new(0, 0) }))
}

/// Seconds of a step of `found`.
fn time(found: &Rc<FoundLayout>) -> f64 {
    found.figures.time_s.0
}

impl Comparing {
    /// The work for the neighbours of `run` among the layouts of `search`, which is over; there are none of a layout
    /// that does not fit.
    pub fn new(run: &Run, search: &Search) -> Self {
        let axes = search.space().axes.clone();
        let own = layout(run.clone()).filter(|own| own.figures.peak.overall != Verdict::Oom);
        let pairs = |axis: LayoutAxis| beside(axis, run, &axes).into_iter().map(move |value| (axis, value));
        let mut left: Vec<_> = FIELDS.into_iter().filter(|_| own.is_some()).flat_map(pairs).collect();
        left.reverse();
        let found = Neighbours { list: Vec::new(), done: left.is_empty() };
        Self { run: run.clone(), axes, left, ranking: None, found }
    }

    pub const fn run(&self) -> &Run {
        &self.run
    }

    pub const fn found(&self) -> &Neighbours {
        &self.found
    }

    /// Works for about `budget` units; true when all neighbours are known.
    pub fn step(&mut self, search: &mut Search, budget: u64) -> bool {
        let mut left = budget;
        while left > 0 && !self.found.done {
            left = left.saturating_sub(self.look(search).max(1));
        }
        self.found.done
    }

    /// Looks at the next layout; returns the units of work that this took.
    fn look(&mut self, search: &mut Search) -> u64 {
        let Some(&(axis, value)) = self.left.last() else {
            self.found.done = true;
            return 1;
        };
        let Some(ranking) = &mut self.ranking else {
            let space = search.space();
            let promises = search.promises().iter().filter(|promise| {
                let at = space.at(promise.place);
                at.is_some_and(|(block, member)| axis.of(space, block, member) == value)
            });
            let promises: Vec<Promise> = promises.copied().collect();
            self.ranking = Some(Ranking::with_tight(&promises));
            return 1 + promises.len() as u64 / 16;
        };
        if !ranking.is_over() {
            return search.rank_more(ranking);
        }
        let (mut best, mut tight) = (ranking.best().first().cloned(), ranking.tight().cloned());
        let changed = with(&self.run, axis, value, &self.axes);
        let work = changed.as_ref().map_or(1, cost);
        let alone = changed.and_then(layout);
        let is_searched = axis.values(&self.axes).contains(&value);
        // A setting that no search tries by itself may be of use in this layout: selective recomputation that saves
        // little, ZeRO stages beside others.
        if let Some(alone) = alone.as_ref().filter(|alone| is_searched && can_run(&alone.run)) {
            let slot = match alone.figures.peak.overall {
                Verdict::Fits => Some(&mut best),
                Verdict::Tight if !alone.figures.peak.may_run_out() => Some(&mut tight),
                Verdict::Tight | Verdict::Oom => None,
            };
            if let Some(slot) = slot {
                *slot = faster(slot.take(), Some(Rc::clone(alone)), time);
            }
        }
        let tight = tight.filter(|tight| best.as_ref().is_none_or(|best| time(tight) < time(best)));
        if alone.is_some() || is_searched {
            self.found.list.push(Neighbour { axis, value, alone, best, tight, is_searched });
        }
        self.left.pop();
        self.ranking = None;
        self.found.done = self.left.is_empty();
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Recompute;
    use crate::search::PlanRequest;

    /// Each neighbour is the fastest of its part of the space: a search that is limited to the value finds the same
    /// time; and the layout itself is the fastest where it is the fastest of all.
    #[test]
    fn a_neighbour_is_the_fastest_with_its_value() {
        let (run, _) = Run::from_pairs(&[
            ("gpus".to_owned(), "16".to_owned()),
            ("global_batch".to_owned(), "32".to_owned()),
            ("stack".to_owned(), "megatron-2025".to_owned()),
        ]);
        let mut request = PlanRequest::able(&PlanRequest::question(&run), &[], 20).unwrap();
        request.search = request.search.sure();
        request.search.finish();
        let own = Rc::clone(&request.search.best()[0]);
        let mut comparing = Comparing::new(&own.run, &request.search);
        while !comparing.step(&mut request.search, 1_000) {}
        let found = comparing.found();
        assert!(found.list.len() > 6, "{found:?}");
        for one in &found.list {
            if let Some(best) = &one.best {
                assert!(best.figures.time_s >= own.figures.time_s, "{one:?}");
                assert_eq!(value_of(one.axis, &best.run, &comparing.axes), Some(one.value));
                assert_eq!(best.figures.peak.overall, Verdict::Fits);
            }
            if let Some(alone) = &one.alone {
                assert_eq!(value_of(one.axis, &alone.run, &comparing.axes), Some(one.value));
            }
            if let Some(tight) = &one.tight {
                assert_eq!(tight.figures.peak.overall, Verdict::Tight);
                assert!(!tight.figures.peak.may_run_out(), "{one:?}");
                assert!(one.best.as_ref().is_none_or(|best| tight.figures.time_s < best.figures.time_s));
            }
            let key = match one.axis {
                LayoutAxis::Tp => "tp",
                LayoutAxis::Pp => "pp",
                _ => continue,
            };
            if !one.is_searched {
                continue;
            }
            let pinned = PlanRequest::question(&run).with_texts(&[(key, one.value.to_string())]).unwrap();
            let mut alone = PlanRequest::able(&pinned, &[key], 1).unwrap();
            alone.search = alone.search.sure();
            alone.search.finish();
            let time = |found: Option<&Rc<FoundLayout>>| found.map(|found| found.figures.time_s.0);
            assert_eq!(time(alone.search.best().first()), time(one.best.as_ref()), "{:?} {}", one.axis, one.value);
        }
    }

    /// Llama 3.1 405B and DeepSeek-V3 on 2,048 GPUs in the layouts that are chosen: where the layout fits with one
    /// setting changed, one that fits is known and none that is known is slower; so is one with selective recomputation
    /// beside a layout that recomputes nothing. Every size of tensor parallelism within a node is compared.
    #[test]
    fn a_setting_that_fits_alone_is_known_to_fit() {
        use crate::search::ladder::{Ladder, LadderEnd};
        let mut without = 0;
        for (model, gpu, stack) in
            [("llama-3.1-405b", "h100-sxm-80gb", "megatron-2025"), ("deepseek-v3", "h800-sxm-80gb", "deepseek-v3")]
        {
            let set = [("model", model), ("gpu", gpu), ("gpus", "2048"), ("stack", stack), ("global_batch", "4096")];
            let run = Run::default().with_texts(&set).unwrap();
            let LadderEnd::Chosen(choice) = Ladder::new(&run).unwrap().finished() else { panic!("none fits") };
            let mut request = PlanRequest::able(&PlanRequest::question(&run), &[], 20).unwrap();
            request.search.finish();
            let mut comparing = Comparing::new(&choice.run, &request.search);
            while !comparing.step(&mut request.search, 1_000_000) {}
            let list = &comparing.found().list;
            for one in list.iter().filter(|one| one.is_searched) {
                let Some(alone) = &one.alone else { continue };
                let serves = alone.figures.peak.overall == Verdict::Fits && can_run(&alone.run);
                let known = one.best.as_ref().map(|best| best.figures.time_s.0);
                assert!(!serves || known.is_some_and(|known| known <= alone.figures.time_s.0), "{model} {one:?}");
            }
            if choice.run.recompute == Recompute::None {
                without += 1;
                let selective = choice.run.with_texts(&[("recompute", "selective")]).unwrap();
                assert_eq!(report(&selective).unwrap().memory.overall(), Verdict::Fits, "{model}");
                let found = list.iter().find(|one| one.axis == LayoutAxis::Recompute && one.value == 1);
                assert!(found.unwrap().best.is_some(), "{model}");
            }
            let mut sizes: Vec<u64> =
                list.iter().filter(|one| one.axis == LayoutAxis::Tp && one.is_searched).map(|one| one.value).collect();
            sizes.push(choice.run.tp);
            sizes.sort_unstable();
            assert_eq!(sizes, [1, 2, 4, 8], "{model}");
        }
        assert!(without > 0, "every chosen layout recomputes");
    }

    /// DeepSeek-V3 on 2,048 H800 as it was published, which recomputes modules: no neighbour that fits is faster than
    /// the first of the list that fits, which the choice of a layout finds too.
    #[test]
    fn no_neighbour_of_a_published_run_is_faster_than_the_list() {
        use crate::search::ladder::{Ladder, LadderEnd};
        let run = crate::run::presets::PUBLISHED.iter().find(|one| one.id == "deepseek-v3").unwrap().run();
        let mut request = PlanRequest::able(&PlanRequest::question(&run), &[], 20).unwrap();
        request.search = request.search.sure();
        request.search.finish();
        assert!(request.search.space().axes.recompute.contains(&run.recompute));
        let first = request.search.best()[0].figures.time_s.0;
        let LadderEnd::Chosen(choice) = Ladder::new(&run).unwrap().finished() else { panic!("none fits") };
        let mut comparing = Comparing::new(&run, &request.search);
        while !comparing.step(&mut request.search, 1_000_000) {}
        let best = comparing.found().list.iter().filter_map(|one| one.best.as_ref());
        for best in best {
            assert!(best.figures.time_s.0 >= first * (1.0 - 1e-9), "{:?} {first}", best.run);
            assert!(best.figures.time_s.0 >= choice.figures.time_s.0 * (1.0 - 1e-3), "{:?}", choice.figures);
        }
    }

    /// A layout with twice the tensor-parallel ranks of a node is reported though the search leaves it out: its
    /// messages take longer.
    #[test]
    fn tensor_parallelism_beyond_the_node_is_looked_at() {
        let run = Run { gpus: 32, tp: 8, pp: 1, ..Run::default() };
        let mut request = PlanRequest::able(&PlanRequest::question(&run), &[], 1).unwrap();
        request.search.finish();
        let mut comparing = Comparing::new(&run, &request.search);
        while !comparing.step(&mut request.search, 1_000) {}
        let across = comparing.found().list.iter().find(|one| one.axis == LayoutAxis::Tp && one.value == 16).unwrap();
        let own = layout(run).unwrap();
        assert!(!across.is_searched && across.best.is_none());
        assert!(across.alone.as_ref().unwrap().figures.exposed_comm_s > own.figures.exposed_comm_s);
    }
}
