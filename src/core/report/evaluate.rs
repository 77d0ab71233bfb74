//! From a Run to everything known about it: the order of work between memory, pipeline, traffic and time.

use super::confidence::{Beside, narrow, widen};
use super::draft::{Draft, Timed};
use super::evaluation::Evaluation;
use super::lengths::lengths_warnings;
use super::loads::loads;
use super::mend::mend;
use super::offload::{OffloadStep, with_ways};
use super::reduction::often_reduced;
use super::schedule::in_run;
use super::step::{End, ends, of_rank, step};
use super::warnings::{
    crowded, host_memory, much_bubble, no_adapters, not_in_software, reference_too_large, release_of_layout,
};
use super::{LayoutReport, Memory, Parameters, Pipeline, Report};
use crate::issue::Issue;
use crate::memory::verdict::{MemoryNeed, chance};
use crate::memory::{self, Chunks, RankLoad};
use crate::pipeline::stats::{fill_and_drain, peak_in_flight};
use crate::pipeline::steady::step_seconds;
use crate::pipeline::{self, Durations, Order, Spec, Stats};
use crate::run::{OneOf, Run, Scenario, Schedule};
use crate::units::{Bytes, Seconds};
use std::sync::OnceLock;

/// Understands, simulates and measures `run`.
///
/// # Errors
/// Every setting that cannot work, with what would.
pub fn evaluate(run: &Run) -> Result<Evaluation, Vec<Issue>> {
    let made = Draft::of(run).and_then(|draft| {
        let timed = draft.timed()?;
        Ok(draft.finish(timed, true))
    });
    made.map_err(|issues| mend(run, None, issues))
}

/// Evaluates one of many Runs that are compared: unlike in [`evaluate`], its range leaves out the causes of error that
/// take further evaluations.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_plain(run: &Run) -> Result<Evaluation, Vec<Issue>> {
    let made = Draft::of(run).and_then(|draft| {
        let timed = draft.timed()?;
        Ok(draft.finish(timed, false))
    });
    made.map_err(|issues| mend(run, None, issues))
}

/// Simulates and measures a scenario as it is, with constants that a fit tries; its range is as that of
/// [`evaluate_plain`].
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_scenario(scenario: Scenario) -> Result<Evaluation, Vec<Issue>> {
    let draft = Draft::understood(Box::new(scenario))?;
    let timed = draft.timed()?;
    Ok(draft.finish(timed, false))
}

/// The first half of [`evaluate`], which takes long where [`needs_worker`](crate::report::needs_worker) says so.
///
/// # Errors
/// As [`evaluate`].
pub fn time(run: &Run) -> Result<Timed, Vec<Issue>> {
    let timed = Draft::of(run).and_then(|draft| draft.timed());
    timed.map_err(|issues| mend(run, None, issues))
}

/// The second half of [`evaluate`]: measures a simulation of `run` made before.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_timed(run: &Run, timed: Timed) -> Result<Evaluation, Vec<Issue>> {
    let draft = Draft::of(run).map_err(|issues| mend(run, None, issues))?;
    Ok(draft.finish(timed, true))
}

impl Draft {
    /// Warnings on the settings, the schedule, what the memory method leaves out (`by_method`) and the figures.
    fn warnings(
        &self,
        held_by: (&Chunks, &[RankLoad]),
        stats: &Stats,
        memory: &Memory,
        by_method: Vec<Issue>,
    ) -> Vec<Issue> {
        let (scenario, spec, verdict) = (&self.scenario, &self.spec, memory.verdict);
        let mut warnings = scenario.warnings.clone();
        warnings.extend(not_in_software(scenario));
        warnings.extend(release_of_layout(&scenario.run));
        warnings.extend(no_adapters(scenario));
        warnings.extend(pipeline::warnings(spec).into_iter().map(|issue| in_run(issue, scenario)));
        warnings.extend(by_method);
        warnings.extend(memory::remedies::fused_loss(scenario, held_by, verdict));
        warnings.extend(often_reduced(scenario, held_by, verdict));
        warnings.extend(much_bubble(scenario, stats, spec.schedule.endless));
        warnings.extend(self.lengths.iter().flat_map(|lengths| lengths_warnings(scenario, lengths)));
        warnings.extend(memory.host.as_ref().and_then(host_memory));
        warnings.extend(reference_too_large(memory));
        warnings.extend(crowded(scenario, memory.peak_bytes, memory.capacity_bytes));
        warnings
    }

    /// Traffic of rank `rank` with its host.
    fn offload_of(&self, order: &Order, loads: &[RankLoad], rank: usize) -> Option<OffloadStep> {
        let step = of_rank(self, loads.get(rank)?);
        // One stage a rank where an order lets activations leave.
        let each = order.away.as_ref().map(|_| memory::chunk_activation_bytes(&self.scenario, rank));
        with_ways(step, order, rank, each.unwrap_or_default())
    }

