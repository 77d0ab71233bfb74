//! A Run understood: shapes resolved, sizes derived, everything that cannot work refused with what would work.

use super::Run;
use super::adapter::Adapter;
use super::check::{Checked, check};
use super::choices::{Reduction, Schedule, TpOverlap};
use super::fitted::Fitted;
use super::layout::{Layout, Zero};
use super::objective::Learnt;
use super::offload::Offload;
use super::phases::Phases;
use super::precision::Precision;
use super::presets::Software;
use super::profile::Factors;
use super::samples::{MOST_IN_A_PACK, PackShape, SampleLengths, SamplePool};
use crate::cluster::Gpu;
use crate::issue::Issue;
use crate::model::{Architecture, AttentionCount, Vision, model_flops_per_token, vision_flops, weight_gradient_flops};
use crate::t;
use std::sync::Arc;

/// A Run that makes sense.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The Run as typed; the settings that need no resolving are read here.
    pub run: Run,
    pub model: Architecture,
    pub gpu: Gpu,
    pub layout: Layout,
    /// ZeRO stage and its groups.
    pub zero: Zero,
    pub precision: Precision,
    /// Decisions of the training software.
    pub software: Software,
    /// Adapters beside a frozen base, where not everything is trained.
    pub adapter: Option<Adapter>,
    /// Tensors that leave the GPU for its host.
    pub offload: Option<Offload>,
    pub phases: Option<Phases>,
    /// What is learnt from, and the models beside the trained one.
    pub learnt: Learnt,
    /// Factors of each kind of work over the shipped constants; `gpu` and `software` hold their part of it.
    pub factors: Factors,
    /// Constants of routed layers: those of the code, unless a fit tries others.
    pub fitted: Fitted,
    /// Model chunks a rank.
    pub chunks: u64,
    /// Layers of each global stage.
    pub stage_layers: Vec<u64>,
    /// The stage of the multi-token-prediction modules.
    pub mtp_stage: usize,
    /// Tokens that a sequence has room for: of a packed one its capacity.
    pub capacity: u64,
    /// Micro-batches of samples of unequal length.
    pub samples: Option<Arc<SamplePool>>,
    /// Work of each micro-batch of the replica that a step waits for, over a full one's, where samples are unequal:
    /// known once the stages are timed.
    pub scale: Option<Vec<f64>>,
    /// Settings that work but are doubtful.
    pub warnings: Vec<Issue>,
}

/// Samples in packs of `shape`, where their lengths are given.
///
/// # Errors
/// Issues of a micro-batch that has too many samples to be drawn.
fn drawn(lengths: Option<SampleLengths>, shape: PackShape) -> Result<Option<Arc<SamplePool>>, Issue> {
    let Some(lengths) = lengths else { return Ok(None) };
    SamplePool::shared(lengths, shape).map(Some).ok_or_else(|| {
        let message = t!("a micro-batch of more than {samples} samples is not drawn", samples = MOST_IN_A_PACK);
        Issue::error("lengths.base", message)
    })
}

impl Scenario {
    /// Understands `run`.
    ///
    /// # Errors
    /// Every setting that cannot work, with what would.
    pub fn new(run: &Run) -> Result<Self, Vec<Issue>> {
        let (mut model, gpu, precision) = match (run.model.resolve(), run.gpu.resolve(), run.precision.resolve()) {
            (Ok(model), Ok(gpu), Ok(precision)) => (model, gpu, precision),
            (model, gpu, precision) => {
                let issues = [model.err(), gpu.err(), precision.err()];
                return Err(issues.into_iter().flatten().flatten().collect());
            }
        };
        let errors = |run: &Run| Self::new(run).err().unwrap_or_default();
        let Checked { layout, zero, stage_layers, issues, warnings } = check(run, &model, &gpu, precision, errors);
        if !issues.is_empty() {
            return Err(issues);
        }
        let learnt = run.objective.resolve(run.adapter.method.is_some());
        let lengths = SampleLengths::of(&run.lengths, run.seq_len);
        let packed = run.lengths.pack.filter(|_| lengths.is_some());
        let shape = PackShape {
            capacity: packed.map(|tokens| tokens as f64),
            sequences: run.micro_batch.saturating_mul(learnt.objective.sequences()),
            align: alignment(&layout),
        };
        let samples = drawn(lengths, shape).map_err(|issue| vec![issue])?;
        model.headless = learnt.objective.is_headless();
        let factors = run.profile.factors();
        let software = run.software();
        let precision =
            if zero.stage == 3 && software.fsdp { precision.in_shards(software.keeps_quantised) } else { precision };
        Ok(Self {
            run: run.clone(),
            model,
            phases: run.filled_phases(&gpu).resolve(&gpu),
            learnt,
            gpu: factors.gpu(gpu),
            layout,
            zero,
            precision,
            adapter: run.adapter.resolve(&software, precision),
            offload: run.offload.resolve(run, &software),
            software: Software {
                sums_whole: software.sums_whole && !run.offload.is_deepspeed_alone(),
                ..factors.software(software)
            },
            factors,
            fitted: Fitted::default(),
            mtp_stage: run
                .mtp_stage
                .and_then(|stage| usize::try_from(stage).ok())
                .unwrap_or(stage_layers.len().saturating_sub(1)),
            chunks: run.schedule.stages(run) / run.pp,
            capacity: packed.unwrap_or(run.seq_len),
            samples,
            scale: None,
            stage_layers,
            warnings,
        })
    }

