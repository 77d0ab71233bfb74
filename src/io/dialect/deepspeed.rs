//! DeepSpeed's JSON.
//!
//! Source: deepspeed.ai/docs/config-json, and `deepspeed/runtime/config.py` and `zero/config.py` for names and
//! defaults. The file knows nothing of the model; ranks follow from its three batch sizes.

use crate::dialect::rows::prelude::*;
use crate::json::pretty;
use shardscope_core::pipeline::release::TENSOR_UNDER_ZERO_3_SINCE;

pub(crate) static DIALECT: Dialect = Dialect {
    id: "deepspeed",
    name: "DeepSpeed",
    file: "ds_config.json",
    entries: |text| entries(text.text),
    keys: &[],
    told: |_| None,
    silent: "deepspeed",
    read,
    write,
    print,
};

/// Key of the comments: JSON has none, and DeepSpeed ignores keys that it does not know.
const COMMENT: &str = "_comment";

/// The entries that tell a file of DeepSpeed from other JSON.
const SIGNS: [&str; 5] =
    ["zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size", "gradient_accumulation_steps", "bf16"];

/// True if an object is a file of DeepSpeed.
pub fn knows(object: &Value) -> bool {
    SIGNS.iter().any(|sign| object.get(sign).is_some())
}

/// The settings that a text says.
///
/// # Errors
/// Why it cannot be read, by line where there is one.
pub fn entries(text: &str) -> Result<SettingEntries, Issue> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| Issue::error("", t!("not JSON: {error}", error = error.to_string())))?;
    let mut entries = value.flat(|_| true);
    entries.retain(|(name, _)| name != COMMENT);
    Ok(entries)
}

fn read(reader: &mut SettingsReader) {
    let tp = reader.count("tensor_parallel.autotp_size", "TP").unwrap_or(1).max(1);
    let pp = reader.count("pipeline.stages", "PP").unwrap_or(1).max(1);
    let cp = reader.count("sequence_parallel_size", "Ulysses sequence parallelism, CP").unwrap_or(1).max(1);
    for (key, size) in [("tp", tp), ("pp", pp), ("cp", cp)] {
        reader.set(key, size);
    }
    if cp > 1 {
        reader.run.cp_comm = CpComm::Ulysses;
    }
    reader.assume("the model and the sequence, as on this page: the program has them");
    batch(reader);
    shards(reader, "");
    let stage = reader.run.zero;
    let shard = reader.count("zero_optimization.mics_shard_size", "ranks that share shards (MiCS)");
    reader.run.zero_hpz = reader.count("zero_optimization.zero_hpz_partition_size", "ranks of the second copy (hpZ)");
    reader.run.zero_hpz = reader.run.zero_hpz.filter(|ranks| *ranks > 1);
    reader.run.zero_qwz =
        reader.flag("zero_optimization.zero_quantized_weights", "weights gathered in eight bits (qwZ)");
    reader.run.zero_qgz = reader.flag("zero_optimization.zero_quantized_gradients", "gradients in four bits (qgZ)");
    let group = reader.run.gpus / (reader.run.tp * reader.run.pp);
    if reader.run.hsdp_shard.unwrap_or(group) != shard.unwrap_or(group) {
        reader.run.hsdp_shard = shard.filter(|shard| *shard != group);
    }
    // "Default: false for stages 1 and 2, true for stage 3."
    let overlap = if reader.has("zero_optimization.overlap_comm") {
        reader.flag("zero_optimization.overlap_comm", "gradients overlap with the backward pass")
    } else {
        stage == 3
    };
    if !overlap {
        reader.run.overlap.dp = Some(0.0);
    } else if reader.run.overlap.dp == Some(0.0) {
        reader.run.overlap.dp = None;
    }
    precision(reader);
    optimizer(reader);
    match reader.count("pipeline.activation_checkpoint_interval", "layers between checkpoints") {
        Some(0) => reader.recompute(Recompute::None),
        Some(_) => reader.recompute(Recompute::Full),
        None => reader.assume("recomputation, as on this page: the program decides"),
    }
}

fn precision(reader: &mut SettingsReader) {
    let of_launcher = |name: &str| reader.value(name) == Some(Value::Text("auto".to_owned()));
    let auto = ["bf16.enabled", "fp16.enabled"].map(of_launcher) != [false; 2];
    let (brain, half) = (reader.flag("bf16.enabled", "bf16"), reader.flag("fp16.enabled", "fp16"));
    let accumulate = reader.word("data_types.grad_accum_dtype", "gradients accumulate in");
    if auto {
        reader.assume("the precision, as on this page: it is \"auto\"");
    } else {
        reader.precision(match (brain, half, accumulate.as_deref()) {
            (true, _, Some("fp32")) => "bf16-fp32-grads",
            (true, ..) => "bf16",
            (_, true, _) => "fp16",
            _ => "fp32",
        });
    }
}

