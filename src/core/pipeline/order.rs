//! An order: for each rank the list of what it runs, and how stages lie on ranks.
//!
//! Every schedule, generated or typed by a person, is one of these; what follows does not depend on its origin.

use super::fault::OrderFault;
use super::op::{BadToken, Op, OpKind, OrderItem};
use super::row::RankRow;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Rank of each global stage. `p` ranks, `S` stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StagePlacement {
    /// rank(s) = s mod p.
    Loop,
    /// rank(s) = s mod p if ⌊s/p⌋ is even, else p − 1 − (s mod p): the V of two chunks, the waves of more.
    Snake,
    /// S = p, held twice: direction 0 has stage s on rank s, direction 1 on rank p − 1 − s.
    Bidirectional,
    /// As the order itself has it, op by op.
    Given,
}

impl StagePlacement {
    /// The global stage that is chunk `chunk` of `rank` (for [`StagePlacement::Bidirectional`] a direction is a chunk).
    pub const fn stage(self, rank: u32, chunk: u32, p: u32) -> u32 {
        match self {
            Self::Loop | Self::Given => chunk * p + rank,
            Self::Snake if chunk.is_multiple_of(2) => chunk * p + rank,
            Self::Snake => chunk * p + p - 1 - rank,
            Self::Bidirectional if chunk == 0 => rank,
            Self::Bidirectional => p - 1 - rank,
        }
    }
    /// True if `stage` and the one before it lie on different ranks; not known of [`StagePlacement::Given`].
    pub const fn crosses(self, stage: u32, p: u32) -> bool {
        match self {
            Self::Given => false,
            Self::Snake => !stage.is_multiple_of(p),
            Self::Loop | Self::Bidirectional => p > 1,
        }
    }
}

/// The ops of every rank, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// One row a rank.
    pub ranks: Vec<RankRow>,
    /// Global stages, S.
    pub stages: u32,
    /// Rank of each stage.
    pub placement: StagePlacement,
    /// Micro-batches, m.
    pub microbatches: u32,
    /// Pieces a micro-batch's sequence is cut into; op index = micro-batch · splits + split.
    pub splits: u32,
    /// True where the pieces are of a sequence under causal attention: the forward pass of a piece needs the pieces
    /// before it, its backward pass the pieces behind it.
    pub causal: bool,
    /// Copies of its share of the weights that each rank holds (both directions, stashed versions).
    pub weight_copies: Vec<u32>,
    /// Activations that wait on the host, of an order that lets some leave.
    #[serde(default)]
    pub away: Option<Box<Away>>,
}

/// Activations that leave for the host and come back within a step, in an order with one stage a rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Away {
    /// Seconds before which each op does not start, rank by rank in the order of the ops: room and the way back are
    /// there by then.
    pub starts: Vec<Vec<f64>>,
    /// All ways, by their start.
    pub ways: Vec<Way>,
    /// Most micro-batches whose activations each rank holds at once.
    pub held: Vec<u32>,
    /// Most micro-batches of each rank on the host at once, those under way among them.
    pub on_host: Vec<u32>,
}

/// Activations of a micro-batch on their way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Way {
    pub rank: u32,
    pub microbatch: u32,
    /// From the host; else to it.
    pub is_back: bool,
    /// Seconds.
    pub start: f64,
    pub end: f64,
}

impl Away {
    /// All its times `scale` times as long.
    fn rescale(&mut self, scale: f64) {
        let starts = self.starts.iter_mut().flatten();
        for time in starts.chain(self.ways.iter_mut().flat_map(|way| [&mut way.start, &mut way.end])) {
            *time *= scale;
        }
    }

    /// Ways of `rank`.
    pub fn of_rank(&self, rank: usize) -> impl Iterator<Item = &Way> {
        self.ways.iter().filter(move |way| way.rank as usize == rank)
    }
}

impl Order {
    /// An order whose ranks hold their weights once and whose micro-batches are whole.
    pub fn new(
        ranks: impl IntoIterator<Item: Into<RankRow>>,
        stages: u32,
        placement: StagePlacement,
        microbatches: u32,
    ) -> Self {
        let ranks: Vec<RankRow> = ranks.into_iter().map(Into::into).collect();
        let weight_copies = vec![1; ranks.len()];
        Self { weight_copies, ranks, stages, placement, microbatches, splits: 1, causal: false, away: None }
    }
    /// With the times of what leaves for the host `scale` times as long.
    pub(crate) fn rescaled(mut self, scale: f64) -> Self {
        if let Some(away) = &mut self.away {
            away.rescale(scale);
        }
        self
    }
    /// True if passes of two micro-batches run as one op anywhere.
    pub fn has_pairs(&self) -> bool {
        self.ranks.iter().any(|row| row.iter().any(|item| matches!(item, OrderItem::Pair(..))))
    }
    /// Pipeline ranks, p.
    pub fn pp(&self) -> u32 {
        u32::try_from(self.ranks.len()).unwrap_or(u32::MAX)
    }
    /// Op indices of a stage: micro-batches times splits.
    pub const fn units(&self) -> u32 {
        self.microbatches * self.splits
    }
    /// Stages whose weights make one rank's share: S / p.
    pub fn chunks_per_rank(&self) -> u32 {
        (self.stages / self.pp().max(1)).max(1)
    }
    /// Entries of all ranks; a pair is one.
    pub fn items(&self) -> usize {
        self.ranks.iter().map(RankRow::len).sum()
    }
    /// The stages that `rank` runs, ascending: those whose layers it has.
    pub fn stages_of(&self, rank: usize) -> Vec<u32> {
        let mut has = vec![false; self.stages as usize];
        let items = self.ranks.get(rank).map_or(&[][..], RankRow::written);
        for op in items.iter().flat_map(|item| item.ops()) {
            if let Some(stage) = has.get_mut(op.stage as usize) {
                *stage = true;
            }
        }
        (0..self.stages).filter(|stage| has[*stage as usize]).collect()
    }
    /// The tokens of each rank.
    pub fn tokens(&self) -> Vec<Vec<String>> {
        let tokens = |row: &RankRow| row.iter().map(|item| item.to_string()).collect();
        self.ranks.iter().map(tokens).collect()
    }
    /// One line a rank, tokens separated by commas; [`parse_ranks`] reads it back.
    pub fn print(&self) -> String {
        let mut text = String::new();
        for rank in &self.ranks {
            for (at, item) in rank.iter().enumerate() {
                let comma = if at > 0 { "," } else { "" };
                // Writing to a String cannot fail.
                let _ = write!(text, "{comma}{item}");
            }
            text.push('\n');
        }
        text
    }

