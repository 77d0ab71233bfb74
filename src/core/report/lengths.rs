//! Samples of unequal length: the work of the replica that a step waits for, and what another way to deal them gives.
//!
//! A micro-batch of samples of L tokens takes `α Σ L + β Σ L²`: both from the stages of this run, timed at two
//! lengths that attention sees. Replicas of a step pick their micro-batches from a pool that is drawn with a fixed
//! seed.

use super::evaluation::Evaluation;
use super::passes::Pass;
use crate::issue::Issue;
use crate::pipeline::dealing::{Dealing, DynamicContext, Slowest};
use crate::run::{Congruence, Deal, LengthsParts, OneOf, Scenario, StageKinds};
use crate::t;
use crate::time::Clock;
use crate::units::{show_percent, significant, whole};
use serde::Serialize;

/// Seed of the steps.
const SEED: u64 = 7;

/// Where the replicas of a step wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplicasWait {
    /// At the reduction of the gradients.
    Step,
    /// In every micro-batch: experts, or what ZeRO gathers and reduces.
    MicroBatch,
}

/// Effect of samples of unequal length on a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LengthsReport {
    /// Tokens of samples over the room of the micro-batches.
    pub fill: f64,
    /// Tokens of samples over those that are computed; the rest is padding.
    pub real: f64,
    /// Mean tokens of a sample.
    pub mean_tokens: f64,
    /// Mean samples of a micro-batch.
    pub samples: f64,
    /// Length at which attention takes as long as the rest.
    pub equal_tokens: f64,
    /// Share of a mean micro-batch's time that grows with the square of lengths.
    pub attention_share: f64,
    pub waits: ReplicasWait,
    /// Work of the replica or rank that the step waits for, over the mean: as the run deals samples.
    pub imbalance: f64,
    /// `imbalance` if micro-batches went to replicas as they arrive.
    pub imbalance_arrival: f64,
    /// `imbalance` if micro-batches were dealt to replicas longest first.
    pub imbalance_sorted: f64,
    /// `imbalance` if each sample ran on as many context-parallel ranks as it needs; none with a pipeline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imbalance_dynamic: Option<f64>,
    /// Time of the pipeline in the fast and the slow tenth of steps, over the mean.
    pub fast_tenth: f64,
    pub slow_tenth: f64,
}

/// Ratio of the imbalance as samples arrive to that of samples dealt longest first that is worth a word.
const WORTH: f64 = 1.05;
/// Share of what is computed that is padding and worth a word.
const MUCH_PADDING: f64 = 0.1;

/// Advice for a run of unequal samples.
pub(super) fn lengths_warnings(scenario: &Scenario, found: &LengthsReport) -> Vec<Issue> {
    let run = &scenario.run;
    let mut issues = Vec::new();
    let arrival = run.lengths.deal != Some(Deal::Sorted) && !run.cp_dynamic;
    if arrival && found.imbalance_arrival > WORTH * found.imbalance_sorted {
        let message = t!(
            "the replica that a step waits for has {arrival} times the work of the mean one, as samples arrive; dealt \
                longest first it has {sorted} times",
            arrival = significant(found.imbalance_arrival, 3),
            sorted = significant(found.imbalance_sorted, 3)
        );
        issues.push(Issue::warning("lengths.deal", message).with_fix("lengths.deal", Deal::Sorted.id()));
    }
    let padding = 1.0 - found.real;
    if run.lengths.pack.is_none() && padding > MUCH_PADDING {
        let message = t!(
            "{percent} of the tokens that are computed pad samples to the longest of their micro-batch; packed ones \
                are not padded",
            percent = show_percent(padding)
        );
        issues.push(Issue::warning("lengths.pack", message).with_fix("lengths.pack", run.seq_len));
    }
    issues
}

/// How micro-batches of `scenario` are dealt.
fn dealing(scenario: &Scenario, deal: Option<Deal>) -> Dealing {
    let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    Dealing {
        replicas: size(scenario.layout.dp),
        microbatches: size(scenario.layout.microbatches),
        ranks: u32::try_from(scenario.layout.pp).unwrap_or(u32::MAX),
        together: size(scenario.replicas_together()),
        sorted: deal == Some(Deal::Sorted),
    }
}

