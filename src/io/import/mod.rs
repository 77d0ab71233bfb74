//! Settings of other programs, and our own, as a Run: recognised by their content, with what was used, what
//! was assumed and what was ignored.
//!
//! An export of ours names its link in a comment. If the text is still what the Run of that link is exported as, it is
//! read as that Run; if it was edited, its settings are read over that Run. So an export comes back whole even in the
//! form of a program that cannot say everything.

mod beside;
mod foreign;
mod gpu;
mod notebook;
mod program;
mod sniff;
pub mod summary;
mod unread;

use super::config;
use super::dialect::config_file::{self, ConfigFile};
use super::dialect::programs::{Settings, extended, merge};
use super::dialect::settings::tables;
use super::dialect::{
    BESIDE_A_SCRIPT, Branch, Dialect, Given, ImportText, SettingEntries, bare, entries_of, file_named, is_off,
    launcher, megatron, peft, preset_named, python_trainer, torchtitan, trl,
};
use super::{json, link};
use crate::dialect::rows::reader::{Left, ModelBy, SettingsReader};
use crate::dialect::text::words::Script;
use crate::dialect::text::{python, toml, yaml};
use beside::Group;
use gpu::{gpu_of_text, gpus_of_comments};
use notebook::Notebook;
use serde::Serialize;
use shardscope_core::issue::Issue;
use shardscope_core::message::{Message, verbatim};
use shardscope_core::run::presets::{self, Trainer};
use shardscope_core::run::registry::out_of_range;
use shardscope_core::run::{Allocator, OneOf, Run, Scenario, Value};
use shardscope_core::t;
use shardscope_core::units::show_count;
use sniff::{InputKind, sniff};
use std::collections::BTreeSet;
use unread::{Account, account, place};
pub use unread::{Unread, UnreadKind};

/// Longer texts are not read; the longest settings known have some 10 kB.
const MAX_LENGTH: usize = 400_000;
/// Texts that nest deeper are not read: readers recurse at each level.
const MAX_DEPTH: usize = 64;

/// Depth to which brackets are nested, in JSON those outside of strings: what a shell quotes it still expands.
fn depth(text: &str) -> usize {
    json::depth(text, text.trim_start().starts_with('{'))
}

#[derive(Clone, Debug, PartialEq)]
pub struct Meaning {
    /// Name of the recognised format: "Megatron-LM's arguments".
    pub format: Message,
    /// The Run; what the text says nothing of is as it was.
    pub run: Run,
    /// Entry and what it says.
    pub used: Vec<(String, Message)>,
    /// Values that the text leaves out, with those taken instead.
    pub assumed: Vec<Message>,
    /// Entries without effect, each with why.
    pub ignored: Vec<Message>,
    /// Entries that may matter and are not read, what could change most first.
    pub unread: Vec<Unread>,
    /// Conditions of the text, and the way that each was taken.
    pub branches: Vec<Branch>,
    pub model: ModelRead,
    /// False of a file that states no layout: a model's config.json, adapters.
    pub states_layout: bool,
}

impl Meaning {
    /// Fields that an entry names where its value may be what the software does anyway, so that no field tells of it:
    /// the attention kernel, and compilation.
    pub(crate) fn stated_kernels(&self) -> Vec<String> {
        let is_of = |name: &str, words: &[&str]| words.iter().any(|word| name.contains(word));
        let states = |is_kernel: &dyn Fn(&str) -> bool| {
            self.used.iter().any(|(name, what)| {
                let name = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase().replace('-', "_");
                is_kernel(&name) && !what.to_string().ends_with("auto")
            })
        };
        let kinds = ["impl", "backend", "flash", "sdp", "xformers", "eager"];
        let is_attention = |name: &str| is_of(name, &["attn", "attention"]) && is_of(name, &kinds);
        let attention = states(&is_attention).then(|| "stack.attention".to_owned());
        let compile = states(&|name| is_of(name, &["compile"])).then(|| "stack.compile".to_owned());
        attention.into_iter().chain(compile).collect()
    }
}

/// The model of an import, and by what it is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ModelRead {
    /// A preset, or the name of one with other sizes; empty where it has none.
    pub id: String,
    pub by: ModelBy,
    /// False where the text leaves it open: it should be asked.
    pub sure: bool,
}

impl ModelRead {
    fn of(run: &Run, (by, sure): (ModelBy, bool)) -> Self {
        let preset = run.model.as_published().or(run.model.base).map(str::to_owned);
        Self { id: preset.or_else(|| run.model.parts.name.clone()).unwrap_or_default(), by, sure }
    }
}

/// Reads any text that says a Run or a part of one; `present` is what the rest is taken from.
///
/// # Errors
/// Why it cannot be read, by line or entry where there is one.
pub fn read(text: &str, present: &Run) -> Result<Meaning, Vec<Issue>> {
    read_given(text, present, &Given::default())
}

/// True if the format of `text`, or of a file in it, is one that [`read`] knows, whether or not it can be read.
pub(crate) fn is_known(text: &str) -> bool {
    let given = Given::default();
    if let Some(notebook) = notebook::notebook(text).filter(|_| text.len() <= MAX_LENGTH && depth(text) <= MAX_DEPTH) {
        return of_notebook(notebook, &Run::default(), &given).is_ok();
    }
    let knows = |file: &&str| {
        let command = config_file::as_command(file);
        sniff(&ImportText::new(command.as_deref().unwrap_or(file), &given)).is_ok()
    };
    let files = files(text);
    text.len() <= MAX_LENGTH && files.iter().all(|file| depth(file) <= MAX_DEPTH) && files.iter().any(knows)
}

/// As [`read`], with what a request says beside the text: values of its variables, the other way of its conditions,
/// files that it names.
///
/// # Errors
/// As [`read`]; and a name that `given` sets and the text has not.
pub fn read_given(text: &str, present: &Run, given: &Given) -> Result<Meaning, Vec<Issue>> {
    read_as(text, present, given).or_else(|issues| behind_a_condition(text, present, given).ok_or(issues))
}

