//! Writing of a Run in a dialect: one setting after the other, each by the kind of its value.

use super::{Entries, Same};
use crate::core::run::registry::field;
use crate::core::run::{Run, Value};

/// The settings said so far.
#[derive(Default)]
pub(crate) struct SettingsWriter(Entries);

impl SettingsWriter {
    /// A whole number.
    pub fn count(&mut self, name: &str, count: u64) {
        self.value(name, Value::from(count));
    }

    /// A number.
    pub fn number(&mut self, name: &str, number: f64) {
        self.value(name, Value::Number(number));
    }

    /// Text.
    pub fn text(&mut self, name: &str, text: &str) {
        self.value(name, Value::Text(text.to_owned()));
    }

    /// A switch that is only named.
    pub fn yes(&mut self, name: &str) {
        self.flag(name, true);
    }

    /// True or false.
    pub fn flag(&mut self, name: &str, yes: bool) {
        self.value(name, Value::Bool(yes));
    }

    /// Names with blanks between.
    pub fn names<'a>(&mut self, name: &str, names: impl Iterator<Item = &'a str>) {
        let mut names: Vec<Value> = names.map(|name| Value::Text(name.to_owned())).collect();
        let one = if names.len() == 1 { names.pop() } else { None };
        self.value(name, one.unwrap_or(Value::List(names)));
    }

    /// Any value.
    pub fn value(&mut self, name: &str, value: Value) {
        self.0.push((name.to_owned(), value));
    }

    /// The steps of the budget, where there is one.
    pub fn steps(&mut self, name: &str, run: &Run) {
        if let Some(steps) = super::steps(run) {
            self.count(name, steps);
        }
    }

    /// Rows that differ from the program's default.
    pub fn same(&mut self, rows: &[Same], run: &Run) {
        for row in rows {
            let value = field(row.field).map(|field| field.get(run));
            if let Some(value) = value
                && row.default.map(Value::from).as_ref() != Some(&value)
            {
                self.value(row.name, value);
            }
        }
    }

    /// All of it.
    #[must_use]
    pub fn done(self) -> Entries {
        self.0
    }
}
