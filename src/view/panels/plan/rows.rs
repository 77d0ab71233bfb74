//! The ranked layouts: filters, the table, why each beats the next, memory against throughput.

use super::{View, button, chips_of, fold};
use crate::core::memory::Verdict;
use crate::core::memory::verdict::HALF_BAND;
use crate::core::message::{Message, verbatim};
use crate::core::run::{OneOf, Recompute, Run};
use crate::core::search::filter::{Axis, Filter};
use crate::core::search::session::{Fold, PlanCommand};
use crate::core::search::{Axes, Found, TIE, recommended, ties, why as reason};
use crate::core::t;
use crate::core::units::{group, show_percent, show_seconds, significant};
use crate::view::node::markup::{Action, Node, el, leaf, table, text};
use crate::view::panels::words;
use std::rc::Rc;
use std::sync::Arc;

/// The sizes of a layout in one line: those that are not 1, and what is not usual.
pub fn layout(found: &Found) -> Message {
    let run = &found.run;
    let sizes = [
        ("TP", run.tp),
        ("PP", run.pp),
        ("CP", run.cp),
        ("EP", run.ep),
        ("ETP", run.etp),
    ];
    let mut list: Vec<Message> = sizes
        .into_iter()
        .filter(|(_, size)| *size > 1)
        .map(|(name, size)| verbatim(format!("{name} {size}")))
        .collect();
    list.push(verbatim(format!("DP {}", found.figures.dp)));
    list.push(verbatim(format!("ZeRO-{}", run.zero)));
    list.push(t!(
        "micro-batch {micro_batch}",
        micro_batch = run.micro_batch
    ));
    if run.pp > 1 {
        list.push(schedule(run).into());
    }
    if run.recompute != Recompute::None {
        list.push(run.recompute.words());
    }
    if run.tp > 1 && !run.sequence_parallel {
        list.push(t!("no SP"));
    }
    if run.stage_layers.is_some() {
        list.push(t!("fewer layers beside the embedding or the head"));
    }
    Message::joined(" · ", list)
}

/// The same as short as a row of the table has room for: the form's symbols, and no word that a figure implies.
fn short(found: &Found) -> Node {
    let run = &found.run;
    let sizes = [
        ("TP", run.tp),
        ("PP", run.pp),
        ("CP", run.cp),
        ("EP", run.ep),
        ("ETP", run.etp),
        ("DP", found.figures.dp),
    ];
    let sizes = sizes.into_iter();
    let named = sizes.filter(|(name, size)| *size > 1 || *name == "DP");
    let words: Vec<String> = named.map(|(name, size)| format!("{name} {size}")).collect();
    let mut list = vec![
        verbatim(words.join(" ")),
        verbatim(format!("ZeRO-{}", run.zero)),
        verbatim(format!("b {}", run.micro_batch)),
    ];
    if run.pp > 1 {
        // Several chunks of a plain 1F1B are an interleaved one.
        list.push(schedule(run).replace("interleaved 1F1B", "1F1B").into());
    }
    let others = [
        (run.recompute == Recompute::Full, "recompute"),
        (run.recompute == Recompute::Selective, "selective"),
        (run.recompute == Recompute::OpSelective, "op-selective"),
        (run.tp > 1 && !run.sequence_parallel, "no SP"),
        (run.stage_layers.is_some(), "uneven"),
    ];
    list.extend(
        others
            .iter()
            .filter(|(is, _)| *is)
            .map(|(_, word)| (*word).into()),
    );
    let mut pieces = Vec::new();
    for word in &list {
        if !pieces.is_empty() {
            pieces.push(text(" · "));
        }
        // Whole where the row breaks.
        pieces.push(leaf("span", "", word));
    }
    pieces.into_iter().collect()
}

/// The schedule with its chunks a rank.
pub fn schedule(run: &Run) -> String {
    let name = run.schedule.choice().label;
    if run.virtual_stages > 1 {
        format!("{name} × {}", run.virtual_stages)
    } else {
        name.to_owned()
    }
}

/// What rows are shown, as chips to press.
pub fn chips(view: &View, axes: &Axes) -> Node {
    let filter = &view.query.filter;
    let fits = (
        PlanCommand::FilterFits,
        filter.fits,
        t!("none that may not fit"),
    );
    let mut lines: Vec<Node> = vec![chips_of("Only", std::iter::once(fits))];
    for axis in Filter::AXES {
        let values = axis.values(axes).into_iter();
        lines.push(chips_of(
            axis.name(),
            values.map(|value| {
                let command = PlanCommand::Filter(axis, value);
                (command, filter.has(axis, value), axis.label(axes, value))
            }),
        ));
    }
    let sizes = Axis::Tp.values(axes).into_iter();
    lines.push(chips_of(
        "TP up to",
        sizes.map(|tp| {
            let on = filter.max_tp == Some(tp);
            (PlanCommand::MaxTp(tp), on, verbatim(tp.to_string()))
        }),
    ));
    if !filter.is_empty() {
        lines.push(button(
            "link",
            PlanCommand::ClearFilter,
            None,
            "show all again",
        ));
    }
    el("div", &[("class", "filters")], &lines)
}

