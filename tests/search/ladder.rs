//! The layout that is chosen: held to the fastest by reporting every layout, to what the report says of it, and to the
//! layouts that the page suggests beside it.

use crate::common::random::{Random, random_run};
use crate::common::run_with;
use shardscope::core::memory::Verdict;
use shardscope::core::report::report;
use shardscope::core::run::presets::{MODELS, STACKS};
use shardscope::core::run::registry::FIELDS;
use shardscope::core::run::{AdapterMethod, Based, Recompute, Run, Schedule};
use shardscope::core::search::better::Gain;
use shardscope::core::search::ladder::{Failure, Ladder, LadderChoice, LadderEnd, tried_before};
use shardscope::core::search::session::{PlanQuery, PlanSession};
use shardscope::core::search::{PlanRequest, can_run, serves};
use shardscope::core::units::SMALLEST_PRINTED;
use std::time::Instant;

fn climbed(run: &Run) -> LadderEnd {
    Ladder::new(run).unwrap().finished()
}

fn failed(run: &Run) -> Failure {
    match climbed(run) {
        LadderEnd::Failed(failure) => *failure,
        other => panic!("{other:?}"),
    }
}

/// Verdict of GPU and host, as the report says it.
fn verdict(run: &Run) -> Verdict {
    let memory = report(run).unwrap_or_else(|refusal| panic!("{:?} of {run:?}", refusal.errors)).memory;
    memory.host.and_then(|host| host.verdict).map_or(memory.verdict, |host| host.max(memory.verdict))
}

/// Settings that a ladder may change: sizes, recomputation and the schedule, and what belongs to one layout only.
const LAYOUT: [&str; 17] = [
    "micro_batch",
    "sequence_parallel",
    "tp",
    "pp",
    "cp",
    "ep",
    "etp",
    "zero",
    "recompute",
    "recompute.",
    "stage_layers",
    "mtp_stage",
    "hsdp_shard",
    "measured_step_s",
    "schedule",
    "schedule_options.",
    "virtual_stages",
];

/// Fields outside of its layout that differ between two Runs.
fn retrained(run: &Run, other: &Run) -> Vec<&'static str> {
    let of_layout =
        |key: &str| LAYOUT.iter().any(|entry| *entry == key || entry.ends_with('.') && key.starts_with(entry));
    let differing = FIELDS.iter().filter(|field| field.get(run) != field.get(other) && !of_layout(field.key));
    differing.map(|field| field.key).collect()
}

/// Fastest layout that fits of these sizes, by reporting each.
fn fastest(run: &Run, cps: &[u64], pps: &[u64], recomputes: &[Recompute], zero: u64) -> Option<f64> {
    let mut best: Option<f64> = None;
    for tp in [1, 2, 4, 8] {
        for pp in pps {
            for cp in cps {
                for recompute in recomputes {
                    let recompute = recompute.clone();
                    let layout = Run { tp, pp: *pp, cp: *cp, ep: 1, etp: 1, zero, recompute, ..run.clone() };
                    let Ok(report) = report(&layout) else {
                        continue;
                    };
                    if report.memory.verdict == Verdict::Fits {
                        let time = report.step.time_s.0;
                        best = Some(best.map_or(time, |best| best.min(time)));
                    }
                }
            }
        }
    }
    best
}

fn chosen(run: &Run) -> LadderChoice {
    match climbed(run) {
        LadderEnd::Chosen(choice) => *choice,
        other => panic!("{other:?}"),
    }
}

/// Of every layout that the software can run, each reported in full, none that fits is faster.
#[test]
fn no_layout_that_fits_and_that_the_software_runs_is_faster_than_what_is_chosen() {
    for (model, gpus, global_batch, stack) in [
        ("llama-3.1-8b", 8, 8, "megatron-2025"),
        ("llama-3.1-8b", 4, 8, "torchtitan"),
        ("qwen-3-30b-a3b", 16, 16, "deepspeed"),
    ] {
        let (model, stack) = (Based::preset(model), Based::preset(stack));
        let run = Run { model, stack, gpus, global_batch, seq_len: 2048, ..Run::default() };
        let request = PlanRequest::able(&run, &[], 1).unwrap();
        let (mut least, mut count) = (f64::INFINITY, 0);
        for layout in request.search.space().runs() {
            assert!(can_run(&layout), "{layout:?}");
            let Ok(report) = report(&layout) else {
                continue;
            };
            count += 1;
            if serves(&layout, &report.memory.peak()) {
                least = least.min(report.step.time_s.0);
            }
        }
        let choice = chosen(&run);
        println!("{count} layouts, {least:.4} s");
        assert!(
            (choice.figures.time_s.0 / least - 1.0).abs() < SMALLEST_PRINTED,
            "{} and {least}",
            choice.figures.time_s.0
        );
    }
}

