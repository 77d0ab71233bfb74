//! From a Run to everything known about it: the order of work between memory, pipeline, traffic and time.

use super::confidence::narrow;
use super::loads::loads;
use super::mend::mend;
use super::passes::{Pass, durations};
use super::reduction::often_reduced;
use super::schedule::{in_run, spec};
use super::step::{ends, of_rank, step};
use super::warnings::{host_memory, much_bubble};
use super::{LayoutReport, Memory, Parameters, Pipeline, Report};
use crate::issue::Issue;
use crate::memory::verdict::{Need, chance};
use crate::memory::{self, Chunks, RankLoad};
use crate::pipeline::stats::{fill_and_drain, peak_in_flight};
use crate::pipeline::steady::step_seconds;
use crate::pipeline::{self, Built, Durations, Order, Spans, Spec, Stats, Timeline};
use crate::run::{Kinds, OneOf, Run, Scenario};
use crate::time::Clock;
use crate::units::Seconds;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// A Run understood, simulated and measured.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// What the Run means.
    pub scenario: Scenario,
    /// What every rank does, in order.
    pub order: Order,
    /// How long each global stage takes; as all times here scaled to the measured step, where the Run has one.
    pub durations: Durations,
    /// What the schedule makes each rank hold.
    pub loads: Vec<RankLoad>,
    /// The rank that works longest, whose communication the overlap rows are.
    pub busiest: usize,
    /// When each rank starts and ends, and how long it works between.
    pub spans: Spans,
    /// The figures.
    pub report: Report,
    timeline: OnceLock<Timeline>,
    warnings: OnceLock<Vec<Issue>>,
}

impl Evaluation {
    /// The warnings of the report with the fixes that work: tried when they are first asked for, since no figure needs it.
    #[must_use]
    pub fn warnings(&self) -> &[Issue] {
        let mended = || {
            let built = spec(&self.scenario).ok();
            mend(
                &self.scenario.run,
                built.as_ref(),
                self.report.warnings.clone(),
            )
        };
        self.warnings.get_or_init(mended)
    }
    /// When every rank does what: made when it is first asked for, since no figure needs it.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        let made = || pipeline::simulate(&self.order, &self.durations).unwrap_or_default();
        self.timeline.get_or_init(made)
    }
    /// Whether the timeline is there already.
    #[must_use]
    pub fn has_timeline(&self) -> bool {
        self.timeline.get().is_some()
    }
    /// Takes the timeline of the same Run that another thread has simulated, as its [`Timeline::times`].
    pub fn keep_timeline(&self, times: &[f64]) {
        // One that is there already is the same.
        let _ = self.timeline.set(Timeline::of_times(&self.order, times));
    }
    /// Which of its chunks `stage` is to `rank`, from 0.
    #[must_use]
    pub fn chunk_of(&self, rank: usize, stage: u32) -> usize {
        let held = self.loads.get(rank).map_or(&[][..], |load| &load.stages);
        let position = held.iter().position(|other| *other == stage as usize);
        position.unwrap_or(0)
    }
}

/// A Run's pipeline, ordered and simulated: numbers alone, so that another thread can compute it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    order: Order,
    spans: Spans,
}

/// Understands, simulates and measures `run`.
///
/// # Errors
/// Every setting that cannot work, with what would.
pub fn evaluate(run: &Run) -> Result<Evaluation, Vec<Issue>> {
    let made = Draft::of(run).and_then(|draft| {
        let timed = draft.timed()?;
        Ok(draft.finish(timed))
    });
    made.map_err(|issues| mend(run, None, issues))
}

/// The first half of [`evaluate`], which takes long where [`needs_worker`](super::needs_worker) says so.
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
    Ok(draft.finish(timed))
}

/// A Run understood, before its pipeline is simulated.
pub(super) struct Draft {
    pub scenario: Scenario,
    spec: Spec,
    pub clock: Clock,
    pub kinds: Kinds,
    pub passes: Vec<Pass>,
    durations: Durations,
}

impl Draft {
    pub fn of(run: &Run) -> Result<Self, Vec<Issue>> {
        let scenario = Scenario::new(run)?;
        let spec = spec(&scenario).map_err(|issue| vec![issue])?;
        let clock = Clock::new(&scenario);
        let kinds = Kinds::new(&scenario);
        let passes = kinds.each(|stage| Pass::of(&scenario, &clock, stage));
        let durations = durations(&scenario, &passes, &spec);
        Ok(Self {
            scenario,
            spec,
            clock,
            kinds,
            passes,
            durations,
        })
    }

