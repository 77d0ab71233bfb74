//! Chooses the layout for a model, its GPUs, sequence length, batch and software. Only the layout changes, never the
//! model or the batch. The layout that stands in the Run counts where it is given alone, by a pin: the choice is one
//! for all Runs with the same question.
//!
//! First comes a guess, quick enough to be shown with the next frame of the page. It climbs a ladder of rungs, each a
//! small space of layouts:
//! 1. tensor parallelism within a node, pipelines of 1F1B or of the schedule that is given, expert parallelism;
//! 2. with context parallelism, the smallest sizes first;
//! 3. with selective, then with full recomputation;
//! 4. with ZeRO-2, then with ZeRO-3 (software without pipelines begins with ZeRO-3).
//!
//! The guess is the fastest layout of the first rung on which any layout fits.
//!
//! Then [`Fastest`](super::Fastest) searches all layouts that fit and that the software can run. Its result is chosen;
//! the guess is chosen where that search reached its limit of work and found nothing faster. Where no layout fits,
//! [`Failure`] says what would make the Run fit.

mod choosing;
mod climb;
mod failure;
mod rungs;

pub(in crate::search) use choosing::{ChoiceEnd, Choosing};
pub(in crate::search) use climb::Climb;
pub use climb::{LadderChoice, Searched};
pub use failure::{Failure, asked, tried_before};
pub(in crate::search) use failure::{adapters, gpu_counts};

use super::allowance::WORK;
use super::layout_field::LayoutField;
use super::request::PlanRequest;
use crate::issue::Issue;
use crate::run::length::RunLength;
use crate::run::{Run, Schedule, ScheduleOptions, even_split};
use failure::Fallback;
use serde::{Deserialize, Serialize};

/// The work of [`Ladder::guess`]: the most slices, and the units of each. They take some milliseconds in a browser,
/// about a quarter of that natively.
const GUESS_WORK: (usize, u64) = (12, 400);

/// Outcome of the choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LadderEnd {
    /// The fastest layout that fits and that the software can run.
    Chosen(Box<LadderChoice>),
    /// No layout fits.
    Failed(Box<Failure>),
    /// No layout that the software can run divides the GPUs, the batch and the model: the checks of the Run say why. A
    /// Run whose stages have other layers may be valid all the same.
    Undivided,
}

/// The choice of a layout for a Run. It works in slices.
#[derive(Clone, Debug)]
pub struct Ladder {
    /// The guess, then the search over all layouts.
    choosing: Choosing,
    /// The search for what would make the Run fit, once no layout does.
    fallback: Option<Box<Fallback>>,
    outcome: Option<LadderEnd>,
}

impl Ladder {
    /// Prepares the choice for `run`.
    ///
    /// # Errors
    /// A Run that has no model, GPU or precision.
    pub fn new(run: &Run) -> Result<Self, Vec<Issue>> {
        Self::with_pins(run, &[])
    }

    /// Prepares the choice for `run`, whose fields in `pins` stay as they are.
    ///
    /// # Errors
    /// A Run that has no model, GPU or precision.
    pub fn with_pins(run: &Run, pins: &[&str]) -> Result<Self, Vec<Issue>> {
        Ok(Self { choosing: Choosing::new(run, pins, WORK)?, fallback: None, outcome: None })
    }

    /// The guess alone, which leaves the fields in `pins` as they are; none if `GUESS_WORK` finds no layout.
    pub fn guess(run: &Run, pins: &[&str]) -> Option<LadderChoice> {
        let mut climb = Climb::new(run, pins).ok()?;
        let (slices, units) = GUESS_WORK;
        if (0..slices).any(|_| climb.step(units)) { climb.choice().cloned() } else { None }
    }

    /// A Run to show in place of `run`, which cannot be evaluated: with the layout of the guess, else with the layout
    /// that needs the least memory; none where no layout can be evaluated.
    pub fn stand_in(run: &Run) -> Option<Run> {
        if let Some(guess) = Self::guess(run, &[]) {
            return Some(guess.run);
        }
        let mut leanest = Fallback::new(Climb::new(run, &[]).ok()?.run());
        leanest.weigh_all();
        leanest.failure().peak.map(|_| leanest.failure().run)
    }

    /// Works for about `budget` units. True once the outcome is known.
    pub fn step(&mut self, budget: u64) -> bool {
        if self.outcome.is_none() {
            self.outcome = self.work(budget);
        }
        self.outcome.is_some()
    }

