//! More work never takes less time or memory, faster hardware never makes a step longer: pairs of random Runs that
//! differ in one setting. `SHARDSCOPE_CASES` says how many valid Runs are tried; the shares of violations are printed.
//!
//! Each violation is explained by one of these, or the test fails:
//!
//! - A schedule whose order follows the durations may be slower with faster ops (Graham 1969, anomalies of list
//!   scheduling): the order of either Run, replayed with the ops of both, has no violation.
//! - Messages at the end of a step hide behind passes, which are shorter with faster ops: the same replays end no later
//!   and the rest grows by no more than the passes shrink.
//! - Work that a step has once is spread over the ops of its micro-batches: no stage works less in all, and the order
//!   of the Run of more, replayed with ops as long as those of the Run of less, ends no sooner.
//! - Messages that are cut into chunks hide behind products of the mean length of a stage's passes: no pass is shorter
//!   by more than that mean grew, no stage works less in all, and both orders, replayed with passes as long as those of
//!   either, end no sooner.
//! - Without a pipeline the host paces each of two passes side by side, and messages that move from one to the other
//!   may hide behind it: all that is not the host's takes no less, and the host's part falls by no more than messages
//!   of attention show more.

mod runs;

use crate::common::random::Random;
use runs::any_run;
use shardscope::core::memory::{Component, RankLoad, StageMemory, estimate};
use shardscope::core::pipeline::{Durations, time};
use shardscope::core::report::{Evaluation, evaluate, work};
use shardscope::core::run::{EpOverlap, Recompute, Reduction, Run, Scenario, TpOverlap};
use shardscope::core::time::{Clock, PartKind};
use shardscope::io::link::encode;
use std::sync::Mutex;

/// Valid Runs where nothing else is asked for.
const SHORT: u64 = 200;
/// The most that a longer run tries: a minute's worth.
const LONG: u64 = 20_000;
/// Runs of more ops are left out.
const MAX_OPS: u64 = 6_000;
/// Rounding of sums that run in another order.
const ROUNDING: f64 = 1e-9;

fn cases() -> u64 {
    let asked = std::env::var("SHARDSCOPE_CASES").ok();
    asked.map_or(SHORT, |cases| cases.parse::<u64>().unwrap().min(LONG))
}

/// The figure that a property is about.
#[derive(Clone, Copy, PartialEq)]
enum Figure {
    /// Seconds of the step.
    Step,
    /// Bytes of the fullest rank.
    Memory,
}

/// Two Runs of which the second never has less of a figure.
struct Property {
    name: &'static str,
    figure: Figure,
    /// The Run of less and the Run of more, where the property says something of this one.
    pair: fn(&Scenario) -> Option<(Run, Run)>,
}

const fn step(name: &'static str, pair: fn(&Scenario) -> Option<(Run, Run)>) -> Property {
    Property { name, figure: Figure::Step, pair }
}

const fn memory(name: &'static str, pair: fn(&Scenario) -> Option<(Run, Run)>) -> Property {
    Property { name, figure: Figure::Memory, pair }
}

/// `run` and the same after `change`.
fn with(scenario: &Scenario, change: impl Fn(&mut Run)) -> (Run, Run) {
    let mut other = scenario.run.clone();
    change(&mut other);
    (scenario.run.clone(), other)
}

/// Of hardware twice as fast the faster is the Run of less.
#[allow(clippy::unnecessary_wraps)] // as the other pairs of the table
fn faster(scenario: &Scenario, change: impl Fn(&mut Run)) -> Option<(Run, Run)> {
    let (slow, fast) = with(scenario, change);
    Some((fast, slow))
}

/// Stage `to` of ZeRO and the one below, where every micro-batch reduces its gradients.
fn stages(scenario: &Scenario, to: u64) -> Option<(Run, Run)> {
    let with_stage = |zero| Run { zero, zero2_reduce: Some(Reduction::MicroBatch), ..scenario.run.clone() };
    (scenario.run.zero == to).then(|| (with_stage(to), with_stage(to - 1)))
}

fn flash(scenario: &Scenario) -> (Run, Run) {
    let run = |flash| Run { flash_attention: Some(flash), ..scenario.run.clone() };
    (run(true), run(false))
}

fn more_layers(scenario: &Scenario) -> Option<(Run, Run)> {
    let layers = scenario.model.layers + scenario.stage_layers.len() as u64;
    scenario.run.stage_layers.is_none().then(|| with(scenario, |run| run.model.parts.layers = Some(layers)))
}

