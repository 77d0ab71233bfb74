//! The interface of every way to estimate the memory of a pipeline rank.

use super::estimate::{Estimate, RankLoad, StageMemory};
use super::verdict::MemoryNeed;
use crate::explain::Term;
use crate::issue::Issue;
use crate::run::Scenario;
use crate::units::Bytes;

/// A way to estimate the memory of a pipeline rank.
pub trait MemoryMethod: Sync {
    /// Memory of pipeline rank `rank`.
    fn rank(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> StageMemory;

    /// Range of what the fullest rank needs, of which the method counts `peak`. A method that counts tensors only gets
    /// what the detailed one adds for the process and fragmentation.
    fn need(&self, scenario: &Scenario, peak: Bytes) -> MemoryNeed {
        MemoryNeed::of_tensors(scenario, peak)
    }

    /// Memory that the need is held against.
    fn capacity(&self, scenario: &Scenario) -> Bytes {
        scenario.gpu.usable
    }

    /// Warnings of settings that the method does not know.
    fn ignored(&self, scenario: &Scenario) -> Vec<Issue>;

    /// Derivation of the total of [`Self::rank`].
    fn explain(&self, scenario: &Scenario, rank: usize, load: &RankLoad) -> Term;

    fn ranks(&self, scenario: &Scenario, loads: &[RankLoad]) -> Vec<StageMemory> {
        let ranks = loads.iter().enumerate();
        ranks.map(|(rank, load)| self.rank(scenario, rank, load)).collect()
    }

    /// All ranks, and whether the fullest fits.
    fn estimate(&self, scenario: &Scenario, loads: &[RankLoad]) -> Estimate {
        self.of_ranks(scenario, self.ranks(scenario, loads))
    }

    /// Verdict over all ranks, by the fullest.
    fn of_ranks(&self, scenario: &Scenario, per_stage: Vec<StageMemory>) -> Estimate {
        let need = |peak| self.need(scenario, peak);
        let (capacity, ignored) = (self.capacity(scenario), self.ignored(scenario));
        Estimate::new(per_stage, capacity, need, ignored)
    }
}
