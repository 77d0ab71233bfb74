//! The inputs: the eight settings of how it is trained, a search over all settings, and the others in six groups that
//! open beside the column.

pub(crate) mod choice;
pub(crate) mod field;
pub(crate) mod history;
pub(crate) mod sentence;
pub(crate) mod worded;

use crate::core::run::registry::{FIELDS, Field, Group, Slot, field};
use crate::core::t;
use crate::io::dialect::{is_called, is_name_of};
use crate::view::node::markup::{Action, Node, el, inline, link_button, text as said_text};
use crate::view::panels::answers::{EXAMPLES, answers};
use crate::view::panels::changes::of_sheets;
use crate::view::panels::derived::derived;
use crate::view::panels::inputs::{COLUMN, SHEETS, SheetPart, fields, is_in_column, is_named, place};
use crate::view::panels::issues::list;
use crate::web::browser;
use crate::web::browser::html::{flag, text, view_of};
use crate::web::browser::i18n::{say, translated};
use crate::web::document::render::{nodes, patched};
use crate::web::document::shortcuts::to_suggestions;
use crate::web::form::field::{field_row, named_row};
use crate::web::state::State;
use leptos::prelude::*;

/// Opens the sheet of the field with this key, unless the column has it.
pub(crate) fn reveal(state: State, key: &str) {
    let found = field(key).filter(|field| !is_in_column(field)).and_then(place);
    if let Some((sheet, _)) = found {
        state.panels.search.set(String::new());
        state.panels.sheet.set(Some(sheet));
    }
}

/// All inputs.
#[component]
pub(crate) fn Form() -> impl IntoView {
    let state = expect_context::<State>();
    let panels = state.panels;
    let find = NodeRef::<leptos::html::Input>::new();
    // "/" anywhere outside a field goes to the search.
    let handle = window_event_listener(leptos::ev::keydown, move |event| {
        history::key(state, &event);
        if event.key() == "/" && !browser::is_typing() {
            event.prevent_default();
            if let Some(input) = find.get_untracked() {
                let _ = input.focus();
            }
        }
    });
    on_cleanup(move || handle.remove());
    let searches = Memo::new(move |_| panels.search.with(|words| !words.trim().is_empty()));
    let found = move |field: &Field| searches.get() && panels.search.with(|words| matches(field, words));
    let answered = move || {
        panels.search.with(|words| {
            let found = state.run.with(|run| answers(run, words, translated));
            let part = part_of_model(words);
            if part == Node::none() { found } else { Node::from_iter([part, found]) }
        })
    };
    let any = move || !searches.get() || FIELDS.iter().any(found) || answered() != Node::none();
    // Those of that name come first, then those that programs call so: the model has many of its parts' names.
    let found_row = move |field: &'static Field, nearness: Nearness| {
        let is_it = move |words: &String| Nearness::of(field, words) == nearness;
        let is_found = Memo::new(move |_| found(field) && panels.search.with(is_it));
        move || is_found.get().then(|| field_row(state, field))
    };
    let found_rows = move |nearness| FIELDS.iter().map(|field| found_row(field, nearness)).collect_view();
    let column =
        move || COLUMN.map(|(key, name, of)| field(key).map(|field| named_row(state, field, name, of))).collect_view();
    // An error of a setting that is not in sight.
    let elsewhere = view_of(move || {
        let fault = state.fault().filter(|fault| field(&fault.field).is_none_or(|field| !is_in_column(field)));
        list(fault.as_slice())
    });
    let on_paper = view_of(move || state.run.with(of_sheets));
    view! {
        <div class="find-row">
            <input
                type="text"
                class="find"
                maxlength="99"
                placeholder=say(t!("Setting, or {example}", example = EXAMPLES[0]))
                title=say(t!(
                    "Find one of {count} settings by its name, or type a run in one line: {example}",
                    count = FIELDS.len(),
                    example = EXAMPLES[1]
                ))
                aria-label=say("Find a setting")
                node_ref=find
                prop:value=text(move || panels.search.get())
                on:input=move |event| panels.search.set(event_target_value(&event))
                on:keydown=move |event| if event.key() == "Escape" { panels.search.set(String::new()) }
            />
            <kbd aria-hidden="true">"/"</kbd>
        </div>
        <div on:click=move |_| request_animation_frame(move || panels.search.set(String::new()))>
            {nodes("answers-found", answered)}
        </div>
        {Nearness::ALL.map(found_rows).collect_view()}
        <p class="muted" hidden=flag(any)>{say("No setting is called that.")}</p>
        {move || (!searches.get()).then(|| view! {
            <ul class="elsewhere" aria-live="polite" use:patched=elsewhere></ul>
            <h2>{say("How it is trained")}</h2>
            {column()}
            <button class="skip" on:click=|_| to_suggestions()>{say("To the layouts that do better")}</button>
            <p class="muted note">{say("Model, GPUs, sequence, batch and software are in the sentence above.")}</p>
            <div class="on-paper" aria-hidden="true" use:patched=on_paper></div>
            <div class="groups">{(0..SHEETS.len()).map(|at| group(state, at)).collect_view()}</div>
        })}
        {move || panels.sheet.get().map(|at| sheet(state, at))}
    }
}

