//! Layouts that the named software can run.

use super::families::interleaved::{takes_group, takes_rounds};
use super::registry::ScheduleInfo;
use super::release::lacked_release;
use super::rows::SCHEDULES;
use crate::message::{Message, verbatim};
use crate::run::presets::{CombinedCuts, Peers, Stack, Trainer};
use crate::run::{Module, OneOf, Recompute, Run, Schedule, stages_said};
use crate::t;

/// True if `stack` runs a pipeline of `pp` ranks under this schedule and ZeRO stage.
pub(crate) fn pipes(stack: &Stack, pp: u64, schedule: Schedule, zero: u64) -> bool {
    // Gradients and weights are sharded under a pipeline by PyTorch's FSDP alone.
    pp == 1 || schedule.row().is_run_by(stack) && (zero < 2 || stack.software.fsdp)
}

/// Counts of micro-batches that the interleaving of a program takes: the rules of the warnings beside the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(clippy::struct_excessive_bools)] // each is a rule of its own
pub(crate) struct TakenMicrobatches {
    /// Megatron-LM's groups.
    groups: bool,
    /// Megatron-LM's groups of as many micro-batches as there are ranks, which its combined 1F1B has.
    whole_groups: bool,
    /// PyTorch's rounds.
    rounds: bool,
    /// Twice as many as there are ranks, which the pairs of DualPipe begin with.
    pairs: bool,
}

impl TakenMicrobatches {
    /// For `microbatches` on `pp` ranks in the groups of `run`.
    pub(crate) fn of(run: &Run, pp: u64, microbatches: u64) -> Self {
        let count = |size: u64| u32::try_from(size).unwrap_or(u32::MAX).max(1);
        let (p, m) = (count(pp), count(microbatches));
        let group = run.schedule_options.group.map_or(p, count);
        let pairs = microbatches >= pp.saturating_mul(2);
        Self { groups: takes_group(p, m, group), whole_groups: m.is_multiple_of(p), rounds: takes_rounds(p, m), pairs }
    }

    /// True if `stack` runs them under `schedule`. DeepSeek's `dualpipe.py` and `dualpipev.py` assert
    /// `num_chunks >= num_ranks * 2`, and so does PyTorch's `ScheduleDualPipeV`.
    pub(crate) fn are_run_by(self, stack: &Stack, schedule: Schedule) -> bool {
        match (stack.trainer, schedule) {
            (Trainer::Megatron, Schedule::Interleaved) => self.groups,
            (Trainer::Megatron, Schedule::InterleavedOverlap) => self.whole_groups,
            (Trainer::PyTorch | Trainer::Torchtitan, Schedule::Interleaved | Schedule::InterleavedZb) => self.rounds,
            (Trainer::DeepSeek, Schedule::DualPipe | Schedule::DualPipeV)
            | (Trainer::PyTorch | Trainer::Torchtitan, Schedule::DualPipeV) => self.pairs,
            _ => true,
        }
    }
}

/// True if the software of `run` takes its micro-batches; a batch that does not divide is an error of its own.
fn takes_microbatches(run: &Run) -> bool {
    let pipelines = run.training_gpus() / run.tp.saturating_mul(run.pp).saturating_mul(run.cp).max(1);
    let microbatches = run.global_batch / pipelines.saturating_mul(run.micro_batch).max(1);
    let taken = TakenMicrobatches::of(run, run.pp, microbatches);
    run.pp == 1 || taken.are_run_by(run.stack.preset_row(), run.schedule)
}

/// True if the software of `run` cuts its layers evenly over so many stages. A split that is given says itself what
/// its stages hold.
fn has_layers(run: &Run) -> bool {
    let layers = run.model.resolve().map_or(u64::MAX, |model| model.layers);
    run.stage_layers.is_some() || run.stack.preset_row().cuts_evenly(layers, run.schedule.stages(run))
}

/// True if `stack` runs these sizes of a layout together.
pub(crate) fn combines(stack: &Stack, cuts: CombinedCuts) -> bool {
    stack.trainer.combines(cuts)
}

/// True if some software cuts the frozen base of `run`, where it has one, by tensor parallelism.
pub(crate) fn cuts_base(run: &Run) -> bool {
    !run.adapter.is_uncut(run.precision.computes())
}

