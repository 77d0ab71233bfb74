//! Published ways to count the FLOPs of a token: what "MFU" and "TFLOP/s" mean in each program's log.
//!
//! All leave out recomputation and the input embedding's look-up. They differ in how they count a causal mask, whether
//! the embedding's parameters count, and in what they know of experts.

use super::architecture::Architecture;
use super::flops::{AttentionCount, layer_forward_flops, pair_flops, trained_by_layer};
use super::pattern::Mixer;
use crate::field::one_of;
use crate::source::{MEGATRON, NANOTRON, PALM, Source, TORCHTITAN};
use serde::{Deserialize, Serialize};

one_of! {
    /// Program or paper that counts.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    CountedBy {
        /// `num_floating_point_operations`.
        Megatron = "megatron" "Megatron-LM",
        /// `get_nparams_and_flops`.
        Torchtitan = "torchtitan" "torchtitan",
        /// `get_flops`.
        Nanotron = "nanotron" "nanotron",
        /// Appendix B.
        Palm = "palm" "PaLM paper",
    }
}

impl CountedBy {
    pub fn convention(self) -> &'static Convention {
        &CONVENTIONS[self as usize]
    }
}

/// A way to count.
#[derive(Clone, Copy, Debug)]
pub struct Convention {
    pub by: CountedBy,
    /// Difference from the others.
    pub remark: &'static str,
    /// The program or paper.
    pub source: &'static Source,
    pub place: &'static str,
    knows: fn(&Architecture) -> bool,
    count: fn(&Architecture, u64) -> f64,
}

impl Convention {
    /// FLOPs of one token of a sequence of `seq`, forward and backward; none where the convention has no such model.
    pub fn flops_per_token(&self, model: &Architecture, seq: u64) -> Option<f64> {
        (self.knows)(model).then(|| (self.count)(model, seq))
    }
}

/// The model as nanotron takes it: gated FFNs and heads of `h/a` only.
pub(crate) fn as_nanotron(model: &Architecture) -> Architecture {
    Architecture { head_dim: model.hidden / model.heads, gated_ffn: true, mtp_modules: 0, ..*model }
}

/// All of them, in the order of [`CountedBy`].
pub static CONVENTIONS: [Convention; 4] = [
    Convention {
        by: CountedBy::Megatron,
        remark: "half of causal attention (until 2024 all of it), no router; it prints TFLOP/s and leaves the peak to \
            the reader; its vocabulary is the padded one",
        source: &MEGATRON,
        place: "training.py, num_floating_point_operations",
        knows: |_| true,
        count: megatron,
    },
    Convention {
        by: CountedBy::Torchtitan,
        remark: "causal attention counted whole, parameters without the input embedding; it divides by the bf16 peak \
            and prints no MFU for quantised training",
        source: &TORCHTITAN,
        place: "models/utils.py, get_nparams_and_flops",
        knows: |_| true,
        count: torchtitan,
    },
    Convention {
        by: CountedBy::Nanotron,
        remark: "causal attention counted whole, every FFN as a gated one, no embedding; the playbook divides by the \
            bf16 peak",
        source: &NANOTRON,
        place: "models/llama.py, get_flops",
        knows: |model| model.moe.is_none() && model.mla.is_none() && model.pattern.is_uniform(),
        count: nanotron,
    },
    Convention {
        by: CountedBy::Palm,
        remark: "causal attention counted whole, all parameters, the input embedding among them (PaLM's is its head; \
            nanoGPT and llm-foundry count likewise)",
        source: &PALM,
        place: "appendix B",
        knows: |_| true,
        count: palm,
    },
];

/// Parameters that a token visits in the language model, and those of them in its embeddings that are no head.
pub(crate) fn visited(model: &Architecture) -> (u64, u64) {
    let active = model.elements().active() - model.vision_tower().total();
    let head = if model.tied_embeddings { model.head().total() } else { 0 };
    (active, model.embedding().total() - head)
}

/// `3 (Σ layers + 2 h v)` with half of causal attention, windows or not, and multi-token prediction; the router is not
/// counted.
fn megatron(model: &Architecture, seq: u64) -> f64 {
    megatron_with(model, seq, AttentionCount::Causal)
}

fn megatron_with(model: &Architecture, seq: u64, attention: AttentionCount) -> f64 {
    let model = &Architecture { window: seq, chunk: seq, ..*model };
    trained_by_layer(model, |kind| layer_forward_flops(model, kind, seq, attention, false))
}

/// FLOPs of a token as Megatron-LM counted until 2024, over those as it counts now: all of causal attention, over half
/// of it.
pub(crate) fn earlier_megatron(model: &Architecture, seq: u64) -> f64 {
    megatron_with(model, seq, AttentionCount::Full) / megatron(model, seq)
}

