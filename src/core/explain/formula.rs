//! A formula as a structure: computed, written in a line, shown with values and set in LaTeX from one tree, so that
//! what is printed is what was computed.
//!
//! Written in a line, juxtaposition multiplies and `/` divides, from left to right: `12 n T k m (c - 1)/t`. `h²`,
//! `x^(1/4)`, `√(a b)`, `min(a, b)`, `max(a, b)` and `ceil(a)` are what they look like; `W₀` is the principal
//! branch of Lambert's W; `Σ A_i` adds up every part that is called `A_i`.

use super::Term;
use super::expr::{Expr, Function};
use crate::maths::{lambert_w0, pow};
use crate::units::MemoryUnit;

/// A formula over the parts of a [`Term`].
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    text: String,
    tree: Expr,
}

impl Formula {
    /// Writes the formula of `tree`.
    pub(super) fn of(tree: Expr) -> Self {
        let text = Line { parts: None, unit: MemoryUnit::Gib }.sum(&tree);
        Self { text, tree }
    }
    /// As it is written.
    pub fn text(&self) -> &str {
        &self.text
    }
    /// Its symbols, each once, in order.
    pub fn symbols(&self) -> Vec<String> {
        let mut found = Vec::new();
        collect(&self.tree, &mut found);
        found
    }
    /// Evaluates it with the values of `parts`; none where a symbol has no part.
    pub fn value(&self, parts: &[Term]) -> Option<f64> {
        value(&self.tree, parts)
    }
    /// As it is written, with the values of `parts` in place of the symbols; empty where it has no symbol.
    pub fn with_values(&self, parts: &[Term], unit: MemoryUnit) -> String {
        let line = Line { parts: Some(parts), unit };
        if self.symbols().is_empty() { String::new() } else { line.sum(&self.tree) }
    }
    pub(super) const fn tree(&self) -> &Expr {
        &self.tree
    }
}

fn collect(expr: &Expr, found: &mut Vec<String>) {
    match expr {
        Expr::Number(_) => {}
        Expr::Symbol(name) | Expr::Total(name) => {
            if !found.contains(name) {
                found.push(name.clone());
            }
        }
        Expr::Sum(list) | Expr::Product(list) => {
            for (_, one) in list {
                collect(one, found);
            }
        }
        Expr::Power(base, power) => [base, power].map(|one| collect(one, found)).into_iter().collect(),
        Expr::Apply(_, list) => list.iter().for_each(|one| collect(one, found)),
    }
}

fn value(expr: &Expr, parts: &[Term]) -> Option<f64> {
    match expr {
        Expr::Number(text) => text.parse().ok(),
        Expr::Symbol(name) => parts.iter().find(|part| part.symbol == name).map(|part| part.value),
        Expr::Total(name) => {
            let summands = parts.iter().filter(|part| part.symbol == name);
            Some(summands.map(|part| part.value).sum())
        }
        Expr::Sum(list) => list.iter().try_fold(0.0, |sum, (less, one)| {
            let one = value(one, parts)?;
            Some(if *less { sum - one } else { sum + one })
        }),
        Expr::Product(list) => list.iter().try_fold(1.0, |product, (under, one)| {
            let one = value(one, parts)?;
            Some(if *under { product / one } else { product * one })
        }),
        Expr::Power(base, power) => Some(pow(value(base, parts)?, value(power, parts)?)),
        Expr::Apply(function, arguments) => {
            let mut values = arguments.iter().map(|one| value(one, parts)).collect::<Option<Vec<_>>>()?.into_iter();
            match function {
                Function::Max => values.reduce(f64::max),
                Function::Min => values.reduce(f64::min),
                Function::Ceil => values.next().map(ceil),
                Function::Root => values.next().map(f64::sqrt),
                Function::LambertW => values.next().map(lambert_w0),
            }
        }
    }
}

/// The next whole number; one that rounding has lifted a little is itself.
pub fn ceil(number: f64) -> f64 {
    (number * (1.0 - 1e-12)).ceil()
}

/// Writes a formula in a line: with the values of `parts`, `3 × 2.10e6 tokens × (32 × 503 MFLOP + 1.05 GFLOP)`, or
/// with its symbols, `3 T (L f + w)`.
struct Line<'a> {
    parts: Option<&'a [Term]>,
    unit: MemoryUnit,
}

