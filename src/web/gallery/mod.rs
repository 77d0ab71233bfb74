//! The gallery: figures and pictures of all schedules from the worker, and those that are ticked as whole timelines.

mod certified;
mod compared;

use crate::core::advice::ScheduleRow;
use crate::core::report::ScheduleVariant;
use crate::core::run::Run;
use crate::core::sort::sort_by;
use crate::view::gallery::bounds::cap;
use crate::view::gallery::certificate::ScheduleCertificate;
use crate::view::gallery::sketch::{Axis, Sketch};
use crate::view::gallery::{Gallery, best_known, cards, head, opening};
use crate::view::node::markup::Node;
use crate::view::views::View;
use crate::web::browser;
use crate::web::browser::html::{effect, flag, text as text_of, view_of};
use crate::web::browser::i18n::{say, translated};
use crate::web::document::render::patched;
use crate::web::late::parts;
use crate::web::state::State;
use crate::web::strip::halted;
use crate::web::worker::{Job, JobProgress, JobRequest, Reply, request};
use compared::{compared, is_seen};
use leptos::prelude::*;

parts! {
    views: schedules_view(state: State) -> AnyView = whole(state);
    views: schedules_frame(state: State) -> AnyView = framed(state);
}

/// Key of a request to the worker: all schedules of this Run with this limit.
type Asked = (Run, u64);

/// Everything that the gallery follows.
#[derive(Clone, Copy)]
struct Page {
    state: State,
    rows: RwSignal<certified::Rows>,
    /// Sketches for one question and one axis.
    sketches: RwSignal<Vec<(ScheduleVariant, Sketch)>>,
    /// Certificates for one question.
    certificates: RwSignal<Vec<ScheduleCertificate>>,
    axis: Memo<Option<Axis>>,
    left: RwSignal<usize>,
}

/// The view; hidden while another is open.
pub(crate) fn whole(state: State) -> AnyView {
    let hidden = flag(move || state.view.open.get() != View::Schedules);
    view! {
        <main class="gallery" id="gallery" tabindex="-1" hidden=hidden>
            {halted(state, move || state.view.open.get() == View::Schedules)}
            {schedules(state)}
        </main>
    }
    .into_any()
}

/// The view in an embed; of ticked schedules their timelines alone.
pub(crate) fn framed(state: State) -> AnyView {
    let is_ticked = state.view.gallery.with_untracked(|look| look.ticked.is_some());
    let content = if is_ticked { compared(state) } else { schedules(state) };
    view! { <div class="gallery">{content}</div> }.into_any()
}

/// Pictures of all schedules, and the timelines of those that are ticked.
fn schedules(state: State) -> AnyView {
    let page = Page {
        state,
        rows: RwSignal::new((None, Vec::new())),
        sketches: RwSignal::new(Vec::new()),
        certificates: RwSignal::new(Vec::new()),
        axis: Memo::new(move |_| {
            let whole = state.view.gallery.with(|look| look.whole);
            Some(Axis::of(&*state.evaluation()?, whole))
        }),
        left: RwSignal::new(0),
    };
    page.simulate();
    page.draw();
    certified::certify(state, page.rows, page.certificates);
    let stale = flag(move || state.is_stale());
    let opening = view_of(move || page.view(opening));
    let head = view_of(move || page.view(|gallery| head(gallery, page.left.get())));
    let cards = view_of(move || page.view(cards));
    let best = view_of(move || page.view(best_known));
    view! {
        <div class="opening stale-able" class:stale=stale use:patched=opening></div>
        <section class="bounds">
            <div class="stale-able" class:stale=stale use:patched=best></div>
            {limit(page)}
            {certified::joint(state)}
        </section>
        <div class="gallery-head stale-able" class:stale=stale use:patched=head></div>
        <div class="stale-able" class:stale=stale use:patched=cards></div>
        {compared(state)}
    }
    .into_any()
}

impl Page {
    /// Shows the gallery as far as it is known.
    fn view(self, view: impl Fn(&Gallery) -> Node) -> Node {
        let (Some(own), Some(axis)) = (self.state.evaluation(), self.axis.get()) else {
            return Node::none();
        };
        let (look, unit) = (self.state.view.gallery.get(), self.state.view.unit.get());
        let (rows, sketches, certificates) = (self.rows.read(), self.sketches.read(), self.certificates.read());
        let sketch = |variant| sketches.iter().find(|(of, _)| *of == variant).map(|(_, one)| one);
        let certificate = |variant| certificates.iter().find(|(of, _)| *of == variant).map(|(_, one)| one);
        let (sketch, certificate) = (&sketch, &certificate);
        view(&Gallery { own: &own, rows: &rows.1, sketch, certificate, axis, look: &look, unit })
    }

    /// Key of the gallery that is shown; none while another view is.
    fn asked(self) -> Option<Asked> {
        let state = self.state;
        let evaluation = is_seen(state).then(|| state.evaluation()).flatten()?;
        let run = evaluation.scenario.run.clone();
        let limit = state.view.gallery.with(|look| look.limit(&run));
        Some((run, limit))
    }