/// A script of which nothing trains where its open conditions do not hold, `[ "$NODE_RANK" -eq 0 ]` in front of the
/// command of the first node: read as if the first of them held behind which something does.
fn behind_a_condition(text: &str, present: &Run, given: &Given) -> Option<Meaning> {
    const MOST: usize = 6;
    // A launch script of a person is far shorter; each reading takes time.
    const LONGEST: usize = 65_536;
    if text.len() > LONGEST || depth(text) > MAX_DEPTH || python::is_program(text) {
        return None;
    }
    let source = ImportText::new(text, given);
    let open = source.script().branches.iter().filter(|branch| !branch.decided && !branch.taken);
    open.take(MOST).find_map(|branch| {
        let mut told = given.clone();
        told.set.push((branch.condition.clone(), "true".to_owned()));
        let mut read = read_as(text, present, &told).ok()?;
        for known in read.branches.iter_mut().filter(|known| known.condition == branch.condition) {
            known.decided = false;
        }
        let condition = branch.condition.clone();
        read.assumed.push(t!("{condition} is taken to hold: elsewhere this text starts no training", condition));
        Some(read)
    })
}

/// Reads a notebook: the training that its shell starts, else that of its Python.
fn of_notebook(notebook: Notebook, present: &Run, given: &Given) -> Result<Meaning, Vec<Issue>> {
    let mut given = given.clone();
    given.files.extend(notebook.files);
    let of_cells = Given { is_notebook: true, ..given.clone() };
    let mut read = read_as(&notebook.script, present, &given)
        .or_else(|of_script| read_as(&notebook.python, present, &of_cells).map_err(|issues| (of_script, issues)))
        .map_err(|(of_script, of_python)| {
            // Commands that only install say nothing of a training.
            let starts = python_trainer::command_in(&notebook.script).is_some();
            if starts { of_script } else { of_python }
        })?;
    read.assumed.push(t!("a notebook: its cells are read in their order"));
    Ok(read)
}

fn read_as(text: &str, present: &Run, given: &Given) -> Result<Meaning, Vec<Issue>> {
    if let Some(notebook) = notebook::notebook(text).filter(|_| text.len() <= MAX_LENGTH && depth(text) <= MAX_DEPTH) {
        return of_notebook(notebook, present, given).map(|read| placed(read, text));
    }
    let files = files(text);
    let beside: usize = given.files.iter().map(|(_, text)| text.len()).sum();
    if text.len().saturating_add(beside) > MAX_LENGTH || files.iter().any(|file| depth(file) > MAX_DEPTH) {
        return Err(vec![too_long()]);
    }
    if files.len() > 1 {
        if let Some((main, given)) = beside::of_parts(&files, given) {
            return read_as(main, present, &given).map(|read| placed(read, text));
        }
        return together(&files, present).map(|read| placed(read, text));
    }
    let below = below(text, given, 0);
    if !below.is_empty() {
        let files: Vec<&str> = below.iter().map(String::as_str).chain([text]).collect();
        if files.iter().map(|file| file.len()).sum::<usize>() > MAX_LENGTH {
            return Err(vec![too_long()]);
        }
        return together(&files, present).map(|read| placed(read, text));
    }
    // Arguments in a file of YAML are those of a command.
    let command = config_file::as_command(text);
    let source = ImportText::new(command.as_deref().unwrap_or(text), given);
    // A program of Python is no script that names one.
    let is_python = python::is_program(source.text);
    let file = if is_python { None } else { config_file::of(&source) };
    let program = if is_python { None } else { beside::program_of(&source) };
    let mut read = match file.as_ref().filter(|file| !file.in_place).and_then(|file| file.joined(&source, is_launched))
    {
        Some(whole) if whole.len() > MAX_LENGTH || depth(&whole) > MAX_DEPTH => return Err(vec![too_long()]),
        Some(whole) => with_file(&whole, &source, present)?,
        None if program.is_some() => with_program(program.unwrap_or_default(), &source, present)?,
        None => {
            let kind = sniff(&source).map_err(|issue| {
                let ended = || if is_python { None } else { at_limit(&source) };
                vec![ended().or_else(|| in_file(file.as_ref(), &source)).unwrap_or(issue)]
            })?;
            let is_script = is_script(&kind, &source);
            let mut read = of_kind(kind, &source, &source, present)?;
            if is_script {
                of_script(&mut read, source.script())?;
            }
            read
        }
    };
    if let Some(file) = file {
        if file.text.is_some() {
            read.used.push((file.name, t!("the settings of this file")));
        } else {
            let why = t!("the file is not here: what it sets is not known");
            read.unread.insert(0, Unread::missing(&file.name, None, why));
        }
    }
    let met_by_script = |name: &String| !is_python && source.script().met.contains(name);
    let unknown = not_met(given, &read, met_by_script);
    if unknown.is_empty() { Ok(placed(read, text)) } else { Err(unknown) }
}

/// A command with the program that it starts, whose settings are read with its own.
fn with_program((name, whole): (String, String), source: &ImportText, present: &Run) -> Result<Meaning, Vec<Issue>> {
    if whole.len() > MAX_LENGTH {
        return Err(vec![too_long()]);
    }
    let mut read = with_file(&whole, source, present)?;
    read.used.push((name, t!("the settings of this file")));
    Ok(read)
}

/// An error for each given variable and condition that neither a branch of `read` nor the script has.
fn not_met(given: &Given, read: &Meaning, met_by_script: impl Fn(&String) -> bool) -> Vec<Issue> {
    let is_branch = |name: &String| read.branches.iter().any(|branch| branch.condition == *name);
    let names = given.set.iter().map(|(name, _)| name).filter(|name| !is_branch(name) && !met_by_script(name));
    let message = || t!("the text has no such variable and no such condition");
    names.map(|name| Issue::error(format!("set.{name}"), message())).collect()
}

