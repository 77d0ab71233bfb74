//! Warnings of a report: idle ranks, and a host that is too small.

use super::Memory;
use crate::issue::Issue;
use crate::memory::host::HostMemory;
use crate::memory::{REFERENCE_MODEL, Verdict};
use crate::message::{Message, verbatim};
use crate::pipeline::Stats;
use crate::pipeline::able::{Unable, can_run, unable, why_unable};
use crate::pipeline::balance::{StageWork, optimum};
use crate::pipeline::release::{lacked_release, needed_release};
use crate::report::passes::layer_seconds;
use crate::run::follow::{CUTS, TUNES};
use crate::run::presets::{STACKS, Stack};
use crate::run::{EpOverlap, OneOf, Run, Scenario};
use crate::t;
use crate::units::{Bytes, MemoryUnit};

/// Idle share of the pipeline above which the report warns that micro-batches are few.
const MUCH_BUBBLE: f64 = 0.2;
/// [`MUCH_BUBBLE`] over the time in which the ranks work.
const MUCH_OVER_IDEAL: f64 = MUCH_BUBBLE / (1.0 - MUCH_BUBBLE);
/// Micro-batches a pipeline rank from which on fill and drain are less than [`MUCH_BUBBLE`]: `(p − 1)/(m + p − 1)`.
const ENOUGH: u64 = 4;

/// Says that a node's host has too little memory for what is offloaded, or that the Run does not say how much it has.
pub(super) fn host_memory(host: &HostMemory) -> Option<Issue> {
    let gib = |bytes| MemoryUnit::Gib.show(bytes);
    let need = gib(host.total_bytes);
    let message = match (host.capacity_bytes, host.verdict) {
        (None, _) => {
            t!("a node's host holds {need} of what is offloaded; set the host memory to see whether it fits", need)
        }
        (Some(capacity), Some(Verdict::Oom | Verdict::Tight)) => t!(
            "a node's host would hold {need} of what is offloaded and has {capacity}",
            need,
            capacity = gib(capacity)
        ),
        _ => return None,
    };
    let enough = (host.total_bytes.gib() * 1.2 / 64.0).ceil().max(1.0) * 64.0;
    Some(Issue::warning("host_memory_gib", message).with_fix("host_memory_gib", enough))
}

/// Share of the GPU's memory from which the allocator waits for memory to be freed. Source: Megatron-LM pull request
/// 6429, where overlap without recomputation ran at a sixth of the speed with 79.7 of 80 GB in use.
const CROWDED: f64 = 0.95;

/// Says that overlapping the messages of experts leaves the allocator no room.
pub(super) fn crowded(scenario: &Scenario, peak: Bytes, capacity: Bytes) -> Option<Issue> {
    let overlaps = scenario.software.ep_overlap != EpOverlap::None && scenario.layout.ep > 1;
    let share = peak.0 / capacity.0;
    (overlaps && share > CROWDED && share <= 1.0).then(|| {
        let percent = format!("{:.0}", share * 100.0);
        let message = t!(
            "the experts' messages run beside another micro-batch and memory is at {percent} % of the GPU: PyTorch's \
                allocator then waits for memory to be freed, and the step is far longer (Megatron-LM pull request \
                6429)",
            percent
        );
        Issue::warning("ep_overlap", message)
    })
}

/// Says that the run would fit but for its reference model.
pub(super) fn reference_too_large(memory: &Memory) -> Option<Issue> {
    let fullest = memory.per_stage.get(memory.peak_stage)?;
    let copy = fullest.items.iter().filter(|item| item.name == REFERENCE_MODEL).map(|item| item.bytes.0);
    let copy = Bytes(copy.sum());
    let fits = memory.need_bytes.0 - copy.0 <= memory.capacity_bytes.0;
    (copy.0 > 0.0 && fits && memory.verdict == Verdict::Oom).then(|| {
        let message = t!(
            "the run would fit without its reference model, a copy of {bytes}: keep it on the host, or train adapters, \
                whose base is the reference",
            bytes = MemoryUnit::Gib.show(copy)
        );
        Issue::warning("objective.reference", message).with_fix("objective.reference", "offloaded")
    })
}

