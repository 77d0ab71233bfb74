//! The answer that the view shows, and durations as it says them.

use crate::node::figure::Scope;
use crate::panels::budget::{PRICE, budget_tokens, plain};
use crate::panels::ranged::WIDE;
use crate::prelude::*;
use shardscope_core::issue::Issue;
use shardscope_core::whole_run::{
    self, Calendar, CalendarRange, LossKind, Setting, WholeRun, WholeRunFigure, figures, notes,
};

/// Everything that the view shows of a Run, but its range.
#[derive(Clone, Debug)]
pub struct WholeRunAnswer {
    pub setting: Setting,
    /// Its figures, without their range.
    pub figures: WholeRun,
    /// Doubts about its settings.
    pub notes: Vec<Issue>,
}

impl WholeRunAnswer {
    /// The answer of an evaluated Run; without a budget that of the one that the key figures assume as well.
    ///
    /// # Errors
    /// A run that does not finish.
    pub fn new(evaluation: &Evaluation) -> Result<Self, Vec<Issue>> {
        let mut setting = whole_run::setting(evaluation, budget_tokens(&evaluation.scenario.run))?;
        setting.price.get_or_insert(PRICE);
        let (figures, notes) = (figures(evaluation, &setting), notes(evaluation, &setting));
        Ok(Self { setting, figures, notes })
    }

    /// Interruptions of the running job, and what each costs of `kind`, repeated work or restarts: their product is
    /// that loss, as in its formula. One that strikes a restart repeats no work, and its downtime is a part of that
    /// restart.
    pub(super) fn each(&self, kind: LossKind) -> (f64, Seconds) {
        let calendar = Calendar::new(&self.setting);
        let lost = if kind == LossKind::RepeatedWork { calendar.lost } else { calendar.downtime };
        (calendar.broken, if calendar.broken > 0.0 { lost / calendar.broken } else { Seconds::ZERO })
    }

    /// "4.12 × 15.1 min": the interruptions of the running job and what each costs.
    pub(super) fn show_each(&self, kind: LossKind) -> Message {
        let (count, time) = self.each(kind);
        let whose = Scope::run();
        let count = whose.says("whole:broken", plain(count, false));
        let time = whose.says(format!("{} each", WholeRunFigure::Loss(kind).id()), duration(time));
        t!("{count} × {time}", count, time)
    }

    /// Interruptions of the running job, and those that strike a restart: both together are all; none where none strike
    /// a restart.
    pub(super) fn apart(&self) -> Option<[f64; 2]> {
        let (running, _) = self.each(LossKind::Restarts);
        let all = self.figures.interruptions;
        (all > running * (1.0 + 1e-9)).then_some([running, all - running])
    }

    /// `range` of an earlier answer, in proportion to this one: a stand-in until its own is drawn.
    pub fn scaled(&self, range: CalendarRange, before: &WholeRun) -> CalendarRange {
        let days = self.figures.days / before.days;
        let energy = self.figures.energy_kwh / before.energy_kwh;
        let productive = self.figures.productive / before.productive;
        CalendarRange {
            low_days: range.low_days * days,
            high_days: range.high_days * days,
            low_productive: range.low_productive * productive,
            high_productive: (range.high_productive * productive).min(1.0),
            low_energy_kwh: range.low_energy_kwh * energy,
            high_energy_kwh: range.high_energy_kwh * energy,
            ..range
        }
    }
}

/// True where the days of a whole run are shown with two digits: the ends of their `range` are far apart.
pub(super) fn is_wide(days: f64, range: &CalendarRange) -> bool {
    (range.high_days - range.low_days) / days >= WIDE
}

/// A duration for people: `12 s`, `10.9 min`, `3.1 h`, `80.1 d`.
pub fn duration(time: Seconds) -> String {
    if (120.0..7200.0).contains(&time.0) {
        return format!("{} min", short(time.0 / 60.0));
    }
    show_seconds(time)
}

/// Three significant digits, and no zeros behind the point of a whole number.
fn short(value: f64) -> String {
    let rounded = significant(value, 3);
    if value >= 1.0 && value.round() == value { number(value, 3) } else { rounded }
}
