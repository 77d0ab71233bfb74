//! Figures of the whole run, and what refuses or doubts them.

use super::calendar::{Calendar, Loss};
use super::effective::{Rhythm, flat_range};
use super::energy::energy;
use super::formulas;
use super::setting::Setting;
use super::spares::spares;
use super::spread::{CalendarSpread, Doubt, draws, spread};
use crate::issue::Issue;
use crate::maths::{exp, ln};
use crate::message::Message;
use crate::report::Evaluation;
use crate::run::Failures;
use crate::t;
use crate::units::{Seconds, show_seconds};
use serde::{Deserialize, Serialize};

/// Seconds of a day.
pub(super) const DAY: f64 = 86_400.0;

/// Inputs that are known up to a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RangeFrom {
    Failures,
    Operation,
    Step,
}

/// Range of a run's calendar and energy: it holds four of five outcomes. Thousands of draws, so apart from the means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CalendarRange {
    /// One run in ten is shorter.
    pub low_days: f64,
    /// One run in ten is longer.
    pub high_days: f64,
    /// One run in ten trains for a smaller share of its calendar; the step's own range is no part of it.
    pub low_productive: f64,
    /// One run in ten trains for a larger share.
    pub high_productive: f64,
    /// Input that widens the range of the days most; none without a range.
    pub range_from: Option<RangeFrom>,
    /// Energy of the site at its ends, kilowatt hours.
    pub low_energy_kwh: f64,
    /// The higher end.
    pub high_energy_kwh: f64,
}

/// Time and cost of a run from its first step to its last token; means where nothing else is said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WholeRun {
    pub days: f64,
    /// Its range, once it was drawn.
    #[serde(flatten)]
    pub range: Option<CalendarRange>,
    /// GPU-hours, spares included.
    pub gpu_hours: f64,
    /// Cost of them in the currency of the price, where there is a price.
    pub cost: Option<f64>,
    /// Currency of the cost.
    pub currency: String,
    /// Energy of the site, kilowatt hours.
    pub energy_kwh: f64,
    /// Tonnes of CO₂ equivalent, where the grid's factor is given.
    pub co2e_t: Option<f64>,
    /// Power of the job's nodes during a step, watts.
    pub power_w: f64,
    pub interruptions: f64,
    /// Mean time between two, where something fails: of running time as the user gives it, of the calendar by a rate.
    pub mtti_s: Option<Seconds>,
    /// Share of the calendar that trains.
    pub productive: f64,
    /// Model FLOP/s over the peak, over the calendar.
    pub calendar_mfu: f64,
    pub steps: f64,
    /// Time of their training, without stragglers.
    pub training_s: Seconds,
    /// Time by which the calendar is longer than the training; with it they sum to the days.
    pub losses: Vec<Loss>,
    /// Training between two saves; none where nothing is saved.
    pub checkpoint_s: Option<Seconds>,
    /// Interval that loses least.
    pub best_checkpoint_s: Option<Seconds>,
    /// Intervals that lose less than half a percent more.
    pub checkpoint_range_s: Option<[Seconds; 2]>,
    pub checkpoint_bytes: f64,
    /// Time that a save blocks.
    pub save_s: Seconds,
    /// Spare nodes of eight GPUs.
    pub spares: u64,
    pub tokens: f64,
}

/// The whole run of an evaluated Run with its setting, and what is doubtful.
///
/// # Errors
/// No token budget, or a run that does not finish.
pub fn whole_run(evaluation: &Evaluation) -> Result<(WholeRun, Vec<Issue>), Vec<Issue>> {
    let Some(tokens) = evaluation.scenario.run.tokens_total else {
        let message = t!("the whole run needs a number of tokens to train on: 15e12 for 15 T");
        return Err(vec![Issue::error("tokens_total", message)]);
    };
    let setting = setting(evaluation, tokens)?;
    let range = range(evaluation, &setting);
    let mut notes = notes(evaluation, &setting);
    notes.extend(class_alone(evaluation, &range));
    Ok((WholeRun { range: Some(range), ..figures(evaluation, &setting) }, notes))
}

