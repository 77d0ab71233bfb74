//! Every schedule, one row.

use super::families::{
    chimera, controllable, dualpipe, flush, interleaved, sequence, slots, zb_auto, zb_v, zb_v_auto,
    zero_bubble,
};
use super::order::Order;
use super::papers;
use super::registry::{Make, Schedule, Stages};
use super::spec::Spec;
use crate::issue::Issue;
use crate::source;

fn no_warnings(_: &Spec) -> Vec<Issue> {
    Vec::new()
}

fn no_order(_: &Spec) -> Result<Order, Issue> {
    Err(Issue::error("order", "a custom schedule needs an order"))
}

/// What a row says unless it says otherwise.
const ROW: Schedule = Schedule {
    id: "",
    name: "",
    idea: "",
    cost: "",
    needs: "",
    options: &[],
    virtual_stages: Some(1),
    stages: Stages::Ranks,
    splits_backward: false,
    uses_durations: false,
    source: &source::GPIPE,
    fill: None,
    make: Make::Always(flush::naive),
    warn: no_warnings,
};

/// The rows, in the order of a menu.
pub static SCHEDULES: &[Schedule] = &[
    Schedule {
        id: "naive",
        name: "Naive",
        idea: "One micro-batch crosses all ranks forward and backward before the next enters.",
        cost: "All ranks but one idle at any time: p − 1 times the work.",
        needs: "Nothing; the baseline that the others improve on.",
        source: &source::PLAYBOOK,
        make: Make::Always(flush::naive),
        ..ROW
    },
    Schedule {
        id: "gpipe",
        name: "GPipe",
        idea: "All forwards, then all backwards.",
        cost: "Idle (p − 1)/m of the work; every micro-batch's activations are held at once.",
        needs: "Memory for m micro-batches, or full recomputation.",
        source: &source::GPIPE,
        make: Make::Always(flush::gpipe),
        ..ROW
    },
    Schedule {
        id: "1f1b",
        name: "1F1B",
        idea: "After a short warm-up each rank alternates one forward and one backward.",
        cost: "GPipe's bubble, but rank r holds p − r micro-batches at most; waits for every transfer.",
        needs: "Micro-batches enough to fill the pipeline: m ≥ p, better many times p.",
        source: &source::NARAYANAN_2021,
        make: Make::Always(flush::one_f_one_b),
        warn: flush::warn_few_microbatches,
        ..ROW
    },
    Schedule {
        id: "eager-1f1b",
        name: "Eager 1F1B",
        idea: "1F1B with twice the warm-up, so that transfers run behind computation.",
        cost: "1F1B's bubble without its latency; up to 2(p − 1 − r) + 1 micro-batches on rank r.",
        needs: "About twice the activation memory of 1F1B.",
        source: &source::NARAYANAN_2021,
        make: Make::Always(flush::eager),
        ..ROW
    },
    Schedule {
        id: "interleaved-1f1b",
        name: "Interleaved 1F1B",
        idea: "Each rank holds v chunks of the model, so that the fill of the pipeline is v times shorter.",
        cost: "Bubble (p − 1)/(v m); (p − 1)/(p v) more activations and v times the transfers.",
        needs: "Layers that divide by p v; micro-batches in groups of at least p.",
        options: &["group"],
        virtual_stages: None,
        stages: Stages::Chunks,
        source: &source::NARAYANAN_2021,
        make: Make::Sometimes(interleaved::interleaved),
        warn: interleaved::warn_group,
        ..ROW
    },
    Schedule {
        id: "looped-bfs",
        name: "Looped breadth-first",
        idea: "All micro-batches through chunk after chunk, then back.",
        cost: "Interleaving's bubble with GPipe's memory; weights are gathered once a chunk.",
        needs: "m ≥ p, else extra stalls; suits fully sharded weights.",
        virtual_stages: None,
        stages: Stages::Chunks,
        source: &papers::BREADTH_FIRST,
        make: Make::Always(interleaved::looped_bfs),
        ..ROW
    },
    Schedule {
        id: "pipedream",
        name: "PipeDream",
        idea: "1F1B that never flushes: the next step's micro-batches follow at once.",
        cost: "No bubble in the steady state; p − r versions of the weights on rank r, stale gradients.",
        needs: "Asynchronous training. Shown is one step's worth, filled and drained.",
        source: &source::PIPEDREAM,
        make: Make::Always(flush::pipedream),
        ..ROW
    },
    Schedule {
        id: "pipedream-2bw",
        name: "PipeDream-2BW",
        idea: "PipeDream with gradients accumulated over m micro-batches, so that two versions suffice.",
        cost: "No bubble in the steady state; two copies of the weights, gradients one step late.",
        needs: "m ≥ p. Shown is one step's worth, filled and drained.",
        source: &papers::PIPEDREAM_2BW,
        make: Make::Always(flush::pipedream_2bw),
        warn: flush::warn_2bw,
        ..ROW
    },
    Schedule {
        id: "chimera",
        name: "Chimera",
        idea: "Two pipelines in opposite directions fill each other's bubbles.",
        cost: "Total bubble (D − 2)/(2N + D − 2) for equal forward and backward; two copies of the weights.",
        needs: "An even number of ranks and of micro-batches, best in multiples of the ranks.",
        options: &["variant"],
        source: &papers::CHIMERA,
        make: Make::Sometimes(chimera::chimera),
        warn: chimera::warn,
        ..ROW
    },
    Schedule {
        id: "hanayo",
        name: "Hanayo",
        idea: "The model folded into waves over the ranks: Chimera's bubble with one copy of the weights.",
        cost: "Total bubble (P − 1)/(2WP + P − 1) for equal forward and backward; 4W(P − 1) transfers.",
        needs: "Layers for 2 W P stages; micro-batches in units of P.",
        options: &["waves"],
        virtual_stages: None, // 2 · waves
        stages: Stages::Waves,
        source: &papers::HANAYO,
        make: Make::Always(slots::hanayo),
        warn: slots::notice_units,
        ..ROW
    },
    Schedule {
        id: "zb-h1",
        name: "ZB-H1",
        idea: "1F1B with the backward cut in two, weight gradients filling the gaps.",
        cost: "Bubble (p − 1)(tF + tB − tW); p micro-batches held on every rank.",
        needs: "A backward that can be cut.",
        splits_backward: true,
        source: &papers::ZERO_BUBBLE,
        make: Make::Always(zero_bubble::h1),
        ..ROW
    },
    Schedule {
        id: "zb-h2",
        name: "ZB-H2",
        idea: "ZB-H1 with twice the warm-up, so that no rank waits between its first and last op.",
        cost: "Up to 2p − 1 micro-batches on every rank; the start-up skew remains.",
        needs: "m ≥ 2p − 1; an optimizer step that does not synchronise at its start.",
        splits_backward: true,
        source: &papers::ZERO_BUBBLE,
        make: Make::Always(zero_bubble::h2),
        warn: zero_bubble::warn_h2,
        ..ROW
    },
    Schedule {
        id: "zb-auto",
        name: "ZB automatic",
        idea: "Zero bubble laid out from the real durations within a memory limit.",
        cost: "The less memory, the more bubble: 1F1B's memory at limit p, next to no idle span at 2p.",
        needs: "Durations of F, B and W that are known and steady.",
        options: &["memory_limit"],
        splits_backward: true,
        uses_durations: true,
        source: &papers::ZERO_BUBBLE,
        make: Make::Timed(zb_auto::zb_auto),
        ..ROW
    },
    Schedule {
        id: "interleaved-zb1p",
        name: "Interleaved zero bubble",
        idea: "Interleaved 1F1B with the backward cut in two, weight gradients filling the gaps.",
        cost: "Bubble (p − 1)(tF + tB − tW) of a chunk; p v chunks held on every rank.",
        needs: "A backward that can be cut; PyTorch wants m to divide into rounds.",
        virtual_stages: None,
        stages: Stages::Chunks,
        splits_backward: true,
        source: &papers::TORCH_PIPELINING,
        make: Make::Sometimes(interleaved::zero_bubble),
        warn: |spec| interleaved::warn_rounds(spec).into_iter().collect(),
        ..ROW
    },
    Schedule {
        id: "zb-v",
        name: "ZB-V",
        idea: "Two chunks a rank in a V: zero bubble in the memory of 1F1B.",
        cost: "No idle time inside a rank's span for tF = tB = tW; 2p chunks held on every rank.",
        needs: "Two chunks a rank, m ≥ 2p − 1, equal tF, tB and tW.",
        virtual_stages: Some(2),
        stages: Stages::TwoEach,
        splits_backward: true,
        source: &papers::CONTROLLABLE,
        fill: Some(|p| p.saturating_mul(2)),
        make: Make::Always(zb_v::zb_v),
        ..ROW
    },
    Schedule {
        id: "zb-v-auto",
        name: "ZB-V automatic",
        idea: "ZB-V laid out from the real durations within a memory limit.",
        cost: "2p chunks on a rank by default, as ZB-V.",
        needs: "Two chunks a rank; durations of F, B and W that are known and steady.",
        options: &["memory_limit"],
        virtual_stages: Some(2),
        stages: Stages::TwoEach,
        splits_backward: true,
        uses_durations: true,
        source: &papers::CONTROLLABLE,
        make: Make::Timed(zb_v_auto::zb_v_auto),
        ..ROW
    },
    Schedule {
        id: "v-half",
        name: "V-Half",
        idea: "A V of two chunks whose lifetimes are balanced: half the activations of 1F1B.",
        cost: "About half of 1F1B's bubble for equal tF, tB and tW; 2(⌊p/2⌋ + 1) chunks held.",
        needs: "Two chunks a rank, near-equal tF, tB and tW.",
        virtual_stages: Some(2),
        stages: Stages::TwoEach,
        splits_backward: true,
        source: &papers::CONTROLLABLE,
        make: Make::Always(controllable::v_half),
        ..ROW
    },
    Schedule {
        id: "v-min",
        name: "V-Min",
        idea: "A V of two chunks with the least activations: a third of 1F1B's.",
        cost: "About two thirds of 1F1B's bubble for equal times, more where they differ; 2⌈(p + 2)/3⌉ chunks held.",
        needs: "Two chunks a rank, near-equal tF, tB and tW.",
        virtual_stages: Some(2),
        stages: Stages::TwoEach,
        splits_backward: true,
        source: &papers::CONTROLLABLE,
        make: Make::Always(controllable::v_min),
        ..ROW
    },
    Schedule {
        id: "dualpipe",
        name: "DualPipe",
        idea: "Both directions at once, forward and backward overlapped in pairs that hide expert communication.",
        cost: "Bubble (p/2 − 1)(F&B + B − 3W); two copies of the weights, p + 1 micro-batches held.",
        needs: "Even p, even m, m ≥ 2p; a fused forward-backward block.",
        virtual_stages: Some(2),
        splits_backward: true,
        source: &papers::DUALPIPE,
        make: Make::Sometimes(dualpipe::dualpipe),
        warn: dualpipe::warn,
        ..ROW
    },
    Schedule {
        id: "dualpipev",
        name: "DualPipeV",
        idea: "DualPipe cut in half: the V of two chunks a rank, without the second copy of the weights.",
        cost: "Bubble (p − 1)(F&B + B − 3W) of a chunk; 2p + 1 chunks held.",
        needs: "m ≥ 2p, two chunks a rank; a fused forward-backward block.",
        virtual_stages: Some(2),
        stages: Stages::TwoEach,
        splits_backward: true,
        source: &papers::DUALPIPE,
        make: Make::Sometimes(dualpipe::dualpipev),
        warn: dualpipe::warn,
        ..ROW
    },
    Schedule {
        id: "1f1b-overlap",
        name: "1F1B with overlap",
        idea: "Forward and backward of two micro-batches run as one block, hiding expert communication.",
        cost: "About twice 1F1B's activations; no second copy of the weights.",
        needs: "A fused forward-backward block; mixture-of-experts models gain.",
        source: &papers::PP_VISUALIZATION,
        make: Make::Always(flush::overlap),
        ..ROW
    },
    Schedule {
        id: "interleaved-overlap",
        name: "Interleaved with overlap",
        idea: "Interleaved 1F1B whose steady state runs forward and backward as one block.",
        cost: "One chunk more in flight than interleaved 1F1B.",
        needs: "A fused forward-backward block; m a multiple of p.",
        virtual_stages: None,
        stages: Stages::Chunks,
        source: &source::MEGATRON,
        make: Make::Sometimes(interleaved::overlap),
        warn: interleaved::warn_short_group,
        ..ROW
    },
    Schedule {
        id: "seq1f1b",
        name: "Seq1F1B",
        idea: "1F1B over pieces of each sequence.",
        cost: "Bubble (p − 1)(tF + tBW)/c; p − r + c − 1 pieces held on rank r.",
        needs: "Causal attention; pieces of equal work.",
        options: &["splits"],
        source: &papers::SEQ1F1B,
        make: Make::Always(sequence::seq1f1b),
        ..ROW
    },
    Schedule {
        id: "terapipe",
        name: "TeraPipe",
        idea: "GPipe over pieces of each sequence.",
        cost: "Bubble (p − 1)(tF + tBW)/c; all m c pieces held.",
        needs: "Causal attention; pieces of equal work.",
        options: &["splits"],
        source: &papers::TERAPIPE,
        make: Make::Always(sequence::terapipe),
        ..ROW
    },
    Schedule {
        id: "custom",
        name: "Custom order",
        idea: "An order of your own, token by token.",
        cost: "Whatever it costs: it is simulated like the others.",
        needs: "Every stage runs every micro-batch forward and backward; it must not dead-lock.",
        options: &["order"],
        virtual_stages: None,
        stages: Stages::Order,
        source: &papers::TORCH_PIPELINING,
        make: Make::Sometimes(no_order),
        ..ROW
    },
];
