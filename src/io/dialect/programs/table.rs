//! A program as a table: the settings of its own by those of its base.

use super::source::Settings;
use super::values::on;
use crate::dialect::rows::prelude::*;
use crate::dialect::rows::reader::Origin;
use crate::dialect::text::words::{Script, entries};

pub(crate) struct Program {
    pub name: &'static str,
    pub is: fn(&Settings) -> bool,
    /// The program whose settings its own become.
    pub base: &'static Dialect,
    pub rows: &'static [SettingRow],
    /// Settings that follow from several together.
    pub together: &'static [Together],
    /// Its defaults, as arguments of the base.
    pub silent: &'static str,
    /// Assumptions about all of its runs.
    pub says: Option<&'static str>,
}

/// Note beside the batch of reinforcement learning.
pub(super) const FULL_LENGTH: Option<&'static str> =
    Some("every sequence is counted at its full length: shorter prompts and answers need less memory");

/// Note beside samples of fine-tuning. Source: ms-swift 3602360 `swift/arguments/base_args/base_args.py:197` (where
/// `max_length` is not said, it is the longest that the model takes).
pub(super) const SAMPLES: Option<&'static str> = Some(
    "samples are counted at --max_length, or at 2048 tokens where it is not said; without --packing at the longest of \
        the data sets where ms-swift has counted them all, by the tokenizer of Qwen2.5: shorter ones need less memory",
);
/// The same beside Megatron-LM's core, whose length is the page's where it is not said.
pub(super) const SAMPLES_OF_CORE: Option<&'static str> = Some(
    "samples are counted at --max_length; without --packing at the longest of the data sets where ms-swift has counted \
        them all, by the tokenizer of Qwen2.5: shorter ones need less memory",
);

/// A setting by the program's name and by the base's. A star in the first stands for a word between dots; stars in the
/// second are its last ones.
pub(crate) struct SettingRow(&'static str, &'static str, As);

