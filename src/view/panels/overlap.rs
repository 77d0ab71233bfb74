//! The overlap table: what each kind of communication hides behind, and what it exposes.

use super::beside::beside;
use crate::node::figure::Scope;
use crate::prelude::*;
use shardscope_core::cluster::Link;
use shardscope_core::time::PartKind;
use shardscope_core::traffic::{CarriedBy, OverlapRow, Sent, Traffic};

/// The page's name of `traffic` of `run`, and the compute that it may hide behind.
pub(crate) fn names(traffic: Traffic, run: &Run) -> (&'static str, &'static str) {
    match traffic {
        Traffic::Dp => ("DP gradients", "passes"),
        Traffic::Zero3 if run.shards_weights() => ("GTP weights", "all passes"),
        Traffic::Zero3 => ("ZeRO-3 weights", "all passes"),
        Traffic::Tp => ("TP activations", "weight gradients"),
        Traffic::Pp => ("PP sends", "stage"),
        Traffic::Cp => ("CP keys, values", "attention"),
        Traffic::Ep => ("EP tokens", "linears"),
    }
}

/// Heads of the table: class, words, explanation.
const HEADS: [(&str, &str, &str); 6] = [
    ("", "communication", ""),
    ("phone-hide", "sent per GPU", "By one GPU of the busiest rank, in a step"),
    ("phone-hide", "wire time", ""),
    ("phone-hide", "overlaps with", "Compute that runs beside it"),
    (
        "grow",
        "ratio to available compute",
        "Wire time over the compute beside it; messages that stand between two kernels that need them have none. \
            The line is 1, the bar ends at 2",
    ),
    ("", "exposed", "Time that is added to the step: of the average rank, and after the last pass of the slowest"),
];

/// A row a kind of communication with the link that it goes over; its name opens the formulas, the playbook's ratio
/// among them.
///
/// Below it a micro-batch is drawn with the messages of the kind that is chosen.
pub fn rows(evaluation: &Evaluation, chosen: Option<Traffic>, unit: MemoryUnit) -> Node {
    let overlap = &evaluation.report.overlap;
    if overlap.is_empty() {
        return muted("One GPU sends nothing.");
    }
    let head: Node = HEADS
        .iter()
        .map(|(class, name, title)| {
            // The bar of a ratio and its figure have one head.
            let spans = if *class == "grow" { "2" } else { "1" };
            el("th", &[("class", class), ("colspan", spans)], &[text(*name)]).title(*title)
        })
        .collect();
    let body: Node = overlap.iter().enumerate().map(|(index, line)| row(index, line, evaluation, unit)).collect();
    let table = grid("", head, body);
    // Where no compute may run beside them at all, no part of them hides.
    let tensor = overlap.iter().any(|row| row.traffic == Traffic::Tp && row.ratio.is_some());
    let kernels = if tensor {
        let notes = [
            inline(names(Traffic::Tp, &evaluation.scenario.run).0),
            text(": "),
            inline("reductions of the backward pass only: the other messages stand between two kernels that need them"),
        ];
        el("p", &[("class", "muted")], &notes)
    } else {
        Node::none()
    };
    let drawn = beside(evaluation, chosen, unit);
    let notes = [
        drawn,
        sharing(evaluation),
        kernels,
        average(evaluation),
        uncovered(evaluation),
        not_hidden(evaluation),
        assumed(evaluation, overlap),
    ];
    std::iter::once(scrolled("Overlap table", table)).chain(notes).collect()
}

/// Rows that go over one wire, and how they share it.
fn sharing(evaluation: &Evaluation) -> Node {
    let (overlap, run) = (&evaluation.report.overlap, &evaluation.scenario.run);
    let wires = [(Link::Inter, "network"), (Link::Intra, "node link")];
    let wires = wires.into_iter().filter_map(|(link, name)| {
        let rows = overlap.iter().filter(|row| row.link == link && !row.shares_wire_with.is_empty());
        let rows: Vec<Message> = rows.map(|row| names(row.traffic, run).0.into()).collect();
        (!rows.is_empty()).then(|| {
            let rows = Message::joined(" · ", rows);
            t!("The {wire} is shared by: {rows}.", wire = name, rows)
        })
    });
    let mut notes: Vec<Message> = wires.collect();
    if notes.is_empty() {
        return Node::none();
    }
    if overlap.iter().any(|row| row.traffic == Traffic::Zero3) {
        let weights = Message::from(names(Traffic::Zero3, run).0);
        notes.push(t!(
            "{weights} are sent first; gradients can hide only behind the rest of the backward passes' \
            compute.",
            weights
        ));
    }
    notes.push(t!("Other rows are counted as if each had its wire alone."));
    let notes: Node = notes.iter().flat_map(|sentence| [inline(sentence), text(" ")]).collect();
    el("p", &[("class", "muted")], &[notes])
}

