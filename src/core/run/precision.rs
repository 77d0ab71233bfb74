//! Precision policies: how many bytes a parameter takes as weight, gradient and optimizer state.

use super::choices::{Choice, Optimizer};
use super::recipe::{BLOCKWISE, CURRENT, DELAYED, MXFP8, NVFP4, Recipe};
use crate::cluster::Gpu;
use crate::explain::Quantity;
use crate::explain::symbols::{LINEARS, QUANTISED, WEIGHT};
use crate::source::{DEEPSEEK_V3, FP8_LM, MEGATRON, PLAYBOOK, Source, TORCHTITAN, TORCHTUNE, TRANSFORMER_ENGINE, ZERO};

/// What passes compute in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// fp32, as TF32 on tensor cores.
    Fp32,
    /// fp16.
    Fp16,
    /// bf16.
    Bf16,
    /// Products in fp8, everything between them in bf16.
    Fp8,
    /// Products in fp4, everything between them in bf16.
    Fp4,
}

impl Format {
    /// Bytes of an activation, in memory and in a message.
    #[must_use]
    pub fn activation(self) -> f64 {
        if self == Self::Fp32 { 4.0 } else { 2.0 }
    }
}

/// Bytes a parameter. ZeRO-1 shards master and moments, ZeRO-2 also gradients, ZeRO-3 also weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// What passes compute in.
    pub computes: Format,
    /// How the linears of the layers are quantised; none: as plain casts, whose copies are in `weights`.
    pub recipe: Option<&'static Recipe>,
    /// Whether the weights of the linears are kept in the recipe's copies alone.
    pub param_gather: bool,
    /// Layers at the start and at the end of the model whose linears compute in bf16 whatever the others do.
    pub bf16_ends: [u64; 2],
    /// The weights that compute.
    pub weights: f64,
    /// Gradients.
    pub grads: f64,
    /// A separate buffer in which gradients accumulate.
    pub grad_accumulation: f64,
    /// The optimizer's own copy of the weights.
    pub master: f64,
    /// First moment.
    pub moment1: f64,
    /// Second moment.
    pub moment2: f64,
}

impl Precision {
    /// Weights, gradients, accumulation, master, moment 1, moment 2.
    pub(super) const fn new(computes: Format, bytes: [f64; 6]) -> Self {
        let [weights, grads, grad_accumulation, master, moment1, moment2] = bytes;
        Self {
            computes,
            recipe: None,
            param_gather: false,
            bf16_ends: [0; 2],
            weights,
            grads,
            grad_accumulation,
            master,
            moment1,
            moment2,
        }
    }

    /// Whether linears compute in eight bits or fewer.
    #[must_use]
    pub(crate) fn is_low(self) -> bool {
        matches!(self.computes, Format::Fp8 | Format::Fp4)
    }

    /// Bytes of a weight as it computes and travels: FSDP's fp32 shards are gathered in bf16.
    ///
    /// Weights that are kept in a recipe's copies travel as one of them; those of MXFP8 in bf16, through the gradients'
    /// buffer (Megatron-LM `--reuse-grad-buf-for-mxfp8-param-ag`).
    #[must_use]
    pub(crate) fn gathered_weight(self) -> f64 {
        match self.recipe {
            Some(recipe) if self.param_gather && *recipe != MXFP8 => recipe.weight,
            _ => self.weights.min(self.computes.activation()),
        }
    }

    /// Bytes of the weights of `elements` parameters, `linears` of them in the linears of layers, on `gpu`.
    #[must_use]
    pub(crate) fn weight_bytes<Q: Quantity>(self, elements: Q, linears: f64, gpu: &Gpu) -> Q {
        let linears = LINEARS.summand::<Q>(linears);
        let plain = if self.param_gather { elements - linears } else { elements };
        plain * WEIGHT.of::<Q>(self.weights) + linears * QUANTISED.of::<Q>(self.copies(gpu))
    }

    /// Bytes a weight of a linear of the recipe's copies on `gpu`; none without a recipe.
    #[must_use]
    pub fn copies(self, gpu: &Gpu) -> f64 {
        self.recipe.map_or(0.0, |recipe| recipe.weights(gpu))
    }

    /// Gradients and their accumulation.
    #[must_use]
    pub fn gradients(self) -> f64 {
        self.grads + self.grad_accumulation
    }

    /// Two moments of one byte, each with its part of an fp32 scale for 256 of them.
    pub(crate) const EIGHT_BIT: f64 = 2.0 + 2.0 * 4.0 / 256.0;

    /// What the optimizer keeps: master weights and those moments it has.
    ///
    /// 8-bit Adam keeps its moments in one byte each with a scale for 256 (bitsandbytes `optim/optimizer.py`), paged
    /// where the GPU's allocator does not count them; Adafactor's factored second moment and Adam-mini's, one a block, are
    /// negligible. `GaLore` of a square matrix at a quarter of its width; see `memory::detailed` for others.
    #[must_use]
    pub fn optimizer(self, optimizer: Optimizer) -> f64 {
        self.master
            + match optimizer {
                Optimizer::Adam => self.moment1 + self.moment2,
                Optimizer::Adam8Bit => Self::EIGHT_BIT,
                Optimizer::SgdMomentum | Optimizer::Lion | Optimizer::Muon | Optimizer::AdamMini => self.moment1,
                Optimizer::GaLore => (self.moment1 + self.moment2 + self.weights) / 4.0,
                Optimizer::Sgd | Optimizer::Adafactor | Optimizer::Adam8BitPaged => 0.0,
            }
    }

