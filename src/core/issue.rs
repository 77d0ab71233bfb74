//! Errors and doubts about a Run, with the field where each can be mended.

use crate::message::Message;
use crate::sort::sort_by;
use crate::t;
use serde::Serialize;

/// Weight of an [`Issue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// An assumption worth knowing, or something of a link that was not understood.
    Notice,
    /// The result is valid, the setting is doubtful.
    Warning,
    /// There is no result.
    Error,
}

/// A change that would mend an [`Issue`]: the fields to set, as a link would write them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// Words of its button; none where they are made of its settings.
    pub label: Option<Message>,
    /// Dotted key and value of each field to set.
    pub set: Vec<(&'static str, String)>,
    /// Other values of the first field to try where this one does not work, the nearest first; empty once one was
    /// found.
    pub instead: Vec<u64>,
}

/// Other values that are tried for a fix, at most.
const MAX_INSTEAD: usize = 64;

impl Fix {
    /// Sets these fields.
    pub fn new(set: Vec<(&'static str, String)>) -> Self {
        Self { label: None, set, instead: Vec::new() }
    }
    fn one(key: &'static str, value: impl std::fmt::Display) -> Self {
        Self::new(vec![(key, value.to_string())])
    }
    /// The one of `values` nearest to `wanted`, of two as near the larger, the others instead; none without any.
    fn near(key: &'static str, wanted: u64, mut values: Vec<u64>) -> Option<Self> {
        let far = |value: u64| (value.abs_diff(wanted), value < wanted);
        sort_by(&mut values, |a, b| far(*a).cmp(&far(*b)));
        values.dedup();
        values.truncate(MAX_INSTEAD);
        let mut values = values.into_iter();
        let first = values.next()?;
        Some(Self { instead: values.collect(), ..Self::one(key, first) })
    }
}

/// Characters of a name that a request brings and an answer repeats.
const MAX_NAME: usize = 80;

/// `name`, quoted and cut where it is none that a field can have: a request may bring any text as a key.
fn repeated(name: String) -> String {
    if name.len() <= MAX_NAME && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"') {
        return name;
    }
    let mut short: String = name.chars().take(MAX_NAME).collect();
    if short.len() < name.len() {
        short.pop();
        short.push('…');
    }
    format!("{short:?}")
}

/// One thing to say about one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[must_use]
pub struct Issue {
    #[serde(skip)]
    pub severity: Severity,
    /// The dotted key of the link ("tp", "model.layers"); empty when nothing could be parsed.
    pub field: String,
    /// The fault, and values that would work.
    pub message: Message,
    /// The fault alone, where the message ends with what works.
    #[serde(skip)]
    pub problem: Option<Box<Message>>,
    /// One click that mends it: as proposed by who found the fault; as tried on the Run in its refusal and in
    /// `Evaluation::warnings`.
    #[serde(skip)]
    pub fix: Option<Fix>,
    /// Another way out, by another field.
    #[serde(skip)]
    pub or: Option<Box<Fix>>,
}

impl Issue {
    /// There is no result because of this.
    pub fn error(field: impl Into<String>, message: impl Into<Message>) -> Self {
        Self::new(Severity::Error, field, message)
    }
    /// The result is valid, but this is doubtful.
    pub fn warning(field: impl Into<String>, message: impl Into<Message>) -> Self {
        Self::new(Severity::Warning, field, message)
    }
    /// Worth knowing.
    pub fn notice(field: impl Into<String>, message: impl Into<Message>) -> Self {
        Self::new(Severity::Notice, field, message)
    }
    fn new(severity: Severity, field: impl Into<String>, message: impl Into<Message>) -> Self {
        Self { severity, field: repeated(field.into()), message: message.into(), problem: None, fix: None, or: None }
    }
    /// Adds the button that sets one field.
    pub(crate) fn with_fix(self, key: &'static str, value: impl std::fmt::Display) -> Self {
        Self { fix: Some(Fix::one(key, value)), ..self }
    }
    /// Adds the button that sets a field to the value nearest to `wanted` that works, of `candidates`.
    pub(crate) fn with_near(self, key: &'static str, wanted: u64, candidates: impl IntoIterator<Item = u64>) -> Self {
        Self { fix: Fix::near(key, wanted, candidates.into_iter().collect()), ..self }
    }
    /// Adds a second such button.
    pub(crate) fn or_near(self, key: &'static str, wanted: u64, candidates: impl IntoIterator<Item = u64>) -> Self {
        Self { or: Fix::near(key, wanted, candidates.into_iter().collect()).map(Box::new), ..self }
    }
    /// Adds a second button that sets one field.
    pub(crate) fn or_fix(self, key: &'static str, value: impl std::fmt::Display) -> Self {
        Self { or: Some(Box::new(Fix::one(key, value))), ..self }
    }
    /// Ends the message with what works: "...; tp=4 works".
    pub fn naming_its_fix(mut self) -> Self {
        if let Some(fix) = &self.fix {
            let setting = pairs(&fix.set);
            self.problem = Some(Box::new(self.message.clone()));
            self.message = t!("{problem}; {setting} works", problem = self.message, setting);
        }
        self
    }
    /// The fault, for who sees the buttons of its fixes too.
    pub fn words(&self) -> &Message {
        self.problem.as_deref().unwrap_or(&self.message)
    }
    /// Fixes, best first.
    pub fn fixes(&self) -> impl Iterator<Item = &Fix> {
        self.fix.iter().chain(self.or.as_deref())
    }
    /// True if one of its buttons sets the field `key`.
    pub fn is_mended_by(&self, key: &str) -> bool {
        self.fixes().any(|fix| fix.set.iter().any(|(set, _)| *set == key))
    }
    /// Adds a button that sets several fields at once.
    pub fn with_fixes(self, set: Vec<(&'static str, String)>) -> Self {
        Self { fix: Some(Fix::new(set)), ..self }
    }
    /// Adds a second button that sets several fields at once.
    pub(crate) fn or_fixes(self, set: Vec<(&'static str, String)>) -> Self {
        Self { or: Some(Box::new(Fix::new(set))), ..self }
    }
    /// The words of its first button.
    pub fn labelled(mut self, label: impl Into<Message>) -> Self {
        if let Some(fix) = &mut self.fix {
            fix.label = Some(label.into());
        }
        self
    }
}

/// "tp=4, pp=2".
fn pairs(set: &[(&'static str, String)]) -> String {
    let pairs: Vec<_> = set.iter().map(|(key, value)| format!("{key}={value}")).collect();
    pairs.join(", ")
}