/// The files of a request that a file of YAML stands over by its "defaults" or "extends", the lowest first.
fn below(text: &str, given: &Given, depth: usize) -> Vec<String> {
    const MAX_FILES: usize = 16;
    if given.files.is_empty() || depth > MAX_FILES {
        return Vec::new();
    }
    let Ok(entries) = yaml::entries(text) else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    for name in extended(&entries).into_iter().chain(of_modules(&entries)) {
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().trim_end_matches(".yaml").to_owned();
        let file = given.files.iter().find(|(known, _)| last(known) == last(name));
        if let Some((_, file)) = file.filter(|(_, file)| file != text && found.len() < MAX_FILES) {
            found.extend(below(file, given, depth + 1 + found.len()));
            found.push(file.clone());
        }
    }
    found
}

/// The files of a model and of a trainer that a file of Primus names for its modules. Source: AMD-AGI/Primus fd1eeab
/// `primus/core/launcher/parser.py` (`parse_trainer_module`).
fn of_modules(entries: &SettingEntries) -> Vec<&str> {
    let is_file = |name: &str| {
        let mut parts = name.split('.');
        parts.next() == Some("modules")
            && parts.next().is_some()
            && matches!(parts.next(), Some("config" | "model"))
            && parts.next().is_none()
    };
    entries.iter().filter(|(name, _)| is_file(name)).filter_map(|(_, value)| value.text()).collect()
}

/// The settings of a file of Primus that name the file of a model, with that file.
fn models_of_modules(settings: &Settings) -> SettingEntries {
    let names_model = |name: &str| name.split('.').count() == 3 && name.rsplit('.').next() == Some("model");
    let of_module = |name: &str| name.starts_with("modules.") && names_model(name);
    settings.entries.iter().filter(|(name, value)| of_module(name) && value.text().is_some()).cloned().collect()
}

/// Says which of these files of models is missing, or that it is read: `is_alone` is true of a file beside which none
/// was given.
fn say_models(read: &mut Meaning, models: SettingEntries, is_alone: bool) {
    let is_known = read.model.by != ModelBy::Page;
    for (name, file) in models {
        let file = file.text().unwrap_or_default().to_owned();
        if !is_known && is_alone {
            let why = t!("the file is not here: what it sets is not known");
            read.unread.retain(|one| one.name != name);
            read.unread.insert(0, Unread::missing(&file, None, why));
        } else if is_known && !is_alone && read.unread.iter().any(|one| one.name == name) {
            read.unread.retain(|one| one.name != name);
            read.used.push((file, t!("the settings of this file")));
        }
    }
}

fn too_long() -> Issue {
    Issue::error("", "longer than 400 kB or nested too deep for what is read here: it was not read")
}

/// The issue of a script whose settings are in a file that is not here: the file that its command names, the script
/// that it runs, or one that it sources at its beginning; else the program that it starts.
fn in_file(file: Option<&ConfigFile>, source: &ImportText) -> Option<Issue> {
    // An object is told as one, whatever a dot in a broken one would name in a script.
    if source.text.trim().starts_with('{') || foreign::foreign(source.text, None).is_some() {
        return None;
    }
    let script = source.script();
    let named = file.filter(|file| file.text.is_none()).map(|file| &file.name);
    let is_absent = |name: &&String| file_named(source, name).is_none();
    let run = || beside::script_run(script).filter(is_absent);
    let sourced = || script.missing.iter().map(|file| &file.name).find(|name| !beside::is_setup(name));
    if let Some(file) = named.or_else(run).or_else(sourced) {
        let file = file.clone();
        return Some(Issue::error("", t!("the settings are in {file}, which is not here: give it in files", file)));
    }
    let file = beside::started(source)?.clone();
    let message = match (file_named(source, &file), beside::group_of_hydra(script, &file)) {
        // A launcher of NeMo reads a whole file of settings by its name.
        (None, Some(Group { file: Some(settings), .. })) => {
            t!("the settings are in {settings}, which {file} reads: import that file", settings, file)
        }
        (None, Some(Group { word, file: None })) => t!(
            "{word} may choose a file of settings, which {file} reads and which is not here: import that file",
            word = word.to_owned(),
            file
        ),
        (None, None) => t!(
            "the command starts {file}, which decides what its settings mean and is not here: give it in files",
            file
        ),
        (Some(text), _) if python::is_program(&text) => t!(
            "{file} is given, but it calls nothing that can be read; of Python these can: {programs}",
            file,
            programs = sniff::of_python_read()
        ),
        (Some(_), _) => return None,
    };
    Some(Issue::error("", message))
}

/// The issue of a script that is not run to its end, where its commands may stand behind that.
fn at_limit(source: &ImportText) -> Option<Issue> {
    let fault = source.script().fault.as_ref().filter(|fault| fault.is_limit)?;
    Some(Issue::error("", t!("a script that is not run to its end: {what}", what = fault.what.clone())))
}

/// True of a file of fine-tuning, which leaves the GPUs to the launcher.
fn is_launched(file: &str) -> bool {
    matches!(sniff(&ImportText::new(file, &Given::default())), Ok(InputKind::Dialect(_)))
}

/// Reads `whole`, a file of settings joined with those of the command that names it, and says what its script leaves
/// open.
fn with_file(whole: &str, source: &ImportText, present: &Run) -> Result<Meaning, Vec<Issue>> {
    let inner = ImportText::new(whole, source.given());
    let kind = sniff(&inner).map_err(|issue| vec![issue])?;
    let mut read = of_kind(kind, &inner, source, present)?;
    allocator(&mut read, source.text);
    of_script(&mut read, source.script())?;
    Ok(read)
}

