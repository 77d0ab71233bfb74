//! torchtitan's settings: command-line overrides (`--training.seq_len 8192`) and the TOML they override.
//!
//! Source: pytorch/torchtitan, `torchtitan/config/job_config.py` and `torchtitan/models/*/__init__.py` (flavors).

use super::book::Book;
use super::words::{self, Script};
use super::{Dialect, Entries, Same, computes, nodes, same, steps, toml, write_same};
use crate::issue::Issue;
use crate::run::{
    Based, CpComm, ModelParts, Optimizer, Recompute, Scenario, Schedule, Value, even_split,
};

/// torchtitan.
pub static DIALECT: Dialect = Dialect {
    id: "torchtitan",
    name: "torchtitan",
    file: "torchtitan.sh",
    entries,
    read,
    write,
    print,
};

static SAME: &[Same] = &[
    same("parallelism.tensor_parallel_degree", "tp", Some(1)),
    same("parallelism.pipeline_parallel_degree", "pp", Some(1)),
    same("parallelism.context_parallel_degree", "cp", Some(1)),
    same("parallelism.expert_parallel_degree", "ep", Some(1)),
    same("training.seq_len", "seq_len", None),
];

/// Name and flavor of the models that are presets too.
const FLAVORS: [(&str, &str, &str); 4] = [
    ("llama3", "8B", "llama-3.1-8b"),
    ("llama3", "70B", "llama-3.1-70b"),
    ("llama3", "405B", "llama-3.1-405b"),
    ("deepseek_v3", "671B", "deepseek-v3"),
];

/// The classes of `torch.distributed.pipelining`.
const SCHEDULES: [(Schedule, &str); 7] = [
    (Schedule::OneFOneB, "1F1B"),
    (Schedule::Interleaved, "Interleaved1F1B"),
    (Schedule::Gpipe, "GPipe"),
    (Schedule::LoopedBfs, "LoopedBFS"),
    (Schedule::InterleavedZb, "InterleavedZeroBubble"),
    (Schedule::ZbV, "ZBVZeroBubble"),
    (Schedule::DualPipeV, "DualPipeV"),
];

/// What embedding and head count for among the layers of the first and the last stage, in layers; 1 each unless said.
const ENDS: [&str; 2] = [
    "parallelism.pipeline_parallel_first_stage_less_layers",
    "parallelism.pipeline_parallel_last_stage_less_layers",
];

/// More stages than a pipeline has.
const MOST_STAGES: u64 = 1 << 16;

/// Layers of every stage, as `generate_llm_fqn_per_model_part` deals them out: stages with the same number, the first
/// ones with one more, less what the ends count for. None where an end counts for more than its stage holds.
fn split(layers: u64, stages: u64, [first, last]: [u64; 2]) -> Option<Vec<u64>> {
    let all = layers.checked_add(first)?.checked_add(last)?;
    let (each, extra) = (all / stages, all % stages);
    let mut split: Vec<u64> = (0..stages)
        .map(|stage| each + u64::from(stage < extra))
        .collect();
    let embedding = split.first_mut()?;
    *embedding = embedding.checked_sub(first)?;
    let head = split.last_mut()?;
    *head = head.checked_sub(last)?;
    Some(split)
}

/// What the ends have to count for, and the layers a stage, that torchtitan makes the stages of `s`; its own choice first.
/// Where the layers are `said`, it counts the stages from them.
fn stages(s: &Scenario, said: bool) -> Option<([u64; 2], u64)> {
    let (layers, stages) = (s.model.layers, s.stage_layers.len() as u64);
    let pairs = (0..5).flat_map(|first| (0..5).map(move |last| [first, last]));
    std::iter::once([1, 1]).chain(pairs).find_map(|ends| {
        let all = layers + ends[0] + ends[1];
        let each = all.div_ceil(stages);
        let same = (!said || all.div_ceil(each.max(1)) == stages)
            && split(layers, stages, ends).as_ref() == Some(&s.stage_layers);
        same.then_some((ends, each))
    })
}

/// Sections of a file of settings.
const SECTIONS: [&str; 6] = [
    "training",
    "parallelism",
    "model",
    "activation_checkpoint",
    "optimizer",
    "job",
];

