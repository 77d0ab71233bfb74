//! The module without the page answers the page, which loads it on first use: bytes in, bytes out.

use crate::core::accuracy::Bench;
use crate::io::asked::Asked;
use crate::io::import::Reading;
use crate::io::logs::asked::{Open, Piece};
use crate::web::worker::job::{from_bytes, to_bytes};
use std::cell::RefCell;
use wasm_bindgen::prelude::wasm_bindgen;

thread_local! {
    /// The published runs, as far as they are computed.
    static BENCH: RefCell<Bench> = RefCell::default();
}

/// Requests of the page and their replies, as bytes: see [`Asked`].
#[wasm_bindgen(js_name = answerPage)]
#[must_use]
pub fn answer_page(question: &[u8]) -> Vec<u8> {
    match from_bytes(question) {
        Some(Asked::Import(question)) => to_bytes(&Some(Reading::of(&question))),
        Some(Asked::Export(order)) => to_bytes(&order.written()),
        Some(Asked::Lesson(question)) => to_bytes(&question.page()),
        Some(Asked::Accuracy(question)) => to_bytes(&BENCH.with_borrow_mut(|bench| question.answer(bench))),
        Some(Asked::Crossings(question)) => to_bytes(&question.tables()),
        None => Vec::new(),
    }
}

/// Takes a piece of a file that the page reads: the question, [`Piece`], and its answer as bytes.
#[wasm_bindgen(js_name = readPiece)]
#[must_use]
pub fn read_piece(question: &[u8], bytes: &[u8]) -> Vec<u8> {
    thread_local! {
        static OPEN: RefCell<Open> = const { RefCell::new(None) };
    }
    let take = |piece: Piece| OPEN.with_borrow_mut(|open| piece.take(bytes, open));
    to_bytes(&from_bytes::<Piece>(question).map(take))
}