    /// When gradients are reduced: at the end of the step up to ZeRO-1, as the Run says with ZeRO-2, in every
    /// micro-batch with ZeRO-3. A group of all micro-batches on ranks of one stage ends with the step.
    pub fn reduction(&self) -> Reduction {
        match (self.zero.stage, self.run.zero2_reduce.unwrap_or(Reduction::MicroBatch)) {
            (0 | 1, _) => Reduction::Step,
            (2, Reduction::Group) if self.has_one_stage_a_rank() => Reduction::Step,
            (2, said) => said,
            _ => Reduction::MicroBatch,
        }
    }

    /// True where a rank adds up whole gradients over the micro-batches of a step, though its states are sharded: under
    /// FSDP where the Run says so, and with Hugging Face's Trainer, whose `no_sync` reduces with the last micro-batch
    /// alone.
    ///
    /// Of FSDP 1 every release does, of FSDP2 Accelerate from 1.11.0 on (commit ec92b1af, `accelerator.py`, `no_sync`:
    /// `set_requires_gradient_sync(False)`; before, a module of FSDP2 had no `no_sync` and reduced every micro-batch).
    /// `sync_each_batch` reduces every micro-batch (transformers 5.2.0 `trainer.py`). Under DeepSpeed Trainer enters no
    /// such context (the same), and stages 2 and 3 refuse it (DeepSpeed edaa722 `engine.py`, `no_sync`).
    pub fn sums_whole(&self) -> bool {
        match self.run.zero2_reduce {
            None => self.software.sums_whole,
            Some(Reduction::Step) => self.software.fsdp && self.zero.stage == 3,
            Some(Reduction::MicroBatch | Reduction::Group) => false,
        }
    }

    /// The vocabulary as every tensor-parallel rank gets an equal, aligned part of it: `ceil(v / (128 t)) 128 t`.
    /// Source: Megatron-LM `--make-vocab-size-divisible-by`.
    pub(crate) fn padded_vocabulary(&self) -> u64 {
        const MULTIPLE: u64 = 128;
        let multiple = MULTIPLE * self.layout.tp;
        self.model.vocab.div_ceil(multiple) * multiple
    }

    /// True if gradients are reduced to shards before the end of the step.
    pub(crate) fn shards_gradients(&self) -> bool {
        self.zero.stage >= 2 && self.reduction() != Reduction::Step
    }

    /// Reductions a step of a stage's gradients, at most its micro-batches.
    pub fn reductions(&self) -> u64 {
        let m = self.layout.microbatches;
        match self.reduction() {
            Reduction::MicroBatch => m,
            Reduction::Group => m.div_ceil(self.backwards_in_a_row().max(1)),
            Reduction::Step => 1,
        }
    }

    /// Updates of the weights a step: after every micro-batch in PipeDream (section 3.2), elsewhere once.
    pub fn updates(&self) -> f64 {
        match self.run.schedule {
            Schedule::Pipedream if self.layout.pp > 1 => self.layout.microbatches as f64,
            _ => 1.0,
        }
    }

    /// Consecutive micro-batches whose backward passes a rank runs for one stage before it turns to another stage: all
    /// on a rank of one stage, a group where its chunks are in a loop (N of Llama 3, section 3.3.2), one where they
    /// fold or run in two directions.
    fn backwards_in_a_row(&self) -> u64 {
        let (run, m) = (&self.run, self.layout.microbatches);
        match run.schedule {
            Schedule::Interleaved | Schedule::InterleavedOverlap | Schedule::InterleavedZb => {
                run.schedule_options.group.unwrap_or(run.pp).min(m)
            }
            Schedule::LoopedBfs => m,
            _ if self.has_one_stage_a_rank() => m,
            _ => 1,
        }
    }

