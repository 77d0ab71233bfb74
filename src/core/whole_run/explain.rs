//! Formulas of the whole run's figures, with this run's values and their sources.

use super::calendar::{Calendar, LossKind};
use super::energy::activity;
use super::power::Activity;
use super::setting::Setting;
use super::whole::WholeRun;
use crate::explain::{Provenance, Term, Unit};
use crate::report::Evaluation;
use crate::run::{FailureClass, Failures};
use crate::source::{DALY_2006, KOKOLIS_2025, LLAMA_3, MEGASCALE, MLPERF, PALM};
use crate::t;
use crate::units::Seconds;

/// Figures of the whole run that have a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WholeRunFigure {
    Days,
    /// Share of the calendar that trains.
    Productive,
    /// A part of the calendar that does not train.
    Loss(LossKind),
    Interruptions,
    /// Training between two saves.
    Checkpoint,
    Spares,
    GpuHours,
    Cost,
    Energy,
    Co2e,
}

impl WholeRunFigure {
    /// As an attribute of the page writes it: `whole:days`.
    pub fn id(self) -> &'static str {
        match self {
            Self::Days => "whole:days",
            Self::Productive => "whole:productive",
            Self::Loss(LossKind::Startup) => "whole:startup",
            Self::Loss(LossKind::Evaluation) => "whole:evaluation",
            Self::Loss(LossKind::Rollbacks) => "whole:rollbacks",
            Self::Loss(LossKind::Checkpoints) => "whole:checkpoints",
            Self::Loss(LossKind::RepeatedWork) => "whole:repeated",
            Self::Loss(LossKind::Restarts) => "whole:restarts",
            Self::Loss(LossKind::Stragglers) => "whole:stragglers",
            Self::Interruptions => "whole:interruptions",
            Self::Checkpoint => "whole:checkpoint",
            Self::Spares => "whole:spares",
            Self::GpuHours => "whole:gpu-hours",
            Self::Cost => "whole:cost",
            Self::Energy => "whole:energy",
            Self::Co2e => "whole:co2e",
        }
    }
}

/// The formulas of the figures: cost and emissions where price and grid are given, the interval where something is
/// saved.
pub fn explain(evaluation: &Evaluation, setting: &Setting, whole: &WholeRun) -> Vec<(WholeRunFigure, Term)> {
    let calendar = Calendar::new(setting);
    let book = book(evaluation, setting, &calendar);
    let seconds = |symbol, name, value: Seconds| Term::given(symbol, name, value.0, Unit::Seconds);
    let losses = losses(setting, &calendar, &book);
    let total = seconds("T", t!("calendar"), calendar.total());
    let mut parts = vec![seconds("S", t!("steps"), calendar.training)];
    parts.extend(losses.iter().map(|(_, loss)| Term { symbol: "x", ..loss.clone() }));
    let total = total.by("S + Σ x", parts);
    let gpu_hours = Term::given("H", t!("GPU-hours"), whole.gpu_hours, Unit::Count).by(
        "(g + 8 s) T/3600",
        vec![
            Term::count("g", t!("GPUs"), setting.gpus),
            Term::count("s", t!("spare nodes"), whole.spares),
            total.clone(),
        ],
    );
    let share = Term::given("η", t!("productive share"), whole.productive, Unit::Share)
        .by("S/T", vec![seconds("S", t!("steps"), calendar.training), total.clone()])
        .from(&KOKOLIS_2025, "effective training time ratio");
    let mut figures = vec![(WholeRunFigure::Days, total.clone()), (WholeRunFigure::Productive, share)];
    figures.extend(losses);
    figures.push((WholeRunFigure::Interruptions, interruptions(setting, &calendar, &book)));
    if whole.checkpoint_s.is_some() {
        figures.push((WholeRunFigure::Checkpoint, interval(evaluation, setting)));
    }
    figures.extend(spares(setting, whole).map(|count| (WholeRunFigure::Spares, count)));
    if let (Some(cost), Some(price)) = (whole.cost, setting.price) {
        let price = Term::given("c", t!("price of a GPU-hour"), price, Unit::Ratio);
        figures.push((
            WholeRunFigure::Cost,
            Term::given("C", t!("cost"), cost, Unit::Ratio).by("c H", vec![price, gpu_hours.clone()]),
        ));
    }
    figures.push((WholeRunFigure::GpuHours, gpu_hours));
    let energy = energy(evaluation, setting, &calendar, whole);
    if let (Some(co2e), Some(grid)) = (whole.co2e_t, setting.grid) {
        let grid = Term::given("f", t!("kg of CO₂e a kWh"), grid, Unit::Ratio);
        let term = Term::given("G", t!("tonnes of CO₂e, location-based"), co2e, Unit::Ratio);
        figures.push((WholeRunFigure::Co2e, term.by("f K/1000", vec![grid, energy.clone()])));
    }
    figures.push((WholeRunFigure::Energy, energy));
    figures
}

