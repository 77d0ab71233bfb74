//! Choices in the scoreboard: a row and a class of runs.

use shardscope_core::run::{Choice, OneOf, Run};
use shardscope_core::scoreboard::Column;

/// A class of figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slice {
    #[default]
    Steps,
    Column(Column),
    Verdicts,
}

const fn row(slice: Slice, id: &'static str, label: &'static str) -> (Slice, Choice) {
    (slice, Choice { id, label })
}

impl OneOf for Slice {
    const ALL: &'static [(Self, Choice)] = &[
        row(Self::Steps, "steps", "all steps"),
        row(Self::Column(Column::Dense), "dense", "Dense bf16"),
        row(Self::Column(Column::Low), "fp8", "fp8"),
        row(Self::Column(Column::Experts), "experts", "Routed experts"),
        row(Self::Column(Column::Tuned), "fine-tuning", "Fine-tuning"),
        row(Self::Column(Column::Peaks), "peaks", "Memory peaks"),
        row(Self::Verdicts, "verdicts", "Verdicts"),
    ];
}

/// A line of the scoreboard whose run was opened.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredLine {
    pub run: Run,
    /// Who predicts.
    pub tool: String,
    /// True of this page's row.
    pub is_ours: bool,
    /// Seconds, or GiB.
    pub predicted: f64,
    /// What its peak is of; none of a step.
    pub peak_is: Option<&'static str>,
}

impl Slice {
    /// True if figures of `column` are in it.
    pub fn has(self, column: Column) -> bool {
        match self {
            Self::Steps => column != Column::Peaks,
            Self::Column(own) => own == column,
            Self::Verdicts => false,
        }
    }
}

/// Row and class that are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The row, by its file; empty: this calculator's.
    pub tool: String,
    pub slice: Slice,
}

impl Look {
    /// Name of a row as a link may hold it: at most forty letters, digits and hyphens.
    pub fn row_named(text: &str) -> String {
        text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect()
    }
}
