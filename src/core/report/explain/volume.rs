//! Bytes that a GPU of the busiest rank sends in a step, by kind: the volumes of `traffic` over its layers, written
//! instead of computed.

use super::super::Evaluation;
use crate::explain::symbols::{
    CLONED_FORWARDS, CLONED_LAYERS, END_PASSES, FORWARD_PASSES, GATHERED, GATHERINGS, LAYER_PASSES, MICROBATCHES,
    RANK_LAYERS, REDUCED, REDUCTIONS, ROUTED_PASSES, STATES_SENT, UPDATES,
};
use crate::explain::{Quantity, Term, Unit, Written, written};
use crate::message::Message;
use crate::model::{LayerKind, Mixer};
use crate::run::Scenario;
use crate::source::{MEGATRON, PLAYBOOK, ZERO};
use crate::t;
use crate::traffic::{
    GradientSharing, HeldParameters, OverlapRow, Traffic, at_update, between_groups, boundary_bytes, clone_bytes,
    context_bytes, embedding_bytes, expert_bytes, forwards, model_ends, replica_bytes, routed_forwards, routed_layers,
    sent_states, shared_bytes, sharing, stage_pairs, tensor_bytes, with_microbatch,
};

/// The volume of a row, with its formula.
pub(crate) fn volume(evaluation: &Evaluation, row: &OverlapRow) -> Term {
    let name = "bytes that a GPU sends";
    let given = || Term::given("V", name, row.bytes_per_gpu.0, Unit::Bytes);
    let load = evaluation.loads.get(evaluation.busiest);
    let term = load.map_or_else(given, |load| {
        let sent = || sent(&evaluation.scenario, &load.stages, row.traffic).term("V", name, Unit::Bytes);
        Term { value: row.bytes_per_gpu.0, ..written(sent) }
    });
    match row.traffic {
        Traffic::Dp | Traffic::Zero3 => term.from(&ZERO, "section 7"),
        Traffic::Tp | Traffic::Pp => term.from(&MEGATRON, "tensor and sequence parallelism, Megatron Core"),
        Traffic::Cp | Traffic::Ep => term.from(&PLAYBOOK, "context and expert parallelism"),
    }
}

/// Bytes of a step on a rank with `stages`.
fn sent(scenario: &Scenario, stages: &[usize], traffic: Traffic) -> Written {
    let copies = stages.len() as f64 / scenario.chunks as f64;
    let m = scenario.usual_microbatches() / copies;
    let every = MICROBATCHES.of::<Written>(m);
    let kinds: Vec<(LayerKind, u64)> = stages.iter().flat_map(|stage| scenario.kinds_on(*stage).to_vec()).collect();
    match traffic {
        Traffic::Tp => {
            let over = |passes: &dyn Fn(usize) -> f64| stages.iter().map(|stage| passes(*stage)).sum::<f64>();
            let passes = over(&|stage| stage_pairs(scenario, stage) / 2.0 * (forwards(scenario, stage) + 1.0));
            let ends = over(&|stage| model_ends(scenario, stage)) * (2.0 + scenario.forwards_beside());
            let (passes, ends) = (LAYER_PASSES.of::<Written>(passes), END_PASSES.summand::<Written>(ends));
            tensor_bytes(scenario, passes, ends) * every
        }
        Traffic::Cp => {
            let mut mixers: Vec<Mixer> = Vec::new();
            for (kind, _) in &kinds {
                if !mixers.contains(&kind.mixer) {
                    mixers.push(kind.mixer);
                }
            }
            let volume = |mixer: Mixer| {
                let on = |stage: usize| -> f64 {
                    let kinds = scenario.kinds_on(stage);
                    kinds.iter().filter(|(kind, _)| kind.mixer == mixer).map(|(_, count)| *count as f64).sum()
                };
                let layers: f64 = stages.iter().map(|stage| on(*stage)).sum();
                let passes: f64 = stages.iter().map(|stage| on(*stage) * forwards(scenario, *stage)).sum();
                let passes = FORWARD_PASSES.of::<Written>(passes / layers.max(1.0));
                context_bytes::<Written>(scenario, mixer, passes) * RANK_LAYERS.of::<Written>(layers) * every
            };
            match mixers.as_slice() {
                [only] => volume(*only),
                several => {
                    Written::total("V_i", several.iter().map(|mixer| (t!("layers of the rank"), volume(*mixer))))
                }
            }
        }
        Traffic::Ep => {
            let of = |stage: &usize| routed_layers(scenario, *stage) * (routed_forwards(scenario, *stage) + 1.0);
            let passes = ROUTED_PASSES.of::<Written>(stages.iter().map(of).sum::<f64>());
            let sent = expert_bytes(scenario, passes * every);
            if scenario.clones().is_none() {
                return sent;
            }
            let over = |passes: &dyn Fn(usize) -> f64| stages.iter().map(|stage| passes(*stage)).sum::<f64>();
            let layers = CLONED_LAYERS.of::<Written>(over(&|stage| routed_layers(scenario, stage)));
            let forwards = over(&|stage| routed_layers(scenario, stage) * routed_forwards(scenario, stage));
            let cloned = clone_bytes(scenario, CLONED_FORWARDS.of::<Written>(forwards) * every, layers * every);
            Written::total("V_i", [(t!("tokens"), sent), (t!("clones of experts"), cloned)].into_iter())
        }
        Traffic::Pp => {
            let states: u64 = stages.iter().flat_map(|stage| sent_states(scenario, stages, *stage)).sum();
            boundary_bytes(scenario, STATES_SENT.of::<Written>(states) * every)
        }
        Traffic::Dp => parameters(scenario, HeldParameters::trained(scenario, stages), m),
        Traffic::Zero3 => gathered(scenario, HeldParameters::of(scenario, stages), m),
    }
}

