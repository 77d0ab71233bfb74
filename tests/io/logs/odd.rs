//! Logs that hold no one step: of two runs in turn, of impossible times, of one value; and their peaks beside the
//! estimate.

use super::around::iteration;
use super::{near, reading};
use shardscope::core::report::report;
use shardscope::core::run::Run;
use shardscope::io::logs::read;
use shardscope::io::logs::summary::summary;

/// Two runs whose lines stand in turn have no common step: neither their mean nor the slower one.
#[test]
fn two_runs_in_turn_give_no_step_and_a_note() {
    let line = |number: u64, ms: f64| iteration(number, 64 * number, ms) + "\n";
    let both = |first: u64, second: u64, times: [f64; 2]| -> String {
        (0..20).map(|at| line(first + at, times[0]) + &line(second + at, times[1])).collect()
    };
    let distinct = [both(1, 1, [5000.0, 9000.0]), both(1, 500, [5000.0, 9000.0]), both(500, 1, [5000.0, 5010.0])];
    for log in distinct {
        let read = reading(&log);
        assert!(read.observation("").is_none(), "{:?}", read.step);
        assert!(read.notes.iter().any(|note| note.to_string().contains("two runs stand in it in turn")), "{log}");
    }
    // Eight ranks of one run, each of which prints every step.
    let ranks: String = (1..20).flat_map(|at| (0..8).map(move |rank| line(at, 5000.0 + f64::from(rank)))).collect();
    let read = reading(&ranks);
    assert!(near(read.step.unwrap().seconds, 5.007) && read.notes.is_empty(), "{:?}", read.notes);
}

/// No step takes 0, NaN or 10³⁰⁰ ms: such values are left out and said.
#[test]
fn impossible_times_are_said() {
    for odd in ["nan", "0.0", "1e300", "inf"] {
        let line = |at: u64, ms: &str| iteration(at, 64 * at, 1.0).replace(": 1.0 ", &format!(": {ms} ")) + "\n";
        assert!(line(1, odd).contains(&format!(": {odd} ")), "{}", line(1, odd));
        let all: String = (1..6).map(|at| line(at, odd)).collect();
        let read = reading(&all);
        assert!(read.step.is_none());
        assert!(read.notes.iter().any(|note| note.to_string().ends_with("left out: 5")), "{odd}: {:?}", read.notes);
        let one: String = (1..9).map(|at| line(at, if at == 5 { odd } else { "4000.0" })).collect();
        let read = reading(&one);
        assert!(near(read.step.unwrap().seconds, 4.0), "{odd}");
        assert!(read.notes.iter().any(|note| note.to_string().ends_with("left out: 1")), "{odd}: {:?}", read.notes);
    }
}

/// A trace without `ProfilerStep` is not known to be a step, and is not learned from; a log's own peaks stand beside
/// the estimate.
#[test]
fn an_unmarked_trace_is_no_observation_and_peaks_are_compared() {
    let trace = r#"{"schemaVersion": 1, "traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "nvjet_gemm", "ts": 100.0, "dur": 2000000.0}]}"#;
    let present = Run::default();
    let html = |text: &str| {
        let read = read(text, &present).unwrap();
        (summary(&read, &present).to_html(), read)
    };
    let (shown, read_trace) = html(trace);
    assert!(!shown.contains("A step took") && shown.contains("length of a step"), "{shown}");
    assert!(read_trace.observation("").is_none());
    assert!(read_trace.notes.iter().any(|note| note.to_string().contains("no ProfilerStep")));
    let log = iteration(3, 192, 6000.0)
        + "\n[Rank 0] (after 3 iterations) memory (MB) | allocated: 1.0 | max allocated: 30720.0 | reserved: 32000.0 | max reserved: 40960.0\n";
    let (shown, read_log) = html(&log);
    let estimate = report(&read_log.run).unwrap().memory;
    let rank = &estimate.per_stage[estimate.peak_stage];
    // torch.cuda.max_memory_allocated is all but what the allocator and the process hold besides.
    let allocated = rank.total.gib() - rank.overhead.gib();
    let off = format!("{:+.1} %", (allocated / 30.0 - 1.0) * 100.0).replace('-', "−");
    let words = format!("peak of allocated memory: the estimate for the fullest GPU says {allocated:.1} GiB, {off}");
    assert!(shown.contains(&words), "{words}: {shown}");
    assert!(shown.contains("peak of reserved memory: the estimate"));
}
