//! Settings that programs of fine-tuning share: the Run they begin with, degrees, batch, optimizer, loss; adapters;
//! shards by FSDP or DeepSpeed, and what goes to the host.

mod adapters;
mod counted;
pub(super) mod objective;
pub(super) mod rollout;
mod sharing;

pub(super) use adapters::{
    LowRank, all_linear, saved, saved_names, stored_as, target_names, targets, write_linears, write_saved,
};
pub(super) use counted::{Counted, counted, lisa};
pub(super) use sharing::{
    Files, Fsdp, Sharing, by_accelerate, by_accelerate_file, deepspeed, deepspeed_inside, fsdp, is_of_instruct,
    is_pure, offload, offload_activations, offloads_activations, precision, reduces_each, shared, sharing,
    write_deepspeed, write_half,
};

use crate::dialect::rows::prelude::*;
use shardscope_core::run::Objective;

/// Hugging Face's libraries with fused norms and rotary embeddings, where one of `switches` is on.
pub(super) fn told(entries: &SettingEntries, switches: &[&str]) -> Option<&'static str> {
    let on = |(name, value): &(String, Value)| switches.contains(&&**name) && *value == Value::Bool(true);
    entries.iter().any(on).then_some("hf-fused")
}

/// Begins a Run that such a program can mean: no pipeline, no expert parallelism, nothing adapted or moved to the host.
pub(super) fn begin(reader: &mut SettingsReader) {
    for key in ["pp", "ep", "etp", "virtual_stages"] {
        reader.set(key, 1);
    }
    let run = &mut reader.run;
    (run.schedule, run.schedule_options) = (Schedule::OneFOneB, ScheduleOptions::default());
    (run.stage_layers, run.microbatch_lengths, run.hsdp_shard) = (None, None, None);
    (run.adapter, run.offload) = (AdapterParts::default(), OffloadParts::default());
    run.zero2_reduce = None;
}

/// The degrees that a program says: tensor, context, sharded and replicated data parallelism.
pub(super) struct Mesh {
    pub tp: &'static str,
    pub cp: &'static str,
    /// An earlier name of `cp`.
    pub cp_before: Option<&'static str>,
    pub shard: &'static str,
    pub replicate: &'static str,
}

impl Mesh {
    const fn degrees(&self) -> [Same; 2] {
        [same(self.tp, "tp", Some(1)), same(self.cp, "cp", Some(1))]
    }

    /// Takes the degrees, and the GPUs where they follow.
    pub fn read(&self, reader: &mut SettingsReader, program: &'static str) {
        match self.cp_before.filter(|name| reader.has(name) && !reader.has(self.cp)) {
            Some(name) => reader.same(&[same(self.tp, "tp", Some(1)), same(name, "cp", Some(1))], program),
            None => reader.same(&self.degrees(), program),
        }
        if reader.run.tp > 1 {
            reader.set("sequence_parallel", false);
        }
        // -1 is all that are left.
        let degree = |reader: &mut SettingsReader, name, what| {
            let ranks = reader.number(name, what).and_then(shardscope_core::units::whole);
            ranks.filter(|ranks| *ranks > 0)
        };
        let shard = degree(reader, self.shard, "ranks that share shards");
        let copies = degree(reader, self.replicate, "copies of the shards").unwrap_or(1);
        let run = &reader.run;
        let (each, all) = (run.tp.saturating_mul(run.cp), shard.unwrap_or(1));
        match shard {
            Some(shard) => {
                let gpus = each.saturating_mul(all).saturating_mul(copies);
                reader.set("gpus", gpus);
                if copies > 1 {
                    reader.run.hsdp_shard = Some(shard.saturating_mul(reader.run.cp));
                }
            }
            None => gpus_of_page(reader),
        }
    }

