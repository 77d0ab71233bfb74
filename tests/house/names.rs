//! Names: a type that other files may name has one of its own, and texts name what is there.

use crate::common::tokens::{Token, rust_files, tokens};
use shardscope::core::report::schedule_ids;
use shardscope::core::run::registry::FIELDS;
use shardscope::io::request::Verb;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The Rust files below `folder`, each with its text.
fn sources(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    rust_files(&root.join(folder), &mut paths).unwrap();
    let read = |path: std::path::PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path.strip_prefix(root).unwrap().display().to_string(), text)
    };
    paths.into_iter().map(read).collect()
}

/// The types of a source that other folders may name, with their lines; those of its unit tests are left out.
fn public_types(source: &str) -> Vec<Token<'_>> {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let words = tokens(code);
    let mut found = Vec::new();
    for (at, token) in words.iter().enumerate() {
        if token.text != "pub" {
            continue;
        }
        let text = |at: usize| words.get(at).map_or("", |token| token.text);
        let mut next = at + 1;
        if text(next) == "(" {
            if text(next + 1) == "super" {
                continue;
            }
            next += words[next..].iter().position(|token| token.text == ")").map_or(0, |close| close + 1);
        }
        let is_type = matches!(text(next), "struct" | "enum" | "trait" | "type" | "union");
        // A macro's own `$name`.
        if is_type && text(next + 1) != "$" {
            found.extend(words.get(next + 1));
        }
    }
    found.extend(listed(&words));
    found
}

/// The types that `one_of! { Name { .. } Other { .. } }` declares.
fn listed<'t>(words: &[Token<'t>]) -> Vec<Token<'t>> {
    let mut found = Vec::new();
    let mut depth: Option<usize> = None;
    for (at, token) in words.iter().enumerate() {
        let begins = at >= 2 && words[at - 2].text == "one_of" && words[at - 1].text == "!";
        depth = match (depth, token.text) {
            (None, "{") if begins => Some(0),
            (Some(0), "}") => None,
            (Some(depth), "}") => Some(depth - 1),
            (Some(depth), "{") => {
                if depth == 0 {
                    found.extend(words.get(at - 1));
                }
                Some(depth + 1)
            }
            (depth, _) => depth,
        };
    }
    found
}

#[test]
fn a_type_that_other_folders_may_name_has_a_name_of_its_own() {
    let files = sources("src");
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, text) in &files {
        for token in public_types(text) {
            places.entry(token.text).or_default().push(format!("{path}:{}", token.line));
        }
    }
    assert!(places.len() > 500, "{}", places.len());
    let twice: Vec<_> = places.into_iter().filter(|(_, places)| places.len() > 1).collect();
    assert!(twice.is_empty(), "{twice:#?}");
}

#[test]
fn a_type_of_a_folder_or_of_a_file_is_not_counted() {
    let source = "pub struct A<T>(T);\nstruct B;\npub(super) enum C {}\npub(crate) type D = u8;\n\
                  macro_rules! m { () => { pub enum $name {} } }\npub(in crate::x) trait E {}\n// pub struct F;\n\
                  one_of! {\n Left { One = \"one\" \"1\", }\n Right { Two = \"two\" \"2\", }\n}\n\
                  #[cfg(test)]\nmod tests { pub struct G; }\n";
    let names: Vec<_> = public_types(source).iter().map(|token| (token.text, token.line)).collect();
    assert_eq!(names, [("A", 1), ("D", 4), ("E", 6), ("Left", 9), ("Right", 10)]);
}

/// The texts between backticks of a line of prose; links to items are left out, which rustdoc checks.
fn quoted(line: &str) -> Vec<&str> {
    let parts: Vec<&str> = line.split('`').collect();
    let inside = (1..parts.len().saturating_sub(1)).step_by(2);
    let is_link = |at: &usize| parts[at - 1].ends_with('[') && parts[at + 1].starts_with(']');
    inside.filter(|at| !is_link(at)).map(|at| parts[at]).collect()
}

