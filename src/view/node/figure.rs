//! Figures of reports in trees: which field of which report each is, so that a test holds equal ones to one text.

use super::Node;
use shardscope_core::diagnose::{COMPARED, FILES};
use shardscope_core::message::{FigureKey, Message};
use shardscope_core::run::Run;
use std::fmt::Display;
use std::sync::Arc;

/// Whose a figure is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope(String);

impl Scope {
    /// The page's own run.
    pub fn run() -> Self {
        Self("run".to_owned())
    }

    /// What files measured.
    pub(crate) fn files() -> Self {
        Self(FILES.to_owned())
    }

    /// The run that files are compared with: the one that they state, else that of the page.
    pub(crate) fn compared() -> Self {
        Self(COMPARED.to_owned())
    }

    /// A part of it: a rank, a phase, a method.
    #[must_use]
    pub fn part(&self, of: impl Display) -> Self {
        Self(format!("{} {of}", self.0))
    }

    /// The figure `shown` in a sentence: the value of `field` in the report of this scope.
    pub fn says(&self, field: impl Into<String>, shown: impl Into<String>) -> Message {
        Message::figure(shown, FigureKey { field: field.into(), scope: self.0.clone() })
    }

    /// A layout or run that is beside the page's `own` run; the page's run where the two are equal.
    pub fn of(run: &Run, own: Option<&Run>) -> Self {
        if own == Some(run) {
            return Self::run();
        }
        let mut hash = OFFSET;
        for (key, text) in run.changed_texts() {
            for byte in key.bytes().chain([b'=']).chain(text.bytes()).chain([b'&']) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
            }
        }
        Self(format!("{hash:016x}"))
    }

    /// The page's `own` run where other texts are `set`.
    pub(crate) fn of_changed(own: &Run, set: &[(&'static str, String)]) -> Self {
        own.with_texts(set).map_or_else(Self::run, |run| Self::of(&run, Some(own)))
    }
}

/// Offset basis of FNV-1a with 64 bits: a hash that is the same on every machine.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
/// Prime of FNV-1a with 64 bits.
const PRIME: u64 = 0x0000_0100_0000_01b3;

impl Node {
    /// Marks a figure with the `field` of the report that it shows, by its name there, and with whose report it is.
    pub(crate) fn reports(self, field: impl Into<String>, scope: &Scope) -> Self {
        self.stands_at(field.into(), scope.0.clone())
    }

    /// Marks a figure that is no field of a report with the place where it is.
    pub(super) fn stands_at(self, field: String, of: String) -> Self {
        self.with(|element| element.figure = Some(Arc::new((field, of))))
    }

    /// Every figure of the tree that names its field, in sentences, titles and labels too: field, scope and text, in
    /// the order of the document.
    pub fn figures(&self) -> Vec<(String, String, String)> {
        let mut found = Vec::new();
        self.collect_figures(&mut found);
        found
    }

    /// The figures that are elements of their own: those of sentences are left out.
    #[cfg(test)]
    pub(crate) fn marked_figures(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        self.collect_marked(&mut found);
        found
    }

    #[cfg(test)]
    fn collect_marked(&self, found: &mut Vec<(String, String)>) {
        match self {
            Self::Element(element) => {
                if let Some((field, _)) = element.figure.as_deref() {
                    found.push((field.clone(), self.said()));
                }
                element.children.iter().for_each(|child| child.collect_marked(found));
            }
            Self::List(pieces) => pieces.iter().for_each(|piece| piece.collect_marked(found)),
            Self::Text(_) | Self::Prose(_) | Self::Picture(_) => {}
        }
    }

    fn collect_figures(&self, found: &mut Vec<(String, String, String)>) {
        match self {
            Self::Element(element) => {
                if let Some((field, scope)) = element.figure.as_deref() {
                    found.push((field.clone(), scope.clone(), self.said()));
                }
                element.attributes.iter().for_each(|(_, message)| collect_said(message, found));
                element.children.iter().for_each(|child| child.collect_figures(found));
            }
            Self::List(pieces) => pieces.iter().for_each(|piece| piece.collect_figures(found)),
            Self::Text(message) | Self::Prose(message) => collect_said(message, found),
            Self::Picture(_) => {}
        }
    }

    /// Its text, in English.
    pub(crate) fn said(&self) -> String {
        let mut out = String::new();
        self.write_text(&mut out);
        out
    }

    fn write_text(&self, out: &mut String) {
        match self {
            Self::Element(element) => element.children.iter().for_each(|child| child.write_text(out)),
            Self::List(pieces) => pieces.iter().for_each(|piece| piece.write_text(out)),
            Self::Text(message) | Self::Prose(message) => out.push_str(&message.to_string()),
            Self::Picture(_) => {}
        }
    }
}

/// Adds the figures of a sentence that name their field.
fn collect_said(message: &Message, found: &mut Vec<(String, String, String)>) {
    message.figures(&mut |shown, key| {
        found.extend(key.map(|key| (key.field.clone(), key.scope.clone(), shown.to_owned())));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::markup::strong;
    use shardscope_core::message::verbatim;
    use shardscope_core::t;

    #[test]
    fn a_figure_says_its_field_whose_it_is_and_its_text() {
        let own = Run::default();
        let other = Run { tp: 8, ..Run::default() };
        assert_eq!(Scope::of(&own, Some(&own)), Scope::run());
        assert_eq!(Scope::of(&other, Some(&own)), Scope::of(&other, None));
        assert_ne!(Scope::of(&other, None), Scope::of(&own, None));
        let node = strong(verbatim("3.33 s")).reports("step.time_s", &Scope::run());
        let step = ("step.time_s".to_owned(), "run".to_owned(), "3.33 s".to_owned());
        assert_eq!(node.figures(), std::slice::from_ref(&step));
        let time = Scope::run().says("step.time_s", "3.33 s");
        let sentence = strong(t!("A step takes {time}.", time = &time)).title(time);
        assert_eq!(sentence.figures(), [step.clone(), step]);
    }
}
