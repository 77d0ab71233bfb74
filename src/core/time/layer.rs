//! How long one transformer layer takes on one rank: its linears by the shapes that sharding leaves, its attention, its
//! elementwise kernels and the host.

use super::attention::{Core, core};
use super::elementwise::{LayerBytes, activation};
use super::gemm::{Output, grouped, linear, normed_linear, plain_gemm};
use super::rates::Rates;
use crate::model::{Architecture, Mla, Moe};
use crate::run::{Run, Scenario};

/// Seconds of one layer and micro-batch on one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LayerTime {
    /// The linears: forward, gradient of the input, gradient of the weight.
    pub linear: [f64; 3],
    /// Weight gradients of the column-cut linears: tensor-parallel reductions of the backward pass run beside them.
    pub column_weight: f64,
    /// The attention core, forward and backward.
    pub core: (f64, f64),
    /// Elementwise kernels and expert permutation, forward and backward.
    pub elementwise: (f64, f64),
    /// Host overhead, forward and backward together.
    pub host: f64,
    /// What recomputing single modules would repeat.
    pub modules: ModuleTime,
}

/// Forward seconds of single modules, for recomputation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModuleTime {
    /// Norms.
    pub norm: f64,
    /// The whole dense FFN.
    pub ffn: f64,
    /// The experts' activation function.
    pub expert_activation: f64,
    /// MLA's up-projections.
    pub mla_up: f64,
    /// The last product, whose output no backward pass reads.
    pub last: f64,
    /// All but the attention core and every second product.
    pub second: f64,
}

/// A third of the host's work launches the forward pass.
const FORWARD_HOST: f64 = 1.0 / 3.0;

impl LayerTime {
    /// Forward pass.
    #[must_use]
    pub fn forward(&self) -> f64 {
        self.linear[0] + self.core.0 + self.elementwise.0 + self.host * FORWARD_HOST
    }
    /// Backward pass without the weights' gradients.
    #[must_use]
    pub fn backward_input(&self) -> f64 {
        self.linear[1] + self.core.1 + self.elementwise.1 + self.host * (1.0 - FORWARD_HOST)
    }
    /// Gradients of the weights.
    #[must_use]
    pub fn backward_weight(&self) -> f64 {
        self.linear[2]
    }
    fn add(&mut self, times: [f64; 3]) {
        for (sum, time) in self.linear.iter_mut().zip(times) {
            *sum += time;
        }
    }
    fn add_column(&mut self, times: [f64; 3]) {
        self.add(times);
        self.column_weight += times[2];
    }
}

/// What a layer is computed with.
struct Setting<'a> {
    rates: &'a Rates,
    model: &'a Architecture,
    run: &'a Run,
    weight: Output,
    /// Tokens of the micro-batch on the rank.
    n: f64,
    t: f64,
    c: f64,
    /// What sequence parallelism divides by.
    cut: f64,
    ep: f64,
    etp: f64,
}

/// Time of a layer of `scenario` on one rank; `experts` says whether its FFN is routed.
#[must_use]
pub fn layer_time(scenario: &Scenario, rates: &Rates, experts: bool) -> LayerTime {
    let layout = &scenario.layout;
    let t = layout.tp as f64;
    let setting = Setting {
        rates,
        model: &scenario.model,
        run: &scenario.run,
        weight: accumulation(scenario),
        n: scenario.tokens_per_rank(),
        t,
        c: layout.cp as f64,
        cut: if layout.sequence_parallel { t } else { 1.0 },
        ep: layout.ep as f64,
        etp: layout.etp as f64,
    };
    let mut time = LayerTime {
        host: rates.host.0
            + if layout.cp > 1 {
                rates.host_ring.0 * setting.c
            } else {
                0.0
            },
        ..LayerTime::default()
    };
    attention(&setting, &mut time);
    let model = &scenario.model;
    let kv = (model.kv_heads as f64 / t).max(1.0);
    let rotary = (model.heads as f64 / t + kv) * model.head_dim as f64;
    let ffn = if experts { 0.0 } else { model.ffn as f64 / t };
    let bytes = LayerBytes::of(model, setting.cut, ffn, rotary, rates.element, rates.fused);
    let (forward, backward) = bytes.total();
    let seconds = |bytes: f64| setting.n * bytes / rates.elementwise.0;
    time.elementwise = (seconds(forward), seconds(backward));
    time.modules.norm = seconds(bytes.norms.0) / 2.0;
    match model.moe {
        Some(moe) if experts => routed(&setting, moe, &mut time),
        _ => {
            let before = time.linear[0];
            dense(&setting, model.ffn as f64, &mut time);
            time.modules.ffn = time.linear[0] - before + seconds(bytes.activation.0);
        }
    }
    time.modules.second = time.elementwise.0 + time.linear[0] * second_products(model);
    time
}

