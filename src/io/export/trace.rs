//! The timeline as a Chrome trace, which Perfetto and Chrome's own viewer open: a thread a rank, an arrow for each
//! result that crosses ranks, a counter of the activations that a rank holds.
//!
//! Written by hand: times are microseconds to the nanosecond, names hold nothing that needs escaping.

use shardscope_core::pipeline::trace::OpPlace;
use shardscope_core::pipeline::{Half, TimedOp, Trace, stats};
use shardscope_core::report::Evaluation;
use shardscope_core::run::OneOf;
use std::fmt::Write;

/// A trace of more ops than this has no arrows: viewers become slow with more.
const MAX_ARROWS: usize = 100_000;

pub fn chrome_trace(evaluation: &Evaluation) -> String {
    let (order, timeline) = (&evaluation.order, evaluation.timeline());
    let trace = Trace::new(order, timeline, evaluation.durations.p2p);
    let mut events = Events::new(&format!(
        "{} on {} pipeline ranks",
        evaluation.report.pipeline.schedule.id(),
        timeline.ranks.len()
    ));
    let arrows = timeline.ranks.iter().map(Vec::len).sum::<usize>() <= MAX_ARROWS;
    for (rank, ops) in timeline.ranks.iter().enumerate() {
        events.name("thread_name", rank, &format!("rank {rank}"));
        for op in ops {
            events.op(rank, op);
            if !arrows {
                continue;
            }
            for place in trace.made_by(op.op).filter(|place| place.rank != rank) {
                if let Some(made) = trace.get(place) {
                    events.arrow((place, &made), (rank, op));
                }
            }
        }
        for (time, held) in stats::in_flight_curve(ops) {
            events.count(rank, time, held);
        }
    }
    events.end()
}

fn microseconds(seconds: f64) -> String {
    format!("{:.3}", seconds * 1e6)
}

struct Events {
    out: String,
    arrows: u64,
}

impl Events {
    fn new(name: &str) -> Self {
        let mut events = Self { out: String::from("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"), arrows: 0 };
        events.name("process_name", 0, name);
        events
    }
    /// Writing to a String cannot fail.
    fn add(&mut self, event: std::fmt::Arguments) {
        let _ = writeln!(self.out, "{{\"pid\":0,{event}}},");
    }
    fn name(&mut self, what: &str, rank: usize, name: &str) {
        self.add(format_args!("\"ph\":\"M\",\"tid\":{rank},\"name\":\"{what}\",\"args\":{{\"name\":\"{name}\"}}"));
    }
    fn op(&mut self, rank: usize, timed: &TimedOp) {
        let (op, overlapped) = (timed.op, timed.half != Half::Whole);
        let (start, length) = (microseconds(timed.start), microseconds(timed.end - timed.start));
        self.add(format_args!(
            "\"ph\":\"X\",\"tid\":{rank},\"ts\":{start},\"dur\":{length},\"name\":\"{op}\",\"cat\":\"{}\",\
                \"args\":{{\"stage\":{},\"microbatch\":{},\"overlapped\":{overlapped}}}",
            op.kind.letters(),
            op.stage,
            op.microbatch
        ));
    }
    /// From inside the op that makes a result to the start of the one that waits for it.
    fn arrow(&mut self, (from, made): (OpPlace, &TimedOp), (rank, waits): (usize, &TimedOp)) {
        let id = self.arrows;
        self.arrows += 1;
        let leaves = microseconds(made.start + (made.end - made.start) * 0.999);
        let arrives = microseconds(waits.start);
        self.add(format_args!(
            "\"ph\":\"s\",\"tid\":{},\"ts\":{leaves},\"id\":{id},\"name\":\"p2p\",\"cat\":\"p2p\"",
            from.rank
        ));
        self.add(format_args!(
            "\"ph\":\"f\",\"bp\":\"e\",\"tid\":{rank},\"ts\":{arrives},\"id\":{id},\"name\":\"p2p\",\"cat\":\"p2p\""
        ));
    }
    fn count(&mut self, rank: usize, time: f64, held: u32) {
        let time = microseconds(time);
        self.add(format_args!(
            "\"ph\":\"C\",\"tid\":{rank},\"ts\":{time},\"name\":\"in flight, rank {rank}\",\"args\":{{\"held\":{held}}}"
        ));
    }
    fn end(mut self) -> String {
        self.out.truncate(self.out.trim_end().trim_end_matches(',').len());
        self.out.push_str("\n]}\n");
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use shardscope_core::report::{evaluate, with_schedule};
    use shardscope_core::run::Run;
    use std::collections::BTreeMap;

    fn events(id: &str) -> (Evaluation, Vec<Value>) {
        let run = Run::default();
        let evaluation = evaluate(&run.with_texts(&with_schedule(&run, id)).unwrap()).unwrap();
        let json: Value = serde_json::from_str(&chrome_trace(&evaluation)).unwrap();
        let events = json["traceEvents"].as_array().unwrap().clone();
        (evaluation, events)
    }

    fn of<'a>(events: &'a [Value], ph: &'a str) -> impl Iterator<Item = &'a Value> {
        events.iter().filter(move |event| event["ph"] == ph)
    }

    #[test]
    fn every_op_is_a_slice_with_its_times() {
        let (evaluation, events) = events("zb-h1");
        let mut slices = of(&events, "X");
        for (rank, ops) in evaluation.timeline().ranks.iter().enumerate() {
            for op in ops {
                let slice = slices.next().unwrap();
                assert_eq!(slice["tid"], rank);
                assert_eq!(slice["name"], op.op.to_string());
                assert!((slice["ts"].as_f64().unwrap() - op.start * 1e6).abs() < 1e-3);
            }
        }
        assert!(slices.next().is_none());
    }

    /// 2 (p − 1) results cross ranks for each micro-batch of 1F1B, 2 (2p − 2) in a V of two chunks; an arrow ends
    /// no earlier than it begins.
    #[test]
    fn an_arrow_stands_for_each_message() {
        for (id, messages) in [("1f1b", 6), ("zb-v", 12), ("dualpipev", 12)] {
            let (_, events) = events(id);
            let mut starts = BTreeMap::new();
            for event in of(&events, "s") {
                starts.insert(event["id"].as_u64().unwrap(), event["ts"].as_f64().unwrap());
            }
            assert_eq!(starts.len(), messages * 32, "{id}");
            for event in of(&events, "f") {
                assert!(event["ts"].as_f64().unwrap() >= starts[&event["id"].as_u64().unwrap()]);
            }
        }
    }

    #[test]
    fn the_counter_ends_at_zero_and_peaks_where_the_report_says() {
        let (evaluation, events) = events("v-half");
        for (rank, peak) in evaluation.report.pipeline.peak_in_flight.iter().enumerate() {
            let held: Vec<u64> = of(&events, "C")
                .filter(|event| event["tid"] == rank)
                .map(|event| event["args"]["held"].as_u64().unwrap())
                .collect();
            assert_eq!(held.iter().max(), Some(&u64::from(*peak)));
            assert_eq!(held.last(), Some(&0));
        }
    }
}
