//! Parameters of a layer, by its mixer and its FFN.

use super::architecture::{Architecture, Biases, Mla, Norm, QkNorm};
use super::heads::Heads;
use super::mixers::{CONVOLUTION, Compressed, DeltaNet, Indexer, Kda, Mamba};
use super::pattern::{Ffn, LayerKind, Mixer};

/// The elements of one layer of `kind`: mixer, FFN and their norms.
pub fn layer_elements(model: &Architecture, kind: LayerKind) -> LayerElements {
    mixer(model, kind.mixer)
        .plus(ffn(model, kind.ffn))
        .plus(LayerElements { replicated: norms(model, kind), ..LayerElements::default() })
}

/// Elements of one normalisation over `width` channels.
pub(super) fn norm_width(model: &Architecture, width: u64) -> u64 {
    match model.norm {
        Norm::Rms => width,
        Norm::Layer => 2 * width,
    }
}

/// A norm before each operation, and one behind it where the model has those; hyper-connections of r streams mix them
/// with `(2 + r) r (r h + 1) + 3` more. An FFN beside experts has norms of its own (Gemma 4).
fn norms(model: &Architecture, kind: LayerKind) -> u64 {
    let operations = u64::from(kind.operations());
    let sides = if model.post_norms { 2 } else { 1 };
    let beside = u64::from(kind.ffn == Ffn::Both) * (2 * sides - 1);
    let streams = model.compressed.map_or(0, |compressed| {
        let r = compressed.streams;
        (2 + r) * r * (r * model.hidden + 1) + 3
    });
    (sides * operations + beside) * norm_width(model, model.hidden) + operations * streams
}

fn mixer(model: &Architecture, mixer: Mixer) -> LayerElements {
    match mixer {
        Mixer::None => None,
        Mixer::Full | Mixer::Window | Mixer::Second | Mixer::Chunked => {
            model.attention_heads(mixer).map(|heads| attention(model, heads, mixer == Mixer::Second))
        }
        Mixer::Latent => model.mla.map(|mla| latent(model, mla)),
        Mixer::Sparse => model.mla.map(|mla| {
            let selects = model.indexer.map(|part| indexer(model, part, mla.q_lora_rank));
            latent(model, mla).plus(selects.unwrap_or_default())
        }),
        other => headless(model, other).map(|(elements, _)| elements),
    }
    .unwrap_or_default()
}

/// Elements of a mixer without heads of keys and values, and how many of them are in no matrix and no convolution:
/// norms, biases, decays, positions.
pub(super) fn headless(model: &Architecture, mixer: Mixer) -> Option<(LayerElements, u64)> {
    match mixer {
        Mixer::DeltaNet => model.delta_net.map(|part| delta_net(model, part)),
        Mixer::Kda => model.kda.map(|part| kda(model, part)),
        Mixer::Mamba => model.mamba.map(|part| mamba(model, part)),
        Mixer::Compressed(ratio) => model.compressed.map(|part| compressed(model, part, ratio)),
        _ => None,
    }
}

/// Gate of the attention output, as wide as itself: `h a e_v`.
fn gate(model: &Architecture, width: u64) -> u64 {
    if model.output_gate { model.hidden * width } else { 0 }
}

/// Attention: q, k, v and output projections with the norms of q and k, sinks and a gate.
fn attention(model: &Architecture, heads: Heads, second: bool) -> LayerElements {
    let (h, q, kv) = (model.hidden, heads.queries(), heads.projected_kv());
    let (column_bias, row_bias) = match model.biases {
        Biases::None => (0, 0),
        Biases::Qkv => (1, 0),
        Biases::All => (1, h),
    };
    let (head_norms, query_norm, key_norm) = match model.qk_norm {
        QkNorm::None => (0, 0, 0),
        QkNorm::Head => (2 * norm_width(model, heads.qk), 0, 0),
        QkNorm::All => (0, norm_width(model, q), norm_width(model, heads.key_value * heads.qk)),
    };
    let sinks = if model.sinks { heads.query } else { 0 };
    let pair = (h + column_bias) * kv + key_norm;
    LayerElements {
        sharded: (h + column_bias) * q + query_norm + sinks + h * heads.output() + gate(model, heads.output()),
        key_value: if second { [0, pair] } else { [pair, 0] },
        replicated: row_bias + head_norms,
        ..LayerElements::default()
    }
}

