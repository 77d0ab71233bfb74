//! Precision policies: how many bytes a parameter takes as weight, gradient and optimizer state.

use super::based::{Based, Preset};
use super::choices::Optimizer;
use super::recipe::{BLOCKWISE, CURRENT, DELAYED, MXFP8, NVFP4, PrecisionRecipe, ROWWISE};
use crate::cluster::Gpu;
use crate::explain::Quantity;
use crate::explain::symbols::{LINEARS, QUANTISED, WEIGHT};
use crate::field::Steps::By;
use crate::field::{Choice, MissingParts, shape, training};
use crate::issue::Issue;
use crate::message::Message;
use crate::source::{DEEPSEEK_V3, FP8_LM, MEGATRON, PLAYBOOK, Source, TORCHTITAN, TORCHTUNE, TRANSFORMER_ENGINE, ZERO};
use crate::t;

/// Formats of the passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// fp32, as TF32 on tensor cores.
    Fp32,
    Fp16,
    Bf16,
    /// Products in fp8, everything between them in bf16.
    Fp8,
    /// Products in fp4, everything between them in bf16.
    Fp4,
}

impl Format {
    /// Bytes of an activation, in memory and in a message.
    pub fn activation(self) -> f64 {
        if self == Self::Fp32 { 4.0 } else { 2.0 }
    }
}

shape! {
    /// Bytes a parameter. ZeRO-1 shards master and moments, ZeRO-2 also gradients, ZeRO-3 also weights.
    pub struct Precision {
        /// Format of the passes.
        computes: Format = Format::Bf16,
        /// Quantisation of the linears of the layers; none: plain casts, whose copies are in `weights`.
        recipe: Option<&'static PrecisionRecipe> = None,
        /// Gradients travel as they are and add up behind: FP8-LM, section 2.1; else what they added up to travels.
        reduces_first: bool = false,
    }, PrecisionParts in "precision." {
        /// bytes of the weights that compute
        weights: f64 => training("Weights").unit("B").number(0.0, 16.0, 1.0).advanced(),
        /// bytes per gradient
        grads: f64 => training("Gradients").unit("B").number(0.0, 16.0, 1.0).advanced(),
        /// bytes of a separate accumulation buffer
        grad_accumulation: f64 => training("Accumulation").unit("B").number(0.0, 16.0, 1.0).advanced(),
        /// the optimizer's own copy
        master: f64 => training("Master weights").unit("B").number(0.0, 16.0, 1.0).advanced(),
        /// bytes per parameter
        moment1: f64 => training("First moment").unit("B").number(0.0, 16.0, 1.0).advanced(),
        /// bytes per parameter
        moment2: f64 => training("Second moment").unit("B").number(0.0, 16.0, 1.0).advanced(),
        /// linears keep no bf16 copy (Megatron's fp8-param-gather)
        param_gather: bool = false => training("Low-precision weights").advanced(),
        /// layers at the start whose linears stay in bf16 under an fp8 or fp4 policy
        bf16_first: u64 = 0 => training("First layers in bf16").count(0, 100_000, By(1.0)).advanced(),
        /// layers at the end whose linears stay in bf16 under an fp8 or fp4 policy
        bf16_last: u64 = 0 => training("Last layers in bf16").count(0, 100_000, By(1.0)).advanced(),
    }
}

impl Preset for PrecisionParts {
    fn presets() -> Vec<Choice> {
        POLICIES.iter().map(|policy| policy.choice).collect()
    }
}

impl Based<PrecisionParts> {
    /// The bytes meant.
    ///
    /// # Errors
    /// One issue for every entry that is not set.
    pub fn resolve(&self) -> Result<Precision, Vec<Issue>> {
        let mut missing = MissingParts::default();
        let mut bytes = self.parts.over(self.named().map(|policy| policy.bytes), &mut missing);
        bytes.param_gather &= bytes.recipe.is_some();
        missing.done(bytes)
    }

    fn named(&self) -> Option<&'static PrecisionPolicy> {
        POLICIES.iter().find(|policy| Some(policy.choice.id) == self.base)
    }

    /// Format of the passes: the policy's, bf16 where none is named.
    pub fn computes(&self) -> Format {
        self.named().map_or(Format::Bf16, |policy| policy.bytes.computes)
    }

    /// The policy's quantisation of linears.
    pub fn recipe(&self) -> Option<&'static PrecisionRecipe> {
        self.named().and_then(|policy| policy.bytes.recipe)
    }

    /// Its name on the page.
    pub fn title(&self) -> Message {
        match self.policy().map(|policy| Message::plain(policy.label)) {
            Some(name) if self.is_changed() => t!("{name}, modified", name),
            Some(name) => name,
            None => Message::plain("own precision"),
        }
    }

    /// Id and label of the policy, if one is named.
    pub fn policy(&self) -> Option<Choice> {
        self.named().map(|policy| policy.choice)
    }
}

