//! A program that trains, and how it says a Run.

use super::settings_reader::SettingsReader;
use super::settings_writer::SettingsWriter;
use super::values::Entries;
use crate::core::issue::Issue;
use crate::core::run::Scenario;

pub struct Dialect {
    /// In the JavaScript package and in links of the page: "megatron".
    pub id: &'static str,
    pub name: &'static str,
    pub file: &'static str,
    /// Reads its own form of text; JSON is read alike for all.
    pub entries: fn(&str) -> Result<Entries, Issue>,
    /// Names that only its files have; none where another sign tells them.
    pub keys: &'static [&'static str],
    /// The training software of the settings, as far as they tell its release.
    pub stack: fn(&Entries) -> &'static str,
    /// Takes them into the Run of the reader.
    pub read: fn(&mut SettingsReader),
    pub(crate) write: fn(&Scenario, &mut SettingsWriter),
    /// The text that says them, comments first.
    pub print: fn(&Entries, &[String]) -> String,
}

impl Dialect {
    /// The settings that say a Run.
    pub fn written(&self, scenario: &Scenario) -> Entries {
        let mut writer = SettingsWriter::default();
        (self.write)(scenario, &mut writer);
        writer.done()
    }
}
