//! FLOPs of a model, a multiply-add counted as two.
//!
//! Per token and layer, forward (Source: Narayanan 2021, section 5.1, and Megatron-LM's `num_floating_point_operations`,
//! which agree on the terms): projections `2 h d (a + 2 k) + 2 a d h`, attention core
//! `4 a d s_eff`, FFN `6 h f` gated or `4 h f`, once the head `2 h v`. Backward is twice forward.

use super::architecture::Architecture;

/// How attention over a causal mask is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttentionCount {
    /// Half the square: `s_eff` = s / 2 (current Megatron).
    Causal,
    /// The full square: `s_eff` = s (papers up to 2023).
    Full,
}

impl AttentionCount {
    /// Keys that a query meets on average in a sequence of `seq` tokens.
    #[must_use]
    pub fn effective(self, seq: u64) -> f64 {
        match self {
            Self::Causal => seq as f64 / 2.0,
            Self::Full => seq as f64,
        }
    }
}

/// Forward FLOPs of layer `index` for one token that meets `keys` keys on average.
#[must_use]
pub fn layer_forward_flops(model: &Architecture, index: u64, keys: f64) -> f64 {
    projection_flops(model)
        + core_flops(model) * keys
        + ffn_flops(model, index)
        + router_flops(model, index)
}

/// Projections of attention, forward, for one token: `2 h d (a + 2 k) + 2 a d h`, or those of latent attention.
pub(super) fn projection_flops(model: &Architecture) -> f64 {
    let (h, a) = (model.hidden as f64, model.heads as f64);
    if let Some(mla) = model.mla {
        let qk = (mla.qk_nope_head_dim + mla.qk_rope_head_dim) as f64;
        let (rq, rkv) = (mla.q_lora_rank as f64, mla.kv_lora_rank as f64);
        let (nope, rope, dv) = (
            mla.qk_nope_head_dim as f64,
            mla.qk_rope_head_dim as f64,
            mla.v_head_dim as f64,
        );
        let query = if rq == 0.0 {
            h * a * qk
        } else {
            h * rq + rq * a * qk
        };
        let key_value = h * (rkv + rope) + rkv * a * (nope + dv);
        return 2.0 * (query + key_value + a * dv * h);
    }
    let (d, k) = (model.head_dim as f64, model.kv_heads as f64);
    2.0 * h * d * (a + 2.0 * k) + 2.0 * a * d * h
}

/// Core of attention, forward, for one token and key: scores and their product with the values, `4 a d`.
pub(super) fn core_flops(model: &Architecture) -> f64 {
    let widths = model.mla.map_or(2 * model.head_dim, |mla| {
        mla.qk_nope_head_dim + mla.qk_rope_head_dim + mla.v_head_dim
    });
    2.0 * (model.heads * widths) as f64
}

/// FFN of layer `index`, forward, for one token: `6 h f` gated, `4 h f` else; of experts those that it visits.
pub(super) fn ffn_flops(model: &Architecture, index: u64) -> f64 {
    let matrices = if model.gated_ffn { 3.0 } else { 2.0 };
    let width = match model.moe {
        Some(moe) if model.is_moe_layer(index) => {
            (moe.top_k + moe.shared_experts) as f64 * moe.expert_ffn as f64
        }
        _ => model.ffn as f64,
    };
    2.0 * matrices * model.hidden as f64 * width
}

/// Router of layer `index`, forward, for one token: `2 h E`.
fn router_flops(model: &Architecture, index: u64) -> f64 {
    let routed = model.moe.filter(|_| model.is_moe_layer(index));
    routed.map_or(0.0, |moe| 2.0 * model.hidden as f64 * moe.experts as f64)
}

/// Forward FLOPs of the language-model head for one token: `2 h v`.
#[must_use]
pub fn head_forward_flops(model: &Architecture) -> f64 {
    2.0 * model.hidden as f64 * model.vocab as f64
}

/// Model FLOPs of one token, forward and backward: `3 (Σ layers + head)`, and for each module of multi-token prediction a
/// further layer of the last kind, its `2 h × h` projection and the head once more; recomputation not included.
#[must_use]
pub fn model_flops_per_token(model: &Architecture, seq: u64, count: AttentionCount) -> f64 {
    let keys = count.effective(seq);
    whole(model, |index| layer_forward_flops(model, index, keys))
}

/// `3 (Σ layers + head)` with multi-token prediction, each layer as `layer` counts it.
pub(super) fn whole(model: &Architecture, layer: impl Fn(u64) -> f64) -> f64 {
    let (routed, head) = (model.moe_layers(), head_forward_flops(model));
    let last = layer(model.layers.saturating_sub(1));
    let layers = (model.layers - routed) as f64 * layer(0) + routed as f64 * last;
    let h = model.hidden as f64;
    3.0 * (layers + head + model.mtp_modules as f64 * (last + 4.0 * h * h + head))
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
