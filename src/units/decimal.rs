//! Decimal text to the nearest f64, in a few lines of integer arithmetic.
//!
//! The standard library's parser carries 10 kB of tables that do not compress, a twentieth of the page. This one is
//! exact for up to 19 digits and powers of ten from -38 to 19, beyond which no setting has a meaning.

/// The number that `text` writes (`0.8`, `1e12`, `-3`), or none.
pub fn parse(text: &str) -> Option<f64> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut power = exponent.parse::<i32>().ok()?;
    let mut digits = 0u64;
    for (place, byte) in whole.bytes().chain(fraction.bytes()).enumerate() {
        if !byte.is_ascii_digit() {
            return None;
        }
        let behind_the_point = place >= whole.len();
        match digits
            .checked_mul(10)
            .and_then(|d| d.checked_add(u64::from(byte - b'0')))
        {
            Some(more) => {
                digits = more;
                power = power.checked_sub(i32::from(behind_the_point))?;
            }
            // The twentieth digit and what follows do not change an f64 that anyone wrote.
            None => power = power.checked_add(i32::from(!behind_the_point))?,
        }
    }
    let value = scaled(digits, power);
    Some(if negative { -value } else { value })
}

/// `digits` times ten to the `power`.
fn scaled(digits: u64, power: i32) -> f64 {
    let digits = u128::from(digits);
    match power {
        0..=19 => (digits * 10u128.pow(power.unsigned_abs())) as f64,
        20.. => digits as f64 * 10f64.powi(power),
        -38..=-1 => quotient(digits, 10u128.pow(power.unsigned_abs())),
        _ => digits as f64 / 1e38 * 10f64.powi(power.saturating_add(38)),
    }
}

/// The f64 nearest to `n / d`: long division to at least 55 bits, the rest remembered in the last of them.
fn quotient(n: u128, d: u128) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let (mut bits, mut rest, mut shift) = (n / d, n % d, 0);
    while bits < 1 << 55 {
        rest <<= 1;
        bits <<= 1;
        if rest >= d {
            rest -= d;
            bits |= 1;
        }
        shift += 1;
    }
    let sticky = u128::from(rest != 0);
    (bits | sticky) as f64 * 2f64.powi(-shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20_000) })]

        #[test]
        fn agrees_with_the_standard_library_to_the_last_bit(value in 1e-18f64..1e19) {
            prop_assert_eq!(parse(&value.to_string()), Some(value));
        }

        #[test]
        fn small_numbers_too(value in 0.0f64..1e-3, power in -15i32..3) {
            let text = format!("{value}e{power}");
            prop_assert_eq!(parse(&text), text.parse::<f64>().ok(), "{}", text);
        }

        #[test]
        fn what_is_no_number_is_none(text in "[-+0-9.eE x]{0,8}") {
            prop_assert_eq!(parse(&text).is_some(), text.parse::<f64>().is_ok(), "{}", text);
        }
    }
}
