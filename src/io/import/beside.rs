//! Files that belong together: a launch script, and the program or the settings that its command names.

use super::sniff::{InputKind, sniff};
use crate::dialect::python_trainer::starts_python;
use crate::dialect::text::launch::Launch;
use crate::dialect::text::shell::{SHELLS, program_name, quoted_word};
use crate::dialect::text::words::Script;
use crate::dialect::text::{python, yaml};
use crate::dialect::{Given, ImportText, file_named, trl};

/// What a file is, before its content is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    Object,
    Python,
    /// YAML of a launcher: Accelerate's own settings.
    Launcher,
    Yaml,
    Script,
}

fn kind(text: &str) -> FileKind {
    let is_settings = || yaml::entries(text).is_ok_and(|entries| entries.iter().any(|(name, _)| !name.is_empty()));
    if text.trim_start().starts_with('{') {
        FileKind::Object
    } else if python::is_program(text) {
        FileKind::Python
    } else if is_settings() {
        let of_launcher = text.lines().any(|line| line.starts_with("distributed_type:"));
        if of_launcher { FileKind::Launcher } else { FileKind::Yaml }
    } else {
        FileKind::Script
    }
}

/// The names of files in a text that have one of these ends, each with the word before it.
fn names<'t>(text: &'t str, ends: &[&str]) -> Vec<(&'t str, &'t str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let words: Vec<&str> = text.split(|c: char| !is_part(c)).filter(|word| !word.is_empty()).collect();
    let is_file = |word: &str| word.rsplit_once('.').is_some_and(|(name, end)| !name.is_empty() && ends.contains(&end));
    let before = |at: usize| at.checked_sub(1).map_or("", |at| words[at]);
    (0..words.len()).filter(|at| is_file(words[*at])).map(|at| (before(at), words[at])).collect()
}

/// The file of `parts` that names the others, and those as files of a request: a script over a program and settings, a
/// program over settings, settings over the file of DeepSpeed that they name. None where a part is named by no other:
/// such files stand over each other.
pub(super) fn of_parts<'t>(parts: &[&'t str], given: &Given) -> Option<(&'t str, Given)> {
    let kinds: Vec<FileKind> = parts.iter().map(|part| kind(part)).collect();
    let only = |wanted: FileKind| {
        let mut all = (0..parts.len()).filter(|at| kinds[*at] == wanted);
        all.next().filter(|_| all.next().is_none())
    };
    if kinds.iter().filter(|kind| **kind == FileKind::Script).count() > 1 {
        return None;
    }
    let main = only(FileKind::Script).or_else(|| only(FileKind::Python)).or_else(|| only(FileKind::Yaml))?;
    let mut given = given.clone();
    let mut taken: Vec<&str> = Vec::new();
    for (at, part) in parts.iter().enumerate().filter(|(at, _)| *at != main) {
        let is_model = || matches!(sniff(&ImportText::new(part, &Given::default())), Ok(InputKind::Model(_)));
        let ends: &[&str] = match kinds[at] {
            FileKind::Object if is_model() => return None,
            FileKind::Object => &["json"],
            FileKind::Python => &["py"],
            FileKind::Launcher | FileKind::Yaml => &["yaml", "yml"],
            FileKind::Script => return None,
        };
        let of_launcher = |before: &str| before.trim_start_matches('-').replace('-', "_") == "config_file";
        let fits = |(before, _): &(&str, &str)| match kinds[at] {
            FileKind::Launcher => of_launcher(before),
            FileKind::Yaml => !of_launcher(before) || only(FileKind::Launcher).is_none(),
            _ => true,
        };
        let others = (0..parts.len()).filter(|other| *other != at);
        let mut found = others.flat_map(|other| names(parts[other], ends)).filter(fits).map(|(_, name)| name);
        let name = found.find(|name| !taken.contains(name))?;
        taken.push(name);
        given.files.push((name.to_owned(), (*part).to_owned()));
    }
    Some((parts[main], given))
}

