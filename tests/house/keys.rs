//! Keys of fields stand in the code as texts: each names a field of the registry.

use crate::common::tokens::rust_files;
use shardscope::core::run::registry::field;
use std::fs;
use std::path::Path;

/// Calls whose first argument is the key of a field.
const CALLS: [&str; 13] = [
    "Issue::error(",
    "Issue::warning(",
    "Issue::notice(",
    ".with_fix(",
    ".or_fix(",
    ".with_near(",
    ".or_near(",
    "error_near(",
    "self.error(",
    ".refuse(",
    ".doubt(",
    "reader.set(",
    " field(",
];

/// Places of issues that are no fields of a Run: those of requests, of a link and of a lesson.
const PLACES: [&str; 17] = [
    "files",
    "",
    "v",
    "view.sliders",
    "pin",
    "space",
    "also",
    "work",
    "tables",
    "ask",
    "runs",
    "run",
    "format",
    "days",
    "step_s",
    "link",
    "date",
];

/// Structs of fields, whose keys begin with their name.
const STRUCTS: [&str; 9] =
    ["gpu", "precision", "stack", "adapter", "offload", "phases", "schedule_options", "overlap", "profile"];

/// The text that `code` begins with, blanks before it aside.
fn literal(code: &str) -> Option<&str> {
    code.trim_start().strip_prefix('"')?.split('"').next()
}

#[test]
fn every_key_that_the_code_names_is_a_field() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&root, &mut files).unwrap();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for file in files {
        let place = file.strip_prefix(&root).unwrap().display().to_string();
        let source = fs::read_to_string(&file).unwrap();
        let code = source.split("#[cfg(test)]\nmod tests").next().unwrap();
        // A pipeline's own fields, which `report` translates.
        let mut keys: Vec<&str> = if place.starts_with("core/pipeline") {
            Vec::new()
        } else {
            CALLS.iter().flat_map(|call| code.split(call).skip(1).filter_map(literal)).collect()
        };
        // Other programs have names that look alike.
        if !place.starts_with("io/dialect") {
            let texts = code.split('"').skip(1).step_by(2);
            keys.extend(texts.filter(|text| {
                let is_key = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.".contains(c);
                let parts = text.split_once('.').filter(|(_, rest)| !rest.is_empty() && text.chars().all(is_key));
                parts.is_some_and(|(name, _)| STRUCTS.contains(&name))
            }));
        }
        count += keys.len();
        let lost = keys.into_iter().filter(|key| field(key).is_none() && !PLACES.contains(key));
        wrong.extend(lost.map(|key| format!("{place}: {key}")));
    }
    assert!(count > 300, "{count}");
    assert!(wrong.is_empty(), "no fields of a Run: {wrong:#?}");
}
