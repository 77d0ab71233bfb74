//! Micro-batches of unequal length: samples drawn from a distribution, packed, ordered and let in, each way with the
//! time that the lecture's formula gives it and the time that the simulator does.
//!
//! A micro-batch of n samples padded to L tokens takes `a + b n L + c n L²` on the longest rank: a parabola through
//! what this run's stages take at three lengths. The formula is `(c − 1) max t + sum t` over c ranks.

use crate::pipeline::injection::{adaptive, fullest};
use crate::pipeline::packing::{LengthSpread, draw, iteration_time, pack, rise_and_fall};
use crate::pipeline::{Order, Timeline, measure};
use crate::report::{Evaluation, evaluate};
use crate::run::{Run, Schedule};
use crate::units::Seconds;

/// Samples drawn for a pipeline, whatever the Run's batch: packed they become another one.
const SAMPLES: usize = 64;
/// Most ops of an order that is offered as one of the Run's own: it becomes part of its link.
const MAX_OPS: usize = 1200;
/// Seed of the drawn samples.
const SEED: u64 = 2026;

/// A way to run the samples.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleWay {
    /// In words.
    pub name: &'static str,
    /// Lengths of the samples of each micro-batch, in the order in which they enter.
    pub microbatches: Vec<Vec<u64>>,
    /// Tokens of each with its padding.
    pub tokens: Vec<u64>,
    /// Seconds of each on the longest rank.
    pub times: Vec<f64>,
    /// `(c − 1) max t + sum t`.
    pub formula: Seconds,
    /// The simulated pipeline; none where the schedule cannot run so many micro-batches.
    pub timeline: Option<Timeline>,
    /// Tokens held at once on the fullest rank.
    pub held: f64,
    /// Settings that make it the Run's own.
    pub set: Vec<(&'static str, String)>,
}

impl SampleWay {
    /// Length of the simulated pipeline.
    pub fn simulated(&self) -> Option<Seconds> {
        self.timeline.as_ref().map(|timeline| Seconds(timeline.makespan()))
    }
    /// Share of the tokens that is padding.
    pub fn padding(&self) -> f64 {
        let samples: u64 = self.microbatches.iter().flatten().sum();
        let tokens: u64 = self.tokens.iter().sum();
        1.0 - samples as f64 / tokens.max(1) as f64
    }
}

/// The samples of one pipeline and the ways to run them.
#[derive(Clone, Debug, PartialEq)]
pub struct Unequal {
    /// Pipeline ranks, c.
    pub ranks: u32,
    /// Samples drawn.
    pub samples: usize,
    /// The longest, tokens.
    pub longest: u64,
    /// Tokens that a micro-batch may have: the Run's own.
    pub most_tokens: u64,
    /// Each way, the plain one first.
    pub ways: Vec<SampleWay>,
}

/// Time of a micro-batch.
#[derive(Clone, Copy, Debug)]
struct Pace {
    fixed: f64,
    a_token: f64,
    a_square: f64,
}

impl Pace {
    /// Through the longest rank's time at a quarter, a half and all of the Run's sequence.
    fn of(run: &Run) -> Option<Self> {
        let full = run.seq_len as f64;
        let at = |parts: u64| -> Option<f64> {
            let short = Run {
                seq_len: run.seq_len / parts,
                micro_batch: 1,
                global_batch: run.global_batch / run.micro_batch.max(1),
                microbatch_lengths: None,
                ..run.clone()
            };
            Some(rank_seconds(&evaluate(&short).ok()?))
        };
        let (quarter, half, whole) = (at(4)?, at(2)?, at(1)?);
        // Lagrange through 1/4, 1/2 and 1.
        let a_square = (whole - 3.0 * half + 2.0 * quarter) * 8.0 / 3.0;
        let a_token = (half - quarter - a_square * 3.0 / 16.0) * 4.0;
        let fixed = whole - a_token - a_square;
        let pace =
            Self { fixed: fixed.max(0.0), a_token: a_token.max(0.0) / full, a_square: a_square.max(0.0) / full / full };
        (whole > 0.0).then_some(pace)
    }
    fn seconds(self, samples: u64, length: u64) -> f64 {
        let (n, length) = (samples as f64, length as f64);
        self.fixed + n * length * (self.a_token + self.a_square * length)
    }
}

/// Seconds of one micro-batch on the rank that takes longest for it.
fn rank_seconds(evaluation: &Evaluation) -> f64 {
    let durations = &evaluation.durations;
    let lists = [&durations.forward, &durations.backward_input, &durations.backward_weight];
    let pieces = f64::from(evaluation.order.splits);
    let work = |stages: &Vec<usize>| -> f64 {
        let stages = stages.iter();
        stages.flat_map(|stage| lists.iter().filter_map(|list| list.get(*stage))).sum()
    };
    let loads = evaluation.loads.iter().map(|load| work(&load.stages) * pieces);
    loads.fold(0.0, f64::max)
}

