//! The bound at the root: no op laid out.

use super::memo::Memo;
use super::problem::{Arc, Problem, Ticks};
use super::state::SearchProblem;
use super::tails::Tails;
use std::collections::BinaryHeap;

/// The largest of the bounds that need no search.
pub fn bound(problem: &Problem) -> Ticks {
    both_sides(problem).1
}

/// The layouts of a problem and of its mirror image, and their bound: of no op laid out from either end, and of every
/// rank with the heads and tails of its ops. Shared room adds what its activations need of memory times time.
pub fn both_sides(problem: &Problem) -> ([SearchProblem; 2], Ticks) {
    let layouts = [SearchProblem::new(problem), SearchProblem::new(&problem.reversed())];
    let mut bound = 0;
    for layout in &layouts {
        let mut memo = Memo::new(layout.problem());
        let state = layout.start(&mut memo);
        bound = bound.max(layout.merit(&state).bound);
    }
    let heads = heads(&layouts[1].tails);
    for chains in problem.chains_by_rank() {
        let mut ops: Vec<Job> = Vec::new();
        for chain in chains {
            let duration = problem.chains[chain].ticks;
            let times = heads[chain].iter().zip(&layouts[0].tails.tau[chain]);
            ops.extend(times.map(|(head, tau)| Job { head: *head, duration, tail: tau - duration }));
        }
        bound = bound.max(preemptive(ops));
    }
    (layouts, bound)
}

/// Least starts of ops in any schedule: the tails of the reversed problem, read backwards.
fn heads(back: &Tails) -> Vec<Vec<Ticks>> {
    let chains = back.tau.iter().zip(back.durations());
    chains.map(|(tau, duration)| tau.iter().rev().map(|tau| tau - duration).collect()).collect()
}

/// An op of one rank: when it may start, and what follows it.
#[derive(Clone, Copy, Debug)]
struct Job {
    head: Ticks,
    duration: Ticks,
    tail: Ticks,
}

/// Least end of everything where one rank may interrupt its ops: always the longest tail of those that may run
/// (Jackson's preemptive schedule, optimal for one machine with heads and tails; Carlier and Pinson 1989). No schedule
/// ends earlier.
fn preemptive(mut ops: Vec<Job>) -> Ticks {
    crate::sort::sort_by(&mut ops, |one, other| one.head.cmp(&other.head));
    let (mut waiting, mut now, mut longest) = (BinaryHeap::new(), 0, 0);
    let mut next = ops.into_iter().peekable();
    loop {
        if waiting.is_empty() {
            match next.peek() {
                Some(op) => now = now.max(op.head),
                None => return longest,
            }
        }
        while let Some(op) = next.next_if(|op| op.head <= now) {
            waiting.push((op.tail, op.duration));
        }
        if let Some((tail, left)) = waiting.pop() {
            let until = next.peek().map_or(Ticks::MAX, |op| op.head);
            let run = left.min(until - now);
            now += run;
            if run < left {
                waiting.push((tail, left - run));
            } else {
                longest = longest.max(now + tail);
            }
        }
    }
}

/// The arcs that memory makes, and the time of the loop that each closes.
pub fn loops(problem: &Problem) -> Vec<(Arc, Ticks)> {
    let reach = problem.reach();
    let memory = problem.arcs.iter().filter(|arc| arc.offset > 0);
    let closed = memory.filter_map(|arc| {
        let there = reach[arc.to][arc.from].filter(|there| there.offset == 0)?;
        Some((*arc, there.distance + problem.chains[arc.from].ticks + arc.lag))
    });
    closed.collect()
}
