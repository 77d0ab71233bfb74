//! Published step times of one kind: long sequences, NVIDIA's own benchmarks
//! (`cargo test --test time classes -- --nocapture`). Classes and ranges are in `left_out/`.

use crate::common::{evidence, step_s};
use shardscope::core::accuracy::Measurement;
use shardscope::core::report::evaluate;
use shardscope::core::run::presets::GPUS;
use shardscope::core::run::{Based, Run, Scenario};
use shardscope::core::time::{PartKind, Step};
use std::sync::OnceLock;

/// A row of a source that published step times.
struct Row {
    source: &'static str,
    scenario: Scenario,
    /// Predicted over measured.
    ratio: f64,
}

/// All rows, computed once for all tests.
fn rows() -> &'static [Row] {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    ROWS.get_or_init(computed)
}

fn computed() -> Vec<Row> {
    let files = ["throughput.csv", "throughput_2.csv"];
    let dense = |row: &Row| row.scenario.model.moe.is_none();
    let rows = files.into_iter().flat_map(evidence).filter_map(|row| {
        let Measurement::Step(measured) = row.measured else { return None };
        let scenario = Scenario::new(&row.run).unwrap();
        Some(Row { source: row.source().name, ratio: step_s(&scenario) / measured, scenario })
    });
    rows.filter(dense).collect()
}

/// Count, mean error, bias and worst.
fn errors(ratios: &[f64]) -> (usize, f64, f64, f64) {
    let off = ratios.iter().map(|ratio| ratio - 1.0);
    let n = ratios.len() as f64;
    let mean = off.clone().map(f64::abs).sum::<f64>() / n;
    let worst = off.clone().map(f64::abs).fold(0.0, f64::max);
    (ratios.len(), mean, off.sum::<f64>() / n, worst)
}

/// Long sequences are where the attention kernel decides: FlashAttention-1 and its Triton form, by their papers' rates.
#[test]
fn runs_of_llm_foundry_at_16k_tokens_and_longer_are_met_to_12_percent() {
    for source in ["MPT on A100", "MPT on H100"] {
        let long = rows().iter().filter(|row| row.source.contains(source) && row.scenario.run.seq_len >= 16_384);
        let ratios: Vec<f64> = long.map(|row| row.ratio).collect();
        let (count, mean, bias, worst) = errors(&ratios);
        println!("{source}, 16k and longer: {count} runs, mean {mean:.3}, bias {bias:+.3}, worst {worst:.3}");
        assert!(count > 0 && mean < 0.12, "{source}: {mean}");
    }
}

/// NVIDIA's own runs on H100, which no constant was fitted to: the software that their recipes name explains them.
#[test]
fn nvidias_runs_on_h100_are_met_to_10_percent() {
    let rows = rows();
    let of = rows.iter().filter(|row| row.source.starts_with("NVIDIA dgxc"));
    let ratios: Vec<f64> = of.map(|row| row.ratio).collect();
    let (count, mean, ..) = errors(&ratios);
    println!("NVIDIA dgxc: {count} runs, mean {mean:.3}");
    assert!(count == 127 && mean < 0.06, "{count} runs: {mean}");
}

/// No published step is shorter than its FLOPs take at the data sheet's peak: that bound of a range leaves none of them
/// out. A range of every GPU keeps to it.
#[test]
fn no_range_begins_before_the_peak_allows() {
    let ideal = |step: &Step| step.parts.iter().find(|part| part.kind == PartKind::Ideal).unwrap().seconds.0;
    for row in ["throughput.csv", "throughput_2.csv"].into_iter().flat_map(evidence) {
        let Measurement::Step(measured) = row.measured else { continue };
        let step = evaluate(&row.run).unwrap().report.step;
        let least = ideal(&step);
        assert!(measured >= least, "{}: {measured} s, at least {least} s", row.label);
    }
    let mut bounded = 0;
    for gpu in GPUS {
        for gpus in [1, 8] {
            let run = Run { gpu: Based::preset(gpu.choice.id), gpus, global_batch: 8, tp: 1, pp: 1, ..Run::default() };
            let Ok(evaluation) = evaluate(&run) else { continue };
            let step = &evaluation.report.step;
            assert!(step.low_s.0 >= ideal(step), "{}: {} s", gpu.choice.id, step.low_s.0);
            bounded += u32::from(step.low_s.0 == ideal(step));
        }
    }
    assert!(bounded > 0, "the bound is met by none");
}
