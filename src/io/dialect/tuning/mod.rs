//! What programs of fine-tuning share: names of linears and optimizers, ranks without a pipeline, shards by FSDP or
//! DeepSpeed, and what goes to the host.
//!
//! Source: Hugging Face transformers `training_args.py`, accelerate `utils/dataclasses.py`, PEFT `tuners/lora/config.py`.

use super::settings_reader::SettingsReader;
use super::settings_writer::SettingsWriter;
use super::{Same, computes, same, steps};
use crate::core::model::Target;
use crate::core::run::{
    Adapter, AdapterMethod, AdapterParts, BaseFormat, CrossEntropy, OffloadFramework, OffloadParts,
    OffloadTo, OneOf, Optimizer, Recompute, Run, Saved, Scenario, Schedule, ScheduleOptions, Value,
};
use crate::core::t;

/// Who shards the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    /// Nobody: every rank has all of them.
    Nobody,
    /// DeepSpeed, with fp32 masters beside bf16 weights.
    DeepSpeed,
    /// PyTorch's FSDP, with fp32 shards that are gathered in bf16.
    Fsdp,
}

/// Words that name every linear of a layer.
const ALL: [&str; 2] = ["all", "all-linear"];

/// Begins a Run that such a program can mean: no pipeline, no expert parallelism, nothing adapted or moved to the host.
pub(super) fn begin(reader: &mut SettingsReader) {
    for key in ["pp", "ep", "etp", "virtual_stages"] {
        reader.set(key, &Value::from(1));
    }
    let run = &mut reader.run;
    (run.schedule, run.schedule_options) = (Schedule::OneFOneB, ScheduleOptions::default());
    (run.stage_layers, run.microbatch_lengths, run.hsdp_shard) = (None, None, None);
    (run.adapter, run.offload) = (AdapterParts::default(), OffloadParts::default());
}

/// The degrees that a program says: tensor, context, sharded and replicated data parallelism.
pub(super) struct Mesh {
    pub tp: &'static str,
    pub cp: &'static str,
    pub shard: &'static str,
    pub replicate: &'static str,
}

impl Mesh {
    const fn degrees(&self) -> [Same; 2] {
        [same(self.tp, "tp", Some(1)), same(self.cp, "cp", Some(1))]
    }

    /// Takes the degrees, and the GPUs where they follow.
    pub fn read(&self, reader: &mut SettingsReader, program: &'static str) {
        reader.same(&self.degrees(), program);
        if reader.run.tp > 1 {
            reader.set("sequence_parallel", &Value::Bool(false));
        }
        // -1 is all that are left.
        let degree = |reader: &mut SettingsReader, name, what| {
            let ranks = reader
                .number(name, what)
                .and_then(crate::core::units::whole);
            ranks.filter(|ranks| *ranks > 0)
        };
        let shard = degree(reader, self.shard, "ranks that share shards");
        let copies = degree(reader, self.replicate, "copies of the shards").unwrap_or(1);
        let run = &reader.run;
        let (each, all) = (run.tp.saturating_mul(run.cp), shard.unwrap_or(1));
        match shard {
            Some(shard) => {
                let gpus = each.saturating_mul(all).saturating_mul(copies);
                reader.set("gpus", &Value::from(gpus));
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
            let shard = (s.zero.shard / s.layout.cp).max(1);
            writer.count(self.shard, shard);
            let copies = s.layout.dp / shard;
            if copies > 1 {
                writer.count(self.replicate, copies);
            }
        }
    }
}

/// Notes that the GPUs are those of the page.
pub(super) fn gpus_of_page(reader: &mut SettingsReader) {
    let gpus = reader.run.gpus;
    reader.assume(t!(
        "{gpus} GPUs, as on this page: the launcher says how many",
        gpus
    ));
}

/// The same settings under the names of one program.
pub(super) struct Batch {
    pub micro: &'static str,
    pub accumulation: &'static str,
    /// Micro-batch where the program is silent.
    pub silent: u64,
}

impl Batch {
    /// Takes the micro-batch, and the batch that all ranks make of it.
    pub fn read(&self, reader: &mut SettingsReader) {
        let run = &reader.run;
        let page = (
            run.micro_batch,
            run.global_batch,
            run.gpus / (run.tp * run.cp).max(1),
        );
        let silent = if reader.has(self.micro) {
            page.0
        } else {
            self.silent
        };
        let micro = reader
            .count(self.micro, "micro-batch")
            .unwrap_or(silent)
            .max(1);
        let each = reader.count(self.accumulation, "micro-batches a step and rank");
        let ranks = page.2.max(1);
        let all = micro
            .saturating_mul(each.unwrap_or(1).max(1))
            .saturating_mul(ranks);
        reader.set("micro_batch", &Value::from(micro));
        reader.set("global_batch", &Value::from(all));
    }

