//! Bytes that one GPU sends, by kind of parallelism.
//!
//! Source: ring collectives send `(n-1)/n` of the gathered size, an all-reduce twice that (NCCL performance notes); who
//! sends what follows Megatron Core. Activations travel in the precision of the passes; the formulas
//! beside the figures are in bf16.

use super::dispatch::{Copies, element_bytes, is_once_a_node, once_a_node};
use super::kind::Traffic;
use crate::cluster::{Link, ParallelAxis, RankGroup};
use crate::explain::Quantity;
use crate::explain::symbols::{
    CLONES, CONTEXT, CROSSING, ELEMENT, ELEMENT_BACK, ELEMENT_GATHERED, ELEMENT_THERE, EXCHANGE_RANKS, EXPERT_RANKS,
    GATHERED, HIDDEN, INSIDE, KEY_WIDTH, LATENT_WIDTH, MIXER_WIDTH, ONE_EXPERT, QUERY_WIDTH, REDUCED, SENT_IMBALANCE,
    TENSOR, TOKENS, TOP_K,
};
use crate::model::{Architecture, Heads, LayerKind, Mixer};
use crate::run::presets::Trainer;
use crate::run::{AttentionKernel, CpComm, Scenario};
use crate::units::{Bytes, BytesPerSecond};

/// `(n - 1)/n`: the share of a tensor that a ring collective over `n` ranks sends from each.
pub(super) fn ring<Q: Quantity>(n: Q) -> Q {
    (n - Q::number(1.0)) / n
}

/// Bytes that one GPU of a global stage sends for one micro-batch in its layers, once forward and once backward.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MicrobatchTraffic {
    /// Tensor parallel: 4 all-gathers and 4 reduce-scatters (or 4 all-reduces) of `T h` a layer: `16 T h (t-1)/t`; in
    /// fp8 gathers take half of their half (`quantised_gather`).
    pub tp: Bytes,
    /// Context parallel: keys and values around the ring forward, again with their gradients backward:
    /// `12 T w (c-1)` with w the width of the keys on a rank, `max(k/t, 1) d`; Ulysses `8 T (a d/t + w) (c-1)/c`.
    pub cp: Bytes,
    /// Expert parallel: dispatch and combine, forward and backward: `8 K T h/t (e-1)/e` times the imbalance; once a
    /// node
    /// `8 (X + I) T h/t` with X copies over the network and I inside nodes; an fp8 dispatch takes half of its half.
    pub ep: Bytes,
    /// Pipeline: the output to the next stage and the gradient to the one before, `2 T h` each, over t with sequence
    /// parallelism; behind modules of multi-token prediction that are on a stage of their own, once for each more.
    pub pp: Bytes,
}

/// Traffic of one micro-batch on global stage `stage`.
pub fn microbatch_traffic(scenario: &Scenario, stage: usize) -> MicrobatchTraffic {
    let kinds = scenario.kinds_on(stage);
    let pairs: f64 = kinds.iter().map(|(kind, n)| *n as f64 * tensor_pairs(&scenario.model, *kind)).sum();
    let cp = kinds.iter().map(|(kind, n)| *n as f64 * context_bytes::<f64>(scenario, kind.mixer, 1.0)).sum();
    MicrobatchTraffic {
        tp: Bytes(tensor_bytes(scenario, pairs, 0.0)),
        cp: Bytes(cp),
        ep: Bytes(
            expert_bytes(scenario, 2.0 * routed_layers(scenario, stage))
                + clone_bytes(scenario, routed_layers(scenario, stage), routed_layers(scenario, stage)),
        ),
        pp: Bytes(boundary_bytes(scenario, handed_on(scenario, stage).iter().sum::<u64>() as f64)),
    }
}

/// Hidden states of a micro-batch on a rank, `b T h`, bytes.
fn hidden<Q: Quantity>(scenario: &Scenario) -> Q {
    moved::<Q>(scenario) * HIDDEN.of::<Q>(scenario.model.hidden)
}

