//! Host of programs that launch each kernel of a pass from Python.

use super::compute::ComputeTime;
use crate::explain::symbols::{PASS_DEVICE, PASS_HOST};
use crate::explain::{Quantity, Written};
use crate::model::{LayerKind, Linear, Mixer, Target, linears};
use crate::run::presets::Launches;
use crate::run::{Constant, Module, Multiplier, Recompute, Scenario};
use crate::units::Seconds;

/// Kernels of an adapter in a forward pass: dropout, two products, scaling, sum, cast. Source: PEFT `lora/layer.py`.
const ADAPTER: f64 = 6.0;
/// Kernels more of an adapter in fp32 beside 16 bits: autocast casts the input to fp32 and back, and both matrices.
const CASTS: f64 = 4.0;
/// Kernels of a dense FFN, which a routed one has not: three products, activation function, product of both.
const DENSE: f64 = 5.0;
/// Kernels of a router: product, softmax, choice, scaling, counts. Source: transformers `modeling_mixtral.py`.
const ROUTER: f64 = 12.0;
/// Kernels of an expert that runs by itself: its tokens found and gathered, the FFN, weighting, `index_add_`. Likewise.
const EXPERT: f64 = 12.0;
/// Kernels of a routed FFN whose experts are one product: router, sort, blocks, three products, activation function.
/// Source: fms-acceleration `scattermoe.py`.
const FUSED_EXPERTS: f64 = 24.0;
/// Kernels of a norm of single operators: cast, square, mean, sum, root, product, cast, product; a kernel of the
/// software's own is one. Source: transformers `modeling_llama.py` (`LlamaRMSNorm`).
const NORM: f64 = 8.0;
/// Kernels of the core of attention without `FlashAttention`: product, scaling, mask, softmax, cast, product. Source:
/// the same, `eager_attention_forward`.
const EAGER_CORE: f64 = 6.0;
/// Kernels of an expert's activation function, and the product with its gate.
const ACTIVATION: f64 = 2.0;
/// Length below which sequences are samples as they come and not packed: the default `max_length` of TRL's `SFTConfig`.
const PACKED: u64 = 1024;

/// Experts of a rank that run one after the other in a layer of `kind`.
fn apart(scenario: &Scenario, kind: LayerKind) -> f64 {
    let routed = scenario.model.moe.filter(|_| kind.ffn.is_routed() && !scenario.software.moe_fused);
    routed.map_or(1.0, |moe| (moe.experts as f64 / scenario.layout.ep as f64).max(1.0))
}

/// Kernels of the router and the routed experts.
fn experts(scenario: &Scenario, kind: LayerKind) -> f64 {
    if scenario.software.moe_fused { FUSED_EXPERTS } else { ROUTER + EXPERT * apart(scenario, kind) }
}

/// Kernels of the adapters beside those linears of a layer of `kind` that are `of` a part of it.
fn adapters(scenario: &Scenario, kind: LayerKind, of: impl Fn(&Linear) -> bool) -> f64 {
    scenario.adapter.as_ref().map_or(0.0, |adapter| {
        let each =
            if adapter.bytes.weights > scenario.precision.computes.activation() { ADAPTER + CASTS } else { ADAPTER };
        let times = |linear: &Linear| if linear.experts.is_some() { apart(scenario, kind) } else { 1.0 };
        let beside = adapter.beside(&scenario.model, kind);
        each * beside.iter().filter(|linear| of(linear)).map(times).sum::<f64>()
    })
}

/// Kernels of the forward pass of a layer of `kind`.
fn kernels(scenario: &Scenario, launches: Launches, kind: LayerKind) -> f64 {
    let routed = kind.ffn.is_routed() && scenario.model.moe.is_some();
    let ffn = if routed { experts(scenario, kind) - DENSE } else { 0.0 };
    launches.layer + ffn + adapters(scenario, kind, |_| true)
}

