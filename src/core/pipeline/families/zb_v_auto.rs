//! ZB-V laid out by a greedy rule from the durations and a memory limit, two chunks a rank in a V.
//!
//! Lane 0 flows from rank 0 to rank p − 1 (forwards of the first chunk, gradients of the second), lane 1 back.
//!
//! Source: Qi et al. 2024, section 4; the rule is that of their published scheduler (`zbv.py`).

use crate::issue::Issue;
use crate::pipeline::Durations;
use crate::pipeline::op::{Item, Kind, Op};
use crate::pipeline::order::{Order, Placement};
use crate::pipeline::spec::Spec;
use crate::t;
use std::collections::VecDeque;

/// Whether a gap before a forward, or before a gradient of lane 0, takes a W that is longer than it.
#[derive(Clone, Copy)]
struct Switches {
    fill_b: bool,
    fill_f: bool,
}

/// The limit is too low for what must run next.
struct NoRoom;

const F: usize = 0;
const B: usize = 1;

#[derive(Default)]
struct Rank {
    clock: f64,
    /// Forwards and gradients done, per lane.
    done: [[usize; 2]; 2],
    held: usize,
    lost: f64,
    /// Lane and micro-batch of each W to do, first in first out.
    pending: VecDeque<(usize, usize)>,
    ops: Vec<Op>,
}

struct Layout<'a> {
    p: usize,
    m: usize,
    limit: usize,
    durations: &'a Durations,
    switches: Switches,
    /// Idle time that the attempt before lost on each rank.
    approved: Vec<f64>,
    /// The most of these.
    most_approved: f64,
    /// The most that any rank has lost.
    most_lost: f64,
    ranks: Vec<Rank>,
    /// Ends by kind, lane, rank and micro-batch.
    ends: Vec<f64>,
}

impl<'a> Layout<'a> {
    fn new(spec: &Spec, durations: &'a Durations, limit: usize, switches: Switches) -> Self {
        let (p, m) = (spec.pp as usize, spec.microbatches as usize);
        Self {
            p,
            m,
            limit,
            durations,
            switches,
            approved: vec![0.0; p],
            most_approved: 0.0,
            most_lost: 0.0,
            ranks: (0..p).map(|_| Rank::default()).collect(),
            ends: vec![f64::NAN; 4 * p * m],
        }
    }
    fn index(&self, kind: usize, lane: usize, rank: usize, i: usize) -> usize {
        ((kind * 2 + lane) * self.p + rank) * self.m + i
    }
    /// When it ended, if it did.
    fn end(&self, kind: usize, lane: usize, rank: usize, i: usize) -> Option<f64> {
        if i >= self.m {
            return None;
        }
        let end = self.ends[self.index(kind, lane, rank, i)];
        (!end.is_nan()).then_some(end)
    }
    /// The global stage that a lane's op of this kind works on: gradients of lane 0 are the second chunk's.
    fn stage(&self, kind: usize, lane: usize, rank: usize) -> usize {
        if kind == lane {
            rank
        } else {
            2 * self.p - 1 - rank
        }
    }
    fn time(&self, kind: usize, lane: usize, rank: usize) -> f64 {
        let stage = self.stage(kind, lane, rank);
        if kind == F {
            self.durations.forward[stage]
        } else {
            self.durations.backward_input[stage]
        }
    }
    fn weight_time(&self, lane: usize, rank: usize) -> f64 {
        self.durations.backward_weight[self.stage(B, lane, rank)]
    }
    /// The rank that the lane comes from.
    fn upstream(&self, lane: usize, rank: usize) -> Option<usize> {
        if lane == 0 {
            rank.checked_sub(1)
        } else {
            Some(rank + 1).filter(|next| *next < self.p)
        }
    }
    /// When what the next op of the lane needs from its neighbour arrives, if that has run.
    fn arrival(&self, kind: usize, lane: usize, rank: usize) -> Option<f64> {
        let next = self.ranks[rank].done[kind][lane];
        let from = self.upstream(lane, rank)?;
        Some(self.end(kind, lane, from, next)? + self.durations.p2p)
    }
    fn push(&mut self, rank: usize, kind: Kind, stage: usize, i: usize) {
        #[allow(clippy::cast_possible_truncation)] // both come from u32
        self.ranks[rank]
            .ops
            .push(Op::new(kind, stage as u32, i as u32));
    }
    fn run(&mut self, kind: usize, lane: usize, rank: usize) -> Result<(), NoRoom> {
        let i = self.ranks[rank].done[kind][lane];
        let arrival = self.arrival(kind, lane, rank);
        let waits = self.upstream(lane, rank).is_some() && arrival.is_none();
        // At the turns of the V the lane goes on from the other one on the same rank.
        let before = match (kind, lane) {
            (F, 0) => true,
            (F, _) => self.end(F, 0, rank, i).is_some(),
            (_, 0) => self.end(F, 1, rank, i).is_some(),
            _ => self.end(B, 0, rank, i).is_some(),
        };
        if i >= self.m || waits || !before || (kind == F && self.ranks[rank].held >= self.limit) {
            return Err(NoRoom);
        }
        let time = self.time(kind, lane, rank);
        let unhindered = self.ranks[rank].clock + time;
        let end = arrival.map_or(unhindered, |arrival| unhindered.max(arrival + time));
        let at = self.index(kind, lane, rank, i);
        self.ends[at] = end;
        let state = &mut self.ranks[rank];
        if state.done[F][0] > 0 {
            state.lost += end - unhindered;
            self.most_lost = self.most_lost.max(state.lost);
        }
        state.clock = end;
        state.done[kind][lane] += 1;
        if kind == F {
            state.held += 1;
        } else {
            state.pending.push_back((lane, i));
        }
        let stage = self.stage(kind, lane, rank);
        self.push(rank, if kind == F { Kind::F } else { Kind::B }, stage, i);
        Ok(())
    }
    /// The oldest W, if there is one.
    fn run_weight(&mut self, rank: usize) -> bool {
        let Some((lane, i)) = self.ranks[rank].pending.pop_front() else {
            return false;
        };
        self.ranks[rank].clock += self.weight_time(lane, rank);
        self.ranks[rank].held -= 1;
        let stage = self.stage(B, lane, rank);
        self.push(rank, Kind::W, stage, i);
        true
    }
    /// W into the gap before `ready`: those that fit; one that does not where `partly` and the gap matters.
    fn fill(&mut self, rank: usize, ready: Option<f64>, partly: bool) {
        let Some(ready) = ready else { return };
        while let Some((lane, _)) = self.ranks[rank].pending.front().copied() {
            if ready < self.ranks[rank].clock + self.weight_time(lane, rank) {
                break;
            }
            self.run_weight(rank);
        }
        let approved = self.most_approved - self.approved[rank];
        let slack = self.most_lost.max(approved) - self.ranks[rank].lost;
        if partly && ready - self.ranks[rank].clock > slack {
            self.run_weight(rank);
        }
    }

