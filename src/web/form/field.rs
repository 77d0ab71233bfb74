//! One setting of the form: label, input by kind, stepper, hint, and what is wrong with it.

use crate::core::issue::{Issue, Severity};
use crate::core::message::Message;
use crate::core::run::registry::{Field, Slot};
use crate::core::run::{Run, Value};
use crate::core::t;
use crate::view::choose::{self, AfterChoice};
use crate::view::node::glossary::{find, meaning};
use crate::view::node::markup::Node;
use crate::view::panels::issues::line;
use crate::web::browser;
use crate::web::browser::html::{flag, text, view_of};
use crate::web::browser::i18n::say;
use crate::web::document::render::patched;
use crate::web::form::choice::choice_select;
use crate::web::state::State;
use leptos::prelude::*;
use std::cell::Cell;
use std::time::Duration;

/// Milliseconds of computing for which keys may wait: what browsers call a long task is longer. With a frame of their
/// own keys are on the screen a little earlier, and figures a frame later.
const LONG: f64 = 50.0;

thread_local! {
    /// Milliseconds that the last text took to become figures.
    static TOOK: Cell<f64> = const { Cell::new(0.0) };
}

/// The text of an input that the Run has not taken yet: keys are painted before figures that take long to compute.
#[derive(Clone, Copy)]
pub(crate) struct Untaken(StoredValue<Option<String>>);

impl Untaken {
    pub(crate) fn new() -> Self {
        Self(StoredValue::new(None))
    }

    /// Gives `text` to `take` in the next task, so that keys and figures are painted in one frame; where the last
    /// figures took long, after the next painting. Of several texts before it the last one is given.
    pub(crate) fn put(self, text: String, take: impl Fn(String) + Copy + 'static) {
        let before = self.0.try_update_value(|waiting| waiting.replace(text)).flatten();
        if before.is_some() {
            return;
        }
        let measured = move || {
            let began = js_sys::Date::now();
            self.flush(take);
            // A task after it: what follows from the text is computed by then.
            set_timeout(move || TOOK.set(js_sys::Date::now() - began), Duration::ZERO);
        };
        if TOOK.get() < LONG { set_timeout(measured, Duration::ZERO) } else { browser::after_paint(measured) }
    }

    /// Gives what waits to `take` now.
    pub(crate) fn flush(self, take: impl Fn(String)) {
        if let Some(text) = self.0.try_update_value(Option::take).flatten() {
            take(text);
        }
    }
}

/// Text that is being typed into a field.
#[derive(Clone, PartialEq)]
pub(crate) struct Draft {
    pub(crate) text: String,
    /// The Run's value when this was typed: once the Run has another value, the draft is dropped.
    pub(crate) after: String,
    /// Why the text was not taken.
    pub(crate) error: Option<Message>,
}

/// A field's value in the Run.
#[derive(Clone, PartialEq)]
pub(crate) struct Now {
    pub(crate) text: String,
    /// It is not set: the text is what that means.
    derived: bool,
    changed: bool,
    /// The schedule decides it.
    fixed: Option<(u64, &'static str)>,
}

impl Now {
    /// The values of one field, looked up once for all of its elements.
    fn of(state: State, field: &'static Field) -> Memo<Self> {
        Self::written(state, field, |text| text)
    }

