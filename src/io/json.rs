//! JSON to be read by people too: exports and settings.

use serde::Serialize;

/// Indented JSON with a line break at its end.
#[must_use]
pub fn pretty<T: Serialize>(value: &T) -> String {
    let text = serde_json::to_string_pretty(value);
    text.map_or_else(|_| String::new(), |text| text + "\n")
}
