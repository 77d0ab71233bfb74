//! Ring attention: where each block of keys and values is in every step.

use crate::learn::prelude::*;
use shardscope_core::cluster::{Link, ParallelAxis};
use shardscope_core::traffic::{bandwidth, flops_per_byte, microbatch_traffic, ring_block_ratio, ring_buffer};
use std::f64::consts::TAU;

/// The rank whose keys and values `rank` meets in `step`.
fn met(rank: u64, step: u64, ranks: u64) -> u64 {
    (rank + ranks - step % ranks) % ranks
}

pub(in crate::learn) fn ring(dials: &Dials) -> Live {
    let (c, s) = (dials.get("c"), dials.get("s"));
    let step = dials.get("j").min(c);
    let live = |text| drawn(Live::of(text), c, step);
    let Some(it) = scenario(c, s) else {
        return live(Vec::new());
    };
    let sent = microbatch_traffic(&it, 0).cp.0 / it.model.layers as f64;
    let block = sent / (3.0 * (c as f64 - 1.0));
    let each = it.tokens_per_rank();
    let text = vec![
        t!(
            "Each of {c} ranks keeps the queries of its tokens. Keys and values travel: a rank attends to one block \
                while it passes it on and receives the next.",
            c
        ),
        t!(
            "After {c} steps every query has met every key. The cost: {block} moves {times} per layer, three times \
                that with the backward pass. They hide where attention takes longer.",
            c,
            times = counts::times(c - 1),
            block = show_bytes(Bytes(block))
        ),
    ];
    let link = it.layout.mesh().link(ParallelAxis::Cp);
    let wire = bandwidth(&it, link);
    let share = it.model.kv_heads as f64 / it.model.heads as f64;
    let per_byte = flops_per_byte(it.gpu.bf16, wire);
    let ratio = ring_block_ratio(share, each, false, per_byte);
    let network = bandwidth(&it, Link::Inter);
    let needed = ring_block_ratio(share, 1.0, false, flops_per_byte(it.gpu.bf16, network));
    let values = format!(
        "{}/{} · {} / {} = {}",
        it.model.kv_heads,
        it.model.heads,
        number(per_byte.round(), 4),
        number(each, 9),
        number(ratio, 2)
    );
    let note = t!(
        "A move over the attention of a block, at data-sheet rates: it hides while the ratio is below {one}. Over the \
            network, {rate}, a rank needs {tokens} tokens for that, and twice as many under a causal mask.",
        one = 1_u8,
        rate = show_bandwidth(network.0),
        tokens = number(needed.round(), 6)
    );
    let loops = t!(
        "As a double loop: {loops}. The inner loop runs on all ranks at once, and the sums are scaled to a common \
            largest score. No rank holds more than two blocks: at least {buffer} with queries and output.",
        buffer = show_bytes(ring_buffer(&it, each)),
        loops = t!("for j in 0 … c − 1, for i in 0 … c − 1: Oᵢ ← Oᵢ + exp(Qᵢ Kᵢ₋ⱼᵀ) Vᵢ₋ⱼ")
    );
    let note = Message::joined(" ", [loops, note]);
    live(text)
        .below("the ratio of a move to the attention of a block", ratio, 0.005, |ratio| number(ratio, 2))
        .formula("ratio = (k / a) F / ((s / c) B)", values)
        .note(note)
}

const HIGH: f64 = 300.0;
/// Half of the ring's axes: a share of the width, and pixels.
const AXES: (f64, f64) = (0.40, 118.0);
/// Half of a rank's box.
const HALF: (f64, f64) = (0.085, 21.0);
/// Directions on the page, from rightwards on against the clock.
const ARROWS: [&str; 8] = ["→", "↗", "↑", "↖", "←", "↙", "↓", "↘"];

/// Place on the page at a share of the ring, from the top on with the clock.
fn place(turn: f64) -> (f64, f64) {
    let (sin, cos) = (turn * TAU).sin_cos();
    (0.5 + AXES.0 * sin, HIGH / 2.0 - AXES.1 * cos)
}

