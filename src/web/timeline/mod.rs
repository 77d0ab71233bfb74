//! The pipeline panel: the timeline of the Run's schedule, below it that of a second schedule, and a comparison of
//! both.

mod custom;
pub(crate) mod export;
mod first;
mod keys;
pub mod look;
pub(crate) mod minimap;
mod overlay;
pub(crate) mod surface;

use crate::core::message::verbatim;
use crate::core::report::{Evaluation, MAX_OPS_AT_ONCE};
use crate::core::run::OneOf;
use crate::core::t;
use crate::view::charts::shape::Shape;
use crate::view::node::action::TimelineAction;
use crate::view::node::markup::{Action, Node, PanelAction, el, text};
use crate::view::panel::{Panel, Tab};
use crate::view::panels::pipeline::{critical, legend, messages_drawn};
use crate::view::panels::schedules::{ComparedSchedule, against, compare_options};
use crate::view::views::View;
use crate::web::browser::html::{effect, flag, text as text_of, view_of};
use crate::web::browser::i18n::say;
use crate::web::document::choice_row::views;
use crate::web::document::panel::{fold, shown};
use crate::web::document::render::{Handler, handled, nodes, patched};
use crate::web::state::State;
use crate::web::timeline::look::TimelineLook;
use leptos::prelude::*;
use std::iter;
use std::sync::Arc;

pub(crate) use first::FirstTimeline;

/// The pipeline panel, with the other panels of its tab as choices in its head.
#[component]
pub(crate) fn TimelinePanel() -> impl IntoView {
    let state = expect_context::<State>();
    let look = expect_context::<TimelineLook>().large(state);
    let handler: Handler = Arc::new(move |action| {
        let PanelAction::Timeline(action) = action else {
            return;
        };
        look.zoomed(action);
    });
    let tools = view_of(|| zoom_buttons().collect());
    let compare = move |event| {
        let id = event_target_value(&event);
        state.view.change(|view| view.compare = (!id.is_empty()).then_some(id));
    };
    let options = view_of(move || {
        let chosen = state.view.compare.get();
        compare_options(chosen.as_deref().unwrap_or_default())
    });
    let split = shown(state, move || split(look));
    let (names, panels): (Vec<_>, Vec<_>) = Panel::offered(Tab::Pipeline).unzip();
    let of_splits = panels.iter().position(|panel| *panel == Panel::Splits).map_or(0, |at| at + 1);
    // The address says whether even and uneven layers are shown.
    let chosen = RwSignal::new(if state.view.now().splits { of_splits } else { 0 });
    effect(move || {
        let (splits, is_shown) = (state.view.splits.get(), chosen.get_untracked() == of_splits);
        if splits != is_shown {
            chosen.set(if splits { of_splits } else { 0 });
        }
    });
    effect(move || {
        let splits = chosen.get() == of_splits;
        state.view.change(|view| view.splits = splits);
    });
    let content = shown(state, move || {
        let panel = *panels.get(chosen.get().checked_sub(1)?)?;
        Some(match panel {
            Panel::Gradients(_) => Panel::Gradients(state.view.chosen.get().policy),
            _ => panel,
        })
    });
    view! {
        <section aria-labelledby="pipeline-title">
            <div class="panel-head">
                <h2 id="pipeline-title">{say("Pipeline timeline")}</h2>
                <span class="spring"></span>
                {views(iter::once("timeline").chain(names), chosen)}
            </div>
            <div hidden=flag(move || chosen.get() == 0) use:patched=content></div>
            <div hidden=flag(move || chosen.get() != 0)>
                <p class="tools">
                    <select
                        id="compare"
                        aria-label=say("Compare with another schedule")
                        on:change=compare
                        use:patched=options
                    ></select>
                    <button
                        id="critical"
                        title=say("Draw the chain of ops that fixes the time")
                        aria-pressed=text_of(move || look.path.get().to_string())
                        on:click=move |_| look.path.update(|shown| *shown = !*shown)
                    >
                        {say("critical path")}
                    </button>
                    <span class="buttons" use:handled=(tools, handler)></span>
                    <span class="spring"></span>
                    {nodes("more", gallery_link)}
                </p>
                {custom::custom(state)}
                <div class="stale-able" class:stale=flag(move || state.is_stale() || !state.is_drawn())>
                    {nodes("legend", move || shown_legend(look))}
                    {nodes("messages-drawn", move || shown_messages(state, look))}
                    {surface::surface(state, look, look.own, ().into_any())}
                    {nodes("against", move || comparison(state, look))}
                    {surface::surface(state, look, look.other, ().into_any())}
                    {minimap::minimap(look)}
                    {nodes("path-note", move || path_note(look))}
                    <div class="uneven" use:patched=split></div>
                </div>
                {fold(state, "The same as a table", || Panel::Ranks)}
            </div>
        </section>
    }
}

