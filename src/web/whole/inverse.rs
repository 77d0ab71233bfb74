//! The inverse questions of the whole run: each is asked by a button, answered by the worker row by row, and can be
//! stopped.

use crate::core::message::Message;
use crate::core::run::Run;
use crate::core::search::PlanRequest as Layouts;
use crate::core::search::catalogue::CatalogueRow;
use crate::core::t;
use crate::core::units::number;
use crate::core::whole_run::{Deadline, MOST_DAYS};
use crate::view::node::markup::Node;
use crate::view::panels::budget::{budget_tokens, show_tokens};
use crate::view::panels::whole::{DateLayout, dates, trains};
use crate::web::browser;
use crate::web::browser::html::{effect, flag, text, view_of};
use crate::web::browser::i18n::{say, translated};
use crate::web::document::render::patched;
use crate::web::state::State;
use crate::web::worker::asked::WorkerQuestion;
use crate::web::worker::{Job, Reply};
use leptos::prelude::*;

/// Days where none were given.
const DAYS: f64 = 30.0;

/// The question that a Run asks: all of it but its model, its layout and its budget.
fn question(run: &Run) -> Run {
    let run = Layouts::question(run);
    Run { model: Run::default().model, tokens_total: None, price_per_gpu_hour: None, microbatch_lengths: None, ..run }
}

/// The Run and the days that a question was asked for, with the model, the budget and the price of `now`; `now` where
/// none was asked.
fn asked(of: Option<&(Run, f64)>, now: &Run) -> (Run, f64) {
    let Some((asked, days)) = of else { return (now.clone(), DAYS) };
    let Run { model, tokens_total, price_per_gpu_hour, .. } = now.clone();
    (Run { model, tokens_total, price_per_gpu_hour, ..asked.clone() }, *days)
}

/// A question of the number of GPUs: the Run, the days, and whose layout.
type DateQuestion = (Run, f64, DateLayout);

/// The Run of a question of the number of GPUs: its own number matters only where something was measured with it, its
/// layout only where it is not chosen anew.
fn of_any_count(run: &Run, of: DateLayout) -> Run {
    let run = if of == DateLayout::Chosen { &Layouts::question(run) } else { run };
    let was_measured = run.measured_step_s.is_some() || run.length.mtti_h.is_some();
    Run { gpus: if was_measured { run.gpus } else { 0 }, ..run.clone() }
}

/// The answers to it as they come: the number of GPUs, as far as it is known, and whether all were tried.
type DateAnswers = WorkerQuestion<DateQuestion, (Option<Deadline>, bool)>;

/// Asks the worker for the number of GPUs that trains within `days` in the layout `of`.
fn ask_counts(state: State, counts: DateAnswers, days: f64, of: DateLayout) {
    let run = state.run.get_untracked();
    let tokens = budget_tokens(&run);
    let asked = (of_any_count(&run, of), days, of);
    let job = match of {
        DateLayout::Own => Job::Dates { run, tokens, days },
        DateLayout::Chosen => Job::ChosenDates { run, tokens, days },
    };
    counts.ask(asked, job, |found, reply| {
        if let Reply::Dates(deadline, done) = reply {
            *found = (deadline, done);
        }
    });
}

