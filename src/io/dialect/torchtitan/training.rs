//! Training in torchtitan's settings: model, batch, precision, recomputation.

use crate::core::run::{Based, ModelParts, Optimizer, PrecisionParts, Recompute, Scenario, TpOverlap, Value};
use crate::core::t;
use crate::io::dialect::settings_reader::SettingsReader;
use crate::io::dialect::settings_writer::SettingsWriter;
use crate::io::dialect::{computes, is_precision};

/// Name and flavor of the models that are presets too.
const FLAVORS: [(&str, &str, &str); 12] = [
    ("llama3", "8B", "llama-3.1-8b"),
    ("llama3", "70B", "llama-3.1-70b"),
    ("llama3", "405B", "llama-3.1-405b"),
    ("deepseek_v3", "671B", "deepseek-v3"),
    ("qwen3", "8B", "qwen-3-8b"),
    ("qwen3", "32B", "qwen-3-32b"),
    ("qwen3", "30B-A3B", "qwen-3-30b-a3b"),
    ("qwen3", "235B-A22B", "qwen-3-235b-a22b"),
    ("llama4", "17bx16e", "llama-4-scout"),
    ("llama4", "17bx128e", "llama-4-maverick"),
    ("gpt_oss", "20b", "gpt-oss-20b"),
    ("gpt_oss", "120b", "gpt-oss-120b"),
];

/// Takes the model, which the pipeline is cut from.
pub fn model(reader: &mut SettingsReader) {
    // Since 2026 `--module llama3 --config llama3_8b` names both.
    let module = reader.word("module", "model");
    let config = reader.word("config", "configuration");
    let name = reader.word("model.name", "model").or(module);
    let flavor = reader.word("model.flavor", "flavor").or_else(|| {
        let rest = config?.strip_prefix(name.as_deref()?)?.to_owned();
        Some(rest.trim_start_matches('_').replace('_', "-"))
    });
    let found = FLAVORS.iter().find(|(known, of, _)| {
        name.as_deref() == Some(known) && flavor.as_ref().is_some_and(|flavor| flavor.eq_ignore_ascii_case(of))
    });
    match (found, name, flavor) {
        (Some((.., id)), ..) => {
            let preset: Based<ModelParts> = Based::preset(id);
            if reader.run.model.resolve() != preset.resolve() {
                reader.run.model = preset;
            }
        }
        (None, None, None) => reader.assume("the model, as on this page: the text does not say"),
        (None, name, flavor) => {
            let known: Vec<String> = FLAVORS.iter().map(|(name, flavor, _)| format!("{name} {flavor}")).collect();
            let words: Vec<String> = [name, flavor].into_iter().flatten().collect();
            reader.assume(t!(
                "the model, as on this page: {named} is none of {known}",
                named = words.join(" "),
                known = known.join(", ")
            ));
        }
    }
}

/// Takes all else.
pub fn read(reader: &mut SettingsReader) {
    batch(reader);
    training(reader);
}

/// A recipe over FSDP's fp32 shards, which are the master weights.
fn sharded(id: &'static str) -> Based<PrecisionParts> {
    let parts = PrecisionParts { weights: Some(4.0), master: Some(0.0), ..PrecisionParts::default() };
    Based { base: Some(id), parts }
}

fn batch(reader: &mut SettingsReader) {
    let local = reader
        .count("training.local_batch_size", "sequences per rank")
        .or_else(|| reader.count("training.batch_size", "sequences per rank"));
    let global = reader.number("training.global_batch_size", "global batch");
    let piece = reader.count("parallelism.pipeline_parallel_microbatch_size", "micro-batch");
    let run = &reader.run;
    let dp = (run.gpus / (run.tp * run.pp * run.cp).max(1)).max(1);
    let Some(local) = local else {
        reader.assume("the batch, as on this page: training.local_batch_size is not there");
        return;
    };
    let micro = if run.pp > 1 { piece.unwrap_or(1) } else { local };
    reader.set("micro_batch", &Value::from(micro));
    let global = global.filter(|global| *global > 0.0).and_then(crate::core::units::whole);
    let global = global.unwrap_or(local.saturating_mul(dp));
    reader.set("global_batch", &Value::from(global));
}

