//! A formula to copy: as plain text, and as LaTeX that also GitHub's and a wiki's renderers read.

use super::Term;
use super::expr::{Expr, Function};
use super::formula::{Formula, flat, signed};
use crate::units::MemoryUnit;

impl Term {
    /// The figure, its formula, the same with its values, what the symbols are, and the source; then what it is made
    /// of.
    pub fn text(&self, unit: MemoryUnit) -> String {
        let mut lines = vec![self.name.to_string()];
        self.text_lines(unit, &mut lines);
        lines.join("\n") + "\n"
    }

    fn text_lines(&self, unit: MemoryUnit, lines: &mut Vec<String>) {
        let figure = self.shown(unit);
        if let Some(formula) = self.formula() {
            lines.push(format!("{} = {}", self.symbol, formula.text()));
            let numbers = self.with_values(unit);
            if !numbers.is_empty() {
                lines.push(format!("  = {numbers}"));
            }
            lines.push(format!("  = {figure}"));
        } else if let Some((mark, piece)) = self.provenance() {
            let rule = piece.map_or_else(String::new, |piece| format!(": {}", piece.text()));
            lines.push(format!("= {figure}, {}{rule}", mark.word()));
        } else {
            lines.push(format!("= {figure}"));
        }
        for part in &self.parts {
            lines.push(format!("  {}: {}, {}", part.symbol, part.name, part.shown(unit)));
        }
        if let Some((source, place)) = self.source {
            lines.push(format!("  Source: {}, {place}", source.title));
        }
        lines.extend(self.notes.iter().map(|note| format!("  ({note})")));
        for part in self.parts.iter().filter(|part| part.opens()) {
            lines.push(String::new());
            lines.push(part.name.to_string());
            part.text_lines(unit, lines);
        }
    }

    /// One aligned block a formula, the figure first; words as text, values with their units upright.
    pub fn latex(&self, unit: MemoryUnit) -> String {
        let mut blocks = Vec::new();
        self.blocks(unit, &mut blocks);
        blocks.join("\n")
    }

    fn blocks(&self, unit: MemoryUnit, blocks: &mut Vec<String>) {
        let symbol = if self.symbol.is_empty() { "x" } else { self.symbol };
        let mut lines = Vec::new();
        let tree = self.formula().map(Formula::tree);
        let mut left = format!("{} ", name(symbol));
        if let Some(tree) = tree {
            let symbols = |name_of: &str| vec![name(name_of)];
            let values = |name_of: &str| -> Vec<String> {
                let parts = self.parts.iter().filter(|part| part.symbol == name_of);
                parts.map(|part| upright(&part.amount(unit))).collect()
            };
            lines.push(format!("{left}&= {}", Set { names: &symbols, values: false }.sum(tree)));
            lines.push(format!("&= {}", Set { names: &values, values: true }.sum(tree)));
            left.clear();
        }
        lines.push(format!("{left}&= {}", upright(&self.shown(unit).to_string())));
        blocks.push(format!(
            "% {}\n$$\n\\begin{{aligned}}\n{}\n\\end{{aligned}}\n$$",
            self.name,
            lines.join(" \\\\\n")
        ));
        let deeper = self.parts.iter().filter(|part| part.opens());
        deeper.for_each(|part| part.blocks(unit, blocks));
    }
}

/// Sets a formula: with symbols, or with `values` and a cross between them.
struct Set<'a> {
    names: &'a dyn Fn(&str) -> Vec<String>,
    values: bool,
}

impl Set<'_> {
    fn sum(&self, expr: &Expr) -> String {
        match expr {
            Expr::Sum(list) => signed(list, " - ", |one| self.product(one)),
            one => self.product(one),
        }
    }

    fn product(&self, expr: &Expr) -> String {
        match expr {
            Expr::Product(list) => {
                let side = |under| -> Vec<&Expr> {
                    let factors = list.iter().filter(|(below, _)| *below == under);
                    factors.flat_map(|(_, one)| flat(one, under)).collect()
                };
                let (above, below) = (side(false), side(true));
                if below.is_empty() {
                    return self.factors(&above);
                }
                format!("\\frac{{{}}}{{{}}}", self.factors(&above), self.factors(&below))
            }
            Expr::Total(name) if self.values => (self.names)(name).join(" + "),
            one => self.factor(one),
        }
    }

    /// Factors beside each other; one alone needs no brackets inside a fraction.
    fn factors(&self, list: &[&Expr]) -> String {
        match list {
            [] => "1".to_owned(),
            [only] => self.sum(only),
            all => {
                let sign = if self.values { " \\times " } else { "\\," };
                let factors: Vec<_> = all.iter().map(|one| self.factor(one)).collect();
                factors.join(sign)
            }
        }
    }

    fn factor(&self, expr: &Expr) -> String {
        match expr {
            Expr::Number(text) => text.clone(),
            Expr::Symbol(name) => (self.names)(name).into_iter().next().unwrap_or_default(),
            Expr::Total(name) if self.values => format!("({})", (self.names)(name).join(" + ")),
            Expr::Total(name) => format!("\\sum {}", (self.names)(name).concat()),
            Expr::Power(base, power) => {
                let base = if self.values && matches!(**base, Expr::Symbol(_)) {
                    format!("({})", self.factor(base))
                } else {
                    self.factor(base)
                };
                format!("{base}^{{{}}}", self.sum(power))
            }
            Expr::Apply(function, arguments) => {
                let inside: Vec<_> = arguments.iter().map(|one| self.sum(one)).collect();
                let inside = inside.join(", ");
                match function {
                    Function::Ceil => format!("\\lceil {inside} \\rceil"),
                    Function::Root => format!("\\sqrt{{{inside}}}"),
                    Function::LambertW => format!("W_0({inside})"),
                    Function::Max | Function::Min => format!("\\{}({inside})", function.name()),
                }
            }
            one => format!("({})", self.sum(one)),
        }
    }
}