    /// True if every rank holds one global stage.
    pub(crate) fn has_one_stage_a_rank(&self) -> bool {
        let both = matches!(self.run.schedule, Schedule::Chimera | Schedule::DualPipe);
        self.chunks == 1 && !(both && self.layout.pp > 1)
    }

    /// Tokens a step over all ranks: `B s`, or `d Σ L` over micro-batches of lengths of their own; of unequal samples
    /// without what pads them.
    pub fn tokens_per_step(&self) -> f64 {
        if let Some(samples) = &self.samples {
            return self.layout.dp as f64 * self.layout.microbatches as f64 * samples.real;
        }
        match self.lengths() {
            Some(tokens) => self.layout.dp as f64 * tokens * self.sequences_per_sample(),
            None => self.run.global_batch as f64 * self.run.seq_len as f64 * self.sequences_per_sample(),
        }
    }

    /// Sequences of a sample: two of a pair.
    fn sequences_per_sample(&self) -> f64 {
        self.learnt.objective.sequences() as f64
    }

    /// Sequences of a micro-batch: chosen and rejected are in one batch.
    pub(crate) fn sequences(&self) -> u64 {
        self.run.micro_batch.saturating_mul(self.learnt.objective.sequences())
    }

    /// Forward passes beside the trained model's own, in its passes: a reference's, and a teacher's by its FLOPs.
    pub(crate) fn forwards_beside(&self) -> f64 {
        let whole = |model: &Architecture| model_flops_per_token(model, self.attended_tokens(), AttentionCount::Causal);
        let teacher = self.learnt.teacher.map_or(0.0, |teacher| {
            teacher.architecture().map_or(1.0, |teacher| whole(&teacher) / whole(&self.model).max(1.0))
        });
        self.learnt.forwards() + teacher
    }

    /// Work of a data-parallel rank in a step, in micro-batches of the usual `s b` tokens: their number m, or `Σ L /
    /// (s b)` where they have lengths of their own. Longer and shorter ones hold more and fewer sequences.
    pub(crate) fn usual_microbatches(&self) -> f64 {
        if let Some(scale) = &self.scale {
            return scale.iter().sum();
        }
        if let Some(samples) = &self.samples {
            // Before it is known which replica is slowest: no replica has less.
            let least = if self.run.cp_dynamic { 0.0 } else { samples.least_work(self.usual_tokens()) };
            return self.layout.microbatches as f64 * least;
        }
        self.lengths().map_or(self.layout.microbatches as f64, |tokens| {
            tokens / (self.run.seq_len as f64 * self.run.micro_batch as f64)
        })
    }

    /// Tokens of a rank's micro-batches, where they have lengths of their own.
    fn lengths(&self) -> Option<f64> {
        let lengths = self.run.microbatch_lengths.as_ref()?;
        Some(lengths.iter().map(|length| *length as f64).sum())
    }

    /// Tokens of one micro-batch on one context-parallel rank: T = s b / c, twice that where samples are pairs.
    pub fn tokens_per_rank(&self) -> f64 {
        self.usual_tokens() / self.layout.cp as f64
    }

    /// Tokens of a full micro-batch.
    pub(crate) fn usual_tokens(&self) -> f64 {
        self.capacity as f64 * self.sequences() as f64
    }

    /// Tokens of a sample that one rank takes, where each runs on as many ranks as it needs.
    pub fn dynamic_rank_tokens(&self) -> Option<f64> {
        self.samples.as_ref().filter(|_| self.run.cp_dynamic)?;
        let part = self.capacity as f64 / self.layout.cp as f64;
        Some(self.run.cp_rank_tokens.map_or(part, |tokens| tokens as f64))
    }

    /// Tokens of the fullest micro-batch on one context-parallel rank: memory is for it.
    pub(crate) fn most_tokens_per_rank(&self) -> f64 {
        if let Some(tokens) = self.dynamic_rank_tokens() {
            return tokens;
        }
        let ranks = self.layout.cp as f64;
        if let Some(samples) = self.samples.as_ref().filter(|_| self.run.lengths.pack.is_none()) {
            return samples.lengths.longest() * self.sequences() as f64 / ranks;
        }
        let longest = self.run.microbatch_lengths.as_ref().and_then(|lengths| lengths.iter().max());
        longest.map_or_else(
            || self.tokens_per_rank(),
            |tokens| (tokens.saturating_mul(self.learnt.objective.sequences())) as f64 / ranks,
        )
    }

