//! Division of the GPUs, the batch, the experts and ZeRO's shards.

use super::{Check, divisors};
use crate::cluster::{Gpu, RankOrder};
use crate::issue::{Fix, Issue};
use crate::run::layout::{Layout, Zero};
use crate::run::presets::Trainer;
use crate::run::router::MOST_CLONING_RANKS;
use crate::run::{Allocator, OffloadParts, OneOf, Reduction, Run, TpOverlap};
use crate::t;

impl Check<'_> {
    pub fn layout(&mut self, gpu: &Gpu) -> Layout {
        let run = self.run;
        let gpus = run.training_gpus();
        // The GPUs of separate engines are GPUs of the Run too.
        let engines = run.gpus - gpus;
        let per_node = run.gpus_per_node.unwrap_or(gpu.per_node);
        let ranks = run.tp.saturating_mul(run.pp).saturating_mul(run.cp);
        self.ranks_of_gpus(gpu, [gpus, engines], ranks);
        let dp = (gpus / ranks).max(1);
        let count = self.issues.len();
        let microbatches = self.batch(dp);
        if !gpus.is_multiple_of(ranks) {
            // A batch that does not fit a dp that is none is no news.
            self.issues.truncate(count);
        }
        let divides = gpus.is_multiple_of(ranks);
        let expert_dp = self.experts(dp, divides);
        self.tensor_ranks_in_node(per_node);
        self.tensor_overlap();
        let layout = Layout {
            gpus,
            per_node,
            tp: run.tp,
            pp: run.pp,
            cp: run.cp,
            ep: run.ep,
            etp: run.etp,
            dp,
            expert_dp,
            rank_order: run.rank_order,
            sequence_parallel: run.sequence_parallel && run.tp > 1,
            microbatches,
        };
        // Groups that do not divide have their own message.
        if divides && (dp.saturating_mul(ranks) / run.pp).is_multiple_of(run.ep.saturating_mul(run.etp)) {
            self.pipeline_groups(&layout);
        }
        layout
    }

    /// `gpus` must hold the `ranks` of one replica, and a whole number of replicas; with those of the engines, which
    /// are apart, they are the GPUs of the Run.
    fn ranks_of_gpus(&mut self, gpu: &Gpu, [gpus, engines]: [u64; 2], ranks: u64) {
        let run = self.run;
        let product = || format!("TP {} × PP {} × CP {} = {ranks}", run.tp, run.pp, run.cp);
        if gpus < ranks {
            let message = match gpus {
                1 => t!("1 GPU is fewer than {product}", product = product()),
                gpus => t!("{gpus} GPUs are fewer than {product}", gpus, product = product()),
            };
            let more = multiples(ranks, 1).map(|all| all + engines);
            let (issue, sizes) = (Issue::error("gpus", message), Fix::new(within(run)));
            self.issues.push(if held_by_none(run, gpu) {
                Issue { or: Some(Box::new(sizes)), ..issue.with_near("gpus", ranks, more) }
            } else {
                Issue { fix: Some(sizes), ..issue.or_near("gpus", ranks, more) }
            });
        } else if !gpus.is_multiple_of(ranks) {
            let message = t!("{gpus} GPUs do not divide by {product}", gpus, product = product());
            let alone = [("tp", run.tp), ("pp", run.pp), ("cp", run.cp)];
            match alone.into_iter().find(|(_, size)| !gpus.is_multiple_of(*size)) {
                // tensor() has spoken already where tp is wrong for the model too.
                Some(("tp", _)) if self.issues.iter().any(|issue| issue.field == "tp") => {}
                Some((field, size)) => {
                    let issue = Issue::error(field, message).with_near(field, size, divisors(gpus));
                    self.issues.push(issue.or_near(
                        "gpus",
                        run.gpus,
                        multiples(ranks, gpus / ranks).map(|all| all + engines),
                    ));
                }
                None => {
                    let whole = multiples(ranks, gpus / ranks).map(|all| all + engines);
                    self.error_near("gpus", message, run.gpus, whole);
                }
            }
        }
    }

    /// Warns of tensor parallelism that leaves a node of `per_node` GPUs.
    fn tensor_ranks_in_node(&mut self, per_node: u64) {
        let run = self.run;
        if run.tp > per_node {
            self.warnings.push(
                Issue::warning(
                    "tp",
                    t!(
                        "tensor parallelism over {tp} ranks leaves the node of {per_node} GPUs: every layer waits for \
                        the network",
                        tp = run.tp,
                        per_node
                    ),
                )
                .with_near("tp", per_node, divisors(run.training_gpus()).filter(|tp| *tp <= per_node)),
            );
        }
    }

    /// Warns of userbuffers without sequence parallelism, whose gathers and reductions they overlap: the step counts no
    /// overlap then ([`Scenario::tp_overlap`](crate::run::Scenario)). Source:
    /// Megatron-LM `arguments.py`, "overlap can happen only when sequence parallelism is enabled".
    fn tensor_overlap(&mut self) {
        let run = self.run;
        if run.tp > 1 && !run.sequence_parallel && run.software().tp_overlap == TpOverlap::Userbuffers {
            let message = t!(
                "TP overlap by userbuffers needs sequence parallelism: without it Megatron-LM stops at its start, and \
                    the step counts no such overlap"
            );
            let issue = Issue::warning("sequence_parallel", message).with_fix("sequence_parallel", true);
            self.warnings.push(issue.or_fix("stack.tp_overlap", TpOverlap::None.id()));
        }
    }

    /// Dense layers and experts of `layout` must have the same pipeline groups.
    fn pipeline_groups(&mut self, layout: &Layout) {
        let run = self.run;
        if self.model.moe.is_some() && !layout.mesh().pipelines_agree() {
            let message = t!(
                "in the rank order {order} dense layers and experts need the same pipeline groups: {inner} ranks of \
                    tp cp are not those of the experts",
                order = run.rank_order.id(),
                inner = run.tp.saturating_mul(run.cp)
            );
            let default = RankOrder::default().id();
            self.refuse("rank_order", message, default);
        }
    }

    /// Micro-batches a step; the global batch must divide.
    pub fn batch(&mut self, dp: u64) -> u64 {
        let run = self.run;
        let each = dp.saturating_mul(run.micro_batch);
        if !run.global_batch.is_multiple_of(each) {
            let fitting = run.global_batch.div_ceil(each);
            let micro_batch = run.micro_batch;
            let message = match run.global_batch {
                1 => t!("1 sequence does not divide over DP {dp} × micro-batch {micro_batch}", dp, micro_batch),
                sequences => t!(
                    "{sequences} sequences do not divide over DP {dp} × micro-batch {micro_batch}",
                    sequences,
                    dp,
                    micro_batch
                ),
            };
            let issue = Issue::error("global_batch", message).with_near(
                "global_batch",
                fitting.saturating_mul(each),
                multiples(each, fitting),
            );
            // Or as many GPUs as this batch is for: no more than a micro-batch each.
            let replicas =
                if run.global_batch.is_multiple_of(run.micro_batch) { run.global_batch / run.micro_batch } else { 0 };
            let gpus = run.training_gpus();
            let (ranks, engines) = (gpus / dp, run.gpus - gpus);
            let fewer = divisors(replicas).filter(|fewer| *fewer < dp);
            self.issues.push(issue.or_near("gpus", run.gpus, fewer.map(|dp| ranks * dp + engines)));
        }
        let microbatches = (run.global_batch / each).max(1);
        if let Some(lengths) = &run.microbatch_lengths
            && lengths.len() as u64 != microbatches
        {
            self.error(
                "microbatch_lengths",
                t!(
                    "{lengths} lengths for {microbatches} micro-batches per rank",
                    lengths = lengths.len(),
                    microbatches
                ),
            );
        }
        microbatches
    }

    /// Ranks with the same experts; what is asked of the others is no news where the GPUs do not divide.
    pub fn experts(&mut self, dp: u64, divides: bool) -> u64 {
        let run = self.run;
        let Some(moe) = self.model.moe else {
            for (field, size) in [("ep", run.ep), ("etp", run.etp)] {
                if size > 1 {
                    self.refuse(field, t!("{field}={size} needs a model with experts", field, size), 1);
                }
            }
            return dp;
        };
        let ranks = dp.saturating_mul(run.cp).saturating_mul(run.tp);
        let experts = run.ep.saturating_mul(run.etp);
        if !moe.experts.is_multiple_of(run.ep) {
            self.error_near(
                "ep",
                t!("{experts} experts do not divide by ep={ep}", experts = moe.experts, ep = run.ep),
                run.ep,
                divisors(moe.experts),
            );
        } else if divides && !ranks.is_multiple_of(experts) {
            self.error_near(
                "ep",
                if run.etp == 1 {
                    t!("EP {ep} needs a multiple of {ep} ranks; there are {ranks}", ep = run.ep, ranks)
                } else {
                    t!("EP times ETP needs a multiple of {experts} ranks; there are {ranks}", experts, ranks)
                },
                run.ep,
                divisors(moe.experts),
            );
        }
        if !moe.expert_ffn.is_multiple_of(run.etp) {
            self.error_near(
                "etp",
                t!(
                    "the expert FFN size {expert_ffn} does not divide by expert TP {etp}",
                    expert_ffn = moe.expert_ffn,
                    etp = run.etp
                ),
                run.etp,
                divisors(moe.expert_ffn),
            );
        }
        (ranks / experts).max(1)
    }

    /// Clones of experts: where there are ranks to share with, and a spread that makes one rank busier than others.
    pub fn clones(&mut self) {
        let run = self.run;
        let Some(slots) = run.moe_clones.filter(|slots| *slots > 0) else { return };
        if self.model.moe.is_none() {
            self.refuse("moe_clones", t!("clones of experts need a model with experts"), "");
        } else if run.capacity_factor.is_some() {
            let message =
                t!("a padded expert capacity already drops the tokens that clones would take: use one or the \
                other");
            let issue = Issue::error("moe_clones", message).with_fix("moe_clones", "");
            self.issues.push(issue.or_fix("capacity_factor", ""));
        } else if run.ep == 1 {
            self.doubt("moe_clones", t!("one expert rank has all experts: there is no rank to clone them on"), "");
        } else if run.ep > MOST_CLONING_RANKS {
            let message = t!("clones are planned over at most {ranks} expert ranks", ranks = MOST_CLONING_RANKS);
            self.refuse("moe_clones", message, "");
        } else if run.moe_imbalance.is_some() || run.moe_sigma.is_none() {
            let message = t!(
                "{slots} slots for clones cost memory and messages; what they balance follows from the router's \
                    spread, without a given imbalance",
                slots
            );
            let spread = Issue::warning("moe_clones", message).with_fix("moe_clones", "");
            self.warnings.push(spread);
        }
    }

    pub fn zero(&mut self, layout: &Layout) -> Zero {
        if self.run.shards_weights() {
            return self.weight_shards(layout);
        }
        let group = layout.dp.saturating_mul(layout.cp);
        let shard = self.run.hsdp_shard.unwrap_or(group);
        if !group.is_multiple_of(shard) {
            self.error_near(
                "hsdp_shard",
                t!("shard groups of {shard} need a multiple of {shard} ranks; there are {group}", group, shard),
                shard.min(group),
                divisors(group),
            );
        }
        self.doubt_zero();
        self.second_copy(shard);
        // Shard groups cut the experts' own group into as many parts. Source: Megatron-LM `parallel_state.py`,
        // `intra_partial_expert_data_parallel_size`.
        let parts = (group / shard.max(1)).max(1);
        let expert_shard = (layout.expert_dp / parts).max(1);
        let outer = self.run.hsdp_optimizer && self.run.zero > 0;
        if self.run.hsdp_optimizer && (parts == 1 || self.run.zero == 0) {
            let message = t!("there are no HSDP groups over which optimizer states could be cut");
            self.doubt("hsdp_optimizer", message, false);
        }
        if self.run.fsdp_double_buffer && !self.run.keeps_double_buffers() {
            let message = "double buffers are of Megatron-FSDP's ZeRO-2 and 3: nothing changes by them here";
            self.doubt("fsdp_double_buffer", message, false);
        }
        let over = |groups: u64| if outer { groups.max(1) } else { 1 };
        Zero {
            stage: self.run.zero,
            shard,
            expert_shard,
            outer: over(parts),
            expert_outer: over(layout.expert_dp / expert_shard),
        }
    }

    /// Doubts about ZeRO and its allocator that hold under any layout.
    fn doubt_zero(&mut self) {
        if self.run.zero == 3 && self.run.pp > 1 && !self.run.software().fsdp {
            self.doubt(
                "zero",
                t!("ZeRO-3 with a pipeline communicates once a micro-batch; Megatron-LM refuses it, \
                most runs use ZeRO-1"),
                1,
            );
        }
        let trainer = self.run.stack.preset_row().trainer;
        if self.run.allocator == Allocator::Expandable && matches!(trainer, Trainer::MaxText | Trainer::PaxMl) {
            let label = self.run.stack.preset_row().choice.label;
            let message = t!("{label} runs on XLA, whose allocator has no expandable segments", label);
            self.doubt("allocator", message, Allocator::Native.id());
        }
        let chosen = self.run.zero2_reduce.unwrap_or(Reduction::MicroBatch);
        // FSDP's full shards may wait for the last micro-batch too.
        let waits = self.run.zero == 3 && self.run.software().fsdp && chosen == Reduction::Step;
        if self.run.zero != 2 && !waits && chosen != Reduction::MicroBatch {
            let message = t!(
                "zero2_reduce={reduction} is for ZeRO-2; ZeRO-{zero} does not read it",
                reduction = chosen.id(),
                zero = self.run.zero
            );
            let default = Reduction::MicroBatch.id();
            self.doubt("zero2_reduce", message, default);
        }
    }

    /// Weights cut over ranks of the data: the groups divide the replicas, and nothing else cuts them.
    fn weight_shards(&mut self, layout: &Layout) -> Zero {
        let run = self.run;
        let Layout { dp, expert_dp, .. } = *layout;
        let sizes =
            [("weight_shards", run.weight_shards, dp), ("expert_weight_shards", run.expert_weight_shards, expert_dp)];
        for (field, shards, ranks) in sizes {
            if !ranks.is_multiple_of(shards) {
                let message =
                    t!("{shards} weight shards need a multiple of {shards} ranks; there are {ranks}", ranks, shards);
                self.error_near(field, message, shards.min(ranks), divisors(ranks));
            }
        }
        let field = if run.weight_shards > 1 { "weight_shards" } else { "expert_weight_shards" };
        let software = run.software();
        if field == "expert_weight_shards" && self.model.moe.is_none() {
            self.refuse(
                field,
                t!("{field}={size} needs a model with experts", field, size = run.expert_weight_shards),
                1,
            );
        }
        if software.fsdp || !software.flat_buffers {
            let label = run.stack.preset_row().choice.label;
            let message = t!("weight shards above tensor parallelism are Megatron-LM's; {label} has none", label);
            self.refuse(field, message, 1);
        }
        if run.zero != 1 {
            let message = t!(
                "weight shards are cut as by ZeRO-3 over their own ranks, states over the others: use ZeRO-1 with them"
            );
            self.issues.push(Issue::error("zero", message).with_fix("zero", 1));
        }
        if run.hsdp_shard.is_some() || run.adapter.method.is_some() {
            let other = if run.hsdp_shard.is_some() { "HSDP groups" } else { "adapters" };
            let message = t!("weight shards above tensor parallelism do not go with {other}", other);
            self.refuse(field, message, 1);
        }
        let group = dp.saturating_mul(layout.cp);
        Zero {
            stage: 3,
            shard: run.weight_shards,
            expert_shard: run.expert_weight_shards,
            outer: (group / run.weight_shards).max(1),
            expert_outer: (expert_dp / run.expert_weight_shards).max(1),
        }
    }

    /// ZeRO++ is ZeRO-3's; the ranks of its second copy divide those of the first.
    fn second_copy(&mut self, shard: u64) {
        let run = self.run;
        let set = [("zero_hpz", run.zero_hpz.is_some()), ("zero_qwz", run.zero_qwz), ("zero_qgz", run.zero_qgz)];
        for (field, _) in set.into_iter().filter(|(_, set)| *set && run.zero != 3) {
            let message = t!("{field} is ZeRO-3's; ZeRO-{zero} does not read it", field, zero = run.zero);
            self.warnings.push(Issue::warning(field, message).with_fix("zero", 3));
        }
        if let Some(second) = run.zero_hpz.filter(|second| run.zero == 3 && !shard.is_multiple_of(*second)) {
            let message = t!(
                "groups of {second} need a multiple of {second} ranks that share shards; there are {shard}",
                shard,
                second
            );
            self.error_near("zero_hpz", message, second.min(shard), divisors(shard));
        }
    }
}

