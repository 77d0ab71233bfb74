//! Compute time of each pass of a global stage: its layers, the tower and the embedding on the first, the head, the
//! loss and multi-token prediction on the last, and recomputation.
//!
//! Times are per micro-batch and GPU, without communication: that waits elsewhere, behind the windows given here.

use super::elementwise::{embedding, loss_bytes, optimizer};
use super::gemm::{Output, linear, plain_gemm};
use super::layer::{accumulation, layer_time};
use super::layer_time::{FORWARD_HOST, LayerTime};
use super::muon;
use super::rates::Rates;
use super::routed::{RoutedTime, added_by_host, paced_by};
use super::vision::tower_time;
use crate::explain::Quantity;
use crate::explain::symbols::{MUON, STEP_END, UPDATES};
use crate::model::{LayerKind, LayerKinds, Mixer, Vision};
use crate::run::{Module, Recompute, Saved, Scenario};
use crate::units::Seconds;

/// Seconds of one micro-batch on one GPU of a global stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[must_use]
pub struct ComputeTime {
    /// Forward pass.
    pub forward: Seconds,
    /// Backward pass for the inputs; what is recomputed runs here.
    pub backward_input: Seconds,
    /// Backward pass for the weights.
    pub backward_weight: Seconds,
    /// The linears' part of forward and backward.
    pub linear: Seconds,
    /// The attention core's part of the forward pass, behind which ring attention may hide its blocks.
    pub attention_forward: Seconds,
    /// The attention core's part of the backward pass.
    pub attention_backward: Seconds,
    /// The attention core's part of both.
    pub attention: Seconds,
    /// Weight gradients of column-cut linears, behind which tensor-parallel reductions of the backward pass may hide.
    pub column_weight: Seconds,
    /// Forward passes of a reference or a teacher, a part of the forward pass.
    pub beside: Seconds,
    /// Recomputation's part.
    pub recompute: Seconds,
    /// Share of the forward pass that recomputation repeats, its communication included.
    pub repeated: f64,
    /// The host's part: launches that no kernel hides.
    pub host: Seconds,
    /// Layers with routed experts, and what they take.
    pub routed: RoutedTime,
}

impl ComputeTime {
    /// Forward and backward together.
    pub fn total(self) -> Seconds {
        self.forward + self.backward_input + self.backward_weight
    }
}

/// Seconds of one output projection and its loss.
#[derive(Clone, Copy, Default)]
pub(super) struct Head {
    /// How many there are: one, and one for each module of multi-token prediction.
    pub count: f64,
    /// Forward, gradient of the input, gradient of the weight.
    pub products: [f64; 3],
    /// The loss in either pass.
    pub loss: f64,
}

/// The times of a scenario's kernels, computed once and asked for stage by stage.
#[derive(Clone, Debug)]
pub struct Clock {
    rates: Rates,
    /// Times by the kind of layer and by whether it stays in bf16.
    layers: Vec<((LayerKind, bool), LayerTime)>,
    weight: Output,
}

impl Clock {
    /// Times the layers of `scenario`.
    pub fn new(scenario: &Scenario) -> Self {
        let rates = Rates::of(scenario);
        let model = &scenario.model;
        let mut layers: Vec<((LayerKind, bool), LayerTime)> = Vec::new();
        let modules = if model.mtp_modules > 0 { model.module_kinds().to_vec() } else { Vec::new() };
        let plain = scenario.keeps_bf16().then(|| Rates::unquantised(scenario));
        let forms = [(Some(&rates), false), (plain.as_ref(), true)];
        for (rates, bf16) in forms {
            let Some(rates) = rates else { continue };
            for (kind, _) in model.all_kinds().iter().chain(&modules) {
                if !layers.iter().any(|(timed, _)| *timed == (*kind, bf16)) {
                    layers.push(((*kind, bf16), layer_time(scenario, rates, *kind)));
                }
            }
        }
        Self { rates, layers, weight: accumulation(scenario) }
    }

