//! Distance of an order from the best one of the same stages under the same memory.

use super::modulo::periodic;
use super::problem::{Problem, Ticks};
use super::root::{bound, loops};
use super::search::OrderSearch;
use super::stages::{StepStages, TickScale};
use crate::message::Message;
use crate::pipeline::{Durations, Order, simulate, time};
use serde::{Deserialize, Serialize};

/// A lower bound this close to a makespan, as a share of it, proves the order optimal: rounding to ticks is ten times
/// finer.
pub const OPTIMAL: f64 = 1e-4;

/// States after which a certificate begins nothing new.
pub const WORK: u64 = 130_000;

/// Ops of a step that are searched; of more the bound alone is given.
pub const MOST_OPS: usize = 12_000;

/// The bound that holds a step back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// A rank works all the time from its first op on.
    Work,
    /// The round trip of the activations that a rank can hold.
    Memory,
    Both,
}

/// The bound that binds, with its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Binding {
    pub bound: Bound,
    /// The rank with the most work, and its work for one micro-batch.
    pub work_rank: usize,
    /// Seconds that the rank works for a micro-batch.
    pub work_s: f64,
    /// The rank whose round trip is longest for what it holds; none where no memory is short.
    pub memory_rank: Option<usize>,
    /// Micro-batches whose activations that rank has room for, of one of its stages.
    pub microbatches: Option<u32>,
    /// Seconds from the start of a forward to the end of what frees it, at least.
    pub round_trip_s: Option<f64>,
}

/// Proof about an order: no order of the same stage times whose ranks hold at most as much ends earlier than
/// `lower_bound_s`. Transfers are a latency without contention; the times are taken as exact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// No order takes less, seconds.
    pub lower_bound_s: f64,
    /// Makespan over the bound, less 1.
    pub gap: f64,
    /// The order is optimal: the gap is below one in 10,000.
    pub proven: bool,
    /// The bound that binds.
    pub binding: Binding,
    /// Makespan of the best order that was found under the same memory, seconds.
    pub best_s: f64,
    /// Activations (chunks) that each rank may hold: what the order itself holds at most.
    pub memory_limit: Vec<u32>,
    /// Chunks of a rank; a micro-batch of a rank is as many activations.
    pub chunks: u32,
    /// The backward is one op.
    pub whole_backward: bool,
    /// Lower bound with one activation more on every rank, seconds.
    pub one_more_s: f64,
    /// Lower bound whatever the ranks hold, seconds.
    pub unlimited_s: f64,
    /// States that the search generated.
    pub states: u64,
    /// The gap is open because the search ended at its limit of work.
    pub stopped: bool,
}

/// A certificate in the making: a bound at once, a better one while it works.
#[derive(Clone, Debug)]
pub struct Proof {
    stages: StepStages,
    order: Order,
    durations: Durations,
    makespan: f64,
    problem: Problem,
    scale: TickScale,
    root: f64,
    search: Option<OrderSearch>,
}

impl Proof {
    /// Begins with the bounds that need no search.
    ///
    /// # Errors
    /// Why such an order has no certificate.
    pub fn new(order: &Order, durations: &Durations) -> Result<Self, Message> {
        let stages = StepStages::of_order(order, durations)?;
        let makespan = time(order, durations).map_err(|fault| fault.message())?.makespan();
        let (problem, scale) = stages.problem();
        let root = scale.seconds(bound(&problem));
        let mut search = None;
        if problem.ops() <= MOST_OPS && makespan > root * (1.0 + OPTIMAL) {
            let timeline = simulate(order, durations).map_err(|fault| fault.message())?;
            let mut begun = OrderSearch::new(&problem, WORK);
            begun.start_from(stages.chains_of(&timeline));
            if let Some(chains) = periodic(&stages) {
                begun.start_from(chains);
            }
            search = Some(begun);
        }
        Ok(Self { stages, order: order.clone(), durations: durations.clone(), makespan, problem, scale, root, search })
    }

    /// Begins from another order of the same stages, too, where its ranks hold no more.
    pub fn start_from(&mut self, order: &Order) {
        let Some(search) = &mut self.search else { return };
        let is_alike = |other: StepStages| other.home == self.stages.home && other.whole == self.stages.whole;
        if StepStages::of_order(order, &self.durations).is_ok_and(is_alike)
            && let Ok(timeline) = simulate(order, &self.durations)
        {
            search.start_from(self.stages.chains_of(&timeline));
        }
    }

