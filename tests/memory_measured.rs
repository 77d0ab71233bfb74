//! The detailed method against peaks that others measured and published.
//!
//! `max_memory_allocated` is held against what is allocated (everything but the overhead), `max_memory_reserved`
//! against that with fragmentation and the momentary peak of the logits.

#![allow(clippy::unwrap_used)]

mod memory;

use memory::{Row, estimate, table};
use serde_json::{Value as Json, json};
use shardscope::memory::StageMemory;

/// Relative error of `ours`; the line is what `--nocapture` shows.
fn miss(name: &str, ours: f64, measured: f64) -> f64 {
    let error = ours / measured - 1.0;
    println!(
        "{name}: {ours:.2} GiB, measured {measured:.2} ({:+.2} %)",
        error * 100.0
    );
    error
}

fn mean(errors: &[f64]) -> f64 {
    errors.iter().map(|error| error.abs()).sum::<f64>() / errors.len() as f64
}

fn worst(errors: &[f64]) -> f64 {
    errors
        .iter()
        .fold(0.0, |worst, error| error.abs().max(worst))
}

fn most_allocated(run: &Json) -> f64 {
    let ranks = estimate(run).per_stage;
    ranks
        .iter()
        .map(|rank| rank.allocated().gib())
        .fold(0.0, f64::max)
}

/// What the caching allocator holds: all but the process and its communicators.
fn reserved(rank: &StageMemory) -> f64 {
    let outside = |name: &str| name.contains("communicators");
    let process: f64 = rank
        .items
        .iter()
        .filter(|item| outside(&item.name))
        .map(|item| item.bytes.gib())
        .sum();
    rank.total.gib() - process
}

fn most_reserved(run: &Json) -> f64 {
    estimate(run)
        .per_stage
        .iter()
        .map(reserved)
        .fold(0.0, f64::max)
}

/// DeepSeek-V2 and V3 with one dense layer, as SimuMax ran them.
fn deepseek(name: &str, layers: u64) -> Json {
    let (hidden, ffn, experts, top_k, expert_ffn, shared, vocab) = match name {
        "deepseek-v2" => (5120, 12288, 160, 6, 1536, 2, 102_400),
        _ => (7168, 18432, 256, 8, 2048, 1, 129_280),
    };
    json!({
        "layers": layers, "hidden": hidden, "ffn": ffn, "heads": 128, "head_dim": 128, "vocab": vocab,
        "moe": {"experts": experts, "top_k": top_k, "expert_ffn": expert_ffn, "shared_experts": shared,
                "dense_layers": 1},
        "mla": {"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
                "v_head_dim": 128}
    })
}

fn simumax_run(row: &Row) -> Json {
    let (name, layers) = (row.text("model"), row.count("layers"));
    let model = if name.starts_with("deepseek") {
        deepseek(name, layers)
    } else {
        json!({"base": name, "layers": layers})
    };
    let dp = row.count("dp");
    json!({
        "model": model, "gpu": "b200-sxm",
        "gpus": row.count("tp") * row.count("pp") * row.count("cp") * dp,
        "tp": row.count("tp"), "pp": row.count("pp"), "cp": row.count("cp"), "ep": row.count("ep"),
        "cp_comm": "ulysses", "seq_len": row.count("seq"), "micro_batch": 1, "global_batch": 4 * dp,
        "cross_entropy": "te-fused", "dummy_wgrad": true, "capacity_factor": 1.0
    })
}

fn simumax_errors() -> Vec<f64> {
    table("simumax_b200.csv")
        .iter()
        .map(|row| {
            let run = simumax_run(row);
            let layout = ["tp", "pp", "dp", "cp", "ep", "seq"].map(|name| row.text(name));
            let name = format!("{} {layout:?}", row.text("model"));
            miss(
                &name,
                most_allocated(&run),
                row.number("measured_GiB").unwrap(),
            )
        })
        .collect()
}

/// The GPT-7B of Megatron's own functional tests.
fn golden_run(row: &Row) -> Json {
    let gpus = row.count("gpus");
    let chunks = row.count("vpp");
    json!({
        "model": {
            "layers": row.count("layers"), "hidden": row.count("hidden"), "ffn": row.count("ffn"),
            "heads": row.count("heads"), "kv_heads": row.count("kv_heads"), "vocab": row.count("vocab"),
            "gated_ffn": false, "norm": "layernorm", "biases": "all", "dropout": true
        },
        "gpu": "h100-sxm-80gb", "gpus": gpus, "tp": row.count("tp"), "pp": row.count("pp"),
        "schedule": if chunks > 1 { "interleaved-1f1b" } else { "1f1b" }, "virtual_stages": chunks,
        "sequence_parallel": row.text("sp") == "yes",
        "seq_len": row.count("seq"), "micro_batch": row.count("mbs"), "global_batch": row.count("gbs") * 4
    })
}

