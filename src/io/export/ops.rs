//! Every op of a timeline as a line of CSV.

use shardscope_core::pipeline::{Half, Timeline};
use std::fmt::Write;

/// `rank,kind,stage,microbatch,start_s,end_s,overlapped` and a line an op; times as exact as they were computed.
pub fn ops_csv(timeline: &Timeline) -> String {
    let mut out = String::from("rank,kind,stage,microbatch,start_s,end_s,overlapped\n");
    for (rank, ops) in timeline.ranks.iter().enumerate() {
        for timed in ops {
            let op = timed.op;
            let overlapped = u8::from(timed.half != Half::Whole);
            // Writing to a String cannot fail.
            let _ = writeln!(
                out,
                "{rank},{},{},{},{},{},{overlapped}",
                op.kind.letters(),
                op.stage,
                op.microbatch,
                timed.start,
                timed.end
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::report::evaluate;
    use shardscope_core::run::{Run, Schedule};

    #[test]
    fn a_table_of_ops_reads_back_to_the_same_times() {
        let run = Run { schedule: Schedule::DualPipeV, ..Run::default() };
        let timeline = evaluate(&run).unwrap().timeline().clone();
        let csv = ops_csv(&timeline);
        let mut lines = csv.lines().skip(1);
        for (rank, ops) in timeline.ranks.iter().enumerate() {
            for timed in ops {
                let cells: Vec<&str> = lines.next().unwrap().split(',').collect();
                assert_eq!(cells[0], rank.to_string());
                let token = format!("{}{}{}", cells[2], cells[1], cells[3]);
                assert_eq!(token, timed.op.to_string());
                assert_eq!(cells[4].parse::<f64>().unwrap(), timed.start);
                assert_eq!(cells[5].parse::<f64>().unwrap(), timed.end);
            }
        }
        assert_eq!(lines.next(), None);
    }
}
