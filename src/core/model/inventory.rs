//! Tensors that one layer keeps of one micro-batch for its backward pass.
//!
//! Bytes on one rank, written at two bytes an activation and scaled to what the precision has; masks take one byte an
//! element, the softmax statistics of FlashAttention and the router four whatever it is. Source: Korthikanti 2022
//! section 4 for the GPT block; Megatron Core and Transformer Engine for the Llama, MoE and MLA blocks, held against
//! the peaks that SimuMax published.

use super::architecture::Architecture;
use super::kept::{Cut, KeptTensor, Role, down_bytes, up_bytes};
use super::pattern::{Ffn, LayerKind, Mixer};
use super::{kept_mixers as mixers, routed};
use crate::explain::Quantity;
use crate::explain::symbols::{FFN, HIDDEN, SCALE};

/// Everything a layer of `kind` keeps of one micro-batch.
///
/// Dense Llama, e = h/a: `T h (12 + 4 k/a + 6 f/h) + 4 a T`, all over t with sequence parallelism. GPT with stored
/// scores: `s b h (10 + 24/t + 5 a s/(h t))`. Source: Korthikanti 2022 equations 1 to 4; Megatron-LM.
pub(crate) fn layer_inventory<Q: Quantity>(model: &Architecture, kind: LayerKind, cut: &Cut<Q>) -> Vec<KeptTensor<Q>> {
    let mut kept = mixers::mixer(model, kind.mixer, cut);
    if kind.ffn.is_dense() {
        kept.extend(dense_ffn(model, cut));
    }
    if kind.ffn.is_routed() {
        kept.extend(routed::ffn(model, cut));
    }
    if kind.ffn == Ffn::Both {
        // Both read the same residual stream.
        let second = kept.iter().rposition(|tensor| tensor.role == Role::Residual);
        second.map(|place| kept.remove(place));
    }
    if kind.mixer == Mixer::None {
        for tensor in &mut kept {
            if tensor.role == Role::Residual {
                tensor.role = Role::LayerInput;
            }
        }
    }
    let hidden = cut.tokens * HIDDEN.of::<Q>(model.hidden) / cut.residual * f64::from(kind.operations());
    if model.post_norms {
        kept.push(KeptTensor::new("inputs of the norms after attention and FFN", Role::NormInput, hidden * 2.0));
    }
    if model.dropout {
        kept.push(KeptTensor::new("dropout masks", Role::Mask, hidden));
    }
    let streams = model.compressed.map_or(1.0, |own| own.streams as f64);
    let routed = kind.ffn.is_routed();
    for tensor in &mut kept {
        if matches!(tensor.role, Role::LayerInput | Role::Residual) {
            tensor.bytes = tensor.bytes * streams;
        }
        tensor.bytes = SCALE.factor::<Q>(tensor.role.scale(routed, model.gated_ffn, cut)) * tensor.bytes;
    }
    kept
}