/// Result of reading a setting.
pub(super) enum As {
    /// The setting of the base has this value.
    Same,
    /// Settings of the base, made from this value.
    By(fn(&Value) -> SettingEntries),
    /// These settings of the base, where a switch is on.
    On(&'static [(&'static str, &'static str)]),
    /// These settings where a switch is on and that of this name is not; with both they are unset.
    OnBeside(&'static [(&'static str, &'static str)], &'static str),
    /// The setting of the base has this value unless the text has a setting of this name.
    Without(&'static str),
    /// As [`Self::Same`] and [`Self::By`], where the switch of this name is on.
    Where(&'static str),
    ByWhere(fn(&Value) -> SettingEntries, &'static str),
}

/// A setting of the base that several numbers make, with what each is where it is not said; none where they do not say
/// it. `name=word` is 1 where the setting is that word, `~word` 1 where the text has the word, else both are 0; `^name`
/// is the longest sample of the data sets that the setting names, `+name` a number that is noted with none of them.
pub(crate) struct Together {
    pub from: &'static [(&'static str, Option<f64>)],
    pub to: &'static str,
    pub of: fn(&[f64]) -> Option<f64>,
}

/// GPUs by the variables of a launcher.
pub(super) const GPUS_OF_LAUNCHER: Together = Together {
    from: &[("$NPROC_PER_NODE", None), ("$NNODES", Some(1.0))],
    to: "gpus",
    of: |n| Some(n.iter().product()),
};
/// GPUs of each of several nodes by them.
pub(super) const GPUS_OF_EACH_NODE: Together = Together {
    from: &[("$NNODES", None), ("$NPROC_PER_NODE", None)],
    to: "@gpus_per_node",
    of: |n| (n[0] > 1.0).then(|| n[1]),
};

pub(super) const fn row(from: &'static str, to: &'static str) -> SettingRow {
    SettingRow(from, to, As::Same)
}
/// A setting that counts where the text has no `other`.
pub(super) const fn otherwise(from: &'static str, to: &'static str, other: &'static str) -> SettingRow {
    SettingRow(from, to, As::Without(other))
}
pub(super) const fn by(from: &'static str, make: fn(&Value) -> SettingEntries) -> SettingRow {
    SettingRow(from, "", As::By(make))
}
pub(super) const fn when(from: &'static str, set: &'static [(&'static str, &'static str)]) -> SettingRow {
    SettingRow(from, "", As::On(set))
}

/// A setting of a section that counts where its own `switch` is on.
pub(super) const fn row_where(from: &'static str, to: &'static str, switch: &'static str) -> SettingRow {
    SettingRow(from, to, As::Where(switch))
}
/// As [`row_where`], for settings that are made from the value.
pub(super) const fn by_where(
    from: &'static str,
    make: fn(&Value) -> SettingEntries,
    switch: &'static str,
) -> SettingRow {
    SettingRow(from, "", As::ByWhere(make, switch))
}

/// A switch that says nothing where `other` is on.
pub(super) const fn unless(
    from: &'static str,
    set: &'static [(&'static str, &'static str)],
    other: &'static str,
) -> SettingRow {
    SettingRow(from, "", As::OnBeside(set, other))
}

/// Note beside a file of Primus, which names further files.
pub(super) const FILES_OF_PRIMUS: Option<&'static str> = Some(
    "settings in Primus's own model and trainer files count where they stand before this one; kernels of Primus-Turbo \
        are not modelled",
);

impl Program {
    /// Its settings as those of the base, with where each stands. What has no name there keeps its own.
    pub fn translate(&self, settings: &Settings) -> Vec<(Origin, String, Value)> {
        let silent = Script::read(self.silent).arguments().into_iter();
        let mut out: Vec<(Origin, String, Value)> = silent
            .map(|(name, value)| {
                let bare = name.trim_start_matches("--").to_owned();
                let field = ["@", "peft."].iter().any(|start| bare.starts_with(start));
                let plain = field || self.base.id != "megatron";
                (Origin::Default(self.name), if plain { bare } else { name }, value)
            })
            .collect();
        // The command that was called is no setting.
        for (at, (name, value)) in settings.entries.iter().enumerate().filter(|(_, (name, _))| name != "program") {
            let origin = Origin::Text(name.clone());
            if settings.is_out_of_use(name) {
                out.push((origin, format!("?{name}"), value.clone()));
                continue;
            }
            match self.rows.iter().find_map(|row| Some((row, row.target(name)?))) {
                // A value that a later one takes the place of makes nothing.
                Some((SettingRow(_, _, As::By(_) | As::On(_) | As::OnBeside(..)), _))
                    if settings.entries[at + 1..].iter().any(|(later, _)| later == name) => {}
                None => out.push((origin, format!("?{name}"), value.clone())),
                Some((SettingRow(_, _, As::Without(other)), _)) if settings.get(other).is_some() => {
                    out.push((origin, format!("?{name}"), value.clone()));
                }
                Some((SettingRow(_, _, As::Where(switch) | As::ByWhere(_, switch)), _))
                    if settings.number(switch) != Some(1.0) =>
                {
                    out.push((origin, format!("?{name}"), value.clone()));
                }
                Some((SettingRow(_, _, how @ (As::ByWhere(..) | As::By(_) | As::On(_) | As::OnBeside(..))), _)) => {
                    let made = match how {
                        As::By(make) | As::ByWhere(make, _) => make(value),
                        As::On(set) if on(value) => entries(set),
                        As::OnBeside(set, other) if on(value) && settings.number(other).unwrap_or(0.0) > 0.0 => {
                            set.iter().map(|(name, _)| ((*name).to_owned(), Value::Null)).collect()
                        }
                        As::OnBeside(set, _) if on(value) => entries(set),
                        _ => Vec::new(),
                    };
                    if made.is_empty() {
                        out.push((origin, format!("?{name}"), value.clone()));
                    } else {
                        out.extend(made.into_iter().map(|(name, value)| (origin.clone(), name, value)));
                    }
                }
                Some((_, to)) => {
                    let (to, value) = argument(to, value);
                    out.push((origin, to, value));
                }
            }
        }
        for together in self.together {
            let number = |name: &str| settings.told(name);
            let numbers: Option<Vec<f64>> =
                together.from.iter().map(|(name, default)| number(name).or(*default)).collect();
            let Some(result) = numbers.and_then(|numbers| (together.of)(&numbers)).filter(|it| it.is_finite()) else {
                continue;
            };
            let names = together.from.iter().map(|(name, _)| name.strip_prefix('^').unwrap_or(name));
            for name in names.filter(|name| settings.get(name).is_some()) {
                out.push((Origin::Text(name.to_owned()), together.to.to_owned(), Value::Number(result)));
            }
        }
        out
    }
}

/// The argument of virtual stages.
pub(super) const STAGES: &str = "--num-virtual-stages-per-pipeline-rank";

/// Settings of Megatron-LM's core that its arguments call otherwise: the argument, and true where it is the opposite
/// switch.
const OF_CORE: [(&str, &str, bool); 10] = [
    ("--virtual-pipeline-model-parallel-size", STAGES, false),
    ("--num-layers-in-first-pipeline-stage", "--decoder-first-pipeline-num-layers", false),
    ("--num-layers-in-last-pipeline-stage", "--decoder-last-pipeline-num-layers", false),
    ("--num-moe-experts", "--num-experts", false),
    ("--fp8", "--fp8-format", false),
    ("--fp4", "--fp4-format", false),
    ("--gradient-accumulation-fusion", "--no-gradient-accumulation-fusion", true),
    ("--add-bias-linear", "--disable-bias-linear", true),
    ("--bias-activation-fusion", "--no-bias-swiglu-fusion", true),
    ("--grad-reduce-in-fp32", "--grad-reduce-in-bf16", true),
];

/// A setting as an argument of Megatron-LM has it, where it is one of its core.
fn argument(name: String, value: &Value) -> (String, Value) {
    let Some((_, argument, opposite)) = OF_CORE.iter().find(|(core, ..)| *core == name) else {
        return (name, value.clone());
    };
    let value = match value {
        // A format that is switched off is none; switched on it is the usual one.
        Value::Bool(false) if argument.ends_with("-format") => Value::Null,
        Value::Bool(true) if *argument == "--fp8-format" => Value::from("hybrid"),
        Value::Bool(yes) => Value::Bool(yes != opposite),
        other => other.clone(),
    };
    ((*argument).to_owned(), value)
}

impl SettingRow {
    /// The base's name of the setting `name`, if this is its row.
    fn target(&self, name: &str) -> Option<String> {
        let SettingRow(from, to, _) = self;
        let (mut found, mut words) = (Vec::new(), name.split('.'));
        for part in from.split('.') {
            let word = words.next()?;
            match part.split_once('*') {
                None if part == word => {}
                None => return None,
                // "--*" and "$*" keep what is before the star.
                Some((start, _)) => found.push(word.strip_prefix(start)?),
            }
        }
        if words.next().is_some() {
            return None;
        }
        let stars = to.matches('*').count();
        let mut last = found.iter().skip(found.len().saturating_sub(stars));
        let mut target = String::new();
        for (at, piece) in to.split('*').enumerate() {
            if at > 0 {
                target.push_str(last.next().copied().unwrap_or_default());
            }
            target.push_str(piece);
        }
        Some(if target.starts_with("--") { target.replace('_', "-") } else { target })
    }
}