    /// Data-parallel replicas that wait for each other in every micro-batch, because they share experts, or weights and
    /// gradients that ZeRO gathers and reduces in each; 1 where replicas meet at the end of a step only.
    pub fn replicas_together(&self) -> u64 {
        let layout = &self.layout;
        let experts = layout.ep.saturating_mul(layout.etp) / layout.tp.saturating_mul(layout.cp).max(1);
        let often = self.zero.stage >= 2 && self.reduction() == Reduction::MicroBatch && !self.sums_whole();
        let shards = if often && !self.waits_for_last_microbatch() { self.zero.shard / layout.cp.max(1) } else { 1 };
        experts.max(shards).clamp(1, layout.dp)
    }

    /// Tokens that attention sees as one sequence: of packed documents `Σ l²/Σ l`, the mean length of the document
    /// that a token stands in, so that the pairs of the mask are `Σ l²/2`. Source: Llama 3, section 3.2 (document
    /// mask); FlashAttention's and Transformer Engine's kernels of variable length (`cu_seqlens`, thd).
    pub fn attended_tokens(&self) -> u64 {
        if let Some(samples) = &self.samples {
            return crate::units::whole(samples.attended.round()).map_or(1, |tokens| tokens.max(1));
        }
        let Some(documents) = &self.run.documents else {
            return self.run.seq_len;
        };
        let sum = |power: i32| documents.iter().map(|length| (*length as f64).powi(power)).sum::<f64>();
        let mean = crate::units::whole((sum(2) / sum(1)).round()).unwrap_or(self.run.seq_len);
        mean.clamp(1, self.run.seq_len)
    }

    /// Ranks of the all-to-all where context parallelism is hierarchical: as set, else those of a node. Source:
    /// Megatron-LM
    /// `transformer_config.py`, `cp_comm_type`: "A2A communications in low-level CP groups (e.g., via `NVLink`), and
    /// P2P communications in high-level CP groups (e.g., via `IBLink`)".
    pub fn exchange_ranks(&self) -> u64 {
        let (layout, cp) = (&self.layout, self.layout.cp);
        let near = (layout.per_node / layout.tp.max(1)).max(1);
        let divisors = (1..=near.min(cp)).rev().filter(|ranks| cp.is_multiple_of(*ranks));
        let whole = |ranks: &u64| self.model.heads.is_multiple_of(ranks * layout.tp);
        self.run.cp_a2a.or_else(|| divisors.into_iter().find(whole)).unwrap_or(1).clamp(1, cp.max(1))
    }

    /// True where ZeRO-2 and 3 wait for the last micro-batch of a step: under a pipeline PyTorch's FSDP adds up whole
    /// gradients until then, and ZeRO-3 keeps its gathered weights. Megatron-FSDP frees a layer's weights and reduces
    /// its gradients in every micro-batch, with a pipeline and without.
    ///
    /// Source: PyTorch `torch/distributed/pipelining/stage.py`, `backward_maybe_with_nosync`
    /// (`set_reshard_after_backward(False)`,
    /// `set_requires_gradient_sync(False)`); torchtitan b5bcd76, `torchtitan/distributed/fsdp.py:132` (no
    /// `reshard_after_forward` with a pipeline); Megatron-LM d98e8a6, `megatron_fsdp.py:761`
    /// (`grad_reduce_every_bprop`) and `:998` (release after the forward pass).
    pub(crate) fn waits_for_last_microbatch(&self) -> bool {
        self.software.fsdp && self.layout.pp > 1 && self.reduction() != Reduction::Step
    }

    /// True where the messages of ZeRO-2 and 3 go once a step, at its update: FSDP under a pipeline. Adapters gather
    /// their frozen base with the first micro-batches.
    pub(crate) fn shards_once_a_step(&self) -> bool {
        self.waits_for_last_microbatch() && self.adapter.is_none()
    }

    /// True if the peak is that of a moment (loss, a layer's backward pass, the optimizer's step) rather than of
    /// buffers that stay: in a pipeline several micro-batches are under way, and gradients stay until the last of them.
    pub(crate) fn peaks_by_moment(&self) -> bool {
        let software = self.software;
        software.frees_gradients && self.layout.pp == 1 || self.adapter.is_some() && !software.flat_buffers
    }