/// What is chosen depends on what is given, and not on the layout that stands: the same run in layouts that were taken
/// before, by hand or from a card, is given the same layout by the guess and by the choice.
#[test]
fn what_is_chosen_does_not_depend_on_the_layout_that_stands() {
    let runs: [&[(&str, &str)]; 5] = [
        &[("gpus", "16"), ("global_batch", "64"), ("seq_len", "4096")],
        &[("model", "llama-3.1-70b"), ("gpus", "64"), ("global_batch", "128"), ("stack", "megatron-2025")],
        &[("model", "qwen-3-30b-a3b"), ("gpus", "16"), ("global_batch", "32"), ("stack", "megatron-2025")],
        &[("gpus", "8"), ("global_batch", "16"), ("stack", "torchtitan")],
        &[("model", "llama-3.1-405b"), ("gpus", "16"), ("global_batch", "16"), ("stack", "megatron-2025")],
    ];
    let layouts: [&[(&str, &str)]; 5] = [
        &[("tp", "8"), ("pp", "1"), ("micro_batch", "2")],
        &[("tp", "1"), ("pp", "2"), ("schedule", "zb-v"), ("recompute", "full")],
        &[("tp", "2"), ("pp", "4"), ("schedule", "interleaved-1f1b"), ("virtual_stages", "4"), ("micro_batch", "4")],
        &[("tp", "4"), ("pp", "1"), ("zero", "3"), ("sequence_parallel", "false"), ("micro_batch", "8")],
        &[("tp", "2"), ("pp", "2"), ("cp", "2"), ("schedule", "gpipe"), ("stage_layers", "15,17"), ("etp", "2")],
    ];
    for given in runs {
        let run = run_with(given);
        let (guess, end) = (Ladder::guess(&run, &[]), climbed(&run));
        for layout in layouts {
            let other = run.with_texts(layout).unwrap();
            let again = (Ladder::guess(&other, &[]), climbed(&other));
            assert!(again.0 == guess, "guess of {given:?} from {layout:?}: {:?} and {guess:?}", again.0);
            assert!(again.1 == end, "{given:?} from {layout:?}: {:?} and {end:?}", again.1);
        }
    }
}

/// A dense model in the sizes of the old ladder, each reported: what is chosen is no slower than its fastest.
#[test]
fn what_is_chosen_is_no_slower_than_the_sizes_alone() {
    let pps: Vec<u64> = vec![1, 2, 4, 8, 16, 32, 64];
    let cps = [1, 2, 4, 8, 16, 32, 64];
    let mut faster = 0;
    for (model, gpus, seq_len) in [
        ("llama-3.1-8b", 8, 8_192),
        ("llama-3.1-8b", 64, 8_192),
        ("llama-3.1-8b", 8, 65_536),
        ("llama-3.1-8b", 4, 65_536),
        ("llama-3.1-70b", 64, 32_768),
    ] {
        let run = Run { model: Based::preset(model), gpus, seq_len, global_batch: 64, ..Run::default() };
        let either = [Recompute::None, Recompute::Full];
        let want = fastest(&run, &cps, &pps, &either, 1);
        match (climbed(&run), want) {
            (LadderEnd::Chosen(choice), want) => {
                let ours = report(&choice.run).unwrap().step.time_s.0;
                assert_eq!(ours, choice.figures.time_s.0);
                assert!(
                    want.is_none_or(|time| ours <= time * (1.0 + SMALLEST_PRINTED)),
                    "{model} on {gpus}: {ours} and {want:?}"
                );
                faster += usize::from(want.is_none_or(|time| ours < time * 0.99));
            }
            (LadderEnd::Failed(_), None) => println!("{model} on {gpus}, {seq_len} tokens: nothing fits"),
            (outcome, want) => panic!("{model} on {gpus}, {seq_len} tokens: {outcome:?}, {want:?}"),
        }
    }
    assert!(faster > 0, "the search tries more than sizes");
}