    /// The time of a layer of each of `kinds`, and how many there are.
    pub(super) fn timed<'a>(&'a self, kinds: &'a LayerKinds, bf16: bool) -> impl Iterator<Item = (&'a LayerTime, f64)> {
        kinds.iter().filter_map(move |(kind, count)| {
            let mut layers = self.layers.iter();
            let (_, time) = layers.find(|(timed, _)| *timed == (*kind, bf16))?;
            Some((time, *count as f64))
        })
    }

    /// Layers of `stage` by their mixer and whether they stay in bf16, those of multi-token prediction among them.
    pub(crate) fn mixers_on(scenario: &Scenario, stage: usize) -> Vec<((Mixer, bool), f64)> {
        let by_precision = scenario.by_precision(scenario.layers_of(stage));
        let mut parts: Vec<_> = by_precision.map(|(part, bf16)| (scenario.model.kinds(part), bf16, 1.0)).collect();
        let modules = scenario.modules_on(stage);
        if modules > 0 {
            parts.push((scenario.model.module_kinds(), false, modules as f64));
        }
        let of_part = |(kinds, bf16, times): &(LayerKinds, bool, f64)| {
            kinds.iter().map(|(kind, count)| ((kind.mixer, *bf16), *count as f64 * times)).collect::<Vec<_>>()
        };
        parts.iter().flat_map(of_part).collect()
    }

    /// How weight gradients are written.
    pub(super) fn weight(&self) -> Output {
        self.weight
    }

    /// The rates behind the times.
    pub fn rates(&self) -> &Rates {
        &self.rates
    }

    /// Passes of global stage `stage`.
    pub fn stage(&self, scenario: &Scenario, stage: usize) -> ComputeTime {
        let range = scenario.layers_of(stage);
        let layers = (range.end - range.start) as f64;
        let mut time = ComputeTime::default();
        let mut again = 0.0;
        for (part, bf16) in scenario.by_precision(range) {
            for (layer, count) in self.timed(&scenario.model.kinds(part), bf16) {
                time.add(layer, count);
                let seconds = repeated(scenario, layer, layers) * count;
                again += seconds;
                if layer.routed[0] > 0.0 {
                    time.routed.again += seconds;
                }
            }
        }
        if layers > 0.0 && time.forward.0 > 0.0 {
            time.repeated = again / time.forward.0;
        }
        time.recompute = Seconds(again);
        time.backward_input += time.recompute;
        if stage == 0 {
            self.first(scenario, &mut time);
        }
        self.prediction(scenario, scenario.modules_on(stage), &mut time);
        if stage == scenario.last_stage() {
            self.last(scenario, &mut time);
        }
        // A reference or a teacher computes in the forward pass of the same micro-batch.
        time.beside = time.forward * scenario.forwards_beside();
        time.forward += time.beside;
        time
    }

    /// Embedding and vision tower.
    fn first(&self, scenario: &Scenario, time: &mut ComputeTime) {
        let h = scenario.model.hidden as f64;
        let (forward, backward) = embedding(&self.rates, scenario.tokens_per_rank(), h);
        time.forward += Seconds(forward);
        time.backward_input += Seconds(backward);
        if let Some(vision) = scenario.model.vision.filter(|vision| !vision.is_apart()) {
            let [forward, input, weight] = tower_time(scenario, &self.rates, vision, self.weight);
            time.forward += Seconds(forward);
            time.backward_input += Seconds(input);
            time.backward_weight += Seconds(weight);
        }
    }

    /// Forward and backward seconds of a tower on ranks of its own, for the images that one of its replicas has of a
    /// micro-batch of every replica of the language model.
    pub(crate) fn tower(&self, scenario: &Scenario) -> Option<[f64; 2]> {
        let vision = scenario.model.vision.filter(Vision::is_apart)?;
        let [forward, input, weight] = tower_time(scenario, &self.rates, vision, self.weight);
        Some([forward, input + weight])
    }

    /// Head and loss, once more for each module of multi-token prediction.
    fn last(&self, scenario: &Scenario, time: &mut ComputeTime) {
        let Head { count, products: [forward, input, weight], loss } = self.head(scenario);
        time.forward += Seconds(count * (forward + loss));
        time.backward_input += Seconds(count * (input + loss));
        time.backward_weight += Seconds(count * weight);
    }

    /// One head with its loss.
    pub(super) fn head(&self, scenario: &Scenario) -> Head {
        let (model, t) = (&scenario.model, scenario.layout.tp as f64);
        if model.headless {
            return Head::default();
        }
        let (n, h, v) = (scenario.tokens_per_rank(), model.hidden as f64, model.vocab as f64 / t);
        let loss = loss_bytes(&scenario.software) / 2.0 * n * v / self.rates.elementwise.0;
        let head = |m, n, k, output| plain_gemm(&self.rates, m, n, k, output);
        let trains = |end| {
            let adapter = scenario.adapter.as_ref();
            adapter.is_none_or(|adapter| adapter.saved.contains(&end))
        };
        let weight = if trains(Saved::Head) { head(v, h, n, self.weight) } else { 0.0 };
        let products = [head(n, v, h, Output::Plain), head(n, h, v, Output::Plain), weight];
        Head { count: 1.0 + model.mtp_modules as f64, products, loss }
    }

    /// Kernels of `modules` of multi-token prediction by pass.
    pub(super) fn modules(&self, scenario: &Scenario, modules: u64) -> [f64; 3] {
        let mut time = ComputeTime::default();
        self.prediction(scenario, modules, &mut time);
        let host = time.host.0;
        let [forward, backward] = [host * FORWARD_HOST, host * (1.0 - FORWARD_HOST)];
        [time.forward.0 - forward, time.backward_input.0 - backward, time.backward_weight.0]
    }

    /// Modules of multi-token prediction: their layers and a `2 h x h` projection each.
    fn prediction(&self, scenario: &Scenario, modules: u64, time: &mut ComputeTime) {
        if modules == 0 {
            return;
        }
        let (h, t) = (scenario.model.hidden as f64, scenario.layout.tp as f64);
        let modules = modules as f64;
        for (layer, count) in self.timed(&scenario.model.module_kinds(), false) {
            time.add(layer, modules * count);
        }
        let n = scenario.tokens_per_rank();
        let [forward, input, weight] = linear(&self.rates, n, 2.0 * h, h / t, self.weight);
        time.forward += Seconds(modules * forward);
        time.backward_input += Seconds(modules * input);
        time.backward_weight += Seconds(modules * weight);
    }
}

