//! "My runs": measured runs are brought in here, fitted in the worker, and become a profile of the page's Run.

use crate::core::calibrate::{Calibrated, Observation, Request as CalibrateRequest};
use crate::core::message::Message;
use crate::core::run::{LONGEST_NAME, Profile, Run, Value};
use crate::core::t;
use crate::core::units::{parse_number, show_percent};
use crate::io::export::{Stamp, export};
use crate::io::json;
use crate::io::logs::summary::summary;
use crate::io::logs::{LogReader, Reading, read, too_large};
use crate::view::node::markup::{Node, leaf, text as words};
use crate::view::panels::issues::line;
use crate::view::panels::runs::fitted;
use crate::web::browser;
use crate::web::html::{flag, text};
use crate::web::i18n::{say, translated};
use crate::web::render::patched;
use crate::web::state::State;
use crate::web::worker::{Job, Progress, Reply, Request, request};
use js_sys::Uint8Array;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;

/// Where the runs are kept in the browser's storage.
const STORED: &str = "runs";
/// Bytes of a file that are read at once.
const PIECE: f64 = 4e6;

/// What the panel holds.
#[derive(Clone, Copy)]
struct Runs {
    state: State,
    kept: RwSignal<Vec<Observation>>,
    reading: RwSignal<Option<Reading>>,
    said: RwSignal<Node>,
    progress: RwSignal<Message>,
    name: RwSignal<String>,
    answer: RwSignal<Option<Calibrated>>,
    /// Which file is read; a later one ends it.
    turn: StoredValue<u32>,
    asked: StoredValue<Option<Request>>,
}

/// Runs and their name as JSON, as they are stored and exported.
fn to_json(runs: Runs) -> String {
    let list = runs
        .kept
        .with_untracked(|kept| kept.iter().map(Observation::to_value).collect());
    json::pretty(&Value::Map(vec![
        ("name".to_owned(), Value::Text(runs.name.get_untracked())),
        ("runs".to_owned(), Value::List(list)),
    ]))
}

impl Runs {
    fn new(state: State) -> Self {
        let stored = browser::stored(STORED).and_then(|text| from_json(&text));
        let (kept, name) = stored.unwrap_or_default();
        Self {
            state,
            kept: RwSignal::new(kept),
            reading: RwSignal::new(None),
            said: RwSignal::new(Node::none()),
            progress: RwSignal::new(Message::default()),
            name: RwSignal::new(name),
            answer: RwSignal::new(None),
            turn: StoredValue::new(0),
            asked: StoredValue::new(None),
        }
    }

    fn take(self, result: Result<Reading, Vec<crate::core::issue::Issue>>) {
        self.progress.set(Message::default());
        match result {
            Ok(reading) => {
                self.said.set(summary(&reading));
                self.reading.set(Some(reading));
            }
            Err(issues) => {
                self.said.set(issues.iter().map(line).collect());
                self.reading.set(None);
            }
        }
    }

    fn typed(self, typed: &str, present: &Run) {
        self.turn.update_value(|turn| *turn += 1);
        if typed.trim().is_empty() {
            self.reading.set(None);
            self.said.set(Node::none());
        } else if let Some((runs, name)) = from_json(typed) {
            self.kept.update(|kept| kept.extend(runs));
            self.name.set(name);
            self.reading.set(None);
            self.said
                .set(leaf("p", "", "The runs of the file are added."));
            self.changed();
        } else {
            self.take(read(typed, present));
        }
    }

    /// Stores the runs and has them fitted.
    fn changed(self) {
        browser::store(STORED, &to_json(self));
        if let Some(before) = self.asked.try_update_value(Option::take).flatten() {
            before.cancel();
        }
        let observations = self.kept.get_untracked();
        if observations.is_empty() {
            self.answer.set(None);
            return;
        }
        let job = Job::Calibrate(Box::new(CalibrateRequest {
            observations,
            name: self.name.get_untracked(),
            question: Some(without_profile(&self.state.run.get_untracked())),
            gpus: None,
        }));
        let handle = move |progress| match progress {
            Progress::Reply(Reply::Calibrated(answer)) => {
                self.answer.set(answer.map(|answer| *answer))
            }
            Progress::Reply(_) | Progress::Done | Progress::Failed => {}
        };
        self.asked.set_value(Some(request(job, handle)));
    }