/// "Chosen for you" stands only where no card of the same GPUs, batch and software shows a shorter step
/// beyond what can be told apart.
#[test]
fn no_card_is_faster_than_what_is_chosen() {
    for (model, gpus, global_batch) in [
        ("llama-3.1-8b", 64, 256),
        ("llama-3.1-70b", 64, 256),
        ("llama-3.1-405b", 2048, 256),
        ("llama-3.1-405b", 1024, 256),
        ("deepseek-v3", 1024, 4096),
        ("deepseek-v3", 2048, 15_360),
    ] {
        let (model, stack) = (Based::preset(model), Based::preset("megatron-2025"));
        let choice = chosen(&Run { model, gpus, global_batch, stack, seq_len: 4096, ..Run::default() });
        let query = PlanQuery { extras: Vec::new(), ..PlanQuery::improve(&choice.run) };
        let mut session = PlanSession::new(query).unwrap();
        while !session.step(1 << 20) {}
        let found = session.result(true);
        let faster = found.betters.list.iter().find(|better| better.gain == Gain::Time);
        assert_eq!(faster.map(|better| better.figures.time_s), None, "{gpus} GPUs take {:?}", choice.figures.time_s);
        // The list of layouts has none that serves and is faster either.
        let first = found.rows.iter().find(|row| serves(&row.run, &row.figures.peak)).unwrap();
        let (least, ours) = (first.figures.time_s.0, choice.figures.time_s.0);
        assert!(least >= ours * (1.0 - SMALLEST_PRINTED), "{least} {ours} {:?} {:?}", first.run, choice);
    }
}

/// Stages of unequal layers, chunks of a rank and the order of one stage are chosen where they gain something only.
#[test]
fn what_is_chosen_is_uneven_or_interleaved_only_where_that_is_faster() {
    for (model, gpus, seq_len, stack) in [
        ("llama-3.1-70b", 64, 32_768, "megatron-2025"),
        ("llama-3.1-8b", 8, 8_192, "megatron-2025"),
        ("llama-3.1-8b", 1, 512, "hf-trainer"),
        ("llama-3.1-405b", 2048, 8_192, "megatron-2025"),
    ] {
        let (model, stack) = (Based::preset(model), Based::preset(stack));
        let adapter = if gpus == 1 { Some(AdapterMethod::Qlora) } else { None };
        let (schedule, virtual_stages, pp) = (Schedule::Interleaved, 2, 4);
        let mut run =
            Run { model, stack, gpus, seq_len, schedule, virtual_stages, pp, global_batch: 256, ..Run::default() };
        run.adapter.method = adapter;
        let choice = chosen(&run);
        let (taken, time) = (&choice.run, choice.figures.time_s.0);
        println!("{} {} {:?} {:?}", taken.pp, taken.virtual_stages, taken.schedule, taken.stage_layers);
        assert!(taken.pp > 1 || taken.schedule == Schedule::OneFOneB && taken.virtual_stages == 1, "{taken:?}");
        if taken.stage_layers.is_some() {
            let even = report(&Run { stage_layers: None, ..taken.clone() });
            let alike = even.is_ok_and(|even| {
                even.memory.overall() == Verdict::Fits && even.step.time_s.0 < time * (1.0 + SMALLEST_PRINTED)
            });
            assert!(!alike, "{taken:?}");
        }
    }
}

/// A single stage has no other order than 1F1B: where nothing fits the leanest layout has it, too.
#[test]
fn the_leanest_layout_of_one_stage_is_under_1f1b() {
    let (model, gpu, stack) = (Based::preset("llama-3.1-70b"), Based::preset("l40s"), Based::preset("megatron-2025"));
    let (schedule, virtual_stages) = (Schedule::Interleaved, 8);
    let run = Run { model, gpu, stack, gpus: 1, schedule, virtual_stages, pp: 2, ..Run::default() };
    let LadderEnd::Failed(failure) = Ladder::new(&run).unwrap().finished() else {
        panic!("70B fits on one GPU of 48 GB");
    };
    let leanest = &failure.run;
    assert_eq!((leanest.pp, leanest.schedule, leanest.virtual_stages), (1, Schedule::OneFOneB, 1));
}

