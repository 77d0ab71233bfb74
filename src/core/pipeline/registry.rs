//! The properties of a schedule (its names, its requirements, the function that makes its order) and what is asked of
//! it. Menus, help and validation read this; the rows themselves are in `rows.rs`.
//!
//! Fields of a [`Spec`] are named as in a request; those of `schedule_options` without that prefix.

use super::durations::Durations;
use super::order::{Order, StagePlacement};
use super::row::RankRow;
use crate::issue::Issue;
use crate::run::presets::{Stack, Trainer};
use crate::run::{OneOf, Variant};
use crate::source::Source;

/// Number of global stages that a schedule cuts the model into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageCount {
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
    /// Rejects sizes that dead-lock or have no order; the second is true of sizes that are known to have one.
    Sometimes(fn(&Spec) -> Result<Order, Issue>, fn(&Spec) -> bool),
    /// Lays out ops by how long they take.
    Timed(fn(&Spec, &Durations) -> Result<Order, Issue>),
    /// Reads an order that was typed.
    Given(fn(&Spec) -> Result<Built, Issue>),
}

/// A row of the table of schedules.
#[derive(Clone, Copy, Debug)]
pub struct ScheduleInfo {
    /// The schedule, with its id and its name.
    pub kind: crate::run::Schedule,
    /// The idea in a sentence.
    pub idea: &'static str,
    pub cost: &'static str,
    /// Its requirements.
    pub needs: &'static str,
    /// Place of its description.
    pub source: &'static Source,
    /// The programs that run the schedule, with the name that their settings give it; empty where they have no name.
    pub software: &'static [(Trainer, &'static str)],
    /// The `schedule_options` that change it.
    pub options: &'static [&'static str],
    /// Chunks a rank where the schedule fixes them.
    pub virtual_stages: Option<u32>,
    /// Global stages.
    pub stages: StageCount,
    /// Rank of each stage.
    pub placement: StagePlacement,
    /// Copies of its share of the weights that a rank holds, by p and the rank.
    pub(crate) copies: fn(u32, u32) -> u32,
    /// The backward is cut into B and W.
    pub splits_backward: bool,
    /// The order depends on the durations.
    pub uses_durations: bool,
    /// Time to lay out an op, in simulated ops.
    pub work: u64,
    /// The next step's micro-batches follow at once: it never drains, and a step takes what its steady state does.
    pub endless: bool,
    /// Fewest micro-batches that the generator works with, by p.
    pub(crate) fill: Option<fn(u32) -> u32>,
    pub(crate) make: Make,
    pub(crate) warn: fn(&Spec) -> Vec<Issue>,
}

impl PartialEq for ScheduleInfo {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl ScheduleInfo {
    /// Global stages on `pp` ranks; p for an order not yet read.
    pub const fn stages(&self, pp: u32, virtual_stages: u32, waves: u32) -> u32 {
        match self.stages {
            StageCount::Ranks | StageCount::Order => pp,
            StageCount::Chunks => pp.saturating_mul(virtual_stages),
            StageCount::TwoEach => pp.saturating_mul(2),
            StageCount::Waves => pp.saturating_mul(2).saturating_mul(waves),
        }
    }
    /// As links write it.
    pub fn id(&self) -> &'static str {
        self.kind.id()
    }
    /// As people write it.
    pub fn name(&self) -> &'static str {
        self.kind.choice().label
    }
    /// The name in the settings of `trainer`, empty where they have none; none where it does not run it.
    pub fn called(&self, trainer: Trainer) -> Option<&'static str> {
        self.software.iter().find(|(program, _)| *program == trainer).map(|(_, name)| *name)
    }
    /// True if `stack` runs pipelines under it. Megatron-LM runs passes of two micro-batches side by side
    /// (`--overlap-moe-expert-parallel-comm`) since releases of 2025: `arguments.py` of core 0.9 has no such argument.
    pub fn is_run_by(&self, stack: &Stack) -> bool {
        let is_new = self.kind.overlaps_experts().is_none() || stack.is_core(10);
        stack.abilities().pipeline && self.called(stack.trainer).is_some() && is_new
    }
    /// `option` changes it.
    pub fn uses(&self, option: &str) -> bool {
        self.options.contains(&option)
    }
}

