//! Why an order cannot be run, said so that its author finds the place.

use super::op::Op;
use crate::issue::Issue;
use crate::message::Message;
use crate::t;

/// Fault of an order, or of the durations given for it.
#[derive(Clone, Debug, PartialEq)]
pub enum OrderFault {
    /// An op occurs twice.
    Twice {
        /// Place of the second one.
        rank: usize,
        op: Op,
    },
    /// An op never runs.
    Missing { op: Op },
    /// An op of a stage or micro-batch that the order does not have.
    Outside {
        /// Its place.
        rank: usize,
        op: Op,
    },
    /// A backward on another rank than its forward, where the activation is not.
    Elsewhere {
        /// Its place.
        rank: usize,
        op: Op,
        /// Rank of the rest of this stage and micro-batch.
        home: usize,
    },
    /// Ranks wait for each other for ever.
    Deadlock {
        /// Each rank that never ends: the op it is stuck at and the op that this waits for.
        stuck: Vec<Stuck>,
    },
    /// A duration is negative or no number, or a list of them has the wrong length.
    Durations {
        /// The duration, in words.
        what: Message,
    },
}

/// A rank that waits for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    pub rank: usize,
    /// Position in the rank's list.
    pub at: usize,
    /// The op that cannot start.
    pub op: Op,
    /// The op that it waits for.
    pub waits_for: Op,
}

impl OrderFault {
    /// The fault and its place, for people.
    pub fn message(&self) -> Message {
        match self {
            Self::Twice { rank, op } => {
                t!("{op} stands a second time on rank {rank}: each op runs once", op = op.to_string(), rank = *rank)
            }
            Self::Missing { op } => {
                t!("{op} is missing: each stage runs every micro-batch forward and backward", op = op.to_string())
            }
            Self::Outside { rank, op } => t!(
                "{op} on rank {rank} is outside the stages and micro-batches of the order",
                op = op.to_string(),
                rank = *rank
            ),
            Self::Elsewhere { rank, op, home } => t!(
                "{op} stands on rank {rank}, but its activation is on rank {home}",
                op = op.to_string(),
                rank = *rank,
                home = *home
            ),
            Self::Deadlock { stuck } => {
                let mut ranks: Vec<Message> = stuck.iter().take(3).map(Stuck::message).collect();
                if stuck.len() > 3 {
                    ranks.push(t!("and {n} more ranks", n = stuck.len() - 3));
                }
                let ranks = Message::joined("; ", ranks);
                t!("the order dead-locks: {ranks}", ranks)
            }
            Self::Durations { what } => what.clone(),
        }
    }
    /// As an error of `field`.
    pub fn issue(&self, field: &str) -> Issue {
        Issue::error(field, self.message())
    }
}

impl Stuck {
    fn message(&self) -> Message {
        t!(
            "rank {rank} is stuck at its op {at}, {op}, waiting for {waits_for}",
            rank = self.rank,
            at = self.at,
            op = self.op.to_string(),
            waits_for = self.waits_for.to_string()
        )
    }
}
