//! ZB-V: two chunks a rank in a V, laid out by hand for tF = tB = tW.
//!
//! Rank r holds `lo` = stage r and `hi` = stage 2p − 1 − r.

use crate::pipeline::op::{Op, OpKind, OrderItem};
use crate::pipeline::order::Order;
use crate::pipeline::registry::Spec;
use crate::pipeline::row::RankRow;
use crate::pipeline::spec::each_rank;

/// One rank's list under construction: the next micro-batch of each kind of op.
struct Rank {
    stages: [u32; 2],
    next: [[u32; 3]; 2],
    /// Micro-batches from here on are counted, not written.
    m: u32,
    out: RankRow,
}

const LO: usize = 0;
const HI: usize = 1;

impl Rank {
    /// Runs the next op of `kind` on a chunk.
    fn run(&mut self, chunk: usize, kind: OpKind) {
        let next = &mut self.next[chunk][kind as usize];
        if *next < self.m {
            let op = Op::new(kind, self.stages[chunk], *next);
            self.out.push(op);
        }
        *next += 1;
    }
    /// Runs the next op of each of `kinds`.
    fn all(&mut self, chunk: usize, kinds: &[OpKind]) {
        for kind in kinds {
            self.run(chunk, *kind);
        }
    }
    /// Adds one op of each kind and chunk, `times` times, for micro-batches below m only.
    fn repeat(&mut self, times: u32) {
        let kinds =
            [(LO, OpKind::F), (LO, OpKind::B), (LO, OpKind::W), (HI, OpKind::F), (HI, OpKind::B), (HI, OpKind::W)];
        let op = |(chunk, kind)| Op::new(kind, self.stages[chunk], self.done(chunk, kind));
        let body = kinds.map(op).map(OrderItem::from);
        self.out.repeat(body, times, 1);
        for next in self.next.iter_mut().flatten() {
            *next += times;
        }
    }
    /// Ops of `kind` that ran on a chunk.
    fn done(&self, chunk: usize, kind: OpKind) -> u32 {
        self.next[chunk][kind as usize]
    }
}

/// The order for n = max(m, 2p − 1) micro-batches, those from m on left out.
///
/// Source: Qi et al. 2024, as PyTorch's `ScheduleZBVZeroBubble` runs it.
pub(crate) fn zb_v(spec: &Spec) -> Order {
    use OpKind::{B, F, W};
    let (p, m) = (spec.pp, spec.microbatches);
    let n = m.max(2 * p - 1);
    let ranks = each_rank(p, |r| {
        let mut rank = Rank { stages: [r, 2 * p - 1 - r], next: [[0; 3]; 2], m, out: RankRow::default() };
        for _ in 0..2 * (p - r) - 1 {
            rank.run(LO, F);
        }
        for _ in 0..r {
            rank.run(HI, F);
            rank.run(LO, F);
        }
        for _ in 0..p - r {
            rank.all(HI, &[F, B, W]);
        }
        let full = if n == m { n - rank.done(LO, F) } else { 0 };
        rank.repeat(full);
        while rank.done(HI, F) < rank.done(LO, F) || rank.done(LO, F) < n {
            if rank.done(LO, F) < n {
                rank.run(LO, F);
            }
            rank.all(LO, &[B, W]);
            rank.all(HI, &[F, B, W]);
        }
        for _ in 0..r {
            rank.run(LO, B);
            rank.run(HI, B);
        }
        for _ in 0..p - r {
            rank.all(LO, &[B, W]);
        }
        for chunk in [HI, LO] {
            while rank.done(chunk, W) < n {
                rank.run(chunk, W);
            }
        }
        rank.out
    });
    spec.order(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::schedule;

    #[test]
    fn few_micro_batches_run_the_order_of_2p_minus_1_without_the_missing() {
        let row = schedule("zb-v").unwrap();
        for p in 1..6 {
            let full = zb_v(&Spec::new(row, p, 2 * p - 1));
            for m in 1..2 * p {
                let kept =
                    |row: &RankRow| -> RankRow { row.iter().filter(|item| item.first().microbatch < m).collect() };
                let filtered: Vec<RankRow> = full.ranks.iter().map(kept).collect();
                assert_eq!(zb_v(&Spec::new(row, p, m)).ranks, filtered, "p={p} m={m}");
            }
        }
    }
}
