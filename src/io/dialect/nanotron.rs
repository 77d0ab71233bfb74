//! Nanotron's YAML, and the programs of Python that write it.
//!
//! Source: huggingface/nanotron, `src/nanotron/config/*.py`: names and defaults.

use crate::config;
use crate::dialect::rows::prelude::*;
use crate::dialect::text::{python, yaml};
use shardscope_core::model::Biases;
use shardscope_core::run::presets::Trainer;
use std::collections::BTreeSet;

pub(crate) static DIALECT: Dialect = Dialect {
    id: "nanotron",
    name: "Nanotron",
    file: "nanotron.yaml",
    entries: |text| {
        if python::is_program(text.text) { Ok(of_python(text.text)) } else { yaml::entries(text.text) }
    },
    keys: &[],
    told: |_| None,
    silent: "nanotron",
    read,
    write,
    print: yaml::print,
};

static SAME: &[Same] = &[
    same("parallelism.tp", "tp", Some(1)),
    same("parallelism.pp", "pp", Some(1)),
    same("parallelism.context_parallel_size", "cp", Some(1)),
    same("parallelism.expert_parallel_size", "ep", Some(1)),
    same("tokens.sequence_length", "seq_len", None),
    same("tokens.micro_batch_size", "micro_batch", None),
];

const SECTIONS: [&str; 4] = ["parallelism", "tokens", "data_stages", "checkpoints"];

/// Shapes of `model.model_config`, by the entry of a config.json.
const CONFIG: &str = "model.model_config.";

/// The settings of a program that writes such a file, without the names of its classes.
fn of_python(text: &str) -> SettingEntries {
    let said = python::entries(text);
    let sections: BTreeSet<&str> =
        said.iter().flat_map(|(name, _)| name.match_indices('.').map(|(at, _)| &name[..at])).collect();
    let is_class = |name: &str, value: &Value| {
        let holds = sections.contains(name);
        let named = value.text().is_some_and(|text| text.ends_with("Args") || text.ends_with("Config"));
        holds || named || name == python::BEGINS_WITH
    };
    said.iter().filter(|(name, value)| !is_class(name, value)).cloned().collect()
}

/// True if a line begins a section of a file.
pub fn knows(line: &str) -> bool {
    line.split_once(':').is_some_and(|(section, _)| SECTIONS.contains(&section))
}

fn read(reader: &mut SettingsReader) {
    reader.same(SAME, DIALECT.name);
    model(reader);
    let dp = reader.count("parallelism.dp", "data parallel");
    let run = &reader.run;
    let ranks = (run.tp * run.pp * run.cp).max(1);
    let dp = dp.unwrap_or((run.gpus / ranks).max(1));
    reader.set("gpus", dp.saturating_mul(ranks));
    let count = reader.count("tokens.batch_accumulation_per_replica", "micro-batches per step and rank").unwrap_or(1);
    let global = reader.run.micro_batch.saturating_mul(count).saturating_mul(dp);
    reader.set("global_batch", global);
    let engine = reader.word("parallelism.pp_engine", "schedule");
    // `AllForwardAllBackwardPipelineEngine` unless it is said.
    let named = engine.and_then(|engine| Schedule::called(&engine, Trainer::Nanotron));
    reader.run.schedule = named.unwrap_or(Schedule::Gpipe);
    (reader.run.virtual_stages, reader.run.stage_layers) = (1, None);
    let mode = reader.word("parallelism.tp_mode", "tensor parallelism by");
    let scattered = mode.is_some_and(|mode| mode.eq_ignore_ascii_case("reduce_scatter"));
    if reader.run.tp > 1 {
        reader.set("sequence_parallel", scattered);
    }
    let again = reader.flag("parallelism.recompute_layer", "full recomputation");
    reader.recompute(if again { Recompute::Full } else { Recompute::None });
    let stage = reader.count("optimizer.zero_stage", "ZeRO stage").unwrap_or(0);
    reader.set("zero", stage);
    let dtype = reader.word("model.dtype", "computes in");
    let accumulate = reader.flag("optimizer.accumulate_grad_in_fp32", "gradients accumulate in fp32");
    reader.precision(match dtype.as_deref() {
        Some("float32") => "fp32",
        // Gradients in 16 bits, and an accumulator of 32 beside them.
        _ if accumulate => "playbook-20",
        Some("float16") => "fp16",
        _ => "bf16",
    });
    match reader.word("optimizer.optimizer_factory.name", "optimizer").as_deref() {
        None | Some("adamW") => reader.run.optimizer = Optimizer::Adam,
        Some("sgd") => reader.run.optimizer = Optimizer::Sgd,
        Some(other) => reader.unknown_optimizer("optimizer.optimizer_factory.name", other),
    }
    let count = reader.count("tokens.train_steps", "steps");
    reader.steps(count);
}