impl Line<'_> {
    /// Anything, where it needs no brackets.
    fn sum(&self, expr: &Expr) -> String {
        let minus = if self.parts.is_some() { " − " } else { " - " };
        match expr {
            Expr::Sum(list) => signed(list, minus, |one| self.product(one)),
            one => self.product(one),
        }
    }

    /// A summand: what multiplies first, then what divides.
    fn product(&self, expr: &Expr) -> String {
        let (times, over) = if self.parts.is_some() { (" × ", " / ") } else { (" ", "/") };
        match expr {
            Expr::Product(list) => {
                let side = |under| -> Vec<String> {
                    let factors = list.iter().filter(|(below, _)| *below == under);
                    let factors: Vec<_> = factors.flat_map(|(_, one)| flat(one, under)).collect();
                    factors.into_iter().map(|one| self.factor(one)).collect()
                };
                let (above, below) = (side(false).join(times), side(true));
                let above = if above.is_empty() { "1".to_owned() } else { above };
                match below.len() {
                    0 => above,
                    1 => format!("{above}{over}{}", below.concat()),
                    _ => format!("{above}{over}({})", below.join(times)),
                }
            }
            Expr::Total(name) => {
                let values = self.values(name);
                if values.is_empty() { "0".to_owned() } else { values.join(" + ") }
            }
            one => self.factor(one),
        }
    }

    /// The values of symbol `name`, or the symbol.
    fn values(&self, name: &str) -> Vec<String> {
        match self.parts {
            Some(parts) => {
                let parts = parts.iter().filter(|part| part.symbol == name);
                parts.map(|part| part.amount(self.unit)).collect()
            }
            None => vec![format!("Σ {name}")],
        }
    }

    /// A factor beside others.
    fn factor(&self, expr: &Expr) -> String {
        match expr {
            Expr::Number(text) => text.clone(),
            Expr::Symbol(name) => {
                let value = self.parts.and_then(|_| self.values(name).into_iter().next());
                value.unwrap_or_else(|| name.clone())
            }
            Expr::Power(base, power) => match self.factor(power).as_str() {
                "2" if self.parts.is_none() => format!("{}²", self.factor(base)),
                power => format!("{}^{power}", self.factor(base)),
            },
            Expr::Apply(function, arguments) => {
                let inside: Vec<_> = arguments.iter().map(|one| self.sum(one)).collect();
                format!("{}({})", function.name(), inside.join(", "))
            }
            Expr::Total(name) => {
                let several = self.values(name).len() > 1;
                let inside = self.product(expr);
                if several { format!("({inside})") } else { inside }
            }
            one => format!("({})", self.sum(one)),
        }
    }
}

/// Summands with their signs, each written by `each`.
pub(super) fn signed(list: &[(bool, Expr)], minus: &str, each: impl Fn(&Expr) -> String) -> String {
    let mut out = String::new();
    for (index, (less, one)) in list.iter().enumerate() {
        out.push_str(match (index, less) {
            (0, false) => "",
            (_, true) => minus,
            _ => " + ",
        });
        out.push_str(&each(one));
    }
    out
}

