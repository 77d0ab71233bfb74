//! Values that programs write otherwise than their base does.

use super::gpu_names::first_gpu;
use super::source::all_of_a_node;
use crate::dialect::text::words::entries;
use crate::dialect::{SettingEntries, tuning};
use shardscope_core::run::{OneOf, Value};

/// True where a switch is on.
pub(super) fn on(value: &Value) -> bool {
    match value {
        Value::Bool(yes) => *yes,
        Value::Number(number) => *number != 0.0,
        _ => false,
    }
}

/// torchrun's words for all GPUs of a node; a number of them is read with that of nodes.
pub(super) fn whole_node(value: &Value) -> SettingEntries {
    if all_of_a_node(value) { vec![("nproc_per_node".to_owned(), value.clone())] } else { Vec::new() }
}

/// Arguments of Megatron-LM for a precision by its name: `bf16_with_fp8_current_scaling_mixed`, `fp8_cs`, `nvfp4`.
pub(super) fn precision(value: &Value) -> SettingEntries {
    let Some(name) = value.text().map(|name| name.to_ascii_lowercase().replace('-', "_")) else { return Vec::new() };
    // The name of a function that makes one, whose argument says which.
    if name.contains("precision") {
        return Vec::new();
    }
    let has = |part: &str| name.contains(part);
    let mut out = if has("fp16_") || name == "fp16" { entries(&[("--fp16", "")]) } else { entries(&[("--bf16", "")]) };
    let fp8 =
        |format, recipe| entries(&[("--fp8-format", format), ("--fp8-recipe", recipe), ("--fp8-param-gather", "")]);
    out.extend(match () {
        () if has("nvfp4") || has("fp4") => entries(&[("--fp4-format", "e2m1"), ("--fp4-recipe", "nvfp4")]),
        () if has("mxfp8") || has("fp8_mx") || has("fp8mx") => fp8("e4m3", "mxfp8"),
        () if has("subchannel") || has("fp8_sc") || has("fp8sc") || has("blockwise") => fp8("e4m3", "blockwise"),
        () if has("delayed") || has("fp8_ds") || has("fp8ds") => fp8("hybrid", "delayed"),
        () if has("fp8") => fp8("hybrid", "tensorwise"),
        () => Vec::new(),
    });
    out
}

/// As [`precision`], of recipes for measurements: gradients are reduced in bf16.
pub(super) fn measured(value: &Value) -> SettingEntries {
    let mut out = precision(value);
    if !out.is_empty() {
        out.extend(entries(&[("--grad-reduce-in-bf16", "")]));
    }
    out
}

/// The GPU that a setting names.
pub(super) fn gpu(value: &Value) -> SettingEntries {
    let found = value.text().and_then(first_gpu);
    found.map(|id| vec![("@gpu".to_owned(), Value::Text(id.to_owned()))]).unwrap_or_default()
}

/// Settings in the name of a recipe of Megatron-Bridge: `llama3_70b_pretrain_64gpu_h100_bf16_config`.
pub(super) fn recipe(value: &Value) -> SettingEntries {
    let Some(name) = value.text().and_then(|name| name.rsplit('.').next()) else { return Vec::new() };
    let Some(model) = ["_pretrain", "_sft", "_peft"].iter().find_map(|task| Some(&name[..name.find(task)?])) else {
        return Vec::new();
    };
    let text = |key: &str, value: &str| (key.to_owned(), Value::Text(value.to_owned()));
    let mut out = vec![text("model", model)];
    for word in name.split('_') {
        if let Some(gpus) = word.strip_suffix("gpu").and_then(|count| count.parse::<u64>().ok()) {
            out.push(("--nnodes".to_owned(), Value::from(1)));
            out.push(("--nproc-per-node".to_owned(), Value::from(gpus)));
        } else if let Some(thousands) = word.strip_suffix('k').and_then(|count| count.parse::<u64>().ok()) {
            out.push(("--seq-length".to_owned(), Value::from(thousands.saturating_mul(1024))));
        } else if word.starts_with("fp8") || word == "bf16" || word == "nvfp4" {
            out.extend(precision(&Value::Text(word.to_owned())));
        } else if word == "peft" {
            out.push(text("peft.kind", "lora"));
        } else {
            out.extend(gpu(&Value::Text(word.to_owned())));
        }
    }
    out
}

/// Modules that are computed again, where there are any.
pub(super) fn modules(value: &Value) -> SettingEntries {
    match value {
        Value::List(items) if items.is_empty() => Vec::new(),
        Value::List(_) | Value::Text(_) => {
            vec![
                ("--recompute-granularity".to_owned(), Value::Text("selective".to_owned())),
                ("--recompute-modules".to_owned(), value.clone()),
            ]
        }
        _ => Vec::new(),
    }
}

/// All GPUs of one job.
pub(super) fn gpus(value: &Value) -> SettingEntries {
    vec![("--nnodes".to_owned(), Value::from(1)), ("--nproc-per-node".to_owned(), value.clone())]
}

