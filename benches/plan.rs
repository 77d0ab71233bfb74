//! Speed of the search, for reading: layouts a second, and Llama 3 405B on 16384 H100. Timings decide no test.

use shardscope::core::run::{Based, Run};
use shardscope::core::search::Request;
use std::time::Instant;

fn of(model: &'static str, gpus: u64, global_batch: u64) -> Run {
    Run { model: Based::preset(model), gpus, global_batch, ..Run::default() }
}

fn main() {
    let mut many_divisors = of("llama-3.1-405b", 720_720, 2_882_880);
    let parts = &mut many_divisors.model.parts;
    (parts.layers, parts.heads, parts.kv_heads) = (Some(720), Some(720), Some(720));
    let lengths = (0..512u64).map(|i| 1024 + 512 * (i % 32)).collect();
    let unequal = Run { pp: 8, microbatch_lengths: Some(lengths), ..of("llama-3.1-8b", 1024, 4096) };
    let searched = |name: &str, run: &Run| {
        let start = Instant::now();
        let Ok(mut request) = Request::new(run, &[], 20) else {
            println!("{name}: no such run");
            return;
        };
        let divided = start.elapsed().as_secs_f64();
        let mut bounded = None;
        while !request.search.step(1000).done {
            if bounded.is_none() && request.search.is_bounded() {
                bounded = Some(start.elapsed().as_secs_f64());
            }
        }
        let (seconds, plan) = (start.elapsed().as_secs_f64(), request.plan());
        println!(
            "{name}: {} layouts, {} fit, {} reported, in {seconds:.2} s (divided {divided:.2}, bounded {:.2}): {:.0} layouts/s",
            plan.evaluated,
            plan.feasible,
            plan.reported,
            bounded.unwrap_or(0.0),
            plan.evaluated as f64 / seconds
        );
        for row in plan.best.iter().take(3) {
            let (run, step) = (&row.layout, &row.report.step);
            println!(
                "  {:.3} s  MFU {:.3}  tp {} pp {} cp {} ep {} zero {} mbs {} {:?} v {} {:?} sp {} {:?} {:?}",
                step.time_s.0,
                step.mfu,
                run.tp,
                run.pp,
                run.cp,
                run.ep,
                run.zero,
                run.micro_batch,
                run.schedule,
                run.virtual_stages,
                run.recompute,
                run.sequence_parallel,
                run.stage_layers.is_some(),
                row.report.memory.verdict
            );
            println!("    {}", row.why);
        }
    };
    for (name, model, gpus, batch) in [
        ("Llama 3.1 8B on 64 H100", "llama-3.1-8b", 64, 256),
        ("Llama 3.1 70B on 1024 H100", "llama-3.1-70b", 1024, 1024),
        ("Llama 3.1 405B on 1024 H100", "llama-3.1-405b", 1024, 2048),
        ("Llama 3.1 405B on 4096 H100", "llama-3.1-405b", 4096, 2048),
        ("Llama 3.1 405B on 16384 H100 (aim 0.05 s)", "llama-3.1-405b", 16384, 2048),
        ("DeepSeek-V3 on 2048 H100", "deepseek-v3", 2048, 15360),
    ] {
        searched(name, &of(model, gpus, batch));
    }
    searched("720 layers and heads on 720720 (aim 1 s)", &many_divisors);
    searched("512 unequal micro-batches on 1024 (aim 1 s)", &unequal);
}
