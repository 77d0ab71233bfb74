//! Bounds of the whole run: invariants of random runs, and its range.

use crate::common::random::{Random, random_run};
use crate::whole_run::{run, whole};
use shardscope::core::report::{Evaluation, evaluate};
use shardscope::core::run::{ContextPhase, ContextPhases, FailureClass, Failures, Operation, Run, RunLength};
use shardscope::core::whole_run::{
    CalendarRange, LossKind, RangeFrom, Rhythm, WholeRunFigure, deadline, explain, figures, setting, tokens_in,
    whole_run,
};

/// Settings of the whole run as people give them, each once in a while.
fn random_length(random: &mut Random) -> RunLength {
    let rates = [0.0, 0.3, 3.57, 9.33, 24.4, 200.0].map(Failures::Rate);
    let classes = [FailureClass::Vetted, FailureClass::Shared, FailureClass::Unknown].map(Failures::Class);
    RunLength {
        failures: Some(if random.once_in(2) { random.one(&rates) } else { random.one(&classes) }),
        mtti_h: random.once_in(4).then(|| random.one(&[2.0, 7.5, 160.0])),
        operation: random.once_in(2).then(|| random.one(&[Operation::Warm, Operation::Automatic, Operation::Manual])),
        restart_s: random.once_in(4).then(|| random.one(&[0.0, 60.0, 7200.0])),
        storage_gb_per_s: random.once_in(2).then(|| random.one(&[0.5, 5.0, 50.0, 2000.0])),
        checkpoint_async: random.once_in(3).then_some(false),
        checkpoint_every_s: random.once_in(4).then(|| random.one(&[600.0, 10_800.0])),
        eval_every: random.once_in(3).then(|| random.one(&[100, 1000])),
        eval_samples: random.once_in(2).then(|| random.one(&[1024, 16_384])),
        rollbacks: random.once_in(4).then(|| random.one(&[1, 20])),
        straggler: random.once_in(4).then(|| random.one(&[1.01, 1.2])),
        ..RunLength::default()
    }
}

/// Random runs that work, some with a batch ramp, some with a context phase.
fn random_runs(count: usize) -> Vec<(Run, Evaluation)> {
    let mut random = Random::new(31);
    let mut runs = Vec::new();
    while runs.len() < count {
        let mut run = Run { length: random_length(&mut random), ..random_run(&mut random) };
        run.tokens_total = Some(random.one(&[1e10, 1e12, 15e12]));
        if random.once_in(3) && run.global_batch.is_multiple_of(4) && run.microbatch_lengths.is_none() {
            let quarter = run.global_batch / 4;
            run.length.batch_ramp = Some(vec![quarter, quarter, random.one(&[10_000, 1_000_000])]);
        }
        if random.once_in(4) {
            let phase = ContextPhase { seq_len: 2 * run.seq_len, tokens: 2e9, cp: None };
            run.length.context_phases = Some(ContextPhases(vec![phase]));
        }
        if let Ok(evaluation) = evaluate(&run)
            && setting(&evaluation, 1e12).is_ok()
        {
            runs.push((run, evaluation));
        }
    }
    runs
}

fn with(run: &Run, set: impl FnOnce(&mut RunLength)) -> Run {
    let mut run = run.clone();
    set(&mut run.length);
    run
}

/// Days in the mean, without their range.
fn days(run: &Run) -> Option<f64> {
    let evaluation = evaluate(run).ok()?;
    Some(figures(&evaluation, &setting(&evaluation, run.tokens_total?).ok()?).days)
}

/// The drawer's figures are those of the report, and each is what its formula gives with the values beside it.
#[test]
fn every_formula_gives_the_figure_that_is_reported() {
    let mut formulas = 0;
    for (mut run, _) in random_runs(60) {
        run.price_per_gpu_hour = Some(2.0);
        run.length.grid_kg_per_kwh = Some(0.332);
        run.length.spare_quantile = Some(0.9);
        let evaluation = evaluate(&run).unwrap();
        let setting = setting(&evaluation, 1e12).unwrap();
        let whole = figures(&evaluation, &setting);
        let loss = |kind: LossKind| whole.losses.iter().find(|loss| loss.kind == kind).unwrap().seconds.0;
        let mut kinds = 0;
        for (figure, term) in explain(&evaluation, &setting, &whole) {
            let reported = match figure {
                WholeRunFigure::Days => whole.days * 86_400.0,
                WholeRunFigure::Productive => whole.productive,
                WholeRunFigure::Loss(kind) => loss(kind),
                WholeRunFigure::Interruptions => whole.interruptions,
                WholeRunFigure::Checkpoint => whole.checkpoint_s.unwrap().0,
                WholeRunFigure::Spares => whole.spares as f64,
                WholeRunFigure::GpuHours => whole.gpu_hours,
                WholeRunFigure::Cost => whole.cost.unwrap(),
                WholeRunFigure::Energy => whole.energy_kwh,
                WholeRunFigure::Co2e => whole.co2e_t.unwrap(),
            };
            kinds += 1;
            let near = |a: f64, b: f64, scale: f64| a == b || (a - b).abs() <= 1e-9 * a.abs() + 1e-12 * scale;
            assert!(near(term.value, reported, 0.0), "{figure:?} of {run:?}: {} {reported}", term.value);
            let mut open = vec![&term];
            while let Some(term) = open.pop() {
                open.extend(&term.parts);
                // A difference keeps the rounding of what it is of.
                let scale = term.parts.iter().map(|part| part.value.abs()).fold(0.0, f64::max);
                if let Some(formula) = term.formula() {
                    let computed = term.computed().unwrap();
                    assert!(near(computed, term.value, scale), "{figure:?}, {}: {computed}", formula.text());
                    formulas += 1;
                }
            }
        }
        assert!(kinds >= 14, "{kinds}");
    }
    assert!(formulas > 1000, "{formulas}");
}