/// True where wire time is uncovered though there is less of it than of the compute beside it.
fn is_uncovered(row: &OverlapRow) -> bool {
    let open = row.not_hidden_s.0 / row.comm_s.0;
    row.ratio.is_some_and(|ratio| ratio < 1.0) && open > 0.01 && row.traffic != Traffic::Pp
}

/// Why wire time is uncovered where the ratio is below 1, with the share of the compute that covers messages where that
/// is not all.
fn uncovered(evaluation: &Evaluation) -> Node {
    let (run, software) = (&evaluation.scenario.run, &evaluation.scenario.software.overlap);
    let open: Vec<&OverlapRow> = evaluation.report.overlap.iter().filter(|row| is_uncovered(row)).collect();
    if open.is_empty() {
        return Node::none();
    }
    let shares = open.iter().filter_map(|row| {
        let share = match row.traffic {
            Traffic::Tp => software.tp,
            Traffic::Cp => software.cp,
            Traffic::Ep => software.ep.unwrap_or(1.0),
            Traffic::Dp | Traffic::Zero3 | Traffic::Pp => software.dp,
        };
        let shown = Scope::run().part(row.traffic.id()).says("overlap:share of the window", show_percent(share));
        let traffic = Message::from(names(row.traffic, run).0);
        (share < 1.0).then(|| t!("{traffic} {share}", traffic, share = shown))
    });
    let rows = Message::joined(", ", shares);
    let why =
        t!("Even with a ratio below 1 wire time stays uncovered where messages have no compute beside them, or need \
            more than their own pass has.");
    let pairs = run.schedule.pairs_passes() && open.iter().any(|row| row.traffic == Traffic::Ep);
    let alone = pairs.then(|| {
        t!("Messages of experts have no compute beside them in passes that do not run in \
        pairs.")
    });
    let covers = (!rows.is_empty()).then(|| t!("Of that compute at most this share covers messages: {rows}.", rows));
    muted(Message::joined(" ", [Some(why), alone, covers].into_iter().flatten()))
}

/// Whose time the exposed column is, and whose the others are.
fn average(evaluation: &Evaluation) -> Node {
    let exposed = evaluation.report.step.exposed_comm_s;
    let notes = if evaluation.loads.len() == 1 {
        t!("Exposed: wire time that no compute covers, and time by which covered messages slow compute. In all:")
    } else {
        t!(
            "Exposed is counted for the average rank, as in the step time, and after the last pass for the slowest \
                rank: wire time that no compute covers, plus the time by which covered messages slow compute. Where \
                the wire time of those ranks differs, it stands below. The other columns are of pipeline rank {rank}, \
                the busiest. In all:",
            rank = evaluation.busiest
        )
    };
    let shown = inline(verbatim(show_seconds(exposed))).reports("step.exposed_comm_s", &Scope::run());
    let open = ask("link", Figure::Exposed, &[shown]);
    el("p", &[("class", "muted")], &[inline(&notes), text(" "), open])
}

/// Time by which messages of `traffic` make the step longer, on the average rank: the one figure of it, with the kind
/// that it is counted together with. None of sends between stages, which are in the bubble.
pub fn exposed(report: &Report, traffic: Traffic) -> Option<(Seconds, Option<Traffic>)> {
    let (part, other) = match traffic {
        Traffic::Tp => (PartKind::ExposedTp, None),
        Traffic::Cp => (PartKind::ExposedCp, None),
        Traffic::Ep => (PartKind::ExposedEp, None),
        Traffic::Dp => (PartKind::ExposedDp, Some(Traffic::Zero3)),
        Traffic::Zero3 => (PartKind::ExposedDp, Some(Traffic::Dp)),
        Traffic::Pp => return None,
    };
    let time = report.step.parts.iter().filter(|one| one.kind == part).map(|one| one.seconds).sum();
    let other = other.filter(|other| report.overlap.iter().any(|row| row.traffic == *other));
    Some((time, other))
}

