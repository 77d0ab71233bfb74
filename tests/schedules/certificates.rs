//! Certificates and optimal orders: known optima, what every other schedule says of them, requests.

use shardscope::core::pipeline::certify::{Certificate, OrderSearch, StepStages};
use shardscope::core::pipeline::{Durations, SCHEDULES, Spec, build, measure, schedule};
use shardscope::core::run::Value;

fn numbers(cell: &str) -> Vec<f64> {
    cell.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

/// Source of `tests/data/schedule_optima.csv`: each row names its own. The optima come from
/// an exhaustive search, their orders were replayed in a second simulator.
#[test]
fn all_known_optima_are_met_and_proven() {
    let mut count = 0;
    for line in include_str!("../data/schedule_optima.csv").lines().filter(|line| line.starts_with("optimal makespan,"))
    {
        let cells: Vec<&str> = line.split(',').collect();
        let ranks: usize = cells[2].parse().unwrap();
        let stages = StepStages {
            home: (0..ranks).collect(),
            microbatches: cells[3].parse().unwrap(),
            forward: numbers(cells[4]),
            backward_input: numbers(cells[5]),
            backward_weight: numbers(cells[6]),
            whole: cells[1] == "whole backward",
            lag: 0.0,
            room: cells[7].split_whitespace().map(|room| room.parse().unwrap()).collect(),
            apart: Vec::new(),
        };
        let optimum: f64 = cells[8].parse().unwrap();
        let (problem, scale) = stages.problem();
        let mut search = OrderSearch::new(&problem, 60_000);
        assert!(scale.seconds(search.lower) <= optimum, "a bound above the optimum: {line}");
        search.finish();
        assert_eq!(scale.seconds(search.best.unwrap().0), optimum, "{line}");
        assert_eq!(scale.seconds(search.lower), optimum, "{line}");
        count += 1;
    }
    assert_eq!(count, 148);
}

/// Equal stages, and a long last one.
fn durations(stages: u32) -> [Durations; 2] {
    let equal = Durations::uniform(stages, 1.0, 1.2, 0.8).with_p2p(0.05);
    let mut head = equal.clone();
    head.forward[stages as usize - 1] *= 1.7;
    head.backward_weight[0] *= 0.5;
    [equal, head]
}

#[test]
fn every_schedule_is_certified_or_says_why_not() {
    let mut certified = 0;
    for row in SCHEDULES.iter().filter(|row| row.id() != "custom" && !row.endless) {
        let spec = Spec { virtual_stages: if row.virtual_stages.is_none() { 2 } else { 1 }, ..Spec::new(row, 4, 8) };
        for durations in durations(spec.stages()) {
            let order = build(&spec, &durations).unwrap().order;
            let (_, stats) = measure(&order, &durations).unwrap();
            match Certificate::of(&order, &durations) {
                Ok(found) => {
                    certified += 1;
                    // Sums that leave out what repeats differ in the last digit.
                    let (lower, makespan) = (found.lower_bound_s, stats.makespan_s * (1.0 + 1e-12));
                    assert!(lower > 0.0 && lower <= makespan, "{}: {lower} {makespan}", row.id());
                    assert!((makespan / lower - 1.0 - found.gap).abs() < 1e-11);
                    assert!(found.best_s >= lower * (1.0 - 1e-12) && found.best_s <= makespan, "{}", row.id());
                    assert_eq!(found.memory_limit, stats.peak_in_flight, "{}", row.id());
                    assert!(found.one_more_s <= lower);
                }
                Err(reason) => assert!(!reason.to_string().is_empty()),
            }
        }
    }
    assert!(certified > 20, "{certified}");
}

/// 1F1B and ZB-H1 of equal stages run as long as the busiest rank with its head and tail: optimal in their own memory.
/// Fill and drain of GPipe and 1F1B: (m + p − 1)(tF + tB) with whole backwards.
#[test]
fn schedules_that_are_optimal_are_said_to_be() {
    for id in ["gpipe", "1f1b"] {
        let spec = Spec::new(schedule(id).unwrap(), 4, 12);
        let durations = Durations::uniform(4, 1.0, 1.0, 1.0);
        let found = Certificate::of(&build(&spec, &durations).unwrap().order, &durations).unwrap();
        assert!(found.proven && found.whole_backward, "{id}: {found:?}");
        assert_eq!(found.lower_bound_s, 15.0 * 3.0);
    }
}

/// The optimal order holds its limit and is no slower than any schedule of one stage a rank in the same memory.
#[test]
fn no_schedule_beats_the_optimal_order_in_its_memory() {
    for (p, m) in [(2, 6), (4, 8), (4, 40), (6, 9)] {
        for durations in durations(p) {
            for id in ["zb-h1", "zb-h2", "zb-auto", "1f1b", "gpipe", "eager-1f1b"] {
                let other = build(&Spec::new(schedule(id).unwrap(), p, m), &durations).unwrap().order;
                let (_, theirs) = measure(&other, &durations).unwrap();
                let limits = Some(theirs.peak_in_flight.clone());
                let spec = Spec { memory_limits: limits, ..Spec::new(schedule("optimal").unwrap(), p, m) };
                let order = build(&spec, &durations).unwrap().order;
                assert!(order.check().is_ok());
                let (_, ours) = measure(&order, &durations).unwrap();
                assert!(
                    ours.makespan_s <= theirs.makespan_s * (1.0 + 1e-9),
                    "{id} {p} {m}: {} {}",
                    ours.makespan_s,
                    theirs.makespan_s
                );
                assert!(ours.peak_in_flight.iter().zip(&theirs.peak_in_flight).all(|(ours, theirs)| ours <= theirs));
            }
        }
    }
}

fn answer(request: &str) -> Result<serde_json::Value, String> {
    let request: Value = shardscope::io::json::read(request).unwrap();
    let reply = shardscope::core::pipeline::request::answer(&request);
    reply.map(|reply| serde_json::to_value(reply).unwrap()).map_err(|issues| issues[0].field.clone())
}

#[test]
fn requests_take_lists_and_answer_with_a_certificate() {
    let reply = answer(
        r#"{"schedule":"optimal","pp":3,"microbatches":4,"forward_s":[2,2,2],"backward_input_s":[3,3,3],"backward_weight_s":2,
            "memory_limit":[3,3,3],"certificate":true}"#,
    );
    let reply = reply.unwrap();
    // A row of schedule_optima.csv.
    assert_eq!(reply["makespan_s"], 34.0);
    assert_eq!(reply["certificate"]["proven"], true);
    assert_eq!(reply["certificate"]["lower_bound_s"], 34.0);
    assert_eq!(reply["unit"], "chunk");
    let whole = answer(
        r#"{"schedule":"optimal","pp":3,"microbatches":3,"backward_input_s":2,"whole_backward":true,"memory_limit":2}"#,
    );
    let whole = whole.unwrap();
    assert_eq!(whole["makespan_s"], 18.0); // another row
    assert!(whole["certificate"].is_null());
    assert!(whole["order"][0].as_array().unwrap().iter().any(|token| token == "0BW0"));
}

