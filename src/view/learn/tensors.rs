//! A layer of the page's Run, drawn with its tensors: weights, and what the backward pass needs of a micro-batch, each
//! as long as its bytes, with the part that one tensor-parallel rank holds.

use crate::learn::caption::{FAINT, of_one_rank};
use crate::learn::matrices::{ACTIVATIONS, WEIGHTS};
use crate::learn::prelude::*;
use shardscope_core::run::Recompute;

/// A tensor of a layer: its bytes on one rank, and on all of them together.
struct Tensor {
    name: &'static str,
    is_weight: bool,
    rank: f64,
    whole: f64,
}

/// Activations of one micro-batch in an average layer of the first pipeline rank: names and bytes; and what the report
/// counts for all of them together.
struct Kept {
    scenario: Scenario,
    tensors: Vec<(&'static str, f64)>,
    /// The report's activations of that rank, over its layers and micro-batches in flight.
    reported: f64,
}

impl Kept {
    /// None where these sizes do not work, or nothing is kept.
    fn of(run: &Run, t: u64) -> Option<Self> {
        let evaluation = evaluate(&Run { tp: t, recompute: Recompute::None, ..run.clone() }).ok()?;
        let rank = evaluation.report.memory.per_stage.first()?;
        let stages = evaluation.order.stages_of(0);
        let sizes = &evaluation.scenario.stage_layers;
        let layers: u64 = stages.iter().filter_map(|stage| sizes.get(*stage as usize)).sum();
        let share = layers as f64 * rank.in_flight;
        let held = rank.items.iter().filter(|item| item.component == Component::Activations);
        let tensors: Vec<(&'static str, f64)> = held.map(|item| (item.name, item.bytes.0 / share)).collect();
        let works = share > 0.0 && !tensors.is_empty();
        works.then(|| Self { tensors, reported: rank.activations.0 / share, scenario: *evaluation.scenario })
    }
    fn bytes(&self, name: &str) -> f64 {
        self.tensors.iter().filter(|(one, _)| *one == name).map(|(_, bytes)| bytes).sum()
    }
}

/// Weights of a layer with plain attention: name, elements, and the ranks that they are cut over.
fn weights(scenario: &Scenario) -> Vec<(&'static str, u64, u64)> {
    let (model, layout) = (&scenario.model, &scenario.layout);
    let (h, d, t) = (model.hidden, model.head_dim, layout.tp);
    let up = if model.gated_ffn { 2 } else { 1 };
    let mut all = Vec::new();
    if model.mla.is_none() {
        all.push(("weights of query, key, value", h * d * (model.heads + 2 * model.kv_heads), t));
        all.push(("weights of the output projection", model.heads * d * h, t));
    }
    match model.moe {
        None => {
            all.push(("weights of the up projection", up * h * model.ffn, t));
            all.push(("weights of the down projection", model.ffn * h, t));
        }
        Some(moe) => {
            let experts = (up + 1) * h * moe.expert_ffn * moe.experts;
            all.push(("weights of the router", h * moe.experts, 1));
            all.push(("weights of the routed experts", experts, layout.ep * layout.etp));
        }
    }
    all
}

/// What comes before which weights on the way down.
const PLACES: [(&str, &str); 3] = [
    ("queries", "weights of query, key, value"),
    ("input of the FFN norm", "weights of the output projection"),
    ("FFN up projection", "weights of the up projection"),
];

/// The tensors from the top of the layer to its end.
fn tensors(whole: &Kept, rank: &Kept) -> Vec<Tensor> {
    let element = rank.scenario.precision.weights;
    let weight = |(name, elements, ranks): (&'static str, u64, u64)| {
        let bytes = elements as f64 * element;
        Tensor { name, is_weight: true, rank: bytes / ranks as f64, whole: bytes }
    };
    let mut below: Vec<Tensor> = weights(&rank.scenario).into_iter().map(weight).collect();
    let mut all = Vec::new();
    for (name, bytes) in &rank.tensors {
        let before = PLACES.iter().find(|(kept, _)| kept == name).map(|(_, weights)| *weights);
        let found = before.and_then(|weights| below.iter().position(|tensor| tensor.name == weights));
        all.extend(found.map(|at| below.remove(at)));
        all.push(Tensor { name, is_weight: false, rank: *bytes, whole: whole.bytes(name).max(*bytes) });
    }
    all.append(&mut below);
    all
}

pub(super) fn layer(dials: &Dials) -> Live {
    let t = dials.get("t");
    let pair = |run: &Run| Some((Kept::of(run, 1)?, Kept::of(run, t)?));
    let Some((whole, rank)) = pair(dials.run()).or_else(|| pair(&Run::default())) else {
        return Live::default();
    };
    let all = tensors(&whole, &rank);
    let sum = |is_weight: bool| -> f64 {
        all.iter().filter(|tensor| tensor.is_weight == is_weight).map(|tensor| tensor.rank).sum()
    };
    let (held, kept) = (sum(true), rank.reported);
    let model = &rank.scenario.model;
    let most = all.iter().filter(|tensor| !tensor.is_weight).max_by(|a, b| a.rank.total_cmp(&b.rank));
    let live = Live::of([
        t!(
            "A layer of your run: weights stay, the other tensors wait for the backward pass of each micro-batch. Each \
                is as long as its bytes; the solid part is on one rank of {t}.",
            t
        ),
        t!(
            "Weights take {held} there, a micro-batch keeps {kept}; the largest is \"{name}\": {bytes}.",
            held = show_bytes(Bytes(held)),
            kept = show_bytes(Bytes(kept)),
            name = most.map_or("", |tensor| tensor.name),
            bytes = show_bytes(Bytes(most.map_or(0.0, |tensor| tensor.rank)))
        ),
    ])
    .below("what a rank keeps of what one alone would", kept / whole.reported, 0.4, show_percent)
    .note(t!(
        "An average layer of the first pipeline rank, {s} tokens of hidden size {h}, without recomputation; norms and \
            biases are left out. Where these ranks do not work on your run, the default run is shown.",
        s = number(rank.scenario.tokens_per_rank(), 6),
        h = model.hidden
    ));
    let rows = all.iter().map(|tensor| {
        let kind = if tensor.is_weight { "weights" } else { "activations" };
        let figures = [tensor.rank, tensor.whole].map(|bytes| verbatim(show_bytes(Bytes(bytes))));
        let [on_rank, in_all] = figures;
        vec![Message::from(tensor.name), kind.into(), on_rank, in_all]
    });
    let key = [(t!("weights"), WEIGHTS), (t!("kept for the backward pass"), ACTIVATIONS)];
    Live {
        legend: of_one_rank(&key),
        table: data(&["tensor", "", "on one rank", "on all ranks"], rows.collect()),
        picture: draw(&all),
        ..live
    }
}

/// Height of a tensor with its words, pixels.
const ROW: f64 = 27.0;
/// Height of the bar of a tensor, pixels.
const BAR: f64 = 9.0;
/// Middle of its words below its upper edge, pixels.
const MIDDLE: f64 = 8.0;

fn draw(all: &[Tensor]) -> Node {
    let longest = all.iter().map(|tensor| tensor.whole).fold(1.0, f64::max);
    let mut drawing = Drawing::new(ROW * all.len() as f64);
    for (row, tensor) in all.iter().enumerate() {
        let top = ROW * row as f64;
        let ink = if tensor.is_weight { WEIGHTS } else { ACTIVATIONS };
        let size = show_bytes(Bytes(tensor.rank));
        let words = t!("{name}: {value}", name = tensor.name, value = size);
        drawing.heading(top + MIDDLE, words);
        let bar = |bytes: f64| Box { x: 0.0, width: bytes / longest, y: top + 16.0, height: BAR };
        drawing.fill(bar(tensor.whole), ink, FAINT, "");
        drawing.fill(bar(tensor.rank), ink, 1.0, "");
    }
    drawing.inline("The tensors of a layer")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_of(settings: &str) -> Run {
        run(settings).unwrap().scenario.run
    }

    /// The tensors that are drawn are all that the report counts, on every layout.
    #[test]
    fn the_tensors_of_a_layer_add_up_to_the_reports_activations() {
        for settings in ["", "model=llama-3.1-70b&tp=8&pp=4&gpus=64", "model=mixtral-8x7b&tp=1&ep=8&pp=2&gpus=64"] {
            for t in [1, 2] {
                let kept = Kept::of(&run_of(settings), t).unwrap();
                let sum: f64 = kept.tensors.iter().map(|(_, bytes)| bytes).sum();
                assert!((sum / kept.reported - 1.0).abs() < 1e-9, "{settings} at {t}: {sum} {}", kept.reported);
            }
        }
    }

    /// Korthikanti 2022, table 2, with stored statistics in place of scores: a dense Llama layer of s b tokens keeps
    /// `s b h (12 + 4 k/a + 6 f/h) + 4 a s b` bytes, all of it over t with sequence parallelism. Llama 3.1 8B: h 4096,
    /// f 14336, 32 heads, 8 of keys.
    #[test]
    fn a_dense_layer_keeps_the_closed_form() {
        let run = run_of("model=llama-3.1-8b&tp=1&pp=1&gpus=8&seq_len=8192&micro_batch=1&global_batch=8");
        for t in [1, 2, 4] {
            let closed = 8192.0 * (4096.0 * (12.0 + 4.0 * 8.0 / 32.0) + 6.0 * 14_336.0 + 4.0 * 32.0) / t as f64;
            let kept = Kept::of(&run, t).unwrap().reported;
            assert!((kept / closed - 1.0).abs() < 1e-6, "{t}: {kept} {closed}");
        }
    }

    /// Llama 3.1 paper, table 3, and Mixtral's configuration: the matrices of all layers, embedding and head are the
    /// printed 8.03 and 46.7 billion parameters.
    #[test]
    fn the_drawn_weights_are_the_models_parameters() {
        for (model, layers, ends, printed) in
            [("llama-3.1-8b", 32.0, 2.0 * 128_256.0, 8.03e9), ("mixtral-8x7b", 32.0, 2.0 * 32_000.0, 46.7e9)]
        {
            let scenario = *run(&format!("model={model}")).unwrap().scenario;
            let layer: u64 = weights(&scenario).iter().map(|(_, elements, _)| elements).sum();
            let all = layer as f64 * layers + ends * 4096.0;
            assert!((all / printed - 1.0).abs() < 1e-3, "{model}: {all}");
        }
    }
}
