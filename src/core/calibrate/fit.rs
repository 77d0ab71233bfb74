//! The fit of all observations, on the exact model: components are taken at the present multipliers, and again where
//! the fit arrives, until both agree.

use super::components::Components;
use super::learned::{LearnedMultiplier, RunStanding, lessons, standings};
use super::memory::MemoryFit;
use super::observation::{Observation, named};
use super::posterior::{Datum, Measured, Posterior, mixture};
use super::{NOISE, RATIO_NOISE};
use crate::issue::Issue;
use crate::maths::ln;
use crate::run::{MULTIPLIERS, Profile, Run, Scenario, Vector};
use crate::time::range;
use serde::{Deserialize, Serialize};

/// The exact model and its components agree to this in the logarithm of a step.
const AGREE: f64 = 2e-3;
/// Components are taken at most so often.
const ROUNDS: usize = 4;
/// The spread of published runs counts as much as that of this many runs; of fewer runs it is taken alone.
const SPREAD_RUNS: f64 = 5.0;

/// Multipliers of time and memory fitted to observations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    pub posterior: Posterior,
    /// Agreement of each observation with the fit, in their order; none for those of memory alone.
    pub standings: Vec<RunStanding>,
    /// Result for each multiplier.
    pub lessons: Vec<LearnedMultiplier>,
    /// Standard deviation of the logarithm of a step besides the multipliers'.
    pub spread: f64,
    pub memory: MemoryFit,
    /// Steps that were fitted.
    pub steps: usize,
    /// Observations in all.
    pub runs: usize,
}

/// Fits the multipliers to the steps and ratios of `observations`, and memory to their peaks.
///
/// # Errors
/// Every setting that cannot work in one of the runs, at `runs.N`.
pub fn fit(observations: &[Observation]) -> Result<Fit, Vec<Issue>> {
    let mut at = [0.0; MULTIPLIERS];
    let mut measured = take(observations, &at)?;
    let mut found = mixture_of(&measured);
    for _ in 1..ROUNDS {
        if agrees(observations, &measured, &found.mean) {
            break;
        }
        at = found.mean;
        measured = take(observations, &at)?;
        found = mixture_of(&measured);
    }
    let data: Vec<Datum> = measured.iter().map(Measured::datum).collect();
    let apart = leave_one_out(&data);
    // A kind of work that was measured by itself is no step, and says nothing of how far steps lie from the model.
    let steps = (0..data.len()).filter(|at| measured[*at].is_step);
    let (steps, without): (Vec<Datum>, Vec<Posterior>) = steps.map(|at| (data[at], apart[at].clone())).unzip();
    let spread = spread(&steps, &without, noise(observations)?);
    Ok(Fit {
        standings: standings(observations, &measured, &found, &apart)?,
        lessons: lessons(&measured, &found),
        spread,
        memory: MemoryFit::of(observations)?,
        steps: steps.len(),
        runs: observations.len(),
        posterior: found,
    })
}

/// The profile of one measured step of `run`: what a plan takes of it.
///
/// # Errors
/// Every setting of the run that cannot work.
pub fn fit_step(run: &Run, step_s: f64) -> Result<Profile, Vec<Issue>> {
    let observation = Observation::step("", run.clone(), step_s);
    Ok(fit(&[observation])?.profile(None, run.gpu.base))
}

impl Fit {
    /// The profile that a link holds.
    pub fn profile(&self, name: Option<&str>, gpu: Option<&str>) -> Profile {
        let thousandth = |value: f64| (value * 1000.0).round() / 1000.0;
        let memory = &self.memory;
        Profile {
            name: name.map(str::to_owned),
            spread: Some(thousandth(self.spread)),
            memory: (memory.runs > 0).then(|| vec![thousandth(memory.overhead_gib), thousandth(memory.ratio)]),
            runs: Some(self.runs as u64).filter(|runs| *runs > 0),
            gpu: gpu.map(str::to_owned),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            ..Profile::of_logarithms(&self.posterior.mean, &self.posterior.covariance)
        }
    }
}

