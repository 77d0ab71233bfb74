//! Printing of quantities: a fitting unit, three significant digits, narrow no-break spaces between thousands.

use super::{Bytes, GIB, Seconds};
use serde::{Deserialize, Serialize};

/// The unit in which the page shows memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryUnit {
    /// 2³⁰ bytes.
    #[default]
    Gib,
    /// 10⁹ bytes.
    Gb,
}

impl MemoryUnit {
    /// "GiB" or "GB".
    pub fn name(self) -> &'static str {
        match self {
            Self::Gib => "GiB",
            Self::Gb => "GB",
        }
    }
    /// The number alone, one decimal: `61.2`.
    pub fn number(self, bytes: Bytes) -> String {
        let value = match self {
            Self::Gib => bytes.gib(),
            Self::Gb => bytes.gb(),
        };
        fixed(value, 1)
    }
    /// The number as it is printed: differences of such numbers are those of the figures that are read.
    pub fn printed(self, bytes: Bytes) -> f64 {
        let value = match self {
            Self::Gib => bytes.gib(),
            Self::Gb => bytes.gb(),
        };
        // As it is printed, ties too: 79.25 is 79.2.
        format!("{value:.1}").parse().unwrap_or(value)
    }
    /// Bytes of which `value` is the number.
    pub fn bytes(self, value: f64) -> Bytes {
        match self {
            Self::Gib => Bytes(value * Bytes(1.0).gib().recip()),
            Self::Gb => Bytes(value * Bytes(1.0).gb().recip()),
        }
    }
    /// What `more` has beyond `less`, of the numbers as they are printed: 160.0 beyond 23.6 is `136.4 GiB`.
    pub fn beyond(self, more: Bytes, less: Bytes) -> String {
        let difference = (self.printed(more) - self.printed(less)).max(0.0);
        format!("{} {}", fixed(difference, 1), self.name())
    }
    /// Number and unit: `61.2 GiB`.
    pub fn show(self, bytes: Bytes) -> String {
        format!("{} {}", self.number(bytes), self.name())
    }
    /// Bytes of a part that may be none: as [`Self::show`], in a smaller unit where that would print zero of what is
    /// there, and nothing for none.
    pub fn show_any(self, bytes: Bytes) -> String {
        match self.printed(bytes) {
            _ if bytes.0 == 0.0 => String::new(),
            0.0 => self.fitting(bytes),
            _ => self.show(bytes),
        }
    }
    /// Bytes at a fitting unit of this kind, three significant digits: `8.30 GiB`, `25.0 MB`, `512 B`. The largest is
    /// that of [`Self::show`], and large figures are printed as there: a drawer says what the table beside it says.
    pub fn fitting(self, bytes: Bytes) -> String {
        /// What has three digits before the point is printed as in a table.
        const LARGE: f64 = 99.95;
        let (value, units) = match self {
            Self::Gib => (bytes.gib(), BINARY),
            Self::Gb => (bytes.gb(), &DECIMAL[3..]),
        };
        if value.abs() >= LARGE { self.show(bytes) } else { scaled(bytes.0, units, "B", 3) }
    }
}

