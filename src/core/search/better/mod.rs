//! Layouts that do better than a Run's own: one that takes less time, one that needs less memory, one on fewer GPUs,
//! a larger batch where that is the loss, and activations in the host's memory where a Run is tuned; of a Run that is
//! out of memory, or tight in its best layout, the ways to make it fit. Only what fits and what the named software can
//! run; a kind without a gain is left out.

mod cause;
mod larger;
mod unfit;

pub use cause::{Cause, Gain, Reason};

use super::engine::Search;
use super::fastest::{faster, fastest, serves};
use super::known::published_layouts;
use super::promise::{LayoutPlace, Promise};
use super::ranking::{Figures, FoundLayout, Ranking, cost};
use super::request::{PlanRequest, TOP};
use super::space::Space;
use crate::advice::{balance, is_told, told_from};
use crate::memory::Verdict;
use crate::report::{Report, SplitOrigin, evaluate, plain_report as report};
use crate::run::Run;
use crate::sort::sort_by;
use crate::time::PartKind;
use crate::units::Seconds;
use cause::saved_parts;
use larger::larger_batch;
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use unfit::Mending;

/// Share of the memory that a suggestion of less memory saves at least.
const LESS: f64 = 0.05;
/// Share of the step from which on a faster layout is named although it may be equal.
const EQUAL: f64 = 0.01;
/// Units of work of the largest report whose stages are split anew.
const MOST_WORK: u64 = 200_000;
/// Layouts that are reported at most in search of one that needs less memory.
const REPORTS: usize = 400;

/// A layout that does better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Better {
    pub gain: Gain,
    pub run: Run,
    pub figures: Figures,
    /// The largest reason; none where no part shrinks by itself.
    pub cause: Option<Cause>,
    /// Of a larger batch the parts of the step that take less time a token, each with its share of what they save
    /// together, the largest first.
    pub saved: Vec<(PartKind, f64)>,
}

/// Layouts that do better, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Betters {
    /// At most one a kind, all of which fit.
    pub list: Vec<Better>,
    /// Tight ones that take less time, the fastest first, where none that fits does beyond what can be told apart:
    /// [`Gain::Time`], or [`Gain::Equal`] within it. Layouts whose estimate exceeds the memory are listed only where
    /// they were published.
    pub tight: Vec<Better>,
    /// The step of the fastest layout that serves, where the Run's own is tight and no slower than that.
    pub surer_s: Option<Seconds>,
    /// No more will come.
    pub done: bool,
}

/// The work for them.
#[derive(Clone, Debug)]
pub(crate) struct Improving {
    run: Run,
    report: Box<Report>,
    /// Share of the longer step from which on a gain is told ([`told_from`]).
    told_from: f64,
    fastest: Ranking,
    known: Option<Rc<FoundLayout>>,
    /// Least memory last.
    lean: Option<Vec<Promise>>,
    leanest: Option<Rc<FoundLayout>>,
    reports: usize,
    /// Numbers of GPUs that are tried next, and the search of one.
    gpus: Vec<u64>,
    fewer: Option<Box<Search>>,
    cheapest: Option<Rc<FoundLayout>>,
    /// The fastest, where its gain is inside the error of differences.
    equal: Option<Rc<FoundLayout>>,
    /// The search for a layout or change that fits, for a Run that does not.
    mending: Option<Box<Mending>>,
    /// Other layers a stage are looked for.
    split: bool,
    /// The larger batch is looked for.
    batch: bool,
    found: Betters,
}