/// Share of the time of `passes` that grows with the square of lengths, by the same stages at another length.
fn squared_share(scenario: &Scenario, kinds: &StageKinds, passes: &[Pass]) -> f64 {
    let now = scenario.attended_tokens();
    let other = if now.saturating_mul(2) <= scenario.capacity { now * 2 } else { (now / 2).max(1) };
    if other == now {
        return 0.0;
    }
    let mut at_other = scenario.clone();
    at_other.samples = None;
    at_other.run.lengths = LengthsParts::default();
    at_other.run.documents = Some(vec![other]);
    at_other.run.seq_len = scenario.capacity;
    let clock = Clock::new(&at_other);
    let sum = |passes: &[Pass]| passes.iter().map(|pass| pass.total().0).sum::<f64>();
    let (time, time_at_other) = (sum(passes), sum(&kinds.each(|stage| Pass::of(&at_other, &clock, stage))));
    let a_token = (time_at_other - time) / (other as f64 - now as f64);
    if time > 0.0 { (a_token * now as f64 / time).clamp(0.0, 1.0) } else { 0.0 }
}

/// Deals the samples of `scenario`, whose stages take `passes`, and sets the work of the slowest replica in it.
pub(super) fn unequal_samples(scenario: &mut Scenario, kinds: &StageKinds, passes: &[Pass]) -> Option<LengthsReport> {
    let pool = scenario.samples.clone()?;
    let usual = scenario.usual_tokens();
    let squared = squared_share(scenario, kinds, passes);
    let work = pool.work(usual, squared);
    let slowest = |deal: Option<Deal>| {
        let mut random = Congruence::new(SEED);
        dealing(scenario, deal).slowest(&work, |count| random.index(count))
    };
    let (arrival, sorted) = (slowest(None), slowest(Some(Deal::Sorted)));
    let dynamic = (scenario.layout.pp == 1).then(|| dynamic_context(scenario, squared));
    let (imbalance_arrival, imbalance_sorted) = (arrival.imbalance, sorted.imbalance);
    let imbalance_dynamic = dynamic.as_ref().map(|found| found.imbalance);
    let found = match (dynamic, scenario.run.lengths.deal) {
        (Some(dynamic), _) if scenario.run.cp_dynamic => dynamic,
        (_, Some(Deal::Sorted)) => sorted,
        _ => arrival,
    };
    let room = usual;
    let samples = pool.packs.iter().map(|pack| pack.samples).sum::<f64>() / pool.packs.len().max(1) as f64;
    let report = LengthsReport {
        fill: pool.real / room,
        real: pool.real / pool.tokens,
        mean_tokens: pool.mean,
        samples,
        equal_tokens: pool.attended * (1.0 - squared) / squared.max(1e-9),
        attention_share: squared,
        waits: if scenario.replicas_together() > 1 { ReplicasWait::MicroBatch } else { ReplicasWait::Step },
        imbalance: found.imbalance,
        imbalance_arrival,
        imbalance_sorted,
        imbalance_dynamic,
        fast_tenth: found.low,
        slow_tenth: found.high,
    };
    scenario.scale = Some(found.work);
    Some(report)
}

/// The slowest rank where every sample runs on as many ranks as it needs, as equal work of each micro-batch.
fn dynamic_context(scenario: &Scenario, squared: f64) -> Slowest {
    let Some(pool) = &scenario.samples else { return Slowest::default() };
    let layout = &scenario.layout;
    let part = scenario.capacity as f64 / layout.cp as f64;
    let tokens = scenario.run.cp_rank_tokens.map_or(part, |tokens| tokens as f64);
    let ranks = usize::try_from(layout.dp.saturating_mul(layout.cp)).unwrap_or(usize::MAX);
    let context = DynamicContext { ranks, tokens };
    let usual = scenario.tokens_per_rank();
    let work = |length: f64| length * ((1.0 - squared) + squared * length / pool.attended) / usual;
    let samples = scenario.tokens_per_step() / pool.mean;
    let mut random = Congruence::new(SEED);
    let mut found = context.slowest(samples, || pool.drawn[random.index(pool.drawn.len())], &work);
    let (m, whole_step) = (layout.microbatches.max(1), found.work.iter().sum::<f64>());
    found.work = vec![whole_step / m as f64; usize::try_from(m).unwrap_or(1)];
    found
}

