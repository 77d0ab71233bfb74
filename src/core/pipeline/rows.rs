//! Every schedule, one row: its idea, cost and requirements, the programs that run it, and its order.

use super::families::{
    chimera, controllable, custom, dualpipe, flush, hanayo, interleaved, optimal, sequence, slots, zb_auto, zb_v,
    zb_v_auto, zero_bubble,
};
use super::order::StagePlacement;
use super::registry::{Make, ScheduleInfo, Spec, StageCount};
use crate::issue::Issue;
use crate::run::Schedule as Kind;
use crate::run::presets::Trainer::{self, DeepSeek, DeepSpeed, MaxText, Megatron, Nanotron, PyTorch, Torchtitan};
use crate::source;

fn no_warnings(_: &Spec) -> Vec<Issue> {
    Vec::new()
}

/// The defaults of a row.
const ROW: ScheduleInfo = ScheduleInfo {
    kind: Kind::Naive,
    idea: "",
    cost: "",
    needs: "",
    source: &source::PLAYBOOK,
    software: &[],
    options: &[],
    virtual_stages: Some(1),
    stages: StageCount::Ranks,
    placement: StagePlacement::Loop,
    copies: |_, _| 1,
    splits_backward: false,
    uses_durations: false,
    work: 1,
    endless: false,
    fill: None,
    make: Make::Always(flush::naive),
    warn: no_warnings,
};

/// The defaults of a V of two chunks a rank with a split backward.
const V_SHAPE: ScheduleInfo = ScheduleInfo {
    virtual_stages: Some(2),
    stages: StageCount::TwoEach,
    placement: StagePlacement::Snake,
    splits_backward: true,
    ..ROW
};

