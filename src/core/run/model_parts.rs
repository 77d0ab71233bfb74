//! The shapes of a model as a Run sets them, and their values together with a preset.

use super::based::{Based, Missing, title};
use super::presets;
use crate::issue::Issue;
use crate::message::{Message, verbatim};
use crate::model::{Architecture, Biases, Mla, Moe, Norm, QkNorm, Vision};

/// Shapes of a model that were set one by one; none: the preset's.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)] // each is the field of `Architecture` (or of its part) of the same name
pub struct ModelParts {
    /// What a person calls it; none: as its preset is called.
    pub name: Option<String>,
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
    pub post_norms: Option<bool>,
    pub qk_norm: Option<QkNorm>,
    pub biases: Option<Biases>,
    pub dropout: Option<bool>,
    pub learned_positions: Option<u64>,
    pub mtp_modules: Option<u64>,
    pub pattern: Option<String>,
    pub window: Option<u64>,
    pub chunk: Option<u64>,
    pub value_head_dim: Option<u64>,
    pub sinks: Option<bool>,
    pub output_gate: Option<bool>,
    pub second_kv_heads: Option<u64>,
    pub second_head_dim: Option<u64>,
    pub second_shared_kv: Option<bool>,
    pub indexer_heads: Option<u64>,
    pub indexer_head_dim: Option<u64>,
    pub indexer_top_k: Option<u64>,
    pub mamba_heads: Option<u64>,
    pub mamba_head_dim: Option<u64>,
    pub mamba_state: Option<u64>,
    pub mamba_groups: Option<u64>,
    pub delta_key_heads: Option<u64>,
    pub delta_value_heads: Option<u64>,
    pub delta_head_dim: Option<u64>,
    pub kda_heads: Option<u64>,
    pub kda_head_dim: Option<u64>,
    pub kda_gate_rank: Option<u64>,
    pub csa_q_lora_rank: Option<u64>,
    pub csa_o_lora_rank: Option<u64>,
    pub csa_o_groups: Option<u64>,
    pub csa_streams: Option<u64>,
    pub experts: Option<u64>,
    pub top_k: Option<u64>,
    pub expert_ffn: Option<u64>,
    pub shared_experts: Option<u64>,
    pub dense_layers: Option<u64>,
    pub groups: Option<u64>,
    pub top_groups: Option<u64>,
    pub latent: Option<u64>,
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
    pub vision_frozen: Option<bool>,
}

impl Based<ModelParts> {
    /// The shapes meant.
    ///
    /// # Errors
    /// One issue for every shape that is not set.
    pub fn resolve(&self) -> Result<Architecture, Vec<Issue>> {
        let base = self.base.and_then(presets::model).map(|preset| preset.architecture);
        let parts = &self.parts;
        let mut missing = Missing::default();
        let (pattern, layers) = self.layers(base, &mut missing);
        let hidden = missing.need("model.hidden", parts.hidden, base.map(|m| m.hidden), 1);
        let ffn = missing.need("model.ffn", parts.ffn, base.map(|m| m.ffn), 1);
        let heads = missing.need("model.heads", parts.heads, base.map(|m| m.heads), 1);
        let vocab = missing.need("model.vocab", parts.vocab, base.map(|m| m.vocab), 1);
        // The head width follows the hidden size and the heads unless it is said, or the preset's own was special.
        let special = base.filter(|m| m.head_dim * m.heads != m.hidden).map(|m| m.head_dim);
        let moe = self.moe(base, &mut missing);
        let mla = self.mla(base, &mut missing);
        let vision = self.vision(base, &mut missing);
        let model = Architecture {
            layers,
            hidden,
            ffn,
            heads,
            kv_heads: parts.kv_heads.or(base.map(|m| m.kv_heads).filter(|_| parts.heads.is_none())).unwrap_or(heads),
            head_dim: parts.head_dim.or(special).unwrap_or(hidden / heads.max(1)),
            vocab,
            gated_ffn: parts.gated_ffn.or(base.map(|m| m.gated_ffn)).unwrap_or(true),
            tied_embeddings: parts.tied_embeddings.or(base.map(|m| m.tied_embeddings)).unwrap_or(false),
            norm: parts.norm.or(base.map(|m| m.norm)).unwrap_or(Norm::Rms),
            post_norms: parts.post_norms.or(base.map(|m| m.post_norms)).unwrap_or(false),
            qk_norm: parts.qk_norm.or(base.map(|m| m.qk_norm)).unwrap_or(QkNorm::None),
            biases: parts.biases.or(base.map(|m| m.biases)).unwrap_or(Biases::None),
            dropout: parts.dropout.or(base.map(|m| m.dropout)).unwrap_or(false),
            learned_positions: parts.learned_positions.or(base.map(|m| m.learned_positions)).unwrap_or(0),
            mtp_modules: parts
                .mtp_modules
                .or((parts.pattern.is_some() && pattern.modules() > 0).then(|| pattern.modules()))
                .or(base.map(|m| m.mtp_modules))
                .unwrap_or(0),
            pattern,
            window: of(parts.window, base, |m| m.window),
            chunk: of(parts.chunk, base, |m| m.chunk),
            value_head_dim: of(parts.value_head_dim, base, |m| m.value_head_dim),
            sinks: of(parts.sinks, base, |m| m.sinks),
            output_gate: of(parts.output_gate, base, |m| m.output_gate),
            second: self.second(base, &mut missing),
            indexer: self.indexer(base, &mut missing),
            mamba: self.mamba(base, &mut missing),
            delta_net: self.delta_net(base, &mut missing),
            kda: self.kda(base, &mut missing),
            compressed: self.compressed(base, &mut missing),
            moe,
            mla,
            vision,
        };
        missing.kinds(&model);
        missing.done(model)
    }

