//! Formulas of the whole run's figures, with this run's values and their sources.

use super::calendar::{Calendar, LossKind};
use super::energy::activity;
use super::formulas;
use super::power::{Activity, power};
use super::setting::Setting;
use super::whole::WholeRun;
use crate::explain::{Provenance, Quantity, Term, Unit, Written, written};
use crate::message::Message;
use crate::report::Evaluation;
use crate::run::{FailureClass, Failures};
use crate::source::{DALY_2006, KOKOLIS_2025, LLAMA_3, MEGASCALE, MLPERF, PALM, YOUNG_1974};
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
    let book = Book::new(evaluation, setting, &calendar);
    let losses = losses(setting, &calendar, &book);
    let total = {
        let losses = losses.iter().map(|(_, loss)| Term { symbol: "x", ..loss.clone() }).collect();
        written(|| {
            (Written::all("x", losses) + Written::part(book.steps.clone())).term("T", t!("calendar"), Unit::Seconds)
        })
    };
    let gpus = Term::count("g", t!("GPUs"), setting.gpus);
    let spare = Term::count("s", t!("spare nodes"), whole.spares);
    let gpu_hours =
        Term::made("H", t!("GPU-hours"), Unit::Count, [gpus, spare, total.clone()], |[gpus, spares, calendar]| {
            formulas::gpu_hours(gpus, spares, calendar)
        });
    let parts = [book.steps.clone(), total.clone()];
    let share = Term::made("η", t!("productive share"), Unit::Share, parts, |[steps, calendar]| steps / calendar)
        .from(&KOKOLIS_2025, "effective training time ratio");
    let mut figures = vec![(WholeRunFigure::Days, total), (WholeRunFigure::Productive, share)];
    figures.extend(losses);
    figures.push((WholeRunFigure::Interruptions, interruptions(setting, &calendar, &book)));
    if whole.checkpoint_s.is_some() {
        figures.push((WholeRunFigure::Checkpoint, interval(setting, &book)));
    }
    figures.extend(spares(setting, whole).map(|count| (WholeRunFigure::Spares, count)));
    if let Some(price) = setting.price {
        let price = Term::given("c", t!("price of a GPU-hour"), price, Unit::Ratio);
        let parts = [price, gpu_hours.clone()];
        let cost = Term::made("C", t!("cost"), Unit::Ratio, parts, |[price, hours]| price * hours);
        figures.push((WholeRunFigure::Cost, cost));
    }
    figures.push((WholeRunFigure::GpuHours, gpu_hours));
    let energy = energy(evaluation, setting, &calendar);
    if let Some(grid) = setting.grid {
        let grid = Term::given("f", t!("kg of CO₂e a kWh"), grid, Unit::Ratio);
        let name = t!("tonnes of CO₂e, location-based");
        let parts = [energy.clone(), grid];
        let emitted = Term::made("G", name, Unit::Ratio, parts, |[energy, grid]| formulas::emitted(energy, grid));
        figures.push((WholeRunFigure::Co2e, emitted));
    }
    figures.push((WholeRunFigure::Energy, energy));
    figures
}

/// A term in seconds.
fn seconds(symbol: &'static str, name: Message, value: Seconds) -> Term {
    Term::given(symbol, name, value.0, Unit::Seconds)
}

/// Terms that several formulas have.
struct Book {
    steps: Term,
    straggler: Term,
    /// Steps with stragglers, evaluations and rollbacks.
    work: Term,
    mtti: Term,
    /// Time that a save blocks.
    save: Term,
    /// Training between two saves.
    every: Term,
    /// Downtime of an interruption of the running job.
    downtime: Term,
    /// Interruptions of the running job.
    broken: Term,
    /// Calendar from the first step.
    calendar: Term,
}

impl Book {
    fn new(evaluation: &Evaluation, setting: &Setting, calendar: &Calendar) -> Self {
        let rhythm = setting.rhythm;
        let work = seconds("W", t!("steps with stragglers, evaluations and rollbacks"), setting.work());
        let mtti = time_to_interrupt(evaluation, setting);
        let lag = seconds("L", t!("time until a save is durable"), rhythm.lag);
        let save = seconds("δ", t!("time that a save blocks"), rhythm.save);
        let every = seconds("τ", t!("training between two saves"), rhythm.every);
        let restart = seconds("R", t!("downtime of an interruption"), rhythm.restart);
        let name = t!("downtime of an interruption, with restarts that begin anew");
        let downtime = if rhythm.by_calendar && rhythm.mtti.0.is_finite() {
            Term::made("B", name, Unit::Seconds, [mtti.clone(), restart], |[mtti, restart]| {
                formulas::begun_anew(mtti, restart / mtti)
            })
        } else {
            restart
        };
        let parts = [work.clone(), every.clone(), save.clone(), mtti.clone()];
        let name = t!("interruptions of the running job");
        let broken = if calendar.broken > 0.0 {
            Term::made("j", name, Unit::Ratio, parts, |[work, every, save, mtti]| {
                formulas::broken(work, every, save, mtti)
            })
        } else {
            Term::given("j", name, 0.0, Unit::Ratio)
        };
        let name = t!("calendar from the first step");
        let parts = [work.clone(), every.clone(), save.clone(), mtti.clone(), downtime.clone(), lag.clone()];
        let from_first_step = if calendar.broken > 0.0 {
            Term::made("C", name, Unit::Seconds, parts, |[work, every, save, mtti, downtime, lag]| {
                work / formulas::productive(every, save, mtti, downtime, lag)
            })
        } else {
            seconds("C", name, rhythm.calendar(setting.work()))
        };
        Self {
            steps: seconds("S", t!("steps"), calendar.training),
            straggler: Term::given(
                "q",
                t!("stragglers: time of a step over that without"),
                setting.straggler,
                Unit::Ratio,
            ),
            work,
            mtti,
            save,
            every,
            downtime,
            broken,
            calendar: from_first_step,
        }
    }
}

