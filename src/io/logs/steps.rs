//! The step out of many: the first ones and the odd ones left out, the median and the spread of the rest.

use super::patterns::LoggedQuantity;
use shardscope_core::maths::ln;
use shardscope_core::sort::median;

/// How many of `count` steps are left out as the first ones.
pub(super) const fn first_left_out(count: usize) -> usize {
    match count {
        0..=1 => 0,
        2..=3 => 1,
        _ => 2,
    }
}

/// A step longer than this many medians belongs to a checkpoint, an evaluation or a fault.
pub(super) const ODD: f64 = 1.5;
/// Values that differ by less, relatively, are of one run: ranks of a step wait for each other.
const SAME: f64 = 0.1;
/// Values that tell whether two runs alternate, at least.
const ALTERNATE: usize = 8;
/// Steps that are kept; of more, every other one.
const MAX_KEPT: usize = 65_536;

/// Values by step number, that of the slowest rank: ranks that print the same step wait for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    values: Vec<(u64, f64)>,
    stride: u64,
    /// True if the values are rates, of which the smallest is that of the slowest step.
    is_rate: bool,
    /// Repeated values of a step: how many there are, and how many of them differ from the first.
    repeated: (usize, usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub median: f64,
    /// Half the distance between the 16th and the 84th of 100, over the median.
    pub spread: f64,
    /// Values that count.
    pub used: usize,
    /// First and odd ones, left out.
    pub left_out: usize,
}

impl Series {
    /// A series of `quantity`, empty.
    pub fn of(quantity: LoggedQuantity) -> Self {
        Self { is_rate: quantity.is_rate(), ..Self::default() }
    }

    /// Takes the value of step `number`; without a number, of the next.
    pub fn add(&mut self, number: Option<u64>, value: f64) {
        if !(value > 0.0 && value.is_finite()) {
            return;
        }
        let last = self.values.last().map_or(0, |(number, _)| *number);
        let number = number.unwrap_or(last + 1);
        let stride = self.stride.max(1);
        // Ranks print the same step one after the other, at most a few steps apart.
        let recent = self.values.iter_mut().rev().take(64);
        for (known, kept) in recent {
            if *known == number {
                self.repeated.0 += 1;
                self.repeated.1 += usize::from(differ(value, *kept));
                let slower = if self.is_rate { f64::min } else { f64::max };
                *kept = slower(*kept, value);
                return;
            }
        }
        if !number.is_multiple_of(stride) {
            return;
        }
        self.values.push((number, value));
        if self.values.len() >= MAX_KEPT {
            self.stride = stride * 2;
            let stride = self.stride;
            self.values.retain(|(number, _)| number.is_multiple_of(stride));
        }
    }

