//! Memory of two Runs on one scale, and the tensors that make the difference.

use crate::node::action::Compare;
use crate::node::figure::Scope;
use crate::panels::memory::{Bars, bars_on, beside, legend, part_rows, scale, swatch};
use crate::prelude::*;
use crate::words;
use shardscope_core::memory::StageMemory;
use shardscope_core::report::Memory;

/// The bars of both on the longer one's scale; each part lists its tensors, and a press opens its formula.
pub fn memory(memories: [&Memory; 2], scopes: &[Scope; 2], unit: MemoryUnit) -> Node {
    let scale = scale(memories[0]).max(scale(memories[1]));
    let pictures = memories.map(|memory| bars_on(memory, scale));
    let second = |figure| Action::Compare(Compare::Explain(figure));
    let group = |side: usize, which: &'static str, press: &dyn Fn(Figure) -> Action| {
        let (memory, picture): (&Memory, &Bars) = (memories[side], &pictures[side]);
        Node::from_iter([
            heading(t!("{which}: {memory}", which, memory = words::memory(memory, unit, &scopes[side]))),
            beside(memory, picture, &scopes[side], press, unit),
        ])
    };
    Node::from_iter([
        leaf("h2", "", "Memory per GPU, by pipeline rank, on one scale"),
        legend(&[&pictures[0], &pictures[1]]),
        group(0, "A", &Action::Explain),
        group(1, "B", &second),
        tensors(memories, scopes, unit),
    ])
}

/// A tensor of the fullest GPU of either run.
pub(super) struct Tensor {
    pub component: Component,
    pub name: &'static str,
    /// What it takes on either.
    pub bytes: [Bytes; 2],
}

impl Tensor {
    /// Second minus first, bytes.
    pub fn difference(&self) -> f64 {
        self.bytes[1].0 - self.bytes[0].0
    }
}

/// The tensors of the fullest GPUs that differ, as `Run` names them in its table of memory: the largest difference
/// first.
pub(super) fn differing([a, b]: [&StageMemory; 2]) -> Vec<Tensor> {
    let rows = part_rows(&[a, b]).into_iter();
    let tensors =
        rows.map(|row| Tensor { component: row.component, name: row.name, bytes: [row.bytes[0], row.bytes[1]] });
    let mut tensors: Vec<Tensor> = tensors.filter(|tensor| tensor.difference() != 0.0).collect();
    tensors.sort_by(|one, other| other.difference().abs().total_cmp(&one.difference().abs()));
    tensors
}

/// Tensors that have a row of their own; all others, equal ones with them, are added up in one.
const NAMED: usize = 8;

/// The tensors that make the difference, in rows: name, both sizes, second minus first.
fn tensors(memories: [&Memory; 2], scopes: &[Scope; 2], unit: MemoryUnit) -> Node {
    let [Some(a), Some(b)] = memories.map(Memory::fullest) else { return Node::none() };
    let all = differing([a, b]);
    let shown = all.iter().filter(|tensor| unit.show(Bytes(tensor.difference().abs())) != unit.show(Bytes::ZERO));
    let shown = shown.count().min(NAMED);
    if shown == 0 {
        return Node::none();
    }
    let sizes = |field: &str, bytes: [Bytes; 2]| {
        let cells = bytes.into_iter().zip(scopes);
        let cells = cells.map(|(bytes, scope)| inline(verbatim(unit.number(bytes))).reports(field, scope));
        let [a, b] = bytes;
        cells.chain([text(verbatim(apart(a, b, unit)))]).collect::<Vec<Node>>()
    };
    let row = |tensor: &Tensor| {
        let component = leaf("small", "muted", tensor.component.name());
        let name = el("span", &[], &[swatch(tensor.component), text(tensor.name), text(" "), component]);
        let field = format!("fullest {} {}", tensor.component.name(), tensor.name);
        (false, std::iter::once(name).chain(sizes(&field, tensor.bytes)).collect())
    };
    let mut rows: Vec<(bool, Vec<Node>)> = all[..shown].iter().map(row).collect();
    // Each column adds up to the peak of its run, as they are printed.
    let others = [(0, a), (1, b)].map(|(side, fullest)| {
        let named: f64 = all[..shown].iter().map(|tensor| unit.printed(tensor.bytes[side])).sum();
        unit.bytes((unit.printed(fullest.total) - named).max(0.0))
    });
    rows.push((false, std::iter::once(text("All others")).chain(sizes("fullest, the rest", others)).collect()));
    let head = [t!("tensor, {value}", value = unit.name()), t!("A"), t!("B"), t!("B − A")];
    Node::from_iter([
        heading("Tensors that make the difference, on the fullest GPU of each"),
        table("Tensors that make the difference", &head, &rows),
    ])
}

