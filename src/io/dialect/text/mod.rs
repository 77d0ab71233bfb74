//! A text that is imported, with what a request says beside it; as a script of a shell it is run once.

pub(crate) mod launch;
pub(crate) mod python;
pub(crate) mod shell;
pub(crate) mod slurm;
pub mod toml;
pub mod words;
pub mod yaml;

use crate::dialect::text::shell::Given;
use crate::dialect::text::words::Script;
use shardscope_core::run::Value;
use std::cell::OnceCell;

/// Names and values of a program's settings; nested ones are dotted.
pub(crate) type SettingEntries = Vec<(String, Value)>;

/// The text, and the script that it is where it is one.
pub struct ImportText<'t> {
    pub text: &'t str,
    given: Given,
    script: OnceCell<Script>,
}

impl<'t> ImportText<'t> {
    pub fn new(text: &'t str, given: &Given) -> Self {
        Self { text, given: given.clone(), script: OnceCell::new() }
    }

    /// Run on paper the first time that it is asked for.
    pub(crate) fn script(&self) -> &Script {
        self.script.get_or_init(|| Script::given(self.text, &self.given))
    }

    /// What the request says.
    pub(crate) fn given(&self) -> &Given {
        &self.given
    }
}
