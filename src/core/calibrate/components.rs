//! A run's step by the kinds of work that the multipliers stretch.
//!
//! `b(δ) = Σ_j c_j e^{δ_j} + r`, `T(δ) = (b⁶ + (f e^{δ_loader})⁶)^{1/6} e^{δ_all}`: `c_j` is what the exact
//! model's step grows by with multiplier j, r what no multiplier stretches, f the loader's floor. The form is exact at
//! the multipliers that it was taken at. At others the longer of two overlapped parts may change, so a fit takes it
//! again at its result.

use super::linear::dot;
use crate::issue::Issue;
use crate::maths::{exp, ln, pow};
use crate::memory::StageMemory;
use crate::report::{Evaluation, evaluate_plain as evaluate, nudged};
use crate::run::{MULTIPLIERS, Multiplier, Profile, Run, Vector};
use crate::time::{COUPLING, loader_floor, stage_loading};
use crate::units::Bytes;

/// Factor by which a multiplier is nudged to take a derivative.
const NUDGE: f64 = 1.02;
/// Kinds of work inside the busy time.
const BUSY: [Multiplier; 5] =
    [Multiplier::Gemm, Multiplier::Elementwise, Multiplier::NodeLinks, Multiplier::Network, Multiplier::Host];

/// Seconds of a step by kind of work, taken at the logarithms `at`.
#[derive(Clone, Debug, PartialEq)]
pub struct Components {
    at: Vector,
    /// The c of each kind in [`BUSY`].
    busy: [f64; BUSY.len()],
    /// The r: what no multiplier of those stretches.
    rest: f64,
    /// The f: the loader's floor.
    floor: f64,
}

/// The busy time and the loader's floor of `run` at the logarithms `at`, and the step that they come to.
fn exact(run: &Run, at: &Vector) -> Result<(f64, f64, f64), Vec<Issue>> {
    let evaluation = evaluate(&with_logarithms(run, at))?;
    let floor = loader_floor(&evaluation.scenario).0;
    Ok((busy(&evaluation), floor, evaluation.report.step.time_s.0))
}

/// The step without what waits for the loader's floor, with loading on the first stage: no multiplier stretches that.
fn busy(evaluation: &Evaluation) -> f64 {
    let step = &evaluation.report.step;
    (step.time_s - step.host_s).0 + stage_loading::<f64>(&evaluation.scenario)
}

/// `run` under these multipliers, without a measured step and without ranges.
fn with_logarithms(run: &Run, at: &Vector) -> Run {
    let mut run = run.clone();
    run.measured_step_s = None;
    run.profile.widths = None;
    run.profile.means = Some(at.iter().map(|log| exp(*log)).collect());
    run
}

impl Components {
    /// Computes the components of `run` at the logarithms `at`, by six evaluations.
    ///
    /// # Errors
    /// Every setting of `run` that cannot work.
    pub fn of(run: &Run, at: &Vector) -> Result<Self, Vec<Issue>> {
        let (busy, floor, _) = exact(run, at)?;
        let base = with_logarithms(run, at);
        let scale = exp(at[Multiplier::All as usize]);
        let mut parts = [0.0; BUSY.len()];
        for (part, kind) in parts.iter_mut().zip(BUSY) {
            let longer = self::busy(&evaluate(&nudged(&base, kind, NUDGE))?);
            *part = (longer - busy) / (NUDGE - 1.0) / scale;
        }
        Ok(Self { at: *at, rest: busy / scale - parts.iter().sum::<f64>(), busy: parts, floor: floor / scale })
    }

    /// A second of `kind` and nothing else.
    pub fn alone(kind: Multiplier) -> Self {
        Self {
            at: [0.0; MULTIPLIERS],
            busy: BUSY.map(|busy| f64::from(u8::from(busy == kind))),
            rest: f64::from(u8::from(kind == Multiplier::All)),
            floor: f64::from(u8::from(kind == Multiplier::Loader)),
        }
    }