/// Whether a name is one of a section of torchtitan's settings.
#[must_use]
pub fn knows(name: &str) -> bool {
    let name = name.trim_start_matches('-').replace('-', "_");
    name.split_once('.')
        .is_some_and(|(section, _)| SECTIONS.contains(&section))
}

fn entries(text: &str) -> Result<Entries, Issue> {
    let script = Script::read(text);
    let arguments = script.arguments();
    if !arguments.iter().any(|(name, _)| knows(name)) {
        return toml::read(text);
    }
    let plain_name = |name: &str| name.trim_start_matches('-').replace('-', "_");
    let mut entries: Entries = Vec::new();
    for (name, value) in arguments {
        let name = plain_name(&name);
        // "--compile.no_enable" switches off.
        match name.split_once(".no_") {
            Some((section, rest)) if value == Value::Bool(true) => {
                entries.push((format!("{section}.{rest}"), Value::Bool(false)));
            }
            _ => entries.push((name, value)),
        }
    }
    for (name, variables) in [
        ("nnodes", &["NNODES", "NNODE"][..]),
        ("nproc_per_node", &["NGPU", "GPUS_PER_NODE"]),
    ] {
        let known = entries.iter().any(|(known, _)| known == name);
        if let Some(count) = script.number(variables).filter(|_| !known) {
            entries.push((name.to_owned(), Value::from(count)));
        }
    }
    for (name, value) in &mut entries {
        if let Value::List(items) = value
            && !knows(name)
        {
            *value = items.first().cloned().unwrap_or_default();
        }
    }
    Ok(entries)
}

fn read(book: &mut Book) {
    book.same(SAME, DIALECT.name);
    let nodes = book.count("nnodes", "nodes");
    let each = book.count("nproc_per_node", "GPUs a node");
    match (nodes, each) {
        (Some(nodes), Some(each)) => book.set("gpus", &Value::from(nodes.saturating_mul(each))),
        // torchrun starts one node unless it is told.
        (None, Some(each)) if !book.has("nnodes") => book.set("gpus", &Value::from(each)),
        _ => {
            let gpus = book.run.gpus;
            book.assume(format!(
                "{gpus} GPUs, as on this page: the launcher says how many"
            ));
        }
    }
    model(book);
    experts(book);
    pipeline(book);
    shards(book);
    batch(book);
    training(book);
}

fn model(book: &mut Book) {
    let name = book.word("model.name", "model");
    let flavor = book.word("model.flavor", "flavor");
    let found = FLAVORS
        .iter()
        .find(|(known, of, _)| name.as_deref() == Some(known) && flavor.as_deref() == Some(of));
    match (found, name, flavor) {
        (Some((.., id)), ..) => {
            let preset: Based<ModelParts> = Based::preset(id);
            if book.run.model.resolve() != preset.resolve() {
                book.run.model = preset;
            }
        }
        (None, None, None) => book.assume("the model, as on this page: the text does not say"),
        (None, name, flavor) => {
            let known: Vec<String> = FLAVORS
                .iter()
                .map(|(name, flavor, _)| format!("{name} {flavor}"))
                .collect();
            let words: Vec<String> = [name, flavor].into_iter().flatten().collect();
            book.assume(format!(
                "the model, as on this page: {} is none of {}",
                words.join(" "),
                known.join(", ")
            ));
        }
    }
}

/// "Expert tensor parallelism degree. 1 means disabled. No effect for non-MoE models, or when ep = 1."
fn experts(book: &mut Book) {
    let told = book.count("parallelism.expert_tensor_parallel_degree", "ETP");
    let run = &book.run;
    if run.model.resolve().is_ok_and(|model| model.moe.is_some()) {
        let (tp, ep) = (run.tp, run.ep);
        let etp = if ep > 1 { told.unwrap_or(1) } else { tp };
        if told != Some(etp) {
            book.assume(format!("ETP {etp}: torchtitan where it is not told"));
        }
        book.set("etp", &Value::from(etp));
    }
}

