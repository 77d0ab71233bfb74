//! Ways to make a Run fit that is out of memory, or tight where no layout of it fits: the smallest change, the longest
//! sequence in its own layout, activations in the host's memory, adapters on a node or less, and the fewest GPUs on
//! which a layout fits. Of one that fits, activations in the host's memory alone: they may take less time than to
//! compute them again.

use super::Gain;
use crate::advice::fit::{Base, FitSearch, LIMIT, Suggestion, followed, shorter_sequences};
use crate::memory::Verdict;
use crate::report::{evaluate, plain_report as report};
use crate::run::Run;
use crate::run::follow::by_tuner;
use crate::search::fastest::{Fastest, faster, serves};
use crate::search::ladder::{Climb, LadderChoice, adapters, gpu_counts};
use crate::search::ranking::{Figures, cost};

/// Steps in which a longer sequence is looked for, tokens: the first from [`LONG`] tokens on, the second below.
const TOKENS: [u64; 2] = [1024, 256];
/// Tokens of a sequence from which on it is looked for in the larger steps.
const LONG: u64 = 8192;

/// A way that was found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mended {
    pub gain: Gain,
    pub run: Run,
    pub figures: Figures,
}

/// The searches for all of these ways, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Mending {
    run: Run,
    fit: Option<Box<FitSearch>>,
    sequence: Option<LongestSequence>,
    /// Runs with adapters to find a layout for, the first last; a shorter sequence comes after a longer one. The very
    /// last is the Run itself with its activations in the host's memory.
    adapted: Vec<Run>,
    /// Runs on other numbers of GPUs, the fewest last.
    counts: Vec<Run>,
    climb: Option<Box<Climb>>,
    /// [`Gain::Offload`], or [`Gain::Hosted`] of a Run that fits.
    moved: Gain,
    /// The search for the fastest layout of an adapter or on the fewest GPUs, and the first that fits.
    fastest: Option<(Gain, LadderChoice, Box<Fastest>)>,
    pub found: Vec<Mended>,
}

impl Mending {
    /// For a Run that does not fit; `fits`: some layout on its GPUs fits. Where its software trains no adapters and
    /// it has some, all ways are by software that does: no other is one that runs.
    pub fn new(own: &Run, fits: bool) -> Self {
        let run = &by_tuner(own);
        let fit = evaluate(run).ok().map(|own| Box::new(FitSearch::new(Base::of(&own), LIMIT)));
        let ways = if fits { Vec::new() } else { adapters(own) };
        let adapted = ways.into_iter().flat_map(|way| {
            let mut lengths: Vec<u64> = shorter_sequences(&way).collect();
            lengths.reverse();
            lengths.push(way.seq_len);
            lengths.into_iter().map(move |seq_len| Run { seq_len, ..way.clone() })
        });
        let adapted = adapted.chain(if fits { None } else { offloaded(run) });
        Self {
            fit,
            sequence: LongestSequence::of(run),
            adapted: adapted.collect(),
            counts: gpu_counts(run, fits),
            climb: None,
            moved: Gain::Offload,
            fastest: None,
            found: Vec::new(),
            run: run.clone(),
        }
    }

    /// For a Run that fits, with its activations in the host's memory; none where that is not to be tried.
    pub fn hosted(run: &Run) -> Option<Self> {
        Some(Self {
            fit: None,
            sequence: None,
            adapted: vec![offloaded(run)?],
            counts: Vec::new(),
            climb: None,
            moved: Gain::Hosted,
            fastest: None,
            found: Vec::new(),
            run: run.clone(),
        })
    }

    /// Works for about `budget` units, by the candidate at hand more at most, and returns what it took; none once all
    /// is done.
    pub fn step(&mut self, budget: u64) -> Option<u64> {
        if let Some(fit) = &mut self.fit {
            if fit.step(budget) {
                let least = smallest(&self.run, fit.suggestions().list);
                self.fit = None;
                self.keep(Gain::Change, least);
            }
            return Some(budget);
        }
        if let Some(lengths) = &mut self.sequence {
            let spent = lengths.step(&self.run);
            if spent.is_none() {
                let longest = lengths.found.take();
                self.sequence = None;
                self.keep(Gain::Length, longest);
            }
            return Some(spent.unwrap_or(1));
        }
        if let Some((gain, guess, fastest)) = &mut self.fastest {
            if fastest.step(budget) {
                let found = fastest.found().map(|found| (found.run.clone(), found.figures));
                let guess = Some((guess.run.clone(), guess.figures));
                let (gain, chosen) = (*gain, faster(found, guess, |(_, figures)| figures.time_s.0));
                self.fastest = None;
                self.keep(gain, chosen.map(|(run, _)| run));
            }
            return Some(budget);
        }
        if let Some(climb) = &mut self.climb {
            if climb.step(budget) {
                let choice = climb.choice().cloned();
                self.climb = None;
                if let Some(choice) = choice {
                    self.take(choice);
                }
            }
            return Some(budget);
        }
        let next = self.adapted.pop().or_else(|| self.counts.pop())?;
        self.climb = Climb::new(&next, &[]).ok().map(Box::new);
        Some(1)
    }