/// True if weights, gradients and states of `run` are more than all of its GPUs hold, whatever the layout: those that
/// the sizes ask for are what it needs first. One GPU is the wish of who enters one.
fn held_by_none(run: &Run, gpu: &Gpu) -> bool {
    let gpus = run.training_gpus();
    if gpus == 1 || run.adapter.method.is_some() || run.offload != OffloadParts::default() {
        return false;
    }
    let (Ok(model), Ok(bytes)) = (run.model.resolve(), run.precision.resolve()) else { return false };
    let each = bytes.weights + bytes.gradients() + bytes.optimizer(run.optimizer);
    model.elements().total() as f64 * each > gpus as f64 * gpu.memory.0
}

/// Parallel sizes that the GPUs of `run` are enough for: of each in turn its largest divisor that divides what is left.
fn within(run: &Run) -> Vec<(&'static str, String)> {
    let mut left = run.training_gpus();
    let sizes = [("tp", run.tp), ("cp", run.cp), ("pp", run.pp)].into_iter();
    let smaller = sizes.filter_map(|(field, size)| {
        let fitting = divisors(size).filter(|divisor| left.is_multiple_of(*divisor)).max().unwrap_or(1);
        left /= fitting;
        (fitting != size).then(|| (field, fitting.to_string()))
    });
    smaller.collect()
}

/// Multiples of `size` around the `times`-th.
fn multiples(size: u64, times: u64) -> impl Iterator<Item = u64> {
    let near = times.saturating_sub(AROUND)..=times.saturating_add(AROUND);
    near.filter(|times| *times > 0).map(move |times| size.saturating_mul(times))
}

/// Multiples on either side that are proposed.
const AROUND: u64 = 31;
