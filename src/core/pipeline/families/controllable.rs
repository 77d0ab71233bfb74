//! V-Half and V-Min: two chunks a rank in a V, from a building block that bounds the activations held.
//!
//! Rank i repeats its block (slots of F lo, F hi, B hi, B lo) every 6 slots. Then, twice, ops are pulled forward into
//! idle slots as far as the memory of the block allows, and the whole is squeezed. Slots are equal: the order does not
//! depend on the durations.
//!
//! Source: Qi et al. 2024, section 3 and appendix; the greedy pulling is that of their scheduler (`zbv_greedy.py`).

use super::pull::Tail;
use crate::pipeline::op::{Op, OrderItem};
use crate::pipeline::order::Order;
use crate::pipeline::registry::Spec;
use crate::pipeline::spec::repeated;
use crate::sort::sort;

/// Kinds in the order of the block; W comes behind them.
pub(crate) const F_LO: usize = 0;
pub(crate) const B_LO: usize = 3;
pub(crate) const W: usize = 4;

/// Slots of each kind on one rank, ascending, by micro-batch (W: in the order of the gradients).
pub(crate) type Rank = [Vec<u64>; 5];

/// The first slot of each kind of op on rank i.
type Block = fn(p: u64, i: u64) -> [u64; 4];

/// i, 2p − 1 − i, 2p + g + i, 4p + g − 1 − i with g = 2 if 3 divides p, else 0.
fn min_block(p: u64, i: u64) -> [u64; 4] {
    let g = if p.is_multiple_of(3) { 2 } else { 0 };
    [i, 2 * p - 1 - i, 2 * p + g + i, 4 * p + g - 1 - i]
}

/// 2i, 3p − 2 − i, 3p + g − 1 + 2i, 6p + g − 2 − i with g = 3 if p is even, else 0.
fn half_block(p: u64, i: u64) -> [u64; 4] {
    let g = if p.is_multiple_of(2) { 3 } else { 0 };
    [2 * i, 3 * p - 2 - i, 3 * p + g - 1 + 2 * i, 6 * p + g - 2 - i]
}

pub(crate) fn v_min(spec: &Spec) -> Order {
    from_block(spec, min_block)
}

pub(crate) fn v_half(spec: &Spec) -> Order {
    from_block(spec, half_block)
}

/// Between the first gradient of rank 0 and the last micro-batch the block is unchanged.
fn from_block(spec: &Spec, block: Block) -> Order {
    repeated(spec, (2 * spec.pp + 4, 1), |spec| pulled(spec, block))
}

fn pulled(spec: &Spec, block: Block) -> Order {
    let (p, m) = (u64::from(spec.pp), u64::from(spec.microbatches));
    let mut ranks: Vec<Rank> = (0..p)
        .map(|i| {
            let [a, b, c, d] = block(p, i).map(|slot| (0..m).map(|k| slot + 6 * k).collect());
            [a, b, c, d, Vec::new()]
        })
        .collect();
    for rank in &mut ranks {
        place_weights(rank);
    }
    pull_with_weights(&mut ranks);
    squeeze(&mut ranks);
    pull_tail(&mut ranks);
    for rank in &mut ranks {
        place_weights(rank);
    }
    squeeze(&mut ranks);
    let p = spec.pp;
    let lists = (0..p).zip(&ranks).map(|(r, rank)| write(r, p, rank));
    spec.order(lists)
}

/// The kind of op in each slot of a rank, W aside.
fn grid(rank: &Rank) -> Vec<Option<usize>> {
    let end = rank[..W].iter().filter_map(|slots| slots.last()).max();
    let mut grid = vec![None; end.map_or(0, |end| index(*end) + 1)];
    for (kind, slots) in rank[..W].iter().enumerate() {
        for slot in slots {
            grid[index(*slot)] = Some(kind);
        }
    }
    grid
}

fn index(slot: u64) -> usize {
    usize::try_from(slot).unwrap_or(usize::MAX)
}

/// Each idle slot takes one pending W; the rest follow the last op.
fn place_weights(rank: &mut Rank) {
    let grid = grid(rank);
    let mut pending = 0u64;
    let mut weights = Vec::with_capacity(2 * rank[0].len());
    let mut end = 0;
    for (slot, kind) in (0u64..).zip(&grid) {
        end = slot + 1;
        match kind {
            Some(kind) => pending += u64::from(*kind >= 2),
            None if pending > 0 => {
                weights.push(slot);
                pending -= 1;
            }
            None => {}
        }
    }
    weights.extend(end..end + pending);
    rank[W] = weights;
}