impl Improving {
    /// For `run`; `search` has bounded its layouts, `known` is the fastest that a search of its own found. Its layout
    /// without pairs of passes is among those that are known. None where it has no report.
    pub fn new(run: &Run, search: &Search, known: Option<Rc<FoundLayout>>) -> Option<Self> {
        let space = search.space();
        let kept: Vec<Promise> = search.promises().iter().filter(|one| suits(space, one.place)).copied().collect();
        let report = report(run).ok()?;
        let fits = report.memory.overall() != Verdict::Oom;
        Some(Self {
            run: run.clone(),
            report: Box::new(report),
            told_from: told_from(run),
            fastest: Ranking::new(&kept, TOP, true),
            known: faster(known, unpaired(run), |found| found.figures.time_s.0),
            lean: Some(kept),
            leanest: None,
            reports: 0,
            gpus: if fits { fewer(run) } else { Vec::new() },
            fewer: None,
            cheapest: None,
            equal: None,
            mending: None,
            split: !fits,
            batch: false,
            found: Betters::default(),
        })
    }

    /// The Run whose betters these are.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Works for about `budget` units; true once it is over.
    pub fn step(&mut self, search: &mut Search, budget: u64) -> bool {
        let mut left = budget.max(1);
        while left > 0 && !self.found.done {
            let spent = if !self.fastest.is_over() {
                search.rank_more(&mut self.fastest)
            } else if let Some(mut lean) = self.lean.take() {
                let begun = self.begin(search, &mut lean);
                let (over, spent) = self.leaner(search, &mut lean);
                self.lean = (!over).then_some(lean);
                begun + spent
            } else if self.mending.is_some() {
                self.mend(left)
            } else if !self.split {
                self.split = true;
                self.split_anew()
            } else if !self.batch {
                self.batch = true;
                self.enlarge()
            } else {
                self.on_fewer()
            };
            left = left.saturating_sub(spent.max(1));
        }
        self.found.done
    }

    pub fn found(&self) -> &Betters {
        &self.found
    }

    /// Time that a layout may take at most to count as no slower.
    fn longest(&self) -> f64 {
        self.report.step.time_s.0 / (1.0 - self.told_from)
    }

    /// True if `time` is a gain over `present` that is told.
    fn is_told(&self, time: f64, present: f64) -> bool {
        time <= present * (1.0 - self.told_from)
    }

    /// The fastest layout that serves, of both searches.
    fn fastest(&self) -> Option<Rc<FoundLayout>> {
        let own = self.fastest.best();
        let own = fastest(own).map(|at| &own[at]);
        own.into_iter().chain(&self.known).min_by(|a, b| a.figures.time_s.0.total_cmp(&b.figures.time_s.0)).cloned()
    }

    /// The Run in the layouts in which its model was published to run on its GPUs, and the units of work that it took.
    fn published(&self) -> (Vec<Rc<FoundLayout>>, u64) {
        let others = published_layouts(&self.run).into_iter().map(|(_, run)| run);
        let others: Vec<Run> = others.filter(|run| cost(run) <= MOST_WORK).collect();
        let spent = others.iter().map(cost).sum();
        let found = others.into_iter().filter_map(|run| {
            let figures = Figures::from(&report(&run).ok()?);
            Some(Rc::new(FoundLayout { run, figures, place: LayoutPlace::new(0, 0) }))
        });
        (found.collect(), spent)
    }

