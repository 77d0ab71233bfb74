//! DeepSpeed's JSON.
//!
//! Source: deepspeed.ai/docs/config-json, and `deepspeed/runtime/config.py` and `zero/config.py` for names and defaults.
//! The file knows nothing of the model; ranks follow from its three batch sizes.

use super::settings_reader::Book;
use super::settings_writer::Say;
use super::{Dialect, Entries, computes, is_precision};
use crate::core::issue::Issue;
use crate::core::run::{CpComm, Optimizer, Recompute, Run, Scenario, Value};
use crate::io::json::pretty;

/// DeepSpeed.
pub static DIALECT: Dialect = Dialect {
    id: "deepspeed",
    name: "DeepSpeed",
    file: "ds_config.json",
    entries,
    read,
    write,
    print,
};

/// Where comments go: JSON has none, and DeepSpeed ignores keys that it does not know.
const COMMENT: &str = "_comment";

/// The entries that tell a file of DeepSpeed from other JSON.
const SIGNS: [&str; 5] = [
    "zero_optimization",
    "train_micro_batch_size_per_gpu",
    "train_batch_size",
    "gradient_accumulation_steps",
    "bf16",
];

/// Whether an object is a file of DeepSpeed.
#[must_use]
pub fn knows(object: &Value) -> bool {
    SIGNS.iter().any(|sign| object.get(sign).is_some())
}

fn entries(text: &str) -> Result<Entries, Issue> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| Issue::error("", format!("not JSON: {error}")))?;
    let mut entries = value.flat(|_| true);
    entries.retain(|(name, _)| name != COMMENT);
    Ok(entries)
}

fn read(book: &mut Book) {
    let tp = book
        .count("tensor_parallel.autotp_size", "TP")
        .unwrap_or(1)
        .max(1);
    let pp = book.count("pipeline.stages", "PP").unwrap_or(1).max(1);
    let cp = book
        .count("sequence_parallel_size", "Ulysses sequence parallelism, CP")
        .unwrap_or(1)
        .max(1);
    for (key, size) in [("tp", tp), ("pp", pp), ("cp", cp)] {
        book.set(key, &Value::from(size));
    }
    if cp > 1 {
        book.run.cp_comm = CpComm::Ulysses;
    }
    book.assume("the model and the sequence, as on this page: the program has them");
    batch(book);
    let stage = book
        .count("zero_optimization.stage", "ZeRO stage")
        .unwrap_or(0);
    book.set("zero", &Value::from(stage));
    let shard = book.count(
        "zero_optimization.mics_shard_size",
        "ranks that share shards (MiCS)",
    );
    let group = book.run.gpus / (book.run.tp * book.run.pp);
    if book.run.hsdp_shard.unwrap_or(group) != shard.unwrap_or(group) {
        book.run.hsdp_shard = shard.filter(|shard| *shard != group);
    }
    // "Default: false for stages 1 and 2, true for stage 3."
    let overlap = if book.has("zero_optimization.overlap_comm") {
        book.flag(
            "zero_optimization.overlap_comm",
            "gradients overlap with the backward pass",
        )
    } else {
        stage == 3
    };
    if !overlap {
        book.run.overlap.dp = 0.0;
    } else if book.run.overlap.dp == 0.0 {
        book.run.overlap.dp = Run::default().overlap.dp;
    }
    let of_launcher = |name: &str| book.value(name) == Some(Value::Text("auto".to_owned()));
    let auto = ["bf16.enabled", "fp16.enabled"].map(of_launcher) != [false; 2];
    let (brain, half) = (
        book.flag("bf16.enabled", "bf16"),
        book.flag("fp16.enabled", "fp16"),
    );
    let accumulate = book.word("data_types.grad_accum_dtype", "gradients accumulate in");
    if auto {
        book.assume("the precision, as on this page: it is \"auto\"");
    } else {
        book.precision(match (brain, half, accumulate.as_deref()) {
            (true, _, Some("fp32")) => "bf16-fp32-grads",
            (true, ..) => "bf16",
            (_, true, _) => "fp16",
            _ => "fp32",
        });
    }
    let optimizer = book
        .word("optimizer.type", "optimizer")
        .map(|name| name.to_ascii_lowercase());
    match optimizer.as_deref() {
        Some("adam" | "adamw") => book.run.optimizer = Optimizer::Adam,
        Some("lion") => book.run.optimizer = Optimizer::Lion,
        Some("muon") => book.run.optimizer = Optimizer::Muon,
        Some("sgd") => book.run.optimizer = Optimizer::Sgd,
        Some(other) => {
            let said = format!("the optimizer, as on this page: {other} is not known");
            book.assume(said);
        }
        None => book.assume("the optimizer, as on this page: the program has it"),
    }
    match book.count(
        "pipeline.activation_checkpoint_interval",
        "layers between checkpoints",
    ) {
        Some(0) => book.recompute(Recompute::None),
        Some(_) => book.recompute(Recompute::Full),
        None => book.assume("recomputation, as on this page: the program decides"),
    }
}

