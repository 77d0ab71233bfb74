//! The rungs of a Run: each a space of layouts, in the order in which they are tried.

use crate::issue::Issue;
use crate::pipeline::able::{cuts_base, cuts_heads};
use crate::run::{Recompute, Run, Selective};
use crate::search::axes::{Axes, SplitRule};

/// The sizes that the software of `run` can cut, without context parallelism, recomputation or sharding of more than
/// states.
pub(super) fn sizes(run: &Run) -> Result<Axes, Vec<Issue>> {
    let abilities = run.abilities();
    let every = Axes::of(run)?;
    let kept = |list: Vec<u64>, able: bool| if able { list } else { vec![1] };
    let heads = every.tp.into_iter().filter(|tp| cuts_heads(run, *tp)).collect();
    let least = run.offload.least_zero(run);
    let zero = if shards_first(run) { abilities.zero } else { least.max(1) };
    Ok(Axes {
        tp: kept(heads, abilities.tensor && cuts_base(run)),
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
        splits: vec![SplitRule::Even],
        able: true,
    })
}

/// True if its software shards parameters before it does anything else.
fn shards_first(run: &Run) -> bool {
    let row = run.stack.preset_row();
    run.training_gpus() > 1 && (row.software.fsdp || !row.abilities().pipeline)
}

/// Sizes of context parallelism that the software can use, ascending.
pub(super) fn contexts(run: &Run) -> Result<Vec<u64>, Vec<Issue>> {
    let able = run.abilities().context;
    let list = Axes::of(run)?.cp.into_iter();
    Ok(list.filter(|cp| *cp == 1 || able && run.seq_len.is_multiple_of(*cp)).collect())
}

/// The rungs, each with the layouts that it tries: sizes alone, context parallelism added, recomputation, then more
/// sharding.
pub(super) fn rungs(run: &Run) -> Result<Vec<Axes>, Vec<Issue>> {
    let (sizes, contexts) = (sizes(run)?, contexts(run)?);
    let row = run.stack.preset_row();
    let mut stages = vec![sizes.clone()];
    let mut add = |axes| stages.push(axes);
    for cp in contexts.iter().copied().filter(|cp| *cp > 1) {
        add(Axes { cp: vec![cp], ..sizes.clone() });
    }
    let with = |recompute| Axes { cp: contexts.clone(), recompute: vec![recompute], ..sizes.clone() };
    // With FlashAttention Megatron-LM's selective recomputation saves nothing, FSDP's is that of whole layers.
    let saves = match row.software.selective {
        Selective::CoreAttention => !run.runs_flash_attention(),
        Selective::Layers => false,
        Selective::Operators => true,
    };
    if saves {
        add(with(Recompute::Selective));
    }
    add(with(Recompute::Full));
    if !shards_first(run) && run.training_gpus() > 1 {
        let most = row.abilities().zero;
        for zero in [2, 3].into_iter().filter(|zero| *zero <= most) {
            let recompute = vec![Recompute::None, Recompute::Full];
            // Megatron-LM refuses both with a pipeline.
            add(Axes { zero: vec![zero], pp: vec![1], recompute, ..with(Recompute::Full) });
        }
    }
    Ok(stages)
}
