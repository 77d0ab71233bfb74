//! FLOPs of a model, a multiply-add counted as two.
//!
//! Per token and layer, forward (Source: Narayanan 2021, section 5.1, and Megatron-LM's
//! `num_floating_point_operations`, which agree on the terms): projections `2 h d (a + 2 k) + 2 a d h`, attention core
//! `4 a d s_eff`, FFN `6 h f` gated or `4 h f`, once the head `2 h v`. Backward is twice forward.

use super::architecture::Architecture;
use super::elements::{headless, indexer};
use super::kept_mixers::widths;
use super::kinds::LayerKinds;
use super::mixers::Compressed;
use super::pattern::{Ffn, LayerKind, Mixer};
use crate::explain::symbols::{
    COUNTED_KEYS, EXPERT_FFN, EXPERTS, FFN, HEADS, HIDDEN, INDEXER, KEY_RANK, KV_HEADS, LATENT_WIDTH, MIXER_CORE,
    PLAIN_DIM, PREDICTORS, PROJECTIONS, QUERY_RANK, ROTARY_DIM, SHARED_EXPERTS, Symbol, TOP_K, VALUE_DIM, VOCABULARY,
};
use crate::explain::{Provenance, Quantity};
use crate::field::one_of;

one_of! {
    /// Count of attention over a causal mask.
    AttentionCount {
        /// Half the square: `s_eff` = s / 2 (current Megatron).
        Causal = "causal" "causal (half)",
        /// The full square: `s_eff` = s (papers up to 2023).
        Full = "full" "full square",
    }
}

impl AttentionCount {
    /// Keys that a query meets on average in a sequence of `seq` tokens.
    pub(crate) fn effective(self, seq: u64) -> f64 {
        match self {
            Self::Causal => seq as f64 / 2.0,
            Self::Full => seq as f64,
        }
    }

    /// Keys that a query meets on average where it meets the last `window` at most, its own included: `W - W (W - 1)/(2
    /// s)`. Source: Megatron-Bridge `flop_utils.py`.
    pub(crate) fn windowed(self, seq: u64, window: u64) -> f64 {
        let (s, w) = (seq as f64, window as f64);
        match self {
            _ if window >= seq => self.effective(seq),
            Self::Causal => w - w * (w - 1.0) / (2.0 * s),
            Self::Full => w,
        }
    }

