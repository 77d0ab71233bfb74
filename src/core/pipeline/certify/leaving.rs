//! An order of a step whose activations leave for the host, beside the bound of [`offload`](super::offload).
//!
//! Each rank has one stage and three machines: compute, the way out, and the way back, or one for both ways. Orders
//! are built by time: what can start does, in the sequence of a policy, and the shortest of all policies is kept.
//! Micro-batches run in order, so an order out of their sequence that ends earlier is not found; the bound holds for
//! it as well.

use super::offload::{OffloadRules, OffloadedStage, leaving_at_least};
use crate::pipeline::{Away, Op, OpKind, OrderItem, RankRow, Way};
use crate::sort::sort_by;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Kind of an op, where activations leave for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeavingPart {
    Forward,
    /// To the host.
    Out,
    /// From the host.
    Back,
    Backward,
    /// Gradients of the weights, where they are apart.
    Weight,
}

/// An op of a stage on a micro-batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeavingOp {
    pub stage: usize,
    pub microbatch: u32,
    pub part: LeavingPart,
    pub start: f64,
    pub end: f64,
}

/// An order with all its ops by their start.
#[derive(Clone, Debug, PartialEq)]
pub struct LeavingOrder {
    pub makespan: f64,
    pub ops: Vec<LeavingOp>,
}

impl LeavingOrder {
    /// Micro-batches that leave `stage`.
    pub fn leaving(&self, stage: usize) -> usize {
        self.ops.iter().filter(|op| op.stage == stage && op.part == LeavingPart::Out).count()
    }

    /// Ops of compute of `stage`, by their start.
    fn compute(&self, stage: usize) -> impl Iterator<Item = &LeavingOp> {
        let ways = [LeavingPart::Out, LeavingPart::Back];
        self.ops.iter().filter(move |op| op.stage == stage && !ways.contains(&op.part))
    }

    /// Rows of `ranks` ranks with one stage each.
    pub(crate) fn rows(&self, ranks: usize, is_split: bool) -> Vec<RankRow> {
        let item = |op: &LeavingOp| {
            let kind = match op.part {
                LeavingPart::Forward => OpKind::F,
                LeavingPart::Weight => OpKind::W,
                _ if is_split => OpKind::B,
                _ => OpKind::BW,
            };
            OrderItem::One(Op::new(kind, u32::try_from(op.stage).unwrap_or(u32::MAX), op.microbatch))
        };
        (0..ranks).map(|stage| self.compute(stage).map(item).collect()).collect()
    }

