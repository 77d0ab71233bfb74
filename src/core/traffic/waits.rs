//! Waits of one micro-batch on a stage: tensor-, context- and expert-parallel messages and the pieces of `ZeRO`,
//! against the compute of that stage that runs meanwhile.
//!
//! Hidden is at most the share that the Run gives of the window ([`Beside`]). Gradients and `ZeRO` weights run on the
//! same multiprocessors and memory as the compute they hide behind, which slows it by [`CONTENTION`](super::CONTENTION)
//! of every hidden second.

use super::beside::{Beside, CONTENTION, RoutedWindows, StageWindows, Wait};
use super::calls;
use super::collective::Fabric;
use super::dispatch::{DISPATCHERS, element_bytes, is_once_a_node, once_a_node};
use super::shards::{repeated, shards};
use super::volume::{
    boundary_bytes, clone_bytes, context_bytes, exchanged_bytes, expert_bytes, gathered_share, handed_on, layer_block,
    routed_layers, stage_message,
};
use crate::cluster::{ParallelAxis, RankGroup};
use crate::run::{CpComm, EpOverlap, Module, Recompute, Scenario, TpOverlap};
use crate::units::{Bytes, Seconds};

/// Everything that one micro-batch waits for on a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageWaits {
    /// Tensor parallel.
    pub tp: Wait,
    /// Context parallel.
    pub cp: Wait,
    /// Expert parallel.
    pub ep: Wait,
    /// Expert parallel, beside a pass of another micro-batch where the software overlaps the two.
    pub ep_paired: Option<Wait>,
    /// ZeRO-3 weights.
    pub zero3: Wait,
    /// Gradients that ZeRO-2 and 3 reduce every micro-batch or group of them, a micro-batch's share.
    pub gradients: Wait,
    /// One send to the next stage.
    pub send: Seconds,
}

impl StageWaits {
    fn list(&self) -> [&Wait; 5] {
        [&self.tp, &self.cp, &self.ep, &self.zero3, &self.gradients]
    }
    /// Wait of the forward pass.
    pub fn forward(&self) -> Seconds {
        self.list().into_iter().map(|wait| wait.forward.exposed()).sum()
    }
    /// Wait of the backward pass.
    pub fn backward(&self) -> Seconds {
        self.list().into_iter().map(|wait| wait.backward.exposed()).sum()
    }
    /// Compute of the forward and of the backward pass that hides messages.
    pub fn hidden(&self) -> [Seconds; 2] {
        let sum = |pass: fn(&Wait) -> Beside| self.list().into_iter().map(|wait| pass(wait).hidden()).sum();
        [sum(|wait| wait.forward), sum(|wait| wait.backward)]
    }
    /// Seconds by which the traffic beside it slows compute, in both passes.
    pub fn slows(&self) -> Seconds {
        self.list().into_iter().map(|wait| wait.both().slows).sum()
    }
}

/// The waits of one micro-batch on global stage `stage`.
pub fn stage_waits(scenario: &Scenario, stage: usize, windows: &StageWindows) -> StageWaits {
    let (zero3, gradients) = shards(scenario, stage, windows);
    StageWaits { zero3, gradients, ..layer_waits(scenario, stage, windows) }
}

/// The waits of one micro-batch on global stage `stage`, without those for what `ZeRO` moves.
pub(crate) fn layer_waits(scenario: &Scenario, stage: usize, windows: &StageWindows) -> StageWaits {
    let fabric = Fabric::of(scenario);
    let range = scenario.layers_of(stage);
    let layers = (range.end - range.start) as f64;
    let again = 1.0 + repeated(scenario.run.recomputed(), layers);
    let mesh = scenario.layout.mesh();
    let hop = Bytes(
        handed_on(scenario, stage)
            .map(|states| boundary_bytes(scenario, states as f64))
            .into_iter()
            .fold(0.0, f64::max),
    );
    let modules = matches!(scenario.run.recomputed(), Recompute::Modules(list) if list.contains(&Module::Moe));
    let routed_again = if modules { 2.0 } else { again };
    let messages = Messages { scenario, stage, windows, fabric: &fabric };
    let waits = StageWaits { tp: tensor(&messages, again), cp: context(&messages, again), ..StageWaits::default() };
    let (ep, ep_paired) = experts(&messages, routed_again, waits.hidden());
    StageWaits { ep, ep_paired, send: fabric.send(mesh.link(ParallelAxis::Pp), hop), ..waits }
}

/// The messages of a micro-batch on a stage, and what runs beside them.
struct Messages<'a> {
    scenario: &'a Scenario,
    stage: usize,
    windows: &'a StageWindows,
    fabric: &'a Fabric,
}

