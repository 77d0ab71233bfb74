//! The gallery: figures and pictures of all schedules from the worker, and those that are ticked as whole timelines.

use crate::core::report::{ScheduleRow, Variant};
use crate::core::run::Run;
use crate::core::t;
use crate::io::export::{Picture, stacked};
use crate::view::gallery::sketch::{Axis, Sketch};
use crate::view::gallery::stack::{axis, below, beside, title};
use crate::view::gallery::{Gallery, MOST, cards, head};
use crate::view::node::action::TimelineAction;
use crate::view::node::markup::{Action, Node, el, text};
use crate::view::views::View;
use crate::web::actions::offer_picture;
use crate::web::browser;
use crate::web::evaluated::evaluated;
use crate::web::html::{effect, flag, text as text_of, view_of};
use crate::web::i18n::{say, translated};
use crate::web::render::{Handler, handled, nodes, patched};
use crate::web::state::State;
use crate::web::timeline::{Lane, Look, minimap, prepared, surface, zoom_buttons};
use crate::web::worker::{Job, Progress, Reply, Request, request};
use leptos::prelude::*;
use std::sync::Arc;

/// What was asked of the worker: all schedules of this Run with this limit.
type Asked = (Run, u64);

/// Everything that the gallery follows.
#[derive(Clone, Copy)]
struct Page {
    state: State,
    rows: RwSignal<(Option<Asked>, Vec<ScheduleRow>)>,
    /// Of one question and one axis.
    sketches: RwSignal<Vec<(Variant, Sketch)>>,
    axis: Memo<Option<Axis>>,
    left: RwSignal<usize>,
}

/// The view, from when it is first opened on; hidden while another is.
pub fn gallery(state: State) -> AnyView {
    let opens = move || state.open.get() == View::Schedules;
    let opened = Memo::new(move |was: Option<&bool>| was == Some(&true) || opens());
    let shown = move || {
        opened.get().then(|| {
            view! { <main class="gallery" id="gallery" tabindex="-1" hidden=flag(move || !opens())>{schedules(state)}</main> }
        })
    };
    shown.into_any()
}

/// Pictures of all schedules, and the timelines of those that are ticked.
pub fn schedules(state: State) -> AnyView {
    let page = Page {
        state,
        rows: RwSignal::new((None, Vec::new())),
        sketches: RwSignal::new(Vec::new()),
        axis: Memo::new(move |_| {
            let whole = state.gallery.with(|look| look.whole);
            Some(Axis::of(&*state.evaluation()?, whole))
        }),
        left: RwSignal::new(0),
    };
    page.simulate();
    page.draw();
    let head = view_of(move || page.view(|gallery| head(gallery, page.left.get())));
    let cards = view_of(move || page.view(cards));
    view! {
        <div class="gallery-head" use:patched=head></div>
        {limit(state)}
        <div class="stale-able" class:stale=flag(move || state.is_stale()) use:patched=cards></div>
        {compared(state)}
    }
    .into_any()
}

impl Page {
    /// What `view` makes of everything that is known.
    fn view(self, view: impl Fn(&Gallery) -> Node) -> Node {
        let (Some(own), Some(axis)) = (self.state.evaluation(), self.axis.get()) else {
            return Node::none();
        };
        let (look, unit) = (self.state.gallery.get(), self.state.unit.get());
        self.rows.with(|(_, rows)| {
            self.sketches.with(|sketches| {
                let sketch = |variant| {
                    let mut each = sketches.iter();
                    each.find(|(of, _)| *of == variant).map(|(_, one)| one)
                };
                view(&Gallery {
                    own: &own,
                    rows,
                    sketch: &sketch,
                    axis,
                    look: &look,
                    unit,
                })
            })
        })
    }

    /// What is shown: none while another view is.
    fn asked(self) -> Option<Asked> {
        let state = self.state;
        let seen = state.open.get() == View::Schedules || state.embed().is_some();
        let evaluation = seen.then(|| state.evaluation()).flatten()?;
        let run = evaluation.scenario.run.clone();
        let limit = state.gallery.with(|look| look.limit(&run));
        Some((run, limit))
    }

