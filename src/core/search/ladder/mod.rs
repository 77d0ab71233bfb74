//! The layout that follows the model: chosen for a model, its GPUs, sequence, batch and software.
//!
//! A ladder of rungs, each a small space of layouts, gives a first guess within a frame. It stops at its first rung
//! with a layout that fits, and takes the fastest of that rung: tensor parallelism of at most a node, pipelines with
//! the schedule as set and expert parallelism; the smallest context parallelism added; selective, then full
//! recomputation; ZeRO-2, ZeRO-3. Software without pipelines begins with ZeRO-3. What is chosen is then the fastest of
//! all layouts that serve ([`Fastest`]), and the guess only where that search ended at its limit of work and found
//! nothing faster. What is trained never changes. Where nothing serves, [`Failure`] says what would do.

mod climb;
mod failure;
mod rungs;

pub(in crate::search) use climb::Climb;
pub use climb::{LadderChoice, Searched};
pub use failure::Failure;
pub(in crate::search) use failure::{adapters, gpu_counts};

use super::fastest::Fastest;
use super::request::PlanRequest;
use crate::issue::Issue;
use crate::run::Run;
use crate::run::length::RunLength;
use failure::Fallback;
use serde::{Deserialize, Serialize};

/// Slices of [`Ladder::guess`] and the units of each: some milliseconds in a browser, about a quarter of that
/// natively.
const AT_ONCE: (usize, u64) = (12, 400);

/// End of a ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LadderEnd {
    /// The fastest layout that serves.
    Chosen(Box<LadderChoice>),
    /// None fits.
    Failed(Box<Failure>),
    /// No layout divides the GPUs, the batch and the model: the checks of the Run say why.
    Undivided,
}

/// The ladder of a Run, climbed in slices.
#[derive(Clone, Debug)]
pub struct Ladder {
    climb: Climb,
    pins: Vec<String>,
    fastest: Option<Box<Fastest>>,
    fallback: Option<Box<Fallback>>,
    outcome: Option<LadderEnd>,
}

impl Ladder {
    /// At the foot of the ladder of `run`.
    ///
    /// # Errors
    /// A Run that has no model, GPU or precision.
    pub fn new(run: &Run) -> Result<Self, Vec<Issue>> {
        Self::with_pins(run, &[])
    }

    /// At the foot of the ladder of `run`, whose fields in `pins` stay as they are.
    ///
    /// # Errors
    /// A Run that has no model, GPU or precision.
    pub fn with_pins(run: &Run, pins: &[&str]) -> Result<Self, Vec<Issue>> {
        let climb = Climb::new(run, pins)?;
        let pins = pins.iter().map(|pin| (*pin).to_owned()).collect();
        Ok(Self { climb, pins, fastest: None, fallback: None, outcome: None })
    }

    /// A first layout that serves and leaves the fields in `pins`, where one is found within a frame.
    pub fn guess(run: &Run, pins: &[&str]) -> Option<LadderChoice> {
        let mut climb = Climb::new(run, pins).ok()?;
        let (slices, units) = AT_ONCE;
        if (0..slices).any(|_| climb.step(units)) { climb.choice().cloned() } else { None }
    }

    /// A Run in place of one that cannot be evaluated: in the first layout that serves, else in the one that needs
    /// least; none where no layout has a report.
    pub fn stand_in(run: &Run) -> Option<Run> {
        if let Some(guess) = Self::guess(run, &[]) {
            return Some(guess.run);
        }
        let mut leanest = Fallback::new(Climb::new(run, &[]).ok()?.run());
        leanest.weigh_all();
        leanest.failure().peak.map(|_| leanest.failure().run)
    }

    /// Works for about `budget` units of a search; true once it is over.
    pub fn step(&mut self, budget: u64) -> bool {
        if self.outcome.is_none() {
            self.outcome = self.work(budget);
        }
        self.outcome.is_some()
    }

    fn work(&mut self, budget: u64) -> Option<LadderEnd> {
        if let Some(fallback) = &mut self.fallback {
            return fallback.step(budget).then(|| LadderEnd::Failed(Box::new(fallback.failure())));
        }
        if let Some(fastest) = &mut self.fastest {
            return if fastest.step(budget) { self.choose() } else { None };
        }
        if self.climb.step(budget) {
            let pins: Vec<&str> = self.pins.iter().map(String::as_str).collect();
            match Fastest::new(self.climb.run(), &pins) {
                Ok(fastest) => self.fastest = Some(Box::new(fastest)),
                Err(_) => return Some(LadderEnd::Undivided),
            }
        }
        None
    }

