//! A layout in which passes run in pairs: for a schedule that hides the messages of one micro-batch behind another,
//! where the layout is not the person's own.

use crate::memory::Verdict;
use crate::pipeline::able::can_run;
use crate::report::{Evaluation, MAX_OPS_AT_ONCE, effort, evaluate};
use crate::run::{FOR_PAIRS, Recompute, Run};

/// Pipelines that are tried: a choice.
const RANKS: [u64; 4] = [2, 4, 8, 16];
/// Ranks of experts that are tried after those of the Run, in this order: a choice.
const EXPERTS: [u64; 3] = [64, 32, 16];
/// The batch of `run` on `dp` replicas from which on passes run in pairs: the one that its schedule asks for.
pub fn batch_for_pairs(run: &Run, dp: u64) -> u64 {
    dp.saturating_mul(run.micro_batch).saturating_mul(FOR_PAIRS * run.pp)
}

/// Ops of all layouts together that are looked at: with more a page would not answer for longer than a frame or two.
const OPS: u64 = 10 * MAX_OPS_AT_ONCE;

/// True if passes of a Run run in pairs.
pub fn has_pairs(evaluation: &Evaluation) -> bool {
    evaluation.order.has_pairs()
}

/// For each pipeline size the first layout that fits and whose passes run in pairs; of these the settings of the
/// fastest. None where the schedule has no pairs, where `run` has them already and fits, or where no such layout fits.
/// It is called between two key strokes: its work is bounded by the number of operations (`OPS`).
pub fn with_pairs(run: &Run) -> Option<Vec<(&'static str, String)>> {
    let is_moe = run.model.resolve().is_ok_and(|model| model.moe.is_some());
    if !run.schedule.pairs_passes() || !is_moe {
        return None;
    }
    let fits = |one: &Evaluation| one.report.memory.overall() == Verdict::Fits && has_pairs(one);
    let mut left = OPS;
    let mut affords = |one: &Run| {
        let rest = left.checked_sub(effort(one));
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    if !affords(run) || run.pp > 1 && evaluate(run).is_ok_and(|own| fits(&own)) {
        return None;
    }
    let able = run.abilities();
    let per_node = run.gpu.resolve().map_or(1, |gpu| run.gpus_per_node.unwrap_or(gpu.per_node)).max(1);
    // A micro-batch of one sequence on each of the training GPUs / (tp pp cp) pipelines, FOR_PAIRS pp of them at least.
    let needed = (FOR_PAIRS * run.training_gpus()).div_ceil(run.global_batch.max(1)).max(1);
    let tensor = if able.tensor { per_node } else { 1 };
    let (tp, cp) = if needed <= tensor {
        (needed.next_power_of_two().max(run.tp.min(tensor)), run.cp)
    } else if able.context {
        (tensor, needed.div_ceil(tensor).next_power_of_two())
    } else {
        return None;
    };
    let mut best: Option<(f64, Run)> = None;
    for pp in RANKS {
        let experts = std::iter::once(run.ep).chain(EXPERTS).filter(|ep| *ep > 1);
        let found = experts.flat_map(|ep| [run.recompute.clone(), Recompute::Full].map(|recompute| (ep, recompute)));
        let runs = found.map(|(ep, recompute)| Run {
            tp,
            pp,
            cp,
            ep,
            recompute,
            micro_batch: 1,
            zero: run.zero.min(1),
            stage_layers: None,
            mtp_stage: None,
            ..run.clone()
        });
        // The first that fits.
        let fitting = runs.filter(|one| can_run(one) || !can_run(run)).find_map(|one| {
            let evaluation = affords(&one).then(|| evaluate(&one).ok()).flatten().filter(fits)?;
            Some((evaluation.report.step.time_s.0, one))
        });
        if let Some((time, one)) = fitting
            && best.as_ref().is_none_or(|(least, _)| time < *least)
        {
            best = Some((time, one));
        }
    }
    let (_, found) = best?;
    let keys = ["tp", "pp", "cp", "ep", "micro_batch", "zero", "recompute", "stage_layers", "mtp_stage"];
    let text = |run: &Run, key: &str| crate::run::registry::field(key)?.text(run);
    let changed = keys.into_iter().filter(|key| text(&found, key) != text(run, key));
    Some(changed.map(|key| (key, text(&found, key).unwrap_or_default())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::follow::with_following;
    use crate::run::{Based, Schedule};
    use crate::search::ladder::{Ladder, LadderEnd};

    /// A run that names `DualPipe` and no batch, in the layout that is chosen for it, has passes in pairs, as many
    /// micro-batches as deepseek-ai/DualPipe asks for, and none of it is the person's: of DeepSeek-V3 on 2,048 H800 the
    /// batch is that of its report (section 4.2: 15360 sequences of 4K), elsewhere two sequences a GPU. A batch that is
    /// named stays.
    #[test]
    fn a_line_that_names_dualpipe_leads_to_passes_in_pairs() {
        for (gpus, batch, stated) in [("2048", 15360, None), ("1024", 2048, None), ("2048", 512, Some("512"))] {
            let named = [("model", "deepseek-v3"), ("gpus", gpus), ("gpu", "h800-sxm-80gb"), ("schedule", "dualpipe")];
            let named = named.into_iter().chain([("stack", "deepseek-v3")]);
            let named = named.chain(stated.map(|batch| ("global_batch", batch)));
            let set = named.map(|(key, text)| (key, text.to_owned())).collect();
            let run = Run::default().with_texts(&with_following(&Run::default(), set)).unwrap();
            assert_eq!(run.global_batch, batch);
            let LadderEnd::Chosen(choice) = Ladder::with_pins(&run, &["schedule"]).unwrap().finished() else {
                panic!("none fits")
            };
            let evaluation = evaluate(&choice.run).unwrap();
            if stated.is_none() {
                assert!(has_pairs(&evaluation), "{gpus}");
                assert!(evaluation.report.layout.microbatches >= FOR_PAIRS * choice.run.pp, "{gpus}");
            }
        }
    }

    /// DeepSeek-V3 on 2,048 GPUs in a layout that has no pairs with the page's batch.
    fn without_pairs() -> Run {
        Run {
            model: Based::preset("deepseek-v3"),
            gpu: Based::preset("h800-sxm-80gb"),
            stack: Based::preset("megatron-2025"),
            gpus: 2048,
            tp: 8,
            pp: 2,
            ep: 256,
            schedule: Schedule::DualPipe,
            ..Run::default()
        }
    }

    /// deepseek-ai/DualPipe asks for twice as many micro-batches as ranks: a batch of 256 on 2,048 GPUs leaves so many
    /// with tensor and context ranks of 16 together.
    #[test]
    fn dualpipe_is_given_a_layout_in_which_passes_run_in_pairs() {
        let run = without_pairs();
        assert!(!has_pairs(&evaluate(&run).unwrap()));
        let found = run.with_texts(&with_pairs(&run).unwrap()).unwrap();
        let evaluation = evaluate(&found).unwrap();
        assert!(has_pairs(&evaluation) && evaluation.report.memory.overall() == Verdict::Fits);
        assert!(evaluation.report.layout.microbatches >= FOR_PAIRS * found.pp, "{found:?}");
        assert_eq!((found.schedule, found.gpus, found.global_batch), (run.schedule, run.gpus, run.global_batch));
        // One whose schedule pairs nothing, and one that has pairs.
        assert_eq!(with_pairs(&Run { schedule: Schedule::OneFOneB, ..run }), None);
        assert_eq!(with_pairs(&found), None);
    }

    /// With samples of unequal lengths every micro-batch is simulated by itself: of 131,072 nothing is tried.
    #[test]
    fn what_takes_long_is_not_looked_at() {
        let run =
            Run { global_batch: 1 << 24, microbatch_lengths: Some([8192, 4096].repeat(1 << 16)), ..without_pairs() };
        assert!(effort(&run) > OPS, "{}", effort(&run));
        assert_eq!(with_pairs(&run), None);
        // Of equal ones a few are simulated, however many there are.
        let equal = Run { pp: 16, ep: 64, microbatch_lengths: None, ..run };
        assert!((1..OPS / 10).contains(&effort(&equal)));
    }
}
