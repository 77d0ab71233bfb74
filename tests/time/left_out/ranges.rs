//! Ranges of the page: where four of five runs of a group lie that no range has seen.
//!
//! Each group's errors are those with it left out of the fit. A range is the middle of the groups and quantiles of their
//! distances from it, each distance taken from what the *other* groups say; it is scored on groups that did not cut it.

use super::{GROUPINGS, Key, errors, fit, grouped, mean, moved, table};
use shardscope::core::time::{Apart, FOUR_OF_FIVE, RANGES, Range};
use std::collections::BTreeSet;

/// Share of the distances outside at either end: four of five lie inside, and a little more since groups are few.
const OUTSIDE: f64 = 0.09;

/// Middle of groups of logarithms measured over predicted, and the deviation of a run of a further group:
/// `√(b (1 + 1/k) + w)` over k groups, b between them, w within; single runs count up to 0.4.
fn spread<'a>(groups: impl Iterator<Item = &'a Vec<f64>>) -> (f64, f64) {
    let average = |list: &[f64]| list.iter().sum::<f64>() / list.len().max(1) as f64;
    let cut: Vec<Vec<f64>> =
        groups.map(|group| group.iter().map(|error| (-error).clamp(-0.4, 0.4)).collect()).collect();
    let means: Vec<f64> = cut.iter().map(|group| average(group)).collect();
    let (k, middle) = (cut.len() as f64, average(&means));
    let between = means.iter().map(|mean| (mean - middle).powi(2)).sum::<f64>() / (k - 1.0).max(1.0);
    let within: Vec<f64> = cut
        .iter()
        .zip(&means)
        .map(|(group, mean)| average(&group.iter().map(|error| (error - mean).powi(2)).collect::<Vec<_>>()))
        .collect();
    (middle, (between * (1.0 + 1.0 / k) + average(&within)).sqrt())
}

/// The value that `share` of `sorted` lie below.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an index
    let at = (share * (sorted.len() - 1) as f64).round() as usize;
    sorted[at]
}

/// Where four of five runs of a further group lie, measured over predicted.
fn interval(groups: &[Vec<f64>]) -> (f64, f64) {
    let mut distances: Vec<f64> = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        let others = groups.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, group)| group);
        let (middle, deviation) = spread(others);
        distances.extend(group.iter().map(|error| (-error - middle) / deviation));
    }
    distances.sort_by(f64::total_cmp);
    let (middle, deviation) = spread(groups.iter());
    let end = |share: f64| (middle + deviation * quantile(&distances, share)).exp();
    (end(OUTSIDE), end(1.0 - OUTSIDE))
}

/// Deviation of a run within its group: four of five of all runs of groups of two and more lie within 1.28 of it.
fn within(groups: &[Vec<f64>]) -> f64 {
    let several = groups.iter().filter(|group| group.len() > 1);
    let mut far: Vec<f64> = several
        .flat_map(|group| {
            let n = group.len() as f64;
            let mean = group.iter().sum::<f64>() / n;
            group.iter().map(move |error| (error - mean).abs() * (n / (n - 1.0)).sqrt())
        })
        .collect();
    far.sort_by(f64::total_cmp);
    quantile(&far, 0.8) / FOUR_OF_FIVE
}

fn inside(errors: &[f64], (low, high): (f64, f64)) -> usize {
    errors.iter().filter(|error| (low..=high).contains(&(-**error).exp())).count()
}

/// Share of the runs that lie in the range that the other groups cut.
fn coverage(groups: &[Vec<f64>]) -> f64 {
    let (mut held, mut runs) = (0, 0);
    for at in 0..groups.len() {
        let mut others = groups.to_vec();
        let group = others.remove(at);
        held += inside(&group, interval(&others));
        runs += group.len();
    }
    held as f64 / runs as f64
}

/// The rows of a class as the page has it: those whose range it is, or for what stands for the rest all of the kind.
fn rows_of(class: &Range) -> Vec<usize> {
    let rows = &table().rows;
    (0..rows.len())
        .filter(|at| {
            let row = &rows[*at];
            row.class == class.of || class.software.is_empty() && row.experts == class.experts
        })
        .collect()
}

fn grouping(apart: Apart) -> (&'static str, Key, &'static [f64]) {
    let at = match apart {
        Apart::Source => 0,
        Apart::Model => 2,
        Apart::ModelAndGpu => 3,
    };
    (GROUPINGS[at].0, GROUPINGS[at].1, &errors()[at])
}

/// The ranges of the page are those of the rule, and hold 76 to 88 of 100 runs of groups that did not cut them.
#[test]
fn ranges_come_from_errors_left_out_and_hold_four_of_five() {
    let full = [false, true].map(|experts| fit(table(), experts, |_| true));
    let mut wrong = Vec::new();
    for class in RANGES {
        let rows = rows_of(class);
        let (name, key, errors) = grouping(class.apart);
        let groups = grouped(&rows, key, errors);
        let (low, high) = interval(&groups);
        let (held, within) = (coverage(&groups), within(&groups));
        let fitted = mean(rows.iter().map(|at| moved(&table().rows[*at], &full[usize::from(class.experts)])));
        let without = mean(rows.iter().map(|at| errors[*at]));
        println!(
            "{}: {} runs, {} groups of {name}; fitted {:.1} %, left out {:.1} %; {low:.3} to {high:.3}, {:.0} % of runs that did not cut it inside; {within:.3} within a group",
            class.of,
            rows.len(),
            groups.len(),
            fitted * 100.0,
            without * 100.0,
            held * 100.0,
        );
        let printed = [fitted, without, low, high, held, within];
        let code = [class.fitted, class.left_out, class.low, class.high, class.held, class.within];
        let far = printed.iter().zip(code).any(|(value, code)| (value - code).abs() > 0.005);
        if far || class.runs as usize != rows.len() {
            let [fitted, without, low, high, held, within] = printed.map(|value| (value * 1000.0).round() / 1000.0);
            wrong.push(format!(
                "({fitted}, {without}), ({low}, {high}), ({held}, {within}), {}, \"{}\"",
                rows.len(),
                class.of
            ));
        }
        if !(0.76..=0.88).contains(&held) || groups.len() < 5 {
            wrong.push(format!("{}: {held:.2} in the range of {} groups", class.of, groups.len()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let unnamed: BTreeSet<&str> = table().rows.iter().filter(|row| !row.known).map(|row| row.source).collect();
    println!("of no class: {unnamed:?}");
}
