//! The step of a Run: what each rank sends and waits for, and what ends the step.

use super::draft::Draft;
use super::evaluation::Evaluation;
use super::offload::{OffloadStep, offload_step};
use super::passes::{PairingChange, Pass};
use crate::memory::{RankLoad, detailed};
use crate::pipeline::Stats;
use crate::run::Scenario;
use crate::time::{Step, StepParts, stage_loading, step_end};
use crate::traffic::{
    Beside, HeldParameters, OverlapRow, OverlapTotals, Wait, boundary_bytes, overlap_rows, sent_states, step_calls,
    step_sync,
};
use crate::units::{Bytes, Seconds};

/// Time of a rank's parameters at the end of a step.
#[derive(Clone, Copy)]
pub(super) struct End {
    pub held: HeldParameters,
    /// Parameters of the model on one GPU, elements, with the rows that pad the vocabulary.
    pub parameters: f64,
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
        let sample = samples.iter().find(|known| kinds(**known).eq(kinds(rank)));
        if let Some(sample) = sample {
            ends.push(ends[*sample]);
        } else {
            samples.push(rank);
            ends.push(end(draft, load));
        }
    }
    ends
}

fn end(draft: &Draft, load: &RankLoad) -> End {
    let Draft { scenario, clock, passes, .. } = draft;
    let trained = HeldParameters::trained(scenario, &load.stages);
    let sum = |part: fn(&Pass) -> Seconds| -> Seconds {
        let stages = load.stages.iter();
        stages.filter_map(|stage| passes.get(*stage)).map(part).sum()
    };
    let sync = step_sync(scenario, trained, sum(Pass::forward), sum(Pass::backward));
    End {
        held: HeldParameters::of(scenario, &load.stages),
        parameters: detailed::parameters(scenario, load),
        wires: sync,
        optimizer: Seconds(step_end(scenario, clock.rates(), &load.stages, trained.updated(scenario))),
    }
}

/// The offloading of the rank of `load`.
pub(super) fn of_rank(draft: &Draft, load: &RankLoad) -> Option<OffloadStep> {
    draft.scenario.offload?;
    let stages = load.stages.iter();
    let passes: Vec<&Pass> = stages.filter_map(|stage| draft.passes.get(*stage)).collect();
    offload_step(&draft.scenario, load, &passes)
}

/// A bidirectional rank works on half the micro-batches in each of its stages.
pub(super) fn copies(scenario: &Scenario, load: &RankLoad) -> f64 {
    load.stages.len() as f64 / scenario.chunks as f64
}

/// Share of the passes that ran beside one of another micro-batch; 0 where that saves no time.
pub(super) fn paired(draft: &Draft, loads: &[RankLoad], stats: &Stats) -> f64 {
    let mean = |part: fn(&Pass) -> f64| mean_of(&draft.scenario, loads, &draft.passes, part);
    let most = mean(|pass| pass.saved.total().0);
    if most == 0.0 {
        return 0.0;
    }
    ((mean(|pass| pass.total().0) - stats.ideal_s) / most).clamp(0.0, 1.0)
}

/// Mean over ranks of `part` of the `passes` of their stages in a step.
pub(super) fn mean_of(scenario: &Scenario, loads: &[RankLoad], passes: &[Pass], part: impl Fn(&Pass) -> f64) -> f64 {
    mean_over_stages(scenario, loads, |stage| passes.get(stage).map_or(0.0, &part))
}

/// Mean over ranks of what `of_stage` says of a micro-batch on each of their stages, over a step.
pub(super) fn mean_over_stages(scenario: &Scenario, loads: &[RankLoad], of_stage: impl Fn(usize) -> f64) -> f64 {
    let each = loads.iter().map(|load| {
        let stages = load.stages.iter().map(|stage| of_stage(*stage));
        stages.sum::<f64>() * scenario.usual_microbatches() / copies(scenario, load)
    });
    each.sum::<f64>() / loads.len().max(1) as f64
}

