//! The part of YAML that files of settings use: nested maps, lists, text, numbers, true, false and null. Anchors, tags
//! and text over several lines are refused by their line.

use crate::core::issue::Issue;
use crate::core::run::Value;

/// Blocks within blocks: whoever reads them calls itself at each.
const DEEPEST: usize = 64;

/// A line that says something: its number, its indentation, and what it says.
struct Line<'a> {
    number: usize,
    indent: usize,
    text: &'a str,
}

/// Reads a file.
///
/// # Errors
/// The first line that cannot be read, by its number.
pub fn read(text: &str) -> Result<Value, Issue> {
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let said = bare(line);
        let indent = line.len() - line.trim_start_matches(' ').len();
        if line[indent..].starts_with('\t') {
            return Err(wrong(number, "a tab indents; YAML takes blanks"));
        }
        if !said.is_empty() && said != "---" && said != "..." {
            lines.push(Line {
                number,
                indent,
                text: said,
            });
        }
    }
    let mut reader = Reader {
        lines,
        at: 0,
        depth: 0,
    };
    let first = reader.lines.first().map_or(0, |line| line.indent);
    let value = reader.block(first)?;
    match reader.lines.get(reader.at) {
        Some(line) => Err(wrong(
            line.number,
            "indented less than what it stands under",
        )),
        None => Ok(value),
    }
}

fn wrong(number: usize, what: &str) -> Issue {
    Issue::error("", format!("line {}: {what}", number + 1))
}

/// A line without its comment and blanks.
fn bare(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match (c, quote) {
            ('#', None) if before.is_whitespace() => return line[..at].trim(),
            ('"' | '\'', None) if !before.is_alphanumeric() => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            _ => {}
        }
        before = c;
    }
    line.trim()
}

struct Reader<'a> {
    lines: Vec<Line<'a>>,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    /// The map or list whose lines stand at `indent`.
    fn block(&mut self, indent: usize) -> Result<Value, Issue> {
        self.depth += 1;
        if self.depth > DEEPEST {
            let number = self.lines.get(self.at).map_or(0, |line| line.number);
            return Err(wrong(number, "nested too deep"));
        }
        let mut map = Vec::new();
        let mut list = Vec::new();
        while let Some(line) = self.lines.get(self.at) {
            let number = line.number;
            if line.indent < indent {
                break;
            }
            if line.indent > indent {
                return Err(wrong(number, "indented more than what it stands under"));
            }
            if let Some(item) = line
                .text
                .strip_prefix('-')
                .filter(|item| item.is_empty() || item.starts_with(' '))
            {
                list.push(self.item(item, indent)?);
                continue;
            }
            let (key, rest) = split(line.text).ok_or_else(|| wrong(number, "no \"key: value\""))?;
            let (key, rest) = (key.trim_matches(['"', '\'']).to_owned(), rest.trim());
            self.at += 1;
            let value = if rest.is_empty() {
                self.below(indent)?
            } else {
                scalar(rest, number)?
            };
            map.push((key, value));
        }
        self.depth -= 1;
        match (map.is_empty(), list.is_empty()) {
            (true, true) => Ok(Value::Null),
            (false, true) => Ok(Value::Map(map)),
            (true, false) => Ok(Value::List(list)),
            (false, false) => {
                let number = self
                    .lines
                    .get(self.at.saturating_sub(1))
                    .map_or(0, |line| line.number);
                Err(wrong(number, "a list and a map at one indentation"))
            }
        }
    }

    /// What belongs to the key above: the lines that are indented more, or a list at the same indentation.
    fn below(&mut self, indent: usize) -> Result<Value, Issue> {
        match self.lines.get(self.at) {
            Some(next) if next.indent > indent => {
                let deeper = next.indent;
                self.block(deeper)
            }
            Some(next) if next.indent == indent && next.text.starts_with("- ") => {
                let mut list = Vec::new();
                while let Some(next) = self.lines.get(self.at) {
                    match next
                        .text
                        .strip_prefix('-')
                        .filter(|_| next.indent == indent)
                    {
                        Some(item) => list.push(self.item(item, indent)?),
                        None => break,
                    }
                }
                Ok(Value::List(list))
            }
            _ => Ok(Value::Null),
        }
    }

    /// An item of a list: a scalar, or a map whose first line stands behind the dash.
    fn item(&mut self, item: &str, indent: usize) -> Result<Value, Issue> {
        let number = self.lines[self.at].number;
        let inner = item.trim_start();
        if inner.is_empty() {
            self.at += 1;
            return self.below(indent);
        }
        if split(inner).is_none() {
            self.at += 1;
            return scalar(inner, number);
        }
        // "- key: value" is a map that is indented by the dash and its blanks.
        let deeper = indent + 1 + item.len() - inner.len();
        let text = self.lines[self.at].text;
        self.lines[self.at] = Line {
            number,
            indent: deeper,
            text: &text[text.len() - inner.len()..],
        };
        self.block(deeper)
    }
}

