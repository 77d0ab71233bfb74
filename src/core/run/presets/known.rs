//! All published runs, which of them a Run is, and which are of its model on its GPUs.

use super::mlperf::MLPERF_RUNS;
use super::published::{PUBLISHED, PublishedRun, WHOLE_RUNS, said};
use crate::run::Run;
use std::sync::OnceLock;

/// Published runs of all kinds.
pub fn all() -> impl Iterator<Item = &'static PublishedRun> {
    PUBLISHED.iter().chain(WHOLE_RUNS).chain(MLPERF_RUNS.iter())
}

/// A published run whose settings are read once a Run may be it: most never are.
struct Known {
    published: &'static PublishedRun,
    /// Its length is left out, as links from before runs of MLPerf had one say it.
    is_bare: bool,
    /// What its settings say of model and GPUs.
    model: Option<&'static str>,
    gpus: Option<u64>,
    run: OnceLock<Run>,
}

impl Known {
    fn new(published: &'static PublishedRun, is_bare: bool) -> Self {
        let said = |key| said(published.settings, key);
        let gpus = said("gpus").and_then(|gpus| gpus.parse().ok());
        Self { published, is_bare, model: said("model"), gpus, run: OnceLock::new() }
    }

    fn is(&self, run: &Run) -> bool {
        let is_model = self.model.is_none_or(|model| run.model.base.is_none_or(|base| base == model));
        is_model && self.gpus.is_none_or(|gpus| gpus == run.gpus) && self.run() == run
    }

    fn run(&self) -> &Run {
        self.run.get_or_init(|| match self.published.run() {
            run if self.is_bare => Run { tokens_total: None, length: Run::default().length, ..run },
            run => run,
        })
    }
}

/// The published run that `run` is, unchanged. Links from before runs of MLPerf had their length are of these, too.
pub fn published(run: &Run) -> Option<&'static PublishedRun> {
    static RUNS: OnceLock<Vec<Known>> = OnceLock::new();
    let runs = RUNS.get_or_init(|| {
        let bare = MLPERF_RUNS.iter().map(|published| Known::new(published, true));
        all().map(|published| Known::new(published, false)).chain(bare).collect()
    });
    runs.iter().find(|known| known.is(run)).map(|known| known.published)
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
        let rows =
            include_str!("../../../../public/data/mlperf.csv").lines().filter(|line| line.starts_with("mlperf-"));
        assert_eq!(MLPERF_RUNS.len(), rows.count());
        assert!(super::published(&Run::default()).is_none());
    }
}
