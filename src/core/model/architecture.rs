//! The shapes of a transformer, in the names of its own configuration file.

use super::mixers::{Compressed, DeltaNet, Indexer, Kda, Mamba, SecondHeads};
use super::pattern::Pattern;

/// Which normalisation stands before attention and FFN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// One weight a channel.
    Rms,
    /// Weight and bias a channel.
    Layer,
}

/// Which linear layers carry a bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Biases {
    /// None (Llama).
    None,
    /// Only the query, key and value projections (Qwen 2).
    Qkv,
    /// Every linear (GPT).
    All,
}

/// Which norm queries and keys pass before attention (latent attention has its own).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QkNorm {
    /// None (Llama).
    None,
    /// One over each head, its weights shared by all (Qwen 3).
    Head,
    /// One over all heads (`MiniMax` M2, `OLMo` 3).
    All,
}

/// Mixture of experts: the FFN of every layer but the first `dense_layers`, or of those that the pattern says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moe {
    /// Routed experts a layer.
    pub experts: u64,
    /// Routed experts a token visits.
    pub top_k: u64,
    /// FFN width of one expert.
    pub expert_ffn: u64,
    /// Experts that every token visits, each of width `expert_ffn`.
    pub shared_experts: u64,
    /// Leading layers with a dense FFN.
    pub dense_layers: u64,
    /// Groups that the experts of a layer stand in; 1 where a token may go to any.
    pub groups: u64,
    /// Groups that the experts of one token come from at most.
    pub top_groups: u64,
    /// Width that tokens are projected to before they are routed; 0: the hidden size itself.
    pub latent: u64,
}

impl Moe {
    /// Experts in every layer, none shared, that a token may take from anywhere.
    #[must_use]
    pub const fn new(experts: u64, top_k: u64, expert_ffn: u64) -> Self {
        Self { experts, top_k, expert_ffn, shared_experts: 0, dense_layers: 0, groups: 1, top_groups: 1, latent: 0 }
    }
    /// Width of what enters a routed expert: the latent one, or the hidden size.
    #[must_use]
    pub const fn input(&self, hidden: u64) -> u64 {
        if self.latent == 0 { hidden } else { self.latent }
    }
}

/// Multi-head latent attention (DeepSeek-V2 and V3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mla {
    /// Rank of the query's down-projection; 0: the query is projected directly.
    pub q_lora_rank: u64,
    /// Rank of the joint key-value down-projection.
    pub kv_lora_rank: u64,
    /// Head width of query and key without rotary position.
    pub qk_nope_head_dim: u64,
    /// Head width of query and key with rotary position.
    pub qk_rope_head_dim: u64,
    /// Head width of the value.
    pub v_head_dim: u64,
}

/// A vision tower in front of the language model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vision {
    /// Pixels across.
    pub image_width: u64,
    /// Pixels down.
    pub image_height: u64,
    /// Colour channels.
    pub channels: u64,
    /// Side of a square patch, pixels.
    pub patch: u64,
    /// Hidden size of the tower.
    pub hidden: u64,
    /// FFN width of the tower.
    pub ffn: u64,
    /// Layers of the tower.
    pub layers: u64,
    /// The tower is not trained; its projector is.
    pub frozen: bool,
}

impl Vision {
    /// Patches of one image, the tower's tokens: `ceil(W/p) ceil(H/p)`.
    #[must_use]
    pub fn patches(&self) -> u64 {
        let side = self.patch.max(1);
        self.image_width.div_ceil(side) * self.image_height.div_ceil(side)
    }
}