/// Every layer again, where a switch is on.
pub(super) fn full(value: &Value) -> SettingEntries {
    entries(&[("--recompute-granularity", if on(value) { "full" } else { "none" })])
}

/// Place of models that wait while others work: the host if a switch is on.
pub(super) fn leaves(value: &Value) -> SettingEntries {
    vec![("@phases.offload".to_owned(), Value::Bool(on(value)))]
}

/// A reference beside the policy.
pub(super) fn reference(value: &Value) -> SettingEntries {
    vec![("@phases.reference".to_owned(), Value::Bool(on(value)))]
}

/// The algorithm that an estimator of advantages makes. Source: verl `ppo_trainer.yaml` (`adv_estimator`, gae unless it
/// is said), `core_algos.py`.
pub(super) fn estimator(value: &Value) -> SettingEntries {
    let Some(name) = value.text() else { return Vec::new() };
    let algorithm = match () {
        () if name == "gae" => "ppo",
        () if name.starts_with("grpo") => "grpo",
        () if name.starts_with("rloo") => "rloo",
        () if name.starts_with("reinforce_plus_plus") => "reinforce-plus-plus",
        () => return Vec::new(),
    };
    entries(&[("@rl.algorithm", algorithm)])
}

/// The algorithm that an estimator of advantages makes in slime. Source: slime 624b824 `slime/utils/arguments.py:941`:
/// `gspo` and `cispo` are other losses of GRPO's responses.
pub(super) fn estimator_of_slime(value: &Value) -> SettingEntries {
    let algorithm = match value.text() {
        Some("ppo") => "ppo",
        Some("grpo" | "gspo" | "cispo") => "grpo",
        Some("reinforce_plus_plus" | "reinforce_plus_plus_baseline") => "reinforce-plus-plus",
        _ => return Vec::new(),
    };
    entries(&[("@rl.algorithm", algorithm)])
}

/// Trainings of NeMo-RL without an engine that generates, by the sections of their own. Source: NVIDIA-NeMo/RL 7ea279a
/// `examples/configs/{dpo,sft,rm}.yaml`.
pub(super) fn prefers(_: &Value) -> SettingEntries {
    alone("dpo")
}
pub(super) fn tunes(_: &Value) -> SettingEntries {
    alone("next-token")
}
pub(super) fn rewards(_: &Value) -> SettingEntries {
    alone("reward")
}

fn alone(objective: &str) -> SettingEntries {
    vec![("@objective".to_owned(), Value::from(objective)), ("@phases.framework".to_owned(), Value::Null)]
}

/// The limit of a response.
pub(super) fn limit(value: &Value) -> SettingEntries {
    vec![("@rl.response_limit".to_owned(), value.clone())]
}

/// Engines on the training's GPUs; apart, their number says it.
pub(super) fn colocated(value: &Value) -> SettingEntries {
    if on(value) {
        entries(&[("@rl.placement", "colocated"), ("@phases.placement", "colocated"), ("@phases.offload", "")])
    } else {
        Vec::new()
    }
}

/// Prompts of a step of GRPO.
pub(super) fn prompts(value: &Value) -> SettingEntries {
    let mut made = entries(&[("@rl.algorithm", "grpo")]);
    made.push(("@rl.prompts".to_owned(), value.clone()));
    made
}

/// The program that generates.
pub(super) fn engine(value: &Value) -> SettingEntries {
    match value.text() {
        Some("vllm") => entries(&[("@rl.engine", "vllm")]),
        Some("sglang") => entries(&[("@rl.engine", "sglang")]),
        _ => Vec::new(),
    }
}

/// Format of the engine's weights; a name that is none of them stays unread.
pub(super) fn engine_precision(value: &Value) -> SettingEntries {
    match value.text() {
        Some("fp8") => entries(&[("@rl.rollout_precision", "fp8")]),
        Some("bfloat16" | "bf16") => entries(&[("@rl.rollout_precision", "bf16")]),
        _ => Vec::new(),
    }
}

/// Format of the engine's keys and values: auto is that of the weights that compute.
pub(super) fn cache_precision(value: &Value) -> SettingEntries {
    match value.text() {
        Some(name) if name.starts_with("fp8") => entries(&[("@rl.cache_precision", "fp8")]),
        Some("auto" | "bfloat16") => entries(&[("@rl.cache_precision", "bf16")]),
        _ => Vec::new(),
    }
}

/// A pass of old log-probabilities, unless the ratio is forced to 1.
pub(super) fn forced(value: &Value) -> SettingEntries {
    vec![("@rl.old_log_probs".to_owned(), Value::Bool(!on(value)))]
}

/// Micro-batches of as many sequences as a number of tokens holds.
pub(super) const DYNAMIC: &[(&str, &str)] = &[("@dynamic", "")];
pub(super) const ADAPTED: &[(&str, &str)] = &[("peft.kind", "lora")];

