//! Hugging Face's Trainer: `TrainingArguments` as YAML, JSON, arguments or Python, with those of TRL.
//!
//! Source: huggingface/transformers `training_args.py`, huggingface/trl `trl/trainer/model_config.py` and
//! `sft_config.py`: names and defaults.

use super::tuning::{self, Batch, Fsdp, LowRank, Sharing};
use crate::dialect::named_files::take_files;
use crate::dialect::python_trainer;
use crate::dialect::rows::hub;
use crate::dialect::rows::prelude::*;
use crate::dialect::text::launch::take_launch;
use crate::dialect::text::{python, yaml};
use shardscope_core::message::Message;
use shardscope_core::run::{Objective, ObjectiveParts};

pub(crate) static DIALECT: Dialect = Dialect {
    id: "trl",
    name: "Hugging Face Trainer, TRL",
    file: "trl.yaml",
    entries,
    keys: &["per_device_train_batch_size", "model_name_or_path", "use_peft"],
    told,
    silent: "hf-trainer",
    read,
    write,
    print: yaml::print,
};

pub(super) const BATCH: Batch =
    Batch { micro: "per_device_train_batch_size", accumulation: "gradient_accumulation_steps", silent: 8 };

/// Rank where TRL's `ModelConfig` is silent.
const RANK: u64 = 16;

/// The settings that a text says: YAML, JSON, a command with arguments, or a program of Python.
pub(crate) fn entries(text: &ImportText) -> Result<SettingEntries, Issue> {
    if python::is_program(text.text) {
        return Ok(python_trainer::read(text)?.entries);
    }
    let script = text.script();
    let arguments = script.arguments();
    if !arguments.iter().any(|(name, _)| DIALECT.keys.contains(&&*bare(name))) {
        let mut said = yaml::entries(text.text)?;
        take_files(text, &mut said);
        return Ok(said);
    }
    let trainer = tuning::objective::trainer(text.text).or_else(|| tuning::objective::named_in(&script.words));
    let trainer = trainer.map(|name| ("trainer".to_owned(), Value::Text(name.to_owned())));
    let mut named: SettingEntries = arguments.into_iter().map(|(name, value)| (bare(&name), value)).collect();
    take_launch(script, &mut named);
    take_files(text, &mut named);
    Ok(trainer.into_iter().chain(named).collect())
}

fn told(entries: &SettingEntries) -> Option<&'static str> {
    tuning::told(entries, &["use_liger_kernel", "use_liger"])
}

fn read(reader: &mut SettingsReader) {
    tuning::begin(reader);
    // simplescaling/s1 77272c6 `train/sft.py` calls it so.
    let key = ["model_name_or_path", "model_name"].into_iter().find(|name| reader.has(name));
    let name = hub::read(reader, key.unwrap_or("model_name_or_path"));
    reader.set("tp", 1);
    reader.set("cp", 1);
    tuning::gpus_of_page(reader);
    // TRL says a sequence and checkpoints where it is silent; Trainer alone does neither.
    let names = ["use_peft", "max_length", "max_seq_length", "packing", "dataset_name", "loss_type"];
    let generates = tuning::rollout::generates(reader);
    // Transformers' own examples have some of these names too, and settings that TRL has not.
    let examples = ["do_train", "config_overrides", "block_size"].iter().any(|name| reader.has(name));
    let trainer = reader.last("trainer").and_then(Value::text).map(str::to_owned);
    let of_transformers = trainer.as_deref() == Some(python_trainer::TRANSFORMERS);
    let of_trl = generates
        || trainer.is_some() && !of_transformers
        || !of_transformers && names.iter().any(|name| reader.has(name)) && !examples;
    let silent = if of_trl { 1024 } else { 0 };
    if generates {
        tuning::rollout::sequence(reader);
    } else {
        tuning::sequence(reader, LENGTHS, "TRL", silent);
    }
    let loss = reader.word("loss_type", "loss");
    tuning::objective::of_trl(reader, loss.as_deref());
    reader.set("zero", 0);
    let of_chat =
        reader.has("max_seq_len") && ["zero_stage", "lora_dim", "offload"].iter().any(|name| reader.has(name));
    let (sharing, wrapped) = if of_chat { (shards_of_chat(reader), None) } else { shards(reader) };
    adapter(reader, name.as_deref(), of_trl);
    BATCH.read(reader);
    tuning::rollout::take(reader);
    let max = reader.number("max_steps", "steps").and_then(shardscope_core::units::whole);
    reader.steps(max);
    tuning::optimizer(reader, "optim");
    precision(reader, of_trl, of_chat, sharing);
    recomputation(reader, of_trl, wrapped.as_ref().and_then(|fsdp| fsdp.checkpoints) == Some(true));
    let leaves = reader.flag("activation_offloading", "activations on the host");
    let leaves = leaves || wrapped.is_some_and(|fsdp| fsdp.activations);
    tuning::offload_activations(reader, leaves);
    // Its name in TRL up to 0.15: `trl/trainer/sft_config.py` of v0.15.0 and v0.16.0.
    let liger = reader.any(["use_liger_kernel", "use_liger"], "fused kernels of Liger");
    let supervised = of_trl && !generates && reader.run.objective.base == Some(Objective::NextToken.id());
    let slices = match loss.as_deref() {
        Some(loss) => loss == "chunked_nll",
        None => supervised && !liger && silent_slices(reader),
    };
    tuning::loss(reader, liger, slices);
    tuning::preferences(reader);
    tuning::compile(reader, "torch_compile");
    tuning::attention(reader, "attn_implementation", &["eager"]);
    reader.flag("use_flash_attention_2", "attention without stored scores");
}

