//! The lessons: the list of them, the open step with its sliders, its picture.

use crate::core::message::Message;
use crate::view::charts::figure::save;
use crate::view::learn::{DialScale, Page, StepId, StepQuestion};
use crate::view::node::Node;
use crate::web::browser;
use crate::web::browser::html::{effect, text, view_of};
use crate::web::browser::i18n::{say, translated};
use crate::web::document::render::patched;
use crate::web::late::parts;
use crate::web::state::State;
use leptos::prelude::*;

parts! {
    second: lesson_view(state: State) -> AnyView = lesson(state);
    second: lesson_frame(state: State, title: RwSignal<Message>) -> AnyView = framed(state, title);
}

/// The open step.
#[derive(Clone, Copy)]
struct Open {
    state: State,
    page: Memo<Page>,
}

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
        Self { state, page }
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
                <section class="lesson-figure">
                    {open.sliders()}
                    <div use:patched=picture></div>
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
    let height = window().inner_height().ok();
    let tall = height.and_then(|height| height.as_f64()) > Some(TALL);
    let head = open.part(|page| [&page.title, &page.notices]);
    let picture = open.part(|page| [&page.picture]);
    let words = open.part(|page| [&page.formula, &page.words]);
    let table = open.part(|page| [&page.table, &page.source]);
    view! {
        <main class="lesson-frame">
            <div use:patched=head></div>
            {open.sliders()}
            <div use:patched=picture></div>
            <details class="fold" open=tall>
                <summary>{say("Explanation")}</summary>
                <div use:patched=words></div>
                <div use:patched=table></div>
            </details>
        </main>
    }
    .into_any()
}
