//! Division of the work in torchtitan's settings: experts, the pipeline, the exchange of context, shards.

use crate::dialect::rows::prelude::*;
use shardscope_core::run::presets::Trainer;

/// Weights of embedding and head among the layers of the first and the last stage, in layers; 1 each by default.
const ENDS: [&str; 2] =
    ["parallelism.pipeline_parallel_first_stage_less_layers", "parallelism.pipeline_parallel_last_stage_less_layers"];

/// The modules of each stage by name, its layers among them (`configs.py`, `ParallelismConfig`); where it is not set,
/// `_generate_llm_fqn_per_model_part` makes the list. Source: pytorch/torchtitan at b5bcd76.
const PARTS: &str = "parallelism.module_fqns_per_model_part";
/// Names of the modules beside the layers: those of the first stage, and those of the last.
const FIRST: &str = "tok_embeddings";
const TOWER: &str = "vision_encoder";
const LAST: [&str; 2] = ["norm", "lm_head"];
const LAYER: &str = "layers.";

/// The switch of sequence parallelism.
const SEQUENCE: &str = "parallelism.enable_sequence_parallel";

/// More stages than a pipeline has.
const MAX_STAGES: u64 = 1 << 16;

/// Layers of every stage, as `generate_llm_fqn_per_model_part` deals them out: stages with the same number, the first
/// ones with one more, less what the ends count for. None where an end counts for more than its stage holds.
fn split(layers: u64, stages: u64, [first, last]: [u64; 2]) -> Option<Vec<u64>> {
    let counted = layers.checked_add(first)?.checked_add(last)?;
    let (each, extra) = (counted / stages, counted % stages);
    let mut split: Vec<u64> = (0..stages).map(|stage| each + u64::from(stage < extra)).collect();
    let embedding = split.first_mut()?;
    *embedding = embedding.checked_sub(first)?;
    let head = split.last_mut()?;
    *head = head.checked_sub(last)?;
    Some(split)
}

/// The modules of every stage of `s`. `pipeline_vlm` puts a vision encoder with the embedding; a model that has none
/// is not changed by the name (`_split_module`).
fn parts(s: &Scenario) -> Value {
    let last = s.stage_layers.len().saturating_sub(1);
    let mut layer = 0;
    let stages = s.stage_layers.iter().enumerate().map(|(stage, count)| {
        let layers = (layer..layer + count).map(|layer| format!("{LAYER}{layer}"));
        layer += count;
        let first = [TOWER, FIRST].into_iter().filter(|name| stage == 0 && (*name == FIRST || super::has_tower(s)));
        let names = first.map(str::to_owned).chain(layers);
        let ends = LAST.into_iter().filter(|_| stage == last).map(str::to_owned);
        Value::List(names.chain(ends).map(Value::Text).collect())
    });
    Value::List(stages.collect())
}

/// The names of a stage's modules.
fn names_of(stage: &Value) -> Option<Vec<&str>> {
    if let Value::List(names) = stage { names.iter().map(Value::text).collect() } else { None }
}

/// Layers of every stage as [`PARTS`] names them; none unless each of `layers` stands there once, in order, and the
/// ends where a pipeline has them.
fn named_layers(parts: &Value, layers: u64) -> Option<Vec<u64>> {
    let stages: Vec<Vec<&str>> = match parts {
        Value::List(parts) => parts.iter().map(names_of).collect::<Option<_>>()?,
        // As one argument of a command line: "[[a, b], [c]]".
        Value::Text(text) => {
            let between = |c: char| !(c.is_alphanumeric() || c == '_' || c == '.');
            let words = text.split(']').map(|part| part.split(between).filter(|name| !name.is_empty()).collect());
            words.filter(|stage: &Vec<&str>| !stage.is_empty()).collect()
        }
        _ => return None,
    };
    let has = |stage: Option<&Vec<&str>>, name: &str| stage.is_some_and(|names| names.contains(&name));
    if !has(stages.first(), FIRST) || !LAST.iter().all(|name| has(stages.last(), name)) {
        return None;
    }
    let mut next = 0;
    let count = |stage: &Vec<&str>| {
        let before = next;
        for number in stage.iter().filter_map(|name| name.strip_prefix(LAYER)) {
            if number.parse() != Ok(next) {
                return None;
            }
            next += 1;
        }
        Some(next - before)
    };
    let counts = stages.iter().map(count).collect::<Option<Vec<u64>>>()?;
    (next == layers).then_some(counts)
}

