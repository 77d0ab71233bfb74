//! The figures of a GPU and the bytes of a precision as a Run sets them, and their values together with a preset.

use super::based::{Based, Missing, title};
use super::choices::Choice;
use super::precision::{Format, POLICIES, Precision};
use super::presets;
use super::recipe::Recipe;
use crate::cluster::Gpu;
use crate::issue::Issue;
use crate::message::Message;
use crate::units::{Bytes, BytesPerSecond, FlopsPerSecond};

/// Figures of a GPU that were set one by one; none: the preset's.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)] // each is the contract's field of the same name, in the unit its name carries
pub struct GpuParts {
    pub memory_gib: Option<f64>,
    pub usable_gib: Option<f64>,
    pub bf16_tflops: Option<f64>,
    pub fp8_tflops: Option<f64>,
    pub fp4_tflops: Option<f64>,
    pub hbm_gb_per_s: Option<f64>,
    pub intra_gb_per_s: Option<f64>,
    pub inter_gb_per_s: Option<f64>,
    pub host_gb_per_s: Option<f64>,
    pub gpus_per_node: Option<u64>,
}

/// Bytes a parameter that were set one by one; none: the policy's.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)] // each is the field of `Precision` of the same name
pub struct PrecisionParts {
    pub weights: Option<f64>,
    pub grads: Option<f64>,
    pub grad_accumulation: Option<f64>,
    pub master: Option<f64>,
    pub moment1: Option<f64>,
    pub moment2: Option<f64>,
    pub param_gather: Option<bool>,
    pub bf16_first: Option<u64>,
    pub bf16_last: Option<u64>,
}

impl Based<GpuParts> {
    /// The figures meant.
    ///
    /// # Errors
    /// One issue for every figure that is not set.
    pub fn resolve(&self) -> Result<Gpu, Vec<Issue>> {
        let base = self.base.and_then(presets::gpu).map(|preset| preset.gpu);
        let parts = &self.parts;
        let mut missing = Missing::default();
        let memory = missing.need("gpu.memory_gib", parts.memory_gib, base.map(|g| g.memory.gib()), 1.0);
        let bf16 = missing.need("gpu.bf16_tflops", parts.bf16_tflops, base.map(|g| g.bf16.0 / 1e12), 1.0);
        let fp8 = parts.fp8_tflops.or(base.map(|g| g.fp8.0 / 1e12)).unwrap_or(bf16);
        let fp4 = parts.fp4_tflops.or(base.map(|g| g.fp4.0 / 1e12)).unwrap_or(fp8);
        let rate = |key, given: Option<f64>, base: Option<BytesPerSecond>, missing: &mut Missing| {
            BytesPerSecond(missing.need(key, given, base.map(|b| b.0 / 1e9), 1.0) * 1e9)
        };
        let gpu = Gpu {
            memory: Bytes::from_gib(memory),
            // A larger box with the same driver: what the driver keeps stays what it was.
            usable: Bytes::from_gib(
                parts
                    .usable_gib
                    .unwrap_or_else(|| base.map_or(memory, |g| (g.usable.gib() + memory - g.memory.gib()).max(0.0))),
            ),
            bf16: FlopsPerSecond(bf16 * 1e12),
            fp8: FlopsPerSecond(fp8 * 1e12),
            fp4: FlopsPerSecond(fp4 * 1e12),
            hbm: rate("gpu.hbm_gb_per_s", parts.hbm_gb_per_s, base.map(|g| g.hbm), &mut missing),
            intra: rate("gpu.intra_gb_per_s", parts.intra_gb_per_s, base.map(|g| g.intra), &mut missing),
            inter: rate("gpu.inter_gb_per_s", parts.inter_gb_per_s, base.map(|g| g.inter), &mut missing),
            // PCIe of the fourth generation where nothing else is set.
            host: parts
                .host_gb_per_s
                .map(|rate| BytesPerSecond(rate * 1e9))
                .or(base.map(|g| g.host))
                .unwrap_or(BytesPerSecond(32e9)),
            per_node: parts.gpus_per_node.or(base.map(|g| g.per_node)).unwrap_or(8),
        };
        missing.done(gpu)
    }

