//! The bound at the root: no op laid out.

use super::memo::Memo;
use super::problem::{Arc, Problem, Ticks};
use super::state::Layout;

/// The larger of the bounds from both ends.
#[must_use]
pub fn bound(problem: &Problem) -> Ticks {
    one_side(problem).max(one_side(&problem.reversed()))
}

fn one_side(problem: &Problem) -> Ticks {
    let (layout, mut memo) = (Layout::new(problem), Memo::new(problem));
    let (state, mut starts) = (layout.start(&mut memo), Vec::new());
    layout.earliest(&state, &mut starts);
    layout.merit(&state, &starts).bound
}

/// The arcs that memory makes, and the time of the loop that each closes.
#[must_use]
pub fn loops(problem: &Problem) -> Vec<(Arc, Ticks)> {
    let reach = problem.reach();
    let memory = problem.arcs.iter().filter(|arc| arc.offset > 0);
    let closed = memory.filter_map(|arc| {
        let there = reach[arc.to][arc.from].filter(|there| there.offset == 0)?;
        Some((*arc, there.distance + problem.chains[arc.from].ticks + arc.lag))
    });
    closed.collect()
}
