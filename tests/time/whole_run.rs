//! The whole run: its calendar, phases, futures and formulas.

use shardscope::core::report::evaluate;
use shardscope::core::run::{ContextPhase, ContextPhases, Failures, Run, RunLength};
use shardscope::core::units::Seconds;
use shardscope::core::whole_run::{
    Activity, Calendar, LossKind, Setting, WholeRun, activity, future, setting, whole_run,
};

/// The default run on a trillion tokens with `length`.
pub fn run(length: RunLength) -> Run {
    Run { tokens_total: Some(1e12), length, ..Run::default() }
}

pub fn whole(run: &Run) -> WholeRun {
    whole_run(&evaluate(run).unwrap()).unwrap().0
}

/// Nothing fails, nothing is saved, nothing starts.
pub fn calm() -> RunLength {
    RunLength { failures: Some(Failures::Rate(0.0)), startup_s: Some(0.0), ..RunLength::default() }
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
