//! The best split of the layers over the stages: sought from the same splits whatever the Run's own is, so that panel,
//! card and warning name one.

use super::effort::{MAX_OPS_AT_ONCE, effort_of};
use super::evaluate::evaluate_plain;
use super::evaluation::Evaluation;
use super::layer_splits::SplitOrigin;
use super::passes::layer_seconds;
use crate::issue::{Fix, Issue};
use crate::memory::methods::uneven::split as note_split;
use crate::memory::{StageMemory, Verdict};
use crate::pipeline::able::can_run;
use crate::pipeline::balance::{StageWork, optimum};
use crate::run::{Run, Scenario};

/// The field of layers a stage.
const KEY: &str = "stage_layers";
/// Share of a step up to which two are the same.
const SAME: f64 = 1e-6;

impl Evaluation {
    /// True if its stages have the layers of `split`.
    fn has(&self, split: &[u64]) -> bool {
        self.scenario.stage_layers == split
    }
}

/// A way to evaluate a Run.
pub(crate) type Evaluates = fn(&Run) -> Result<Evaluation, Vec<Issue>>;

/// Splits of a Run's layers with their evaluations, and which of them is the best.
#[derive(Clone, Debug)]
pub(crate) struct SplitSeeds {
    /// The even split, that of the uneven-PP note where a rank has one stage, those with the shortest longest stage.
    pub seeds: Vec<(SplitOrigin, Evaluation)>,
    /// Layers a stage of the best: one of the seeds, or the Run's own.
    pub best: Vec<u64>,
}

/// The Run of `own` with other layers a stage. A measured step is one of the Run's own split: that of another is the
/// computed one by the same factor.
fn with_split(own: &Evaluation, split: Option<Vec<u64>>, evaluates: Evaluates) -> Option<Evaluation> {
    if split.as_ref().is_some_and(|split| own.has(split)) {
        return Some(own.clone());
    }
    let mut run = Run { stage_layers: split, measured_step_s: None, ..own.scenario.run.clone() };
    let computed = evaluates(&run).ok()?;
    let Some(scale) = own.report.step.rescaled_by else {
        return Some(computed);
    };
    run.measured_step_s = Some(computed.report.step.time_s.0 * scale);
    evaluates(&run).ok()
}

/// Seeds and best split of the Run of `own`; none for a single stage. Its own split is the last of them: it is the best
/// only where it is faster than all others.
pub(crate) fn split_seeds(own: &Evaluation, evaluates: Evaluates) -> Option<SplitSeeds> {
    let scenario = &own.scenario;
    let stages = scenario.stage_layers.len();
    let seconds = layer_seconds(scenario);
    let ([first, layers @ .., last], true) = (seconds.as_slice(), stages > 1) else {
        return None;
    };
    let with = |split| with_split(own, split, evaluates);
    let work = StageWork { layers, first: *first, last: *last, most: None };
    let free = with(Some(optimum(&work, stages)?))?;
    let is_even = scenario.run.stage_layers.is_none();
    let even = if is_even { Some(own.clone()) } else { with(None) };
    let by_rule = (scenario.chunks == 1).then(|| note_split(scenario));
    let known =
        |split: &Vec<u64>| [Some(&free), even.as_ref()].into_iter().flatten().find(|one| one.has(split)).cloned();
    let rule = by_rule.and_then(|split| known(&split).or_else(|| with(Some(split))));
    let mut bests = vec![free.clone()];
    let other = [&even, &rule].into_iter().flatten().find(|one| !one.has(&free.scenario.stage_layers));
    if free.report.memory.verdict == Verdict::Oom
        && let Some(other) = other
    {
        // The first that has memory after all: with the most bytes of a run that is tight, then with those of the GPU.
        let memory = &free.report.memory;
        let tight = memory.capacity_bytes.0 * (memory.peak_bytes / memory.need_low_bytes).max(1.0);
        for (bytes, alike) in [(tight, false), (memory.capacity_bytes.0, false), (memory.capacity_bytes.0, true)] {
            let Some(most) = most_layers(other, &free, bytes, alike) else { continue };
            let within = StageWork { most: Some(&most), ..work.clone() };
            let Some(found) = optimum(&within, stages).and_then(|split| with(Some(split))) else { continue };
            let has_memory = found.report.memory.verdict != Verdict::Oom;
            bests.push(found);
            if has_memory {
                break;
            }
        }
    }
    let named = |origin: SplitOrigin, one: Option<Evaluation>| one.into_iter().map(move |one| (origin, one));
    let bests = bests.into_iter().flat_map(|one| named(SplitOrigin::Best, Some(one)));
    let seeds = bests.chain(named(SplitOrigin::Even, even)).chain(named(SplitOrigin::Rule, rule));
    let seeds: Vec<(SplitOrigin, Evaluation)> = seeds.collect();
    let best = best(seeds.iter().map(|(_, one)| one).chain([own]))?;
    Some(SplitSeeds { seeds, best })
}