/// The weights of the ends, and the layers a stage, with which torchtitan makes the stages of `s`; its own choice
/// first. Where the layers are `said`, it counts the stages from them.
fn stages(s: &Scenario, said: bool) -> Option<([u64; 2], u64)> {
    let (layers, stages) = (s.model.layers, s.stage_layers.len() as u64);
    let pairs = (0..5).flat_map(|first| (0..5).map(move |last| [first, last]));
    std::iter::once([1, 1]).chain(pairs).find_map(|ends| {
        let counted = layers + ends[0] + ends[1];
        let each = counted.div_ceil(stages);
        let same = (!said || counted.div_ceil(each.max(1)) == stages)
            && split(layers, stages, ends).as_ref() == Some(&s.stage_layers);
        same.then_some((ends, each))
    })
}

/// Takes the settings of parallelism beside its degrees, which are read before.
pub fn read(reader: &mut SettingsReader) {
    experts(reader);
    pipeline(reader);
    shards(reader);
}

/// The GPUs that the degrees multiply to; none where the shards are what is left over.
pub fn gpus(reader: &mut SettingsReader) -> Option<u64> {
    let mut degree = |name: &str| match reader.value(name) {
        Some(Value::Number(degree)) => shardscope_core::units::whole(degree),
        _ => Some(1),
    };
    let shards = "parallelism.data_parallel_shard_degree";
    let sizes = [
        degree("parallelism.data_parallel_replicate_degree")?,
        degree("parallelism.context_parallel_degree")?,
        degree("parallelism.tensor_parallel_degree")?,
        degree("parallelism.pipeline_parallel_degree")?,
        degree(shards)?,
    ];
    let product = sizes.into_iter().try_fold(1, u64::checked_mul)?;
    reader.has(shards).then_some(product)
}

/// "Expert tensor parallelism degree. 1 means disabled. No effect for non-MoE models, or when ep = 1."
fn experts(reader: &mut SettingsReader) {
    let told = reader.count("parallelism.expert_tensor_parallel_degree", "ETP");
    let run = &reader.run;
    if run.model.resolve().is_ok_and(|model| model.moe.is_some()) {
        let (tp, ep) = (run.tp, run.ep);
        let etp = if ep > 1 { told.unwrap_or(1) } else { tp };
        if told != Some(etp) {
            reader.assume(t!("ETP {etp}: torchtitan where it is not told", etp));
        }
        reader.set("etp", etp);
    }
}

/// torchtitan's schedule for an order from a file with several stages a rank; that for one stage a rank is the name of
/// [`Schedule::Optimal`].
const MULTI: &str = "PipelineScheduleMulti";
/// The file of the export "order", beside the settings.
pub(crate) const ORDER_FILE: &str = "shardscope.order.csv";
/// The file that the order is read from, in whatever schedule is named: `_build_pipeline_schedule` of
/// `distributed/pipeline_parallel.py` makes a `_PipelineScheduleRuntime` of it, and the named schedule says how many
/// stages a rank has and where they lie. Source: pytorch/torchtitan at b5bcd76.
const ORDER: &str = "parallelism.pipeline_parallel_schedule_csv";

/// The setting that names the file of the order of `run`; none without a pipeline, or where torchtitan has no schedule
/// of its name: the stages of another are not those of the file.
pub(crate) fn order_of(run: &Run) -> Option<(String, Value)> {
    let named = run.schedule.row().called(Trainer::Torchtitan);
    (run.pp > 1 && named.is_some()).then(|| (ORDER.to_owned(), Value::Text(ORDER_FILE.to_owned())))
}

fn schedule(reader: &mut SettingsReader) {
    let schedule = reader.word("parallelism.pipeline_parallel_schedule", "schedule");
    let named = schedule.as_deref().unwrap_or("1F1B");
    match Schedule::called(named, Trainer::Torchtitan).or((named == MULTI).then_some(Schedule::Optimal)) {
        Some(schedule) => {
            reader.run.schedule = schedule;
            // The file of this page holds the order of the schedule that is named beside it.
            let is_ours = reader.last(ORDER).and_then(Value::text).is_some_and(|file| file.ends_with(ORDER_FILE));
            if is_ours || schedule == Schedule::Optimal {
                reader.word(ORDER, "order of the pipeline");
            }
            if schedule == Schedule::Optimal && !is_ours {
                reader.assume(t!("the best order that is found here: the order of the file is not read"));
            }
        }
        None => reader.assume(t!("the schedule, as on this page: {named} is not known", named = named.to_owned())),
    }
}

