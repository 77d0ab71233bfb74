//! A formula to take along: as plain text, and as LaTeX that also GitHub's and a wiki's renderers read.

use super::{Term, is_word};

impl Term {
    /// The figure, its formula, the same with its values, what the symbols are, and the source; then what it is made of.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines = vec![self.name.clone()];
        self.text_lines(&mut lines);
        lines.join("\n") + "\n"
    }

    fn text_lines(&self, lines: &mut Vec<String>) {
        if self.formula.is_empty() {
            lines.push(format!("= {}", self.shown()));
        } else {
            lines.push(format!("{} = {}", self.symbol, self.formula));
            let numbers = self.substituted();
            if !numbers.is_empty() {
                lines.push(format!("  = {numbers}"));
            }
            lines.push(format!("  = {}", self.shown()));
        }
        for part in &self.parts {
            let colon = if part.symbol.is_empty() { "" } else { ": " };
            lines.push(format!(
                "  {}{colon}{}, {}",
                part.symbol,
                part.name,
                part.shown()
            ));
        }
        if let Some((source, place)) = self.source {
            lines.push(format!("  Source: {}, {place}", source.title));
        }
        lines.extend(self.notes.iter().map(|note| format!("  ({note})")));
        for part in self.parts.iter().filter(|part| !part.formula.is_empty()) {
            lines.push(String::new());
            lines.push(part.name.clone());
            part.text_lines(lines);
        }
    }

    /// One aligned block a formula, the figure first; words as text, values with their units upright.
    #[must_use]
    pub fn latex(&self) -> String {
        let mut blocks = Vec::new();
        self.blocks(&mut blocks);
        blocks.join("\n")
    }

    fn blocks(&self, blocks: &mut Vec<String>) {
        let mut lines = Vec::new();
        if self.formula.is_empty() {
            lines.push(format!("&= {}", math(&self.shown())));
        } else {
            lines.push(format!("{} &= {}", math(self.symbol), math(&self.formula)));
            let numbers = self.substituted();
            if !numbers.is_empty() {
                lines.push(format!("&= {}", math(&numbers)));
            }
            lines.push(format!("&= {}", math(&self.shown())));
        }
        blocks.push(format!(
            "% {}\n$$\n\\begin{{aligned}}\n{}\n\\end{{aligned}}\n$$",
            self.name,
            lines.join(" \\\\\n")
        ));
        let deeper = self.parts.iter().filter(|part| !part.formula.is_empty());
        deeper.for_each(|part| part.blocks(blocks));
    }
}

/// A formula in plain text as LaTeX's mathematics: every brace that is opened is closed, every special sign escaped.
#[must_use]
fn math(formula: &str) -> String {
    let mut out = String::new();
    let mut chars = formula.chars().peekable();
    let mut open_powers: Vec<usize> = Vec::new();
    let mut depth = 0usize;
    while let Some(c) = chars.next() {
        if c.is_alphabetic() && greek(c).is_none() {
            let mut word = String::from(c);
            while let Some(next) = chars.next_if(|c| is_word(*c)) {
                word.push(next);
            }
            out.push_str(&name(&word));
            continue;
        }
        match c {
            '^' if chars.next_if_eq(&'(').is_some() => {
                depth += 1;
                open_powers.push(depth);
                out.push_str("^{");
            }
            '^' => {
                let mut power = String::new();
                while let Some(next) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '.') {
                    power.push(next);
                }
                out.push_str(&["^{", &power, "}"].concat());
            }
            '(' => {
                depth += 1;
                out.push('(');
            }
            ')' => {
                let closes = open_powers.last() == Some(&depth);
                if closes {
                    open_powers.pop();
                }
                out.push(if closes { '}' } else { ')' });
                depth = depth.saturating_sub(1);
            }
            c => out.push_str(&sign(c)),
        }
    }
    out.extend(open_powers.iter().map(|_| '}'));
    out
}

/// A symbol of one letter in italics, with its index; a word upright.
fn name(word: &str) -> String {
    match word.split_once('_') {
        Some((symbol, index)) => format!(
            "{}_{{\\mathrm{{{}}}}}",
            name(symbol),
            index.replace('_', "\\_")
        ),
        None if word.chars().count() == 1 => word.to_owned(),
        None => format!("\\mathrm{{{word}}}"),
    }
}

fn greek(c: char) -> Option<&'static str> {
    Some(match c {
        'α' => "\\alpha ",
        'β' => "\\beta ",
        'κ' => "\\kappa ",
        'φ' => "\\varphi ",
        'Σ' => "\\sum ",
        'Δ' => "\\Delta ",
        'µ' | 'μ' => "\\mu ",
        'π' => "\\pi ",
        'θ' => "\\theta ",
        'Ψ' => "\\Psi ",
        _ => return None,
    })
}

/// The digit that stands raised.
fn raised(c: char) -> Option<usize> {
    "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|digit| digit == c)
}

/// Anything but a letter.
fn sign(c: char) -> String {
    let known = match c {
        '·' => "\\cdot ",
        '×' => "\\times ",
        '≤' => "\\le ",
        '≥' => "\\ge ",
        '⌈' => "\\lceil ",
        '⌉' => "\\rceil ",
        '⌊' => "\\lfloor ",
        '⌋' => "\\rfloor ",
        '∞' => "\\infty ",
        '√' => "\\surd ",
        '…' => "\\dots ",
        '–' | '−' => "-",
        '\u{2009}' => "\\,",
        ' ' => "\\ ",
        '{' => "\\{",
        '}' => "\\}",
        '\\' => "\\backslash ",
        '~' => "\\sim ",
        c @ ('%' | '#' | '&' | '$' | '_') => return format!("\\{c}"),
        c if raised(c).is_some() => return format!("^{{{}}}", raised(c).unwrap_or(0)),
        c => return greek(c).map_or_else(|| c.to_string(), str::to_owned),
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::Unit;
    use super::*;

    #[test]
    fn formulas_become_mathematics() {
        assert_eq!(math("1 - C/M"), "1\\ -\\ C/M");
        assert_eq!(math("M_m + 2 h²"), "M_{\\mathrm{m}}\\ +\\ 2\\ h^{2}");
        assert_eq!(math("Σ n/c"), "\\sum \\ n/c");
        assert_eq!(math("(b^4 + f^4)^(1/4)"), "(b^{4}\\ +\\ f^{4})^{1/4}");
        assert_eq!(math("20.4 %"), "20.4\\ \\%");
        assert_eq!(math("P_a_b {xy"), "P_{\\mathrm{a\\_b}}\\ \\{\\mathrm{xy}");
    }

    #[test]
    fn both_forms_hold_formula_values_and_parts() {
        let term = Term::given("T", "step", 3.0, Unit::Seconds).by(
            "C + I",
            vec![
                Term::given("C", "compute", 2.0, Unit::Seconds)
                    .by("F/R", vec![Term::count("F", "FLOPs", 4)]),
                Term::given("I", "idle", 1.0, Unit::Seconds),
            ],
        );
        let text = term.text();
        assert!(
            text.contains("T = C + I\n  = 2.00 s + 1.00 s\n  = 3.00 s"),
            "{text}"
        );
        assert!(text.contains("compute\nC = F/R"), "{text}");
        let latex = term.latex();
        assert_eq!(latex.matches("\\begin{aligned}").count(), 2);
        assert!(latex.contains("T &= C\\ +\\ I \\\\"), "{latex}");
    }
}
