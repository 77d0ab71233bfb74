//! The file of settings that a launch command names: `llamafactory-cli train x.yaml`, `train.py --config x.yaml`. Where
//! it is given, or the script writes it, the command's own settings count over it.
//!
//! Sources: modelscope/ms-swift 3602360 `swift/cli/main.py:38` (`parse_yaml_args`), hiyouga/LLaMA-Factory ff6d4d1
//! `hparams/parser.py` (`read_args`), huggingface/trl f2cd577 `scripts/utils.py` (`--config`), axolotl `cli/main.py`,
//! pytorch/torchtune `config/_parse.py`, pytorch/torchtitan `config/manager.py` (`--job.config_file`),
//! NVIDIA-NeMo/RL `examples/run_grpo.py` (`--config`), huggingface/nanotron `run_train.py` (`--config-file`).

use crate::dialect::named_files::file_named;
use crate::dialect::text::launch::{Launch, is_placed, take_launch};
use crate::dialect::text::shell::{program_name, quoted_word};
use crate::dialect::text::words::{Script, is_program};
use crate::dialect::text::{python, toml, yaml};
use crate::dialect::{ImportText, SettingEntries, bare, torchtune, tuning};
use shardscope_core::run::Value;

/// Programs that take a file of settings behind the name of a task.
const PROGRAMS: [&str; 9] =
    ["swift", "megatron", "llamafactory-cli", "lmf", "axolotl", "trl", "tune", "automodel", "nemo"];
const TASKS: [&str; 12] =
    ["train", "sft", "pt", "rlhf", "dpo", "grpo", "kto", "reward", "rloo", "run", "finetune", "pretrain"];
/// Options of a program that name its file; those of launchers stand before the program.
const OPTIONS: [&str; 7] = ["config", "config_file", "config_path", "job.config_file", "yaml_cfg", "cfg", "c"];

/// A file of settings that a command names.
pub(crate) struct ConfigFile {
    pub name: String,
    /// Its text, where it is at hand.
    pub text: Option<String>,
    /// Where the program stands among the words, and where the words behind its file begin.
    program: usize,
    behind: usize,
    /// First of the words that name it.
    at: usize,
    /// True of ms-swift, which puts the file's settings in the place of its name.
    pub in_place: bool,
}

fn has_end(name: &str, ends: &[&str]) -> bool {
    name.rsplit_once('.').is_some_and(|(_, end)| ends.contains(&end))
}

/// The file that the command of `source` names, where that is a script.
pub(crate) fn of(source: &ImportText) -> Option<ConfigFile> {
    let text = source.text;
    let is_file = || yaml::entries(text).is_ok_and(|entries| entries.iter().any(|(name, _)| !name.is_empty()));
    if text.trim_start().starts_with('{') || python::is_file(text) || is_file() {
        return None;
    }
    let words = &source.script().words;
    let mut program: Option<(usize, &str)> = None;
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |before| words[before].as_str());
        if word.is_empty() {
            program = None;
            continue;
        }
        let task = PROGRAMS.contains(&program_name(before)) && TASKS.contains(&word.as_str());
        if task || is_program(word) || before == "-m" || before == "--module" {
            program = Some((at, if task { program_name(before) } else { "" }));
            continue;
        }
        let Some((place, of)) = program else { continue };
        let found = |name: &str, behind: usize| {
            let name = name.trim_matches(['"', '\'']).to_owned();
            let text = file_named(source, &name);
            let in_place = ["swift", "megatron"].contains(&of) && at == place + 1;
            ConfigFile { name, text, program: place, behind, at, in_place }
        };
        // What stands right behind the program is its file.
        if at == place + 1 && has_end(word, if of.is_empty() { &["yaml", "yml"] } else { &["yaml", "yml", "json"] }) {
            return Some(found(word, at + 1));
        }
        let (option, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        if !option.starts_with('-') || !OPTIONS.contains(&&*bare(option)) {
            continue;
        }
        let is_file = |name: &&str| has_end(name, &["yaml", "yml", "json", "toml"]);
        match (value, words.get(at + 1).map(String::as_str)) {
            (Some(value), _) if is_file(&value) => return Some(found(value, at + 1)),
            (None, Some(value)) if is_file(&value) => return Some(found(value, at + 2)),
            _ => {}
        }
    }
    None
}