    /// Reads a file piece by piece; a later text or file ends it.
    fn open(self, file: web_sys::File, present: Run) {
        self.turn.update_value(|turn| *turn += 1);
        let turn = self.turn.get_value();
        let size = file.size();
        leptos::task::spawn_local(async move {
            let mut reader = LogReader::default();
            let is_json = file.name().ends_with("json");
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the size of a file
            let refused = too_large(size as u64, is_json);
            let mut result = refused.map_or(Ok(()), Err);
            let mut at = 0.0;
            while result.is_ok() && at < size {
                let end = (at + PIECE).min(size);
                let piece = file.slice_with_f64_and_f64(at, end);
                let Ok(piece) = piece else { break };
                let Ok(bytes) = JsFuture::from(piece.array_buffer()).await else {
                    break;
                };
                if self.turn.get_value() != turn {
                    return;
                }
                result = reader.push(&Uint8Array::new(&bytes).to_vec());
                at = end;
                let share = show_percent(at / size);
                self.progress.set(t!("{share} read", share));
            }
            let reading = result.map_err(|issue| vec![issue]);
            self.take(reading.and_then(|()| reader.finish(&present)));
        });
    }
}

fn from_json(text: &str) -> Option<(Vec<Observation>, String)> {
    let value = text
        .trim_start()
        .starts_with('{')
        .then(|| json::read(text).ok())??;
    let request = CalibrateRequest::from_value(&value).ok()?;
    Some((request.observations, request.name))
}

fn without_profile(run: &Run) -> Run {
    Run {
        profile: Profile::default(),
        measured_step_s: None,
        ..run.clone()
    }
}

