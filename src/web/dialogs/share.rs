//! The Share dialog: the picture of the view, the link, and what to copy into a wiki.

use crate::core::report::{Evaluation, ScheduleVariant, evaluate, needs_worker};
use crate::core::run::{OneOf, Run};
use crate::core::units::MemoryUnit;
use crate::io::export::{Picture, compared_card, picture as drawing, stacked};
use crate::io::link::encode_with;
use crate::view::charts::lod::Sums;
use crate::view::charts::viewport::Viewport;
use crate::view::gallery::GalleryLook;
use crate::view::node::action::Save;
use crate::view::node::figure::Scope;
use crate::view::node::markup::{Action, Node, el, leaf, raw};
use crate::view::palette::Theme;
use crate::view::panel::Panel;
use crate::view::panels::budget::{budget, budget_name};
use crate::view::panels::compare::{named, pictured};
use crate::view::panels::strip::strip;
use crate::view::panels::waterfall::waterfall;
use crate::view::view_state::ViewState;
use crate::view::views::{Drawn, Embed, View};
use crate::web::browser;
use crate::web::browser::html::{effect, flag, text};
use crate::web::browser::i18n;
use crate::web::browser::i18n::{say, translated};
use crate::web::document::arriving::arriving;
use crate::web::document::render::nodes;
use crate::web::late::parts;
use crate::web::state::State;
use leptos::prelude::*;
use std::sync::Arc;
use wasm_bindgen::JsCast;

parts! {
    views: share_forms(state: State) -> AnyView = forms(state);
}

/// Panels to choose from, with their names.
const PANELS: [(Embed, &str); 12] = [
    (Embed::Compare, "Both runs"),
    (Embed::Timeline, "Timeline"),
    (Embed::Strip, "Answer"),
    (Embed::Waterfall, "Waterfall"),
    (Embed::Memory, "Memory"),
    (Embed::Overlap, "Overlap"),
    (Embed::Whole, "Whole run"),
    (Embed::Schedules, "Schedules"),
    (Embed::Cluster, "Cluster"),
    (Embed::Scoreboard, "Scoreboard"),
    (Embed::Rl, "Reinforcement learning"),
    (Embed::Diagnose, "Diagnosis"),
];

/// The panel of the open view; of the Run's the comparison where it is compared with another.
const fn of_view(view: View, has_second: bool) -> Embed {
    match view {
        View::Run if has_second => Embed::Compare,
        View::Schedules => Embed::Schedules,
        View::Cluster => Embed::Cluster,
        View::Learn(_) => Embed::Lesson,
        View::Whole => Embed::Whole,
        View::Scoreboard => Embed::Scoreboard,
        View::Diagnose(false) => Embed::Diagnose,
        View::Run | View::Diagnose(true) => Embed::Timeline,
    }
}

/// Themes of a frame.
const THEMES: [(Option<Theme>, &str); 3] =
    [(None, "as the reader"), (Some(Theme::Light), "light"), (Some(Theme::Dark), "dark")];

/// Width of the picture of the timeline, and of the card, pixels.
const WIDE: f64 = 960.0;
const CARD: f64 = 1200.0;