    /// After the ranking: the layout that takes less time, and the order of the others. Returns the units of work that
    /// this took.
    fn begin(&mut self, search: &Search, lean: &mut Vec<Promise>) -> u64 {
        if self.reports > 0 {
            return 0;
        }
        self.reports = 1;
        let mut spent = 0;
        let verdict = self.report.memory.overall();
        let present = self.report.step.time_s.0;
        let (told, named) = (
            |found: &FoundLayout| self.is_told(found.figures.time_s.0, present),
            |found: &FoundLayout| found.figures.time_s.0 * (1.0 + EQUAL) < present,
        );
        let fastest = self.fastest();
        let of_use = fastest.as_ref().filter(|_| verdict != Verdict::Oom);
        if let Some(found) = of_use.filter(|found| told(found)) {
            self.add(Gain::Time, found);
        } else if verdict != Verdict::Oom {
            let equal = of_use.filter(|found| named(found)).cloned();
            let space = search.space();
            let tight = search.best().iter().filter(|found| suits(space, found.place)).cloned();
            let (published, work) = self.published();
            spent += work;
            let tight = tight.filter(|found| published.iter().all(|other| other.run != found.run));
            let tight = tight.chain(published.iter().cloned());
            let mut tight: Vec<_> =
                tight.filter(|found| found.figures.peak.overall == Verdict::Tight && named(found)).collect();
            sort_by(&mut tight, |a, b| a.figures.time_s.0.total_cmp(&b.figures.time_s.0));
            let gain = |found: &FoundLayout| if told(found) { Gain::Time } else { Gain::Equal };
            let tight = tight.iter().filter_map(|found| self.better(gain(found), found)).collect();
            let slower = of_use.filter(|found| found.figures.time_s.0 >= present && verdict == Verdict::Tight);
            self.found.surer_s = slower.map(|found| found.figures.time_s);
            (self.equal, self.found.tight) = (equal, tight);
        }
        if verdict == Verdict::Tight && fastest.is_none() {
            self.mending = Some(Box::new(Mending::new(&self.run, false)));
        } else if verdict != Verdict::Oom {
            self.mending = Mending::hosted(&self.run).map(Box::new);
        }
        if verdict == Verdict::Oom {
            // Its time is that of a Run that does not run: the fastest that fits is what helps, where its software
            // trains what it asks for.
            let fastest = fastest.filter(|_| self.run.is_adapted_by_its_software());
            if let Some(found) = &fastest {
                self.add(Gain::Fits, found);
            }
            self.mending = Some(Box::new(Mending::new(&self.run, fastest.is_some())));
            lean.clear();
            return spent;
        }
        let longest = self.longest();
        lean.retain(|promise| promise.may_fit && promise.bound <= longest);
        sort_by(lean, |a, b| b.peak.total_cmp(&a.peak).then(b.place.cmp(&a.place)));
        spent
    }

    /// Looks at the next layout that may need less memory: its bound, then its report. True once there is none.
    fn leaner(&mut self, search: &mut Search, lean: &mut Vec<Promise>) -> (bool, u64) {
        let mut most = self.report.memory.peak_bytes.0 * (1.0 - LESS);
        if let Some(found) = &self.leanest {
            most = most.min(found.figures.peak.bytes.0);
        }
        let next = lean.pop().filter(|promise| promise.peak < most && self.reports < REPORTS);
        let Some(promise) = next else {
            lean.clear();
            self.keep_leanest();
            return (true, 1);
        };
        let (bound, mut spent) = search.time(promise.place);
        if bound <= self.longest() {
            let (found, asked) = search.ask(promise.place);
            self.reports += 1;
            spent += asked;
            let suits = |found: &Rc<FoundLayout>| {
                let figures = &found.figures;
                serves(&found.run, &figures.peak) && figures.time_s.0 <= self.longest() && figures.peak.bytes.0 < most
            };
            if let Some(found) = found.filter(suits) {
                self.leanest = Some(found);
            }
        }
        (false, spent)
    }

    /// Works on the ways to make the Run fit, and takes over what is found.
    fn mend(&mut self, budget: u64) -> u64 {
        let Some(mending) = &mut self.mending else { return 1 };
        let spent = mending.step(budget);
        let found = std::mem::take(&mut mending.found);
        if spent.is_none() {
            self.mending = None;
        }
        for way in found {
            let fastest = self.found.list.iter().map(|better| better.figures.time_s.0);
            let fastest = fastest.fold(self.report.step.time_s.0, f64::min);
            let is_gain = way.gain != Gain::Hosted || self.is_told(way.figures.time_s.0, fastest);
            if is_gain && self.found.list.iter().all(|better| better.run != way.run) {
                let better = self.caused(way.gain, &way.run, way.figures);
                self.found.list.extend(better);
            }
        }
        self.drop_slower_fit();
        spent.unwrap_or(1)
    }

