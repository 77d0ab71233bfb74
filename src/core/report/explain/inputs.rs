//! Terms that several formulas have as inputs.

use super::super::Evaluation;
use crate::explain::{Provenance, Quantity, Term, Unit, Written};
use crate::message::Message;
use crate::pipeline::steady::{slowest_cycle, totals};
use crate::t;

/// A time read off the simulated schedule.
pub fn simulated(symbol: &'static str, name: impl Into<Message>, value: f64) -> Term {
    seconds(symbol, name, value).marked(Provenance::Simulated)
}

pub fn count(symbol: &'static str, name: impl Into<Message>, value: f64) -> Term {
    Term::given(symbol, name, value, Unit::Count)
}

pub fn ratio(symbol: &'static str, name: impl Into<Message>, value: f64) -> Term {
    Term::given(symbol, name, value, Unit::Ratio)
}

/// A time as an input.
pub fn seconds(symbol: &'static str, name: impl Into<Message>, value: f64) -> Term {
    Term::given(symbol, name, value, Unit::Seconds)
}

/// Time of a step's pipeline: read off the simulation, or the pace of a steady state.
pub fn makespan(evaluation: &Evaluation) -> Term {
    let (pipeline, durations) = (&evaluation.report.pipeline, &evaluation.durations);
    let length = pipeline.makespan_s.0;
    if pipeline.fill_s.is_none() {
        return simulated("M", "first start to last end of the pipeline", length);
    }
    let name = "one step after the other, once the pipeline is full";
    if durations.microbatch_scale.is_some() {
        return simulated("M", name, length);
    }
    let work = totals(durations);
    let cycle = slowest_cycle(&work, durations.p2p);
    let ranks = cycle.ranks.clone();
    let over: f64 = work[ranks.clone()].iter().sum();
    let label = match ranks.len() {
        1 => t!("work of rank {start} on a micro-batch", start = ranks.start),
        _ => t!("work of ranks {start} to {end} on a micro-batch", start = ranks.start, end = ranks.end - 1),
    };
    let parts = [
        seconds("W", label, over),
        count("n", "ranks of the cycle", ranks.len() as f64),
        seconds("l", "a message between ranks", durations.p2p),
    ];
    let pace = "slowest cycle of ranks and messages, a micro-batch";
    let pace = Term::made("P", pace, Unit::Seconds, parts, |[work, ranks, message]| {
        (work + (ranks - Written::number(1.0)) * message * 2.0) / ranks
    });
    let microbatches = count("m", "micro-batches", evaluation.report.layout.microbatches as f64);
    Term::made("M", name, Unit::Seconds, [microbatches, pace], |[microbatches, pace]| microbatches * pace)
}
