//! A `calibrate` request: `{"runs": [{"run": {...}, "step_s": 12.3}], "name": "our H100", "question": {...}, "gpus":
//! 64}`.

use super::fit::{Fit, fit};
use super::learned::{LearnedMultiplier, RunStanding};
use super::memory::Allocated;
use super::next::{candidates, informed_by, next_runs};
use super::observation::{Observation, named};
use crate::issue::Issue;
use crate::message::{Message, verbatim};
use crate::report::effort;
use crate::run::{LONGEST_NAME, Profile, Run, Value};
use crate::t;
use crate::units::{Bytes, GIB, show_bytes};
use serde::{Deserialize, Serialize};

/// More observations than this are not fitted.
const MAX_RUNS: usize = 200;
/// Runs to make next that are named.
const NEXT: usize = 3;
/// Ops that the reports of a request lay out at most: about 2 s of a processor.
const WORK: u64 = 5_000_000;
/// Ops that take as long as the rest of a report.
const REPORT: u64 = 100;
/// Reports of a run that is fitted: seven in each round, and those that tell why it stands out.
const FITTED: u64 = 35;
/// Reports that tell which changes of the question fit.
const LISTED: u64 = 25;
/// Reports of a change that is tried.
const TRIED: u64 = 8;

/// A request, understood.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CalibrateRequest {
    pub observations: Vec<Observation>,
    pub name: String,
    /// The run to predict; the first run where none is given.
    pub question: Option<Run>,
    /// GPUs that the next run may take; those of the largest run where nothing is said.
    pub gpus: Option<u64>,
    /// Layouts that a search listed for the question; a request as text has none.
    pub plan: Vec<Run>,
}

/// The result of a fit, as plain data.
#[derive(Serialize)]
pub struct Calibration {
    /// Empty where there is an answer.
    pub errors: Vec<Issue>,
    /// Parts of the request that are left out.
    pub warnings: Vec<Issue>,
    /// The profile, as the field `profile` of a Run.
    pub profile: Value,
    pub constants: Vec<FittedMultiplier>,
    /// Each measured step.
    pub runs: Vec<StandingReply>,
    /// Reserved over allocated, GiB beyond the model's overhead; none where no run said it.
    pub memory: Option<Value>,
    /// The issue of runs that disagree where the wrong one cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disagreement: Option<Message>,
    /// Allocated peaks that mean another layout.
    pub layouts: Vec<ImpossiblePeak>,
    pub next: Vec<NextRunReply>,
}

/// A multiplier after the fit.
#[derive(Serialize)]
pub struct FittedMultiplier {
    /// The kind of work that it stretches.
    pub name: &'static str,
    /// Its value; 1 before the runs.
    pub factor: f64,
    /// Standard deviation of its logarithm, before and after.
    pub width_before: f64,
    /// Standard deviation of its logarithm after the runs.
    pub width: f64,
    /// The largest share of a step that it had in a run.
    pub share: f64,
    /// True if the runs inform it.
    pub informed: bool,
    /// The run that would inform it, where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub informed_by: Option<Message>,
}

/// A run against the fit.
#[derive(Serialize)]
pub struct StandingReply {
    pub name: String,
    /// Seconds as measured.
    pub measured_s: f64,
    /// As the shipped constants say.
    pub before_s: f64,
    /// By the fit.
    pub after_s: f64,
    /// As the other runs predict; the shipped constants where there are none.
    pub expected_s: f64,
    /// Distance from that, in standard deviations.
    pub off: f64,
    /// The usual explanation, where it stands out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<Message>,
}

/// An allocated peak that the stated layout cannot have.
#[derive(Serialize)]
pub struct ImpossiblePeak {
    pub name: String,
    pub measured_gib: f64,
    /// GiB by the model.
    pub predicted_gib: f64,
    /// Settings that would explain it.
    pub warning: Message,
}

/// A run to make next.
#[derive(Serialize)]
pub struct NextRunReply {
    /// The run, as an object of what differs from the default.
    pub run: Value,
    /// Standard deviation of the prediction's logarithm now, without the spread of a run.
    pub sd_before: f64,
    /// Standard deviation of the prediction's logarithm after the run.
    pub sd_after: f64,
    /// Name of the multiplier that it informs most.
    pub teaches: &'static str,
}

/// A fit, the profile that it gives, and the runs to make next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    pub fit: Fit,
    pub profile: Profile,
    /// Runs to make next, best first.
    pub next: Vec<super::next::NextRun>,
    /// Observations at the end that are left out, beyond the limit of work.
    pub left_out: usize,
    /// True if the limit of work leaves the runs to make next out.
    pub is_next_left_out: bool,
}

