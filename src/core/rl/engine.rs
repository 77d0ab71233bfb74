//! One engine: what it holds, how many responses it decodes at once, and the time of an iteration.
//!
//! `t(n, c) = max(W(n)/(e_b BW), 2 A n/(t F e_f)) + n κ(c)/(e_k BW) + layers (a₀ + a₁ log₂ t) + c_t n/t`, per
//! GPU: the weights that n tokens touch are read, keys and values are read, every layer is launched and its results are
//! exchanged.

use crate::cluster::Gpu;
use crate::maths::{log2, pow};
use crate::model::{Architecture, Mixer};
use crate::run::{CacheFormat, RlParts, RolloutEngine, RolloutFormat};
use crate::units::{Bytes, Seconds};

/// Share of the memory's bandwidth at which weights are read. Fitted to 272 decode speeds of TensorRT-LLM
/// (perf-overview, 03e27c7d and 00f37686).
const WEIGHT_READS: f64 = 0.80;
/// Share of the memory's bandwidth at which keys and values are read. Fitted to the speeds of [`WEIGHT_READS`], which
/// hardly depend on it: few of them hold long contexts.
const CACHE_READS: f64 = 0.60;
/// Share of the peak in decode. The same speeds give 0.55 in fp8 and fp4; vLLM in bf16 is taken lower: a guess.
const DECODE_PEAK: f64 = 0.45;
/// Share of the peak in prefill. Fitted to the same speeds.
const PREFILL_PEAK: f64 = 0.38;
/// Seconds of a layer beside its reads. Fitted to 24 steps of NeMo-RL, with [`ACROSS_NODES`] and the factor of
/// training: 160 to 220 µs fit about as well. The best servers need 67 to 124 µs for one request (`SGLang` on B200),
/// so an engine within a training loop costs about two of those.
const LAYER: f64 = 200e-6;
/// Seconds by which a layer is longer for each doubling of the engine's GPUs: a prior, not fitted.
const DOUBLING: f64 = 20e-6;
/// Times that where the engine spans nodes. Fitted as above.
const ACROSS_NODES: f64 = 2.0;
/// Seconds of a response and iteration over all GPUs of the engine: sampling, scheduler, log-probabilities. The decode
/// speeds give 21 µs.
const SEQUENCE: f64 = 20e-6;
/// Times [`LAYER`] without CUDA graphs: between 3 and 5, a guess.
const EAGER: f64 = 4.0;
/// Bytes of a GPU that neither weights nor cache take: activations, graphs. Inferred: with them NeMo-RL's change of the
/// share from 0.80 to 0.88 for Qwen3-235B gives what it measured (pull request 3278).
const BESIDE: f64 = 3e9;
/// Share of a mean response that a decoding one has on average when the cache is counted.
const FILLED: f64 = 0.75;

/// Rates at which an engine works. A prediction takes those of this file; measured speeds of other programs are
/// compared with others as well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngineRates {
    /// Share of the memory's bandwidth at which weights are read.
    pub weight_reads: f64,
    /// Share of the memory's bandwidth at which keys and values are read.
    pub cache_reads: f64,
    /// Share of the peak in decode.
    pub decode_peak: f64,
    /// Share of the peak in prefill.
    pub prefill_peak: f64,
    /// Seconds of a layer beside its reads.
    pub layer_s: f64,
    /// Seconds by which a layer is longer for each doubling of the engine's GPUs.
    pub doubling_s: f64,
    /// Times that where the engine spans nodes.
    pub across_nodes: f64,
    /// Seconds of a response and iteration over all GPUs of the engine.
    pub sequence_s: f64,
}

impl Default for EngineRates {
    fn default() -> Self {
        Self {
            weight_reads: WEIGHT_READS,
            cache_reads: CACHE_READS,
            decode_peak: DECODE_PEAK,
            prefill_peak: PREFILL_PEAK,
            layer_s: LAYER,
            doubling_s: DOUBLING,
            across_nodes: ACROSS_NODES,
            sequence_s: SEQUENCE,
        }
    }
}

