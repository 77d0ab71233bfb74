//! Tensor parallelism over a square and over a cube of ranks.

use crate::learn::matrices::{ACTIVATIONS, Matrix, Part, Product, WEIGHTS};
use crate::learn::prelude::*;
use shardscope_core::traffic::{GridCut, grid_cuts};
use std::cmp::Ordering;

const VOLUME: Scale = Scale { parts: &[("received by a rank, over one activation", Ink::Exposed)], unit: ("", 1.0) };

/// Activations that a rank receives in a cut over `ranks` ranks in `dimensions` dimensions, and the number of messages.
fn received(ranks: u64, dimensions: u32) -> (f64, f64) {
    let cuts = grid_cuts(ranks);
    let found = cuts.iter().find(|cut| cut.dimensions == dimensions);
    found.map_or((0.0, 0.0), |cut| (cut.communication, cut.steps))
}

fn three_digits(value: f64) -> String {
    number(value, 3)
}

fn side(ranks: u64, dimensions: u32) -> u64 {
    (1..=ranks).find(|side| side.pow(dimensions) >= ranks).unwrap_or(1)
}

/// With the matrices of one rank under `name`, and below them what a rank receives in each of the cuts.
fn shown(live: Live, ranks: u64, name: Message, matrices: Vec<Matrix>) -> Live {
    let live = live.products(&[Product { name, matrices, signs: &["·", "="] }]);
    let cuts = grid_cuts(ranks);
    let name = |cut: &GridCut| verbatim(format!("{}D", cut.dimensions));
    let bar = |cut: &GridCut| Bar::new(name(cut), [cut.communication]);
    let bars: Vec<Bar> = cuts.iter().map(bar).collect();
    let row = |cut: &GridCut| {
        let shares = [cut.parameters, cut.activations].map(show_percent);
        let counts = [cut.communication, cut.steps].map(|count| number(count, 3));
        let mut cells = vec![name(cut)];
        cells.extend(shares.into_iter().chain(counts).map(verbatim));
        cells
    };
    let head = ["cut", "weights kept", "activations kept", "received, in activations", "messages"];
    let below = Live::default().bars(&VOLUME, &bars, None);
    let picture = [live.picture, below.legend, below.picture];
    Live { picture: picture.into_iter().collect(), table: data(&head, cuts.iter().map(row).collect()), ..live }
}

/// The matrices of the rank at row and column 1 of a square, in one of its `side` steps, counted from 1: the column of
/// the input with the step's number goes along the rows of ranks, and that row of the weights down their columns.
fn square_of(side: u64, step: u64) -> Vec<Matrix> {
    let matrix = |name, ink, row: bool, column: bool| {
        Matrix::new(name, ink, (side, side), &move |i, j| match (i == 1, j == 1) {
            (true, true) => Part::Own,
            (true, false) if row => sent_in(j + 1, step),
            (false, true) if column => sent_in(i + 1, step),
            _ => Part::Other,
        })
    };
    vec![
        matrix("X", ACTIVATIONS, true, false),
        matrix("A", WEIGHTS, false, true),
        matrix("Y", ACTIVATIONS, false, false),
    ]
}

/// The part that a block sent in the step `sent` is in `step`.
fn sent_in(sent: u64, step: u64) -> Part {
    match sent.cmp(&step) {
        Ordering::Less => Part::Past,
        Ordering::Equal => Part::Received,
        Ordering::Greater => Part::Other,
    }
}

pub(super) fn square(dials: &Dials) -> Live {
    let ranks = dials.get("P");
    let q = side(ranks, 2);
    let step = dials.get("i").min(q);
    let (line, (two, steps)) = (received(ranks, 1).0, received(ranks, 2));
    let values = format!("2 · {} / {q}² = {}", q - 1, number(two, 3));
    let note = t!(
        "Input and weights are taken to be equally large; the method is called SUMMA. In one dimension an all-reduce: \
            {formula}.",
        formula = "V = 2 (P − 1) / P"
    );
    let live = Live::of([
        t!("Cut in one dimension, a rank always has the whole input or adds up the whole output."),
        t!(
            "In a square of {q} by {q} ranks each has one block of every matrix. In {q} steps it receives its row \
                of the input and its column of the weights: {two} of an activation instead of {line}, in {steps} \
                messages.",
            q,
            two = number(two, 3),
            line = number(line, 3),
            steps = number(steps, 3)
        ),
    ])
    .below("what a rank receives", two, 0.3, three_digits)
    .formula("V = 2 (q − 1) / q²", values)
    .note(note);
    let matrices = square_of(q, step);
    let blocks: f64 = matrices.iter().map(|matrix| matrix.share(Part::Received)).sum::<f64>() * ranks as f64;
    let sum = format!("Y += X[{step}] · A[{step}]");
    let name = if blocks > 0.0 {
        t!("step {step} of {q}: it receives {blocks} blocks, {sum}", step, q, blocks = number(blocks, 2), sum)
    } else {
        t!("step {step} of {q}: it sends its blocks, {sum}", step, q, sum)
    };
    shown(live, ranks, name, matrices)
}

