//! Tensors that each kind of mixer keeps for the backward pass, at two bytes an activation; see `inventory.rs`.

use super::architecture::{Architecture, Mla, QkNorm};
use super::heads::Heads;
use super::kept::{Cut, KeptTensor, Role};
use super::mixers::{Compressed, DeltaNet, Indexer, Kda, Mamba};
use super::pattern::Mixer;
use crate::explain::Quantity;
use crate::explain::symbols::{
    ELEMENT, GROUPED, HEAD_DIM, HEADS, HIDDEN, KEY_RANK, KV_HEADS, PLAIN_DIM, QUERY_RANK, ROTARY_DIM, SAVED,
    SAVED_WHOLE, VALUE_DIM,
};

/// Rows of a chunk of linear attention: its two matrices of scores are as wide. Source: fla `chunk.py`.
const CHUNK: u64 = 64;

/// Norm input and output, and the tensors of `mixer` between its projections.
pub(super) fn mixer<Q: Quantity>(model: &Architecture, mixer: Mixer, cut: &Cut<Q>) -> Vec<KeptTensor<Q>> {
    if mixer == Mixer::None {
        return Vec::new();
    }
    let hidden = cut.tokens * HIDDEN.of::<Q>(model.hidden) * 2.0;
    let mut kept = vec![
        KeptTensor::new("input of the attention norm", Role::LayerInput, hidden / cut.residual),
        KeptTensor::new("input of QKV", Role::AttentionNorm, hidden / cut.linear_input),
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
        Mixer::DeltaNet => kept.extend(model.delta_net.map(|sizes| delta_net(sizes, cut))),
        Mixer::Kda => kept.extend(model.kda.map(|sizes| kda(sizes, cut))),
        Mixer::Mamba => kept.extend(model.mamba.map(|sizes| mamba(sizes, cut))),
        Mixer::Compressed(ratio) => {
            if let Some(sizes) = model.compressed {
                compressed(model, sizes, ratio, cut, &mut kept);
            }
        }
    }
    kept
}

/// FlashAttention keeps `4 a T / t` of log-sum-exps; stored scores `e a s T / t` at e bytes an activation, with dropout
/// `(2 e + 1) a s T / t`. Then the attention output, `2 T a e_v / t`, and with a gate as much again twice: the gate and
/// the output before it. Source: Megatron-LM `attention.py`.
fn core<Q: Quantity>(model: &Architecture, width: Q, cut: &Cut<Q>, kept: &mut Vec<KeptTensor<Q>>) {
    let rows = cut.tokens * HEADS.of::<Q>(model.heads) / cut.tp;
    kept.push(if cut.flash {
        KeptTensor::new("softmax statistics", Role::Core, rows * 4.0)
    } else {
        let element = ELEMENT.of::<Q>(cut.element);
        let bytes = if model.dropout { element * 2.0 + Q::number(1.0) } else { element };
        KeptTensor::new("attention scores", Role::Core, bytes * rows * cut.keys)
    });
    let output = cut.tokens * width / cut.tp * 2.0;
    kept.push(KeptTensor::new("attention output", Role::Context, cut.outputs * output));
    if model.output_gate {
        kept.push(KeptTensor::new("gate and ungated output", Role::Context, output * 2.0));
    }
}

/// Widths of a key and of a value; equal widths have one symbol.
pub(crate) fn widths<Q: Quantity>(heads: &Heads) -> [Q; 2] {
    let value = if heads.value == heads.qk { HEAD_DIM } else { VALUE_DIM };
    [HEAD_DIM.of(heads.qk), value.of(heads.value)]
}

/// Queries, keys and values, the inputs of their norms, core and context.
fn attention<Q: Quantity>(model: &Architecture, heads: Heads, cut: &Cut<Q>, kept: &mut Vec<KeptTensor<Q>>) {
    // Where k < t, every rank holds one key-value head.
    let kv_heads = (KV_HEADS.of::<Q>(heads.key_value) / cut.tp).max(Q::number(1.0));
    let a = HEADS.of::<Q>(heads.query);
    let [key, value] = widths::<Q>(&heads);
    let pair = if heads.value == heads.qk { key * 2.0 } else { key + value };
    kept.push(KeptTensor::new("queries", Role::Query, cut.tokens * a * key / cut.tp * 2.0));
    kept.push(KeptTensor::new("keys and values", Role::KeyValue, cut.tokens * kv_heads * pair * 2.0));
    if model.qk_norm != QkNorm::None {
        let inputs = cut.tokens * (a / cut.tp + kv_heads) * key;
        kept.push(KeptTensor::new("inputs of the query and key norms", Role::NormInput, inputs * 2.0));
    }
    core(model, a * value, cut, kept);
}

