//! All published runs, and which of them a Run is.

use super::mlperf::MLPERF_RUNS;
use super::published::{PUBLISHED, PublishedRun, WHOLE_RUNS};
use crate::run::Run;
use std::sync::OnceLock;

/// Published runs of all kinds.
pub fn all() -> impl Iterator<Item = &'static PublishedRun> {
    PUBLISHED.iter().chain(WHOLE_RUNS).chain(MLPERF_RUNS.iter())
}

/// The published run that `run` is, unchanged.
pub fn published(run: &Run) -> Option<&'static PublishedRun> {
    static RUNS: OnceLock<Vec<Run>> = OnceLock::new();
    let runs = RUNS.get_or_init(|| all().map(PublishedRun::run).collect());
    all().nth(runs.iter().position(|known| known == run)?)
}

#[cfg(test)]
mod tests {
    use super::super::published::read;
    use super::*;
    use crate::run::Scenario;

    #[test]
    fn every_published_run_is_read_whole_and_has_a_measurement() {
        for (index, published) in all().enumerate() {
            let (run, issues) = read(published.settings);
            assert_eq!(issues, [], "{}", published.id);
            assert!(published.settings.concat().contains("stack"), "{}", published.id);
            let scenario = Scenario::new(&run).map_err(|issues| format!("{}: {issues:?}", published.id)).unwrap();
            assert_eq!(super::published(&run).map(|found| found.id), Some(published.id));
            assert!(all().take(index).all(|other| other.id != published.id));
            assert!(scenario.layout.dp > 0 && !published.measured.is_empty());
        }
        assert!(super::published(&Run::default()).is_none());
    }
}
