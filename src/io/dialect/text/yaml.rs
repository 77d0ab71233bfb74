//! A YAML file as a value, from the events of `saphyr-parser`.
//!
//! Plain words mean what `PyYAML` makes of them, the reader of the programs: `yes` and `on` are true, `8_192` is a
//! number, and `<<` merges another map. Tags are ignored but for `!!str`.

use crate::dialect::SettingEntries;
use crate::dialect::text::words::scalar;
use saphyr_parser::{Event, Parser, ScalarStyle};
use shardscope_core::issue::Issue;
use shardscope_core::message::{Message, verbatim};
use shardscope_core::run::Value;
use shardscope_core::run::registry::plain as shown;
use shardscope_core::t;
use std::collections::{BTreeMap, BTreeSet};

/// Maps and lists within each other: readers of the value recurse at each.
const MAX_DEPTH: usize = 64;
/// Values and bytes of text that aliases may repeat: an alias of aliases grows without end.
const MAX_REPEATED: usize = 400_000;

/// Reads the first document of a file.
///
/// # Errors
/// The first line that cannot be read, by its number.
pub fn read(text: &str) -> Result<Value, Issue> {
    // A part that is missing at the end is missing in the last line, not behind it.
    let lines = text.lines().count();
    let wrong = |line: usize, what: Message| Issue::error("", t!("line {line}: {what}", line = line.min(lines), what));
    let mut reader = Reader::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| wrong(error.marker().line(), verbatim(error.info())))?;
        if matches!(event, Event::DocumentStart(_)) && reader.document != Value::Null {
            break;
        }
        let taken = reader.take(event);
        taken.map_err(|what| wrong(span.start.line(), what.into()))?;
    }
    Ok(reader.document)
}

/// Reads the first document of a file as dotted names and their values.
pub(crate) fn entries(text: &str) -> Result<SettingEntries, Issue> {
    // A reader of YAML takes doubled brackets for a map in a map.
    let has_blank = || text.split_once("{{").is_some_and(|(_, rest)| rest.contains("}}"));
    let read = read(text).map_err(|issue| {
        if !has_blank() {
            return issue;
        }
        Issue::error(
            "",
            t!("a template: fill in what stands in doubled curly brackets first ({why})", why = issue.message),
        )
    });
    Ok(read?.flat(|_| true))
}

/// A file that says `entries`, comments first.
pub(crate) fn print(entries: &SettingEntries, comments: &[String]) -> String {
    let comments = comments.iter().map(|comment| format!("# {comment}\n"));
    let mut lines: Vec<String> = comments.collect();
    block(&Value::nested(entries.clone()), 0, &mut lines);
    lines.concat()
}

fn block(value: &Value, indent: usize, lines: &mut Vec<String>) {
    let Value::Map(entries) = value else { return };
    let blanks = " ".repeat(indent);
    for (key, value) in entries {
        let text = match value {
            Value::Map(_) | Value::Null => String::new(),
            value => format!(" {}", flow(value)),
        };
        lines.push(format!("{blanks}{key}:{text}\n"));
        block(value, indent + 2, lines);
    }
}

/// A value in one line: words in quotes where they would mean something else, lists in brackets.
pub(crate) fn flow(value: &Value) -> String {
    let quoted = |text: &str| {
        let tame = |c: char| c.is_ascii_alphanumeric() || "_-./ ".contains(c);
        let is_word = plain(text) == Value::Text(text.to_owned())
            && text.chars().all(tame)
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && !text.ends_with(' ');
        if is_word { text.to_owned() } else { format!("'{}'", text.replace('\'', "''")) }
    };
    match value {
        Value::Text(text) => quoted(text),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        value => shown(value).unwrap_or_default(),
    }
}

/// A list, or a map as a list of a key, its value, a key...
struct Open {
    anchor: usize,
    is_map: bool,
    items: Vec<Value>,
}

#[derive(Default)]
struct Reader {
    document: Value,
    /// The maps and lists that have not ended, the outermost first.
    open: Vec<Open>,
    anchored: BTreeMap<usize, Value>,
    repeated: usize,
}

