//! From a Run to everything known about it: the order of work between memory, pipeline, traffic and time.

use super::confidence::narrow;
use super::loads::loads;
use super::mend::mend;
use super::offload::{OffloadStep, offload_step};
use super::passes::{Pass, durations};
use super::reduction::often_reduced;
use super::schedule::{in_run, spec};
use super::{LayoutReport, Memory, Parameters, Pipeline, Report};
use crate::issue::Issue;
use crate::memory::Verdict;
use crate::memory::host::HostMemory;
use crate::memory::verdict::{Need, chance};
use crate::memory::{self, RankLoad};
use crate::pipeline::balance::level;
use crate::pipeline::stats::{fill_and_drain, peak_in_flight};
use crate::pipeline::steady::step_seconds;
use crate::pipeline::{self, Built, Durations, Order, Spans, Spec, Stats, Timeline};
use crate::run::{Kinds, OneOf, Run, Scenario};
use crate::t;
use crate::time::{Clock, Step, StepParts, step_end};
use crate::traffic::{Beside, Held, OverlapRow, OverlapTotals, Wait, overlap_rows, step_sync};
use crate::units::{MemoryUnit, Seconds};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// Idle share of the pipeline above which the report warns that micro-batches are few.
const MUCH_BUBBLE: f64 = 0.2;

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
}

impl Evaluation {
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
    clock: Clock,
    kinds: Kinds,
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
        let loads = loads(scenario, full.as_ref().unwrap_or(&order));
        let ends = ends(&self, &loads);
        let (busiest, mut overlap, mut step) = step(&self, &loads, &ends, &stats);
        narrow(&mut step, &self, &loads, &stats);
        let scale = step.rescaled_by.unwrap_or(1.0);
        for row in &mut overlap {
            row.rescale(scale);
        }
        let (memory, method_warnings) = memory_of(scenario, &loads);
        let verdict = memory.verdict;
        let elements = scenario.model.elements();
        let mut all_warnings = scenario.warnings.clone();
        all_warnings.extend(warnings.into_iter().map(|issue| in_run(issue, scenario)));
        all_warnings.extend(method_warnings);
        all_warnings.extend(memory::remedies::fused_loss(scenario, &loads, verdict));
        all_warnings.extend(often_reduced(scenario, &loads, verdict));
        all_warnings.extend(much_bubble(scenario, &stats, spec.schedule.endless));
        all_warnings.extend(memory.host.as_ref().and_then(host_memory));
        let all_warnings = mend(&scenario.run, Some(spec), all_warnings);
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
        }
    }
}