/// `6 n + 12 L a d s`, n: parameters without the embedding.
fn torchtitan(model: &Architecture, seq: u64) -> f64 {
    let (all, embedding) = visited(model);
    6.0 * (all - embedding) as f64 + whole_attention(model, seq)
}

/// `3 (L (2 h d (a + 2 k) + 2 a d h + 4 a d s + 6 h f) + 2 h v)` with d = h/a; it knows neither experts nor latent
/// attention.
fn nanotron(model: &Architecture, seq: u64) -> f64 {
    let gated = as_nanotron(model);
    trained_by_layer(&gated, |kind| layer_forward_flops(&gated, kind, seq, AttentionCount::Full, true))
}

/// `6 N + 12 L H Q T`, N: all parameters.
fn palm(model: &Architecture, seq: u64) -> f64 {
    6.0 * visited(model).0 as f64 + whole_attention(model, seq)
}

/// `12 L a d s`: the square, not its causal half, of every layer that has attention.
fn whole_attention(model: &Architecture, seq: u64) -> f64 {
    let kinds = model.all_kinds();
    let pairs = kinds.iter().map(|(kind, count)| {
        let mixer = match kind.mixer {
            Mixer::Sparse => Mixer::Latent,
            other => other,
        };
        *count as f64 * pair_flops(model, mixer)
    });
    3.0 * pairs.sum::<f64>() * AttentionCount::Full.effective(seq)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(by: CountedBy, model: &Architecture, seq: u64) -> f64 {
        assert_eq!(by.convention().by, by);
        by.convention().flops_per_token(model, seq).unwrap()
    }

    /// Chowdhery et al. 2022, appendix B: 6144 TPU v4 (275 TFLOP/s) at 238.3 thousand tokens a second are 46.2 % with
    /// self-attention, 45.7 % without. PaLM 540B, table 1: 118 layers, 48 heads of 256 (one for keys and values), 18432
    /// wide, FFN four times as wide and gated, 256 k words, tied.
    #[test]
    fn palm_540b_is_at_46_percent() {
        let palm = Architecture {
            head_dim: 256,
            tied_embeddings: true,
            ..Architecture::llama(118, 18432, 4 * 18432, 48, 1, 256_000)
        };
        let share = |flops: f64| flops * 238.3e3 / (6144.0 * 275e12);
        assert_eq!(format!("{:.3}", share(count(CountedBy::Palm, &palm, 2048))), "0.462");
        let alone = 6.0 * visited(&palm).0 as f64;
        assert_eq!(format!("{:.3}", share(alone)), "0.457");
    }

    /// torchtitan's own log of Llama 3.1 8B at 8192 (pull request 1287): tps 5,856, tflops 339.16, mfu 34.29 % of 989.
    #[test]
    fn torchtitan_prints_its_own_count() {
        let llama = Architecture::llama(32, 4096, 14336, 32, 8, 128_256);
        let rate = count(CountedBy::Torchtitan, &llama, 8192) * 5856.0;
        assert!((rate / 1e12 - 339.16).abs() < 0.05, "{rate}");
        assert!((rate / 989e12 - 0.3429).abs() < 5e-5);
    }

    /// Narayanan 2021, section 5.1, without recomputation and with half of the square:
    /// `72 L h² (1 + s/(12 h) + v/(12 L h))` a token.
    #[test]
    fn megatron_halves_the_attention_of_its_own_paper() {
        let model = Architecture::gpt(96, 12288, 96, 51200, 0);
        let (l, h, s, v) = (96.0, 12288.0, 2048.0, 51200.0);
        let paper = 72.0 * l * h * h * (1.0 + s / (12.0 * h) + v / (12.0 * l * h));
        assert!((count(CountedBy::Megatron, &model, 2048) / paper - 1.0).abs() < 1e-12);
    }

    /// torchtitan counts matrices by their parameters, nanotron by their products: norms are all that differs.
    #[test]
    fn torchtitan_and_nanotron_differ_by_the_norms() {
        let llama = Architecture::llama(32, 4096, 14336, 32, 8, 128_256);
        let norms = 6.0 * (2.0 * 32.0 + 1.0) * 4096.0;
        let gap = count(CountedBy::Torchtitan, &llama, 8192) - count(CountedBy::Nanotron, &llama, 8192);
        assert!((gap - norms).abs() < 1.0, "{gap} {norms}");
        // PaLM's count adds the input embedding.
        let embedding = 6.0 * 128_256.0 * 4096.0;
        let gap = count(CountedBy::Palm, &llama, 8192) - count(CountedBy::Torchtitan, &llama, 8192);
        assert!((gap - embedding).abs() < 1.0);
    }
}
