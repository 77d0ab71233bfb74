//! Every layout of a space, reported.

use shardscope::core::report::report;
use shardscope::core::run::{Run, Value};
use shardscope::core::search::{Space, is_listed};

pub fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

/// The number of layouts that have a report, and the strict order by step time of those that are listed.
pub fn exhaustive(space: &Space) -> (u64, Vec<(f64, Run)>) {
    let mut count = 0;
    let mut found = Vec::new();
    for run in space.runs() {
        let Ok(report) = report(&run) else { continue };
        count += 1;
        if is_listed(&report.memory) {
            found.push((report.step.time_s.0, run));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    (count, found)
}
