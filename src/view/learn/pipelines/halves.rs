//! The two products of a backward pass: one that the stage before waits for, and one that can wait.

use super::super::matrices::{ACTIVATIONS, Matrix, Part, Product, WEIGHTS};
use crate::learn::prelude::*;

/// Bytes of a number in bf16.
const BYTES: f64 = 2.0;

/// FLOPs of each product of `s` tokens with a matrix of `h` by `f`, and bytes of what the second product of the
/// backward pass needs until it runs: its input and the gradient of its output.
fn product([s, h, f]: [u64; 3]) -> [f64; 2] {
    let [s, h, f] = [s, h, f].map(|size| size as f64);
    [2.0 * s * h * f, BYTES * s * (h + f)]
}

pub(super) fn halves(dials: &Dials) -> Live {
    let s = dials.get("s");
    let Some(model) = model("llama-3.1-8b") else {
        return Live::default();
    };
    let (h, f) = (model.hidden, model.ffn);
    let own = |name, ink| Matrix::new(name, ink, (1, 1), &|_, _| Part::Own);
    let equation = |name, matrices| Product { name, matrices, signs: &["·", "="] };
    let products = [
        equation(
            t!("F: the output, for the next stage"),
            vec![own("X", ACTIVATIONS), own("W", WEIGHTS), own("Y", ACTIVATIONS)],
        ),
        equation(
            t!("B: the gradient of the input, for the stage before"),
            vec![own("dY", ACTIVATIONS), own("Wᵀ", WEIGHTS), own("dX", ACTIVATIONS)],
        ),
        equation(
            t!("W: the gradient of the weights, for the update"),
            vec![own("Xᵀ", ACTIVATIONS), own("dY", ACTIVATIONS), own("dW", WEIGHTS)],
        ),
    ];
    let [flops, kept] = product([s, h, f]);
    Live::of([
        t!(
            "The backward pass of a matrix is two products. The stage before waits for the gradient of the input; only \
                the update needs the gradient of the weights."
        ),
        t!(
            "So W can run where a rank would idle. Each product is as much work as the forward pass; until W runs, \
                input and gradient stay: {kept}.",
            kept = bytes(kept)
        ),
    ])
    .below("what a product that waits keeps", kept, 0.2e9, bytes)
    .formula("F = B = W = 2 s h f", format!("2 · {s} · {h} · {f} = {} TFLOP", number(flops / 1e12, 3)))
    .note(t!(
        "A matrix of the FFN of {model}. Attention itself and norms have few weights or none: their backward pass is \
            in B.",
        model = verbatim("Llama 3.1 8B")
    ))
    .products(&products)
}

fn bytes(bytes: f64) -> String {
    show_bytes(Bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Zero Bubble, table 1: of a GPT layer F takes `s b h (24 h + 4 s)` operations, B `s b h (24 h + 8 s)`, W
    /// `24 s b h²`. The matrices of the layer, `3 h`, `h`, `4 h` and back from `4 h` wide, are the 24.
    #[test]
    fn the_matrices_of_a_layer_are_the_papers_weight_pass() {
        let (s, h) = (2048, 12_288);
        let matrices = [[s, h, 3 * h], [s, h, h], [s, h, 4 * h], [s, 4 * h, h]];
        let flops: f64 = matrices.iter().map(|sizes| product(*sizes)[0]).sum();
        assert_eq!(flops, 24.0 * 2048.0 * 12_288.0 * 12_288.0);
    }
}