/// True if the settings are those of a script.
fn is_script(kind: &InputKind, source: &ImportText) -> bool {
    let text = source.text;
    match kind {
        InputKind::Program(_, settings) => settings.script,
        InputKind::Dialect(dialect) if text.trim_start().starts_with('{') || dialect.id == "deepspeed" => false,
        InputKind::Dialect(_) if python::is_program(text) => false,
        InputKind::Dialect(dialect) => match dialect.id {
            "megatron" => true,
            "torchtitan" => !torchtitan::is_python(text) && !torchtitan::is_file(&toml::read(text)),
            _ => source.script().arguments().iter().any(|(name, _)| dialect.keys.contains(&&*bare(name))),
        },
        _ => false,
    }
}

/// Adds what a script says beside its settings: its branches, and what it leaves open.
///
/// # Errors
/// The first line that no shell would read.
fn of_script(read: &mut Meaning, script: &Script) -> Result<(), Vec<Issue>> {
    if let Some(fault) = &script.fault {
        let message = t!("line {line}: {what}", line = fault.line, what = fault.what.clone());
        return Err(vec![Issue::error("", message)]);
    }
    read.branches.splice(0..0, script.branches.iter().cloned());
    let missing = script.missing.iter().map(|file| {
        let why = t!("the file is not here: what it sets is not known");
        Unread::missing(&file.name, Some(file.line), why)
    });
    let extras = script.extras().into_iter().map(Unread::extra);
    let first: Vec<Unread> = missing.chain(extras).collect();
    read.unread.splice(0..0, first);
    Ok(())
}

/// Says where in `text` what is not read stands.
fn placed(mut read: Meaning, text: &str) -> Meaning {
    place(&mut read.unread, text);
    read
}

/// The files of a text: those of several stand apart by lines of three dashes.
fn files(text: &str) -> Vec<&str> {
    let (mut files, mut start, mut at) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "---" {
            files.push(&text[start..at]);
            start = at + line.len();
        }
        at += line.len();
    }
    files.push(&text[start..]);
    let says = |file: &&str| {
        let mut lines = file.lines().map(str::trim);
        lines.any(|line| !line.is_empty() && !line.starts_with('#') && line != "...")
    };
    if files.iter().filter(|file| says(file)).count() > 1 {
        files.retain(says);
    } else {
        files = vec![text];
    }
    files
}

/// Reads several files as one: each model's config.json, then the settings, where each file stands over those before
/// it.
fn together(files: &[&str], present: &Run) -> Result<Meaning, Vec<Issue>> {
    let mut meaning: Option<Meaning> = None;
    let mut config = None;
    let mut rest = Vec::new();
    for file in files {
        let is_object = file.trim_start().starts_with('{');
        match is_object.then(|| sniff(&ImportText::new(file, &Given::default()))) {
            Some(Ok(InputKind::Model(object))) => {
                meaning = Some(from_model(&object, meaning.as_ref().map_or(present, |read| &read.run))?);
                config = Some(object);
            }
            _ => rest.push(*file),
        }
    }
    let now = meaning.as_ref().map_or(present, |read| &read.run);
    let text = rest.join("\n");
    let kind = match merge(&rest) {
        Some((program, settings)) => InputKind::Program(program, settings),
        None if rest.is_empty() => return meaning.ok_or_else(|| vec![Issue::error("", t!("no file is there"))]),
        None => sniff(&ImportText::new(&text, &Given::default())).map_err(|issue| vec![issue])?,
    };
    let source = ImportText::new(&text, &Given::default());
    let mut read = of_kind(kind, &source, &source, now)?;
    if let Some(model) = meaning {
        read.used.splice(0..0, model.used);
        read.assumed.splice(0..0, model.assumed);
        read.ignored.splice(0..0, model.ignored);
        read.unread.extend(model.unread);
        if read.model.by == ModelBy::Page {
            read.model = model.model;
            read.assumed.extend(config.and_then(|object| beyond_positions(&object, &read.run)));
        }
    }
    Ok(read)
}

/// Reads settings; `launch` is the text that starts their program: `source`, or a script that names it.
fn of_kind(kind: InputKind, source: &ImportText, launch: &ImportText, present: &Run) -> Result<Meaning, Vec<Issue>> {
    let mut read = match kind {
        InputKind::Link(address) => Ok(from_link(&address)),
        InputKind::Run(object) => from_object(&object, t!("a run as JSON")),
        InputKind::Export(object) => from_object(object.get("run").unwrap_or(&Value::Null), t!("an export as JSON")),
        InputKind::Model(object) => from_model(&object, present).map(|mut read| {
            read.assumed.extend(beyond_positions(&object, &read.run));
            read
        }),
        InputKind::Program(program, settings) => {
            let (reader, direct, stack) = program::begin(program, &settings, present, source.given(), launch.text);
            let format = t!("settings of {dialect}", dialect = program.name);
            let models = models_of_modules(&settings);
            let mut read = finish(program.base, &[program.name, program.base.id], reader, format, Some(stack))?;
            direct.take(&mut read.run, &mut read.used, &mut read.assumed)?;
            read.assumed.extend(program::adapters_of_experts(program, &read.run));
            say_models(&mut read, models, settings.files == 1);
            // What several settings say together was left by the base's reader.
            let used: BTreeSet<&String> = read.used.iter().map(|(name, _)| name).collect();
            read.unread.retain(|one| one.kind != UnreadKind::NotModelled || !used.contains(&one.name));
            Ok(read)
        }
        InputKind::Dialect(dialect) => from_dialect(dialect, source, launch, present),
    }?;
    allocator(&mut read, source.text);
    let beyond = out_of_range(&read.run);
    if beyond.is_empty() { Ok(read) } else { Err(beyond) }
}