    /// All bytes a parameter with Adam.
    #[must_use]
    pub fn total(self) -> f64 {
        self.weights + self.gradients() + self.optimizer(Optimizer::Adam)
    }
}

/// A named policy.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Id and name.
    pub choice: Choice,
    /// Its bytes.
    pub bytes: Precision,
    /// Where it stands.
    pub source: &'static Source,
}

const fn policy(
    id: &'static str,
    label: &'static str,
    computes: Format,
    bytes: [f64; 6],
    source: &'static Source,
) -> Policy {
    Policy { choice: Choice { id, label }, bytes: Precision::new(computes, bytes), source }
}

/// A recipe of Transformer Engine in Megatron-LM: bf16 weights beside its copies, fp32 gradients and states.
const fn quantised(
    id: &'static str,
    label: &'static str,
    computes: Format,
    recipe: &'static Recipe,
    source: &'static Source,
) -> Policy {
    let mut policy = policy(id, label, computes, [2.0, 4.0, 0.0, 4.0, 4.0, 4.0], source);
    policy.bytes.recipe = Some(recipe);
    policy
}

/// All policies: weights, gradients, accumulation, master, moment 1, moment 2.
pub static POLICIES: &[Policy] = &[
    policy("bf16-fp32-grads", "bf16, fp32 gradients", Format::Bf16, [2.0, 4.0, 0.0, 4.0, 4.0, 4.0], &MEGATRON),
    policy("bf16", "bf16, bf16 gradients", Format::Bf16, [2.0, 2.0, 0.0, 4.0, 4.0, 4.0], &ZERO),
    policy("fp16", "fp16, fp16 gradients", Format::Fp16, [2.0, 2.0, 0.0, 4.0, 4.0, 4.0], &ZERO),
    policy("fp32", "fp32", Format::Fp32, [4.0, 4.0, 0.0, 0.0, 4.0, 4.0], &ZERO),
    policy("bf16-pure", "pure bf16, states too", Format::Bf16, [2.0, 2.0, 0.0, 0.0, 2.0, 2.0], &TORCHTUNE),
    policy("playbook-20", "bf16 + fp32 accumulation", Format::Bf16, [2.0, 2.0, 4.0, 4.0, 4.0, 4.0], &PLAYBOOK),
    policy("fsdp-mixed", "FSDP mixed (fp32 shards)", Format::Bf16, [4.0, 4.0, 0.0, 0.0, 4.0, 4.0], &TORCHTITAN),
    policy("te-fp8", "Transformer Engine fp8", Format::Fp8, [4.0, 4.0, 0.0, 0.0, 4.0, 4.0], &PLAYBOOK),
    policy("fp8-lm", "FP8-LM", Format::Fp8, [1.0, 1.0, 2.0, 2.0, 1.0, 2.0], &FP8_LM),
    policy("deepseek-fp8", "DeepSeek-V3 fp8", Format::Fp8, [1.0, 2.0, 4.0, 4.0, 2.0, 2.0], &DEEPSEEK_V3),
    policy("nanotron-fp8", "nanotron fp8", Format::Fp8, [1.0, 1.0, 4.0, 2.0, 1.0, 1.0], &PLAYBOOK),
    quantised("fp8-delayed", "fp8, delayed scaling", Format::Fp8, &DELAYED, &TRANSFORMER_ENGINE),
    quantised("fp8-current", "fp8, current scaling", Format::Fp8, &CURRENT, &TRANSFORMER_ENGINE),
    quantised("fp8-blockwise", "fp8, blockwise (DeepSeek's)", Format::Fp8, &BLOCKWISE, &DEEPSEEK_V3),
    quantised("mxfp8", "MXFP8", Format::Fp8, &MXFP8, &TRANSFORMER_ENGINE),
    quantised("nvfp4", "NVFP4", Format::Fp4, &NVFP4, &TRANSFORMER_ENGINE),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The totals that the sources print beside the policies.
    #[test]
    fn bytes_a_parameter_add_up_as_published() {
        for (id, total) in [
            ("bf16-fp32-grads", 18.0),
            ("bf16", 16.0),
            ("fp16", 16.0),
            ("bf16-pure", 8.0),
            ("fp32", 16.0),
            ("playbook-20", 20.0),
            ("fsdp-mixed", 16.0),
            ("te-fp8", 16.0),
            ("fp8-lm", 9.0),
            ("deepseek-fp8", 15.0),
            ("nanotron-fp8", 10.0),
        ] {
            let policy = POLICIES.iter().find(|p| p.choice.id == id).unwrap();
            assert!((policy.bytes.total() - total).abs() < 1e-12, "{id}");
        }
    }
}
