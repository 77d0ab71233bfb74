//! Training in torchtitan's settings: model, batch, precision, recomputation.

use super::shipped::{self, CHECKPOINT, LOSS, PIECES, SHIPPED, TOKENS};
use crate::dialect::rows::hub;
use crate::dialect::rows::prelude::*;
use crate::dialect::text::python;
use crate::dialect::text::python::CallEnd;

const STEP: &str = "training.num_tokens_per_train_step";
const SPEC: &str = "model_spec";
/// Ends of calls of some classes beside what the settings say of them.
pub(super) const ENDS: &[CallEnd] = &[
    CallEnd {
        class: "CrossEntropyLoss.Config",
        argument: "global_vocab_size",
        place: "torchtitan.models.common.config_utils.decoder_vocab_size",
        rest: "(config.model_spec)",
    },
    CallEnd {
        class: "ConcatThenSplitPackingConfig",
        argument: "dataset",
        place: "torchtitan.hf_datasets.text_datasets.DATASETS",
        rest: "[\"c4_test\"]",
    },
];

/// Places of the names that a file imports.
const LOSSES: &str = "torchtitan.components.loss.CrossEntropyLoss.Config";
const CHECKPOINTS: &str = "torchtitan.distributed.activation_checkpoint.";
const CONVERTERS: &str = "torchtitan.components.quantization.";
/// The setting of the model's files.
const WEIGHTS: &str = "hf_assets_path";
pub(super) const WHOLE: &str = "torchtitan.trainer.Trainer.Config";

/// Takes the model, which the pipeline is cut from.
pub fn model(reader: &mut SettingsReader) {
    let mut said = Vec::new();
    let mut text = |reader: &mut SettingsReader, name: &str, what: &'static str| match reader.value(name) {
        Some(Value::Text(value)) => {
            said.push((name.to_owned(), t!("{what} {value}", what, value = value.clone())));
            Some(value)
        }
        _ => None,
    };
    text(reader, python::FUNCTION, "function");
    // Since 2026 `--module llama3 --config llama3_8b` names both, or a function that makes them.
    let begun = shipped::begun(&reader.said());
    let module = text(reader, "module", "model");
    let config = text(reader, "config", "configuration").or_else(|| text(reader, python::BEGINS_WITH, "configuration"));
    let spec = text(reader, SPEC, "model").and_then(|path| path.split('.').rev().nth(1).map(str::to_owned));
    let size = text(reader, &format!("{SPEC}.0"), "flavor");
    let before = (text(reader, "model.name", "model"), text(reader, "model.flavor", "flavor"));
    let name = before.0.or(spec).or(begun.map(|shipped| shipped.module.to_owned())).or(module);
    let flavor = before.1.or(size).or_else(|| {
        let rest = config.as_deref()?.strip_prefix(name.as_deref()?)?.to_owned();
        Some(rest.trim_start_matches('_').replace('_', "-"))
    });
    let found = SHIPPED.iter().find(|shipped| {
        name.as_deref() == Some(shipped.module)
            && flavor.as_ref().is_some_and(|flavor| flavor.eq_ignore_ascii_case(shipped.flavor))
    });
    let weights = match reader.last(WEIGHTS) {
        Some(Value::Text(path)) => Some(path.clone()),
        _ => None,
    };
    match (found, weights) {
        (Some(shipped), _) => {
            text(reader, WEIGHTS, "files of");
            hub::take(reader, &Based::preset(shipped.preset));
            for (name, message) in said {
                reader.note(&name, message);
            }
        }
        (None, Some(path)) if name.is_none() && flavor.is_none() || hub::model(&path).is_some() => {
            reader.value(WEIGHTS);
            hub::named(reader, WEIGHTS, &path);
        }
        (None, _) if name.is_none() && flavor.is_none() => {
            reader.assume("the model, as on this page: the text does not say");
        }
        (None, _) => {
            let flavors: Vec<String> =
                SHIPPED.iter().map(|shipped| format!("{} {}", shipped.module, shipped.flavor)).collect();
            let words: Vec<String> = [name, flavor].into_iter().flatten().collect();
            reader.assume(t!(
                "the model, as on this page: {named} is none of {known}",
                named = words.join(" "),
                known = flavors.join(", ")
            ));
        }
    }
}

