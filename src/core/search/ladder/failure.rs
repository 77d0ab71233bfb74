//! Result of a ladder of which no rung holds: missing memory, and changes that would do.

use super::climb::{Climb, LadderChoice, single_stage};
use super::rungs::rungs;
use crate::advice::fit::shorter_sequences;
use crate::memory::Verdict;
use crate::report::{Peak, plain_report as report};
use crate::run::follow::with_following;
use crate::run::presets::{STACKS, Stack, Trainer};
use crate::run::registry::field;
use crate::run::{AdapterMethod, OneOf, Run};
use crate::search::request::PlanRequest;
use crate::sort::sort_by;
use crate::units::{Bytes, MemoryUnit};
use serde::{Deserialize, Serialize};

/// Layouts of each rung that are reported in search of the leanest.
const TRIED: usize = 48;
/// GPUs are multiplied by at most this.
const MAX_GPUS: u64 = 64;
/// Units of work of a report.
const REPORT: u64 = 300;

/// The leanest layout of a Run that does not fit, and changes with which it does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The Run in the layout that needs least.
    pub run: Run,
    /// Memory of its fullest GPU; none where no layout of the rungs has a report.
    pub peak: Option<Peak>,
    /// The fewest GPUs, of 2ⁿ and 3·2ⁿ, on which a layout fits.
    pub gpus: Option<LadderChoice>,
    /// The longest sequence of half the tokens or less with which a layout on the same GPUs fits, of a node or less: as
    /// the Run trains, else with `QLoRA`; where none fits, one that is tight.
    pub shorter: Option<LadderChoice>,
    /// Adapters with which a layout on the same GPUs fits: LoRA, then QLoRA; of a node or less.
    pub adapters: Vec<LadderChoice>,
}

impl Failure {
    /// Tight or out of memory.
    pub fn verdict(&self) -> Verdict {
        self.peak.map_or(Verdict::Oom, |peak| peak.overall)
    }

    /// Memory that it is short of.
    pub fn missing(&self) -> Bytes {
        self.peak.map_or(Bytes::ZERO, |peak| peak.missing())
    }

    /// That memory, as the difference of the figures that are printed.
    pub fn missing_words(&self, unit: MemoryUnit) -> String {
        self.peak.map_or_else(|| unit.show(Bytes::ZERO), |peak| peak.missing_words(unit))
    }
}

/// The search for them, in slices.
#[derive(Clone, Debug)]
pub(super) struct Fallback {
    /// Layouts to report, the last first.
    layouts: Vec<Run>,
    /// Runs to climb the ladder with, the last first.
    adapters: Vec<Run>,
    /// With whether a tight layout will do.
    shorter: Vec<(Run, bool)>,
    gpus: Vec<Run>,
    /// What the climb at hand tries.
    way: Way,
    current: Option<Box<Climb>>,
    found: Failure,
}

/// A kind of change that may make a Run fit.
#[derive(Clone, Copy, Debug)]
enum Way {
    Adapter,
    Shorter,
    Gpus,
}

impl Fallback {
    /// Prepares the search for a Run that no layout of its ladder fits.
    pub fn new(run: &Run) -> Self {
        Self {
            layouts: leanest(run),
            adapters: adapters(run),
            shorter: shorter(run),
            gpus: gpu_counts(run, false),
            way: Way::Adapter,
            current: None,
            found: Failure { run: run.clone(), peak: None, gpus: None, shorter: None, adapters: Vec::new() },
        }
    }

    /// Works for about `budget` units; true once it is over.
    pub fn step(&mut self, budget: u64) -> bool {
        let mut left = budget;
        while let Some(run) = self.layouts.pop() {
            self.weigh(run);
            left = left.saturating_sub(REPORT);
            if left == 0 {
                return false;
            }
        }
        if let Some(climb) = &mut self.current {
            if !climb.step(left) {
                return false;
            }
            let choice = climb.choice().cloned();
            self.current = None;
            if let Some(choice) = choice {
                match self.way {
                    Way::Shorter => {
                        self.shorter.clear();
                        self.found.shorter = Some(choice);
                    }
                    Way::Adapter => {
                        self.adapters.retain(|run| run.adapter.method != choice.run.adapter.method);
                        self.found.adapters.push(choice);
                        let method = &self.found.run.adapter.method;
                        self.shorter.retain(|(run, tight)| !tight && run.adapter.method == *method);
                    }
                    Way::Gpus => {
                        self.gpus.clear();
                        self.found.gpus = Some(choice);
                    }
                }
            }
        }
        let next = self.adapters.pop().map(|run| (Way::Adapter, run, false));
        let next = next.or_else(|| self.shorter.pop().map(|(run, tight)| (Way::Shorter, run, tight)));
        let Some((way, run, tight)) = next.or_else(|| self.gpus.pop().map(|run| (Way::Gpus, run, false))) else {
            return true;
        };
        self.way = way;
        let climb = if tight { Climb::with_tight(&run) } else { Climb::new(&run, &[]) };
        self.current = climb.ok().map(Box::new);
        false
    }

    /// Looks at all layouts that may need least.
    pub fn weigh_all(&mut self) {
        while let Some(run) = self.layouts.pop() {
            self.weigh(run);
        }
    }

    /// Keeps `run` where it needs less than the leanest so far.
    fn weigh(&mut self, run: Run) {
        let run = single_stage(&run).unwrap_or(run);
        let Ok(report) = report(&run) else {
            return;
        };
        let peak = report.memory.peak();
        if self.found.peak.is_none_or(|least| peak.high < least.high) {
            self.found.peak = Some(peak);
            self.found.run = run;
        }
    }