/// The place of `traffic` among the parallelisms of a step; none of sends between stages.
const fn place(traffic: Traffic) -> Option<usize> {
    match traffic {
        Traffic::Tp => Some(0),
        Traffic::Cp => Some(1),
        Traffic::Ep => Some(2),
        Traffic::Dp | Traffic::Zero3 => Some(3),
        Traffic::Pp => None,
    }
}

/// Wire time of the messages that [`exposed`] is of, and that of the rows it is counted with on the busiest rank.
fn wires(report: &Report, traffic: Traffic) -> Option<[Seconds; 2]> {
    let own = place(traffic)?;
    let rows = report.overlap.iter().filter(|row| place(row.traffic) == Some(own));
    Some([report.step.wires_s[own], rows.map(|row| row.comm_s).sum()])
}

/// The two parts of `exposed`, what the traffic makes the step longer by: wire time that no compute covers, and time by
/// which covered messages slow compute. None where the second is no hundredth of it.
fn parts(report: &Report, traffic: Traffic, exposed: Seconds) -> Option<[Seconds; 2]> {
    let slow = report.step.slowed_by_s[place(traffic)?];
    let open = Seconds((exposed - slow).0.max(0.0));
    (slow.0 > 0.01 * exposed.0).then_some([open, Seconds((exposed - open).0)])
}

/// The row of "Where the step goes" that has it.
const fn part_name(traffic: Traffic) -> &'static str {
    match traffic {
        Traffic::Tp => "Exposed TP",
        Traffic::Cp => "Exposed CP",
        Traffic::Ep => "Exposed EP",
        Traffic::Dp | Traffic::Zero3 => "Exposed DP",
        Traffic::Pp => "",
    }
}

/// That what hides of tensor parallelism over PCIe is an assumption, and what it moves: the runs that its share rests
/// on have NVLink (`tests/accuracy/rows.rs`). Nothing where none of it hides.
fn assumed(evaluation: &Evaluation, overlap: &[OverlapRow]) -> Node {
    let tensor = overlap.iter().find(|row| row.traffic == Traffic::Tp && row.link == Link::Intra);
    let Some(row) = tensor.filter(|_| evaluation.scenario.gpu.is_on_pcie()) else {
        return Node::none();
    };
    let hidden = row.comm_s - row.not_hidden_s;
    if hidden.0 <= 0.0 {
        return Node::none();
    }
    let scope = Scope::run().part(format_args!("{}, busiest rank", row.traffic.id()));
    muted(t!(
        "TP over PCIe: {hidden} of {wire} are assumed to hide behind compute, as in runs with NVLink; no measured step \
            over PCIe confirms it. If nothing hides, the step takes up to {hidden} more.",
        hidden = scope.says("overlap:hidden_s", show_seconds(hidden)),
        wire = scope.says("overlap:comm_s", show_seconds(row.comm_s))
    ))
}

/// A schedule that pairs passes, while nothing may hide behind them: what the setting means, and the way to change it.
fn not_hidden(evaluation: &Evaluation) -> Node {
    let run = &evaluation.scenario.run;
    let pairs = run.schedule.pairs_passes();
    let mut rows = evaluation.report.overlap.iter();
    if !pairs || run.overlap.ep != Some(0.0) || !rows.any(|row| row.traffic == Traffic::Ep && row.exposed_s.0 > 0.0) {
        return Node::none();
    }
    let fix = vec![("overlap.ep", String::new())];
    let notes = [
        inline("This schedule pairs passes so that the messages of one overlap with the other."),
        text(" "),
        inline("overlap.ep says that none of it does: unset, it follows the schedule."),
        text(" "),
        apply("fix", fix, "", "let the schedule decide"),
    ];
    el("p", &[("class", "muted")], &notes)
}

