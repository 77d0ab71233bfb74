//! The entries of the tab in the browser's history, and the way to them.

use crate::core::run::Run;
use crate::io::link;
use crate::web::browser;
use crate::web::entries::HistoryEntries;
use leptos::prelude::*;
use std::time::Duration;

/// Key of the tab's storage.
const KEPT: &str = "shardscope.undo";
/// A way to another entry that takes longer leads nowhere.
const LOST: Duration = Duration::from_secs(1);

/// Entries of the tab, each with its Run.
#[derive(Clone, Copy)]
pub struct History {
    pub(in crate::web) entries: RwSignal<HistoryEntries>,
    /// When the Run last changed; 0: its next change is a step of its own.
    pub(in crate::web) time: StoredValue<f64>,
    /// While the browser goes to another entry: the number of the way.
    way: StoredValue<Option<u32>>,
    ways: StoredValue<u32>,
}

impl History {
    /// Begins with `run`, or where the tab was before it was loaded again.
    pub fn new(run: &Run) -> Self {
        let kept = browser::of_tab(KEPT).unwrap_or_default();
        let at = browser::entry().unwrap_or(0);
        Self {
            entries: RwSignal::new(HistoryEntries::new(&kept, at, &link::encode(run))),
            time: StoredValue::new(0.0),
            way: StoredValue::new(None),
            ways: StoredValue::new(0),
        }
    }

    /// Number of the entry that is shown.
    pub(in crate::web) fn at(self) -> usize {
        self.entries.with_untracked(HistoryEntries::at)
    }

    /// The next change of the Run is a step of its own.
    pub(in crate::web) fn begin(self) {
        self.time.set_value(0.0);
    }

    /// True while the browser is on its way to another entry.
    pub(in crate::web) fn travels(self) -> bool {
        self.way.with_value(Option::is_some)
    }

    /// Lets the browser go to the entry that is shown.
    pub(in crate::web) fn travel(self) {
        let (there, at) = (browser::entry().unwrap_or_else(|| self.at()), self.at());
        if self.travels() || there == at {
            return;
        }
        self.ways.update_value(|ways| *ways += 1);
        let way = Some(self.ways.get_value());
        self.way.set_value(way);
        let steps = i64::try_from(at).unwrap_or(0) - i64::try_from(there).unwrap_or(0);
        browser::go(i32::try_from(steps).unwrap_or(0));
        let lost = move || {
            if self.way.get_value() == way {
                self.way.set_value(None);
                let run = self.entries.with_untracked(|entries| entries.run().to_owned());
                self.entries.update(|entries| {
                    entries.turn(browser::entry().unwrap_or(0));
                    entries.replace(run);
                });
            }
        };
        set_timeout(lost, LOST);
    }

    /// The browser has come to an entry. True if the page sent it there: the Run is shown already.
    pub(in crate::web) fn arrives(self) -> bool {
        if !self.travels() {
            return false;
        }
        self.way.set_value(None);
        // Further steps were asked for meanwhile.
        self.travel();
        true
    }

    /// Writes down the entries, for a reload.
    pub(in crate::web) fn keep(self) {
        browser::keep_of_tab(KEPT, &self.entries.with_untracked(HistoryEntries::kept));
    }
}