    /// The values of one field, with its text changed by `write`.
    pub(crate) fn written(state: State, field: &'static Field, write: fn(String) -> String) -> Memo<Self> {
        Memo::new(move |_| Self {
            text: write(state.text_of(field)),
            derived: state.run.with(|run| field.get(run) == Value::Null),
            changed: state.run.with(|run| field.is_changed(run)),
            fixed: state.fixed(field),
        })
    }
}

pub(crate) fn field_row(state: State, field: &'static Field) -> AnyView {
    named_row(state, field, field.label, field.symbol)
}

/// The row of `field` under a short name, with what it is of.
pub(crate) fn named_row(state: State, field: &'static Field, name: &'static str, of: &'static str) -> AnyView {
    let draft = RwSignal::new(None::<Draft>);
    let now = Now::of(state, field);
    let issues = move || {
        // Faults of a text in a sentence are said here, too.
        let unread = state.unread_of(field).map(|error| Issue::error(field.key, error));
        // Text that was not taken is spoken of alone: what else there is to say is about the value before it.
        unread.map_or_else(
            || {
                let edited = state.panels.edited.get() == field.key;
                // A text that is typed here may break another field, out of sight: it can be mended here, too.
                let is_here = |issue: &&Issue| issue.field == field.key || (edited && issue.is_mended_by(field.key));
                let issues = state.issues;
                let mut listed: Vec<Issue> = issues.with(|all| all.iter().filter(is_here).cloned().collect());
                listed.extend(now.with(|now| now.fixed).map(|(count, schedule)| {
                    let message = t!("{count}, fixed by {schedule}", count, schedule);
                    Issue::notice("virtual_stages", message)
                }));
                listed
            },
            |unread| vec![unread],
        )
    };
    let issues = Memo::new(move |_| issues());
    let is_error = |issue: &Issue| issue.severity == Severity::Error;
    let invalid = move || issues.with(|all| all.iter().any(is_error));
    let lines = view_of(move || issues.with(|all| all.iter().map(line).collect()));
    let reset = move |_| {
        draft.set(None);
        state.note_text(field, None);
        state.run.update(|run| {
            // The default is always accepted.
            let _ = field.set(run, &Value::Null);
        });
    };
    // The meaning of its label, computed on the first hover or focus.
    let looked = RwSignal::new(false);
    let word = find(field.label);
    // The meaning of some begins with their hint.
    let repeats = word.is_some_and(|word| word.meaning.to_lowercase().starts_with(field.hint));
    let means = view_of(move || match word {
        Some(word) if looked.get() => meaning(word),
        _ => Node::none(),
    });
    let control = match &field.slot {
        Slot::Choice { .. } => choice_select(state, field, field.label)
            .add_any_attr(leptos::attr::id(input_id(field)))
            .add_any_attr(leptos::attr::aria_describedby(described_by(field)))
            .into_any(),
        Slot::Toggle => toggle(state, field).into_any(),
        _ => {
            let input = text_input(state, field, draft, now, flag(invalid))
                .add_any_attr(leptos::attr::id(input_id(field)))
                .add_any_attr(leptos::attr::aria_describedby(described_by(field)));
            [input.into_any(), stepper(state, field, draft)].into_any()
        }
    };
    view! {
        <div
            class="field"
            class:found=flag(move || !state.panels.search.get().is_empty())
            data-field=field.key
            on:focusin=move |_| looked.set(true)
            on:pointerover=move |_| looked.set(true)
        >
            <div class="field-row">
                <label for=input_id(field) title=word.map(|word| say(word.meaning))>
                    {say(name)}
                    {(!of.is_empty()).then(|| view! { <small>" " {say(of)}</small> })}
                    <button
                        class="changed"
                        title=say("Changed: back to the default")
                        aria-label=say("Back to the default")
                        hidden=flag(move || !now.with(|now| now.changed))
                        on:click=reset
                    ></button>
                </label>
                {control}
            </div>
            <p
                class="hint"
                id=format!("{}-hint", input_id(field))
            >
                <span hidden=flag(move || repeats && looked.get())>{say(field.hint)}</span>
                " "
                <span class="means" use:patched=means></span>
            </p>
            <div
                id=format!("{}-issues", input_id(field))
                aria-live="polite"
                use:patched=lines
            ></div>
        </div>
    }
    .into_any()
}

/// The id of the field's input, for its label.
pub(crate) fn input_id(field: &Field) -> String {
    input_id_of(field.key)
}

/// The ids of the elements that describe the field.
fn described_by(field: &Field) -> String {
    format!("{0}-hint {0}-issues", input_id(field))
}

/// The id of the input of the field with this key.
pub(crate) fn input_id_of(key: &str) -> String {
    format!("f-{}", key.replace('.', "-"))
}

/// True if the text of `field` is more than a number.
fn is_wide(field: &Field) -> bool {
    matches!(field.slot, Slot::Counts | Slot::Numbers { .. } | Slot::Text | Slot::Set { .. })
}

/// Sets the next smaller or larger value.
fn step(state: State, field: &'static Field, draft: RwSignal<Option<Draft>>, up: bool) {
    if let Some(run) = state.run.with_untracked(|run| run.stepped(field, up)) {
        draft.set(None);
        state.note_text(field, None);
        take(state, field, run);
    }
}

/// The buttons for the next smaller and larger value; of a text none.
fn stepper(state: State, field: &'static Field, draft: RwSignal<Option<Draft>>) -> AnyView {
    let stepper = (!is_wide(field)).then(|| {
        view! {
            <span class="stepper">
                <button
                    tabindex="-1"
                    aria-label=say(t!("Less {setting}", setting = field.label))
                    on:click=move |_| step(state, field, draft, false)
                >
                    "‹"
                </button>
                <button
                    tabindex="-1"
                    aria-label=say(t!("More {setting}", setting = field.label))
                    on:click=move |_| step(state, field, draft, true)
                >
                    "›"
                </button>
            </span>
        }
    });
    stepper.into_any()
}

/// An input that the Run takes texts of, with the reason where it does not.
pub(crate) fn text_input(
    state: State,
    field: &'static Field,
    draft: RwSignal<Option<Draft>>,
    now: Memo<Now>,
    invalid: Signal<bool>,
) -> impl IntoView {
    let wide = is_wide(field);
    let value = move || {
        now.with(|now| match draft.get() {
            // A text that was not understood stands until it is taken back.
            Some(draft) if draft.after == now.text && (draft.error.is_none() || state.unread_of(field).is_some()) => {
                draft.text
            }
            _ => now.text.clone(),
        })
    };
    let untaken = Untaken::new();
    let text_now = move || now.with_untracked(|now| now.text.clone());
    let take = move |text: String| {
        let error = commit(state, field, &text).err();
        state.note_text(field, error.clone());
        state.panels.edited.set(field.key);
        draft.set(Some(Draft { text, after: text_now(), error }));
    };
    let typed = move |event| {
        let text = event_target_value(&event);
        let error = draft.with_untracked(|draft| draft.as_ref().and_then(|draft| draft.error.clone()));
        draft.set(Some(Draft { text: text.clone(), after: text_now(), error }));
        untaken.put(text, take);
    };
    // A value that was understood is shown as the calculator writes it; one that was not stays as typed.
    let left = move |_| {
        untaken.flush(take);
        draft.update(|draft| *draft = draft.take().filter(|draft| draft.error.is_some()));
    };
    let keys = move |event: web_sys::KeyboardEvent| {
        untaken.flush(take);
        let up = match event.key().as_str() {
            "ArrowUp" => true,
            "ArrowDown" => false,
            // "8 H100" is 8 of them: what was taken reads as the calculator writes it.
            "Enter" => {
                return draft.update(|draft| *draft = draft.take().filter(|draft| draft.error.is_some()));
            }
            _ => return,
        };
        event.prevent_default();
        step(state, field, draft, up);
    };
    view! {
        <input
            type="text"
            class=if wide { "wide" } else { "" }
            class:derived=flag(move || now.with(|now| now.derived))
            disabled=flag(move || now.with(|now| now.fixed.is_some()))
            inputmode=if wide { "text" } else { "decimal" }
            autocomplete="off"
            spellcheck="false"
            placeholder=say(if field.unit.is_empty() {
                t!("not set")
            } else {
                t!("not set ({unit})", unit = field.unit)
            })
            aria-invalid=text(move || invalid.get().to_string())
            title=say(if field.unit.is_empty() {
                field.hint.into()
            } else {
                t!("{hint} ({unit})", hint = field.hint, unit = field.unit)
            })
            prop:value=text(value)
            on:input=typed
            on:blur=left
            on:keydown=keys
        />
    }
}

/// Takes text into the Run, if it means something.
pub fn commit(state: State, field: &'static Field, text: &str) -> Result<(), Message> {
    // A count may come with its kind: "2048 H800".
    let named = || state.run.with_untracked(|run| run.with_gpus_named(text));
    if let Some(run) = (field.key == "gpus").then(named).flatten() {
        take(state, field, run);
        return Ok(());
    }
    let value = field.parse(text)?;
    let mut run = state.run.get_untracked();
    field.set(&mut run, &value)?;
    take(state, field, run);
    Ok(())
}

/// Shows `run`, into which a text of `field` was taken, with what follows it, which a notice names.
fn take(state: State, field: &'static Field, run: Run) {
    let before = state.run.get_untracked();
    if before == run {
        return;
    }
    let AfterChoice { run, notice } = choose::typed(&before, field, run);
    if let Some(notice) = notice {
        state.told.set(Some((run.clone(), notice)));
    }
    state.run.set(run);
}

fn toggle(state: State, field: &'static Field) -> impl IntoView {
    let on = move || {
        let value = match state.run.with(|run| field.get(run)) {
            Value::Null => state.resolved.with(|run| field.get(run)),
            value => value,
        };
        value == Value::Bool(true)
    };
    let flip = move |event| {
        let value = Value::Bool(event_target_checked(&event));
        state.run.update(|run| {
            // A toggle takes both.
            let _ = field.set(run, &value);
        });
    };
    view! {
        <span class="toggle">
            <input
                type="checkbox"
                id=input_id(field)
                aria-describedby=described_by(field)
                title=say(field.hint)
                prop:checked=flag(on)
                on:change=flip
            />
        </span>
    }
}
