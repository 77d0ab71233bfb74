//! The model's own shapes, the GPU's, and what tensor parallelism must divide.

use super::{Check, divisors};
use crate::cluster::Gpu;
use crate::issue::Issue;
use crate::model::{Architecture, AttentionCount, ImageSizes, Mixer, Moe, Vision, model_flops_per_token};
use crate::run::presets::GpuFamily;
use crate::run::{AttentionKernel, Format};
use crate::t;
use crate::units::whole;

/// More parameters than anything that will be trained soon; keeps every count an exact integer.
pub const MAX_PARAMETERS: f64 = 1e15;
/// As many layers as the field takes.
const MAX_LAYERS: u64 = 100_000;

/// Widest size of what mixes tokens, that of the residual stream. Products of three of them are exact integers.
const WIDEST: u64 = 1 << 20;

/// Longest name of a model, characters.
const MAX_NAME: usize = 40;

/// True if the heads and the FFN of `model` divide over `tp` tensor-parallel ranks.
pub(crate) fn divides_by(model: &Architecture, tp: u64) -> bool {
    let whole = model.heads.is_multiple_of(tp) && model.ffn.is_multiple_of(tp);
    whole && uncut_heads(model, tp).is_none()
}

/// Key-value heads of the first or the second shape that neither divide over `tp` ranks nor are repeated on whole
/// groups of them.
fn uncut_heads(model: &Architecture, tp: u64) -> Option<u64> {
    let first = (model.mla.is_none()).then_some(model.kv_heads);
    let second = model.second.filter(|_| has_second(model));
    let shapes = [first, second.map(|second| second.kv_heads)];
    let uncut = |heads: &u64| !heads.is_multiple_of(tp) && !tp.is_multiple_of(*heads);
    shapes.into_iter().flatten().find(uncut)
}

/// True if any layer has heads of the second shape.
fn has_second(model: &Architecture) -> bool {
    model.any_layer(|kind| kind.mixer == Mixer::Second)
}

/// The field of a size of what mixes tokens that is wider than any; elements and FLOPs multiply these as integers.
fn too_wide(m: &Architecture) -> Option<&'static str> {
    let shape = [("model.hidden", m.hidden), ("model.heads", m.heads), ("model.head_dim", m.head_dim)];
    let key_values = [("model.kv_heads", m.kv_heads), ("model.value_head_dim", m.value_head_dim)];
    let second =
        m.second.map(|part| [("model.second.kv_heads", part.kv_heads), ("model.second.head_dim", part.head_dim)]);
    let mla = m.mla.map(|part| {
        [
            ("model.mla.q_lora_rank", part.q_lora_rank),
            ("model.mla.kv_lora_rank", part.kv_lora_rank),
            ("model.mla.qk_nope_head_dim", part.qk_nope_head_dim),
            ("model.mla.qk_rope_head_dim", part.qk_rope_head_dim),
            ("model.mla.v_head_dim", part.v_head_dim),
        ]
    });
    let indexer = m.indexer.map(|part| [("model.dsa.heads", part.heads), ("model.dsa.head_dim", part.head_dim)]);
    let mamba = m.mamba.map(|part| {
        [
            ("model.mamba.heads", part.heads),
            ("model.mamba.head_dim", part.head_dim),
            ("model.mamba.state", part.state),
            ("model.mamba.groups", part.groups),
        ]
    });
    let delta_net = m.delta_net.map(|part| {
        [
            ("model.gdn.key_heads", part.key_heads),
            ("model.gdn.value_heads", part.value_heads),
            ("model.gdn.head_dim", part.head_dim),
        ]
    });
    let kda = m.kda.map(|part| {
        [
            ("model.kda.heads", part.heads),
            ("model.kda.head_dim", part.head_dim),
            ("model.kda.gate_rank", part.gate_rank),
        ]
    });
    let compressed = m.compressed.map(|part| {
        [
            ("model.csa.q_lora_rank", part.q_lora_rank),
            ("model.csa.o_lora_rank", part.o_lora_rank),
            ("model.csa.o_groups", part.o_groups),
            ("model.csa.streams", part.streams),
        ]
    });
    let sizes = shape.into_iter().chain(key_values).chain(second.into_iter().flatten());
    let sizes = sizes.chain(mla.into_iter().flatten()).chain(indexer.into_iter().flatten());
    let sizes = sizes.chain(mamba.into_iter().flatten()).chain(delta_net.into_iter().flatten());
    let mut sizes = sizes.chain(kda.into_iter().flatten()).chain(compressed.into_iter().flatten());
    sizes.find(|(_, size)| *size > WIDEST).map(|(field, _)| field)
}