/// A number for every token of a micro-batch on a rank, `b T`, bytes.
fn moved<Q: Quantity>(scenario: &Scenario) -> Q {
    ELEMENT.of::<Q>(scenario.precision.computes.activation()) * TOKENS.of::<Q>(scenario.tokens_per_rank())
}

/// A number for every token of a micro-batch as context-parallel ranks send it for attention, bytes: what a kernel in
/// fp8 reads and writes travels in the format of its recipe.
fn attended<Q: Quantity>(scenario: &Scenario) -> Q {
    let recipe = scenario.precision.recipe.filter(|_| scenario.software.attention == AttentionKernel::Fp8);
    let bytes = recipe.map_or(scenario.precision.computes.activation(), |recipe| recipe.attended);
    ELEMENT.of::<Q>(bytes) * TOKENS.of::<Q>(scenario.tokens_per_rank())
}

/// Bytes of the tensor-parallel group in `passes` over layers, of which one with half of the messages counts half, and
/// over the `ends` of the model, which gather or scatter once a pass.
pub(crate) fn tensor_bytes<Q: Quantity>(scenario: &Scenario, passes: Q, ends: Q) -> Q {
    let ring = ring(TENSOR.of::<Q>(scenario.layout.tp));
    let Some(gathered) = quantised_gather(scenario) else {
        return hidden::<Q>(scenario) * (passes * 4.0 + ends) * ring;
    };
    let scattered = ELEMENT.of::<Q>(scenario.precision.computes.activation());
    let states = TOKENS.of::<Q>(scenario.tokens_per_rank()) * HIDDEN.of::<Q>(scenario.model.hidden);
    (passes * 2.0 * (ELEMENT_GATHERED.of::<Q>(gathered) + scattered) + scattered * ends) * states * ring
}

/// Bytes of an element that an all-gather of tensor and sequence parallelism moves where it is quantised before: the
/// input of a column-cut linear forward, the gradient of a row-cut one's output backward. None where they are sent as
/// they are. Sources: Transformer Engine 0004dbd, `module/linear.py` (`gather_along_first_dim` after the cast),
/// `distributed.py` of later releases for the other recipes; torchao 0e0fba8, `float8_tensor_parallel.py`, which
/// "assumes tensorwise scaling".
pub(crate) fn quantised_gather(scenario: &Scenario) -> Option<f64> {
    let recipe = scenario.precision.recipe.filter(|_| scenario.layout.sequence_parallel && scenario.layout.tp > 1)?;
    let casts = match scenario.run.stack.preset_row().trainer {
        Trainer::Megatron => true,
        Trainer::Torchtitan => recipe.per_tensor,
        _ => false,
    };
    casts.then_some(recipe.element)
}

/// Bytes that an all-gather of a layer moves for a micro-batch's hidden states, as a share of [`stage_message`].
pub(crate) fn gathered_share(scenario: &Scenario) -> f64 {
    quantised_gather(scenario).map_or(1.0, |element| element / scenario.precision.computes.activation())
}

/// Bytes that `passes` over layers with routed experts send to them and back.
pub(crate) fn expert_bytes<Q: Quantity>(scenario: &Scenario, passes: Q) -> Q {
    let (Some(moe), layout) = (scenario.model.moe, &scenario.layout) else {
        return Q::number(0.0);
    };
    let (there, back) = element_bytes(scenario);
    let copies = if is_once_a_node(scenario) {
        let Copies { crossing, inside } = once_a_node::<Q>(moe, layout.mesh().group(ParallelAxis::Ep));
        crossing.called(CROSSING) + inside.called(INSIDE)
    } else {
        TOP_K.of::<Q>(moe.top_k) * ring(EXPERT_RANKS.of::<Q>(layout.ep))
    };
    let bytes = ELEMENT_THERE.of::<Q>(there) + ELEMENT_BACK.of::<Q>(back);
    let width = LATENT_WIDTH.of::<Q>(moe.input(scenario.model.hidden));
    let rows = TOKENS.of::<Q>(scenario.tokens_per_rank()) * width * SENT_IMBALANCE.of::<Q>(scenario.imbalance());
    bytes * passes * copies * rows / TENSOR.of::<Q>(layout.tp)
}

