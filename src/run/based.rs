//! "A preset, or a preset with changes, or all of it": the three ways to say a model, a GPU or a precision.

use super::choices::Choice;
use super::precision::{POLICIES, Precision};
use super::presets;
use crate::cluster::Gpu;
use crate::issue::Issue;
use crate::model::{Architecture, Biases, Mla, Moe, Norm, Vision};
use crate::units::{Bytes, BytesPerSecond, FlopsPerSecond};

/// A preset's id, if one is named, and what differs from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Based<Parts> {
    /// Id of the preset; none: the parts must say everything.
    pub base: Option<&'static str>,
    /// What was set besides.
    pub parts: Parts,
}

impl<Parts: Default + PartialEq> Based<Parts> {
    /// The preset as it is.
    #[must_use]
    pub fn preset(id: &'static str) -> Self {
        Self {
            base: Some(id),
            parts: Parts::default(),
        }
    }
    /// Whether anything is set besides the preset.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.parts != Parts::default()
    }
}

/// Shapes of a model that were set one by one; none: the preset's.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)] // each is the field of `Architecture` (or of its part) of the same name
pub struct ModelParts {
    pub layers: Option<u64>,
    pub hidden: Option<u64>,
    pub ffn: Option<u64>,
    pub heads: Option<u64>,
    pub kv_heads: Option<u64>,
    pub head_dim: Option<u64>,
    pub vocab: Option<u64>,
    pub gated_ffn: Option<bool>,
    pub tied_embeddings: Option<bool>,
    pub norm: Option<Norm>,
    pub biases: Option<Biases>,
    pub dropout: Option<bool>,
    pub learned_positions: Option<u64>,
    pub mtp_modules: Option<u64>,
    pub experts: Option<u64>,
    pub top_k: Option<u64>,
    pub expert_ffn: Option<u64>,
    pub shared_experts: Option<u64>,
    pub dense_layers: Option<u64>,
    pub q_lora_rank: Option<u64>,
    pub kv_lora_rank: Option<u64>,
    pub qk_nope_head_dim: Option<u64>,
    pub qk_rope_head_dim: Option<u64>,
    pub v_head_dim: Option<u64>,
    pub image_width: Option<u64>,
    pub image_height: Option<u64>,
    pub channels: Option<u64>,
    pub patch: Option<u64>,
    pub vision_hidden: Option<u64>,
    pub vision_ffn: Option<u64>,
    pub vision_layers: Option<u64>,
}

/// Figures of a GPU that were set one by one; none: the preset's.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)] // each is the contract's field of the same name, in the unit its name carries
pub struct GpuParts {
    pub memory_gib: Option<f64>,
    pub usable_gib: Option<f64>,
    pub bf16_tflops: Option<f64>,
    pub fp8_tflops: Option<f64>,
    pub hbm_gb_per_s: Option<f64>,
    pub intra_gb_per_s: Option<f64>,
    pub inter_gb_per_s: Option<f64>,
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
}

/// Collects the parts that neither the preset nor the person gave.
struct Missing(Vec<Issue>);

impl Missing {
    fn need<T>(&mut self, key: &str, given: Option<T>, base: Option<T>, zero: T) -> T {
        given.or(base).unwrap_or_else(|| {
            let whole = key.split('.').next().unwrap_or(key);
            self.0.push(Issue::error(
                key,
                format!(
                    "needed where {whole} has no base; give it, or name a preset as {whole}.base"
                ),
            ));
            zero
        })
    }
    fn done<T>(self, whole: T) -> Result<T, Vec<Issue>> {
        if self.0.is_empty() {
            Ok(whole)
        } else {
            Err(self.0)
        }
    }
}

