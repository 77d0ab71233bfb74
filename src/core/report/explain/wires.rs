//! Communication: what each row of the overlap table sends, how long the wire takes, what hides it, what stays visible.

use super::super::Evaluation;
use super::super::passes::Pass;
use super::super::step::mean_of;
use super::inputs::seconds;
use super::volume::volume;
use crate::cluster::Link;
use crate::explain::symbols::{HIDDEN_TIME, MESSAGE_BYTES, ON_WIRE, SLOWED_BY, WIRE_LATENCY, WIRE_RATE};
use crate::explain::{Provenance, Term, Unit, Written, written};
use crate::message::Message;
use crate::run::{CpComm, EpOverlap, Run, Scenario, TpOverlap};
use crate::source::NCCL;
use crate::t;
use crate::time::{Clock, Part, PartKind};
use crate::traffic::{
    ALL_TO_ALL, CallCount, CallKind, DISPATCH, Direction, HeldParameters, INTER, INTRA, LATENCY, OverlapRow,
    StageWaits, Traffic, Wait, bandwidth, exposed_of, hidden_behind, is_once_a_node, on_wire, playbook_term,
    sheet_bandwidth, step_sync,
};
use crate::units::{Seconds, show_bandwidth, show_bytes, show_seconds, significant};

/// One kind of message among those that a stage waits for.
type Kind = fn(&StageWaits) -> Wait;

/// Exposed communication of each kind, on the average rank, and at the end of the step on the slowest.
pub fn exposed(evaluation: &Evaluation) -> Term {
    let (scenario, step) = (&evaluation.scenario, &evaluation.report.step);
    let clock = Clock::new(scenario);
    let passes = Pass::all(scenario, &clock);
    let scale = step.rescaled_by.unwrap_or(1.0);
    let loads = &evaluation.loads;
    let mean = |wait: Kind| mean_of(scenario, loads, &passes, |pass| wait(&pass.waits).exposed().0) * scale;
    let kinds: [(Traffic, Kind); 5] = [
        (Traffic::Tp, |waits| waits.tp),
        (Traffic::Cp, |waits| waits.cp),
        (Traffic::Ep, |waits| waits.ep),
        (Traffic::Zero3, |waits| waits.zero3),
        (Traffic::Dp, |waits| waits.gradients),
    ];
    let part = |name: Message, value: f64| {
        seconds("X_i", name, value)
            .added_up(|| exposed_of(ON_WIRE.of_piece(), HIDDEN_TIME.of_piece(), SLOWED_BY.of_piece()))
    };
    let mut parts: Vec<Term> = kinds
        .into_iter()
        .map(|(traffic, wait)| {
            let when = match traffic {
                Traffic::Dp => t!("gradients of every micro-batch or group"),
                _ => title(traffic, &scenario.run),
            };
            // Side by side in pairs, some of it.
            let paired = |part: &&Part| traffic == Traffic::Ep && part.kind == PartKind::ExposedEp;
            let paired_part = step.parts.iter().find(paired);
            part(t!("{when}, average rank", when), paired_part.map_or_else(|| mean(wait), |part| part.seconds.0))
        })
        .collect();
    let ends = loads.iter().map(|load| {
        let held = HeldParameters::trained(scenario, &load.stages);
        let sum = |part: fn(&Pass) -> Seconds| -> Seconds {
            let stages = load.stages.iter().filter_map(|stage| passes.get(*stage));
            stages.map(part).sum()
        };
        step_sync(scenario, held, sum(Pass::forward), sum(Pass::backward)).exposed().0
    });
    let end = ends.fold(0.0, f64::max) * scale;
    parts.push(part(t!("gradients and weights at every update, slowest rank"), end));
    parts.retain(|part| part.value > 0.0);
    written(|| Written::all("X_i", parts).term("X", "exposed communication", Unit::Seconds))
        .note(t!(
            "{exposed} of it is not hidden; {slowed} is the time by which hidden traffic slows compute",
            exposed = show_seconds(step.not_hidden_s),
            slowed = show_seconds(step.slows_compute_s)
        ))
        .note("the rows of the table are those of the busiest rank; pipeline sends wait inside the bubble")
        .note("the overlap table opens each row")
}

