//! The page of limits beside the calculator: what is not modelled. Made at build time like the page of sources.

use crate::prelude::*;
use shardscope_core::memory::methods::METHODS;
use shardscope_core::pipeline::spec::MAX_OPS;
use shardscope_core::run::registry::LONGEST_TEXT;
use shardscope_core::run::{MAX_COUNT, MAX_PARAMETERS, MAX_STAGES};

/// Subjects that no method and no formula here counts, besides [`NOT_MODELLED`].
const SCOPE: &[&str] = &[
    "It estimates training, fine-tuning with adapters included. Inference and serving are other calculations.",
    "Every GPU, link and node is the same; ranks are placed in the order that the run sets, by default Megatron's (tp \
        fastest, then cp, dp, pp).",
    "TPUs and other machines without NVIDIA's or AMD's GPUs are not covered: they are a torus under a compiler (XLA) \
        that decides what overlaps, and neither has a model here.",
    "Rubin and Ascend 910B have no preset: their published peaks contradict each other.",
    "The step is one in steady state: no warm-up, no first allocation, no compilation.",
    "Communication has a time by latency and bandwidth. Weights and gradients of ZeRO-3 take turns on their wire; \
        other rows of the overlap table are counted as if each had its wire alone, also where the table names rows \
        that share it.",
    "The shares of waiting that NVIDIA's note on uneven pipelines measured are not among the data here. Its two \
        measured steps are, and the bubble of each split is simulated.",
    "Energy is that of nodes: storage and switches add 5 to 10 %. Only GPU-hours are priced; host memory and disks \
        are counted for what is offloaded only.",
    "The whole run: rates of failures of B200, GB200 and MI300X fleets are not published (one floor), nor of jobs \
        between 1,024 and 8,192 GPUs; downtime where a person is called (with an interruption every few hours it \
        alone leaves 15 to 20 points of the productive time open), the clustering of failures, the power of B200 \
        nodes that wait and of other makers' nodes are weakly known. The number of tokens that a goal needs is not \
        predicted.",
];

/// Effects that the model of time leaves out.
pub(super) const NOT_MODELLED: &[&str] = &[
    "stragglers, other jobs on the network, congestion between groups of one job",
    "checkpoints, evaluation, restarts",
    "kernels tuned to one shape: NVIDIA's own stacks run up to 26 % faster than predicted",
    "old kernels: the Triton attention of llm-foundry from 16 k tokens on is 35 % slower than predicted",
    "DeepSpeed of 2021 and 2022, whose ZeRO-1 sent more than it had to (BLOOM)",
    "the host's data loader, unless its floor is given",
    "vision towers of narrow layers under tensor parallelism, whose kernels wait for their launches: measured ones \
        took several times what is computed",
    "experts that are not evenly loaded, unless the imbalance or the spread of the router is given",
    "in-network reduction between nodes (SHARP); inside a node a rate of the GPU has it",
    "vocabulary-parallel pipelines: their passes of embedding and head over all ranks (sail-sg, arXiv 2411.05288) are \
        ops of their own between those of the layers, which no schedule here has; fewer layers on the last stage \
        balance the head instead",
    "Muon with tensor parallelism by blocks or by products of the parts (muon-tp-mode blockwise, distributed): every \
        rank repeats the steps of whole matrices, as duplicated, Megatron-LM's default; whole matrices lie on the \
        ranks that share states (layer-wise)",
    "the time of the quantisation of ZeRO++; a budget of activations counts all operators alike, where torch.compile \
        runs the cheapest again first",
];

/// Layouts of large runs that are not planned, each with its reason.
const LAYOUTS: &[&str] = &[
    "A vision tower on the language model's ranks with a grid of its own (MIMO, colocated): towers stand on the \
        first stage with its tensor parallelism, or on ranks of their own with one stage and no context parallelism.",
    "Encoders in the bubbles of a pipeline (Optimus, BigMac): their kernels are cut to fit the idle time, by \
        no rule that is published.",
    "Attention and experts on different GPUs (DisagMoE, AF-Pipe): there is no public code to read the \
        messages from.",
    "Attention-parallel pipelines (HelixPipe) and pipelines that move weights instead of activations \
        (WeiPipe): their orders are not among the schedules.",
    "The solvers of FlexSP and ByteScale: samples of unequal length are dealt as they arrive, longest first, or \
        each to as many ranks as it needs; what other programs find is no layout that can be stated here.",
    "Diffusion heads with a pipeline of their own: neither shapes nor measurements of one were found.",
    "Different kinds of GPUs in one job: every rank is timed by one data sheet.",
    "Training over slow links with few reductions (DiLoCo): what it costs in loss is not predicted, so neither is the \
        number of steps.",
];

pub fn limits() -> Node {
    let list = |items: Vec<Node>| el("ul", &[], &[items.into_iter().map(|item| el("li", &[], &[item])).collect()]);
    let plain = |lines: &[&'static str]| list(lines.iter().map(text).collect());
    let methods = METHODS.iter().map(|row| {
        let label = strong(row.method.choice().label);
        Node::from_iter([
            label,
            text(": "),
            text(Message::joined("; ", row.leaves_out.iter().map(Message::from))),
            text(" ("),
            cited(row.source, row.source.short),
            text(")"),
        ])
    });
    let power = |value: f64| format!("10^{:.0}", value.log10());
    let sizes = [
        t!(
            "At most {ops} ops of a schedule are simulated: pipeline ranks times chunks times micro-batches times two \
                or three.",
            ops = MAX_OPS
        ),
        t!("An order of your own may have {letters} letters: as many as a link holds.", letters = LONGEST_TEXT),
        t!(
            "Models of more than {parameters} parameters, clusters of more than {gpus} GPUs and pipelines of more \
                than {stages} stages are refused.",
            parameters = power(MAX_PARAMETERS),
            gpus = power(MAX_COUNT as f64),
            stages = MAX_STAGES
        ),
    ];
    Node::from_iter([
        leaf("h1", "", "What Shardscope does not model"),
        paragraph(
            "A figure here is an estimate from published constants. The accuracy panel shows how far it was off where \
                runs were published; this page says what it knows nothing of.",
        ),
        title("Scope"),
        plain(SCOPE),
        title("Step time"),
        plain(NOT_MODELLED),
        title("Layouts"),
        plain(LAYOUTS),
        title("Memory, by method"),
        list(methods.collect()),
        title("Sizes"),
        list(sizes.iter().map(text).collect()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panels::provenance::document;
    use shardscope_core::message::Catalogue;

    #[test]
    fn the_limits_page_names_every_method_and_its_gaps() {
        let page = document("What it does not model", limits(), ("en", &Catalogue::default()));
        for row in METHODS {
            assert!(page.contains(&text(verbatim(row.leaves_out.join("; "))).to_html()));
        }
        assert!(page.contains("stragglers"));
        // As the note below the overlap table says of rows that share a wire.
        assert!(page.contains("as if each had its wire alone") && !page.contains("wait for each other"));
        assert!(!page.contains("<script"));
    }
}
