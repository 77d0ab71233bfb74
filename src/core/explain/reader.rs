//! Formulas read from their text.

use super::expr::{Expr, Pick, one_or};
use std::iter::Peekable;
use std::str::Chars;

/// Reads `text`; none where it cannot be read.
pub(super) fn read(text: &str) -> Option<Expr> {
    Reader(text.chars().peekable()).whole()
}

/// The rest of a text.
struct Reader<'a>(Peekable<Chars<'a>>);

impl Reader<'_> {
    fn whole(mut self) -> Option<Expr> {
        let sum = self.sum()?;
        self.skip();
        self.0.next().is_none().then_some(sum)
    }
    fn skip(&mut self) {
        while self.0.next_if(|c| matches!(c, ' ' | '·' | '×')).is_some() {}
    }
    fn next_if(&mut self, c: char) -> bool {
        self.skip();
        self.0.next_if_eq(&c).is_some()
    }

    fn sum(&mut self) -> Option<Expr> {
        let mut list = vec![(false, self.product()?)];
        loop {
            let less = self.next_if('-');
            if !less && !self.next_if('+') {
                break;
            }
            list.push((less, self.product()?));
        }
        Some(one_or(list, Expr::Sum))
    }

    fn product(&mut self) -> Option<Expr> {
        let mut list = vec![(false, self.power()?)];
        loop {
            let under = self.next_if('/');
            let goes_on = self.0.peek().is_some_and(|c| is_word(*c) || matches!(c, '(' | 'Σ'));
            if !under && !goes_on {
                break;
            }
            list.push((under, self.power()?));
        }
        Some(one_or(list, Expr::Product))
    }

    fn power(&mut self) -> Option<Expr> {
        let base = self.atom()?;
        let power = if self.0.next_if_eq(&'²').is_some() {
            Expr::Number("2".to_owned())
        } else if self.0.next_if_eq(&'^').is_some() {
            self.atom()?
        } else {
            return Some(base);
        };
        Some(Expr::Power(Box::new(base), Box::new(power)))
    }

    fn atom(&mut self) -> Option<Expr> {
        self.skip();
        if self.0.next_if_eq(&'(').is_some() {
            let inside = self.sum()?;
            return self.next_if(')').then_some(inside);
        }
        if self.0.next_if_eq(&'Σ').is_some() {
            self.skip();
            return Some(Expr::Total(self.word()?));
        }
        let word = self.word()?;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return Some(Expr::Number(word));
        }
        match Pick::ALL.into_iter().find(|pick| pick.name() == word) {
            Some(pick) => self.list(pick),
            None => Some(Expr::Symbol(word)),
        }
    }

    fn list(&mut self, which: Pick) -> Option<Expr> {
        let mut list = Vec::new();
        if !self.next_if('(') {
            return None;
        }
        loop {
            list.push(self.sum()?);
            if self.next_if(')') {
                return Some(Expr::Pick(which, list));
            }
            if !self.next_if(',') {
                return None;
            }
        }
    }

    fn word(&mut self) -> Option<String> {
        let mut word = String::new();
        while let Some(c) = self.0.next_if(|c| is_word(*c)) {
            word.push(c);
        }
        (!word.is_empty()).then_some(word)
    }
}

/// True of a character of a number or a symbol: a raised ² is none.
pub(super) fn is_word(c: char) -> bool {
    (c.is_alphabetic() && c != 'Σ') || c.is_ascii_digit() || matches!(c, '_' | '.')
}