/// The words of a code.
fn words<'t>(lines: impl IntoIterator<Item = &'t str>) -> impl Iterator<Item = &'t str> {
    let code = lines.into_iter().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
}

/// A function with its comment.
struct Function<'t> {
    /// Line of the first line of the comment, from 1.
    line: usize,
    comment: &'t [&'t str],
    /// Its signature and its body.
    code: &'t [&'t str],
}

/// The functions of a source that have a comment.
fn functions<'t>(lines: &'t [&'t str]) -> Vec<Function<'t>> {
    let is_doc = |line: &str| line.trim_start().starts_with("///");
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let comment = lines[at..].iter().take_while(|line| is_doc(line)).count();
        if comment == 0 {
            at += 1;
            continue;
        }
        let mut first = at + comment;
        first += lines[first..].iter().take_while(|line| line.trim_start().starts_with("#[")).count();
        let signature = lines.get(first).copied().unwrap_or_default();
        if signature
            .split_whitespace()
            .take_while(|word| !word.contains('(') || word.starts_with("pub"))
            .any(|word| word == "fn")
        {
            let indent = &signature[..signature.len() - signature.trim_start().len()];
            let close = format!("{indent}}}");
            let is_last =
                |line: &&str| **line == close || line.ends_with(");") && line.starts_with(&format!("{indent})"));
            let is_short = signature.ends_with(['}', ';']);
            let length = if is_short { 1 } else { lines[first..].iter().take_while(|line| !is_last(line)).count() };
            found.push(Function {
                line: at + 1,
                comment: &lines[at..at + comment],
                code: &lines[first..first + length],
            });
        }
        at += comment;
    }
    found
}

/// Names that the lines declare: functions, modules, constants, locals, fields and arguments.
fn declared<'t>(lines: &[&'t str]) -> BTreeSet<&'t str> {
    let mut names = BTreeSet::new();
    for line in lines.iter().filter(|line| !line.trim_start().starts_with("//")) {
        let mut before = "";
        for word in line.split([' ', '(', '<', ';']) {
            if matches!(before, "fn" | "mod" | "const" | "static" | "let" | "mut") {
                names.insert(word.trim_end_matches([':', ',']));
            }
            names.extend(word.strip_suffix(':'));
            before = word;
        }
    }
    names
}

/// The texts in quotation marks of a source that are one word.
fn literals(source: &str) -> impl Iterator<Item = &str> {
    source.split('"').filter(|text| is_plain_word(text))
}

/// A name as arguments and locals have it. Names of other programs mostly have underscores or capitals, those of
/// formulas are letters.
fn is_plain_word(text: &str) -> bool {
    text.len() > 2 && text.chars().all(|c| c.is_ascii_lowercase())
}

/// Keys, ids and verbs, as links and requests write them.
fn ids() -> BTreeSet<&'static str> {
    let keys = FIELDS.iter().flat_map(|field| field.key.split('.'));
    let verbs = Verb::ALL.iter().map(|verb| verb.name());
    keys.chain(schedule_ids()).chain(verbs).collect()
}

/// What the comment of a function names in backticks and the function does not have, nor its file.
fn lost_names<'t>(lines: &'t [&'t str], ids: &BTreeSet<&str>) -> Vec<(usize, &'t str)> {
    let known: BTreeSet<&str> =
        declared(lines).into_iter().chain(lines.iter().flat_map(|line| literals(line))).collect();
    let mut lost = Vec::new();
    for function in functions(lines) {
        let own: BTreeSet<&str> = words(function.code.iter().copied()).collect();
        for (at, line) in function.comment.iter().enumerate() {
            // Behind a source stand names of another program.
            let source = line.find("Source");
            let names = quoted(&line[..source.unwrap_or(line.len())]).into_iter().filter(|name| is_plain_word(name));
            let missing = names.filter(|name| !own.contains(name) && !known.contains(name) && !ids.contains(name));
            lost.extend(missing.map(|name| (function.line + at, name)));
            if source.is_some() {
                break;
            }
        }
    }
    lost
}

