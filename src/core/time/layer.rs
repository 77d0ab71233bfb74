//! Time of one transformer layer on one rank: its linears by the shapes that sharding leaves, its attention, its
//! elementwise kernels and the host.

use super::adapter::beside_frozen;
use super::attention::{Core, core, ring_ranks};
use super::elementwise::{LayerBytes, activation, through_memory};
use super::gemm::{Output, grouped, linear, normed_linear, plain_gemm};
use super::layer_time::LayerTime;
use super::rates::{GRAPH_SHARE, Rates};
use super::recurrence::recurrence;
use crate::explain::Quantity;
use crate::explain::symbols::{EARLIER_KEYS, INDEXER_SCORES, INDEXER_WIDTH, PLAIN_RATE, TOKENS, TOUCHED};
use crate::model::{Architecture, AttentionCount, Biases, LayerKind, Mixer, Mla, Moe, mean_keys, projection_flops};
use crate::run::{GraphPart, Run, Scenario};

/// Inputs of a layer's time.
struct Setting<'a> {
    rates: &'a Rates,
    model: &'a Architecture,
    run: &'a Run,
    weight: Output,
    /// Tokens of the micro-batch on the rank.
    n: f64,
    /// Tokens that attention sees as one sequence.
    seq: u64,
    t: f64,
    /// Ranks among which blocks of keys go round.
    ring: f64,
    /// Divisor of sequence parallelism.
    cut: f64,
    ep: f64,
    etp: f64,
    /// bf16 peak of the GPU.
    peak: f64,
}

impl<'a> Setting<'a> {
    fn of(scenario: &'a Scenario, rates: &'a Rates) -> Self {
        let layout = &scenario.layout;
        let t = layout.tp as f64;
        Self {
            rates,
            model: &scenario.model,
            run: &scenario.run,
            weight: accumulation(scenario),
            n: scenario.tokens_per_rank(),
            seq: scenario.attended_tokens(),
            t,
            ring: ring_ranks(scenario),
            cut: if layout.sequence_parallel { t } else { 1.0 },
            ep: layout.ep as f64,
            etp: layout.etp as f64,
            peak: scenario.gpu.bf16.0,
        }
    }
}

/// Time of a layer of `kind` of `scenario` on one rank.
pub(crate) fn layer_time(scenario: &Scenario, rates: &Rates, kind: LayerKind) -> LayerTime {
    let model = &scenario.model;
    let setting = Setting::of(scenario, rates);
    let t = setting.t;
    let heads = model.attention_heads(kind.mixer);
    let halves = f64::from(kind.operations()) / 2.0;
    let ring = if setting.ring > 1.0 && heads.is_some() { rates.host_ring.0 * setting.ring } else { 0.0 };
    let mut time = LayerTime { host: launches(scenario, rates, kind) + ring, ..LayerTime::default() };
    let rotary = heads.map_or(0.0, |heads| {
        if model.mla.is_some() {
            let kv = (model.kv_heads as f64 / t).max(1.0);
            (model.heads as f64 / t + kv) * model.head_dim as f64
        } else {
            let kv = (heads.key_value as f64 / t).max(1.0);
            (heads.query as f64 / t + kv) * heads.qk as f64
        }
    });
    let ffn = if kind.ffn.is_dense() { model.ffn as f64 / t } else { 0.0 };
    let mut bytes = LayerBytes::of(model, setting.cut, ffn, rotary, rates.element, rates.fused);
    bytes.norms = (bytes.norms.0 * halves, bytes.norms.1 * halves);
    let (forward, backward) = bytes.total();
    let seconds = |bytes: f64| through_memory(setting.n * bytes, rates.elementwise.0);
    time.elementwise = (seconds(forward), seconds(backward));
    time.modules.norm = seconds(bytes.norms.0) / 2.0;
    mixer(&setting, kind.mixer, &mut time);
    if kind.ffn.is_dense() {
        let before = time.linear[0];
        dense(&setting, model.ffn as f64, &mut time);
        time.modules.ffn = time.linear[0] - before + seconds(bytes.activation.0);
    }
    if let Some(moe) = model.moe.filter(|_| kind.ffn.is_routed()) {
        let passes = |time: &LayerTime| {
            let [forward, input, weight] = time.linear;
            [forward + time.elementwise.0, input + time.elementwise.1, weight]
        };
        let before = passes(&time);
        routed(&setting, moe, &mut time);
        let after = passes(&time);
        time.routed = std::array::from_fn(|pass| after[pass] - before[pass]);
    }
    time.modules.second = time.elementwise.0 + time.linear[0] * second_products(model);
    if let Some(adapter) = &scenario.adapter {
        beside_frozen(scenario, adapter, rates, kind, &mut time);
    }
    time
}