    /// The numbers of the steps and their values, by step.
    pub fn ordered(&self) -> (Vec<u64>, Vec<f64>) {
        let mut ordered = self.values.clone();
        ordered.sort_by_key(|(number, _)| *number);
        ordered.into_iter().unzip()
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// True if the values are those of two runs that write in turn: most steps have two values, or every other value is
    /// of another size.
    pub fn is_mixed(&self) -> bool {
        let (repeated, differing) = self.repeated;
        let twice = self.len() > 1 && repeated >= self.len() / 2 && differing > repeated / 2;
        twice || self.alternates()
    }

    /// True if the values have two sizes that follow each other, in the order that they came.
    fn alternates(&self) -> bool {
        let rest = self.values.get(2..).unwrap_or_default();
        if rest.len() < ALTERNATE {
            return false;
        }
        let mut sorted: Vec<f64> = rest.iter().map(|(_, value)| *value).collect();
        sorted.sort_by(f64::total_cmp);
        let (small, large) = sorted.split_at(sorted.len() / 2);
        let (Some(least), Some(most)) = (median(small), median(large)) else {
            return false;
        };
        let between = (least * most).sqrt();
        let switches = rest.windows(2).filter(|pair| (pair[0].1 < between) != (pair[1].1 < between)).count();
        // Within a size they scatter less than from one to the other.
        let near = |value: &&f64| !differ(**value, least) || !differ(**value, most);
        let near = sorted.iter().filter(near).count();
        differ(least, most) && switches * 5 >= (rest.len() - 1) * 4 && near * 5 >= sorted.len() * 4
    }

    /// The summary of durations: the first two are left out where there are more, then those over [`ODD`] medians.
    pub fn durations(&self) -> Option<Summary> {
        let mut ordered = self.values.clone();
        ordered.sort_by_key(|(number, _)| *number);
        let mut rest: Vec<f64> = ordered[first_left_out(ordered.len())..].iter().map(|(_, value)| *value).collect();
        rest.sort_by(f64::total_cmp);
        let middle = median(&rest)?;
        rest.retain(|value| *value <= ODD * middle);
        let median = median(&rest)?;
        let at = |share: f64| {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            // a share of a length
            let index = (share * (rest.len() - 1) as f64).round() as usize;
            rest[index]
        };
        Some(Summary {
            median,
            spread: (at(0.84) - at(0.16)) / 2.0 / median,
            used: rest.len(),
            left_out: self.values.len() - rest.len(),
        })
    }

    /// The summary of rates: that of their durations, back to a rate.
    pub fn rates(&self) -> Option<Summary> {
        let turned = Self {
            values: self.values.iter().map(|(number, rate)| (*number, 1.0 / rate)).collect(),
            ..Self::default()
        };
        let summary = turned.durations()?;
        Some(Summary { median: 1.0 / summary.median, ..summary })
    }

    pub fn largest(&self) -> Option<f64> {
        self.values.iter().map(|(_, value)| *value).max_by(f64::total_cmp)
    }

    /// Growth a step of a sum over the steps: between the first and the last that were printed; of one alone, from 0.
    pub fn growth(&self) -> Option<f64> {
        let (first, last) = (
            self.values.iter().min_by_key(|(number, _)| *number)?,
            self.values.iter().max_by_key(|(number, _)| *number)?,
        );
        let first = if first.0 == last.0 { &(0, 0.0) } else { first };
        let steps = (last.0 - first.0) as f64;
        Some((last.1 - first.1) / steps).filter(|growth| *growth > 0.0 && growth.is_finite())
    }

    pub fn last(&self) -> Option<f64> {
        self.values.last().map(|(_, value)| *value)
    }
}

/// True if two values are not of the same step.
fn differ(a: f64, b: f64) -> bool {
    ln(a / b).abs() > SAME
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_steps_and_a_checkpoint_are_left_out() {
        let mut series = Series::default();
        for (number, value) in [(1, 60.0), (2, 14.0), (3, 10.0), (4, 10.2), (5, 31.0), (6, 9.8)] {
            series.add(Some(number), value);
        }
        let summary = series.durations().unwrap();
        assert_eq!((summary.median, summary.used, summary.left_out), (10.0, 3, 3));
        assert!(summary.spread < 0.03);
    }

    /// Steps of 5 and 9 s in turn are of two runs; ranks that print one step, a checkpoint and a slow phase are of one.
    #[test]
    fn two_runs_in_turn_are_told_from_one() {
        let series = |values: &mut dyn Iterator<Item = (Option<u64>, f64)>| {
            let mut series = Series::default();
            values.for_each(|(number, value)| series.add(number, value));
            series.is_mixed()
        };
        assert!(series(&mut (0..20).map(|at| (None, if at % 2 == 0 { 5.0 } else { 9.0 }))));
        assert!(series(&mut (0..40).map(|at| (Some(at / 2), if at % 2 == 0 { 5.0 } else { 9.0 }))));
        assert!(!series(&mut (0..80).map(|at| (Some(at / 8), 5.0 + 0.02 * (at % 8) as f64))));
        assert!(!series(&mut (0..40).map(|at| (None, if at % 10 == 0 { 9.0 } else { 5.0 }))));
        assert!(!series(&mut (0..40).map(|at| (None, if at < 20 { 5.0 } else { 9.0 }))));
    }

    #[test]
    fn the_slowest_rank_of_a_step_counts_and_a_long_log_stays_small() {
        let mut series = Series::default();
        for number in 0..1_000_000 {
            series.add(Some(number), 10.0);
            series.add(Some(number), 11.0);
        }
        assert!(series.values.len() < MAX_KEPT);
        assert_eq!(series.durations().unwrap().median, 11.0);
    }
}