impl Precision {
    /// Weights, gradients, accumulation, master, moment 1, moment 2.
    pub(super) const fn new(computes: Format, bytes: [f64; 6]) -> Self {
        let [weights, grads, grad_accumulation, master, moment1, moment2] = bytes;
        Self { computes, weights, grads, grad_accumulation, master, moment1, moment2, ..Self::BARE }
    }

    /// The precision as FSDP's shards hold it: torchao quantises the gathered fp32 shards, which are the master weights
    /// too. `keeps` is true of software whose linears keep bf16 weights and quantised copies. Source: torchao
    /// `float8/fsdp_utils.py`.
    pub(crate) fn in_shards(self, keeps: bool) -> Self {
        let beside = (self.weights, self.master) == (2.0, 4.0);
        if self.recipe.is_some() && !keeps && beside { Self { weights: 4.0, master: 0.0, ..self } } else { self }
    }

    /// True if linears compute in eight bits or fewer.
    pub(crate) fn is_low(self) -> bool {
        matches!(self.computes, Format::Fp8 | Format::Fp4)
    }

    /// Bytes of a weight as it computes and travels: FSDP's fp32 shards are gathered in bf16.
    ///
    /// Weights that are kept in a recipe's copies travel as one of them; those of MXFP8 in bf16, through the gradients'
    /// buffer (Megatron-LM `--reuse-grad-buf-for-mxfp8-param-ag`).
    pub(crate) fn gathered_weight(self) -> f64 {
        match self.recipe {
            Some(recipe) if self.param_gather && *recipe != MXFP8 => recipe.weight,
            _ => self.weights.min(self.computes.activation()),
        }
    }

    /// Bytes of the weights of `elements` parameters, `linears` of them in the linears of layers, on `gpu`.
    pub(crate) fn weight_bytes<Q: Quantity>(self, elements: Q, linears: f64, gpu: &Gpu) -> Q {
        let linears = LINEARS.summand::<Q>(linears);
        let plain = if self.param_gather { elements - linears } else { elements };
        plain * WEIGHT.of::<Q>(self.weights) + linears * QUANTISED.of::<Q>(self.copies(gpu))
    }

    /// Bytes a weight of a linear of the recipe's copies on `gpu`; none without a recipe.
    pub fn copies(self, gpu: &Gpu) -> f64 {
        self.recipe.map_or(0.0, |recipe| recipe.weights(gpu))
    }

    pub fn gradients(self) -> f64 {
        self.grads + self.grad_accumulation
    }

    /// Bytes of what gradients of several micro-batches are added to.
    pub(crate) fn accumulated(self) -> f64 {
        if self.grad_accumulation > 0.0 { self.grad_accumulation } else { self.grads }
    }

    /// Bytes of a gradient between ranks: one of the two travels. Source: nanotron `gradient_accumulator.py`, which
    /// reduces its fp32 sums; DeepSeek-V3, section 3.3.3.
    pub fn reduced(self) -> f64 {
        if self.reduces_first { self.grads } else { self.accumulated() }
    }

    /// Two moments of one byte, each with its part of an fp32 scale for 256 of them.
    pub(crate) const EIGHT_BIT: f64 = 2.0 + 2.0 * 4.0 / 256.0;

    /// Bytes that the optimizer keeps: master weights and those moments it has.
    ///
    /// 8-bit Adam keeps its moments in one byte each with a scale for 256 (bitsandbytes `optim/optimizer.py`), paged
    /// where the GPU's allocator does not count them; Adafactor's factored second moment and Adam-mini's, one a block,
    /// are negligible. `GaLore` of a square matrix at a quarter of its width; see `memory::detailed` for others.
    pub fn optimizer(self, optimizer: Optimizer) -> f64 {
        self.master
            + match optimizer {
                Optimizer::Adam => self.moment1 + self.moment2,
                Optimizer::Adam8Bit => Self::EIGHT_BIT,
                Optimizer::SgdMomentum | Optimizer::Lion | Optimizer::Muon | Optimizer::AdamMini => self.moment1,
                Optimizer::GaLore => (self.moment1 + self.moment2 + self.weights) / 4.0,
                Optimizer::Sgd | Optimizer::Adafactor | Optimizer::Adam8BitPaged | Optimizer::AdamPaged => 0.0,
            }
    }

