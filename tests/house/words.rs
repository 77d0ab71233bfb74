//! Words that promise something are written in one place, whose rule the others use.

use crate::common::tokens::rust_files;
use std::fs;
use std::path::Path;

/// Texts of a verdict, of a gain, of what was chosen and of what is the fastest, with the files that have them. A run
/// that ran out of memory is no verdict of an estimate: diagnosis calls it so itself.
const PLACES: [(&str, &[&str]); 10] = [
    ("\"Fits\"", &["src/view/words.rs"]),
    ("\"Tight\"", &["src/view/words.rs"]),
    ("\"May run out\"", &["src/view/words.rs"]),
    (
        "\"Out of memory\"",
        &["src/view/panels/diagnose/mod.rs", "src/view/panels/diagnose/offered.rs", "src/view/words.rs"],
    ),
    ("\"is tight\"", &["src/view/words.rs"]),
    ("\"may run out of memory\"", &["src/view/words.rs"]),
    ("\"✓ fits\"", &["src/view/words.rs"]),
    ("% less\"", &["src/view/words.rs"]),
    ("The fastest that fits here", &["src/view/words.rs"]),
    ("Layout: chosen for you", &["src/view/panels/chosen.rs"]),
];

#[test]
fn a_verdict_has_its_words_from_one_place() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    rust_files(&root.join("src"), &mut files).unwrap();
    let codes: Vec<(String, String)> = files
        .iter()
        .map(|file| {
            let source = fs::read_to_string(file).unwrap();
            let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let lines: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            (file.strip_prefix(root).unwrap().to_string_lossy().into_owned(), lines.join("\n"))
        })
        .filter(|(name, _)| !name.contains("/learn/") && !name.ends_with("/tests.rs"))
        .collect();
    for (words, places) in PLACES {
        let found = codes.iter().filter(|(_, code)| code.contains(words)).map(|(name, _)| name.as_str());
        let found: Vec<&str> = found.collect();
        assert_eq!(found, places, "{words}: use the function that has it");
    }
}
