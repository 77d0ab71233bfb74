//! Lines out of pieces of bytes, and numbers out of lines.

/// A line is read up to here; the rest of it is dropped.
const MAX_LINE: usize = 16_384;

/// Puts pieces together to lines: a carriage return ends one too, as progress bars do. Colours are left out.
#[derive(Default)]
pub struct Lines {
    open: Vec<u8>,
}

impl Lines {
    /// Calls `take` with every line that `bytes` ends.
    pub fn push(&mut self, bytes: &[u8], mut take: impl FnMut(&str)) {
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let ends = matches!(piece.last(), Some(b'\n' | b'\r'));
            let text = if ends { &piece[..piece.len() - 1] } else { piece };
            let left = MAX_LINE.saturating_sub(self.open.len());
            self.open.extend_from_slice(&text[..text.len().min(left)]);
            if ends {
                self.end(&mut take);
            }
        }
    }

    /// Calls `take` with what is behind the last line's end.
    pub fn end(&mut self, mut take: impl FnMut(&str)) {
        if !self.open.is_empty() {
            let line = String::from_utf8_lossy(&self.open);
            if line.contains('\u{1b}') {
                take(&plain(&line));
            } else {
                take(&line);
            }
            self.open.clear();
        }
    }
}

/// `line` without the sequences that colour it: escape, bracket, up to a letter; and without those that name the
/// window.
fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            match chars.next() {
                Some('[') => {
                    chars.by_ref().find(char::is_ascii_alphabetic);
                }
                // The title of a window, up to a bell.
                Some(']') => {
                    chars.by_ref().find(|c| matches!(c, '\u{7}' | '\\'));
                }
                _ => {}
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// The number that `text` begins with, blanks before it aside, and what follows: `5630.1`, `10,050`, `5630,1`, `1e-4`,
/// `11.5K`, `'1.474'`.
pub fn number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start_matches([' ', '\t', '\'', '"', '=', ':']);
    let mut end = 0;
    for (at, c) in text.char_indices() {
        let before = text[..at].chars().next_back();
        let part = match c {
            '0'..='9' | '.' => true,
            '-' | '+' => at == 0 || matches!(before, Some('e' | 'E')),
            ',' | '\u{a0}' | '\u{202f}' | '\u{2009}' => {
                at > 0 && text[at + c.len_utf8()..].starts_with(|next: char| next.is_ascii_digit())
            }
            'e' | 'E' => {
                let rest = text[at + 1..].trim_start_matches(['-', '+']);
                at > 0 && rest.starts_with(|next: char| next.is_ascii_digit())
            }
            _ => false,
        };
        if !part {
            break;
        }
        end = at + c.len_utf8();
    }
    let digits: String = text[..end].chars().filter(char::is_ascii).collect();
    let digits = digits.trim_end_matches('.');
    let value: f64 = match digits.split_once(',') {
        None => digits.parse().ok()?,
        // "5.630,1": the other way round.
        Some((whole, rest)) if whole.contains('.') && !rest.contains('.') => {
            format!("{}.{rest}", whole.replace('.', "")).parse().ok()?
        }
        // Groups of three are thousands; one comma before anything else is that of a decimal fraction.
        Some((whole, rest)) if rest.contains('.') || grouped(rest) && whole.len() <= 3 => {
            digits.replace(',', "").parse().ok()?
        }
        Some(_) => digits.replacen(',', ".", 1).parse().ok()?,
    };
    let rest = &text[end..];
    let scale = |c: char| match c {
        'K' => Some(1e3),
        'M' => Some(1e6),
        'G' | 'B' => Some(1e9),
        'T' => Some(1e12),
        _ => None,
    };
    // A suffix has no unit behind it: "11.5K", not "12 MiB".
    let mut chars = rest.chars();
    match chars.next().and_then(scale) {
        Some(scale) if !chars.next().is_some_and(char::is_alphabetic) => {
            Some((value * scale, chars.as_str())).filter(|(value, _)| value.is_finite())
        }
        _ => Some((value, rest)).filter(|(value, _)| value.is_finite()),
    }
}

/// True if `rest`, behind a comma, is groups of three digits.
fn grouped(rest: &str) -> bool {
    rest.split(',').all(|group| group.len() == 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_programs_and_locales_write_them() {
        for (text, value) in [
            ("5630.1 |", 5630.1),
            (" 10,050  tflops", 10050.0),
            ("5630,1 |", 5630.1),
            ("1,234,567.5", 1_234_567.5),
            ("11.5K |", 11500.0),
            ("85.8G", 85.8e9),
            ("4.00e-06 |", 4e-6),
            ("'1.474', 'x'", 1.474),
            ("12.78s", 12.78),
            ("66.91GiB(37.51%)", 66.91),
            ("12.", 12.0),
            ("5.630,1 |", 5630.1),
            ("1\u{202f}234,5 ms", 1234.5),
            ("2701.3/2712.7 |", 2701.3),
        ] {
            assert_eq!(number(text).map(|(value, _)| value), Some(value), "{text}");
        }
        for text in ["", "N/A", "-", "e5", "nan", ",5", "K"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn lines_come_whole_out_of_pieces_and_without_colours() {
        let text = "one\u{1b}[31m red\u{1b}[0m\r\ntwo\rthree";
        for size in [1, 2, 5, 100] {
            let mut lines = Lines::default();
            let mut whole_lines = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                lines.push(piece, |line| whole_lines.push(line.to_owned()));
            }
            lines.end(|line| whole_lines.push(line.to_owned()));
            assert_eq!(whole_lines, ["one red", "two", "three"]);
        }
    }
}
