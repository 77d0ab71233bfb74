//! The bars as tables: components of every rank, and behind them the named parts.

use super::{bars, of_rank, part_rows, swatch};
use crate::prelude::*;
use shardscope_core::report::Memory;

/// The table behind the bars.
pub(crate) fn data_table(memory: &Memory, unit: MemoryUnit) -> Node {
    Node::from_iter([components(memory, unit), parts(memory, unit)])
}

fn components(memory: &Memory, unit: MemoryUnit) -> Node {
    let figure = |words: String, figure: Figure| ask("figure", figure, &[text(verbatim(words))]);
    let ranks = Rows::of(&memory.per_stage)
        .figures("rank", |rank| rank.stage.to_string())
        .marked(|rank| rank.stage == memory.peak_stage);
    let columns = Component::ALL.into_iter().enumerate();
    let table = columns.fold(ranks, |table, (at, component)| {
        table.column(component.name(), |rank| {
            let node = figure(unit.number(rank.components()[at].1), Figure::Component(rank.stage, component));
            node.reports(component.name(), &of_rank(rank.stage))
        })
    });
    table
        .column(t!("total {value}", value = unit.name()), |rank| {
            let node = figure(unit.number(rank.total), Figure::Memory(rank.stage));
            node.reports("memory.per_stage.total_bytes", &of_rank(rank.stage))
        })
        .column("in flight", |rank| figure(number(rank.in_flight, 3), Figure::InFlight(rank.stage)))
        .table("Memory table")
}

/// The named parts on the ranks that have a bar of their own.
fn parts(memory: &Memory, unit: MemoryUnit) -> Node {
    let picture = bars(memory);
    let ranks = picture.bars.iter().map(|bar| bar.stages.0);
    let ranks: Vec<_> = ranks.filter_map(|rank| memory.per_stage.get(rank)).collect();
    let parts = Rows::of(part_rows(&ranks)).column(t!("part, {value}", value = unit.name()), |row| {
        let component = leaf("small", "muted", row.component.name());
        el("span", &[], &[swatch(row.component), text(row.name), component])
    });
    let table = ranks.iter().enumerate().fold(parts, |table, (at, rank)| {
        table.figures(t!("rank {stage}", stage = rank.stage), |row| match row.bytes[at] {
            Bytes::ZERO => "–".to_owned(),
            bytes => unit.number(bytes),
        })
    });
    table.table("Named parts")
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::report::report;

    #[test]
    fn every_figure_of_the_table_opens_its_formula() {
        let memory = report(&Run::default()).unwrap().memory;
        let view = data_table(&memory, MemoryUnit::Gib);
        assert_eq!(view.actions().len(), 4 * 8);
        let html = view.to_html();
        assert!(html.contains("fragmentation") && html.contains("total GiB"));
    }
}
