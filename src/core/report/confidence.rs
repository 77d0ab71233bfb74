//! Certainty of a step: the parts of its range, and under a profile `σ² = J V Jᵀ + s²`, J the slopes of its
//! logarithm by those of the multipliers.
//!
//! Slopes, and what an open setting moves, come from durations alone: passes, waits and the end of the step are
//! computed again, and the makespan follows the busy time. A range may be that coarse; `calibrate` fits on whole
//! evaluations.
//!
//! A profile of runs says what the cluster and its software have in common; what runs of one publisher scatter by
//! stays. It makes no range wider than that of the class, but where the runs themselves lie further apart, or where the
//! profile moves the step further than the class reaches.

use super::draft::Draft;
use super::open::{Open, open_settings};
use super::step::{ends, step};
use crate::maths::ln;
use crate::memory::RankLoad;
use crate::pipeline::Stats;
use crate::run::{MULTIPLIERS, Multiplier, Run, Vector};
use crate::time::{
    OTHER_HOST, OpenField, PartKind, REACH, RangeOf, RangePart, RangeShare, Step, UNSEEN, is_new_ground, range,
};
use crate::units::Seconds;

/// Factor by which a multiplier is nudged to take a slope.
const NUDGE: f64 = 1.02;
/// An open setting moves the logarithm of a step by at most so much: beyond, the other value is another kind of run.
const FURTHEST: f64 = 0.7;
/// Share of a step that the loader adds from which on it decides the step: where its floor is as long as the rest.
const LOADER_BOUND: f64 = 0.11;
/// Deviation of a step that waits for the slowest of several data loaders: 0 to 100 s of 140 to 2200 s in table 11 of
/// Fujii 2024, of no known cause.
const LOADERS: f64 = 0.15;
/// Deviation of a step of adapters with context parallelism, whose fixed times are not known: judgement, since runs of
/// MLPerf miss by up to 0.6.
const FIXED_TIMES: f64 = 0.6 / REACH;
/// Share of a step that launches add from which on their host is a part of the range: below it they move it by 1.5 %.
const HOST_BOUND: f64 = 0.05;
/// Deviation from which on open settings are named.
const TOLD: f64 = 0.03;

/// `run` with the multiplier `kind` larger by `factor`.
pub(crate) fn nudged(run: &Run, kind: Multiplier, factor: f64) -> Run {
    let mut run = run.clone();
    let mut means = run.profile.factors().0;
    means[kind as usize] *= factor;
    run.profile.means = Some(means.to_vec());
    run
}

/// A step of `draft` under `stats`, against which others are held.
pub(super) struct Beside<'a> {
    pub draft: &'a Draft,
    pub loads: &'a [RankLoad],
    pub stats: &'a Stats,
}

impl Beside<'_> {
    /// Logarithm of the step of `run` over `seconds`, with the makespan longer as the passes are.
    fn longer(&self, run: &Run, seconds: Seconds) -> Option<f64> {
        let busy = |draft: &Draft| -> f64 { draft.passes.iter().map(|pass| pass.total().0).sum() };
        let other = Draft::of(run).ok().filter(|other| other.passes.len() == self.draft.passes.len())?;
        let stretched = busy(&other) / busy(self.draft);
        let stats = Stats {
            makespan_s: self.stats.makespan_s * stretched,
            ideal_s: self.stats.ideal_s * stretched,
            ..self.stats.clone()
        };
        let moved = ln(step(&other, self.loads, &ends(&other, self.loads), &stats).2.time_s.0 / seconds.0);
        moved.is_finite().then_some(moved)
    }

    /// Slope of the logarithm of the step of `seconds` by that of the multiplier `kind`.
    fn slope(&self, kind: Multiplier, seconds: Seconds) -> f64 {
        let moved = self.longer(&nudged(&self.draft.scenario.run, kind, NUDGE), seconds);
        moved.map_or(0.0, |moved| moved / ln(NUDGE))
    }
}

