//! A whole pipeline's operations, as each worker timed them: three ratios that tell a slow machine, unequal stages and
//! unequal micro-batches apart.
//!
//! Sources of the ratios: `StragglerAnalysis` (OSDI 25), whose labelled jobs they name; the schedule of equal stages is
//! simulated, so that what unequal stages and messages cost comes in seconds.

use super::causes::{CauseId, FoundCause};
use super::figures::{seconds_of_files, share_of_files};
use super::series::middle_of;
use crate::message::Message;
use crate::pipeline::{self, Durations, Spec};
use crate::run::Schedule as ScheduleId;
use crate::t;
use crate::units::significant;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An operation of a worker in one step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerOp {
    pub step: u64,
    /// Data-parallel and pipeline rank.
    pub dp: u64,
    pub pp: u64,
    pub microbatch: u64,
    /// Backward; else forward.
    pub backward: bool,
    /// Seconds on the worker's own clock.
    pub start: f64,
    pub end: f64,
}

/// Three ratios of a job. Near 1, and 0 for the spread: nothing of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerRatios {
    /// Slowest stage over the median stage.
    pub stages: f64,
    /// Slowest worker over the median worker of its stage, with its data-parallel and pipeline rank.
    pub workers: f64,
    pub slow_worker: (u64, u64),
    /// Standard deviation over mean of a worker's micro-batches.
    pub microbatches: f64,
    /// How much the same micro-batch is long on every stage: 1 for unequal lengths, 0 for noise.
    pub together: f64,
}

/// Times of the workers of a job, from its operations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkerTimes {
    pub steps: u64,
    pub workers: u64,
    pub microbatches: u64,
    /// Seconds of the median step.
    pub measured_s: f64,
    /// Seconds of a 1F1B step whose stages all take what the median one takes, without messages; none of other
    /// schedules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub even_s: Option<f64>,
    /// With the stages as they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages_s: Option<f64>,
    /// The longest of the pipelines that the slowest worker is not in: none where there is one pipeline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others_s: Option<f64>,
    pub ratios: WorkerRatios,
}

/// A worker that is slower by so much is a cause.
const SLOW: f64 = 1.05;
/// Micro-batches that scatter by so much, together on all stages, are unequal.
const SCATTER: f64 = 0.05;

impl WorkerTimes {
    /// Measures `ops`; none of none. The first step is left out where there are three or more.
    pub fn of(ops: &[WorkerOp]) -> Option<Self> {
        let mut numbers: Vec<u64> = ops.iter().map(|op| op.step).collect();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.len() > 2 {
            numbers.remove(0);
        }
        let length = |step: u64| {
            let of = ops.iter().filter(|op| op.step == step);
            let (start, end) = of.fold((f64::MAX, f64::MIN), |(start, end), op| (start.min(op.start), end.max(op.end)));
            end - start
        };
        numbers.sort_by(|a, b| length(*a).total_cmp(&length(*b)));
        let chosen = *numbers.get((numbers.len().max(1) - 1) / 2)?;
        let steps = numbers.len() as u64;
        // Seconds of each worker and micro-batch, forward and backward.
        let mut each: BTreeMap<(u64, u64), BTreeMap<u64, f64>> = BTreeMap::new();
        let mut passes: BTreeMap<u64, [Vec<f64>; 2]> = BTreeMap::new();
        for op in ops.iter().filter(|op| op.step == chosen) {
            *each.entry((op.dp, op.pp)).or_default().entry(op.microbatch).or_default() += op.end - op.start;
            passes.entry(op.pp).or_default()[usize::from(op.backward)].push(op.end - op.start);
        }
        let means: BTreeMap<(u64, u64), f64> = each
            .iter()
            .map(|(worker, times)| (*worker, times.values().sum::<f64>() / times.len().max(1) as f64))
            .collect();
        let microbatches = each.values().map(BTreeMap::len).max()?;
        let measured_s = length(chosen);
        let (even_s, stages_s) = Self::simulated(&passes, &each, microbatches);
        let ratios = ratios(&each, &means);
        let others_s = ops
            .iter()
            .filter(|op| op.step == chosen && op.dp != ratios.slow_worker.0)
            .fold(BTreeMap::<u64, (f64, f64)>::new(), |mut spans, op| {
                let span = spans.entry(op.dp).or_insert((f64::MAX, f64::MIN));
                *span = (span.0.min(op.start), span.1.max(op.end));
                spans
            })
            .into_values()
            .map(|(start, end)| end - start)
            .reduce(f64::max);
        Some(Self {
            steps,
            workers: each.len() as u64,
            microbatches: microbatches as u64,
            measured_s,
            even_s,
            stages_s,
            others_s,
            ratios,
        })
    }