/// Messages of a rank with `load` in a step, `end` of it once, where a share of its passes is `paired`.
fn totals(draft: &Draft, load: &RankLoad, end: End, paired: f64) -> OverlapTotals {
    let Draft { scenario, passes, .. } = draft;
    let mut totals = OverlapTotals::default();
    let repeats = scenario.usual_microbatches() / copies(scenario, load);
    for (stage, pass) in load.stages.iter().filter_map(|stage| Some((*stage, passes.get(*stage)?))) {
        let waits = &pass.waits;
        totals.tp = totals.tp + waits.tp * repeats;
        totals.cp = totals.cp + waits.cp * repeats;
        let beside =
            if pass.saved == PairingChange::default() { waits.ep } else { waits.ep_paired.unwrap_or(waits.ep) };
        totals.ep = totals.ep + (waits.ep * (1.0 - paired) + beside * paired) * repeats;
        let [zero3, gradients] = pass.shards_beside.unwrap_or([waits.zero3, waits.gradients]);
        totals.zero3 = totals.zero3 + (waits.zero3 * (1.0 - paired) + zero3 * paired) * repeats;
        totals.dp = totals.dp + (waits.gradients * (1.0 - paired) + gradients * paired) * repeats;
        // The first stage sends no gradient, the last no output.
        let sends = |states: u64| if states > 0 { waits.send } else { Seconds::ZERO };
        let handed = sent_states(scenario, &load.stages, stage);
        let [forward, backward] = handed.map(sends);
        // Two passes of a pair take less than one after the other.
        let beside = 1.0 - paired * pass.saved.total().0 / pass.total().0.max(f64::MIN_POSITIVE);
        let sends = Wait {
            bytes: Bytes(boundary_bytes(scenario, handed.iter().sum::<u64>() as f64)),
            forward: Beside { comm: forward, window: pass.forward() * beside, ..Beside::default() },
            backward: Beside { comm: backward, window: pass.backward() * beside, ..Beside::default() },
            ..Wait::default()
        };
        totals.pp = totals.pp + sends * repeats;
    }
    totals.dp = totals.dp + end.wires;
    totals.calls = step_calls(scenario, &load.stages);
    totals.elements = end.held.total();
    totals.next_layers = scenario.model.layers as f64 / scenario.stage_layers.len() as f64;
    totals
}

/// The overlap table of each pipeline rank; the report has that of the busiest.
pub fn rank_overlaps(evaluation: &Evaluation) -> Vec<Vec<OverlapRow>> {
    let Ok(draft) = Draft::of(&evaluation.scenario.run) else {
        return Vec::new();
    };
    let scale = evaluation.report.step.rescaled_by.unwrap_or(1.0);
    let loads = &evaluation.loads;
    let stats = Stats::of(&evaluation.order, &evaluation.spans);
    let paired = paired(&draft, loads, &stats);
    let each = loads.iter().zip(ends(&draft, loads)).map(|(load, end)| {
        let mut rows = overlap_rows(&draft.scenario, &totals(&draft, load, end, paired));
        for row in &mut rows {
            row.rescale(scale);
        }
        rows
    });
    each.collect()
}

/// The overlap table and the step, on the rank that works longest.
pub(super) fn step(draft: &Draft, loads: &[RankLoad], ends: &[End], stats: &Stats) -> (usize, Vec<OverlapRow>, Step) {
    let Draft { scenario, passes, .. } = draft;
    let share = paired(draft, loads, stats);
    let copies = |load: &RankLoad| copies(scenario, load);
    let sum = |load: &RankLoad, part: fn(&Pass) -> f64| -> f64 {
        load.stages.iter().filter_map(|stage| passes.get(*stage)).map(part).sum()
    };
    let busiest = (0..loads.len()).max_by(|a, b| {
        let time = |rank: usize| sum(&loads[rank], |pass| pass.total().0) / copies(&loads[rank]);
        time(*a).total_cmp(&time(*b))
    });
    let totals = busiest.map_or_else(OverlapTotals::default, |rank| totals(draft, &loads[rank], ends[rank], share));
    let overlap = overlap_rows(scenario, &totals);
    let optimizer = ends.iter().map(|end| end.optimizer);
    let mean = |part: fn(&Pass) -> f64| mean_of(scenario, loads, passes, part);
    let saved = share * mean(|pass| pass.saved.messages.0);
    let shards = share * mean(|pass| pass.saved.shards.0);
    let inside = mean(|pass| pass.exposed().0) - saved + shards;
    let slows = slowed(share, &mean);
    let slowed = slows.iter().sum::<f64>();
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
    exposed[2] = Seconds((exposed[2].0 - saved).max(0.0));
    exposed[3] += Seconds(shards) + last.exposed();
    let mut wires = on_wire(share, &mean).map(Seconds);
    wires[3] += last.comm;
    let parts = StepParts {
        compute: Seconds(stats.ideal_s - inside - stage_loading::<f64>(scenario)),
        recompute: Seconds(mean(|pass| pass.compute.recompute.0)),
        launches: Seconds(mean(|pass| pass.compute.host.0) + share * mean(|pass| pass.saved.host.0)),
        bubble: Seconds(stats.makespan_s - stats.ideal_s),
        not_hidden: Seconds((inside - slowed).max(0.0)) + last.not_hidden,
        slows: Seconds(slowed) + last.slows,
        exposed,
        slowed: [slows[0], slows[1], slows[2], slows[3] + last.slows.0].map(Seconds),
        wires,
        optimizer: updates(draft, loads, optimizer.fold(Seconds::ZERO, Seconds::max)),
    };
    (busiest.unwrap_or(0), overlap, Step::new(scenario, parts))
}

