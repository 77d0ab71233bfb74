//! Grids of a vision tower and of the language model: arguments of Megatron-LM's example of MIMO and of
//! Megatron-Bridge's script for Qwen3.5-VL.
//!
//! Source: Megatron-LM d98e8a6, `examples/mimo/training/args.py`, `model_providers/nemotron_moe_vlm.py`,
//! `radio_encoder.py` (the tower is RADIO's, on the first ranks, with CP and PP 1); Megatron-Bridge 067f987,
//! `examples/megatron_mimo/qwen35_vl/finetune_qwen35_vl.py` (`--component language=tp=4,pp=2,dp=2,rank_offset=0`; a
//! micro-batch is that of all replicas of the language model together).

use crate::dialect::rows::prelude::*;
use shardscope_core::model::{TowerPlace, Vision, VisionEncoder};

/// Sizes of the language model's grid, with the defaults of Megatron-LM's example.
static LANGUAGE: &[Same] = &[
    same("--llm-tp", "tp", Some(2)),
    same("--llm-pp", "pp", Some(1)),
    same("--llm-cp", "cp", Some(1)),
    same("--llm-ep", "ep", Some(1)),
];
const LANGUAGE_DP: &str = "--llm-dp";
const TOWER_TP: &str = "--encoder-tp";
const TOWER_DP: &str = "--encoder-dp";
/// Degree of the experts' tensor parallelism; 1 where it is not given.
pub const EXPERTS_TP: &str = "--llm-expt-tp";
/// A module of Megatron-Bridge's script.
const COMPONENT: &str = "--component";

/// True of settings that lay the modules out one by one.
pub fn are_there(reader: &SettingsReader) -> bool {
    let mut names = LANGUAGE.iter().map(|row| row.name).chain([LANGUAGE_DP, TOWER_TP, TOWER_DP]);
    names.any(|name| reader.has(name))
}

