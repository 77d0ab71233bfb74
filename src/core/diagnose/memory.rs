//! Why a GPU ran out of memory: the message, the moment, what the size that was asked for is, and what would have
//! fitted.
//!
//! Rules are those of public threads whose cause is known; a change is tried on the run before it is named.

use super::causes::{CauseId, FoundCause};
use super::trend::MemoryTrend;
use crate::memory::Component;
use crate::memory::verdict::MemoryNeed;
use crate::message::{Message, verbatim};
use crate::report::report;
use crate::run::{AttentionKernel, OneOf, Run, Scenario};
use crate::sort::sort_by;
use crate::statics::named;
use crate::t;
use crate::units::{Bytes, GIB, fixed, show_bytes, show_percent, thousands};
use serde::{Deserialize, Serialize};

named! {
    /// What the program was doing.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Moment: name {
        Checkpoint = "checkpoint",
        /// The optimizer made its states.
        FirstStates = "first_states",
        OptimizerStep = "optimizer_step",
        Loss = "loss",
        Backward = "backward",
        GatheredWeights = "gathered_weights",
        Evaluation = "evaluation",
        Loading = "loading",
        Experts = "experts",
        Generation = "generation",
        Forward = "forward",
        /// No frame tells.
        Unknown = "not_known",
    }
}

impl Moment {
    /// In words, behind "while".
    pub fn words(self) -> Message {
        match self {
            Self::Checkpoint => t!("a checkpoint was written"),
            Self::FirstStates => t!("the optimizer made its states"),
            Self::OptimizerStep => t!("the optimizer updated the weights"),
            Self::Loss => t!("the loss was computed"),
            Self::Backward => t!("the backward pass ran"),
            Self::GatheredWeights => t!("weights were gathered"),
            Self::Evaluation => t!("it evaluated"),
            Self::Loading => t!("weights were loaded"),
            Self::Experts => t!("experts were computed"),
            Self::Generation => t!("it generated"),
            Self::Forward => t!("the forward pass ran"),
            Self::Unknown => t!("something that the message does not name ran"),
        }
    }
}

/// A message of an allocator, bytes; none where it does not say.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OutOfMemory {
    pub asked: Option<f64>,
    pub total: Option<f64>,
    pub free: Option<f64>,
    pub allocated: Option<f64>,
    /// Reserved by PyTorch and not in use.
    pub unused: Option<f64>,
    /// Held by this process.
    pub process: Option<f64>,
    /// Held by other processes that it names.
    pub others: Option<f64>,
    /// A limit on the process.
    pub allowed: Option<f64>,
    /// In private pools of CUDA graphs.
    pub pools: Option<f64>,
    /// It is of `cudaMallocAsync`, whose pools PyTorch does not see.
    pub driver_pool: bool,
    /// It is not PyTorch's: of NCCL, `cuBLAS` or JAX.
    pub library: Option<&'static str>,
    pub rank: Option<u64>,
    pub gpu: Option<u64>,
    /// The step that failed: the last that was logged, and one.
    pub step: Option<u64>,
    #[serde(serialize_with = "moment")]
    pub moment: Option<Moment>,
    /// Of a checkpoint: its frames make the optimizer's states.
    pub makes_states: bool,
    /// It had read a checkpoint to go on from.
    pub resumed: bool,
    /// How memory grew over the steps before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trend: Option<MemoryTrend>,
}

/// Writes a moment by its name.
#[allow(clippy::ref_option, clippy::trivially_copy_pass_by_ref)] // the signature that serde calls
fn moment<S: serde::Serializer>(moment: &Option<Moment>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(moment.unwrap_or(Moment::Unknown).name())
}

/// What the size that was asked for is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fingerprint {
    pub name: Message,
    /// Tokens that it is for, where it is one row a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
    /// How far it is from that size, relatively.
    pub off: f64,
    /// It is a tensor of logits.
    pub logits: bool,
    /// It has more tokens than a micro-batch of the run.
    pub longer: bool,
    /// It is the scores of attention, which no flash kernel holds.
    #[serde(skip)]
    pub scores: bool,
}

