//! Division of the GPUs: the sizes a Run implies once it is known to divide evenly.

use super::choices::Schedule;
use super::{Run, ScheduleOptions};
use crate::cluster::{Mesh, RankOrder};
use crate::message::Message;
use crate::sort::sort;
use crate::t;

/// Parallel sizes and what follows from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub gpus: u64,
    /// GPUs on one scale-up link.
    pub per_node: u64,
    pub tp: u64,
    pub pp: u64,
    pub cp: u64,
    pub ep: u64,
    pub etp: u64,
    /// Data parallel d = gpus / (t p c).
    pub dp: u64,
    /// Data parallel of the experts: d c t / (ep etp).
    pub expert_dp: u64,
    /// The order of the mesh axes.
    pub rank_order: RankOrder,
    /// Sequence parallelism, in effect only with t > 1.
    pub sequence_parallel: bool,
    /// Micro-batches a step and rank.
    pub microbatches: u64,
}

impl Layout {
    pub fn mesh(&self) -> Mesh {
        Mesh {
            tp: self.tp,
            cp: self.cp,
            dp: self.dp,
            pp: self.pp,
            ep: self.ep,
            etp: self.etp,
            per_node: self.per_node,
            order: self.rank_order,
        }
    }
}

/// Tensors that ZeRO shards, and the ranks that share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zero {
    /// 0: nothing, 1: optimizer states, 2: also gradients, 3: also weights. Weight shards above tensor parallelism are
    /// 3 over their ranks, and cut states over all others besides. Source: Megatron-LM d98e8a6,
    /// docs/api-guide/core/generalized_tensor_parallel.md ("an implementation of ZeRO-3").
    pub stage: u64,
    /// Ranks that share one set of shards: d c, the HSDP group, or the weight shards above tensor parallelism.
    pub shard: u64,
    /// Ranks that share one set of shards of routed experts: their own data-parallel group.
    pub expert_shard: u64,
    /// HSDP groups over which optimizer states are cut as well. What then travels between groups, gradients scattered
    /// and weights gathered, is what all-reduced gradients are where both have as many bytes. Source: Megatron-FSDP,
    /// `outer_dp_sharding_strategy`.
    pub outer: u64,
    /// HSDP groups over which optimizer states of routed experts are cut as well.
    pub expert_outer: u64,
}

impl Zero {
    /// Ranks of the experts' group among `ranks` that share shards: both groups are cut into as many parts.
    pub(crate) fn experts_within(self, ranks: u64) -> u64 {
        (self.expert_shard * ranks / self.shard.max(1)).max(1)
    }
}

impl Run {
    /// Data-parallel size d = gpus / (t p c), of the GPUs that train; none where the GPUs do not divide.
    pub fn data_parallel(&self) -> Option<u64> {
        exactly(self.training_gpus(), self.tp.saturating_mul(self.pp).saturating_mul(self.cp))
    }
    /// Micro-batches a step and rank, m = global batch / (d b); none where they do not divide.
    pub fn microbatches(&self) -> Option<u64> {
        let each = self.data_parallel()?.saturating_mul(self.micro_batch);
        exactly(self.global_batch, each)
    }
}

fn exactly(of: u64, by: u64) -> Option<u64> {
    (by > 0 && of > 0 && of.is_multiple_of(by)).then(|| of / by)
}

impl Schedule {
    /// Model chunks a rank that the schedule fixes; none where `virtual_stages` decides.
    pub fn fixed_chunks(self, options: &ScheduleOptions) -> Option<u64> {
        match self {
            Self::Interleaved | Self::LoopedBfs | Self::InterleavedZb | Self::InterleavedOverlap | Self::Custom => None,
            Self::ZbV | Self::ZbVAuto | Self::VHalf | Self::VMin | Self::DualPipeV => Some(2),
            Self::Hanayo => Some(options.waves.unwrap_or(1).saturating_mul(2)),
            _ => Some(1),
        }
    }

