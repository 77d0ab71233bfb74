//! The two products of a backward pass: one that the stage before waits for, and one that can wait.

use super::super::caption::listed;
use super::super::matrices::{ACTIVATIONS, Matrix, Part, Product, WEIGHTS};
use crate::learn::prelude::*;
use shardscope_core::pipeline::OpKind;
use std::cmp::Ordering;

/// Bytes of a number in bf16.
const BYTES: f64 = 2.0;

/// FLOPs of each product of `s` tokens with a matrix of `h` by `f`, and bytes of what the second product of the
/// backward pass needs until it runs: its input and the gradient of its output.
fn product([s, h, f]: [u64; 3]) -> [f64; 2] {
    let [s, h, f] = [s, h, f].map(|size| size as f64);
    [2.0 * s * h * f, BYTES * s * (h + f)]
}

/// Stages of the graph.
const STAGES: u32 = 4;

/// A product of one micro-batch on a stage: forward, gradient of the input, gradient of the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pass {
    kind: OpKind,
    stage: u32,
}

/// What waits for what, over all stages: the pass that is waited for, the pass that waits, and the name of the tensor
/// between them. A gradient of weights waits for the input and the gradient of the output; nothing waits for it.
fn waits() -> Vec<(Pass, Pass, &'static str)> {
    let pass = |kind, stage| Pass { kind, stage };
    let mut all = Vec::new();
    for stage in 0..STAGES {
        let [f, b, w] = [OpKind::F, OpKind::B, OpKind::W].map(|kind| pass(kind, stage));
        if stage + 1 < STAGES {
            all.push((f, pass(OpKind::F, stage + 1), "Y"));
            all.push((pass(OpKind::B, stage + 1), b, "dX"));
            all.push((pass(OpKind::B, stage + 1), w, "dX"));
        } else {
            all.push((f, b, "dY"));
            all.push((f, w, "dY"));
        }
    }
    all
}

/// Height of a row of the graph, and of a pass in it, pixels.
const ROW: f64 = 52.0;
const TALL: f64 = 26.0;
/// Width of a pass, a share of the width.
const WIDE: f64 = 0.12;
const HEAD: f64 = 24.0;
/// Way around a pass, a share of the width.
const PAST: f64 = 0.03;

/// The passes of one micro-batch, a column a stage, with an arrow from each to those that wait for it.
fn graph() -> Node {
    let rows = [(OpKind::F, "F", Ink::Forward), (OpKind::B, "B", Ink::Backward), (OpKind::W, "W", Ink::Weight)];
    let mut drawing = Drawing::new(HEAD + ROW * rows.len() as f64);
    let row = |kind: OpKind| rows.iter().position(|(one, ..)| *one == kind).unwrap_or(0) as f64;
    let left = |stage: u32| (f64::from(stage) + 0.5) / f64::from(STAGES) - WIDE / 2.0;
    let middle = |kind: OpKind| HEAD + ROW * row(kind) + TALL / 2.0;
    for (from, to, tensor) in waits() {
        let (start, end) = (middle(from.kind), middle(to.kind));
        let ink = if to.kind == OpKind::W { Ink::Muted } else { Ink::Text };
        let [tail, head] = match (from.stage.cmp(&to.stage), from.kind == to.kind) {
            // To the next stage, or back to the one before.
            (Ordering::Less, _) => [(left(from.stage) + WIDE, start), (left(to.stage), end)],
            (Ordering::Greater, true) => [(left(from.stage), start), (left(to.stage) + WIDE, end)],
            (Ordering::Greater, false) => [(left(from.stage), start + 4.0), (left(to.stage) + WIDE, end)],
            // The last stage turns around: down to B, and past it to W.
            (Ordering::Equal, _) if to.kind == OpKind::B => {
                let x = left(from.stage) + WIDE / 2.0;
                [(x, start + TALL / 2.0), (x, end - TALL / 2.0)]
            }
            (Ordering::Equal, _) => [(left(from.stage) + WIDE, start), (left(to.stage) + WIDE, end)],
        };
        if from.stage == to.stage && to.kind == OpKind::W {
            // Past B.
            let x = tail.0 + PAST;
            drawing.line(tail, (x, start), ink, 1.5);
            drawing.line((x, start), (x, end), ink, 1.5);
            drawing.line((x, end), head, ink, 1.5);
        } else {
            drawing.line(tail, head, ink, 1.5);
        }
        let point = match (to.kind, from.stage.cmp(&to.stage)) {
            (OpKind::F, _) => "▸",
            (OpKind::B, Ordering::Equal) => "▾",
            _ => "◂",
        };
        drawing.words(head, Anchor::Middle, ink, verbatim(point));
        if to.kind != OpKind::W {
            let beside = if from.stage == to.stage { 0.02 } else { 0.0 };
            let above = if from.stage == to.stage { 0.0 } else { -8.0 };
            let place = (f64::midpoint(tail.0, head.0) + beside, f64::midpoint(start, end) + above);
            drawing.words(place, Anchor::Middle, Ink::Muted, verbatim(tensor));
        }
    }
    for stage in 0..STAGES {
        let x = left(stage);
        drawing.words((x + WIDE / 2.0, 10.0), Anchor::Middle, Ink::Muted, t!("stage {stage}", stage));
        for (kind, letter, ink) in rows {
            let at = Box { x, width: WIDE, y: middle(kind) - TALL / 2.0, height: TALL };
            drawing.fill(at, ink, 1.0, "");
            drawing.words((x + WIDE / 2.0, middle(kind)), Anchor::Middle, Ink::Paper, verbatim(letter));
        }
    }
    for (kind, letter, _) in rows {
        drawing.name(middle(kind), verbatim(letter));
    }
    drawing.inline("What waits for what in a pipeline: W waits, and nothing waits for W")
}

