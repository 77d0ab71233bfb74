//! The search: equal to reporting every layout, the same every time, and right about which published layouts ran.

mod common;

use common::{Row, table};
use shardscope::report::report;
use shardscope::run::{Run, Value};
use shardscope::search::{Plan, Request, Space, TIE, fits, plan};
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

/// The strict order by step time, from the full report of every layout that fits.
fn exhaustive(space: &Space) -> (u64, Vec<(f64, Run)>) {
    let mut count = 0;
    let mut found = Vec::new();
    for run in space.runs() {
        let Ok(report) = report(&run) else { continue };
        count += 1;
        if fits(&report.memory) {
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

/// A group of the Fujii tables: one table, one number of GPUs.
struct Group {
    request: Request,
    rows: Vec<Row>,
}

/// Tables 3 and 4 of Fujii 2024 by number of GPUs, each searched over what the authors varied: tp, cp, pp and the
/// micro-batch. Loader and network as in `throughput.rs`.
fn groups() -> BTreeMap<(String, u64), Group> {
    let mut groups: BTreeMap<(String, u64), Group> = BTreeMap::new();
    for row in table("fujii_measured.csv") {
        let gpus: u64 = row["gpus"].parse().unwrap();
        let number = row["table"].clone();
        let (inter, loader) = if number == "3" { (12.5, 2.75) } else { (25.0, 3.0) };
        let json = format!(
            r#"{{"run":{{"model":"llama-3.1-8b","gpu":{{"base":"{}","inter_gb_per_s":{inter}}},"gpus":{gpus},
            "seq_len":8192,"global_batch":1024,"loader_ns":{loader}}},"top":100000,
            "space":{{"schedule":"1f1b","zero":1,"recompute":"none","sequence_parallel":true,"split":"even"}}}}"#,
            row["gpu"]
        );
        let group = groups.entry((number, gpus)).or_insert_with(|| Group {
            request: request(&json),
            rows: Vec::new(),
        });
        group.rows.push(row);
    }
    groups
}

#[test]
fn the_first_of_the_measured_layouts_ran_and_is_nearly_the_fastest() {
    let mut losses = Vec::new();
    for ((number, gpus), mut group) in groups() {
        let tflops = |run: &Run| -> Option<Option<f64>> {
            let sizes = [("tp", run.tp), ("cp", run.cp), ("pp", run.pp), ("micro_batch", run.micro_batch)];
            let same = |row: &&Row| sizes.iter().all(|(key, size)| row[*key] == size.to_string());
            let row = group.rows.iter().find(same)?;
            Some(row["tflops_per_gpu_or_oom"].parse().ok())
        };
        group.request.search.finish();
        let plan = group.request.plan();
        let first = plan.best.iter().find_map(|row| {
            let outcome = tflops(&row.layout)?;
            Some((row, outcome))
        });
        for row in plan.best.iter().filter(|row| tflops(&row.layout).is_some()).take(7) {
            let run = &row.layout;
            println!("   tp {} cp {} pp {} b {}  {:.3} s  ratio {:.4} {:?}", run.tp, run.cp, run.pp, run.micro_batch, row.report.step.time_s.0, row.report.memory.peak_bytes / row.report.memory.capacity_bytes, tflops(run).unwrap());
        }
        let (row, outcome) = first.unwrap();
        let run = &row.layout;
        let best = group.rows.iter().filter_map(|row| row["tflops_per_gpu_or_oom"].parse::<f64>().ok()).fold(0.0, f64::max);
        println!("table {number}, {gpus} GPUs: tp {} cp {} pp {} b {} {:?} {outcome:?} of {best}", run.tp, run.cp, run.pp, run.micro_batch, row.report.memory.verdict);
        if let Some(t) = outcome { losses.push(best / t - 1.0); }
    }
    let mean = losses.iter().sum::<f64>() / losses.len() as f64;
    println!("mean {mean} worst {:?}", losses.iter().copied().fold(0.0, f64::max));
}
