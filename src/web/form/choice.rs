//! A list to choose from: presets, and settings that are one of a few.

use crate::core::advice::fit::words;
use crate::core::issue::Issue;
use crate::core::report::{evaluate, with_schedule};
use crate::core::run::follow::{chosen, following};
use crate::core::run::presets::by_maker;
use crate::core::run::registry::{self, FIELDS, Field, Slot, clear_parts};
use crate::core::run::{Choice, OneOf, Run, Value};
use crate::core::search::paired::with_pairs;
use crate::core::t;
use crate::view::panels::chosen::LayoutOrigin;
use crate::web::browser::html::{flag, text};
use crate::web::browser::i18n::{say, translated};
use crate::web::state::{State, fixed_chunks};
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
    let choose = move |event| {
        let id = event_target_value(&event);
        let value = if id.is_empty() { Value::Null } else { Value::Text(id) };
        if field.key == "schedule"
            && let Value::Text(id) = &value
        {
            return choose_schedule(state, id);
        }
        if ["model", "gpu", "stack"].contains(&field.key) {
            state.history.get_value().begin();
        }
        let before = state.run.get_untracked();
        let mut run = before.clone();
        if field.key == "gpu" {
            run = run.with_price_of_kind();
        }
        // A preset is chosen whole: what was changed of the one before goes with it.
        clear_parts(&mut run, field.key);
        // Every id of the list is accepted.
        let _ = field.set(&mut run, &value);
        if let Some((next, told)) = followed(state, &before, &run, field.key) {
            state.told.set(Some((next.clone(), told)));
            run = next;
        }
        state.run.set(run);
    };
    let option = move |Choice { id, label }: Choice| {
        view! { <option value=id prop:selected=flag(move || current.with(|now| *now == id))>{say(label)}</option> }
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
        <select aria-label=say(label) title=text(title) on:change=choose>
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

/// `run`, in which `key` was chosen after `before`, with what follows the choice, and a notice at its first setting
/// that names all of it, with undo; none where nothing follows, or where it cannot work.
fn followed(state: State, before: &Run, run: &Run, key: &'static str) -> Option<(Run, Issue)> {
    let chooses = state.view.follows.get_untracked();
    let set = following(before, run, key, chooses);
    let next = run.with_texts(&set)?;
    let first = set.first()?.0;
    let words = t!("Set with {schedule}: {settings}", schedule = chosen(run, key), settings = words(&set));
    let keys = set.iter().map(|(key, _)| *key);
    let back = keys.filter_map(|key| Some((key, registry::field(key)?.text(run).unwrap_or_default()))).collect();
    Some((next, Issue::notice(first, words).with_fixes(back).labelled("undo")))
}

/// Chooses a schedule and sets what it needs besides; a notice at that field names it, with undo.
fn choose_schedule(state: State, id: &str) {
    let run = state.run.get_untracked();
    let set = with_schedule(&run, id);
    let Some(next) = run.with_texts(&set) else {
        return;
    };
    let changed = next.virtual_stages != run.virtual_stages && fixed_chunks(&next).is_none();
    let told = changed.then(|| {
        let chunks = t!("Virtual stages set to {count}", count = next.virtual_stages);
        let back = vec![("schedule", run.schedule.id().to_owned()), ("virtual_stages", run.virtual_stages.to_string())];
        let issue = Issue::notice("virtual_stages", chunks).with_fixes(back).labelled("undo");
        (next.clone(), issue)
    });
    let fixed = with_pipeline(&next).unwrap_or_else(|| next.clone());
    // Passes run in pairs in few layouts: where it is not the person's own, it is one of these.
    let origin = state.layout.get_value().origin.get_untracked();
    let is_own =
        matches!(origin, LayoutOrigin::Yours | LayoutOrigin::Link | LayoutOrigin::File | LayoutOrigin::Published);
    let set = if is_own || run.schedule == fixed.schedule { None } else { with_pairs(&fixed) };
    let fixed = set.and_then(|set| fixed.with_texts(&set)).unwrap_or(fixed);
    let told = if fixed == next { told } else { Some((fixed.clone(), along(&run, &fixed))) };
    state.told.set(told);
    state.run.set(fixed);
}

/// A notice that names all that was set along with the schedule of `after`, which was chosen after `before`, with undo
/// of all of it.
fn along(before: &Run, after: &Run) -> Issue {
    let differing = || FIELDS.iter().filter(|field| field.get(before) != field.get(after));
    let set = |run: &Run| differing().map(|field| (field.key, field.text(run).unwrap_or_default())).collect::<Vec<_>>();
    let named: Vec<_> = set(after).into_iter().filter(|(key, _)| *key != "schedule").collect();
    let words =
        t!("Set with {schedule}: {settings}", schedule = after.schedule.choice().label, settings = words(&named));
    Issue::notice("pp", words).with_fixes(set(before)).labelled("undo")
}

/// A Run without a pipeline that has none of its schedule, with the sizes that the schedule needs.
fn with_pipeline(next: &Run) -> Option<Run> {
    if next.pp > 1 {
        return None;
    }
    let errors = evaluate(next).err()?;
    let fix = errors.iter().flat_map(Issue::fixes).find(|fix| fix.set.iter().any(|(key, _)| *key == "pp"))?;
    next.with_texts(&fix.set)
}