/// Bytes that a rank sends for the clones of experts: their weights in `forwards` forward passes over routed layers,
/// their gradients back in `backwards` backward passes. Source: Megatron-LM pull request 2368 (the planner copies
/// weights in every forward pass, gradients of the clones are added to those of the expert).
pub(crate) fn clone_bytes<Q: Quantity>(scenario: &Scenario, forwards: Q, backwards: Q) -> Q {
    let (Some(slots), Some(elements)) = (scenario.clones(), expert_elements(scenario)) else {
        return Q::number(0.0);
    };
    let moved = GATHERED.of::<Q>(scenario.gathered_weight()) * forwards
        + REDUCED.of::<Q>(scenario.reduced_gradient()) * backwards;
    CLONES.of::<Q>(slots) * ONE_EXPERT.of::<Q>(elements) * moved
}

/// Parameters of one routed expert on a rank: `3 h f` over the ranks that cut it, `2 h f` where it is not gated.
pub(crate) fn expert_elements(scenario: &Scenario) -> Option<f64> {
    let (model, moe) = (&scenario.model, scenario.model.moe?);
    let matrices = if model.gated_ffn { 3 } else { 2 };
    Some((matrices * moe.input(model.hidden) * moe.expert_ffn) as f64 / scenario.layout.etp as f64)
}

/// Hidden states of a micro-batch that a stage sends to the next one, and gradients of them to the one before: the
/// first stage sends no gradient, the last no state.
pub(crate) fn handed_on(scenario: &Scenario, stage: usize) -> [u64; 2] {
    if scenario.layout.pp <= 1 {
        return [0; 2];
    }
    let forward = if stage < scenario.last_stage() { scenario.states_sent(stage) } else { 0 };
    let backward = stage.checked_sub(1).map_or(0, |before| scenario.states_sent(before));
    [forward, backward]
}

/// Hidden states and gradients that `stage` sends to other ranks where its rank has `stages`: at the turn of a V two
/// neighbours are on one rank. A rank of two directions has its stages in different pipelines.
pub(crate) fn sent_states(scenario: &Scenario, stages: &[usize], stage: usize) -> [u64; 2] {
    let one_direction = stages.len() as u64 <= scenario.chunks;
    let here = |other: Option<usize>| one_direction && other.is_some_and(|other| stages.contains(&other));
    let [forward, backward] = handed_on(scenario, stage);
    [if here(stage.checked_add(1)) { 0 } else { forward }, if here(stage.checked_sub(1)) { 0 } else { backward }]
}

/// Bytes of `states` between two stages in one direction, outputs or gradients.
pub(crate) fn boundary_bytes<Q: Quantity>(scenario: &Scenario, states: Q) -> Q {
    let bytes = hidden::<Q>(scenario) * states;
    if scenario.layout.sequence_parallel { bytes / TENSOR.of::<Q>(scenario.layout.tp) } else { bytes }
}

/// Pairs of tensor-parallel messages of a layer and pass: one a mixer, one a dense FFN or shared experts. A routed FFN
/// gathers and scatters its tokens over the experts instead.
pub(crate) fn tensor_pairs(model: &Architecture, kind: LayerKind) -> f64 {
    let shared = kind.ffn.is_routed() && model.moe.is_some_and(|moe| moe.shared_experts > 0);
    let ffn = kind.ffn.is_dense() || shared;
    f64::from(u8::from(kind.mixer != Mixer::None) + u8::from(ffn))
}