/// The picture of `panel`; words where it is seen in its frame only.
fn picture(evaluation: &Evaluation, panel: Embed, look: &GalleryLook, unit: MemoryUnit, theme: Theme) -> Node {
    let (run, report) = (&evaluation.scenario.run, &evaluation.report);
    let name = |name: &'static str| leaf("p", "", name);
    match panel {
        Embed::Timeline if evaluation.has_timeline() => {
            raw(&drawing(Drawn::Timeline, evaluation, theme, WIDE, unit, &i18n::shown().1))
        }
        Embed::Strip => {
            let cost = [leaf("span", "name", budget_name(run)), budget(evaluation, &Scope::run())];
            el("div", &[("class", "strip")], &[strip(run, report, unit), el("div", &[("class", "key cost")], &cost)])
        }
        Embed::Waterfall => el("div", &[], &[waterfall(evaluation)]),
        Embed::Rl if run.rl.algorithm.is_some() => el("div", &[], &[Panel::Rl.view(evaluation, unit)]),
        Embed::Rl => name("The step of reinforcement learning, once its algorithm is set."),
        Embed::Memory | Embed::Overlap => {
            let panel = if panel == Embed::Memory { Panel::MemoryBars(None) } else { Panel::Overlap(None) };
            el("div", &[], &[panel.view(evaluation, unit)])
        }
        Embed::Schedules if is_compared(run, look) => raw(&lanes(run, look, theme, |all| stacked(all, unit, None))),
        Embed::Schedules => name("The schedules that are ticked, on one axis; all of them where none is."),
        Embed::Whole => name("The whole run: days, losses and cost."),
        Embed::Diagnose => name("Parts and causes of the files that were read; nothing of the files themselves."),
        Embed::Cluster => name("The map of the cluster."),
        Embed::Compare => name("The run beside the second one."),
        Embed::Scoreboard => name("The scoreboard: every calculator, and the scatter of the chosen one."),
        _ => name("The open step of the lesson with its sliders."),
    }
}

/// True if the ticked schedules can be drawn at once.
fn is_compared(run: &Run, look: &GalleryLook) -> bool {
    look.ticked.as_ref().is_some_and(|ticked| !ticked.is_empty()) && !needs_worker(run)
}

/// The schedules that are ticked, on one axis, as `draw` draws them.
fn lanes(run: &Run, look: &GalleryLook, theme: Theme, draw: impl Fn(&[Picture]) -> String) -> String {
    let limit = look.limit(run);
    let set = |variant: ScheduleVariant| run.with_texts(&variant.set(run, limit));
    let evaluations = look.ticked(run).into_iter().filter_map(|variant| evaluate(&set(variant)?).ok());
    on_one_axis(evaluations.collect(), theme, draw)
}

/// Timelines on one axis, as `draw` draws them.
fn on_one_axis(evaluations: Vec<Evaluation>, theme: Theme, draw: impl Fn(&[Picture]) -> String) -> String {
    let lanes: Vec<_> = evaluations.into_iter().map(|one| (Sums::of(one.timeline()), one)).collect();
    let end = lanes.iter().map(|(_, one)| one.spans.makespan()).fold(0.0, f64::max);
    let view = Viewport::all(end);
    let (_, catalogue) = i18n::shown();
    let pictures = lanes.iter().map(|(sums, evaluation)| {
        let rank = evaluation.report.memory.peak_stage;
        Picture { evaluation, sums, view, width: WIDE, rank, theme, catalogue: &catalogue }
    });
    draw(&pictures.collect::<Vec<_>>())
}

/// Forms in which a run is shared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Link,
    Picture,
    Frame,
    Element,
    Markdown,
    Card,
}

/// The tabs, with what each gives.
const FORMS: [(Form, &str, &str); 6] = [
    (Form::Link, "Link", "The link holds the whole configuration. Nothing is stored anywhere else."),
    (Form::Picture, "Picture", "The picture above as a file, in the colours that are chosen."),
    (Form::Frame, "Embed", "A frame of 600 × 400, live: above as its readers see it."),
    (
        Form::Element,
        "Embed as element",
        "An element as high as its content, for pages that allow scripts. It loads embed.js of this page: a page of \
            another host gets it only where this host sends Access-Control-Allow-Origin (see Hosting).",
    ),
    (Form::Markdown, "Markdown", "A link to the whole page, named after the run."),
    (
        Form::Card,
        "Social preview",
        "1200 × 630, for posts and slides: a link alone cannot show this run in \
            a preview.",
    ),
];

/// The picture of a panel.
const fn drawn(panel: Embed) -> Option<Drawn> {
    match panel {
        Embed::Timeline => Some(Drawn::Timeline),
        Embed::Strip => Some(Drawn::Card),
        Embed::Waterfall => Some(Drawn::Step),
        Embed::Memory => Some(Drawn::Memory),
        Embed::Overlap => Some(Drawn::Overlap),
        _ => None,
    }
}

