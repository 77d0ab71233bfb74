//! The whole run against what was measured: interruptions, checkpoints, power, times to train, published ratios.

use crate::common::{Row, table};
use shardscope::core::report::evaluate;
use shardscope::core::run::presets::{MLPERF_RUNS, Measured, WHOLE_RUNS};
use shardscope::core::run::{ContextPhase, ContextPhases, FailureClass, Failures, Operation, Run, RunLength, Value};
use shardscope::core::units::Seconds;
use shardscope::core::whole_run::{
    Activity, Calendar, LossKind, Range, RangeFrom, Setting, WholeRun, activity, evaluation_time, explain, future,
    node_power, setting, time_to_train, whole_run,
};

fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap_or(f64::NAN)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The default run on a trillion tokens with `length`.
fn run(length: RunLength) -> Run {
    Run { tokens_total: Some(1e12), length, ..Run::default() }
}

fn whole(run: &Run) -> WholeRun {
    whole_run(&evaluate(run).unwrap()).unwrap().0
}

/// Nothing fails, nothing is saved, nothing starts.
fn calm() -> RunLength {
    RunLength { failures: Some(Failures::Rate(0.0)), startup_s: Some(0.0), ..RunLength::default() }
}

#[test]
fn node_power_is_that_of_the_meters() {
    // Shares of time in kernels: all of it on one node, and where more nodes do the same work, what one node's time leaves of theirs.
    let one_node = |benchmark: &str, seconds: f64, nodes: f64| match benchmark {
        "llama2_70b_lora" => 1686.65 / (nodes * seconds),
        "ssd" => 2170.8 / (nodes * seconds),
        _ => 1.0,
    };
    let mut errors = Vec::new();
    for row in table("node_power.csv").iter().filter(|row| row["kind"] == "measured node power") {
        let (nodes, seconds) = (number(row, "nodes"), number(row, "run_s_median"));
        let benchmark = row["source"].rsplit('/').nth(1).unwrap();
        let rated = 8.0 * if row["gpu"].starts_with("B200") { 1000.0 } else { 700.0 };
        let busy = if nodes == 8.0 { one_node(benchmark, seconds, nodes) } else { 1.0 };
        let power = node_power(rated, Activity { busy, waiting: 1.0 - busy });
        let power = if row["metering"] == "DC" { power * 0.978 } else { power };
        let error = power / number(row, "node_W_mean") - 1.0;
        println!("{error:+.3} {}", row["source"]);
        let bound = if row["source"].contains("Dell") { 0.16 } else { 0.04 };
        assert!(error.abs() < bound, "{error:+.3} {}", row["source"]);
        errors.push(error.abs());
    }
    assert_eq!(errors.len(), 15);
    let median = median(errors);
    assert!(median < 0.02, "{median}");
}

#[test]
fn times_to_train_follow_from_step_samples_and_evaluations() {
    let mut errors = Vec::new();
    for row in table("mlperf_training.csv") {
        let (share, samples) = match row["benchmark"].as_str() {
            "llama2_70b_lora" => (0.45, 173.0),
            "llama31_405b" => (0.37, 5760.0),
            "llama31_8b" => (1.0 / 3.0, 1024.0),
            _ => continue,
        };
        let batch = number(&row, "global_batch");
        let step = match (number(&row, "step_s"), number(&row, "throughput")) {
            (step, _) if step > 0.0 => step,
            (_, rate) if rate > 0.0 => batch / rate,
            _ => continue,
        };
        let steps = number(&row, "samples_at_target") / batch;
        let evaluation = evaluation_time(share, samples, Seconds(step), batch);
        let minutes = (steps * step + number(&row, "evals") * evaluation.0) / 60.0;
        let error = minutes / number(&row, "ttt_min_median") - 1.0;
        if error.is_finite() {
            errors.push(error.abs());
        }
    }
    assert!(errors.len() >= 100, "{}", errors.len());
    let median = median(errors);
    assert!(median < 0.01, "{median}");
}

