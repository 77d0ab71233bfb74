//! A Run understood: shapes resolved, sizes derived, everything that cannot work refused with what would work.

use super::Run;
use super::choices::{CpComm, Recompute, Schedule};
use super::layout::{Layout, Zero, even_split};
use super::precision::Precision;
use crate::cluster::Gpu;
use crate::issue::Issue;
use crate::model::{Architecture, AttentionCount, model_flops_per_token};

/// More parameters than anything that will be trained soon; keeps every count an exact integer.
const MOST_PARAMETERS: f64 = 1e15;
/// More pipeline stages than this are refused before anything is allocated for them.
const MOST_STAGES: u64 = 65_536;
/// How far a better value is looked for.
const SEARCH: u64 = 4096;

/// A Run that makes sense.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What was said; the settings that need no resolving are read here.
    pub run: Run,
    /// The model.
    pub model: Architecture,
    /// The GPU.
    pub gpu: Gpu,
    /// Parallel sizes.
    pub layout: Layout,
    /// ZeRO stage and its groups.
    pub zero: Zero,
    /// Bytes a parameter.
    pub precision: Precision,
    /// Model chunks a rank.
    pub chunks: u64,
    /// Layers of each global stage.
    pub stage_layers: Vec<u64>,
    /// What works but is doubtful.
    pub warnings: Vec<Issue>,
}

impl Scenario {
    /// Understands `run`.
    ///
    /// # Errors
    /// Every setting that cannot work, with what would.
    pub fn new(run: &Run) -> Result<Self, Vec<Issue>> {
        let (model, gpu, precision) = match (
            run.model.resolve(),
            run.gpu.resolve(),
            run.precision.resolve(),
        ) {
            (Ok(model), Ok(gpu), Ok(precision)) => (model, gpu, precision),
            (model, gpu, precision) => {
                let issues = [model.err(), gpu.err(), precision.err()];
                return Err(issues.into_iter().flatten().flatten().collect());
            }
        };
        let mut check = Check {
            run,
            model: &model,
            issues: Vec::new(),
            warnings: Vec::new(),
        };
        check.model();
        check.gpu(&gpu);
        check.tensor();
        let layout = check.layout(&gpu);
        let zero = check.zero(&layout);
        check.sequence();
        check.schedule();
        let stage_layers = check.stage_layers();
        let Check {
            issues, warnings, ..
        } = check;
        if !issues.is_empty() {
            return Err(issues);
        }
        Ok(Self {
            run: run.clone(),
            model,
            gpu,
            layout,
            zero,
            precision,
            chunks: run.schedule.stages(run) / run.pp,
            stage_layers,
            warnings,
        })
    }

    /// Tokens a step over all ranks.
    #[must_use]
    pub fn tokens_per_step(&self) -> f64 {
        self.run.global_batch as f64 * self.run.seq_len as f64
    }

    /// Tokens of one micro-batch on one context-parallel rank: T = s b / c.
    #[must_use]
    pub fn tokens_per_rank(&self) -> f64 {
        self.run.seq_len as f64 * self.run.micro_batch as f64 / self.layout.cp as f64
    }

    /// Model FLOPs a step, counted as the Run says.
    #[must_use]
    pub fn model_flops(&self) -> f64 {
        model_flops_per_token(&self.model, self.run.seq_len, self.run.attention_flops)
            * self.tokens_per_step()
    }
}

/// The nearest value to `wanted` that works, above first.
fn nearest(wanted: u64, works: impl Fn(u64) -> bool) -> Option<u64> {
    (0..=SEARCH).find_map(|distance| {
        let below = wanted.checked_sub(distance).filter(|value| *value > 0);
        [Some(wanted.saturating_add(distance)), below]
            .into_iter()
            .flatten()
            .find(|value| works(*value))
    })
}

/// One pass over a Run that collects what is wrong with it.
struct Check<'a> {
    run: &'a Run,
    model: &'a Architecture,
    issues: Vec<Issue>,
    warnings: Vec<Issue>,
}

