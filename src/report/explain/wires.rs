//! Communication: what each row of the overlap table sends, how long the wire takes, what hides it, what stays visible.

use super::super::Evaluation;
use super::seconds;
use crate::cluster::Link;
use crate::explain::{Term, Unit};
use crate::model::stage_range;
use crate::run::{CpComm, Scenario};
use crate::source::{MEGATRON, NCCL, PLAYBOOK, ZERO};
use crate::traffic::{ALL_TO_ALL, CONTENTION, INTER, INTRA, LATENCY, OverlapRow, bandwidth};
use crate::units::{Bytes, significant};

/// The sum over all kinds.
pub fn exposed(evaluation: &Evaluation) -> Term {
    let overlap = &evaluation.report.overlap;
    let parts = overlap
        .iter()
        .filter(|row| row.exposed_s.0 > 0.0)
        .map(|row| seconds(row.name, title(row.name), row.exposed_s.0))
        .collect();
    seconds(
        "X",
        "communication that nothing hides",
        evaluation.report.step.exposed_comm_s.0,
    )
    .by("Σ (wire time - hidden)", parts)
    .note("the rows are those of the busiest rank, the sum is of the average rank; pipeline sends wait inside the bubble")
    .note("the overlap table opens each row")
}

/// What a row is about.
fn title(name: &str) -> &'static str {
    match name {
        "dp" => "gradients, and the weights that ZeRO-1 and 2 gather",
        "zero3" => "ZeRO-3 weights",
        "tp" => "tensor-parallel activations",
        "pp" => "sends between stages",
        "cp" => "keys and values of context parallelism",
        _ => "tokens on their way to experts",
    }
}

/// A row of the overlap table: `X = W - H`, the volume behind W, the window behind H, and the playbook's ratio.
pub fn row(evaluation: &Evaluation, index: usize) -> Option<Term> {
    let (scenario, row) = (&evaluation.scenario, evaluation.report.overlap.get(index)?);
    let hidden = row.comm_s.0 - row.exposed_s.0;
    let window = seconds("w", window_of(row.name), row.compute_s.0);
    let ratio = Term::given("R", "wire time over window", row.ratio, Unit::Ratio).by(
        "W/w",
        vec![seconds("W", "wire time", row.comm_s.0), window.clone()],
    );
    let wire = wire(evaluation, row);
    let mut term = if row.name == "pp" {
        let mut wire = wire;
        wire.name = "wire time of the sends between stages".to_owned();
        wire.note(
            "waiting for them is inside the bubble: the schedule is simulated with their latency",
        )
    } else {
        let hidden = seconds("H", "of it hidden behind compute", hidden)
            .by(hiding(row.name), vec![window, share(scenario, row.name)])
            .note(hiding_note(scenario, row.name));
        let name = format!("exposed: {}", title(row.name));
        seconds("X", name, row.exposed_s.0).by("W - H", vec![wire, hidden])
    };
    term.parts.push(ratio);
    if let (Some(playbook), Some(printed)) = (&row.term, row.printed_ratio) {
        let mut playbook = playbook.clone();
        playbook.symbol = "Q";
        playbook.name = "the playbook's ratio, corrected to bytes".to_owned();
        term.parts
            .push(playbook.note(format!("printed: {}", significant(printed, 4))));
    }
    Some(term.note("on the busiest rank, over a step"))
}

fn window_of(name: &str) -> &'static str {
    match name {
        "dp" => "backward pass that reduces, forward pass that gathers",
        "zero3" => "all passes",
        "tp" => "weight gradients of the column-cut linears",
        "pp" => "passes of the stage",
        "cp" => "attention",
        _ => "linears",
    }
}

fn hiding(name: &str) -> &'static str {
    match name {
        "dp" | "zero3" => "(1 - x) min(W, φ w), each direction and pass by itself",
        "tp" => "min(W/4, φ w), reductions of the backward pass only",
        "cp" => "Σ min(block, φ w/c), block by block",
        _ => "min(W, φ w)",
    }
}

