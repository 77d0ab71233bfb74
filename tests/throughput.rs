//! Published runs: step times and tokens a second as measured, against the model.
//!
//! Every test prints its worst misses (`cargo test --test throughput -- --nocapture`). Settings that a source does not
//! print follow its software: see [`published`].
#![allow(clippy::unwrap_used)] // functions that tests share

mod common;

use common::{Row, estimate, scenario, table};
use shardscope::run::Scenario;
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
        estimate(&self.scenario).seconds / self.measured
    }
}

/// Nanoseconds of the data loader: the largest that no step of table 3 contradicts for the A100 host. No step of table 4
/// is bound by its loader, but the coupling feels it: the H100 host's is chosen for the smallest error (1.9, which another
/// survey inferred, gives 4.6 % on table 4 instead of 4.0).
const LOADER_NS: [(&str, f64); 2] = [("3", 2.75), ("4", 3.0)];

/// Tables 3 and 4 of Fujii 2024. Four 200 Gbit/s cards a node: 12.5 GB/s a GPU with eight GPUs a node, 25 with four.
/// TFLOP/s are Megatron core 0.8's: `12 B s L h² ((1 + k/a + s/h) + 1.5 f/h + V/(2 L h))`.
fn fujii() -> Vec<Case> {
    let (l, h, f, k_a, v, s, b) = (32.0, 4096.0, 14336.0, 0.25, 128_256.0, 8192.0, 1024.0);
    let flops = 12.0 * b * s * l * h * h * ((1.0 + k_a + s / h) + 1.5 * f / h + v / (2.0 * l * h));
    table("fujii_measured.csv")
        .iter()
        .filter(|row| row["tflops_per_gpu_or_oom"] != "OOM")
        .map(|row| {
            let cell = |key: &str| row[key].as_str();
            let number = cell("table");
            let (source, inter) = if number == "3" { ("table 3", 12.5) } else { ("table 4", 25.0) };
            let loader = LOADER_NS.iter().find(|(table, _)| *table == number).unwrap().1;
            let json = format!(
                r#"{{"model":"llama-3.1-8b","gpu":{{"base":"{}","inter_gb_per_s":{inter}}},"gpus":{},"tp":{},"cp":{},
                "pp":{},"micro_batch":{},"seq_len":8192,"global_batch":1024,"loader_ns":{loader}}}"#,
                cell("gpu"), cell("gpus"), cell("tp"), cell("cp"), cell("pp"), cell("micro_batch"),
            );
            let tflops: f64 = cell("tflops_per_gpu_or_oom").parse().unwrap();
            let gpus: f64 = cell("gpus").parse().unwrap();
            Case {
                name: format!(
                    "{source} tp {} cp {} pp {} b {} on {}",
                    cell("tp"), cell("cp"), cell("pp"), cell("micro_batch"), cell("gpus")
                ),
                source,
                group: format!("{number}/{}", cell("gpus")),
                scenario: scenario(&json),
                measured: flops / (tflops * 1e12 * gpus),
            }
        })
        .collect()
}