fn pipeline(book: &mut Book) {
    let schedule = book.word("parallelism.pipeline_parallel_schedule", "schedule");
    let named = schedule.as_deref().unwrap_or("1F1B");
    match SCHEDULES
        .iter()
        .find(|(_, name)| name.eq_ignore_ascii_case(named))
    {
        Some((schedule, _)) => book.run.schedule = *schedule,
        None => book.assume(format!(
            "the schedule, as on this page: {named} is not known"
        )),
    }
    let each = book.count(
        "parallelism.pipeline_parallel_layers_per_stage",
        "layers a stage",
    );
    // What embedding and head count for, in layers.
    let ends = ENDS.map(|name| {
        book.count(name, "layers that an end counts for")
            .unwrap_or(1)
    });
    let layers = book.run.model.resolve().map_or(0, |model| model.layers);
    let run = &mut book.run;
    let chunks = match (run.schedule.fixed_chunks(&run.schedule_options), each) {
        (Some(chunks), _) => chunks,
        // Looped schedules have two stages a rank unless told.
        (None, Some(each)) => (layers + ends[0] + ends[1])
            .div_ceil(each.max(1))
            .div_ceil(run.pp.max(1))
            .max(1),
        (None, None) => 2,
    };
    run.virtual_stages = if run.schedule.fixed_chunks(&run.schedule_options).is_some() {
        1
    } else {
        chunks
    };
    let stages = run.pp.saturating_mul(chunks).clamp(1, MOST_STAGES);
    run.stage_layers = split(layers, stages, ends)
        .filter(|given| run.pp > 1 && *given != even_split(layers, stages));
    if run.tp > 1 {
        // Tensor parallelism always cuts the sequence between its layers.
        run.sequence_parallel = true;
    }
    let rotate = book.word("parallelism.context_parallel_rotate_method", "CP exchange");
    if book.run.cp > 1 {
        let shuffled = rotate.as_deref() == Some("alltoall");
        book.run.cp_comm = if shuffled {
            CpComm::Ring
        } else {
            CpComm::AllGather
        };
    }
}

fn shards(book: &mut Book) {
    let replicas = book
        .count("parallelism.data_parallel_replicate_degree", "replicas")
        .unwrap_or(1);
    let sharded = book
        .number(
            "parallelism.data_parallel_shard_degree",
            "ranks that share shards",
        )
        .unwrap_or(-1.0);
    let policy = book.word(
        "parallelism.fsdp_reshard_after_forward",
        "weights sharded again after the forward pass:",
    );
    let run = &book.run;
    let group = run.gpus / (run.tp * run.pp).max(1);
    // -1: what is left over.
    let shard = if sharded < 0.0 {
        group / replicas.max(1)
    } else {
        let shard = crate::units::whole(sharded).unwrap_or(1);
        shard.saturating_mul(run.cp)
    };
    let pipeline = run.pp > 1;
    let zero = match policy.as_deref() {
        _ if shard <= 1 && group > 1 => 0,
        Some("never") => 2,
        Some("always") => 3,
        _ if pipeline => {
            book.assume("ZeRO-2: with a pipeline torchtitan keeps the weights whole between forward and backward");
            2
        }
        _ => 3,
    };
    book.run.zero = zero;
    let run = &mut book.run;
    if zero > 0 && run.hsdp_shard.unwrap_or(group) != shard {
        run.hsdp_shard = Some(shard).filter(|shard| *shard != group);
    }
}

fn batch(book: &mut Book) {
    let local = book
        .count("training.local_batch_size", "sequences a rank")
        .or_else(|| book.count("training.batch_size", "sequences a rank"));
    let global = book.number("training.global_batch_size", "global batch");
    let piece = book.count(
        "parallelism.pipeline_parallel_microbatch_size",
        "micro-batch",
    );
    let run = &book.run;
    let dp = (run.gpus / (run.tp * run.pp * run.cp).max(1)).max(1);
    let Some(local) = local else {
        book.assume("the batch, as on this page: training.local_batch_size is not there");
        return;
    };
    let micro = if run.pp > 1 {
        piece.unwrap_or(1)
    } else {
        local
    };
    book.set("micro_batch", &Value::from(micro));
    let global = global
        .filter(|global| *global > 0.0)
        .and_then(crate::units::whole);
    let global = global.unwrap_or(local.saturating_mul(dp));
    book.set("global_batch", &Value::from(global));
}