fn name(part: &GradientSharing) -> Message {
    if part.experts { t!("routed experts") } else { t!("parameters outside the experts") }
}

/// Weights that ZeRO-3 gathers for the passes of `m` micro-batches.
fn gathered(scenario: &Scenario, held: HeldParameters, m: f64) -> Written {
    let gatherings = with_microbatch(scenario)[1];
    let weight = |times: f64| GATHERED.of::<Written>(scenario.sent_weight()) * GATHERINGS.of::<Written>(times * m);
    let beside = scenario.forwards_beside();
    let none = || Written::number(0.0);
    let parts = sharing(scenario, held);
    // The gathering before the forward pass is repeated for every forward pass; the one before the backward pass is
    // not.
    let first = gatherings.min(1.0);
    // The second copy is gathered for the backward pass, where that gathers at all.
    let Some(second) = scenario.second_copy().filter(|_| gatherings > 1.0) else {
        let bytes = |part: &GradientSharing| {
            shared_bytes(part.elements, part.shard, [none(), weight(first * (1.0 + beside) + gatherings - first)])
        };
        return Written::total("V_i", parts.iter().map(|part| (name(part), bytes(part))));
    };
    let both = parts.iter().flat_map(|part| {
        let again = t!("{part}, the second copy", part = name(part));
        let bytes = |ranks: u64, times: f64| shared_bytes(part.elements, ranks, [none(), weight(times)]);
        let ranks = if part.experts { scenario.zero.experts_within(second) } else { second };
        [(name(part), bytes(part.shard, 1.0 + beside)), (again, bytes(ranks, gatherings - 1.0))]
    });
    Written::total("V_i", both)
}

/// Gradients and weights over the ranks that share them, dense and routed each over their own, and between ranks that
/// hold the same besides: groups, heads of keys and values, embeddings.
fn parameters(scenario: &Scenario, held: HeldParameters, m: f64) -> Written {
    let updates = UPDATES.of::<Written>(scenario.updates());
    let gradient = REDUCED.of::<Written>(scenario.reduced_gradient());
    let updated = scenario.trained_bytes().gathered_weight();
    let weight = GATHERED.of::<Written>(if scenario.zero.stage == 3 { scenario.sent_weight() } else { updated });
    let [reductions, gatherings] = at_update(scenario);
    let reduced = updates * reductions + REDUCTIONS.summand(with_microbatch(scenario)[0] * m);
    let each = [gradient * reduced, weight * updates * gatherings];
    let mut parts = Vec::new();
    for part in sharing(scenario, held) {
        parts.push((name(&part), shared_bytes(part.elements, part.shard, each)));
        if part.copies > 1 {
            let bytes =
                replica_bytes(between_groups::<Written>(scenario), part.elements, part.shard, part.copies) * updates;
            parts.push((t!("{bytes}, between the groups", bytes = name(&part)), bytes));
        }
    }
    let layout = &scenario.layout;
    let shard = if scenario.shards_gradients() { scenario.zero.shard } else { 1 };
    for (copied, ranks) in held.copied.into_iter().zip(scenario.model.key_value_ranks(layout.tp)) {
        let bytes = replica_bytes(gradient, copied, shard, layout.tp / ranks) * updates;
        parts.push((t!("keys and values, between the ranks that hold the same head"), bytes));
    }
    let ends = embedding_bytes(scenario, gradient) * updates;
    parts.push((t!("embeddings, between the ranks of the pipeline that hold them"), ends));
    Written::total("V_i", parts.into_iter())
}
