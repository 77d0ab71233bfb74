//! Facts of an order that a bound needs: the stages of each rank, the activations alive at once, the first and last ops
//! of a rank.

use crate::pipeline::stats::Alive;
use crate::pipeline::{OpKind, Order, OrderItem, Spec, StagePlacement};

/// One rank of an order.
#[derive(Clone, Debug, PartialEq)]
pub struct RankFacts {
    /// Global stages that it holds.
    pub stages: Vec<usize>,
    /// Forwards, backwards (input) and backwards (weight) of each of `stages`, in micro-batches.
    pub work: Vec<[f64; 3]>,
    /// Micro-batches of each of `stages` that are alive at once, for each instant that no other instant exceeds in all
    /// stages.
    pub alive: Vec<Vec<f64>>,
    /// Versions of the weights.
    pub versions: u64,
    /// The stage of its first forward.
    pub first: usize,
    /// Way from its last op to the end: the stage, and true if the stages before add their weight gradients to the way
    /// back; none where nothing waits for it.
    pub last: Option<(usize, bool)>,
}

/// An order, as far as a bound looks.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    pub ranks: Vec<RankFacts>,
    /// Messages from the first stage to each stage.
    pub hops: Vec<f64>,
    pub pieces: f64,
}

impl Facts {
    /// Facts of a longer order of the same kind: the work by which `next` exceeds these facts, added `times` over. None
    /// where `next` differs in anything else than work.
    pub(crate) fn stretched(&self, next: &Self, times: f64) -> Option<Self> {
        let mut longer = self.clone();
        for (rank, next) in longer.ranks.iter_mut().zip(&next.ranks) {
            let work = std::mem::take(&mut rank.work);
            let alone = RankFacts { work: Vec::new(), ..next.clone() };
            if *rank != alone {
                return None;
            }
            let stretch = |(own, next): (&[f64; 3], &[f64; 3])| {
                std::array::from_fn(|kind| own[kind] + times * (next[kind] - own[kind]))
            };
            rank.work = work.iter().zip(&next.work).map(stretch).collect();
        }
        Some(longer)
    }

    /// Facts of an order of `spec` that depends on durations: those that no duration changes, and that need no order.
    /// None where ranks may hold other stages than their placement says.
    pub fn timed(spec: &Spec) -> Option<Self> {
        let (row, p, chunks) = (spec.schedule, spec.pp, spec.chunks());
        if !row.uses_durations || !matches!(row.placement, StagePlacement::Loop | StagePlacement::Snake) {
            return None;
        }
        let microbatches = f64::from(spec.microbatches);
        let rank = |rank| {
            let stages: Vec<usize> = (0..chunks).map(|chunk| row.placement.stage(rank, chunk, p) as usize).collect();
            RankFacts {
                work: vec![[microbatches; 3]; stages.len()],
                alive: vec![first_chunk(&stages, 1.0 / f64::from(spec.pieces()))],
                versions: u64::from((row.copies)(p, rank)),
                first: stages.first().copied().unwrap_or(0),
                last: None,
                stages,
            }
        };
        Some(Self {
            ranks: (0..p).map(rank).collect(),
            hops: hops(spec.stages(), row.placement, p),
            pieces: f64::from(spec.pieces()),
        })
    }

    /// Facts of `order`. If durations decide the order (`timed`), only facts that hold under any durations.
    pub fn of(order: &Order, spec: &Spec, timed: bool) -> Self {
        Self {
            ranks: (0..order.ranks.len()).map(|rank| rank_facts(order, spec, rank, timed)).collect(),
            hops: hops(order.stages, order.placement, order.pp()),
            pieces: f64::from(spec.pieces()),
        }
    }
}

/// Messages from the first stage to each stage.
fn hops(stages: u32, placement: StagePlacement, pp: u32) -> Vec<f64> {
    let mut hops = vec![0.0];
    for stage in 1..stages {
        let before = hops.last().copied().unwrap_or(0.0);
        hops.push(before + f64::from(u8::from(placement.crosses(stage, pp))));
    }
    hops
}

