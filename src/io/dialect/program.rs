//! A program that trains, and how it says a Run.

use super::settings_reader::SettingsReader;
use super::values::Entries;
use crate::core::run::Scenario;

/// Form in which settings are written.
#[derive(Clone, Copy)]
pub enum Syntax {
    /// A launch command with its arguments.
    Arguments,
    /// torchtitan's configuration as a Python function, or TOML.
    Python,
    /// JSON.
    Json,
    /// YAML or JSON.
    Yaml,
    /// The same with the variables of Composer.
    Composer,
    /// The same with the arguments of Hugging Face's trainer, as a file or a command.
    HuggingFace,
}

/// A program and how it says a Run.
pub struct Dialect {
    /// In the JavaScript package and in links of the page: "megatron".
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Name of its file.
    pub file: &'static str,
    /// Form of its text.
    pub syntax: Syntax,
    /// The training software of the settings, as far as they tell its release.
    pub stack: fn(&Entries) -> &'static str,
    /// Takes them into the Run of the reader.
    pub read: fn(&mut SettingsReader),
    /// The settings that say a Run.
    pub write: fn(&Scenario) -> Entries,
    /// The text that says them, comments first.
    pub print: fn(&Entries, &[String]) -> String,
}