/// True if the software of `run` cuts the key-value heads of its attention over `tp` ranks. Megatron Core raises unless
/// their number is a multiple of `tp`: `transformer_config.py` until 2025, the check of `num_query_groups`. In 2026 it
/// gathers heads that are fewer than the ranks: 002526d, `SelfAttention`'s fallback that the same file names.
pub(crate) fn cuts_heads(run: &Run, tp: u64) -> bool {
    let stack = run.stack.preset_row();
    let Some(model) = run.model.resolve().ok().filter(|model| model.mla.is_none()) else {
        return true;
    };
    let divides = stack.software.peers == Some(Peers::Megatron2026) && tp.is_multiple_of(model.kv_heads.max(1));
    stack.trainer != Trainer::Megatron || divides || model.kv_heads.is_multiple_of(tp)
}

/// True if `stack` hides experts' messages under `schedule`, where it does, with this recomputation and experts on
/// ranks of their own or not (`ep`).
///
/// - Megatron-LM `arguments.py`, `--overlap-moe-expert-parallel-comm`: with expert parallelism, without full
///   recomputation, of all layers or of some, and without that of the whole layer of experts.
/// - torchtitan `distributed/dual_pipe_v.py`: without activation checkpointing.
pub(crate) fn recomputes(stack: &Stack, schedule: Schedule, ep: u64, recompute: &Recompute) -> bool {
    if !schedule.pairs_passes() {
        return true;
    }
    match (stack.trainer, recompute) {
        (Trainer::Megatron, Recompute::Full | Recompute::Layers(_)) => false,
        (Trainer::Megatron, Recompute::Modules(modules)) => !modules.contains(&Module::Moe),
        (Trainer::Torchtitan, recompute) => ep == 1 || *recompute == Recompute::None,
        _ => true,
    }
}

/// What of a layout its software does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unable {
    /// GPUs of their maker.
    Gpus,
    /// A pipeline.
    Pipeline,
    /// The schedule of the pipeline.
    Schedule,
    /// The schedule with so many micro-batches.
    Microbatches,
    /// An even split of the layers over so many stages.
    Stages,
    /// Stages of these layers, which came with this release of Megatron Core.
    Release(&'static str),
    /// The ZeRO stage, above this one.
    Zero { most: u64 },
    /// ZeRO-1, where gradients are sharded with the states.
    ZeroOne,
    /// The ZeRO stage under a pipeline, above this one.
    ZeroOfPipeline { most: u64 },
    /// Tensor parallelism.
    Tensor,
    /// Context parallelism.
    Context,
    /// Experts on ranks of their own.
    Experts,
    /// Tensor parallelism over more ranks than it cuts key-value heads to.
    Heads,
    /// Tensor parallelism of a frozen base that is quantised.
    TensorOfBase,
    /// The schedule's overlap with what is recomputed.
    Recompute,
    /// Ways to cut a model that it runs one at a time.
    Together,
}

/// True if `stack` runs `row`, which runs two micro-batches side by side.
fn overlaps(row: &ScheduleInfo, stack: &Stack) -> bool {
    row.kind.overlaps_experts().is_some() && row.is_run_by(stack)
}

/// What the software of `run` does not run of its layout: the first of it; none where it runs all.
pub(crate) fn unable(run: &Run) -> Option<Unable> {
    let stack = run.stack.preset_row();
    let able = run.abilities();
    let Run { tp, pp, cp, ep, etp, zero, cp_comm: exchange, .. } = *run;
    let runs = |schedule: Schedule| schedule.row().is_run_by(stack);
    let lacked = lacked_release(run);
    // Any software runs one stage, but not every one two micro-batches side by side on it.
    let one_stage = || run.schedule.overlaps_experts().is_none() || SCHEDULES.iter().any(|row| overlaps(row, stack));
    let checks = [
        (run.is_on_gpus_of_its_software(), Unable::Gpus),
        (pp == 1 || able.pipeline, Unable::Pipeline),
        (if pp == 1 { one_stage() } else { runs(run.schedule) }, Unable::Schedule),
        (takes_microbatches(run), Unable::Microbatches),
        (has_layers(run), Unable::Stages),
        (lacked.is_none(), Unable::Release(lacked.unwrap_or_default())),
        (zero <= able.zero, Unable::Zero { most: able.zero }),
        (zero != 1 || stack.has_zero_1() || run.training_gpus() <= tp.saturating_mul(pp), Unable::ZeroOne),
        (pipes(stack, pp, run.schedule, zero), Unable::ZeroOfPipeline { most: 1 }),
        (tp == 1 || able.tensor, Unable::Tensor),
        (cuts_heads(run, tp), Unable::Heads),
        (cp == 1 || able.context, Unable::Context),
        (ep == 1 || able.experts, Unable::Experts),
        (tp == 1 || cuts_base(run), Unable::TensorOfBase),
        (recomputes(stack, run.schedule, ep, &run.recompute), Unable::Recompute),
        (combines(stack, CombinedCuts { tp, cp, ep, etp, zero, exchange }), Unable::Together),
    ];
    checks.into_iter().find_map(|(runs, what)| (!runs).then_some(what))
}

