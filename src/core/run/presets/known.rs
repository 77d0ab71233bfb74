//! All published runs, which of them a Run is, and which are of its model on its GPUs.

use super::mlperf::MLPERF_RUNS;
use super::published::{PUBLISHED, PublishedRun, WHOLE_RUNS};
use crate::run::Run;
use std::sync::OnceLock;

/// Published runs of all kinds.
pub fn all() -> impl Iterator<Item = &'static PublishedRun> {
    PUBLISHED.iter().chain(WHOLE_RUNS).chain(MLPERF_RUNS.iter())
}

/// The published run that `run` is, unchanged. Links from before runs of MLPerf had their length are of these, too.
pub fn published(run: &Run) -> Option<&'static PublishedRun> {
    static RUNS: OnceLock<Vec<(&PublishedRun, Run)>> = OnceLock::new();
    let runs = RUNS.get_or_init(|| {
        let without = |known: &PublishedRun| Run { tokens_total: None, length: Run::default().length, ..known.run() };
        let bare = MLPERF_RUNS.iter().map(|known| (known, without(known)));
        all().map(|known| (known, known.run())).chain(bare).collect()
    });
    runs.iter().find(|(_, known)| known == run).map(|(known, _)| *known)
}

/// A run that was published, with its settings.
pub type PublishedAlike = (&'static PublishedRun, Run);

/// Runs of [`PUBLISHED`] that train the model of `run` on as many of its GPUs.
pub fn published_alike(run: &Run) -> Vec<PublishedAlike> {
    let (Some(model), Some(gpu)) = (run.model.base, run.gpu.base) else {
        return Vec::new();
    };
    let alike = |other: &Run| (&other.model, &other.gpu, other.gpus) == (&run.model, &run.gpu, run.gpus);
    // Only runs whose settings contain both ids are parsed.
    let may = |one: &&PublishedRun| [model, gpu].iter().all(|id| one.settings.iter().any(|part| part.contains(id)));
    let found = PUBLISHED.iter().filter(may).map(|one| (one, one.run()));
    found.filter(|(_, other)| alike(other)).collect()
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
