//! Ring attention under a causal mask: which rank computes which part of it, and who waits in each step.

use crate::charts::figure::key;
use crate::charts::ticks::ticks;
use crate::learn::prelude::*;
use shardscope_core::traffic::{ring_pieces, ring_steps, ring_work};

/// Time of all steps, in full blocks, and what a rank computes of it on average.
fn times(ranks: u64, zigzag: bool) -> (f64, f64) {
    let steps: f64 = ring_steps(ranks, zigzag).iter().sum();
    let work = (0..ranks).flat_map(|rank| (0..ranks).map(move |step| (rank, step)));
    let total: f64 = work.map(|(rank, step)| ring_work(rank, step, ranks, zigzag)).sum();
    (steps, total / ranks as f64)
}

pub(in crate::learn) fn plain(dials: &Dials) -> Live {
    let c = dials.get("c");
    let (steps, work) = times(c, false);
    let text = vec![
        t!(
            "A token sees only earlier ones, so half of attention need not be computed, but not the same half on each \
                rank. Rank {first} has the first tokens and little to do; rank {last} has work in every step.",
            first = 0_u8,
            last = c - 1
        ),
        t!(
            "All move on together: the ring takes {steps} blocks of time for {work} of work, idle {idle}.",
            steps = number(steps, 3),
            work = number(work, 3),
            idle = show_percent(1.0 - work / steps)
        ),
    ];
    let values = format!("{c} − 1/2 = {}", number(steps, 3));
    drawn(
        Live::of(text).below("the idle share", 1.0 - work / steps, 0.35, show_percent).formula("T = c − 1/2", values),
        c,
        false,
    )
}

pub(in crate::learn) fn zigzag(dials: &Dials) -> Live {
    let c = dials.get("c");
    let (before, (steps, work)) = (times(c, false).0, times(c, true));
    let text = vec![
        t!(
            "Cut the sequence into {pieces} pieces. Give rank {first} the first and the last, the next rank the \
                second and the last but one, and so on: every pair has the same work in every step.",
            pieces = 2 * c,
            first = 0_u8
        ),
        t!(
            "The ring takes {steps} instead of {before} blocks of time: idle {idle}. Tokens are dealt out in that \
                order, at almost no cost.",
            steps = number(steps, 3),
            before = number(before, 3),
            idle = show_percent(1.0 - work / steps)
        ),
    ];
    let values = format!("{c} / 2 = {}", number(steps, 3));
    drawn(
        Live::of(text)
            .below("the blocks of time that the ring takes", steps, 1.5, |blocks| number(blocks, 3))
            .formula("T = c / 2", values),
        c,
        true,
    )
}

/// Height of the row of a piece, pixels.
const PIECE: f64 = 13.0;
/// Height of the row of a rank, pixels.
const RANK: f64 = 20.0;
/// Height of the words above the rows, pixels.
const WORDS: f64 = 24.0;
/// Height of the axis, pixels.
const AXIS: f64 = 20.0;
/// Opacity of the ranks between the first and the last.
const FAINT: f64 = 0.3;

/// Ink of a rank's work: the first and the last stand out.
fn ink(rank: u64, ranks: u64) -> (Ink, f64) {
    match rank {
        0 => (Ink::Forward, 1.0),
        rank if rank + 1 == ranks => (Ink::Weight, 1.0),
        _ => (Ink::Forward, FAINT),
    }
}

fn drawn(live: Live, ranks: u64, zigzag: bool) -> Live {
    let pieces = 2 * ranks;
    let foot = WORDS + PIECE * pieces as f64;
    let mut drawing = Drawing::new(foot + WORDS + RANK * ranks as f64 + AXIS);
    let words = t!("the mask: queries downwards, keys across");
    drawing.heading(10.0, words);
    for rank in 0..ranks {
        for piece in ring_pieces(rank, ranks, zigzag) {
            mask_row(&mut drawing, piece, rank, ranks);
        }
    }
    let words = t!("the ring: time in blocks of attention");
    drawing.heading(foot + 14.0, words);
    timeline(&mut drawing, ranks, zigzag, foot + WORDS);
    let label = if zigzag {
        t!("Zig-zag split of a causal mask over {ranks} ranks", ranks)
    } else {
        t!("Plain split of a causal mask over {ranks} ranks", ranks)
    };
    Live { legend: legend(ranks), picture: drawing.inline(label), table: numbers(ranks, zigzag), ..live }
}