/// The section of both questions.
pub(crate) fn inverse(state: State) -> AnyView {
    let days = move || state.view.days.get().unwrap_or(DAYS);
    let models = WorkerQuestion::<(Run, f64), Vec<CatalogueRow>>::new();
    let counts = DateAnswers::new();
    // While the page chooses the layout, every number of GPUs has its own.
    let whose = move || if state.view.follows.get() { DateLayout::Chosen } else { DateLayout::Own };
    let optimal = RwSignal::new(false);
    let ask_models = move || {
        let (run, days) = (state.run.get_untracked(), untrack(days));
        state.view.change(|view| view.models = true);
        models.ask((question(&run), days), Job::Catalogue(run, days), |rows, reply| {
            if let Reply::Catalogue(row) = reply {
                rows.push(row);
            }
        });
    };
    let press_models = move |_| if models.works.get_untracked() { models.stop() } else { ask_models() };
    // A link may hold the question.
    if state.view.now().models {
        state.panels.models.set(true);
    }
    // Asked for where the largest model that fits is: on the other view.
    effect(move || {
        if state.panels.models.get() {
            state.panels.models.set(false);
            ask_models();
            browser::after_paint(|| {
                if let Some(title) = browser::by_id("inverse-title") {
                    title.scroll_into_view();
                }
            });
        }
    });
    let press_counts = move |_| {
        if counts.works.get_untracked() {
            return counts.stop();
        }
        ask_counts(state, counts, untrack(days), untrack(whose));
    };
    // The answer says what was asked, whatever the run has become.
    let rows = view_of(move || {
        let (own, days) = models.of.with(|of| state.run.with(|now| asked(of.as_ref(), now)));
        models.found.with(|rows| trains(&own, days, rows, optimal.get()))
    });
    let dates = view_of(move || {
        let asked = counts.of.with(|of| of.as_ref().map(|(_, days, of)| (*days, *of)));
        let Some((days, of)) = asked else { return Node::none() };
        counts.found.with(|(found, done)| state.run.with(|run| dates(run, days, found.as_ref(), *done, of)))
    });
    let differs = move |of: &Option<(Run, f64)>, now: Run| of.as_ref().is_some_and(|of| *of != (now, days()));
    let models_stale = flag(move || models.of.with(|of| differs(of, state.run.with(question))));
    let counts_stale = flag(move || {
        counts.of.with(|asked| {
            let Some((run, asked_days, of)) = asked else { return false };
            *of != whose() || *asked_days != days() || *run != state.run.with(|now| of_any_count(now, *of))
        })
    });
    let label = move |works: RwSignal<bool>, ask: Message| translated(if works.get() { t!("Stop") } else { ask });
    let progress = text(move || {
        let count = models.found.with(Vec::len);
        if models.works.get() { translated(t!("{count} models searched…", count)) } else { String::new() }
    });
    view! {
        <section class="whole-inverse" aria-labelledby="inverse-title">
            <div class="panel-head">
                <h2 id="inverse-title">{text(move || translated(t!(
                    "What {days} days on {gpus} × {gpu} can train",
                    days = number(days(), 3),
                    gpus = state.run.with(|run| run.gpus),
                    gpu = state.run.with(|run| run.gpu.title())
                )))}</h2>
                <span class="spring"></span>
                {days_input(state)}
                <button on:click=press_models>{text(move || label(models.works, t!("Search all models")))}</button>
                <label class="check">
                    <input
                        type="checkbox"
                        prop:checked=flag(move || optimal.get())
                        on:change=move |event| optimal.set(event_target_checked(&event))
                    />
                    {say("compute-optimal tokens")}
                </label>
            </div>
            <p class="muted" role="status">{progress}</p>
            <p class="issue warning" hidden=flag(move || !models_stale.get())>
                {say("This answer is of the settings as they were: search again.")}
            </p>
            <div class="stale-able" class:stale=models_stale use:patched=rows></div>
            <div class="panel-head">
                <h3>{text(move || {
                    let tokens = show_tokens(state.run.with(budget_tokens));
                    translated(t!(
                        "How many GPUs train on {tokens} tokens within {days} days",
                        tokens,
                        days = number(days(), 3)
                    ))
                })}</h3>
                <span class="spring"></span>
                <button on:click=press_counts>{text(move || label(counts.works, t!("Find the fewest GPUs")))}</button>
            </div>
            <div class="stale-able" class:stale=counts_stale aria-live="polite" use:patched=dates></div>
        </section>
    }
    .into_any()
}

/// The input of the days, kept in the link.
fn days_input(state: State) -> AnyView {
    let wrong = RwSignal::new(false);
    let now = move || state.view.days.get().unwrap_or(DAYS).to_string();
    let typed = move |event| {
        let read = event_target_value(&event).trim().parse().ok().filter(|days| (0.01..=MOST_DAYS).contains(days));
        wrong.set(read.is_none());
        if let Some(days) = read {
            state.view.change(|view| view.days = Some(days));
        }
    };
    view! {
        <label class="days">
            <input
                type="text"
                inputmode="decimal"
                autocomplete="off"
                size="5"
                prop:value=text(now)
                aria-invalid=text(move || wrong.get().to_string())
                on:input=typed
            />
            " " {say("days")}
            <small
                class="issue error"
                role="alert"
            >
                {text(move || if wrong.get() { translated("from 0.01 to 36,500") } else { String::new() })}
            </small>
        </label>
    }
    .into_any()
}
