//! torchtitan's settings: the Python function that makes a configuration, and the command line's overrides of one; of
//! before February 2026, when torchtitan removed it, TOML with the names of that time.
//!
//! Source: pytorch/torchtitan, `torchtitan/config/configs.py` and `README.md`, `torchtitan/models/*/__init__.py`
//! (flavors); before, `torchtitan/config/job_config.py`.

mod parallel;
pub(crate) use parallel::{ORDER_FILE, order_of};
mod shipped;
mod training;

use super::settings::{class, tables};
use crate::dialect::rows::launcher::Launcher;
use crate::dialect::rows::prelude::*;
use crate::dialect::text::words::Script;
use crate::dialect::text::{python, toml};
use shardscope_core::run::registry::{field, plain};
use shipped::{CHECKPOINT, LENGTH, LENGTH_BEFORE};

pub(crate) static DIALECT: Dialect = Dialect {
    id: "torchtitan",
    name: "torchtitan",
    file: "py",
    entries,
    keys: &[],
    told: |entries| is_compiled(entries).then_some("torchtitan"),
    silent: "torchtitan-eager",
    read,
    write,
    print,
};

static SAME: &[Same] = &[
    same("parallelism.tensor_parallel_degree", "tp", Some(1)),
    same("parallelism.pipeline_parallel_degree", "pp", Some(1)),
    same("parallelism.context_parallel_degree", "cp", Some(1)),
    same("parallelism.expert_parallel_degree", "ep", Some(1)),
    same(LENGTH, "seq_len", None),
];

const LAUNCHER: Launcher =
    Launcher { nodes: ("nnodes", &["NNODES", "NNODE"]), each: ("nproc_per_node", &["NGPU", "GPUS_PER_NODE"]) };

/// Sections of a file of settings.
const SECTIONS: [&str; 7] =
    ["training", "parallelism", "model", "activation_checkpoint", "optimizer", "compile", "job"];

/// True if a name is one of torchtitan's settings, or one of its sections with nothing behind its dot: other programs
/// have sections of the same names.
pub fn knows(name: &str) -> bool {
    let name = bare(name);
    let Some((section, rest)) = name.split_once('.') else { return false };
    SECTIONS.contains(&section) && (rest.is_empty() || class(&tables(&[DIALECT.id]), &name).is_some())
}

/// True if a text is a file of its settings, whichever form of TOML names them.
pub(crate) fn is_file(file: &Result<SettingEntries, Issue>) -> bool {
    let entries = file.as_ref();
    // Other programs name a model too, in a section of the same name.
    entries.is_ok_and(|entries| entries.iter().any(|(name, _)| knows(name) && name != "model.name"))
}

/// True if a text is a Python file of its settings.
pub(crate) fn is_python(text: &str) -> bool {
    python::is_file(text) && text.contains("torchtitan")
}

/// True if a script starts a configuration by its name alone.
pub(crate) fn starts(script: &Script) -> bool {
    script.known("CONFIG").is_some() && script.words.iter().any(|word| word.contains("run_train"))
}

/// True if the settings say that the model is compiled: `compile.enable`, before `training.compile`;
/// `compile.components` are the model and the loss unless they are said.
fn is_compiled(entries: &SettingEntries) -> bool {
    let mut settings = if shipped::is_python(entries) { shipped::defaults(entries) } else { Vec::new() };
    settings.extend(entries.iter().cloned());
    let entries = &settings;
    let value = |wanted: &[&str]| {
        let latest = entries.iter().rev();
        latest.filter(|(name, _)| wanted.contains(&&*bare(name))).map(|(_, value)| value).next()
    };
    let of_the_model = match value(&["compile.components"]) {
        Some(Value::List(parts)) => parts.iter().any(names_the_model),
        Some(part) => names_the_model(part),
        None => true,
    };
    of_the_model && value(&["compile.enable", "training.compile"]) == Some(&Value::Bool(true))
}

/// True if a value of `compile.components` has the model among its parts: one, or several with commas.
fn names_the_model(value: &Value) -> bool {
    value.text().is_some_and(|parts| parts.split([',', ' ']).any(|part| part == "model"))
}

/// The settings that a text says.
///
/// # Errors
/// Why it cannot be read, by line where there is one.
fn entries(source: &ImportText) -> Result<SettingEntries, Issue> {
    let text = source.text;
    if is_python(text) {
        return Ok(function(text));
    }
    let file = toml::read(text);
    let script = source.script();
    let arguments = script.arguments();
    if is_file(&file) || !starts(script) && !arguments.iter().any(|(name, _)| knows(name)) {
        return file;
    }
    let mut entries: SettingEntries = Vec::new();
    for (name, value) in arguments {
        let name = bare(&name);
        // "--compile.no_enable" switches off.
        match name.split_once(".no_") {
            Some((section, rest)) if value == Value::Bool(true) => {
                entries.push((format!("{section}.{rest}"), Value::Bool(false)));
            }
            _ => entries.push((name, value)),
        }
    }
    LAUNCHER.take_variables(script, &mut entries);
    for (variable, name) in [("MODULE", "module"), ("CONFIG", "config")] {
        if let Some(value) = script.known(variable).filter(|_| entries.iter().all(|(known, _)| known != name)) {
            entries.push((name.to_owned(), Value::Text(value.to_owned())));
        }
    }
    Ok(entries)
}

