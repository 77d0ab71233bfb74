//! Whole numbers as a shell computes them between `$((` and `))`: sums, products and brackets.

/// Brackets and signs within each other.
const MAX_DEPTH: u32 = 32;

/// The result of `text`, whose variables were put in; none where it is anything else or too large.
pub(super) fn compute(text: &str) -> Option<i64> {
    let mut rest = Rest { text: text.trim(), depth: 0 };
    let result = rest.sum()?;
    rest.text.is_empty().then_some(result)
}

/// The text that is not read yet.
struct Rest<'a> {
    text: &'a str,
    depth: u32,
}

impl Rest<'_> {
    /// The first of `signs` that is next; it is taken.
    fn sign(&mut self, signs: &[char]) -> Option<char> {
        let next = self.text.chars().next().filter(|c| signs.contains(c))?;
        self.text = self.text[next.len_utf8()..].trim_start();
        Some(next)
    }

    fn sum(&mut self) -> Option<i64> {
        let mut total = self.product()?;
        while let Some(sign) = self.sign(&['+', '-']) {
            let next = self.product()?;
            total = if sign == '+' { total.checked_add(next)? } else { total.checked_sub(next)? };
        }
        Some(total)
    }

    fn product(&mut self) -> Option<i64> {
        let mut total = self.number()?;
        while let Some(sign) = self.sign(&['*', '/', '%']) {
            let next = self.number()?;
            total = match sign {
                '*' => total.checked_mul(next)?,
                '/' => total.checked_div(next)?,
                _ => total.checked_rem(next)?,
            };
        }
        Some(total)
    }

    fn number(&mut self) -> Option<i64> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        if let Some(sign) = self.sign(&['(', '-']) {
            self.depth += 1;
            let inner = if sign == '(' { self.sum()? } else { self.number()?.checked_neg()? };
            self.depth -= 1;
            return if sign == '(' { self.sign(&[')']).map(|_| inner) } else { Some(inner) };
        }
        let end = self.text.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.text.len());
        let number = self.text[..end].parse().ok()?;
        self.text = self.text[end..].trim_start();
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::compute;

    /// POSIX, Shell Command Language, section 2.6.4: the operators of C.
    #[test]
    fn numbers_are_as_a_shell_computes_them() {
        for (text, result) in [
            ("1024 * 2", Some(2048)),
            ("3 + 4 * 5 - 6 / 4", Some(22)),
            (" ( 3 + 4 ) * -5 ", Some(-35)),
            ("7 % 4", Some(3)),
            ("1 / 0", None),
            ("9223372036854775807 + 1", None),
            ("$N + 1", None),
            ("", None),
            ("2 3", None),
        ] {
            assert_eq!(compute(text), result, "{text}");
        }
        assert_eq!(compute(&"(".repeat(100_000)), None);
    }
}
