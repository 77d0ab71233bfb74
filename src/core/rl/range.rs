//! How far a predicted step may be off, by the runs of its framework that were measured, and what is not said at all.

use crate::message::Message;
use crate::run::PhasesBy;
use crate::t;

/// Measured over predicted, low and high, of a step of this framework.
///
/// Steps of models that a fit had left out, of those in `tests/data/rl_steps.csv` (`tests/time/rl.rs`): NeMo-RL 20 of
/// 24, verl 2 of 2 are inside. Others: no step was found, the range is stated, not measured.
pub fn range_of_framework(framework: Option<PhasesBy>) -> [f64; 2] {
    match framework {
        Some(PhasesBy::NemoRl) => [0.70, 1.40],
        Some(PhasesBy::Verl) => [0.65, 1.60],
        _ => [0.5, 2.0],
    }
}

/// Range of a part that the user's log has measured: one layout in three releases of NeMo-RL differs by 15 %.
pub const MEASURED: [f64; 2] = [0.87, 1.15];

/// Factor between two predicted steps below which neither is called the faster: the range of a step.
pub const TOLD_APART: f64 = 1.4;

/// Reasons why a range may be wider than the measured one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WideningCause {
    /// No step of the framework was measured, or none is named.
    Framework,
    /// An engine on GPUs of several nodes.
    Nodes,
    /// Few responses fit at once.
    Cache,
    /// No CUDA graphs.
    Eager,
    /// Over-sampling or filtered prompts.
    Filter,
    /// Tools between turns.
    Tools,
    /// The spread of the lengths is the default, and the limit does not bind.
    Spread,
    /// Responses longer than the packed sequences.
    Packing,
    /// verl's asynchronous steps took 1.4 to 1.5 times what is predicted.
    VerlStream,
}

impl WideningCause {
    /// The field that it is about, and its words.
    pub fn says(self) -> (&'static str, Message) {
        match self {
            Self::Framework => (
                "phases.framework",
                t!("no step of this framework was measured: the range of 0.5 to 2 is stated, not measured"),
            ),
            Self::Nodes => (
                "rl.rollout_tp",
                t!("an engine over several nodes: predicted steps of such engines were up to 45 % too long"),
            ),
            Self::Cache => (
                "rl.memory_share",
                t!("few responses fit at once: a share that is lower by 0.1 may make the step several times as long"),
            ),
            Self::Eager => {
                ("rl.eager", t!("the time of an engine without graphs is a guess: 3 to 5 times the launches"))
            }
            Self::Filter => ("rl.filtered", t!("no step with filtered prompts or over-sampling was measured")),
            Self::Tools => {
                ("rl.turns", t!("no step with tools between turns was measured; their time is as you give it"))
            }
            Self::Spread => (
                "rl.response_tokens.sigma",
                t!("no response reaches the limit with the assumed spread of 0.6: a log's longest response would tell"),
            ),
            Self::Packing => (
                "seq_len",
                t!("a response with its prompt is longer than the packed sequence: training counts its tokens alone"),
            ),
            Self::VerlStream => (
                "rl.staleness",
                t!("verl's asynchronous steps took 1.4 to 1.5 times what is predicted: aborted responses are read \
                        again, and its validation is not counted"),
            ),
        }
    }
}

/// Key of a request, and the sentence that answers it.
pub type NotStated = (&'static str, fn() -> Message);

/// Keys of a request that ask what no setting tells, and what is answered.
pub const NOT_SAID: &[NotStated] = &[
    ("steps_to_reward", no_learning),
    ("convergence", no_learning),
    ("sample_efficiency", no_learning),
    ("reward", no_learning),
    ("staleness_hurts", no_learning),
    ("length_growth", no_growth),
    ("response_growth", no_growth),
    ("filter_share", no_filter),
    ("tool_time", no_tools),
];

fn no_learning() -> Message {
    t!("what a model learns in a step follows from no layout: the time of a step is predicted, not the steps to a \
            reward")
}

fn no_growth() -> Message {
    t!("how responses grow while a model learns is not predicted: ask again with the mean response of later")
}

fn no_filter() -> Message {
    t!("the share of filtered prompts follows from no setting: give it from a log as rl.filtered")
}

fn no_tools() -> Message {
    t!("the time of tools and sandboxes follows from no setting: give yours as rl.tool_s or rl.verifier_s")
}
