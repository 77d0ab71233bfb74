//! Fine-tuning in the memory panel: the phases of reinforcement learning, offloading, and the staircase from full fine-
//! tuning to the run. Other runs show nothing of it.

use super::{mini, verdict};
use crate::node::figure::Scope;
use crate::prelude::*;
use shardscope_core::advice::fit::{called, words};
use shardscope_core::advice::staircase::{Stair, full, staircase};
use shardscope_core::memory::StageMemory;
use shardscope_core::memory::host::HostMemory;
use shardscope_core::report::{Memory, OffloadStep};
use shardscope_core::run::registry::field;
use shardscope_core::sort::sort_by;

/// All three, as far as the run has them.
pub fn tuning(evaluation: &Evaluation, unit: MemoryUnit) -> Node {
    let report = &evaluation.report;
    let memory = &report.memory;
    let run = &evaluation.scenario.run;
    Node::from_iter([
        phases(run, memory, unit),
        offloaded(run, memory.host.as_ref(), report.offload.as_ref(), unit),
        stairs(run, unit),
    ])
}

fn section(title: &'static str, content: Node, note: &'static str) -> Node {
    let parts = [heading(title), content, muted(note)];
    el("div", &[("class", "tuning")], &parts)
}

fn longest<'a>(all: impl Iterator<Item = &'a StageMemory>, capacity: Bytes) -> Bytes {
    all.map(|memory| memory.total).fold(capacity, Bytes::max)
}

/// A bar a phase.
fn phases(run: &Run, memory: &Memory, unit: MemoryUnit) -> Node {
    if memory.phases.is_empty() {
        return Node::none();
    }
    let capacity = memory.capacity_bytes;
    let most = longest(memory.phases.iter().map(|phase| &phase.memory), capacity);
    let total =
        |at: usize, held: &StageMemory| ask("figure", Figure::Phase(at), &[text(verbatim(unit.number(held.total)))]);
    let table = Rows::of(memory.phases.iter().enumerate())
        .column("phase", |(_, phase)| phase.name)
        .column(t!("peak {value}", value = unit.name()), |(at, phase)| total(*at, &phase.memory))
        .column("largest parts", |(_, phase)| largest(&phase.memory, &Scope::run().part(phase.name), unit))
        .column("components", |(_, phase)| mini(&phase.memory, capacity, most, unit))
        .marked(|(_, phase)| phase.memory.total == memory.peak_bytes)
        .table("Phases of reinforcement learning");
    let note = if run.rl.algorithm.is_some() {
        "The largest decides the verdict. Their times stand under One step of reinforcement learning. The engine's \
            reservation is given, its CUDA graphs stay beside it."
    } else {
        "The largest decides the verdict. Memory only: step time is the policy's update alone. The engine's \
            reservation is given, its CUDA graphs stay beside it."
    };
    section("Phases of reinforcement learning", table, note)
}

