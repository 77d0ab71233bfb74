//! The runs that a person measured, as this browser keeps them, and what is known of them.

use crate::core::calibrate::{CalibrateRequest as Question, Calibrated, Observation};
use crate::core::issue::Issue;
use crate::core::message::verbatim;
use crate::core::run::{LONGEST_NAME, Profile, Value};
use crate::core::t;
use crate::io::json;
use crate::io::logs::Reading;
use crate::web::browser;
use crate::web::worker::JobRequest;
use leptos::prelude::*;

/// Key of the runs in the browser's storage.
pub(in crate::web) const STORED: &str = "runs";

/// The runs, and what is known of them.
#[derive(Clone, Copy)]
pub struct Runs {
    /// Runs that are kept.
    pub kept: RwSignal<Vec<Observation>>,
    /// Result of the fit, with the runs that could be fitted; none while that is computed.
    pub fit: RwSignal<Option<(Vec<Observation>, Calibrated)>>,
    /// They could not be fitted.
    pub(in crate::web) failed: RwSignal<bool>,
    /// Name of the profile.
    pub(in crate::web) name: RwSignal<String>,
    /// Name of the run to be kept; empty: by its number.
    pub(in crate::web) label: RwSignal<String>,
    /// The GPUs that the next run may take; none: those of the largest run.
    pub(in crate::web) gpus: RwSignal<Option<u64>>,
    /// The file that was read last, or why it cannot be.
    pub(in crate::web) read: RwSignal<Option<Result<Reading, Vec<Issue>>>>,
    /// The profile that was read last.
    pub(in crate::web) offered: RwSignal<Option<Profile>>,
    /// The share of the file that is read, while it is.
    pub(in crate::web) progress: RwSignal<Option<f64>>,
    /// The file that is read, by number: a later one ends it.
    pub(in crate::web) turn: StoredValue<u32>,
    /// Last request to the worker.
    pub(in crate::web) asked: StoredValue<Option<(Question, JobRequest)>>,
    /// The measured step of the Run before an edit.
    pub(in crate::web) before: RwSignal<Option<Observation>>,
}

impl Runs {
    /// Reads the runs of this browser's storage.
    pub fn stored() -> Self {
        let stored = browser::stored(STORED).and_then(|text| SavedRuns::read(&text));
        let SavedRuns { runs: kept, name, .. } = stored.unwrap_or_default();
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

    /// Runs and their name as JSON: a request of the verb `calibrate`.
    pub(in crate::web) fn to_json(self) -> String {
        let list = self.kept.with_untracked(|kept| kept.iter().map(Observation::to_value).collect());
        let name = Value::Text(self.name.get_untracked());
        json::pretty(&Value::Map(vec![("name".to_owned(), name), ("runs".to_owned(), Value::List(list))]))
    }
}

/// As much of a name as a profile may have.
pub(in crate::web) fn shortened(name: &str) -> String {
    let mut name = name.trim().to_owned();
    while name.len() > LONGEST_NAME {
        name.pop();
    }
    name
}

/// A saved file.
#[derive(Default)]
pub(in crate::web) struct SavedRuns {
    pub(in crate::web) runs: Vec<Observation>,
    pub(in crate::web) name: String,
    /// Why some of its runs cannot be taken.
    pub(in crate::web) wrong: Vec<Issue>,
}

impl SavedRuns {
    /// Reads such a file; none where `text` is something else.
    pub(in crate::web) fn read(text: &str) -> Option<Self> {
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
                Err(issues) => saved.wrong.extend(issues.into_iter().map(|issue| {
                    let field = verbatim(format!("runs.{at}.{}", issue.field));
                    Issue::error("", t!("{field}: {message}", field, message = issue.message))
                })),
            }
        }
        Some(saved)
    }
}