impl ComputeTime {
    /// Seconds that the host adds to both passes over the routed layers of a stage, whose messages take `exposed`
    /// seconds: a layer is as slow as the slower of GPU and host, `(g⁶ + H⁶)^(1/6)`, pass by pass; or of both
    /// passes together, where a pair of them runs side by side.
    pub fn behind_host(&self, exposed: [Seconds; 2], host: f64, together: bool) -> [Seconds; 2] {
        let RoutedTime { attention, experts: [forward, input, weight], again, .. } = self.routed;
        if together {
            let gpu = attention[0] + forward + attention[1] + input + weight + again;
            let late = self.late(gpu + exposed[0].0 + exposed[1].0, host);
            return [late * FORWARD_HOST, late * (1.0 - FORWARD_HOST)];
        }
        [
            self.late(attention[0] + forward + exposed[0].0, host * FORWARD_HOST),
            self.late(attention[1] + input + weight + again + exposed[1].0, host * (1.0 - FORWARD_HOST)),
        ]
    }

    /// Seconds that `host` seconds of a layer add to `gpu` seconds of all routed ones.
    fn late(&self, gpu: f64, host: f64) -> Seconds {
        let layers = self.routed.layers;
        if layers <= 0.0 {
            return Seconds::ZERO;
        }
        Seconds(layers * added_by_host(paced_by(gpu / layers, host), gpu / layers))
    }

    /// Adds the seconds in which the kernels of each pass wait for their launches.
    pub fn waiting(mut self, [forward, backward]: [Seconds; 2]) -> Self {
        self.forward += forward;
        self.backward_input += backward;
        self.host += forward + backward;
        self
    }

