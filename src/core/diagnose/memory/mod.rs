//! Why a GPU ran out of memory: the message, the moment, what the size that was asked for is, and what would have
//! fitted.

mod failed;
mod fingerprint;
mod rules;
mod sizes;

pub use fingerprint::{Fingerprint, SizeReading};

use super::causes::FoundCause;
use super::figures::{of_files, of_report};
use super::trend::MemoryTrend;
use crate::memory::verdict::MemoryNeed;
use crate::memory::{Component, Item, Lifetime};
use crate::message::Message;
use crate::report::{Evaluation, evaluate};
use crate::run::{Method, Run, Scenario};
use crate::statics::named;
use crate::t;
use crate::units::{Bytes, show_of_gpu};
use fingerprint::fingerprint;
use rules::causes;
use serde::{Deserialize, Serialize};

named! {
    /// What the program was doing when the allocation failed.
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
#[allow(clippy::struct_excessive_bools)] // facts of a stack that do not exclude each other
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
    /// True if the stack shows a checkpoint that makes the optimizer's states.
    pub makes_states: bool,
    /// True if the innermost frame converts a tensor to fp32.
    pub to_fp32: bool,
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
    /// The rank of the run that the prediction is of; none where the message names none of its ranks.
    #[serde(skip)]
    pub rank: Option<u64>,
    /// The pipeline rank that the prediction is of, where what was asked for is on some pipeline ranks alone and the
    /// message names no rank: the fullest of those.
    #[serde(skip)]
    pub stage: Option<usize>,
    /// The message's rank, or the fullest: component and predicted bytes.
    pub predicted: Vec<(&'static str, f64)>,
    /// Bytes of `predicted` that are no tensors: what the process takes outside PyTorch's allocator, and fragmentation.
    #[serde(skip)]
    pub besides: f64,
    /// Need that is predicted for that rank with its range, and the capacity, bytes: low, need, high, capacity.
    pub need: Option<[f64; 4]>,
    /// Pipeline rank and predicted need of the fullest GPU, bytes, where it is another than the one that is compared.
    #[serde(skip)]
    pub fullest: Option<(usize, f64)>,
    /// No run was given: nothing is compared.
    #[serde(skip)]
    pub no_run: bool,
    pub causes: Vec<FoundCause>,
}

/// Which rank of a run a message is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The rank that the message names; the fullest where the run has no such rank.
    Named(u64),
    /// The fullest of the ranks that compute the loss: no other has logits.
    Loss,
    /// The fullest.
    Fullest,
}

impl Place {
    fn of(message: &OutOfMemory, fingerprint: Option<&Fingerprint>) -> Self {
        let of_loss = fingerprint.map_or(message.moment == Some(Moment::Loss), |what| what.logits);
        match message.rank {
            Some(rank) => Self::Named(rank),
            None if of_loss => Self::Loss,
            None => Self::Fullest,
        }
    }
}

/// Predicted bytes of tensors, which are what PyTorch calls allocated, with their range: the need without `besides`,
/// what the process and the allocator take.
fn tensors(besides: f64, [low, need, high, _]: [f64; 4]) -> [f64; 3] {
    [low, need, high].map(|bytes| (bytes - besides).max(0.0))
}

impl MemoryFound {
    /// Predicted bytes of tensors, which are what PyTorch calls allocated: low, likely, high.
    pub fn predicted_tensors(&self) -> Option<[f64; 3]> {
        Some(tensors(self.besides, self.need?))
    }

    /// The predicted parts of the rank, so that tensors are apart from what is none: the overhead is the logits at
    /// their peak, and what the process and fragmentation take.
    pub fn predicted_parts(&self) -> Vec<(&'static str, f64)> {
        let overhead = Component::Overhead.name();
        let parts = self.predicted.iter().flat_map(|(name, bytes)| {
            if *name == overhead {
                [("logits at their peak", bytes - self.besides), ("process and fragmentation", self.besides)]
            } else {
                [(*name, *bytes), (*name, 0.0)]
            }
        });
        parts.filter(|(_, bytes)| *bytes > 1.0).collect()
    }

    /// Of which rank the prediction is and why, and what the fullest GPU needs where it is another; none without a
    /// prediction.
    pub fn whose_prediction(&self) -> Option<Message> {
        self.need?;
        let whose = match (self.rank, self.stage) {
            (Some(rank), _) => t!("The prediction is of rank {rank}, which the message names.", rank),
            (None, Some(stage)) => t!(
                "The prediction is of pipeline rank {stage}, the fullest of those that compute the loss: the message \
                    names no rank, and no other has logits.",
                stage
            ),
            (None, None) => t!("The prediction is of the fullest GPU: the message names no rank of the run."),
        };
        let fullest = self.fullest.map(|(stage, need)| {
            t!(
                "The fullest GPU, of pipeline rank {stage}, needs {need}.",
                stage,
                need = predicted("need of the fullest GPU", need)
            )
        });
        Some(Message::joined(" ", std::iter::once(whose).chain(fullest)))
    }