/// The setting of `tokens` tokens of an evaluated Run.
///
/// # Errors
/// A run that does not finish, or one of reinforcement learning, whose steps generate as well.
pub fn setting(evaluation: &Evaluation, tokens: f64) -> Result<Setting, Vec<Issue>> {
    if evaluation.scenario.run.rl.algorithm.is_some() {
        let message = t!(
            "the whole run is of training steps on tokens: steps of reinforcement learning generate as well, and their \
                days and price stand on Run"
        );
        return Err(vec![Issue::error("rl.algorithm", message)]);
    }
    let setting = Setting::new(evaluation, tokens).map_err(|issue| vec![issue])?;
    let refusals = refusals(evaluation, &setting);
    if refusals.is_empty() { Ok(setting) } else { Err(refusals) }
}

pub fn range(evaluation: &Evaluation, setting: &Setting) -> CalendarRange {
    let calendar = Calendar::new(setting);
    let total = calendar.total();
    let days = |seconds: Seconds| (seconds + setting.startup).0 / DAY;
    let draws = draws();
    let drawn = |doubt: Doubt| spread(setting.rhythm, setting.work(), doubt, &draws);
    let Doubt { rate, restart, step } = setting.doubt;
    let (all, steady) = (drawn(setting.doubt), drawn(Doubt { rate, restart, step: 0.0 }));
    let without = [
        (RangeFrom::Failures, drawn(Doubt { rate: 0.0, restart, step })),
        (RangeFrom::Operation, drawn(Doubt { rate, restart: 0.0, step })),
        (RangeFrom::Step, steady),
    ];
    let (low_days, high_days) = (days(all.low), days(all.high));
    let productive = |calendar: Seconds| setting.steps.time / (calendar + setting.startup);
    let energy = energy(evaluation, setting, &calendar);
    let of_days = |days: f64| ln((days * DAY / total.0).max(f64::MIN_POSITIVE));
    let width = |days: f64| exp((of_days(days).powi(2) + ln(1.0 + energy.range).powi(2)).sqrt());
    CalendarRange {
        low_days,
        high_days,
        low_productive: productive(steady.high),
        high_productive: productive(steady.low),
        range_from: widest(all, without),
        low_energy_kwh: energy.kwh / width(low_days),
        high_energy_kwh: energy.kwh * width(high_days),
    }
}

/// The figures of a setting, without their range.
pub fn figures(evaluation: &Evaluation, setting: &Setting) -> WholeRun {
    let calendar = Calendar::new(setting);
    let total = calendar.total();
    let energy = energy(evaluation, setting, &calendar);
    let spares = setting.spare_quantile.map_or(0, |share| spares(setting.under_repair, share));
    let run = &evaluation.scenario.run;
    let gpu_hours = formulas::gpu_hours(setting.gpus as f64, spares as f64, total.0);
    let saved = Some(setting.rhythm.every).filter(|every| every.0.is_finite());
    WholeRun {
        days: total.0 / DAY,
        range: None,
        gpu_hours,
        cost: setting.price.map(|price| price * gpu_hours),
        currency: run.length.currency.clone().unwrap_or_else(|| "$".to_owned()),
        energy_kwh: energy.kwh,
        co2e_t: energy.co2e_t,
        power_w: energy.training_w,
        interruptions: calendar.interruptions,
        mtti_s: Some(setting.rhythm.mtti).filter(|mtti| mtti.0.is_finite()),
        productive: setting.steps.time / total,
        calendar_mfu: evaluation.report.step.mfu * (setting.steps.time / total),
        steps: setting.steps.count,
        training_s: setting.steps.time,
        losses: calendar.losses(),
        checkpoint_s: saved,
        best_checkpoint_s: saved.map(|_| setting.best_interval),
        checkpoint_range_s: saved.and_then(|_| flat_range(setting.rhythm, setting.best_interval)),
        checkpoint_bytes: setting.checkpoint.0,
        save_s: setting.rhythm.save,
        spares,
        tokens: setting.tokens,
    }
}

/// The input without whose uncertainty the range is narrowest.
fn widest(range: CalendarSpread, without: [(RangeFrom, CalendarSpread); 3]) -> Option<RangeFrom> {
    let width = |range: CalendarSpread| (range.high - range.low).0;
    let narrowest = without.into_iter().min_by(|a, b| width(a.1).total_cmp(&width(b.1)));
    narrowest.filter(|_| width(range) > 0.0).map(|(name, _)| name)
}

