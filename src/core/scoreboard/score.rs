//! Scores of a tool: coverage first, then errors by column, then verdicts.

use super::prediction::{AskedQuantity, Predicted};
use super::question::{Column, Question};
use crate::accuracy::{BandCount, Fact, verdict_bands};
use crate::memory::Verdict;
use crate::sort::{median, sort_by};
use serde::Serialize;
use std::collections::BTreeMap;

/// A measured figure and its prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Miss {
    /// The figures; its row is the index of the question.
    pub fact: Fact,
    /// The column that it counts in.
    pub column: Column,
    /// True if the measured figure is inside the predicted range; none without a range.
    pub inside: Option<bool>,
}

/// A verdict, and what became of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    pub question: usize,
    pub verdict: Verdict,
    /// It ran out of memory.
    pub ran_out: bool,
}

/// The scores of a tool in one column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ColumnScore {
    pub column: Column,
    /// Runs, without those that the tool was fitted to.
    pub asked: usize,
    /// Runs that it predicts.
    pub covered: usize,
    /// Mean of |predicted/measured - 1|; none where nothing is covered.
    pub mean: Option<f64>,
    /// Median of |predicted/measured - 1|; none where nothing is covered.
    pub median: Option<f64>,
    /// Runs with a range.
    pub ranged: usize,
    /// Runs measured inside their range.
    pub inside: usize,
    /// Runs left out, because the tool was fitted to them.
    pub fitted: usize,
}

impl ColumnScore {
    /// Covered over asked; 0 where nothing is asked.
    pub fn coverage(&self) -> f64 {
        self.covered as f64 / self.asked.max(1) as f64
    }
}

/// Verdicts against what became of the runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcomes {
    /// Runs that ran out of memory.
    pub ran_out: usize,
    /// Runs among them with a verdict.
    pub ran_out_covered: usize,
    /// Runs among them called "fits".
    pub false_fits: usize,
    /// Runs that ran.
    pub ran: usize,
    /// Runs among them with a verdict.
    pub ran_covered: usize,
    /// Runs among them called "out of memory".
    pub false_oom: usize,
    /// Runs left out, because the tool was fitted to them.
    pub fitted: usize,
}

impl Outcomes {
    /// Runs with a verdict over runs.
    pub fn coverage(&self) -> f64 {
        (self.ran_covered + self.ran_out_covered) as f64 / (self.ran + self.ran_out).max(1) as f64
    }
}

/// Runs by verdict: those that set the rule of this program's verdict, the others, and both together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutcomesByUse {
    /// Runs whose outcomes set the rule ([`Question::sets_the_rule`]).
    pub setters: [BandCount; 3],
    /// Runs that no constant of the rule was fitted to.
    pub others: [BandCount; 3],
    /// Both together.
    pub all: [BandCount; 3],
}

/// Row of a tool.
#[derive(Clone, Debug)]
pub struct Score {
    /// Columns, in the order of [`Column::ALL`].
    pub columns: [ColumnScore; 5],
    pub outcomes: Outcomes,
    /// Runs by verdict, and how many of them ran out.
    pub bands: [BandCount; 3],
    /// Figures with their predictions, in the order of the questions.
    pub misses: Vec<Miss>,
    /// Verdicts, in the same order.
    pub verdicts: Vec<Judged>,
}

impl Score {
    /// Scores `predictions`; of several for one question the first counts.
    pub fn new(questions: &[Question], predictions: &[Predicted]) -> Self {
        let mut by_id: BTreeMap<&str, &Predicted> = BTreeMap::new();
        for predicted in predictions {
            by_id.entry(&predicted.id).or_insert(predicted);
        }
        let nothing = Predicted::default();
        let mut columns = Column::ALL.map(|column| ColumnScore { column, ..ColumnScore::default() });
        let (mut outcomes, mut misses, mut verdicts) = (Outcomes::default(), Vec::new(), Vec::new());
        for (at, question) in questions.iter().enumerate() {
            let predicted = by_id.get(question.id.as_str()).copied().unwrap_or(&nothing);
            let range = predicted.low_s.zip(predicted.high_s);
            let step =
                question.step_s.map(|step| (AskedQuantity::StepS, question.column, step, predicted.step_s, range));
            let peak = question.peak_gib;
            let peak = peak.map(|(_, gib)| (AskedQuantity::PeakGib, Column::Peaks, gib, predicted.peak_gib, None));
            for (asked, column, measured, figure, range) in [step, peak].into_iter().flatten() {
                let score = &mut columns[column as usize];
                if predicted.is_fitted(asked) {
                    score.fitted += 1;
                    continue;
                }
                score.asked += 1;
                let Some(figure) = figure else { continue };
                let inside = range.map(|(low, high)| (low..=high).contains(&measured));
                score.covered += 1;
                score.ranged += usize::from(inside.is_some());
                score.inside += usize::from(inside == Some(true));
                misses.push(Miss { fact: Fact { row: at, measured, predicted: figure }, column, inside });
            }
            let Some(ran_out) = question.ran_out else { continue };
            if predicted.is_fitted(AskedQuantity::Verdict) {
                outcomes.fitted += 1;
                continue;
            }
            let verdict = predicted.verdict;
            let is_covered = usize::from(verdict.is_some());
            if ran_out {
                outcomes.ran_out += 1;
                outcomes.ran_out_covered += is_covered;
                outcomes.false_fits += usize::from(verdict == Some(Verdict::Fits));
            } else {
                outcomes.ran += 1;
                outcomes.ran_covered += is_covered;
                outcomes.false_oom += usize::from(verdict == Some(Verdict::Oom));
            }
            verdicts.extend(verdict.map(|verdict| Judged { question: at, verdict, ran_out }));
        }
        for score in &mut columns {
            let mut errors: Vec<f64> =
                misses.iter().filter(|miss| miss.column == score.column).map(|miss: &Miss| miss.fact.error()).collect();
            sort_by(&mut errors, f64::total_cmp);
            score.mean = (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64);
            score.median = median(&errors);
        }
        let pairs: Vec<_> = verdicts.iter().map(|judged: &Judged| (judged.verdict, judged.ran_out)).collect();
        Self { columns, outcomes, bands: verdict_bands(&pairs), misses, verdicts }
    }

    /// The verdicts counted by the use that was made of the runs.
    pub fn by_use(&self, questions: &[Question]) -> OutcomesByUse {
        let of = |setters: bool| {
            let judged = self.verdicts.iter().filter(|judged| questions[judged.question].sets_the_rule() == setters);
            verdict_bands(&judged.map(|judged| (judged.verdict, judged.ran_out)).collect::<Vec<_>>())
        };
        OutcomesByUse { setters: of(true), others: of(false), all: self.bands }
    }

    pub fn column(&self, column: Column) -> &ColumnScore {
        &self.columns[column as usize]
    }
}