    /// Says both.
    pub fn write(&self, s: &Scenario, writer: &mut SettingsWriter) {
        writer.count(self.micro, s.run.micro_batch);
        writer.count(self.accumulation, s.layout.microbatches);
    }
}

/// Takes a sequence length.
pub(super) fn sequence(
    reader: &mut SettingsReader,
    names: &[&'static str],
    program: &'static str,
    silent: u64,
) {
    let said = names.iter().find(|name| reader.has(name));
    let name = said.or(names.first()).copied().unwrap_or_default();
    reader.same(
        &[same(name, "seq_len", (silent > 0).then_some(silent))],
        program,
    );
}

/// Says how many steps the budget has, where there is one.
pub(super) fn write_steps(writer: &mut SettingsWriter, name: &str, run: &Run) {
    if let Some(steps) = steps(run) {
        writer.count(name, steps);
    }
}

/// Whether a switch is set; none where the text is silent.
pub(super) fn switch(reader: &mut SettingsReader, name: &str, what: &'static str) -> Option<bool> {
    let known = reader.has(name);
    let yes = reader.flag(name, what);
    known.then_some(yes)
}

/// The linear with this name in any of the programs; of gate and router the router is none.
fn target(word: &str) -> &'static [Target] {
    match word {
        "q_proj" => &[Target::Query],
        "k_proj" => &[Target::Key],
        "v_proj" => &[Target::Value],
        "o_proj" | "output_proj" | "out_proj" => &[Target::Output],
        "gate_proj" | "w1" => &[Target::Gate],
        "up_proj" | "w3" => &[Target::Up],
        "down_proj" | "w2" => &[Target::Down],
        "Wqkv" | "qkv_proj" | "query_key_value" => &[Target::Query, Target::Key, Target::Value],
        "gate_up_proj" => &[Target::Gate, Target::Up],
        _ => &[],
    }
}

/// The words of a list, of a text with commas, or of a regular expression such as `.*(q|k|v)_proj`.
fn words_of(value: &Value) -> Vec<String> {
    let split = |text: &str| -> Vec<String> {
        if text.contains(")_proj") {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let short = |word: &&str| !target(&format!("{word}_proj")).is_empty();
            return words
                .filter(short)
                .map(|word| format!("{word}_proj"))
                .collect();
        }
        let words = text.split(|c: char| c == ',' || c.is_whitespace() || "()|$^*.".contains(c));
        words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    match value {
        Value::Text(text) => split(text),
        Value::List(items) => items.iter().flat_map(words_of).collect(),
        _ => Vec::new(),
    }
}

/// Linears with an adapter; none: all.
pub(super) fn targets(reader: &mut SettingsReader, name: &str) -> Option<Vec<Target>> {
    let words = words_of(&reader.value(name)?);
    reader.note(
        name,
        t!(
            "{what} {value}",
            what = "adapted linears",
            value = words.join(" ")
        ),
    );
    if words.iter().any(|word| ALL.contains(&&**word)) {
        return None;
    }
    for word in words.iter().filter(|word| target(word).is_empty()) {
        reader.assume(t!(
            "no adapter beside {name}: it is none of the linears of a layer",
            name = word.clone()
        ));
    }
    let named = |one: &Target| words.iter().any(|word| target(word).contains(one));
    let every = Target::ALL.iter().map(|(one, _)| *one);
    let named: Vec<Target> = every.filter(named).collect();
    (!named.is_empty() && named.len() < Target::ALL.len()).then_some(named)
}

/// Ends of the model that are trained whole.
pub(super) fn saved(reader: &mut SettingsReader, name: &str) -> Option<Vec<Saved>> {
    let words = words_of(&reader.value(name)?);
    reader.note(
        name,
        t!(
            "{what} {value}",
            what = "trained whole",
            value = words.join(" ")
        ),
    );
    let found: Vec<Saved> = words
        .iter()
        .filter_map(|word| Saved::from_id(word))
        .collect();
    (!found.is_empty()).then_some(found)
}

/// What a program says of adapters.
pub(super) struct LowRank {
    pub rank: Option<u64>,
    pub dora: bool,
    /// How the base is stored.
    pub base: Option<BaseFormat>,
    pub targets: Option<Vec<Target>>,
    pub saved: Option<Vec<Saved>>,
}

impl LowRank {
    /// Takes them.
    pub fn take(self, reader: &mut SettingsReader) {
        let four = matches!(self.base, Some(BaseFormat::Nf4 | BaseFormat::Nf4Double));
        let method = match (self.dora, four) {
            (true, _) => AdapterMethod::Dora,
            (false, true) => AdapterMethod::Qlora,
            (false, false) => AdapterMethod::Lora,
        };
        let own = method == AdapterMethod::Qlora && self.base == Some(BaseFormat::Nf4Double);
        reader.run.adapter = AdapterParts {
            method: Some(method),
            rank: self.rank.filter(|rank| *rank > 0),
            targets: self.targets,
            base: self.base.filter(|_| !own),
            modules_to_save: self.saved,
            ..AdapterParts::default()
        };
    }
}

/// Whether every linear of a layer has an adapter.
pub(super) fn all_linear(adapter: &Adapter) -> bool {
    adapter.targets.len() == Target::ALL.len()
}

/// The names of the adapted linears.
pub(super) fn target_names(adapter: &Adapter) -> Vec<&'static str> {
    adapter.targets.iter().map(|target| target.id()).collect()
}

/// The names of what is trained whole.
pub(super) fn saved_names(adapter: &Adapter) -> Vec<&'static str> {
    adapter.saved.iter().map(|end| end.id()).collect()
}

