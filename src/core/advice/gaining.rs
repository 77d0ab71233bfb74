//! The pipeline in which other layers a stage gain most, for a Run in whose own they gain nothing that can be told.

use super::splits::balance;
use super::told::is_told;
use crate::memory::Verdict;
use crate::pipeline::able::{can_run, pipes};
use crate::report::{MAX_OPS_AT_ONCE, SplitOrigin, effort, evaluate};
use crate::run::{Run, Schedule, ScheduleOptions};
use crate::units::Seconds;

/// Ranks of the pipelines that are tried: a choice.
pub const TRIED_RANKS: [u64; 4] = [2, 4, 8, 16];

/// A pipeline of one stage a rank in the Run's layout otherwise, with an even split and with its best one.
#[derive(Clone, Debug)]
pub struct GainingPipeline {
    /// The Run with the best split.
    pub run: Run,
    /// Its layers by stage.
    pub layers: Vec<u64>,
    /// The Run with the even split.
    pub even: Run,
    /// The step with the even split.
    pub even_s: Seconds,
    /// The step with the best split.
    pub best_s: Seconds,
}

impl GainingPipeline {
    /// True if the best split is faster than the even one by what can be told.
    pub fn is_told(&self) -> bool {
        is_told(&self.even, self.best_s.0, self.even_s.0)
    }
}

/// Of `run` with pipelines of other sizes under 1F1B the one in which the best split of the layers gains most over the
/// even one, beyond what can be told; none where none gains.
pub fn pipeline_that_gains(run: &Run) -> Option<GainingPipeline> {
    pipeline_to_split(run).filter(GainingPipeline::is_told)
}

/// The pipeline whose splits to look at for a Run of one stage: [`pipeline_that_gains`], or the one whose best split
/// has the shortest step.
pub fn pipeline_to_split(run: &Run) -> Option<GainingPipeline> {
    with_pipelines(run).into_iter().min_by(|a, b| {
        let gain = |one: &GainingPipeline| one.best_s / one.even_s;
        let by_gain = || gain(a).total_cmp(&gain(b));
        match (a.is_told(), b.is_told()) {
            (true, true) => by_gain(),
            (false, false) => a.best_s.0.total_cmp(&b.best_s.0),
            (a, b) => b.cmp(&a),
        }
    })
}

/// `run` with pipelines of other sizes under 1F1B; where its software shards no gradients or weights under a pipeline,
/// with ZeRO-1 in place of that. Both splits of each fit, and its software can run the best one; the even one is what a
/// gain is counted from, also where its software cannot cut so. The reports of the even splits together have no more
/// ops than one report may have at once.
fn with_pipelines(run: &Run) -> Vec<GainingPipeline> {
    let with = |pp: u64| Run {
        pp,
        zero: if pipes(run.stack.preset_row(), pp, Schedule::OneFOneB, run.zero) { run.zero } else { run.zero.min(1) },
        schedule: Schedule::OneFOneB,
        schedule_options: ScheduleOptions::default(),
        virtual_stages: 1,
        stage_layers: None,
        mtp_stage: None,
        measured_step_s: None,
        ..run.clone()
    };
    let mut left = MAX_OPS_AT_ONCE;
    let others = TRIED_RANKS.into_iter().map(with).filter(|other| {
        let rest = left.checked_sub(effort(other));
        left = rest.unwrap_or(left);
        rest.is_some()
    });
    let found = others.filter_map(|even| {
        let evaluation = evaluate(&even).ok()?;
        let splits = balance(&evaluation)?;
        let best = splits.of(SplitOrigin::Best)?;
        let (even_s, best_s) = (evaluation.report.step.time_s, best.step_s());
        let (layers, best) = (best.layers.clone(), &best.evaluation);
        let run = best.scenario.run.clone();
        let fit = [&evaluation, best].iter().all(|split| split.report.memory.overall() == Verdict::Fits);
        (fit && can_run(&run)).then_some(GainingPipeline { run, layers, even, even_s, best_s })
    });
    found.collect()
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
        assert_eq!(layers, found.layers);
        let total = run.model.resolve().unwrap().layers;
        assert!(layers.iter().sum::<u64>() == total && layers.iter().any(|own| *own != layers[0]), "{layers:?}");
    }

    /// Whatever the model: the pipeline of a Run of one stage has at least two, all layers and the times of its own
    /// reports, and no pipeline that gains what can be told stands behind one that does not.
    #[test]
    fn a_run_of_one_stage_has_a_pipeline_to_look_at() {
        let mut untold = 0;
        for (model, gpu, zero) in [
            ("qwen-2-vl-72b", "h100-sxm-80gb", "1"),
            ("qwen-2-vl-72b", "h100-sxm-80gb", "3"),
            ("llama-3.1-70b", "h20-sxm-96gb", "1"),
        ] {
            let set = [("model", model), ("gpu", gpu), ("gpus", "64"), ("tp", "8"), ("pp", "1"), ("zero", zero)];
            let run = Run::example().with_texts(&set).unwrap();
            let found = pipeline_to_split(&run).unwrap();
            assert_eq!(pipeline_that_gains(&run).is_some(), found.is_told());
            untold += usize::from(!found.is_told());
            assert!(found.run.pp > 1 && found.layers.len() as u64 == found.run.pp, "{:?}", found.layers);
            assert_eq!(found.layers.iter().sum::<u64>(), run.model.resolve().unwrap().layers);
            let steps = [&found.even, &found.run].map(|run| report(run).unwrap().step.time_s);
            assert_eq!(steps, [found.even_s, found.best_s]);
        }
        assert!(untold > 0);
    }
}
