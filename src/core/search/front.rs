//! Memory against step time over all layouts of a search: the Pareto front, exact, and where the others are.
//!
//! A layout is on the front where no other needs at most its memory and at most its time. Layouts are looked at in the
//! order of their least memory, and reported only where the least time is below that of every reported layout that
//! needs no more memory. The others stay at their bounds: the least memory and the least step time that they can have.

use super::engine::Search;
use super::promise::Promise;
use super::ranking::FoundLayout;
use crate::maths::ln;
use crate::memory::Verdict;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::rc::Rc;

/// Cells of the picture across (memory) and down (logarithm of the step time).
const CELLS: [usize; 2] = [72, 48];

/// The front, and a thinned list of all layouts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Layouts {
    /// The front, least memory first.
    pub front: Vec<Rc<FoundLayout>>,
    /// Memory of the fullest GPU, bytes, and step time, seconds, of the layouts that fit: their figures where they were
    /// reported, else their bounds. Of those that share a cell of the picture the fastest.
    pub others: Vec<(f32, f32)>,
}

/// A promise, least memory first, then least time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lean(Promise);

impl PartialOrd for Lean {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Lean {
    /// Reversed: a heap gives its greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        let peak = other.0.peak.total_cmp(&self.0.peak);
        peak.then(self.0.cmp(&other.0))
    }
}

/// An axis of the picture: its least value, and the values that a cell spans.
#[derive(Clone, Copy, Debug)]
struct Grid {
    low: f64,
    step: f64,
    cells: usize,
}

impl Grid {
    fn new(values: impl Iterator<Item = f64> + Clone, cells: usize) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        Self { low, step: (high - low) / cells as f64, cells }
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // at most `cells`
    fn cell(self, value: f64) -> usize {
        (((value - self.low) / self.step) as usize).min(self.cells - 1)
    }
}

/// The work for [`Layouts`].
#[derive(Clone, Debug)]
pub(crate) struct Front {
    sure: bool,
    queue: BinaryHeap<Lean>,
    best: Vec<Rc<FoundLayout>>,
    peaks: Grid,
    times: Grid,
    cells: Vec<Option<(f64, f64)>>,
}

impl Front {
    /// The front of `promises`; with `sure` only of what is called "fits".
    pub fn new(promises: &[Promise], sure: bool) -> Self {
        let [across, down] = CELLS;
        Self {
            sure,
            queue: promises.iter().copied().map(Lean).collect(),
            best: Vec::new(),
            peaks: Grid::new(promises.iter().map(|one| one.peak), across),
            times: Grid::new(promises.iter().map(|one| ln(one.bound)), down),
            cells: vec![None; across * down],
        }
    }

    /// Works for about `budget` units; true when it is over.
    pub fn step(&mut self, search: &mut Search, budget: u64) -> bool {
        let mut left = budget;
        while left > 0 {
            let Some(Lean(promise)) = self.queue.pop() else {
                return true;
            };
            let mut point = (promise.peak, promise.bound);
            left -= 1;
            if search.is_reported(promise.place) || !self.beats(point) {
                let (found, asked) = search.ask(promise.place);
                left = left.saturating_sub(asked);
                let sure = |found: &Rc<FoundLayout>| found.figures.peak.overall == Verdict::Fits;
                let Some(found) = found.filter(|found| !self.sure || sure(found)) else {
                    continue;
                };
                point = place(&found);
                self.enter(found);
            }
            let cell = self.times.cell(ln(point.1)) * self.peaks.cells + self.peaks.cell(point.0);
            let kept = &mut self.cells[cell];
            if kept.is_none_or(|other| point.1 < other.1) {
                *kept = Some(point);
            }
        }
        self.queue.is_empty()
    }

    /// True if a layout of the front needs no more memory and no more time.
    fn beats(&self, point: (f64, f64)) -> bool {
        self.best.iter().any(|one| is_beaten(point, place(one)))
    }

    /// Adds `found` where nothing on the front beats it, and removes what it beats.
    fn enter(&mut self, found: Rc<FoundLayout>) {
        let point = place(&found);
        if self.beats(point) {
            return;
        }
        self.best.retain(|one| !is_beaten(place(one), point));
        let before = self.best.partition_point(|one| place(one).0 < point.0);
        self.best.insert(before, found);
    }

    #[allow(clippy::cast_possible_truncation)] // seven digits are enough for a picture
    pub fn layouts(&self) -> Layouts {
        let others = self.cells.iter().flatten();
        Layouts { front: self.best.clone(), others: others.map(|one| (one.0 as f32, one.1 as f32)).collect() }
    }
}

/// Memory of the fullest GPU, bytes, and step time, seconds.
fn place(found: &FoundLayout) -> (f64, f64) {
    (found.figures.peak.bytes.0, found.figures.time_s.0)
}

fn is_beaten(point: (f64, f64), by: (f64, f64)) -> bool {
    by.0 <= point.0 && by.1 <= point.1
}

#[cfg(test)]
mod tests {
    use super::super::ranking::{Figures, is_listed};
    use super::super::request::PlanRequest;
    use super::*;
    use crate::report::report;
    use crate::run::Run;

    /// By reporting every layout: the front has exactly those points that no other layout has beaten, and no layout
    /// that is left at its bounds is beyond it.
    #[test]
    fn the_front_is_that_of_reporting_every_layout() {
        let run = Run { gpus: 8, global_batch: 8, ..Run::default() };
        let mut request = PlanRequest::new(&run, &["schedule", "recompute"], 5).unwrap();
        let search = &mut request.search;
        search.finish();
        while !search.time_all(50) {}
        let mut front = Front::new(search.promises(), false);
        while !front.step(search, 50) {}
        let found = front.layouts();
        let space = search.space();
        let mut points = Vec::new();
        for block in &space.blocks {
            for member in space.members(block) {
                let report = report(&space.run(block, *member));
                let report = report.ok().filter(|report| is_listed(&report.memory));
                points.extend(report.map(|report| {
                    let figures = Figures::from(&report);
                    (figures.peak.bytes.0, figures.time_s.0)
                }));
            }
        }
        let beaten = |point: &(f64, f64)| {
            let mut others = points.iter().filter(|other| *other != point);
            others.any(|other| is_beaten(*point, *other))
        };
        let mut exact: Vec<_> = points.iter().copied().filter(|one| !beaten(one)).collect();
        exact.sort_by(|a, b| a.0.total_cmp(&b.0));
        exact.dedup();
        let got: Vec<_> = found.front.iter().map(|one| place(one)).collect();
        assert_eq!(got, exact);
        assert!(got.len() > 3 && points.len() > 200, "{} of {}", got.len(), points.len());
        let [across, down] = CELLS;
        assert!(found.others.len() >= got.len() && found.others.len() <= across * down);
        for (peak, time) in found.others {
            let point = (f64::from(peak) * (1.0 + 1e-6), f64::from(time) * (1.0 + 1e-6));
            assert!(got.iter().any(|one| is_beaten(point, *one)), "{point:?}");
        }
    }
}
