//! The settings of a text in any of the forms that programs take.

use super::samples::longest;
use crate::dialect::config_file;
use crate::dialect::named_files::take_files;
use crate::dialect::text::launch::{Launch, is_placed};
use crate::dialect::text::words::scalar;
use crate::dialect::text::{python, yaml};
use crate::dialect::{ImportText, SettingEntries};
use shardscope_core::message::Message;
use shardscope_core::run::Value;
use std::collections::BTreeMap;

/// Settings as they stand: dotted names of YAML, Hydra and Python, `--name` of arguments, `$NAME` of variables.
pub(crate) struct Settings {
    pub entries: SettingEntries,
    /// The text that they stand in; of a script first the words that run.
    pub text: String,
    /// Notes on the choices that the text leaves open.
    pub doubts: Vec<Message>,
    /// Files that they are merged from.
    pub files: usize,
    /// Of a script.
    pub script: bool,
}

impl Settings {
    /// The last value of a setting; null is none.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let mut latest = self.entries.iter().rev();
        latest.find(|(known, _)| known == name).map(|(_, value)| value).filter(|value| **value != Value::Null)
    }

    /// Files that these settings are over and that are not among them: what the keys "defaults" and "extends" name.
    pub fn missing(&self) -> Vec<&str> {
        let names = extended(&self.entries);
        if names.len() < self.files { Vec::new() } else { names }
    }

    /// A number, or a switch as 1 or 0.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            Value::Number(number) => Some(*number),
            Value::Bool(yes) => Some(f64::from(u8::from(*yes))),
            _ => None,
        }
    }

    /// The number of setting `name`; for `name=word` 1 where the setting is that word, for `~word` 1 where the text has
    /// the word, else 0; for `^name` the tokens of the longest sample of the data sets that it names; `+name` is the
    /// number of `name`.
    pub fn told(&self, name: &str) -> Option<f64> {
        if let Some(name) = name.strip_prefix('^') {
            return self.get(name).and_then(longest).map(|tokens| tokens as f64);
        }
        if let Some(name) = name.strip_prefix('+') {
            return self.number(name);
        }
        let holds = match (name.split_once('='), name.strip_prefix('~')) {
            (Some((name, word)), _) => self.is(name, word),
            (None, Some(word)) => self.text.contains(word),
            (None, None) => return self.number(name),
        };
        Some(f64::from(u8::from(holds)))
    }

    /// True if a setting begins with one of these.
    pub fn begins(&self, starts: &[&str]) -> bool {
        self.entries.iter().any(|(name, _)| starts.iter().any(|start| name.starts_with(start)))
    }

    /// True where verl's command names its defaults of Megatron: `verl/trainer/config/ppo_megatron_trainer.yaml`, or
    /// those over it (`fully_async_ppo_megatron_trainer.yaml`).
    pub fn has_defaults_of_megatron(&self) -> bool {
        let named = self.get("--config-name").and_then(Value::text);
        named.is_some_and(|name| name.trim_end_matches(".yaml").ends_with("ppo_megatron_trainer"))
    }

    /// True of a command of Megatron-Bridge 0.2's scripts of performance, `scripts/performance/argument_parser.py`.
    pub fn is_bridge_before(&self) -> bool {
        BRIDGE_BEFORE.iter().all(|name| self.get(name).is_some())
    }

    /// True of verl's trainer for fine-tuning before its engines, and of its file `sft_trainer.yaml`.
    pub fn is_tuning_of_verl_before(&self) -> bool {
        self.text.contains("fsdp_sft_trainer") && self.begins(&["data.", "model."])
            || self.begins(&["model.partial_pretrain"])
    }

    /// True of verl's trainer for fine-tuning.
    pub fn is_tuning_of_verl(&self) -> bool {
        self.text.contains("verl.trainer.sft_trainer") && self.begins(&["engine.", "data."])
    }

    /// The engine that verl's trainer for fine-tuning is told to take: a word of its command, which a shell's reader
    /// may have for a variable.
    pub fn engine_of_verl(&self) -> Option<&str> {
        let word = || self.text.lines().find_map(|line| line.trim().strip_prefix("engine="));
        let chosen = self.get("$engine").and_then(Value::text).or_else(word)?;
        chosen.split_whitespace().next()
    }

    /// True of a setting in a section that its program does not read: another one, which is on, stands in its place, or
    /// its own switch is off.
    pub fn is_out_of_use(&self, name: &str) -> bool {
        self.is_replaced(name) || SECTIONS.iter().any(|[off, _]| is_of(name, off) && self.switch(off) == Some(0.0))
    }

    /// True of a setting in a section in whose place another one is on.
    pub fn is_replaced(&self, name: &str) -> bool {
        SECTIONS.iter().any(|[before, over]| is_of(name, before) && self.switch(over) == Some(1.0))
    }

    fn switch(&self, section: &str) -> Option<f64> {
        self.number(&format!("{section}.{SWITCH}"))
    }

    /// True if a setting is this word.
    pub fn is(&self, name: &str, word: &str) -> bool {
        self.get(name).and_then(Value::text).is_some_and(|text| text.eq_ignore_ascii_case(word))
    }
}

