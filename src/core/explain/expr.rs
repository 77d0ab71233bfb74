//! A formula as a tree, and the arithmetic that makes one of others.

use crate::statics::named;
use crate::units::parse_number;

/// A formula as a tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    /// A number as it is written.
    Number(String),
    /// The part of this symbol.
    Symbol(String),
    /// All parts of this symbol together.
    Total(String),
    /// Summands; `true` where one is taken off.
    Sum(Vec<(bool, Expr)>),
    /// Factors; `true` where one divides.
    Product(Vec<(bool, Expr)>),
    Power(Box<Expr>, Box<Expr>),
    /// A function of one or more arguments.
    Apply(Function, Vec<Expr>),
}

named! {
    /// A function that a formula applies.
    pub(super) enum Function: name {
        /// The largest.
        Max = "max",
        /// The smallest.
        Min = "min",
        /// The next whole number.
        Ceil = "ceil",
        /// The square root.
        Root = "√",
        /// The principal branch of Lambert's W.
        LambertW = "W₀",
    }
}

impl Expr {
    pub(super) fn number(value: f64) -> Self {
        Self::Number(value.to_string())
    }

    /// A sum with `other`, or a difference; zeros are left out.
    pub(super) fn plus(self, other: Self, less: bool) -> Self {
        let mut list = self.summands();
        list.extend(other.summands().into_iter().map(|(minus, one)| (minus != less, one)));
        if list.first().is_none_or(|(minus, _)| *minus) {
            list.insert(0, (false, Self::number(0.0)));
        }
        one_or(list, Self::Sum)
    }

    fn summands(self) -> Vec<(bool, Self)> {
        match self {
            Self::Sum(list) => list,
            Self::Number(text) if text == "0" => Vec::new(),
            one => vec![(false, one)],
        }
    }

    /// The product with `other`, or the quotient where it is `under`. All numbers in it are multiplied to one, which
    /// is first and is left out where it is 1.
    pub(super) fn times(self, other: Self, under: bool) -> Self {
        let ((mut number, mut list), (more, factors)) = (self.factors(), other.factors());
        if !under {
            number *= more;
        } else if (more - 1.0).abs() > 0.0 {
            list.push((true, Self::number(more)));
        }
        if number.abs() <= 0.0 {
            return Self::number(0.0);
        }
        list.extend(factors.into_iter().map(|(below, one)| (below != under, one)));
        if (number - 1.0).abs() > 0.0 || list.iter().all(|(below, _)| *below) {
            list.insert(0, (false, Self::number(number)));
        }
        one_or(list, Self::Product)
    }

    /// The number in front, and the other factors.
    fn factors(self) -> (f64, Vec<(bool, Self)>) {
        let mut list = match self {
            Self::Product(list) => list,
            one => vec![(false, one)],
        };
        let number = match list.first() {
            Some((false, Self::Number(text))) => parse_number(text),
            _ => None,
        };
        if number.is_some() {
            list.remove(0);
        }
        (number.unwrap_or(1.0), list)
    }

    /// The larger or smaller of this and `other`.
    pub(super) fn pick(self, which: Function, other: Self) -> Self {
        let list = [self, other].into_iter().flat_map(|one| match one {
            Self::Apply(same, list) if same == which => list,
            one => vec![one],
        });
        Self::Apply(which, list.collect())
    }
}

/// The one, or all of them as `many` has them.
pub(super) fn one_or(mut list: Vec<(bool, Expr)>, many: fn(Vec<(bool, Expr)>) -> Expr) -> Expr {
    match (list.len(), list.pop()) {
        (1, Some((_, only))) => only,
        (_, last) => {
            list.extend(last);
            many(list)
        }
    }
}