impl Based<ModelParts> {
    /// The shapes meant.
    ///
    /// # Errors
    /// One issue for every shape that nothing says.
    pub fn resolve(&self) -> Result<Architecture, Vec<Issue>> {
        let base = self
            .base
            .and_then(presets::model)
            .map(|preset| preset.architecture);
        let parts = &self.parts;
        let mut missing = Missing(Vec::new());
        let layers = missing.need("model.layers", parts.layers, base.map(|m| m.layers), 1);
        let hidden = missing.need("model.hidden", parts.hidden, base.map(|m| m.hidden), 1);
        let ffn = missing.need("model.ffn", parts.ffn, base.map(|m| m.ffn), 1);
        let heads = missing.need("model.heads", parts.heads, base.map(|m| m.heads), 1);
        let vocab = missing.need("model.vocab", parts.vocab, base.map(|m| m.vocab), 1);
        // The head width follows the hidden size and the heads unless it is said, or the preset's own was special.
        let special = base
            .filter(|m| m.head_dim * m.heads != m.hidden)
            .map(|m| m.head_dim);
        let moe = self.moe(base, &mut missing);
        let mla = self.mla(base, &mut missing);
        let vision = self.vision(base, &mut missing);
        missing.done(Architecture {
            layers,
            hidden,
            ffn,
            heads,
            kv_heads: parts
                .kv_heads
                .or(base.map(|m| m.kv_heads).filter(|_| parts.heads.is_none()))
                .unwrap_or(heads),
            head_dim: parts.head_dim.or(special).unwrap_or(hidden / heads.max(1)),
            vocab,
            gated_ffn: parts
                .gated_ffn
                .or(base.map(|m| m.gated_ffn))
                .unwrap_or(true),
            tied_embeddings: parts
                .tied_embeddings
                .or(base.map(|m| m.tied_embeddings))
                .unwrap_or(false),
            norm: parts.norm.or(base.map(|m| m.norm)).unwrap_or(Norm::Rms),
            biases: parts
                .biases
                .or(base.map(|m| m.biases))
                .unwrap_or(Biases::None),
            dropout: parts.dropout.or(base.map(|m| m.dropout)).unwrap_or(false),
            learned_positions: parts
                .learned_positions
                .or(base.map(|m| m.learned_positions))
                .unwrap_or(0),
            mtp_modules: parts
                .mtp_modules
                .or(base.map(|m| m.mtp_modules))
                .unwrap_or(0),
            moe,
            mla,
            vision,
        })
    }

    /// Experts, if the model has any; `experts` of 0 or 1 takes them away from a preset.
    fn moe(&self, base: Option<Architecture>, missing: &mut Missing) -> Option<Moe> {
        let parts = &self.parts;
        let base = base.and_then(|m| m.moe);
        let given = parts.experts.is_some()
            || parts.top_k.is_some()
            || parts.expert_ffn.is_some()
            || parts.shared_experts.is_some()
            || parts.dense_layers.is_some();
        if (!given && base.is_none()) || parts.experts.is_some_and(|experts| experts < 2) {
            return None;
        }
        Some(Moe {
            experts: missing.need(
                "model.moe.experts",
                parts.experts,
                base.map(|m| m.experts),
                2,
            ),
            top_k: missing.need("model.moe.top_k", parts.top_k, base.map(|m| m.top_k), 1),
            expert_ffn: missing.need(
                "model.moe.expert_ffn",
                parts.expert_ffn,
                base.map(|m| m.expert_ffn),
                1,
            ),
            shared_experts: parts
                .shared_experts
                .or(base.map(|m| m.shared_experts))
                .unwrap_or(0),
            dense_layers: parts
                .dense_layers
                .or(base.map(|m| m.dense_layers))
                .unwrap_or(0),
        })
    }

    fn mla(&self, base: Option<Architecture>, missing: &mut Missing) -> Option<Mla> {
        let parts = &self.parts;
        let base = base.and_then(|m| m.mla);
        let given = parts.q_lora_rank.is_some()
            || parts.kv_lora_rank.is_some()
            || parts.qk_nope_head_dim.is_some()
            || parts.qk_rope_head_dim.is_some()
            || parts.v_head_dim.is_some();
        (given || base.is_some()).then(|| Mla {
            q_lora_rank: parts
                .q_lora_rank
                .or(base.map(|m| m.q_lora_rank))
                .unwrap_or(0),
            kv_lora_rank: missing.need(
                "model.mla.kv_lora_rank",
                parts.kv_lora_rank,
                base.map(|m| m.kv_lora_rank),
                1,
            ),
            qk_nope_head_dim: missing.need(
                "model.mla.qk_nope_head_dim",
                parts.qk_nope_head_dim,
                base.map(|m| m.qk_nope_head_dim),
                1,
            ),
            qk_rope_head_dim: missing.need(
                "model.mla.qk_rope_head_dim",
                parts.qk_rope_head_dim,
                base.map(|m| m.qk_rope_head_dim),
                1,
            ),
            v_head_dim: missing.need(
                "model.mla.v_head_dim",
                parts.v_head_dim,
                base.map(|m| m.v_head_dim),
                1,
            ),
        })
    }