fn book(evaluation: &Evaluation, setting: &Setting, calendar: &Calendar) -> Vec<Term> {
    let rhythm = setting.rhythm;
    let seconds = |symbol, name, value: Seconds| Term::given(symbol, name, value.0, Unit::Seconds);
    vec![
        seconds("S", t!("steps"), calendar.training),
        Term::given("q", t!("stragglers: time of a step over that without"), setting.straggler, Unit::Ratio),
        seconds("W", t!("steps with stragglers, evaluations and rollbacks"), setting.work()),
        time_to_interrupt(evaluation, setting),
        seconds("R", t!("downtime of an interruption"), rhythm.restart),
        seconds("L", t!("time until a save is durable"), rhythm.lag),
        seconds("δ", t!("time that a save blocks"), rhythm.save),
        seconds("τ", t!("training between two saves"), rhythm.every),
        Term::given("e", t!("base of the exponential"), std::f64::consts::E, Unit::Ratio),
        seconds("E", t!("one evaluation"), setting.evaluation),
        Term::given("N", t!("evaluations"), setting.evaluations, Unit::Count),
        Term::given("j", t!("interruptions of the running job"), calendar.broken, Unit::Ratio),
        seconds("C", t!("calendar from the first step"), calendar.total() - calendar.startup),
        seconds("t", t!("a step"), setting.step),
        Term::given("b", t!("rollbacks"), setting.rollbacks, Unit::Count),
        Term::given("a", t!("steps of a rollback"), setting.rollback_steps, Unit::Count),
    ]
}

fn time_to_interrupt(evaluation: &Evaluation, setting: &Setting) -> Term {
    let mtti = |name| Term::given("M", name, setting.rhythm.mtti.0, Unit::Seconds);
    let Some(rate) = setting.rate else {
        return mtti(t!("running time between interruptions"));
    };
    let rate = Term::given("r", t!("interruptions per 1,000 node-days"), rate.value, Unit::Ratio);
    let rate = match evaluation.scenario.run.length.failures.unwrap_or(Failures::Class(FailureClass::Unknown)) {
        Failures::Class(FailureClass::Vetted) => rate.from(&LLAMA_3, "table 5, with RSC-1, RSC-2 and SKT's B200 nodes"),
        Failures::Class(FailureClass::Shared) => rate.from(&KOKOLIS_2025, "jobs of 1,024 GPUs, with OPT-175B"),
        Failures::Class(FailureClass::Unknown) => rate.note(t!("geometric mean of vetted and shared nodes")),
        Failures::Rate(_) => rate,
    };
    let nodes = Term::given("n", t!("nodes of eight GPUs"), setting.nodes, Unit::Count);
    mtti(t!("time between interruptions")).by("86400000/(n r)", vec![nodes, rate])
}

