//! torchtune's recipes: YAML of components.
//!
//! Source: pytorch/torchtune, `recipes/configs`, `torchtune/models/*/_model_builders.py`: names and defaults.

use super::tuning::{self, Batch, LowRank, Mesh};
use crate::dialect::rows::hub;
use crate::dialect::rows::prelude::*;
use crate::dialect::text::yaml;
use shardscope_core::model::Target;

pub(crate) static DIALECT: Dialect = Dialect {
    id: "torchtune",
    name: "torchtune",
    file: "torchtune.yaml",
    entries,
    keys: &[],
    told: |_| None,
    silent: "torchtune",
    read,
    write,
    print: yaml::print,
};

/// The settings, with the one GPU of a recipe for a single device, which a file names in the command above it and in
/// its own folders: pytorch/torchtune bd2a0fc `recipes/configs/llama2/7B_lora_dpo_single_device.yaml`. A file for
/// several names the file of such a recipe alone.
fn entries(text: &ImportText) -> Result<SettingEntries, Issue> {
    let mut said = yaml::entries(text.text)?;
    // A command's `loss=torchtune.modules...` names another component of the section (bd2a0fc
    // `torchtune/config/_utils.py`, `_merge_yaml_and_cli_args`).
    let components: Vec<String> =
        said.iter().filter_map(|(name, _)| Some(name.strip_suffix("._component_")?.to_owned())).collect();
    for (name, _) in said.iter_mut().filter(|(name, value)| value.text().is_some() && components.contains(name)) {
        name.push_str("._component_");
    }
    let of_one = |line: &str| {
        let mut words = line.trim_start_matches(['#', ' ', '$']).split_whitespace();
        let runs = (words.next(), words.next()) == (Some("tune"), Some("run"));
        let recipe = words.next().unwrap_or_default();
        runs && is_for_one_device(recipe)
    };
    if text.text.lines().any(of_one) {
        said.push(("gpus".to_owned(), Value::Number(1.0)));
    }
    Ok(said)
}

/// True if `recipe`, a word of a command, is a recipe for a single device, whatever launches it.
pub(super) fn is_for_one_device(recipe: &str) -> bool {
    recipe.trim_end_matches(".py").ends_with("_single_device")
}

const MESH: Mesh = Mesh {
    tp: "tensor_parallel_dim",
    cp: "context_parallel_dim",
    cp_before: None,
    shard: "data_parallel_shard_dim",
    replicate: "data_parallel_replicate_dim",
};

const BATCH: Batch = Batch { micro: "batch_size", accumulation: "gradient_accumulation_steps", silent: 1 };

/// Preset, module and builder without its prefix; the first of a preset is written.
const BUILDERS: &[(&str, &str, &str)] = &[
    ("llama-3.1-8b", "llama3_1", "llama3_1_8b"),
    ("llama-3.1-8b", "llama3", "llama3_8b"),
    ("llama-3.1-70b", "llama3_1", "llama3_1_70b"),
    ("llama-3.1-70b", "llama3", "llama3_70b"),
    ("llama-3.1-70b", "llama3_3", "llama3_3_70b"),
    ("llama-3.1-405b", "llama3_1", "llama3_1_405b"),
    ("llama-2-7b", "llama2", "llama2_7b"),
    ("llama-2-13b", "llama2", "llama2_13b"),
    ("llama-2-70b", "llama2", "llama2_70b"),
    ("mistral-7b", "mistral", "mistral_7b"),
    ("qwen-2.5-7b", "qwen2_5", "qwen2_5_7b_base"),
    ("qwen-2.5-72b", "qwen2_5", "qwen2_5_72b_base"),
    ("qwen-3-8b", "qwen3", "qwen3_8b_base"),
    ("qwen-3-32b", "qwen3", "qwen3_32b"),
];

/// Linears of the FFN, which it adapts together.
const FFN: [Target; 3] = [Target::Gate, Target::Up, Target::Down];

