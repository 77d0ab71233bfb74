//! Length of a training and its interruptions: settings of the whole run, none of which changes a step.

use super::Run;
use super::presets::gpu;
use crate::field::Steps::{By, Double};
use crate::field::{Held, OneOf, Row, Slot, Value, fields, one_of, training};

one_of! {
    /// Nodes by how often they interrupt a job.
    FailureClass {
        /// Own fleet or reservation, with health checks and a swap of bad nodes.
        Vetted = "vetted" "vetted nodes",
        /// Queue of a shared cluster, or the first weeks of new machines.
        Shared = "shared" "shared or new nodes",
        /// Either of the two.
        Unknown = "unknown" "unknown",
    }
}

one_of! {
    /// Recovery from an interruption.
    Operation {
        /// Standby nodes, saves in memory.
        Warm = "warm" "warm standby",
        /// Detection and restart without a person.
        Automatic = "automatic" "automatic restart",
        /// A person is called.
        Manual = "manual" "manual restart",
    }
}

/// Rate of interruptions: a class, or a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Failures {
    /// A class of nodes.
    Class(FailureClass),
    /// Interruptions per 1,000 node-days, nodes of eight GPUs.
    Rate(f64),
}

/// Rate of a storage system: production clusters see 50 to 200 GB/s (85,000 saves of 40 runs, VAST Data 2026).
pub const STORAGE_GB_PER_S: f64 = 50.0;
/// Power of a site over that of its nodes (OLMo 2).
pub const PUE: f64 = 1.2;
/// Days until a failed node is back.
pub const REPAIR_DAYS: f64 = 3.0;
/// Steps that a rollback repeats (PaLM, section 5.1: about 100).
pub const ROLLBACK_STEPS: u64 = 100;

/// Largest rate that is read.
const MOST_FAILURES: f64 = 1e6;

impl Held for Failures {
    fn slot(_: &Row) -> Slot {
        Slot::Text
    }
    fn get(&self) -> Value {
        match self {
            Self::Class(class) => class.get(),
            Self::Rate(rate) => Value::Text(rate.to_string()),
        }
    }
    fn of(value: &Value) -> Option<Self> {
        let text = value.text()?;
        if let Some(class) = FailureClass::from_id(text) {
            return Some(Self::Class(class));
        }
        let rate = text.parse().ok()?;
        (0.0..=MOST_FAILURES).contains(&rate).then_some(Self::Rate(rate))
    }
}

/// A phase of longer or shorter sequences at the end of a run, with as many tokens a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContextPhase {
    pub seq_len: u64,
    pub tokens: f64,
    /// Context-parallel ranks, where they are others than before.
    pub cp: Option<u64>,
}

/// The phases of a run, as text `131072:800e9:16`, with commas between.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextPhases(pub Vec<ContextPhase>);

const MOST_PHASES: usize = 16;

impl Held for ContextPhases {
    fn slot(_: &Row) -> Slot {
        Slot::Text
    }
    fn get(&self) -> Value {
        let phase = |phase: &ContextPhase| {
            let cp = phase.cp.map_or_else(String::new, |cp| format!(":{cp}"));
            format!("{}:{}{cp}", phase.seq_len, phase.tokens)
        };
        Value::Text(self.0.iter().map(phase).collect::<Vec<_>>().join(","))
    }
    fn of(value: &Value) -> Option<Self> {
        let phase = |text: &str| {
            let mut parts = text.split(':').map(str::trim);
            let seq_len = parts.next()?.parse().ok().filter(|length| (1..=1 << 30).contains(length))?;
            let tokens = parts.next()?.parse().ok().filter(|tokens| (1.0..=1e18).contains(tokens))?;
            let cp = parts.next().map(|cp| cp.parse().ok().filter(|cp| (1..=1 << 20).contains(cp)));
            let cp = if let Some(cp) = cp { Some(cp?) } else { None };
            parts.next().is_none().then_some(ContextPhase { seq_len, tokens, cp })
        };
        let phases: Option<Vec<_>> = value.text()?.split(',').map(phase).collect();
        phases.filter(|phases| phases.len() <= MOST_PHASES).map(Self)
    }
}

