//! Other splits of the same GPUs: how long a step takes as more of them generate.

use super::range::TOLD_APART;
use super::setting::RlSetting;
use super::step::sides;
use super::training::{Trained, trained};
use crate::run::{PhasesBy, RlParts, RolloutPlacement, Run};
use crate::units::Seconds;
use serde::Serialize;

/// A step with one number of GPUs that generate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SplitPoint {
    pub rollout_gpus: u64,
    pub step_s: Seconds,
    pub generation_s: Seconds,
    pub training_s: Seconds,
}

/// Splits that are evaluated, at most, beside the present one: each is a report of its own.
const MOST_SPLITS: usize = 24;
/// Steps of up to this multiple of the shortest step count as equal to it.
const FLAT: f64 = 1.10;
/// Numbers of units that are looked at, at most, before those that do not divide are left out.
const MOST_UNITS: usize = 1 << 12;

/// Steps by which responses are older than the weights in other splits of `run`: as many as the Run has. For a
/// colocated run at least one, because generation and training of a split overlap only with older responses; TRL never
/// overlaps them, so there it stays.
pub(super) fn staleness(run: &Run) -> f64 {
    let own = run.rl.staleness.unwrap_or(0.0);
    let waits = run.rl.is_split() || run.phases.framework == Some(PhasesBy::Trl);
    if waits { own } else { own.max(1.0) }
}

/// The step at each split of the GPUs into whole engines, nodes and data-parallel groups; where there are many splits,
/// at evenly spaced ones and the present one.
pub(super) fn split(setting: &RlSetting<'_>) -> Vec<SplitPoint> {
    let run = setting.run;
    let place = Some(RolloutPlacement::Split);
    let apart = RlParts { placement: place, staleness: Some(staleness(run)), ..run.rl.clone() };
    let split_run = Run { rl: apart, ..run.clone() };
    let setting = &RlSetting { run: &split_run, ..setting.clone() };
    let ranks = run.tp.saturating_mul(run.pp).saturating_mul(run.cp).max(1);
    let tp = run.engine_tp();
    // The engines grow by nodes; on fewer than four nodes by quarters of the GPUs.
    let unit = tp.max(setting.per_node.min(run.gpus / 4)).max(1);
    let all = (1..run.gpus.div_ceil(unit)).map(|units| units * unit);
    let whole =
        |engines: &u64| engines.is_multiple_of(tp) && *engines < run.gpus && (run.gpus - engines).is_multiple_of(ranks);
    let candidates: Vec<u64> = all.take(MOST_UNITS).filter(whole).collect();
    let every = candidates.len().div_ceil(MOST_SPLITS).max(1);
    let present = run.rl.apart();
    let taken = |at: usize, engines: u64| at.is_multiple_of(every) || present == Some(engines);
    let mut list = Vec::new();
    for (at, engines) in candidates.iter().enumerate() {
        if taken(at, *engines)
            && let Ok(trained) = trained(run, &setting.phases, run.gpus - engines, &setting.load())
        {
            list.push(point(setting, *engines, &trained));
        }
    }
    list
}

/// The step with `engines` GPUs that generate.
fn point(setting: &RlSetting<'_>, engines: u64, trained: &Trained) -> SplitPoint {
    // What a log measured is of the present split alone.
    let rl = RlParts {
        measured_generation_s: None,
        measured_update_s: None,
        measured_sync_s: None,
        ..setting.run.rl.clone()
    };
    let run = &Run { rl, ..setting.run.clone() };
    let setting = &RlSetting { run, ..setting.clone() };
    let sides = sides(setting, engines, true, trained);
    SplitPoint {
        rollout_gpus: engines,
        step_s: sides.step([1.0; 3]),
        generation_s: sides.generation(),
        training_s: sides.training.total(),
    }
}

/// The shortest of the splits.
fn shortest(list: &[SplitPoint]) -> Option<&SplitPoint> {
    list.iter().min_by(|a, b| a.step_s.0.total_cmp(&b.step_s.0))
}

/// Least and most GPUs that generate in steps within 10 % of the shortest, of a list by GPUs.
pub(super) fn flat(list: &[SplitPoint]) -> Option<[u64; 2]> {
    let most = shortest(list)?.step_s * FLAT;
    let mut near = list.iter().filter(|point| point.step_s <= most).map(|point| point.rollout_gpus);
    let first = near.next()?;
    Some([first, near.next_back().unwrap_or(first)])
}

/// GPUs that generate in the shortest step, where it is shorter than `present` beyond the error of two predictions.
pub(super) fn best(list: &[SplitPoint], present: Seconds) -> Option<u64> {
    shortest(list).filter(|point| point.step_s * TOLD_APART < present).map(|point| point.rollout_gpus)
}