/// A schedule and its sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    pub schedule: &'static ScheduleInfo,
    /// Pipeline ranks, p; 0 for the schedule `custom`: those of the order.
    pub pp: u32,
    /// Micro-batches a step, m; 0 for the schedule `custom`: those of the order.
    pub microbatches: u32,
    /// Chunks a rank, v; of no effect where the schedule fixes it.
    pub virtual_stages: u32,
    /// Micro-batches that run through a chunk before the next chunk; none: p.
    pub group: Option<u32>,
    /// The variant of Chimera.
    pub variant: Variant,
    /// The waves of Hanayo.
    pub waves: u32,
    /// Activations a rank may hold, of the automatic schedules; none: p (zb-auto), 2 p chunks (zb-v-auto).
    pub memory_limit: Option<u32>,
    /// The limit rank by rank, of the schedule `optimal`; it goes before `memory_limit`.
    pub memory_limits: Option<Vec<u32>>,
    /// The backward is one op, of the schedule `optimal`.
    pub whole_backward: bool,
    /// Ways of activations to the host and back, of the schedule `optimal`; none: all stay.
    pub ways: Option<HostWays>,
    /// Pieces a sequence is cut into (seq1f1b, terapipe).
    pub splits: u32,
    /// The order of `custom`: tokens separated by commas, ranks by a line break or `|`.
    pub order: Option<String>,
}

/// Seconds that the activations of a micro-batch take to the host and back, stage by stage.
#[derive(Clone, Debug, PartialEq)]
pub struct HostWays {
    pub out: Vec<f64>,
    pub back: Vec<f64>,
    /// Both ways take turns on a rank's link.
    pub is_shared: bool,
}

impl Spec {
    /// `schedule` on `pp` ranks, all else as in a request that does not name it.
    pub const fn new(schedule: &'static ScheduleInfo, pp: u32, microbatches: u32) -> Self {
        Self {
            schedule,
            pp,
            microbatches,
            virtual_stages: 1,
            group: None,
            variant: Variant::Concat,
            waves: 1,
            memory_limit: None,
            memory_limits: None,
            whole_backward: false,
            ways: None,
            splits: 2,
            order: None,
        }
    }
    /// The order whose ranks run `ranks`.
    pub(crate) fn order(&self, ranks: impl IntoIterator<Item: Into<RankRow>>) -> Order {
        let (row, p) = (self.schedule, self.pp);
        Order {
            weight_copies: (0..p).map(|rank| (row.copies)(p, rank)).collect(),
            ..Order::new(ranks, self.stages(), row.placement, self.microbatches)
        }
    }
    /// Chunks a rank where the schedule fixes them, 2 · waves for Hanayo.
    pub fn own_chunks(&self) -> Option<u32> {
        match self.schedule.stages {
            StageCount::Waves => Some(self.waves.saturating_mul(2)),
            _ => self.schedule.virtual_stages,
        }
    }
    /// Chunks a rank: as many as the schedule fixes, else as many as `virtual_stages` says.
    pub fn chunks(&self) -> u32 {
        self.own_chunks().unwrap_or(self.virtual_stages)
    }
    /// Op indices of a micro-batch: the splits of a sequence, the halves of backward halving, else 1. Durations are of
    /// one piece.
    pub fn pieces(&self) -> u32 {
        if self.schedule.uses("splits") {
            self.splits
        } else if self.schedule.uses("variant") && self.variant == Variant::BackwardHalving {
            2
        } else {
            1
        }
    }
    /// Even numbers of ranks, for what pairs them.
    pub(super) fn even_sizes(&self) -> impl Iterator<Item = u64> {
        let half = u64::from(self.pp) / 2;
        (half.saturating_sub(31).max(1)..=half + 32).map(|pairs| 2 * pairs)
    }
    /// Global stages, S: what `stage_layers` and the lists of [`Durations`] have entries for. For `custom` see the
    /// order.
    pub fn stages(&self) -> u32 {
        self.schedule.stages(self.pp, self.virtual_stages, self.waves)
    }
}

/// An order and what is doubtful about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Built {
    pub order: Order,
    /// Sizes that implementations refuse, and options of no effect.
    pub warnings: Vec<Issue>,
}