/// The three largest named parts of a GPU's memory.
fn largest(memory: &StageMemory, whose: &Scope, unit: MemoryUnit) -> Message {
    let mut parts: Vec<(&'static str, Bytes)> = Vec::new();
    for item in &memory.items {
        match parts.iter_mut().find(|(name, _)| *name == item.name) {
            Some((_, bytes)) => *bytes += item.bytes,
            None => parts.push((item.name, item.bytes)),
        }
    }
    sort_by(&mut parts, |a, b| b.1.0.total_cmp(&a.1.0));
    let parts = parts.into_iter().take(3);
    let part =
        |(name, bytes): (&'static str, Bytes)| Message::joined(" ", [name.into(), whose.says(name, unit.show(bytes))]);
    Message::joined(", ", parts.map(part))
}

/// Memory of a node's host, its traffic over the link in a step, and the exposed part of it.
fn offloaded(run: &Run, host: Option<&HostMemory>, step: Option<&OffloadStep>, unit: MemoryUnit) -> Node {
    let Some(host) = host else {
        return Node::none();
    };
    let bytes = |name: &'static str, bytes: Bytes| (name, text(verbatim(unit.show(bytes))));
    let time = |name: &'static str, time: Seconds| (name, text(verbatim(show_seconds(time))));
    // Without copies in a step it is what waits for its phase.
    let (states, note) = match step {
        None => (
            "models and engine weights that wait on the host",
            "They leave the GPU while another model works. What their copies take is not in the step.",
        ),
        Some(step) => (
            "states on the host, with pinned buffers",
            if step.host_step_s.0 > 0.0 {
                "Published steps of an optimizer on the host take 0.1 to 1.5 ns a parameter of the node: measure one \
                    step."
            } else {
                "Copies hide behind compute where the link is fast enough."
            },
        ),
    };
    let some = |name, size: Bytes| (size.0 > 0.0).then(|| bytes(name, size));
    let mut rows = vec![bytes(states, host.states_bytes)];
    rows.extend(some("activations on the host", host.activations_bytes));
    rows.extend(some("on disks", host.disk_bytes));
    let on_host = match (host.capacity_bytes, host.verdict) {
        (Some(capacity), Some(word)) => {
            let peak = Scope::run().says("memory.host.total_bytes", unit.number(host.total_bytes));
            let size = Scope::run().says("memory.host.capacity_bytes", unit.show(capacity));
            let size = t!("{peak} of {capacity}", peak, capacity = size);
            Node::from_iter([verdict(run, word, [host.total_bytes, capacity]), text(" "), text(size)])
        }
        _ => text(verbatim(unit.show(host.total_bytes))),
    };
    rows.push(("host memory of a node", on_host));
    if let Some(step) = step {
        rows.extend([
            bytes("sent to the host, a GPU and step", step.to_host_bytes),
            bytes("fetched from it", step.to_gpu_bytes),
            time("on the link", step.transfer_s),
            time("the optimizer on the host", step.host_step_s),
            time("hidden behind compute", step.hidden_s),
            time("what the step is longer by", step.exposed_s),
        ]);
    }
    let table = Rows::of(rows)
        .column("offloading", |(name, _)| *name)
        .column("value", |(_, value)| value.clone())
        .table("Offloading");
    section("Offloading", table, note)
}

/// From full fine-tuning to `run`, a row a change.
fn stairs(run: &Run, unit: MemoryUnit) -> Node {
    let stairs = staircase(run);
    let Some(first) = stairs.first() else {
        return Node::none();
    };
    let capacity = first.capacity;
    let most = longest(stairs.iter().map(|stair| &stair.memory), capacity);
    // The first stair has none before it.
    let against = |at: usize, cell: &dyn Fn(&Stair, &Stair) -> Message| {
        let stair = &stairs[at];
        if stair.set.is_empty() { verbatim("–") } else { cell(stair, &stairs[at.saturating_sub(1)]) }
    };
    let saved = |stair: &Stair, before: &Stair| {
        let saved = before.memory.total - stair.memory.total;
        verbatim(format!("{}{}", if saved.0 < 0.0 { "+" } else { "−" }, unit.number(Bytes(saved.0.abs()))))
    };
    let name = |stair: &Stair| match stair.set.first() {
        Some((key, value)) if value.is_empty() => {
            let name = field(key).map_or_else(|| verbatim(*key), called);
            Message::joined(" ", [name, t!("as the software does")])
        }
        Some(_) => words(&stair.set[..1]),
        None => {
            let full = full(run);
            let optimizer = full.optimizer.choice().label;
            t!("full fine-tuning with {optimizer}: {precision}", optimizer, precision = full.precision.title())
        }
    };
    let table = Rows::of(stairs.iter().enumerate())
        .column("change", |(_, stair)| name(stair))
        .column("verdict", |(_, stair)| verdict(&stair.run, stair.verdict, [stair.memory.total, stair.capacity]))
        .figures(t!("peak {value}", value = unit.name()), |(_, stair)| unit.number(stair.memory.total))
        .column("memory", |(at, _)| against(*at, &saved))
        .figures("step", |(_, stair)| show_seconds(stair.step))
        .column("time", |(at, _)| against(*at, &|stair, before| change(stair.step / before.step - 1.0)))
        .column("components", |(_, stair)| mini(&stair.memory, capacity, most, unit))
        .table("From full fine-tuning to this run");
    section(
        "From full fine-tuning to this run",
        table,
        "One change at a time, each with what it saves and what it costs in time.",
    )
}

/// A change of time: "+12.0 %".
pub(super) fn change(share: f64) -> Message {
    if share.abs() < SMALLEST_PRINTED {
        t!("the same")
    } else if share > 0.0 {
        verbatim(format!("+{}", show_percent(share)))
    } else {
        verbatim(format!("−{}", show_percent(-share)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::run::Based;

    /// The head has the whole step where the run says how it generates, else the step of the policy's update: the note
    /// says which.
    #[test]
    fn the_note_on_phases_says_what_the_step_time_is_of() {
        let set = [("phases.framework", "verl".to_owned())];
        let without = Run::default().with_texts(&set).unwrap();
        let rl = shardscope_core::run::RlParts {
            algorithm: Some(shardscope_core::run::Algorithm::Grpo),
            ..crate::panels::rl::tests::asked()
        };
        for (run, is_alone) in [(Run { rl, ..without.clone() }, false), (without, true)] {
            let html = tuning(&evaluate(&run).unwrap(), MemoryUnit::Gib).to_html();
            assert_eq!(html.contains("step time is the policy's update alone"), is_alone, "{html}");
            assert!(html.contains("The largest decides the verdict"), "{html}");
        }
    }

    /// The first row has the precision that it is computed with: one of the run's bytes a parameter or more, in the
    /// words of the form. fp16 on a V100, which has no bf16, and QLoRA, which begins at bf16.
    #[test]
    fn the_first_stair_is_named_by_its_own_precision() {
        let fp16 = [("gpu", "v100-sxm2-16gb"), ("model", "gpt-2-xl"), ("precision", "fp16"), ("zero", "2")];
        let adapted = [("gpu", "h100-sxm-80gb"), ("model", "llama-3.1-8b"), ("adapter.method", "qlora")];
        for (set, precision) in [(&fp16[..], "fp16"), (&adapted[..], "")] {
            let small = [("gpus", "8"), ("tp", "1"), ("pp", "1"), ("seq_len", "1024"), ("global_batch", "64")];
            let run = [&small[..], &[("stack", "deepspeed")], set].concat();
            let run = Run::default().with_texts(&run).unwrap();
            let begins = full(&run);
            let html = stairs(&run, MemoryUnit::Gib).to_html();
            let label = begins.precision.policy().unwrap().label;
            assert!(html.contains(&format!("full fine-tuning with Adam: {label}")), "{html}");
            assert!(begins.optimizer.id() == "adam" && label.contains(precision), "{label}");
            assert_eq!(label.contains("bf16"), begins.precision != Based::preset("fp16"), "{label}");
        }
    }
}