fn drawn(live: Live, ranks: u64, step: u64) -> Live {
    let mut drawing = Drawing::new(HIGH);
    let count = ranks as f64;
    for rank in 0..ranks {
        let turn = rank as f64 / count;
        // The way to the next rank, in pieces that follow the curve.
        let pieces = 8_u8;
        for piece in 0..pieces {
            let at = |piece: u8| place(turn + f64::from(piece) / f64::from(pieces) / count);
            drawing.line(at(piece), at(piece + 1), Ink::Exposed, 1.5);
        }
    }
    for rank in 0..ranks {
        let turn = rank as f64 / count;
        let (x, y) = place(turn);
        let at = Box { x: x - HALF.0, width: 2.0 * HALF.0, y: y - HALF.1, height: 2.0 * HALF.1 };
        let block = met(rank, step - 1, ranks);
        drawing.fill(at, Ink::Paper, 1.0, "");
        if block == 0 {
            drawing.fill(at, Ink::Exposed, 0.2, "");
        }
        drawing.frame(at, Ink::Muted);
        let lines = [t!("rank {rank}", rank), verbatim(format!("K V {block}"))];
        for (line, words) in lines.into_iter().enumerate() {
            let ink = if line == 0 { Ink::Muted } else { Ink::Text };
            let at = (x, y - 8.0 + 16.0 * line as f64);
            drawing.words(at, Anchor::Middle, ink, words);
        }
        let ahead = turn + 0.5 / count;
        let way = ARROWS[direction(ahead)];
        let (x, y) = place(ahead);
        let paper = Box { x: x - 0.02, width: 0.04, y: y - 8.0, height: 16.0 };
        drawing.fill(paper, Ink::Paper, 1.0, "");
        drawing.words((x, y), Anchor::Middle, Ink::Exposed, verbatim(way));
    }
    let words = t!("step {step} of {ranks}", step, ranks);
    drawing.words((0.5, HIGH / 2.0), Anchor::Middle, Ink::Text, words.clone());
    let row = |rank: u64| -> Vec<Message> {
        let block = met(rank, step - 1, ranks);
        vec![
            t!("rank {rank}", rank),
            t!("rank {rank}", rank = block),
            if step < ranks { t!("rank {rank}", rank = (rank + 1) % ranks) } else { verbatim("–") },
        ]
    };
    let head = ["queries", "meet keys and values of", "then sent to"];
    Live {
        legend: colours(&[
            (t!("passed on while attention computes"), Ink::Exposed),
            (t!("shaded: the block that began on rank {rank}", rank = 0_u8), Ink::Paper),
        ]),
        picture: drawing.inline(words),
        table: data(&head, (0..ranks).map(row).collect()),
        ..live
    }
}

/// The arrow that follows the ring at `turn`, with the clock.
fn direction(turn: f64) -> usize {
    // At the top the way is to the right; an eighth of a turn on, to the lower right.
    let eighths = (turn * 8.0).round().rem_euclid(8.0);
    let against = (8.0 - eighths).rem_euclid(8.0);
    (0..8_u8).find(|eighth| (f64::from(*eighth) - against).abs() < 0.5).map_or(0, usize::from)
}

/// A Llama of 8 B over `tp` tensor-parallel and `cp` context-parallel ranks.
pub(super) fn settings(tp: u64, cp: u64, s: u64) -> String {
    let gpus = tp * cp;
    format!("model=llama-3.1-8b&gpus={gpus}&tp={tp}&cp={cp}&pp=1&global_batch=4&seq_len={s}")
}

pub(super) fn scenario(cp: u64, s: u64) -> Option<Scenario> {
    Some(*run(&settings(1, cp, s))?.scenario)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In c steps every rank meets every block once, and in each step every block is on one rank.
    #[test]
    fn every_query_meets_every_key_once() {
        for ranks in [2, 4, 8] {
            let sources: Vec<u64> = (0..ranks).collect();
            let sorted = |mut blocks: Vec<u64>| {
                blocks.sort_unstable();
                blocks
            };
            for one in 0..ranks {
                let by_step = (0..ranks).map(|step| met(one, step, ranks)).collect();
                let by_rank = (0..ranks).map(|rank| met(rank, one, ranks)).collect();
                assert_eq!((sorted(by_step), sorted(by_rank)), (sources.clone(), sources.clone()));
                // A rank's block of now is the next rank's one step later.
                assert_eq!(met(one, 1, ranks), met((one + 1) % ranks, 2, ranks));
            }
        }
    }

    /// The double loop over steps and ranks, with sums scaled to the largest score so far, is attention over all keys.
    #[test]
    fn the_double_loop_is_attention() {
        let ranks = 4;
        let queries = [0.3, -1.2, 2.0, 0.7];
        let blocks = [
            [(0.5, 1.0), (-0.2, 3.0)],
            [(1.1, -2.0), (0.0, 0.5)],
            [(-0.7, 4.0), (2.2, 1.5)],
            [(0.9, -1.0), (0.4, 2.5)],
        ];
        let mut sums = [(f64::NEG_INFINITY, 0.0, 0.0); 4];
        for step in 0..ranks {
            for rank in 0..ranks {
                let at = usize::try_from(rank).unwrap();
                let (most, below, above) = &mut sums[at];
                for (key, value) in blocks[usize::try_from(met(rank, step, ranks)).unwrap()] {
                    let score: f64 = queries[at] * key;
                    let larger = most.max(score);
                    let (old, new) = ((*most - larger).exp(), (score - larger).exp());
                    (*most, *below, *above) = (larger, *below * old + new, *above * old + new * value);
                }
            }
        }
        for (query, (_, below, above)) in queries.iter().zip(sums) {
            let weighted = || blocks.iter().flatten().map(|(key, value): &(f64, f64)| ((query * key).exp(), *value));
            let whole: f64 = weighted().map(|(weight, value)| weight * value).sum::<f64>()
                / weighted().map(|(weight, _)| weight).sum::<f64>();
            assert!((above / below - whole).abs() < 1e-12);
        }
    }

    #[test]
    fn arrows_follow_the_clock() {
        let at = |turn| ARROWS[direction(turn)];
        assert_eq!([at(0.0), at(0.25), at(0.5), at(0.75)], ["→", "↓", "←", "↑"]);
    }
}
