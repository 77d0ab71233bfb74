//! `he-blog`: Pengfei He, memory of LLM training and its parallel variants.
//!
//! Quantities of the whole model, then divided: every rank gets the same. Multi-head attention, an FFN of 4 h with
//! dropout masks, scores materialised unless FlashAttention says otherwise. Its GB are 10⁹ bytes.

use crate::explain::{Term, Unit};
use crate::issue::Issue;
use crate::memory::assumptions::{HE, MULTI_HEAD_GPT, TENSORS_ONLY, ignored};
use crate::memory::estimate::{Component, Item, RankLoad, StageMemory};
use crate::memory::method::MemoryMethod;
use crate::run::{Recompute, Scenario};
use crate::source::HE_BLOG;
use crate::t;
use crate::units::Bytes;

/// Divisor of activations by checkpointing the pre-norm input of the MLP. Source: He blog, activation checkpointing.
const CHECKPOINTING: f64 = 9.0;

/// The blog's symbols.
#[derive(Clone, Copy, Debug)]
struct Symbols {
    theta: f64,
    layers: f64,
    h: f64,
    a: f64,
    s: f64,
    /// Sequences of one data-parallel rank in a step.
    b: f64,
    /// Bytes of an activation.
    k: f64,
    /// True if s² scores are stored.
    scores: bool,
    tp: f64,
    pp: f64,
    cp: f64,
    /// Ranks that cut what tensor parallelism leaves whole.
    sp: f64,
    dp: f64,
    mb: f64,
    zero: u64,
    /// Divisor of activation checkpointing.
    ac: f64,
}

impl Symbols {
    fn of(scenario: &Scenario) -> Self {
        let (model, run, layout) = (&scenario.model, &scenario.run, &scenario.layout);
        let tp = layout.tp as f64;
        let mb = layout.microbatches as f64;
        Self {
            theta: model.elements().total() as f64,
            layers: model.layers as f64,
            h: model.hidden as f64,
            a: model.heads as f64,
            s: run.seq_len as f64,
            b: run.micro_batch as f64 * mb,
            k: scenario.precision.computes.activation(),
            scores: !run.runs_flash_attention(),
            tp,
            pp: layout.pp as f64,
            cp: layout.cp as f64,
            sp: if layout.sequence_parallel { tp } else { 1.0 },
            dp: layout.dp as f64,
            mb,
            zero: scenario.zero.stage,
            ac: if run.recompute == Recompute::Full { CHECKPOINTING } else { 1.0 },
        }
    }

    /// Activations inside tensor parallelism, one layer: `14 k b s h + 2 k b a s² + b a s²`.
    fn inside(self) -> f64 {
        let scores = if self.scores { (2.0 * self.k + 1.0) * self.b * self.a * self.s * self.s } else { 0.0 };
        14.0 * self.k * self.b * self.s * self.h + scores
    }

    /// Norm inputs and dropout masks, one layer: `2 k b s h + 2 b s h`.
    fn outside(self) -> f64 {
        (2.0 * self.k + 2.0) * self.b * self.s * self.h
    }

    /// `M_a = L (16 k b s h + 2 b s h + 2 k b a s² + b a s²)`.
    fn activations(self) -> f64 {
        self.layers * (self.inside() + self.outside())
    }

    /// `M_a1/(TP PP MB CP) + M_a2/(PP MB CP SP)`, over AC with checkpointing.
    fn activations_per_gpu(self) -> f64 {
        let both = self.inside() / self.tp + self.outside() / self.sp;
        self.layers * both / (self.pp * self.mb * self.cp * self.ac)
    }

    /// `M/(TP PP)`, over DP too from ZeRO stage `from` on.
    fn states_per_gpu(self, whole: f64, from: u64) -> f64 {
        let shards = if self.zero >= from { self.dp } else { 1.0 };
        whole / (self.tp * self.pp * shards)
    }
}

/// Whole-model states: `M_m = k θ`, `M_g = k θ` (4 θ where gradients accumulate in fp32), `M_o = 2 k θ`, or 3 · 4 θ with
/// a master copy; k as the Run's precision has it.
fn whole(scenario: &Scenario, theta: f64) -> [f64; 3] {
    let bytes = scenario.precision;
    [bytes.weights * theta, bytes.gradients() * theta, bytes.optimizer(scenario.run.optimizer) * theta]
}