/// A list of words as a value.
pub(super) fn list(words: &[&str]) -> Value {
    Value::List(
        words
            .iter()
            .map(|word| Value::Text((*word).to_owned()))
            .collect(),
    )
}

/// Takes the optimizer that `name` says, by what its name holds: `paged_adamw_8bit`, `bitsandbytes.optim.PagedAdamW8bit`.
pub(super) fn optimizer(reader: &mut SettingsReader, name: &str) {
    let word = reader.word(name, "optimizer").unwrap_or_default();
    let lower = word.to_ascii_lowercase();
    let has = |part: &str| lower.contains(part);
    let known = [
        (has("galore"), Optimizer::GaLore),
        (has("adam") && has("mini"), Optimizer::AdamMini),
        (has("adafactor"), Optimizer::Adafactor),
        (has("lion"), Optimizer::Lion),
        (has("muon"), Optimizer::Muon),
        (
            has("adam") && has("8bit") && has("paged"),
            Optimizer::Adam8BitPaged,
        ),
        (has("adam") && has("8bit"), Optimizer::Adam8Bit),
        (
            has("adam") && !has("4bit") || has("cpuoffload") || word.is_empty(),
            Optimizer::Adam,
        ),
        (has("sgd"), Optimizer::Sgd),
    ];
    match known.iter().find(|(is, _)| *is) {
        Some((_, optimizer)) => reader.run.optimizer = *optimizer,
        None => reader.assume(t!(
            "the optimizer, as on this page: {other} is not known",
            other = word.clone()
        )),
    }
    if has("paged") && !has("8bit") {
        reader.assume("paged states are counted on the GPU");
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
        Optimizer::Lion => "lion_32bit",
        Optimizer::GaLore => "galore_adamw",
        Optimizer::Muon | Optimizer::AdamMini => return,
    };
    writer.text(name, word);
}

