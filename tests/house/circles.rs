//! No folder needs, over any number of folders and files beside it, itself. Files of one folder may need each other.
//!
//! Reads the sources as text: `use` items, and paths that begin with `crate`, `super`, `self`, a package or a file of
//! the same folder. A name that a module hands on counts as that of the file that defines it; unit tests do not count.
//! A folder counts as one with all its files for what stands beside it.

use crate::common::tokens::{rust_files, tokens};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A path of names; of a file: its module's, `core::time::rates`.
type Names = Vec<String>;

/// A file's references to others.
#[derive(Default)]
struct File {
    /// Names that its `use` items bring in, with the whole path of each, and whether they are handed on.
    uses: Vec<(String, Names, bool)>,
    /// Paths in its code.
    paths: Vec<Names>,
}

/// All files by their modules.
#[derive(Default)]
struct Program(BTreeMap<Names, File>);

/// The folders of `src` that are packages of their own.
const PACKAGES: &[&str] = &["core", "view", "io"];

#[test]
fn no_folders_import_each_other_in_a_circle() {
    if let Some(circle) = Program::read().circle() {
        panic!("move what these share into a file that none of them needs:\n{circle}");
    }
}

/// Modules with their sources, as a program.
fn program(files: &[(&str, &str)]) -> Program {
    let mut program = Program::default();
    for (module, _) in files {
        program.0.insert(path(module), File::default());
    }
    for (module, text) in files {
        program.take(&path(module), text);
    }
    program
}

#[test]
fn files_of_one_folder_may_need_each_other() {
    let files = [
        ("a", "mod b; mod c; pub use b::Of; pub(in crate::a) fn none() {}"),
        ("a::b", "use super::c; pub struct Of; fn f() { c::g() }"),
        ("a::c", "use crate::a::Of; #[cfg(test)] mod tests { use crate::d::h; }"),
        ("d", "use crate::a::{b::{Of as Other}}; pub fn h() {}"),
    ];
    assert_eq!(program(&files).circle(), None);
    let both_ways = [files[0], ("a::b", "use crate::d::h;"), files[3]];
    assert_eq!(program(&both_ways).circle().unwrap(), "a::b needs d\nd needs a::b");
}

#[test]
fn circles_are_found_over_folders_that_hand_names_on() {
    let files = [
        ("stairs", "use super::fit::Set; pub fn f() {}"),
        ("fit", "mod search; mod ladders; pub use search::Fit; pub struct Set;"),
        ("fit::search", "use super::ladders::g; pub struct Fit;"),
        ("fit::ladders", "use super::super::stairs::f; pub fn g() {}"),
    ];
    assert_eq!(program(&files).circle().unwrap(), "fit::ladders needs stairs\nstairs needs fit");
    assert_eq!(program(&files[1..]).circle(), None);
}

fn path(text: &str) -> Names {
    text.split("::").map(str::to_owned).collect()
}

impl Program {
    fn read() -> Self {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut files = Vec::new();
        rust_files(&src, &mut files).unwrap();
        // Unit tests in a file of their own.
        files.retain(|file| file.file_name().is_none_or(|name| name != "tests.rs"));
        let module = |file: &Path| {
            let name = file.strip_prefix(&src).unwrap().with_extension("");
            let names = name.iter().map(|name| name.to_str().unwrap().to_owned());
            let mut names: Names = names.collect();
            names.pop_if(|last| matches!(last.as_str(), "mod" | "lib"));
            names
        };
        let mut program = Self::default();
        for file in &files {
            program.0.insert(module(file), File::default());
        }
        for file in &files {
            program.take(&module(file), &fs::read_to_string(file).unwrap());
        }
        program
    }

    /// Reads the file of `module`.
    fn take(&mut self, module: &Names, source: &str) {
        let tokens = tokens(source);
        let words: Vec<&str> = tokens.iter().map(|token| token.text).collect();
        let tests = ["#", "[", "cfg", "(", "test", ")", "]", "mod"];
        let end = words.windows(tests.len()).position(|part| part == tests);
        let words = &words[..end.unwrap_or(words.len())];
        let mut file = File::default();
        let (mut at, mut public) = (0, false);
        while at < words.len() {
            match words[at] {
                "pub" if words.get(at + 1) == Some(&"(") => {
                    at += words[at..].iter().position(|word| *word == ")").unwrap_or(0);
                    public = true;
                }
                "pub" => public = true,
                "use" => {
                    let mut found = Vec::new();
                    at = tree(words, at + 1, &[], &mut found);
                    for (name, path) in found {
                        if let Some(path) = self.whole(module, path) {
                            file.uses.push((name, path, public));
                        }
                    }
                    public = false;
                }
                _ => {
                    public = false;
                    let begins = at == 0 || words[at - 1] != "::";
                    if begins && words.get(at + 1) == Some(&"::") {
                        let mut names = vec![words[at].to_owned()];
                        while words.get(at + 1) == Some(&"::") && at + 2 < words.len() {
                            names.push(words[at + 2].to_owned());
                            at += 2;
                        }
                        file.paths.extend(self.whole(module, names));
                    }
                }
            }
            at += 1;
        }
        self.0.insert(module.clone(), file);
    }

