//! Steps of reinforcement learning: published ones, the closed forms against a simulated queue, and what is refused.
//!
//! `tests/data/rl_steps.csv`: steps that NeMo-RL (`docs/about/performance-summary.md` at three commits) and verl
//! (`docs/advance/v1_async_trainer.md`) print, with the settings of the recipe of the same commit. Prompts of 100
//! tokens follow from NeMo-RL's printed tokens a second; verl prints no share of the memory, no prompt and no limit of
//! staleness: 0.7, 200 and 1 are assumed.

use shardscope::core::report::evaluate;
use shardscope::core::rl::{
    Batch, EngineModel, EngineRates, GpuGroup, Lengths, Queue, RlStep, WaitsFor, answer, changes, predict, predict_at,
    range_of_framework, step,
};
use shardscope::core::run::Run;
use shardscope::core::units::Seconds;
use shardscope::io::link::decode;

struct Row {
    framework: String,
    step_s: f64,
    run: String,
}

fn rows(framework: &str) -> Vec<(Row, RlStep)> {
    let text = include_str!("../data/rl_steps.csv");
    let rows = text.lines().skip(1).map(|line| {
        let cells: Vec<_> = line.splitn(5, ',').collect();
        let run = cells[4].trim_matches('"').to_owned();
        Row { framework: cells[2].to_owned(), step_s: cells[3].parse().unwrap(), run }
    });
    let rows = rows.filter(|row| row.framework == framework);
    rows.map(|row| {
        let predicted = predict(&run(&row.run)).unwrap_or_else(|issues| panic!("{}: {issues:?}", row.run));
        (row, predicted)
    })
    .collect()
}

/// The Run of a link that is understood whole.
fn run(link: &str) -> Run {
    let read = decode(link);
    assert!(read.notices.is_empty(), "{link}: {:?}", read.notices);
    read.run
}

const COLOCATED: &str = "v=1&model=qwen-3-32b&gpus=64&tp=8&pp=1&seq_len=4096&stack=megatron-2025\
    &phases.framework=nemo-rl&rl.algorithm=grpo&rl.prompts=256&rl.samples=8&rl.prompt_tokens=100\
    &rl.response_tokens.mean=1500&rl.response_limit=4096&rl.rollout_tp=4";

fn with(more: &str) -> Run {
    run(&format!("{COLOCATED}&{more}"))
}

fn field(more: &str) -> String {
    step(&with(more)).expect_err(more)[0].field.clone()
}

#[test]
fn published_steps_of_nemo_rl_are_predicted() {
    let rows = rows("nemo-rl");
    assert_eq!(rows.len(), 24);
    let off = |(row, predicted): &(Row, RlStep)| (predicted.step_s.0 / row.step_s - 1.0).abs();
    let mut errors: Vec<f64> = rows.iter().map(off).collect();
    errors.sort_by(f64::total_cmp);
    for (row, predicted) in &rows {
        println!("{:6.1} {:6.1} {}", row.step_s, predicted.step_s.0, &row.run[4..60]);
    }
    // The errors of the constants' own fit: median 15 %, 18 of 24 within 25 %, the largest 70 %.
    assert!(errors[12] < 0.15, "{}", errors[12]);
    assert!(errors[17] < 0.25, "{}", errors[17]);
    assert!(errors[23] < 0.70, "{}", errors[23]);
}

#[test]
fn ranges_hold_published_steps() {
    for (framework, holds) in [("nemo-rl", 0.75), ("verl", 1.0)] {
        let rows = rows(framework);
        let inside = rows.iter().filter(|(row, step)| (step.low_s.0..=step.high_s.0).contains(&row.step_s)).count();
        assert!(inside as f64 >= holds * rows.len() as f64, "{framework}: {inside} of {}", rows.len());
    }
}

/// The constants that were fitted to NeMo-RL's steps: seconds of a layer, times its messages across nodes, and the
/// updates over those of the shipped constant.
type Fit = (EngineRates, f64);

/// What a fit chooses from: around the priors (160 µs, 4) and the shipped constants (200 µs, 2, 1).
fn fits() -> Vec<Fit> {
    let mut list = Vec::new();
    for layer in [120e-6, 160e-6, 200e-6, 240e-6, 280e-6] {
        for across_nodes in [1.0, 2.0, 4.0] {
            let rates = EngineRates { layer_s: layer, across_nodes, ..EngineRates::default() };
            list.extend([0.6, 0.75, 0.9, 1.0, 1.1, 1.25].map(|over| (rates, over)));
        }
    }
    list
}