/// Key and the rest of "key: rest".
fn split(text: &str) -> Option<(&str, &str)> {
    if text.starts_with(['"', '\'', '[', '{']) && !text.contains("\":") && !text.contains("':") {
        return None;
    }
    text.split_once(": ")
        .or_else(|| Some((text.strip_suffix(':')?, "")))
}

fn scalar(text: &str, number: usize) -> Result<Value, Issue> {
    if text.starts_with(['&', '*', '!', '|', '>']) {
        return Err(wrong(
            number,
            "anchors, tags and text over several lines are not read",
        ));
    }
    for (open, close) in [('"', '"'), ('\'', '\'')] {
        if let Some(inner) = text.strip_prefix(open) {
            let inner = inner
                .strip_suffix(close)
                .ok_or_else(|| wrong(number, "a quote without end"))?;
            return Ok(Value::Text(inner.to_owned()));
        }
    }
    if let Some(inner) = text.strip_prefix('[') {
        let inner = inner
            .strip_suffix(']')
            .ok_or_else(|| wrong(number, "a list without end"))?;
        let items = inner
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty());
        return items
            .map(|item| scalar(item, number))
            .collect::<Result<_, _>>()
            .map(Value::List);
    }
    if text == "{}" {
        return Ok(Value::Map(Vec::new()));
    }
    Ok(match text {
        "null" | "~" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        text => super::words::scalar(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_settings_are_read() {
        let text = "---\ngeneral:\n  project: debug # which\n  run: 'a: b'\nstages:\n- data:\n    seed: 42\n  name: First\n- name: Second\nmodel:\n  dims: [1, 2]\n  std: 1.0e-05\n  path: null\n  tied: true\n";
        let value = read(text).unwrap();
        let at = |path: &[&str]| {
            path.iter()
                .try_fold(&value, |value, key| value.get(key))
                .cloned()
        };
        assert_eq!(
            at(&["general", "run"]),
            Some(Value::Text("a: b".to_owned()))
        );
        assert_eq!(
            at(&["general", "project"]),
            Some(Value::Text("debug".to_owned()))
        );
        assert_eq!(at(&["model", "std"]), Some(Value::Number(1e-5)));
        assert_eq!(at(&["model", "path"]), Some(Value::Null));
        assert_eq!(at(&["model", "tied"]), Some(Value::Bool(true)));
        let Some(Value::List(stages)) = at(&["stages"]) else {
            panic!()
        };
        assert_eq!(stages.len(), 2);
        assert_eq!(
            stages[0].get("data").and_then(|data| data.get("seed")),
            Some(&Value::Number(42.0))
        );
        assert_eq!(
            stages[1].get("name"),
            Some(&Value::Text("Second".to_owned()))
        );
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        for (text, line) in [
            ("a: 1\nb", "line 2"),
            ("a:\n\tb: 1", "line 2"),
            ("a: 1\n   b: 2", "line 2"),
            ("a: &x 1", "line 1"),
            ("a: 'x", "line 1"),
            ("  a: 1\nb: 2", "line 2"),
            (&format!("{}a: 1", "- ".repeat(10_000)), "line 1"),
            (
                &(0..100).fold(String::new(), |text, at| {
                    format!("{text}{}a:\n", " ".repeat(at))
                }),
                "line 65",
            ),
        ] {
            let message = read(text).unwrap_err().message.to_string();
            assert!(message.starts_with(line), "{text}: {message}");
        }
    }
}
