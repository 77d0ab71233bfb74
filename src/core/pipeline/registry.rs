//! The properties of a schedule: its names, its requirements, the function that makes its order. Menus, help and validation
//! read this; the rows themselves are in `rows.rs`.

use super::durations::Durations;
use super::order::{Order, Placement};
pub use super::rows::SCHEDULES;
use super::spec::{Built, Spec};
use crate::issue::Issue;

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
    /// Rejects sizes that dead-lock or have no order; the second is true of sizes that are known to have one.
    Sometimes(fn(&Spec) -> Result<Order, Issue>, fn(&Spec) -> bool),
    /// Lays out ops by how long they take.
    Timed(fn(&Spec, &Durations) -> Result<Order, Issue>),
    /// Reads an order that was typed.
    Given(fn(&Spec) -> Result<Built, Issue>),
}

/// A row.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// As links write it.
    pub id: &'static str,
    /// As people write it.
    pub name: &'static str,
    /// The `schedule_options` that change it.
    pub options: &'static [&'static str],
    /// Chunks a rank where the schedule fixes them.
    pub virtual_stages: Option<u32>,
    /// Global stages.
    pub stages: Stages,
    /// Which rank has which stage.
    pub placement: Placement,
    /// Copies of its share of the weights that a rank holds, of p and the rank.
    pub(crate) copies: fn(u32, u32) -> u32,
    /// The backward is cut into B and W.
    pub splits_backward: bool,
    /// The order depends on the durations.
    pub uses_durations: bool,
    /// The next step's micro-batches follow at once: it never drains, and a step takes what its steady state does.
    pub endless: bool,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_says_what_it_is_and_stands_once() {
        for (index, row) in SCHEDULES.iter().enumerate() {
            for text in [row.id, row.name] {
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