/// A share of the calendar trains, the parts sum to it, its range holds the mean, and nothing is NaN.
#[test]
fn random_runs_have_a_calendar_of_parts_and_a_share_below_one() {
    for (run, evaluation) in random_runs(60) {
        let (whole, _) = whole_run(&evaluation).unwrap();
        let range = whole.range.unwrap();
        assert!(whole.productive > 0.0 && whole.productive <= 1.0, "{run:?}");
        let parts = whole.training_s.0 + whole.losses.iter().map(|loss| loss.seconds.0).sum::<f64>();
        assert!(
            (parts / 86_400.0 / whole.days - 1.0).abs() < 1e-12
                && whole.losses.iter().all(|loss| loss.seconds.0 >= 0.0)
        );
        assert!(range.low_days > 0.0 && range.low_days <= whole.days * (1.0 + 1e-9), "{run:?}");
        assert!(0.0 < range.low_productive && range.low_productive <= range.high_productive, "{run:?}");
        assert!(range.high_productive <= 1.0 && range.high_days.is_finite() && range.high_energy_kwh.is_finite());
        assert!(whole.energy_kwh > 0.0 && whole.gpu_hours >= 24.0 * whole.days * run.gpus as f64 * (1.0 - 1e-12));
    }
}

/// More failures never shorten a run, longer downtime neither; faster storage and fewer evaluations never lengthen it.
#[test]
fn worse_nodes_and_slower_storage_never_help_random_runs() {
    let settings: [fn(&mut RunLength, bool); 4] = [
        |length, worse| {
            (length.failures, length.mtti_h) = (Some(Failures::Rate(if worse { 3.0 } else { 1.0 })), None);
        },
        |length, worse| length.restart_s = Some(if worse { 3600.0 } else { 300.0 }),
        // The interval is the best one: a stated one that slow storage cannot keep is longer than stated.
        |length, worse| {
            (length.storage_gb_per_s, length.checkpoint_every_s) = (Some(if worse { 2.0 } else { 100.0 }), None);
        },
        |length, worse| (length.eval_every, length.eval_samples) = (Some(if worse { 200 } else { 2000 }), Some(4096)),
    ];
    let mut compared = [0; 4];
    for (run, _) in random_runs(40) {
        for (place, (count, set)) in compared.iter_mut().zip(settings).enumerate() {
            let at = |worse| days(&with(&run, |length| set(length, worse)));
            if let Some((better, worse)) = at(false).zip(at(true)) {
                assert!(better <= worse * (1.0 + 1e-12), "{place}: {better} {worse}: {run:?}");
                *count += 1;
            }
        }
    }
    assert!(compared.iter().all(|count| *count > 20), "{compared:?}");
}

/// Of all whole numbers of steps none has a larger productive share than the one that is taken, by trying them.
#[test]
fn the_interval_between_saves_is_that_of_brute_force() {
    let mut tried = 0;
    for (run, _) in random_runs(60) {
        let run = with(&run, |length| length.checkpoint_every_s = None);
        let Some(Ok(found)) = evaluate(&run).ok().map(|evaluation| setting(&evaluation, 1e12)) else { continue };
        let step = found.step * found.straggler;
        let chosen = found.rhythm.every / step;
        if !(chosen.is_finite() && chosen < 3000.0) {
            continue;
        }
        let share = |steps: f64| Rhythm { every: step * steps, ..found.rhythm }.share();
        let first = (found.rhythm.lag / step).ceil().max(1.0);
        let steps = std::iter::successors(Some(first), |steps| Some(steps + 1.0));
        let best = steps.take_while(|steps| *steps < 4.0 * chosen + 4.0).map(share).fold(0.0, f64::max);
        assert!(found.rhythm.share() >= best * (1.0 - 1e-12), "{chosen}: {run:?}");
        tried += 1;
    }
    assert!(tried > 30, "{tried}");
}

