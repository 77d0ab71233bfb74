//! The detailed method against worked numbers: the survey's test vectors, component by component, and Korthikanti's
//! figures.

#![allow(clippy::unwrap_used)]

mod memory;

use memory::{estimate, items, scenario, states};
use serde_json::{Value as Json, json};

/// Half a unit of the last printed digit, and what the survey's own rounding of intermediate figures adds.
const HUNDREDTH: f64 = 0.01;

/// One row of the survey's table (section 2.12): GiB as printed.
struct Vector {
    name: &'static str,
    rank: usize,
    states: f64,
    activations: f64,
    head: f64,
    dummies: f64,
    transient: f64,
    total: f64,
}

fn check(run: &Json, vector: &Vector) {
    let rank = &estimate(run).per_stage[vector.rank];
    let head = items(rank, &["logits", "inputs of the head"]);
    let dummies = items(rank, &["dummy weight gradients"]);
    let transient = rank.buffers.gib() - head - dummies;
    for (part, ours, printed) in [
        ("states", states(rank), vector.states),
        ("activations", rank.activations.gib(), vector.activations),
        ("head", head, vector.head),
        ("dummy weight gradients", dummies, vector.dummies),
        ("transient", transient, vector.transient),
        ("total", rank.allocated().gib(), vector.total),
    ] {
        assert!(
            (ours - printed).abs() <= HUNDREDTH,
            "{}: {part} {ours:.4} GiB, printed {printed}",
            vector.name
        );
    }
}

fn llama_70b_of_12_layers(gpus: u64, tp: u64, pp: u64) -> Json {
    json!({
        "model": {"base": "llama-3.1-70b", "layers": 12}, "gpu": "b200-sxm",
        "gpus": gpus, "tp": tp, "pp": pp, "seq_len": 4096, "micro_batch": 1,
        "global_batch": 4 * gpus / (tp * pp), "cross_entropy": "te-fused", "dummy_wgrad": true
    })
}

#[test]
fn survey_vectors_of_llama_70b_with_12_layers_are_met_to_a_hundredth_gib() {
    let layers = 12.0;
    for (gpus, tp, pp, rank, states, layer, head, dummies, transient, total) in [
        (8, 1, 2, 0, 51.84, 1.0479, 0.0, 1.59, 0.44, 66.44),
        (8, 2, 1, 0, 51.84, 0.5239, 0.55, 1.78, 0.22, 60.67),
        (8, 4, 1, 0, 34.57, 0.2620, 0.28, 0.89, 0.11, 38.99),
        (8, 8, 1, 0, 25.95, 0.1310, 0.14, 0.45, 0.05, 28.16),
    ] {
        let name = "Llama-70B, 12 layers";
        let activations = layer * layers;
        let vector = Vector {
            name,
            rank,
            states,
            activations,
            head,
            dummies,
            transient,
            total,
        };
        check(&llama_70b_of_12_layers(gpus, tp, pp), &vector);
    }
}

fn gpt_7b() -> Json {
    json!({
        "layers": 32, "hidden": 4096, "ffn": 16384, "heads": 32, "kv_heads": 8, "vocab": 131_073,
        "gated_ffn": false, "norm": "layernorm", "biases": "all", "dropout": true
    })
}

#[test]
fn survey_vectors_of_gpt_7b_are_met_to_a_hundredth_gib() {
    check(
        &json!({
            "model": gpt_7b(), "gpu": "h100-sxm-80gb", "gpus": 8, "tp": 4, "pp": 1, "seq_len": 8192,
            "micro_batch": 2, "global_batch": 8, "sequence_parallel": false
        }),
        &Vector {
            name: "GPT-7B tp4",
            rank: 0,
            states: 18.77,
            activations: 0.9536 * 32.0,
            head: 3.26,
            dummies: 0.0,
            transient: 0.12,
            total: 52.67,
        },
    );
    check(
        &json!({
            "model": gpt_7b(), "gpu": "h100-sxm-80gb", "gpus": 8, "tp": 1, "pp": 4, "virtual_stages": 8,
            "schedule": "interleaved-1f1b", "seq_len": 8192, "micro_batch": 1, "global_batch": 8
        }),
        &Vector {
            name: "GPT-7B pp4 v8, last rank",
            rank: 3,
            states: 21.76,
            activations: 0.9697 * 29.0,
            head: 6.13,
            dummies: 0.0,
            transient: 0.25,
            total: 56.26,
        },
    );
}

/// DeepSeek-V2 with one dense and three MoE layers; the tokenizer of the measured runs adds one entry.
fn deepseek_v2(ep: u64, pp: u64) -> Json {
    json!({
        "model": {
            "layers": 4, "hidden": 5120, "ffn": 12288, "heads": 128, "head_dim": 128, "vocab": 102_401,
            "moe": {"experts": 160, "top_k": 6, "expert_ffn": 1536, "shared_experts": 2, "dense_layers": 1},
            "mla": {"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
                    "v_head_dim": 128}
        },
        "gpu": "b200-sxm", "gpus": 8, "tp": 1, "pp": pp, "ep": ep, "seq_len": 4096, "micro_batch": 1,
        "global_batch": 32 / pp, "cross_entropy": "te-fused", "dummy_wgrad": true, "capacity_factor": 1.0
    })
}

#[test]
fn survey_vectors_of_deepseek_v2_with_4_layers_are_met_to_a_hundredth_gib() {
    for (name, ep, pp, rank, states, activations, dummies, head, total) in [
        ("ep8", 8, 1, 0, 37.56, 5.09, 1.74, 0.86, 45.75),
        (
            "ep4 pp2 first",
            4,
            2,
            0,
            24.71,
            2.43 * 2.0,
            0.76,
            0.0,
            30.82,
        ),
        ("ep4 pp2 last", 4, 2, 1, 39.35, 2.67, 1.39, 0.86, 44.76),
    ] {
        let transient = 0.50;
        let vector = Vector {
            name,
            rank,
            states,
            activations,
            head,
            dummies,
            transient,
            total,
        };
        check(&deepseek_v2(ep, pp), &vector);
    }
}

/// Simumax peaks are the same for 4, 8 and 32 micro-batches.
#[test]
fn once_the_pipeline_is_full_more_microbatches_need_no_more_memory() {
    let run = |batch: u64| json!({"gpus": 32, "pp": 4, "tp": 1, "global_batch": batch * 8});
    let four = estimate(&run(4)).per_stage;
    for batch in [8, 32] {
        assert_eq!(four, estimate(&run(batch)).per_stage);
    }
    assert!(estimate(&run(2)).per_stage[0].total.0 < four[0].total.0);
}

#[test]
fn the_default_run_fits() {
    let estimate = estimate(&json!({}));
    assert_eq!(estimate.verdict, shardscope::memory::Verdict::Fits);
    assert_eq!(scenario(&json!({})).layout.pp, 4);
}