/// What `b` takes more than `a`, of the figures as they are printed: +1.4.
pub(super) fn apart(a: Bytes, b: Bytes, unit: MemoryUnit) -> String {
    let difference = unit.printed(b) - unit.printed(a);
    let sign = if difference < 0.0 { "−" } else { "+" };
    match format!("{:.1}", difference.abs()) {
        none if none == "0.0" => "0".to_owned(),
        size => format!("{sign}{size}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs() -> [[Evaluation; 2]; 4] {
        let others = [
            Run { tp: 8, pp: 2, ..Run::default() },
            Run { micro_batch: 4, ..Run::default() },
            Run { zero: 3, ..Run::default() },
            Run { seq_len: 16_384, ..Run::default() },
        ];
        others.map(|other| [Run::default(), other].map(|run| evaluate(&run).unwrap()))
    }

    /// Differences of all tensors add up to the difference of the two peaks.
    #[test]
    fn tensors_add_up_to_the_difference_of_the_peaks() {
        for [a, b] in &pairs() {
            let [a, b] = [a, b].map(|run| run.report.memory.fullest().unwrap());
            let tensors = differing([a, b]);
            let sum: f64 = tensors.iter().map(Tensor::difference).sum();
            let peaks = b.total.0 - a.total.0;
            assert!((sum - peaks).abs() < 1e-9 * a.total.0, "{sum} of {peaks}");
            assert!(tensors.is_sorted_by(|one, next| one.difference().abs() >= next.difference().abs()));
        }
    }

    /// The rows of the table are all of the memory: in either column they add up to the peak that stands above it.
    #[test]
    fn the_rows_of_the_table_add_up_to_both_peaks() {
        for [a, b] in &pairs() {
            let memories = [a, b].map(|run| &run.report.memory);
            let scopes = [Scope::run(), Scope::of(&b.scenario.run, Some(&a.scenario.run))];
            let table = tensors(memories, &scopes, MemoryUnit::Gib);
            assert!(!table.to_html().contains("-0.0") && !table.to_html().contains("−0.0"), "{}", table.to_html());
            let figures: Vec<f64> = table
                .marked_figures()
                .into_iter()
                .filter(|(field, _)| field.starts_with("fullest"))
                .map(|(_, figure)| figure.parse().unwrap())
                .collect();
            for (side, memory) in memories.into_iter().enumerate() {
                let sum: f64 = figures.iter().skip(side).step_by(2).sum();
                assert!((sum - MemoryUnit::Gib.printed(memory.peak_bytes)).abs() < 0.05, "{sum}: {figures:?}");
            }
        }
    }

    /// Four times the tokens of a micro-batch are four times its stored activations, of each tensor.
    #[test]
    fn four_times_the_tokens_are_four_times_each_stored_activation() {
        let [_, [a, b], ..] = &pairs();
        let tensors = differing([a, b].map(|run| run.report.memory.fullest().unwrap()));
        let stored = tensors.iter().filter(|tensor| tensor.component == Component::Activations);
        let ratios: Vec<f64> = stored.map(|tensor| tensor.bytes[1] / tensor.bytes[0]).collect();
        assert!(ratios.len() > 4 && ratios.iter().all(|ratio| (ratio - 4.0).abs() < 0.02), "{ratios:?}");
        assert_eq!(tensors[0].component, Component::Activations);
    }
}