/// Prices of a GPU-hour by the ids of GPUs, in the order of these, as text `b200-sxm:4.5`, with commas between; an
/// object in JSON.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuPrices(pub Vec<(&'static str, f64)>);

/// Largest price of a GPU-hour.
const MOST_PRICE: f64 = 1e6;

impl GpuPrices {
    /// Price of the GPU `id`.
    pub fn of_gpu(&self, id: &str) -> Option<f64> {
        self.0.iter().find(|(known, _)| *known == id).map(|(_, price)| *price)
    }

    /// These prices with `price` for the GPU `id`, or without one; none where there is no such GPU, or no such price.
    #[must_use]
    pub fn with(&self, id: &str, price: Option<f64>) -> Option<Self> {
        let id = gpu(id)?.choice.id;
        let mut prices = self.0.clone();
        let known = prices.iter().position(|(known, _)| *known == id);
        match (known, price) {
            (_, Some(price)) if !(0.0..=MOST_PRICE).contains(&price) => return None,
            (Some(at), Some(price)) => prices[at].1 = price,
            (Some(at), None) => drop(prices.remove(at)),
            (None, Some(price)) => prices.insert(prices.partition_point(|(known, _)| *known < id), (id, price)),
            (None, None) => {}
        }
        Some(Self(prices))
    }
}

impl Run {
    /// Price of a GPU-hour of the GPU `id`: the one in `prices`, else, for the Run's own GPU, `price_per_gpu_hour`.
    pub fn price(&self, id: &str) -> Option<f64> {
        let own = self.gpu.base == Some(id);
        let kind = self.length.prices.as_ref().and_then(|prices| prices.of_gpu(id));
        kind.or_else(|| self.price_per_gpu_hour.filter(|_| own))
    }

    /// Price of a GPU-hour of its own GPU.
    pub fn own_price(&self) -> Option<f64> {
        self.gpu.base.map_or(self.price_per_gpu_hour, |id| self.price(id))
    }

    /// The Run with its price moved to its kind of GPU, so that a Run on another kind does not take it over.
    pub fn with_price_of_kind(self) -> Self {
        let kept = self.gpu.base.zip(self.price_per_gpu_hour).and_then(|(id, price)| self.with_price(id, Some(price)));
        kept.unwrap_or(self)
    }

    /// The Run with `price` for an hour of the GPU `id`, or without one; for its own GPU `price_per_gpu_hour` is unset
    /// too.
    pub fn with_price(&self, id: &str, price: Option<f64>) -> Option<Self> {
        let prices = self.length.prices.clone().unwrap_or_default().with(id, price)?;
        let mut run = self.clone();
        if run.gpu.base == Some(id) {
            run.price_per_gpu_hour = None;
        }
        run.length.prices = (!prices.0.is_empty()).then_some(prices);
        Some(run)
    }
}

impl Held for GpuPrices {
    fn slot(_: &Row) -> Slot {
        Slot::Text
    }
    fn get(&self) -> Value {
        let price = |(id, price): &(&str, f64)| format!("{id}:{price}");
        Value::Text(self.0.iter().map(price).collect::<Vec<_>>().join(","))
    }
    fn of(value: &Value) -> Option<Self> {
        let mut prices = Self::default();
        for one in value.text()?.split(',') {
            let (id, price) = one.split_once(':')?;
            prices = prices.with(id.trim(), Some(price.trim().parse().ok()?))?;
        }
        Some(prices)
    }
}