/// Memory of the ranks that hold `loads`, and what the method says of it; the peak is that of a phase that is larger.
fn memory_of(scenario: &Scenario, loads: &[RankLoad]) -> (Memory, Vec<Issue>) {
    let estimate = memory::estimate(scenario, loads);
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

/// What the parameters of a rank cost at the end of a step.
#[derive(Clone, Copy)]
pub(super) struct End {
    held: Held,
    wires: Wait,
    optimizer: Seconds,
}

/// The end of a step on each rank; ranks that hold stages of the same kinds have the same.
pub(super) fn ends(draft: &Draft, loads: &[RankLoad]) -> Vec<End> {
    let kinds = |rank: usize| {
        let stages = loads[rank].stages.iter();
        stages.map(|stage| draft.kinds.of.get(*stage))
    };
    let mut ends: Vec<End> = Vec::with_capacity(loads.len());
    let mut samples: Vec<usize> = Vec::new();
    for (rank, load) in loads.iter().enumerate() {
        let known = samples.iter().find(|known| kinds(**known).eq(kinds(rank)));
        if let Some(known) = known {
            ends.push(ends[*known]);
        } else {
            samples.push(rank);
            ends.push(end(draft, load));
        }
    }
    ends
}

fn end(draft: &Draft, load: &RankLoad) -> End {
    let Draft {
        scenario,
        clock,
        passes,
        ..
    } = draft;
    let trained = Held::trained(scenario, &load.stages);
    let sum = |part: fn(&Pass) -> Seconds| -> Seconds {
        let stages = load.stages.iter();
        stages
            .filter_map(|stage| passes.get(*stage))
            .map(part)
            .sum()
    };
    let sync = step_sync(scenario, trained, sum(Pass::forward), sum(Pass::backward));
    let zero = scenario.zero;
    let shard = |size: u64| if zero.stage == 0 { 1.0 } else { size as f64 };
    let updated = trained.dense / shard(zero.shard) + trained.experts / shard(zero.expert_shard);
    let kept = if zero.stage == 3 {
        updated
    } else {
        trained.total()
    };
    End {
        held: Held::of(scenario, &load.stages),
        wires: sync,
        optimizer: step_end(scenario, clock.rates(), updated, kept),
    }
}

/// Says that a node's host has too little memory for what is offloaded, or that the Run does not say how much it has.
fn host_memory(host: &HostMemory) -> Option<Issue> {
    let gib = |bytes| MemoryUnit::Gib.show(bytes);
    let need = gib(host.total_bytes);
    let message = match (host.capacity_bytes, host.verdict) {
        (None, _) => t!(
            "a node's host holds {need} of what is offloaded; say host_memory_gib to see whether it fits",
            need
        ),
        (Some(capacity), Some(Verdict::Oom | Verdict::Tight)) => t!(
            "a node's host would hold {need} of what is offloaded and has {capacity}",
            need,
            capacity = gib(capacity)
        ),
        _ => return None,
    };
    let enough = (host.total_bytes.gib() * 1.2 / 64.0).ceil().max(1.0) * 64.0;
    Some(Issue::warning("host_memory_gib", message).with_fix("host_memory_gib", enough))
}

/// The offloading of the rank of `load`.
fn of_rank(draft: &Draft, load: &RankLoad) -> Option<OffloadStep> {
    let stages = load.stages.iter();
    let passes: Vec<&Pass> = stages
        .filter_map(|stage| draft.passes.get(*stage))
        .collect();
    offload_step(&draft.scenario, load, &passes)
}

/// A bidirectional rank works on half the micro-batches in each of its stages.
fn copies(scenario: &Scenario, load: &RankLoad) -> f64 {
    load.stages.len() as f64 / scenario.chunks as f64
}

/// What a rank with `load` sends in a step, `end` of it once.
fn totals(draft: &Draft, load: &RankLoad, end: End) -> OverlapTotals {
    let Draft {
        scenario, passes, ..
    } = draft;
    let mut totals = OverlapTotals::default();
    let repeats = scenario.usual_microbatches() / copies(scenario, load);
    for pass in load.stages.iter().filter_map(|stage| passes.get(*stage)) {
        let waits = &pass.waits;
        totals.tp = totals.tp + waits.tp * repeats;
        totals.cp = totals.cp + waits.cp * repeats;
        totals.ep = totals.ep + waits.ep * repeats;
        totals.zero3 = totals.zero3 + waits.zero3 * repeats;
        totals.dp = totals.dp + waits.gradients * repeats;
        let send = |window: Seconds| Beside {
            comm: waits.send,
            window,
            ..Beside::default()
        };
        let sends = Wait {
            bytes: pass.sent,
            forward: send(pass.forward()),
            backward: send(pass.backward()),
            ..Wait::default()
        };
        totals.pp = totals.pp + sends * repeats;
    }
    totals.dp = totals.dp + end.wires;
    totals.elements = end.held.total();
    totals.next_layers = scenario.model.layers as f64 / scenario.stage_layers.len() as f64;
    totals
}

/// The overlap table of each pipeline rank; the report has that of the busiest.
#[must_use]
pub fn rank_overlaps(evaluation: &Evaluation) -> Vec<Vec<OverlapRow>> {
    let Ok(draft) = Draft::of(&evaluation.scenario.run) else {
        return Vec::new();
    };
    let scale = evaluation.report.step.rescaled_by.unwrap_or(1.0);
    let loads = &evaluation.loads;
    let each = loads.iter().zip(ends(&draft, loads)).map(|(load, end)| {
        let mut rows = overlap_rows(&draft.scenario, &totals(&draft, load, end));
        for row in &mut rows {
            row.rescale(scale);
        }
        rows
    });
    each.collect()
}

/// The overlap table and the step, on the rank that works longest.
pub(super) fn step(
    draft: &Draft,
    loads: &[RankLoad],
    ends: &[End],
    stats: &Stats,
) -> (usize, Vec<OverlapRow>, Step) {
    let Draft {
        scenario, passes, ..
    } = draft;
    let m = scenario.usual_microbatches();
    let copies = |load: &RankLoad| copies(scenario, load);
    let sum = |load: &RankLoad, part: fn(&Pass) -> f64| -> f64 {
        load.stages
            .iter()
            .filter_map(|stage| passes.get(*stage))
            .map(part)
            .sum()
    };
    let busiest = (0..loads.len()).max_by(|a, b| {
        let time = |rank: usize| sum(&loads[rank], |pass| pass.total().0) / copies(&loads[rank]);
        time(*a).total_cmp(&time(*b))
    });
    let totals = busiest.map_or_else(OverlapTotals::default, |rank| {
        totals(draft, &loads[rank], ends[rank])
    });
    let overlap = overlap_rows(scenario, &totals);
    let optimizer = ends.iter().map(|end| end.optimizer);
    let ranks = loads.len().max(1) as f64;
    let mean = |part: fn(&Pass) -> f64| -> f64 {
        loads
            .iter()
            .map(|load| sum(load, part) * m / copies(load))
            .sum::<f64>()
            / ranks
    };
    let inside = mean(|pass| pass.exposed().0);
    let slowed = mean(|pass| pass.waits.slows().0);
    let last = ends.iter().map(|end| end.wires.both());
    let last = last.max_by(|a, b| a.exposed().0.total_cmp(&b.exposed().0));
    let last = last.unwrap_or_default();
    let waits: [fn(&Pass) -> f64; 4] = [
        |pass| pass.waits.tp.exposed().0,
        |pass| pass.waits.cp.exposed().0,
        |pass| pass.waits.ep.exposed().0,
        |pass| (pass.waits.zero3.exposed() + pass.waits.gradients.exposed()).0,
    ];
    let mut exposed = waits.map(|wait| Seconds(mean(wait)));
    exposed[3] += last.exposed();
    let parts = StepParts {
        compute: Seconds(stats.ideal_s - inside),
        recompute: Seconds(mean(|pass| pass.compute.recompute.0)),
        launches: Seconds(mean(|pass| pass.compute.host.0)),
        bubble: Seconds(stats.makespan_s - stats.ideal_s),
        not_hidden: Seconds((inside - slowed).max(0.0)) + last.not_hidden,
        slows: Seconds(slowed) + last.slows,
        exposed,
        optimizer: updates(draft, loads, optimizer.fold(Seconds::ZERO, Seconds::max)),
    };
    (busiest.unwrap_or(0), overlap, Step::new(scenario, parts))
}

/// What ends a step: the optimizer on the GPU, or the host's and the copies that nothing hides.
fn updates(draft: &Draft, loads: &[RankLoad], on_gpu: Seconds) -> Seconds {
    let slowest = loads
        .iter()
        .filter_map(|load| of_rank(draft, load))
        .map(|step| step.exposed_s)
        .fold(Seconds::ZERO, Seconds::max);
    let states = draft
        .scenario
        .offload
        .map_or(0.0, |offload| offload.states());
    on_gpu * (1.0 - states) + slowest
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

/// Says why the ranks idle: one rank that works longer than the others, or few micro-batches, which `endless` schedules
/// do not mind.
fn much_bubble(scenario: &Scenario, stats: &Stats, endless: bool) -> Option<Issue> {
    if stats.bubble_fraction <= MUCH_BUBBLE {
        return None;
    }
    let (layout, percent) = (
        &scenario.layout,
        format!("{:.0}", stats.bubble_fraction * 100.0),
    );
    let longest = stats.busy_s.iter().copied().fold(0.0, f64::max);
    let uneven = longest / stats.ideal_s - 1.0;
    if uneven > stats.bubble_over_ideal / 2.0 {
        let rank = stats
            .busy_s
            .iter()
            .position(|busy| *busy >= longest)
            .unwrap_or(0);
        // Where no stage has a layer to give, there is nothing to say but why.
        let spare = scenario.stage_layers.iter().any(|layers| *layers > 1);
        let longer = format!("{:.0}", uneven * 100.0);
        let message = if spare {
            t!(
                "{percent} % of the pipeline is bubble: rank {rank} works {longer} % longer than the average and the others wait; give it fewer layers",
                percent,
                rank,
                longer
            )
        } else {
            t!(
                "{percent} % of the pipeline is bubble: rank {rank} works {longer} % longer than the average and the others wait",
                percent,
                rank,
                longer
            )
        };
        let issue = Issue::warning("stage_layers", message);
        // The time of a rank of one stage is that of its layers.
        let alone = scenario.stage_layers.len() == stats.busy_s.len()
            && stats.weight_copies.iter().all(|copies| *copies == 1);
        let split = level(&scenario.stage_layers, &stats.busy_s).filter(|_| alone);
        return Some(match split {
            Some(split) => {
                let split: Vec<String> = split.iter().map(u64::to_string).collect();
                issue.with_fix("stage_layers", split.join(","))
            }
            None => issue,
        });
    }
    if endless {
        return None;
    }
    let message = t!(
        "{percent} % of the pipeline is bubble: {microbatches} micro-batches are few for {pp} pipeline ranks",
        percent,
        microbatches = layout.microbatches,
        pp = layout.pp
    );
    let twice = scenario.run.global_batch.saturating_mul(2);
    Some(Issue::warning("global_batch", message).with_fix("global_batch", twice))
}
