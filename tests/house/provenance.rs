//! No constant with a source is missing from the table that the sources page shows.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn read(folder: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, texts);
        } else if path.extension().is_some_and(|end| end == "rs") {
            texts.push(fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn every_cited_constant_is_in_the_table_of_constants() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let shown = fs::read_to_string(src.join("core/accuracy/constants.rs")).unwrap();
    let mut texts = Vec::new();
    read(&src, &mut texts);
    let word = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    let shown_words: BTreeSet<&str> = shown.split(word).collect();
    let mut found = 0;
    for line in texts.iter().flat_map(|text| text.lines()) {
        let mut words = line.trim_start();
        // `pub`, `pub(crate)`, `pub(super)`.
        if let Some(rest) = words.strip_prefix("pub") {
            words = rest.trim_start_matches(|c| c != ' ').trim_start();
        }
        let Some(rest) = words.strip_prefix("const ").or(words.strip_prefix("static ")) else {
            continue;
        };
        let Some((name, kind)) = rest.split_once(": ") else {
            continue;
        };
        if !kind.starts_with("Cited<") || kind.starts_with("Cited<LossKernel>") {
            continue;
        }
        found += 1;
        assert!(shown_words.contains(name), "{name} has no row in accuracy/constants.rs");
    }
    // The loss kernels stand there as one table.
    assert!(found >= 15 && shown.contains("LOSS_KERNELS"), "{found}");
}
