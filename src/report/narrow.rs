//! "It fits, but ran out of memory?": the blog's way to narrow the cause down, with this Run's figure at each step.
//!
//! Take everything away that costs memory (SGD, one sequence, 128 tokens, recomputation, ZeRO-3) until it runs, then
//! put it back one by one: the step at which it fails again names the cause. Beside it, what stands between an
//! estimate and the driver.

use super::{Evaluation, evaluate};
use crate::memory::{Component, Verdict};
use crate::run::{Optimizer, Recompute, Run};
use crate::source::{DEEPEP, HE_BLOG, MEGATRON_BRIDGE, NCCL, PYTORCH, SIMUMAX, Source};
use crate::units::Bytes;

/// Tokens of a sequence that is sure to be small.
const SHORT: u64 = 128;

/// One rung of the way down.
#[derive(Clone, Debug, PartialEq)]
pub struct Narrowing {
    /// What is taken away here, besides everything above.
    pub change: &'static str,
    /// The fullest rank with it.
    pub peak: Bytes,
    /// Which rank that is.
    pub stage: usize,
    /// Fits, tight or out of memory.
    pub verdict: Verdict,
    /// The fullest rank where everything but this is taken away: what putting it back first needs.
    pub back: Bytes,
}

/// A step of the way: what it is called and what it does to a Run.
type Step = (&'static str, fn(&mut Run));

/// Source: He blog, finding what runs out of memory.
const STEPS: [Step; 5] = [
    ("SGD instead of the optimizer", |run| {
        run.optimizer = Optimizer::Sgd;
    }),
    ("micro-batch of 1", |run| {
        run.micro_batch = 1;
        run.microbatch_lengths = None;
    }),
    ("sequences of 128 tokens", |run| {
        // Context-parallel ranks share a sequence in whole tokens.
        run.seq_len = run.seq_len.min(SHORT.div_ceil(run.cp) * run.cp);
        run.microbatch_lengths = None;
    }),
    ("full recomputation", |run| run.recompute = Recompute::Full),
    ("ZeRO-3", |run| {
        run.zero = 3;
        run.hsdp_shard = None;
    }),
];

/// Where the way was described.
pub static SOURCE: &Source = &HE_BLOG;

/// The way down from the Run of `evaluation`; the first entry is the Run itself.
#[must_use]
pub fn narrow(evaluation: &Evaluation) -> Vec<Narrowing> {
    let start = &evaluation.scenario.run;
    let memory = &evaluation.report.memory;
    let mut way = vec![Narrowing {
        change: "this run",
        peak: memory.peak_bytes,
        stage: memory.peak_stage,
        verdict: memory.verdict,
        back: memory.peak_bytes,
    }];
    let mut run = start.clone();
    for (at, (change, apply)) in STEPS.iter().enumerate() {
        apply(&mut run);
        let mut but_this = start.clone();
        for (other, (_, apply)) in STEPS.iter().enumerate() {
            if other != at {
                apply(&mut but_this);
            }
        }
        let (Ok(here), Ok(back)) = (evaluate(&run), evaluate(&but_this)) else {
            continue;
        };
        let memory = here.report.memory;
        way.push(Narrowing {
            change,
            peak: memory.peak_bytes,
            stage: memory.peak_stage,
            verdict: memory.verdict,
            back: back.report.memory.peak_bytes,
        });
    }
    way
}

/// Something between the estimate and what the driver shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// What it is.
    pub name: &'static str,
    /// What is known of it.
    pub words: &'static str,
    /// What this estimate counts for it on the fullest rank; none: it is not counted.
    pub counted: Option<Bytes>,
    /// Where it was seen.
    pub source: &'static Source,
}

