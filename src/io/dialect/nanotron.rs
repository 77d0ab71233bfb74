//! Nanotron's YAML.
//!
//! Source: huggingface/nanotron, `src/nanotron/config/*.py`: names and defaults.

use super::settings_reader::Book;
use super::settings_writer::Say;
use super::{Dialect, Entries, Same, same, steps, yaml};
use crate::core::issue::Issue;
use crate::core::model::Biases;
use crate::core::run::registry::plain;
use crate::core::run::{Optimizer, Recompute, Scenario, Schedule, Value};
use crate::io::config;

/// Nanotron.
pub static DIALECT: Dialect = Dialect {
    id: "nanotron",
    name: "Nanotron",
    file: "nanotron.yaml",
    entries,
    read,
    write,
    print,
};

static SAME: &[Same] = &[
    same("parallelism.tp", "tp", Some(1)),
    same("parallelism.pp", "pp", Some(1)),
    same("parallelism.context_parallel_size", "cp", Some(1)),
    same("parallelism.expert_parallel_size", "ep", Some(1)),
    same("tokens.sequence_length", "seq_len", None),
    same("tokens.micro_batch_size", "micro_batch", None),
];

/// Sections of a file.
const SECTIONS: [&str; 4] = ["parallelism", "tokens", "data_stages", "checkpoints"];

/// Shapes of `model.model_config`, by the entry of a config.json.
const CONFIG: &str = "model.model_config.";

/// Whether a line begins a section of a file.
#[must_use]
pub fn knows(line: &str) -> bool {
    line.split_once(':')
        .is_some_and(|(section, _)| SECTIONS.contains(&section))
}

fn entries(text: &str) -> Result<Entries, Issue> {
    Ok(yaml::read(text)?.flat(|_| true))
}

fn read(book: &mut Book) {
    book.same(SAME, DIALECT.name);
    model(book);
    let dp = book.count("parallelism.dp", "data parallel");
    let run = &book.run;
    let ranks = (run.tp * run.pp * run.cp).max(1);
    let dp = dp.unwrap_or((run.gpus / ranks).max(1));
    book.set("gpus", &Value::from(dp.saturating_mul(ranks)));
    let count = book
        .count(
            "tokens.batch_accumulation_per_replica",
            "micro-batches a step and rank",
        )
        .unwrap_or(1);
    let global = book
        .run
        .micro_batch
        .saturating_mul(count)
        .saturating_mul(dp);
    book.set("global_batch", &Value::from(global));
    let engine = book.word("parallelism.pp_engine", "schedule");
    // `AllForwardAllBackwardPipelineEngine` unless it is said.
    book.run.schedule = match engine.as_deref() {
        Some("1f1b") => Schedule::OneFOneB,
        _ => Schedule::Gpipe,
    };
    (book.run.virtual_stages, book.run.stage_layers) = (1, None);
    let mode = book.word("parallelism.tp_mode", "tensor parallelism by");
    let scattered = mode.is_some_and(|mode| mode.eq_ignore_ascii_case("reduce_scatter"));
    if book.run.tp > 1 {
        book.set("sequence_parallel", &Value::Bool(scattered));
    }
    let again = book.flag("parallelism.recompute_layer", "full recomputation");
    book.recompute(if again {
        Recompute::Full
    } else {
        Recompute::None
    });
    let stage = book
        .count("optimizer.zero_stage", "ZeRO stage")
        .unwrap_or(0);
    book.set("zero", &Value::from(stage));
    let dtype = book.word("model.dtype", "computes in");
    let accumulate = book.flag(
        "optimizer.accumulate_grad_in_fp32",
        "gradients accumulate in fp32",
    );
    book.precision(match dtype.as_deref() {
        Some("float32") => "fp32",
        // Gradients in 16 bits, and an accumulator of 32 beside them.
        _ if accumulate => "playbook-20",
        Some("float16") => "fp16",
        _ => "bf16",
    });
    match book
        .word("optimizer.optimizer_factory.name", "optimizer")
        .as_deref()
    {
        None | Some("adamW") => book.run.optimizer = Optimizer::Adam,
        Some("sgd") => book.run.optimizer = Optimizer::Sgd,
        Some(other) => {
            let said = format!("the optimizer, as on this page: {other} is not known");
            book.assume(said);
        }
    }
    let count = book.count("tokens.train_steps", "steps");
    book.steps(count);
}

