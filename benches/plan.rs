//! Speed of the search, for reading: layouts a second, and the units of work that a core does in 2 s, of which `WORK`
//! in `src/core/search/allowance.rs` is made. Timings decide no test.

use shardscope::core::run::{Based, Run};
use shardscope::core::search::{PlanRequest, WORK};
use std::time::Instant;

fn of(model: &'static str, gpus: u64, global_batch: u64) -> Run {
    Run { model: Based::preset(model), gpus, global_batch, ..Run::default() }
}

/// Seconds of a processor that this thread took, where the system tells; else those of the clock since `start`.
fn processor_s(start: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|told| told.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |nanoseconds| nanoseconds * 1e-9)
}

/// A search of all layouts of a run: its units and seconds.
fn searched(name: &str, run: &Run) -> Option<(u64, f64)> {
    let clock = Instant::now();
    let start = processor_s(clock);
    let Ok(mut request) = PlanRequest::new(run, &[], 20) else {
        println!("{name}: no such run");
        return None;
    };
    request.search.allow(u64::MAX);
    let divided = processor_s(clock) - start;
    let mut bounded = None;
    while !request.search.step(1000).is_over() {
        if bounded.is_none() && request.search.is_bounded() {
            bounded = Some((processor_s(clock) - start, request.search.spent()));
        }
    }
    let seconds = processor_s(clock) - start;
    let (bounded_s, bounded_units) = bounded.unwrap_or_default();
    let units = request.search.spent();
    let plan = request.plan();
    let answered = processor_s(clock) - start;
    println!(
        "{name}: {} layouts, {} fit, {} reported, in {seconds:.3} s (divided {divided:.3}, bounded {bounded_s:.3}, answered \
         {answered:.3}): {:.0} layouts/s; {units} units, {:.1} million a second ({:.1} of bounds, {:.1} of reports)",
        plan.evaluated,
        plan.feasible,
        plan.reported,
        plan.evaluated as f64 / seconds,
        units as f64 / seconds / 1e6,
        bounded_units as f64 / bounded_s / 1e6,
        (units - bounded_units) as f64 / (seconds - bounded_s) / 1e6,
    );
    for row in plan.best.iter().take(1) {
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
    }
    Some((units, seconds))
}

fn main() {
    let mut many_divisors = of("llama-3.1-405b", 720_720, 2_882_880);
    let parts = &mut many_divisors.model.parts;
    (parts.layers, parts.heads, parts.kv_heads) = (Some(720), Some(720), Some(720));
    let lengths = (0..512u64).map(|i| 1024 + 512 * (i % 32)).collect();
    let unequal = Run { pp: 8, microbatch_lengths: Some(lengths), ..of("llama-3.1-8b", 1024, 4096) };
    let h800 = Run { gpu: Based::preset("h800-sxm-80gb"), seq_len: 4096, ..of("deepseek-v3", 2048, 15360) };
    let questions = vec![
        ("Llama 3.1 8B on 64 H100", of("llama-3.1-8b", 64, 256)),
        ("Llama 3.1 70B on 1024 H100", of("llama-3.1-70b", 1024, 1024)),
        ("Llama 3.1 405B on 1024 H100", of("llama-3.1-405b", 1024, 2048)),
        ("Llama 3.1 405B on 16384 H100 (aim 0.05 s)", of("llama-3.1-405b", 16384, 2048)),
        ("Mixtral 8x22B on 256 H100", of("mixtral-8x22b", 256, 512)),
        ("Llama 4 Maverick on 512 H100", of("llama-4-maverick", 512, 256)),
        ("DeepSeek-V3 on 2048 H800", h800),
        ("Kimi K2 on 4096 H100", of("kimi-k2", 4096, 8192)),
        ("720 layers and heads on 720720 (aim 1 s)", many_divisors),
        ("512 unequal micro-batches on 1024 (aim 1 s)", unequal),
    ];
    let rate = |(name, run): &(&str, Run)| searched(name, run).map(|(units, seconds)| units as f64 / seconds);
    let mut rates: Vec<f64> = questions.iter().filter_map(rate).collect();
    rates.sort_by(f64::total_cmp);
    let [least, median, most] = [0, rates.len() / 2, rates.len() - 1].map(|at| rates[at] * 2e-6);
    println!("million units in 2 s: {median:.1} ({least:.1} to {most:.1}); WORK is {:.1}", WORK as f64 * 1e-6);
}
