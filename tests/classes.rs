//! The published step times by class: training software, precision, dense or routed experts
//! (`cargo test --test classes -- --nocapture`).

#![allow(clippy::unwrap_used)]

mod common;

use common::{estimate, evidence};
use shardscope::core::accuracy::Measured;
use shardscope::core::run::{OneOf, Run, Scenario};
use std::collections::BTreeMap;

/// A row: its Run, whether constants were fitted to its source, predicted over measured.
struct Row {
    run: Run,
    source: &'static str,
    ratio: f64,
}

fn rows() -> Vec<Row> {
    let files = ["fujii_measured.csv", "throughput.csv"];
    let rows = files.into_iter().flat_map(evidence);
    rows.filter_map(|row| {
        let Measured::Step(measured) = row.measured else {
            return None;
        };
        let scenario = Scenario::new(&row.run).unwrap();
        Some(Row {
            source: row.source().name,
            ratio: estimate(&scenario).seconds / measured,
            run: row.run,
        })
    })
    .collect()
}

/// Count, mean error, bias and worst.
fn errors(ratios: &[f64]) -> (usize, f64, f64, f64) {
    let off = ratios.iter().map(|ratio| ratio - 1.0);
    let n = ratios.len() as f64;
    let mean = off.clone().map(f64::abs).sum::<f64>() / n;
    let worst = off.clone().map(f64::abs).fold(0.0, f64::max);
    (ratios.len(), mean, off.sum::<f64>() / n, worst)
}

#[test]
fn errors_by_class_are_printed_and_every_source_names_its_software() {
    let mut classes: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in rows() {
        let stack = row.run.stack.base.unwrap();
        let kernel = row.run.software().attention.id();
        let model = row.run.model.resolve().unwrap();
        let ffn = if model.moe.is_some() {
            "experts"
        } else {
            "dense"
        };
        let precision = row.run.precision.base.unwrap_or("own");
        let class = format!("{stack} ({kernel}), {precision}, {ffn}");
        classes.entry(class).or_default().push(row.ratio);
    }
    for (class, ratios) in &classes {
        let (count, mean, bias, worst) = errors(ratios);
        println!(
            "{class}: {count} runs, mean {:.1} %, bias {:+.1} %, worst {:.1} %",
            mean * 100.0,
            bias * 100.0,
            worst * 100.0
        );
    }
    for source in shardscope::core::accuracy::SOURCES {
        assert!(source.run.contains("stack"), "{}", source.name);
    }
}

/// Long sequences are where the attention kernel decides: FlashAttention-1 and its Triton form, by their papers' rates.
#[test]
fn runs_of_llm_foundry_at_16k_tokens_and_longer_are_met_to_12_percent() {
    for source in ["MPT on A100", "MPT on H100"] {
        let long = rows()
            .into_iter()
            .filter(|row| row.source.contains(source) && row.run.seq_len >= 16_384);
        let ratios: Vec<f64> = long.map(|row| row.ratio).collect();
        let (count, mean, bias, worst) = errors(&ratios);
        println!(
            "{source}, 16k and longer: {count} runs, mean {mean:.3}, bias {bias:+.3}, worst {worst:.3}"
        );
        assert!(count > 0 && mean < 0.12, "{source}: {mean}");
    }
}

/// NVIDIA's own runs on H100, which no constant was fitted to: the software that their recipes name explains them.
#[test]
fn nvidias_runs_on_h100_are_met_to_10_percent() {
    let rows = rows();
    let of = rows
        .iter()
        .filter(|row| row.source.starts_with("NVIDIA dgxc"));
    let ratios: Vec<f64> = of.map(|row| row.ratio).collect();
    let (count, mean, ..) = errors(&ratios);
    println!("NVIDIA dgxc: {count} runs, mean {mean:.3}");
    assert!(count == 34 && mean < 0.1, "{count} runs: {mean}");
}
