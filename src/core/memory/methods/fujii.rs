//! `fujii-4d`: the estimator of Fujii et al. 2024, equations 1 to 18.
//!
//! Llama with untied embeddings, bf16 weights, fp32 gradients, Adam with ZeRO-1 over d c, sequence parallelism,
//! FlashAttention-2, no recomputation, 1F1B. The paper evaluates the first stage; the others follow from its own
//! equations 8, 9, 12 and 14. Its "GB" are GiB and its GPU memory is the size on the box.

use crate::explain::symbols::{
    CONTEXT, DATA, FFN, HEADS, HELD_LAYERS, HIDDEN, IN_FLIGHT, KV_HEADS, PIPELINE, RANK_PARAMETERS, SEQUENCE,
    SEQUENCES, TENSOR, VOCABULARY,
};
use crate::explain::{Quantity, Term};
use crate::issue::Issue;
use crate::memory::assumptions::{LLAMA, MEGATRON, ignored};
use crate::memory::estimate::{Component, Item, RankLoad, StageMemory};
use crate::memory::explain::published;
use crate::memory::method::MemoryMethod;
use crate::memory::verdict::MemoryNeed;
use crate::run::Scenario;
use crate::source::FUJII_2024;
use crate::t;
use crate::units::Bytes;

/// Up to this share of the GPU's memory none of the paper's 454 runs ran out. Source: Fujii 2024, section 5.
const FITS: f64 = 0.8;

/// Micro-batches of pipeline rank `rank` in flight: `p - r` for 1F1B.
fn in_flight(scenario: &Scenario, rank: usize) -> f64 {
    scenario.layout.pp as f64 - rank as f64
}

/// Weights, gradients, states and activations of pipeline rank `rank`, which holds the chunks `load`.
fn items<Q: Quantity>(scenario: &Scenario, rank: usize, load: &RankLoad) -> Vec<Item<Q>> {
    let (model, layout, one) = (&scenario.model, &scenario.layout, Q::number(1.0));
    let (first, last) = (rank == 0, rank as u64 + 1 == layout.pp);
    let layers: u64 = load.stages.iter().filter_map(|stage| scenario.stage_layers.get(*stage)).sum();
    let (n, h, f) = (HELD_LAYERS.of::<Q>(layers), HIDDEN.of::<Q>(model.hidden), FFN.of::<Q>(model.ffn));
    let (k, a, v) = (KV_HEADS.of::<Q>(model.kv_heads), HEADS.of::<Q>(model.heads), VOCABULARY.of::<Q>(model.vocab));
    let (t, d, c) = (TENSOR.of::<Q>(layout.tp), DATA.of::<Q>(layout.dp), CONTEXT.of::<Q>(layout.cp));
    let only = |here: bool, part: Q| if here { part } else { Q::number(0.0) };

    // Equations 1, 2 and 8; 6, 9 and 10: the first stage holds the embedding, the last the head and the final norm.
    let layer = (one + k / a + f * 1.5 / h) / t + one / h;
    let embedding = h * v / t;
    let parameters = n * h.power(Q::number(2.0)) * layer * 2.0 + only(first, embedding) + only(last, embedding + h);
    let parameters = parameters.called(RANK_PARAMETERS).cited(&FUJII_2024, "equations 6 to 10");

    // Equations 11 and 12, bytes of a layer over `s b h`: attention `6 + 4 k/a`, FFN `2 + 8 f/h`, the inputs of two
    // norms 4.
    let kept = (Q::number(12.0) + k * 4.0 / a + f * 8.0 / h) * n * IN_FLIGHT.of::<Q>(in_flight(scenario, rank));
    let ends = only(first, PIPELINE.of::<Q>(layout.pp) * 8.0) + only(last, (one + v / h) * 4.0);
    let (s, b) = (SEQUENCE.of::<Q>(scenario.run.seq_len), SEQUENCES.of::<Q>(scenario.run.micro_batch));
    let activations = s * b * h * (kept + ends) / (t * c);

    let states = |bytes: Q| bytes.cited(&FUJII_2024, "equations 7 to 10");
    vec![
        Item::held(Component::Weights, "weights", states(parameters * 2.0)),
        Item::held(Component::Gradients, "gradients", states(parameters * 4.0)),
        Item::held(Component::Optimizer, "optimizer states", states(parameters * 12.0 / (d * c))),
        Item::held(Component::Activations, "activations", activations.cited(&FUJII_2024, "equation 17")),
    ]
}

/// The method of Fujii et al.
pub struct Fujii;

impl MemoryMethod for Fujii {
    fn rank(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> StageMemory {
        let items = items::<f64>(scenario, rank, load).into_iter().map(Item::plain);
        StageMemory::of_items(rank, in_flight(scenario, rank), items)
    }

    /// The paper's rule: up to 80 % of the memory fits, above all of it does not.
    fn need(&self, _: &Scenario, peak: Bytes) -> MemoryNeed {
        MemoryNeed { low: peak, likely: peak, high: peak / FITS }
    }

    fn capacity(&self, scenario: &Scenario) -> Bytes {
        scenario.gpu.memory
    }

    fn ignored(&self, scenario: &Scenario) -> Vec<Issue> {
        ignored(scenario, "fujii-4d", &[LLAMA, MEGATRON])
    }

    fn explain(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> Term {
        published(t!("memory of rank {rank} by Fujii 2024", rank), || items(scenario, rank, load))
            .from(&FUJII_2024, "equation 18")
            .note("an unfused SwiGLU: 8 f/h where a fused one keeps 6 f/h")
            .note("8 p: the embedding's int64 inputs as the paper counts them, h times what they are")
            .note(
                "leaves out logits of a last stage behind others, buffers, CUDA context, communicators, fragmentation",
            )
            .note("held against the size on the box, of which a process sees a little less")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;

    fn loads(ranks: usize) -> Vec<RankLoad> {
        (0..ranks)
            .map(|rank| RankLoad { stages: vec![rank], in_flight: vec![(ranks - rank) as f64], weight_versions: 1 })
            .collect()
    }

    #[test]
    fn the_explanation_ends_at_the_estimate() {
        let scenario = Scenario::new(&Run::default()).unwrap();
        let loads = loads(4);
        let estimate = Fujii.estimate(&scenario, &loads);
        for (rank, load) in loads.iter().enumerate() {
            let term = Fujii.explain(&scenario, rank, load);
            let total = estimate.per_stage[rank].total.0;
            assert!((term.value / total - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn a_run_outside_the_paper_is_told_what_is_ignored() {
        let run = Run { zero: 0, sequence_parallel: false, ..Run::default() };
        let warnings = Fujii.estimate(&Scenario::new(&run).unwrap(), &loads(4)).warnings;
        let fields: Vec<_> = warnings.iter().map(|issue| issue.field.as_str()).collect();
        assert_eq!(fields, ["sequence_parallel", "zero"]);
    }
}
