//! The detailed method against worked numbers: those of `docs/methods/memory.md`, component by component, and
//! Korthikanti's figures.

use super::estimates::{estimate, items, scenario, states};
use serde_json::{Value as Json, json};

/// Half a unit of the last printed digit, and what the rounding of intermediate figures adds.
const HUNDREDTH: f64 = 0.01;

/// One row of the worked numbers: GiB as printed.
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
    let workspaces = items(rank, &["library workspaces"]);
    let transient = rank.buffers.gib() - head - dummies - workspaces;
    for (part, ours, printed) in [
        ("states", states(rank), vector.states),
        ("activations", rank.activations.gib(), vector.activations),
        ("head", head, vector.head),
        ("dummy weight gradients", dummies, vector.dummies),
        ("transient", transient, vector.transient),
        ("total", rank.allocated().gib() - workspaces, vector.total),
    ] {
        assert!((ours - printed).abs() <= HUNDREDTH, "{}: {part} {ours:.4} GiB, printed {printed}", vector.name);
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
fn worked_numbers_of_llama_70b_with_12_layers_are_met_to_a_hundredth_gib() {
    let layers = 12.0;
    for (gpus, tp, pp, rank, states, layer, head, dummies, transient, total) in [
        (8, 1, 2, 0, 51.84, 1.0479, 0.0, 1.59, 0.44, 66.44),
        (8, 2, 1, 0, 51.84, 0.5239, 0.55, 1.78, 0.22, 60.67),
        (8, 4, 1, 0, 34.57, 0.2620, 0.28, 0.89, 0.11, 38.99),
        (8, 8, 1, 0, 25.95, 0.1310, 0.14, 0.45, 0.05, 28.16),
    ] {
        let name = "Llama-70B, 12 layers";
        let activations = layer * layers;
        let vector = Vector { name, rank, states, activations, head, dummies, transient, total };
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
fn worked_numbers_of_gpt_7b_are_met_to_a_hundredth_gib() {
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
fn worked_numbers_of_deepseek_v2_with_4_layers_are_met_to_a_hundredth_gib() {
    for (name, ep, pp, rank, states, activations, dummies, head, total) in [
        ("ep8", 8, 1, 0, 37.56, 5.09, 1.74, 0.86, 45.75),
        ("ep4 pp2 first", 4, 2, 0, 24.71, 2.43 * 2.0, 0.76, 0.0, 30.82),
        ("ep4 pp2 last", 4, 2, 1, 39.35, 2.67, 1.39, 0.86, 44.76),
    ] {
        let transient = 0.50;
        let vector = Vector { name, rank, states, activations, head, dummies, transient, total };
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
    assert_eq!(estimate.verdict(), shardscope::core::memory::Verdict::Fits);
    assert_eq!(scenario(&json!({})).layout.pp, 4);
}

/// The four models of Korthikanti 2022, table 3: layers, hidden, heads, p, v, b; t = 8, s = 2048.
const KORTHIKANTI: [(&str, u64, u64, u64, u64, u64, u64); 4] = [
    ("22B", 48, 6144, 64, 1, 1, 4),
    ("175B", 96, 12288, 96, 8, 3, 1),
    ("530B", 105, 20480, 128, 35, 3, 1),
    ("1T", 128, 25600, 160, 64, 1, 1),
];

/// Activations of the first rank, GiB, with scores stored.
fn korthikanti(model: usize, sequence_parallel: bool, recompute: &str) -> f64 {
    let (_, layers, hidden, heads, p, v, b) = KORTHIKANTI[model];
    let run = json!({
        "model": {"layers": layers, "hidden": hidden, "ffn": 4 * hidden, "heads": heads, "vocab": 51200,
                  "gated_ffn": false, "norm": "layernorm", "biases": "all", "dropout": true},
        "gpus": 8 * p, "tp": 8, "pp": p, "virtual_stages": v,
        "schedule": if v > 1 { "interleaved-1f1b" } else { "1f1b" }, "seq_len": 2048, "micro_batch": b,
        "global_batch": b * 4 * p, "sequence_parallel": sequence_parallel, "recompute": recompute,
        "flash_attention": false
    });
    estimate(&run).per_stage[0].activations.gib()
}

/// Figure 1: 18 bytes a parameter of the layers (12 L h²), and activations without and with sequence parallelism and
/// selective recomputation.
#[test]
fn korthikanti_figure_1_is_met_to_a_hundredth_gib() {
    let printed = [(45.5625, 59.25, 9.5625), (45.5625, 66.84, 12.35), (31.64, 114.02, 23.08), (32.96, 131.25, 26.56)];
    for (at, (states, none, both)) in printed.into_iter().enumerate() {
        let (name, layers, hidden, heads, p, ..) = KORTHIKANTI[at];
        let model = shardscope::core::model::Architecture::gpt(layers, hidden, heads, 51200, 0);
        let biases = 7 * hidden;
        let layer = shardscope::core::model::layer_elements(&model, model.kind(0));
        let matrices = layer.sharded + layer.key_value.iter().sum::<u64>() - biases;
        let ours = 18.0 * (layers * matrices) as f64 / (8 * p) as f64 / super::estimates::GIB;
        for (ours, printed) in
            [(ours, states), (korthikanti(at, false, "none"), none), (korthikanti(at, true, "selective"), both)]
        {
            assert!((ours - printed).abs() <= HUNDREDTH, "{name}: {ours:.4} GiB, printed {printed}");
        }
    }
}

/// Figure 7, percent of tensor parallelism alone: sequence parallelism, selective, both, full. Read off the figure.
#[test]
fn korthikanti_figure_7_is_met_to_a_fraction_of_a_percent() {
    let printed = [
        [66.84, 49.42, 16.18, 7.64],
        [62.04, 56.53, 18.49, 8.71],
        [58.31, 62.04, 20.27, 9.42],
        [58.31, 62.04, 20.27, 9.42],
    ];
    for (at, row) in printed.into_iter().enumerate() {
        let base = korthikanti(at, false, "none");
        let ours = [(true, "none"), (false, "selective"), (true, "selective"), (false, "full")]
            .map(|(parallel, recompute)| 100.0 * korthikanti(at, parallel, recompute) / base);
        for (ours, printed) in ours.into_iter().zip(row) {
            assert!((ours - printed).abs() < 0.15, "{}: {ours:.2} %, printed {printed}", KORTHIKANTI[at].0);
        }
    }
}