/// Takes PyTorch's allocator where a line of `text` that is no comment sets expandable segments.
fn allocator(read: &mut Meaning, text: &str) {
    const VARIABLES: [&str; 2] = ["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"];
    let sets = |line: &&str| {
        let line = line.trim();
        !line.starts_with('#') && line.to_ascii_lowercase().contains("expandable_segments:true")
    };
    let Some(line) = text.lines().find(sets) else { return };
    read.run.allocator = Allocator::Expandable;
    let name = VARIABLES.into_iter().find(|name| line.contains(name)).unwrap_or(VARIABLES[0]);
    read.unread.retain(|one| one.name.trim_start_matches('$') != name);
    let value = Allocator::Expandable.choice().label;
    read.used.push((format!("${name}"), t!("{what} {value}", what = "Allocator", value)));
}

/// Differences from the defaults, by key.
fn said(run: &Run) -> Vec<(String, Message)> {
    let texts = run.changed_texts().into_iter();
    texts.map(|(key, text)| (key, verbatim(text))).collect()
}

fn from_link(address: &str) -> Meaning {
    let read = link::decode(address);
    Meaning {
        format: t!("a link"),
        used: said(&read.run),
        assumed: Vec::new(),
        ignored: Vec::new(),
        unread: read.notices.into_iter().map(|notice| Unread::of_link(&notice.field, notice.message)).collect(),
        branches: Vec::new(),
        model: ModelRead::of(&read.run, (ModelBy::Id, true)),
        run: read.run,
        states_layout: true,
    }
}

fn from_object(object: &Value, format: Message) -> Result<Meaning, Vec<Issue>> {
    let run = Run::from_value(object)?;
    Ok(Meaning {
        format,
        used: said(&run),
        assumed: Vec::new(),
        ignored: Vec::new(),
        unread: Vec::new(),
        branches: Vec::new(),
        model: ModelRead::of(&run, (ModelBy::Id, true)),
        run,
        states_layout: true,
    })
}

/// Says that the sequence is longer than the positions that a config.json gives its model. Source: huggingface
/// transformers v5.2.0 `models/llama/configuration_llama.py` ("the maximum sequence length that this model might ever
/// be used with").
fn beyond_positions(object: &Value, run: &Run) -> Option<Message> {
    let positions = config::positions(object).filter(|positions| *positions < run.seq_len)?;
    Some(t!(
        "max_position_embeddings of config.json is {positions}, less than the sequence of {sequence} tokens: the model \
            takes it only with its positions extended",
        positions,
        sequence = run.seq_len
    ))
}

fn from_model(object: &Value, present: &Run) -> Result<Meaning, Vec<Issue>> {
    let read = config::read(object)?;
    let mut reader = SettingsReader::new(Vec::new(), present.clone());
    reader.model(read.parts);
    let model = &mut reader.run.model;
    if model.base.is_none()
        && let Ok(shapes) = model.resolve()
    {
        let size = show_count(shapes.elements().total() as f64);
        let kind = read.kind.trim();
        model.parts.name = Some(if kind.is_empty() { size } else { format!("{kind} · {size}") });
    }
    let mut assumed = read.assumed;
    assumed.extend(read.notes.iter().map(Message::from));
    // To transformers an entry without a value is one that is not there.
    let (none, said): (Vec<_>, Vec<_>) = read.ignored.into_iter().partition(|(_, value)| *value == Value::Null);
    let (counted, left): (Vec<_>, Vec<_>) = said.into_iter().partition(config::is_counted);
    let left = left.into_iter().map(|(text, value)| Left { text, inner: None, value: Some(value) });
    // A window is none where its own switch is off (`configuration_qwen2.py`), nor the layers that would have it.
    let without = object.get("use_sliding_window").is_some_and(is_off);
    let windows = ["sliding_window", "max_window_layers"].map(str::to_owned);
    let off = if without { &windows[..] } else { &[] };
    let Account { mut ignored, unread } = account(&tables(&["config"]), left.collect(), Vec::new(), off);
    ignored.extend(none.iter().map(|(name, _)| unread::ignored(name, "it is given no value")));
    ignored.extend(counted.iter().map(|(name, _)| unread::ignored(name, "counted so anyway")));
    Ok(Meaning {
        format: t!("a model's config.json: {kind}", kind = read.kind),
        branches: Vec::new(),
        model: ModelRead::of(&reader.run, (ModelBy::Shape, true)),
        states_layout: false,
        run: reader.run,
        used: read.used,
        assumed,
        ignored,
        unread,
    })
}

/// True of settings as an export of the Run wrote them. What a launch of Megatron-LM needs besides says nothing of a
/// Run and is filled in afterwards; its length, once it is filled in, does.
fn is_as_written(dialect: &Dialect, scenario: &Scenario, entries: &SettingEntries) -> bool {
    let written = dialect.written(scenario);
    let launch = if dialect.id == megatron::DIALECT.id { megatron::start(scenario, &written).0 } else { Vec::new() };
    let says_length = |name: &str, value: &Value| name == "--train-iters" && matches!(value, Value::Number(_));
    let of_launch = |name: &str| launch.iter().any(|(known, _)| known == name);
    let compared = entries.iter().filter(|(name, value)| !of_launch(name) || says_length(name, value));
    written.iter().eq(compared)
}

/// Settings of programs that train with Hugging Face's Trainer, DeepSpeed or PyTorch's FSDP, whichever it is.
const PEERS: [&str; 6] = ["accelerate", "axolotl", "deepspeed", "llama-factory", "peft", "trl"];

/// True if the software of `run` is launched by settings of `dialect`.
fn is_own(dialect: &Dialect, run: &Run) -> bool {
    let own = launcher(run);
    let is_peer = PEERS.contains(&own) || run.stack.preset_row().trainer == Trainer::PyTorch;
    own == dialect.id || is_peer && PEERS.contains(&dialect.id)
}

