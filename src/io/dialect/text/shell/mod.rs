//! A script of a shell, run on paper: which commands it starts, with which words, and which of its branches run.
//!
//! Nothing is started. Variables, arrays, sums, conditions, loops over known words, functions, here-documents and files
//! that are given are what they are in Bash; what comes from outside (the environment, arguments, the output of a
//! program) is not known, and a branch that rests on it is named.

mod arithmetic;
mod commands;
mod conditions;
mod expand;
mod parser;
mod patterns;
mod run;
mod state;
mod tree;

pub(crate) use parser::{Fault, is_name};
pub(super) use run::NOTHING;
use serde::Serialize;
use state::{Shell, Text, Value, clean};
use std::collections::BTreeMap;

/// Programs that run a text of a shell.
pub(crate) const SHELLS: [&str; 4] = ["bash", "sh", "zsh", "sbatch"];

/// The program that a word of a command names, without its folder.
pub(crate) fn program_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// Letters of a condition that are kept.
const MAX_CONDITION: usize = 160;

/// What a request says beside the text: values of variables, or `true` and `false` of a condition by its text; and
/// files that the text names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    pub set: Vec<(String, String)>,
    pub files: Vec<(String, String)>,
    /// True of the Python of a notebook's cells, which is one process.
    pub is_notebook: bool,
}

/// `word` as a shell reads it back: as it is where nothing in it is special, else between single quotes.
pub(crate) fn quoted_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,+=@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// A condition of a text, and the way that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Branch {
    pub line: u64,
    /// As the text has it, in one line; `set` takes the other way by it.
    pub condition: String,
    /// If it holds, as it was read.
    pub taken: bool,
    /// False where it rests on what the text does not set.
    pub decided: bool,
    /// Variables from outside of the text that it rests on.
    pub rests_on: Vec<String>,
}

/// A command that the script starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Started {
    /// What is not known stands by its name: `$NAME`, `$(command)`.
    pub words: Vec<String>,
    pub line: u64,
    /// How many values were set when it started.
    pub set: usize,
}

/// A file that is sourced and was not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MissingFile {
    pub name: String,
    pub line: u64,
}

/// What came of a script.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub started: Vec<Started>,
    /// Values of plain variables in the order they were set; none where one ends to be set.
    pub set: Vec<(String, Option<String>)>,
    /// The arrays at the end.
    pub arrays: Vec<(String, Vec<String>)>,
    pub branches: Vec<Branch>,
    pub missing: Vec<MissingFile>,
    /// Files that it writes.
    pub files: BTreeMap<String, String>,
    /// No branch is left out.
    pub all_run: bool,
    /// Names of the request's values that the text has.
    pub met: Vec<String>,
    pub fault: Option<Fault>,
}

impl Ran {
    /// The values of the variables that are set where `command` starts, in the order they were set; of the whole text
    /// where there is none.
    pub fn variables(&self, command: Option<&Started>) -> Vec<(String, String)> {
        let mut values: Vec<(String, String)> = Vec::new();
        for (name, value) in self.set.iter().take(command.map_or(usize::MAX, |command| command.set)) {
            match value {
                Some(value) => values.push((name.clone(), value.clone())),
                None if command.is_some() => values.retain(|(known, _)| known != name),
                None => {}
            }
        }
        values
    }
}

/// Runs `text` on paper; `before` are variables that are set already.
pub(crate) fn run(text: &str, given: &Given, before: &[(&str, String)]) -> Ran {
    let mut shell = Shell::new(given);
    for (name, value) in before {
        shell.assign(name, Text::of(clean(value)));
    }
    let text = clean(text);
    shell.text(&text, 1);
    let arrays = shell.variables.iter().filter_map(|(name, value)| match value {
        Value::List(items) => Some((name.clone(), items.values().map(Text::shown).collect())),
        _ => None,
    });
    Ran {
        arrays: arrays.collect(),
        started: shell.started,
        set: shell.set,
        branches: shell.branches,
        missing: shell.missing,
        files: shell.files.into_iter().map(|(name, text)| (name, text.shown())).collect(),
        all_run: shell.all_run,
        met: shell.met,
        fault: shell.fault,
    }
}

#[cfg(test)]
mod tests;
