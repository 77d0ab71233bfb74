//! Dispatcher of the actions of all panels.

use crate::core::report::evaluate;
use crate::core::search::ladder::differs_in_layout;
use crate::io::dialect::launcher;
use crate::io::export::picture;
use crate::view::look::Look as Board;
use crate::view::node::action::{BoardAction, Compare, Dialog, PanelChoice, Save};
use crate::view::node::markup::Action;
use crate::view::panels::budget::set_keeping_budget;
use crate::view::panels::chosen::LayoutOrigin;
use crate::view::views::{PanelsTab, View};
use crate::web::browser;
use crate::web::browser::i18n::{shown, translated};
use crate::web::compare::compare;
use crate::web::dialogs::share::open_share;
use crate::web::document::{modal, shortcuts};
use crate::web::form::field::input_id_of;
use crate::web::form::history;
use crate::web::form::reveal;
use crate::web::state::State;
use js_sys::{Object, Reflect};
use leptos::prelude::*;
use std::time::Duration;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{CustomEvent, CustomEventInit, Element, MouseEvent};

/// Carries out `action`.
pub fn dispatch(state: State, action: Action, event: &MouseEvent) {
    if changes_run(&action) {
        // A press is a step of its own, however soon it follows an edit or the end of a search.
        state.history.get_value().begin();
    }
    match action {
        Action::Explain(figure) => {
            state.ask(figure);
            shortcuts::drawer_opens(event);
        }
        Action::ExplainWhole(figure) => {
            state.panels.explain_whole(figure);
            shortcuts::drawer_opens(event);
        }
        Action::Future(seed) => state.view.change(|view| view.future = seed),
        Action::Focus(key) => focus(state, key),
        Action::Apply(set) => {
            let set = state.run.with_untracked(|run| set_keeping_budget(run, &set));
            state.apply(&set);
        }
        Action::Name(set) => name_run(state, &set),
        Action::Splits(set) => {
            if !set.is_empty() {
                name_run(state, &set);
            }
            open_tab(state, PanelsTab::Pipeline);
            state.view.change(|view| view.splits = true);
        }
        Action::Costs(set) => {
            name_run(state, &set);
            open_tab(state, PanelsTab::Costs);
        }
        Action::Show(view) => state.view.show(view),
        Action::Tab(tab) => open_tab(state, tab),
        Action::Step(step, sliders) => state.view.change(|view| {
            view.show(View::Learn(step));
            view.sliders = sliders;
        }),
        Action::Try(view, set) => {
            state.view.show(view);
            try_on(state, &set);
        }
        Action::Load(run) => {
            history::load(state, (*run).clone(), LayoutOrigin::of_loaded(&run));
            modal::close();
            browser::to_top();
        }
        Action::Take(run) => {
            history::load(state, (*run).clone(), LayoutOrigin::of_loaded(&run));
            browser::to_top();
        }
        Action::Import(run, launches) => {
            history::import(state, (*run).clone());
            browser::to_top();
            if launches {
                modal::open(state, Dialog::Export(launcher(&run)));
            } else {
                modal::close();
            }
        }
        Action::Open(page) => modal::open(state, page),
        Action::Share => open_share(state, false),
        Action::Compare(change) => change_second(state, change, event),
        Action::Undo => history::step(state, true),
        Action::Redo => history::step(state, false),
        Action::ChooseLayout(choose) => state.layout.get_value().press(choose),
        Action::SearchModels(set) => {
            state.apply(&set);
            state.panels.models.set(true);
            state.view.show(View::Whole);
        }
        Action::Choose(choice) => state.view.chosen.update(|chosen| match choice {
            PanelChoice::Policy(policy) => chosen.policy = policy,
            PanelChoice::Beside(traffic) => chosen.beside = traffic,
            PanelChoice::Group(kind) => chosen.group = kind,
            PanelChoice::Load(link) => chosen.load = link,
        }),
        Action::Sort(column) => {
            state.view.change(|view| view.gallery.sort = view.gallery.sort.pressed(column));
        }
        Action::Gallery(action) => {
            let run = state.run.get_untracked();
            state.view.change(|view| view.gallery.press(&run, action));
        }
        Action::Save(save) => {
            let target = event.target().and_then(|target| target.dyn_into().ok());
            let button = target.and_then(|target: Element| target.closest("button").ok()?);
            if let Some(button) = button {
                keep(state, save, button);
            }
        }
        Action::Measured(command) => state.runs.act(state, command),
        Action::Board(BoardAction::Pick(tool, slice)) => {
            state.view.change(|view| view.board = Board { tool, slice });
        }
        Action::Board(BoardAction::Open(run, scored)) => {
            state.scored.set(scored);
            history::load(state, (*run).clone(), LayoutOrigin::Yours);
            state.view.show(View::Run);
        }
    }
}

/// True for a press that sets fields of the Run as it is, or chooses its layout.
const fn changes_run(action: &Action) -> bool {
    matches!(
        action,
        Action::Apply(_)
            | Action::Name(_)
            | Action::Splits(_)
            | Action::Costs(_)
            | Action::Try(..)
            | Action::Import(..)
            | Action::SearchModels(_)
            | Action::ChooseLayout(_)
    )
}