/// Takes the format of weights and passes: by Trainer's own settings, else the launcher's, else what the program does
/// where the text is silent.
fn precision(reader: &mut SettingsReader, of_trl: bool, of_chat: bool, sharing: Sharing) {
    let (bf16, fp16) = (tuning::switch(reader, "bf16", "bf16"), reader.flag("fp16", "fp16"));
    // Accelerate's own, where it says the same.
    let half = reader.last("mixed_precision").and_then(Value::text).map(str::to_owned);
    if half.is_some_and(|half| half == "bf16" && bf16 == Some(true) || half == "fp16" && fp16) {
        reader.moot("mixed_precision", "repeats what other settings say");
    }
    let dtype = reader.word("dtype", "weights in");
    let dtype = dtype.or_else(|| reader.word("torch_dtype", "weights in"));
    let (bf16, fp16) = if of_chat { chat(reader, dtype.as_deref()) } else { (bf16, fp16) };
    // Trainer takes the launcher's where it says none: Transformers `training_args.py` (`ACCELERATE_MIXED_PRECISION`).
    let by_launcher = bf16.is_none() && !fp16 && reader.last("mixed_precision").and_then(Value::text) == Some("bf16");
    if by_launcher {
        reader.value("mixed_precision");
        reader.note("mixed_precision", Message::plain("bf16"));
    }
    let bf16 = bf16.or(by_launcher.then_some(true));
    // Files of allenai/open-instruct e6c3044, whose `open_instruct/finetune.py:568` and `dpo_tune_cache.py:310` load
    // the weights in bf16, whatever the launcher says.
    let of_instruct = bf16 != Some(false) && !fp16 && tuning::is_of_instruct(reader);
    if of_instruct {
        reader.assume("weights are loaded in bf16: open-instruct where the text is silent");
    }
    let bf16 = bf16.unwrap_or_else(|| of_instruct || of_trl && !fp16 && silent_bf16(reader));
    let auto = dtype.as_deref() == Some("auto");
    if auto {
        reader.assume("weights are loaded in bf16: dtype \"auto\" is that of the checkpoint, which is not here");
    }
    let pure = auto || of_instruct || dtype.as_deref() == Some("bfloat16");
    tuning::precision(reader, bf16, fp16, pure, sharing);
    let whole = reader.run.adapter.method.is_some() && reader.run.adapter.base.is_none() && reader.has("use_peft");
    if whole && of_trl && bf16 && !pure && sharing != Sharing::DeepSpeed {
        whole_base(reader);
    }
}