impl Check<'_> {
    /// Checks that the model's name fits on the page.
    pub fn name(&mut self) {
        let long = |name: &String| name.chars().count() > MAX_NAME;
        if self.run.model.parts.name.as_ref().is_some_and(long) {
            self.error("model.name", t!("at most {count} characters", count = MAX_NAME));
        }
    }

    pub fn model(&mut self) {
        let m = self.model;
        // Before anything walks over them: a Run may be made by others than the fields, which refuse more.
        let towers = m.vision.map_or(0, |vision| vision.layers);
        if m.layers.max(towers).max(m.mtp_modules) > MAX_LAYERS {
            self.error("model.layers", t!("more than {MAX_LAYERS} layers", MAX_LAYERS));
            return;
        }
        if let Some(field) = too_wide(m) {
            self.error(field, t!("Enter a whole number of at most {high}.", high = WIDEST));
            return;
        }
        if !m.vision.is_none_or(|vision| self.images(vision)) {
            return;
        }
        let per_token = model_flops_per_token(m, 0, AttentionCount::Full);
        // 6 FLOPs a parameter and token, routed experts counted once for each of E rather than K.
        let experts = m.moe.map_or(1.0, |moe| moe.experts as f64 / (moe.top_k + moe.shared_experts).max(1) as f64);
        if per_token / 6.0 * experts.max(1.0) > MAX_PARAMETERS {
            self.error("model", "more than 10^15 parameters; make the model smaller");
            return;
        }
        self.heads();
        if let Some(moe) = m.moe {
            if moe.top_k > moe.experts {
                self.error(
                    "model.moe.top_k",
                    t!("a token cannot visit {top_k} of {experts} experts", top_k = moe.top_k, experts = moe.experts),
                );
            }
            self.groups(moe);
            if moe.dense_layers > m.layers {
                self.error(
                    "model.moe.dense_layers",
                    t!("more than the {layers} layers of the model", layers = m.layers),
                );
            }
        }
    }

    /// Sizes of images and what they take of a sequence; false where no image has a size.
    fn images(&mut self, vision: Vision) -> bool {
        if vision.image_sizes != ImageSizes::NONE && !vision.image_sizes.differ() {
            let message = t!("the shares sum to nothing: no image has a size");
            self.refuse("model.vision.image_sizes", message, "768x768:1");
            return false;
        }
        // Where images are counted, those of the fullest sample.
        let counted = vision.image_sizes.images().is_some();
        let sample = if counted { vision.largest() } else { vision };
        let (tokens, seq_len) = (sample.images_a_sequence() * sample.tokens() as f64, self.run.seq_len);
        if tokens > seq_len as f64 {
            let tokens = whole(tokens.ceil()).unwrap_or(u64::MAX);
            let message = t!("images take {tokens} tokens of a sequence of {seq_len}", tokens, seq_len);
            let field = if counted { "model.vision.image_sizes" } else { "model.vision.images" };
            self.warnings.push(Issue::warning(field, message));
        }
        if sample.tokens() == 0 && sample.images_a_sequence() > 0.0 {
            let message = t!("the image has fewer patches than are merged into one token: none reaches the model");
            self.warnings.push(Issue::warning("model.vision.patch", message));
        }
        if counted && vision.images.total_cmp(&1.0).is_ne() {
            self.doubt("model.vision.images", "the sizes of images say how many a sample has: this is not used", 1);
        }
        true
    }

    /// Query heads divide over the key-value heads, of the second shape too, and have a width.
    fn heads(&mut self) {
        let m = self.model;
        let second = m.second.filter(|_| has_second(m));
        let shapes = [("model.kv_heads", Some(m.kv_heads)), ("model.second.kv_heads", second.map(|own| own.kv_heads))];
        for (field, kv_heads) in shapes {
            let heads = m.heads;
            let kv_heads = kv_heads.unwrap_or(heads);
            if kv_heads > heads || !heads.is_multiple_of(kv_heads) {
                let message = t!("{heads} query heads do not divide over {kv_heads} key-value heads", heads, kv_heads);
                self.error_near(field, message, kv_heads.min(heads), divisors(heads));
            }
        }
        if m.head_dim == 0 {
            self.error("model.heads", "more heads than the hidden size; give model.head_dim or fewer heads");
        }
    }

    /// Groups of experts: of equal size, and the chosen ones with enough experts for a token.
    fn groups(&mut self, moe: Moe) {
        let Moe { experts, top_k, groups, top_groups, .. } = moe;
        if groups == 0 || !experts.is_multiple_of(groups) {
            self.error_near(
                "model.moe.groups",
                t!("{experts} experts do not divide into {groups} groups", experts, groups),
                groups.min(experts),
                divisors(experts),
            );
        } else if top_groups > groups || top_groups * (experts / groups) < top_k {
            self.error_near(
                "model.moe.top_groups",
                t!(
                    "groups with {each} experts each, {top_groups} of {groups}, cannot give a token {top_k}",
                    top_groups,
                    groups,
                    each = experts / groups,
                    top_k
                ),
                top_groups.min(groups),
                (1..=groups).filter(|chosen| chosen * (experts / groups) >= top_k),
            );
        }
    }

    pub fn gpu(&mut self, gpu: &Gpu) {
        if gpu.usable.0 > gpu.memory.0 {
            self.error("gpu.usable_gib", "more than the GPU's memory_gib");
        } else if gpu.usable.0 <= 0.0 {
            self.error("gpu.usable_gib", "nothing is left of the memory; give usable_gib or a larger memory_gib");
        }
        self.low_precision(gpu);
        self.attention_kernel(gpu);
        self.fused_experts(gpu);
    }

    /// fp8 needs a GPU that computes in it.
    fn low_precision(&mut self, gpu: &Gpu) {
        let run = self.run;
        let settings = [
            ("precision", matches!(run.precision.computes(), Format::Fp8 | Format::Fp4)),
            ("stack.attention", run.attention_kernel() == AttentionKernel::Fp8),
            ("fp8_activations", run.fp8_activations),
            ("fp8_swiglu", run.fp8_swiglu),
            ("fp8_dispatch", run.software().fp8_dispatch),
        ];
        let wrong = settings.into_iter().filter(|(_, wrong)| *wrong);
        let set: Vec<(&'static str, String)> = wrong
            .map(|(field, _)| match field {
                "precision" => (field, "bf16-fp32-grads".to_owned()),
                "stack.attention" => (field, "flash-2".to_owned()),
                _ => (field, "false".to_owned()),
            })
            .collect();
        if gpu.computes_in_fp8() || set.is_empty() {
            self.fp8_swiglu();
            return self.blocks(gpu);
        }
        let message = "this GPU has no fp8, which needs a GPU whose fp8 peak is above its bf16 peak";
        self.issues.push(Issue::error(set[0].0, message).with_fixes(set));
    }

    /// An input in fp8 is that of a fused SwiGLU.
    fn fp8_swiglu(&mut self) {
        if self.run.fp8_swiglu && !(self.model.gated_ffn && self.run.software().fused_swiglu) {
            self.doubt("fp8_swiglu", t!("only a fused SwiGLU keeps its input in fp8; this run has none"), false);
        }
    }

    /// MXFP8 and NVFP4 need tensor cores that read the scales of blocks; a recipe may have no attention in fp8.
    fn blocks(&mut self, gpu: &Gpu) {
        let Some(recipe) = self.run.precision.recipe() else {
            return;
        };
        let amd = self.run.gpu.family().is_some_and(GpuFamily::is_amd);
        let fp4 = self.run.precision.computes() == Format::Fp4;
        if recipe.microscaled && !gpu.computes_in_fp4() {
            let message = "this GPU has no block-scaled formats, which need a GPU whose fp4 peak is above its fp8 peak";
            self.refuse("precision", message, "fp8-current");
        } else if fp4 && amd {
            self.refuse("precision", "NVFP4 is NVIDIA's format; this GPU computes in MXFP8", "mxfp8");
        } else if self.run.stack.parts.attention == Some(AttentionKernel::Fp8) && !recipe.attention {
            self.refuse("stack.attention", "this precision's recipe leaves attention in bf16", "cudnn");
        }
    }

    /// A kernel that the GPU cannot run, or that another field rules out.
    fn attention_kernel(&mut self, gpu: &Gpu) {
        let Some(kernel) = self.run.stack.parts.attention else {
            return;
        };
        let fused = kernel != AttentionKernel::Eager;
        if kernel == AttentionKernel::Flash3 && gpu.fp8.0 <= gpu.bf16.0 {
            let message = t!("FlashAttention-3 is written for Hopper; this GPU runs FlashAttention-2");
            self.refuse("stack.attention", message, "flash-2");
        } else if kernel == AttentionKernel::Flash4 && !self.run.gpu.family().is_some_and(GpuFamily::is_blackwell) {
            let message =
                t!("FlashAttention-4 is written for Blackwell of data centers; this GPU runs FlashAttention-2");
            self.refuse("stack.attention", message, "flash-2");
        } else if kernel == AttentionKernel::Aiter && !self.run.gpu.family().is_some_and(GpuFamily::is_amd) {
            let message = t!("AITER's kernels are written for AMD's GPUs; this GPU runs FlashAttention-2");
            self.refuse("stack.attention", message, "flash-2");
        } else if self.run.flash_attention.is_some_and(|on| on != fused) {
            let message =
                t!("flash_attention says otherwise: {works} works", works = format!("flash_attention={fused}"));
            self.issues.push(Issue::error("stack.attention", message).with_fix("flash_attention", fused));
        }
    }

    /// A fused kernel of experts that is asked for where no stack has one; Triton's (`ScatterMoE`) run under eager
    /// programs.
    fn fused_experts(&mut self, gpu: &Gpu) {
        let (stack, preset) = (&self.run.stack, self.run.stack.preset_row().software);
        let asked = stack.parts.moe_fused == Some(true) && !preset.moe_fused && preset.launches.is_none();
        if asked && self.model.moe.is_some() && !gpu.computes_in_fp4() {
            self.refuse("stack.moe_fused", t!("the fused kernel of experts is written for Blackwell"), false);
        }
    }

    /// Checks the sizes that tensor parallelism must divide.
    pub fn tensor(&mut self) {
        let (m, tp) = (*self.model, self.run.tp);
        let works = |t: u64| divides_by(&m, t);
        if works(tp) {
            return;
        }
        let why = if !m.heads.is_multiple_of(tp) {
            t!("{heads} attention heads do not divide by TP {tp}", heads = m.heads, tp)
        } else if !m.ffn.is_multiple_of(tp) {
            t!("the FFN size {ffn} does not divide by TP {tp}", ffn = m.ffn, tp)
        } else {
            t!(
                "{kv_heads} key-value heads neither divide by TP {tp} nor divide it",
                kv_heads = uncut_heads(&m, tp).unwrap_or(m.kv_heads),
                tp
            )
        };
        let divides = divisors(self.run.training_gpus()).filter(|t| works(*t));
        self.error_near("tp", why, tp, divides);
    }
}