fn hiding_note(scenario: &Scenario, name: &str) -> String {
    match name {
        "dp" | "zero3" => format!(
            "x = {}: what runs beside compute slows it; fitted with the throughput rows",
            CONTENTION.value
        ),
        "cp" if scenario.run.cp_comm != CpComm::Ring => {
            "all-gather and Ulysses run before and after attention: nothing hides them".to_owned()
        }
        "tp" => "the other messages stand between two kernels that need them".to_owned(),
        _ => "of each micro-batch, layer by layer".to_owned(),
    }
}

fn share(scenario: &Scenario, name: &str) -> Term {
    let overlap = &scenario.run.overlap;
    let share = match name {
        "tp" => overlap.tp,
        "cp" => overlap.cp,
        "ep" => overlap.ep,
        _ => overlap.dp,
    };
    Term::given(
        "φ",
        "share of the window that may hide it",
        share,
        Unit::Ratio,
    )
}

/// The wire time of a row: its volume over the bandwidth that it comes to.
fn wire(evaluation: &Evaluation, row: &OverlapRow) -> Term {
    let sheet = bandwidth(&evaluation.scenario, row.link);
    let place = match row.link {
        Link::Intra => "link inside the node",
        Link::Inter => "network card",
    };
    let reached = if row.comm_s.0 > 0.0 {
        row.bytes_per_gpu.0 / row.comm_s.0
    } else {
        0.0
    };
    let name = "bytes a second, latencies included";
    let parts = vec![
        volume(evaluation, row),
        Term::given("β", name, reached, Unit::Count),
    ];
    let [launch, near, far] = LATENCY.value.map(|seconds| seconds * 1e6);
    seconds("W", "wire time of a step", row.comm_s.0)
        .by("V/β", parts)
        .from(&NCCL, "tuning.cc; efficiencies by measured curves")
        .note(format!(
            "data sheet: {} GB/s a GPU ({place}); collectives reach {} of it in a node, between nodes {} of the cards that the group has in a node; all-to-all {} in a node",
            significant(sheet.0 / 1e9, 3), INTRA.value, INTER.value, ALL_TO_ALL.value
        ))
        .note(format!(
            "a message: {launch:.0} µs, {near:.0} a hop in the node, {far:.0} a hop between nodes"
        ))
}

/// The volume with its formula, where the formula is the whole of it.
fn volume(evaluation: &Evaluation, row: &OverlapRow) -> Term {
    let name = "bytes that a GPU sends";
    let plain = Term::given("V", name, row.bytes_per_gpu.0, Unit::Bytes);
    let Some((formula, parts, bytes)) = formula(evaluation, row.name) else {
        return plain;
    };
    let whole = (bytes.0 / row.bytes_per_gpu.0 - 1.0).abs() < 1e-9;
    if !whole {
        return plain.note(
            "routed experts, replicas or tied embeddings are counted each over their own group",
        );
    }
    let source = match row.name {
        "dp" | "zero3" => (&ZERO, "section 7"),
        "tp" | "pp" => (&MEGATRON, "tensor and sequence parallelism, Megatron Core"),
        _ => (&PLAYBOOK, "context and expert parallelism"),
    };
    plain.by(formula, parts).from(source.0, source.1)
}