    /// Figures of all schedules, again with each Run. Rows of another Run stay until all of this one are there.
    fn simulate(self) {
        let requested = StoredValue::new(None::<JobRequest>);
        let wanted = Memo::new(move |_| self.asked());
        effect(move || {
            if let Some(before) = requested.get_value() {
                before.cancel();
            }
            let Some((run, limit)) = wanted.get() else {
                return;
            };
            let variants = ScheduleVariant::all(&run);
            self.left.set(variants.len());
            let mut fresh: Vec<ScheduleRow> = Vec::new();
            let job = Job::AllSchedules(run.clone(), limit);
            let request = request(job, move |progress| {
                let JobProgress::Reply(Reply::Schedule(figures)) = progress else {
                    return;
                };
                let variant = variants.get(fresh.len());
                let row = |variant: &ScheduleVariant| ScheduleRow::of(&run, *variant, limit, figures);
                fresh.extend(variant.map(row));
                let left = variants.len() - fresh.len();
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

    /// Pictures of all rows, those first that are in sight, also after scrolling.
    fn draw(self) {
        let requested = StoredValue::new(None::<JobRequest>);
        let scrolled = RwSignal::new(0_u32);
        let handle = window_event_listener_untyped("scrollend", move |_| {
            scrolled.update(|times| *times += 1);
        });
        on_cleanup(move || handle.remove());
        let drawn_for = StoredValue::new(None);
        let wanted = Memo::new(move |_| {
            let asked = self.rows.with(|(asked, _)| asked.clone())?;
            Some((asked, self.axis.get()?))
        });
        effect(move || {
            if let Some(before) = requested.get_value() {
                before.cancel();
            }
            scrolled.track();
            let now = wanted.get();
            if drawn_for.get_value() != now {
                drawn_for.set_value(now.clone());
                self.sketches.set(Vec::new());
            }
            let Some(((run, limit), axis)) = now else {
                return;
            };
            // Once the rows are shown, so that it is known where they stand.
            request_animation_frame(move || {
                let order = self.undrawn();
                if order.is_empty() {
                    return;
                }
                let which = order.iter().map(|(at, _)| *at).collect();
                let mut order = order.into_iter().map(|(_, variant)| variant);
                let job = Job::Sketches { run, limit, axis, which };
                let request = request(job, move |progress| {
                    let JobProgress::Reply(Reply::Sketch(sketch)) = progress else {
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

    /// The schedules that have figures and no picture yet, with their places in [`ScheduleVariant::all`], the nearest
    /// to what is in sight first.
    fn undrawn(self) -> Vec<(usize, ScheduleVariant)> {
        // The view may be gone by now.
        let signals = (self.sketches.try_read_untracked(), self.rows.try_read_untracked());
        let (Some(sketches), Some(rows)) = signals else {
            return Vec::new();
        };
        let drawn = |variant| sketches.iter().any(|(of, _)| *of == variant);
        let rows = rows.1.iter().enumerate();
        let mut left: Vec<_> = rows
            .filter(|(_, row)| row.figures.is_ok() && !drawn(row.variant))
            .map(|(at, row)| (at, row.variant))
            .collect();
        sort_by(&mut left, |(_, a), (_, b)| distance(*a).total_cmp(&distance(*b)));
        left
    }
}

/// Distance of the picture of `variant` from the visible part, pixels.
fn distance(variant: ScheduleVariant) -> f64 {
    let card = document().query_selector(&format!("[data-variant=\"{variant}\"]"));
    let Some(card) = card.ok().flatten() else {
        return f64::MAX;
    };
    let area = card.get_bounding_client_rect();
    (area.top() - browser::window_height()).max(-area.bottom()).max(0.0)
}

/// The slider of the memory limit.
fn limit(page: Page) -> AnyView {
    let state = page.state;
    let most = move || 2 * state.run.with(|run| run.pp);
    let now = move || {
        let of_run = |run: &Run| state.view.gallery.with(|look| look.limit(run));
        state.run.with(of_run)
    };
    let moving = RwSignal::new(None::<u64>);
    let value = move || moving.get().unwrap_or_else(now);
    let named = move || {
        let (limit, most) = (value(), most());
        let unit = state.view.unit.get();
        translated(page.rows.with(|(_, rows)| cap(rows, limit, most, unit)))
    };
    let read = |event: &leptos::ev::Event| event_target_value(event).parse().ok();
    view! {
        <label class="slider limit">
            <span>{say("Memory cap of automatic zero bubble")}</span>
            <input type="range" min="1" max=text_of(move || most().to_string())
                prop:value=text_of(move || value().to_string())
                aria-valuetext=text_of(named)
                on:input=move |event| moving.set(read(&event))
                on:change=move |event| {
                    moving.set(None);
                    let limit = read(&event);
                    state.view.change(|view| view.gallery.limit = limit);
                }/>
            <output>{text_of(named)}</output>
        </label>
    }
    .into_any()
}