    fn place(&self) -> Place {
        Place::of(&self.message, self.fingerprint.as_ref())
    }
}

/// Bytes of the message, by what they are.
fn held(what: &str, bytes: f64) -> Message {
    of_files(what, show_of_gpu(Bytes(bytes)))
}

/// Bytes that are predicted of the run that is compared, or of it with a change, which `what` then names.
fn predicted(what: impl Into<String>, bytes: f64) -> Message {
    of_report(what, show_of_gpu(Bytes(bytes)))
}

/// The need that is predicted `after` the change, and that of the run as it is `now`.
fn need_with(change: &Message, after: f64, now: f64) -> [Message; 2] {
    [predicted(format!("need with: {change}"), after), predicted("need", now)]
}

/// A GPU whose memory differs by more from that of the run is not the run's.
const OTHER_GPU: f64 = 0.2;

/// True where `message` is of a GPU with as much memory as those of the run, or does not say.
fn is_own_gpu(message: &OutOfMemory, scenario: &Scenario) -> bool {
    let own = scenario.gpu.memory.0;
    message.total.is_none_or(|total| (total / own - 1.0).abs() < OTHER_GPU)
}

/// Why nothing is compared with `run`: the message is of a GPU with other memory, or the run cannot be computed.
pub(super) fn not_compared(message: &OutOfMemory, run: &Run) -> Message {
    match (Scenario::new(run), message.total) {
        (Ok(scenario), Some(total)) if !is_own_gpu(message, &scenario) => t!(
            "the message is of a GPU with {total} of memory, and a GPU of the run has {own}: nothing is compared with \
                it",
            total = held("total", total),
            own = predicted("whole memory of a GPU", scenario.gpu.memory.0)
        ),
        _ => t!("the run cannot be computed: nothing is compared with it"),
    }
}