    /// Figures of all schedules, again with each Run. Rows of another Run stay until all of this one are there.
    fn simulate(self) {
        let requested = StoredValue::new(None::<Request>);
        let wanted = Memo::new(move |_| self.asked());
        effect(move || {
            if let Some(before) = requested.get_value() {
                before.cancel();
            }
            let Some((run, limit)) = wanted.get() else {
                return;
            };
            let all = Variant::all(&run);
            self.left.set(all.len());
            let mut fresh: Vec<ScheduleRow> = Vec::new();
            let job = Job::AllSchedules(run.clone(), limit);
            let request = request(job, move |progress| {
                let Progress::Reply(Reply::Schedule(figures)) = progress else {
                    return;
                };
                let variant = all.get(fresh.len());
                let row = |variant: &Variant| ScheduleRow::of(&run, *variant, limit, figures);
                fresh.extend(variant.map(row));
                let left = all.len() - fresh.len();
                let of_this = self.rows.try_with_untracked(|(of, _)| of.is_none());
                // The view may be gone by now.
                let _ = self.left.try_set(left);
                if left == 0 {
                    let asked = Some((run.clone(), limit));
                    let _ = self.rows.try_set((asked, std::mem::take(&mut fresh)));
                } else if of_this == Some(true) {
                    let _ = self.rows.try_update(|(_, rows)| rows.clone_from(&fresh));
                }
            });
            requested.set_value(Some(request));
        });
    }

    /// Pictures of all rows, those first that are in sight.
    fn draw(self) {
        let requested = StoredValue::new(None::<Request>);
        let wanted = Memo::new(move |_| {
            let asked = self.rows.with(|(asked, _)| asked.clone())?;
            Some((asked, self.axis.get()?))
        });
        effect(move || {
            if let Some(before) = requested.get_value() {
                before.cancel();
            }
            self.sketches.set(Vec::new());
            let Some(((run, limit), axis)) = wanted.get() else {
                return;
            };
            // Once the rows are shown, so that it is known where they stand.
            request_animation_frame(move || {
                let all = Variant::all(&run);
                let mut which: Vec<usize> = (0..all.len()).collect();
                crate::core::sort::sort_by(&mut which, |a, b| {
                    let far = |at: usize| distance(all[at]);
                    far(*a).total_cmp(&far(*b))
                });
                let order: Vec<Variant> = which.iter().map(|at| all[*at]).collect();
                let mut order = order.into_iter();
                let job = Job::Sketches {
                    run,
                    limit,
                    axis,
                    which,
                };
                let request = request(job, move |progress| {
                    let Progress::Reply(Reply::Sketch(sketch)) = progress else {
                        return;
                    };
                    if let Some(drawn) = order.next().zip(sketch) {
                        let _ = self.sketches.try_update(|all| all.push(drawn));
                    }
                });
                let _ = requested.try_set_value(Some(request));
            });
        });
    }
}

/// How far from what is in sight the picture of `variant` stands, pixels.
fn distance(variant: Variant) -> f64 {
    let card = document().query_selector(&format!("[data-variant=\"{variant}\"]"));
    let Some(card) = card.ok().flatten() else {
        return f64::MAX;
    };
    let area = card.get_bounding_client_rect();
    let height = window()
        .inner_height()
        .ok()
        .and_then(|height| height.as_f64());
    (area.top() - height.unwrap_or(0.0))
        .max(-area.bottom())
        .max(0.0)
}

/// The slider of the memory limit.
fn limit(state: State) -> AnyView {
    let most = move || 2 * state.run.with(|run| run.pp);
    let now = move || {
        let of_run = |run: &Run| state.gallery.with(|look| look.limit(run));
        state.run.with(of_run)
    };
    let moving = RwSignal::new(None::<u64>);
    let value = move || moving.get().unwrap_or_else(now);
    let named = move || {
        translated(t!(
            "{limit} of {most} stage-micro-batches",
            limit = value(),
            most = most()
        ))
    };
    let read = |event: &leptos::ev::Event| event_target_value(event).parse().ok();
    view! {
        <label class="slider limit">
            <span>{say("Activations that automatic zero bubble may hold on a rank")}</span>
            <input type="range" min="1" max=text_of(move || most().to_string())
                prop:value=text_of(move || value().to_string())
                aria-valuetext=text_of(named)
                on:input=move |event| moving.set(read(&event))
                on:change=move |event| {
                    moving.set(None);
                    let limit = read(&event);
                    state.gallery.update(|look| look.limit = limit);
                }/>
            <output>{text_of(named)}</output>
        </label>
    }
    .into_any()
}