/// Says what of its layout the software of the Run does not run: the figures assume software that runs it. Counts of
/// micro-batches have warnings beside their schedule.
pub(super) fn not_in_software(scenario: &Scenario) -> Option<Issue> {
    let (run, layout) = (&scenario.run, &scenario.layout);
    let (field, most) = match unable(run)? {
        // Other GPUs have a warning beside the software.
        Unable::Microbatches | Unable::Gpus => return None,
        // Weight shards under a pipeline have a warning beside their field.
        Unable::ZeroOfPipeline { .. } if run.zero == 3 => return None,
        Unable::Zero { most } | Unable::ZeroOfPipeline { most } => ("zero", Some(most)),
        Unable::ZeroOne => ("zero", Some(Stack::fsdp_stage(layout.pp))),
        Unable::Pipeline => ("pp", None),
        Unable::Schedule => ("schedule", None),
        Unable::Release(_) if run.stage_layers.is_some() => ("stage_layers", None),
        Unable::Stages | Unable::Release(_) => (if run.virtual_stages > 1 { "virtual_stages" } else { "pp" }, None),
        Unable::Tensor | Unable::TensorOfBase | Unable::Heads => ("tp", None),
        Unable::Recompute => ("recompute", None),
        Unable::Context => ("cp", None),
        Unable::Experts => ("ep", None),
        Unable::Together => (if layout.ep > 1 { "ep" } else { "cp" }, None),
    };
    let issue =
        Issue::warning(field, t!("{why}: the figures assume software that runs this layout", why = why_unable(run)?));
    Some(match (most, running(run)) {
        (Some(most), _) => issue.with_fix("zero", most),
        (None, Some(stack)) => issue.with_fix("stack", stack),
        (None, None) => issue,
    })
}

/// Notices the release that the layout of `run` needs where its software may be an earlier one: nothing is wrong, but
/// that one refuses the Run.
pub(super) fn release_of_layout(run: &Run) -> Option<Issue> {
    let needed = needed_release(run).filter(|_| lacked_release(run).is_none())?;
    Some(Issue::notice(needed.field(), needed.words()))
}

/// Software that runs the layout of `run` as it is: by the same program where it does, else the first in the order of
/// the page; none where settings of the software itself were given.
fn running(run: &Run) -> Option<&'static str> {
    let own = run.stack.preset_row();
    let runs = |stack: &&Stack| {
        let after = run.with_texts(&[("stack", stack.choice.id)]);
        let after = after.filter(|after| unable(after).is_none() && after.is_adapted_by_its_software());
        after.is_some_and(|after| Scenario::new(&after).is_ok())
    };
    let of = |same: bool| STACKS.iter().filter(move |stack| (stack.trainer == own.trainer) == same);
    let is_bare = run.stack.parts == Run::default().stack.parts;
    of(true).chain(of(false)).filter(|_| is_bare).find(runs).map(|stack| stack.choice.id)
}

/// Says that the software of the Run has no adapters: the figures are what they would take. The fix is software that
/// has them, and the pipeline or the experts' ranks of the Run where it has these.
pub(super) fn no_adapters(scenario: &Scenario) -> Option<Issue> {
    let run = &scenario.run;
    if run.is_adapted_by_its_software() {
        return None;
    }
    let method = run.adapter.method?.choice().label;
    let message = t!(
        "{software} trains no adapters: the figures are what {method} would take",
        software = verbatim(run.stack.preset_row().choice.label),
        method = Message::plain(method)
    );
    let is_cut = scenario.layout.pp > 1 || scenario.layout.ep > 1;
    Some(Issue::warning("adapter.method", message).with_fix("stack", if is_cut { CUTS } else { TUNES }))
}

/// Says why the ranks idle: one rank that works longer than the others, or few micro-batches, which `endless` schedules
/// do not mind.
pub(super) fn much_bubble(scenario: &Scenario, stats: &Stats, endless: bool) -> Option<Issue> {
    if stats.bubble_fraction <= MUCH_BUBBLE {
        return None;
    }
    slow_rank(scenario, stats).or_else(|| if endless { None } else { few_microbatches(scenario, stats) })
}

/// Share of the pipeline that is idle, in percent.
fn idle_percent(stats: &Stats) -> String {
    format!("{:.0}", stats.bubble_fraction * 100.0)
}

/// What the longest rank works more than the average, over the average: the bubble of endlessly many micro-batches.
fn unevenness(stats: &Stats) -> f64 {
    stats.busy_s.iter().copied().fold(0.0, f64::max) / stats.ideal_s - 1.0
}