/// Latent attention: `q_down + q_up + kv_down + kv_up + out`, the down-projections on every tensor-parallel rank.
fn latent(model: &Architecture, mla: Mla) -> LayerElements {
    let (h, a) = (model.hidden, model.heads);
    let qk = mla.qk_nope_head_dim + mla.qk_rope_head_dim;
    let (q_up, q_down) = if mla.q_lora_rank == 0 {
        (h * a * qk, 0)
    } else {
        (mla.q_lora_rank * a * qk, h * mla.q_lora_rank + mla.q_lora_rank)
    };
    let kv_up = mla.kv_lora_rank * a * (mla.qk_nope_head_dim + mla.v_head_dim);
    let kv_down = h * (mla.kv_lora_rank + mla.qk_rope_head_dim) + mla.kv_lora_rank;
    let output = a * mla.v_head_dim;
    LayerElements {
        sharded: q_up + kv_up + output * h + gate(model, output),
        replicated: q_down + kv_down,
        ..LayerElements::default()
    }
}

/// `q_r n d + h d + 2 d + h n`, n heads of d: queries from the latent, one key with its norm, a weight a head; whole on
/// every tensor-parallel rank. Source: Megatron-LM `dsa.py`.
pub(super) fn indexer(model: &Architecture, part: Indexer, q_lora_rank: u64) -> LayerElements {
    let (h, n, d) = (model.hidden, part.heads, part.head_dim);
    LayerElements { replicated: q_lora_rank * n * d + h * d + 2 * d + h * n, ..LayerElements::default() }
}

/// `h (2 d + 2 g N + n) + (d + 2 g N)(4 + 1) + 3 n + d + d h`: input projection, convolution with bias, A, D and the
/// bias of dt, norm, output projection; all cut by heads. Source: Megatron-LM `mamba_mixer.py`.
fn mamba(model: &Architecture, part: Mamba) -> (LayerElements, u64) {
    let (h, d) = (model.hidden, part.inner());
    let convolution = part.convolved() * (CONVOLUTION + 1);
    let elements = LayerElements {
        sharded: h * part.projected() + convolution + 3 * part.heads + d + d * h,
        ..LayerElements::default()
    };
    (elements, part.convolved() + 3 * part.heads + d)
}

/// `h (2 K + 2 V + 2 n) + 4 (2 K + V) + 2 n + d + V h` with keys of width K, values and gate of width V, n value heads
/// of d. Source: Megatron-LM `gdn.py`.
fn delta_net(model: &Architecture, part: DeltaNet) -> (LayerElements, u64) {
    let (h, k, v, n) = (model.hidden, part.keys(), part.values(), part.value_heads);
    let elements = LayerElements {
        sharded: h * (2 * k + 2 * v + 2 * n) + CONVOLUTION * (2 * k + v) + 2 * n + v * h,
        replicated: part.head_dim,
        ..LayerElements::default()
    };
    (elements, 2 * n + part.head_dim)
}

/// `3 h D + 12 D + (h d + d D) + h n + gate + n + D + d + D h`, D = n d: three projections with their convolutions, the
/// decay of rank d, beta, the gate, A and the decay's bias, norm, output. Source: Automodel `kimi_linear/model.py`.
fn kda(model: &Architecture, part: Kda) -> (LayerElements, u64) {
    let (h, n, d, inner) = (model.hidden, part.heads, part.head_dim, part.inner());
    let (gate_up, gate_down) = match part.gate_rank {
        0 => (h * inner, 0),
        rank => (rank * inner, h * rank),
    };
    let elements = LayerElements {
        sharded: 4 * h * inner + 3 * CONVOLUTION * inner + d * inner + h * n + gate_up + n + inner,
        replicated: h * d + gate_down + d,
        ..LayerElements::default()
    };
    (elements, n + inner + d)
}

/// Queries of rank `q_r`, one key-value head, the output in groups, sinks; the compressor with positions and norm,
/// twice as wide where windows overlap, and there the indexer with a compressor of its own. Source: Automodel
/// `deepseek_v4/layers.py`.
fn compressed(model: &Architecture, part: Compressed, ratio: u8) -> (LayerElements, u64) {
    let (h, a, e) = (model.hidden, model.heads, model.head_dim);
    let (q, o) = (part.q_lora_rank, part.o_lora_rank);
    // The compressor has matrices, and positions and a norm.
    let compressor = |head: u64| {
        let width = Compressed::pooled(ratio, head);
        [2 * h * width, u64::from(ratio) * width + head]
    };
    let pool = if ratio > 0 { compressor(e) } else { [0, 0] };
    let selects = model.indexer.filter(|_| ratio == Compressed::INDEXED).map_or([0, 0], |part| {
        let [matrices, vectors] = compressor(part.head_dim);
        [matrices + q * part.heads * part.head_dim + h * part.heads, vectors]
    });
    let vectors = a + q + e + pool[1] + selects[1];
    let elements = LayerElements {
        sharded: q * a * e + a * e * o + part.o_groups * o * h + a,
        replicated: h * q + h * e + pool[0] + selects[0] + vectors - a,
        ..LayerElements::default()
    };
    (elements, vectors)
}

