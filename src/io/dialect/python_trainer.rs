//! Programs of Python that call Hugging Face's Trainer or TRL: the keywords of their configurations, of the model's
//! `from_pretrained`, of its quantisation and of PEFT's adapters, as the settings that a command line has.
//!
//! Sources: huggingface/trl f2cd577 `trl/trainer/*_config.py`, `trl/experimental` (names of classes);
//! huggingface/transformers v5.2.0 `training_args.py`, `modeling_utils.py` (`from_pretrained`),
//! `utils/quantization_config.py`; huggingface/peft v0.18.0 `tuners/lora/config.py`, `utils/other.py`
//! (`prepare_model_for_kbit_training`); unslothai/unsloth `unsloth/models/loader.py` (`FastModel.from_pretrained`),
//! `unsloth/models/llama.py` (`get_peft_model`).

use super::rows::reader::SettingsReader;
use super::text::launch::take_launch;
use super::text::python::{PyCall, PyValue, PythonProgram, follow_told, plain};
use super::text::shell::program_name;
use super::text::{ImportText, SettingEntries};
use super::{bare, named_files::take_files};
use shardscope_core::issue::Issue;
use shardscope_core::message::Message;
use shardscope_core::run::Value;
use shardscope_core::t;
use std::collections::BTreeSet;

/// The settings of a program, and what is said beside them.
pub(crate) struct Called {
    pub entries: SettingEntries,
    pub doubts: Vec<Message>,
}

/// Objectives of TRL by the beginning of a configuration's or a trainer's class, as its command calls them; what is not
/// here keeps its own name.
const TRAINERS: [(&str, &str); 10] = [
    ("SFT", "sft"),
    ("DPO", "dpo"),
    ("KTO", "kto"),
    ("ORPO", "orpo"),
    ("CPO", "cpo"),
    ("Reward", "reward"),
    ("GRPO", "grpo"),
    ("RLOO", "rloo"),
    ("GKD", "gkd"),
    ("UnslothTraining", ""),
];

/// The word for Transformers' own trainer, which has no defaults of TRL.
pub(super) const TRANSFORMERS: &str = "transformers";

/// Configurations of TRL that begin otherwise.
const OTHERS: [&str; 14] = [
    "AsyncGRPO",
    "BCO",
    "Distillation",
    "GOLD",
    "MiniLLM",
    "NashMD",
    "OnlineDPO",
    "PPO",
    "PRM",
    "SDFT",
    "SDPO",
    "SSD",
    "TPO",
    "XPO",
];

/// Keywords of a trainer that hold data, functions and what else is read elsewhere.
const OF_TRAINER: [&str; 19] = [
    "model",
    "args",
    "ref_model",
    "reward_model",
    "train_dataset",
    "eval_dataset",
    "tokenizer",
    "processing_class",
    "data_collator",
    "callbacks",
    "compute_metrics",
    "formatting_func",
    "reward_funcs",
    "reward_processing_classes",
    "peft_config",
    "optimizers",
    "preprocess_logits_for_metrics",
    "environment_factory",
    "tools",
];

/// TRL's word of the trainer that a class belongs to; empty of Transformers' own.
fn trainer(class: &str, end: &str) -> Option<String> {
    let start = class.strip_suffix(end)?;
    if start.is_empty() || start == "Seq2Seq" {
        return Some(String::new());
    }
    let known = TRAINERS.iter().find(|(name, _)| *name == start).map(|(_, word)| (*word).to_owned());
    known.or_else(|| OTHERS.contains(&start).then(|| start.to_owned()))
}

fn trainer_of_config(class: &str) -> Option<String> {
    if let Some(word) = trainer(class, "TrainingArguments") {
        return Some(word);
    }
    if class == "UnslothTrainingArguments" {
        return Some(String::new());
    }
    trainer(class, "Config").filter(|word| !word.is_empty())
}