fn training(book: &mut Book) {
    let dtype = book.word("training.mixed_precision_param", "computes in");
    let converters = book.word("model.converters", "converters");
    book.precision(match dtype.as_deref() {
        _ if converters.is_some_and(|names| names.contains("float8")) => "te-fp8",
        Some("float32") => "fp32",
        _ => "fsdp-mixed",
    });
    match book.word("optimizer.name", "optimizer").as_deref() {
        None | Some("AdamW" | "Adam") => book.run.optimizer = Optimizer::Adam,
        Some(other) => {
            let said = format!("the optimizer, as on this page: {other} is not known");
            book.assume(said);
        }
    }
    let mode = book.word("activation_checkpoint.mode", "recomputation");
    let option = book.word("activation_checkpoint.selective_ac_option", "selective:");
    let recompute = match (
        mode.as_deref().unwrap_or("selective"),
        option.as_deref().unwrap_or("2"),
    ) {
        ("none", _) => Recompute::None,
        ("full", _) => Recompute::Full,
        ("selective", "op") => Recompute::Selective,
        ("selective", every) => {
            let every: u64 = every.parse().unwrap_or(2);
            let run = &book.run;
            let layers = run.model.resolve().map_or(0, |model| model.layers);
            let held = layers / run.pp.max(1) / every.max(1);
            book.assume(format!(
                "every {every}th layer is recomputed: {held} of a stage"
            ));
            Recompute::Layers(held)
        }
        (other, _) => {
            book.assume(format!(
                "nothing is recomputed: mode {other} is not modelled"
            ));
            Recompute::None
        }
    };
    book.recompute(recompute);
    let count = book.count("training.steps", "steps");
    book.steps(count);
}

fn write(s: &Scenario) -> Entries {
    let run = &s.run;
    let (count, each) = nodes(s);
    let text = |text: &str| Value::Text(text.to_owned());
    let mut out = vec![
        ("nnodes".to_owned(), Value::from(count)),
        ("nproc_per_node".to_owned(), Value::from(each)),
    ];
    let mut say = |name: &str, value: Value| out.push((name.to_owned(), value));
    let flavor = FLAVORS
        .iter()
        .find(|(.., id)| Based::<ModelParts>::preset(id).resolve().as_ref() == Ok(&s.model));
    if let Some((name, flavor, _)) = flavor {
        say("model.name", text(name));
        say("model.flavor", text(flavor));
    }
    write_same(SAME, run, &mut out);
    let mut say = |name: &str, value: Value| out.push((name.to_owned(), value));
    if s.model.moe.is_some() && run.ep > 1 && run.etp > 1 {
        say(
            "parallelism.expert_tensor_parallel_degree",
            Value::from(run.etp),
        );
    }
    write_pipeline(s, &mut out);
    let mut say = |name: &str, value: Value| out.push((name.to_owned(), value));
    if run.cp > 1 {
        let shuffled = run.cp_comm == CpComm::Ring;
        say(
            "parallelism.context_parallel_rotate_method",
            text(if shuffled { "alltoall" } else { "allgather" }),
        );
    }
    let group = s.layout.dp * s.layout.cp;
    let shard = s.zero.shard.clamp(1, group);
    if run.zero == 0 {
        say(
            "parallelism.data_parallel_replicate_degree",
            Value::from(s.layout.dp),
        );
        say("parallelism.data_parallel_shard_degree", Value::from(1));
    } else {
        if shard < group && shard.is_multiple_of(s.layout.cp) {
            say(
                "parallelism.data_parallel_replicate_degree",
                Value::from(group / shard),
            );
            say(
                "parallelism.data_parallel_shard_degree",
                Value::from(shard / s.layout.cp),
            );
        }
        let policy = if run.zero == 3 { "always" } else { "never" };
        say("parallelism.fsdp_reshard_after_forward", text(policy));
    }
    let local = if run.pp > 1 {
        run.global_batch / s.layout.dp
    } else {
        run.micro_batch
    };
    say("training.local_batch_size", Value::from(local));
    say("training.global_batch_size", Value::from(run.global_batch));
    if let Some(steps) = steps(run) {
        say("training.steps", Value::from(steps));
    }
    let whole = computes(&run.precision) == "fp32";
    say(
        "training.mixed_precision_param",
        text(if whole { "float32" } else { "bfloat16" }),
    );
    if computes(&run.precision) == "fp8" {
        say("model.converters", text("quantize.linear.float8"));
    }
    say("optimizer.name", text("AdamW"));
    let (mode, option) = match run.recompute {
        Recompute::None => ("none", None),
        Recompute::Selective => ("selective", Some("op")),
        Recompute::Full | Recompute::Layers(_) | Recompute::Modules(_) => ("full", None),
    };
    say("activation_checkpoint.mode", text(mode));
    if let Some(option) = option {
        say("activation_checkpoint.selective_ac_option", text(option));
    }
    out
}

