//! Checks of a Run, part by part; a refusal proposes values, which `report::mend` tries on the whole Run.

mod adapter;
mod layout;
mod lengths;
mod model;
mod objective;
mod offload;
mod pattern;
mod phases;
mod rl;
mod schedule;
mod tower;

pub use model::MAX_PARAMETERS;
pub(crate) use model::divides_by;
pub use schedule::MAX_STAGES;

use super::layout::{Layout, Zero, divisors};
use super::precision::{Format, Precision};
use super::presets::{GpuFamily, STACKS, gpu};
use super::stack::StackParts;
use super::{Based, Run};
use crate::cluster::Gpu;
use crate::issue::Issue;
use crate::message::{Message, verbatim};
use crate::model::Architecture;
use crate::t;
use std::fmt::Display;

/// Result of a pass over a Run.
pub(crate) struct Checked {
    /// Parallel sizes; of no use where there are issues.
    pub layout: Layout,
    /// ZeRO's groups; the same.
    pub zero: Zero,
    /// Layers of each global stage; the same.
    pub stage_layers: Vec<u64>,
    /// Settings that cannot work.
    pub issues: Vec<Issue>,
    /// Settings that are doubtful.
    pub warnings: Vec<Issue>,
}

/// Checks everything, so that a person sees all that is wrong at once; `errors` understands another Run.
pub fn check(
    run: &Run,
    model: &Architecture,
    gpu: &Gpu,
    precision: Precision,
    errors: fn(&Run) -> Vec<Issue>,
) -> Checked {
    let mut check = Check { run, model, issues: Vec::new(), warnings: Vec::new() };
    check.name();
    check.model();
    check.pattern();
    check.gpu(gpu);
    check.profile();
    check.stack_of_its_year();
    check.gpu_figures();
    check.tensor();
    check.recurrent();
    let layout = check.layout(gpu);
    check.tower(&layout);
    check.clones();
    let zero = check.zero(&layout);
    check.sequence();
    check.lengths(&layout);
    check.context_masks();
    check.full_precision();
    check.adapter(precision);
    check.offload(gpu, &layout);
    check.rl();
    check.phases(gpu, errors);
    check.objective();
    check.schedule();
    check.mtp_stage();
    let stage_layers = check.stage_layers();
    Checked { layout, zero, stage_layers, issues: check.issues, warnings: check.warnings }
}

/// Contradictions of the settings of reinforcement learning alone.
pub(crate) fn contradictions(run: &Run, model: &Architecture) -> Vec<Issue> {
    let mut check = Check { run, model, issues: Vec::new(), warnings: Vec::new() };
    check.rl();
    check.issues
}

/// One pass over a Run that collects what is wrong with it.
struct Check<'a> {
    run: &'a Run,
    model: &'a Architecture,
    issues: Vec<Issue>,
    warnings: Vec<Issue>,
}