fn from_dialect(
    dialect: &Dialect,
    source: &ImportText,
    launch: &ImportText,
    present: &Run,
) -> Result<Meaning, Vec<Issue>> {
    let entries = entries_of(dialect, source).map_err(|issue| vec![issue])?;
    let exported = sniff::link_in(source.text).map(|address| link::decode(&address).run);
    let format = t!("settings of {dialect}", dialect = dialect.name);
    if let Some(run) = &exported
        && let Ok(scenario) = Scenario::new(run)
        && is_as_written(dialect, &scenario, &entries)
    {
        let what = t!("the whole run: the settings are as they were exported");
        let label = run.stack.preset_row().choice.label;
        let other = t!("software: {label}, as in the link; what these settings launch is another program", label);
        return Ok(Meaning {
            format,
            run: run.clone(),
            used: vec![("link in the comment".to_owned(), what)],
            assumed: if is_own(dialect, run) { Vec::new() } else { vec![other] },
            ignored: Vec::new(),
            unread: Vec::new(),
            branches: Vec::new(),
            model: ModelRead::of(run, (ModelBy::Id, true)),
            states_layout: true,
        });
    }
    let stack = dialect.stack(&entries);
    let mut reader = SettingsReader::new(entries, exported.clone().unwrap_or_else(|| begun(dialect, present)));
    reader.told = source.given().clone();
    reader.by_accelerate = !python::is_program(launch.text) && beside::starts_by(launch.script(), "accelerate");
    if exported.is_some() {
        reader.note("link in the comment", "what the settings do not say; they were edited since");
    } else {
        reader.commented = gpus_of_comments(&comments_of(source, launch));
        let said = gpu_of_text(&mut reader.run, launch.text, &said_by(source, launch));
        reader.assumed.push(said.unwrap_or_else(|none| none.why));
    }
    // Settings of another program than that of the link were made for it: edited, they say what it does.
    let stack = exported.as_ref().is_none_or(|run| !is_own(dialect, run)).then_some(stack);
    if dialect.id == trl::DIALECT.id && python::is_program(source.text) {
        let tables = [dialect.id, "from-pretrained", peft::DIALECT.id];
        let mut read = finish(dialect, &tables, reader, format, stack)?;
        read.assumed.extend(python_trainer::read(source).map_err(|issue| vec![issue])?.doubts);
        return Ok(read);
    }
    let mut read = finish(dialect, &[dialect.id], reader, format, stack)?;
    read.assumed.extend(source.script().doubts());
    Ok(read)
}

/// The Run that settings of `dialect` are read into. The settings of a whole program say all of its training: what
/// `present` has beside data, model and cluster is not of them.
fn begun(dialect: &Dialect, present: &Run) -> Run {
    if BESIDE_A_SCRIPT.contains(&dialect.id) { present.clone() } else { without_training(present) }
}

/// `run` without what its own program does beside the plain training of all weights, and without sizes that few
/// programs have a word for.
fn without_training(run: &Run) -> Run {
    let Run { adapter, objective, offload, phases, rl, cross_entropy, graph_scope, .. } = Run::default();
    let Run { etp, hsdp_shard, zero2_reduce, .. } = Run::default();
    let plain = Run { adapter, objective, offload, phases, rl, cross_entropy, graph_scope, ..run.clone() };
    Run { etp, hsdp_shard, zero2_reduce, ..plain }
}

/// The words that name a GPU where one is named: those of a script that run, with its comments; a file's whole text.
fn said_by(source: &ImportText, launch: &ImportText) -> String {
    if python::is_program(launch.text) {
        return launch.text.to_owned();
    }
    let script = launch.script();
    let starts = !script.arguments().is_empty() || !script.overrides().is_empty();
    let heard = if starts { script.heard(launch.text) } else { launch.text.to_owned() };
    if std::ptr::eq(source, launch) { heard } else { [heard.as_str(), source.text].join("\n") }
}

/// The comments that may say how many GPUs a text is for: those of a script without branches, whose comment may be
/// about the way that is not taken; a file's.
fn comments_of(source: &ImportText, launch: &ImportText) -> String {
    let of = |text: &ImportText| {
        let is_branched = !python::is_program(text.text) && !text.script().branches.is_empty();
        if is_branched { String::new() } else { text.text.to_owned() }
    };
    if std::ptr::eq(source, launch) { of(source) } else { [of(launch), source.text.to_owned()].join("\n") }
}

/// Reads the settings of a program that are at hand as entries, over `present`; `stack` as in [`finish`].
///
/// # Errors
/// Every entry that cannot be read.
pub(crate) fn read_entries(
    dialect: &Dialect,
    entries: SettingEntries,
    present: &Run,
    stack: Option<&'static str>,
) -> Result<Meaning, Vec<Issue>> {
    let format = t!("settings of {dialect}", dialect = dialect.name);
    let reader = SettingsReader::new(entries, present.clone());
    let read = finish(dialect, &[dialect.id], reader, format, stack)?;
    let beyond = out_of_range(&read.run);
    if beyond.is_empty() { Ok(read) } else { Err(beyond) }
}

/// Takes a host that is large enough for what leaves the GPUs: no program says what its hosts have.
fn host(reader: &mut SettingsReader) {
    const FIELD: &str = "host_memory_gib";
    let issues = Scenario::new(&reader.run).err().unwrap_or_default();
    let missing = issues.into_iter().find(|issue| issue.field == FIELD);
    let Some(fix) = missing.and_then(|issue| issue.fix) else {
        return;
    };
    let Some((_, enough)) = fix.set.iter().find(|(key, _)| *key == FIELD) else {
        return;
    };
    if let Some(run) = reader.run.with_texts(&fix.set) {
        reader.run = run;
        reader.assumed.push(t!(
            "a node's host has {enough} GiB, enough for what leaves its GPUs: the file does not say",
            enough = enough.clone()
        ));
    }
}