    /// Takes a first layout that fits, of an adapter or on the fewest GPUs, and begins the search for the fastest of
    /// it: a press that sets the same chooses the faster of both, too.
    fn take(&mut self, choice: LadderChoice) {
        let gain = if choice.run.offload != self.run.offload {
            self.moved
        } else if choice.run.gpus == self.run.gpus {
            self.adapted.retain(|way| way.adapter.method != choice.run.adapter.method);
            Gain::Adapter
        } else {
            self.counts.clear();
            Gain::Fewest
        };
        match Fastest::new(&choice.run, &[]) {
            Ok(search) => self.fastest = Some((gain, choice, Box::new(search))),
            Err(_) => self.keep(gain, Some(choice.run)),
        }
    }

    /// Keeps `run` where its report fits and its software can run it.
    fn keep(&mut self, gain: Gain, run: Option<Run>) {
        let Some(mut run) = run else { return };
        // On one GPU the ZeRO stage says nothing.
        if run.training_gpus() == 1 {
            run.zero = self.run.zero;
        }
        let Ok(after) = report(&run) else { return };
        let figures = Figures::from(&after);
        if serves(&run, &figures.peak) && run.is_adapted_by_its_software() {
            self.found.push(Mended { gain, run, figures });
        }
    }
}

/// A fine-tuning Run with its activations in the host's memory, as much of it as they need; none where something is
/// offloaded already or its software does not move them.
fn offloaded(run: &Run) -> Option<Run> {
    if !run.is_tuned() || run.offload.leaves() {
        return None;
    }
    let (scenario, _) = followed(run.with_texts(&[("offload.activations", "cpu")])?)?;
    Some(scenario.run)
}

/// The smallest change of `list`, of those the one with the least GPU time a token: on the same GPUs, tokens and
/// batch, of what the software can run.
fn smallest(run: &Run, list: Vec<Suggestion>) -> Option<Run> {
    let keeps = |after: &Run| {
        let question = |run: &Run| (run.gpus, run.seq_len, run.global_batch, run.adapter.method);
        question(after) == question(run) && crate::search::can_run(after)
    };
    let after = list.into_iter().filter_map(|one| Some((one.changes, run.with_texts(&one.set)?)));
    let kept: Vec<(usize, Run)> = after.filter(|(_, after)| keeps(after)).collect();
    // The list has the least GPU time first, and the first of equals stays. A schedule that pairs passes was chosen for
    // what hides in it: it is changed last.
    let pairs = run.schedule.pairs_passes();
    let key = |(changes, after): &(usize, Run)| (pairs && after.schedule != run.schedule, *changes);
    kept.into_iter().min_by_key(key).map(|(_, after)| after)
}

/// The longest sequence that fits in the layout of a Run, by halves of what is not known yet.
#[derive(Clone, Debug)]
struct LongestSequence {
    /// Tokens of a step.
    unit: u64,
    /// A finer unit, for where one of the first is too long.
    finer: Option<u64>,
    /// Steps that are known to fit, and those that are not.
    low: u64,
    high: u64,
    found: Option<Run>,
}

impl LongestSequence {
    /// None where a Run has several lengths.
    fn of(run: &Run) -> Option<Self> {
        let unequal = run.microbatch_lengths.is_some();
        let whole = run.tp.saturating_mul(run.cp).saturating_mul(2).max(1);
        let unit_of = |step: u64| (1..=64).map(|times| step * times).find(|unit| unit.is_multiple_of(whole));
        let unit = unit_of(TOKENS[usize::from(run.seq_len < LONG)])?;
        let finer = unit_of(TOKENS[1]).filter(|finer| *finer < unit);
        (!unequal).then(|| Self { unit, finer, low: 0, high: run.seq_len.div_ceil(unit), found: None })
    }

    /// Tries a length, and returns the units of work that this took; none once the longest is known.
    fn step(&mut self, run: &Run) -> Option<u64> {
        if self.high - self.low < 2 {
            let finer = self.finer.take().filter(|_| self.found.is_none())?;
            self.high = self.unit.div_ceil(finer);
            self.unit = finer;
            return Some(1);
        }
        let at = u64::midpoint(self.low, self.high);
        let shorter = Run { seq_len: at * self.unit, ..run.clone() };
        let spent = cost(&shorter);
        let fits = report(&shorter).is_ok_and(|report| report.memory.overall() == Verdict::Fits);
        if fits {
            self.low = at;
            self.found = Some(shorter);
        } else {
            self.high = at;
        }
        Some(spent)
    }
}
