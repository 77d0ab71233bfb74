//! The rows computed, a few at a time, and what came of it: errors by source, worst misses, verdict bands.

use super::evidence::{Evidence, Measurement};
use super::sources::{EvidenceSource, MeasuredQuantity, SOURCES};
use crate::memory::detailed::steady;
use crate::memory::{Lifetime, StageMemory, Verdict};
use crate::report::{Evaluation, evaluate_plain};
use crate::sort::sort_by;
use std::collections::BTreeMap;

/// A row with the calculator's prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fact {
    pub row: usize,
    /// Seconds or GiB, as measured.
    pub measured: f64,
    /// Seconds or GiB, as predicted.
    pub predicted: f64,
}

impl Fact {
    /// Predicted over measured.
    pub fn ratio(self) -> f64 {
        self.predicted / self.measured
    }
    /// Distance of the ratio from 1.
    pub fn error(self) -> f64 {
        (self.ratio() - 1.0).abs()
    }
}

/// The calculator's prediction of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Seconds or GiB.
    pub value: f64,
    /// True if it fits.
    pub verdict: Verdict,
}

impl Prediction {
    /// Evaluates `row` as the page evaluates its own Run, without the parts of a range that take evaluations.
    pub fn of(row: &Evidence) -> Option<Self> {
        let evaluation = evaluate_plain(&row.run).ok()?;
        Some(Self { value: predicted(&evaluation, row.source().quantity), verdict: evaluation.report.memory.verdict })
    }
}

/// Mean and worst error of a source.
#[derive(Clone, Copy, Debug)]
pub struct SourceError {
    pub source: &'static EvidenceSource,
    pub count: usize,
    /// Mean of |predicted/measured - 1|.
    pub mean: f64,
    /// Mean of predicted/measured - 1: over 0, the calculator is too slow or too large.
    pub bias: f64,
    /// The largest |predicted/measured - 1|.
    pub worst: f64,
}

/// Outcomes of the runs of one verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BandCount {
    pub verdict: Verdict,
    pub runs: usize,
    /// Runs that ran out of memory.
    pub ran_out: usize,
}

/// Rows, and how far they are computed.
#[derive(Clone, Debug, Default)]
pub struct Bench {
    pub rows: Vec<Evidence>,
    /// Lines of the tables, rows or not.
    pub lines: usize,
    /// Each measured figure with its prediction.
    pub facts: Vec<Fact>,
    /// Verdicts on runs that fitted or ran out of memory.
    pub verdicts: Vec<(Verdict, bool)>,
    done: usize,
}

