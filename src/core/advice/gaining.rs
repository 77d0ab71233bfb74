//! The pipeline in which other layers a stage gain most, for a Run in whose own they gain nothing that can be told.

use super::splits::balance;
use super::told::is_told;
use crate::memory::Verdict;
use crate::pipeline::able::can_run;
use crate::report::{MAX_OPS_AT_ONCE, SplitOrigin, effort, evaluate};
use crate::run::{Run, Schedule, ScheduleOptions};
use crate::units::Seconds;

/// Ranks of the pipelines that are tried: a choice.
const RANKS: [u64; 4] = [2, 4, 8, 16];

/// A pipeline of one stage a rank in the Run's layout otherwise, with an even split and with its best one.
#[derive(Clone, Debug)]
pub struct GainingPipeline {
    /// The Run with the best split.
    pub run: Run,
    /// The Run with the even split.
    pub even: Run,
    /// The step with the even split.
    pub even_s: Seconds,
    /// The step with the best split.
    pub best_s: Seconds,
}

/// Of `run` with pipelines of other sizes under 1F1B the one in which the best split of the layers gains most over the
/// even one, beyond what can be told. Both splits fit, and its software can run the best one; the even one is what the
/// gain is counted from, also where its software cannot cut so. None where none gains. The reports of the even splits
/// together have no more ops than one report may have at once.
pub fn pipeline_that_gains(run: &Run) -> Option<GainingPipeline> {
    let with = |pp: u64| Run {
        pp,
        schedule: Schedule::OneFOneB,
        schedule_options: ScheduleOptions::default(),
        virtual_stages: 1,
        stage_layers: None,
        mtp_stage: None,
        measured_step_s: None,
        ..run.clone()
    };
    let mut left = MAX_OPS_AT_ONCE;
    let others = RANKS.into_iter().map(with).filter(|other| {
        let rest = left.checked_sub(effort(other));
        left = rest.unwrap_or(left);
        rest.is_some()
    });
    let found = others.filter_map(|even| {
        let evaluation = evaluate(&even).ok()?;
        let splits = balance(&evaluation)?;
        let best = splits.of(SplitOrigin::Best)?;
        let (even_s, best_s) = (evaluation.report.step.time_s, best.step_s());
        let best = &best.evaluation;
        let run = best.scenario.run.clone();
        let fit = [&evaluation, best].iter().all(|split| split.report.memory.overall() == Verdict::Fits);
        let gains = is_told(&even, best_s.0, even_s.0) && fit && can_run(&run);
        gains.then_some(GainingPipeline { run, even, even_s, best_s })
    });
    found.min_by(|a, b| (a.best_s / a.even_s).total_cmp(&(b.best_s / b.even_s)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::report;

    /// Qwen2-VL 72B on 64 H20 with TP 8: two ranks under interleaving idle a hundredth of the time, so that no split
    /// can gain what is told. In the pipeline that is found the two reports differ by more than that, it fits, and the
    /// layers by stage differ and are all there.
    #[test]
    fn a_pipeline_is_found_in_which_uneven_layers_gain() {
        let set = [("model", "qwen-2-vl-72b"), ("gpu", "h20-sxm-96gb"), ("gpus", "64"), ("tp", "8"), ("pp", "2")];
        let set = set.into_iter().chain([
            ("schedule", "interleaved-1f1b"),
            ("virtual_stages", "8"),
            ("stack", "megatron-2025"),
        ]);
        let set: Vec<(&str, &str)> = set.collect();
        let run = Run::default().with_texts(&set).unwrap();
        let idle = report(&run).unwrap().pipeline.bubble_fraction;
        assert!(idle < 0.03, "{idle}");
        let found = pipeline_that_gains(&run).unwrap();
        let [even, best] = [&found.even, &found.run].map(|run| report(run).unwrap());
        assert_eq!((even.step.time_s, best.step.time_s), (found.even_s, found.best_s));
        assert!(is_told(&run, found.best_s.0, found.even_s.0));
        assert!(best.pipeline.bubble_fraction < even.pipeline.bubble_fraction);
        assert_eq!([&even, &best].map(|split| split.memory.overall()), [Verdict::Fits; 2]);
        let layers = found.run.stage_layers.unwrap();
        let total = run.model.resolve().unwrap().layers;
        assert!(layers.iter().sum::<u64>() == total && layers.iter().any(|own| *own != layers[0]), "{layers:?}");
    }
}
