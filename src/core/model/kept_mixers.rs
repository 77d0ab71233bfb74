//! What each kind of mixer keeps for the backward pass, in bytes at two an activation; see `inventory.rs`.

use super::architecture::{Architecture, Mla, QkNorm};
use super::heads::Heads;
use super::kept::{Cut, Kept, Role};
use super::mixers::{Compressed, DeltaNet, Indexer, Kda, Mamba};
use super::pattern::Mixer;

/// Rows of a chunk of linear attention: its two matrices of scores are as wide. Source: fla `chunk.py`.
const CHUNK: u64 = 64;

/// Norm input and output, and what `mixer` keeps between its projections.
pub(super) fn mixer(model: &Architecture, mixer: Mixer, cut: &Cut) -> Vec<Kept> {
    if mixer == Mixer::None {
        return Vec::new();
    }
    let hidden = cut.tokens * model.hidden as f64;
    let mut kept = vec![
        Kept::new("input of the attention norm", Role::LayerInput, 2.0 * hidden / cut.residual),
        Kept::new("input of QKV", Role::AttentionNorm, 2.0 * hidden / cut.linear_input),
    ];
    match mixer {
        Mixer::None => {}
        Mixer::Full | Mixer::Window | Mixer::Second | Mixer::Chunked => {
            if let Some(heads) = model.attention_heads(mixer) {
                attention(model, heads, cut, &mut kept);
            }
        }
        Mixer::Latent => {
            if let Some(mla) = model.mla {
                latent(model, mla, cut, &mut kept);
            }
        }
        Mixer::Sparse => {
            if let Some(mla) = model.mla {
                sparse(model, mla, cut, &mut kept);
            }
        }
        Mixer::DeltaNet => kept.extend(model.delta_net.map(|own| delta_net(own, cut))),
        Mixer::Kda => kept.extend(model.kda.map(|own| kda(own, cut))),
        Mixer::Mamba => kept.extend(model.mamba.map(|own| mamba(own, cut))),
        Mixer::Compressed(ratio) => {
            if let Some(own) = model.compressed {
                compressed(model, own, ratio, cut, &mut kept);
            }
        }
    }
    kept
}

/// FlashAttention keeps `4 a T / t` of log-sum-exps; stored scores `e a s T / t` at e bytes an activation, with dropout
/// `(2 e + 1) a s T / t`. Then the attention output, `2 T a e_v / t`, and with a gate as much again twice: the gate and
/// the output before it. Source: Megatron-LM `attention.py`.
fn core(model: &Architecture, width: u64, cut: &Cut, kept: &mut Vec<Kept>) {
    let rows = model.heads as f64 * cut.tokens / cut.tp;
    kept.push(if cut.flash {
        Kept::new("softmax statistics", Role::Core, 4.0 * rows)
    } else {
        let bytes = if model.dropout { 2.0 * cut.element + 1.0 } else { cut.element };
        Kept::new("attention scores", Role::Core, bytes * rows * cut.keys)
    });
    let output = 2.0 * cut.tokens * width as f64 / cut.tp;
    kept.push(Kept::new("attention output", Role::Context, cut.outputs * output));
    if model.output_gate {
        let both = 2.0 * output;
        kept.push(Kept::new("gate and ungated output", Role::Context, both));
    }
}

/// Queries, keys and values, what their norms read, core and context.
fn attention(model: &Architecture, heads: Heads, cut: &Cut, kept: &mut Vec<Kept>) {
    let (t, tp) = (cut.tokens, cut.tp);
    // Where k < t, every rank holds one key-value head.
    let kv_heads = (heads.key_value as f64 / tp).max(1.0);
    let queries = heads.queries() as f64 / tp;
    kept.push(Kept::new("queries", Role::Query, 2.0 * t * queries));
    kept.push(Kept::new("keys and values", Role::KeyValue, 2.0 * t * kv_heads * (heads.qk + heads.value) as f64));
    if model.qk_norm != QkNorm::None {
        let width = queries + kv_heads * heads.qk as f64;
        kept.push(Kept::new("inputs of the query and key norms", Role::NormInput, 2.0 * t * width));
    }
    core(model, heads.output(), cut, kept);
}