/// Names the rank that works so much longer than the average that it is the larger part of the bubble, or by itself
/// too much, with a split of the layers that levels the ranks; none where no rank does.
fn slow_rank(scenario: &Scenario, stats: &Stats) -> Option<Issue> {
    let percent = idle_percent(stats);
    let longest = stats.busy_s.iter().copied().fold(0.0, f64::max);
    let uneven = unevenness(stats);
    let is_slow = uneven > stats.bubble_over_ideal / 2.0 || uneven > MUCH_OVER_IDEAL;
    if !is_slow {
        return None;
    }
    let rank = stats.busy_s.iter().position(|busy| *busy >= longest).unwrap_or(0);
    // The time of a rank of one stage is that of its layers.
    let alone =
        scenario.stage_layers.len() == stats.busy_s.len() && stats.weight_copies.iter().all(|copies| *copies == 1);
    let level = if alone { level(scenario) } else { None };
    let is_level = level.as_ref() == Some(&scenario.stage_layers);
    // What its software does not run is no mend, unless it runs the layout as little as it is.
    let is_run = |split: &Vec<u64>| {
        let run = &scenario.run;
        can_run(&Run { stage_layers: Some(split.clone()), ..run.clone() }) || !can_run(run)
    };
    let split = level.filter(|split| !is_level && is_run(split));
    // Where no stage has a layer to give, there is nothing to say but why.
    let spare = !is_level && scenario.stage_layers.iter().any(|layers| *layers > 1);
    let stages = scenario.stage_layers.len();
    let divides = scenario.model.layers.is_multiple_of(stages as u64);
    let longer = format!("{:.0}", uneven * 100.0);
    let message = if spare {
        t!(
            "{percent} % of the pipeline is bubble: rank {rank} works {longer} % longer than the average and the \
                others wait; give it fewer layers",
            percent,
            rank,
            longer
        )
    } else if is_level && !divides {
        t!(
            "{percent} % of the pipeline is bubble: {layers} layers do not divide by {stages} stages, some work \
                {longer} % longer than the average and the others wait",
            percent,
            layers = scenario.model.layers,
            stages,
            longer
        )
    } else {
        t!(
            "{percent} % of the pipeline is bubble: rank {rank} works {longer} % longer than the average and the \
                others wait",
            percent,
            rank,
            longer
        )
    };
    let issue = Issue::warning("stage_layers", message);
    Some(match split {
        Some(split) => {
            let split: Vec<String> = split.iter().map(u64::to_string).collect();
            issue.with_fix("stage_layers", split.join(","))
        }
        None => issue,
    })
}

/// The split of the layers whose longest stage is shortest; none where the search would take too long. The best split
/// by its steps and its memory, which the cards and the table of splits offer, takes its place where the warning is
/// shown (`best_split.rs`).
fn level(scenario: &Scenario) -> Option<Vec<u64>> {
    let seconds = layer_seconds(scenario);
    let [first, layers @ .., last] = seconds.as_slice() else { return None };
    let work = StageWork { layers, first: *first, last: *last, most: None };
    let stages = &scenario.stage_layers;
    let found = optimum(&work, stages.len())?;
    // Of two that are as long, the present one.
    let is_shorter = work.longest(&found) < work.longest(stages) * (1.0 - 1e-9);
    Some(if is_shorter { found } else { stages.clone() })
}

/// Times by which a larger batch leaves less than [`MUCH_BUBBLE`]: fill and drain are shared by as many more
/// micro-batches. Twice where no batch does.
fn times_the_batch(stats: &Stats) -> u64 {
    /// Unequal ranks and messages lengthen fill and drain a little more than this says. A choice.
    const MARGIN: f64 = 0.9;
    let uneven = unevenness(stats);
    let fill = stats.bubble_over_ideal - uneven;
    let is_enough = |times: &u64| uneven + fill / *times as f64 <= MARGIN * MUCH_OVER_IDEAL;
    [2, 4, 8, 16].into_iter().find(is_enough).unwrap_or(2)
}

