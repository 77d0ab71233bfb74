//! Patterns in the times of steps: what a log alone is consistent with.

use super::causes::{CauseId, FoundCause};
use super::figures::{of_files, seconds_of_files, share_of_files};
use crate::message::{Message, verbatim};
use crate::sort::median;
use crate::statics::named;
use crate::t;
use crate::units::show_off;
use serde::{Deserialize, Serialize};

named! {
    /// The shape of a series of step times.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SeriesPattern: name {
        /// Spikes at equal distances.
        Periodic = "periodic_spikes",
        /// Spikes without a period: at unequal distances, or two of them, whose one distance tells none.
        Irregular = "irregular_spikes",
        Growing = "growing_spikes",
        Drift = "drift",
        Jump = "jump",
        Noisy = "noisy",
        Flat = "flat",
    }
}

/// A series of step times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepSeries {
    pub steps: u64,
    /// Seconds.
    pub median_s: f64,
    /// Robust standard deviation over the median.
    pub spread: f64,
    pub spikes: u64,
    /// Seconds of a spike over the median.
    pub spike_s: f64,
    /// Steps between spikes, where that is regular.
    pub period: Option<f64>,
    /// Share of all time that the spikes are.
    pub lost: f64,
    /// Mean of the steps, spikes included, seconds.
    pub mean_s: f64,
    pub pattern: SeriesPattern,
    /// Seconds of the steps in order, each the longest of as many; all steps of a short series.
    pub points: Vec<f64>,
    /// The number that the log gives the first step of each point; empty where it numbers none.
    pub numbers: Vec<u64>,
    /// Change from the first third to the last, without spikes.
    pub drift: f64,
    /// The longest step without those at the start, seconds.
    pub longest_s: f64,
}

/// Points that are kept.
const POINTS: usize = 400;

/// Fewer steps tell no pattern.
const LEAST: usize = 6;
/// Steps at the start, as a share, that are left out.
const WARM: usize = 20;

/// The median; 0 for none.
pub(super) fn middle_of(values: &[f64]) -> f64 {
    median(values).unwrap_or(0.0)
}

/// A cause that the steps of a log exclude.
#[derive(Clone, Debug, PartialEq)]
pub struct RuledOut {
    /// None of what is no cause of [`CauseId`].
    pub id: Option<CauseId>,
    pub name: Message,
    pub why: Message,
    /// The figure that excludes it.
    pub figure: Message,
}

impl StepSeries {
    /// The pattern of `seconds`, in the order of the steps; none for a few.
    pub fn of(seconds: &[f64]) -> Option<Self> {
        if seconds.len() < LEAST {
            return None;
        }
        let from = seconds.len() / WARM;
        // A first step that compiles is none of the rest.
        let from = if from == 0 && seconds[0] > 1.5 * middle_of(seconds) { 1 } else { from };
        let rest = &seconds[from..];
        let middle = middle_of(rest);
        let away: Vec<f64> = rest.iter().map(|value| (value - middle).abs()).collect();
        let mad = middle_of(&away);
        let limit = middle + (6.0 * mad).max(0.25 * middle);
        let spikes: Vec<(usize, f64)> = rest.iter().copied().enumerate().filter(|(_, value)| *value > limit).collect();
        let heights: Vec<f64> = spikes.iter().map(|(_, value)| value - middle).collect();
        let intervals: Vec<f64> = spikes.windows(2).map(|pair| (pair[1].0 - pair[0].0) as f64).collect();
        let mean = intervals.iter().sum::<f64>() / intervals.len().max(1) as f64;
        let regular = intervals.len() > 1 && intervals.iter().all(|gap| (gap / mean - 1.0).abs() < 0.1);
        let third = (rest.len() / 3).max(1);
        let without: Vec<f64> = rest.iter().copied().filter(|value| *value <= limit).collect();
        let third = third.min(without.len().max(1));
        let ends = without.get(..third).zip(without.get(without.len().saturating_sub(third)..));
        let drift = ends.map_or(0.0, |(first, last)| middle_of(last) / middle_of(first).max(f64::MIN_POSITIVE) - 1.0);
        let spread = 1.48 * mad / middle;
        let growing = heights.len() > 3 && heights.windows(2).all(|pair| pair[1] > pair[0] * 1.02);
        let pattern = match () {
            () if growing => SeriesPattern::Growing,
            () if regular => SeriesPattern::Periodic,
            () if spikes.len() > 1 => SeriesPattern::Irregular,
            () if drift > 0.05 && is_step(&without) => SeriesPattern::Jump,
            () if drift > 0.05 => SeriesPattern::Drift,
            () if spread > 0.03 => SeriesPattern::Noisy,
            () => SeriesPattern::Flat,
        };
        let all: f64 = rest.iter().sum();
        Some(Self {
            steps: rest.len() as u64,
            median_s: middle,
            spread,
            spikes: spikes.len() as u64,
            spike_s: middle_of(&heights),
            period: regular.then_some(mean),
            lost: heights.iter().sum::<f64>() / all,
            mean_s: all / rest.len() as f64,
            pattern,
            points: points(seconds),
            numbers: Vec::new(),
            drift,
            longest_s: rest.iter().copied().fold(0.0, f64::max),
        })
    }

