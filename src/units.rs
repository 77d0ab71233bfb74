//! Quantities as types: bytes, seconds, FLOPs and their rates, how they are printed and how typed text is read.
//!
//! Everything inside the crate is in SI base units; GiB, ms and TFLOP/s exist only here, where a person reads or
//! types them. A thousand is 10³ in rates and decimal counts; GiB is always 2³⁰ and never printed as GB.

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// Bytes in a GiB.
pub const GIB: f64 = (1u64 << 30) as f64;

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub f64);

        impl $name {
            /// Nothing of it.
            pub const ZERO: Self = Self(0.0);
            /// The larger of two.
            #[must_use]
            pub fn max(self, other: Self) -> Self {
                Self(self.0.max(other.0))
            }
        }
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl Mul<f64> for $name {
            type Output = Self;
            fn mul(self, factor: f64) -> Self {
                Self(self.0 * factor)
            }
        }
        impl Div<f64> for $name {
            type Output = Self;
            fn div(self, divisor: f64) -> Self {
                Self(self.0 / divisor)
            }
        }
        impl Div for $name {
            type Output = f64;
            fn div(self, other: Self) -> f64 {
                self.0 / other.0
            }
        }
        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                Self(items.map(|item| item.0).sum())
            }
        }
    };
}

quantity! {
    /// An amount of memory or traffic, bytes.
    Bytes
}
quantity! {
    /// A duration, seconds.
    Seconds
}
quantity! {
    /// Floating-point operations; a multiply-add is two.
    Flops
}
quantity! {
    /// A bandwidth, bytes a second, one direction.
    BytesPerSecond
}
quantity! {
    /// A compute rate, FLOP/s.
    FlopsPerSecond
}

impl Div<BytesPerSecond> for Bytes {
    type Output = Seconds;
    fn div(self, rate: BytesPerSecond) -> Seconds {
        Seconds(self.0 / rate.0)
    }
}
impl Div<FlopsPerSecond> for Flops {
    type Output = Seconds;
    fn div(self, rate: FlopsPerSecond) -> Seconds {
        Seconds(self.0 / rate.0)
    }
}

impl Bytes {
    /// From GiB (2³⁰ bytes).
    #[must_use]
    pub fn from_gib(gib: f64) -> Self {
        Self(gib * GIB)
    }
    /// As a number of GiB (2³⁰ bytes).
    #[must_use]
    pub fn gib(self) -> f64 {
        self.0 / GIB
    }
    /// As a number of GB (10⁹ bytes).
    #[must_use]
    pub fn gb(self) -> f64 {
        self.0 / 1e9
    }
}

/// The unit in which the page shows memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryUnit {
    /// 2³⁰ bytes.
    #[default]
    Gib,
    /// 10⁹ bytes.
    Gb,
}

impl MemoryUnit {
    /// "GiB" or "GB".
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gib => "GiB",
            Self::Gb => "GB",
        }
    }
    /// The number alone, one decimal: `61.2`.
    #[must_use]
    pub fn number(self, bytes: Bytes) -> String {
        let value = match self {
            Self::Gib => bytes.gib(),
            Self::Gb => bytes.gb(),
        };
        group(&format!("{value:.1}"))
    }
    /// Number and unit: `61.2 GiB`.
    #[must_use]
    pub fn show(self, bytes: Bytes) -> String {
        format!("{} {}", self.number(bytes), self.name())
    }
}

/// Bytes at a fitting binary unit, three significant digits: `8.30 GiB`, `25.0 MiB`, `512 B`.
#[must_use]
pub fn show_bytes(bytes: Bytes) -> String {
    scaled(
        bytes.0,
        &[
            (GIB * 1024.0, "TiB"),
            (GIB, "GiB"),
            (1024.0 * 1024.0, "MiB"),
            (1024.0, "KiB"),
            (1.0, "B"),
        ],
    )
}

/// A duration at a fitting unit, three significant digits: `9.84 s`, `178 ms`, `3.20 µs`.
#[must_use]
pub fn show_seconds(seconds: Seconds) -> String {
    let s = seconds.0;
    if s >= 2.0 * 86_400.0 {
        return format!("{} days", significant(s / 86_400.0, 3));
    }
    if s >= 2.0 * 3600.0 {
        return format!("{} h", significant(s / 3600.0, 3));
    }
    if s == 0.0 {
        return "0 s".to_owned();
    }
    scaled(s, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")])
}

/// A count at a decimal unit: `8.03 B`, `405 B`, `12.3 k`.
#[must_use]
pub fn show_count(count: f64) -> String {
    scaled(
        count,
        &[
            (1e18, "E"),
            (1e15, "P"),
            (1e12, "T"),
            (1e9, "B"),
            (1e6, "M"),
            (1e3, "k"),
            (1.0, ""),
        ],
    )
    .trim_end()
    .to_owned()
}

/// A share in percent, one decimal below 100: `15.8 %`.
#[must_use]
pub fn show_percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let smallest = units.last().map_or((1.0, ""), |unit| *unit);
    let (size, name) = units
        .iter()
        .copied()
        // 999.7 of a unit rounds to 1000 of it: show one of the next.
        .find(|(size, _)| value.abs() >= size * 0.9995)
        .unwrap_or(smallest);
    if value == 0.0 {
        return format!("0 {name}");
    }
    format!("{} {name}", significant(value / size, 3))
}

