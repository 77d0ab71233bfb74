//! A timeline made ready to be drawn and asked about: what every frame and every tooltip needs, built once.

use super::lod::Sums;
use crate::core::pipeline::trace::{Place, Places};
use crate::core::pipeline::{TimedOp, Trace, stats};
use crate::core::report::Evaluation;
use std::sync::{Arc, OnceLock};

/// An evaluation with its indices; those that only a click asks for are built when it does.
#[derive(Debug)]
pub struct Prepared {
    /// What is drawn.
    pub evaluation: Arc<Evaluation>,
    /// Running sums of its work.
    pub sums: Sums,
    places: OnceLock<Places>,
    path: OnceLock<Vec<(Place, TimedOp)>>,
}

impl Prepared {
    /// Of an evaluation.
    #[must_use]
    pub fn of(evaluation: Arc<Evaluation>) -> Self {
        let sums = Sums::of(evaluation.timeline());
        Self {
            evaluation,
            sums,
            places: OnceLock::new(),
            path: OnceLock::new(),
        }
    }
    /// The op at `place`.
    #[must_use]
    pub fn op(&self, place: Place) -> Option<TimedOp> {
        let ops = self.evaluation.timeline().ranks.get(place.rank)?;
        ops.get(place.at).copied()
    }
    /// Answers why an op starts when it does.
    #[must_use]
    pub fn trace(&self) -> Trace<'_> {
        let (order, timeline) = (&self.evaluation.order, self.evaluation.timeline());
        let places = self.places.get_or_init(|| Places::of(order, timeline));
        Trace::with(order, timeline, self.evaluation.durations.p2p, places)
    }
    /// The chain of ops that fixes the makespan.
    #[must_use]
    pub fn critical_path(&self) -> &[(Place, TimedOp)] {
        self.path.get_or_init(|| {
            let path = self.trace().critical_path().into_iter();
            path.filter_map(|place| Some((place, self.op(place)?)))
                .collect()
        })
    }
    /// How many activations `rank` holds over time.
    #[must_use]
    pub fn curve(&self, rank: usize) -> Vec<(f64, u32)> {
        let ops = self.evaluation.timeline().ranks.get(rank);
        ops.map_or(Vec::new(), |ops| stats::in_flight_curve(ops))
    }
    /// Seconds from the first start to the last end.
    #[must_use]
    pub fn makespan(&self) -> f64 {
        self.evaluation.timeline().makespan()
    }
    /// Pipeline ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.evaluation.timeline().ranks.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::report::evaluate;
    use crate::core::run::Run;

    #[test]
    fn the_critical_path_is_as_long_as_the_step() {
        let prepared = Prepared::of(Arc::new(evaluate(&Run::default()).unwrap()));
        let path = prepared.critical_path();
        let work: f64 = path.iter().map(|(_, op)| op.end - op.start).sum();
        let p2p = prepared.evaluation.durations.p2p;
        let hops = path
            .windows(2)
            .filter(|two| two[0].0.rank != two[1].0.rank)
            .count();
        let whole = work + p2p * hops as f64;
        assert!((whole - prepared.makespan()).abs() < 1e-9 * whole);
        assert_eq!(prepared.curve(0).iter().map(|step| step.1).max(), Some(4));
        assert!(prepared.curve(99).is_empty());
    }
}
