//! Time of one micro-batch on each global stage: compute and waits, and the simulation's durations from both.

use crate::pipeline::{Durations, Spec};
use crate::run::{Scenario, StageKinds};
use crate::time::{Clock, ComputeTime, routed_host};
use crate::traffic::{Beside, RoutedWindows, StageWaits, StageWindows, Wait, layer_waits, shards};
use crate::units::Seconds;

/// The compute of a stage that its messages may run beside.
pub fn windows(compute: &ComputeTime) -> StageWindows {
    StageWindows {
        column_weight: compute.column_weight,
        attention_forward: compute.attention_forward,
        attention_backward: compute.attention_backward,
        linear: compute.linear,
        forward: compute.forward,
        backward: compute.backward_input + compute.backward_weight,
        routed: RoutedWindows {
            layers: compute.routed.layers,
            attention: compute.routed.attention,
            experts: compute.routed.experts,
            shared: compute.routed.shared,
        },
    }
}

/// The compute that messages of a stage may hide behind, as its schedule runs it: where that cuts the backward pass,
/// weight gradients run some time later, so that no message waits beside them. Source: Transformer Engine and the
/// examples of `DualPipe`, whose `WeightGradStore` puts them off.
fn windows_of(scenario: &Scenario, compute: &ComputeTime) -> StageWindows {
    let whole = windows(compute);
    if !cuts_backward(scenario) {
        return whole;
    }
    StageWindows { column_weight: Seconds::ZERO, backward: compute.backward_input, ..whole }
}

/// True where gradients of inputs and of weights are ops of their own.
pub(super) fn cuts_backward(scenario: &Scenario) -> bool {
    scenario.layout.pp > 1 && scenario.run.schedule.row().splits_backward
}

/// The layers of a stage with what they wait for and with their host, without what `ZeRO` moves.
#[derive(Clone, Copy)]
pub(crate) struct LayerPass {
    pub compute: ComputeTime,
    pub waits: StageWaits,
    /// The compute behind which messages of `ZeRO` may hide: that of one forward and one backward pass that hides no
    /// message of the layers, and the gaps of the host, in which a network sends too.
    pub windows: StageWindows,
    /// Seconds that a forward and a backward pass of two micro-batches take less side by side: their messages, less the
    /// additional time of their host.
    pub saved: PairingChange,
    /// The same compute where the two run side by side: what hides their messages hides none of `ZeRO`.
    pub windows_beside: Option<StageWindows>,
}

/// Share of the layers of `stage` that are routed.
fn routed_share(scenario: &Scenario, stage: usize, kernels: &ComputeTime) -> f64 {
    let range = scenario.layers_of(stage);
    let layers = (range.end - range.start) as f64 + scenario.modules_on(stage) as f64;
    (kernels.routed.layers / layers.max(1.0)).min(1.0)
}

/// Seconds of the forward and of the backward pass that are left when `hidden` of each hide messages. Where more hide
/// behind one than it takes, as messages of experts do that are sent beside both, the rest is taken off the other.
fn left(passes: [Seconds; 2], hidden: [Seconds; 2]) -> [Seconds; 2] {
    let [forward, backward] = [0, 1].map(|pass| (passes[pass] - hidden[pass]).0);
    [forward + backward.min(0.0), backward + forward.min(0.0)].map(|seconds| Seconds(seconds.max(0.0)))
}

/// Change by passes of two micro-batches side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairingChange {
    /// Seconds that their messages are exposed less.
    pub messages: Seconds,
    /// Seconds that their host takes more.
    pub host: Seconds,
    /// Seconds that what `ZeRO` moves is exposed more: messages of experts hide behind the same compute.
    pub shards: Seconds,
}

impl std::ops::Mul<f64> for PairingChange {
    type Output = Self;
    fn mul(self, scale: f64) -> Self {
        Self { messages: self.messages * scale, host: self.host * scale, shards: self.shards * scale }
    }
}

impl PairingChange {
    /// Both together.
    pub fn total(self) -> Seconds {
        self.messages - self.host - self.shards
    }
}