/// Says which published model has exactly the sizes that the text gives, where nothing names it.
fn same_shape(reader: &mut SettingsReader) {
    if reader.model_by != (ModelBy::Shape, true) {
        return;
    }
    let by_tokenizer = reader.last("--tokenizer-model").and_then(Value::text).and_then(preset_named);
    let Some(id) = reader.run.model.as_published().filter(|id| by_tokenizer != Some(id)) else { return };
    let Some(preset) = presets::model(id) else { return };
    reader.assume(t!("the model is {model}: it has the same shape", model = preset.choice.label));
}

/// Takes a list of the GPUs that a process sees, if it has as many as are counted.
fn listed(reader: &mut SettingsReader) {
    const LIST: &str = "$CUDA_VISIBLE_DEVICES";
    let listed = reader.left_values().into_iter().find(|left| left.text == LIST);
    let count = match listed.and_then(|left| left.value) {
        Some(Value::Text(text)) if text.split(',').all(|one| one.trim().parse::<u64>().is_ok()) => {
            text.split(',').count() as u64
        }
        Some(Value::Number(_)) => 1,
        Some(Value::List(items)) => items.len() as u64,
        _ => return,
    };
    let run = &reader.run;
    if count == run.gpus || Some(count) == run.gpus_per_node {
        reader.moot(LIST, "repeats what other settings say");
    }
}

