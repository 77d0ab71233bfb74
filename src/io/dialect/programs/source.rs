//! The settings of a text in any of the forms that programs take.

use crate::dialect::words::{Script, scalar};
use crate::dialect::{Entries, python, yaml};
use shardscope_core::message::Message;
use shardscope_core::run::Value;
use std::collections::BTreeMap;

/// Settings as they stand: dotted names of YAML, Hydra and Python, `--name` of arguments, `$NAME` of variables.
pub(crate) struct Settings {
    pub entries: Entries,
    /// The text that they stand in; of a script first the words that run.
    pub text: String,
    /// Notes on the choices that the text leaves open.
    pub doubts: Vec<Message>,
    /// Files that they are merged from.
    pub files: usize,
}

impl Settings {
    /// The last value of a setting; null is none.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let mut latest = self.entries.iter().rev();
        latest.find(|(known, _)| known == name).map(|(_, value)| value).filter(|value| **value != Value::Null)
    }

    /// Files that these settings are over and that are not among them: what `defaults` and `extends` name.
    pub fn missing(&self) -> Vec<&str> {
        let lists = self.entries.iter().filter(|(name, _)| name == "defaults" || name == "extends");
        let names = lists.flat_map(|(_, value)| match value {
            Value::List(items) => items.iter().filter_map(Value::text).collect(),
            value => value.text().into_iter().collect::<Vec<_>>(),
        });
        let names: Vec<&str> = names.filter(|name| *name != "_self_").collect();
        if names.len() < self.files { Vec::new() } else { names }
    }

    /// A number, or a switch as 1 or 0.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            Value::Number(number) => Some(*number),
            Value::Bool(yes) => Some(f64::from(u8::from(*yes))),
            _ => None,
        }
    }

    /// True if a setting begins with one of these.
    pub fn begins(&self, starts: &[&str]) -> bool {
        self.entries.iter().any(|(name, _)| starts.iter().any(|start| name.starts_with(start)))
    }

    /// True of verl's trainer for fine-tuning.
    pub fn is_tuning_of_verl(&self) -> bool {
        self.text.contains("verl.trainer.sft_trainer") && self.begins(&["engine.", "data."])
    }

    /// The engine that verl's trainer for fine-tuning is told to take: a word of its command, which a shell's reader
    /// may have for a variable.
    pub fn engine_of_verl(&self) -> Option<&str> {
        let word = || self.text.lines().find_map(|line| line.trim().strip_prefix("engine="));
        let chosen = self.get("$engine").and_then(Value::text).or_else(word)?;
        chosen.split_whitespace().next()
    }

    /// True if a setting is this word.
    pub fn is(&self, name: &str, word: &str) -> bool {
        self.get(name).and_then(Value::text).is_some_and(|text| text.eq_ignore_ascii_case(word))
    }
}

/// The settings of a text in each form that it may have.
pub(crate) fn read_all(text: &str) -> Vec<Settings> {
    let settings = |entries: Entries| Settings { entries, text: text.to_owned(), doubts: Vec::new(), files: 1 };
    if python::is_file(text) {
        return vec![settings(python::entries(text))];
    }
    let mut out = Vec::new();
    out.extend(of_yaml(text).map(settings));
    out.push(script(text));
    out
}

/// The settings of a file of YAML; none of a shell's words, or where there is a comment alone.
fn of_yaml(text: &str) -> Option<Entries> {
    let entries = yaml::entries(text).ok().filter(|entries| !entries.is_empty())?;
    Some(entries.into_iter().map(|(name, value)| (name, of_environment(value))).collect())
}