/// The text to copy: the link, or the code for a wiki.
fn written(state: State, form: Form, panel: Embed, theme: Option<Theme>) -> String {
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
    let now = state.view.get();
    let home = browser::address();
    let home = home.rsplit_once('/').map_or("", |(home, _)| home);
    match form {
        Form::Link => link(),
        Form::Element => {
            // What the gallery shows goes with the Run.
            let shown = |name: &str| panel == Embed::Schedules && ["ticked", "sort", "axis", "limit"].contains(&name);
            let gallery = now.pairs().filter(|(name, _)| shown(name));
            let gallery: Vec<String> = gallery.map(|(name, value)| format!("&view.{name}={value}")).collect();
            // A comparison is of both Runs.
            let second = now.second.clone().filter(|_| panel == Embed::Compare);
            let both = ViewState { second, ..ViewState::default() };
            let run = state.run.with(|run| encode_with(run, &both));
            let run = format!("{run}{}", gallery.concat()).replace('&', "&amp;");
            let lang = language().map_or_else(String::new, |lang| format!(" lang=\"{lang}\""));
            // Of an open lesson it is the step that is shared.
            let pairs = now.pairs().filter(|(name, _)| ["lesson", "sliders"].contains(name));
            let step: Vec<String> = pairs.map(|(name, value)| format!(" {name}=\"{value}\"")).collect();
            let step = step.concat();
            let panel = panel.id();
            format!(
                "<script type=\"module\" src=\"{home}/embed.js\"></script>\n<shardscope-embed run=\"{run}\" \
                    panel=\"{panel}\"{step}{lang}></shardscope-embed>"
            )
        }
        Form::Markdown => format!("[{}]({})", document().title(), whole(language())),
        Form::Frame | Form::Picture | Form::Card => {
            let source = framed(state, panel, theme, language()).replace('&', "&amp;");
            format!(
                "<iframe src=\"{source}\" width=\"600\" height=\"400\" style=\"border:0\" loading=\"lazy\" \
                    title=\"Shardscope\"></iframe>"
            )
        }
    }
}

/// The address of a frame of `panel`.
fn framed(state: State, panel: Embed, theme: Option<Theme>, lang: Option<String>) -> String {
    let now = state.view.get();
    let made = Some(env!("CARGO_PKG_VERSION").to_owned());
    let view = ViewState { made, ..now.framed(panel, theme, lang) };
    format!("{}#{}", browser::address(), state.run.with(|run| encode_with(run, &view)))
}

/// True if a frame of `panel` has something to show of `run` and of the files that were read.
fn has_content(state: State, panel: Embed) -> bool {
    match panel {
        Embed::Rl => state.run.with(|run| run.rl.algorithm.is_some()),
        Embed::Diagnose => state.view.get().diagnosis.is_some(),
        Embed::Compare => state.view.second.with(Option::is_some),
        _ => true,
    }
}

/// Opens the dialog on the link, or on the code of a frame.
pub(crate) fn open_share(state: State, embeds: bool) {
    state.panels.shares.set(Some(embeds));
    if let Some(dialog) = dialog() {
        let _ = dialog.show_modal();
    }
}

fn dialog() -> Option<web_sys::HtmlDialogElement> {
    browser::by_id("share").and_then(|element| element.dyn_into().ok())
}

/// True if `panel` compares the Run with a second one, whose picture is soon drawn.
fn is_both(state: State, panel: Embed) -> bool {
    let is_second = |run: &Run| !needs_worker(run) && evaluate(run).is_ok();
    panel == Embed::Compare && state.view.second.with(|second| second.as_ref().is_some_and(is_second))
}

/// The second run of a comparison.
fn second(state: State) -> Option<Evaluation> {
    state.view.second.with(|second| second.as_ref().and_then(|run| evaluate(run).ok()))
}