/// Time on the wire of tensor, context, expert and data parallelism in the passes of the average rank, `share` of whose
/// passes are paired.
fn on_wire(share: f64, mean: &dyn Fn(fn(&Pass) -> f64) -> f64) -> [f64; 4] {
    let experts: fn(&Pass) -> f64 = |pass| {
        let beside = pass.waits.ep_paired.filter(|_| pass.saved != PairingChange::default());
        beside.map_or(0.0, |beside| (beside.both().comm - pass.waits.ep.both().comm).0)
    };
    [
        mean(|pass| pass.waits.tp.both().comm.0),
        mean(|pass| pass.waits.cp.both().comm.0),
        mean(|pass| pass.waits.ep.both().comm.0) + share * mean(experts),
        mean(|pass| (pass.waits.zero3.both().comm + pass.waits.gradients.both().comm).0),
    ]
}

/// Time by which covered messages of tensor, context, expert and data parallelism slow compute in the passes of the
/// average rank, `share` of whose passes are paired.
fn slowed(share: f64, mean: &dyn Fn(fn(&Pass) -> f64) -> f64) -> [f64; 4] {
    fn slows(wait: &Wait) -> f64 {
        wait.both().slows.0
    }
    let experts: fn(&Pass) -> f64 = |pass| {
        let beside = pass.waits.ep_paired.filter(|_| pass.saved != PairingChange::default());
        beside.map_or(0.0, |beside| slows(&beside) - slows(&pass.waits.ep))
    };
    let shards: fn(&Pass) -> f64 = |pass| {
        let alone = || slows(&pass.waits.zero3) + slows(&pass.waits.gradients);
        pass.shards_beside.map_or(0.0, |beside| beside.iter().map(slows).sum::<f64>() - alone())
    };
    [
        mean(|pass| slows(&pass.waits.tp)),
        mean(|pass| slows(&pass.waits.cp)),
        mean(|pass| slows(&pass.waits.ep)) + share * mean(experts),
        mean(|pass| slows(&pass.waits.zero3) + slows(&pass.waits.gradients)) + share * mean(shards),
    ]
}

/// Time of the updates that end a step: the optimizer on the GPU, or the host's and the copies that nothing hides.
fn updates(draft: &Draft, loads: &[RankLoad], on_gpu: Seconds) -> Seconds {
    let states = draft.scenario.offload.map_or(0.0, |offload| offload.states());
    on_gpu * (1.0 - states) + offloading(draft, loads)
}

/// Time that offloading adds to a step, on the slowest rank.
pub(super) fn offloading(draft: &Draft, loads: &[RankLoad]) -> Seconds {
    let each = loads.iter().filter_map(|load| of_rank(draft, load));
    each.map(|step| step.exposed_s).fold(Seconds::ZERO, Seconds::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{report, schedule_ids, with_schedule};
    use crate::run::presets::{PUBLISHED, PublishedRun};
    use crate::run::{Optimizer, Run};
    use crate::time::Clock;
    use crate::traffic::Traffic;

    /// Passes beside which stages send take place inside the step: no rank computes longer than it lasts, whether its
    /// passes run one by one or in pairs.
    #[test]
    fn sends_run_beside_passes_of_the_step() {
        let deepseek = PUBLISHED.iter().find(|published| published.id == "deepseek-v3").unwrap().run();
        let each = |run: &Run| -> Vec<Run> {
            schedule_ids().filter_map(|id| run.with_texts(&with_schedule(run, id))).collect()
        };
        let published = PUBLISHED.iter().map(PublishedRun::run);
        let mut seen = 0;
        for run in
            published.chain([&Run { global_batch: 1024, ..Run::default() }, &deepseek].into_iter().flat_map(each))
        {
            let Ok(report) = report(&run) else { continue };
            for row in report.overlap.iter().filter(|row| row.traffic == Traffic::Pp) {
                assert!(row.compute_s <= report.step.time_s, "{:?}: {row:?}, {:?}", run.schedule, report.step.time_s);
                seen += 1;
            }
        }
        assert!(seen > 20, "{seen}");
    }

    /// Adam steps the embedding and the head under Muon, so the step of a stage that has neither ends as soon whatever
    /// the vocabulary, and that of one that has the head no sooner for more of it.
    #[test]
    fn a_larger_vocabulary_makes_no_rank_faster() {
        let seconds = |vocab, stage| {
            let mut run = Run { optimizer: Optimizer::Muon, pp: 4, zero: 0, ..Run::default() };
            run.model.parts.vocab = Some(vocab);
            let scenario = Scenario::new(&run).unwrap();
            let held = HeldParameters::trained(&scenario, &[stage]);
            step_end::<f64>(&scenario, Clock::new(&scenario).rates(), &[stage], held.updated(&scenario))
        };
        assert_eq!(seconds(128_000, 1), seconds(256_000, 1));
        assert!(seconds(256_000, 3) >= seconds(128_000, 3) * (1.0 - 1e-3));
    }
}