/// Kernels of the core of attention; of a layer without attention none.
fn core(scenario: &Scenario, kind: LayerKind) -> f64 {
    match kind.mixer {
        Mixer::None | Mixer::DeltaNet | Mixer::Kda | Mixer::Mamba => 0.0,
        _ if scenario.run.runs_flash_attention() => 1.0,
        _ => EAGER_CORE,
    }
}

/// Kernels of `module` in the forward pass of a layer of `kind`.
fn of_module(scenario: &Scenario, kind: LayerKind, module: Module) -> f64 {
    let model = &scenario.model;
    let moe = model.moe.filter(|_| kind.ffn.is_routed());
    let is_of_ffn = |linear: &Linear| matches!(linear.target, Target::Gate | Target::Up | Target::Down);
    let own = |linear: &Linear| is_of_ffn(linear) && linear.experts.is_none();
    let shared =
        if moe.is_some_and(|moe| moe.shared_experts > 0) { DENSE + adapters(scenario, kind, own) } else { 0.0 };
    match module {
        Module::Norm if scenario.software.fused_kernels => f64::from(kind.operations()),
        Module::Norm => NORM * f64::from(kind.operations()),
        Module::Mlp if kind.ffn.is_dense() => DENSE + adapters(scenario, kind, own),
        Module::MoeAct if moe.is_some() => ACTIVATION * apart(scenario, kind),
        Module::Moe if moe.is_some() => {
            experts(scenario, kind) + adapters(scenario, kind, |linear| linear.experts.is_some()) + shared
        }
        Module::SharedExperts => shared,
        // Of queries, and of keys with values.
        Module::MlaUp if matches!(kind.mixer, Mixer::Latent | Mixer::Sparse) => 2.0,
        Module::CoreAttn => core(scenario, kind),
        Module::Mlp | Module::MoeAct | Module::Moe | Module::MlaUp => 0.0,
    }
}

/// The part of a stage of `layers` that runs again whole, from the inputs of its layers.
fn whole(recompute: &Recompute, layers: f64) -> f64 {
    match recompute {
        Recompute::Full => 1.0,
        Recompute::Layers(some) => (*some as f64 / layers.max(1.0)).min(1.0),
        _ => 0.0,
    }
}

/// Kernels that the backward pass of a layer of `kind`, on a stage of `layers`, launches again.
fn kernels_again(scenario: &Scenario, launches: Launches, kind: LayerKind, layers: f64) -> f64 {
    let all = kernels(scenario, launches, kind);
    let again = match scenario.run.recomputed() {
        Recompute::None => 0.0,
        recompute @ (Recompute::Full | Recompute::Layers(_)) => all * whole(recompute, layers),
        Recompute::Budget(kept) => all * (1.0 - kept),
        Recompute::Selective => core(scenario, kind),
        Recompute::OpSelective => {
            let times = |linear: &Linear| if linear.experts.is_some() { apart(scenario, kind) } else { 1.0 };
            let products: f64 = linears(&scenario.model, kind).iter().map(times).sum();
            all - core(scenario, kind) - products / 2.0
        }
        Recompute::Modules(modules) => modules.iter().map(|module| of_module(scenario, kind, *module)).sum(),
    };
    again.clamp(0.0, all)
}

/// Units of FSDP that a layer of `kind` is, each of which gathers its weights in every pass: the layer, and the
/// matrices of its adapters where the program wraps each by itself; none where nothing is gathered.
fn units(scenario: &Scenario, launches: Launches, kind: LayerKind) -> f64 {
    if !(scenario.software.fsdp && scenario.zero.stage == 3 && scenario.zero.shard > 1) {
        return 0.0;
    }
    let adapters = scenario.adapter.as_ref().map_or(0, |adapter| adapter.beside(&scenario.model, kind).len());
    1.0 + launches.units * adapters as f64
}

