//! The lessons: the list of them, the open step with its sliders, its picture.

use crate::core::message::Message;
use crate::view::charts::figure::save;
use crate::view::learn::{DialScale, Page, StepId, StepQuestion};
use crate::view::node::Node;
use crate::web::browser;
use crate::web::browser::html::{effect, flag, text, view_of};
use crate::web::browser::i18n::{say, translated};
use crate::web::document::render::patched;
use crate::web::late::parts;
use crate::web::state::State;
use leptos::prelude::*;
use std::time::Duration;

parts! {
    second: lesson_view(state: State) -> AnyView = lesson(state);
    second: lesson_frame(state: State, title: RwSignal<Message>) -> AnyView = framed(state, title);
}

/// The open step.
#[derive(Clone, Copy)]
struct Open {
    state: State,
    page: Memo<Page>,
    /// The moment of its picture, a share of its time; all of it is shown at 1.
    moment: RwSignal<f64>,
    /// The moment moves on by itself.
    plays: RwSignal<bool>,
}

/// From one moment to the next while they are played, and the time that a whole picture takes.
const FRAME: Duration = Duration::from_millis(50);
const WHOLE: Duration = Duration::from_secs(10);

/// Name of the answered steps in the browser's storage.
const ANSWERED: &str = "answered";

/// Steps whose challenge was answered, on this or an earlier visit.
fn answered() -> Vec<StepId> {
    browser::stored(ANSWERED).iter().flat_map(|kept| kept.split(' ')).filter_map(StepId::named).collect()
}

impl Open {
    /// The views of the step that `state` opens, of its sliders and its Run.
    fn new(state: State) -> Self {
        let done = RwSignal::new(answered());
        let step = move || state.view.get().step().unwrap_or_default();
        let question = move || StepQuestion {
            step: step(),
            sliders: state.view.sliders.get(),
            run: state.run.get(),
            unit: state.view.unit.get(),
            done: done.get(),
        };
        let page = Memo::new(move |_| question().page());
        effect(move || {
            let step = step();
            if page.with(|page| page.is_done) && !done.with_untracked(|done| done.contains(&step)) {
                done.update(|done| done.push(step));
                let ids = done.with_untracked(|done| done.iter().map(StepId::to_string).collect::<Vec<_>>());
                browser::store(ANSWERED, &ids.join(" "));
            }
        });
        let (moment, plays) = (RwSignal::new(1.0), RwSignal::new(false));
        // Another step begins with its whole picture.
        let opened = Memo::new(move |_| step());
        effect(move || {
            opened.track();
            moment.set(1.0);
            plays.set(false);
        });
        let open = Self { state, page, moment, plays };
        if let Ok(handle) = set_interval_with_handle(move || open.advance(), FRAME) {
            on_cleanup(move || handle.clear());
        }
        open
    }

    /// Moves on while the picture is played; at its end all of it is shown.
    fn advance(self) {
        if !self.plays.get_untracked() {
            return;
        }
        let next = self.moment.get_untracked() + FRAME.as_secs_f64() / WHOLE.as_secs_f64();
        self.moment.set(next.min(1.0));
        if next >= 1.0 {
            self.plays.set(false);
        }
    }

    /// Plays the picture from the start, or from where it was stopped.
    fn play(self) {
        if self.moment.get_untracked() >= 1.0 {
            self.moment.set(0.0);
        }
        self.plays.update(|plays| *plays = !*plays);
    }

    /// True while a part of the picture is covered.
    fn is_covered(self) -> bool {
        self.moment.get() < 1.0
    }

    /// The slider in time, the button that moves it, and what happens at the moment.
    fn scrub(self) -> AnyView {
        let has_none = flag(move || self.page.with(|page| page.moments.is_none()));
        let label = text(move || translated(if self.plays.get() { "Stop" } else { "Play the picture" }));
        let time = text(move || {
            self.page.with(|page| page.moments.as_ref().map_or_else(String::new, |one| one.time(self.moment.get())))
        });
        let words = view_of(move || {
            self.page.with(|page| match &page.moments {
                Some(moments) if self.is_covered() => moments.at(self.moment.get()),
                _ => Node::none(),
            })
        });
        let moved = move |event| {
            if let Ok(position) = event_target_value(&event).parse::<f64>() {
                self.plays.set(false);
                self.moment.set((position / 1000.0).clamp(0.0, 1.0));
            }
        };
        view! {
            <div class="scrub" hidden=has_none>
                <button class="quiet play-button" aria-label=label title=label on:click=move |_| self.play()>
                    {text(move || if self.plays.get() { "❚❚" } else { "▶" }.to_owned())}
                </button>
                <label class="slider">
                    <span>{say("moment")}</span>
                    <input type="range" min="0" max="1000"
                        prop:value=text(move || format!("{:.0}", self.moment.get() * 1000.0))
                        aria-valuetext=time on:input=moved/>
                    <output>{time}</output>
                </label>
                <div class="moment" use:patched=words></div>
            </div>
        }
        .into_any()
    }