/// Tensor parallel: two pairs of messages a layer and pass (one where a layer's FFN is routed), the embedding's and the
/// head's. Reductions of the backward pass run beside the weight gradients of the column-cut linears; the others are
/// alone, or run beside the linears where the software cuts both into chunks.
fn tensor(&Messages { scenario, stage, windows, fabric }: &Messages, again: f64) -> Wait {
    let layout = &scenario.layout;
    if layout.tp <= 1 {
        return Wait::default();
    }
    let group = layout.mesh().group(ParallelAxis::Tp);
    let message = stage_message(scenario);
    let pairs = calls::stage_pairs(scenario, stage);
    let ends = fabric.gather(group, message) * calls::model_ends(scenario, stage);
    let [gathers, reductions] = if layout.sequence_parallel {
        [message * gathered_share(scenario), message].map(|bytes| fabric.gather(group, bytes) * pairs)
    } else {
        [fabric.all_reduce(group, message) * (0.5 * pairs); 2]
    };
    let forward = gathers + reductions;
    let software = &scenario.software;
    let share = software.overlap.tp;
    let reduced = Beside::new(reductions, windows.column_weight, share, 0.0);
    // In as many chunks as ranks, each behind the product of the chunk before: the first is alone.
    // PyTorch's copies take memory bandwidth and multiprocessors from the products, userbuffers' kernels are tuned not
    // to.
    let tax = match scenario.tp_overlap() {
        TpOverlap::AsyncTp => CONTENTION.value,
        TpOverlap::None | TpOverlap::Userbuffers => 0.0,
    };
    let pass = |comm: Seconds| match scenario.tp_overlap() {
        TpOverlap::None => Beside::alone(comm),
        TpOverlap::AsyncTp | TpOverlap::Userbuffers => {
            let first = comm / layout.tp as f64;
            Beside::alone(first) + Beside::new(comm - first, windows.linear / 3.0, share, tax)
        }
    };
    Wait {
        bytes: calls::tensor(scenario, stage).bytes(),
        forward: pass(forward) + Beside::alone(ends),
        backward: pass(forward) * (again - 1.0) + pass(gathers) + Beside::alone(ends) + reduced,
        ..Wait::default()
    }
}

/// Context parallel. Ring: `c - 1` blocks of keys and values, each behind the attention of the block before; the
/// gradients travel too in the backward pass. All-gather and Ulysses run before attention and after it.
fn context(&Messages { scenario, stage, windows, fabric }: &Messages, again: f64) -> Wait {
    let layout = &scenario.layout;
    if layout.cp <= 1 {
        return Wait::default();
    }
    let group = layout.mesh().group(ParallelAxis::Cp);
    let (steps, c) = ((layout.cp - 1) as f64, layout.cp as f64);
    let model = &scenario.model;
    let kinds = scenario.kinds_on(stage);
    let cores = kinds.iter();
    let cores = cores.filter(|(kind, _)| model.attention_heads(kind.mixer).is_some());
    let layers = cores.map(|(_, count)| *count as f64).sum::<f64>();
    let (mut forward, mut backward) = (Beside::default(), Beside::default());
    for (kind, count) in kinds.iter() {
        let count = *count as f64;
        let exchange = match model.attention_heads(kind.mixer) {
            Some(_) => scenario.run.cp_comm,
            // Recurrent mixers go from parts of the sequence to heads and back.
            None => CpComm::Ulysses,
        };
        let (there, back) = match exchange {
            // Ranks of a group exchange heads, and a ring of the groups hands blocks on. In the plain ring a group is
            // one rank, which exchanges nothing.
            CpComm::Ring | CpComm::Hierarchical => {
                let near = if exchange == CpComm::Ring { 1 } else { scenario.exchange_ranks() };
                let (u, groups) = (near as f64, c / near as f64);
                let inner = RankGroup { size: near, in_node: near.min(group.in_node) };
                let bytes = exchanged_bytes(scenario, kind.mixer, near);
                let sent = if near > 1 { Bytes(bytes.0 / 8.0 * u / (u - 1.0)) } else { Bytes(0.0) };
                let within = Beside::alone(fabric.all_to_all(inner, sent) * (4.0 * count));
                let block = layer_block(scenario, kind.mixer);
                let share = scenario.software.overlap.cp;
                let pass = |factor: f64, window: Seconds| {
                    let send = fabric.send(group.link(), block * factor);
                    let each = window / (groups * layers.max(1.0));
                    within + Beside::new(send, each, share, 0.0) * ((groups - 1.0) * count)
                };
                (pass(1.0, windows.attention_forward), pass(2.0, windows.attention_backward))
            }
            CpComm::AllGather => {
                let gathered = layer_block(scenario, kind.mixer) * c;
                let one = fabric.gather(group, gathered) * count;
                (Beside::alone(one), Beside::alone(one * 2.0))
            }
            CpComm::Ulysses => {
                let bytes = context_bytes::<f64>(scenario, kind.mixer, 1.0);
                let pass = Bytes(bytes / 8.0 * c / steps);
                let one = fabric.all_to_all(group, pass) * (4.0 * count);
                (Beside::alone(one), Beside::alone(one))
            }
        };
        forward = forward + there;
        backward = backward + back;
    }
    let bytes = calls::context(scenario, stage).bytes();
    Wait { bytes, forward, backward: forward * (again - 1.0) + backward, ..Wait::default() }
}

