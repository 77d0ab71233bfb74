//! The language-model head: logits and loss, where the largest single tensors of a run are.

use super::activations::{cut, keeps_gathered_inputs};
use crate::explain::Quantity;
use crate::explain::symbols::{ELEMENT, HIDDEN, LOGIT_HELD, LOGIT_PEAK, MODEL_HEADS, PADDED};
use crate::run::{CrossEntropy, Format, Scenario};
use crate::source::{Cited, FMS_ACCELERATION, MEGATRON, TORCHTITAN, TRANSFORMER_ENGINE, TRL};

/// Bytes a logit of one loss kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossKernel {
    /// From the loss's forward to its backward.
    pub held: f64,
    /// At the worst instant, with what the allocator cannot reuse.
    pub peak: f64,
}

/// Slices of a chunked cross-entropy. Source: ISEEKYAN/Megatron-LM PR 132, 4.638 to 0.580 GiB for 8192 x 151936.
pub(super) const CHUNKS: f64 = 8.0;

const MEGATRON_UNFUSED: Cited<LossKernel> = Cited::new(
    LossKernel { held: 6.0, peak: 10.0 },
    &MEGATRON,
    "cross_entropy.py: bf16 logits and their fp32 copy; 8 by counting tensors, 10 meets the outcomes of Fujii 2024 \
        better",
);
const MEGATRON_FUSED: Cited<LossKernel> =
    Cited::new(LossKernel { held: 4.0, peak: 6.0 }, &MEGATRON, "--cross-entropy-loss-fusion");
const TE_FUSED: Cited<LossKernel> = Cited::new(
    LossKernel { held: 2.0, peak: 2.0 },
    &TRANSFORMER_ENGINE,
    "cross_entropy.py: gradient written over the logits",
);
/// The backward pass writes two gradients in fp32 beside the log-probabilities. One goes into the block of the fp32
/// copy; the other needs a new block, because the block of the bf16 logits is too small.
const PYTORCH: Cited<LossKernel> = Cited::new(
    LossKernel { held: 10.0, peak: 14.0 },
    &TORCHTITAN,
    "cross_entropy(logits.float()): bf16 logits, fp32 copy, log-probabilities",
);

/// Logits in bf16, and their gradient beside them: neither the fp32 copy nor the softmax is written.
const COMPILED: Cited<LossKernel> = Cited::new(
    LossKernel { held: 2.0, peak: 4.0 },
    &TORCHTITAN,
    "components/loss.py: the loss among the compiled parts",
);

/// A kernel that joins head and loss keeps the gradient of its input and no logits.
const FUSED_LINEAR: Cited<LossKernel> = Cited::new(
    LossKernel { held: 0.0, peak: 0.0 },
    &FMS_ACCELERATION,
    "a100_80gb_liger.csv: peaks do not depend on the vocabulary",
);

/// Log-probabilities of the tokens that were chosen, whole in the logits' own format: the bf16 logits and their
/// log-softmax, then a gradient of each over one sequence. ms-swift 3602360 `rlhf_trainers/rlhf_mixin.py`
/// (`get_per_token_logps`) calls it too.
const SELECTIVE: Cited<LossKernel> = Cited::new(
    LossKernel { held: 4.0, peak: 6.0 },
    &TRL,
    "f2cd577 trainer/utils.py, selective_log_softmax: 2 + 2 in bf16, 2 for each of two gradients",
);

/// Every loss kernel with its own figures; chunks cut those of the unfused ones.
pub const LOSS_KERNELS: [(&str, Cited<LossKernel>); 6] = [
    ("Megatron's, unfused", MEGATRON_UNFUSED),
    ("Megatron's, fused", MEGATRON_FUSED),
    ("Transformer Engine's", TE_FUSED),
    ("PyTorch's", PYTORCH),
    ("PyTorch's, compiled", COMPILED),
    ("TRL's, of 16-bit logits", SELECTIVE),
];

/// The loss kernel of a scenario and where its bytes are.
pub(crate) fn loss_kernel(scenario: &Scenario) -> Cited<LossKernel> {
    let over = |kernel: Cited<LossKernel>, parts: f64| {
        Cited::new(
            LossKernel { held: kernel.value.held / parts, peak: kernel.value.peak / parts },
            kernel.source,
            kernel.place,
        )
    };
    if scenario.precision.computes == Format::Fp32 {
        return full_precision(scenario);
    }
    let unfused = if scenario.runs_pytorch_layers() { PYTORCH } else { MEGATRON_UNFUSED };
    match scenario.software.cross_entropy {
        CrossEntropy::Megatron => unfused,
        CrossEntropy::MegatronFused => MEGATRON_FUSED,
        CrossEntropy::TeFused => TE_FUSED,
        CrossEntropy::Compiled => COMPILED,
        CrossEntropy::Chunked => over(unfused, CHUNKS),
        CrossEntropy::FusedLinear => FUSED_LINEAR,
        CrossEntropy::Selective => SELECTIVE,
    }
}

