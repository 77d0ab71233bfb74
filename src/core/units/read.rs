//! Parsing of typed text: `8k`, `80GiB`, `4*8`, `15T`.

/// Parses a whole number as typed: `64`, `8k` (8192), `1 024`, `1e6`, `4*8`.
///
/// `k` and `m` are binary here, as in "8k tokens". `None` for anything else.
pub fn parse_count(text: &str) -> Option<u64> {
    let mut product: u64 = 1;
    for factor in text.split(['*', '×']) {
        let factor = ungroup(factor).to_ascii_lowercase();
        let (digits, unit) = if let Some(digits) = factor.strip_suffix('k') {
            (digits, 1u64 << 10)
        } else if let Some(digits) = factor.strip_suffix('m') {
            (digits, 1u64 << 20)
        } else {
            (factor.as_str(), 1)
        };
        let value = match digits.parse::<u64>() {
            Ok(value) => value.checked_mul(unit)?,
            // A second prefix is refused: 8kk is no number.
            Err(_) if unit > 1 => whole(digits.parse::<f64>().ok()? * unit as f64)?,
            Err(_) => whole(parse_number(digits)?)?,
        };
        product = product.checked_mul(value)?;
    }
    Some(product)
}

/// `value` as an integer, if it is whole, not negative and at most 2⁵³ (above that f64 skips integers).
pub fn whole(value: f64) -> Option<u64> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // within 0 to 2⁵³ and whole
    ((0.0..=9_007_199_254_740_992.0).contains(&value) && value.fract() == 0.0).then_some(value as u64)
}

/// Parses a number as typed: `0.8`, `80 %`, `15T`, `80GiB`, `1e12`. A prefix at the end multiplies (`k M B G T`, powers
/// of 1000); a unit (`GiB`, `GB/s`, `ns`) does not change the number. `None` for anything that is not finite and
/// non-negative.
pub fn parse_number(text: &str) -> Option<f64> {
    let text = ungroup(text);
    // The unit begins at the first character that is no part of a number. An "e" is part of it if an exponent follows.
    let begins_exponent =
        |at: usize| text[at + 1..].starts_with(|next: char| next.is_ascii_digit() || matches!(next, '-' | '+'));
    let unit_start = text
        .char_indices()
        .find(|(at, c)| match c {
            '0'..='9' | '.' | '+' | '-' => false,
            'e' | 'E' => !begins_exponent(*at),
            _ => true,
        })
        .map_or(text.len(), |(at, _)| at);
    let (digits, unit) = text.split_at(unit_start);
    let scale = match unit {
        "" | "GiB" | "GB" | "GB/s" | "TFLOP/s" | "ns" | "s" | "$" => 1.0,
        "%" => 0.01,
        "k" | "K" | "thousand" => 1e3,
        "M" | "m" | "million" => 1e6,
        "B" | "G" | "b" | "g" | "billion" => 1e9,
        "T" | "t" | "trillion" => 1e12,
        _ => return None,
    };
    let value = digits.parse::<f64>().ok()? * scale;
    (value.is_finite() && value >= 0.0).then_some(value)
}

/// True of invisible characters that are copied along with text: direction marks, joiners, the byte-order mark.
pub(crate) const fn is_mark(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// `text` without spaces, invisible characters and the commas and underscores that group digits.
fn ungroup(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !matches!(c, ',' | '_') && !is_mark(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::units::group;

    #[test]
    fn reads_what_people_type() {
        assert_eq!(parse_count("8k"), Some(8192));
        assert_eq!(parse_count("131 072"), Some(131_072));
        assert_eq!(parse_count("4*8"), Some(32));
        assert_eq!(parse_count("\u{200e}8\u{202c}"), Some(8));
        assert_eq!(parse_count("1e6"), Some(1_000_000));
        assert_eq!(parse_count("1000000000000000"), Some(1_000_000_000_000_000));
        assert_eq!(parse_count("1.5k"), Some(1536));
        assert_eq!(["8kk", "8Mk", "2 %m", "80GiBk", "infk"].map(parse_count), [None; 5]);
        assert_eq!(parse_count("2.5"), None);
        assert_eq!(parse_count("-1"), None);
        assert_eq!(parse_count(""), None);
        assert_eq!(parse_count("NaN"), None);
        assert_eq!(parse_number("80GiB"), Some(80.0));
        assert_eq!(parse_number("80 %"), Some(0.8));
        assert_eq!(parse_number("15T"), Some(15e12));
        assert_eq!(parse_number("1e-3"), Some(1e-3));
        assert_eq!(parse_number("inf"), None);
        assert_eq!(parse_number("1e999"), None);
    }

    #[test]
    fn what_is_shown_of_a_count_reads_back() {
        for count in [1u64, 64, 999, 1024, 8192, 131_072, 16_777_216] {
            assert_eq!(parse_count(&group(&count.to_string())), Some(count));
        }
    }
}
