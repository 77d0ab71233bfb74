//! Settings that no reader took, in two lists: those without effect, and those that may matter.

use crate::dialect::rows::reader::Left;
use crate::dialect::settings::{CouldChange, NoEffect, SettingClass, SettingsTable, class, is_name_of};
use crate::dialect::{bare, is_off};
use serde::Serialize;
use shardscope_core::message::{Message, verbatim};
use shardscope_core::run::Value;
use shardscope_core::t;
use std::collections::BTreeMap;

/// A setting of a text that may matter and is not read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unread {
    /// As the text has it.
    pub name: String,
    /// Line of the text, from 1; none where it was not found again.
    pub line: Option<u64>,
    pub kind: UnreadKind,
    pub why: Message,
    pub could_change: Message,
    /// The kind of effect that `could_change` describes; none where it is not known.
    #[serde(skip)]
    pub(crate) change: Option<CouldChange>,
}

/// Why a setting is not read; what may change most stands first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnreadKind {
    /// The text does not decide it.
    Undecided,
    /// It stands in a file that was not given.
    MissingFile,
    /// Its program's table has it, and nothing here counts it.
    NotModelled,
    /// No table has it.
    NotKnown,
}

impl Unread {
    fn new(name: &str, kind: UnreadKind, why: Message, change: Option<CouldChange>) -> Self {
        let could_change = match change {
            None => t!("not known"),
            Some(CouldChange::Memory) => t!("memory"),
            Some(CouldChange::Time) => t!("time"),
            Some(CouldChange::Both) => t!("memory and time"),
        };
        Self { name: name.to_owned(), line: None, kind, why, could_change, change }
    }

    /// True if the memory could be another.
    pub fn could_change_memory(&self) -> bool {
        self.change != Some(CouldChange::Time)
    }

    /// A setting whose value the text does not set.
    fn undecided(name: &str, line: Option<u64>, value: &str, change: Option<CouldChange>) -> Self {
        let why = t!("{value} is not set in the text", value = value.to_owned());
        Self { line, ..Self::new(name, UnreadKind::Undecided, why, change) }
    }

    /// Arguments of any number that the text does not set.
    pub(super) fn extra(name: &str) -> Self {
        let why = t!("stands for further arguments, which the text does not set");
        Self::new(name, UnreadKind::Undecided, why, None)
    }

    /// A file that the text names and that is not here.
    pub(super) fn missing(name: &str, line: Option<u64>, why: Message) -> Self {
        let change = Some(CouldChange::Both);
        Self { line, ..Self::new(name, UnreadKind::MissingFile, why, change) }
    }

    /// A key of a link that was left out or took its default, and why.
    pub(super) fn of_link(key: &str, why: Message) -> Self {
        Self::new(key, UnreadKind::NotKnown, why, None)
    }
}

/// Settings without effect, with why; and those that may matter, what could change most first.
#[derive(Default)]
pub(super) struct Account {
    pub ignored: Vec<Message>,
    pub unread: Vec<Unread>,
}

impl Account {
    /// Says why a setting that nothing took is without effect, or that it may matter.
    fn tell(&mut self, tables: &[&SettingsTable], off: &[String], left: Left) {
        let Left { text: name, inner, value } = left;
        // What the program has no row for may be a setting of its base, as whose it was given on.
        let of_base = || class(tables, &inner.filter(|inner| !inner.starts_with('?'))?);
        match class(tables, &name).or_else(of_base) {
            Some(SettingClass::NoEffect(reason)) => self.ignored.push(ignored(&name, why(reason))),
            Some(SettingClass::Read | SettingClass::NotModelledIfOn(_)) if value.as_ref().is_some_and(is_off) => {
                self.ignored.push(ignored(&name, "switched off, as where it is not said"));
            }
            Some(SettingClass::NotModelledIfOff(_)) if !value.as_ref().is_some_and(is_off) => {
                self.ignored.push(ignored(&name, why(NoEffect::Counted)));
            }
            Some(SettingClass::NotModelled(_)) if value == Some(Value::Null) => {
                self.ignored.push(ignored(&name, "it is given no value"));
            }
            _ if off.iter().any(|section| name.starts_with(section.as_str())) => {
                self.ignored.push(ignored(&name, "its section is switched off"));
            }
            None if name.starts_with('$') => {
                self.ignored.push(ignored(&name, "a variable of the text: it counts where a setting has its value"));
            }
            Some(
                SettingClass::NotModelled(change)
                | SettingClass::NotModelledIfOn(change)
                | SettingClass::NotModelledIfOff(change),
            ) => {
                let why = t!("its effect is not modelled here");
                self.unread.push(Unread::new(&name, UnreadKind::NotModelled, why, Some(change)));
            }
            Some(SettingClass::Read) if is_length(&name) => self.ignored.push(ignored(&name, LENGTH)),
            Some(SettingClass::Read) => {
                let why = t!("this value, or this setting without others beside it, is not read");
                self.unread.push(Unread::new(&name, UnreadKind::NotModelled, why, Some(CouldChange::Both)));
            }
            None => {
                let why = t!("no setting by this name is known here");
                self.unread.push(Unread::new(&name, UnreadKind::NotKnown, why, None));
            }
        }
    }
}