fn time_to_interrupt(evaluation: &Evaluation, setting: &Setting) -> Term {
    let Some(rate) = setting.rate else {
        return seconds("M", t!("running time between interruptions"), setting.rhythm.mtti);
    };
    let rate = Term::given("r", t!("interruptions per 1,000 node-days"), rate.value, Unit::Ratio);
    let rate = match evaluation.scenario.run.length.failures.unwrap_or(Failures::Class(FailureClass::Unknown)) {
        Failures::Class(FailureClass::Vetted) => rate.from(&LLAMA_3, "table 5, with RSC-1, RSC-2 and SKT's B200 nodes"),
        Failures::Class(FailureClass::Shared) => rate.from(&KOKOLIS_2025, "jobs of 1,024 GPUs, with OPT-175B"),
        Failures::Class(FailureClass::Unknown) => rate.note(t!("geometric mean of vetted and shared nodes")),
        Failures::Rate(_) => rate,
    };
    let nodes = Term::given("n", t!("nodes of eight GPUs"), setting.nodes, Unit::Count);
    Term::made("M", t!("time between interruptions"), Unit::Seconds, [nodes, rate], |[nodes, rate]| {
        formulas::time_to_interrupt(nodes, rate)
    })
}

fn losses(setting: &Setting, calendar: &Calendar, book: &Book) -> Vec<(WholeRunFigure, Term)> {
    let saves = setting.rhythm.every.0.is_finite();
    let fails = calendar.broken > 0.0;
    let made = |symbol, name, is_there: bool, make: &dyn Fn() -> Written| {
        if is_there {
            written(|| make().term(symbol, name, Unit::Seconds))
        } else {
            seconds(symbol, name, Seconds::ZERO)
        }
    };
    let part = |term: &Term| Written::part(term.clone());
    let step = seconds("t", t!("a step"), setting.step);
    let rollbacks = Term::given("b", t!("rollbacks"), setting.rollbacks, Unit::Count);
    let back = Term::given("a", t!("steps of a rollback"), setting.rollback_steps, Unit::Count);
    let evaluation = seconds("E", t!("one evaluation"), setting.evaluation);
    let evaluations = Term::given("N", t!("evaluations"), setting.evaluations, Unit::Count);
    let saving =
        made("D", t!("saves"), saves, &|| formulas::saving(part(&book.save), part(&book.work), part(&book.every)));
    let restarts = made("Z", t!("restarts"), fails, &|| part(&book.downtime) * part(&book.broken));
    let repeated = made("Y", t!("repeated work"), fails, &|| {
        part(&book.calendar) - part(&book.work) - part(&saving) - part(&restarts)
    });
    // Rounding may leave a little less than nothing.
    let repeated = Term { value: calendar.lost.0, ..repeated };
    vec![
        (
            WholeRunFigure::Loss(LossKind::Startup),
            seconds("A", t!("start-up"), calendar.startup)
                .marked(Provenance::LookedUp)
                .from(&MLPERF, "init_start to init_stop, median by size"),
        ),
        (
            WholeRunFigure::Loss(LossKind::Evaluation),
            made("V", t!("evaluations"), true, &|| formulas::evaluating(part(&evaluation), part(&evaluations))),
        ),
        (
            WholeRunFigure::Loss(LossKind::Rollbacks),
            made("F", t!("rollbacks"), true, &|| {
                formulas::rolled_back(part(&step), part(&rollbacks), part(&back), part(&book.straggler))
            })
            .from(&PALM, "section 5.1: about 20 loss spikes, each back about 100 steps"),
        ),
        (WholeRunFigure::Loss(LossKind::Checkpoints), saving),
        (
            WholeRunFigure::Loss(LossKind::RepeatedWork),
            repeated.from(&KOKOLIS_2025, "renewal argument, exact for exponential gaps"),
        ),
        (WholeRunFigure::Loss(LossKind::Restarts), restarts.from(&MEGASCALE, "section 6.3")),
        (
            WholeRunFigure::Loss(LossKind::Stragglers),
            made("X", t!("stragglers"), true, &|| formulas::stragglers(part(&book.steps), part(&book.straggler))),
        ),
    ]
}

