//! The key figures, and the list of issues.

use crate::core::memory::Verdict;
use crate::core::report::{Evaluation, work};
use crate::core::run::Run;
use crate::core::run::registry::field;
use crate::core::t;
use crate::core::units::show_count;
use crate::view::node::markup::{Node, text as plain};
use crate::view::panel::Panel;
use crate::view::panels::budget::{
    budget_name, grey_budget, label_price, label_tokens, own_budget, read_price, show_budget_steps, show_tokens,
};
use crate::view::panels::chosen::failed;
use crate::view::panels::issues::{halted as halted_note, note};
use crate::view::panels::strip::{strip, strip_instead};
use crate::view::panels::suggest::{heading, lead, suggestion};
use crate::view::panels::waterfall::falls;
use crate::view::panels::wide::why_wide;
use crate::web::browser::html::{flag, text};
use crate::web::browser::i18n::{say, translated};
use crate::web::document::panel::{panel, shown};
use crate::web::document::render::{nodes, patched};
use crate::web::form::field::commit;
use crate::web::form::worded::worded_input;
use crate::web::state::State;
use crate::web::state::evaluated::FAILED;
use leptos::prelude::*;
use std::sync::Arc;

/// The key figures; each opens its formula.
#[component]
pub(crate) fn Strip() -> impl IntoView {
    let state = expect_context::<State>();
    let figures = panel(
        state,
        || true,
        move |evaluation, unit| {
            // A layout that is being chosen leaves the figures before it: they are not said to be another run's.
            if state.is_halted() {
                strip_instead(&state.instead(), &evaluation.report, unit)
            } else {
                strip(&evaluation.scenario.run, &evaluation.report, unit)
            }
        },
    );
    let why = panel(state, || true, |evaluation, _| why_wide(evaluation));
    let cost = panel(
        state,
        || true,
        move |evaluation, _| {
            let grey = state.is_halted().then(|| state.run.with(|run| grey_budget(run, &evaluation.scenario.run)));
            Node::from_iter([own_budget(evaluation), grey.unwrap_or_default()])
        },
    );
    view! {
        <div
            class="strip-frame stale-able"
            class:stale=flag(move || state.is_stale())
            role="region"
            aria-label=say("Key figures")
        >
            {nodes("wait-note", move || waiting(state))}
            <div class="strip">
                {nodes("figures", move || figures.get())}
                <div class="key cost">
                    {budget_line(state)}
                    {nodes("figures", move || cost.get())}
                </div>
            </div>
            {nodes("why", move || why.get())}
        </div>
    }
}

/// Tokens and price of the budget, which are edited in place; words in a frame.
fn budget_line(state: State) -> AnyView {
    if state.view.embed.is_some() {
        let words = move || {
            let shown = figures_of(state);
            translated(shown.map_or_else(|| state.run.with(budget_name), |shown| budget_name(&shown.scenario.run)))
        };
        return view! { <span class="name">{text(words)}</span> }.into_any();
    }
    let has_rl = Memo::new(move |_| state.run.with(|run| run.rl.algorithm.is_some()));
    let amount = move || {
        if has_rl.get() {
            let steps = text(move || state.run.with(show_budget_steps).unwrap_or_default());
            let input = field("rl.steps").map(|field| worded_input(state, field, steps, |_, typed| typed.to_owned()));
            view! { <span data-field="rl.steps">{input}</span> " " {say("steps at")} " " }.into_any()
        } else {
            view! {
                <span data-field="tokens_total">{tokens_input(state)}</span> " " {say("tokens at")} " "
            }
            .into_any()
        }
    };
    view! {
        <span class="name">
            {amount}
            <span data-field="price_per_gpu_hour">{price_input(state)}</span>
            <span class="wide-only">" " {say("per GPU-hour")}</span>
        </span>
    }
    .into_any()
}

/// The evaluation of another Run, whose figures stand in place of those of the Run as entered; none where its own do.
fn figures_of(state: State) -> Option<Arc<Evaluation>> {
    state.is_halted().then(|| state.evaluation()).flatten()
}

/// The input of the budget's tokens, with those that are assumed where there are none.
pub(crate) fn tokens_input(state: State) -> Option<AnyView> {
    let tokens = text(move || {
        let shown = figures_of(state);
        state.run.with(|run| show_tokens(label_tokens(run, shown.as_ref().map(|shown| &shown.scenario.run))))
    });
    Some(worded_input(state, field("tokens_total")?, tokens, |_, typed| typed.to_owned()))
}

/// The input of the budget's price, read with its currency; the one that is assumed where there is none.
pub(crate) fn price_input(state: State) -> Option<AnyView> {
    let price = text(move || {
        let shown = figures_of(state);
        state.run.with(|run| label_price(run, shown.as_ref().map(|shown| &shown.scenario.run)))
    });
    Some(worded_input(state, field("price_per_gpu_hour")?, price, read_typed))
}

