//! The programs that train: what each calls the settings of a Run, read and written by one file a program.
//!
//! A program's settings are `SettingEntries`: names with values, in the order they stand in. A [`Dialect`] writes
//! a Run in them, takes them into a Run and prints the text of a launch script or a file of settings; [`entries`] reads
//! such a text. What a program cannot say is found by saying it and reading it back: see [`not_said`].

pub(crate) mod accelerate;
pub(crate) mod axolotl;
pub(crate) mod config_file;
pub mod deepspeed;
mod launcher;
pub(crate) mod llama_factory;
pub(crate) mod llm_foundry;
pub mod megatron;
mod named_files;
pub mod nanotron;
pub(crate) mod peft;
pub(crate) mod programs;
pub(crate) mod python_trainer;
pub mod rows;
pub(crate) mod settings;
pub mod text;
pub mod torchtitan;
pub(crate) mod torchtune;
pub(crate) mod trl;
mod tuning;

pub(crate) use launcher::BESIDE_A_SCRIPT;
pub use launcher::launcher;

pub(crate) use named_files::file_named;
pub(crate) use rows::hub::{preset as preset_named, repository};
pub use rows::program::Dialect;
pub use rows::values::{Same, alike, computes, same, steps, tokens};
pub(crate) use rows::values::{bare, is_off};
pub use settings::{is_called, is_name_of};
pub use text::ImportText;
pub(crate) use text::SettingEntries;
pub use text::shell::{Branch, Given};

use rows::reader::SettingsReader;
use shardscope_core::issue::Issue;
use shardscope_core::run::registry::{FIELDS, plain};
use shardscope_core::run::{AdapterParts, OffloadParts, OneOf, Precision, Recompute, Reduction, Run, Scenario, Value};

/// All dialects. A file is of the first one whose keys it has.
pub static DIALECTS: &[&Dialect] = &[
    &megatron::DIALECT,
    &torchtitan::DIALECT,
    &deepspeed::DIALECT,
    &nanotron::DIALECT,
    &axolotl::DIALECT,
    &llama_factory::DIALECT,
    &llm_foundry::DIALECT,
    &accelerate::DIALECT,
    &trl::DIALECT,
    &torchtune::DIALECT,
    &peft::DIALECT,
];

pub fn dialect(id: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().find(|dialect| dialect.id == id).copied()
}

/// The settings that a text of `dialect` says: its own form, or JSON.
///
/// # Errors
/// Why it cannot be read, by line where there is one.
pub fn entries(dialect: &Dialect, text: &str) -> Result<SettingEntries, Issue> {
    entries_of(dialect, &ImportText::new(text, &Given::default()))
}

/// As [`entries`], with what a request says beside the text.
pub(crate) fn entries_of(dialect: &Dialect, text: &ImportText) -> Result<SettingEntries, Issue> {
    let mut entries =
        if text.text.trim_start().starts_with('{') { deepspeed::entries(text.text) } else { (dialect.entries)(text) }?;
    named_files::take_files(text, &mut entries);
    Ok(entries)
}

/// The fields that `dialect` does not say, with the value that is lost: those which come back otherwise when its
/// settings are read into the default Run.
pub fn not_said(dialect: &Dialect, scenario: &Scenario) -> Vec<(&'static str, String)> {
    let lost = not_said_to(dialect, scenario, Run::default()).into_iter();
    lost.map(|setting| (setting.key, setting.value)).collect()
}

/// A setting that a program's own do not say.
#[derive(Clone)]
pub(crate) struct NotSaid {
    pub key: &'static str,
    /// The lost value.
    pub value: String,
}

/// What the settings of `scenario` in `dialect` mean as they are read into `present`.
pub(crate) fn taken(dialect: &Dialect, scenario: &Scenario, present: Run) -> Run {
    let mut reader = SettingsReader::new(dialect.written(scenario), present);
    (dialect.read)(&mut reader);
    reader.run
}

/// True if the frozen base of `run` takes as much in the precision of `other`, and its adapters too: nothing else is
/// trained, so that gradients and states of all weights are nobody's.
fn is_base_alike(scenario: &Scenario, other: &Run) -> bool {
    let Ok(theirs) = other.precision.resolve() else { return false };
    let Ok(ours) = scenario.run.precision.resolve() else { return false };
    let base = |bytes: Precision| (bytes.weights, bytes.computes, bytes.recipe, bytes.param_gather);
    let adapter = |run: &Run, bytes| run.adapter.resolve(&scenario.software, bytes);
    scenario.adapter.is_some() && base(ours) == base(theirs) && adapter(&scenario.run, ours) == adapter(other, theirs)
}

/// True if gradients of `scenario` are reduced as with the setting of `other`: what is left to the software is what its
/// own does.
fn is_reduced_alike(scenario: &Scenario, other: &Run) -> bool {
    let told = Run { zero2_reduce: other.zero2_reduce, ..scenario.run.clone() };
    let when = |scenario: &Scenario| (scenario.reduction(), scenario.sums_whole());
    told.zero2_reduce == scenario.run.zero2_reduce
        || Scenario::new(&told).is_ok_and(|told| when(&told) == when(scenario))
}

