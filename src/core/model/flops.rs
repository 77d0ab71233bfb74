//! FLOPs of a model, a multiply-add counted as two.
//!
//! Per token and layer, forward (Source: Narayanan 2021, section 5.1, and Megatron-LM's `num_floating_point_operations`,
//! which agree on the terms): projections `2 h d (a + 2 k) + 2 a d h`, attention core
//! `4 a d s_eff`, FFN `6 h f` gated or `4 h f`, once the head `2 h v`. Backward is twice forward.

use super::architecture::{Architecture, Mla};
use super::kinds::Kinds;
use super::mixers::{CONVOLUTION, Compressed};
use super::pattern::{Ffn, LayerKind, Mixer};
use crate::field::one_of;

one_of! {
    /// How attention over a causal mask is counted.
    AttentionCount {
        /// Half the square: `s_eff` = s / 2 (current Megatron).
        Causal = "causal" "causal (half)",
        /// The full square: `s_eff` = s (papers up to 2023).
        Full = "full" "full square",
    }
}

impl AttentionCount {
    /// Keys that a query meets on average in a sequence of `seq` tokens.
    #[must_use]
    pub(crate) fn effective(self, seq: u64) -> f64 {
        match self {
            Self::Causal => seq as f64 / 2.0,
            Self::Full => seq as f64,
        }
    }

    /// The same where a query meets the last `window` keys at most, its own included: `W - W (W - 1)/(2 s)`. Source:
    /// Megatron-Bridge `flop_utils.py`.
    #[must_use]
    pub(crate) fn windowed(self, seq: u64, window: u64) -> f64 {
        let (s, w) = (seq as f64, window as f64);
        match self {
            _ if window >= seq => self.effective(seq),
            Self::Causal => w - w * (w - 1.0) / (2.0 * s),
            Self::Full => w,
        }
    }

    /// The same where it meets those of its chunk of `chunk` tokens only: `(q C^2 + r^2)/(2 s)` with q whole chunks and
    /// r tokens over.
    #[must_use]
    pub fn chunked(self, seq: u64, chunk: u64) -> f64 {
        if chunk >= seq || chunk == 0 {
            return self.effective(seq);
        }
        let (whole, rest) = (seq / chunk, seq % chunk);
        let squares = whole as f64 * self.effective(chunk) * chunk as f64 + self.effective(rest) * rest as f64;
        squares / seq as f64
    }
}

/// Keys that a query of a layer with `mixer` meets on average; 0 without attention.
#[must_use]
pub(crate) fn mean_keys(model: &Architecture, mixer: Mixer, seq: u64, count: AttentionCount) -> f64 {
    let selected = model.indexer.map_or(seq, |indexer| indexer.top_k);
    match mixer {
        Mixer::Full | Mixer::Second | Mixer::Latent => count.effective(seq),
        Mixer::Window => count.windowed(seq, model.window),
        Mixer::Chunked => count.chunked(seq, model.chunk),
        Mixer::Sparse => count.windowed(seq, selected),
        Mixer::Compressed(ratio) => {
            let pooled = seq.checked_div(u64::from(ratio)).unwrap_or(0);
            let pooled = match ratio {
                Compressed::INDEXED => count.windowed(pooled, selected),
                _ => count.effective(pooled),
            };
            count.windowed(seq, model.window) + pooled
        }
        Mixer::None | Mixer::DeltaNet | Mixer::Kda | Mixer::Mamba => 0.0,
    }
}

/// Forward FLOPs of a layer of `kind` for one token of a sequence of `seq`.
#[must_use]
pub(crate) fn layer_forward_flops(model: &Architecture, kind: LayerKind, seq: u64, count: AttentionCount) -> f64 {
    projection_flops(model, kind.mixer)
        + core_flops(model, kind.mixer, seq, count)
        + ffn_flops(model, kind.ffn)
        + router_flops(model, kind.ffn)
}

