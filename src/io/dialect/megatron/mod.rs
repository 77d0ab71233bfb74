//! Megatron-LM's arguments.
//!
//! Source: NVIDIA/Megatron-LM, `megatron/training/arguments.py`: names, defaults, and what follows from what.

mod forks;
mod layout;
mod model;
mod modules;
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
pub(crate) use layout::needs_release;
use parallel::SAME;
use release::told;
pub(crate) use start::{Blank, start};

pub(crate) static DIALECT: Dialect = Dialect {
    id: "megatron",
    name: "Megatron-LM",
    file: "megatron.sh",
    entries: |text| Ok(entries(text)),
    keys: &[],
    told,
    silent: "megatron-2025",
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
    modules::expand(&mut entries);
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
    let by_module = modules::are_there(reader);
    let (grid, counts) = SAME[..SAME.len() - 1].split_at(parallel::GRID);
    if by_module {
        modules::language(reader);
    } else {
        reader.same(grid, DIALECT.name);
    }
    reader.same(counts, DIALECT.name);
    LAUNCHER.read(reader);
    let tower = if by_module { modules::gpus(reader) } else { None };
    parallel::batch(reader);
    model::read(reader);
    if let Some(grid) = tower {
        modules::tower(reader, grid);
    }
    parallel::read(reader);
    layout::read(reader);
    training::read(reader);
    forks::read(reader);
}

fn write(s: &Scenario, writer: &mut SettingsWriter) {
    LAUNCHER.write(s, writer);
    if let Some(vision) = modules::example(s) {
        modules::write(s, vision, writer);
        writer.same(&SAME[parallel::GRID..], &s.run);
    } else {
        writer.same(SAME, &s.run);
    }
    model::write(s, writer);
    layout::write(s, writer);
    parallel::write(s, writer);
    training::write(&s.run, writer);
}

fn print(entries: &SettingEntries, comments: &[String]) -> String {
    let by_module = entries.iter().any(|(name, _)| name == "--llm-tp");
    let program = if by_module { "-m examples.mimo.pretrain_mimo" } else { "pretrain_gpt.py" };
    let script = script::script(program, "", entries, comments);
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
