//! Writes the pages that stand beside the calculator: `pages FOLDER` makes `sources.html` and `limits.html` in it, and both
//! in Chinese.

use shardscope::core::message::Catalogue;
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
    Ok(())
}