/// A step of the run by replica, for a picture: the samples of each micro-batch, and what it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct DealtStep {
    /// Work of each micro-batch of each replica, over a full one's.
    pub replicas: Vec<Vec<f64>>,
    /// Time at which each starts, in the same unit: later than the end of the one before where replicas wait.
    pub starts: Vec<Vec<f64>>,
    /// Time until the last replica ends.
    pub end: f64,
    /// Steps that are drawn, of which this is one.
    pub of: usize,
}

impl DealtStep {
    /// A step whose `replicas` wait for each other in every micro-batch in groups of `together`.
    fn new(replicas: Vec<Vec<f64>>, dealing: &Dealing, of: usize) -> Self {
        let together = dealing.together.max(1);
        let mut starts: Vec<Vec<f64>> = vec![Vec::new(); replicas.len()];
        let mut end = 0.0_f64;
        for (group, starts) in replicas.chunks(together).zip(starts.chunks_mut(together)) {
            let mut clocks = vec![0.0_f64; group.len()];
            for place in 0..dealing.microbatches {
                if together > 1 {
                    let latest = clocks.iter().copied().fold(0.0, f64::max);
                    clocks.fill(latest);
                }
                for ((clock, replica), starts) in clocks.iter_mut().zip(group).zip(starts.iter_mut()) {
                    starts.push(*clock);
                    *clock += replica.get(place).copied().unwrap_or(0.0);
                }
            }
            end = clocks.into_iter().fold(end, f64::max);
        }
        Self { replicas, starts, end, of }
    }

    /// Share of the replicas' time in which they wait for another.
    pub fn idle(&self) -> f64 {
        1.0 - 1.0 / self.imbalance()
    }

    /// Work of the replica that the step waits for, over the mean.
    pub fn imbalance(&self) -> f64 {
        let work: f64 = self.replicas.iter().flatten().sum();
        self.end * self.replicas.len().max(1) as f64 / work.max(f64::MIN_POSITIVE)
    }

    /// The replica that the step waits for.
    pub fn slowest(&self) -> usize {
        let ends = self
            .replicas
            .iter()
            .zip(&self.starts)
            .map(|(works, starts)| works.last().copied().unwrap_or(0.0) + starts.last().copied().unwrap_or(0.0));
        ends.enumerate().fold((0, 0.0), |most, (at, end)| if end > most.1 { (at, end) } else { most }).0
    }
}

/// One of the drawn steps of `evaluation`, its micro-batches dealt as they arrive and longest first: the one whose
/// imbalances are nearest to those of the report, which are the mean. None where all samples are alike.
pub fn dealt_steps(evaluation: &Evaluation) -> Option<[DealtStep; 2]> {
    let scenario = &evaluation.scenario;
    let pool = scenario.samples.as_ref()?;
    let report = evaluation.report.lengths.as_ref()?;
    let means = [report.imbalance_arrival, report.imbalance_sorted];
    let work = pool.work(scenario.usual_tokens(), report.attention_share);
    let dealings = [None, Some(Deal::Sorted)].map(|deal| dealing(scenario, deal));
    // Both ways pick the same micro-batches.
    let mut random = [(); 2].map(|()| Congruence::new(SEED));
    let count = dealings[0].steps();
    let mut found: Option<(f64, [DealtStep; 2])> = None;
    for _ in 0..count {
        let mut at = 0;
        let steps = dealings.map(|dealing| {
            let step = dealing.step(&work, |below| random[at].index(below));
            at += 1;
            let works = step.iter().map(|replica| replica.iter().map(|pack| work[*pack]).collect());
            DealtStep::new(works.collect(), &dealing, count)
        });
        let away: f64 = steps.iter().zip(means).map(|(step, mean)| (step.imbalance() - mean).abs()).sum();
        if found.as_ref().is_none_or(|(least, _)| away < *least) {
            found = Some((away, steps));
        }
    }
    found.map(|(_, steps)| steps)
}

/// Tokens of a full micro-batch, for words.
pub fn room_tokens(scenario: &Scenario) -> u64 {
    whole(scenario.usual_tokens()).unwrap_or(0)
}
