//! Holds the modules of the calculator to their one-way order: a module may use the modules below it, never those
//! above.
//!
//! The compiler holds the layers, which are packages: `core` names none of the others, `view` names `core`, `io` both,
//! and only the page's own package depends on crates that need a browser (a test reads their manifests). The order
//! within `core` is read from the sources as text, so that modules behind a feature, tests and macros are held to it as
//! well.

use crate::common::tokens::{Token, rust_files, tokens};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The modules of `src/core`, the calculator, lowest first. A row may use the rows before it.
const CORE: &[Row] = &[
    Row::related(&["maths", "units", "sort", "statics", "table", "message", "source", "issue", "explain"]),
    Row::related(&["field"]),
    Row::related(&["model", "cluster"]),
    Row::related(&["run"]),
    // Values that one of these needs of another are passed to it as numbers.
    Row::separate(&["memory", "pipeline", "traffic", "time"]),
    Row::related(&["report"]),
    Row::related(&["advice"]),
    Row::separate(&["calibrate", "whole_run", "diagnose"]),
    Row::related(&["rl"]),
    Row::related(&["search", "accuracy", "scoreboard"]),
];

/// Crates that need a browser: the calculator, the view and the readers and writers of text depend on none of them.
const BROWSER_CRATES: &[&str] = &[
    "leptos",
    "web_sys",
    "js_sys",
    "wasm_bindgen",
    "wasm_bindgen_futures",
    "serde_wasm_bindgen",
    "plotters_canvas",
    "console_error_panic_hook",
];

/// The layers below the page, lowest first, with the packages of this workspace that each may depend on.
const LAYERS: &[(&str, &[&str])] =
    &[("core", &[]), ("view", &["shardscope-core"]), ("io", &["shardscope-core", "shardscope-view"])];

/// Modules of one height.
struct Row {
    modules: &'static [&'static str],
    /// True where they may use each other (in one direction only).
    related: bool,
}

impl Row {
    const fn related(modules: &'static [&'static str]) -> Self {
        Self { modules, related: true }
    }

    const fn separate(modules: &'static [&'static str]) -> Self {
        Self { modules, related: false }
    }
}

#[test]
fn no_module_reaches_above_itself() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/core");
    let mut files = Vec::new();
    rust_files(&folder, &mut files).unwrap();
    assert!(!files.is_empty());
    let mut checker = Checker::new(CORE);
    for path in files {
        let name = path.strip_prefix(&folder).unwrap();
        checker.read(&name.to_string_lossy(), &fs::read_to_string(&path).unwrap());
    }
    let wrong = checker.verdict();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn layers_depend_on_those_below_and_on_no_browser() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (layer, below) in LAYERS {
        let manifest = fs::read_to_string(src.join(layer).join("Cargo.toml")).unwrap();
        for name in dependencies(&manifest) {
            let ours = name.starts_with("shardscope");
            assert!(!ours || below.contains(&name), "{layer} depends on {name}, which is above it");
            assert!(!BROWSER_CRATES.contains(&name.replace('-', "_").as_str()), "{layer} depends on {name}");
        }
    }
}

/// The packages that a manifest names in its sections of dependencies.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.trim_matches(['[', ']']).ends_with("dependencies");
        } else if inside && let Some((name, _)) = line.split_once('=') {
            names.push(name.trim().trim_end_matches(".workspace"));
        }
    }
    names
}

#[test]
fn dependencies_are_read_from_a_manifest() {
    let manifest =
        "[package]\nname = \"a\"\n[dependencies]\nserde.workspace = true\n\n# why\nleptos = \"1\"\n[lints]\nb = 1";
    assert_eq!(dependencies(manifest), ["serde", "leptos"]);
}

/// Facts read so far.
struct Checker {
    order: &'static [Row],
    wrong: Vec<String>,
    /// Modules that another of their own row names, with the first place.
    related: BTreeMap<(String, String), String>,
}

impl Checker {
    const fn new(order: &'static [Row]) -> Self {
        Self { order, wrong: Vec::new(), related: BTreeMap::new() }
    }

    fn row_of(&self, module: &str) -> Option<usize> {
        self.order.iter().position(|row| row.modules.contains(&module))
    }

    /// Reads a file; `name` is its path below `src`, with slashes.
    fn read(&mut self, name: &str, text: &str) {
        let parts: Vec<&str> = name.trim_end_matches(".rs").split(['/', '\\']).collect();
        let module = parts[0];
        // The module's depth below the crate's root, which `super` climbs.
        let depth = parts.len() - usize::from(parts.last() == Some(&"mod"));
        // lib.rs lists the modules, so it names all of them.
        if module == "lib" {
            return;
        }
        let tokens = tokens(text);
        if self.row_of(module).is_none() {
            self.wrong.push(format!(
                "src/{name}:1: `{module}` has no place in the order: give it one in tests/house/boundaries.rs"
            ));
            return;
        }
        for (line, target) in named_modules(&tokens, depth) {
            self.arrow(&format!("src/{name}:{line}"), module, target);
        }
    }

    fn arrow(&mut self, place: &str, from: &str, to: &str) {
        // The macro that makes messages stands at the root.
        if from == to || to == "t" {
            return;
        }
        let (Some(low), Some(high)) = (self.row_of(from), self.row_of(to)) else {
            self.wrong.push(format!("{place}: `crate::{to}` is no module: name the one that holds it"));
            return;
        };
        if high > low {
            self.wrong.push(format!("{place}: `{from}` is below `{to}`, and names it"));
        } else if high == low && self.order[low].related {
            self.related.entry((from.to_owned(), to.to_owned())).or_insert_with(|| place.to_owned());
        } else if high == low {
            self.wrong.push(format!(
                "{place}: `{from}` and `{to}` may not use each other: pass numbers, join them in report"
            ));
        }
    }

