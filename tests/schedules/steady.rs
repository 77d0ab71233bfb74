//! `PipeDream` and `PipeDream-2BW` never drain between steps: what a step takes is the steady state of the same order,
//! and fill and drain stand apart. Held to the papers, and to what further micro-batches add in an independent
//! simulator.
use crate::common::table;
use shardscope::core::pipeline::Durations;
use shardscope::core::pipeline::steady::step_seconds;
use shardscope::core::report::{Evaluation, evaluate};
use shardscope::core::run::{Run, Schedule, Value};
use shardscope::core::time::STEP_END;
use shardscope::core::traffic::Traffic;
use std::collections::BTreeMap;

/// Eight ranks, 24 micro-batches.
const LLAMA_70B: &str = r#"{"model":"llama-2-70b","gpus":64,"tp":8,"pp":8,"global_batch":24,"zero":0,"seq_len":4096}"#;

const ENDLESS: [Schedule; 2] = [Schedule::Pipedream, Schedule::Pipedream2bw];

fn run(json: &str, schedule: Schedule) -> Run {
    let value: Value = serde_json::from_str(json).unwrap();
    Run { schedule, ..Run::from_value(&value).unwrap() }
}

fn evaluated(json: &str, schedule: Schedule) -> Evaluation {
    evaluate(&run(json, schedule)).unwrap()
}

#[track_caller]
fn same(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() <= 1e-9 * theirs.abs().max(1e-9), "{ours}, not {theirs}");
}

/// `schedule_numbers.csv` simulates finite pieces of `PipeDream`: 16 micro-batches more of 8 ranks add what 16 take
/// once the pipeline is full, with latency and without.
#[test]
fn a_step_takes_what_more_micro_batches_add_in_the_independent_simulator() {
    let mut makespans = BTreeMap::<_, Vec<(u32, f64)>>::new();
    for row in table("schedule_numbers.csv") {
        let (p, m): (u32, u32) = (row["pp"].parse().unwrap(), row["microbatches"].parse().unwrap());
        let times = ["forward_s", "backward_input_s", "backward_weight_s", "p2p_s"].map(|key| row[key].clone());
        if row["schedule"] == "pipedream" && m >= p && m.is_multiple_of(p) {
            let makespan = row["makespan_s"].parse().unwrap();
            makespans.entry((p, times)).or_default().push((m, makespan));
        }
    }
    let mut compared = 0;
    for ((p, times), rows) in makespans {
        let [f, b, w, l] = times.map(|time: String| time.parse::<f64>().unwrap());
        let durations = Durations::uniform(p, f, b, w).with_p2p(l);
        for pair in rows.windows(2) {
            let [(few, shorter), (many, longer)] = pair else {
                panic!("{pair:?}");
            };
            same(step_seconds(&durations, many - few), longer - shorter);
            compared += 1;
        }
    }
    assert!(compared >= 9, "{compared}");
}

/// `PipeDream`, section 3.2: no bubble once the pipeline is full; a transfer costs 2 l (p − 1)/p a micro-batch.
#[test]
fn equal_ranks_idle_only_for_their_messages() {
    for p in [1u32, 2, 4, 8, 64] {
        for m in [1u32, 7, 24] {
            let durations = Durations::uniform(p, 1.0, 1.2, 0.7);
            let work = f64::from(m) * 2.9;
            same(step_seconds(&durations, m), work);
            let ranks = f64::from(p);
            let waits = f64::from(m) * 0.6 * (ranks - 1.0) / ranks;
            same(step_seconds(&durations.with_p2p(0.3), m), work + waits);
        }
    }
}

