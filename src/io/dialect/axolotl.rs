//! axolotl's YAML.
//!
//! Source: axolotl-ai-cloud/axolotl, its folder `utils/schemas`: names and defaults.

use super::tuning::{self, Batch, Files, LowRank, Mesh, Sharing};
use crate::dialect::rows::hub;
use crate::dialect::rows::prelude::*;
use crate::dialect::text::yaml;

pub(crate) static DIALECT: Dialect = Dialect {
    id: "axolotl",
    name: "axolotl",
    file: "axolotl.yaml",
    entries: |text| yaml::entries(text.text),
    keys: &["base_model"],
    told,
    silent: "hf-trainer",
    read,
    write,
    print: yaml::print,
};

const MESH: Mesh = Mesh {
    tp: "tensor_parallel_size",
    cp: "context_parallel_size",
    cp_before: Some("sequence_parallel_degree"),
    shard: "dp_shard_size",
    replicate: "dp_replicate_size",
};

const BATCH: Batch = Batch { micro: "micro_batch_size", accumulation: "gradient_accumulation_steps", silent: 1 };

/// The files that it brings in `deepspeed_configs`.
const FILES: Files = &[
    (1, false, false, "deepspeed_configs/zero1.json"),
    (2, false, false, "deepspeed_configs/zero2.json"),
    (3, false, false, "deepspeed_configs/zero3_bf16.json"),
    (3, true, true, "deepspeed_configs/zero3_bf16_cpuoffload_all.json"),
    (3, false, true, "deepspeed_configs/zero3_bf16_cpuoffload_params.json"),
];

const CUT: &str = "axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin";

/// Fused norms and rotary embeddings come by Liger's or Unsloth's switches.
fn told(entries: &SettingEntries) -> Option<&'static str> {
    let fused = ["liger_rms_norm", "liger_rope", "unsloth_rms_norm", "unsloth_rope", "flash_attn_rms_norm"];
    tuning::told(entries, &fused)
}

fn read(reader: &mut SettingsReader) {
    tuning::begin(reader);
    let name = hub::read(reader, "base_model");
    MESH.read(reader, DIALECT.name);
    tuning::sequence(reader, &["sequence_len"], DIALECT.name, 2048);
    let (sharing, fsdp) = tuning::shared(reader);
    adapter(reader, name.as_deref());
    BATCH.read(reader);
    let max = reader.count("max_steps", "steps");
    reader.steps(max);
    tuning::optimizer(reader, "optimizer");
    let bf16 = reader.flag("bf16", "bf16") | reader.flag("bfloat16", "bf16");
    let fp16 = reader.flag("fp16", "fp16") | reader.flag("float16", "fp16");
    // It loads the weights in what it computes in. Its own `fsdp2_prepare_model` casts no shard to fp32, which that of
    // Accelerate does. Source: axolotl 067b021 `monkeypatch/accelerate/fsdp2.py:539`; Accelerate 16cb6eb
    // `utils/fsdp_utils.py:808`.
    let kept = if fsdp.as_ref().is_some_and(|fsdp| fsdp.second) { Sharing::Nobody } else { sharing };
    tuning::precision(reader, bf16, fp16, true, kept);
    let wrapped = fsdp.as_ref().and_then(|fsdp| fsdp.checkpoints);
    let kept = reader.word("gradient_checkpointing", "full recomputation");
    let leaves = matches!(kept.as_deref(), Some("offload" | "unsloth" | "offload_disk"));
    let by_trainer = kept.is_some_and(|word| word != "false");
    tuning::checkpoint(reader, by_trainer || wrapped == Some(true));
    let moved = reader.word("activation_offloading", "activations on the host");
    let moved = moved.is_some_and(|word| word != "false");
    tuning::offload_activations(reader, leaves || moved || fsdp.is_some_and(|fsdp| fsdp.activations));
    let plugins = reader.word("plugins", "plugins").unwrap_or_default();
    // axolotl 067b021 `integrations/cut_cross_entropy/args.py:33`: on unless it is switched off.
    let cuts = tuning::switch(reader, "cut_cross_entropy", "loss fused with the head");
    let liger = reader.flag("liger_fused_linear_cross_entropy", "loss fused with the head");
    let fused = liger || plugins.contains("CutCrossEntropy") && cuts != Some(false);
    let chunked = reader.flag("chunked_cross_entropy", "loss by slices");
    // The settings that `stack` looks at.
    for name in ["liger_rms_norm", "liger_rope"] {
        reader.flag(name, "fused kernels of Liger");
    }
    if reader.flag("liger_glu_activation", "SwiGLU as one kernel") {
        reader.run.fused_swiglu = Some(true);
    }
    tuning::loss(reader, fused, chunked);
    tuning::objective::of_axolotl(reader);
    tuning::preferences(reader);
    tuning::compile(reader, "torch_compile");
    tuning::attention(reader, "attn_implementation", &["eager"]);
    if tuning::switch(reader, "eager_attention", "attention with its scores in memory") == Some(true) {
        reader.run.flash_attention = Some(false);
    }
    for name in ["flash_attention", "sdp_attention", "xformers_attention"] {
        reader.flag(name, "attention without stored scores");
    }
}

