//! The climb: rung by rung, the fastest layout of the first that has one that fits.

use super::rungs::rungs;
use crate::issue::Issue;
use crate::report::plain_report as report;
use crate::run::{Run, Schedule, ScheduleOptions};
use crate::search::able::schedules;
use crate::search::axes::Axes;
use crate::search::engine::{Search, SearchProgress};
use crate::search::fastest::serves;
use crate::search::layout_field::LayoutField;
use crate::search::ranking::{Figures, FoundLayout};
use crate::search::request::PlanRequest;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// How far the search for the fastest layout went.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    /// Layouts looked at.
    pub layouts: u64,
    /// No other layout can be faster.
    pub complete: bool,
}

impl From<SearchProgress> for Searched {
    fn from(progress: SearchProgress) -> Self {
        Self { layouts: progress.evaluated, complete: progress.done }
    }
}

/// A layout that was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LadderChoice {
    pub run: Run,
    pub figures: Figures,
    /// The search that chose it; none for a first guess.
    pub searched: Option<Searched>,
}

/// The rungs of a Run as far as they are tried.
#[derive(Clone, Debug)]
pub(in crate::search) struct Climb {
    run: Run,
    stages: VecDeque<Axes>,
    search: Option<Search>,
    evaluated: u64,
    choice: Option<LadderChoice>,
    /// Tight layouts hold a rung, too.
    tight: bool,
    /// The schedule stays as it is.
    pinned: bool,
}

impl Climb {
    /// At the first rung of `run`; a tight layout ends the climb as one that fits does.
    pub fn with_tight(run: &Run) -> Result<Self, Vec<Issue>> {
        Ok(Self { tight: true, ..Self::new(run, &[])? })
    }

    /// At the first rung of `run`, whose fields in `pins` stay.
    pub fn new(run: &Run, pins: &[&str]) -> Result<Self, Vec<Issue>> {
        let run = bare(run, pins);
        run.precision.resolve()?;
        let mut stages: VecDeque<Axes> = rungs(&run)?.into();
        for axes in &mut stages {
            for pin in pins {
                axes.pin(pin, &run).map_err(|issue| vec![issue])?;
            }
        }
        let pinned = pins.contains(&"schedule");
        Ok(Self { run, stages, search: None, evaluated: 0, choice: None, tight: false, pinned })
    }

    /// The Run without what belongs to one layout.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Layouts looked at on all rungs.
    pub fn evaluated(&self) -> u64 {
        self.evaluated
    }

    pub fn choice(&self) -> Option<&LadderChoice> {
        self.choice.as_ref()
    }

    /// Works for about `budget` units; true once a layout is chosen, or the last rung has failed.
    pub fn step(&mut self, budget: u64) -> bool {
        if self.choice.is_some() {
            return true;
        }
        let Some(search) = &mut self.search else {
            let Some(axes) = self.stages.pop_front() else {
                return true;
            };
            let request = PlanRequest::with_axes(&self.run, axes, &["schedule"], 1);
            let search = request.ok().map(|request| request.search);
            self.search = search.map(|search| if self.tight { search } else { search.sure() });
            return false;
        };
        let progress = search.step(budget);
        if !progress.done {
            return false;
        }
        self.evaluated += progress.evaluated;
        let best = search.best().first();
        let choice =
            best.map(|found| LadderChoice { run: chosen(&self.run, found), figures: found.figures, searched: None });
        let choice = if self.pinned { choice } else { choice.map(plain) };
        self.choice = choice.filter(|choice| self.tight || serves(&choice.run, &choice.figures.peak));
        self.search = None;
        self.choice.is_some()
    }
}

/// `run` with the layout that links mean which name none, but for the fields in `pins`; under a schedule that its
/// software has. What stands in `run` for the others was chosen or taken before and is no part of the question.
fn bare(run: &Run, pins: &[&str]) -> Run {
    let mut bare = PlanRequest::question(run);
    for field in pins.iter().filter_map(|pin| LayoutField::of_key(pin)) {
        field.copy(run, &mut bare);
    }
    let stack = run.stack.preset_row();
    if !pins.contains(&"schedule") && !bare.schedule.row().is_run_by(stack) {
        bare.schedule = schedules(stack, &[Schedule::OneFOneB])[0];
        if !pins.contains(&"virtual_stages") {
            bare.virtual_stages = 1;
        }
    }
    bare
}

/// `run` under 1F1B if it has a single stage: that has no other order.
pub(super) fn single_stage(run: &Run) -> Option<Run> {
    let (schedule, virtual_stages) = (Schedule::OneFOneB, 1);
    let is_plain = run.schedule == schedule && run.virtual_stages == virtual_stages;
    let schedule_options = ScheduleOptions::default();
    (run.pp == 1 && !is_plain).then(|| Run { schedule, schedule_options, virtual_stages, ..run.clone() })
}

/// The chosen layout, under 1F1B if it has a single stage.
fn plain(choice: LadderChoice) -> LadderChoice {
    let Some(run) = single_stage(&choice.run) else {
        return choice;
    };
    match report(&run) {
        Ok(report) => LadderChoice { run, figures: Figures::from(&report), searched: choice.searched },
        Err(_) => choice,
    }
}

/// The fields of a layout that differ between the layouts of a rung.
const CLIMBED: [LayoutField; 8] = [
    LayoutField::Tp,
    LayoutField::Pp,
    LayoutField::Cp,
    LayoutField::Ep,
    LayoutField::Etp,
    LayoutField::Zero,
    LayoutField::Recompute,
    LayoutField::VirtualStages,
];

/// `run` in the layout of `found`: nothing else of it changes.
fn chosen(run: &Run, found: &FoundLayout) -> Run {
    let mut chosen = run.clone();
    for field in CLIMBED {
        field.copy(&found.run, &mut chosen);
    }
    chosen
}
