//! Ways to cut compared: a sequence over ranks, a matrix over grids, ring attention step by step.

use crate::core::cluster::Axis;
use crate::core::traffic::{
    GridCut, bandwidth, flops_per_byte, grid_cuts, ring_block_ratio, ring_buffer, ring_steps, sequence_cuts,
};
use crate::view::prelude::*;

fn row<const N: usize>(cells: [Message; N]) -> (bool, Vec<Node>) {
    (false, cells.map(text).into())
}

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
    let rows: Vec<_> = ours
        .iter()
        .zip(&lecture)
        .map(|(ours, lecture)| {
            let most = match ours.most_ranks {
                None => t!("any"),
                Some(most) if most < ranks => t!("{most}: too few", most),
                Some(most) => verbatim(most.to_string()),
            };
            row([
                ours.name.into(),
                verbatim(format!("{} ({})", gb(ours.printed), ours.formula)),
                verbatim(gb(ours.sent)),
                most,
                verbatim(gb(lecture.printed)),
            ])
        })
        .collect();
    let what = t!(
        "Bytes of one layer on a GPU, forward and backward, for one sequence of N = {seq_len} tokens, d = {hidden}, over P = {ranks} ranks; beside it the example of the Fudan lecture: N = 1 000 000, d = 4096, P = 128, where it prints 65.536 and 0.512 GB.",
        seq_len = scenario.run.seq_len,
        hidden = model.hidden,
        ranks
    );
    let example =
        if shared > 1 { Message::default() } else { t!("P is an example: this run does not split sequences.") };
    let head = ["cut", "as the Fudan lecture counts", "a GPU really sends", "most ranks", "lecture's example"];
    Node::from_iter([
        muted(Message::joined(" ", [what, example])),
        table("Ways to cut a sequence", &head, &rows),
        muted(
            "The lecture counts TP + SP and Ulysses on one GPU, forward and backward, but ring attention over all GPUs, forward only: P rounds of 4 N d bytes, which it calls much higher than the others. One GPU sends 12 N d (P - 1)/P with as many key-value heads as heads: less than TP + SP.",
        ),
        muted(
            "Really sent: (P - 1)/P of it, and keys and values only as wide as their heads. Ulysses cannot use more ranks than there are heads, nor TP; ring attention can, and hides behind attention.",
        ),
    ])
}

/// A matrix product over a line, a square and a cube of ranks.
pub(crate) fn grids(scenario: &Scenario) -> Node {
    let tp = scenario.layout.tp;
    let mut rows = Vec::new();
    let sizes = if tp == 64 || tp == 1 { vec![64] } else { vec![tp, 64] };
    for ranks in sizes {
        rows.extend(grid_cuts(ranks).iter().map(|cut| grid(ranks, cut)));
    }
    let head = ["ranks", "grid", "compute", "parameters", "activations", "receives", "messages"];
    Node::from_iter([
        muted(
            "One product Y = X A on a rank, over one GPU alone; received elements over those of an activation, messages one after the other. 64 ranks beside this run's TP: a square and a cube at once.",
        ),
        table("Tensor parallelism in one, two and three dimensions", &head, &rows),
        muted(
            "1D keeps activations whole on every rank; 2D (SUMMA) and 3D cut them too and send less, in more and smaller messages between more partners, which is why they pay off only over many ranks. This calculator's TP is 1D.",
        ),
    ])
}

fn grid(ranks: u64, cut: &GridCut) -> (bool, Vec<Node>) {
    let side = number(cut.side, 2);
    let shape = vec![side; cut.dimensions as usize].join(" × ");
    let part = |share: f64| {
        if share < 1.0 { verbatim(format!("1/{}", number((1e9 / share).round() / 1e9, 3))) } else { t!("whole") }
    };
    row([
        verbatim(ranks.to_string()),
        verbatim(format!("{}D: {shape}", cut.dimensions)),
        part(cut.compute),
        part(cut.parameters),
        part(cut.activations),
        verbatim(number(cut.communication, 3)),
        verbatim(number(cut.steps, 3)),
    ])
}

/// Steps of a ring that are shown; of a longer one the last too.
const SHOWN: usize = 6;

/// Ring attention step by step under a causal mask, plain and zig-zag, and whether its blocks hide.
pub fn ring(scenario: &Scenario, unit: MemoryUnit) -> Node {
    let (model, layout) = (&scenario.model, &scenario.layout);
    let ranks = if layout.cp > 1 { layout.cp } else { 8 };
    let (plain, zigzag) = (ring_steps(ranks, false), ring_steps(ranks, true));
    let mut rows = Vec::new();
    let (mut sum, mut balanced) = (0.0, 0.0);
    let last = plain.len().saturating_sub(1);
    for (step, (one, other)) in plain.iter().zip(&zigzag).enumerate() {
        sum += one;
        balanced += other;
        if step == SHOWN && last > SHOWN {
            rows.push(row(["…"; 6].map(Message::from)));
        }
        if step < SHOWN || step == last {
            let sent = if step == last { "nothing" } else { "keys and values on" };
            row_of_step(&mut rows, step, [*one, sum, *other, balanced], sent);
        }
    }
    let share = model.kv_heads as f64 / model.heads as f64;
    let chunk = scenario.run.seq_len as f64 / ranks as f64;
    let wire = bandwidth(scenario, layout.mesh().link(Axis::Cp));
    let ratio = ring_block_ratio(share, chunk, true, flops_per_byte(scenario.gpu.bf16, wire));
    let what = t!(
        "What the slowest of {ranks} ranks computes in each step; a full block of attention is 1. Plain: whole blocks except its own; zig-zag: each rank holds a piece from either end, so all compute the same.",
        ranks
    );
    let example = if layout.cp > 1 {
        Message::default()
    } else {
        t!("The number of ranks is an example: this run has no context parallelism.")
    };
    let facts = t!(
        "At data-sheet peaks a block of keys and values takes {ratio} of the attention it hides behind: at most 1, it hides. A rank keeps at least {chunk} per sequence for the ring: the block of keys and values in use, the next one, queries and output (6 b d c bytes with as many key-value heads as heads, (2 + 4 k/a) b d c with fewer, b = {bytes} bytes per element). Plain takes {balanced} times as long as zig-zag; the time model takes zig-zag.",
        ratio = significant(ratio, 3),
        chunk = unit.fitting(ring_buffer(scenario, chunk)),
        bytes = scenario.precision.computes.activation(),
        balanced = significant(sum / balanced, 3)
    );
    let head = ["step", "plain", "in all", "zig-zag", "in all", "meanwhile sends"];
    Node::from_iter([
        muted(Message::joined(" ", [what, example])),
        table("Ring attention step by step", &head, &rows),
        el("p", &[("class", "muted")], &[text(&facts)]),
    ])
}

fn row_of_step(rows: &mut Vec<(bool, Vec<Node>)>, step: usize, work: [f64; 4], sent: &'static str) {
    let [one, sum, other, balanced] = work.map(|share| verbatim(number(share, 2)));
    let step = verbatim((step + 1).to_string());
    rows.push(row([step, one, sum, other, balanced, sent.into()]));
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
