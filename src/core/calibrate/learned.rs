//! What a fit says of each multiplier, whether the runs inform it, and of each run, whether it agrees with the others.

use super::NOISE;
use super::components::Components;
use super::observation::{Observation, named};
use super::posterior::{Datum, Measured, Posterior, TIGHT, WIDE, mixture, prediction_sd};
use super::suspects::{Suspect, suspects_of_step};
use crate::issue::Issue;
use crate::maths::{exp, ln};
use crate::run::{MULTIPLIERS, Multiplier};
use serde::{Deserialize, Serialize};

/// A multiplier is informed where runs made it this much surer.
const SURER: f64 = 0.9;
/// And where it was this share of some run's step.
const SHARE: f64 = 0.05;
/// Standard deviations from which on a run does not agree with the others.
const FAR: f64 = 2.0;
/// One of several runs that do not agree is the odd one where the rest is this much more probable without it than
/// without any other: the logarithm of a ratio, e² ≈ 7.
const ODD_ONE: f64 = 2.0;

/// Result of the fit for one multiplier.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearnedMultiplier {
    pub multiplier: Multiplier,
    /// Its value after the runs; 1 before.
    pub factor: f64,
    /// Standard deviation of its logarithm after the runs.
    pub width: f64,
    /// Standard deviation of its logarithm before the runs.
    pub before: f64,
    /// The largest share of a step that it had in the runs.
    pub share: f64,
    /// True if the runs inform it.
    pub informed: bool,
}

/// Agreement of a run with the others and the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Agreement {
    /// It does.
    Agrees,
    /// It lies further from the other runs' prediction than nearly all would.
    StandsOut,
    /// It does not agree with another run, and which of them is wrong cannot be told.
    Unclear,
}

/// A run held against the fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStanding {
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
    pub agreement: Agreement,
    /// Single changes of the run's settings that would explain its time; empty where it agrees.
    pub suspects: Vec<Suspect>,
}

impl RunStanding {
    /// True if it is the one that does not agree.
    pub fn stands_out(&self) -> bool {
        self.agreement == Agreement::StandsOut
    }

    /// True if it disagrees with another run and nothing tells which of them is wrong.
    pub fn is_unclear(&self) -> bool {
        self.agreement == Agreement::Unclear
    }
}

/// Result for every multiplier.
pub(super) fn lessons(measured: &[Measured], found: &Posterior) -> Vec<LearnedMultiplier> {
    let lesson = |multiplier: Multiplier| {
        let at = multiplier as usize;
        let shares = measured.iter().map(|one| one.components.shares(&found.mean)[at]);
        let share = shares.fold(0.0, f64::max);
        let tight = (1.0 - found.wide) * TIGHT[at].powi(2);
        let before = (tight + found.wide * WIDE[at].powi(2)).sqrt();
        let width = found.covariance[at][at].max(0.0).sqrt();
        LearnedMultiplier {
            multiplier,
            factor: exp(found.mean[at]),
            width,
            before,
            share,
            informed: share > SHARE && width < SURER * before,
        }
    };
    Multiplier::ALL.map(lesson).to_vec()
}

/// Distance of a run from what the fit to the other runs predicts, in standard deviations.
fn distance(run: &Measured, others: &Posterior) -> f64 {
    let log = others.predict(&run.components).0;
    (run.log_seconds - log) / prediction_sd(others, &run.components, NOISE)
}

/// Agreement of each of `measured`; `apart` has for each the fit to all others. If several disagree, the odd one is the
/// run without which the others are the most probable; the rest is then judged without it.
fn agreements(measured: &[Measured], apart: &[Posterior]) -> Vec<Agreement> {
    let mut agreements = vec![Agreement::Agrees; measured.len()];
    let far = |at: usize, without: &Posterior| distance(&measured[at], without).abs() > FAR;
    let mut open: Vec<usize> =
        (0..measured.len()).filter(|at| measured[*at].is_step && far(*at, &apart[*at])).collect();
    // The likelihood of the others: that of `evidence`, which leaves σ out.
    let without = |at: usize| apart[at].evidence + ln(measured[at].sigma);
    open.sort_by(|a, b| without(*b).total_cmp(&without(*a)));
    let odd = match open[..] {
        [] => return agreements,
        [one] => one,
        [first, second, ..] if without(first) - without(second) > ODD_ONE => first,
        _ => {
            for at in open {
                agreements[at] = Agreement::Unclear;
            }
            return agreements;
        }
    };
    agreements[odd] = Agreement::StandsOut;
    for at in open.into_iter().filter(|at| *at != odd) {
        let left = [at, odd];
        let others = measured.iter().enumerate();
        let others = others.filter(|(index, _)| !left.contains(index));
        let data: Vec<Datum> = others.map(|(_, one)| one.datum()).collect();
        if far(at, &mixture(&data, &[0.0; MULTIPLIERS])) {
            agreements[at] = Agreement::StandsOut;
        }
    }
    agreements
}

/// Holds each of `measured` against the fit; `apart` has for each the fit to all others.
pub(super) fn standings(
    observations: &[Observation],
    measured: &[Measured],
    found: &Posterior,
    apart: &[Posterior],
) -> Result<Vec<RunStanding>, Vec<Issue>> {
    let agreements = agreements(measured, apart);
    let standing = |(at, one): (usize, &Measured)| {
        let (run, without) = (&observations[one.observation].run, &apart[at]);
        let before = Components::exact_log(run, &[0.0; MULTIPLIERS]);
        let mut standing = RunStanding {
            observation: one.observation,
            measured_s: exp(one.log_seconds),
            before_s: exp(before.map_err(|issues| named(one.observation, issues))?),
            after_s: exp(found.predict(&one.components).0),
            expected_s: exp(without.predict(&one.components).0),
            off: distance(one, without),
            agreement: agreements[at],
            suspects: Vec::new(),
        };
        if standing.agreement != Agreement::Agrees {
            standing.suspects = suspects_of_step(run, without, standing.measured_s);
        }
        Ok(standing)
    };
    let steps = measured.iter().enumerate().filter(|(_, one)| one.is_step);
    steps.map(standing).collect()
}