/// Step time, tokens a second and MFU rank layouts alike: one of the last two is enough.
const HEAD: [&str; 7] = [
    "layout",
    "step",
    "MFU",
    "peak memory",
    "bubble",
    "exposed",
    "",
];

/// The ranked layouts; the recommended one is marked. `done`: the search is over.
pub fn rows(view: &View, done: bool) -> Node {
    let found = &view.result.rows;
    if found.is_empty() {
        return if done && !view.query.filter.is_empty() {
            leaf(
                "p",
                "muted",
                "No layout that is left by the filters counts as feasible.",
            )
        } else {
            Node::none()
        };
    }
    let (tied, simplest) = (ties(found), recommended(found));
    let line = |(index, one): (usize, &Rc<Found>)| {
        let mark = if simplest == Some(index) {
            " recommended"
        } else if index < tied {
            " ≈"
        } else {
            ""
        };
        (simplest == Some(index), row(view, index, one, mark))
    };
    let lines: Vec<(bool, Vec<Node>)> = found.iter().enumerate().map(line).collect();
    let legend = "b: micro-batch · × n: interleaved, n chunks a rank · uneven: fewer layers beside the embedding or the head · ⚠ may not fit · pin a row for all its figures";
    let rule = rule();
    let all = table("Layouts by step time", &HEAD, &lines);
    let rows = el("div", &[("class", "rows")], &[all]);
    let notes = [legend.into(), rule].map(|note: Message| leaf("p", "muted note", note));
    std::iter::once(rows).chain(notes).collect()
}

/// How rows are ordered, and which are rows at all.
fn rule() -> Message {
    t!(
        "Strictly by time; ≈ ties with the first within {tie} %, of which the simplest is recommended. A layout counts as feasible if its estimated need, fragmentation included, is no more than the driver shows: of 144 published runs that did, 143 ran (the rule was chosen, and the estimate fitted, with them in view); tight is within {band} % of it.",
        tie = significant(TIE * 100.0, 2),
        band = significant(HALF_BAND.value * 100.0, 1)
    )
}

fn row(view: &View, index: usize, one: &Rc<Found>, mark: &'static str) -> Vec<Node> {
    let step = &one.figures;
    let (low, high) = (show_seconds(step.low_s), show_seconds(step.high_s));
    let mine = one.run
        == Run {
            measured_step_s: None,
            profile: one.run.profile.clone(),
            ..view.query.run.clone()
        };
    let load = el(
        "button",
        &[
            ("class", "link"),
            ("aria-current", if mine { "true" } else { "" }),
        ],
        &[short(one)],
    )
    .title(t!("Load this layout: {one}", one = layout(one)))
    .on(Action::Load(Arc::new(one.run.clone())));
    let marks = [
        load,
        leaf("small", "", mark),
        leaf("small", "", if mine { " · this run" } else { "" }),
    ];
    let number = leaf("span", "", format!("{}.", index + 1));
    let name = el(
        "div",
        &[("class", "ranked")],
        &[number, el("div", &[], &marks)],
    );
    let hover = |figure: String, more: Message| el("span", &[], &[text(figure)]).title(more);
    let time = hover(show_seconds(step.time_s), t!("{low} to {high}", low, high));
    let rate = group(&format!("{:.0}", step.tokens_per_s_per_gpu));
    let memory = &step.peak;
    let tight = memory.verdict != Verdict::Fits;
    let warned = [("role", "img"), ("class", "tight")];
    let peak = [
        if tight {
            el("span", &warned, &[text("⚠ ")]).label("may not fit")
        } else {
            Node::none()
        },
        hover(
            view.unit.show(memory.bytes),
            if tight {
                words::fullest(memory)
            } else {
                t!("rank {rank}", rank = memory.rank)
            },
        ),
    ];
    let pinned = view.query.pinned.contains(&one.place);
    vec![
        name,
        time,
        hover(show_percent(step.mfu), t!("{rate} tokens/s/GPU", rate)),
        peak.into_iter().collect(),
        text(show_percent(step.bubble_fraction)),
        text(show_percent(step.exposed_comm_s / step.time_s)),
        button(
            "toggle-link",
            PlanCommand::Pin(one.place),
            Some(pinned),
            "pin",
        ),
    ]
}

/// One sentence a row.
pub fn why(view: &View) -> Node {
    let found = &view.result.rows;
    if found.len() < 2 {
        return Node::none();
    }
    fold(view, Fold::Why, "Why each beats the next", || {
        let pairs = found.windows(2);
        let items: Node = pairs
            .map(|pair| leaf("li", "", reason(&pair[0], &pair[1])))
            .collect();
        el("ol", &[("class", "why")], &[items])
    })
}