/// Says the modules of Megatron-Bridge's script as Megatron-LM's example has them, with what the script does unasked.
pub fn expand(entries: &mut SettingEntries) {
    let texts = |value: &Value| match value {
        Value::List(items) => items.iter().filter_map(Value::text).map(str::to_owned).collect(),
        value => value.text().map(str::to_owned).into_iter().collect::<Vec<_>>(),
    };
    let modules: Vec<String> =
        entries.iter().filter(|(name, _)| name == COMPONENT).flat_map(|(_, value)| texts(value)).collect();
    if modules.is_empty() {
        return;
    }
    let mut sizes: Vec<(&'static str, u64)> = LANGUAGE.iter().map(|row| (row.name, 1)).collect();
    sizes.extend([(LANGUAGE_DP, 1), (TOWER_TP, 1), (TOWER_DP, 1)]);
    let mut replicas = 1;
    for (module, each) in modules.iter().filter_map(|text| text.split_once('=')) {
        for (key, size) in each.split(',').filter_map(|size| size.split_once('=')) {
            let Ok(size) = size.parse::<u64>() else { continue };
            let name = match (module, key) {
                ("language", "tp") => "--llm-tp",
                ("language", "pp") => "--llm-pp",
                ("language", "cp") => "--llm-cp",
                ("language", "dp") => LANGUAGE_DP,
                ("images", "tp") => TOWER_TP,
                ("images", "dp") => TOWER_DP,
                _ => continue,
            };
            if name == LANGUAGE_DP {
                replicas = size.max(1);
            }
            sizes.push((name, size));
        }
    }
    for (name, value) in entries.iter_mut() {
        match (name.as_str(), &*value) {
            ("--hf-model", _) => "model".clone_into(name),
            ("--freeze-vision", _) => "--freeze-vit".clone_into(name),
            ("--freeze-llm", _) => "--freeze-lm".clone_into(name),
            ("--freeze-projector", _) => "--freeze-projection".clone_into(name),
            ("--micro-batch-size", Value::Number(all)) => *value = Value::Number((all / replicas as f64).max(1.0)),
            _ => {}
        }
    }
    let is_fp32 = entries.iter().any(|(name, _)| name == "--fp32");
    let unasked: &[&str] = if is_fp32 { &[] } else { &["--bf16"] };
    entries.extend(sizes.into_iter().map(|(name, size)| (name.to_owned(), Value::from(size))));
    entries.extend(
        unasked.iter().chain(&["--use-distributed-optimizer"]).map(|name| ((*name).to_owned(), Value::Bool(true))),
    );
}

/// Takes the language model's grid.
pub fn language(reader: &mut SettingsReader) {
    reader.same(LANGUAGE, "Megatron-LM's example of MIMO");
}

/// GPUs of the tower and its tensor parallelism.
#[derive(Clone, Copy, Debug)]
pub struct TowerGrid {
    gpus: u64,
    tp: u64,
}

/// Takes the number of GPUs: those of both grids; none of a tower where there is the language model alone.
pub fn gpus(reader: &mut SettingsReader) -> Option<TowerGrid> {
    let dp = reader.count(LANGUAGE_DP, "replicas of the language model").unwrap_or(2);
    let tp = reader.count(TOWER_TP, "tensor parallelism of the tower").unwrap_or(2);
    let own = reader.count(TOWER_DP, "replicas of the tower").unwrap_or(2);
    let alone = reader.flag("--llm-only", "the language model alone");
    let run = &reader.run;
    // Shards above tensor parallelism are ranks of their own.
    let shards = match reader.last("--tensor-parallel-num-weight-shards") {
        Some(Value::Number(all)) => whole(*all).map_or(1, |all| all / run.tp.max(1)).max(1),
        _ => 1,
    };
    let language = [run.tp, run.pp, run.cp, shards].into_iter().fold(dp, u64::saturating_mul);
    let grid = TowerGrid { gpus: tp.saturating_mul(own), tp };
    let all = if alone { language } else { language.saturating_add(grid.gpus) };
    reader.set("gpus", all);
    (!alone).then_some(grid)
}

/// Takes the tower on `grid`.
pub fn tower(reader: &mut SettingsReader, grid: TowerGrid) {
    let by_bridge = reader.word(COMPONENT, "modules, each with a grid:").is_some();
    let encoder = if by_bridge { VisionEncoder::Qwen35 } else { VisionEncoder::RadioH };
    reader.set("model.vision.base", encoder.id());
    if !by_bridge {
        reader.assume("the vision tower is RADIO's, the only one of Megatron-LM's example");
        // `--dynamic-resolution` leaves images as they are.
        if reader.flag("--dynamic-resolution", "images at their own size") {
            reader.set("model.vision.tile", 0_u64);
        }
    }
    let width = reader.count("--img-w", "image width");
    let height = reader.count("--img-h", "image height");
    for (key, pixels) in [("model.vision.image_width", width), ("model.vision.image_height", height)] {
        if let Some(pixels) = pixels {
            reader.set(key, pixels);
        }
    }
    if width.is_none() && height.is_none() {
        reader.assume("the size of the images, as on this page: they are in the data");
    }
    reader.set("model.vision.placement", TowerPlace::OwnRanks.id());
    reader.set("model.vision.gpus", grid.gpus);
    reader.set("model.vision.tp", grid.tp);
    let frozen = reader.flag("--freeze-vit", "the tower is frozen");
    reader.set("model.vision.frozen", frozen);
}

/// The tower of `s` where Megatron-LM's example has it: RADIO's, on ranks of its own.
pub fn example(s: &Scenario) -> Option<Vision> {
    let vision = s.model.vision.filter(Vision::is_apart)?;
    (vision.base == VisionEncoder::RadioH && s.run.cp == 1).then_some(vision)
}

/// Says both grids, the tower's first.
pub fn write(s: &Scenario, vision: Vision, writer: &mut SettingsWriter) {
    let run = &s.run;
    writer.say(TOWER_TP, vision.tp);
    writer.say(TOWER_DP, vision.replicas());
    writer.say("--llm-offset", vision.gpus);
    for row in LANGUAGE {
        writer.same(&[Same { default: None, ..*row }], run);
    }
    writer.say(LANGUAGE_DP, s.layout.dp);
    writer.when(s.model.moe.is_some(), EXPERTS_TP, run.etp);
    writer.when(vision.tile == 0, "--dynamic-resolution", true);
    writer.say("--pixel-shuffle", true);
    writer.say("--img-w", vision.image_width);
    writer.say("--img-h", vision.image_height);
    writer.when(vision.frozen, "--freeze-vit", true);
}
