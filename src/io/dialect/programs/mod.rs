//! Programs that say the settings of another one under names of their own: a table each, of what every setting is
//! called by the program whose reader takes it. YAML, command lines with Hydra's overrides, variables of a shell and
//! Python files are read alike.
//!
//! Names that begin with `@` are fields of the Run; `peft.` are adapters; every other is one of the base's.

mod gpu_names;
mod nemo_1;
mod on_megatron;
mod on_shards;
mod openrlhf;
mod samples;
mod source;
mod table;
mod values;

pub(crate) use gpu_names::{NamedGpu, is_memory, named_gpu, words};
pub(crate) use source::{Settings, extended};
pub(crate) use table::Program;

use super::tuning::{self, LowRank};
use crate::dialect::rows::prelude::*;
use source::{merged, read_all};

/// All of them; the first that knows its settings is it.
pub(crate) static PROGRAMS: [&Program; 27] = [
    &openrlhf::SFT,
    &openrlhf::DPO,
    &openrlhf::REWARD,
    &openrlhf::LEARNING_NOW,
    &openrlhf::LEARNING_BEFORE,
    &on_megatron::PRIMUS,
    &on_shards::PRIMUS,
    &on_megatron::NEMO_RL,
    &on_shards::NEMO_RL,
    &on_megatron::VERL,
    &on_shards::VERL,
    &on_megatron::VERL_TUNING,
    &on_shards::VERL_TUNING_TORCHTITAN,
    &on_shards::VERL_TUNING_AUTOMODEL,
    &on_shards::VERL_TUNING,
    &on_shards::VERL_TUNING_BEFORE,
    &on_megatron::SLIME_TUNING,
    &on_megatron::SLIME,
    &on_megatron::SWIFT,
    &on_shards::SWIFT,
    &on_megatron::LLAMA_FACTORY_BRIDGE,
    &on_megatron::LLAMA_FACTORY,
    &on_shards::LLAMA_FACTORY,
    &on_shards::AUTOMODEL,
    &on_megatron::MLPERF,
    &nemo_1::NEMO_1,
    &on_megatron::BRIDGE,
];

/// The program whose settings a text has, and these.
pub(crate) fn recognise(text: &ImportText) -> Option<(&'static Program, Settings)> {
    read_all(text).into_iter().find_map(|settings| {
        let program = PROGRAMS.iter().find(|program| (program.is)(&settings))?;
        Some((*program, settings))
    })
}

/// The program whose settings several files have, each over those before it.
pub(crate) fn merge(files: &[&str]) -> Option<(&'static Program, Settings)> {
    let settings = merged(files)?;
    let program = PROGRAMS.iter().find(|program| (program.is)(&settings))?;
    Some((*program, settings))
}

/// Takes the adapters of a program, `peft.kind` and so on; without a kind everything is trained.
pub(crate) fn take_adapter(reader: &mut SettingsReader) {
    reader.run.adapter = AdapterParts::default();
    let kind = reader.word("peft.kind", "fine-tuning").unwrap_or_default();
    let rank = reader.count("peft.rank", "rank of the adapters");
    let bits = reader.count("peft.bits", "bits of the base");
    let base = reader.word("peft.base", "format of the base").and_then(|id| BaseFormat::from_id(&id));
    let targets = tuning::targets(reader, "peft.targets");
    let saved = tuning::saved(reader, "peft.saved");
    let dora = kind.contains("dora");
    if kind.contains("lora") || dora {
        let base = match bits {
            Some(4) => Some(BaseFormat::Nf4Double),
            Some(8) => Some(BaseFormat::Int8),
            _ => base,
        };
        let experts = reader.word("peft.experts", "adapters of experts");
        LowRank { rank, dora, base, targets, saved }.take(reader);
        reader.run.adapter.experts = experts.and_then(|id| ExpertAdapters::from_id(&id));
    } else if !kind.is_empty() && !["none", "full", "null"].contains(&kind.as_str()) {
        reader.leave("peft.kind");
        reader.assume(t!("everything is trained: {other} is not known", other = kind));
    }
    reader.without_default("peft.experts");
}