/// With our own step. Half of the runs are within 8 %, half of those on GPUs of 2022 and 2023 or of 405B and GPT-3 within 6 %.
#[test]
fn times_to_train_of_mlperf_follow_from_the_configuration() {
    let table = table("mlperf_training.csv");
    let (mut all, mut known) = (Vec::new(), Vec::new());
    for run in MLPERF_RUNS.iter() {
        let Some(Measured::ToTrain { minutes, samples, evaluations, set }) = run.measured.first().copied() else {
            panic!("{}", run.id)
        };
        // The line of the table has the same figures: minutes, GPUs and batch.
        let settings = run.run();
        let (gpus, batch) = (settings.gpus.to_string(), settings.global_batch.to_string());
        let is_line = |row: &&Row| {
            row["gpus"] == gpus
                && row["global_batch"] == batch
                && number(row, "ttt_min_median").to_bits() == minutes.to_bits()
        };
        let row = table.iter().find(is_line).unwrap_or_else(|| panic!("{}", run.id));
        let tokens = if row["samples_unit"] == "tokens" { 2048.0 } else { 1.0 };
        assert!((number(row, "samples_at_target") / tokens - samples).abs() <= 0.5, "{}", run.id);
        assert!((number(row, "tp"), number(row, "cp")) == (settings.tp as f64, settings.cp as f64), "{}", run.id);
        let evaluation = evaluate(&settings).unwrap();
        let error = time_to_train(&evaluation, samples, evaluations, set).0 / 60.0 / minutes - 1.0;
        println!("{error:+.3} {}", run.id);
        all.push(error.abs());
        let is_older = ["H100", "H200", "MI300X"].iter().any(|gpu| row["gpu"].contains(gpu));
        if is_older || row["benchmark"] == "llama31_405b" || row["benchmark"] == "gpt3" {
            known.push(error.abs());
        }
    }
    println!("{} {}, {} {}", all.len(), median(all.clone()), known.len(), median(known.clone()));
    assert!(all.len() > 50 && known.len() > 25 && median(known) < 0.06 && median(all) < 0.08);
}

