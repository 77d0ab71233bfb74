//! Communication: what each row of the overlap table sends, how long the wire takes, what hides it, what stays visible.

use super::super::Evaluation;
use super::seconds;
use super::volume::volume;
use crate::cluster::Link;
use crate::explain::{Term, Unit};
use crate::run::{CpComm, Scenario};
use crate::source::NCCL;
use crate::traffic::{
    ALL_TO_ALL, CONTENTION, DISPATCH, DISPATCHERS, INTER, INTRA, LATENCY, OverlapRow, bandwidth,
    is_once_a_node,
};
use crate::units::significant;

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
        "wire time of the sends between stages".clone_into(&mut wire.name);
        wire.note(
            "waiting for them is inside the bubble: the schedule is simulated with their latency",
        )
    } else {
        let hidden = seconds("H", "of it hidden behind compute", hidden)
            .by(
                hiding(scenario, row.name),
                vec![window, share(scenario, row.name)],
            )
            .note(hiding_note(scenario, row.name));
        let name = format!("exposed: {}", title(row.name));
        seconds("X", name, row.exposed_s.0).by("W - H", vec![wire, hidden])
    };
    term.parts.push(ratio);
    if let (Some(playbook), Some(printed)) = (&row.term, row.printed_ratio) {
        let mut playbook = playbook.clone();
        playbook.symbol = "Q";
        "the playbook's ratio, corrected to bytes".clone_into(&mut playbook.name);
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

fn hiding(scenario: &Scenario, name: &str) -> &'static str {
    match name {
        "ep" if is_once_a_node(scenario) => "(1 - x) min(W, φ w)",
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
        "ep" if is_once_a_node(scenario) => format!(
            "x = {}: multiprocessors that pass tokens on are missing in the compute beside them",
            significant(DISPATCHERS.value, 2)
        ),
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
        Term::given("β", name, reached, Unit::Bytes),
    ];
    let reach = if row.name == "ep" && is_once_a_node(&evaluation.scenario) {
        let (link, card) = DISPATCH.value;
        format!(
            "data sheet: {} GB/s a GPU ({place}); what crosses the network reaches {card} of the card while what is passed on reaches {link} of the link: the longer counts",
            significant(sheet.0 / 1e9, 3)
        )
    } else {
        format!(
            "data sheet: {} GB/s a GPU ({place}); collectives reach {} of it in a node, between nodes {} of the cards that the group has in a node; all-to-all {} in a node",
            significant(sheet.0 / 1e9, 3),
            INTRA.value,
            INTER.value,
            ALL_TO_ALL.value
        )
    };
    let [launch, near, far] = LATENCY.value.map(|seconds| seconds * 1e6);
    seconds("W", "wire time of a step", row.comm_s.0)
        .by("V/β", parts)
        .from(&NCCL, "tuning.cc; efficiencies by measured curves")
        .note(reach)
        .note(format!(
            "a message: {launch:.0} µs, {near:.0} a hop in the node, {far:.0} a hop between nodes"
        ))
}

#[cfg(test)]
mod tests {
    use super::super::super::evaluate;
    use super::*;
    use crate::run::{Based, MoeDispatch, Run};

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
        let dispatched = Run {
            moe_dispatch: MoeDispatch::PerNode,
            fp8_dispatch: true,
            ..experts.clone()
        };
        let halved = Run {
            moe_dispatch: MoeDispatch::AllToAll,
            ..dispatched.clone()
        };
        vec![
            dispatched,
            halved,
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