fn golden_errors() -> Vec<f64> {
    table("measured_memory.csv")
        .iter()
        .filter(|row| row.text("source").contains("/gpt3_7b_"))
        .map(|row| {
            let ranks = estimate(&golden_run(row)).per_stage;
            let last = ranks.last().unwrap().allocated().gib();
            let name = format!("{} on {}", row.text("model"), row.text("gpu_type"));
            miss(&name, last, row.number("measured_GiB").unwrap())
        })
        .collect()
}

/// The fully specified Megatron-style rows of the table, and no fewer than it has.
#[test]
fn megatron_peaks_are_met_within_1_percent_on_average_and_3_at_worst() {
    let mut errors = golden_errors();
    assert_eq!(errors.len(), 6);
    errors.extend(simumax_errors());
    assert_eq!(errors.len(), 25);
    println!(
        "mean {:.2} %, worst {:.2} %",
        mean(&errors) * 100.0,
        worst(&errors) * 100.0
    );
    assert!(mean(&errors) <= 0.01);
    assert!(worst(&errors) <= 0.03);
}

/// The shared table has six of SimuMax's cases; they are the same as in the full list.
#[test]
fn simumax_rows_of_both_tables_agree() {
    let full = table("simumax_b200.csv");
    let some: Vec<_> = table("measured_memory.csv")
        .into_iter()
        .filter(|row| row.text("source").starts_with("SimuMax"))
        .collect();
    assert_eq!(some.len(), 6);
    for row in some {
        let measured = row.number("measured_GiB");
        assert!(
            full.iter()
                .any(|other| other.number("measured_GiB") == measured)
        );
    }
}

/// Torchtitan's default splits a local batch into as many micro-batches as there are stages; its interleaved run has
/// at least two stages a rank.
fn fsdp_run(row: &Row) -> Json {
    let chunks = if row.text("vpp") == ">1" { 2 } else { 1 };
    let (pp, gpus, tp) = (row.count("pp"), row.count("gpus"), row.count("tp"));
    let dp = gpus / (tp * pp);
    let stages = pp * chunks;
    let micro_batch = if pp > 1 {
        row.count("mbs") / stages
    } else {
        row.count("mbs")
    };
    let microbatches = if pp > 1 { stages } else { 1 };
    let recompute = row.text("recompute").split([' ', ',']).next().unwrap();
    json!({
        "model": row.text("model").to_lowercase().replace("llama3-", "llama-3.1-"), "gpu": "h100-sxm-96gb",
        "gpus": gpus, "tp": tp, "pp": pp, "virtual_stages": chunks,
        "schedule": if chunks > 1 { "interleaved-1f1b" } else { "1f1b" },
        "zero": 3, "precision": "fsdp-mixed", "recompute": recompute,
        "seq_len": row.count("seq"), "micro_batch": micro_batch,
        "global_batch": micro_batch * microbatches * dp
    })
}

fn fsdp_errors(wanted: impl Fn(&Row) -> bool) -> Vec<f64> {
    table("measured_memory.csv")
        .iter()
        .filter(|row| wanted(row))
        .map(|row| {
            let name = format!("{} {}", row.text("model"), row.text("notes"));
            let ours = most_reserved(&fsdp_run(row));
            miss(&name, ours, row.number("measured_GiB").unwrap())
        })
        .collect()
}

#[test]
fn torchtitan_reserved_memory_is_met_within_10_percent_on_average() {
    let errors = fsdp_errors(|row| {
        let source = row.text("source");
        source.starts_with("torchtitan") && !source.contains("trainy")
            || source.contains("PR 132445")
    });
    assert_eq!(errors.len(), 11);
    println!(
        "mean {:.2} %, worst {:.2} %",
        mean(&errors) * 100.0,
        worst(&errors) * 100.0
    );
    assert!(mean(&errors) <= 0.10);
}

/// Reported, not met: two H200 rows of the same shape as torchtitan's own need 20 GiB less than those.
#[test]
fn the_two_trainy_rows_are_shown() {
    let errors = fsdp_errors(|row| row.text("source").contains("trainy"));
    assert_eq!(errors.len(), 2);
    assert!(errors.iter().all(|error| error.is_finite()));
}
