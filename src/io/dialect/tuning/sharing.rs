//! Sharding of the states, their formats, and their part on the host.
//!
//! Source: Hugging Face transformers `training_args.py`, accelerate `utils/dataclasses.py`.

use crate::dialect::is_off;
use crate::dialect::rows::prelude::*;

/// The library that shards the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::dialect) enum Sharing {
    /// Nobody: every rank has all of them.
    Nobody,
    /// DeepSpeed, with fp32 masters beside bf16 weights.
    DeepSpeed,
    /// PyTorch's FSDP, with fp32 shards that are gathered in bf16.
    Fsdp,
}

impl Sharing {
    /// DeepSpeed where a text says it, else FSDP where it has its settings.
    pub fn said(deepspeed: bool, fsdp: Option<&Fsdp>) -> Self {
        match (deepspeed, fsdp) {
            (true, _) => Self::DeepSpeed,
            (false, Some(_)) => Self::Fsdp,
            (false, None) => Self::Nobody,
        }
    }
}

/// Takes the shards that a text's settings of DeepSpeed, Accelerate and FSDP mean; the library that makes them, and the
/// settings of FSDP where the text has them.
pub(in crate::dialect) fn shared(reader: &mut SettingsReader) -> (Sharing, Option<Fsdp>) {
    reader.set("zero", 0);
    let deepspeed = deepspeed(reader, "deepspeed") || deepspeed_inside(reader);
    let accelerate = if deepspeed { None } else { by_accelerate(reader) };
    let fsdp = fsdp(reader);
    if reader.flag("accelerator_config.sync_each_batch", "gradients reduced in every micro-batch") {
        reduces_each(reader);
    }
    let mut sharing = accelerate.unwrap_or_else(|| Sharing::said(deepspeed, fsdp.as_ref()));
    if sharing == Sharing::Nobody {
        sharing = by_accelerate_file(reader);
    }
    (sharing, fsdp)
}

/// Takes the shards of DeepSpeed's own settings under `deepspeed.`; false where there are none.
pub(in crate::dialect) fn deepspeed_inside(reader: &mut SettingsReader) -> bool {
    let said = crate::dialect::deepspeed::shards(reader, "deepspeed.");
    if said {
        reduces_each(reader);
    }
    said
}

/// DeepSpeed by the settings of Accelerate, in its command or its file.
pub(in crate::dialect) fn by_accelerate(reader: &mut SettingsReader) -> Option<Sharing> {
    let on = reader.flag("use_deepspeed", "DeepSpeed");
    let kind = reader.word("distributed_type", "ranks by").unwrap_or_default();
    let (file, stage) = ("deepspeed_config_file", "zero_stage");
    let inner = |name: &str| format!("deepspeed_config.{name}");
    let named = [file.to_owned(), inner(file)].into_iter().find(|name| reader.has(name));
    if let Some(name) = named {
        deepspeed(reader, &name);
        return Some(Sharing::DeepSpeed);
    }
    let named = [stage.to_owned(), inner(stage)].into_iter().find(|name| reader.has(name));
    if !on && !kind.eq_ignore_ascii_case("deepspeed") && named.is_none() {
        return None;
    }
    // `zero_stage` is 2 where nothing says it: Accelerate `utils/dataclasses.py`, `DeepSpeedPlugin`.
    let stage = named.and_then(|name| reader.count(&name, "ZeRO stage")).unwrap_or(2);
    reader.set("zero", stage);
    let mut leaves = |name: &str, what| {
        let name = [name.to_owned(), inner(name)].into_iter().find(|name| reader.has(name))?;
        OffloadTo::from_id(&reader.word(&name, what)?)
    };
    let optimizer = leaves("offload_optimizer_device", "states of the optimizer on");
    let parameters = leaves("offload_param_device", "parameters on");
    if optimizer.or(parameters).is_some() {
        reader.run.offload.framework = Some(OffloadFramework::DeepSpeed);
    }
    (reader.run.offload.optimizer, reader.run.offload.parameters) = (optimizer, parameters);
    reduces_each(reader);
    Some(Sharing::DeepSpeed)
}

