//! The memory of one rank over one step: what the simulated schedule keeps alive at every instant, and why the fullest
//! instant is the fullest.
//!
//! By the detailed method, whose peak is this curve's peak; the published methods know no time. Weights, gradients,
//! optimizer states and what the allocator and the driver keep are there all along; activations come and go with the
//! ops of the timeline, chunk by chunk with their own bytes; transients stand on top while a backward op runs.

use super::Evaluation;
use crate::memory::{self, Component, StageMemory, detailed};
use crate::pipeline::{Kind, TimedOp};
use crate::units::{Bytes, Seconds};

/// Buffers that stay for the whole step; every other one but the head's exists while a backward op runs.
const HELD: [&str; 5] = [
    "dummy weight gradients",
    "p2p double buffers",
    "gathered weights of the stage",
    "gathered embedding and head",
    "gradients waiting for the last micro-batch",
];
/// Buffers that come and go with the activations of the last stage.
const OF_THE_HEAD: [&str; 2] = ["logits", "inputs of the head"];

/// From one change to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instant {
    /// When it begins.
    pub time: Seconds,
    /// Activations that layers keep.
    pub activations: Bytes,
    /// Logits and inputs of the head.
    pub head: Bytes,
    /// Whether a backward op runs.
    pub backward: bool,
    /// The op that began last, by its index in the rank's timeline; none before the first.
    pub op: Option<usize>,
}

/// Activations of one chunk that are alive together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alive {
    /// Global stage.
    pub stage: usize,
    /// Its layers.
    pub layers: u64,
    /// Micro-batches of it, splits as their fraction.
    pub microbatches: f64,
    /// What they keep, the head's share included.
    pub bytes: Bytes,
}

/// One rank over one step.
#[derive(Clone, Debug, PartialEq)]
pub struct OverTime {
    /// Pipeline rank.
    pub rank: usize,
    /// End of the last rank's last op.
    pub makespan: Seconds,
    /// Every change, in order of time; the first at 0.
    pub instants: Vec<Instant>,
    /// Index of the fullest instant, the first of equals.
    pub peak: usize,
    /// What is alive then.
    pub alive: Vec<Alive>,
    /// The op that began last then.
    pub op: Option<TimedOp>,
    /// What stays for the whole step.
    steady: StageMemory,
    /// Buffers that exist while a backward op runs, with their names.
    pub momentary: Vec<(String, Bytes)>,
}

impl OverTime {
    /// The six components at an instant, in the order of the bars.
    #[must_use]
    pub fn components(&self, instant: &Instant) -> [Bytes; 6] {
        let steady = &self.steady;
        let mut buffers = steady.buffers + instant.head;
        if instant.backward {
            buffers += self.transients();
        }
        [
            steady.weights,
            steady.gradients,
            steady.optimizer,
            instant.activations,
            buffers,
            steady.overhead,
        ]
    }

    /// All of it at an instant.
    #[must_use]
    pub fn total(&self, instant: &Instant) -> Bytes {
        self.components(instant).into_iter().sum()
    }

    /// The fullest instant.
    #[must_use]
    pub fn fullest(&self) -> Instant {
        self.instants.get(self.peak).copied().unwrap_or(EMPTY)
    }

    /// The instant at `time`.
    #[must_use]
    pub fn at(&self, time: Seconds) -> Instant {
        let after = self.instants.partition_point(|one| one.time.0 <= time.0);
        let at = after.saturating_sub(1);
        self.instants.get(at).copied().unwrap_or(EMPTY)
    }

    /// What a backward op needs for a moment.
    #[must_use]
    pub fn transients(&self) -> Bytes {
        self.momentary.iter().map(|(_, bytes)| *bytes).sum()
    }
}

const EMPTY: Instant = Instant {
    time: Seconds(0.0),
    activations: Bytes(0.0),
    head: Bytes(0.0),
    backward: false,
    op: None,
};

