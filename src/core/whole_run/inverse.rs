//! The inverse questions: what trains in so many days, and how many GPUs a date needs.

use super::setting::Setting;
use super::spread::{Draw, draws, spread};
use super::whole::{DAY, refusals};
use crate::issue::Issue;
use crate::report::{Evaluation, evaluate};
use crate::run::Run;
use crate::sort::sort_by;
use crate::t;
use crate::units::Seconds;
use serde::{Deserialize, Serialize};

/// GPU counts that are tried at most.
const MOST_COUNTS: usize = 400;

/// Tokens that an evaluated Run trains on within `days`, in the mean.
///
/// # Errors
/// Days that the start-up alone takes, or a run that does not finish.
pub fn tokens_in(evaluation: &Evaluation, days: f64) -> Result<f64, Vec<Issue>> {
    let mut tokens = evaluation.scenario.tokens_per_step() * 1e6;
    // Time goes with the tokens but for a batch ramp, context phases and rollbacks: from the first estimate a second.
    for _ in 0..2 {
        let setting = Setting::new(evaluation, tokens).map_err(|issue| vec![issue])?;
        let refused = refusals(evaluation, &setting);
        if !refused.is_empty() {
            return Err(refused);
        }
        let left = days * DAY - setting.startup.0;
        if left <= 0.0 {
            return Err(vec![Issue::error("days", t!("the start-up alone takes longer"))]);
        }
        tokens *= Seconds(left) / setting.rhythm.calendar(setting.work());
    }
    Ok(tokens)
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
}

/// The smallest number of GPUs with which nine of ten runs of `tokens` end within `days`: counts that the layout admits, each evaluated, since
/// steps jump with divisibility and `n × share(n)` turns down at last. Resumable: a step tries one count.
pub struct Dates {
    run: Run,
    days: f64,
    left: std::vec::IntoIter<u64>,
    counts: Vec<(u64, f64, f64)>,
    refused: Vec<Issue>,
    draws: Vec<Draw>,
}

impl Dates {
    /// Of a Run, whose number of GPUs does not matter.
    #[must_use]
    pub fn new(run: &Run, tokens: f64, days: f64) -> Self {
        Self {
            run: Run { tokens_total: Some(tokens), ..run.clone() },
            days,
            left: candidates(run).into_iter(),
            counts: Vec::new(),
            refused: Vec::new(),
            draws: draws(),
        }
    }

    /// Tries the next count; true where there is none left.
    pub fn step(&mut self) -> bool {
        let Some(gpus) = self.left.next() else { return true };
        let tried = Run { gpus, ..self.run.clone() };
        let tokens = tried.tokens_total.unwrap_or(0.0);
        match evaluate(&tried).and_then(|evaluation| days_of(&evaluation, tokens, &self.draws)) {
            Ok((mean, high)) => self.counts.push((gpus, mean, high)),
            Err(issues) => self.refused = issues,
        }
        false
    }

    /// The answer so far.
    ///
    /// # Errors
    /// No count that was tried can work.
    pub fn deadline(&self) -> Result<Deadline, Vec<Issue>> {
        let counts = &self.counts;
        let earliest = counts.iter().min_by(|a, b| a.2.total_cmp(&b.2)).copied();
        let earliest = earliest.ok_or_else(|| self.refused.clone())?;
        let least = counts.iter().find(|(_, _, high)| *high <= self.days).copied();
        let (_, mean, high) = least.unwrap_or(earliest);
        Ok(Deadline {
            gpus: least.map(|found| found.0),
            days: mean,
            high_days: high,
            fastest_gpus: earliest.0,
            counts: counts.clone(),
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

fn days_of(evaluation: &Evaluation, tokens: f64, draws: &[Draw]) -> Result<(f64, f64), Vec<Issue>> {
    let setting = Setting::new(evaluation, tokens).map_err(|issue| vec![issue])?;
    let refused = refusals(evaluation, &setting);
    if !refused.is_empty() {
        return Err(refused);
    }
    let work = setting.work();
    let day = |seconds: Seconds| (seconds + setting.startup).0 / DAY;
    Ok((day(setting.rhythm.calendar(work)), day(spread(setting.rhythm, work, setting.doubt, draws).high)))
}

/// GPU counts of the layout, smallest first: as many data-parallel ranks as divide the batch.
fn candidates(run: &Run) -> Vec<u64> {
    let unit = run.tp.saturating_mul(run.pp).saturating_mul(run.cp).max(1);
    let sequences = run.global_batch / run.micro_batch.max(1);
    let root = (1..=sequences.isqrt().min(1 << 20)).filter(|dp| sequences.is_multiple_of(*dp));
    let mut ranks: Vec<u64> = root.flat_map(|dp| [dp, sequences / dp]).collect();
    sort_by(&mut ranks, u64::cmp);
    ranks.dedup();
    ranks.into_iter().filter_map(|dp| unit.checked_mul(dp)).take(MOST_COUNTS).collect()
}