/// Sections of which the second, where it is on, is read in the place of the first. Source: arcee-ai/NeMo-RL 0912707
/// `rlkit/models/policy/lm_policy.py:86` (`if dtv2_enable`).
const SECTIONS: [[&str; 2]; 1] = [["policy.dtensor_cfg", "policy.dtensor_v2_cfg"]];

/// The switch of a section.
const SWITCH: &str = "enabled";

/// True of a setting in `section` that is not its switch.
fn is_of(name: &str, section: &str) -> bool {
    name.strip_prefix(section).and_then(|rest| rest.strip_prefix('.')).is_some_and(|rest| rest != SWITCH)
}

/// The files that settings are over: what `defaults` and `extends` name.
pub(crate) fn extended(entries: &SettingEntries) -> Vec<&str> {
    let lists = entries.iter().filter(|(name, _)| name == "defaults" || name == "extends");
    let names = lists.flat_map(|(_, value)| match value {
        Value::List(items) => items.iter().filter_map(Value::text).collect(),
        value => value.text().into_iter().collect::<Vec<_>>(),
    });
    names.filter(|name| *name != "_self_").collect()
}

/// The settings of a text in each form that it may have.
pub(crate) fn read_all(source: &ImportText) -> Vec<Settings> {
    let text = source.text;
    let settings = |entries: SettingEntries| Settings {
        entries,
        text: text.to_owned(),
        doubts: Vec::new(),
        files: 1,
        script: false,
    };
    if python::is_file(text) {
        return vec![settings(python::entries(text))];
    }
    let mut out = Vec::new();
    out.extend(of_yaml(text).map(settings));
    out.push(script(source));
    out
}

/// The settings of a file of YAML; none of a shell's words, or where there is a comment alone.
fn of_yaml(text: &str) -> Option<SettingEntries> {
    let entries = yaml::entries(text).ok().filter(|entries| !entries.is_empty())?;
    Some(entries.into_iter().map(|(name, value)| (name, of_environment(value))).collect())
}

/// The settings of several files of YAML, each over those before it, and one whose modules name others over those; none
/// where one is none.
pub(super) fn merged(files: &[&str]) -> Option<Settings> {
    let (mut all, mut gone) = (Vec::new(), BTreeMap::new());
    let mut read = files.iter().map(|file| of_yaml(file)).collect::<Option<Vec<SettingEntries>>>()?;
    read.sort_by_key(|entries| entries.iter().any(|(name, _)| name.starts_with("modules.")));
    for (at, entries) in read.into_iter().enumerate() {
        for (name, value) in entries {
            // Null takes a whole section of the files below away.
            if value == Value::Null {
                gone.insert(name.clone(), at);
            }
            all.push((at, name, value));
        }
    }
    let stays = |at: usize, name: &str| {
        let mut sections = name.match_indices('.').map(|(end, _)| &name[..end]);
        !sections.any(|section| gone.get(section).is_some_and(|gone| *gone > at))
    };
    let entries: SettingEntries =
        all.into_iter().filter(|(at, name, _)| stays(*at, name)).map(|(_, name, value)| (name, value)).collect();
    Some(Settings { entries, text: files.join("\n"), doubts: Vec::new(), files: files.len(), script: false })
}

/// `${NAME:-value}` and `${NAME:value}` within a text of a file are the value where the environment is not told
/// otherwise; "none" is null, as the programs read it.
fn of_environment(value: Value) -> Value {
    let Some(text) = value.text() else { return value };
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let default = after.split_once('}').and_then(|(inner, after)| {
            let (name, default) = inner.split_once(':')?;
            let of_shell = !name.contains(['.', '{']) && name.chars().any(|c| c.is_ascii_uppercase());
            of_shell.then_some((default.trim_start_matches('-'), after))
        });
        out.push_str(before);
        let (said, after) = default.unwrap_or(("${", after));
        out.push_str(said);
        rest = after;
    }
    out.push_str(rest);
    plain(if out == text { value } else { scalar(&out) })
}