/// The matrices of the first rank of a cube: each block of a square lies in pieces on the ranks along the third axis.
fn cube_of(side: u64) -> Vec<Matrix> {
    let matrix = |name, ink, others| {
        Matrix::new(name, ink, (side, side * side), &move |row, piece| {
            if row > 0 || piece >= side {
                Part::Other
            } else if piece == 0 {
                Part::Own
            } else {
                others
            }
        })
    };
    vec![
        matrix("X", ACTIVATIONS, Part::Received),
        matrix("A", WEIGHTS, Part::Received),
        matrix("Y", ACTIVATIONS, Part::Summed),
    ]
}

pub(super) fn cube(dials: &Dials) -> Live {
    let ranks = dials.get("P");
    let q = side(ranks, 3);
    let (line, (three, steps)) = (received(ranks, 1).0, received(ranks, 3));
    let text = vec![
        t!(
            "A product has three indices: rows of the input, columns of the weights, and the one it sums over. A cube \
                of ranks, {q} along each edge, cuts all three.",
            q
        ),
        t!(
            "A rank gathers its blocks and moves {three} of an activation instead of {line}, but in {steps} small \
                messages. Large runs keep to one dimension inside a node.",
            three = number(three, 3),
            line = number(line, 3),
            steps = number(steps, 3)
        ),
    ];
    let values = format!("3 · {} / {q}³ = {}", q - 1, number(three, 3));
    let live =
        Live::of(text).below("what a rank receives", three, 0.2, three_digits).formula("V = 3 (q − 1) / q³", values);
    shown(live, ranks, t!("one rank of {ranks}", ranks), cube_of(q))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pictures show the volumes that the calculator counts, and each rank keeps its part of every matrix: `O(1/q)` and
    /// `O(1/q²)` of the Fudan lecture.
    #[test]
    fn pictures_show_the_volumes_of_the_calculator() {
        let moved = |matrices: &[Matrix]| -> f64 {
            let shares = |part| matrices.iter().map(move |matrix| matrix.share(part));
            shares(Part::Received).chain(shares(Part::Summed)).sum()
        };
        for (ranks, q) in [(4, 2), (16, 4), (64, 8)] {
            assert_eq!(side(ranks, 2), q);
            // Of each step, and of all steps together.
            let steps: Vec<Vec<Matrix>> = (1..=q).map(|step| square_of(q, step)).collect();
            let each: Vec<f64> = steps.iter().map(|drawn| moved(drawn)).collect();
            assert!((each.iter().sum::<f64>() - received(ranks, 2).0).abs() < 1e-12);
            // Two blocks come in each step but the rank's own, in which it sends.
            let blocks = each.iter().map(|share| share * ranks as f64);
            assert!(blocks.zip(1..).all(|(blocks, step)| blocks == if step == 2 { 0.0 } else { 2.0 }));
            let messages: f64 = each.iter().map(|share| share * ranks as f64).sum();
            assert_eq!(messages, received(ranks, 2).1);
            let drawn = &steps[0];
            assert!(drawn.iter().all(|it| it.share(Part::Own) == 1.0 / ranks as f64));
        }
        for (ranks, q) in [(8, 2), (27, 3), (64, 4)] {
            assert_eq!(side(ranks, 3), q);
            let drawn = cube_of(q);
            assert!((moved(&drawn) - received(ranks, 3).0).abs() < 1e-12);
            assert!(drawn.iter().all(|it| it.share(Part::Own) == 1.0 / ranks as f64));
        }
    }
}
