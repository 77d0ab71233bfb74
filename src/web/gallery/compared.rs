//! The timelines of the schedules that are ticked, one below the other on one axis.

use crate::core::report::{Evaluation, ScheduleVariant};
use crate::core::run::Run;
use crate::core::t;
use crate::io::export::{Picture, stacked};
use crate::view::gallery::MOST;
use crate::view::gallery::stack::{axis, below, beside, chips, title, winner_in_brief};
use crate::view::node::action::TimelineAction;
use crate::view::node::markup::{Node, PanelAction, el, text};
use crate::view::panels::pipeline::colours;
use crate::view::views::View;
use crate::web::actions::offer_picture;
use crate::web::browser;
use crate::web::browser::html::{effect, flag, text as text_of, view_of};
use crate::web::browser::i18n::{say, shown, translated};
use crate::web::dialogs::share::open_share;
use crate::web::document::render::{Handler, handled, nodes};
use crate::web::state::State;
use crate::web::state::evaluated::evaluated;
use crate::web::timeline::look::{Lane, Size, TimelineLook, current};
use crate::web::timeline::minimap::minimap;
use crate::web::timeline::surface::surface;
use crate::web::timeline::zoom_buttons;
use leptos::prelude::*;
use std::sync::Arc;

/// Least and largest height of the rows of one schedule in a frame, pixels: four schedules are seen in a frame of 400.
const FRAMED: [f64; 2] = [56.0, 110.0];
/// Pixels around all schedules of a frame, and around the rows of each.
const AROUND: [f64; 2] = [150.0, 8.0];

/// Height of the rows of each of `count` schedules in a frame.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few pixels
fn rows_in_frame(count: usize) -> u32 {
    let each = (browser::window_height() - AROUND[0]) / count.max(1) as f64 - AROUND[1];
    each.clamp(FRAMED[0], FRAMED[1]) as u32
}

/// The timelines of what is ticked, on one axis.
pub fn compared(state: State) -> AnyView {
    let ticked = Memo::new(move |_| {
        let evaluation = is_seen(state).then(|| state.evaluation()).flatten()?;
        let run = evaluation.scenario.run.clone();
        let (ticked, limit) = state.view.gallery.with(|look| (look.ticked(&run), look.limit(&run)));
        Some((run, limit, ticked))
    });
    let variant = move |at: usize| {
        let asked = ticked.get();
        asked.and_then(|(_, _, ticked)| ticked.get(at).copied())
    };
    let set = move |at: usize| {
        let (run, limit, ticked) = ticked.get()?;
        let variant = ticked.get(at)?;
        Some((run.clone(), variant.set(&run, limit)))
    };
    let framed = state.view.embed.is_some();
    // In a frame nothing is ticked later.
    let count = untrack(move || {
        let ticked = |run: &Run| state.view.gallery.with(|look| look.ticked(run).len());
        state.run.with(ticked)
    });
    let size = if framed { Size::Filling(rows_in_frame(count)) } else { Size::Low };
    let lanes: [Lane; MOST] = std::array::from_fn(|at| {
        let run = Memo::new(move |_| {
            let (run, set) = set(at)?;
            run.with_texts(&set)
        });
        let lane = Lane::low(current(evaluated(move || run.get())));
        Lane { size, ..lane }
    });
    // The instant under the cursor is that of all views.
    let look = TimelineLook { clock: expect_context::<TimelineLook>().clock, ..TimelineLook::over(&lanes) };
    let handler: Handler = Arc::new(move |action| {
        let PanelAction::Timeline(action) = action else {
            return;
        };
        if !look.zoomed(action) {
            save(state, look, &lanes, action == TimelineAction::Png);
        }
    });
    let tools = view_of(tools);
    let each = move |at: usize| {
        let lane: Lane = lanes[at];
        let title = move || match (variant(at), set(at)) {
            (Some(variant), Some((run, set))) => title(&run, at, variant, set),
            _ => Node::none(),
        };
        let figures = move || {
            let cursor = look.clock.get();
            let unit = state.view.unit.get();
            lane.prepared
                .get()
                .map_or_else(Node::none, |prepared| lane.curve.with(|curve| beside(&prepared, curve, cursor, unit)))
        };
        view! {
            <div class="lane" hidden=flag(move || variant(at).is_none())>
                {nodes("lane-head", title)}
                {surface(state, look, lane, ().into_any())}
                {nodes("lane-figures", figures)}
            </div>
        }
    };
    let key = move || {
        let drawn: Vec<_> = lanes.iter().filter_map(|lane| lane.prepared.get()).collect();
        let drawn: Vec<&Evaluation> = drawn.iter().map(|one| &*one.evaluation).collect();
        colours(&drawn, look.notes(&lanes))
    };
    let foot = move || axis(look.view(), look.clock.get());
    let fastest = Signal::derive(move || {
        let drawn: Vec<_> = (0..MOST).filter_map(|at| variant(at).zip(lanes[at].prepared.get())).collect();
        let drawn: Vec<_> = drawn.iter().map(|(one, of)| (*one, &**of)).collect();
        winner_in_brief(&drawn).map_or_else(Node::none, text)
    });
    let words = move || {
        let drawn: Vec<_> = (0..MOST).filter_map(|at| variant(at).zip(lanes[at].prepared.get())).collect();
        let drawn: Vec<_> = drawn.iter().map(|(one, of)| (*one, &**of)).collect();
        below(&drawn, state.view.unit.get())
    };
    view! {
        {(!framed).then(|| bar(state, ticked, fastest))}
        <section class="compared" id="stack" aria-labelledby="compared-title" hidden=flag(move || variant(0).is_none())>
            <div class="panel-head">
                <h2 id="compared-title">{say("Compared on one axis")}</h2>
                <small>
                    {say("memory of each schedule's fullest rank below its timeline; the line is what the GPU has")}
                </small>
                <span class="spring"></span>
                {framed.then(|| nodes("legend", key))}
                <span class="tools"><span class="buttons" use:handled=(tools, handler)></span></span>
            </div>
            {std::array::from_fn::<_, MOST, _>(each)}
            {nodes("stack-axis", foot)}
            {minimap(look)}
            {nodes("against", words)}
        </section>
    }
    .into_any()
}

