//! Pinned layouts side by side: every figure of each, and its difference from the first.

use super::controls::{PlanView, button};
use super::rows::layout;
use crate::prelude::*;
use shardscope_core::search::FoundLayout;
use shardscope_core::search::session::PlanCommand;
use shardscope_core::units::fixed;

/// A figure: its name, its value, and how it is shown.
type Figure = (&'static str, fn(&FoundLayout) -> f64, fn(&PlanView, f64) -> String);

const FIGURES: [Figure; 9] = [
    ("step time", |one| one.figures.time_s.0, seconds),
    ("compute", |one| one.figures.compute_s.0, seconds),
    ("bubble", |one| one.figures.bubble_s.0, seconds),
    ("exposed communication", |one| one.figures.exposed_comm_s.0, seconds),
    ("optimizer", |one| one.figures.optimizer_s.0, seconds),
    ("tokens/s/GPU", |one| one.figures.tokens_per_s_per_gpu, |_, value| fixed(value, 0)),
    ("MFU", |one| one.figures.mfu, |_, value| show_percent(value)),
    ("peak memory", |one| one.figures.peak.bytes.0, |view, value| view.unit.show(Bytes(value))),
    ("micro-batches", |one| one.figures.microbatches as f64, |_, value| fixed(value, 0)),
];

fn seconds(_: &PlanView, value: f64) -> String {
    show_seconds(Seconds(value))
}

/// The layout in words, line by line.
fn settings(one: &FoundLayout) -> [(&'static str, Message); 9] {
    let run = &one.run;
    [
        ("TP", verbatim(run.tp.to_string())),
        ("PP", verbatim(run.pp.to_string())),
        ("CP", verbatim(run.cp.to_string())),
        ("EP", verbatim(run.ep.to_string())),
        ("DP", verbatim(one.figures.dp.to_string())),
        ("ZeRO", verbatim(run.zero.to_string())),
        ("micro-batch", verbatim(run.micro_batch.to_string())),
        ("schedule", crate::words::schedule(run)),
        ("recomputation", run.recompute.words()),
    ]
}

/// The pinned layouts as columns; nothing where none is pinned.
pub(crate) fn pinned(view: &PlanView) -> Node {
    let pinned = &view.result.pinned;
    let Some(first) = pinned.first() else {
        return Node::none();
    };
    let head: Node = pinned
        .iter()
        .enumerate()
        .map(|(index, one)| {
            let title = layout(one);
            let letter = char::from(b'A' + u8::try_from(index).unwrap_or(0));
            let name = t!("use {letter}", letter = letter.to_string());
            el("th", &[], &[load("link", &one.run, &title, &[text(&name)])])
        })
        .collect();
    let mut rows: Vec<Node> = Vec::new();
    for (index, (name, value)) in settings(first).into_iter().enumerate() {
        let cells = pinned.iter().map(|one| {
            let setting = settings(one)[index].1.clone();
            let class = if setting == value { "" } else { "differs" };
            leaf("td", class, &setting)
        });
        let name = std::iter::once(leaf("td", "muted", name));
        rows.push(el("tr", &[], &[name.chain(cells).collect()]));
    }
    for (name, value, show) in FIGURES {
        let base = value(first);
        let cells = pinned.iter().enumerate().map(|(index, one)| {
            let ours = value(one);
            let mut parts = vec![text(verbatim(show(view, ours)))];
            if index > 0 {
                parts.push(leaf("small", "range", against(view, base, ours, show)));
            }
            el("td", &[], &parts)
        });
        let name = std::iter::once(leaf("td", "muted", name));
        rows.push(el("tr", &[], &[name.chain(cells).collect()]));
    }
    let head = Node::from_iter([leaf("th", "", "Pinned"), head]);
    let table = grid("pinned", head, rows.into_iter().collect());
    let clear = button("link", PlanCommand::UnpinAll, None, "unpin all");
    Node::from_iter([scrolled("Pinned layouts", table), clear])
}

/// "+120 ms (+3.2 %)".
fn against(view: &PlanView, base: f64, own: f64, show: fn(&PlanView, f64) -> String) -> Message {
    let difference = own - base;
    if difference.abs() <= 1e-9 * base.abs() {
        return t!("the same");
    }
    let sign = if difference < 0.0 { "−" } else { "+" };
    let amount = show(view, difference.abs());
    if base == 0.0 {
        return verbatim(format!("{sign}{amount}"));
    }
    let share = show_percent(difference.abs() / base.abs());
    verbatim(format!("{sign}{amount} ({sign}{share})"))
}