#[allow(clippy::unnecessary_wraps)] // as the other pairs of the table
fn larger_micro_batch(scenario: &Scenario) -> Option<(Run, Run)> {
    Some(with(scenario, |run| {
        run.micro_batch *= 2;
        run.global_batch *= 2;
    }))
}

fn recomputed(scenario: &Scenario) -> (Run, Run) {
    let run = |recompute| Run { recompute, ..scenario.run.clone() };
    (run(Recompute::None), run(Recompute::Full))
}

const GB: f64 = 1e9;

const PROPERTIES: &[Property] = &[
    step("doubled batch", |s| Some(with(s, |run| run.global_batch *= 2))),
    step("HBM of half the speed", |s| faster(s, |run| run.gpu.parts.hbm = Some(2.0 * s.gpu.hbm.0 / GB))),
    step("products of half the speed", |s| {
        faster(s, |run| {
            run.gpu.parts.bf16 = Some(2.0 * s.gpu.bf16.0 / 1e12);
            run.gpu.parts.fp8 = Some(2.0 * s.gpu.fp8.0 / 1e12);
            run.gpu.parts.fp4 = Some(2.0 * s.gpu.fp4.0 / 1e12);
        })
    }),
    step("links in the node of half the speed", |s| {
        faster(s, |run| {
            run.gpu.parts.intra = Some(2.0 * s.gpu.intra.0 / GB);
            run.gpu.parts.nvls = Some(2.0 * s.gpu.nvls.0 / GB);
        })
    }),
    step("network of half the speed", |s| faster(s, |run| run.gpu.parts.inter = Some(2.0 * s.gpu.inter.0 / GB))),
    step("link to the host of half the speed", |s| {
        s.offload?;
        faster(s, |run| run.gpu.parts.host = Some(2.0 * s.gpu.host.0 / GB))
    }),
    step("nothing hides gradients", |s| Some(with(s, |run| run.overlap.dp = Some(0.0)))),
    step("nothing hides tensor-parallel messages", |s| Some(with(s, |run| run.overlap.tp = Some(0.0)))),
    step("nothing hides context-parallel messages", |s| Some(with(s, |run| run.overlap.cp = Some(0.0)))),
    step("experts filled 2 to 1", |s| {
        s.model.moe?;
        let run = |imbalance| Run { moe_imbalance: Some(imbalance), ..s.run.clone() };
        Some((run(1.0), run(2.0)))
    }),
    step("full recomputation", |s| Some(recomputed(s))),
    step("doubled sequence", |s| Some(with(s, |run| run.seq_len *= 2))),
    step("doubled micro-batch and batch", larger_micro_batch),
    step("a layer more a stage", more_layers),
    step("vocabulary 1.5 times", |s| Some(with(s, |run| run.model.parts.vocab = Some(s.model.vocab / 2 * 3)))),
    memory("stored scores", |s| Some(flash(s))),
    memory("ZeRO-0 for 1", |s| stages(s, 1)),
    memory("ZeRO-1 for 2", |s| stages(s, 2)),
    memory("ZeRO-2 for 3", |s| stages(s, 3)),
    memory("no recomputation", |s| {
        let (less, more) = recomputed(s);
        Some((more, less))
    }),
    memory("a layer more a stage", more_layers),
    memory("doubled sequence", |s| Some(with(s, |run| run.seq_len *= 2))),
    memory("doubled micro-batch and batch", larger_micro_batch),
    memory("doubled batch", |s| Some(with(s, |run| run.global_batch *= 2))),
    memory("vocabulary 1.5 times", |s| Some(with(s, |run| run.model.parts.vocab = Some(s.model.vocab / 2 * 3)))),
    memory("experts filled 2 to 1", |s| {
        s.model.moe?;
        let run = |imbalance| Run { moe_imbalance: Some(imbalance), ..s.run.clone() };
        Some((run(1.0), run(2.0)))
    }),
];

fn figure(property: &Property, of: &Evaluation) -> f64 {
    match property.figure {
        Figure::Step => of.report.step.time_s.0,
        Figure::Memory => of.report.memory.peak_bytes.0,
    }
}

/// True if the order alone makes `more` shorter than `less`: of as many ops in another order, and with the order of
/// either, replayed with the ops of both, the step of `more` is no shorter.
fn is_anomaly_of_orders(less: &Evaluation, more: &Evaluation) -> bool {
    let step = |order: &Evaluation, ops: &Evaluation| {
        let rest = ops.report.step.time_s.0 - ops.spans.makespan();
        time(&order.order, &ops.durations).map(|spans| spans.makespan() + rest)
    };
    let no_less = |order: &Evaluation| match (step(order, less), step(order, more)) {
        (Ok(low), Ok(high)) => high >= low * (1.0 - ROUNDING),
        _ => false,
    };
    less.order != more.order && less.order.microbatches == more.order.microbatches && no_less(less) && no_less(more)
}

