//! What times of steps say beside the predicted range, and the utilisation that they mean.

use super::contradiction::OTHER_WORK;
use super::expected::ExpectedStep;
use super::figures::{of_report, seconds_of_files, seconds_of_report, share_of_files};
use super::hypotheses::{SAME_COUNT, faster_than_predicted, without_parts};
use super::of_traces::off;
use super::remedies::remedies;
use super::series::{self, StepSeries};
use super::{Comparison, Diagnosis};
use crate::maths::ln;
use crate::message::Message;
use crate::model::{CountedBy, earlier_megatron};
use crate::run::{OneOf, Run, Scenario};
use crate::t;
use crate::time::ComputePeak;
use crate::units::{Seconds, fixed, show_percent, show_seconds, significant};

/// The ends of the range of the prediction.
fn ends(expected: &ExpectedStep) -> [Message; 2] {
    [seconds_of_report("step range, low", expected.low), seconds_of_report("step range, high", expected.high)]
}

/// A whole step beside the prediction and its range.
pub(super) fn beside_range(seconds: f64, expected: &ExpectedStep) -> (Comparison, Message) {
    let (off, [low, high]) = (off(seconds, expected), ends(expected));
    if seconds > expected.high {
        let words = t!(
            "{off} against the prediction, outside its range {low} to {high}: at least {sure} are not this \
                calculator's own error.",
            off,
            low,
            high,
            sure = seconds_of_files("beyond the range", seconds - expected.high)
        );
        (Comparison::Longer, words)
    } else if seconds < expected.low {
        let words = t!(
            "{off} against the prediction, below its range {low} to {high}: the run is faster than predicted.",
            off,
            low,
            high
        );
        (Comparison::Shorter, words)
    } else {
        let words = t!(
            "{off} against the prediction, inside its range {low} to {high}: a difference of this size is no evidence \
                of a fault.",
            off,
            low,
            high
        );
        (Comparison::Inside, words)
    }
}

/// [`of_numbered_series`] of steps without numbers.
pub fn of_series(seconds: &[f64], typical: Option<f64>, run: &Run) -> Diagnosis {
    of_numbered_series(seconds, &[], typical, run, &[])
}

/// [`of_steps_beside`] of a log alone.
pub fn of_numbered_series(
    seconds: &[f64],
    numbers: &[u64],
    typical: Option<f64>,
    run: &Run,
    stated: &[String],
) -> Diagnosis {
    of_steps_beside(seconds, numbers, typical, run, stated, None)
}

/// True if [`beside_range`] says of both steps the same, but for how far they are from the prediction.
fn are_alike(one: f64, other: f64, expected: &ExpectedStep) -> bool {
    let beyond = |seconds: f64| {
        let over = (seconds > expected.high).then(|| show_seconds(Seconds(seconds - expected.high)));
        (over, seconds < expected.low)
    };
    beyond(one) == beyond(other)
}

/// Diagnoses the times of steps of a log, whose `typical` step its reader may have told; else it is their median.
/// `numbers` are those that the log gives its steps; `stated` are settings of `run` that files state, which are no
/// cause. `traced` is the step of a trace beside it, of which its range is said before: of one that is alike it is not
/// said again.
pub fn of_steps_beside(
    seconds: &[f64],
    numbers: &[u64],
    typical: Option<f64>,
    run: &Run,
    stated: &[String],
    traced: Option<f64>,
) -> Diagnosis {
    let mut series = StepSeries::of(seconds).map(|series| series.numbered(numbers));
    // All figures of a log are those of one step, which its reader calls measured.
    if let (Some(series), Some(typical)) = (&mut series, typical) {
        series.median_s = typical;
    }
    let own = series.as_ref().map(|one| one.median_s);
    let median = typical.or(own).unwrap_or_else(|| series::middle_of(seconds));
    let expected = ExpectedStep::of(run, 0);
    let mut diagnosis = Diagnosis::empty(Comparison::SumsOnly, Message::default());
    #[allow(clippy::cast_possible_truncation)] // nanoseconds of a step
    let window = (median * 1e9) as i64;
    diagnosis.window_ns = window;
    let measured = seconds_of_files("step", median);
    match expected {
        Ok(expected) => {
            diagnosis.step = true;
            diagnosis.expected.clone_from(&expected.shares);
            diagnosis.made_of.clone_from(&expected.made_of);
            (diagnosis.predicted_s, diagnosis.low_s, diagnosis.high_s) =
                (Some(expected.time), Some(expected.low), Some(expected.high));
            let (comparison, beside) = beside_range(median, &expected);
            diagnosis.comparison = comparison;
            diagnosis.verdict = if traced.is_some_and(|traced| are_alike(traced, median, &expected)) {
                let off = off(median, &expected);
                t!("A step takes {measured}, {off} against the prediction: the same is said of it.", measured, off)
            } else {
                t!("A step takes {measured}: {beside}", measured, beside)
            };
            // What a longer step than the measured one is made of is no loss of it.
            if diagnosis.comparison != Comparison::Shorter {
                diagnosis.remedies = remedies(run);
            }
        }
        Err(issues) => {
            diagnosis.verdict = t!("A step takes {measured}; the run of the page cannot be computed.", measured);
            diagnosis.warnings = issues;
        }
    }
    if let Some(words) = utilisation(median, run, &diagnosis) {
        diagnosis.verdict = Message::joined(" ", [diagnosis.verdict, words]);
    }
    diagnosis.causes = series.as_ref().map(StepSeries::causes).unwrap_or_default();
    if diagnosis.comparison == Comparison::Inside
        && let Some(series) = series.as_ref().filter(|series| series.spikes > 0)
    {
        let words = match series.spikes {
            1 => t!("That is the median step; one of {steps} steps is a spike.", steps = series.steps),
            count => {
                t!("That is the median step; {count} of {steps} steps are spikes.", count, steps = series.steps)
            }
        };
        diagnosis.verdict = Message::joined(" ", [diagnosis.verdict, words]);
    }
    if let (Comparison::Longer, Some(predicted), Some(low), Some(high)) =
        (diagnosis.comparison, diagnosis.predicted_s, diagnosis.low_s, diagnosis.high_s)
    {
        diagnosis.causes.extend(without_parts(median, run, [predicted, low, high], stated));
    }
    if diagnosis.comparison == Comparison::Shorter {
        let predicted = diagnosis.predicted_s.unwrap_or(median);
        diagnosis.causes.extend(faster_than_predicted(median, run, predicted, stated));
        let words = t!(
            "A setting that differs from the run's can explain it, a smaller batch or shorter samples, kernels faster \
                than assumed, or this calculator's own error."
        );
        diagnosis.verdict = Message::joined(" ", [diagnosis.verdict, words]);
    }
    diagnosis.name_causes_once();
    diagnosis.series = series;
    diagnosis
}

