//! Why an order cannot be run, said so that its author finds the place.

use super::op::Op;
use crate::issue::Issue;
use std::fmt;

/// What is wrong with an order or with the durations given for it.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// An op stands twice.
    Twice {
        /// Where the second one stands.
        rank: usize,
        /// The op.
        op: Op,
    },
    /// An op never runs.
    Missing {
        /// The op.
        op: Op,
    },
    /// An op of a stage or micro-batch that the order does not have.
    Outside {
        /// Where it stands.
        rank: usize,
        /// The op.
        op: Op,
    },
    /// A backward on another rank than its forward, where the activation is not.
    Elsewhere {
        /// Where it stands.
        rank: usize,
        /// The op.
        op: Op,
        /// Where the rest of this stage and micro-batch runs.
        home: usize,
    },
    /// Ranks wait for each other for ever.
    Deadlock {
        /// Each rank that never ends: the op it is stuck at and the op that this waits for.
        stuck: Vec<Stuck>,
    },
    /// A duration is negative or no number, or a list of them has the wrong length.
    Durations {
        /// Which one, in words.
        what: String,
    },
}

/// A rank that waits for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The rank.
    pub rank: usize,
    /// Position in the rank's list.
    pub at: usize,
    /// The op that cannot start.
    pub op: Op,
    /// The op that it waits for.
    pub waits_for: Op,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Twice { rank, op } => {
                write!(
                    out,
                    "{op} stands a second time on rank {rank}: each op runs once"
                )
            }
            Self::Missing { op } => write!(
                out,
                "{op} is missing: each stage runs every micro-batch forward and backward"
            ),
            Self::Outside { rank, op } => {
                write!(
                    out,
                    "{op} on rank {rank} is outside the stages and micro-batches of the order"
                )
            }
            Self::Elsewhere { rank, op, home } => {
                write!(
                    out,
                    "{op} stands on rank {rank}, but its activation is on rank {home}"
                )
            }
            Self::Deadlock { stuck } => {
                write!(out, "the order dead-locks")?;
                for (index, stuck) in stuck.iter().take(3).enumerate() {
                    let sep = if index == 0 { ": " } else { "; " };
                    let Stuck {
                        rank,
                        at,
                        op,
                        waits_for,
                    } = stuck;
                    write!(
                        out,
                        "{sep}rank {rank} is stuck at its op {at}, {op}, waiting for {waits_for}"
                    )?;
                }
                if stuck.len() > 3 {
                    write!(out, "; and {} more ranks", stuck.len() - 3)?;
                }
                Ok(())
            }
            Self::Durations { what } => write!(out, "{what}"),
        }
    }
}

impl Fault {
    /// As an error of `field`.
    #[must_use]
    pub fn issue(&self, field: &str) -> Issue {
        Issue::error(field, self.to_string())
    }
}
