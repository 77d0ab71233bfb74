//! The inverse questions: what trains in so many days, and how many GPUs a date needs.

use super::failures::nodes;
use super::setting::Setting;
use super::spread::{Draw, draws, spread};
use super::whole::{DAY, setting};
use crate::issue::Issue;
use crate::memory::Verdict;
use crate::report::{Evaluation, evaluate};
use crate::run::{Run, RunLength, divisors};
use crate::t;
use crate::units::{Bytes, Seconds, show_seconds};
use serde::{Deserialize, Serialize};

/// GPU counts that are tried at most.
const MOST_COUNTS: usize = 400;

/// Days that a question may give at most: a century.
pub const MOST_DAYS: f64 = 36_500.0;

/// Tokens that an evaluated Run trains on within `days`, in the mean: the run of as many ends then.
///
/// # Errors
/// Days in which no run ends, or a run that does not finish.
pub fn tokens_in(evaluation: &Evaluation, days: f64) -> Result<f64, Vec<Issue>> {
    let scenario = &evaluation.scenario;
    let phases = scenario.run.length.context_phases.iter().flat_map(|phases| &phases.0);
    let one = scenario.tokens_per_step();
    let least = phases.map(|phase| phase.tokens).sum::<f64>().max(one);
    let first = setting(evaluation, least)?;
    let given = Seconds(days * DAY);
    let over = |setting: &Setting| (setting.startup + setting.rhythm.calendar(setting.work()) - given).0;
    let (mut low, mut below) = (least, over(&first));
    if below > 0.0 {
        let shortest = show_seconds(given + Seconds(below));
        return Err(vec![Issue::error("days", t!("the shortest run takes {shortest}", shortest))]);
    }
    // A step of the full batch trains most tokens a second: no run within the days has more.
    let fastest = first.rhythm.calendar(first.step * first.straggler);
    let mut high = least + one * (given / fastest);
    let mut above = over(&Setting::new(evaluation, high).map_err(|issue| vec![issue])?);
    // False position, where an end that stays twice counts half (Dowell and Jarratt 1971): time is linear in tokens but
    // for ramp and evaluations.
    let mut last = None;
    for _ in 0..60 {
        if above <= 0.0 {
            return Ok(high);
        }
        if high - low <= 1e-12 * high {
            break;
        }
        let middle = (high - (high - low) * above / (above - below)).clamp(low, high);
        let at = over(&Setting::new(evaluation, middle).map_err(|issue| vec![issue])?);
        let is_over = at > 0.0;
        let weight = if last.replace(is_over) == Some(is_over) { 0.5 } else { 1.0 };
        if is_over {
            (high, above, below) = (middle, at, below * weight);
        } else {
            (low, below, above) = (middle, at, above * weight);
        }
        if at.abs() <= 1e-9 * given.0 {
            return Ok(middle);
        }
    }
    Ok(low)
}

/// The smallest number of GPUs that meets a date.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deadline {
    /// GPUs; none where no count meets the date.
    pub gpus: Option<u64>,
    /// Days in the mean with them, or of the fastest count where none does.
    pub days: f64,
    /// Nine runs in ten are shorter.
    pub high_days: f64,
    /// The count of the earliest end.
    pub fastest_gpus: u64,
    /// Counts that were tried: `gpus`, mean days, days that nine in ten need.
    pub counts: Vec<(u64, f64, f64)>,
    /// Memory that is missing on the fullest GPU, by count; 0 where the layout is not out of memory.
    pub missing_bytes: Vec<Bytes>,
}

/// The smallest number of GPUs with which nine of ten runs of `tokens` end within `days`: counts that the layout
/// admits, each evaluated, since steps jump with divisibility and `n × share(n)` turns down at last. A time between
/// interruptions that was observed goes with the number of nodes, and the factor by which a measured step is longer
/// than its estimate holds for every count. Resumable: a step tries one count.
pub struct Dates {
    run: Run,
    /// Node-hours between interruptions, where the Run says how often its job is interrupted.
    node_hours: Option<f64>,
    /// Measured step over its estimate.
    factor: Option<f64>,
    days: f64,
    left: std::vec::IntoIter<u64>,
    counts: Vec<(u64, f64, f64)>,
    missing: Vec<Bytes>,
    refused: Vec<Issue>,
    draws: Vec<Draw>,
}