    /// Says them; shards only where something is sharded.
    pub fn write(&self, s: &Scenario, writer: &mut SettingsWriter) {
        writer.same(&self.degrees(), &s.run);
        if s.run.zero >= 2 {
            let [shard, copies] = shards(s);
            writer.say(self.shard, shard);
            writer.when(copies > 1, self.replicate, copies);
        }
    }
}

/// Takes the GPUs of a launcher and those that its processes see: one that sees several spreads the layers over them
/// (`device_map`), as a pipeline does. Source: ms-swift 3602360 `swift/utils/env.py:64` (`is_mp`).
pub(super) fn gpus_seen(reader: &mut SettingsReader) {
    let seen = reader.count("devices", "GPUs that the processes see");
    let (Some(seen), shares) = (seen, reader.has("deepspeed") || reader.has("fsdp")) else {
        return gpus_of_page(reader);
    };
    let processes = reader.count("gpus", "processes").unwrap_or(1).max(1);
    let each = if shares { 1 } else { (seen / processes).max(1) };
    reader.set("gpus", processes.saturating_mul(each));
    if each > 1 {
        reader.set("pp", each);
        reader.assume(t!(
            "one process spreads the layers over {each} GPUs: counted as a pipeline of {each} stages, which keeps \
                more micro-batches and is faster",
            each
        ));
    }
}

/// Takes the GPUs that a launcher says, or notes that they are those of the page.
pub(super) fn gpus_of_page(reader: &mut SettingsReader) {
    if let Some(gpus) = reader.count("gpus", "GPUs") {
        return reader.set("gpus", gpus);
    }
    // Accelerate starts one process where nothing is distributed.
    let alone = reader.last("distributed_type").and_then(Value::text).is_some_and(|kind| kind == "NO");
    if alone && !reader.has("num_processes") {
        reader.note("distributed_type", t!("{what} {value}", what = "GPUs", value = 1u64));
        return reader.set("gpus", 1);
    }
    // Of a launcher's command: all processes, or those of each node.
    let nodes = reader.count("nnodes", "nodes").or_else(|| reader.count("num_machines", "nodes"));
    // A number that the text does not set is not one.
    let open = nodes.is_none() && (reader.has("nnodes") || reader.has("num_machines"));
    let nodes = nodes.unwrap_or(1).max(1);
    let total = reader.count("num_processes", "GPUs");
    let each = reader.count("nproc_per_node", "GPUs per node");
    // Ray's workers hold whole GPUs each.
    let workers = reader.count("ray_num_workers", "Ray's workers");
    let per_worker = reader.number("resources_per_worker.GPU", "GPUs per worker").unwrap_or(1.0);
    let workers = workers.map(|count| count.saturating_mul(whole(per_worker.ceil()).unwrap_or(1)));
    let of_nodes = each.filter(|_| !open).map(|each| each.saturating_mul(nodes));
    if let Some(gpus) = total.or(of_nodes).or(workers).filter(|gpus| *gpus > 0) {
        reader.set("gpus", gpus);
        if nodes > 1 && gpus.is_multiple_of(nodes) {
            reader.set("gpus_per_node", gpus / nodes);
        }
        return;
    }
    reader.open_gpus(|gpus| t!("{gpus} GPUs, as on this page: the launcher says how many", gpus));
}

/// Names of a program for its micro-batch and for the micro-batches of a step.
pub(super) struct Batch {
    pub micro: &'static str,
    pub accumulation: &'static str,
    /// Micro-batch where a text does not name it.
    pub silent: u64,
}

impl Batch {
    /// Takes the micro-batch, and the batch that all ranks make of it.
    pub fn read(&self, reader: &mut SettingsReader) {
        let run = &reader.run;
        let page = (run.micro_batch, run.global_batch, run.gpus / (run.tp * run.pp * run.cp).max(1));
        let silent = if reader.has(self.micro) { page.0 } else { self.silent };
        let micro = reader.count(self.micro, "micro-batch").unwrap_or(silent).max(1);
        let each = reader.count(self.accumulation, "micro-batches a step and rank");
        let ranks = page.2.max(1);
        let global = micro.saturating_mul(each.unwrap_or(1).max(1)).saturating_mul(ranks);
        reader.set("micro_batch", micro);
        reader.set("global_batch", global);
    }