fn training(reader: &mut SettingsReader) {
    // What the stack follows (`compiled`).
    reader.flag("compile.enable", "compiled");
    reader.word("compile.components", "compiled parts:");
    let kept = reader.word("training.dtype", "weights kept in");
    let kept_in_bf16 = kept.as_deref() == Some("bfloat16");
    let reduced = reader.word("training.mixed_precision_reduce", "gradients reduced in");
    let bytes = if reduced.as_deref() == Some("bfloat16") { 2.0 } else { 4.0 };
    reader.run.stack.parts.grad_reduce_bytes = (kept_in_bf16 != (bytes < 4.0)).then_some(bytes);
    if reader.flag("parallelism.enable_async_tensor_parallel", "async TP") {
        reader.run.stack.parts.tp_overlap = Some(TpOverlap::AsyncTp);
    }
    let dtype = reader.word("training.mixed_precision_param", "computes in");
    let converters = reader.word("model.converters", "converters");
    let converts = |name: &str| {
        let names = converters.as_deref().unwrap_or_default();
        names.split([' ', ',']).any(|one| one.contains(name))
    };
    let blocks = [("nvfp4", "nvfp4"), ("linear.mx", "mxfp8"), ("mxfp8", "mxfp8")];
    let recipe = reader
        .word("quantize.linear.float8.recipe_name", "fp8 scales by")
        .or_else(|| reader.word("float8.recipe_name", "fp8 scales by"));
    let by_row = recipe.is_some_and(|recipe| recipe.starts_with("rowwise"));
    match blocks.iter().find(|(name, _)| converts(name)) {
        Some((_, id)) => reader.policy(sharded(id)),
        None if by_row && converts("float8") => reader.policy(sharded("fp8-rowwise")),
        None => reader.precision(match dtype.as_deref() {
            _ if converts("float8") => "te-fp8",
            Some("float32") => "fp32",
            _ if kept_in_bf16 => "bf16-pure",
            _ => "fsdp-mixed",
        }),
    }
    match reader.word("optimizer.name", "optimizer").as_deref() {
        None | Some("AdamW" | "Adam") => reader.run.optimizer = Optimizer::Adam,
        Some(other) => reader.unknown_optimizer(other),
    }
    let mode = reader.word("activation_checkpoint.mode", "recomputation");
    let option = reader.word("activation_checkpoint.selective_ac_option", "selective:");
    let recompute = match (mode.as_deref().unwrap_or("selective"), option.as_deref().unwrap_or("2")) {
        ("none", _) => Recompute::None,
        ("memory_budget", _) => {
            // "When mode is set to "memory_budget", this value determines how much partitioner in the compiler should trade
            // off compute for memory": 0.5 where it is silent.
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
            reader.assume(t!("every {every}th layer is recomputed: {held} of a stage", every, held));
            Recompute::Layers(held)
        }
        (other, _) => {
            reader.assume(t!("nothing is recomputed: mode {other} is not modelled", other = other.to_owned()));
            Recompute::None
        }
    };
    reader.recompute(recompute);
    let count = reader.count("training.steps", "steps");
    reader.steps(count);
}

/// Says the model, where torchtitan has a name for it.
pub(crate) fn write_model(s: &Scenario, writer: &mut SettingsWriter) {
    let flavor = FLAVORS.iter().find(|(.., id)| Based::<ModelParts>::preset(id).resolve().as_ref() == Ok(&s.model));
    if let Some((name, flavor, _)) = flavor {
        writer.text("model.name", name);
        writer.text("model.flavor", flavor);
    }
}

/// Says all else.
pub fn write(s: &Scenario, writer: &mut SettingsWriter) {
    let run = &s.run;
    let local = if run.pp > 1 { run.global_batch / s.layout.dp } else { run.micro_batch };
    writer.count("training.local_batch_size", local);
    writer.count("training.global_batch_size", run.global_batch);
    writer.steps("training.steps", run);
    let software = &s.software;
    if software.compile {
        writer.flag("compile.enable", true);
    }
    if software.tp_overlap == TpOverlap::AsyncTp {
        writer.flag("parallelism.enable_async_tensor_parallel", true);
    }
    let kept_in_bf16 = is_precision(run, "bf16-pure");
    if kept_in_bf16 {
        writer.text("training.dtype", "bfloat16");
    }
    let reduced = software.grad_reduce_bytes.unwrap_or(if kept_in_bf16 { 2.0 } else { 4.0 });
    if reduced < 4.0 {
        writer.text("training.mixed_precision_reduce", "bfloat16");
    }
    let whole = computes(&run.precision) == "fp32";
    writer.text("training.mixed_precision_param", if whole { "float32" } else { "bfloat16" });
    let converter = match run.precision.base {
        Some("mxfp8") => Some("quantize.linear.mx"),
        Some("nvfp4") => Some("quantize.linear.nvfp4"),
        _ if computes(&run.precision) == "fp8" => Some("quantize.linear.float8"),
        _ => None,
    };
    if let Some(name) = converter {
        writer.text("model.converters", name);
    }
    if run.precision.base == Some("fp8-rowwise") {
        writer.text("quantize.linear.float8.recipe_name", "rowwise");
    }
    writer.text("optimizer.name", "AdamW");
    let (mode, option) = match run.recompute {
        Recompute::None => ("none", None),
        Recompute::Selective | Recompute::OpSelective => ("selective", Some("op")),
        Recompute::Full | Recompute::Layers(_) | Recompute::Modules(_) => ("full", None),
        Recompute::Budget(_) => ("memory_budget", None),
    };
    if let Recompute::Budget(share) = run.recompute {
        writer.number("activation_checkpoint.memory_budget", share);
    }
    writer.text("activation_checkpoint.mode", mode);
    if let Some(option) = option {
        writer.text("activation_checkpoint.selective_ac_option", option);
    }
}
