//! A layer downwards: what one rank computes of each part, and what it exchanges between them in either pass.

use crate::learn::caption::{FAINT, of_one_rank};
use crate::learn::matrices::{ACTIVATIONS, WEIGHTS};
use crate::learn::prelude::*;

/// A part of a layer.
pub(super) enum Piece {
    /// A block with weights, with the number of ranks that it is cut over.
    Block(&'static str, u64),
    /// A block without weights, with the number of ranks that it is cut over.
    Between(&'static str, u64),
    /// Exchanges in the forward and in the backward pass; empty: none.
    Exchange(&'static str, [&'static str; 2]),
}

const ROW: f64 = 30.0;
const HEAD: f64 = 22.0;
/// Left edges of the two passes, as shares of the width.
const PASSES: [f64; 2] = [0.0, 0.53];
/// Width of a pass, as a share of the width.
const WIDE: f64 = 0.47;

impl Live {
    /// With a layer for a picture.
    pub(super) fn layer(self, pieces: &[Piece]) -> Self {
        let mut drawing = Drawing::new(HEAD + ROW * pieces.len() as f64);
        for (x, words) in PASSES.into_iter().zip([t!("forward ↓"), t!("backward ↑")]) {
            let middle = (x + WIDE / 2.0, 9.0);
            drawing.words(middle, Anchor::Middle, Ink::Text, words);
            let foot = HEAD + ROW * pieces.len() as f64;
            drawing.line((middle.0, HEAD), (middle.0, foot), Ink::Muted, 1.0);
        }
        for (row, piece) in pieces.iter().enumerate() {
            draw(&mut drawing, piece, HEAD + ROW * row as f64);
        }
        Self {
            legend: legend(),
            picture: drawing.inline("A layer in the forward and in the backward pass"),
            table: numbers(pieces),
            ..self
        }
    }
}

fn draw(drawing: &mut Drawing, piece: &Piece, top: f64) {
    let place = |x, width| Box { x, width, y: top + 3.0, height: ROW - 6.0 };
    let middle = top + ROW / 2.0;
    match piece {
        Piece::Block(name, ranks) => {
            drawing.name(middle, *name);
            cut(drawing, WEIGHTS, *ranks, &place);
        }
        Piece::Between(name, ranks) => {
            drawing.name(middle, *name);
            cut(drawing, ACTIVATIONS, *ranks, &place);
        }
        Piece::Exchange(name, said) => {
            drawing.name(middle, verbatim(*name));
            for (x, words) in PASSES.into_iter().zip(said) {
                if !words.is_empty() {
                    drawing.fill(place(x, WIDE), Ink::Paper, 1.0, "");
                    drawing.frame(place(x, WIDE), Ink::Exposed);
                    let centre = (x + WIDE / 2.0, middle);
                    drawing.words(centre, Anchor::Middle, Ink::Text, *words);
                }
            }
        }
    }
}

/// Equal parts of which one rank does the first.
fn cut(drawing: &mut Drawing, ink: Ink, ranks: u64, place: &dyn Fn(f64, f64) -> Box) {
    let width = WIDE / ranks as f64;
    for x in PASSES {
        drawing.fill(place(x, WIDE), Ink::Paper, 1.0, "");
        for rank in 0..ranks {
            let opacity = if rank == 0 { 1.0 } else { FAINT };
            let part = place(x + width * rank as f64, width - 0.002);
            drawing.fill(part, ink, opacity, "");
        }
    }
}

fn legend() -> Node {
    let entries =
        [(t!("blocks with weights"), WEIGHTS), (t!("norm and dropout"), ACTIVATIONS), (t!("exchanged"), Ink::Exposed)];
    of_one_rank(&entries)
}

fn numbers(pieces: &[Piece]) -> Node {
    let row = |piece: &Piece| match piece {
        Piece::Block(name, ranks) | Piece::Between(name, ranks) => {
            let share = verbatim(show_percent(1.0 / *ranks as f64));
            vec![Message::from(*name), share.clone(), share]
        }
        Piece::Exchange(name, [forward, backward]) => {
            let words_or_dash = |words: &'static str| if words.is_empty() { "–" } else { words };
            vec![verbatim(*name), words_or_dash(forward).into(), words_or_dash(backward).into()]
        }
    };
    let head = ["part of a layer", "forward", "backward"];
    data(&head, pieces.iter().map(row).collect())
}