/// True if a program is one: it calls a configuration, or a trainer beside settings that no command line gives.
pub(crate) fn knows(program: &PythonProgram, takes_command: bool) -> bool {
    let is_trainer = |call: &PyCall| trainer(call.last_name(), "Trainer").is_some_and(|word| !word.is_empty());
    program.calls.iter().any(|call| trainer_of_config(call.last_name()).is_some())
        || !takes_command && program.calls.iter().any(is_trainer)
}

/// The settings of a program.
///
/// # Errors
/// Adapters that are not counted.
pub(crate) fn read(source: &ImportText) -> Result<Called, Issue> {
    let command = command_in(source.text);
    let command = command.as_ref().map(|command| ImportText::new(command, source.given()));
    let named = |text: &ImportText| text.script().arguments().into_iter().map(|(name, value)| (bare(&name), value));
    let said: SettingEntries = command.iter().flat_map(named).collect();
    let program = follow_told(source.text, &said);
    let mut taken = Taken { program: &program, entries: Vec::new(), doubts: Vec::new(), followed: BTreeSet::new() };
    let (told, own): (SettingEntries, _) = said.into_iter().partition(|(name, _)| program.told.contains(name));
    if let Some(command) = &command {
        taken.command(command, own);
    }
    if source.given().is_notebook {
        taken.one_process();
    }
    let trainers: Vec<(&PyCall, String)> =
        program.calls.iter().filter_map(|call| Some((call, trainer(call.last_name(), "Trainer")?))).collect();
    let (call, mut word) = match trainers.first() {
        Some((call, word)) => (Some(*call), word.clone()),
        None => (None, String::new()),
    };
    if trainers.len() > 1 {
        let count = trainers.len();
        taken.doubts.push(t!("the first of the program's {count} trainers is read", count));
    }
    let configures = |call: &&PyCall| trainer_of_config(call.last_name()).is_some();
    let given = call.and_then(|call| {
        let args = call.keyword("args").or_else(|| call.positional.get(1))?;
        program.calls_in(args).into_iter().find(configures)
    });
    let config = given.or_else(|| program.calls.iter().find(configures));
    if let Some(config) = config.filter(|_| given.is_none()) {
        let class = config.last_name().to_owned();
        taken
            .doubts
            .push(t!("the settings of {class} are taken: the text does not show that a trainer gets them", class));
    }
    // What a parser of the command line fills, and the program sets on.
    let parsed = call.and_then(|call| {
        let args = call.keyword("args").or_else(|| call.positional.get(1))?;
        program.calls_in(args).into_iter().find(|call| call.is_parsed())
    });
    if word.is_empty() {
        word = config.and_then(|config| trainer_of_config(config.last_name())).unwrap_or_default();
    }
    let word = if word.is_empty() { TRANSFORMERS.to_owned() } else { word.to_ascii_lowercase() };
    taken.entries.push(("trainer".to_owned(), Value::Text(word)));
    taken.model(call);
    if let Some(config) = config {
        taken.condition(config);
        for (name, value) in &config.keywords {
            taken.keyword(name, value);
        }
    }
    for (name, value) in parsed.into_iter().flat_map(|call| &call.keywords) {
        taken.keyword(name, value);
    }
    for (name, value) in call.into_iter().flat_map(|call| &call.keywords) {
        if !OF_TRAINER.contains(&name.as_str()) {
            taken.keyword(name, value);
        }
    }
    taken.adapters(call)?;
    let mut entries = std::mem::take(&mut taken.entries);
    // What the program reads and hands to nothing that is read here may count elsewhere in it.
    let lost = |name: &String| !taken.followed.contains(name) && !program.deciding.contains(name);
    entries.splice(0..0, told.into_iter().filter(|(name, _)| lost(name)));
    take_files(source, &mut entries);
    let mut doubts = taken.doubts;
    let taken_values: Vec<String> = entries.iter().filter_map(|(_, value)| plain(value)).collect();
    let mut defaults: Vec<String> = Vec::new();
    for (name, value) in &program.defaults {
        if taken_values.contains(value) {
            defaults.push(format!("{name} {value}"));
        }
    }
    if !defaults.is_empty() {
        let settings = defaults.join(", ");
        doubts.push(t!("{settings}: defaults of the program's own settings, which its command can change", settings));
    }
    if program.asks_bf16 {
        doubts.push(t!("the GPU is taken to compute in bf16, which the program asks it"));
    }
    Ok(Called { entries, doubts })
}