/// Samples drawn from `spread` for one pipeline of `evaluation`, run in several ways; none where its stages cannot be
/// timed at other lengths.
pub fn unequal(evaluation: &Evaluation, spread: LengthSpread) -> Option<Unequal> {
    let run = &evaluation.scenario.run;
    if run.schedule == Schedule::Custom {
        // An order of one's own is for its own micro-batches only.
        let run = Run { schedule: Schedule::OneFOneB, ..run.clone() };
        return unequal(&evaluate(&run).ok()?, spread);
    }
    if run.measured_step_s.is_some() {
        // Other batches take other steps than the measured one: the model's own times are compared.
        let run = Run { measured_step_s: None, ..run.clone() };
        return unequal(&evaluate(&run).ok()?, spread);
    }
    let pace = Pace::of(run)?;
    let each = usize::try_from(run.micro_batch).unwrap_or(1).max(1);
    let samples = SAMPLES.div_ceil(each) * each;
    let most_tokens = run.seq_len.saturating_mul(run.micro_batch);
    let drawn = draw(spread, samples, run.seq_len, SEED);
    let longest = drawn.iter().copied().max()?;
    let bench = Bench { evaluation, pace, usual: rank_seconds(evaluation) };
    let as_drawn: Vec<Vec<u64>> = drawn.chunks(each).map(<[u64]>::to_vec).collect();
    let packed = pack(&drawn, bench.ranks(), most_tokens, |n, length| pace.seconds(n, length))?;
    let order = rise_and_fall(&packed.times);
    let risen: Vec<Vec<u64>> = order.iter().filter_map(|at| packed.microbatches.get(*at).cloned()).collect();
    let unpadded = bench.way("each to its own length", as_drawn.clone(), None);
    let injected = bench.injected(&unpadded, most_tokens);
    let mut ways = vec![bench.way("padded to the longest", as_drawn, Some(longest)), unpadded];
    ways.extend(injected);
    ways.push(bench.way("packed, shortest first", packed.microbatches, None));
    ways.push(bench.way("packed, rising then falling", risen, None));
    Some(Unequal { ranks: bench.ranks(), samples, longest, most_tokens, ways })
}

/// Inputs of the comparison.
struct Bench<'a> {
    evaluation: &'a Evaluation,
    pace: Pace,
    usual: f64,
}