    /// With `host` seconds more where forward pass and both parts of the backward pass are ops of their own: each as
    /// slow as the slower of its kernels, with messages of `exposed` seconds in the first two, and a third of the host.
    pub fn waiting_by_pass(mut self, exposed: [Seconds; 2], host: f64) -> Self {
        let RoutedTime { attention, attention_weight, experts: [forward, input, weight], again, .. } = self.routed;
        let late = |gpu: f64| self.late(gpu, host / 3.0);
        let first = late(attention[0] + forward + exposed[0].0);
        let second = late(attention[1] - attention_weight + input + again + exposed[1].0);
        let third = late(attention_weight + weight);
        self.forward += first;
        self.backward_input += second;
        self.backward_weight += third;
        self.host += first + second + third;
        self
    }

    fn add(&mut self, layer: &LayerTime, count: f64) {
        self.forward += Seconds(count * layer.forward());
        self.backward_input += Seconds(count * layer.backward_input());
        self.backward_weight += Seconds(count * layer.backward_weight());
        self.linear += Seconds(count * layer.linear.iter().sum::<f64>());
        self.attention_forward += Seconds(count * layer.core.0);
        self.attention_backward += Seconds(count * layer.core.1);
        self.attention += Seconds(count * (layer.core.0 + layer.core.1));
        self.column_weight += Seconds(count * layer.column_weight);
        self.host += Seconds(count * layer.host);
        let [forward, input, weight] = layer.routed;
        if forward > 0.0 {
            let routed = &mut self.routed;
            routed.layers += count;
            routed.attention[0] += count * (layer.forward() - forward);
            routed.attention[1] += count * (layer.backward_input() + layer.backward_weight() - input - weight);
            routed.attention_weight += count * (layer.backward_weight() - weight);
            for (sum, seconds) in routed.experts.iter_mut().zip(layer.routed) {
                *sum += count * seconds;
            }
            for (sum, seconds) in routed.shared.iter_mut().zip(layer.shared) {
                *sum += count * seconds;
            }
        }
    }
}

/// Forward seconds of `layer` that the backward pass repeats, on a stage of `layers`.
fn repeated(scenario: &Scenario, layer: &LayerTime, layers: f64) -> f64 {
    let run = &scenario.run;
    let whole = if scenario.software.fsdp && !scenario.software.reentrant {
        layer.forward() - layer.modules.last
    } else {
        layer.forward()
    };
    match run.recomputed() {
        Recompute::None => 0.0,
        Recompute::Full => whole,
        Recompute::Layers(n) => whole * (*n as f64).min(layers) / layers.max(1.0),
        // The partitioner runs the cheapest again first: at most this.
        Recompute::Budget(kept) => whole * (1.0 - kept),
        Recompute::Selective => layer.core.0,
        // All but the core of attention and every second product.
        Recompute::OpSelective => layer.modules.second,
        Recompute::Modules(modules) => modules
            .iter()
            .map(|module| match module {
                Module::Norm => layer.modules.norm,
                Module::Mlp => layer.modules.ffn,
                Module::MoeAct => layer.modules.expert_activation,
                Module::MlaUp => layer.modules.mla_up,
                Module::CoreAttn => layer.core.0,
                // Its host launches the forward pass again too.
                Module::Moe if layer.routed[0] > 0.0 => layer.routed[0],
                Module::Moe => 0.0,
                Module::SharedExperts => layer.modules.shared_experts,
            })
            .sum(),
    }
}

