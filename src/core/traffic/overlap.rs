//! The overlap table: each kind of communication against the compute that may hide it.

use super::gradients::StepSync;
use super::playbook::playbook_ratio;
use super::volume::bandwidth;
use super::waits::Wait;
use crate::cluster::Link;
use crate::run::Scenario;
use crate::units::{Bytes, Seconds};
use serde::Serialize;

/// One row, per step on the busiest rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverlapRow {
    /// "dp", "zero3", "tp", "pp", "cp" or "ep".
    pub name: &'static str,
    /// Bytes that a GPU sends.
    pub bytes_per_gpu: Bytes,
    /// Time on the wire.
    pub comm_s: Seconds,
    /// Compute that it may hide behind.
    pub compute_s: Seconds,
    /// `comm_s` over `compute_s`.
    pub ratio: f64,
    /// What stays visible; pipeline sends wait inside the bubble.
    pub exposed_s: Seconds,
    /// The playbook's ratio as it prints it, in elements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub printed_ratio: Option<f64>,
    /// The playbook's ratio in bytes, its slip mended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrected_ratio: Option<f64>,
    /// Whether the group stays on the scale-up link.
    #[serde(skip)]
    pub link: Link,
}

impl OverlapRow {
    /// All its times `scale` times as long; ratios and bytes stay.
    pub fn rescale(&mut self, scale: f64) {
        for time in [&mut self.comm_s, &mut self.compute_s, &mut self.exposed_s] {
            *time = *time * scale;
        }
    }
}

/// One kind of communication of a step on the busiest rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// Bytes that a GPU sends.
    pub bytes: Bytes,
    /// Time on the wire.
    pub comm: Seconds,
    /// Compute that it may hide behind.
    pub window: Seconds,
    /// What stays visible.
    pub exposed: Seconds,
}

impl Total {
    /// `wait` of a micro-batch, `times` over.
    #[must_use]
    pub fn of(wait: Wait, times: f64) -> Self {
        Self {
            bytes: wait.bytes * times,
            comm: wait.comm * times,
            window: wait.window * times,
            exposed: wait.exposed() * times,
        }
    }
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            comm: self.comm + other.comm,
            window: self.window + other.window,
            exposed: self.exposed + other.exposed,
        }
    }
}

impl From<StepSync> for Total {
    fn from(sync: StepSync) -> Self {
        Self {
            bytes: sync.bytes,
            comm: sync.comm,
            window: sync.window,
            exposed: sync.exposed,
        }
    }
}

/// All kinds of communication of a step on the busiest rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OverlapTotals {
    /// Gradients, and with ZeRO-1 and 2 the updated weights.
    pub dp: Total,
    /// ZeRO-3 weights.
    pub zero3: Total,
    /// Tensor parallel.
    pub tp: Total,
    /// Context parallel.
    pub cp: Total,
    /// Expert parallel.
    pub ep: Total,
    /// Pipeline; its waiting is in the bubble, so nothing is exposed here.
    pub pp: Total,
    /// Parameters of the rank, elements.
    pub elements: f64,
    /// Layers of a middle stage.
    pub next_layers: f64,
}

/// A row for every parallelism larger than 1, and for ZeRO-3, from what the stages waited for.
#[must_use]
pub fn overlap_rows(scenario: &Scenario, totals: &OverlapTotals) -> Vec<OverlapRow> {
    let (layout, mesh) = (&scenario.layout, scenario.layout.mesh());
    let shards = layout.dp * layout.cp > 1;
    let zero3 = shards && scenario.zero.stage == 3;
    [
        ("dp", shards, totals.dp, mesh.dp_link()),
        ("zero3", zero3, totals.zero3, mesh.dp_link()),
        ("tp", layout.tp > 1, totals.tp, mesh.tp_link()),
        ("pp", layout.pp > 1, totals.pp, mesh.pp_link()),
        ("cp", layout.cp > 1, totals.cp, mesh.cp_link()),
        ("ep", layout.ep > 1, totals.ep, mesh.ep_link()),
    ]
    .into_iter()
    .filter(|(_, present, ..)| *present)
    .map(|(name, _, total, link)| {
        let b = bandwidth(scenario, link);
        let printed = playbook_ratio(scenario, name, b, totals.elements, totals.next_layers);
        let window = total.window;
        OverlapRow {
            name,
            bytes_per_gpu: total.bytes,
            comm_s: total.comm,
            compute_s: window,
            ratio: if window.0 > 0.0 {
                total.comm / window
            } else {
                0.0
            },
            exposed_s: total.exposed,
            printed_ratio: printed.as_ref().map(|ratio| ratio.printed),
            corrected_ratio: printed.as_ref().map(|ratio| ratio.corrected),
            link,
        }
    })
    .collect()
}