/// Host seconds of a layer of `kind` that no kernel hides: half of a layer's for the mixer, half for a dense FFN, a
/// tenth of either in a graph. Of a routed layer the host is a floor:
/// [`paced_by`](super::routed::paced_by).
fn launches(scenario: &Scenario, rates: &Rates, kind: LayerKind) -> f64 {
    if kind.ffn.is_routed() {
        return 0.0;
    }
    let half = |part| {
        let share = if scenario.software.graphs.hold(part) { GRAPH_SHARE } else { 1.0 };
        gap(rates.host.0, share / 2.0)
    };
    let mixer = match kind.mixer {
        Mixer::None => 0.0,
        Mixer::Mamba => half(GraphPart::Mamba),
        _ => half(GraphPart::Attention),
    };
    mixer + if kind.ffn.is_dense() { half(GraphPart::Mlp) } else { 0.0 }
}

/// Seconds that the host leaves in `share` of a layer, which takes it `host` seconds whole.
pub(crate) fn gap<Q: Quantity>(host: Q, share: Q) -> Q {
    host * share
}

/// Gradients that weight gradients are added to: those of a flat buffer whatever their format, others in fp32. Source:
/// Transformer Engine `module/linear.py` (`fuse_wgrad_accumulation` into `main_grad`).
pub(super) fn accumulation(scenario: &Scenario) -> Output {
    let added = scenario.precision.accumulated();
    if scenario.software.flat_buffers || added >= 4.0 { Output::Added(added) } else { Output::Plain }
}

/// Share of a layer's products that are not the first, third, fifth or seventh of q, k, v, out, gate, up, down: those
/// that torchtitan's "op" recomputation runs again.
fn second_products(model: &Architecture) -> f64 {
    if model.moe.is_some() || model.mla.is_some() {
        return 0.5;
    }
    let (q, k) = (model.query_width() as f64, (model.kv_heads * model.head_dim) as f64);
    let f = model.ffn as f64;
    let matrices = if model.gated_ffn { 3.0 } else { 2.0 };
    (k + q + f) / (2.0 * (q + k) + matrices * f)
}

/// Projections and core of what mixes the tokens.
fn mixer(s: &Setting, mixer: Mixer, time: &mut LayerTime) {
    let m = s.model;
    let (h, a) = (m.hidden as f64, m.heads as f64 / s.t);
    // Width of the attention output on the rank, before its projection.
    let width = match mixer {
        Mixer::None => return,
        Mixer::DeltaNet | Mixer::Kda | Mixer::Mamba => return recurrent(s, mixer, time),
        Mixer::Compressed(_) => {
            // Its kernels have no published rates: the matrix products alone.
            let product = s.n * projection_flops::<f64>(m, mixer) / s.t / s.rates.gemm.0;
            time.add([product; 3]);
            0.0
        }
        Mixer::Latent | Mixer::Sparse => match m.mla {
            Some(mla) => latent(s, mla, a, time),
            None => return,
        },
        Mixer::Full | Mixer::Window | Mixer::Second | Mixer::Chunked => {
            let Some(heads) = m.attention_heads(mixer) else {
                return;
            };
            let (qk, value) = (heads.qk as f64, heads.value as f64);
            let k = (heads.key_value as f64 / s.t).max(1.0);
            let pair = heads.projected_kv() as f64 / heads.key_value.max(1) as f64;
            let gate = if m.output_gate { a * value } else { 0.0 };
            let out = a * qk + k * pair + gate;
            time.add_column(normed_linear(s.rates, s.n, h, out, s.weight));
            a * value
        }
    };
    if width > 0.0 {
        time.add(linear(s.rates, s.n, width, h, s.weight));
    }
    time.core = attention_core(s, mixer).unwrap_or_default();
}

