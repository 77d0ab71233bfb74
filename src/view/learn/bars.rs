//! Stacked bars on one scale: memory by component, time by kind, traffic by exchange; and the Runs that lessons compute
//! with.

use super::Live;
use super::caption::{colours, data};
use crate::charts::drawing::{Anchor, Box, Drawing};
use crate::charts::ink::Ink;
use crate::charts::ticks::ticks;
use crate::prelude::*;
use shardscope_core::model::Architecture;

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

/// Bytes of an H100 of 80 GB that a program can use.
pub(super) fn usable() -> f64 {
    run("gpus=64").map_or(0.0, |evaluation| evaluation.scenario.gpu.usable.0)
}

/// The model of a preset.
pub(super) fn model(id: &str) -> Option<Architecture> {
    Some(run(&format!("model={id}"))?.scenario.model)
}

/// Parts of a bar: name and colour of each, and the unit of their values.
pub(super) struct Scale {
    pub parts: &'static [(&'static str, Ink)],
    /// The unit, and how much of the bars' values one is.
    pub unit: (&'static str, f64),
}

/// Bytes of the memory components.
pub(super) const MEMORY: Scale = Scale {
    parts: &[
        (Component::Weights.name(), Ink::Memory(0)),
        (Component::Gradients.name(), Ink::Memory(1)),
        (Component::Optimizer.name(), Ink::Memory(2)),
        (Component::Activations.name(), Ink::Memory(3)),
        (Component::Buffers.name(), Ink::Memory(4)),
        (Component::Overhead.name(), Ink::Memory(5)),
    ],
    unit: ("GiB", 1_073_741_824.0),
};

/// Seconds of a step.
pub(super) const TIME: Scale = Scale {
    parts: &[("compute", Ink::Forward), ("exposed communication", Ink::Exposed), ("optimizer", Ink::Optimizer)],
    unit: ("s", 1.0),
};

/// A bar: what it stands for, and the value of each part.
pub(super) struct Bar {
    pub name: Message,
    pub values: Vec<f64>,
}

impl Bar {
    pub fn new(name: impl Into<Message>, values: impl Into<Vec<f64>>) -> Self {
        Self { name: name.into(), values: values.into() }
    }
    /// Memory of the fullest rank of the Run with `settings`.
    pub fn memory(name: impl Into<Message>, settings: &str) -> Option<Self> {
        let evaluation = run(settings)?;
        let stage = evaluation.report.memory.fullest()?;
        let bytes = [stage.weights, stage.gradients, stage.optimizer, stage.activations, stage.buffers, stage.overhead];
        Some(Self::new(name, bytes.map(|bytes| bytes.0)))
    }
    /// The step of the Run with `settings`, `times` over.
    pub fn time(name: impl Into<Message>, settings: &str, times: f64) -> Option<Self> {
        let step = run(settings)?.report.step;
        let each = [step.compute_s, step.exposed_comm_s, step.optimizer_s];
        Some(Self::new(name, each.map(|seconds| times * seconds.0)))
    }
    pub fn total(&self) -> f64 {
        self.values.iter().sum()
    }
    /// The value of the part `at`; 0 where it has none.
    pub fn part(&self, at: usize) -> f64 {
        self.values.get(at).copied().unwrap_or(0.0)
    }
}

/// The total of the bar `at`, or of one of its parts; 0 where there is none.
pub(super) fn total(bars: &[Bar], at: usize) -> f64 {
    bars.get(at).map_or(0.0, Bar::total)
}
pub(super) fn part(bars: &[Bar], at: usize, part: usize) -> f64 {
    bars.get(at).map_or(0.0, |bar| bar.part(part))
}

/// Height of a bar with the space around it, pixels.
const ROW: f64 = 30.0;
/// Height of the axis below the bars, pixels.
const AXIS: f64 = 20.0;
/// Share of the width that names beside their bars get.
const NAMES: f64 = 0.24;
/// The axis over the longest bar: behind that is room for its total.
const ROOM: f64 = 1.45;
/// Letters of the longest name that is beside its bar; longer ones are above it.
const LONG: usize = 20;
/// Height of a name above its bar, pixels, and the share of it from the bar to the middle of the name. A low frame
/// scales the picture to three quarters, in which the letters are still 11 pixels high.
const ABOVE: f64 = 14.0;
const LIFT: f64 = 0.65;

impl Live {
    /// With bars for a picture, a line across them with its name, and the same as a table.
    pub(super) fn bars(self, scale: &Scale, bars: &[Bar], line: Option<&(f64, Message)>) -> Self {
        Self { legend: legend(scale, bars), picture: draw(scale, bars, line), table: numbers(scale, bars), ..self }
    }
    /// With bars of memory, and what a program can use of an H100 across them.
    pub(super) fn memory(self, bars: &[Bar]) -> Self {
        let size = usable();
        let line = (size, t!("usable: {size}", size = gib(size)));
        self.bars(&MEMORY, bars, Some(&line))
    }
}

