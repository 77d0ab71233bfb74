//! The part of TOML that files of settings use: sections, keys, text, numbers, true and false, lists.

use super::Entries;
use crate::core::issue::Issue;
use crate::core::run::Value;

/// The settings of a file, by dotted name: `[training]` and `seq_len = 8192` is `training.seq_len`.
///
/// # Errors
/// The first line that is no setting, by its number.
pub fn read(text: &str) -> Result<Entries, Issue> {
    let mut section = String::new();
    let mut entries = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let wrong =
            |what: &str| Issue::error("", format!("line {}: {what}: {}", number + 1, line.trim()));
        let mut line = bare(line).to_owned();
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let name = name.trim_start_matches('[').trim_end_matches(']');
            name.trim().clone_into(&mut section);
            continue;
        }
        // A list may go on over several lines.
        let (mut opened, mut closed) = brackets(&line);
        while opened > closed {
            let Some((_, more)) = lines.next() else {
                return Err(wrong("a list without end"));
            };
            let more = bare(more);
            let (opens, closes) = brackets(more);
            (opened, closed) = (opened + opens, closed + closes);
            line.push_str(more);
        }
        let (key, value) = line.split_once('=').ok_or_else(|| wrong("no setting"))?;
        let key = key.trim().trim_matches('"');
        let name = if section.is_empty() {
            key.to_owned()
        } else {
            format!("{section}.{key}")
        };
        entries.push((
            name,
            value_of(value.trim()).ok_or_else(|| wrong("no value"))?,
        ));
    }
    Ok(entries)
}

/// How many lists open and close in a line.
fn brackets(line: &str) -> (usize, usize) {
    let count = |bracket| unquoted(line).filter(|(_, c)| *c == bracket).count();
    (count('['), count(']'))
}

/// A line without its comment and blanks.
fn bare(line: &str) -> &str {
    let comment = unquoted(line).find(|(_, c)| *c == '#');
    line[..comment.map_or(line.len(), |(at, _)| at)].trim()
}

/// The characters outside quotes, each with its place.
fn unquoted(line: &str) -> impl Iterator<Item = (usize, char)> {
    let mut quote = None;
    line.char_indices().filter(move |(_, c)| match quote {
        None if matches!(c, '"' | '\'') => {
            quote = Some(*c);
            false
        }
        None => true,
        Some(open) => {
            quote = quote.filter(|_| *c != open);
            false
        }
    })
}

fn value_of(text: &str) -> Option<Value> {
    for quote in ["\"\"\"", "\"", "'"] {
        if let Some(inner) = text.strip_prefix(quote) {
            return Some(Value::Text(inner.strip_suffix(quote)?.to_owned()));
        }
    }
    if let Some(inner) = text.strip_prefix('[') {
        let items = inner.strip_suffix(']')?.split(',');
        let items = items.map(str::trim).filter(|item| !item.is_empty());
        return items.map(value_of).collect::<Option<_>>().map(Value::List);
    }
    match text {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        "" => None,
        text => {
            let number = text.replace('_', "").parse::<f64>().ok()?;
            number.is_finite().then_some(Value::Number(number))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_named_by_section_and_key() {
        let text = "# torchtitan\n[model]\nname = \"llama3\" # which\nconverters = [\n  \"float8\",\n]\n[training]\nseq_len = 8_192\nmax_norm = 1.0\ncompile = true\n";
        let entries = read(text).unwrap();
        let expected = [
            ("model.name", Value::Text("llama3".to_owned())),
            (
                "model.converters",
                Value::List(vec![Value::Text("float8".to_owned())]),
            ),
            ("training.seq_len", Value::Number(8192.0)),
            ("training.max_norm", Value::Number(1.0)),
            ("training.compile", Value::Bool(true)),
        ];
        assert_eq!(
            entries,
            expected.map(|(name, value)| (name.to_owned(), value))
        );
        assert!(
            read("a = 1\nnothing")
                .unwrap_err()
                .message
                .to_string()
                .starts_with("line 2")
        );
        assert!(read("a = nan").is_err() && read("a = 1e999").is_err());
        assert!(read("a = b c").is_err() && read("a = [1").is_err());
        assert_eq!(
            read("a = \"[\" # ]").unwrap()[0].1,
            Value::Text("[".to_owned())
        );
    }
}
