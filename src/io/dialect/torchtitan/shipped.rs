//! The configurations that torchtitan ships, by the function that makes each, and the models that they are of.
//!
//! Source: pytorch/torchtitan at b5bcd76 (August 2026), `torchtitan/models/*/config_registry.py` and
//! `config/configs.py`.

use crate::dialect::SettingEntries;
use crate::dialect::text::python;
use crate::dialect::text::words::Script;
use shardscope_core::run::Value;

/// The sequence length, and its name before 2026.
pub(super) const LENGTH: &str = "training.max_context_length";
pub(super) const LENGTH_BEFORE: &str = "training.seq_len";
/// Tokens of a micro-batch and a rank; micro-batches of a pipeline.
pub(super) const TOKENS: &str = "training.num_tokens_per_microbatch_per_dp_rank";
pub(super) const PIECES: &str = "parallelism.num_pp_microbatches";
/// Recomputation and the loss.
pub(super) const CHECKPOINT: &str = "activation_checkpoint";
pub(super) const LOSS: &str = "loss";

/// A model, and the shipped configuration of it or of its family.
pub(super) struct Shipped {
    /// Folder of the family.
    pub module: &'static str,
    /// Name of the size within it.
    pub flavor: &'static str,
    pub preset: &'static str,
    /// The function; none where torchtitan has removed the model.
    pub function: Option<&'static str>,
    /// Settings of the function beside the model, as arguments.
    pub settings: &'static str,
}

const fn shipped(
    module: &'static str,
    flavor: &'static str,
    preset: &'static str,
    function: &'static str,
    settings: &'static str,
) -> Shipped {
    Shipped { module, flavor, preset, function: Some(function), settings }
}

/// Models of before that are not there any more.
const fn removed(module: &'static str, flavor: &'static str, preset: &'static str) -> Shipped {
    Shipped { module, flavor, preset, function: None, settings: "" }
}

const SELECTIVE: &str = "SelectiveAC.Config";

/// All of them that are presets.
pub(super) const SHIPPED: [Shipped; 17] = [
    shipped("llama3", "8B", "llama-3.1-8b", "llama3_8b", "--tokens 8192 --length 8192"),
    shipped("llama3", "70B", "llama-3.1-70b", "llama3_70b", "--tokens 65536 --length 8192 --tp 8 --full"),
    shipped(
        "llama3",
        "405B",
        "llama-3.1-405b",
        "llama3_405b",
        "--tokens 16384 --length 8192 --tp 8 --full --compile --async --converter Float8LinearConverter.Config",
    ),
    shipped(
        "deepseek_v3",
        "671B",
        "deepseek-v3",
        "deepseek_v3_671b",
        "--tokens 16384 --length 4096 --ep 2 --schedule Interleaved1F1B",
    ),
    shipped("qwen3", "8B", "qwen-3-8b", "sft_qwen3_8b_math", "--tokens 2048 --length 2048 --compile"),
    shipped("qwen3", "32B", "qwen-3-32b", "qwen3_32b", "--tokens 8192 --length 4096 --full"),
    shipped("qwen3", "30B-A3B", "qwen-3-30b-a3b", "qwen3_30b_a3b", "--tokens 8192 --length 4096 --full"),
    shipped("qwen3", "235B-A22B", "qwen-3-235b-a22b", "qwen3_30b_a3b", "--tokens 8192 --length 4096 --full"),
    shipped("qwen3_5", "27B", "qwen-3.5-27b", "qwen35_27b", "--tokens 16384 --length 4096 --tp 4 --full"),
    shipped(
        "qwen3_5",
        "35B-A3B",
        "qwen-3.5-35b-a3b",
        "qwen35_35b_a3b",
        "--tokens 16384 --length 4096 --tp 2 --ep 8 --full",
    ),
    shipped(
        "qwen3_5",
        "122B-A10B",
        "qwen-3.5-122b-a10b",
        "qwen35_122b_a10b",
        "--tokens 16384 --length 4096 --tp 4 --ep 8 --full",
    ),
    shipped(
        "qwen3_5",
        "397B-A17B",
        "qwen-3.5-397b-a17b",
        "qwen35_397b_a17b",
        "--tokens 16384 --length 4096 --tp 8 --ep 16 --full",
    ),
    shipped("gpt_oss", "20b", "gpt-oss-20b", "gpt_oss_20b", "--tokens 8192 --length 8192 --full"),
    shipped("gpt_oss", "120b", "gpt-oss-120b", "gpt_oss_120b", "--tokens 8192 --length 8192 --full"),
    shipped(
        "kimi_k2_7",
        "moonlight-16B-A3B",
        "moonlight-16b-a3b",
        "moonlight_16b_a3b",
        "--tokens 16384 --length 4096 --ep 8 --full --optimizer dist_muon",
    ),
    removed("llama4", "17bx16e", "llama-4-scout"),
    removed("llama4", "17bx128e", "llama-4-maverick"),
];

