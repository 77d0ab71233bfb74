//! torchtitan's settings: command-line overrides (`--training.seq_len 8192`) and the TOML they override.
//!
//! Source: pytorch/torchtitan, `torchtitan/config/job_config.py` and `torchtitan/models/*/__init__.py` (flavors).

mod parallel;
mod training;

use super::launcher::Launcher;
use super::settings_reader::SettingsReader;
use super::settings_writer::SettingsWriter;
use super::words::{self, Script};
use super::{Dialect, Entries, Same, same, toml};
use crate::core::issue::Issue;
use crate::core::run::{Scenario, Value};

/// torchtitan.
pub(crate) static DIALECT: Dialect =
    Dialect { id: "torchtitan", name: "torchtitan", file: "torchtitan.sh", stack: compiled, read, write, print };

static SAME: &[Same] = &[
    same("parallelism.tensor_parallel_degree", "tp", Some(1)),
    same("parallelism.pipeline_parallel_degree", "pp", Some(1)),
    same("parallelism.context_parallel_degree", "cp", Some(1)),
    same("parallelism.expert_parallel_degree", "ep", Some(1)),
    same("training.seq_len", "seq_len", None),
];

const LAUNCHER: Launcher =
    Launcher { nodes: ("nnodes", &["NNODES", "NNODE"]), each: ("nproc_per_node", &["NGPU", "GPUS_PER_NODE"]) };

/// Sections of a file of settings.
const SECTIONS: [&str; 7] =
    ["training", "parallelism", "model", "activation_checkpoint", "optimizer", "compile", "job"];

/// True if a name is one of a section of torchtitan's settings.
#[must_use]
pub fn knows(name: &str) -> bool {
    let name = name.trim_start_matches('-').replace('-', "_");
    name.split_once('.').is_some_and(|(section, _)| SECTIONS.contains(&section))
}

/// True if a text is a file of its settings, whichever form of TOML names them.
#[must_use]
pub(crate) fn is_file(file: &Result<Entries, Issue>) -> bool {
    let entries = file.as_ref();
    entries.is_ok_and(|entries| entries.iter().any(|(name, _)| knows(name)))
}

/// With the compiler where the settings say so: `compile.enable`, before `training.compile`; `compile.components` are
/// the model and the loss unless they are said.
fn compiled(entries: &Entries) -> &'static str {
    let value = |wanted: &[&str]| {
        let plain = |name: &str| name.trim_start_matches('-').replace('-', "_");
        let latest = entries.iter().rev();
        latest.filter(|(name, _)| wanted.contains(&&*plain(name))).map(|(_, value)| value).next()
    };
    let of_the_model = match value(&["compile.components"]) {
        Some(Value::List(parts)) => parts.iter().any(names_the_model),
        Some(part) => names_the_model(part),
        None => true,
    };
    if of_the_model && value(&["compile.enable", "training.compile"]) == Some(&Value::Bool(true)) {
        "torchtitan"
    } else {
        "torchtitan-eager"
    }
}

/// True if a value of `compile.components` has the model among its parts: one, or several with commas.
fn names_the_model(value: &Value) -> bool {
    value.text().is_some_and(|parts| parts.split([',', ' ']).any(|part| part == "model"))
}

