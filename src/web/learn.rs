//! The lessons: the list of them, the open step with its sliders, its picture.

use crate::core::report::{evaluate, needs_worker};
use crate::view::learn::{self, Dials, Live, Slider, StepId};
use crate::view::node::Node;
use crate::view::views::View;
use crate::web::html::{text, view_of};
use crate::web::i18n::say;
use crate::web::render::patched;
use crate::web::state::State;
use leptos::prelude::*;

/// The open step; nothing while the Run is shown.
pub fn learn(state: State) -> AnyView {
    let open = Memo::new(move |_| matches!(state.open.get(), View::Learn(_)));
    (move || open.get().then(|| lesson(state))).into_any()
}

/// The step that is open, and where its sliders stand.
#[derive(Clone, Copy)]
struct Open {
    current: Memo<StepId>,
    /// Positions of the sliders, of the step that they belong to.
    moved: RwSignal<(StepId, Vec<usize>)>,
    live: Memo<Live>,
}

impl Open {
    fn new(state: State) -> Self {
        let current = Memo::new(move |_| state.open.get().step());
        let moved = RwSignal::new((StepId::first(), Vec::new()));
        let live = Memo::new_with_compare(
            move |_| (current.get().step().live)(&dials(current, moved)),
            |_, _| true,
        );
        Self {
            current,
            moved,
            live,
        }
    }

    fn turn(self, slider: usize, position: usize) {
        let mut positions = untrack(move || dials(self.current, self.moved))
            .positions()
            .to_vec();
        if let Some(place) = positions.get_mut(slider) {
            *place = position;
        }
        self.moved.set((self.current.get_untracked(), positions));
    }

    /// What the step shows, by the part of it that `of` makes.
    fn part(self, of: fn(StepId, &Live) -> Node) -> Signal<Node> {
        view_of(move || self.live.with(|live| of(self.current.get(), live)))
    }

    fn sliders(self) -> AnyView {
        let sliders = move || {
            let each = self.current.get().step().sliders.iter().enumerate();
            each.map(|(at, slider)| {
                let position = Signal::derive(move || {
                    let dials = dials(self.current, self.moved);
                    dials.positions().get(at).copied().unwrap_or(0)
                });
                row(slider, position, move |position| self.turn(at, position))
            })
            .collect_view()
        };
        view! { <div class="sliders">{sliders}</div> }.into_any()
    }
}

fn dials(current: Memo<StepId>, moved: RwSignal<(StepId, Vec<usize>)>) -> Dials {
    let id = current.get();
    moved.with(|(of, positions)| Dials::new(id.step(), if *of == id { positions } else { &[] }))
}

fn lesson(state: State) -> AnyView {
    let open = Open::new(state);
    let current = open.current;
    let lessons = view_of(move || learn::lessons(current.get()));
    let head = view_of(move || learn::head(current.get()));
    let words = open.part(|step, live| Node::from_iter([learn::title(step), learn::words(live)]));
    let formula = open.part(|_, live| learn::formula(live));
    let picture = open.part(|_, live| learn::picture(live));
    let on_run = view_of(move || {
        let quick = |run: &_| (!needs_worker(run)).then(|| evaluate(run).ok()).flatten();
        let on_run = state
            .run
            .with(|run| learn::on_run(current.get(), run, state.unit.get(), quick));
        Node::from_iter([on_run, learn::source(current.get())])
    });
    view! {
        <main class="learn" id="learn" tabindex="-1">
            <div use:patched=lessons></div>
            <div class="lesson-page">
                <div use:patched=head></div>
                <div class="lesson-step">
                    <section>
                        <div use:patched=words></div>
                        <div use:patched=formula></div>
                        {open.sliders()}
                        <div use:patched=on_run></div>
                    </section>
                    <section use:patched=picture></section>
                </div>
            </div>
        </main>
    }
    .into_any()
}

/// The open step alone, in an embed: what can be moved first.
pub fn framed(state: State) -> AnyView {
    let open = Open::new(state);
    let picture =
        open.part(|step, live| Node::from_iter([learn::title(step), learn::picture(live)]));
    let formula = open.part(|_, live| learn::formula(live));
    let words = open.part(|step, live| Node::from_iter([learn::words(live), learn::source(step)]));
    view! {
        <main class="lesson-frame">
            <div use:patched=picture></div>
            {open.sliders()}
            <div use:patched=formula></div>
            <div use:patched=words></div>
        </main>
    }
    .into_any()
}

/// A slider with its name and its value.
fn row(
    slider: &'static Slider,
    position: Signal<usize>,
    turn: impl Fn(usize) + 'static,
) -> AnyView {
    let value = move || {
        slider
            .values
            .get(position.get())
            .map_or_else(String::new, u64::to_string)
    };
    let moved = move |event| {
        if let Ok(position) = event_target_value(&event).parse() {
            turn(position);
        }
    };
    view! {
        <label class="slider">
            <span>{say(slider.name)} " " <i>{slider.symbol}</i></span>
            <input type="range" min="0" max=(slider.values.len() - 1).to_string()
                prop:value=text(move || position.get().to_string())
                aria-valuetext=text(value) on:input=moved/>
            <output>{text(value)}</output>
        </label>
    }
    .into_any()
}
