//! Parameters and layers of one pipeline stage, given the split of the layers over the stages.

use super::architecture::Architecture;
use super::elements::LayerElements;
use std::ops::Range;

/// The layers that global stage `stage` holds, by index in the model.
pub fn stage_range(stage_layers: &[u64], stage: usize) -> Range<u64> {
    let first: u64 = stage_layers.iter().take(stage).sum();
    let count = stage_layers.get(stage).copied().unwrap_or(0);
    first..first + count
}

/// Elements of global stage `stage`: its layers; the embedding and a vision tower that is there on the first; final
/// norm and head on the last; multi-token prediction where it `predicts`. Tied embeddings are on both ends of a
/// pipeline, once where there is one stage; multi-token prediction embeds again on a stage that is neither end.
pub(crate) fn stage_elements(
    model: &Architecture,
    stage_layers: &[u64],
    stage: usize,
    predicts: bool,
) -> LayerElements {
    let last = stage + 1 == stage_layers.len();
    let mut elements = model.layers_elements(stage_range(stage_layers, stage));
    if stage == 0 {
        elements = elements.plus(model.embedding()).plus(model.tower_on_stage());
    }
    if last {
        elements = elements.plus(model.final_norm());
        if !(model.shares_embedding() && stage == 0) {
            elements = elements.plus(model.head());
        }
    }
    if predicts && model.mtp_modules > 0 {
        elements = elements.plus(model.modules_elements());
        if stage != 0 && !(last && model.shares_embedding()) {
            elements = elements.plus(model.embedding());
        }
    }
    elements
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::layer_elements;

    #[test]
    fn stages_add_up_to_the_model() {
        let model = Architecture::llama(32, 4096, 14336, 32, 8, 128_256);
        for split in [vec![32], vec![8; 4], vec![7, 9, 9, 7]] {
            let stages = 0..split.len();
            let elements: u64 = stages.map(|stage| stage_elements(&model, &split, stage, true).total()).sum();
            assert_eq!(elements, model.elements().total());
        }
    }

    /// Llama-3.1-70B at tp 16: queries, output and FFN over 16 ranks, 8 key-value heads over 8, norms whole, embedding
    /// and head over 16: 4.495e9 parameters a tensor rank over the stages.
    #[test]
    fn more_ranks_than_key_value_heads_hold_copies_of_them() {
        let (h, f, kv, v, t) = (8192.0, 28672.0, 8.0 * 128.0, 128_256.0, 16.0);
        let layer = (2.0 * h * h + 3.0 * h * f) / t + 2.0 * h * kv / 8.0 + 2.0 * h;
        let by_hand = 80.0 * layer + 2.0 * v * h / t + h;
        assert_eq!((by_hand / 1e6_f64).round(), 4495.0);
        let model = Architecture::llama(80, 8192, 28672, 64, 8, 128_256);
        let stages = (0..4).map(|stage| stage_elements(&model, &[20; 4], stage, true));
        let ours: f64 = stages.map(|held| held.dense_per_rank(&model, 16)).sum();
        assert!((ours / by_hand - 1.0).abs() < 1e-12, "{ours} {by_hand}");
    }

    /// Gemma 4 31B at tp 8: 16 key-value heads of 256 in windows, 4 of 512 that are keys and values in full attention,
    /// which two ranks each hold: a rank has `h (2 2 256)` of the former and `h 512` of the latter, as at tp 4.
    #[test]
    fn heads_of_a_second_shape_are_copied_where_ranks_are_more() {
        use crate::model::{Ffn, LayerKind, Mixer, SecondHeads};
        let h = 5376.0;
        let model = Architecture {
            head_dim: 256,
            second: Some(SecondHeads { kv_heads: 4, head_dim: 512, shared_kv: true }),
            ..Architecture::llama(60, 5376, 21504, 32, 16, 262_144)
        };
        let rank = |mixer, tp: u64| {
            let layer = layer_elements(&model, LayerKind::new(mixer, Ffn::Dense));
            let cut = layer.sharded as f64 / tp as f64;
            layer.dense_per_rank(&model, tp) - cut - layer.replicated as f64
        };
        assert_eq!(rank(Mixer::Window, 8), h * 2.0 * 2.0 * 256.0);
        assert_eq!(rank(Mixer::Window, 4), h * 2.0 * 4.0 * 256.0);
        assert_eq!(rank(Mixer::Second, 8), h * 512.0);
        assert_eq!(rank(Mixer::Second, 4), h * 512.0);
    }

    #[test]
    fn tied_embeddings_stand_on_both_ends_of_a_pipeline() {
        let model = Architecture::gpt(48, 1600, 25, 50257, 1024);
        let one = stage_elements(&model, &[48], 0, true).total();
        let two: u64 = (0..2).map(|stage| stage_elements(&model, &[24, 24], stage, true).total()).sum();
        assert_eq!(two - one, 50257 * 1600);
    }
}
