//! Jobs of a worker and its replies, as data.

use crate::core::advice::certify::{BestSplit, SplitSearch, proof};
use crate::core::advice::fit;
use crate::core::advice::fit::{FitSearch, Suggestions};
use crate::core::advice::{ScheduleFigures, run_with, schedule_figures};
use crate::core::calibrate::{CalibrateRequest, Calibrated};
use crate::core::pipeline::certify::{Certificate, Proof};
use crate::core::report::{ScheduleVariant, Timed, evaluate, time};
use crate::core::run::Run;
use crate::core::search::catalogue::{CatalogueRow, CatalogueSearch};
use crate::core::search::dates::ChosenDates;
use crate::core::search::kinds::{GpuKinds, KindRow};
use crate::core::search::ladder::{Ladder, LadderEnd};
use crate::core::search::session::{PlanQuery, PlanResult, PlanSession};
use crate::core::whole_run::{CalendarRange, Dates, Deadline, range};
use crate::view::gallery::sketch::{Axis, Sketch};
use crate::view::panels::whole::WholeRunAnswer;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::VecDeque;

/// Work that takes longer than a frame of the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Job {
    /// Orders the pipeline of a Run and times it, without its ops: one reply.
    Evaluate(Run),
    /// Simulates a Run op by op: one reply.
    Simulate(Run),
    /// Evaluates a Run under every schedule, in the order of [`ScheduleVariant::all`], with a memory limit: a reply
    /// each.
    AllSchedules(Run, u64),
    /// Draws schedules of a Run, by their place in [`ScheduleVariant::all`]: a reply each.
    Sketches {
        run: Run,
        /// The memory limit, in stage-micro-batches.
        limit: u64,
        axis: Axis,
        /// Their places in [`ScheduleVariant::all`].
        which: Vec<usize>,
    },
    /// Searches layouts: what is known as soon as there are rows, every 100 ms, and at the end. A later query of the
    /// same question goes on where this one was cancelled. No reply where the run has no model, GPU or precision.
    Plan(PlanQuery),
    /// Chooses the layout of a Run, whose fields that are named stay: one reply, where it has a model, a GPU and a
    /// precision.
    Layout(Run, Vec<String>),
    /// Fits measured runs: what they teach, and what to run next.
    Calibrate(Box<CalibrateRequest>),
    /// Searches what would make a Run fit, within a limit of work: what was found, once it is over.
    Fit(fit::Base),
    /// Draws the range of a Run's whole run: one reply.
    WholeRange(Run),
    /// Searches what every model of the catalogue trains on within some days: a row each.
    Catalogue(Run, f64),
    /// Searches the fastest layout of a Run on kinds of GPUs, by their places in the presets: a row each.
    Kinds(Run, Vec<usize>),
    /// Tries numbers of GPUs for so many tokens within some days: what is known every 100 ms, and at the end.
    Dates { run: Run, tokens: f64, days: f64 },
    /// [`ChosenDates`], answered as [`Job::Dates`].
    ChosenDates { run: Run, tokens: f64, days: f64 },
    /// Searches the split of a Run's layers and their order together: the best every 100 ms, and at the end.
    Split(Run),
    /// Certifies the order of a Run's pipeline: what is proven every 100 ms, and at the end.
    Certify(Run),
    /// Certifies schedules of a Run, by their place in [`ScheduleVariant::all`], with a memory limit: the bound of
    /// each, then what a search proves of each.
    Certificates {
        run: Run,
        /// The memory limit, in stage-micro-batches.
        limit: u64,
        /// Their places in [`ScheduleVariant::all`].
        which: Vec<usize>,
    },
}

