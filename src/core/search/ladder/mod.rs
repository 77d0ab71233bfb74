//! The layout that follows the model: chosen for a model, its GPUs, sequence, batch and software.
//!
//! A ladder of rungs, each a small space of layouts. It stops at its first rung with a layout that fits, and takes the
//! fastest of that rung: tensor parallelism of at most a node, pipelines with the schedule as set and expert
//! parallelism; the smallest context parallelism added; selective, then full recomputation; ZeRO-2, ZeRO-3. Software
//! without pipelines begins with ZeRO-3. What is trained never changes. Where the last rung fails, [`Failure`] says
//! what would do.

mod climb;
mod failure;
mod rungs;

pub use climb::Choice;
pub use failure::Failure;
pub use rungs::Rung;

use crate::issue::Issue;
use crate::run::Run;
use climb::Climb;
use failure::Fallback;
use serde::{Deserialize, Serialize};

/// Slices of [`Ladder::at_once`] and the units of each: some milliseconds in a browser, about a quarter of that
/// natively.
const AT_ONCE: (usize, u64) = (12, 400);

/// End of a ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// A layout that fits.
    Chosen(Box<Choice>),
    /// None fits.
    Failed(Box<Failure>),
    /// No layout divides the GPUs, the batch and the model: the checks of the Run say why.
    Undivided,
}

/// The ladder of a Run, climbed in slices.
#[derive(Clone, Debug)]
pub struct Ladder {
    climb: Climb,
    fallback: Option<Box<Fallback>>,
    outcome: Option<Outcome>,
}

impl Ladder {
    /// At its foot.
    ///
    /// # Errors
    /// A Run that has no model, GPU or precision.
    pub fn new(run: &Run) -> Result<Self, Vec<Issue>> {
        Ok(Self { climb: Climb::new(run)?, fallback: None, outcome: None })
    }

    /// End of the ladder of `run` where that is near, as it is for most models and counts of GPUs; none where it is
    /// not, or where the Run has no model, GPU or precision.
    pub fn at_once(run: &Run) -> Option<Outcome> {
        let mut ladder = Self::new(run).ok()?;
        let (slices, units) = AT_ONCE;
        if (0..slices).any(|_| ladder.step(units)) { ladder.outcome } else { None }
    }

    /// Works for about `budget` units of a search; true once it is over.
    pub fn step(&mut self, budget: u64) -> bool {
        if self.outcome.is_none() {
            self.outcome = self.work(budget);
        }
        self.outcome.is_some()
    }

    fn work(&mut self, budget: u64) -> Option<Outcome> {
        if let Some(fallback) = &mut self.fallback {
            return fallback.step(budget).then(|| Outcome::Failed(Box::new(fallback.failure())));
        }
        if !self.climb.step(budget) {
            return None;
        }
        if let Some(choice) = self.climb.choice() {
            return Some(Outcome::Chosen(Box::new(choice.clone())));
        }
        if self.climb.evaluated() == 0 {
            return Some(Outcome::Undivided);
        }
        self.fallback = Some(Box::new(Fallback::new(self.climb.run())));
        None
    }

    pub fn finished(mut self) -> Outcome {
        while !self.step(u64::MAX) {}
        self.outcome.unwrap_or(Outcome::Undivided)
    }

    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }
}

/// True if `after` differs from `before` in its layout, as a person sets it.
pub fn differs_in_layout(before: &Run, after: &Run) -> bool {
    let layout = |run: &Run| (run.tp, run.pp, run.cp, run.ep, run.etp, run.zero, run.schedule, run.virtual_stages);
    layout(before) != layout(after)
        || before.recompute != after.recompute
        || before.stage_layers != after.stage_layers
        || before.schedule_options != after.schedule_options
}

/// True if `after` asks for another layout than `before` did: another model, GPU, number of GPUs, sequence, batch or
/// software.
pub fn asks_anew(before: &Run, after: &Run) -> bool {
    let question = |run: &Run| (run.gpus, run.gpus_per_node, run.seq_len, run.global_batch, run.micro_batch);
    question(before) != question(after)
        || before.model != after.model
        || before.gpu != after.gpu
        || before.stack != after.stack
        || before.precision != after.precision
        || before.adapter != after.adapter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_field_is_yours_and_a_question_asks_anew() {
        let run = Run::default();
        assert!(!differs_in_layout(&run, &run) && !asks_anew(&run, &run));
        for key in ["tp", "pp", "cp", "ep", "etp", "zero", "schedule"] {
            let value = if key == "schedule" { "zb-v" } else { "3" };
            let after = run.with_texts(&[(key, value.to_owned())]).unwrap();
            assert!(differs_in_layout(&run, &after) && !asks_anew(&run, &after), "{key}");
        }
        for (key, value) in [("gpus", "128"), ("seq_len", "4096"), ("global_batch", "512"), ("stack", "fsdp2")] {
            let after = run.with_texts(&[(key, value.to_owned())]).unwrap();
            assert!(asks_anew(&run, &after) && !differs_in_layout(&run, &after), "{key}");
        }
        let budget = run.with_texts(&[("tokens_total", "1e12".to_owned())]).unwrap();
        assert!(!asks_anew(&run, &budget) && !differs_in_layout(&run, &budget));
    }

    /// The page shows the layout of a short ladder with the figures of the edit; it is that of the whole ladder.
    #[test]
    fn a_short_ladder_ends_at_once_as_in_slices() {
        for (link, is_short) in [
            (&[][..], true),
            (&[("model", "llama-3.1-405b"), ("gpus", "16384"), ("global_batch", "2048")][..], true),
            (&[("model", "llama-3.1-405b"), ("gpus", "8")][..], false),
        ] {
            let texts: Vec<_> = link.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
            let run = Run::default().with_texts(&texts).unwrap();
            let whole = Ladder::new(&run).unwrap().finished();
            assert_eq!(Ladder::at_once(&run), is_short.then_some(whole), "{link:?}");
        }
    }
}