#[test]
fn bad_requests_are_refused_at_their_field() {
    for (request, field) in [
        (r#"{"schedule":"optimal","pp":3,"forward_s":[1,2]}"#, "forward_s"),
        (r#"{"schedule":"optimal","pp":3,"memory_limit":[1,2]}"#, "memory_limit"),
        (r#"{"schedule":"optimal","pp":3,"memory_limit":0}"#, "memory_limit"),
        (r#"{"schedule":"zb-auto","pp":3,"memory_limit":[3,3,3]}"#, "memory_limit"),
        (r#"{"schedule":"zb-h1","whole_backward":true}"#, "whole_backward"),
        (r#"{"schedule":"1f1b","whole_backward":true,"backward_weight_s":1}"#, "backward_weight_s"),
        (r#"{"schedule":"1f1b","forward_s":["a"]}"#, "forward_s"),
        (r#"{"schedule":"1f1b","certificate":1}"#, "certificate"),
    ] {
        assert_eq!(answer(request).unwrap_err(), field, "{request}");
    }
}

#[test]
fn an_order_without_a_certificate_says_why() {
    for id in ["chimera", "seq1f1b", "pipedream"] {
        let reply = answer(&format!(r#"{{"schedule":"{id}","pp":4,"microbatches":8,"certificate":true}}"#)).unwrap();
        assert!(reply["certificate"].is_null(), "{id}");
        assert!(reply["warnings"].as_array().unwrap().iter().any(|issue| issue["field"] == "certificate"), "{id}");
    }
}