/// What `form` shows of `panel`, in the colours of `theme` or, where it is none, of the page. It is computed while the
/// dialog is open.
fn preview(state: State, form: Form, panel: Embed, theme: Option<Theme>) -> Node {
    let Some(evaluation) = state.panels.shares.get().and_then(|_| state.drawn.get()) else {
        return Node::none();
    };
    let colours = theme.unwrap_or_else(|| state.view.theme.get());
    let unit = state.view.unit.get();
    // A page that was saved as one file may hold no frame.
    let is_framed = matches!(form, Form::Frame | Form::Element) && browser::address().starts_with("http");
    let is_compared = || state.view.gallery.with(|look| state.run.with(|run| is_compared(run, look)));
    match form {
        Form::Frame | Form::Element if is_framed => {
            let lang = state.view.lang.get().or_else(|| state.view.language.get());
            let source = framed(state, panel, theme, lang);
            // Another frame for each address: one that is there keeps its panel where the fragment alone changes.
            el("iframe", &[("class", "live"), ("src", &source)], &[]).label("The frame, live").keyed(&source)
        }
        Form::Card if panel == Embed::Schedules && is_compared() => state.view.gallery.with(|look| {
            let run = &evaluation.scenario.run;
            raw(&lanes(run, look, colours, |all| compared_card(all, unit, None)))
        }),
        Form::Link | Form::Markdown if is_both(state, panel) => {
            second(state).map_or_else(Node::none, |second| pictured([&evaluation, &second]))
        }
        Form::Picture | Form::Card if is_both(state, panel) => second(state).map_or_else(Node::none, |second| {
            let heading = named([&evaluation.scenario.run, &second.scenario.run]);
            let draw = if form == Form::Card { compared_card } else { stacked };
            let both = vec![Evaluation::clone(&evaluation), second];
            raw(&on_one_axis(both, colours, |all| draw(all, unit, Some(&heading))))
        }),
        Form::Card => raw(&drawing(Drawn::Card, &evaluation, colours, CARD, unit, &i18n::shown().1)),
        _ => state.view.gallery.with(|look| picture(&evaluation, panel, look, unit, colours)),
    }
}

/// The dialog, closed; its content comes when it is first opened.
#[component]
pub(crate) fn ShareDialog() -> impl IntoView {
    let state = expect_context::<State>();
    let opened = Memo::new(move |was: Option<&bool>| was == Some(&true) || state.panels.shares.get().is_some());
    view! {
        <dialog id="share" aria-labelledby="share-title" on:close=move |_| state.panels.shares.set(None)>
            <h2 id="share-title">{say("Share this run")}</h2>
            {move || opened.get().then(|| arriving(move || share_forms(state)))}
            <div class="end">
                <button on:click=move |_| if let Some(dialog) = dialog() { dialog.close() }>{say("Close")}</button>
            </div>
        </dialog>
    }
}