    /// The series with the `numbers` that the log gives its steps: a log that prints every tenth step has a period of
    /// ten times as many steps as lines. Numbers of another count of steps, or that do not grow, are none.
    #[must_use]
    pub fn numbered(mut self, numbers: &[u64]) -> Self {
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else {
            return self;
        };
        let each = numbers.len().div_ceil(POINTS).max(1);
        let grows = numbers.windows(2).all(|pair| pair[0] < pair[1]);
        if !grows || numbers.len().div_ceil(each) != self.points.len() || numbers.len() < 2 {
            return self;
        }
        self.numbers = numbers.iter().step_by(each).copied().collect();
        let stride = (last - first) as f64 / (numbers.len() - 1) as f64;
        self.period = self.period.map(|lines| lines * stride);
        self
    }

    /// The causes that the steps exclude. A cause that lengthens every step by as much is none of them.
    pub(super) fn ruled_out(&self) -> Vec<RuledOut> {
        let mut list = Vec::new();
        let steps = verbatim(self.steps.to_string());
        let of = |id: CauseId, why, figure| RuledOut { id: Some(id), name: id.title(), why, figure };
        if self.spikes == 0 {
            list.push(of(CauseId::Checkpoint, t!("no spikes at regular steps"), t!("the last {steps} steps", steps)));
            list.push(of(
                CauseId::HostPause,
                t!("no step over {longest}", longest = seconds_of_files("longest step", self.longest_s)),
                of_files("longest step over the median", show_off(self.longest_s / self.median_s - 1.0, 1)),
            ));
        }
        if !matches!(self.pattern, SeriesPattern::Drift | SeriesPattern::Jump) && self.drift.abs() < 0.05 {
            list.push(RuledOut {
                id: None,
                name: t!("A GPU that becomes hot, a job that begins beside"),
                why: t!("no drift, no jump; a GPU that is slow from the first step on would be as flat"),
                figure: of_files("drift", show_off(self.drift, 1)),
            });
        }
        if self.spread < 0.03 {
            let spread = share_of_files("scatter", self.spread);
            list.push(of(CauseId::UnequalLengths, t!("steps scatter by less than 3 %"), spread));
        }
        list
    }

    /// The mean step with and without the spikes, in words.
    fn without_spikes(&self) -> Message {
        t!(
            "Without the spikes the mean step would take {without} instead of {mean}.",
            without = seconds_of_files("mean step without spikes", self.mean_s * (1.0 - self.lost)),
            mean = seconds_of_files("mean step", self.mean_s)
        )
    }

    /// What spikes without a period are consistent with; the one distance of two excludes no period.
    fn irregular(&self) -> Vec<(CauseId, Message, Message)> {
        let height = seconds_of_files("height of a spike", self.spike_s);
        let collector = if self.spikes > 2 {
            t!(
                "Consistent with Python's garbage collector: {count} spikes of {height} over the median, at irregular \
                    distances.",
                count = self.spikes,
                height
            )
        } else {
            t!(
                "Consistent with Python's garbage collector: {count} spikes of {height} over the median; one distance \
                    tells no period.",
                count = self.spikes,
                height
            )
        };
        let mut list = vec![
            (
                CauseId::HostPause,
                Message::joined(" ", [collector, self.without_spikes()]),
                t!("gc.disable() and one collection every 100 steps: 5 min"),
            ),
            (
                CauseId::Loader,
                t!("Consistent with a data loader that stalls."),
                t!("the same steps with mock data: 5 min"),
            ),
        ];
        if self.spikes < 3 {
            list.push((
                CauseId::Checkpoint,
                t!("Consistent with saving, evaluation or logging, if the next spike comes after as many steps."),
                t!("compare the distance with the intervals of saving and evaluation: 1 min"),
            ));
        }
        list
    }

