//! A vision tower on ranks of its own and the pipeline behind it, drawn as one pipeline with a stage more in front.

use crate::pipeline::{Durations, Spec, Timeline, build, simulate};
use crate::report::Evaluation;
use crate::run::Schedule;

/// Timelines of a run whose tower has ranks of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct TowerTimelines {
    /// The tower's rank, the first, above those of the pipeline.
    pub beside: Timeline,
    /// The pipeline alone.
    pub alone: Timeline,
}

/// The timeline of 1F1B over the tower's rank and those of the pipeline behind it, and that of the pipeline alone. None
/// without a tower on ranks of its own, and with another schedule than 1F1B with one stage a rank.
pub fn tower_timelines(evaluation: &Evaluation) -> Option<TowerTimelines> {
    let tower = evaluation.report.tower.as_ref()?;
    let (scenario, durations) = (&evaluation.scenario, &evaluation.durations);
    if scenario.run.schedule != Schedule::OneFOneB || scenario.chunks != 1 || durations.microbatch_scale.is_some() {
        return None;
    }
    let before = |first: f64, rest: &[f64]| std::iter::once(first).chain(rest.iter().copied()).collect();
    let both = Durations {
        forward: before(tower.forward_s.0, &durations.forward),
        backward_input: before(tower.backward_s.0, &durations.backward_input),
        backward_weight: before(0.0, &durations.backward_weight),
        pair: None,
        ..durations.clone()
    };
    let ranks = u32::try_from(scenario.layout.pp + 1).ok()?;
    let spec = Spec::new(scenario.run.schedule.row(), ranks, u32::try_from(scenario.layout.microbatches).ok()?);
    let order = build(&spec, &both).ok()?.order;
    Some(TowerTimelines { beside: simulate(&order, &both).ok()?, alone: evaluation.timeline().clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::evaluate;
    use crate::run::Run;

    /// A rank has its passes of all micro-batches, behind both passes of one micro-batch on every rank before it: no
    /// order takes less. The drawn one takes no more than tower and pipeline one after the other; all passes are on the
    /// tower's row, from the start of the step on. The report counts the same to 0.2 %.
    #[test]
    fn the_drawn_tower_is_a_rank_more_of_the_pipeline() {
        for images in ["1", "3", "6"] {
            let texts = [
                ("model", "qwen-3.5-27b"),
                ("model.vision.base", "qwen3.5"),
                ("model.vision.placement", "own-ranks"),
                ("model.vision.images", images),
                ("gpus", "17"),
                ("tp", "4"),
                ("pp", "2"),
                ("seq_len", "8192"),
                ("global_batch", "32"),
                ("gpu", "b200-sxm"),
            ];
            let run = Run::default().with_texts(&texts.map(|(key, text)| (key, text.to_owned()))).unwrap();
            let evaluation = evaluate(&run).unwrap();
            let tower = evaluation.report.tower.unwrap();
            let drawn = tower_timelines(&evaluation).unwrap();
            assert_eq!((drawn.beside.ranks.len(), drawn.alone.ranks.len()), (3, 2));
            let counted = evaluation.report.pipeline.makespan_s.0;
            let (both, pipeline) = (drawn.beside.makespan(), drawn.alone.makespan());
            println!("{images} images: drawn {both}, counted {counted}, pipeline alone {pipeline}");
            let (m, durations) = (evaluation.report.layout.microbatches as f64, &evaluation.durations);
            let stage =
                |at: usize| durations.forward[at] + durations.backward_input[at] + durations.backward_weight[at];
            let stages = [tower.passes().0, stage(0), stage(1)];
            let before = [0.0, stages[0], stages[0] + stages[1]];
            let least = stages.iter().zip(before).map(|(own, before)| before + m * own).fold(0.0, f64::max);
            let (all, messages) = (tower.passes().0 * m, 4.0 * durations.p2p);
            assert!(both >= least * (1.0 - 1e-9) && both <= pipeline + all + messages, "{both} {least}");
            assert!((both / counted - 1.0).abs() < 0.002, "{both} {counted}");
            let row = &drawn.beside.ranks[0];
            let busy: f64 = row.iter().map(|op| op.end - op.start).sum();
            assert!((busy / all - 1.0).abs() < 1e-9, "{busy} {all}");
            assert!(row[0].start.abs() < 1e-12 && (row[0].end - tower.forward_s.0).abs() < 1e-12);
        }
    }
}