/// Seconds of a predicted step whose training takes `over` times as long.
fn with_training(step: &RlStep, over: f64) -> f64 {
    let (generation, training) = (step.generation_s.0, step.training_s.0 * over);
    let both = if step.bound == WaitsFor::InTurn { generation + training } else { generation.max(training) };
    both + step.sync_s.0
}

/// Each model of the published steps is left out of the fit of the three constants and predicted by the others' fit:
/// measured over predicted is inside the range of its framework for three of four steps at least, and the range is not
/// so wide that it holds more than nine of ten.
#[test]
fn ranges_hold_steps_of_models_that_the_fit_left_out() {
    let fits = fits();
    let mut rows = Vec::new();
    for framework in ["nemo-rl", "verl"] {
        for (row, _) in self::rows(framework) {
            let run = run(&row.run);
            let model = run.model.base.unwrap_or_default();
            // A fit differs in the engine every sixth time.
            let mut steps: Vec<f64> = Vec::new();
            for same in fits.chunks(6) {
                let step = predict_at(&run, same[0].0).unwrap();
                steps.extend(same.iter().map(|(_, over)| with_training(&step, *over)));
            }
            rows.push((row, model, range_of_framework(run.phases.framework), steps));
        }
    }
    let models: std::collections::BTreeSet<&str> = rows.iter().map(|(_, model, ..)| *model).collect();
    assert!(models.len() >= 5, "{models:?}");
    let (mut inside, mut errors) = (0, Vec::new());
    let mut held: std::collections::BTreeMap<&str, [usize; 2]> = std::collections::BTreeMap::new();
    for left_out in models {
        // Fitted to NeMo-RL alone, as the shipped constants are.
        let seen = rows.iter().filter(|(row, model, ..)| *model != left_out && row.framework == "nemo-rl");
        let seen: Vec<_> = seen.collect();
        let off = |at: usize| seen.iter().map(|(row, .., steps)| (steps[at] / row.step_s).ln().abs()).sum::<f64>();
        let best = (0..fits.len()).min_by(|a, b| off(*a).total_cmp(&off(*b))).unwrap();
        for (row, _, [low, high], steps) in rows.iter().filter(|(_, model, ..)| *model == left_out) {
            let ratio = row.step_s / steps[best];
            let is_inside = usize::from((*low..=*high).contains(&ratio));
            inside += is_inside;
            let [within, all] = held.entry(row.framework.as_str()).or_default();
            *within += is_inside;
            *all += 1;
            errors.push((1.0 / ratio - 1.0).abs());
            let (rates, over) = fits[best];
            println!("{left_out}: {ratio:.2} by {:.0} µs, {}, {over}", rates.layer_s * 1e6, rates.across_nodes);
        }
    }
    errors.sort_by(f64::total_cmp);
    let (share, median) = (inside as f64 / errors.len() as f64, errors[errors.len() / 2]);
    println!("{inside} of {} inside, median error {median:.3}", errors.len());
    assert!((0.75..=0.9).contains(&share), "{share}");
    assert!(median < 0.25, "{median}");
    // What page and code say of the ranges are the counts of these rows.
    let page = include_str!("../../docs/methods/reinforcement-learning.md");
    let code = include_str!("../../src/core/rl/range.rs").replace("\n///", "");
    for (id, name) in [("nemo-rl", "NeMo-RL"), ("verl", "verl")] {
        let [within, all] = held[id];
        let row = page.lines().find(|line| line.starts_with(&format!("| {name} |"))).unwrap();
        assert!(row.ends_with(&format!("| {within} of {all} steps of models that a fit had left out are inside |")));
        assert!(code.contains(&format!("{name} {within} of {all}")), "{name} {within} of {all}");
    }
    assert!(page.contains(&format!("inside these ranges\n{inside} times of {} (", errors.len())));
}

/// A colocated trainer's weights, master weights and moments leave the GPU and return: `2 P/t + 12 P/(t d)` bytes with
/// Adam in fp32 (Megatron-LM `docs/dist_optimizer.md`: 6 + 12/d, of which 4 are gradients), 8 for 12 with moments of
/// two bytes. Gradients are freed, not copied, whatever they are kept in (`param_and_grad_buffer.py`, `offload_to_cpu`).
#[test]
fn what_leaves_a_trainer_is_what_its_settings_keep() {
    let seconds = |more: &str| -> f64 {
        let link = if more.starts_with("tp=") { COLOCATED.replace("tp=8", more) } else { format!("{COLOCATED}{more}") };
        let step = predict(&run(&link)).unwrap();
        let own = step.phases.iter().filter(|phase| phase.name.id() == "offload");
        own.map(|phase| phase.seconds.0).sum()
    };
    let usual = seconds("");
    let bytes = |tp: f64, states: f64| (2.0 + states / (64.0 / tp)) / tp;
    for (more, tp, states) in
        [("&precision=bf16-fp32-grads&precision.moment1=2&precision.moment2=2", 8.0, 8.0), ("tp=4", 4.0, 12.0)]
    {
        let (ratio, expected) = (seconds(more) / usual, bytes(tp, states) / bytes(8.0, 12.0));
        // The vocabulary is padded to a multiple of 128 t.
        assert!((ratio / expected - 1.0).abs() < 1e-3, "{more}: {ratio} {expected}");
    }
    assert_eq!(seconds("&precision=bf16-fp32-grads&precision.grads=2"), usual);
}

