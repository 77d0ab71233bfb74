//! Shapes of published vision encoders and of the projectors behind them.
//!
//! Source: aiconfigurator 095f58a, `model_configs` (Qwen3-VL, Qwen3.5, Kimi-K2.5 and K3, Gemma 4); transformers 008e574
//! and 018c8e0, `configuration_qwen2_vl.py`, `configuration_qwen2_5_vl.py`, `configuration_glm4v_moe.py`,
//! `configuration_llama4.py`; Megatron-Bridge 067f987, `nemotron_omni_provider.py` (RADIO); widths of Qwen2.5-VL, Llama
//! 4, `InternViT`, `SigLIP` and ViT-22B as their reports have them. The tests hold parameters to published counts.

use super::architecture::{Vision, VisionEncoder};

/// A tower of layers of one width with heads and FFN width, on patches of `patch` pixels of which `merge` along a side
/// become a token.
const fn tower((layers, hidden, heads, ffn): (u64, u64, u64, u64), (patch, merge): (u64, u64)) -> Vision {
    Vision { patch, hidden, ffn, layers, merge, heads, ..Vision::BARE }
}

/// `SigLIP`'s so400m, which most published towers begin from.
const fn so400m(patch: u64, merge: u64) -> Vision {
    tower((27, 1152, 16, 4304), (patch, merge))
}

/// An image is sent twice, as the two frames of a patch.
const fn twice(vision: Vision) -> Vision {
    Vision { temporal: 2, ..vision }
}

