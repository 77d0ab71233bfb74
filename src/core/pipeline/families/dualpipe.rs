//! DualPipe and DualPipeV: forwards and backwards of two flows overlapped in pairs.
//!
//! One routine for both. R ranks a half; i = distance from the outer end; n micro-batches a flow; flow 0 goes out from
//! this rank's end, flow 1 comes back.

use crate::issue::Issue;
use crate::pipeline::op::{Op, OrderItem};
use crate::pipeline::order::{Order, StagePlacement};
use crate::pipeline::registry::Spec;
use crate::pipeline::row::RankRow;
use crate::pipeline::spec::{each_rank, runs};
use crate::t;
use std::collections::VecDeque;

/// Stage and first micro-batch of a flow, and how far it has come.
struct Flow {
    stage: u32,
    start: u32,
    forwards: u32,
    backwards: u32,
}

impl Flow {
    const fn new(stage: u32, start: u32) -> Self {
        Self { stage, start, forwards: 0, backwards: 0 }
    }
    fn f(&mut self) -> Op {
        self.forwards += 1;
        Op::f(self.stage, self.start + self.forwards - 1)
    }
    fn backward(&mut self, op: fn(u32, u32) -> Op) -> Op {
        self.backwards += 1;
        op(self.stage, self.start + self.backwards - 1)
    }
}

/// A rank's list under construction.
struct Rank {
    flows: [Flow; 2],
    /// Weight gradients that have not run yet.
    weights: VecDeque<Op>,
    out: RankRow,
}

impl Rank {
    fn f(&mut self, flow: usize) {
        let op = self.flows[flow].f();
        self.out.push(op);
    }
    fn bw(&mut self, flow: usize) {
        let op = self.flows[flow].backward(Op::bw);
        self.out.push(op);
    }
    fn b(&mut self, flow: usize) {
        let op = self.flows[flow].backward(Op::b);
        self.weights.push_back(Op::w(op.stage, op.microbatch));
        self.out.push(op);
    }
    /// The next backward of a flow, `split` or whole.
    fn last(&mut self, flow: usize, split: bool) {
        if split {
            self.b(flow);
        } else {
            self.bw(flow);
        }
    }
    fn w(&mut self) {
        self.out.extend(self.weights.pop_front().map(OrderItem::from));
    }
    /// The forward and the backward of two flows as a block.
    fn paired(&mut self, forward: usize, backward: usize) -> OrderItem {
        let forward = self.flows[forward].f();
        OrderItem::Pair(forward, self.flows[backward].backward(Op::bw))
    }
    fn pair(&mut self, forward: usize, backward: usize) {
        let pair = self.paired(forward, backward);
        self.out.push(pair);
    }
    /// Adds the pairs of both flows in turn, `times` times.
    fn pairs(&mut self, times: u32) {
        if times > 0 {
            let body = [self.paired(0, 1), self.paired(1, 0)];
            self.out.repeat(body, times, 1);
            for flow in &mut self.flows {
                flow.forwards += times - 1;
                flow.backwards += times - 1;
            }
        }
    }
}

/// The eight steps of a rank. Needs n ≥ 2R − 1.
///
/// Source: DeepSeek, DualPipe, `dualpipe.py` and `dualpipev.py` (`step`).
fn rank(half: u32, i: u32, n: u32, flows: [Flow; 2]) -> RankRow {
    let mut rank = Rank { flows, weights: VecDeque::new(), out: RankRow::default() };
    let inner = half - i - 1;
    for _ in 0..2 * inner {
        rank.f(0);
    }
    for _ in 0..=i {
        rank.f(0);
        rank.f(1);
    }
    for _ in 0..inner {
        rank.b(1);
        rank.w();
        rank.f(1);
    }
    let mut turns = (n + i + 1).saturating_sub(2 * half);
    if inner == 0 && turns > 0 {
        rank.f(0);
        rank.bw(1);
        rank.pair(1, 0);
        turns -= 1;
    }
    rank.pairs(turns);
    for _ in 0..inner {
        rank.bw(1);
        rank.pair(1, 0);
    }
    // From the middle of these on only B: the W that are left over fill the end.
    let switch = i.div_ceil(2);
    let mut split = false;
    for turn in 0..=i {
        split |= turn == switch && !i.is_multiple_of(2);
        rank.last(1, split);
        split |= turn == switch && i.is_multiple_of(2);
        rank.last(0, split);
    }
    for _ in 0..inner {
        rank.w();
        rank.b(0);
    }
    for _ in 0..=i {
        rank.w();
    }
    rank.out
}