/// A part of a job's result. Replies are numbers; the messages of a Run that cannot be evaluated are computed where
/// they are shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// Order and spans; none where the Run cannot be simulated.
    Evaluated(Option<Timed>),
    /// The times of its timeline; none where the Run cannot be simulated.
    Simulated(Option<Vec<f64>>),
    /// A schedule's figures; none where it cannot run.
    Schedule(Option<ScheduleFigures>),
    /// A schedule's picture; none where it cannot run.
    Sketch(Option<Sketch>),
    /// The plan as far as it is known.
    Plan(Box<PlanResult>),
    /// The layout that was chosen, or why there is none.
    Layout(Box<LadderEnd>),
    /// Result of the fit; none where one of the runs cannot run.
    Calibrated(Option<Box<Calibrated>>),
    /// Changes that make the Run fit; none while the search takes long.
    Fit(Option<Suggestions>),
    /// Range of the whole run; none where it does not finish.
    WholeRange(Option<CalendarRange>),
    /// A model of the catalogue.
    Catalogue(CatalogueRow),
    /// A kind of GPUs.
    Kind(KindRow),
    /// The smallest number of GPUs so far, and whether that is all; none while no number works.
    Dates(Option<Deadline>, bool),
    /// The best split so far, and whether that is all; none where there is nothing to split.
    Split(Option<Box<BestSplit>>, bool),
    /// Certificate so far, and whether it is final; none where such an order has no certificate.
    Certificate(Option<Box<Certificate>>, bool),
}

/// Worker of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerLane {
    /// A slice of its jobs can take seconds: the worker is ended when its last job is cancelled.
    Simulation,
    /// Its jobs take short slices, and what they found is kept for the next.
    Search,
}

/// Longest time of a slice of a search.
#[derive(Clone, Copy)]
pub struct Pace {
    /// The time, milliseconds.
    pub now: fn() -> f64,
    /// A slice ends after so many milliseconds.
    pub slice_ms: f64,
}

/// Units of a search between two reads of the clock.
const UNITS: u64 = 1000;
/// Milliseconds between two replies of a plan.
const REPLY_MS: f64 = 100.0;
/// Milliseconds after which a search for what would fit reports that it is still running.
const SILENT_MS: f64 = 150.0;
/// Planner sessions that are kept: the plan panel's and one in the background.
const MAX_SESSIONS: usize = 2;

impl Pace {
    /// Repeats `step` until it returns true or the slice ends; true where the work is over.
    fn slice(self, mut step: impl FnMut() -> bool) -> bool {
        let begun = (self.now)();
        loop {
            if step() {
                return true;
            }
            if (self.now)() - begun >= self.slice_ms {
                return false;
            }
        }
    }
}

/// The replies of as many of `slices` as a turn of the event loop has time for, and whether the job is over.
pub fn turn(slices: &mut dyn Iterator<Item = Option<Reply>>, pace: Pace) -> (Vec<Reply>, bool) {
    let mut replies = Vec::new();
    let over = pace.slice(|| match slices.next() {
        Some(reply) => {
            replies.extend(reply);
            false
        }
        None => true,
    });
    (replies, over)
}

impl Job {
    /// The worker that takes it.
    pub fn lane(&self) -> WorkerLane {
        match self {
            Self::Evaluate(_)
            | Self::Simulate(_)
            | Self::AllSchedules(..)
            | Self::Sketches { .. }
            | Self::Calibrate(_) => WorkerLane::Simulation,
            Self::Plan(_)
            | Self::Layout(..)
            | Self::Fit(_)
            | Self::Certify(_)
            | Self::Certificates { .. }
            | Self::Split(_)
            | Self::WholeRange(_)
            | Self::Catalogue(..)
            | Self::Kinds(..)
            | Self::Dates { .. }
            | Self::ChosenDates { .. } => WorkerLane::Search,
        }
    }

