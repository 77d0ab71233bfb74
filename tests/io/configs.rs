//! A config.json of every model of `presets_2026.csv`, written from the facts of its source, against the preset.
use shardscope::core::model::Vision;
use shardscope::core::run::{Run, Scenario, Value, presets};
use shardscope::io::config;

/// Layers, shapes and parameters are those of the preset. Files of language models alone lack Llama 4's vision tower; a
/// file names MTP modules where the preset leaves them out.
#[test]
fn a_file_of_every_model_of_2026_gives_its_preset() {
    let text = std::fs::read_to_string("tests/data/model_configs.jsonl").unwrap();
    let mut count = 0;
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let Some(Value::Text(id)) = row.get("preset") else { panic!("no preset") };
        let read = config::read(row.get("config").unwrap());
        let read = read.unwrap_or_else(|issues| panic!("{id}: {issues:?}"));
        let mut ours = read.model().resolve().unwrap();
        let mut preset = presets::model(id).unwrap().architecture;
        preset.vision = None::<Vision>;
        assert_eq!(ours.elements(), preset.elements(), "{id}");
        assert_eq!(ours.all_kinds(), preset.all_kinds(), "{id}");
        // Widths of dense FFNs that no layer has, and heads that only the pattern's other layers use.
        (ours.ffn, ours.head_dim, ours.kv_heads) = (preset.ffn, preset.head_dim, preset.kv_heads);
        ours.mtp_modules = preset.mtp_modules;
        assert_eq!(ours, preset, "{id}");
        let run = Run { model: read.model(), tp: 1, pp: 1, ..Run::default() };
        assert!(Scenario::new(&run).is_ok(), "{id}");
        count += 1;
    }
    assert_eq!(count, 33);
}