/// Both directions at once over p ranks, each of which holds two stages; direction 1 has micro-batches m/2 .. m − 1.
pub(crate) fn dualpipe(spec: &Spec) -> Result<Order, Issue> {
    let (p, m) = (spec.pp, spec.microbatches);
    if !p.is_multiple_of(2) {
        let message = t!("DualPipe needs an even PP; this is {p}", p);
        return Err(Issue::error("pp", message).with_near("pp", u64::from(p), spec.even_sizes()));
    }
    if !m.is_multiple_of(2) {
        let even = (m + 1).max(2 * p);
        let message = t!("DualPipe runs half the micro-batches in each direction: {m} is odd", m);
        return Err(Issue::error("microbatches", message).with_fix("microbatches", even));
    }
    enough(spec, m / 2, p)?;
    let (half, n) = (p / 2, m / 2);
    let ranks = each_rank(p, |r| {
        let direction = |d: u32| {
            if d == 0 { Flow::new(r, 0) } else { Flow::new(p - 1 - r, n) }
        };
        let out = u32::from(r >= half);
        rank(half, r.min(p - 1 - r), n, [direction(out), direction(1 - out)])
    });
    finish(spec, spec.order(ranks))
}

/// The V of p ranks with 2p stages: out on stage r, back on stage 2p − 1 − r.
pub(crate) fn dualpipev(spec: &Spec) -> Result<Order, Issue> {
    let (p, m) = (spec.pp, spec.microbatches);
    enough(spec, m, 2 * p)?;
    let ranks = each_rank(p, |r| rank(p, r, m, [Flow::new(r, 0), Flow::new(2 * p - 1 - r, 0)]));
    finish(spec, spec.order(ranks))
}

/// Refuses fewer than 2R − 1 micro-batches a flow, for which the eight steps do not add up.
fn enough(spec: &Spec, n: u32, twice_half: u32) -> Result<(), Issue> {
    if n + 1 >= twice_half {
        return Ok(());
    }
    Err(too_few(spec))
}

fn too_few(spec: &Spec) -> Issue {
    let needed = 2 * spec.pp;
    let message = t!(
        "{schedule} has no order for so few micro-batches, {microbatches}, on {pp} ranks",
        schedule = spec.schedule.name(),
        microbatches = spec.microbatches,
        pp = spec.pp
    );
    Issue::error("microbatches", message).with_fix("microbatches", needed)
}

/// Below the 2p of the published code an order is taken only if it runs.
fn finish(spec: &Spec, order: Order) -> Result<Order, Issue> {
    if spec.microbatches >= 2 * spec.pp || runs(&order) {
        return Ok(order);
    }
    Err(too_few(spec))
}

/// A warning of fewer than 2p micro-batches, which DeepSeek's and PyTorch's code refuse.
pub(crate) fn warn(spec: &Spec) -> Vec<Issue> {
    let needed = 2 * spec.pp;
    if spec.microbatches >= needed {
        return Vec::new();
    }
    let few = spec.microbatches;
    let message = if spec.schedule.placement == StagePlacement::Bidirectional {
        t!(
            "with {few} micro-batches few passes run in pairs, or none: DeepSeek's DualPipe asks for 2p = {needed}",
            few,
            needed
        )
    } else {
        t!(
            "with {few} micro-batches few passes run in pairs, or none: DeepSeek's DualPipeV and PyTorch's \
                ScheduleDualPipeV assert m ≥ 2p = {needed}",
            few,
            needed
        )
    };
    vec![Issue::warning("microbatches", message).with_fix("microbatches", needed)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Durations, build, schedule};

    #[test]
    fn too_few_micro_batches_are_rejected_with_a_number_that_works() {
        for (id, p, m) in [("dualpipe", 8, 8), ("dualpipev", 4, 4), ("dualpipe", 4, 5), ("dualpipe", 3, 8)] {
            let spec = Spec::new(schedule(id).unwrap(), p, m);
            let issue = build(&spec, &Durations::unit(2 * p)).unwrap_err();
            let (field, value) = issue.fix.unwrap().set.remove(0);
            let value = value.parse().unwrap();
            let mended = match field {
                "pp" => Spec { pp: value, ..spec },
                _ => Spec { microbatches: value, ..spec },
            };
            assert!(build(&mended, &Durations::unit(2 * p)).is_ok(), "{id} {p} {m}");
        }
    }
}
