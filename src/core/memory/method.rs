//! What every way to estimate the memory of a pipeline rank answers.

use super::estimate::{Estimate, RankLoad, StageMemory};
use super::verdict::Need;
use crate::explain::Term;
use crate::issue::Issue;
use crate::run::Scenario;
use crate::units::Bytes;

/// A way to estimate the memory of a pipeline rank.
pub trait MemoryMethod: Sync {
    /// What pipeline rank `rank` holds.
    fn rank(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> StageMemory;

    /// Range of what the fullest rank needs, of which the method counts `peak`. A method that counts tensors only gets what
    /// the detailed one adds for the process and fragmentation.
    fn need(&self, scenario: &Scenario, peak: Bytes) -> Need {
        Need::of_tensors(scenario, peak)
    }

    /// What the need is held against.
    fn capacity(&self, scenario: &Scenario) -> Bytes {
        scenario.gpu.usable
    }

    /// What of the Run the method does not know, as warnings.
    fn ignored(&self, scenario: &Scenario) -> Vec<Issue>;

    /// How the total of [`Self::rank`] comes about.
    fn explain(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> Term;

    /// All ranks.
    fn ranks(&self, scenario: &Scenario, loads: &[RankLoad]) -> Vec<StageMemory> {
        let ranks = loads.iter().enumerate();
        ranks.map(|(rank, load)| self.rank(scenario, rank, load)).collect()
    }

    /// All ranks, and whether the fullest fits.
    fn estimate(&self, scenario: &Scenario, loads: &[RankLoad]) -> Estimate {
        self.of_ranks(scenario, self.ranks(scenario, loads))
    }

    /// Whether the fullest of all ranks fits.
    fn of_ranks(&self, scenario: &Scenario, per_stage: Vec<StageMemory>) -> Estimate {
        let need = |peak| self.need(scenario, peak);
        let (capacity, ignored) = (self.capacity(scenario), self.ignored(scenario));
        Estimate::new(per_stage, capacity, need, ignored)
    }
}