    /// The causes that the pattern is consistent with, each with the measurement that tells whether it is the cause.
    /// They have no seconds, since a log does not divide a step.
    pub fn causes(&self) -> Vec<FoundCause> {
        let list: Vec<(CauseId, Message, Message)> = match self.pattern {
            SeriesPattern::Periodic => vec![
                (
                    CauseId::Checkpoint,
                    Message::joined(
                        " ",
                        [
                            t!(
                                "Consistent with saving, evaluation or logging every {period} steps.",
                                period = crate::units::fixed(self.period.unwrap_or(0.0), 0)
                            ),
                            self.without_spikes(),
                        ],
                    ),
                    t!("compare the period with the intervals of saving and evaluation: 1 min"),
                ),
                (
                    CauseId::Loader,
                    t!("Consistent with a data shard or a worker that is loaded anew."),
                    t!("compare the period with the number of workers: 1 min"),
                ),
            ],
            SeriesPattern::Irregular => self.irregular(),
            SeriesPattern::Growing => vec![(
                CauseId::Fragmentation,
                t!("Consistent with memory near its limit: allocations are tried again."),
                t!("look for lines of memory allocation retries: 1 min"),
            )],
            SeriesPattern::Drift => vec![(
                CauseId::RetainedGraph,
                t!("Consistent with longer samples, routing that drifts, memory near full or a hot machine."),
                t!("the step against tokens and memory: 5 min"),
            )],
            SeriesPattern::Jump => vec![(
                CauseId::SlowKernels,
                t!("Consistent with another job on the node, a throttled GPU or a link that fell back."),
                t!("clocks of every GPU (nvidia-smi -q -d PERFORMANCE): 1 min"),
            )],
            SeriesPattern::Noisy => vec![(
                CauseId::UnequalLengths,
                t!(
                    "Consistent with unequal lengths, routing or a shared network: steps scatter by {spread}.",
                    spread = share_of_files("scatter", self.spread)
                ),
                t!("the same batch twice: 5 min"),
            )],
            SeriesPattern::Flat => Vec::new(),
        };
        let causes = list.into_iter().map(|(id, evidence, measure)| FoundCause {
            change: Some(change_of(id)),
            measure: Some(measure),
            ..FoundCause::new(id, evidence)
        });
        causes.collect()
    }
}

/// What removes a cause that a series of steps is consistent with; no field of a Run does.
fn change_of(id: CauseId) -> Message {
    match id {
        CauseId::Checkpoint => t!("asynchronous saves, or fewer saves and evaluations"),
        CauseId::HostPause => t!("gc.disable(), and one collection every so many steps on all ranks at once"),
        CauseId::Loader => t!("more workers, prefetching, data that is prepared before"),
        CauseId::Fragmentation => {
            t!("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (PYTORCH_ALLOC_CONF from 2.9 on), or equal shapes")
        }
        CauseId::RetainedGraph => t!("detach what is kept of a step, .item() of sums"),
        CauseId::UnequalLengths => t!("cut, pack or sort the samples"),
        _ => t!("no setting: look at the GPUs and their node"),
    }
}

/// At most 400 points of a series.
fn points(seconds: &[f64]) -> Vec<f64> {
    let each = seconds.len().div_ceil(POINTS).max(1);
    seconds.chunks(each).map(|part| part.iter().copied().fold(0.0, f64::max)).collect()
}

/// True where the series changes its level once: the halves at the best cut are flat.
fn is_step(values: &[f64]) -> bool {
    let spread = |part: &[f64]| {
        let middle = middle_of(part);
        part.iter().map(|value| (value / middle - 1.0).abs()).sum::<f64>() / part.len().max(1) as f64
    };
    let whole = spread(values);
    (2..values.len().saturating_sub(1)).any(|cut| {
        let (first, second) = values.split_at(cut);
        spread(first).max(spread(second)) < 0.2 * whole
    })
}
