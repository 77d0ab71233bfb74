//! Earlier Runs of the tab, and later ones that were left.

use crate::core::run::Run;
use crate::io::link;
use crate::web::browser;
use leptos::prelude::*;

/// Key of the tab's storage.
const KEPT: &str = "shardscope.undo";

/// Earlier Runs, later Runs, and the one between them.
#[derive(Clone, Copy)]
pub struct History {
    pub(in crate::web) now: StoredValue<String>,
    /// When it last changed.
    pub(in crate::web) at: StoredValue<f64>,
    pub(in crate::web) past: RwSignal<Vec<String>>,
    pub(in crate::web) future: RwSignal<Vec<String>>,
}

impl History {
    /// Begins with `run`.
    pub fn new(run: &Run) -> Self {
        let now = link::encode(run);
        // Of this tab before a reload, unless another link was opened.
        let kept = browser::of_tab(KEPT).unwrap_or_default();
        let past = match kept.rsplit_once('\n') {
            Some((past, last)) if last == now => past.lines().map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        Self {
            now: StoredValue::new(now),
            at: StoredValue::new(0.0),
            past: RwSignal::new(past),
            future: RwSignal::new(Vec::new()),
        }
    }

    /// Writes down what can be undone, for a reload.
    pub(in crate::web) fn keep(self) {
        let now = self.now.get_value();
        let past = self.past.with_untracked(|past| past.join("\n"));
        browser::keep_of_tab(KEPT, &format!("{past}\n{now}"));
    }
}
