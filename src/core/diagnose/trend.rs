//! How memory grows over steps, and what that tells: a leak where the memory allocated at the end of a step grows,
//! unequal work where only the peak of a step grows, fragmentation where reserved memory that is not in use grows.

use super::causes::{CauseId, FoundCause};
use super::figures::of_files;
use crate::t;
use crate::units::{Bytes, show_bytes};
use serde::{Deserialize, Serialize};

/// A line of a log with the memory at a step, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryLine {
    pub step: u64,
    /// In use at the end of the step.
    pub allocated: Option<f64>,
    /// The peak of what is in use: of this step, or of all steps so far, as the program prints it.
    pub most: Option<f64>,
    /// Held by the allocator.
    pub reserved: Option<f64>,
}

/// Growth of memory in bytes a step; 0 for what does not grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryTrend {
    /// Number of lines.
    pub lines: u64,
    /// Growth of the memory in use at the end of a step.
    pub allocated: f64,
    /// Growth of the peak.
    pub most: f64,
    /// Growth of the memory that is reserved and not in use.
    pub unused: f64,
    /// Steps from the first line to the last.
    pub steps: f64,
}

/// Fewest lines that can show growth. A choice.
const MIN_LINES: usize = 3;
/// Memory counts as growing if it grows over all lines by at least this share of its highest value. A choice.
const MIN_GROWTH: f64 = 0.02;
/// Memory counts as growing if it is higher in at least this share, two thirds, of the lines than in the line before. A
/// choice.
const MIN_RISES: (usize, usize) = (2, 3);

impl MemoryTrend {
    /// The growth over `lines`; none for fewer than three.
    pub fn of(lines: &[MemoryLine]) -> Option<Self> {
        let slope = |value: &dyn Fn(&MemoryLine) -> Option<f64>| {
            let points: Vec<(f64, f64)> =
                lines.iter().filter_map(|line| Some((line.step as f64, value(line)?))).collect();
            growth(&points)
        };
        let first = lines.iter().map(|line| line.step).min()?;
        let last = lines.iter().map(|line| line.step).max()?;
        let trend = Self {
            lines: lines.len() as u64,
            allocated: slope(&|line| line.allocated),
            most: slope(&|line| line.most),
            unused: slope(&|line| Some(line.reserved? - line.allocated.or(line.most)?)),
            steps: (last - first) as f64,
        };
        (lines.len() >= MIN_LINES && trend.steps > 0.0).then_some(trend)
    }

    /// The cause of the growth; none where nothing grows. `experts` is true for a mixture of experts.
    pub fn cause(&self, experts: bool) -> Option<FoundCause> {
        let grown = |what: &str, bytes: f64| of_files(format!("{what}, a step"), show_bytes(Bytes(bytes)));
        let (id, growth, words) = if self.allocated > 0.0 {
            let words = t!(
                "What is allocated at the end of a step grows by {bytes} a step, over {lines} lines: \
                    something is kept.",
                bytes = grown("allocated", self.allocated),
                lines = self.lines
            );
            (CauseId::RetainedGraph, self.allocated, words)
        } else if self.most > 0.0 {
            let id = if experts { CauseId::ExpertImbalance } else { CauseId::LongestSample };
            let words = t!(
                "The peak of allocated memory grows by {bytes} a step, but what is left at the end of a step does not: \
                    longer samples, or more tokens on an expert.",
                bytes = grown("most allocated", self.most)
            );
            (id, self.most, words)
        } else if self.unused > 0.0 {
            let words = t!(
                "What is reserved and not in use grows by {bytes} a step.",
                bytes = grown("reserved and not in use", self.unused)
            );
            (CauseId::Fragmentation, self.unused, words)
        } else {
            return None;
        };
        let change = match id {
            CauseId::RetainedGraph => t!("detach what is kept of a step, .item() of sums"),
            CauseId::Fragmentation => {
                t!("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (PYTORCH_ALLOC_CONF from 2.9 on), or equal shapes")
            }
            CauseId::ExpertImbalance => t!("a capacity, a balancing loss, more expert parallelism"),
            _ => t!("cut, pack or sort the samples"),
        };
        Some(FoundCause { bytes: Some(growth * self.steps), change: Some(change), ..FoundCause::new(id, words) })
    }
}

/// Slope by least squares of `points` (step, bytes), if they grow by [`MIN_GROWTH`] and [`MIN_RISES`]; else 0.
fn growth(points: &[(f64, f64)]) -> f64 {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return 0.0;
    };
    let highest = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let rises = points.windows(2).filter(|pair| pair[1].1 > pair[0].1).count();
    let rises_often = rises * MIN_RISES.1 >= (points.len() - 1) * MIN_RISES.0;
    if points.len() < MIN_LINES || last.1 - first.1 < MIN_GROWTH * highest || !rises_often {
        return 0.0;
    }
    let count = points.len() as f64;
    let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / count;
    let (mean_step, mean_bytes) = (mean(|point| point.0), mean(|point| point.1));
    let covariance: f64 = points.iter().map(|point| (point.0 - mean_step) * (point.1 - mean_bytes)).sum();
    let variance: f64 = points.iter().map(|point| (point.0 - mean_step) * (point.0 - mean_step)).sum();
    if variance > 0.0 { (covariance / variance).max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: f64 = 1_073_741_824.0;

    fn lines(of: impl Fn(u64) -> [f64; 3]) -> Vec<MemoryLine> {
        let line = |step| {
            let [allocated, most, reserved] = of(step).map(|gib| Some(gib * GIB));
            MemoryLine { step, allocated, most, reserved }
        };
        (1..=6).map(line).collect()
    }

    /// A leak, unequal work and fragmentation, each by what grows.
    #[test]
    fn what_grows_names_the_cause() {
        let cause =
            |lines: &[MemoryLine], experts| MemoryTrend::of(lines).unwrap().cause(experts).map(|cause| cause.id);
        let leak = lines(|step| [20.0 + step as f64, 40.0 + step as f64, 50.0 + step as f64]);
        assert_eq!(cause(&leak, false), Some(CauseId::RetainedGraph));
        let uneven = lines(|step| [20.0, 40.0 + step as f64, 60.0]);
        assert_eq!(cause(&uneven, false), Some(CauseId::LongestSample));
        assert_eq!(cause(&uneven, true), Some(CauseId::ExpertImbalance));
        let pieces = lines(|step| [20.0, 40.0, 50.0 + step as f64]);
        assert_eq!(cause(&pieces, false), Some(CauseId::Fragmentation));
        assert_eq!(cause(&lines(|_| [20.0, 40.0, 50.0]), false), None);
        assert!((MemoryTrend::of(&leak).unwrap().allocated / GIB - 1.0).abs() < 1e-9);
    }
}
