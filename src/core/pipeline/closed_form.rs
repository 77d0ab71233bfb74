//! The length of a pipeline without simulating it: what a search over thousands of layouts can afford.
//!
//! Exact for 1F1B with equal or unequal stages once the pipeline is full; the other schedules by the bubbles that their
//! papers give. Anything that will be shown is simulated; this only ranks.

use super::steady::slowest_cycle;
use crate::run::Schedule;

/// Seconds of one micro-batch on a global stage, communication that it waits for included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Passes {
    /// Forward.
    pub forward: f64,
    /// Gradient of the input.
    pub backward_input: f64,
    /// Gradient of the weight.
    pub backward_weight: f64,
}

impl Passes {
    /// All three.
    #[must_use]
    pub fn total(self) -> f64 {
        self.forward + self.backward_input + self.backward_weight
    }
}

/// What a schedule leaves idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bubble {
    /// `(p - 1)(F + B + W)`: 1F1B and its kin.
    Whole,
    /// The same with all forwards before the first backward: `GPipe`.
    Flush,
    /// The same over the chunks of a rank: interleaved schedules, Hanayo, Chimera.
    OverChunks,
    /// `(p - 1)(F + B - W)`: ZB-H1, and what splits the backward pass at the memory of 1F1B.
    Split,
    /// Nothing between a rank's first and last op: ZB-H2, ZB-V.
    None,
    /// Nothing but what the slowest cycle of ranks and messages leaves, fill and drain happening once in a training:
    /// `PipeDream`.
    Endless,
    /// `(p/2 - 1)(F + 2 B + W - 3 W)`: `DualPipe`.
    Bidirectional,
    /// Every micro-batch alone.
    Serial,
}

impl Bubble {
    /// The kind that `schedule` leaves.
    #[must_use]
    pub fn of(schedule: Schedule) -> Self {
        match schedule {
            Schedule::Naive => Self::Serial,
            Schedule::Gpipe | Schedule::TeraPipe => Self::Flush,
            Schedule::Interleaved
            | Schedule::LoopedBfs
            | Schedule::InterleavedOverlap
            | Schedule::Hanayo
            | Schedule::Chimera => Self::OverChunks,
            Schedule::ZbH1 | Schedule::InterleavedZb | Schedule::VHalf => Self::Split,
            Schedule::ZbH2 | Schedule::ZbAuto | Schedule::ZbV | Schedule::ZbVAuto => Self::None,
            Schedule::Pipedream | Schedule::Pipedream2bw => Self::Endless,
            Schedule::DualPipe | Schedule::DualPipeV => Self::Bidirectional,
            _ => Self::Whole,
        }
    }
}

/// Seconds from the first forward to the last backward of `microbatches` over `ranks` pipeline ranks that hold
/// `stages` (global, in order), with `p2p` seconds between ranks.
#[must_use]
pub fn pipeline_seconds(
    stages: &[Passes],
    ranks: usize,
    microbatches: u64,
    bubble: Bubble,
    p2p: f64,
) -> f64 {
    let (p, m) = (ranks.max(1), microbatches as f64);
    let mut held = vec![Passes::default(); p];
    for (stage, passes) in stages.iter().enumerate() {
        let rank = &mut held[stage % p];
        rank.forward += passes.forward;
        rank.backward_input += passes.backward_input;
        rank.backward_weight += passes.backward_weight;
    }
    let totals: Vec<f64> = held.iter().map(|rank| rank.total()).collect();
    let sum: f64 = totals.iter().sum();
    if p == 1 {
        return m * sum;
    }
    let longest = totals.iter().copied().fold(0.0, f64::max);
    let chunks = (stages.len() / p).max(1) as f64;
    let hops = 2.0 * (p - 1) as f64 * p2p;
    let mean = |part: fn(&Passes) -> f64| held.iter().map(part).sum::<f64>() / p as f64;
    let (f, b, w) = (
        mean(|rank| rank.forward),
        mean(|rank| rank.backward_input),
        mean(|rank| rank.backward_weight),
    );
    let filled = m * longest;
    match bubble {
        Bubble::Serial => m * (sum + hops),
        Bubble::Whole => (m - 1.0) * slowest_cycle(&totals, p2p).seconds + sum + hops,
        Bubble::Endless => m * slowest_cycle(&totals, p2p).seconds,
        Bubble::Flush => {
            let slowest = |part: fn(&Passes) -> f64| held.iter().map(part).fold(0.0, f64::max);
            let forward = slowest(|rank| rank.forward);
            let backward = slowest(|rank| rank.backward_input + rank.backward_weight);
            (m - 1.0) * (forward + backward) + sum + hops
        }
        Bubble::OverChunks => {
            filled + (sum - longest) / chunks + 2.0 * (stages.len() - 1) as f64 * p2p
        }
        Bubble::Split => filled + (p - 1) as f64 * (f + b - w).max(0.0) / chunks + hops,
        Bubble::None => filled + hops,
        Bubble::Bidirectional => {
            filled
                + (p as f64 / 2.0 - 1.0).max(0.0) * (f + 2.0 * b - 2.0 * w).max(0.0) / chunks
                + hops
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equal(
        stages: usize,
        forward: f64,
        backward_input: f64,
        backward_weight: f64,
    ) -> Vec<Passes> {
        vec![
            Passes {
                forward,
                backward_input,
                backward_weight
            };
            stages
        ]
    }

    /// (m - 1) max + sum, the textbook form, wherever one stage is the slowest by far.
    #[test]
    fn the_slowest_stage_sets_the_pace() {
        let mut stages = equal(4, 1.0, 1.0, 1.0);
        stages[2] = Passes {
            forward: 2.0,
            backward_input: 2.0,
            backward_weight: 2.0,
        };
        let time = pipeline_seconds(&stages, 4, 10, Bubble::Whole, 0.0);
        assert!((time - (9.0 * 6.0 + 15.0)).abs() < 1e-9);
    }

    #[test]
    fn better_schedules_leave_less_idle() {
        let stages = equal(8, 1.0, 1.0, 1.0);
        let time = |bubble| pipeline_seconds(&stages, 8, 16, bubble, 0.0);
        assert!(time(Bubble::None) < time(Bubble::Split));
        assert!(time(Bubble::Split) < time(Bubble::Whole));
        assert!(time(Bubble::Whole) < time(Bubble::Serial));
    }
}