/// The button that opens the view of all schedules.
fn gallery_link() -> Node {
    el("button", &[("class", "link")], &[text("All schedules for this run")]).on(Action::Show(View::Schedules))
}

/// The Run's own schedule, drawn as the first timeline.
fn own(look: TimelineLook) -> Option<std::sync::Arc<crate::view::charts::prepared::Prepared>> {
    look.own.prepared.get()
}

fn button(action: TimelineAction, label: &'static str, title: &'static str) -> Node {
    el("button", &[], &[text(label)]).title(title).label(title).on(PanelAction::Timeline(action))
}

/// The buttons that zoom in, zoom out and show the whole axis.
pub(crate) fn zoom_buttons() -> impl Iterator<Item = Node> {
    use TimelineAction::{Fit, In, Out};
    [button(In, "+", "Zoom in (W)"), button(Out, "−", "Zoom out (S)"), button(Fit, "fit", "Fit all of it (0)")]
        .into_iter()
}

/// The legend of both timelines.
fn shown_legend(look: TimelineLook) -> Node {
    own(look).map_or_else(Node::none, |own| {
        let other = look.other.prepared.get();
        let other = other.as_ref().map(|other| &*other.evaluation);
        let notes = look.notes(&[look.own, look.other]);
        legend(&own.evaluation, other, Shape::of(own.ranks(), own.fullest()).ranks.stride, notes)
    })
}

/// The choice of messages that are drawn in the blocks.
fn shown_messages(state: State, look: TimelineLook) -> Node {
    let chosen = state.view.chosen.get().beside;
    own(look).map_or_else(Node::none, |own| messages_drawn(&own.evaluation, chosen))
}

/// The sentence on the critical path, while the path is drawn.
fn path_note(look: TimelineLook) -> Node {
    match own(look) {
        Some(own) if look.path.get() => text(critical(own.critical_path())),
        _ => Node::none(),
    }
}

/// The panel of other splits of the layers; none for long schedules, since it simulates the schedule for each split.
fn split(look: TimelineLook) -> Option<Panel> {
    let items = own(look)?.evaluation.order.items();
    (items as u64 <= MAX_OPS_AT_ONCE).then_some(Panel::Uneven)
}

/// The second schedule compared with the first, or the reason why it has no timeline.
fn comparison(state: State, look: TimelineLook) -> Node {
    let Some(id) = state.view.compare.get() else {
        return Node::none();
    };
    let (Some(own), Some(name)) = (own(look), crate::core::pipeline::schedule(&id)) else {
        return Node::none();
    };
    let note = match look.other.prepared.get() {
        Some(other) => {
            let compared = |evaluation: &Evaluation| {
                let schedule = evaluation.report.pipeline.schedule;
                ComparedSchedule::new(verbatim(schedule.choice().label), evaluation)
            };
            let (own, other) = (&own.evaluation, &other.evaluation);
            against(&own.scenario.run, &compared(own), &compared(other), state.view.unit.get())
        }
        None => t!("{schedule} cannot run here: the table below says why.", schedule = name.name()),
    };
    el("p", &[("role", "status")], &[text(&note)])
}
