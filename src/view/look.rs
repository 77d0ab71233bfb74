//! Choices in the scoreboard: a row and a class of runs.

use crate::core::scoreboard::Column;

/// A class of figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slice {
    /// All steps.
    #[default]
    Steps,
    /// A column.
    Column(Column),
    /// Verdicts.
    Verdicts,
}

/// All of them: id in links, and name.
const SLICES: [(Slice, &str, &str); 7] = [
    (Slice::Steps, "steps", "all steps"),
    (Slice::Column(Column::Dense), "dense", "Dense bf16"),
    (Slice::Column(Column::Low), "fp8", "fp8"),
    (Slice::Column(Column::Experts), "experts", "Routed experts"),
    (Slice::Column(Column::Tuned), "fine-tuning", "Fine-tuning"),
    (Slice::Column(Column::Peaks), "peaks", "Memory peaks"),
    (Slice::Verdicts, "verdicts", "Verdicts"),
];

impl Slice {
    /// All of them, in the order of the page.
    pub fn all() -> impl Iterator<Item = Self> {
        SLICES.iter().map(|(slice, ..)| *slice)
    }
    /// The slice with this id in links.
    #[must_use]
    pub fn named(id: &str) -> Option<Self> {
        SLICES.iter().find(|(_, known, _)| *known == id).map(|(slice, ..)| *slice)
    }
    fn row(self) -> (&'static str, &'static str) {
        let row = SLICES.iter().find(|(slice, ..)| *slice == self);
        row.map_or(("", ""), |(_, id, name)| (*id, *name))
    }
    /// Its id in links.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.row().0
    }
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().1
    }
    /// True if figures of `column` are in it.
    #[must_use]
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
    /// The class.
    pub slice: Slice,
}

impl Look {
    /// Name of a row as a link may hold it: at most forty letters, digits and hyphens.
    #[must_use]
    pub fn row_named(text: &str) -> String {
        text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect()
    }
}