/// Formula, inputs and value of the volume of row `name`.
fn formula(evaluation: &Evaluation, name: &str) -> Option<(&'static str, Vec<Term>, Bytes)> {
    let scenario = &evaluation.scenario;
    let (model, layout) = (&scenario.model, &scenario.layout);
    let load = evaluation.loads.get(evaluation.busiest)?;
    let copies = load.stages.len() as f64 / scenario.chunks as f64;
    let layers = || {
        load.stages
            .iter()
            .flat_map(|stage| stage_range(&scenario.stage_layers, *stage))
    };
    let n = layers().count() as f64;
    let m = layout.microbatches as f64 / copies;
    let tokens = scenario.tokens_per_rank();
    let h = model.hidden as f64;
    let size = |count: u64| count as f64;
    let count =
        |symbol, name: &'static str, value: f64| Term::given(symbol, name, value, Unit::Count);
    let bytes =
        |symbol, name: &'static str, value: f64| Term::given(symbol, name, value, Unit::Ratio);
    let batch = || count("m", "micro-batches", m);
    let sent = || count("T", "tokens of a micro-batch on a rank", tokens);
    let wide = || count("h", "hidden size", h);
    let ring = |ranks: f64| (ranks - 1.0) / ranks;
    let held: f64 = evaluation
        .report
        .parameters
        .per_stage
        .get(evaluation.busiest)
        .copied()?;
    let params = || count("P", "parameters of the GPU", held);
    let shard = size(scenario.zero.shard);
    let group = || count("D", "ranks that share them", shard);
    let grad = scenario.precision.gradients();
    let weight = scenario.precision.weights.min(2.0);
    Some(match name {
        "tp" => {
            let routed = layers().filter(|layer| model.is_moe_layer(*layer)).count() as f64;
            let shared = model.moe.is_some_and(|moe| moe.shared_experts > 0);
            let n = if shared { n } else { n - routed / 2.0 };
            let t = size(layout.tp);
            (
                "16 n T h m (t - 1)/t",
                vec![
                    count(
                        "n",
                        "layers of the rank (one whose FFN is routed counts half)",
                        n,
                    ),
                    sent(),
                    wide(),
                    batch(),
                    count("t", "tensor parallel", t),
                ],
                Bytes(16.0 * n * tokens * h * m * ring(t)),
            )
        }
        "cp" => {
            let (c, t) = (size(layout.cp), size(layout.tp));
            let width = model.mla.map_or(model.kv_width() as f64, |mla| {
                let both = mla.qk_nope_head_dim + mla.qk_rope_head_dim + mla.v_head_dim;
                (model.heads * both) as f64 / 2.0
            });
            let mut parts = vec![
                count("n", "layers of the rank", n),
                sent(),
                count("k", "width of the keys, as of the values", width),
                batch(),
                count("c", "context parallel", c),
                count("t", "tensor parallel", t),
            ];
            if scenario.run.cp_comm == CpComm::Ulysses {
                let query = model.query_width() as f64;
                parts.push(count("q", "width of the queries", query));
                let value = 8.0 * n * tokens * (query + width) / t * m * ring(c);
                ("8 n T (q + k)/t m (c - 1)/c", parts, Bytes(value))
            } else {
                (
                    "12 n T k/t m (c - 1)",
                    parts,
                    Bytes(12.0 * n * tokens * width / t * m * (c - 1.0)),
                )
            }
        }
        "ep" => {
            let moe = model.moe?;
            let routed = layers().filter(|layer| model.is_moe_layer(*layer)).count() as f64;
            let (e, t, k) = (size(layout.ep), size(layout.tp), size(moe.top_k));
            let u = scenario.run.moe_imbalance;
            (
                "8 n K T h/t m u (e - 1)/e",
                vec![
                    count("n", "routed layers of the rank", routed),
                    count("K", "experts a token", k),
                    sent(),
                    wide(),
                    batch(),
                    count("t", "tensor parallel", t),
                    count("e", "expert parallel", e),
                    bytes("u", "imbalance", u),
                ],
                Bytes(8.0 * routed * k * tokens * h / t * m * u * ring(e)),
            )
        }
        "pp" => {
            let t = if layout.sequence_parallel {
                size(layout.tp)
            } else {
                1.0
            };
            let stages = load.stages.len() as f64;
            (
                "4 T h m v/t",
                vec![
                    sent(),
                    wide(),
                    batch(),
                    count("v", "stages on the rank", stages),
                    count("t", "cut by sequence parallelism", t),
                ],
                Bytes(4.0 * tokens * h * m * stages / t),
            )
        }
        "zero3" => (
            "2 w P m (D - 1)/D",
            vec![
                bytes("w", "bytes of a weight", weight),
                params(),
                batch(),
                group(),
            ],
            Bytes(2.0 * weight * held * m * ring(shard)),
        ),
        _ => {
            let mut parts = vec![bytes("g", "bytes of a gradient", grad), params(), group()];
            match scenario.zero.stage {
                0 => (
                    "2 g P (D - 1)/D",
                    parts,
                    Bytes(2.0 * grad * held * ring(shard)),
                ),
                1 => {
                    parts.push(bytes("w", "bytes of a weight", weight));
                    (
                        "(g + w) P (D - 1)/D",
                        parts,
                        Bytes((grad + weight) * held * ring(shard)),
                    )
                }
                2 => {
                    parts.extend([bytes("w", "bytes of a weight", weight), batch()]);
                    (
                        "(g m + w) P (D - 1)/D",
                        parts,
                        Bytes((grad * m + weight) * held * ring(shard)),
                    )
                }
                _ => {
                    parts.push(batch());
                    (
                        "g P m (D - 1)/D",
                        parts,
                        Bytes(grad * held * m * ring(shard)),
                    )
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::evaluate;
    use super::*;
    use crate::run::{Based, Run};

    fn find<'a>(term: &'a Term, symbol: &str) -> Option<&'a Term> {
        if term.symbol == symbol {
            return Some(term);
        }
        term.parts.iter().find_map(|part| find(part, symbol))
    }

    fn runs() -> Vec<Run> {
        let base = Run::default;
        let zero = |zero| Run {
            tp: 1,
            pp: 1,
            gpus: 8,
            zero,
            ..base()
        };
        let sharing = |cp_comm| Run {
            cp: 2,
            cp_comm,
            ..base()
        };
        let experts = Run {
            model: Based::preset("mixtral-8x7b"),
            tp: 2,
            ep: 8,
            ..base()
        };
        vec![
            base(),
            zero(0),
            zero(1),
            zero(2),
            zero(3),
            sharing(CpComm::Ring),
            sharing(CpComm::AllGather),
            sharing(CpComm::Ulysses),
            experts,
        ]
    }

    #[test]
    fn every_row_says_its_volume_by_a_formula_that_gives_it() {
        for run in runs() {
            let evaluation = evaluate(&run).unwrap();
            for (index, shown) in evaluation.report.overlap.iter().enumerate() {
                let term = row(&evaluation, index).unwrap();
                let volume = find(&term, "V").unwrap();
                let routed = run.ep > 1 && shown.name == "dp";
                assert_eq!(volume.formula.is_empty(), routed, "{}", shown.name);
                assert!((volume.value - shown.bytes_per_gpu.0).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn exposed_and_hidden_are_the_wire_time() {
        for run in runs() {
            let evaluation = evaluate(&run).unwrap();
            for (index, shown) in evaluation.report.overlap.iter().enumerate() {
                let term = row(&evaluation, index).unwrap();
                let wire = find(&term, "W").unwrap().value;
                assert!((wire - shown.comm_s.0).abs() < 1e-12);
                if let Some(hidden) = find(&term, "H") {
                    assert!((wire - hidden.value - term.value).abs() < 1e-12);
                    assert!(hidden.value >= -1e-12);
                }
            }
        }
    }

    /// Ultra-Scale Playbook, appendix A3: its ratio counts elements; ours is twice that in bf16 bytes.
    #[test]
    fn the_playbooks_ratio_stands_beside_ours_printed_and_corrected() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let at = evaluation
            .report
            .overlap
            .iter()
            .position(|row| row.name == "tp");
        let shown = &evaluation.report.overlap[at.unwrap()];
        let term = row(&evaluation, at.unwrap()).unwrap();
        let playbook = term.parts.iter().find(|part| part.symbol == "Q").unwrap();
        let printed = shown.printed_ratio.unwrap();
        assert!((playbook.value / printed - 2.0).abs() < 1e-12);
        let said = format!("printed: {}", significant(printed, 4));
        assert!(playbook.notes.contains(&said), "{:?}", playbook.notes);
    }
}