impl Reader {
    fn take(&mut self, event: Event) -> Result<(), &'static str> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let outer = self.open.last();
                let is_key = outer.is_some_and(|open| open.is_map && open.items.len() % 2 == 0);
                let is_text = tag.is_some_and(|tag| tag.suffix == "str");
                let value = if is_key || is_text || style != ScalarStyle::Plain {
                    Value::Text(text.into_owned())
                } else {
                    plain(&text)
                };
                self.put(anchor, value);
            }
            Event::SequenceStart(anchor, _) => self.begin(anchor, false)?,
            Event::MappingStart(anchor, _) => self.begin(anchor, true)?,
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(open) = self.open.pop() {
                    let value = if open.is_map {
                        blank(&open.items).unwrap_or_else(|| map(open.items))
                    } else {
                        Value::List(open.items)
                    };
                    self.put(open.anchor, value);
                }
            }
            Event::Alias(anchor) => {
                let value = self.anchored.get(&anchor);
                let value = value.ok_or("an alias within what it names")?.clone();
                self.repeated += size(&value);
                if self.repeated > MAX_REPEATED || self.open.len() + depth(&value) > MAX_DEPTH {
                    return Err("aliases repeat too much");
                }
                self.put(0, value);
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, anchor: usize, is_map: bool) -> Result<(), &'static str> {
        if self.open.len() == MAX_DEPTH {
            return Err("nested too deep");
        }
        self.open.push(Open { anchor, is_map, items: Vec::new() });
        Ok(())
    }

    /// A complete value; anchors count from 1, 0 is none.
    fn put(&mut self, anchor: usize, value: Value) {
        if anchor > 0 {
            self.anchored.insert(anchor, value.clone());
        }
        match self.open.last_mut() {
            Some(open) => open.items.push(value),
            None => self.document = value,
        }
    }
}

/// The value of a plain word.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Value::Bool(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Value::Bool(false),
        text if text.starts_with(|c: char| c.is_ascii_digit()) => match scalar(&text.replace('_', "")) {
            Value::Text(_) => Value::Text(text.to_owned()),
            number => number,
        },
        text => scalar(text),
    }
}

/// A map from keys and values in turn; what `<<` names comes last, where no key of the map's own says otherwise. A key
/// that is no text names nothing that is read.
fn map(items: Vec<Value>) -> Value {
    let (mut entries, mut merged) = (Vec::new(), Vec::new());
    let mut items = items.into_iter();
    while let (Some(key), Some(value)) = (items.next(), items.next()) {
        match (key, value) {
            (Value::Text(key), Value::List(maps)) if key == "<<" => merged.extend(maps),
            (Value::Text(key), map) if key == "<<" => merged.push(map),
            (Value::Text(key), value) => entries.push((key, value)),
            _ => {}
        }
    }
    let mut keys: BTreeSet<String> = entries.iter().map(|(key, _)| key.clone()).collect();
    for map in merged {
        if let Value::Map(more) = map {
            entries.extend(more.into_iter().filter(|(key, _)| keys.insert(key.clone())));
        }
    }
    Value::Map(entries)
}

/// What a template leaves open, `{{ name }}` without quotes, which YAML takes for a map whose only key is a map.
fn blank(items: &[Value]) -> Option<Value> {
    match items {
        [Value::Map(inner), Value::Null] => match inner.as_slice() {
            [(name, Value::Null)] => Some(Value::Text(format!("{{{{ {name} }}}}"))),
            _ => None,
        },
        _ => None,
    }
}

/// Values and bytes of text.
fn size(value: &Value) -> usize {
    1 + match value {
        Value::Text(text) => text.len(),
        Value::List(items) => items.iter().map(size).sum(),
        Value::Map(entries) => entries.iter().map(|(key, value)| key.len() + size(value)).sum(),
        _ => 0,
    }
}