pub fn read(reader: &mut SettingsReader) {
    batch(reader);
    training(reader);
}

/// A recipe over FSDP's fp32 shards, which are the master weights; over weights that are `kept_in_bf16`, whose
/// gradients and states are as they are.
fn sharded(id: &'static str, kept_in_bf16: bool) -> Based<PrecisionParts> {
    let shards = PrecisionParts { weights: Some(4.0), master: Some(0.0), ..PrecisionParts::default() };
    let parts = if kept_in_bf16 {
        let two = Some(2.0);
        PrecisionParts { weights: two, grads: two, moment1: two, moment2: two, ..shards }
    } else {
        shards
    };
    Based { base: Some(id), parts }
}

/// Takes the batch: tokens since 2026, sequences before.
fn batch(reader: &mut SettingsReader) {
    let run = &reader.run;
    let dp = (run.gpus / (run.tp * run.pp * run.cp).max(1)).max(1);
    let pipeline = run.pp > 1;
    let local = reader
        .count("training.local_batch_size", "sequences per rank")
        .or_else(|| reader.count("training.batch_size", "sequences per rank"));
    let tokens = reader.count(TOKENS, "tokens of a micro-batch");
    let pieces = reader.count(PIECES, "micro-batches of the pipeline");
    let step = reader.number(STEP, "tokens a step").filter(|tokens| *tokens > 0.0).and_then(whole);
    let sequences =
        reader.number("training.global_batch_size", "global batch").filter(|all| *all > 0.0).and_then(whole);
    let piece = reader.count("parallelism.pipeline_parallel_microbatch_size", "micro-batch");
    let (micro, each) = match (local, tokens) {
        (Some(local), _) => (if pipeline { piece.unwrap_or(1) } else { local }, local),
        (None, Some(tokens)) => {
            let length = reader.run.seq_len.max(1);
            if tokens < length {
                reader.assume(t!("sequences of {tokens} tokens: a micro-batch has no more", tokens));
                reader.set("seq_len", tokens.max(1));
            }
            let micro = (tokens / length).max(1);
            (micro, if pipeline { micro.saturating_mul(pieces.unwrap_or(1)) } else { micro })
        }
        (None, None) => {
            reader.assume("the batch, as on this page: training.local_batch_size is not there");
            return;
        }
    };
    reader.set("micro_batch", micro);
    let step = step.map(|tokens| (tokens / reader.run.seq_len.max(1)).max(1));
    let global = sequences.or(step).unwrap_or(each.saturating_mul(dp));
    reader.set("global_batch", global);
}