/// Latents and what the up-projections make of them: `2 T (2 r_q + 2 r_kv + a (2 (n + r) + v))`, latents on every
/// tensor-parallel rank, heads over t. Source: Megatron-LM `multi_latent_attention.py`.
fn latent(model: &Architecture, mla: Mla, cut: &Cut, kept: &mut Vec<Kept>) {
    let heads = model.heads as f64 / cut.tp;
    let (nope, rope, value) = (mla.qk_nope_head_dim as f64, mla.qk_rope_head_dim as f64, mla.v_head_dim as f64);
    kept.push(latents(mla, cut));
    kept.push(Kept::new(
        "queries, keys and values",
        Role::LatentUp,
        2.0 * cut.tokens * heads * ((nope + rope) + (nope + value)),
    ));
    kept.push(Kept::new("rotary keys", Role::KeyValue, 2.0 * cut.tokens * heads * rope));
    core(model, model.heads * mla.v_head_dim, cut, kept);
}

/// The down-projections' outputs and, behind their norms, the inputs of the up-projections.
fn latents(mla: Mla, cut: &Cut) -> Kept {
    let widths = (mla.q_lora_rank + mla.kv_lora_rank) as f64;
    let bytes = 4.0 * cut.tokens * widths / cut.residual;
    Kept::new("latents", Role::Latent, bytes)
}

/// Latent attention on the latent itself: `2 T (a (r_kv + r)/t + (r_kv + r) + a r_kv/t)`, its one key on every rank,
/// and the indexer. Source: Megatron-LM `absorbed_mla.py`, `dsa.py`.
fn sparse(model: &Architecture, mla: Mla, cut: &Cut, kept: &mut Vec<Kept>) {
    let heads = model.heads as f64 / cut.tp;
    let (rank, rope) = (mla.kv_lora_rank as f64, mla.qk_rope_head_dim as f64);
    kept.push(latents(mla, cut));
    kept.push(Kept::new("queries on the latent", Role::LatentUp, 2.0 * cut.tokens * heads * (rank + rope)));
    kept.push(Kept::new("the latent key", Role::KeyValue, 2.0 * cut.tokens * (rank + rope)));
    kept.push(Kept::new("output on the latent", Role::Context, 2.0 * cut.tokens * heads * rank));
    kept.extend(model.indexer.map(|own| indexer(own, cut)));
    core(model, model.heads * mla.v_head_dim, cut, kept);
}

/// `2 T (n d + n + d)` of queries, weights and the key, `8 T k` of the indices of k selected keys; whole on every
/// tensor-parallel rank. Source: Megatron-LM `dsa.py`, `FusedDSAIndexerLoss`.
fn indexer(own: Indexer, cut: &Cut) -> Kept {
    let selected = (own.top_k as f64).min(cut.keys);
    let widths = (own.heads * own.head_dim + own.heads + own.head_dim) as f64;
    let bytes = cut.tokens * (2.0 * widths + 8.0 * selected);
    Kept::new("indexer", Role::State, bytes)
}

/// `2 (2 d + 2 g N + n) + 6 d` a token over t: the projection's output, what the scan, the gated norm and the output
/// projection read; the rest is computed again in the kernel. Source: mamba `ssd_combined.py`.
fn mamba(own: Mamba, cut: &Cut) -> Kept {
    let width = 2 * own.projected() + 6 * own.inner();
    Kept::new("state-space model", Role::State, cut.tokens * width as f64 / cut.tp)
}

/// `2 (2 K + V) + 4 K + 8 V + 2 C n + 6 n` a token over t, and keys and queries repeated to n value heads where those
/// are more: inputs of the convolution, normed queries and keys, values, scores of a chunk C, decay and beta, output, gate
/// and gated output. Source: fla `gated_delta_rule`, Megatron-LM `gdn.py`.
fn delta_net(own: DeltaNet, cut: &Cut) -> Kept {
    let (k, v, n) = (own.keys(), own.values(), own.value_heads);
    let repeated = if n > own.key_heads { 4 * v } else { 0 };
    let width = 2 * (2 * k + v) + 4 * k + 8 * v + repeated + 2 * CHUNK * n + 6 * n;
    Kept::new("linear attention", Role::State, cut.tokens * width as f64 / cut.tp)
}

