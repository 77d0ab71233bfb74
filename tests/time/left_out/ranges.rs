//! Ranges of the page: where four of five runs of a group lie that no range has seen.
//!
//! Each group's errors are those with it left out of the fit. A range is the middle of the groups and quantiles of their
//! distances from it, each distance taken from what the *other* groups say; it is scored on groups that did not cut it.

use super::{GROUPINGS, Key, errors, grouped, mean, table, tuned};
use shardscope::core::accuracy::left_out::Table;
use shardscope::core::accuracy::{interval, quantile};
use shardscope::core::time::{Apart, FOUR_OF_FIVE, RANGES, Range};
use std::collections::BTreeSet;

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
fn rows_of(table: &Table, class: &Range) -> Vec<usize> {
    let rows = &table.rows;
    (0..rows.len())
        .filter(|at| {
            let row = &rows[*at];
            row.class == class.of || class.software.is_empty() && !class.tuned && row.experts == class.experts
        })
        .collect()
}

fn grouping(class: &Range) -> (&'static str, Key, &'static [f64]) {
    let at = match class.apart {
        Apart::Source => 0,
        Apart::Model => 2,
        Apart::ModelAndGpu => 3,
    };
    let errors = if class.tuned { tuned::errors() } else { errors() };
    (GROUPINGS[at].0, GROUPINGS[at].1, &errors[at])
}

/// The ranges of the page are those of the rule, and hold 76 to 88 of 100 runs of groups that did not cut them.
#[test]
fn ranges_come_from_errors_left_out_and_hold_four_of_five() {
    let full = [false, true].map(|experts| table().fit(experts, |_| true));
    let full_tuned = tuned::table().fit(false, |_| true);
    let mut wrong = Vec::new();
    for class in RANGES {
        let (name, key, errors) = grouping(class);
        let (table, full) =
            if class.tuned { (tuned::table(), &full_tuned) } else { (table(), &full[usize::from(class.experts)]) };
        let rows = rows_of(table, class);
        let fitted = mean(rows.iter().map(|at| table.rows[*at].moved(full)));
        let groups = grouped(table, &rows, key, errors);
        let (low, high) = interval(&groups);
        let (held, within) = (coverage(&groups), within(&groups));
        let without = mean(groups.iter().flatten().copied());
        let runs: usize = groups.iter().map(Vec::len).sum();
        println!(
            "{}: {} runs, {} groups of {name}; fitted {:.1} %, left out {:.1} %; {low:.3} to {high:.3}, {:.0} % of runs that did not cut it inside; {within:.3} within a group",
            class.of,
            runs,
            groups.len(),
            fitted * 100.0,
            without * 100.0,
            held * 100.0,
        );
        let printed = [fitted, without, low, high, held, within];
        let code = [class.fitted, class.left_out, class.low, class.high, class.held, class.within];
        let far = printed.iter().zip(code).any(|(value, code)| (value - code).abs() > 0.005);
        if far || class.runs as usize != runs {
            let [fitted, without, low, high, held, within] = printed.map(|value| (value * 1000.0).round() / 1000.0);
            wrong.push(format!("[{fitted}, {without}, {low}, {high}, {held}, {within}], {runs}, \"{}\"", class.of));
        }
        if !(0.76..=0.88).contains(&held) || groups.len() < 5 {
            wrong.push(format!("{}: {held:.2} in the range of {} groups", class.of, groups.len()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let unnamed: BTreeSet<&str> = table().rows.iter().filter(|row| !row.has_class).map(|row| row.source).collect();
    println!("of no class: {unnamed:?}");
}