    /// Global stages: p times the chunks a rank, whichever way round a rank holds them.
    pub fn stages(self, run: &Run) -> u64 {
        let chunks = self.fixed_chunks(&run.schedule_options).unwrap_or(run.virtual_stages);
        run.pp.saturating_mul(chunks)
    }
}

/// The pipeline stages of `run` in words, and what they are the product of: "64 stages (PP 16 × 4 virtual stages)".
pub(crate) fn stages_said(run: &Run) -> Message {
    let (stages, pp) = (run.schedule.stages(run), run.pp);
    match (stages, stages / pp.max(1)) {
        (1, _) => t!("1 stage"),
        (_, 0 | 1) => t!("{stages} stages", stages),
        (_, chunks) => t!("{stages} stages (PP {pp} × {chunks} virtual stages)", stages, pp, chunks),
    }
}

/// `layers` over `stages` as evenly as it goes; where they do not divide, the inner stages take one more, because the
/// outer ones hold the embedding and the head.
pub fn even_split(layers: u64, stages: u64) -> Vec<u64> {
    let (each, extra) = (layers / stages, layers % stages);
    let first = (stages - extra) / 2;
    (0..stages).map(|stage| each + u64::from((first..first + extra).contains(&stage))).collect()
}

/// Divisors up to this, and what they leave, are all that [`divisors`] finds.
const MAX_DIVISOR: u64 = 4096;

/// The divisors of `number`, ascending; of one above the square of [`MAX_DIVISOR`] some in the middle are left out.
pub(crate) fn divisors(number: u64) -> impl Iterator<Item = u64> {
    let mut small = vec![1];
    let (mut rest, mut prime) = (number.max(1), 2);
    while rest > 1 && prime <= MAX_DIVISOR {
        let (known, mut power) = (small.len(), 1);
        while rest.is_multiple_of(prime) {
            (rest, power) = (rest / prime, power * prime);
            for at in 0..known {
                small.push(small[at] * power);
            }
        }
        // A number without a factor up to its root is prime.
        let next = prime + 1;
        prime = if prime * prime > rest { rest.max(next) } else { next };
    }
    small.retain(|size| number > 0 && *size <= MAX_DIVISOR);
    let mut all: Vec<u64> = small.into_iter().flat_map(|size| [size, number / size]).collect();
    sort(&mut all);
    all.dedup();
    all.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn divisors_are_those_that_trying_all_finds() {
        for number in (0..=200).chain([1024, 4097, 8192, 16_769_023, 720_720, 1 << 53]) {
            let tried = (1..=MAX_DIVISOR.min(number)).filter(|size| number % size == 0);
            let expected: BTreeSet<u64> = tried.flat_map(|size| [size, number / size]).collect();
            assert!(divisors(number).eq(expected), "{number}");
        }
    }

    #[test]
    fn replicas_and_micro_batches_follow_only_where_sizes_divide() {
        let run = Run::default();
        assert_eq!((run.data_parallel(), run.microbatches()), (Some(8), Some(32)));
        let odd = Run { tp: 7, ..run };
        assert_eq!((odd.data_parallel(), odd.microbatches()), (None, None));
    }

    #[test]
    fn an_even_split_gives_every_layer_once_and_spares_the_ends() {
        assert_eq!(even_split(32, 4), [8, 8, 8, 8]);
        assert_eq!(even_split(126, 16).iter().sum::<u64>(), 126);
        assert_eq!(even_split(126, 16)[0], 7);
        assert_eq!(even_split(126, 16)[15], 7);
        assert_eq!(even_split(5, 4), [1, 2, 1, 1]);
        // Megatron's account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split, 126 + 2 over 16 x
        // 8.
        let alone = even_split(126, 128);
        assert_eq!((alone[0], alone[127], alone.iter().sum::<u64>()), (0, 0, 126));
    }
}