fn draw(scale: &Scale, bars: &[Bar], line: Option<&(f64, Message)>) -> Node {
    let (unit, per) = scale.unit;
    // Days and bits have a word in every language.
    let figure = |value: f64| match (number(value / per, 3), unit) {
        (plain, "bits") if plain == "1" => t!("one bit"),
        (plain, unit) => t!("{plain} {unit}", plain, unit),
    };
    let longest = bars.iter().map(Bar::total);
    let most = longest.fold(line.map_or(0.0, |(value, _)| *value), f64::max);
    // A total of ten letters is within the frame of a phone of 320 pixels.
    let most = if most > 0.0 { most * ROOM } else { per };
    let is_long = bars.iter().any(|bar| bar.name.to_string().chars().count() > LONG);
    let (names, above) = if is_long { (0.0, ABOVE) } else { (NAMES, 0.0) };
    let foot = (ROW + above) * bars.len() as f64;
    let mut drawing = Drawing::new(foot + AXIS + if line.is_some() { AXIS } else { 0.0 });
    let x = |value: f64| names + (1.0 - names) * value / most;
    for (row, bar) in bars.iter().enumerate() {
        let y = (ROW + above) * row as f64 + above + 3.0;
        let middle = y + (ROW - 6.0) / 2.0;
        drawing.name(if is_long { y - LIFT * above } else { middle }, &bar.name);
        let mut from = 0.0;
        for ((name, ink), value) in scale.parts.iter().zip(&bar.values) {
            let at = Box { x: x(from), width: (1.0 - names) * value / most, y, height: ROW - 6.0 };
            let title = t!("{part} {value}", part = *name, value = figure(*value));
            drawing.fill(at, *ink, 1.0, title);
            from += value;
        }
        // A total is beside the line, not across it.
        let across = line.map_or(0.0, |(value, _)| x(*value));
        let crossed = (x(from)..x(from) + 0.16).contains(&across);
        let end = (if crossed { across } else { x(from) } + 0.005, middle);
        // A time has the unit that the text beside the picture gives it.
        let total = if unit == "s" { verbatim(show_seconds(Seconds(from))) } else { figure(from) };
        drawing.words(end, Anchor::Start, Ink::Muted, total);
    }
    drawing.line((names, foot), (1.0, foot), Ink::Line, 1.0);
    // The last one with the unit, which stands on both sides of it.
    let marked = ticks(0.0, 0.9 * most / per, 4);
    for (at, tick) in marked.iter().enumerate() {
        let place = (x(tick * per), foot + 11.0);
        let words = if at + 1 == marked.len() { figure(tick * per) } else { verbatim(number(*tick, 3)) };
        drawing.words(place, Anchor::Middle, Ink::Muted, words);
    }
    if let Some((value, name)) = line {
        drawing.line((x(*value), 0.0), (x(*value), foot + AXIS), Ink::Text, 1.5);
        // Before the line where it has room there on a phone, else behind it.
        let anchor = if x(*value) < 0.3 { Anchor::Start } else { Anchor::End };
        drawing.words((x(*value), foot + AXIS + 9.0), anchor, Ink::Text, name);
    }
    let label = Message::joined(", ", bars.iter().map(|bar| bar.name.clone()));
    drawing.inline(label)
}

/// The parts that any of the bars has.
fn used<'a>(scale: &'a Scale, bars: &'a [Bar]) -> impl Iterator<Item = usize> + 'a {
    let has = |bar: &Bar, part: usize| bar.part(part) > 0.0;
    (0..scale.parts.len()).filter(move |part| bars.iter().any(|bar| has(bar, *part)))
}

fn legend(scale: &Scale, bars: &[Bar]) -> Node {
    let named = |part: usize| (Message::from(scale.parts[part].0), scale.parts[part].1);
    let entries: Vec<(Message, Ink)> = used(scale, bars).map(named).collect();
    colours(&entries)
}

fn numbers(scale: &Scale, bars: &[Bar]) -> Node {
    let (unit, per) = scale.unit;
    let mut head = vec![unit];
    head.extend(used(scale, bars).map(|part| scale.parts[part].0));
    head.push("total");
    let cell = |value: f64| verbatim(number(value / per, 3));
    let row = |bar: &Bar| {
        let mut cells = vec![bar.name.clone()];
        cells.extend(used(scale, bars).map(|part| cell(bar.part(part))));
        cells.push(cell(bar.total()));
        cells
    };
    data(&head, bars.iter().map(row).collect())
}

/// Bytes as a person reads them.
pub(super) fn gib(bytes: f64) -> String {
    shardscope_core::units::MemoryUnit::Gib.show(Bytes(bytes))
}