#[test]
fn the_report_is_that_of_1f1b_without_fill_and_drain() {
    let steps = |batch: u32| {
        let json = LLAMA_70B.replace("\"global_batch\":24", &format!("\"global_batch\":{batch}"));
        evaluated(&json, Schedule::OneFOneB).report.pipeline.makespan_s.0
    };
    let added = steps(24 * 12) - steps(24 * 11);
    let flushed = evaluated(LLAMA_70B, Schedule::OneFOneB).report;
    for schedule in ENDLESS {
        let evaluation = evaluated(LLAMA_70B, schedule);
        let (pipeline, step) = (&evaluation.report.pipeline, &evaluation.report.step);
        same(pipeline.makespan_s.0, added);
        same(pipeline.bubble_fraction, 1.0 - pipeline.ideal_s.0 / pipeline.makespan_s.0);
        same(pipeline.bubble_over_ideal, pipeline.makespan_s.0 / pipeline.ideal_s.0 - 1.0);
        same(step.bubble_s.0, pipeline.makespan_s.0 - pipeline.ideal_s.0);
        // 7/(24 + 7) of the flushed step is fill and drain; what is left is the last rank's head and the messages.
        assert!(pipeline.bubble_fraction < flushed.pipeline.bubble_fraction - 0.15);
        let warned = &evaluation.report.warnings;
        assert!(warned.iter().all(|issue| !issue.message.to_string().contains("bubble")), "{warned:?}");
        // Forwards and messages to the last rank; backwards and messages from it.
        let times = &evaluation.durations;
        let (first, hops) = (0..7, 7.0 * times.p2p);
        let back = |stage: usize| times.backward_input[stage] + times.backward_weight[stage];
        same(pipeline.fill_s.unwrap().0, first.clone().map(|s| times.forward[s]).sum::<f64>() + hops);
        same(pipeline.drain_s.unwrap().0, first.map(back).sum::<f64>() + hops);
    }
    assert_eq!((flushed.pipeline.fill_s, flushed.pipeline.drain_s), (None, None));
}

/// One micro-batch a step: others of later steps are in the pipeline, rank r holds p − r.
#[test]
fn short_steps_hold_as_many_micro_batches_as_long_ones() {
    let json = LLAMA_70B.replace("\"global_batch\":24", "\"global_batch\":1");
    for schedule in ENDLESS {
        let report = evaluated(&json, schedule).report;
        assert_eq!(report.pipeline.peak_in_flight, [8, 7, 6, 5, 4, 3, 2, 1]);
        for (rank, memory) in report.memory.per_stage.iter().enumerate() {
            same(memory.in_flight, 8.0 - rank as f64);
        }
    }
}

/// A rank that works longer than the others makes them wait in every step: that warning stays.
#[test]
fn a_long_rank_is_still_named() {
    let json = LLAMA_70B.replace("\"zero\":0", "\"zero\":0,\"stage_layers\":[24,8,8,8,8,8,8,8]");
    let report = evaluated(&json, Schedule::Pipedream).report;
    let fields: Vec<&str> = report.warnings.iter().map(|issue| issue.field.as_str()).collect();
    assert!(fields.contains(&"stage_layers") && !fields.contains(&"global_batch"), "{fields:?}");
}

/// PipeDream, section 3.2: a stage updates its weights after every backward pass; PipeDream-2BW, section 3: once the
/// gradients of a batch are there. 24 micro-batches are 24 optimizers and 24 reductions over the data-parallel ranks.
#[test]
fn pipedream_updates_after_every_micro_batch() {
    let doubled = LLAMA_70B.replace("\"gpus\":64", "\"gpus\":128");
    let doubled = doubled.replace("\"global_batch\":24", "\"global_batch\":48");
    let of = |schedule| {
        let report = evaluated(&doubled, schedule).report;
        let dp = report.overlap.iter().find(|row| row.traffic == Traffic::Dp).unwrap();
        (report.step.optimizer_s - STEP_END, dp.bytes_per_gpu)
    };
    let once = of(Schedule::OneFOneB);
    assert!(once.0.0 > 0.0 && once.1.0 > 0.0);
    assert_eq!(of(Schedule::Pipedream2bw), once);
    let often = of(Schedule::Pipedream);
    same(often.0.0, 24.0 * once.0.0);
    same(often.1.0, 24.0 * once.1.0);
}