/// Maps and lists within each other.
fn depth(value: &Value) -> usize {
    match value {
        Value::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Map(entries) => 1 + entries.iter().map(|(_, value)| depth(value)).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use crate::dialect::text::yaml::*;

    /// YAML and the JSON that it means.
    fn means(yaml: &str, json: &str) {
        let meant: Value = serde_json::from_str(json).unwrap();
        assert_eq!(read(yaml).unwrap(), meant, "{yaml}");
    }

    /// The examples of chapter 2 of the specification of YAML 1.2.2, by their numbers.
    #[test]
    fn examples_of_the_specification_are_read() {
        // 2.2 and 2.3: scalars to scalars, a list at the indentation of its key.
        means("hr:  65    # Home runs\navg: 0.278\n", r#"{"hr": 65, "avg": 0.278}"#);
        means(
            "american:\n- Boston Red Sox\n- Detroit Tigers\n",
            r#"{"american": ["Boston Red Sox", "Detroit Tigers"]}"#,
        );
        // 2.4 and 2.12: maps of a list, the first key behind the dash.
        means(
            "-\n  name: Mark McGwire\n  hr:   65\n- item: Ball\n  quantity: 4",
            r#"[{"name": "Mark McGwire", "hr": 65}, {"item": "Ball", "quantity": 4}]"#,
        );
        // 2.6: flow maps over several lines.
        means(
            "Mark: {hr: 65, avg: 0.278}\nSammy: {\n    hr: 63,\n    ok: [a, 'b, c'],\n }",
            r#"{"Mark": {"hr": 65, "avg": 0.278}, "Sammy": {"hr": 63, "ok": ["a", "b, c"]}}"#,
        );
        // 2.10: an anchor and its alias; 2.11: keys that are lists name nothing.
        means("hr:\n- &SS Sammy Sosa\nrbi:\n- *SS # again", r#"{"hr": ["Sammy Sosa"], "rbi": ["Sammy Sosa"]}"#);
        means("? [ New York, Atlanta ]\n: [ 2001-07-02 ]\nb: 1", r#"{"b": 1}"#);
        // 2.14 and 2.13: folded and literal blocks; what follows them is read.
        means(
            "a: >\n  Mark McGwire's\n  year: [was\n\nb: |-\n  \\//||\\/||\n   // key: 1\nc: 1",
            r#"{"a": "Mark McGwire's year: [was\n", "b": "\\//||\\/||\n // key: 1", "c": 1}"#,
        );
        // 2.17 and 2.18: quoted text and text over several lines.
        means(
            "unicode: \"Sosa did fine.\\u263A\"\nsingle: '\"Howdy!\" he cried.'\ntie: '|\\-*-/|'\nplain:\n  This\n  \
                continues",
            r#"{"unicode": "Sosa did fine.☺", "single": "\"Howdy!\" he cried.", "tie": "|\\-*-/|",
                "plain": "This continues"}"#,
        );
        // 2.21, 2.23: null, booleans, a tag; 2.7: only the first document.
        means(
            "---\nnull:\nb: true\nc: ~\nd: !!str 012\ne: !local {x: 1}\n---\nb: 2",
            r#"{"null": null, "b": true, "c": null, "d": "012", "e": {"x": 1}}"#,
        );
    }

    /// As `PyYAML` 6 reads them.
    #[test]
    fn plain_words_mean_what_pyyaml_makes_of_them() {
        means(
            "a: yes\nb: Off\nc: 8_192\nd: 1.0e-05\ne: 'no'\nf: a_1\ng: .inf\nh: -3",
            r#"{"a": true, "b": false, "c": 8192, "d": 1e-5, "e": "no", "f": "a_1", "g": ".inf", "h": -3}"#,
        );
        means(
            "base: &base {x: 1, y: 2}\nnext:\n  <<: *base\n  y: 3\nboth:\n  <<: [{z: 0}, *base]\n  z: 4",
            r#"{"base": {"x": 1, "y": 2}, "next": {"y": 3, "x": 1}, "both": {"z": 4, "x": 1, "y": 2}}"#,
        );
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        let deep = |count| (0..count).fold(String::new(), |text, at| format!("{text}{}a:\n", " ".repeat(at)));
        for (text, line) in [
            ("a: 1\nb", "line 2"),
            ("a:\n\tb: 1", "line 2"),
            ("a: 1\n   b: 2", "line 2"),
            ("a: *x", "line 1"),
            ("a: &x [1, *x]", "line 1"),
            ("a: 'x", "line 1"),
            ("  a: 1\nb: 2", "line 2"),
            (&format!("{}a: 1", "- ".repeat(10_000)), "line 1"),
            (&deep(100), "line 65"),
        ] {
            let message = read(text).unwrap_err().message.to_string();
            assert!(message.starts_with(line), "{text:.90}: {message}");
        }
        assert!(read(&deep(64)).is_ok());
    }

    /// Each line is ten of the line before: ten lines would be 10¹⁰ values.
    #[test]
    fn aliases_of_aliases_are_refused() {
        let line = |at: usize| format!("a{at}: &a{at} [{}]\n", vec![format!("*a{}", at - 1); 10].join(", "));
        let file = format!("a0: &a0 [lol]\n{}", (1..10).map(line).collect::<String>());
        assert_eq!(read(&file).unwrap_err().message.to_string(), "line 6: aliases repeat too much");
    }
}