/// Kernel of a loss whose logits are fp32 already, so that none copies them: Megatron's softmax is in their place
/// and gets a gradient beside it, Transformer Engine's gradient is in theirs, PyTorch keeps the log-probabilities
/// too.
fn full_precision(scenario: &Scenario) -> Cited<LossKernel> {
    let pytorch = scenario.runs_pytorch_layers();
    let (logits, held, peak) = match scenario.software.cross_entropy {
        CrossEntropy::FusedLinear => (FUSED_LINEAR, 0.0, 0.0),
        CrossEntropy::TeFused => (TE_FUSED, 4.0, 4.0),
        CrossEntropy::Compiled => (COMPILED, 4.0, 8.0),
        CrossEntropy::Selective => (SELECTIVE, 4.0, WIDE_SELECTIVE),
        CrossEntropy::MegatronFused => (MEGATRON_FUSED, 4.0, 8.0),
        CrossEntropy::Megatron if pytorch => (PYTORCH, 8.0, 8.0),
        CrossEntropy::Megatron => (MEGATRON_UNFUSED, 4.0, 8.0),
        CrossEntropy::Chunked if pytorch => (PYTORCH, 8.0 / CHUNKS, 8.0 / CHUNKS),
        CrossEntropy::Chunked => (MEGATRON_UNFUSED, 4.0 / CHUNKS, 8.0 / CHUNKS),
    };
    Cited::new(LossKernel { held, peak }, logits.source, "fp32 logits, no copy of them")
}

/// Bytes a logit at the peak of TRL's loss over fp32 logits: these, the gradients of the sequences, and all of them in
/// one tensor.
const WIDE_SELECTIVE: f64 = 12.0;

/// True where logits come as the model computes them: DeepSpeed's engine does not cast what it returns, Accelerate
/// casts it to fp32 under every other launcher. Source: huggingface/accelerate 16cb6eb `accelerator.py:590`
/// (`native_amp`), `:1824` (`convert_outputs_to_fp32`). Master weights are DeepSpeed's alone.
fn keeps_16_bits(scenario: &Scenario) -> bool {
    scenario.precision.master > 0.0
}

/// Bytes a logit at the peak of eager operators, whose loss is fp32. Unfused: bf16 logits, their fp32 copy, the shifted
/// copy of it and the log-probabilities; one kernel over the shifted copy writes its gradient there; in place, without
/// the shifted copy in fp32. Read off the slopes of peaks over tokens.
pub(crate) fn eager_kernel(scenario: &Scenario) -> Cited<f64> {
    let cited = |bytes, place| Cited::fitted(bytes, &FMS_ACCELERATION, place);
    match scenario.software.cross_entropy {
        // Log-probabilities, zeros for their gradient, its exponential and the sum of both, beside the bf16 logits.
        CrossEntropy::Megatron if scenario.layout.tp > 1 => {
            Cited::new(18.0, &TORCHTITAN, "torch/distributed/tensor/parallel/loss.py: 2 + 4 x 4")
        }
        CrossEntropy::Megatron => cited(14.0, "a100_80gb.csv: 2 + 4 + 4 + 4"),
        CrossEntropy::MegatronFused => cited(10.0, "a100_80gb.csv, -foak: 2 + 4 + 4"),
        CrossEntropy::Compiled => Cited::new(COMPILED.value.peak, COMPILED.source, COMPILED.place),
        CrossEntropy::TeFused => cited(8.0, "a100_80gb_liger.csv, -foak: 4 + 4"),
        CrossEntropy::Chunked => cited(14.0 / CHUNKS, "a100_80gb.csv, in chunks"),
        CrossEntropy::FusedLinear => cited(0.0, "a100_80gb_liger.csv, -liger"),
        CrossEntropy::Selective if keeps_16_bits(scenario) => {
            Cited::new(SELECTIVE.value.peak, SELECTIVE.source, SELECTIVE.place)
        }
        CrossEntropy::Selective => Cited::new(
            WIDE_SELECTIVE,
            SELECTIVE.source,
            "f2cd577 trainer/utils.py, selective_log_softmax: fp32 logits, gradients by sequence, their sum",
        ),
    }
}

/// Bytes a logit while another model's log-probabilities are computed beside those of the trained one, whose logits
/// wait for the backward pass: what the loss holds, twice. Source: LLaMA-Factory ff6d4d1 `train/dpo/trainer.py`
/// (`concatenated_forward`: bf16 logits, `to(torch.float32)`, `log_softmax`; `compute_reference_log_probs` behind it);
/// TRL f2cd577 `dpo_trainer.py:1373` in the same order, with the logits of the trained model until its function ends:
/// these, their log-probabilities, the other's logits and log-probabilities of one sequence, of 16 bits each; in fp32
/// no more than its backward pass.
pub(crate) fn compared(scenario: &Scenario) -> Cited<f64> {
    let held = loss_kernel(scenario);
    if scenario.software.cross_entropy == CrossEntropy::Selective {
        let rows = scenario.run.micro_batch * scenario.learnt.objective.sequences();
        let bytes = if keeps_16_bits(scenario) { 6.0 + 2.0 / rows.max(1) as f64 } else { WIDE_SELECTIVE };
        return Cited::new(bytes, held.source, "f2cd577 trainer/dpo_trainer.py:1373, beside the trained model's");
    }
    Cited::new(2.0 * held.value.held, held.source, "held by the loss, and as much of the other model")
}