/// Words for `traffic` in a sentence.
fn title(traffic: Traffic, run: &Run) -> Message {
    match traffic {
        Traffic::Dp => t!("gradients, and the weights that ZeRO-1 and 2 gather"),
        Traffic::Zero3 if run.shards_weights() => t!("GTP weights"),
        Traffic::Zero3 => t!("ZeRO-3 weights"),
        Traffic::Tp => t!("tensor-parallel activations"),
        Traffic::Pp => t!("sends between stages"),
        Traffic::Cp => t!("keys and values of context parallelism"),
        Traffic::Ep => t!("tokens on their way to experts"),
    }
}

/// A row of the overlap table: `X = E + S`, what does not hide, `E = W - H`, and what hidden traffic slows compute by,
/// `S = x H`; the volume behind W, the window behind H, and the playbook's ratio.
pub fn row(evaluation: &Evaluation, index: usize) -> Option<Term> {
    let (scenario, row) = (&evaluation.scenario, evaluation.report.overlap.get(index)?);
    let window = simulated_window(scenario, row);
    let wire = wire(evaluation, row);
    let ratio = ratio(row, &window);
    let mut term = if row.traffic == Traffic::Pp {
        let mut wire = wire;
        wire.name = t!("wire time of the sends between stages");
        wire.note("waiting for them is inside the bubble: the schedule is simulated with their latency")
    } else {
        exposed_of_row(evaluation, row, wire, window)
    };
    term.parts.extend(ratio);
    let playbook = playbook_term(scenario, row.traffic, sheet_bandwidth(scenario, row.traffic));
    if let (Some(mut playbook), Some(printed)) = (playbook, row.printed_ratio) {
        let printed = significant(printed, 4);
        playbook = playbook.note(t!("printed: {printed}", printed));
        if let Some(reached) = row.reached_bytes_per_s {
            let (sheet, reached) = (sheet_bandwidth(scenario, row.traffic).0, show_bandwidth(reached));
            playbook = playbook.note(t!(
                "Q counts {sheet}, the data sheet's bandwidth of the group's links; the messages of R reach \
                    {reached}, latencies included",
                sheet = show_bandwidth(sheet),
                reached
            ));
        }
        term.parts.push(playbook);
    }
    Some(term.note("on the busiest rank, over a step"))
}

/// What of `wire` does not hide in `window`, and what hidden traffic slows compute by.
fn exposed_of_row(evaluation: &Evaluation, row: &OverlapRow, wire: Term, window: Term) -> Term {
    let scenario = &evaluation.scenario;
    let hidden = seconds("H", "of it beside compute", row.comm_s.0 - row.not_hidden_s.0);
    let slows = (row.slows_compute_s.0 > 0.0).then(|| {
        let tax = row.slows_compute_s.0 / hidden.value;
        let x = Term::given("x", "what a hidden second slows compute by", tax, Unit::Ratio);
        let parts = [x, hidden.clone()];
        Term::made("S", "compute that it slows", Unit::Seconds, parts, |[tax, hidden]| tax * hidden)
    });
    let share = share(scenario, row.traffic);
    let hidden = match row.traffic {
        Traffic::Cp if !matches!(scenario.run.cp_comm, CpComm::Ring | CpComm::Hierarchical) => {
            hidden.marked(Provenance::AddedUp)
        }
        _ => hidden.added_up(|| {
            let [window, share] = [&window, &share].map(|term| Written::part(term.clone()));
            hidden_behind(ON_WIRE.of_piece(), window, share)
        }),
    };
    let hidden = hidden.with(vec![window, share]).note(hiding_note(scenario, row.traffic));
    let not_hidden = Term::made("E", "uncovered", Unit::Seconds, [wire, hidden], |[wire, hidden]| wire - hidden);
    let mut parts = vec![not_hidden];
    parts.extend(slows);
    let name = t!("exposed on the busiest rank: {row}", row = title(row.traffic, &scenario.run));
    row.passes.iter().filter(|pass| pass.compute_s.0 > 0.0).fold(
        Term::sum("X", name, Unit::Seconds, parts),
        |term, pass| {
            let ratio = significant(pass.comm_s / pass.compute_s, 3);
            let words = match pass.pass {
                Direction::Forward => "forward pass",
                Direction::Backward => "backward pass",
            };
            term.note(t!("{pass}: {ratio} of the compute beside it", pass = words, ratio))
        },
    )
}

/// The compute that a row may hide behind.
fn simulated_window(scenario: &Scenario, row: &OverlapRow) -> Term {
    seconds("w", window_of(scenario, row.traffic), row.compute_s.0).marked(Provenance::AddedUp)
}

