//! Causes of a GPU's running out of memory. The rules are from public threads whose cause is known. Each change of the
//! run is evaluated before it is suggested.

use super::failed::{FailedRun, SetFields};
use super::{Fingerprint, MemoryFound, Moment, OutOfMemory, Place, PredictedMemory, held, need_with, predicted};
use crate::diagnose::causes::{CauseId, FoundCause, OtherChange, first_of_each};
use crate::diagnose::figures::{of_files, of_report};
use crate::message::{Message, verbatim};
use crate::pipeline::able::can_run;
use crate::run::{AttentionKernel, CrossEntropy, OneOf, Recompute, Run};
use crate::sort::sort_by;
use crate::t;
use crate::units::{Bytes, GIB, MemoryUnit, show_percent, significant};

/// From this share of the device's memory on, allocated tensors count as a run that is too large. A public message of
/// 2019 has 89.6 %.
const FULL: f64 = 0.88;

/// From this share of the device's memory on, what is reserved and not in use counts as memory in pieces. A choice.
const PIECES: f64 = 0.02;

/// Share of a GPU that no process takes beside PyTorch: from it on, memory of no count is that of others. A choice.
const OTHERS: f64 = 0.5;

/// Memory that was held over what is predicted, from which on what failed was another run, whatever else is true of the
/// message. It is a choice.
const FAR: f64 = 1.5;

/// What was asked for, and what the allocator keeps, as figures name them.
const ASKED: &str = "asked for";
const UNUSED: &str = "reserved and not in use";

/// A possible cause.
struct Hypothesis {
    id: CauseId,
    /// How likely it is, 0 to 1. Set by hand: it orders the list and is not shown.
    weight: f64,
    /// Bytes that it takes.
    bytes: f64,
    evidence: Message,
    /// The change that removes it, in words.
    change: Option<Message>,
    /// Fields and values that make the change on the run; empty where no field does.
    set: SetFields,
    /// Other changes that remove it as well, each alone.
    others: Vec<(Message, SetFields)>,
    /// Changes that were tried and are not enough alone.
    too_small: Vec<(Message, SetFields)>,
    /// Bytes that would still be missing without the cause, where no field of the run removes it.
    missing: Option<f64>,
}

impl Hypothesis {
    /// A hypothesis whose change no field of the run makes.
    fn new(id: CauseId, weight: f64, bytes: f64, evidence: Message, change: Option<Message>) -> Self {
        let (set, others, too_small) = (Vec::new(), Vec::new(), Vec::new());
        Self { id, weight, bytes, evidence, change, set, others, too_small, missing: None }
    }

    /// Share of the memory that was missing which would have been there without it: memory that others hold, or that
    /// is in pieces, may be less than was missing.
    fn explains(&self, found: &MemoryFound) -> f64 {
        match (self.id, found.short) {
            (CauseId::OtherProcess | CauseId::Context | CauseId::Fragmentation, Some(short)) => {
                (self.bytes / short).min(1.0)
            }
            _ => 1.0,
        }
    }
}

/// The hypotheses that the rules give for a message, the likeliest first, each cause once. `failed` is the run that
/// failed, where it is another than `run`; `now` is what is predicted for `run`.
fn hypotheses(
    found: &MemoryFound,
    run: Option<&Run>,
    now: Option<&PredictedMemory>,
    failed: Option<&FailedRun>,
) -> Vec<Hypothesis> {
    let mut rules = Rules::new(found, run);
    rules.elsewhere();
    if found.message.doubt().is_some() {
        if found.message.is_of_pieces_alone() {
            rules.allocator();
        }
        rules.trend();
        return rules.all;
    }
    rules.limit();
    rules.first_states();
    rules.size_asked_for();
    rules.allocator();
    rules.trend();
    rules.moment();
    rules.library();
    rules.outside_pytorch();
    let mut all = rules.all;
    // Changes are tried on the run that failed, not on the page's. If nothing explains it, none is tried.
    let (base, now) = match failed {
        Some(failed) => (run.and_then(|run| failed.run(run)), failed.memory.as_ref()),
        None => (run.cloned(), now),
    };
    never_fitted(found, base.as_ref(), now, &mut all);
    if let Some(failed) = failed {
        another_run(found, failed, &mut all);
    }
    together(base.as_ref(), found.place(), &mut all);
    pieces_of_a_run_that_is_too_large(now.filter(|_| base.is_some()), &mut all);
    sort_by(&mut all, |a: &Hypothesis, b| b.weight.total_cmp(&a.weight));
    if found.no_run {
        // What the message proves stands by how much of the missing memory it explains.
        sort_by(&mut all, |a: &Hypothesis, b| b.explains(found).total_cmp(&a.explains(found)));
    }
    // If two rules give one cause, the likelier hypothesis is kept.
    first_of_each(&mut all, |hypothesis| hypothesis.id);
    all
}