impl VisionEncoder {
    /// Its shapes; none of shapes given one by one.
    pub const fn shape(self) -> Option<Vision> {
        let shape = match self {
            Self::Own => return None,
            Self::Qwen2Vl => twice(tower((32, 1280, 16, 5120), (14, 2))),
            Self::Qwen25Vl => {
                Vision { gated: true, window: 112, full_layers: 4, ..twice(tower((32, 1280, 16, 3420), (14, 2))) }
            }
            Self::Qwen3Vl => Vision { deepstack: 3, ..twice(so400m(16, 2)) },
            Self::Qwen3VlSmall => Vision { deepstack: 3, ..twice(tower((24, 1024, 16, 4096), (16, 2))) },
            Self::Qwen35 => twice(so400m(16, 2)),
            Self::KimiK25 => so400m(14, 2),
            Self::KimiK3 => Vision { attention_width: 1536, ..tower((27, 1024, 12, 4096), (14, 2)) },
            // Its merger has five matrices; one inner width has as many parameters.
            Self::Glm45V => Vision { gated: true, projector: 20_530, ..twice(tower((24, 1536, 12, 4096), (14, 2))) },
            Self::InternVit6b => Vision { tile: 448, ..tower((45, 3200, 25, 12_800), (14, 2)) },
            Self::InternVit300m => Vision { tile: 448, ..tower((24, 1024, 16, 4096), (14, 2)) },
            Self::Llama4 => Vision { tile: 336, ..tower((34, 1408, 16, 5632), (14, 2)) },
            Self::Gemma3 => Vision { fixed_tokens: 256, pooled: true, ..so400m(14, 4) },
            Self::Gemma4 => Vision { fixed_tokens: 280, pooled: true, ..so400m(16, 3) },
            Self::RadioH => Vision { tile: 512, projector: 20_480, ..tower((32, 1280, 16, 5120), (16, 2)) },
            // One linear, of patches that are not merged.
            Self::Vit22b => Vision { pooled: true, ..tower((48, 6144, 48, 24_576), (14, 1)) },
        };
        Some(Vision { base: self, image_width: 1024, image_height: 1024, ..shape })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::OneOf;
    use crate::model::{Architecture, vision_flops};
    use crate::table::Table;

    /// The encoder of a row of the table.
    fn encoder(id: &str) -> VisionEncoder {
        let id = match id {
            "qwen2-vl-tower" => "qwen2-vl",
            "qwen2.5-vl-72b" => "qwen2.5-vl",
            "qwen3-vl-235b-a22b" => "qwen3-vl",
            "qwen3.5-27b" | "qwen3.5-397b-a17b" => "qwen3.5",
            "kimi-vl-a3b" => "kimi-k2.5",
            "internvl3-78b" => "internvit-6b",
            "internvl3-8b" => "internvit-300m",
            "llama-4-maverick" => "llama-4",
            "gemma-3-27b" => "gemma-3",
            "gemma-4-26b-a4b" => "gemma-4",
            "nemotron-omni-radio-h" => "radio-h",
            "vit-22b (Optimus)" => "vit-22b",
            same => same,
        };
        VisionEncoder::from_id(id).unwrap_or_else(|| panic!("{id}"))
    }

    /// Parameters, patches, tokens and FLOPs of 17 published encoders by another program, with images of 448 and 1,024
    /// pixels a side and of 1,920 x 1,080: counts of patches exactly where the encoder takes images as they are, the
    /// others to 1 %.
    #[test]
    fn encoders_are_as_another_program_counts_them() {
        let table = Table::read(include_str!("../../../tests/data/layouts/encoders.csv"));
        let mut rows = 0;
        for line in table.lines() {
            let cells: std::collections::BTreeMap<&str, &str> = line.cells().collect();
            let number = |column: &str| cells[column].parse::<f64>().unwrap();
            let shape = encoder(cells["id"]).shape().unwrap();
            let wide: u64 = cells["text_hidden"].parse().unwrap();
            let model = Architecture { vision: Some(shape), ..Architecture::llama(28, wide, 4 * wide, 32, 8, 1000) };
            let near = |ours: f64, column: &str, within: f64| {
                let theirs = number(column);
                assert!((ours / theirs - 1.0).abs() < within, "{} {column}: {ours} of {theirs}", cells["id"]);
            };
            let projector = model.projector().total();
            near((model.vision_tower().total() - projector) as f64 / 1e6, "tower_Mparams", 2e-3);
            // One encoder has an inner width that stands for several matrices.
            near(projector as f64 / 1e6, "projector_Mparams", 0.02);
            for (size, width, height) in [("448", 448, 448), ("1024", 1024, 1024), ("1080p", 1920, 1080)] {
                // The table rounds a side of ViT-22B down, the note on uneven pipelines up.
                if encoder(cells["id"]) == VisionEncoder::Vit22b && size != "448" {
                    continue;
                }
                let vision = Vision { image_width: width, image_height: height, ..shape };
                near(vision.patches() as f64, &format!("patches_{size}"), 0.01);
                near(vision.tokens() as f64, &format!("lm_tokens_{size}"), 0.01);
                near(vision_flops(&vision, wide) / 3e12, &format!("fwd_TFLOP_{size}"), 0.02);
            }
            rows += 1;
        }
        assert_eq!(rows, 17);
        // No encoder is left out.
        assert_eq!(VisionEncoder::ALL.len(), 16);
    }

    /// Published: 675 M with its merger before a model of 3,584 (Qwen2-VL, section 2.1), 5.5 B, 304 M, 417 M with
    /// positions, 872 M with its adapter, 22 B.
    #[test]
    fn encoders_have_the_parameters_that_are_published() {
        for (encoder, wide, with_projector, published, within) in [
            (VisionEncoder::Qwen2Vl, 3584, true, 675e6, 0.015),
            (VisionEncoder::InternVit6b, 8192, false, 5.5e9, 0.015),
            (VisionEncoder::InternVit300m, 3584, false, 304e6, 0.015),
            (VisionEncoder::Gemma3, 5376, false, 417e6, 0.015),
            (VisionEncoder::Llama4, 5120, true, 872e6, 0.015),
            (VisionEncoder::Vit22b, 6144, false, 22e9, 0.015),
        ] {
            let vision = encoder.shape();
            let model = Architecture { vision, ..Architecture::llama(28, wide, 4 * wide, 32, 8, 1000) };
            let projector = if with_projector { 0 } else { model.projector().total() };
            let ours = (model.vision_tower().total() - projector) as f64;
            assert!((ours / published - 1.0).abs() < within, "{encoder:?}: {ours} of {published}");
        }
    }
}
