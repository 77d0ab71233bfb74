//! One thing a rank does: the vocabulary of every order, for generators, simulator and pictures.
//!
//! Tokens: `0F3` forward of global stage 0, micro-batch 3; `0B3` gradient of the input; `0W3` gradient of the weight;
//! `0BW3` whole backward; `(0F7;7BW3)` an overlapped pair, run as one block.

use crate::message::Message;
use crate::t;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The work of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OpKind {
    /// Forward.
    F,
    /// Gradient of the input.
    B,
    /// Gradient of the weight.
    W,
    /// Whole backward, both gradients in one.
    BW,
}

impl OpKind {
    /// As a token writes it.
    pub const fn letters(self) -> &'static str {
        match self {
            Self::F => "F",
            Self::B => "B",
            Self::W => "W",
            Self::BW => "BW",
        }
    }
    /// Gives the gradient that the stage before waits for.
    pub(crate) const fn sends_gradient(self) -> bool {
        matches!(self, Self::B | Self::BW)
    }
    /// Ends the life of the activation.
    pub const fn frees(self) -> bool {
        matches!(self, Self::W | Self::BW)
    }
}

/// One op of one global stage on one micro-batch (on one split of it, where a schedule cuts sequences).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[must_use]
pub struct Op {
    /// The work.
    pub kind: OpKind,
    /// Global stage, from the embedding on.
    pub stage: u32,
    /// Micro-batch, or micro-batch · splits + split.
    pub microbatch: u32,
}

impl Op {
    /// `kind` of `stage` on `microbatch`.
    pub const fn new(kind: OpKind, stage: u32, microbatch: u32) -> Self {
        Self { kind, stage, microbatch }
    }
    /// Forward.
    pub const fn f(stage: u32, microbatch: u32) -> Self {
        Self::new(OpKind::F, stage, microbatch)
    }
    /// Gradient of the input.
    pub const fn b(stage: u32, microbatch: u32) -> Self {
        Self::new(OpKind::B, stage, microbatch)
    }
    /// Gradient of the weight.
    pub const fn w(stage: u32, microbatch: u32) -> Self {
        Self::new(OpKind::W, stage, microbatch)
    }
    /// Whole backward.
    pub(crate) const fn bw(stage: u32, microbatch: u32) -> Self {
        Self::new(OpKind::BW, stage, microbatch)
    }
    /// The op of the micro-batch `by` further on.
    pub const fn moved(self, by: i32) -> Self {
        Self::new(self.kind, self.stage, self.microbatch.wrapping_add_signed(by))
    }
}

/// One entry of a rank's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[must_use]
pub enum OrderItem {
    /// An op alone.
    One(Op),
    /// A forward and a backward of two micro-batches, run as one block.
    Pair(Op, Op),
}

impl OrderItem {
    /// The op, or the first of the pair.
    pub const fn first(self) -> Op {
        match self {
            Self::One(op) | Self::Pair(op, _) => op,
        }
    }
    /// The second of a pair.
    pub const fn second(self) -> Option<Op> {
        match self {
            Self::One(_) => None,
            Self::Pair(_, op) => Some(op),
        }
    }
    /// The entry with the micro-batches `by` further on.
    pub const fn moved(self, by: i32) -> Self {
        match self {
            Self::One(op) => Self::One(op.moved(by)),
            Self::Pair(first, second) => Self::Pair(first.moved(by), second.moved(by)),
        }
    }
    /// The one op or the two.
    pub fn ops(self) -> impl Iterator<Item = Op> {
        std::iter::once(self.first()).chain(self.second())
    }
}

impl From<Op> for OrderItem {
    fn from(op: Op) -> Self {
        Self::One(op)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}{}", self.stage, self.kind.letters(), self.microbatch)
    }
}

impl fmt::Display for OrderItem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(op) => write!(out, "{op}"),
            Self::Pair(first, second) => write!(out, "({first};{second})"),
        }
    }
}

/// A token that is no op.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadToken(
    /// The token as it stood.
    pub String,
);

impl BadToken {
    /// The token, with examples of ops.
    pub fn message(&self) -> Message {
        t!(
            "`{token}` is no op: write 0F3, 0B3, 0W3, 0BW3 or (0F7;7BW3), stage before and micro-batch after the \
                letter",
            token = self.0.clone()
        )
    }
}

impl FromStr for Op {
    type Err = BadToken;
    fn from_str(token: &str) -> Result<Self, BadToken> {
        let bad = || BadToken(token.chars().take(40).collect());
        let letters_at = token.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
        let (stage, rest) = token.split_at(letters_at);
        let number_at = rest.find(|c: char| c.is_ascii_digit()).ok_or_else(bad)?;
        let (letters, microbatch) = rest.split_at(number_at);
        let kind = match letters {
            "F" => OpKind::F,
            "B" => OpKind::B,
            "W" => OpKind::W,
            "BW" => OpKind::BW,
            _ => return Err(bad()),
        };
        let number = |digits: &str| digits.parse::<u32>().map_err(|_| bad());
        Ok(Self::new(kind, number(stage)?, number(microbatch)?))
    }
}

impl FromStr for OrderItem {
    type Err = BadToken;
    fn from_str(token: &str) -> Result<Self, BadToken> {
        let token = token.trim();
        let Some(inner) = token.strip_prefix('(') else {
            return token.parse().map(Self::One);
        };
        let bad = || BadToken(token.chars().take(40).collect());
        let (first, second) = inner.strip_suffix(')').and_then(|pair| pair.split_once(';')).ok_or_else(bad)?;
        let (first, second): (Op, Op) = (first.trim().parse()?, second.trim().parse()?);
        // One of the two is a forward, the other carries a gradient: two of a kind is no overlap of this sort.
        if (first.kind == OpKind::F) == (second.kind == OpKind::F) {
            return Err(bad());
        }
        Ok(Self::Pair(first, second))
    }
}

/// An op alone, or half of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Alone.
    Whole,
    /// Written first in a pair.
    First,
    /// Written second in a pair.
    Second,
}

/// An op with the time at which it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedOp {
    pub op: Op,
    /// Alone, or which half of an overlapped pair: the other half is the neighbour with the same times.
    pub half: Half,
    /// Seconds from the start of the step.
    pub start: f64,
    /// Seconds from the start of the step.
    pub end: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_read_back_as_they_were_written() {
        for token in ["0F3", "12B0", "3W44", "7BW3", "(0F7;7BW3)", "(3BW0;4F1)"] {
            assert_eq!(token.parse::<OrderItem>().unwrap().to_string(), token);
        }
    }

    #[test]
    fn what_is_no_token_is_refused_and_named() {
        for token in [
            "",
            "F",
            "0F",
            "F3",
            "0X3",
            "0F3B",
            "0WB3",
            "(0F1;0F2)",
            "(0F1)",
            "(0F1;0B2",
            "99999999999F0",
            "0F-1",
            "0é3",
        ] {
            let error = token.parse::<OrderItem>().unwrap_err();
            assert!(error.message().to_string().contains(&error.0), "{token}");
        }
    }
}