/// A number with `digits` significant digits and grouped thousands: `9.84`, `178`, `12 300`.
#[must_use]
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let rounded: f64 = format!("{value:.*e}", digits.saturating_sub(1))
        .parse()
        .unwrap_or(value);
    let mut whole_digits = 1;
    let mut rest = rounded.abs();
    while rest >= 10.0 {
        rest /= 10.0;
        whole_digits += 1;
    }
    let mut leading_zeros = 0;
    let mut small = rounded.abs();
    while small < 1.0 && leading_zeros < 30 {
        small *= 10.0;
        leading_zeros += 1;
    }
    let decimals = if leading_zeros > 0 {
        digits + leading_zeros - 1
    } else {
        digits.saturating_sub(whole_digits)
    };
    group(&format!("{rounded:.decimals$}"))
}

/// Thin spaces between groups of three digits before the decimal point; four digits stay together.
#[must_use]
pub fn group(number: &str) -> String {
    let (sign, digits) = number
        .strip_prefix('-')
        .map_or(("", number), |rest| ("-", rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut out = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && whole.len() > 4 && (whole.len() - index).is_multiple_of(3) {
            out.push('\u{2009}');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// What was typed where a whole number belongs: `64`, `8k` (8192), `1 024`, `1e6`, `4*8`.
///
/// `k` and `m` are binary here, as in "8k tokens". `None` for anything else.
#[must_use]
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
            Err(_) => whole(parse_number(digits)? * unit as f64)?,
        };
        product = product.checked_mul(value)?;
    }
    Some(product)
}

/// The integer that `value` is, if it is one that f64 holds exactly.
#[must_use]
pub fn whole(value: f64) -> Option<u64> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    ((0.0..=9_007_199_254_740_992.0).contains(&value) && value.fract() == 0.0)
        .then_some(value as u64)
}

/// What was typed where a number belongs: `0.8`, `80 %`, `15T`, `80GiB`, `1e12`; a trailing unit is decimal
/// (`k M B G T`) or dropped (`GiB`, `GB/s`, `ns`). `None` for anything that is not finite and non-negative.
#[must_use]
pub fn parse_number(text: &str) -> Option<f64> {
    let text = ungroup(text);
    // The number ends where something stands that no number has; an "e" does not end one if digits follow.
    let exponent = |at: usize| {
        text[at + 1..].starts_with(|next: char| next.is_ascii_digit() || matches!(next, '-' | '+'))
    };
    let split = text
        .char_indices()
        .find(|(at, c)| match c {
            '0'..='9' | '.' | '+' | '-' => false,
            'e' | 'E' => !exponent(*at),
            _ => true,
        })
        .map_or(text.len(), |(at, _)| at);
    let (digits, unit) = text.split_at(split);
    let scale = match unit {
        "" | "GiB" | "GB" | "GB/s" | "TFLOP/s" | "ns" | "s" | "$" => 1.0,
        "%" => 0.01,
        "k" | "K" => 1e3,
        "M" | "m" => 1e6,
        "B" | "G" | "b" | "g" => 1e9,
        "T" | "t" => 1e12,
        _ => return None,
    };
    let value = digits.parse::<f64>().ok()? * scale;
    (value.is_finite() && value >= 0.0).then_some(value)
}

fn ungroup(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, ',' | '_' | '\u{2009}' | '\u{202f}'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_three_significant_digits_with_a_fitting_unit() {
        assert_eq!(show_seconds(Seconds(9.8412)), "9.84 s");
        assert_eq!(show_seconds(Seconds(0.1779)), "178 ms");
        assert_eq!(show_seconds(Seconds(0.000_003_2)), "3.20 µs");
        assert_eq!(show_seconds(Seconds(0.9999)), "1.00 s");
        assert_eq!(show_seconds(Seconds::ZERO), "0 s");
        assert_eq!(show_bytes(Bytes(25.0 * 1_048_576.0)), "25.0 MiB");
        assert_eq!(show_count(8_030_261_248.0), "8.03 B");
        assert_eq!(show_count(12.0), "12.0");
        assert_eq!(significant(12_345.0, 3), "12\u{2009}300");
        assert_eq!(significant(0.012_345, 3), "0.0123");
        assert_eq!(MemoryUnit::Gib.show(Bytes::from_gib(61.24)), "61.2 GiB");
        assert_eq!(MemoryUnit::Gb.show(Bytes(61.24e9)), "61.2 GB");
    }

    #[test]
    fn reads_what_people_type() {
        assert_eq!(parse_count("8k"), Some(8192));
        assert_eq!(parse_count("131 072"), Some(131_072));
        assert_eq!(parse_count("4*8"), Some(32));
        assert_eq!(parse_count("1e6"), Some(1_000_000));
        assert_eq!(parse_count("1000000000000000"), Some(1_000_000_000_000_000));
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
