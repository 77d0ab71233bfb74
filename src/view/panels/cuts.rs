//! Ways to cut compared: a sequence over ranks, a matrix over grids, ring attention step by step.

use crate::node::figure::Scope;
use crate::prelude::*;
use shardscope_core::cluster::ParallelAxis;
use shardscope_core::traffic::{
    GridCut, bandwidth, flops_per_byte, grid_cuts, ring_block_ratio, ring_buffer, ring_steps, sequence_cuts,
};

fn gb(bytes: Bytes) -> String {
    format!("{} GB", significant(bytes.gb(), 4))
}

/// TP with SP, Ulysses and ring attention for this run's sequence, and for the lecture's.
pub fn sequences(scenario: &Scenario) -> Node {
    let (model, layout) = (&scenario.model, &scenario.layout);
    let shared = layout.tp * layout.cp;
    let ranks = if shared > 1 { shared } else { 8 };
    let share = model.kv_heads as f64 / model.heads as f64;
    let (tokens, width) = (scenario.run.seq_len as f64, model.hidden as f64);
    let element = scenario.precision.computes.activation();
    let ours = sequence_cuts(tokens, width, ranks, element, share, model.heads);
    let lecture = sequence_cuts(1e6, 4096.0, 128, 2.0, 1.0, 32);
    let most = |ranks_at_most: Option<u64>| match ranks_at_most {
        None => t!("any"),
        Some(most) if most < ranks => t!("{most}: too few", most),
        Some(most) => verbatim(most.to_string()),
    };
    let cuts = Rows::of(ours.iter().zip(&lecture))
        .column("cut", |(ours, _)| ours.name)
        .figures("as the Fudan lecture counts", |(ours, _)| format!("{} ({})", gb(ours.printed), ours.formula))
        .figures("a GPU really sends", |(ours, _)| gb(ours.sent))
        .column("most ranks", |(ours, _)| most(ours.most_ranks))
        .figures("lecture's example", |(_, lecture)| gb(lecture.printed))
        .table("Ways to cut a sequence");
    let what = t!(
        "Bytes of one layer on a GPU, forward and backward, for one sequence of N = {seq_len} tokens, d = {hidden}, \
            over P = {ranks} ranks; beside it the example of the Fudan lecture: N = 1 000 000, d = 4096, P = 128, \
            where it prints 65.536 and 0.512 GB.",
        seq_len = scenario.run.seq_len,
        hidden = model.hidden,
        ranks
    );
    let example =
        if shared > 1 { Message::default() } else { t!("P is an example: this run does not split sequences.") };
    Node::from_iter([
        muted(Message::joined(" ", [what, example])),
        cuts,
        muted(
            "The lecture counts TP + SP and Ulysses on one GPU, forward and backward, but ring attention over all \
                GPUs, forward only: P rounds of 4 N d bytes, which it calls much higher than the others. One GPU \
                sends 12 N d (P - 1)/P with as many key-value heads as heads: less than TP + SP.",
        ),
        muted(
            "Really sent: (P - 1)/P of it, and keys and values only as wide as their heads. Ulysses cannot use more \
                ranks than there are heads, nor TP; ring attention can, and hides behind attention.",
        ),
    ])
}

/// A matrix product over a line, a square and a cube of ranks.
pub(crate) fn grids(scenario: &Scenario) -> Node {
    let tp = scenario.layout.tp;
    let sizes = if tp == 64 || tp == 1 { vec![64] } else { vec![tp, 64] };
    let cuts = sizes.into_iter().flat_map(|ranks| grid_cuts(ranks).into_iter().map(move |cut| (ranks, cut)));
    let shape = |cut: &GridCut| vec![number(cut.side, 2); cut.dimensions as usize].join(" × ");
    let part = |share: f64| {
        if share < 1.0 { verbatim(format!("1/{}", number((1e9 / share).round() / 1e9, 3))) } else { t!("whole") }
    };
    let table = Rows::of(cuts)
        .figures("ranks", |(ranks, _)| ranks.to_string())
        .figures("grid", |(_, cut)| format!("{}D: {}", cut.dimensions, shape(cut)))
        .column("compute", |(_, cut)| part(cut.compute))
        .column("parameters", |(_, cut)| part(cut.parameters))
        .column("activations", |(_, cut)| part(cut.activations))
        .figures("receives", |(_, cut)| number(cut.communication, 3))
        .figures("messages", |(_, cut)| number(cut.steps, 3))
        .table("Tensor parallelism in one, two and three dimensions");
    Node::from_iter([
        muted(
            "One product Y = X A on a rank, over one GPU alone; received elements over those of an activation, \
                messages one after the other. 64 ranks beside this run's TP: a square and a cube at once.",
        ),
        table,
        muted(
            "1D keeps activations whole on every rank; 2D (SUMMA) and 3D cut them too and send less, in more and \
                smaller messages between more partners, which is why they pay off only over many ranks. This \
                calculator's TP is 1D.",
        ),
    ])
}

/// Steps of a ring that are shown; of a longer one the last too.
const SHOWN: usize = 6;

