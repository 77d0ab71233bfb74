//! Memory fitted to runs: an overhead in GiB and reserved over allocated, nothing else.
//!
//! Allocated memory is met to one or two per cent; an allocated peak that is off by more than 5 % means another layout
//! than the one stated, and is never fitted away. Prior: 0 ± 1.5 GiB, and the shipped ratio with 5 %.

use super::components::fullest;
use super::observation::{MemoryKind, Observation, named};
use super::suspects::{Suspect, suspects_of_memory};
use crate::issue::Issue;
use crate::maths::{exp, ln};
use crate::memory::Lifetime;
use crate::memory::verdict::FRAGMENTATION;
use serde::{Deserialize, Serialize};

/// Prior standard deviation of the overhead, and that of one observation, GiB.
const OVERHEAD_SD: (f64, f64) = (1.5, 0.5);
/// Prior standard deviation of the logarithm of reserved over allocated, and that of one observation.
const RATIO_SD: (f64, f64) = (0.05, 0.03);
/// An allocated peak further off than this is of another layout.
const WRONG: f64 = 0.05;
/// Range of the overhead, GiB: a process takes no less than the model predicts.
const OVERHEAD_RANGE: (f64, f64) = (0.0, 64.0);

/// An allocated peak against the model's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Allocated {
    /// Index of its run among the observations.
    pub observation: usize,
    /// GiB as measured.
    pub measured: f64,
    /// GiB by the model.
    pub predicted: f64,
    /// Single changes of the settings that would explain it, where it is off.
    pub suspects: Vec<Suspect>,
}

impl Allocated {
    /// True if it is so far off that the layout cannot be the one stated.
    pub fn is_wrong(&self) -> bool {
        (self.measured / self.predicted - 1.0).abs() > WRONG
    }
}

/// Overhead and ratio of reserved to allocated memory, fitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryFit {
    /// GiB that a process takes beyond what the model predicts.
    pub overhead_gib: f64,
    /// Reserved over allocated.
    pub ratio: f64,
    /// Runs whose memory was fitted.
    pub runs: usize,
    /// Allocated peaks against the model's.
    pub allocated: Vec<Allocated>,
}

/// The mean of a normal distribution, updated by observations: its prior is the first.
struct NormalMean {
    /// Sum of the precisions `1/sd²`.
    precision: f64,
    /// Sum of the values, each times its precision.
    weighted: f64,
}

impl NormalMean {
    fn prior(value: f64, sd: f64) -> Self {
        Self { precision: 1.0 / (sd * sd), weighted: value / (sd * sd) }
    }
    fn add(&mut self, value: f64, sd: f64) {
        self.precision += 1.0 / (sd * sd);
        self.weighted += value / (sd * sd);
    }
    fn value(&self) -> f64 {
        self.weighted / self.precision
    }
}

impl MemoryFit {
    /// Fits the peaks of `observations`.
    ///
    /// # Errors
    /// Every setting that cannot work in one of the runs.
    pub fn of(observations: &[Observation]) -> Result<Self, Vec<Issue>> {
        let mut overhead = NormalMean::prior(0.0, OVERHEAD_SD.0);
        let mut ratio = NormalMean::prior(ln(FRAGMENTATION.value), RATIO_SD.0);
        let (mut runs, mut all) = (0, Vec::new());
        for (index, observation) in observations.iter().enumerate() {
            if observation.peaks.is_empty() {
                continue;
            }
            let rank = fullest(&observation.run).map_err(|issues| named(index, issues))?;
            let gib = |kind: MemoryKind| {
                let peak = observation.peaks.iter().find(|peak| peak.kind == kind);
                peak.map(|peak| peak.gib)
            };
            let lifetime_gib = |lifetime: Lifetime| -> f64 {
                let items = rank.items.iter().filter(|item| item.lifetime == lifetime);
                items.map(|item| item.bytes.gib()).sum()
            };
            let (fragments, process) = (lifetime_gib(Lifetime::Fragmentation), lifetime_gib(Lifetime::Process));
            // What fragments: the model adds a fixed share of it.
            let blocks = fragments / (FRAGMENTATION.value - 1.0);
            let predicted = rank.allocated().gib();
            let allocated = gib(MemoryKind::Allocated);
            if let Some(measured) = allocated {
                let mut allocation = Allocated { observation: index, measured, predicted, suspects: Vec::new() };
                if allocation.is_wrong() {
                    allocation.suspects = suspects_of_memory(&observation.run, measured);
                    all.push(allocation);
                    // Nothing is learned from another layout.
                    continue;
                }
                all.push(allocation);
            }
            // Reserved memory without fragments; with logits, which do not fragment.
            let beside =
                rank.total.gib() - fragments - process + allocated.map_or(0.0, |allocated| allocated - predicted);
            let reserved = gib(MemoryKind::Reserved);
            if let Some(reserved) = reserved
                && blocks > 0.0
            {
                let observed = 1.0 + (reserved - beside) / blocks;
                ratio.add(ln(observed.clamp(1.0, 2.0)), RATIO_SD.1);
            }
            if let Some(device) = gib(MemoryKind::Device) {
                let reserved = reserved.unwrap_or(beside + fragments);
                overhead.add(device - reserved - process, OVERHEAD_SD.1);
            }
            runs += usize::from(reserved.is_some() || gib(MemoryKind::Device).is_some());
        }
        Ok(Self {
            overhead_gib: overhead.value().clamp(OVERHEAD_RANGE.0, OVERHEAD_RANGE.1),
            ratio: exp(ratio.value()),
            runs,
            allocated: all,
        })
    }
}