    /// Its work in slices, each done when it is asked for; a slice may give a reply.
    pub fn slices(self, pace: Pace) -> Box<dyn Iterator<Item = Option<Reply>>> {
        match self {
            Self::Evaluate(run) => {
                let evaluated = move || Some(Reply::Evaluated(time(&run).ok()));
                Box::new(std::iter::once_with(evaluated))
            }
            Self::Simulate(run) => {
                let times = move || Some(evaluate(&run).ok()?.timeline().times());
                let simulated = move || Some(Reply::Simulated(times()));
                Box::new(std::iter::once_with(simulated))
            }
            Self::AllSchedules(run, limit) => {
                let variants = ScheduleVariant::all(&run).into_iter();
                Box::new(variants.map(move |variant| {
                    let figures = schedule_figures(&run, variant, limit).ok();
                    Some(Reply::Schedule(figures))
                }))
            }
            Self::Sketches { run, limit, axis, which } => {
                let variants = ScheduleVariant::all(&run);
                Box::new(which.into_iter().map(move |at| {
                    let other = variants.get(at).and_then(|variant| run_with(&run, *variant, limit).ok());
                    let drawn = other.and_then(|other| evaluate(&other).ok());
                    let sketch = drawn.map(|drawn| Sketch::of(&drawn, axis));
                    Some(Reply::Sketch(sketch))
                }))
            }
            Self::Calibrate(request) => {
                Box::new(std::iter::once_with(move || Some(Reply::Calibrated(request.answer().ok().map(Box::new)))))
            }
            Self::WholeRange(run) => Box::new(std::iter::once_with(move || {
                let evaluation = evaluate(&run).ok();
                let answer = evaluation.as_ref().and_then(|evaluation| WholeRunAnswer::new(evaluation).ok());
                Some(Reply::WholeRange(
                    evaluation.zip(answer).map(|(evaluation, answer)| range(&evaluation, &answer.setting)),
                ))
            })),
            Self::Catalogue(run, days) => {
                let mut catalogue = CatalogueSearch::new(&run, days);
                Box::new(std::iter::from_fn(move || Some(catalogue.step(UNITS).ok()?.map(Reply::Catalogue))))
            }
            Self::Kinds(run, places) => {
                let mut kinds = GpuKinds::new(&run, &places);
                Box::new(std::iter::from_fn(move || Some(kinds.step(UNITS).ok()?.map(Reply::Kind))))
            }
            Self::Dates { run, tokens, days } => Box::new(streamed(
                pace,
                move || Some(Dates::new(&run, tokens, days)),
                Dates::step,
                |dates, done| Reply::Dates(dates.and_then(|dates| dates.deadline().ok()), done),
            )),
            Self::ChosenDates { run, tokens, days } => Box::new(streamed(
                pace,
                move || Some(ChosenDates::new(&run, tokens, days)),
                |dates: &mut ChosenDates| dates.step(UNITS),
                |dates, done| Reply::Dates(dates.and_then(|dates| dates.deadline().ok()), done),
            )),
            Self::Plan(query) => Box::new(plan(query, pace)),
            Self::Layout(run, pins) => Box::new(layout(&run, &pins, pace)),
            Self::Fit(base) => Box::new(fit(base, pace)),
            Self::Certify(run) => Box::new(certify(Some(run), pace)),
            Self::Certificates { run, limit, which } => Box::new(certificates(run, limit, which, pace)),
            Self::Split(run) => Box::new(streamed(
                pace,
                move || evaluate(&run).ok().and_then(|evaluation| SplitSearch::new(&evaluation)),
                SplitSearch::step,
                |search, done| Reply::Split(search.and_then(SplitSearch::best).map(Box::new), done),
            )),
        }
    }
}

fn certify(run: Option<Run>, pace: Pace) -> impl Iterator<Item = Option<Reply>> {
    streamed(
        pace,
        move || evaluate(&run?).ok().and_then(|evaluation| proof(&evaluation).ok()),
        Proof::step,
        |proof, done| Reply::Certificate(proof.map(|proof| Box::new(proof.certificate())), done),
    )
}

/// The bound of each schedule first, then the search for a better one, in the same order.
fn certificates(run: Run, limit: u64, which: Vec<usize>, pace: Pace) -> impl Iterator<Item = Option<Reply>> {
    let variants = ScheduleVariant::all(&run);
    let (mut waiting, mut begun) = (which.into_iter(), VecDeque::new());
    let reply = |proof: &Option<Proof>, done| {
        Reply::Certificate(proof.as_ref().map(|proof| Box::new(proof.certificate())), done)
    };
    std::iter::from_fn(move || {
        if let Some(at) = waiting.next() {
            let other = variants.get(at).and_then(|variant| run_with(&run, *variant, limit).ok());
            let found = other.and_then(|other| evaluate(&other).ok()).and_then(|evaluation| proof(&evaluation).ok());
            let first = reply(&found, false);
            begun.push_back(found);
            return Some(Some(first));
        }
        let found = begun.front_mut()?;
        if !found.as_mut().is_none_or(|found| pace.slice(|| found.step())) {
            return Some(None);
        }
        Some(Some(reply(&begun.pop_front()?, true)))
    })
}