    /// Parts of the page, one after the other.
    fn part<const N: usize>(self, of: fn(&Page) -> [&Node; N]) -> Signal<Node> {
        view_of(move || self.page.with(|page| of(page).into_iter().cloned().collect()))
    }

    fn turn(self, slider: usize, position: usize) {
        let at = |at: usize, scale: &DialScale| {
            let position = if at == slider { position } else { scale.position };
            let value = scale.values.get(position).copied().unwrap_or_default();
            format!("{}.{value}", scale.symbol)
        };
        let positions: Vec<String> = self.page.with_untracked(|page| {
            let each = page.sliders.iter().enumerate();
            each.map(|(place, scale)| at(place, scale)).collect()
        });
        self.state.view.change(|view| view.sliders = positions.join(","));
    }

    fn sliders(self) -> AnyView {
        // The sliders without their positions: those move in place.
        let scales = Memo::new(move |_| {
            let still = |scale: &DialScale| DialScale { position: 0, shown: Message::default(), ..scale.clone() };
            self.page.with(|page| page.sliders.iter().map(still).collect::<Vec<_>>())
        });
        let rows = move || {
            let each = scales.get().into_iter().enumerate();
            each.map(|(at, scale)| self.row(at, scale)).collect_view()
        };
        view! { <div class="sliders">{rows}</div> }.into_any()
    }

    /// A slider with its name and its value.
    fn row(self, at: usize, scale: DialScale) -> AnyView {
        let text_of = move |shown: fn(&DialScale) -> String| {
            text(move || self.page.with(|page| page.sliders.get(at).map_or_else(String::new, shown)))
        };
        let value = text_of(|scale| translated(scale.shown.clone()));
        let moved = move |event| {
            if let Ok(position) = event_target_value(&event).parse() {
                self.turn(at, position);
            }
        };
        view! {
            <label class="slider">
                <span>{say(scale.name)} " " <i>{scale.symbol}</i></span>
                <input type="range" min="0" max=scale.values.len().saturating_sub(1).to_string()
                    prop:value=text_of(|scale| scale.position.to_string())
                    aria-valuetext=value on:input=moved/>
                <output>{value}</output>
            </label>
        }
        .into_any()
    }
}

/// The view of the open step.
pub(crate) fn lesson(state: State) -> AnyView {
    let open = Open::new(state);
    let lessons = open.part(|page| [&page.lessons]);
    let head = open.part(|page| [&page.head]);
    let words = open.part(|page| [&page.notices, &page.words]);
    let practice = open.part(|page| [&page.practice]);
    let on_run = open.part(|page| [&page.on_run, &page.source]);
    let picture = view_of(move || {
        let picture = open.page.with(|page| page.picture.clone());
        if picture == Node::none() {
            return picture;
        }
        Node::from_iter([picture, save("lesson")])
    });
    let table = open.part(|page| [&page.table]);
    let overview = open.part(|page| [&page.overview]);
    view! {
        <main class="learn" id="learn" tabindex="-1">
            <div use:patched=lessons></div>
            <div class="lesson-page">
                <div use:patched=head></div>
                <section
                    class="lesson-figure"
                    class:covered=flag(move || open.is_covered())
                    style:--moment=move || open.moment.get().to_string()
                >
                    {open.sliders()}
                    <div use:patched=picture></div>
                    {open.scrub()}
                    <div use:patched=table></div>
                </section>
                <div class="lesson-step">
                    <section use:patched=words></section>
                    <section use:patched=practice></section>
                    <section use:patched=on_run></section>
                </div>
                <div use:patched=overview></div>
            </div>
        </main>
    }
    .into_any()
}

/// The height of a frame from which on it shows the words without being asked, pixels.
const TALL: f64 = 480.0;

/// The open step alone, in an embed: what can be moved first. A low frame has the words in a fold, and nothing scrolls.
/// `title` follows the name of the lesson.
pub(crate) fn framed(state: State, title: RwSignal<Message>) -> AnyView {
    let open = Open::new(state);
    effect(move || title.set(open.page.with(|page| page.lesson.clone())));
    let tall = browser::window_height() > TALL;
    let head = open.part(|page| [&page.title, &page.notices]);
    let picture = open.part(|page| [&page.picture]);
    let words = open.part(|page| [&page.formula, &page.words]);
    let table = open.part(|page| [&page.table, &page.source]);
    view! {
        <main
            class="lesson-frame"
            class:covered=flag(move || open.is_covered())
            style:--moment=move || open.moment.get().to_string()
        >
            <div use:patched=head></div>
            {open.sliders()}
            <div use:patched=picture></div>
            {tall.then(|| open.scrub())}
            <details class="fold" open=tall>
                <summary>{say("Explanation")}</summary>
                <div use:patched=words></div>
                <div use:patched=table></div>
            </details>
        </main>
    }
    .into_any()
}