/// Random Runs: what is chosen is what its report says, and what is trained stays.
#[test]
fn what_is_chosen_fits_by_its_report_and_trains_the_same() {
    let mut random = Random::new(29);
    let (mut chosen, mut failures, mut tried) = (0, 0, 0);
    while tried < 80 {
        let run = random_run(&mut random);
        let Ok(ladder) = Ladder::new(&run) else {
            continue;
        };
        tried += 1;
        match ladder.finished() {
            LadderEnd::Chosen(choice) => {
                chosen += 1;
                assert_eq!(verdict(&choice.run), Verdict::Fits, "{:?}", choice.run);
                let report = report(&choice.run).unwrap();
                assert_eq!(report.memory.peak_bytes, choice.figures.peak.bytes);
                assert_eq!(report.step.time_s, choice.figures.time_s);
                assert_eq!(retrained(&run, &choice.run), [""; 0]);
                let per_node = run.gpus_per_node.unwrap_or_else(|| run.gpu.resolve().unwrap().per_node);
                assert!(choice.run.tp <= per_node);
                assert!(serves(&choice.run, &choice.figures.peak), "{:?}", choice.run);
            }
            LadderEnd::Failed(failure) => {
                failures += 1;
                for other in failure.adapters.iter().chain(&failure.gpus) {
                    assert_eq!(verdict(&other.run), Verdict::Fits, "{:?}", other.run);
                }
                assert!(failure.peak.is_none_or(|peak| peak.overall != Verdict::Fits));
            }
            LadderEnd::Undivided => {}
        }
    }
    println!("{chosen} chosen, {failures} failed of {tried}");
    assert!(chosen > 10 && failures > 5);
}

/// The answer does not depend on the places where it stops between two slices.
#[test]
fn slices_of_any_size_climb_alike() {
    for run in [
        run_with(&[("model", "llama-3.1-70b"), ("seq_len", "32768")]),
        run_with(&[("gpus", "1"), ("global_batch", "8")]),
    ] {
        let whole = climbed(&run);
        for budget in [1, 1000] {
            let mut ladder = Ladder::new(&run).unwrap();
            while !ladder.step(budget) {}
            assert_eq!(ladder.outcome(), Some(&whole));
        }
    }
}

/// A single GPU is TP 1, PP 1. 8 B parameters with Adam's states take 16 bytes a parameter and more (Rajbhandari 2020):
/// 120 GiB, which no 80 GB card has; frozen in bf16 they take 15 GiB, in 4 bits a quarter of it.
#[test]
fn one_gpu_that_does_not_hold_the_states_is_told_what_is_missing_and_offered_adapters() {
    let run = run_with(&[("gpus", "1"), ("global_batch", "8")]);
    let failure = failed(&run);
    assert_eq!((failure.run.tp, failure.run.pp, failure.verdict()), (1, 1, Verdict::Oom));
    assert!((40.0..140.0).contains(&failure.missing().gib()), "{}", failure.missing().gib());
    let methods: Vec<_> = failure.adapters.iter().map(|choice| choice.run.adapter.method).collect();
    assert_eq!(methods, [Some(AdapterMethod::Lora), Some(AdapterMethod::Qlora)]);
    let more = failure.gpus.unwrap();
    assert!((2..=8).contains(&more.run.gpus) && more.run.gpus.is_power_of_two() || more.run.gpus.is_multiple_of(3));
    for choice in &failure.adapters {
        assert_eq!((choice.run.tp, choice.run.pp, choice.run.gpus), (1, 1, 1));
    }
}

/// The fewest GPUs of those that are tried: none of the smaller numbers works.
#[test]
fn no_smaller_number_of_gpus_works() {
    let run = run_with(&[("model", "llama-3.1-405b"), ("gpus", "16"), ("global_batch", "192")]);
    let failure = failed(&run);
    assert!(failure.adapters.is_empty(), "more than a node");
    let gpus = failure.gpus.unwrap().run.gpus;
    println!("Llama 3.1 405B needs {gpus} H100");
    let fewer: Vec<u64> = [24, 32, 48, 64, 96, 128, 192, 256].into_iter().filter(|fewer| *fewer < gpus).collect();
    // 2ⁿ and 3·2ⁿ on whole nodes: what the page says was tried.
    assert_eq!(tried_before(&run, gpus), fewer);
    for fewer in fewer {
        assert!(!matches!(climbed(&Run { gpus: fewer, ..run.clone() }), LadderEnd::Chosen(_)), "{fewer}");
    }
}

