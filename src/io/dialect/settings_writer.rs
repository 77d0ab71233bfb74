//! Writing of a Run in a dialect: one setting after the other.

use super::{Entries, Same};
use crate::core::run::registry::field;
use crate::core::run::{Run, Value};

#[derive(Default)]
pub(crate) struct SettingsWriter(Entries);

impl SettingsWriter {
    pub fn say(&mut self, name: &str, value: impl Into<Value>) {
        self.0.push((name.to_owned(), value.into()));
    }

    /// A setting that is only said where `said`.
    pub fn when(&mut self, said: bool, name: &str, value: impl Into<Value>) {
        if said {
            self.say(name, value);
        }
    }

    /// A setting that is only said where it has a value.
    pub fn maybe(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.say(name, value);
        }
    }

    /// Names with blanks between.
    pub fn names<'a>(&mut self, name: &str, names: impl Iterator<Item = &'a str>) {
        let mut names: Vec<Value> = names.map(Value::from).collect();
        let one = if names.len() == 1 { names.pop() } else { None };
        self.say(name, one.unwrap_or(Value::List(names)));
    }

    /// Rows that differ from the program's default.
    pub fn same(&mut self, rows: &[Same], run: &Run) {
        for row in rows {
            let value = field(row.field).map(|field| field.get(run));
            self.maybe(row.name, value.filter(|value| row.default.map(Value::from).as_ref() != Some(value)));
        }
    }

    pub fn done(self) -> Entries {
        self.0
    }
}
