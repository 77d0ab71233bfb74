//! A `plan` request: `{"run": {...}, "top": 20, "pin": ["tp"], "space": {"pp": [1, 2, 4]}, "also": true, "work":
//! 16000000}`; `also` searches adapters, quantised bases and offloading too; `work` is the units of work after which
//! a search stops.

use super::allowance::WORK;
use super::axes::Axes;
use super::engine::{Search, SearchProgress};
use super::layout_field::LayoutField;
use super::plan::{Plan, recommended};
use super::ranking::FoundLayout;
use super::space::Space;
use crate::calibrate::fit_step;
use crate::issue::Issue;
use crate::memory::Verdict;
use crate::message::Message;
use crate::report::plain_report as report;
use crate::run::{AdapterMethod, Run, Schedule, ScheduleOptions, Value};
use crate::t;
use crate::units::whole;
use std::rc::Rc;

/// Rows of an answer where none are asked.
pub const TOP: usize = 20;
/// Rows of an answer at most.
const MAX_ROWS: u64 = 1_000_000;

/// A request, understood.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// The search it asks for.
    pub search: Search,
    /// Parts of it that were not followed.
    pub warnings: Vec<Issue>,
}

impl PlanRequest {
    /// A search of every layout of `run`, keeping the fields in `pins`.
    ///
    /// # Errors
    /// A run that has no model, GPU or precision.
    pub fn new(run: &Run, pins: &[&str], top: usize) -> Result<Self, Vec<Issue>> {
        let mut axes = Axes::of(run)?;
        let wrong: Vec<Issue> = pins.iter().filter_map(|name| axes.pin(name, run).err()).collect();
        if wrong.is_empty() { Self::with_axes(run, axes, pins, top) } else { Err(wrong) }
    }

    /// A request for the layouts that the software of `run` can run.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn able(run: &Run, pins: &[&str], top: usize) -> Result<Self, Vec<Issue>> {
        let mut axes = Axes::able(run)?;
        let wrong: Vec<Issue> = pins.iter().filter_map(|name| axes.pin(name, run).err()).collect();
        if wrong.is_empty() { Self::with_axes(run, axes, pins, top) } else { Err(wrong) }
    }

    /// A search of `run` over `axes`.
    ///
    /// # Errors
    /// A run that has no model, GPU or precision.
    pub(crate) fn with_axes(run: &Run, axes: Axes, pins: &[&str], top: usize) -> Result<Self, Vec<Issue>> {
        let model = run.model.resolve()?;
        run.precision.resolve()?;
        let mut base = run.clone();
        let mut warnings = Vec::new();
        if base.schedule == Schedule::Custom && pins.contains(&"schedule") {
            let message = "your own order fits one layout only: it cannot be pinned";
            return Err(vec![Issue::error("pin", message)]);
        }
        warnings.extend(measured(run));
        base.measured_step_s = None;
        if let (Some(step_s), None) = (run.measured_step_s, &run.profile.means)
            && let Ok(profile) = fit_step(&base, step_s)
        {
            base.profile = profile;
        }
        if !pins.contains(&"schedule") {
            base.schedule_options = ScheduleOptions::default();
        }
        if !pins.contains(&"hsdp_shard") {
            base.hsdp_shard = None;
        }
        let space = Space::new(base, axes, &model);
        Ok(Self { search: Search::new(space, top), warnings })
    }

    /// The request that tries adapters, a quantised base and, where the run says how much memory a host has, offloading
    /// too.
    pub(crate) fn also(mut self, run: &Run) -> Self {
        let mut others = Vec::new();
        let mut other = |key: &'static str, value: &str| {
            others.extend(run.with_texts(&[(key, value.to_owned())]));
        };
        if run.adapter.method.is_none() {
            other("adapter.method", "lora");
        }
        if run.adapter.method != Some(AdapterMethod::Qlora) && run.adapter.base.is_none() {
            other("adapter.method", "qlora");
        }
        if run.host_memory_gib.is_some() && !run.offload.leaves() {
            other("offload.optimizer", "cpu");
            other("offload.parameters", "cpu");
        }
        self.search.also(others);
        self
    }

    /// Reads a request.
    ///
    /// # Errors
    /// Unknown fields, wrong types, a run that is none.
    pub fn from_value(request: &Value) -> Result<Self, Vec<Issue>> {
        request.entries(&["run", "top", "pin", "space", "also", "work"])?;
        let mut issues = Vec::new();
        let run = match request.get("run") {
            None | Some(Value::Null) => Run::default(),
            Some(run @ Value::Map(_)) => Run::from_value(run)?,
            Some(_) => return Err(vec![Issue::error("run", "run takes an object of fields")]),
        };
        let mut axes = Axes::of(&run)?;
        let top = count(request, ("top", "rows"), MAX_ROWS, &mut issues).and_then(|top| usize::try_from(top).ok());
        let top = top.unwrap_or(TOP);
        let work = count(request, ("work", "units"), u64::MAX, &mut issues).unwrap_or(WORK);
        // Limits first: a pin wins over a limit of the same field.
        match request.get("space") {
            None | Some(Value::Null) => {}
            Some(Value::Map(limits)) => {
                for (name, values) in limits {
                    issues.extend(axes.limit(name, values).err());
                }
            }
            Some(_) => issues.push(Issue::error("space", "space takes an object of lists")),
        }
        let mut pins = Vec::new();
        match request.get("pin") {
            None | Some(Value::Null) => {}
            Some(Value::List(names)) => {
                for name in names {
                    let Value::Text(name) = name else {
                        issues.push(Issue::error("pin", "pin takes a list of field names"));
                        continue;
                    };
                    issues.extend(axes.pin(name, &run).err());
                    pins.push(name.as_str());
                }
            }
            Some(_) => issues.push(Issue::error("pin", "pin takes a list of field names")),
        }
        let also = match request.get("also") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(also)) => *also,
            Some(_) => {
                issues.push(Issue::error("also", "also takes true or false"));
                false
            }
        };
        if !issues.is_empty() {
            return Err(issues);
        }
        // A request that names what a proposal sets gets none.
        let sets = ["schedule", "virtual_stages", "schedule_options.memory_limit"];
        let is_limited = |key: &str| request.get("space").is_some_and(|space| space.get(key).is_some());
        let is_open = !sets.into_iter().any(|key| pins.contains(&key) || is_limited(key));
        let request = Self::with_axes(&run, axes, &pins, top)?;
        let mut request = if also { request.also(&run) } else { request };
        request.search.allow(work);
        if !pins.contains(&"ep_overlap") {
            request.search.unpair();
        }
        if is_open {
            request.search.propose();
        }
        Ok(request)
    }

    /// `run` without what a search changes: two runs with the same have the same plan.
    pub fn question(run: &Run) -> Run {
        let (usual, mut question) = (Run::default(), Run { measured_step_s: None, ..run.clone() });
        for field in LayoutField::ALL {
            field.copy(&usual, &mut question);
        }
        question
    }

    /// The answer so far; the whole one once the search is done.
    pub fn plan(&self) -> Plan {
        let mut warnings = self.warnings.clone();
        let progress = self.search.progress();
        warnings.extend(nothing_found(progress, self.search.best()));
        let best = self.search.best();
        warnings.extend(progress.stopped.map(|share| stopped(share, best.is_empty())));
        warnings.extend(only_tight(best, progress.done));
        Plan::new(self.search.best(), self.search.proposal(), progress, warnings)
    }
}

