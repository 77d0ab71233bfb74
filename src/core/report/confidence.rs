//! Certainty of a step under a profile: `σ² = J V Jᵀ + s²`, J the slopes of its logarithm by those of the multipliers.
//!
//! The slopes come from durations alone: passes, waits and the end of the step are computed again with each multiplier
//! a little larger, and the makespan follows the busy time. A range may be that coarse; `calibrate` fits on whole
//! evaluations.
//!
//! A profile of runs that are like the published ones makes no range wider than that of their class: it is wider only
//! where the runs themselves lie further apart, or where the profile moves the step further than the class reaches.

use super::draft::Draft;
use super::step::{ends, step};
use crate::maths::{exp, ln};
use crate::memory::RankLoad;
use crate::pipeline::Stats;
use crate::run::{MULTIPLIERS, Multiplier, Run, Vector};
use crate::time::{FOUR_OF_FIVE, Step, range};

/// Factor by which a multiplier is nudged to take a slope.
const NUDGE: f64 = 1.02;

/// `run` with the multiplier `kind` larger by `factor`.
pub(crate) fn nudged(run: &Run, kind: Multiplier, factor: f64) -> Run {
    let mut run = run.clone();
    let mut means = run.profile.factors().0;
    means[kind as usize] *= factor;
    run.profile.means = Some(means.to_vec());
    run
}

/// Gives `of`, the step of `draft` under `stats`, the range of its profile, where it has one.
pub(super) fn narrow(of: &mut Step, draft: &Draft, loads: &[RankLoad], stats: &Stats) {
    let run = &draft.scenario.run;
    let Some(uncertainty) = run.profile.uncertainty() else {
        return;
    };
    if of.rescaled_by.is_some() {
        return;
    }
    let busy = |draft: &Draft| -> f64 {
        let passes = draft.passes.iter();
        passes.map(|pass| pass.total().0).sum()
    };
    let slope = |kind: Multiplier| {
        let draft_of = Draft::of(&nudged(run, kind, NUDGE)).ok()?;
        let stretched = busy(&draft_of) / busy(draft);
        let stats =
            Stats { makespan_s: stats.makespan_s * stretched, ideal_s: stats.ideal_s * stretched, ..stats.clone() };
        let longer = step(&draft_of, loads, &ends(&draft_of, loads), &stats).2.time_s.0;
        Some(ln(longer / of.time_s.0) / ln(NUDGE))
    };
    let mut slopes: Vector = [0.0; MULTIPLIERS];
    for kind in Multiplier::ALL {
        slopes[kind as usize] = match kind {
            Multiplier::All => 1.0,
            own => slope(own).unwrap_or(0.0),
        };
    }
    let means = run.profile.factors().0;
    let moved: f64 = slopes.iter().zip(means).map(|(slope, mean)| slope * ln(mean)).sum();
    let most = range(&draft.scenario).deviation().max(uncertainty.spread).max(moved.abs());
    let sd = uncertainty.of(&slopes).min(most);
    of.low_s = of.time_s * exp(-FOUR_OF_FIVE * sd);
    of.high_s = of.time_s * exp(FOUR_OF_FIVE * sd);
    of.log_sd = Some(sd);
}
