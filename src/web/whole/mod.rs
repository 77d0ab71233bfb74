//! The whole run: figures at once, their range from the worker, inputs that say where their defaults come from.

mod inverse;

use crate::core::issue::Issue;
use crate::core::message::Message;
use crate::core::report::Evaluation;
use crate::core::run::registry::{Field, field};
use crate::core::run::{Choice, FailureClass, OneOf, Run, Value};
use crate::core::t;
use crate::core::whole_run::{CalendarRange, WholeRun};
use crate::view::node::markup::Node;
use crate::view::panels::issues::{line, only_if};
use crate::view::panels::published::checked;
use crate::view::panels::whole::{self, Caption, WholeRunAnswer};
use crate::view::views::{Embed, View};
use crate::web::browser::html::{effect, flag, text, view_of};
use crate::web::browser::i18n::{say, translated};
use crate::web::document::drawer::About;
use crate::web::document::render::{nodes, patched};
use crate::web::form::choice::choice_select;
use crate::web::form::worded::inline_input;
use crate::web::late::parts;
use crate::web::state::State;
use crate::web::strip::{halted, price_input, tokens_input};
use crate::web::whole::inverse::inverse;
use crate::web::worker::{Job, JobProgress, JobRequest, Reply, request};
use leptos::prelude::*;
use std::sync::Arc;

parts! {
    views: whole_view(state: State) -> AnyView = whole(state);
    views: whole_frame(state: State) -> AnyView = framed(state);
}

/// An answer and its evaluation.
type Of = (Arc<Evaluation>, Arc<WholeRunAnswer>);

/// The last answer, and the errors of the present Run.
#[derive(Clone, Default)]
struct Shown {
    answer: Option<Of>,
    errors: Vec<Issue>,
}

/// Everything that the view follows.
#[derive(Clone, Copy)]
struct Page {
    state: State,
    shown: Memo<Shown>,
    /// The last range that was drawn, with the Run and the figures that it is of.
    drawn: RwSignal<Option<(Run, WholeRun, CalendarRange)>>,
}

/// The view; hidden while another is open.
pub(crate) fn whole(state: State) -> AnyView {
    let page = Page::new(state);
    let stale = flag(move || page.is_stale());
    let hidden = flag(move || state.view.open.get() != View::Whole);
    let future = view_of(move || {
        page.view(|(evaluation, answer)| whole::future(&evaluation.scenario.run, answer, state.view.future.get()))
    });
    let choices = view_of(move || page.view(|(_, answer)| whole::choices(answer)));
    view! {
        <main class="whole" id="whole" tabindex="-1" hidden=hidden>
            {halted(state, move || state.view.open.get() == View::Whole)}
            {inputs(page)}
            <div class="stale-able first" class:stale=stale>{page.only_if("whole-unfit")} {figures(page)}</div>
            <div class="stale-able" class:stale=stale>
                <section class="whole-pair">
                    {calendar(page)}
                    <div class="whole-future" use:patched=future></div>
                </section>
                {nodes("whole-checked", move || state.run.with(checked))}
                <div class="whole-pair even" use:patched=choices></div>
            </div>
            {inverse(state)}
            <aside class="detail" class:open=flag(move || state.panels.drawer.get()) aria-label=say("About a number")>
                <About/>
            </aside>
        </main>
    }
    .into_any()
}

/// The figures, the calendar and its losses in an embed.
pub(crate) fn framed(state: State) -> AnyView {
    let page = Page::new(state);
    view! {
        <div class="whole">
            {nodes("said", move || page.shown.with(|shown| shown.errors.iter().map(line).collect()))}
            {page.only_if("said")}
            {figures(page)}
            {nodes("whole-assumed", move || {
                page.view(|(evaluation, answer)| whole::assumed(&evaluation.scenario.run, answer))
            })}
            <section>{calendar(page)}</section>
        </div>
    }
    .into_any()
}

fn figures(page: Page) -> AnyView {
    let answer = view_of(move || {
        page.view(|(evaluation, answer)| {
            whole::answer(&evaluation.scenario.run, answer, page.range(evaluation, answer).as_ref())
        })
    });
    view! {
        <div
            class="whole-strip"
            role="region"
            aria-label=say("Key figures of the whole run")
            aria-busy=text(move || page.waits().to_string())
            use:patched=answer
        ></div>
    }
    .into_any()
}

fn calendar(page: Page) -> AnyView {
    let calendar = view_of(move || {
        page.view(|(evaluation, answer)| whole::calendar(answer, page.range(evaluation, answer).as_ref()))
    });
    view! { <div class="whole-calendar" use:patched=calendar></div> }.into_any()
}

