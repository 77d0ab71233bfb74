//! Folds of the plan, which are computed only while open.

use shardscope_core::search::session::Extra;
use shardscope_core::statics::named;

named! {
    /// A part of the plan that opens and closes; it is computed only while open.
    pub enum PlanFold: name {
        /// The filters that are rarely used.
        Filters = "filters",
        /// The rows after the first.
        Rows = "rows",
        /// Memory against throughput.
        Pareto = "pareto",
        Map = "map",
        SweepTable = "sweep-table",
        /// The playbook's recipe.
        Recipe = "recipe",
    }
}

impl PlanFold {
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
}
