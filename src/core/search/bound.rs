//! Lower bounds of a layout: true bounds, from the same stage times and wires as the report.
//!
//! Memory: the bytes of the fullest rank of each sort at an instant that the order really has. Time: the longest of the
//! ways through the pipeline that no order can shorten, then the parameters' wires and the optimizer as the report
//! counts them.

use super::facts::{Facts, RankFacts};
use super::orders::{AlikeRanks, BlockProfile, Sorts};
use super::stages::{Owned, StageTime};
use crate::memory::detailed::{self, ChunkBytes};
use crate::memory::verdict::MemoryNeed;
use crate::memory::{self, RankLoad, Verdict};
use crate::pipeline::steady::slowest_cycle;
use crate::run::{Method, Scenario, Schedule, StageKinds};
use crate::time::{Rates, loader_floor, step_end, with_loader};
use crate::traffic::{HeldParameters, step_sync};
use crate::units::{Bytes, Seconds};

/// Sums of the report run in another order: a bound gives way by this share.
const ROUNDING: f64 = 1e-9;

/// A pipeline's stage times, added up from its front.
#[derive(Clone, Debug, Default)]
pub struct Path<'a> {
    kinds: &'a [usize],
    times: Vec<StageTime>,
    /// Forwards, input gradients and whole backwards, summed over the stages before each stage; last, over all:
    /// seconds.
    before: Vec<[f64; 3]>,
    /// Seconds of a message.
    send: f64,
}

impl<'a> Path<'a> {
    /// The path through stages of `kinds` that take `times`.
    pub fn new(kinds: &'a StageKinds, times: Vec<StageTime>) -> Self {
        let mut before = Vec::with_capacity(kinds.of.len() + 1);
        let mut sums = [0.0; 3];
        before.push(sums);
        for kind in &kinds.of {
            let time = &times[*kind];
            sums[0] += time.forward;
            sums[1] += time.backward_input;
            sums[2] += time.backward();
            before.push(sums);
        }
        Self { kinds: &kinds.of, send: times.iter().map(|time| time.send).fold(0.0, f64::max), times, before }
    }

    fn stage(&self, stage: usize) -> &StageTime {
        &self.times[self.kinds[stage]]
    }

    /// Seconds that the ops of a rank take.
    fn busy(&self, rank: &RankFacts, step: &Microbatches) -> f64 {
        let parts = rank.stages.iter().zip(&rank.work);
        parts
            .map(|(stage, [forward, input, weight])| {
                let time = self.stage(*stage);
                let once = forward * time.forward + input * time.backward_input + weight * time.backward_weight;
                // A stage that runs only some of them may have the short ones.
                once * if *forward > step.count - 0.5 { step.mean } else { step.shortest }
            })
            .sum()
    }

    /// Seconds until a rank can start, and from its end to the last.
    fn outside(&self, facts: &Facts, rank: &RankFacts) -> f64 {
        let way = |seconds: f64, stage: usize| (seconds + facts.hops[stage] * self.send) / facts.pieces;
        let back = rank.last.map_or(0.0, |(stage, whole)| way(self.before[stage][1 + usize::from(whole)], stage));
        way(self.before[rank.first][0], rank.first) + back
    }

    /// The least makespan: every rank's work between the way to it and the way back.
    fn makespan(&self, facts: &Facts, schedule: Schedule, step: &Microbatches) -> f64 {
        let ranks = facts.ranks.iter();
        let work = ranks.map(|rank| step.shortest * self.outside(facts, rank) + self.busy(rank, step));
        let least = work.fold(0.0, f64::max);
        match schedule {
            Schedule::OneFOneB => least.max(step.shortest * self.round_trips(step.count)),
            Schedule::Gpipe => least.max(step.shortest * self.flush(step.count)),
            Schedule::Pipedream | Schedule::Pipedream2bw => step.shortest * self.steady(step.count),
            _ => least,
        }
    }