/// verl's own report (`dynamic_schedule.md`): with 16 GPUs of 32 the engines are waited for, with 24 the trainer is.
#[test]
fn both_sides_of_a_published_split_bind_as_measured() {
    let rows = rows("verl");
    let split = rows.iter().find(|(row, _)| row.run.contains("split")).unwrap();
    let point = |gpus: u64| {
        // Eight GPUs that train have four ranks outside the pipeline.
        let link = split.0.run.replace("&ep=8", "&ep=4");
        let run = run(&link.replace("rollout_gpus=16", &format!("rollout_gpus={gpus}")));
        predict(&run).unwrap()
    };
    let (half, more) = (point(16), point(24));
    assert!(half.generation_s > half.training_s, "{half:?}");
    assert!(more.generation_s < more.training_s, "{more:?}");
    // It measured a difference of 2.6 %: nothing that is told apart.
    assert_eq!(step(&run(&split.0.run)).unwrap().best, None);
}

/// Four engines of 64 slots, 64 responses of 1000 tokens, cut at 8000; an iteration takes 20 + 0.2 n ms.
fn queue(lengths: &Lengths, in_flight: f64, by_start: bool) -> Queue<'_> {
    let iteration = |responses: f64| 0.020 + 0.0002 * responses;
    Queue { engines: 4, slots: 64, batch: 64, lengths, in_flight, by_start, training: 1.0, iteration }
}

/// The closed form of the same queue.
fn form(lengths: &Lengths, in_flight: f64, by_start: bool) -> f64 {
    let engine = EngineModel::of_times(Seconds(0.020), Seconds(0.0002), 64.0);
    let (used, generated) = (64.0, 64.0);
    let batch =
        Batch { lengths, prompt: 0.0, samples: 1.0, used, generated, oversampling: 1.0, engines: 4.0, tools: 0.0 };
    if in_flight > 1.0 {
        batch.stream(&engine, in_flight, by_start).total().0.max(1.0)
    } else {
        batch.together(&engine).total().0 + 1.0
    }
}

fn lengths(sigma: f64) -> Lengths {
    let link = format!("v=1&rl.algorithm=grpo&rl.response_tokens.mean=1000&rl.response_tokens.sigma={sigma}");
    Lengths::of(&run(&link).rl.response_tokens, 8000.0).unwrap()
}

/// Another simulation of this queue gave these seconds (by finish, and by start, at σ 0.5 and 1).
#[test]
fn the_queue_is_that_of_another_simulation() {
    for (sigma, by_start, in_flight, seconds) in [
        (0.5, false, 1.5, 22.7),
        (0.5, false, 2.0, 16.7),
        (0.5, false, 3.0, 11.4),
        (0.5, false, 5.0, 8.3),
        (1.0, false, 2.0, 16.7),
        (1.0, false, 3.0, 11.1),
        (0.5, true, 2.0, 32.2),
        (0.5, true, 3.0, 23.5),
        (0.5, true, 5.0, 15.5),
        (1.0, true, 2.0, 66.1),
        (1.0, true, 3.0, 47.6),
        (1.0, true, 5.0, 30.3),
    ] {
        let lengths = lengths(sigma);
        let simulated = queue(&lengths, in_flight, by_start).step(7);
        assert!((simulated / seconds - 1.0).abs() < 0.12, "{sigma} {by_start} {in_flight}: {simulated} for {seconds}");
    }
}