    /// Takes out the fastest layout that fits where a change keeps the layout, trains the same and is faster; one that
    /// moves to a host what the Run keeps on its GPUs asks for memory there that may be missing, so that the layout
    /// stays behind it.
    fn drop_slower_fit(&mut self) {
        let time = |better: &Better| better.figures.time_s.0;
        let place = |gain: Gain| self.found.list.iter().position(|better| better.gain == gain);
        let (Some(fit), Some(change)) = (place(Gain::Fits), place(Gain::Change)) else { return };
        let [fitting, changed] = [fit, change].map(|at| &self.found.list[at]);
        if !is_told(&self.run, time(changed), time(fitting)) {
            return;
        }
        if changed.run.offload.leaves() && !self.run.offload.leaves() {
            if fit < change {
                let fitting = self.found.list.remove(fit);
                self.found.list.insert(change, fitting);
            }
        } else {
            self.found.list.remove(fit);
        }
    }

    /// Adds other layers a stage in the own layout, before the rest, where that takes less time beyond what can be told
    /// apart: it is the smallest change there is.
    fn split_anew(&mut self) -> u64 {
        let work = cost(&self.run);
        if self.run.pp < 2 || work > MOST_WORK {
            return 1;
        }
        let splits = evaluate(&self.run).ok().and_then(|own| balance(&own));
        if let Some(best) = splits.as_ref().and_then(|splits| splits.of(SplitOrigin::Best)) {
            let (run, figures) = (&best.evaluation.scenario.run, Figures::from(&best.evaluation.report));
            let is_shorter = self.is_told(figures.time_s.0, self.report.step.time_s.0);
            if is_shorter && serves(run, &figures.peak) && self.found.list.iter().all(|better| better.run != *run) {
                let better = self.caused(Gain::Split, run, figures);
                self.found.list.splice(0..0, better);
            }
        }
        3 * work
    }

    /// Adds a larger batch in the own layout, where that is the loss.
    fn enlarge(&mut self) -> u64 {
        let (larger, spent) = larger_batch(&self.run, &self.report, self.told_from);
        if let Some((run, figures)) = larger {
            let better = self.caused(Gain::Batch, &run, figures);
            self.found.list.extend(better);
        }
        spent
    }

    /// True if no card has the layout yet.
    fn is_new(&self, found: &FoundLayout) -> bool {
        self.found.list.iter().all(|better| better.run != found.run)
    }

    fn keep_leanest(&mut self) {
        let tight = self.report.memory.overall() == Verdict::Tight;
        let fastest = self.fastest().filter(|_| tight);
        let Some(found) = self.leanest.clone().or(fastest).map(balanced).map(apart) else {
            return;
        };
        if self.is_new(&found) && found.figures.peak.bytes.0 < self.report.memory.peak_bytes.0 * (1.0 - LESS) {
            self.add(Gain::Memory, &found);
        }
    }

    /// GPU-seconds of a step of the cheapest that is known on the Run's own GPUs and batch: itself or a card.
    fn least_hours(&self) -> f64 {
        let cards = self.found.list.iter().filter(|better| better.run.global_batch == self.run.global_batch);
        let times = cards.map(|better| better.figures.time_s.0);
        times.fold(self.report.step.time_s.0, f64::min) * self.run.gpus as f64
    }

    /// Works on the search of fewer GPUs; the end once all numbers are tried.
    fn on_fewer(&mut self) -> u64 {
        /// Units of a slice.
        const SLICE: u64 = 200;
        if let Some(search) = &mut self.fewer {
            if search.step(SLICE).is_over() {
                let best = search.best().first().cloned();
                self.fewer = None;
                let hours = |found: &FoundLayout| found.figures.time_s.0 * found.run.gpus as f64;
                let least = self.cheapest.as_deref().map_or(self.least_hours() * (1.0 - self.told_from), hours);
                if let Some(found) = best.filter(|found| hours(found) <= least) {
                    self.cheapest = Some(found);
                }
            }
            return SLICE;
        }
        let Some(gpus) = self.gpus.pop() else {
            if let Some(found) = self.cheapest.take() {
                self.add(Gain::Gpus, &found);
            }
            // Last: it is no gain that can be told.
            if let Some(found) = self.equal.take().filter(|found| self.is_new(found)) {
                self.add(Gain::Equal, &found);
            }
            self.found.done = true;
            return 1;
        };
        let run = Run { gpus, ..self.run.clone() };
        let search = PlanRequest::able(&run, &[], 1).ok().map(|request| request.search.sure());
        self.fewer = search.map(|mut search| {
            search.unpair();
            Box::new(search)
        });
        1
    }