/// Says that micro-batches are unequal, or few for the pipeline; none where samples of unequal length have warnings of
/// their own.
fn few_microbatches(scenario: &Scenario, stats: &Stats) -> Option<Issue> {
    let (layout, percent) = (&scenario.layout, idle_percent(stats));
    // Unequal micro-batches leave gaps however many there are.
    if scenario.run.microbatch_lengths.as_ref().is_some_and(|lengths| lengths.windows(2).any(|pair| pair[0] != pair[1]))
    {
        let message = t!(
            "{percent} % of the pipeline is bubble: micro-batches of unequal lengths wait for each other on {pp} \
                pipeline ranks",
            percent,
            pp = layout.pp
        );
        return Some(Issue::warning("microbatch_lengths", message));
    }
    if scenario.scale.is_some() && layout.microbatches >= ENOUGH * layout.pp {
        // Samples of unequal length have warnings of their own.
        return None;
    }
    let pp = layout.pp;
    let message = match layout.microbatches {
        1 => t!("{percent} % of the pipeline is bubble: 1 micro-batch is few for {pp} pipeline ranks", percent, pp),
        microbatches => t!(
            "{percent} % of the pipeline is bubble: {microbatches} micro-batches are few for {pp} pipeline ranks",
            percent,
            microbatches,
            pp
        ),
    };
    let more = scenario.run.global_batch.saturating_mul(times_the_batch(stats));
    Some(Issue::warning("global_batch", message).with_fix("global_batch", more))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::Severity;
    use crate::report::report;

    /// What only some releases of the software have is said wherever the Run stands: layers of stages by the arguments
    /// of Megatron-LM, `tensor_parallel` under ZeRO-3 by the assertion of `DeepSpeed` up to 0.19.3.
    #[test]
    fn a_layout_that_not_every_release_runs_has_a_notice() {
        let stages = |stack, stages| [("stack", stack), ("pp", "4"), ("stage_layers", stages)];
        let sharded = |stack, zero| [("stack", stack), ("pp", "1"), ("zero", zero)];
        for (edits, needs) in [
            (stages("megatron-2024", "8,8,9,7"), Some(("stage_layers", "Megatron Core 0.13"))),
            (stages("megatron-2024", "7,9,9,7"), Some(("stage_layers", "Megatron Core 0.9"))),
            (stages("megatron-2024", "8,8,8,8"), None),
            (stages("megatron-2025", "8,8,9,7"), Some(("stage_layers", "Megatron Core 0.13"))),
            (stages("megatron-2026", "8,8,9,7"), None),
            (stages("torchtitan", "8,8,9,7"), None),
            // No release that it may be has them: a warning says so.
            (stages("megatron-2021", "8,8,9,7"), None),
            (sharded("deepspeed", "3"), Some(("zero", "DeepSpeed 0.19.4"))),
            (sharded("deepspeed", "2"), None),
            (sharded("fsdp2", "3"), None),
        ] {
            let run = Run::default().with_texts(&edits).unwrap();
            let warnings = report(&run).unwrap().warnings;
            let found = warnings.iter().find(|issue| issue.message.to_string().contains(" or later is needed for "));
            assert_eq!(found.map(|issue| issue.severity), needs.map(|_| Severity::Notice), "{edits:?}");
            let is_said = found.zip(needs).is_none_or(|(issue, (field, release))| {
                issue.field == field && issue.message.to_string().starts_with(release)
            });
            assert!(is_said, "{edits:?} {found:?}");
        }
    }

    /// 94 layers on 64 stages: some hold two where the average is 1.47. No batch levels them.
    #[test]
    fn layers_that_do_not_divide_are_the_cause_of_their_bubble() {
        let edits = [("model", "qwen-3-235b-a22b"), ("gpus", "256"), ("pp", "64"), ("recompute", "full")];
        for batch in ["256", "2048"] {
            let run = Run::default().with_texts(&edits).unwrap().with_texts(&[("global_batch", batch)]).unwrap();
            let warnings = report(&run).unwrap().warnings;
            let is_bubble = |issue: &&Issue| issue.message.to_string().contains("of the pipeline is bubble");
            let bubble = warnings.iter().find(is_bubble).unwrap();
            assert!(bubble.message.to_string().contains("94 layers do not divide by 64 stages"), "{bubble:?}");
            assert!(bubble.fix.is_none());
        }
    }

    /// The warning of few micro-batches is gone once its own batch is set.
    #[test]
    fn one_press_leaves_enough_micro_batches() {
        for edits in [
            [("model", "llama-3.1-405b"), ("gpus", "2048"), ("tp", "8"), ("pp", "16"), ("cp", "2")],
            [("model", "llama-3.1-70b"), ("gpus", "64"), ("tp", "1"), ("pp", "16"), ("cp", "1")],
        ] {
            let run = Run::default().with_texts(&edits).unwrap().with_texts(&[("stack", "megatron-2025")]).unwrap();
            let few = |run: &Run| {
                let warnings = report(run).unwrap().warnings;
                warnings.into_iter().find(|issue| issue.message.to_string().contains("are few for"))
            };
            let fix = few(&run).unwrap().fix.unwrap();
            let set: Vec<(&str, &str)> = fix.set.iter().map(|(key, value)| (*key, value.as_str())).collect();
            assert!(few(&run.with_texts(&set).unwrap()).is_none(), "{edits:?} {set:?}");
        }
    }
}