    /// One slice of the stage at hand: the choice, then the fallback. Returns the outcome if it ends there.
    fn work(&mut self, budget: u64) -> Option<LadderEnd> {
        if let Some(fallback) = &mut self.fallback {
            return fallback.step(budget).then(|| LadderEnd::Failed(Box::new(fallback.failure())));
        }
        match self.choosing.step(budget)?.clone() {
            ChoiceEnd::Layout(choice) => Some(LadderEnd::Chosen(choice)),
            ChoiceEnd::Undivided => Some(LadderEnd::Undivided),
            ChoiceEnd::NoneFits => {
                self.fallback = Some(Box::new(Fallback::new(self.choosing.run())));
                None
            }
        }
    }

    /// The outcome, without slices.
    pub fn finished(mut self) -> LadderEnd {
        while !self.step(u64::MAX) {}
        self.outcome.unwrap_or(LadderEnd::Undivided)
    }

    /// The outcome, once it is known.
    pub fn outcome(&self) -> Option<&LadderEnd> {
        self.outcome.as_ref()
    }
}

/// Keys of the fields of a layout. Those that a request does not give are chosen.
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

/// True if `after` differs from `before` in a field of the layout: in one of [`CHOSEN`], or in one that a request alone
/// gives.
pub fn differs_in_layout(before: &Run, after: &Run) -> bool {
    let mut moved = before.clone();
    for field in LayoutField::ALL {
        field.copy(after, &mut moved);
    }
    moved != *before
}

/// True if two Runs with equal figures have one layout: a setting without effect is no difference, such as the schedule
/// of a single stage. Figures tell the others apart: GPipe on one stage holds all micro-batches.
pub fn is_same_layout(one: &Run, other: &Run) -> bool {
    !differs_in_layout(&in_effect(one), &in_effect(other))
}

/// `run` with its idle settings of the layout as they are by default.
fn in_effect(run: &Run) -> Run {
    let mut run = run.clone();
    if run.tp == 1 {
        run.sequence_parallel = false;
    }
    if run.training_gpus() == run.tp.saturating_mul(run.pp) {
        run.zero = 0;
    }
    if run.pp == 1 {
        (run.schedule, run.virtual_stages, run.stage_layers) = (Schedule::OneFOneB, 1, None);
        run.schedule_options = ScheduleOptions::default();
    }
    let layers = run.model.resolve().map_or(0, |model| model.layers);
    let stages = run.pp.saturating_mul(run.virtual_stages);
    let is_even = |list: &[u64]| stages > 0 && list.len() as u64 == stages && list == even_split(layers, stages);
    if run.stage_layers.as_deref().is_some_and(is_even) {
        run.stage_layers = None;
    }
    run
}

/// True if a layout has to be chosen anew for `after`: it has another model, GPU, number of GPUs, sequence length,
/// batch, software, precision or adapter than `before`.
pub fn asks_anew(before: &Run, after: &Run) -> bool {
    let sizes = |run: &Run| (run.gpus, run.gpus_per_node, run.seq_len, run.global_batch);
    sizes(before) != sizes(after)
        || before.model != after.model
        || before.gpu != after.gpu
        || before.stack != after.stack
        || before.precision != after.precision
        || before.adapter != after.adapter
}