/// An engine on `tp` GPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineModel {
    pub tp: f64,
    /// Bytes of weights on a GPU outside the routed experts.
    dense: f64,
    /// Bytes of the routed experts on a GPU.
    experts: f64,
    /// Share of the experts that a token visits; 0 without experts.
    visited: f64,
    /// Parameters that a token visits.
    active: f64,
    /// Layers that keep keys and values, by bytes of a token on a GPU and the tokens that they keep.
    caches: Vec<(f64, f64)>,
    /// Bytes of a response whatever its length, on a GPU.
    state: f64,
    /// Memory bandwidth and dense peak of a GPU.
    bandwidth: f64,
    peak: f64,
    /// Bytes of a GPU for keys and values; negative where the weights do not fit.
    pub room: Bytes,
    /// Responses at once at most, whatever the memory.
    most: f64,
    /// Launches of all layers, and doublings of their messages, each in the time of one.
    layers: [f64; 2],
    rates: EngineRates,
    pub spans_nodes: bool,
}

/// Bytes of a weight in the layers, and outside them.
fn weight_bytes(format: RolloutFormat) -> [f64; 2] {
    match format {
        RolloutFormat::Bf16 => [2.0, 2.0],
        RolloutFormat::Fp8 => [1.0, 1.0],
        // Blocks of 16 with a scale of 8 bits, of 32 with one of 8; embedding and head stay.
        RolloutFormat::Nvfp4 => [0.56, 2.0],
        RolloutFormat::Mxfp4 => [0.53, 2.0],
    }
}

/// The peak that products with weights of `format` have.
fn peak(gpu: &Gpu, format: RolloutFormat) -> f64 {
    match format {
        RolloutFormat::Nvfp4 | RolloutFormat::Mxfp4 if gpu.computes_in_fp4() => gpu.fp4.0,
        RolloutFormat::Fp8 if gpu.computes_in_fp8() => gpu.fp8.0,
        _ => gpu.bf16.0,
    }
}

impl EngineModel {
    /// The engine of `model` on `gpu` that takes `share` of its memory, `per_node` GPUs a node.
    pub fn new(model: &Architecture, gpu: &Gpu, per_node: u64, rl: &RlParts, share: f64, most: f64) -> Self {
        let tp = rl.rollout_tp.unwrap_or(1).max(1);
        let ranks = tp as f64;
        let format = rl.rollout_precision.unwrap_or(RolloutFormat::Bf16);
        let [layer_bytes, end_bytes] = weight_bytes(format);
        let elements = model.elements();
        let ends = (model.embedding().total() + model.head().total()) as f64;
        let routed = elements.experts as f64;
        let inside = (elements.total() as f64 - routed - ends).max(0.0);
        let dense = (inside * layer_bytes + ends * end_bytes) / ranks;
        let experts = routed * layer_bytes / ranks;
        let cache_bytes = if rl.cache_precision == Some(CacheFormat::Fp8) { 1.0 } else { 2.0 };
        let (caches, state) = caches(model, tp, cache_bytes);
        let memory = gpu.usable.0;
        // SGLang's share is of what is free when it starts: the memory without what its process takes.
        let taken = match rl.engine {
            Some(RolloutEngine::Sglang) => share * (memory - BESIDE),
            _ => share * memory - BESIDE,
        };
        let spans_nodes = tp > per_node;
        let launches = if rl.eager == Some(true) { EAGER } else { 1.0 };
        let layers = model.layers as f64;
        Self {
            tp: ranks,
            dense,
            experts,
            visited: model.moe.map_or(0.0, |moe| moe.top_k as f64 / moe.experts.max(1) as f64),
            active: elements.active() as f64,
            caches,
            state,
            bandwidth: gpu.hbm.0,
            peak: peak(gpu, format),
            room: Bytes(taken - dense - experts),
            most,
            layers: [layers * launches, layers * log2(ranks)],
            rates: EngineRates::default(),
            spans_nodes,
        }
    }

