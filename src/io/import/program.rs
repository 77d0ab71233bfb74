//! Settings of programs that another one's reader takes, by their tables.

use super::gpu::{NoGpu, gpu_of_text, gpus_of_comments};
use crate::dialect::programs::{Program, Settings, take_adapter};
use crate::dialect::rows::reader::{Origin, SettingsReader};
use crate::dialect::{Given, bare};
use shardscope_core::issue::Issue;
use shardscope_core::message::Message;
use shardscope_core::model::Target;
use shardscope_core::run::presets::{self, GpuFamily};
use shardscope_core::run::registry::field;
use shardscope_core::run::{AdapterParts, Based, GpuParts, RlParts, Run, Value};
use shardscope_core::t;
use std::collections::BTreeSet;

/// Share of a GPU that a rollout engine reserves.
const SHARE: &str = "@share";

/// Micro-batches of a number of tokens.
const DYNAMIC: &str = "@dynamic";

/// Fields that the settings say of the Run itself, and the adapters.
pub(super) struct Direct {
    fields: Vec<(Origin, String, Value)>,
    adapter: AdapterParts,
    /// What the page says of reinforcement learning.
    said: RlParts,
}

/// GPUs a node of a launcher: a tray of GB200, GB300, Rubin or MI455X, of which a rack has 18.
const TRAY: u64 = 4;

/// Begins to read the settings of a program: its base reads on, for the software that is named. `launch` is the text
/// that starts it.
pub(super) fn begin(
    program: &Program,
    settings: &Settings,
    present: &Run,
    given: &Given,
    launch: &str,
) -> (SettingsReader, Direct, &'static str) {
    let translated = program.translate(settings);
    let (mut fields, mut base): (Vec<_>, Vec<_>) =
        translated.into_iter().partition(|(_, name, _)| name.starts_with('@'));
    let said = present.rl.clone();
    let mut run = super::without_training(present);
    let named = gpu(&mut run, &mut fields, settings, launch);
    if matches!(run.gpu.family(), Some(GpuFamily::Gb200 | GpuFamily::Gb300 | GpuFamily::Rubin | GpuFamily::Mi400)) {
        for (origin, name, value) in &mut base {
            if matches!(origin, Origin::Default(_)) && bare(name) == "nproc_per_node" {
                *value = Value::from(TRAY);
            }
        }
    }
    let entries = base.iter().map(|(_, name, value)| (name.clone(), value.clone())).collect();
    let stack = program.base.stack(&entries);
    let mut reader = SettingsReader::translated(base.into_iter(), run);
    reader.told = given.clone();
    launch.clone_into(&mut reader.launch);
    for (name, _) in settings.entries.iter().filter(|(name, _)| settings.is_replaced(name)) {
        reader.moot(name, "its program reads another section, which is on, in the place of this one");
    }
    reader.commented = gpus_of_comments(&settings.text);
    reader.assumed.extend(named);
    take_adapter(&mut reader);
    let missing = settings.missing();
    for file in &missing {
        reader.absent.push(((*file).to_owned(), t!("the file is not here: what it sets is not known")));
    }
    if !missing.is_empty() {
        reader.assume(t!(
            "the settings extend {files}, which is not here: what it sets is as on this page. Give that file first, \
                then a line of three dashes, then the settings",
            files = missing.join(", ")
        ));
    }
    if let Some(says) = program.says {
        reader.assume(says);
    }
    reader.assumed.extend(settings.doubts.iter().cloned());
    let adapter = reader.run.adapter.clone();
    (reader, Direct { fields, adapter, said }, stack)
}

