//! "It fits, but ran out of memory?": the way to narrow the cause down, with this Run's figure at each step, and what
//! is between an estimate and the driver.

use crate::memory::remedies::{Gap, narrowing};
use crate::memory::{Lifetime, Verdict};
use crate::report::{Evaluation, evaluate};
use crate::units::Bytes;

/// One Run to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Narrowing {
    /// The setting that is put back with this step; of the first step, what is made small.
    pub label: &'static str,
    /// Memory of the fullest rank.
    pub peak: Bytes,
    /// Index of that pipeline rank.
    pub rank: usize,
    /// Fits, tight or out of memory.
    pub verdict: Verdict,
}

/// The steps from everything small back to the Run of `evaluation`. If a run fails at one of them, the cause is what
/// that step put back.
pub fn narrow(evaluation: &Evaluation) -> Vec<Narrowing> {
    narrowing(&evaluation.scenario.run)
        .into_iter()
        .filter_map(|step| {
            let memory = evaluate(&step.run).ok()?.report.memory;
            Some(Narrowing {
                label: step.label,
                peak: memory.peak_bytes,
                rank: memory.peak_stage,
                verdict: memory.verdict,
            })
        })
        .collect()
}

/// A known gap, and what the estimate counts for it on the fullest rank; none where it counts nothing.
pub type CountedGap = (Gap, Option<Bytes>);

/// The known gaps, with what the estimate of `evaluation` counts for each.
pub fn gaps(evaluation: &Evaluation) -> Vec<CountedGap> {
    let memory = &evaluation.report.memory;
    let rank = memory.per_stage.get(memory.peak_stage);
    let total = |lifetime: Lifetime| -> Bytes {
        let items = rank.map_or(&[][..], |rank| &rank.items).iter();
        let alike = items.filter(|item| item.lifetime == lifetime);
        alike.map(|item| item.bytes).sum()
    };
    let counted = |gap: Gap| -> Bytes {
        match gap {
            Gap::Communicators => total(Lifetime::Process),
            Gap::Fragmentation => total(Lifetime::Fragmentation),
            Gap::LateStates => rank.map_or(Bytes::ZERO, |rank| rank.optimizer),
            Gap::UnevenExperts | Gap::OtherBuffers => Bytes::ZERO,
        }
    };
    // A single GPU has no communicator, a dense model no experts.
    let is_there = |gap: &Gap| match gap {
        Gap::Communicators => evaluation.scenario.run.gpus > 1,
        Gap::UnevenExperts => evaluation.scenario.model.moe.is_some(),
        Gap::Fragmentation | Gap::LateStates | Gap::OtherBuffers => true,
    };
    Gap::ALL
        .into_iter()
        .filter(is_there)
        .map(|gap| {
            let bytes = counted(gap);
            (gap, (bytes.0 > 0.0).then_some(bytes))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Optimizer, Recompute, Run};

    /// NCCL makes a communicator for two ranks or more, and only routed experts can be uneven: neither is named where
    /// it cannot be, and no item of one GPU has a communicator in its name.
    #[test]
    fn what_a_run_does_not_have_is_no_gap() {
        let base = |set: &[(&'static str, &str)]| evaluate(&Run::default().with_texts(set).unwrap()).unwrap();
        let has = |base: &Evaluation, gap| gaps(base).iter().any(|(found, _)| *found == gap);
        let one = base(&[("gpus", "1"), ("tp", "1"), ("pp", "1"), ("global_batch", "8")]);
        let many = base(&[]);
        let experts = base(&[("model", "mixtral-8x7b")]);
        assert!(!has(&one, Gap::Communicators) && has(&many, Gap::Communicators));
        assert!(!has(&many, Gap::UnevenExperts) && has(&experts, Gap::UnevenExperts));
        let named = |base: &Evaluation| {
            let items = base.report.memory.per_stage.iter().flat_map(|rank| &rank.items);
            items.filter(|item| item.name.contains("communicator")).count()
        };
        assert!(named(&one) == 0 && named(&many) > 0);
    }

    #[test]
    fn the_way_begins_with_everything_small_and_ends_at_the_run() {
        let run = Run { pp: 1, micro_batch: 2, ..Run::default() };
        let base = evaluate(&run).unwrap();
        let way = narrow(&base);
        let small =
            Run { optimizer: Optimizer::Sgd, micro_batch: 1, seq_len: 128, recompute: Recompute::Full, zero: 3, ..run };
        let memory = evaluate(&small).unwrap().report.memory;
        assert_eq!(way[0].peak, memory.peak_bytes);
        assert_eq!(way[0].verdict, Verdict::Fits);
        let last = way.last().unwrap();
        assert_eq!(last.peak, base.report.memory.peak_bytes);
        assert!(way.windows(2).all(|pair| pair[0].peak <= pair[1].peak));
    }

    /// Adam keeps 8 bytes a parameter that SGD does not: Rajbhandari 2020, section 3.1.
    #[test]
    fn the_optimizer_brings_back_two_moments_of_four_bytes() {
        let run = Run { zero: 0, ..Run::default() };
        let way = narrow(&evaluate(&run).unwrap());
        let at = way.iter().position(|step| step.label.starts_with("the optimizer")).unwrap();
        let small = Run { optimizer: Optimizer::Sgd, seq_len: 128, recompute: Recompute::Full, ..run };
        let rank = &evaluate(&small).unwrap().report.memory.per_stage[way[at].rank];
        let moments = 8.0 * rank.weights.0 / 2.0;
        // Fragmentation comes with it.
        let share = (way[at].peak.0 - way[at - 1].peak.0) / moments / crate::memory::verdict::FRAGMENTATION.value;
        assert!((share - 1.0).abs() < 0.01, "{share}");
    }

    #[test]
    fn three_of_the_gaps_are_counted_and_have_a_figure() {
        let base = evaluate(&Run::default()).unwrap();
        let memory = &base.report.memory;
        let gaps = gaps(&base);
        let counted: Vec<Bytes> = gaps.iter().filter_map(|gap| gap.1).collect();
        assert_eq!(counted.len(), 3);
        assert_eq!(counted[2], memory.per_stage[memory.peak_stage].optimizer);
        let overhead = memory.per_stage[memory.peak_stage].overhead;
        assert!((counted[0] + counted[1]).0 <= overhead.0 * (1.0 + 1e-12));
    }
}