impl Page {
    fn new(state: State) -> Self {
        let is_open = move || state.view.open.get() == View::Whole || state.view.embed == Some(Embed::Whole);
        let shown = Memo::new_with_compare(
            move |before: Option<&Shown>| {
                let last = before.cloned().unwrap_or_default();
                let Some(evaluation) = is_open().then(|| state.evaluation()).flatten() else {
                    return last;
                };
                match WholeRunAnswer::new(&evaluation) {
                    Ok(answer) => Shown { answer: Some((evaluation, Arc::new(answer))), errors: Vec::new() },
                    Err(errors) => Shown { errors, ..last },
                }
            },
            |_, _| true,
        );
        let page = Self { state, shown, drawn: RwSignal::new(None) };
        page.draw();
        page
    }

    /// Asks the worker for the range of every answer.
    fn draw(self) {
        let requested = StoredValue::new(None::<JobRequest>);
        effect(move || {
            if let Some(before) = requested.get_value() {
                before.cancel();
            }
            let Some((evaluation, answer)) = self.shown.with(|shown| shown.answer.clone()) else {
                return;
            };
            let run = evaluation.scenario.run.clone();
            if self.drawn.with_untracked(|drawn| drawn.as_ref().is_some_and(|(known, ..)| *known == run)) {
                return;
            }
            let job = Job::WholeRange(run.clone());
            let request = request(job, move |progress| {
                if let JobProgress::Reply(Reply::WholeRange(Some(range))) = progress {
                    // The view may be gone by now.
                    let _ = self.drawn.try_set(Some((run.clone(), answer.figures.clone(), range)));
                }
            });
            requested.set_value(Some(request));
        });
    }

    /// Shows the last answer; nothing before there is one.
    fn view(self, view: impl Fn(&Of) -> Node) -> Node {
        self.shown.with(|shown| shown.answer.as_ref().map(view)).unwrap_or_default()
    }

    /// An element of `class` which says that the run does not fit or is not run by its software, where that is so.
    fn only_if(self, class: &'static str) -> AnyView {
        nodes(class, move || self.view(|(evaluation, _)| only_if(evaluation, self.state.view.unit.get())))
    }

    /// The range of an answer, or the one before in proportion until it is drawn.
    fn range(self, evaluation: &Evaluation, answer: &WholeRunAnswer) -> Option<CalendarRange> {
        self.drawn.with(|drawn| {
            let (run, figures, range) = drawn.as_ref()?;
            Some(if *run == evaluation.scenario.run { *range } else { answer.scaled(*range, figures) })
        })
    }

    /// True until the range is of the answer.
    fn waits(self) -> bool {
        self.shown.with(|shown| {
            let run = shown.answer.as_ref().map(|(evaluation, _)| &evaluation.scenario.run);
            self.drawn.with(|drawn| drawn.as_ref().map(|(run, ..)| run) != run)
        })
    }

    /// True while what is shown is of an earlier Run.
    fn is_stale(self) -> bool {
        self.state.is_stale() || self.shown.with(|shown| !shown.errors.is_empty())
    }

    /// Issues of any of `keys`.
    fn issues(self, keys: &'static [&'static str]) -> Node {
        let state = self.state;
        let computed = self.shown.with(|shown| match &shown.answer {
            Some((_, answer)) if shown.errors.is_empty() => answer.notes.clone(),
            _ => shown.errors.clone(),
        });
        let issues = state.unread().into_iter().chain(computed).chain(state.issues.get());
        issues.filter(|issue| keys.contains(&&*issue.field)).map(|issue| line(&issue)).collect()
    }
}

/// An input: its field, the keys whose issues stand below it, and its caption.
struct Input {
    key: &'static str,
    label: &'static str,
    caption: Caption,
    keys: &'static [&'static str],
}

/// The five inputs.
static INPUTS: [Input; 5] = [
    Input { key: "tokens_total", label: "Tokens", caption: Caption::Tokens, keys: &["tokens_total"] },
    Input {
        key: "price_per_gpu_hour",
        label: "Price",
        caption: Caption::Price,
        keys: &["price_per_gpu_hour", "currency"],
    },
    Input { key: "failures", label: "Failures", caption: Caption::Failures, keys: &["failures", "mtti_h"] },
    Input {
        key: "storage_gb_per_s",
        label: "Checkpoint storage",
        caption: Caption::Storage,
        keys: &["storage_gb_per_s", "checkpoint_every_s", "checkpoint_bytes"],
    },
    Input { key: "operation", label: "Restart", caption: Caption::Restart, keys: &["operation", "restart_s"] },
];