/// The timelines of what is ticked, on one axis.
fn compared(state: State) -> AnyView {
    let ticked = Memo::new(move |_| {
        let evaluation = state.evaluation()?;
        let run = evaluation.scenario.run.clone();
        let (ticked, limit) = state
            .gallery
            .with(|look| (look.ticked(&run), look.limit(&run)));
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
    let lanes: [Lane; MOST] = std::array::from_fn(|at| {
        let run = Memo::new(move |_| {
            let (run, set) = set(at)?;
            run.with_texts(&set)
        });
        let shown = evaluated(move || run.get());
        let lane = Lane::low(prepared(move || {
            let shown = shown.get();
            shown
                .evaluation
                .filter(|_| shown.errors.is_empty() && !shown.waits)
        }));
        // The fullest rank is the one to look at.
        effect(move || {
            let fullest = lane.prepared.with(|prepared| {
                let prepared = prepared.as_ref()?;
                Some(prepared.evaluation.report.memory.peak_stage)
            });
            lane.rank.set(fullest.unwrap_or(0));
        });
        lane
    });
    let look = Look::over(&lanes);
    let handler: Handler = Arc::new(move |action| {
        let Action::Timeline(action) = action else {
            return false;
        };
        if !look.zoomed(*action) {
            save(state, look, &lanes, *action == TimelineAction::Png);
        }
        true
    });
    let tools = view_of(tools);
    let each = move |at: usize| {
        let lane: Lane = lanes[at];
        let title = move || match (variant(at), set(at)) {
            (Some(variant), Some((_, set))) => title(at, variant, set),
            _ => Node::none(),
        };
        let figures = move || {
            let cursor = look.cursor.get();
            let unit = state.unit.get();
            lane.prepared.get().map_or_else(Node::none, |prepared| {
                lane.curve
                    .with(|curve| beside(&prepared, curve, cursor, unit))
            })
        };
        view! {
            <div class="lane" hidden=flag(move || variant(at).is_none())>
                {nodes("lane-head", title)}
                {surface(state, look, lane)}
                {nodes("lane-figures", figures)}
            </div>
        }
    };
    let foot = move || axis(look.view(), look.cursor.get());
    let words = move || {
        let shown: Vec<_> = (0..MOST)
            .filter_map(|at| variant(at).zip(lanes[at].prepared.get()))
            .collect();
        let shown: Vec<_> = shown.iter().map(|(one, of)| (*one, &**of)).collect();
        below(&shown, state.unit.get())
    };
    view! {
        <section class="compared" aria-labelledby="compared-title" hidden=flag(move || variant(0).is_none())>
            <div class="panel-head">
                <h2 id="compared-title">{say("Compared on one axis")}</h2>
                <small>{say("memory of each schedule's fullest rank below its timeline; the line is what the GPU has")}</small>
                <span class="spring"></span>
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

/// Zoom, and the menu that saves.
fn tools() -> Node {
    let file = |action: TimelineAction, label: &'static str| {
        el("button", &[], &[text(label)]).on(Action::Timeline(action))
    };
    let files = [
        file(TimelineAction::Svg, "SVG"),
        file(TimelineAction::Png, "PNG"),
    ];
    let menu = [
        el("summary", &[], &[text("Save picture")]),
        el("div", &[], &files),
    ];
    let menu = el("details", &[("class", "menu")], &menu);
    zoom_buttons().chain([menu]).collect()
}

/// All timelines as one picture.
fn save(state: State, look: Look, lanes: &[Lane], png: bool) {
    let drawn: Vec<_> = lanes
        .iter()
        .filter_map(|lane| Some((lane, lane.prepared.get_untracked()?)))
        .collect();
    let pictures: Vec<Picture> = drawn
        .iter()
        .map(|(lane, prepared)| Picture {
            evaluation: &prepared.evaluation,
            sums: &prepared.sums,
            view: look.seen(),
            width: look.width.get_untracked().max(640.0),
            rank: lane.rank.get_untracked(),
            theme: state.theme.get_untracked(),
        })
        .collect();
    let svg = stacked(&pictures);
    if let Some(target) = browser::by_id("gallery").or_else(|| browser::by_id("compared-title")) {
        offer_picture(&target, "schedules", png, Some(svg));
    }
}