/// Work of `rank` for its `piece` of the queries: all keys before it, and half of its own.
fn mask_row(drawing: &mut Drawing, piece: u64, rank: u64, ranks: u64) {
    let width = 1.0 / (2 * ranks) as f64;
    let y = WORDS + PIECE * piece as f64;
    drawing.name(y + PIECE / 2.0, t!("rank {rank}", rank));
    let (ink, opacity) = ink(rank, ranks);
    for key in 0..2 * ranks {
        let at = Box { x: width * key as f64, width: width - 0.002, y, height: PIECE - 1.0 };
        if key < piece {
            drawing.fill(at, ink, opacity, "");
        } else if key == piece {
            // On the diagonal a stair of four: half of the pairs.
            for stair in 0..4_u8 {
                let share = f64::from(stair);
                let step = Box {
                    width: at.width * (share + 0.5) / 4.0,
                    y: y + at.height * share / 4.0,
                    height: at.height / 4.0,
                    ..at
                };
                drawing.fill(step, ink, opacity, "");
            }
        }
        drawing.frame(at, Ink::Line);
    }
}

/// Every rank's work in every step, and what it waits for the slowest; as wide as the plain split needs.
fn timeline(drawing: &mut Drawing, ranks: u64, zigzag: bool, top: f64) {
    let (end, _) = times(ranks, false);
    let mut from = 0.0;
    for (step, most) in (0_u64..).zip(ring_steps(ranks, zigzag)) {
        for rank in 0..ranks {
            let work = ring_work(rank, step, ranks, zigzag);
            let at = |start: f64, length: f64| Box {
                x: (from + start) / end,
                width: length / end - 0.002,
                y: top + RANK * rank as f64 + 2.0,
                height: RANK - 4.0,
            };
            let (ink, opacity) = ink(rank, ranks);
            if work > 0.0 {
                drawing.fill(at(0.0, work), ink, opacity, t!("step {step}", step = step + 1));
            }
            if work < most {
                drawing.hatch(at(work, most - work));
            }
        }
        from += most;
    }
    for rank in 0..ranks {
        let middle = top + RANK * (rank as f64 + 0.5);
        drawing.name(middle, t!("rank {rank}", rank));
    }
    let foot = top + RANK * ranks as f64;
    drawing.line((0.0, foot), (1.0, foot), Ink::Line, 1.0);
    for tick in ticks(0.0, end, 5) {
        let words = verbatim(number(tick, 3));
        drawing.words((tick / end, foot + 11.0), Anchor::Middle, Ink::Muted, words);
    }
}

fn legend(ranks: u64) -> Node {
    let named =
        colours(&[(t!("rank {rank}", rank = 0_u8), Ink::Forward), (t!("rank {rank}", rank = ranks - 1), Ink::Weight)]);
    Node::from_iter([named, key(&[("hatch", "waits for the slowest rank")])])
}

fn numbers(ranks: u64, zigzag: bool) -> Node {
    let (steps, _) = times(ranks, zigzag);
    let row = |rank: u64| -> Vec<Message> {
        let work: f64 = (0..ranks).map(|step| ring_work(rank, step, ranks, zigzag)).sum();
        let pieces = ring_pieces(rank, ranks, zigzag).map(|piece| piece + 1);
        vec![
            t!("rank {rank}", rank),
            verbatim(format!("{}, {}", pieces[0], pieces[1])),
            verbatim(number(work, 3)),
            verbatim(show_percent(1.0 - work / steps)),
        ]
    };
    let head = ["rank", "pieces", "blocks of work", "waits"];
    data(&head, (0..ranks).map(row).collect())
}