/// The known gaps, with what the estimate of `evaluation` counts for each.
#[must_use]
pub fn gaps(evaluation: &Evaluation) -> Vec<Gap> {
    let memory = &evaluation.report.memory;
    let fullest = memory.per_stage.get(memory.peak_stage);
    let items = fullest.map_or(&[][..], |rank| &rank.items);
    let sum = |part: &str| -> Option<Bytes> {
        let named = items.iter().filter(|item| item.name.contains(part));
        let bytes: Bytes = named.map(|item| item.bytes).sum();
        (bytes.0 > 0.0).then_some(bytes)
    };
    let optimizer = items
        .iter()
        .filter(|item| item.component == Component::Optimizer);
    let optimizer: Bytes = optimizer.map(|item| item.bytes).sum();
    let gap = |name, words, counted, source| Gap {
        name,
        words,
        counted,
        source,
    };
    vec![
        gap(
            "CUDA context and communicators",
            "0.5 GiB at start, 2 to 6 GiB with several process groups; grows with channels and network cards, not with ranks",
            sum("communicators"),
            &NCCL,
        ),
        gap(
            "fragmentation",
            "reserved over allocated memory is 1.03 to 1.09 in SimuMax's runs; ranks that allocate the same differ by up to 7.2 GiB",
            sum("fragmentation"),
            &SIMUMAX,
        ),
        gap(
            "the first optimizer step",
            "states are allocated when the optimizer first steps: a run that dies after its first iteration had no room for them",
            (optimizer.0 > 0.0).then_some(optimizer),
            &PYTORCH,
        ),
        gap(
            "uneven experts",
            "the busiest rank sees 1.18 times the average tokens, more in the first steps; set the expert imbalance",
            None,
            &DEEPEP,
        ),
        gap(
            "CUDA graphs, overlap and dispatch buffers",
            "a few GiB with CUDA graphs, over 10 with a pipeline; buffers of overlapped tensor parallelism and DeepEP come on top",
            None,
            &MEGATRON_BRIDGE,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::GIB;

    #[test]
    fn each_step_down_is_the_run_with_all_before_it_taken_away() {
        let run = Run {
            pp: 1,
            micro_batch: 2,
            ..Run::default()
        };
        let way = narrow(&evaluate(&run).unwrap());
        assert_eq!(way.len(), 6);
        let small = Run {
            optimizer: Optimizer::Sgd,
            micro_batch: 1,
            seq_len: 128,
            recompute: Recompute::Full,
            zero: 3,
            ..run
        };
        let memory = evaluate(&small).unwrap().report.memory;
        assert_eq!(way[5].peak, memory.peak_bytes);
        assert_eq!(memory.verdict, Verdict::Fits);
        assert!(way.windows(2).all(|pair| pair[1].peak <= pair[0].peak));
    }

    /// Adam keeps 8 bytes a parameter that SGD does not: Rajbhandari 2020, section 3.1.
    #[test]
    fn sgd_drops_two_moments_of_four_bytes() {
        let run = Run {
            zero: 0,
            ..Run::default()
        };
        let base = evaluate(&run).unwrap();
        let way = narrow(&base);
        let rank = &base.report.memory.per_stage[way[1].stage];
        let moments = 8.0 * rank.weights.0 / 2.0;
        let saved = way[0].peak.0 - way[1].peak.0;
        // Fragmentation goes with it.
        let share = saved / moments / crate::memory::verdict::FRAGMENTATION.value;
        assert!((share - 1.0).abs() < 0.01, "{share}");
    }

    #[test]
    fn sequences_stay_whole_over_context_parallel_ranks() {
        let run = Run {
            cp: 8,
            pp: 1,
            seq_len: 98304,
            ..Run::default()
        };
        assert_eq!(narrow(&evaluate(&run).unwrap()).len(), 6);
    }

    #[test]
    fn the_gaps_that_are_counted_are_the_estimates_overhead() {
        let base = evaluate(&Run::default()).unwrap();
        let memory = &base.report.memory;
        let overhead = memory.per_stage[memory.peak_stage].overhead;
        let gaps = gaps(&base);
        let counted: f64 = gaps[..2]
            .iter()
            .filter_map(|gap| gap.counted)
            .map(|b| b.0)
            .sum();
        assert!(counted <= overhead.0 * (1.0 + 1e-12) && counted > GIB);
    }
}