fn training(reader: &mut SettingsReader) {
    // The stack follows this setting (`compiled`).
    reader.flag("compile.enable", "compiled");
    // Before 2025-07, `job_config.py`.
    reader.flag("training.compile", "compiled");
    reader.word("compile.components", "compiled parts:");
    let kept = reader.word("training.dtype", "weights kept in");
    let kept_in_bf16 = kept.as_deref() == Some("bfloat16");
    let reduced = reader.word("training.mixed_precision_reduce", "gradients reduced in");
    let bytes = if reduced.as_deref() == Some("bfloat16") { 2.0 } else { 4.0 };
    reader.run.stack.parts.grad_reduce_bytes = (kept_in_bf16 != (bytes < 4.0)).then_some(bytes);
    if reader.any([ASYNC, "parallelism.enable_async_tensor_parallel"], "async TP") {
        reader.run.stack.parts.tp_overlap = Some(TpOverlap::AsyncTp);
    }
    graphs_and_loss(reader);
    let dtype = reader.word("training.mixed_precision_param", "computes in");
    let mut converters = reader.word("model.converters", "converters").unwrap_or_default();
    for at in 0..4 {
        let name = format!("{SPEC}.converters.{at}");
        converters.extend(reader.word(&name, "converter").map(|name| format!(" {name}")));
        reader.flag(&format!("{name}.model_compile_enabled"), "compiled");
    }
    let converts = |name: &str| converters.contains(name);
    let blocks =
        [("nvfp4", "nvfp4"), ("NVFP4", "nvfp4"), ("linear.mx", "mxfp8"), ("mxfp8", "mxfp8"), ("MXFP8", "mxfp8")];
    let recipe = reader
        .word("quantize.linear.float8.recipe_name", "fp8 scales by")
        .or_else(|| reader.word("float8.recipe_name", "fp8 scales by"))
        .or_else(|| reader.word(&format!("{SPEC}.converters.0.recipe_name"), "fp8 scales by"));
    // The class scales by rows unless it is told.
    let by_row = converts("Float8") || recipe.is_some_and(|recipe| recipe.starts_with("rowwise"));
    match blocks.iter().find(|(name, _)| converts(name)) {
        Some((_, id)) => reader.policy(sharded(id, kept_in_bf16)),
        None if by_row && (converts("float8") || converts("Float8")) => {
            reader.policy(sharded("fp8-rowwise", kept_in_bf16));
        }
        None if kept_in_bf16 && converts("float8") => reader.policy(sharded("te-fp8", true)),
        None => reader.precision(match dtype.as_deref() {
            _ if converts("float8") => "te-fp8",
            Some("float32") => "fp32",
            _ if kept_in_bf16 => "bf16-pure",
            _ => "fsdp-mixed",
        }),
    }
    let place = ["optimizer.name", "optimizer"].into_iter().find(|name| reader.has(name)).unwrap_or("optimizer.name");
    let named = reader.word(place, "optimizer");
    match named.as_deref().map(shipped::last) {
        None | Some("AdamW" | "Adam" | "default_adamw") => reader.run.optimizer = Optimizer::Adam,
        Some(name) if name.to_ascii_lowercase().contains("muon") => reader.run.optimizer = Optimizer::Muon,
        Some(other) => reader.unknown_optimizer(place, other),
    }
    recomputation(reader);
    let count = reader.count("training.steps", "steps");
    reader.steps(count);
}

/// What is recomputed: "none", "selective", "full" or `memory_budget`.
const MODE: &str = "activation_checkpoint.mode";

fn recomputation(reader: &mut SettingsReader) {
    let class = reader.word(CHECKPOINT, "recomputation");
    let off = reader.last(CHECKPOINT) == Some(&Value::Null);
    let mode = match class.as_deref().map(shipped::last_class) {
        _ if off => Some("none".to_owned()),
        Some("FullAC") => Some("full".to_owned()),
        Some("MemoryBudgetAC") => Some("memory_budget".to_owned()),
        // Programs that hand their files on read "none" as null.
        _ if reader.last(MODE) == Some(&Value::Null) => {
            reader.note(MODE, "nothing is recomputed");
            reader.value(MODE);
            Some("none".to_owned())
        }
        _ => reader.word(MODE, "recomputation"),
    };
    let option = reader.word("activation_checkpoint.selective_ac_option", "selective:");
    let silent = if class.is_some() { "op" } else { "2" };
    let recompute = match (mode.as_deref().unwrap_or("selective"), option.as_deref().unwrap_or(silent)) {
        ("none", _) => Recompute::None,
        ("memory_budget", _) => {
            // "When mode is set to "memory_budget", this value determines how much partitioner in the compiler should
            // trade off compute for memory": 0.5 where it is silent.
            let share = reader.number("activation_checkpoint.memory_budget", "share of activations kept");
            Recompute::Budget(share.unwrap_or(0.5).clamp(0.0, 1.0))
        }
        ("full", _) => Recompute::Full,
        ("selective", "op") => Recompute::OpSelective,
        ("selective", every) => {
            let every: u64 = every.parse().unwrap_or(2);
            let run = &reader.run;
            let layers = run.model.resolve().map_or(0, |model| model.layers);
            let held = layers / run.pp.max(1) / every.max(1);
            reader.assume(t!("one layer of every {every} is recomputed: {held} of a stage", every, held));
            Recompute::Layers(held)
        }
        (other, _) => {
            reader.assume(t!("nothing is recomputed: mode {other} is not modelled", other = other.to_owned()));
            Recompute::None
        }
    };
    reader.recompute(recompute);
}

