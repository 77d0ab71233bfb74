//! Arguments that forks of Megatron-LM have beside its own: Megatron-DeepSpeed, MindSpeed-LLM.
//!
//! Sources: deepspeedai/Megatron-DeepSpeed 4efb479 `megatron/arguments.py:608` (experts), `:910` (dropped tokens),
//! `:927` (kernels of attention), `megatron/model/transformer.py:1070`, `:1650` (which layers have experts);
//! Ascend/MindSpeed-LLM c77308a `mindspeed_llm/features_manager`, `core/transformer/transformer_block.py:188` (layers
//! that do nothing), `tasks/posttrain/lora/utils.py:27`.

use crate::dialect::rows::prelude::*;
use crate::dialect::tuning::{self, LowRank, objective};
use shardscope_core::run::{Objective, ObjectiveParts};

/// Arguments of Megatron-DeepSpeed that no other fork has.
const OF_DEEPSPEED: [&str; 4] =
    ["--deepspeed", "--zero-stage", "--ds-sequence-parallel-size", "--moe-expert-parallel-size"];

/// Arguments of MindSpeed-LLM that nearly each of its scripts has one of.
const OF_MINDSPEED: [&str; 8] = [
    "--use-fused-rmsnorm",
    "--use-fused-swiglu",
    "--use-fused-rotary-pos-emb",
    "--first-k-dense-replace",
    "--noop-layers",
    "--model-type-hf",
    "--handler-name",
    "--ai-framework",
];

/// Kernels of attention that keep no scores; without one of them Megatron-DeepSpeed keeps them.
pub(super) const FLASH_OF_DEEPSPEED: [&str; 4] =
    ["--use-flash-attn-v1", "--use-flash-attn-v2", "--use-flash-attn-triton", "--use-flash-attn-builder"];

const NOOP: &str = "--noop-layers";

/// True of Megatron-DeepSpeed's arguments.
pub(super) fn is_deepspeed(reader: &SettingsReader) -> bool {
    OF_DEEPSPEED.iter().any(|name| reader.has(name))
}

/// Experts that a token of Megatron-DeepSpeed goes to.
pub(super) fn experts_of_a_token(reader: &mut SettingsReader) -> u64 {
    reader.count("--topk", "experts per token").unwrap_or_else(|| {
        reader.assume("1 expert per token: Megatron-DeepSpeed where it is silent");
        1
    })
}

/// The layers with experts: `said` by Megatron-LM's own argument, every second one of Megatron-DeepSpeed, all but the
/// first of MindSpeed-LLM.
pub(super) fn routed(reader: &mut SettingsReader, layers: u64, said: Option<Vec<bool>>) -> Option<Vec<bool>> {
    /// More layers are no model.
    const MAX: u64 = 100_000;
    if is_deepspeed(reader) {
        let every = reader.count("--expert-interval", "layers with experts: one in").unwrap_or_else(|| {
            reader.assume("experts in every 2nd layer: Megatron-DeepSpeed where it is silent");
            2
        });
        return Some((1..=layers.min(MAX)).map(|layer| layer % every.max(1) == 0).collect());
    }
    let Some(dense) = reader.count("--first-k-dense-replace", "first layers without experts") else { return said };
    let all = said.unwrap_or_else(|| (0..layers.min(MAX)).map(|_| true).collect());
    Some((0..).zip(all).map(|(layer, routed): (u64, bool)| routed && layer >= dense).collect())
}

/// The layers that do nothing, from 0.
fn noops(reader: &SettingsReader) -> Vec<u64> {
    let numbers =
        |text: &str| -> Vec<u64> { text.split([',', ' ']).filter_map(|number| number.trim().parse().ok()).collect() };
    match reader.last(NOOP) {
        Some(Value::Number(layer)) => whole(*layer).into_iter().collect(),
        Some(Value::Text(text)) => numbers(text),
        Some(Value::List(items)) => items.iter().filter_map(Value::text).flat_map(numbers).collect(),
        _ => Vec::new(),
    }
}

/// `layers` without those of MindSpeed-LLM that do nothing.
pub(super) fn without_noop(reader: &mut SettingsReader, layers: u64) -> u64 {
    let noops = noops(reader);
    if noops.is_empty() {
        return layers;
    }
    reader.word(NOOP, "layers that do nothing");
    layers.saturating_sub(noops.len() as u64).max(1)
}