/// Settings that are rarely given, in a fold.
const MORE: [&str; 17] = [
    "failures",
    "mtti_h",
    "restart_s",
    "checkpoint_every_s",
    "checkpoint_bytes",
    "startup_s",
    "eval_every",
    "eval_samples",
    "batch_ramp",
    "context_phases",
    "rollbacks",
    "rollback_steps",
    "straggler",
    "spare_quantile",
    "repair_days",
    "pue",
    "grid_kg_per_kwh",
];

fn inputs(page: Page) -> AnyView {
    let state = page.state;
    let input = move |input: &'static Input| {
        let control = match input.caption {
            Caption::Tokens => tokens_input(state),
            Caption::Price => price_input(state),
            Caption::Failures => field(input.key).map(|field| failures(state, field)),
            Caption::Storage => field(input.key).map(|field| inline_input(state, field)),
            Caption::Restart => field(input.key).map(|field| choice_select(state, field, input.label).into_any()),
        };
        let caption = view_of(move || {
            let answer = page.shown.with(|shown| shown.answer.clone());
            let answer = answer.as_ref().map(|(_, answer)| &**answer);
            state.evaluation().map_or_else(Node::none, |evaluation| whole::caption(input.caption, &evaluation, answer))
        });
        let issues = view_of(move || page.issues(input.keys));
        let unit = if input.caption == Caption::Storage { "GB/s" } else { "" };
        view! {
            <div class="whole-input">
                <label><span>{say(input.label)} " " <small class="muted">{say(unit)}</small></span> {control}</label>
                <p class="muted" use:patched=caption></p>
                <div aria-live="polite" use:patched=issues></div>
            </div>
        }
    };
    let more = move |key: &'static str| {
        let field = field(key)?;
        let keys: &'static [&'static str] =
            MORE.iter().position(|known| *known == key).map_or(&[], |at| &MORE[at..=at]);
        let issues = view_of(move || page.issues(keys));
        let label = if field.unit.is_empty() {
            Message::from(field.label)
        } else {
            t!("{setting}, {unit}", setting = field.label, unit = field.unit)
        };
        Some(view! {
            <div class="whole-input">
                <label><span>{say(label)}</span> {inline_input(state, field)}</label>
                <p class="muted">{say(field.hint)}</p>
                <div aria-live="polite" use:patched=issues></div>
            </div>
        })
    };
    let steps = view_of(move || page.view(|(evaluation, answer)| whole::steps(evaluation, answer)));
    view! {
        <section class="whole-inputs" aria-label=say("Inputs of the whole run")>
            <div class="stale-able" class:stale=flag(move || page.is_stale()) use:patched=steps></div>
            <div class="whole-five">{INPUTS.iter().map(input).collect_view()}</div>
            <details class="fold">
                <summary>{say("More settings of the whole run")}</summary>
                <div class="whole-five more">{MORE.into_iter().map(more).collect_view()}</div>
            </details>
        </section>
    }
    .into_any()
}

/// The classes of nodes, and the rate or time that was given instead.
fn failures(state: State, field: &'static Field) -> AnyView {
    let unknown = FailureClass::Unknown.id();
    let given = Memo::new(move |_| {
        state.run.with(|run| match run.length.mtti_h {
            Some(_) => "mtti_h".to_owned(),
            None => field.text(run).unwrap_or_else(|| unknown.to_owned()),
        })
    });
    let is_class = |text: &str| FailureClass::from_id(text).is_some();
    let other = move || given.with(|given| !is_class(given));
    let other_words = move || {
        translated(given.with(|given| match &**given {
            "mtti_h" => t!("hours between interruptions"),
            rate => t!("{rate} per 1,000 node-days", rate = rate.to_owned()),
        }))
    };
    let choose = move |event| {
        let id = event_target_value(&event);
        if is_class(&id) {
            let mut run = state.run.get_untracked();
            run.length.mtti_h = None;
            // The ids of the classes are accepted.
            let _ = field.set(&mut run, &Value::Text(id));
            state.run.set(run);
        }
    };
    let option = move |Choice { id, label }: Choice| {
        view! { <option value=id prop:selected=flag(move || given.with(|given| given == id))>{say(label)}</option> }
    };
    view! {
        <select aria-label=say("Failures") title=say(field.hint) on:change=choose>
            <option value="" hidden=flag(move || !other()) prop:selected=flag(other)>{text(other_words)}</option>
            {FailureClass::choices().into_iter().map(option).collect_view()}
        </select>
    }
    .into_any()
}
