//! What is wrong or doubtful with a Run, said where a person can mend it.

use crate::message::Message;
use crate::t;
use serde::Serialize;

/// How much an [`Issue`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// An assumption worth knowing, or something of a link that was not understood.
    Notice,
    /// The result stands, the setting is doubtful.
    Warning,
    /// There is no result.
    Error,
}

/// A change that would mend an [`Issue`]: the fields to set, as a link would write them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What the button says: "use tp=4".
    pub label: Message,
    /// Dotted key and value of each field to set.
    pub set: Vec<(&'static str, String)>,
}

impl Fix {
    fn one(key: &'static str, value: impl std::fmt::Display) -> Self {
        let value = value.to_string();
        Self {
            label: t!("use {setting}", setting = format!("{key}={value}")),
            set: vec![(key, value)],
        }
    }
}

/// One thing to say about one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// Error, warning or notice.
    #[serde(skip)]
    pub severity: Severity,
    /// The dotted key of the link ("tp", "model.layers"); empty when nothing could be parsed.
    pub field: String,
    /// What is wrong and what would work.
    pub message: Message,
    /// One click that mends it.
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
    /// The result stands, but this is doubtful.
    pub fn warning(field: impl Into<String>, message: impl Into<Message>) -> Self {
        Self::new(Severity::Warning, field, message)
    }
    /// Worth knowing.
    pub fn notice(field: impl Into<String>, message: impl Into<Message>) -> Self {
        Self::new(Severity::Notice, field, message)
    }
    fn new(severity: Severity, field: impl Into<String>, message: impl Into<Message>) -> Self {
        Self {
            severity,
            field: field.into(),
            message: message.into(),
            fix: None,
            or: None,
        }
    }
    /// Adds the button "use key=value".
    #[must_use]
    pub fn with_fix(self, key: &'static str, value: impl std::fmt::Display) -> Self {
        Self {
            fix: Some(Fix::one(key, value)),
            ..self
        }
    }
    /// Adds a second button "use key=value".
    #[must_use]
    pub fn or_fix(self, key: &'static str, value: impl std::fmt::Display) -> Self {
        Self {
            or: Some(Box::new(Fix::one(key, value))),
            ..self
        }
    }
    /// What would mend it, best first.
    pub fn fixes(&self) -> impl Iterator<Item = &Fix> {
        self.fix.iter().chain(self.or.as_deref())
    }
    /// Whether one of its buttons sets the field `key`.
    #[must_use]
    pub fn is_mended_by(&self, key: &str) -> bool {
        self.fixes()
            .any(|fix| fix.set.iter().any(|(set, _)| *set == key))
    }
    /// Adds a button that sets several fields at once.
    #[must_use]
    pub fn with_fixes(self, label: impl Into<Message>, set: Vec<(&'static str, String)>) -> Self {
        Self {
            fix: Some(Fix {
                label: label.into(),
                set,
            }),
            ..self
        }
    }
}