/// What the software of `run` does not run of its layout, in a sentence without its end; none where it runs all.
pub fn why_unable(run: &Run) -> Option<Message> {
    let software = verbatim(run.stack.preset_row().choice.label);
    let has_no = |way: &'static str, software: Message| {
        t!("{software} has no {way} for this training", software, way = Message::plain(way))
    };
    Some(match unable(run)? {
        Unable::Gpus => t!("{software} trains on AMD's GPUs alone", software),
        Unable::Pipeline => t!("{software} runs no pipeline", software),
        Unable::Schedule => {
            t!("{software} does not run {schedule}", software, schedule = Message::plain(run.schedule.choice().label))
        }
        Unable::Microbatches => t!(
            "{software} does not run {schedule} with this number of micro-batches",
            software,
            schedule = Message::plain(run.schedule.choice().label)
        ),
        Unable::Stages => t!(
            "{software} does not cut {layers} layers evenly over {stages}",
            software,
            layers = run.model.resolve().map_or(0, |model| model.layers),
            stages = stages_said(run)
        ),
        Unable::Release(release) => {
            t!("{software} does not have these stages, which need Megatron Core {release} or later", software, release)
        }
        Unable::Zero { most } => t!("{software} has ZeRO stages up to {most}", software, most),
        Unable::ZeroOne => t!("{software} has no ZeRO-1", software),
        Unable::ZeroOfPipeline { most } => {
            t!("{software} has ZeRO stages up to {most} under a pipeline", software, most)
        }
        Unable::Tensor => has_no("tensor parallelism", software),
        Unable::Context => has_no("context parallelism", software),
        Unable::Experts => has_no("expert parallelism", software),
        Unable::Heads => t!(
            "{software} does not cut {heads} key-value heads over TP {tp}",
            software,
            heads = run.model.resolve().map_or(0, |model| model.kv_heads),
            tp = run.tp
        ),
        Unable::Recompute => t!(
            "{software} does not run {schedule} with {recomputation}",
            software,
            schedule = Message::plain(run.schedule.choice().label),
            recomputation = run.recompute.words()
        ),
        Unable::TensorOfBase => t!("no software is known that cuts a quantised base by tensor parallelism"),
        Unable::Together => t!("{software} does not run these sizes together", software),
    })
}

/// True if the software of `run` can run experts' messages of one micro-batch beside another on one stage: a layout
/// that is listed under 1F1B alone.
pub fn overlaps_on_one_stage(run: &Run) -> bool {
    let stack = run.stack.preset_row();
    run.model.resolve().is_ok_and(|model| model.moe.is_some()) && SCHEDULES.iter().any(|row| overlaps(row, stack))
}

/// True if the software of `run` runs its schedule, with its micro-batches and its stages.
pub fn runs_schedule(run: &Run) -> bool {
    use Unable::{Microbatches, Pipeline, Release, Schedule, Stages};
    !matches!(unable(run), Some(Pipeline | Schedule | Microbatches | Stages | Release(_)))
}