fn pipeline(reader: &mut SettingsReader) {
    schedule(reader);
    let each = reader.count("parallelism.pipeline_parallel_layers_per_stage", "layers per stage");
    // Weights of embedding and head, in layers.
    let ends = ENDS.map(|name| reader.count(name, "layers that an end counts for").unwrap_or(1));
    let layers = reader.run.model.resolve().map_or(0, |model| model.layers);
    let named = parts_of(reader, layers);
    let run = &mut reader.run;
    if run.pp == 1 {
        // torchtitan's own files name a schedule even without a pipeline: an override of the command may add one.
        run.schedule = Schedule::OneFOneB;
    }
    let chunks = match (run.schedule.fixed_chunks(&run.schedule_options), each) {
        (Some(chunks), _) => chunks,
        (None, _) if named.is_some() => named.as_ref().map_or(1, |parts| parts.len() as u64 / run.pp.max(1)).max(1),
        // Looped schedules have two stages a rank by default.
        (None, Some(each)) => (layers + ends[0] + ends[1]).div_ceil(each.max(1)).div_ceil(run.pp.max(1)).max(1),
        (None, None) => 2,
    };
    run.virtual_stages = if run.schedule.fixed_chunks(&run.schedule_options).is_some() { 1 } else { chunks };
    let stages = run.pp.saturating_mul(chunks).clamp(1, MAX_STAGES);
    let is_named = named.as_ref().is_some_and(|parts| parts.len() as u64 == stages);
    let given = if is_named { named } else { split(layers, stages, ends) };
    run.stage_layers = given.filter(|given| run.pp > 1 && *given != even_split(layers, stages));
    let apart = run
        .stage_layers
        .clone()
        .filter(|_| !is_named)
        .filter(|layers| layers.windows(2).any(|pair| pair[0] != pair[1]));
    if let Some(layers) = apart {
        let layers: Vec<String> = layers.iter().map(ToString::to_string).collect();
        reader.assume(t!(
            "layers by stage {layers}: torchtitan deals them out with embedding and head as {first} and {last} of them",
            layers = layers.join("/"),
            first = ends[0],
            last = ends[1]
        ));
    }
    // Before 2026 tensor parallelism always cut the sequence between its layers.
    let cuts = !reader.has(SEQUENCE) || reader.flag(SEQUENCE, "sequence parallelism");
    if reader.run.tp > 1 {
        reader.run.sequence_parallel = cuts;
    }
    let rotate = reader.word("parallelism.context_parallel_rotate_method", "CP exchange");
    if reader.run.cp > 1 {
        let shuffled = rotate.as_deref() == Some("alltoall");
        reader.run.cp_comm = if shuffled { CpComm::Ring } else { CpComm::AllGather };
    }
}

/// Layers of every stage where the settings name their modules one by one.
fn parts_of(reader: &mut SettingsReader, layers: u64) -> Option<Vec<u64>> {
    let parts = reader.value(PARTS)?;
    let named = named_layers(&parts, layers).filter(|parts| (parts.len() as u64).is_multiple_of(reader.run.pp.max(1)));
    match &named {
        Some(parts) => {
            let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
            reader.note(PARTS, t!("layers by stage {layers}", layers = parts.join("/")));
        }
        None => {
            reader.assume(t!(
                "the stages as torchtitan deals them out: {name} does not name each layer once, in order",
                name = PARTS
            ));
        }
    }
    named
}

fn shards(reader: &mut SettingsReader) {
    // FSDP2's `CPUOffloadPolicy` keeps parameters, gradients and states on the host.
    let leaves = reader.flag("training.enable_cpu_offload", "parameters, gradients and states on the host");
    reader.run.offload = OffloadParts {
        parameters: leaves.then_some(OffloadTo::Cpu),
        framework: leaves.then_some(OffloadFramework::Fsdp2),
        ..OffloadParts::default()
    };
    let replicas = reader.count("parallelism.data_parallel_replicate_degree", "replicas").unwrap_or(1);
    let sharded = reader.number("parallelism.data_parallel_shard_degree", "ranks that share shards").unwrap_or(-1.0);
    let policy = reader.word("parallelism.fsdp_reshard_after_forward", "weights sharded again after the forward pass:");
    let run = &reader.run;
    let group = run.gpus / (run.tp * run.pp).max(1);
    // -1: what is left over.
    let shard = if sharded < 0.0 {
        group / replicas.max(1)
    } else {
        let shard = shardscope_core::units::whole(sharded).unwrap_or(1);
        shard.saturating_mul(run.cp)
    };
    let pipeline = run.pp > 1;
    let zero = match policy.as_deref() {
        _ if shard <= 1 && group > 1 => 0,
        Some("never") => 2,
        Some("always") => 3,
        _ if pipeline => {
            reader.assume("ZeRO-2: with a pipeline torchtitan keeps the weights whole between forward and backward");
            2
        }
        _ => 3,
    };
    reader.run.zero = zero;
    if pipeline && zero == 2 {
        // PyTorch's pipeline stages reduce with the last micro-batch (`stage.py`, `backward_maybe_with_nosync`).
        reader.run.zero2_reduce = Some(Reduction::Step);
    }
    let run = &mut reader.run;
    if zero > 0 && run.hsdp_shard.unwrap_or(group) != shard {
        run.hsdp_shard = Some(shard).filter(|shard| *shard != group);
    }
}

