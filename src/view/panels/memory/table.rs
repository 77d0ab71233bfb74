//! The bars as tables: components of every rank, and behind them the named parts.

use super::{bars, part_rows, swatch};
use crate::core::report::Memory;
use crate::view::prelude::*;

/// The table behind the bars.
pub(crate) fn data_table(memory: &Memory, unit: MemoryUnit) -> Node {
    Node::from_iter([components(memory, unit), parts(memory, unit)])
}

fn components(memory: &Memory, unit: MemoryUnit) -> Node {
    let figure = |words: String, figure: Figure| ask("figure", figure, &[text(verbatim(words))]);
    let rows: Vec<(bool, Vec<Node>)> = memory
        .per_stage
        .iter()
        .map(|rank| {
            let stage = rank.stage;
            let mut cells = vec![text(verbatim(stage.to_string()))];
            for (component, (_, bytes)) in Component::ALL.into_iter().zip(rank.components()) {
                cells.push(figure(unit.number(bytes), Figure::Component(stage, component)));
            }
            cells.push(figure(unit.number(rank.total), Figure::Memory(stage)));
            cells.push(figure(number(rank.in_flight, 3), Figure::InFlight(stage)));
            (stage == memory.peak_stage, cells)
        })
        .collect();
    let total = t!("total {value}", value = unit.name());
    let mut head = vec![t!("rank")];
    head.extend(Component::ALL.map(|component| component.name().into()));
    head.extend([total, t!("in flight")]);
    table("Memory table", &head, &rows)
}

/// The named parts on the ranks that have a bar of their own.
fn parts(memory: &Memory, unit: MemoryUnit) -> Node {
    let picture = bars(memory);
    let ranks = picture.bars.iter().map(|bar| bar.stages.0);
    let ranks: Vec<_> = ranks.filter_map(|rank| memory.per_stage.get(rank)).collect();
    let cell = |bytes: &Bytes| {
        if *bytes == Bytes::ZERO { text("–") } else { text(verbatim(unit.number(*bytes))) }
    };
    let rows: Vec<(bool, Vec<Node>)> = part_rows(&ranks)
        .iter()
        .map(|row| {
            let component = leaf("small", "muted", row.component.name());
            let name = el("span", &[], &[swatch(row.component), text(row.name), component]);
            let mut cells = vec![name];
            cells.extend(row.bytes.iter().map(cell));
            (false, cells)
        })
        .collect();
    let names: Vec<Message> = ranks.iter().map(|rank| t!("rank {stage}", stage = rank.stage)).collect();
    let first = t!("part, {value}", value = unit.name());
    let mut head = vec![first];
    head.extend(names);
    table("Named parts", &head, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::report::report;

    #[test]
    fn every_figure_of_the_table_opens_its_formula() {
        let memory = report(&Run::default()).unwrap().memory;
        let view = data_table(&memory, MemoryUnit::Gib);
        assert_eq!(view.actions().len(), 4 * 8);
        let html = view.to_html();
        assert!(html.contains("fragmentation") && html.contains("total GiB"));
    }
}
