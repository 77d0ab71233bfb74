//! The runs that a person measured: kept in this browser, fitted in the worker, made a profile of the page's Run.

mod page;
mod reading;

pub(crate) use page::page;

use crate::core::calibrate::{CalibrateRequest as Question, Observation};
use crate::core::report::evaluate;
use crate::core::run::{Profile, Run, Scenario, Value};
use crate::io::logs::Reading;
use crate::io::{json, link};
use crate::view::node::action::RunsAction;
use crate::view::node::markup::Node;
use crate::view::panels::runs::{bare, offer};
use crate::view::views::View;
use crate::web::browser;
use crate::web::browser::html::effect;
use crate::web::browser::i18n;
use crate::web::state::State;
use crate::web::state::runs::{Runs, STORED, SavedRuns};
use crate::web::worker::{Job, JobProgress, JobRequest, Reply, request};
use leptos::prelude::*;

impl Runs {
    /// Does `command`.
    pub(crate) fn act(self, state: State, command: RunsAction) {
        match command {
            RunsAction::Keep => {
                let read = self.read.try_update(Option::take).flatten();
                if let Some(Ok(reading)) = read
                    && let Some(observation) = reading.observation("")
                {
                    self.keep(state, observation);
                }
            }
            RunsAction::KeepStep => {
                if let Some(observation) = self.before.try_update(Option::take).flatten() {
                    state.run.update(|run| run.measured_step_s = None);
                    self.keep(state, observation);
                    state.view.show(View::Diagnose(true));
                }
            }
            RunsAction::LeaveStep => self.before.set(None),
            RunsAction::Remove(at) => {
                self.kept.update(|kept| {
                    if at < kept.len() {
                        kept.remove(at);
                    }
                });
                self.changed(state);
            }
            RunsAction::Use => {
                let profile = self.fit.with_untracked(|fit| Some(fit.as_ref()?.1.profile.clone()));
                let name = Some(self.name.get_untracked()).filter(|name| !name.is_empty());
                if let Some(profile) = profile {
                    use_profile(state, Profile { name, ..profile });
                }
            }
            RunsAction::Without => use_profile(state, Profile::default()),
            RunsAction::Save => browser::download("runs.json", "application/json", &self.to_json()),
            RunsAction::Stop => self.stop(),
        }
    }

    /// Keeps what `reading` measures, unless it is kept already; what measures nothing is shown with the reason.
    pub(crate) fn keep_reading(self, state: State, reading: Reading) {
        let Some(observation) = reading.observation("") else {
            self.read.set(Some(Ok(reading)));
            return;
        };
        let is_kept = |kept: &Vec<Observation>| {
            kept.iter().any(|one| Observation { name: String::new(), ..one.clone() } == observation)
        };
        if !self.kept.with_untracked(is_kept) {
            self.keep(state, observation);
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
            kept.push(Observation { name, ..observation });
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
            observations: observations.into_iter().filter(|one| Scenario::new(&one.run).is_ok()).collect(),
            name: self.name.get_untracked(),
            question: Some(state.run.with_untracked(bare)),
            gpus: self.gpus.get_untracked(),
            plan: state.planner.layouts(),
        };
        let same = |asked: &Option<(Question, JobRequest)>| asked.as_ref().is_some_and(|(of, _)| *of == question);
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
            JobProgress::Reply(Reply::Calibrated(answer)) => {
                self.failed.set(answer.is_none());
                self.fit.set(answer.map(|answer| (fitted.clone(), *answer)));
            }
            JobProgress::Failed => {
                self.failed.set(true);
                self.asked.set_value(None);
            }
            JobProgress::Reply(_) | JobProgress::Done => {}
        };
        let request = request(job, handle);
        self.asked.set_value(Some((question, request)));
    }

    /// Adds the runs of a saved file, or offers the profile of a link or an export; false where `text` is neither.
    fn add(self, state: State, text: &str) -> bool {
        let Some(saved) = SavedRuns::read(text) else {
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
            self.read.set(Some(Err(saved.wrong)));
        }
        self.changed(state);
        true
    }
}

/// The profile of a link, of an export as JSON, or of an answer of `calibrate`.
fn profile_of(text: &str) -> Option<Profile> {
    let run = if let Ok(value) = json::read(text) {
        let profile = value.get("run").unwrap_or(&value).get("profile")?.clone();
        Run::from_value(&Value::Map(vec![("profile".to_owned(), profile)])).ok()?
    } else {
        // A link, alone or in a sentence.
        let link = text.split_whitespace().find(|word| word.contains("profile."))?;
        link::decode(link).run
    };
    Some(run.profile).filter(|profile| profile.means.is_some())
}

/// Makes `profile` the Run's; undo takes it back alone.
fn use_profile(state: State, profile: Profile) {
    state.history.get_value().begin();
    state.run.update(|run| {
        run.profile = profile;
        run.measured_step_s = None;
    });
}

/// Offers to keep the measured step of the Run that was there before an edit.
pub(crate) fn measured_offer(state: State) -> AnyView {
    let runs = state.runs;
    let last = StoredValue::new(state.run.get_untracked());
    effect(move || {
        let run = state.run.get();
        let Some(before) = last.try_update_value(|last| std::mem::replace(last, run.clone())) else {
            return;
        };
        let step = run.measured_step_s;
        let before_edit = runs.before.get_untracked();
        let before_edit = before_edit.filter(|before_edit| before_edit.step_s == step);
        runs.before.set(match (step, before_edit) {
            (Some(_), Some(before_edit)) => Some(before_edit).filter(|before_edit| before_edit.run != bare(&run)),
            (Some(seconds), None) if before.measured_step_s == step && before != run => {
                let observation = Observation::step("", bare(&before), seconds);
                evaluate(&before).is_ok().then_some(observation)
            }
            _ => None,
        });
    });
    let offered = move || runs.before.with(|before| before.as_ref().map_or_else(Node::none, offer));
    crate::web::document::render::nodes("measured-offer", offered)
}