/// The settings of several files of YAML, each over those before it; none where one is none.
pub(super) fn merged(files: &[&str]) -> Option<Settings> {
    let (mut all, mut gone) = (Vec::new(), BTreeMap::new());
    for (at, file) in files.iter().enumerate() {
        for (name, value) in of_yaml(file)? {
            // Null takes a whole section of the files below away.
            if value == Value::Null {
                gone.insert(name.clone(), at);
            }
            all.push((at, name, value));
        }
    }
    let stays = |at: usize, name: &str| {
        let mut sections = name.match_indices('.').map(|(end, _)| &name[..end]);
        !sections.any(|section| gone.get(section).is_some_and(|gone| *gone > at))
    };
    let entries: Entries =
        all.into_iter().filter(|(at, name, _)| stays(*at, name)).map(|(_, name, value)| (name, value)).collect();
    Some(Settings { entries, text: files.join("\n"), doubts: Vec::new(), files: files.len() })
}

/// `${NAME:-value}` and `${NAME:value}` within a text of a file are the value where the environment is not told
/// otherwise; "none" is null, as the programs read it.
fn of_environment(value: Value) -> Value {
    let Some(text) = value.text() else { return value };
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let default = after.split_once('}').and_then(|(inner, after)| {
            let (name, default) = inner.split_once(':')?;
            let of_shell = !name.contains(['.', '{']) && name.chars().any(|c| c.is_ascii_uppercase());
            of_shell.then_some((default.trim_start_matches('-'), after))
        });
        out.push_str(before);
        let (said, after) = default.unwrap_or(("${", after));
        out.push_str(said);
        rest = after;
    }
    out.push_str(rest);
    plain(if out == text { value } else { scalar(&out) })
}

/// Arguments, Hydra's overrides, variables and the files that a script begins with.
fn script(text: &str) -> Settings {
    let script = Script::read(text);
    let mut out: Entries = Vec::new();
    for (name, value) in &script.variables {
        out.push((format!("${name}"), plain(scalar(value))));
    }
    for (name, value) in script.arguments() {
        // Words behind those of a program's own overrides belong to no argument.
        let value = match value {
            Value::List(items) => Value::List(items.into_iter().filter(|item| !is_override(item)).collect()),
            value if is_override(&value) => Value::Bool(true),
            value => value,
        };
        let value = match value {
            Value::List(mut items) if items.len() == 1 => items.pop().unwrap_or_default(),
            value => value,
        };
        out.push((name.replace('_', "-"), plain(value)));
    }
    for word in &script.words {
        let word = word.trim_start_matches(['+', '~']);
        match word.split_once('=') {
            Some((name, value)) if !name.starts_with('-') && name.contains('.') => {
                out.push((name.to_owned(), plain(scalar(value.trim_matches(['\'', '"'])))));
            }
            None if word.rsplit('.').next() == Some("sh") => {
                out.push(("source".to_owned(), Value::Text(word.to_owned())));
            }
            _ => {}
        }
    }
    // ms-swift's two commands, and the file behind the first.
    if script.words.iter().any(|word| word.ends_with("swift/cli/sft.py")) {
        out.push(("program".to_owned(), Value::Text("swift".to_owned())));
    }
    for pair in script.words.windows(2) {
        if ["swift", "megatron"].contains(&pair[0].as_str()) && ["pt", "sft", "rlhf"].contains(&pair[1].as_str()) {
            out.push(("program".to_owned(), Value::Text(pair[0].clone())));
        }
    }
    let set = script.variables.iter().map(|(_, value)| value);
    let mut words: Vec<&str> = script.words.iter().chain(set).map(String::as_str).collect();
    // Comments, where they are not about branches that do not run.
    if !text.contains("esac") {
        words.push(text);
    }
    Settings { entries: out, text: words.join("\n"), doubts: script.doubts(), files: 1 }
}

fn is_override(value: &Value) -> bool {
    value.text().is_some_and(|text| text.split_once('=').is_some_and(|(name, _)| name.contains('.')))
}

/// Value that a program of Python reads from a word of a shell.
fn plain(value: Value) -> Value {
    match value.text() {
        Some("true" | "True") => Value::Bool(true),
        Some("false" | "False") => Value::Bool(false),
        Some("none" | "None" | "null" | "") => Value::Null,
        _ => value,
    }
}