/// The memory of pipeline rank `rank` over the step of `evaluation`; none where there is no such rank.
#[must_use]
pub fn over_time(evaluation: &Evaluation, rank: usize) -> Option<OverTime> {
    let scenario = &evaluation.scenario;
    let ops = evaluation.timeline.ranks.get(rank)?;
    let load = evaluation.loads.get(rank)?;
    let chunks = Chunks::of(evaluation, &load.stages);
    let mut at_peak = detailed::estimate(scenario, &evaluation.loads).per_stage;
    if rank >= at_peak.len() {
        return None;
    }
    let (steady, momentary) = steady(at_peak.swap_remove(rank));
    let mut curve = OverTime {
        rank,
        makespan: Seconds(evaluation.timeline.makespan()),
        instants: Vec::with_capacity(2 * ops.len() + 1),
        peak: 0,
        alive: Vec::new(),
        op: None,
        steady,
        momentary,
    };
    let mut most = (Bytes::ZERO, vec![0; load.stages.len()]);
    let mut alive = vec![0u32; load.stages.len()];
    let mut running = Running::default();
    for change in changes(ops) {
        change.apply(ops, &chunks, &mut alive, &mut running);
        let [activations, head] = chunks.bytes(&alive);
        let instant = Instant {
            time: Seconds(change.time),
            activations,
            head,
            backward: running.backwards > 0,
            op: running.last,
        };
        // Changes of one time are one instant.
        match curve.instants.last_mut() {
            Some(last) if last.time.0.total_cmp(&change.time).is_eq() => *last = instant,
            _ => curve.instants.push(instant),
        }
        let total = curve.total(&instant);
        if total.0 > most.0.0 * (1.0 + 1e-12) {
            most = (total, alive.clone());
            curve.peak = curve.instants.len() - 1;
        }
    }
    if curve
        .instants
        .first()
        .is_none_or(|first| first.time.0 > 0.0)
    {
        curve.instants.insert(0, EMPTY);
        curve.peak += usize::from(curve.instants.len() > 1);
    }
    curve.op = curve.fullest().op.and_then(|at| ops.get(at)).copied();
    curve.alive = chunks.alive(&most.1, &load.stages, &scenario.stage_layers);
    Some(curve)
}

/// What stays of a rank's memory, and the buffers that do not.
fn steady(at_peak: StageMemory) -> (StageMemory, Vec<(String, Bytes)>) {
    let (stage, in_flight) = (at_peak.stage, at_peak.in_flight);
    let mut momentary = Vec::new();
    let mut stays = Vec::new();
    for item in at_peak.items {
        let name = item.name.as_str();
        match item.component {
            Component::Activations => {}
            Component::Buffers if OF_THE_HEAD.contains(&name) => {}
            Component::Buffers if !HELD.contains(&name) => momentary.push((item.name, item.bytes)),
            _ => stays.push(item),
        }
    }
    (StageMemory::of_items(stage, in_flight, stays), momentary)
}

/// Bytes of one unit (a micro-batch or a split of it) of every chunk of the rank.
struct Chunks<'a> {
    stages: &'a [usize],
    /// Layers and head.
    unit: Vec<[Bytes; 2]>,
    splits: f64,
}

impl<'a> Chunks<'a> {
    fn of(evaluation: &Evaluation, stages: &'a [usize]) -> Self {
        let splits = f64::from(evaluation.order.splits.max(1));
        let unit = stages.iter().map(|stage| {
            memory::chunk_activation_parts(&evaluation.scenario, *stage)
                .map(|bytes| bytes * (1.0 / splits))
        });
        Self {
            stages,
            unit: unit.collect(),
            splits,
        }
    }
    fn slot(&self, stage: u32) -> Option<usize> {
        self.stages.iter().position(|held| *held == stage as usize)
    }
    fn bytes(&self, alive: &[u32]) -> [Bytes; 2] {
        let mut sum = [Bytes::ZERO; 2];
        for (count, unit) in alive.iter().zip(&self.unit) {
            for (sum, bytes) in sum.iter_mut().zip(unit) {
                *sum += *bytes * f64::from(*count);
            }
        }
        sum
    }
    fn alive(&self, counts: &[u32], stages: &[usize], layers: &[u64]) -> Vec<Alive> {
        counts
            .iter()
            .zip(stages)
            .zip(&self.unit)
            .filter(|((count, _), _)| **count > 0)
            .map(|((count, stage), [layer, head])| Alive {
                stage: *stage,
                layers: layers.get(*stage).copied().unwrap_or(0),
                microbatches: f64::from(*count) / self.splits,
                bytes: (*layer + *head) * f64::from(*count),
            })
            .collect()
    }
}