    /// True where tensor parallelism and an unfused loss are PyTorch's own: in every program but those with Megatron's
    /// buffers and XLA's.
    pub(crate) fn runs_pytorch_layers(&self) -> bool {
        !self.software.flat_buffers
    }

    /// True of adapters and of full fine-tuning by PyTorch's operators, launched one by one.
    pub(crate) fn tunes_eagerly(&self) -> bool {
        self.peaks_by_moment() && (self.adapter.is_some() || self.software.launches.is_some())
    }

    /// Bytes a parameter of what is trained.
    pub(crate) fn trained_bytes(&self) -> Precision {
        let adapter = self.adapter.as_ref();
        adapter.map_or(self.precision, |adapter| adapter.bytes)
    }

    /// True if parameters come from the host layer by layer.
    pub(crate) fn fetches_parameters(&self) -> bool {
        self.offload.is_some_and(|offload| offload.parameters.is_some())
    }

    /// Bytes of a weight of the layers as it travels: quantised, where the frozen base is.
    pub(crate) fn gathered_weight(&self) -> f64 {
        self.base_weight().unwrap_or(self.precision.gathered_weight())
    }

    /// Bytes of a weight that ZeRO-3 gathers on its way: eight bits with qwZ. Source: ZeRO++, section 3.1.
    pub(crate) fn sent_weight(&self) -> f64 {
        let whole = self.gathered_weight();
        // Weight shards gather what a recipe keeps, MXFP8 too.
        let recipe = self.precision.recipe.filter(|_| self.run.shards_weights() && self.precision.param_gather);
        match recipe {
            Some(recipe) => recipe.weight,
            None if self.run.zero_qwz => whole.min(1.0),
            None => whole,
        }
    }

    /// Ranks of the second copy of the weights, where ZeRO-3 keeps one. Source: ZeRO++, section 3.2.
    pub(crate) fn second_copy(&self) -> Option<u64> {
        self.run.zero_hpz.filter(|_| self.zero.stage == 3)
    }

    /// Bytes of a quantised weight of the frozen base.
    pub(crate) fn base_weight(&self) -> Option<f64> {
        let format = self.adapter.as_ref()?.base?;
        Some(format.bytes(self.model.hidden as f64))
    }

    /// What hides tensor-parallel messages: userbuffers overlap the gathers and reductions of sequence parallelism, and
    /// nothing without it. Source: Megatron-LM `arguments.py`, "overlap can happen only when sequence parallelism is
    /// enabled".
    pub(crate) fn tp_overlap(&self) -> TpOverlap {
        match self.software.tp_overlap {
            TpOverlap::Userbuffers if !self.layout.sequence_parallel => TpOverlap::None,
            overlap => overlap,
        }
    }

    /// Bytes of a gradient on its way between ranks.
    pub fn reduced_gradient(&self) -> f64 {
        let sent = self.software.grad_reduce_bytes.unwrap_or_else(|| self.trained_bytes().reduced());
        // Four bits by all-to-all, in a node and between nodes: ZeRO++, section 3.3.
        if self.run.zero_qgz && self.zero.stage == 3 { sent.min(0.5) } else { sent }
    }

    /// Tokens of the busiest expert rank over the average.
    pub(crate) fn imbalance(&self) -> f64 {
        let (experts, ranks) = (self.model.moe.map_or(1, |moe| moe.experts), self.layout.ep as f64);
        self.run.imbalance(experts as f64 / ranks, ranks)
    }

    /// Replicas of the language model that one replica of a tower on ranks of its own serves; below 1 where the tower
    /// has more replicas. 1 for a tower on the first stage.
    pub(crate) fn tower_share(&self) -> f64 {
        let apart = self.model.vision.filter(Vision::is_apart);
        apart.map_or(1.0, |vision| self.layout.dp as f64 / vision.replicas() as f64)
    }

    /// GPUs that a step keeps busy: those of the language model, and of a tower on ranks of its own.
    pub fn busy_gpus(&self) -> u64 {
        let apart = self.model.vision.filter(Vision::is_apart);
        self.layout.gpus + apart.map_or(0, |vision| vision.gpus)
    }

    /// Spare slots of an expert rank for clones, where there are other ranks to clone from.
    pub(crate) fn clones(&self) -> Option<u64> {
        self.run.moe_clones.filter(|slots| *slots > 0 && self.layout.ep > 1 && self.model.moe.is_some())
    }

    /// Model FLOPs a step, by the Run's convention, images besides.
    pub fn model_flops(&self) -> f64 {
        self.flops_per_token(self.run.attention_flops) * self.tokens_per_step() + self.image_flops()
    }