    /// Says them for a program in which `cut` GPUs share a sequence.
    pub fn write(&self, s: &Scenario, writer: &mut SettingsWriter, cut: u64) {
        writer.say(self.micro, s.run.micro_batch);
        writer.say(self.accumulation, accumulation(s, cut));
    }
}

/// GPUs that share one copy of what is sharded, and copies of it, in a program without pipelines: what a Run shards
/// over all replicas is sharded over all of the program's.
pub(super) fn shards(s: &Scenario) -> [u64; 2] {
    let replicas = (s.run.training_gpus() / (s.run.tp * s.run.cp).max(1)).max(1);
    let is_whole = s.zero.shard >= s.layout.dp * s.layout.cp;
    let shard = if is_whole { replicas } else { (s.zero.shard / s.layout.cp).max(1) };
    [shard, replicas / shard]
}

/// Micro-batches of a step of a program without pipelines in which `cut` GPUs share a sequence: those that make the
/// Run's batch on its GPUs, at least one.
pub(super) fn accumulation(s: &Scenario, cut: u64) -> u64 {
    let replicas = (s.run.training_gpus() / cut.max(1)).max(1);
    (s.run.global_batch / s.run.micro_batch.saturating_mul(replicas).max(1)).max(1)
}

pub(super) fn sequence(reader: &mut SettingsReader, names: &[&'static str], program: &'static str, silent: u64) {
    let present = names.iter().find(|name| reader.has(name));
    let name = present.or(names.first()).copied().unwrap_or_default();
    reader.same(&[same(name, "seq_len", (silent > 0).then_some(silent))], program);
    // axolotl, LLaMA-Factory and TRL: `position_ids` or attention masks keep packed samples apart.
    let packed = reader.any(["sample_packing", "neat_packing", "packing"], "samples packed into a sequence");
    if packed && reader.run.documents.is_none() {
        reader.assume("attention over whole sequences: documents says how long the packed samples are");
    }
}

/// Value of a switch; none where the text does not set it.
pub(super) fn switch(reader: &mut SettingsReader, name: &str, what: &'static str) -> Option<bool> {
    let is_said = reader.has(name);
    let yes = reader.flag(name, what);
    is_said.then_some(yes)
}

/// A list of words as a value.
pub(super) fn list(words: &[&str]) -> Value {
    Value::List(words.iter().map(|word| Value::Text((*word).to_owned())).collect())
}

/// Takes the optimizer that `name` says, by what its name holds: `paged_adamw_8bit`,
/// `bitsandbytes.optim.PagedAdamW8bit`.
pub(super) fn optimizer(reader: &mut SettingsReader, name: &str) {
    let word = reader.word(name, "optimizer").unwrap_or_default();
    let lower = word.to_ascii_lowercase();
    let has = |part: &str| lower.contains(part);
    // States in 4 or 8 bits, of low rank, or none: transformers `training_args.py` (`OptimizerNames`), flashoptim.
    let other_states = ["4bit", "apollo", "flash", "lomo"].iter().any(|part| has(part));
    let optimizers = [
        (has("galore"), Optimizer::GaLore),
        (has("adam") && has("mini"), Optimizer::AdamMini),
        (has("adafactor"), Optimizer::Adafactor),
        (has("lion"), Optimizer::Lion),
        (has("muon"), Optimizer::Muon),
        (has("adam") && has("8bit") && has("paged"), Optimizer::Adam8BitPaged),
        (has("adam") && has("8bit"), Optimizer::Adam8Bit),
        (has("adam") && has("paged") && !other_states, Optimizer::AdamPaged),
        (has("adam") && has("fp8"), Optimizer::Adam8Bit),
        (has("adam") && !other_states || has("cpuoffload") || word.is_empty(), Optimizer::Adam),
        (has("sgd"), Optimizer::Sgd),
    ];
    match optimizers.iter().find(|(is, _)| *is) {
        Some((_, optimizer)) => reader.run.optimizer = *optimizer,
        None => reader.unknown_optimizer(name, &*word),
    }
    if has("paged") && !has("adam") {
        reader.assume("paged states are counted on the GPU");
    }
}

/// Says what GaLore's rank is counted as, where it is less: `silent` is the program's own.
pub(super) fn galore(reader: &mut SettingsReader, silent: u64) {
    let rank = match reader.last("galore_rank") {
        Some(Value::Number(rank)) => whole(*rank).unwrap_or(silent),
        _ => silent,
    };
    let counted = reader.run.model.resolve().map_or(0, |model| model.hidden / 4);
    if reader.run.optimizer == Optimizer::GaLore && rank < counted {
        reader.assume(t!(
            "GaLore's states are counted at rank {counted}, a quarter of the hidden size: at rank {rank} they need \
                less memory",
            counted,
            rank
        ));
    }
}

/// Says the optimizer as Hugging Face's Trainer calls it, where it has it.
pub(super) fn write_optimizer(writer: &mut SettingsWriter, name: &str, optimizer: Optimizer) {
    let word = match optimizer {
        Optimizer::Adam => "adamw_torch",
        Optimizer::Sgd | Optimizer::SgdMomentum => "sgd",
        Optimizer::Adafactor => "adafactor",
        Optimizer::Adam8Bit => "adamw_bnb_8bit",
        Optimizer::Adam8BitPaged => "paged_adamw_8bit",
        Optimizer::AdamPaged => "paged_adamw_32bit",
        Optimizer::Lion => "lion_32bit",
        Optimizer::GaLore => "galore_adamw",
        Optimizer::Muon | Optimizer::AdamMini => return,
    };
    writer.say(name, word);
}

/// Every layer is recomputed from its input, or nothing is.
pub(super) fn checkpoint(reader: &mut SettingsReader, yes: bool) {
    reader.recompute(if yes { Recompute::Full } else { Recompute::None });
}

/// The kernel of the loss: with the head in one, or by slices.
pub(super) fn loss(reader: &mut SettingsReader, fused: bool, chunked: bool) {
    reader.run.cross_entropy = match (fused, chunked) {
        (true, _) => Some(CrossEntropy::FusedLinear),
        (_, true) => Some(CrossEntropy::Chunked),
        _ => None,
    };
}

/// Takes TRL's kernel of log-probabilities for the trainers that call it, where nothing else was taken: those of DPO,
/// KTO and `SimPO`, since release 0.15. ORPO's has a cross-entropy beside it. Source: huggingface/trl f2cd577
/// `trainer/dpo_trainer.py`, `experimental/kto`, `experimental/cpo` (`selective_log_softmax`).
pub(super) fn preferences(reader: &mut SettingsReader) {
    let calls = matches!(reader.run.objective.named(), Objective::Dpo | Objective::Kto | Objective::Simpo);
    if calls && reader.run.cross_entropy.is_none() {
        reader.run.cross_entropy = Some(CrossEntropy::Selective);
    }
}

pub(super) fn compile(reader: &mut SettingsReader, name: &str) {
    let on = reader.flag(name, "compiled");
    reader.run.stack.parts.compile = on.then_some(true);
}

/// Attention: `eager` keeps the scores, everything else is a kernel that does not.
pub(super) fn attention(reader: &mut SettingsReader, name: &str, eager: &[&str]) {
    reader.run.flash_attention = None;
    if let Some(word) = reader.word(name, "attention")
        && eager.contains(&&*word)
    {
        reader.run.flash_attention = Some(false);
    }
}