/// What runs.
#[derive(Default)]
struct Running {
    backwards: u32,
    last: Option<usize>,
}

/// An op begins or ends.
struct Change {
    time: f64,
    begins: bool,
    op: usize,
}

/// Begins and ends in order of time: what ends when another begins is freed first.
fn changes(ops: &[TimedOp]) -> Vec<Change> {
    let mut changes: Vec<Change> = ops
        .iter()
        .enumerate()
        .flat_map(|(op, timed)| {
            [(timed.start, true), (timed.end, false)].map(|(time, begins)| Change {
                time,
                begins,
                op,
            })
        })
        .collect();
    changes.sort_by(|a, b| a.time.total_cmp(&b.time).then(a.begins.cmp(&b.begins)));
    changes
}

impl Change {
    fn apply(&self, ops: &[TimedOp], chunks: &Chunks, alive: &mut [u32], running: &mut Running) {
        let op = ops[self.op].op;
        let backward = op.kind != Kind::F;
        let held = chunks.slot(op.stage).and_then(|slot| alive.get_mut(slot));
        if self.begins {
            running.last = Some(self.op);
            running.backwards += u32::from(backward);
        } else {
            running.backwards -= u32::from(backward);
        }
        match held {
            Some(count) if self.begins && op.kind == Kind::F => *count += 1,
            Some(count) if !self.begins && op.kind.frees() => *count = count.saturating_sub(1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::evaluate;
    use crate::run::{Run, Schedule};

    fn curve(run: &Run, rank: usize) -> OverTime {
        over_time(&evaluate(run).unwrap(), rank).unwrap()
    }

    /// Narayanan 2021, section 2.2.1: rank r of 1F1B holds p - r micro-batches.
    #[test]
    fn one_f_one_b_peaks_with_p_minus_r_microbatches_alive() {
        for rank in 0..4 {
            let curve = curve(&Run::default(), rank);
            assert_eq!(curve.alive.len(), 1);
            let alive = curve.alive[0];
            assert_eq!((alive.stage, alive.layers), (rank, 8));
            assert_eq!(alive.microbatches, (4 - rank) as f64);
            let op = curve.op.unwrap().op;
            assert_eq!((op.kind, op.microbatch), (Kind::BW, 0));
        }
    }

    #[test]
    fn the_fullest_instant_is_the_reports_peak_under_every_schedule() {
        for schedule in [
            Schedule::Gpipe,
            Schedule::OneFOneB,
            Schedule::Interleaved,
            Schedule::ZbH1,
            Schedule::ZbV,
            Schedule::VHalf,
            Schedule::DualPipe,
            Schedule::DualPipeV,
            Schedule::Chimera,
            Schedule::Hanayo,
            Schedule::Seq1F1B,
        ] {
            let run = Run {
                schedule,
                virtual_stages: if schedule == Schedule::Interleaved {
                    2
                } else {
                    1
                },
                ..Run::default()
            };
            let evaluation = evaluate(&run).unwrap();
            for memory in &evaluation.report.memory.per_stage {
                let curve = over_time(&evaluation, memory.stage).unwrap();
                let peak = curve.total(&curve.fullest());
                let off = peak / memory.total - 1.0;
                assert!(off.abs() < 1e-9, "{schedule:?} {} {off}", memory.stage);
                let most = curve.instants.iter().map(|one| curve.total(one).0);
                assert!(most.fold(0.0, f64::max) <= peak.0 * (1.0 + 1e-9));
            }
        }
    }

    #[test]
    fn a_step_ends_as_it_began() {
        let curve = curve(&Run::default(), 0);
        let (first, last) = (curve.at(Seconds(-1.0)), *curve.instants.last().unwrap());
        assert_eq!(last.activations, Bytes::ZERO);
        assert!(!last.backward && first.time.0 == 0.0);
        assert_eq!(curve.at(curve.fullest().time), curve.fullest());
        let times: Vec<_> = curve.instants.iter().map(|one| one.time.0).collect();
        assert!(times.is_sorted());
    }
}