/// Memory of a failed run beside the prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryFound {
    pub message: OutOfMemory,
    /// Bytes that were missing, where the message says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short: Option<f64>,
    pub fingerprint: Option<Fingerprint>,
    /// The model of the run has a mixture of experts.
    #[serde(skip)]
    pub experts: bool,
    /// The rank of the run that the prediction is of; none for the fullest.
    #[serde(skip)]
    pub rank: Option<u64>,
    /// The message's rank, or the fullest: component and predicted bytes.
    pub predicted: Vec<(&'static str, f64)>,
    /// Need that is predicted for that rank with its range, and the capacity, bytes: low, need, high, capacity.
    pub need: Option<[f64; 4]>,
    pub causes: Vec<FoundCause>,
}

/// Sizes nearer than this are the same: messages are printed with two decimals.
const SAME: f64 = 0.01;
/// Allocated over the device's memory from which a run needs more than there is. A message of 2019 has 89.6 %.
const FULL: f64 = 0.88;

fn gib(bytes: f64) -> Message {
    verbatim(show_bytes(Bytes(bytes)))
}

/// A GPU whose memory differs by more from that of the run is not the run's.
const OTHER_GPU: f64 = 0.2;

/// The causes of `message` on `run`; a message of a GPU with other memory is not compared with the run.
pub fn out_of_memory(message: OutOfMemory, run: &Run) -> MemoryFound {
    let own = |scenario: &Scenario| {
        let total = message.total.unwrap_or(scenario.gpu.memory.0);
        (total / scenario.gpu.memory.0 - 1.0).abs() < OTHER_GPU
    };
    let scenario = Scenario::new(run).ok().filter(own);
    let compared = scenario.as_ref().map(|_| run);
    let held = compared.and_then(|run| PredictedMemory::of(run, message.rank));
    let fingerprint = scenario.as_ref().and_then(|scenario| fingerprint(&message, scenario));
    let short = message.asked.zip(message.free).map(|(asked, free)| asked - free).filter(|short| *short > 0.0);
    let rank = held.as_ref().and_then(|held| held.rank);
    let (predicted, need) = held.map_or((Vec::new(), None), |held| (held.parts, Some(held.need)));
    let experts = scenario.as_ref().is_some_and(|scenario| scenario.model.moe.is_some());
    let mut found = MemoryFound { message, short, fingerprint, experts, rank, predicted, need, causes: Vec::new() };
    found.causes = causes(&found, compared);
    found
}

/// Memory that is predicted for a rank of a run.
struct PredictedMemory {
    /// The rank; none for the fullest.
    rank: Option<u64>,
    /// Component and bytes.
    parts: Vec<(&'static str, f64)>,
    /// Low, need, high and capacity, bytes.
    need: [f64; 4],
    /// No rank needs more than there is.
    fits: bool,
    step_s: f64,
}

impl PredictedMemory {
    /// Of `rank` of `run`, or of its fullest rank where the run has no such rank; none where the run cannot work.
    fn of(run: &Run, rank: Option<u64>) -> Option<Self> {
        let run = Run { measured_step_s: None, ..run.clone() };
        let scenario = Scenario::new(&run).ok()?;
        let report = report(&run).ok()?;
        let memory = &report.memory;
        let place = |rank: u64| usize::try_from(scenario.layout.mesh().place(rank).pp).ok();
        let rank = rank.filter(|rank| *rank < scenario.layout.gpus && memory.phases.is_empty());
        let own = rank.and_then(place).and_then(|stage| memory.per_stage.get(stage));
        let capacity = memory.capacity_bytes.0;
        let need = match own {
            Some(stage) => {
                let need = MemoryNeed::of(&scenario, stage.total);
                [need.low.0, need.likely.0, need.high.0, capacity]
            }
            None => [memory.need_low_bytes.0, memory.need_bytes.0, memory.need_high_bytes.0, capacity],
        };
        let parts = own.or_else(|| memory.per_stage.get(memory.peak_stage)).map_or_else(Vec::new, |stage| {
            let of = |component: Component| match component {
                Component::Weights => stage.weights.0,
                Component::Gradients => stage.gradients.0,
                Component::Optimizer => stage.optimizer.0,
                Component::Activations => stage.activations.0,
                Component::Buffers => stage.buffers.0,
                Component::Overhead => stage.overhead.0,
            };
            Component::ALL.map(|component| (component.name(), of(component))).to_vec()
        });
        let fits = memory.need_bytes.0 <= capacity;
        let rank = rank.filter(|_| own.is_some());
        Some(Self { rank, parts, need, fits, step_s: report.step.time_s.0 })
    }