    /// Bytes that an optimizer keeps in unified memory, which the driver moves to the host. Source: bitsandbytes
    /// `optim/optimizer.py` (`get_state_buffer`, `is_paged`); transformers `training_args.py` (`paged_adamw_32bit`).
    pub(crate) fn paged(optimizer: Optimizer) -> f64 {
        match optimizer {
            Optimizer::Adam8BitPaged => Self::EIGHT_BIT,
            Optimizer::AdamPaged => 4.0 + 4.0,
            _ => 0.0,
        }
    }

    /// All bytes a parameter with Adam.
    pub fn total(self) -> f64 {
        self.weights + self.gradients() + self.optimizer(Optimizer::Adam)
    }
}

/// A named policy.
#[derive(Clone, Copy, Debug)]
pub struct PrecisionPolicy {
    pub choice: Choice,
    pub bytes: Precision,
    pub source: &'static Source,
}

const fn policy(
    id: &'static str,
    label: &'static str,
    computes: Format,
    bytes: [f64; 6],
    source: &'static Source,
) -> PrecisionPolicy {
    PrecisionPolicy { choice: Choice { id, label }, bytes: Precision::new(computes, bytes), source }
}

/// A recipe of Transformer Engine in Megatron-LM: bf16 weights beside its copies, fp32 gradients and states.
const fn quantised(
    id: &'static str,
    label: &'static str,
    computes: Format,
    recipe: &'static PrecisionRecipe,
    source: &'static Source,
) -> PrecisionPolicy {
    let mut policy = policy(id, label, computes, [2.0, 4.0, 0.0, 4.0, 4.0, 4.0], source);
    policy.bytes.recipe = Some(recipe);
    policy
}

/// FP8-LM, whose gradients travel in fp8.
const FP8_LM_POLICY: PrecisionPolicy = {
    let mut policy = policy("fp8-lm", "FP8-LM", Format::Fp8, [1.0, 1.0, 2.0, 2.0, 1.0, 2.0], &FP8_LM);
    policy.bytes.reduces_first = true;
    policy
};

/// All policies: weights, gradients, accumulation, master, moment 1, moment 2.
pub static POLICIES: &[PrecisionPolicy] = &[
    policy("bf16-fp32-grads", "bf16, fp32 gradients", Format::Bf16, [2.0, 4.0, 0.0, 4.0, 4.0, 4.0], &MEGATRON),
    policy("bf16", "bf16, bf16 gradients", Format::Bf16, [2.0, 2.0, 0.0, 4.0, 4.0, 4.0], &ZERO),
    policy("fp16", "fp16, fp16 gradients", Format::Fp16, [2.0, 2.0, 0.0, 4.0, 4.0, 4.0], &ZERO),
    policy("fp32", "fp32", Format::Fp32, [4.0, 4.0, 0.0, 0.0, 4.0, 4.0], &ZERO),
    policy("bf16-pure", "pure bf16, states too", Format::Bf16, [2.0, 2.0, 0.0, 0.0, 2.0, 2.0], &TORCHTUNE),
    policy("playbook-20", "bf16 + fp32 accumulation", Format::Bf16, [2.0, 2.0, 4.0, 4.0, 4.0, 4.0], &PLAYBOOK),
    policy("fsdp-mixed", "FSDP mixed (fp32 shards)", Format::Bf16, [4.0, 4.0, 0.0, 0.0, 4.0, 4.0], &TORCHTITAN),
    policy("te-fp8", "Transformer Engine fp8", Format::Fp8, [4.0, 4.0, 0.0, 0.0, 4.0, 4.0], &PLAYBOOK),
    FP8_LM_POLICY,
    policy("deepseek-fp8", "DeepSeek-V3 fp8", Format::Fp8, [1.0, 2.0, 4.0, 4.0, 2.0, 2.0], &DEEPSEEK_V3),
    policy("nanotron-fp8", "nanotron fp8", Format::Fp8, [1.0, 1.0, 4.0, 2.0, 1.0, 1.0], &PLAYBOOK),
    quantised("fp8-delayed", "fp8, delayed scaling", Format::Fp8, &DELAYED, &TRANSFORMER_ENGINE),
    quantised("fp8-current", "fp8, current scaling", Format::Fp8, &CURRENT, &TRANSFORMER_ENGINE),
    quantised("fp8-blockwise", "fp8, blockwise (DeepSeek's)", Format::Fp8, &BLOCKWISE, &DEEPSEEK_V3),
    quantised("fp8-rowwise", "fp8, rowwise scaling", Format::Fp8, &ROWWISE, &TORCHTITAN),
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