fn row(index: usize, row: &OverlapRow, evaluation: &Evaluation, unit: MemoryUnit) -> Node {
    let (report, run) = (&evaluation.report, &evaluation.scenario.run);
    let (name, window) = names(row.traffic, run);
    let scope = Scope::run().part(format_args!("{}, busiest rank", row.traffic.id()));
    let exposed = match exposed(report, row.traffic) {
        None => strong("in the bubble"),
        Some((time, _)) if time.0 <= 0.0 => strong("none"),
        Some((time, other)) => {
            let whole = strong(verbatim(show_seconds(time))).reports(part_name(row.traffic), &Scope::run());
            let other = other.map(|other| aside(t!("with {other}", other = Message::plain(names(other, run).0))));
            let parts = parts(report, row.traffic, time).map(|[open, slow]| {
                let part = Scope::run().part(part_name(row.traffic));
                let open = part.says("overlap:uncovered_s", show_seconds(open));
                let slow = part.says("overlap:slows_s", show_seconds(slow));
                aside(t!("{open} uncovered + {slow} that slow compute", open, slow))
            });
            let shown = wires(report, row.traffic).map(|wires| wires.map(show_seconds));
            let on_wire = shown.filter(|[own, of_rows]| own != of_rows).map(|[own, _]| {
                let part = Scope::run().part(part_name(row.traffic));
                aside(t!("of {wire} on the wire", wire = part.says("overlap:wire_s", own)))
            });
            std::iter::once(whole).chain(other).chain(on_wire).chain(parts).collect()
        }
    };
    let of_row = |shown: String, field: &'static str| inline(verbatim(shown)).reports(field, &scope);
    let beside = if row.compute_s.0 > 0.0 {
        both(of_row(show_seconds(row.compute_s), "overlap:compute_s"), "", window)
    } else {
        text("nothing")
    };
    let cells = [
        ask("link", Figure::Overlap(index), &[text(name)]),
        sent(row, evaluation, &scope, unit),
        of_row(show_seconds(row.comm_s), "overlap:comm_s"),
        beside,
        ratio_bar(row.ratio.unwrap_or(0.0)),
        ratio(row, &scope),
        exposed,
    ];
    // The head of a ratio spans its bar and its figure.
    let classes = HEADS.iter().flat_map(|(class, ..)| [Some(*class), (*class == "grow").then_some("")]).flatten();
    let cells: Node = classes.zip(cells).map(|(class, cell)| el("td", &[("class", class)], &[cell])).collect();
    el("tr", &[], &[cells])
}

/// What a GPU sends in a row, what its links reach, and where it leaves the node, how much goes over which link.
fn sent(row: &OverlapRow, evaluation: &Evaluation, scope: &Scope, unit: MemoryUnit) -> Node {
    let gpu = &evaluation.scenario.gpu;
    let per_second = |speed: f64| format!("{} GB/s", significant(speed / 1e9, 3));
    let reached = row
        .reached_bytes_per_s
        .map_or_else(|| verbatim("–"), |speed| scope.says("overlap:reached_bytes_per_s", per_second(speed)));
    let [of_node, of_card] = [("link in a node", gpu.intra), ("link between nodes", gpu.inter)]
        .map(|(field, speed)| Scope::run().says(field, per_second(speed.0)));
    let links = row.links();
    let is_on = |sent: Sent| sent.bytes.0 > 0.0;
    let crosses = is_on(links.card) || (row.link == Link::Inter && !is_on(links.node));
    let speed = if crosses {
        match row.carried {
            CarriedBy { cards, expert_cards: Some(experts) } => t!(
                "{reached} over {count} cards a node of {sheet}, experts over {experts}, and the node's links",
                reached,
                count = cards,
                sheet = of_card,
                experts
            ),
            CarriedBy { cards: 1, .. } if is_on(links.node) => {
                t!("{reached} over a card of {sheet} and the node's links", reached, sheet = of_card)
            }
            CarriedBy { cards: 1, .. } => t!("{reached} over a card of {sheet}", reached, sheet = of_card),
            CarriedBy { cards, .. } => t!(
                "{reached} over {count} cards a node of {sheet} and the node's links",
                reached,
                count = cards,
                sheet = of_card
            ),
        }
    } else {
        t!("{reached} over the node's links of {sheet}", reached, sheet = of_node.clone())
    };
    // Their sum is what the rate is of.
    let both_links = (crosses && is_on(links.node)).then(|| {
        let [card, node] = [("overlap:card_bytes", links.card), ("overlap:node_bytes", links.node)]
            .map(|(field, sent)| scope.says(field, unit.fitting(sent.bytes)));
        aside(t!("{card} over its card, {node} over the node's links of {sheet}", card, node, sheet = of_node))
    });
    let bytes = inline(verbatim(unit.fitting(row.bytes_per_gpu))).reports("overlap:bytes_per_gpu", scope);
    std::iter::once(both(bytes, "", speed)).chain(both_links).collect()
}