impl Direct {
    /// Takes what the settings say of the Run itself.
    pub fn take(
        self,
        run: &mut Run,
        used: &mut Vec<(String, Message)>,
        assumed: &mut Vec<Message>,
    ) -> Result<(), Vec<Issue>> {
        if self.adapter.method.is_some() {
            run.adapter = self.adapter;
        }
        let is_dynamic = self.fields.iter().any(|(_, name, _)| name == DYNAMIC);
        let of_text =
            |(origin, name, _): &(Origin, String, Value)| matches!(origin, Origin::Text(_)).then(|| name.clone());
        let said: BTreeSet<String> = self.fields.iter().filter_map(of_text).collect();
        // A default that the text says otherwise is none.
        let counts =
            |(origin, name, _): &(Origin, String, Value)| matches!(origin, Origin::Text(_)) || !said.contains(name);
        for (origin, name, value) in self.fields.into_iter().filter(counts) {
            let key = name.trim_start_matches('@');
            let (key, value) = match (&value, name.as_str()) {
                (Value::Number(share), SHARE) => {
                    let memory = run.gpu.resolve().map_or(0.0, |gpu| gpu.memory.gib());
                    ("phases.rollout_gib", Value::Number(share.clamp(0.0, 1.0) * memory))
                }
                _ => (key, value),
            };
            let Some(field) = field(key) else { continue };
            if let Err(message) = field.set(run, &value) {
                match origin {
                    // An argument whose value a shell leaves out.
                    Origin::Text(name) if value == Value::Bool(true) && name.starts_with("--") => {
                        let what = field.label;
                        assumed.push(t!("{what} as on this page: {name} has no value in the text", what, name));
                        continue;
                    }
                    _ => return Err(vec![Issue::error(key, message)]),
                }
            }
            let text = field.text(run).unwrap_or_default();
            let message = t!("{what} {value}", what = field.label, value = text);
            match origin {
                Origin::Text(name) => used.push((name, message)),
                Origin::Default(whose) => {
                    assumed.push(t!("{message}: {whose} where the text is silent", message, whose));
                }
            }
        }
        if is_dynamic {
            whole_share(run, assumed);
        }
        if run.rl.algorithm.is_some() {
            // No file says how long prompts and responses are.
            (run.rl.prompt_tokens, run.rl.response_tokens) = (self.said.prompt_tokens, self.said.response_tokens);
        }
        // As many ranks as there are, or more, are all of them.
        let ranks = run.training_gpus() / run.tp.saturating_mul(run.pp).max(1);
        run.hsdp_shard = run.hsdp_shard.filter(|shard| *shard < ranks);
        Ok(())
    }
}

/// Says that adapters of routed experts are counted once a rank, where the program has one beside each of them. Source:
/// mcore-bridge 1.5.0, on which ms-swift runs, `tuners/lora.py:248` (`num_gemms` of the base's grouped linear).
pub(super) fn adapters_of_experts(program: &Program, run: &Run) -> Option<Message> {
    let of_ffn = [Target::Gate, Target::Up, Target::Down];
    let adapts = run.adapter.targets.as_ref().is_none_or(|targets| targets.iter().any(|one| of_ffn.contains(one)));
    let experts = run.model.resolve().is_ok_and(|model| model.moe.is_some());
    let is_own = program.name == "ms-swift" && program.base.id == "megatron";
    (is_own && run.adapter.method.is_some() && adapts && experts).then(|| {
        t!("routed experts of a GPU share one adapter here: the program has one beside each of them, whose weights, \
                gradients and states need more memory")
    })
}

/// Gives micro-batches that are limited by tokens one size: the largest that divides a rank's share of the batch.
fn whole_share(run: &mut Run, assumed: &mut Vec<Message>) {
    let ranks = run.training_gpus() / run.tp.saturating_mul(run.pp).saturating_mul(run.cp).max(1);
    let share = run.global_batch / ranks.max(1);
    let Some(fits) = (1..=run.micro_batch.min(share)).rev().take(4096).find(|size| share.is_multiple_of(*size)) else {
        return;
    };
    if fits != run.micro_batch {
        assumed.push(t!(
            "micro-batch size {fits}: the largest that fits the token budget of a batch and divides the {share} \
                sequences of a rank",
            fits,
            share
        ));
        run.micro_batch = fits;
    }
}

/// Takes the GPU: as the settings say, else the first that the text names, else the program's, where it runs on GPUs of
/// one maker and the page's is another's, else the page's.
fn gpu(run: &mut Run, fields: &mut Vec<(Origin, String, Value)>, settings: &Settings, launch: &str) -> Option<Message> {
    let id = |(origin, name, value): &(Origin, String, Value)| {
        let preset = value.text().and_then(presets::gpu).filter(|_| name == "@gpu")?;
        Some((matches!(origin, Origin::Text(_)), preset.choice.id))
    };
    let stated = fields.iter().filter_map(id).next_back();
    if let Some((true, id)) = stated {
        run.gpu = Based::preset(id);
        return None;
    }
    fields.retain(|(_, name, _)| name != "@gpu");
    let is_amd = |gpu: &Based<GpuParts>| gpu.family().is_some_and(GpuFamily::is_amd);
    Some(match (gpu_of_text(run, launch, &settings.text), stated) {
        (Err(NoGpu { .. }), Some((_, id)))
            if run.gpu.base.is_none() || is_amd(&run.gpu) != is_amd(&Based::preset(id)) =>
        {
            run.gpu = Based::preset(id);
            t!(
                "the GPU is {gpu}: the program runs on GPUs of its maker, the text does not say which",
                gpu = run.gpu.title()
            )
        }
        (Err(NoGpu { why }), _) => why,
        (Ok(named), _) => named,
    })
}
