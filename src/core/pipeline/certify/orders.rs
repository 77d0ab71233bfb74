//! The pipeline's orders and timelines as the stages and chains of a certificate, and back.
//!
//! An order is given here as a list of chains: the chain of each op, by start. Chain `stage * kinds + kind` is all ops
//! of one kind on one stage ([`Chain`](super::problem::Chain)).

use super::many::Folded;
use super::stages::StepStages;
use super::tails::MOST_CHAINS;
use crate::message::Message;
use crate::pipeline::stats::peak_in_flight;
use crate::pipeline::{Durations, Op, OpKind, Order, OrderItem, RankRow, StagePlacement, Timeline, time};
use crate::sort::sort_by;
use crate::t;

impl StepStages {
    /// The stages of `order`; the room of a rank is the most that `order` holds on it.
    ///
    /// # Errors
    /// Why orders of this kind are not compared: replicated stages, cut sequences, unequal micro-batches, fused pairs.
    pub fn of_order(order: &Order, durations: &Durations) -> Result<Self, Message> {
        if order.splits > 1 {
            return Err(t!("sequences are cut into pieces"));
        }
        if durations.microbatch_scale.is_some() {
            return Err(t!("micro-batches take unequal times"));
        }
        let mut home = vec![usize::MAX; order.stages as usize];
        let mut whole = true;
        for (rank, row) in order.ranks.iter().enumerate() {
            for item in row.written() {
                if item.second().is_some() && durations.pair.is_some() {
                    return Err(t!("a forward and a backward that run as one block take less than their sum"));
                }
                for op in item.ops() {
                    whole &= matches!(op.kind, OpKind::F | OpKind::BW);
                    let Some(lies_on) = home.get_mut(op.stage as usize) else { continue };
                    if *lies_on != usize::MAX && *lies_on != rank {
                        return Err(t!("a stage lies on two ranks"));
                    }
                    *lies_on = rank;
                }
            }
        }
        let chunks = (0..order.ranks.len()).map(|rank| home.iter().filter(|home| **home == rank).count());
        if chunks.max().unwrap_or(0) * 3 > MOST_CHAINS {
            return Err(t!("a rank has more than {most} stages", most = MOST_CHAINS / 3));
        }
        let sums = |list: &[f64]| list.iter().zip(&durations.backward_weight).map(|(b, w)| b + w).collect();
        Ok(Self {
            home,
            microbatches: order.microbatches,
            forward: durations.forward.clone(),
            backward_input: if whole { sums(&durations.backward_input) } else { durations.backward_input.clone() },
            backward_weight: durations.backward_weight.clone(),
            whole,
            lag: durations.p2p,
            room: peak_in_flight(order),
            apart: Vec::new(),
        })
    }

    /// The rows of ranks that run `chains`.
    pub fn rows(&self, chains: &[u16]) -> Vec<Vec<OrderItem>> {
        self.rows_from(chains, &mut vec![0u32; self.home.len() * self.kinds()])
    }

    /// Seconds that `chains` take with the true times, in the simulator; none where they are no order.
    pub fn seconds(&self, chains: &[u16]) -> Option<f64> {
        let stages = u32::try_from(self.home.len()).ok()?;
        let order = Order::new(self.rows(chains), stages, StagePlacement::Given, self.microbatches);
        let durations = Durations {
            forward: self.forward.clone(),
            backward_input: self.backward_input.clone(),
            backward_weight: (0..self.home.len()).map(|stage| self.weight(stage)).collect(),
            ..Durations::unit(0).with_p2p(self.lag)
        };
        time(&order, &durations).ok().map(|spans| spans.makespan())
    }

    /// The rows of ranks that run an order with a repeated part.
    pub fn folded_rows(&self, folded: &Folded) -> Vec<RankRow> {
        let mut counts = vec![0u32; self.home.len() * self.kinds()];
        let fill = self.rows_from(&folded.fill, &mut counts);
        let period = self.rows_from(&folded.period, &mut counts);
        for count in &mut counts {
            *count += folded.step * (folded.times - 1);
        }
        let drain = self.rows_from(&folded.drain, &mut counts);
        let row = |((fill, period), drain): ((Vec<OrderItem>, Vec<OrderItem>), Vec<OrderItem>)| {
            let mut row = RankRow::of(fill);
            row.repeat(period, folded.times, folded.step.cast_signed());
            for item in drain {
                row.push(item);
            }
            row
        };
        fill.into_iter().zip(period).zip(drain).map(row).collect()
    }

    /// The rows of ranks that run `chains` after `counts` ops of each chain; adds what runs here to `counts`.
    fn rows_from(&self, chains: &[u16], counts: &mut [u32]) -> Vec<Vec<OrderItem>> {
        let kinds = self.kinds();
        let mut rows = vec![Vec::new(); self.ranks()];
        for &chain in chains {
            let chain = usize::from(chain);
            let (stage, kind) = (chain / kinds, chain % kinds);
            let kind = match (kind, self.whole) {
                (0, _) => OpKind::F,
                (1, false) => OpKind::B,
                (1, true) => OpKind::BW,
                _ => OpKind::W,
            };
            let op = Op::new(kind, u32::try_from(stage).unwrap_or(0), counts[chain]);
            counts[chain] += 1;
            rows[self.home[stage]].push(OrderItem::One(op));
        }
        rows
    }

    /// The chains of a timeline's ops, by start; micro-batches are numbered in that order within a chain (Fact 1 of
    /// [`problem`](super::problem)).
    pub fn chains_of(&self, timeline: &Timeline) -> Vec<u16> {
        let kinds = self.kinds();
        let mut starts: Vec<(f64, f64, u16)> = Vec::new();
        let mut add = |start: f64, end: f64, chain: usize| {
            starts.push((start, end, u16::try_from(chain).unwrap_or(0)));
        };
        for timed in timeline.ranks.iter().flatten() {
            let chain = timed.op.stage as usize * kinds;
            match timed.op.kind {
                OpKind::F => add(timed.start, timed.end, chain),
                OpKind::B => add(timed.start, timed.end, chain + 1),
                OpKind::BW if self.whole => add(timed.start, timed.end, chain + 1),
                OpKind::BW => {
                    let middle = timed.end - self.backward_weight[timed.op.stage as usize];
                    add(timed.start, middle, chain + 1);
                    add(middle, timed.end, chain + 2);
                }
                OpKind::W => add(timed.start, timed.end, chain + 2),
            }
        }
        sort_by(&mut starts, |first, second| first.0.total_cmp(&second.0).then(first.1.total_cmp(&second.1)));
        starts.into_iter().map(|(_, _, chain)| chain).collect()
    }
}
