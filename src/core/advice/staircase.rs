//! Memory and time that each choice of a fine-tuning run saves: the steps of a staircase from full fine-tuning with
//! Adam to the run, one changed setting a step.

use super::fit::Set;
use crate::memory::{StageMemory, Verdict};
use crate::report::{Report, needs_worker, report};
use crate::run::registry::{FIELDS, plain};
use crate::run::{
    AdapterMethod, AdapterParts, Based, OffloadParts, Optimizer, PhasesParts, Precision, PrecisionParts, Run,
};
use crate::units::{Bytes, Seconds};

/// A step of the staircase.
#[derive(Clone, Debug, PartialEq)]
pub struct Stair {
    /// The changed fields with their values; empty for the first stair.
    pub set: Set,
    /// The run after the change.
    pub run: Run,
    /// Memory of the fullest GPU after the change.
    pub memory: StageMemory,
    /// Memory that is available on that GPU.
    pub capacity: Bytes,
    /// Whether the run fits after the change.
    pub verdict: Verdict,
    /// Step time after the change.
    pub step: Seconds,
}

impl Stair {
    fn of(set: Set, run: &Run, report: &Report) -> Self {
        let memory = &report.memory;
        Self {
            set,
            run: run.clone(),
            memory: memory.fullest().cloned().unwrap_or_default(),
            capacity: memory.capacity_bytes,
            verdict: memory.verdict,
            step: report.step.time_s,
        }
    }
}

/// Sets some fields of the first Run to their values in the second.
type Change = fn(&mut Run, &Run);

/// The changes from full fine-tuning to a Run, in the order in which they are made.
const CHANGES: [Change; 10] = [
    |now, run| now.precision = run.precision.clone(),
    |now, run| now.optimizer = run.optimizer,
    // The adapter on weights that are not quantised: QLoRA as LoRA.
    |now, run| {
        let unquantised = |method| match method {
            AdapterMethod::Qlora => AdapterMethod::Lora,
            other => other,
        };
        now.adapter = AdapterParts { method: run.adapter.method.map(unquantised), base: None, ..run.adapter.clone() };
    },
    // The quantised weights of QLoRA.
    |now, run| now.adapter = run.adapter.clone(),
    |now, run| now.cross_entropy = run.cross_entropy,
    |now, run| now.recompute = run.recompute.clone(),
    |now, run| now.zero = run.zero,
    // Offloaded activations.
    |now, run| {
        now.offload.activations.clone_from(&run.offload.activations);
        (now.offload.layers, now.offload.framework) = (run.offload.layers, run.offload.framework);
    },
    // Everything else that is offloaded, but not the parameters.
    |now, run| {
        now.offload = OffloadParts { parameters: None, ..run.offload.clone() };
    },
    // Offloaded parameters.
    |now, run| now.offload = run.offload.clone(),
];

/// The staircase to `run`. Empty for a run that is no fine-tuning, that takes long to simulate, or that is the full
/// fine-tuning itself.
pub fn staircase(run: &Run) -> Vec<Stair> {
    if !run.is_tuned() || needs_worker(run) {
        return Vec::new();
    }
    let run = &Run { phases: PhasesParts::default(), ..run.clone() };
    let mut now = full(run);
    let Ok(first) = report(&now) else {
        return Vec::new();
    };
    let mut stairs = vec![Stair::of(Vec::new(), &now, &first)];
    let mut before = now.clone();
    for change in CHANGES {
        change(&mut now, run);
        let set = difference(&before, &now);
        // A change that only works with the next one is made with it.
        if !set.is_empty()
            && let Ok(after) = report(&now)
        {
            stairs.push(Stair::of(set, &now, &after));
            before.clone_from(&now);
        }
    }
    // Leave out the stairs that change neither memory nor time.
    let is_alike = |pair: &[Stair]| pair[0].memory.total == pair[1].memory.total && pair[0].step == pair[1].step;
    let mut leaves_out = vec![false];
    leaves_out.extend(stairs.windows(2).map(is_alike));
    let mut leaves_out = leaves_out.into_iter();
    stairs.retain(|_| !leaves_out.next().unwrap_or(false));
    if stairs.len() < 2 { Vec::new() } else { stairs }
}

/// Full fine-tuning of the model of `run` on its GPUs: all weights trained, with fp32 states of Adam, in bf16 or in the
/// precision of `run` if that takes more bytes a parameter; nothing recomputed or offloaded; at most ZeRO-1.
pub fn full(run: &Run) -> Run {
    let default = Run::default();
    let mut full = Run {
        optimizer: Optimizer::Adam,
        adapter: default.adapter,
        offload: default.offload,
        recompute: default.recompute,
        cross_entropy: None,
        zero: run.zero.min(1),
        ..run.clone()
    };
    let bf16 = Based::preset("bf16");
    let bytes = |precision: &Based<PrecisionParts>| precision.resolve().map_or(0.0, Precision::total);
    if bytes(&run.precision) < bytes(&bf16) {
        full.precision = bf16;
    }
    full
}

/// Fields of `to` that differ from those of `from`, with their values as a link writes them.
fn difference(from: &Run, to: &Run) -> Set {
    let changed = FIELDS.iter().filter(|field| field.get(from) != field.get(to));
    changed.map(|field| (field.key, plain(&field.get(to)).unwrap_or_default())).collect()
}