impl Check<'_> {
    fn error(&mut self, field: &str, message: impl Into<String>) {
        self.issues.push(Issue::error(field, message));
    }

    /// An error whose fix is the nearest value that `works`.
    fn error_near(
        &mut self,
        field: &'static str,
        message: &str,
        wanted: u64,
        works: impl Fn(u64) -> bool,
    ) {
        let issue = match nearest(wanted, works) {
            Some(value) => Issue::error(field, format!("{message}; {field}={value} works"))
                .with_fix(field, value),
            None => Issue::error(field, message),
        };
        self.issues.push(issue);
    }

    fn model(&mut self) {
        let m = self.model;
        let per_token = model_flops_per_token(m, 0, AttentionCount::Full);
        // 6 FLOPs a parameter and token, routed experts counted once for each of E rather than K.
        let experts = m.moe.map_or(1.0, |moe| {
            moe.experts as f64 / (moe.top_k + moe.shared_experts).max(1) as f64
        });
        if per_token / 6.0 * experts.max(1.0) > MOST_PARAMETERS {
            self.error(
                "model",
                "more than 10^15 parameters; make the model smaller",
            );
            return;
        }
        if m.kv_heads > m.heads || !m.heads.is_multiple_of(m.kv_heads) {
            let heads = m.heads;
            self.error_near(
                "model.kv_heads",
                &format!(
                    "{heads} query heads do not divide over {} key-value heads",
                    m.kv_heads
                ),
                m.kv_heads.min(heads),
                |k| k <= heads && heads.is_multiple_of(k),
            );
        }
        if m.head_dim == 0 {
            self.error(
                "model.heads",
                "more heads than the hidden size; give model.head_dim or fewer heads",
            );
        }
        if let Some(moe) = m.moe {
            if moe.top_k > moe.experts {
                self.error(
                    "model.moe.top_k",
                    format!(
                        "a token cannot visit {} of {} experts",
                        moe.top_k, moe.experts
                    ),
                );
            }
            if moe.dense_layers > m.layers {
                self.error(
                    "model.moe.dense_layers",
                    format!("more than the {} layers of the model", m.layers),
                );
            }
        }
    }

    fn gpu(&mut self, gpu: &Gpu) {
        if gpu.usable.0 > gpu.memory.0 {
            self.error("gpu.usable_gib", "more than the GPU's memory_gib");
        } else if gpu.usable.0 <= 0.0 {
            self.error(
                "gpu.usable_gib",
                "nothing is left of the memory; give usable_gib or a larger memory_gib",
            );
        }
    }

    /// What tensor parallelism must divide.
    fn tensor(&mut self) {
        let (m, tp) = (*self.model, self.run.tp);
        let kv_fits = |t: u64| m.kv_heads.is_multiple_of(t) || t.is_multiple_of(m.kv_heads);
        let works = |t: u64| {
            m.heads.is_multiple_of(t) && m.ffn.is_multiple_of(t) && (m.mla.is_some() || kv_fits(t))
        };
        if works(tp) {
            return;
        }
        let why = if !m.heads.is_multiple_of(tp) {
            format!("{} attention heads do not divide by tp={tp}", m.heads)
        } else if !m.ffn.is_multiple_of(tp) {
            format!("the FFN size {} does not divide by tp={tp}", m.ffn)
        } else {
            format!(
                "{} key-value heads neither divide by tp={tp} nor divide it",
                m.kv_heads
            )
        };
        let gpus = self.run.gpus;
        let divides = |t: u64| works(t) && gpus.is_multiple_of(t);
        self.error_near("tp", &why, tp, divides);
    }

    fn layout(&mut self, gpu: &Gpu) -> Layout {
        let run = self.run;
        let per_node = run.gpus_per_node.unwrap_or(gpu.per_node);
        let ranks = run.tp.saturating_mul(run.pp).saturating_mul(run.cp);
        let product = format!("tp {} x pp {} x cp {} = {ranks}", run.tp, run.pp, run.cp);
        if run.gpus < ranks {
            self.issues.push(
                Issue::error(
                    "gpus",
                    format!(
                        "{} GPUs are fewer than {product}; gpus={ranks} works",
                        run.gpus
                    ),
                )
                .with_fix("gpus", ranks),
            );
        } else if !run.gpus.is_multiple_of(ranks) {
            let message = format!("{} GPUs do not divide by {product}", run.gpus);
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
                    self.error_near(field, &message, size, |value| {
                        run.gpus.is_multiple_of(others.saturating_mul(value))
                            && (field != "tp" || model.heads.is_multiple_of(value))
                    });
                }
                None => {
                    let down = run.gpus / ranks * ranks;
                    self.issues.push(
                        Issue::error("gpus", format!("{message}; gpus={down} works"))
                            .with_fix("gpus", down),
                    );
                }
            }
        }
        let dp = (run.gpus / ranks).max(1);
        let microbatches = self.batch(dp);
        let expert_dp = self.experts(dp);
        if run.tp > per_node {
            self.warnings.push(
                Issue::warning(
                    "tp",
                    format!("tensor parallelism over {} ranks leaves the node of {per_node} GPUs: every layer waits for the network", run.tp),
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
    fn batch(&mut self, dp: u64) -> u64 {
        let run = self.run;
        let each = dp.saturating_mul(run.micro_batch);
        if !run.global_batch.is_multiple_of(each) {
            let fitting = run.global_batch.div_ceil(each).saturating_mul(each);
            self.issues.push(
                Issue::error(
                    "global_batch",
                    format!(
                        "{} sequences do not divide over dp {dp} x micro-batch {}; global_batch={fitting} works",
                        run.global_batch, run.micro_batch
                    ),
                )
                .with_fix("global_batch", fitting),
            );
        }
        let microbatches = (run.global_batch / each).max(1);
        if let Some(lengths) = &run.microbatch_lengths
            && lengths.len() as u64 != microbatches
        {
            self.error(
                "microbatch_lengths",
                format!(
                    "{} lengths for {microbatches} micro-batches a rank",
                    lengths.len()
                ),
            );
        }
        microbatches
    }

    /// Data-parallel size of the experts.
    fn experts(&mut self, dp: u64) -> u64 {
        let run = self.run;
        let Some(moe) = self.model.moe else {
            for (field, size) in [("ep", run.ep), ("etp", run.etp)] {
                if size > 1 {
                    self.issues.push(
                        Issue::error(
                            field,
                            format!("{field}={size} needs a model with experts; {field}=1 works"),
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
                &format!("{} experts do not divide by ep={}", moe.experts, run.ep),
                run.ep,
                |ep| {
                    moe.experts.is_multiple_of(ep)
                        && ranks.is_multiple_of(ep.saturating_mul(run.etp))
                },
            );
        } else if !ranks.is_multiple_of(experts) {
            self.error_near(
                "ep",
                &format!("dp cp tp = {ranks} ranks do not divide by ep etp = {experts}"),
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
                &format!(
                    "the expert FFN size {} does not divide by etp={}",
                    moe.expert_ffn, run.etp
                ),
                run.etp,
                |etp| moe.expert_ffn.is_multiple_of(etp),
            );
        }
        (ranks / experts).max(1)
    }

    fn zero(&mut self, layout: &Layout) -> Zero {
        let group = layout.dp.saturating_mul(layout.cp);
        let shard = self.run.hsdp_shard.unwrap_or(group);
        if !group.is_multiple_of(shard) {
            self.error_near(
                "hsdp_shard",
                &format!("dp cp = {group} ranks do not divide into shard groups of {shard}"),
                shard.min(group),
                |size| group.is_multiple_of(size),
            );
        }
        if self.run.zero >= 2 && self.run.pp > 1 {
            self.warnings.push(
                Issue::warning(
                    "zero",
                    format!("ZeRO-{} with a pipeline communicates once a micro-batch; Megatron-LM refuses it, most runs use ZeRO-1", self.run.zero),
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

    fn sequence(&mut self) {
        let run = self.run;
        if !run.seq_len.is_multiple_of(run.cp) {
            self.error_near(
                "cp",
                &format!("{} tokens do not divide by cp={}", run.seq_len, run.cp),
                run.cp,
                |cp| run.seq_len.is_multiple_of(cp) && run.gpus.is_multiple_of(cp),
            );
        } else if run.sequence_parallel
            && !run.seq_len.is_multiple_of(run.cp.saturating_mul(run.tp))
        {
            self.warnings.push(Issue::warning(
                "seq_len",
                format!(
                    "{} tokens do not divide by cp tp: sequence parallelism pads them",
                    run.seq_len
                ),
            ));
        }
        if run.cp > 1 && run.cp_comm == CpComm::Ulysses {
            let (heads, ranks) = (self.model.heads, run.cp.saturating_mul(run.tp));
            if !heads.is_multiple_of(ranks) {
                self.error_near(
                    "cp",
                    &format!("Ulysses gives every rank whole heads: {heads} heads do not divide by cp tp = {ranks}"),
                    run.cp,
                    |cp| heads.is_multiple_of(cp.saturating_mul(run.tp)) && run.seq_len.is_multiple_of(cp),
                );
            }
        }
        if run.recompute == Recompute::Selective && run.flash_attention {
            self.warnings.push(Issue::warning(
                "recompute",
                "selective recomputation drops attention scores, which FlashAttention never keeps: no effect",
            ));
        }
    }

    fn schedule(&mut self) {
        let run = self.run;
        if run.schedule == Schedule::Interleaved && run.virtual_stages < 2 {
            self.issues.push(
                Issue::error(
                    "virtual_stages",
                    "interleaving needs at least 2 chunks a rank; virtual_stages=2 works",
                )
                .with_fix("virtual_stages", 2),
            );
        }
        if let Some(fixed) = run.schedule.fixed_chunks(&run.schedule_options)
            && run.virtual_stages != fixed
            && run.virtual_stages != 1
        {
            self.warnings.push(
                Issue::warning(
                    "virtual_stages",
                    format!(
                        "this schedule has {fixed} a rank; the {} given are ignored",
                        run.virtual_stages
                    ),
                )
                .with_fix("virtual_stages", 1),
            );
        }
        if run.schedule == Schedule::Custom && run.schedule_options.order.is_none() {
            self.error(
                "schedule_options.order",
                "your own order goes here: tokens such as 0F0,0BW0, ranks apart by |",
            );
        }
    }

    /// Layers of every global stage.
    fn stage_layers(&mut self) -> Vec<u64> {
        let (run, layers) = (self.run, self.model.layers);
        let stages = run.schedule.stages(run);
        if stages > MOST_STAGES || stages == 0 {
            self.error(
                "pp",
                format!("{stages} pipeline stages; at most {MOST_STAGES}"),
            );
            return Vec::new();
        }
        let Some(given) = &run.stage_layers else {
            if layers < stages {
                let chunks = stages / run.pp;
                let field = if chunks > 1 && layers >= run.pp {
                    "virtual_stages"
                } else {
                    "pp"
                };
                let message = format!("{layers} layers are fewer than {stages} pipeline stages");
                if field == "pp" {
                    self.error_near("pp", &message, layers / chunks, |pp| {
                        pp.saturating_mul(chunks) <= layers
                            && run
                                .gpus
                                .is_multiple_of(pp.saturating_mul(run.tp).saturating_mul(run.cp))
                    });
                } else {
                    self.error_near("virtual_stages", &message, layers / run.pp, |v| {
                        v.saturating_mul(run.pp) <= layers
                    });
                }
                return Vec::new();
            }
            if !layers.is_multiple_of(stages) {
                self.warnings.push(Issue::warning(
                    "pp",
                    format!("{layers} layers do not divide over {stages} stages: the inner ones hold one more (Megatron-LM needs it said by stage)"),
                ));
            }
            return even_split(layers, stages);
        };
        let total: u64 = given
            .iter()
            .fold(0, |sum, layers| sum.saturating_add(*layers));
        if given.len() as u64 != stages {
            self.error(
                "stage_layers",
                format!("{} numbers for {stages} stages", given.len()),
            );
        } else if total != layers {
            self.error(
                "stage_layers",
                format!("these add up to {total}, the model has {layers} layers"),
            );
        }
        given.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_issue(edit: impl Fn(&mut Run)) -> Issue {
        let mut run = Run::default();
        edit(&mut run);
        Scenario::new(&run).unwrap_err().remove(0)
    }

    #[test]
    fn the_default_run_makes_sense() {
        let scenario = Scenario::new(&Run::default()).unwrap();
        assert_eq!(scenario.layout.dp, 8);
        assert_eq!(scenario.layout.microbatches, 32);
        assert_eq!(scenario.stage_layers, [8, 8, 8, 8]);
        assert!(scenario.warnings.is_empty());
    }

    #[test]
    fn what_cannot_work_is_named_with_what_would() {
        let tp = first_issue(|run| run.tp = 7);
        assert_eq!(tp.field, "tp");
        assert_eq!(tp.fix.unwrap().set, [("tp", "8".to_owned())]);
        assert_eq!(first_issue(|run| run.gpus = 60).field, "gpus");
        assert_eq!(first_issue(|run| run.gpus = 4).field, "gpus");
        assert_eq!(first_issue(|run| run.pp = 3).field, "pp");
        assert_eq!(
            first_issue(|run| run.global_batch = 100).field,
            "global_batch"
        );
        assert_eq!(first_issue(|run| run.ep = 2).field, "ep");
        assert_eq!(
            first_issue(|run| run.stage_layers = Some(vec![8, 8, 8])).field,
            "stage_layers"
        );
        assert_eq!(
            first_issue(|run| run.stage_layers = Some(vec![8, 8, 8, 9])).field,
            "stage_layers"
        );
        assert_eq!(
            first_issue(|run| run.schedule = Schedule::Interleaved)
                .fix
                .unwrap()
                .label,
            "use virtual_stages=2"
        );
        let layers = first_issue(|run| {
            run.pp = 64;
            run.tp = 1;
        });
        assert_eq!(layers.field, "pp");
    }

    #[test]
    fn absurd_sizes_are_refused_not_computed() {
        let mut run = Run::default();
        run.model.parts.layers = Some(100_000);
        run.model.parts.hidden = Some(1 << 20);
        run.model.parts.ffn = Some(1 << 24);
        run.model.parts.experts = Some(1 << 16);
        run.model.parts.top_k = Some(1);
        run.model.parts.expert_ffn = Some(1 << 24);
        assert_eq!(Scenario::new(&run).unwrap_err()[0].field, "model");
    }
}
