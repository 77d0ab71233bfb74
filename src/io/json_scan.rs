//! JSON of any length, byte by byte: its values are reported as they are read, and none is kept.

/// Longest text that is reported, bytes; the rest of a longer one is dropped.
const MAX_TEXT: usize = 256;
/// Values nested deeper than this are not reported.
const MAX_DEPTH: usize = 64;

/// A token of JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum JsonEvent<'a> {
    /// An object or a list begins; with its key, where it is in an object.
    Begin,
    End,
    Text(&'a str),
    /// A number; what is neither text nor number is not reported.
    Number(f64),
}

/// Takes bytes, tells events with the key that they are under.
#[derive(Default)]
pub(crate) struct Scanner {
    /// Open brackets: true for an object, and its key.
    open: Vec<(bool, String)>,
    key: String,
    token: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum State {
    #[default]
    Between,
    Text,
    Escape,
    Literal,
}

impl Scanner {
    /// The key of the bracket `up` levels above the innermost.
    pub fn above(&self, up: usize) -> &str {
        let at = self.open.len().checked_sub(1 + up);
        at.map_or("", |at| self.open[at].1.as_str())
    }

    /// The last number as it is in the text.
    pub fn token(&self) -> &str {
        std::str::from_utf8(&self.token).unwrap_or_default()
    }

    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Takes bytes; `tell` is given the scanner, the key and the event.
    pub fn push(&mut self, bytes: &[u8], mut tell: impl FnMut(&Self, &str, JsonEvent)) {
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match self.state {
                State::Between => self.between(*byte, &mut tell),
                State::Text => {
                    // Most of a trace is text: what ends one is looked for, and all before it is taken at once.
                    let rest = &bytes[at..];
                    let length = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(rest.len());
                    self.keep(&rest[..length]);
                    at += length;
                    match rest.get(length) {
                        Some(b'"') => self.text(&mut tell),
                        Some(_) => self.state = State::Escape,
                        None => {}
                    }
                }
                State::Escape => {
                    self.keep(&[*byte]);
                    self.state = State::Text;
                }
                State::Literal => {
                    if matches!(byte, b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t') {
                        self.literal(&mut tell);
                        self.between(*byte, &mut tell);
                    } else {
                        self.keep(&[*byte]);
                    }
                }
            }
            at += 1;
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_TEXT.saturating_sub(self.token.len()).min(bytes.len());
        self.token.extend_from_slice(&bytes[..room]);
    }

    fn between(&mut self, byte: u8, tell: &mut impl FnMut(&Self, &str, JsonEvent)) {
        match byte {
            b'{' | b'[' => {
                let key = std::mem::take(&mut self.key);
                if self.open.len() < MAX_DEPTH {
                    tell(self, &key, JsonEvent::Begin);
                }
                self.open.push((byte == b'{', key));
                // Deeper brackets count, and are forgotten by their end.
                self.open.truncate(1 << 20);
            }
            b'}' | b']' => {
                if let Some((_, key)) = self.open.pop()
                    && self.open.len() < MAX_DEPTH
                {
                    tell(self, &key, JsonEvent::End);
                }
                self.key.clear();
            }
            b'"' => {
                self.token.clear();
                self.state = State::Text;
            }
            b',' => self.key.clear(),
            b':' | b' ' | b'\n' | b'\r' | b'\t' => {}
            other => {
                self.token.clear();
                self.token.push(other);
                self.state = State::Literal;
            }
        }
    }

    fn text(&mut self, tell: &mut impl FnMut(&Self, &str, JsonEvent)) {
        self.state = State::Between;
        let token = std::mem::take(&mut self.token);
        let text = String::from_utf8_lossy(&token);
        let in_object = self.open.last().is_some_and(|(object, _)| *object);
        if in_object && self.key.is_empty() {
            self.key.push_str(&text);
        } else {
            let key = std::mem::take(&mut self.key);
            tell(self, &key, JsonEvent::Text(&text));
        }
        self.token = token;
    }

    fn literal(&mut self, tell: &mut impl FnMut(&Self, &str, JsonEvent)) {
        self.state = State::Between;
        let key = std::mem::take(&mut self.key);
        let number = std::str::from_utf8(&self.token).ok().and_then(|text| text.parse::<f64>().ok());
        if let Some(number) = number.filter(|number| number.is_finite()) {
            tell(self, &key, JsonEvent::Number(number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, size: usize) -> Vec<String> {
        let mut scanner = Scanner::default();
        let mut events = Vec::new();
        for piece in text.as_bytes().chunks(size) {
            scanner.push(piece, |scanner, key, event| {
                events.push(format!("{} {key} {event:?}", scanner.depth()));
            });
        }
        events
    }

    #[test]
    fn events_are_the_same_in_pieces_of_any_length() {
        let text = r#"{"a": 1.5, "b": ["x\"y", -2e3, null], "c": {"d": true, "e": "é"}}"#;
        let whole = told(text, 1000);
        for size in [1, 2, 3, 7] {
            assert_eq!(told(text, size), whole);
        }
        assert_eq!(whole[1], "1 a Number(1.5)");
        assert_eq!(whole[3], "2  Text(\"x\\\"y\")");
        assert_eq!(whole.last().unwrap(), "0  End");
        assert_eq!(whole.len(), 10);
    }

    #[test]
    fn broken_text_ends_without_a_panic() {
        for text in ["]]]}}", "{\"a\"", "[[[[", "\"\\", "{\"a\":{\"b\":", "{,,::}"] {
            told(text, 1);
        }
        told(&"[".repeat(100_000), 4096);
    }
}
