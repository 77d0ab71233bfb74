//! LLaMA-Factory's YAML: arguments of Hugging Face's Trainer and its own.
//!
//! Source: hiyouga/LLaMA-Factory, `src/llamafactory/hparams/*.py` and `model/adapter.py`: names, defaults, and what is
//! cast to fp32.

use super::trl::{self, BATCH};
use super::tuning::{self, Files, LowRank, Sharing};
use crate::dialect::rows::hub;
use crate::dialect::rows::prelude::*;
use crate::dialect::text::yaml;
use shardscope_core::message::Message;
use shardscope_core::run::Objective;

pub(crate) static DIALECT: Dialect = Dialect {
    id: "llama-factory",
    name: "LLaMA-Factory",
    file: "llama_factory.yaml",
    entries: trl::entries,
    keys: &["finetuning_type", "cutoff_len", "lora_target", "quantization_bit", "pure_bf16"],
    told,
    silent: "hf-trainer",
    read,
    write,
    print: yaml::print,
};

const NO_CHECKPOINTS: &str = "disable_gradient_checkpointing";

/// Passes over the data of programs whose settings become its own: they change no step.
pub(super) const EPOCHS: &str = "passes over the data";

/// The files that it brings in `examples/deepspeed`.
const FILES: Files = &[
    (2, false, false, "examples/deepspeed/ds_z2_config.json"),
    (2, true, false, "examples/deepspeed/ds_z2_offload_config.json"),
    (3, false, false, "examples/deepspeed/ds_z3_config.json"),
    (3, true, true, "examples/deepspeed/ds_z3_offload_config.json"),
];

fn told(entries: &SettingEntries) -> Option<&'static str> {
    tuning::told(entries, &["enable_liger_kernel", "use_unsloth"])
}

fn read(reader: &mut SettingsReader) {
    tuning::begin(reader);
    let name = hub::read(reader, "model_name_or_path");
    reader.set("tp", 1);
    sequence_parallel(reader);
    tuning::gpus_seen(reader);
    tuning::sequence(reader, &["cutoff_len"], DIALECT.name, 2048);
    let (sharing, _) = tuning::shared(reader);
    adapter(reader, name.as_deref());
    let objective = tuning::objective::of_stage(reader);
    BATCH.read(reader);
    let max = reader.number("max_steps", "steps").and_then(shardscope_core::units::whole);
    reader.steps(max);
    tuning::optimizer(reader, "optim");
    for (name, optimizer) in
        [("use_galore", Optimizer::GaLore), ("use_adam_mini", Optimizer::AdamMini), ("use_muon", Optimizer::Muon)]
    {
        if reader.flag(name, "optimizer") {
            reader.run.optimizer = optimizer;
        }
    }
    // `galore_rank: int = 16`: `finetuning_args.py:279`.
    tuning::galore(reader, 16);
    // Who shards keeps copies in fp32, and adapters do.
    let alone = sharing == Sharing::Nobody && reader.run.adapter.method.is_none();
    if !alone {
        reader.without_default("pure_bf16");
    }
    let pure = reader.flag("pure_bf16", "pure bf16, states too");
    if pure && alone {
        reader.without_default("bf16");
    }
    let (bf16, fp16) = (reader.flag("bf16", "bf16"), reader.flag("fp16", "fp16"));
    tuning::precision(reader, bf16, fp16, pure, sharing);
    if reader.flag("fp8", "fp8 linears") {
        reader.assume("linears in bf16: Accelerate's fp8 keeps weights and states as they are, a step may be shorter");
    }
    let none = reader.value(NO_CHECKPOINTS).is_some_and(|value| !is_off(&value));
    if reader.has(NO_CHECKPOINTS) {
        let what = if none { t!("no {what}", what = "recomputation") } else { Message::plain("full recomputation") };
        reader.note(NO_CHECKPOINTS, what);
    }
    tuning::checkpoint(reader, !none);
    reader.moot(EPOCHS, "about the start or the end of a run: outside of the training step");
    // Its own checkpoints of `use_unsloth_gc` wait on the host.
    let leaves = reader.flag("use_unsloth_gc", "activations on the host");
    tuning::offload_activations(reader, leaves);
    let liger = reader.flag("enable_liger_kernel", "fused kernels of Liger");
    reader.flag("use_unsloth", "fused kernels of Unsloth");
    // Logits are whole in every stage but these: `model/loader.py:142`, `require_logits`.
    tuning::loss(reader, liger && objective == Objective::NextToken, false);
    tuning::compile(reader, "torch_compile");
    tuning::attention(reader, "flash_attn", &["disabled", "off"]);
}

/// Ranks that share a sequence, as ms-swift says them: by heads as far as they divide, by a ring beyond. Source:
/// ms-swift 3602360 `swift/sequence_parallel/sequence_parallel.py:653`.
fn sequence_parallel(reader: &mut SettingsReader) {
    let ranks = reader.count("cp", "CP").unwrap_or(1).max(1);
    reader.set("cp", ranks);
    if ranks == 1 {
        return;
    }
    let heads = reader.run.model.resolve().map_or(ranks, |model| model.heads.max(1));
    let by_heads = (1..=ranks).rev().find(|part| ranks.is_multiple_of(*part) && heads.is_multiple_of(*part));
    reader.run.cp_a2a = by_heads.filter(|part| *part < ranks);
    reader.run.cp_comm = if reader.run.cp_a2a.is_some() { CpComm::Hierarchical } else { CpComm::Ulysses };
}