impl LayerPass {
    pub fn of(scenario: &Scenario, clock: &Clock, stage: usize) -> Self {
        let kernels = clock.stage(scenario, stage);
        let cut = cuts_backward(scenario);
        let mut waits = layer_waits(scenario, stage, &windows_of(scenario, &kernels));
        let passes = 1.0 + scenario.forwards_beside();
        if passes > 1.0 {
            for wait in [&mut waits.tp, &mut waits.cp, &mut waits.ep] {
                wait.forward = wait.forward * passes;
            }
        }
        // The device waits for messages of attention between the kernels of the same layers.
        let among_routed = |wait: Beside| wait.exposed() * routed_share(scenario, stage, &kernels);
        let attention = [waits.tp.forward + waits.cp.forward, waits.tp.backward + waits.cp.backward].map(among_routed);
        let exposed = |ep: &Wait| [ep.forward.exposed() + attention[0], ep.backward.exposed() + attention[1]];
        let pairs = scenario.layout.pp > 1 && scenario.run.schedule.overlaps_experts().is_some();
        let wait = |ep: &Wait, overlapped| {
            // Between two counts of tokens the host launches the passes of a pair together.
            kernels.behind_host(exposed(ep), routed_host(scenario, overlapped), overlapped && pairs)
        };
        let mut host = wait(&waits.ep, false);
        if let Some(paired) = waits.ep_paired.filter(|_| scenario.layout.pp == 1) {
            // The first forward and the last backward pass are alone.
            let m = scenario.layout.microbatches.max(1) as f64;
            let share = (m - 1.0) / m;
            waits.ep = waits.ep * (1.0 - share) + paired * share;
            let beside = wait(&paired, true);
            host = [0, 1].map(|pass| host[pass] * (1.0 - share) + beside[pass] * share);
        }
        // Kernels with their host, where messages of experts take `waits` and routed layers `host` in all.
        let launched = |waits: &StageWaits, host: [Seconds; 2], overlapped: bool| {
            let compute = if cut && !overlapped {
                kernels.waiting_by_pass(exposed(&waits.ep), routed_host(scenario, overlapped))
            } else {
                kernels.waiting(host)
            };
            compute.launched(scenario, stage, [waits.forward(), waits.backward()], cut)
        };
        let compute = launched(&waits, host, false);
        // The compute that hides no message of the layers; each of the forward passes gathers.
        let free = |compute: &ComputeTime, waits: &StageWaits| {
            let windows = windows_of(scenario, compute);
            let [forward, backward] = left([windows.forward, windows.backward], waits.hidden());
            StageWindows { forward: forward / passes, backward, ..windows }
        };
        let mut saved = PairingChange::default();
        let windows_beside = waits.ep_paired.filter(|_| pairs).map(|paired| {
            let with_pairs = StageWaits { ep: paired, ..waits };
            let beside = launched(&with_pairs, wait(&paired, true), true);
            saved.messages = waits.ep.exposed() - paired.exposed();
            saved.host = beside.total() - compute.total();
            free(&beside, &with_pairs)
        });
        Self { compute, waits, windows: free(&compute, &waits), saved, windows_beside }
    }

    /// What `ZeRO` moves within a micro-batch: its weights and its gradients, beside passes of one micro-batch and,
    /// where pairs run, beside those of two.
    pub fn shards(&self, scenario: &Scenario, stage: usize) -> [Option<[Wait; 2]>; 2] {
        [Some(self.windows), self.windows_beside].map(|windows| {
            let (mut weights, gradients) = shards(scenario, stage, &windows?);
            weights.forward = weights.forward * (1.0 + scenario.forwards_beside());
            Some([weights, gradients])
        })
    }
}

/// Seconds that `beside` is exposed more than `alone`.
pub(crate) fn exposed_more(alone: [Wait; 2], beside: Option<[Wait; 2]>) -> Seconds {
    let exposed = |waits: [Wait; 2]| waits[0].exposed() + waits[1].exposed();
    beside.map_or(Seconds::ZERO, |beside| exposed(beside) - exposed(alone))
}

/// Compute of one micro-batch on one global stage, and what it waits for.
#[derive(Clone, Copy)]
pub(super) struct Pass {
    pub compute: ComputeTime,
    pub waits: StageWaits,
    /// Change by passes of two micro-batches side by side.
    pub saved: PairingChange,
    /// Weights and gradients of `ZeRO` where two micro-batches run side by side.
    pub shards_beside: Option<[Wait; 2]>,
    /// Data that the stage loads before its forward pass.
    pub loading: Seconds,
}

impl Pass {
    /// The passes of every global stage.
    pub fn all(scenario: &Scenario, clock: &Clock) -> Vec<Self> {
        (0..scenario.stage_layers.len()).map(|stage| Self::of(scenario, clock, stage)).collect()
    }
    pub fn of(scenario: &Scenario, clock: &Clock, stage: usize) -> Self {
        let layers = LayerPass::of(scenario, clock, stage);
        let [alone, shards_beside] = layers.shards(scenario, stage);
        let LayerPass { compute, waits, mut saved, .. } = layers;
        let [zero3, gradients] = alone.unwrap_or_default();
        saved.shards = exposed_more([zero3, gradients], shards_beside);
        let loading = Seconds(if stage == 0 { scenario.run.loader_stage_s } else { 0.0 });
        Self { waits: StageWaits { zero3, gradients, ..waits }, compute, saved, shards_beside, loading }
    }
    pub fn forward(&self) -> Seconds {
        self.loading + self.compute.forward + self.waits.forward()
    }
    pub fn backward(&self) -> Seconds {
        self.compute.backward_input + self.compute.backward_weight + self.waits.backward()
    }
    pub fn exposed(&self) -> Seconds {
        self.waits.forward() + self.waits.backward()
    }
    pub fn total(&self) -> Seconds {
        self.forward() + self.backward()
    }
}

