//! Tensor parallelism: matrices cut over one, two and three dimensions, and what the ranks of a cut exchange.

mod embedding;
mod grids;
mod heads;
mod layer;
mod passes;

use super::bars::TIME;
use super::matrices::{ACTIVATIONS, Matrix, Part, Product, WEIGHTS};
use crate::learn::prelude::*;
use layer::{layer_bytes, scenario, settings};
use shardscope_core::cluster::ParallelAxis;
use shardscope_core::source::{KORTHIKANTI_2022, LECTURE, PLAYBOOK};
use shardscope_core::traffic::{flops_per_byte, playbook_ratio, ring_bandwidth};
use shardscope_core::units::BytesPerSecond;

const T: Slider = TENSOR.over(&[2, 4, 8], 1);
const WIDE: Slider = TENSOR.over(&[2, 4, 8, 16, 32], 2);
const P: Slider = slider("P", "ranks of a grid", &[4, 16, 64], 1);

pub(super) const LESSON: Lesson = Lesson {
    id: "tensor",
    title: "Tensor parallelism",
    about: "matrices cut in one, two and three dimensions",
    steps: &[
        LessonStep {
            id: "matrix",
            title: "Cut one matrix",
            sliders: &[T],
            live: cut,
            source: (&LECTURE, "tensor parallelism"),
            on_run: (Gauge::Peak, &[("tp", "4")]),
        },
        LessonStep {
            id: "pair",
            title: "Columns first, then rows",
            sliders: &[T, SEQUENCE],
            live: pair,
            source: (&PLAYBOOK, "tensor parallelism"),
            on_run: (Gauge::Sent(Traffic::Tp), &[("tp", "8")]),
        },
        LessonStep {
            id: "heads",
            title: "More ranks than heads of keys",
            sliders: &[WIDE, slider("k", "heads of keys and values", &[1, 2, 8, 64], 1)],
            live: heads::heads,
            source: (&PLAYBOOK, "tensor parallelism, heads of keys and values"),
            on_run: (Gauge::Held(Component::Weights), &[("tp", "8")]),
        },
        LessonStep {
            id: "f-and-g",
            title: "What is sent: f and g",
            sliders: &[T, SEQUENCE],
            live: layer::f_and_g,
            source: (&KORTHIKANTI_2022, "section 4.2.1"),
            on_run: (Gauge::Sent(Traffic::Tp), &[("tp", "4")]),
        },
        LessonStep {
            id: "between",
            title: "Sequence parallelism between blocks",
            sliders: &[T, SEQUENCE],
            live: layer::between,
            source: (&KORTHIKANTI_2022, "section 4.2.2"),
            on_run: (Gauge::Peak, &[("sequence_parallel", "false")]),
        },
        LessonStep {
            id: "embedding",
            title: "The embedding: rows of words",
            sliders: &[T, SEQUENCE],
            live: embedding::embedding,
            source: (&PLAYBOOK, "sequence parallelism, embedding layer"),
            on_run: (Gauge::Held(Component::Weights), &[("tp", "8")]),
        },
        LessonStep {
            id: "cost",
            title: "What it costs, and why it ends at the node",
            sliders: &[WIDE, SEQUENCE],
            live: cost,
            source: (&PLAYBOOK, "tensor parallelism; appendix A3"),
            on_run: (Gauge::Exposed(Traffic::Tp), &[("tp", "8")]),
        },
        LessonStep {
            id: "square",
            title: "Two dimensions: a square of ranks",
            sliders: &[P, slider("i", "step of the product", &[1, 2, 3, 4, 5, 6, 7, 8], 0)],
            live: grids::square,
            source: (&LECTURE, "two-dimensional tensor parallelism"),
            on_run: (Gauge::Sent(Traffic::Tp), &[("tp", "8")]),
        },
        LessonStep {
            id: "cube",
            title: "Three dimensions: a cube of ranks",
            sliders: &[P.over(&[8, 27, 64], 1)],
            live: grids::cube,
            source: (&LECTURE, "three-dimensional tensor parallelism"),
            on_run: (Gauge::Sent(Traffic::Tp), &[("tp", "8")]),
        },
    ],
};

fn bytes(bytes: f64) -> String {
    show_bytes(Bytes(bytes))
}

/// A block that the first of the ranks has.
fn first(own: bool) -> Part {
    if own { Part::Own } else { Part::Other }
}

fn cut(dials: &Dials) -> Live {
    let t = dials.get("t");
    let whole = |name, part| Matrix::new(name, ACTIVATIONS, (1, 1), &move |_, _| part);
    let columns = |name, ink| Matrix::new(name, ink, (1, t), &|_, column| first(column == 0));
    let rows = Matrix::new("A", WEIGHTS, (t, 1), &|row, _| first(row == 0));
    let products = [
        Product {
            name: t!("by columns"),
            matrices: vec![whole("X", Part::Own), columns("A", WEIGHTS), columns("Y", ACTIVATIONS)],
            signs: &["·", "="],
        },
        Product {
            name: t!("by rows"),
            matrices: vec![columns("X", ACTIVATIONS), rows, whole("Y", Part::Summed)],
            signs: &["·", "="],
        },
    ];
    let share = show_percent(1.0 / t as f64);
    let (h, f) = scenario(t, 2048, "").map_or((0, 0), |it| (it.model.hidden, it.model.ffn));
    let each = show_count((h * f / t) as f64);
    Live::of([
        t!("A model may not fit even layer by layer, so its matrices are cut."),
        t!(
            "By columns, each of {t} ranks computes its columns of the result from the whole input. By rows, it needs \
                only its columns of the input, but then has a partial sum: the ranks add theirs up. Either way a rank \
                keeps {share}.",
            t,
            share
        ),
    ])
    .below("the share of a rank", 1.0 / t as f64, 0.2, show_percent)
    .worded(
        "Y = X A = [X A₁ … X Aₜ] = X₁ A₁ + … + Xₜ Aₜ",
        t!("{h} × {f} / {t} = {each} weights per rank", h, f, t, each),
    )
    .products(&products)
}