#[test]
fn the_comment_of_a_function_names_what_the_function_has() {
    let ids = ids();
    let mut lost = Vec::new();
    let mut count = 0;
    for (path, text) in sources("src") {
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let lines: Vec<&str> = code.lines().collect();
        count += functions(&lines).len();
        lost.extend(lost_names(&lines, &ids).into_iter().map(|(line, name)| format!("{path}:{line}: {name}")));
    }
    assert!(count > 3000, "{count}");
    assert!(lost.is_empty(), "{}\n{lost:#?}", lost.len());
}

#[test]
fn a_comment_that_names_an_argument_of_another_name_is_found() {
    let lines = [
        "    /// Fills `all` up to `most`, as [`gone`] does; `helper` and `gpu` are known. Source: `elsewhere`.",
        "    #[must_use]",
        "    pub fn fill(list: &mut Vec<u8>, most: usize) {",
        "        list.push(0);",
        "    }",
        "    /// Keeps `helper`.",
        "    fn helper() -> u8 { 0 }",
    ];
    assert_eq!(lost_names(&lines, &BTreeSet::from(["gpu"])), [(1, "all")]);
    let lines = lines.map(|line| line.replace(" Source: `elsewhere`.", ""));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(lost_names(&lines, &BTreeSet::new()), [(1, "all"), (1, "gpu")]);
}

/// Names in a path of Rust: `Run::from_value`.
fn segments(text: &str) -> Option<Vec<&str>> {
    let parts: Vec<&str> = text.trim_end_matches("()").split("::").collect();
    let is_name = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
    (parts.len() > 1 && parts.iter().all(is_name)).then_some(parts)
}

/// True if the file called `name` has this end.
fn ends(name: &str, end: &str) -> bool {
    Path::new(name).extension().is_some_and(|own| own == end)
}

/// Paths of Rust and files that comments and the pages for contributors name.
#[test]
fn paths_that_texts_name_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (code, tests) = (sources("src"), sources("tests"));
    let known: BTreeSet<&str> = code.iter().chain(&tests).flat_map(|(_, text)| words(text.lines())).collect();
    let pages = ["docs/architecture.md", "CONTRIBUTING.md", "README.md"];
    let pages = pages.map(|page| (page.to_owned(), fs::read_to_string(root.join(page)).unwrap()));
    let mut lost = Vec::new();
    for (path, text) in code.iter().chain(&tests).chain(&pages) {
        let beside = root.join(path);
        let is_there = |name: &str| {
            let bases = ["", "src", "src/core", "src/core/pipeline", "tests"].map(|base| root.join(base));
            bases.iter().chain(beside.parent().map(Path::to_path_buf).as_ref()).any(|base| base.join(name).exists())
        };
        for (at, line) in text.lines().enumerate() {
            if ends(path, "rs") && !line.trim_start().starts_with("//") {
                continue;
            }
            for name in quoted(line) {
                let is_room = ["core/", "view/", "io/", "web/", "src/"].iter().any(|room| name.starts_with(room));
                let is_path = name.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c));
                let is_ours = is_path && (ends(name, "rs") || is_room && !ends(name, "py"));
                let is_lost = if is_ours {
                    // A place that a reader fills in is written in capitals.
                    !is_there(name) && !name.contains("NAME") && !name.contains("SUBJECT")
                } else {
                    segments(name).is_some_and(|parts| {
                        // The standard library, and the C++ of PyTorch.
                        let is_foreign = ["std", "torch", "at", "c10"].contains(&parts[0]);
                        !is_foreign && parts.iter().any(|part| !known.contains(part))
                    })
                };
                if is_lost {
                    lost.push(format!("{path}:{}: {name}", at + 1));
                }
            }
        }
    }
    assert!(lost.is_empty(), "{}\n{lost:#?}", lost.len());
}