/// (slot, rank, kind, index) of every op, W included where there are any, in the order of slots.
fn by_slot(ranks: &[Rank]) -> Vec<(u64, usize, usize, usize)> {
    let mut ops = Vec::new();
    for (r, rank) in ranks.iter().enumerate() {
        for (kind, slots) in rank.iter().enumerate() {
            ops.extend(slots.iter().enumerate().map(|(i, slot)| (*slot, r, kind, i)));
        }
    }
    sort(&mut ops);
    ops
}

/// The earliest slot after what op `i` of a kind other than W waits for.
pub(crate) fn earliest(ranks: &[Rank], r: usize, kind: usize, i: usize) -> u64 {
    let neighbour = match kind {
        0 | 2 => r.checked_sub(1),
        _ => Some(r + 1).filter(|next| *next < ranks.len()),
    };
    let across = neighbour.map(|other| ranks[other][kind][i]);
    let chunk = (kind > 0).then(|| ranks[r][kind - 1][i]);
    let before = i.checked_sub(1).map(|before| ranks[r][kind][before]);
    let latest = [across, chunk, before].into_iter().flatten().max();
    latest.map_or(0, |slot| slot + 1)
}

/// Ops are fixed from rank 0's first B lo on, until the first F lo of the last micro-batch has been met.
#[derive(Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Before,
    Fixed,
    After,
}

impl Phase {
    /// Goes on at an op; whether this op is fixed.
    fn step(&mut self, rank: usize, kind: usize, last_forward: bool) -> bool {
        if *self == Self::Before && rank == 0 && kind == B_LO {
            *self = Self::Fixed;
        }
        if *self != Self::Fixed {
            return false;
        }
        if kind == F_LO && last_forward {
            *self = Self::After;
        }
        true
    }
}

/// One rank during the first pulling.
struct Board {
    taken: Vec<bool>,
    /// Activations held after each slot.
    held: Vec<u32>,
    /// Slots of the gradients met so far, ascending.
    gradients: Vec<u64>,
}

/// Activations held after each slot, with W at its own slot.
fn held(rank: &Rank) -> Vec<u32> {
    let end = rank.iter().filter_map(|slots| slots.last()).max();
    let mut change = vec![0i8; end.map_or(0, |end| index(*end) + 1)];
    for slot in rank[..2].iter().flatten() {
        change[index(*slot)] = 1;
    }
    for slot in &rank[W] {
        change[index(*slot)] = -1;
    }
    let mut alive = 0u32;
    let step = |change: i8| {
        alive = alive.saturating_add_signed(i32::from(change));
        alive
    };
    change.into_iter().map(step).collect()
}

/// Each op to the earliest free slot after what it waits for that keeps every rank within the largest memory of any.
fn pull_with_weights(ranks: &mut [Rank]) {
    let mut boards: Vec<Board> = Vec::with_capacity(ranks.len());
    for rank in ranks.iter() {
        let held = held(rank);
        boards.push(Board { taken: vec![false; held.len()], held, gradients: Vec::with_capacity(2 * rank[0].len()) });
    }
    let most = boards.iter().flat_map(|board| &board.held).max().copied().unwrap_or(0);
    let mut phase = Phase::default();
    for (slot, r, kind, i) in by_slot(ranks) {
        let fixed = phase.step(r, kind, i + 1 == ranks[r][F_LO].len());
        let mut to = slot;
        if !fixed {
            let from = if kind == W {
                let before = i.checked_sub(1).map(|before| ranks[r][W][before]);
                let gradient = boards[r].gradients.get(i).copied();
                before.into_iter().chain(gradient).max().map_or(0, |slot| slot + 1)
            } else {
                earliest(ranks, r, kind, i)
            };
            let board = &mut boards[r];
            // A forward adds one to all slots that it is pulled over; a W takes one away; a gradient changes nothing.
            for candidate in (index(from)..index(slot)).rev() {
                if kind < 2 && board.held[candidate] >= most {
                    break;
                }
                if !board.taken[candidate] {
                    to = candidate as u64;
                }
            }
            for alive in &mut board.held[index(to)..index(slot)] {
                match kind {
                    0 | 1 => *alive += 1,
                    W => *alive -= 1,
                    _ => {}
                }
            }
            ranks[r][kind][i] = to;
        }
        boards[r].taken[index(to)] = true;
        if kind == 2 || kind == B_LO {
            let gradients = &mut boards[r].gradients;
            let at = gradients.partition_point(|other| *other < to);
            gradients.insert(at, to);
        }
    }
}