/// Layers of the fastest of `splits`, one that has memory first; the earlier of two that take the same.
fn best<'a>(splits: impl Iterator<Item = &'a Evaluation>) -> Option<Vec<u64>> {
    let key = |one: &Evaluation| (one.report.memory.verdict == Verdict::Oom, one.report.step.time_s.0);
    let fastest = splits.reduce(|now, other| {
        let ((now_out, now_s), (out, time_s)) = (key(now), key(other));
        let is_better = now_out && !out || out == now_out && time_s < now_s * (1.0 - SAME);
        if is_better { other } else { now }
    })?;
    Some(fastest.scenario.stage_layers.clone())
}

/// Has the warning of a rank that works longer than the others, among the `issues` of the Run of `own`, set the split
/// `best` in place of the one that is shortest by its stages alone; nothing where `best` is the Run's own.
pub(crate) fn set_best(own: &Scenario, issues: &mut [Issue], best: &[u64]) {
    let sets_layers = |issue: &Issue| issue.fix.as_ref().is_some_and(|fix| fix.set.iter().all(|(key, _)| *key == KEY));
    let Some(issue) = issues.iter_mut().find(|issue| issue.field == KEY && sets_layers(issue)) else { return };
    let run = &own.run;
    let is_run = can_run(&Run { stage_layers: Some(best.to_vec()), ..run.clone() }) || !can_run(run);
    let is_other = own.stage_layers != best;
    let layers = best.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    issue.fix = (is_run && is_other).then(|| Fix::new(vec![(KEY, layers)]));
}

/// The `issues` of `own` with the best split: as they are where it takes long to find.
pub(super) fn with_best_split(own: &Evaluation, mut issues: Vec<Issue>) -> Vec<Issue> {
    let is_short = effort_of(&own.scenario) <= MAX_OPS_AT_ONCE;
    let says = issues.iter().any(|issue| issue.field == KEY && issue.fix.is_some());
    if let Some(found) = (is_short && says).then(|| split_seeds(own, evaluate_plain)).flatten() {
        set_best(&own.scenario, &mut issues, &found.best);
    }
    issues
}

/// Layers for which each stage has `bytes`, from two splits of one stage a rank: memory grows by as much with each
/// layer of a rank, or, where they are taken as `alike`, with each of any as with those of the rank where it grows
/// most.
fn most_layers(a: &Evaluation, b: &Evaluation, bytes: f64, alike: bool) -> Option<Vec<u64>> {
    if a.scenario.chunks != 1 {
        return None;
    }
    let ranks = || a.report.memory.per_stage.iter().zip(&a.scenario.stage_layers);
    let others = b.report.memory.per_stage.iter().zip(&b.scenario.stage_layers);
    let slopes = ranks().zip(others).map(|((one, few), (other, many))| {
        (few != many).then(|| (other.total.0 - one.total.0) / (*many as f64 - *few as f64))
    });
    let slopes: Vec<Option<f64>> = slopes.collect();
    let largest = slopes.iter().flatten().copied().fold(0.0, f64::max);
    if largest <= 0.0 {
        return None;
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // at most the layers
    let most = |((rank, layers), own): ((&StageMemory, &u64), &Option<f64>)| {
        let slope = own.filter(|slope| !alike && *slope > 0.0).unwrap_or(largest);
        let room = *layers as f64 + (bytes - rank.total.0) / slope;
        room.clamp(0.0, a.scenario.model.layers as f64) as u64
    };
    Some(ranks().zip(&slopes).map(most).collect())
}