fn rank_facts(order: &Order, spec: &Spec, rank: usize, timed: bool) -> RankFacts {
    let stages: Vec<usize> = order.stages_of(rank).into_iter().map(|s| s as usize).collect();
    let mut slots = vec![0usize; order.stages as usize];
    for (index, stage) in stages.iter().enumerate() {
        slots[*stage] = index;
    }
    let mut walk = Walk {
        piece: 1.0 / f64::from(spec.pieces()),
        by_layer: spec.schedule.kind.pairs_by_layer(),
        work: vec![[0.0; 3]; stages.len()],
        alive: Alive::none(&stages),
        slots,
        peaks: Peaks::default(),
        grown: false,
        first: None,
        last: None,
    };
    for part in order.ranks[rank].loops() {
        let before = (walk.alive.counts.clone(), walk.grown);
        part.turn(0).for_each(|item| walk.run(item));
        if part.times > 1 {
            walk.work(part.body, part.times - 1);
        }
        // A turn that ends with as much alive as it began with has the same instants each time: the first shows them
        // all. Else the turns between are added up, and the last one is run.
        if part.times > 1 && (&before.0, before.1) != (&walk.alive.counts, walk.grown) {
            walk.alive.add(part.body, part.times - 2);
            walk.alive.free(part.body, part.times - 2);
            part.turn(part.times - 1).for_each(|item| walk.hold(item));
        }
    }
    let Walk { work, peaks, first, last, .. } = walk;
    let splits = f64::from(order.splits);
    // The copies of a rank that runs both directions are stages that it holds besides: no versions of one.
    let copies = order.weight_copies.get(rank).copied().unwrap_or(1);
    let chunks = u32::try_from(stages.len()).unwrap_or(u32::MAX).max(1);
    RankFacts {
        // An order that depends on durations holds at least one chunk of its first stage; nothing else is sure.
        alive: if timed {
            vec![first_chunk(&stages, 1.0 / splits)]
        } else {
            let shares =
                |counts: &Vec<u32>| -> Vec<f64> { counts.iter().map(|count| f64::from(*count) / splits).collect() };
            peaks.all().iter().map(shares).collect()
        },
        first: if timed { stages.first().copied() } else { first }.unwrap_or(0),
        last: last.filter(|_| !timed),
        stages,
        work,
        versions: u64::from((copies * order.chunks_per_rank()).div_ceil(chunks).max(1)),
    }
}

/// What is alive once a rank has run the forward of one `piece` of a micro-batch on the first of its `stages`.
fn first_chunk(stages: &[usize], piece: f64) -> Vec<f64> {
    (0..stages.len()).map(|slot| if slot == 0 { piece } else { 0.0 }).collect()
}

/// A rank on the way through its row.
struct Walk<'a> {
    /// Micro-batches of an op.
    piece: f64,
    by_layer: bool,
    /// Index of each stage among those of the rank.
    slots: Vec<usize>,
    work: Vec<[f64; 3]>,
    alive: Alive<'a>,
    peaks: Peaks,
    /// A forward ran since the last peak, so that the next release is a peak.
    grown: bool,
    first: Option<usize>,
    last: Option<(usize, bool)>,
}

impl Walk<'_> {
    fn run(&mut self, item: OrderItem) {
        self.work(&[item], 1);
        self.hold(item);
    }

    /// Counts the work of `items`, which run `times` times.
    fn work(&mut self, items: &[OrderItem], times: u32) {
        let share = f64::from(times) * self.piece;
        for op in items.iter().flat_map(|item| item.ops()) {
            let stage = op.stage as usize;
            let done = &mut self.work[self.slots[stage]];
            match op.kind {
                OpKind::F => {
                    done[0] += share;
                    self.first = self.first.or(Some(stage));
                }
                OpKind::B => done[1] += share,
                OpKind::W => done[2] += share,
                OpKind::BW => {
                    done[1] += share;
                    done[2] += share;
                }
            }
            let sends = op.kind.sends_gradient();
            self.last = sends.then_some((stage, op.kind == OpKind::BW));
        }
    }

    /// Counts the chunks that `item` begins to hold and frees, and notes a peak before each release.
    fn hold(&mut self, item: OrderItem) {
        let pair = self.by_layer && matches!(item, OrderItem::Pair(..));
        let (mut starts, mut frees) = (false, false);
        for op in item.ops() {
            starts |= op.kind == OpKind::F;
            frees |= op.kind.frees();
        }
        if pair {
            if self.grown {
                self.peaks.pass(&self.alive.counts);
            }
            self.alive.free(&[item], 1);
        }
        self.grown |= starts;
        if starts {
            self.alive.add(&[item], 1);
        }
        if self.grown && frees {
            self.peaks.pass(&self.alive.counts);
            self.grown = false;
        }
        if frees && !pair {
            self.alive.free(&[item], 1);
        }
    }
}

/// The instants at which most is alive: no other holds as much everywhere, and none lies on the way between two others,
/// where chunks of any weight hold no more than at one end.
#[derive(Default)]
struct Peaks {
    known: Vec<Vec<u32>>,
    /// The instants passed last, the latest one behind.
    last: [Vec<u32>; 2],
}

impl Peaks {
    fn pass(&mut self, alive: &[u32]) {
        let [before, last] = &mut self.last;
        let mut ways = before.iter().zip(last.iter()).zip(alive);
        let straight = !before.is_empty() && ways.all(|((a, b), c)| 2 * b == a + c);
        if !straight && !last.is_empty() {
            enter(&mut self.known, last);
        }
        std::mem::swap(before, last);
        last.clear();
        last.extend_from_slice(alive);
    }
    fn all(mut self) -> Vec<Vec<u32>> {
        let last = std::mem::take(&mut self.last[1]);
        if !last.is_empty() {
            enter(&mut self.known, &last);
        }
        self.known
    }
}

/// Adds an instant, unless a known one holds as much everywhere; drops those that hold no more than it.
pub(super) fn enter<T: PartialOrd + Copy>(peaks: &mut Vec<Vec<T>>, alive: &[T]) {
    let covers = |a: &[T], b: &[T]| a.iter().zip(b).all(|(a, b)| a >= b);
    if peaks.iter().any(|peak| covers(peak.as_slice(), alive)) {
        return;
    }
    peaks.retain(|peak| !covers(alive, peak));
    peaks.push(alive.to_vec());
}