    /// Works on; true once there is no more to prove.
    pub fn step(&mut self) -> bool {
        self.search.as_mut().is_none_or(|search| search.step() || self.root >= self.makespan)
    }

    /// Proof so far.
    pub fn certificate(&self) -> Certificate {
        let found = self.search.as_ref().map(|search| self.scale.seconds(search.lower));
        // The bound is of times rounded down: it exceeds the makespan by the last digit of a sum at most.
        let lower = found.unwrap_or(0.0).max(self.root).min(self.makespan);
        let gap = if lower > 0.0 { self.makespan / lower - 1.0 } else { 0.0 };
        let proven = gap < OPTIMAL;
        let unlimited = unlimited(&self.stages).min(lower);
        Certificate {
            lower_bound_s: lower,
            gap,
            proven,
            binding: binding(&self.stages, &self.problem, self.scale, lower, unlimited),
            unlimited_s: unlimited,
            best_s: self.best().unwrap_or(self.makespan).min(self.makespan),
            one_more_s: one_more(&self.stages).min(lower),
            memory_limit: self.stages.room.clone(),
            chunks: self.order.chunks_per_rank() * self.order.splits,
            whole_backward: self.stages.whole,
            states: self.search.as_ref().map_or(0, |search| search.children),
            stopped: !proven && self.search.as_ref().is_none_or(|search| !search.is_closed()),
        }
    }

    /// Makespan of the best order that the search found, under the true times.
    fn best(&self) -> Option<f64> {
        let (_, chains) = self.search.as_ref()?.best.as_ref()?;
        let order =
            Order::new(self.stages.rows(chains), self.order.stages, self.order.placement, self.order.microbatches);
        time(&order, &self.durations).ok().map(|spans| spans.makespan())
    }
}

impl Certificate {
    /// The certificate of `order`.
    ///
    /// # Errors
    /// Why such an order has none.
    pub fn of(order: &Order, durations: &Durations) -> Result<Self, Message> {
        let mut proof = Proof::new(order, durations)?;
        while !proof.step() {}
        Ok(proof.certificate())
    }
}

/// The bound with room for one activation more on every rank.
fn one_more(stages: &StepStages) -> f64 {
    with_room(stages, |room| room + 1)
}

/// The bound with room for all activations on every rank.
fn unlimited(stages: &StepStages) -> f64 {
    with_room(stages, |_| u32::MAX)
}

fn with_room(stages: &StepStages, room: impl Fn(&u32) -> u32) -> f64 {
    let room = stages.room.iter().map(room).collect();
    let (problem, scale) = StepStages { room, ..stages.clone() }.problem();
    scale.seconds(bound(&problem))
}

/// Work or memory, if it alone explains a bound of `lower` seconds; `unlimited` is the bound of work alone.
fn binding(stages: &StepStages, problem: &Problem, scale: TickScale, lower: f64, unlimited: f64) -> Binding {
    let ranks = stages.ranks();
    let kinds = stages.kinds();
    let mut work = vec![0; ranks];
    for chain in &problem.chains {
        work[chain.rank] += chain.ticks;
    }
    let work_rank = (0..ranks).max_by_key(|rank| (work[*rank], ranks - rank)).unwrap_or(0);
    let tightest = loops(problem).into_iter().max_by_key(|(arc, round)| {
        // The quotient to ten bits.
        (round << 10) / Ticks::from(arc.offset)
    });
    let memory = tightest.map_or(0.0, |(arc, round)| {
        let reach = problem.reach();
        let head = reach[0][arc.to].map_or(0, |reach| reach.distance);
        let times = stages.microbatches.div_ceil(arc.offset);
        scale.seconds(head + Ticks::from(times) * round)
    });
    let close = |part: f64| part >= lower * 0.995;
    let which = if close(unlimited) {
        Bound::Work
    } else if close(memory) {
        Bound::Memory
    } else {
        Bound::Both
    };
    let stage = |chain: usize| chain / kinds;
    Binding {
        bound: which,
        work_rank,
        work_s: scale.seconds(work[work_rank]),
        memory_rank: tightest.map(|(arc, _)| stages.home[stage(arc.to)]),
        microbatches: tightest.map(|(arc, _)| arc.offset),
        round_trip_s: tightest.map(|(_, round)| scale.seconds(round)),
    }
}