/// Every stack: what is chosen is what its program can run.
#[test]
fn every_software_gets_a_layout_that_it_can_run() {
    for row in STACKS {
        // Of GPUs that it trains on.
        let gpu = if row.on_amd { "mi300x" } else { "h100-sxm-80gb" };
        let run = run_with(&[("stack", row.choice.id), ("gpu", gpu), ("gpus", "16"), ("global_batch", "64")]);
        let choice = chosen(&run);
        assert!(can_run(&choice.run), "{}", row.choice.id);
        let able = row.trainer.abilities();
        assert!(able.pipeline || choice.run.pp == 1, "{}", row.choice.id);
    }
}

/// No large model begins out of memory. Every model of the catalogue on GPUs enough for 24 bytes a
/// parameter gets a layout that fits, in a time that is printed.
#[test]
fn every_model_gets_a_layout_that_fits_on_gpus_enough() {
    let (mut slowest, mut misses) = ((0.0, ""), Vec::new());
    for preset in MODELS {
        let mut run = Run { model: Based::preset(preset.choice.id), gpus: 8, ..Run::default() };
        let parameters = run.model.resolve().unwrap().elements().total() as f64;
        while (run.gpus as f64) * 40e9 < 24.0 * parameters {
            run.gpus *= 2;
        }
        run.seq_len = 4096;
        run.global_batch = 1024;
        let begun = Instant::now();
        let outcome = climbed(&run);
        let time = begun.elapsed().as_secs_f64();
        if time > slowest.0 {
            slowest = (time, preset.choice.id);
        }
        match outcome {
            LadderEnd::Chosen(choice) => assert_eq!(verdict(&choice.run), Verdict::Fits),
            _ => misses.push((preset.choice.id, run.gpus)),
        }
    }
    println!("slowest of {}: {:.0} ms of {}", MODELS.len(), slowest.0 * 1e3, slowest.1);
    assert!(misses.is_empty(), "{misses:?}");
}

/// Jobs of a new user: 70B on 64 H100 at 32k, 405B on 2,048. What is proposed fits; layout and time are printed.
#[test]
fn the_jobs_of_a_new_user_get_a_layout_that_fits() {
    for set in [
        [("model", "llama-3.1-70b"), ("gpus", "64"), ("seq_len", "32768"), ("stack", "megatron-2025")],
        [("model", "llama-3.1-405b"), ("gpus", "2048"), ("seq_len", "8192"), ("stack", "megatron-2025")],
        [("model", "llama-3.1-405b"), ("gpus", "16384"), ("seq_len", "8192"), ("global_batch", "2048")],
        [("model", "deepseek-v3"), ("gpus", "2048"), ("seq_len", "4096"), ("global_batch", "15360")],
        [("model", "llama-3.1-70b"), ("gpus", "1"), ("seq_len", "4096"), ("stack", "hf-trainer")],
    ] {
        let run = run_with(&set);
        let begun = Instant::now();
        let outcome = climbed(&run);
        let time = begun.elapsed().as_millis();
        match &outcome {
            LadderEnd::Chosen(choice) => {
                let Run { tp, pp, cp, ep, zero, recompute, .. } = &choice.run;
                let (peak, step) = (choice.figures.peak.bytes.gib(), choice.figures.time_s.0);
                println!(
                    "{set:?}: TP {tp} PP {pp} CP {cp} EP {ep} ZeRO-{zero} {recompute:?}, {peak:.1} GiB, {step:.2} s, \
                        chosen in {time} ms"
                );
                assert_eq!(verdict(&choice.run), Verdict::Fits);
            }
            LadderEnd::Failed(failure) => println!(
                "{set:?}: {:?}, {:.1} GiB too much, {:?} GPUs, {} adapters, in {time} ms",
                failure.verdict(),
                failure.missing().gib(),
                failure.gpus.as_ref().map(|choice| choice.run.gpus),
                failure.adapters.len()
            ),
            LadderEnd::Undivided => println!("{set:?}: nothing divides"),
        }
    }
}
