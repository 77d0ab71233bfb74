//! Writes the pages that stand beside the calculator: `pages FOLDER` makes `sources.html` and `limits.html` in it, and both
//! in Chinese, and the list of fields for other programs, `fields.json`.

use serde_json::json;
use shardscope::core::message::Catalogue;
use shardscope::core::run::registry::{FIELDS, Field, Slot, field as found};
use shardscope::core::run::{Choice, Run};
use shardscope::io::export;
use shardscope::view::panels::limits::limits;
use shardscope::view::panels::provenance::{document, sources};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let folder = Path::new(&folder);
    let chinese: Catalogue = serde_json::from_str(include_str!("../locales/zh.json"))?;
    for (end, tag, catalogue) in [("html", "en", &Catalogue::default()), ("zh.html", "zh-CN", &chinese)] {
        let write = |name, title, content| {
            let page = document(title, content, (tag, catalogue));
            std::fs::write(folder.join(format!("{name}.{end}")), page)
        };
        write("sources", "Sources", sources())?;
        write("limits", "What it does not model", limits())?;
    }
    let fields: Vec<_> = FIELDS.iter().map(row).collect();
    let formats: Vec<_> = export::ids().collect();
    std::fs::write(folder.join("fields.json"), json!({ "fields": fields, "formats": formats }).to_string())?;
    Ok(())
}

/// A setting as plain data: key, kind with its limits, unit, hint, default; `based` of presets that are changed by parts.
fn row(field: &Field) -> serde_json::Value {
    let ids = |options: fn() -> Vec<Choice>| options().iter().map(|choice| choice.id).collect::<Vec<_>>();
    let limits = match field.slot {
        Slot::Count { range: (low, high), .. } => json!({ "kind": "count", "range": [low, high] }),
        Slot::Number { range: (low, high), .. } => json!({ "kind": "number", "range": [low, high] }),
        Slot::Toggle => json!({ "kind": "toggle" }),
        Slot::Choice { options } => json!({ "kind": "choice", "choices": ids(options) }),
        Slot::Counts => json!({ "kind": "counts" }),
        Slot::Numbers { length, range: (low, high) } => {
            json!({ "kind": "numbers", "range": [low, high], "length": length })
        }
        Slot::Set { options } => json!({ "kind": "set", "choices": ids(options) }),
        Slot::Text => json!({ "kind": "text" }),
    };
    let mut row = json!({
        "key": field.key, "label": field.label, "unit": field.unit, "hint": field.hint,
        "default": field.get(&Run::default()), "advanced": field.advanced,
        "based": found(&format!("{}.base", field.key)).is_some(),
    });
    if let (Some(row), serde_json::Value::Object(limits)) = (row.as_object_mut(), limits) {
        row.extend(limits);
    }
    row
}
