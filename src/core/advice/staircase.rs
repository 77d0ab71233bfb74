//! Savings of each choice of a fine-tuning run: from full fine-tuning in bf16 with Adam to the run, one change at a
//! time.

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
    /// Changed fields with their values; nothing of the first.
    pub set: Set,
    /// The fullest GPU after it.
    pub memory: StageMemory,
    /// Memory that it is held against.
    pub capacity: Bytes,
    /// True if it fits.
    pub verdict: Verdict,
    /// Step time after it.
    pub step: Seconds,
}

impl Stair {
    fn of(set: Set, report: &Report) -> Self {
        let memory = &report.memory;
        Self {
            set,
            memory: memory.fullest().cloned().unwrap_or_default(),
            capacity: memory.capacity_bytes,
            verdict: memory.verdict,
            step: report.step.time_s,
        }
    }
}

/// A change on the way from one Run to another.
type Change = fn(&mut Run, &Run);

/// The changes in the order in which they are made.
const CHANGES: [Change; 10] = [
    |now, run| now.precision = run.precision.clone(),
    |now, run| now.optimizer = run.optimizer,
    |now, run| {
        let unquantised = |method| match method {
            AdapterMethod::Qlora => AdapterMethod::Lora,
            other => other,
        };
        now.adapter = AdapterParts { method: run.adapter.method.map(unquantised), base: None, ..run.adapter.clone() };
    },
    |now, run| now.adapter = run.adapter.clone(),
    |now, run| now.cross_entropy = run.cross_entropy,
    |now, run| now.recompute = run.recompute.clone(),
    |now, run| now.zero = run.zero,
    |now, run| {
        now.offload.activations.clone_from(&run.offload.activations);
        (now.offload.layers, now.offload.framework) = (run.offload.layers, run.offload.framework);
    },
    |now, run| {
        now.offload = OffloadParts { parameters: None, ..run.offload.clone() };
    },
    |now, run| now.offload = run.offload.clone(),
];

/// The staircase down to `run`; none of a run that is no fine-tuning, that takes long to simulate, or that changes
/// nothing.
pub fn staircase(run: &Run) -> Vec<Stair> {
    if !run.is_tuned() || needs_worker(run) {
        return Vec::new();
    }
    let run = &Run { phases: PhasesParts::default(), ..run.clone() };
    let mut now = full(run);
    let Ok(first) = report(&now) else {
        return Vec::new();
    };
    let mut stairs = vec![Stair::of(Vec::new(), &first)];
    let mut before = now.clone();
    for change in CHANGES {
        change(&mut now, run);
        let set = difference(&before, &now);
        // A change that only works with the next one is made with it.
        if !set.is_empty()
            && let Ok(after) = report(&now)
        {
            stairs.push(Stair::of(set, &after));
            before.clone_from(&now);
        }
    }
    let idle = |pair: &[Stair]| pair[0].memory.total == pair[1].memory.total && pair[0].step == pair[1].step;
    let idle: Vec<bool> = stairs.windows(2).map(idle).collect();
    let mut at = 0;
    stairs.retain(|_| {
        at += 1;
        at < 2 || !idle[at - 2]
    });
    if stairs.len() < 2 { Vec::new() } else { stairs }
}

/// Full fine-tuning of the same model on the same GPUs: all weights in bf16 with fp32 states of Adam, or whatever the
/// run takes more for, nothing recomputed or moved to the host, states sharded as ZeRO-1 does at most.
fn full(run: &Run) -> Run {
    let usual = Run::default();
    let mut full = Run {
        optimizer: Optimizer::Adam,
        adapter: usual.adapter,
        offload: usual.offload,
        recompute: usual.recompute,
        cross_entropy: None,
        zero: run.zero.min(1),
        ..run.clone()
    };
    let plain = Based::preset("bf16");
    let bytes = |precision: &Based<PrecisionParts>| precision.resolve().map_or(0.0, Precision::total);
    if bytes(&run.precision) < bytes(&plain) {
        full.precision = plain;
    }
    full
}

/// Settings of `to` that differ, as a link writes them.
fn difference(from: &Run, to: &Run) -> Set {
    let changed = FIELDS.iter().filter(|field| field.get(from) != field.get(to));
    changed.map(|field| (field.key, plain(&field.get(to)).unwrap_or_default())).collect()
}
