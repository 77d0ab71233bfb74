//! A forward pass that keeps nothing for a backward pass: log-probabilities of a policy, values, rewards.

use super::activations::cut;
use super::holding::{Kind, holdings};
use super::logits;
use super::sharding::{largest_layer, root_elements};
use super::states::shards;
use crate::memory::estimate::{Component, Item, RankLoad};
use crate::run::{CrossEntropy, Scenario};

/// What is there beside the weights of the rank of `load`: a layer's tensors `T (4 h + 6 f / t)`, the gathered layers of a
/// sharded model, and where `scores` words the logits.
#[must_use]
pub(crate) fn items(scenario: &Scenario, load: &RankLoad, scores: bool) -> Vec<Item> {
    let (model, cut) = (&scenario.model, cut(scenario));
    let held = |name, bytes| Item::held(Component::Buffers, name, bytes);
    let width = 2.0 * model.hidden as f64 + 3.0 * model.ffn as f64 / cut.tp;
    let mut items = vec![held("a layer's forward pass", cut.element * cut.tokens * width)];
    if scenario.zero.stage == 3 && shards(scenario, Kind::Dense) > 1.0 {
        let units = 2.0 * scenario.gathered_weight() * largest_layer(scenario, load);
        let root = scenario.precision.gathered_weight() * root_elements(&holdings(scenario, load));
        items.push(held("gathered layers", units));
        items.push(held("gathered embedding and head", root));
    }
    let last = scenario.stage_layers.len().saturating_sub(1);
    if scores && load.stages.contains(&last) {
        let bytes = logit_bytes(scenario.software.cross_entropy);
        items.push(held("logits", bytes * logits::logits(scenario)));
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
    }
}