/// How near a field that a search finds is to the words.
#[derive(Clone, Copy, PartialEq)]
enum Nearness {
    /// It has that name.
    Named,
    /// A program calls it so.
    Called,
    /// The words are in what is said of it.
    Said,
}

impl Nearness {
    const ALL: [Self; 3] = [Self::Named, Self::Called, Self::Said];

    fn of(field: &Field, words: &str) -> Self {
        match () {
            () if is_named(field, words) => Self::Named,
            () if is_name_of(field.key, words) => Self::Called,
            () => Self::Said,
        }
    }
}

/// The answer to a search for a part of the model's configuration that is no setting of that name: the shape of the
/// model.
fn part_of_model(words: &str) -> Node {
    let name = words.trim();
    let is_setting = || FIELDS.iter().any(|field| is_named(field, name));
    if name.to_ascii_lowercase().contains("model") || !is_name_of("model", name) || is_setting() {
        return Node::none();
    }
    let said = t!("Programs read {name} as a part of the model.", name = name.to_owned());
    let open = link_button("Open its shape").on(Action::Focus("model.hidden"));
    el("p", &[("class", "muted")], &[inline(said), said_text(" "), open])
}

/// True if the words of a search are all in what is said of `field`, or in what programs call it.
fn matches(field: &Field, words: &str) -> bool {
    let choices = match &field.slot {
        Slot::Choice { options, .. } => options().into_iter().flat_map(|option| [option.id, option.label]).collect(),
        _ => Vec::new(),
    };
    let haystack = format!(
        "{} {} {} {} {} {} {}",
        choices.join(" "),
        field.label,
        field.symbol,
        field.key,
        field.hint,
        translated(field.label),
        translated(field.hint)
    )
    .to_ascii_lowercase();
    let words = words.to_ascii_lowercase();
    words.split_whitespace().all(|word| haystack.contains(word) || is_called(field.key, word))
        || is_named(field, &words)
}

/// The button that opens a sheet, with the number of its settings and of those that are changed.
fn group(state: State, at: usize) -> AnyView {
    let opened = state.panels.sheet;
    let total = fields(at).count();
    let changed = move || state.run.with(|run| fields(at).filter(|(_, field)| field.is_changed(run)).count());
    let is_changed = flag(move || changed() > 0);
    let title = text(move || translated(t!("{n} changed", n = changed())));
    let press = move |_| opened.update(|opened| *opened = (*opened != Some(at)).then_some(at));
    view! {
        <button class="group" aria-expanded=text(move || (opened.get() == Some(at)).to_string()) on:click=press>
            {say(SHEETS[at].0)}<span class:changed=is_changed title=title>{total}</span>
        </button>
    }
    .into_any()
}

/// The settings of a group, over the results.
fn sheet(state: State, at: usize) -> AnyView {
    let (title, parts) = SHEETS[at];
    let close = move || state.panels.sheet.set(None);
    let part = |(part, (name, _)): (usize, &SheetPart)| {
        let rows = fields(at).filter(|(of, _)| *of == part).map(|(_, field)| field_row(state, field));
        let heading = (!name.is_empty()).then(|| view! { <h3>{say(*name)}</h3> });
        view! { {heading}{rows.collect_view()} }
    };
    let is_layout = fields(at).any(|(_, field)| field.group == Group::Parallelism);
    let sizes = is_layout.then(|| nodes("derived", move || state.run.with(derived)));
    view! {
        // The window listens for Escape: the sheet may be under the drawer, and the focus beside it.
        <div class="sheet" role="region" aria-label=say(title)>
            <div class="panel-head">
                <h2>{say(title)}</h2>
                <span class="spring"></span>
                <button class="link" on:click=move |_| close()>{say("Close")}</button>
            </div>
            {parts.iter().enumerate().map(part).collect_view()}
            {sizes}
        </div>
    }
    .into_any()
}
