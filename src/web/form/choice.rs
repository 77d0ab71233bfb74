//! A list to choose from: presets, and settings that are one of a few.

use crate::core::run::presets::by_maker;
use crate::core::run::registry::{Field, Slot};
use crate::core::run::{Choice, Value};
use crate::core::t;
use crate::view::choose::{AfterChoice, choose, label_in};
use crate::web::browser::html::{flag, text};
use crate::web::browser::i18n::{say, translated};
use crate::web::state::State;
use leptos::prelude::*;

/// The field whose being unset is a choice like the others.
const ADAPTER: &str = "adapter.method";

/// A list to choose from; a field that may be unset begins with what it then means. The form gives its own the id.
pub(crate) fn choice_select(state: State, field: &'static Field, label: &'static str) -> impl IntoView {
    let options = match &field.slot {
        Slot::Choice { options, .. } => options(),
        _ => Vec::new(),
    };
    let current = Memo::new(move |_| state.run.with(|run| field.text(run).unwrap_or_default()));
    let meant = {
        let options = options.clone();
        move || {
            if field.key == "model" {
                return translated(state.run.with(|run| run.model.title()));
            }
            if field.key == ADAPTER {
                return translated(t!("all weights"));
            }
            if field.key == "recompute" {
                // A number of layers or a list of modules is none of the list.
                return translated(state.run.with(|run| run.recompute.words()));
            }
            let id = state.resolved.with(|run| field.text(run));
            let id = id.unwrap_or_default();
            let label = options.iter().find(|option| option.id == id).map(|option| option.label);
            label.map_or_else(|| "–".to_owned(), |label| translated(t!("{value} (preset)", value = label)))
        }
    };
    let unset = move || current.with(String::is_empty);
    let change = move |event| {
        let id = event_target_value(&event);
        let value = if id.is_empty() { Value::Null } else { Value::Text(id) };
        if ["model", "gpu", "stack"].contains(&field.key) {
            state.history.get_value().begin();
        }
        let origin = state.layout.get_value().origin.get_untracked();
        let follows = state.view.follows.get_untracked();
        let AfterChoice { run, notice } =
            state.run.with_untracked(|before| choose(before, field, &value, origin, follows));
        state.told.set(notice.map(|notice| (run.clone(), notice)));
        let pairs = run.schedule.pairs_passes();
        state.run.set(run);
        if field.key == "schedule" {
            state.view.follow_schedule(pairs);
        }
    };
    let option = move |option: Choice| {
        let Choice { id, .. } = option;
        let label = match field.key {
            "recompute" => text(move || translated(state.run.with(|run| label_in(run, field, option)))),
            _ => say(option.label),
        };
        view! { <option value=id prop:selected=flag(move || current.with(|now| *now == id))>{label}</option> }
    };
    let hidden = flag(move || !unset() && field.key != ADAPTER);
    // Where there is no room for the name, the title has it.
    let title = {
        let (options, meant) = (options.clone(), meant.clone());
        move || {
            let shown = current.with(|now| options.iter().find(|option| option.id == *now).map(|option| option.label));
            let name = shown.map_or_else(&meant, translated);
            format!("{name}: {}", translated(field.hint))
        }
    };
    view! {
        <select aria-label=say(label) title=text(title) on:change=change>
            <option value="" hidden=hidden prop:selected=flag(unset)>{text(meant)}</option>
            {if field.key == "model" {
                let group = |(maker, models): (&'static str, Vec<Choice>)| {
                    view! { <optgroup label=maker>{models.into_iter().map(option).collect_view()}</optgroup> }
                };
                by_maker().into_iter().map(group).collect_view().into_any()
            } else {
                options.into_iter().map(option).collect_view().into_any()
            }}
        </select>
    }
}