    /// An engine that is known by its times: an iteration takes `fixed` and `each` for every response, of which it
    /// decodes `at_once` at most.
    pub fn of_times(fixed: Seconds, each: Seconds, at_once: f64) -> Self {
        Self {
            tp: 1.0,
            dense: 0.0,
            experts: 0.0,
            visited: 0.0,
            active: 0.0,
            caches: Vec::new(),
            state: 0.0,
            bandwidth: 1.0,
            peak: 1.0,
            room: Bytes(f64::MAX),
            most: at_once,
            layers: [1.0, 0.0],
            rates: EngineRates { layer_s: fixed.0, sequence_s: each.0, ..EngineRates::default() },
            spans_nodes: false,
        }
    }

    /// This engine at other `rates`.
    #[must_use]
    pub fn at(self, rates: EngineRates) -> Self {
        Self { rates, ..self }
    }

    /// Bytes of weights on a GPU.
    pub fn weights(&self) -> Bytes {
        Bytes(self.dense + self.experts)
    }

    /// Bytes that a response with `context` tokens keeps on a GPU.
    pub fn held(&self, context: f64) -> f64 {
        self.caches.iter().map(|(bytes, window)| bytes * context.min(*window)).sum::<f64>() + self.state
    }

    /// Responses of `mean` tokens after prompts of `prompt` that it decodes at once.
    pub fn capacity(&self, prompt: f64, mean: f64) -> f64 {
        (self.room.0 / self.held(prompt + FILLED * mean).max(1.0)).min(self.most).max(0.0)
    }

    /// Time of an iteration over `responses` whose contexts have `context` tokens on average.
    pub fn iteration(&self, responses: f64, context: f64) -> f64 {
        let untouched = if self.visited > 0.0 { pow(1.0 - self.visited, responses) } else { 0.0 };
        let weights = self.dense + self.experts * (1.0 - untouched);
        let rates = &self.rates;
        let read = weights / (rates.weight_reads * self.bandwidth);
        let products = 2.0 * self.active * responses / (self.tp * self.peak * rates.decode_peak);
        let cache = responses * self.held(context) / (rates.cache_reads * self.bandwidth);
        let across = if self.spans_nodes { rates.across_nodes } else { 1.0 };
        let fixed = self.layers[0] * rates.layer_s + self.layers[1] * across * rates.doubling_s;
        read.max(products) + cache + fixed + rates.sequence_s * responses / self.tp
    }

    /// Time of reading `tokens` of prompts.
    pub fn prefill(&self, tokens: f64) -> Seconds {
        Seconds(2.0 * self.active * tokens / (self.tp * self.peak * self.rates.prefill_peak))
    }
}