    /// 1F1B with the median stage's times on every stage, and with the times of each; only where every worker runs one
    /// stage and there is one pipeline.
    fn simulated(
        passes: &BTreeMap<u64, [Vec<f64>; 2]>,
        each: &BTreeMap<(u64, u64), BTreeMap<u64, f64>>,
        microbatches: usize,
    ) -> (Option<f64>, Option<f64>) {
        let pp = passes.len();
        let once = passes.values().all(|[forward, _]| forward.len() == microbatches * each.len() / pp.max(1));
        if pp < 2 || !once {
            return (None, None);
        }
        let stages: Vec<[f64; 2]> =
            passes.values().map(|[forward, backward]| [middle_of(forward), middle_of(backward)]).collect();
        let middle = |pass: usize| {
            let times: Vec<f64> = stages.iter().map(|stage| stage[pass]).collect();
            middle_of(&times)
        };
        let equal = vec![[middle(0), middle(1)]; pp];
        let length = |stages: &[[f64; 2]]| {
            let (Ok(ranks), Ok(count)) = (u32::try_from(pp), u32::try_from(microbatches)) else {
                return None;
            };
            let durations = Durations {
                forward: stages.iter().map(|stage| stage[0]).collect(),
                backward_input: stages.iter().map(|stage| stage[1]).collect(),
                backward_weight: vec![0.0; pp],
                ..Durations::uniform(ranks, 0.0, 0.0, 0.0)
            };
            let order = pipeline::build(&Spec::new(ScheduleId::OneFOneB.row(), ranks, count), &durations).ok()?.order;
            pipeline::time(&order, &durations).ok().map(|spans| spans.makespan())
        };
        (length(&equal), length(&stages))
    }

    /// The causes in it, by the seconds of the step that each has.
    pub fn causes(&self) -> Vec<FoundCause> {
        let found = [self.slow_worker(), self.unequal_stages(), self.unequal_lengths(), self.messages()];
        let mut causes: Vec<FoundCause> = found.into_iter().flatten().collect();
        crate::sort::sort_by(&mut causes, |a: &FoundCause, b| {
            b.seconds.unwrap_or(0.0).total_cmp(&a.seconds.unwrap_or(0.0))
        });
        causes
    }

    /// A cause that takes `seconds` of the step.
    fn cause(&self, id: CauseId, seconds: f64, evidence: Message, measure: Message) -> FoundCause {
        FoundCause {
            seconds: Some(seconds),
            measure: Some(measure),
            predicted_s: Some(self.measured_s - seconds),
            ..FoundCause::new(id, evidence)
        }
    }

    /// Seconds that the slow worker adds to the step; 0 where none is slow.
    fn slow_s(&self) -> f64 {
        if self.ratios.workers <= SLOW {
            return 0.0;
        }
        // Pipelines without the slow worker show what the step would be; of one pipeline the worker's own share is all
        // there is.
        let alone = self.measured_s * (1.0 - 1.0 / self.ratios.workers.max(1.0));
        self.others_s.map_or(alone, |others| (self.measured_s - others).max(0.0))
    }

    fn slow_worker(&self) -> Option<FoundCause> {
        let slow = self.slow_s();
        if slow <= 0.0 {
            return None;
        }
        let (dp, pp) = self.ratios.slow_worker;
        let evidence = t!(
            "The worker of data-parallel rank {dp} and pipeline rank {pp} takes {times} times as long for a \
                micro-batch as the others of its stage.",
            dp,
            pp,
            times = significant(self.ratios.workers, 3)
        );
        let measure = t!("clocks and errors of that GPU (nvidia-smi -q): 1 min");
        Some(self.cause(CauseId::LateRank, slow, evidence, measure))
    }