    /// 1F1B: forward i + p - r of rank r waits for backward i, which took a trip to the last rank and back:
    /// `C = Σ_{j>=r} T_j + 2 (p - 1 - r) l`. After k trips the other micro-batches still run.
    fn round_trips(&self, microbatches: f64) -> f64 {
        let p = self.kinds.len();
        let trip = |r: usize| {
            let (ahead, l) = ((p - r) as f64, self.send);
            let whole = |way: usize| self.before[p][way] - self.before[r][way];
            let once = whole(0) + whole(2) + 2.0 * (ahead - 1.0) * l;
            let trips = ((microbatches - 1.0) / ahead).floor();
            let left = microbatches - trips * ahead;
            let time = self.stage(r);
            let one = time.forward + time.backward();
            let rest = (left * one).max(once + (left - 1.0) * time.backward());
            let outside = self.before[r][0] + self.before[r][2] + 2.0 * r as f64 * l;
            outside + trips * once + rest
        };
        (0..p).map(trip).fold(0.0, f64::max)
    }

    /// `PipeDream` never drains: the slowest cycle of ranks and messages sets the pace.
    fn steady(&self, microbatches: f64) -> f64 {
        let stage = |kind: &usize| self.times[*kind].forward + self.times[*kind].backward();
        let totals: Vec<f64> = self.kinds.iter().map(stage).collect();
        microbatches * slowest_cycle(&totals, self.send).seconds
    }

    /// `GPipe`: a flow shop forward, then one backward: `Σ F + (m - 1) max F` and the same of the backwards.
    fn flush(&self, microbatches: f64) -> f64 {
        let p = self.kinds.len();
        let slowest = |part: fn(&StageTime) -> f64| self.times.iter().map(part).fold(0.0, f64::max);
        let phase = |sum: f64, longest: f64| sum + (microbatches - 1.0) * longest + (p as f64 - 1.0) * self.send;
        phase(self.before[p][0], slowest(|time| time.forward)) + phase(self.before[p][2], slowest(StageTime::backward))
    }
}

/// The micro-batches of a rank's step.
struct Microbatches {
    count: f64,
    /// The length of the shortest and of the mean one over the usual; at most the usual where a message, which has no
    /// length, may weigh most.
    shortest: f64,
    mean: f64,
}

impl Microbatches {
    fn of(scenario: &Scenario) -> Self {
        let (run, count) = (&scenario.run, scenario.layout.microbatches as f64);
        let lengths = run.microbatch_lengths.as_ref();
        let shortest = lengths.and_then(|lengths| lengths.iter().min());
        let usual = run.seq_len as f64 * run.micro_batch as f64;
        let shortest = shortest.map_or(1.0, |tokens| (*tokens as f64 / usual).min(1.0));
        let drawn = scenario.samples.is_some();
        Self {
            count,
            shortest: if drawn { scenario.usual_microbatches() / count } else { shortest },
            mean: scenario.usual_microbatches() / count,
        }
    }
}

/// True if the weights and states of ranks that hold `owned` alone need more memory than there is.
pub(crate) fn states_run_out(scenario: &Scenario, owned: &[Owned]) -> bool {
    scenario.run.memory_method == Method::Detailed
        && owned.iter().any(|owned| {
            let needed = detailed::needed(scenario, owned.bytes, std::iter::empty());
            MemoryNeed::of(scenario, needed * (1.0 - ROUNDING)).verdict(scenario.gpu.usable) == Verdict::Oom
        })
}

/// The least step time of layouts whose stages take at least `times`, seconds: some rank has the mean of the work.
pub(crate) fn even_time(scenario: &Scenario, kinds: &StageKinds, times: &[StageTime]) -> f64 {
    let stage_times = kinds.of.iter().map(|kind| &times[*kind]);
    let work: f64 = stage_times.map(|time| time.forward + time.backward()).sum();
    let busy = scenario.usual_microbatches() * work / scenario.layout.pp as f64;
    with_loader(Seconds(busy), loader_floor(scenario)).0 * (1.0 - ROUNDING)
}

/// Memory of a layout's fullest rank at least, and the best verdict that it allows.
pub(crate) enum PeakBound {
    /// No more than there is.
    Listed {
        bytes: f64,
        /// The verdict "fits" is possible.
        may_fit: bool,
    },
    /// More than there is; the verdict "tight" is possible.
    Near,
    Out,
}

impl PeakBound {
    fn of(bytes: f64, capacity: f64, verdict: Verdict) -> Self {
        match verdict {
            Verdict::Oom => Self::Out,
            _ if bytes > capacity => Self::Near,
            _ => Self::Listed { bytes, may_fit: verdict == Verdict::Fits },
        }
    }
}

/// A layout with what it shares with others.
pub struct BoundedLayout<'a> {
    pub scenario: &'a Scenario,
    pub kinds: &'a StageKinds,
    pub sorts: &'a Sorts,
    pub profile: &'a BlockProfile,
    /// Parameters of each sort of its ranks.
    pub owned: &'a [Owned],
}