fn read(reader: &mut SettingsReader) {
    tuning::begin(reader);
    MESH.read(reader, DIALECT.name);
    model(reader);
    tuning::sequence(reader, &["tokenizer.max_seq_len", "dataset.max_seq_len"], DIALECT.name, 0);
    BATCH.read(reader);
    let max = reader.count("max_steps_per_epoch", "steps");
    let epochs = reader.count("epochs", "epochs").unwrap_or(1);
    reader.steps(max.map(|max| max.saturating_mul(epochs)));
    // Recipes for one device train on one; the others shard by FSDP2.
    let keeps = tuning::switch(reader, "fsdp_reshard_after_forward", "shards again after the forward pass");
    let stage = match keeps {
        _ if reader.run.gpus == 1 => 0,
        Some(false) => 2,
        _ => 3,
    };
    reader.set("zero", stage);
    let component = reader.value("optimizer._component_");
    let moved = matches!(&component, Some(Value::Text(name)) if name.contains("CPUOffload"));
    tuning::optimizer(reader, "optimizer._component_");
    tuning::offload(reader, moved, false, OffloadFramework::Torchao);
    let leaves = reader.flag("fsdp_cpu_offload", "parameters on the host");
    if leaves {
        tuning::offload(reader, false, true, OffloadFramework::Fsdp2);
    }
    let early = reader.flag("optimizer_in_bwd", "the optimizer runs in the backward pass");
    let dtype = reader.word("dtype", "computes in");
    reader.precision(match dtype.as_deref() {
        Some("fp32") => "fp32",
        _ => "bf16-pure",
    });
    // Each gradient is gone as soon as it is there; between ranks it travels as it was. Source: torchtune bd2a0fc
    // `recipes/full_finetune_distributed.py`, `torchtune/training/memory.py` (`register_optim_in_bwd_hooks`).
    if early && reader.run.adapter.method.is_none() {
        let bytes = if dtype.as_deref() == Some("fp32") { 4.0 } else { 2.0 };
        reader.run.precision.parts.grads = Some(0.0);
        reader.run.stack.parts.grad_reduce_bytes = Some(bytes);
    }
    let again = reader.flag("enable_activation_checkpointing", "full recomputation");
    tuning::checkpoint(reader, again);
    let leaves = reader.flag("enable_activation_offloading", "activations on the host");
    tuning::offload_activations(reader, leaves);
    let loss = reader.word("loss._component_", "loss").unwrap_or_default();
    let slices = loss.contains("Chunked") || loss.contains("LinearCrossEntropy");
    tuning::loss(reader, false, slices);
    tuning::objective::of_torchtune(reader, &loss);
    tuning::compile(reader, "compile");
    reader.run.flash_attention = None;
}

/// The release that a builder without its prefix is of, by its whole name: `llama3_2_1b` of the module `llama3_2` is
/// llama3.2-1b.
fn released(component: &str, builder: &str) -> Option<Based<ModelParts>> {
    let module = component.rsplit('.').nth(1)?;
    let size = builder.strip_prefix(module)?.strip_prefix('_')?.trim_end_matches("_base");
    hub::model(&format!("{}-{}", module.replace('_', "."), size.replace('_', ".")))
}

fn model(reader: &mut SettingsReader) {
    let component = match reader.value("model._component_") {
        Some(Value::Text(component)) => component,
        _ => String::new(),
    };
    let builder = component.rsplit('.').next().unwrap_or_default();
    let (quantised, plain) = match builder.strip_prefix("qlora_") {
        Some(plain) => (true, plain),
        None => (false, builder),
    };
    let (adapts, plain) = match plain.strip_prefix("lora_") {
        Some(plain) => (true, plain),
        None => (quantised, plain),
    };
    let plain = plain.trim_end_matches("_instruct");
    let same = |builder: &str| builder == plain || builder.trim_end_matches("_base") == plain;
    let preset = BUILDERS.iter().find(|(_, _, builder)| same(builder)).map(|(id, ..)| Based::preset(id));
    match preset.or_else(|| released(&component, plain)) {
        Some(model) => {
            reader.note("model._component_", t!("{what} {value}", what = "model", value = component.clone()));
            hub::take(reader, &model);
        }
        None if component.is_empty() => {
            reader.assume("the model, as on this page: the text does not say");
        }
        None => {
            // What an export says for shapes of one's own.
            if builder != "model" {
                reader.leave("model._component_");
            }
            reader.assume(t!(
                "the model, as on this page: {name} is no preset; import its config.json first",
                name = component.clone()
            ));
        }
    }
    let quantised = quantised || reader.flag("model.quantize_base", "base in 4 bits");
    let rank = reader.count("model.lora_rank", "rank of the adapters");
    let names_attention = reader.has("model.lora_attn_modules");
    let attention = tuning::targets(reader, "model.lora_attn_modules");
    let ffn = reader.flag("model.apply_lora_to_mlp", "adapters beside the FFN");
    let dora = reader.flag("model.use_dora", "DoRA");
    if reader.flag("model.apply_lora_to_output", "adapters beside the head") {
        reader.assume("no adapter beside the head");
    }
    if !adapts {
        return;
    }
    // Four linears of attention are all of them, without those of the FFN.
    let every = Target::ALL.iter().map(|(target, _)| *target);
    let named = |target: &Target| {
        let named = attention.as_ref();
        named.map_or(!names_attention, |named| named.contains(target))
    };
    let targets: Vec<Target> = every.filter(|target| if FFN.contains(target) { ffn } else { named(target) }).collect();
    let some = targets.len() < Target::ALL.len();
    let base = quantised.then_some(BaseFormat::Nf4Double);
    let targets = some.then_some(targets).filter(|targets| !targets.is_empty());
    LowRank { rank, dora, base, targets, saved: None }.take(reader);
}