/// Logits of one micro-batch on one rank, all heads: `T V / t`, once more for every prediction module; none where the
/// head gives scores.
pub fn logits<Q: Quantity>(scenario: &Scenario) -> Q {
    if scenario.model.headless {
        return Q::number(0.0);
    }
    let (cut, heads) = (cut::<Q>(scenario), MODEL_HEADS.of::<Q>(1 + scenario.model.mtp_modules));
    heads * cut.tokens * PADDED.of::<Q>(scenario.padded_vocabulary()) / cut.tp
}

/// Bytes that the loss holds of `alive` micro-batches.
pub fn held<Q: Quantity>(scenario: &Scenario, alive: Q) -> Q {
    LOGIT_HELD.of::<Q>(loss_kernel(scenario).value.held) * alive * logits::<Q>(scenario)
}

/// Bytes that the loss needs for a moment beyond those it holds, with `alive` micro-batches.
pub fn momentary<Q: Quantity>(scenario: &Scenario, alive: Q) -> Q {
    let kernel = loss_kernel(scenario).value;
    let more = LOGIT_PEAK.of::<Q>(kernel.peak) - LOGIT_HELD.of::<Q>(kernel.held);
    more * alive.min(Q::number(1.0)) * logits::<Q>(scenario)
}

/// Inputs of the final norm and of the head of `alive` micro-batches: in bf16 `4 T h` each, over t with sequence
/// parallelism; and the gathered input where it is kept.
pub fn inputs<Q: Quantity>(scenario: &Scenario, alive: Q) -> Q {
    let cut = cut::<Q>(scenario);
    let width = ELEMENT.of::<Q>(cut.element) * cut.tokens * HIDDEN.of::<Q>(scenario.model.hidden);
    let both = width * 2.0 / cut.residual;
    let one = Q::number(1.0);
    alive * if keeps_gathered_inputs(scenario) { both + width * (one - one / cut.residual) } else { both }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, ModelParts, Run};
    use crate::units::Bytes;

    fn gib(bytes: f64) -> f64 {
        Bytes(bytes).gib()
    }

    /// `docs/methods/memory.md`, worked numbers: Llama-8B at 8192 tokens, t = 1: 1.96, 5.87 and 9.79 GiB at 2, 6 and 10
    /// bytes a logit.
    #[test]
    fn logits_of_llama_8b_at_2_6_and_10_bytes() {
        let run = |cross_entropy| Run { tp: 1, cross_entropy: Some(cross_entropy), ..Run::default() };
        let fused = Scenario::new(&run(CrossEntropy::TeFused)).unwrap();
        let unfused = Scenario::new(&run(CrossEntropy::Megatron)).unwrap();
        assert!((gib(held(&fused, 1.0)) - 1.96).abs() < 0.005);
        assert!((gib(held(&unfused, 1.0)) - 5.87).abs() < 0.005);
        assert!((gib(held(&unfused, 1.0) + momentary(&unfused, 1.0)) - 9.79).abs() < 0.006);
    }

    /// ISEEKYAN/Megatron-LM PR 132: fp32 logits of 8192 x 151936 take 4.638 GiB, in eight chunks 0.580.
    #[test]
    fn chunks_take_an_eighth() {
        let mut model: Based<ModelParts> = Based::preset("llama-3.1-8b");
        model.parts.vocab = Some(151_936);
        let run = Run { model, tp: 1, cross_entropy: Some(CrossEntropy::Chunked), ..Run::default() };
        let scenario = Scenario::new(&run).unwrap();
        let whole = 4.0 * logits::<f64>(&scenario);
        assert!((gib(whole) - 4.638).abs() < 0.002);
        assert!((gib(whole / CHUNKS) - 0.580).abs() < 0.001);
    }

    #[test]
    fn each_prediction_module_has_logits_of_its_own() {
        let mut model: Based<ModelParts> = Based::preset("deepseek-v3");
        let run = |model| Run { model, tp: 1, gpus: 16, pp: 16, ..Run::default() };
        let without: f64 = logits(&Scenario::new(&run(model.clone())).unwrap());
        model.parts.mtp_modules = Some(1);
        let with: f64 = logits(&Scenario::new(&run(model)).unwrap());
        assert!((with / without - 2.0).abs() < 1e-12);
    }
}
