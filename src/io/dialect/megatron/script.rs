//! Settings into a launch script.

use crate::dialect::SettingEntries;
use crate::dialect::text::shell::quoted_word;
use shardscope_core::run::Value;
use shardscope_core::run::registry::plain;

/// A shell script that starts `program` by torchrun: comments, the launcher's two arguments, then an argument a line.
pub(super) fn script(program: &str, dashes: &str, entries: &SettingEntries, comments: &[String]) -> String {
    let word = |(name, value): &(String, Value)| match value {
        Value::Bool(_) => format!("{dashes}{name}"),
        Value::List(items) => {
            let words: Vec<_> = items.iter().filter_map(plain).collect();
            format!("{dashes}{name} {}", words.join(" "))
        }
        other => format!("{dashes}{name} {}", script_word(&plain(other).unwrap_or_default())),
    };
    let (launcher, settings) = entries.split_at(entries.len().min(2));
    let launcher: Vec<String> = launcher.iter().map(word).collect();
    let mut lines = vec!["#!/bin/bash\n".to_owned()];
    lines.extend(comments.iter().map(|comment| format!("# {comment}\n")));
    lines.push(format!("torchrun {} {program}", launcher.join(" ")));
    lines.extend(settings.iter().map(|entry| format!(" \\\n    {}", word(entry))));
    lines.push("\n".to_owned());
    lines.concat()
}

/// True of a variable of the script between its quotes: `"$LR"`.
fn is_variable(text: &str) -> bool {
    let name = text.strip_prefix("\"$").and_then(|rest| rest.strip_suffix('"'));
    name.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
}

/// A value as a word of the script: a variable stays one.
fn script_word(text: &str) -> String {
    if is_variable(text) { text.to_owned() } else { quoted_word(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::text::words::Script;

    #[test]
    fn what_is_quoted_is_one_word_again() {
        for text in ["a", "a b", "it's", "([0]*3+[1]*58)", "", "Et*3|t*4,L"] {
            let script = Script::read(&format!("x {} y", script_word(text)));
            let expected = if text.is_empty() { vec!["x", "y", ""] } else { vec!["x", text, "y", ""] };
            assert_eq!(script.words, expected);
        }
    }
}
