//! ZB-V laid out by a greedy rule from the durations and a memory limit, two chunks a rank in a V.
//!
//! Lane 0 flows from rank 0 to rank p − 1 (forwards of the first chunk, gradients of the second), lane 1 back.
//!
//! Source: Qi et al. 2024, section 4; the rule is that of their published scheduler (`zbv.py`).
//!
//! One algorithm, over 400 lines.

use super::rounds::{Comparison, LONGEST, Laid, Mark, Period, Rounds, exact};
use super::within::fastest;
use crate::issue::Issue;
use crate::pipeline::Durations;
use crate::pipeline::op::{Op, OpKind};
use crate::pipeline::order::Order;
use crate::pipeline::registry::Spec;
use crate::pipeline::spec::op_count;
use crate::t;
use std::collections::VecDeque;

/// Gaps that take a W longer than they are: those before a gradient of lane 0, those before a forward.
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
    laid: Laid,
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
    /// The rank that has lost most.
    worst: usize,
    comparisons: Vec<Comparison>,
    ranks: Vec<Rank>,
    /// Ends by kind, lane and rank that the next rank of the lane has not used yet.
    sent: [[Vec<VecDeque<f64>>; 2]; 2],
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
            worst: 0,
            comparisons: Vec::new(),
            ranks: (0..p).map(|_| Rank::default()).collect(),
            sent: [0, 1].map(|_| [0, 1].map(|_| vec![VecDeque::new(); p])),
        }
    }
    /// The most that any rank has lost.
    fn most_lost(&self) -> f64 {
        self.ranks[self.worst].lost
    }
    /// The global stage that a lane's op of this kind works on: gradients of lane 0 are the second chunk's.
    fn stage(&self, kind: usize, lane: usize, rank: usize) -> usize {
        if kind == lane { rank } else { 2 * self.p - 1 - rank }
    }
    fn time(&self, kind: usize, lane: usize, rank: usize) -> f64 {
        let stage = self.stage(kind, lane, rank);
        if kind == F { self.durations.forward[stage] } else { self.durations.backward_input[stage] }
    }
    fn weight_time(&self, lane: usize, rank: usize) -> f64 {
        self.durations.backward_weight[self.stage(B, lane, rank)]
    }
    /// The rank that the lane comes from.
    fn upstream(&self, lane: usize, rank: usize) -> Option<usize> {
        if lane == 0 { rank.checked_sub(1) } else { Some(rank + 1).filter(|next| *next < self.p) }
    }
    /// The rank that the lane goes to.
    fn downstream(&self, lane: usize, rank: usize) -> Option<usize> {
        self.upstream(1 - lane, rank)
    }
    /// When what the next op of the lane needs from its neighbour arrives, if that has run.
    fn arrival(&self, kind: usize, lane: usize, rank: usize) -> Option<f64> {
        let from = self.upstream(lane, rank)?;
        Some(self.sent[kind][lane][from].front()? + self.durations.p2p)
    }
    fn push(&mut self, rank: usize, kind: OpKind, stage: usize, i: usize) {
        #[allow(clippy::cast_possible_truncation)] // both come from u32
        let op = Op::new(kind, stage as u32, i as u32);
        self.ranks[rank].laid.ops.push(op.into());
    }
    fn run(&mut self, kind: usize, lane: usize, rank: usize) -> Result<(), NoRoom> {
        let i = self.ranks[rank].done[kind][lane];
        let arrival = self.arrival(kind, lane, rank);
        let waits = self.upstream(lane, rank).is_some() && arrival.is_none();
        // At the turns of the V the lane goes on from the other one on the same rank.
        let before = match (kind, lane) {
            (F, 0) => true,
            (F, _) => i < self.ranks[rank].done[F][0],
            (_, 0) => i < self.ranks[rank].done[F][1],
            _ => i < self.ranks[rank].done[B][0],
        };
        if i >= self.m || waits || !before || (kind == F && self.ranks[rank].held >= self.limit) {
            return Err(NoRoom);
        }
        let time = self.time(kind, lane, rank);
        let unhindered = self.ranks[rank].clock + time;
        let end = arrival.map_or(unhindered, |arrival| unhindered.max(arrival + time));
        if let Some(from) = self.upstream(lane, rank) {
            self.sent[kind][lane][from].pop_front();
        }
        if self.downstream(lane, rank).is_some() {
            self.sent[kind][lane][rank].push_back(end);
        }
        let state = &mut self.ranks[rank];
        if state.done[F][0] > 0 {
            state.lost += end - unhindered;
        }
        state.clock = end;
        state.done[kind][lane] += 1;
        if kind == F {
            state.held += 1;
        } else {
            state.pending.push_back((lane, i));
        }
        if self.ranks[rank].lost > self.most_lost() {
            self.worst = rank;
        }
        let stage = self.stage(kind, lane, rank);
        self.push(rank, if kind == F { OpKind::F } else { OpKind::B }, stage, i);
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
        self.push(rank, OpKind::W, stage, i);
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
        if !partly || self.ranks[rank].pending.is_empty() {
            return;
        }
        let approved = self.most_approved - self.approved[rank];
        let slack = self.most_lost().max(approved) - self.ranks[rank].lost;
        let over = ready - self.ranks[rank].clock - slack;
        self.comparisons.push(Comparison { rank, worst: (self.most_lost() >= approved).then_some(self.worst), over });
        if over > 0.0 {
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
                let (now, before) = (self.ranks[rank].done[F], self.ranks[rank - 1].done[F]);
                let fewer = now[0] + now[1] < before[0] + before[1];
                let behind = now[1] <= before[1] && before[1] < self.m;
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
    /// Lane of the gradient that a rank runs in this round.
    fn gradient_lane(&self, rank: usize) -> usize {
        let done = self.ranks[rank].done[B];
        if done[1] >= done[0] {
            return 0;
        }
        let arrived = match self.upstream(1, rank) {
            None => true,
            Some(from) => !self.sent[B][1][from].is_empty(),
        };
        usize::from(arrived || done[0] >= self.m)
    }
    /// Lane of the forward that a rank runs in this round, if any.
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
            Some(from) => !self.sent[F][lane][from].is_empty(),
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
    fn lay_out(mut self, longest: usize) -> Result<Self, NoRoom> {
        self.first_forwards()?;
        self.level_forwards()?;
        let mut rounds = Rounds::new(longest);
        let mut left = 2 * self.m;
        while left > 0 {
            self.round()?;
            left -= 1;
            let mark = self.mark();
            #[allow(clippy::cast_possible_truncation)] // comes from u32
            if let Some(period) = rounds.period(mark, self.m as u32) {
                self.repeat(&period);
                left -= (period.rounds * period.times) as usize;
            }
        }
        for rank in 0..self.p {
            while self.run_weight(rank) {}
        }
        Ok(self)
    }
    fn mark(&mut self) -> Mark {
        let (clock, begun) = (self.ranks[0].clock, self.ranks[0].done[F][0]);
        let ahead = |i: usize| begun as f64 - i as f64;
        let mut shape = Vec::new();
        for rank in &self.ranks {
            shape.extend([rank.clock - clock, rank.held as f64]);
            shape.extend(rank.done.iter().flatten().map(|done| ahead(*done)));
            let pending = rank.pending.iter();
            shape.extend(pending.flat_map(|(lane, i)| [*lane as f64, ahead(*i)]));
        }
        let sent = self.sent.iter().flatten().flatten().flatten();
        shape.extend(sent.map(|end| end - clock));
        let ranks = self.ranks.iter().map(|rank| (rank.lost, rank.laid.ops.len()));
        Mark::new(shape, clock, begun, &mut self.comparisons, ranks)
    }
    fn repeat(&mut self, period: &Period) {
        let times = f64::from(period.times);
        let (later, further) = (times * period.seconds, (period.times * period.step) as usize);
        for (j, rank) in self.ranks.iter_mut().enumerate() {
            rank.clock += later;
            rank.lost += times * period.rates[j];
            for done in rank.done.iter_mut().flatten() {
                *done += further;
            }
            for (_, i) in &mut rank.pending {
                *i += further;
            }
            rank.laid.repeat(period.from[j], period.times, period.step);
        }
        for j in 0..self.p {
            if self.ranks[j].lost > self.most_lost() {
                self.worst = j;
            }
        }
        for end in self.sent.iter_mut().flatten().flatten().flatten() {
            *end += later;
        }
    }
    fn order(self, spec: &Spec) -> Order {
        let ranks = self.ranks.into_iter().map(|rank| rank.laid.row());
        spec.order(ranks)
    }
}

/// One setting, tried again with the idle time it lost as approved for as long as that loses less.
fn settle<'a>(
    spec: &Spec,
    durations: &'a Durations,
    limit: usize,
    switches: Switches,
    longest: usize,
) -> Result<Layout<'a>, NoRoom> {
    let mut best = Layout::new(spec, durations, limit, switches).lay_out(longest)?;
    // Each turn loses less than the one before; the bound is for times that differ by rounding only.
    for _ in 0..100 {
        let approved = best.ranks.iter().map(|rank| rank.lost).collect();
        let again =
            Layout { approved, most_approved: best.most_lost(), ..Layout::new(spec, durations, limit, switches) };
        match again.lay_out(longest) {
            Ok(again) if again.most_lost() < best.most_lost() => best = again,
            _ => break,
        }
    }
    Ok(best)
}

