//! A forward pass that keeps nothing for a backward pass: log-probabilities of a policy, values, rewards.

use super::activations::cut;
use super::holding::{ShardGroup, holdings};
use super::logits;
use super::sharding::{gathered_root, largest_layer};
use super::states::shards;
use crate::explain::Quantity;
use crate::explain::symbols::{FFN, GATHERED, HIDDEN, LARGEST_LAYER, LOGIT_HELD};
use crate::memory::estimate::{Item, RankLoad};
use crate::run::{CrossEntropy, Scenario};

/// Tensors beside the weights of the rank of `load`: a layer's tensors `T (4 h + 6 f / t)`, the gathered layers of a
/// sharded model, and where `scores` words the logits.
pub(crate) fn items<Q: Quantity>(scenario: &Scenario, load: &RankLoad, scores: bool) -> Vec<Item<Q>> {
    let (model, cut) = (&scenario.model, cut::<Q>(scenario));
    let width = HIDDEN.of::<Q>(model.hidden) * 2.0 + FFN.of::<Q>(model.ffn) / cut.tp * 3.0;
    let mut items = vec![Item::buffer("a layer's forward pass", cut.tokens * width * cut.element)];
    if scenario.zero.stage == 3 && shards(scenario, ShardGroup::Dense) > 1.0 {
        let unit = LARGEST_LAYER.of::<Q>(largest_layer(scenario, load));
        items.push(Item::buffer("gathered layers", GATHERED.of::<Q>(scenario.gathered_weight()) * unit * 2.0));
        items.push(Item::buffer("gathered embedding and head", gathered_root(scenario, &holdings(scenario, load))));
    }
    let last = scenario.stage_layers.len().saturating_sub(1);
    if scores && load.stages.contains(&last) {
        let bytes = LOGIT_HELD.of::<Q>(logit_bytes(scenario.software.cross_entropy));
        items.push(Item::buffer("logits", bytes * logits::logits::<Q>(scenario)));
    }
    items
}

/// Bytes a logit where its log-probability alone is wanted: bf16 and the fp32 log-softmax, or one kernel over the bf16.
/// Source: verl `utils/torch_functional.py` (`logprobs_from_logits`), TRL `trainer/utils.py` (`selective_log_softmax`).
fn logit_bytes(kernel: CrossEntropy) -> f64 {
    match kernel {
        CrossEntropy::Megatron | CrossEntropy::MegatronFused => 6.0,
        CrossEntropy::TeFused | CrossEntropy::Compiled => 2.0,
        CrossEntropy::Chunked => 6.0 / logits::CHUNKS,
        CrossEntropy::FusedLinear => 0.0,
        // The bf16 logits, and as many log-probabilities where one sequence is all of the batch.
        CrossEntropy::Selective => 4.0,
    }
}