fn batch(book: &mut Book) {
    let global = book.count("train_batch_size", "global batch");
    let micro = book.count("train_micro_batch_size_per_gpu", "micro-batch");
    let steps = book.count(
        "gradient_accumulation_steps",
        "micro-batches a step and rank",
    );
    if let Some(micro) = micro {
        book.set("micro_batch", &Value::from(micro.max(1)));
    }
    let run = &book.run;
    let ranks = (run.tp * run.pp * run.cp).max(1);
    let here = (run.gpus / ranks).max(1);
    let each = |micro: u64| micro.saturating_mul(steps.unwrap_or(1)).max(1);
    // train_batch_size = train_micro_batch_size_per_gpu · gradient_accumulation_steps · ranks: of two, the third.
    let mut told = false;
    match (global, micro) {
        (Some(global), Some(micro)) => {
            book.set("global_batch", &Value::from(global));
            if steps.is_some() && global.is_multiple_of(each(micro)) {
                let gpus = (global / each(micro)).saturating_mul(ranks);
                book.set("gpus", &Value::from(gpus));
                told = true;
            }
        }
        (Some(global), None) => {
            book.set("global_batch", &Value::from(global));
            let all = each(1).saturating_mul(here);
            let micro = (global / all).max(1);
            book.assume(format!(
                "micro-batch {micro}: what {here} ranks make of the global batch"
            ));
            book.set("micro_batch", &Value::from(micro));
        }
        (None, Some(micro)) => {
            let global = each(micro).saturating_mul(here);
            book.assume(format!(
                "global batch {global}: what {here} ranks make of the micro-batch"
            ));
            book.set("global_batch", &Value::from(global));
        }
        (None, None) => {}
    }
    if !told {
        let gpus = book.run.gpus;
        book.assume(format!(
            "{gpus} GPUs, as on this page: with all three batch sizes they would follow"
        ));
    }
}

fn write(s: &Scenario) -> Entries {
    let run = &s.run;
    let mut say = Say::default();
    say.count("train_batch_size", run.global_batch);
    say.count("train_micro_batch_size_per_gpu", run.micro_batch);
    say.count("gradient_accumulation_steps", s.layout.microbatches);
    say.count("zero_optimization.stage", run.zero);
    say.flag("zero_optimization.overlap_comm", run.overlap.dp > 0.0);
    // MiCS shards what stage 3 shards.
    if run.zero == 3 && s.zero.shard < s.layout.dp * s.layout.cp {
        say.count("zero_optimization.mics_shard_size", s.zero.shard);
    }
    match computes(&run.precision) {
        "fp16" => say.yes("fp16.enabled"),
        "fp32" => {}
        _ => {
            say.yes("bf16.enabled");
            let dtype = if is_precision(run, "bf16") {
                "bf16"
            } else {
                "fp32"
            };
            say.text("data_types.grad_accum_dtype", dtype);
        }
    }
    let optimizer = match run.optimizer {
        Optimizer::Lion => "Lion",
        Optimizer::Muon => "Muon",
        Optimizer::Sgd | Optimizer::SgdMomentum => "SGD",
        _ => "AdamW",
    };
    say.text("optimizer.type", optimizer);
    if run.tp > 1 {
        say.count("tensor_parallel.autotp_size", run.tp);
    }
    if run.cp > 1 {
        say.count("sequence_parallel_size", run.cp);
    }
    // Without a pipeline the program's own modules recompute, or not.
    if run.pp > 1 {
        say.count("pipeline.stages", run.pp);
        let interval = u64::from(run.recompute != Recompute::None);
        say.count("pipeline.activation_checkpoint_interval", interval);
    }
    say.done()
}

fn print(entries: &Entries, comments: &[String]) -> String {
    let lines = comments.iter().cloned().map(Value::Text).collect();
    let mut all = vec![(COMMENT.to_owned(), Value::List(lines))];
    if let Value::Map(said) = Value::nested(entries.clone()) {
        all.extend(said);
    }
    pretty(&Value::Map(all))
}