fn losses(setting: &Setting, calendar: &Calendar, book: &[Term]) -> Vec<(WholeRunFigure, Term)> {
    let seconds = |symbol, name, value: Seconds| Term::given(symbol, name, value.0, Unit::Seconds);
    let saves = setting.rhythm.every.0.is_finite();
    let fails = setting.rhythm.mtti.0.is_finite() && saves;
    let restarts = if setting.rhythm.by_calendar { "M (e^(R/M) - 1) j" } else { "R j" };
    let formula =
        |term: Term, is_there: bool, formula: &'static str| if is_there { term.over(formula, book) } else { term };
    let startup = seconds("A", t!("start-up"), calendar.startup);
    vec![
        (
            WholeRunFigure::Loss(LossKind::Startup),
            startup.marked(Provenance::LookedUp, "").from(&MLPERF, "init_start to init_stop, median by size"),
        ),
        (
            WholeRunFigure::Loss(LossKind::Evaluation),
            seconds("V", t!("evaluations"), calendar.evaluating).over("N E", book),
        ),
        (
            WholeRunFigure::Loss(LossKind::Rollbacks),
            seconds("F", t!("rollbacks"), calendar.rolled_back)
                .over("b a t q", book)
                .from(&PALM, "section 5.1: about 20 loss spikes, each back about 100 steps"),
        ),
        (
            WholeRunFigure::Loss(LossKind::Checkpoints),
            formula(seconds("D", t!("saves"), calendar.saving), saves, "δ W/τ"),
        ),
        (
            WholeRunFigure::Loss(LossKind::RepeatedWork),
            formula(seconds("Y", t!("repeated work"), calendar.lost), fails, "(M + L) j - W (τ + δ)/τ")
                .from(&KOKOLIS_2025, "renewal argument, exact for exponential gaps"),
        ),
        (
            WholeRunFigure::Loss(LossKind::Restarts),
            formula(seconds("Z", t!("restarts"), calendar.downtime), fails, restarts).from(&MEGASCALE, "section 6.3"),
        ),
        (
            WholeRunFigure::Loss(LossKind::Stragglers),
            seconds("X", t!("stragglers"), calendar.stragglers).over("S (q - 1)", book),
        ),
    ]
}

fn interruptions(setting: &Setting, calendar: &Calendar, book: &[Term]) -> Term {
    let term = Term::given("k", t!("interruptions"), calendar.interruptions, Unit::Ratio);
    if calendar.interruptions == 0.0 {
        term
    } else if setting.rhythm.by_calendar {
        term.over("C/M", book).note(t!("rates are counted by the calendar: interruptions strike restarts too"))
    } else {
        term.over("W (e^((τ + δ)/M) - 1)/τ", book)
    }
}

fn interval(evaluation: &Evaluation, setting: &Setting) -> Term {
    let rhythm = setting.rhythm;
    Term::given("τ", t!("training between two saves"), rhythm.every.0, Unit::Seconds)
        .marked(Provenance::LookedUp, "τ = M (1 + W₀(-e^(-1 - δ/M)))")
        .with(vec![
            time_to_interrupt(evaluation, setting),
            Term::given("δ", t!("time that a save blocks"), rhythm.save.0, Unit::Seconds),
        ])
        .from(&DALY_2006, "whose estimate is its third order; Young's √(2 δ M) its first")
        .note(t!("rounded to whole steps, never shorter than a save takes to become durable"))
}

/// None where no spares are given.
fn spares(setting: &Setting, whole: &WholeRun) -> Option<Term> {
    let share = setting.spare_quantile?;
    let mean = Term::given("λ", t!("nodes under repair in the mean"), setting.under_repair, Unit::Ratio);
    let enough = Term::given("p", t!("probability that the spares suffice"), share, Unit::Share);
    let count = Term::count("s", t!("spare nodes"), whole.spares)
        .marked(Provenance::LookedUp, "the least s with P(X ≤ s) ≥ p, X Poisson with mean λ")
        .with(vec![mean, enough]);
    Some(count)
}

fn energy(evaluation: &Evaluation, setting: &Setting, calendar: &Calendar, whole: &WholeRun) -> Term {
    let Activity { busy, waiting } = activity(&evaluation.report.step);
    let idle = calendar.startup + calendar.saving + calendar.downtime;
    let parts = vec![
        Term::given(
            "P",
            t!("rated power of the GPUs, kW"),
            evaluation.scenario.gpu.tdp_w * setting.gpus as f64 / 1000.0,
            Unit::Ratio,
        ),
        Term::given("u", t!("share of a step in kernels"), busy, Unit::Share),
        Term::given("c", t!("share of a step that waits"), waiting, Unit::Share),
        Term::given("h", t!("hours of steps"), (calendar.total() - idle).0 / 3600.0, Unit::Ratio),
        Term::given("i", t!("hours without kernels"), idle.0 / 3600.0, Unit::Ratio),
        Term::given("w", t!("power of the site over that of its nodes"), setting.pue, Unit::Ratio),
    ];
    Term::given("K", t!("energy, kWh"), whole.energy_kwh, Unit::Ratio)
        .by("w P ((1.24 u + 0.68 c) h + 0.38 i)", parts)
        .from(&MLPERF, "power of 15 runs on H100 and B200 nodes")
        .note(t!("another maker's chassis differs by up to 15 %; storage and switches are not counted"))
}
