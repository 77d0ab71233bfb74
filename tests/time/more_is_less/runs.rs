//! Random Runs of today's sizes: every model, GPU, software, precision and schedule, sizes that divide.

use crate::common::random::Random;
use shardscope::core::report::schedule_ids;
use shardscope::core::run::Run;
use shardscope::core::run::presets::{GPUS, MODELS, STACKS};
use shardscope::core::run::registry::field;

/// Fields, how often each is set (once in so many Runs), and its values.
const FIELDS: &[(&str, u64, &[&str])] = &[
    ("gpus", 1, &["8", "16", "32", "64", "128", "256", "512", "1024", "2048"]),
    ("gpus_per_node", 8, &["4", "8", "16", "64"]),
    ("tp", 1, &["1", "1", "2", "4", "8", "8"]),
    ("pp", 1, &["1", "1", "2", "4", "4", "8", "16"]),
    ("cp", 3, &["2", "2", "4", "8"]),
    ("ep", 2, &["2", "4", "8", "16", "32"]),
    ("etp", 10, &["2"]),
    ("sequence_parallel", 8, &["false"]),
    ("cp_comm", 4, &["all-gather", "ulysses", "hierarchical"]),
    ("rank_order", 10, &["tp-cp-ep-pp-dp"]),
    ("zero", 1, &["0", "1", "1", "2", "3", "3"]),
    ("zero2_reduce", 3, &["group", "step"]),
    ("hsdp_shard", 10, &["2", "4", "8"]),
    ("zero_hpz", 16, &["8"]),
    ("virtual_stages", 2, &["2", "2", "3", "4"]),
    ("schedule_options.group", 12, &["1", "2", "4", "8"]),
    ("schedule_options.splits", 12, &["2", "4"]),
    ("schedule_options.memory_limit", 12, &["4", "40"]),
    ("seq_len", 1, &["2048", "4096", "8192", "16384", "32768"]),
    ("micro_batch", 2, &["1", "2", "4"]),
    ("global_batch", 1, &["8", "16", "32", "64", "128", "256", "512", "1024"]),
    ("recompute", 3, &["full", "selective"]),
    ("recompute.layers", 8, &["1", "4"]),
    ("recompute.modules", 6, &["norm", "mlp", "core_attn", "moe_act", "moe", "mla_up"]),
    ("cross_entropy", 4, &["megatron", "megatron-fused", "te-fused", "chunked", "fused-linear"]),
    ("moe_imbalance", 4, &["1.2", "1.35"]),
    ("moe_dispatch", 6, &["per-node"]),
    ("ep_overlap", 6, &["1f1b"]),
    ("shared_expert_overlap", 8, &["true"]),
    ("cuda_graphs", 6, &["true"]),
    ("optimizer", 8, &["lion", "muon", "sgd", "adafactor", "adam-8bit"]),
    ("overlap.ep", 10, &["0.5", "1"]),
    ("overlap.dp", 8, &["0", "1"]),
    ("overlap.tp", 8, &["0", "1"]),
    ("gpu.inter_gb_per_s", 8, &["6.25", "12.5", "400"]),
];

const PRECISIONS: &[&str] = &[
    "bf16",
    "fp16",
    "fp32",
    "playbook-20",
    "fsdp-mixed",
    "te-fp8",
    "fp8-lm",
    "deepseek-fp8",
    "fp8-delayed",
    "fp8-current",
    "fp8-blockwise",
    "mxfp8",
    "nvfp4",
];

/// A Run; most draws make none that is valid.
pub fn any_run(random: &mut Random) -> Run {
    let mut run = Run::default();
    let mut set = |key: &str, text: &str| {
        let field = field(key).unwrap_or_else(|| panic!("{key}"));
        let value = field.parse(text).unwrap_or_else(|why| panic!("{key}={text}: {why}"));
        // A part that this model has not.
        let _ = field.set(&mut run, &value);
    };
    let models: Vec<&str> = MODELS.iter().map(|preset| preset.choice.id).collect();
    let gpus: Vec<&str> = GPUS.iter().map(|preset| preset.choice.id).collect();
    let stacks: Vec<&str> = STACKS.iter().map(|preset| preset.choice.id).collect();
    let schedules: Vec<&str> = schedule_ids().filter(|id| !["custom", "optimal"].contains(id)).collect();
    set("model", random.one(&models));
    set("gpu", random.one(&gpus));
    set("stack", random.one(&stacks));
    if random.once_in(2) {
        set("precision", random.one(PRECISIONS));
    }
    if !random.once_in(3) {
        set("schedule", random.one(&schedules));
    }
    for (key, times, values) in FIELDS {
        if random.once_in(*times) {
            set(key, random.one(values));
        }
    }
    run
}
