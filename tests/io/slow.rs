//! A directed search for requests that take long: the slowest are changed a little, again and again. `make fuzz` runs
//! it for five minutes and prints the worst; no time decides a test.

use crate::common::random::{Random, random_run};
use shardscope::core::report::schedule_ids;
use shardscope::core::run::{OneOf, Run};
use shardscope::io::request::{Verb, answer};
use std::time::{Duration, Instant};

/// Requests that are kept to be changed.
const SLOWEST: usize = 100;
/// Requests of a run that is no fuzzing.
const FEW: usize = 20;
/// Units of work of their plans.
const WORK: u64 = 4_000;
const MINUTES: u64 = 5;

/// Values that make a request large.
const FIELDS: &[(&str, &[&str])] = &[
    ("model", &["llama-3.1-8b", "llama-3.1-405b", "deepseek-v3", "qwen-3-235b-a22b", "nemotron-3-nano", "kimi-k3"]),
    ("gpus", &["64", "256", "1024", "8192", "16384", "65536"]),
    ("gpu", &["h100-sxm-80gb", "b200-sxm", "gb300"]),
    ("tp", &["1", "2", "8"]),
    ("pp", &["1", "4", "16", "64", "128", "512"]),
    ("cp", &["1", "4", "16"]),
    ("ep", &["1", "8", "64"]),
    ("zero", &["0", "1", "3"]),
    ("global_batch", &["8", "256", "4096", "65536", "1048576"]),
    ("seq_len", &["128", "8192", "1048576"]),
    ("virtual_stages", &["1", "2", "8"]),
    ("model.layers", &["32", "128", "1024", "4096"]),
    ("microbatch_lengths", &["8192,4096", "100,200,300,400,500,600,700,800"]),
    ("schedule_options.memory_limit", &["1", "8", "64"]),
    ("schedule_options.splits", &["1", "4", "16"]),
    ("schedule_options.waves", &["1", "4"]),
    ("recompute", &["full", "selective"]),
    ("phases.framework", &["nemo-rl", "verl"]),
    ("adapter.method", &["lora", "qlora"]),
    ("host_memory_gib", &["1024"]),
    ("tokens_total", &["1e12", "1e15"]),
];

#[derive(Clone)]
struct Request {
    verb: Verb,
    run: Run,
    /// Rows of a plan, runs of a calibration.
    count: u64,
}

impl Request {
    fn random(random: &mut Random) -> Self {
        let verbs = [Verb::Report, Verb::Schedule, Verb::Plan, Verb::Certify, Verb::WholeRun, Verb::Calibrate];
        Self { verb: random.one(&verbs), run: random_run(random), count: random.one(&[1, 20, 50, 200, 1_000_000]) }
    }

    fn changed(&self, random: &mut Random) -> Self {
        let mut one = self.clone();
        for _ in 0..random.one(&[1, 2, 4]) {
            let (key, values) = random.one(FIELDS);
            let ids: Vec<&str> = schedule_ids().filter(|id| *id != "custom").collect();
            let (key, value) =
                if random.once_in(6) { ("schedule", random.one(&ids)) } else { (key, random.one(values)) };
            one.run = one.run.with_texts(&[(key, value.to_owned())]).unwrap_or(one.run);
        }
        if random.once_in(4) {
            one.count = random.one(&[1, 20, 50, 200, 1_000_000]);
        }
        one
    }

    /// The request; `work` limits a plan.
    fn line(&self, work: Option<u64>) -> String {
        let run = serde_json::to_string(&self.run.to_value()).unwrap();
        let Run { pp, global_batch, .. } = self.run;
        match self.verb {
            Verb::Plan => {
                let limit = work.map_or_else(String::new, |work| format!(r#","work":{work}"#));
                format!(r#"{{"run":{run},"top":{},"also":{}{limit}}}"#, self.count, self.count > 50)
            }
            Verb::Calibrate => {
                let one = format!(r#"{{"run":{run},"step_s":10}}"#);
                let runs = vec![one; usize::try_from(self.count.min(50)).unwrap()];
                format!(r#"{{"runs":[{}]}}"#, runs.join(","))
            }
            Verb::Schedule => format!(
                r#"{{"schedule":"{}","pp":{pp},"microbatches":{global_batch},"virtual_stages":{},"forward_s":1.1,"backward_input_s":0.9,"backward_weight_s":1.2,"p2p_s":0.05,"certificate":true}}"#,
                self.run.schedule.id(),
                self.run.virtual_stages
            ),
            _ => run,
        }
    }
}

/// Processor time of this thread; where the system does not tell, time.
fn clock(begun: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| begun.elapsed(), Duration::from_nanos)
}

#[test]
fn the_slowest_requests_that_a_directed_search_finds_are_printed() {
    let long = std::env::var("SHARDSCOPE_CASES").is_ok();
    let begun = Instant::now();
    let mut random = Random::new(29);
    let mut slowest: Vec<(Duration, Request)> = Vec::new();
    let (mut count, mut answered) = (0, 0);
    while if long { begun.elapsed() < Duration::from_secs(60 * MINUTES) } else { count < FEW } {
        let fresh = slowest.len() < SLOWEST.min(FEW / 2) || random.once_in(5);
        let request = if fresh {
            Request::random(&mut random)
        } else {
            let places: Vec<usize> = (0..slowest.len()).collect();
            slowest[random.one(&places)].1.changed(&mut random)
        };
        let before = clock(begun);
        let line = request.line((!long).then_some(WORK));
        match answer(request.verb, &line) {
            Ok(_) => answered += 1,
            Err(issues) => assert!(!issues.is_empty(), "refused without a reason: {line}"),
        }
        count += 1;
        slowest.push((clock(begun).saturating_sub(before), request));
        slowest.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        slowest.truncate(SLOWEST);
    }
    assert!(answered * 5 > count, "{answered} of {count}");
    println!("slow: {count} requests, {answered} answered; the slowest:");
    for (time, request) in slowest.iter().take(5) {
        let name = request.verb.name();
        println!(
            "slow: {:.2} s  {name} {}",
            time.as_secs_f64(),
            request.line(None).chars().take(300).collect::<String>()
        );
    }
}