/// The fields of `scenario` that `dialect` does not say, with the value that is lost, where its settings are read into
/// the Run `known`.
pub(crate) fn not_said_to(dialect: &Dialect, scenario: &Scenario, known: Run) -> Vec<NotSaid> {
    lost_in(scenario, &taken(dialect, scenario, known))
}

/// The fields of `scenario`, with their values, that `read` has otherwise: what its settings were read as.
pub(crate) fn lost_in(scenario: &Scenario, read: &Run) -> Vec<NotSaid> {
    let run = &scenario.run;
    let (back, meant) = (read.resolved(), run.resolved());
    // With the software of the run, which decides what is left open.
    let told = Run { stack: run.stack.clone(), ..read.clone() }.resolved();
    let whole = back.model.resolve() == meant.model.resolve();
    let lost = FIELDS.iter().filter(|field| {
        let named = match field.key {
            "model" => whole || run.model.base.is_none(),
            "gpu" => run.gpu.resolve() == read.gpu.resolve(),
            "precision" => alike(&run.precision, &read.precision) || is_base_alike(scenario, read),
            key if key.starts_with("adapter.") => {
                let adapter = |parts: &AdapterParts| parts.resolve(&scenario.software, scenario.precision);
                let unset = key != "adapter.method" && field.get(run) == Value::Null;
                unset || adapter(&run.adapter) == adapter(&read.adapter)
            }
            key if key.starts_with("offload.") => {
                let offload = |parts: &OffloadParts| parts.resolve(run, &scenario.software);
                offload(&run.offload) == offload(&read.offload)
            }
            // Follows from the GPU, which is another field.
            "stack.attention" => field.get(run) == Value::Null && field.get(read) == Value::Null,
            "zero2_reduce" => is_reduced_alike(scenario, read),
            // Left to the program by both.
            "stage_layers" => run.stage_layers.is_none() && read.stage_layers.is_none(),
            // Said in whole steps.
            "tokens_total" => steps(run) == steps(read),
            _ => false,
        };
        // Shapes are the preset's unless they were changed.
        let of_preset = field.key.starts_with("model.") && run.model.base.is_some();
        let silent = (of_preset && field.get(run) == Value::Null) || unused(run, field.key);
        let value = field.get(&meant);
        !named && !silent && (field.get(&back) != value || field.get(&told) != value)
    });
    let settings = lost.map(|field| {
        let value = plain(&field.get(run)).or_else(|| plain(&field.get(&meant)));
        let value = value.unwrap_or_else(|| match field.key {
            "zero2_reduce" if scenario.sums_whole() => Reduction::Step.id().to_owned(),
            "zero2_reduce" => scenario.reduction().id().to_owned(),
            _ => "unset".to_owned(),
        });
        NotSaid { key: field.key, value }
    });
    settings.collect()
}

/// True if a field has no effect in `run`.
fn unused(run: &Run, key: &str) -> bool {
    match key {
        "sequence_parallel" | "stack.tp_overlap" | "overlap.tp" => run.tp == 1,
        "cp_comm" => run.cp == 1,
        "etp" | "moe_imbalance" | "moe_sigma" | "moe_clones" | "moe_balance" | "capacity_factor" | "moe_dispatch"
        | "fp8_dispatch" | "overlap.ep" | "ep_overlap" | "delay_wgrad" => {
            run.model.resolve().is_ok_and(|model| model.moe.is_none())
        }
        // The other two say the recomputed layers or modules.
        "recompute" => {
            matches!(run.recompute, Recompute::Layers(_) | Recompute::Modules(_) | Recompute::Budget(_))
        }
        "virtual_stages" => run.schedule.fixed_chunks(&run.schedule_options).is_some(),
        key if key.starts_with("gpu.") => !run.gpu.is_changed(),
        key if key.starts_with("precision.") => !run.precision.is_changed(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Megatron-LM's `arguments.py`: the size of a micro-batch is `--micro-batch-size`; `--lr` is no setting that
    /// counts here.
    #[test]
    fn a_name_of_a_program_finds_its_field_and_no_other() {
        let called = |words: &str| -> Vec<&str> {
            let found = FIELDS.iter().filter(|field| words.split(' ').all(|word| is_called(field.key, word)));
            found.map(|field| field.key).collect()
        };
        let named = |words: &str| -> Vec<&str> {
            FIELDS.iter().filter(|field| is_name_of(field.key, words)).map(|field| field.key).collect()
        };
        assert!(called("--lr").is_empty(), "{:?}", called("--lr"));
        assert!(called("--tensor-model-par").contains(&"tp") && called("checkpointing").contains(&"recompute"));
        for words in ["micro batch size", "--micro-batch-size", "micro_batch_size"] {
            assert_eq!(named(words), ["micro_batch"], "{words}");
        }
    }

    #[test]
    fn what_a_program_cannot_say_is_found() {
        let mut run = Run::default();
        run.schedule = shardscope_core::run::Schedule::ZbH1;
        run.gpu = shardscope_core::run::Based::preset("a100-sxm-80gb");
        let lost = |run| not_said(&megatron::DIALECT, &Scenario::new(run).unwrap());
        let keys: Vec<_> = lost(&run).into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["gpu", "schedule"]);
        assert!(lost(&Run::default()).is_empty());
    }
}