    /// Seconds of `kind` in the step at the logarithms that they were taken at.
    pub fn seconds_of(&self, kind: Multiplier) -> f64 {
        let at = BUSY.iter().position(|busy| *busy == kind);
        at.map_or(0.0, |at| self.busy[at])
    }

    /// The exact model's logarithm of the step of `run` at the logarithms `at`.
    ///
    /// # Errors
    /// Every setting of `run` that cannot work.
    pub(crate) fn exact_log(run: &Run, at: &Vector) -> Result<f64, Vec<Issue>> {
        Ok(ln(exact(run, at)?.2))
    }

    /// Logarithm of the step at the logarithms `delta` of the multipliers, and its slopes.
    pub fn log_seconds(&self, delta: &Vector) -> (f64, Vector) {
        let stretch = |kind: Multiplier| exp(delta[kind as usize] - self.at[kind as usize]);
        let parts: [f64; BUSY.len()] = std::array::from_fn(|at| self.busy[at] * stretch(BUSY[at]));
        // Overlaps can make a part negative; the whole never is.
        let busy = (parts.iter().sum::<f64>() + self.rest).max(1e-12);
        let floor = self.floor * stretch(Multiplier::Loader);
        let p = COUPLING.value;
        let longer = busy.max(floor);
        let (b, f) = (pow(busy / longer, p), pow(floor / longer, p));
        let mut slopes = [0.0; MULTIPLIERS];
        for (part, kind) in parts.iter().zip(BUSY) {
            slopes[kind as usize] = b / (b + f) * part / busy;
        }
        slopes[Multiplier::Loader as usize] = f / (b + f);
        slopes[Multiplier::All as usize] = 1.0;
        let log = ln(longer) + ln(b + f) / p + delta[Multiplier::All as usize];
        (log, slopes)
    }

    /// The slopes at the logarithms `delta`: the share of the step that each kind of work is.
    pub fn shares(&self, delta: &Vector) -> Vector {
        self.log_seconds(delta).1
    }
}

/// Variance of the logarithm of a step with these `slopes` under `covariance`.
pub fn variance(slopes: &Vector, covariance: &crate::run::Matrix) -> f64 {
    let through: Vector = std::array::from_fn(|row| dot(&covariance[row], slopes));
    dot(&through, slopes).max(0.0)
}

/// The fullest rank of `run` by the shipped constants.
pub(super) fn fullest(run: &Run) -> Result<StageMemory, Vec<Issue>> {
    let plain = Run { profile: Profile::default(), measured_step_s: None, ..run.clone() };
    let memory = evaluate(&plain)?.report.memory;
    Ok(memory.per_stage.into_iter().nth(memory.peak_stage).unwrap_or_default())
}

/// Most bytes that PyTorch allocates in `run`.
pub(super) fn allocated(run: &Run) -> Result<Bytes, Vec<Issue>> {
    Ok(fullest(run)?.allocated())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_exact_where_they_were_taken_and_close_around_it() {
        let run = Run { loader_ns: Some(2.0), ..Run::default() };
        for at in [[0.0; MULTIPLIERS], [0.1, -0.2, 0.3, 0.2, -0.4, 0.1, 0.05]] {
            let components = Components::of(&run, &at).unwrap();
            let (log, slopes) = components.log_seconds(&at);
            assert!((log - Components::exact_log(&run, &at).unwrap()).abs() < 1e-9);
            let shares: f64 = slopes[..6].iter().sum();
            assert!((0.9..=1.0 + 1e-9).contains(&shares), "{shares}");
            for kind in 0..MULTIPLIERS {
                let mut near = at;
                near[kind] += 0.1;
                let exact = Components::exact_log(&run, &near).unwrap();
                assert!((components.log_seconds(&near).0 - exact).abs() < 5e-3, "{kind}");
            }
        }
    }
}
