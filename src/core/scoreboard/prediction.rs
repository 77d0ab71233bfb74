//! Predictions: a line for each run, of which a tool leaves out what it cannot do.

use crate::memory::Verdict;
use serde::{Deserialize, Serialize};

/// Quantities that a question may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedQuantity {
    StepS,
    /// The peak of memory.
    PeakGib,
    /// Fits, or runs out of memory.
    Verdict,
}

/// A line of a file of predictions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_s: Option<f64>,
    /// The fast end of its range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_s: Option<f64>,
    /// The peak of memory, GiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_gib: Option<f64>,
    /// Fits, tight, or out of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Answers that the tool was fitted to: left out of its row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fitted: Vec<AskedQuantity>,
}

/// The largest figure that a prediction may have, in seconds or GiB: 30 years, and more memory than a GPU has by a
/// factor of a million. Errors of larger figures would no longer be numbers when they are added up.
pub const MOST: f64 = 1e9;

impl Predicted {
    /// The first of its figures that is none: not above 0, or above [`MOST`].
    pub fn fault(&self) -> Option<&'static str> {
        let figures =
            [("step_s", self.step_s), ("low_s", self.low_s), ("high_s", self.high_s), ("peak_gib", self.peak_gib)];
        let is_wrong = |figure: Option<f64>| figure.is_some_and(|figure| !(figure > 0.0 && figure <= MOST));
        figures.into_iter().find(|(_, figure)| is_wrong(*figure)).map(|(name, _)| name)
    }

    /// True if the tool was fitted to the answer.
    pub fn is_fitted(&self, asked: AskedQuantity) -> bool {
        self.fitted.contains(&asked)
    }
}

/// The first line of a file, which may be left out: who predicts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// Version of the format.
    pub scoreboard: u32,
    pub name: String,
    /// Its kind: a simulator, a formula.
    #[serde(default)]
    pub kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// Release or commit that predicted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Hash of the questions that it was asked, by [`crate::accuracy::record::fnv`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub questions: String,
    /// Readings that were needed, or why nothing is predicted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}