struct Taken<'p> {
    program: &'p PythonProgram,
    entries: SettingEntries,
    doubts: Vec<Message>,
    /// Settings of the command line that entries are made of.
    followed: BTreeSet<String>,
}

impl Taken<'_> {
    /// Takes the command that the text itself names, in a comment or in its description, with the settings that the
    /// program does not hand on under another name.
    fn command(&mut self, command: &ImportText, own: SettingEntries) {
        let before = self.entries.len();
        self.entries.extend(own);
        take_launch(command.script(), &mut self.entries);
        if self.entries.len() > before || !self.program.told.is_empty() {
            let command = shortened(command.text);
            self.doubts.push(t!("started by the command that the text names: {command}", command));
        }
    }

    /// A notebook is one process, unless Accelerate's `notebook_launcher` starts more. Source: huggingface/accelerate
    /// v1.10.0 `src/accelerate/launchers.py`.
    fn one_process(&mut self) {
        let launcher = self.program.calls.iter().find(|call| call.last_name() == "notebook_launcher");
        match launcher.and_then(|call| call.keyword("num_processes").cloned()) {
            Some(count) => self.keyword("num_processes", &count),
            None if launcher.is_none() && self.entries.iter().all(|(name, _)| name != "num_processes") => {
                self.entries.push(("num_processes".to_owned(), Value::from(1)));
                self.doubts.push(t!("one GPU: a notebook is one process"));
            }
            None => {}
        }
    }

    /// Takes one keyword: a literal, what is in a dictionary by its own name, else that it is open.
    fn keyword(&mut self, name: &str, value: &PyValue) {
        match (PythonProgram::literal(value), value) {
            (Some(literal), _) => {
                self.followed.extend(PythonProgram::told_in(value));
                self.entries.push((name.to_owned(), literal));
            }
            (None, PyValue::Map(entries)) if name == "model_init_kwargs" => self.of_model(entries),
            (None, PyValue::Map(entries)) => {
                for (inner, value) in entries {
                    let whole = if inner.is_empty() { name.to_owned() } else { format!("{name}.{inner}") };
                    self.keyword(&whole, value);
                }
            }
            (None, PyValue::Open(text, _)) => self.entries.push((name.to_owned(), open(text))),
            (None, _) => self.entries.push((name.to_owned(), open("a value of the program"))),
        }
    }

    /// Says that what stands under a condition is taken.
    fn condition(&mut self, call: &PyCall) {
        if let Some(condition) = call.under.clone() {
            self.doubts.push(t!("{condition} is taken to hold: the text does not decide it", condition));
        }
    }

    /// Takes the model, and how it is loaded.
    fn model(&mut self, trainer: Option<&PyCall>) {
        let of_trainer = trainer.and_then(|call| call.keyword("model").or_else(|| call.positional.first()));
        if let Some(value) = of_trainer
            && PythonProgram::literal(value).is_some_and(|literal| literal.text().is_some())
        {
            self.keyword("model_name_or_path", value);
            return;
        }
        let loads = |call: &&PyCall| {
            let class = call.name.rsplit('.').nth(1).unwrap_or_default();
            let is_model = class.contains("Model") || class.contains("For") || class == "AutoLigerKernelForCausalLM";
            call.last_name() == "from_pretrained" && is_model && !class.starts_with("Peft")
        };
        let own = of_trainer.map(|value| self.program.calls_in(value)).unwrap_or_default();
        let program = self.program;
        let Some(call) = own.into_iter().find(loads).or_else(|| program.calls.iter().find(loads)) else {
            if let Some(value) = of_trainer {
                self.keyword("model_name_or_path", value);
            }
            return;
        };
        self.condition(call);
        let named = ["pretrained_model_name_or_path", "model_name"].into_iter().find_map(|name| call.keyword(name));
        if let Some(name) = named.or_else(|| call.positional.first()) {
            self.keyword("model_name_or_path", name);
        }
        let is_unsloth = ["FastLanguageModel", "FastModel", "FastVisionModel"].iter().any(|it| call.name.contains(it));
        if is_unsloth {
            self.of_unsloth(call);
        }
        self.of_model(&call.keywords);
    }

    /// Unsloth stores the base in 4 bits where the call does not say otherwise, and trains on one GPU without a
    /// launcher.
    fn of_unsloth(&mut self, call: &PyCall) {
        let said = ["load_in_4bit", "load_in_8bit", "load_in_16bit", "full_finetuning"];
        if said.iter().all(|name| call.keyword(name).is_none()) {
            self.entries.push(("load_in_4bit".to_owned(), Value::Bool(true)));
            self.doubts.push(t!("the base is stored in 4 bits: Unsloth where load_in_4bit is not said"));
        }
        if ["num_processes", "nproc_per_node"].iter().all(|name| self.entries.iter().all(|(known, _)| known != name)) {
            self.entries.push(("num_processes".to_owned(), Value::from(1)));
            self.doubts.push(t!("one GPU: Unsloth where no launcher is said"));
        }
        self.doubts.push(t!("Unsloth's own kernels are not modelled: it may need less memory"));
    }

    /// Unsloth's adapters are beside every linear layer, and its layers are computed again, where the call does not
    /// say otherwise.
    fn silent_of_unsloth(&mut self, call: &PyCall) {
        if call.keyword("target_modules").is_none() {
            self.entries.push(("lora_target_modules".to_owned(), Value::Text("all-linear".to_owned())));
            self.doubts.push(t!("adapters beside every linear layer: Unsloth where target_modules is not said"));
        }
        if call.keyword("use_gradient_checkpointing").is_none() {
            self.entries.push(("use_gradient_checkpointing".to_owned(), Value::Bool(true)));
            self.doubts.push(t!("full recomputation: Unsloth where use_gradient_checkpointing is not said"));
        }
    }

    /// Takes the keywords of `from_pretrained`.
    fn of_model(&mut self, keywords: &[(String, PyValue)]) {
        for (name, value) in keywords {
            match name.as_str() {
                "pretrained_model_name_or_path" | "model_name" => {}
                "quantization_config" => {
                    let calls = self.program.calls_in(value);
                    let is_bits = |call: &&&PyCall| call.last_name() == "BitsAndBytesConfig";
                    let Some(call) = calls.iter().find(is_bits) else {
                        self.keyword(name, value);
                        continue;
                    };
                    self.condition(call);
                    if !matches!(value, PyValue::Call(_)) {
                        self.doubts.push(t!("the base is taken to be quantised, which the text leaves open"));
                    }
                    for (name, value) in &call.keywords {
                        let name = match name.as_str() {
                            "bnb_4bit_use_double_quant" => "use_bnb_nested_quant",
                            name => name,
                        };
                        self.keyword(name, value);
                    }
                }
                name => self.keyword(name, value),
            }
        }
    }

    /// Takes the adapters of PEFT or Unsloth that the model is given.
    fn adapters(&mut self, trainer: Option<&PyCall>) -> Result<(), Issue> {
        let program = self.program;
        let called = |name: &'static str| program.calls.iter().filter(move |call| call.last_name() == name);
        let mut given: Vec<&PyValue> = trainer.and_then(|call| call.keyword("peft_config")).into_iter().collect();
        given.extend(
            called("get_peft_model").filter_map(|call| call.keyword("peft_config").or_else(|| call.positional.get(1))),
        );
        given.extend(called("add_adapter").filter_map(|call| call.positional.first()));
        let is_config = |call: &&PyCall| call.last_name().ends_with("Config");
        let found = given.iter().find_map(|value| {
            let calls = program.calls_in(value);
            Some((calls.into_iter().find(is_config)?, matches!(value, PyValue::Call(_))))
        });
        let of_unsloth = called("get_peft_model").find(|call| call.name.contains("Fast"));
        let (call, is_sure, rank) = match (found, of_unsloth) {
            (Some((call, is_sure)), _) => (call, is_sure, 8u64),
            (None, Some(call)) => (call, true, 16),
            (None, None) => return Ok(()),
        };
        if !["LoraConfig", "get_peft_model"].contains(&call.last_name()) {
            let name = call.last_name().to_owned();
            return Err(Issue::error("adapter.method", t!("adapters of {name} are not counted here", name)));
        }
        self.condition(call);
        if !is_sure {
            self.doubts.push(t!("adapters are taken to be trained, which the text leaves open"));
        }
        self.entries.push(("use_peft".to_owned(), Value::Bool(true)));
        if call.keyword("r").is_none() {
            self.entries.push(("lora_r".to_owned(), Value::from(rank)));
            let whose = if rank == 8 { "PEFT" } else { "Unsloth" };
            self.doubts.push(t!("adapters of rank {rank}: {whose} where the text is silent", rank, whose));
        }
        for (name, value) in &call.keywords {
            let name = match name.as_str() {
                "r" => "lora_r",
                "target_modules" => "lora_target_modules",
                "target_parameters" => "lora_target_parameters",
                "modules_to_save" => "lora_modules_to_save",
                name => name,
            };
            self.keyword(name, value);
        }
        if rank == 16 {
            self.silent_of_unsloth(call);
        }
        let prepares = called("prepare_model_for_kbit_training").next();
        let silent = |name: &str| self.entries.iter().all(|(known, _)| known != name);
        if prepares.is_some() && silent("gradient_checkpointing") {
            self.entries.push(("gradient_checkpointing".to_owned(), Value::Bool(true)));
            self.doubts.push(t!("full recomputation: prepare_model_for_kbit_training switches it on"));
        }
        Ok(())
    }
}