/// Wire time over window, where there is one.
fn ratio(row: &OverlapRow, window: &Term) -> Option<Term> {
    let parts = [seconds("W", "wire time", row.comm_s.0), window.clone()];
    let ratio = || Term::made("R", "wire time over window", Unit::Ratio, parts, |[wire, window]| wire / window);
    (row.compute_s.0 > 0.0).then(ratio)
}

/// Words for the compute beside `traffic`.
fn window_of(scenario: &Scenario, traffic: Traffic) -> Message {
    match traffic {
        Traffic::Dp => t!("backward pass that reduces, forward pass that gathers"),
        Traffic::Zero3 => t!("all passes"),
        Traffic::Tp if scenario.tp_overlap() != TpOverlap::None => {
            t!("linears whose messages may run beside them")
        }
        Traffic::Tp => t!("weight gradients of the column-cut linears"),
        Traffic::Pp => t!("passes of the stage"),
        Traffic::Cp => t!("attention"),
        Traffic::Ep => t!("linears"),
    }
}

/// The conditions of hiding behind compute.
fn hiding_note(scenario: &Scenario, traffic: Traffic) -> Message {
    match traffic {
        Traffic::Dp if scenario.zero.stage == 3 && !scenario.shards_once_a_step() => t!(
            "on the wire of the ZeRO-3 weights, which are sent first: w is the rest of the backward passes' compute; x \
                fitted with the throughput rows"
        ),
        Traffic::Dp | Traffic::Zero3 => t!("each direction and pass by itself; x fitted with the throughput rows"),
        Traffic::Cp if scenario.run.cp_comm == CpComm::Hierarchical => {
            t!("block by block of the ring, W and w those of one; nothing hides the all-to-all of heads for tokens")
        }
        Traffic::Cp if scenario.run.cp_comm != CpComm::Ring => {
            t!("all-gather and Ulysses run before and after attention: nothing hides them")
        }
        Traffic::Ep if is_once_a_node(scenario) => {
            t!("x: multiprocessors that pass tokens on are missing in the compute beside them")
        }
        Traffic::Ep if scenario.software.overlap.ep.is_none() && scenario.software.ep_overlap == EpOverlap::None => {
            t!("nothing runs beside them: the schedule pairs no passes")
        }
        Traffic::Ep if scenario.software.overlap.ep.is_none() => {
            t!("of two micro-batches side by side, layer by layer: combine backward behind attention, dispatch behind \
                the other's experts, combine forward behind the attention of the backward pass; x: multiprocessors \
                that send, fitted")
        }
        Traffic::Tp if scenario.tp_overlap() != TpOverlap::None => t!(
            "in as many chunks as ranks, each but the first behind a linear; reductions of the backward pass behind \
                weight gradients"
        ),
        Traffic::Tp => {
            t!("reductions of the backward pass only: the other messages stand between two kernels that need them")
        }
        Traffic::Cp => t!("block by block of the ring, W and w those of one"),
        Traffic::Pp | Traffic::Ep => t!("of each micro-batch, layer by layer"),
    }
}

/// Share of its window that may hide `traffic`, as the software has it.
fn share(scenario: &Scenario, traffic: Traffic) -> Term {
    let overlap = &scenario.software.overlap;
    let share = match traffic {
        Traffic::Tp => overlap.tp,
        Traffic::Cp => overlap.cp,
        Traffic::Ep => overlap.ep.unwrap_or(1.0),
        _ => overlap.dp,
    };
    Term::given("φ", "share of the window that can hide it", share, Unit::Ratio)
}

