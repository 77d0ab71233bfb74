//! A Run by every memory method, side by side.

use super::{mini, verdict};
use crate::node::figure::Scope;
use crate::prelude::*;
use shardscope_core::memory::methods::Slip;
use shardscope_core::report::methods::MethodRow;
use shardscope_core::run::registry::field;

/// The table of methods on `run`, and what each leaves out.
pub fn methods(run: &Run, rows: &[MethodRow], unit: MemoryUnit) -> Node {
    let longest = rows.iter().map(|row| row.fullest.total.max(row.capacity)).fold(Bytes::ZERO, Bytes::max);
    let table = Rows::of(rows)
        .column("method", |row| {
            let attributes = [("class", "choose"), ("aria-pressed", if row.chosen { "true" } else { "false" })];
            let fix = vec![("memory_method", row.method.id().to_owned())];
            let button = el("button", &attributes, &[text(row.label)]);
            button.title("Show the panel by this method").on(Action::Apply(fix))
        })
        .column("verdict", |row| verdict(run, row.verdict, [row.fullest.total, row.capacity]))
        .column(t!("peak {value}", value = unit.name()), |row| {
            let figure = Figure::Method(row.method, row.fullest.stage);
            let scope = if row.chosen { Scope::run() } else { Scope::run().part(row.method.id()) };
            let peak = text(verbatim(unit.number(row.fullest.total)));
            ask("figure", figure, &[peak]).reports("memory.peak_bytes", &scope)
        })
        .figures("of", |row| unit.number(row.capacity))
        .column("rank", |row| if row.same_on_all { t!("all") } else { verbatim(row.fullest.stage.to_string()) })
        .column("components", |row| mini(&row.fullest, row.capacity, longest, unit))
        .marked(|row| row.chosen)
        .table("Methods side by side");
    let about: Node = rows.iter().map(about).collect();
    Node::from_iter([
        el("div", &[("class", "methods")], &[table]),
        fold("Show the components as a table", numbers(rows, unit)),
        el("div", &[("class", "leaves-out")], &[about]),
    ])
}

/// The components of every method in figures.
fn numbers(rows: &[MethodRow], unit: MemoryUnit) -> Node {
    let methods =
        Rows::of(rows).column(t!("method, {value}", value = unit.name()), |row| row.label).marked(|row| row.chosen);
    let columns = Component::ALL.iter().enumerate();
    let table = columns.fold(methods, |table, (at, component)| {
        table.figures(component.name(), |row| match row.fullest.components()[at].1 {
            Bytes::ZERO => "–".to_owned(),
            bytes => unit.number(bytes),
        })
    });
    table.table("Components by method")
}

/// Items that a method leaves out, ignores of this Run, and prints without meaning them.
fn about(row: &MethodRow) -> Node {
    let source = cited(row.source, row.source.short);
    let title = el("h3", &[], &[text(row.label), text(" "), el("small", &[], &[source])]);
    let leaves = t!("Leaves out: {list}.", list = Message::joined("; ", row.leaves_out.iter().map(Message::from)));
    let mut parts = vec![title, paragraph(&leaves)];
    if !row.ignores.is_empty() {
        let label = |key: &str| field(key).map_or(verbatim(key), |field| field.label.into());
        let fields: Vec<Message> = row.ignores.iter().map(|issue| label(&issue.field)).collect();
        let words = t!("Of this run it ignores: {fields}.", fields = Message::joined(", ", fields));
        parts.push(paragraph(&words));
    }
    if !row.slips.is_empty() {
        let summary = t!("{slips} slips of the source", slips = row.slips.len());
        parts.push(fold(&summary, slips(row.slips, row.source.short)));
    }
    el("div", &[], &parts)
}

fn slips(slips: &[Slip], source: &'static str) -> Node {
    let table = Rows::of(slips)
        .column("where", |slip| slip.place)
        .column("printed", |slip| slip.printed)
        .column("its formula gives", |slip| slip.corrected)
        .table(t!("Slips of {source}", source));
    el("div", &[("class", "slips")], &[table])
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::report::methods::rows;
    use shardscope_core::run::Method;

    #[test]
    fn every_method_can_be_chosen_and_tells_what_it_leaves_out() {
        let run = Run::default();
        let rows = rows(&evaluate(&run).unwrap());
        let view = methods(&run, &rows, MemoryUnit::Gib);
        for (_, choice) in Method::ALL {
            let choose = Action::Apply(vec![("memory_method", choice.id.to_owned())]);
            assert!(view.actions().contains(&&choose));
        }
        let html = view.to_html();
        assert_eq!(html.matches("aria-pressed=\"true\"").count(), 1);
        assert_eq!(html.matches("Leaves out: ").count(), Method::ALL.len());
        assert!(html.contains("34.48 GiB") && html.contains("37.48 GiB"));
    }
}
