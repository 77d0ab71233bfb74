//! Weights, gradients and optimizer states, sharded as ZeRO says.

use super::holding::{Holding, ModelEnd, ShardGroup, holdings};
use crate::explain::Quantity;
use crate::explain::symbols::{
    ELEMENTS, EXPERT_SHARDS, GRADIENT, LARGEST_MATRIX, MASTER, SHARDS, STATES, STATES_LEFT, STORED, STORED_LINEARS,
    VERSIONS, WEIGHT,
};
use crate::memory::estimate::RankLoad;
use crate::model::linears;
use crate::run::{Offload, OffloadTo, Optimizer, Precision, Scenario};

/// Bytes of one holding.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct States<Q = f64> {
    /// Weights that compute.
    pub weights: Q,
    /// Gradients and their accumulation.
    pub gradients: Q,
    /// Master weights and moments.
    pub optimizer: Q,
}

/// Ranks that share one set of the states of `kind`: d c (or the HSDP group) for dense parameters, the experts' own
/// group world / (p x te) for theirs.
pub fn shards(scenario: &Scenario, kind: ShardGroup) -> f64 {
    match kind {
        ShardGroup::Dense => scenario.zero.shard as f64,
        ShardGroup::Expert => scenario.zero.expert_shard as f64,
        ShardGroup::Frozen => 1.0,
        ShardGroup::Adapter | ShardGroup::ExpertAdapter => match &scenario.adapter {
            Some(adapter) if adapter.sharded && kind == ShardGroup::Adapter => scenario.zero.shard as f64,
            Some(adapter) if adapter.sharded => scenario.zero.expert_shard as f64,
            _ => 1.0,
        },
    }
}

/// Ranks over which the states of `kind` are cut where they are `sharded`, else 1.
fn over<Q: Quantity>(scenario: &Scenario, kind: ShardGroup, sharded: bool) -> Q {
    let of_experts = matches!(kind, ShardGroup::Expert | ShardGroup::ExpertAdapter);
    let symbol = if of_experts { EXPERT_SHARDS } else { SHARDS };
    if sharded && kind != ShardGroup::Frozen { symbol.of(shards(scenario, kind)) } else { Q::number(1.0) }
}

/// Ranks over which optimizer states of `kind` are cut where they are `sharded`, else 1: those of all HSDP groups where
/// the groups cut them too.
fn over_outer<Q: Quantity>(scenario: &Scenario, kind: ShardGroup, sharded: bool) -> Q {
    let zero = scenario.zero;
    let (symbol, outer) =
        if kind == ShardGroup::Expert { (EXPERT_SHARDS, zero.expert_outer) } else { (SHARDS, zero.outer) };
    if sharded && matches!(kind, ShardGroup::Dense | ShardGroup::Expert) {
        symbol.of(shards(scenario, kind) * outer as f64)
    } else {
        over(scenario, kind, sharded)
    }
}

/// Bytes of the frozen base: linears as they are quantised, the rest as its weights are kept: in fp32 where passes in
/// 16 bits are around such weights.
pub(crate) fn base_weights<Q: Quantity>(scenario: &Scenario, holding: &Holding) -> Q {
    let precision = scenario.precision;
    // Without a copy in 16 bits linears are those of the recipe.
    let (whole, linear) = if precision.param_gather {
        (precision.weights, precision.copies(&scenario.gpu))
    } else {
        (precision.weights, precision.weights)
    };
    let quantised = scenario.base_weight().unwrap_or(linear);
    let linears = STORED_LINEARS.summand::<Q>(holding.linears);
    (ELEMENTS.of::<Q>(holding.elements) - linears) * WEIGHT.of::<Q>(whole) + linears * STORED.of::<Q>(quantised)
}

/// The bytes of what a holding trains.
pub(crate) fn trained_bytes(scenario: &Scenario, kind: ShardGroup) -> Precision {
    match (&scenario.adapter, kind) {
        (Some(adapter), kind) if kind.is_adapter() => adapter.bytes,
        _ => scenario.precision,
    }
}

/// Bytes of all parameters of a rank's shard, in what they compute in; of a frozen base as it is stored.
pub(crate) fn weights(scenario: &Scenario, load: &RankLoad) -> f64 {
    let parts = holdings(scenario, load);
    parts.iter().map(|part| split_weights::<f64>(scenario, part)).sum()
}

/// Bytes of weights and states of a fine-tuned model on a rank: they are where they were put before or in the first
/// step, so their blocks do not fragment. On one A100 Mixtral shows 17.2 GiB more than Mistral at the driver, for 18.3
/// GiB of weights (fms-acceleration, `a100_80gb.csv`, GPTQ); without logits, what shows beyond PyTorch's peak is 9 to
/// 11 % of what comes and goes.
pub(crate) fn standing(scenario: &Scenario, load: &RankLoad) -> f64 {
    if !scenario.tunes_eagerly() {
        return 0.0;
    }
    let parts = holdings(scenario, load).into_iter();
    let each = parts.map(|part| states::<f64>(scenario, &part, load.weight_versions));
    each.map(|states| states.weights + states.optimizer).sum()
}

