//! Programs that fine-tune: two constants of their host, fitted to eager runs and held to the same protocol.

use super::effects::{NOTHING, held};
use super::{GROUPINGS, LeftOutRow, LeftOutTable, assembled, errors_of, mean, movers};
use crate::common::evidence;
use shardscope::core::accuracy::Evidence;
use shardscope::core::accuracy::left_out::is_tuned;
use shardscope::core::run::Constant::{Launch, Unit};
use shardscope::core::run::{Fitted, PRIORS};
use std::collections::BTreeMap;
use std::sync::OnceLock;

fn rows() -> Vec<Evidence> {
    ["finetune_measured.csv", "mlperf.csv"].into_iter().flat_map(evidence).filter(is_tuned).collect()
}

pub(super) fn table() -> &'static LeftOutTable {
    static TABLE: OnceLock<LeftOutTable> = OnceLock::new();
    TABLE.get_or_init(|| assembled(rows().iter(), |_| {}, &|_| {}))
}

/// Errors by grouping, computed once.
pub(super) fn errors() -> &'static [Vec<f64>; 4] {
    static ERRORS: OnceLock<[Vec<f64>; 4]> = OnceLock::new();
    ERRORS.get_or_init(|| errors_of(table()))
}

fn launches(row: &LeftOutRow) -> bool {
    row.eager
}

/// Constants in the code are those of the fit, to a fiftieth; each has runs that it moves, and without it a source or a
/// model that is left out is met worse.
#[test]
fn the_constants_of_eager_programs_are_those_of_the_fit_and_lower_the_error() {
    let table = table();
    let moves = table.fit(false, |_| true);
    let left_out = |table: &LeftOutTable| -> Vec<f64> {
        let errors = errors_of(table);
        let of = |errors: &Vec<f64>| {
            let rows = table.rows.iter().zip(errors).filter(|(row, _)| launches(row));
            mean(rows.map(|(_, error)| *error))
        };
        errors.iter().map(of).collect()
    };
    let with = left_out(table);
    for ((name, _), error) in GROUPINGS.iter().zip(&with) {
        println!("{name} left out: {:.1} %", error * 100.0);
    }
    for constant in [Launch, Unit] {
        let prior = &PRIORS[constant as usize];
        let at = table.constants.names.iter().position(|name| name == prior.name).unwrap();
        let fitted = prior.fitted.value * moves[at].exp();
        println!("{}: {fitted:.4e}, {} rows could move it", prior.name, movers(table, at));
        assert!((fitted / prior.fitted.value).ln().abs() < 0.02, "{}: {fitted}", prior.name);
        let still = |fitted: &mut Fitted| fitted.0[constant as usize] = NOTHING;
        let without = left_out(&held(assembled(rows().iter(), |_| {}, &still), &[(constant, NOTHING)]));
        println!("without it: {without:.3?}");
        assert!(without.iter().zip(&with).all(|(without, with)| without > with), "{}", prior.name);
    }
}

/// The aim for eager programs, with the model left out: 15 %.
#[test]
fn programs_that_fine_tune_are_met_where_a_model_is_left_out() {
    let mut by: BTreeMap<&str, Vec<[f64; 3]>> = BTreeMap::new();
    for (at, row) in table().rows.iter().enumerate() {
        by.entry(row.source).or_default().push([row.error, errors()[0][at], errors()[2][at]]);
    }
    for (source, rows) in &by {
        let of = |part: usize| mean(rows.iter().map(|row| row[part])) * 100.0;
        println!(
            "{source}: {} rows, fitted {:.1} %, source left out {:.1}, model {:.1}",
            rows.len(),
            of(0),
            of(1),
            of(2)
        );
    }
    let eager = (0..table().rows.len()).filter(|at| launches(&table().rows[*at]));
    assert!(mean(eager.map(|at| errors()[2][at])) <= 0.15);
}
