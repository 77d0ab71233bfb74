//! The runs that a person measured: kept in this browser, fitted in the worker, made a profile of the page's Run.

mod dialog;
mod reading;

pub use dialog::dialog;

use crate::core::calibrate::{Calibrated, Observation, Request as Question};
use crate::core::report::evaluate;
use crate::core::run::{LONGEST_NAME, Profile, Run, Scenario, Value};
use crate::io::logs::asked::Answer;
use crate::io::{json, link};
use crate::view::node::action::{Dialog, Measured};
use crate::view::node::markup::Node;
use crate::view::panels::runs::{bare, offer};
use crate::web::html::effect;
use crate::web::state::State;
use crate::web::worker::{Job, Progress, Reply, Request, request};
use crate::web::{browser, dialog as page_dialog, i18n};
use leptos::prelude::*;

/// Where the runs are kept in the browser's storage.
const STORED: &str = "runs";

/// The runs, and what is known of them.
#[derive(Clone, Copy)]
pub struct Runs {
    /// Those that are kept.
    pub kept: RwSignal<Vec<Observation>>,
    /// What they teach, with those that could be fitted; none while that is computed.
    pub fit: RwSignal<Option<(Vec<Observation>, Calibrated)>>,
    /// They could not be fitted.
    failed: RwSignal<bool>,
    /// What the profile is called.
    name: RwSignal<String>,
    /// What the run to be kept is called; empty: by its number.
    label: RwSignal<String>,
    /// The GPUs that the next run may take; none: those of the largest run.
    gpus: RwSignal<Option<u64>>,
    /// The contents of the file that was read last.
    read: RwSignal<Option<Answer>>,
    /// The profile that was read last.
    offered: RwSignal<Option<Profile>>,
    /// The share of the file that is read, while it is.
    progress: RwSignal<Option<f64>>,
    /// The file that is read, by number: a later one ends it.
    turn: StoredValue<u32>,
    /// What was asked of the worker last.
    asked: StoredValue<Option<(Question, Request)>>,
    /// The measured step of the Run before an edit.
    before: RwSignal<Option<Observation>>,
}

impl Runs {
    /// Those of this browser's storage.
    pub fn stored() -> Self {
        let stored = browser::stored(STORED).and_then(|text| Saved::read(&text));
        let Saved {
            runs: kept, name, ..
        } = stored.unwrap_or_default();
        Self {
            kept: RwSignal::new(kept),
            fit: RwSignal::new(None),
            failed: RwSignal::new(false),
            name: RwSignal::new(name),
            label: RwSignal::new(String::new()),
            gpus: RwSignal::new(None),
            read: RwSignal::new(None),
            offered: RwSignal::new(None),
            progress: RwSignal::new(None),
            turn: StoredValue::new(0),
            asked: StoredValue::new(None),
            before: RwSignal::new(None),
        }
    }

    /// Does `command`.
    pub(crate) fn act(self, state: State, command: Measured) {
        match command {
            Measured::Keep => {
                let read = self.read.try_update(Option::take).flatten();
                if let Some(Answer::Understood(of)) = read
                    && let Some(observation) = of.observation
                {
                    self.keep(state, observation);
                }
            }
            Measured::KeepStep => {
                if let Some(observation) = self.before.try_update(Option::take).flatten() {
                    state.run.update(|run| run.measured_step_s = None);
                    self.keep(state, observation);
                    page_dialog::open(state, Dialog::Runs);
                }
            }
            Measured::LeaveStep => self.before.set(None),
            Measured::Remove(at) => {
                self.kept.update(|kept| {
                    if at < kept.len() {
                        kept.remove(at);
                    }
                });
                self.changed(state);
            }
            Measured::Use => {
                let profile = self
                    .fit
                    .with_untracked(|fit| Some(fit.as_ref()?.1.profile.clone()));
                let name = Some(self.name.get_untracked()).filter(|name| !name.is_empty());
                if let Some(profile) = profile {
                    use_profile(state, Profile { name, ..profile });
                }
            }
            Measured::Without => use_profile(state, Profile::default()),
            Measured::Save => browser::download("runs.json", "application/json", &self.to_json()),
            Measured::Stop => self.stop(),
        }
    }

    /// Keeps `observation` under the label that was typed.
    fn keep(self, state: State, observation: Observation) {
        let typed = self.label.get_untracked();
        let name = if typed.trim().is_empty() {
            let count = self.kept.with_untracked(Vec::len) + 1;
            format!("{} {count}", untrack(|| i18n::translated("run")))
        } else {
            typed
        };
        self.label.set(String::new());
        self.kept.update(|kept| {
            kept.push(Observation {
                name,
                ..observation
            });
        });
        self.changed(state);
    }

    /// Stores the runs and has them fitted.
    fn changed(self, state: State) {
        browser::store(STORED, &self.to_json());
        self.ask(state);
    }

