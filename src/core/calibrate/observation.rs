//! Measurements of one run.

use super::NOISE;
use crate::issue::Issue;
use crate::run::{Multiplier, Run, Scenario, Value};
use crate::statics::named;
use crate::t;
use serde::{Deserialize, Serialize};

named! {
    /// Measured figure of memory, by the name that requests use.
    #[derive(Serialize, Deserialize)]
    pub enum MemoryKind: name {
        /// The peak of what PyTorch gave to tensors.
        Allocated = "allocated",
        /// The peak of what PyTorch's allocator held.
        Reserved = "reserved",
        /// As the driver shows it: context and libraries included.
        Device = "device",
    }
}

/// A measured peak.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredPeak {
    pub kind: MemoryKind,
    /// Amount, GiB.
    pub gib: f64,
}

/// One run with what was measured of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Name given by its owner.
    pub name: String,
    pub run: Run,
    /// Seconds of a step, the median of the steady ones.
    pub step_s: Option<f64>,
    /// Standard deviation of the logarithm of the step.
    pub sigma: f64,
    /// Peaks of the fullest GPU.
    pub peaks: Vec<MeasuredPeak>,
    /// Measured by itself, of a benchmark or a trace: what a kind of work takes over the model's prediction.
    pub ratios: Vec<(Multiplier, f64)>,
}

const LONGEST_NAME: usize = 200;

impl Observation {
    /// A step of `run` that took `step_s`.
    pub fn step(name: &str, run: Run, step_s: f64) -> Self {
        Self { name: name.to_owned(), run, step_s: Some(step_s), sigma: NOISE, peaks: Vec::new(), ratios: Vec::new() }
    }

    /// As an object: `{"name", "run", "step_s", "sigma", "allocated_gib", "reserved_gib", "device_gib"}`, and
    /// `gemm_ratio`,
    /// `node_links_ratio`... of what was measured by itself.
    pub fn to_value(&self) -> Value {
        let mut entries =
            vec![("name".to_owned(), Value::Text(self.name.clone())), ("run".to_owned(), self.run.to_value())];
        let mut number = |key: String, value: f64| entries.push((key, Value::Number(value)));
        if let Some(seconds) = self.step_s {
            number("step_s".to_owned(), seconds);
            number("sigma".to_owned(), self.sigma);
        }
        for peak in &self.peaks {
            number(peak.kind.key(), peak.gib);
        }
        for (kind, ratio) in &self.ratios {
            number(format!("{}_ratio", kind.key()), *ratio);
        }
        Value::Map(entries)
    }

    /// Reads such an object.
    ///
    /// # Errors
    /// Every key that is unknown, of the wrong type or out of range, and every setting of the run that cannot work.
    pub fn from_value(object: &Value) -> Result<Self, Vec<Issue>> {
        let Value::Map(entries) = object else {
            let kind = object.kind();
            let message = t!("an observation is an object with a run, this is {kind}", kind);
            return Err(vec![Issue::error("", message)]);
        };
        let mut observation = Self { step_s: None, ..Self::step("", Run::default(), 1.0) };
        let mut issues = Vec::new();
        for (key, value) in entries {
            let peak = MemoryKind::ALL.into_iter().find(|kind| kind.key() == *key);
            let ratio =
                key.strip_suffix("_ratio").and_then(|name| Multiplier::ALL.into_iter().find(|kind| kind.key() == name));
            if let Some(kind) = ratio {
                match positive(key, value, 100.0) {
                    Ok(ratio) => observation.ratios.push((kind, ratio)),
                    Err(wrong) => issues.extend(wrong),
                }
                continue;
            }
            let result = match (key.as_str(), value, peak) {
                (_, Value::Null, _) => Ok(()),
                ("name", Value::Text(name), _) => {
                    observation.name = name.chars().take(LONGEST_NAME).collect();
                    Ok(())
                }
                ("run", run, _) => Run::from_value(run).map(|run| observation.run = run),
                ("step_s", number, _) => positive(key, number, 1e7).map(|seconds| observation.step_s = Some(seconds)),
                ("sigma", number, _) => positive(key, number, 2.0).map(|sigma| observation.sigma = sigma),
                (_, number, Some(kind)) => positive(key, number, 1e5).map(|gib| {
                    observation.peaks.push(MeasuredPeak { kind, gib });
                }),
                _ => Err(vec![Issue::error(
                    key,
                    "no such field; an observation has name, run, step_s, sigma, allocated_gib, reserved_gib, \
                        device_gib, gemm_ratio and the like",
                )]),
            };
            issues.extend(result.err().into_iter().flatten());
        }
        observation.run.measured_step_s = None;
        if issues.is_empty() {
            issues.extend(Scenario::new(&observation.run).err().into_iter().flatten());
        }
        if issues.is_empty() && observation.is_empty() {
            let message = "nothing measured: a step (step_s) or a peak of memory is needed";
            issues.push(Issue::error("step_s", message));
        }
        if issues.is_empty() { Ok(observation) } else { Err(issues) }
    }
    /// True if it holds no measurement.
    pub fn is_empty(&self) -> bool {
        self.step_s.is_none() && self.peaks.is_empty() && self.ratios.is_empty()
    }
}

impl MemoryKind {
    fn key(self) -> String {
        format!("{}_gib", self.name())
    }
}

/// The number that `value` is, if it is over 0 and at most `most`.
fn positive(key: &str, value: &Value, most: f64) -> Result<f64, Vec<Issue>> {
    match value {
        Value::Number(number) if *number >= 1e-6 && *number <= most => Ok(*number),
        _ => {
            let message = t!("needs a number over 0, at most {most}", most = most.to_string());
            Err(vec![Issue::error(key, message)])
        }
    }
}

/// `issues` of run `index` of the list.
pub(super) fn named(index: usize, issues: Vec<Issue>) -> Vec<Issue> {
    let field = |issue: &Issue| match issue.field.as_str() {
        "" => format!("runs.{index}"),
        field => format!("runs.{index}.{field}"),
    };
    issues.into_iter().map(|issue| Issue { field: field(&issue), fix: None, ..issue }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_observation_comes_back_from_its_object() {
        let observation = Observation {
            peaks: vec![MeasuredPeak { kind: MemoryKind::Reserved, gib: 61.5 }],
            ..Observation::step("first", Run { tp: 4, ..Run::default() }, 12.5)
        };
        let read = Observation::from_value(&observation.to_value());
        assert_eq!(read, Ok(observation));
    }

    #[test]
    fn what_is_no_observation_is_named() {
        for (json, field) in [
            (r#"{"run":{}}"#, "step_s"),
            (r#"{"run":{},"step_s":0}"#, "step_s"),
            (r#"{"run":{"tp":7},"step_s":1}"#, "tp"),
            (r#"{"run":{},"step_s":1,"seconds":2}"#, "seconds"),
            ("[]", ""),
        ] {
            let value: Value = serde_json::from_str(json).unwrap();
            let issues = Observation::from_value(&value).unwrap_err();
            assert_eq!(issues[0].field, field, "{json}");
        }
    }
}