    /// True where the need is that of `other`, to a half percent.
    fn is_as(&self, other: &Self) -> bool {
        (self.need[1] / other.need[1] - 1.0).abs() < 0.005
    }
}

/// A hypothesis: how sure it is, bytes, evidence, change and the fields that try it.
struct Hypothesis {
    id: CauseId,
    weight: f64,
    bytes: f64,
    evidence: Message,
    change: Option<Message>,
    set: Vec<(&'static str, String)>,
}

/// The causes, the surest first. Their weights order the list and are shown to nobody.
#[allow(clippy::too_many_lines)] // one rule after the other
fn causes(found: &MemoryFound, run: Option<&Run>) -> Vec<FoundCause> {
    let message = &found.message;
    let (asked, total) = (message.asked.unwrap_or(0.0), message.total.unwrap_or(f64::MAX));
    let moment = message.moment.unwrap_or(Moment::Unknown);
    let allocated = message.allocated.unwrap_or(0.0);
    let unused = message.unused.unwrap_or(0.0);
    let free = message.free.unwrap_or(0.0);
    let optimizer = found.predicted.iter().find(|(name, _)| *name == "optimizer").map_or(asked, |(_, bytes)| *bytes);
    let mut all: Vec<Hypothesis> = Vec::new();
    let mut add = |id, weight, bytes: f64, evidence, change: Option<Message>, set| {
        all.push(Hypothesis { id, weight, bytes, evidence, change, set });
    };
    // Others on the GPU: those it names, else what neither PyTorch nor the free memory is.
    let rest = total
        - message.free.unwrap_or(total)
        - message.process.filter(|held| *held > 0.0).unwrap_or(allocated + unused);
    let derived =
        message.free.is_some() && message.total.is_some() && !message.driver_pool && message.process.is_none();
    let others = message.others.unwrap_or(if derived && rest > 0.5 * total { rest } else { 0.0 });
    if others > 0.03 * total {
        let evidence = t!("{held} of the GPU belong to other processes.", held = gib(others));
        add(
            CauseId::OtherProcess,
            0.95,
            others,
            evidence,
            Some(t!("end the other process, or use another GPU")),
            vec![],
        );
    }
    if let Some(allowed) = message.allowed.filter(|allowed| *allowed < 0.99 * total && others <= 0.03 * total) {
        let evidence = t!(
            "The process may use {allowed} of {total}: a limit was set.",
            allowed = gib(allowed),
            total = gib(total)
        );
        let weight = if message.free.is_some_and(|free| free > asked) { 0.92 } else { 0.4 };
        add(
            CauseId::AnotherSetting,
            weight,
            allowed,
            evidence,
            Some(t!("raise the memory fraction of the process")),
            vec![],
        );
    }
    if moment == Moment::FirstStates || message.makes_states {
        let evidence = if moment == Moment::Checkpoint || message.makes_states {
            t!("The optimizer's states were made for the first time while a checkpoint was written.")
        } else {
            t!("The optimizer's states were made for the first time.")
        };
        let change = t!("no checkpoint before the first step; states sharded over data-parallel ranks, or offloaded");
        add(CauseId::FirstOptimizerStep, 0.93, optimizer, evidence, Some(change), zero_up(run));
    } else if moment == Moment::OptimizerStep && message.step.unwrap_or(1) <= 1 {
        let evidence = t!("It failed in the optimizer's step, whose states come with the first one.");
        let change = t!("shard the states over data-parallel ranks, or fewer bytes a parameter");
        add(CauseId::FirstOptimizerStep, 0.8, optimizer, evidence, Some(change), zero_up(run));
    }
    if let Some(fingerprint) = &found.fingerprint {
        if fingerprint.logits {
            let evidence =
                t!("The {asked} that were asked for are {what}.", asked = gib(asked), what = &fingerprint.name);
            let weight = if matches!(moment, Moment::Loss | Moment::Backward | Moment::Unknown) { 0.9 } else { 0.7 };
            let change = t!("a fused or chunked loss, and recomputation where activations are too large as well");
            add(CauseId::Logits, weight, asked, evidence, Some(change), vec![("cross_entropy", "te-fused".to_owned())]);
        }
        if fingerprint.longer && message.step.is_none_or(|step| step > 1) {
            let evidence =
                t!("The {asked} that were asked for are {what}.", asked = gib(asked), what = &fingerprint.name);
            // The frames name the tensor, the run's own batch is shorter: the sample is the reason, the logits are the
            // place.
            let weight = if message.step.is_some() && moment == Moment::Loss { 0.91 } else { 0.75 };
            add(CauseId::LongestSample, weight, asked, evidence, Some(t!("cut, pack or sort the samples")), vec![]);
        }
        if let Some(evidence) = plain_attention(found, run) {
            let change = t!("a flash kernel: attn_implementation=flash_attention_2, or --attention-backend flash");
            add(CauseId::AttentionFallback, 0.93, asked, evidence, Some(change), vec![]);
        }
    } else if moment == Moment::Loss {
        let evidence = t!("It failed while the loss was computed.");
        let set = vec![("cross_entropy", "te-fused".to_owned())];
        add(CauseId::Logits, 0.6, asked, evidence, Some(t!("a fused or chunked loss")), set);
    }
    if message.driver_pool {
        let held = total - allocated - message.free.unwrap_or(0.0);
        let evidence =
            t!("{held} are neither allocated nor free: the driver's pool holds them in pieces.", held = gib(held));
        add(CauseId::Fragmentation, 0.7, held, evidence, Some(t!("PyTorch's own allocator")), vec![]);
    } else if unused > asked && unused > 0.02 * total && asked > 0.0 {
        let evidence = t!(
            "{unused} are reserved and not in use, more than the {asked} that were asked for.",
            unused = gib(unused),
            asked = gib(asked)
        );
        let change =
            t!("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (PYTORCH_ALLOC_CONF from 2.9 on), or equal shapes");
        add(CauseId::Fragmentation, 0.85, unused, evidence, Some(change), vec![]);
    } else if unused > 0.0 && free < asked && unused + free >= asked {
        let evidence = t!(
            "{unused} are reserved and not in use, {free} are free: together at least the {asked} that were asked for.",
            unused = gib(unused),
            free = gib(free),
            asked = gib(asked)
        );
        // Expandable segments give pages that are not in use back to the driver: both together can serve one request.
        let change = t!("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (PYTORCH_ALLOC_CONF from 2.9 on)");
        add(CauseId::Fragmentation, 0.6, unused, evidence, Some(change), vec![]);
    } else if unused > 0.0 && unused + free < asked {
        let evidence = t!(
            "{unused} are reserved and not in use. With all of it free, {short} would still be missing.",
            unused = gib(unused),
            short = gib(asked - unused - free)
        );
        add(CauseId::Fragmentation, 0.05, unused, evidence, None, vec![]);
    }
    if let Some(cause) = message.trend.as_ref().and_then(|trend| trend.cause(found.experts)) {
        add(cause.id, 0.88, cause.bytes.unwrap_or(0.0), cause.evidence, cause.change, vec![]);
    }
    if message.resumed && message.step.unwrap_or(1) <= 1 && moment != Moment::FirstStates {
        let evidence =
            t!("It failed in the first step after a checkpoint was read: the optimizer's states are there from the \
                beginning, which a fresh run has only at the end of its first step.");
        let change = t!("states on the host until the first step, or sharded over data-parallel ranks");
        add(CauseId::FirstOptimizerStep, 0.78, optimizer, evidence, Some(change), zero_up(run));
    }
    if moment == Moment::Checkpoint && !message.makes_states {
        let evidence = t!("It failed while a checkpoint was written: whole weights on one GPU, or copies of states.");
        let change = t!("a sharded checkpoint, or one that is gathered on the host");
        add(CauseId::Checkpoint, 0.7, asked, evidence, Some(change), vec![]);
    }
    if moment == Moment::Generation {
        let evidence = t!("It failed while it generated: the engine and the training share the GPU.");
        let change = t!("the engine's sleep level, or a smaller share of memory for it");
        add(CauseId::OtherProcess, 0.6, asked, evidence, Some(change), vec![]);
    }
    if let (Some("cuBLAS"), None) = (message.library, message.total) {
        let evidence = t!(
            "cuBLAS found no room for its handle: the GPU is full; of a small model in its first call it may be an \
                index out of range instead."
        );
        let change = t!("CUDA_LAUNCH_BLOCKING=1 names the call");
        add(CauseId::NeverFitted, 0.73, asked, evidence, Some(change), vec![]);
    }
    if let (Some("NCCL"), None) = (message.library, message.total) {
        let evidence = t!("NCCL lacked a few MiB for a connection: the GPU is full, NCCL is not large.");
        add(CauseId::NeverFitted, 0.73, asked, evidence, Some(t!("memory kept free for communicators")), vec![]);
    }
    if moment == Moment::Evaluation {
        let evidence = t!("It failed in an evaluation, whose logits and batch are its own.");
        add(
            CauseId::Evaluation,
            0.65,
            asked,
            evidence,
            Some(t!("a smaller evaluation batch, without gradients")),
            vec![],
        );
    }
    if moment == Moment::Experts {
        let evidence = t!("It failed in the experts: the fullest one decides.");
        add(
            CauseId::ExpertImbalance,
            0.6,
            asked,
            evidence,
            Some(t!("a capacity, a balancing loss, more expert parallelism")),
            vec![],
        );
    }
    let outside = message.process.map_or(0.0, |process| process - allocated - unused);
    if outside > 3.0 * GIB && outside < total {
        let evidence = t!("{outside} of the process are outside PyTorch.", outside = gib(outside));
        add(
            CauseId::Context,
            0.55,
            outside,
            evidence,
            Some(t!("fewer communicators, smaller NCCL and expert buffers")),
            vec![],
        );
    }
    if let Some(pools) = message.pools.filter(|pools| *pools > 2.0 * GIB) {
        let evidence = t!("{pools} are in pools of CUDA graphs.", pools = gib(pools));
        add(CauseId::Context, 0.55, pools, evidence, Some(t!("fewer captured shapes")), vec![]);
    }
    never_fitted(found, run, &mut all);
    another_run(found, &mut all);
    together(run, message.rank, &mut all);
    sort_by(&mut all, |a: &Hypothesis, b| b.weight.total_cmp(&a.weight));
    // Two rules may name one cause: the surer one speaks.
    let mut named = Vec::new();
    all.retain(|one| {
        let is_new = !named.contains(&one.id);
        named.push(one.id);
        is_new
    });
    let now = run.and_then(|run| PredictedMemory::of(run, message.rank));
    let listed = all.into_iter().map(|one| {
        let after = tried(run, message.rank, &one.set);
        let told = match (one.change, &now, &after) {
            (Some(change), Some(now), Some(after)) => (Some(changed(change, now, after)), !after.is_as(now)),
            (change, ..) => (change, after.is_some()),
        };
        let (change, helps) = told;
        FoundCause {
            bytes: Some(one.bytes),
            change,
            set: if helps { one.set } else { Vec::new() },
            predicted_s: after.map(|after| after.step_s),
            ..FoundCause::new(one.id, one.evidence)
        }
    });
    listed.collect()
}

/// A change with the need that is predicted for it. Fitting proves nothing where the run fits by the prediction as it
/// is, and a change that the prediction does not see is not called one that fits.
fn changed(change: Message, now: &PredictedMemory, after: &PredictedMemory) -> Message {
    let (need, before) = (gib(after.need[1]), gib(now.need[1]));
    match () {
        () if after.is_as(now) => t!("{change}: the prediction stays at {need}", change, need),
        () if now.fits => {
            t!("{change}: {need} by the prediction, {now} for the run as it is", change, need, now = before)
        }
        () if after.fits => {
            t!("{change}: fits by the prediction, {need} instead of {now}", change, need, now = before)
        }
        () => t!("{change}: would not do by the prediction, {need} instead of {now}", change, need, now = before),
    }
}

/// The attention kernel of the run holds no scores, and scores were asked for.
fn plain_attention(found: &MemoryFound, run: Option<&Run>) -> Option<Message> {
    let fingerprint = found.fingerprint.as_ref().filter(|what| what.scores)?;
    let kernel = run?.attention_kernel();
    if kernel == AttentionKernel::Eager {
        return None;
    }
    let held = t!(
        "The {asked} that were asked for are {what}. A flash kernel never holds them: attention runs in its plain \
            form, and the run on the page has {kernel}.",
        asked = gib(found.message.asked?),
        what = &fingerprint.name,
        kernel = Message::plain(kernel.choice().label)
    );
    let plain = vec![("stack.attention", AttentionKernel::Eager.id().to_owned())];
    let with = tried(run, found.message.rank, &plain)
        .map(|after| t!("With plain attention {need} are predicted for that rank.", need = gib(after.need[1])));
    Some(Message::joined(" ", std::iter::once(held).chain(with)))
}

/// More was held than is predicted at most: the run that failed is not the one on the page.
fn another_run(found: &MemoryFound, all: &mut Vec<Hypothesis>) {
    let (Some(allocated), Some([low, need, high, capacity])) = (found.message.allocated, found.need) else {
        return;
    };
    if allocated <= high || need > capacity {
        return;
    }
    let evidence = t!(
        "It held {allocated}, and {need} ({low} to {high}) are predicted for the run on the page: what failed was \
            another run, or needs what is not counted.",
        allocated = gib(allocated),
        need = gib(need),
        low = gib(low),
        high = gib(high)
    );
    let change = t!("compare layout, sequence length, micro-batch, recomputation and attention with the program's");
    let (id, bytes) = (CauseId::AnotherSetting, allocated - need);
    all.push(Hypothesis { id, weight: 0.84, bytes, evidence, change: Some(change), set: Vec::new() });
}

/// The run needs more than there is: by what was allocated, or by the prediction; with the changes that would fit.
fn never_fitted(found: &MemoryFound, run: Option<&Run>, all: &mut Vec<Hypothesis>) {
    let message = &found.message;
    let full = message.allocated.zip(message.total).map(|(allocated, total)| allocated / total);
    let larger = message.asked.zip(message.total).is_some_and(|(asked, total)| asked > total);
    let by_prediction = found.need.is_some_and(|[_, need, _, capacity]| need > capacity);
    let is_full = full.is_some_and(|share| share > FULL);
    let missing = found.short.unwrap_or_else(|| message.asked.unwrap_or(0.0));
    let evidence = match full {
        _ if larger => t!("More was asked for at once than the GPU has."),
        Some(share) if is_full => {
            t!("{share} of the GPU are tensors that PyTorch allocated.", share = show_percent(share))
        }
        _ if by_prediction => t!("The prediction for this run needs more than the GPU has."),
        _ => t!("Together with what was asked for, more is needed than the GPU has."),
    };
    let weight = match () {
        () if larger => 0.94,
        () if is_full => 0.72,
        () if by_prediction => 0.5,
        () => 0.3,
    };
    let changes = run.map_or_else(Vec::new, |own| changes(own, run));
    let now = run.and_then(|run| PredictedMemory::of(run, message.rank));
    // A run that fits by the prediction and did not has to need less by what was missing.
    let most = now.filter(|now| now.fits).map(|now| now.need[1] - missing.max(1.0));
    let fits = |set: &[(&'static str, String)]| {
        tried(run, message.rank, set).is_some_and(|after| after.fits && most.is_none_or(|most| after.need[1] <= most))
    };
    let fitting = changes.into_iter().find(|(_, set)| !set.is_empty() && fits(set));
    let (change, set) = fitting.map_or((None, Vec::new()), |(change, set)| (Some(change), set));
    all.push(Hypothesis { id: CauseId::NeverFitted, weight, bytes: missing, evidence, change, set });
}

/// Where the change of the logits does not fit alone, the first of the other changes that fits beside it: two causes
/// can hold at once, and either mended alone fails one step later.
fn together(run: Option<&Run>, rank: Option<u64>, all: &mut [Hypothesis]) {
    let Some(own) = run else {
        return;
    };
    let Some(logits) = all.iter().find(|one| one.id == CauseId::Logits && !one.set.is_empty()) else {
        return;
    };
    let first = logits.set.clone();
    let fits = |set: &[(&'static str, String)]| tried(run, rank, set).map(|after| after.fits);
    if fits(&first).is_none_or(|fits| fits) {
        return;
    }
    let Some((words, second)) = changes(own, run).into_iter().find(|(_, set)| {
        let both = [first.clone(), set.clone()].concat();
        !set.is_empty() && fits(&both) == Some(true)
    }) else {
        return;
    };
    let alone = fits(&second) == Some(true);
    if let Some(logits) = all.iter_mut().find(|one| one.id == CauseId::Logits) {
        logits.set = [first, second.clone()].concat();
        logits.change = logits.change.take().map(|change| t!("{change}, with {words}", change, words = &words));
    }
    if !alone && let Some(fitted) = all.iter_mut().find(|one| one.id == CauseId::NeverFitted) {
        let evidence = t!("{words} alone would not do either: both together fit.", words = &words);
        fitted.evidence = Message::joined(" ", [fitted.evidence.clone(), evidence]);
        fitted.change = Some(words);
        fitted.set = second;
    }
}

/// Changes that a run which does not fit is tried with, in the order of what they cost.
fn changes(own: &Run, run: Option<&Run>) -> Vec<(Message, Vec<(&'static str, String)>)> {
    vec![
        (t!("a micro-batch half as large"), vec![("micro_batch", (own.micro_batch / 2).to_string())]),
        (t!("full recomputation"), vec![("recompute", "full".to_owned())]),
        (t!("states sharded over data-parallel ranks"), zero_up(run)),
        (t!("twice the tensor-parallel size"), vec![("tp", (own.tp * 2).to_string())]),
        (t!("twice the pipeline"), vec![("pp", (own.pp * 2).to_string())]),
    ]
}

/// One step more of sharding; nothing at the last.
fn zero_up(run: Option<&Run>) -> Vec<(&'static str, String)> {
    let more = run.filter(|run| run.zero < 3).map(|run| ("zero", (run.zero + 1).to_string()));
    more.into_iter().collect()
}

/// What is predicted for `rank` of `run` with `set`; none where that changes nothing or does not work.
fn tried(run: Option<&Run>, rank: Option<u64>, set: &[(&'static str, String)]) -> Option<PredictedMemory> {
    let run = run?;
    if set.is_empty() {
        return None;
    }
    let after = run.with_texts(set).filter(|after| after != run)?;
    PredictedMemory::of(&after, rank)
}

/// Frames name the logits, and the size is that of more tokens than the run's micro-batch has: a longer sample. In fp32
/// first, as losses are computed.
fn longer_logits(asked: f64, vocab: f64, tokens: f64, words: u64) -> Option<Fingerprint> {
    let formats = [(4.0, "fp32"), (2.0, "bf16")];
    let counts = formats.map(|(bytes, format)| (asked / (vocab * bytes), format));
    let (count, format) = counts.into_iter().find(|(count, _)| (1.05 * tokens..64.0 * tokens).contains(count))?;
    Some(Fingerprint {
        name: t!(
            "{tokens} tokens × {vocab} words × {format}, {times} times the tokens of a micro-batch of the run",
            tokens = fixed(count, 0),
            vocab = thousands(words),
            format,
            times = fixed(count / tokens, 1)
        ),
        tokens: Some(count),
        off: (0.005 * GIB / asked).min(SAME),
        logits: true,
        longer: true,
        scores: false,
    })
}

/// The tensor of the run, or the number of tokens, that has the size that was asked for.
fn fingerprint(message: &OutOfMemory, scenario: &Scenario) -> Option<Fingerprint> {
    const LOGITS: [bool; 2] = [true, false];
    const SCORES: [bool; 2] = [false, true];
    const OTHER: [bool; 2] = [false, false];
    let asked = message.asked.filter(|asked| *asked > 32.0 * 1024.0 * 1024.0)?;
    let (model, run, t) = (&scenario.model, &scenario.run, scenario.layout.tp as f64);
    let tokens = run.micro_batch as f64 * run.seq_len as f64 / scenario.layout.cp as f64;
    let off = |size: f64| (asked / size - 1.0).abs();
    let vocab = model.vocab as f64 / t;
    let mut best: Option<Fingerprint> = None;
    let mut offer = |name: Message, size: f64, [logits, scores]: [bool; 2]| {
        let far = off(size);
        if size > 0.0 && far < SAME && best.as_ref().is_none_or(|best| far < best.off) {
            best = Some(Fingerprint { name, tokens: Some(tokens), off: far, logits, longer: false, scores });
        }
    };
    for (bytes, format) in [(4.0, "fp32"), (2.0, "bf16")] {
        offer(t!("the logits of a micro-batch in {format}", format), tokens * vocab * bytes, LOGITS);
    }
    let (h, f, s) = (model.hidden as f64, model.ffn as f64 / t, run.seq_len as f64);
    offer(t!("the input of the FFN's second product in bf16"), tokens * f * 2.0, OTHER);
    offer(t!("both halves of a gated FFN in bf16"), tokens * 2.0 * f * 2.0, OTHER);
    offer(t!("the hidden states of a micro-batch in bf16"), tokens * h * 2.0, OTHER);
    let scores = run.micro_batch as f64 * model.heads as f64 / t * s * s;
    offer(t!("the attention scores of a layer in bf16"), scores * 2.0, SCORES);
    offer(t!("the attention scores of a layer in fp32"), scores * 4.0, SCORES);
    let heads = model.head_dim as f64 * (2.0 * model.heads as f64 + 2.0 * model.kv_heads as f64);
    let matrices = if model.gated_ffn { 3.0 } else { 2.0 };
    let layer = h * heads + matrices * h * model.ffn as f64;
    if message.moment == Some(Moment::GatheredWeights) {
        offer(t!("the gathered weights of a layer in bf16"), layer * 2.0, OTHER);
        offer(t!("the gathered weights of a layer in fp32"), layer * 4.0, OTHER);
    }
    if let Some(moe) = &model.moe {
        let expert = matrices * h * moe.expert_ffn as f64;
        offer(t!("the weights of an expert in bf16"), expert * 2.0, OTHER);
    }
    if best.is_some() {
        return best;
    }
    if message.moment == Some(Moment::Loss)
        && let Some(found) = longer_logits(asked, vocab, tokens, model.vocab / scenario.layout.tp.max(1))
    {
        return Some(found);
    }
    // The logits of another number of tokens: a whole number, and not far from what the run says.
    let counts = [(4.0, "fp32"), (2.0, "bf16")].map(|(bytes, format)| (asked / (vocab * bytes), format));
    let plausible = counts.into_iter().filter(|(count, _)| *count > 256.0 && *count < 64.0 * tokens);
    let near = |count: f64| {
        let power = [1024.0, 2048.0, 4096.0, 8192.0, 16384.0, 32768.0];
        power.iter().map(|size| (count / size - 1.0).abs()).fold(f64::MAX, f64::min)
    };
    let (count, format) = plausible.min_by(|(a, _), (b, _)| near(*a).total_cmp(&near(*b)))?;
    // A guess needs more than a size of the run: as near as two decimals are printed.
    let printed = (0.005 * GIB / asked).max(0.002);
    if near(count) > printed {
        return None;
    }
    let name = t!(
        "{tokens} tokens × {vocab} words × {format}, logits of another number of tokens than the run's",
        tokens = fixed(count, 0),
        vocab = thousands(model.vocab / scenario.layout.tp.max(1)),
        format
    );
    let longer = count > 1.05 * tokens;
    Some(Fingerprint { name, tokens: Some(count), off: near(count), logits: true, longer, scores: false })
}