impl Check<'_> {
    fn error(&mut self, field: &str, message: impl Into<Message>) {
        self.issues.push(Issue::error(field, message));
    }
    /// An error that another `value` of the field mends.
    fn refuse(&mut self, field: &'static str, message: impl Into<Message>, value: impl Display) {
        self.issues.push(Issue::error(field, message).with_fix(field, value));
    }
    /// A warning that another `value` of the field silences.
    fn doubt(&mut self, field: &'static str, message: impl Into<Message>, value: impl Display) {
        self.warnings.push(Issue::warning(field, message).with_fix(field, value));
    }

    /// The default of the format is software of before the GPU: 46 MLPerf runs on H200 and Blackwell are predicted 27 %
    /// slow with it, 9 % with the stack of their year.
    fn stack_of_its_year(&mut self) {
        let (stack, gpu) = (&self.run.stack, &self.run.gpu);
        let newer = gpu.family().and_then(GpuFamily::stack_of_its_year);
        if let Some(newer) = newer.filter(|_| *stack == Based::preset(STACKS[0].choice.id)) {
            let message = t!(
                "the training software is the default, {default}, which is older than {gpu}: published runs on such \
                    GPUs are predicted 27 % slow with it, 9 % off with the software of their year; set {newer}, or \
                    what you use",
                default = verbatim(STACKS[0].choice.label),
                gpu = gpu.title(),
                newer = verbatim(Based::<StackParts>::preset(newer).preset_row().choice.label)
            );
            self.doubt("stack", message, newer);
        }
        if !self.run.is_on_gpus_of_its_software() {
            self.doubt("stack", t!("Primus trains on AMD's GPUs; this one is NVIDIA's"), "megatron-2025");
        }
    }

    /// Figures of a GPU that is not out, and formats that its tensor cores lack.
    fn gpu_figures(&mut self) {
        let gpu = &self.run.gpu;
        let Some(family) = gpu.family() else { return };
        if family.is_announced() {
            let message = t!(
                "the figures of {gpu} are announced: no data sheet is out and nothing was measured; the range of a \
                    step is that of a GPU of which no run is published",
                gpu = gpu.title()
            );
            self.warnings.push(Issue::warning("gpu", message));
        }
        let computes = self.run.precision.computes();
        if !family.computes_in_bf16() && computes == Format::Bf16 {
            let message = t!(
                "tensor cores of {gpu} do not multiply bf16: the time is that of fp16, without them it is several \
                    times as long",
                gpu = gpu.title()
            );
            self.doubt("precision", message, "fp16");
        }
    }

    /// A profile is of one GPU.
    fn profile(&mut self) {
        let (fitted, own) = (self.run.profile.gpu.as_deref(), self.run.gpu.base);
        let is_used = self.run.profile.means.is_some();
        if let (true, Some(fitted), Some(own)) = (is_used, fitted, own)
            && fitted != own
        {
            let label = |id: &str| verbatim(gpu(id).map_or_else(|| id.to_owned(), |row| row.choice.label.to_owned()));
            let message = t!(
                "the profile was fitted on {fitted}: what it says of kernels, links and network need not hold on {own}",
                fitted = label(fitted),
                own = label(own)
            );
            self.warnings.push(Issue::warning("profile.gpu", message));
        }
    }

    /// An error whose fix is the value of `candidates` nearest to `wanted` that works.
    fn error_near(
        &mut self,
        field: &'static str,
        message: Message,
        wanted: u64,
        candidates: impl IntoIterator<Item = u64>,
    ) {
        let issue = Issue::error(field, message).with_near(field, wanted, candidates);
        self.issues.push(issue);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{AttentionKernel, Scenario};

    /// Transformer Engine's context parallelism, cuts that Megatron-LM refuses, kernels written for one generation of
    /// GPUs.
    #[test]
    fn what_implementations_refuse_is_an_error_whose_fix_works() {
        type Case = (&'static str, &'static str, &'static str, fn(&mut Run));
        fn kernel(run: &mut Run, gpu: &'static str, kernel: AttentionKernel, flash: Option<bool>) {
            run.gpu = Based::preset(gpu);
            (run.stack.parts.attention, run.flash_attention) = (Some(kernel), flash);
        }
        fn experts(run: &mut Run, stack: &'static str, gpu: &'static str, fused: Option<bool>) {
            (run.stack, run.gpu) = (Based::preset(stack), Based::preset(gpu));
            run.stack.parts.moe_fused = fused;
        }
        // Model, field, value of the fix where there is one to choose; no field where the run is accepted.
        let cases: &[Case] = &[
            ("gpt-oss-20b", "cp_comm", "", |run| run.cp = 2),
            ("gemma-3-27b", "cp_comm", "", |run| run.cp = 2),
            ("nemotron-3-nano", "tp", "", |run| run.tp = 16),
            ("nemotron-3-nano", "stage_layers", "", |run| {
                run.pp = 4;
                run.stage_layers = Some(vec![13; 4]);
            }),
            ("gpt-oss-20b", "model.layers", "", |run| run.model.parts.layers = Some(13)),
            ("llama-3.1-8b", "stack.attention", "flash-2", |run| {
                kernel(run, "a100-sxm-80gb", AttentionKernel::Flash3, None);
            }),
            ("llama-3.1-8b", "stack.attention", "flash-2", |run| {
                kernel(run, "a100-sxm-80gb", AttentionKernel::Fp8, None);
            }),
            ("llama-3.1-8b", "stack.attention", "flash-2", |run| {
                kernel(run, "h100-sxm-80gb", AttentionKernel::Flash4, None);
            }),
            ("llama-3.1-8b", "", "", |run| kernel(run, "b200-sxm", AttentionKernel::Flash4, None)),
            ("llama-3.1-8b", "stack.attention", "flash-2", |run| {
                kernel(run, "h100-sxm-80gb", AttentionKernel::Aiter, None);
            }),
            ("llama-3.1-8b", "", "", |run| kernel(run, "mi350x", AttentionKernel::Aiter, None)),
            ("llama-3.1-8b", "stack.attention", "true", |run| {
                kernel(run, "h100-sxm-80gb", AttentionKernel::Cudnn, Some(false));
            }),
            ("qwen-3-30b-a3b", "stack.moe_fused", "false", |run| {
                experts(run, "megatron-2025", "h100-sxm-80gb", Some(true));
            }),
            ("qwen-3-30b-a3b", "", "", |run| experts(run, "megatron-2025", "h100-sxm-80gb", Some(false))),
            ("qwen-3-30b-a3b", "", "", |run| experts(run, "megatron-2026", "h100-sxm-80gb", None)),
            ("qwen-3-30b-a3b", "", "", |run| experts(run, "megatron-2025", "b200-sxm", Some(true))),
        ];
        for (at, (model, field, value, edit)) in cases.iter().enumerate() {
            let mut run = Run { model: Based::preset(model), pp: 1, tp: 1, ..Run::default() };
            edit(&mut run);
            let Err(mut issues) = Scenario::new(&run) else {
                assert_eq!(*field, "", "{at}");
                continue;
            };
            let issue = issues.remove(0);
            let set = issue.fix.unwrap().set;
            assert_eq!(issue.field, *field, "{at}");
            assert!(value.is_empty() || set[0].1 == *value, "{at}: {set:?}");
            let errors = Scenario::new(&run.with_texts(&set).unwrap()).err();
            assert!(errors.is_none(), "{at}: {errors:?}");
        }
    }
}