#[test]
fn bloom_saves_its_checkpoint_as_it_was_seen() {
    // 2.3 TB by the chronicles; 40 s with 384 writers.
    let run = Run::from_value(&serde_json::from_str::<Value>(r#"{"model":{"layers":70,"hidden":14336,"heads":112,"kv_heads":112,"ffn":57344,"vocab":250880,"gated_ffn":false,"biases":"all","norm":"layernorm","tied_embeddings":true},"gpu":"a100-sxm-80gb","gpus":384,"tp":4,"pp":12,"zero":1,"seq_len":2048,"micro_batch":2,"global_batch":2048,"stage_layers":[5,6,6,6,6,6,6,6,6,6,6,5],"stack":"megatron-2021"}"#).unwrap()).unwrap();
    let length = RunLength { storage_gb_per_s: Some(60.0), checkpoint_async: Some(false), ..RunLength::default() };
    let whole = whole(&Run { tokens_total: Some(366e9), length, ..run });
    assert!((whole.checkpoint_bytes / 2.467e12 - 1.0).abs() < 0.01, "{}", whole.checkpoint_bytes);
    assert!((whole.save_s.0 - 40.0).abs() < 3.0, "{}", whole.save_s.0);
}

#[test]
fn published_ratios_lie_in_the_range() {
    // whole-run.md 2.5: nodes, class, operation, saves every so many hours, published productive share. MegaScale prints "over 90 %".
    let rows = [
        ("byterobust", 1200, FailureClass::Vetted, Operation::Warm, None, 0.97),
        ("megascale", 1250, FailureClass::Vetted, Operation::Automatic, None, 0.90),
        ("bloom", 48, FailureClass::Unknown, Operation::Manual, Some(3.0), 0.93),
    ];
    for (name, nodes, class, operation, every, published) in rows {
        let length = RunLength {
            failures: Some(Failures::Class(class)),
            operation: Some(operation),
            checkpoint_every_s: every.map(|hours: f64| hours * 3600.0),
            ..calm()
        };
        let run = Run { gpus: nodes * 8, tp: 2, pp: 4, global_batch: nodes * 8, ..run(length) };
        let whole = whole(&Run { measured_step_s: Some(10.0), tokens_total: Some(3e13), ..run });
        let range = whole.range.unwrap();
        let (low, high) = (range.low_productive, range.high_productive);
        let holds = if name == "megascale" { high > published } else { (low..=high).contains(&published) };
        assert!(holds, "{name}: {low} to {high}");
    }
}

#[test]
fn a_run_without_failures_saves_and_evaluations_takes_tokens_over_speed() {
    let run = run(calm());
    let plain = evaluate(&run).unwrap().report.step.days.unwrap();
    let whole = whole(&run);
    assert!((whole.days / plain - 1.0).abs() < 1e-12, "{} {plain}", whole.days);
    assert_eq!((whole.spares, whole.interruptions, whole.checkpoint_s), (0, 0.0, None));
}

#[test]
fn the_parts_sum_to_the_calendar_and_tokens_scale_it() {
    let length =
        RunLength { eval_every: Some(500), eval_samples: Some(1024), straggler: Some(1.02), ..RunLength::default() };
    let run = run(length);
    let (one, two) = (whole(&run), whole(&Run { tokens_total: Some(2e12), ..run.clone() }));
    for whole in [&one, &two] {
        let parts = whole.training_s + whole.losses.iter().map(|loss| loss.seconds).sum::<Seconds>();
        assert!((parts.0 / 86_400.0 / whole.days - 1.0).abs() < 1e-12);
        let range = whole.range.unwrap();
        assert!(range.low_days < whole.days && whole.days < range.high_days);
    }
    let startup = one.losses.iter().find(|loss| loss.kind == LossKind::Startup).unwrap().seconds.0 / 86_400.0;
    // Evaluations come in whole numbers.
    assert!(((two.days - startup) / (one.days - startup) - 2.0).abs() < 1e-4);
}

#[test]
fn the_best_interval_is_the_one_that_is_used_and_none_is_better() {
    let run = run(RunLength { failures: Some(Failures::Rate(24.4)), ..RunLength::default() });
    let best = whole(&run);
    for factor in [0.5, 0.8, 1.25, 2.0] {
        let every = best.checkpoint_s.unwrap().0 * factor;
        let length = RunLength { checkpoint_every_s: Some(every), ..run.length.clone() };
        assert!(whole(&Run { length, ..run.clone() }).days >= best.days, "{factor}");
    }
}

#[test]
fn more_failures_longer_downtime_and_more_nodes_never_help() {
    let at = |failures: f64, restart: f64| {
        let length =
            RunLength { failures: Some(Failures::Rate(failures)), restart_s: Some(restart), ..RunLength::default() };
        whole(&run(length)).days
    };
    assert!(at(1.0, 600.0) < at(10.0, 600.0) && at(10.0, 600.0) < at(10.0, 6000.0));
}

#[test]
fn every_formula_gives_its_figure() {
    let length = RunLength {
        eval_every: Some(500),
        eval_samples: Some(1024),
        grid_kg_per_kwh: Some(0.332),
        ..RunLength::default()
    };
    let evaluation = evaluate(&Run { price_per_gpu_hour: Some(2.0), ..run(length) }).unwrap();
    let found = setting(&evaluation, 1e12).unwrap();
    let whole = whole_run(&evaluation).unwrap().0;
    let terms = explain(&evaluation, &found, &whole);
    assert!(terms.len() >= 14, "{}", terms.len());
    for (name, term) in terms {
        if term.formula().is_some() {
            let computed = term.computed().unwrap_or_else(|| panic!("{name:?}: {:?}", term.formula()));
            assert!(
                (computed - term.value).abs() <= 1e-6 * term.value.abs().max(1e-9),
                "{name:?}: {computed} {}",
                term.value
            );
        }
    }
}

#[test]
fn simulated_futures_have_the_mean_of_the_formula() {
    let evaluation =
        evaluate(&run(RunLength { failures: Some(Failures::Rate(200.0)), ..RunLength::default() })).unwrap();
    let setting: Setting = setting(&evaluation, 1e12).unwrap();
    let total = Calendar::new(&setting).total();
    let futures = 200;
    let mean: f64 =
        (0..futures).map(|seed| future(&setting, seed).1.0).sum::<f64>() / f64::from(u32::try_from(futures).unwrap());
    assert!((mean / total.0 - 1.0).abs() < 0.01, "{mean} {}", total.0);
    assert_eq!(future(&setting, 3), future(&setting, 3));
}

#[test]
fn a_run_that_cannot_finish_is_refused_at_its_field() {
    for (length, field) in [
        (RunLength { mtti_h: Some(1e-3), checkpoint_every_s: Some(3600.0), ..RunLength::default() }, "mtti_h"),
        (
            RunLength {
                failures: Some(Failures::Rate(1e6)),
                checkpoint_every_s: Some(36000.0),
                ..RunLength::default()
            },
            "failures",
        ),
        (RunLength { checkpoint_every_s: Some(0.1), ..RunLength::default() }, "checkpoint_every_s"),
    ] {
        let issues = whole_run(&evaluate(&run(length)).unwrap()).unwrap_err();
        assert_eq!(issues[0].field, field);
    }
    let issues = whole_run(&evaluate(&Run::default()).unwrap()).unwrap_err();
    assert_eq!(issues[0].field, "tokens_total");
}

#[test]
fn kernels_and_waiting_fill_the_step() {
    let Activity { busy, waiting } = activity(&evaluate(&Run::default()).unwrap().report.step);
    assert!(busy > 0.3 && waiting > 0.0 && (busy + waiting - 1.0).abs() < 1e-12);
}

#[test]
fn a_phase_takes_the_steps_of_a_run_at_its_length() {
    // Llama 3: 16 M tokens a batch at every length; here a quarter of the tokens with sequences four times as long.
    let plain = run(calm());
    let phases = ContextPhases(vec![ContextPhase { seq_len: 4 * plain.seq_len, tokens: 0.25e12, cp: None }]);
    let phased = run(RunLength { context_phases: Some(phases), ..calm() });
    let long = Run { seq_len: 4 * plain.seq_len, global_batch: plain.global_batch / 4, ..plain.clone() };
    let (phased, plain, long) = (whole(&phased), whole(&plain), whole(&long));
    assert!((phased.days / (0.75 * plain.days + 0.25 * long.days) - 1.0).abs() < 1e-9, "{}", phased.days);
    assert!((phased.steps / plain.steps - 1.0).abs() < 1e-12);
}

#[test]
fn rollbacks_take_their_steps_and_a_phase_that_cannot_run_is_refused() {
    // PaLM: 20 spikes, each back 100 steps.
    let (plain, back) = (whole(&run(calm())), whole(&run(RunLength { rollbacks: Some(20), ..calm() })));
    let step = plain.training_s / plain.steps;
    assert!((back.days - plain.days - 2000.0 * step.0 / 86_400.0).abs() < 1e-9 * plain.days);
    for (phase, cp) in [(7, None), (1 << 24, Some(1 << 19)), (8192, Some(3))] {
        let phase = ContextPhase { seq_len: phase, tokens: 1e11, cp };
        let run = run(RunLength { context_phases: Some(ContextPhases(vec![phase])), ..calm() });
        match setting(&evaluate(&run).unwrap(), 1e12) {
            Err(issues) => assert_eq!(issues[0].field, "context_phases"),
            Ok(setting) => assert!(setting.steps.time.0.is_finite() && phase.seq_len == 7),
        }
    }
    let much = ContextPhase { seq_len: 8192, tokens: 2e12, cp: None };
    let run = run(RunLength { context_phases: Some(ContextPhases(vec![much])), ..calm() });
    assert_eq!(setting(&evaluate(&run).unwrap(), 1e12).unwrap_err()[0].field, "context_phases");
}

/// Figures that lie outside the printed range, and why. One that comes to lie in it has to go; the list must not grow.
const MISSES: &[(&str, &str)] = &[(
    "whole-llama-3-405b: Days(89.25)",
    "30.84 M GPU-hours on 16,384 GPUs are 78 days, which lie in it: the 89 of Epoch's table hold more than this job",
)];

/// Rows of `whole_run.csv`: every figure that a source states lies in the range that is printed for it.
#[test]
fn published_whole_runs_lie_in_the_printed_range_but_for_the_misses_that_are_named() {
    let mut missed = Vec::new();
    for known in WHOLE_RUNS {
        let evaluation = evaluate(&known.run()).unwrap();
        let (whole, _) = whole_run(&evaluation).unwrap();
        let (range, step) = (whole.range.unwrap(), &evaluation.report.step);
        let slow = step.high_s / step.time_s;
        let fast = step.low_s / step.time_s;
        let hours = 24.0 * evaluation.scenario.run.gpus as f64;
        // Four of five, of the rate's class: the mean time between interruptions has its range.
        let often = (1.281_55 * setting(&evaluation, whole.tokens).unwrap().doubt.rate).exp();
        for measured in known.measured {
            let (theirs, low, high) = match *measured {
                Measured::Days(theirs) => (theirs, range.low_days, range.high_days),
                Measured::JobHours(theirs) => (theirs, range.low_days * hours, range.high_days * hours),
                Measured::Interruptions(theirs, days) => {
                    let mean = whole.interruptions * days / whole.days;
                    (theirs, mean / often, mean * often)
                }
                Measured::HoursToInterrupt(theirs) => {
                    let mean = whole.mtti_s.unwrap().0 / 3600.0;
                    (theirs, mean / often, mean * often)
                }
                Measured::Productive(theirs) => (theirs, range.low_productive, range.high_productive),
                Measured::Step(theirs) => (theirs, step.low_s.0, step.high_s.0),
                Measured::HardwareTflops(theirs) => {
                    let rate = step.tflops_per_gpu * step.hfu / step.mfu;
                    (theirs, rate / slow, rate / fast)
                }
                Measured::Tokens(theirs) => {
                    (theirs, step.tokens_per_s_per_gpu / slow, step.tokens_per_s_per_gpu / fast)
                }
                other => unreachable!("{other:?}"),
            };
            println!("{}: {measured:?}: {low:.3} to {high:.3}", known.id);
            if !(low..=high).contains(&theirs) {
                missed.push(format!("{}: {measured:?}", known.id));
            }
        }
    }
    assert_eq!(missed, MISSES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}

/// Table 5 of Llama 3: 419 unexpected interruptions in 54 days on 2,048 nodes. The rate of the other three fleets of vetted nodes says 387
/// (whole-run.md 2.1), over the calendar, as rates are counted.
#[test]
fn the_other_fleets_predict_the_interruptions_of_llama_3_over_the_calendar() {
    let others = [2.34, 24.0 / (0.23 * 16_384.0) * 1000.0, 10.0 / (63.0 * 55.0) * 1000.0_f64];
    let rate = others.iter().map(|rate| rate.ln()).sum::<f64>() / 3.0;
    let known = WHOLE_RUNS.iter().find(|known| known.id == "whole-llama-3-405b").unwrap().run();
    let at = |length: RunLength| {
        let whole = whole(&Run { length, ..known.clone() });
        whole.interruptions * 54.0 / (whole.days - whole.losses[0].seconds.0 / 86_400.0)
    };
    let pool = RunLength { failures: Some(Failures::Rate(rate.exp())), ..known.length.clone() };
    for operation in [Operation::Warm, Operation::Automatic, Operation::Manual] {
        let count = at(RunLength { operation: Some(operation), ..pool.clone() });
        assert!((count - 387.0).abs() < 2.0 && (count / 419.0 - 1.0).abs() < 0.08, "{operation:?}: {count}");
    }
}

/// Where the mean time to interrupt is known, four of five outcomes lie within 15 points of the productive share. One class of operation
/// cannot say so much: a person who is called takes 2 h known to a factor (σ 0.4, whole-run.md 2.2), which alone leaves `1/(1 + R/M)` open
/// by more where a person is called more often than every nine hours. There the page names the downtime, and one of one's own mends it.
#[test]
fn a_known_time_to_interrupt_leaves_a_range_of_at_most_15_points() {
    for (nodes, mtti, operation) in [
        (48, 160.0, Operation::Manual),
        (128, 24.0, Operation::Manual),
        (128, 10.0, Operation::Manual),
        (128, 7.5, Operation::Manual),
        (128, 4.0, Operation::Manual),
        (128, 7.5, Operation::Automatic),
        (2048, 2.78, Operation::Automatic),
        (2048, 2.78, Operation::Warm),
        (16_384, 0.5, Operation::Warm),
    ] {
        let length = RunLength { mtti_h: Some(mtti), operation: Some(operation), ..RunLength::default() };
        // A month: the range is that of one run, and a shorter one has fewer interruptions to average over.
        let one =
            Run { gpus: nodes * 8, tp: 2, pp: 4, global_batch: nodes * 8, measured_step_s: Some(10.0), ..run(length) };
        let tokens = 30.0 * 8640.0 * (one.global_batch * one.seq_len) as f64;
        let one = Run { tokens_total: Some(tokens), ..one };
        let (whole, notes) = whole_run(&evaluate(&one).unwrap()).unwrap();
        let range = whole.range.unwrap();
        let width = range.high_productive - range.low_productive;
        let of_class = |z: f64| 1.0 / (1.0 + 2.0 / mtti * (0.4 * z - 0.08).exp());
        let is_open = operation == Operation::Manual && of_class(-1.2816) - of_class(1.2816) > 0.15;
        assert_eq!(is_open, width > 0.15, "{nodes} {mtti} {operation:?}: {width}");
        assert!(!is_open || mtti < 9.0 && range.range_from == Some(RangeFrom::Operation));
        let own = RunLength { restart_s: Some(7200.0), ..one.length.clone() };
        let own = self::whole(&Run { length: own, ..one.clone() }).range.unwrap();
        assert!(operation != Operation::Manual || own.high_productive - own.low_productive < 0.15);
        assert!(notes.iter().all(|note| note.field != "failures"));
        let class = Run { length: RunLength { mtti_h: None, ..one.length.clone() }, ..one };
        let Ok((_, notes)) = whole_run(&evaluate(&class).unwrap()) else { continue };
        assert!(notes.iter().any(|note| note.field == "failures" && note.message.to_string().contains("class")));
    }
}

/// The step's own range moves days and energy, not the share of the calendar that trains: steps of both ends have the same interruptions an hour.
#[test]
fn the_range_of_the_productive_share_does_not_hold_the_step() {
    let predicted = run(RunLength { mtti_h: Some(24.0), ..RunLength::default() });
    let step = evaluate(&predicted).unwrap().report.step;
    let measured = Run { measured_step_s: Some(step.time_s.0), ..predicted.clone() };
    let [open, exact] = [&predicted, &measured].map(|run| whole(run).range.unwrap());
    assert!(open.high_days - open.low_days > 1.5 * (exact.high_days - exact.low_days));
    let width = |range: Range| range.high_productive - range.low_productive;
    assert!((width(open) / width(exact) - 1.0).abs() < 1e-9 && open.high_productive < 1.0);
}

/// An impossible value is refused at its field, by one message, and nothing of the answer is NaN.
#[test]
fn bad_input_has_its_message_at_its_field() {
    let answer = |settings: &str| {
        let value: Value = serde_json::from_str(&format!("{{\"gpus\":64{settings}}}")).unwrap();
        match shardscope::core::whole_run::answer(&value) {
            Ok(reply) => Ok(serde_json::to_string(&reply).unwrap()),
            Err(issues) => Err((issues[0].field.clone(), issues[0].message.to_string())),
        }
    };
    let tokens = ",\"tokens_total\":1e12";
    for (settings, field, says) in [
        (String::new(), "tokens_total", "needs a number of tokens"),
        (",\"tokens_total\":0".to_owned(), "tokens_total", "1"),
        (format!("{tokens},\"price_per_gpu_hour\":-1"), "price_per_gpu_hour", "0"),
        (format!("{tokens},\"storage_gb_per_s\":0"), "storage_gb_per_s", "0.001"),
        (format!("{tokens},\"failures\":\"-1\""), "failures", ""),
        (
            format!("{tokens},\"failures\":\"1e5\",\"operation\":\"manual\""),
            "failures",
            "does not finish: a restart takes",
        ),
        (
            format!("{tokens},\"failures\":\"1e5\",\"restart_s\":0,\"checkpoint_every_s\":864000"),
            "failures",
            "does not finish",
        ),
        (format!("{tokens},\"mtti_h\":0.001,\"checkpoint_every_s\":3600"), "mtti_h", "does not finish"),
        (format!("{tokens},\"pue\":0.9"), "pue", "1"),
        (format!("{tokens},\"grid_kg_per_kwh\":-0.1"), "grid_kg_per_kwh", "0"),
        (format!("{tokens},\"restart_s\":-1"), "restart_s", "0"),
        (format!("{tokens},\"mtti_h\":0"), "mtti_h", "0.001"),
        (format!("{tokens},\"eval_every\":0"), "eval_every", "1"),
        (format!("{tokens},\"batch_ramp\":[512,16,1000]"), "batch_ramp", "increment"),
        (format!("{tokens},\"batch_ramp\":[16,7,1000]"), "batch_ramp", "increment"),
        (
            format!("{tokens},\"checkpoint_async\":false,\"storage_gb_per_s\":0.01,\"checkpoint_every_s\":60"),
            "checkpoint_every_s",
            "longer than",
        ),
    ] {
        let (at, message) = answer(&settings).expect_err(&settings);
        assert_eq!(at, field, "{settings}: {message}");
        assert!(message.contains(says), "{settings}: {message}");
    }
    for settings in
        ["\"mtti_h\":0.05", "\"pue\":4", "\"grid_kg_per_kwh\":300", "\"failures\":\"0\"", "\"tokens_total\":1"]
    {
        let given = if settings.contains("tokens") { "" } else { tokens };
        let reply = answer(&format!("{given},{settings}")).unwrap();
        assert!(!reply.contains("NaN") && !reply.contains("\"days\":null"), "{settings}: {reply}");
    }
}
