//! Derivation of a figure as a tree: the formula, the same with this run's values, and the source.
//!
//! A result's explanation is built by the same parts as the result; every node carries its value and, as a structure,
//! the formula over its parts: `tests/page_free/explained.rs` computes every one and holds it to the value. What no
//! formula gives says so ([`Provenance`]). The page shows a [`Term`] in the drawer "about this number".

mod copy;
mod expr;
mod formula;
mod quantity;
pub mod symbols;

pub use formula::{Formula, ceil};
pub use quantity::{Quantity, Symbol, Written, written};

use crate::message::{Message, verbatim};
use crate::source::Source;
use crate::statics::named;
use crate::t;
use crate::units::{
    Bytes, MemoryUnit, Seconds, number, scientific, show_bandwidth, show_flops, show_percent, show_seconds,
};

/// Unit of a [`Term`]'s value; decides how it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes, printed in the unit that the page shows memory in.
    Bytes,
    /// Bytes a second, printed in decimal units.
    Bandwidth,
    Seconds,
    /// Floating-point operations.
    Flops,
    /// Floating-point operations a second.
    FlopRate,
    Parameters,
    Tokens,
    /// Tokens a second.
    TokenRate,
    /// A plain count: layers, GPUs, micro-batches.
    Count,
    /// A number without unit.
    Ratio,
    /// A share, printed in percent.
    Share,
}

named! {
    /// Origin of a value that no formula over the term's parts gives.
    pub enum Provenance: word {
        /// Read off the simulated schedule.
        Simulated = "simulated",
        /// Found in a table of ours or of a source.
        LookedUp = "looked up",
        /// Added up over more pieces than are listed, each by the rule that is given with it.
        AddedUp = "added up piece by piece",
    }
}

/// Derivation of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Derivation {
    /// An input.
    Given,
    /// By a formula over the parts.
    Formula(Formula),
    /// In another way, with the formula of one of its pieces where it is added up of them.
    Marked(Provenance, Option<Formula>),
}

/// A figure with its formula, the values in it, and its source.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Term {
    /// The symbol other formulas use for it: "P".
    pub symbol: &'static str,
    /// Name: "parameters of the first stage".
    pub name: Message,
    /// The value, in SI base units.
    pub value: f64,
    /// Unit of the value.
    pub unit: Unit,
    /// Derivation of the value.
    pub derivation: Derivation,
    /// The inputs and intermediate figures in the formula.
    pub parts: Vec<Term>,
    /// Document and place within it.
    pub source: Option<(&'static Source, &'static str)>,
    /// Assumptions of the figure, and effects that it leaves out.
    pub notes: Vec<Message>,
    /// The closed form of the papers, where one is known.
    pub closed: Option<Box<Term>>,
}

