//! The settings of a text in any of the forms that programs take.

use crate::core::run::Value;
use crate::io::dialect::words::{Script, scalar};
use crate::io::dialect::{Entries, python, yaml};

/// Settings as they stand: dotted names of YAML, Hydra and Python, `--name` of arguments, `$NAME` of variables.
pub(crate) struct Settings {
    pub entries: Entries,
    /// The text that they stand in.
    pub text: String,
}

impl Settings {
    /// The last value of a setting; null is none.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let mut latest = self.entries.iter().rev();
        latest.find(|(known, _)| known == name).map(|(_, value)| value).filter(|value| **value != Value::Null)
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

    /// True if a setting is this word.
    pub fn is(&self, name: &str, word: &str) -> bool {
        self.get(name).and_then(Value::text).is_some_and(|text| text.eq_ignore_ascii_case(word))
    }
}

/// The settings of a text in each form that it may have.
pub(crate) fn read_all(text: &str) -> Vec<Settings> {
    let settings = |entries: Entries| Settings { entries, text: text.to_owned() };
    if python::is_file(text) {
        return vec![settings(python::entries(text))];
    }
    let mut out = Vec::new();
    // Its reader does not like a shell's words; what it makes of a comment alone says nothing.
    if let Ok(entries) = yaml::entries(text)
        && !entries.is_empty()
    {
        let plain = |(name, value)| (name, of_environment(value));
        out.push(settings(entries.into_iter().map(plain).collect()));
    }
    out.push(settings(script(text)));
    out
}

/// `${NAME:-value}` and `${NAME:value}` of a file are the value where the environment is not told otherwise.
fn of_environment(value: Value) -> Value {
    let inner = value.text().and_then(|text| text.strip_prefix("${")?.strip_suffix('}')?.split_once(':'));
    match inner {
        Some((name, default)) if !name.contains(['.', '{']) && name.chars().any(|c| c.is_ascii_uppercase()) => {
            scalar(default.trim_start_matches('-'))
        }
        _ => value,
    }
}

/// Arguments, Hydra's overrides, variables and the files that a script begins with.
fn script(text: &str) -> Entries {
    let script = Script::read(text);
    let mut out: Entries = Vec::new();
    for (name, value) in &script.variables {
        out.push((format!("${name}"), plain(scalar(value))));
    }
    for (name, value) in script.arguments() {
        // What follows the words of a program's own overrides belongs to no argument.
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
    // ms-swift's two commands.
    for pair in script.words.windows(2) {
        if ["swift", "megatron"].contains(&pair[0].as_str()) && ["pt", "sft", "rlhf"].contains(&pair[1].as_str()) {
            out.push(("program".to_owned(), Value::Text(pair[0].clone())));
        }
    }
    out
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
