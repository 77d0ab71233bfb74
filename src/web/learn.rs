//! The lessons: the list of them, the open step with its sliders, its picture.

use crate::core::report::{evaluate, needs_worker};
use crate::view::learn::{self, Dials, Slider, StepId};
use crate::view::views::View;
use crate::web::html::text;
use crate::web::i18n::say;
use crate::web::render::patched;
use crate::web::state::State;
use leptos::prelude::*;

/// The open step; nothing while the Run is shown.
pub fn learn(state: State) -> AnyView {
    let open = Memo::new(move |_| matches!(state.open.get(), View::Learn(_)));
    (move || open.get().then(|| lesson(state))).into_any()
}

fn lesson(state: State) -> AnyView {
    let current = Memo::new(move |_| match state.open.get() {
        View::Learn(step) => step,
        _ => StepId::first(),
    });
    // Positions of the sliders, of the step that they belong to.
    let moved = RwSignal::new((StepId::first(), Vec::new()));
    let dials = move || {
        let (step, id) = (current.get().step(), current.get());
        moved.with(|(of, positions)| Dials::new(step, if *of == id { positions } else { &[] }))
    };
    let lessons = Signal::derive(move || learn::lessons(current.get()));
    let head = Signal::derive(move || learn::head(current.get()));
    let words = Signal::derive(move || learn::words(current.get(), &dials()));
    let picture = Signal::derive(move || learn::picture(current.get(), &dials()));
    let on_run = Signal::derive(move || {
        let quick = |run: &_| (!needs_worker(run)).then(|| evaluate(run).ok()).flatten();
        state
            .run
            .with(|run| learn::on_run(current.get(), run, state.unit.get(), quick))
    });
    let turn = move |slider: usize, position: usize| {
        let id = current.get_untracked();
        let mut positions = untrack(dials).positions().to_vec();
        if let Some(place) = positions.get_mut(slider) {
            *place = position;
        }
        moved.set((id, positions));
    };
    let sliders = move || {
        let each = current.get().step().sliders.iter().enumerate();
        each.map(|(at, slider)| {
            let position =
                Signal::derive(move || dials().positions().get(at).copied().unwrap_or(0));
            row(slider, position, move |position| turn(at, position))
        })
        .collect_view()
    };
    view! {
        <main class="learn" id="learn" tabindex="-1">
            <div use:patched=lessons></div>
            <div class="lesson-page">
                <div use:patched=head></div>
                <div class="lesson-step">
                    <section>
                        <div use:patched=words></div>
                        <div class="sliders">{sliders}</div>
                        <div use:patched=on_run></div>
                    </section>
                    <section use:patched=picture></section>
                </div>
            </div>
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
