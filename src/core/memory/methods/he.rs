//! `he-blog`: Pengfei He, memory of LLM training and its parallel variants.
//!
//! Quantities of the whole model, then divided: every rank gets the same. Multi-head attention, an FFN of 4 h with
//! dropout masks, scores materialised unless FlashAttention says otherwise. Its GB are 10⁹ bytes.

use crate::explain::symbols::{
    ACTIVATION, ALL_PARAMETERS, CHECKPOINTING, CONTEXT, DATA, DROPOUT_RANKS, HEADS, HIDDEN, LAYERS, MICROBATCHES,
    PIPELINE, PLAIN_GRADIENT, SEQUENCE, STATES, STEP_SEQUENCES, TENSOR, WEIGHT,
};
use crate::explain::{Quantity, Term};
use crate::issue::Issue;
use crate::memory::assumptions::{HE, MULTI_HEAD_GPT, TENSORS_ONLY, ignored};
use crate::memory::estimate::{Component, Item, RankLoad, StageMemory};
use crate::memory::explain::published;
use crate::memory::method::MemoryMethod;
use crate::run::{Recompute, Scenario};
use crate::source::HE_BLOG;
use crate::t;

/// Divisor of activations by checkpointing the pre-norm input of the MLP. Source: He blog, activation checkpointing.
pub const CHECKPOINTED: f64 = 9.0;

/// The blog's symbols.
#[derive(Clone, Copy, Debug)]
struct Symbols<Q> {
    theta: Q,
    layers: Q,
    h: Q,
    a: Q,
    s: Q,
    /// Sequences of one data-parallel rank in a step.
    b: Q,
    /// Bytes of an activation.
    k: Q,
    /// True if s² scores are stored.
    scores: bool,
    tp: Q,
    pp: Q,
    cp: Q,
    /// Ranks that cut what tensor parallelism leaves whole.
    sp: Q,
    dp: Q,
    mb: Q,
    zero: u64,
    /// Divisor of activation checkpointing.
    ac: Q,
}

impl<Q: Quantity> Symbols<Q> {
    fn of(scenario: &Scenario) -> Self {
        let (model, run, layout) = (&scenario.model, &scenario.run, &scenario.layout);
        Self {
            theta: ALL_PARAMETERS.of(model.elements().total()),
            layers: LAYERS.signed("L").of(model.layers),
            h: HIDDEN.of(model.hidden),
            a: HEADS.of(model.heads),
            s: SEQUENCE.of(run.seq_len),
            b: STEP_SEQUENCES.of(run.micro_batch as f64 * layout.microbatches as f64),
            k: ACTIVATION.of(scenario.precision.computes.activation()),
            scores: !run.runs_flash_attention(),
            tp: TENSOR.signed("TP").of(layout.tp),
            pp: PIPELINE.signed("PP").of(layout.pp),
            cp: CONTEXT.signed("CP").of(layout.cp),
            sp: DROPOUT_RANKS.of(if layout.sequence_parallel { layout.tp } else { 1 }),
            dp: DATA.signed("DP").of(layout.dp),
            mb: MICROBATCHES.signed("MB").of(layout.microbatches),
            zero: scenario.zero.stage,
            ac: CHECKPOINTING.of(if run.recompute == Recompute::Full { CHECKPOINTED } else { 1.0 }),
        }
    }

    /// Activations inside tensor parallelism, one layer.
    fn inside(self) -> Q {
        let Self { k, b, s, h, a, .. } = self;
        let linears = k * b * s * h * 14.0;
        let square = s.power(Q::number(2.0));
        if self.scores { linears + k * b * a * square * 2.0 + b * a * square } else { linears }
    }

    /// Norm inputs and dropout masks, one layer.
    fn outside(self) -> Q {
        let Self { k, b, s, h, .. } = self;
        k * b * s * h * 2.0 + b * s * h * 2.0
    }

    /// Activations of the whole model.
    fn activations(self) -> Q {
        self.layers * (self.inside() + self.outside())
    }

    fn activations_per_gpu(self) -> Q {
        let both = self.inside() / self.tp + self.outside() / self.sp;
        self.layers * both / (self.pp * self.mb * self.cp * self.ac)
    }

    /// States of the `whole` model over the ranks of a replica, over DP too from ZeRO stage `from` on.
    fn states_per_gpu(self, whole: Q, from: u64) -> Q {
        let ranks = self.tp * self.pp;
        whole / if self.zero >= from { ranks * self.dp } else { ranks }
    }
}

