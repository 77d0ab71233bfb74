//! The settings of a [`Run`] as data, from which links, JSON, the form, the hints and the tests come.
//!
//! [`crate::field`] says what a field is; its row is where its part of the Run is declared.

use super::Run;
use crate::field;
pub use crate::field::{Group, LONGEST_TEXT, Slot, Steps, plain};
use crate::field::{Row, Settable};
use crate::issue::Issue;
use std::sync::LazyLock;

/// A setting of a Run.
pub type Field = field::FieldOf<Run>;

/// The settings, in the order of a link.
pub static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| Run::fields("", Row::default()));

/// Issues at fields of `run` that no link could say: for Runs that were not read by the fields themselves.
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

/// The field with this dotted key; `model`, `gpu`, `precision`, `stack` and `objective` also answer to `.base`.
pub fn field(key: &str) -> Option<&'static Field> {
    let key = key.strip_suffix(".base").filter(|whole| BASED.contains(whole)).unwrap_or(key);
    FIELDS.iter().find(|field| field.key == key)
}

/// Fields that name a preset, whose parts can be set besides.
pub(crate) const BASED: [&str; 5] = ["model", "gpu", "precision", "stack", "objective"];

/// Of these, the fields that keep their preset when a file sets parts without naming one.
pub(super) const KEEP_THEIR_BASE: [&str; 2] = ["stack", "objective"];

/// The fields of the parts of `whole`.
pub(super) fn parts(whole: &str) -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(move |field| field.key.strip_prefix(whole).is_some_and(|rest| rest.starts_with('.')))
}

pub fn clear_parts(run: &mut Run, whole: &str) {
    parts(whole).for_each(|field| field.unset(run));
}

/// The first field that is set of the parts of `whole`.
pub(super) fn first_set(run: &Run, whole: &str) -> Option<&'static Field> {
    parts(whole).find(|field| field.is_changed(run))
}