/// A decoder-only transformer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // independent facts of a model
pub struct Architecture {
    /// Transformer layers.
    pub layers: u64,
    /// Hidden size h.
    pub hidden: u64,
    /// Width of a dense FFN f.
    pub ffn: u64,
    /// Query heads a.
    pub heads: u64,
    /// Key-value heads k.
    pub kv_heads: u64,
    /// Width of one head; a · head width may differ from h.
    pub head_dim: u64,
    /// Vocabulary v, unpadded.
    pub vocab: u64,
    /// Gate, up and down projections (SwiGLU) rather than up and down.
    pub gated_ffn: bool,
    /// The language-model head shares the embedding's weights.
    pub tied_embeddings: bool,
    /// Normalisation.
    pub norm: Norm,
    /// A norm after attention and FFN as well as before them (Gemma 2 and 3).
    pub post_norms: bool,
    /// Norm of queries and keys.
    pub qk_norm: QkNorm,
    /// Which linears have a bias.
    pub biases: Biases,
    /// Dropout after attention and FFN (its masks are kept for the backward pass).
    pub dropout: bool,
    /// Rows of a learned position embedding; 0 with rotary positions.
    pub learned_positions: u64,
    /// Multi-token-prediction modules after the last layer.
    pub mtp_modules: u64,
    /// The kinds of its layers, which repeat it; without one, the model is uniform.
    pub pattern: Pattern,
    /// Keys that a query of a sliding-window layer meets, its own included.
    pub window: u64,
    /// Tokens of a chunk, which attention of a chunked layer stays in.
    pub chunk: u64,
    /// Width of a head's value; 0: as `head_dim`.
    pub value_head_dim: u64,
    /// One learned logit a head that takes part in every softmax.
    pub sinks: bool,
    /// The output of attention is multiplied by a gate as wide as itself.
    pub output_gate: bool,
    /// Heads of layers of the second shape, if any.
    pub second: Option<SecondHeads>,
    /// What selects the keys of sparse attention, if anything does.
    pub indexer: Option<Indexer>,
    /// Mamba-2 layers, if any.
    pub mamba: Option<Mamba>,
    /// Gated delta nets, if any.
    pub delta_net: Option<DeltaNet>,
    /// Kimi delta attention, if any.
    pub kda: Option<Kda>,
    /// Attention over compressed keys, if any.
    pub compressed: Option<Compressed>,
    /// Mixture of experts, if any.
    pub moe: Option<Moe>,
    /// Latent attention, if any.
    pub mla: Option<Mla>,
    /// Vision tower, if any.
    pub vision: Option<Vision>,
}

impl Architecture {
    /// A dense Llama-style model (RMSNorm, SwiGLU, no biases, untied embeddings); the shapes that differ are given.
    #[must_use]
    pub const fn llama(layers: u64, hidden: u64, ffn: u64, heads: u64, kv_heads: u64, vocab: u64) -> Self {
        Self {
            layers,
            hidden,
            ffn,
            heads,
            kv_heads,
            head_dim: hidden / heads,
            vocab,
            gated_ffn: true,
            tied_embeddings: false,
            norm: Norm::Rms,
            post_norms: false,
            qk_norm: QkNorm::None,
            biases: Biases::None,
            dropout: false,
            learned_positions: 0,
            mtp_modules: 0,
            pattern: Pattern::UNIFORM,
            window: 0,
            chunk: 0,
            value_head_dim: 0,
            sinks: false,
            output_gate: false,
            second: None,
            indexer: None,
            mamba: None,
            delta_net: None,
            kda: None,
            compressed: None,
            moe: None,
            mla: None,
            vision: None,
        }
    }

    /// A dense GPT-style model: LayerNorm, two-matrix FFN of 4 h, biases, tied embeddings, learned positions.
    #[must_use]
    pub const fn gpt(layers: u64, hidden: u64, heads: u64, vocab: u64, positions: u64) -> Self {
        Self {
            gated_ffn: false,
            tied_embeddings: true,
            norm: Norm::Layer,
            biases: Biases::All,
            dropout: true,
            learned_positions: positions,
            ..Self::llama(layers, hidden, 4 * hidden, heads, heads, vocab)
        }
    }

    /// Layers that route their FFN over experts.
    #[must_use]
    pub fn moe_layers(&self) -> u64 {
        let kinds = self.all_kinds();
        let routed = kinds.iter().filter(|(kind, _)| kind.ffn.is_routed());
        routed.map(|(_, count)| *count).sum()
    }
    /// Width of queries (and of the attention output) over all heads.
    #[must_use]
    pub(crate) fn query_width(&self) -> u64 {
        self.heads * self.head_dim
    }

    /// Ranks of `tp` that cut keys and values of the first and of the second shape of heads: one for each head at most.
    /// Latent attention makes as many of them as of queries.
    #[must_use]
    pub(crate) fn key_value_ranks(&self, tp: u64) -> [u64; 2] {
        let first = if self.mla.is_some() { self.heads } else { self.kv_heads };
        let second = self.second.map_or(first, |second| second.kv_heads);
        [first, second].map(|heads| tp.min(heads).max(1))
    }
}