    /// FLOPs of a step in the vision tower and its projector: images of every sequence, forward and backward.
    pub(crate) fn image_flops(&self) -> f64 {
        let image = self
            .model
            .vision
            .map_or(0.0, |vision| vision.images_a_sequence() * vision_flops(&vision, self.model.hidden));
        let images = match &self.samples {
            Some(_) => (self.layout.dp * self.layout.microbatches * self.sequences()) as f64,
            None => self.tokens_per_step() / self.run.seq_len as f64,
        };
        image * images
    }

    /// Model FLOPs of a token: of a frozen base without the gradients of its weights, with 6 an adapter's parameter.
    pub fn flops_per_token(&self, count: AttentionCount) -> f64 {
        let model = &self.model;
        let seq = match &self.samples {
            // Without what pads them.
            Some(samples) => crate::units::whole(samples.attended_real.round()).map_or(1, |tokens| tokens.max(1)),
            None => self.attended_tokens(),
        };
        let trained_whole = model_flops_per_token(model, seq, count);
        match &self.adapter {
            None => trained_whole,
            Some(adapter) => trained_whole - weight_gradient_flops(model) + 6.0 * adapter.active_elements(model),
        }
    }
}

/// Tokens that a sample takes a multiple of: `lcm(2 c, c t)`, for chunks of a zig-zag ring and sequence parallelism.
/// Source: Megatron-Bridge 067f987, docs/training/packed-sequences.md.
fn alignment(layout: &Layout) -> f64 {
    let ring = if layout.cp > 1 { 2 * layout.cp } else { 1 };
    let cut = if layout.sequence_parallel && layout.tp > 1 { layout.cp * layout.tp } else { 1 };
    let mut both = ring;
    while both % cut != 0 {
        both += ring;
    }
    both as f64
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
    fn the_default_run_divides_into_8_replicas_of_4_equal_stages() {
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
        assert_eq!(first_issue(|run| run.global_batch = 100).field, "global_batch");
        assert_eq!(first_issue(|run| run.ep = 2).field, "ep");
        assert_eq!(first_issue(|run| run.stage_layers = Some(vec![8, 8, 8])).field, "stage_layers");
        assert_eq!(first_issue(|run| run.stage_layers = Some(vec![8, 8, 8, 9])).field, "stage_layers");
        let interleaved = first_issue(|run| run.schedule = Schedule::Interleaved);
        assert_eq!(interleaved.fix.unwrap().set, [("virtual_stages", "2".to_owned())]);
        let layers = first_issue(|run| {
            run.pp = 64;
            run.tp = 1;
        });
        assert_eq!(layers.field, "pp");
    }

    /// A note that counts stages names the two sizes that they are the product of, where they are more than the ranks.
    #[test]
    fn stages_are_said_with_the_sizes_that_they_come_from() {
        for (pp, chunks) in [(16_u64, 4_u64), (4, 5), (16, 1)] {
            let schedule = if chunks > 1 { Schedule::Interleaved } else { Schedule::OneFOneB };
            let model = crate::run::Based::preset("llama-3.1-405b");
            let run = Run { model, pp, virtual_stages: chunks, schedule, gpus: 512, tp: 8, ..Run::default() };
            let warnings = Scenario::new(&run).unwrap().warnings;
            let said =
                warnings.iter().map(|issue| issue.message.to_string()).find(|said| said.contains("do not divide"));
            let stages = pp * chunks;
            let expected = match chunks {
                1 => format!("126 layers do not divide over {stages} stages: "),
                _ => format!("over {stages} stages (PP {pp} × {chunks} virtual stages): "),
            };
            assert!(said.as_ref().is_some_and(|said| said.contains(&expected)), "{expected} {said:?}");
        }
        let issue = first_issue(|run| (run.pp, run.stage_layers) = (1, Some(vec![32, 0])));
        assert_eq!(issue.message.to_string(), "2 numbers for 1 stage");
    }

    #[test]
    fn absurd_sizes_are_refused_not_computed() {
        let mut run = Run::default();
        run.model.parts.layers = Some(100_000);
        run.model.parts.hidden = Some(1 << 20);
        run.model.parts.ffn = Some(1 << 24);
        run.model.parts.moe.experts = Some(1 << 16);
        run.model.parts.moe.top_k = Some(1);
        run.model.parts.moe.expert_ffn = Some(1 << 24);
        assert_eq!(Scenario::new(&run).unwrap_err()[0].field, "model");
    }
}
