//! Matrices in blocks: which blocks one rank keeps, which it receives, and which it adds up with other ranks.

use super::Live;
use super::caption::{FAINT, data, of_one_rank};
use crate::charts::drawing::{Anchor, Box, Drawing};
use crate::charts::ink::Ink;
use crate::prelude::*;

/// Relation of a block to the rank that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The rank keeps the block.
    Own,
    /// The rank receives the block before the product.
    Received,
    /// The rank received the block in a step before, and needs it no longer.
    Past,
    /// The rank has a partial sum of the block, which is added to those of other ranks.
    Summed,
    /// Only other ranks have the block.
    Other,
}

/// A matrix of a product.
pub(super) struct Matrix {
    name: &'static str,
    ink: Ink,
    rows: u64,
    columns: u64,
    parts: Vec<Part>,
}

/// Inks of weights, and of inputs and results.
pub(super) const WEIGHTS: Ink = Ink::Memory(0);
pub(super) const ACTIVATIONS: Ink = Ink::Memory(3);
const MOVED: Ink = Ink::Exposed;
const SUMMED: Ink = Ink::Memory(4);
/// Opacity of what was received in a step before.
const PAST: f64 = 0.4;

impl Matrix {
    /// A matrix of `rows` x `columns` blocks; `part` gives the kind of the block at a row and a column.
    pub fn new(name: &'static str, ink: Ink, (rows, columns): (u64, u64), part: &dyn Fn(u64, u64) -> Part) -> Self {
        let row = |row| (0..columns).map(move |column| part(row, column));
        Self { name, ink, rows, columns, parts: (0..rows).flat_map(row).collect() }
    }
    /// The share of its elements that is `wanted`.
    pub fn share(&self, wanted: Part) -> f64 {
        let found = self.parts.iter().filter(|part| **part == wanted).count();
        found as f64 / self.parts.len().max(1) as f64
    }
}

/// Products below each other, each with its name and its matrices; between matrices are the signs in turn.
pub(super) struct Product {
    pub name: Message,
    pub matrices: Vec<Matrix>,
    pub signs: &'static [&'static str],
}

const WORDS: f64 = 24.0;
const HIGH: f64 = 104.0;
const NAME: f64 = 28.0;
/// Share of the width between blocks.
const GAP: f64 = 0.0015;
/// Share of the width for a sign.
const SIGN: f64 = 0.05;

impl Live {
    /// With products for a picture.
    pub(super) fn products(self, products: &[Product]) -> Self {
        let each = WORDS + HIGH + NAME;
        let mut drawing = Drawing::new(each * products.len() as f64);
        for (row, product) in products.iter().enumerate() {
            draw(&mut drawing, product, each * row as f64);
        }
        let label = Message::joined(", ", products.iter().map(|product| product.name.clone()));
        Self { legend: legend(products), picture: drawing.inline(label), table: numbers(products), ..self }
    }
}

fn draw(drawing: &mut Drawing, product: &Product, top: f64) {
    drawing.heading(top + 10.0, &product.name);
    let count = product.matrices.len() as f64;
    let width = (1.0 - SIGN * (count - 1.0)) / count;
    for (at, matrix) in product.matrices.iter().enumerate() {
        let x = (width + SIGN) * at as f64;
        let rows = matrix.rows as f64;
        let (wide, tall) = (width / matrix.columns as f64, HIGH / rows);
        let y = top + WORDS;
        for (place, part) in (0_u64..).zip(&matrix.parts) {
            let (row, column) = (place / matrix.columns, place % matrix.columns);
            let block =
                Box { x: x + wide * column as f64, width: wide - GAP, y: y + tall * row as f64, height: tall - 1.0 };
            let (ink, opacity) = match part {
                Part::Own => (matrix.ink, 1.0),
                Part::Received => (MOVED, 1.0),
                Part::Past => (MOVED, PAST),
                Part::Summed => (SUMMED, 1.0),
                Part::Other => (matrix.ink, FAINT),
            };
            drawing.fill(block, ink, opacity, "");
        }
        // Blocks in pieces.
        for block in 1..matrix.rows {
            let x = x + width * block as f64 / rows;
            if matrix.columns > matrix.rows {
                drawing.line((x, y), (x, y + HIGH), Ink::Muted, 1.0);
            }
        }
        let name = (x + width / 2.0, y + HIGH + 11.0);
        drawing.words(name, Anchor::Middle, Ink::Text, verbatim(matrix.name));
        if let Some(sign) = product.signs.get(at) {
            let place = (x + width + SIGN / 2.0, y + HIGH / 2.0);
            drawing.words(place, Anchor::Middle, Ink::Text, verbatim(*sign));
        }
    }
}

fn legend(products: &[Product]) -> Node {
    let matrices = || products.iter().flat_map(|product| &product.matrices);
    let kept = |ink| matrices().any(|matrix| matrix.ink == ink && matrix.share(Part::Own) > 0.0);
    let has = |part| matrices().any(|matrix| matrix.share(part) > 0.0);
    let mut entries = Vec::new();
    if kept(ACTIVATIONS) {
        entries.push((t!("activations that one rank keeps"), ACTIVATIONS));
    }
    if kept(WEIGHTS) {
        entries.push((t!("weights that it keeps"), WEIGHTS));
    }
    if has(Part::Received) {
        entries.push((t!("what it receives"), MOVED));
    }
    if has(Part::Past) {
        entries.push((t!("lighter: what it received in steps before"), MOVED));
    }
    if has(Part::Summed) {
        entries.push((t!("partial sums that are added up"), SUMMED));
    }
    of_one_rank(&entries)
}

fn numbers(products: &[Product]) -> Node {
    let row = |product: &Product, matrix: &Matrix| {
        let shares = [Part::Own, Part::Received, Part::Summed];
        let mut cells = vec![product.name.clone(), verbatim(matrix.name)];
        cells.extend(shares.map(|part| verbatim(show_percent(matrix.share(part)))));
        cells
    };
    let mut rows = Vec::new();
    for product in products {
        rows.extend(product.matrices.iter().map(|matrix| row(product, matrix)));
    }
    let head = ["cut", "matrix", "kept", "received", "added up"];
    data(&head, rows)
}
