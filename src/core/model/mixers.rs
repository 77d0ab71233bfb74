//! The shapes of what mixes tokens besides one grouped-query or latent attention: second heads, indexer, state-space
//! models and linear attentions. What they hold and cost is in `elements.rs`, `flops.rs` and `inventory.rs`.

/// Taps of the convolution before every state-space model and linear attention here.
pub(super) const CONVOLUTION: u64 = 4;

/// Heads of full attention in a second shape; queries are as many as in the first. Source: Gemma 4's `global_head_dim`
/// and `num_global_key_value_heads`, `MiMo`'s `swa_*` keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondHeads {
    /// Key-value heads.
    pub kv_heads: u64,
    /// Width of one head.
    pub head_dim: u64,
    /// Keys serve as values: one projection makes both (`attention_k_eq_v`).
    pub shared_kv: bool,
}

/// The lightning indexer of DeepSeek's sparse attention (V3.2, section 2.1): scores all earlier keys, keeps the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indexer {
    /// Heads of its queries; it has one of keys.
    pub heads: u64,
    /// Width of one head.
    pub head_dim: u64,
    /// Keys a query keeps.
    pub top_k: u64,
}

/// Mamba-2 (state-space duality). Source: Megatron-LM `mamba_mixer.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mamba {
    /// Heads n.
    pub heads: u64,
    /// Width p of one head.
    pub head_dim: u64,
    /// State N of one channel.
    pub state: u64,
    /// Groups g of heads that share B and C; tensor parallelism divides them.
    pub groups: u64,
}

impl Mamba {
    /// Inner width d = n p.
    #[must_use]
    pub const fn inner(&self) -> u64 {
        self.heads * self.head_dim
    }
    /// Channels of the convolution, x, B and C: d + 2 g N.
    #[must_use]
    pub(crate) const fn convolved(&self) -> u64 {
        self.inner() + 2 * self.groups * self.state
    }
    /// Width of the input projection, z, x, B, C and dt: 2 d + 2 g N + n.
    #[must_use]
    pub const fn projected(&self) -> u64 {
        self.inner() + self.convolved() + self.heads
    }
}

/// Gated delta net (Qwen3-Next). Source: Megatron-LM `gated_delta_net`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeltaNet {
    /// Heads of queries and keys.
    pub key_heads: u64,
    /// Heads of values; the states.
    pub value_heads: u64,
    /// Width of a head, of keys and values alike.
    pub head_dim: u64,
}

impl DeltaNet {
    /// Width of keys over all heads.
    #[must_use]
    pub const fn keys(&self) -> u64 {
        self.key_heads * self.head_dim
    }
    /// Width of values over all heads.
    #[must_use]
    pub const fn values(&self) -> u64 {
        self.value_heads * self.head_dim
    }
}

/// Kimi delta attention: a delta net whose decay is of every channel. Source: Automodel `kimi_linear/model.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kda {
    /// Heads of queries, keys and values.
    pub heads: u64,
    /// Width of a head.
    pub head_dim: u64,
    /// Rank of the output gate; 0: full (Kimi K3).
    pub gate_rank: u64,
}

impl Kda {
    /// Width over all heads.
    #[must_use]
    pub const fn inner(&self) -> u64 {
        self.heads * self.head_dim
    }
}

/// DeepSeek-V4's attention: one key-value head that is key and value, a window of keys besides those that a compressor
/// pools, an output projection of low rank in groups, hyper-connections for a residual stream of several. Source:
/// Automodel `deepseek_v4/layers.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compressed {
    /// Rank of the query's down-projection.
    pub q_lora_rank: u64,
    /// Rank of a group's output projection.
    pub o_lora_rank: u64,
    /// Groups of heads with an output projection of their own.
    pub o_groups: u64,
    /// Streams of the residual, which hyper-connections mix.
    pub streams: u64,
}

impl Compressed {
    /// Ratio at which an indexer narrows the compressed keys, and at which two windows overlap.
    pub(crate) const INDEXED: u8 = 4;

    /// Feature width of a pooled key at `ratio`: twice the head where windows overlap.
    #[must_use]
    pub const fn pooled(ratio: u8, head_dim: u64) -> u64 {
        if ratio == Self::INDEXED { 2 * head_dim } else { head_dim }
    }
}