fields! {
    /// Settings of the whole run; unset ones take the defaults of `whole_run`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RunLength in "" {
        /// symbol of the price: $, €
        currency: Option<String> => training("Currency").advanced(),
        /// price of a GPU-hour by kind, as id:price with commas: b200-sxm:4.5; counts before the price of all
        prices: Option<GpuPrices> => training("Prices by GPU").advanced(),
        /// vetted, shared, unknown, or interruptions per 1,000 node-days as a number; unset: unknown
        failures: Option<Failures> => training("Failures").advanced(),
        /// running time between two interruptions, as you measured it; replaces the class
        mtti_h: Option<f64> => training("Time to interrupt").unit("h").number(1e-3, 1e7, 1.0).advanced(),
        /// what follows an interruption; unset: automatic
        operation: Option<Operation> => training("Operation").advanced(),
        /// from an interruption to the first repeated step; unset: by operation
        restart_s: Option<f64> => training("Restart").unit("s").number(0.0, 1e7, 60.0).advanced(),
        /// of the storage that takes checkpoints; unset: 50
        storage_gb_per_s: Option<f64> => training("Storage").unit("GB/s").number(1e-3, 1e6, 10.0).advanced(),
        /// training between two saves; unset: the interval that loses least
        checkpoint_every_s: Option<f64> => training("Checkpoint every").unit("s").number(1e-3, 1e9, 600.0).advanced(),
        /// stored by parameter; unset: weights, masters and moments
        checkpoint_bytes: Option<f64> => training("Checkpoint").unit("B").number(0.0, 64.0, 1.0).advanced(),
        /// saves go through host memory while training goes on; unset: yes
        checkpoint_async: Option<bool> => training("Asynchronous saves").advanced(),
        /// from the first process to the first step; unset: by the number of GPUs
        startup_s: Option<f64> => training("Start-up").unit("s").number(0.0, 1e7, 60.0).advanced(),
        /// probability with which the spare nodes suffice; unset: there are none
        spare_quantile: Option<f64> => training("Spares suffice").unit("share").number(0.0, 0.999_999, 0.01).advanced(),
        /// until a failed node is back; unset: 3
        repair_days: Option<f64> => training("Repair").unit("days").number(0.0, 1e4, 1.0).advanced(),
        /// power of the site over that of its nodes; unset: 1.2
        pue: Option<f64> => training("PUE").number(1.0, 10.0, 0.1).advanced(),
        /// emissions of the grid, location-based
        grid_kg_per_kwh: Option<f64> => training("Grid factor").unit("kg/kWh").number(0.0, 1e3, 0.1).advanced(),
        /// the batch at the start, its increment, the samples over which it grows, with commas
        batch_ramp: Option<Vec<u64>> => training("Batch ramp").advanced(),
        /// last phases with other sequences, as sequence:tokens or sequence:tokens:CP with commas, 131072:800e9:16; as
        /// many tokens a step as before
        context_phases: Option<ContextPhases> => training("Context phases").advanced(),
        /// loss spikes after which the run goes back; unset: none
        rollbacks: Option<u64> => training("Rollbacks").count(0, 1 << 20, By(1.0)).advanced(),
        /// steps that a rollback repeats or skips; unset: 100, as PaLM's
        rollback_steps: Option<u64> => training("Steps a rollback").count(0, 1 << 40, By(100.0)).advanced(),
        /// steps between two evaluations; unset: none
        eval_every: Option<u64> => training("Evaluate every").unit("steps").count(1, 1 << 40, Double).advanced(),
        /// sequences of an evaluation
        eval_samples: Option<u64> => training("Evaluation").unit("seq").count(0, 1 << 40, By(1024.0)).advanced(),
        /// time of a step with stragglers over that without; a measured step holds its own
        straggler: Option<f64> => training("Stragglers").unit("x").number(1.0, 10.0, 0.01).advanced(),
    }
}

impl RunLength {
    /// Sets unset fields to their meaning, where that is the same value for every Run.
    pub(super) fn spell(&mut self) {
        if self.mtti_h.is_none() {
            self.failures.get_or_insert(Failures::Class(FailureClass::Unknown));
        }
        self.operation.get_or_insert(Operation::Automatic);
        self.storage_gb_per_s.get_or_insert(STORAGE_GB_PER_S);
        self.checkpoint_async.get_or_insert(true);
        self.repair_days.get_or_insert(REPAIR_DAYS);
        self.pue.get_or_insert(PUE);
        self.straggler.get_or_insert(1.0);
        self.rollback_steps.get_or_insert(ROLLBACK_STEPS);
    }
}
