//! Conditions of `test`, `[ ]` and `[[ ]]`. Source: POSIX, Utilities, test, and Bash's manual, Conditional Constructs.

use crate::dialect::text::shell::patterns::{matches, searched};
use crate::dialect::text::shell::state::{Shell, Text, Truth};

/// Brackets and signs within each other.
const MAX_NESTED: u32 = 32;

pub(super) fn is_test(name: &str) -> bool {
    matches!(name, "[" | "test")
}

/// A word of a condition: its value, and for the right of `==` within `[[ ]]` the pattern that it is.
struct Operand {
    value: Text,
    pattern: Text,
    raw: String,
}

/// The words that are not read yet.
struct Words<'w> {
    all: &'w [Operand],
    at: usize,
    depth: u32,
    double: bool,
}

impl Shell<'_> {
    /// Truth of the words behind the command test, or behind a bracket, expanded.
    pub fn single_test(&mut self, values: &[Text]) -> Truth {
        let end = values.len() - usize::from(values.last().is_some_and(|last| last.text == "]"));
        let words: Vec<Operand> = values
            .get(1..end)
            .unwrap_or_default()
            .iter()
            .map(|value| Operand { value: value.clone(), pattern: Text::default(), raw: value.text.clone() })
            .collect();
        self.holds(&words, false)
    }

    /// The words between `[[` and `]]`, as they are written.
    pub fn double_test(&mut self, raws: &[&str]) -> Truth {
        let words: Vec<Operand> = raws
            .iter()
            .map(|raw| Operand { value: self.value(raw), pattern: self.pattern(raw), raw: (*raw).to_owned() })
            .collect();
        self.holds(&words, true)
    }

    fn holds(&mut self, words: &[Operand], double: bool) -> Truth {
        let mut reader = Words { all: words, at: 0, depth: 0, double };
        let rests: Vec<&Text> = words.iter().map(|word| &word.value).collect();
        // A shell that cannot read a condition takes it as false.
        match reader.either(self) {
            Some(truth) if reader.at == words.len() => truth,
            _ => Truth::of(false, &rests),
        }
    }

    fn is_file(&self, path: &Text) -> Truth {
        if self.file(&path.shown()).is_some() {
            return Truth::of(true, &[path]);
        }
        Truth { decided: false, ..Truth::of(false, &[path]) }
    }
}

fn both(one: Truth, other: Truth, and: bool) -> Truth {
    let settles = |truth: &Truth| truth.decided && truth.yes != and;
    let yes = if and { one.yes && other.yes } else { one.yes || other.yes };
    let decided = one.decided && other.decided || settles(&one) || settles(&other);
    let mut rests = one.rests;
    for rest in other.rests {
        if !rests.contains(&rest) {
            rests.push(rest);
        }
    }
    Truth { yes, decided, rests, program: false }
}

impl Words<'_> {
    fn raw(&self, ahead: usize) -> &str {
        self.all.get(self.at + ahead).map_or("", |word| word.raw.as_str())
    }

    fn either(&mut self, shell: &mut Shell) -> Option<Truth> {
        let mut truth = self.every(shell)?;
        while self.raw(0) == if self.double { "||" } else { "-o" } {
            self.at += 1;
            truth = both(truth, self.every(shell)?, false);
        }
        Some(truth)
    }

    fn every(&mut self, shell: &mut Shell) -> Option<Truth> {
        let mut truth = self.one(shell)?;
        while self.raw(0) == if self.double { "&&" } else { "-a" } {
            self.at += 1;
            truth = both(truth, self.one(shell)?, true);
        }
        Some(truth)
    }

    fn one(&mut self, shell: &mut Shell) -> Option<Truth> {
        self.depth += 1;
        if self.depth > MAX_NESTED {
            return None;
        }
        let truth = self.deep(shell);
        self.depth -= 1;
        truth
    }

    fn deep(&mut self, shell: &mut Shell) -> Option<Truth> {
        let left = self.all.len() - self.at;
        if left > 2 && is_binary(self.raw(1)) {
            return self.binary(shell);
        }
        if self.raw(0) == "!" && left > 1 {
            self.at += 1;
            return Some(self.one(shell)?.not());
        }
        if self.raw(0) == "(" && left > 2 {
            self.at += 1;
            let truth = self.either(shell)?;
            if self.raw(0) != ")" {
                return None;
            }
            self.at += 1;
            return Some(truth);
        }
        let first = &self.all.get(self.at)?.value;
        let unary = self.raw(0);
        if let Some(sign) = unary.strip_prefix('-').filter(|sign| sign.len() == 1 && left > 1) {
            let value = self.all.get(self.at + 1)?.value.clone();
            let truth = match sign {
                "z" => Some(Truth::of(value.plain().is_empty(), &[&value])),
                "n" => Some(Truth::of(!value.plain().is_empty(), &[&value])),
                "v" => {
                    let set = shell.variables.contains_key(&value.text);
                    shell.is_given(&value.text);
                    Some(Truth { decided: set, rests: vec![value.text.as_str().into()], ..Truth::sure(set) })
                }
                "f" | "e" | "s" | "r" => Some(shell.is_file(&value)),
                "d" | "x" | "w" | "L" | "h" | "t" | "p" | "S" => {
                    Some(Truth { decided: false, ..Truth::of(false, &[&value]) })
                }
                _ => None,
            };
            if truth.is_some() {
                self.at += 2;
                return truth;
            }
        }
        self.at += 1;
        Some(Truth::of(!first.plain().is_empty(), &[first]))
    }

    fn binary(&mut self, shell: &mut Shell) -> Option<Truth> {
        let (left, right) = (self.all.get(self.at)?, self.all.get(self.at + 2)?);
        let sign = self.raw(1).to_owned();
        self.at += 3;
        let (one, other) = (left.value.plain(), right.value.plain());
        let operands = [&left.value, &right.value];
        let same =
            |shell_pattern: &Text| if self.double { matches(&shell_pattern.plain(), &one) } else { one == other };
        Some(match sign.as_str() {
            "=" | "==" => Truth::of(same(&right.pattern), &operands),
            "!=" => Truth::of(!same(&right.pattern), &operands),
            "<" => Truth::of(one < other, &operands),
            ">" => Truth::of(one > other, &operands),
            "=~" => match searched(&right.pattern.plain(), &one) {
                Some(found) => Truth::of(found, &operands),
                None => Truth { decided: false, ..Truth::of(false, &operands) },
            },
            sign => {
                let mut number = |text: &str| {
                    if self.double { shell.sum(text).map(|sum| sum.value) } else { text.trim().parse().ok() }
                };
                // A shell says that this is no number and goes on with false.
                let (Some(one), Some(other)) = (number(&one), number(&other)) else {
                    return Some(Truth::of(false, &operands));
                };
                let yes = match sign {
                    "-eq" => one == other,
                    "-ne" => one != other,
                    "-lt" => one < other,
                    "-le" => one <= other,
                    "-gt" => one > other,
                    _ => one >= other,
                };
                Truth::of(yes, &operands)
            }
        })
    }
}

fn is_binary(sign: &str) -> bool {
    matches!(sign, "=" | "==" | "!=" | "<" | ">" | "=~" | "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge")
}