/// Short names of the settings above.
const SETTINGS: [(&str, &str); 10] = [
    ("--tokens", TOKENS),
    ("--length", LENGTH),
    ("--tp", "parallelism.tensor_parallel_degree"),
    ("--ep", "parallelism.expert_parallel_degree"),
    ("--schedule", "parallelism.pipeline_parallel_schedule"),
    ("--compile", "compile.enable"),
    ("--async", "compile.enable_async_tensor_parallel"),
    ("--converter", "model_spec.converters.0"),
    ("--optimizer", "optimizer"),
    ("--full", CHECKPOINT),
];

/// The last name of a dotted one.
pub(super) fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The class of a configuration: `FullAC` of `activation_checkpoint.FullAC.Config`.
pub(super) fn last_class(name: &str) -> &str {
    last(name.strip_suffix(".Config").unwrap_or(name))
}

/// The shipped configuration that the settings begin with.
pub(super) fn begun(entries: &SettingEntries) -> Option<&'static Shipped> {
    let named = |wanted: &str| entries.iter().rev().find(|(name, _)| name == wanted)?.1.text();
    let function = named(python::BEGINS_WITH).map(last).or_else(|| named("config"))?;
    SHIPPED.iter().find(|shipped| shipped.function == Some(function))
}

/// True if settings are of torchtitan as it is since its configurations are Python.
pub(super) fn is_python(entries: &SettingEntries) -> bool {
    let marks = [python::FUNCTION, python::BEGINS_WITH, "module", "config", "model_spec", LENGTH];
    entries.iter().any(|(name, _)| marks.contains(&&**name) || name == TOKENS)
}

/// Meaning where such settings are silent: the shipped configuration's, or what every configuration begins with.
pub(super) fn defaults(entries: &SettingEntries) -> SettingEntries {
    let text = |text: &str| Value::Text(text.to_owned());
    let mut out = vec![(CHECKPOINT.to_owned(), text(SELECTIVE))];
    let Some(shipped) = begun(entries) else {
        out.push((TOKENS.to_owned(), Value::from(16384)));
        out.push((LENGTH.to_owned(), Value::from(2048)));
        return out;
    };
    out.push((LOSS.to_owned(), text("ChunkedLossWrapper.Config")));
    out.push(("model_spec.0".to_owned(), text(shipped.flavor)));
    // A model that the file makes itself has the converters that the file gives it, or none.
    let is_replaced = entries.iter().any(|(name, _)| name == "model_spec.0");
    for (name, value) in Script::read(shipped.settings).arguments() {
        let setting =
            SETTINGS.iter().find(|(short, whole)| *short == name && !(is_replaced && whole.starts_with("model_spec")));
        let value = if name == "--full" { text("FullAC.Config") } else { value };
        out.extend(setting.map(|(_, whole)| ((*whole).to_owned(), value)));
    }
    out
}