/// The steps and ratios of `observations` with their components, taken at the logarithms `at` of the multipliers.
fn take(observations: &[Observation], at: &Vector) -> Result<Vec<Measured>, Vec<Issue>> {
    let mut measured = Vec::new();
    for (index, observation) in observations.iter().enumerate() {
        let alone = observation.ratios.iter().map(|(kind, ratio)| Measured {
            observation: index,
            components: Components::alone(*kind),
            log_seconds: ln(*ratio),
            sigma: RATIO_NOISE,
            is_step: false,
        });
        measured.extend(alone);
        let Some(seconds) = observation.step_s else {
            continue;
        };
        let named = |issues| named(index, issues);
        let components = Components::of(&observation.run, at).map_err(named)?;
        measured.push(Measured {
            observation: index,
            components,
            log_seconds: ln(seconds),
            sigma: observation.sigma,
            is_step: true,
        });
    }
    Ok(measured)
}

fn mixture_of(measured: &[Measured]) -> Posterior {
    let data: Vec<Datum> = measured.iter().map(Measured::datum).collect();
    mixture(&data, &[0.0; MULTIPLIERS])
}

/// True if the exact model gives at `mean` what the components give.
fn agrees(observations: &[Observation], measured: &[Measured], mean: &Vector) -> bool {
    measured.iter().filter(|one| one.is_step).all(|one| {
        let run = &observations[one.observation].run;
        let log = one.components.log_seconds(mean).0;
        Components::exact_log(run, mean).is_ok_and(|exact| (exact - log).abs() < AGREE)
    })
}

/// For each of `data`, the fit to all others.
pub fn leave_one_out(data: &[Datum]) -> Vec<Posterior> {
    (0..data.len())
        .map(|left| {
            let mut others = data.to_vec();
            others.remove(left);
            mixture(&others, &[0.0; MULTIPLIERS])
        })
        .collect()
}

/// Spread of published runs like `observations` within their groups, at most [`NOISE`]: the widest of their classes.
fn noise(observations: &[Observation]) -> Result<f64, Vec<Issue>> {
    let mut widest: Option<f64> = None;
    for (index, observation) in observations.iter().enumerate().filter(|(_, one)| one.step_s.is_some()) {
        let scenario = Scenario::new(&observation.run).map_err(|issues| named(index, issues))?;
        widest = Some(range(&scenario).within.max(widest.unwrap_or(0.0)));
    }
    Ok(widest.unwrap_or(NOISE).min(NOISE))
}

/// Spread of the runs around the model that the multipliers leave: `noise`, that of published runs like them, and from
/// five runs on the errors of each by the fit to all others, which `apart` has.
pub fn spread(data: &[Datum], apart: &[Posterior], noise: f64) -> f64 {
    let count = data.len() as f64;
    if count < SPREAD_RUNS {
        return noise;
    }
    let errors = data.iter().zip(apart).map(|(one, without)| {
        let (log, variance) = without.predict(one.components);
        let off = (one.log_seconds - log).clamp(-3.0 * NOISE, 3.0 * NOISE);
        (off * off - variance).max(0.0)
    });
    ((SPREAD_RUNS * noise * noise + errors.sum::<f64>()) / (SPREAD_RUNS + count)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::evaluate;
    use crate::run::Multiplier;

    /// Benchmarks say what a kind of work takes, not how far steps lie from the model: one step with four of them is
    /// one run, whose range is that of published runs.
    #[test]
    fn benchmarks_make_no_range_of_steps_narrower_or_wider() {
        let run = Run::default();
        let seconds = evaluate(&run).unwrap().report.step.time_s.0;
        let kinds = [Multiplier::Gemm, Multiplier::Elementwise, Multiplier::NodeLinks, Multiplier::Network];
        let mut observation = Observation::step("", run, seconds);
        let alone = fit(&[observation.clone()]).unwrap();
        observation.ratios = kinds.map(|kind| (kind, 1.5)).to_vec();
        let beside = fit(&[observation]).unwrap();
        assert_eq!((alone.steps, beside.steps), (1, 1));
        assert_eq!(alone.spread.to_bits(), NOISE.to_bits());
        assert_eq!(beside.spread.to_bits(), NOISE.to_bits());
    }
}