/// Takes whether layers are recomputed; `by_fsdp` where the wrapping by FSDP already says so.
fn recomputation(reader: &mut SettingsReader, of_trl: bool, by_fsdp: bool) {
    let again = tuning::switch(reader, "gradient_checkpointing", "full recomputation");
    let again = again.or_else(|| tuning::switch(reader, "use_gradient_checkpointing", "full recomputation"));
    // OpenGVLab/InternVL 2410d1d `internvl_chat/internvl/train/internvl_chat_finetune.py:140`: on where it is not said.
    let again = again.or_else(|| tuning::switch(reader, "grad_checkpoint", "full recomputation"));
    let of_internvl = again.is_none() && reader.has("force_image_size") && reader.has("conv_style");
    if of_internvl {
        reader.assume("full recomputation: InternVL where the text is silent");
    }
    let again = again.or(of_internvl.then_some(true));
    let again = again.unwrap_or_else(|| of_trl && silent_checkpoints(reader));
    tuning::checkpoint(reader, again || by_fsdp);
}

/// DeepSpeed-Chat has the stage among its arguments, and its models of rewards learn from pairs without a vocabulary.
/// Source: microsoft/DeepSpeedExamples 45b4b71 `applications/DeepSpeed-Chat`:
/// `training/step1_supervised_finetuning/main.py` (`zero_stage`, 0 where it is not said),
/// `training/step2_reward_model_finetuning/main.py` (`num_padding_at_beginning`),
/// `dschat/utils/model/reward_model.py:31` and `:57`.
fn shards_of_chat(reader: &mut SettingsReader) -> Sharing {
    reader.flag("deepspeed", "DeepSpeed");
    let stage = reader.count("zero_stage", "ZeRO stage").unwrap_or(0);
    reader.set("zero", stage);
    tuning::reduces_each(reader);
    if reader.has("num_padding_at_beginning") {
        reader.count("num_padding_at_beginning", "model of rewards");
        reader.run.objective = Based { base: Some(Objective::Reward.id()), parts: ObjectiveParts::default() };
    }
    Sharing::DeepSpeed
}

/// DeepSpeed-Chat: the format of its passes, fp16 unless `dtype` is bf16, and what leaves the GPU. Source:
/// microsoft/DeepSpeedExamples `applications/DeepSpeed-Chat/training/step1_supervised_finetuning/main.py`,
/// `dschat/utils/ds_utils.py` (`get_train_ds_config`).
fn chat(reader: &mut SettingsReader, dtype: Option<&str>) -> (Option<bool>, bool) {
    if reader.flag("offload", "optimizer and parameters on the host") {
        let parameters = reader.run.zero == 3;
        tuning::offload(reader, true, parameters, OffloadFramework::DeepSpeed);
    }
    let half = dtype == Some("bf16");
    if dtype.is_none() {
        reader.assume("fp16: DeepSpeed-Chat where the text is silent");
    }
    (Some(half), !half)
}

/// Names of the length of a sequence: TRL's, Trainer's examples' (Transformers `examples/pytorch/language-modeling`).
const LENGTHS: &[&str] = &["max_length", LENGTH_BEFORE, "model_max_length", "block_size", "max_seq_len"];

/// The name of `max_length` up to TRL 0.19: `trl/trainer/sft_config.py` of v0.16 to v0.20.
const LENGTH_BEFORE: &str = "max_seq_length";

/// Layers are computed again where a text of TRL is silent: since 0.22, whose `gradient_checkpointing` is true in each
/// trainer's configuration (`trl/trainer/sft_config.py` of v0.21.0 and v0.22.0). `dtype` is a setting since 0.23.
fn silent_checkpoints(reader: &mut SettingsReader) -> bool {
    if reader.has(LENGTH_BEFORE) {
        reader.assume("no recomputation: TRL before 0.22 where the text is silent, whose max_seq_length it has");
        return false;
    }
    let again = reader.has("dtype") || reader.choose("TRL is release 0.22 or later", true);
    reader.assume(if again {
        "full recomputation: TRL since 0.22 where the text is silent"
    } else {
        "no recomputation: TRL before 0.22 where the text is silent"
    });
    again
}

/// Passes are in bf16 where a text of TRL is silent: since 0.19 (`trl/trainer/sft_config.py` of v0.18.0 and v0.19.0).
fn silent_bf16(reader: &mut SettingsReader) -> bool {
    if !reader.has(LENGTH_BEFORE) {
        return true;
    }
    let half = reader.choose("TRL is release 0.19", false);
    if !half {
        reader.assume("fp32: TRL before 0.19 where the text is silent, whose max_seq_length it has");
    }
    half
}