    /// The faster of the guess and what the search found; else the search for what would do.
    fn choose(&mut self) -> Option<LadderEnd> {
        let search = self.fastest.as_ref()?;
        let searched = Searched::from(search.progress());
        let found = search.found().map(|found| LadderChoice {
            run: found.run.clone(),
            figures: found.figures,
            searched: Some(searched),
        });
        let guess = self.climb.choice().map(|guess| LadderChoice { searched: Some(searched), ..guess.clone() });
        let time = |choice: &LadderChoice| choice.figures.time_s.0;
        let chosen = match (found, guess) {
            (Some(found), Some(guess)) => Some(if time(&guess) < time(&found) { guess } else { found }),
            (found, guess) => found.or(guess),
        };
        if let Some(choice) = chosen {
            return Some(LadderEnd::Chosen(Box::new(choice)));
        }
        if self.climb.evaluated() + searched.layouts == 0 {
            return Some(LadderEnd::Undivided);
        }
        self.fallback = Some(Box::new(Fallback::new(self.climb.run())));
        None
    }

    pub fn finished(mut self) -> LadderEnd {
        while !self.step(u64::MAX) {}
        self.outcome.unwrap_or(LadderEnd::Undivided)
    }

    pub fn outcome(&self) -> Option<&LadderEnd> {
        self.outcome.as_ref()
    }
}

/// Fields that are chosen where they are not given.
pub const CHOSEN: [&str; 11] = [
    "tp",
    "pp",
    "cp",
    "ep",
    "etp",
    "zero",
    "micro_batch",
    "schedule",
    "virtual_stages",
    "recompute",
    "sequence_parallel",
];

/// True if `after` differs from `before` in its layout, as a person sets it.
pub fn differs_in_layout(before: &Run, after: &Run) -> bool {
    let sizes = |run: &Run| (run.tp, run.pp, run.cp, run.ep, run.etp, run.zero, run.micro_batch);
    let order = |run: &Run| (run.schedule, run.virtual_stages, run.sequence_parallel);
    sizes(before) != sizes(after)
        || order(before) != order(after)
        || before.recompute != after.recompute
        || before.stage_layers != after.stage_layers
        || before.schedule_options != after.schedule_options
}

/// True if `after` asks for another layout than `before` did: another model, GPU, number of GPUs, sequence, batch or
/// software.
pub fn asks_anew(before: &Run, after: &Run) -> bool {
    let question = |run: &Run| (run.gpus, run.gpus_per_node, run.seq_len, run.global_batch);
    question(before) != question(after)
        || before.model != after.model
        || before.gpu != after.gpu
        || before.stack != after.stack
        || before.precision != after.precision
        || before.adapter != after.adapter
}

/// True if the layout that was chosen for `before` need not be the fastest of `after`: anything besides the layout, the
/// budget and the calendar differs.
pub fn may_change(before: &Run, after: &Run) -> bool {
    let question = |run: &Run| Run {
        tokens_total: None,
        price_per_gpu_hour: None,
        length: RunLength::default(),
        ..PlanRequest::question(run)
    };
    question(before) != question(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_field_is_yours_and_a_question_asks_anew() {
        let run = Run::default();
        assert!(!differs_in_layout(&run, &run) && !asks_anew(&run, &run) && !may_change(&run, &run));
        for key in CHOSEN.into_iter().filter(|key| *key != "sequence_parallel") {
            let value = match key {
                "schedule" => "zb-v",
                "recompute" => "full",
                _ => "3",
            };
            let after = run.with_texts(&[(key, value.to_owned())]).unwrap();
            assert!(differs_in_layout(&run, &after), "{key}");
            assert!(!asks_anew(&run, &after) && !may_change(&run, &after), "{key}");
        }
        for (key, value) in [("gpus", "128"), ("seq_len", "4096"), ("global_batch", "512"), ("stack", "fsdp2")] {
            let after = run.with_texts(&[(key, value.to_owned())]).unwrap();
            assert!(asks_anew(&run, &after) && may_change(&run, &after) && !differs_in_layout(&run, &after), "{key}");
        }
        let optimizer = run.with_texts(&[("optimizer", "muon".to_owned())]).unwrap();
        assert!(!asks_anew(&run, &optimizer) && may_change(&run, &optimizer));
        let budget = run.with_texts(&[("tokens_total", "1e12".to_owned()), ("repair_days", "3".to_owned())]).unwrap();
        assert!(!asks_anew(&run, &budget) && !may_change(&run, &budget) && !differs_in_layout(&run, &budget));
    }

    /// The page shows a guess with the figures of the edit; what is chosen is no slower.
    #[test]
    fn a_guess_comes_at_once_and_is_no_faster_than_what_is_chosen() {
        for (link, is_short) in [
            (&[][..], true),
            (&[("model", "llama-3.1-405b"), ("gpus", "16384"), ("global_batch", "2048")][..], true),
            (&[("model", "llama-3.1-405b"), ("gpus", "8")][..], false),
        ] {
            let texts: Vec<_> = link.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
            let run = Run::default().with_texts(&texts).unwrap();
            let guess = Ladder::guess(&run, &[]);
            assert_eq!(guess.is_some(), is_short, "{link:?}");
            if let (Some(guess), LadderEnd::Chosen(choice)) = (guess, Ladder::new(&run).unwrap().finished()) {
                assert!(guess.searched.is_none() && choice.searched.is_some());
                assert!(choice.figures.time_s <= guess.figures.time_s, "{link:?}");
            }
        }
    }
}