/// A GPU of the throughput table with the network that its source names, GB/s a GPU.
fn gpu(row: &Row, source: &str) -> String {
    let (base, inter) = match (row["gpu_type"].as_str(), source) {
        ("h100_80gb", _) => ("h100-sxm-80gb", 50.0),
        ("a100_40gb", _) => ("a100-sxm-40gb", 25.0),
        ("B200", _) => ("b200-sxm", 50.0),
        // Jean Zay: four 100 Gbit/s cards for eight GPUs.
        (_, "bloom") => ("a100-sxm-80gb", 6.25),
        _ => ("a100-sxm-80gb", 25.0),
    };
    format!(r#"{{"base":"{base}","inter_gb_per_s":{inter}}}"#)
}

/// Rows of the throughput table with held=yes. What the sources leave out follows their software: llm-foundry is FSDP
/// with bf16 gradients; `SimuMax` measured Megatron with sequence parallelism; Megatron of 2021 and BLOOM's fork had
/// neither `FlashAttention` nor overlapped gradients or tensor-parallel reductions; MPT and BLOOM run without dropout.
fn published() -> Vec<Case> {
    table("throughput.csv")
        .iter()
        .filter(|row| row["held"] == "yes")
        .map(|row| {
            let text = row["source"].as_str();
            let source = ["llm-foundry", "SimuMax", "bigscience", "Narayanan", "calculon"]
                .into_iter()
                .find(|name| text.contains(name))
                .unwrap();
            let or = |key: &str, other: &str| -> String {
                let cell = row[key].trim_end_matches(".0");
                if cell.is_empty() { other.to_owned() } else { cell.to_owned() }
            };
            let llama = source == "SimuMax";
            let heads = or("heads", "");
            let ffn = or("ffn", &(4 * or("hidden", "").parse::<u64>().unwrap()).to_string());
            let old = matches!(source, "bigscience" | "Narayanan");
            let unfused = old || source == "calculon";
            let dropout = matches!(source, "Narayanan" | "calculon");
            let chunks = or("vpp", "1");
            let json = format!(
                r#"{{"model":{{"layers":{},"hidden":{},"ffn":{ffn},"heads":{heads},"kv_heads":{},"vocab":{},
                "gated_ffn":{llama},"tied_embeddings":{},"norm":"rmsnorm","biases":"none","dropout":{dropout}}},
                "gpu":{},"gpus":{},"tp":{},"pp":{},"cp":{},"sequence_parallel":{},"zero":{},
                "schedule":"{}","virtual_stages":{chunks},"seq_len":{},"micro_batch":{},"global_batch":{},
                "precision":"{}","recompute":"{}","flash_attention":{},"overlap":{{"dp":{},"tp":{}}}}}"#,
                or("layers", ""), or("hidden", ""), or("kv_heads", &heads), or("vocab", ""), !llama,
                gpu(row, if source == "bigscience" { "bloom" } else { source }),
                or("gpus", ""), or("tp", "1"), or("pp", "1"), or("cp", "1"),
                llama || row["sp"].starts_with('1'),
                or("zero", "1"),
                if chunks == "1" { "1f1b" } else { "interleaved-1f1b" },
                or("seq", ""), or("mbs", ""), or("gbs", ""),
                if source == "llm-foundry" { "bf16" } else { "bf16-fp32-grads" },
                or("recompute", "none"), !unfused,
                if old { 0.0 } else { 0.8 }, if old { 0.0 } else { 0.3 },
            );
            Case {
                name: format!(
                    "{source} {} on {} {} s {} b {} tp {} pp {} {}",
                    row["model"], row["gpus"], row["gpu_type"], row["seq"], row["mbs"], row["tp"], row["pp"],
                    row["recompute"]
                ),
                source,
                group: String::new(),
                scenario: scenario(&json),
                measured: row["step_time_s"].parse().unwrap(),
            }
        })
        .collect()
}

/// Mean of |ratio - 1|.
fn mean_error(ratios: impl IntoIterator<Item = f64>) -> f64 {
    let errors: Vec<f64> = ratios
        .into_iter()
        .map(|ratio| (ratio - 1.0).abs())
        .collect();
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
        println!(
            "{source}: {} runs, error {:.1} %, bias {:+.1} %",
            ratios.len(),
            error * 100.0,
            bias * 100.0
        );
    }
    let mut order: Vec<usize> = (0..cases.len()).collect();
    order.sort_by(|a, b| {
        (ratios[*b] - 1.0)
            .abs()
            .total_cmp(&(ratios[*a] - 1.0).abs())
    });
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
            cases
                .iter()
                .filter(|case| case.source == source)
                .map(Case::ratio)
                .collect()
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
        groups
            .entry(&case.group)
            .or_default()
            .push((case, predicted));
    }
    let mut losses = Vec::new();
    for (group, cases) in &groups {
        let best = cases
            .iter()
            .map(|(case, _)| case.measured)
            .fold(f64::INFINITY, f64::min);
        let chosen = cases.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0;
        losses.push(chosen.measured / best - 1.0);
        println!(
            "{group}: {} loses {:.2} %",
            chosen.name,
            losses[losses.len() - 1] * 100.0
        );
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
        let peak = scenario.gpu.bf16.0 * scenario.layout.gpus as f64;
        let mfu = scenario.model_flops() / estimate(scenario).seconds / peak;
        assert!(mfu > 0.0 && mfu < 1.0, "{}: {mfu}", case.name);
    }
}
