//! Settings of programs that another one's reader takes, by their tables.

use crate::core::issue::Issue;
use crate::core::message::Message;
use crate::core::run::registry::field;
use crate::core::run::{AdapterParts, Based, PhasesParts, Run, Value};
use crate::core::t;
use crate::io::dialect::programs::{GPUS, Program, Settings, take_adapter};
use crate::io::dialect::settings_reader::{Origin, SettingsReader};

/// Share of a GPU that a rollout engine reserves.
const SHARE: &str = "@share";

/// Fields that the settings say of the Run itself, and the adapters.
pub(super) struct Direct {
    fields: Vec<(Origin, String, Value)>,
    adapter: AdapterParts,
}

/// Begins to read the settings of a program: its base reads on, for the software that is named.
pub(super) fn begin(program: &Program, settings: &Settings, present: &Run) -> (SettingsReader, Direct, &'static str) {
    let translated = program.translate(settings);
    let (fields, base): (Vec<_>, Vec<_>) = translated.into_iter().partition(|(_, name, _)| name.starts_with('@'));
    let entries = base.iter().map(|(_, name, value)| (name.clone(), value.clone())).collect();
    let stack = (program.base.stack)(&entries);
    let mut run = present.clone();
    run.phases = PhasesParts::default();
    let mut reader = SettingsReader::translated(base.into_iter(), run);
    gpu(&mut reader, &fields, &settings.text);
    take_adapter(&mut reader);
    if let Some(file) = settings.get("defaults").and_then(Value::text) {
        reader.assume(t!("what {file} says is not here: it is as on this page", file = file.to_owned()));
    }
    if let Some(says) = program.says {
        reader.assume(says);
    }
    let adapter = reader.run.adapter.clone();
    (reader, Direct { fields, adapter }, stack)
}

impl Direct {
    /// Takes what the settings say of the Run itself.
    pub fn take(
        self,
        run: &mut Run,
        used: &mut Vec<(String, Message)>,
        assumed: &mut Vec<Message>,
    ) -> Result<(), Vec<Issue>> {
        if self.adapter.method.is_some() {
            run.adapter = self.adapter;
        }
        for (origin, name, value) in self.fields {
            let key = name.trim_start_matches('@');
            let (key, value) = match (&value, name.as_str()) {
                (Value::Number(share), SHARE) => {
                    let memory = run.gpu.resolve().map_or(0.0, |gpu| gpu.memory.gib());
                    ("phases.rollout_gib", Value::Number(share.clamp(0.0, 1.0) * memory))
                }
                _ => (key, value),
            };
            let Some(field) = field(key) else { continue };
            field.set(run, &value).map_err(|message| vec![Issue::error(key, message)])?;
            let text = field.text(run).unwrap_or_default();
            let message = t!("{what} {value}", what = field.label, value = text);
            match origin {
                Origin::Text(name) => used.push((name, message)),
                Origin::Default(whose) => {
                    assumed.push(t!("{message}: {whose} where the text is silent", message, whose));
                }
            }
        }
        Ok(())
    }
}

/// Takes the GPU: as the settings say, else the first that the text names, else the page's.
fn gpu(reader: &mut SettingsReader, fields: &[(Origin, String, Value)], text: &str) {
    let said = fields.iter().any(|(_, name, _)| name == "@gpu");
    let text = text.to_ascii_lowercase();
    let named = |word: &str| {
        text.match_indices(word).map(|(at, _)| at).find(|at| {
            let after = text[at + word.len()..].chars().next();
            after.is_none_or(|c| !c.is_ascii_alphanumeric())
        })
    };
    let first = GPUS.iter().filter_map(|(word, id)| Some((named(word)?, *id))).min();
    match first {
        _ if said => {}
        Some((_, id)) => {
            reader.run.gpu = Based::preset(id);
            let message: Message = t!("the GPU is {gpu}, which the text names", gpu = reader.run.gpu.title());
            reader.assume(message);
        }
        None => {
            let gpu = reader.run.gpu.title();
            reader.assume(t!("the GPU is {gpu}, as on this page: the text does not say", gpu));
        }
    }
}
