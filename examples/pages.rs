//! Writes the pages that stand beside the calculator: `pages FOLDER` makes `sources.html` and `limits.html` in it.

use shardscope::view::panels::limits::limits;
use shardscope::view::panels::provenance::{document, sources};
use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let folder = Path::new(&folder);
    std::fs::write(
        folder.join("sources.html"),
        document("Sources · Shardscope", sources()),
    )?;
    std::fs::write(
        folder.join("limits.html"),
        document("Limits · Shardscope", limits()),
    )
}