/// The rows, in the order of a menu.
pub static SCHEDULES: &[ScheduleInfo] = &[
    ScheduleInfo {
        kind: Kind::Naive,
        idea: "One micro-batch crosses all ranks forward and backward before the next enters.",
        cost: "All ranks but one idle at any time: p − 1 times the work.",
        needs: "Nothing; the baseline that the others improve on.",
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::Gpipe,
        idea: "All forwards, then all backwards.",
        cost: "Idle (p − 1)/m of the work; every micro-batch's activations are held at once.",
        needs: "Memory for m micro-batches, or full recomputation.",
        source: &source::GPIPE,
        software: &[(Torchtitan, "GPipe"), (PyTorch, "GPipe"), (Nanotron, "afab"), (MaxText, "")],
        make: Make::Always(flush::gpipe),
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::OneFOneB,
        idea: "After a short warm-up each rank alternates one forward and one backward.",
        cost: "GPipe's bubble, but rank r holds p − r micro-batches at most; waits for every transfer.",
        needs: "Micro-batches enough to fill the pipeline: m ≥ p, better many times p.",
        source: &source::NARAYANAN_2021,
        software: &[(Megatron, ""), (Torchtitan, "1F1B"), (PyTorch, "1F1B"), (DeepSpeed, ""), (Nanotron, "1f1b")],
        make: Make::Always(flush::one_f_one_b),
        warn: flush::warn_few_microbatches,
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::Eager,
        idea: "1F1B with twice the warm-up, so that transfers run behind computation.",
        cost: "1F1B's bubble without its latency; up to 2(p − 1 − r) + 1 micro-batches on rank r.",
        needs: "About twice the activation memory of 1F1B.",
        source: &source::NARAYANAN_2021,
        make: Make::Always(flush::eager),
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::Interleaved,
        idea: "Each rank holds v chunks of the model, so that its fill is v times shorter where \
            chunks take equal time.",
        cost: "Bubble (p − 1)/(v m); (p − 1)/(p v) more activations and v times the transfers.",
        needs: "Layers that divide by p v; micro-batches in groups of at least p.",
        source: &source::NARAYANAN_2021,
        software: &[(Megatron, ""), (Torchtitan, "Interleaved1F1B"), (PyTorch, "Interleaved1F1B")],
        options: &["group"],
        virtual_stages: None,
        stages: StageCount::Chunks,
        make: Make::Sometimes(interleaved::interleaved, interleaved::has_whole_groups),
        warn: interleaved::warn_group,
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::LoopedBfs,
        idea: "All micro-batches through chunk after chunk, then back.",
        cost: "Interleaving's bubble with GPipe's memory; weights are gathered once a chunk.",
        needs: "m ≥ p, else extra stalls; suits fully sharded weights.",
        source: &source::BREADTH_FIRST,
        software: &[(Torchtitan, "LoopedBFS"), (PyTorch, "LoopedBFS"), (MaxText, "num_pipeline_repeats")],
        virtual_stages: None,
        stages: StageCount::Chunks,
        make: Make::Always(interleaved::looped_bfs),
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::Pipedream,
        idea: "1F1B that never flushes: the next step's micro-batches follow at once.",
        cost: "No bubble in the steady state; p − r versions of the weights on rank r, stale gradients.",
        needs: "Asynchronous training. The timeline draws one step, filled and drained; the figures are the steady \
            state's.",
        source: &source::PIPEDREAM,
        endless: true,
        copies: flush::stashed,
        make: Make::Always(flush::one_f_one_b),
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::Pipedream2bw,
        idea: "PipeDream with gradients accumulated over m micro-batches, so that two versions suffice.",
        cost: "No bubble in the steady state; two copies of the weights, gradients one step late.",
        needs: "m ≥ p. The timeline draws one step, filled and drained; the figures are the steady state's.",
        source: &source::PIPEDREAM_2BW,
        endless: true,
        copies: |_, _| 2,
        make: Make::Always(flush::one_f_one_b),
        warn: flush::warn_2bw,
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::Chimera,
        idea: "Two pipelines in opposite directions fill each other's bubbles.",
        cost: "Total bubble (D − 2)/(2N + D − 2) for equal forward and backward; two copies of the weights.",
        needs: "An even number of ranks and of micro-batches, best in multiples of the ranks.",
        source: &source::CHIMERA,
        options: &["variant"],
        placement: StagePlacement::Bidirectional,
        copies: |_, _| 2,
        make: Make::Sometimes(chimera::chimera, |_| false),
        warn: chimera::warn,
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::Hanayo,
        idea: "The model folded into waves over the ranks: one wave is Chimera of twice the ranks folded onto them, \
            with one copy of the weights.",
        cost: "Total bubble of P micro-batches (P − 1)/(2WP + P − 1) for equal forward and backward: with one wave \
            more than Chimera's, with two less from P = 4 on; 4W(P − 1) transfers.",
        needs: "Layers for 2 W P stages; micro-batches in units of P, which overlap; up to P micro-batches held on \
            every rank.",
        source: &source::HANAYO,
        options: &["waves"],
        virtual_stages: None, // 2 · waves
        stages: StageCount::Waves,
        placement: StagePlacement::Snake,
        make: Make::Always(hanayo::hanayo),
        warn: slots::notice_units,
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::ZbH1,
        idea: "1F1B with the backward cut in two, weight gradients filling the gaps.",
        cost: "Bubble (p − 1)(tF + tB − tW); p micro-batches held on every rank.",
        needs: "A backward that can be cut.",
        source: &source::ZERO_BUBBLE,
        splits_backward: true,
        make: Make::Always(zero_bubble::h1),
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::ZbH2,
        idea: "ZB-H1 with twice the warm-up: where F, B and W take equal time and messages none, no rank waits between \
            its first and last op.",
        cost: "Up to 2p − 1 micro-batches on every rank; the start-up skew remains.",
        needs: "m ≥ 2p − 1; an optimizer step that does not synchronise at its start.",
        source: &source::ZERO_BUBBLE,
        splits_backward: true,
        make: Make::Always(zero_bubble::h2),
        warn: zero_bubble::warn_h2,
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::ZbAuto,
        idea: "Forwards and both halves of each backward laid out from the real durations within a memory limit.",
        cost: "The less memory, the more bubble: 1F1B's memory at limit p, next to no idle span at 2p.",
        needs: "Durations of F, B and W that are known and steady.",
        source: &source::ZERO_BUBBLE,
        options: &["memory_limit"],
        splits_backward: true,
        uses_durations: true,
        make: Make::Timed(zb_auto::zb_auto),
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::InterleavedZb,
        idea: "Interleaved 1F1B with the backward cut in two, weight gradients filling the gaps.",
        cost: "Bubble (p − 1)(tF + tB − tW) of a chunk; p v chunks held on every rank.",
        needs: "A backward that can be cut; PyTorch wants m to divide into rounds.",
        source: &source::TORCH_PIPELINING,
        software: &[(Torchtitan, "InterleavedZeroBubble"), (PyTorch, "InterleavedZeroBubble")],
        virtual_stages: None,
        stages: StageCount::Chunks,
        splits_backward: true,
        make: Make::Sometimes(interleaved::zero_bubble, |_| false),
        warn: |spec| interleaved::warn_rounds(spec).into_iter().collect(),
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::ZbV,
        idea: "Two chunks per rank in a V, with the activations of 1F1B: where F, B and W take equal time and messages \
            none, no rank waits between its first and last op.",
        cost: "No idle time inside a rank's span for tF = tB = tW; 2p chunks held on every rank.",
        needs: "Two chunks per rank, m ≥ 2p − 1, equal tF, tB and tW.",
        source: &source::CONTROLLABLE,
        software: &[(Torchtitan, "ZBVZeroBubble"), (PyTorch, "ZBVZeroBubble")],
        fill: Some(|p| p.saturating_mul(2)),
        make: Make::Always(zb_v::zb_v),
        ..V_SHAPE
    },
    ScheduleInfo {
        kind: Kind::ZbVAuto,
        idea: "ZB-V laid out from the real durations within a memory limit.",
        cost: "2p chunks on a rank by default, as ZB-V.",
        needs: "Two chunks per rank; durations of F, B and W that are known and steady.",
        source: &source::CONTROLLABLE,
        options: &["memory_limit"],
        uses_durations: true,
        make: Make::Timed(zb_v_auto::zb_v_auto),
        ..V_SHAPE
    },
    ScheduleInfo {
        kind: Kind::VHalf,
        idea: "A V of two chunks whose lifetimes are balanced: on many ranks about half the activations of 1F1B.",
        cost: "About half of 1F1B's bubble for equal tF, tB and tW; 2(⌊p/2⌋ + 1) chunks held.",
        needs: "Two chunks per rank, near-equal tF, tB and tW.",
        source: &source::CONTROLLABLE,
        make: Make::Always(controllable::v_half),
        ..V_SHAPE
    },
    ScheduleInfo {
        kind: Kind::VMin,
        idea: "A V of two chunks with the least activations: on many ranks about a third of 1F1B's.",
        cost: "About two thirds of 1F1B's bubble for equal times, more where they differ; \
            2⌈(p + 2)/3⌉ chunks held.",
        needs: "Two chunks per rank, near-equal tF, tB and tW.",
        source: &source::CONTROLLABLE,
        make: Make::Always(controllable::v_min),
        ..V_SHAPE
    },
    ScheduleInfo {
        kind: Kind::DualPipe,
        idea: "Both directions at once: each rank has a stage of either end, and passes of the two run in pairs.",
        cost: "Bubble (p/2 − 1)(F&B + B − 3W); two copies of the weights, p + 1 micro-batches held.",
        needs: "Even p, even m, m ≥ 2p; a fused forward-backward block.",
        source: &source::DUALPIPE,
        software: &[(DeepSeek, "")],
        virtual_stages: Some(2),
        placement: StagePlacement::Bidirectional,
        copies: |_, _| 2,
        splits_backward: true,
        make: Make::Sometimes(dualpipe::dualpipe, |_| false),
        warn: dualpipe::warn,
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::DualPipeV,
        idea: "DualPipe cut in half: the V of two chunks per rank, without the second copy of the weights.",
        cost: "Bubble (p − 1)(F&B + B − 3W) of a chunk; 2p + 1 chunks held.",
        needs: "m ≥ 2p, two chunks per rank; a fused forward-backward block.",
        source: &source::DUALPIPE,
        software: &[(Torchtitan, "DualPipeV")],
        make: Make::Sometimes(dualpipe::dualpipev, |_| false),
        warn: dualpipe::warn,
        ..V_SHAPE
    },
    ScheduleInfo {
        kind: Kind::Overlap,
        idea: "Forward and backward of two micro-batches run as one block, messages of one behind the other.",
        cost: "About twice 1F1B's activations; no second copy of the weights.",
        needs: "A fused forward-backward block; mixture-of-experts models gain.",
        source: &source::PP_VISUALIZATION,
        make: Make::Always(flush::overlap),
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::InterleavedOverlap,
        idea: "Interleaved 1F1B whose steady state runs forward and backward as one block.",
        cost: "One chunk more in flight than interleaved 1F1B.",
        needs: "A fused forward-backward block; m a multiple of p.",
        source: &source::MEGATRON,
        software: &[(Megatron, "")],
        virtual_stages: None,
        stages: StageCount::Chunks,
        make: Make::Sometimes(interleaved::overlap, |_| false),
        warn: interleaved::warn_short_group,
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::Seq1F1B,
        idea: "1F1B over pieces of each sequence.",
        cost: "Bubble (p − 1)(tF + tBW)/c; p − r + c − 1 pieces held on rank r.",
        needs: "Causal attention; pieces of equal work: shorter ones behind, or as in SlimPipe equal tokens whose \
            attention the ranks share out.",
        source: &source::SEQ1F1B,
        options: &["splits"],
        make: Make::Always(sequence::seq1f1b),
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::TeraPipe,
        idea: "GPipe over pieces of each sequence.",
        cost: "Bubble (p − 1)(tF + tBW)/c; all m c pieces held.",
        needs: "Causal attention; pieces of equal work.",
        source: &source::TERAPIPE,
        options: &["splits"],
        make: Make::Always(sequence::terapipe),
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::Optimal,
        idea: "Shortest order of one stage a rank in given memory; more chunks may beat it.",
        cost: "Depends on the memory limit; the result is proven optimal, or its largest distance from the optimum is \
            given.",
        needs: "Durations that are known and steady; software that takes an order.",
        source: &source::JOB_SHOP,
        // With an order in a file: the class tells torchtitan to make one stage a rank (`pipeline_llm`).
        software: &[(Torchtitan, "PipelineScheduleSingle")],
        options: &["memory_limit"],
        splits_backward: true,
        uses_durations: true,
        work: 200,
        make: Make::Timed(optimal::optimal),
        ..ROW
    },
    ScheduleInfo {
        kind: Kind::Custom,
        idea: "An order of your own, token by token.",
        cost: "No fixed cost: your order is simulated like any other schedule.",
        needs: "Every stage runs every micro-batch forward and backward; it must not dead-lock.",
        source: &source::TORCH_PIPELINING,
        options: &["order"],
        virtual_stages: None,
        stages: StageCount::Order,
        placement: StagePlacement::Given,
        make: Make::Given(custom::build),
        ..ROW
    },
];

