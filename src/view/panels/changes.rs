//! Two Runs setting by setting, in words: what was changed of the run that the page opens with, what a second Run has
//! otherwise.

use crate::panels::chosen::LayoutOrigin;
use crate::panels::inputs::{SENTENCE, is_in_column};
use crate::prelude::*;
use shardscope_core::run::Value;
use shardscope_core::run::follow::set_along;
use shardscope_core::run::registry::{FIELDS, Field, Slot};
use shardscope_core::search::auto::of_layout;
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

/// Settings of `run` that differ from `other`. An unset one reads as its resolved value; one that is set to it does not
/// differ.
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
    FIELDS.iter().filter(differs).map(change).filter(|change| change.from != change.to).collect()
}

/// Changes of the run that the page opens with, and of the presets that the Run names.
pub fn changed(run: &Run) -> Vec<SettingChange> {
    let example = Run::example();
    // A model of one's own has no preset: its shapes are held against the example's.
    let model = if run.model.base.is_some() { run.model.bare() } else { example.model.clone() };
    let presets = Run { model, gpu: run.gpu.bare(), precision: run.precision.bare(), ..Run::example() };
    // The presets themselves against the example's, then all else against the presets.
    let mut changed = changes(&presets, &example);
    changed.extend(changes(run, &presets));
    changed
}

/// What a person changed, what came with a choice of theirs, and what the page chose by itself: the layout, where its
/// origin says so.
pub struct ChangedSettings {
    pub yours: Vec<SettingChange>,
    pub along: Vec<SettingChange>,
    pub chosen: Vec<SettingChange>,
}

impl ChangedSettings {
    /// Changes of `run`, whose layout is from `origin`.
    pub fn of(run: &Run, origin: LayoutOrigin) -> Self {
        let is_chosen =
            |change: &SettingChange| origin == LayoutOrigin::Chosen && of_layout(change.field.key).is_some();
        let (chosen, others): (Vec<_>, Vec<_>) = changed(run).into_iter().partition(is_chosen);
        // A file and a published run say all of their settings.
        let says_all = matches!(origin, LayoutOrigin::File | LayoutOrigin::Published);
        let set = if says_all { Vec::new() } else { set_along(run) };
        let (along, yours) = others.into_iter().partition(|change| set.contains(&change.field.key));
        Self { yours, along, chosen }
    }

    /// How many, of each kind: "2 changed · 2 set with a choice · 5 chosen for you"; empty where there are none.
    pub fn count(&self) -> Message {
        let said = |n: usize, words: fn(usize) -> Message| (n > 0).then(|| words(n));
        let yours = said(self.yours.len(), |n| t!("{n} changed", n));
        let along = said(self.along.len(), |n| t!("{n} set with a choice", n));
        let chosen = said(self.chosen.len(), |n| t!("{n} chosen for you", n));
        Message::joined(" · ", yours.into_iter().chain(along).chain(chosen))
    }
}