/// The causes, the likeliest first, each with the memory that is predicted after its change.
pub(super) fn causes(found: &MemoryFound, run: Option<&Run>) -> Vec<FoundCause> {
    let place = found.place();
    let now = run.and_then(|run| PredictedMemory::of(run, place));
    let failed = run.filter(|_| found.message.doubt().is_none()).and_then(|run| FailedRun::of(found, run));
    let all = hypotheses(found, run, now.as_ref(), failed.as_ref());
    // Fields in which the run that failed differs from the page's, if it does. Every other change is tried together
    // with them.
    let other: Vec<(Message, (&'static str, String))> =
        failed.as_ref().map(|failed| failed.settings().collect()).unwrap_or_default();
    let differs = failed.is_some();
    let is_known = failed.as_ref().is_none_or(|failed| failed.is_explained);
    let failed = failed.and_then(|failed| failed.memory);
    let listed = all.into_iter().map(|mut hypothesis| {
        let is_other = hypothesis.id == CauseId::AnotherSetting;
        // A prediction of a run that is not the one that failed says nothing of what a change would have done.
        if !is_other && !is_known {
            hypothesis.set.clear();
        }
        // Adds the settings in which the run that failed differs, and names them.
        let with_what_differs = |set: &mut SetFields| {
            let is_new = |key: &str| set.iter().all(|(own, _)| *own != key);
            let more = other.iter().filter(|(_, (key, _))| is_new(key)).cloned();
            let (words, more): (Vec<Message>, SetFields) = more.unzip();
            set.extend(more);
            words
        };
        let mut along = Vec::new();
        if !is_other && !hypothesis.set.is_empty() {
            along = with_what_differs(&mut hypothesis.set);
        }
        let after = tried(run, place, &hypothesis.set);
        let before = failed.as_ref().filter(|_| !is_other).or(now.as_ref());
        let in_words = |change: Option<Message>, along: Vec<Message>, after: Option<&PredictedMemory>| match (
            change, before, after,
        ) {
            // The fullest moment of the run holds none of it: no change of this run.
            (Some(_), Some(now), Some(after)) if after.is_as(now) => (None, false),
            // What needs more memory is no change that helps.
            (Some(_), Some(now), Some(after)) if !is_other && !after.is_less_than(now) => (None, false),
            (Some(change), Some(now), Some(after)) if !is_other && failed.is_some() => {
                let [need, _] = need_with(&change, after.need[1], now.need[1]);
                let missing = still_missing(now, after);
                let now = predicted("need of what failed", now.need[1]);
                let change = Message::joined(", ", std::iter::once(change).chain(along));
                let said = t!("{change}: {need} instead of {now}", change = &change, need, now);
                (Some(with_missing(said, &change, missing)), true)
            }
            (Some(change), Some(now), Some(after)) if is_other => {
                let [need, now] = need_with(&change, after.need[1], now.need[1]);
                (Some(t!("{change}: {need} by the prediction, {now} for the run as it is", change, need, now)), true)
            }
            (Some(change), Some(now), Some(after)) => (Some(changed(&change, now, after)), true),
            (change, ..) => (change, after.is_some()),
        };
        let in_full = |(change, mut set): WordedChange| {
            let along = with_what_differs(&mut set);
            let after = tried(run, place, &set)?;
            let (change, helps) = in_words(Some(change), along, Some(&after));
            Some((OtherChange { change: change.filter(|_| helps)?, set }, after.fits))
        };
        let others = std::mem::take(&mut hypothesis.others).into_iter().filter_map(in_full);
        let too_small = std::mem::take(&mut hypothesis.too_small).into_iter().filter_map(in_full);
        // With what differs besides, a change may be enough after all.
        let (enough, not_enough): (Vec<_>, Vec<_>) = too_small.partition(|(_, fits)| *fits);
        let alone = |(change, _): (OtherChange, bool)| change;
        let others = others.chain(enough).map(alone).collect();
        let not_enough = not_enough.into_iter().map(alone).collect();
        let (change, helps) = in_words(hypothesis.change, along, after.as_ref());
        let missing = before.zip(after.as_ref()).filter(|_| helps && !is_other);
        let missing = missing.and_then(|(now, after)| still_missing(now, after)).or(hypothesis.missing);
        if differs && hypothesis.id == CauseId::NeverFitted {
            let evidence = hypothesis.evidence;
            hypothesis.evidence = t!("Of the run that failed, not of the one that is compared: {evidence}", evidence);
        }
        FoundCause {
            bytes: Some(hypothesis.bytes),
            change,
            set: if helps { hypothesis.set } else { Vec::new() },
            others,
            not_enough,
            missing,
            predicted_s: after.map(|after| after.step_s),
            ..FoundCause::new(hypothesis.id, hypothesis.evidence)
        }
    });
    listed.collect()
}

/// A message, its numbers in bytes, and the hypotheses of the rules that were applied so far.
struct Rules<'a> {
    message: &'a OutOfMemory,
    found: &'a MemoryFound,
    run: Option<&'a Run>,
    moment: Moment,
    asked: f64,
    /// The largest f64 where the message does not give it.
    total: f64,
    free: f64,
    allocated: f64,
    unused: f64,
    all: Vec<Hypothesis>,
}

impl<'a> Rules<'a> {
    fn new(found: &'a MemoryFound, run: Option<&'a Run>) -> Self {
        let message = &found.message;
        Self {
            message,
            found,
            run,
            moment: message.moment.unwrap_or(Moment::Unknown),
            asked: message.asked.unwrap_or(0.0),
            total: message.total.unwrap_or(f64::MAX),
            free: message.free.unwrap_or(0.0),
            allocated: message.allocated.unwrap_or(0.0),
            unused: message.unused.unwrap_or(0.0),
            all: Vec::new(),
        }
    }

    /// Adds a hypothesis whose change no field of the run makes.
    fn add(&mut self, id: CauseId, weight: f64, bytes: f64, evidence: Message, change: Option<Message>) {
        self.all.push(Hypothesis::new(id, weight, bytes, evidence, change));
    }

    /// Adds memory that other processes hold, where the message names them; else memory that it does not count.
    fn elsewhere(&mut self) {
        let (message, total) = (self.message, self.total);
        if let Some(others) = message.others.filter(|others| *others > 0.03 * total) {
            let evidence = t!(
                "{held} of the GPU belong to other processes, which the message names.",
                held = held("other processes", others)
            );
            let change = t!("end the other process, or use another GPU");
            self.add(CauseId::OtherProcess, 0.95, others, evidence, Some(change));
            return;
        }
        let Some(rest) = message.much_uncounted().filter(|_| message.doubt().is_none()) else {
            return;
        };
        let held = held("neither free nor counted", rest);
        let evidence = match message.process {
            Some(_) => t!("{held} of the GPU are neither free nor in the count of this process.", held),
            None => t!(
                "{held} of the GPU are neither free nor in PyTorch's count: other processes hold them, or this one \
                    outside PyTorch.",
                held
            ),
        };
        let weight = match () {
            () if message.limit().is_some() => 0.5,
            () if rest > 0.3 * total => 0.95,
            () => 0.75,
        };
        let change =
            t!("nvidia-smi or rocm-smi names the processes that hold memory: end another one, or use another GPU");
        let is_others = rest > OTHERS * total || message.process.is_some();
        let id = if is_others { CauseId::OtherProcess } else { CauseId::Context };
        self.add(id, weight, rest, evidence, Some(change));
    }

    /// Adds a limit on the memory of this process, where what was asked for would have passed it.
    fn limit(&mut self) {
        let (message, total) = (self.message, self.total);
        let Some(allowed) = message.limit() else {
            return;
        };
        let (allowed, total) = (held("limit", allowed), held("total", total));
        let evidence = t!("The process may use {allowed} of {total}: a limit was set.", allowed, total);
        let weight = if message.free.is_some_and(|free| free > self.asked) { 0.97 } else { 0.4 };
        let change = t!("raise the memory fraction of the process");
        // The sentence has both sizes.
        self.add(CauseId::MemoryLimit, weight, 0.0, evidence, Some(change));
    }

    /// Adds the optimizer's states, which are allocated in the first step.
    fn first_states(&mut self) {
        let (message, moment) = (self.message, self.moment);
        let is_first = message.step.unwrap_or(1) <= 1;
        if moment == Moment::FirstStates || message.makes_states {
            let evidence = if moment == Moment::Checkpoint || message.makes_states {
                t!("The optimizer's states were made for the first time while a checkpoint was written: write none \
                        before the first step.")
            } else {
                t!("The optimizer's states were made for the first time.")
            };
            self.states(0.93, evidence);
        } else if moment == Moment::OptimizerStep && is_first {
            let evidence = t!("It failed in the optimizer's step, whose states come with the first one.");
            self.states(0.8, evidence);
        }
        if message.resumed && is_first && moment != Moment::FirstStates {
            let evidence = t!(
                "It failed in the first step after a checkpoint was read: the optimizer's states are there from the \
                beginning, which a fresh run has only at the end of its first step."
            );
            self.states(0.78, evidence);
        }
    }

    /// Adds the cause that the optimizer's states are made, with one more stage of ZeRO as the change.
    fn states(&mut self, weight: f64, evidence: Message) {
        let predicted = self.found.predicted.iter().find(|(name, _)| *name == "optimizer");
        let bytes = predicted.map_or(self.asked, |(_, bytes)| *bytes);
        let id = CauseId::FirstOptimizerStep;
        let offloaded = || (t!("states offloaded to the host, or fewer bytes a parameter"), Vec::new());
        let sharded = || (t!("states sharded over data-parallel ranks, or offloaded to the host"), Vec::new());
        let runs =
            |run: &Run, set: &SetFields| !can_run(run) || run.with_texts(set).is_some_and(|after| can_run(&after));
        let (change, set) = match self.run {
            Some(run) => zero_up(run).filter(|(_, set)| runs(run, set)).unwrap_or_else(offloaded),
            None => sharded(),
        };
        self.all.push(Hypothesis { set, ..Hypothesis::new(id, weight, bytes, evidence, Some(change)) });
    }

    /// Adds the causes that follow from the size of the failed allocation.
    fn size_asked_for(&mut self) {
        let (message, moment, asked) = (self.message, self.moment, self.asked);
        // Of the losses that the software has, the one with the fewest logits.
        let least = self.run.and_then(|run| run.smaller_losses().last());
        let fused = || least.map(|loss| ("cross_entropy", loss.id().to_owned())).into_iter().collect();
        let logits = |weight, evidence| Hypothesis {
            set: fused(),
            ..Hypothesis::new(CauseId::Logits, weight, asked, evidence, Some(loss_words(least)))
        };
        let Some(fingerprint) = &self.found.fingerprint else {
            if moment == Moment::Loss {
                let evidence = t!("It failed while the loss was computed.");
                self.all.push(logits(0.6, evidence));
            }
            return;
        };
        let evidence = || {
            let size = t!(
                "The {asked} that were asked for have the size of {what}.",
                asked = held(ASKED, asked),
                what = fingerprint.names()
            );
            Message::joined(" ", std::iter::once(size).chain(fingerprint.to_look_up()))
        };
        if fingerprint.has_logits() {
            let is_likely = matches!(moment, Moment::Loss | Moment::Backward | Moment::Unknown);
            let weight = match () {
                () if !fingerprint.logits => 0.5,
                () if is_likely => 0.9,
                () => 0.7,
            };
            self.all.push(logits(weight, evidence()));
        }
        if fingerprint.longer && message.step.is_none_or(|step| step > 1) {
            // The tensor is logits, but of more tokens than a micro-batch of the run has: the long sample is the cause.
            let weight = match () {
                // The same size without a longer sample.
                () if fingerprint.may_be_of_run() => 0.45,
                () if message.step.is_some() && moment == Moment::Loss => 0.91,
                () => 0.75,
            };
            let change = t!("cut, pack or sort the samples");
            let longer = t!("One sample with as many tokens asks for it, where samples are not cut to the sequence.");
            self.add(CauseId::LongestSample, weight, asked, longer, Some(change));
        }
        if let Some(evidence) = plain_attention(self.found, self.run) {
            let change = t!("a flash kernel: attn_implementation=flash_attention_2, or --attention-backend flash");
            let weight = if fingerprint.also.is_empty() { 0.93 } else { 0.5 };
            self.add(CauseId::AttentionFallback, weight, asked, evidence, Some(change));
        }
    }

    /// Adds the causes that follow from memory that the allocator has reserved and that is not in use.
    fn allocator(&mut self) {
        let Self { asked, total, free, unused, .. } = *self;
        if self.message.driver_pool {
            let held = total - self.allocated - free;
            let evidence = t!(
                "{held} are neither allocated nor free: the driver's pool holds them in pieces.",
                held = self::held("in pieces", held)
            );
            self.add(CauseId::Fragmentation, 0.7, held, evidence, Some(t!("PyTorch's own allocator")));
        } else if unused > asked && unused > PIECES * total && asked > 0.0 {
            let evidence = t!(
                "{unused} are reserved and not in use, more than the {asked} that were asked for.",
                unused = held(UNUSED, unused),
                asked = held(ASKED, asked)
            );
            let change = t!(
                "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (PYTORCH_ALLOC_CONF from 2.9 on), or equal shapes"
            );
            self.add(CauseId::Fragmentation, 0.85, unused, evidence, Some(change));
        } else if unused > 0.0 && free < asked && unused + free >= asked {
            let evidence = t!(
                "{unused} are reserved and not in use, {free} are free: together at least the {asked} that were asked \
                    for.",
                unused = held(UNUSED, unused),
                free = held("free", free),
                asked = held(ASKED, asked)
            );
            // Expandable segments give pages that are not in use back to the driver: both together can serve one
            // request.
            let change = t!("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (PYTORCH_ALLOC_CONF from 2.9 on)");
            self.add(CauseId::Fragmentation, 0.6, unused, evidence, Some(change));
        } else if unused > 0.0 && unused + free < asked {
            let evidence = t!(
                "{unused} are reserved and not in use. With all of it free, {short} would still be missing.",
                unused = held(UNUSED, unused),
                short = held("short with all of it", asked - unused - free)
            );
            let missing = Some(asked - unused - free);
            let pieces = Hypothesis::new(CauseId::Fragmentation, 0.05, unused, evidence, None);
            self.all.push(Hypothesis { missing, ..pieces });
        }
    }

    /// Adds the cause of the growth of memory over the steps before.
    fn trend(&mut self) {
        let trend = self.message.trend.as_ref();
        if let Some(cause) = trend.and_then(|trend| trend.cause(self.found.experts)) {
            self.add(cause.id, 0.88, cause.bytes.unwrap_or(0.0), cause.evidence, cause.change);
        }
    }

    /// Adds the causes that follow from what the program was doing.
    fn moment(&mut self) {
        let asked = self.asked;
        let (id, weight, evidence, change) = match self.moment {
            Moment::Checkpoint if !self.message.makes_states => (
                CauseId::Checkpoint,
                0.7,
                t!("It failed while a checkpoint was written: whole weights on one GPU, or copies of states."),
                t!("a sharded checkpoint, or one that is gathered on the host"),
            ),
            Moment::Generation => (
                CauseId::Context,
                0.6,
                t!("It failed while it generated: where an engine shares the GPU, it holds weights and a cache there."),
                t!("the engine's sleep level, or a smaller share of memory for it"),
            ),
            Moment::Evaluation => (
                CauseId::Evaluation,
                0.65,
                t!("It failed in an evaluation, whose logits and batch are its own."),
                t!("a smaller evaluation batch, without gradients"),
            ),
            Moment::Experts => (
                CauseId::ExpertImbalance,
                0.6,
                t!("It failed in the experts: the fullest one decides."),
                t!("a capacity, a balancing loss, more expert parallelism"),
            ),
            _ => return,
        };
        // How much an engine holds is not said.
        let bytes = if id == CauseId::Context { 0.0 } else { asked };
        self.add(id, weight, bytes, evidence, Some(change));
    }

    /// Adds a GPU that is full, where a library failed to allocate and gives no sizes.
    fn library(&mut self) {
        let (evidence, change) = match (self.message.library, self.message.total) {
            (Some("cuBLAS"), None) => (
                t!("cuBLAS found no room for its handle: the GPU is full; of a small model in its first call it may \
                    be an index out of range instead."),
                t!("CUDA_LAUNCH_BLOCKING=1 names the call"),
            ),
            (Some("NCCL"), None) => (
                t!("NCCL lacked a few MiB for a connection: the GPU is full, NCCL is not large."),
                t!("memory kept free for communicators"),
            ),
            _ => return,
        };
        self.add(CauseId::NeverFitted, 0.73, self.asked, evidence, Some(change));
    }

    /// Adds the causes that follow from memory of the process outside of PyTorch's tensors.
    fn outside_pytorch(&mut self) {
        let outside = self.message.process.map_or(0.0, |process| process - self.allocated - self.unused);
        if outside > 3.0 * GIB && outside < self.total {
            let evidence =
                t!("{outside} of the process are outside PyTorch.", outside = held("outside PyTorch", outside));
            let change = t!("fewer communicators, smaller NCCL and expert buffers");
            self.add(CauseId::Context, 0.55, outside, evidence, Some(change));
        }
        if let Some(pools) = self.message.pools.filter(|pools| *pools > 2.0 * GIB) {
            let evidence = t!("{pools} are in pools of CUDA graphs.", pools = held("pools of CUDA graphs", pools));
            self.add(CauseId::Context, 0.55, pools, evidence, Some(t!("fewer captured shapes")));
        }
    }
}

/// A change in words, with the memory that is predicted with it. It is said to fit only if the run as it is does not
/// fit by the prediction, and if the change alters the prediction.
pub(super) fn changed(change: &Message, now: &PredictedMemory, after: &PredictedMemory) -> Message {
    let [need, before] = need_with(change, after.need[1], now.need[1]);
    let fullest = predicted(format!("need of the fullest GPU with: {change}"), after.fullest);
    let is_fullest = need.to_string() == fullest.to_string();
    let said = match () {
        () if now.fits => {
            t!("{change}: {need} by the prediction, {now} for the run as it is", change, need, now = before)
        }
        () if after.fits && !after.surely => {
            t!("{change}: tight by the prediction, {need} instead of {now}", change, need, now = before)
        }
        () if after.fits => {
            t!("{change}: fits by the prediction, {need} instead of {now}", change, need, now = before)
        }
        () => t!("{change}: not enough by the prediction, {need} instead of {now}", change, need, now = before),
    };
    // Another rank may need more than the one that failed: it is the one that the page names first.
    let said = if is_fullest {
        said
    } else {
        t!("{said}, on the rank that failed; the fullest GPU needs {fullest} then", said, fullest)
    };
    with_missing(said, change, still_missing(now, after))
}

/// What is `said` of a change, with the bytes that would still be missing, where it is not enough.
fn with_missing(said: Message, change: &Message, missing: Option<f64>) -> Message {
    match missing {
        Some(missing) => t!(
            "{said}; {missing} would still be missing",
            said,
            missing = predicted(format!("missing with: {change}"), missing)
        ),
        None => said,
    }
}

/// Bytes that the fullest GPU would still lack `after` a change of a run that does not fit by the prediction; none
/// where it fits then.
pub(super) fn still_missing(now: &PredictedMemory, after: &PredictedMemory) -> Option<f64> {
    (!now.fits && !after.fits).then(|| after.fullest - after.need[3])
}

/// The evidence that attention ran in its plain form: scores were asked for, which the attention kernel of the run does
/// not store.
fn plain_attention(found: &MemoryFound, run: Option<&Run>) -> Option<Message> {
    let has_scores = |what: &&Fingerprint| what.scores || what.also.iter().any(|other| other.scores);
    let fingerprint = found.fingerprint.as_ref().filter(has_scores)?;
    let kernel = run?.attention_kernel();
    if kernel == AttentionKernel::Eager {
        return None;
    }
    let held = t!(
        "The {asked} that were asked for have the size of {what}. A flash kernel never holds scores: if they are \
            scores, attention ran in its plain form, and the run that is compared has {kernel}.",
        asked = held(ASKED, found.message.asked?),
        what = fingerprint.names(),
        kernel = Message::plain(kernel.choice().label)
    );
    let plain = vec![("stack.attention", AttentionKernel::Eager.id().to_owned())];
    let with = tried(run, found.place(), &plain).map(|after| {
        t!(
            "With plain attention {need} are predicted for that rank.",
            need = predicted("need with plain attention", after.need[1])
        )
    });
    Some(Message::joined(" ", std::iter::once(held).chain(with)))
}

/// Adds the cause that another run failed than that on the page. If the logits that were asked for are those of a
/// larger micro-batch, that micro-batch replaces a long sample as a cause.
fn another_run(found: &MemoryFound, failed: &FailedRun, all: &mut Vec<Hypothesis>) {
    let (Some(allocated), Some([low, need, high])) = (found.message.allocated, found.predicted_tensors()) else {
        return;
    };
    let mut evidence = vec![t!(
        "PyTorch had {allocated} allocated, and tensors of {need} ({low} to {high}) are predicted for the run that is \
            compared: either another run failed, or it needs memory that is not counted here.",
        allocated = held("allocated", allocated),
        need = predicted("tensors", need),
        low = predicted("tensors, low", low),
        high = predicted("tensors, high", high)
    )];
    let tensors = failed.memory.as_ref().map(PredictedMemory::tensors);
    match (&failed.of_logits[..], tensors) {
        (_, Some([_, likely, _])) if failed.is_explained => {
            evidence.push(t!(
                "With {settings}, which is not the run of the bars above, the predicted tensors are {need}: of all \
                    settings tried, the nearest to the {sum} that were held and asked for.",
                settings = Message::joined(", ", failed.words.clone()),
                need = predicted("tensors of what failed", likely),
                sum = held("held and asked for", allocated + found.message.asked.unwrap_or(0.0))
            ));
            evidence.extend(failed.also.iter().map(|settings| {
                t!(
                    "With {settings} the predicted tensors are also within the range: check the launch script to see \
                    which ran.",
                    settings
                )
            }));
        }
        ([settings], Some([_, likely, high])) => {
            evidence.push(t!(
                "What was asked for has the size of the logits of {settings}, with which tensors of {need} are \
                    predicted.",
                settings,
                need = predicted("tensors of what failed", likely)
            ));
            let rest = allocated - high;
            evidence.extend((rest > 0.0).then(|| {
                t!(
                    "At least {rest} more were held: TP, PP, recomputation or attention of what failed differ too. Set \
                        them as they were, and this is calculated anew.",
                    rest = held("more than those", rest)
                )
            }));
        }
        ([_, _, ..], _) => evidence.push(t!(
            "What was asked for has the size of the logits of {settings}: check the launch script to see which of them \
                ran.",
            settings = Message::joined(", ", failed.of_logits.clone())
        )),
        _ => {}
    }
    if !failed.of_logits.is_empty() {
        all.retain(|one| one.id != CauseId::LongestSample);
    }
    let is_far = allocated > FAR * need;
    let (weight, change) = if failed.set.is_empty() {
        let change = t!(
            "which micro-batch, TP, recomputation and attention had the run that failed? Set them on Run, and this is \
                calculated anew"
        );
        // Far from the prediction nothing that is tried on the page's run says anything of what failed.
        (if is_far { 0.925 } else { 0.84 }, change)
    } else {
        let words = Message::joined(", ", failed.words.clone());
        // Above the logits, which are its tensor.
        (if is_far { 0.925 } else { 0.92 }, t!("{words}, if that is what ran", words))
    };
    let evidence = Message::joined(" ", evidence);
    let (id, bytes, set) = (CauseId::AnotherSetting, allocated - need, failed.set.clone());
    all.push(Hypothesis { set, ..Hypothesis::new(id, weight, bytes, evidence, Some(change)) });
}

/// Adds the cause that the run needs more memory than the GPU has, with the changes that would make it fit: the fastest
/// that surely fits first, tight ones last. `run` is the run that failed, and `now` what is predicted for it; none if
/// it is not known.
fn never_fitted(found: &MemoryFound, run: Option<&Run>, now: Option<&PredictedMemory>, all: &mut Vec<Hypothesis>) {
    let message = &found.message;
    let full = message.allocated.zip(message.total).map(|(allocated, total)| allocated / total);
    let larger = message.asked.zip(message.total).is_some_and(|(asked, total)| asked > total);
    // With as much free as was asked for the GPU was not too small.
    if !larger && message.free.zip(message.asked).is_some_and(|(free, asked)| free >= asked) {
        return;
    }
    let now = now.filter(|_| run.is_some());
    let by_prediction = now.is_some_and(PredictedMemory::is_too_large);
    let surely_by_prediction = now.is_some_and(|now| now.need[0] > now.need[3]);
    // With the memory that others hold there would have been room.
    let room = message.free.map(|free| free + message.elsewhere());
    if !larger && !by_prediction && message.elsewhere() > 0.0 && message.asked.unwrap_or(0.0) <= room.unwrap_or(0.0) {
        return;
    }
    let is_full = full.is_some_and(|share| share > FULL);
    // What is reserved and not in use and what is free would have served the request.
    let [unused, asked, free, total] =
        [message.unused, message.asked, message.free, message.total].map(|bytes| bytes.unwrap_or(0.0));
    let in_pieces = asked > 0.0 && unused > PIECES * total && unused + free >= asked;
    let missing = found.short.unwrap_or_else(|| message.asked.unwrap_or(0.0));
    let evidence = match full {
        _ if larger => t!("More was asked for at once than the GPU has."),
        Some(share) if is_full => {
            let allocated = t!(
                "{share} of the GPU are tensors that PyTorch allocated.",
                share = of_files("allocated of the GPU", show_percent(share))
            );
            let room = if in_pieces { together_with_asked(message) } else { Message::default() };
            Message::joined(" ", [allocated, room].into_iter().filter(|fact| !fact.is_empty()))
        }
        _ if by_prediction => Message::default(),
        _ if message.free.is_none() && message.allocated.is_none() && message.asked.is_some() => {
            t!("How much was held is not said: the run may need more than the GPU has.")
        }
        _ if message.asked.is_none() => {
            t!("How much was asked for is not said: the run may need more than the GPU has.")
        }
        _ => together_with_asked(message),
    };
    let weight = match () {
        () if larger => 0.94,
        // No use of what is reserved makes room for it.
        () if surely_by_prediction => 0.87,
        () if is_full && !in_pieces => 0.72,
        () if by_prediction => 0.5,
        () => 0.3,
    };
    let evidence = match now.filter(|_| by_prediction) {
        Some(now) => {
            let facts = [evidence, peak_beside_message(message, now)].into_iter();
            Message::joined(" ", facts.filter(|fact| !fact.is_empty()))
        }
        None => evidence,
    };
    // If the run fits by the prediction, but failed, a change has to lower the need by at least what was missing.
    let most = now.filter(|now| now.fits).map(|now| now.need[1] - missing.max(1.0));
    let mut fitting = run.map_or_else(Vec::new, |run| fitting(run, found.place(), &[], most)).into_iter();
    let (change, set) = fitting.next().map_or((None, Vec::new()), |(change, set)| (Some(change), set));
    let others = fitting.collect();
    let too_small = run.filter(|_| by_prediction).map_or_else(Vec::new, |run| too_small(run, found.place()));
    // Of a run that is not known nothing can be computed.
    let change = change.or_else(|| match run {
        Some(_) if by_prediction => Some(t!(
            "none that was tried here, alone or with one other, makes the run fit. Run looks further: at layouts \
                    in which more settings differ, shorter sequences and more GPUs"
        )),
        Some(_) => None,
        None => Some(t!(
            "a micro-batch of 1, full recomputation, states sharded over data-parallel ranks, or more tensor or \
                    pipeline ranks. Set the run that failed on Run, with its micro-batch, recomputation and \
                    attention: then each is computed"
        )),
    });
    let hypothesis = Hypothesis::new(CauseId::NeverFitted, weight, missing, evidence, change);
    all.push(Hypothesis { set, others, too_small, ..hypothesis });
}

/// The peak that is predicted, larger than the GPU, and why a message of less is no contradiction of it.
fn peak_beside_message(message: &OutOfMemory, now: &PredictedMemory) -> Message {
    let (need, capacity) = (Bytes(now.fullest), Bytes(now.need[3]));
    let peak = t!(
        "By the prediction its peak needs {need} of {capacity}: {missing} more than the GPU has.",
        // As Run says it.
        need = of_report("need of the fullest GPU", MemoryUnit::Gib.show(need)),
        capacity = of_report("memory of a GPU", MemoryUnit::Gib.show(capacity)),
        missing = of_report("missing", MemoryUnit::Gib.beyond(need, capacity))
    );
    let reached = message.allocated.map(|allocated| allocated + message.asked.unwrap_or(0.0));
    let early = reached.filter(|reached| *reached < now.tensors()[0]).map(|reached| {
        t!(
            "Of tensors {tensors} are predicted, {times} times the {reached} that the message counts as held and asked \
                for: the process ended at the first request without room, and not at its peak.",
            tensors = predicted("tensors", now.tensors()[1]),
            times = of_report("tensors over what was held", significant(now.tensors()[1] / reached, 2)),
            reached = held("held and asked for", reached)
        )
    });
    Message::joined(" ", std::iter::once(peak).chain(early))
}

/// Says of memory in pieces that would have served the request, where the run is too large by the prediction as well,
/// that both hold; it is not enough then.
fn pieces_of_a_run_that_is_too_large(now: Option<&PredictedMemory>, all: &mut [Hypothesis]) {
    let Some(now) = now.filter(|now| now.is_too_large()) else {
        return;
    };
    let pieces = all.iter_mut().filter(|one| one.id == CauseId::Fragmentation && one.missing.is_none());
    for one in pieces {
        let also = t!(
            "Without the pieces this one request would have been served. The predicted peak, {need}, is still above \
                the {capacity} of the GPU: a later request would have failed.",
            need = predicted("need", now.need[1]),
            capacity = of_report("memory of a GPU", MemoryUnit::Gib.show(Bytes(now.need[3])))
        );
        one.evidence = Message::joined(" ", [one.evidence.clone(), also]);
        // Where the range reaches below the GPU's memory, it may have been enough.
        one.missing = (now.need[0] > now.need[3]).then(|| now.need[1] - now.need[3]);
    }
}

/// What was held and asked for beside the memory of the GPU, where neither is larger than it alone.
fn together_with_asked(message: &OutOfMemory) -> Message {
    let tensors = message.allocated.zip(message.asked).map(|(allocated, asked)| allocated + asked);
    match tensors.zip(message.total).filter(|(tensors, total)| tensors < total) {
        Some((tensors, total)) => t!(
            "Tensors and what was asked for are {tensors} of {total}: they would fit without the memory that is \
                reserved but unused and the memory outside PyTorch.",
            tensors = held("held and asked for", tensors),
            total = held("total", total)
        ),
        None => t!("Together with what was asked for, more is needed than the GPU has."),
    }
}

/// If the change of the logits alone does not make the run fit, adds that of the other changes with which it does: the
/// fastest that surely fits. Two causes can be true at once: after a change for one of them the run fails again.
fn together(run: Option<&Run>, place: Place, all: &mut [Hypothesis]) {
    let Some(own) = run else {
        return;
    };
    let Some(logits) = all.iter().find(|one| one.id == CauseId::Logits && !one.set.is_empty()) else {
        return;
    };
    let first = logits.set.clone();
    let fits = |set: &[(&'static str, String)]| tried(run, place, set).map(|after| after.fits);
    if fits(&first).is_none_or(|fits| fits) {
        return;
    }
    // What is enough alone needs no second change: it stands with the run that needs more than the GPU has.
    let is_enough_alone = |sizes: &Vec<WordedChange>| sizes.iter().any(|(_, set)| fits(set) == Some(true));
    if changes(own).iter().any(is_enough_alone) {
        return;
    }
    let Some((words, both)) = fitting(own, place, &first, None).into_iter().next() else {
        return;
    };
    let second: SetFields = both.iter().filter(|field| !first.contains(field)).cloned().collect();
    if let Some(logits) = all.iter_mut().find(|one| one.id == CauseId::Logits) {
        logits.set = both;
        logits.change = logits.change.take().map(|change| t!("{change}, with {words}", change, words = &words));
    }
    let fitted = all.iter_mut().find(|one| one.id == CauseId::NeverFitted && one.set.is_empty());
    if let Some(fitted) = fitted {
        let evidence = t!("{words} alone would not do either: both together fit.", words = &words);
        fitted.evidence = Message::joined(" ", [fitted.evidence.clone(), evidence]);
        fitted.change = Some(words);
        fitted.set = second;
    }
}

/// A change in words and in fields.
type WordedChange = (Message, SetFields);

/// The changes with which `own` with `first` fits, and needs at most `most` bytes where that is given: those that
/// surely fit by their predicted steps, then tight ones by theirs; two changes at once where none alone fits. All set
/// `first` as well. Where the software runs `own`, it runs them.
fn fitting(own: &Run, place: Place, first: &[(&'static str, String)], most: Option<f64>) -> Vec<WordedChange> {
    let is_able = can_run(own);
    let of_change = |(words, set): &WordedChange| -> Option<FittingChange> {
        let set = [first, &set[..]].concat();
        let after = tried(Some(own), place, &set)?;
        let fits = after.fits && most.is_none_or(|most| after.need[1] <= most);
        let runs = !is_able || own.with_texts(&set).is_some_and(|after| can_run(&after));
        (fits && runs).then(|| FittingChange {
            is_tight: !after.surely,
            step_s: after.step_s,
            need: after.need[1],
            change: (words.clone(), set),
        })
    };
    // Of the sizes of one setting the first that surely fits counts, else the first that fits.
    let best_of = |sizes: &[WordedChange]| {
        let fitting: Vec<_> = sizes.iter().filter_map(of_change).collect();
        fitting.iter().find(|change| !change.is_tight).or(fitting.first()).cloned()
    };
    let all = changes(own);
    let mut found: Vec<FittingChange> = all.iter().filter_map(|sizes| best_of(sizes)).collect();
    if found.is_empty() {
        let pairs = all.iter().enumerate().flat_map(|(at, one)| {
            let others = all[at + 1..].iter();
            others.filter_map(|other| Some(both_changes(one.last()?, other.last()?)))
        });
        found = pairs.filter_map(|pair| of_change(&pair)).collect();
        sort_by_fit(&mut found);
        found.truncate(PAIRS);
    }
    sort_by_fit(&mut found);
    found.into_iter().map(|fitting| fitting.change).collect()
}

/// The settings of which no size that was tried makes `own` fit alone, each with the size that needs least: what lowers
/// the need, the least that would still be missing first. Where the software runs `own`, it runs them.
fn too_small(own: &Run, place: Place) -> Vec<WordedChange> {
    let Some(now) = PredictedMemory::of(own, place) else {
        return Vec::new();
    };
    let is_able = can_run(own);
    let of_setting = |sizes: Vec<WordedChange>| {
        let tried_sizes = sizes.into_iter().filter_map(|(words, set)| {
            let after = tried(Some(own), place, &set)?;
            let runs = !is_able || own.with_texts(&set).is_some_and(|after| can_run(&after));
            runs.then_some((after, (words, set)))
        });
        let all: Vec<(PredictedMemory, WordedChange)> = tried_sizes.collect();
        if all.iter().any(|(after, _)| after.fits) {
            return None;
        }
        let lowest = all.into_iter().min_by(|(one, _), (other, _)| one.fullest.total_cmp(&other.fullest));
        lowest.filter(|(after, _)| after.is_less_than(&now))
    };
    let mut found: Vec<_> = changes(own).into_iter().filter_map(of_setting).collect();
    sort_by(&mut found, |(one, _): &(PredictedMemory, WordedChange), (other, _)| one.fullest.total_cmp(&other.fullest));
    let is_same = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-9;
    found.dedup_by(|(later, _), (first, _)| {
        is_same(later.fullest, first.fullest) && is_same(later.step_s, first.step_s)
    });
    found.into_iter().map(|(_, change)| change).collect()
}

/// A change with which a run fits, and what is predicted of it.
#[derive(Clone)]
struct FittingChange {
    is_tight: bool,
    step_s: f64,
    /// Bytes of the rank that failed.
    need: f64,
    change: WordedChange,
}

impl FittingChange {
    /// True if both have the same figures: one thing by two names, as selective recomputation is where the software
    /// recomputes whole layers.
    fn is_as(&self, other: &Self) -> bool {
        let are_close = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-9;
        are_close(self.step_s, other.step_s) && are_close(self.need, other.need)
    }
}

/// Pairs of changes that are listed, where no change alone makes a run fit.
const PAIRS: usize = 3;

/// What surely fits first, then by the predicted step; of several with the same figures the first alone.
fn sort_by_fit(changes: &mut Vec<FittingChange>) {
    sort_by(changes, |a: &FittingChange, b| a.is_tight.cmp(&b.is_tight).then(a.step_s.total_cmp(&b.step_s)));
    changes.dedup_by(|later, first| later.is_as(first));
}

/// Two changes at once.
fn both_changes((words, set): &WordedChange, (more, other): &WordedChange) -> WordedChange {
    (Message::joined(", ", [words.clone(), more.clone()]), [&set[..], &other[..]].concat())
}

/// Changes to try on a run that does not fit, by setting; the values of a setting begin with the one that changes
/// least.
fn changes(own: &Run) -> Vec<Vec<WordedChange>> {
    let halves = std::iter::successors(Some(own.micro_batch / 2), |half| Some(half / 2)).take_while(|half| *half > 0);
    let smaller = halves.filter(|half| own.micro_batch.is_multiple_of(*half));
    let one = |words: Message, key: &'static str, value: String| vec![(words, vec![(key, value)])];
    let (tp, pp) = (own.tp * 2, own.pp * 2);
    // What the software makes of it, which may be whole layers.
    let selective = Run { recompute: Recompute::Selective, ..own.clone() };
    let mut all = vec![
        smaller.map(|batch| (t!("micro-batch {batch}", batch), vec![("micro_batch", batch.to_string())])).collect(),
        one(t!("full recomputation"), "recompute", "full".to_owned()),
        one(verbatim(format!("TP {tp}")), "tp", tp.to_string()),
        one(verbatim(format!("PP {pp}")), "pp", pp.to_string()),
        one(selective.recomputed().words(), "recompute", "selective".to_owned()),
    ];
    all.extend(zero_up(own).map(|change| vec![change]));
    all
}

/// The next stage of ZeRO as a change; none at stage 3.
fn zero_up(run: &Run) -> Option<WordedChange> {
    let words = match run.zero + 1 {
        1 => t!("ZeRO-1, which shards the optimizer states"),
        2 => t!("ZeRO-2, which shards the gradients too"),
        3 => t!("ZeRO-3, which shards the weights too"),
        _ => return None,
    };
    Some((words, vec![("zero", (run.zero + 1).to_string())]))
}

/// The loss kernel `loss` as a change; of software without one that keeps fewer logits, what such a loss is.
fn loss_words(loss: Option<&CrossEntropy>) -> Message {
    match loss {
        Some(loss) => t!("the loss kernel “{kernel}”", kernel = Message::plain(loss.choice().label)),
        None => t!("a fused or chunked loss"),
    }
}

/// The predicted memory of the rank at `place` of `run` with `set`; none if `set` changes nothing or does not work.
pub(super) fn tried(run: Option<&Run>, place: Place, set: &[(&'static str, String)]) -> Option<PredictedMemory> {
    let run = run?;
    if set.is_empty() {
        return None;
    }
    let after = run.with_texts(set).filter(|after| after != run)?;
    PredictedMemory::of(&after, place)
}
