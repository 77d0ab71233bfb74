//! The shapes that the models of a family share, from which [`MODELS`](super::MODELS) are made.

use crate::model::{Architecture, Biases, DeltaNet, Indexer, Mamba, Mla, Moe, Pattern, QkNorm, SecondHeads, Vision};

pub(super) const QWEN_7B: Architecture =
    Architecture { biases: Biases::Qkv, ..Architecture::llama(28, 3584, 18944, 28, 4, 152_064) };
pub(super) const QWEN_72B: Architecture =
    Architecture { biases: Biases::Qkv, ..Architecture::llama(80, 8192, 29568, 64, 8, 152_064) };
pub(super) const MIXTRAL_8X7B: Architecture =
    Architecture { moe: Some(Moe::new(8, 2, 14336)), ..Architecture::llama(32, 4096, 14336, 32, 8, 32_000) };
/// Without its multi-token-prediction module, as the 671 B are counted.
pub(super) const DEEPSEEK: Architecture = Architecture {
    head_dim: 128,
    moe: Some(Moe { shared_experts: 1, dense_layers: 3, groups: 8, top_groups: 4, ..Moe::new(256, 8, 2048) }),
    mla: Some(Mla::DEEPSEEK),
    ..Architecture::llama(61, 7168, 18432, 128, 128, 129_280)
};

/// Heads of 128 whose queries and keys are normed.
pub(super) const fn qwen_3(model: Architecture) -> Architecture {
    Architecture { head_dim: 128, qk_norm: QkNorm::Head, ..model }
}

/// Qwen 3 with experts in every layer. It has no dense FFN: the size of one is given as that of an expert, and unused.
pub(super) const fn qwen_3_moe((layers, hidden): (u64, u64), (heads, kv_heads): (u64, u64), moe: Moe) -> Architecture {
    Architecture {
        moe: Some(moe),
        ..qwen_3(Architecture::llama(layers, hidden, moe.expert_ffn, heads, kv_heads, 151_936))
    }
}

/// GLM-4.5: a shared expert, biases of queries, keys and values.
pub(super) const fn glm_45(model: Architecture, moe: Moe) -> Architecture {
    Architecture { head_dim: 128, biases: Biases::Qkv, moe: Some(Moe { shared_experts: 1, ..moe }), ..model }
}

/// Latent attention and shared experts in the shapes of DeepSeek-V3, without groups of experts.
pub(super) const fn like_deepseek(model: Architecture, q_lora_rank: u64, moe: Moe) -> Architecture {
    Architecture { head_dim: 128, moe: Some(moe), mla: Some(Mla { q_lora_rank, ..Mla::DEEPSEEK }), ..model }
}

/// Qwen 3 Next and 3.5: three gated delta nets to one gated full attention with heads of 256.
pub(super) const fn qwen_hybrid(model: Architecture, value_heads: u64, moe: Option<Moe>) -> Architecture {
    let pattern = match moe {
        Some(_) => "Ge*3,Ae",
        None => "Gd*3,Ad",
    };
    Architecture {
        head_dim: 256,
        qk_norm: QkNorm::Head,
        output_gate: true,
        pattern: Pattern::known(pattern),
        delta_net: Some(DeltaNet { key_heads: 16, value_heads, head_dim: 128 }),
        moe,
        ..model
    }
}

/// The hybrid Qwen with experts, one of them shared.
pub(super) const fn qwen_hybrid_moe(
    (layers, hidden, heads, vocab): (u64, u64, u64, u64),
    value_heads: u64,
    moe: Moe,
) -> Architecture {
    let model = Architecture::llama(layers, hidden, moe.expert_ffn, heads, 2, vocab);
    let moe = Moe { shared_experts: 1, ..moe };
    qwen_hybrid(model, value_heads, Some(moe))
}

/// gpt-oss: windows in every other layer from the first on, sinks, biases everywhere.
pub(super) const fn gpt_oss(layers: u64, experts: u64) -> Architecture {
    Architecture {
        head_dim: 64,
        biases: Biases::All,
        sinks: true,
        window: 128,
        pattern: Pattern::known("We,Ae"),
        moe: Some(Moe::new(experts, 4, 2880)),
        ..Architecture::llama(layers, 2880, 2880, 64, 8, 201_088)
    }
}

/// Llama 4: chunks of 8192 tokens in three layers of four, a vision tower that is not trained.
pub(super) const fn llama_4(pattern: &str, ffn: u64, experts: u64) -> Architecture {
    Architecture {
        chunk: 8192,
        pattern: Pattern::known(pattern),
        moe: Some(Moe { shared_experts: 1, ..Moe::new(experts, 1, 8192) }),
        vision: Some(Vision {
            image_width: 336,
            image_height: 336,
            channels: 3,
            patch: 14,
            hidden: 1408,
            ffn: 5632,
            layers: 34,
            frozen: true,
            merge: 2,
            ..Vision::BARE
        }),
        ..Architecture::llama(48, 5120, ffn, 40, 8, 202_048)
    }
}

/// Nemotron 3: one operation a layer; Mamba-2, attention with 2 key-value heads, experts of squared `ReLU`, the shared
/// ones twice as wide as a routed one.
pub(super) const fn nemotron_3(
    (pattern, layers): (&str, u64),
    (hidden, heads): (u64, u64),
    mamba_heads: u64,
    moe: Moe,
) -> Architecture {
    Architecture {
        head_dim: 128,
        gated_ffn: false,
        pattern: Pattern::known(pattern),
        mamba: Some(Mamba { heads: mamba_heads, head_dim: 64, state: 128, groups: 8 }),
        moe: Some(Moe { shared_experts: 2, ..moe }),
        ..Architecture::llama(layers, hidden, 2 * moe.expert_ffn, heads, 2, 131_072)
    }
}

/// Gemma 3 and 4: windows of 1024, norms before and behind, embeddings tied.
pub(super) const fn gemma(pattern: &str, kv_head_dim: u64, model: Architecture) -> Architecture {
    Architecture {
        head_dim: kv_head_dim,
        tied_embeddings: true,
        post_norms: true,
        qk_norm: QkNorm::Head,
        window: 1024,
        pattern: Pattern::known(pattern),
        ..model
    }
}

/// Gemma 4: full attention has heads of 512, whose keys are their values.
pub(super) const fn gemma_4(pattern: &str, global_kv_heads: u64, model: Architecture) -> Architecture {
    Architecture {
        second: Some(SecondHeads { kv_heads: global_kv_heads, head_dim: 512, shared_kv: true }),
        ..gemma(pattern, 256, model)
    }
}

/// DeepSeek's sparse attention on top of latent attention.
pub(super) const fn indexed(model: Architecture, heads: u64) -> Architecture {
    Architecture { indexer: Some(Indexer { heads, head_dim: 128, top_k: 2048 }), ..model }
}