fn optimizer(reader: &mut SettingsReader) {
    let optimizer = reader.word("optimizer.type", "optimizer").map(|name| name.to_ascii_lowercase());
    match optimizer.as_deref() {
        Some("adam" | "adamw") => reader.run.optimizer = Optimizer::Adam,
        Some("lion") => reader.run.optimizer = Optimizer::Lion,
        Some("muon") => reader.run.optimizer = Optimizer::Muon,
        // `torch.optim.SGD` by its name, without a buffer unless a momentum is said: `runtime/engine.py`,
        // `_configure_basic_optimizer`.
        Some("sgd") => {
            let momentum =
                reader.number("optimizer.params.momentum", "momentum").is_some_and(|momentum| momentum > 0.0);
            reader.run.optimizer = if momentum { Optimizer::SgdMomentum } else { Optimizer::Sgd };
        }
        Some(other) => reader.unknown_optimizer("optimizer.type", other),
        None => reader.assume("the optimizer, as on this page: the program has it"),
    }
}

/// Takes the ZeRO stage and what goes to the host from the settings whose names begin with `prefix`; false where they
/// say nothing of shards.
pub(super) fn shards(reader: &mut SettingsReader, prefix: &str) -> bool {
    let name = |key: &str| format!("{prefix}{key}");
    let stage = reader.count(&name("zero_optimization.stage"), "ZeRO stage");
    reader.set("zero", stage.unwrap_or(0));
    let leaves = |word: Option<String>| word.and_then(|word| OffloadTo::from_id(&word));
    let device = name("zero_optimization.offload_optimizer.device");
    let optimizer = leaves(reader.word(&device, "states of the optimizer on"));
    let device = name("zero_optimization.offload_param.device");
    let parameters = leaves(reader.word(&device, "parameters on"));
    // Before 0.4: stages 1 and 2.
    let old = reader.flag(&name("zero_optimization.cpu_offload"), "states of the optimizer on the host");
    let optimizer = optimizer.or(old.then_some(OffloadTo::Cpu));
    let share = reader.number(&name("zero_optimization.offload_optimizer.ratio"), "share of the states that leave");
    let checkpoints = name("activation_checkpointing.cpu_checkpointing");
    let activations = reader.flag(&checkpoints, "activations on the host");
    let any = optimizer.or(parameters).is_some() || activations;
    reader.run.offload = OffloadParts {
        optimizer,
        gradients: None,
        parameters,
        activations: activations.then(|| vec![Leaving::Cpu]),
        layers: None,
        order: None,
        framework: any.then_some(OffloadFramework::DeepSpeed),
        fraction: share.filter(|share| (0.0..1.0).contains(share) && optimizer.is_some()),
    };
    stage.is_some()
}

fn batch(reader: &mut SettingsReader) {
    let global = reader.count("train_batch_size", "global batch");
    let micro = reader.count("train_micro_batch_size_per_gpu", "micro-batch");
    let steps = reader.count("gradient_accumulation_steps", "micro-batches per step and rank");
    if let Some(micro) = micro {
        reader.set("micro_batch", micro.max(1));
    }
    let run = &reader.run;
    let ranks = (run.tp * run.pp * run.cp).max(1);
    let here = (run.gpus / ranks).max(1);
    let each = |micro: u64| micro.saturating_mul(steps.unwrap_or(1)).max(1);
    // train_batch_size = train_micro_batch_size_per_gpu · gradient_accumulation_steps · ranks: of two, the third.
    let mut told = false;
    match (global, micro) {
        (Some(global), Some(micro)) => {
            reader.set("global_batch", global);
            if steps.is_some() && global.is_multiple_of(each(micro)) {
                let gpus = (global / each(micro)).saturating_mul(ranks);
                reader.set("gpus", gpus);
                told = true;
            } else if let Some(steps) = steps {
                // "Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu *
                // gradient_acc_step
                // * world_size", whatever the world: DeepSpeed `runtime/config.py`.
                reader.assume(t!(
                    "the three batch sizes contradict each other, and DeepSpeed refuses them: {global} is no multiple \
                        of {micro} sequences times {steps} micro-batches",
                    global,
                    micro,
                    steps
                ));
            }
        }
        (Some(global), None) => {
            reader.set("global_batch", global);
            let sequences = each(1).saturating_mul(here);
            let micro = (global / sequences).max(1);
            reader.assume(t!("micro-batch {micro}: what {here} ranks make of the global batch", micro, here));
            reader.set("micro_batch", micro);
        }
        (None, Some(micro)) => {
            let global = each(micro).saturating_mul(here);
            reader.assume(t!("global batch {global}: what {here} ranks make of the micro-batch", global, here));
            reader.set("global_batch", global);
        }
        (None, None) => {}
    }
    if !told {
        let gpus = reader.run.gpus;
        reader.assume(t!("{gpus} GPUs, as on this page: with all three batch sizes they would follow", gpus));
    }
}

