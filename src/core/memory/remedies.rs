//! Checks for a Run that was predicted to fit and ran out of memory, and memory that no estimate includes. The changes
//! that make a Run fit are in `report/fit`.

use super::{Chunks, RankLoad, Verdict, estimate_of};
use crate::issue::Issue;
use crate::run::{CrossEntropy, LengthsParts, Method, OneOf, Optimizer, Recompute, Run, Scenario};
use crate::statics::named;
use crate::t;

/// Tokens of a sequence that fits anywhere. Source: He blog, debugging out-of-memory.
const SHORT: u64 = 128;

/// A warning where the Run does not fit because of its logits: it offers the loss kernel of its software nearest to its
/// own with which it fits.
pub(crate) fn fused_loss(
    scenario: &Scenario,
    (chunks, loads): (&Chunks, &[RankLoad]),
    verdict: Verdict,
) -> Option<Issue> {
    let fused: &[CrossEntropy] = match scenario.run.memory_method {
        Method::Detailed if verdict != Verdict::Fits => scenario.run.smaller_losses(),
        _ => &[],
    };
    if fused.is_empty() {
        return None;
    }
    // The loss changes the ranks that end the model and no other.
    let last = scenario.stage_layers.len() - 1;
    let ends = |load: &&RankLoad| load.stages.contains(&last);
    let heads: Vec<RankLoad> = loads.iter().filter(ends).cloned().collect();
    let fit = |scenario: &Scenario, loads: &[RankLoad]| {
        // No loss changes what the layers keep.
        loads.is_empty() || estimate_of(scenario, chunks, loads).verdict() == Verdict::Fits
    };
    if fit(scenario, &heads) {
        return None;
    }
    let fits = |kernel: &&CrossEntropy| {
        let mut with = scenario.clone();
        with.software.cross_entropy = **kernel;
        fit(&with, &heads)
    };
    let kernel = fused.iter().find(fits)?;
    let others: Vec<RankLoad> = loads.iter().filter(|load| !ends(load)).cloned().collect();
    if !fit(scenario, &others) {
        return None;
    }
    let message = match estimate_of(scenario, chunks, &heads).verdict() {
        Verdict::Oom => t!("the logits are what makes it too large: with a fused loss the same run fits"),
        _ => t!("the logits are what makes it tight: with a fused loss the same run fits"),
    };
    Some(Issue::warning("cross_entropy", message).with_fix("cross_entropy", kernel.id()))
}

/// One step of the way back from the smallest Run to the one that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct NarrowingStep {
    /// The part that this step puts back.
    pub label: &'static str,
    /// The Run to try.
    pub run: Run,
}

/// The blog's way to find what a failing Run chokes on: everything small at once (SGD, one sequence of 128 tokens, full
/// recomputation, ZeRO-3), then back to the Run's own settings one by one. Steps that change nothing are left out.
pub fn narrowing(run: &Run) -> Vec<NarrowingStep> {
    let whole = run.tp.saturating_mul(run.cp).max(1);
    let small = Run {
        optimizer: Optimizer::Sgd,
        micro_batch: 1,
        seq_len: SHORT.div_ceil(whole).saturating_mul(whole),
        recompute: Recompute::Full,
        zero: 3,
        microbatch_lengths: None,
        lengths: LengthsParts::default(),
        cp_dynamic: false,
        ..run.clone()
    };
    let mut steps = vec![NarrowingStep {
        label: "everything small: SGD, one short sequence, full recomputation, ZeRO-3",
        run: small.clone(),
    }];
    let mut now = small;
    let mut back = |label, put: &dyn Fn(&mut Run)| {
        let mut next = now.clone();
        put(&mut next);
        if next != now {
            now = next;
            steps.push(NarrowingStep { label, run: now.clone() });
        }
    };
    back("ZeRO as it was: shards of the states", &|next| {
        next.zero = run.zero;
    });
    back("the optimizer as it was: its states come with the first step", &|next| {
        next.optimizer = run.optimizer;
    });
    back("the sequence as it was: activations and logits", &|next| {
        next.seq_len = run.seq_len;
        next.microbatch_lengths.clone_from(&run.microbatch_lengths);
        next.lengths.clone_from(&run.lengths);
        next.cp_dynamic = run.cp_dynamic;
    });
    back("the micro-batch as it was", &|next| {
        next.micro_batch = run.micro_batch;
    });
    back("recomputation as it was", &|next| {
        next.recompute = run.recompute.clone();
    });
    steps
}

named! {
    /// Memory that an estimate leaves out, or has as a mean only.
    pub enum Gap: words {
        /// Buffers of process groups.
        Communicators = "communicators: every process group that talks keeps buffers of its own, more with more \
            network adapters",
        /// Memory that the allocator reserves beyond what is allocated.
        Fragmentation = "fragmentation: reserved memory is 1.03 to 1.14 times what is allocated, and ranks of equal \
            load differ by GiB",
        /// Optimizer states that are not there at first.
        LateStates = "the first optimizer step allocates its states after the first backward pass: a run may fail in \
            iteration 1 or 2",
        /// Experts that get more than the mean.
        UnevenExperts = "uneven experts: early in training the busiest rank gets many more tokens than the mean",
        /// Memory that no tensor of the model accounts for.
        OtherBuffers = "CUDA graphs and overlapped communication keep buffers that no tensor of the model accounts for",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::detailed::heads;
    use crate::run::Based;
    use crate::run::presets::STACKS;

    #[test]
    fn narrowing_starts_small_and_ends_at_the_run() {
        let run = Run { micro_batch: 2, ..Run::default() };
        let steps = narrowing(&run);
        assert_eq!(steps.len(), 6);
        assert_eq!(steps.first().map(|step| step.run.seq_len), Some(128));
        assert_eq!(steps.last().map(|step| &step.run), Some(&run));
        for pair in steps.windows(2) {
            assert_ne!(pair[0].run, pair[1].run);
        }
    }

    /// Kernels of Megatron-LM are its own; every change of a loss holds fewer bytes than the one before it.
    #[test]
    fn a_smaller_loss_is_one_that_the_software_has() {
        for row in STACKS {
            let mut run = Run { stack: Based::preset(row.choice.id), tp: 1, pp: 1, ..Run::default() };
            let held = |run: &Run| heads(&Scenario::new(run).unwrap(), 0).unwrap().held;
            let mut last = held(&run);
            for loss in run.smaller_losses() {
                let is_of_megatron = matches!(loss, CrossEntropy::MegatronFused | CrossEntropy::TeFused);
                assert!(!is_of_megatron || run.stack.preset_row().software.flat_buffers, "{}", row.choice.id);
                run.cross_entropy = Some(*loss);
                assert!(held(&run) < last, "{} {loss:?}", row.choice.id);
                last = held(&run);
            }
            assert!(run.smaller_losses().is_empty(), "{}", row.choice.id);
        }
    }
}
