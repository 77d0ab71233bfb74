//! Growth of the cost: the best layout at each of several GPU counts, sequence lengths or batches.

use super::engine::Search;
use super::ranking::FoundLayout;
use super::request::PlanRequest;
use crate::run::Run;
use crate::sort::sort_by;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grown {
    Gpus,
    SeqLen,
    GlobalBatch,
}

impl Grown {
    /// `run` with `value` of it.
    pub fn set(self, run: &Run, value: u64) -> Run {
        let mut run = run.clone();
        match self {
            Self::Gpus => run.gpus = value,
            Self::SeqLen => run.seq_len = value,
            Self::GlobalBatch => run.global_batch = value,
        }
        run
    }
}

/// When a sweep has seen enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After every value.
    End,
    /// At the first value with a layout that fits.
    Fits,
    /// At the first value without one, once there was one.
    Fails,
}

/// The best layout at one value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepPoint {
    pub value: u64,
    /// The fastest layout; none where nothing fits or divides.
    pub best: Option<Rc<FoundLayout>>,
}

/// Points of a sweep found so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Points {
    pub grown: Grown,
    /// In the order of the values.
    pub points: Vec<SweepPoint>,
    /// No more will come.
    pub done: bool,
}

impl Points {
    /// The last value with a layout that fits.
    pub fn last_fit(&self) -> Option<(u64, &FoundLayout)> {
        let mut points = self.points.iter().rev();
        points.find_map(|point| Some((point.value, point.best.as_deref()?)))
    }

    /// The layouts found, those that train most tokens a second and GPU first.
    pub fn cheapest(&self) -> Vec<Rc<FoundLayout>> {
        let rate = |found: &FoundLayout| found.figures.tokens_per_s_per_gpu;
        let found = self.points.iter().filter_map(|point| point.best.clone());
        let mut found: Vec<_> = found.collect();
        sort_by(&mut found, |a, b| rate(b).total_cmp(&rate(a)));
        found
    }
}

/// A sweep under way.
#[derive(Clone, Debug)]
pub struct Sweep {
    pub found: Points,
    run: Run,
    until: Until,
    values: Vec<u64>,
    current: Option<Search>,
}

impl Sweep {
    /// A sweep of `run` over `values` of `grown`, all layouts free.
    pub fn new(run: &Run, grown: Grown, values: Vec<u64>, until: Until) -> Self {
        Self {
            found: Points { grown, points: Vec::new(), done: values.is_empty() },
            run: run.clone(),
            until,
            values,
            current: None,
        }
    }

    /// Works for about `budget` units; true when it is over.
    pub fn step(&mut self, budget: u64) -> bool {
        let next = self.values.get(self.found.points.len());
        let Some(&value) = next.filter(|_| !self.found.done) else {
            self.found.done = true;
            return true;
        };
        if self.current.is_none() {
            let run = self.found.grown.set(&self.run, value);
            self.current = PlanRequest::able(&run, &[], 1).ok().map(|request| request.search.sure());
        }
        let over = match &mut self.current {
            Some(search) => search.step(budget).done,
            None => true,
        };
        if over {
            let search = self.current.take();
            let best = search.and_then(|search| search.best().first().cloned());
            let (fits, before) = (best.is_some(), self.found.last_fit().is_some());
            self.found.points.push(SweepPoint { value, best });
            self.found.done = match self.until {
                Until::End => false,
                Until::Fits => fits,
                Until::Fails => before && !fits,
            } || self.found.points.len() == self.values.len();
        }
        self.found.done
    }

    pub fn finish(&mut self) {
        while !self.step(u64::MAX) {}
    }

    /// Share of the values that is done.
    pub fn share(&self) -> f64 {
        if self.found.done { 1.0 } else { self.found.points.len() as f64 / self.values.len().max(1) as f64 }
    }
}

/// The powers of two from `low` to `high`.
pub fn doublings(low: u64, high: u64) -> Vec<u64> {
    let next = |value: &u64| value.checked_mul(2);
    std::iter::successors(Some(low.max(1)), next).take_while(|value| *value <= high).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doublings_stay_in_their_range() {
        assert_eq!(doublings(1, 8), [1, 2, 4, 8]);
        assert_eq!(doublings(3, 20), [3, 6, 12]);
        assert!(doublings(8, 4).is_empty());
    }

    #[test]
    fn a_sweep_stops_where_it_has_seen_enough() {
        let run = Run { global_batch: 64, ..Run::default() };
        let mut sweep = Sweep::new(&run, Grown::Gpus, doublings(1, 64), Until::Fits);
        sweep.finish();
        let (gpus, _) = sweep.found.last_fit().unwrap();
        assert_eq!(sweep.found.points.last().unwrap().value, gpus);
        assert!(sweep.found.points.iter().rev().skip(1).all(|point| point.best.is_none()));
    }
}