impl Calibrated {
    /// Says what the limit of work leaves out.
    pub fn left_out(&self) -> Vec<Message> {
        let runs = (self.left_out > 0).then(|| {
            t!(
                "the last {count} runs are not fitted: the schedules before them take all the work that an answer may \
                    take",
                count = self.left_out
            )
        });
        let next = self
            .is_next_left_out
            .then(|| t!("the runs to make next are left out: this schedule takes too much work to try them"));
        runs.into_iter().chain(next).collect()
    }
}

impl CalibrateRequest {
    /// Reads a request.
    ///
    /// # Errors
    /// Unknown fields, wrong types, observations that are none.
    pub fn from_value(request: &Value) -> Result<Self, Vec<Issue>> {
        let wrong = |field: &str, message: Message| vec![Issue::error(field, message)];
        request.entries(&["runs", "name", "question", "gpus"])?;
        let Some(Value::List(runs)) = request.get("runs") else {
            return Err(wrong("runs", t!("needs a list of observations")));
        };
        if runs.is_empty() || runs.len() > MAX_RUNS {
            return Err(wrong("runs", t!("needs 1 to {MAX_RUNS} observations", MAX_RUNS)));
        }
        let mut observations = Vec::new();
        let mut issues = Vec::new();
        for (index, run) in runs.iter().enumerate() {
            match Observation::from_value(run) {
                Ok(observation) => observations.push(observation),
                Err(wrong) => issues.extend(named(index, wrong)),
            }
        }
        let name = match request.get("name") {
            None | Some(Value::Null) => String::new(),
            Some(Value::Text(name)) if name.len() <= LONGEST_NAME => name.clone(),
            Some(_) => {
                let message = t!("needs a text of at most {LONGEST_NAME} bytes", LONGEST_NAME);
                return Err(wrong("name", message));
            }
        };
        let question = match request.get("question") {
            None | Some(Value::Null) => None,
            Some(run) => Some(Run::from_value(run)?),
        };
        let gpus = match request.get("gpus") {
            None | Some(Value::Null) => None,
            Some(Value::Number(gpus)) if *gpus >= 1.0 => crate::units::whole(*gpus),
            Some(_) => return Err(wrong("gpus", t!("needs a number of GPUs, 1 or more"))),
        };
        if issues.is_empty() { Ok(Self { observations, name, question, gpus, plan: Vec::new() }) } else { Err(issues) }
    }

    /// The fit, and what follows from it.
    ///
    /// # Errors
    /// Every setting that cannot work in one of the runs.
    pub fn answer(&self) -> Result<Calibrated, Vec<Issue>> {
        let cost = |run: &Run| effort(run).saturating_add(REPORT);
        let mut left = WORK;
        let mut affords = |run: &Run, reports: u64| {
            left = left.saturating_sub(cost(run).saturating_mul(reports));
            left > 0
        };
        let fitted = self.observations.iter().take_while(|one| affords(&one.run, FITTED)).count().max(1);
        let fit = fit(self.observations.get(..fitted).unwrap_or(&self.observations))?;
        let first = self.observations.first().map(|one| &one.run);
        let gpu = first.and_then(|run| run.gpu.base);
        let profile = fit.profile(Some(self.name.as_str()).filter(|name| !name.is_empty()), gpu);
        let most = self.observations.iter().map(|one| one.run.gpus).max();
        let gpus = self.gpus.or(most).unwrap_or(1);
        let question = self.question.as_ref().or(first);
        let affordable = question.filter(|question| affords(question, LISTED));
        let next = affordable.map_or_else(Vec::new, |question| {
            let mut tried = candidates(question, &self.plan, gpus);
            tried.truncate(usize::try_from(left / cost(question) / TRIED).unwrap_or(usize::MAX));
            let calibrated = fit.steps > 0;
            next_runs(&fit.posterior, calibrated, std::slice::from_ref(question), &tried, NEXT)
        });
        let left_out = self.observations.len().saturating_sub(fitted);
        Ok(Calibrated { fit, profile, next, left_out, is_next_left_out: affordable.is_none() && question.is_some() })
    }
}

/// Says what usually explains a run that stands out.
pub fn warning(standing: &RunStanding) -> Option<Message> {
    if !standing.stands_out() {
        return None;
    }
    let slower = standing.off > 0.0;
    let other = standing.measured_s / standing.expected_s;
    let percent = format!("{:.0}", (other - 1.0).abs() * 100.0);
    let found = if slower {
        t!(
            "your run is {percent} % slower than the model expects: check the batch, recomputation, the first steps, \
                a slow node",
            percent
        )
    } else {
        t!(
            "your run is {percent} % faster than the model expects: check the batch, the sequence length, \
                recomputation, the precision",
            percent
        )
    };
    Some(with_suspects(found, &standing.suspects))
}