/// Expert parallel: dispatch and combine, forward and backward, the busiest rank's; and the same beside the passes of
/// another micro-batch. Of the compute of the two passes, `taken` hides other messages.
fn experts(messages: &Messages, again: f64, taken: [Seconds; 2]) -> (Wait, Option<Wait>) {
    let &Messages { scenario, stage, windows, fabric } = messages;
    let (layout, software) = (&scenario.layout, &scenario.software);
    let routed = routed_layers(scenario, stage);
    if layout.ep <= 1 || routed <= 0.0 {
        return (Wait::default(), None);
    }
    let [dispatch, combine] = dispatch_and_combine(scenario, fabric);
    let pass = (dispatch + combine) * routed;
    let bytes = calls::experts(scenario, stage).bytes();
    // Clones are planned with the counts of the tokens, and hide behind nothing yet (the list of what is open in
    // Megatron-LM's pull request 2368 has it).
    let group = layout.mesh().group(ParallelAxis::Ep);
    let copied = |forwards, backwards| {
        let sent = Bytes(clone_bytes::<f64>(scenario, forwards, backwards));
        if sent.0 > 0.0 { Beside::alone(fabric.all_to_all(group, sent) * routed) } else { Beside::default() }
    };
    let (cloned, returned) = (copied(1.0, 0.0), copied(again - 1.0, 1.0));
    let wait =
        |forward, backward| Wait { bytes, forward: forward + cloned, backward: backward + returned, ..Wait::default() };
    if let Some(share) = software.overlap.ep {
        // On some of the multiprocessors of the passes beside them.
        let window = (windows.forward + windows.backward - taken[0] - taken[1]).max(Seconds::ZERO);
        let both = Beside::new(pass * (1.0 + again), window, share, DISPATCHERS.value);
        let forward = 1.0 / (1.0 + again);
        return (wait(both * forward, both * (1.0 - forward)), None);
    }
    let alone = if scenario.run.shared_expert_overlap {
        // Their first product beside the dispatch, their second beside the combine. Source: Megatron-LM
        // `shared_experts.py`.
        let [forward, backward] = windows.routed.shared.map(Seconds);
        let behind = |window: Seconds| Beside::new(pass, window, 1.0, DISPATCHERS.value);
        wait(behind(forward), behind(backward) + behind(forward) * (again - 1.0))
    } else {
        wait(Beside::alone(pass), Beside::alone(pass * again))
    };
    if software.ep_overlap == EpOverlap::None {
        return (alone, None);
    }
    let [combine_back, dispatch_there, dispatch_back, combine_there] =
        pair(scenario, &windows.routed, taken, [dispatch, combine]);
    let [forward, backward] = [dispatch_there + combine_there, combine_back + dispatch_back].map(|one| one * routed);
    (alone, Some(wait(forward, backward + Beside::alone(pass * (again - 1.0)))))
}

/// Seconds of dispatch and combine of one routed layer in a pass.
fn dispatch_and_combine(scenario: &Scenario, fabric: &Fabric) -> [Seconds; 2] {
    let layout = &scenario.layout;
    let (there, back) = element_bytes(scenario);
    let both = there + back;
    [there / both, back / both].map(|share| {
        let group = layout.mesh().group(ParallelAxis::Ep);
        let sent = expert_bytes::<f64>(scenario, 1.0) * share;
        if let Some(moe) = scenario.model.moe.filter(|_| is_once_a_node(scenario)) {
            let copies = once_a_node::<f64>(moe, group);
            let each = sent / copies.total();
            fabric.once_a_node(Bytes(each * copies.crossing), Bytes(each * copies.inside))
        } else {
            let e = layout.ep as f64;
            fabric.all_to_all(group, Bytes(sent * e / (e - 1.0)))
        }
    })
}

