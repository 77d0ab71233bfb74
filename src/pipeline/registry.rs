//! Every schedule, one row: what it is, what it asks for, who makes its order. Menus, help and validation read this.

use super::durations::Durations;
use super::families::{flush, interleaved};
use super::order::Order;
use super::papers;
use super::spec::Spec;
use crate::issue::Issue;
use crate::source::{self, Source};

/// How many global stages a schedule cuts the model into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stages {
    /// p.
    Ranks,
    /// p · `virtual_stages`.
    Chunks,
    /// 2 p: the V shapes.
    TwoEach,
    /// 2 · waves · p.
    Waves,
    /// As a given order names them.
    Order,
}

/// The generator of a schedule.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Make {
    /// Has an order for all sizes.
    Always(fn(&Spec) -> Order),
    /// Rejects sizes that dead-lock or have no order.
    Sometimes(fn(&Spec) -> Result<Order, Issue>),
    /// Lays out ops by how long they take.
    Timed(fn(&Spec, &Durations) -> Result<Order, Issue>),
}

/// A row.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// As links write it.
    pub id: &'static str,
    /// As people write it.
    pub name: &'static str,
    /// What it does.
    pub idea: &'static str,
    /// What that costs.
    pub cost: &'static str,
    /// What it asks for.
    pub needs: &'static str,
    /// The `schedule_options` that change it.
    pub options: &'static [&'static str],
    /// Chunks a rank where the schedule fixes them.
    pub virtual_stages: Option<u32>,
    /// Global stages.
    pub stages: Stages,
    /// The backward is cut into B and W.
    pub splits_backward: bool,
    /// The order depends on the durations.
    pub uses_durations: bool,
    /// Where it is described.
    pub source: &'static Source,
    /// Micro-batches that the generator works with at least, of p.
    pub(crate) fill: Option<fn(u32) -> u32>,
    pub(crate) make: Make,
    pub(crate) warn: fn(&Spec) -> Vec<Issue>,
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Schedule {
    /// Global stages on `pp` ranks; p for an order not yet read.
    #[must_use]
    pub const fn stages(&self, pp: u32, virtual_stages: u32, waves: u32) -> u32 {
        match self.stages {
            Stages::Ranks | Stages::Order => pp,
            Stages::Chunks => pp.saturating_mul(virtual_stages),
            Stages::TwoEach => pp.saturating_mul(2),
            Stages::Waves => pp.saturating_mul(2).saturating_mul(waves),
        }
    }
    /// `option` changes it.
    #[must_use]
    pub fn uses(&self, option: &str) -> bool {
        self.options.contains(&option)
    }
}

/// The row of `id`.
#[must_use]
pub fn schedule(id: &str) -> Option<&'static Schedule> {
    SCHEDULES.iter().find(|schedule| schedule.id == id)
}

fn no_warnings(_: &Spec) -> Vec<Issue> {
    Vec::new()
}

fn no_order(_: &Spec) -> Result<Order, Issue> {
    Err(Issue::error("order", "a custom schedule needs an order"))
}

/// What a row says unless it says otherwise.
const ROW: Schedule = Schedule {
    id: "",
    name: "",
    idea: "",
    cost: "",
    needs: "",
    options: &[],
    virtual_stages: Some(1),
    stages: Stages::Ranks,
    splits_backward: false,
    uses_durations: false,
    source: &source::GPIPE,
    fill: None,
    make: Make::Always(flush::naive),
    warn: no_warnings,
};