/// The panel.
#[component]
pub fn RunsPanel() -> impl IntoView {
    let state = expect_context::<State>();
    let runs = Runs::new(state);
    let present = move || without_profile(&state.run.get_untracked());
    let seconds = RwSignal::new(String::new());
    let begun = StoredValue::new(false);
    let opened = move |event| {
        if crate::web::panel::is_open(&event) && !begun.get_value() {
            begun.set_value(true);
            runs.changed();
        }
    };
    let first = |files: Option<web_sys::FileList>| files.and_then(|files| files.get(0));
    let dropped = move |event: web_sys::DragEvent| {
        event.prevent_default();
        if let Some(file) = first(event.data_transfer().and_then(|data| data.files())) {
            runs.open(file, present());
        }
    };
    let chosen = move |event: web_sys::Event| {
        let input = event
            .target()
            .and_then(|target| target.dyn_into::<web_sys::HtmlInputElement>().ok());
        if let Some(file) = first(input.and_then(|input| input.files())) {
            runs.open(file, present());
        }
    };
    let add = move |observation: Observation| {
        runs.kept.update(|kept| kept.push(observation));
        runs.changed();
    };
    let label = move || {
        let count = runs.kept.with_untracked(Vec::len) + 1;
        format!("{} {count}", translated("run"))
    };
    let keep = move |_| {
        if let Some(observation) = runs
            .reading
            .get_untracked()
            .and_then(|reading| reading.observation(&label()))
        {
            add(observation);
            runs.reading.set(None);
            runs.said.set(Node::none());
        }
    };
    let keep_typed = move |_| {
        let step =
            parse_number(&seconds.get_untracked()).filter(|step| (1e-6..=1e7).contains(step));
        if let Some(step) = step {
            add(Observation::step(&label(), present(), step));
            seconds.set(String::new());
        }
    };
    let keep_measured = move |_| {
        if let Some(step) = state.run.with_untracked(|run| run.measured_step_s) {
            add(Observation::step(&label(), present(), step));
        }
    };
    let use_profile = move |_| {
        if let Some(answer) = runs.answer.get_untracked() {
            let mut profile = answer.profile;
            profile.name = Some(runs.name.get_untracked()).filter(|name| !name.is_empty());
            state.run.update(|run| {
                run.profile = profile;
                run.measured_step_s = None;
            });
        }
    };
    let stop = move |_| state.run.update(|run| run.profile = Profile::default());
    let save = move |_| browser::download("runs.json", "application/json", &to_json(runs));
    let clear = move |_| {
        runs.kept.update(|kept| {
            kept.pop();
        });
        runs.changed();
    };
    let found = Signal::derive(move || {
        runs.answer.with(|answer| {
            answer.as_ref().map_or_else(Node::none, |answer| {
                let command = |run: &Run| export(run, "megatron", &Stamp::default()).ok();
                runs.kept.with(|kept| fitted(kept, answer, command))
            })
        })
    });
    let list = Signal::derive(move || {
        runs.kept.with(|kept| match kept.len() {
            0 => Node::none(),
            count => words(t!("{count} runs are kept in this browser.", count)),
        })
    });
    let none = move || runs.kept.with(Vec::is_empty);
    view! {
        <section id="runs" aria-labelledby="runs-title">
            <div class="panel-head">
                <h2 id="runs-title">{say("My runs")}</h2>
                <span class="spring"></span>
                <small>{say("your cluster, your software")}</small>
            </div>
            <details class="data-table" on:toggle=opened on:dragover=|event| event.prevent_default() on:drop=dropped>
                <summary>{say("Bring in a run that you measured")}</summary>
                <p class="muted">{say("A log of your training program, nccl-tests or MAMF-finder, a Kineto trace, a memory snapshot as JSON, or runs saved here: paste it, drop it, or choose the file. It is read in this browser and goes nowhere.")}</p>
                <textarea
                    rows="4"
                    aria-label=say("A log, or saved runs")
                    spellcheck="false"
                    on:input=move |event| runs.typed(&event_target_value(&event), &present())
                ></textarea>
                <input type="file" aria-label=say("Choose the file") on:change=chosen/>
                <p role="status" class="muted">{text(move || translated(runs.progress.get()))}</p>
                <div class="summary" aria-live="polite" use:patched=runs.said.into()></div>
                <p>
                    <button hidden=flag(move || runs.reading.with(|reading| reading.as_ref().is_none_or(|reading| reading.observation("").is_none()))) on:click=keep>
                        {say("Keep this run")}
                    </button>
                    <button hidden=flag(move || state.run.with(|run| run.measured_step_s.is_none())) on:click=keep_measured>
                        {say("Keep the measured step as a run")}
                    </button>
                </p>
                <p>
                    <label>
                        {say("A step of the run on this page, in seconds")}" "
                        <input type="text" inputmode="decimal" prop:value=seconds on:input=move |event| seconds.set(event_target_value(&event))/>
                    </label>
                    " "<button on:click=keep_typed>{say("Keep it")}</button>
                </p>
                <p class="muted" use:patched=list></p>
                <div hidden=flag(none)>
                    <div use:patched=found></div>
                    <p>
                        <label>
                            {say("Name of the profile")}" "
                            <input
                                type="text"
                                maxlength=LONGEST_NAME.to_string()
                                prop:value=runs.name
                                on:change=move |event| {
                                    runs.name.set(event_target_value(&event));
                                    browser::store(STORED, &to_json(runs));
                                }
                            />
                        </label>
                        " "<button on:click=use_profile>{say("Use the profile")}</button>
                        " "<button class="quiet" on:click=save>{say("Save the runs")}</button>
                        " "<button class="quiet" on:click=clear>{say("Remove the last run")}</button>
                    </p>
                </div>
                <p hidden=flag(move || state.run.with(|run| run.profile.means.is_none()))>
                    {say("The page's run uses a profile: every step and range follows it.")}" "
                    <button class="quiet" on:click=stop>{say("Without the profile")}</button>
                </p>
            </details>
        </section>
    }
}