    fn vision(&self, base: Option<Architecture>, missing: &mut Missing) -> Option<Vision> {
        let parts = &self.parts;
        let base = base.and_then(|m| m.vision);
        let given = parts.image_width.is_some()
            || parts.image_height.is_some()
            || parts.channels.is_some()
            || parts.patch.is_some()
            || parts.vision_hidden.is_some()
            || parts.vision_ffn.is_some()
            || parts.vision_layers.is_some();
        (given || base.is_some()).then(|| {
            let hidden = missing.need(
                "model.vision.hidden",
                parts.vision_hidden,
                base.map(|m| m.hidden),
                1,
            );
            Vision {
                image_width: parts
                    .image_width
                    .or(base.map(|m| m.image_width))
                    .unwrap_or(224),
                image_height: parts
                    .image_height
                    .or(base.map(|m| m.image_height))
                    .unwrap_or(224),
                channels: parts.channels.or(base.map(|m| m.channels)).unwrap_or(3),
                patch: parts.patch.or(base.map(|m| m.patch)).unwrap_or(14),
                hidden,
                ffn: parts
                    .vision_ffn
                    .or(base.map(|m| m.ffn))
                    .unwrap_or(4 * hidden),
                layers: missing.need(
                    "model.vision.layers",
                    parts.vision_layers,
                    base.map(|m| m.layers),
                    1,
                ),
            }
        })
    }

    /// How the page names it: the preset's name, "modified" where shapes differ.
    #[must_use]
    pub fn title(&self) -> String {
        let name = self
            .base
            .and_then(presets::model)
            .map(|preset| preset.choice.label);
        title(name, "own model", self.is_changed())
    }
}

fn title(name: Option<&'static str>, own: &str, changed: bool) -> String {
    match (name, changed) {
        (Some(name), false) => name.to_owned(),
        (Some(name), true) => format!("{name}, modified"),
        (None, _) => own.to_owned(),
    }
}

impl Based<GpuParts> {
    /// The figures meant.
    ///
    /// # Errors
    /// One issue for every figure that nothing says.
    pub fn resolve(&self) -> Result<Gpu, Vec<Issue>> {
        let base = self.base.and_then(presets::gpu).map(|preset| preset.gpu);
        let parts = &self.parts;
        let mut missing = Missing(Vec::new());
        let memory = missing.need(
            "gpu.memory_gib",
            parts.memory_gib,
            base.map(|g| g.memory.gib()),
            1.0,
        );
        let bf16 = missing.need(
            "gpu.bf16_tflops",
            parts.bf16_tflops,
            base.map(|g| g.bf16.0 / 1e12),
            1.0,
        );
        let rate =
            |key, given: Option<f64>, base: Option<BytesPerSecond>, missing: &mut Missing| {
                BytesPerSecond(missing.need(key, given, base.map(|b| b.0 / 1e9), 1.0) * 1e9)
            };
        let gpu = Gpu {
            memory: Bytes::from_gib(memory),
            // A larger box with the same driver: what the driver keeps stays what it was.
            usable: Bytes::from_gib(parts.usable_gib.unwrap_or_else(|| {
                base.map_or(memory, |g| {
                    (g.usable.gib() + memory - g.memory.gib()).max(0.0)
                })
            })),
            bf16: FlopsPerSecond(bf16 * 1e12),
            fp8: FlopsPerSecond(
                parts
                    .fp8_tflops
                    .or(base.map(|g| g.fp8.0 / 1e12))
                    .unwrap_or(bf16)
                    * 1e12,
            ),
            hbm: rate(
                "gpu.hbm_gb_per_s",
                parts.hbm_gb_per_s,
                base.map(|g| g.hbm),
                &mut missing,
            ),
            intra: rate(
                "gpu.intra_gb_per_s",
                parts.intra_gb_per_s,
                base.map(|g| g.intra),
                &mut missing,
            ),
            inter: rate(
                "gpu.inter_gb_per_s",
                parts.inter_gb_per_s,
                base.map(|g| g.inter),
                &mut missing,
            ),
            per_node: parts
                .gpus_per_node
                .or(base.map(|g| g.per_node))
                .unwrap_or(8),
        };
        missing.done(gpu)
    }

    /// How the page names it.
    #[must_use]
    pub fn title(&self) -> String {
        let name = self
            .base
            .and_then(presets::gpu)
            .map(|preset| preset.choice.label);
        title(name, "own GPU", self.is_changed())
    }
}

impl Based<PrecisionParts> {
    /// The bytes meant.
    ///
    /// # Errors
    /// One issue for every entry that nothing says.
    pub fn resolve(&self) -> Result<Precision, Vec<Issue>> {
        let base = self
            .base
            .and_then(|id| POLICIES.iter().find(|policy| policy.choice.id == id))
            .map(|policy| policy.bytes);
        let parts = &self.parts;
        let mut missing = Missing(Vec::new());
        let mut need = |key, given, base: Option<f64>| missing.need(key, given, base, 0.0);
        let bytes = Precision {
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

    /// Id and label of the policy, if one is named.
    #[must_use]
    pub fn policy(&self) -> Option<Choice> {
        POLICIES
            .iter()
            .map(|policy| policy.choice)
            .find(|choice| Some(choice.id) == self.base)
    }
}