    /// Measures `timed`; the range is `whole` or leaves out what takes evaluations of its own.
    fn finish(self, timed: Timed, whole: bool) -> Evaluation {
        let Timed { order, spans } = timed;
        let (scenario, spec, durations) = (&self.scenario, &self.spec, &self.durations);
        let mut stats = Stats::of(&order, &spans);
        let mut once = None;
        let mut full = None;
        if spec.schedule.endless {
            once = Some(fill_and_drain(&spans));
            full = filled(spec, durations, &mut stats);
            let step_s = step_seconds(durations, order.microbatches);
            stats = stats.in_steady_state(step_s);
        }
        let chunks = Chunks::of_kinds(scenario, self.kinds.clone());
        let loads = loads(scenario, &chunks, full.as_ref().unwrap_or(&order));
        let tower = self.tower(&loads, stats.makespan_s);
        if let Some(tower) = &tower {
            let longer = stats.makespan_s + tower.waits_s.0;
            stats = stats.in_steady_state(longer);
        }
        let ends = ends(&self, &loads);
        let (busiest, mut overlap, mut step) = step(&self, &loads, &ends, &stats);
        let beside = Beside { draft: &self, loads: &loads, stats: &stats };
        narrow(&mut step, &beside);
        if whole {
            widen(&mut step, &beside);
        }
        let scale = step.rescaled_by.unwrap_or(1.0);
        for row in &mut overlap {
            row.rescale(scale);
        }
        let (memory, by_method) = memory_of(scenario, &chunks, &loads, &order);
        let warnings = self.warnings((&chunks, &loads), &stats, &memory, by_method);
        let report = Report {
            errors: Vec::new(),
            warnings,
            layout: layout_of(scenario),
            parameters: parameters_of(scenario, &ends),
            memory,
            offload: self.offload_of(&order, &loads, busiest),
            uneven: None,
            pipeline: pipeline_of(spec.schedule.kind, stats, once, scale),
            overlap,
            step,
            lengths: self.lengths,
            tower: tower.map(|tower| tower.rescaled(scale)),
        };
        Evaluation {
            order: order.rescaled(scale),
            durations: self.durations.rescaled(scale),
            scenario: self.scenario,
            loads,
            busiest,
            spans: spans.rescaled(scale),
            report,
            timeline: OnceLock::new(),
            warnings: OnceLock::new(),
        }
    }
}

fn layout_of(scenario: &Scenario) -> LayoutReport {
    LayoutReport {
        dp: scenario.layout.dp,
        microbatches: scenario.layout.microbatches,
        tokens_per_step: scenario.tokens_per_step(),
    }
}

/// Parameters of the model and of each rank, at whose `ends` the weights are updated.
fn parameters_of(scenario: &Scenario, ends: &[End]) -> Parameters {
    let elements = scenario.model.elements();
    let with_modules = elements.plus(scenario.model.modules_elements());
    Parameters {
        total: with_modules.total(),
        active: with_modules.active(),
        without_mtp: elements.total(),
        per_stage: ends.iter().map(|end| end.parameters).collect(),
    }
}

/// Figures of the pipeline, stretched by `scale`; `once` are the fill and the drain of one that never drains.
fn pipeline_of(schedule: Schedule, stats: Stats, once: Option<(f64, f64)>, scale: f64) -> Pipeline {
    Pipeline {
        schedule,
        makespan_s: Seconds(stats.makespan_s) * scale,
        fill_s: once.map(|(fill, _)| Seconds(fill) * scale),
        drain_s: once.map(|(_, drain)| Seconds(drain) * scale),
        ideal_s: Seconds(stats.ideal_s) * scale,
        bubble_fraction: stats.bubble_fraction,
        bubble_over_ideal: stats.bubble_over_ideal,
        bubble_span: stats.bubble_span,
        peak_in_flight: stats.peak_in_flight,
        weight_copies: stats.weight_copies,
    }
}

/// Most bytes of activations that a GPU has on its host, of an order that lets them leave.
fn left(scenario: &Scenario, order: &Order) -> Bytes {
    let ranks = order.away.iter().flat_map(|away| away.on_host.iter().enumerate());
    let bytes = ranks.map(|(stage, on_host)| memory::chunk_activation_bytes(scenario, stage) * f64::from(*on_host));
    bytes.fold(Bytes::ZERO, Bytes::max)
}

/// Memory of the ranks that hold `loads`, and what the method says of it; the peak is that of a phase that is larger.
fn memory_of(scenario: &Scenario, chunks: &Chunks, loads: &[RankLoad], order: &Order) -> (Memory, Vec<Issue>) {
    let estimate = memory::estimate_of(scenario, chunks, loads);
    let (peak_stage, mut peak_bytes) = estimate.peak();
    let (mut need, method) = (estimate.need, scenario.run.memory_method);
    let phases = memory::phases::phases(scenario, loads, &estimate.per_stage);
    for phase in &phases {
        if phase.memory.total > peak_bytes {
            peak_bytes = phase.memory.total;
            need = MemoryNeed::of(scenario, peak_bytes);
        }
    }
    let away = memory::phases::away(scenario, loads, &estimate.per_stage);
    let away = away + memory::offloaded_reference(scenario, loads);
    let verdict = need.verdict(estimate.capacity);
    let mut outcomes = chance(method, verdict, verdict.may_run_out(peak_bytes, estimate.capacity));
    if !phases.is_empty() {
        // No phase of reinforcement learning is among them.
        (outcomes.like, outcomes.ran_out) = (0, 0);
    }
    let memory = Memory {
        method: method.id(),
        per_stage: estimate.per_stage,
        peak_stage,
        peak_bytes,
        capacity_bytes: estimate.capacity,
        need_low_bytes: need.low,
        need_bytes: need.likely,
        need_high_bytes: need.high,
        chance: outcomes,
        verdict,
        phases,
        host: memory::host::host(scenario, loads, away, left(scenario, order)),
    };
    (memory, estimate.warnings)
}

/// The order of an endless schedule whose steps are shorter than its pipeline: with micro-batches of further steps in
/// it, as many as there are ranks, whose activations are what its ranks hold.
fn filled(spec: &Spec, durations: &Durations, stats: &mut Stats) -> Option<Order> {
    if spec.microbatches >= spec.pp {
        return None;
    }
    let spec = Spec { microbatches: spec.pp, ..spec.clone() };
    let order = pipeline::build(&spec, durations).ok()?.order;
    stats.peak_in_flight = peak_in_flight(&order);
    Some(order)
}