/// The method of the blog.
pub struct He;

impl MemoryMethod for He {
    /// The same on every rank.
    fn rank(&self, scenario: &Scenario, rank: usize, _: &RankLoad) -> StageMemory {
        let x = Symbols::of(scenario);
        let [weights, gradients, optimizer] = whole(scenario, x.theta);
        let items = vec![
            Item::held(Component::Weights, "M_m", Bytes(x.states_per_gpu(weights, 3))),
            Item::held(Component::Gradients, "M_g", Bytes(x.states_per_gpu(gradients, 2))),
            Item::held(Component::Optimizer, "M_o", Bytes(x.states_per_gpu(optimizer, 1))),
            Item::held(Component::Activations, "M_a", Bytes(x.activations_per_gpu())),
        ];
        StageMemory::of_items(rank, 1.0, items)
    }

    fn ignored(&self, scenario: &Scenario) -> Vec<Issue> {
        ignored(scenario, "he-blog", &[MULTI_HEAD_GPT, HE, TENSORS_ONLY])
    }

    fn explain(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> Term {
        explain(scenario, &self.rank(scenario, rank, load))
    }
}

/// Derivation of the figure of every rank.
fn explain(scenario: &Scenario, memory: &StageMemory) -> Term {
    let (x, precision) = (Symbols::of(scenario), scenario.precision);
    let count = |symbol, name: &'static str, value: f64| Term::given(symbol, name, value, Unit::Count);
    let bytes = |symbol, name: &'static str, value: f64| Term::given(symbol, name, value, Unit::Bytes);
    let book = [
        count("L", "layers", x.layers),
        count("b", "sequences of a data-parallel rank", x.b),
        Term::given("s", "tokens per sequence", x.s, Unit::Tokens),
        count("h", "hidden size", x.h),
        count("a", "heads", x.a),
        bytes("k", "bytes an activation", x.k),
        count("MB", "micro-batches", x.mb),
        count("TP", "tensor parallel", x.tp),
        count("PP", "pipeline parallel", x.pp),
        count("CP", "context parallel", x.cp),
        count("SP", "ranks that cut norms and dropout", x.sp),
        count("AC", "what checkpointing divides by", x.ac),
        count("DP", "data parallel", x.dp),
        Term::given("θ", "parameters of the model", x.theta, Unit::Parameters),
        bytes("w", "bytes per weight", precision.weights),
        bytes("g", "bytes per gradient", precision.gradients()),
        bytes("o", "bytes of states per parameter", precision.optimizer(scenario.run.optimizer)),
    ];
    let inside = if x.scores { "14 k b s h + 2 k b a s² + b a s²" } else { "14 k b s h" };
    let activations = format!("L (({inside})/TP + (2 k b s h + 2 b s h)/SP)/(PP MB CP AC)");
    let states = |symbol, name, value: Bytes, each: &str, from| {
        let shared = if x.zero >= from { " DP" } else { "" };
        bytes(symbol, name, value.0).over(format!("{each} θ/(TP PP{shared})"), &book)
    };
    let parts = vec![
        states("M_m", "weights", memory.weights, "w", 3),
        states("M_g", "gradients", memory.gradients, "g", 2),
        states("M_o", "optimizer", memory.optimizer, "o", 1),
        bytes("A", "activations", memory.activations.0)
            .over(activations, &book)
            .note(t!("of the whole model: {bytes} B", bytes = format!("{:.3e}", x.activations())))
            .note("for Llama 3 405B at 131072 tokens the blog prints 147 366 233 505 792 B: that has s where its own formula has s²"),
    ];
    bytes("T", "memory of any rank by He's blog", memory.total.0)
        .by("M_m + M_g + M_o + A", parts)
        .from(&HE_BLOG, "parallel variants")
        .note("leaves out stages, micro-batches in flight, logits, buffers, context, fragmentation")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Llama 3 405B with a long context: θ 405e9, L 126, h 16384, a 128, s 131072, TP 8, CP 16, PP 16, DP 8, b 16.
    fn llama_405b(scores: bool) -> Symbols {
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
