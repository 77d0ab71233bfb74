//! The shapes of what mixes tokens besides one grouped-query or latent attention: second heads, indexer, state-space
//! models and linear attentions. What they hold and cost is in `elements.rs`, `flops.rs` and `inventory.rs`.

use crate::field::Steps::{By, Double};
use crate::field::{model, shape};

/// Taps of the convolution before every state-space model and linear attention here.
pub(super) const CONVOLUTION: u64 = 4;

shape! {
    /// Heads of full attention in a second shape; queries are as many as in the first. Source: Gemma 4's
    /// `global_head_dim` and `num_global_key_value_heads`, `MiMo`'s `swa_*` keys.
    pub struct SecondHeads, SecondHeadsParts in "model.second." {
        /// of layers B of the pattern
        kv_heads: u64 => model("Second shape, key-value heads").count(1, 1 << 16, Double).advanced(),
        /// of layers B of the pattern
        head_dim: u64 => model("Second shape, head width").count(1, 1 << 16, Double).advanced(),
        /// one projection makes keys and values of layers B
        shared_kv: bool = false => model("Second shape, keys as values").advanced(),
    }
}

shape! {
    /// The lightning indexer of DeepSeek's sparse attention (V3.2, section 2.1): scores all earlier keys, keeps the
    /// best.
    pub struct Indexer, IndexerParts in "model.dsa." {
        /// heads that select the keys of sparse attention
        heads: u64 => model("Indexer heads").count(1, 1 << 16, Double).advanced(),
        /// width of one head of the indexer
        head_dim: u64 => model("Indexer head width").count(1, 1 << 16, Double).advanced(),
        /// keys that a query of sparse attention keeps
        top_k: u64 => model("Selected keys").count(1, 1 << 30, Double).advanced(),
    }
}

shape! {
    /// Mamba-2 (state-space duality). Source: Megatron-LM `mamba_mixer.py`.
    pub struct Mamba, MambaParts in "model.mamba." {
        /// heads of a Mamba-2 layer
        heads: u64 => model("Mamba heads").count(1, 1 << 16, Double).advanced(),
        /// width of one head of a Mamba-2 layer
        head_dim: u64 => model("Mamba head width").count(1, 1 << 16, Double).advanced(),
        /// state of one channel
        state: u64 => model("Mamba state").count(1, 1 << 16, Double).advanced(),
        /// groups of heads that share B and C; TP divides them
        groups: u64 => model("Mamba groups").count(1, 1 << 16, Double).advanced(),
    }
}

impl Mamba {
    /// Inner width d = n p.
    pub const fn inner(&self) -> u64 {
        self.heads * self.head_dim
    }
    /// Channels of the convolution, x, B and C: d + 2 g N.
    pub(crate) const fn convolved(&self) -> u64 {
        self.inner() + 2 * self.groups * self.state
    }
    /// Width of the input projection, z, x, B, C and dt: 2 d + 2 g N + n.
    pub const fn projected(&self) -> u64 {
        self.inner() + self.convolved() + self.heads
    }
}

shape! {
    /// Gated delta net (Qwen3-Next). Source: Megatron-LM `gated_delta_net`.
    pub struct DeltaNet, DeltaNetParts in "model.gdn." {
        /// heads of queries and keys of a gated delta net
        key_heads: u64 => model("Delta net key heads").count(1, 1 << 16, Double).advanced(),
        /// heads of values of a gated delta net
        value_heads: u64 => model("Delta net value heads").count(1, 1 << 16, Double).advanced(),
        /// width of one head of a gated delta net
        head_dim: u64 => model("Delta net head width").count(1, 1 << 16, Double).advanced(),
    }
}

impl DeltaNet {
    pub const fn keys(&self) -> u64 {
        self.key_heads * self.head_dim
    }
    pub const fn values(&self) -> u64 {
        self.value_heads * self.head_dim
    }
}

shape! {
    /// Kimi delta attention: a delta net whose decay is of every channel. Source: Automodel `kimi_linear/model.py`.
    pub struct Kda, KdaParts in "model.kda." {
        /// heads of Kimi delta attention
        heads: u64 => model("KDA heads").count(1, 1 << 16, Double).advanced(),
        /// width of one head of Kimi delta attention
        head_dim: u64 => model("KDA head width").count(1, 1 << 16, Double).advanced(),
        /// rank of its output gate; 0: full
        gate_rank: u64 => model("KDA gate rank").count(0, 1 << 16, Double).advanced(),
    }
}

impl Kda {
    /// Width over all heads.
    pub const fn inner(&self) -> u64 {
        self.heads * self.head_dim
    }
}

shape! {
    /// DeepSeek-V4's attention: one key-value head that is key and value, a window of keys besides those that a
    /// compressor pools, an output projection of low rank in groups, hyper-connections for a residual stream of
    /// several. Source: Automodel `deepseek_v4/layers.py`.
    pub struct Compressed, CompressedParts in "model.csa." {
        /// rank of the query's down-projection of DeepSeek-V4's attention
        q_lora_rank: u64 => model("CSA query rank").count(1, 1 << 20, By(64.0)).advanced(),
        /// rank of one group's output projection
        o_lora_rank: u64 => model("CSA output rank").count(1, 1 << 20, By(64.0)).advanced(),
        /// groups of heads with an output projection of their own
        o_groups: u64 => model("CSA output groups").count(1, 1 << 10, Double).advanced(),
        /// streams of the residual that hyper-connections mix
        streams: u64 => model("Residual streams").count(1, 64, Double).advanced(),
    }
}

impl Compressed {
    /// Ratio at which an indexer narrows the compressed keys, and at which two windows overlap.
    pub(crate) const INDEXED: u8 = 4;

    /// Feature width of a pooled key at `ratio`: twice the head where windows overlap.
    pub const fn pooled(ratio: u8, head_dim: u64) -> u64 {
        if ratio == Self::INDEXED { 2 * head_dim } else { head_dim }
    }
}