/// Field at which to say that failures keep a run from its end: the time between failures or their rate where one is
/// given, else the first given field of `others`.
fn failure_field(evaluation: &Evaluation, others: &[(bool, &'static str)]) -> &'static str {
    let length = &evaluation.scenario.run.length;
    let given = [(length.mtti_h.is_some(), "mtti_h"), (length.failures.is_some(), "failures")];
    given.iter().chain(others).find(|(is_given, _)| *is_given).map_or("failures", |(_, field)| field)
}

fn refusals(evaluation: &Evaluation, setting: &Setting) -> Vec<Issue> {
    let length = &evaluation.scenario.run.length;
    let mut issues = Vec::new();
    let rhythm = setting.rhythm;
    if let Some(every) = length.checkpoint_every_s.map(Seconds)
        && rhythm.save >= every
    {
        let (save, every) = (show_seconds(rhythm.save), show_seconds(every));
        let message =
            t!("a save blocks for {save}, longer than the {every} of training between two saves", save, every);
        issues.push(Issue::error("checkpoint_every_s", message));
    } else if rhythm.never_restarts() {
        let field = failure_field(evaluation, &[(length.restart_s.is_some(), "restart_s")]);
        let (restart, mtti) = (show_seconds(rhythm.restart), show_seconds(rhythm.mtti));
        let message = t!(
            "this run does not finish: a restart takes {restart}, longer than the {mtti} to the next failure",
            restart,
            mtti
        );
        issues.push(Issue::error(field, message));
    } else if rhythm.never_finishes() {
        let others = [
            (length.checkpoint_every_s.is_some(), "checkpoint_every_s"),
            (length.storage_gb_per_s.is_some(), "storage_gb_per_s"),
            (length.checkpoint_bytes.is_some(), "checkpoint_bytes"),
        ];
        issues.push(Issue::error(failure_field(evaluation, &others), unfinished(rhythm)));
    }
    issues
}

fn unfinished(rhythm: Rhythm) -> Message {
    let (segment, mtti) = (show_seconds(rhythm.every + rhythm.save), show_seconds(rhythm.mtti));
    t!(
        "this run does not finish: {segment} pass from one durable save to the next, and the mean time to the next \
            failure is {mtti}",
        segment,
        mtti
    )
}

/// Doubts about settings that are taken as they are, each at its field.
pub fn notes(evaluation: &Evaluation, setting: &Setting) -> Vec<Issue> {
    let length = &evaluation.scenario.run.length;
    let rhythm = setting.rhythm;
    let mut notes = Vec::new();
    let mut warn = |field: &'static str, message: Message| notes.push(Issue::warning(field, message));
    if rhythm.restart > rhythm.mtti {
        let (restart, mtti) = (show_seconds(rhythm.restart), show_seconds(rhythm.mtti));
        let message = t!("a restart takes {restart}, longer than the {mtti} to the next failure", restart, mtti);
        warn(failure_field(evaluation, &[(length.restart_s.is_some(), "restart_s")]), message);
    }
    if let Some(every) = length.checkpoint_every_s.map(Seconds)
        && every < rhythm.lag
    {
        let lag = show_seconds(rhythm.lag);
        warn("checkpoint_every_s", t!("storage takes {lag} for a checkpoint: saves are that far apart", lag));
    }
    if length.mtti_h.is_some_and(|hours| hours < 0.1) {
        warn("mtti_h", t!("less than six minutes between interruptions: is it in hours?"));
    }
    if length.pue.is_some_and(|pue| pue > 3.0) {
        warn("pue", t!("sites use 1.05 to 2 times the power of their nodes"));
    }
    if length.grid_kg_per_kwh.is_some_and(|factor| factor > 2.0) {
        warn("grid_kg_per_kwh", t!("no grid emits more than 2 kg a kWh: is it in grams?"));
    }
    notes
}

/// A notice where the class of nodes widens the range most.
fn class_alone(evaluation: &Evaluation, range: &CalendarRange) -> Option<Issue> {
    let length = &evaluation.scenario.run.length;
    let is_class = length.mtti_h.is_none() && !matches!(length.failures, Some(Failures::Rate(_)));
    (is_class && range.range_from == Some(RangeFrom::Failures)).then(|| {
        let message = t!("the class of nodes widens this range most: give hours between interruptions");
        Issue::notice("failures", message)
    })
}
