//! "A preset, or a preset with changes, or all of it": the three ways to set a model, a GPU or a precision.

use crate::issue::Issue;
use crate::message::{Message, verbatim};
use crate::t;

/// A preset's id, if one is named, and what differs from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Based<Parts> {
    /// Id of the preset; none: the parts must say everything.
    pub base: Option<&'static str>,
    /// What was set besides.
    pub parts: Parts,
}

impl<Parts: Default + PartialEq> Based<Parts> {
    /// The preset as it is.
    #[must_use]
    pub fn preset(id: &'static str) -> Self {
        Self { base: Some(id), parts: Parts::default() }
    }
    /// Takes `base` where nothing is said at all: no link could say that.
    pub(super) fn or_base(&mut self, base: Option<&'static str>) {
        if self.base.is_none() && !self.is_changed() {
            self.base = base;
        }
    }
    /// Whether anything is set besides the preset.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.parts != Parts::default()
    }
}

impl<Parts: Default> Based<Parts> {
    /// The same base, if one is `named` at all, with nothing set besides.
    #[must_use]
    pub fn bare(&self, named: bool) -> Self {
        Self { base: self.base.filter(|_| named), parts: Parts::default() }
    }
}

/// Collects the parts that neither the preset nor the person gave.
#[derive(Default)]
pub(crate) struct Missing(Vec<Issue>);

impl Missing {
    /// What was given, else the preset's; an issue at `key` where there is neither.
    pub fn need<T>(&mut self, key: &str, given: Option<T>, base: Option<T>, zero: T) -> T {
        given.or(base).unwrap_or_else(|| {
            let whole = key.split('.').next().unwrap_or(key);
            self.0.push(Issue::error(
                key,
                t!(
                    "needed where {whole} has no base; give it, or name a preset as {whole}.base",
                    whole = whole.to_owned()
                ),
            ));
            zero
        })
    }
    /// Another issue.
    pub fn issue(&mut self, issue: Issue) {
        self.0.push(issue);
    }
    /// `whole`, if nothing was missing.
    pub fn done<T>(self, whole: T) -> Result<T, Vec<Issue>> {
        if self.0.is_empty() { Ok(whole) } else { Err(self.0) }
    }
}

/// How the page names a preset, a changed one, or none.
pub fn title(name: Option<&'static str>, own: &'static str, changed: bool) -> Message {
    match (name, changed) {
        (Some(name), false) => verbatim(name),
        (Some(name), true) => t!("{name}, modified", name),
        (None, _) => Message::plain(own),
    }
}
