//! Where to turn when a Run does not fit, or should have and did not: changes to try, as settings.
//!
//! What each change costs in time is for the report to say; here stands which changes there are and how to narrow a
//! surprise down.

use crate::issue::Fix;
use crate::run::registry::field;
use crate::run::{Optimizer, Recompute, Run, Scenario};

/// Tokens of a sequence that fits anywhere. Source: He blog, debugging out-of-memory.
const SHORT: u64 = 128;

/// `run` with the settings of `fix`; none where one of them does not parse.
#[must_use]
pub fn apply(run: &Run, fix: &Fix) -> Option<Run> {
    let mut changed = run.clone();
    for (key, text) in &fix.set {
        let field = field(key)?;
        let value = field.parse(text).ok()?;
        field.set(&mut changed, &value).ok()?;
    }
    Some(changed)
}

fn fix(label: &str, set: &[(&'static str, &str)]) -> Fix {
    Fix {
        label: label.to_owned(),
        set: set
            .iter()
            .map(|(key, value)| (*key, (*value).to_owned()))
            .collect(),
    }
}

/// The smallest single changes that may lower memory and still make a Run that works, gentlest first.
#[must_use]
pub fn candidates(run: &Run) -> Vec<Fix> {
    let twice = |key: &'static str, value: u64| {
        let value = value.saturating_mul(2).to_string();
        fix(&format!("{key}={value}"), &[(key, &value)])
    };
    let mut list = vec![
        fix("fused cross-entropy", &[("cross_entropy", "te-fused")]),
        fix("recompute norms", &[("recompute.modules", "norm")]),
        fix(
            "recompute norms and the experts' activation",
            &[("recompute.modules", "norm,moe_act")],
        ),
        fix(
            "recompute MLA's up-projections",
            &[("recompute.modules", "mla_up")],
        ),
        fix("recompute the MLP", &[("recompute.modules", "norm,mlp")]),
        fix("recompute attention scores", &[("recompute", "selective")]),
        fix("recompute every layer", &[("recompute", "full")]),
        fix("FlashAttention", &[("flash_attention", "true")]),
        fix("bf16 gradients", &[("precision", "bf16")]),
        fix("8-bit Adam", &[("optimizer", "adam-8bit")]),
        twice("tp", run.tp),
        twice("pp", run.pp),
        twice("cp", run.cp),
    ];
    if run.micro_batch > 1 {
        let half = (run.micro_batch / 2).to_string();
        list.push(fix(
            &format!("micro_batch={half}"),
            &[("micro_batch", &half)],
        ));
    }
    if run.zero < 3 {
        let next = (run.zero + 1).to_string();
        list.push(fix(&format!("zero={next}"), &[("zero", &next)]));
    }
    if run.ep > 1 || run.model.resolve().is_ok_and(|model| model.moe.is_some()) {
        list.push(twice("ep", run.ep));
    }
    list.retain(|fix| {
        apply(run, fix).is_some_and(|changed| changed != *run && Scenario::new(&changed).is_ok())
    });
    list
}

/// One step of the way back from the smallest Run to the one that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What this step puts back.
    pub label: &'static str,
    /// The Run to try.
    pub run: Run,
}

/// The blog's way to find what a failing Run chokes on: everything small at once (SGD, one sequence of 128 tokens, full
/// recomputation, ZeRO-3), then back to the Run's own settings one by one. Steps that change nothing are left out.
#[must_use]
pub fn narrowing(run: &Run) -> Vec<Step> {
    let whole = run.tp.saturating_mul(run.cp).max(1);
    let small = Run {
        optimizer: Optimizer::Sgd,
        micro_batch: 1,
        seq_len: SHORT.div_ceil(whole).saturating_mul(whole),
        recompute: Recompute::Full,
        zero: 3,
        microbatch_lengths: None,
        ..run.clone()
    };
    let mut steps = vec![Step {
        label: "everything small: SGD, one short sequence, full recomputation, ZeRO-3",
        run: small.clone(),
    }];
    let mut now = small;
    let mut back = |label, put: &dyn Fn(&mut Run)| {
        let mut next = now.clone();
        put(&mut next);
        if next != now {
            now = next;
            steps.push(Step {
                label,
                run: now.clone(),
            });
        }
    };
    back("ZeRO as it was: shards of the states", &|next| {
        next.zero = run.zero;
    });
    back(
        "the optimizer as it was: its states come with the first step",
        &|next| {
            next.optimizer = run.optimizer;
        },
    );
    back("the sequence as it was: activations and logits", &|next| {
        next.seq_len = run.seq_len;
        next.microbatch_lengths.clone_from(&run.microbatch_lengths);
    });
    back("the micro-batch as it was", &|next| {
        next.micro_batch = run.micro_batch;
    });
    back("recomputation as it was", &|next| {
        next.recompute = run.recompute.clone();
    });
    steps
}

/// What an estimate that fits does not see, or sees as a mean only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Buffers of process groups.
    Communicators,
    /// What the allocator reserves beyond what is allocated.
    Fragmentation,
    /// Optimizer states that are not there at first.
    LateStates,
    /// Experts that get more than the mean.
    UnevenExperts,
    /// What no tensor of the model accounts for.
    OtherBuffers,
}

impl Gap {
    /// All of them, in the order to look.
    pub const ALL: [Self; 5] = [
        Self::Communicators,
        Self::Fragmentation,
        Self::LateStates,
        Self::UnevenExperts,
        Self::OtherBuffers,
    ];

    /// What is known of it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Communicators => {
                "communicators: every process group that talks keeps buffers of its own, more with more network adapters"
            }
            Self::Fragmentation => {
                "fragmentation: reserved memory is 1.03 to 1.14 times what is allocated, and ranks of equal load differ by GiB"
            }
            Self::LateStates => {
                "the first optimizer step allocates its states after the first backward pass: a run may fail in iteration 1 or 2"
            }
            Self::UnevenExperts => {
                "uneven experts: early in training the busiest rank gets many more tokens than the mean"
            }
            Self::OtherBuffers => {
                "CUDA graphs and overlapped communication keep buffers that no tensor of the model accounts for"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_candidate_is_a_run_that_works_and_differs() {
        let run = Run::default();
        let list = candidates(&run);
        assert!(list.iter().any(|fix| fix.label == "recompute every layer"));
        assert!(list.iter().any(|fix| fix.label == "tp=4"));
        // One sequence is the least there is; FlashAttention is on.
        assert!(!list.iter().any(|fix| fix.label.starts_with("micro_batch")));
        assert!(!list.iter().any(|fix| fix.label == "FlashAttention"));
        for fix in list {
            let changed = apply(&run, &fix).unwrap();
            assert!(
                Scenario::new(&changed).is_ok() && changed != run,
                "{}",
                fix.label
            );
        }
    }

    #[test]
    fn narrowing_starts_small_and_ends_at_the_run() {
        let run = Run {
            micro_batch: 2,
            ..Run::default()
        };
        let steps = narrowing(&run);
        assert_eq!(steps.len(), 6);
        assert_eq!(steps.first().map(|step| step.run.seq_len), Some(128));
        assert_eq!(steps.last().map(|step| &step.run), Some(&run));
        for pair in steps.windows(2) {
            assert_ne!(pair[0].run, pair[1].run);
        }
    }
}