#[test]
fn closed_forms_are_near_the_queue() {
    let mut errors = Vec::new();
    for sigma in [0.3, 0.5, 1.0] {
        let lengths = lengths(sigma);
        for by_start in [false, true] {
            for in_flight in [1.0, 2.0, 3.0, 5.0, 9.0] {
                let simulated = queue(&lengths, in_flight, by_start).step(11);
                let off = (form(&lengths, in_flight, by_start) / simulated - 1.0).abs();
                println!("{sigma} {by_start} {in_flight}: {simulated:.1} {:.1}", form(&lengths, in_flight, by_start));
                errors.push(off);
            }
        }
    }
    errors.sort_by(f64::total_cmp);
    assert!(errors[errors.len() / 2] < 0.11, "{errors:?}");
    assert!(errors[errors.len() - 1] < 0.22, "{errors:?}");
}

#[test]
fn phases_in_turn_add_up_to_the_step() {
    for more in ["", "rl.algorithm=ppo", "phases.reward=policy&rl.verifier_s=3", "rl.turns=3&rl.tool_s=2"] {
        let step = predict(&with(more)).unwrap();
        let sum: f64 = step.phases.iter().map(|phase| phase.seconds.0).sum();
        assert!((sum / step.step_s.0 - 1.0).abs() < 1e-9, "{more}: {sum} {}", step.step_s.0);
        assert_eq!(step.bound, WaitsFor::InTurn);
    }
}

#[test]
fn a_group_works_and_waits_for_the_whole_step() {
    for more in ["rl.staleness=1", "rl.staleness=4", "rl.staleness=0"] {
        let step = predict(&with(&format!("rl.placement=split&rl.rollout_gpus=32&{more}"))).unwrap();
        for group in [GpuGroup::Engines, GpuGroup::Trainer] {
            let of = step.phases.iter().filter(|phase| phase.group == group);
            let work: f64 = of.map(|phase| phase.seconds.0).sum();
            let idle = step.idle.iter().find(|idle| idle.group == group).unwrap().share;
            assert!((work / step.step_s.0 + idle - 1.0).abs() < 1e-9, "{more} {group:?}");
        }
    }
}

/// TRL's server waits while the trainer works, and the reverse (huggingface.co/blog/vllm-colocate): a sum of both.
#[test]
fn two_pools_without_staleness_overlap_nothing() {
    let step = predict(&with("phases.framework=trl&rl.placement=split&rl.rollout_gpus=32")).unwrap();
    assert_eq!(step.bound, WaitsFor::InTurn);
    assert!(step.step_s > step.generation_s + step.training_s);
}

/// slime's `train_async.py` (624b824) and `OpenRLHF`'s `ppo_trainer_async.py` (3c3be623) begin a batch when the last is
/// whole: its responses start together, so that the longest sets the time whatever the staleness.
#[test]
fn whole_batches_beside_training_take_as_long_as_in_turn() {
    for framework in ["slime", "openrlhf"] {
        let split = format!("phases.framework={framework}&rl.placement=split&rl.rollout_gpus=32&rl.memory_share=0.8");
        let turn = predict(&with(&split)).unwrap();
        let beside = predict(&with(&format!("{split}&rl.staleness=1"))).unwrap();
        assert!((beside.generation_s.0 / turn.generation_s.0 - 1.0).abs() < 1e-9, "{framework}");
        let longer = beside.generation_s.max(beside.training_s);
        assert!((beside.step_s.0 - longer.0 - beside.sync_s.0).abs() < 1e-9, "{framework}");
        assert!(beside.step_s < turn.step_s);
    }
}

/// GPUs of engines that stand apart hold no part of the training: the report of a Run is that of its trainer.
#[test]
fn the_report_of_a_split_run_is_that_of_the_gpus_that_train() {
    for (engines, trainer) in [(32, 32), (16, 48), (48, 16)] {
        let run = with(&format!("global_batch=96&rl.placement=split&rl.rollout_gpus={engines}&rl.memory_share=0.6"));
        let split = evaluate(&run).unwrap();
        let phases = "phases.framework=nemo-rl&phases.placement=engine-apart&phases.rollout_tp=4";
        let alone = decode(&format!(
            "v=1&model=qwen-3-32b&gpus={trainer}&tp=8&pp=1&seq_len=4096&stack=megatron-2025&global_batch=96&{phases}"
        ));
        let alone = evaluate(&alone.run).unwrap();
        assert_eq!(split.scenario.layout.gpus, trainer);
        let [one, other] = [&split, &alone].map(|of| (of.report.step.time_s, of.report.memory.peak_bytes));
        assert_eq!(one, other);
    }
}