/// Decimal prefixes, largest first.
const DECIMAL: &[(f64, &str)] = &[(1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];

/// Binary prefixes of memory, largest first.
const BINARY: &[(f64, &str)] = &[(GIB, "Gi"), (1024.0 * 1024.0, "Mi"), (1024.0, "Ki"), (1.0, "")];

/// Bytes at a fitting binary unit, three significant digits: `8.30 GiB`, `25.0 MiB`, `512 B`.
pub fn show_bytes(bytes: Bytes) -> String {
    MemoryUnit::Gib.fitting(bytes)
}

/// Bytes of a part of a GPU's memory. From 0.1 GiB on they are in GiB, the unit of the whole memory that they stand
/// beside: `0.79 GiB`, for which [`show_bytes`] has `809 MiB`. Smaller ones are as in [`show_bytes`]: `25.0 MiB`.
pub fn show_of_gpu(bytes: Bytes) -> String {
    let gib = bytes.gib();
    if (0.1..0.995).contains(&gib) { format!("{} GiB", fixed(gib, 2)) } else { show_bytes(bytes) }
}

/// Bytes on disks in decimal units, as storage is sold: `5.63 TB`.
pub fn show_storage(bytes: Bytes) -> String {
    scaled(bytes.0, DECIMAL, "B", 3)
}

/// Bytes a second in decimal units, as data sheets count them: `450 GB/s`.
pub fn show_bandwidth(rate: f64) -> String {
    scaled(rate, &DECIMAL[3..], "B/s", 3)
}

/// Floating-point operations: `108 PFLOP`.
pub fn show_flops(flops: f64) -> String {
    scaled(flops, DECIMAL, "FLOP", 3)
}

/// A duration at a fitting unit, three significant digits: `9.84 s`, `178 ms`, `3.20 µs`.
pub fn show_seconds(seconds: Seconds) -> String {
    seconds_to(seconds, 3)
}

/// A duration at a fitting unit with `digits` significant digits.
pub fn seconds_to(seconds: Seconds, digits: usize) -> String {
    let s = seconds.0;
    if s >= 2.0 * 86_400.0 {
        return format!("{} d", significant(s / 86_400.0, digits));
    }
    if s >= 2.0 * 3600.0 {
        return format!("{} h", significant(s / 3600.0, digits));
    }
    if s == 0.0 {
        return "0 s".to_owned();
    }
    scaled(s, &[(1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")], "s", digits)
}

/// A duration in the unit in which `like` is shown and with as many decimals: a part beside its sum.
pub fn seconds_beside(seconds: Seconds, like: Seconds, digits: usize) -> String {
    let whole = seconds_to(like, digits);
    let decimals = whole.split_once('.').map_or(0, |(_, rest)| rest.chars().take_while(char::is_ascii_digit).count());
    let part = seconds_like(seconds, like, 12);
    let Some((number, unit)) = part.rsplit_once(' ') else { return part };
    number.parse().map_or(part.clone(), |number: f64| format!("{} {unit}", fixed(number, decimals)))
}

/// A duration in the unit in which `like` is shown, with `digits` significant digits: ends of a range in one unit.
pub fn seconds_like(seconds: Seconds, like: Seconds, digits: usize) -> String {
    let shown = seconds_to(like, digits);
    let unit = shown.rsplit_once(' ').map_or("s", |(_, unit)| unit);
    let size = match unit {
        "d" => 86_400.0,
        "h" => 3600.0,
        "ms" => 1e-3,
        "µs" => 1e-6,
        "ns" => 1e-9,
        _ => 1.0,
    };
    if seconds == like { shown } else { format!("{} {unit}", significant(seconds.0 / size, digits)) }
}

/// A count at a decimal unit: `8.03 B`, `405 B`, `12.3 k`.
pub fn show_count(count: f64) -> String {
    count_to(count, 3)
}

/// A count at a decimal unit with `digits` significant digits.
pub fn count_to(count: f64, digits: usize) -> String {
    let text = scaled(count, DECIMAL, "", digits);
    // People count parameters in billions, not in giga.
    match text.strip_suffix('G') {
        Some(number) => format!("{number}B"),
        None => text.trim_end().to_owned(),
    }
}

/// The smallest share that [`show_percent`] prints as more than `0.0 %`: a half of its last digit. Two steps, peaks or
/// layouts that differ by less are printed as alike, and every sentence and choice treats them so.
pub const SMALLEST_PRINTED: f64 = 0.5e-3;

/// A share in percent, one decimal below 100: `15.8 %`.
pub fn show_percent(share: f64) -> String {
    format!("{} %", fixed(share * 100.0, 1))
}

/// A share that is not passed, in percent, rounded up: a bound that is printed holds.
pub fn show_at_most(share: f64) -> String {
    // A share that is whole tenths but for its last bits stays as it is.
    show_percent((share * 1000.0 - 1e-6).ceil().max(0.0) / 1000.0)
}

/// A share that is gained, in percent without the sign: tenths below ten, where gains are told apart by tenths.
pub fn show_gain(share: f64) -> String {
    let tenths = fixed(share * 100.0, 1);
    if tenths.len() > "9.9".len() { fixed(share * 100.0, 0) } else { tenths }
}

/// A share in percent as [`show_percent`] prints it, but what is neither nothing nor all is printed as neither:
/// `< 0.1 %`, `> 99.9 %`.
pub fn show_part(share: f64) -> String {
    match share {
        share if share > 0.0 && share < SMALLEST_PRINTED => "< 0.1 %".to_owned(),
        share if share < 1.0 && share > 1.0 - SMALLEST_PRINTED => "> 99.9 %".to_owned(),
        share => show_percent(share),
    }
}

/// A share in whole percent: `23 %`.
pub fn show_whole_percent(share: f64) -> String {
    format!("{} %", fixed(share * 100.0, 0))
}

/// Prints a relative error, with its sign and `decimals`: `+3.1 %`, `−38 %`; what rounds to 0 has no sign: `0 %`.
pub fn show_off(share: f64, decimals: usize) -> String {
    let size = fixed(share.abs() * 100.0, decimals);
    let is_zero = size.chars().all(|c| matches!(c, '0' | '.'));
    let sign = match share {
        _ if is_zero => "",
        ..0.0 => "−",
        _ => "+",
    };
    format!("{sign}{size} %")
}

/// A value with `digits` significant digits and the largest prefix that it fills. With three digits a whole number of
/// the unit without prefix is printed whole: `512 B`.
fn scaled(value: f64, units: &[(f64, &str)], name: &str, digits: usize) -> String {
    // 999.7 of a unit rounds to 1000 of it at three digits: show one of the next.
    let full = if digits > 2 { 0.9995 } else { 0.995 };
    let smallest = units.last().map_or((1.0, ""), |unit| *unit);
    let (size, prefix) = units.iter().copied().find(|(size, _)| value.abs() >= size * full).unwrap_or(smallest);
    if value == 0.0 {
        return format!("0 {prefix}{name}");
    }
    let whole = prefix.is_empty() && name != "s" && digits > 2;
    let shown = if whole { number(value, digits) } else { significant(value / size, digits) };
    format!("{shown} {prefix}{name}")
}

/// A count or what may be one: whole numbers are shown whole, others with `digits` significant digits: `6`, `6.25`.
pub fn number(value: f64, digits: usize) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        // The sum of no numbers is −0.
        return group(&format!("{:.0}", value + 0.0));
    }
    significant(value, digits)
}

/// A number without a prefix that could be a symbol: plain from 0.0001 to a million, else `2.10e6`.
pub fn scientific(value: f64) -> String {
    if value == 0.0 || (1e-4..1e6).contains(&value.abs()) {
        return number(value, 4);
    }
    let power = first_digit(value.abs() * 1.0005);
    format!("{:.2}e{power}", value / 10f64.powi(power))
}

/// Magnitudes that are printed digit by digit; larger and smaller ones as a power of ten.
const PLAIN: std::ops::Range<f64> = 1e-9..1e15;
/// Magnitudes below this are rounding of the arithmetic, and printed as 0.
const LEAST: f64 = 1e-200;

/// A number as it reads back, with a power of ten where it would have more digits than any count: `0.1`, `1e-320`.
pub fn shortest(number: f64) -> String {
    /// Digits of the largest 64-bit count.
    const COUNT: usize = 20;
    let plain = number.to_string();
    if plain.len() > COUNT + 1 { format!("{number:e}") } else { plain }
}

/// A number with `decimals` and grouped thousands: `12 345.6`.
pub fn fixed(value: f64, decimals: usize) -> String {
    // What is absent has no sign: a sum of nothing is −0.
    let value = if value == 0.0 { 0.0 } else { value };
    if value.abs() < PLAIN.end { group(&format!("{value:.decimals$}")) } else { significant(value, 3) }
}

/// A number with `digits` significant digits and grouped thousands: `9.84`, `178`, `12 300`, `1.20e17`.
pub fn significant(value: f64, digits: usize) -> String {
    if value.abs() < LEAST || !value.is_finite() {
        return "0".to_owned();
    }
    if !PLAIN.contains(&value.abs()) {
        return format!("{value:.*e}", digits.saturating_sub(1)).replace('-', "−");
    }
    let digits = i32::try_from(digits).unwrap_or(3);
    // The power of ten of the first digit; 9.996 at three digits is 10.0 and has one more.
    let mut power = first_digit(value.abs());
    let unit = 10f64.powi(power + 1 - digits);
    let rounded = (value / unit).round() * unit;
    power = first_digit(rounded.abs().max(value.abs()));
    let decimals = usize::try_from(digits - 1 - power).unwrap_or(0);
    group(&format!("{rounded:.decimals$}"))
}

/// The power of ten of a number's first digit: 2 for 178, -2 for 0.012.
fn first_digit(value: f64) -> i32 {
    let mut power = 0;
    let mut rest = value;
    while rest >= 10.0 && power < 300 {
        rest /= 10.0;
        power += 1;
    }
    while rest < 1.0 && power > -300 {
        rest *= 10.0;
        power -= 1;
    }
    power
}

/// Thin spaces between groups of three digits before the decimal point; four digits stay together. A power of ten stays
/// as it is.
pub fn group(number: &str) -> String {
    if number.contains('e') {
        return number.replace('-', "−");
    }
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    // A minus as long as a plus, not a hyphen.
    let mut out = String::from(if sign.is_empty() { "" } else { "−" });
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && whole.len() > 4 && (whole.len() - index).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// A count with grouped thousands: `16 384`.
pub fn thousands(count: u64) -> String {
    group(&count.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of no numbers is −0, which nobody means.
    #[test]
    fn nothing_is_printed_as_minus_nothing() {
        let sum = std::iter::empty::<f64>().sum::<f64>();
        assert!([number(sum, 3), number(-0.0, 3)].iter().all(|shown| shown == "0"));
        assert_eq!(number(-6.0, 3), "−6");
    }

    /// A drawer prints [`MemoryUnit::fitting`] beside a table that prints [`MemoryUnit::show`]: from 10 GiB on both say
    /// the same, and no figure of memory has a larger unit.
    #[test]
    fn a_drawer_and_the_table_beside_it_print_one_figure() {
        for unit in [MemoryUnit::Gib, MemoryUnit::Gb] {
            for gigabytes in [12.3, 61.24, 99.96, 412.7, 1280.0, 18_432.5] {
                let bytes = match unit {
                    MemoryUnit::Gib => Bytes::from_gib(gigabytes),
                    MemoryUnit::Gb => Bytes(1e9 * gigabytes),
                };
                assert_eq!(unit.fitting(bytes), unit.show(bytes));
            }
        }
        assert_eq!(show_bytes(Bytes::from_gib(1280.0)), "1280.0 GiB");
        assert_eq!(show_bytes(Bytes::from_gib(8.3)), "8.30 GiB");
    }

    /// A bound is printed no smaller than it is: 0.03 % longer is not "at most 0.0 %".
    #[test]
    fn a_bound_is_rounded_up() {
        assert_eq!(
            [0.0, 0.0003, 0.001, 0.1234, 0.12].map(show_at_most),
            ["0.0 %", "0.1 %", "0.1 %", "12.4 %", "12.0 %"]
        );
        for share in (1_u32..3000).map(|step| f64::from(step) / 7919.0) {
            let printed: f64 = show_at_most(share).trim_end_matches(" %").parse().unwrap();
            assert!(printed / 100.0 >= share - 1e-9 && printed / 100.0 < share + 0.001, "{share}");
        }
    }

    /// What is there never prints as zero: 3 MiB are 0.003 GiB. What is not has no figure.
    #[test]
    fn a_small_part_prints_in_a_smaller_unit_and_none_as_none() {
        for unit in [MemoryUnit::Gib, MemoryUnit::Gb] {
            for power in 0_u32..40 {
                let text = unit.show_any(Bytes((1_u64 << power) as f64));
                let figure: f64 = text.split(' ').next().unwrap().parse().unwrap();
                assert!(figure > 0.0, "{text}");
            }
            assert_eq!(unit.show_any(Bytes::ZERO), "");
        }
        assert_eq!(MemoryUnit::Gib.show_any(Bytes(3.0 * 1024.0 * 1024.0)), "3.00 MiB");
    }

    #[test]
    fn shows_three_significant_digits_with_a_fitting_unit() {
        assert_eq!(show_seconds(Seconds(9.8412)), "9.84 s");
        assert_eq!(show_seconds(Seconds(0.1779)), "178 ms");
        assert_eq!(show_seconds(Seconds(0.000_003_2)), "3.20 µs");
        assert_eq!(show_seconds(Seconds(0.9999)), "1.00 s");
        assert_eq!(show_seconds(Seconds::ZERO), "0 s");
        assert_eq!(show_bytes(Bytes(25.0 * 1_048_576.0)), "25.0 MiB");
        assert_eq!(show_count(8_030_261_248.0), "8.03 B");
        assert_eq!(show_count(12.0), "12");
        assert_eq!([23.46, 23.54].map(|seconds| seconds_to(Seconds(seconds), 2)), ["23 s", "24 s"]);
        assert_eq!(
            [0.0, 0.178, 0.9949, 0.9951, 214_999.0].map(|seconds| seconds_to(Seconds(seconds), 2)),
            ["0 s", "180 ms", "990 ms", "1.0 s", "2.5 d"]
        );
        assert_eq!(
            [512.0, 69_499.0, 69_501.0, 995_001.0].map(|count| count_to(count, 2)),
            ["510", "69 k", "70 k", "1.0 M"]
        );
        assert_eq!(show_count(12_300.0), "12.3 k");
        assert_eq!(MemoryUnit::Gb.fitting(Bytes(25e6)), "25.0 MB");
        assert_eq!(show_bytes(Bytes(512.0)), "512 B");
        assert_eq!(show_storage(Bytes(5.63e12)), "5.63 TB");
        assert_eq!(show_bandwidth(4.7e12), "4700 GB/s");
        assert_eq!(show_flops(108e15), "108 PFLOP");
        assert_eq!(number(6.0, 3), "6");
        assert_eq!(number(6.25, 3), "6.25");
        assert_eq!(scientific(2_097_152.0), "2.10e6");
        assert_eq!(scientific(9.999e8), "1.00e9");
        assert_eq!(scientific(65_536.0), "65\u{202f}536");
        assert_eq!(significant(12_345.0, 3), "12\u{202f}300");
        assert_eq!(significant(0.012_345, 3), "0.0123");
        assert_eq!(MemoryUnit::Gib.show(Bytes::from_gib(61.24)), "61.2 GiB");
        assert_eq!(significant(1e300, 3), "1.00e300");
        assert_eq!([0.1, 8192.0, 1e300, 1e-320].map(shortest), ["0.1", "8192", "1e300", "1e-320"]);
        assert_eq!(significant(1.5e-12, 3), "1.50e−12");
        assert_eq!(significant(1e-320, 3), "0");
        assert_eq!(show_percent(1e300), "1.00e302 %");
        assert_eq!([0.999, 1.001].map(|near| show_percent(near * SMALLEST_PRINTED)), ["0.0 %", "0.1 %"]);
        assert_eq!(
            [0.0, 4e-4, 6e-4, 0.9992, 0.9996, 1.0].map(show_part),
            ["0.0 %", "< 0.1 %", "0.1 %", "99.9 %", "> 99.9 %", "100.0 %"]
        );
        assert_eq!(show_off(-0.384, 0), "−38 %");
        assert_eq!(show_off(-0.004, 0), "0 %");
        // 5800 s is below two hours; the ends of its range are seconds as well.
        let ends = [3700.0, 5800.0, 9000.0].map(|end| seconds_like(Seconds(end), Seconds(5800.0), 2));
        assert_eq!(ends, ["3700 s", "5800 s", "9000 s"]);
        assert_eq!(seconds_like(Seconds(0.83), Seconds(1.2), 2), "0.83 s");
        assert_eq!(show_off(0.0004, 1), "0.0 %");
        assert_eq!(MemoryUnit::Gb.show(Bytes(1e300)), "1.00e291 GB");
        assert_eq!(MemoryUnit::Gb.show(Bytes(61.24e9)), "61.2 GB");
    }
}
