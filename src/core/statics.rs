//! Texts that live as long as the program, of texts that another module of it sent. Each is kept once, so what is kept is
//! bounded by what that module's code says: names of elements and attributes, keys of fields, templates of messages.

use serde::{Deserialize, Deserializer, Serializer};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// A text that lives as long as the program. By this name serde does not borrow it from what it reads.
pub type Static = &'static str;

thread_local! {
    static KEPT: RefCell<BTreeSet<Static>> = const { RefCell::new(BTreeSet::new()) };
}

/// `text`, kept.
pub(crate) fn kept(text: String) -> Static {
    KEPT.with_borrow_mut(|kept| {
        kept.get(text.as_str()).copied().unwrap_or_else(|| {
            let text: Static = text.leak();
            kept.insert(text);
            text
        })
    })
}

/// Writes one as the name of a variant, which JavaScript gets as the same string object every time:
/// `#[serde(serialize_with = "statics::name")]`.
///
/// # Errors
/// Those of the serializer.
pub(crate) fn name<S: Serializer>(text: &Static, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_unit_variant("", 0, text)
}

/// Reads one: `#[serde(deserialize_with = "statics::text")]`.
///
/// # Errors
/// What is read is no text.
pub fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Static, D::Error> {
    String::deserialize(deserializer).map(kept)
}

/// Reads a list of them, each with a value.
///
/// # Errors
/// What is read is another list.
pub fn pairs<'de, D, T>(deserializer: D) -> Result<Vec<(Static, T)>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let read = Vec::<(String, T)>::deserialize(deserializer)?;
    let pairs = read.into_iter().map(|(text, value)| (kept(text), value));
    Ok(pairs.collect())
}

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn a_text_is_kept_once() {
        let first = kept("across".to_owned());
        assert!(std::ptr::eq(first, kept("across".to_owned())));
        assert_ne!(first, kept("down".to_owned()));
    }
}