/// What the passes and the states are in: `bf16` or `fp16` around fp32 weights, or `pure`: weights and states in bf16.
pub(super) fn precision(
    reader: &mut SettingsReader,
    bf16: bool,
    fp16: bool,
    pure: bool,
    sharing: Sharing,
) {
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

/// Says `bf16` or `fp16`.
pub(super) fn write_half(s: &Scenario, writer: &mut SettingsWriter) {
    match computes(&s.run.precision) {
        "fp32" => {}
        "fp16" => writer.yes("fp16"),
        _ => writer.yes("bf16"),
    }
}

/// Whether weights and states are in 16 bits, as far as a program says it.
pub(super) fn is_pure(s: &Scenario) -> bool {
    let bytes = &s.precision;
    computes(&s.run.precision) != "fp32" && bytes.weights == 2.0 && bytes.master == 0.0
}

/// Who shards in `s`: DeepSpeed where its stack or its offloading runs, or a stage that FSDP has not.
#[must_use]
pub(super) fn sharing(s: &Scenario) -> Sharing {
    let offloads = |offload: &crate::core::run::Offload| {
        offload.framework == OffloadFramework::DeepSpeed
            && (offload.optimizer.is_some() || offload.parameters.is_some())
    };
    let deepspeed = s.run.stack.base == Some("deepspeed")
        || s.offload.as_ref().is_some_and(offloads)
        || s.run.zero == 1;
    match s.run.zero {
        0 => Sharing::Nobody,
        _ if deepspeed => Sharing::DeepSpeed,
        _ => Sharing::Fsdp,
    }
}

/// What goes to the host.
pub(super) fn offload(
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

/// Kept activations go to the host.
pub(super) fn offload_activations(reader: &mut SettingsReader, yes: bool) {
    if yes {
        reader.run.offload.activations = Some(OffloadTo::Cpu);
    }
}

/// Whether kept activations go to the host.
pub(super) fn offloads_activations(s: &Scenario) -> bool {
    s.run.offload.activations.is_some()
}

/// Every layer is recomputed from its input, or nothing is.
pub(super) fn checkpoint(reader: &mut SettingsReader, yes: bool) {
    reader.recompute(if yes {
        Recompute::Full
    } else {
        Recompute::None
    });
}

/// The kernel of the loss: with the head in one, or by slices.
pub(super) fn loss(reader: &mut SettingsReader, fused: bool, chunked: bool) {
    reader.run.cross_entropy = match (fused, chunked) {
        (true, _) => Some(CrossEntropy::FusedLinear),
        (_, true) => Some(CrossEntropy::Chunked),
        _ => None,
    };
}

/// torch.compile.
pub(super) fn compile(reader: &mut SettingsReader, name: &str) {
    if switch(reader, name, "compiled") == Some(true) {
        reader.run.stack.parts.compile = Some(true);
    } else {
        reader.run.stack.parts.compile = None;
    }
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

/// A file of DeepSpeed's settings by its name: stage, and whether optimizer and parameters go to the host.
fn file_means(name: &str) -> Option<(u64, bool, bool)> {
    let name = name.rsplit('/').next()?.to_ascii_lowercase();
    let stage = ["zero", "stage", "_z", "z"].iter().find_map(|mark| {
        let rest = &name[name.find(mark)? + mark.len()..];
        let digit = rest.trim_start_matches(['_', '-']).chars().next()?;
        Some(u64::from(digit.to_digit(4)?))
    })?;
    let leaves = name.contains("offload");
    let optimizer = leaves && !name.contains("params");
    Some((stage, optimizer, leaves && stage == 3))
}

/// Takes the shards that a setting's file of DeepSpeed means, by its name; false where there is none.
pub(super) fn deepspeed(reader: &mut SettingsReader, name: &str) -> bool {
    let Some(file) = reader.word(name, "DeepSpeed's settings") else {
        return false;
    };
    match file_means(&file) {
        Some((stage, optimizer, parameters)) => {
            reader.assume(t!(
                "ZeRO stage {stage} by the name of {file}: import that file too",
                stage,
                file
            ));
            reader.set("zero", &Value::from(stage));
            offload(reader, optimizer, parameters, OffloadFramework::DeepSpeed);
        }
        None => reader.assume(t!(
            "the ZeRO stage, as on this page: {file} has it; import that file too",
            file
        )),
    }
    true
}

/// A program's files of DeepSpeed's settings: stage, optimizer and parameters on the host, name.
pub(super) type Files = &'static [(u64, bool, bool, &'static str)];

/// Says the file that means the shards of `s`; the nearest where there is none of just these.
pub(super) fn write_deepspeed(s: &Scenario, writer: &mut SettingsWriter, name: &str, files: Files) {
    let offload = &s.run.offload;
    let wanted = (
        s.run.zero,
        offload.optimizer.is_some(),
        offload.parameters.is_some(),
    );
    let exact = files.iter().find(|file| (file.0, file.1, file.2) == wanted);
    let stage = files
        .iter()
        .find(|file| file.0 == wanted.0 && !file.1 && !file.2);
    if let Some(file) = exact.or(stage) {
        writer.text(name, file.3);
    }
}

/// Settings of FSDP: by accelerate's names with `fsdp_`, by axolotl's without, or by Trainer's words.
pub(super) struct Fsdp {
    /// Whether a checkpoint wrapper is asked for, and its inputs go to the host.
    pub checkpoints: Option<bool>,
    pub activations: bool,
}

/// Takes them; none where the text has none.
pub(super) fn fsdp(reader: &mut SettingsReader) -> Option<Fsdp> {
    let words = reader
        .word("fsdp", "FSDP")
        .unwrap_or_default()
        .to_ascii_lowercase();
    let mut any = !words.is_empty() && words != "false";
    let mut said = |reader: &mut SettingsReader, key: &str, what| {
        let names = [
            format!("fsdp_config.fsdp_{key}"),
            format!("fsdp_config.{key}"),
        ];
        let name = names.iter().find(|name| reader.has(name))?;
        any = true;
        reader.word(name, what)
    };
    let on = |word: Option<String>| word.map(|word| word == "true");
    let version = said(reader, "version", "FSDP's version");
    let strategy = said(reader, "sharding_strategy", "shards").unwrap_or_else(|| words.clone());
    let reshard = said(
        reader,
        "reshard_after_forward",
        "shards again after the forward pass",
    );
    let offloads = on(said(reader, "offload_params", "parameters on the host"));
    let checkpoints = on(said(
        reader,
        "activation_checkpointing",
        "full recomputation",
    ));
    let activations = on(said(
        reader,
        "activation_checkpointing_offload",
        "activations on the host",
    ));
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
    reader.set("zero", &Value::from(stage));
    let parameters = offloads == Some(true) || words.contains("offload");
    offload(reader, false, parameters, OffloadFramework::Fsdp2);
    Some(Fsdp {
        checkpoints,
        activations: activations == Some(true),
    })
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
            (
                "deepspeed_configs/zero3_bf16_cpuoffload_all.json",
                Some((3, true, true)),
            ),
            (
                "deepspeed_configs/zero3_bf16_cpuoffload_params.json",
                Some((3, false, true)),
            ),
            (
                "examples/deepspeed/ds_z0_config.json",
                Some((0, false, false)),
            ),
            (
                "examples/deepspeed/ds_z2_offload_config.json",
                Some((2, true, false)),
            ),
            (
                "examples/deepspeed/ds_z3_offload_config.json",
                Some((3, true, true)),
            ),
            ("config/stage_2.json", Some((2, false, false))),
            ("ds_config.json", None),
        ] {
            assert_eq!(file_means(name), meant, "{name}");
        }
    }

    #[test]
    fn a_regular_expression_names_its_linears() {
        let text = "model.layers.[\\d]+.(_wrapped.)?(mlp|self_attn).(up|down|gate|q|k|v|o)_proj";
        assert_eq!(words_of(&Value::Text(text.to_owned())).len(), 7);
        let text = Value::Text("q_proj,v_proj".to_owned());
        assert_eq!(words_of(&text), ["q_proj", "v_proj"]);
    }
}
