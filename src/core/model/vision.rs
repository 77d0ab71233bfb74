//! Tensors that a vision tower and its projector keep for the backward pass.

use super::architecture::Architecture;
use super::inventory::layer_inventory;
use super::kept::{Cut, Kept, Role};
use super::pattern::LayerKind;
use crate::explain::symbols::{HIDDEN, PATCHES, VISION_HIDDEN};
use crate::explain::{Provenance, Quantity};

/// Width of an attention head in the towers that are published (`ViT` and its kin).
const HEAD: u64 = 64;

/// Pixels, the tower's layers and the projector's inputs for `images` images on one rank.
///
/// The tower is a GPT block without dropout over the image's patches; context parallelism does not cut it. A frozen one
/// runs without a graph: only what the trained projector needs stays, `2 T h_v + 4 T h`.
pub(crate) fn vision_inventory<Q: Quantity>(model: &Architecture, images: f64, cut: &Cut<Q>) -> Vec<Kept<Q>> {
    let Some(vision) = model.vision else {
        return Vec::new();
    };
    let tokens = PATCHES.of::<Q>(images * vision.patches() as f64);
    let projector = tokens * VISION_HIDDEN.of::<Q>(vision.hidden) * cut.element / cut.residual
        + tokens * HIDDEN.of::<Q>(model.hidden) * (2.0 * cut.element) / cut.tp;
    let mut kept = vec![Kept::new("projector", Role::LayerInput, projector)];
    if vision.frozen {
        return kept;
    }
    let heads = (vision.hidden / HEAD).max(1);
    let block = Architecture {
        ffn: vision.ffn,
        head_dim: vision.hidden / heads,
        dropout: false,
        ..Architecture::gpt(vision.layers, vision.hidden, heads, 1, 0)
    };
    let (keys, outputs) = (Q::number(vision.patches() as f64), Q::number(1.0));
    let tower = Cut { tokens, keys, outputs, fp8: false, quantised: None, ..*cut };
    let layer: f64 = layer_inventory(&block, LayerKind::DENSE, &tower).iter().map(|tensor| tensor.bytes.value()).sum();
    let pixels = vision.image_width * vision.image_height * vision.channels;
    let added_up = |bytes| Q::marked(bytes, Provenance::AddedUp, "");
    kept.push(Kept::new("pixels", Role::LayerInput, added_up(cut.element * images * pixels as f64)));
    kept.push(Kept::new("vision tower", Role::LayerInput, added_up(vision.layers as f64 * layer)));
    kept
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
}