impl Dates {
    /// For a Run. Its number of GPUs matters only if it has a measured step or a time between interruptions.
    pub fn new(run: &Run, tokens: f64, days: f64) -> Self {
        let measured = run.measured_step_s.and_then(|_| evaluate(run).ok());
        Self {
            run: Run { tokens_total: Some(tokens), measured_step_s: None, ..run.clone() },
            node_hours: run.length.mtti_h.map(|hours| hours * nodes(run.gpus)),
            factor: measured.and_then(|evaluation| evaluation.report.step.rescaled_by),
            days,
            left: candidates(run).into_iter(),
            counts: Vec::new(),
            missing: Vec::new(),
            refused: Vec::new(),
            draws: draws(),
        }
    }

    /// As [`Dates::new`], of counts that are tried one by one ([`Dates::take`]).
    pub fn of_chosen(run: &Run, tokens: f64, days: f64) -> Self {
        Self { left: Vec::new().into_iter(), ..Self::new(run, tokens, days) }
    }

    /// The Run that is asked about, without what was measured of it.
    pub const fn run(&self) -> &Run {
        &self.run
    }

    /// Tries the next count; true where there is none left.
    pub fn step(&mut self) -> bool {
        let Some(gpus) = self.left.next() else { return true };
        self.take(&Run { gpus, ..self.run.clone() });
        false
    }

    /// Tries `run`, the one that is asked about on another number of GPUs: the days within which nine of ten end; none
    /// where it cannot work.
    pub fn take(&mut self, run: &Run) -> Option<f64> {
        match self.days_of(run) {
            Ok((mean, high, missing)) => {
                let at = self.counts.partition_point(|(gpus, ..)| *gpus < run.gpus);
                self.counts.insert(at, (run.gpus, mean, high));
                self.missing.insert(at, missing);
                Some(high)
            }
            Err(issues) => {
                self.refused = issues;
                None
            }
        }
    }

    /// Days of `run` in the mean, days within which nine of ten runs end, and memory that is missing.
    fn days_of(&self, run: &Run) -> Result<(f64, f64, Bytes), Vec<Issue>> {
        let mtti_h = self.node_hours.map(|hours| hours / nodes(run.gpus));
        let length = RunLength { mtti_h, ..self.run.length.clone() };
        let run = Run { length, ..run.clone() };
        let mut evaluation = evaluate(&run)?;
        if let Some(factor) = self.factor {
            let measured_step_s = Some(evaluation.report.step.time_s.0 * factor);
            evaluation = evaluate(&Run { measured_step_s, ..run })?;
        }
        let setting = setting(&evaluation, self.run.tokens_total.unwrap_or(0.0))?;
        let work = setting.work();
        let day = |seconds: Seconds| (seconds + setting.startup).0 / DAY;
        let high = spread(setting.rhythm, work, setting.doubt, &self.draws).high;
        let peak = evaluation.report.memory.peak();
        let missing = if peak.verdict == Verdict::Oom { peak.missing() } else { Bytes::ZERO };
        Ok((day(setting.rhythm.calendar(work)), day(high), missing))
    }

    /// The answer so far.
    ///
    /// # Errors
    /// No count that was tried can work.
    pub fn deadline(&self) -> Result<Deadline, Vec<Issue>> {
        let counts = &self.counts;
        // What is out of memory ends on no day.
        let runs: Vec<_> = counts.iter().zip(&self.missing).filter(|(_, missing)| missing.0 <= 0.0).collect();
        let able = || runs.iter().map(|(count, _)| **count);
        let earlier = |a: &(u64, f64, f64), b: &(u64, f64, f64)| a.2.total_cmp(&b.2);
        let earliest = able().min_by(earlier).or_else(|| counts.iter().copied().min_by(earlier));
        let earliest = earliest.ok_or_else(|| self.refused.clone())?;
        let least = able().find(|(_, _, high)| *high <= self.days);
        let (_, mean, high) = least.unwrap_or(earliest);
        Ok(Deadline {
            gpus: least.map(|found| found.0),
            days: mean,
            high_days: high,
            fastest_gpus: earliest.0,
            counts: counts.clone(),
            missing_bytes: self.missing.clone(),
        })
    }
}

/// The answer of [`Dates`] once every count is tried.
///
/// # Errors
/// A Run that cannot work with any count.
pub fn deadline(run: &Run, tokens: f64, days: f64) -> Result<Deadline, Vec<Issue>> {
    let mut dates = Dates::new(run, tokens, days);
    while !dates.step() {}
    dates.deadline()
}

/// GPU counts of the layout, smallest first: as many data-parallel ranks as divide the batch.
fn candidates(run: &Run) -> Vec<u64> {
    let unit = run.tp.saturating_mul(run.pp).saturating_mul(run.cp).max(1);
    let sequences = run.global_batch / run.micro_batch.max(1);
    divisors(sequences).filter_map(|dp| unit.checked_mul(dp)).take(MOST_COUNTS).collect()
}
