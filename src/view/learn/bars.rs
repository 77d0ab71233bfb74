//! The memory of some Runs as stacked bars on one scale, and the Runs that lessons compute with.

use super::Live;
use crate::core::memory::{Component, StageMemory};
use crate::core::message::{Message, verbatim};
use crate::core::report::{Evaluation, evaluate};
use crate::core::run::Run;
use crate::core::t;
use crate::core::units::{Bytes, MemoryUnit, number};
use crate::view::charts::drawing::{Anchor, Box, Drawing};
use crate::view::charts::ink::Ink;
use crate::view::charts::ticks::ticks;
use crate::view::node::Node;
use crate::view::node::markup::{el, fold, leaf, table, text};
use crate::view::panels::memory::legend_entry;

/// The report of a Run with `settings`, as a link writes them; none where it does not work.
pub(super) fn run(settings: &str) -> Option<Evaluation> {
    let pairs: Vec<(String, String)> = settings
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let (run, issues) = Run::from_pairs(&pairs);
    issues.is_empty().then(|| evaluate(&run).ok()).flatten()
}

/// The fullest rank of an evaluation.
pub(super) fn fullest(evaluation: &Evaluation) -> Option<&StageMemory> {
    let memory = &evaluation.report.memory;
    memory.per_stage.get(memory.peak_stage)
}

/// A bar: what it stands for, and bytes by component.
pub(super) struct Bar {
    pub name: Message,
    pub bytes: [f64; 6],
}

impl Bar {
    /// The fullest rank of the Run with `settings`.
    pub fn of(name: impl Into<Message>, settings: &str) -> Option<Self> {
        let evaluation = run(settings)?;
        let stage = fullest(&evaluation)?;
        let bytes = [
            stage.weights,
            stage.gradients,
            stage.optimizer,
            stage.activations,
            stage.buffers,
            stage.overhead,
        ];
        Some(Self {
            name: name.into(),
            bytes: bytes.map(|bytes| bytes.0),
        })
    }
    fn total(&self) -> f64 {
        self.bytes.iter().sum()
    }
}

const ROW: f64 = 30.0;
const AXIS: f64 = 20.0;
/// Share of the width for the names.
const NAMES: f64 = 0.22;

/// The bars, the line of a capacity in bytes, and the same as a table, into `live`.
pub(super) fn show(live: Live, bars: &[Bar], capacity: Option<(Bytes, Message)>) -> Live {
    let line = capacity.as_ref().map_or(0.0, |(bytes, _)| bytes.0);
    let most = bars.iter().map(Bar::total).fold(line, f64::max).max(1.0) * 1.08;
    let foot = ROW * bars.len() as f64;
    let mut drawing = Drawing::new(foot + AXIS + if capacity.is_some() { AXIS } else { 0.0 });
    let x = |bytes: f64| NAMES + (1.0 - NAMES) * bytes / most;
    for (row, bar) in bars.iter().enumerate() {
        let y = ROW * row as f64 + 3.0;
        let middle = y + (ROW - 6.0) / 2.0;
        drawing.words((0.0, middle), Anchor::Start, Ink::Text, &bar.name);
        let mut from = 0.0;
        for (component, bytes) in bar
            .bytes
            .iter()
            .enumerate()
            .filter(|(_, bytes)| **bytes > 0.0)
        {
            let at = Box {
                x: x(from),
                width: (1.0 - NAMES) * bytes / most,
                y,
                height: ROW - 6.0,
            };
            let title = t!(
                "{component} {bytes}",
                component = Component::ALL[component].name(),
                bytes = MemoryUnit::Gib.show(Bytes(*bytes))
            );
            drawing.fill(at, Ink::Memory(component), 1.0, title);
            from += bytes;
        }
        let total = verbatim(MemoryUnit::Gib.show(Bytes(from)));
        drawing.words((x(from) + 0.005, middle), Anchor::Start, Ink::Muted, total);
    }
    drawing.line((NAMES, foot), (1.0, foot), Ink::Line, 1.0);
    let gib = Bytes::from_gib(1.0).0;
    for tick in ticks(0.0, most / gib, 5) {
        let words = verbatim(number(tick, 3));
        drawing.words(
            (x(tick * gib), foot + 11.0),
            Anchor::Middle,
            Ink::Muted,
            words,
        );
    }
    if let Some((bytes, name)) = &capacity {
        drawing.line((x(bytes.0), 0.0), (x(bytes.0), foot + AXIS), Ink::Text, 1.5);
        drawing.words(
            (x(bytes.0), foot + AXIS + 9.0),
            Anchor::End,
            Ink::Text,
            name,
        );
    }
    let label = Message::joined(", ", bars.iter().map(|bar| bar.name.clone()));
    Live {
        legend: legend(bars),
        picture: drawing.inline(label),
        table: numbers(bars),
        ..live
    }
}

fn used(bars: &[Bar]) -> impl Iterator<Item = usize> {
    (0..6).filter(|component| bars.iter().any(|bar| bar.bytes[*component] > 0.0))
}

fn legend(bars: &[Bar]) -> Node {
    let entries = used(bars).map(|component| legend_entry(Component::ALL[component]));
    el("div", &[("class", "legend")], &[entries.collect()])
}

fn numbers(bars: &[Bar]) -> Node {
    let mut head = vec![""];
    head.extend(used(bars).map(|component| Component::ALL[component].name()));
    head.push("total");
    let gib = |bytes: f64| text(verbatim(MemoryUnit::Gib.number(Bytes(bytes))));
    let rows: Vec<(bool, Vec<Node>)> = bars
        .iter()
        .map(|bar| {
            let mut cells = vec![text(&bar.name)];
            cells.extend(used(bars).map(|component| gib(bar.bytes[component])));
            cells.push(gib(bar.total()));
            (false, cells)
        })
        .collect();
    let unit = leaf("p", "muted", "GiB per GPU");
    let content = [unit, table("The same as a table", &head, &rows)];
    fold("The same as a table", content.into_iter().collect())
}
