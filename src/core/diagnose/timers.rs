//! Timers that Megatron-LM prints with `--timing-log-level 2`: the least and the most of all ranks, parts of a step
//! without a trace. At that level they wait for the GPU, which lengthens the step itself.

use super::causes::{CauseId, FoundCause};
use super::expected::{ExpectedStep, StepShare};
use super::figures::{seconds_of_files, seconds_of_report};
use crate::message::Message;
use crate::sort::sort_by;
use crate::statics::named;
use crate::t;
use crate::units::significant;
use serde::{Deserialize, Serialize};

named! {
    /// A timer by its name in the log (Megatron-LM d98e8a64, `training.py` and `schedules.py`).
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    pub enum TimerName: name {
        /// Forward passes of all micro-batches.
        Forward = "forward-compute",
        Backward = "backward-compute",
        /// Waiting for the output of the stage before.
        ForwardRecv = "forward-recv",
        ForwardSend = "forward-send",
        /// Waiting for the gradient of the next stage.
        BackwardRecv = "backward-recv",
        BackwardSend = "backward-send",
        SendBackwardRecv = "forward-send-backward-recv",
        SendForwardRecv = "backward-send-forward-recv",
        /// The whole pipeline, forward and backward.
        Pipeline = "forward-backward",
        /// Weights from the other data-parallel ranks.
        Gather = "params-all-gather",
        /// Gradients to the other data-parallel ranks.
        Reduce = "all-grads-sync",
        Optimizer = "optimizer",
        Batch = "batch-generator",
    }
}

/// A timer: seconds of the fastest and of the slowest rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimerTimes {
    pub name: TimerName,
    pub least: f64,
    pub most: f64,
}

/// Share of the step from which a cause is named.
const LEAST: f64 = 0.02;
/// Compute of the slowest over that of the fastest rank from which the ranks count as unequal.
const UNEQUAL: f64 = 1.05;
/// The timers in which a rank waits for another stage.
const RECEIVES: [TimerName; 4] =
    [TimerName::ForwardRecv, TimerName::BackwardRecv, TimerName::SendBackwardRecv, TimerName::SendForwardRecv];

/// The causes that timers of a step of `step` seconds tell, beside what is predicted.
pub fn by_timers(timers: &[TimerTimes], step: f64, expected: Option<&ExpectedStep>) -> Vec<FoundCause> {
    let of = |name: TimerName| timers.iter().find(|timer| timer.name == name);
    let predicted =
        |share: StepShare| expected.and_then(|expected| expected.shares.get(&share)).copied().unwrap_or(0.0);
    let mut all = Vec::new();
    let mut add = |id: CauseId, seconds: f64, evidence: Message, measure: Message| {
        if seconds > LEAST * step {
            all.push(FoundCause {
                seconds: Some(seconds),
                measure: Some(measure),
                predicted_s: Some(step - seconds),
                ..FoundCause::new(id, evidence)
            });
        }
    };
    let beyond = |id: CauseId, name: TimerName, share: StepShare| {
        let timer = of(name)?;
        let (measured, predicted) = (timer.most, predicted(share));
        let evidence = t!(
            "The timer {name} says {measured} on the slowest rank; predicted {predicted}.",
            name = Message::plain(name.name()),
            measured = seconds_of_files(format!("timer {}", name.name()), measured),
            predicted = seconds_of_report(format!("share {share:?}"), predicted)
        );
        Some((id, measured - predicted, evidence))
    };
    let trace = || t!("a trace of one step: 5 min");
    let rows = [
        (beyond(CauseId::GradReduceLate, TimerName::Reduce, StepShare::ExposedDp), trace()),
        (beyond(CauseId::ParamGatherExposed, TimerName::Gather, StepShare::ExposedDp), trace()),
        (beyond(CauseId::Loader, TimerName::Batch, StepShare::Loader), t!("the same steps with mock data: 5 min")),
    ];
    for (found, measure) in rows {
        if let Some((id, seconds, evidence)) = found {
            add(id, seconds, evidence, measure);
        }
    }
    let waits: f64 = RECEIVES.into_iter().filter_map(of).map(|timer| f64::midpoint(timer.least, timer.most)).sum();
    let bubble = predicted(StepShare::Bubble);
    let evidence = t!(
        "Receives of the pipeline take {measured} on the average rank; a bubble of {predicted} is predicted.",
        measured = seconds_of_files("timers of receives", waits),
        predicted = seconds_of_report("share Bubble", bubble)
    );
    add(CauseId::Bubble, waits - bubble, evidence, t!("traces of the first and the last pipeline stage: 5 min"));
    if let (Some(forward), Some(backward)) = (of(TimerName::Forward), of(TimerName::Backward)) {
        let computes = [forward.least + backward.least, forward.most + backward.most];
        if let Some(evidence) = unequal_ranks(computes) {
            let measure = t!("operations of all ranks (Primus' dump_pp_data) tell which: 10 min");
            add(CauseId::LateRank, computes[1] - computes[0], evidence, measure);
        }
    }
    sort_by(&mut all, |a: &FoundCause, b| b.seconds.unwrap_or(0.0).total_cmp(&a.seconds.unwrap_or(0.0)));
    all
}

/// The words for ranks whose compute is from `least` to `most` seconds; none where they are about equal.
fn unequal_ranks([least, most]: [f64; 2]) -> Option<Message> {
    let times = most / least.max(f64::MIN_POSITIVE);
    (times > UNEQUAL).then(|| {
        t!(
            "The slowest rank computes {times} times as long as the fastest, {most} against {least}: a slow GPU, \
                or unequal stages.",
            times = significant(times, 3),
            most = seconds_of_files("compute of the slowest rank", most),
            least = seconds_of_files("compute of the fastest rank", least)
        )
    })
}