/// Layers of global stage `stage` that route tokens to experts.
pub(crate) fn routed_layers(scenario: &Scenario, stage: usize) -> f64 {
    let kinds = scenario.kinds_on(stage);
    let routed = kinds.iter().filter(|(kind, _)| kind.ffn.is_routed());
    routed.map(|(_, count)| *count as f64).sum()
}

/// Bytes that one layer with `mixer` sends in the context-parallel group in `forwards` forward passes and one backward
/// pass.
///
/// A state-space model or linear attention goes from a part of the sequence to a part of its heads and back: what its
/// convolution reads and what it returns, `b T w (c - 1)/c` a pass. Source: Megatron-LM `mamba_context_parallel.py`.
pub(crate) fn context_bytes<Q: Quantity>(scenario: &Scenario, mixer: Mixer, forwards: Q) -> Q {
    let (model, layout) = (&scenario.model, &scenario.layout);
    let (t, c) = (TENSOR.of::<Q>(layout.tp), CONTEXT.of::<Q>(layout.cp));
    let passes = forwards + Q::number(1.0);
    // Keys and values, and in the backward pass as much again of their gradients.
    let blocks = forwards * 2.0 + Q::number(4.0);
    if let Some(width) = recurrent_width(model, mixer, layout.cp * layout.tp) {
        return moved::<Q>(scenario) * MIXER_WIDTH.of::<Q>(width) * passes / t * ring(c);
    }
    let Some(heads) = scenario.attended(mixer) else {
        return Q::number(0.0);
    };
    let (moved, kv) = (attended::<Q>(scenario), KEY_WIDTH.of::<Q>(key_width(heads, layout.tp)));
    match scenario.run.cp_comm {
        CpComm::Ring | CpComm::AllGather => moved * kv * (c - Q::number(1.0)) * blocks,
        CpComm::Ulysses => moved * (QUERY_WIDTH.of::<Q>(query_width(heads)) / t + kv) * passes * 2.0 * ring(c),
        // Both levels: what `u` ranks exchange, and the blocks of `c/u` groups, as long as before: u times the tokens
        // of a u-th of the heads. Source: Fang and Zhao 2024 (USP), section 3.
        CpComm::Hierarchical => {
            let near = EXCHANGE_RANKS.of::<Q>(scenario.exchange_ranks());
            let exchanged = (QUERY_WIDTH.of::<Q>(query_width(heads)) / t + kv) * passes * 2.0 * ring(near);
            moved * exchanged + moved * kv * (c / near - Q::number(1.0)) * blocks
        }
    }
}

/// Bytes that one layer with `mixer` exchanges heads for tokens with, among `ranks`, forward and backward.
pub(super) fn exchanged_bytes(scenario: &Scenario, mixer: Mixer, ranks: u64) -> Bytes {
    let width = scenario
        .attended(mixer)
        .map_or(0.0, |heads| query_width(heads) / scenario.layout.tp as f64 + key_width(heads, scenario.layout.tp));
    Bytes(attended::<f64>(scenario) * width * 4.0 * ring(ranks as f64))
}

/// Widths that a recurrent mixer exchanges, there and back; groups of fewer heads than ranks are repeated.
fn recurrent_width(model: &Architecture, mixer: Mixer, ranks: u64) -> Option<f64> {
    Some(match mixer {
        Mixer::Mamba => {
            let mamba = model.mamba?;
            let repeats = ranks.div_ceil(mamba.groups.max(1)).max(1);
            let shared = 2 * mamba.groups * mamba.state;
            (mamba.projected() + shared * (repeats - 1) + mamba.inner()) as f64
        }
        Mixer::DeltaNet => {
            let delta_net = model.delta_net?;
            (2 * delta_net.keys() + 3 * delta_net.values() + 2 * delta_net.value_heads) as f64
        }
        Mixer::Kda => {
            let kda = model.kda?;
            (5 * kda.inner() + kda.heads) as f64
        }
        _ => return None,
    })
}

/// Mean width of queries and of attention's output over all heads.
fn query_width(heads: Heads) -> f64 {
    f64::midpoint(heads.queries() as f64, heads.output() as f64)
}