/// The row of `id`.
pub fn schedule(id: &str) -> Option<&'static ScheduleInfo> {
    SCHEDULES.iter().find(|row| row.id() == id)
}

impl Kind {
    pub fn row(self) -> &'static ScheduleInfo {
        // Every schedule has one: a test below.
        SCHEDULES.iter().find(|row| row.kind == self).unwrap_or(&SCHEDULES[0])
    }
    /// The schedule that `trainer` calls `name`, upper or lower case.
    pub fn called(name: &str, trainer: Trainer) -> Option<Self> {
        let named = |row: &&ScheduleInfo| row.called(trainer).is_some_and(|id| id.eq_ignore_ascii_case(name));
        SCHEDULES.iter().find(named).map(|row| row.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::OneOf;

    #[test]
    fn every_schedule_has_a_row_in_the_menu_s_order_that_leaves_nothing_out() {
        let kinds: Vec<_> = Kind::ALL.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(
            SCHEDULES.iter().map(|row| row.kind).collect::<Vec<_>>(),
            kinds,
            "SCHEDULES has the rows of Schedule in its order"
        );
        for row in SCHEDULES {
            for text in [row.idea, row.cost, row.needs] {
                assert!(!text.is_empty(), "{} leaves something out", row.id());
            }
            assert!(std::ptr::eq(schedule(row.id()).unwrap(), row) && std::ptr::eq(row.kind.row(), row));
            for (trainer, name) in row.software {
                assert!(name.is_empty() || Kind::called(name, *trainer) == Some(row.kind), "{name}");
            }
        }
    }
}