impl Term {
    /// An input: a symbol with a value.
    pub fn given(symbol: &'static str, name: impl Into<Message>, value: f64, unit: Unit) -> Self {
        Self {
            symbol,
            name: name.into(),
            value,
            unit,
            derivation: Derivation::Given,
            parts: Vec::new(),
            source: None,
            notes: Vec::new(),
            closed: None,
        }
    }
    /// A plain count as an input.
    pub fn count(symbol: &'static str, name: impl Into<Message>, value: u64) -> Self {
        Self::given(symbol, name, value as f64, Unit::Count)
    }
    /// A term computed from `parts` by `make`, which is its formula too.
    pub fn made<const N: usize>(
        symbol: &'static str,
        name: impl Into<Message>,
        unit: Unit,
        parts: [Self; N],
        make: impl FnOnce([Written; N]) -> Written,
    ) -> Self {
        written(|| make(parts.map(Written::part)).term(symbol, name, unit))
    }
    /// The sum of `parts`.
    pub fn sum(symbol: &'static str, name: impl Into<Message>, unit: Unit, parts: Vec<Self>) -> Self {
        let add = |sum: Written, part: Written| sum + part;
        written(|| {
            let sum = parts.into_iter().map(Written::part).reduce(add).unwrap_or_else(|| Written::number(0.0));
            sum.term(symbol, name, unit)
        })
    }
    /// Says that no formula gives it, and how it comes about.
    pub fn marked(mut self, provenance: Provenance) -> Self {
        self.derivation = Derivation::Marked(provenance, None);
        self
    }
    /// Says that it is added up over more pieces than are listed; `piece` is one of them, written by the arithmetic
    /// that computes each.
    pub fn added_up(mut self, piece: impl FnOnce() -> Written) -> Self {
        self.derivation = Derivation::Marked(Provenance::AddedUp, Some(written(|| piece().formula())));
        self
    }
    /// The inputs of a rule, or what else belongs to the figure.
    pub fn with(mut self, parts: Vec<Term>) -> Self {
        self.parts = parts;
        self
    }
    /// Names the document and the place within it.
    pub fn from(mut self, source: &'static Source, place: &'static str) -> Self {
        self.source = Some((source, place));
        self
    }
    /// Adds an assumption or something left out.
    pub fn note(mut self, note: impl Into<Message>) -> Self {
        self.notes.push(note.into());
        self
    }
    pub fn closing(mut self, closed: Option<Term>) -> Self {
        self.closed = closed.map(Box::new);
        self
    }
    pub fn formula(&self) -> Option<&Formula> {
        match &self.derivation {
            Derivation::Formula(formula) => Some(formula),
            _ => None,
        }
    }
    /// Origin of a value that no formula gives, and the formula of one of its pieces.
    pub fn provenance(&self) -> Option<(Provenance, Option<&Formula>)> {
        match &self.derivation {
            Derivation::Marked(provenance, piece) => Some((*provenance, piece.as_ref())),
            _ => None,
        }
    }
    /// True if there is more to show than its value.
    pub fn opens(&self) -> bool {
        self.derivation != Derivation::Given
    }
    /// Evaluates its formula with the values of its parts.
    pub fn computed(&self) -> Option<f64> {
        self.formula()?.value(&self.parts)
    }
    /// The formula with every symbol replaced by its value: `2 × 4096 × 8`. Nothing where that would say nothing.
    pub fn with_values(&self, unit: MemoryUnit) -> String {
        self.formula().map(|formula| formula.with_values(&self.parts, unit)).unwrap_or_default()
    }
    /// The value as a factor in a formula: a count of anything without a word.
    pub(super) fn amount(&self, unit: MemoryUnit) -> String {
        match self.unit {
            Unit::Parameters | Unit::Tokens => scientific(self.value),
            _ => self.shown(unit).to_string(),
        }
    }
    /// The value as the page prints it: no unit that could be taken for a symbol or a symbol for a unit.
    pub fn shown(&self, unit: MemoryUnit) -> Message {
        let count = || scientific(self.value);
        verbatim(match self.unit {
            Unit::Bytes => unit.fitting(Bytes(self.value)),
            Unit::Bandwidth => show_bandwidth(self.value),
            Unit::Seconds => show_seconds(Seconds(self.value)),
            Unit::Flops => show_flops(self.value),
            Unit::FlopRate => format!("{}/s", show_flops(self.value)),
            Unit::Parameters => return t!("{count} parameters", count = count()),
            Unit::Tokens => return t!("{count} tokens", count = count()),
            Unit::TokenRate => return t!("{count} tokens/s", count = count()),
            Unit::Count => count(),
            Unit::Ratio => number(self.value, 4),
            Unit::Share => show_percent(self.value),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_the_place_of_whole_symbols() {
        let parts = [Term::count("s", "tokens", 2), Term::count("h", "hidden", 16)];
        let term = Term::made("A", "activations", Unit::Bytes, parts, |[s, h]| s * h * 2.0);
        assert_eq!(term.with_values(MemoryUnit::Gib), "2 × 2 × 16");
        assert_eq!((term.value, term.computed()), (64.0, Some(64.0)));
        assert_eq!(term.shown(MemoryUnit::Gib).to_string(), "64 B");
        // Without the value of a symbol a formula has none.
        assert_eq!(Term { parts: Vec::new(), ..term }.computed(), None);
    }

    #[test]
    fn every_value_has_a_unit_that_is_no_symbol() {
        let text = |value, unit| Term::given("x", "", value, unit).shown(MemoryUnit::Gib).to_string();
        assert_eq!(&*text(2_097_152.0, Unit::Tokens), "2.10e6 tokens");
        assert_eq!(&*text(1.14e9, Unit::Parameters), "1.14e9 parameters");
        assert_eq!(&*text(1.08e17, Unit::Flops), "108 PFLOP");
        assert_eq!(&*text(989e12, Unit::FlopRate), "989 TFLOP/s");
        assert_eq!(&*text(450e9, Unit::Bandwidth), "450 GB/s");
        assert_eq!(&*text(2.0, Unit::Bytes), "2 B");
        assert_eq!(&*text(32.0, Unit::Count), "32");
        let gb = Term::given("x", "", 32e9, Unit::Bytes).shown(MemoryUnit::Gb).to_string();
        assert_eq!(gb, "32.0 GB");
    }
}