/// Twice the tokens take twice the days but for the start-up, without a ramp, phases, rollbacks and evaluations.
#[test]
fn days_of_random_runs_scale_with_the_tokens() {
    let mut tried = 0;
    for (run, _) in random_runs(30) {
        let plain = with(&run, |length| {
            (length.batch_ramp, length.context_phases, length.rollbacks, length.eval_every) = (None, None, None, None);
            length.startup_s = Some(0.0);
        });
        let twice = Run { tokens_total: run.tokens_total.map(|tokens| 2.0 * tokens), ..plain.clone() };
        let (Some(one), Some(two)) = (days(&plain), days(&twice)) else { continue };
        assert!((two / one - 2.0).abs() < 1e-12, "{run:?}");
        tried += 1;
    }
    assert!(tried > 20, "{tried}");
}

/// The tokens that some days train end within them, and a few more do not: with ramps, phases, rollbacks and
/// evaluations.
#[test]
fn the_tokens_of_some_days_take_those_days() {
    for (run, evaluation) in random_runs(40) {
        for given in [0.5, 30.0, 1000.0] {
            let tokens = match tokens_in(&evaluation, given) {
                Ok(tokens) => tokens,
                Err(issues) => {
                    assert_eq!(issues[0].field, "days");
                    // One step, or the phases, take longer.
                    let phases = run.length.context_phases.as_ref().map_or(0.0, |phases| phases.0[0].tokens);
                    let least = phases.max(evaluation.scenario.tokens_per_step());
                    assert!(days(&Run { tokens_total: Some(least), ..run.clone() }).unwrap() > given);
                    continue;
                }
            };
            let at = |tokens| days(&Run { tokens_total: Some(tokens), ..run.clone() }).unwrap();
            let (inside, outside) = (at(tokens), at(tokens * (1.0 + 1e-6)));
            assert!(inside <= given * (1.0 + 1e-8), "{given}: {inside} {run:?}");
            assert!(outside >= given * (1.0 - 1e-8), "{given}: {outside} {run:?}");
        }
    }
}

/// The least number of GPUs meets its date nine times in ten by the forward answer, and the next smaller one does not.
#[test]
fn the_least_gpus_meet_their_date_and_fewer_do_not() {
    let own = Run { gpus: 64, tp: 4, pp: 2, global_batch: 512, ..Run::default() };
    let measured = evaluate(&own).unwrap().report.step.time_s.0 * 1.3;
    let slow = RunLength { mtti_h: Some(40.0), ..RunLength::default() };
    let odd = RunLength { eval_every: Some(500), eval_samples: Some(4096), rollbacks: Some(5), ..RunLength::default() };
    for (run, measured_step_s) in [
        (own.clone(), None),
        (Run { length: odd, ..own.clone() }, None),
        (Run { length: slow, ..own.clone() }, None),
        (own.clone(), Some(measured)),
    ] {
        let run = Run { measured_step_s, tokens_total: Some(1e12), ..run };
        for by in [20.0, 60.0, 200.0] {
            let found = deadline(&run, 1e12, by).unwrap();
            // An observed time goes with the nodes, and a measured step with its estimate.
            let high = |gpus: u64| {
                let mtti_h = run.length.mtti_h.map(|hours| hours * 64.0 / gpus.max(8) as f64);
                let length = RunLength { mtti_h, ..run.length.clone() };
                let plain = Run { gpus, measured_step_s: None, length, ..run.clone() };
                let step = evaluate(&plain).unwrap().report.step.time_s.0;
                let measured_step_s = measured_step_s.map(|_| 1.3 * step);
                let (whole, _) = whole_run(&evaluate(&Run { measured_step_s, ..plain }).unwrap()).unwrap();
                whole.range.unwrap().high_days
            };
            let least = found.gpus.expect("some number of GPUs is enough");
            let before = found.counts.iter().map(|(gpus, ..)| *gpus).take_while(|gpus| *gpus < least).last();
            assert!(high(least) <= by && before.is_none_or(|gpus| high(gpus) > by), "{by}: {least}");
            assert!((found.high_days / high(least) - 1.0).abs() < 1e-9);
        }
    }
}

/// Where the mean time to interrupt is known, four of five outcomes lie within 15 points of the productive share. One
/// class of operation cannot say so much: a person who is called takes 2 h known to a factor (σ 0.4), which alone
/// leaves `1/(1 + R/M)` open by more where a person is called more often than every nine hours. There the page names
/// the downtime, and one of one's own mends it.
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

/// The step's own range moves days and energy, not the share of the calendar that trains: steps of both ends have the
/// same interruptions an hour.
#[test]
fn the_range_of_the_productive_share_does_not_hold_the_step() {
    let predicted = run(RunLength { mtti_h: Some(24.0), ..RunLength::default() });
    let step = evaluate(&predicted).unwrap().report.step;
    let measured = Run { measured_step_s: Some(step.time_s.0), ..predicted.clone() };
    let [open, exact] = [&predicted, &measured].map(|run| whole(run).range.unwrap());
    assert!(open.high_days - open.low_days > 1.5 * (exact.high_days - exact.low_days));
    let width = |range: CalendarRange| range.high_productive - range.low_productive;
    assert!((width(open) / width(exact) - 1.0).abs() < 1e-9 && open.high_productive < 1.0);
}