/// Projections of a mixer, forward, for one token: two FLOPs for each element of its matrices, convolutions among them.
#[must_use]
pub(crate) fn projection_flops(model: &Architecture, mixer: Mixer) -> f64 {
    let (h, a) = (model.hidden as f64, model.heads as f64);
    let gate = |width: u64| {
        if model.output_gate { 2.0 * h * width as f64 } else { 0.0 }
    };
    match mixer {
        Mixer::None => None,
        Mixer::Full | Mixer::Window | Mixer::Second | Mixer::Chunked => model.attention_heads(mixer).map(|heads| {
            let widths = heads.queries() + heads.projected_kv() + heads.output();
            2.0 * h * widths as f64 + gate(heads.output())
        }),
        Mixer::Latent => model.mla.map(|mla| latent_flops(model, mla) + gate(model.heads * mla.v_head_dim)),
        Mixer::Sparse => model.mla.map(|mla| {
            let indexer = model.indexer.map_or(0.0, |own| {
                let (n, d) = (own.heads as f64, own.head_dim as f64);
                2.0 * (mla.q_lora_rank as f64 * n * d + h * d + h * n)
            });
            latent_flops(model, mla) + gate(model.heads * mla.v_head_dim) + indexer
        }),
        Mixer::DeltaNet => model.delta_net.map(|own| {
            let (k, v, n) = (own.keys(), own.values(), own.value_heads);
            let convolution = 2 * CONVOLUTION * (2 * k + v);
            2.0 * h * (2 * k + 3 * v + 2 * n) as f64 + convolution as f64
        }),
        Mixer::Kda => model.kda.map(|own| {
            let (inner, d, n) = (own.inner(), own.head_dim, own.heads);
            let gate = match own.gate_rank {
                0 => h * inner as f64,
                rank => (h + inner as f64) * rank as f64,
            };
            let decay = (h + inner as f64) * d as f64;
            2.0 * (h * (4 * inner + n) as f64 + decay + gate) + (2 * 3 * CONVOLUTION * inner) as f64
        }),
        Mixer::Mamba => model.mamba.map(|own| {
            let convolution = 2 * CONVOLUTION * own.convolved();
            2.0 * h * (own.projected() + own.inner()) as f64 + convolution as f64
        }),
        Mixer::Compressed(ratio) => model.compressed.map(|own| {
            let (q, o, groups) = (own.q_lora_rank as f64, own.o_lora_rank as f64, own.o_groups as f64);
            let e = model.head_dim as f64;
            let pool = |head: u64| 2.0 * h * Compressed::pooled(ratio, head) as f64;
            let pooled = if ratio > 0 { pool(model.head_dim) } else { 0.0 };
            let indexer = model.indexer.filter(|_| ratio == Compressed::INDEXED);
            let selects = indexer.map_or(0.0, |own| {
                let n = own.heads as f64;
                pool(own.head_dim) + q * n * own.head_dim as f64 + h * n
            });
            2.0 * (h * q + q * a * e + h * e + a * e * o + groups * o * h + pooled + selects)
        }),
    }
    .unwrap_or(0.0)
}

/// Latent attention's: down and up for queries, down and up for keys and values, out.
fn latent_flops(model: &Architecture, mla: Mla) -> f64 {
    let (h, a) = (model.hidden as f64, model.heads as f64);
    let (rq, rkv) = (mla.q_lora_rank as f64, mla.kv_lora_rank as f64);
    let (nope, rope, dv) = (mla.qk_nope_head_dim as f64, mla.qk_rope_head_dim as f64, mla.v_head_dim as f64);
    let qk = nope + rope;
    let query = if rq == 0.0 { h * a * qk } else { h * rq + rq * a * qk };
    let key_value = h * (rkv + rope) + rkv * a * (nope + dv);
    2.0 * (query + key_value + a * dv * h)
}

/// Core of attention, forward, for one token and key: scores and their product with the values, `2 a (e + e_v)`. Sparse
/// attention works on the latent itself, `2 a (2 r_kv + d_r)`. Source: Megatron-LM `absorbed_mla.py`.
#[must_use]
pub(crate) fn pair_flops(model: &Architecture, mixer: Mixer) -> f64 {
    let widths = match (mixer, model.mla) {
        (Mixer::Sparse, Some(mla)) => 2 * mla.kv_lora_rank + mla.qk_rope_head_dim,
        _ => model.attention_heads(mixer).map_or(0, |heads| heads.qk + heads.value),
    };
    2.0 * (model.heads * widths) as f64
}

