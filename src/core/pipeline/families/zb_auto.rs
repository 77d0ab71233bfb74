//! Zero bubble laid out by a greedy rule from the durations and a memory limit, one chunk a rank.
//!
//! Source: Qi et al. 2023, section 3; the rule is that of their published scheduler (`zb.py`, without its solver).

use super::rounds::{Comparison, LONGEST, Laid, Mark, Period, Rounds, exact};
use super::within::fastest;
use crate::issue::Issue;
use crate::pipeline::Durations;
use crate::pipeline::op::{Op, OpKind};
use crate::pipeline::order::Order;
use crate::pipeline::registry::Spec;
use crate::pipeline::spec::op_count;
use std::collections::VecDeque;

/// Three choices that the rule leaves open; all eight settings are tried.
#[derive(Clone, Copy)]
struct Switches {
    /// Extra forwards before the first backward only while they end before it could start.
    bubble_first: bool,
    /// Hold back a forward that would delay the next backward.
    favour_b: bool,
    /// Fill a gap with W even where a longer gap elsewhere hides it.
    greedy: bool,
}

/// A rank as far as its ops are laid out.
struct Rank {
    /// Time at which it is free.
    clock: f64,
    /// Ops done of each kind, F, B, W.
    done: [usize; 3],
    /// Idle time since the first forward.
    lost: f64,
    /// End of the first forward.
    first: f64,
    laid: Laid,
}

impl Rank {
    /// Micro-batches whose activations it holds.
    fn held(&self) -> usize {
        self.done[0] - self.done[2]
    }
    /// True if a weight gradient can run.
    fn pending(&self) -> bool {
        self.done[2] < self.done[1]
    }
}

/// The ranks' ops as one setting of the switches lays them out.
struct Layout<'a> {
    ranks: Vec<Rank>,
    /// Ends of F and of B, per rank, that the neighbour has not used yet.
    sent: [Vec<VecDeque<f64>>; 2],
    durations: &'a Durations,
    m: usize,
    limit: usize,
    switches: Switches,
    /// The rank that has lost most.
    worst: usize,
    comparisons: Vec<Comparison>,
}

impl<'a> Layout<'a> {
    fn new(spec: &Spec, durations: &'a Durations, limit: usize, switches: Switches) -> Self {
        let (p, m) = (spec.pp as usize, spec.microbatches as usize);
        let rank = |_| Rank { clock: 0.0, done: [0; 3], lost: 0.0, first: 0.0, laid: Laid::default() };
        let none = vec![VecDeque::new(); p];
        Self {
            ranks: (0..p).map(rank).collect(),
            sent: [none.clone(), none],
            durations,
            m,
            limit,
            switches,
            worst: 0,
            comparisons: Vec::new(),
        }
    }
    fn time(&self, j: usize, kind: OpKind) -> f64 {
        let list = match kind {
            OpKind::F => &self.durations.forward,
            OpKind::B => &self.durations.backward_input,
            _ => &self.durations.backward_weight,
        };
        list[j]
    }
    /// The rank whose result an op of `kind` on rank j needs; none where it needs no other rank.
    fn source(&self, j: usize, kind: OpKind) -> Option<usize> {
        match kind {
            OpKind::F => j.checked_sub(1),
            OpKind::B => Some(j + 1).filter(|from| *from < self.ranks.len()),
            _ => None,
        }
    }
    /// Time at which the result arrives that the next op of `kind` on rank j needs from its neighbour.
    fn arrival(&self, j: usize, kind: OpKind) -> Option<f64> {
        let from = self.source(j, kind)?;
        let sent = &self.sent[kind as usize][from];
        Some(sent.front()? + self.durations.p2p)
    }
    /// Runs the next op of `kind` on rank j as early as it can.
    fn run(&mut self, j: usize, kind: OpKind) {
        let time = self.time(j, kind);
        let unhindered = self.ranks[j].clock + time;
        let end = self.arrival(j, kind).map_or(unhindered, |arrival| unhindered.max(arrival + time));
        let is_used = match kind {
            OpKind::F => j + 1 < self.ranks.len(),
            OpKind::B => j > 0,
            _ => false,
        };
        if let Some(from) = self.source(j, kind) {
            self.sent[kind as usize][from].pop_front();
        }
        if is_used {
            self.sent[kind as usize][j].push_back(end);
        }
        let rank = &mut self.ranks[j];
        if rank.done[0] > 0 {
            rank.lost += end - unhindered;
        } else {
            rank.first = end;
        }
        let next = &mut rank.done[kind as usize];
        #[allow(clippy::cast_possible_truncation)] // both come from u32
        let op = Op::new(kind, j as u32, *next as u32);
        rank.laid.ops.push(op.into());
        *next += 1;
        rank.clock = end;
        if rank.lost > self.ranks[self.worst].lost {
            self.worst = j;
        }
    }
    /// True if idle time of `gap` would make rank j the one that has lost most.
    fn matters(&mut self, j: usize, gap: f64) -> bool {
        let over = gap - (self.ranks[self.worst].lost - self.ranks[j].lost);
        self.comparisons.push(Comparison { rank: j, worst: Some(self.worst), over });
        over > 0.0
    }
    /// Makes room for one more activation on rank j by running weight gradients. One is pending whenever it is needed:
    /// before a forward, a rank has run all backwards but those of its warm-up, which the limit bounds.
    fn make_room(&mut self, j: usize) {
        while self.ranks[j].held() + 1 > self.limit && self.ranks[j].pending() {
            self.run(j, OpKind::W);
        }
    }
    /// Runs weight gradients of rank j in the gap before `ready`: all that fit, and one more that overruns it where the
    /// gap matters.
    fn fill(&mut self, j: usize, ready: Option<f64>) {
        let Some(ready) = ready else { return };
        let time = self.time(j, OpKind::W);
        while self.ranks[j].pending() && self.ranks[j].clock + time <= ready {
            self.run(j, OpKind::W);
        }
        let gap = ready - self.ranks[j].clock;
        if self.ranks[j].pending() && gap > 0.0 && (self.switches.greedy || self.matters(j, gap)) {
            self.run(j, OpKind::W);
        }
    }