    /// Holds when every stage sees every micro-batch forward once and backward once, whole (BW) or split (B and W).
    ///
    /// # Errors
    /// The first op that occurs twice, lies outside the sizes or is missing.
    pub fn check(&self) -> Result<(), OrderFault> {
        const F: u8 = 1;
        const B: u8 = 2;
        const W: u8 = 4;
        let units = self.units() as usize;
        let mut seen = vec![0u8; self.stages as usize * units];
        let mut home = vec![usize::MAX; self.stages as usize * units];
        for (rank, items) in self.ranks.iter().enumerate() {
            for op in items.iter().flat_map(OrderItem::ops) {
                if op.stage >= self.stages || op.microbatch as usize >= units {
                    return Err(OrderFault::Outside { rank, op });
                }
                let bits = match op.kind {
                    OpKind::F => F,
                    OpKind::B => B,
                    OpKind::W => W,
                    OpKind::BW => B | W,
                };
                let cell = op.stage as usize * units + op.microbatch as usize;
                if seen[cell] & bits != 0 {
                    return Err(OrderFault::Twice { rank, op });
                }
                if seen[cell] != 0 && home[cell] != rank {
                    return Err(OrderFault::Elsewhere { rank, op, home: home[cell] });
                }
                home[cell] = rank;
                seen[cell] |= bits;
            }
        }
        for (cell, seen) in seen.iter().enumerate() {
            #[allow(clippy::cast_possible_truncation)] // stages and units are u32
            let (stage, microbatch) = ((cell / units) as u32, (cell % units) as u32);
            let missing = match *seen {
                bits if bits & F == 0 => OpKind::F,
                bits if bits & (B | W) == 0 => OpKind::BW,
                bits if bits & B == 0 => OpKind::B,
                bits if bits & W == 0 => OpKind::W,
                _ => continue,
            };
            return Err(OrderFault::Missing { op: Op::new(missing, stage, microbatch) });
        }
        Ok(())
    }
}

/// Reads an order as [`Order::print`] writes it: a line a rank (or `|` between ranks), `#` lines left out.
///
/// # Errors
/// The first token that is no op.
pub fn parse_ranks(text: &str) -> Result<Vec<Vec<OrderItem>>, BadToken> {
    let ranks = text.split(['\n', '|']).map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let items = |line: &str| {
        let tokens = line.split(',').map(str::trim);
        tokens.filter(|token| !token.is_empty()).map(str::parse).collect()
    };
    ranks.map(items).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(text: &str) -> Order {
        Order::new(parse_ranks(text).unwrap(), 2, StagePlacement::Loop, 2)
    }

    #[test]
    fn an_order_reads_back_as_it_was_printed() {
        let text = "0F0,0F1,0BW0,0BW1\n1F0,(1F1;1BW0),1BW1\n";
        assert_eq!(order(text).print(), text);
        assert_eq!(order("# a comment\n0F0, 0F1|1F0").ranks.len(), 2);
    }

    #[test]
    fn an_op_twice_missing_or_outside_is_named() {
        let check = |text| order(text).check();
        assert_eq!(check("0F0,0F1,0BW0,0BW1|1F0,1BW0,1F1,1B1,1W1"), Ok(()));
        let twice = OrderFault::Twice { rank: 0, op: Op::b(0, 0) };
        assert_eq!(check("0F0,0F1,0BW0,0B0|1F0"), Err(twice));
        let missing = OrderFault::Missing { op: Op::w(1, 1) };
        assert_eq!(check("0F0,0F1,0BW0,0BW1|1F0,1BW0,1F1,1B1"), Err(missing));
        let outside = OrderFault::Outside { rank: 1, op: Op::f(2, 0) };
        assert_eq!(check("0F0|2F0"), Err(outside));
        let elsewhere = OrderFault::Elsewhere { rank: 1, op: Op::bw(0, 0), home: 0 };
        assert_eq!(check("0F0|0BW0"), Err(elsewhere));
    }

    #[test]
    fn the_snake_turns_at_both_ends() {
        let stages: Vec<u32> = (0..4).map(|chunk| StagePlacement::Snake.stage(0, chunk, 4)).collect();
        assert_eq!(stages, [0, 7, 8, 15]);
    }
}