/// The number of a typed price; its currency becomes that of the Run, and a price of its kind gives way to it.
fn read_typed(state: State, typed: &str) -> String {
    let (currency, number) = read_price(typed);
    let of_kind = |run: &Run| run.length.prices.as_ref()?.of_gpu(run.gpu.base?).and(run.gpu.base);
    if let Some(without) = state.run.with_untracked(|run| of_kind(run).and_then(|id| run.with_price(id, None))) {
        state.run.set(without);
    }
    // An empty field takes both defaults.
    let currency = if number.is_empty() { Some("$".to_owned()) } else { currency };
    if let (Some(field), Some(sign)) = (field("currency"), currency) {
        // A sign that is refused leaves the one before.
        let _ = commit(state, field, if sign == "$" { "" } else { &sign });
    }
    number
}

/// The parts of the step.
#[component]
pub(crate) fn Waterfall() -> impl IntoView {
    let state = expect_context::<State>();
    let rows = panel(state, || true, move |own, _| falls(own, state.planner.searched(own).lessened()));
    view! {
        <section class="water stale-able" class:stale=flag(move || state.is_stale()) aria-labelledby="water-title">
            <div class="panel-head">
                <h2 id="water-title">{say("Where the step goes")}</h2>
                <small
                    class="phone-hide"
                >
                    {say("each row starts where the one above ends; shares of the whole step")}
                </small>
            </div>
            {nodes("falls", move || rows.get())}
        </section>
    }
}

/// The step of reinforcement learning, where the Run has one.
#[component]
pub(crate) fn ReinforcementStep() -> impl IntoView {
    let state = expect_context::<State>();
    let step = shown(state, move || state.run.with(|run| run.rl.algorithm.is_some()).then_some(Panel::Rl));
    view! { <div class="stale-able" class:stale=flag(move || state.is_stale()) use:patched=step></div> }
}

/// True if the run whose figures are shown runs out of memory.
fn unfits(state: State) -> bool {
    state.evaluation().is_some_and(|own| own.report.memory.overall() == Verdict::Oom)
}

/// The layouts that do better; in their place what is wrong, with what mends it.
#[component]
pub(crate) fn Advice() -> impl IntoView {
    let state = expect_context::<State>();
    let searched = move |evaluation: &Evaluation| state.planner.searched(evaluation);
    let cards = panel(state, || true, move |evaluation, unit| suggestion(evaluation, &searched(evaluation), unit));
    let unfit = move || failed(state.layout.get_value().outcome().as_ref(), state.view.unit.get());
    // What makes a run fit comes right below the answer.
    let unfits = move || unfits(state);
    // Beside a proposal that fits there are no others to take; where none fits, the cards are the ways to make it fit.
    let ways = move || state.stands_in() && unfits();
    let own = move |node: Node| if state.stands_in() { Node::none() } else { node };
    let list = move || {
        let list = Node::from_iter([unfit(), cards.get()]);
        if ways() { list } else { own(list) }
    };
    let words = panel(state, || true, move |evaluation, _| lead(evaluation, &searched(evaluation)));
    let note = move || note(state.fault().as_ref(), &state.noted(), &state.instead());
    let title = panel(state, || true, move |evaluation, _| plain(heading(evaluation, &searched(evaluation))));
    view! {
        <section class="better" class:unfits=flag(unfits) class:ways=flag(ways) aria-labelledby="better-title">
            <div class="panel-head">
                <h2 id="better-title" use:patched=title></h2>
                {nodes("muted caption", move || own(words.get()))}
                <span class="spring"></span>
                {nodes("note-line", note)}
            </div>
            <div class="stale-able" class:stale=flag(move || state.is_stale() && !ways())>
                {nodes("cards-frame", list)}
            </div>
        </section>
    }
}

/// The head of a view beside that of the Run, while the figures are of another Run than the one entered.
pub(crate) fn halted(state: State, is_open: impl Fn() -> bool + Send + Sync + 'static) -> AnyView {
    nodes(
        "halted",
        move || {
            if is_open() { halted_note(state.fault().as_ref(), &state.instead()) } else { Node::none() }
        },
    )
}

/// Number of ops being simulated, while they are.
pub(crate) fn waiting(state: State) -> Node {
    if state.undrawable.get() {
        return plain(FAILED);
    }
    if !state.shown.with(|shown| shown.waits) && state.is_drawn() {
        return Node::none();
    }
    let ops = state.run.with(work).unwrap_or_default();
    plain(t!("simulating {ops} ops…", ops = show_count(ops as f64)))
}