/// Bytes of one holding's weights that stay on a GPU through the step, as its shard or whole.
pub(crate) fn split_weights<Q: Quantity>(scenario: &Scenario, part: &Holding) -> Q {
    let whole = if part.trained {
        let bytes = trained_bytes(scenario, part.kind).gathered_weight();
        WEIGHT.of::<Q>(bytes) * ELEMENTS.of::<Q>(part.elements)
    } else {
        base_weights(scenario, part)
    };
    whole / over(scenario, part.kind, scenario.zero.stage >= 3)
}

/// `P (w/n3 + g/n2 + o/n1) + L q` where n1, n2, n3 is N from ZeRO-1, 2, 3 on and 1 below; n2 is 1 as well where ZeRO-2
/// reduces once a step; L linears of layers have q bytes of quantised copies, which live from the first micro-batch of
/// a step to the next step, with ZeRO-3 as long as their layer is gathered. Stashed weights count again.
///
/// Source: Rajbhandari 2020 section 5; Megatron-LM `docs/dist_optimizer.md` (6 + 12/N for bf16 with fp32 gradients).
pub fn states<Q: Quantity>(scenario: &Scenario, holding: &Holding, versions: u64) -> States<Q> {
    let bytes = trained_bytes(scenario, holding.kind);
    let over = |sharded: bool| over::<Q>(scenario, holding.kind, sharded);
    let (zero, p) = (scenario.zero.stage, ELEMENTS.of::<Q>(holding.elements));
    let of_weights = if holding.trained || scenario.adapter.is_none() {
        bytes.weight_bytes(p, quantised_linears(scenario, holding), &scenario.gpu)
    } else {
        base_weights(scenario, holding)
    };
    let weights = of_weights * VERSIONS.factor::<Q>(versions.max(1)) / over(zero >= 3);
    let none = Q::number(0.0);
    let whole = if holding.trained {
        States {
            weights,
            gradients: p * GRADIENT.of::<Q>(bytes.gradients()) / over(scenario.shards_gradients()),
            optimizer: optimizer(scenario, holding, over_outer(scenario, holding.kind, zero >= 1)),
        }
    } else {
        States { weights, gradients: none, optimizer: none }
    };
    match &scenario.offload {
        Some(offload) => {
            let master = if holding.trained { bytes.master } else { 0.0 };
            let masters = p * MASTER.summand::<Q>(master) / over_outer(scenario, holding.kind, zero >= 1);
            let kept = if offload.keeps_masters(bytes.master) { masters } else { none };
            left(&whole, offload, kept)
        }
        None => whole,
    }
}

/// The part of `whole` states that stays on the GPU; `kept` bytes of them are master weights that stay.
fn left<Q: Quantity>(whole: &States<Q>, offload: &Offload, kept: Q) -> States<Q> {
    let gone = |to: Option<OffloadTo>| if to.is_some() { 0.0 } else { 1.0 };
    let share = 1.0 - offload.states();
    let share = if share > 0.0 { STATES_LEFT.factor(share) } else { Q::number(0.0) };
    States {
        weights: whole.weights * gone(offload.parameters),
        gradients: whole.gradients * gone(offload.gradients),
        optimizer: kept + (whole.optimizer - kept) * share,
    }
}

/// Parameters whose quantised copies stay: of gathered weights they go with the layer.
pub(crate) fn quantised_linears(scenario: &Scenario, holding: &Holding) -> f64 {
    let gathered = scenario.zero.stage >= 3 && shards(scenario, holding.kind) > 1.0;
    match scenario.precision.recipe {
        // torchao quantises at each use.
        Some(_) if !scenario.software.keeps_quantised => 0.0,
        Some(_) if scenario.precision.param_gather || !gathered => holding.linears,
        _ => 0.0,
    }
}

/// `P o / N`; with Muon whole matrices stay on one rank, `max(P/N, largest matrix) o`, and what is no hidden matrix is
/// stepped by Adam. Source: Megatron-LM `optimizer/layer_wise_optimizer.py`.
fn optimizer<Q: Quantity>(scenario: &Scenario, holding: &Holding, n: Q) -> Q {
    let bytes = trained_bytes(scenario, holding.kind);
    let share = ELEMENTS.of::<Q>(holding.elements) / n;
    let each = match scenario.run.optimizer {
        Optimizer::GaLore if holding.largest_matrix > 0.0 => bytes.master + projected(scenario, bytes),
        // Hugging Face's Trainer keeps the states of embeddings in fp32 (`register_module_override`, bitsandbytes).
        Optimizer::Adam8Bit if scenario.software.of_hub && holding.end == Some(ModelEnd::Embedding) => {
            bytes.master + 8.0
        }
        Optimizer::Muon if holding.largest_matrix > 0.0 => bytes.optimizer(Optimizer::Muon),
        Optimizer::Muon | Optimizer::GaLore => bytes.optimizer(Optimizer::Adam),
        other => bytes.optimizer(other),
    };
    let whole = scenario.run.optimizer == Optimizer::Muon && holding.largest_matrix > 0.0;
    let largest = holding.largest_matrix.min(holding.elements);
    let share = if whole { share.max(LARGEST_MATRIX.of(largest)) } else { share };
    share * STATES.of::<Q>(each)
}

