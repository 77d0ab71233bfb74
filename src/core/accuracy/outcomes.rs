//! The rule of the verdict fitted to measured outcomes, so that each can be judged by constants that never saw it.

use crate::memory::verdict::{FRAGMENTATION, PROCESS, fragmentation, process, processes};
use crate::memory::{Lifetime, StageMemory, Verdict};
use crate::report::Evaluation;
use crate::run::Scenario;
use crate::units::Bytes;

/// Inputs of the rule for one pipeline rank: `φ blocks + whole + κ processes` GiB is its total.
#[derive(Clone, Copy, Debug)]
struct Rank {
    /// GiB allocated in blocks that fragment.
    blocks: f64,
    /// GiB of all other tensors: logits, weights and states of fine-tuning; where nothing fragments, all of them.
    whole: f64,
    /// Number of processes that it counts as: its own, and one for each kind of communicator.
    processes: f64,
}

impl Rank {
    fn of(scenario: &Scenario, rank: &StageMemory) -> Self {
        let fragments: Bytes =
            rank.items.iter().filter(|item| item.lifetime == Lifetime::Fragmentation).map(|item| item.bytes).sum();
        let factor = fragmentation(scenario);
        // Without fragmentation the blocks are part of the rest.
        let blocks = if factor > 1.0 { fragments / (factor - 1.0) } else { Bytes::default() };
        let whole = rank.total - blocks * factor - process(scenario);
        Self { blocks: blocks.gib(), whole: whole.gib(), processes: processes(scenario) }
    }
}

/// The outcome of a run, and the inputs of the rule that predicts it.
#[derive(Clone, Debug)]
pub struct Outcome {
    ranks: Vec<Rank>,
    /// Memory that the driver shows, GiB.
    visible: f64,
    /// True if the run ran out of memory.
    pub ran_out: bool,
}

impl Outcome {
    /// The outcome of the run that was evaluated.
    pub fn new(evaluation: &Evaluation, ran_out: bool) -> Self {
        let memory = &evaluation.report.memory;
        let ranks = memory.per_stage.iter().map(|rank| Rank::of(&evaluation.scenario, rank)).collect();
        Self { ranks, visible: memory.capacity_bytes.gib(), ran_out }
    }
}

/// The two constants that place the middle of the band.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Reserved over allocated memory.
    pub fragmentation: f64,
    /// A process, GiB.
    pub process: f64,
}

impl Rule {
    /// The constants of the code.
    pub fn shipped() -> Self {
        Self { fragmentation: FRAGMENTATION.value, process: PROCESS.value.gib() }
    }

    /// Memory needed over what the driver shows.
    pub fn ratio(self, run: &Outcome) -> f64 {
        let need = |rank: &Rank| self.fragmentation * rank.blocks + rank.whole + self.process * rank.processes;
        run.ranks.iter().map(need).fold(0.0, f64::max) / run.visible
    }

    /// Outcomes on the wrong side of the middle.
    pub fn wrong(self, runs: &[&Outcome]) -> usize {
        runs.iter().filter(|run| (self.ratio(run) > 1.0) != run.ran_out).count()
    }

    /// The centre of all rules on a grid that are wrong least often.
    pub fn fitted(runs: &[&Outcome]) -> Self {
        let grid = (0..=34).flat_map(|i| {
            (0..=60).map(move |j| Self { fragmentation: 1.05 + 0.005 * f64::from(i), process: 0.05 * f64::from(j) })
        });
        let tried: Vec<_> = grid.map(|rule| (rule.wrong(runs), rule)).collect();
        let least = tried.iter().map(|(wrong, _)| *wrong).min().unwrap_or(0);
        let best: Vec<_> = tried.iter().filter(|(wrong, _)| *wrong == least).map(|(_, rule)| *rule).collect();
        let mean = |of: fn(&Self) -> f64| best.iter().map(of).sum::<f64>() / best.len() as f64;
        Self { fragmentation: mean(|rule| rule.fragmentation), process: mean(|rule| rule.process) }
    }

    /// Half the width of the narrowest band outside which no verdict on `runs` is wrong.
    pub fn half_band(self, runs: &[&Outcome]) -> f64 {
        let wrong = runs.iter().map(|run| (self.ratio(run), run.ran_out)).filter(|(ratio, out)| (*ratio > 1.0) != *out);
        // A run that ran out with a ratio below 1 is in the band from `half = 1 - ratio` on, where the upper end of its
        // need, ratio / (1 - half), reaches 1; one that ran with a ratio above 1 from `half = ratio - 1` on.
        wrong.map(|(ratio, out)| if out { 1.0 - ratio } else { ratio - 1.0 }).fold(0.0, f64::max)
    }

    /// The verdict of this rule with a band of half the width `half`.
    pub fn verdict(self, run: &Outcome, half: f64) -> Verdict {
        let ratio = self.ratio(run);
        if ratio / (1.0 - half) <= 1.0 {
            Verdict::Fits
        } else if ratio / (1.0 + half) <= 1.0 {
            Verdict::Tight
        } else {
            Verdict::Oom
        }
    }
}
