//! The search: equal to reporting every layout, the same every time, and right about which published layouts ran.

mod common;

use common::{Row, table};
use shardscope::memory::Verdict;
use shardscope::report::report;
use shardscope::run::{Run, Scenario, Value};
use shardscope::search::{Axes, Plan, Request, Space, TIE, plan};
use std::collections::BTreeMap;

fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

fn request(json: &str) -> Request {
    Request::from_value(&value(json)).unwrap_or_else(|issues| panic!("{issues:?}: {json}"))
}

fn answer(json: &str) -> Plan {
    plan(&value(json)).unwrap()
}

/// Spaces small enough to report every layout of: dense and routed models, every memory method's rule, unequal stages,
/// slow networks, loaders, schedules of every placement.
const SPACES: &[&str] = &[
    r#"{"run":{"gpus":16,"global_batch":32},"space":{"recompute":["none","full"],"sequence_parallel":true}}"#,
    r#"{"run":{"gpus":8,"global_batch":16,"gpu":{"base":"a100-sxm-40gb","inter_gb_per_s":12.5},"gpus_per_node":2,
        "loader_ns":2.75},"space":{"schedule":["1f1b","gpipe"]}}"#,
    r#"{"run":{"gpus":16,"global_batch":16,"model":"mixtral-8x7b","moe_imbalance":1.2},"space":{"schedule":"1f1b",
        "recompute":["none","full"],"micro_batch":[1,2],"split":"even"}}"#,
    r#"{"run":{"gpus":4,"global_batch":12,"model":{"base":"llama-3.1-8b","layers":6}},"space":{"zero":1,
        "schedule":["gpipe","1f1b","eager-1f1b","looped-bfs","interleaved-1f1b","chimera","hanayo","zb-h1","zb-h2",
        "zb-v","v-half","v-min","dualpipe","dualpipev","seq1f1b","terapipe","pipedream",
        "interleaved-zb1p","1f1b-overlap","naive"],"recompute":"none","micro_batch":[1,3]}}"#,
    r#"{"run":{"gpus":16,"global_batch":32,"memory_method":"fujii-4d"},"space":{"schedule":"1f1b","zero":1,
        "recompute":"none"}}"#,
    r#"{"run":{"gpus":8,"global_batch":16,"model":{"base":"llama-3.1-8b","layers":13,"tied_embeddings":true},
        "gpu":{"base":"h100-sxm-80gb","memory_gib":32,"usable_gib":31,"inter_gb_per_s":2},"gpus_per_node":1},
        "pin":["sequence_parallel"]}"#,
    r#"{"run":{"gpus":4,"global_batch":12,"model":{"base":"llama-3.1-8b","layers":6}},"space":{"zero":1,
        "schedule":["1f1b","zb-auto","zb-v-auto"],"recompute":["none","full"]}}"#,
];

/// The strict order by step time, from the full report of every layout that does not run out of memory.
fn exhaustive(space: &Space) -> (u64, Vec<(f64, Run)>) {
    let mut count = 0;
    let mut found = Vec::new();
    for run in space.runs() {
        let Ok(report) = report(&run) else { continue };
        count += 1;
        if report.memory.verdict != Verdict::Oom {
            found.push((report.step.time_s.0, run));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    (count, found)
}

#[test]
fn the_search_finds_what_reporting_every_layout_finds() {
    for json in SPACES {
        let mut request = request(json);
        let (count, all) = exhaustive(request.search.space());
        request.search.finish();
        let plan = request.plan();
        println!("{count} layouts, {} fit, {} reported", all.len(), plan.reported);
        assert!(count > 50, "{json}");
        assert_eq!(plan.evaluated, count, "{json}");
        // What an automatic schedule holds depends on its durations: only its report knows.
        let timed = json.contains("-auto");
        assert!(plan.feasible == all.len() as u64 || timed && plan.feasible > all.len() as u64, "{json}");
        assert_eq!(plan.best.len(), all.len().min(20), "{json}");
        for (row, (time, run)) in plan.best.iter().zip(&all) {
            assert_eq!(row.report.step.time_s.0.to_bits(), time.to_bits(), "{json}");
            assert_eq!(&row.layout, run, "{json}");
            assert_eq!(Some(&row.report), report(run).as_ref().ok());
        }
    }
}