/// Layers of each of `count` stages, where MindSpeed-LLM lists them or some of its layers do nothing.
pub(super) fn stages(reader: &mut SettingsReader, layers: u64, count: u64) -> Option<Vec<u64>> {
    let noops = noops(reader);
    if noops.is_empty() {
        let list = reader.word("--num-layer-list", "layers by stage")?;
        let list: Option<Vec<u64>> = list.split([',', ' ']).map(|number| number.parse().ok()).collect();
        return list.filter(|list| list.len() as u64 == count && list.iter().sum::<u64>() == layers);
    }
    let all = layers + noops.len() as u64;
    let each = all / count.max(1);
    let held = |stage: u64| {
        let idle = noops.iter().filter(|layer| **layer / each.max(1) == stage).count() as u64;
        each.saturating_sub(idle)
    };
    all.is_multiple_of(count).then(|| (0..count).map(held).collect())
}

/// Takes expert parallelism by the names of forks.
pub(super) fn expert_ranks(reader: &mut SettingsReader) {
    if let Some(ranks) = reader.count("--moe-expert-parallel-size", "EP") {
        reader.set("ep", ranks);
    }
    if reader.flag("--moe-tp-extend-ep", "ranks of tensor parallelism hold whole experts") {
        let ranks = reader.run.ep.saturating_mul(reader.run.tp);
        reader.set("ep", ranks);
    }
}

/// Ranks that cut an expert, where a fork says so.
pub(super) fn expert_cut(reader: &mut SettingsReader) -> Option<u64> {
    if reader.last("--moe-tp-extend-ep").is_some() {
        return Some(1);
    }
    let tp = reader.run.tp;
    is_deepspeed(reader).then(|| {
        let cut = reader.flag("--enable-expert-tensor-parallelism", "tensor parallelism of experts");
        if cut { tp } else { 1 }
    })
}

/// Room of an expert over its even share in Megatron-DeepSpeed, which drops the tokens beyond it unless it is told.
pub(super) fn capacity(reader: &mut SettingsReader) -> Option<f64> {
    let experts = reader.run.model.resolve().is_ok_and(|model| model.moe.is_some());
    if !experts || !is_deepspeed(reader) || reader.flag("--disable-moe-token-dropping", "no token is dropped") {
        return None;
    }
    Some(reader.number("--moe-train-capacity-factor", "capacity factor").unwrap_or(1.0))
}

/// Exchange of context-parallel ranks by MindSpeed-LLM's name, as Megatron-LM calls it.
pub(super) fn exchange(reader: &mut SettingsReader) -> Option<&'static str> {
    let name = reader.word("--context-parallel-algo", "CP exchange")?;
    Some(match name.as_str() {
        "ulysses_cp_algo" => "a2a",
        "kvallgather_cp_algo" => "allgather",
        "hybrid_cp_algo" => "a2a+p2p",
        _ => "p2p",
    })
}

/// Takes what MindSpeed-LLM trains, and says that its GPUs are not here.
pub(super) fn read(reader: &mut SettingsReader) {
    if !OF_MINDSPEED.iter().any(|name| reader.has(name)) {
        return;
    }
    reader.assume(
        "MindSpeed-LLM trains on NPUs of Ascend, of which none is here: the run is counted on the GPU that is named",
    );
    let stage = reader.word("--stage", "stage");
    let taken = match stage.as_deref() {
        None | Some("pretrain" | "pt" | "sft") => None,
        Some("orm" | "prm") => Some(Objective::Reward),
        Some(name) => {
            let known = objective::named(name);
            if known.is_none() {
                let stage = name.to_owned();
                reader.assume(t!("training alone is counted, of the next token: {stage} has more models", stage));
            }
            known
        }
    };
    if let Some(objective) = taken {
        reader.run.objective = Based { base: Some(objective.id()), parts: ObjectiveParts::default() };
    }
    let targets = tuning::targets(reader, "--lora-target-modules");
    let rank = reader.count("--lora-r", "rank of the adapters");
    if targets.is_some() {
        LowRank { rank: rank.or(Some(16)), dora: false, base: None, targets, saved: None }.take(reader);
    }
}
