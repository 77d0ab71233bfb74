//! Tensors that a mixture of experts keeps for the backward pass.

use super::architecture::Architecture;
use super::kept::{Cut, KeptTensor, Role, down_bytes, up_bytes};
use crate::explain::Quantity;
use crate::explain::symbols::{EXPERT_FFN, EXPERTS, HIDDEN, LATENT_WIDTH, SHARED_EXPERTS, TOP_K};

/// Router, routed and shared experts: `2 T (2 h + 3 f_s) + 2 T K c (h + 3 f_e) + 8 T K c + 4 T E` for a gated FFN on
/// one rank, c the capacity or imbalance. Experts in a latent width l keep `2 T K c l` for `h`, and `4 T l` beside.
///
/// The rows of a rank do not depend on expert parallelism: E/x local experts meet x times the tokens. With t > 1 a
/// rank sends its own T/t tokens; inside an expert cut over te ranks they meet again. Source: Megatron-LM token
/// dispatcher; SimuMax peaks of DeepSeek-V2 and V3.
pub(super) fn ffn<Q: Quantity>(model: &Architecture, cut: &Cut<Q>) -> Vec<KeptTensor<Q>> {
    let Some(moe) = model.moe else {
        return Vec::new();
    };
    let (h, f) = (HIDDEN.of::<Q>(model.hidden), EXPERT_FFN.of::<Q>(moe.expert_ffn));
    let sent = cut.tokens / cut.residual;
    let chosen = sent * TOP_K.of::<Q>(moe.top_k);
    let rows = chosen * cut.etp * cut.routed;
    let expert = chosen * cut.routed * f;
    let shared = cut.tokens * SHARED_EXPERTS.of::<Q>(moe.shared_experts) * f / cut.tp;
    let latent = LATENT_WIDTH.of::<Q>(moe.latent);
    let input = if moe.latent > 0 { latent } else { h };
    let mut kept = vec![
        KeptTensor::new("input of the FFN norm", Role::Residual, sent * h * 2.0),
        KeptTensor::new("input of the router", Role::FfnNorm, sent * h * 2.0),
        KeptTensor::new("router logits", Role::Router, sent * EXPERTS.of::<Q>(moe.experts) * 4.0),
        KeptTensor::new("probabilities and indices", Role::Router, rows * 8.0),
        KeptTensor::new("tokens by expert", Role::Routed, rows * input * 2.0),
        KeptTensor::new("experts' up projection", Role::RoutedUp, expert * up_bytes(model)),
        KeptTensor::new("input of the experts' down projection", Role::RoutedDown, expert * down_bytes(model, cut)),
    ];
    if moe.latent > 0 {
        kept.push(KeptTensor::new("tokens in the experts' width", Role::Latent, sent * latent * 4.0));
    }
    if moe.shared_experts > 0 {
        kept.push(KeptTensor::new("shared experts", Role::Shared, shared * (up_bytes(model) + down_bytes(model, cut))));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Mla, Moe, layer_inventory};

    /// DeepSeek-V2, one dense and three MoE layers at 4096 tokens keep 5.09 GiB. Source: SimuMax case
    /// `deepseekv2_tp1_ep8_pp1_dp8_l4_mbc4_cef`, worked numbers of `docs/methods/memory.md`.
    #[test]
    fn four_layers_of_deepseek_v2_keep_5_09_gib() {
        let model = Architecture {
            head_dim: 128,
            moe: Some(Moe { shared_experts: 2, dense_layers: 1, ..Moe::new(160, 6, 1536) }),
            mla: Some(Mla::DEEPSEEK),
            ..Architecture::llama(4, 5120, 12288, 128, 128, 102_400)
        };
        let cut = Cut::sample(4096.0, 4096.0, 1.0, 1.0, true);
        let bytes: f64 =
            (0..4).flat_map(|index| layer_inventory(&model, model.kind(index), &cut)).map(|kept| kept.bytes).sum();
        let gib = bytes / f64::from(1u32 << 30);
        assert!((gib - 5.09).abs() < 0.01, "{gib}");
    }
}
