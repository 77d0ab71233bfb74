//! Reads a program's settings into a Run, and records what was used for what, what was assumed and what is left.

use crate::dialect::text::words::is_open;
use crate::dialect::{Branch, Given, Same, SettingEntries, is_off};
use serde::Serialize;
use shardscope_core::issue::Issue;
use shardscope_core::message::Message;
use shardscope_core::model::Architecture;
use shardscope_core::run::presets::MODELS;
use shardscope_core::run::registry::field;
use shardscope_core::run::{Based, ModelParts, PrecisionParts, Recompute, Run, Value};
use shardscope_core::t;
use shardscope_core::units::whole;
use std::collections::{BTreeMap, BTreeSet};

/// By what the model of a text is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelBy {
    /// The whole name of a release.
    Id,
    /// Its sizes.
    Shape,
    /// A name that holds that of a release: a copy, or a model trained from it.
    Name,
    /// Nothing in the text: it is that of the page.
    #[default]
    Page,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Origin {
    /// In the text, under this name.
    Text(String),
    /// In the defaults of this program or recipe, which the text is silent on.
    Default(&'static str),
}

/// A setting that nothing took.
pub(crate) struct Left {
    /// Its name in the text.
    pub text: String,
    /// Its name to the reader, where a program's table gives it one.
    pub inner: Option<String>,
    pub value: Option<Value>,
}

impl From<String> for Left {
    fn from(text: String) -> Self {
        Self { text, inner: None, value: None }
    }
}

/// Bytes of a value that a message shows.
const MAX_SHOWN: usize = 60;

/// A setting, and whether it was taken.
struct Entry {
    name: String,
    value: Value,
    origin: Origin,
    taken: bool,
}

impl Entry {
    fn text(&self) -> Option<&String> {
        if let Origin::Text(name) = &self.origin { Some(name) } else { None }
    }
}

/// The settings being read, and the Run that they become.
pub struct SettingsReader {
    entries: Vec<Entry>,
    /// The Run that is read into; fields that the program does not mention stay.
    pub run: Run,
    /// Entry and what it says.
    pub used: Vec<(String, Message)>,
    /// Values that the text leaves out, with those taken instead.
    pub assumed: Vec<Message>,
    /// Entries that cannot be read.
    pub errors: Vec<Issue>,
    /// Names that were asked for and say nothing of a Run.
    ignored: Vec<String>,
    /// What a request says beside the text.
    pub(crate) told: Given,
    /// Readings that the text leaves open, and the one that was taken.
    pub(crate) choices: Vec<Branch>,
    /// Files that the text names and that are not here, with what they say.
    pub(crate) absent: Vec<(String, Message)>,
    /// Settings that change nothing beside the others, each with why.
    pub(crate) moot: Vec<(String, &'static str)>,
    /// By what the model is known, and whether that leaves no doubt.
    pub(crate) model_by: (ModelBy, bool),
    /// True if a size of the model is a guess: which model it is stays open.
    pub(crate) doubted: bool,
    /// True where the text has the command of Accelerate that starts its program.
    pub(crate) by_accelerate: bool,
    /// The text of the shell that starts the program, where there is one.
    pub(crate) launch: String,
    /// GPUs that a comment of the text speaks of, with its words.
    pub(crate) commented: Option<(u64, String)>,
}

impl SettingsReader {
    pub fn new(entries: SettingEntries, run: Run) -> Self {
        let in_text = |(name, value): (String, Value)| (Origin::Text(name.clone()), name, value);
        Self::translated(entries.into_iter().map(in_text), run)
    }

    /// Nothing taken yet, of settings that stand elsewhere or under other names.
    pub(crate) fn translated(entries: impl Iterator<Item = (Origin, String, Value)>, run: Run) -> Self {
        Self {
            entries: entries.map(|(origin, name, value)| Entry { name, value, origin, taken: false }).collect(),
            run,
            used: Vec::new(),
            assumed: Vec::new(),
            errors: Vec::new(),
            ignored: Vec::new(),
            told: Given::default(),
            choices: Vec::new(),
            absent: Vec::new(),
            moot: Vec::new(),
            model_by: (ModelBy::Page, false),
            doubted: false,
            by_accelerate: false,
            launch: String::new(),
            commented: None,
        }
    }

    /// Names that nothing asked for, or that turned out to say nothing.
    pub fn left(&self) -> Vec<String> {
        let taken: BTreeSet<&String> =
            self.entries.iter().filter(|entry| entry.taken).filter_map(Entry::text).collect();
        let left = self.entries.iter().filter(|entry| !entry.taken).filter_map(Entry::text);
        let names = left.filter(|name| !taken.contains(name)).cloned();
        names.chain(self.ignored.iter().cloned()).collect()
    }

    /// What is left, with the name by which a reader would have asked and the value; neither for a name that was only
    /// noted.
    pub(crate) fn left_values(&self) -> Vec<Left> {
        let last = |text: String| {
            let named = self.entries.iter().rev().find(|entry| entry.text() == Some(&text));
            let (inner, value) = named.map(|entry| (entry.name.clone(), entry.value.clone())).unzip();
            Left { text, inner, value }
        };
        let mut known = BTreeSet::new();
        self.left().into_iter().filter(|name| known.insert(name.clone())).map(last).collect()
    }

    /// Sections that a switch of their own turns off, each with the dot behind it: of `compile.enable = false`
    /// `compile.`.
    pub(crate) fn switched_off(&self) -> Vec<String> {
        let mut off: BTreeMap<String, bool> = BTreeMap::new();
        for entry in &self.entries {
            let Some(name) = entry.text() else { continue };
            let section = [".enabled", ".enable"].iter().find_map(|end| name.strip_suffix(end));
            off.extend(section.map(|section| (format!("{section}."), entry.value == Value::Bool(false))));
        }
        off.into_iter().filter(|(_, is_off)| *is_off).map(|(section, _)| section).collect()
    }

    /// All that the settings say.
    pub(crate) fn said(&self) -> SettingEntries {
        self.entries.iter().map(|entry| (entry.name.clone(), entry.value.clone())).collect()
    }

    /// The last value of `name`, which stays for others to take.
    pub(crate) fn last(&self, name: &str) -> Option<&Value> {
        self.entries.iter().rev().find(|entry| entry.name == name).map(|entry| &entry.value)
    }

    /// Takes settings by the names that `now` gives to older ones; what is said of them keeps the name of the text.
    pub(crate) fn renamed(&mut self, now: impl Fn(&str) -> Option<String>) {
        for entry in &mut self.entries {
            if let Some(name) = now(&entry.name) {
                entry.name = name;
            }
        }
    }

    /// Puts defaults before everything that the text says.
    pub(crate) fn begin_with(&mut self, defaults: SettingEntries, whose: &'static str) {
        let default = |(name, value)| Entry { name, value, origin: Origin::Default(whose), taken: false };
        self.entries.splice(0..0, defaults.into_iter().map(default));
    }

    /// Takes `name`, where it is there: beside the other settings it changes nothing, for this `reason`.
    pub(crate) fn moot(&mut self, name: &str, reason: &'static str) {
        let mut names = Vec::new();
        let is = |entry: &&mut Entry| entry.name == name || entry.text().is_some_and(|text| text == name);
        for entry in self.entries.iter_mut().filter(is) {
            entry.taken = true;
            names.extend(entry.text().cloned());
        }
        names.dedup();
        self.moot.extend(names.into_iter().map(|name| (name, reason)));
    }

    /// Notes names that say nothing of a Run, though something asked for them.
    pub(crate) fn ignore(&mut self, names: impl Iterator<Item = String>) {
        self.ignored.extend(names);
    }

    pub fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry.name == name && entry.value != Value::Null)
    }

    /// Place of an issue about `name`, and its name in the text; an argument is named by the message alone, however
    /// it was written. What a launcher's words were gathered under stands in no text: its place is the GPUs.
    fn place(&self, name: &str) -> (String, String) {
        let named = self.entries.iter().rev().filter(|entry| entry.name == name).find_map(Entry::text);
        let written = named.map_or(name, String::as_str).trim_start_matches('$').to_owned();
        let place = match written.as_str() {
            "nnodes" | "nproc_per_node" => "gpus".to_owned(),
            argument if argument.starts_with("--") => String::new(),
            _ => written.clone(),
        };
        (place, written)
    }

    /// Takes a program's own default of `name` away, where it changes nothing beside what the text says.
    pub(crate) fn without_default(&mut self, name: &str) {
        self.entries.retain(|entry| entry.name != name || entry.text().is_some());
    }

    /// True if only a program's defaults have `name`.
    pub(crate) fn is_default(&self, name: &str) -> bool {
        let mut named = self.entries.iter().filter(|entry| entry.name == name).peekable();
        named.peek().is_some() && named.all(|entry| entry.text().is_none())
    }

    /// The last value of `name`, as programs take it; null is none. Nothing is noted.
    pub fn value(&mut self, name: &str) -> Option<Value> {
        let mut found = None;
        for entry in self.entries.iter_mut().filter(|entry| entry.name == name) {
            entry.taken = true;
            found = Some(entry.value.clone());
        }
        found.filter(|value| *value != Value::Null)
    }

    /// Leaves `name` to those settings that nothing took: its value is none that is known.
    pub(crate) fn leave(&mut self, name: &str) {
        for entry in self.entries.iter_mut().filter(|entry| entry.name == name) {
            entry.taken = false;
            if let Some(text) = entry.text() {
                self.used.retain(|(place, _)| *place != *text);
            }
        }
    }

    /// Notes what `name` was used for.
    pub fn note(&mut self, name: &str, message: impl Into<Message>) {
        let message = message.into();
        let matches = || self.entries.iter().filter(|entry| entry.name == name);
        if let Some(Origin::Default(whose)) = matches().next_back().map(|entry| &entry.origin) {
            self.assumed.push(t!("{message}: {whose} where the text is silent", message, whose = *whose));
            return;
        }
        // Several settings of a text may say one of the program that reads it.
        let mut places: Vec<String> = matches().filter_map(Entry::text).cloned().collect();
        places.dedup();
        if places.is_empty() {
            places.push(name.to_owned());
        }
        self.used.extend(places.into_iter().map(|place| (place, message.clone())));
    }

    /// If a reading that the text leaves open is taken: as the request says, else `usual`. It is named by `condition`.
    pub(crate) fn choose(&mut self, condition: &str, usual: bool) -> bool {
        let told = self.told.set.iter().find(|(name, _)| name == condition).map(|(_, value)| value.as_str());
        let (taken, decided) = match told {
            Some("true" | "1") => (true, true),
            Some("false" | "0") => (false, true),
            _ => (usual, false),
        };
        if self.choices.iter().all(|known| known.condition != condition) {
            let condition = condition.to_owned();
            self.choices.push(Branch { line: 0, condition, taken, decided, rests_on: Vec::new() });
        }
        taken
    }

    /// Settings whose value the text does not set, with the value as it stands there.
    pub(crate) fn open(&self) -> Vec<(String, String)> {
        let mut last: BTreeMap<&String, &Value> = BTreeMap::new();
        for entry in &self.entries {
            last.extend(entry.text().map(|name| (name, &entry.value)));
        }
        let open = last.into_iter().filter_map(|(name, value)| {
            let texts: Vec<&str> = match value {
                Value::List(items) => items.iter().filter_map(Value::text).collect(),
                value => value.text().into_iter().collect(),
            };
            let text = texts.into_iter().find(|text| is_open(text))?;
            (!name.starts_with('$') && name != "source").then(|| (name.clone(), text.to_owned()))
        });
        open.collect()
    }

    /// Notes what is taken where the text is silent.
    pub(crate) fn assume(&mut self, message: impl Into<Message>) {
        self.assumed.push(message.into());
    }

    /// Takes the GPUs that the settings leave open: those that a comment of the text says, else the page's, of which
    /// `page` is said.
    pub(crate) fn open_gpus(&mut self, page: impl FnOnce(u64) -> Message) {
        let Some((gpus, comment)) = self.commented.clone() else {
            let message = page(self.run.gpus);
            return self.assume(message);
        };
        self.set("gpus", gpus);
        self.assume(t!("{gpus} GPUs: a comment of the text says \"{comment}\"", gpus, comment));
    }

    /// Notes that the value of `name` is an optimizer that is none of the Run's.
    pub(crate) fn unknown_optimizer(&mut self, name: &str, other: impl Into<String>) {
        self.leave(name);
        self.assume(t!("the optimizer, as on this page: {other} is not known", other = other.into()));
    }

    /// A number; the first where there are several, which are named as not read where they differ.
    pub fn number(&mut self, name: &str, what: &'static str) -> Option<f64> {
        let value = match self.value(name)? {
            Value::List(items) => {
                if items.windows(2).any(|pair| pair[0] != pair[1]) {
                    self.leave(name);
                }
                items.into_iter().next()?
            }
            value => value,
        };
        match value {
            Value::Number(number) => {
                self.note(name, t!("{what} {value}", what, value = number));
                Some(number)
            }
            Value::Text(text) if text.starts_with('$') || is_open(&text) => {
                self.assume(t!("{what} as on this page: {text} is not set in the text", what, text));
                None
            }
            Value::Text(text) if text == "auto" => {
                self.assume(t!("{what} as on this page: {name} is \"auto\"", what, name = name.to_owned()));
                None
            }
            // An argument whose value a shell leaves out.
            Value::Bool(true) if name.starts_with("--") => {
                self.leave(name);
                self.assume(t!(
                    "{what} as on this page: {name} has no value in the text",
                    what,
                    name = name.to_owned()
                ));
                None
            }
            other => {
                let (place, name) = self.place(name);
                let message = match self.variable_of(&name, &other) {
                    Some((variable, text)) => {
                        t!("{name} takes a number: set {variable}, which the text sets to {text}", name, variable, text)
                    }
                    None => match other.text().filter(|text| !text.is_empty() && text.len() <= MAX_SHOWN) {
                        Some(text) => t!("{name} takes a number, not {text}", name, text = text.to_owned()),
                        None => t!("{name} takes a number, this is {kind}", name, kind = other.kind()),
                    },
                };
                self.errors.push(Issue::error(&place, message));
                None
            }
        }
    }

    /// The variable that the text gives the setting `name`, with the value that both have, where it is a text. One that
    /// only has an equal value is another setting.
    fn variable_of(&self, name: &str, value: &Value) -> Option<(String, String)> {
        let text = value.text().filter(|text| !text.is_empty())?;
        let of_shell = |entry: &&Entry| entry.text().is_some_and(|name| name.starts_with('$')) && entry.value == *value;
        let named = self.entries.iter().filter(of_shell).filter_map(Entry::text);
        let mut named = named.map(|variable| variable.trim_start_matches('$'));
        let variable = named.find(|variable| is_given(&self.launch, name, variable))?;
        Some((variable.to_owned(), text.to_owned()))
    }

    pub fn count(&mut self, name: &str, what: &'static str) -> Option<u64> {
        let number = self.number(name, what)?;
        let count = whole(number);
        if count.is_none() {
            let (place, name) = self.place(name);
            let message = t!("{name} takes a whole number, this is {number}", name, number);
            self.errors.push(Issue::error(&place, message));
        }
        count
    }

    /// Text; several words with blanks.
    pub fn word(&mut self, name: &str, what: &'static str) -> Option<String> {
        let text = match self.value(name)? {
            Value::Text(text) => text,
            Value::Number(number) => number.to_string(),
            Value::Bool(yes) => yes.to_string(),
            Value::List(items) => {
                let words = items.iter().filter_map(|item| match item {
                    Value::Text(text) => Some(text.clone()),
                    Value::Number(number) => Some(number.to_string()),
                    _ => None,
                });
                words.collect::<Vec<_>>().join(" ")
            }
            Value::Null | Value::Map(_) => return None,
        };
        self.note(name, t!("{what} {value}", what, value = text.clone()));
        Some(text)
    }

    /// True if a switch is set; one that is only named is.
    pub fn flag(&mut self, name: &str, what: &'static str) -> bool {
        let Some(value) = self.value(name) else {
            return false;
        };
        let yes = !is_off(&value);
        self.note(name, if yes { Message::plain(what) } else { t!("no {what}", what) });
        yes
    }

    /// True if one of several switches is set.
    pub fn any<const N: usize>(&mut self, names: [&str; N], what: &'static str) -> bool {
        names.map(|name| self.flag(name, what)).contains(&true)
    }

    /// Sets a field, unless the Run means the same already.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        let Some(field) = field(key) else { return };
        let value = value.into();
        if field.get(&self.run.resolved()) == value {
            return;
        }
        if let Err(message) = field.set(&mut self.run, &value) {
            self.errors.push(Issue::error(key, message));
        }
    }

    /// Reads settings that the program and a Run count alike; where the text has none, the program's default is
    /// assumed.
    pub fn same(&mut self, rows: &[Same], program: &'static str) {
        for row in rows {
            let Some(field) = field(row.field) else {
                continue;
            };
            let what = if field.symbol.is_empty() { field.label } else { field.symbol };
            let is_said = self.has(row.name);
            if let Some(count) = self.count(row.name, what) {
                self.set(row.field, count);
            } else if let Some(default) = row.default.filter(|_| !is_said) {
                if field.get(&self.run) != Value::from(default) {
                    self.assume(t!("{what} {default}: {program} where it is silent", what, default, program));
                    self.set(row.field, default);
                }
            } else if !is_said {
                let now = field.text(&self.run).unwrap_or_default();
                self.assume(t!("{what} {now}, as on this page: the text does not say", what, now));
            }
        }
    }

    /// Takes `gpu` and `auto` of torchrun, which are all GPUs of a node, for those of the Run's nodes. Source: pytorch
    /// `torch/distributed/run.py`, `determine_local_world_size`.
    pub(crate) fn whole_nodes(&mut self) {
        let each = |entry: &&mut Entry| crate::dialect::bare(&entry.name) == "nproc_per_node";
        let Some(entry) = self.entries.iter_mut().rev().find(each) else { return };
        let first = match &entry.value {
            Value::List(items) => items.first(),
            value => Some(value),
        };
        let Some(word) = first.and_then(Value::text).filter(|word| ["gpu", "auto"].contains(word)) else { return };
        let word = word.to_owned();
        // A launcher's node is no whole rack.
        let now = self.run.gpus_per_node.or_else(|| self.run.gpu.resolve().map(|gpu| gpu.per_node).ok());
        let count = now.filter(|count| *count <= 16).unwrap_or(4);
        entry.value = Value::from(count);
        self.assumed.push(t!(
            "{count} GPUs a node, as on this page: {word} of the launcher is all that a node has",
            count,
            word
        ));
    }

    /// Takes a model: the Run's own where it is that, else the preset that it is, else its shapes.
    pub fn model(&mut self, parts: ModelParts) {
        self.model_by = (ModelBy::Shape, !self.doubted);
        let arguments = parts.arguments.clone();
        let model = Based { base: None, parts };
        match model.resolve() {
            Ok(shapes) if self.run.model.resolve().as_ref() == Ok(&shapes) => {}
            Ok(shapes) => self.run.model = named(&shapes).filter(|_| !self.doubted).unwrap_or(model),
            // One that can be mended is taken as it is, and mended where the Run is shown.
            Err(issues) if issues.iter().all(|issue| issue.fix.is_some()) => self.run.model = model,
            Err(issues) => self.errors.extend(issues),
        }
        // Positions as the preset has them are not said twice.
        if arguments.is_some() && arguments.as_deref() != super::rotary::rotary(&self.run) {
            self.run.model.parts.arguments = arguments;
        }
    }

    /// Takes a policy of bytes a parameter.
    pub fn precision(&mut self, id: &'static str) {
        self.policy(Based::preset(id));
    }

    /// Takes a policy and what differs from it.
    pub fn policy(&mut self, policy: Based<PrecisionParts>) {
        if !crate::dialect::alike(&self.run.precision, &policy) {
            self.run.precision = policy;
        }
    }

    /// Takes `recompute`, where a list of modules of which none is modelled is none.
    pub fn recompute(&mut self, recompute: Recompute) {
        let is_empty = matches!(&recompute, Recompute::Modules(modules) if modules.is_empty());
        self.run.recompute = if is_empty { Recompute::None } else { recompute };
    }

    /// Takes the budget that `steps` of the Run's batch see, unless it is the same within a step.
    pub fn steps(&mut self, steps: Option<u64>) {
        let Some(count) = steps.filter(|count| *count > 0) else {
            return;
        };
        if crate::dialect::steps(&self.run) != Some(count) {
            self.run.tokens_total = Some(crate::dialect::tokens(&self.run, count));
        }
    }
}