/// Matrices of an FFN: gate, up and down, or up and down.
fn matrices(model: &Architecture) -> u64 {
    if model.gated_ffn { 3 } else { 2 }
}

/// A dense FFN, or router, latent projections, routed and shared experts, or both.
fn ffn(model: &Architecture, ffn: Ffn) -> LayerElements {
    let dense = if ffn.is_dense() { dense(model) } else { LayerElements::default() };
    if ffn.is_routed() { dense.plus(experts(model)) } else { dense }
}

fn dense(model: &Architecture) -> LayerElements {
    let (h, matrices) = (model.hidden, matrices(model));
    let (column_bias, row_bias) = match model.biases {
        Biases::All => ((matrices - 1) * model.ffn, h),
        _ => (0, 0),
    };
    LayerElements { sharded: matrices * h * model.ffn + column_bias, replicated: row_bias, ..LayerElements::default() }
}

/// Router `h E`, experts of `3 l f_e` behind `2 h l` of latent projections (l = h without), shared experts of `3 h
/// f_e`; 2 for 3 without a gate. Latent projections are whole on every tensor-parallel rank. Source: Megatron-LM
/// `moe_layer.py`.
fn experts(model: &Architecture) -> LayerElements {
    let Some(moe) = model.moe else {
        return LayerElements::default();
    };
    let (h, matrices) = (model.hidden, matrices(model));
    // Every expert has its own biases, and the router one number an expert (gpt-oss).
    let (inner_bias, bias, router_bias) = match model.biases {
        Biases::All => ((matrices - 1) * moe.expert_ffn, 1, moe.experts),
        _ => (0, 0, 0),
    };
    let expert = |width: u64| matrices * width * moe.expert_ffn + inner_bias + bias * width;
    let routed = expert(moe.input(h));
    LayerElements {
        sharded: moe.shared_experts * expert(h),
        replicated: h * moe.experts + router_bias + 2 * h * moe.latent,
        experts: moe.experts * routed,
        experts_active: moe.top_k * routed,
        ..LayerElements::default()
    }
}

/// Elements of one block, by how they are divided among ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct LayerElements {
    /// Cut by tensor parallelism.
    pub sharded: u64,
    /// Projections of keys and values with the first and the second shape of heads, cut by tensor parallelism down to a
    /// head: of more ranks than heads several hold the same one.
    pub key_value: [u64; 2],
    /// Whole on every tensor-parallel rank: norms, router, row biases, latent down-projections.
    pub replicated: u64,
    /// Routed experts, cut by expert and expert-tensor parallelism.
    pub experts: u64,
    /// The part of `experts` that one token visits.
    pub experts_active: u64,
}

impl LayerElements {
    pub fn total(self) -> u64 {
        self.dense() + self.experts
    }
    pub fn active(self) -> u64 {
        self.dense() + self.experts_active
    }
    /// Elements outside the routed experts.
    fn dense(self) -> u64 {
        self.sharded + self.key_value.iter().sum::<u64>() + self.replicated
    }
    pub fn plus(self, other: Self) -> Self {
        Self {
            sharded: self.sharded + other.sharded,
            key_value: [0, 1].map(|shape| self.key_value[shape] + other.key_value[shape]),
            replicated: self.replicated + other.replicated,
            experts: self.experts + other.experts,
            experts_active: self.experts_active + other.experts_active,
        }
    }
    /// `count` such blocks.
    pub fn times(self, count: u64) -> Self {
        Self {
            sharded: count * self.sharded,
            key_value: self.key_value.map(|held| count * held),
            replicated: count * self.replicated,
            experts: count * self.experts,
            experts_active: count * self.experts_active,
        }
    }
    /// Elements outside the experts on one rank of `tp`: `sharded/t + key_value/min(t, k) + replicated`, k of each
    /// shape.
    pub(crate) fn dense_per_rank(self, model: &Architecture, tp: u64) -> f64 {
        let each = self.key_value.iter().zip(model.key_value_ranks(tp));
        let key_value: f64 = each.map(|(held, ranks)| *held as f64 / ranks as f64).sum();
        self.sharded as f64 / tp as f64 + key_value + self.replicated as f64
    }
    /// Routed-expert elements on one rank of `ep` · `etp`.
    pub(crate) fn experts_per_rank(self, ep: u64, etp: u64) -> f64 {
        self.experts as f64 / (ep * etp) as f64
    }
}
