//! Models that train on a cluster within some days: every model of the catalogue, each in a layout of the one choice
//! that the page makes for it.

use super::ladder::{ChoiceEnd, Choosing, Climb};
use super::serves;
use crate::report::evaluate_plain as evaluate;
use crate::run::presets::MODELS;
use crate::run::{Based, Run};
use crate::units::Bytes;
use crate::whole_run::tokens_in;
use serde::{Deserialize, Serialize};

/// Units of work for a faster layout of a model of which one that fits is known: about half a second of a processor
/// in a browser. A model of which none is known has the work of [`Ladder`](super::ladder::Ladder), so that both say
/// the same.
const FASTER: u64 = 400_000;

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

/// What is done for the model at hand.
enum Stage {
    /// The choice of its layout, as [`Ladder`](super::ladder::Ladder) makes it.
    Choose(Box<Choosing>),
    /// None fits: one that is tight.
    Tight(Box<Climb>),
}

/// The search of the whole catalogue under way.
pub struct CatalogueSearch {
    run: Run,
    days: f64,
    at: usize,
    stage: Option<Stage>,
}

impl CatalogueSearch {
    /// A search with the cluster, software, sequence and batch of `run`.
    pub fn new(run: &Run, days: f64) -> Self {
        Self::from(0, run, days)
    }

    /// [`Self::new`] from the model at the place `at` on.
    fn from(at: usize, run: &Run, days: f64) -> Self {
        let run = Run { microbatch_lengths: None, measured_step_s: None, tokens_total: None, ..run.clone() };
        Self { run, days, at, stage: None }
    }

    /// Works for about `budget` units: the next row once it is found; `Err` once there is none left.
    ///
    /// # Errors
    /// Every model has its row.
    #[allow(clippy::result_unit_err)] // nothing more is to say
    pub fn step(&mut self, budget: u64) -> Result<Option<CatalogueRow>, ()> {
        let preset = MODELS.get(self.at).ok_or(())?;
        let next = match self.stage.take() {
            None => {
                // A preset whose parts were changed is the Run's own model.
                let id = preset.choice.id;
                let model = if self.run.model.base == Some(id) { self.run.model.clone() } else { Based::preset(id) };
                let choosing = Choosing::new(&Run { model, ..self.run.clone() }, &[], FASTER);
                choosing.ok().map(|choosing| Stage::Choose(Box::new(choosing)))
            }
            Some(Stage::Choose(mut choosing)) => match choosing.step(budget).cloned() {
                None => Some(Stage::Choose(choosing)),
                Some(ChoiceEnd::Layout(choice)) => return Ok(Some(self.row(trained(&choice.run, self.days)))),
                Some(ChoiceEnd::NoneFits | ChoiceEnd::Undivided) => {
                    Climb::with_tight(choosing.run()).ok().map(|climb| Stage::Tight(Box::new(climb)))
                }
            },
            Some(Stage::Tight(mut climb)) => {
                if climb.step(budget) {
                    let trained = climb.choice().and_then(|choice| trained(&choice.run, self.days));
                    return Ok(Some(self.row(trained)));
                }
                Some(Stage::Tight(climb))
            }
        };
        self.stage = next;
        Ok(if self.stage.is_some() { None } else { Some(self.row(None)) })
    }

    fn row(&mut self, trained: Option<TrainedModel>) -> CatalogueRow {
        self.stage = None;
        self.at += 1;
        (self.at - 1, trained.map(Box::new))
    }
}

fn trained(run: &Run, days: f64) -> Option<TrainedModel> {
    let evaluation = evaluate(run).ok()?;
    let (report, peak) = (&evaluation.report, evaluation.report.memory.peak());
    Some(TrainedModel {
        run: run.clone(),
        dp: report.layout.dp,
        tokens: tokens_in(&evaluation, days).ok()?,
        active: report.parameters.active as f64,
        parameters: report.parameters.total as f64,
        peak: peak.bytes,
        fits: serves(run, &peak),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::evaluate;
    use crate::search::ladder::{Ladder, LadderEnd};

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
        assert!(CatalogueSearch::from(MODELS.len(), &run, 30.0).step(1).is_err());
    }

    /// What the list of models says of one is what its choice in the page says: both fit, or neither does. The layout
    /// that stands in the Run is no part of the question.
    #[test]
    fn a_model_fits_in_the_list_where_its_choice_fits() {
        for (id, gpus, fits) in
            [("qwen-3-30b-a3b", "64", true), ("qwen-3-30b-a3b", "8", false), ("llama-3.1-405b", "8", false)]
        {
            let at = MODELS.iter().position(|preset| preset.choice.id == id).unwrap();
            let run = Run::default().with_texts(&[("stack", "megatron-2025"), ("gpus", gpus), ("tp", "8")]).unwrap();
            let mut catalogue = CatalogueSearch::from(at, &run, 30.0);
            let (_, row) = loop {
                if let Some(row) = catalogue.step(1 << 20).unwrap() {
                    break row;
                }
            };
            let chosen = Ladder::new(&Run { model: Based::preset(id), ..run }).unwrap().finished();
            let is_chosen = matches!(chosen, LadderEnd::Chosen(_));
            assert_eq!(row.is_some_and(|trained| trained.fits), is_chosen, "{id} on {gpus}");
            assert_eq!(is_chosen, fits, "{id} on {gpus}");
        }
    }
}
