//! The climb: rung by rung, the fastest layout of the first that has one that fits.

use super::rungs::{Rung, Stage, rungs};
use crate::issue::Issue;
use crate::run::{Run, Schedule, ScheduleOptions};
use crate::search::engine::Search;
use crate::search::ranking::{Figures, Found};
use crate::search::request::Request;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A layout that was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    pub run: Run,
    /// The rung that it stands on.
    pub rung: Rung,
    pub figures: Figures,
}

/// The rungs of a Run as far as they are tried.
#[derive(Clone, Debug)]
pub(super) struct Climb {
    run: Run,
    stages: VecDeque<Stage>,
    search: Option<(Rung, Search)>,
    evaluated: u64,
    choice: Option<Choice>,
    /// Tight layouts hold a rung, too.
    tight: bool,
}

impl Climb {
    /// The same, which a tight layout ends, too.
    pub fn with_tight(run: &Run) -> Result<Self, Vec<Issue>> {
        Ok(Self { tight: true, ..Self::new(run)? })
    }

    pub fn new(run: &Run) -> Result<Self, Vec<Issue>> {
        let run = bare(run);
        run.precision.resolve()?;
        let stages = rungs(&run)?.into();
        Ok(Self { run, stages, search: None, evaluated: 0, choice: None, tight: false })
    }

    /// The Run without what belongs to one layout.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Layouts looked at on all rungs.
    pub fn evaluated(&self) -> u64 {
        self.evaluated
    }

    pub fn choice(&self) -> Option<&Choice> {
        self.choice.as_ref()
    }

    /// Works for about `budget` units; true once a layout is chosen, or the last rung has failed.
    pub fn step(&mut self, budget: u64) -> bool {
        if self.choice.is_some() {
            return true;
        }
        let Some((rung, search)) = &mut self.search else {
            let Some(stage) = self.stages.pop_front() else {
                return true;
            };
            let request = Request::with_axes(&self.run, stage.axes, &["schedule"], 1);
            let search = request.ok().map(|request| request.search);
            let search = search.map(|search| if self.tight { search } else { search.sure() });
            self.search = search.map(|search| (stage.rung, search));
            return false;
        };
        let progress = search.step(budget);
        if !progress.done {
            return false;
        }
        self.evaluated += progress.evaluated;
        let best = search.best().first();
        self.choice = best.map(|found| Choice { run: chosen(&self.run, found), rung: *rung, figures: found.figures });
        self.search = None;
        self.choice.is_some()
    }
}

/// A Run without the settings that belong to one layout.
fn bare(run: &Run) -> Run {
    let mut bare = Run { stage_layers: None, mtp_stage: None, hsdp_shard: None, measured_step_s: None, ..run.clone() };
    if bare.schedule == Schedule::Custom {
        (bare.schedule, bare.virtual_stages) = (Schedule::OneFOneB, 1);
        bare.schedule_options = ScheduleOptions::default();
    }
    bare
}

/// `run` in the layout of `found`: nothing else of it changes.
fn chosen(run: &Run, found: &Found) -> Run {
    let layout = &found.run;
    Run {
        tp: layout.tp,
        pp: layout.pp,
        cp: layout.cp,
        ep: layout.ep,
        etp: layout.etp,
        zero: layout.zero,
        recompute: layout.recompute.clone(),
        virtual_stages: layout.virtual_stages,
        ..run.clone()
    }
}
