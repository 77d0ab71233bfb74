//! The sequence, the schedule and the layers of its stages.

use super::{Check, divisors};
use crate::issue::Issue;
use crate::message::Message;
use crate::run::layout::even_split;
use crate::run::{AttentionKernel, CpComm, Format, Module, Recompute, Schedule, stages_said};
use crate::t;

/// More pipeline stages than this are refused before anything is allocated for them; no published run has a tenth of
/// it.
pub const MAX_STAGES: u64 = 4096;

impl Check<'_> {
    /// The ranks of the all-to-all of hierarchical context parallelism divide its ranks, and the heads.
    fn exchange(&mut self, ranks: u64) {
        let (run, heads) = (self.run, self.model.heads);
        if run.cp_comm != CpComm::Hierarchical {
            self.doubt("cp_a2a", "cp_a2a is for cp_comm=hierarchical: nothing else has two levels", "");
        } else if !run.cp.is_multiple_of(ranks) {
            let message = t!("all-to-alls of {ranks} ranks need a multiple of {ranks}; CP is {cp}", cp = run.cp, ranks);
            self.error_near("cp_a2a", message, ranks.min(run.cp), divisors(run.cp));
        } else if heads.is_multiple_of(run.tp) && !heads.is_multiple_of(ranks.saturating_mul(run.tp)) {
            let message = t!(
                "an all-to-all gives every rank whole heads: {heads} heads do not divide by cp_a2a tp = {ranks}",
                heads,
                ranks = ranks.saturating_mul(run.tp)
            );
            self.error_near("cp_a2a", message, ranks, divisors(run.cp));
        }
    }
    pub fn sequence(&mut self) {
        let run = self.run;
        if !run.seq_len.is_multiple_of(run.cp) {
            self.error_near(
                "cp",
                t!("{seq_len} tokens do not divide by cp={cp}", seq_len = run.seq_len, cp = run.cp),
                run.cp,
                divisors(run.seq_len),
            );
        } else if run.sequence_parallel && !run.seq_len.is_multiple_of(run.cp.saturating_mul(run.tp)) {
            self.warnings.push(Issue::warning(
                "seq_len",
                t!("{seq_len} tokens do not divide by cp tp: sequence parallelism pads them", seq_len = run.seq_len),
            ));
        }
        if let Some(documents) = &run.documents
            && let Some(length) = documents.iter().find(|length| !(1..=run.seq_len).contains(*length))
        {
            let message = t!(
                "a document of {length} tokens is none of a sequence of {seq_len}: it has 1 to as many",
                length = *length,
                seq_len = run.seq_len
            );
            self.refuse("documents", message, run.seq_len);
        }
        if let Some(ranks) = run.cp_a2a {
            self.exchange(ranks);
        }
        if run.cp > 1 && run.cp_comm == CpComm::Ulysses {
            let (heads, ranks) = (self.model.heads, run.cp.saturating_mul(run.tp));
            if !heads.is_multiple_of(ranks) {
                self.error_near(
                    "cp",
                    t!(
                        "Ulysses gives every rank whole heads: {heads} heads do not divide by cp tp = {ranks}",
                        heads,
                        ranks
                    ),
                    run.cp,
                    divisors(heads),
                );
            }
        }
        self.recomputation();
    }

    /// Says what this software makes of the recomputation that is asked for, and what it does not save.
    fn recomputation(&mut self) {
        let run = self.run;
        if run.recompute == Recompute::Selective && run.recomputed() != &run.recompute {
            self.warnings.push(Issue::notice(
                "recompute",
                match run.recomputed() {
                    Recompute::Full => {
                        t!("this software recomputes whole layers: that of the attention core alone is \
                    Megatron-LM's")
                    }
                    _ => t!("selective recomputation is torchtitan's here: every second matrix product runs again. \
                    That of the attention core alone is Megatron-LM's"),
                },
            ));
        }
        let core = match run.recomputed() {
            Recompute::Selective => true,
            Recompute::Modules(modules) => modules.contains(&Module::CoreAttn),
            Recompute::Budget(_) if !run.software().compile => {
                let message = "a budget of activations is torch.compile's: this software does not compile";
                self.warnings.push(Issue::warning("recompute.budget", message).with_fix("stack.compile", true));
                false
            }
            _ => false,
        };
        if core && run.runs_flash_attention() {
            self.warnings.push(Issue::warning(
                "recompute",
                t!("recomputing the core of attention is meant to save its scores, but FlashAttention keeps none: \
                        here it runs the kernel again and saves only its statistics"),
            ));
        }
    }

    /// Checks the consequences of fp32 for attention and for time.
    pub(crate) fn full_precision(&mut self) {
        let run = self.run;
        if run.precision.computes() != Format::Fp32 {
            return;
        }
        if run.attention_kernel() != AttentionKernel::Eager {
            self.doubt(
                "flash_attention",
                t!("FlashAttention has no fp32 kernel: attention scores are stored, and counted"),
                false,
            );
        }
        self.warnings
            .push(Issue::notice("precision", t!("fp32 matrices are multiplied in TF32, at half the bf16 peak")));
    }

    pub fn schedule(&mut self) {
        let run = self.run;
        if run.schedule == Schedule::Interleaved && run.virtual_stages < 2 {
            self.issues.push(
                Issue::error("virtual_stages", "interleaving needs at least 2 chunks per rank")
                    .with_fix("virtual_stages", 2)
                    .or_fix("schedule", "1f1b"),
            );
        }
        if run.schedule == Schedule::Custom && run.schedule_options.order.is_none() {
            self.error("schedule_options.order", "your own order goes here: tokens such as 0F0,0BW0, ranks apart by |");
        }
    }

    /// Stage of multi-token prediction: the last virtual stage of a rank other than the first, as Megatron-LM's
    /// `validate_layer_layout` demands, or with the loss.
    pub(crate) fn mtp_stage(&mut self) {
        let run = self.run;
        let stages = run.schedule.stages(run);
        let Some(stage) = run.mtp_stage else { return };
        if self.model.mtp_modules == 0 {
            let message = t!("the model has no multi-token prediction: a stage for it changes nothing");
            self.warnings.push(Issue::warning("mtp_stage", message));
        }
        let last = stages.saturating_sub(1);
        let fitting = stages.saturating_sub(run.pp) + 1..stages;
        if stage != last && !fitting.contains(&stage) {
            let message = t!(
                "multi-token prediction stands on the last virtual stage of any rank but the first: a stage from \
                    {first} to {last}",
                first = fitting.start.min(last),
                last
            );
            self.error_near("mtp_stage", message, stage, fitting.chain([last]));
        }
    }

    /// The error of a model that has fewer layers than `stages`.
    fn too_few_layers(&mut self, stages: u64) {
        let (run, layers) = (self.run, self.model.layers);
        let chunks = stages / run.pp;
        let message = t!("{layers} layers are fewer than {stages}", layers, stages = stages_said(run));
        if chunks > 1 && layers >= run.pp {
            let most = layers / run.pp;
            self.error_near("virtual_stages", message, most, 1..=most);
        } else {
            let fewer = divisors(run.training_gpus()).filter(|pp| *pp <= layers / chunks);
            self.error_near("pp", message, layers / chunks, fewer);
        }
    }

    pub fn stage_layers(&mut self) -> Vec<u64> {
        let (run, layers) = (self.run, self.model.layers);
        let stages = run.schedule.stages(run);
        if stages > MAX_STAGES || stages == 0 {
            self.error("pp", t!("{stages}; at most {MAX_STAGES}", stages = stages_said(run), MAX_STAGES));
            return Vec::new();
        }
        let Some(given) = &run.stage_layers else {
            // Embedding and head may have stages of their own.
            if layers + 2 < stages || layers < run.pp {
                self.too_few_layers(stages);
                return Vec::new();
            }
            let even = even_split(layers, stages);
            return if let Some(whole) = self.whole_blocks(&even) {
                // Boundaries that moved to whole blocks are no split by one layer more.
                if !layers.is_multiple_of(stages) && whole == even {
                    self.warnings.push(one_layer_more(&even, stages_said(run)));
                }
                whole
            } else {
                let stages = stages_said(run);
                let message = t!("these {layers} layers are fewer whole blocks than {stages}", layers, stages);
                let fewer = divisors(run.training_gpus()).filter(|pp| *pp < run.pp);
                self.error_near("pp", message, run.pp, fewer);
                even
            };
        };
        let total: u64 = given.iter().fold(0, |sum, layers| sum.saturating_add(*layers));
        if given.len() as u64 != stages {
            let stages = stages_said(run);
            self.error(
                "stage_layers",
                match given.len() {
                    1 => t!("1 number for {stages}", stages),
                    given => t!("{given} numbers for {stages}", given, stages),
                },
            );
        } else if total != layers {
            self.error("stage_layers", t!("these add up to {total}, the model has {layers} layers", total, layers));
        }
        self.half_block(given);
        given.clone()
    }
}

/// The notice of stages that are as even as can be, where some hold one layer more: nothing is wrong. `stages`: how
/// many there are, in words.
fn one_layer_more(even: &[u64], stages: Message) -> Issue {
    let (layers, count) = (even.iter().sum::<u64>(), even.len() as u64);
    let more = |stage: &usize| even[*stage] > layers / count;
    let first = (0..even.len()).find(more).unwrap_or(0);
    let last = (0..even.len()).rev().find(more).unwrap_or(first);
    let message = if first == last {
        t!(
            "{layers} layers do not divide over {stages}: stage {first} holds one more \
            (Layers by stage sets each)",
            layers,
            stages,
            first
        )
    } else {
        t!(
            "{layers} layers do not divide over {stages}: stages {first} to {last} hold one more \
            (Layers by stage sets each)",
            layers,
            stages,
            first,
            last
        )
    };
    Issue::notice("pp", message)
}
