//! ZeRO-2 that reduces gradients after every micro-batch of a pipeline: how often that is, and what would be cheaper.

use crate::issue::Issue;
use crate::memory::{self, Chunks, RankLoad, Verdict};
use crate::run::{OneOf, Reduction, Scenario};
use crate::t;
use crate::units::MemoryUnit;

/// The later reductions, the one that sends least first.
const LATER: [Reduction; 2] = [Reduction::Step, Reduction::Group];

/// Says how often the gradients of `scenario` travel, and offers the reduction that sends least among those that fit;
/// `now`: the verdict on the Run as it is, which the offer does not make worse.
pub(crate) fn often_reduced(
    scenario: &Scenario,
    (chunks, loads): (&Chunks, &[RankLoad]),
    now: Verdict,
) -> Option<Issue> {
    let layout = &scenario.layout;
    let often = scenario.zero.stage == 2
        && layout.pp > 1
        // FSDP2 under a pipeline sends once a step (`traffic::shards`).
        && !scenario.software.fsdp
        && scenario.reduction() == Reduction::MicroBatch
        && scenario.reductions() > 1;
    if !often || layout.dp * layout.cp <= 1 {
        return None;
    }
    let later = LATER.map(|reduction| {
        let mut other = scenario.clone();
        other.run.zero2_reduce = Some(reduction);
        let estimate = memory::estimate_of(&other, chunks, loads);
        (reduction, other.reductions(), estimate)
    });
    let fitting = later.iter().find(|(_, times, estimate)| {
        let verdict = estimate.verdict();
        *times < scenario.reductions() && (verdict == Verdict::Fits || verdict == now && now == Verdict::Tight)
    });
    let (reduction, times, estimate) = fitting.unwrap_or(&later[0]);
    let gib = |bytes| MemoryUnit::Gib.show(bytes);
    let (often, need) = (scenario.reductions(), gib(estimate.peak().1));
    let reduced = reduction.choice().label;
    let message = match *times {
        _ if fitting.is_none() => t!(
            "ZeRO-2 with a pipeline reduces gradients after every micro-batch, {often} times per step (Megatron-LM \
                refuses it); reducing them {reduced} may need {need}, more than the {capacity} of the GPU",
            often,
            reduced,
            need = gib(estimate.need.high),
            capacity = gib(estimate.capacity)
        ),
        1 => t!(
            "ZeRO-2 with a pipeline reduces gradients after every micro-batch, {often} times per step (Megatron-LM \
                refuses it); reducing them {reduced} needs {need}",
            often,
            reduced,
            need
        ),
        times => t!(
            "ZeRO-2 with a pipeline reduces gradients after every micro-batch, {often} times per step (Megatron-LM \
                refuses it); reducing them {reduced}, {times} times per step, needs {need}",
            often,
            reduced,
            times,
            need
        ),
    };
    let issue = Issue::warning("zero2_reduce", message);
    Some(match fitting {
        Some((reduction, ..)) => issue.with_fix("zero2_reduce", reduction.id()),
        None => issue,
    })
}

#[cfg(test)]
mod tests {
    use crate::pipeline::{Op, OpKind, OrderItem, StagePlacement};
    use crate::report::{Report, evaluate, schedule_ids, with_schedule};
    use crate::run::{Based, Reduction, Run, Schedule};
    use crate::units::Bytes;

    fn llama_70b(change: impl Fn(&mut Run)) -> Run {
        let mut run = Run {
            model: Based::preset("llama-3.1-70b"),
            gpus: 128,
            tp: 8,
            pp: 4,
            global_batch: 128,
            zero: 2,
            schedule: Schedule::Interleaved,
            virtual_stages: 5,
            ..Run::default()
        };
        change(&mut run);
        run
    }

