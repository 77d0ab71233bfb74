//! Sources that a visitor can open: no text cites a document that is not published, and every method that a text
//! names is described.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders whose texts are read.
const FOLDERS: [&str; 6] = ["src", "tests", "tools", "docs", "benches", "examples"];
/// Endings of the files that people write.
const ENDINGS: [&str; 7] = ["rs", "md", "mjs", "js", "py", "ts", "csv"];
/// Words for documents that only the authors have.
const UNPUBLISHED: [&str; 10] = [
    "survey, section",
    "survey section",
    "survey of memory",
    "the survey",
    "of the issue",
    "(reference, section",
    "the reference gives",
    "third edition",
    "fourth edition",
    "contract, second",
];
/// Documents whose texts in backticks are read as paths of this repository.
const DOCUMENTS: [&str; 5] =
    ["README.md", "CONTRIBUTING.md", "SKILL.md", "tools/npm/GUIDE.md", "tools/python/README.md"];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|end| ENDINGS.iter().any(|known| end == *known)) {
            found.push(path);
        }
    }
}

fn is_markdown(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|end| end == "md")
}

fn texts() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in FOLDERS {
        files(&root.join(folder), &mut found);
    }
    let own = root.join(file!());
    found
        .into_iter()
        .filter(|path| *path != own)
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect()
}

#[test]
fn no_text_cites_what_is_not_published() {
    let mut cited = Vec::new();
    for (path, text) in texts() {
        for (number, line) in text.lines().enumerate() {
            let small = line.to_lowercase();
            if UNPUBLISHED.iter().any(|words| small.contains(words)) {
                cited.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(cited.is_empty(), "{cited:#?}");
}

/// Below `reference/` are documents that only the authors have, and a method of `docs/methods` is cited with its
/// folder: a bare name would be one of theirs. Other projects have folders that are called alike.
#[test]
fn no_document_of_the_authors_is_cited() {
    let methods: Vec<String> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/methods"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "README.md")
        .collect();
    let mut cited = Vec::new();
    for (path, text) in texts() {
        let in_docs = path.starts_with(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs"));
        let is_word = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        for word in text.split(|c| !is_word(c)).filter(|word| is_markdown(word)) {
            let is_theirs = word.starts_with("reference/") || word.contains("/reference/");
            let is_bare = !in_docs && methods.iter().any(|name| name == word);
            // A file that the page writes.
            if (is_theirs || is_bare) && word != "diagnosis.md" {
                cited.push(format!("{}: {word}", path.display()));
            }
        }
    }
    assert!(cited.is_empty(), "{cited:#?}");
}

/// A file of `docs/methods` that a comment or a text names is there, and a link from one document to another leads to
/// one. Other paths below `docs` are those of other projects.
#[test]
fn documents_that_are_named_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut named = 0;
    for (path, text) in texts() {
        let word = |c: char| !(c.is_ascii_alphanumeric() || "/._-".contains(c));
        for name in text.split(word).filter(|word| word.starts_with("docs/methods/") && is_markdown(word)) {
            assert!(root.join(name).is_file(), "{} names {name}", path.display());
            named += 1;
        }
        if path.extension().is_some_and(|end| end == "md") && path.starts_with(root.join("docs")) {
            for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let file = link.split('#').next().unwrap_or_default();
                if !file.is_empty() && !file.contains("://") {
                    assert!(path.parent().unwrap().join(file).exists(), "{} links to {link}", path.display());
                }
            }
        }
    }
    assert!(named > 10, "{named}");
}

/// A path in backticks of a document leads to a file or a folder; `.rs` may be left out. Words in capitals stand for
/// any name.
#[test]
fn paths_that_documents_name_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut documents: Vec<PathBuf> = DOCUMENTS.iter().map(|name| root.join(name)).collect();
    files(&root.join("docs"), &mut documents);
    let (mut named, mut lost) = (0, Vec::new());
    for document in documents.iter().filter(|path| path.extension().is_some_and(|end| end == "md")) {
        let text = fs::read_to_string(document).unwrap();
        for quoted in text.split('`').skip(1).step_by(2) {
            let starts =
                ["src/", "tests/", "tools/", "docs/", "public/", "examples/", "benches/", "locales/", "style/"];
            let is_path = starts.iter().any(|start| quoted.starts_with(start))
                && quoted.chars().all(|sign| sign.is_ascii_alphanumeric() || "/._-".contains(sign));
            let is_pattern =
                quoted.split(['/', '.']).any(|part| part.len() > 1 && part.chars().all(|c| c.is_ascii_uppercase()));
            if !is_path || is_pattern {
                continue;
            }
            named += 1;
            let path = root.join(quoted);
            if !path.exists() && !path.with_extension("rs").exists() {
                lost.push(format!("{} names {quoted}", document.display()));
            }
        }
    }
    assert!(named > 100, "{named}");
    assert!(lost.is_empty(), "{lost:#?}");
}

#[test]
fn the_list_of_methods_is_complete() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/methods");
    let list = fs::read_to_string(folder.join("README.md")).unwrap();
    let names: BTreeSet<String> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    for name in names.iter().filter(|name| *name != "README.md") {
        assert!(list.contains(&format!("({name})")), "docs/methods/README.md does not list {name}");
    }
    assert!(names.len() > 5);
}