fn model(reader: &mut SettingsReader) {
    let mut shapes = Vec::new();
    for name in reader.left() {
        if let Some(key) = name.strip_prefix(CONFIG)
            && !key.contains('.')
            && let Some(value) = reader.value(&name)
        {
            shapes.push((key.to_owned(), value));
        }
    }
    if shapes.is_empty() {
        reader.assume("the model, as on this page: model.model_config is not there");
        return;
    }
    if reader.has(&format!("{CONFIG}moe_config.num_experts")) {
        reader.assume("a dense model: the experts of moe_config are not read");
    }
    for (key, _) in shapes.extract_if(.., |(key, _)| key.starts_with("is_")) {
        reader.note(&format!("{CONFIG}{key}"), "which of its models");
    }
    // Nanotron's Qwen has biases only where `attention_bias` says so, as its Llama.
    shapes.push(("model_type".to_owned(), Value::Text("llama".to_owned())));
    match config::read(&Value::Map(shapes)) {
        Ok(read) => {
            for (key, what) in read.used {
                reader.note(&format!("{CONFIG}{key}"), what);
            }
            reader.assumed.extend(read.assumed);
            let ignored = read.ignored.iter();
            reader.ignore(ignored.map(|(key, _)| format!("{CONFIG}{key}")));
            reader.model(read.parts);
        }
        Err(errors) => reader.errors.extend(errors),
    }
}

fn write(s: &Scenario, writer: &mut SettingsWriter) {
    let (run, m) = (&s.run, &s.model);
    let dtype = match run.precision.base {
        Some("fp32") => "float32",
        Some("fp16") => "float16",
        _ => "bfloat16",
    };
    writer.say("model.dtype", dtype);
    let kind = if m.biases == Biases::Qkv { "is_qwen2_config" } else { "is_llama_config" };
    let config = [
        (kind, Value::Bool(true)),
        ("hidden_size", Value::from(m.hidden)),
        ("intermediate_size", Value::from(m.ffn)),
        ("num_attention_heads", Value::from(m.heads)),
        ("num_hidden_layers", Value::from(m.layers)),
        ("num_key_value_heads", Value::from(m.kv_heads)),
        ("attention_bias", Value::Bool(m.biases != Biases::None)),
        ("tie_word_embeddings", Value::Bool(m.tied_embeddings)),
        ("vocab_size", Value::from(m.vocab)),
    ];
    // `LlamaConfig` and `Qwen2Config` refuse keys that they do not have: widths of heads and experts cannot be said.
    for (key, value) in config {
        writer.when(key != "attention_bias" || value != Value::Bool(false), &format!("{CONFIG}{key}"), value);
    }
    writer.say(
        "optimizer.accumulate_grad_in_fp32",
        s.precision.grad_accumulation > 0.0 || s.precision.grads == 4.0 && dtype != "float32",
    );
    let sgd = matches!(run.optimizer, Optimizer::Sgd | Optimizer::SgdMomentum);
    writer.say("optimizer.optimizer_factory.name", if sgd { "sgd" } else { "adamW" });
    writer.say("optimizer.zero_stage", run.zero.min(1));
    writer.say("parallelism.dp", s.layout.dp);
    writer.same(&SAME[..3], run);
    writer.say("parallelism.pp_engine", run.schedule.row().called(Trainer::Nanotron).unwrap_or("1f1b"));
    writer.say("parallelism.tp_mode", if run.sequence_parallel { "REDUCE_SCATTER" } else { "ALL_REDUCE" });
    writer.say("parallelism.recompute_layer", run.recompute == Recompute::Full);
    writer.same(&SAME[4..], run);
    writer.say("tokens.batch_accumulation_per_replica", s.layout.microbatches);
    writer.maybe("tokens.train_steps", steps(run));
}