/// The passes, and which of the others wait for each.
fn waiting() -> Node {
    let named = |pass: Pass| format!("{} {}", pass.kind.letters(), pass.stage);
    let rows = [OpKind::F, OpKind::B, OpKind::W].into_iter().flat_map(|kind| {
        (0..STAGES).map(move |stage| {
            let pass = Pass { kind, stage };
            let after: Vec<String> =
                waits().into_iter().filter(|(from, ..)| *from == pass).map(|(_, to, _)| named(to)).collect();
            let after = match kind {
                OpKind::W => t!("nothing but the update"),
                _ if after.is_empty() => verbatim("–"),
                _ => verbatim(after.join(", ")),
            };
            vec![verbatim(named(pass)), after]
        })
    });
    listed("What waits for what", &["pass and stage", "what waits for it"], rows.collect())
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
    let live = Live::of([
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
    .products(&products);
    Live {
        picture: Node::from_iter([graph(), second(live.legend, live.picture)]),
        legend: Node::none(),
        table: Node::from_iter([waiting(), live.table]),
        ..live
    }
}

fn bytes(bytes: f64) -> String {
    show_bytes(Bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::super::super::pictures::Pipeline;
    use super::*;
    use std::collections::HashMap;

    /// The longest way through the graph that ends with each pass, where each takes one unit.
    fn longest() -> HashMap<Pass, u32> {
        let mut ends: HashMap<Pass, u32> = HashMap::new();
        // As many rounds as passes are enough for every way.
        for _ in 0..3 * STAGES {
            for (from, to, _) in waits() {
                let end = ends.get(&from).copied().unwrap_or(1) + 1;
                let known = ends.entry(to).or_insert(1);
                *known = end.max(*known);
            }
        }
        ends
    }

    /// Zero Bubble, section 2: B of a stage waits for B of the next, W for nothing of other stages but what B waits
    /// for, and nothing but the update for W. So one micro-batch is through p stages after `2 p + 1` units, the last of
    /// them W of stage 0; were W a part of B, it would take `3 p`.
    #[test]
    fn gradients_of_weights_are_on_no_way_to_another_stage() {
        let ends = longest();
        let b = |stage| ends[&Pass { kind: OpKind::B, stage }];
        let w = |stage| ends[&Pass { kind: OpKind::W, stage }];
        assert_eq!(b(0), 2 * STAGES);
        // A rank runs one product at a time: W of stage 0 after its B.
        assert_eq!(b(0).max(w(0)) + 1, 2 * STAGES + 1);
        assert!(waits().iter().all(|(from, ..)| from.kind != OpKind::W));
        let alone = |schedule| {
            let pipeline = Pipeline::of(schedule, |spec| (spec.pp, spec.microbatches) = (STAGES, 1));
            pipeline.unwrap().stats.makespan_s
        };
        assert_eq!(alone(Schedule::Gpipe), 3.0 * f64::from(STAGES));
        assert_eq!(alone(Schedule::ZbH1), 2.0 * f64::from(STAGES) + 1.0);
    }

    /// No op of a simulated schedule starts before those that it waits for in the graph have ended, and some gradients
    /// of weights run later than they could.
    #[test]
    fn a_simulated_pipeline_keeps_the_graph() {
        let pipeline = Pipeline::of(Schedule::ZbH1, |spec| (spec.pp, spec.microbatches) = (STAGES, 8)).unwrap();
        let ops: HashMap<(OpKind, u32, u32), (f64, f64)> = pipeline
            .timeline
            .ranks
            .iter()
            .flatten()
            .map(|one| ((one.op.kind, one.op.stage, one.op.microbatch), (one.start, one.end)))
            .collect();
        let mut put_off = 0;
        for microbatch in 0..8 {
            for (from, to, _) in waits() {
                let [before, after] = [from, to].map(|pass| ops[&(pass.kind, pass.stage, microbatch)]);
                assert!(after.0 >= before.1 - 1e-9, "{from:?} {to:?}");
                put_off += u32::from(to.kind == OpKind::W && after.0 > before.1 + 1e-9);
            }
        }
        assert!(put_off > 0);
    }

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
