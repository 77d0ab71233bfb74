//! Megatron-LM's arguments say what they can: random runs that it can run, written as a script without a link and read
//! over other settings of the same GPUs, come back with the same time and memory.

use crate::common::random::Random;
use shardscope::core::report::report;
use shardscope::core::run::presets::MODELS;
use shardscope::core::run::{Run, Scenario};
use shardscope::io::dialect::dialect;
use shardscope::io::import::read;
use shardscope::io::link::decode;

/// Runs that are compared, and the share of them that comes back within [`CLOSE`].
const RUNS: usize = 600;
const SHARE: f64 = 0.98;
const CLOSE: f64 = 0.01;
/// Draws until there are as many.
const MOST: usize = 60_000;

/// Settings, how often each is drawn (once in so many runs), and its values.
type Draw = (u64, &'static [&'static str]);

/// Settings of every release.
const ALWAYS: &[Draw] = &[
    (1, &["gpus=8", "gpus=16", "gpus=32", "gpus=64", "gpus=128", "gpus=256", "gpus=1024"]),
    (1, &["tp=1", "tp=1", "tp=2", "tp=4", "tp=8"]),
    (1, &["pp=1", "pp=1", "pp=2", "pp=4", "pp=8"]),
    (3, &["cp=2", "cp=4"]),
    (4, &["cp_comm=ring", "cp_comm=all-gather", "cp_comm=ulysses"]),
    (2, &["ep=2", "ep=4", "ep=8", "ep=16", "ep=64"]),
    (6, &["etp=2", "etp=4"]),
    (8, &["rank_order=tp-cp-ep-pp-dp"]),
    (1, &["zero=0", "zero=1", "zero=1", "zero=2", "zero=3"]),
    (8, &["hsdp_shard=2", "hsdp_shard=4", "hsdp_shard=8"]),
    (
        2,
        &[
            "schedule=interleaved-1f1b&virtual_stages=2",
            "schedule=interleaved-1f1b&virtual_stages=4",
            "schedule=interleaved-overlap&virtual_stages=2",
            "schedule=interleaved-1f1b&virtual_stages=2&schedule_options.group=8",
        ],
    ),
    (10, &["stage_layers=9,8,8,7", "stage_layers=17,15", "stage_layers=15,16,16,14", "stage_layers=7,9,9,7"]),
    (2, &["seq_len=1024", "seq_len=2048", "seq_len=4096", "seq_len=16384", "seq_len=32768"]),
    (2, &["micro_batch=2", "micro_batch=4"]),
    (1, &["global_batch=64", "global_batch=128", "global_batch=256", "global_batch=512", "global_batch=1024"]),
    (3, &["optimizer=sgd", "optimizer=sgd-momentum", "optimizer=muon", "optimizer=lion"]),
    (
        2,
        &[
            "recompute=selective",
            "recompute=full",
            "recompute.layers=2",
            "recompute.modules=norm",
            "recompute.modules=mlp,core_attn",
            "recompute.modules=moe_act,mla_up",
            "recompute.modules=moe,shared_experts",
        ],
    ),
    (
        3,
        &[
            "cross_entropy=megatron",
            "cross_entropy=megatron-fused",
            "cross_entropy=te-fused",
            "cross_entropy=fused-linear",
        ],
    ),
    (8, &["flash_attention=false"]),
    (8, &["fused_swiglu=false"]),
    (8, &["overlap.dp=0"]),
    (8, &["moe_balance=forced"]),
    (8, &["capacity_factor=1", "capacity_factor=1.25"]),
    (12, &["delay_wgrad=true", "shared_expert_overlap=true"]),
    (12, &["moe_rank_capacity=2", "moe_rank_capacity=2&moe_paged_stash=true"]),
    (8, &["cp=8&cp_comm=hierarchical", "cp=4&cp_comm=hierarchical&cp_a2a=2", "cp=8&cp_comm=hierarchical&cp_a2a=4"]),
    (
        8,
        &[
            "graph_scope=layer",
            "graph_scope=iteration",
            "graph_scope=attn,mlp",
            "graph_scope=attn,moe_router,moe_preprocess",
        ],
    ),
    (
        8,
        &[
            "offload.optimizer=cpu&host_memory_gib=9000",
            "offload.optimizer=cpu&offload.fraction=0.5&host_memory_gib=9000",
            "offload.activations=core_attn,moe_act&host_memory_gib=9000",
            "offload.activations=cpu&host_memory_gib=9000",
        ],
    ),
    (6, &["model.mtp_modules=1", "model.mtp_modules=1&mtp_stage=1"]),
    (12, &["model.layers=24", "model.layers=48"]),
    (12, &["model.vocab=64000"]),
    (12, &["model.ffn=8192"]),
    (16, &["model.moe.experts=64", "model.moe.shared_experts=2", "model.moe.top_k=4"]),
    (16, &["model.moe.groups=4&model.moe.top_groups=2"]),
    (
        16,
        &[
            "model.qk_norm=head",
            "model.biases=qkv",
            "model.biases=all",
            "model.tied_embeddings=true",
            "model.dropout=true",
        ],
    ),
];