/// True if all that makes `less` longer is that gradients and gathered weights hide behind shorter passes, which may
/// stand in a bubble: in the order of either its pipeline ends no later, optimizer and loader take no longer, and the
/// rest takes no more than the passes of a rank are shorter. What is exposed grows by a second for a second of passes
/// at most, so that behind passes as long as those of `more` its step is no longer.
fn hides_behind_shorter_passes(less: &Evaluation, more: &Evaluation) -> bool {
    let pass = |of: &Evaluation, stage: usize| {
        let Durations { forward, backward_input, backward_weight, .. } = &of.durations;
        (forward[stage] + backward_input[stage] + backward_weight[stage]) * f64::from(of.order.splits)
    };
    let shorter = |load: &RankLoad| load.stages.iter().map(|stage| pass(more, *stage) - pass(less, *stage)).sum();
    let shorter = less.loads.iter().map(shorter).fold(0.0, f64::max) * less.scenario.updates();
    let rest = |of: &Evaluation| of.report.step.time_s.0 - of.spans.makespan();
    let ends_no_later = |of: &Evaluation| match (time(&of.order, &less.durations), time(&of.order, &more.durations)) {
        (Ok(low), Ok(high)) => low.makespan() <= high.makespan() * (1.0 + ROUNDING),
        _ => false,
    };
    let parts = [|of: &Evaluation| of.report.step.optimizer_s.0, |of: &Evaluation| of.report.step.host_s.0];
    less.order.stages == more.order.stages
        && less.order.microbatches == more.order.microbatches
        && parts.iter().all(|part| part(less) <= part(more) * (1.0 + ROUNDING))
        && ends_no_later(less)
        && ends_no_later(more)
        && rest(less) - rest(more) <= shorter
}

/// True if work that a step has once makes `more` shorter, a step of more micro-batches: weights that are quantised for
/// the first of them, gradients that ZeRO-2 reduces for a group of them. Ops have a share of it each, those of few
/// micro-batches a larger one, also in the fill. Then no stage works less in all, and the order of `more`, replayed
/// with ops as long as those of `less`, ends no sooner.
fn spreads_what_a_step_has_once(less: &Evaluation, more: &Evaluation) -> bool {
    let work = |of: &Evaluation, stage: usize| {
        let Durations { forward, backward_input, backward_weight, .. } = &of.durations;
        (forward[stage] + backward_input[stage] + backward_weight[stage]) * f64::from(of.order.microbatches)
    };
    let works_no_less = |stage| work(more, stage) >= work(less, stage) * (1.0 - ROUNDING);
    let rest = more.report.step.time_s.0 - more.spans.makespan();
    let replayed = time(&more.order, &less.durations).map(|spans| spans.makespan() + rest);
    less.order.stages == more.order.stages
        && less.order.microbatches < more.order.microbatches
        && (0..less.durations.forward.len()).all(works_no_less)
        && replayed.is_ok_and(|replayed| replayed >= less.report.step.time_s.0 * (1.0 - ROUNDING))
}

/// True if all that makes `less` longer is that its passes hide less of the messages that are cut into chunks: those
/// hide behind products of the mean length of a stage's passes (of a third of its linears in each), so that longer
/// gradients of the weights, as slow memory makes them, hide more in the passes that wait. Then no pass of `more` is
/// shorter by more than that third grew, no stage works less in all, and neither order ends sooner with passes as long
/// as those of either.
fn hides_chunks_behind_mean_products(less: &Evaluation, more: &Evaluation) -> bool {
    let linear = |of: &Evaluation, stage: usize| Clock::new(&of.scenario).stage(&of.scenario, stage).linear.0;
    let passes = |of: &Evaluation, stage: usize| {
        let Durations { forward, backward_input, backward_weight, .. } = &of.durations;
        [forward[stage], backward_input[stage], backward_weight[stage]].map(|pass| pass * f64::from(of.order.splits))
    };
    let moves_between_passes = |stage: usize| {
        let (low, high) = (passes(less, stage), passes(more, stage));
        let room = (linear(more, stage) - linear(less, stage)) / 3.0;
        // A backward pass may repeat the forward pass.
        let shorter = [low[0] - high[0], (low[1] - high[1]) / 2.0, low[2] - high[2]];
        let sum = |passes: [f64; 3]| passes.iter().sum::<f64>();
        shorter.iter().all(|shorter| *shorter <= room.max(0.0) + ROUNDING * low[0])
            && sum(high) >= sum(low) * (1.0 - ROUNDING)
    };
    let longer = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a.max(*b)).collect::<Vec<_>>();
    let (a, b) = (&less.durations, &more.durations);
    let longest = Durations {
        forward: longer(&a.forward, &b.forward),
        backward_input: longer(&a.backward_input, &b.backward_input),
        backward_weight: longer(&a.backward_weight, &b.backward_weight),
        p2p: a.p2p.max(b.p2p),
        ..b.clone()
    };
    let rest = more.report.step.time_s.0 - more.spans.makespan();
    let no_sooner = |order: &Evaluation| {
        let replayed = time(&order.order, &longest).map(|spans| spans.makespan() + rest);
        replayed.is_ok_and(|replayed| replayed >= less.report.step.time_s.0 * (1.0 - ROUNDING))
    };
    less.scenario.software.tp_overlap != TpOverlap::None
        && less.order.stages == more.order.stages
        && less.order.microbatches == more.order.microbatches
        && a.pair.is_none()
        && b.pair.is_none()
        && (0..a.forward.len()).all(moves_between_passes)
        && no_sooner(less)
        && no_sooner(more)
}

