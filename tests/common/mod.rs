//! Helpers of several tests: tables of published runs, and Runs given as JSON.
#![allow(dead_code)] // each test binary uses its own part

pub mod random;
pub mod tokens;

use shardscope::core::accuracy::{Evidence, read};
use shardscope::core::report::{Report, evaluate, report};
use shardscope::core::run::{Run, Scenario, Value};
use shardscope::core::table::Table;
use std::collections::BTreeMap;
use std::fs;

/// The rows of a table in `public/data` that become Runs.
pub fn evidence(name: &str) -> Vec<Evidence> {
    let path = format!("{}/public/data/{name}", env!("CARGO_MANIFEST_DIR"));
    read(name, &fs::read_to_string(path).unwrap()).0
}

/// A line of a table, by column.
pub type Row = BTreeMap<String, String>;

/// The rows of a table, by column name: of `public/data`, which the page shows too, or of `tests/data`.
pub fn table(name: &str) -> Vec<Row> {
    let root = env!("CARGO_MANIFEST_DIR");
    let text = fs::read_to_string(format!("{root}/public/data/{name}"))
        .or_else(|_| fs::read_to_string(format!("{root}/tests/data/{name}")))
        .unwrap();
    let owned = |(column, cell): (&str, &str)| (column.to_owned(), cell.to_owned());
    Table::read(&text).lines().map(|line| line.cells().map(owned).collect()).collect()
}

/// A Run given as JSON, understood.
pub fn scenario(json: &str) -> Scenario {
    try_scenario(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

/// A Run given as JSON, understood, or what is wrong with it.
pub fn try_scenario(json: &str) -> Result<Scenario, String> {
    let value: Value = serde_json::from_str(json).map_err(|error| format!("{error}: {json}"))?;
    let run = Run::from_value(&value).map_err(|issues| format!("{issues:?}"))?;
    Scenario::new(&run).map_err(|issues| format!("{issues:?}"))
}

/// The Run with settings by key and text.
pub fn with(run: &Run, settings: &[(&str, &str)]) -> Run {
    run.with_texts(settings).unwrap_or_else(|| panic!("{settings:?}"))
}

/// The Run that has these settings alone.
pub fn run_with(settings: &[(&str, &str)]) -> Run {
    with(&Run::default(), settings)
}

/// The report of a Run that works.
pub fn figures(run: &Run) -> Report {
    report(run).unwrap_or_else(|refusal| panic!("{:?}", refusal.errors))
}

/// Seconds of the step of `scenario`.
pub fn step_s(scenario: &Scenario) -> f64 {
    evaluate(&scenario.run).unwrap().report.step.time_s.0
}
