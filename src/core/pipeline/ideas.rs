//! Each schedule's idea, cost and requirements: three lines a schedule, for choosing one.
//!
//! Separate from `rows.rs`: programs that only run schedules do not contain these texts.

use crate::source::{self, Source};

/// A schedule in words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Idea {
    /// The schedule's id.
    pub id: &'static str,
    /// Principle.
    pub idea: &'static str,
    /// Price of it.
    pub cost: &'static str,
    /// Requirements.
    pub needs: &'static str,
    /// Where it is described.
    pub source: &'static Source,
}

/// One a schedule, in the order of [`super::SCHEDULES`].
pub static IDEAS: &[Idea] = &[
    Idea {
        id: "naive",
        idea: "One micro-batch crosses all ranks forward and backward before the next enters.",
        cost: "All ranks but one idle at any time: p − 1 times the work.",
        needs: "Nothing; the baseline that the others improve on.",
        source: &source::PLAYBOOK,
    },
    Idea {
        id: "gpipe",
        idea: "All forwards, then all backwards.",
        cost: "Idle (p − 1)/m of the work; every micro-batch's activations are held at once.",
        needs: "Memory for m micro-batches, or full recomputation.",
        source: &source::GPIPE,
    },
    Idea {
        id: "1f1b",
        idea: "After a short warm-up each rank alternates one forward and one backward.",
        cost: "GPipe's bubble, but rank r holds p − r micro-batches at most; waits for every transfer.",
        needs: "Micro-batches enough to fill the pipeline: m ≥ p, better many times p.",
        source: &source::NARAYANAN_2021,
    },
    Idea {
        id: "eager-1f1b",
        idea: "1F1B with twice the warm-up, so that transfers run behind computation.",
        cost: "1F1B's bubble without its latency; up to 2(p − 1 − r) + 1 micro-batches on rank r.",
        needs: "About twice the activation memory of 1F1B.",
        source: &source::NARAYANAN_2021,
    },
    Idea {
        id: "interleaved-1f1b",
        idea: "Each rank holds v chunks of the model, so that the fill of the pipeline is v times shorter.",
        cost: "Bubble (p − 1)/(v m); (p − 1)/(p v) more activations and v times the transfers.",
        needs: "Layers that divide by p v; micro-batches in groups of at least p.",
        source: &source::NARAYANAN_2021,
    },
    Idea {
        id: "looped-bfs",
        idea: "All micro-batches through chunk after chunk, then back.",
        cost: "Interleaving's bubble with GPipe's memory; weights are gathered once a chunk.",
        needs: "m ≥ p, else extra stalls; suits fully sharded weights.",
        source: &source::BREADTH_FIRST,
    },
    Idea {
        id: "pipedream",
        idea: "1F1B that never flushes: the next step's micro-batches follow at once.",
        cost: "No bubble in the steady state; p − r versions of the weights on rank r, stale gradients.",
        needs: "Asynchronous training. The timeline draws one step, filled and drained; the figures are the steady state's.",
        source: &source::PIPEDREAM,
    },
    Idea {
        id: "pipedream-2bw",
        idea: "PipeDream with gradients accumulated over m micro-batches, so that two versions suffice.",
        cost: "No bubble in the steady state; two copies of the weights, gradients one step late.",
        needs: "m ≥ p. The timeline draws one step, filled and drained; the figures are the steady state's.",
        source: &source::PIPEDREAM_2BW,
    },
    Idea {
        id: "chimera",
        idea: "Two pipelines in opposite directions fill each other's bubbles.",
        cost: "Total bubble (D − 2)/(2N + D − 2) for equal forward and backward; two copies of the weights.",
        needs: "An even number of ranks and of micro-batches, best in multiples of the ranks.",
        source: &source::CHIMERA,
    },
    Idea {
        id: "hanayo",
        idea: "The model folded into waves over the ranks: one wave is Chimera of twice the ranks folded onto them, with one copy of the weights.",
        cost: "Total bubble of P micro-batches (P − 1)/(2WP + P − 1) for equal forward and backward: with one wave more than Chimera's, with two less from P = 4 on; 4W(P − 1) transfers.",
        needs: "Layers for 2 W P stages; micro-batches in units of P, which overlap; up to P micro-batches held on every rank.",
        source: &source::HANAYO,
    },
    Idea {
        id: "zb-h1",
        idea: "1F1B with the backward cut in two, weight gradients filling the gaps.",
        cost: "Bubble (p − 1)(tF + tB − tW); p micro-batches held on every rank.",
        needs: "A backward that can be cut.",
        source: &source::ZERO_BUBBLE,
    },
    Idea {
        id: "zb-h2",
        idea: "ZB-H1 with twice the warm-up, so that no rank waits between its first and last op.",
        cost: "Up to 2p − 1 micro-batches on every rank; the start-up skew remains.",
        needs: "m ≥ 2p − 1; an optimizer step that does not synchronise at its start.",
        source: &source::ZERO_BUBBLE,
    },
    Idea {
        id: "zb-auto",
        idea: "Zero bubble laid out from the real durations within a memory limit.",
        cost: "The less memory, the more bubble: 1F1B's memory at limit p, next to no idle span at 2p.",
        needs: "Durations of F, B and W that are known and steady.",
        source: &source::ZERO_BUBBLE,
    },
    Idea {
        id: "interleaved-zb1p",
        idea: "Interleaved 1F1B with the backward cut in two, weight gradients filling the gaps.",
        cost: "Bubble (p − 1)(tF + tB − tW) of a chunk; p v chunks held on every rank.",
        needs: "A backward that can be cut; PyTorch wants m to divide into rounds.",
        source: &source::TORCH_PIPELINING,
    },
    Idea {
        id: "zb-v",
        idea: "Two chunks per rank in a V: zero bubble in the memory of 1F1B.",
        cost: "No idle time inside a rank's span for tF = tB = tW; 2p chunks held on every rank.",
        needs: "Two chunks per rank, m ≥ 2p − 1, equal tF, tB and tW.",
        source: &source::CONTROLLABLE,
    },
    Idea {
        id: "zb-v-auto",
        idea: "ZB-V laid out from the real durations within a memory limit.",
        cost: "2p chunks on a rank by default, as ZB-V.",
        needs: "Two chunks per rank; durations of F, B and W that are known and steady.",
        source: &source::CONTROLLABLE,
    },
    Idea {
        id: "v-half",
        idea: "A V of two chunks whose lifetimes are balanced: half the activations of 1F1B.",
        cost: "About half of 1F1B's bubble for equal tF, tB and tW; 2(⌊p/2⌋ + 1) chunks held.",
        needs: "Two chunks per rank, near-equal tF, tB and tW.",
        source: &source::CONTROLLABLE,
    },
    Idea {
        id: "v-min",
        idea: "A V of two chunks with the least activations: a third of 1F1B's.",
        cost: "About two thirds of 1F1B's bubble for equal times, more where they differ; 2⌈(p + 2)/3⌉ chunks held.",
        needs: "Two chunks per rank, near-equal tF, tB and tW.",
        source: &source::CONTROLLABLE,
    },
    Idea {
        id: "dualpipe",
        idea: "Both directions at once, forward and backward overlapped in pairs that hide expert communication.",
        cost: "Bubble (p/2 − 1)(F&B + B − 3W); two copies of the weights, p + 1 micro-batches held.",
        needs: "Even p, even m, m ≥ 2p; a fused forward-backward block.",
        source: &source::DUALPIPE,
    },
    Idea {
        id: "dualpipev",
        idea: "DualPipe cut in half: the V of two chunks per rank, without the second copy of the weights.",
        cost: "Bubble (p − 1)(F&B + B − 3W) of a chunk; 2p + 1 chunks held.",
        needs: "m ≥ 2p, two chunks per rank; a fused forward-backward block.",
        source: &source::DUALPIPE,
    },
    Idea {
        id: "1f1b-overlap",
        idea: "Forward and backward of two micro-batches run as one block, hiding expert communication.",
        cost: "About twice 1F1B's activations; no second copy of the weights.",
        needs: "A fused forward-backward block; mixture-of-experts models gain.",
        source: &source::PP_VISUALIZATION,
    },
    Idea {
        id: "interleaved-overlap",
        idea: "Interleaved 1F1B whose steady state runs forward and backward as one block.",
        cost: "One chunk more in flight than interleaved 1F1B.",
        needs: "A fused forward-backward block; m a multiple of p.",
        source: &source::MEGATRON,
    },
    Idea {
        id: "seq1f1b",
        idea: "1F1B over pieces of each sequence.",
        cost: "Bubble (p − 1)(tF + tBW)/c; p − r + c − 1 pieces held on rank r.",
        needs: "Causal attention; pieces of equal work.",
        source: &source::SEQ1F1B,
    },
    Idea {
        id: "terapipe",
        idea: "GPipe over pieces of each sequence.",
        cost: "Bubble (p − 1)(tF + tBW)/c; all m c pieces held.",
        needs: "Causal attention; pieces of equal work.",
        source: &source::TERAPIPE,
    },
    Idea {
        id: "optimal",
        idea: "The order with the least makespan for the durations and a memory limit, with a proof of how good it is.",
        cost: "What the limit leaves: it is proven optimal, or how far from it at most is said.",
        needs: "Durations that are known and steady; software that takes an order.",
        source: &source::JOB_SHOP,
    },
    Idea {
        id: "custom",
        idea: "An order of your own, token by token.",
        cost: "Whatever it costs: it is simulated like the others.",
        needs: "Every stage runs every micro-batch forward and backward; it must not dead-lock.",
        source: &source::TORCH_PIPELINING,
    },
];

/// The words for the schedule `id`.
#[must_use]
pub fn idea(id: &str) -> Option<&'static Idea> {
    IDEAS.iter().find(|idea| idea.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::SCHEDULES;

    #[test]
    fn every_schedule_says_what_it_is_in_the_menu_s_order() {
        let ids = |ids: &mut dyn Iterator<Item = &'static str>| ids.collect::<Vec<_>>();
        assert_eq!(ids(&mut IDEAS.iter().map(|idea| idea.id)), ids(&mut SCHEDULES.iter().map(|row| row.id)));
        for words in IDEAS {
            for text in [words.idea, words.cost, words.needs] {
                assert!(!text.is_empty(), "{} leaves something out", words.id);
            }
            assert_eq!(idea(words.id), Some(words));
        }
    }
}