/// True if `text` has the setting `name` with this variable as its value: `name=$VARIABLE`, `--name "${VARIABLE}"`.
fn is_given(text: &str, name: &str, variable: &str) -> bool {
    let bare = |name: &str| crate::dialect::bare(name.trim_start_matches(['"', '\'', '+']));
    let is_variable = |value: &str| {
        let rest = value.trim_start_matches('"').strip_prefix('$').map(|rest| rest.trim_start_matches('{'));
        let rest = rest.and_then(|rest| rest.strip_prefix(variable));
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
    };
    let words: Vec<&str> = text.split_whitespace().filter(|word| *word != "\\").collect();
    let pairs = words.iter().enumerate().map(|(at, word)| {
        let behind = words.get(at + 1).copied().unwrap_or_default();
        word.split_once('=').unwrap_or((word, behind))
    });
    pairs.into_iter().any(|(known, value)| bare(known) == bare(name) && is_variable(value))
}

/// The preset with exactly these shapes.
pub fn named(shapes: &Architecture) -> Option<Based<ModelParts>> {
    let preset = MODELS.iter().find(|preset| preset.architecture == *shapes)?;
    Some(Based::preset(preset.choice.id))
}

#[cfg(test)]
mod tests {
    use crate::dialect::rows::reader::*;

