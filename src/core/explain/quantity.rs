//! A quantity that is described once: over `f64` the description is plain arithmetic, which reports run; over
//! [`Written`] it is the formula with its symbols, which the drawer shows. A figure and its explanation cannot differ.

use super::expr::{Expr, Function};
use super::formula::{Formula, ceil};
use super::symbols::EULER;
use super::{Derivation, Provenance, Term, Unit};
use crate::maths::{exp_m1, one_plus_w0, pow};
use crate::message::Message;
use crate::source::Source;
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Sub};

/// A symbol of formulas with its meaning.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Symbol {
    /// As formulas write it: "h".
    pub sign: &'static str,
    /// Meaning: "hidden size".
    pub name: &'static str,
    /// Unit of its values.
    pub unit: Unit,
}

/// A number as the tables of models and layouts have it.
pub trait Plain {
    fn plain(self) -> f64;
}

impl Plain for f64 {
    fn plain(self) -> f64 {
        self
    }
}

impl Plain for u64 {
    fn plain(self) -> f64 {
        self as f64
    }
}

impl Symbol {
    /// The symbol as a document writes it.
    pub const fn signed(self, sign: &'static str) -> Self {
        Self { sign, ..self }
    }
    /// An input with this symbol.
    pub fn of<Q: Quantity>(self, value: impl Plain) -> Q {
        Q::given(self, value.plain())
    }
    /// A factor with this symbol, which a formula leaves out where it is 1.
    pub fn factor<Q: Quantity>(self, value: impl Plain) -> Q {
        let value = value.plain();
        if (value - 1.0).abs() > 0.0 { Q::given(self, value) } else { Q::number(1.0) }
    }
    /// A summand with this symbol, which a formula leaves out where it is 0.
    pub fn summand<Q: Quantity>(self, value: impl Plain) -> Q {
        let value = value.plain();
        if value.abs() > 0.0 { Q::given(self, value) } else { Q::number(0.0) }
    }
    /// The symbol in the formula of one of many pieces, whose own values nothing shows.
    pub fn of_piece(self) -> Written {
        self.of(1.0)
    }
    /// An input as a term.
    pub fn term(self, value: impl Plain) -> Term {
        Term::given(self.sign, self.name, value.plain(), self.unit)
    }
}