/// The ratio; under the pointer that of each pass where both have compute beside them.
fn ratio(row: &OverlapRow, scope: &Scope) -> Node {
    let Some(ratio) = row.ratio else {
        return leaf("small", "", "nothing beside it: all of it waits");
    };
    let figure = inline(verbatim(significant(ratio, 3)));
    // Less than the compute beside it, and yet not hidden: the rest has no compute of its own.
    let open = row.not_hidden_s.0 / row.comm_s.0;
    let whole = if is_uncovered(row) {
        let words = t!(
            "on the busiest rank {open} of the wire time is uncovered",
            open = scope.says("overlap:uncovered share", show_percent(open))
        );
        Node::from_iter([figure, text(" "), leaf("small", "", words)])
    } else {
        figure
    };
    match &row.passes[..] {
        [forward, backward] if forward.compute_s.0 > 0.0 && row.traffic != Traffic::Pp => {
            let [forward, backward] = [forward, backward].map(|pass| significant(pass.comm_s / pass.compute_s, 3));
            el("span", &[], &[whole]).title(t!("forward {forward}, backward {backward}", forward, backward))
        }
        _ => whole,
    }
}

fn both(figure: Node, class: &str, small: impl Into<Message>) -> Node {
    Node::from_iter([figure, text(" "), leaf("small", class, small)])
}