    /// A path of `module` from the root; none where it is another crate's.
    fn whole(&self, module: &Names, mut path: Names) -> Option<Names> {
        let mut base = module.clone();
        match path[0].as_str() {
            "crate" => {
                base.truncate(usize::from(module.first().is_some_and(|first| PACKAGES.contains(&first.as_str()))));
            }
            "self" => {}
            "super" => {
                while path.first().is_some_and(|name| name == "super") {
                    base.pop();
                    path.remove(0);
                }
                base.extend(path);
                return Some(base);
            }
            own if own.strip_prefix("shardscope_").is_some_and(|package| PACKAGES.contains(&package)) => {
                base = vec![own.trim_start_matches("shardscope_").to_owned()];
            }
            own => {
                base.push(own.to_owned());
                if !self.0.contains_key(&base) {
                    return None;
                }
            }
        }
        base.extend(path.into_iter().skip(1));
        Some(base)
    }

    /// The module that defines what `path` names.
    fn defines(&self, path: &[String], depth: usize) -> Option<&Names> {
        let known = |length: &usize| self.0.contains_key(&path[..*length]);
        let length = (1..=path.len()).rev().find(known)?;
        let (module, file) = self.0.get_key_value(&path[..length])?;
        let handed = path.get(length).and_then(|name| {
            let mut uses = file.uses.iter();
            uses.find(|(known, whole, _)| known == name && whole[..] != path[..])
        });
        match handed {
            Some((_, whole, _)) if depth < 8 => {
                let whole = [&whole[..], &path[length + 1..]].concat();
                self.defines(&whole, depth + 1)
            }
            _ => Some(module),
        }
    }

    /// The files that the one of `module` needs.
    fn needs(&self, module: &Names) -> BTreeSet<&Names> {
        let file = &self.0[module];
        // A module that hands on what its own files define does not need it.
        let uses = file.uses.iter();
        let used = uses.filter(|(_, path, public)| !(*public && path.starts_with(module)));
        let mut needed = BTreeSet::new();
        needed.extend(used.filter_map(|(_, path, _)| self.defines(path, 0)));
        needed.extend(file.paths.iter().filter_map(|path| self.defines(path, 0)));
        needed.remove(module);
        needed
    }

    /// A circle of folders and of the files beside them: who needs one name of a folder needs all that the folder
    /// holds.
    fn circle(&self) -> Option<String> {
        let is_folder =
            |module: &[String]| self.0.keys().any(|file| file.len() > module.len() && file.starts_with(module));
        let mut neighbours = Graph::new();
        for file in self.0.keys() {
            for needed in self.needs(file) {
                let depth = file.iter().zip(needed).take_while(|(ours, theirs)| ours == theirs).count();
                if let (Some(ours), Some(theirs)) = (file.get(..=depth), needed.get(..=depth))
                    && (is_folder(ours) || is_folder(theirs))
                {
                    let because = format!("{} needs {}", file.join("::"), needed.join("::"));
                    neighbours.entry(ours).or_default().insert(theirs, because);
                }
            }
        }
        circle(neighbours)
    }
}

/// Modules, the modules that each needs, and the files that are the reason.
type Graph<'a> = BTreeMap<&'a [String], BTreeMap<&'a [String], String>>;

/// The reasons along a circle of `graph`, one a line.
fn circle(mut graph: Graph) -> Option<String> {
    // Modules that need none of those left are in no circle.
    loop {
        let needs_nothing = |needs: &BTreeMap<_, _>| !needs.keys().any(|needed| graph.contains_key(needed));
        let free: Vec<_> = graph.iter().filter(|(_, needs)| needs_nothing(needs)).map(|(module, _)| *module).collect();
        if free.is_empty() {
            break;
        }
        graph.retain(|module, _| !free.contains(module));
    }
    let mut way = vec![*graph.keys().next()?];
    let mut reasons = Vec::new();
    loop {
        let (next, because) = graph[way[way.len() - 1]].iter().find(|(needed, _)| graph.contains_key(*needed))?;
        reasons.push(because.as_str());
        if let Some(first) = way.iter().position(|module| module == next) {
            return Some(reasons[first..].join("\n"));
        }
        way.push(next);
    }
}

/// Reads a `use` tree behind `before` from `at` on: names and paths; returns where it ends.
fn tree(words: &[&str], mut at: usize, before: &[String], found: &mut Vec<(String, Names)>) -> usize {
    let mut path = before.to_vec();
    loop {
        match words.get(at).copied() {
            Some("{") => loop {
                at = tree(words, at + 1, &path, found);
                if words.get(at) != Some(&",") {
                    return at + 1;
                }
            },
            Some("::") => {}
            Some("as") => {
                let name = words.get(at + 1).map_or("", |name| name);
                found.push((name.to_owned(), path));
                return at + 2;
            }
            Some("," | "}" | ";") => {
                if path.len() > before.len() {
                    path.pop_if(|last| last == "self");
                    let name = path.last().cloned().unwrap_or_default();
                    found.push((name, path));
                }
                return at;
            }
            Some(name) => path.push(name.to_owned()),
            None => return at,
        }
        at += 1;
    }
}
