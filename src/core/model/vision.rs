//! Tensors that a vision tower and its projector keep for the backward pass.

use super::architecture::{Architecture, Vision};
use super::inventory::layer_inventory;
use super::kept::{Cut, KeptTensor, Role};
use super::pattern::LayerKind;
use crate::explain::symbols::{HIDDEN, PATCHES, PROJECTED, PROJECTOR, VISION_HIDDEN};
use crate::explain::{Provenance, Quantity};

/// Width of an attention head in the towers that are published (`ViT` and its kin).
const HEAD: u64 = 64;

/// Pixels, the tower's layers and the projector's inputs for `images` images on one rank.
///
/// Images of several sizes count as the largest: the fullest micro-batch has one.
/// The tower is a GPT block without dropout over the image's patches; context parallelism does not cut it. A frozen one
/// runs without a graph: only what the trained projector needs stays, its input and twice its inner width a token.
pub(crate) fn vision_inventory<Q: Quantity>(model: &Architecture, images: f64, cut: &Cut<Q>) -> Vec<KeptTensor<Q>> {
    let Some(vision) = model.vision.map(|vision| vision.largest()) else {
        return Vec::new();
    };
    let tokens = PATCHES.of::<Q>(images * vision.patches() as f64);
    let inner = if vision.merge > 1 {
        PROJECTED.of::<Q>(images * vision.tokens() as f64) * PROJECTOR.of::<Q>(vision.projector_width(model.hidden))
    } else {
        tokens * HIDDEN.of::<Q>(model.hidden)
    };
    let projector = tokens * VISION_HIDDEN.of::<Q>(vision.hidden) * cut.element / cut.residual
        + inner * (2.0 * cut.element) / cut.tp;
    let mut kept = vec![KeptTensor::new("projector", Role::LayerInput, projector)];
    if vision.frozen {
        return kept;
    }
    let heads = if vision.heads > 0 { vision.heads } else { (vision.hidden / HEAD).max(1) };
    let block = Architecture {
        ffn: vision.ffn,
        gated_ffn: vision.gated,
        head_dim: vision.queries() / heads,
        dropout: false,
        ..Architecture::gpt(vision.layers, vision.hidden, heads, 1, 0)
    };
    let (keys, outputs) = (Q::number(vision.patches() as f64), Q::number(1.0));
    let tower = Cut { tokens, keys, outputs, fp8: false, quantised: None, ..*cut };
    let layer: f64 = layer_inventory(&block, LayerKind::DENSE, &tower).iter().map(|tensor| tensor.bytes.value()).sum();
    let pixels = vision.patches() * vision.patch_elements();
    let added_up = |bytes| Q::marked(bytes, Provenance::AddedUp);
    kept.push(KeptTensor::new("pixels", Role::LayerInput, added_up(cut.element * images * pixels as f64)));
    kept.push(KeptTensor::new("vision tower", Role::LayerInput, added_up(vision.layers as f64 * layer)));
    kept
}