    /// Keys that a query meets on average where attention stays within chunks of `chunk` tokens: `(q C^2 + r^2)/(2 s)`
    /// for q whole chunks and r tokens over.
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

/// Forward FLOPs of a layer of `kind` for one token of a sequence of `seq`, with those of its `router` or without.
pub(crate) fn layer_forward_flops<Q: Quantity>(
    model: &Architecture,
    kind: LayerKind,
    seq: u64,
    count: AttentionCount,
    router: bool,
) -> Q {
    let flops = projection_flops::<Q>(model, kind.mixer)
        + core_flops::<Q>(model, kind.mixer, seq, count)
        + ffn_flops::<Q>(model, kind.ffn);
    if router { flops + router_flops(model, kind.ffn) } else { flops }
}

/// FLOPs of a mixer that are added up over more matrices than a formula lists.
fn added_up<Q: Quantity>(symbol: Symbol, flops: f64) -> Q {
    if flops > 0.0 { Q::marked(flops, Provenance::AddedUp).called(symbol) } else { Q::number(0.0) }
}

/// Projections of a mixer, forward, for one token: two FLOPs for each element of its matrices, convolutions among them.
pub(crate) fn projection_flops<Q: Quantity>(model: &Architecture, mixer: Mixer) -> Q {
    let h = HIDDEN.of::<Q>(model.hidden);
    let out = |a: Q, value: Q| {
        let once = a * value * h * 2.0;
        if model.output_gate { once * 2.0 } else { once }
    };
    let projections = match mixer {
        Mixer::Full | Mixer::Window | Mixer::Second | Mixer::Chunked => model.attention_heads(mixer).map(|heads| {
            let (a, k) = (HEADS.of::<Q>(heads.query), KV_HEADS.of::<Q>(heads.key_value));
            let [key, value] = widths::<Q>(&heads);
            let inputs = match heads {
                _ if heads.shared_kv => key * (a + k),
                _ if heads.value == heads.qk => key * (a + k * 2.0),
                _ => a * key + k * (key + value),
            };
            h * inputs * 2.0 + out(a, value)
        }),
        Mixer::Latent | Mixer::Sparse => model.mla.map(|mla| {
            let (a, q_r, k_r) = (HEADS.of::<Q>(model.heads), mla.q_lora_rank, KEY_RANK.of::<Q>(mla.kv_lora_rank));
            let (plain, rotary) = (PLAIN_DIM.of::<Q>(mla.qk_nope_head_dim), ROTARY_DIM.of::<Q>(mla.qk_rope_head_dim));
            let (value, latent) = (VALUE_DIM.of::<Q>(mla.v_head_dim), QUERY_RANK.of::<Q>(q_r));
            let heads = a * (plain + rotary);
            let query = if q_r == 0 { h * heads } else { h * latent + latent * heads };
            let key_value = h * (k_r + rotary) + k_r * a * (plain + value);
            let indexer = model.indexer.filter(|_| mixer == Mixer::Sparse).map_or(0, |part| {
                // Without its norm.
                2 * (indexer(model, part, q_r).total() - 2 * part.head_dim)
            });
            (query + key_value) * 2.0 + out(a, value) + added_up(INDEXER, indexer as f64)
        }),
        _ => headless(model, mixer)
            .map(|(elements, vectors)| added_up(PROJECTIONS, 2.0 * (elements.total() - vectors) as f64)),
    };
    projections.unwrap_or_else(|| Q::number(0.0))
}

/// Core of attention, forward, for one token and key: scores and their product with the values, `2 a (e + e_v)`. Sparse
/// attention works on the latent itself, `2 a (2 r_kv + d_r)`. Source: Megatron-LM `absorbed_mla.py`.
pub(crate) fn pair_flops(model: &Architecture, mixer: Mixer) -> f64 {
    let widths = match (mixer, model.mla) {
        (Mixer::Sparse, Some(mla)) => 2 * mla.kv_lora_rank + mla.qk_rope_head_dim,
        _ => model.attention_heads(mixer).map_or(0, |heads| heads.qk + heads.value),
    };
    2.0 * (model.heads * widths) as f64
}

/// Core of a mixer, forward, for one token: attention over the keys it meets, an indexer's scores over all that it may
/// select from, a state-space model's or linear attention's recurrence as Megatron-LM counts it, `7 d N` and `8 d d n`.
fn core_flops<Q: Quantity>(model: &Architecture, mixer: Mixer, seq: u64, count: AttentionCount) -> Q {
    let width = match (mixer, model.mla) {
        (Mixer::Sparse, Some(mla)) => {
            Some(KEY_RANK.of::<Q>(mla.kv_lora_rank) * 2.0 + ROTARY_DIM.of::<Q>(mla.qk_rope_head_dim))
        }
        (Mixer::Latent, Some(mla)) => {
            let key = PLAIN_DIM.of::<Q>(mla.qk_nope_head_dim) + ROTARY_DIM.of::<Q>(mla.qk_rope_head_dim);
            Some(key + VALUE_DIM.of::<Q>(mla.v_head_dim))
        }
        _ => model.attention_heads(mixer).map(|heads| {
            let [key, value] = widths::<Q>(&heads);
            if heads.value == heads.qk { key * 2.0 } else { key + value }
        }),
    };
    let keys = COUNTED_KEYS.of::<Q>(mean_keys(model, mixer, seq, count));
    let attention = width.map_or_else(|| Q::number(0.0), |width| HEADS.of::<Q>(model.heads) * width * keys * 2.0);
    let scores = |from: u64| {
        let heads = model.indexer.map_or(0, |part| part.heads * part.head_dim);
        2.0 * heads as f64 * count.effective(from)
    };
    let recurrence = |heads: u64, width: u64| (8 * heads * width * width) as f64;
    let beside = match mixer {
        Mixer::Sparse => scores(seq),
        Mixer::Compressed(ratio) if ratio == Compressed::INDEXED => scores(seq / u64::from(ratio)),
        Mixer::Mamba => model.mamba.map_or(0.0, |part| (7 * part.inner() * part.state) as f64),
        Mixer::DeltaNet => model.delta_net.map_or(0.0, |part| recurrence(part.value_heads, part.head_dim)),
        Mixer::Kda => model.kda.map_or(0.0, |part| recurrence(part.heads, part.head_dim)),
        _ => 0.0,
    };
    attention + added_up(MIXER_CORE, beside)
}

/// An FFN, forward, for one token: `6 h f` gated, `4 h f` else; of experts those that it visits, `6 l f_e` each behind
/// latent projections of `4 h l`.
pub(super) fn ffn_flops<Q: Quantity>(model: &Architecture, ffn: Ffn) -> Q {
    let matrices = if model.gated_ffn { 6.0 } else { 4.0 };
    let (h, zero) = (HIDDEN.of::<Q>(model.hidden), Q::number(0.0));
    let dense = if ffn.is_dense() { h * FFN.of::<Q>(model.ffn) * matrices } else { zero };
    let routed = model.moe.filter(|_| ffn.is_routed()).map_or(zero, |moe| {
        let f = EXPERT_FFN.of::<Q>(moe.expert_ffn);
        let (k, shared) = (TOP_K.of::<Q>(moe.top_k), SHARED_EXPERTS.of::<Q>(moe.shared_experts));
        if moe.latent == 0 {
            return h * f * (k + shared) * matrices;
        }
        let latent = LATENT_WIDTH.of::<Q>(moe.latent);
        (latent * k + h * shared) * f * matrices + h * latent * 4.0
    });
    dense + routed
}

/// Router of an FFN, forward, for one token: `2 h E`.
pub(super) fn router_flops<Q: Quantity>(model: &Architecture, ffn: Ffn) -> Q {
    let routed = model.moe.filter(|_| ffn.is_routed());
    let flops = |experts| HIDDEN.of::<Q>(model.hidden) * EXPERTS.of::<Q>(experts) * 2.0;
    routed.map_or_else(|| Q::number(0.0), |moe| flops(moe.experts))
}

/// Forward FLOPs of the language-model head for one token: `2 h v`, of a score's `2 h`.
pub(crate) fn head_forward_flops<Q: Quantity>(model: &Architecture) -> Q {
    if model.headless {
        return HIDDEN.of::<Q>(model.hidden) * 2.0;
    }
    HIDDEN.of::<Q>(model.hidden) * VOCABULARY.of::<Q>(model.vocab) * 2.0
}

/// Model FLOPs of one token, forward and backward: `3 (Σ layers + head)`, and for each module of multi-token
/// prediction its layers, its `2 h × h` projection and the head once more; recomputation not included.
pub fn model_flops_per_token(model: &Architecture, seq: u64, count: AttentionCount) -> f64 {
    trained_by_layer(model, |kind| layer_forward_flops(model, kind, seq, count, true))
}

/// FLOPs of one token for the gradients of all weights: as many as the products with them take forward.
pub(crate) fn weight_gradient_flops(model: &Architecture) -> f64 {
    let products = |kind: LayerKind| {
        projection_flops::<f64>(model, kind.mixer)
            + ffn_flops::<f64>(model, kind.ffn)
            + router_flops::<f64>(model, kind.ffn)
    };
    trained_by_layer(model, products) / 3.0
}

/// FLOPs of training on a token from those of all layers, of a multi-token-prediction module and of the head.
pub(crate) fn trained_flops<Q: Quantity>(model: &Architecture, layers: Q, module: Q, head: Q) -> Q {
    let square = HIDDEN.of::<Q>(model.hidden).power(Q::number(2.0));
    (layers + head + PREDICTORS.summand::<Q>(model.mtp_modules) * (module + square * 4.0 + head)) * 3.0
}

/// FLOPs of training on a token, each layer as `layer` counts it.
pub(super) fn trained_by_layer(model: &Architecture, layer: impl Fn(LayerKind) -> f64) -> f64 {
    let sum = |kinds: LayerKinds| -> f64 { kinds.iter().map(|(kind, count)| *count as f64 * layer(*kind)).sum() };
    trained_flops(model, sum(model.all_kinds()), sum(model.module_kinds()), head_forward_flops(model))
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