    pub fn timed(&self) -> Result<Timed, Vec<Issue>> {
        let in_field = |issue| in_run(issue, &self.scenario);
        let Built { order, .. } =
            pipeline::build(&self.spec, &self.durations).map_err(|issue| vec![in_field(issue)])?;
        let spans = pipeline::time(&order, &self.durations)
            .map_err(|fault| vec![fault.issue("schedule_options.order")])?;
        Ok(Timed { order, spans })
    }

    fn finish(self, timed: Timed) -> Evaluation {
        let Timed { order, spans } = timed;
        let (scenario, spec, durations) = (&self.scenario, &self.spec, &self.durations);
        let warnings = pipeline::warnings(spec);
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
        let ends = ends(&self, &loads);
        let (busiest, mut overlap, mut step) = step(&self, &loads, &ends, &stats);
        narrow(&mut step, &self, &loads, &stats);
        let scale = step.rescaled_by.unwrap_or(1.0);
        for row in &mut overlap {
            row.rescale(scale);
        }
        let (memory, method_warnings) = memory_of(scenario, &chunks, &loads);
        let verdict = memory.verdict;
        let elements = scenario.model.elements();
        let mut all_warnings = scenario.warnings.clone();
        all_warnings.extend(warnings.into_iter().map(|issue| in_run(issue, scenario)));
        all_warnings.extend(method_warnings);
        let known = (&chunks, &loads[..]);
        all_warnings.extend(memory::remedies::fused_loss(scenario, known, verdict));
        all_warnings.extend(often_reduced(scenario, known, verdict));
        all_warnings.extend(much_bubble(scenario, &stats, spec.schedule.endless));
        all_warnings.extend(memory.host.as_ref().and_then(host_memory));
        let report = Report {
            errors: Vec::new(),
            warnings: all_warnings,
            layout: LayoutReport {
                dp: scenario.layout.dp,
                microbatches: scenario.layout.microbatches,
                tokens_per_step: scenario.tokens_per_step(),
            },
            parameters: Parameters {
                total: elements.total(),
                active: elements.active(),
                per_stage: ends.iter().map(|end| end.held.total()).collect(),
            },
            memory,
            offload: loads.get(busiest).and_then(|load| of_rank(&self, load)),
            pipeline: Pipeline {
                schedule: spec.schedule.id,
                makespan_s: Seconds(stats.makespan_s) * scale,
                fill_s: once.map(|(fill, _)| Seconds(fill) * scale),
                drain_s: once.map(|(_, drain)| Seconds(drain) * scale),
                ideal_s: Seconds(stats.ideal_s) * scale,
                bubble_fraction: stats.bubble_fraction,
                bubble_over_ideal: stats.bubble_over_ideal,
                bubble_span: stats.bubble_span,
                peak_in_flight: stats.peak_in_flight,
                weight_copies: stats.weight_copies,
            },
            overlap,
            step,
        };
        Evaluation {
            order,
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

/// Memory of the ranks that hold `loads`, and what the method says of it; the peak is that of a phase that is larger.
fn memory_of(scenario: &Scenario, chunks: &Chunks, loads: &[RankLoad]) -> (Memory, Vec<Issue>) {
    let estimate = memory::estimate_of(scenario, chunks, loads);
    let (peak_stage, mut peak_bytes) = estimate.peak();
    let (mut need, method) = (estimate.need, scenario.run.memory_method);
    let phases = memory::phases::phases(scenario, loads, &estimate.per_stage);
    for phase in &phases {
        if phase.memory.total > peak_bytes {
            peak_bytes = phase.memory.total;
            need = Need::calibrated(peak_bytes);
        }
    }
    let away = memory::phases::away(scenario, loads, &estimate.per_stage);
    let verdict = need.verdict(estimate.capacity);
    let mut known = chance(method, verdict);
    if !phases.is_empty() {
        // No phase of reinforcement learning is among them.
        (known.like, known.ran_out) = (0, 0);
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
        chance: known,
        verdict,
        phases,
        host: memory::host::host(scenario, loads, away),
    };
    (memory, estimate.warnings)
}

/// The order of an endless schedule whose steps are shorter than its pipeline: with micro-batches of further steps in it,
/// as many as there are ranks, whose activations are what its ranks hold.
fn filled(spec: &Spec, durations: &Durations, stats: &mut Stats) -> Option<Order> {
    if spec.microbatches >= spec.pp {
        return None;
    }
    let spec = Spec {
        microbatches: spec.pp,
        ..spec.clone()
    };
    let order = pipeline::build(&spec, durations).ok()?.order;
    stats.peak_in_flight = peak_in_flight(&order);
    Some(order)
}