/// The shards of a file of Accelerate that is not here: by its name, else both readings are offered.
pub(in crate::dialect) fn by_accelerate_file(reader: &mut SettingsReader) -> Sharing {
    let Some(Value::Text(file)) = reader.value("config_file") else {
        return by_unknown_launcher(reader);
    };
    let name = file.to_ascii_lowercase();
    reader
        .absent
        .push((file.clone(), t!("the file is not here, and it decides how the states are sharded: give it in files")));
    if name.contains("zero") || name.contains("deepspeed") || name.contains("ds_") {
        reader.note("config_file", t!("shards by {file}", file));
        deepspeed(reader, "config_file");
        return Sharing::DeepSpeed;
    }
    // Accelerate's own examples name what they do: `fsdp.yaml`, `multi_gpu.yaml`.
    let whole = ["multi_gpu", "ddp", "single"].iter().any(|part| name.contains(part));
    if whole || !reader.choose(&format!("{file} shards the states"), true) {
        return Sharing::Nobody;
    }
    reader.assume(t!("ZeRO stage 3 by FSDP: {file} has it, which is not here", file));
    reader.set("zero", 3);
    Sharing::Fsdp
}

/// The shards where a text is a file of settings without the command that starts it: a launcher may shard by a file of
/// its own. That is assumed where weights, gradients and Adam states (16 bytes a parameter) do not fit a GPU whole. A
/// text whose settings need fewer bytes is meant for one GPU, and adapters are seldom sharded.
///
/// Source: huggingface/open-r1 1416fa0 `README.md`, alignment-handbook 925acdf `scripts/README.md` (`accelerate launch
/// --config_file recipes/accelerate_configs/zero3.yaml`, where the recipe says nothing of shards).
fn by_unknown_launcher(reader: &mut SettingsReader) -> Sharing {
    const SHARDED: &str = "the launcher shards the states";
    const UNSHARDED: &str = "states are counted as not sharded; a launcher file that may shard them was not given";
    const LAUNCHED: [&str; 7] =
        ["gpus", "nproc_per_node", "num_processes", "nnodes", "num_machines", "distributed_type", "ray_num_workers"];
    let word = |name| reader.last(name).and_then(Value::text).unwrap_or_default();
    let is_on = |name: &&str| reader.last(name).is_some_and(|value| !is_off(value));
    let adapts = ["lora", "oft", "freeze"].contains(&word("finetuning_type"))
        || ["adapter", "use_peft", "use_lora", "lora_enable", "lora_r"].iter().any(is_on);
    if reader.run.gpus == 1 || LAUNCHED.iter().any(|name| reader.has(name)) {
        return Sharing::Nobody;
    }
    let of_instruct = is_of_instruct(reader);
    // Its QLoRA loads the base whole on each GPU: `open_instruct/finetune.py:559` ("force data-parallel training"),
    // `scripts/finetune_qlora_with_accelerate_config.sh`. Its other files are started by DeepSpeed:
    // `scripts/finetune_with_accelerate_config.sh`, and those of DPO and LoRA.
    let by_deepspeed = of_instruct && !reader.by_accelerate && !is_on(&"use_qlora");
    if by_deepspeed && reader.choose(SHARDED, true) {
        reader.assume("ZeRO stage 3 by DeepSpeed, as open-instruct's own commands start its files");
        reader.set("zero", 3);
        reduces_each(reader);
        return Sharing::DeepSpeed;
    }
    if adapts || of_instruct {
        reader.assume(UNSHARDED);
        return Sharing::Nobody;
    }
    let states = reader.run.model.resolve().map_or(0.0, |model| 16.0 * model.elements().total() as f64);
    let fits = reader.run.gpu.resolve().is_ok_and(|gpu| states < gpu.memory.0);
    let fewer = ["pure_bf16", "use_galore", "use_apollo", "use_badam"].iter().any(|name| reader.has(name));
    if reader.choose(SHARDED, !fits && !fewer) {
        reader.assume("ZeRO stage 3 by FSDP, as the launcher's own file has it");
        reader.set("zero", 3);
        return Sharing::Fsdp;
    }
    reader.assume(UNSHARDED);
    Sharing::Nobody
}

