//! Sources as words and signs, for the tests that read them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The Rust files below `folder`, in their order.
pub fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::path);
    for path in entries.into_iter().map(|entry| entry.path()) {
        if path.is_dir() {
            rust_files(&path, found)?;
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

/// A word, `::` or a single sign of a source.
#[allow(dead_code)] // not every test tells lines
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    pub line: usize,
    pub text: &'a str,
}

/// The words and signs of a source, without its comments, texts and characters.
pub fn tokens(source: &str) -> Vec<Token<'_>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut line = 1;
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let (length, keep) = if rest.starts_with("//") {
            (rest.find('\n').unwrap_or(rest.len()), false)
        } else if rest.starts_with("/*") {
            (block_comment(rest), false)
        } else if let Some(length) = text_literal(rest) {
            (length, false)
        } else if first == '\'' {
            // A lifetime's name is kept as a word; a character is left out.
            (char_literal(rest).unwrap_or(1), false)
        } else if is_word(first) {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            (end, true)
        } else if rest.starts_with("::") {
            (2, true)
        } else {
            (first.len_utf8(), !first.is_whitespace())
        };
        let (text, after) = rest.split_at(length);
        if keep {
            found.push(Token { line, text });
        }
        line += text.matches('\n').count();
        rest = after;
    }
    found
}

/// The length of the block comment, which may hold others, that `rest` starts with.
fn block_comment(rest: &str) -> usize {
    let mut open = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            open += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            open -= 1;
            at += 2;
            if open == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length of the string that `rest` starts with: `"..."`, `r#"..."#` and their byte and C kin.
fn text_literal(rest: &str) -> Option<usize> {
    let prefix = rest.find(|c: char| !matches!(c, 'b' | 'c' | 'r'))?;
    if prefix > 2 {
        return None;
    }
    let body = &rest[prefix..];
    let hashes = body.find(|c| c != '#')?;
    if !body[hashes..].starts_with('"') {
        return None;
    }
    let raw = rest[..prefix].ends_with('r');
    if !raw && hashes > 0 {
        return None;
    }
    let start = prefix + hashes + 1;
    if raw {
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(rest[start..].find(&end).map_or(rest.len(), |at| start + at + end.len()));
    }
    let mut escaped = false;
    for (at, c) in rest[start..].char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(start + at + 1),
            _ => {}
        }
    }
    Some(rest.len())
}

/// The length of the character that `rest` starts with, if it is no lifetime.
fn char_literal(rest: &str) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first == '\\' {
        chars.next()?;
        return chars.find(|(_, c)| *c == '\'').map(|(at, _)| at + 1);
    }
    chars.next().filter(|(_, c)| *c == '\'').map(|(at, _)| at + 1)
}