/// The objective of ms-swift's `--rlhf_type` and `--task_type`, as a stage of LLaMA-Factory.
pub(super) fn stage(value: &Value) -> SettingEntries {
    match value.text() {
        None => Vec::new(),
        Some("causal_lm") => entries(&[("stage", "sft")]),
        Some(orpo @ ("orpo" | "simpo")) => entries(&[("stage", "dpo"), ("pref_loss", orpo)]),
        Some("cpo") => entries(&[("stage", "dpo"), ("pref_loss", "simpo")]),
        Some(_) => vec![("stage".to_owned(), value.clone())],
    }
}

/// The same of ms-swift's trainers outside of Megatron, with the loss of those that take TRL's log-probabilities.
pub(super) fn preferred(value: &Value) -> SettingEntries {
    let mut entries = stage(value);
    if matches!(value.text(), Some("dpo" | "kto" | "simpo" | "cpo")) {
        entries.push(("@cross_entropy".to_owned(), Value::from("selective")));
    }
    entries
}

/// The objective that a setting names, as the field of the Run.
pub(super) fn objective(value: &Value) -> SettingEntries {
    let named = value.text().and_then(tuning::objective::named);
    named.map(|named| vec![("@objective".to_owned(), Value::Text(named.id().to_owned()))]).unwrap_or_default()
}

/// Settings of ms-swift that say how long a sequence is, with the objectives that have two sequences a sample: a pack
/// holds as many tokens of both together. Without packing a sample is as long as its data. Source: ms-swift 3602360
/// `swift/dataset/packing.py:113` (a sample is as long as the sum of its lengths), `swift/template/base.py:530`, `:550`
/// (chosen and rejected, or the completion and that of the KL term), `swift/arguments/base_args/base_args.py:198`.
pub(super) const LENGTHS: [(&str, Option<f64>); 11] = [
    ("--max-length", Some(0.0)),
    ("--packing", Some(0.0)),
    ("--packing-length", Some(0.0)),
    ("--rlhf-type=dpo", None),
    ("--rlhf-type=kto", None),
    ("--rlhf-type=rm", None),
    ("^--dataset", Some(0.0)),
    // Answers that are generated are as long as they may be, and of pairs one sequence is counted.
    ("~rlhf", None),
    ("+--tensor-model-parallel-size", Some(1.0)),
    ("+--context-parallel-size", Some(1.0)),
    ("+--sequence-parallel-size", Some(1.0)),
];

/// Length of a sequence by them; none where it is `max_length`. Ranks that share a sequence pad it to equal parts.
pub(super) fn sequence(n: &[f64]) -> Option<f64> {
    let (tokens, packs) = (if n[2] > 0.0 { n[2] } else { n[0] }, n[1] > 0.0);
    if packs {
        let pairs = n[3..6].iter().any(|is| *is > 0.0);
        let halves = pairs && tokens > 0.0;
        return if halves { Some((tokens / 2.0).ceil()) } else { (n[2] > 0.0).then_some(tokens) };
    }
    let ranks = n[8] * n[9] * n[10];
    let parts = if ranks > 1.0 { 2.0 * ranks } else { 1.0 };
    let longest = (n[6] / parts).ceil() * parts;
    let cut = n[0] > 0.0 && n[0] <= longest;
    (longest > 0.0 && n[7] == 0.0 && !cut).then_some(longest)
}

/// The teacher of a distillation.
pub(super) fn teacher(value: &Value) -> SettingEntries {
    let id = value.text().map(tuning::objective::teacher);
    id.map(|id| vec![("@objective.teacher".to_owned(), Value::Text(id.to_owned()))]).unwrap_or_default()
}

/// A rank of adapters, where it is more than 0.
pub(super) fn rank(value: &Value) -> SettingEntries {
    match value {
        Value::Number(rank) if *rank > 0.0 => {
            vec![("peft.kind".to_owned(), Value::Text("lora".to_owned())), ("peft.rank".to_owned(), value.clone())]
        }
        _ => Vec::new(),
    }
}

/// Engines of verl that are read; torchtitan's and Automodel's are not. Source: verl-project/verl 1dda039
/// `verl/workers/config/engine.py` (`strategy`).
pub(super) fn engine_of_verl(value: &Value) -> SettingEntries {
    match value.text() {
        Some("fsdp" | "fsdp2" | "megatron" | "veomni") => entries(&[("@phases.framework", "verl")]),
        _ => Vec::new(),
    }
}

/// Key-value heads; without a number each head has its own. Megatron-LM takes the number only beside a switch of its
/// command line, which settings of its core do not have: NVIDIA/NeMo 00a115f
/// `examples/nlp/language_modeling/conf/megatron_llama_config.yaml` ("If None, normal attention is used"), Megatron-LM
/// d98e8a6 `megatron/core/transformer/transformer_config.py`.
pub(super) fn groups(value: &Value) -> SettingEntries {
    match value {
        Value::Number(count) if *count > 0.0 => {
            let mut set = entries(&[("--group-query-attention", "")]);
            set.push(("--num-query-groups".to_owned(), value.clone()));
            set
        }
        _ => Vec::new(),
    }
}