    /// The first forwards: lane 0 out with extra ones while they fit, lane 1 back.
    fn first_forwards(&mut self) -> Result<(), NoRoom> {
        for rank in 0..self.p {
            self.run(F, 0, rank)?;
        }
        for rank in (0..self.p).rev() {
            if let Some(arrival) = self.arrival(F, 1, rank) {
                while self.ranks[rank].held + 2 + 2 * rank <= self.limit
                    && self.ranks[rank].clock + self.time(F, 0, rank) <= arrival
                    && self.ranks[rank].done[F][0] < self.m
                {
                    for before in 0..=rank {
                        self.run(F, 0, before)?;
                    }
                }
            }
            self.run(F, 1, rank)?;
        }
        Ok(())
    }
    /// Forwards of alternating lanes until each rank has as many as the one before.
    fn level_forwards(&mut self) -> Result<(), NoRoom> {
        let mut lane = 0;
        for rank in 1..self.p {
            loop {
                let (own, before) = (self.ranks[rank].done[F], self.ranks[rank - 1].done[F]);
                let fewer = own[0] + own[1] < before[0] + before[1];
                let behind = own[1] <= before[1] && before[1] < self.m;
                if !fewer && !behind {
                    break;
                }
                for next in (rank..self.p).rev() {
                    if self.ranks[next].done[F][lane] < self.m {
                        self.run(F, lane, next)?;
                    }
                }
                lane = 1 - lane;
            }
        }
        Ok(())
    }
    /// Which lane's gradient a rank runs in this round.
    fn gradient_lane(&self, rank: usize) -> usize {
        let done = self.ranks[rank].done[B];
        if done[1] >= done[0] {
            return 0;
        }
        let arrived = match self.upstream(1, rank) {
            None => true,
            Some(from) => self.end(B, 1, from, done[1]).is_some(),
        };
        usize::from(arrived || done[0] >= self.m)
    }
    /// Which lane's forward a rank runs in this round, if any.
    fn forward_lane(&self, rank: usize) -> Option<usize> {
        let done = self.ranks[rank].done[F];
        if done[1] >= self.m {
            return None;
        }
        if done[1] >= done[0] {
            return Some(0);
        }
        let arrived = |lane: usize| match self.upstream(lane, rank) {
            None => true,
            Some(from) => self.end(F, lane, from, done[lane]).is_some(),
        };
        if arrived(1) {
            return Some(1);
        }
        (done[0] < self.m && arrived(0)).then_some(0)
    }
    /// One gradient on each rank, then at most one forward.
    fn round(&mut self) -> Result<(), NoRoom> {
        let lanes: Vec<usize> = (0..self.p).map(|rank| self.gradient_lane(rank)).collect();
        let back = (0..self.p).rev().filter(|rank| lanes[*rank] == 1);
        let out = (0..self.p).filter(|rank| lanes[*rank] == 0);
        for rank in back.chain(out) {
            let lane = lanes[rank];
            let ready = self.arrival(B, lane, rank);
            self.fill(rank, ready, lane == 1 || self.switches.fill_b);
            self.run(B, lane, rank)?;
        }
        for rank in 0..self.p {
            let Some(lane) = self.forward_lane(rank) else {
                continue;
            };
            while self.ranks[rank].held + 1 > self.limit {
                if !self.run_weight(rank) {
                    return Err(NoRoom);
                }
            }
            let ready = self.arrival(F, lane, rank);
            self.fill(rank, ready, self.switches.fill_f);
            self.run(F, lane, rank)?;
        }
        Ok(())
    }
    fn lay_out(mut self) -> Result<Self, NoRoom> {
        self.first_forwards()?;
        self.level_forwards()?;
        for _ in 0..2 * self.m {
            self.round()?;
        }
        for rank in 0..self.p {
            while self.run_weight(rank) {}
        }
        Ok(self)
    }
    fn order(self, spec: &Spec) -> Order {
        let items = |rank: Rank| -> Vec<Item> { rank.ops.into_iter().map(Item::from).collect() };
        let ranks = self.ranks.into_iter().map(items);
        Order::new(ranks, 2 * spec.pp, Placement::Snake, spec.microbatches)
    }
}