    /// Runs the forwards of each rank before its first backward, then that backward.
    fn warm_up(&mut self) {
        let p = self.ranks.len();
        (0..p).for_each(|j| self.run(j, OpKind::F));
        let mut extra = vec![0usize; p];
        let last = &self.ranks[p - 1];
        let mut first_b = last.clock + self.time(p - 1, OpKind::B);
        for j in (0..p - 1).rev() {
            let arrival = first_b + self.durations.p2p;
            let time = self.time(j, OpKind::F);
            let mut clock = self.ranks[j].clock;
            while 1 + extra[j] < self.m && 1 + extra[j] < self.limit {
                let late = if self.switches.bubble_first { clock + time > arrival } else { clock >= arrival };
                if late {
                    break;
                }
                clock += time;
                extra[j] += 1;
            }
            first_b = clock.max(arrival) + self.time(j, OpKind::B);
        }
        for j in 1..p {
            // A rank stays behind the one before it; level with it only where both have run every forward.
            let full = 1 + extra[j - 1] >= self.m;
            let most = if full { extra[j - 1] } else { extra[j - 1].saturating_sub(1) };
            extra[j] = extra[j].min(most);
        }
        for (j, extra) in extra.into_iter().enumerate() {
            (0..extra).for_each(|_| self.run(j, OpKind::F));
        }
        (0..p).rev().for_each(|j| self.run(j, OpKind::B));
    }

    /// True if rank j runs a forward in this round.
    fn wants_forward(&mut self, j: usize) -> bool {
        let rank = &self.ranks[j];
        if rank.done[0] >= self.m {
            return false;
        }
        let Some(next) = self.ranks.get(j + 1) else {
            return true;
        };
        if !self.switches.favour_b || rank.done[0] < next.done[0] + 2 {
            return true;
        }
        let horizon = next.clock + self.time(j + 1, OpKind::F) + self.time(j + 1, OpKind::B) + self.durations.p2p;
        if rank.clock >= horizon {
            return false;
        }
        let needed = (rank.held() + 1).saturating_sub(self.limit);
        let needed = needed.min(rank.done[1] - rank.done[2]);
        let weights: f64 = (0..needed).map(|_| self.time(j, OpKind::W)).sum();
        if rank.clock + self.time(j, OpKind::F) + weights <= horizon {
            return true;
        }
        let gap = horizon - rank.clock;
        self.matters(j, gap)
    }

    /// One forward and one backward on each rank that has them.
    fn round(&mut self) {
        let p = self.ranks.len();
        let mut go: Vec<bool> = (0..p).map(|j| self.wants_forward(j)).collect();
        for j in (0..p - 1).rev() {
            go[j] &= go[j + 1];
        }
        for j in (0..p).filter(|j| go[*j]) {
            self.make_room(j);
            self.fill(j, self.arrival(j, OpKind::F));
            self.run(j, OpKind::F);
        }
        for j in (0..p).rev() {
            self.fill(j, self.arrival(j, OpKind::B));
            if j == 0 && self.ranks[0].done[0] == self.m {
                self.flush(0);
            }
            self.run(j, OpKind::B);
        }
    }

    /// Runs all weight gradients that are pending on rank j.
    fn flush(&mut self, j: usize) {
        while self.ranks[j].pending() {
            self.run(j, OpKind::W);
        }
    }

