//! The protocol of honest error: every group of published runs is left out, all constants that it could have moved are
//! fitted again without it, and only then is it predicted (`cargo test --test time left_out -- --nocapture`).
//!
//! The protocol itself is `src/core/accuracy/left_out.rs`. What the page says of runs that nobody has seen is in
//! `src/core/accuracy/origin.rs`.

mod effects;
mod tuned;

use crate::common::evidence;
use shardscope::core::accuracy::Evidence;
use shardscope::core::accuracy::left_out::{GROUPINGS, Key, LeftOutRow, LeftOutTable, assembled};
use shardscope::core::run::{CONSTANTS, Fitted, PRIORS};
use std::sync::OnceLock;

fn table() -> &'static LeftOutTable {
    static TABLE: OnceLock<LeftOutTable> = OnceLock::new();
    TABLE.get_or_init(computed)
}

fn computed() -> LeftOutTable {
    let files = ["fujii_measured.csv", "throughput.csv", "throughput_2.csv", "throughput_3.csv"];
    let all: Vec<Evidence> = files.into_iter().flat_map(evidence).collect();
    assembled(all.iter(), |_| {}, &|_| {})
}

/// Errors by grouping, computed once.
fn errors() -> &'static [Vec<f64>; 4] {
    static ERRORS: OnceLock<[Vec<f64>; 4]> = OnceLock::new();
    ERRORS.get_or_init(|| errors_of(table()))
}

fn errors_of(table: &LeftOutTable) -> [Vec<f64>; 4] {
    let errors = |moves: Vec<f64>| table.rows.iter().zip(moves).map(|(row, moves)| row.error + moves).collect();
    GROUPINGS.map(|(_, key)| errors(table.left_out(&[key])))
}

fn mean(errors: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = errors.fold((0.0, 0.0), |(sum, count), error| (sum + (error.exp() - 1.0).abs(), count + 1.0));
    sum / count
}

/// Rows of which a constant could move the step: by a hundredth of its own move or more.
fn movers(table: &LeftOutTable, at: usize) -> usize {
    let moves = |row: &&LeftOutRow| row.slopes.iter().any(|(of, slope)| *of == at && slope.abs() > 0.01);
    table.rows.iter().filter(moves).count()
}

/// Constants in the code are those of the fit, to a fiftieth.
#[test]
fn the_constants_of_routed_layers_are_those_of_the_fit() {
    let table = table();
    let moves = table.fit(true, |_| true);
    let mut wrong = Vec::new();
    for prior in PRIORS.iter().filter(|prior| !prior.constant.is_tuned()) {
        let at = table.constants.names.iter().position(|name| name == prior.name).unwrap();
        let fitted = prior.fitted.value * moves[at].exp();
        let sigmas = (fitted / prior.mean).ln() / prior.width;
        println!(
            "{}: {fitted:.4e} ({sigmas:+.2} widths of its prior; {}, {}), {} rows could move it",
            prior.name,
            prior.fitted.source.short,
            prior.fitted.place,
            movers(table, at)
        );
        if (fitted / prior.fitted.value).ln().abs() > 0.02 {
            wrong.push(format!("{}: {fitted:.3e} fits, {} stands in the code", prior.name, prior.fitted.value));
        }
    }
    // Those of dense runs stand in the code as they are; the protocol moves them by what follows.
    let moves = table.fit(false, |_| true);
    for (at, name) in table.constants.names.iter().enumerate() {
        if PRIORS.iter().all(|prior| prior.name != name) {
            let off = moves[at].exp() - 1.0;
            let width = table.constants.width[at] * 100.0;
            println!("{name}: {:+.1} %, prior ± {width:.0} %, {} rows could move it", off * 100.0, movers(table, at));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(Fitted::default().0.len(), CONSTANTS);
}

/// Aims with a model left out; containers and GPUs of models that are known are easier.
#[test]
fn experts_and_hybrids_are_met_where_a_model_is_left_out() {
    let (table, errors) = (table(), errors());
    let bridge = |hybrid: bool| {
        let rows = table.rows.iter().enumerate();
        rows.filter(move |(_, row)| row.experts && row.hybrid == hybrid && row.source.starts_with("Megatron-Bridge"))
            .map(|(at, _)| at)
            .collect::<Vec<_>>()
    };
    for (name, rows, aim) in [("experts", bridge(false), 0.12), ("hybrids", bridge(true), 0.12)] {
        let moves = table.fit(true, |_| true);
        let fitted = mean(rows.iter().map(|at| table.rows[*at].moved(&moves)));
        print!("{name}: {} rows, fitted {:.1} %", rows.len(), fitted * 100.0);
        for ((grouping, _), errors) in GROUPINGS.iter().zip(errors) {
            print!(", {grouping} left out {:.1}", mean(rows.iter().map(|at| errors[*at])) * 100.0);
        }
        println!();
        let without = mean(rows.iter().map(|at| errors[2][*at]));
        assert!(without <= aim, "{name}: {without}");
    }
}
