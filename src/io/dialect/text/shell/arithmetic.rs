//! Whole numbers as a shell computes them: the operators of C on 64 bits, variables by their names. Source: Bash's
//! manual, Shell Arithmetic.

use crate::dialect::text::shell::parser::is_name;
use crate::dialect::text::shell::state::{Shell, Text, Value};
use std::rc::Rc;

/// Brackets, signs and values of variables within each other.
const MAX_NESTED: u32 = 32;

/// A result, and what it rests on.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    pub value: i64,
    /// A variable in it has no value in the text.
    pub open: bool,
    /// The variables that it rests on.
    pub rests: Vec<Rc<str>>,
}

impl Shell<'_> {
    /// The result of `text`, in which `$name` was put in; none where it is no sum.
    pub fn sum(&mut self, text: &str) -> Option<Sum> {
        self.sum_at(text, 0)
    }

    fn sum_at(&mut self, text: &str, depth: u32) -> Option<Sum> {
        if text.trim().is_empty() {
            return Some(Sum { value: 0, open: false, rests: Vec::new() });
        }
        let mut reader =
            Reader { shell: self, rest: text.trim(), depth, quiet: 0, open: false, rests: Text::default() };
        let value = reader.comma()?;
        let (open, rests) = (reader.open, reader.rests.rests);
        reader.rest.is_empty().then_some(Sum { value, open, rests })
    }
}

struct Reader<'s, 'g, 't> {
    shell: &'s mut Shell<'g>,
    rest: &'t str,
    depth: u32,
    /// Above 0 where a part has no effect: behind `false &&`.
    quiet: u32,
    open: bool,
    rests: Text,
}

/// Operators between two numbers, loosest first; those of one level are read from the left.
const LEVELS: [&[&str]; 8] =
    [&["|"], &["^"], &["&"], &["==", "!="], &["<=", ">=", "<", ">"], &["<<", ">>"], &["+", "-"], &["*", "/", "%"]];

