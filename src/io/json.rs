//! JSON from outside within bounds, and JSON to be read by people too: exports and settings.

use serde::Serialize;
use shardscope_core::issue::Issue;
use shardscope_core::run::Value;
use shardscope_core::t;

/// Objects and lists within each other that a request may have: a plan's run's model's experts are four. The stack of a
/// browser ends at some thousand.
pub const MAX_DEPTH: usize = 64;
/// Bytes of a text of JSON, and letters of all texts of a JavaScript object together; a link may have as many.
pub const MAX_BYTES: u32 = 1 << 22;

/// A text as an answer.
#[derive(Serialize)]
pub struct Text {
    errors: Vec<Issue>,
    text: String,
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self { errors: Vec::new(), text }
    }
}

/// Indented JSON with a line break at its end.
pub fn pretty<T: Serialize>(value: &T) -> String {
    let text = serde_json::to_string_pretty(value);
    text.map_or_else(|_| String::new(), |text| text + "\n")
}

/// The issue of a value within more than [`MAX_DEPTH`] others, or within itself.
pub fn too_deep(field: &str) -> Issue {
    let message = t!("nested deeper than {depth} levels, or within itself", depth = MAX_DEPTH);
    Issue::error(field, message)
}

/// The value that `text` is.
///
/// # Errors
/// A text that is no JSON, too long, or nested too deep.
pub fn read(text: &str) -> Result<Value, Vec<Issue>> {
    read_within(text, MAX_BYTES)
}

/// Reads a text of at most `most` bytes: one that holds files.
///
/// # Errors
/// As [`read`].
pub fn read_within(text: &str, most: u32) -> Result<Value, Vec<Issue>> {
    if text.len() > most as usize {
        let message = t!("longer than {bytes} bytes: not read", bytes = most.to_string());
        return Err(vec![Issue::error("", message)]);
    }
    if depth(text, true) > MAX_DEPTH {
        return Err(vec![too_deep("")]);
    }
    serde_json::from_str(text)
        .map_err(|error| vec![Issue::error("", t!("not JSON: {error}", error = error.to_string()))])
}

/// Most brackets that are open at once; outside of strings, where the text `has_strings`.
pub fn depth(text: &str, has_strings: bool) -> usize {
    let (mut open, mut deepest) = (0usize, 0);
    let (mut quoted, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted ^= has_strings,
            b'{' | b'[' | b'(' if !quoted => open += 1,
            b'}' | b']' | b')' if !quoted => open = open.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{"model":{"model":...1}}`, `levels` deep.
    fn nested(levels: usize) -> String {
        format!("{}1{}", "{\"model\":".repeat(levels), "}".repeat(levels))
    }

    fn said(text: &str) -> String {
        read(text).unwrap_err().remove(0).message.to_string()
    }

    #[test]
    fn sixty_four_levels_are_read_and_one_more_is_refused_by_name() {
        assert!(read(&nested(64)).is_ok());
        for levels in [65, 2_000, 100_000] {
            assert!(said(&nested(levels)).starts_with("nested deeper than 64 levels"));
        }
        assert!(said(&"[".repeat(100_000)).starts_with("nested deeper than 64 levels"));
    }

    #[test]
    fn brackets_within_a_text_nest_nothing() {
        let text = format!("{{\"a\":\"\\\"{}\"}}", "[".repeat(500));
        assert!(read(&text).is_ok());
    }

    #[test]
    fn four_mebibytes_are_the_most() {
        let long = format!("\"{}\"", "a".repeat(MAX_BYTES as usize));
        assert!(said(&long).contains("longer than 4194304 bytes"));
        assert!(said("{").starts_with("not JSON"));
    }
}
