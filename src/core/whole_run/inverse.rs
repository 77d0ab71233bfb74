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
use serde::Serialize;

/// GPU counts that are tried at most.
const MOST_COUNTS: usize = 400;

/// Tokens that an evaluated Run trains on within `days`, in the mean.
///
/// # Errors
/// Days that the start-up alone takes, or a run that does not finish.
pub fn tokens_in(evaluation: &Evaluation, days: f64) -> Result<f64, Vec<Issue>> {
    // The effective share does not depend on the tokens, but for steps that are counted in whole numbers.
    let per_step = evaluation.scenario.tokens_per_step();
    let setting = Setting::new(evaluation, per_step * 1e6).map_err(|issue| vec![issue])?;
    let refused = refusals(evaluation, &setting);
    if !refused.is_empty() {
        return Err(refused);
    }
    let left = days * DAY - setting.startup.0;
    if left <= 0.0 {
        return Err(vec![Issue::error("days", t!("the start-up alone takes longer"))]);
    }
    let work = setting.work();
    let calendar = setting.rhythm.calendar(work);
    Ok(setting.tokens * (Seconds(left) / calendar))
}

/// The smallest number of GPUs that meets a date.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
/// steps jump with divisibility and `n × share(n)` turns down at last.
///
/// # Errors
/// A Run that cannot work with any count.
pub fn deadline(run: &Run, tokens: f64, days: f64) -> Result<Deadline, Vec<Issue>> {
    let mut counts = Vec::new();
    let mut refused = Vec::new();
    let draws = draws();
    for gpus in candidates(run) {
        let tried = Run { gpus, tokens_total: Some(tokens), ..run.clone() };
        match evaluate(&tried).and_then(|evaluation| days_of(&evaluation, tokens, &draws)) {
            Ok((mean, high)) => counts.push((gpus, mean, high)),
            Err(issues) => refused = issues,
        }
    }
    let earliest = counts.iter().min_by(|a, b| a.2.total_cmp(&b.2)).copied();
    let Some(earliest) = earliest else {
        return Err(refused);
    };
    let least = counts.iter().find(|(_, _, high)| *high <= days).copied();
    let (_, mean, high) = least.unwrap_or(earliest);
    Ok(Deadline { gpus: least.map(|found| found.0), days: mean, high_days: high, fastest_gpus: earliest.0, counts })
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
