//! The embedding under tensor parallelism: its rows are cut, and what its partial results cost to add up.

use super::super::matrices::{ACTIVATIONS, Matrix, Part, Product, WEIGHTS};
use super::{bytes, first};
use crate::learn::prelude::*;

/// Bytes of a number in bf16.
const BYTES: f64 = 2.0;

/// Bytes that a rank sends for the embedding of `s` tokens of width `h` over `t` ranks: an all-reduce without sequence
/// parallelism, a reduce-scatter with it.
fn sent(s: u64, h: u64, t: u64) -> [f64; 2] {
    let share = (t as f64 - 1.0) / t as f64;
    [2.0, 1.0].map(|times| times * share * BYTES * (s * h) as f64)
}

pub(super) fn embedding(dials: &Dials) -> Live {
    let (t, s) = (dials.get("t"), dials.get("s"));
    let Some(model) = model("llama-3.1-70b") else {
        return Live::default();
    };
    let columns = || Matrix::new("X", ACTIVATIONS, (1, t), &|_, column| first(column == 0));
    let rows = || Matrix::new("E", WEIGHTS, (t, 1), &|row, _| first(row == 0));
    let whole = Matrix::new("Y", ACTIVATIONS, (1, 1), &|_, _| Part::Summed);
    let part = Matrix::new("Y", ACTIVATIONS, (t, 1), &|row, _| if row == 0 { Part::Summed } else { Part::Other });
    let signs = &["·", "="];
    let products = [
        Product { name: t!("all-reduce: each rank has every token"), matrices: vec![columns(), rows(), whole], signs },
        Product {
            name: t!("reduce-scatter: each rank has its tokens"),
            matrices: vec![columns(), rows(), part],
            signs,
        },
    ];
    let held = BYTES * (model.vocab * model.hidden) as f64 / t as f64;
    let [reduced, scattered] = sent(s, model.hidden, t);
    Live::of([
        t!(
            "The embedding has a row for each of {vocab} words. Cut by rows, a rank looks up its own words and has \
                zeros for others, so the ranks add up.",
            vocab = model.vocab
        ),
        t!(
            "The sum is an all-reduce, {reduced} per rank. With sequence parallelism a reduce-scatter is enough, \
                {scattered}: the first norm works on a part of the tokens.",
            reduced = bytes(reduced),
            scattered = bytes(scattered)
        ),
    ])
    .below("the embedding's weights on a rank", held, 0.3e9, bytes)
    .formula("2 V h / t", format!("2 · {} · {} / {t} = {}", model.vocab, model.hidden, bytes(held)))
    .note(t!(
        "The output layer at the other end is cut over the vocabulary too, by columns: its logits stay cut, and the \
            loss exchanges a maximum and two sums for each token."
    ))
    .products(&products)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// nccl-tests, PERFORMANCE.md: a rank sends `2 (n − 1)/n` of a tensor for an all-reduce, `(n − 1)/n` for a
    /// reduce-scatter. For 4096 tokens of width 8192 in bf16, 64 MiB, over four ranks: 96 and 48 MiB.
    #[test]
    fn a_reduce_scatter_sends_half_of_an_all_reduce() {
        assert_eq!(sent(4096, 8192, 4), [96.0, 48.0].map(|mib| mib * 1_048_576.0));
    }

    /// Llama 3.1, `config.json`: 128,256 words of width 8192; 2.1 GB in bf16, a quarter of it over four ranks.
    #[test]
    fn a_rank_keeps_its_rows() {
        let step = super::super::LESSON.steps.iter().find(|step| step.id == "embedding").unwrap();
        let [_, values] = (step.live)(&Dials::new(step.sliders, &[1])).formula.unwrap();
        assert!(values.to_string().starts_with("2 · 128256 · 8192 / 4 = "), "{values}");
    }
}