/// Keys of a block that attention kernels work on whole. Source: FlashAttention's and cuDNN's tiles.
const KEY_BLOCK: f64 = 128.0;

/// Forward and backward seconds of the attention core of a layer with `mixer`; none where it has none.
pub(crate) fn attention_seconds<Q: Quantity>(scenario: &Scenario, rates: &Rates, mixer: Mixer) -> Option<(Q, Q)> {
    attention_core(&Setting::of(scenario, rates), mixer)
}

/// The core over the keys that the mask leaves: causal attention meets half of those it is given. A window costs the
/// blocks that it touches, `(W + 128)/W` of its keys.
fn attention_core<Q: Quantity>(s: &Setting, mixer: Mixer) -> Option<(Q, Q)> {
    let (m, seq) = (s.model, s.seq);
    let fused = s.run.runs_flash_attention();
    let keys = if fused { 2.0 * mean_keys(m, mixer, seq, AttentionCount::Causal) } else { seq as f64 };
    let (forward, backward) = core::<Q>(
        s.rates,
        Core {
            heads: m.heads as f64 / s.t,
            head_width: core_width(m, mixer)?,
            tokens: s.n,
            keys,
            ring: s.ring,
            causal: true,
            fused,
            dropout: m.dropout,
        },
    );
    let touched =
        if mixer == Mixer::Window && fused && m.window < seq { 1.0 + KEY_BLOCK / m.window as f64 } else { 1.0 };
    let touched = TOUCHED.factor::<Q>(touched);
    // An indexer scores all earlier keys on every tensor-parallel rank.
    let Some(indexer) = m.indexer.filter(|_| mixer == Mixer::Sparse) else {
        return Some((forward * touched, backward * touched));
    };
    let pairs = TOKENS.of::<Q>(s.n) * EARLIER_KEYS.of::<Q>(AttentionCount::Causal.effective(seq));
    let width = INDEXER_WIDTH.of::<Q>(indexer.heads * indexer.head_dim);
    let scores = (width * pairs * 2.0 / PLAIN_RATE.of::<Q>(s.rates.gemm_plain.0)).called(INDEXER_SCORES);
    Some((forward * touched + scores, backward * touched + scores * 2.0))
}

/// Mean width of a key and a value head in the attention core; none where `mixer` has none.
fn core_width(m: &Architecture, mixer: Mixer) -> Option<f64> {
    match (mixer, m.mla) {
        (Mixer::Compressed(_), _) => Some(m.head_dim as f64),
        // In the latent space: keys are values with the rotary part.
        (Mixer::Sparse, Some(mla)) => Some(mla.kv_lora_rank as f64 + mla.qk_rope_head_dim as f64 / 2.0),
        _ => m.attention_heads(mixer).map(|heads| f64::midpoint(heads.qk as f64, heads.value as f64)),
    }
}

/// Projections, convolution, gate and recurrence of a state-space model or linear attention, all cut by heads.
fn recurrent(s: &Setting, mixer: Mixer, time: &mut LayerTime) {
    let (m, h) = (s.model, s.model.hidden as f64);
    // Width of the input projection, of the convolution and of the output.
    let (projected, convolved, inner) = match (mixer, m.mamba, m.delta_net, m.kda) {
        (Mixer::Mamba, Some(mixer), ..) => (mixer.projected(), mixer.convolved(), mixer.inner()),
        (Mixer::DeltaNet, _, Some(mixer), _) => {
            let convolved = 2 * mixer.keys() + mixer.values();
            (convolved + mixer.values() + 2 * mixer.value_heads, convolved, mixer.values())
        }
        (Mixer::Kda, _, _, Some(mixer)) => (4 * mixer.inner() + mixer.heads, 3 * mixer.inner(), mixer.inner()),
        _ => return,
    };
    let [projected, convolved, inner] = [projected, convolved, inner].map(|width| width as f64 / s.t);
    time.add_column(normed_linear(s.rates, s.n, h, projected, s.weight));
    time.add(linear(s.rates, s.n, inner, h, s.weight));
    // The convolution reads and writes; the gated norm reads two and writes one; backward passes once more.
    let bytes = s.rates.element * s.n / s.rates.elementwise.0;
    let recurrence = recurrence(s.peak, m, mixer, s.n / s.t);
    time.elementwise.0 += bytes * (2.0 * convolved + 3.0 * inner) + recurrence.0;
    time.elementwise.1 += bytes * (4.0 * convolved + 5.0 * inner) + recurrence.1;
}

