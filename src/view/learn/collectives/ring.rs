//! An all-reduce around a ring, step by step.

use crate::learn::prelude::*;

/// The pieces on all ranks: of how many ranks each is the sum, which rank's terms it has, and those that came last.
pub(super) struct Pieces {
    /// Bits of the ranks whose data is in the piece, by rank and piece.
    sums: Vec<Vec<u32>>,
    /// True where the last step changed it.
    fresh: Vec<Vec<bool>>,
    /// Pieces that each rank has sent.
    sent: usize,
}

impl Pieces {
    /// After `steps` of an all-reduce over `n` ranks: `n - 1` that add up, then `n - 1` that spread.
    pub(super) fn after(n: usize, steps: usize) -> Self {
        let mut sums: Vec<Vec<u32>> = (0..n).map(|rank| vec![1 << rank; n]).collect();
        let mut fresh = vec![vec![false; n]; n];
        let steps = steps.min(2 * (n - 1));
        for step in 0..steps {
            let adds = step < n - 1;
            // In each step rank r sends the piece that it changed last.
            let piece = |rank: usize| if adds { (rank + n - step) % n } else { (rank + 1 + 2 * n - 1 - step) % n };
            let before = sums.clone();
            fresh = vec![vec![false; n]; n];
            for rank in 0..n {
                let (to, at) = ((rank + 1) % n, piece(rank));
                sums[to][at] = if adds { before[to][at] | before[rank][at] } else { before[rank][at] };
                fresh[to][at] = true;
            }
        }
        Self { sums, fresh, sent: steps }
    }

    /// Pieces that are sums over all ranks.
    fn complete(&self) -> usize {
        let n = self.sums.len();
        self.sums.iter().flatten().filter(|sum| sum.count_ones() as usize == n).count()
    }
}

const ROW: f64 = 24.0;

/// The pieces of `n` ranks, a row for each rank.
fn drawn(n: usize, pieces: &Pieces) -> Drawing {
    let mut drawing = Drawing::new(ROW * n as f64);
    for (rank, row) in pieces.sums.iter().enumerate() {
        drawing.name(ROW * (rank as f64 + 0.5), t!("rank {rank}", rank));
        for (piece, sum) in row.iter().enumerate() {
            let width = 1.0 / n as f64;
            let at =
                Box { x: width * piece as f64, width: width - 0.005, y: ROW * rank as f64 + 1.0, height: ROW - 4.0 };
            let count = sum.count_ones() as usize;
            let ink = if count == n { Ink::Exposed } else { Ink::Forward };
            let opacity = if count == n { 1.0 } else { 0.15 + 0.6 * count as f64 / n as f64 };
            drawing.fill(at, ink, opacity, "");
            if pieces.fresh[rank][piece] {
                drawing.frame(at, Ink::Text);
            }
            let words = verbatim(format!("{count}/{n}"));
            let ink = if opacity > 0.5 { Ink::Paper } else { Ink::Text };
            drawing.words((at.x + at.width / 2.0, at.y + at.height / 2.0), Anchor::Middle, ink, words);
        }
    }
    drawing
}

pub(super) fn ring(dials: &Dials) -> Live {
    let (n, steps) = (dials.small("n") as usize, dials.small("j") as usize);
    let pieces = Pieces::after(n, steps);
    let complete = pieces.complete() as f64 / (n * n) as f64;
    let rows = pieces.sums.iter().enumerate().map(|(rank, row)| {
        let mut cells: Vec<Message> = vec![t!("rank {rank}", rank)];
        let sums: Vec<String> = row.iter().map(|sum| format!("{}/{n}", sum.count_ones())).collect();
        cells.push(verbatim(sums.join(", ")));
        cells
    });
    let head = ["rank", "ranks added up in each piece"];
    let done = pieces.sent;
    let live = Live::of([
        t!(
            "The tensor is cut into {n} pieces. In every step each rank sends one piece to the next rank, which adds \
                it to its own. After {half} each rank has one complete piece.",
            n,
            half = counts::steps(n as u64 - 1)
        ),
        t!(
            "Then complete pieces travel on. After {steps} all ranks have all, and each has sent {share} of the \
                tensor: with many ranks, almost twice.",
            steps = counts::steps(2 * (n as u64 - 1)),
            share = show_percent(2.0 * (n - 1) as f64 / n as f64)
        ),
    ])
    .formula(
        "V = 2 S (n − 1) / n",
        format!("2 · {} / {n} · S = {} S", n - 1, number(2.0 * (n - 1) as f64 / n as f64, 3)),
    )
    .note(t!("So far each rank has sent {share} of the tensor.", share = show_percent(done as f64 / n as f64)))
    .above("the complete pieces on all ranks", complete, 0.99, show_percent);
    Live {
        legend: colours(&[
            (t!("partial sums: ranks added up, of {n}", n), Ink::Forward),
            (t!("complete"), Ink::Exposed),
            (t!("framed: received in this step"), Ink::Paper),
        ]),
        picture: drawn(n, &pieces).inline(t!(
            "Pieces of {n} ranks after {steps}",
            n,
            steps = counts::steps(steps as u64)
        )),
        table: data(&head, rows.collect()),
        ..live
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of n ranks: after n - 1 steps each rank has exactly one sum over all, after 2 (n - 1) every one; each
    /// rank has sent `2 (n - 1)` pieces of `S/n`.
    #[test]
    fn an_all_reduce_is_complete_after_twice_n_minus_one_steps() {
        for n in [2, 4, 8] {
            let half = Pieces::after(n, n - 1);
            let complete = |row: &Vec<u32>| row.iter().filter(|sum| sum.count_ones() as usize == n).count();
            assert!(half.sums.iter().all(|row| complete(row) == 1), "{n}");
            let places: Vec<usize> =
                half.sums.iter().filter_map(|row| row.iter().position(|sum| sum.count_ones() as usize == n)).collect();
            assert!((0..n).all(|piece| places.contains(&piece)), "{n}: each piece is complete on another rank");
            let last = Pieces::after(n, 2 * (n - 1));
            assert_eq!((last.complete(), last.sent), (n * n, 2 * (n - 1)));
            assert!(Pieces::after(n, 2 * (n - 1) - 1).complete() < n * n);
            // No term is added twice: a step adds sums of disjoint ranks.
            for steps in 1..n {
                let counts = Pieces::after(n, steps);
                let most = counts.sums.iter().flatten().map(|sum| sum.count_ones() as usize).max();
                assert_eq!(most, Some(steps + 1));
            }
        }
    }
}