fn adapter(reader: &mut SettingsReader, name: Option<&str>) {
    let kind = reader.word("finetuning_type", "fine-tuning").unwrap_or("lora".to_owned());
    let bits = reader.count("quantization_bit", "bits of the base");
    let double = tuning::switch(reader, "double_quantization", "double quantisation");
    if !["lora", "longlora"].contains(&kind.as_str()) {
        reader.without_default("lora_rank");
    }
    let rank = reader.count("lora_rank", "rank of the adapters");
    let list = if kind == "oft" { "oft_target" } else { "lora_target" };
    let targets = tuning::targets(reader, list);
    let saved = tuning::saved(reader, "additional_target");
    let dora = reader.flag("use_dora", "DoRA");
    let mut rank = rank;
    let mut saved = saved;
    let mut bf16 = false;
    let active = reader.count("lisa_activated_layers", "layers that LISA trains at a time").filter(|n| *n > 0);
    match kind.as_str() {
        "lora" | "longlora" => {}
        "oft" => rank = Some(rotations(reader)),
        "full" => match active.and_then(|active| tuning::lisa(reader, active)) {
            Some(counted) => {
                (rank, bf16) = (Some(counted.rank), counted.bf16);
                saved = Some(vec![Saved::Embedding, Saved::Head]);
            }
            None => return,
        },
        other => {
            let Some(counted) = tuning::counted(reader, other) else {
                if other == "freeze" {
                    reader.assume(t!("everything is trained: {other} is not known", other = other.to_owned()));
                } else {
                    let message = t!("fine-tuning by {kind} is not read", kind = other.to_owned());
                    reader.errors.push(Issue::error("adapter.method", message));
                }
                return;
            };
            (rank, bf16) = (Some(counted.rank), counted.bf16);
        }
    }
    let base = match bits {
        Some(4) if double == Some(false) => Some(BaseFormat::Nf4),
        Some(4) => Some(BaseFormat::Nf4Double),
        Some(8) => Some(BaseFormat::Int8),
        Some(bits) => {
            reader.assume(t!("the base in 16 bits: {bits} bits are not known", bits));
            None
        }
        None => name.and_then(tuning::stored_as),
    };
    LowRank { rank, dora, base, targets, saved }.take(reader);
    if bf16 {
        reader.run.adapter.dtype = Some(AdapterType::Bf16);
    }
}

/// The rank of LoRA with as many numbers as OFT has: a block of `b` inputs is turned by `b(b - 1) / 2` angles, so an
/// input has
/// `(b - 1) / 2`, where LoRA has its rank of every input and every output. Source: PEFT `tuners/oft/layer.py`; blocks
/// of 32 where `finetuning_args.py` is not told.
fn rotations(reader: &mut SettingsReader) -> u64 {
    let block = reader.count("oft_block_size", "inputs of a block").filter(|block| *block > 0).unwrap_or(32);
    let rank = (block.saturating_sub(1)).div_ceil(4).max(1);
    reader.assume(t!(
        "OFT with blocks of {block} is counted as LoRA of rank {rank}, which has as many numbers",
        block,
        rank
    ));
    rank
}

fn write(s: &Scenario, writer: &mut SettingsWriter) {
    let run = &s.run;
    hub::write(writer, "model_name_or_path", &run.model);
    match &s.adapter {
        None => writer.say("finetuning_type", "full"),
        Some(adapter) => {
            match adapter.base {
                Some(BaseFormat::Nf4 | BaseFormat::Nf4Double) => {
                    writer.say("quantization_bit", 4);
                }
                Some(BaseFormat::Int8) => writer.say("quantization_bit", 8),
                _ => {}
            }
            writer.when(adapter.base == Some(BaseFormat::Nf4), "double_quantization", false);
            writer.say("finetuning_type", "lora");
            writer.say("lora_rank", adapter.rank);
            let names = tuning::target_names(adapter).join(",");
            let every_linear = tuning::all_linear(adapter);
            writer.say("lora_target", if every_linear { "all" } else { &names });
            writer.when(!adapter.saved.is_empty(), "additional_target", tuning::saved_names(adapter).join(","));
            writer.when(adapter.method == AdapterMethod::Dora, "use_dora", true);
        }
    }
    if let Some((stage, loss)) = tuning::objective::stage_of(s.learnt.objective) {
        writer.say("stage", stage);
        writer.maybe("pref_loss", loss);
    }
    writer.say("cutoff_len", run.seq_len);
    BATCH.write(s, writer, 1);
    writer.maybe("max_steps", steps(run));
    match run.optimizer {
        Optimizer::GaLore => writer.say("use_galore", true),
        Optimizer::AdamMini => writer.say("use_adam_mini", true),
        Optimizer::Muon => writer.say("use_muon", true),
        other => tuning::write_optimizer(writer, "optim", other),
    }
    if tuning::is_pure(s) && s.adapter.is_none() {
        writer.say("pure_bf16", true);
    } else {
        tuning::write_half(s, writer);
    }
    writer.when(run.recompute != Recompute::Full, "disable_gradient_checkpointing", true);
    writer.when(tuning::offloads_activations(s), "use_unsloth_gc", true);
    writer.when(run.cross_entropy == Some(CrossEntropy::FusedLinear), "enable_liger_kernel", true);
    writer.when(run.flash_attention == Some(false), "flash_attn", "disabled");
    writer.when(run.stack.parts.compile == Some(true), "torch_compile", true);
    match tuning::sharing(s) {
        Sharing::DeepSpeed => tuning::write_deepspeed(s, writer, "deepspeed", FILES),
        Sharing::Fsdp => writer.say("fsdp", super::trl::words(run)),
        Sharing::Nobody => {}
    }
}