/// True if all that makes `more` shorter is the host of passes that run side by side without a pipeline: messages of
/// experts that hide behind one pass in place of messages of attention move what is exposed from one pass to another,
/// which the host may pace.
fn hides_behind_the_host(less: &Evaluation, more: &Evaluation) -> bool {
    let part = |of: &Evaluation, kind: PartKind| -> f64 {
        of.report.step.parts.iter().filter(|part| part.kind == kind).map(|part| part.seconds.0).sum()
    };
    let launches = |of: &Evaluation| part(of, PartKind::Launches);
    let attention = |of: &Evaluation| part(of, PartKind::ExposedTp) + part(of, PartKind::ExposedCp);
    let step = |of: &Evaluation| of.report.step.time_s.0;
    let slack = ROUNDING * step(less);
    let side_by_side =
        |of: &Evaluation| of.scenario.layout.pp == 1 && of.scenario.software.ep_overlap != EpOverlap::None;
    side_by_side(less)
        && side_by_side(more)
        && step(more) - launches(more) >= step(less) - launches(less) - slack
        && launches(less) - launches(more) <= attention(more) - attention(less) + slack
}

/// True if the order alone makes `more` hold less than `less`: with as many micro-batches of each chunk in flight it
/// does not.
fn holds_more_in_flight(less: &Evaluation, more: &Evaluation) -> bool {
    let peak = |of: &Evaluation, as_of: &Evaluation| estimate(&of.scenario, &as_of.loads).peak().1.0;
    less.order != more.order
        && less.loads.len() == more.loads.len()
        && peak(more, less) >= peak(less, less) * (1.0 - ROUNDING)
        && peak(more, more) >= peak(less, more) * (1.0 - ROUNDING)
}

/// Bytes of blocks that an allocator holds over those that are used, at most (`memory::verdict::FRAGMENTATION`).
const BLOCKS: f64 = 1.2;

/// True if the shards of a higher stage of ZeRO are all that it holds more: where a rank has few layers, or keeps what
/// it gathered, they stand beside the same tensors whole (PyTorch FSDP2 `_fsdp_param.py`: `sharded_param` stays while
/// `unsharded_param` lives).
fn shards_stand_beside_the_whole(less: &Evaluation, more: &Evaluation) -> bool {
    let copies = |name: &str| name.contains("second copy");
    let shards = |rank: &StageMemory| -> f64 {
        let cut = [Component::Weights, Component::Gradients];
        let items = rank.items.iter().filter(|item| cut.contains(&item.component) || copies(item.name));
        items.map(|item| item.bytes.0).sum()
    };
    let ranks = less.report.memory.per_stage.iter().zip(&more.report.memory.per_stage);
    let (low, high) = (less.scenario.run.zero, more.scenario.run.zero);
    low > high && ranks.into_iter().all(|(less, more)| less.total.0 <= more.total.0 + BLOCKS * shards(less))
}