    /// The activations that leave the GPU, and the starts of the ops that wait for them to come back.
    pub(crate) fn away(&self, ranks: usize, is_split: bool) -> Away {
        let last = if is_split { LeavingPart::Weight } else { LeavingPart::Backward };
        let most = |stage: usize, takes: [Option<LeavingPart>; 2], frees: [Option<LeavingPart>; 2]| {
            let mut changes: Vec<(f64, i64)> = Vec::new();
            for op in self.ops.iter().filter(|op| op.stage == stage) {
                changes.extend(takes.contains(&Some(op.part)).then_some((op.start, 1)));
                changes.extend(frees.contains(&Some(op.part)).then_some((op.end, -1)));
            }
            // What ends when another begins is freed first.
            sort_by(&mut changes, |one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
            let mut held = 0;
            let peak = changes.into_iter().map(|(_, by)| {
                held += by;
                held
            });
            u32::try_from(peak.max().unwrap_or(0)).unwrap_or(0)
        };
        let (forward, out, back) = (LeavingPart::Forward, LeavingPart::Out, LeavingPart::Back);
        let way = |op: &LeavingOp| {
            let is_back = op.part == back;
            (is_back || op.part == out).then(|| Way {
                rank: u32::try_from(op.stage).unwrap_or(u32::MAX),
                microbatch: op.microbatch,
                is_back,
                start: op.start,
                end: op.end,
            })
        };
        Away {
            starts: (0..ranks).map(|stage| self.compute(stage).map(|op| op.start).collect()).collect(),
            ways: self.ops.iter().filter_map(way).collect(),
            held: (0..ranks).map(|stage| most(stage, [Some(forward), Some(back)], [Some(last), Some(out)])).collect(),
            on_host: (0..ranks).map(|stage| most(stage, [Some(out), None], [Some(back), None])).collect(),
        }
    }
}

/// How ready ops are chosen.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)] // independent choices
struct Policy {
    /// Quarters of the micro-batches that leave each stage; none: as many as the bound asks for.
    quarters: Option<u32>,
    /// True if the first micro-batches leave, not every k-th.
    first_leave: bool,
    forward_first: bool,
    /// Activations come back as soon as there is room, not when their backward pass is next.
    early_back: bool,
    /// Gradients of weights wait until nothing else can run.
    late_weight: bool,
}

/// All policies; of a backward pass in one piece those that differ.
fn policies(is_split: bool) -> impl Iterator<Item = Policy> {
    let quarters = [None, Some(0), Some(4), Some(2), Some(3), Some(1)];
    quarters.into_iter().flat_map(move |quarters| {
        (0..16_u32).filter(move |bits| is_split || bits & 8 == 0).map(move |bits| Policy {
            quarters,
            first_leave: bits & 1 > 0,
            forward_first: bits & 2 > 0,
            early_back: bits & 4 > 0,
            late_weight: bits & 8 > 0,
        })
    })
}

/// Most times that the policies of one search, taken together, may look at a stage.
const EFFORT: usize = 600_000;
/// Fewest policies that make a search worth its time.
const FEWEST: usize = 4;

/// The shortest order of all policies, of the first ones in a longer pipeline; none without stages, or for a pipeline
/// that is too long to be searched.
pub fn order_with_offload(stages: &[OffloadedStage], rules: OffloadRules) -> Option<LeavingOrder> {
    // Five ops a stage and micro-batch, each looked for at every stage.
    let each = stages.len() * stages.len() * usize::try_from(rules.microbatches).ok()? * 5;
    let most = EFFORT / each.max(1);
    if most < FEWEST {
        return None;
    }
    let orders = policies(rules.is_split).take(most).filter_map(|policy| Build::new(stages, rules, policy).run());
    orders.min_by(|one, other| one.makespan.total_cmp(&other.makespan))
}

/// Where the activations of a micro-batch are on its stage.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Not computed yet.
    None,
    /// On the GPU since, or from, this time.
    Here(f64),
    /// On the host from this time.
    Host(f64),
}

/// One stage of an order that is built.
#[derive(Debug)]
struct Machine {
    /// Started ops of each kind.
    forwards: usize,
    backwards: usize,
    weights: usize,
    /// Rooms that are free.
    rooms: u32,
    /// Times from which the machines are free.
    compute: f64,
    out: f64,
    back: f64,
    leaves: Vec<bool>,
    place: Vec<Place>,
    forward_end: Vec<f64>,
    backward_end: Vec<f64>,
}

struct Build<'s> {
    stages: &'s [OffloadedStage],
    rules: OffloadRules,
    policy: Policy,
    m: usize,
    machines: Vec<Machine>,
    /// Times at which something ends, as bits, which have the order of the times; and the stage that gets a room back.
    events: BinaryHeap<Reverse<(u64, Option<usize>)>>,
    ops: Vec<LeavingOp>,
    now: f64,
}

impl<'s> Build<'s> {
    fn new(stages: &'s [OffloadedStage], rules: OffloadRules, policy: Policy) -> Self {
        let m = usize::try_from(rules.microbatches).unwrap_or(0);
        let machine = |at: usize| {
            let count = match policy.quarters {
                Some(quarters) => (m * quarters as usize).div_ceil(4),
                None => usize::try_from(leaving_at_least(stages, at, rules)).unwrap_or(0),
            };
            let leaves = |k: usize| {
                if policy.first_leave { k < count } else { (k + 1) * count / m.max(1) > k * count / m.max(1) }
            };
            Machine {
                forwards: 0,
                backwards: 0,
                weights: 0,
                rooms: stages[at].room.max(1),
                compute: 0.0,
                out: 0.0,
                back: 0.0,
                leaves: (0..m).map(leaves).collect(),
                place: vec![Place::None; m],
                forward_end: vec![f64::INFINITY; m],
                backward_end: vec![f64::INFINITY; m],
            }
        };
        let machines = (0..stages.len()).map(machine).collect();
        Self { stages, rules, policy, m, machines, events: BinaryHeap::new(), ops: Vec::new(), now: 0.0 }
    }