/// Whether weight gradients are added to fp32 buffers.
pub(super) fn accumulation(scenario: &Scenario) -> Output {
    if scenario.precision.gradients() >= 4.0 {
        Output::Accumulated
    } else {
        Output::Plain
    }
}

/// Share of a layer's products that are not the first, third, fifth or seventh of q, k, v, out, gate, up, down: those
/// that torchtitan's "op" recomputation runs again.
fn second_products(model: &Architecture) -> f64 {
    if model.moe.is_some() || model.mla.is_some() {
        return 0.5;
    }
    let (q, k) = (
        model.query_width() as f64,
        (model.kv_heads * model.head_dim) as f64,
    );
    let f = model.ffn as f64;
    let matrices = if model.gated_ffn { 3.0 } else { 2.0 };
    (k + q + f) / (2.0 * (q + k) + matrices * f)
}

/// Projections and attention core.
fn attention(s: &Setting, time: &mut LayerTime) {
    let m = s.model;
    let (h, a) = (m.hidden as f64, m.heads as f64 / s.t);
    let (head_width, out) = if let Some(mla) = m.mla {
        latent(s, mla, a, time)
    } else {
        let (d, k) = (m.head_dim as f64, (m.kv_heads as f64 / s.t).max(1.0));
        time.add_column(normed_linear(s.rates, s.n, h, d * (a + 2.0 * k), s.weight));
        (d, a * d)
    };
    time.add(linear(s.rates, s.n, out, h, s.weight));
    time.core = core(
        s.rates,
        Core {
            heads: a,
            head_width,
            tokens: s.n,
            keys: s.run.seq_len as f64,
            context: s.c,
            causal: true,
            fused: s.run.runs_flash_attention(),
            dropout: m.dropout,
        },
    );
}

/// MLA's projections; returns the mean head width and the width of the attention output.
fn latent(s: &Setting, mla: Mla, a: f64, time: &mut LayerTime) -> (f64, f64) {
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
    (f64::midpoint(qk, v), a * v)
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
    let own = s.n / s.cut;
    let padded = s
        .run
        .capacity_factor
        .unwrap_or(1.0)
        .max(s.run.moe_imbalance);
    let rows = own * moe.top_k as f64 * s.etp * padded;
    let f = moe.expert_ffn as f64 / s.etp;
    let up = if s.model.gated_ffn { 2.0 } else { 1.0 };
    let held = (moe.experts as f64 / s.ep).max(1.0);
    let router = |m: f64, n: f64, k: f64| plain_gemm(s.rates, m, n, k, Output::Plain);
    let e = moe.experts as f64;
    time.add([router(own, e, h), router(own, h, e), router(e, h, own)]);
    time.add(grouped(s.rates, held, rows, h, up * f, s.weight));
    let down = grouped(s.rates, held, rows, f, h, s.weight);
    time.add(down);
    if moe.shared_experts > 0 {
        dense(s, (moe.shared_experts * moe.expert_ffn) as f64, time);
    }
    time.modules.last = down[0];
    // Tokens are copied to their experts and back: read and written twice.
    let permute = 4.0 * s.rates.element * rows * h / s.rates.permute.0;
    let shared = (moe.shared_experts * moe.expert_ffn) as f64 / s.t;
    let (forward, backward) = activation(s.model.gated_ffn, 1.0, s.rates.element, s.rates.fused);
    // A fused kernel of the experts applies their activation function to what it still holds.
    let of_experts = if s.rates.fused_experts { 0.0 } else { rows * f };
    let channels = (of_experts + s.n * shared) / s.rates.elementwise.0;
    time.modules.expert_activation = channels * forward;
    time.elementwise.0 += permute + channels * forward;
    time.elementwise.1 += permute + channels * backward;
    time.host += s.rates.host_experts.0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Based;

    fn layer(run: &Run, experts: bool) -> LayerTime {
        let scenario = Scenario::new(run).unwrap();
        layer_time(&scenario, &Rates::of(&scenario), experts)
    }

    /// A layer's linears cannot beat their FLOPs at the sustained rate, and backward is about twice forward.
    #[test]
    fn the_linears_of_a_llama_layer_take_a_little_longer_than_their_flops() {
        let run = Run::default();
        let scenario = Scenario::new(&run).unwrap();
        let rates = Rates::of(&scenario);
        let time = layer(&run, false);
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
        let two = layer(&run, false).forward();
        (run.tp, run.gpus) = (1, 32);
        let one = layer(&run, false).forward();
        assert!(two > one / 2.0 && two < one);
    }

    #[test]
    fn experts_cost_by_the_rows_they_see() {
        let mut run = Run {
            model: Based::preset("mixtral-8x7b"),
            tp: 1,
            ep: 8,
            ..Run::default()
        };
        let even = layer(&run, true);
        run.moe_imbalance = 1.5;
        let uneven = layer(&run, true);
        assert!(uneven.linear[0] > even.linear[0]);
        assert_eq!(uneven.core, even.core);
    }
}