impl Reader<'_, '_, '_> {
    /// True if `sign` comes next, which is then read.
    fn takes(&mut self, sign: &str) -> bool {
        let found = self.rest.strip_prefix(sign);
        if let Some(rest) = found {
            self.rest = rest.trim_start();
        }
        found.is_some()
    }

    /// `a, b`: the last of them counts.
    fn comma(&mut self) -> Option<i64> {
        let mut value = self.choice()?;
        while self.takes(",") {
            value = self.choice()?;
        }
        Some(value)
    }

    /// `a ? b : c`, and assignments.
    fn choice(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > MAX_NESTED {
            return None;
        }
        let value = self.assignment();
        self.depth -= 1;
        value
    }

    fn assignment(&mut self) -> Option<i64> {
        let name =
            self.rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().filter(|name| is_name(name));
        if let Some(name) = name {
            let behind = self.rest.get(name.len()..)?.trim_start();
            let signs = ["+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^=", "="];
            let sign = signs.into_iter().find(|sign| behind.starts_with(sign)).filter(|_| !behind.starts_with("=="));
            if let Some(sign) = sign {
                self.rest = behind.get(sign.len()..)?.trim_start();
                let right = self.choice()?;
                let operator = sign.strip_suffix('=')?;
                let value = if operator.is_empty() {
                    right
                } else {
                    let left = self.variable(name)?;
                    computed(operator, left, right)?
                };
                self.write(name, value);
                return Some(value);
            }
        }
        let condition = self.either()?;
        if !self.takes("?") {
            return Some(condition);
        }
        self.quiet += u32::from(condition == 0);
        let yes = self.choice()?;
        self.quiet -= u32::from(condition == 0);
        if !self.takes(":") {
            return None;
        }
        self.quiet += u32::from(condition != 0);
        let no = self.choice()?;
        self.quiet -= u32::from(condition != 0);
        Some(if condition == 0 { no } else { yes })
    }

    /// `a || b`.
    fn either(&mut self) -> Option<i64> {
        let mut value = self.both()?;
        while self.takes("||") {
            self.quiet += u32::from(value != 0);
            let right = self.both()?;
            self.quiet -= u32::from(value != 0);
            value = i64::from(value != 0 || right != 0);
        }
        Some(value)
    }

    /// `a && b`.
    fn both(&mut self) -> Option<i64> {
        let mut value = self.level(0)?;
        while self.takes("&&") {
            self.quiet += u32::from(value == 0);
            let right = self.level(0)?;
            self.quiet -= u32::from(value == 0);
            value = i64::from(value != 0 && right != 0);
        }
        Some(value)
    }

    /// Numbers joined by the operators of `LEVELS[at]`.
    fn level(&mut self, at: usize) -> Option<i64> {
        let Some(signs) = LEVELS.get(at) else { return self.power() };
        let mut value = self.level(at + 1)?;
        loop {
            let found = signs.iter().find(|sign| {
                let behind = self.rest.strip_prefix(**sign);
                let is_longer_sign = |behind: &str| match **sign {
                    "|" => behind.starts_with(['|', '=']),
                    "&" => behind.starts_with(['&', '=']),
                    "<" | ">" => behind.starts_with(**sign),
                    "+" | "-" | "*" | "/" | "%" | "^" | "<<" | ">>" => behind.starts_with('='),
                    _ => false,
                };
                behind.is_some_and(|behind| !is_longer_sign(behind))
            });
            let Some(sign) = found else { return Some(value) };
            self.takes(sign);
            let right = self.level(at + 1)?;
            value = computed(sign, value, right).or_else(|| (self.quiet > 0).then_some(0))?;
        }
    }

    /// `a ** b`, read from the right.
    fn power(&mut self) -> Option<i64> {
        let base = self.signed()?;
        if !self.takes("**") {
            return Some(base);
        }
        let exponent = self.power()?;
        base.checked_pow(u32::try_from(exponent).ok()?)
    }

    /// A number, a variable or a bracket with the signs before and behind it.
    fn signed(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > MAX_NESTED {
            return None;
        }
        let value = match self.rest.chars().next()? {
            '+' | '-' if self.rest.starts_with("++") || self.rest.starts_with("--") => {
                let up = self.takes("++") || !self.takes("--");
                let name = self.name()?;
                let value = self.variable(&name)?.checked_add(if up { 1 } else { -1 })?;
                self.write(&name, value);
                Some(value)
            }
            '-' => self.takes("-").then(|| self.signed()).flatten()?.checked_neg(),
            '+' => self.takes("+").then(|| self.signed()).flatten(),
            '!' => self.takes("!").then(|| self.signed()).flatten().map(|value| i64::from(value == 0)),
            '~' => self.takes("~").then(|| self.signed()).flatten().map(|value| !value),
            '(' => {
                self.takes("(");
                let value = self.comma();
                if self.takes(")") { value } else { None }
            }
            c if c.is_ascii_digit() => self.number(),
            _ => {
                let name = self.name()?;
                let value = self.variable(&name)?;
                let step = if self.takes("++") { 1 } else { -i64::from(self.takes("--")) };
                if step != 0 {
                    self.write(&name, value.checked_add(step)?);
                }
                Some(value)
            }
        };
        self.depth -= 1;
        value
    }

    fn name(&mut self) -> Option<String> {
        let ends = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let mut name = self.rest.get(..end).filter(|name| is_name(name))?.to_owned();
        let mut behind = self.rest.get(end..)?;
        // An element of an array, by a number or a name.
        if let Some((at, rest)) = behind.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            let at = self.shell.sum_at(at, self.depth)?.value;
            name = format!("{name}[{at}]");
            behind = rest;
        }
        self.rest = behind.trim_start();
        Some(name)
    }

    fn number(&mut self) -> Option<i64> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '#').unwrap_or(self.rest.len());
        let (digits, rest) = (self.rest.get(..end)?, self.rest.get(end..)?);
        self.rest = rest.trim_start();
        let (digits, radix) = match digits.split_once('#') {
            Some((base, digits)) => (digits, base.parse().ok().filter(|base| (2..=36).contains(base))?),
            None if digits.starts_with("0x") || digits.starts_with("0X") => (digits.get(2..)?, 16),
            None if digits.len() > 1 && digits.starts_with('0') => (digits.get(1..)?, 8),
            None => (digits, 10),
        };
        i64::from_str_radix(digits, radix).ok()
    }

    /// The number that a variable holds; its text may be a sum again. What is not set is 0.
    fn variable(&mut self, name: &str) -> Option<i64> {
        let (plain, at) = match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
            Some((plain, at)) => (plain, at.parse().unwrap_or(0)),
            None => (name, 0),
        };
        let value = match self.shell.variables.get(plain) {
            Some(Value::One(text)) => Some(text.clone()),
            Some(Value::List(items)) => items.get(&at).cloned(),
            _ => None,
        };
        self.shell.is_given(plain);
        let Some(text) = value else {
            self.open = true;
            self.rests.rest_on(&Text::unknown(plain).rests);
            return Some(0);
        };
        self.rests.rest_on(&text.rests);
        if text.is_open() {
            self.open = true;
            return Some(0);
        }
        if !self.shell.spend(text.text.len()) {
            return None;
        }
        let sum = self.shell.sum_at(&text.text, self.depth + 1)?;
        self.open |= sum.open;
        self.rests.rest_on(&sum.rests);
        Some(sum.value)
    }

    /// Gives a variable its value, unless this part has no effect or a request gives the value.
    fn write(&mut self, name: &str, value: i64) {
        if self.quiet > 0 || self.shell.is_given(name) {
            return;
        }
        let text = if self.open {
            Text::unknown(name)
        } else {
            Text { text: value.to_string(), rests: self.rests.rests.clone() }
        };
        if !name.contains('[') {
            self.shell.remember(name, &text.shown());
            self.shell.write(name, Value::One(text));
        }
    }
}

fn computed(sign: &str, left: i64, right: i64) -> Option<i64> {
    match sign {
        "|" => Some(left | right),
        "^" => Some(left ^ right),
        "&" => Some(left & right),
        "==" => Some(i64::from(left == right)),
        "!=" => Some(i64::from(left != right)),
        "<=" => Some(i64::from(left <= right)),
        ">=" => Some(i64::from(left >= right)),
        "<" => Some(i64::from(left < right)),
        ">" => Some(i64::from(left > right)),
        "<<" => left.checked_shl(u32::try_from(right).ok()?),
        ">>" => left.checked_shr(u32::try_from(right).ok()?),
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" => left.checked_div(right),
        "%" => left.checked_rem(right),
        _ => None,
    }
}