    /// Has the runs fitted for the Run of the page, unless that is what was asked last.
    pub fn ask(self, state: State) {
        let observations = self.kept.get_untracked();
        let question = Question {
            observations: observations
                .into_iter()
                .filter(|one| Scenario::new(&one.run).is_ok())
                .collect(),
            name: self.name.get_untracked(),
            question: Some(state.run.with_untracked(bare)),
            gpus: self.gpus.get_untracked(),
            plan: state.planner.layouts(),
        };
        let same = |asked: &Option<(Question, Request)>| {
            asked.as_ref().is_some_and(|(of, _)| *of == question)
        };
        if self.asked.with_value(same) {
            return;
        }
        if let Some((_, before)) = self.asked.try_update_value(Option::take).flatten() {
            before.cancel();
        }
        self.fit.set(None);
        self.failed.set(false);
        if question.observations.is_empty() {
            return;
        }
        let job = Job::Calibrate(Box::new(question.clone()));
        let fitted = question.observations.clone();
        let handle = move |progress| match progress {
            Progress::Reply(Reply::Calibrated(answer)) => {
                self.failed.set(answer.is_none());
                self.fit.set(answer.map(|answer| (fitted.clone(), *answer)));
            }
            Progress::Failed => {
                self.failed.set(true);
                self.asked.set_value(None);
            }
            Progress::Reply(_) | Progress::Done => {}
        };
        let request = request(job, handle);
        self.asked.set_value(Some((question, request)));
    }

    /// Runs and their name as JSON: a request of the verb `calibrate`.
    fn to_json(self) -> String {
        let list = self
            .kept
            .with_untracked(|kept| kept.iter().map(Observation::to_value).collect());
        let name = Value::Text(self.name.get_untracked());
        json::pretty(&Value::Map(vec![
            ("name".to_owned(), name),
            ("runs".to_owned(), Value::List(list)),
        ]))
    }

    /// Adds the runs of a saved file, or offers the profile of a link or an export; false where `text` is neither.
    fn add(self, state: State, text: &str) -> bool {
        let Some(saved) = Saved::read(text) else {
            let profile = profile_of(text);
            self.offered.set(profile.clone());
            return profile.is_some();
        };
        self.kept.update(|kept| {
            let new = saved.runs.into_iter().filter(|run| !kept.contains(run));
            let new: Vec<_> = new.collect();
            kept.extend(new);
        });
        if !saved.name.is_empty() {
            self.name.set(saved.name);
        }
        if !saved.wrong.is_empty() {
            self.read.set(Some(Answer::Refused(saved.wrong)));
        }
        self.changed(state);
        true
    }
}

/// The profile of a link, of an export as JSON, or of an answer of `calibrate`.
fn profile_of(text: &str) -> Option<Profile> {
    let run = if let Ok(value) = json::read(text) {
        let of = value.get("run").unwrap_or(&value).get("profile")?.clone();
        Run::from_value(&Value::Map(vec![("profile".to_owned(), of)])).ok()?
    } else {
        // A link, alone or in a sentence.
        let link = text
            .split_whitespace()
            .find(|word| word.contains("profile."))?;
        link::decode(link).run
    };
    Some(run.profile).filter(|profile| profile.means.is_some())
}

/// Makes `profile` the Run's, as an entry of the browser's history.
fn use_profile(state: State, profile: Profile) {
    if state.embed().is_none() {
        browser::keep_entry();
    }
    state.run.update(|run| {
        run.profile = profile;
        run.measured_step_s = None;
    });
}

/// As much of a name as a profile may have.
fn shortened(name: &str) -> String {
    let mut name = name.trim().to_owned();
    while name.len() > LONGEST_NAME {
        name.pop();
    }
    name
}

/// A saved file.
#[derive(Default)]
struct Saved {
    runs: Vec<Observation>,
    name: String,
    /// Why some of its runs cannot be taken.
    wrong: Vec<String>,
}

impl Saved {
    /// Reads such a file; none where `text` is something else.
    fn read(text: &str) -> Option<Self> {
        let is_object = text.trim_start().starts_with('{');
        let value = is_object.then(|| json::read(text).ok())??;
        let Some(Value::List(list)) = value.get("runs") else {
            return None;
        };
        let mut saved = Self::default();
        if let Some(Value::Text(name)) = value.get("name") {
            saved.name = shortened(name);
        }
        for (at, run) in list.iter().enumerate() {
            match Observation::from_value(run) {
                Ok(run) => saved.runs.push(run),
                Err(issues) => saved.wrong.extend(issues.iter().map(|issue| {
                    let message = untrack(|| i18n::translated(&issue.message));
                    format!("runs.{at}.{}: {message}", issue.field)
                })),
            }
        }
        Some(saved)
    }
}

/// Offers to keep the measured step of the Run that was there before an edit.
pub(crate) fn measured_offer(state: State) -> AnyView {
    let runs = state.runs;
    let last = StoredValue::new(state.run.get_untracked());
    effect(move || {
        let run = state.run.get();
        let Some(before) = last.try_update_value(|last| std::mem::replace(last, run.clone()))
        else {
            return;
        };
        let step = run.measured_step_s;
        let known = runs.before.get_untracked();
        let known = known.filter(|known| known.step_s == step);
        runs.before.set(match (step, known) {
            (Some(_), Some(known)) => Some(known).filter(|known| known.run != bare(&run)),
            (Some(seconds), None) if before.measured_step_s == step && before != run => {
                let of = Observation::step("", bare(&before), seconds);
                evaluate(&before).is_ok().then_some(of)
            }
            _ => None,
        });
    });
    let shown = move || {
        runs.before
            .with(|before| before.as_ref().map_or_else(Node::none, offer))
    };
    crate::web::render::nodes("measured-offer", shown)
}
