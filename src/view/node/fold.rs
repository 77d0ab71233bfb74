//! Folds of the plan, which are computed only while open.

use crate::core::search::session::Extra;

/// A part of the plan that opens and closes; it is computed only while open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// The filters that are rarely used.
    Filters,
    /// The rows after the first.
    Rows,
    /// Memory against throughput.
    Pareto,
    Map,
    SweepTable,
    /// The playbook's recipe.
    Recipe,
}

impl Fold {
    /// Folds that are open at first.
    pub const OPEN: [Self; 2] = [Self::Pareto, Self::Map];

    /// The result of the search that is computed for it alone.
    pub const fn extra(self) -> Option<Extra> {
        match self {
            Self::Pareto => Some(Extra::Front),
            Self::Map => Some(Extra::Map),
            _ => None,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Filters => "filters",
            Self::Rows => "rows",
            Self::Pareto => "pareto",
            Self::Map => "map",
            Self::SweepTable => "sweep-table",
            Self::Recipe => "recipe",
        }
    }
}