/// Arithmetic over numbers with or without their formulas.
pub trait Quantity:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Mul<f64, Output = Self> + Div<Output = Self>
{
    /// A number that a formula spells out.
    fn number(value: f64) -> Self;
    fn given(symbol: Symbol, value: f64) -> Self;
    /// A value that no formula gives.
    fn marked(value: f64, provenance: Provenance) -> Self;
    /// A value that is added up over more pieces than are listed; `piece` is one of them, by the arithmetic that
    /// computes each.
    fn added_up(value: f64, piece: impl FnOnce() -> Self) -> Self;
    /// A result as a symbol of further formulas.
    #[must_use]
    fn called(self, symbol: Symbol) -> Self;
    /// The quantity with the document that it stands in, and the place there.
    #[must_use]
    fn cited(self, source: &'static Source, place: &'static str) -> Self;
    /// The quantity with an assumption, or with what it leaves out.
    #[must_use]
    fn noted(self, note: &'static str) -> Self;
    #[must_use]
    fn power(self, exponent: Self) -> Self;
    /// e to the power of this, less one: to the last digit where that is small.
    #[must_use]
    fn growth(self) -> Self;
    /// The square root.
    #[must_use]
    fn root(self) -> Self;
    /// 1 + W₀(-1/e^(1 + x)) of this x, with Lambert's W: to the last digit where x is small.
    #[must_use]
    fn one_plus_w0(self) -> Self;
    #[must_use]
    fn max(self, other: Self) -> Self;
    #[must_use]
    fn min(self, other: Self) -> Self;
    #[must_use]
    fn ceil(self) -> Self;
    /// All of `parts`, each with its name, under one symbol.
    fn total(sign: &'static str, parts: impl Iterator<Item = (Message, Self)>) -> Self;
    fn value(self) -> f64;
}

impl Quantity for f64 {
    fn number(value: f64) -> Self {
        value
    }
    fn given(_: Symbol, value: f64) -> Self {
        value
    }
    fn marked(value: f64, _: Provenance) -> Self {
        value
    }
    fn added_up(value: f64, _: impl FnOnce() -> Self) -> Self {
        value
    }
    fn called(self, _: Symbol) -> Self {
        self
    }
    fn cited(self, _: &'static Source, _: &'static str) -> Self {
        self
    }
    fn noted(self, _: &'static str) -> Self {
        self
    }
    fn power(self, exponent: Self) -> Self {
        pow(self, exponent)
    }
    fn growth(self) -> Self {
        exp_m1(self)
    }
    fn root(self) -> Self {
        self.sqrt()
    }
    fn one_plus_w0(self) -> Self {
        one_plus_w0(self)
    }
    fn max(self, other: Self) -> Self {
        self.max(other)
    }
    fn min(self, other: Self) -> Self {
        self.min(other)
    }
    fn ceil(self) -> Self {
        ceil(self)
    }
    fn total(_: &'static str, parts: impl Iterator<Item = (Message, Self)>) -> Self {
        parts.map(|(_, part)| part).sum()
    }
    fn value(self) -> f64 {
        self
    }
}

/// A number with the formula that it comes from.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    value: f64,
    step: usize,
}

/// A formula in the making, with the terms of its symbols.
#[derive(Clone)]
struct Step {
    expr: Expr,
    parts: Vec<Term>,
    mark: Option<(Provenance, Option<Formula>)>,
    source: Option<(&'static Source, &'static str)>,
    note: Option<&'static str>,
}

thread_local! {
    /// Steps written so far, so that a [`Written`] is as easy to copy as a number.
    static STEPS: RefCell<Vec<Step>> = const { RefCell::new(Vec::new()) };
}

/// Runs `make`, and forgets what it wrote on the way.
pub fn written<T>(make: impl FnOnce() -> T) -> T {
    let before = STEPS.with_borrow(Vec::len);
    let made = make();
    STEPS.with_borrow_mut(|steps| steps.truncate(before));
    made
}

impl Written {
    fn push(value: f64, expr: Expr, parts: Vec<Term>) -> Self {
        Self::step(value, Step { expr, parts, mark: None, source: None, note: None })
    }
    fn step(value: f64, step: Step) -> Self {
        STEPS.with_borrow_mut(|steps| {
            steps.push(step);
            Self { value, step: steps.len() - 1 }
        })
    }
    fn read(self) -> Step {
        STEPS.with_borrow(|steps| steps[self.step].clone())
    }
    fn join(self, other: Self, value: f64, join: impl FnOnce(Expr, Expr) -> Expr) -> Self {
        let (mut left, right) = (self.read(), other.read());
        for part in right.parts {
            match left.parts.iter().find(|known| known.symbol == part.symbol) {
                Some(known) => debug_assert!(
                    (known.value - part.value).abs() <= known.value.abs() * 1e-9,
                    "{} is {} and {}",
                    part.symbol,
                    known.name,
                    part.name
                ),
                None => left.parts.push(part),
            }
        }
        Self::push(value, join(left.expr, right.expr), left.parts)
    }
    /// `function` of this, which is `value`.
    fn apply(self, function: Function, value: f64) -> Self {
        let Step { expr, parts, .. } = self.read();
        Self::push(value, Expr::Apply(function, vec![expr]), parts)
    }
    /// A part that is there as a term.
    pub fn part(term: Term) -> Self {
        Self::push(term.value, Expr::Symbol(term.symbol.to_owned()), vec![term])
    }
    /// All of `terms`, which have one symbol.
    pub fn all(sign: &'static str, terms: Vec<Term>) -> Self {
        let value = terms.iter().map(|term| term.value).sum();
        Self::push(value, Expr::Total(sign.to_owned()), terms)
    }
    /// A value of this origin, with the formula of one of its pieces.
    fn of_mark(value: f64, provenance: Provenance, piece: Option<Formula>) -> Self {
        let (expr, parts) = (Expr::number(value), Vec::new());
        Self::step(value, Step { expr, parts, mark: Some((provenance, piece)), source: None, note: None })
    }
    /// Its formula over the symbols in it.
    pub(super) fn formula(self) -> Formula {
        Formula::of(self.read().expr)
    }
    /// The term that this is, with its formula over the symbols in it.
    pub fn term(self, symbol: &'static str, name: impl Into<Message>, unit: Unit) -> Term {
        let Step { expr, mut parts, mark, source, note } = self.read();
        let mut term = Term::given(symbol, name, self.value, unit);
        term.source = source;
        term.notes.extend(note.map(Message::plain));
        let formula = Formula::of(expr);
        let used = formula.symbols();
        parts.retain(|part| used.iter().any(|symbol| symbol == part.symbol));
        match mark {
            Some((provenance, piece)) => Term { derivation: Derivation::Marked(provenance, piece), ..term },
            None if parts.is_empty() => term,
            None => {
                term.derivation = Derivation::Formula(formula);
                term.with(parts)
            }
        }
    }
}

impl Quantity for Written {
    fn number(value: f64) -> Self {
        Self::push(value, Expr::number(value), Vec::new())
    }
    fn given(symbol: Symbol, value: f64) -> Self {
        Self::push(value, Expr::Symbol(symbol.sign.to_owned()), vec![symbol.term(value)])
    }
    fn marked(value: f64, provenance: Provenance) -> Self {
        Self::of_mark(value, provenance, None)
    }
    fn added_up(value: f64, piece: impl FnOnce() -> Self) -> Self {
        Self::of_mark(value, Provenance::AddedUp, Some(piece().formula()))
    }
    fn called(self, symbol: Symbol) -> Self {
        let term = self.term(symbol.sign, symbol.name, symbol.unit);
        Self::push(self.value, Expr::Symbol(symbol.sign.to_owned()), vec![term])
    }
    fn cited(self, source: &'static Source, place: &'static str) -> Self {
        let mut step = self.read();
        match (&step.expr, step.parts.as_mut_slice()) {
            (Expr::Symbol(_), [only]) => only.source = Some((source, place)),
            _ => step.source = Some((source, place)),
        }
        Self::step(self.value, step)
    }
    fn noted(self, note: &'static str) -> Self {
        Self::step(self.value, Step { note: Some(note), ..self.read() })
    }
    fn power(self, exponent: Self) -> Self {
        let power = |base, exponent| Expr::Power(Box::new(base), Box::new(exponent));
        self.join(exponent, pow(self.value, exponent.value), power)
    }
    fn growth(self) -> Self {
        let power = Self::given(EULER, std::f64::consts::E).power(self);
        Self { value: exp_m1(self.value), ..power - Self::number(1.0) }
    }
    fn root(self) -> Self {
        self.apply(Function::Root, self.value.sqrt())
    }
    fn one_plus_w0(self) -> Self {
        let (base, one) = (Self::given(EULER, std::f64::consts::E), Self::number(1.0));
        let value = one_plus_w0(self.value);
        let written = one + (Self::number(-1.0) / base.power(one + self)).apply(Function::LambertW, value - 1.0);
        Self { value, ..written }
    }
    fn max(self, other: Self) -> Self {
        self.join(other, self.value.max(other.value), |left, right| left.pick(Function::Max, right))
    }
    fn min(self, other: Self) -> Self {
        self.join(other, self.value.min(other.value), |left, right| left.pick(Function::Min, right))
    }
    fn ceil(self) -> Self {
        self.apply(Function::Ceil, ceil(self.value))
    }
    fn total(sign: &'static str, parts: impl Iterator<Item = (Message, Self)>) -> Self {
        let terms = parts.map(|(name, part)| part.term(sign, name, Unit::Bytes));
        let terms: Vec<Term> = terms.filter(|term| term.value.abs() > 0.0).collect();
        let value = terms.iter().map(|term| term.value).sum();
        Self::push(value, Expr::Total(sign.to_owned()), terms)
    }
    fn value(self) -> f64 {
        self.value
    }
}

impl Add for Written {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.join(other, self.value + other.value, |left, right| left.plus(right, false))
    }
}