/// The ratio against 1, which stands in the middle of the bar of every row.
fn ratio_bar(ratio: f64) -> Node {
    const ONE: f64 = 0.5;
    let hidden = percent("width", ratio.min(1.0) * ONE);
    let over = ((ratio - 1.0).max(0.0) * ONE).min(1.0 - ONE);
    let rule = percent("left", ONE);
    let over = format!("{rule};{}", percent("width", over));
    el(
        "div",
        &[("class", "ratio"), ("aria-hidden", "true")],
        &[
            el("b", &[("style", &hidden)], &[]),
            el("b", &[("class", "over"), ("style", &over)], &[]),
            el("u", &[("style", &rule)], &[]),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NVIDIA's data sheets: NVLink of an H100 moves 900 GB/s in both directions together, its card 400 Gb/s in each.
    #[test]
    fn each_row_opens_its_own_formula_and_names_its_link() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let overlap = &evaluation.report.overlap;
        let view = rows(&evaluation, None, MemoryUnit::Gib);
        let html = view.to_html();
        for (index, row) in overlap.iter().enumerate() {
            let explain = Action::Explain(Figure::Overlap(index));
            assert!(view.actions().contains(&&explain));
            let speed = match row.link {
                Link::Intra => "450 GB/s",
                Link::Inter => "50.0 GB/s",
            };
            // The quotient of the two figures beside it.
            let reached = row.bytes_per_gpu.0 / row.comm_s.0 / 1e9;
            assert!(html.contains(&format!("{} GB/s over", significant(reached, 3))), "{:?}: {html}", row.traffic);
            assert!(html.contains(speed), "{:?}: {html}", row.traffic);
        }
        assert!(overlap.len() >= 3);
    }

    /// RTX 4090: PCIe 4, no NVLink. What is assumed is said with what it moves, no more than what is on the wire; H100
    /// with NVLink and a run without tensor parallelism say nothing of it.
    #[test]
    fn what_hides_over_pcie_is_said_to_be_an_assumption() {
        let said = |gpu: &str, tp: &str| {
            let set = [("gpu", gpu), ("gpus", "4"), ("tp", tp), ("pp", "1"), ("stack", "megatron-2025")];
            let run = Run::default().with_texts(&set.map(|(key, text)| (key, text.to_owned()))).unwrap();
            let evaluation = evaluate(&run).unwrap();
            let html = rows(&evaluation, None, MemoryUnit::Gib).to_html();
            (html.contains("are assumed to hide behind compute, as in runs with NVLink"), evaluation)
        };
        let (is_said, evaluation) = said("rtx-4090", "4");
        assert!(is_said);
        let row = evaluation.report.overlap.iter().find(|row| row.traffic == Traffic::Tp).unwrap();
        assert!(row.not_hidden_s.0 >= 0.0 && row.not_hidden_s < row.comm_s);
        assert!(!said("h100-sxm-80gb", "4").0 && !said("rtx-4090", "1").0);
    }

    /// The published run of DeepSeek-V3: its exposed gradients are those of the slowest rank after the last pass, more
    /// than those of the rank whose passes take longest. The parts of each kind sum to what the step has of it, and
    /// those that slow compute to what the step has of them.
    #[test]
    fn the_parts_of_what_is_exposed_sum_to_it() {
        use shardscope_core::run::presets::PUBLISHED;
        let mut shown = 0;
        for published in PUBLISHED {
            let Ok(report) = shardscope_core::report::report(&published.run()) else { continue };
            let sum: f64 = report.step.slowed_by_s.iter().map(|time| time.0).sum();
            assert!((sum - report.step.slows_compute_s.0).abs() <= 1e-9 * report.step.time_s.0, "{}", published.name);
            for row in &report.overlap {
                let Some((time, _)) = exposed(&report, row.traffic) else { continue };
                let Some([open, slow]) = parts(&report, row.traffic, time) else { continue };
                assert!(open.0 >= 0.0 && slow <= time, "{}", published.name);
                let of_step = report.step.slowed_by_s.iter().any(|one| (*one - slow).0.abs() <= 1e-9 * time.0);
                assert!(of_step, "{}: {:?}", published.name, row.traffic);
                shown += 1;
            }
        }
        assert!(shown >= 5, "{shown}");
    }

    /// The run: weights and gradients of ZeRO-3 on one network, 936 of 1001 ms exposed.
    #[test]
    fn rows_on_one_wire_are_named_and_a_lone_row_only_slows_compute() {
        let mut run = Run::default();
        (run.gpus, run.tp, run.pp, run.zero) = (1024, 1, 1, 3);
        (run.global_batch, run.seq_len) = (4096, 4096);
        let html = rows(&evaluate(&run).unwrap(), None, MemoryUnit::Gib).to_html();
        let shared = "The network is shared by: DP gradients · ZeRO-3 weights.";
        assert!(html.contains(shared) && html.contains("forward 1."), "{html}");
        run.zero = 1;
        let html = rows(&evaluate(&run).unwrap(), None, MemoryUnit::Gib).to_html();
        assert!(!html.contains("is shared by"), "{html}");
    }

    /// Weights that generalized tensor parallelism cuts are none of ZeRO-3's: it runs with ZeRO-1.
    #[test]
    fn gathered_weights_are_named_by_what_cuts_them() {
        let run = Run { gpus: 64, tp: 1, pp: 1, zero: 1, weight_shards: 8, ..Run::default() };
        let html = rows(&evaluate(&run).unwrap(), None, MemoryUnit::Gib).to_html();
        assert!(html.contains("GTP weights") && !html.contains("ZeRO-3"), "{html}");
    }

    #[test]
    fn one_gpu_sends_nothing_and_says_so() {
        let alone = Run { gpus: 1, tp: 1, pp: 1, ..Run::default() };
        let html = rows(&evaluate(&alone).unwrap(), None, MemoryUnit::Gib).to_html();
        assert!(html.contains("sends nothing"));
    }

    #[test]
    fn rows_that_do_not_add_up_say_why_and_pairs_that_hide_nothing_how_they_would() {
        let run = Run {
            model: shardscope_core::run::Based::preset("mixtral-8x7b"),
            gpus: 64,
            tp: 1,
            pp: 4,
            ep: 8,
            schedule: Schedule::DualPipe,
            ..Run::default()
        };
        let view = |run: &Run| rows(&evaluate(run).unwrap(), None, MemoryUnit::Gib);
        let hides = |run: &Run| {
            let fix = Action::Apply(vec![("overlap.ep", String::new())]);
            view(run).actions().contains(&&fix)
        };
        assert!(!hides(&run));
        let mut exposed = run;
        exposed.overlap.ep = Some(0.0);
        assert!(hides(&exposed));
        assert!(view(&Run { zero: 3, ..Run::default() }).to_html().contains("average rank"));
    }
}