    /// Experts, if the model has any; `experts` of 0 or 1 takes them away from a preset.
    fn moe(&self, base: Option<Architecture>, missing: &mut Missing) -> Option<Moe> {
        let parts = &self.parts;
        let base = base.and_then(|m| m.moe);
        let given = parts.experts.is_some()
            || parts.top_k.is_some()
            || parts.expert_ffn.is_some()
            || parts.shared_experts.is_some()
            || parts.dense_layers.is_some()
            || parts.groups.is_some()
            || parts.top_groups.is_some()
            || parts.latent.is_some();
        if (!given && base.is_none()) || parts.experts.is_some_and(|experts| experts < 2) {
            return None;
        }
        // A preset's groups are of its own experts.
        let own = base.filter(|_| parts.experts.is_none() && parts.top_k.is_none());
        let groups = parts.groups.or(own.map(|m| m.groups)).unwrap_or(1);
        let own = own.filter(|_| parts.groups.is_none());
        Some(Moe {
            groups,
            top_groups: parts.top_groups.or(own.map(|m| m.top_groups)).unwrap_or(groups),
            experts: missing.need("model.moe.experts", parts.experts, base.map(|m| m.experts), 2),
            top_k: missing.need("model.moe.top_k", parts.top_k, base.map(|m| m.top_k), 1),
            expert_ffn: missing.need("model.moe.expert_ffn", parts.expert_ffn, base.map(|m| m.expert_ffn), 1),
            shared_experts: parts.shared_experts.or(base.map(|m| m.shared_experts)).unwrap_or(0),
            dense_layers: parts
                .dense_layers
                .or(base.filter(|_| parts.pattern.is_none()).map(|m| m.dense_layers))
                .unwrap_or(0),
            latent: parts.latent.or(base.map(|m| m.latent)).unwrap_or(0),
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
            q_lora_rank: parts.q_lora_rank.or(base.map(|m| m.q_lora_rank)).unwrap_or(0),
            kv_lora_rank: missing.need("model.mla.kv_lora_rank", parts.kv_lora_rank, base.map(|m| m.kv_lora_rank), 1),
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
            v_head_dim: missing.need("model.mla.v_head_dim", parts.v_head_dim, base.map(|m| m.v_head_dim), 1),
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
            || parts.vision_layers.is_some()
            || parts.vision_frozen.is_some();
        (given || base.is_some()).then(|| {
            let hidden = missing.need("model.vision.hidden", parts.vision_hidden, base.map(|m| m.hidden), 1);
            Vision {
                image_width: parts.image_width.or(base.map(|m| m.image_width)).unwrap_or(224),
                image_height: parts.image_height.or(base.map(|m| m.image_height)).unwrap_or(224),
                channels: parts.channels.or(base.map(|m| m.channels)).unwrap_or(3),
                patch: parts.patch.or(base.map(|m| m.patch)).unwrap_or(14),
                hidden,
                ffn: parts.vision_ffn.or(base.map(|m| m.ffn)).unwrap_or(4 * hidden),
                layers: missing.need("model.vision.layers", parts.vision_layers, base.map(|m| m.layers), 1),
                frozen: parts.vision_frozen.or(base.map(|m| m.frozen)).unwrap_or(false),
            }
        })
    }

    /// How the page names it: its own name, else the preset's, "modified" where shapes differ.
    #[must_use]
    pub fn title(&self) -> Message {
        let name = self.base.and_then(presets::model).map(|preset| preset.choice.label);
        if let Some(own) = &self.parts.name {
            return verbatim(own.clone());
        }
        title(name, "own model", self.is_changed())
    }
}

/// What was said, else the preset's, else nothing.
fn of<T: Default>(said: Option<T>, base: Option<Architecture>, part: impl Fn(&Architecture) -> T) -> T {
    said.or_else(|| base.as_ref().map(part)).unwrap_or_default()
}

impl From<Architecture> for ModelParts {
    fn from(model: Architecture) -> Self {
        let (moe, mla, vision) = (model.moe, model.mla, model.vision);
        Self {
            name: None,
            layers: Some(model.layers),
            hidden: Some(model.hidden),
            ffn: Some(model.ffn),
            heads: Some(model.heads),
            kv_heads: Some(model.kv_heads),
            head_dim: Some(model.head_dim),
            vocab: Some(model.vocab),
            gated_ffn: Some(model.gated_ffn),
            tied_embeddings: Some(model.tied_embeddings),
            norm: Some(model.norm),
            post_norms: Some(model.post_norms),
            qk_norm: Some(model.qk_norm),
            biases: Some(model.biases),
            dropout: Some(model.dropout),
            learned_positions: Some(model.learned_positions),
            mtp_modules: Some(model.mtp_modules),
            pattern: (!model.pattern.is_uniform()).then(|| model.pattern.to_string()),
            window: Some(model.window),
            chunk: Some(model.chunk),
            value_head_dim: Some(model.value_head_dim),
            sinks: Some(model.sinks),
            output_gate: Some(model.output_gate),
            second_kv_heads: model.second.map(|own| own.kv_heads),
            second_head_dim: model.second.map(|own| own.head_dim),
            second_shared_kv: model.second.map(|own| own.shared_kv),
            indexer_heads: model.indexer.map(|own| own.heads),
            indexer_head_dim: model.indexer.map(|own| own.head_dim),
            indexer_top_k: model.indexer.map(|own| own.top_k),
            mamba_heads: model.mamba.map(|own| own.heads),
            mamba_head_dim: model.mamba.map(|own| own.head_dim),
            mamba_state: model.mamba.map(|own| own.state),
            mamba_groups: model.mamba.map(|own| own.groups),
            delta_key_heads: model.delta_net.map(|own| own.key_heads),
            delta_value_heads: model.delta_net.map(|own| own.value_heads),
            delta_head_dim: model.delta_net.map(|own| own.head_dim),
            kda_heads: model.kda.map(|own| own.heads),
            kda_head_dim: model.kda.map(|own| own.head_dim),
            kda_gate_rank: model.kda.map(|own| own.gate_rank),
            csa_q_lora_rank: model.compressed.map(|own| own.q_lora_rank),
            csa_o_lora_rank: model.compressed.map(|own| own.o_lora_rank),
            csa_o_groups: model.compressed.map(|own| own.o_groups),
            csa_streams: model.compressed.map(|own| own.streams),
            experts: moe.map(|moe| moe.experts),
            top_k: moe.map(|moe| moe.top_k),
            expert_ffn: moe.map(|moe| moe.expert_ffn),
            shared_experts: moe.map(|moe| moe.shared_experts),
            dense_layers: moe.map(|moe| moe.dense_layers),
            groups: moe.map(|moe| moe.groups),
            top_groups: moe.map(|moe| moe.top_groups),
            latent: moe.map(|moe| moe.latent),
            q_lora_rank: mla.map(|mla| mla.q_lora_rank),
            kv_lora_rank: mla.map(|mla| mla.kv_lora_rank),
            qk_nope_head_dim: mla.map(|mla| mla.qk_nope_head_dim),
            qk_rope_head_dim: mla.map(|mla| mla.qk_rope_head_dim),
            v_head_dim: mla.map(|mla| mla.v_head_dim),
            image_width: vision.map(|vision| vision.image_width),
            image_height: vision.map(|vision| vision.image_height),
            channels: vision.map(|vision| vision.channels),
            patch: vision.map(|vision| vision.patch),
            vision_hidden: vision.map(|vision| vision.hidden),
            vision_ffn: vision.map(|vision| vision.ffn),
            vision_layers: vision.map(|vision| vision.layers),
            vision_frozen: vision.map(|vision| vision.frozen),
        }
    }
}