fn adapter(reader: &mut SettingsReader, name: Option<&str>) {
    let method = reader.word("adapter", "adapters");
    let four = reader.flag("load_in_4bit", "base in 4 bits");
    let eight = reader.flag("load_in_8bit", "base in 8 bits");
    let gptq = reader.flag("gptq", "base of GPTQ");
    let rank = reader.count("lora_r", "rank of the adapters");
    let every_linear = reader.flag("lora_target_linear", "adapters beside all linears");
    let targets = tuning::targets(reader, "lora_target_modules");
    let saved = tuning::saved(reader, "lora_modules_to_save");
    let dora = reader.flag("peft_use_dora", "DoRA");
    let double = tuning::switch(reader, "bnb_config_kwargs.bnb_4bit_use_double_quant", "double quantisation");
    let Some(method) = method else { return };
    let base = match (gptq, four || method == "qlora", eight) {
        (true, ..) => Some(BaseFormat::Gptq4),
        (_, true, _) if double == Some(false) => Some(BaseFormat::Nf4),
        (_, true, _) => Some(BaseFormat::Nf4Double),
        (_, _, true) => Some(BaseFormat::Int8),
        _ => name.and_then(tuning::stored_as),
    };
    let targets = targets.filter(|_| !every_linear);
    LowRank { rank, dora, base, targets, saved }.take(reader);
}

fn write(s: &Scenario, writer: &mut SettingsWriter) {
    let run = &s.run;
    hub::write(writer, "base_model", &run.model);
    write_adapter(s, writer);
    writer.say("sequence_len", run.seq_len);
    BATCH.write(s, writer, run.tp * run.cp);
    writer.maybe("max_steps", steps(run));
    match run.optimizer {
        Optimizer::Muon => writer.say("optimizer", "muon"),
        other => tuning::write_optimizer(writer, "optimizer", other),
    }
    tuning::write_half(s, writer);
    writer.say("gradient_checkpointing", run.recompute == Recompute::Full);
    writer.when(tuning::offloads_activations(s), "activation_offloading", true);
    match run.cross_entropy {
        Some(CrossEntropy::FusedLinear) => writer.say("plugins", tuning::list(&[CUT])),
        Some(CrossEntropy::Chunked) => writer.say("chunked_cross_entropy", true),
        _ => {}
    }
    writer.when(run.flash_attention == Some(false), "attn_implementation", "eager");
    writer.when(run.stack.parts.compile == Some(true), "torch_compile", true);
    MESH.write(s, writer);
    match tuning::sharing(s) {
        Sharing::DeepSpeed => tuning::write_deepspeed(s, writer, "deepspeed", FILES),
        Sharing::Fsdp => {
            writer.say("fsdp_version", 2);
            writer.say("fsdp_config.offload_params", run.offload.parameters.is_some());
            writer.say("fsdp_config.reshard_after_forward", run.zero == 3);
        }
        Sharing::Nobody => {}
    }
}

fn write_adapter(s: &Scenario, writer: &mut SettingsWriter) {
    let Some(adapter) = &s.adapter else { return };
    let four = matches!(adapter.base, Some(BaseFormat::Nf4 | BaseFormat::Nf4Double));
    writer.say("adapter", if four { "qlora" } else { "lora" });
    match adapter.base {
        _ if four => writer.say("load_in_4bit", true),
        Some(BaseFormat::Int8) => writer.say("load_in_8bit", true),
        Some(BaseFormat::Gptq4 | BaseFormat::Gptq4Row | BaseFormat::Gptq4Torch) => {
            writer.say("gptq", true);
        }
        _ => {}
    }
    writer.when(adapter.base == Some(BaseFormat::Nf4), "bnb_config_kwargs.bnb_4bit_use_double_quant", false);
    writer.say("lora_r", adapter.rank);
    if tuning::all_linear(adapter) {
        writer.say("lora_target_linear", true);
    } else {
        writer.say("lora_target_modules", tuning::list(&tuning::target_names(adapter)));
    }
    tuning::write_saved(writer, "lora_modules_to_save", adapter);
    writer.when(adapter.method == AdapterMethod::Dora, "peft_use_dora", true);
}
