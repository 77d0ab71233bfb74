//! Steps and time of a batch that grows (Megatron's `--rampup-batch-size start increment samples`).

use crate::issue::Issue;
use crate::run::Run;
use crate::t;
use crate::units::Seconds;

const MOST_INCREMENTS: u64 = 100_000;

/// A batch that grows in equal increments over the first samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    /// Sequences of the first steps.
    pub start: f64,
    /// Sequences added at each increment.
    pub increment: f64,
    /// Sequences over which the batch grows.
    pub samples: f64,
}

/// Steps that a run takes, and their time in full steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RampedSteps {
    /// Optimizer steps.
    pub count: f64,
    pub time: Seconds,
}

impl Ramp {
    /// The ramp of a Run, where it has one.
    ///
    /// # Errors
    /// Numbers that do not lead to the batch.
    pub fn of(run: &Run) -> Result<Option<Self>, Issue> {
        let Some(ramp) = &run.length.batch_ramp else { return Ok(None) };
        let full = run.global_batch;
        match ramp[..] {
            [start, increment, samples]
                if start > 0
                    && increment > 0
                    && start <= full
                    && (full - start).is_multiple_of(increment)
                    && (full - start) / increment <= MOST_INCREMENTS =>
            {
                Ok(Some(Self { start: start as f64, increment: increment as f64, samples: samples as f64 }))
            }
            _ => Err(Issue::error(
                "batch_ramp",
                t!(
                    "three numbers: the batch at the start, an increment that leads from it to {full} in at most \
                        {MOST_INCREMENTS} steps, and the samples over which it grows",
                    full,
                    MOST_INCREMENTS
                ),
            )),
        }
    }

    /// Steps of the first `samples` of the ramp: of a step with `b` sequences, micro-batches and the pipeline's fill
    /// and drain take `t (b/(mbs dp) + (p-1)/v) / (B/(mbs dp) + (p-1)/v)`.
    ///
    /// `full` is the batch after the ramp, `step` its step, `microbatches` its micro-batches a pipeline, `fill` is
    /// `(p-1)/v`.
    pub fn steps(&self, total: f64, full: f64, step: Seconds, microbatches: f64, fill: f64) -> RampedSteps {
        let stages = ((full - self.start) / self.increment).max(0.0);
        let each = if stages > 0.0 { self.samples / stages } else { 0.0 };
        let (mut count, mut time, mut left) = (0.0, 0.0, total);
        let mut batch = self.start;
        while batch < full && left > 0.0 {
            let taken = each.min(left);
            let share = batch / full;
            count += taken / batch;
            time += taken / batch * (share * microbatches + fill) / (microbatches + fill);
            left -= taken;
            batch += self.increment;
        }
        let rest = left.max(0.0) / full;
        RampedSteps { count: count + rest, time: step * (time + rest) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ramp_of_bloom_takes_the_worked_steps() {
        // Worked by hand: `192 16 9_765_625` to 2048, micro-batch 2, dp 8, p 12, 105.5 s a step.
        let ramp = Ramp { start: 192.0, increment: 16.0, samples: 9_765_625.0 };
        let found = ramp.steps(9_765_625.0, 2048.0, Seconds(105.5), 128.0, 11.0);
        assert!((found.count - 12_656.7).abs() < 0.1, "{}", found.count);
        assert!((found.time.0 - 568_922.0).abs() < 1.0, "{}", found.time.0);
        let without = ramp.steps(9_765_625.0, 2048.0, Seconds(105.5), 128.0, 0.0);
        assert!((without.time.0 - 503_063.0).abs() < 1.0, "{}", without.time.0);
        // Full steps follow the ramp.
        let longer = ramp.steps(9_765_625.0 + 20_480.0, 2048.0, Seconds(105.5), 128.0, 11.0);
        assert!((longer.count - found.count - 10.0).abs() < 1e-6);
    }
}