/// The sentence that runs disagree and it cannot be told which of them is wrong; `name` is the name of an observation.
pub fn disagreement(standings: &[RunStanding], name: impl Fn(usize) -> String) -> Option<Message> {
    let unclear = standings.iter().filter(|standing| standing.is_unclear());
    let named: Vec<Message> = unclear
        .map(|standing| {
            let percent = (standing.measured_s / standing.expected_s - 1.0) * 100.0;
            let name = verbatim(name(standing.observation));
            let off = t!("{name} ({percent} %)", name, percent = format!("{percent:+.0}"));
            match &standing.suspects[..] {
                [] => off,
                suspects => t!("{run}, as with {change}", run = off, change = suspects[0].text()),
            }
        })
        .collect();
    (!named.is_empty()).then(|| {
        t!(
            "these runs disagree, each far from what the others teach, and the model cannot tell which is wrong: \
                {runs}. What usually explains it: another batch, sequence or recomputation than stated, the first \
                steps in an average, a slow node, other software. Remove the one that you trust least.",
            runs = Message::joined(", ", named)
        )
    })
}

/// Says that an allocated peak means another layout.
pub fn wrong_layout(of: &Allocated) -> Message {
    let [measured, predicted] = [of.measured, of.predicted].map(|gib| verbatim(show_bytes(Bytes(gib * GIB))));
    let found = t!(
        "it allocated {measured}; we estimated {predicted} of tensors: check layout and sequence",
        measured,
        predicted
    );
    let unchanged = t!("no memory is learned from it: the need on Run stays as predicted");
    Message::joined("; ", [with_suspects(found, &of.suspects), unchanged])
}

fn with_suspects(found: Message, suspects: &[super::suspects::Suspect]) -> Message {
    if suspects.is_empty() {
        return found;
    }
    let list = Message::joined(" or ", suspects.iter().map(super::suspects::Suspect::text));
    t!("{found}; one change that explains it: {list}", found, list)
}

impl FittedMultiplier {
    fn of(lesson: &LearnedMultiplier) -> Self {
        Self {
            name: lesson.multiplier.name(),
            factor: lesson.factor,
            width_before: lesson.before,
            width: lesson.width,
            share: lesson.share,
            informed: lesson.informed,
            informed_by: (!lesson.informed).then(|| informed_by(lesson.multiplier)),
        }
    }
}

impl StandingReply {
    /// The standing of the run called `name`.
    fn of(standing: &RunStanding, name: String) -> Self {
        Self {
            name,
            measured_s: standing.measured_s,
            before_s: standing.before_s,
            after_s: standing.after_s,
            expected_s: standing.expected_s,
            off: standing.off,
            warning: warning(standing),
        }
    }
}

impl ImpossiblePeak {
    /// The peak of the run called `name`.
    fn of(peak: &Allocated, name: String) -> Self {
        Self { name, measured_gib: peak.measured, predicted_gib: peak.predicted, warning: wrong_layout(peak) }
    }
}

/// Answers one request.
///
/// # Errors
/// Every fault of the request or of one of its runs.
pub fn calibrate(request: &Value) -> Result<Calibration, Vec<Issue>> {
    let request = CalibrateRequest::from_value(request)?;
    let answer = request.answer()?;
    let warnings = answer.left_out().into_iter().map(|message| Issue::warning("runs", message)).collect();
    let Calibrated { fit, profile, next, .. } = answer;
    let name = |index: usize| {
        let observation = request.observations.get(index);
        observation.map(|one| one.name.clone()).unwrap_or_default()
    };
    let carrier = Run { profile, ..Run::default() };
    let number = |value: f64| Value::Number(value);
    Ok(Calibration {
        errors: Vec::new(),
        warnings,
        profile: carrier.to_value().get("profile").cloned().unwrap_or_default(),
        constants: fit.lessons.iter().map(FittedMultiplier::of).collect(),
        runs: fit.standings.iter().map(|standing| StandingReply::of(standing, name(standing.observation))).collect(),
        memory: (fit.memory.runs > 0).then(|| {
            Value::Map(vec![
                ("overhead_gib".to_owned(), number(fit.memory.overhead_gib)),
                ("reserved_over_allocated".to_owned(), number(fit.memory.ratio)),
            ])
        }),
        disagreement: disagreement(&fit.standings, name),
        layouts: fit
            .memory
            .allocated
            .iter()
            .filter(|of| of.is_wrong())
            .map(|peak| ImpossiblePeak::of(peak, name(peak.observation)))
            .collect(),
        next: next
            .iter()
            .map(|next| NextRunReply {
                run: next.run.to_value(),
                sd_before: next.sd.0,
                sd_after: next.sd.1,
                teaches: next.teaches.name(),
            })
            .collect(),
    })
}