/// A divisor that is itself a product, factor by factor.
pub(super) fn flat(expr: &Expr, under: bool) -> Vec<&Expr> {
    match expr {
        Expr::Product(list) if under && list.iter().all(|(below, _)| !below) => {
            list.iter().map(|(_, one)| one).collect()
        }
        one => vec![one],
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Quantity, Unit, Written, written};
    use super::*;

    fn parts() -> [Term; 3] {
        [Term::count("a", "", 6), Term::count("b", "", 2), Term::count("c", "", 4)]
    }

    fn several() -> Written {
        let of_bytes = |bytes| Term::given("x", "", bytes, Unit::Bytes);
        Written::all("x", vec![of_bytes(1.0), of_bytes(2048.0)])
    }

    type Make = fn([Written; 3]) -> Written;

    #[test]
    fn a_formula_is_written_and_computed_from_one_tree() {
        let one = || Written::number(1.0);
        let rows: [(Make, &str, f64, &str); 11] = [
            (|[a, b, c]| a / b * c, "a c/b", 12.0, "6 × 4 / 2"),
            (|[a, b, c]| a / (b * c), "a/(b c)", 0.75, "6 / (2 × 4)"),
            (|[a, b, _]| a * 2.0 * (b - Written::number(1.0)) / b, "2 a (b - 1)/b", 6.0, "2 × 6 × (2 − 1) / 2"),
            (|[a, b, c]| a + b * c - Written::number(1.0), "a + b c - 1", 13.0, "6 + 2 × 4 − 1"),
            (
                |[a, b, c]| a.power(Written::number(2.0)) * 2.0 + c.power(Written::number(1.0) / b),
                "2 a² + c^(1/b)",
                74.0,
                "2 × 6^2 + 4^(1 / 2)",
            ),
            (|[a, b, c]| (a / b).max(c) * b, "max(a/b, c) b", 8.0, "max(6 / 2, 4) × 2"),
            (|[a, _, c]| a.min(Written::number(1.0)) * c, "min(a, 1) c", 4.0, "min(6, 1) × 4"),
            (|_| several(), "Σ x", 2049.0, "1 B + 2.00 KiB"),
            (|[_, b, _]| several() / b, "Σ x/b", 1024.5, "(1 B + 2.00 KiB) / 2"),
            (|[a, _, _]| a * 1.5, "1.5 a", 9.0, "1.5 × 6"),
            (|[a, b, c]| a / (b * (c - Written::number(1.0))), "a/(b (c - 1))", 1.0, "6 / (2 × (4 − 1))"),
        ];
        for (make, text, worth, shown) in rows {
            let term = Term::made("y", "", Unit::Ratio, parts(), make);
            assert_eq!(term.formula().map(Formula::text), Some(text));
            assert_eq!((term.value, term.computed()), (worth, Some(worth)), "{text}");
            assert_eq!(term.with_values(MemoryUnit::Gib), shown, "{text}");
        }
        // What spells out no symbol is a number.
        written(|| assert_eq!((one() + one()).term("y", "", Unit::Ratio).formula(), None));
    }

    /// e^x - 1 of 10⁻⁶ is 1.0000005 · 10⁻⁶; the difference of two numbers near 1 has ten digits of that.
    #[test]
    fn growth_keeps_its_digits_where_it_is_small() {
        let part = Term::given("z", "", 1e-6, Unit::Ratio);
        let term = Term::made("y", "", Unit::Ratio, [part], |[z]| z.growth());
        assert_eq!(term.formula().map(Formula::text), Some("e^z - 1"));
        assert!((term.value / 1.000_000_500_000_166_7e-6 - 1.0).abs() < 1e-15, "{}", term.value);
        assert!((term.computed().unwrap() / term.value - 1.0).abs() < 1e-9);
    }

    /// Corless et al. 1996, equation 4.22: near its branch point 1 + W₀(-e^(-1 - x)) is p - p²/3 + 11 p³/72 with
    /// p² = 2 (1 - e^(-x)), 0.0014138... at 10⁻⁶; W₀(-1/e²) is -0.1585943395630394 (the root of
    /// w e^w = -e^(-2)).
    #[test]
    fn lamberts_w_is_written_and_keeps_its_digits_near_its_branch_point() {
        let of = |x: f64| {
            let part = Term::given("x", "", x, Unit::Ratio);
            Term::made("y", "", Unit::Ratio, [part], |[x]| x.one_plus_w0())
        };
        let near = of(1e-6);
        let p = (-2.0 * crate::maths::exp_m1(-1e-6)).sqrt();
        let series = p - p * p / 3.0 + 11.0 * p.powi(3) / 72.0;
        assert!((near.value / series - 1.0).abs() < 1e-9, "{}", near.value);
        assert!((near.computed().unwrap() / near.value - 1.0).abs() < 1e-8);
        let far = of(1.0);
        assert_eq!(far.formula().map(Formula::text), Some("1 + W₀(-1/e^(1 + x))"));
        assert!((far.value - (1.0 - 0.158_594_339_563_039_4)).abs() < 1e-15, "{}", far.value);
        assert!((far.computed().unwrap() - far.value).abs() < 1e-15);
        let latex = far.latex(MemoryUnit::Gib);
        assert!(latex.contains("1 + W_0(\\frac{-1}{e^{1 + x}})"), "{latex}");
        let root = Term::made("y", "", Unit::Ratio, parts(), |[a, b, c]| (a * b * c * 3.0).root());
        assert_eq!((root.formula().map(Formula::text), root.value), (Some("√(3 a b c)"), 12.0));
        assert!(root.latex(MemoryUnit::Gib).contains("\\sqrt{3\\,a\\,b\\,c}"));
    }
}