impl Bench {
    /// Adds a table's rows.
    pub fn add(&mut self, (rows, lines): (Vec<Evidence>, usize)) {
        self.rows.extend(rows);
        self.lines += lines;
    }
    pub fn done(&self) -> usize {
        self.done
    }
    /// Adds the prediction of the next row.
    pub fn record(&mut self, prediction: Option<Prediction>) {
        let Some(row) = self.rows.get(self.done) else {
            return;
        };
        if let Some(prediction) = prediction {
            if row.source().quantity == MeasuredQuantity::FujiiTflops {
                let ran_out = row.measured == Measurement::RanOut;
                self.verdicts.push((prediction.verdict, ran_out));
            }
            if let Measurement::Step(measured) | Measurement::Memory(measured) = row.measured {
                self.facts.push(Fact { row: self.done, measured, predicted: prediction.value });
            }
        }
        self.done += 1;
    }
    /// Computes one more row; false where none is left.
    pub fn advance(&mut self) -> bool {
        let Some(row) = self.rows.get(self.done) else {
            return false;
        };
        let prediction = Prediction::of(row);
        self.record(prediction);
        true
    }
    /// Facts about time, or about memory.
    pub fn about(&self, memory: bool) -> impl Iterator<Item = Fact> {
        self.facts
            .iter()
            .copied()
            .filter(move |fact| memory == matches!(self.rows[fact.row].measured, Measurement::Memory(_)))
    }
    /// Errors by source, in the order of [`SOURCES`].
    pub fn errors(&self) -> Vec<SourceError> {
        let source_error = |(index, source): (usize, &'static EvidenceSource)| {
            let facts: Vec<Fact> =
                self.facts.iter().copied().filter(|fact| self.rows[fact.row].source == index).collect();
            let count = facts.len();
            let mean = |figure: fn(Fact) -> f64| facts.iter().map(|fact| figure(*fact)).sum::<f64>() / count as f64;
            (count > 0).then(|| SourceError {
                source,
                count,
                mean: mean(Fact::error),
                bias: mean(|fact| fact.ratio() - 1.0),
                worst: facts.iter().map(|fact| fact.error()).fold(0.0, f64::max),
            })
        };
        SOURCES.iter().enumerate().filter_map(source_error).collect()
    }
    /// Slowdown of the layout predicted fastest over the fastest measured, in each group of tables 3 and 4 with the
    /// same number of GPUs: mean, worst, groups.
    pub fn choice_loss(&self) -> Option<(f64, f64, usize)> {
        let mut groups: BTreeMap<(usize, u64), Vec<Fact>> = BTreeMap::new();
        for fact in &self.facts {
            let row = &self.rows[fact.row];
            if row.source().quantity == MeasuredQuantity::FujiiTflops {
                let group = groups.entry((row.source, row.run.gpus)).or_default();
                group.push(*fact);
            }
        }
        let losses: Vec<f64> = groups
            .values()
            .filter_map(|facts| {
                let chosen = facts.iter().min_by(|a, b| a.predicted.total_cmp(&b.predicted))?;
                let best = facts.iter().map(|fact| fact.measured).fold(f64::INFINITY, f64::min);
                Some(chosen.measured / best - 1.0)
            })
            .collect();
        let count = losses.len();
        let sum: f64 = losses.iter().sum();
        let worst = losses.into_iter().fold(0.0, f64::max);
        (count > 0).then(|| (sum / count as f64, worst, count))
    }
    /// All facts, the worst misses first.
    pub fn worst_first(&self) -> Vec<Fact> {
        let mut facts = self.facts.clone();
        sort_by(&mut facts, |a, b| b.error().total_cmp(&a.error()).then(a.row.cmp(&b.row)));
        facts
    }
}

pub fn verdict_bands(verdicts: &[(Verdict, bool)]) -> [BandCount; 3] {
    [Verdict::Fits, Verdict::Tight, Verdict::Oom].map(|verdict| {
        let rows = || verdicts.iter().filter(move |(given, _)| *given == verdict);
        BandCount { verdict, runs: rows().count(), ran_out: rows().filter(|(_, ran_out)| *ran_out).count() }
    })
}

/// The figure that answers to what was measured.
fn predicted(evaluation: &Evaluation, quantity: MeasuredQuantity) -> f64 {
    let ranks = &evaluation.report.memory.per_stage;
    let most = |of: fn(&StageMemory) -> f64| ranks.iter().map(of).fold(0.0, f64::max);
    match quantity {
        MeasuredQuantity::FujiiTflops | MeasuredQuantity::StepSeconds | MeasuredQuantity::TokensPerGpu => {
            evaluation.report.step.time_s.0
        }
        MeasuredQuantity::Allocated => most(|rank| rank.allocated().gib()),
        MeasuredQuantity::AllocatedLast => ranks.last().map_or(0.0, |rank| rank.allocated().gib()),
        MeasuredQuantity::Reserved => most(reserved),
        MeasuredQuantity::Steady | MeasuredQuantity::Outcome => {
            let loads = evaluation.loads.iter();
            let each = loads.map(|load| steady(&evaluation.scenario, load).gib());
            each.fold(0.0, f64::max)
        }
    }
}

/// Bytes that the caching allocator holds: all but what the process holds beside it.
fn reserved(rank: &StageMemory) -> f64 {
    let outside: f64 =
        rank.items.iter().filter(|item| item.lifetime == Lifetime::Process).map(|item| item.bytes.gib()).sum();
    rank.total.gib() - outside
}
