//! Inputs within a sentence.

use crate::core::issue::Issue;
use crate::core::run::Value;
use crate::core::run::registry::Field;
use crate::core::units::show_count;
use crate::web::browser;
use crate::web::browser::html::{flag, text};
use crate::web::browser::i18n::{say, translated};
use crate::web::form::field::{Draft, Now, Untaken, commit, text_input};
use crate::web::state::State;
use leptos::prelude::*;

/// The input of `field` within a sentence, as wide as its text, with its error below it.
pub(crate) fn inline_input(state: State, field: &'static Field) -> AnyView {
    let draft = RwSignal::new(None::<Draft>);
    let write = match field.key {
        "seq_len" => thousands,
        "tokens_total" => budget,
        _ => |text| text,
    };
    let now = Now::written(state, field, write);
    // As in the form, an issue of another field is shown here if it came from an edit of this field and this field can
    // mend it.
    let is_of = move |fault: &Issue| {
        fault.field == field.key || (state.panels.edited.get() == field.key && fault.is_mended_by(field.key))
    };
    let invalid = flag(move || state.unread_of(field).is_some() || state.fault().is_some_and(|fault| is_of(&fault)));
    let wide = text(move || {
        let draft = draft.with(|draft| draft.as_ref().map(|draft| draft.text.chars().count()));
        let length = draft.unwrap_or_else(|| now.with(|now| now.text.chars().count()));
        length.clamp(1, LONGEST).to_string()
    });
    let input = text_input(state, field, draft, now, invalid)
        .add_any_attr(leptos::attr::aria_label(say(field.label)))
        .add_any_attr(leptos::attr::size(wide));
    // Below the input while it has the focus. Screen readers get the error from the line of notes.
    let error = move || {
        let unread = state.unread_of(field);
        unread.or_else(|| state.fault().filter(is_of).map(|fault| fault.message)).map_or_else(String::new, translated)
    };
    let note = view! { <small class="at-field" aria-hidden="true">{text(error)}</small> };
    [input.into_any(), note.into_any()].into_any()
}

/// Largest width of an input in a sentence, in letters.
const LONGEST: usize = 20;

/// 15.6 T for 15600000000000.
fn budget(text: String) -> String {
    let Some(count) = text.parse::<f64>().ok().filter(|count| *count >= 1e6) else { return text };
    let short = show_count(count);
    // The short form is used only if it leaves out no digit.
    let unit = [1e6, 1e9, 1e12, 1e15].into_iter().rfind(|unit| count >= *unit).unwrap_or(1.0);
    let is_exact = (count / unit * 100.0).fract() < 1e-9 && count < 1e18;
    if is_exact { short } else { text }
}

/// 8k for 8192.
fn thousands(text: String) -> String {
    match text.parse::<u64>() {
        Ok(count) if count >= 1024 && count.is_multiple_of(1024) => format!("{}k", count / 1024),
        _ => text,
    }
}

/// The input of a number within a sentence. It shows `written` until it is edited; `read` converts the typed text to
/// that of the field.
pub(crate) fn worded_input(
    state: State,
    field: &'static Field,
    written: Signal<String>,
    read: fn(State, &str) -> String,
) -> AnyView {
    let draft = RwSignal::new(None::<Draft>);
    // A text with an error is shown until the state no longer has the error.
    let is_current = move |draft: &Draft| draft.error.is_none() || state.unread_of(field).is_some();
    let shown = move || draft.get().filter(is_current);
    let invalid = move || shown().is_some_and(|draft| draft.error.is_some());
    let value = move || shown().map_or_else(|| written.get(), |draft| draft.text);
    let wide = move || value().chars().count().clamp(1, 12).to_string();
    let untaken = Untaken::new();
    let take = move |text: String| {
        let error = commit(state, field, &read(state, &text)).err();
        state.note_text(field, error.clone());
        draft.update(|draft| {
            if let Some(draft) = draft {
                draft.error = error;
            }
        });
    };
    let typed = move |event| {
        let text = event_target_value(&event);
        draft.set(Some(Draft { text: text.clone(), after: String::new(), error: None }));
        untaken.put(text, take);
    };
    // Text that was not understood stays as typed.
    let left = move |_| {
        untaken.flush(take);
        draft.update(|draft| *draft = draft.take().filter(|draft| draft.error.is_some()));
    };
    view! {
        <input
            type="text"
            class:derived=flag(move || state.run.with(|run| field.get(run) == Value::Null))
            autocomplete="off"
            spellcheck="false"
            maxlength="24"
            size=text(wide)
            aria-label=say(field.label)
            aria-invalid=text(move || invalid().to_string())
            title=text(move || match shown().and_then(|draft| draft.error) {
                Some(error) => translated(error),
                None => translated(field.hint),
            })
            prop:value=text(value)
            on:input=typed
            on:blur=left
            on:focus=|event| browser::select_all(&event)
        />
    }
    .into_any()
}