/// The change `set` of `run` in words, with the memory that is predicted with it, and the bytes that would still be
/// missing where it is not enough; none where it lowers nothing. A change that `is_other` is what another run had,
/// which may need more.
pub(super) fn change_in_words(
    words: Message,
    set: &[(&'static str, String)],
    run: &Run,
    is_other: bool,
) -> Option<(Message, Option<f64>)> {
    let now = PredictedMemory::of(run, Place::Fullest)?;
    let after = PredictedMemory::of(&run.with_texts(set)?, Place::Fullest)?;
    if is_other {
        let need = predicted(format!("need of the fullest GPU with {set:?}"), after.need[1]);
        let now = predicted("need of the fullest GPU", now.need[1]);
        let said = t!("{change}: {need} by the prediction, {now} for the run as it is", change = words, need, now);
        return Some((said, None));
    }
    after.is_less_than(&now).then(|| (rules::changed(&words, &now, &after), rules::still_missing(&now, &after)))
}

/// The causes of `message` on `run`; a message of a GPU with other memory is not compared with the run. Without a run
/// the causes are what the message itself shows.
pub fn out_of_memory(message: OutOfMemory, run: Option<&Run>) -> MemoryFound {
    let scenario = run.and_then(|run| Scenario::new(run).ok()).filter(|scenario| is_own_gpu(&message, scenario));
    let compared = run.filter(|_| scenario.is_some());
    // XLA and engines ask for the memory of many tensors at once.
    let of_one_tensor = scenario.as_ref().filter(|_| message.library.is_none());
    let fingerprint = of_one_tensor.and_then(|scenario| fingerprint(&message, scenario));
    let place = Place::of(&message, fingerprint.as_ref());
    let held = compared.and_then(|run| PredictedMemory::of(run, place));
    let short = message.asked.zip(message.free).map(|(asked, free)| asked - free).filter(|short| *short > 0.0);
    let short = short.filter(|_| message.doubt().is_none());
    let (rank, stage) = held.as_ref().map_or((None, None), |held| (held.rank, held.stage));
    let besides = held.as_ref().map_or(0.0, |held| held.besides);
    let fullest = held.as_ref().and_then(PredictedMemory::fuller);
    let (predicted, need) = held.map_or((Vec::new(), None), |held| (held.parts, Some(held.need)));
    let experts = scenario.as_ref().is_some_and(|scenario| scenario.model.moe.is_some());
    let mut found = MemoryFound {
        message,
        short,
        fingerprint,
        experts,
        rank,
        stage,
        predicted,
        besides,
        need,
        fullest,
        no_run: run.is_none(),
        causes: Vec::new(),
    };
    found.causes = causes(&found, compared);
    found
}

/// Memory that is predicted for a rank of a run.
struct PredictedMemory {
    /// The rank that was asked for; none where the run has no such rank.
    rank: Option<u64>,
    /// The pipeline rank, the fullest of those that compute the loss, where others do not.
    stage: Option<usize>,
    /// Component and bytes.
    parts: Vec<(&'static str, f64)>,
    /// Bytes of them that are no tensors.
    besides: f64,
    /// Low, need, high and capacity, bytes.
    need: [f64; 4],
    /// Need of the fullest rank, bytes.
    fullest: f64,
    /// Its pipeline rank.
    fullest_stage: usize,
    /// No rank needs more than there is.
    fits: bool,
    /// Nor does it at the upper end of its range.
    surely: bool,
    step_s: f64,
}

impl PredictedMemory {
    /// The memory of the rank at `place` of `run`; none if the run cannot be evaluated.
    fn of(run: &Run, place: Place) -> Option<Self> {
        let run = Run { measured_step_s: None, ..run.clone() };
        let Evaluation { scenario, loads, report, .. } = evaluate(&run).ok()?;
        let memory = &report.memory;
        let stages = &memory.per_stage;
        let named = |rank: u64| usize::try_from(scenario.layout.mesh().place(rank).pp).ok();
        let has_loss = |at: &usize| loads.get(*at).is_some_and(|load| load.stages.contains(&scenario.last_stage()));
        let total = |at: &usize| stages.get(*at).map_or(0.0, |stage| stage.total.0);
        // Phases have no ranks of the pipeline.
        let place = if memory.phases.is_empty() { place } else { Place::Fullest };
        let (rank, stage) = match place {
            Place::Named(rank) if rank < scenario.layout.gpus => (Some(rank), named(rank)),
            Place::Loss if (0..stages.len()).any(|at| !has_loss(&at)) => {
                (None, (0..stages.len()).filter(has_loss).max_by(|a, b| total(a).total_cmp(&total(b))))
            }
            _ => (None, None),
        };
        let own = stage.and_then(|stage| stages.get(stage));
        let capacity = memory.capacity_bytes.0;
        let need_of = |total| match scenario.run.memory_method {
            Method::Detailed => MemoryNeed::of(&scenario, total),
            _ => MemoryNeed::of_tensors(&scenario, total),
        };
        let need = match own {
            Some(stage) => {
                let need = need_of(stage.total);
                [need.low.0, need.likely.0, need.high.0, capacity]
            }
            None => [memory.need_low_bytes.0, memory.need_bytes.0, memory.need_high_bytes.0, capacity],
        };
        let compared = own.or_else(|| memory.fullest());
        // What a method does not count itself is of the process and of fragmentation.
        let uncounted = compared.map_or(0.0, |stage| need[1] - stage.total.0);
        let besides = uncounted
            + compared.map_or(0.0, |stage| {
                let outside = |item: &&Item| matches!(item.lifetime, Lifetime::Process | Lifetime::Fragmentation);
                stage.items.iter().filter(outside).map(|item| item.bytes.0).sum()
            });
        let parts = compared.map_or_else(Vec::new, |stage| {
            let of = |component: Component| match component {
                Component::Weights => stage.weights.0,
                Component::Gradients => stage.gradients.0,
                Component::Optimizer => stage.optimizer.0,
                Component::Activations => stage.activations.0,
                Component::Buffers => stage.buffers.0,
                Component::Overhead => stage.overhead.0 + uncounted,
            };
            Component::ALL.map(|component| (component.name(), of(component))).to_vec()
        });
        let fullest = memory.need_bytes.0;
        let fits = fullest <= capacity;
        let surely = memory.need_high_bytes.0 <= capacity;
        let rank = rank.filter(|_| own.is_some());
        let stage = stage.filter(|_| rank.is_none());
        let (fullest_stage, step_s) = (memory.peak_stage, report.step.time_s.0);
        Some(Self { rank, stage, parts, besides, need, fullest, fullest_stage, fits, surely, step_s })
    }

    /// Bytes of tensors: low, likely, high.
    fn tensors(&self) -> [f64; 3] {
        tensors(self.besides, self.need)
    }

    /// Pipeline rank and need of the fullest GPU, where that needs more.
    fn fuller(&self) -> Option<(usize, f64)> {
        (self.fullest > 1.005 * self.need[1]).then_some((self.fullest_stage, self.fullest))
    }

    /// True where the rank needs more than there is.
    fn is_too_large(&self) -> bool {
        self.need[1] > self.need[3]
    }

    /// True where the need is lower than that of `other`, by more than a half percent.
    fn is_less_than(&self, other: &Self) -> bool {
        self.need[1] < 0.995 * other.need[1]
    }

    /// True where the need is that of `other`, to a half percent.
    fn is_as(&self, other: &Self) -> bool {
        (self.need[1] / other.need[1] - 1.0).abs() < 0.005
    }
}
