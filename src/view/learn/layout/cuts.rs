//! One layer and the five ways to cut it: which tensor each of them divides, along which axis.

use super::super::matrices::{ACTIVATIONS, Matrix, Part, Product, WEIGHTS};
use crate::learn::prelude::*;

/// Kinds of parallelism, in the order of the slider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Data,
    Tensor,
    Context,
    Expert,
    Pipeline,
}

const WAYS: [Way; 5] = [Way::Data, Way::Tensor, Way::Context, Way::Expert, Way::Pipeline];

/// The names of the slider's values.
pub(super) fn way(at: usize) -> &'static str {
    ["DP", "TP and SP", "CP", "EP", "PP"][at]
}

fn part(is_own: bool) -> Part {
    if is_own { Part::Own } else { Part::Other }
}

/// The tensors of a layer, and the layers of the model: the share of the first of `n` ranks that divide them.
struct Drawn {
    /// Activations between the blocks: rows are the samples of a batch, each with its tokens from top to bottom;
    /// columns are hidden units.
    between: Matrix,
    /// Activations inside the blocks: rows as above; columns are heads, or units of the FFN.
    inside: Matrix,
    /// Weights that multiply the activations between the blocks: columns are heads, or units of the FFN.
    first: Matrix,
    /// Weights whose products lie between the blocks: rows are heads, or units of the FFN.
    second: Matrix,
    /// Routed experts, side by side.
    experts: Matrix,
    /// Layers of the model, one above the other.
    layers: Matrix,
}

impl Drawn {
    fn of(way: Way, n: u64) -> Self {
        // Row r is a part of the tokens of sample r / n.
        let tokens = (n * n, n);
        let row = move |row: u64| match way {
            Way::Data => row < n,
            Way::Tensor | Way::Context => row.is_multiple_of(n),
            Way::Expert | Way::Pipeline => true,
        };
        // Inside the blocks tensor parallelism has all tokens of its columns.
        let inner = move |at: u64, column: u64| if way == Way::Tensor { column == 0 } else { row(at) };
        let cut = move |at: u64| way != Way::Tensor || at == 0;
        let expert = move |row: u64, at: u64| cut(row) && (way != Way::Expert || at == 0);
        Self {
            between: Matrix::new("X", ACTIVATIONS, tokens, &|at, _| part(row(at))),
            inside: Matrix::new("Y", ACTIVATIONS, tokens, &|at, column| part(inner(at, column))),
            first: Matrix::new("A", WEIGHTS, (n, n), &|_, column| part(cut(column))),
            second: Matrix::new("B", WEIGHTS, (n, n), &|row, _| part(cut(row))),
            experts: Matrix::new("E", WEIGHTS, (n, n), &|row, at| part(expert(row, at))),
            layers: Matrix::new("L", WEIGHTS, (n, 1), &|row, _| part(way != Way::Pipeline || row == 0)),
        }
    }
    fn weights(&self) -> [f64; 4] {
        [&self.first, &self.second, &self.experts, &self.layers].map(|matrix| matrix.share(Part::Own))
    }
    fn tokens(&self) -> [f64; 2] {
        [&self.between, &self.inside].map(|matrix| matrix.share(Part::Own))
    }
}

/// What is cut, and what it costs.
fn words(way: Way, n: u64) -> [Message; 2] {
    match way {
        Way::Data => [
            t!("Data parallelism cuts the batch: of {n} samples a rank has one, and all weights of all layers.", n),
            t!("The ranks add up their gradients once a step. ZeRO also cuts what comes with the weights: optimizer \
                states, then gradients, then the weights themselves until a layer needs them."),
        ],
        Way::Tensor => [
            t!("Tensor parallelism cuts heads and the FFN's units: columns of A, rows of B, and the columns of Y \
                    between them. Sequence parallelism cuts X, which no matrix reads there, by tokens."),
            t!("Every block gathers X before it and scatters sums behind it."),
        ],
        Way::Context => [
            t!("Context parallelism cuts each sequence: a rank has a part of the tokens of every sample, inside the \
                    blocks as well, and all weights."),
            t!("Only attention looks at other tokens: keys and values travel between the ranks. Gradients are added \
                    up as in data parallelism."),
        ],
        Way::Expert => [
            t!("Expert parallelism cuts the list of experts: a rank has one part of E whole, and everything else of \
                    the layer too."),
            t!("A token goes to the ranks of its experts and comes back, two exchanges of all with all in each pass. \
                    The ranks take other samples, as in data parallelism."),
        ],
        Way::Pipeline => [
            t!(
                "Pipeline parallelism cuts the list of layers: a rank has whole layers, with all samples and all their \
                    tokens, one micro-batch after the other."
            ),
            t!("X is sent on between neighbours, little beside the other exchanges. The cost is the bubble while the \
                    pipeline fills and drains."),
        ],
    }
}