/// True if the software of `run` can run its layout.
pub fn can_run(run: &Run) -> bool {
    unable(run).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True if the software of the default Run with these fields runs it.
    fn is_run(texts: &[(&str, &str)]) -> bool {
        can_run(&Run::default().with_texts(texts).unwrap())
    }

    /// Megatron Core's `transformer_config.py` raises where `num_query_groups` is no multiple of the tensor parallel
    /// size; its releases of 2026 copy heads where it divides that size. Heads of MLA are not grouped.
    #[test]
    fn key_value_heads_are_cut_as_megatron_core_cuts_them() {
        let runs = |model: &str, tp: &str, stack: &str| {
            let zero = if stack == "torchtitan" { "3" } else { "1" };
            let edits = [("model", model), ("gpus", "64"), ("tp", tp), ("pp", "1"), ("zero", zero), ("stack", stack)];
            is_run(&edits)
        };
        // Qwen3-235B-A22B has 4 key-value heads, Llama 3.1 8B has 8, DeepSeek-V3 has latent attention.
        for (model, tp, stack, expected) in [
            ("qwen-3-235b-a22b", "4", "megatron-2025", true),
            ("qwen-3-235b-a22b", "8", "megatron-2025", false),
            ("qwen-3-235b-a22b", "8", "megatron-2024", false),
            ("qwen-3-235b-a22b", "8", "megatron-2026", true),
            ("qwen-3-235b-a22b", "8", "torchtitan", true),
            ("llama-3.1-8b", "8", "megatron-2025", true),
            ("deepseek-v3", "8", "megatron-2025", true),
        ] {
            assert_eq!(runs(model, tp, stack), expected, "{model} TP {tp} {stack}");
        }
    }

    /// Megatron-LM asserts `recompute_granularity != "full"` and no module `moe` beside
    /// `--overlap-moe-expert-parallel-comm`; torchtitan raises where `DualPipeV` overlaps experts under activation
    /// checkpointing. Without the overlap both recompute.
    #[test]
    fn overlaps_of_experts_recompute_what_their_programs_let_them() {
        let runs = |stack: &str, schedule: &str, key: &str, recompute: &str| {
            let edits = [
                ("model", "deepseek-v3"),
                ("gpus", "256"),
                ("pp", "8"),
                ("tp", "1"),
                ("ep", "32"),
                ("global_batch", "1024"),
                ("zero", if stack == "torchtitan" { "2" } else { "1" }),
                ("stack", stack),
                ("schedule", schedule),
                (key, recompute),
            ];
            is_run(&edits)
        };
        for (stack, schedule, key, recompute, expected) in [
            ("megatron-2025", "interleaved-overlap", "recompute", "none", true),
            ("megatron-2025", "interleaved-overlap", "recompute", "full", false),
            ("megatron-2026", "interleaved-overlap", "recompute", "full", false),
            ("megatron-2025", "interleaved-overlap", "recompute.layers", "1", false),
            ("megatron-2025", "interleaved-overlap", "recompute.modules", "moe", false),
            ("megatron-2025", "interleaved-overlap", "recompute.modules", "norm,moe_act", true),
            ("megatron-2025", "interleaved-1f1b", "recompute", "full", true),
            ("torchtitan", "dualpipev", "recompute", "none", true),
            ("torchtitan", "dualpipev", "recompute", "full", false),
            ("torchtitan", "zb-v", "recompute", "full", true),
        ] {
            assert_eq!(runs(stack, schedule, key, recompute), expected, "{stack} {schedule} {key}={recompute}");
        }
    }

    /// Megatron-LM raises where the last group of interleaving is smaller than the pipeline; PyTorch where its rounds
    /// are unequal. 1F1B takes any number.
    #[test]
    fn interleaving_runs_with_the_micro_batches_that_its_software_takes() {
        let run = |stack: &str, schedule: &str, batch: &str| {
            let edits = [("gpus", "3"), ("tp", "1"), ("pp", "3"), ("global_batch", batch), ("stack", stack)];
            let run = Run::default().with_texts(&edits).unwrap();
            run.with_texts(&[("schedule", schedule)]).unwrap()
        };
        for stack in ["megatron-2024", "megatron-2025", "torchtitan"] {
            assert!(can_run(&run(stack, "1f1b", "256")));
            assert!(can_run(&run(stack, "interleaved-1f1b", "255")));
            assert!(!can_run(&run(stack, "interleaved-1f1b", "256")), "{stack}");
        }
        assert!(!can_run(&run("megatron-2025", "interleaved-overlap", "256")));
    }

    /// DeepSeek's `dualpipe.py` and PyTorch's `ScheduleDualPipeV` assert twice as many micro-batches as ranks.
    #[test]
    fn pairs_of_passes_need_twice_as_many_micro_batches_as_ranks() {
        let run = |stack: &str, schedule: &str, batch: &str| {
            let edits = [("gpus", "4"), ("tp", "1"), ("pp", "4"), ("global_batch", batch), ("stack", stack)];
            Run::default().with_texts(&edits).unwrap().with_texts(&[("schedule", schedule)]).unwrap()
        };
        for (stack, schedule) in [("deepseek-v3", "dualpipe"), ("torchtitan", "dualpipev")] {
            assert!(can_run(&run(stack, schedule, "8")), "{stack}");
            assert_eq!(unable(&run(stack, schedule, "6")), Some(Unable::Microbatches), "{stack}");
        }
    }

    /// `CHANGELOG.md` of Megatron-LM, 0.4: context parallelism, experts of GPT. Its `arguments.py` has
    /// `--overlap-moe-expert-parallel-comm` since 2025, with a pipeline and without. Primus is built on `ROCm`.
    #[test]
    fn an_early_release_and_other_gpus_run_less() {
        let can = |stack: &str, set: &[(&str, &str)]| {
            let edits = [("model", "mixtral-8x7b"), ("gpus", "64"), ("tp", "1"), ("pp", "1"), ("stack", stack)];
            can_run(&Run::default().with_texts(&edits).unwrap().with_texts(set).unwrap())
        };
        for (stack, has_cuts, overlaps) in [
            ("megatron-2021", false, false),
            ("megatron-2024", true, false),
            ("megatron-2025", true, true),
            ("megatron-2026", true, true),
        ] {
            assert!(can(stack, &[]), "{stack}");
            assert_eq!([can(stack, &[("cp", "2")]), can(stack, &[("ep", "8")])], [has_cuts; 2], "{stack}");
            assert_eq!(can(stack, &[("schedule", "1f1b-overlap")]), overlaps, "{stack}");
            let chunks = [("pp", "4"), ("schedule", "interleaved-overlap"), ("virtual_stages", "2")];
            assert_eq!(can(stack, &chunks), overlaps, "{stack}");
        }
        assert!(!can("hf-trainer", &[("schedule", "1f1b-overlap")]) && can("hf-trainer", &[]));
        for (stack, on_nvidia) in [("primus", false), ("primus-hipblaslt", false), ("megatron-2025", true)] {
            assert_eq!(can(stack, &[("gpu", "h100-sxm-80gb")]), on_nvidia, "{stack}");
            assert!(can(stack, &[("gpu", "mi300x")]), "{stack}");
        }
    }

    /// `CHANGELOG.md` of Megatron-LM: its FSDP is newer than Megatron Core 0.9, the last of 2024. The 126 layers of
    /// Llama 3.1 405B with embedding and head are 128 stages where these count as layers, and never 130 or 127.
    #[test]
    fn a_version_runs_what_it_has_and_stages_have_layers() {
        let sharded = |stack| {
            let run = Run { zero: 2, pp: 1, ..Run::default() };
            can_run(&run.with_texts(&[("stack", stack)]).unwrap())
        };
        assert!(sharded("megatron-2025") && !sharded("nemo-2024"));
        // `fully_shard` shards gradients with the states; what has one rank shards nothing.
        for (stack, zero, gpus, runs) in [
            ("torchtitan", "1", "64", false),
            ("torchtitan", "2", "64", true),
            ("torchtitan", "1", "8", true),
            ("fsdp2", "1", "64", false),
            ("fsdp2", "0", "64", true),
            ("hf-trainer", "1", "64", true),
        ] {
            let edits = [("stack", stack), ("zero", zero), ("gpus", gpus), ("tp", "8"), ("pp", "1")];
            let edits = if stack == "hf-trainer" { &edits[..3] } else { &edits[..] };
            let run = Run { tp: 1, pp: 1, ..Run::default() };
            assert_eq!(can_run(&run.with_texts(edits).unwrap()), runs, "{stack} ZeRO-{zero}");
        }
        let chunks = |stack: &str, v: &str| {
            let edits =
                [("model", "llama-3.1-405b"), ("gpus", "2048"), ("tp", "8"), ("pp", "16"), ("global_batch", "256")];
            let run = Run::default().with_texts(&edits).unwrap();
            let zero = if stack == "torchtitan" { "2" } else { "1" };
            let set = [("schedule", "interleaved-1f1b"), ("virtual_stages", v), ("stack", stack), ("zero", zero)];
            can_run(&run.with_texts(&set).unwrap())
        };
        for (stack, counts_ends) in
            [("megatron-2025", true), ("torchtitan", true), ("megatron-2024", false), ("nemo-2024", false)]
        {
            // 126 layers on 64 stages are no even split: each stage has to be given its own.
            assert_eq!(chunks(stack, "4"), stack != "nemo-2024", "{stack}");
            assert_eq!(chunks(stack, "8"), counts_ends, "{stack}");
        }
    }
}