    /// The order, if all ops came to run.
    fn run(mut self) -> Option<LeavingOrder> {
        loop {
            let mut starts = true;
            while starts {
                starts = false;
                for stage in 0..self.stages.len() {
                    starts |= self.start(stage);
                }
            }
            let Some(Reverse((bits, room))) = self.events.pop() else { break };
            self.now = f64::from_bits(bits).max(self.now);
            self.free(room);
            while let Some(Reverse((same, room))) = self.events.peek().copied()
                && same == bits
            {
                self.events.pop();
                self.free(room);
            }
        }
        let weights = |machine: &Machine| if self.rules.is_split { machine.weights } else { machine.backwards };
        let is_done = self.machines.iter().all(|machine| weights(machine) == self.m);
        let makespan = self.ops.iter().map(|op| op.end).fold(0.0, f64::max);
        (is_done && !self.ops.is_empty()).then_some(LeavingOrder { makespan, ops: self.ops })
    }

    fn free(&mut self, room: Option<usize>) {
        if let Some(stage) = room {
            self.machines[stage].rooms += 1;
        }
    }

    fn at(&mut self, time: f64, room: Option<usize>) {
        self.events.push(Reverse((time.to_bits(), room)));
    }

    fn op(&mut self, stage: usize, k: usize, part: LeavingPart, duration: f64) -> f64 {
        let (start, end) = (self.now, self.now + duration);
        let microbatch = u32::try_from(k).unwrap_or(u32::MAX);
        self.ops.push(LeavingOp { stage, microbatch, part, start, end });
        end
    }

    /// Starts one op of `stage`, if one can.
    fn start(&mut self, stage: usize) -> bool {
        let policy = self.policy;
        if policy.early_back && self.start_back(stage) || self.start_out(stage) {
            return true;
        }
        if self.machines[stage].compute <= self.now {
            let weight_first = self.rules.is_split && !policy.late_weight;
            if weight_first && self.start_weight(stage) {
                return true;
            }
            let passes: [fn(&mut Self, usize) -> bool; 2] = if policy.forward_first {
                [Self::start_forward, Self::start_backward]
            } else {
                [Self::start_backward, Self::start_forward]
            };
            if passes.into_iter().any(|start| start(self, stage)) || self.rules.is_split && self.start_weight(stage) {
                return true;
            }
        }
        !policy.early_back && self.start_back(stage)
    }

    fn start_forward(&mut self, stage: usize) -> bool {
        let k = self.machines[stage].forwards;
        if k >= self.m || stage > 0 && self.machines[stage - 1].forward_end[k] + self.rules.lag > self.now {
            return false;
        }
        let machine = &self.machines[stage];
        // One that stays would take the last room from those that have to come back for an earlier backward pass.
        let is_awaited = || (machine.backwards..k).any(|before| matches!(machine.place[before], Place::Host(_)));
        if machine.rooms == 0 || machine.rooms == 1 && !machine.leaves[k] && is_awaited() {
            return false;
        }
        let end = self.op(stage, k, LeavingPart::Forward, self.stages[stage].forward);
        let machine = &mut self.machines[stage];
        machine.forwards += 1;
        machine.rooms -= 1;
        machine.compute = end;
        machine.forward_end[k] = end;
        machine.place[k] = Place::Here(end);
        self.at(end, None);
        self.at(end + self.rules.lag, None);
        true
    }

    /// True if the gradients that the backward pass of `k` begins from are there at `time`.
    fn has_gradients(&self, stage: usize, k: usize, time: f64) -> bool {
        let behind = self.machines.get(stage + 1);
        self.machines[stage].forward_end[k] <= time
            && behind.is_none_or(|behind| behind.backward_end[k] + self.rules.lag <= time)
    }