/// Mean width of keys and values on one of `tp` ranks, which has a head at least.
fn key_width(heads: Heads, tp: u64) -> f64 {
    let whole = heads.key_value * (heads.qk + heads.value);
    whole as f64 / 2.0 / tp.min(heads.key_value).max(1) as f64
}

/// Bytes of one micro-batch's hidden states on a rank: what a tensor-parallel message gathers or reduces, `2 T h`.
pub(crate) fn stage_message(scenario: &Scenario) -> Bytes {
    Bytes(hidden(scenario))
}

/// Bytes of one block of keys and values of a layer with `mixer` on its way round a ring, `4 T w` with w the width of
/// the keys on a rank.
pub(crate) fn layer_block(scenario: &Scenario, mixer: Mixer) -> Bytes {
    let heads = scenario.attended(mixer);
    let width = heads.map_or(0.0, |heads| key_width(heads, scenario.layout.tp));
    Bytes(2.0 * attended::<f64>(scenario) * width)
}

/// The largest such block of any layer.
pub(crate) fn ring_block(scenario: &Scenario) -> Bytes {
    let kinds = scenario.model.all_kinds();
    let blocks = kinds.iter().map(|(kind, _)| layer_block(scenario, kind.mixer));
    blocks.fold(Bytes(0.0), |most, one| if one.0 > most.0 { one } else { most })
}

/// Mean width of keys and values on a tensor-parallel rank, which has a head at least; of the widest layers.
pub(crate) fn rank_key_width(scenario: &Scenario) -> f64 {
    ring_block(scenario).0 / (2.0 * attended::<f64>(scenario))
}

/// The bandwidth of a wire, one direction, per GPU, by the data sheet.
pub fn bandwidth(scenario: &Scenario, link: Link) -> BytesPerSecond {
    match link {
        Link::Intra => scenario.gpu.intra,
        Link::Inter => scenario.gpu.inter,
    }
}

/// Bandwidth of a ring over `group` by the data sheets: it leaves each node over the cards of all its members there,
/// and is no faster than the scale-up link.
pub fn ring_bandwidth(scenario: &Scenario, group: RankGroup) -> BytesPerSecond {
    let gpu = &scenario.gpu;
    let cards = BytesPerSecond(gpu.inter.0 * group.in_node as f64);
    if group.nodes() == 1 || cards.0 > gpu.intra.0 { gpu.intra } else { cards }
}