    fn add(&mut self, gain: Gain, found: &FoundLayout) {
        let better = self.better(gain, found);
        self.found.list.extend(better);
    }

    fn better(&self, gain: Gain, found: &FoundLayout) -> Option<Better> {
        self.caused(gain, &found.run, found.figures)
    }

    fn caused(&self, gain: Gain, run: &Run, figures: Figures) -> Option<Better> {
        // The Run itself is no proposal.
        let after = report(run).ok().filter(|_| *run != self.run)?;
        let (own, after) = ((&self.run, &*self.report), (run, &after));
        let saved = if gain == Gain::Batch { saved_parts(own, after) } else { Vec::new() };
        Some(Better { gain, run: run.clone(), figures, cause: Cause::of(gain, own, after), saved })
    }
}

/// `found` with the split of its layers that balances them, where that takes no more time and less memory: the panel of
/// the pipeline shows that split once the layout is the page's.
fn balanced(found: Rc<FoundLayout>) -> Rc<FoundLayout> {
    if found.run.pp < 2 || cost(&found.run) > MOST_WORK {
        return found;
    }
    let splits = evaluate(&found.run).ok().and_then(|own| balance(&own));
    let Some(best) = splits.as_ref().and_then(|splits| splits.of(SplitOrigin::Best)) else {
        return found;
    };
    let (run, figures) = (&best.evaluation.scenario.run, Figures::from(&best.evaluation.report));
    let is_less = figures.peak.bytes < found.figures.peak.bytes && figures.time_s <= found.figures.time_s;
    if !is_less || !serves(run, &figures.peak) {
        return found;
    }
    Rc::new(FoundLayout { run: run.clone(), figures, place: found.place })
}

/// `run` without pairs of passes, where it has them, its software has a setting for that and the layout serves.
fn unpaired(run: &Run) -> Option<Rc<FoundLayout>> {
    let run = run.unpaired().filter(|other| cost(other) <= MOST_WORK)?;
    let figures = Figures::from(&report(&run).ok()?);
    serves(&run, &figures.peak).then(|| Rc::new(FoundLayout { run, figures, place: LayoutPlace::new(0, 0) }))
}

/// `found` without pairs of passes, where that takes no more time and no more memory.
fn apart(found: Rc<FoundLayout>) -> Rc<FoundLayout> {
    let is_no_worse = |other: &Rc<FoundLayout>| {
        other.figures.time_s <= found.figures.time_s && other.figures.peak.bytes <= found.figures.peak.bytes
    };
    unpaired(&found.run).filter(is_no_worse).unwrap_or(found)
}

/// True if the layout at `place` trains what the Run does: adapters and offloading change that.
fn suits(space: &Space, place: LayoutPlace) -> bool {
    space.at(place).is_some_and(|(block, _)| block.variant == 0)
}

/// Half and three quarters of the GPUs of `run`, in whole nodes beyond one.
fn fewer(run: &Run) -> Vec<u64> {
    let per_node = run.gpu.resolve().map_or(1, |gpu| run.gpus_per_node.unwrap_or(gpu.per_node)).max(1);
    let mut counts = vec![run.gpus / 2, run.gpus - run.gpus / 4];
    counts.retain(|count| *count > 0 && *count < run.gpus);
    counts.retain(|count| *count <= per_node || count.is_multiple_of(per_node));
    counts
}