fn plan(query: PlanQuery, pace: Pace) -> impl Iterator<Item = Option<Reply>> {
    let (mut done, mut has_rows) = (false, false);
    let mut replied = (pace.now)();
    std::iter::from_fn(move || {
        if done {
            return None;
        }
        with_session(&query, |session| {
            done = pace.slice(|| session.step(UNITS));
            let first = !has_rows && !session.rows().is_empty();
            let now = (pace.now)();
            if !done && !first && now - replied < REPLY_MS {
                return None;
            }
            (has_rows, replied) = (has_rows || first, now);
            Some(Reply::Plan(Box::new(session.result(done))))
        })
    })
}

/// Gives `work` the session of the query's question: the one of an earlier job, if it is still there. None where the
/// run cannot be planned for.
fn with_session<T>(query: &PlanQuery, work: impl FnOnce(&mut PlanSession) -> T) -> Option<T> {
    thread_local! {
        /// The one used last stands first.
        static SESSIONS: RefCell<Vec<PlanSession>> = const { RefCell::new(Vec::new()) };
    }
    SESSIONS.with_borrow_mut(|sessions| {
        let place = sessions.iter().position(|one| one.is_about(&query.run));
        let mut session = match place {
            Some(at) => sessions.remove(at),
            None => PlanSession::new(query.clone()).ok()?,
        };
        session.set(query);
        let result = work(&mut session);
        sessions.insert(0, session);
        sessions.truncate(MAX_SESSIONS);
        Some(result)
    })
}

fn layout(run: &Run, pins: &[String], pace: Pace) -> impl Iterator<Item = Option<Reply>> + use<> {
    let pins: Vec<&str> = pins.iter().map(String::as_str).collect();
    let mut ladder = Ladder::with_pins(run, &pins).ok();
    std::iter::from_fn(move || {
        let climbed = ladder.as_mut()?;
        if !pace.slice(|| climbed.step(UNITS)) {
            return Some(None);
        }
        let outcome = climbed.outcome().cloned();
        ladder = None;
        Some(outcome.map(|outcome| Reply::Layout(Box::new(outcome))))
    })
}

fn fit(base: fit::Base, pace: Pace) -> impl Iterator<Item = Option<Reply>> {
    let mut search = FitSearch::new(base, fit::LIMIT);
    let (begun, mut done, mut told) = ((pace.now)(), false, false);
    std::iter::from_fn(move || {
        if done {
            return None;
        }
        done = pace.slice(|| search.step(UNITS));
        if done {
            return Some(Some(Reply::Fit(Some(search.suggestions()))));
        }
        let tells = !told && (pace.now)() - begun > SILENT_MS;
        told |= tells;
        Some(tells.then_some(Reply::Fit(None)))
    })
}

/// Work that replies with what it has every 100 ms and at the end; at once where it cannot begin.
fn streamed<T>(
    pace: Pace,
    begin: impl FnOnce() -> Option<T>,
    step: impl Fn(&mut T) -> bool,
    reply: impl Fn(Option<&T>, bool) -> Reply,
) -> impl Iterator<Item = Option<Reply>> {
    let (mut begin, mut work, mut done) = (Some(begin), None, false);
    let mut replied = (pace.now)();
    std::iter::from_fn(move || {
        if done {
            return None;
        }
        if let Some(begin) = begin.take() {
            work = begin();
        }
        let Some(work) = &mut work else {
            done = true;
            return Some(Some(reply(None, true)));
        };
        done = pace.slice(|| step(work));
        if !done && (pace.now)() - replied < REPLY_MS {
            return Some(None);
        }
        replied = (pace.now)();
        Some(Some(reply(Some(work), done)))
    })
}

/// A job or a reply as bytes. Both ends are the same build, so the form has no version; it is never stored.
/// Bytes of postcard, not values of serde-wasm-bindgen: a module with this alone grows by 15 kB compressed and not 38,
/// and to write, clone and read the largest reply of a plan takes 1.9 ms and not 3.4, a timeline of 8,192 times 0.1 and
/// not 0.9 (Node).
pub fn to_bytes(message: &impl Serialize) -> Vec<u8> {
    // Nothing in a job or reply fails to serialise; an empty message is one that `from_bytes` refuses.
    postcard::to_allocvec(message).unwrap_or_default()
}

/// The job or reply of [`to_bytes`]; none where the bytes are something else.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}

#[cfg(test)]
mod tests;
