//! Accelerate's configuration: ranks, shards and precision; the batch and the model are the program's.
//!
//! Source: huggingface/accelerate, `commands/config/config_args.py` and `utils/dataclasses.py`: names and defaults.

use super::tuning::{self, Sharing};
use crate::dialect::rows::prelude::*;
use crate::dialect::text::yaml;

pub(crate) static DIALECT: Dialect = Dialect {
    id: "accelerate",
    name: "Accelerate",
    file: "accelerate.yaml",
    entries: |text| yaml::entries(text.text),
    keys: &["distributed_type", "compute_environment"],
    told: |_| None,
    silent: "hf-trainer",
    read,
    write,
    print: yaml::print,
};

const TP: &str = "parallelism_config.parallelism_config_tp_size";
const CP: &str = "parallelism_config.parallelism_config_cp_size";
const SHARD: &str = "parallelism_config.parallelism_config_dp_shard_size";
const COPIES: &str = "parallelism_config.parallelism_config_dp_replicate_size";

fn read(reader: &mut SettingsReader) {
    let (adapter, offload) = (reader.run.adapter.clone(), reader.run.offload.activations.clone());
    tuning::begin(reader);
    reader.run.adapter = adapter;
    reader.run.offload.activations = offload;
    let rows = [super::same(TP, "tp", Some(1)), super::same(CP, "cp", Some(1))];
    reader.same(&rows, DIALECT.name);
    match reader.count("num_processes", "GPUs") {
        Some(gpus) => reader.set("gpus", gpus),
        None => tuning::gpus_of_page(reader),
    }
    if let Some(nodes) = reader.count("num_machines", "nodes").filter(|nodes| *nodes > 1) {
        let each = (reader.run.gpus / nodes).max(1);
        reader.set("gpus_per_node", each);
    }
    let copies = reader.count(COPIES, "copies of the shards").unwrap_or(1);
    let shard = reader.number(SHARD, "ranks that share shards").and_then(shardscope_core::units::whole);
    if copies > 1 {
        reader.run.hsdp_shard = shard.map(|shard| shard.max(1).saturating_mul(reader.run.cp));
    }
    reader.set("zero", 0);
    let kind = reader.word("distributed_type", "ranks by").unwrap_or_default().to_ascii_uppercase();
    let sharing = match kind.as_str() {
        "DEEPSPEED" => deepspeed(reader),
        "FSDP" => {
            let fsdp = tuning::fsdp(reader);
            if fsdp.is_none() {
                reader.set("zero", 3);
            }
            if let Some(fsdp) = fsdp {
                if let Some(again) = fsdp.checkpoints {
                    tuning::checkpoint(reader, again);
                }
                tuning::offload_activations(reader, fsdp.activations);
            }
            Sharing::Fsdp
        }
        _ => Sharing::Nobody,
    };
    let word = reader.word("mixed_precision", "computes in").unwrap_or_default();
    let pure = word == "no" && sharing == Sharing::Nobody && reader.run.precision.base == Some("bf16-pure");
    tuning::precision(reader, word == "bf16" || word == "fp8", word == "fp16", pure, sharing);
    if word == "fp8" {
        reader.assume("bf16: the recipe of fp8 is not read");
    }
    steps(reader);
}

/// The batch of the page, as near as whole micro-batches of the new ranks come to it.
fn steps(reader: &mut SettingsReader) {
    let run = &reader.run;
    let ranks = (run.gpus / (run.tp * run.cp).max(1)).max(1);
    let each = ranks.saturating_mul(run.micro_batch);
    let steps = reader.count("deepspeed_config.gradient_accumulation_steps", "micro-batches a step and rank");
    let run = &reader.run;
    let count = steps.unwrap_or(run.global_batch.div_ceil(each).max(1));
    let global = each.saturating_mul(count);
    if global != run.global_batch {
        reader.assume(t!("global batch {global}: what {here} ranks make of the micro-batch", global, here = ranks));
        reader.set("global_batch", global);
    }
    reader.assume("the model, the batch and the sequence, as on this page: the program has them");
}

fn deepspeed(reader: &mut SettingsReader) -> Sharing {
    if tuning::deepspeed(reader, "deepspeed_config.deepspeed_config_file") {
        return Sharing::DeepSpeed;
    }
    let stage = reader.count("deepspeed_config.zero_stage", "ZeRO stage").unwrap_or(2);
    reader.set("zero", stage);
    let leaves = |word: Option<String>| word.and_then(|word| OffloadTo::from_id(&word));
    let optimizer = leaves(reader.word("deepspeed_config.offload_optimizer_device", "states of the optimizer on"));
    let parameters = leaves(reader.word("deepspeed_config.offload_param_device", "parameters on"));
    if optimizer.or(parameters).is_some() {
        reader.run.offload.framework = Some(OffloadFramework::DeepSpeed);
    }
    (reader.run.offload.optimizer, reader.run.offload.parameters) = (optimizer, parameters);
    tuning::reduces_each(reader);
    Sharing::DeepSpeed
}

fn write(s: &Scenario, writer: &mut SettingsWriter) {
    let run = &s.run;
    let sharing = tuning::sharing(s);
    writer.say(
        "distributed_type",
        match sharing {
            Sharing::DeepSpeed => "DEEPSPEED",
            Sharing::Fsdp => "FSDP",
            Sharing::Nobody if run.gpus > 1 => "MULTI_GPU",
            Sharing::Nobody => "NO",
        },
    );
    writer.say(
        "mixed_precision",
        match super::computes(&run.precision) {
            "fp32" => "no",
            "fp16" => "fp16",
            _ => "bf16",
        },
    );
    writer.say("num_machines", s.layout.gpus.div_ceil(s.layout.per_node).max(1));
    writer.say("num_processes", run.gpus);
    match sharing {
        Sharing::DeepSpeed => {
            let each = tuning::accumulation(s, run.tp * run.cp);
            writer.say("deepspeed_config.gradient_accumulation_steps", each);
            let to = |to: Option<OffloadTo>| to.map_or("none", OneOf::id);
            writer.say("deepspeed_config.offload_optimizer_device", to(run.offload.optimizer));
            writer.say("deepspeed_config.offload_param_device", to(run.offload.parameters));
            writer.say("deepspeed_config.zero_stage", run.zero);
        }
        Sharing::Fsdp => {
            writer.say("fsdp_config.fsdp_activation_checkpointing", run.recompute == Recompute::Full);
            writer.say("fsdp_config.fsdp_activation_checkpointing_offload", tuning::offloads_activations(s));
            writer.say("fsdp_config.fsdp_offload_params", run.offload.parameters.is_some());
            writer.say("fsdp_config.fsdp_reshard_after_forward", run.zero == 3);
            writer.say("fsdp_config.fsdp_version", 2);
        }
        Sharing::Nobody => {}
    }
    let [shard, copies] = tuning::shards(s);
    if run.tp > 1 || run.cp > 1 || copies > 1 {
        writer.say(TP, run.tp);
        writer.say(CP, run.cp);
        let sharded = run.zero >= 2;
        writer.say(SHARD, if sharded { shard } else { 1 });
        writer.say(COPIES, if sharded { copies } else { shard * copies });
    }
}