/// A value that the text does not decide, as readers know one.
fn open(text: &str) -> Value {
    let name: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { ' ' }).collect();
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let name = name.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    Value::Text(format!("{{{}}}", if name.is_empty() { "a value of the program" } else { name }))
}

/// Words that a command begins with which starts a program of Python.
const STARTS: [&str; 6] = ["accelerate", "torchrun", "deepspeed", "python", "python3", "trl"];

/// True of a word that starts a program of Python: `/usr/bin/python3`, `torchrun`.
pub(crate) fn starts_python(word: &str) -> bool {
    STARTS.contains(&program_name(word))
}

/// The first command that starts a program of Python by a launcher, among the comments and descriptions of a text.
pub(crate) fn command_in(text: &str) -> Option<String> {
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let bare_line = |line: &str| line.trim().trim_start_matches('#').trim().trim_start_matches("$ ").to_owned();
        let mut command = bare_line(line);
        let is_upper = |name: &str| name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        let is_set = |word: &str| word.split_once('=').is_some_and(|(name, _)| is_upper(name));
        let start = command.split_whitespace().find(|word| !is_set(word)).unwrap_or_default().to_owned();
        if !STARTS.contains(&start.as_str()) || !command.contains(' ') {
            continue;
        }
        while command.ends_with('\\') {
            command.pop();
            let Some(next) = lines.next() else { break };
            command.push_str(&bare_line(next));
        }
        if command.contains(".py") || start == "trl" || command.contains(" -m ") {
            return Some(command);
        }
    }
    None
}

/// A command cut to what a line holds.
fn shortened(command: &str) -> String {
    const LENGTH: usize = 100;
    let words = command.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(LENGTH) {
        Some((at, _)) => format!("{}...", &words[..at]),
        None => words,
    }
}

/// Notes trainers of which the training alone is counted, where that of the next token is.
pub(super) fn other_trainer(reader: &mut SettingsReader) {
    const KNOWN: [&str; 5] = ["sft", "grpo", "rloo", "unslothtraining", TRANSFORMERS];
    let word = reader.last("trainer").and_then(Value::text).map(str::to_owned);
    if let Some(stage) = word.filter(|word| !KNOWN.contains(&word.as_str())) {
        reader.assume(t!("training alone is counted, of the next token: {stage} has more models", stage));
    }
}