/// The loss is taken in slices where a text of TRL is silent: since 1.7 (`trl/trainer/sft_config.py` of v1.6.0 and
/// v1.7.0, `loss_type`).
fn silent_slices(reader: &mut SettingsReader) -> bool {
    let before = [LENGTH_BEFORE, "torch_dtype"].iter().any(|name| reader.has(name));
    let slices = !before && reader.choose("TRL is release 1.7 or later", false);
    if slices {
        reader.assume("loss by slices: TRL since 1.7 where the text is silent");
    } else if !before {
        reader.assume("logits of all tokens at once, as in TRL before 1.7 where loss_type is not said");
    }
    slices
}

/// A base that TRL loads in fp32, around passes in bf16. Source: huggingface/trl f2cd577
/// `trl/trainer/model_config.py:89` ("float32"; none until 0.27, which Transformers before 5 takes for fp32).
fn whole_base(reader: &mut SettingsReader) {
    reader.precision("fsdp-mixed");
    reader.assume("the frozen base is kept in fp32, as TRL loads it where dtype is not said: bfloat16 halves it");
}

/// The library that shards: DeepSpeed by a file or settings inside, or FSDP with its settings.
fn shards(reader: &mut SettingsReader) -> (Sharing, Option<Fsdp>) {
    if tuning::deepspeed(reader, "deepspeed") || tuning::deepspeed_inside(reader) {
        return (Sharing::DeepSpeed, None);
    }
    if let Some(sharing) = tuning::by_accelerate(reader) {
        return (sharing, None);
    }
    let fsdp = tuning::fsdp(reader);
    if reader.flag("accelerator_config.sync_each_batch", "gradients reduced in every micro-batch") {
        tuning::reduces_each(reader);
    }
    if fsdp.is_none() {
        return (tuning::by_accelerate_file(reader), None);
    }
    (Sharing::said(false, fsdp.as_ref()), fsdp)
}

/// TRL reads no other setting of adapters without `use_peft` (`trl/trainer/utils.py`, `get_peft_config`); scripts
/// beside Trainer that have a rank train them, as lm-sys/FastChat 0e6d3e4 `fastchat/train/train_lora.py:57`. A base in
/// 4 or 8 bits cannot be trained by itself (unslothai/unsloth `unsloth-cli.py`, whose rank is `r`).
fn adapter(reader: &mut SettingsReader, name: Option<&str>, of_trl: bool) {
    let rank = reader.count("lora_r", "rank of the adapters");
    let targets = tuning::targets(reader, "lora_target_modules");
    let saved = tuning::saved(reader, "lora_modules_to_save");
    let dora = reader.flag("use_dora", "DoRA");
    let four = reader.flag("load_in_4bit", "base in 4 bits");
    let eight = reader.flag("load_in_8bit", "base in 8 bits");
    let double = reader.flag("use_bnb_nested_quant", "double quantisation");
    // Scripts beside Trainer call it so: QwenLM/Qwen 2df8e8a `finetune.py`, haotian-liu/LLaVA `train.py`, whose
    // rank is 64.
    let theirs = reader.any(["use_lora", "lora_enable"], "adapters");
    // allenai/open-instruct e6c3044 `open_instruct/finetune.py` (`use_qlora`, `lora_rank`), shibing624/MedicalGPT
    // `training/supervised_finetuning.py` (`lora_rank`, `target_modules`).
    let four = four | reader.any(["q_lora", "use_qlora"], "base in 4 bits");
    let rank = if of_trl { rank } else { rank.or_else(|| reader.count("lora_rank", "rank of the adapters")) };
    let targets = if of_trl { targets } else { targets.or_else(|| tuning::targets(reader, "target_modules")) };
    if let Some(active) = lisa(reader) {
        let saved = Some(vec![Saved::Embedding, Saved::Head]);
        LowRank { rank: Some(active.rank), dora: false, base: None, targets: None, saved }.take(reader);
        reader.run.adapter.dtype = Some(AdapterType::Bf16);
        return;
    }
    // OpenGVLab/InternVL 2410d1d `internvl_chat/internvl/train/internvl_chat_finetune.py:128`, 0 where there is none;
    // `internvl/model/internvl_chat/modeling_internvl_chat.py`, `wrap_llm_lora`: every linear of a layer.
    let of_language = reader.count("use_llm_lora", "rank of the adapters").filter(|rank| *rank > 0);
    if of_language.is_some() {
        let base = name.and_then(tuning::stored_as);
        return LowRank { rank: of_language, dora: false, base, targets: None, saved: None }.take(reader);
    }
    let unsaid = ["use_peft", "use_lora", "lora_enable"].iter().all(|name| !reader.has(name));
    let meant = unsaid && (!of_trl && rank.is_some() || four || eight) && reader.choose("adapters are trained", true);
    if meant {
        reader.assume("adapters are trained: nothing switches them on, but their rank or a quantised base is said");
    }
    let rank = if meant { rank.or_else(|| reader.count("r", "rank of the adapters")) } else { rank };
    if !reader.flag("use_peft", "adapters") && !theirs && !meant {
        return;
    }
    let base = match (four, eight) {
        (true, _) if double => Some(BaseFormat::Nf4Double),
        (true, _) => Some(BaseFormat::Nf4),
        (_, true) => Some(BaseFormat::Int8),
        _ => name.and_then(tuning::stored_as),
    };
    let rank = rank.or(Some(if theirs { 64 } else { RANK }));
    LowRank { rank, dora, base, targets, saved }.take(reader);
}