    /// How the page names it.
    #[must_use]
    pub fn title(&self) -> Message {
        let name = self.base.and_then(presets::gpu).map(|preset| preset.choice.label);
        title(name, "own GPU", self.is_changed())
    }
}

impl Based<PrecisionParts> {
    /// The bytes meant.
    ///
    /// # Errors
    /// One issue for every entry that is not set.
    pub fn resolve(&self) -> Result<Precision, Vec<Issue>> {
        let base =
            self.base.and_then(|id| POLICIES.iter().find(|policy| policy.choice.id == id)).map(|policy| policy.bytes);
        let parts = &self.parts;
        let mut missing = Missing::default();
        let recipe = self.recipe();
        let mut need = |key, given, base: Option<f64>| missing.need(key, given, base, 0.0);
        let bytes = Precision {
            computes: self.computes(),
            recipe,
            param_gather: recipe.is_some() && parts.param_gather == Some(true),
            bf16_ends: [parts.bf16_first, parts.bf16_last].map(Option::unwrap_or_default),
            weights: need("precision.weights", parts.weights, base.map(|p| p.weights)),
            grads: need("precision.grads", parts.grads, base.map(|p| p.grads)),
            grad_accumulation: need(
                "precision.grad_accumulation",
                parts.grad_accumulation,
                base.map(|p| p.grad_accumulation),
            ),
            master: need("precision.master", parts.master, base.map(|p| p.master)),
            moment1: need("precision.moment1", parts.moment1, base.map(|p| p.moment1)),
            moment2: need("precision.moment2", parts.moment2, base.map(|p| p.moment2)),
        };
        missing.done(bytes)
    }

    /// What passes compute in: the policy's, bf16 where none is named.
    #[must_use]
    pub fn computes(&self) -> Format {
        let mut policies = POLICIES.iter();
        let named = policies.find(|policy| Some(policy.choice.id) == self.base);
        named.map_or(Format::Bf16, |policy| policy.bytes.computes)
    }

    /// How the policy quantises linears, if it does.
    #[must_use]
    pub fn recipe(&self) -> Option<&'static Recipe> {
        let mut policies = POLICIES.iter();
        let named = policies.find(|policy| Some(policy.choice.id) == self.base);
        named.and_then(|policy| policy.bytes.recipe)
    }

    /// Id and label of the policy, if one is named.
    #[must_use]
    pub fn policy(&self) -> Option<Choice> {
        POLICIES.iter().map(|policy| policy.choice).find(|choice| Some(choice.id) == self.base)
    }
}

impl From<Gpu> for GpuParts {
    fn from(gpu: Gpu) -> Self {
        // Through decimal text, so that 79.2 GiB come back as 79.2 and not as 79.19999.
        let tidy = |value: f64| Some((value * 1e6).round() / 1e6);
        Self {
            memory_gib: tidy(gpu.memory.gib()),
            usable_gib: tidy(gpu.usable.gib()),
            bf16_tflops: tidy(gpu.bf16.0 / 1e12),
            fp8_tflops: tidy(gpu.fp8.0 / 1e12),
            fp4_tflops: tidy(gpu.fp4.0 / 1e12),
            hbm_gb_per_s: tidy(gpu.hbm.0 / 1e9),
            intra_gb_per_s: tidy(gpu.intra.0 / 1e9),
            inter_gb_per_s: tidy(gpu.inter.0 / 1e9),
            host_gb_per_s: tidy(gpu.host.0 / 1e9),
            gpus_per_node: Some(gpu.per_node),
        }
    }
}

impl From<Precision> for PrecisionParts {
    fn from(bytes: Precision) -> Self {
        Self {
            weights: Some(bytes.weights),
            grads: Some(bytes.grads),
            grad_accumulation: Some(bytes.grad_accumulation),
            master: Some(bytes.master),
            moment1: Some(bytes.moment1),
            moment2: Some(bytes.moment2),
            param_gather: bytes.recipe.map(|_| bytes.param_gather),
            bf16_first: bytes.is_low().then_some(bytes.bf16_ends[0]),
            bf16_last: bytes.is_low().then_some(bytes.bf16_ends[1]),
        }
    }
}