/// MLA's projections; returns the width of the attention output.
fn latent(s: &Setting, mla: Mla, a: f64, time: &mut LayerTime) -> f64 {
    let h = s.model.hidden as f64;
    let qk = (mla.qk_nope_head_dim + mla.qk_rope_head_dim) as f64;
    let (nope, rope) = (mla.qk_nope_head_dim as f64, mla.qk_rope_head_dim as f64);
    let (v, rank) = (mla.v_head_dim as f64, mla.kv_lora_rank as f64);
    let query = if mla.q_lora_rank == 0 {
        linear(s.rates, s.n, h, a * qk, s.weight)
    } else {
        let q = mla.q_lora_rank as f64;
        time.add(linear(s.rates, s.n, h, q, s.weight));
        linear(s.rates, s.n, q, a * qk, s.weight)
    };
    time.add(linear(s.rates, s.n, h, rank + rope, s.weight));
    let key_value = linear(s.rates, s.n, rank, a * (nope + v), s.weight);
    time.modules.mla_up = query[0] + key_value[0];
    time.add_column(query);
    time.add_column(key_value);
    a * v
}

/// A dense FFN of width `ffn`, cut over the tensor-parallel ranks.
fn dense(s: &Setting, ffn: f64, time: &mut LayerTime) {
    let (h, f) = (s.model.hidden as f64, ffn / s.t);
    let up = if s.model.gated_ffn { 2.0 } else { 1.0 };
    time.add_column(normed_linear(s.rates, s.n, h, up * f, s.weight));
    let down = linear(s.rates, s.n, f, h, s.weight);
    time.modules.last = down[0];
    time.add(down);
}

/// Router, permutation, routed experts on the busiest rank, shared experts.
fn routed(s: &Setting, moe: Moe, time: &mut LayerTime) {
    let h = s.model.hidden as f64;
    let tokens = s.n / s.cut;
    let padded = s.run.capacity_factor.unwrap_or(1.0).max(s.run.imbalance(moe.experts as f64 / s.ep, s.ep));
    let rows = tokens * moe.top_k as f64 * s.etp * padded;
    let f = moe.expert_ffn as f64 / s.etp;
    let up = if s.model.gated_ffn { 2.0 } else { 1.0 };
    let local = (moe.experts as f64 / s.ep).max(1.0);
    let router = |m: f64, n: f64, k: f64| plain_gemm(s.rates, m, n, k, Output::Plain);
    let e = moe.experts as f64;
    time.add([router(tokens, e, h), router(tokens, h, e), router(e, h, tokens)]);
    let width = moe.input(s.model.hidden) as f64;
    time.add(grouped(s.rates, local, rows, width, up * f, s.weight));
    let down = grouped(s.rates, local, rows, f, width, s.weight);
    time.add(down);
    if moe.latent > 0 {
        time.add(linear(s.rates, tokens, h, width, s.weight));
        time.add(linear(s.rates, tokens, width, h, s.weight));
    }
    if moe.shared_experts > 0 {
        let before = time.linear;
        dense(s, (moe.shared_experts * moe.expert_ffn) as f64, time);
        let [forward, input, weight] = std::array::from_fn(|pass| time.linear[pass] - before[pass]);
        time.modules.shared_experts = forward;
        time.shared = [forward, input + weight];
    }
    time.modules.last = down[0];
    // Tokens are copied to their experts and back: read and written twice.
    let permute = 4.0 * s.rates.element * rows * width / s.rates.permute.0;
    let shared = (moe.shared_experts * moe.expert_ffn) as f64 / s.t;
    let (forward, backward) = activation(s.model.gated_ffn, 1.0, s.rates.element, s.rates.fused);
    // A fused kernel of the experts applies their activation function to what it still holds.
    let of_experts = if s.rates.fused_experts { 0.0 } else { rows * f };
    let channels = (of_experts + s.n * shared) / s.rates.elementwise.0;
    let biased = if s.model.biases == Biases::All && !s.rates.fused_experts {
        BIASED.map(|(wide, narrow)| rows * (wide * width + narrow * f) / s.rates.elementwise.0)
    } else {
        [0.0; 2]
    };
    time.modules.shared_experts += s.n * shared * forward / s.rates.elementwise.0;
    time.shared[0] += s.n * shared * forward / s.rates.elementwise.0;
    time.shared[1] += s.n * shared * backward / s.rates.elementwise.0;
    time.modules.expert_activation = channels * forward + clamp_seconds(biased[0], width, f);
    time.elementwise.0 += permute + channels * forward + biased[0];
    time.elementwise.1 += permute + channels * backward + biased[1];
}