/// A setting's value with its unit; a choice by its label.
fn shown(field: &Field, run: &Run, meant: &impl Deref<Target = Run>) -> Message {
    let value = match field.get(run) {
        Value::Null => field.get(meant),
        value => value,
    };
    let label = |id: &str| match &field.slot {
        Slot::Choice { options, .. } | Slot::Set { options, .. } => options()
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
            if matches!(field.slot, Slot::Set { .. }) {
                return Message::joined(", ", plain.split(',').map(label));
            }
            // A share is a number; "0 share" is none.
            let unit = Some(field.unit).filter(|unit| !["", "share"].contains(unit));
            unit.map_or_else(|| verbatim(&plain), |unit| t!("{plain} {unit}", plain = plain.clone(), unit))
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

/// Changes of the Run, whose layout is from `origin`, each with a way back: what a person changed first, then what the
/// page chose.
pub fn what_changed(run: &Run, origin: LayoutOrigin) -> Node {
    let ChangedSettings { yours, along, chosen } = ChangedSettings::of(run, origin);
    if yours.is_empty() && along.is_empty() && chosen.is_empty() {
        return muted("Nothing: this is the run that the page opens with.");
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
    let list = |changes: &[SettingChange]| {
        let lines: Vec<Node> = changes.iter().map(line).collect();
        if lines.is_empty() { Node::none() } else { el("ul", &[("class", "changes")], &lines) }
    };
    let head = |changes: &[SettingChange], words| if changes.is_empty() { Node::none() } else { muted(words) };
    let with_choice = head(&along, "Set along with a choice of yours:");
    let by_page = head(&chosen, "Chosen for you, with the layout:");
    let reset = text("Back to the run that the page opens with");
    Node::from_iter([
        list(&yours),
        with_choice,
        list(&along),
        by_page,
        list(&chosen),
        load("choose", &Run::example(), "", &[reset]),
    ])
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
        assert_eq!(run, Run::example());
    }

    /// The button leads to the run that the page opens with, and there nothing is changed.
    #[test]
    fn the_way_back_leads_to_the_run_that_the_page_opens_with() {
        let changed = run(&[("seq_len", "16384"), ("stack", "megatron-2025")]);
        let list = what_changed(&changed, LayoutOrigin::Yours);
        let loads = list.actions().into_iter().filter_map(|action| match action {
            Action::Load(run) => Some((**run).clone()),
            _ => None,
        });
        let loads: Vec<Run> = loads.collect();
        assert_eq!(loads, [Run::example()]);
        assert_eq!(LayoutOrigin::of_loaded(&loads[0]), LayoutOrigin::Example);
        let none = ChangedSettings::of(&loads[0], LayoutOrigin::Example);
        assert!(none.yours.is_empty() && none.chosen.is_empty() && none.count().is_empty());
        assert!(what_changed(&loads[0], LayoutOrigin::Example).to_html().contains("Nothing"));
    }

    /// Two settings by hand, and a layout that the page chose for them: each kind has its count.
    #[test]
    fn what_the_page_chose_is_told_apart() {
        let texts = [("gpus", "128"), ("seq_len", "16384"), ("tp", "4"), ("pp", "2"), ("schedule", "zb-v")];
        let run = Run::example().with_texts(&texts).unwrap();
        let count = |origin| ChangedSettings::of(&run, origin).count().to_string();
        assert_eq!(count(LayoutOrigin::Chosen), "2 changed · 3 chosen for you");
        assert_eq!(count(LayoutOrigin::Yours), "5 changed");
        let html = what_changed(&run, LayoutOrigin::Chosen).to_html();
        let (yours, chosen) = html.split_once("Chosen for you").unwrap();
        assert_eq!((yours.matches("<li").count(), chosen.matches("<li").count()), (2, 3));
    }

    /// Choosing an adapter sets length, batch and software: one setting was changed, three came with it. In a file they
    /// are the file's.
    #[test]
    fn what_came_with_a_choice_is_not_counted_as_changed() {
        let chosen = crate::choose::choose(
            &Run::example(),
            shardscope_core::run::registry::field("adapter.method").unwrap(),
            &Value::Text("qlora".to_owned()),
            LayoutOrigin::Yours,
            false,
        );
        let count = |origin| ChangedSettings::of(&chosen.run, origin).count().to_string();
        assert_eq!(count(LayoutOrigin::Yours), "1 changed · 3 set with a choice");
        assert_eq!(count(LayoutOrigin::File), "4 changed");
        let html = what_changed(&chosen.run, LayoutOrigin::Yours).to_html();
        assert!(html.contains("Set along with a choice of yours:"), "{html}");
    }

    /// A model of its own from a file: as many settings are changed on the page as the import lists.
    #[test]
    fn a_model_of_its_own_has_as_many_changes_as_its_import_lists() {
        let example = Run::example();
        let mut run = example.clone();
        let parts = shardscope_core::run::ModelParts::from(example.model.resolve().unwrap());
        run.model = shardscope_core::run::Based { base: None, parts };
        run.model.parts.layers = Some(64);
        run.model.parts.hidden = Some(5120);
        let keys = |list: Vec<SettingChange>| list.iter().map(|change| change.field.key).collect::<Vec<_>>();
        assert_eq!(keys(changed(&run)), keys(changes(&run, &example)));
        assert!(changed(&run).len() <= 4, "{:?}", keys(changed(&run)));
    }
}