/// The program of Python that the command of a script starts, by its name.
pub(super) fn started<'t>(source: &'t ImportText) -> Option<&'t String> {
    let is_python = |word: &&String| {
        let is_file = word.rsplit_once('.').is_some_and(|(name, end)| !name.is_empty() && end == "py");
        is_file && !word.starts_with('-') && !word.contains('=')
    };
    if kind(source.text) != FileKind::Script {
        return None;
    }
    let words = &source.script().words;
    words[words.iter().position(|word| program_name(word) == "srun" || starts_python(word))?..].iter().find(is_python)
}

/// True of a script whose command has `launcher` among its words.
pub(super) fn starts_by(script: &Script, launcher: &str) -> bool {
    script.words.iter().any(|word| program_name(word) == launcher)
}

/// The script of a shell that the command of a script runs: `bash submit.sh`.
pub(super) fn script_run(script: &Script) -> Option<&String> {
    let is_script = |name: &str| name.rsplit('.').next() == Some("sh") && !is_setup(name);
    let runs = |pair: &&[String]| SHELLS.contains(&program_name(&pair[0])) && is_script(&pair[1]);
    script.words.windows(2).find(runs).map(|pair| &pair[1])
}

/// True of a file of a shell's own setup, which holds no settings of a training.
pub(super) fn is_setup(name: &str) -> bool {
    const SETUP: [&str; 6] = ["bashrc", "activate", "conda", "profile", "venv", "modules"];
    SETUP.iter().any(|part| name.to_ascii_lowercase().contains(part))
}

/// A word of a command that may choose a file of settings in a group of Hydra's, with the file where it is known.
pub(super) struct Group<'s> {
    pub word: &'s str,
    pub file: Option<String>,
}

/// The group `training` of a command that starts `program`: `training=llama/llama2_70b`, in NVIDIA's launcher of NeMo
/// the file `conf/training/llama/llama2_70b.yaml`. Other programs keep it elsewhere. Source:
/// NVIDIA/NeMo-Framework-Launcher 26e42fa `launcher_scripts/conf/config.yaml` (`training`).
pub(super) fn group_of_hydra<'s>(script: &'s Script, program: &str) -> Option<Group<'s>> {
    let (word, choice) = script.words.iter().find_map(|word| {
        let choice = word.strip_prefix("training=")?;
        let is_path = choice.split('/').count() == 2 && !choice.starts_with('/') && !choice.contains(['.', '$', ' ']);
        is_path.then_some((word, choice))
    })?;
    let of_nemo = program.ends_with("launcher_scripts/main.py");
    Some(Group { word, file: of_nemo.then(|| format!("conf/training/{choice}.yaml")) })
}

/// The program of Python that the command of a script starts, where it is given and calls what is read: its name, and
/// its text behind the command.
pub(super) fn program_of(source: &ImportText) -> Option<(String, String)> {
    if source.given().files.is_empty() {
        return None;
    }
    let script = source.script();
    let name = started(source)?;
    let text = file_named(source, name).filter(|text| python::is_program(text))?;
    // Launchers read the nodes of a job too: those stand before the command.
    let launch = Launch::of(script);
    let gpus = launch.gpus();
    let nodes = launch.nodes.or(gpus.map(|_| 1));
    let each = gpus.zip(nodes).map(|(gpus, nodes)| gpus / nodes.max(1));
    let set = [("NNODES", nodes), ("NPROC_PER_NODE", each)];
    let set = set.into_iter().filter_map(|(name, count)| Some(format!("{name}={}", count?)));
    // The command stands in one line.
    let quoted = |word: &String| quoted_word(&word.replace(['\n', '\r'], " "));
    // The command alone, from its launcher up to where the next command begins.
    let place = script.words.iter().position(|word| word == name)?;
    let launcher = script.words[..place].iter().position(|word| starts_python(word));
    let words = script.words[launcher.unwrap_or(place)..].iter().take_while(|word| !word.is_empty()).map(quoted);
    let python = launcher.is_none().then(|| "python".to_owned());
    let command = set.chain(python).chain(words).collect::<Vec<_>>().join(" ");
    let whole = format!("# {command}\n{text}");
    let kind = sniff(&ImportText::new(&whole, &Given::default()));
    let is_read = matches!(kind, Ok(InputKind::Dialect(dialect)) if dialect.id == trl::DIALECT.id);
    is_read.then(|| (name.clone(), whole))
}
