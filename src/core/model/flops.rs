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

/// Forward FLOPs of layer `index` for one token of a sequence of `seq`.
#[must_use]
pub fn layer_forward_flops(
    model: &Architecture,
    index: u64,
    seq: u64,
    count: AttentionCount,
) -> f64 {
    let h = model.hidden as f64;
    let a = model.heads as f64;
    let s_eff = count.effective(seq);
    let attention = if let Some(mla) = model.mla {
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
        2.0 * (query + key_value + a * dv * h) + 2.0 * a * (qk + dv) * s_eff
    } else {
        let (d, k) = (model.head_dim as f64, model.kv_heads as f64);
        2.0 * h * d * (a + 2.0 * k) + 2.0 * a * d * h + 4.0 * a * d * s_eff
    };
    let matrices = if model.gated_ffn { 3.0 } else { 2.0 };
    let ffn = match model.moe {
        Some(moe) if model.is_moe_layer(index) => {
            let experts = (moe.top_k + moe.shared_experts) as f64;
            2.0 * matrices * h * moe.expert_ffn as f64 * experts + 2.0 * h * moe.experts as f64
        }
        _ => 2.0 * matrices * h * model.ffn as f64,
    };
    attention + ffn
}

/// Forward FLOPs of the language-model head for one token: `2 h v`.
#[must_use]
pub fn head_forward_flops(model: &Architecture) -> f64 {
    2.0 * model.hidden as f64 * model.vocab as f64
}

/// Model FLOPs of one token, forward and backward: `3 (Σ layers + head)`; recomputation not included.
#[must_use]
pub fn model_flops_per_token(model: &Architecture, seq: u64, count: AttentionCount) -> f64 {
    let layers: f64 = (0..model.layers)
        .map(|index| layer_forward_flops(model, index, seq, count))
        .sum();
    3.0 * (layers + head_forward_flops(model))
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
