//! Published runs: step times and tokens a second as measured, against the model.
//!
//! Every test prints its worst misses (`cargo test --test time throughput -- --nocapture`). Which row becomes which Run
//! stands in `src/core/accuracy/sources.rs`, which the page reads too.

use crate::common::{evidence, step_s};
use shardscope::core::accuracy::{MeasuredQuantity, Measurement, SourceUse};
use shardscope::core::run::Scenario;
use shardscope::core::time::ComputePeak;
use std::collections::BTreeMap;

/// A run with its measured step time.
struct Case {
    name: String,
    source: &'static str,
    group: String,
    scenario: Scenario,
    measured: f64,
}

impl Case {
    fn ratio(&self) -> f64 {
        step_s(&self.scenario) / self.measured
    }
}

/// The rows of `file` that ran, of sources that the constants were fitted to.
fn cases(file: &str) -> Vec<Case> {
    evidence(file)
        .into_iter()
        .filter(|row| row.source().kind == SourceUse::Fitted)
        .filter_map(|row| {
            let Measurement::Step(measured) = row.measured else {
                return None;
            };
            let source = row.source();
            assert!(source.quantity != MeasuredQuantity::TokensPerGpu);
            Some(Case {
                name: format!("{}: {}", source.name, row.label),
                source: source.name,
                group: format!("{}/{}", source.name, row.run.gpus),
                scenario: Scenario::new(&row.run).unwrap(),
                measured,
            })
        })
        .collect()
}

/// Tables 3 and 4 of Fujii 2024.
fn fujii() -> Vec<Case> {
    cases("fujii_measured.csv")
}

/// Rows of the throughput table with held=yes.
fn published() -> Vec<Case> {
    cases("throughput.csv")
}

/// Mean of |ratio - 1|.
fn mean_error(ratios: impl IntoIterator<Item = f64>) -> f64 {
    let errors: Vec<f64> = ratios.into_iter().map(|ratio| (ratio - 1.0).abs()).collect();
    errors.iter().sum::<f64>() / errors.len() as f64
}

/// Prints error and bias by source and the five worst misses.
fn show(cases: &[Case], ratios: &[f64]) {
    let mut by_source: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (case, ratio) in cases.iter().zip(ratios) {
        by_source.entry(case.source).or_default().push(*ratio);
    }
    for (source, ratios) in by_source {
        let bias = ratios.iter().sum::<f64>() / ratios.len() as f64 - 1.0;
        let error = mean_error(ratios.iter().copied());
        println!("{source}: {} runs, error {:.1} %, bias {:+.1} %", ratios.len(), error * 100.0, bias * 100.0);
    }
    let mut order: Vec<usize> = (0..cases.len()).collect();
    order.sort_by(|a, b| (ratios[*b] - 1.0).abs().total_cmp(&(ratios[*a] - 1.0).abs()));
    for index in order.into_iter().take(5) {
        println!("  {:.3}  {}", ratios[index], cases[index].name);
    }
}

#[test]
fn fujii_tables_3_and_4_are_met_to_6_percent_in_the_mean() {
    let cases = fujii();
    assert_eq!(cases.len(), 145);
    let ratios: Vec<f64> = cases.iter().map(Case::ratio).collect();
    show(&cases, &ratios);
    let error = mean_error(ratios.iter().copied());
    println!("tables 3 and 4: {:.2} %", error * 100.0);
    assert!(error <= 0.06, "{error}");
}

/// The model's constants are fitted to both tables; here one factor from one table has to serve the other.
#[test]
fn one_factor_from_one_table_serves_the_other_to_9_percent() {
    let cases = fujii();
    for (from, to) in [("table 3", "table 4"), ("table 4", "table 3")] {
        let of = |source: &str| -> Vec<f64> {
            cases.iter().filter(|case| case.source.contains(source)).map(Case::ratio).collect()
        };
        let mut known = of(from);
        known.sort_by(f64::total_cmp);
        let factor = known[known.len() / 2];
        let error = mean_error(of(to).into_iter().map(|ratio| ratio / factor));
        println!("{from} -> {to}: {:.2} %", error * 100.0);
        assert!(error <= 0.09, "{error}");
    }
}

#[test]
fn the_layout_predicted_fastest_is_nearly_the_fastest_measured() {
    let cases = fujii();
    let mut groups: BTreeMap<&str, Vec<(&Case, f64)>> = BTreeMap::new();
    for case in &cases {
        let predicted = case.ratio() * case.measured;
        groups.entry(&case.group).or_default().push((case, predicted));
    }
    let mut losses = Vec::new();
    for (group, cases) in &groups {
        let best = cases.iter().map(|(case, _)| case.measured).fold(f64::INFINITY, f64::min);
        let chosen = cases.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0;
        losses.push(chosen.measured / best - 1.0);
        println!("{group}: {} loses {:.2} %", chosen.name, losses[losses.len() - 1] * 100.0);
    }
    let mean = losses.iter().sum::<f64>() / losses.len() as f64;
    assert!(mean <= 0.015, "{mean}");
    assert!(losses.iter().all(|loss| *loss <= 0.05), "{losses:?}");
}

#[test]
fn held_runs_are_met_to_15_percent_in_tokens_a_second() {
    let cases = published();
    assert_eq!(cases.len(), 234);
    let ratios: Vec<f64> = cases.iter().map(Case::ratio).collect();
    show(&cases, &ratios);
    let error = mean_error(ratios.iter().map(|ratio| 1.0 / ratio));
    println!("held runs, tokens/s: {:.2} %", error * 100.0);
    assert!(error <= 0.15, "{error}");
}

/// No run can beat the data sheet.
#[test]
fn model_flops_utilisation_stays_below_one() {
    for case in fujii().into_iter().chain(published()) {
        let scenario = &case.scenario;
        let peak = ComputePeak::of(scenario).rate().0 * scenario.layout.gpus as f64;
        let mfu = scenario.model_flops() / step_s(scenario) / peak;
        assert!(mfu > 0.0 && mfu < 1.0, "{}: {mfu}", case.name);
    }
}
