//! Round numbers along an axis.

use shardscope_core::units::{Seconds, number, seconds_to};

/// At most `most` round values (1, 2 or 5 times a power of ten apart) within `[start, end]`.
pub fn ticks(start: f64, end: f64, most: usize) -> Vec<f64> {
    let span = end - start;
    if span.is_nan() || span <= 0.0 || most == 0 {
        return Vec::new();
    }
    let raw = span / most as f64;
    let decade = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|multiple| multiple * decade)
        .find(|step| *step >= raw * (1.0 - 1e-9))
        .unwrap_or(10.0 * decade);
    let first = (start / step - 1e-9).ceil();
    (0..=most).map(|index| (first + index as f64) * step).take_while(|tick| *tick <= end + step * 1e-9).collect()
}

/// A time of [`ticks`] as an axis shows it: `0`, `2.5 s`, without zeros that say nothing.
pub fn tick_label(time: f64) -> String {
    label_to(time, 3)
}

/// The times within `[start, end]` that an axis shows, at most `most`, with their labels: no two read alike, however
/// far from 0 and however near to each other they are.
pub fn tick_times(start: f64, end: f64, most: usize) -> Vec<(f64, String)> {
    let found = ticks(start, end, most);
    let labels = |digits: usize| -> Vec<String> { found.iter().map(|tick| label_to(*tick, digits)).collect() };
    let differ = |labels: &[String]| labels.windows(2).all(|pair| pair[0] != pair[1]);
    let labels = (3..DIGITS).map(labels).find(|labels| differ(labels)).unwrap_or_else(|| labels(DIGITS));
    found.into_iter().zip(labels).collect()
}

/// Digits of a time that a number of this kind has.
const DIGITS: usize = 15;

fn label_to(time: f64, digits: usize) -> String {
    let label = seconds_to(Seconds(time), digits);
    match label.split_once(' ') {
        _ if time == 0.0 => "0".to_owned(),
        Some((figure, unit)) if figure.contains('.') => {
            let figure = figure.trim_end_matches('0').trim_end_matches('.');
            format!("{figure} {unit}")
        }
        _ => label,
    }
}

/// A share of [`ticks`] as an axis shows it: `0.05 %`, `20 %`; neighbours never read alike.
pub fn tick_percent(share: f64) -> String {
    // A tick is a round number, and so is its hundredfold, but for the last bits.
    let percent = share * 100.0;
    let rounded = (percent * 1e6).round() / 1e6;
    let label = number(if rounded == 0.0 { percent } else { rounded }, 3);
    let label = if label.contains('.') { label.trim_end_matches('0').trim_end_matches('.') } else { &label };
    format!("{label} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_along_an_axis_read_differently() {
        for end in [0.0013, 0.0021, 0.004, 0.03, 0.25, 1.0] {
            let mut labels: Vec<String> = ticks(0.0, end, 5).into_iter().map(tick_percent).collect();
            let count = labels.len();
            labels.dedup();
            assert!(count > 2 && labels.len() == count, "{labels:?}");
        }
        assert_eq!([0.0, 0.0005, 0.001, 0.3].map(tick_percent), ["0 %", "0.05 %", "0.1 %", "30 %"]);
    }

    #[test]
    fn labels_have_no_zeros_that_say_nothing() {
        let labels = [0.0, 2.0, 2.5, 10.0, 0.02, 0.000_5].map(tick_label);
        assert_eq!(labels, ["0", "2 s", "2.5 s", "10 s", "20 ms", "500 µs"]);
    }

    /// A timeline at 27 s that shows 20 ms, and one at an hour that shows 50 µs.
    #[test]
    fn times_of_a_window_far_from_zero_read_differently() {
        for (start, end) in [(27.1, 27.12), (3600.0, 3_600.000_05), (0.0, 9.8), (1e-6, 3e-6), (0.995, 1.004)] {
            let times = tick_times(start, end, 6);
            assert!(times.len() > 2 && times.windows(2).all(|pair| pair[0].1 != pair[1].1), "{times:?}");
        }
        assert_eq!(tick_times(27.1, 27.12, 4)[1].1, "27.105 s");
        assert_eq!(tick_times(0.0, 10.0, 2)[1].1, tick_label(5.0));
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(ticks(0.0, 9.8, 5), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(ticks(0.0, 100.0, 4), [0.0, 50.0, 100.0]);
        assert_eq!(ticks(1.0, 1.0, 4), [] as [f64; 0]);
        for (start, end) in [(0.3, 17.2), (1e-6, 3e-6), (99.0, 12_345.0)] {
            let found = ticks(start, end, 6);
            assert!(found.len() >= 2 && found.len() <= 7, "{found:?}");
            assert!(found.iter().all(|tick| *tick >= start - 1e-12 && *tick <= end * 1.000_001));
        }
    }
}