/// `20 D + 4 C n + 2 n` a token over t, and the latents of decay and gate: as a delta net with a decay a channel and two
/// matrices of scores. Source: fla `kda/chunk.py`.
fn kda(own: Kda, cut: &Cut) -> Kept {
    let width = 20 * own.inner() + (4 * CHUNK + 2) * own.heads;
    let latents = 2 * (own.head_dim + own.gate_rank);
    Kept::new("linear attention", Role::State, cut.tokens * (width as f64 / cut.tp + latents as f64))
}

/// Queries of one rank's heads, the key-value head and the compressor's input in fp32 on every rank, the output before
/// its grouped projection and between its two. Inferred from Automodel `deepseek_v4/layers.py`; no source prints it.
fn compressed(model: &Architecture, own: Compressed, ratio: u8, cut: &Cut, kept: &mut Vec<Kept>) {
    let (t, e, a) = (cut.tokens, model.head_dim as f64, model.heads as f64 / cut.tp);
    kept.push(Kept::new("latents", Role::Latent, 4.0 * t * own.q_lora_rank as f64));
    kept.push(Kept::new("queries", Role::Query, 2.0 * t * a * e));
    kept.push(Kept::new("keys and values", Role::KeyValue, 4.0 * t * e));
    let indexer_of = model.indexer.filter(|_| ratio == Compressed::INDEXED);
    if ratio > 0 {
        let head = |head: u64| 8.0 * Compressed::pooled(ratio, head) as f64;
        let widths = head(model.head_dim) + indexer_of.map_or(0.0, |own| head(own.head_dim));
        kept.push(Kept::new("compressor", Role::State, t * widths));
    }
    kept.extend(indexer_of.map(|own| indexer(own, cut)));
    core(model, model.heads * model.head_dim, cut, kept);
    let grouped = (own.o_groups * own.o_lora_rank) as f64 / cut.tp;
    kept.push(Kept::new("grouped output", Role::Context, 2.0 * t * grouped));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{LayerKind, Pattern, layer_inventory};

    /// Bytes a token of a mixer alone, at t = 1: `reference/architectures.md`, sections 2.5 to 2.9.
    fn bytes(model: &Architecture, mixer: Mixer) -> f64 {
        let cut = Cut::sample(1.0, 1e9, 1.0, 1.0, true);
        let kind = LayerKind::new(mixer, crate::model::Ffn::None);
        let norm = 4.0 * model.hidden as f64;
        let kept = layer_inventory(model, kind, &cut);
        kept.iter().map(|tensor| tensor.bytes).sum::<f64>() - norm
    }

    fn near(ours: f64, kilobytes: f64) {
        assert!((ours / 1000.0 - kilobytes).abs() < 0.06, "{ours} {kilobytes}");
    }

    /// Nemotron 3 Nano 45.2 kB; Qwen3-Next 78.0 kB against 34.9 of its gated full attention; Kimi Linear 90.7.
    #[test]
    fn hybrid_mixers_keep_what_their_kernels_save() {
        let base = Architecture::llama(4, 2048, 512, 16, 2, 1000);
        let model = Architecture {
            head_dim: 256,
            qk_norm: QkNorm::Head,
            output_gate: true,
            pattern: Pattern::UNIFORM,
            mamba: Some(Mamba { heads: 64, head_dim: 64, state: 128, groups: 8 }),
            delta_net: Some(DeltaNet { key_heads: 16, value_heads: 32, head_dim: 128 }),
            kda: Some(Kda { heads: 32, head_dim: 128, gate_rank: 128 }),
            ..base
        };
        near(bytes(&model, Mixer::Mamba), 45.2);
        near(bytes(&model, Mixer::DeltaNet), 78.0);
        near(bytes(&model, Mixer::Kda), 90.7);
    }
}