/// Units of FSDP of `stage` for whose gathering the host of an eager program takes its time in every pass; none where
/// each layer is one, or where no weights are gathered.
pub fn units_of_adapters(scenario: &Scenario, stage: usize) -> Option<f64> {
    let launches = scenario.software.launches?;
    let kinds = scenario.model.kinds(scenario.layers_of(stage));
    let of = |count: fn(f64) -> f64| -> f64 {
        kinds.iter().map(|(kind, layers)| *layers as f64 * count(units(scenario, launches, *kind))).sum()
    };
    let (all, layers) = (of(|units| units), of(|units| units.min(1.0)));
    (all > layers).then_some(all)
}

/// Host seconds of `stage` for `count`, the kernels and the units of FSDP of a layer.
fn seconds(scenario: &Scenario, stage: usize, count: impl Fn(LayerKind) -> [f64; 2]) -> Seconds {
    let layer_seconds = |kind: LayerKind| {
        let [kernels, units] = count(kind);
        scenario.fitted.of(Constant::Launch) * kernels + scenario.fitted.of(Constant::Unit) * units
    };
    let kinds = scenario.model.kinds(scenario.layers_of(stage));
    let seconds: f64 = kinds.iter().map(|(kind, count)| *count as f64 * layer_seconds(*kind)).sum();
    Seconds(seconds * scenario.factors.of(Multiplier::Host))
}

/// Host seconds of a forward pass of `stage`: its kernels, and the units of FSDP that gather their weights.
fn host(scenario: &Scenario, launches: Launches, stage: usize) -> Seconds {
    seconds(scenario, stage, |kind| [kernels(scenario, launches, kind), units(scenario, launches, kind)])
}

/// Host seconds in which the backward pass of `stage` launches again what is recomputed; weights are gathered again for
/// whole layers alone.
fn host_again(scenario: &Scenario, launches: Launches, stage: usize) -> Seconds {
    let layers = scenario.layers_of(stage);
    let layers = (layers.end - layers.start) as f64;
    let gathers = whole(scenario.run.recomputed(), layers);
    seconds(scenario, stage, |kind| {
        [kernels_again(scenario, launches, kind, layers), gathers * units(scenario, launches, kind)]
    })
}

/// True where attention asks the device how long the sequences are, in every layer: host and device then work in turns.
/// Source: transformers `modeling_flash_attention_utils.py` (`_get_unpad_data`, `prepare_fa2_from_position_ids`), issue
/// 39213.
fn in_turns(scenario: &Scenario, launches: Launches) -> bool {
    let run = &scenario.run;
    let samples = scenario.sequences() > 1 && run.seq_len < PACKED;
    launches.asks_lengths && (samples || run.documents.is_some()) && run.runs_flash_attention()
}

/// Seconds that a pass takes longer whose launches take the `host` and whose kernels take the `device`: all of the host
/// where both work in `turns`.
fn late<Q: Quantity>(turns: bool, host: Q, device: Q) -> Q {
    if turns { host } else { (host - device).max(Q::number(0.0)) }
}

/// The formula of what the host of an eager program adds to one pass; none of other programs.
pub(crate) fn eager_gap_formula(scenario: &Scenario) -> Option<Written> {
    let turns = in_turns(scenario, scenario.software.launches?);
    Some(late(turns, PASS_HOST.of_piece(), PASS_DEVICE.of_piece()))
}