    #[test]
    fn the_last_value_counts_and_what_nobody_asked_for_is_left() {
        let entries = vec![
            ("tp".to_owned(), Value::from(2)),
            ("wings".to_owned(), Value::from(3)),
            ("tp".to_owned(), Value::from(4)),
            ("pp".to_owned(), Value::Text("$PP".to_owned())),
        ];
        let mut reader = SettingsReader::new(entries, Run::default());
        assert_eq!(reader.count("tp", "TP"), Some(4));
        assert_eq!(reader.count("pp", "PP"), None);
        assert!(reader.assumed[0].to_string().contains("$PP") && reader.errors.is_empty());
        assert_eq!(reader.left(), ["wings"]);
    }

    /// A place that a person fills in is no value; a token of a tokenizer is one. Source: `OmegaConf` 2.3, "Mandatory
    /// missing values".
    #[test]
    fn places_for_values_are_open() {
        for text in ["$N", "${N}", "$((N / 8))", "<NUM_GPUS>", "<num gpus>", "{num_gpus}", "{{ gpus }}", "???"] {
            assert!(is_open(text), "{text}");
        }
        for text in ["8", "<pad>", "</s>", "<|im_end|>", "{}", "${a.b}", "costs 5$", "Qwen/Qwen3-8B"] {
            assert!(!is_open(text), "{text}");
        }
    }

    #[test]
    fn shapes_of_a_preset_become_the_preset() {
        let mut reader = SettingsReader::new(Vec::new(), Run::default());
        let llama: Based<ModelParts> = Based::preset("llama-3.1-70b");
        reader.model(ModelParts::from(llama.resolve().unwrap()));
        assert_eq!(reader.run.model, llama);
    }
}