impl Sub for Written {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.join(other, self.value - other.value, |left, right| left.plus(right, true))
    }
}

impl Mul for Written {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        self.join(other, self.value * other.value, |left, right| left.times(right, false))
    }
}

impl Mul<f64> for Written {
    type Output = Self;
    fn mul(self, other: f64) -> Self {
        self * Self::number(other)
    }
}

impl Div for Written {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        self.join(other, self.value / other.value, |left, right| left.times(right, true))
    }
}

#[cfg(test)]
mod tests {
    use super::super::symbols::{ELEMENT, HEAD_DIM, HEADS, HIDDEN, KV_HEADS, LAYERS, RESIDUAL, TENSOR, TOKENS};
    use super::*;

    fn heads<Q: Quantity>(kv: u64, tp: u64) -> Q {
        let t = TENSOR.of::<Q>(tp);
        let pairs = (KV_HEADS.of::<Q>(kv) / t).max(Q::number(1.0));
        TOKENS.of::<Q>(8.0) * (HEADS.of::<Q>(4) / t + pairs) * HEAD_DIM.of::<Q>(16) * 2.0
    }

    /// Written by hand: Korthikanti's form, a fraction of one line, brackets where they are needed.
    #[test]
    fn a_description_is_a_number_and_its_formula() {
        written(|| {
            let text = |one: Written| one.term("x", "", Unit::Bytes).formula().map(|formula| formula.text().to_owned());
            assert_eq!(text(heads(2, 8)).as_deref(), Some("2 T (a/t + max(k/t, 1)) d"));
            let (t, h) = (TOKENS.of::<Written>(3.0), HIDDEN.of::<Written>(5));
            let (r, one) = (TENSOR.of::<Written>(2), Written::number(1.0));
            assert_eq!(text(t * h * (one - one / r) * 2.0).as_deref(), Some("2 T h (1 - 1/t)"));
            assert_eq!(text(t / r / h + (t - (h - r))).as_deref(), Some("T/(t h) + T - h + t"));
            assert_eq!(text((t + h * 0.0) * 1.0 / one).as_deref(), Some("T"));
            assert_eq!(text(Written::number(5.0)), None);
            for (one, value) in [(heads::<Written>(2, 8), heads::<f64>(2, 8)), (t / (r * h), 0.3), (t / (r / h), 7.5)] {
                let term = one.term("x", "", Unit::Bytes);
                assert_eq!((term.value, term.computed()), (value, Some(value)));
            }
            let layer = (t * h * 2.0 / RESIDUAL.of::<Written>(2)).called(ELEMENT);
            let term = (layer * LAYERS.of::<Written>(4)).term("A", "", Unit::Bytes);
            assert_eq!(term.parts[0].formula().map(Formula::text), Some("2 T h/r"));
            assert_eq!((term.value, term.computed()), (60.0, Some(60.0)));
        });
        assert!(STEPS.with_borrow(Vec::is_empty));
    }
}