/// The second pulling: only the tail, W not placed but counted as the idle slots would take them.
fn pull_tail(ranks: &mut [Rank]) {
    for rank in ranks.iter_mut() {
        rank[W].clear();
    }
    let mut tails: Vec<Tail> = ranks.iter().map(|rank| Tail::new(&grid(rank))).collect();
    let most = tails.iter().map(Tail::peak).max().unwrap_or(0);
    let mut phase = Phase::default();
    for (slot, r, kind, i) in by_slot(ranks) {
        let fixed = phase.step(r, kind, i + 1 == ranks[r][F_LO].len());
        if fixed || phase != Phase::After {
            continue;
        }
        let from = earliest(ranks, r, kind, i);
        let to = tails[r].pull(index(from), index(slot), most);
        ranks[r][kind][i] = to as u64;
    }
}

/// Every op as early as the order of its rank and what it waits for allow, one slot an op.
fn squeeze(ranks: &mut [Rank]) {
    let mut free = vec![0u64; ranks.len()];
    for (_, r, kind, i) in by_slot(ranks) {
        let ready = if kind == W { 0 } else { earliest(ranks, r, kind, i) };
        let slot = ready.max(free[r]);
        ranks[r][kind][i] = slot;
        free[r] = slot + 1;
    }
}

/// The list of a rank; a W is of the second chunk wherever one is pending, else of the first.
fn write(r: u32, p: u32, rank: &Rank) -> Vec<OrderItem> {
    let (lo, hi) = (r, 2 * p - 1 - r);
    let mut slots: Vec<(u64, usize)> = Vec::with_capacity(6 * rank[0].len());
    for (kind, list) in rank.iter().enumerate() {
        slots.extend(list.iter().map(|slot| (*slot, kind)));
    }
    sort(&mut slots);
    // Next micro-batch of F lo, F hi, B hi, B lo, W hi, W lo.
    let mut next = [0u32; 6];
    let mut items = Vec::with_capacity(slots.len());
    for (_, kind) in slots {
        let kind = if kind == W && next[2] == next[4] { 5 } else { kind };
        let op = match kind {
            0 => Op::f(lo, next[0]),
            1 => Op::f(hi, next[1]),
            2 => Op::b(hi, next[2]),
            B_LO => Op::b(lo, next[3]),
            W => Op::w(hi, next[4]),
            _ => Op::w(lo, next[5]),
        };
        next[kind] += 1;
        items.push(op.into());
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_take_the_first_idle_slots_and_then_follow_the_last_op() {
        // F F B . B : the idle slot 3 takes the first W, the second follows.
        let mut rank: Rank = [vec![0], vec![1], vec![2], vec![4], Vec::new()];
        place_weights(&mut rank);
        assert_eq!(rank[W], [3, 5]);
        assert_eq!(held(&rank), [1, 2, 2, 1, 1, 0]);
    }

    #[test]
    fn a_squeezed_block_leaves_no_slot_that_nothing_waits_in() {
        let mut ranks: Vec<Rank> = vec![[vec![3], vec![8], vec![10], vec![15], vec![20, 30]]];
        squeeze(&mut ranks);
        assert_eq!(ranks[0], [vec![0], vec![1], vec![2], vec![3], vec![4, 5]]);
    }

    #[test]
    fn nothing_moves_between_the_first_gradient_of_rank_0_and_the_last_micro_batch() {
        let mut phase = Phase::default();
        assert!(!phase.step(0, F_LO, false));
        assert!(!phase.step(1, B_LO, false));
        assert!(phase.step(0, B_LO, false));
        assert!(phase.step(1, 2, false));
        assert!(phase.step(0, F_LO, true));
        assert!(!phase.step(0, B_LO, false));
    }

    #[test]
    fn a_long_order_is_the_one_pulled_in_full() {
        for p in 1..=13 {
            for m in [2 * p + 4, 2 * p + 5, 3 * p + 20, 7 * p + 11] {
                for (id, block) in [("v-half", half_block as Block), ("v-min", min_block)] {
                    let spec = Spec::new(crate::pipeline::schedule(id).unwrap(), p, m);
                    let ours = from_block(&spec, block);
                    assert_eq!(ours, pulled(&spec, block), "{id} p={p} m={m}");
                }
            }
        }
    }
}