/// The settings that a text says.
///
/// # Errors
/// Why it cannot be read, by line where there is one.
pub fn entries(text: &str) -> Result<Entries, Issue> {
    let file = toml::read(text);
    let script = Script::read(text);
    let arguments = script.arguments();
    if is_file(&file) || !arguments.iter().any(|(name, _)| knows(name)) {
        return file;
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
    LAUNCHER.take_variables(&script, &mut entries);
    Ok(entries)
}

fn read(reader: &mut SettingsReader) {
    reader.same(SAME, DIALECT.name);
    match parallel::gpus(reader) {
        Some(gpus) if !LAUNCHER.is_said(reader) => reader.set("gpus", &Value::from(gpus)),
        _ => LAUNCHER.read(reader),
    }
    training::model(reader);
    parallel::read(reader);
    training::read(reader);
}

fn write(s: &Scenario) -> Entries {
    let mut writer = SettingsWriter::default();
    LAUNCHER.write(s, &mut writer);
    training::write_model(s, &mut writer);
    writer.same(SAME, &s.run);
    parallel::write(s, &mut writer);
    training::write(s, &mut writer);
    writer.done()
}

fn print(entries: &Entries, comments: &[String]) -> String {
    words::script("-m torchtitan.train", "--", entries, comments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::run::{Recompute, Run};

    /// `parallel_dims.py`: the world is replicas x shards x CP x TP x PP; only the shards may be -1, what is left over.
    #[test]
    fn degrees_say_how_many_gpus_there_are() {
        let degrees = |shards: i64, launcher: &str| {
            format!(
                "{launcher} x --model.name=llama3 --model.flavor=8B --training.local_batch_size=2 \
                --parallelism.data_parallel_replicate_degree=3 --parallelism.data_parallel_shard_degree={shards} \
                --parallelism.context_parallel_degree=2 --parallelism.tensor_parallel_degree=4"
            )
        };
        for (shards, launcher, gpus) in [(8, "", 3 * 8 * 2 * 4), (-1, "", 64), (-1, "NNODES=6 NGPU=8", 48)] {
            let text = degrees(shards, launcher);
            let mut reader = SettingsReader::new(entries(&text).unwrap(), Run::default());
            read(&mut reader);
            let run = reader.run;
            assert_eq!(run.gpus, gpus, "{text}");
            assert_eq!(run.global_batch, 2 * gpus / 8, "{text}");
        }
    }

    /// `job_config.py`: `Compile.components` are "model" and "loss" where nothing is said.
    #[test]
    fn a_model_is_compiled_where_its_settings_say_so() {
        for (text, stack) in [
            ("[compile]\nenable = true\n", "torchtitan"),
            ("[compile]\nenable = true\ncomponents = [\"loss\"]\n", "torchtitan-eager"),
            ("[compile]\nenable = true\ncomponents = [\"loss\", \"model\"]\n", "torchtitan"),
            ("x --training.seq_len 8 --compile.enable --compile.components model,loss", "torchtitan"),
            ("x --training.seq_len 8 --compile.enable --compile.components loss", "torchtitan-eager"),
            ("[compile]\nenable = false\ncomponents = [\"model\"]\n", "torchtitan-eager"),
        ] {
            assert_eq!(compiled(&entries(text).unwrap()), stack, "{text}");
        }
    }

    #[test]
    fn a_file_and_its_overrides_say_the_same() {
        let file = "[model]\nname = \"llama3\"\nflavor = \"70B\"\n[training]\nlocal_batch_size = 8\nseq_len = 8192\n\
            [parallelism]\ntensor_parallel_degree = 8\npipeline_parallel_degree = 1\n[activation_checkpoint]\nmode = \"full\"\n";
        let flags = "NGPU=8 ./run_train.sh --model.name llama3 --model.flavor=70B --training.local-batch-size 8 \
            --training.seq_len 8192 --parallelism.tensor_parallel_degree 8 --activation_checkpoint.mode full";
        let run = |text: &str, gpus: u64| {
            let mut reader = SettingsReader::new(entries(text).unwrap(), Run { gpus, ..Run::default() });
            read(&mut reader);
            assert!(reader.errors.is_empty(), "{:?}", reader.errors);
            reader.run
        };
        let (from_file, from_flags) = (run(file, 8), run(flags, 64));
        assert_eq!(from_file, from_flags);
        assert_eq!((from_file.tp, from_file.pp, from_file.zero, from_file.gpus), (8, 1, 3, 8));
        assert_eq!(from_file.model.base, Some("llama-3.1-70b"));
        assert_eq!((from_file.micro_batch, from_file.global_batch), (8, 8));
        assert_eq!(from_file.recompute, Recompute::Full);
    }
}
