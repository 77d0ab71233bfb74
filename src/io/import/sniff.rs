//! Recognition of a text by its content.

use super::foreign::foreign;
use crate::dialect::programs::{Program, Settings, recognise};
use crate::dialect::text::{python, toml};
use crate::dialect::{DIALECTS, Dialect, ImportText, bare, deepspeed, megatron, nanotron, peft, torchtitan, torchtune};
use crate::dialect::{python_trainer, trl};
use shardscope_core::issue::Issue;
use shardscope_core::message::Message;
use shardscope_core::run::Value;
use shardscope_core::run::registry::FIELDS;
use shardscope_core::t;

pub enum InputKind {
    /// A link, wherever it stands.
    Link(String),
    /// A Run as an object.
    Run(Value),
    /// An export with a Run in it.
    Export(Value),
    Model(Value),
    /// A program's settings.
    Dialect(&'static Dialect),
    /// Settings of a program that another one's reader takes.
    Program(&'static Program, Settings),
}

/// From this share of entries that are a Run's on, an object is a Run. A choice: a Run with a word too many is still a
/// Run, whose reader says which word; of another program's file a few words are a Run's, and most are not.
const OF_A_RUN: f64 = 0.5;

/// Names the programs whose Python is read, for a message.
pub(super) fn of_python_read() -> Message {
    t!("Hugging Face's Trainer, TRL, torchtitan, Megatron-Bridge and Nanotron")
}

/// Names the formats that can be read, for a message.
fn readable() -> Message {
    t!(
        "what is read: a link, a run as JSON, a model's config.json, arguments of Megatron-LM, torchtitan, slime, \
            verl, ms-swift, OpenRLHF or Megatron-Bridge, Python of {programs}, DeepSpeed's JSON, an \
            adapter_config.json, YAML of NeMo Automodel, NeMo-RL, Primus, axolotl, LLaMA-Factory, Hugging Face's \
            Trainer, Accelerate, torchtune, llm-foundry or Nanotron, MLPerf's environment files",
        programs = of_python_read()
    )
}

/// Recognises `text`.
///
/// # Errors
/// The fault of the text, or the formats that can be read.
pub(crate) fn sniff(source: &ImportText) -> Result<InputKind, Issue> {
    let text = source.text.trim();
    if is_workflow(text) {
        let message = t!("a workflow that starts jobs: give the command that its step runs, as a script");
        return Err(Issue::error("", message));
    }
    let recognised = if text.starts_with('{') { None } else { recognise(source) };
    if let Some(name) = foreign(text, recognised.as_ref().map(|(program, _)| program.name)) {
        let message =
            t!("settings of {name}, which are not read here; this is none of {readable}", name, readable = readable());
        return Err(Issue::error("", message));
    }
    if text.starts_with('{') {
        return object(text);
    }
    if torchtitan::is_python(text) || torchtitan::is_file(&toml::read(text)) {
        return Ok(InputKind::Dialect(&torchtitan::DIALECT));
    }
    if let Some((program, settings)) = recognised {
        return Ok(InputKind::Program(program, settings));
    }
    if python::is_program(text) {
        return of_python(text);
    }
    let script = source.script();
    let arguments = script.arguments();
    if megatron::knows(arguments.iter().map(|(name, _)| name.as_str())) {
        return Ok(InputKind::Dialect(&megatron::DIALECT));
    }
    if torchtitan::starts(script) || arguments.iter().any(|(name, _)| torchtitan::knows(name)) {
        return Ok(InputKind::Dialect(&torchtitan::DIALECT));
    }
    let section = |line: &str| {
        let name = line.trim().strip_prefix('[').and_then(|line| line.split(']').next());
        name.is_some_and(|name| torchtitan::knows(&format!("{name}.")))
    };
    if text.lines().any(section) {
        return Ok(InputKind::Dialect(&torchtitan::DIALECT));
    }
    let names: Vec<String> = arguments.iter().map(|(name, _)| bare(name)).collect();
    let keys = text.lines().filter_map(|line| Some(line.split_once(':')?.0));
    let keys: Vec<&str> = names.iter().map(String::as_str).chain(keys).collect();
    // LLaMA-Factory's files that answer or merge name a model too; torchtune's that evaluate have no optimizer.
    let serves = ["infer_backend", "export_dir"].iter().any(|key| keys.contains(key));
    let trains = ["per_device_train_batch_size", "output_dir"].iter().any(|key| keys.contains(key));
    // A script may write files that are other programs': its own arguments count first.
    let by_arguments = tuned(&names.iter().map(String::as_str).collect::<Vec<_>>());
    if let Some(dialect) = by_arguments.or_else(|| tuned(&keys)).filter(|_| trains || !serves) {
        return Ok(InputKind::Dialect(dialect));
    }
    let component = |line: &str| line.trim().starts_with("_component_:");
    let has = |start: &str| text.lines().any(|line| line.starts_with(start));
    let evaluates = !has("optimizer") && ["tasks:", "max_new_tokens:", "quantizer:"].into_iter().any(has);
    if text.lines().any(component) && !evaluates {
        return Ok(InputKind::Dialect(&torchtune::DIALECT));
    }
    if text.lines().any(nanotron::knows) {
        return Ok(InputKind::Dialect(&nanotron::DIALECT));
    }
    let is_manifest = ["apiVersion:", "kind:"].into_iter().all(has);
    link_in(text).map(InputKind::Link).ok_or_else(|| {
        let message = if is_manifest {
            t!("a manifest of Kubernetes: give the command that its container runs, as a script")
        } else if ["out of memory", "OutOfMemoryError"].into_iter().any(|words| text.contains(words)) {
            t!("a message of memory that ran out, and no settings: Diagnose says its cause")
        } else {
            t!("this is none of {readable}", readable = readable())
        };
        Issue::error("", message)
    })
}

/// The program whose configurations a program of Python calls, or that the command in its description starts.
fn of_python(text: &str) -> Result<InputKind, Issue> {
    let program = python::follow(text);
    let imports = |name: &str| program.modules.iter().any(|module| module.split('.').next() == Some(name));
    if imports("nanotron") && python::is_configuration(text) {
        return Ok(InputKind::Dialect(&nanotron::DIALECT));
    }
    let takes_command = program.calls.iter().any(|call| ["TrlParser", "HfArgumentParser"].contains(&call.last_name()));
    if python_trainer::knows(&program, takes_command) || takes_command && python_trainer::command_in(text).is_some() {
        return Ok(InputKind::Dialect(&trl::DIALECT));
    }
    let of_loop = [
        ("lightning", "Lightning"),
        ("pytorch_lightning", "Lightning"),
        ("deepspeed", "DeepSpeed"),
        ("accelerate", "Accelerate"),
        ("megatron", "Megatron-LM"),
        ("nanotron", "Nanotron"),
        ("torchtune", "torchtune"),
    ];
    let other = of_loop.into_iter().find(|(module, _)| imports(module)).map(|(_, name)| name);
    let message = match (takes_command, other) {
        (true, _) => t!("a program of Python that takes its settings from its command line: give that command"),
        (false, Some(name)) => t!(
            "a program of Python with a loop of its own on {name}: give its command, or its settings as YAML or JSON",
            name
        ),
        (false, None) => t!(
            "a program of Python without a configuration that is read: of Python those of {programs} are",
            programs = of_python_read()
        ),
    };
    Err(Issue::error("", message))
}

/// True of a workflow of GitHub, whose steps are commands of any kind beside each other: docs.github.com, "Workflow
/// syntax", `on` and `jobs`, each with `runs-on` or `uses`.
fn is_workflow(text: &str) -> bool {
    let has = |start: &str| text.lines().any(|line| line.starts_with(start));
    let inside = |key: &str| text.lines().any(|line| line.trim_start().trim_start_matches("- ").starts_with(key));
    ["on:", "'on':", "\"on\":"].into_iter().any(has) && has("jobs:") && (inside("runs-on:") || inside("uses:"))
}

/// The program of fine-tuning whose files have one of these keys.
fn tuned(keys: &[&str]) -> Option<&'static Dialect> {
    DIALECTS.iter().copied().find(|dialect| dialect.keys.iter().any(|key| keys.contains(key)))
}

fn object(text: &str) -> Result<InputKind, Issue> {
    let object: Value = serde_json::from_str(text)
        .map_err(|error| Issue::error("", t!("not JSON: {error}; paste the whole file", error = error.to_string())))?;
    let Value::Map(entries) = &object else {
        return Err(Issue::error("", t!("this is none of {readable}", readable = readable())));
    };
    let ours = |key: &str| {
        let begins = |field: &str| field.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        FIELDS.iter().any(|field| begins(field.key))
    };
    if object.get("run").is_some_and(|run| matches!(run, Value::Map(_))) {
        return Ok(InputKind::Export(object));
    }
    if ["model_type", "architectures", "text_config"].iter().any(|key| object.get(key).is_some()) {
        return Ok(InputKind::Model(object));
    }
    if peft::knows(&object) {
        return Ok(InputKind::Dialect(&peft::DIALECT));
    }
    let keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
    if let Some(dialect) = tuned(&keys) {
        return Ok(InputKind::Dialect(dialect));
    }
    if deepspeed::knows(&object) {
        return Ok(InputKind::Dialect(&deepspeed::DIALECT));
    }
    let of_run = entries.iter().filter(|(key, _)| ours(key)).count();
    if entries.is_empty() || of_run > 0 && of_run as f64 >= OF_A_RUN * entries.len() as f64 {
        return Ok(InputKind::Run(object));
    }
    if let Some((other, _)) = entries.iter().find(|(key, _)| !ours(key)).filter(|_| of_run > 0) {
        let message = t!(
            "most of the entries of this JSON are no settings that a run of Shardscope has, {other} for one; \
                {readable}",
            other = other.clone(),
            readable = readable()
        );
        return Err(Issue::error("", message));
    }
    Err(Issue::error("", t!("none of its entries is known; {readable}", readable = readable())))
}

/// The first link in a text: an address with `#v=`, or the pairs alone.
pub(crate) fn link_in(text: &str) -> Option<String> {
    let bare = ["v=", "?v="].iter().any(|start| text.trim().starts_with(start));
    let from = if bare { text.trim() } else { &text[text.find("#v=")?..] };
    let end = from.find(|c: char| c.is_whitespace() || "\"'<>)]}|`\\".contains(c));
    Some(from[..end.unwrap_or(from.len())].to_owned())
}