/// The line of a file that says how it is launched.
const LAUNCH: &str = "LAUNCH = \"";
/// Name of the function that is written.
const FUNCTION: &str = "run";

/// The settings of a Python file: the launcher's first. What only names a section's class says nothing.
fn function(text: &str) -> SettingEntries {
    let launch = text.lines().find_map(|line| line.strip_prefix(LAUNCH));
    let mut out = Script::read(launch.unwrap_or_default().trim_end_matches('"')).arguments();
    out.retain(|(name, _)| [LAUNCHER.nodes.0, LAUNCHER.each.0].contains(&name.trim_start_matches('-')));
    for (name, value) in &mut out {
        *name = name.trim_start_matches('-').to_owned();
        if let Value::List(items) = value {
            *value = items.first().cloned().unwrap_or_default();
        }
    }
    let section = |name: &str| SECTIONS.contains(&name) && name != CHECKPOINT && name != "optimizer";
    out.extend(python::entries(text).into_iter().filter(|(name, _)| !section(name) && !name.starts_with("loss.")));
    out
}

/// The name since 2025 of a setting of parallelism, which stood in other sections before. Source: pytorch/torchtitan,
/// `torchtitan/config_manager.py` of October 2024.
fn of_parallelism(name: &str) -> Option<String> {
    const DEGREES: [&str; 6] = [
        "data_parallel_",
        "tensor_parallel_degree",
        "context_parallel_degree",
        "pipeline_parallel_",
        "enable_async_tensor_parallel",
        "fsdp_reshard_after_forward",
    ];
    let rest = name.strip_prefix("training.").or_else(|| name.strip_prefix("experimental."))?;
    let rest = if rest == "data_parallel_degree" { "data_parallel_shard_degree" } else { rest };
    DEGREES.iter().any(|degree| rest.starts_with(degree)).then(|| format!("parallelism.{rest}"))
}

fn read(reader: &mut SettingsReader) {
    reader.renamed(of_parallelism);
    let entries = reader.said();
    if shipped::is_python(&entries) {
        let whose = shipped::begun(&entries).and_then(|shipped| shipped.function).unwrap_or(DIALECT.name);
        reader.begin_with(shipped::defaults(&entries), whose);
    }
    reader.same(&SAME[..4], DIALECT.name);
    let before = reader.has(LENGTH_BEFORE);
    let length = if before { same(LENGTH_BEFORE, "seq_len", None) } else { same(LENGTH, "seq_len", None) };
    reader.same(&[length], DIALECT.name);
    match parallel::gpus(reader) {
        Some(gpus) if !LAUNCHER.is_said(reader) => reader.set("gpus", gpus),
        _ => LAUNCHER.read(reader),
    }
    training::model(reader);
    parallel::read(reader);
    training::read(reader);
}

/// True if torchtitan's module of the model has a vision encoder, whether it is used or not.
fn has_tower(s: &Scenario) -> bool {
    let is_of =
        |shipped: &&shipped::Shipped| Based::<ModelParts>::preset(shipped.preset).resolve().as_ref() == Ok(&s.model);
    shipped::SHIPPED.iter().find(is_of).is_some_and(|shipped| shipped.module == "qwen3_5")
}

fn write(s: &Scenario, writer: &mut SettingsWriter) {
    LAUNCHER.write(s, writer);
    writer.say(python::FUNCTION, FUNCTION);
    training::write_model(s, writer);
    // All of them: what is shipped may say another number.
    for (row, field) in SAME.iter().filter_map(|row| Some((row, field(row.field)?))) {
        writer.say(row.name, field.get(&s.run));
    }
    parallel::write(s, writer);
    training::write(s, writer);
}

fn print(entries: &SettingEntries, comments: &[String]) -> String {
    let (launcher, settings) = entries.split_at(entries.len().min(2));
    let flag = |(name, value): &(String, Value)| format!("--{name} {}", plain(value).unwrap_or_default());
    let launcher: Vec<String> = launcher.iter().map(flag).collect();
    let launch = format!(
        "# In a file shardscope.py where Python finds it.\n{LAUNCH}torchrun {} -m torchtitan.train --module \
            shardscope --config {FUNCTION}\"\n",
        launcher.join(" ")
    );
    python::print(settings, comments, &launch, training::WHOLE, training::ENDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Result<SettingEntries, Issue> {
        crate::dialect::entries(&DIALECT, text)
    }
    use shardscope_core::run::{Recompute, Run};

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
            assert_eq!(DIALECT.stack(&entries(text).unwrap()), stack, "{text}");
        }
    }

    #[test]
    fn a_file_and_its_overrides_say_the_same() {
        let file = "[model]\nname = \"llama3\"\nflavor = \"70B\"\n[training]\nlocal_batch_size = 8\nseq_len = 8192\n\
            [parallelism]\ntensor_parallel_degree = 8\npipeline_parallel_degree = 1\n[activation_checkpoint]\nmode = \
            \"full\"\n";
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