    /// Lays everything out; gives the longest time from a rank's first start to its last end.
    fn lay_out(&mut self, longest: usize) -> f64 {
        self.warm_up();
        let mut rounds = Rounds::new(longest);
        let mut left = self.m - 1;
        while left > 0 {
            self.round();
            left -= 1;
            let mark = self.mark();
            #[allow(clippy::cast_possible_truncation)] // comes from u32
            if let Some(period) = rounds.period(mark, self.m as u32) {
                self.repeat(&period);
                left -= (period.rounds * period.times) as usize;
            }
        }
        (0..self.ranks.len()).for_each(|j| self.flush(j));
        let span = |(j, rank): (usize, &Rank)| rank.clock - rank.first + self.time(j, OpKind::F);
        self.ranks.iter().enumerate().map(span).fold(0.0, f64::max)
    }

    /// The state after a round, by which a period is found again.
    fn mark(&mut self) -> Mark {
        let (clock, begun) = (self.ranks[0].clock, self.ranks[0].done[0]);
        let mut shape = Vec::new();
        for rank in &self.ranks {
            shape.push(rank.clock - clock);
            shape.extend(rank.done.map(|done| begun as f64 - done as f64));
        }
        let sent = self.sent.iter().flatten().flatten();
        shape.extend(sent.map(|end| end - clock));
        let ranks = self.ranks.iter().map(|rank| (rank.lost, rank.laid.ops.len()));
        Mark::new(shape, clock, begun, &mut self.comparisons, ranks)
    }

    /// Moves all ranks on by the repetitions of `period`.
    fn repeat(&mut self, period: &Period) {
        let times = f64::from(period.times);
        let later = times * period.seconds;
        for (j, rank) in self.ranks.iter_mut().enumerate() {
            rank.clock += later;
            rank.lost += times * period.rates[j];
            for done in &mut rank.done {
                *done += (period.times * period.step) as usize;
            }
            rank.laid.repeat(period.from[j], period.times, period.step);
        }
        for j in 0..self.ranks.len() {
            if self.ranks[j].lost > self.ranks[self.worst].lost {
                self.worst = j;
            }
        }
        for end in self.sent.iter_mut().flatten().flatten() {
            *end += later;
        }
    }

    fn order(self, spec: &Spec) -> Order {
        let ranks = self.ranks.into_iter().map(|rank| rank.laid.row());
        spec.order(ranks)
    }
}

/// The best of the eight settings: the first with the shortest longest span.
pub(crate) fn zb_auto(spec: &Spec, durations: &Durations) -> Result<Order, Issue> {
    let limit = spec.memory_limit.unwrap_or(spec.pp);
    if limit == 0 {
        let message = "a rank must hold at least one micro-batch";
        return Err(Issue::error("memory_limit", message).with_fix("memory_limit", 1));
    }
    let made = fastest(limit, op_count(spec), durations, |limit| best_of_eight(spec, durations, limit, LONGEST));
    made.ok_or_else(|| Issue::error("schedule", "no setting gives an order"))
}

/// The order of the setting whose longest span is shortest, the first of equals.
fn best_of_eight(spec: &Spec, durations: &Durations, limit: u32, longest: usize) -> Option<Order> {
    let durations = &exact(durations, op_count(spec));
    let mut best: Option<(f64, Layout)> = None;
    for bits in 0..8 {
        let switches = Switches { bubble_first: bits & 4 == 0, favour_b: bits & 2 == 0, greedy: bits & 1 == 0 };
        let mut layout = Layout::new(spec, durations, limit as usize, switches);
        let span = layout.lay_out(longest);
        if best.as_ref().is_none_or(|(shortest, _)| span < *shortest) {
            best = Some((span, layout));
        }
    }
    best.map(|(_, layout)| layout.order(spec))
}

#[cfg(test)]
mod tests {
    use super::super::rounds::tests::any_durations;
    use super::*;
    use crate::pipeline::{build, measure, schedule};
    use proptest::prelude::*;

    proptest! {
        /// Rounds that are repeated without being laid out are those that would have been.
        #[test]
        fn the_order_is_that_of_all_rounds(random in any::<u64>(), p in 1u32..7, m in 1u32..90, limit in 1u32..12) {
            let durations = any_durations(random, p);
            let spec = Spec::new(schedule("zb-auto").unwrap(), p, m);
            let [whole, ours] = [0, LONGEST].map(|longest| best_of_eight(&spec, &durations, limit, longest).unwrap());
            prop_assert_eq!(whole, ours);
        }
    }

    #[test]
    fn two_p_of_memory_leave_no_idle_time_within_a_span() {
        // The paper's ZB-2p for equal times; m = 4p.
        for p in [2, 4, 8] {
            let durations = Durations::unit(p);
            let spec = Spec { memory_limit: Some(2 * p), ..Spec::new(schedule("zb-auto").unwrap(), p, 4 * p) };
            let order = build(&spec, &durations).unwrap().order;
            let (_, stats) = measure(&order, &durations).unwrap();
            assert!(stats.bubble_span.abs() < 1e-12, "p={p}");
        }
    }
}