/// Sizes of a latent attention: its latents, a head without rotary, rotary and of values.
struct Latent<Q> {
    query: Q,
    key: Q,
    plain: Q,
    rotary: Q,
    value: Q,
}

impl<Q: Quantity> Latent<Q> {
    fn of(mla: Mla) -> Self {
        Self {
            query: QUERY_RANK.of(mla.q_lora_rank),
            key: KEY_RANK.of(mla.kv_lora_rank),
            plain: PLAIN_DIM.of(mla.qk_nope_head_dim),
            rotary: ROTARY_DIM.of(mla.qk_rope_head_dim),
            value: VALUE_DIM.of(mla.v_head_dim),
        }
    }

    /// The down-projections' outputs and, behind their norms, the inputs of the up-projections.
    fn kept(&self, cut: &Cut<Q>) -> KeptTensor<Q> {
        KeptTensor::new("latents", Role::Latent, cut.tokens * (self.query + self.key) / cut.residual * 4.0)
    }
}

/// Latents and the outputs of the up-projections: `2 T (2 r_q + 2 r_kv + a (2 (n + r) + v))`, latents on every
/// tensor-parallel rank, heads over t. Source: Megatron-LM `multi_latent_attention.py`.
fn latent<Q: Quantity>(model: &Architecture, mla: Mla, cut: &Cut<Q>, kept: &mut Vec<KeptTensor<Q>>) {
    let (a, sizes) = (HEADS.of::<Q>(model.heads), Latent::<Q>::of(mla));
    let rows = cut.tokens * a / cut.tp * 2.0;
    let widths = sizes.plain * 2.0 + sizes.rotary + sizes.value;
    kept.push(sizes.kept(cut));
    kept.push(KeptTensor::new("queries, keys and values", Role::LatentUp, rows * widths));
    kept.push(KeptTensor::new("rotary keys", Role::KeyValue, rows * sizes.rotary));
    core(model, a * sizes.value, cut, kept);
}

/// Latent attention on the latent itself: `2 T (a (r_kv + r)/t + (r_kv + r) + a r_kv/t)`, its one key on every rank,
/// and the indexer. Source: Megatron-LM `absorbed_mla.py`, `dsa.py`.
fn sparse<Q: Quantity>(model: &Architecture, mla: Mla, cut: &Cut<Q>, kept: &mut Vec<KeptTensor<Q>>) {
    let (a, sizes) = (HEADS.of::<Q>(model.heads), Latent::<Q>::of(mla));
    let rows = cut.tokens * a / cut.tp * 2.0;
    let width = sizes.key + sizes.rotary;
    kept.push(sizes.kept(cut));
    kept.push(KeptTensor::new("queries on the latent", Role::LatentUp, rows * width));
    kept.push(KeptTensor::new("the latent key", Role::KeyValue, cut.tokens * width * 2.0));
    kept.push(KeptTensor::new("output on the latent", Role::Context, rows * sizes.key));
    kept.extend(model.indexer.map(|indexer| indexed(indexer, cut)));
    core(model, a * sizes.value, cut, kept);
}

/// `bytes` of every token that the kernels of a mixer save, cut over the tensor-parallel ranks.
fn state<Q: Quantity>(name: &'static str, bytes: u64, cut: &Cut<Q>) -> KeptTensor<Q> {
    KeptTensor::new(name, Role::State, cut.tokens * SAVED.of::<Q>(bytes) / cut.tp)
}