/// Messages of a routed layer's forward pass (dispatch and combine) and of the backward pass of another micro-batch
/// beside it, in the order in which they run, each behind what runs meanwhile: combine backward behind attention
/// forward, dispatch forward behind the experts' backward pass, dispatch backward behind their forward pass (and their
/// weight gradients, where those wait), combine forward behind attention backward. A hidden second takes
/// multiprocessors from the kernels beside it. Source: Megatron-LM `model_chunk_schedule_plan.py` `run`,
/// `combined_1f1b.py`.
fn pair(
    scenario: &Scenario,
    routed: &RoutedWindows,
    taken: [Seconds; 2],
    [dispatch, combine]: [Seconds; 2],
) -> [Beside; 4] {
    let each = |seconds: f64| Seconds(seconds / routed.layers.max(1.0));
    let left = |pass: usize| each((routed.attention[pass] - taken[pass].0).max(0.0));
    let (attention, attention_backward) = (left(0), left(1));
    let [forward, input, weight] = routed.experts.map(each);
    let delayed = scenario.software.delay_wgrad;
    let late = if delayed { weight } else { Seconds::ZERO };
    let behind = |message, window| Beside::new(message, window, 1.0, DISPATCHERS.value);
    [
        behind(dispatch, attention),
        behind(dispatch, input + weight - late),
        behind(combine, forward + late),
        behind(combine, attention_backward),
    ]
}

/// The four windows of a routed layer of stage `stage` in a pair of passes, as [`pair`] orders them; none where no
/// pairs run or no expert's message is sent. Of the compute of the two passes, `taken` hides other messages.
pub(crate) fn paired_windows(
    scenario: &Scenario,
    stage: usize,
    windows: &StageWindows,
    taken: [Seconds; 2],
) -> Option<[Beside; 4]> {
    let software = &scenario.software;
    let sends = scenario.layout.ep > 1 && routed_layers(scenario, stage) > 0.0;
    if !sends || software.ep_overlap == EpOverlap::None || software.overlap.ep.is_some() {
        return None;
    }
    Some(pair(scenario, &windows.routed, taken, dispatch_and_combine(scenario, &Fabric::of(scenario))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, Run};

    fn windows(seconds: f64) -> StageWindows {
        let one = Seconds(seconds);
        StageWindows {
            column_weight: one,
            attention_forward: one,
            attention_backward: one,
            linear: one,
            forward: one,
            backward: one,
            routed: RoutedWindows::default(),
        }
    }

    fn waits(run: &Run, seconds: f64) -> StageWaits {
        stage_waits(&Scenario::new(run).unwrap(), 0, &windows(seconds))
    }

    #[test]
    fn nothing_is_sent_where_a_size_is_one() {
        let mut run = Run::default();
        (run.tp, run.pp, run.gpus, run.zero) = (1, 1, 1, 3);
        let alone = waits(&run, 1.0);
        assert_eq!(alone.forward() + alone.backward(), Seconds::ZERO);
        assert_eq!(alone.send, Seconds::ZERO);
    }

    #[test]
    fn exposed_is_between_nothing_and_all_and_a_wider_window_never_shows_more() {
        let mut run = Run::default();
        (run.tp, run.cp, run.pp, run.zero) = (2, 2, 2, 3);
        let mut before = waits(&run, 0.0);
        for wait in before.list() {
            let comm = wait.both().comm.0;
            assert!((wait.exposed().0 - comm).abs() <= 1e-12 * comm);
        }
        for seconds in [1e-4, 1e-3, 1e-2, 0.1] {
            let now = waits(&run, seconds);
            for (wait, earlier) in now.list().iter().zip(before.list()) {
                assert!(wait.exposed().0 >= 0.0 && wait.exposed().0 <= wait.both().comm.0 + 1e-12);
                assert!(wait.exposed().0 <= earlier.exposed().0 + 1e-12);
            }
            before = now;
        }
    }

    #[test]
    fn experts_pay_for_their_all_to_all_and_for_imbalance() {
        let mut run = Run { model: Based::preset("mixtral-8x7b"), tp: 1, ep: 8, ..Run::default() };
        let even = waits(&run, 0.0).ep;
        run.moe_imbalance = Some(2.0);
        let uneven = waits(&run, 0.0).ep;
        let (even, uneven) = (even.both().comm.0, uneven.both().comm.0);
        assert!(even > 0.0 && uneven > 1.9 * even);
    }
}