    fn unequal_stages(&self) -> Option<FoundCause> {
        let slowest = self.ratios.stages;
        if slowest <= SLOW {
            return None;
        }
        let seconds = match (self.even_s, self.stages_s) {
            (Some(even), Some(stages)) => stages - even,
            _ => self.measured_s * (1.0 - 1.0 / slowest.max(1.0)),
        };
        let evidence = t!(
            "The slowest stage takes {times} times as long for a micro-batch as the median one.",
            times = significant(slowest, 3)
        );
        let measure = t!("fewer layers on that stage: the panel of uneven layers says how many");
        Some(self.cause(CauseId::UnequalStages, seconds, evidence, measure))
    }

    fn unequal_lengths(&self) -> Option<FoundCause> {
        let WorkerRatios { microbatches: scatter, together, .. } = self.ratios;
        if scatter <= SCATTER || together <= 0.5 {
            return None;
        }
        let evidence = t!(
            "Micro-batch times vary by {share} of their mean, and the same micro-batches are slow on all stages.",
            share = share_of_files("scatter of micro-batches", scatter)
        );
        let measure = t!("pack samples to one length, or sort them: 10 min");
        Some(self.cause(CauseId::UnequalLengths, self.measured_s * scatter / (1.0 + scatter), evidence, measure))
    }

    /// What remains of the step beside the stages' own times and the slow worker.
    fn messages(&self) -> Option<FoundCause> {
        let stages = self.stages_s.filter(|stages| self.measured_s > *stages)?;
        let rest = self.measured_s - stages - self.slow_s();
        if rest <= 0.005 * self.measured_s {
            return None;
        }
        let evidence = t!(
            "Messages and jitter: 1F1B with the measured times of the stages takes {stages}.",
            stages = seconds_of_files("1F1B with the measured stages", stages)
        );
        let measure = t!("the time of one send between two stages in a trace: 5 min");
        Some(self.cause(CauseId::Bubble, rest, evidence, measure))
    }
}

fn ratios(each: &BTreeMap<(u64, u64), BTreeMap<u64, f64>>, means: &BTreeMap<(u64, u64), f64>) -> WorkerRatios {
    let mut stages: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for ((_, pp), mean) in means {
        stages.entry(*pp).or_default().push(*mean);
    }
    let medians: BTreeMap<u64, f64> = stages.iter().map(|(pp, times)| (*pp, middle_of(times))).collect();
    let all: Vec<f64> = medians.values().copied().collect();
    let slowest = all.iter().copied().fold(0.0, f64::max);
    let middle = middle_of(&all);
    let mut found = WorkerRatios { stages: slowest / middle.max(f64::MIN_POSITIVE), ..WorkerRatios::default() };
    for ((dp, pp), mean) in means {
        let ratio = mean / medians.get(pp).copied().unwrap_or(*mean).max(f64::MIN_POSITIVE);
        if ratio > found.workers {
            (found.workers, found.slow_worker) = (ratio, (*dp, *pp));
        }
    }
    let spreads = each.iter().map(|(worker, times)| {
        let mean = means.get(worker).copied().unwrap_or_default();
        let squares = times.values().map(|time| (time - mean) * (time - mean)).sum::<f64>();
        (squares / times.len().max(1) as f64).sqrt() / mean.max(f64::MIN_POSITIVE)
    });
    found.microbatches = middle_of(&spreads.collect::<Vec<_>>());
    found.together = together(each, means);
    found
}

/// Mean correlation over neighbouring stages of one pipeline of how long the same micro-batch takes.
fn together(each: &BTreeMap<(u64, u64), BTreeMap<u64, f64>>, means: &BTreeMap<(u64, u64), f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for ((dp, pp), times) in each {
        let next = (*dp, pp + 1);
        let (Some(others), Some(mean), Some(other)) = (each.get(&next), means.get(&(*dp, *pp)), means.get(&next))
        else {
            continue;
        };
        let pairs: Vec<(f64, f64)> = times
            .iter()
            .filter_map(|(microbatch, time)| Some((time - mean, others.get(microbatch)? - other)))
            .collect();
        let product: f64 = pairs.iter().map(|(a, b)| a * b).sum();
        let squares: [f64; 2] = [pairs.iter().map(|(a, _)| a * a).sum(), pairs.iter().map(|(_, b)| b * b).sum()];
        let scale = (squares[0] * squares[1]).sqrt();
        if scale > 0.0 {
            sum += product / scale;
            count += 1.0;
        }
    }
    if count > 0.0 { sum / count } else { 0.0 }
}
