//! The inputs: the registry's fields in their sections, the rarely used on request, a search over all of them.

use crate::core::run::Run;
use crate::core::run::registry::{FIELDS, Field, Group};
use crate::core::t;
use crate::view::panels::derived::derived;
use crate::web::browser;
use crate::web::field::field_row;
use crate::web::fold::Fold;
use crate::web::history;
use crate::web::html::{effect, flag, text};
use crate::web::i18n::{say, translated};
use crate::web::render::nodes;
use crate::web::state::State;
use leptos::prelude::*;

/// The sections in the order of the page: group, what the keys of a part of it begin with, and title.
const SECTIONS: [(Group, &str, &str); 11] = [
    (Group::Training, "", "Run"),
    (Group::Training, "adapter.", "Fine-tuning"),
    (Group::Training, "offload.", "Offloading"),
    (Group::Training, "phases.", "Reinforcement learning"),
    (Group::Cluster, "", "Cluster"),
    (Group::Parallelism, "", "Layout"),
    (Group::Model, "", "Model"),
    (Group::Model, "model.moe.", "Experts (MoE)"),
    (Group::Model, "model.mla.", "Latent attention (MLA)"),
    (Group::Model, "model.vision.", "Vision tower (ViT)"),
    (Group::Method, "", "Method"),
];

/// The part of its group that a field belongs to.
fn part(field: &Field) -> &'static str {
    let of = SECTIONS.iter().map(|(_, part, _)| *part);
    of.rev().find(|part| !part.is_empty() && field.key.starts_with(part)).unwrap_or_default()
}

/// All inputs.
#[component]
pub(crate) fn Form() -> impl IntoView {
    let state = expect_context::<State>();
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
    let any = move || state.panels.search.with(|words| FIELDS.iter().any(|field| matches(field, words)));
    view! {
        <input
            type="text"
            class="find"
            maxlength="99"
            placeholder=say("Find a setting")
            aria-label=say("Find a setting")
            node_ref=find
            prop:value=text(move || state.panels.search.get())
            on:input=move |event| state.panels.search.set(event_target_value(&event))
            on:keydown=move |event| if event.key() == "Escape" { state.panels.search.set(String::new()) }
        />
        {SECTIONS.map(|(group, of, title)| section(state, group, of, title)).collect_view()}
        <p class="muted" hidden=flag(any)>
            {say("No setting is called that.")}
        </p>
    }
}

fn matches(field: &Field, words: &str) -> bool {
    let all = format!(
        "{} {} {} {} {} {}",
        field.label,
        field.symbol,
        field.key,
        field.hint,
        translated(field.label),
        translated(field.hint)
    )
    .to_ascii_lowercase();
    words.to_ascii_lowercase().split_whitespace().all(|word| all.contains(word))
}

fn section(state: State, group: Group, of: &'static str, title: &'static str) -> AnyView {
    let is_part = !of.is_empty();
    let chosen = RwSignal::new(None::<bool>);
    // Adapters have some that are rarely set.
    let folds = !is_part || of == "adapter.";
    let more = RwSignal::new(!folds);
    let fields = move || {
        let all = FIELDS.iter();
        all.filter(move |field| field.group == group && part(field) == of)
    };
    let searching = move || state.panels.search.with(|words| !words.trim().is_empty());
    let found = move |field: &Field| state.panels.search.with(|words| matches(field, words));
    let any_found = move || !searching() || fields().any(found);
    let changed = move || state.run.with(|run| fields().filter(|field| field.is_changed(run)).count());
    let has_issue = move |field: &Field| state.issues.with(|all| all.iter().any(|issue| issue.field == field.key));
    let opens = move || {
        let usual = match of {
            "" => !matches!(group, Group::Method),
            "adapter." => state.run.with(Run::is_tuned),
            "offload." | "phases." => changed() > 0,
            _ => false,
        };
        searching() || fields().any(has_issue) || chosen.get().unwrap_or(usual)
    };
    let open = Signal::from(Memo::new(move |_| opens()));
    // A field that is edited from elsewhere is shown; its section can be closed again.
    effect(move || {
        let edited = state.panels.edited.get();
        if fields().any(|field| field.key == edited) {
            chosen.set(Some(true));
        }
    });
    // Visible: what the search finds; else the usual fields, the others on request or where they have an issue.
    let visible = move |field: &'static Field| {
        if searching() {
            return found(field);
        }
        let used = move || state.run.with(|run| field.is_changed(run));
        let edited = move || state.panels.edited.get() == field.key;
        let usual = move || more.get() || used() || state.run.with(|run| field.is_usual(run));
        open.get() && (usual() || edited() || has_issue(field))
    };
    let row = move |field: &'static Field| {
        let is_visible = Memo::new(move |_| visible(field));
        move || {
            is_visible.get().then(|| match field.key {
                // What follows from the sizes above.
                "cp" => {
                    let sizes = nodes("derived", move || state.run.with(derived));
                    [field_row(state, field), sizes].into_any()
                }
                _ => field_row(state, field),
            })
        }
    };
    let has_more = folds && fields().any(|field| field.advanced);
    let count = move || match changed() {
        0 => String::new(),
        n => translated(t!("{n} changed", n)),
    };
    let content = view! {
        {fields().map(row).collect_view()}
        {has_more.then(|| view! {
            <button
                class="link more"
                hidden=flag(searching)
                aria-expanded=text(move || more.get().to_string())
                on:click=move |_| more.update(|more| *more = !*more)
            >
                {text(move || translated(if more.get() { "fewer settings" } else { "more settings" }))}
            </button>
        })}
    };
    let fold = Fold {
        id: None,
        class: if is_part { "fold sub" } else { "fold" },
        summary: view! { {say(title)}<span class="count">{text(count)}</span> }.into_any(),
        open,
        chosen,
        content: content.into_any(),
    };
    view! { <div class="group" hidden=flag(move || !any_found())>{fold.view()}</div> }.into_any()
}
