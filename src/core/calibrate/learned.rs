//! What became of each multiplier and of each run: learned, not informed, standing out.

use super::components::Components;
use super::fit::{Measured, named, prediction_sd};
use super::observation::Observation;
use super::posterior::{Posterior, TIGHT, WIDE};
use super::suspects::{Suspect, suspects_of_step};
use crate::issue::Issue;
use crate::run::{MULTIPLIERS, Multiplier};
use serde::{Deserialize, Serialize};

/// A multiplier is informed where runs made it this much surer.
const SURER: f64 = 0.9;
/// And where it was this share of some run's step.
const SHARE: f64 = 0.05;
/// Standard deviations from which on a run stands out.
const STANDS_OUT: f64 = 2.0;

/// What the runs taught of a multiplier.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lesson {
    /// Which.
    pub multiplier: Multiplier,
    /// Its value after the runs; 1 before.
    pub factor: f64,
    /// Standard deviation of its logarithm after the runs.
    pub width: f64,
    /// The same before.
    pub before: f64,
    /// The largest share of a step that it had in the runs.
    pub share: f64,
    /// Whether the runs say something of it.
    pub informed: bool,
}

/// How a run stands to the fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Which observation.
    pub observation: usize,
    /// Seconds as measured.
    pub measured_s: f64,
    /// As the shipped constants say.
    pub before_s: f64,
    /// By the fit.
    pub after_s: f64,
    /// As the other runs predict; the shipped constants where there are none.
    pub expected_s: f64,
    /// Distance from what the other runs predict, in standard deviations; over 0: slower.
    pub off: f64,
    /// What a single change of its settings would explain, where it stands out.
    pub suspects: Vec<Suspect>,
}

impl Standing {
    /// Whether it lies further from the other runs' prediction than nearly all would.
    #[must_use]
    pub fn stands_out(&self) -> bool {
        self.off.abs() > STANDS_OUT
    }
}

/// What `measured` taught of every multiplier.
pub(super) fn lessons(measured: &[Measured], found: &Posterior) -> Vec<Lesson> {
    let lesson = |multiplier: Multiplier| {
        let at = multiplier as usize;
        let shares = measured
            .iter()
            .map(|one| one.components.shares(&found.mean)[at]);
        let share = shares.fold(0.0, f64::max);
        let tight = (1.0 - found.wide) * TIGHT[at].powi(2);
        let before = (tight + found.wide * WIDE[at].powi(2)).sqrt();
        let width = found.covariance[at][at].max(0.0).sqrt();
        Lesson {
            multiplier,
            factor: found.mean[at].exp(),
            width,
            before,
            share,
            informed: share > SHARE && width < SURER * before,
        }
    };
    Multiplier::ALL.map(lesson).to_vec()
}

/// How each of `measured` stands; `apart` are the fits without each.
pub(super) fn standings(
    observations: &[Observation],
    measured: &[Measured],
    found: &Posterior,
    apart: &[Posterior],
) -> Result<Vec<Standing>, Vec<Issue>> {
    let standing = |(one, without): (&Measured, &Posterior)| {
        let run = &observations[one.observation].run;
        let log = without.predict(&one.components).0;
        let sd = prediction_sd(without, &one.components, one.shown);
        let before = Components::exact_log(run, &[0.0; MULTIPLIERS]);
        let mut standing = Standing {
            observation: one.observation,
            measured_s: one.log_seconds.exp(),
            before_s: before
                .map_err(|issues| named(one.observation, issues))?
                .exp(),
            after_s: found.predict(&one.components).0.exp(),
            expected_s: log.exp(),
            off: (one.log_seconds - log) / sd,
            suspects: Vec::new(),
        };
        if standing.stands_out() {
            standing.suspects = suspects_of_step(run, without, standing.measured_s);
        }
        Ok(standing)
    };
    let steps = measured.iter().zip(apart).filter(|(one, _)| one.is_step);
    steps.map(standing).collect()
}
