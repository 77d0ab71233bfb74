//! An all-reduce up and down a tree, step by step, and the latency of both ways.

use super::rates::{bus, fabric, times};
use crate::learn::prelude::*;

/// The doublings of `n`.
fn depth(n: u32) -> u32 {
    n.ilog2()
}

/// Ranks whose data each rank has added up after `steps`, and the messages of the last step: from, to.
fn after(n: u32, steps: u32) -> (Vec<u32>, Vec<(u32, u32)>) {
    let mut sums: Vec<u32> = (0..n).map(|rank| 1 << rank).collect();
    let mut sent = Vec::new();
    for step in 0..steps.min(2 * depth(n)) {
        sent.clear();
        let up = step < depth(n);
        let reach = 1 << if up { step } else { 2 * depth(n) - 1 - step };
        for low in (0..n).step_by(2 * reach as usize) {
            let high = low + reach;
            let (parent, child) = (low as usize, high as usize);
            if up {
                sums[parent] |= sums[child];
                sent.push((high, low));
            } else {
                sums[child] = sums[parent];
                sent.push((low, high));
            }
        }
    }
    (sums, sent)
}

const LEVEL: f64 = 34.0;
const BOX: f64 = 20.0;

/// The tree of `n` ranks with what each has added up, and the messages of the step.
fn drawn(n: u32, sums: &[u32], sent: &[(u32, u32)]) -> Drawing {
    let down = LEVEL * f64::from(depth(n)) + BOX + 8.0;
    let mut drawing = Drawing::new(down);
    // A rank is at the height up to which it adds up others.
    let height = |rank: u32| if rank == 0 { depth(n) } else { rank.trailing_zeros() };
    let place = |rank: u32| {
        let x = (f64::from(rank) + 0.5) / f64::from(n);
        (x, down - BOX / 2.0 - 2.0 - LEVEL * f64::from(height(rank)))
    };
    for rank in 1..n {
        let parent = rank & (rank - 1);
        let active = sent.iter().any(|(from, to)| (*from, *to) == (rank, parent) || (*from, *to) == (parent, rank));
        let (ink, width) = if active { (Ink::Exposed, 3.0) } else { (Ink::Line, 1.0) };
        drawing.line(place(rank), place(parent), ink, width);
    }
    for (rank, sum) in (0..n).zip(sums) {
        let (x, y) = place(rank);
        let wide = 0.8 / f64::from(n);
        let at = Box { x: x - wide / 2.0, width: wide, y: y - BOX / 2.0, height: BOX };
        let done = sum.count_ones() == n;
        drawing.fill(at, Ink::Paper, 1.0, "");
        drawing.fill(at, if done { Ink::Exposed } else { Ink::Forward }, if done { 1.0 } else { 0.25 }, "");
        let ink = if done { Ink::Paper } else { Ink::Text };
        drawing.words((x, y), Anchor::Middle, ink, verbatim(format!("{}/{n}", sum.count_ones())));
    }
    drawing
}

pub(super) fn tree(dials: &Dials) -> Live {
    let (n, steps) = (dials.small("n"), dials.small("j"));
    let (sums, sent) = after(n, steps);
    let complete = sums.iter().filter(|sum| sum.count_ones() == n).count();
    let Some(fabric) = fabric() else {
        return Live::default();
    };
    let nodes = u64::from(n);
    let small = 1e6;
    let [gather, reduce] = times(&fabric, nodes, 1.0);
    let rows = (0..n)
        .zip(&sums)
        .map(|(rank, sum)| vec![t!("rank {rank}", rank), verbatim(format!("{}/{n}", sum.count_ones()))]);
    let share = complete as f64 / f64::from(n);
    let live = Live::of([
        t!(
            "A ring of {n} ranks takes {ring} steps, and each pays the latency of a message. Up a tree sums meet in \
                pairs: after {half} steps rank {first} has the total, which then goes down the same way, {steps} \
                steps in all.",
            n,
            ring = 2 * (n - 1),
            half = depth(n),
            first = 0_u8,
            steps = 2 * depth(n)
        ),
        t!("Over many nodes software uses a tree for small tensors; a large one goes through it in pieces."),
    ])
    .formula("steps: 2 (n − 1) on a ring, 2 log₂ n on a tree", format!("{}, {}", 2 * (n - 1), 2 * depth(n)))
    .note(t!(
        "Over {nodes} nodes of eight GPUs the calculator counts {ring} of latency for two turns of a ring and {tree} \
            for the all-reduce, which reaches {bus} with a message of a megabyte.",
        nodes,
        ring = show_seconds(Seconds(2.0 * gather)),
        tree = show_seconds(Seconds(reduce)),
        bus = show_bandwidth(bus(&fabric, nodes, small)[1])
    ))
    .above("the ranks that have the total", share, 0.99, show_percent);
    Live {
        legend: colours(&[
            (t!("ranks added up, of {n}", n), Ink::Forward),
            (t!("complete, and the messages of this step"), Ink::Exposed),
        ]),
        picture: drawn(n, &sums, &sent).inline(t!(
            "Sums of {n} ranks after {steps}",
            n,
            steps = counts::steps(steps.into())
        )),
        table: data(&["rank", "ranks added up"], rows.collect()),
        ..live
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A binary tree of n ranks: the root has the total after log₂ n steps, every rank after twice as many; n - 1
    /// messages go up and n - 1 down.
    #[test]
    fn every_rank_has_the_total_after_twice_the_depth() {
        for n in [4, 8, 16] {
            let complete = |steps| after(n, steps).0.iter().filter(|sum| sum.count_ones() == n).count();
            assert_eq!((complete(depth(n) - 1), complete(depth(n))), (0, 1));
            assert!(complete(2 * depth(n) - 1) < n as usize);
            assert_eq!(complete(2 * depth(n)), n as usize);
            let messages: usize = (1..=2 * depth(n)).map(|steps| after(n, steps).1.len()).sum();
            assert_eq!(messages, 2 * (n as usize - 1));
        }
    }

    /// NCCL's tuning: a tree's latency grows with the logarithm of the nodes, a ring's with their number.
    #[test]
    fn small_messages_are_sooner_over_a_tree() {
        let fabric = fabric().unwrap();
        for nodes in [4, 8, 16] {
            let [gather, reduce] = times(&fabric, nodes, 1.0);
            assert!(reduce < gather, "{nodes}: {reduce} {gather}");
        }
    }
}