/// True of settings of allenai/open-instruct e6c3044, by two names that its files have together
/// (`configs/train_configs`).
pub(in crate::dialect) fn is_of_instruct(reader: &SettingsReader) -> bool {
    ["with_tracking", "use_slow_tokenizer"].iter().all(|name| reader.has(name))
}

/// Gradients are reduced to their shards in every micro-batch, where there are shards.
pub(in crate::dialect) fn reduces_each(reader: &mut SettingsReader) {
    if reader.run.zero >= 2 {
        reader.run.zero2_reduce = Some(Reduction::MicroBatch);
    }
}

/// Format of the passes and the states: `bf16` or `fp16` around fp32 weights, or `pure`: weights and states in bf16.
pub(in crate::dialect) fn precision(reader: &mut SettingsReader, bf16: bool, fp16: bool, pure: bool, sharing: Sharing) {
    let half = if fp16 { "fp16" } else { "bf16" };
    let adapts = reader.run.adapter.method.is_some();
    reader.precision(match sharing {
        _ if !bf16 && !fp16 && !pure => "fp32",
        // A frozen base has 16 bits and no states.
        _ if adapts => half,
        Sharing::DeepSpeed => half,
        // FSDP keeps fp32 shards of whatever it is given, where passes are in 16 bits around them.
        Sharing::Fsdp if bf16 || fp16 => "fsdp-mixed",
        _ if pure => "bf16-pure",
        _ => "fsdp-mixed",
    });
}

pub(in crate::dialect) fn write_half(s: &Scenario, writer: &mut SettingsWriter) {
    match computes(&s.run.precision) {
        "fp32" => {}
        "fp16" => writer.say("fp16", true),
        _ => writer.say("bf16", true),
    }
}

/// True if weights and states are in 16 bits, as far as a program says it.
pub(in crate::dialect) fn is_pure(s: &Scenario) -> bool {
    let bytes = &s.precision;
    computes(&s.run.precision) != "fp32" && bytes.weights == 2.0 && bytes.master == 0.0
}

/// The library that shards in `s`: DeepSpeed where its stack or its offloading runs, or a stage that FSDP has not.
#[must_use]
pub(in crate::dialect) fn sharing(s: &Scenario) -> Sharing {
    let offloads = |offload: &shardscope_core::run::Offload| {
        offload.framework == OffloadFramework::DeepSpeed
            && (offload.optimizer.is_some() || offload.parameters.is_some())
    };
    let deepspeed = s.software.offload == Some(OffloadFramework::DeepSpeed)
        || s.run.offload.framework == Some(OffloadFramework::DeepSpeed)
        || s.offload.as_ref().is_some_and(offloads)
        || s.run.zero == 1;
    match s.run.zero {
        0 => Sharing::Nobody,
        _ if deepspeed => Sharing::DeepSpeed,
        _ => Sharing::Fsdp,
    }
}

pub(in crate::dialect) fn offload(
    reader: &mut SettingsReader,
    optimizer: bool,
    parameters: bool,
    framework: OffloadFramework,
) {
    let to = |yes: bool| yes.then_some(OffloadTo::Cpu);
    if optimizer || parameters {
        reader.run.offload.optimizer = to(optimizer);
        reader.run.offload.parameters = to(parameters);
        reader.run.offload.framework = Some(framework);
    }
}

pub(in crate::dialect) fn offload_activations(reader: &mut SettingsReader, yes: bool) {
    if yes {
        reader.run.offload.activations = Some(vec![Leaving::Cpu]);
    }
}

pub(in crate::dialect) fn offloads_activations(s: &Scenario) -> bool {
    s.run.offload.activations.is_some()
}