/// Says that the recommended layout is tight, because none that fits ties with the fastest: of all layouts where the
/// search is `complete`, else of those found.
fn only_tight(best: &[Rc<FoundLayout>], complete: bool) -> Option<Issue> {
    let fits = |found: &Rc<FoundLayout>| found.figures.peak.overall == Verdict::Fits;
    let recommended = recommended(best).and_then(|index| best.get(index));
    recommended.filter(|found| !fits(found))?;
    let number = best.iter().position(fits).map(|index| index as u64 + 1);
    let message = match (number, complete) {
        (Some(number), true) => {
            t!("the recommended layout is tight; the fastest that fits is number {number}", number)
        }
        (Some(number), false) => {
            t!("the recommended layout is tight; the fastest found that fits is number {number}", number)
        }
        (None, true) => t!("the recommended layout is tight: none of the fastest fits"),
        (None, false) => t!("the recommended layout is tight: none of the fastest found fits"),
    };
    Some(Issue::warning("", message))
}

/// Why a finished search found nothing.
pub fn nothing_found(progress: SearchProgress, best: &[Rc<FoundLayout>]) -> Option<Issue> {
    let message = if progress.evaluated == 0 {
        "no layout that is searched divides these GPUs, this batch and this model"
    } else {
        "every layout runs out of memory"
    };
    (progress.done && best.is_empty()).then(|| Issue::warning("gpus", message))
}

/// Notes that a measured step belongs to one layout: the search takes it as one observation of the constants, unless
/// the run has a profile.
fn measured(run: &Run) -> Option<Issue> {
    run.measured_step_s?;
    let report = report(run).ok();
    Some(measured_step(report.and_then(|report| report.step.rescaled_by)))
}

/// Notes that a measured step belongs to one layout, and the `factor` by which it is longer than its estimate.
pub fn measured_step(factor: Option<f64>) -> Issue {
    let mut clauses = vec![t!(
        "a measured step belongs to one layout: the plan takes yours as one observation of your cluster, unless the \
            run has a profile"
    )];
    if let Some(factor) = factor {
        let factor = format!("{factor:.2}");
        clauses.push(t!("yours took {factor} times its own estimate", factor));
    }
    let message = Message::joined("; ", clauses);
    Issue::warning("measured_step_s", message)
}

/// The number from 1 to `most` under `key`, of things called `unit`; none where the request has none.
fn count(
    request: &Value,
    (key, unit): (&'static str, &'static str),
    most: u64,
    issues: &mut Vec<Issue>,
) -> Option<u64> {
    let found = match request.get(key) {
        None | Some(Value::Null) => return None,
        Some(Value::Number(number)) => whole(*number).filter(|count| (1..=most).contains(count)),
        Some(_) => None,
    };
    if found.is_none() {
        issues.push(Issue::error(key, t!("{key} takes a number of {unit}, 1 or more", key, unit)));
    }
    found
}

/// Says what a search leaves out that stopped at its limit of work, having looked at `share` of the layouts and found
/// some, or `nothing`.
fn stopped(share: f64, nothing: bool) -> Issue {
    let percent = format!("{:.1}", 100.0 * share);
    let message = match (nothing, share < 1.0) {
        (true, _) => t!(
            "the search stopped at its limit of work and found nothing in {percent} % of the layouts, evenly spread: \
                pin fields, limit space or raise work",
            percent
        ),
        (false, true) => t!(
            "the search looked at {percent} % of the layouts, evenly spread, and stopped at its limit of work: pin \
                fields, limit space or raise work",
            percent
        ),
        (false, false) => t!(
            "the search stopped at its limit of work with layouts left that may be faster: pin fields, limit space or \
                raise work"
        ),
    };
    Issue::warning("work", message)
}

/// Answers one request.
///
/// # Errors
/// Unknown fields, wrong types, a run that is none.
pub fn plan(request: &Value) -> Result<Plan, Vec<Issue>> {
    let mut request = PlanRequest::from_value(request)?;
    request.search.finish();
    Ok(request.plan())
}