#[test]
fn less_to_wait_for_is_never_slower() {
    let time = |more: &str| predict(&with(more)).unwrap().step_s.0;
    let split = |more: &str| time(&format!("rl.placement=split&rl.rollout_gpus=32&{more}"));
    let pairs = [
        (time("rl.response_limit=3000"), time("rl.response_limit=8192")),
        (time("rl.memory_share=0.9"), time("rl.memory_share=0.6")),
        (time("rl.response_tokens.mean=1000"), time("rl.response_tokens.mean=2000")),
        (time("rl.old_log_probs=false"), time("rl.old_log_probs=true")),
        (time("rl.rollout_precision=fp8&rl.sync_gb_per_s=20"), time("rl.sync_gb_per_s=20")),
        (time("rl.cache_precision=fp8"), time("")),
        (time(""), time("rl.eager=true")),
        (time("rl.oversampling=1.5"), time("rl.filtered=0.5")),
        (split("rl.staleness=1"), split("rl.staleness=0")),
        (split("rl.staleness=2"), split("rl.staleness=1")),
        (split("rl.staleness=1&rl.order=finish"), split("rl.staleness=1&rl.order=start")),
    ];
    for (at, (less, more)) in pairs.into_iter().enumerate() {
        assert!(less <= more * (1.0 + 1e-9), "{at}: {less} {more}");
    }
}

#[test]
fn a_logged_step_scales_and_narrows() {
    let free = predict(&with("")).unwrap();
    let logged = predict(&with("rl.measured_generation_s=100&rl.measured_update_s=40&rl.measured_sync_s=6")).unwrap();
    assert!((logged.generation_s.0 - 100.0).abs() < 1e-9);
    let width = |step: &RlStep| step.high_s.0 / step.low_s.0;
    assert!(width(&logged) < width(&free));
}

/// A change that is listed is the run with that one setting, and no phase of it runs out of memory.
#[test]
fn what_moves_a_step_is_the_run_with_one_setting_changed() {
    for more in ["", "rl.eager=true", "rl.placement=split&rl.rollout_gpus=32&rl.staleness=1"] {
        let link = format!("{COLOCATED}&{more}");
        let link = link.trim_end_matches('&');
        let present = predict(&run(link)).unwrap();
        let list = changes(&run(link), &present);
        assert!(list.len() >= 2, "{more}: {list:?}");
        for change in list {
            let pairs = link.split('&').filter(|pair| pair.split('=').next() != Some(change.field));
            let kept: Vec<&str> = pairs.collect();
            let changed = format!("{}&{}={}", kept.join("&"), change.field, change.value);
            let step = predict(&run(&changed)).unwrap();
            assert_eq!(step.step_s, change.step_s, "{changed}");
            assert!(step.memory.iter().all(|phase| phase.bytes <= step.capacity_bytes), "{changed}");
        }
    }
}

#[test]
fn what_is_missing_is_asked_for_at_its_field() {
    let bare = run("v=1&rl.algorithm=dapo&rl.turns=2");
    let fields: Vec<_> = step(&bare).unwrap_err().into_iter().map(|issue| issue.field).collect();
    let asked = [
        "rl.prompts",
        "rl.samples",
        "rl.prompt_tokens",
        "rl.response_tokens.mean",
        "rl.response_limit",
        "rl.filtered",
        "rl.tool_s",
    ];
    assert_eq!(fields, asked);
    assert_eq!(step(&run("v=1")).unwrap_err()[0].field, "rl.algorithm");
}

#[test]
fn what_cannot_work_is_named_at_its_field() {
    for (more, at) in [
        ("rl.placement=split&rl.rollout_gpus=64", "rl.rollout_gpus"),
        ("rl.placement=split&rl.rollout_gpus=72", "rl.rollout_gpus"),
        ("rl.placement=split", "rl.rollout_gpus"),
        ("rl.placement=split&rl.rollout_gpus=30", "rl.rollout_gpus"),
        ("rl.placement=split&rl.rollout_gpus=60", "rl.rollout_gpus"),
        ("rl.response_limit=1024", "rl.response_limit"),
        ("rl.staleness=2", "rl.staleness"),
        ("rl.rollout_tp=1&rl.memory_share=0.6", "rl.rollout_tp"),
        ("rl.updates=60000", "rl.updates"),
        ("rl.tool_s=5", "rl.turns"),
    ] {
        assert_eq!(field(more), at, "{more}");
    }
}

#[test]
fn what_no_setting_tells_is_refused_with_a_sentence() {
    for key in ["steps_to_reward", "convergence", "sample_efficiency", "filter_share", "tool_time", "length_growth"] {
        let request = serde_json::from_str(&format!(r#"{{"run":{{}},"{key}":true}}"#)).unwrap();
        let issues = answer(&request).unwrap_err();
        assert_eq!(issues[0].field, key);
        assert!(issues[0].message.to_string().len() > 40);
    }
}
