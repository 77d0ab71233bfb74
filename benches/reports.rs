//! How quick the calculator is natively, printed for reading: nothing is decided by it. `cargo bench`.

use shardscope::pipeline::{Durations, Spec, build, measure, schedule};
use shardscope::report::report;
use shardscope::run::Run;
use shardscope::share::link;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Each line repeats its work for about this long.
const LONG: Duration = Duration::from_secs(1);

const RUNS: [(&str, &str); 4] = [
    ("Llama 3.1 8B, 64 GPUs (the default)", ""),
    (
        "Llama 3.1 405B, 16384 GPUs",
        "model=llama-3.1-405b&gpus=16384&tp=8&pp=16&global_batch=2048",
    ),
    (
        "GPT-3 175B, interleaved",
        "model=gpt-3-175b&gpus=1024&tp=8&pp=8&schedule=interleaved-1f1b&virtual_stages=4&global_batch=1536",
    ),
    (
        "DeepSeek-V3, DualPipe",
        "model=deepseek-v3&gpus=2048&tp=1&pp=16&ep=64&schedule=dualpipe&seq_len=4096&global_batch=15360",
    ),
];

/// Seconds of one call, on average.
fn time(mut work: impl FnMut()) -> f64 {
    work();
    let (start, mut calls) = (Instant::now(), 0_u32);
    while start.elapsed() < LONG {
        work();
        calls += 1;
    }
    start.elapsed().as_secs_f64() / f64::from(calls)
}

fn main() {
    // `cargo test` runs benches too, with this argument: it is enough that they start.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    println!("{:<48}{:>12}", "native", "reports/s");
    for (name, text) in RUNS {
        let run: Run = link::decode(text).run;
        if report(&run).is_err() {
            println!("{name:<48}{:>12}", "refused");
            continue;
        }
        let seconds = time(|| {
            let _ = black_box(report(black_box(&run)));
        });
        println!("{name:<48}{:>12.0}", 1.0 / seconds);
    }
    println!("{:<48}{:>12}", "schedule, p = 64, m = 4096", "ms");
    for id in ["gpipe", "1f1b", "zb-h1"] {
        let Some(schedule) = schedule(id) else {
            continue;
        };
        let spec = Spec::new(schedule, 64, 4096);
        let durations = Durations::uniform(spec.stages(), 1.0, 1.0, 1.0);
        let Ok(built) = build(&spec, &durations) else {
            continue;
        };
        let order = time(|| {
            let _ = black_box(build(black_box(&spec), &durations));
        });
        let simulation = time(|| {
            let _ = black_box(measure(black_box(&built.order), &durations));
        });
        println!("{:<48}{:>12.1}", format!("{id}, order"), order * 1e3);
        println!(
            "{:<48}{:>12.1}",
            format!("{id}, simulation"),
            simulation * 1e3
        );
    }
}
