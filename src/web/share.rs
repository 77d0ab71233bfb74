//! The Share dialog: the picture of the view, the link, and what to copy into a wiki.

use crate::core::report::Evaluation;
use crate::core::units::MemoryUnit;
use crate::io::export::{Picture, svg};
use crate::io::link::{encode, encode_with};
use crate::view::charts::lod::Sums;
use crate::view::charts::viewport::Viewport;
use crate::view::node::markup::{Node, el, leaf, raw};
use crate::view::palette::Theme;
use crate::view::panel::Panel;
use crate::view::panels::strip::{budget, budget_name, strip};
use crate::view::panels::waterfall::waterfall;
use crate::view::view_state::ViewState;
use crate::view::views::{Embed, View};
use crate::web::browser;
use crate::web::html::{flag, text};
use crate::web::i18n::{say, translated};
use crate::web::render::nodes;
use crate::web::state::State;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

/// Panels to choose from, with their names.
const PANELS: [(Embed, &str); 9] = [
    (Embed::Timeline, "Timeline"),
    (Embed::Strip, "Answer"),
    (Embed::Waterfall, "Waterfall"),
    (Embed::Memory, "Memory"),
    (Embed::Overlap, "Overlap"),
    (Embed::Whole, "Whole run"),
    (Embed::Schedules, "Schedules"),
    (Embed::Cluster, "Cluster"),
    (Embed::Scoreboard, "Scoreboard"),
];

/// The panel of the open view.
const fn of_view(view: View) -> Embed {
    match view {
        View::Schedules => Embed::Schedules,
        View::Cluster => Embed::Cluster,
        View::Learn(_) => Embed::Lesson,
        View::Whole => Embed::Whole,
        View::Scoreboard => Embed::Scoreboard,
        View::Run => Embed::Timeline,
    }
}

/// Themes of a frame.
const THEMES: [(Option<Theme>, &str); 3] =
    [(None, "as the reader"), (Some(Theme::Light), "light"), (Some(Theme::Dark), "dark")];

/// Width of the picture of the timeline, pixels.
const WIDE: f64 = 640.0;

/// The picture of `panel`; words where it is seen in its frame only.
fn picture(evaluation: &Evaluation, panel: Embed, unit: MemoryUnit, theme: Theme) -> Node {
    let (run, report) = (&evaluation.scenario.run, &evaluation.report);
    let name = |name: &'static str| leaf("p", "", name);
    match panel {
        Embed::Timeline if evaluation.has_timeline() => {
            let sums = Sums::of(evaluation.timeline());
            let view = Viewport::all(evaluation.spans.makespan());
            let rank = report.memory.peak_stage;
            raw(&svg(&Picture { evaluation, sums: &sums, view, width: WIDE, rank, theme }))
        }
        Embed::Strip => {
            let cost = [leaf("span", "name", budget_name(run)), budget(run, &report.step)];
            el("div", &[("class", "strip")], &[strip(report, unit), el("div", &[("class", "key cost")], &cost)])
        }
        Embed::Waterfall => el("div", &[], &[waterfall(evaluation)]),
        Embed::Memory | Embed::Overlap => {
            let panel = if panel == Embed::Memory { Panel::MemoryBars(None) } else { Panel::Overlap };
            el("div", &[], &[panel.view(evaluation, unit)])
        }
        Embed::Schedules => name("The schedules that are ticked, on one axis; all of them where none is."),
        Embed::Whole => name("The whole run: days, losses and cost."),
        Embed::Cluster => name("The map of the cluster."),
        Embed::Scoreboard => name("The scoreboard: every calculator, and the scatter of the chosen one."),
        _ => name("The open step of the lesson with its sliders."),
    }
}

const FORMS: [(&str, &str); 3] = [
    ("frame", "frame"),
    ("element", "element, as high as its content"),
    ("markdown", "Markdown link to the whole page"),
];

fn choice(
    label: &'static str,
    options: impl Iterator<Item = (&'static str, &'static str)>,
    to: RwSignal<String>,
) -> AnyView {
    let option = |(id, label)| view! { <option value=id>{say(label)}</option> };
    let choose = move |event| to.set(event_target_value(&event));
    view! { <select aria-label=say(label) on:change=choose>{options.map(option).collect_view()}</select> }.into_any()
}

/// Opens the dialog.
pub(crate) fn open_share(state: State) {
    state.panels.shares.set(true);
    if let Some(dialog) = dialog() {
        let _ = dialog.show_modal();
    }
}

fn dialog() -> Option<web_sys::HtmlDialogElement> {
    browser::by_id("share").and_then(|element| element.dyn_into().ok())
}

