//! The answer of a session.

use crate::run::Run;
use crate::search::answers::AnswerState;
use crate::search::better::Betters;
use crate::search::engine::SearchProgress;
use crate::search::front::Layouts;
use crate::search::map::Cells;
use crate::search::neighbours::Neighbours;
use crate::search::proposal::Proposal;
use crate::search::ranking::FoundLayout;
use crate::search::sweep::Points;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// The answer to a query, as far as known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanResult {
    /// The run that it was asked for.
    pub run: Run,
    /// Progress of the search; none where none was asked for.
    pub progress: Option<SearchProgress>,
    /// Approximate share of the present work that is done.
    pub share: f64,
    pub done: bool,
    /// The fastest layouts that the filter keeps, strictly by step time.
    pub rows: Vec<Rc<FoundLayout>>,
    /// The Pareto front of step time and memory, and the other layouts that the filter keeps.
    pub layouts: Layouts,
    /// The fastest layouts on fewer GPUs, while the order asks for them.
    pub cheapest: Option<Points>,
    /// The fastest layout of all.
    pub best: Option<Rc<FoundLayout>>,
    /// The fastest layout with an order found by search.
    pub proposal: Option<Proposal>,
    /// Layouts that do better than that of the run.
    pub betters: Betters,
    /// Neighbours of the layout of the run.
    pub neighbours: Neighbours,
    pub pinned: Vec<Rc<FoundLayout>>,
    /// The map, while its fold is open.
    pub map: Option<Cells>,
    pub sweep: Option<Points>,
    pub answer: Option<AnswerState>,
}

impl Default for PlanResult {
    fn default() -> Self {
        Self {
            run: Run::default(),
            progress: None,
            share: 1.0,
            done: true,
            rows: Vec::new(),
            layouts: Layouts::default(),
            cheapest: None,
            best: None,
            proposal: None,
            betters: Betters::default(),
            neighbours: Neighbours::default(),
            pinned: Vec::new(),
            map: None,
            sweep: None,
            answer: None,
        }
    }
}
