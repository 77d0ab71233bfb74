//! Decimal text to the nearest f64, in a few lines of integer arithmetic.
//!
//! The standard library's parser carries 10 kB of tables that do not compress, a twentieth of the page. This one divides
//! whole numbers of any size as by hand, so it gives the very same bits for every text, at its leisure.

use std::cmp::Ordering;

/// Digits that are kept. No f64, and no middle between two, has more than 767; of what follows only whether there is
/// anything matters.
const MOST_DIGITS: i32 = 800;

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
    let mut number = Big(Vec::new());
    let mut digits = 0;
    for (place, byte) in whole.bytes().chain(fraction.bytes()).enumerate() {
        if !byte.is_ascii_digit() {
            return None;
        }
        let digit = u32::from(byte - b'0');
        let behind_the_point = place >= whole.len();
        if digits < MOST_DIGITS {
            number.times_plus(10, digit);
            digits += i32::from(!number.0.is_empty());
            power = power.checked_sub(i32::from(behind_the_point))?;
        } else {
            // A number that lies just at a middle ends in zeros here, so its lowest bit is free.
            if digit > 0
                && let Some(last) = number.0.first_mut()
            {
                *last |= 1;
            }
            power = power.checked_add(i32::from(!behind_the_point))?;
        }
    }
    let value = match digits.saturating_add(power) {
        _ if digits == 0 => 0.0,
        ..-400 => 0.0,
        400.. => f64::INFINITY,
        _ => {
            let mut divisor = Big(vec![1]);
            let scaled = if power < 0 { &mut divisor } else { &mut number };
            for _ in 0..power.unsigned_abs() {
                scaled.times_plus(10, 0);
            }
            quotient(number, divisor)
        }
    };
    Some(if negative { -value } else { value })
}

/// The f64 nearest to `n / d`, neither of them 0: long division, bit by bit.
fn quotient(mut n: Big, mut d: Big) -> f64 {
    // 1 <= n / d < 2, times 2 to the `exponent`.
    let mut exponent = n.bits() - d.bits();
    for _ in 0..exponent.unsigned_abs() {
        let shorter = if exponent > 0 { &mut d } else { &mut n };
        shorter.times_plus(2, 0);
    }
    if n.cmp(&d) == Ordering::Less {
        n.times_plus(2, 0);
        exponent -= 1;
    }
    // An f64 has 53 bits, fewer below 2^-1022.
    let bits = (exponent + 1075).min(53);
    let mut quotient = 0u64;
    for _ in 0..bits.max(0) {
        quotient <<= 1;
        if n.cmp(&d) != Ordering::Less {
            n.minus(&d);
            quotient |= 1;
        }
        n.times_plus(2, 0);
    }
    // What is left is twice the rest: to the nearest, from the middle to the even one.
    let up = match n.cmp(&d) {
        Ordering::Less => 0,
        Ordering::Equal => quotient & 1,
        Ordering::Greater => u64::from(bits >= 0),
    };
    // The bits of an f64 count on over the powers of two, up to infinity.
    let power = u64::from((exponent + 1022).max(0).unsigned_abs());
    f64::from_bits(((power << 52) + quotient + up).min(f64::INFINITY.to_bits()))
}

/// A whole number of any size: its bits by 32, the lowest first, the highest not 0.
struct Big(Vec<u32>);

impl Big {
    /// Times `factor`, plus `more`.
    fn times_plus(&mut self, factor: u32, more: u32) {
        let mut carry = u64::from(more);
        for part in &mut self.0 {
            carry += u64::from(*part) * u64::from(factor);
            *part = low(carry);
            carry >>= 32;
        }
        if carry > 0 {
            self.0.push(low(carry));
        }
    }

    /// Minus `other`, which is no larger.
    fn minus(&mut self, other: &Self) {
        let mut borrow = false;
        for (at, part) in self.0.iter_mut().enumerate() {
            let less = other.0.get(at).copied().unwrap_or(0);
            let (once, first) = part.overflowing_sub(less);
            let (twice, second) = once.overflowing_sub(u32::from(borrow));
            (*part, borrow) = (twice, first || second);
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn cmp(&self, other: &Self) -> Ordering {
        let size = self.0.len().cmp(&other.0.len());
        size.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    fn bits(&self) -> i32 {
        let highest = self.0.last().map_or(0, |part| part.ilog2() + 1);
        i32::try_from(self.0.len() * 32).unwrap_or(0) - 32 + highest.cast_signed()
    }
}

/// The lower 32 bits.
#[allow(clippy::cast_possible_truncation)] // is what it is for
const fn low(bits: u64) -> u32 {
    bits as u32
}
#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bits_of(text: &str) -> Option<u64> {
        parse(text).map(f64::to_bits)
    }

    #[test]
    fn the_edges_are_those_of_the_standard_library() {
        let (long, zeros) = ("7".repeat(2000), "0".repeat(2000));
        // 1 + 2^-53 lies in the middle between 1 and the next f64; the even one is 1, and a trace more is not.
        let middle = "1.00000000000000011102230246251565404236316680908203125";
        for text in [
            "0",
            "-0",
            "0e300",
            "4.9e-324",
            "2.4703282292062327e-324",
            "2.4703282292062328e-324",
            "2.2250738585072011e-308",
            "1.7976931348623157e308",
            "1.7976931348623158e308",
            "1.7976931348623159e308",
            "1e-2000",
            "1e2000",
            "9007199254740993",
            "0.000000047051280674977393e-15",
            middle,
            &format!("{middle}{zeros}"),
            &format!("{middle}{zeros}1"),
            &format!("0.{zeros}{long}"),
            &format!("{long}.{long}"),
            &format!("0.{zeros}1e2001"),
            &format!("1{zeros}e-2000"),
        ] {
            let exact = text.parse().ok().map(f64::to_bits);
            assert_eq!(bits_of(text), exact, "{text:.60}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3000) })]

        #[test]
        fn what_is_printed_of_a_number_is_that_number(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(bits_of(&value.to_string()), Some(bits));
            prop_assert_eq!(bits_of(&format!("{value:e}")), Some(bits));
        }

        #[test]
        fn agrees_with_the_standard_library_to_the_last_bit(
            text in "[0-9]{0,30}[.]?[0-9]{1,30}", power in -400i32..400,
        ) {
            for text in [format!("{text}e{power}"), text] {
                prop_assert_eq!(bits_of(&text), text.parse().ok().map(f64::to_bits), "{}", text);
            }
        }

        #[test]
        fn what_is_no_number_is_none(text in "[-+0-9.eE x]{0,8}") {
            prop_assert_eq!(parse(&text).is_some(), text.parse::<f64>().is_ok(), "{}", text);
        }
    }
}