/// The rows, in the order of a menu.
pub static SCHEDULES: &[Schedule] = &[
    Schedule {
        id: "naive",
        name: "Naive",
        idea: "One micro-batch crosses all ranks forward and backward before the next enters.",
        cost: "All ranks but one idle at any time: p − 1 times the work.",
        needs: "Nothing; the baseline that the others improve on.",
        source: &source::PLAYBOOK,
        make: Make::Always(flush::naive),
        ..ROW
    },
    Schedule {
        id: "gpipe",
        name: "GPipe",
        idea: "All forwards, then all backwards.",
        cost: "Idle (p − 1)/m of the work; every micro-batch's activations are held at once.",
        needs: "Memory for m micro-batches, or full recomputation.",
        source: &source::GPIPE,
        make: Make::Always(flush::gpipe),
        ..ROW
    },
    Schedule {
        id: "1f1b",
        name: "1F1B",
        idea: "After a short warm-up each rank alternates one forward and one backward.",
        cost: "GPipe's bubble, but rank r holds p − r micro-batches at most; waits for every transfer.",
        needs: "Micro-batches enough to fill the pipeline: m ≥ p, better many times p.",
        source: &source::NARAYANAN_2021,
        make: Make::Always(flush::one_f_one_b),
        warn: flush::warn_few_microbatches,
        ..ROW
    },
    Schedule {
        id: "eager-1f1b",
        name: "Eager 1F1B",
        idea: "1F1B with twice the warm-up, so that transfers run behind computation.",
        cost: "1F1B's bubble without its latency; up to 2(p − 1 − r) + 1 micro-batches on rank r.",
        needs: "About twice the activation memory of 1F1B.",
        source: &source::NARAYANAN_2021,
        make: Make::Always(flush::eager),
        ..ROW
    },
    Schedule {
        id: "interleaved-1f1b",
        name: "Interleaved 1F1B",
        idea: "Each rank holds v chunks of the model, so that the fill of the pipeline is v times shorter.",
        cost: "Bubble (p − 1)/(v m); (p − 1)/(p v) more activations and v times the transfers.",
        needs: "Layers that divide by p v; micro-batches in groups of at least p.",
        options: &["group"],
        virtual_stages: None,
        stages: Stages::Chunks,
        source: &source::NARAYANAN_2021,
        make: Make::Sometimes(interleaved::interleaved),
        warn: interleaved::warn_group,
        ..ROW
    },
    Schedule {
        id: "looped-bfs",
        name: "Looped breadth-first",
        idea: "All micro-batches through chunk after chunk, then back.",
        cost: "Interleaving's bubble with GPipe's memory; weights are gathered once a chunk.",
        needs: "m ≥ p, else extra stalls; suits fully sharded weights.",
        virtual_stages: None,
        stages: Stages::Chunks,
        source: &papers::BREADTH_FIRST,
        make: Make::Always(interleaved::looped_bfs),
        ..ROW
    },
    Schedule {
        id: "pipedream",
        name: "PipeDream",
        idea: "1F1B that never flushes: the next step's micro-batches follow at once.",
        cost: "No bubble in the steady state; p − r versions of the weights on rank r, stale gradients.",
        needs: "Asynchronous training. Shown is one step's worth, filled and drained.",
        source: &source::PIPEDREAM,
        make: Make::Always(flush::pipedream),
        ..ROW
    },
    Schedule {
        id: "pipedream-2bw",
        name: "PipeDream-2BW",
        idea: "PipeDream with gradients accumulated over m micro-batches, so that two versions suffice.",
        cost: "No bubble in the steady state; two copies of the weights, gradients one step late.",
        needs: "m ≥ p. Shown is one step's worth, filled and drained.",
        source: &papers::PIPEDREAM_2BW,
        make: Make::Always(flush::pipedream_2bw),
        warn: flush::warn_2bw,
        ..ROW
    },
    Schedule {
        id: "interleaved-zb1p",
        name: "Interleaved zero bubble",
        idea: "Interleaved 1F1B with the backward cut in two, weight gradients filling the gaps.",
        cost: "Bubble (p − 1)(tF + tB − tW) of a chunk; p v chunks held on every rank.",
        needs: "A backward that can be cut; PyTorch wants m to divide into rounds.",
        virtual_stages: None,
        stages: Stages::Chunks,
        splits_backward: true,
        source: &papers::TORCH_PIPELINING,
        make: Make::Sometimes(interleaved::zero_bubble),
        warn: |spec| interleaved::warn_rounds(spec).into_iter().collect(),
        ..ROW
    },
    Schedule {
        id: "1f1b-overlap",
        name: "1F1B with overlap",
        idea: "Forward and backward of two micro-batches run as one block, hiding expert communication.",
        cost: "About twice 1F1B's activations; no second copy of the weights.",
        needs: "A fused forward-backward block; mixture-of-experts models gain.",
        source: &papers::PP_VISUALIZATION,
        make: Make::Always(flush::overlap),
        ..ROW
    },
    Schedule {
        id: "interleaved-overlap",
        name: "Interleaved with overlap",
        idea: "Interleaved 1F1B whose steady state runs forward and backward as one block.",
        cost: "One chunk more in flight than interleaved 1F1B.",
        needs: "A fused forward-backward block; m a multiple of p.",
        virtual_stages: None,
        stages: Stages::Chunks,
        source: &source::MEGATRON,
        make: Make::Sometimes(interleaved::overlap),
        warn: interleaved::warn_short_group,
        ..ROW
    },
    Schedule {
        id: "custom",
        name: "Custom order",
        idea: "An order of your own, token by token.",
        cost: "Whatever it costs: it is simulated like the others.",
        needs: "Every stage runs every micro-batch forward and backward; it must not dead-lock.",
        options: &["order"],
        virtual_stages: None,
        stages: Stages::Order,
        source: &papers::TORCH_PIPELINING,
        make: Make::Sometimes(no_order),
        ..ROW
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_says_what_it_is_and_stands_once() {
        for (index, row) in SCHEDULES.iter().enumerate() {
            for text in [row.id, row.name, row.idea, row.cost, row.needs] {
                assert!(!text.is_empty(), "{} leaves something out", row.id);
            }
            assert_eq!(
                SCHEDULES.iter().position(|other| other.id == row.id),
                Some(index)
            );
            assert!(std::ptr::eq(schedule(row.id).unwrap(), row));
        }
    }
}