/// Further settings of the software of a year: its id, and draws. `--fp8-recipe` is of 2025, `--fp4-format` and
/// `--moe-flex-dispatcher-backend` of its end; tensor-parallel messages overlap by userbuffers or, where nothing says
/// so, as those of 2024 do; userbuffers need sequence parallelism (`validate_args`).
const SOFTWARE: &[(&str, &[Draw])] = &[
    ("megatron-2021", &[(3, &["sequence_parallel=false"]), (2, OLD)]),
    ("megatron-2024", &[(4, &["sequence_parallel=false"]), (2, OLD), (8, &["overlap.tp=0"])]),
    ("megatron-2025", &[(2, NEW), (4, SLOW), (8, &["moe_dispatch=per-node"]), (8, &["stack.grad_reduce_bytes=4"])]),
    ("nemo-2024", &[(2, NEW), (4, SLOW)]),
    (
        "megatron-2026",
        &[
            (2, NEW),
            (4, SLOW),
            (4, &["moe_dispatch=all-to-all", "moe_dispatch=hybridep"]),
            (8, &["fp8_dispatch=true"]),
            (8, &["dummy_wgrad=false"]),
            (8, &["stack.attention=flash-3", "stack.attention=flash-2"]),
            (8, &["precision.base=nvfp4", "precision.base=nvfp4&precision.param_gather=true"]),
        ],
    ),
];

const OLD: &[&str] = &["precision=bf16", "precision=fp16", "precision=fp32", "precision.base=fp8-delayed"];
const NEW: &[&str] = &[
    "precision=bf16",
    "precision=fp16",
    "precision=fp32",
    "precision.base=fp8-delayed",
    "precision.base=fp8-current&precision.param_gather=true",
    "precision.base=fp8-blockwise&precision.bf16_first=1&precision.bf16_last=1",
    "precision.base=mxfp8",
    "precision.base=mxfp8&precision.master=2&precision.moment1=2&precision.moment2=2",
    "precision.base=fp8-current&stack.attention=fp8",
];
const SLOW: &[&str] = &[
    "stack.tp_overlap=none&overlap.tp=0.3",
    "stack.tp_overlap=none&overlap.tp=0",
    "stack.tp_overlap=none&overlap.tp=0.3&sequence_parallel=false",
];

/// A run at random.
fn drawn(random: &mut Random) -> Run {
    let models: Vec<&str> = MODELS.iter().map(|model| model.choice.id).collect();
    let gpus = ["h100-sxm-80gb", "h200-sxm-141gb", "b200-sxm", "gb200", "a100-sxm-80gb"];
    let (software, besides) = random.one(SOFTWARE);
    let mut link = format!("v=1&model.base={}&gpu={}&stack={software}", random.one(&models), random.one(&gpus));
    for (times, values) in ALWAYS.iter().chain(besides) {
        if random.once_in(*times) {
            link = format!("{link}&{}", random.one(values));
        }
    }
    decode(&link).run
}

/// The run as it comes back from its arguments, read over the default run on the same GPUs.
fn back(run: &Run) -> Result<Run, String> {
    let megatron = dialect("megatron").unwrap();
    let scenario = Scenario::new(run).map_err(|issues| format!("{issues:?}"))?;
    let script = (megatron.print)(&megatron.written(&scenario), &[]);
    let present = Run {
        gpu: run.gpu.clone(),
        gpus_per_node: run.gpus_per_node,
        host_memory_gib: run.host_memory_gib,
        ..Run::default()
    };
    read(&script, &present).map(|read| read.run).map_err(|issues| format!("{issues:?}"))
}

/// Time and memory of what comes back over those of `run`, less one, the larger of the two.
fn off(run: &Run) -> Result<f64, String> {
    let figures = |run: &Run| {
        let report = report(run).map_err(|refusal| format!("{:?}", refusal.errors))?;
        Ok::<_, String>([report.step.time_s.0, report.memory.peak_bytes.0])
    };
    let (before, after) = (figures(run)?, figures(&back(run)?)?);
    Ok(before.iter().zip(after).map(|(before, after)| (after / before - 1.0).abs()).fold(0.0, f64::max))
}

#[test]
fn runs_at_random_come_back_from_megatron_lms_arguments_alone() {
    let mut random = Random::new(28);
    let (mut compared, mut lost) = (0, Vec::new());
    for _ in 0..MOST {
        let run = drawn(&mut random);
        if compared == RUNS {
            break;
        }
        if report(&run).is_err() {
            continue;
        }
        compared += 1;
        match off(&run) {
            Ok(off) if off <= CLOSE => {}
            other => lost.push(format!("{other:?}: {}", shardscope::io::link::encode(&run))),
        }
    }
    let close = 1.0 - lost.len() as f64 / compared as f64;
    println!("round trip: {} of {compared} within 1 %; the rest:\n{}", compared - lost.len(), lost.join("\n"));
    assert!(compared >= 500 && close >= SHARE, "{close} of {compared}: {}", lost.join("\n"));
}