/// Bytes of a row of experts with biases, by its width and by their FFN width, forward and backward: the second
/// product's bias added expert by expert in fp32 with the probabilities, joined and cast back (Megatron core 0.16,
/// `experts.py`, `_apply_bias`); gate and up clamped and joined (`fused_bias_geglu.py`).
const BIASED: [(f64, f64); 2] = [(28.0, 16.0), (40.0, 20.0)];

/// Forward seconds of the clamp alone, where biases and clamp together take `seconds`: both are bound by their bytes.
fn clamp_seconds(seconds: f64, width: f64, ffn: f64) -> f64 {
    let (wide, narrow) = BIASED[0];
    seconds * narrow * ffn / (wide * width + narrow * ffn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, CpComm};

    fn layer(run: &Run) -> LayerTime {
        let scenario = Scenario::new(run).unwrap();
        layer_time(&scenario, &Rates::of(&scenario), scenario.model.kind(0))
    }

    /// A layer's linears cannot beat their FLOPs at the sustained rate, and backward is about twice forward.
    #[test]
    fn the_linears_of_a_llama_layer_take_a_little_longer_than_their_flops() {
        let run = Run::default();
        let scenario = Scenario::new(&run).unwrap();
        let rates = Rates::of(&scenario);
        let time = layer(&run);
        let (h, f, n, t) = (4096.0, 14336.0, 8192.0, 2.0);
        let flops = 2.0 * n * (2.0 * h * h * 1.25 + 3.0 * h * f) / t;
        let ideal = flops / rates.gemm.0;
        assert!(time.linear[0] > ideal && time.linear[0] < 1.15 * ideal);
        let backward = time.linear[1] + time.linear[2];
        assert!(backward > 1.95 * time.linear[0] && backward < 2.3 * time.linear[0]);
    }

    #[test]
    fn cutting_a_layer_in_two_takes_more_than_half_the_time() {
        let mut run = Run::default();
        let two = layer(&run).forward();
        (run.tp, run.gpus) = (1, 32);
        let one = layer(&run).forward();
        assert!(two > one / 2.0 && two < one);
    }

    /// DeepSpeed-Ulysses, section 3: a rank has the heads that tensor parallelism over as many ranks leaves, of the
    /// whole sequence.
    #[test]
    fn exchanged_heads_meet_the_whole_sequence_and_a_ring_its_blocks() {
        let core = |tp, cp, cp_comm| layer(&Run { tp, cp, cp_comm, ..Run::default() }).core;
        let [heads, ulysses, ring] = [core(2, 1, CpComm::Ring), core(1, 2, CpComm::Ulysses), core(1, 2, CpComm::Ring)];
        assert_eq!(heads, ulysses);
        assert!(ring.0 > ulysses.0 && ring.1 > ulysses.1);
    }

    #[test]
    fn experts_cost_by_the_rows_they_see() {
        let mut run = Run { model: Based::preset("mixtral-8x7b"), tp: 1, ep: 8, ..Run::default() };
        let even = layer(&run);
        run.moe_imbalance = Some(1.5);
        let uneven = layer(&run);
        assert!(uneven.linear[0] > even.linear[0]);
        assert_eq!(uneven.core, even.core);
    }
}