/// Seconds of the updates of a step on one GPU with `stages`: the optimizer (with Muon's products) over its `sharded`
/// elements and the gradients of all it `held`, as often as the weights are updated, and the host once.
pub fn step_end<Q: Quantity>(scenario: &Scenario, rates: &Rates, stages: &[usize], [sharded, held]: [Q; 2]) -> Q {
    let moved = optimizer(rates, scenario.trained_bytes(), scenario.run.optimizer, sharded, held);
    let updated = sharded.value();
    let products = muon::seconds(scenario, rates, stages, updated);
    let steps = if products > 0.0 {
        let matrix = || muon::first_matrix(scenario, stages).unwrap_or(Q::number(0.0));
        Q::added_up(products / updated, matrix).called(MUON) * sharded
    } else {
        Q::number(0.0)
    };
    UPDATES.of::<Q>(scenario.updates()) * (moved + steps) + STEP_END.of::<Q>(rates.end.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, Run};

    fn stage_compute(scenario: &Scenario, stage: usize) -> ComputeTime {
        Clock::new(scenario).stage(scenario, stage)
    }

    fn total(run: &Run) -> f64 {
        let scenario = Scenario::new(run).unwrap();
        let clock = Clock::new(&scenario);
        let stages = 0..scenario.stage_layers.len();
        stages.map(|stage| clock.stage(&scenario, stage).total().0).sum()
    }

    /// No pass can be faster than its FLOPs at the data-sheet peak.
    #[test]
    fn all_stages_together_stay_below_the_peak() {
        for model in ["llama-3.1-8b", "llama-3.1-70b", "deepseek-v3", "mixtral-8x7b"] {
            let run = Run { model: Based::preset(model), ..Run::default() };
            let scenario = Scenario::new(&run).unwrap();
            let per_rank = scenario.model_flops() / scenario.layout.gpus as f64;
            let m = scenario.layout.microbatches as f64;
            let ideal = per_rank * scenario.layout.pp as f64 / m / scenario.gpu.bf16.0;
            assert!(total(&run) > ideal, "{model}");
        }
    }

    /// `(g⁶ + H⁶)^(1/6)` of a layer and pass by hand: of a host that takes 30 s, 10 of them forward, messages of 2
    /// s a layer beside kernels of 1 s cost `10 (1 + 0.3⁶)^(1/6) - 10 (1 + 0.1⁶)^(1/6)`, 1.2 ms.
    #[test]
    fn messages_of_a_layer_cost_nothing_where_its_host_is_slower() {
        let routed = RoutedTime { layers: 2.0, attention: [1.0, 2.0], experts: [1.0; 3], ..RoutedTime::default() };
        let time = ComputeTime { routed, ..ComputeTime::default() };
        let pass = |exposed: f64| {
            let [forward, backward] = time.behind_host([Seconds(exposed), Seconds::ZERO], 30.0, false);
            (2.0 + exposed + forward.0, 4.0 + backward.0)
        };
        let (alone, waiting) = (pass(0.0), pass(4.0));
        assert!((waiting.0 - alone.0 - 2.0 * 1.21e-3).abs() < 1e-4, "{waiting:?} {alone:?}");
        assert_eq!(waiting.1, alone.1);
    }

    #[test]
    fn full_recomputation_adds_the_layers_forward_pass() {
        let mut run = Run::default();
        let scenario = Scenario::new(&run).unwrap();
        let plain = stage_compute(&scenario, 1);
        run.recompute = Recompute::Full;
        let full = stage_compute(&Scenario::new(&run).unwrap(), 1);
        let added = full.backward_input.0 - plain.backward_input.0;
        assert!((added / plain.forward.0 - 1.0).abs() < 1e-9);
        assert!((full.repeated - 1.0).abs() < 1e-9);
    }

    /// Megatron-LM, `attention.py`: `checkpoint_core_attention` runs the core again whichever kernel computes it, and
    /// is on for the granularity "selective" with the module `core_attn`, its default.
    #[test]
    fn selective_recomputation_and_the_module_core_attn_repeat_the_core() {
        for flash_attention in [true, false] {
            let time = |recompute| {
                let run = Run { recompute, flash_attention: Some(flash_attention), ..Run::default() };
                stage_compute(&Scenario::new(&run).unwrap(), 1)
            };
            let selective = time(Recompute::Selective);
            assert_eq!(selective, time(Recompute::Modules(vec![Module::CoreAttn])));
            assert_eq!(selective.recompute, time(Recompute::None).attention_forward);
        }
    }

    #[test]
    fn the_head_makes_the_last_stage_the_slowest() {
        let scenario = Scenario::new(&Run::default()).unwrap();
        let time = |stage| stage_compute(&scenario, stage).total().0;
        assert!(time(3) > 1.2 * time(1));
        assert!(time(0) < 1.05 * time(1));
    }
}