/// The steps of a ring with the work of the slowest rank, plain and zig-zag, each alone and in all; `None` where steps
/// are left out.
fn steps_table(rows: Vec<(Option<usize>, [f64; 4])>, last: usize) -> Node {
    let more = || "…".to_owned();
    let work =
        |at: usize| move |(step, work): &(Option<usize>, [f64; 4])| step.map_or_else(more, |_| number(work[at], 2));
    Rows::of(rows)
        .figures("step", |(step, _)| step.map_or_else(more, |step| (step + 1).to_string()))
        .figures("plain", work(0))
        .figures("in all", work(1))
        .figures("zig-zag", work(2))
        .figures("in all", work(3))
        .column("meanwhile sends", |(step, _)| match step {
            None => "…",
            Some(step) if *step == last => "nothing",
            Some(_) => "keys and values on",
        })
        .table("Ring attention step by step")
}

/// Ring attention step by step under a causal mask, plain and zig-zag, and whether its blocks hide.
pub fn ring(scenario: &Scenario, unit: MemoryUnit) -> Node {
    let (model, layout) = (&scenario.model, &scenario.layout);
    let ranks = if layout.cp > 1 { layout.cp } else { 8 };
    let (plain, zigzag) = (ring_steps(ranks, false), ring_steps(ranks, true));
    let (mut sum, mut balanced) = (0.0, 0.0);
    let last = plain.len().saturating_sub(1);
    let mut rows = Vec::new();
    for (step, (one, other)) in plain.iter().zip(&zigzag).enumerate() {
        sum += one;
        balanced += other;
        if step == SHOWN && last > SHOWN {
            rows.push((None, [0.0; 4]));
        }
        if step < SHOWN || step == last {
            rows.push((Some(step), [*one, sum, *other, balanced]));
        }
    }
    let table = steps_table(rows, last);
    let share = model.kv_heads as f64 / model.heads as f64;
    let chunk = scenario.run.seq_len as f64 / ranks as f64;
    let wire = bandwidth(scenario, layout.mesh().link(ParallelAxis::Cp));
    let ratio = ring_block_ratio(share, chunk, true, flops_per_byte(scenario.gpu.bf16, wire));
    let what = t!(
        "What the slowest of {ranks} ranks computes in each step; a full block of attention is 1. Plain: whole blocks \
            except its own; zig-zag: each rank holds a piece from either end, so all compute the same.",
        ranks
    );
    let example = if layout.cp > 1 {
        Message::default()
    } else {
        t!("The number of ranks is an example: this run has no context parallelism.")
    };
    let facts = t!(
        "At data-sheet peaks a block of keys and values takes {ratio} of the attention it hides behind: at most 1, it \
            hides. A rank keeps at least {chunk} per sequence for the ring: the block of keys and values in use, the \
            next one, queries and output (6 b d c bytes with as many key-value heads as heads, (2 + 4 k/a) b d c with \
            fewer, b = {bytes} bytes per element). Plain takes {balanced} times as long as zig-zag; the time model \
            takes zig-zag.",
        ratio = significant(ratio, 3),
        chunk = Scope::run().says("ring_bytes", unit.fitting(ring_buffer(scenario, chunk))),
        bytes = scenario.precision.computes.activation(),
        balanced = significant(sum / balanced, 3)
    );
    Node::from_iter([
        muted(Message::joined(" ", [what, example])),
        table,
        el("p", &[("class", "muted")], &[text(&facts)]),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(cp: u64) -> Scenario {
        let run = Run { cp, ..Run::default() };
        Scenario::new(&run).unwrap()
    }

    /// Fudan lecture: N = 1e6, d 4096, P 128, fp16: 65.536 GB against 0.512 GB.
    #[test]
    fn the_lectures_numbers_stand_beside_this_runs() {
        let html = sequences(&scenario(2)).to_html();
        assert!(html.contains("65.54 GB") && html.contains("0.512"), "{html}");
        assert!(html.contains("P = 4 ranks"));
        // P rounds of 4 s d bytes.
        assert!(html.contains("2097 GB"), "{html}");
    }

    /// 64 ranks are a line, a square of 8 and a cube of 4; a line sends 2 (P - 1)/P in 2 (P - 1) steps.
    #[test]
    fn a_grid_is_shown_in_all_the_dimensions_it_has() {
        let html = grids(&scenario(1)).to_html();
        for shape in ["1D: 64", "2D: 8 × 8", "3D: 4 × 4 × 4"] {
            assert!(html.contains(shape), "{shape} {html}");
        }
        assert!(html.contains("126"));
    }

    /// Eight key-value heads of 32: 24 MiB for 1024 tokens a rank, not 48.
    #[test]
    fn the_ring_of_grouped_queries_keeps_less() {
        let mut run = Run::default();
        (run.gpus, run.tp, run.pp, run.cp, run.global_batch) = (8, 1, 1, 8, 8);
        let html = ring(&Scenario::new(&run).unwrap(), MemoryUnit::Gib).to_html();
        assert!(html.contains("24.0 MiB"), "{html}");
    }

    /// Under a causal mask the plain ring of c ranks takes c - 1/2 blocks, zig-zag c/2.
    #[test]
    fn plain_ring_attention_takes_nearly_twice_as_long() {
        let html = ring(&scenario(4), MemoryUnit::Gib).to_html();
        assert!(html.contains("1.75 times as long"), "{html}");
        assert!(ring(&scenario(1), MemoryUnit::Gib).to_html().contains("an example"));
    }
}
