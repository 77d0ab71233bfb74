//! Speed of the native calculator, printed for reading: nothing is decided by it. `make bench`.
//!
//! Each line is also a ratio to a fixed loop that is timed beside it, so that two machines, or a busy and an idle one,
//! can be compared. `benches/history.csv` keeps the ratios by commit.

use shardscope::core::advice::fit::FitSearch;
use shardscope::core::calibrate::{CalibrateRequest, Observation};
use shardscope::core::pipeline::{Durations, Spec, build, schedule, time};
use shardscope::core::report::{evaluate, report};
use shardscope::core::rl::{predict, step};
use shardscope::core::run::{Based, Run};
use shardscope::core::search::{PlanRequest as Search, TOP};
use shardscope::io::link;
use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

#[path = "../tests/common/random.rs"]
mod random;
use random::{Random, random_run};

/// Each round repeats its work for about this long, of which there are so many; the median is told.
const LONG: Duration = Duration::from_millis(60);
const ROUNDS: usize = 15;
/// Of what takes longer.
const FEW: usize = 3;

/// Where ratios are kept: commit, what, ratio.
const HISTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/history.csv");

/// The fixed loop: a million steps of integers, a division and a root, the kinds of work that a report is.
fn reference() {
    let (mut state, mut sum) = (1u64, 0.0f64);
    for _ in 0..1_000_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        sum += ((state >> 40) as f64).sqrt() / (1.0 + sum);
    }
    black_box(sum);
}

/// Runs, and how many reports a second are aimed at; the second with its JSON.
const RUNS: [(&str, &str, bool, f64); 5] = [
    ("Llama 3.1 8B, 64 GPUs (the default)", "", false, 150e3),
    ("Llama 3.1 405B, pp 16, m 256, JSON", "model=llama-3.1-405b&gpus=1024&tp=8&pp=16&global_batch=2048", true, 30e3),
    ("Llama 3.1 405B, 16384 GPUs", "model=llama-3.1-405b&gpus=16384&tp=8&pp=16&global_batch=2048", false, 0.0),
    (
        "GPT-3 175B, interleaved",
        "model=gpt-3-175b&gpus=1024&tp=8&pp=8&schedule=interleaved-1f1b&virtual_stages=4&global_batch=1536",
        false,
        0.0,
    ),
    (
        "DeepSeek-V3, DualPipe",
        "model=deepseek-v3&gpus=2048&tp=1&pp=16&ep=64&schedule=dualpipe&seq_len=4096&global_batch=15360",
        false,
        0.0,
    ),
];

/// Steps of reinforcement learning: the step alone, milliseconds aimed at; and with the other splits of its GPUs.
const RL: [(&str, &str); 2] = [
    (
        "RL: Qwen3 32B, 64 GPUs in turn",
        "model=qwen-3-32b&gpus=64&tp=8&pp=1&seq_len=4096&phases.framework=nemo-rl&rl.algorithm=grpo&rl.prompts=256&\
            rl.samples=8&rl.prompt_tokens=100&rl.response_tokens.mean=1500&rl.response_limit=4096&rl.rollout_tp=4",
    ),
    (
        "RL: Qwen3 235B, 256 GPUs, split",
        "model=qwen-3-235b-a22b&gpus=256&tp=2&pp=8&ep=16&seq_len=8192&phases.framework=nemo-rl&rl.algorithm=grpo&\
            rl.prompts=128&rl.samples=32&rl.prompt_tokens=100&rl.response_tokens.mean=3000&rl.response_limit=8192&\
            rl.rollout_tp=16&rl.rollout_gpus=128&rl.staleness=1",
    ),
];
/// Milliseconds aimed at, of a step alone.
const RL_MS: f64 = 2.0;

/// Orders with their spans: schedule, ranks, chunks, micro-batches, milliseconds aimed at.
const ORDERS: [(&str, u32, u32, u32, f64); 6] = [
    ("interleaved-1f1b", 16, 4, 256, 2.0),
    ("v-half", 64, 2, 4096, 200.0),
    ("v-min", 64, 2, 4096, 200.0),
    ("gpipe", 64, 1, 4096, 0.0),
    ("1f1b", 64, 1, 4096, 0.0),
    ("zb-h1", 64, 1, 4096, 0.0),
];