fn write(s: &Scenario, writer: &mut SettingsWriter) {
    let run = &s.run;
    writer.say("train_batch_size", run.global_batch);
    writer.say("train_micro_batch_size_per_gpu", run.micro_batch);
    writer.say("gradient_accumulation_steps", s.layout.microbatches);
    // "ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism": `runtime/pipe/engine.py` asserts it.
    let stage = if run.pp > 1 { run.zero.min(1) } else { run.zero };
    writer.say("zero_optimization.stage", stage);
    writer.say("zero_optimization.overlap_comm", run.software().overlap.dp > 0.0);
    if let Some(device) = run.offload.optimizer {
        writer.say("zero_optimization.offload_optimizer.device", device.id());
        writer.maybe("zero_optimization.offload_optimizer.ratio", run.offload.fraction);
    }
    writer.maybe("zero_optimization.offload_param.device", run.offload.parameters.map(OneOf::id));
    writer.maybe("zero_optimization.zero_hpz_partition_size", run.zero_hpz);
    for (name, set) in [("weights", run.zero_qwz), ("gradients", run.zero_qgz)] {
        writer.when(set, &format!("zero_optimization.zero_quantized_{name}"), true);
    }
    // MiCS shards what stage 3 shards.
    if stage == 3 && s.zero.shard < s.layout.dp * s.layout.cp {
        writer.say("zero_optimization.mics_shard_size", s.zero.shard);
    }
    match computes(&run.precision) {
        "fp16" => writer.say("fp16.enabled", true),
        "fp32" => {}
        _ => {
            writer.say("bf16.enabled", true);
            let dtype = if is_precision(run, "bf16") { "bf16" } else { "fp32" };
            writer.say("data_types.grad_accum_dtype", dtype);
        }
    }
    let optimizer = match run.optimizer {
        Optimizer::Lion => "Lion",
        Optimizer::Muon => "Muon",
        Optimizer::Sgd | Optimizer::SgdMomentum => "SGD",
        _ => "AdamW",
    };
    writer.say("optimizer.type", optimizer);
    writer.when(run.tp > 1, "tensor_parallel.autotp_size", run.tp);
    writer.when(run.cp > 1, "sequence_parallel_size", run.cp);
    writer.when(run.offload.activations.is_some(), "activation_checkpointing.cpu_checkpointing", true);
    // Without a pipeline the program's own modules recompute, or not.
    if run.pp > 1 {
        writer.say("pipeline.stages", run.pp);
        let interval = u64::from(run.recompute != Recompute::None);
        writer.say("pipeline.activation_checkpoint_interval", interval);
    }
}

/// The release of `DeepSpeed` that what is `said` needs, where any release is launched.
pub(crate) fn needs_release(said: &[(String, Value)]) -> Option<String> {
    let cuts = said.iter().any(|(name, _)| name == "tensor_parallel.autotp_size");
    let shards = said.iter().any(|(name, value)| name == "zero_optimization.stage" && *value == Value::Number(3.0));
    (cuts && shards)
        .then(|| format!("tensor_parallel under ZeRO stage 3 needs DeepSpeed {TENSOR_UNDER_ZERO_3_SINCE} or later."))
}

/// JSON that says `entries`, comments under a key that nothing reads.
pub(super) fn print(entries: &SettingEntries, comments: &[String]) -> String {
    let lines = comments.iter().cloned().map(Value::Text).collect();
    let mut lines_and_settings = vec![(COMMENT.to_owned(), Value::List(lines))];
    if let Value::Map(said) = Value::nested(entries.clone()) {
        lines_and_settings.extend(said);
    }
    pretty(&Value::Map(lines_and_settings))
}