fn write(s: &Scenario, writer: &mut SettingsWriter) {
    let run = &s.run;
    let base = run.model.as_published();
    let builder = BUILDERS.iter().find(|(id, ..)| Some(*id) == base);
    let prefix = if s.adapter.is_some() { "lora_" } else { "" };
    match builder {
        Some((_, module, name)) => {
            let name = format!("torchtune.models.{module}.{prefix}{name}");
            writer.say("model._component_", name);
        }
        // Something of it has to say that it is a recipe.
        None => writer.say("model._component_", format!("torchtune.models.{prefix}model")),
    }
    if let Some(adapter) = &s.adapter {
        let names = adapter.targets.iter().filter(|target| !FFN.contains(target));
        let names: Vec<&str> = names
            .map(|target| match target {
                Target::Output => "output_proj",
                other => other.id(),
            })
            .collect();
        writer.say("model.lora_attn_modules", tuning::list(&names));
        writer.say("model.apply_lora_to_mlp", FFN.iter().any(|one| adapter.targets.contains(one)));
        writer.say("model.lora_rank", adapter.rank);
        writer.when(adapter.method == AdapterMethod::Dora, "model.use_dora", true);
        writer.when(matches!(adapter.base, Some(BaseFormat::Nf4 | BaseFormat::Nf4Double)), "model.quantize_base", true);
    }
    writer.say("tokenizer.max_seq_len", run.seq_len);
    BATCH.write(s, writer, run.tp * run.cp);
    writer.maybe("max_steps_per_epoch", steps(run));
    let component = match (run.optimizer, run.offload.framework) {
        (_, Some(OffloadFramework::Torchao)) if run.offload.optimizer.is_some() => {
            "torchao.prototype.low_bit_optim.CPUOffloadOptimizer"
        }
        (Optimizer::Adam8Bit, _) => "bitsandbytes.optim.AdamW8bit",
        (Optimizer::Adam8BitPaged, _) => "bitsandbytes.optim.PagedAdamW8bit",
        (Optimizer::AdamPaged, _) => "bitsandbytes.optim.PagedAdamW32bit",
        (Optimizer::Sgd | Optimizer::SgdMomentum, _) => "torch.optim.SGD",
        _ => "torch.optim.AdamW",
    };
    writer.say("optimizer._component_", component);
    if run.cross_entropy == Some(CrossEntropy::Chunked) {
        writer.say("loss._component_", "torchtune.modules.loss.LinearCrossEntropyLoss");
    }
    writer.say("dtype", if super::computes(&run.precision) == "fp32" { "fp32" } else { "bf16" });
    writer.say("enable_activation_checkpointing", run.recompute == Recompute::Full);
    writer.say("enable_activation_offloading", tuning::offloads_activations(s));
    writer.when(run.stack.parts.compile == Some(true), "compile", true);
    MESH.write(s, writer);
    writer.when(run.zero == 2, "fsdp_reshard_after_forward", false);
    writer.when(run.offload.parameters.is_some(), "fsdp_cpu_offload", true);
}
