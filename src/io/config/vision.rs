//! The vision tower of a `config.json`: `vision_config`, whose names differ by family.
//!
//! Source: transformers, `configuration_qwen2_vl.py`, `configuration_qwen2_5_vl.py`, `configuration_qwen3_vl.py` and
//! `configuration_glm4v.py`. A tower of another kind, or one whose file leaves a shape to its library, is not read: the
//! defaults of those classes are not the shapes that were released.

use shardscope_core::message::{Message, verbatim};
use shardscope_core::model::VisionParts;
use shardscope_core::run::Value;
use shardscope_core::t;
use shardscope_core::units::whole;

/// Pixels a side of the image that a sequence is taken to have: these towers take images of any size, and no file says
/// which.
const SIDE: u64 = 1024;

/// How a family names and shapes its tower.
struct Tower {
    /// Prefix of `model_type`.
    kind: &'static str,
    hidden: &'static str,
    /// The entry of the FFN's width; none where it is `mlp_ratio` times the width.
    ffn: Option<&'static str>,
    gated: bool,
}

const TOWERS: [Tower; 5] = [
    Tower { kind: "qwen2_vl", hidden: "embed_dim", ffn: None, gated: false },
    Tower { kind: "qwen2_5_vl", hidden: "hidden_size", ffn: Some("intermediate_size"), gated: true },
    Tower { kind: "qwen3_vl", hidden: "hidden_size", ffn: Some("intermediate_size"), gated: false },
    Tower { kind: "qwen3_5", hidden: "hidden_size", ffn: Some("intermediate_size"), gated: false },
    // Its blocks' FFN is as wide as the language model; `intermediate_size` is the merger's.
    Tower { kind: "glm4v", hidden: "hidden_size", ffn: Some("out_hidden_size"), gated: true },
];

/// A tower as read, with what each entry was taken for and what was assumed.
pub(super) struct Read {
    pub parts: VisionParts,
    pub used: Vec<(String, Message)>,
    pub assumed: Message,
}

/// The tower of a file of `kind`; none where it has none, or is of a kind that is not read.
pub(super) fn tower(config: &Value, kind: &str) -> Option<Read> {
    let vision = config.get("vision_config")?;
    let family = TOWERS.iter().find(|tower| kind.starts_with(tower.kind))?;
    let mut used = Vec::new();
    let mut count = |key: &'static str, what: &'static str| {
        let Some(Value::Number(number)) = vision.get(key) else { return None };
        let value = whole(*number).filter(|value| *value > 0)?;
        used.push((format!("vision_config.{key}"), t!("{what} {value}", what, value)));
        Some(value)
    };
    let hidden = count(family.hidden, "width of the vision tower")?;
    let ffn = match family.ffn {
        Some(key) => count(key, "FFN width of the vision tower")?,
        None => hidden.checked_mul(count("mlp_ratio", "FFN over the width of the vision tower")?)?,
    };
    let parts = VisionParts {
        hidden: Some(hidden),
        ffn: Some(ffn),
        layers: Some(count("depth", "layers of the vision tower")?),
        patch: Some(count("patch_size", "side of a patch")?),
        merge: Some(count("spatial_merge_size", "patches merged along a side")?),
        temporal: Some(count("temporal_patch_size", "frames of a patch")?),
        window: count("window_size", "side of the windows"),
        full_layers: full_layers(vision),
        gated: Some(family.gated),
        image_width: Some(SIDE),
        image_height: Some(SIDE),
        ..VisionParts::default()
    };
    let key = "model.vision.image_width";
    let assumed = t!(
        "one image of {side} x {side} pixels a sequence: the file does not say ({key})",
        side = SIDE,
        key = verbatim(key)
    );
    Some(Read { parts, used, assumed })
}

/// Layers that attend to the whole image, where the file lists them.
fn full_layers(vision: &Value) -> Option<u64> {
    match vision.get("fullatt_block_indexes") {
        Some(Value::List(layers)) => Some(layers.len() as u64),
        _ => None,
    }
}