    fn start_backward(&mut self, stage: usize) -> bool {
        let k = self.machines[stage].backwards;
        if k >= self.m || !self.has_gradients(stage, k, self.now) {
            return false;
        }
        if !matches!(self.machines[stage].place[k], Place::Here(from) if from <= self.now) {
            return false;
        }
        let end = self.op(stage, k, LeavingPart::Backward, self.stages[stage].backward);
        let machine = &mut self.machines[stage];
        machine.backwards += 1;
        machine.compute = end;
        machine.backward_end[k] = end;
        // What has not left until now stays.
        machine.leaves[k] = false;
        self.at(end, (!self.rules.is_split).then_some(stage));
        self.at(end + self.rules.lag, None);
        if let Some(before) = stage.checked_sub(1) {
            // The moment at which the stage in front begins to bring its activations back.
            let back = self.stages[before].back;
            self.at((end + self.rules.lag - back).max(self.now), None);
        }
        true
    }

    fn start_weight(&mut self, stage: usize) -> bool {
        let machine = &self.machines[stage];
        let k = machine.weights;
        if k >= machine.backwards || machine.backward_end[k] > self.now {
            return false;
        }
        let end = self.op(stage, k, LeavingPart::Weight, self.stages[stage].weight);
        let machine = &mut self.machines[stage];
        machine.weights += 1;
        machine.compute = end;
        self.at(end, Some(stage));
        true
    }

    fn start_out(&mut self, stage: usize) -> bool {
        let machine = &self.machines[stage];
        if machine.out > self.now {
            return false;
        }
        // Those that are to leave and have not, in order.
        let ready = |k: &usize| {
            machine.leaves[*k] && matches!(machine.place[*k], Place::Here(_)) && machine.forward_end[*k] <= self.now
        };
        let Some(k) = (machine.backwards..machine.forwards).find(ready) else { return false };
        if self.has_gradients(stage, k, self.now) {
            self.machines[stage].leaves[k] = false;
            return true;
        }
        let end = self.op(stage, k, LeavingPart::Out, self.stages[stage].out);
        let machine = &mut self.machines[stage];
        machine.out = end;
        if self.rules.is_shared {
            machine.back = end;
        }
        machine.leaves[k] = false;
        machine.place[k] = Place::Host(end);
        self.at(end, Some(stage));
        true
    }

    fn start_back(&mut self, stage: usize) -> bool {
        let machine = &self.machines[stage];
        if machine.back > self.now || machine.rooms == 0 {
            return false;
        }
        let on_host = |k: &usize| matches!(machine.place[*k], Place::Host(_));
        let Some(k) = (machine.backwards..machine.forwards).find(on_host) else { return false };
        // Whatever comes before it in order is here or comes first.
        let is_there = matches!(machine.place[k], Place::Host(from) if from <= self.now);
        let waits = (machine.backwards..k).any(|before| machine.leaves[before]);
        let back = self.stages[stage].back;
        let is_next = self.has_gradients(stage, k, self.now + back);
        if !is_there || waits || !(self.policy.early_back || is_next || machine.forwards == self.m) {
            return false;
        }
        let end = self.op(stage, k, LeavingPart::Back, back);
        let machine = &mut self.machines[stage];
        machine.back = end;
        if self.rules.is_shared {
            machine.out = end;
        }
        machine.rooms -= 1;
        machine.place[k] = Place::Here(end);
        self.at(end, None);
        true
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::offload::least_with_offload;
    use super::*;
    use crate::table::Table;

    /// A pipeline with its optimum and the bound of another program.
    pub(crate) type OffloadCase = (Vec<OffloadedStage>, OffloadRules, f64, f64);

    /// 3,189 small pipelines that another program solved by exhaustive search over all orders and all choices of what
    /// leaves.
    pub(crate) fn cases() -> Vec<OffloadCase> {
        let table = Table::read(include_str!("../../../../tests/data/layouts/offload_cases.csv"));
        let case = |line: crate::table::Line<'_>| {
            let number = |column: &str| line.number(column).unwrap();
            let count = |value: f64| u32::try_from(crate::units::whole(value).unwrap()).unwrap();
            let list = |column: &str| -> Vec<f64> {
                line.text(column).split(' ').map(|value| value.parse().unwrap()).collect()
            };
            let [forward, backward, weight, out, back, room] = ["f", "b", "w", "o", "l", "cap"].map(list);
            let stage = |at: usize| OffloadedStage {
                forward: forward[at],
                backward: backward[at],
                weight: weight[at],
                out: out[at],
                back: back[at],
                room: count(room[at]),
            };
            let rules = OffloadRules {
                microbatches: count(number("m")),
                lag: number("lag"),
                is_split: number("split") > 0.0,
                is_shared: number("shared_link") > 0.0,
            };
            ((0..forward.len()).map(stage).collect(), rules, number("optimum"), number("bound"))
        };
        table.lines().map(case).collect()
    }