/// A file of DeepSpeed's settings by its name: stage, and whether optimizer and parameters go to the host.
fn file_means(name: &str) -> Option<(u64, bool, bool)> {
    let name = name.rsplit('/').next()?.to_ascii_lowercase();
    let stage = ["zero", "stage", "_z", "z"].iter().find_map(|mark| {
        let rest = &name[name.find(mark)? + mark.len()..];
        let digit = rest.trim_start_matches(['_', '-']).chars().next()?;
        Some(u64::from(digit.to_digit(4)?))
    })?;
    // allenai/open-instruct e6c3044 `configs/ds_configs/stage3_no_offloading_accelerate.conf`.
    let stays = ["no_offload", "no-offload", "nooffload"].iter().any(|part| name.contains(part));
    let leaves = name.contains("offload") && !stays;
    let optimizer = leaves && !name.contains("params");
    Some((stage, optimizer, leaves && stage == 3))
}

/// Takes the shards that a setting's file of DeepSpeed means, by its name; false where there is none.
pub(in crate::dialect) fn deepspeed(reader: &mut SettingsReader, name: &str) -> bool {
    let Some(file) = reader.word(name, "DeepSpeed's settings") else {
        return false;
    };
    if let Some((stage, optimizer, parameters)) = file_means(&file) {
        reader.assume(t!("ZeRO stage {stage} by the name of {file}: import that file too", stage, file));
        reader.set("zero", stage);
        offload(reader, optimizer, parameters, OffloadFramework::DeepSpeed);
    } else {
        let why = t!("the file is not here, and it has the ZeRO stage: give it in files");
        reader.absent.push((file.clone(), why));
        let third = reader.choose(&format!("{file} has ZeRO stage 3"), true);
        let stage = if third { 3 } else { 2 };
        reader.assume(t!("ZeRO stage {stage}: {file} has it, which is not here", stage, file));
        reader.set("zero", stage);
    }
    // `no_sync` is not for stages that partition gradients: DeepSpeed edaa722 `runtime/engine.py`.
    reduces_each(reader);
    true
}

/// A program's files of DeepSpeed's settings: stage, optimizer and parameters on the host, name.
pub(in crate::dialect) type Files = &'static [(u64, bool, bool, &'static str)];

/// Says the file that means the shards of `s`; the nearest where there is none of just these.
pub(in crate::dialect) fn write_deepspeed(s: &Scenario, writer: &mut SettingsWriter, name: &str, files: Files) {
    let offload = &s.run.offload;
    let wanted = (s.run.zero, offload.optimizer.is_some(), offload.parameters.is_some());
    let exact = files.iter().find(|file| (file.0, file.1, file.2) == wanted);
    let stage = files.iter().find(|file| file.0 == wanted.0 && !file.1 && !file.2);
    writer.maybe(name, exact.or(stage).map(|file| file.3));
}

/// Settings of FSDP: by accelerate's names with `fsdp_`, by axolotl's without, or by Trainer's words.
pub(in crate::dialect) struct Fsdp {
    /// True of FSDP2.
    pub second: bool,
    /// Whether layers are recomputed; none where the text does not say it.
    pub checkpoints: Option<bool>,
    /// True if the inputs of recomputed layers go to the host.
    pub activations: bool,
}