impl ComputeTime {
    /// Never faster than the host of an eager program launches the kernels of a pass of `stage`, whose messages take
    /// `waits`; where both work in turns, as long as both. The backward pass has twice the kernels of the forward pass,
    /// in half the time each (autograd's engine is no Python), and those of what is recomputed; where it is
    /// `cut`, all but the products of the weights are in its first part.
    pub fn launched(mut self, scenario: &Scenario, stage: usize, waits: [Seconds; 2], cut: bool) -> Self {
        let Some(launches) = scenario.software.launches else {
            return self;
        };
        let host = host(scenario, launches, stage);
        let again = host_again(scenario, launches, stage);
        let turns = in_turns(scenario, launches);
        let late = |host: Seconds, device: Seconds| Seconds(late(turns, host.0, device.0));
        let passes = 1.0 + scenario.forwards_beside();
        let first = late(host * passes, self.forward + waits[0]);
        let weights = if cut { Seconds::ZERO } else { self.backward_weight };
        let second = late(host + again, self.backward_input + weights + waits[1]);
        self.forward += first;
        self.backward_input += second;
        self.host += first + second;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;

    /// `PEFT` wraps both matrices of each of the seven adapters of a layer: 1,200 units of 80 layers, whose gathering
    /// takes the host of two GPUs 1.8 s a pass. On one GPU, and of all weights, each layer is one.
    #[test]
    fn adapters_are_units_of_their_own_where_weights_are_gathered() {
        let scenario = |set: &[(&str, &str)]| {
            let edits = [("model", "llama-3.1-70b"), ("gpu", "l40s"), ("seq_len", "512"), ("global_batch", "16")];
            let run = Run::default().with_texts(&edits).unwrap().with_texts(&[("stack", "hf-trainer"), ("tp", "1")]);
            let run = run.unwrap().with_texts(&[("pp", "1"), ("adapter.method", "qlora"), ("gpus", "2")]).unwrap();
            Scenario::new(&run.with_texts(set).unwrap()).unwrap()
        };
        let sharded = scenario(&[("zero", "3"), ("micro_batch", "8")]);
        let alone = scenario(&[("gpus", "1"), ("zero", "0"), ("micro_batch", "8")]);
        assert_eq!(units_of_adapters(&sharded, 0), Some(80.0 * 15.0));
        for other in [&alone, &scenario(&[("adapter.method", ""), ("zero", "3")])] {
            assert_eq!(units_of_adapters(other, 0), None);
        }
        let pass = |scenario: &Scenario| host(scenario, scenario.software.launches.unwrap(), 0).0;
        let unit = sharded.fitted.of(Constant::Unit);
        assert!((pass(&sharded) - pass(&alone) - 1200.0 * unit).abs() < 1e-9);
    }

    /// transformers 4.51 `modeling_llama.py`: `LlamaRMSNorm.forward` is eight operators (`to`, `pow`, `mean`, `+`,
    /// `rsqrt`, `*`, `to`, `*`) and a layer has two; `LlamaMLP.forward` is three products, the activation function and
    /// `*`; `FlashAttention` is one kernel.
    #[test]
    fn only_kernels_of_what_is_recomputed_are_launched_again() {
        let again = |stack: &str, set: &[(&str, &str)]| {
            let one = [("model", "llama-3.1-8b"), ("gpus", "1"), ("tp", "1"), ("pp", "1"), ("stack", stack)];
            let run = Run::default().with_texts(&one).unwrap().with_texts(set).unwrap();
            let scenario = Scenario::new(&run).unwrap();
            let launches = scenario.software.launches.unwrap();
            let launch = scenario.fitted.of(Constant::Launch) * scenario.factors.of(Multiplier::Host);
            let layers = scenario.model.layers as f64;
            (host_again(&scenario, launches, 0).0 / launch / layers * 1e6).round() / 1e6
        };
        for (recompute, kernels) in [
            (("recompute", "none"), 0.0),
            (("recompute", "full"), 40.0),
            (("recompute.modules", "core_attn"), 1.0),
            (("recompute.modules", "norm"), 16.0),
            (("recompute.modules", "mlp"), 5.0),
            (("recompute.modules", "norm,mlp"), 21.0),
        ] {
            assert_eq!(again("hf-trainer", &[recompute]), kernels, "{recompute:?}");
        }
        assert_eq!(again("hf-fused", &[("recompute.modules", "norm")]), 2.0);
        let eager = [("recompute.modules", "core_attn"), ("flash_attention", "false")];
        assert_eq!(again("hf-trainer", &eager), 6.0);
    }
}