/// A command of the arguments that a file of YAML holds, as Megatron-LM's tests and benchmarks have them: `MODEL_ARGS`
/// with `--name: value`, and variables in `ENV_VARS`. Source: NVIDIA/Megatron-LM d98e8a6
/// `tests/functional_tests/shell_test_utils/_run_training.sh:140`.
pub(crate) fn as_command(text: &str) -> Option<String> {
    if !text.contains("--") {
        return None;
    }
    let entries = yaml::entries(text).ok()?;
    let inside = |value: &str| {
        let mut out = String::new();
        for c in value.chars() {
            if matches!(c, '"' | '`' | '\\') {
                out.push('\\');
            }
            out.push(c);
        }
        format!("\"{}\"", out.replace("$(", "\\$("))
    };
    let shown = |value: &Value| match value {
        Value::Text(text) => inside(text),
        Value::List(items) => items.iter().map(|item| inside(&yaml::flow(item))).collect::<Vec<_>>().join(" "),
        value => inside(&yaml::flow(value)),
    };
    let (mut variables, mut command, mut count) = (String::new(), "torchrun pretrain_gpt.py".to_owned(), 0);
    for (name, value) in &entries {
        if let Some(name) = name.strip_prefix("ENV_VARS.") {
            variables.extend(["export ", name, "=", &shown(value), "\n"]);
        }
        // Further runs of a test stand behind the first.
        let Some((section, argument)) = name.rsplit_once(".--") else { continue };
        if section.contains('.') || section.ends_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        count += 1;
        match value {
            Value::Bool(false) | Value::Null => {}
            Value::Bool(true) => command.extend([" --", argument]),
            value => command.extend([" --", argument, " ", &shown(value)]),
        }
    }
    (count > 2).then(|| format!("{variables}{command}\n"))
}

impl ConfigFile {
    /// The file with the command's own settings over it, as one text; none where it is not at hand. `launched` is true
    /// of programs whose GPUs the launcher says.
    pub fn joined(&self, source: &ImportText, launched: fn(&str) -> bool) -> Option<String> {
        let file = self.text.as_ref()?;
        let script = source.script();
        let own = script.words[self.program + 1..self.at].iter().chain(&script.words[self.behind..]);
        let own: Vec<String> = own.take_while(|word| !word.is_empty()).cloned().collect();
        if has_end(&self.name, &["toml"]) {
            return toml_with(file, script, &own);
        }
        let mut more: SettingEntries = Vec::new();
        if launched(file) {
            take_launch(script, &mut more);
            let trainer = tuning::objective::trainer(&script.words.join(" "))
                .or_else(|| tuning::objective::named_in(&script.words));
            more.extend(trainer.map(|name| ("trainer".to_owned(), Value::from(name))));
        }
        if script.words[self.program..self.at].iter().any(|word| torchtune::is_for_one_device(word)) {
            more.push(("gpus".to_owned(), Value::from(1)));
        }
        // The launcher's own file stands before the program.
        let launcher = Script::of_words(script.words[..self.program].to_vec());
        let of_launcher = launcher.arguments().into_iter().filter(|(name, _)| bare(name) == "config_file");
        more.extend(of_launcher.map(|(name, value)| (bare(&name), value)));
        let (pairs, arguments): (Vec<_>, Vec<_>) =
            own.into_iter().partition(|word| !word.starts_with('-') && word.contains('='));
        let arguments = Script::of_words(arguments).arguments();
        more.extend(
            arguments.into_iter().filter(|(name, _)| !is_placed(name)).map(|(name, value)| (bare(&name), value)),
        );
        for pair in &pairs {
            let (name, value) = pair.split_once('=')?;
            let name = name.trim_start_matches(['+', '~']).to_owned();
            let value = yaml::read(value).unwrap_or_else(|_| Value::from(value));
            more.push((name, value));
        }
        let mut out = file.trim_end().to_owned();
        for (name, value) in more {
            out.extend(["\n", name.as_str(), ": ", yaml::flow(&value).as_str()]);
        }
        out.push('\n');
        Some(out)
    }

    /// The words of the command with the file's settings in the place of its name, and the variables that it sets; none
    /// where it is not at hand.
    pub fn spliced(&self, script: &Script) -> Option<(Script, Vec<(String, String)>)> {
        let Ok(Value::Map(entries)) = yaml::read(self.text.as_ref()?) else { return None };
        let (mut words, mut variables) = (script.words[..self.at].to_vec(), Vec::new());
        let shown = |value: &Value| match value {
            Value::Text(text) => text.clone(),
            Value::Null => "None".to_owned(),
            other => yaml::flow(other),
        };
        for (name, value) in &entries {
            match value {
                Value::Map(set) if name == "ENV" => {
                    variables.extend(set.iter().map(|(name, value)| (name.clone(), shown(value))));
                }
                Value::List(items) => {
                    words.push(format!("--{name}"));
                    words.extend(items.iter().map(&shown));
                }
                value => words.extend([format!("--{name}"), shown(value)]),
            }
        }
        words.extend_from_slice(&script.words[self.behind..]);
        Some((Script::of_words(words), variables))
    }
}

/// torchtitan's file as arguments of a command, with the GPUs of its launcher.
fn toml_with(file: &str, script: &Script, own: &[String]) -> Option<String> {
    let launch = Launch::of(script);
    let mut out = String::new();
    let known = [("NNODES", launch.nodes), ("NGPU", launch.per_node())];
    for (name, count) in known.into_iter().filter_map(|(name, count)| Some((name, count?))) {
        out.extend([name, "=", &count.to_string(), " "]);
    }
    out.push_str("./run_train.sh");
    for (name, value) in toml::read(file).ok()? {
        let value = match &value {
            Value::Text(text) => text.clone(),
            value => yaml::flow(value),
        };
        out.extend([" ", &quoted_word(&format!("--{name}={value}"))]);
    }
    for word in own {
        out.extend([" ", &quoted_word(word)]);
    }
    out.push('\n');
    Some(out)
}