    /// The warning offers what is quickest among what fits: once a step where that fits, groups where only they do.
    #[test]
    fn the_offer_is_the_quickest_reduction_that_fits() {
        let on = |zero2_reduce, usable: Bytes| {
            let run = llama_70b(|run| {
                run.zero2_reduce = Some(zero2_reduce);
                run.gpu.parts.memory = Some(usable.gib() * 1.01);
                run.gpu.parts.usable = Some(usable.gib());
            });
            evaluate(&run).unwrap().report
        };
        let large = Bytes::from_gib(400.0);
        let [often, group, step] = [Reduction::MicroBatch, Reduction::Group, Reduction::Step].map(|way| on(way, large));
        assert!(step.step.time_s < group.step.time_s && group.step.time_s < often.step.time_s);
        let fits = |report: &Report| report.memory.need_high_bytes * 1.0001;
        assert!(fits(&often) < fits(&group) && fits(&group) < fits(&step));
        for (usable, offered) in [
            (fits(&step), Some("step")),
            (fits(&group), Some("group")),
            (fits(&often), None),
            (often.memory.need_low_bytes * 0.9999, None),
        ] {
            let warnings = on(Reduction::MicroBatch, usable).warnings;
            let mut issues = warnings.iter().filter(|w| w.field == "zero2_reduce");
            let fix = issues.next().unwrap().fix.as_ref();
            assert_eq!(fix.map(|fix| fix.set[0].1.as_str()), offered);
            assert_eq!(issues.next(), None);
            // A step has one reduction once a step: that is not counted in words.
            let words = warnings.iter().map(|w| w.message.to_string()).find(|words| words.contains("(Megatron-LM"));
            let words = words.unwrap();
            assert!(!words.contains(" 1 times") && words.contains("reducing them "), "{offered:?}");
            assert_eq!(words.contains("more than the "), offered.is_none(), "{words}");
        }
    }

    /// A group is what the order makes it: the backward passes that a rank runs for one stage in a row.
    #[test]
    fn a_group_is_as_long_as_the_order_makes_it() {
        let mut loops = 0;
        for id in schedule_ids() {
            for group in [4, 5] {
                let mut run =
                    Run { zero: 2, zero2_reduce: Some(Reduction::Group), global_batch: 128, ..Run::default() };
                run = run.with_texts(&with_schedule(&run, id)).unwrap();
                run.schedule_options.group = Some(group);
                let Ok(evaluation) = evaluate(&run) else {
                    continue;
                };
                let scenario = &evaluation.scenario;
                let looped = evaluation.order.placement == StagePlacement::Loop && scenario.chunks > 1;
                for (rank, row) in evaluation.order.ranks.iter().enumerate() {
                    let backward = |op: &Op| matches!(op.kind, OpKind::B | OpKind::BW);
                    let ops = row.iter().flat_map(OrderItem::ops);
                    let mut stages: Vec<u32> = ops.filter(backward).map(|op| op.stage).collect();
                    stages.dedup();
                    for stage in evaluation.order.stages_of(rank) {
                        let rows = stages.iter().filter(|other| **other == stage).count();
                        let rows = u64::try_from(rows).unwrap();
                        let ours = scenario.reductions();
                        assert!(rows <= ours, "{id} {group}: {rows} {ours}");
                        assert!(rows == ours || !looped, "{id} {group}: {rows} {ours}");
                    }
                }
                loops += u64::from(looped);
            }
        }
        assert!(loops >= 6);
    }

    /// Reduced once, ZeRO-2 is ZeRO-1; Llama 3.1 405B on 1024 GPUs takes 41.9 s when every micro-batch reduces (issue
    /// 13).
    #[test]
    fn reduced_once_zero_2_takes_the_time_and_the_memory_of_zero_1() {
        let figures = |zero, zero2_reduce| {
            let run = Run {
                model: Based::preset("llama-3.1-405b"),
                gpus: 1024,
                tp: 8,
                pp: 16,
                global_batch: 512,
                zero,
                zero2_reduce: Some(zero2_reduce),
                ..Run::default()
            };
            let mut report = evaluate(&run).unwrap().report;
            report.warnings.clear();
            report
        };
        let first = figures(1, Reduction::MicroBatch);
        assert_eq!(figures(2, Reduction::Step), first);
        let often = figures(2, Reduction::MicroBatch);
        assert!(often.step.time_s.0 > 1.5 * first.step.time_s.0);
        assert!(often.memory.peak_bytes < first.memory.peak_bytes);
    }

    #[test]
    fn nothing_is_said_of_a_reduction_that_cannot_be_later() {
        for run in [
            llama_70b(|run| run.zero2_reduce = Some(Reduction::Group)),
            llama_70b(|run| run.global_batch = 4),
            llama_70b(|run| run.zero = 1),
        ] {
            let report = evaluate(&run).unwrap().report;
            assert!(report.warnings.iter().all(|w| w.field != "zero2_reduce"));
        }
    }
}
