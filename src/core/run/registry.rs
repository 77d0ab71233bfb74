//! What can be set, as data: one [`Field`] a setting, from which the link, JSON, the form, the hints and the tests come.
//!
//! What a field is stands in `field.rs`; the rows are in `fields.rs`, what may be set in `set.rs`, texts in `text.rs`.

use super::Run;
pub use super::field::{Field, Group, Slot, Steps};
pub use super::fields::FIELDS;
pub use super::set::LONGEST_TEXT;
pub use super::text::plain;
use crate::issue::Issue;

/// What of `run` no link could say, field by field: for Runs that were not read by the fields themselves.
#[must_use]
pub fn out_of_range(run: &Run) -> Vec<Issue> {
    let mut probe = run.clone();
    FIELDS
        .iter()
        .filter_map(|field| {
            let message = field.set(&mut probe, &field.get(run)).err()?;
            Some(Issue::error(field.key, message))
        })
        .collect()
}

/// The field with this dotted key; `model`, `gpu`, `precision` and `stack` also answer to `.base`.
#[must_use]
pub fn field(key: &str) -> Option<&'static Field> {
    let key = match key {
        "model.base" => "model",
        "gpu.base" => "gpu",
        "precision.base" => "precision",
        "stack.base" => "stack",
        other => other,
    };
    FIELDS.iter().find(|field| field.key == key)
}