/// A symbol of one letter in italics, with its index; a word upright.
fn name(word: &str) -> String {
    match word.split_once('_') {
        Some((symbol, index)) => format!("{}_{{\\mathrm{{{index}}}}}", name(symbol)),
        None => match word.chars().next() {
            Some(only) if word.chars().count() == 1 => greek(only).map_or_else(|| word.to_owned(), str::to_owned),
            _ => format!("\\mathrm{{{word}}}"),
        },
    }
}

fn greek(c: char) -> Option<&'static str> {
    Some(match c {
        'α' => "\\alpha ",
        'β' => "\\beta ",
        'κ' => "\\kappa ",
        'λ' => "\\lambda ",
        'φ' => "\\varphi ",
        'ρ' => "\\rho ",
        'Σ' => "\\sum ",
        'Δ' => "\\Delta ",
        'µ' | 'μ' => "\\mu ",
        'π' => "\\pi ",
        'θ' => "\\theta ",
        'Ψ' => "\\Psi ",
        'δ' => "\\delta ",
        'η' => "\\eta ",
        'τ' => "\\tau ",
        _ => return None,
    })
}

/// A value with its unit, every special sign escaped: `2.10 \times 10^{6}\ \mathrm{tokens}`.
fn upright(value: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    let flush = |word: &mut String, out: &mut String| {
        if word.is_empty() {
            return;
        }
        match word.split_once('e') {
            Some((digits, power)) if digits.starts_with(|c: char| c.is_ascii_digit()) => {
                out.push_str(&[digits, " \\times 10^{", power, "}"].concat());
            }
            _ if word.starts_with(|c: char| c.is_ascii_digit()) => out.push_str(word),
            _ => {
                let parts: Vec<_> =
                    word.chars().map(|c| greek(c).map_or_else(|| c.to_string(), |_| "\\mu ".to_owned())).collect();
                out.push_str(&["\\mathrm{", &parts.concat(), "}"].concat());
            }
        }
        word.clear();
    };
    for c in value.chars() {
        if is_word(c) || c == '-' {
            word.push(c);
            continue;
        }
        flush(&mut word, &mut out);
        out.push_str(match c {
            '\u{202f}' => "\\,",
            ' ' => "\\ ",
            '%' => "\\%",
            '−' => "-",
            '/' => "/",
            _ => "",
        });
    }
    flush(&mut word, &mut out);
    out
}

/// True of a character of a number or a symbol: a raised ² is none.
fn is_word(c: char) -> bool {
    (c.is_alphabetic() && c != 'Σ') || c.is_ascii_digit() || matches!(c, '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::super::{Provenance, Unit};
    use super::*;

    #[test]
    fn values_and_symbols_become_mathematics() {
        assert_eq!(upright("20.4 %"), "20.4\\ \\%");
        assert_eq!(upright("2.10e6 tokens"), "2.10 \\times 10^{6}\\ \\mathrm{tokens}");
        assert_eq!(upright("12\u{202f}300 GB/s"), "12\\,300\\ \\mathrm{GB}/\\mathrm{s}");
        assert_eq!(upright("3.20 µs"), "3.20\\ \\mathrm{\\mu s}");
        assert_eq!(name("M_m"), "M_{\\mathrm{m}}");
        assert_eq!(name("φ"), "\\varphi ");
    }

    #[test]
    fn both_forms_hold_formula_values_and_parts() {
        let parts = [
            Term::given("F", "FLOPs", 4e12, Unit::Flops),
            Term::given("R", "rate", 1e12, Unit::FlopRate),
            Term::count("n", "GPUs", 2),
        ];
        let compute = Term::made("C", "compute", Unit::Seconds, parts, |[flops, rate, gpus]| flops / (rate * gpus));
        let idle = Term::given("I", "idle", 1.0, Unit::Seconds).marked(Provenance::Simulated);
        let term = Term::sum("T", "step", Unit::Seconds, vec![compute, idle]);
        let text = term.text(MemoryUnit::Gib);
        assert!(text.contains("T = C + I\n  = 2.00 s + 1.00 s\n  = 3.00 s"), "{text}");
        assert!(text.contains("C = F/(R n)\n  = 4.00 TFLOP / (1.00 TFLOP/s × 2)"), "{text}");
        assert!(text.contains("= 1.00 s, simulated"), "{text}");
        let latex = term.latex(MemoryUnit::Gib);
        assert_eq!(latex.matches("\\begin{aligned}").count(), 3);
        assert!(latex.contains("T &= C + I \\\\"), "{latex}");
        assert!(latex.contains("C &= \\frac{F}{R\\,n}"), "{latex}");
    }
}