/// The bandwidth by the data sheets that the playbook's ratio of `traffic` is taken at: of the ring, or of one send.
pub(crate) fn sheet_bandwidth(scenario: &Scenario, traffic: Traffic) -> BytesPerSecond {
    let mesh = scenario.layout.mesh();
    match traffic {
        Traffic::Dp | Traffic::Zero3 => ring_bandwidth(scenario, mesh.shard_group(scenario.zero.shard)),
        Traffic::Tp => ring_bandwidth(scenario, mesh.group(ParallelAxis::Tp)),
        Traffic::Pp => bandwidth(scenario, mesh.link(ParallelAxis::Pp)),
        Traffic::Cp => bandwidth(scenario, mesh.link(ParallelAxis::Cp)),
        Traffic::Ep => bandwidth(scenario, mesh.link(ParallelAxis::Ep)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;
    use crate::traffic::calls;

    /// Playbook, section on tensor parallelism: `8 L T h (t-1)/t` elements a GPU.
    #[test]
    fn tensor_parallel_volume_is_what_the_playbook_counts() {
        let scenario = Scenario::new(&Run::default()).unwrap();
        let traffic = microbatch_traffic(&scenario, 0);
        let playbook = 8.0 * 8.0 * 8192.0 * 4096.0 * 0.5 * 2.0;
        assert!((traffic.tp.0 / playbook - 1.0).abs() < 1e-12);
    }

    /// Gathers move what Transformer Engine has cast, scatters two bytes: `(8 + 4 g) T h (t-1)/t` a layer with g bytes
    /// an element of the recipe. torchao casts before the gather with one scale a tensor alone; an all-reduce is never
    /// cast.
    #[test]
    fn gathers_move_quantised_states() {
        let a_layer = |stack: &'static str, precision: &'static str, sequence_parallel: bool| {
            let mut run = Run { gpus: 8, tp: 8, pp: 1, sequence_parallel, ..Run::default() };
            run.gpu = crate::run::Based::preset("b200-sxm");
            run.stack = crate::run::Based::preset(stack);
            run.precision = crate::run::Based::preset(precision);
            let scenario = Scenario::new(&run).unwrap();
            let states = (run.micro_batch * run.seq_len * scenario.model.hidden * scenario.model.layers) as f64;
            let sent = microbatch_traffic(&scenario, 0).tp.0 / states / (7.0 / 8.0);
            // What is on the wire is what is counted: gathers and scatters of the layers, four of the ends.
            let posted = calls::tensor(&scenario, 0).bytes().0 / states / (7.0 / 8.0);
            let ends = 4.0 * 2.0 / scenario.model.layers as f64;
            assert!((posted - ends - sent).abs() < 1e-9, "{stack} {precision}: {posted}, {sent}");
            sent
        };
        for (stack, precision, sequence_parallel, bytes) in [
            ("megatron-2026", "bf16", true, 16.0),
            ("megatron-2026", "fp8-current", true, 12.0),
            ("megatron-2026", "mxfp8", true, 12.125),
            ("megatron-2026", "nvfp4", true, 10.25),
            ("megatron-2026", "fp8-current", false, 16.0),
            ("torchtitan", "fp8-current", true, 12.0),
            ("torchtitan", "mxfp8", true, 16.0),
        ] {
            let ours = a_layer(stack, precision, sequence_parallel);
            assert!((ours / bytes - 1.0).abs() < 1e-9, "{stack} {precision}: {ours} of {bytes}");
        }
    }

    /// Llama-3.1-70B has 8 key-value heads of 128: at tp 16 a block is still that of one head, `4 T d`.
    #[test]
    fn a_block_of_the_ring_holds_a_head_at_least() {
        let block = |tp| {
            let run = Run { model: crate::run::Based::preset("llama-3.1-70b"), gpus: 256, tp, cp: 2, ..Run::default() };
            ring_block(&Scenario::new(&run).unwrap()).0
        };
        assert_eq!((block(8), block(16)), (4.0 * 4096.0 * 128.0, 4.0 * 4096.0 * 128.0));
    }

    /// Transformer Engine, `AttnFuncWithCPAndQKVOA2A`: with delayed scaling every tensor travels as `torch.uint8`; with
    /// current scaling the output and the gradients of queries, keys and values in 16 bits, which are as wide as the
    /// rest.
    #[test]
    fn attention_in_fp8_is_exchanged_in_fp8_where_its_scale_is_known() {
        use crate::run::Based;
        let sent = |precision, attention| {
            let mut run =
                Run { cp: 2, cp_comm: CpComm::Ulysses, precision: Based::preset(precision), ..Run::default() };
            run.stack.parts.attention = Some(attention);
            microbatch_traffic(&Scenario::new(&run).unwrap(), 0).cp.0
        };
        let plain = sent("fp8-delayed", AttentionKernel::Cudnn);
        assert_eq!(sent("fp8-delayed", AttentionKernel::Fp8), plain / 2.0);
        assert_eq!(sent("fp8-current", AttentionKernel::Fp8), plain * 0.75);
    }

    #[test]
    fn a_size_of_one_sends_nothing() {
        let mut run = Run::default();
        (run.gpus, run.tp, run.pp) = (1, 1, 1);
        let scenario = Scenario::new(&run).unwrap();
        assert_eq!(microbatch_traffic(&scenario, 0), MicrobatchTraffic::default());
    }
}