/// Sets fields whose outcome was promised for the layout as it is: one that follows the run is not chosen anew.
fn try_on(state: State, set: &[(&'static str, String)]) {
    let now = state.run.get_untracked();
    let after = now.with_texts(set).filter(|after| !differs_in_layout(&now, after));
    let is_chosen = state.layout.get_value().origin.get_untracked() == LayoutOrigin::Chosen;
    match after.filter(|_| is_chosen) {
        Some(after) => state.take(after, LayoutOrigin::Yours),
        None => state.apply(set),
    }
}

/// Leads to the field `key`, wherever it is folded away.
fn focus(state: State, key: &'static str) {
    state.panels.tab.set("inputs");
    reveal(state, key);
    // A view beside that of the Run may have the button and not the field.
    request_animation_frame(move || {
        let input = || browser::by_id(&input_id_of(key));
        let is_hidden = |input: &web_sys::HtmlElement| matches!(input.closest("main[hidden]"), Ok(Some(_)));
        if input().is_some_and(|input| is_hidden(&input)) {
            state.view.show(View::Run);
        }
        request_animation_frame(move || {
            if let Some(input) = browser::by_id(&input_id_of(key)) {
                input.scroll_into_view();
                let _ = input.focus();
            }
        });
    });
}

/// Sets the fields of a run that was typed in one line, and chooses the layout, of which those that are given stay.
fn name_run(state: State, set: &[(&'static str, String)]) {
    state.apply(set);
    let given: Vec<String> = set.iter().map(|(key, _)| (*key).to_owned()).collect();
    // Once what follows the run knows of the change.
    request_animation_frame(move || state.layout.get_value().resolve(&given));
}

/// Opens a tab of the Run's panels and goes there.
fn open_tab(state: State, tab: PanelsTab) {
    state.panels.tab.set("results");
    state.view.change(|view| {
        view.show(View::Run);
        view.tab = Some(tab).filter(|tab| *tab != PanelsTab::Memory);
    });
    request_animation_frame(|| {
        if let Some(tabs) = browser::by_id("panels") {
            tabs.scroll_into_view();
        }
    });
}

/// Changes the second run, or asks for one of its figures.
fn change_second(state: State, change: Compare, event: &MouseEvent) {
    match change {
        Compare::Begin => compare(state),
        Compare::Keep(run) => {
            state.view.keep_second(Some((*run).clone()));
            modal::close();
            browser::to_top();
        }
        Compare::Swap(run, second) => {
            state.take((*run).clone(), state.origin_of(&run));
            state.view.keep_second(Some((*second).clone()));
        }
        Compare::Explain(figure) => {
            state.panels.explain_second(figure);
            shortcuts::drawer_opens(event);
        }
        Compare::Close => state.view.keep_second(None),
    }
}

/// The word of a button that says for a while that its text was copied.
const BEFORE: &str = "data-before";
/// For how long a button says that its text was copied.
const SAID: Duration = Duration::from_secs(4);

/// Copies or saves as `save` says; `button` says whether a copy was made.
fn keep(state: State, save: Save, button: Element) {
    match save {
        Save::Copy(text) => browser::copy(&text, move |done| {
            let word = if done { "Copied" } else { "Select and copy" };
            if button.get_attribute(BEFORE).is_none() {
                let _ = button.set_attribute(BEFORE, &button.text_content().unwrap_or_default());
            }
            button.set_text_content(Some(&untrack(|| translated(word))));
            // The same button may be another text's by then.
            let button = button.clone();
            let end = move || {
                if let Some(before) = button.get_attribute(BEFORE) {
                    button.set_text_content(Some(&before));
                    let _ = button.remove_attribute(BEFORE);
                }
            };
            set_timeout(end, SAID);
        }),
        Save::Text { name, text } => browser::download(&name, "text/plain", &text),
        Save::Texts(files) => {
            for (name, text) in files {
                browser::download(&name, "text/plain", &text);
            }
        }
        Save::Picture { name, drawn, unit, png, run, theme } => {
            let around = button.closest("section, dialog").ok().flatten();
            let width = around.map_or(1200, |around| around.client_width()) - 96;
            let theme = theme.unwrap_or_else(|| state.view.theme.get_untracked());
            let evaluation = run.and_then(|run| evaluate(&run).ok());
            let (width, (_, catalogue)) = (f64::from(width.max(640)), untrack(shown));
            let svg = drawn
                .zip(evaluation)
                .map(|(drawn, evaluation)| picture(drawn, &evaluation, theme, width, unit, &catalogue));
            offer_picture(&button, name, png, svg);
        }
    }
}

/// Saves the picture `svg` as `name`; none: the one that stands nearest to `target`.
pub(crate) fn offer_picture(target: &Element, name: &str, png: bool, svg: Option<String>) {
    let end = if png { "png" } else { "svg" };
    let detail = Object::new();
    for (key, value) in [("name", name.into()), ("end", end.into()), ("svg", svg.into())] {
        let value: JsValue = value;
        let _ = Reflect::set(&detail, &key.into(), &value);
    }
    // public/lazy/save.js resolves the style sheet and rasterises.
    let init = CustomEventInit::new();
    init.set_bubbles(true);
    init.set_detail(&detail);
    if let Ok(event) = CustomEvent::new_with_event_init_dict("save-picture", &init) {
        let _ = target.dispatch_event(&event);
    }
}