/// Seconds of one call, on average over a round.
fn round(work: &mut impl FnMut()) -> f64 {
    let (start, mut calls) = (Instant::now(), 0_u32);
    while start.elapsed() < LONG {
        work();
        calls += 1;
    }
    start.elapsed().as_secs_f64() / f64::from(calls)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The kept figures, and those of now.
struct History {
    before: String,
    now: String,
    commit: Option<String>,
}

impl History {
    fn read() -> Self {
        Self {
            before: fs::read_to_string(HISTORY).unwrap_or_default(),
            now: String::new(),
            commit: std::env::var("SHARDSCOPE_COMMIT").ok(),
        }
    }

    /// Times `work` beside the fixed loop; prints seconds as `shown` says, what is aimed at (0: nothing), the ratio,
    /// and how far it is from the one kept last.
    fn time(&mut self, name: &str, aim: f64, shown: fn(f64) -> f64, mut work: impl FnMut()) {
        let start = Instant::now();
        work();
        let rounds = if start.elapsed() > 4 * LONG { FEW } else { ROUNDS };
        let rounds: Vec<(f64, f64)> = (0..rounds).map(|_| (round(&mut work), round(&mut reference))).collect();
        let seconds = median(rounds.iter().map(|(work, _)| *work).collect());
        let ratio = median(rounds.iter().map(|(work, fixed)| work / fixed).collect());
        let mut kept = self.before.lines().rev().filter_map(|line| {
            let (_, rest) = line.split_once(',')?;
            let (kept, ratio) = rest.rsplit_once(',')?;
            (kept.trim_matches('"') == name).then(|| ratio.parse::<f64>().ok())?
        });
        let change = kept.next().map_or(String::new(), |kept| format!("{:+.0} %", (ratio / kept - 1.0) * 100.0));
        let aim = if aim > 0.0 { format!("{aim:.0}") } else { String::new() };
        println!("{name:<40}{:>12.1}{aim:>10}{ratio:>12.4}{change:>10}", shown(seconds));
        if let Some(commit) = &self.commit {
            // Writing to a String cannot fail.
            let _ = writeln!(self.now, "{commit},\"{name}\",{ratio:.4}");
        }
    }

    /// Cost of a report over the micro-batches and over the ranks: microseconds, one line a schedule.
    fn over_sizes(&mut self) {
        let microseconds = |seconds| seconds * 1e6;
        let sizes = [(16, 32), (16, 256), (16, 4096), (4, 256), (64, 256)];
        println!("{:<40}{:>12}", "a report over m and pp", "us");
        for id in ["1f1b", "gpipe", "zb-v", "dualpipe", "hanayo", "zb-auto", "zb-v-auto"] {
            for (pp, m) in sizes {
                let text = format!("model=gpt-3-175b&model.layers=128&gpus=64&tp=1&pp={pp}&schedule={id}");
                let mut run: Run = link::decode(&text).run;
                run.global_batch = m * (64 / pp);
                if report(&run).is_err() {
                    continue;
                }
                self.time(&format!("{id}, pp {pp}, m {m}"), 0.0, microseconds, || {
                    let _ = black_box(report(black_box(&run)));
                });
            }
        }
    }

    /// Cost of a plan over the GPUs: milliseconds.
    fn over_gpus(&mut self) {
        println!("{:<40}{:>12}", "a plan of 405B over GPUs", "ms");
        for gpus in [1024, 4096, 16_384, 65_536] {
            let run =
                Run { model: Based::preset("llama-3.1-405b"), gpus, global_batch: gpus.max(2048), ..Run::default() };
            self.time(
                &format!("plan: 405B over {gpus} GPUs"),
                0.0,
                |s| s * 1e3,
                || {
                    if let Ok(mut request) = Search::new(black_box(&run), &[], TOP) {
                        request.search.finish();
                        black_box(request.plan());
                    }
                },
            );
        }
    }

    /// Keeps what was timed; what the same commit said before is replaced.
    fn keep(self) {
        let Some(commit) = self.commit else { return };
        let mut kept = String::from("commit,what,ratio to the fixed loop\n");
        let own = format!("{commit},");
        for line in self.before.lines().skip(1).filter(|line| !line.starts_with(&own)) {
            kept.push_str(line);
            kept.push('\n');
        }
        kept.push_str(&self.now);
        if let Err(error) = fs::write(HISTORY, kept) {
            eprintln!("{HISTORY}: {error}");
        }
    }
}

fn main() {
    // `cargo test` runs benches too, with this argument: it is enough that they start.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let mut history = History::read();
    let heads = |unit: &str| {
        println!("{:<40}{unit:>12}{:>10}{:>12}{:>10}", "native", "aim", "ratio", "change");
    };
    heads("reports/s");
    for (name, text, json, aim) in RUNS {
        let run: Run = link::decode(text).run;
        if report(&run).is_err() {
            println!("{name:<40}{:>12}", "refused");
            continue;
        }
        let rate = |seconds| 1.0 / seconds;
        history.time(name, aim, rate, || {
            let report = black_box(report(black_box(&run)));
            if let Ok(report) = report
                && json
            {
                let _ = black_box(serde_json::to_string(&report));
            }
        });
    }
    heads("ms");
    let ms = |seconds| seconds * 1e3;
    for (id, ranks, chunks, microbatches, aim) in ORDERS {
        let Some(schedule) = schedule(id) else {
            continue;
        };
        let spec = Spec { virtual_stages: chunks, ..Spec::new(schedule, ranks, microbatches) };
        let durations = Durations::uniform(spec.stages(), 1.0, 1.0, 1.0).with_p2p(0.01);
        history.time(&format!("{id} {ranks} x {microbatches}, spans"), aim, ms, || {
            let built = build(black_box(&spec), &durations);
            let _ = black_box(built.map(|built| time(&built.order, &durations)));
        });
    }
    for (name, text) in RL {
        let run = link::decode(text).run;
        if let Err(issues) = step(&run) {
            println!("{name}: {issues:?}");
            continue;
        }
        history.time(name, RL_MS, ms, || {
            let _ = black_box(predict(black_box(&run)));
        });
        history.time(&format!("{name}, with splits"), 0.0, ms, || {
            let _ = black_box(step(black_box(&run)));
        });
    }
    heads("ms");
    for (name, run, aim) in plans() {
        history.time(name, aim, ms, || {
            if let Ok(mut request) = Search::new(black_box(&run), &[], TOP) {
                request.search.finish();
                black_box(request.plan());
            }
        });
    }
    let request = measured();
    history.time("20 measured runs, fitted", 300.0, ms, || {
        let _ = black_box(black_box(&request).answer());
    });
    history.over_sizes();
    history.over_gpus();
    history.keep();
    fits();
}

/// Searches, and the milliseconds aimed at; `benches/plan.rs` says more of them.
fn plans() -> [(&'static str, Run, f64); 3] {
    let of = |model, gpus, global_batch| Run { model: Based::preset(model), gpus, global_batch, ..Run::default() };
    let large = of("llama-3.1-405b", 16384, 2048);
    let mut many = of("llama-3.1-405b", 720_720, 2_882_880);
    let parts = &mut many.model.parts;
    (parts.layers, parts.heads, parts.kv_heads) = (Some(720), Some(720), Some(720));
    let lengths = (0..512_u64).map(|i| 1024 + 512 * (i % 32)).collect();
    let unequal = Run { microbatch_lengths: Some(lengths), ..of("llama-3.1-8b", 1024, 4096) };
    [
        ("plan: 405B, 16384 GPUs", large, 50.0),
        ("plan: 720 layers, 720720 GPUs", many, 1000.0),
        ("plan: 512 unequal micro-batches", unequal, 1000.0),
    ]
}

/// Twenty measured runs of the default model, a tenth slower than it says and one of them a half, and the default
/// question.
fn measured() -> CalibrateRequest {
    let runs = (0..20).map(|at: u32| {
        let (gpus, tp) = (8 << (at % 4), 1 << (at / 4 % 3));
        let run = Run { gpus, tp, pp: 1, seq_len: 4096 << (at / 12), global_batch: 4 * gpus, ..Run::default() };
        let slower = if at == 7 { 1.5 } else { 1.1 };
        let seconds = evaluate(&run).map_or(1.0, |of| of.report.step.time_s.0);
        Observation::step("", run, seconds * slower)
    });
    CalibrateRequest {
        observations: runs.collect(),
        name: String::new(),
        question: Some(Run::default()),
        gpus: None,
        plan: Vec::new(),
    }
}

/// Time of the search for what makes a Run fit, over random Runs that work.
fn fits() {
    let mut random = Random::new(1);
    let mut times: Vec<f64> = Vec::new();
    while times.len() < 400 {
        let Ok(base) = evaluate(&random_run(&mut random)) else {
            continue;
        };
        let start = Instant::now();
        black_box(FitSearch::finished(&base));
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    let at = |percent: usize| times[times.len() * percent / 100];
    println!(
        "what makes a run fit, ms: median {:.1}, p95 {:.1} (aim 100), longest {:.1}",
        at(50),
        at(95),
        times[times.len() - 1]
    );
}