pub fn write(s: &Scenario, writer: &mut SettingsWriter) {
    let run = &s.run;
    writer.when(run.tp > 1 && !run.sequence_parallel, SEQUENCE, false);
    write_pipeline(s, writer);
    writer.when(s.offload.is_some_and(|offload| offload.parameters.is_some()), "training.enable_cpu_offload", true);
    let group = s.layout.dp * s.layout.cp;
    let shard = s.zero.shard.clamp(1, group);
    if run.zero == 0 {
        writer.say("parallelism.data_parallel_replicate_degree", s.layout.dp);
        writer.say("parallelism.data_parallel_shard_degree", 1);
    } else {
        if shard < group && shard.is_multiple_of(s.layout.cp) {
            writer.say("parallelism.data_parallel_replicate_degree", group / shard);
            writer.say("parallelism.data_parallel_shard_degree", shard / s.layout.cp);
        }
        let policy = if run.zero == 3 { "always" } else { "never" };
        writer.say("parallelism.fsdp_reshard_after_forward", policy);
    }
}

fn write_pipeline(s: &Scenario, writer: &mut SettingsWriter) {
    let run = &s.run;
    if run.pp == 1 {
        return;
    }
    writer.say(super::shipped::PIECES, s.layout.microbatches);
    if run.schedule == Schedule::Optimal {
        // The export "order" writes the file.
        writer.say(ORDER, ORDER_FILE);
    }
    let named = run.schedule.row().called(Trainer::Torchtitan);
    writer.say("parallelism.pipeline_parallel_schedule", named.unwrap_or("1F1B"));
    // A schedule that torchtitan has not may have other stages than what is said instead.
    if named.is_none() {
        return;
    }
    let looped = run.schedule.fixed_chunks(&run.schedule_options).is_none();
    let counts_stages = looped && run.virtual_stages != 2;
    let Some((ends, each)) = stages(s, counts_stages) else {
        return writer.say(PARTS, parts(s));
    };
    writer.when(counts_stages, "parallelism.pipeline_parallel_layers_per_stage", each);
    if ends != [1, 1] {
        for (name, layers) in ENDS.into_iter().zip(ends) {
            writer.say(name, layers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_dealt_out_as_torchtitan_does() {
        // Its own docstring's rule, by hand: 32 layers and two ends over 4 stages are 34 = 9 + 9 + 8 + 8.
        assert_eq!(split(32, 4, [1, 1]), Some(vec![8, 9, 8, 7]));
        assert_eq!(split(32, 4, [0, 0]), Some(vec![8; 4]));
        assert_eq!(split(126, 16, [1, 1]).map(|s| (s[0], s[15])), Some((7, 7)));
        assert_eq!(split(4, 4, [3, 0]), None);
    }

    /// The example of `configs.py`, with the modules of the end that it leaves out, as a list and as one argument.
    #[test]
    fn modules_by_name_are_layers_of_stages() {
        let text =
            "[['tok_embeddings', 'layers.0'], ['layers.1', 'layers.2'], ['layers.3', 'layers.4', 'norm', 'lm_head']]";
        assert_eq!(named_layers(&Value::Text(text.into()), 5), Some(vec![1, 2, 2]));
        for (from, to) in [("layers.2", "layers.3"), ("'tok_embeddings', ", ""), (", 'lm_head'", "")] {
            assert_eq!(named_layers(&Value::Text(text.replace(from, to)), 5), None, "{from}");
        }
        assert_eq!(named_layers(&Value::Text(text.into()), 6), None);
    }

    /// A layout that no rule of torchtitan's makes is written by the names of its modules, and is read again.
    #[test]
    fn stages_that_no_rule_makes_are_named() {
        let run = Run {
            pp: 4,
            gpus: 32,
            tp: 1,
            schedule: Schedule::Interleaved,
            virtual_stages: 4,
            stage_layers: Some([vec![1], vec![2; 7], vec![3, 3], vec![2; 5], vec![1]].concat()),
            ..Run::default()
        };
        let entries = super::super::DIALECT.written(&Scenario::new(&run).unwrap());
        let (_, said) = entries.iter().find(|(name, _)| name == PARTS).unwrap();
        let Value::List(parts) = said else { panic!("{said:?}") };
        assert_eq!(parts.len(), 16);
        let text = (super::super::DIALECT.print)(&entries, &[]);
        assert!(text.contains("[[\"tok_embeddings\", \"layers.0\"], [\"layers.1\", \"layers.2\"], "), "{text}");
        let mut reader =
            SettingsReader::new(crate::dialect::entries(&super::super::DIALECT, &text).unwrap(), Run::default());
        super::super::read(&mut reader);
        assert_eq!((&reader.run.stage_layers, reader.run.virtual_stages), (&run.stage_layers, 4));
    }
}