impl Bench<'_> {
    fn ranks(&self) -> u32 {
        self.evaluation.order.pp()
    }
    /// `order` with micro-batches that take `times`.
    fn timeline(&self, order: &Order, times: &[f64]) -> Option<Timeline> {
        let pieces = order.splits as usize;
        let scale = times.iter().flat_map(|time| std::iter::repeat_n(time / self.usual, pieces));
        let durations = self.evaluation.durations.clone();
        let durations = durations.with_microbatch_scale(scale.collect());
        Some(measure(order, &durations).ok()?.0)
    }
    fn way(&self, name: &'static str, microbatches: Vec<Vec<u64>>, padded: Option<u64>) -> SampleWay {
        let longest = |samples: &Vec<u64>| padded.or_else(|| samples.iter().copied().max()).unwrap_or(0);
        let (mut tokens, mut times) = (Vec::new(), Vec::new());
        for samples in &microbatches {
            let (count, length) = (samples.len() as u64, longest(samples));
            tokens.push(count * length);
            times.push(self.pace.seconds(count, length));
        }
        let set = self.set(&tokens);
        let run = self.evaluation.scenario.run.with_texts(&set);
        let found = run.and_then(|run| evaluate(&run).ok());
        let order = found.map(|found| found.order);
        let weights: Vec<f64> = tokens.iter().map(|tokens| *tokens as f64).collect();
        SampleWay {
            name,
            formula: Seconds(iteration_time(&times, self.ranks())),
            timeline: order.as_ref().and_then(|order| self.timeline(order, &times)),
            held: order.map_or(0.0, |order| fullest(&order, &weights)),
            microbatches,
            tokens,
            times,
            set,
        }
    }
    /// The way in which the micro-batches of `like` enter as memory allows: that of p micro-batches as long as may be.
    fn injected(&self, like: &SampleWay, most_tokens: u64) -> Option<SampleWay> {
        let stages = self.evaluation.durations.forward.len();
        if stages != self.ranks() as usize || stages < 2 || self.evaluation.scenario.chunks != 1 {
            return None;
        }
        let scale = like.times.iter().map(|time| time / self.usual).collect();
        let durations = self.evaluation.durations.clone();
        let durations = durations.with_microbatch_scale(scale);
        let weights: Vec<f64> = like.tokens.iter().map(|tokens| *tokens as f64).collect();
        let room = stages as f64 * most_tokens as f64;
        let order = adaptive(&durations, &weights, room);
        let mut set = Vec::new();
        if order.items() <= MAX_OPS {
            set = self.set(&like.tokens);
            let lines: Vec<String> = order.tokens().iter().map(|rank| rank.join(",")).collect();
            set.push(("schedule", "custom".to_owned()));
            set.push(("schedule_options.order", lines.join("|")));
        }
        Some(SampleWay {
            name: "the same, let in as memory allows",
            timeline: self.timeline(&order, &like.times),
            held: fullest(&order, &weights),
            set,
            ..like.clone()
        })
    }
    /// Micro-batches of `tokens` each as the Run's own.
    fn set(&self, tokens: &[u64]) -> Vec<(&'static str, String)> {
        let scenario = &self.evaluation.scenario;
        let each = scenario.layout.dp.saturating_mul(scenario.run.micro_batch);
        let lengths: Vec<String> = tokens.iter().map(ToString::to_string).collect();
        vec![
            ("global_batch", (each.saturating_mul(tokens.len() as u64)).to_string()),
            ("microbatch_lengths", lengths.join(",")),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(run: &Run, spread: LengthSpread) -> Unequal {
        unequal(&evaluate(run).unwrap(), spread).unwrap()
    }

    fn run() -> Run {
        Run { micro_batch: 2, ..Run::default() }
    }

    /// Every sample is run once in every way; packing is never longer by the formula that it minimises than what came.
    #[test]
    fn each_way_runs_every_sample_and_packing_is_no_longer_by_its_formula() {
        for spread in [LengthSpread::Uniform, LengthSpread::LogNormal, LengthSpread::Bimodal] {
            let found = of(&run(), spread);
            let sorted = |way: &SampleWay| {
                let mut samples: Vec<u64> = way.microbatches.iter().flatten().copied().collect();
                samples.sort_unstable();
                samples
            };
            let first = sorted(&found.ways[0]);
            for way in &found.ways {
                assert_eq!(sorted(way), first, "{}", way.name);
                assert!(way.simulated().unwrap().0 > 0.0 && (0.0..1.0).contains(&way.padding()));
            }
            let [padded, own, injected, packed, risen] = &found.ways[..] else {
                panic!("{}", found.ways.len());
            };
            assert!(packed.formula.0 <= own.formula.0 && own.formula.0 < padded.formula.0);
            // The formula does not see the order.
            assert!((packed.formula.0 - risen.formula.0).abs() < 1e-9 * risen.formula.0);
            let room = 4.0 * found.most_tokens as f64;
            assert!(injected.held <= room && injected.tokens == own.tokens);
        }
    }

    /// The formula is exact for `GPipe` with equal stages; here the longest stage's time stands for all, so it is
    /// above.
    #[test]
    fn gpipe_is_never_longer_than_the_formula() {
        let gpipe = Run { schedule: Schedule::Gpipe, ..run() };
        let found = of(&gpipe, LengthSpread::Uniform);
        // Letting in as memory allows is another order.
        for way in found.ways.iter().filter(|way| !way.name.contains("memory")) {
            let latency = 1e-2 * way.formula.0;
            assert!(way.simulated().unwrap().0 <= way.formula.0 + latency, "{}", way.name);
        }
    }

    #[test]
    fn a_way_becomes_the_runs_own() {
        let found = of(&run(), LengthSpread::Bimodal);
        for way in &found.ways {
            let evaluation = evaluate(&run().with_texts(&way.set).unwrap()).unwrap();
            assert_eq!(evaluation.scenario.run.microbatch_lengths.as_ref(), Some(&way.tokens));
            assert_eq!(evaluation.scenario.layout.microbatches, way.tokens.len() as u64);
        }
        let custom = &found.ways[2].set;
        let evaluation = evaluate(&run().with_texts(custom).unwrap()).unwrap();
        assert_eq!(unequal(&evaluation, LengthSpread::Bimodal), Some(found.clone()));
        assert!(custom.iter().any(|(key, value)| *key == "schedule" && value == "custom"));
    }

    /// The parabola meets the stages where it was laid through them.
    #[test]
    fn the_pace_is_that_of_this_runs_stages() {
        let run = Run::default();
        let pace = Pace::of(&run).unwrap();
        for parts in [1, 2, 4] {
            let short = Run { seq_len: run.seq_len / parts, ..run.clone() };
            let stage = rank_seconds(&evaluate(&short).unwrap());
            let ours = pace.seconds(1, short.seq_len);
            assert!((ours / stage - 1.0).abs() < 1e-9, "{parts}: {ours} {stage}");
        }
    }
}