/// What LISA trains, by the names of OptimalScale/LMFlow f3597db `src/lmflow/args.py`: two layers at a time where it is
/// not said.
fn lisa(reader: &mut SettingsReader) -> Option<tuning::Counted> {
    if !reader.flag("use_lisa", "LISA") {
        return None;
    }
    let active = reader.count("lisa_activated_layers", "layers that LISA trains at a time").unwrap_or(2);
    tuning::lisa(reader, active.max(1))
}

/// Trainer's words for FSDP: what is sharded, and whether parameters go to the host.
pub(super) fn words(run: &Run) -> &'static str {
    match (run.zero, run.offload.parameters.is_some()) {
        (3, true) => "full_shard auto_wrap offload",
        (3, false) => "full_shard auto_wrap",
        (_, true) => "shard_grad_op auto_wrap offload",
        (_, false) => "shard_grad_op auto_wrap",
    }
}

fn write(s: &Scenario, writer: &mut SettingsWriter) {
    let run = &s.run;
    hub::write(writer, "model_name_or_path", &run.model);
    let half = s.adapter.is_some() && s.precision.weights == 2.0 && super::computes(&run.precision) != "fp16";
    writer.when(tuning::is_pure(s) || half, "dtype", "bfloat16");
    if let Some(adapter) = &s.adapter {
        writer.say("use_peft", true);
        writer.say("lora_r", adapter.rank);
        tuning::write_linears(writer, "lora_target_modules", adapter);
        tuning::write_saved(writer, "lora_modules_to_save", adapter);
        writer.when(adapter.method == AdapterMethod::Dora, "use_dora", true);
        match adapter.base {
            Some(BaseFormat::Nf4 | BaseFormat::Nf4Double) => writer.say("load_in_4bit", true),
            Some(BaseFormat::Int8) => writer.say("load_in_8bit", true),
            _ => {}
        }
        writer.when(adapter.base == Some(BaseFormat::Nf4Double), "use_bnb_nested_quant", true);
    }
    if !tuning::rollout::write(s, writer) {
        writer.say("max_length", run.seq_len);
    }
    BATCH.write(s, writer, 1);
    writer.maybe("max_steps", steps(run));
    tuning::write_optimizer(writer, "optim", run.optimizer);
    tuning::write_half(s, writer);
    writer.when(super::computes(&run.precision) == "fp32", "bf16", false);
    writer.say("gradient_checkpointing", run.recompute == Recompute::Full);
    writer.when(tuning::offloads_activations(s), "activation_offloading", true);
    match run.cross_entropy {
        Some(CrossEntropy::FusedLinear) => writer.say("use_liger_kernel", true),
        Some(CrossEntropy::Chunked) => writer.say("loss_type", "chunked_nll"),
        _ => {}
    }
    writer.when(run.flash_attention == Some(false), "attn_implementation", "eager");
    writer.when(run.stack.parts.compile == Some(true), "torch_compile", true);
    writer.when(tuning::sharing(s) == Sharing::Fsdp, "fsdp", words(run));
}