/// Bytes a parameter that `GaLore` keeps of the linears of a layer: of an m x n matrix with m <= n two moments of r x n
/// and a projector of m x r, `(2 n r β + m r w)/(m n)`; r is a quarter of the hidden size. Source: `GaLore`, table 1
/// and section 5 (ranks of 1B and 7B), `galore_projector.py`.
fn projected(scenario: &Scenario, bytes: Precision) -> f64 {
    let model = &scenario.model;
    let rank = model.hidden as f64 / 4.0;
    let (mut kept, mut all) = (0.0, 0.0);
    for linear in linears(model, model.kind(0)) {
        let (input, output) = (linear.input as f64, linear.output as f64);
        let r = rank.min(input.min(output));
        kept += input.max(output) * r * (bytes.moment1 + bytes.moment2);
        kept += input.min(output) * r * bytes.weights;
        all += input * output;
    }
    if all > 0.0 { kept / all } else { bytes.moment1 + bytes.moment2 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;

    fn bytes_a_parameter(run: &Run) -> [f64; 3] {
        let holding = Holding {
            name: "layers",
            end: None,
            elements: 1000.0,
            kind: ShardGroup::Dense,
            trained: true,
            linears: 0.0,
            largest_matrix: 100.0,
        };
        let states: States = states(&Scenario::new(run).unwrap(), &holding, 1);
        [states.weights, states.gradients, states.optimizer].map(|bytes| bytes / 1000.0)
    }

    fn near(ours: [f64; 3], printed: [f64; 3]) {
        for (ours, printed) in ours.into_iter().zip(printed) {
            assert!((ours - printed).abs() < 1e-12, "{ours} {printed}");
        }
    }

    /// Rajbhandari 2020, figure 1, and Megatron-LM's table: N = 8 here (dp 8, cp 1).
    #[test]
    fn each_zero_stage_shards_what_its_paper_says() {
        let run = |zero, precision| Run { zero, precision: crate::run::Based::preset(precision), ..Run::default() };
        let n = 8.0;
        near(bytes_a_parameter(&run(0, "bf16")), [2.0, 2.0, 12.0]);
        near(bytes_a_parameter(&run(1, "bf16")), [2.0, 2.0, 12.0 / n]);
        // Megatron-FSDP, `outer_dp_sharding_strategy optim`: within groups of two all is cut, optimizer states over all
        // ranks.
        let groups = Run { hsdp_shard: Some(2), hsdp_optimizer: true, ..run(3, "bf16") };
        near(bytes_a_parameter(&groups), [2.0 / 2.0, 2.0 / 2.0, 12.0 / n]);
        near(bytes_a_parameter(&run(2, "bf16")), [2.0, 2.0 / n, 12.0 / n]);
        near(bytes_a_parameter(&run(3, "bf16")), [2.0 / n, 2.0 / n, 12.0 / n]);
        near(bytes_a_parameter(&run(1, "bf16-fp32-grads")), [2.0, 4.0, 12.0 / n]);
    }

    #[test]
    fn optimizers_keep_the_states_they_have() {
        let run = |optimizer| Run { zero: 0, optimizer, ..Run::default() };
        for (optimizer, states) in [
            (Optimizer::Adam, 12.0),
            (Optimizer::Sgd, 4.0),
            (Optimizer::SgdMomentum, 8.0),
            (Optimizer::Lion, 8.0),
            (Optimizer::Muon, 8.0),
            (Optimizer::Adafactor, 4.0),
            // torchao, Llama-2-7B: from bf16 Adam to 8 bit 12.4 GiB less, so 2.03 bytes a parameter.
            (Optimizer::Adam8Bit, 4.0 + 2.03125),
            (Optimizer::Adam8BitPaged, 4.0),
            (Optimizer::AdamPaged, 4.0),
            (Optimizer::AdamMini, 8.0),
        ] {
            near(bytes_a_parameter(&run(optimizer)), [2.0, 4.0, states]);
        }
        // GaLore, table 1: `m r + 2 n r` numbers of an m x n matrix. Llama-3.1-8B: attention h x h twice and h x h/4
        // twice, the FFN h x 3.5 h three times, r = h/4.
        let galore = bytes_a_parameter(&run(Optimizer::GaLore))[2];
        let (square, narrow, wide) = (0.25 * 8.0 + 0.25 * 2.0, 8.0 + 2.0 * 0.25, 0.25 * 8.0 + 2.0 / 14.0);
        let mean = (2.0 * square + 0.5 * narrow + 10.5 * wide) / 13.0;
        assert!((galore - 4.0 - mean).abs() < 1e-9, "{galore} {mean}");
        // A matrix of 100 of 1000 elements stays whole where 64 ranks would share them.
        let many = Run { gpus: 512, global_batch: 512, optimizer: Optimizer::Muon, ..Run::default() };
        near(bytes_a_parameter(&many), [2.0, 4.0, 0.8]);
    }
}