/// Ops that are shorter in the Run of more, for a person who looks for the cause.
fn shorter(less: &Evaluation, more: &Evaluation) -> String {
    let (low, high) = (&less.durations, &more.durations);
    let sum = |list: &[f64]| list.iter().sum::<f64>();
    let rest = |of: &Evaluation| of.report.step.time_s.0 - of.spans.makespan();
    let parts = [
        ("F", sum(&low.forward), sum(&high.forward)),
        ("B", sum(&low.backward_input), sum(&high.backward_input)),
        ("W", sum(&low.backward_weight), sum(&high.backward_weight)),
        ("pair", low.pair.as_deref().map_or(0.0, sum), high.pair.as_deref().map_or(0.0, sum)),
        ("send", low.p2p, high.p2p),
        ("makespan", less.spans.makespan(), more.spans.makespan()),
        ("rest", rest(less), rest(more)),
    ];
    let shorter = parts.iter().filter(|(_, low, high)| *high < low * (1.0 - ROUNDING));
    let shorter: Vec<String> = shorter.map(|(name, low, high)| format!("{name} {low:.6} {high:.6}")).collect();
    shorter.join(", ")
}

/// What came of one property.
#[derive(Default)]
struct Tally {
    pairs: u64,
    violations: u64,
    explained: u64,
    /// The largest share by which more is less, and the links of the two Runs.
    worst: f64,
    links: Vec<(f64, String)>,
}

impl Tally {
    fn count(&mut self, property: &Property, less: &Evaluation, more: &Evaluation) {
        self.pairs += 1;
        let (low, high) = (figure(property, less), figure(property, more));
        if high >= low * (1.0 - ROUNDING) {
            return;
        }
        self.violations += 1;
        let explained = match property.figure {
            Figure::Step => {
                is_anomaly_of_orders(less, more)
                    || hides_behind_shorter_passes(less, more)
                    || spreads_what_a_step_has_once(less, more)
                    || hides_chunks_behind_mean_products(less, more)
                    || hides_behind_the_host(less, more)
            }
            Figure::Memory => holds_more_in_flight(less, more) || shards_stand_beside_the_whole(less, more),
        };
        if explained {
            self.explained += 1;
            return;
        }
        let lost = 1.0 - high / low;
        self.worst = self.worst.max(lost);
        let cause = if property.figure == Figure::Step { shorter(less, more) } else { String::new() };
        self.links.push((lost, format!("{cause}{}", encode(&less.scenario.run))));
    }
    fn join(&mut self, other: Self) {
        self.pairs += other.pairs;
        self.violations += other.violations;
        self.explained += other.explained;
        self.worst = self.worst.max(other.worst);
        self.links.extend(other.links);
    }
}

#[test]
fn more_work_is_never_less_and_faster_hardware_never_slower() {
    let all: Mutex<Vec<Tally>> = Mutex::new(PROPERTIES.iter().map(|_| Tally::default()).collect());
    let threads = 2;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let all = &all;
            scope.spawn(move || {
                let mut random = Random::new(0x1e55 + thread);
                let mut tallies: Vec<Tally> = PROPERTIES.iter().map(|_| Tally::default()).collect();
                let mut valid = 0;
                while valid < cases() / threads {
                    let run = any_run(&mut random);
                    if work(&run).is_none_or(|ops| ops > MAX_OPS) {
                        continue;
                    }
                    let Ok(base) = evaluate(&run) else { continue };
                    valid += 1;
                    let known = |other: &Run| if *other == run { Some(base.clone()) } else { evaluate(other).ok() };
                    for (property, tally) in PROPERTIES.iter().zip(&mut tallies) {
                        let Some((less, more)) = (property.pair)(&base.scenario) else { continue };
                        if let (Some(less), Some(more)) = (known(&less), known(&more)) {
                            tally.count(property, &less, &more);
                        }
                    }
                }
                for (sum, tally) in all.lock().unwrap().iter_mut().zip(tallies) {
                    sum.join(tally);
                }
            });
        }
    });
    let tallies = all.into_inner().unwrap();
    let mut wrong = Vec::new();
    for (property, tally) in PROPERTIES.iter().zip(&tallies) {
        let figure = if property.figure == Figure::Step { "step" } else { "memory" };
        let Tally { pairs, violations, explained, worst, .. } = tally;
        let left = violations - explained;
        let share = 100.0 * *violations as f64 / (*pairs).max(1) as f64;
        println!(
            "{figure:6} {:40} {pairs:6} pairs {violations:5} violations ({share:.2} %) {explained:5} explained \
             {left:5} left, worst {:.1} %",
            property.name,
            100.0 * worst
        );
        if left > 0 {
            wrong.push(property.name);
        }
    }
    for (property, tally) in PROPERTIES.iter().zip(&tallies) {
        let mut links: Vec<_> = tally.links.iter().collect();
        links.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (lost, link) in links.into_iter().take(12) {
            println!("{}: {:.2} % {link}", property.name, 100.0 * lost);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