/// Core of a mixer, forward, for one token: attention over the keys it meets, an indexer's scores over all that it may
/// select from, a state-space model's or linear attention's recurrence as Megatron-LM counts it, `7 d N` and `8 d d n`.
fn core_flops(model: &Architecture, mixer: Mixer, seq: u64, count: AttentionCount) -> f64 {
    let attention = pair_flops(model, mixer) * mean_keys(model, mixer, seq, count);
    let scores = |from: u64| {
        let heads = model.indexer.map_or(0, |own| own.heads * own.head_dim);
        2.0 * heads as f64 * count.effective(from)
    };
    let recurrence = |heads: u64, width: u64| (8 * heads * width * width) as f64;
    attention
        + match mixer {
            Mixer::Sparse => scores(seq),
            Mixer::Compressed(ratio) if ratio == Compressed::INDEXED => scores(seq / u64::from(ratio)),
            Mixer::Mamba => model.mamba.map_or(0.0, |own| (7 * own.inner() * own.state) as f64),
            Mixer::DeltaNet => model.delta_net.map_or(0.0, |own| recurrence(own.value_heads, own.head_dim)),
            Mixer::Kda => model.kda.map_or(0.0, |own| recurrence(own.heads, own.head_dim)),
            _ => 0.0,
        }
}

/// An FFN, forward, for one token: `6 h f` gated, `4 h f` else; of experts those that it visits, `6 l f_e` each behind
/// latent projections of `4 h l`.
pub(super) fn ffn_flops(model: &Architecture, ffn: Ffn) -> f64 {
    let matrices = if model.gated_ffn { 3.0 } else { 2.0 };
    let h = model.hidden as f64;
    let dense = if ffn.is_dense() { model.ffn as f64 } else { 0.0 };
    let (routed, shared, latent) = match model.moe.filter(|_| ffn.is_routed()) {
        Some(moe) => (
            (moe.top_k * moe.expert_ffn) as f64 * moe.input(model.hidden) as f64,
            (moe.shared_experts * moe.expert_ffn) as f64,
            4.0 * h * moe.latent as f64,
        ),
        None => (0.0, 0.0, 0.0),
    };
    2.0 * matrices * (h * (dense + shared) + routed) + latent
}

/// Router of an FFN, forward, for one token: `2 h E`.
pub(super) fn router_flops(model: &Architecture, ffn: Ffn) -> f64 {
    let routed = model.moe.filter(|_| ffn.is_routed());
    routed.map_or(0.0, |moe| 2.0 * model.hidden as f64 * moe.experts as f64)
}

/// Forward FLOPs of the language-model head for one token: `2 h v`.
#[must_use]
pub(crate) fn head_forward_flops(model: &Architecture) -> f64 {
    2.0 * model.hidden as f64 * model.vocab as f64
}

/// Model FLOPs of one token, forward and backward: `3 (Σ layers + head)`, and for each module of multi-token prediction
/// its layers, its `2 h × h` projection and the head once more; recomputation not included.
#[must_use]
pub fn model_flops_per_token(model: &Architecture, seq: u64, count: AttentionCount) -> f64 {
    whole(model, |kind| layer_forward_flops(model, kind, seq, count))
}

/// FLOPs of one token for the gradients of all weights: as many as the products with them take forward.
#[must_use]
pub(crate) fn weight_gradient_flops(model: &Architecture) -> f64 {
    let products = |kind: LayerKind| {
        projection_flops(model, kind.mixer) + ffn_flops(model, kind.ffn) + router_flops(model, kind.ffn)
    };
    whole(model, products) / 3.0
}

/// `3 (Σ layers + head)` with multi-token prediction, each layer as `layer` counts it.
pub(super) fn whole(model: &Architecture, layer: impl Fn(LayerKind) -> f64) -> f64 {
    let sum = |kinds: Kinds| -> f64 {
        let each = kinds.iter();
        each.map(|(kind, count)| *count as f64 * layer(*kind)).sum()
    };
    let (h, head) = (model.hidden as f64, head_forward_flops(model));
    let module = sum(model.module_kinds()) + 4.0 * h * h + head;
    3.0 * (sum(model.all_kinds()) + head + model.mtp_modules as f64 * module)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Narayanan 2021, section 5.1, without recomputation:
    /// `72 B s L h² (1 + s/(6 h) + v/(12 L h))`; the paper prints 96 and v/(16 L h) with full recomputation.
    #[test]
    fn a_gpt_layer_costs_what_narayanan_2021_prints() {
        let model = Architecture::gpt(96, 12288, 96, 51200, 0);
        let (l, h, s, v) = (96.0, 12288.0, 2048.0, 51200.0);
        let printed = 72.0 * l * h * h * (1.0 + s / (6.0 * h) + v / (12.0 * l * h));
        let ours = model_flops_per_token(&model, 2048, AttentionCount::Full);
        assert!((ours / printed - 1.0).abs() < 1e-12, "{ours} {printed}");
    }
}