    pub fn failure(&self) -> Failure {
        self.found.clone()
    }
}

/// Layouts that may need least: of the last rungs those that cut the model into most parts.
fn leanest(run: &Run) -> Vec<Run> {
    let stages = rungs(run).unwrap_or_default();
    let last = stages.into_iter().rev().take(3);
    let mut found = Vec::new();
    for axes in last {
        let Ok(request) = PlanRequest::with_axes(run, axes, &["schedule"], 1) else {
            continue;
        };
        let mut runs: Vec<Run> = request.search.space().runs().collect();
        let parts = |run: &Run| run.tp * run.pp * run.cp * run.ep * run.etp;
        let full = |run: &Run| run.recompute == crate::run::Recompute::Full;
        sort_by(&mut runs, |a, b| full(b).cmp(&full(a)).then(parts(b).cmp(&parts(a))));
        runs.truncate(TRIED);
        found.extend(runs);
    }
    found
}

fn node(run: &Run) -> u64 {
    run.gpu.resolve().map_or(1, |gpu| run.gpus_per_node.unwrap_or(gpu.per_node)).max(1)
}

/// Shorter sequences, first as the Run trains, then with `QLoRA`, and both again for tight layouts; the first is the
/// last.
fn shorter(run: &Run) -> Vec<(Run, bool)> {
    if run.gpus > node(run) {
        return Vec::new();
    }
    let adapted = adapters(run);
    let quantised = adapted.iter().rev().filter(|run| run.adapter.method == Some(AdapterMethod::Qlora));
    let ways: Vec<&Run> = std::iter::once(run).chain(quantised).collect();
    let cut = |tight: bool| {
        let each = ways.iter().flat_map(move |way| shorter_sequences(way).map(move |seq_len| (way, seq_len)));
        each.map(move |(way, seq_len)| (Run { seq_len, ..(*way).clone() }, tight))
    };
    let mut runs: Vec<_> = cut(false).chain(cut(true)).collect();
    runs.reverse();
    runs
}

/// LoRA and QLoRA, on a node or less, by the Run's software where it has adapters, then by Hugging Face's where the
/// Run's is one of pretraining, with the length and the batch that follow them; the last is tried first. A Run with
/// LoRA keeps it or gets `QLoRA`, one with `QLoRA` keeps it.
pub(in crate::search) fn adapters(run: &Run) -> Vec<Run> {
    let per_node = node(run);
    let own = run.adapter.method;
    let is_known = matches!(own, None | Some(AdapterMethod::Lora | AdapterMethod::Qlora));
    if !is_known || run.gpus > per_node || run.phases.framework.is_some() {
        return Vec::new();
    }
    let is_kept = |method: &AdapterMethod| own != Some(AdapterMethod::Qlora) || *method == AdapterMethod::Qlora;
    let row = run.stack.preset_row();
    let tunes = |trainer| matches!(trainer, Trainer::HuggingFace | Trainer::Torchtune);
    let other = STACKS.iter().find(|stack| stack.trainer == Trainer::HuggingFace && !tunes(row.trainer));
    let by = |stack: Option<&Stack>, method: AdapterMethod| {
        let method = ("adapter.method", method.choice().id.to_owned());
        let stack = stack.map(|stack| ("stack", stack.choice.id.to_owned()));
        run.with_texts(&with_following(run, stack.into_iter().chain([method]).collect()))
    };
    let stacks = other.map(Some).into_iter().chain(row.has_adapters().then_some(None));
    let methods = [AdapterMethod::Qlora, AdapterMethod::Lora].into_iter().filter(is_kept);
    let ways = stacks.flat_map(|stack| methods.clone().filter_map(move |method| by(stack, method)));
    let mut each = Vec::new();
    for way in ways.filter(|way| way != run) {
        if !each.contains(&way) {
            each.push(way);
        }
    }
    each
}

/// Settings with which `other` is asked for in place of `own`, a layout apart: GPUs, adapters, length, batch, software.
pub fn asked(own: &Run, other: &Run) -> Vec<(&'static str, String)> {
    let fields = ["gpus", "adapter.method", "seq_len", "global_batch", "stack"].into_iter().filter_map(field);
    let moved = fields.filter(|field| field.get(own) != field.get(other));
    moved.map(|field| (field.key, field.text(other).unwrap_or_default())).collect()
}

/// Numbers of GPUs on which no layout was found that fits before one was on `found`, the smallest first: those that the
/// search for the fewest GPUs of a Run that is out of memory tries before it.
pub fn tried_before(run: &Run, found: u64) -> Vec<u64> {
    let counts = gpu_counts(run, found < run.gpus).into_iter().map(|other| other.gpus);
    let mut fewer: Vec<u64> = counts.filter(|count| *count < found).collect();
    fewer.reverse();
    fewer
}

/// The Run on other numbers of GPUs, the fewest last: on fewer where it `fits`, else on more; beyond one node on whole
/// nodes only.
pub(in crate::search) fn gpu_counts(run: &Run, fits: bool) -> Vec<Run> {
    let per_node = node(run);
    let powers = (0..40).map(|power| 1u64 << power);
    let counts = powers.flat_map(|count| [count, count.saturating_mul(3) / 2]);
    let most = run.gpus.saturating_mul(MAX_GPUS);
    let mut counts: Vec<u64> = counts
        .filter(|count| if fits { *count < run.gpus } else { *count > run.gpus && *count <= most })
        .filter(|count| *count <= per_node || count.is_multiple_of(per_node))
        .collect();
    sort_by(&mut counts, |a, b| b.cmp(a));
    counts.dedup();
    counts.into_iter().map(|gpus| Run { gpus, ..run.clone() }).collect()
}
