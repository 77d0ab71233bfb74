//! The Runs of the tab's entries in the browser's history: "Back", undo and redo walk over the same list.

/// Entries from the oldest on, each with the Run that it shows, as a link; a Run that is not known is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HistoryEntries {
    runs: Vec<String>,
    /// The entry that is shown.
    at: usize,
}

/// Steps that undo takes at most: browsers keep 50 entries of a tab, the oldest go first.
const MOST: usize = 48;

impl HistoryEntries {
    /// Of a tab whose entry number `at` shows `run`, by what `kept` knows of the others.
    pub fn new(kept: &str, at: usize, run: &str) -> Self {
        let mut runs: Vec<String> = kept.lines().map(str::to_owned).collect();
        // The entries are those of another visit, or they are lost.
        if runs.get(at).is_none_or(|known| known != run) {
            runs = vec![String::new(); at];
            runs.push(run.to_owned());
        }
        Self { runs, at }
    }

    /// The text that [`new`](Self::new) reads.
    pub fn kept(&self) -> String {
        self.runs.join("\n")
    }

    pub fn at(&self) -> usize {
        self.at
    }

    /// The Run of the entry that is shown.
    pub fn run(&self) -> &str {
        self.runs.get(self.at).map_or("", String::as_str)
    }

    /// Another Run in the entry that is shown.
    pub fn replace(&mut self, run: String) {
        if let Some(now) = self.runs.get_mut(self.at) {
            *now = run;
        }
    }

    /// A new entry behind the one that is shown; those that came after it are forgotten, by the browser too.
    pub fn push(&mut self, run: String) {
        self.runs.truncate(self.at + 1);
        self.runs.push(run);
        self.at = self.runs.len() - 1;
    }

    /// Shows entry number `at`.
    pub fn turn(&mut self, at: usize) {
        if self.runs.len() <= at {
            self.runs.resize(at + 1, String::new());
        }
        self.at = at;
    }

    /// The nearest entry with another Run, before the one that is shown or behind it.
    pub fn other(&self, back: bool) -> Option<usize> {
        let oldest = self.runs.len().saturating_sub(MOST + 1);
        let is_other = |at: &usize| !self.runs[*at].is_empty() && self.runs[*at] != self.run();
        if back { (oldest..self.at).rev().find(is_other) } else { (self.at + 1..self.runs.len()).find(is_other) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of entries that show these Runs, the last one shown.
    fn entries(runs: &[&str]) -> HistoryEntries {
        let mut entries = HistoryEntries::new("", 0, runs[0]);
        for run in &runs[1..] {
            entries.push((*run).to_owned());
        }
        entries
    }

    #[test]
    fn a_step_leads_over_entries_of_the_same_run() {
        // Two views were opened and left between the two Runs.
        let mut entries = entries(&["a", "b", "b", "b"]);
        assert_eq!((entries.other(true), entries.other(false)), (Some(0), None));
        entries.turn(0);
        assert_eq!((entries.other(true), entries.other(false)), (None, Some(1)));
    }

    #[test]
    fn a_new_run_forgets_what_was_undone() {
        let mut entries = entries(&["a", "b", "c"]);
        entries.turn(0);
        entries.push("d".to_owned());
        assert_eq!((entries.at(), entries.other(true), entries.other(false)), (1, Some(0), None));
        entries.replace("a".to_owned());
        assert_eq!(entries.other(true), None);
    }

    #[test]
    fn a_reload_keeps_the_list_and_another_link_begins_one() {
        let before = entries(&["a", "b", "c"]);
        let kept = before.kept();
        assert_eq!(HistoryEntries::new(&kept, 2, "c"), before);
        let other = HistoryEntries::new(&kept, 2, "x");
        assert_eq!((other.run(), other.other(true)), ("x", None));
        // A number that the list does not have: what came before is not known.
        let lost = HistoryEntries::new("", 3, "a");
        assert_eq!((lost.at(), lost.other(true)), (3, None));
    }

    #[test]
    fn no_step_leads_to_an_entry_that_the_browser_has_dropped() {
        let runs: Vec<String> = (0..80).map(|at| at.to_string()).collect();
        let mut entries = entries(&runs.iter().map(String::as_str).collect::<Vec<_>>());
        let mut steps = 0;
        while let Some(at) = entries.other(true) {
            entries.turn(at);
            steps += 1;
        }
        assert_eq!((steps, entries.at()), (MOST, 79 - MOST));
    }
}
