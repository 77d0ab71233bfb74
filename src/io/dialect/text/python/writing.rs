//! Settings into a function of Python.

use crate::dialect::text::python::reading::{BEGINS_WITH, FUNCTION};
use shardscope_core::run::Value;
use shardscope_core::run::registry::plain;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// End of a call of `class`: `argument` as the name at `place` with its `rest`.
pub(in crate::dialect) struct CallEnd {
    pub class: &'static str,
    pub argument: &'static str,
    pub place: &'static str,
    pub rest: &'static str,
}

/// A function that says `entries`: what it imports, begins with and sets. Texts that begin with "torchtitan." are
/// classes and functions, called with what is below them and with their `ends`; `whole` is the class that it returns.
#[must_use]
pub(in crate::dialect) fn print(
    entries: &[(String, Value)],
    comments: &[String],
    head: &str,
    whole: &str,
    ends: &'static [CallEnd],
) -> String {
    let value = |wanted: &str| entries.iter().find(|(name, _)| name == wanted).and_then(|(_, value)| value.text());
    let mut written = Writer { entries, imports: BTreeSet::new(), ends };
    let mut body = String::new();
    for (name, value) in entries {
        let inner = entries.iter().any(|(outer, value)| {
            is_place(value) && name.strip_prefix(outer.as_str()).is_some_and(|rest| rest.starts_with('.'))
        });
        if name == BEGINS_WITH {
            let _ = writeln!(body, "    config = {}", written.value(name, value));
        } else if name != FUNCTION && !inner {
            let _ = writeln!(body, "    config.{name} = {}", written.value(name, value));
        }
    }
    let class = written.import(whole);
    let comments: Vec<String> = comments.iter().map(|comment| format!("# {comment}\n")).collect();
    let imports = written.imports.iter().map(|(module, name)| format!("from {module} import {name}\n"));
    let function = value(FUNCTION).unwrap_or("run");
    format!(
        "{comments}{imports}\n{head}\n\ndef {function}() -> {class}:\n{body}    return config\n",
        comments = comments.concat(),
        imports = imports.collect::<String>()
    )
}

/// True if a value is a class or a function of a program.
fn is_place(value: &Value) -> bool {
    value.text().is_some_and(|text| text.starts_with("torchtitan."))
}

struct Writer<'a> {
    entries: &'a [(String, Value)],
    /// Modules and the names that are taken from them.
    imports: BTreeSet<(String, String)>,
    ends: &'static [CallEnd],
}

impl Writer<'_> {
    /// Imports what stands at `place`: the name that it has then.
    fn import(&mut self, place: &str) -> String {
        let parts: Vec<&str> = place.split('.').collect();
        let nested = usize::from(parts.last() == Some(&"Config"));
        let (module, called) = parts.split_at(parts.len().saturating_sub(1 + nested));
        self.imports.insert((module.join("."), called[0].to_owned()));
        called.join(".")
    }

    /// The setting `name`: a literal, or a call with what stands below it.
    fn value(&mut self, name: &str, value: &Value) -> String {
        match value {
            Value::Null => "None".to_owned(),
            Value::Bool(yes) => if *yes { "True" } else { "False" }.to_owned(),
            Value::Text(text) if is_place(value) => {
                let called = self.import(text);
                let mut inner = self.below(name);
                for end in self.ends.iter().filter(|end| end.class == called) {
                    inner.push(format!("{}={}{}", end.argument, self.import(end.place), end.rest));
                }
                format!("{called}({})", inner.join(", "))
            }
            Value::Text(text) => format!("\"{text}\""),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(|item| self.value("", item)).collect();
                format!("[{}]", items.join(", "))
            }
            value => plain(value).unwrap_or_default(),
        }
    }

    /// The arguments below `name`: numbered ones without their numbers, those of a list in brackets.
    fn below(&mut self, name: &str) -> Vec<String> {
        let start = format!("{name}.");
        let entries = self.entries;
        let inner: Vec<(&str, &Value)> =
            entries.iter().filter_map(|(name, value)| Some((name.strip_prefix(&start)?, value))).collect();
        let mut out = Vec::new();
        for (below, value) in inner {
            match below.split('.').collect::<Vec<_>>().as_slice() {
                [one] => {
                    let written = self.value(&format!("{start}{one}"), value);
                    out.push(if one.parse::<u64>().is_ok() { written } else { format!("{one}={written}") });
                }
                [list, at] if at.parse::<u64>().is_ok() => {
                    let written = self.value(&format!("{start}{below}"), value);
                    out.push(format!("{list}=[{written}]"));
                }
                _ => {}
            }
        }
        out
    }
}
