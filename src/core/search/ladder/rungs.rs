//! The rungs of a Run: each a space of layouts, in the order in which they are tried.

use crate::issue::Issue;
use crate::message::Message;
use crate::run::{Recompute, Run, Selective};
use crate::search::axes::{Axes, Split};
use crate::t;
use serde::{Deserialize, Serialize};

/// Means that a layout needed besides the sizes of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Rung {
    /// None: tensor, pipeline and expert parallelism do.
    Sizes,
    Context,
    Selective,
    Full,
    Zero2,
    Zero3,
}

impl Rung {
    /// Reason for `run`, which stands on this rung.
    pub fn words(self, run: &Run) -> Message {
        match self {
            Self::Sizes => t!("the fastest that fits of TP × PP × EP"),
            Self::Context => t!("no TP × PP alone fits, so CP {cp} is added", cp = run.cp),
            Self::Selective => t!("nothing fits without recomputation: selective"),
            Self::Full => t!("nothing fits without recomputation of whole layers"),
            Self::Zero2 => t!("nothing fits with ZeRO-1, even with full recomputation: ZeRO-2"),
            Self::Zero3 => t!("nothing fits with ZeRO-2, even with full recomputation: ZeRO-3"),
        }
    }
}

/// A rung, or a part of one, and the layouts that it tries.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub rung: Rung,
    pub axes: Axes,
}

/// The sizes that the software of `run` can cut, without context parallelism, recomputation or sharding of more than
/// states.
pub(super) fn sizes(run: &Run) -> Result<Axes, Vec<Issue>> {
    let abilities = run.stack.preset_row().trainer.abilities();
    let every = Axes::of(run)?;
    let kept = |list: Vec<u64>, able: bool| if able { list } else { vec![1] };
    let least = run.offload.least_zero(run);
    let zero = if shards_first(run) { abilities.zero } else { least.max(1) };
    Ok(Axes {
        tp: kept(every.tp, abilities.tensor),
        pp: kept(every.pp, abilities.pipeline),
        cp: vec![1],
        ep: kept(every.ep, abilities.experts),
        etp: None,
        zero: vec![zero],
        micro_batch: vec![run.micro_batch],
        sequence_parallel: vec![run.sequence_parallel],
        recompute: vec![Recompute::None],
        schedules: vec![run.schedule],
        virtual_stages: Some(vec![run.virtual_stages]),
        splits: vec![Split::Even],
    })
}

/// True if its software shards parameters before it does anything else.
fn shards_first(run: &Run) -> bool {
    let row = run.stack.preset_row();
    run.gpus > 1 && (row.software.fsdp || !row.trainer.abilities().pipeline)
}

/// Sizes of context parallelism that the software can use, ascending.
pub(super) fn contexts(run: &Run) -> Result<Vec<u64>, Vec<Issue>> {
    let able = run.stack.preset_row().trainer.abilities().context;
    let list = Axes::of(run)?.cp.into_iter();
    Ok(list.filter(|cp| *cp == 1 || able && run.seq_len.is_multiple_of(*cp)).collect())
}

pub(super) fn rungs(run: &Run) -> Result<Vec<Stage>, Vec<Issue>> {
    let (sizes, contexts) = (sizes(run)?, contexts(run)?);
    let row = run.stack.preset_row();
    let mut stages = vec![Stage { rung: Rung::Sizes, axes: sizes.clone() }];
    let mut add = |rung, axes| stages.push(Stage { rung, axes });
    for cp in contexts.iter().copied().filter(|cp| *cp > 1) {
        add(Rung::Context, Axes { cp: vec![cp], ..sizes.clone() });
    }
    let with = |recompute| Axes { cp: contexts.clone(), recompute: vec![recompute], ..sizes.clone() };
    // With FlashAttention Megatron-LM's selective recomputation saves nothing, FSDP's is that of whole layers.
    let saves = match row.software.selective {
        Selective::CoreAttention => !run.runs_flash_attention(),
        Selective::Layers => false,
        Selective::Operators => true,
    };
    if saves {
        add(Rung::Selective, with(Recompute::Selective));
    }
    add(Rung::Full, with(Recompute::Full));
    if !shards_first(run) && run.gpus > 1 {
        let most = row.trainer.abilities().zero;
        for (zero, rung) in [(2, Rung::Zero2), (3, Rung::Zero3)].into_iter().filter(|(zero, _)| *zero <= most) {
            let recompute = vec![Recompute::None, Recompute::Full];
            // Megatron-LM refuses both with a pipeline.
            add(rung, Axes { zero: vec![zero], pp: vec![1], recompute, ..with(Recompute::Full) });
        }
    }
    Ok(stages)
}