/// One setting, tried again with the idle time it lost as approved for as long as that loses less.
fn settle<'a>(
    spec: &Spec,
    durations: &'a Durations,
    limit: usize,
    switches: Switches,
) -> Result<Layout<'a>, NoRoom> {
    let mut best = Layout::new(spec, durations, limit, switches).lay_out()?;
    // Each turn loses less than the one before; the bound is for times that differ by rounding only.
    for _ in 0..100 {
        let approved = best.ranks.iter().map(|rank| rank.lost).collect();
        let again = Layout {
            approved,
            most_approved: best.most_lost,
            ..Layout::new(spec, durations, limit, switches)
        };
        match again.lay_out() {
            Ok(again) if again.most_lost < best.most_lost => best = again,
            _ => break,
        }
    }
    Ok(best)
}

fn best_of_four(spec: &Spec, durations: &Durations, limit: usize) -> Option<Order> {
    let mut best: Option<Layout> = None;
    for (fill_b, fill_f) in [(true, true), (true, false), (false, true), (false, false)] {
        let Ok(layout) = settle(spec, durations, limit, Switches { fill_b, fill_f }) else {
            continue;
        };
        if best
            .as_ref()
            .is_none_or(|best| layout.most_lost < best.most_lost)
        {
            best = Some(layout);
        }
    }
    best.map(|layout| layout.order(spec))
}

/// The best of the four settings: the first that loses least on its worst rank.
pub(crate) fn zb_v_auto(spec: &Spec, durations: &Durations) -> Result<Order, Issue> {
    let usual = spec.pp.saturating_mul(2);
    let limit = spec.memory_limit.unwrap_or(usual);
    if let Some(order) = best_of_four(spec, durations, limit as usize) {
        return Ok(order);
    }
    let works = |limit: &u32| best_of_four(spec, durations, *limit as usize).is_some();
    let enough = (limit.saturating_add(1)..usual)
        .take(16)
        .find(works)
        .unwrap_or(usual);
    let message = t!(
        "{limit} chunks do not hold what ZB-V's rule runs before its first gradients",
        limit
    );
    Err(Issue::error("memory_limit", message).with_fix("memory_limit", enough))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{build, measure, schedule, stats::peak_in_flight};

    fn spec(p: u32, m: u32, limit: Option<u32>) -> Spec {
        Spec {
            memory_limit: limit,
            ..Spec::new(schedule("zb-v-auto").unwrap(), p, m)
        }
    }

    #[test]
    fn two_p_chunks_are_held_at_most_and_enough() {
        for (p, m) in [(1, 3), (2, 2), (3, 9), (4, 1), (5, 12), (8, 16)] {
            let durations = Durations::uniform(2 * p, 10.0, 12.0, 7.0).with_p2p(0.5);
            let order = build(&spec(p, m, None), &durations).unwrap().order;
            assert!(peak_in_flight(&order).iter().all(|held| *held <= 2 * p));
            assert!(measure(&order, &durations).is_ok(), "p={p} m={m}");
        }
    }

    #[test]
    fn a_limit_that_is_too_small_is_rejected_with_one_that_works() {
        let durations = Durations::unit(8);
        let issue = build(&spec(4, 8, Some(1)), &durations).unwrap_err();
        let limit = issue.fix.unwrap().set.remove(0).1.parse().unwrap();
        assert!(build(&spec(4, 8, Some(limit)), &durations).is_ok());
    }
}
