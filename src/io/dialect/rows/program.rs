//! A program that trains, and how it says a Run.

use crate::dialect::rows::reader::SettingsReader;
use crate::dialect::rows::values::Same;
use crate::dialect::text::ImportText;
use crate::dialect::text::SettingEntries;
use shardscope_core::issue::Issue;
use shardscope_core::run::registry::field;
use shardscope_core::run::{Run, Scenario, Value};

pub struct Dialect {
    /// In the JavaScript package and in links of the page: "megatron".
    pub id: &'static str,
    pub name: &'static str,
    pub file: &'static str,
    /// Reads its own form of text; JSON is read alike for all.
    pub entries: fn(&ImportText) -> Result<SettingEntries, Issue>,
    /// Names that only its files have; none where another sign tells them.
    pub keys: &'static [&'static str],
    /// The training software that the settings tell; none where they tell nothing of it.
    pub told: fn(&SettingEntries) -> Option<&'static str>,
    /// The training software of settings that tell nothing of it.
    pub silent: &'static str,
    /// Takes them into the Run of the reader.
    pub read: fn(&mut SettingsReader),
    pub(crate) write: fn(&Scenario, &mut SettingsWriter),
    /// The text that says them, comments first.
    pub print: fn(&SettingEntries, &[String]) -> String,
}

impl Dialect {
    /// The training software of the settings.
    pub fn stack(&self, entries: &SettingEntries) -> &'static str {
        (self.told)(entries).unwrap_or(self.silent)
    }

    /// The settings that say a Run.
    pub fn written(&self, scenario: &Scenario) -> SettingEntries {
        let mut writer = SettingsWriter::default();
        (self.write)(scenario, &mut writer);
        writer.done()
    }
}

/// Writes a Run in a dialect, one setting after the other.
#[derive(Default)]
pub(crate) struct SettingsWriter(SettingEntries);

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

    pub fn done(self) -> SettingEntries {
        self.0
    }
}
