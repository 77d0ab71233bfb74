//! Megatron-LM's arguments.
//!
//! Source: NVIDIA/Megatron-LM, `megatron/training/arguments.py`: names, defaults, and what follows from what.

mod layout;
mod model;
mod parallel;
mod pattern;
mod precision;
mod release;
mod script;
mod start;
mod training;

use crate::dialect::deepspeed;
use crate::dialect::named_files::file_named;
use crate::dialect::rows::launcher::Launcher;
use crate::dialect::rows::prelude::*;
use parallel::SAME;
use release::generation;
pub(crate) use start::{Blank, start};

pub(crate) static DIALECT: Dialect = Dialect {
    id: "megatron",
    name: "Megatron-LM",
    file: "megatron.sh",
    entries: |text| Ok(entries(text)),
    keys: &[],
    stack: generation,
    read,
    write,
    print,
};

const LAUNCHER: Launcher = Launcher {
    nodes: ("--nnodes", &["NNODES", "NUM_NODES"]),
    each: ("--nproc-per-node", &["GPUS_PER_NODE", "NPROC_PER_NODE", "NGPUS_PER_NODE"]),
};

/// True if the arguments of these names are Megatron's: one that it alone has, or two that others have too.
pub fn knows<'n>(names: impl Iterator<Item = &'n str>) -> bool {
    const SHARED: [&str; 5] =
        ["--num-layers", "--hidden-size", "--seq-length", "--micro-batch-size", "--global-batch-size"];
    let own = ["--num-attention-heads", "--use-distributed-optimizer"];
    let (mut shared, mut alone) = (0, false);
    for name in names {
        let name = name.replace('_', "-");
        if SHARED.contains(&&*name) {
            shared += 1;
        } else if own.contains(&&*name) || SAME.iter().any(|row| row.name == name) {
            alone = true;
        }
    }
    alone || shared > 1
}

/// The settings that a text says.
fn entries(text: &ImportText) -> SettingEntries {
    let script = text.script();
    let mut entries: SettingEntries = script.arguments();
    for (name, _) in &mut entries {
        *name = name.replace('_', "-");
    }
    LAUNCHER.take_variables(script, &mut entries);
    take_stage(text, &mut entries);
    entries
}

/// Puts the stage of DeepSpeed's file behind the arguments of Megatron-DeepSpeed, where the file is at hand.
fn take_stage(text: &ImportText, entries: &mut SettingEntries) {
    let named = entries.iter().find(|(name, _)| name == "--deepspeed-config");
    let Some(file) = named.and_then(|(_, value)| file_named(text, value.text()?)) else { return };
    let settings = deepspeed::entries(&file).unwrap_or_default();
    let stage = settings.into_iter().find(|(name, _)| name == "zero_optimization.stage");
    if let Some((_, stage)) = stage
        && entries.iter().all(|(name, _)| name != "--zero-stage")
    {
        entries.push(("--zero-stage".to_owned(), stage));
    }
}

fn read(reader: &mut SettingsReader) {
    reader.same(&SAME[..SAME.len() - 1], DIALECT.name);
    LAUNCHER.read(reader);
    parallel::batch(reader);
    model::read(reader);
    parallel::read(reader);
    layout::read(reader);
    training::read(reader);
}

fn write(s: &Scenario, writer: &mut SettingsWriter) {
    LAUNCHER.write(s, writer);
    writer.same(SAME, &s.run);
    model::write(s, writer);
    layout::write(s, writer);
    parallel::write(s, writer);
    training::write(&s.run, writer);
}

fn print(entries: &SettingEntries, comments: &[String]) -> String {
    let script = script::script("pretrain_gpt.py", "", entries, comments);
    let says = |names: &[&str]| entries.iter().any(|(name, _)| names.contains(&&**name));
    // `validate_args` refuses tensor and context parallelism without it on GPUs before Blackwell, and FSDP with it.
    let one_queue =
        says(&["--tensor-model-parallel-size", "--context-parallel-size"]) && !says(&["--use-megatron-fsdp"]);
    if one_queue {
        let with = "\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun ";
        script.replacen("\ntorchrun ", with, 1)
    } else {
        script
    }
}