/// Bytes of a token and the tokens kept, layer kind by layer kind, on a GPU of `tp`; and the bytes of a response
/// whatever its length.
///
/// Keys and values are cut by heads, so beyond as many GPUs as heads they are held several times; the latent of MLA is
/// one for all heads, so every GPU holds all of it. Linear attention and Mamba keep a state in fp32.
fn caches(model: &Architecture, tp: u64, bytes: f64) -> (Vec<(f64, f64)>, f64) {
    let mut list: Vec<(f64, f64)> = Vec::new();
    let mut state = 0.0;
    let window_of = |mixer: Mixer| match mixer {
        Mixer::Window if model.window > 0 => model.window as f64,
        Mixer::Chunked if model.chunk > 0 => model.chunk as f64,
        _ => f64::INFINITY,
    };
    let [first, second] = model.key_value_ranks(tp);
    for (kind, count) in model.all_kinds().iter() {
        let count = *count as f64;
        match kind.mixer {
            Mixer::Full | Mixer::Window | Mixer::Second | Mixer::Chunked => {
                let ranks = if kind.mixer == Mixer::Second { second } else { first };
                let width = model.attention_heads(kind.mixer).map_or(0, |heads| heads.projected_kv());
                list.push((count * width as f64 * bytes / ranks as f64, window_of(kind.mixer)));
            }
            Mixer::Latent | Mixer::Sparse => {
                let width = model.mla.map_or(0, |mla| mla.kv_lora_rank + mla.qk_rope_head_dim);
                list.push((count * width as f64 * bytes, f64::INFINITY));
            }
            Mixer::Compressed(ratio) => {
                let every = f64::from(ratio.max(1));
                list.push((count * model.head_dim as f64 * bytes / every, f64::INFINITY));
            }
            Mixer::DeltaNet => {
                state += model.delta_net.map_or(0.0, |net| 4.0 * count * (net.values() * net.head_dim) as f64);
            }
            Mixer::Kda => state += model.kda.map_or(0.0, |kda| 4.0 * count * (kda.inner() * kda.head_dim) as f64),
            Mixer::Mamba => state += model.mamba.map_or(0.0, |part| 4.0 * count * (part.inner() * part.state) as f64),
            Mixer::None => {}
        }
    }
    (list, state / tp as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Run, Scenario};

    fn engine(model: &'static str, tp: u64, share: f64) -> EngineModel {
        let run = Run { model: crate::run::Based::preset(model), tp: 1, pp: 1, ..Run::default() };
        let scenario = Scenario::new(&run).unwrap();
        let rl = RlParts { rollout_tp: Some(tp), ..RlParts::default() };
        EngineModel::new(&scenario.model, &scenario.gpu, 8, &rl, share, f64::INFINITY)
    }

    /// Latent attention of DeepSeek-V3 holds 512 + 64 elements a token in each of 61 layers (arXiv 2412.19437, section
    /// 4.2), 2 bytes each; Qwen3-235B holds keys and values of grouped queries.
    #[test]
    fn a_token_of_latent_attention_is_held_whole_by_every_gpu() {
        for tp in [1, 8, 32] {
            let token = engine("deepseek-v3", tp, 0.9).held(1.0);
            assert!((token - 576.0 * 61.0 * 2.0).abs() < 1.0, "{token}");
        }
        // 4 key-value heads of 128 in 94 layers: cut by 4, and no further.
        let whole = 2.0 * 4.0 * 128.0 * 2.0 * 94.0;
        for (tp, ranks) in [(1, 1.0), (4, 4.0), (8, 4.0), (16, 4.0)] {
            assert!((engine("qwen-3-235b-a22b", tp, 0.8).held(1.0) - whole / ranks).abs() < 1.0, "{tp}");
        }
    }

    /// Responses of a context that fit at once on H100 GPUs, as a separate program computed them: memory of the engine
    /// less its weights, over the keys and values of a response.
    #[test]
    fn as_many_responses_fit_as_a_separate_program_computed() {
        for (model, tp, share, context, fits) in [
            ("qwen-3-235b-a22b", 8, 0.80, 4300.0, 30.0),
            ("qwen-3-235b-a22b", 8, 0.88, 4300.0, 63.0),
            ("qwen-3-30b-a3b", 2, 0.6, 2400.0, 148.0),
            ("qwen-3-32b", 4, 0.6, 2500.0, 200.0),
            ("deepseek-v3", 32, 0.6, 520.0, 165.0),
        ] {
            let engine = engine(model, tp, share);
            let at_once = engine.room.0 / engine.held(context);
            assert!((at_once / fits - 1.0).abs() < 0.08, "{model}: {at_once}");
        }
        assert!(engine("qwen-3-235b-a22b", 8, 0.70).room.0 < 0.0);
    }

    #[test]
    fn more_responses_take_longer_and_give_more_tokens() {
        for model in ["qwen-3-30b-a3b", "llama-3.1-8b", "deepseek-v3", "qwen-3-next-80b-a3b", "gemma-3-27b"] {
            let engine = engine(model, 8, 0.9);
            let mut before = (0.0, 0.0);
            for responses in [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0] {
                let time = engine.iteration(responses, 2000.0);
                assert!(time > before.0 && responses / time > before.1, "{model} {responses}");
                before = (time, responses / time);
            }
        }
    }
}