/// True if the layout that was chosen for `before` may not be the fastest for `after`: a field other than those of the
/// layout, the budget and the whole run's calendar differs.
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

    /// Dettmers et al. 2023 fine-tune 65 B parameters by `QLoRA` on one GPU of 48 GB: more of them have a layout too,
    /// without tensor parallelism.
    #[test]
    fn a_quantised_base_has_a_layout_on_several_gpus() {
        let edits = [("model", "llama-3.1-70b"), ("gpu", "l40s"), ("seq_len", "512"), ("global_batch", "16")];
        let run = Run::default().with_texts(&edits).unwrap();
        let run = run.with_texts(&[("stack", "hf-trainer"), ("adapter.method", "qlora")]).unwrap();
        for gpus in [2, 4, 8] {
            let end = Ladder::new(&Run { gpus, tp: 1, pp: 1, ..run.clone() }).unwrap().finished();
            let LadderEnd::Chosen(choice) = end else { panic!("{gpus} GPUs: {end:?}") };
            assert_eq!((choice.run.tp, choice.run.pp), (1, 1), "{gpus} GPUs");
        }
    }

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
        // What a request alone gives is a layout of one's own, too.
        for (key, value) in [("stage_layers", "9,8,8,7"), ("hsdp_shard", "8"), ("schedule_options.memory_limit", "3")] {
            let after = run.with_texts(&[(key, value.to_owned())]).unwrap();
            assert!(differs_in_layout(&run, &after) && !asks_anew(&run, &after), "{key}");
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

    /// Settings without effect: the schedule and the chunks of one stage, sequence parallelism of one tensor rank,
    /// layers given as they are by default. Reports of what is one layout are one; those of two layouts are two.
    #[test]
    fn a_setting_without_effect_is_no_other_layout() {
        let with = |run: &Run, set: &[(&'static str, &str)]| {
            let set: Vec<_> = set.iter().map(|(key, text)| (*key, (*text).to_owned())).collect();
            run.with_texts(&set).unwrap()
        };
        let one = with(&Run::default(), &[("tp", "1"), ("pp", "1"), ("sequence_parallel", "false")]);
        let four = with(&Run::default(), &[("pp", "4"), ("schedule", "interleaved-1f1b"), ("virtual_stages", "2")]);
        let pairs = vec![
            (&one, with(&one, &[("schedule", "zb-h1"), ("sequence_parallel", "true")]), true),
            (&four, with(&four, &[("schedule", "1f1b")]), false),
            (&four, with(&four, &[("stage_layers", "4,4,4,4,4,4,4,4")]), true),
            (&four, with(&four, &[("stage_layers", "3,4,4,4,4,5,4,4")]), false),
            (&four, with(&four, &[("virtual_stages", "4")]), false),
            (&one, with(&one, &[("zero", "3")]), false),
        ];
        for (run, other, same) in pairs {
            assert_eq!(is_same_layout(run, &other), same, "{other:?}");
            let figures = [run, &other].map(|run| {
                let report = crate::report::report(run).unwrap();
                (report.step.time_s.0.to_bits(), report.memory.peak_bytes.0.to_bits())
            });
            assert_eq!(figures[0] == figures[1], same, "{other:?}");
        }
    }

    /// In place of a layout that does not divide its GPUs one is shown that fits, wherever a layout is chosen at all.
    #[test]
    fn what_is_shown_in_place_of_a_refused_layout_fits_where_a_choice_does() {
        for (model, gpu, gpus) in [
            ("llama-3.1-8b", "h100-sxm-80gb", "4"),
            ("llama-3.1-70b", "h100-sxm-80gb", "16"),
            ("llama-3.1-70b", "h100-sxm-80gb", "24"),
            ("llama-3.1-405b", "h100-sxm-80gb", "8"),
            ("llama-3.1-405b", "h100-sxm-80gb", "128"),
            ("deepseek-v3", "h800-sxm-80gb", "512"),
            ("qwen-3-30b-a3b", "h100-sxm-80gb", "8"),
        ] {
            let texts = [("model", model), ("gpu", gpu), ("gpus", gpus), ("tp", "5"), ("pp", "1")];
            let run = Run::default().with_texts(&texts).unwrap();
            assert!(crate::report::evaluate(&run).is_err());
            let chosen = matches!(Ladder::new(&run).unwrap().finished(), LadderEnd::Chosen(_));
            let shown = Ladder::stand_in(&run).map(|run| crate::report::report(&run).unwrap().memory.overall());
            assert_eq!(shown == Some(crate::memory::Verdict::Fits), chosen, "{model} on {gpus}: {shown:?}");
        }
    }

    /// The page shows a guess with the figures of the edit; what is chosen is no slower.
    #[test]
    fn a_guess_comes_at_once_and_is_no_faster_than_what_is_chosen() {
        for (link, is_short) in [
            (&[][..], true),
            (&[("model", "llama-3.1-405b"), ("gpus", "16384"), ("global_batch", "2048")][..], true),
            (&[("model", "llama-3.1-405b"), ("gpus", "8")][..], false),
        ] {
            let run = Run::default().with_texts(link).unwrap();
            let guess = Ladder::guess(&run, &[]);
            assert_eq!(guess.is_some(), is_short, "{link:?}");
            if let (Some(guess), LadderEnd::Chosen(choice)) = (guess, Ladder::new(&run).unwrap().finished()) {
                assert!(guess.searched.is_none() && choice.searched.is_some());
                assert!(choice.figures.time_s <= guess.figures.time_s, "{link:?}");
            }
        }
    }
}