/// Takes the settings of FSDP; none where the text has none of them.
pub(in crate::dialect) fn fsdp(reader: &mut SettingsReader) -> Option<Fsdp> {
    let words = reader.word("fsdp", "FSDP").unwrap_or_default().to_ascii_lowercase();
    let mut any = !words.is_empty() && words != "false" || reader.flag("use_fsdp", "FSDP");
    any |= reader.last("distributed_type").and_then(Value::text).is_some_and(|kind| kind.eq_ignore_ascii_case("fsdp"));
    let mut entry = |reader: &mut SettingsReader, key: &str, what| {
        let names = [format!("fsdp_config.fsdp_{key}"), format!("fsdp_config.{key}"), format!("fsdp_{key}")];
        let name = names.iter().find(|name| reader.has(name))?;
        any = true;
        reader.word(name, what)
    };
    let on = |word: Option<String>| word.map(|word| word == "true");
    let version = entry(reader, "version", "FSDP's version");
    let strategy = entry(reader, "sharding_strategy", "shards").unwrap_or_else(|| words.clone());
    let reshard = entry(reader, "reshard_after_forward", "shards again after the forward pass");
    let offloads = on(entry(reader, "offload_params", "parameters on the host"));
    let checkpoints = on(entry(reader, "activation_checkpointing", "full recomputation"));
    let activations = on(entry(reader, "activation_checkpointing_offload", "activations on the host"));
    // A unit for each layer, and the next one gathered before the gradients of this one, are what is counted.
    for (key, value) in [("auto_wrap_policy", "TRANSFORMER_BASED_WRAP"), ("backward_prefetch", "BACKWARD_PRE")] {
        for name in [format!("fsdp_config.fsdp_{key}"), format!("fsdp_config.{key}"), format!("fsdp_{key}")] {
            let said = reader.last(&name).and_then(Value::text).map(str::to_ascii_uppercase);
            if said.as_deref() == Some(value) {
                reader.moot(&name, "counted so anyway");
            }
        }
    }
    let version = reader.word("fsdp_version", "FSDP's version").or(version);
    if !any && version.is_none() {
        return None;
    }
    let strategy = strategy.to_ascii_lowercase();
    let is = |name: &str, number: &str| strategy.contains(name) || strategy == number;
    let keeps = on(reshard) == Some(false);
    let stage = if is("no_shard", "3") {
        0
    } else if is("shard_grad_op", "2") || keeps || strategy.contains("zero2") {
        2
    } else {
        3
    };
    if is("hybrid_shard", "4") {
        let node = reader.run.gpus_per_node.unwrap_or(8);
        reader.run.hsdp_shard = Some(node).filter(|node| *node < reader.run.gpus);
    }
    reader.set("zero", stage);
    let parameters = offloads == Some(true) || words.contains("offload");
    // FSDP1 keeps the same on the host as FSDP2: pytorch `torch/distributed/fsdp/api.py`, `CPUOffload`, "offloads
    // gradients to CPU as well, meaning that the optimizer step runs on CPU".
    offload(reader, false, parameters, OffloadFramework::Fsdp2);
    let second = version.as_deref() == Some("2");
    if second && stage >= 2 {
        reduces_each(reader);
        reader.assume(
            "gradients reduced in every micro-batch, as FSDP2 does under Accelerate before 1.11: later releases add \
                them up whole on every GPU (zero2_reduce=step) unless accelerator_config has sync_each_batch",
        );
    }
    Some(Fsdp { second, checkpoints, activations: activations == Some(true) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files that axolotl and LLaMA-Factory bring, by what stands in them.
    #[test]
    fn files_of_deepspeed_are_told_by_their_names() {
        for (name, meant) in [
            ("deepspeed_configs/zero1.json", Some((1, false, false))),
            ("deepspeed_configs/zero3_bf16.json", Some((3, false, false))),
            ("deepspeed_configs/zero3_bf16_cpuoffload_all.json", Some((3, true, true))),
            ("deepspeed_configs/zero3_bf16_cpuoffload_params.json", Some((3, false, true))),
            ("examples/deepspeed/ds_z0_config.json", Some((0, false, false))),
            ("examples/deepspeed/ds_z2_offload_config.json", Some((2, true, false))),
            ("examples/deepspeed/ds_z3_offload_config.json", Some((3, true, true))),
            ("config/stage_2.json", Some((2, false, false))),
            ("configs/ds_configs/stage3_no_offloading_accelerate.conf", Some((3, false, false))),
            ("configs/ds_configs/stage3_offloading_accelerate.conf", Some((3, true, true))),
            ("ds_config.json", None),
        ] {
            assert_eq!(file_means(name), meant, "{name}");
        }
    }
}
