//! "A preset, or a preset with changes, or all of it": the three ways to set a model, a GPU or a precision.

use crate::field::{Choice, FieldOf, Row, Settable, Slot, Value, at};
use crate::message::{Message, verbatim};
use crate::t;

/// A preset's id, if one is named, and what differs from it.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Based<Parts> {
    /// Id of the preset; none: the parts must say everything.
    pub base: Option<&'static str>,
    /// Parts that were set besides.
    pub parts: Parts,
}

impl<Parts: Default + PartialEq> Based<Parts> {
    pub fn preset(id: &'static str) -> Self {
        Self { base: Some(id), parts: Parts::default() }
    }
    /// The preset, if one is named, with nothing set besides.
    pub fn bare(&self) -> Self {
        Self { base: self.base, parts: Parts::default() }
    }
    /// Something is set besides the preset.
    pub fn is_changed(&self) -> bool {
        self.parts != Parts::default()
    }
}

/// Parts of something that has presets.
pub trait Preset: Settable + Default + PartialEq {
    /// Ids and names of the presets.
    fn presets() -> Vec<Choice>;
}

impl<Parts: Preset> Settable for Based<Parts> {
    fn fields(key: &'static str, row: Row) -> Vec<FieldOf<Self>> {
        let base = FieldOf::new(
            key,
            row,
            Slot::Choice { options: Parts::presets },
            |based: &Self| based.base.map(|id| Value::Text(id.to_owned())).unwrap_or_default(),
            |based, value| {
                let presets = Parts::presets();
                let is = |id: &str| presets.iter().map(|preset| preset.id).find(|named| named.eq_ignore_ascii_case(id));
                based.base = value.text().and_then(is);
                based.base.is_some() == value.text().is_some()
            },
        );
        let parts = at(key, Row::default(), |based: &Self| &based.parts, |based| &mut based.parts);
        [base].into_iter().chain(parts).collect()
    }
}

/// Name on the page of a preset, a changed one, or none.
pub fn title(name: Option<&'static str>, own: &'static str, changed: bool) -> Message {
    match (name, changed) {
        (Some(name), false) => verbatim(name),
        (Some(name), true) => t!("{name}, modified", name),
        (None, _) => Message::plain(own),
    }
}