    /// The bound is never above an optimum, and as that program computed it.
    #[test]
    fn no_bound_is_above_an_optimum() {
        let (mut exact, mut count, mut gaps) = (0, 0, 0.0);
        for (stages, rules, optimum, theirs) in cases() {
            let ours = least_with_offload(&stages, rules);
            assert!(ours <= optimum + 1e-9, "{ours} above {optimum}: {stages:?} {rules:?}");
            assert!((ours.ceil() - theirs.ceil()).abs() < 1e-9, "{ours} {theirs}: {stages:?} {rules:?}");
            exact += u32::from(optimum - ours.ceil() <= 1.0);
            gaps += 1.0 - ours / optimum;
            count += 1;
        }
        println!("{count} cases, {exact} within a tick, mean gap {}", gaps / f64::from(count));
        assert_eq!(count, 3189);
        assert!(exact > 2600 && gaps / f64::from(count) < 0.02);
    }

    /// Everything that an order has to keep, by its ops alone.
    fn assert_legal(stages: &[OffloadedStage], rules: OffloadRules, order: &LeavingOrder) {
        let find = |stage: usize, k: u32, part| {
            order.ops.iter().find(|op| (op.stage, op.microbatch, op.part) == (stage, k, part))
        };
        let near = 1e-9;
        for (at, stage) in stages.iter().enumerate() {
            let mut changes = Vec::new();
            for k in 0..rules.microbatches {
                let forward = find(at, k, LeavingPart::Forward).unwrap();
                let backward = find(at, k, LeavingPart::Backward).unwrap();
                let last = if rules.is_split { find(at, k, LeavingPart::Weight).unwrap() } else { backward };
                assert!(backward.start >= forward.end - near && last.start >= backward.start - near);
                assert!((forward.end - forward.start - stage.forward).abs() < near);
                assert!((backward.end - backward.start - stage.backward).abs() < near);
                if at > 0 {
                    assert!(forward.start >= find(at - 1, k, LeavingPart::Forward).unwrap().end + rules.lag - near);
                }
                if at + 1 < stages.len() {
                    assert!(backward.start >= find(at + 1, k, LeavingPart::Backward).unwrap().end + rules.lag - near);
                }
                if let Some(out) = find(at, k, LeavingPart::Out) {
                    let back = find(at, k, LeavingPart::Back).unwrap();
                    assert!(out.start >= forward.end - near && back.start >= out.end - near);
                    assert!(backward.start >= back.end - near);
                    changes.extend([(forward.start, 1), (out.end, -1), (back.start, 1), (last.end, -1)]);
                } else {
                    changes.extend([(forward.start, 1), (last.end, -1)]);
                }
            }
            changes.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
            let mut held = 0;
            for (_, change) in changes {
                held += change;
                assert!(held <= i64::from(stage.room), "{held} held: {stages:?} {rules:?}");
            }
            let machine = |part| match part {
                LeavingPart::Out => 1,
                LeavingPart::Back => 2 - i32::from(rules.is_shared),
                _ => 0,
            };
            for which in 0..3 {
                let mut spans: Vec<_> =
                    order.ops.iter().filter(|op| op.stage == at && machine(op.part) == which).collect();
                spans.sort_by(|one, other| one.start.total_cmp(&other.start));
                assert!(spans.windows(2).all(|pair| pair[1].start >= pair[0].end - near));
            }
        }
    }