    /// Faults, a line each.
    fn verdict(mut self) -> Vec<String> {
        for ((from, to), place) in &self.related {
            if from < to
                && let Some(back) = self.related.get(&(to.clone(), from.clone()))
            {
                self.wrong.push(format!("{place}: `{from}` names `{to}`, which names it back at {back}"));
            }
        }
        self.wrong
    }
}

/// The first names of all paths that start at the crate's root, each with its line.
fn named_modules<'a>(tokens: &[Token<'a>], depth: usize) -> Vec<(usize, &'a str)> {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let mut found = Vec::new();
    let mut braces = 0;
    // The brace depths at which inline modules began.
    let mut inline: Vec<usize> = Vec::new();
    for at in 0..tokens.len() {
        match text(at) {
            "{" => {
                braces += 1;
                if at >= 2 && text(at - 2) == "mod" {
                    inline.push(braces);
                }
            }
            "}" => {
                inline.pop_if(|begin| *begin == braces);
                braces = braces.saturating_sub(1);
            }
            "crate" if text(at + 1) == "::" => first_names(tokens, at + 2, &mut found),
            "super" if at == 0 || text(at - 1) != "::" || text(at.saturating_sub(2)) == "self" => {
                let mut climbed = 1;
                let mut next = at + 1;
                while text(next) == "::" && text(next + 1) == "super" {
                    climbed += 1;
                    next += 2;
                }
                if text(next) == "::" && climbed >= depth + inline.len() {
                    first_names(tokens, next + 1, &mut found);
                }
            }
            _ => {}
        }
    }
    found
}

/// The names that may follow a path's `::` at `at`: one, or those in braces.
fn first_names<'a>(tokens: &[Token<'a>], at: usize, found: &mut Vec<(usize, &'a str)>) {
    let Some(first) = tokens.get(at) else { return };
    if first.text != "{" {
        found.push((first.line, first.text));
        return;
    }
    let mut braces = 0;
    let mut expect_name = false;
    for token in &tokens[at..] {
        match token.text {
            "{" => {
                braces += 1;
                expect_name = braces == 1;
            }
            "}" => {
                braces -= 1;
                if braces == 0 {
                    return;
                }
            }
            "," => expect_name = braces == 1,
            name if expect_name => {
                found.push((token.line, name));
                expect_name = false;
            }
            _ => {}
        }
    }
}

/// Faults of files in `order`.
fn verdict(order: &'static [Row], files: &[(&str, &str)]) -> Vec<String> {
    let mut checker = Checker::new(order);
    for (name, text) in files {
        checker.read(name, text);
    }
    checker.verdict()
}

#[test]
fn a_planted_violation_is_found_with_its_line() {
    for (name, text, says) in [
        ("units.rs", "\nuse crate::run::Run;", "src/units.rs:2: `units` is below `run`"),
        ("units.rs", "fn f() -> crate::report::Report {}", "src/units.rs:1: "),
        (
            "memory/detailed.rs",
            "use crate::{\n  units::Bytes,\n  pipeline::{order, run},\n};",
            "detailed.rs:3: `memory` and `pipeline` may not",
        ),
        ("model/mod.rs", "use super::run::Run;", "src/model/mod.rs:1: "),
        (
            "model/mla.rs",
            "mod tests {\n use super::super::super::report::Figure;\n}",
            "mla.rs:2: `model` is below `report`",
        ),
        (
            "search/mod.rs",
            "#[cfg(test)]\nmod tests {\n    use crate::accuracy::Row;\n    use crate::view::node;\n}",
            "src/search/mod.rs:4: `crate::view` is no module",
        ),
        ("units.rs", "use crate::Run;", "`crate::Run` is no module"),
        ("kitchen.rs", "", "src/kitchen.rs:1: `kitchen` has no place"),
        ("units.rs", "const A: char = '\"'; const B: &str = r#\"\"#;\nuse crate::run::Run;", "src/units.rs:2: "),
    ] {
        let wrong = verdict(CORE, &[(name, text)]);
        assert!(wrong.len() == 1 && wrong[0].contains(says), "{text}: {wrong:?}");
    }
    let both_ways =
        verdict(CORE, &[("model/mod.rs", "use crate::cluster::Gpu;"), ("cluster/mod.rs", "use crate::model::Model;")]);
    assert_eq!(both_ways.len(), 1, "{both_ways:?}");
}

#[test]
fn what_is_allowed_is_not_reported() {
    let wrong = verdict(
        CORE,
        &[
            ("lib.rs", "pub mod units;\npub mod run;\npub use crate::report::report;"),
            ("explain.rs", "use crate::units::Bytes;\nuse crate::source::Source;"),
            ("run/mod.rs", "mod registry;\nuse crate::{model, cluster::{Gpu, run}};\nuse self::registry::Field;"),
            ("run/registry.rs", "use super::Run;\nmod tests { use super::super::Run; use super::*; }"),
            (
                "units.rs",
                "//! See [`crate::run`].\n/* crate::run /* leptos */ */\nfn f<'a>(s: &'a str) { g(\"crate::run\", 'a', '\\''); }",
            ),
            ("report.rs", "use crate::memory::a;\nuse crate::pipeline::b;\npub(crate) fn f() {}"),
        ],
    );
    assert!(wrong.is_empty(), "{wrong:?}");
}
