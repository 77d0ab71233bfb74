//! Texts that live as long as the program.

use serde::Serializer;

/// Writes one as the name of a variant, which JavaScript gets as the same string object every time:
/// `#[serde(serialize_with = "statics::name")]`.
///
/// # Errors
/// Errors of the serializer.
pub(crate) fn name<S: Serializer>(text: &&'static str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_unit_variant("", 0, text)
}