/// What is said of a length of the training that is not a number, such as a variable without a value.
const LENGTH: &str = "the length of the training, not known here: a step has the same memory and time";

/// True if a program calls the length of a training so.
fn is_length(name: &str) -> bool {
    is_name_of("tokens_total", name)
}

/// Accounts for settings that nothing took, by the `tables` of their program; `off` are sections that are switched off.
pub(super) fn account(
    tables: &[&SettingsTable],
    left: Vec<Left>,
    open: Vec<(String, String)>,
    off: &[String],
) -> Account {
    let mut account = Account::default();
    for Left { text: name, inner, value } in left {
        // A file that is not here is named as one.
        if name == "source" || open.iter().any(|(known, _)| *known == name) {
            continue;
        }
        account.tell(tables, off, Left { text: name, inner, value });
    }
    for (name, value) in open {
        let change = match class(tables, &name) {
            Some(SettingClass::NoEffect(reason)) => {
                account.ignored.push(ignored(&name, why(reason)));
                continue;
            }
            Some(
                SettingClass::NotModelled(change)
                | SettingClass::NotModelledIfOn(change)
                | SettingClass::NotModelledIfOff(change),
            ) => Some(change),
            Some(SettingClass::Read) if is_length(&name) => {
                account.ignored.push(ignored(&name, LENGTH));
                continue;
            }
            Some(SettingClass::Read) => Some(CouldChange::Both),
            None => None,
        };
        account.unread.push(Unread::undecided(&name, None, &value, change));
    }
    account.unread.sort_by_key(weight);
    account
}

/// Order of settings: what could change memory first, then what nobody knows, then the time alone.
fn weight(unread: &Unread) -> u8 {
    match unread.change {
        Some(CouldChange::Both) => 0,
        Some(CouldChange::Memory) => 1,
        None => 2,
        Some(CouldChange::Time) => 3,
    }
}

/// A setting without effect, with why.
pub(super) fn ignored(name: &str, reason: &'static str) -> Message {
    t!("{name}: {reason}", name = verbatim(name), reason)
}

fn why(reason: NoEffect) -> &'static str {
    match reason {
        NoEffect::Names => "names, logs and profiles change no figure",
        NoEffect::Files => "checkpoints are outside of the step",
        NoEffect::Data => "says where data come from",
        NoEffect::Numbers => "a number of the optimizer or the loss: it changes neither memory nor time",
        NoEffect::Shapes => "changes numbers, not shapes",
        NoEffect::Outside => "outside of the training step",
        NoEffect::Start => "about the start or the end of a run: outside of the training step",
        NoEffect::Ignored => "the program itself does nothing with it",
        NoEffect::Elsewhere => "repeats what other settings say",
        NoEffect::Counted => "counted so anyway",
    }
}

/// Says at which line of `text` each setting stands.
pub(super) fn place(unread: &mut [Unread], text: &str) {
    if unread.is_empty() {
        return;
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_-$".contains(c);
    let mut lines: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        for word in line.split(|c| !is_word(c)).filter(|word| !word.is_empty()) {
            let lines = lines.entry(bare(word.trim_start_matches('$'))).or_default();
            if lines.last() != Some(&number) {
                lines.push(number);
            }
        }
    }
    for one in unread.iter_mut().filter(|one| one.line.is_none()) {
        // A nested name stands behind those that it is in.
        let mut from = 1;
        let found = bare(one.name.trim_start_matches('$')).split('.').all(|part| {
            let at = lines.get(part).and_then(|lines| lines.iter().find(|line| **line >= from));
            from = at.copied().unwrap_or(from);
            at.is_some()
        });
        one.line = found.then_some(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, text: &str) -> Option<u64> {
        let mut one = [Unread::new(name, UnreadKind::NotKnown, Message::default(), None)];
        place(&mut one, text);
        one[0].line
    }

    #[test]
    fn a_setting_is_found_at_its_line_in_every_form() {
        assert_eq!(line("--foo-bar", "a \\\n  --foo_bar 3 \\\n"), Some(2));
        assert_eq!(line("b.c", "a:\n  c: 1\nb:\n  d: 2\n  c: 3\n"), Some(5));
        assert_eq!(line("b.c", "[a]\nc = 1\n[b]\nc = 2\n"), Some(4));
        assert_eq!(line("a.b.c", "x.y=1\na.b.c=2"), Some(2));
        assert_eq!(line("$NAME", "export NAME=3"), Some(1));
        assert_eq!(line("--gone", "--here 1"), None);
    }
}