fn pair(dials: &Dials) -> Live {
    let (t, s) = (dials.get("t"), dials.get("s"));
    let columns = |name, ink| Matrix::new(name, ink, (1, t), &|_, column| first(column == 0));
    let whole = |name, part| Matrix::new(name, ACTIVATIONS, (1, 1), &move |_, _| part);
    let rows = Matrix::new("B", WEIGHTS, (t, 1), &|row, _| first(row == 0));
    let product = Product {
        name: t!("columns of A, then rows of B"),
        matrices: vec![
            whole("X", Part::Own),
            columns("A", WEIGHTS),
            columns("Y", ACTIVATIONS),
            rows,
            whole("Z", Part::Summed),
        ],
        signs: &["·", "→", "·", "="],
    };
    let scenario = scenario(t, s, "");
    let heads = scenario.as_ref().map_or(0, |it| it.model.heads);
    let sent = scenario.as_ref().map_or(0.0, layer_bytes) / 4.0;
    Live::of([
        t!("The two cuts fit together. The first matrix of an FFN is cut by columns, and each rank applies the \
                activation function to its columns. The second is cut by rows, which need just these columns."),
        t!(
            "So partial sums are added up once per block. Attention is cut by heads: each rank has {each} of {heads}.",
            each = heads / t,
            heads
        ),
    ])
    .below("what a rank sends for the sum", sent, 50e6, bytes)
    .worded(
        "Z = φ(X A) B = φ(X A₁) B₁ + … + φ(X Aₜ) Bₜ",
        t!(
            "one sum of {s} × {h} numbers, for which a rank sends {bytes}",
            s,
            h = scenario.as_ref().map_or(0, |it| it.model.hidden),
            bytes = show_bytes(Bytes(sent))
        ),
    )
    .products(&[product])
}

/// GPU time of the same four sequences over `tp` ranks: a perfect cut takes no more of it than one GPU.
fn gpu_time(tp: u64, s: u64) -> Option<Bar> {
    let name = verbatim(format!("TP {tp}"));
    Bar::time(name, &settings(tp, s, ""), tp as f64)
}

/// Rate of a rank of the group, by the data sheet: between nodes a ring uses the cards of all its members.
fn wire(scenario: &Scenario) -> BytesPerSecond {
    ring_bandwidth(scenario, scenario.layout.mesh().group(ParallelAxis::Tp))
}

fn cost(dials: &Dials) -> Live {
    let (t, s) = (dials.get("t"), dials.get("s"));
    let bars: Vec<Bar> = [1, 2, 4, 8, 16, 32].into_iter().filter_map(|tp| gpu_time(tp, s)).collect();
    let here = gpu_time(t, s);
    let share = here.map_or(0.0, |bar| bar.part(1) / bar.total());
    let live = Live::of([
        t!(
            "A layer waits for its exchanges, which do not shrink with more ranks, while the compute of each does. \
                With {t} ranks {share} of the step is exposed communication.",
            t,
            share = show_percent(share)
        ),
        t!("Beyond the node they cross the network. The bars show GPU time for the same work, equal for a perfect \
                cut; narrow matrix products add to the cost."),
    ])
    .below("the exposed share", share, 0.1, show_percent)
    .bars(&TIME, &bars, None);
    let Some(it) = scenario(t, s, "") else {
        return live;
    };
    let wire = wire(&it);
    let per_byte = number(flops_per_byte(it.gpu.bf16, wire).round(), 3);
    let ratio = playbook_ratio(&it, Traffic::Tp, wire, 0.0, 1.0);
    let [corrected, printed] = ratio.map_or([0.0; 2], |it| [it.corrected, it.printed]);
    let h = it.model.hidden;
    let values = format!("2 · {per_byte} · {} / (2 · {h}) = {}", t - 1, number(corrected, 3));
    let note = t!(
        "Time of one gather over the product of h × h that needs it, with B = {rate}: it can hide while the ratio is \
            below {one}.",
        rate = show_bandwidth(wire.0),
        one = 1_u8
    );
    let compared = t!(
        "The playbook counts elements, not bytes, and would say {printed} for the ratio.",
        printed = number(printed, 3)
    );
    live.formula("ratio = 2 F (t − 1) / (2 h B)", values).note(note).compared(compared)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Playbook, appendix A3, in bytes, for h 8192 on H100: TP 8 in a node 1.88, printed half of it.
    #[test]
    fn the_playbooks_ratio_is_doubled() {
        let step = LESSON.steps.iter().find(|step| step.id == "cost").unwrap();
        let live = (step.live)(&Dials::new(step.sliders, &[2, 2]));
        let [_, values] = live.formula.unwrap();
        assert!(values.to_string().ends_with("= 1.88"), "{values}");
        assert!(live.compared.to_string().contains("would say 0.939 "), "{}", live.compared);
    }

    /// Playbook, tensor parallelism: from TP 8 to TP 16, over two nodes, throughput falls by 43 %; more than from 4 to
    /// 8.
    #[test]
    fn leaving_the_node_costs_most() {
        let time = |tp| gpu_time(tp, 4096).unwrap().total();
        let lost = |from, to| 1.0 - time(from) / time(to);
        assert!((0.25..0.6).contains(&lost(8, 16)), "{}", lost(8, 16));
        assert!(lost(8, 16) > lost(4, 8) && lost(4, 8) > lost(2, 4));
    }
}
