//! A Run understood, and its pipeline ordered and simulated as numbers alone.

use super::lengths::{LengthsReport, unequal_samples};
use super::passes::{Pass, durations};
use super::schedule::{in_run, spec};
use super::tower::tower_fits;
use crate::issue::Issue;
use crate::pipeline::{self, Built, Durations, Order, Spans, Spec};
use crate::run::{Run, Scenario, StageKinds};
use crate::time::Clock;
use serde::{Deserialize, Serialize};

/// A Run's pipeline, ordered and simulated: numbers alone, so that another thread can compute it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    pub(super) order: Order,
    pub(super) spans: Spans,
}

/// A Run understood, before its pipeline is simulated.
pub(super) struct Draft {
    /// In a place of its own: it is large, and moved with each step of the evaluation.
    pub scenario: Box<Scenario>,
    pub spec: Spec,
    pub clock: Clock,
    pub kinds: StageKinds,
    pub passes: Vec<Pass>,
    pub durations: Durations,
    /// Effect of samples of unequal length, where there are such.
    pub lengths: Option<LengthsReport>,
}

impl Draft {
    pub fn of(run: &Run) -> Result<Self, Vec<Issue>> {
        Self::understood(Box::new(Scenario::new(run)?))
    }

    pub fn understood(mut scenario: Box<Scenario>) -> Result<Self, Vec<Issue>> {
        let spec = spec(&scenario).map_err(|issue| vec![issue])?;
        tower_fits(&scenario)?;
        let clock = Clock::new(&scenario);
        let kinds = StageKinds::new(&scenario);
        let passes = kinds.each(|stage| Pass::of(&scenario, &clock, stage));
        let lengths = scenario.samples.is_some().then(|| unequal_samples(&mut scenario, &kinds, &passes)).flatten();
        let durations = durations(&scenario, &passes, &spec);
        Ok(Self { scenario, spec, clock, kinds, passes, durations, lengths })
    }

    pub fn timed(&self) -> Result<Timed, Vec<Issue>> {
        let in_field = |issue| in_run(issue, &self.scenario);
        let Built { order, .. } =
            pipeline::build(&self.spec, &self.durations).map_err(|issue| vec![in_field(issue)])?;
        let spans =
            pipeline::time(&order, &self.durations).map_err(|fault| vec![fault.issue("schedule_options.order")])?;
        Ok(Timed { order, spans })
    }
}