impl BoundedLayout<'_> {
    /// The least step time on `path`, seconds.
    pub fn time(&self, path: &Path, rates: &Rates) -> f64 {
        let (scenario, facts) = (self.scenario, &self.profile.facts);
        let run = &scenario.run;
        let makespan = path.makespan(facts, run.schedule, &Microbatches::of(scenario));
        let (mut exposed, mut end) = (0.0f64, 0.0f64);
        for (sort, owned) in self.sorts.list.iter().zip(self.owned) {
            let (one, last) = self.parameters(path, rates, sort, owned.trained);
            exposed = exposed.max(one);
            end = end.max(last);
        }
        // The host's part of the update is not counted.
        let offloaded = scenario.offload.map_or(0.0, |offload| offload.states());
        let busy = Seconds(makespan + exposed + end * (1.0 - offloaded));
        with_loader(busy, loader_floor(scenario)).0 * (1.0 - ROUNDING)
    }

    /// Exposed time of a rank's parameters, and its optimizer, as the report counts them.
    fn parameters(&self, path: &Path, rates: &Rates, sort: &AlikeRanks, held: HeldParameters) -> (f64, f64) {
        let scenario = self.scenario;
        let (mut forward, mut backward) = (0.0, 0.0);
        for stage in &sort.stages {
            let windows = path.stage(*stage).windows;
            forward += windows[0];
            backward += windows[1];
        }
        let sync = step_sync(scenario, held, Seconds(forward), Seconds(backward));
        (sync.exposed().0, step_end(scenario, rates, &sort.stages, held.updated(scenario)))
    }

    /// Memory of its fullest rank where chunks of each kind of stage take `bytes`.
    pub(crate) fn peak(&self, bytes: &[ChunkBytes]) -> PeakBound {
        if self.scenario.run.memory_method != Method::Detailed {
            return self.estimated_peak(bytes);
        }
        let sorts = self.sorts.list.iter().zip(&self.profile.alive);
        let needed = sorts.zip(self.owned).map(|((sort, alive), owned)| {
            let alive = heaviest(bytes, &sort.kinds, alive);
            let chunks = sort.kinds.iter().map(|kind| bytes[*kind]);
            let chunks = chunks.zip(alive.iter().copied());
            detailed::needed(self.scenario, owned.bytes, chunks).0
        });
        let peak = needed.fold(0.0, f64::max) * (1.0 - ROUNDING);
        let usable = self.scenario.gpu.usable;
        PeakBound::of(peak, usable.0, MemoryNeed::of(self.scenario, Bytes(peak)).verdict(usable))
    }

    /// Memory of the fullest rank by a method other than [`Method::Detailed`], which estimates ranks as a whole.
    fn estimated_peak(&self, bytes: &[ChunkBytes]) -> PeakBound {
        let facts = &self.profile.facts;
        let load = |rank: &RankFacts| {
            let kinds: Vec<usize> = rank.stages.iter().map(|s| self.kinds.of[*s]).collect();
            RankLoad {
                stages: rank.stages.clone(),
                in_flight: heaviest(bytes, &kinds, &rank.alive).to_vec(),
                weight_versions: rank.versions,
            }
        };
        let loads: Vec<RankLoad> = facts.ranks.iter().map(load).collect();
        let estimate = memory::estimate(self.scenario, &loads);
        PeakBound::of(estimate.peak().1.0, estimate.capacity.0, estimate.verdict())
    }
}

/// The instant of `alive` at which chunks of `kinds` weigh most, as the report finds it.
fn heaviest<'a>(bytes: &[ChunkBytes], kinds: &[usize], alive: &'a [Vec<f64>]) -> &'a [f64] {
    if let [only] = alive {
        return only;
    }
    let weight = |alive: &[f64]| -> f64 {
        let pairs = alive.iter().zip(kinds);
        pairs
            .map(|(count, kind)| {
                let chunk = &bytes[*kind];
                let head = chunk.head.map_or(0.0, |head| head.held + head.inputs);
                count * (chunk.layers + head)
            })
            .sum()
    };
    let mut most: (f64, &[f64]) = (-1.0, &[]);
    for alive in alive {
        let weight = weight(alive);
        if weight > most.0 {
            most = (weight, alive);
        }
    }
    most.1
}