fn model(book: &mut Book) {
    let mut shapes = Vec::new();
    for name in book.left() {
        if let Some(key) = name.strip_prefix(CONFIG)
            && !key.contains('.')
            && let Some(value) = book.value(&name)
        {
            shapes.push((key.to_owned(), value));
        }
    }
    if shapes.is_empty() {
        book.assume("the model, as on this page: model.model_config is not there");
        return;
    }
    if book.has(&format!("{CONFIG}moe_config.num_experts")) {
        book.assume("a dense model: the experts of moe_config are not read");
    }
    for (key, _) in shapes.extract_if(.., |(key, _)| key.starts_with("is_")) {
        book.note(&format!("{CONFIG}{key}"), "which of its models");
    }
    // Nanotron's Qwen has biases only where `attention_bias` says so, as its Llama.
    shapes.push(("model_type".to_owned(), Value::Text("llama".to_owned())));
    match config::read(&Value::Map(shapes)) {
        Ok(read) => {
            for (key, what) in read.used {
                book.note(&format!("{CONFIG}{key}"), what);
            }
            book.assumed.extend(read.assumed);
            let ignored = read.ignored.iter();
            book.ignore(ignored.map(|key| format!("{CONFIG}{key}")));
            book.model(read.parts);
        }
        Err(errors) => book.errors.extend(errors),
    }
}

fn write(s: &Scenario) -> Entries {
    let (run, m) = (&s.run, &s.model);
    let mut say = Say::default();
    let half = run.precision.base == Some("fp16");
    let whole = run.precision.base == Some("fp32");
    let dtype = if whole {
        "float32"
    } else if half {
        "float16"
    } else {
        "bfloat16"
    };
    say.text("model.dtype", dtype);
    let kind = if m.biases == Biases::Qkv {
        "is_qwen2_config"
    } else {
        "is_llama_config"
    };
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
        if key != "attention_bias" || value != Value::Bool(false) {
            say.value(&format!("{CONFIG}{key}"), value);
        }
    }
    say.flag(
        "optimizer.accumulate_grad_in_fp32",
        s.precision.grad_accumulation > 0.0 || s.precision.grads == 4.0 && !whole,
    );
    let sgd = matches!(run.optimizer, Optimizer::Sgd | Optimizer::SgdMomentum);
    say.text(
        "optimizer.optimizer_factory.name",
        if sgd { "sgd" } else { "adamW" },
    );
    say.count("optimizer.zero_stage", run.zero.min(1));
    say.count("parallelism.dp", s.layout.dp);
    say.same(&SAME[..3], run);
    let afab = run.schedule == Schedule::Gpipe;
    say.text("parallelism.pp_engine", if afab { "afab" } else { "1f1b" });
    say.text(
        "parallelism.tp_mode",
        if run.sequence_parallel {
            "REDUCE_SCATTER"
        } else {
            "ALL_REDUCE"
        },
    );
    say.flag(
        "parallelism.recompute_layer",
        run.recompute == Recompute::Full,
    );
    say.same(&SAME[4..], run);
    say.count(
        "tokens.batch_accumulation_per_replica",
        s.layout.microbatches,
    );
    if let Some(steps) = steps(run) {
        say.count("tokens.train_steps", steps);
    }
    say.done()
}

fn print(entries: &Entries, comments: &[String]) -> String {
    let comments = comments.iter().map(|comment| format!("# {comment}\n"));
    let mut lines: Vec<String> = comments.collect();
    yaml_of(&Value::nested(entries.clone()), 0, &mut lines);
    lines.concat()
}

fn yaml_of(value: &Value, indent: usize, lines: &mut Vec<String>) {
    let Value::Map(entries) = value else { return };
    let blanks = " ".repeat(indent);
    for (key, value) in entries {
        let said = plain(value).map_or_else(String::new, |value| format!(" {value}"));
        lines.push(format!("{blanks}{key}:{said}\n"));
        yaml_of(value, indent + 2, lines);
    }
}