/// The forms in which the Run can be shared, with a picture of each.
fn forms(state: State) -> AnyView {
    let chosen = RwSignal::new(None::<Embed>);
    let theme = RwSignal::new(None::<Theme>);
    let own = move || of_view(state.view.open.get(), state.view.second.with(Option::is_some));
    let panel = move || match (own(), chosen.get()) {
        (Embed::Lesson, _) => Embed::Lesson,
        (own, chosen) => {
            let wanted = chosen.unwrap_or(own);
            if has_content(state, wanted) { wanted } else { Embed::Timeline }
        }
    };
    let form = RwSignal::new(Form::Link);
    effect(move || {
        if let Some(embeds) = state.panels.shares.get() {
            form.set(if embeds { Form::Frame } else { Form::Link });
        }
    });
    let code = move || written(state, form.get(), panel(), theme.get());
    let long = move || form.get() == Form::Link && code().len() > 1000;
    let preview = move || preview(state, form.get(), panel(), theme.get());
    // Buttons that save the picture; a sentence where it is saved beside itself.
    let files = move || {
        let is_compared = || state.view.gallery.with(|look| state.run.with(|run| is_compared(run, look)));
        let saved = match (form.get(), panel()) {
            // The picture that is shown, as it stands.
            (_, Embed::Schedules) if is_compared() => Some(None),
            (_, panel) if is_both(state, panel) => Some(None),
            (Form::Card, _) => Some(Some(Drawn::Card)),
            (_, Embed::Schedules) => None,
            (_, panel) => drawn(panel).map(Some),
        };
        let run = state.drawn.get().map(|evaluation| Arc::new(evaluation.scenario.run.clone()));
        let (unit, colours) = (state.view.unit.get(), theme.get());
        let Some(drawn) = saved else {
            return leaf("p", "", "This picture is saved where it stands: its view has the buttons.");
        };
        let button = |(png, label): (bool, &'static str)| {
            let shown = if is_both(state, panel()) { "compared" } else { "schedules" };
            let (name, run) = drawn.map_or((shown, None), |drawn| (drawn.id(), run.clone()));
            let save = Save::Picture { name, drawn, unit, png, run, theme: colours };
            leaf("button", if png { "main" } else { "" }, label).on(Action::Save(save))
        };
        [(true, "Save as PNG"), (false, "Save as SVG")].into_iter().map(button).collect()
    };
    let option = move |(one, name): (Embed, &'static str)| {
        let pressed = text(move || (panel() == one).to_string());
        let is_empty = flag(move || !has_content(state, one));
        view! {
            <button aria-pressed=pressed hidden=is_empty on:click=move |_| chosen.set(Some(one))>{say(name)}</button>
        }
    };
    let tint = move |(one, name): (Option<Theme>, &'static str)| {
        let pressed = text(move || (theme.get() == one).to_string());
        view! { <button aria-pressed=pressed on:click=move |_| theme.set(one)>{say(name)}</button> }
    };
    let tab = move |(one, name, _): (Form, &'static str, &'static str)| {
        let selected = text(move || (form.get() == one).to_string());
        view! { <button role="tab" aria-selected=selected on:click=move |_| form.set(one)>{say(name)}</button> }
    };
    let what = move || {
        let chosen = form.get();
        FORMS.iter().find(|(one, ..)| *one == chosen).map_or("", |(.., what)| *what)
    };
    let is_file = flag(move || matches!(form.get(), Form::Picture | Form::Card));
    let is_text = flag(move || !matches!(form.get(), Form::Picture | Form::Card));
    // The link holds the whole run, whatever is pictured above it.
    let is_fixed =
        flag(move || panel() == Embed::Lesson || matches!(form.get(), Form::Link | Form::Markdown | Form::Card));
    let is_plain = flag(move || matches!(form.get(), Form::Link | Form::Markdown));
    let label = move || translated(if form.get() == Form::Link { "Link" } else { "Code" });
    view! {
        <div inert>{nodes("share-picture", preview)}</div>
        <div class="share-choice">
            <span
                class="seg"
                role="group"
                aria-label=say("Panel")
                hidden=is_fixed
            >
                {PANELS.map(option).collect_view()}
            </span>
            <span class="seg" role="group" aria-label=say("Colours") hidden=is_plain>
                {THEMES.map(tint).collect_view()}
            </span>
        </div>
        <nav class="tabs" role="tablist" aria-label=say("Form")>{FORMS.map(tab).collect_view()}</nav>
        <p class="muted">{text(move || translated(what()))}</p>
        <div class="row" hidden=is_file>
            <textarea id="share-link" readonly rows="3" aria-label=text(label) prop:value=text(code)></textarea>
            <CopyButton what=text(code)/>
        </div>
        <div hidden=is_text>{nodes("row", files)}</div>
        <p class="issue warning" hidden=flag(move || !long())>{say("Over 1000 characters: some chat programs cut \
            it.")}</p>
    }
    .into_any()
}

/// Copies `what`. Its word is of the very text that was copied: another form has not been.
#[component]
fn CopyButton(what: Signal<String>) -> impl IntoView {
    let last = RwSignal::new(None::<(String, bool)>);
    let copy = move |_| {
        let code = what.get_untracked();
        browser::copy(&code.clone(), move |done| last.set(Some((code.clone(), done))));
    };
    let word = move || match last.get() {
        Some((code, true)) if code == what.get() => "Copied",
        Some((code, false)) if code == what.get() => "Select and copy",
        _ => "Copy",
    };
    view! { <button class="main" on:click=copy aria-live="polite">{text(move || translated(word()))}</button> }
}