/// Arguments, Hydra's overrides, variables and the files that a script begins with.
fn script(source: &ImportText) -> Settings {
    let script = source.script();
    let file = config_file::of(source).filter(|file| file.in_place);
    let (with_file, of_file) = file.and_then(|file| file.spliced(script)).unzip();
    let mut out: SettingEntries = Vec::new();
    for (name, value) in of_file.iter().flatten().chain(&script.variables) {
        out.push((format!("${name}"), plain(scalar(value))));
    }
    for (name, value) in with_file.as_ref().unwrap_or(script).arguments() {
        let value = match value {
            Value::List(mut items) if items.len() == 1 => items.pop().unwrap_or_default(),
            value => value,
        };
        out.push((name.replace('_', "-"), plain(value)));
    }
    for (name, value) in script.overrides() {
        out.push((name, plain(value)));
    }
    out.extend(short_options(&script.words));
    name_in_parts(&mut out);
    let files = script.words.iter().filter(|word| word.rsplit('.').next() == Some("sh"));
    for file in files.chain(script.missing.iter().map(|file| &file.name)) {
        out.push(("source".to_owned(), Value::Text(file.clone())));
    }
    if let Some(program) = of_swift(&script.words) {
        out.push(("program".to_owned(), Value::Text(program.to_owned())));
        launched(source, &mut out);
    } else if script.words.iter().any(|word| word.contains(OPENRLHF)) {
        launched(source, &mut out);
    }
    Settings { entries: out, text: script.heard(source.text), doubts: script.doubts(), files: 1, script: true }
}

/// Short options of Megatron-Bridge's scripts of performance by their long names, which its table has. Source:
/// NVIDIA-NeMo/Megatron-Bridge 067f987 `scripts/performance/argument_parser.py:178` to `:942`.
const OF_BRIDGE: [(&str, &str); 17] = [
    ("-mr", "--model-recipe-name"),
    ("-m", "--model-family-name"),
    ("-ng", "--num-gpus"),
    ("-gn", "--gpus-per-node"),
    ("-g", "--gpu"),
    ("-c", "--compute-dtype"),
    ("-ms", "--max-steps"),
    ("-gb", "--global-batch-size"),
    ("-mb", "--micro-batch-size"),
    ("-sl", "--seq-length"),
    ("-tp", "--tensor-model-parallel-size"),
    ("-pp", "--pipeline-model-parallel-size"),
    ("-cp", "--context-parallel-size"),
    ("-vp", "--virtual-pipeline-model-parallel-size"),
    ("-ep", "--expert-model-parallel-size"),
    ("-et", "--expert-tensor-parallel-size"),
    ("-cv", "--config-variant"),
];

/// The settings that a command of Megatron-Bridge's scripts says by short options.
fn short_options(words: &[String]) -> SettingEntries {
    const SCRIPTS: [&str; 4] = ["setup_experiment.py", "run_script.py", "custom_setup_experiment.py", "run_recipe.py"];
    let Some(at) = words.iter().position(|word| SCRIPTS.contains(&word.rsplit('/').next().unwrap_or_default())) else {
        return Vec::new();
    };
    let pairs = words.get(at..).unwrap_or_default().windows(2);
    let said = pairs.filter_map(|pair| {
        let (_, long) = OF_BRIDGE.iter().find(|(short, _)| *short == pair[0])?;
        Some(((*long).to_owned(), plain(scalar(&pair[1]))))
    });
    said.collect()
}

/// Settings that every command of Megatron-Bridge 0.2's scripts of performance has.
const BRIDGE_BEFORE: [&str; 3] = ["--model-name", "--model-size", "--compute-dtype"];

/// Joins the name of a model that Megatron-Bridge 0.2 takes in two parts, "deepseek" and "v3". Source:
/// NVIDIA-NeMo/Megatron-Bridge 717c62d `scripts/performance/utils/utils.py:63` (`get_model_recipe`).
fn name_in_parts(out: &mut SettingEntries) {
    let last = |name: &str| out.iter().rev().find(|(known, _)| known == name).and_then(|(_, value)| value.text());
    let [Some(name), Some(size), Some(_)] = BRIDGE_BEFORE.map(last) else { return };
    let whole = Value::Text(format!("{name}_{size}"));
    for (known, value) in out {
        if BRIDGE_BEFORE[..2].contains(&known.as_str()) {
            *value = whole.clone();
        }
    }
}

