//! A program that trains, and how it says a Run.

use super::settings_reader::SettingsReader;
use super::values::Entries;
use crate::core::run::Scenario;

/// A program and how it says a Run.
pub struct Dialect {
    /// In the JavaScript package and in links of the page: "megatron".
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Name of its file.
    pub file: &'static str,
    /// The training software of the settings, as far as they tell its release.
    pub stack: fn(&Entries) -> &'static str,
    /// Takes them into the Run of the reader.
    pub read: fn(&mut SettingsReader),
    /// The settings that say a Run.
    pub write: fn(&Scenario) -> Entries,
    /// The text that says them, comments first.
    pub print: fn(&Entries, &[String]) -> String,
}