fn best_of_four(spec: &Spec, durations: &Durations, limit: usize, longest: usize) -> Option<Order> {
    let mut best: Option<Layout> = None;
    for (fill_b, fill_f) in [(true, true), (true, false), (false, true), (false, false)] {
        let switches = Switches { fill_b, fill_f };
        let Ok(layout) = settle(spec, durations, limit, switches, longest) else {
            continue;
        };
        if best.as_ref().is_none_or(|best| layout.most_lost() < best.most_lost()) {
            best = Some(layout);
        }
    }
    best.map(|layout| layout.order(spec))
}

/// The best of the four settings: the first that loses least on its worst rank.
pub(crate) fn zb_v_auto(spec: &Spec, durations: &Durations) -> Result<Order, Issue> {
    let exact = &exact(durations, op_count(spec));
    let usual = spec.pp.saturating_mul(2);
    let limit = spec.memory_limit.unwrap_or(usual);
    let make = |limit: u32| best_of_four(spec, exact, limit as usize, LONGEST);
    if let Some(order) = fastest(limit, op_count(spec), durations, make) {
        return Ok(order);
    }
    let works = |limit: &u32| make(*limit).is_some();
    let enough = (limit.saturating_add(1)..usual).take(16).find(works).unwrap_or(usual);
    let message = t!("{limit} chunks do not hold what ZB-V's rule runs before its first gradients", limit);
    Err(Issue::error("memory_limit", message).with_fix("memory_limit", enough))
}

#[cfg(test)]
mod tests {
    use super::super::rounds::tests::any_durations;
    use super::*;
    use crate::pipeline::{build, schedule};
    use proptest::prelude::*;

    fn spec(p: u32, m: u32, limit: Option<u32>) -> Spec {
        Spec { memory_limit: limit, ..Spec::new(schedule("zb-v-auto").unwrap(), p, m) }
    }

    proptest! {
        /// Rounds that are repeated without being laid out are those that would have been.
        #[test]
        fn the_order_is_that_of_all_rounds(random in any::<u64>(), p in 1u32..6, m in 1u32..60, limit in 4usize..14) {
            let spec = spec(p, m, None);
            let durations = exact(&any_durations(random, 2 * p), op_count(&spec));
            let [whole, ours] = [0, LONGEST].map(|longest| best_of_four(&spec, &durations, limit, longest));
            prop_assert_eq!(whole, ours);
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
