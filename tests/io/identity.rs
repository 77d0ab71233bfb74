//! Requests and the native program's answers for the other faces: the npm package (`tests/browser/identity.test.mjs`)
//! and the Python package (`tools/python/tests`) give the same, to the last digit. The requests are the same on every
//! machine.

use crate::common::random::{Random, random_run};
use crate::headless::lines;
use serde_json::{Value, json};
use shardscope::core::report::{schedule_ids, work};
use shardscope::core::run::Run;
use shardscope::io::export;
use shardscope::io::link::encode;
use std::fs;
use std::path::Path;

/// Folder of the requests.
pub const FILE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/identity.jsonl");

/// Ops that are simulated for one request.
const FEW_OPS: u64 = 2000;

/// The next random Run that is not large; of those that work, where `works`.
fn run(random: &mut Random, works: bool) -> Run {
    loop {
        let run = random_run(random);
        if work(&run).map_or(!works, |ops| ops <= FEW_OPS) {
            return run;
        }
    }
}

fn seconds(random: &mut Random, stages: u32) -> Value {
    let mut one = || random.one(&[1.0, 0.1, 0.37, 2.5, 1.0 / 3.0]);
    let list: Vec<f64> = (0..stages).map(|_| one()).collect();
    if random.once_in(2) { json!(list) } else { json!(list[0]) }
}

fn schedule(random: &mut Random) -> Value {
    let ids: Vec<&str> = schedule_ids().filter(|id| *id != "custom").collect();
    let pp = random.one(&[2, 3, 4, 8]);
    json!({
        "schedule": random.one(&ids), "pp": pp, "microbatches": random.one(&[4, 7, 8, 16]), "p2p_s": random.one(&[0.0, 0.01, 0.3]),
        "forward_s": seconds(random, pp), "backward_input_s": seconds(random, pp), "backward_weight_s": seconds(random, pp),
    })
}

/// Number of each verb, and the next one.
type Requests = (&'static str, usize, fn(&mut Random) -> String);

static REQUESTS: [Requests; 8] = [
    ("report", 240, |random| {
        let works = !random.once_in(8);
        let run = run(random, works);
        if random.once_in(4) { encode(&run) } else { json!(run.to_value()).to_string() }
    }),
    ("schedule", 80, |random| schedule(random).to_string()),
    ("plan", 12, |random| {
        let run = json!({ "model": random.one(&["llama-3.1-8b", "mixtral-8x7b"]), "gpus": random.one(&[8, 16, 64]), "global_batch": 64 });
        json!({ "run": run, "top": 2, "work": 20_000 }).to_string()
    }),
    ("certify", 12, |random| {
        let schedule = random.one(&["1f1b", "zb-h1", "zb-auto", "gpipe"]);
        json!({ "gpus": 32, "tp": 1, "pp": random.one(&[2, 4]), "global_batch": random.one(&[64, 96]), "schedule": schedule }).to_string()
    }),
    ("export", 100, |random| {
        let formats: Vec<_> = export::ids().collect();
        json!({ "run": run(random, true).to_value(), "format": random.one(&formats) }).to_string()
    }),
    ("calibrate", 12, |random| {
        let mut one = || json!({ "run": { "gpus": 8, "pp": 1, "tp": random.one(&[1, 2, 4]) }, "step_s": random.one(&[4.9, 7.7, 11.3]) });
        json!({ "runs": [one(), one()], "name": "ours" }).to_string()
    }),
    ("rl", 24, |random| {
        let mut request = json!({
            "model": random.one(&["qwen-3-32b", "qwen-3-30b-a3b", "llama-3.1-8b"]), "gpus": 64, "tp": random.one(&[4, 8]), "pp": 1,
            "seq_len": 4096, "phases": { "framework": random.one(&["verl", "nemo-rl", "slime", "trl"]) },
            "rl": {
                "algorithm": random.one(&["grpo", "ppo"]), "prompts": 128, "samples": 8, "prompt_tokens": 120, "rollout_tp": 4,
                "response_tokens": { "mean": random.one(&[700, 2900]) }, "response_limit": 4096
            }
        });
        if random.once_in(2) {
            request["rl"]["rollout_gpus"] = json!(random.one(&[16, 32]));
        }
        request.to_string()
    }),
    ("whole-run", 24, |random| json!(Run { tokens_total: Some(1e12), ..run(random, true) }.to_value()).to_string()),
];

#[test]
fn requests_and_answers_of_the_native_program_are_written_for_the_other_faces() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/launch");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let import = |path| json!({ "text": fs::read_to_string(path).unwrap(), "run": { "gpus": 64 } }).to_string();
    let mut random = Random::new(2027);
    let mut asked = vec![("import", files.iter().map(import).collect::<Vec<_>>())];
    asked.extend(REQUESTS.iter().map(|(verb, count, next)| (*verb, (0..*count).map(|_| next(&mut random)).collect())));
    let answered: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = asked.iter().map(|(verb, requests)| scope.spawn(|| lines(verb, requests))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let mut text = String::new();
    let mut count = 0;
    for ((verb, requests), answers) in asked.iter().zip(&answered) {
        let works = answers.iter().filter(|answer| answer.contains(r#""errors":[]"#)).count();
        assert!(works * 3 > requests.len() * 2, "{verb}: {works} of {} are answered", requests.len());
        count += requests.len();
        for (line, answer) in requests.iter().zip(answers) {
            text += &json!({ "verb": verb, "line": line, "answer": answer }).to_string();
            text.push('\n');
        }
    }
    assert!(count >= 500, "{count}");
    fs::write(FILE, text).unwrap();
}
