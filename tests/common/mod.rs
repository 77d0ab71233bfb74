//! What several tests share: tables of published runs, and a step joined from time and traffic without a simulation.
#![allow(dead_code, clippy::unwrap_used)] // each test binary uses its own part

use shardscope::core::accuracy::{Evidence, read};
use shardscope::core::pipeline::closed_form::{Bubble, Passes, pipeline_seconds};
use shardscope::core::run::{Run, Scenario, Value};
use shardscope::core::time::{Clock, step_end, with_loader};
use shardscope::core::traffic::{Held, StageWaits, StageWindows, stage_waits, step_sync};
use shardscope::core::units::Seconds;
use std::collections::BTreeMap;
use std::fs;

/// The rows of a table in `public/data` that become Runs.
pub fn evidence(name: &str) -> Vec<Evidence> {
    let path = format!("{}/public/data/{name}", env!("CARGO_MANIFEST_DIR"));
    read(name, &fs::read_to_string(path).unwrap()).0
}

/// A line of a table, by column.
pub type Row = BTreeMap<String, String>;

/// The rows of a table, by column name: of `public/data`, which the page shows too, or of `tests/data`.
pub fn table(name: &str) -> Vec<Row> {
    let root = env!("CARGO_MANIFEST_DIR");
    let text = fs::read_to_string(format!("{root}/public/data/{name}"))
        .or_else(|_| fs::read_to_string(format!("{root}/tests/data/{name}")))
        .unwrap();
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let columns = split(lines.next().unwrap());
    lines
        .map(|line| columns.iter().cloned().zip(split(line)).collect())
        .collect()
}

/// A line of CSV; commas inside quotes do not separate.
fn split(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().unwrap().push(c),
        }
    }
    cells
}

/// A Run given as JSON, understood.
pub fn scenario(json: &str) -> Scenario {
    try_scenario(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

/// The same, or what is wrong with it.
pub fn try_scenario(json: &str) -> Result<Scenario, String> {
    let value: Value = serde_json::from_str(json).map_err(|error| format!("{error}: {json}"))?;
    let run = Run::from_value(&value).map_err(|issues| format!("{issues:?}"))?;
    Scenario::new(&run).map_err(|issues| format!("{issues:?}"))
}

/// A step in closed form, and what its parts were.
pub struct Estimate {
    pub seconds: f64,
    pub passes: Vec<Passes>,
    pub waits: Vec<StageWaits>,
    pub exposed_sync: f64,
    pub sync: f64,
}

/// Joins compute, traffic and the closed form of the pipeline.
pub fn estimate(scenario: &Scenario) -> Estimate {
    let (layout, zero) = (&scenario.layout, scenario.zero);
    let clock = Clock::new(scenario);
    let ranks = usize::try_from(layout.pp).unwrap();
    let mut passes = Vec::new();
    let mut waits = Vec::new();
    let mut stages = vec![Vec::new(); ranks];
    let mut windows = vec![(0.0, 0.0); ranks];
    for stage in 0..scenario.stage_layers.len() {
        let time = clock.stage(scenario, stage);
        let wait = stage_waits(
            scenario,
            stage,
            &StageWindows {
                column_weight: time.column_weight,
                attention_forward: time.attention_forward,
                attention_backward: time.attention_backward,
                linear: time.linear,
                forward: time.forward,
                backward: time.backward_input + time.backward_weight,
            },
        );
        let pass = Passes {
            forward: (time.forward + wait.forward()).0,
            backward_input: (time.backward_input + wait.backward()).0,
            backward_weight: time.backward_weight.0,
        };
        stages[stage % ranks].push(stage);
        windows[stage % ranks].0 += pass.forward;
        windows[stage % ranks].1 += pass.backward_input + pass.backward_weight;
        passes.push(pass);
        waits.push(wait);
    }
    let send = waits.iter().map(|wait| wait.send.0).fold(0.0, f64::max);
    let pipeline = pipeline_seconds(
        &passes,
        ranks,
        layout.microbatches,
        Bubble::of(scenario.run.schedule),
        send,
    );
    let (mut exposed, mut sync, mut end) = (0.0f64, 0.0f64, 0.0f64);
    for (stages, window) in stages.iter().zip(&windows) {
        let held = Held::of(scenario, stages);
        let one = step_sync(scenario, held, Seconds(window.0), Seconds(window.1));
        exposed = exposed.max(one.exposed().0);
        sync = sync.max(one.both().comm.0);
        let shard = |size: u64| if zero.stage == 0 { 1.0 } else { size as f64 };
        let (dense, experts) = (held.dense, held.experts);
        let updated = dense / shard(zero.shard) + experts / shard(zero.expert_shard);
        let kept = if zero.stage == 3 {
            updated
        } else {
            dense + experts
        };
        end = end.max(step_end(scenario, clock.rates(), updated, kept).0);
    }
    let run = &scenario.run;
    let samples = run.global_batch as f64 / layout.dp as f64;
    let floor = scenario.software.loader_ns * 1e-9 * (run.seq_len as f64).powi(2) * samples;
    let seconds = with_loader(Seconds(pipeline + exposed + end), Seconds(floor)).0;
    Estimate {
        seconds,
        passes,
        waits,
        exposed_sync: exposed,
        sync,
    }
}
