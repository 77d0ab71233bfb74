//! Two Runs setting by setting, in words: what was changed of the default, what a second Run has otherwise.

use crate::panels::inputs::{SENTENCE, is_in_column};
use crate::prelude::*;
use shardscope_core::run::Value;
use shardscope_core::run::registry::{FIELDS, Field, Slot};
use std::cell::LazyCell;
use std::ops::Deref;

/// A setting that differs.
pub struct SettingChange {
    pub field: &'static Field,
    /// Its other value, as shown.
    pub from: Message,
    /// New value.
    pub to: Message,
    /// The text that sets it to what it was; empty where it was not set.
    pub back: String,
}

impl SettingChange {
    /// Sets the field to what it was.
    pub(crate) fn undo(&self) -> Action {
        Action::Apply(vec![(self.field.key, self.back.clone())])
    }
}

/// Settings of `run` that differ from `other`. An unset one reads as its resolved value.
pub fn changes(run: &Run, other: &Run) -> Vec<SettingChange> {
    // Read for unset fields alone.
    let (meant, elsewhere) = (LazyCell::new(|| run.resolved()), LazyCell::new(|| other.resolved()));
    let differs = |field: &&Field| field.get(run) != field.get(other);
    let change = |field: &'static Field| SettingChange {
        field,
        from: shown(field, other, &elsewhere),
        to: shown(field, run, &meant),
        back: field.text(other).unwrap_or_default(),
    };
    FIELDS.iter().filter(differs).map(change).collect()
}

/// Changes of the defaults, and of the presets that the Run names.
pub fn changed(run: &Run) -> Vec<SettingChange> {
    let presets =
        Run { model: run.model.bare(), gpu: run.gpu.bare(), precision: run.precision.bare(), ..Run::default() };
    // The presets themselves against the default's, then all else against the presets.
    let mut changed = changes(&presets, &Run::default());
    changed.extend(changes(run, &presets));
    changed
}

/// A setting's value with its unit; a choice by its label.
fn shown(field: &Field, run: &Run, meant: &impl Deref<Target = Run>) -> Message {
    let value = match field.get(run) {
        Value::Null => field.get(meant),
        value => value,
    };
    let label = |id: &str| match &field.slot {
        Slot::Choice { options, .. } => options()
            .into_iter()
            .find(|option| option.id == id)
            .map_or_else(|| verbatim(id), |option| option.label.into()),
        _ => verbatim(id),
    };
    match value {
        Value::Null => t!("not set"),
        Value::Bool(yes) => if yes { "on" } else { "off" }.into(),
        Value::Text(id) => label(&id),
        value => {
            let plain = shardscope_core::run::registry::plain(&value).unwrap_or_default();
            if field.unit.is_empty() { verbatim(plain) } else { t!("{plain} {unit}", plain, unit = field.unit) }
        }
    }
}

/// Changed settings that neither the column nor the sentence shows: a page on paper has them in a list.
pub fn of_sheets(run: &Run) -> Node {
    let changed = changed(run)
        .into_iter()
        .filter(|SettingChange { field, .. }| !is_in_column(field) && !SENTENCE.contains(&field.key));
    changed.map(|change| el("p", &[], &[text(change.field.label), text(": "), strong(change.to)])).collect()
}

/// The name of a setting, which leads to it in the form.
pub fn name(field: &Field) -> Node {
    el("button", &[("class", "link")], &[text(field.label)]).on(Action::Focus(field.key))
}

/// Changes of the Run, each with a way back.
pub fn what_changed(run: &Run) -> Node {
    let differences = changed(run);
    if differences.is_empty() {
        return muted("Nothing: this is the default run.");
    }
    let line = |change: &SettingChange| {
        let back = t!("Back to {from}", from = &change.from);
        let values = el("span", &[], &[leaf("s", "", &change.from), text(" → "), strong(&change.to)]);
        let button = el("button", &[("class", "choose")], &[text("↶")])
            .label(t!("{field}: {back}", field = change.field.label, back = &back))
            .title(back)
            .on(change.undo());
        el("li", &[], &[name(change.field), values, button]).keyed(change.field.key)
    };
    let lines: Node = differences.iter().map(line).collect();
    let reset = text("Back to the default run");
    Node::from_iter([el("ul", &[("class", "changes")], &[lines]), load("choose", &Run::default(), "", &[reset])])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(pairs: &[(&str, &str)]) -> Run {
        let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        Run::from_pairs(&pairs.iter().map(pair).collect::<Vec<_>>()).0
    }

    #[test]
    fn every_way_back_leads_to_what_it_says() {
        let mut run = run(&[
            ("model", "llama-3.1-70b"),
            ("model.layers", "40"),
            ("tp", "8"),
            ("schedule", "zb-v"),
            ("stage_layers", "4,6"),
            ("sequence_parallel", "false"),
            ("recompute.layers", "3"),
        ]);
        let changes = changed(&run);
        let keys: Vec<_> = changes.iter().map(|change| change.field.key).collect();
        for key in ["model", "model.layers", "tp", "schedule", "stage_layers", "recompute.layers"] {
            assert!(keys.contains(&key), "{keys:?}");
        }
        let layers = changes.iter().find(|change| change.field.key == "model.layers");
        // Llama 3.1 70B has 80 layers (its paper, table 3).
        assert_eq!(
            layers.map(|change| (change.from.to_string(), change.to.to_string())),
            Some(("80".to_owned(), "40".to_owned()))
        );
        for change in changes.iter().rev() {
            let Action::Apply(set) = change.undo() else {
                panic!("a way back sets fields");
            };
            run = run.with_texts(&set).unwrap();
        }
        assert_eq!(run, Run::default());
    }

    #[test]
    fn the_default_run_has_no_changes() {
        assert!(changed(&Run::default()).is_empty());
        assert!(what_changed(&Run::default()).to_html().contains("default run"));
    }
}