/// Says the schedule and its stages.
fn write_pipeline(s: &Scenario, out: &mut Entries) {
    let run = &s.run;
    if run.pp == 1 {
        return;
    }
    let mut say = |name: &str, value: Value| out.push((name.to_owned(), value));
    let named = SCHEDULES
        .iter()
        .find(|(schedule, _)| *schedule == run.schedule);
    let name = named.map_or("1F1B", |(_, name)| name);
    say(
        "parallelism.pipeline_parallel_schedule",
        Value::Text(name.to_owned()),
    );
    say(
        "parallelism.pipeline_parallel_microbatch_size",
        Value::from(run.micro_batch),
    );
    // A schedule that torchtitan has not may have other stages than what is said instead.
    if named.is_none() {
        return;
    }
    let looped = run.schedule.fixed_chunks(&run.schedule_options).is_none();
    let said = looped && run.virtual_stages != 2;
    let Some((ends, each)) = stages(s, said) else {
        return;
    };
    if said {
        let name = "parallelism.pipeline_parallel_layers_per_stage";
        say(name, Value::from(each));
    }
    if ends != [1, 1] {
        for (name, layers) in ENDS.into_iter().zip(ends) {
            say(name, Value::from(layers));
        }
    }
}

fn print(entries: &Entries, comments: &[String]) -> String {
    words::script("-m torchtitan.train", "--", entries, comments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;

    #[test]
    fn stages_are_dealt_out_as_torchtitan_does() {
        // Its own docstring's rule, by hand: 32 layers and two ends over 4 stages are 34 = 9 + 9 + 8 + 8.
        assert_eq!(split(32, 4, [1, 1]), Some(vec![8, 9, 8, 7]));
        assert_eq!(split(32, 4, [0, 0]), Some(vec![8; 4]));
        assert_eq!(split(126, 16, [1, 1]).map(|s| (s[0], s[15])), Some((7, 7)));
        assert_eq!(split(4, 4, [3, 0]), None);
    }

    #[test]
    fn a_file_and_its_overrides_say_the_same() {
        let file = "[model]\nname = \"llama3\"\nflavor = \"70B\"\n[training]\nlocal_batch_size = 8\nseq_len = 8192\n\
            [parallelism]\ntensor_parallel_degree = 8\npipeline_parallel_degree = 1\n[activation_checkpoint]\nmode = \"full\"\n";
        let flags = "NGPU=8 ./run_train.sh --model.name llama3 --model.flavor=70B --training.local-batch-size 8 \
            --training.seq_len 8192 --parallelism.tensor_parallel_degree 8 --activation_checkpoint.mode full";
        let run = |text: &str, gpus: u64| {
            let mut book = Book::new(
                entries(text).unwrap(),
                Run {
                    gpus,
                    ..Run::default()
                },
            );
            read(&mut book);
            assert!(book.errors.is_empty(), "{:?}", book.errors);
            book.run
        };
        let (from_file, from_flags) = (run(file, 8), run(flags, 64));
        assert_eq!(from_file, from_flags);
        assert_eq!(
            (from_file.tp, from_file.pp, from_file.zero, from_file.gpus),
            (8, 1, 3, 8)
        );
        assert_eq!(from_file.model.base, Some("llama-3.1-70b"));
        assert_eq!((from_file.micro_batch, from_file.global_batch), (8, 8));
        assert_eq!(from_file.recompute, Recompute::Full);
    }
}