pub(super) fn cuts(dials: &Dials) -> Live {
    let n = dials.get("n");
    let at = usize::try_from(dials.get("k")).unwrap_or(0).min(WAYS.len() - 1);
    let way = WAYS[at];
    let drawn = Drawn::of(way, n);
    let [first, second, experts, layers] = drawn.weights();
    let held = layers * (first + second + experts) / 3.0;
    let [between, inside] = drawn.tokens();
    let Drawn { between: x, inside: y, first: a, second: b, experts: e, layers: l } = drawn;
    let products = [
        Product { name: t!("tokens: X between blocks, Y inside"), matrices: vec![x, y], signs: &["→"] },
        Product {
            name: t!("weights: A and B, experts E; all layers L"),
            matrices: vec![a, b, e, l],
            signs: &["", "", ""],
        },
    ];
    let shares = [between, inside, held].map(show_percent);
    let [x, y, w] = shares;
    Live::of(words(way, n))
        .below("the share of weights and layers on a rank", held, 0.3, show_percent)
        .note(t!(
            "Down X and Y are {n} samples with their tokens; A reads X, B writes it again. A rank has {x} of X, {y} of \
                Y and {w} of the weights. The five multiply: each cuts another axis.",
            n,
            x,
            y,
            w
        ))
        .products(&products)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(more: &str) -> String {
        format!("model.base=mixtral-8x7b&model.vocab=32768&seq_len=4096&recompute=full&{more}")
    }

    /// Parameters of the first rank without embedding, norms and router.
    fn matrices(more: &str) -> f64 {
        let evaluation = run(&settings(more)).unwrap();
        let t = evaluation.scenario.layout.tp as f64;
        let layers = evaluation.scenario.stage_layers[0] as f64;
        let whole = layers * 4096.0 * (2.0 + 8.0);
        let ends =
            if evaluation.scenario.layout.pp == 1 { 2.0 * 32_768.0 * 4096.0 / t + 4096.0 } else { 32_768.0 * 4096.0 };
        evaluation.report.parameters.per_stage[0] - whole - ends
    }

    /// Mixtral 8x7B, with a vocabulary that no rank pads: attention h (h + 2 h / 4) + h² and 8 experts of 3 h f in
    /// each of 32 layers, h 4096, f 14336. What the calculator puts on a rank is the share that is drawn, of each kind.
    #[test]
    fn the_drawn_shares_are_those_of_the_calculators_ranks() {
        let attention = 32.0 * 2.5 * 4096.0 * 4096.0;
        let experts = 32.0 * 8.0 * 3.0 * 4096.0 * 14_336.0;
        for n in [2, 4] {
            let ways = [
                (Way::Data, format!("gpus={n}&tp=1&pp=1&ep=1&global_batch={n}")),
                (Way::Tensor, format!("gpus={n}&tp={n}&etp={n}&pp=1&ep=1&global_batch={n}")),
                (Way::Context, format!("gpus={n}&tp=1&pp=1&ep=1&cp={n}&global_batch={n}")),
                (Way::Expert, format!("gpus={n}&tp=1&pp=1&ep={n}&global_batch={n}")),
                (Way::Pipeline, format!("gpus={n}&tp=1&pp={n}&ep=1&global_batch={n}")),
            ];
            for (way, more) in ways {
                let [first, _, expert, layers] = Drawn::of(way, n).weights();
                let drawn = layers * (first * attention + expert * experts);
                let ours = matrices(&more);
                assert!((ours / drawn - 1.0).abs() < 1e-9, "{way:?} {n}: {ours} {drawn}");
            }
        }
    }

    /// With full recomputation a layer keeps its input, 2 s b h bytes: X, of which a rank keeps the drawn share of one
    /// micro-batch. Data and expert parallelism give a rank fewer micro-batches, the pipeline fewer layers.
    #[test]
    fn the_drawn_share_of_tokens_is_what_a_rank_keeps() {
        for n in [2, 4] {
            for (way, more) in [(Way::Tensor, format!("tp={n}")), (Way::Context, format!("tp=1&cp={n}"))] {
                let evaluation = run(&settings(&format!("gpus={n}&pp=1&global_batch=1&{more}"))).unwrap();
                let kept = evaluation.report.memory.per_stage[0].activations.0;
                let [between, _] = Drawn::of(way, n).tokens();
                let closed = 32.0 * 2.0 * 4096.0 * 4096.0 * between;
                assert!((kept / closed - 1.0).abs() < 0.01, "{way:?} {n}: {kept} {closed}");
            }
            let [between, inside] = Drawn::of(Way::Data, n).tokens();
            let alone = run(&settings(&format!("gpus={n}&tp=1&pp=1&global_batch={n}"))).unwrap();
            assert_eq!((between * n as f64, inside * n as f64), (1.0, 1.0));
            assert_eq!(alone.report.layout.microbatches, 1, "{n} samples over {n} ranks");
        }
    }
}
