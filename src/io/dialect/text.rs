//! A text that is imported, with what a request says beside it; as a script of a shell it is run once.

use super::shell::Given;
use super::words::Script;
use std::cell::OnceCell;

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
