//! How the GPUs, the batch, the experts and ZeRO's shards divide.

use super::{Check, nearest};
use crate::cluster::Gpu;
use crate::issue::Issue;
use crate::run::layout::{Layout, Zero};
use crate::t;

impl Check<'_> {
    pub fn layout(&mut self, gpu: &Gpu) -> Layout {
        let run = self.run;
        let per_node = run.gpus_per_node.unwrap_or(gpu.per_node);
        let ranks = run.tp.saturating_mul(run.pp).saturating_mul(run.cp);
        let product = format!("tp {} x pp {} x cp {} = {ranks}", run.tp, run.pp, run.cp);
        if run.gpus < ranks {
            self.issues.push(
                Issue::error(
                    "gpus",
                    t!(
                        "{gpus} GPUs are fewer than {product}; gpus={ranks} works",
                        gpus = run.gpus,
                        product,
                        ranks
                    ),
                )
                .with_fix("gpus", ranks),
            );
        } else if !run.gpus.is_multiple_of(ranks) {
            let message = t!(
                "{gpus} GPUs do not divide by {product}",
                gpus = run.gpus,
                product
            );
            let alone = [("tp", run.tp), ("pp", run.pp), ("cp", run.cp)];
            match alone
                .into_iter()
                .find(|(_, size)| !run.gpus.is_multiple_of(*size))
            {
                // tensor() has spoken already where tp is wrong for the model too.
                Some(("tp", _)) if self.issues.iter().any(|issue| issue.field == "tp") => {}
                Some((field, size)) => {
                    let others = ranks / size;
                    let model = *self.model;
                    self.error_near(field, message, size, |value| {
                        run.gpus.is_multiple_of(others.saturating_mul(value))
                            && (field != "tp" || model.heads.is_multiple_of(value))
                    });
                }
                None => {
                    let down = run.gpus / ranks * ranks;
                    self.issues.push(
                        Issue::error("gpus", t!("{message}; gpus={down} works", message, down))
                            .with_fix("gpus", down),
                    );
                }
            }
        }
        let dp = (run.gpus / ranks).max(1);
        let said = self.issues.len();
        let microbatches = self.batch(dp);
        if !run.gpus.is_multiple_of(ranks) {
            // A batch that does not fit a dp that is none is no news.
            self.issues.truncate(said);
        }
        let expert_dp = self.experts(dp);
        if run.tp > per_node {
            self.warnings.push(
                Issue::warning(
                    "tp",
                    t!("tensor parallelism over {tp} ranks leaves the node of {per_node} GPUs: every layer waits for the network", tp = run.tp, per_node),
                )
                .with_fix("tp", per_node),
            );
        }
        Layout {
            gpus: run.gpus,
            per_node,
            tp: run.tp,
            pp: run.pp,
            cp: run.cp,
            ep: run.ep,
            etp: run.etp,
            dp,
            expert_dp,
            sequence_parallel: run.sequence_parallel && run.tp > 1,
            microbatches,
        }
    }

    /// Micro-batches a step; the global batch must divide.
    pub fn batch(&mut self, dp: u64) -> u64 {
        let run = self.run;
        let each = dp.saturating_mul(run.micro_batch);
        if !run.global_batch.is_multiple_of(each) {
            let fitting = run.global_batch.div_ceil(each).saturating_mul(each);
            let message = t!(
                "{global_batch} sequences do not divide over dp {dp} x micro-batch {micro_batch}; global_batch={fitting} works",
                global_batch = run.global_batch,
                dp,
                micro_batch = run.micro_batch,
                fitting
            );
            let issue = Issue::error("global_batch", message).with_fix("global_batch", fitting);
            // Or as many GPUs as this batch is for: no more than a micro-batch each.
            let most = dp.min(run.global_batch / run.micro_batch);
            let divides = |dp: u64| {
                dp <= most
                    && run
                        .global_batch
                        .is_multiple_of(dp.saturating_mul(run.micro_batch))
            };
            self.issues.push(match nearest(most, divides) {
                Some(fewer) => issue.or_fix("gpus", run.gpus / dp * fewer),
                None => issue,
            });
        }
        let microbatches = (run.global_batch / each).max(1);
        if let Some(lengths) = &run.microbatch_lengths
            && lengths.len() as u64 != microbatches
        {
            self.error(
                "microbatch_lengths",
                t!(
                    "{lengths} lengths for {microbatches} micro-batches a rank",
                    lengths = lengths.len(),
                    microbatches
                ),
            );
        }
        microbatches
    }

    /// Data-parallel size of the experts.
    pub fn experts(&mut self, dp: u64) -> u64 {
        let run = self.run;
        let Some(moe) = self.model.moe else {
            for (field, size) in [("ep", run.ep), ("etp", run.etp)] {
                if size > 1 {
                    self.issues.push(
                        Issue::error(
                            field,
                            t!(
                                "{field}={size} needs a model with experts; {field}=1 works",
                                field,
                                size
                            ),
                        )
                        .with_fix(field, 1),
                    );
                }
            }
            return dp;
        };
        let ranks = dp.saturating_mul(run.cp).saturating_mul(run.tp);
        let experts = run.ep.saturating_mul(run.etp);
        if !moe.experts.is_multiple_of(run.ep) {
            self.error_near(
                "ep",
                t!(
                    "{experts} experts do not divide by ep={ep}",
                    experts = moe.experts,
                    ep = run.ep
                ),
                run.ep,
                |ep| {
                    moe.experts.is_multiple_of(ep)
                        && ranks.is_multiple_of(ep.saturating_mul(run.etp))
                },
            );
        } else if !ranks.is_multiple_of(experts) {
            self.error_near(
                "ep",
                t!(
                    "dp cp tp = {ranks} ranks do not divide by ep etp = {experts}",
                    ranks,
                    experts
                ),
                run.ep,
                |ep| {
                    moe.experts.is_multiple_of(ep)
                        && ranks.is_multiple_of(ep.saturating_mul(run.etp))
                },
            );
        }
        if !moe.expert_ffn.is_multiple_of(run.etp) {
            self.error_near(
                "etp",
                t!(
                    "the expert FFN size {expert_ffn} does not divide by etp={etp}",
                    expert_ffn = moe.expert_ffn,
                    etp = run.etp
                ),
                run.etp,
                |etp| moe.expert_ffn.is_multiple_of(etp),
            );
        }
        (ranks / experts).max(1)
    }

    pub fn zero(&mut self, layout: &Layout) -> Zero {
        let group = layout.dp.saturating_mul(layout.cp);
        let shard = self.run.hsdp_shard.unwrap_or(group);
        if !group.is_multiple_of(shard) {
            self.error_near(
                "hsdp_shard",
                t!(
                    "dp cp = {group} ranks do not divide into shard groups of {shard}",
                    group,
                    shard
                ),
                shard.min(group),
                |size| group.is_multiple_of(size),
            );
        }
        if self.run.zero >= 2 && self.run.pp > 1 {
            self.warnings.push(
                Issue::warning(
                    "zero",
                    t!("ZeRO-{zero} with a pipeline communicates once a micro-batch; Megatron-LM refuses it, most runs use ZeRO-1", zero = self.run.zero),
                )
                .with_fix("zero", 1),
            );
        }
        Zero {
            stage: self.run.zero,
            shard,
            expert_shard: layout.expert_dp.min(shard.max(1)),
        }
    }
}
