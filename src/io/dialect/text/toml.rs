//! A TOML file as a program's settings, read by the `toml` crate.

use crate::dialect::SettingEntries;
use crate::dialect::text::words::scalar;
use shardscope_core::issue::Issue;
use shardscope_core::run::Value;
use shardscope_core::sort::sort_by;
use shardscope_core::t;
use toml::de::{DeTable, DeValue};

/// Braces within each other. The crate takes keys of up to 80 parts and calls itself for each part of each table.
const MAX_DEPTH: usize = 16;

/// The settings of a file, by dotted name and in the order of the file: `[training]` and `seq_len = 8192` is
/// `training.seq_len`. The tables of an array are numbered: `hooks.0.name`.
///
/// # Errors
/// The first line that is not TOML, by its number.
pub fn read(text: &str) -> Result<SettingEntries, Issue> {
    let mut depth = 0usize;
    for brace in text.matches(['{', '}']) {
        depth = if brace == "{" { depth + 1 } else { depth.saturating_sub(1) };
        if depth > MAX_DEPTH {
            return Err(Issue::error("", "tables are nested too deep"));
        }
    }
    let root = DeTable::parse(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.bytes().take(start);
        let line = 1 + before.filter(|byte| *byte == b'\n').count();
        let what = error.message().split(", expected").next();
        Issue::error("", t!("line {line}: {what}", line, what = what.unwrap_or_default().to_owned()))
    })?;
    let mut found = Vec::new();
    // A stack of its own: keys of many parts can nest deeper than calls may.
    let mut open = vec![(0, String::new(), DeValue::Table(root.into_inner()))];
    while let Some((at, name, value)) = open.pop() {
        let below = |key: &str| match name.as_str() {
            "" => key.to_owned(),
            name => format!("{name}.{key}"),
        };
        match value {
            DeValue::Table(table) => {
                open.extend(
                    table.into_iter().map(|(key, value)| (key.span().start, below(key.get_ref()), value.into_inner())),
                );
            }
            DeValue::Array(items) if items.iter().any(|item| item.get_ref().is_table()) => {
                open.extend(
                    items
                        .into_iter()
                        .enumerate()
                        .map(|(index, item)| (at, below(&index.to_string()), item.into_inner())),
                );
            }
            value => found.push((at, (name, single(value)))),
        }
    }
    sort_by(&mut found, |(a, _), (b, _)| a.cmp(b));
    Ok(found.into_iter().map(|(_, entry)| entry).collect())
}

/// A value without names of its own.
fn single(value: DeValue) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(count) => {
            i128::from_str_radix(count.as_str(), count.radix()).map_or(Value::Null, |count| Value::Number(count as f64))
        }
        DeValue::Float(number) => scalar(number.as_str()),
        DeValue::Boolean(yes) => Value::Bool(yes),
        DeValue::Datetime(date) => Value::Text(date.to_string()),
        DeValue::Array(items) => {
            let items = items.into_iter().map(|item| single(item.into_inner()));
            Value::List(items.collect())
        }
        DeValue::Table(_) => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use crate::dialect::text::toml::*;

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    /// The forms that the specification of TOML 1.0 shows, section by section.
    #[test]
    fn every_form_of_the_specification_is_read() {
        let file = r#"
            # a comment
            title = "a # that is no comment"
            "quoted key" = 'C:\literal'
            site."google.com" = true
            fruit.apple.smooth = +1_000
            physical = 0xDEAD_BEEF
            rate = 6.626e-34
            far = inf
            born = 1979-05-27T07:32:00Z
            text = """
            Roses are "red" \
               and blue"""
            names = [ "a, b", 'c]', # a comment
              "d", ]
            nested = [ [ 1, 2 ], ["a", "b"] ]
            point = { x = 1, y.z = "}" }
            [servers.alpha]
            ip = "10.0.0.1"
            [[products]]
            name = "Hammer"
            [[products]]
            name = "Nail"
            sizes = [{ mm = 3 }]
        "#;
        let numbers = |list: [u64; 2]| Value::List(list.map(Value::from).to_vec());
        let expected = [
            ("title", text("a # that is no comment")),
            ("quoted key", text("C:\\literal")),
            ("site.google.com", Value::Bool(true)),
            ("fruit.apple.smooth", Value::Number(1000.0)),
            ("physical", Value::Number(3_735_928_559.0)),
            ("rate", Value::Number(6.626e-34)),
            ("far", text("inf")),
            ("born", text("1979-05-27T07:32:00Z")),
            ("text", text("            Roses are \"red\" and blue")),
            ("names", Value::List(vec![text("a, b"), text("c]"), text("d")])),
            ("nested", Value::List(vec![numbers([1, 2]), Value::List(vec![text("a"), text("b")])])),
            ("point.x", Value::Number(1.0)),
            ("point.y.z", text("}")),
            ("servers.alpha.ip", text("10.0.0.1")),
            ("products.0.name", text("Hammer")),
            ("products.1.name", text("Nail")),
            ("products.1.sizes.0.mm", Value::Number(3.0)),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(read(file).unwrap(), expected);
    }

    #[test]
    fn a_line_that_is_not_toml_is_named() {
        for (text, line) in [
            ("a = 1\nnothing", "line 2: "),
            ("a = b c", "line 1: "),
            ("\n[a]\nb = [1", "line 3: "),
            ("a = 1\na = 2", "line 2: duplicate key"),
        ] {
            let message = read(text).unwrap_err().message.to_string();
            assert!(message.starts_with(line), "{text}: {message}");
        }
    }

    #[test]
    fn tables_are_nested_up_to_a_limit() {
        let nested = |count| {
            let key = vec!["a"; 78].join(".");
            let opened = format!("{key} = {{").repeat(count);
            read(&format!("{opened}b = 1{}", "}".repeat(count)))
        };
        let entries = nested(MAX_DEPTH).unwrap();
        assert_eq!(entries[0].0.matches('.').count(), 78 * MAX_DEPTH);
        assert!(nested(MAX_DEPTH + 1).is_err());
        let arrays = format!("a = {}{}", "[".repeat(63), "]".repeat(63));
        assert!(read(&arrays).is_ok());
    }
}