/// A part of the names of OpenRLHF's programs.
const OPENRLHF: &str = "openrlhf";

/// Which of ms-swift's two programs is started, by a command or by its file.
fn of_swift(words: &[String]) -> Option<&'static str> {
    let tasks = ["pt", "sft", "rlhf"];
    let command = words.windows(2).find_map(|pair| {
        let program = ["swift", "megatron"].into_iter().find(|program| *program == pair[0])?;
        tasks.contains(&pair[1].as_str()).then_some(program)
    });
    let file = || {
        words.iter().find_map(|word| {
            let (folder, file) = word.rsplit_once('/')?;
            let task = tasks.contains(&file.strip_suffix(".py")?);
            [("swift/cli", "swift"), ("swift/cli/_megatron", "megatron")]
                .into_iter()
                .find_map(|(end, program)| (task && folder.ends_with(end)).then_some(program))
        })
    };
    command.or_else(file)
}

/// Puts the GPUs of a launcher before ms-swift or OpenRLHF in the variables that ms-swift reads itself, and the
/// settings of files that are here in their place.
fn launched(source: &ImportText, out: &mut SettingEntries) {
    let script = source.script();
    let launch = Launch::of(script);
    // One process may see several GPUs: without a launcher their list says nothing of processes.
    let launchers = ["torchrun", "accelerate", "deepspeed", "srun", "mpirun", "mpiexec"];
    let by_launcher = script.words.iter().any(|word| launchers.contains(&word.rsplit('/').next().unwrap_or_default()));
    if by_launcher
        && !out.iter().any(|(name, _)| name == "$NPROC_PER_NODE")
        && let Some(gpus) = launch.gpus()
    {
        let nodes = launch.nodes.filter(|nodes| *nodes > 0 && gpus.is_multiple_of(*nodes)).unwrap_or(1);
        out.retain(|(name, _)| name != "$NNODES");
        out.push(("$NNODES".to_owned(), Value::from(nodes)));
        out.push(("$NPROC_PER_NODE".to_owned(), Value::from(gpus / nodes)));
    }
    let whole_nodes = whole_nodes(launch.nodes, out);
    out.retain(|(name, _)| !is_placed(name));
    out.extend(whole_nodes);
    let mut named: SettingEntries = Vec::new();
    out.retain(|(name, value)| {
        let file = ["--config-file", "--deepspeed"].contains(&name.as_str());
        if file {
            named.push((name.trim_start_matches('-').replace('-', "_"), value.clone()));
        }
        !file
    });
    take_files(source, &mut named);
    out.extend(named.into_iter().map(|(name, value)| match name.as_str() {
        "config_file" | "deepspeed" => (format!("--{}", name.replace('_', "-")), value),
        _ => (name, value),
    }));
}

/// `gpu` and `auto` of torchrun, all GPUs of a node, as the variable that ms-swift hands on to it, and the nodes beside
/// it; nothing where a number is said. Source: ms-swift 3602360 `swift/cli/main.py:31`.
fn whole_nodes(nodes: Option<u64>, out: &SettingEntries) -> SettingEntries {
    let last = |name: &str| out.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let argument = last("--nproc-per-node").map(|value| match value {
        Value::List(items) => items.into_iter().next().unwrap_or_default(),
        value => value,
    });
    match last("$NPROC_PER_NODE").or(argument) {
        Some(word) if all_of_a_node(&word) => {
            vec![("$NPROC_PER_NODE".to_owned(), word), ("nnodes".to_owned(), Value::from(nodes.unwrap_or(1).max(1)))]
        }
        _ => Vec::new(),
    }
}

/// True of torchrun's words for all GPUs of a node.
pub(super) fn all_of_a_node(value: &Value) -> bool {
    value.text().is_some_and(|word| ["gpu", "auto"].contains(&word))
}

/// Value that a program of Python reads from a word of a shell.
fn plain(value: Value) -> Value {
    match value.text() {
        Some("true" | "True") => Value::Bool(true),
        Some("false" | "False") => Value::Bool(false),
        Some("none" | "None" | "null" | "") => Value::Null,
        _ => value,
    }
}