/// Ticked schedules, at the bottom of the window, with the way to the timelines while they are out of sight.
fn bar(state: State, ticked: Memo<Option<(Run, u64, Vec<ScheduleVariant>)>>, fastest: Signal<Node>) -> AnyView {
    let list = move || {
        let chosen = state.view.gallery.with(|look| look.ticked.is_some());
        let ticked = ticked.get().filter(|_| chosen);
        ticked.map_or_else(Vec::new, |(_, _, ticked)| ticked)
    };
    let in_sight = RwSignal::new(false);
    let look = move || {
        let height = browser::window_height();
        let area = browser::by_id("stack").map(|stack| stack.get_bounding_client_rect());
        in_sight.set(area.is_some_and(|area| area.top() < height - REACH && area.bottom() > REACH));
    };
    let handle = window_event_listener_untyped("scroll", move |_| look());
    on_cleanup(move || handle.remove());
    effect(move || {
        list();
        request_animation_frame(look);
    });
    let clear = move |_| state.view.change(|view| view.gallery.ticked = None);
    let see = move |_| {
        if let Some(stack) = browser::by_id("stack") {
            stack.scroll_into_view();
        }
    };
    let count = text_of(move || translated(t!("{count} compared", count = list().len())));
    view! {
        <div
            class="compared-bar"
            role="region"
            aria-label=say("Compared schedules")
            hidden=flag(move || list().is_empty())
        >
            <b>{count}</b>
            {nodes("chips", move || chips(&list()))}
            {nodes("winner", move || fastest.get())}
            <span class="spring"></span>
            <button class="quiet clear" on:click=clear>{say("Clear")}</button>
            <button on:click=move |_| open_share(state, true)>{say("Embed")}</button>
            <button class="main" on:click=see hidden=flag(move || list().len() < 2 || in_sight.get())>{say("See the \
                stack")}</button>
        </div>
    }
    .into_any()
}

/// Pixels of the timelines that are in sight at least before they count as seen: the bar covers as many.
const REACH: f64 = 120.0;

/// Zoom, and the menu that saves.
fn tools() -> Node {
    let file = |action: TimelineAction, label: &'static str| {
        el("button", &[], &[text(label)]).on(PanelAction::Timeline(action))
    };
    let files = [file(TimelineAction::Svg, "SVG"), file(TimelineAction::Png, "PNG")];
    let menu = [el("summary", &[], &[text("Save picture")]), el("div", &[], &files)];
    let menu = el("details", &[("class", "menu")], &menu);
    zoom_buttons().chain([menu]).collect()
}

/// All timelines as one picture.
fn save(state: State, look: TimelineLook, lanes: &[Lane], png: bool) {
    let drawn: Vec<_> = lanes.iter().filter_map(|lane| Some((lane, lane.prepared.get_untracked()?))).collect();
    let (_, catalogue) = untrack(shown);
    let pictures: Vec<Picture> = drawn
        .iter()
        .map(|(lane, prepared)| Picture {
            evaluation: &prepared.evaluation,
            sums: &prepared.sums,
            view: look.seen(),
            width: look.width.get_untracked().max(640.0),
            rank: lane.rank.get_untracked(),
            theme: state.view.theme.get_untracked(),
            catalogue: &catalogue,
        })
        .collect();
    let svg = stacked(&pictures, state.view.unit.get_untracked(), None);
    if let Some(target) = browser::by_id("gallery").or_else(|| browser::by_id("compared-title")) {
        offer_picture(&target, "schedules", png, Some(svg));
    }
}

/// True if the gallery is shown.
pub(super) fn is_seen(state: State) -> bool {
    state.view.open.get() == View::Schedules || state.view.embed.is_some()
}
