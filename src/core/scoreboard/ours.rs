//! Predictions of this calculator, each by constants that never saw the run.
//!
//! Steps: the runs of each date are predicted by constants fitted to all that was published before it, with the range
//! that was known then. The first runs, before which too little was published, are marked as fitted and count nowhere;
//! so are steps without a date that a constant was read off.
//!
//! Outcomes of Fujii 2024: each table is judged by the rule of the verdict that is fitted to the other table.
//!
//! Peaks and other outcomes: those of sources that a constant was read off are marked as fitted; no constant was fitted
//! to the rest.

use super::prediction::{AskedQuantity, Predicted};
use crate::accuracy::origin::{DatedSteps, Unseen};
use crate::accuracy::{Evidence, MeasuredQuantity, Measurement, Outcome, Prediction, Rule, SourceUse};
use crate::maths::{exp, log10, pow};
use crate::memory::Verdict;
use crate::memory::verdict::HALF_BAND;
use crate::report::evaluate;
use crate::time::range_ends;
use std::collections::BTreeMap;

/// Predictions of `rows`, one for each line of the tables.
pub fn predictions(rows: &[Evidence]) -> Vec<Predicted> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut predictions: Vec<Predicted> = Vec::new();
    for row in rows.iter().filter(|row| row.source().quantity != MeasuredQuantity::Steady) {
        let at = *places.entry(&row.id).or_insert(predictions.len());
        if at == predictions.len() {
            predictions.push(Predicted { id: row.id.clone(), ..Predicted::default() });
        }
        let Some(found) = Prediction::of(row) else { continue };
        let line = &mut predictions[at];
        let is_memory = matches!(row.measured, Measurement::Memory(_));
        match row.measured {
            Measurement::Memory(_) => line.peak_gib = Some(digits(found.value)),
            Measurement::Step(_) => (line.step_s, line.low_s, line.high_s) = shipped(row, found.value),
            Measurement::RanOut => {}
        }
        // Throughput tables say nothing of memory.
        if is_memory || row.measured == Measurement::RanOut || row.source().quantity == MeasuredQuantity::FujiiTflops {
            line.verdict = Some(found.verdict);
        }
        if is_memory && row.source().kind == SourceUse::Fitted && !line.is_fitted(AskedQuantity::PeakGib) {
            line.fitted.extend([AskedQuantity::PeakGib, AskedQuantity::Verdict]);
        }
    }
    let mut set = |row: &Evidence, write: &dyn Fn(&mut Predicted)| {
        if let Some(at) = places.get(row.id.as_str()) {
            write(&mut predictions[*at]);
        }
    };
    steps(rows, &mut set);
    outcomes(rows, &mut set);
    predictions
}

/// Changes the prediction of a row's line.
type Set<'a> = dyn FnMut(&Evidence, &dyn Fn(&mut Predicted)) + 'a;

/// `seconds` of a step with the low and the high end of its range, by the constants of this program: for runs without a
/// date.
fn shipped(row: &Evidence, seconds: f64) -> (Option<f64>, Option<f64>, Option<f64>) {
    let ends = ends_of(row).map(|(low, high)| (digits(seconds * low), digits(seconds * high))).unzip();
    (Some(digits(seconds)), ends.0, ends.1)
}

/// Ends of the range of `row`, as factors of its prediction.
fn ends_of(row: &Evidence) -> Option<(f64, f64)> {
    let step = evaluate(&row.run).ok()?.report.step;
    Some((step.low_s / step.time_s, step.high_s / step.time_s))
}

/// Steps by constants fitted to what was published before each, with the range of a run that nobody had seen then.
fn steps(rows: &[Evidence], set: &mut Set) {
    let timeline = DatedSteps::new(rows, |_, _| {});
    let unseen = timeline.rolling();
    let of_row = |at: usize| unseen.iter().find(|unseen: &&Unseen| unseen.row == at);
    for (at, dated) in timeline.rows.iter().enumerate() {
        let Some(prediction) = of_row(at) else {
            mark(&rows[dated.evidence], set);
            continue;
        };
        let seconds = dated.predicted * exp(prediction.error - dated.error);
        let (low, high) = range_ends(prediction.deviation);
        set(&rows[dated.evidence], &|line| {
            line.step_s = Some(digits(seconds));
            (line.low_s, line.high_s) = (Some(digits(seconds * low)), Some(digits(seconds * high)));
        });
    }
    let is_dated = |at: usize| timeline.rows.iter().any(|dated| dated.evidence == at);
    for (at, row) in rows.iter().enumerate() {
        if matches!(row.measured, Measurement::Step(_)) && row.source().kind == SourceUse::Fitted && !is_dated(at) {
            mark(row, set);
        }
    }
}

/// Marks the step of `row` as one that constants have seen.
fn mark(row: &Evidence, set: &mut Set) {
    set(row, &|line| {
        if !line.is_fitted(AskedQuantity::StepS) {
            line.fitted.push(AskedQuantity::StepS);
        }
    });
}

/// Outcomes of Fujii 2024, of each table by the rule that the other gives.
fn outcomes(rows: &[Evidence], set: &mut Set) {
    let measured: Vec<(&Evidence, Outcome)> = rows
        .iter()
        .filter(|row| row.source().quantity == MeasuredQuantity::FujiiTflops)
        .filter_map(|row| Some((row, Outcome::new(&evaluate(&row.run).ok()?, row.measured == Measurement::RanOut))))
        .collect();
    for (row, verdict) in judged_by_others(&measured) {
        set(row, &|line| line.verdict = Some(verdict));
    }
}

/// The verdict of each outcome by the rule that is fitted to the other sources. The band of tight runs is the narrowest
/// that serves there, widened by the factor by which this program's band exceeds the narrowest over all outcomes.
fn judged_by_others<'a>(measured: &[(&'a Evidence, Outcome)]) -> Vec<(&'a Evidence, Verdict)> {
    let outcomes: Vec<&Outcome> = measured.iter().map(|(_, outcome)| outcome).collect();
    let margin = HALF_BAND.value / Rule::shipped().half_band(&outcomes);
    let mut rules: BTreeMap<usize, (Rule, f64)> = BTreeMap::new();
    for (row, _) in measured {
        rules.entry(row.source).or_insert_with(|| {
            let others: Vec<&Outcome> =
                measured.iter().filter(|(other, _)| other.source != row.source).map(|(_, outcome)| outcome).collect();
            let rule = Rule::fitted(&others);
            (rule, margin * rule.half_band(&others))
        });
    }
    let verdict = |(row, outcome): &(&'a Evidence, Outcome)| {
        let (rule, half) = rules.get(&row.source)?;
        Some((*row, rule.verdict(outcome, *half)))
    };
    measured.iter().filter_map(verdict).collect()
}

/// Four significant digits.
fn digits(value: f64) -> f64 {
    let scale = pow(10.0, 3.0 - log10(value.abs()).floor());
    if scale.is_finite() { (value * scale).round() / scale } else { value }
}