/// The wire time of a row, message by message, its volume, and the bandwidth that it comes to.
fn wire(evaluation: &Evaluation, row: &OverlapRow) -> Term {
    let sheet = bandwidth(&evaluation.scenario, row.link);
    let place = match row.link {
        Link::Intra => "link inside the node",
        Link::Inter => "network card",
    };
    let mut parts = vec![volume(evaluation, row)];
    if row.comm_s.0 > 0.0 {
        let wire = seconds("W", "wire time of a step", row.comm_s.0);
        let sent = row.bytes_per_gpu.0;
        let sent = Term::given("V", "bytes that a GPU sends", sent, Unit::Bytes);
        let name = "reached, latencies included";
        parts.push(Term::made("β", name, Unit::Bandwidth, [sent, wire], |[sent, wire]| sent / wire));
    }
    let sheet = show_bandwidth(sheet.0);
    let reach = if row.traffic == Traffic::Ep && is_once_a_node(&evaluation.scenario) {
        let (link, card) = DISPATCH.value;
        t!(
            "data sheet: {sheet} a GPU ({place}); what crosses the network reaches {card} of the card while what is \
                passed on reaches {link} of the link: the longer counts",
            sheet,
            place,
            card,
            link
        )
    } else {
        t!(
            "data sheet: {sheet} a GPU ({place}); collectives reach {near} of it in a node, between nodes {far} of \
                the cards that the group has in a node; all-to-all {all_to_all} in a node",
            sheet,
            place,
            near = INTRA.value,
            far = INTER.value,
            all_to_all = ALL_TO_ALL.value
        )
    };
    let [launch, near, far] = LATENCY.value.map(|seconds| seconds * 1e6);
    let messages = row.calls.iter().map(messages);
    let term = seconds("W", "wire time of a step", row.comm_s.0)
        .added_up(|| on_wire(WIRE_LATENCY.of_piece(), MESSAGE_BYTES.of_piece(), WIRE_RATE.of_piece()))
        .with(parts)
        .from(&NCCL, "tuning.cc; efficiencies by measured curves")
        .note(reach)
        .note(t!(
            "a message: {launch} µs, {near} a hop in the node, {far} a hop between nodes",
            launch = format!("{launch:.0}"),
            near = format!("{near:.0}"),
            far = format!("{far:.0}")
        ));
    messages.fold(term, Term::note)
}

/// How many messages of a kind there are, and how long they are.
fn messages(call: &CallCount) -> Message {
    let (count, size) = (call.count, show_bytes(call.bytes));
    match call.kind {
        CallKind::AllGather => t!("all-gathers: {count} a step, in each of which a GPU sends {size}", count, size),
        CallKind::ReduceScatter => {
            t!("reduce-scatters: {count} a step, in each of which a GPU sends {size}", count, size)
        }
        CallKind::AllReduce => t!("all-reduces: {count} a step, in each of which a GPU sends {size}", count, size),
        CallKind::AllToAll => t!("all-to-alls: {count} a step, in each of which a GPU sends {size}", count, size),
        CallKind::Send => t!("sends to one rank: {count} a step, of {size} each", count, size),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::evaluate;
    use super::*;
    use crate::run::{Based, MoeDispatch};

    fn find<'a>(term: &'a Term, symbol: &str) -> Option<&'a Term> {
        if term.symbol == symbol {
            return Some(term);
        }
        term.parts.iter().find_map(|part| find(part, symbol))
    }

    fn runs() -> Vec<Run> {
        let base = Run::default;
        let zero = |zero| Run { tp: 1, pp: 1, gpus: 8, zero, ..base() };
        let sharing = |cp_comm| Run { cp: 2, cp_comm, ..base() };
        let experts = Run { model: Based::preset("mixtral-8x7b"), tp: 2, ep: 8, ..base() };
        let dispatched = Run { moe_dispatch: Some(MoeDispatch::PerNode), fp8_dispatch: Some(true), ..experts.clone() };
        let halved = Run { moe_dispatch: Some(MoeDispatch::AllToAll), ..dispatched.clone() };
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
                let gap = volume.computed().unwrap() - shown.bytes_per_gpu.0;
                assert!(gap.abs() <= shown.bytes_per_gpu.0 * 1e-9, "{:?}", shown.traffic);
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
                    let not_hidden = find(&term, "E").unwrap().value;
                    assert!((wire - hidden.value - not_hidden).abs() < 1e-12);
                    let slows = find(&term, "S").map_or(0.0, |slows| slows.value);
                    assert!((not_hidden + slows - term.value).abs() < 1e-12);
                    assert!(hidden.value >= -1e-12);
                }
            }
        }
    }

    /// Ultra-Scale Playbook, appendix A3: its ratio counts elements; ours is twice that in bf16 bytes.
    #[test]
    fn the_playbooks_ratio_stands_beside_ours_printed_and_corrected() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let at = evaluation.report.overlap.iter().position(|row| row.traffic == Traffic::Tp);
        let overlap_row = &evaluation.report.overlap[at.unwrap()];
        let term = row(&evaluation, at.unwrap()).unwrap();
        let playbook = term.parts.iter().find(|part| part.symbol == "Q").unwrap();
        let printed = overlap_row.printed_ratio.unwrap();
        assert!((playbook.value / printed - 2.0).abs() < 1e-12);
        let note = t!("printed: {printed}", printed = significant(printed, 4));
        assert!(playbook.notes.contains(&note), "{:?}", playbook.notes);
    }
}