fn interruptions(setting: &Setting, calendar: &Calendar, book: &Book) -> Term {
    let name = t!("interruptions");
    if calendar.broken == 0.0 {
        Term::given("k", name, calendar.interruptions, Unit::Ratio)
    } else if setting.rhythm.by_calendar {
        let parts = [book.calendar.clone(), book.mtti.clone()];
        Term::made("k", name, Unit::Ratio, parts, |[calendar, mtti]| calendar / mtti)
            .note(t!("rates are counted by the calendar: interruptions strike restarts too"))
    } else {
        Term { symbol: "k", name, ..book.broken.clone() }
    }
}

/// Training between two saves as whole steps; beside it the best time, which it is rounded from unless it is given.
fn interval(setting: &Setting, book: &Book) -> Term {
    let every = &book.every;
    let step = setting.step * setting.straggler;
    let parts = [
        seconds("t", t!("a step, with stragglers"), step),
        Term::given("n", t!("steps between two saves"), (setting.rhythm.every / step).round(), Unit::Count),
    ];
    let mut term = Term::made(every.symbol, every.name.clone(), every.unit, parts, |[step, steps]| {
        formulas::between_saves(step, steps)
    });
    if setting.best_interval.0.is_finite() {
        term.parts.extend(best_of(&book.mtti, &book.save));
    }
    term.note(t!("rounded to whole steps, never shorter than a save takes to become durable"))
}

/// The time between two saves that loses least, exactly and by Young, with their formulas: for the running time between
/// interruptions and the time that a save blocks.
pub fn best_intervals(setting: &Setting) -> [Term; 2] {
    let mtti = seconds("M", t!("running time between interruptions"), setting.rhythm.mtti);
    let save = seconds("δ", t!("time that a save blocks"), setting.rhythm.save);
    best_of(&mtti, &save)
}

fn best_of(mtti: &Term, save: &Term) -> [Term; 2] {
    let parts = || [mtti.clone(), save.clone()];
    let name = t!("time between two saves that loses least");
    let best = Term::made("τ*", name, Unit::Seconds, parts(), |[mtti, save]| formulas::best_interval(mtti, save))
        .from(&DALY_2006, "whose estimate is its third order");
    let name = t!("its first order, for short saves");
    let young = Term::made("τ_1", name, Unit::Seconds, parts(), |[mtti, save]| formulas::young(mtti, save))
        .from(&YOUNG_1974, "the interval in closed form");
    [best, young]
}

/// The number of spare nodes, with its formula; none where no spares are given.
fn spares(setting: &Setting, whole: &WholeRun) -> Option<Term> {
    let share = setting.spare_quantile?;
    let mean = Term::given("λ", t!("nodes under repair in the mean"), setting.under_repair, Unit::Ratio);
    let enough = Term::given("p", t!("probability that the spares suffice"), share, Unit::Share);
    let count = Term::count("s", t!("spare nodes"), whole.spares)
        .marked(Provenance::LookedUp)
        .with(vec![mean, enough])
        .note(t!("the fewest that suffice with probability p, where a Poisson count of mean λ is under repair"));
    Some(count)
}

fn energy(evaluation: &Evaluation, setting: &Setting, calendar: &Calendar) -> Term {
    let Activity { busy, waiting } = activity(&evaluation.report.step);
    let idle = calendar.startup + calendar.saving + calendar.downtime;
    let rated = evaluation.scenario.gpu.tdp_w * setting.gpus as f64;
    let rated = Term::given("P", t!("rated power of the GPUs, W"), rated, Unit::Ratio);
    let busy = Term::given("u", t!("share of a step in kernels"), busy, Unit::Share);
    let waiting = Term::given("c", t!("share of a step that waits"), waiting, Unit::Share);
    let name = t!("power of the nodes in a step, W");
    let working_w = Term::made("Q", name, Unit::Ratio, [rated.clone(), busy, waiting], |[rated, busy, waiting]| {
        power(rated, busy, waiting)
    });
    let name = t!("power of the nodes without kernels, W");
    let idle_w = Term::made("Q_0", name, Unit::Ratio, [rated], |[rated]| {
        power(rated, Written::number(0.0), Written::number(0.0))
    });
    let parts = [
        working_w,
        seconds("h", t!("time of steps"), calendar.total() - idle),
        idle_w,
        seconds("i", t!("time without kernels"), idle),
        Term::given("w", t!("power of the site over that of its nodes"), setting.pue, Unit::Ratio),
    ];
    Term::made("K", t!("energy, kWh"), Unit::Ratio, parts, |[working_w, working_s, idle_w, idle_s, pue]| {
        formulas::energy([working_w, working_s], [idle_w, idle_s], pue)
    })
    .from(&MLPERF, "power of 15 runs on H100 and B200 nodes")
    .note(t!("another maker's chassis differs by up to 15 %; storage and switches are not counted"))
}