/// FLOPs of an image, forward and backward, without recomputation: of N patches with width h, queries q wide and FFN f
/// that attend to N' each, `L (N (8 h q + 4 h f) + 4 N N' q)` (6 h f where gated), the patches' embedding and a
/// projector over the merged patches, `wide` as the model behind it; backward is twice forward, and none for a frozen
/// tower.
pub(crate) fn vision_flops(vision: &Vision, wide: u64) -> f64 {
    let (n, h, f) = (vision.patches() as f64, vision.hidden as f64, vision.ffn as f64);
    let q = vision.queries() as f64;
    let products = vision.layers as f64 * n * (8.0 * h * q + 2.0 * vision.ffn_matrices() as f64 * h * f);
    let attention: f64 =
        vision.attention().map(|(layers, keys)| layers as f64 * 4.0 * n * keys as f64 * q).iter().sum();
    let tower = products + attention + 2.0 * n * vision.patch_elements() as f64 * h;
    let projector = 2.0 * vision.tokens() as f64 * vision.projector_elements(wide) as f64;
    let passes = if vision.frozen { 1.0 } else { 3.0 };
    passes * tower + 3.0 * projector
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Vision;

    /// Uneven PP note: a tower of f = 4 h keeps 34 b s h L bytes with dropout, 32 b s h L without, and its statistics.
    #[test]
    fn a_tower_keeps_32_b_s_h_a_layer_and_a_frozen_one_only_the_projectors_inputs() {
        let vision = |frozen| Vision { frozen, ..Vision::of_the_uneven_note(4096) };
        let model = |frozen| Architecture {
            vision: Some(vision(frozen)),
            ..Architecture::llama(28, 3584, 18944, 28, 4, 152_064)
        };
        let cut = Cut::sample(1024.0, 1024.0, 1.0, 1.0, true);
        let bytes = |frozen| -> f64 {
            let kept = vision_inventory(&model(frozen), 1.0, &cut);
            kept.iter().map(|tensor| tensor.bytes).sum()
        };
        let tower = 28.0 * (32.0 * 256.0 * 4096.0 + 4.0 * 64.0 * 256.0);
        let pixels = 2.0 * 224.0 * 224.0 * 3.0;
        let projector = 256.0 * (2.0 * 4096.0 + 4.0 * 3584.0);
        assert!((bytes(false) - tower - pixels - projector).abs() < 1.0);
        assert!((bytes(true) - projector).abs() < 1.0);
    }

    /// Parameters of published towers with their projectors: 675 M of Qwen2-VL (its report, section 2.1; the projector
    /// leads to the 7B model here), 5.5 B of InternViT-6B, 304 M of InternViT-300M, 872 M of Llama 4.
    #[test]
    fn towers_have_the_parameters_that_are_published() {
        let shape = |(layers, hidden, ffn), patch, merge| Vision {
            patch,
            hidden,
            ffn,
            layers,
            merge,
            ..Vision::of_the_uneven_note(hidden)
        };
        let qwen = Vision { temporal: 2, ..shape((32, 1280, 5120), 14, 2) };
        for (vision, wide, with_projector, published) in [
            (qwen, 3584, true, 675e6),
            (shape((45, 3200, 12_800), 14, 2), 8192, false, 5.5e9),
            (shape((24, 1024, 4096), 14, 2), 3584, false, 304e6),
            (shape((34, 1408, 5632), 14, 2), 5120, true, 872e6),
        ] {
            let model = Architecture { vision: Some(vision), ..Architecture::llama(28, wide, 18944, 28, 4, 152_064) };
            let projector = if with_projector { 0 } else { model.projector().total() };
            let ours = (model.vision_tower().total() - projector) as f64;
            assert!((ours / published - 1.0).abs() < 0.015, "{ours} of {published}");
        }
    }

    /// A window of 112 px holds 8 x 8 patches of 14; 1024 px are 74 x 74 patches after rounding to pairs, 1,369 tokens.
    /// Qwen2.5-VL's 32 layers, four of them over all patches: 7.8 TFLOP forward, a tenth in attention.
    #[test]
    fn windows_leave_little_of_attention() {
        let vision = Vision {
            image_width: 1024,
            image_height: 1024,
            merge: 2,
            temporal: 2,
            gated: true,
            window: 112,
            full_layers: 4,
            layers: 32,
            ffn: 3420,
            ..Vision::of_the_uneven_note(1280)
        };
        assert_eq!((vision.patches(), vision.tokens()), (5476, 1369));
        assert_eq!(vision.attention(), [(4, 5476), (28, 64)]);
        let forward = vision_flops(&vision, 8192) / 3.0;
        assert!((forward / 7.767e12 - 1.0).abs() < 0.015, "{forward}");
        let whole = vision_flops(&Vision { window: 0, ..vision }, 8192) / 3.0;
        assert!(whole > 1.4 * forward);
    }
}