/// A dense FFN: norm input and output, `4 T f` of gate and up, `2 T f` into the down projection; an unfused SwiGLU
/// keeps `2 T f` more.
fn dense_ffn<Q: Quantity>(model: &Architecture, cut: &Cut<Q>) -> Vec<KeptTensor<Q>> {
    let hidden = cut.tokens * HIDDEN.of::<Q>(model.hidden) * 2.0;
    let f = cut.tokens * FFN.of::<Q>(model.ffn) / cut.tp;
    vec![
        KeptTensor::new("input of the FFN norm", Role::Residual, hidden / cut.residual),
        KeptTensor::new("input of the FFN", Role::FfnNorm, hidden / cut.linear_input),
        KeptTensor::new("FFN up projection", Role::DenseUp, f * up_bytes(model)),
        KeptTensor::new("input of the down projection", Role::DenseDown, f * down_bytes(model, cut)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Mla, Moe, Quantised, Swiglu};

    fn total(model: &Architecture, cut: &Cut) -> f64 {
        layer_inventory(model, model.kind(0), cut).iter().map(|k| k.bytes).sum()
    }

    /// Korthikanti 2022, table 2.
    #[test]
    fn korthikanti_table_2_is_met_for_every_form_of_parallelism() {
        let (s, b, h, a) = (2048.0, 4.0, 6144.0, 64.0);
        let model = Architecture::gpt(48, 6144, 64, 51200, 0);
        let sbh = s * b * h;
        let scores = 5.0 * a * s / h;
        for (tp, residual, flash, printed) in [
            (1.0, 1.0, false, 34.0 + scores),
            (8.0, 1.0, false, 10.0 + 24.0 / 8.0 + scores / 8.0),
            (8.0, 8.0, false, 34.0 / 8.0 + scores / 8.0),
        ] {
            let ours = total(&model, &Cut::sample(s * b, s, tp, residual, flash)) / sbh;
            assert!((ours / printed - 1.0).abs() < 1e-12, "{ours} {printed}");
        }
    }

    /// He's blog: a layer keeps `16 k b s h + 2 b s h + 2 k b a s² + b a s²` with k bytes an activation, 4 in full
    /// precision.
    #[test]
    fn full_precision_doubles_everything_but_the_masks() {
        let (s, b, h, a) = (2048.0, 4.0, 6144.0, 64.0);
        let model = Architecture::gpt(48, 6144, 64, 51200, 0);
        for k in [2.0, 4.0] {
            let cut = Cut { element: k, ..Cut::sample(s * b, s, 1.0, 1.0, false) };
            let blog = (16.0 * k + 2.0) * s * b * h + (2.0 * k + 1.0) * b * a * s * s;
            assert!((total(&model, &cut) / blog - 1.0).abs() < 1e-12);
        }
    }

    /// `docs/methods/memory.md`, worked numbers: Llama-3.1-8B, 8192 tokens.
    #[test]
    fn a_llama_8b_layer_keeps_1_06_gib_fused_and_1_28_unfused() {
        let model = Architecture::llama(32, 4096, 14336, 32, 8, 128_256);
        let fused = Cut::sample(8192.0, 8192.0, 1.0, 1.0, true);
        let unfused = Cut { swiglu: Swiglu::Parts, ..fused };
        let gib = |cut| total(&model, cut) / f64::from(1u32 << 30);
        assert!((gib(&fused) - 1.0635).abs() < 1e-4);
        assert!((gib(&unfused) - 1.282).abs() < 1e-3);
        // Megatron-LM `fp8_input_store`: a byte instead of two for gate and up, and as much for the experts'.
        let (tokens, width) = (8192.0, 14336.0);
        let low = Cut { swiglu: Swiglu::Fp8Input, ..fused };
        assert!((total(&model, &fused) - total(&model, &low) - 2.0 * tokens * width).abs() < 1.0);
        let moe = Moe { shared_experts: 1, ..Moe::new(8, 2, 1024) };
        let routed = Architecture { moe: Some(moe), ..model };
        assert!((total(&routed, &fused) - total(&routed, &low) - 2.0 * tokens * 3.0 * 1024.0).abs() < 1.0);
    }

    /// DeepSeek-V3, section 3.3.3, at 4096 tokens of a layer with experts: the context in twelve bits, the tokens of
    /// the experts and what their SwiGLU reads in eight, each with a scale of four bytes for 128 elements; the residual
    /// stream, attention's operands and the router's input in sixteen.
    #[test]
    fn low_precision_is_for_what_deepseek_v3_says() {
        let model = Architecture {
            moe: Some(Moe { shared_experts: 1, dense_layers: 3, groups: 8, top_groups: 4, ..Moe::new(256, 8, 2048) }),
            mla: Some(Mla::DEEPSEEK),
            ..Architecture::llama(61, 7168, 18432, 128, 128, 129_280)
        };
        let bf16 = Cut::sample(4096.0, 4096.0, 1.0, 1.0, true);
        let low = Cut { fp8: true, ..bf16 };
        let (t, scale) = (4096.0, 4.0 / 128.0);
        let bytes = |name: &str| {
            let kept = layer_inventory(&model, model.kind(10), &low);
            let bytes = kept.iter().filter(|kept| kept.name == name);
            bytes.map(|kept| kept.bytes).sum::<f64>()
        };
        let near = |name: &str, printed: f64| {
            assert!((bytes(name) / printed - 1.0).abs() < 1e-12, "{name}");
        };
        near("attention output", (1.5 + scale) * t * 128.0 * 128.0);
        near("tokens by expert", (1.0 + scale) * t * 8.0 * 7168.0);
        near("experts' up projection", (2.0 + 2.0 * scale) * t * 8.0 * 2048.0);
        near("input of QKV", (1.0 + scale) * t * 7168.0);
        near("input of the attention norm", 2.0 * t * 7168.0);
        near("input of the FFN norm", 2.0 * t * 7168.0);
        near("input of the router", 2.0 * t * 7168.0);
        for (low, whole) in
            layer_inventory(&model, model.kind(10), &low).iter().zip(layer_inventory(&model, model.kind(10), &bf16))
        {
            assert!(low.bytes <= whole.bytes && low.bytes > 0.5 * whole.bytes);
        }
    }

    /// `T h (4 + 2 + 4 k/a + 2 + 2 β + (4 + β) f/h)` with β bytes an element of the copy of a linear's input: 34 `T
    /// h` of a Llama-8B layer in bf16, 28.7 in MXFP8, 26.1 in NVFP4. Source: Transformer Engine, from what its linears
    /// save.
    #[test]
    fn quantised_inputs_save_a_sixth_in_mxfp8_and_a_quarter_in_nvfp4() {
        let model = Architecture::llama(32, 4096, 14336, 32, 8, 128_256);
        let whole = Cut::sample(8192.0, 8192.0, 1.0, 1.0, true);
        let statistics = 4.0 * 32.0 * 8192.0;
        for (element, context, printed) in [
            (2.0, false, 34.0),
            (1.0 + 1.0 / 32.0, false, 28.7),
            (0.5 + 1.0 / 16.0, false, 26.1),
            // Delayed scaling keeps the attention output twice.
            (1.0, true, 28.5 + 1.0),
        ] {
            let cut = Cut { quantised: Some(Quantised { element, context }), ..whole };
            let kept = (total(&model, &cut) - statistics) / (8192.0 * 4096.0);
            assert!((kept - printed).abs() < 0.06, "{kept} {printed}");
        }
    }

    #[test]
    fn a_rank_never_holds_less_than_one_key_value_head() {
        let model = Architecture::llama(32, 4096, 14336, 32, 2, 128_256);
        let kv = |tp| {
            layer_inventory(&model, model.kind(0), &Cut::sample(1.0, 1.0, tp, tp, true))
                .iter()
                .find(|kept| kept.role == Role::KeyValue)
                .map_or(0.0, |kept| kept.bytes)
        };
        for tp in [2.0, 8.0] {
            assert!((kv(tp) - 4.0 * 128.0).abs() < 1e-9);
        }
    }
}
