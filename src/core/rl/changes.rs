//! What moves a step: single changes of its engines, each predicted on the whole run.

use super::range::TOLD_APART;
use super::step::{RlStep, predict};
use crate::run::{RlParts, Run};
use crate::units::{Bytes, Seconds};

/// A step with one setting changed.
#[derive(Clone, Debug, PartialEq)]
pub struct RlChange {
    /// The setting, and its value as a link writes it.
    pub field: &'static str,
    pub value: String,
    pub step_s: Seconds,
}

impl RlChange {
    /// True if it is shorter than a step of `present` beyond the error of two predictions.
    pub fn is_told_apart(&self, present: Seconds) -> bool {
        self.step_s * TOLD_APART < present
    }
}

/// Share of a GPU's memory by which the memory of an engine is raised.
const MORE_MEMORY: f64 = 0.1;
/// Largest share of a GPU's memory that an engine gets.
const MOST_MEMORY: f64 = 0.95;

/// Changes that work and whose phases fit where they did: more memory for the engine, wider and narrower engines, CUDA
/// graphs, and responses that are a step older. What is generated stays as it is.
pub fn changes(run: &Run, present: &RlStep) -> Vec<RlChange> {
    let rl = &run.rl;
    let mut tried: Vec<(&'static str, String, RlParts)> = Vec::new();
    if let Ok(gpu) = run.gpu.resolve() {
        let share = ((run.engine_share(&gpu) + MORE_MEMORY) * 100.0).round() / 100.0;
        if share <= MOST_MEMORY {
            let more = RlParts { memory_share: Some(share), ..rl.clone() };
            tried.push(("rl.memory_share", share.to_string(), more));
        }
    }
    let tp = run.engine_tp();
    for other in [tp.saturating_mul(2), tp / 2] {
        let fits = other > 0 && present.rollout_gpus.is_multiple_of(other);
        if fits {
            let engine = RlParts { rollout_tp: Some(other), ..rl.clone() };
            tried.push(("rl.rollout_tp", other.to_string(), engine));
        }
    }
    if rl.eager == Some(true) {
        tried.push(("rl.eager", "false".to_owned(), RlParts { eager: Some(false), ..rl.clone() }));
    }
    if rl.apart().is_some() {
        let older = rl.staleness.unwrap_or(0.0) + 1.0;
        tried.push(("rl.staleness", older.to_string(), RlParts { staleness: Some(older), ..rl.clone() }));
    }
    let fullest = |step: &RlStep| step.memory.iter().map(|phase| phase.bytes).fold(Bytes::ZERO, Bytes::max);
    let most = fullest(present).max(present.capacity_bytes);
    let works = |(field, value, rl)| {
        let step = predict(&Run { rl, ..run.clone() }).ok()?;
        (fullest(&step) <= most).then_some(RlChange { field, value, step_s: step.step_s })
    };
    let mut list: Vec<RlChange> = tried.into_iter().filter_map(works).collect();
    list.sort_by(|a, b| a.step_s.0.total_cmp(&b.step_s.0));
    list
}