/// Takes what is captured as a graph, how the loss is computed, and how experts are chosen: since 2026 only.
fn graphs_and_loss(reader: &mut SettingsReader) {
    if reader.flag(NO_GRAPHS, "no CUDA graphs") {
        reader.set("cuda_graphs", false);
    }
    let loss = reader.word(LOSS, "loss");
    reader.run.cross_entropy = match loss.as_deref().map(shipped::last_class) {
        Some("ChunkedLossWrapper") => Some(CrossEntropy::Chunked),
        _ => None,
    };
    if reader.flag("debug.moe_force_load_balance", "the same tokens for every expert") {
        reader.run.moe_balance = Some(Balance::Forced);
    }
}

/// The switch that overlaps tensor parallelism with its products, and the one against graphs.
const ASYNC: &str = "compile.enable_async_tensor_parallel";
const NO_GRAPHS: &str = "training.disable_cuda_graphs";

/// Says the model where torchtitan has it, by the configuration that it ships of it or of its family.
pub(crate) fn write_model(s: &Scenario, writer: &mut SettingsWriter) {
    let shipped = SHIPPED.iter().find(|shipped| {
        shipped.function.is_some() && Based::<ModelParts>::preset(shipped.preset).resolve().as_ref() == Ok(&s.model)
    });
    let Some((shipped, function)) = shipped.and_then(|shipped| Some((shipped, shipped.function?))) else {
        return writer.say(python::BEGINS_WITH, WHOLE);
    };
    let place = format!("torchtitan.models.{}", shipped.module);
    writer.say(python::BEGINS_WITH, format!("{place}.config_registry.{function}"));
    writer.say(SPEC, format!("{place}.model_registry"));
    writer.say(&format!("{SPEC}.0"), shipped.flavor);
    let converter = match s.run.precision.base {
        Some("mxfp8") => "MXFP8LinearConverter",
        Some("nvfp4") => "NVFP4LinearConverter",
        _ if computes(&s.run.precision) == "fp8" => "Float8LinearConverter",
        _ => return,
    };
    writer.say(&format!("{SPEC}.converters.0"), format!("{CONVERTERS}{converter}.Config"));
    writer.say(&format!("{SPEC}.converters.0.model_compile_enabled"), s.software.compile);
}

pub fn write(s: &Scenario, writer: &mut SettingsWriter) {
    let run = &s.run;
    writer.say(TOKENS, run.micro_batch.saturating_mul(run.seq_len));
    writer.say(STEP, run.global_batch.saturating_mul(run.seq_len));
    writer.maybe("training.steps", steps(run));
    let software = &s.software;
    writer.say("compile.enable", software.compile);
    writer.say(ASYNC, software.tp_overlap == TpOverlap::AsyncTp);
    writer.when(!software.graphs.any(), NO_GRAPHS, true);
    writer.when(is_precision(run, "bf16-pure"), "training.dtype", "bfloat16");
    let whole = computes(&run.precision) == "fp32";
    writer.say("training.mixed_precision_param", if whole { "float32" } else { "bfloat16" });
    writer.when(run.moe_balance == Some(Balance::Forced), "debug.moe_force_load_balance", true);
    writer.when(software.cross_entropy != CrossEntropy::Chunked, LOSS, LOSSES);
    writer.when(run.optimizer != Optimizer::Muon, "optimizer", "torchtitan.components.optimizer.default_adamw");
    let policy = match run.recompute {
        Recompute::None => return writer.say(CHECKPOINT, Value::Null),
        Recompute::Selective | Recompute::OpSelective => "SelectiveAC",
        Recompute::Full | Recompute::Layers(_) | Recompute::Modules(_) => "FullAC",
        Recompute::Budget(_) => "MemoryBudgetAC",
    };
    writer.say(CHECKPOINT, format!("{CHECKPOINTS}{policy}.Config"));
    if let Recompute::Budget(share) = run.recompute {
        writer.say("activation_checkpoint.memory_budget", share);
    }
}