/// The dialog, closed.
#[component]
pub(crate) fn ShareDialog() -> impl IntoView {
    let state = expect_context::<State>();
    let chosen = RwSignal::new(None::<Embed>);
    let theme = RwSignal::new(None::<Theme>);
    let panel = move || match (of_view(state.view.open.get()), chosen.get()) {
        (Embed::Lesson, _) => Embed::Lesson,
        (own, chosen) => chosen.unwrap_or(own),
    };
    let form = RwSignal::new(String::new());
    let address = move |view: ViewState| {
        let fragment = state.run.with(|run| encode_with(run, &view));
        format!("{}#{fragment}", browser::address())
    };
    let made = || Some(env!("CARGO_PKG_VERSION").to_owned());
    let whole = move |lang| address(ViewState { lang, made: made(), theme: None, page: None, ..state.view.get() });
    let link = move || whole(state.view.lang.get());
    // An embed has the language that was chosen here, by link or by button; where none was chosen, its reader's.
    let language = move || {
        let lang = state.view.lang.get().or_else(|| state.view.language.get());
        lang.filter(|lang| ["en", "zh"].contains(&lang.as_str()))
    };
    let code = move || {
        let now = state.view.get();
        // Of an open lesson it is the step that is shared.
        let step = now.step();
        let panel = panel();
        let home = browser::address();
        let home = home.rsplit_once('/').map_or("", |(home, _)| home);
        match form.get().as_str() {
            "element" => {
                let run = state.run.with(encode).replace('&', "&amp;");
                let lang = language().map_or_else(String::new, |lang| format!(" lang=\"{lang}\""));
                let pairs = now.pairs().filter(|(name, _)| ["lesson", "sliders"].contains(name));
                let step: Vec<String> = pairs.map(|(name, value)| format!(" {name}=\"{value}\"")).collect();
                let step = step.concat();
                let panel = panel.id();
                format!(
                    "<script type=\"module\" src=\"{home}/embed.js\"></script>\n<shardscope-embed run=\"{run}\" panel=\"{panel}\"{step}{lang}></shardscope-embed>"
                )
            }
            "markdown" => format!("[{}]({})", document().title(), whole(language())),
            _ => {
                let view = ViewState {
                    embed: Some(panel),
                    open: step.map_or(View::Run, View::Learn),
                    lang: language(),
                    made: made(),
                    theme: theme.get(),
                    page: None,
                    second: None,
                    ..now
                };
                let source = address(view).replace('&', "&amp;");
                format!(
                    "<iframe src=\"{source}\" width=\"600\" height=\"400\" style=\"border:0\" loading=\"lazy\" title=\"Shardscope\"></iframe>"
                )
            }
        }
    };
    let long = move || link().len() > 1000;
    // Computed while the dialog is open.
    let shown = move || {
        let evaluation = state.panels.shares.get().then(|| state.drawn.get()).flatten();
        evaluation.map_or_else(Node::none, |evaluation| {
            picture(&evaluation, panel(), state.view.unit.get(), theme.get().unwrap_or_else(|| state.view.theme.get()))
        })
    };
    let option = move |(one, name): (Embed, &'static str)| {
        let pressed = text(move || (panel() == one).to_string());
        view! { <button aria-pressed=pressed on:click=move |_| chosen.set(Some(one))>{say(name)}</button> }
    };
    let tint = move |(one, name): (Option<Theme>, &'static str)| {
        let pressed = text(move || (theme.get() == one).to_string());
        view! { <button aria-pressed=pressed on:click=move |_| theme.set(one)>{say(name)}</button> }
    };
    let is_lesson = flag(move || panel() == Embed::Lesson);
    view! {
        <dialog id="share" aria-labelledby="share-title" on:close=move |_| state.panels.shares.set(false)>
            <h2 id="share-title">{say("Share this run")}</h2>
            <div inert>{nodes("share-picture", shown)}</div>
            <div class="share-choice">
                <span class="seg" role="group" aria-label=say("Panel") hidden=is_lesson>{PANELS.map(option).collect_view()}</span>
                <span class="seg" role="group" aria-label=say("Colours")>{THEMES.map(tint).collect_view()}</span>
            </div>
            <p class="muted">{say("The link holds the whole configuration. Nothing is stored anywhere else.")}</p>
            <div class="row">
                <textarea id="share-link" readonly rows="2" aria-label=say("Link") prop:value=text(link)></textarea>
                <CopyButton what=text(link)/>
            </div>
            <p class="issue warning" hidden=flag(move || !long())>{say("Over 1000 characters: some chat programs cut it.")}</p>
            <p>
                {say("For a wiki:")}
                " "
                {choice("Form", FORMS.into_iter(), form)}
            </p>
            <div class="row">
                <textarea readonly rows="3" aria-label=say("Code") prop:value=text(code)></textarea>
                <CopyButton what=text(code)/>
            </div>
            <div class="end">
                <button on:click=move |_| if let Some(dialog) = dialog() { dialog.close() }>{say("Close")}</button>
            </div>
        </dialog>
    }
}

#[component]
fn CopyButton(what: Signal<String>) -> impl IntoView {
    let word = RwSignal::new("Copy");
    let copy = move |_| {
        browser::copy(&what.get_untracked(), move |done| {
            word.set(if done { "Copied" } else { "Select and copy" });
        });
    };
    view! { <button class="main" on:click=copy aria-live="polite">{text(move || translated(word.get()))}</button> }
}