    /// 3,189 small pipelines whose optimum another program found: every order is legal, none ends before the optimum,
    /// and nearly all end with it.
    #[test]
    fn orders_are_legal_and_near_the_optimum() {
        let (mut count, mut exact, mut over) = (0, 0, 0.0);
        for (stages, rules, optimum, _) in cases() {
            let order = order_with_offload(&stages, rules).unwrap_or_else(|| panic!("{stages:?} {rules:?}"));
            assert_legal(&stages, rules, &order);
            assert!(order.makespan >= optimum - 1e-9, "{} before {optimum}: {stages:?} {rules:?}", order.makespan);
            assert!(order.makespan >= least_with_offload(&stages, rules) - 1e-9);
            count += 1;
            exact += u32::from(order.makespan <= optimum + 1e-9);
            over += order.makespan / optimum - 1.0;
        }
        println!("{count} pipelines, {exact} at the optimum, {:.4} over it on average", over / f64::from(count));
        assert!(count == 3189 && exact >= 3138 && over / f64::from(count) < 1e-3);
    }

    /// 10,000 random pipelines of up to 3 stages and 6 micro-batches: every order is legal, and the bound is at most
    /// its makespan.
    #[test]
    fn no_bound_is_above_a_legal_order() {
        let mut state = 52_u64;
        let mut draw = |from: u32, to: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            f64::from(from + u32::try_from(state >> 33).unwrap() % (to - from + 1))
        };
        let mut equal = 0;
        for case in 0..10_000 {
            let is_split = draw(0, 1) > 0.0;
            let stage = |draw: &mut dyn FnMut(u32, u32) -> f64| OffloadedStage {
                forward: draw(1, 4),
                backward: draw(1, 5),
                weight: if is_split { draw(1, 3) } else { 0.0 },
                out: draw(1, 6),
                back: draw(1, 6),
                room: [1, 2, 3, 4][case % 4],
            };
            let count = 1 + case % 3;
            let stages: Vec<OffloadedStage> = (0..count).map(|_| stage(&mut draw)).collect();
            let microbatches = 1 + u32::try_from(case / 3 % 6).unwrap();
            let rules = OffloadRules { microbatches, lag: draw(0, 1), is_split, is_shared: draw(0, 4) < 2.0 };
            let order = order_with_offload(&stages, rules).unwrap_or_else(|| panic!("{stages:?} {rules:?}"));
            assert_legal(&stages, rules, &order);
            let bound = least_with_offload(&stages, rules);
            assert!(bound <= order.makespan + 1e-9, "{bound} above {}: {stages:?} {rules:?}", order.makespan);
            equal += u32::from(bound.ceil() >= order.makespan - 1e-9);
        }
        println!("the bound is the order's in {equal} of 10,000");
        assert!(equal > 5000);
    }

    /// 1F1B needs room for p micro-batches on the first stage of p; with a fast link less room is as fast.
    #[test]
    fn a_fast_link_makes_little_room_enough() {
        let stage = |way: f64, room: u32| OffloadedStage {
            forward: 1.0,
            backward: 2.0,
            weight: 0.0,
            out: way,
            back: way,
            room,
        };
        let rules = OffloadRules { microbatches: 16, lag: 0.0, is_split: false, is_shared: false };
        let of = |way: f64, room: u32| order_with_offload(&[stage(way, room); 4], rules).unwrap();
        assert!((of(1e6, 4).makespan - 57.0).abs() < 1e-9, "{}", of(1e6, 4).makespan);
        let (slow, fast) = (of(1e6, 2), of(0.1, 2));
        assert!(fast.makespan < 0.8 * slow.makespan, "{} {}", fast.makespan, slow.makespan);
        assert!(fast.leaving(0) > 0 && slow.leaving(0) == 0);
    }
}