/// Widens the range of a step by the parts that one evaluation does not know: new ground, the host that launches and,
/// by at most five evaluations, the settings that the Run leaves open. The range of a profile stays.
pub(super) fn widen(of: &mut Step, beside: &Beside) {
    let scenario = &beside.draft.scenario;
    if of.rescaled_by.is_some() || scenario.run.profile.uncertainty().is_some() {
        return;
    }
    let mut more = Vec::new();
    if is_new_ground(scenario) {
        more.push((RangePart::NewGround, (UNSEEN.value * beside.slope(Multiplier::Gemm, of.time_s)).powi(2)));
    }
    let moved = |open: &Open| {
        let moved = beside.longer(&open.other, of.time_s)?.clamp(-FURTHEST, FURTHEST);
        Some((open.field, open.chance * (1.0 - open.chance) * moved.powi(2)))
    };
    let open: Vec<(&str, f64)> = open_settings(scenario).iter().filter_map(moved).collect();
    let unstated: f64 = open.iter().map(|(_, variance)| variance).sum();
    more.push((RangePart::Open, unstated));
    let range = range(scenario);
    let launches = of.parts.iter().find(|part| part.kind == PartKind::Launches).map_or(0.0, |part| part.seconds.0);
    if launches > HOST_BOUND * of.time_s.0 {
        more.push((RangePart::Host, (OTHER_HOST.value * beside.slope(Multiplier::Host, of.time_s)).powi(2)));
    }
    if of.host_s.0 > LOADER_BOUND * of.time_s.0 && scenario.layout.dp > 1 {
        more.push((RangePart::Loaders, LOADERS.powi(2)));
    }
    if scenario.adapter.is_some() && scenario.run.cp > 1 {
        let known = range.deviation().powi(2) + unstated;
        more.push((RangePart::FixedTimes, (FIXED_TIMES.powi(2) - known).max(0.0)));
    }
    let whole = range.deviation().powi(2) + more.iter().map(|(_, variance)| variance).sum::<f64>();
    let ends = |variance: f64| of.ends(variance.max(0.0).sqrt());
    let (low, high) = ends(whole);
    let mut told: Vec<OpenField> = Vec::new();
    if unstated.sqrt() > TOLD {
        for (field, variance) in open {
            let (low_without, high_without) = ends(whole - variance);
            let seconds = ((high - low) - (high_without - low_without)).0;
            // Below a thousandth of the step it rounds to nothing.
            if seconds > 1e-3 * of.time_s.0 {
                told.push(OpenField { field, seconds });
            }
        }
        told.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    }
    of.range = RangeOf { open: told, ..RangeOf::new(scenario, range, &more) };
    (of.low_s, of.high_s) = (low, high);
}

/// Gives a step the range of the Run's profile, where it has one.
pub(super) fn narrow(of: &mut Step, beside: &Beside) {
    let run = &beside.draft.scenario.run;
    let Some(uncertainty) = run.profile.uncertainty() else {
        return;
    };
    if of.rescaled_by.is_some() {
        return;
    }
    let mut slopes: Vector = [0.0; MULTIPLIERS];
    for kind in Multiplier::ALL {
        slopes[kind as usize] = match kind {
            Multiplier::All => 1.0,
            own => beside.slope(own, of.time_s),
        };
    }
    let means = run.profile.factors().0;
    let moved: f64 = slopes.iter().zip(means).map(|(slope, mean)| slope * ln(mean)).sum();
    let class = range(&beside.draft.scenario);
    let most = class.deviation().max(uncertainty.spread).max(moved.abs());
    let least = class.deviation_after(run.profile.runs.unwrap_or(0));
    let sd = uncertainty.of(&slopes).max(least).min(most);
    (of.low_s, of.high_s) = of.ends(sd);
    of.log_sd = Some(sd);
    of.range.parts = vec![RangeShare { name: RangePart::OwnRuns, share: 1.0 }];
    of.range.new_ground = false;
}