/// `stack` is the software that the settings are assumed to be for; none: that of the Run which was there. `programs`
/// have the tables of the settings.
fn finish(
    dialect: &Dialect,
    programs: &[&str],
    mut reader: SettingsReader,
    format: Message,
    stack: Option<&'static str>,
) -> Result<Meaning, Vec<Issue>> {
    // First, because settings that mean what the software does anyway stay unset.
    if let Some(stack) = stack {
        reader.run.stack.base = Some(stack);
        let label = reader.run.stack.preset_row().choice.label;
        reader.assumed.push(t!("software: {label}; attention, overlap and fusion follow it", label));
    }
    reader.whole_nodes();
    (dialect.read)(&mut reader);
    if !reader.errors.is_empty() {
        return Err(reader.errors);
    }
    same_shape(&mut reader);
    host(&mut reader);
    let off = reader.switched_off();
    listed(&mut reader);
    let Account { mut ignored, mut unread } = account(&tables(programs), reader.left_values(), reader.open(), &off);
    ignored.extend(reader.moot.iter().map(|(name, reason)| unread::ignored(name, reason)));
    let absent = reader.absent.into_iter().map(|(name, why)| Unread::missing(&name, None, why));
    unread.splice(0..0, absent.collect::<Vec<_>>());
    Ok(Meaning {
        format,
        branches: reader.choices,
        model: ModelRead::of(&reader.run, reader.model_by),
        states_layout: dialect.id != peft::DIALECT.id,
        run: reader.run,
        used: reader.used,
        assumed: reader.assumed,
        ignored,
        unread,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Meaning {
        read(text, &Run::default()).unwrap_or_else(|issues| panic!("{issues:?}: {text}"))
    }

    /// torchtitan's `compile.enable` is off unless it is said (`job_config.py`).
    #[test]
    fn settings_name_the_software_that_they_are_of() {
        for (text, stack) in [
            ("--tensor-model-parallel-size 2 --use-distributed-optimizer", "megatron-2025"),
            ("--tensor-model-parallel-size 2 --cuda-graph-impl local", "megatron-2026"),
            ("--tensor-model-parallel-size 2 --use-flash-attn", "megatron-2024"),
            ("--tensor-model-parallel-size 2 --use-flash-attn --attention-backend flash", "megatron-2025"),
            ("[training]\nseq_len = 8192\n", "torchtitan-eager"),
            ("[training]\nseq_len = 8192\n[compile]\nenable = true\n", "torchtitan"),
            ("{\"zero_optimization\": {\"stage\": 2}}", "deepspeed"),
        ] {
            let read = run(text);
            assert_eq!(read.run.stack.base, Some(stack), "{text}");
            let label = read.run.stack.preset_row().choice.label;
            let says = |said: &Message| said.to_string().contains(label);
            assert!(read.assumed.iter().any(says), "{text}");
        }
    }

    #[test]
    fn every_form_of_a_link_is_read() {
        for text in [
            "https://example.org/x/#v=1&tp=4",
            "#v=1&tp=4",
            "v=1&tp=4",
            "?v=1&tp=4",
            "see <https://example.org/#v=1&tp=4> for it",
            "| [link](https://example.org/#v=1&tp=4) |",
            "{\"tp\": 4}",
            "{\"version\":\"0.1.0\",\"run\":{\"tp\":4},\"report\":{}}",
        ] {
            assert_eq!(run(text).run, Run { tp: 4, ..Run::default() }, "{text}");
        }
    }

    #[test]
    fn what_an_edit_says_is_read_over_the_link() {
        let present = Run::default();
        let mut made = Run { gpus: 128, ..Run::default() };
        made.overlap.tp = Some(0.5);
        let scenario = Scenario::new(&made).unwrap();
        for dialect in super::super::dialect::DIALECTS {
            let comment = format!("https://example.org/#{}", link::encode(&made));
            let text = (dialect.print)(&dialect.written(&scenario), &[comment]);
            assert_eq!(read(&text, &present).unwrap().run, made, "{text}");
        }
        let script = "# https://example.org/#v=1&gpus=128&overlap.tp=0.5\ntorchrun --nnodes 16 --nproc-per-node 8 \
            x.py --tensor-model-parallel-size 8 --seq-length 4096";
        let read = run(script).run;
        assert_eq!((read.tp, read.seq_len, read.software().overlap.tp, read.gpus), (8, 4096, 0.5, 128));
    }

    /// torchtitan is what a TOML file of its settings launches, whatever the link in its comment was of: as exported
    /// the run comes back, and the account names the software; edited, the settings are those of torchtitan.
    #[test]
    fn edited_settings_of_another_program_are_of_that_program() {
        let made = Run::example();
        let scenario = Scenario::new(&made).unwrap();
        let dialect = super::super::dialect::dialect("torchtitan").unwrap();
        let comment = format!("https://example.org/#{}", link::encode(&made));
        let text = (dialect.print)(&dialect.written(&scenario), &[comment]);
        let whole = run(&text);
        let label = made.stack.preset_row().choice.label;
        assert_eq!(whole.run, made);
        assert!(whole.assumed.iter().any(|said| said.to_string().contains(label)), "{:?}", whole.assumed);
        let edited = text.replace("tensor_parallel_degree = 2", "tensor_parallel_degree = 8");
        assert_ne!(edited, text);
        let edited = run(&edited);
        assert_eq!((edited.run.stack.preset_row().trainer, edited.run.tp), (Trainer::Torchtitan, 8));
        let settings: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let alone = run(&settings.join("\n").replace("tensor_parallel_degree = 2", "tensor_parallel_degree = 8"));
        assert_eq!((edited.run.zero, edited.run.stack), (alone.run.zero, alone.run.stack));
        // The software's own settings say nothing of the kind.
        let megatron = super::super::dialect::dialect("megatron").unwrap();
        let comment = format!("https://example.org/#{}", link::encode(&made));
        let own = run(&(megatron.print)(&megatron.written(&scenario), &[comment]));
        assert!(own.assumed.is_empty() && own.run == made, "{:?}", own.assumed);
    }

    /// A launch script that is exported has the length of the training as a variable: it changes no step.
    #[test]
    fn a_length_that_is_left_open_changes_no_verdict() {
        let script = "torchrun --nnodes 8 --nproc-per-node 8 x.py --tensor-model-parallel-size 8 --seq-length 4096 \
            --train-iters \"$TRAIN_ITERS\"";
        let read = run(script);
        assert!(read.unread.iter().all(|one| one.name != "--train-iters"), "{:?}", read.unread);
        assert!(read.ignored.iter().any(|one| one.to_string().starts_with("--train-iters")), "{:?}", read.ignored);
    }

    /// RFC 8259, section 7: brackets inside a JSON string are letters of it, however many open there.
    #[test]
    fn brackets_inside_json_strings_are_no_levels() {
        let template = "{% if (x[".repeat(100);
        let read = run(&format!(r#"{{"run":{{"tp":4}},"note":"{template}"}}"#));
        assert_eq!(read.run.tp, 4);
        let nested = format!("{{\"run\":{}1{}}}", "[".repeat(100), "]".repeat(100));
        assert!(super::read(&nested, &Run::default()).is_err());
    }

    /// `OpenRLHF` v0.5.0 `openrlhf/cli/train_kd.py`: its names are those of slime and torchtitan too.
    #[test]
    fn a_program_whose_settings_are_not_read_is_refused_by_its_name() {
        let text = "deepspeed --module openrlhf.cli.train_kd --pretrain Qwen/Qwen3-8B --rollout_batch_size 2";
        let issues = read(text, &Run::default()).unwrap_err();
        assert!(issues[0].message.to_string().contains("OpenRLHF"), "{issues:?}");
    }

    /// PyTorch's message of its allocator.
    #[test]
    fn a_message_of_memory_that_ran_out_is_sent_to_where_it_is_read() {
        let text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity \
            of 79.10 GiB of which 1.21 GiB is free.";
        let issues = read(text, &Run::default()).unwrap_err();
        assert!(issues[0].message.to_string().contains("Diagnose says its cause"), "{issues:?}");
        assert!(crate::pasted::pasted(text) == Some(crate::pasted::PastedKind::Evidence));
    }

    /// IA3 trains vectors alone: as if everything were trained, a model of 7 B would need 150 GiB.
    #[test]
    fn adapters_that_are_not_counted_are_refused_and_not_taken_for_full_training() {
        let swift =
            |kind: &str| read(&format!("swift sft --model Qwen/Qwen2.5-7B --train_type {kind}"), &Run::default());
        assert!(swift("lora").unwrap().run.adapter.method.is_some());
        assert!(swift("ia3").unwrap_err()[0].message.to_string().contains("ia3"));
    }

    /// A release is known by its whole name; a name that holds one is asked about; else the model is the page's, which
    /// no entry is said to be used for.
    #[test]
    fn the_model_is_the_one_that_the_text_names_or_a_question() {
        let swift = |model: &str| run(&format!("swift sft --model {model} --train_type lora --max_length 2048"));
        for (name, id, by, sure) in [
            ("Qwen/Qwen3-8B", "qwen-3-8b", ModelBy::Id, true),
            ("Qwen/Qwen3-8B-Base", "qwen-3-8b", ModelBy::Name, true),
            ("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "qwen-3-8b", ModelBy::Id, true),
            ("someone/Qwen3-8B-merged", "qwen-3-8b", ModelBy::Name, false),
            ("someone/unheard-of", "llama-3.1-8b", ModelBy::Page, false),
        ] {
            let read = swift(name);
            let known = ModelRead { id: id.to_owned(), by, sure };
            assert_eq!(read.model, known, "{name}");
            let used = read.used.iter().any(|(_, what)| what.to_string().contains(name));
            let assumed = read.assumed.iter().any(|what| what.to_string().contains(name));
            assert_eq!((used, assumed), (sure, !sure), "{name}");
        }
    }

    #[test]
    fn what_is_none_of_them_says_what_would_be() {
        for text in ["hello", "{\"a\":1}", "[1,2]", "{", "a: 1", "key = 3"] {
            let issues = read(text, &Run::default()).unwrap_err();
            assert!(!issues[0].message.is_empty(), "{text}");
        }
    }
}