/// Memory of a rank, equal on all of them: states `k θ` and `k θ` (4 θ where gradients accumulate in fp32), `2 k
/// θ`, or 3 · 4 θ with a master copy; k as the Run's precision has it.
fn items<Q: Quantity>(scenario: &Scenario) -> Vec<Item<Q>> {
    let (x, bytes) = (Symbols::<Q>::of(scenario), scenario.precision);
    let state = |each: Q, from| x.states_per_gpu(each * x.theta, from);
    vec![
        Item::held(Component::Weights, "M_m", state(WEIGHT.of(bytes.weights), 3)),
        Item::held(Component::Gradients, "M_g", state(PLAIN_GRADIENT.of(bytes.gradients()), 2)),
        Item::held(Component::Optimizer, "M_o", state(STATES.of(bytes.optimizer(scenario.run.optimizer)), 1)),
        Item::held(Component::Activations, "M_a", x.activations_per_gpu()),
    ]
}

/// The method of the blog.
pub struct He;

impl MemoryMethod for He {
    fn rank(&self, scenario: &Scenario, rank: usize, _: &RankLoad) -> StageMemory {
        StageMemory::of_items(rank, 1.0, items::<f64>(scenario).into_iter().map(Item::plain))
    }

    fn ignored(&self, scenario: &Scenario) -> Vec<Issue> {
        ignored(scenario, "he-blog", &[MULTI_HEAD_GPT, HE, TENSORS_ONLY])
    }

    fn explain(&self, scenario: &Scenario, _: usize, _: &RankLoad) -> Term {
        let whole = Symbols::<f64>::of(scenario).activations();
        published("memory of any rank by He's blog".into(), || items(scenario))
            .from(&HE_BLOG, "parallel variants")
            .note(t!("activations of the whole model: {bytes} B", bytes = format!("{whole:.3e}")))
            .note(
                "for Llama 3 405B at 131072 tokens the blog prints 147 366 233 505 792 B: that has s where its own \
                formula has s²",
            )
            .note("leaves out stages, micro-batches in flight, logits, buffers, context, fragmentation")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Llama 3 405B with a long context: θ 405e9, L 126, h 16384, a 128, s 131072, TP 8, CP 16, PP 16, DP 8, b 16.
    fn llama_405b(scores: bool) -> Symbols<f64> {
        Symbols {
            theta: 405e9,
            layers: 126.0,
            h: 16384.0,
            a: 128.0,
            s: 131_072.0,
            b: 16.0,
            k: 2.0,
            scores,
            tp: 8.0,
            pp: 16.0,
            cp: 16.0,
            sp: 8.0,
            dp: 8.0,
            mb: 1.0,
            zero: 2,
            ac: 1.0,
        }
    }

    fn near(ours: f64, printed: f64, digit: f64) {
        assert!((ours - printed).abs() <= digit / 2.0, "{ours} {printed}");
    }

    #[test]
    fn states_of_llama_405b_are_the_blogs() {
        let x = llama_405b(false);
        let (kl, kh) = (2.0, 4.0);
        let [m, g, o] = [kl * x.theta, kh * x.theta, 3.0 * kh * x.theta];
        near(o / 1e9, 4860.0, 1.0);
        near(g / 1e9, 1620.0, 1.0);
        near(m / 1e9, 810.0, 1.0);
        let sharded = x.states_per_gpu(o, 1) + x.states_per_gpu(g, 2);
        near(sharded / 1e9, 6.33, 0.01);
        near(x.states_per_gpu(m, 3) / 1e9, 6.33, 0.01);
    }

    #[test]
    fn activations_of_llama_405b_as_written_with_flash_attention_and_as_printed() {
        let (written, flash) = (llama_405b(true), llama_405b(false));
        near(written.activations(), 22_313_351_535_132_672.0, 8.0);
        near(flash.activations(), 147_197_119_168_512.0, 0.1);
        // The blog's number has one s in its score terms: (2 k + 1) b a s.
        let slipped = 5.0 * flash.b * flash.a * flash.s * flash.layers;
        near(flash.activations() + slipped, 147_366_233_505_792.0, 0.1);
        near(flash.activations_per_gpu() / 1e9, 71.87, 0.01);
        near(written.activations_per_gpu() / 1e9, 10895.0, 1.0);
        near((flash.activations() + slipped) / 2048.0 / 1e9, 71.96, 0.01);
    }
}
