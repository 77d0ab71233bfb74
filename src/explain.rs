//! Where a figure comes from: the formula, the same with this run's values, and the source, as a tree.
//!
//! A result's explanation is built by the same parts as the result; every node carries its value, so a test can hold
//! the tree to the report. The page shows a [`Term`] in the drawer "about this number".

mod copy;

use crate::source::Source;
use crate::units::{Bytes, Seconds, show_bytes, show_count, show_seconds, significant};

/// What a [`Term`]'s value is measured in; decides how it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes, printed in a binary unit.
    Bytes,
    /// Seconds.
    Seconds,
    /// A plain count: parameters, FLOPs, tokens.
    Count,
    /// A number without unit.
    Ratio,
    /// A share, printed in percent.
    Share,
}

/// A figure with its formula, the values in it, and its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The symbol other formulas use for it: "P".
    pub symbol: &'static str,
    /// What it is: "parameters of the first stage".
    pub name: String,
    /// The value, in SI base units.
    pub value: f64,
    /// How to print the value.
    pub unit: Unit,
    /// The formula in plain text, in the symbols of the children; empty for an input.
    pub formula: String,
    /// The inputs and intermediate figures in the formula.
    pub parts: Vec<Term>,
    /// Document and place within it.
    pub source: Option<(&'static Source, &'static str)>,
    /// What the figure assumes or leaves out.
    pub notes: Vec<String>,
}

impl Term {
    /// An input: a symbol with a value.
    pub fn given(symbol: &'static str, name: impl Into<String>, value: f64, unit: Unit) -> Self {
        Self {
            symbol,
            name: name.into(),
            value,
            unit,
            formula: String::new(),
            parts: Vec::new(),
            source: None,
            notes: Vec::new(),
        }
    }
    /// A plain count as an input.
    pub fn count(symbol: &'static str, name: impl Into<String>, value: u64) -> Self {
        Self::given(symbol, name, value as f64, Unit::Count)
    }
    /// Gives it a formula over `parts`.
    #[must_use]
    pub fn by(mut self, formula: impl Into<String>, parts: Vec<Term>) -> Self {
        self.formula = formula.into();
        self.parts = parts;
        self
    }
    /// Names the document and the place within it.
    #[must_use]
    pub fn from(mut self, source: &'static Source, place: &'static str) -> Self {
        self.source = Some((source, place));
        self
    }
    /// Adds an assumption or something left out.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
    /// The value as the page prints it.
    #[must_use]
    pub fn shown(&self) -> String {
        match self.unit {
            Unit::Bytes => show_bytes(Bytes(self.value)),
            Unit::Seconds => show_seconds(Seconds(self.value)),
            Unit::Count if self.value < 1e6 && self.value.fract() == 0.0 => {
                crate::units::group(&self.value.to_string())
            }
            Unit::Count => show_count(self.value),
            Unit::Ratio => significant(self.value, 4),
            Unit::Share => crate::units::show_percent(self.value),
        }
    }
    /// The formula with every symbol replaced by its value: `2 · 4096 · 8.0`; a sum by its summands, where it has them.
    /// Nothing where that would say nothing.
    #[must_use]
    pub fn substituted(&self) -> String {
        if self.formula.contains('Σ') {
            return self.summands();
        }
        let mut out = String::new();
        let mut word = String::new();
        let flush = |word: &mut String, out: &mut String| {
            match self.parts.iter().find(|part| part.symbol == word) {
                Some(part) => out.push_str(&part.shown()),
                None => out.push_str(word),
            }
            word.clear();
        };
        for c in self.formula.chars() {
            if is_word(c) {
                word.push(c);
            } else {
                flush(&mut word, &mut out);
                out.push(c);
            }
        }
        flush(&mut word, &mut out);
        if out == self.formula {
            String::new()
        } else {
            out
        }
    }
    /// What a sum runs over: the parts without a symbol, where they make up the value.
    fn summands(&self) -> String {
        let parts = self.parts.iter();
        let summands: Vec<&Term> = parts
            .filter(|part| part.symbol.is_empty() && part.unit == self.unit)
            .collect();
        let sum: f64 = summands.iter().map(|part| part.value).sum();
        if summands.len() < 2 || (sum - self.value).abs() > self.value.abs() * 1e-6 {
            return String::new();
        }
        let shown: Vec<String> = summands.iter().map(|part| part.shown()).collect();
        shown.join(" + ")
    }
}

/// Whether a character is part of a symbol: a raised ² is not.
fn is_word(c: char) -> bool {
    c.is_alphabetic() || c.is_ascii_digit() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substitution_replaces_whole_symbols_only() {
        let term = Term::given("A", "activations", 96.0, Unit::Bytes).by(
            "s · sb · h",
            vec![
                Term::count("s", "tokens", 2),
                Term::count("h", "hidden", 16),
            ],
        );
        assert_eq!(term.substituted(), "2 · sb · 16");
        let square = Term::count("A", "area", 256).by("h²", vec![Term::count("h", "side", 16)]);
        assert_eq!(square.substituted(), "16²");
        assert_eq!(term.shown(), "96.0 B");
    }

    #[test]
    fn a_sum_is_shown_by_its_summands_or_not_at_all() {
        let part = |name, bytes| Term::given("", name, bytes, Unit::Bytes);
        let parts = vec![
            part("embedding", 32.0),
            part("layers", 64.0),
            Term::count("g", "bytes a gradient", 4),
        ];
        let whole = Term::given("G", "gradients", 96.0, Unit::Bytes);
        let term = whole.clone().by("Σ P g", parts.clone());
        assert_eq!(term.substituted(), "32.0 B + 64.0 B");
        // Parts that are not all of it would mislead.
        assert_eq!(whole.by("Σ P g", parts[1..].to_vec()).substituted(), "");
    }
}