/// Utilisation of a step of `seconds`, counted as the calculator counts it, beside the predicted one.
fn utilisation(seconds: f64, run: &Run, found: &Diagnosis) -> Option<Message> {
    let predicted = found.predicted_s.filter(|_| seconds > 0.0)?;
    let report = crate::report::report(&Run { measured_step_s: None, ..run.clone() }).ok()?;
    let mfu = report.step.mfu;
    Some(t!(
        "MFU as this calculator counts FLOPs: {measured}, {predicted} predicted.",
        measured = share_of_files("mfu", mfu * predicted / seconds),
        predicted = of_report("step.mfu", show_percent(mfu))
    ))
}

/// TFLOP/s a GPU and MFU of a step of `seconds`, counted as `by`, in a sentence; none where that count has no such
/// model.
pub fn utilisation_by(by: CountedBy, seconds: f64, run: &Run) -> Option<Message> {
    let step = crate::report::report(&Run { measured_step_s: None, ..run.clone() }).ok()?.step;
    let row = step.mfu_by.iter().find(|row| row.name == by).filter(|_| seconds > 0.0)?;
    let longer = step.time_s.0 / seconds;
    Some(t!(
        "As {by} counts FLOPs, a step of {step} is {tflops} TFLOP/s a GPU, MFU {mfu}.",
        by = Message::plain(by.choice().label),
        step = seconds_of_files("step", seconds),
        tflops = significant(row.tflops_per_gpu * longer, 3),
        mfu = share_of_files(format!("mfu by {by:?}"), row.mfu * longer)
    ))
}

/// What the `tflops` TFLOP/s a GPU mean that a log itself prints of steps of `seconds`: their share of the GPU's dense
/// peak, and the way of counting that gives them, or by how much the nearest does not, and that of the log's program,
/// `program`, where it is known. None where they are of another run.
pub fn printed_rate(tflops: f64, seconds: f64, run: &Run, program: Option<CountedBy>) -> Option<Message> {
    let run = &Run { measured_step_s: None, ..run.clone() };
    let scenario = Scenario::new(run).ok()?;
    let dense = ComputePeak::of(&scenario).tflops;
    let step = crate::report::report(run).ok()?.step;
    let longer = step.time_s.0 / seconds;
    let now = step.mfu_by.iter().map(|row| (row.name, false, row.tflops_per_gpu * longer));
    let earlier = step.mfu_by.iter().filter(|row| row.name == CountedBy::Megatron).map(|row| {
        let factor = earlier_megatron(&scenario.model, run.seq_len);
        (row.name, true, row.tflops_per_gpu * longer * factor)
    });
    let away = |own: f64| ln(tflops / own).abs();
    let ways: Vec<_> = now.chain(earlier).filter(|(.., own)| *own > 0.0).collect();
    let nearest = |of: Option<CountedBy>| {
        let ways = ways.iter().copied().filter(|(by, ..)| of.is_none_or(|of| of == *by));
        ways.min_by(|a, b| away(a.2).total_cmp(&away(b.2)))
    };
    let first = nearest(None).filter(|(.., own)| away(*own) <= ln(OTHER_WORK))?;
    let named = |(by, earlier, _): (CountedBy, bool, f64)| {
        let label = Message::plain(by.choice().label);
        if earlier { t!("{by} until 2024 (all of causal attention)", by = label) } else { label }
    };
    let shown = |own: f64| significant(own, 4);
    let off = |own: f64| show_percent((own / tflops - 1.0).abs());
    let printed = t!(
        "The {tflops} TFLOP/s a GPU that the log prints are {share} of the GPU's dense peak of {peak}: that is the MFU \
            that they mean.",
        tflops = shown(tflops),
        share = share_of_files("mfu of the printed TFLOP/s", tflops / dense),
        peak = fixed(dense, 0)
    );
    let program = program.and_then(|program| nearest(Some(program)));
    let program = program.filter(|way| *way != first && away(way.2) > SAME_COUNT);
    let by_program = program.map(|way| {
        t!(
            "The formula of {by} gives {own} for this run and step, {off} off.",
            by = named(way),
            own = shown(way.2),
            off = off(way.2)
        )
    });
    let counted = if away(first.2) <= SAME_COUNT {
        t!("The formula of {by} gives {own} for this run and step.", by = named(first), own = shown(first.2))
    } else {
        t!(
            "No way of counting that is known here gives them: the nearest, {by}, gives {own} for this run and step, \
                {off} off.",
            by = named(first),
            own = shown(first.2),
            off = off(first.2)
        )
    };
    Some(Message::joined(" ", [printed].into_iter().chain(by_program).chain([counted])))
}
