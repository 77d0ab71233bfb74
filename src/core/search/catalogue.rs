//! Models that train on a cluster within some days: every model of the catalogue, each in the layout that the search
//! finds.

use super::request::PlanRequest;
use super::{FoundLayout, Search, TOP, serves};
use crate::report::evaluate_plain as evaluate;
use crate::run::presets::MODELS;
use crate::run::{Based, Run};
use crate::units::Bytes;
use crate::whole_run::tokens_in;
use serde::{Deserialize, Serialize};

/// Units of work for a model: about half a second of a processor. A search that takes longer answers with what it has.
const WORK: u64 = 400_000;

/// A model in its layout, and the tokens that it trains on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainedModel {
    pub run: Run,
    pub dp: u64,
    /// Tokens within the days, in the mean.
    pub tokens: f64,
    /// Parameters that a token visits.
    pub active: f64,
    pub parameters: f64,
    /// Bytes on the fullest GPU.
    pub peak: Bytes,
    /// It fits by the whole range of its memory.
    pub fits: bool,
}

/// A model of the catalogue, by its place in [`MODELS`]; none where no layout of it trains here.
pub type CatalogueRow = (usize, Option<Box<TrainedModel>>);

/// The search of the whole catalogue under way.
pub struct CatalogueSearch {
    run: Run,
    days: f64,
    at: usize,
    search: Option<(Search, u64)>,
}

impl CatalogueSearch {
    /// A search with the cluster, software, sequence and batch of `run`.
    pub fn new(run: &Run, days: f64) -> Self {
        let run = Run {
            stage_layers: None,
            microbatch_lengths: None,
            measured_step_s: None,
            mtp_stage: None,
            tokens_total: None,
            ..run.clone()
        };
        Self { run, days, at: 0, search: None }
    }

    /// Works for about `budget` units: the next row once it is found; `Err` once there is none left.
    ///
    /// # Errors
    /// Every model has its row.
    #[allow(clippy::result_unit_err)] // nothing more is to say
    pub fn step(&mut self, budget: u64) -> Result<Option<CatalogueRow>, ()> {
        let preset = MODELS.get(self.at).ok_or(())?;
        let Some((search, spent)) = &mut self.search else {
            // A preset whose parts were changed is the Run's own model.
            let id = preset.choice.id;
            let model = if self.run.model.base == Some(id) { self.run.model.clone() } else { Based::preset(id) };
            match PlanRequest::able(&Run { model, ..self.run.clone() }, &[], TOP) {
                Ok(request) => self.search = Some((request.search, 0)),
                Err(_) => return Ok(Some(self.row(None))),
            }
            return Ok(None);
        };
        *spent += budget;
        let is_over = search.step(budget).done || *spent >= WORK;
        if !is_over {
            return Ok(None);
        }
        let fits = |found: &&std::rc::Rc<FoundLayout>| serves(&found.run, &found.figures.peak);
        let best = search.best();
        let best = best.iter().find(fits).or(best.first()).cloned();
        let trained = best.and_then(|found| trained(&found, self.days));
        Ok(Some(self.row(trained)))
    }

    fn row(&mut self, trained: Option<TrainedModel>) -> CatalogueRow {
        self.search = None;
        self.at += 1;
        (self.at - 1, trained.map(Box::new))
    }
}

fn trained(found: &FoundLayout, days: f64) -> Option<TrainedModel> {
    let evaluation = evaluate(&found.run).ok()?;
    let parameters = &evaluation.report.parameters;
    Some(TrainedModel {
        run: found.run.clone(),
        dp: found.figures.dp,
        tokens: tokens_in(&evaluation, days).ok()?,
        active: parameters.active as f64,
        parameters: parameters.total as f64,
        peak: found.figures.peak.bytes,
        fits: serves(&found.run, &found.figures.peak),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::evaluate;

    #[test]
    fn every_model_gets_a_row_and_tokens_follow_its_step() {
        let run = Run { gpus: 64, ..Run::default() };
        let mut catalogue = CatalogueSearch::new(&run, 30.0);
        let mut rows = Vec::new();
        // The first three: others take the same way.
        while rows.len() < 3 {
            rows.extend(catalogue.step(50_000).unwrap());
        }
        assert!(rows.iter().map(|(at, _)| *at).eq(0..3));
        let trained: Vec<_> = rows.iter().filter_map(|(_, trained)| trained.as_deref()).collect();
        assert!(trained[0].tokens > trained[trained.len() - 1].tokens);
        for one in trained {
            let step = &evaluate(&one.run).unwrap().report.step;
            // Losses take some of it, never more than half on 64 GPUs.
            let most = step.tokens_per_s * 30.0 * 86_400.0;
            assert!(one.tokens < most && one.tokens > most / 2.0, "{} {most}", one.tokens);
        }
        let mut end = CatalogueSearch { at: MODELS.len(), ..CatalogueSearch::new(&run, 30.0) };
        assert!(end.step(1).is_err());
    }
}