/// Seconds of one micro-batch, forward and backward: of what the first stage does beside its layers, of every layer,
/// and of what the last stage does beside its own.
pub(crate) fn layer_seconds(scenario: &Scenario) -> Vec<f64> {
    of_layers(scenario, |pass| pass.total().0)
}

/// Seconds of one micro-batch in the order of [`layer_seconds`], each as forward pass, gradient of the input and
/// gradient of the weight.
pub(crate) fn layer_passes(scenario: &Scenario) -> Vec<[f64; 3]> {
    of_layers(scenario, |pass| {
        let backward = pass.compute.backward_input + pass.waits.backward();
        [pass.forward().0, backward.0, pass.compute.backward_weight.0]
    })
}

fn of_layers<T: Clone>(scenario: &Scenario, seconds: impl Fn(&Pass) -> T) -> Vec<T> {
    let mut apart = scenario.clone();
    apart.stage_layers = vec![1; usize::try_from(scenario.model.layers).unwrap_or(0)];
    apart.stage_layers.insert(0, 0);
    apart.stage_layers.push(0);
    apart.mtp_stage = apart.last_stage();
    let clock = Clock::new(&apart);
    StageKinds::new(&apart).each(|stage| seconds(&Pass::of(&apart, &clock, stage)))
}

/// Durations of the simulation: what a pass waits for is part of it.
pub(super) fn durations(scenario: &Scenario, passes: &[Pass], spec: &Spec) -> Durations {
    let pieces = f64::from(spec.pieces());
    let times = |seconds: fn(&Pass) -> Seconds| passes.iter().map(|pass| seconds(pass).0 / pieces).collect();
    let pairs = passes.iter().any(|pass| pass.saved != PairingChange::default());
    let send = passes.iter().map(|pass| pass.waits.send.0).fold(0.0, f64::max);
    let durations = Durations {
        forward: times(Pass::forward),
        backward_input: times(|pass| pass.compute.backward_input + pass.waits.backward()),
        backward_weight: times(|pass| pass.compute.backward_weight),
        pair: pairs.then(|| times(|pass| pass.total() - pass.saved.total())),
        p2p: send / pieces,
        microbatch_scale: None,
    };
    let usual = scenario.run.seq_len as f64 * scenario.run.micro_batch as f64;
    let of_lengths = |lengths: &Vec<u64>| lengths.iter().map(|length| *length as f64 / usual).collect();
    let lengths = scenario.run.microbatch_lengths.as_ref();
    let Some(scale) = scenario.scale.clone().or_else(|| lengths.map(of_lengths)) else {
        return durations;
    };
    let repeat = spec.pieces() as usize;
    let scale: Vec<f64> = scale.into_iter().flat_map(|factor| std::iter::repeat_n(factor, repeat)).collect();
    if scale.iter().all(|factor| *factor == 1.0) {
        return durations;
    }
    durations.with_microbatch_scale(scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, Run};

    fn passes(run: &Run) -> Vec<Pass> {
        let scenario = Scenario::new(run).unwrap();
        Pass::all(&scenario, &Clock::new(&scenario))
    }

    /// A second of compute hides one second of messages, however many kinds wait for it.
    #[test]
    fn messages_hide_behind_no_more_compute_than_there_is() {
        let mut run = Run {
            model: Based::preset("mixtral-8x7b"),
            gpus: 256,
            tp: 2,
            cp: 2,
            ep: 4,
            zero: 3,
            global_batch: 512,
            ..Run::default()
        };
        (run.overlap.tp, run.overlap.cp, run.overlap.ep, run.overlap.dp) = (Some(1.0), Some(1.0), Some(1.0), Some(1.0));
        for inter in [1.0, 10.0, 100.0, 1000.0] {
            run.gpu.parts.inter = Some(inter);
            for pp in [1, 2] {
                run.pp = pp;
                for pass in passes(&run) {
                    let [forward, backward] = pass.waits.hidden();
                    let (hidden, compute) = (forward + backward, pass.compute.total());
                    assert!(
                        hidden.0 > 0.0 && hidden.0 <= compute.0 * (1.0 + 1e-9),
                        "{inter} {pp}: {hidden:?} {compute:?}"
                    );
                }
            }
        }
    }
}