/// `2 T (n d + n + d)` of queries, weights and the key, `8 T k` of the indices of k selected keys; whole on every
/// tensor-parallel rank. Source: Megatron-LM `dsa.py`, `FusedDSAIndexerLoss`.
fn indexed<Q: Quantity>(indexer: Indexer, cut: &Cut<Q>) -> KeptTensor<Q> {
    let selected = (indexer.top_k as f64).min(cut.keys.value());
    let widths = (indexer.heads * indexer.head_dim + indexer.heads + indexer.head_dim) as f64;
    KeptTensor::new("indexer", Role::State, cut.tokens * SAVED.of::<Q>(2.0 * widths + 8.0 * selected))
}

/// `2 (2 d + 2 g N + n) + 6 d` a token over t: the projection's output and the inputs of the scan, the gated norm and
/// the output projection; the rest is computed again in the kernel. Source: mamba `ssd_combined.py`.
fn mamba<Q: Quantity>(sizes: Mamba, cut: &Cut<Q>) -> KeptTensor<Q> {
    state("state-space model", 2 * sizes.projected() + 6 * sizes.inner(), cut)
}

/// `2 (2 K + V) + 4 K + 8 V + 2 C n + 6 n` a token over t, and keys and queries repeated to n value heads where those
/// are more: inputs of the convolution, normed queries and keys, values, scores of a chunk C, decay and beta, output,
/// gate and gated output. Source: fla `gated_delta_rule`, Megatron-LM `gdn.py`.
fn delta_net<Q: Quantity>(sizes: DeltaNet, cut: &Cut<Q>) -> KeptTensor<Q> {
    let (k, v, n) = (sizes.keys(), sizes.values(), sizes.value_heads);
    let repeated = if n > sizes.key_heads { 4 * v } else { 0 };
    state("linear attention", 2 * (2 * k + v) + 4 * k + 8 * v + repeated + 2 * CHUNK * n + 6 * n, cut)
}

/// `20 D + 4 C n + 2 n` a token over t, and the latents of decay and gate: as a delta net with a decay a channel and
/// two matrices of scores. Source: fla `kda/chunk.py`.
fn kda<Q: Quantity>(sizes: Kda, cut: &Cut<Q>) -> KeptTensor<Q> {
    let width = SAVED.of::<Q>(20 * sizes.inner() + (4 * CHUNK + 2) * sizes.heads);
    let latents = SAVED_WHOLE.of::<Q>(2 * (sizes.head_dim + sizes.gate_rank));
    KeptTensor::new("linear attention", Role::State, cut.tokens * (width / cut.tp + latents))
}

/// Queries of one rank's heads, the key-value head and the compressor's input in fp32 on every rank, the output before
/// its grouped projection and between its two. Inferred from Automodel `deepseek_v4/layers.py`; no source prints it.
fn compressed<Q: Quantity>(
    model: &Architecture,
    sizes: Compressed,
    ratio: u8,
    cut: &Cut<Q>,
    kept: &mut Vec<KeptTensor<Q>>,
) {
    let (t, e, a) = (cut.tokens, HEAD_DIM.of::<Q>(model.head_dim), HEADS.of::<Q>(model.heads));
    kept.push(KeptTensor::new("latents", Role::Latent, t * QUERY_RANK.of::<Q>(sizes.q_lora_rank) * 4.0));
    kept.push(KeptTensor::new("queries", Role::Query, t * a * e / cut.tp * 2.0));
    kept.push(KeptTensor::new("keys and values", Role::KeyValue, t * e * 4.0));
    let indexer = model.indexer.filter(|_| ratio == Compressed::INDEXED);
    if ratio > 0 {
        let head = |head: u64| 8 * Compressed::pooled(ratio, head);
        let widths = head(model.head_dim) + indexer.map_or(0, |indexer| head(indexer.head_dim));
        kept.push(KeptTensor::new("compressor", Role::State, t * SAVED.of::<Q>(widths)));
    }
    kept.extend(indexer.map(|indexer| indexed(indexer, cut)));
    core(model, a * e, cut, kept);
    let grouped = GROUPED.of::<Q>(sizes.o_groups * sizes.o_lora_rank);
    kept.push(KeptTensor::new("grouped output", Role::Context, t * grouped / cut.tp * 2.0));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{LayerKind, Pattern, layer_inventory};

    /// Bytes a token of a mixer alone, at t = 1. The expected ones are counted by hand, tensor by tensor.
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
