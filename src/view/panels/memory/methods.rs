//! The same Run by every memory method, side by side.

use super::{mini, verdict};
use crate::core::memory::methods::Slip;
use crate::core::report::methods::MethodRow;
use crate::core::run::registry::field;
use crate::view::prelude::*;

/// The table of methods, and what each leaves out.
pub fn methods(rows: &[MethodRow], unit: MemoryUnit) -> Node {
    let longest = rows.iter().map(|row| row.fullest.total.max(row.capacity)).fold(Bytes::ZERO, Bytes::max);
    let lines: Vec<(bool, Vec<Node>)> = rows.iter().map(|row| (row.chosen, line(row, longest, unit))).collect();
    let peak = t!("peak {value}", value = unit.name());
    let head = [t!("method"), t!("verdict"), peak, t!("of"), t!("stage"), t!("components")];
    let about: Node = rows.iter().map(about).collect();
    Node::from_iter([
        el("div", &[("class", "methods")], &[table("Methods side by side", &head, &lines)]),
        fold("Show the components as a table", numbers(rows, unit)),
        el("div", &[("class", "leaves-out")], &[about]),
    ])
}

fn line(row: &MethodRow, longest: Bytes, unit: MemoryUnit) -> Vec<Node> {
    let stage = row.fullest.stage;
    let figure = Figure::Method(row.method, stage);
    let fix = vec![("memory_method", row.method.id().to_owned())];
    let choose = [("class", "choose"), ("aria-pressed", if row.chosen { "true" } else { "false" })];
    let place = if row.same_on_all { t!("all") } else { verbatim(stage.to_string()) };
    vec![
        el("button", &choose, &[text(row.label)]).title("Show the panel by this method").on(Action::Apply(fix)),
        verdict(row.verdict),
        ask("figure", figure, &[text(verbatim(unit.number(row.fullest.total)))]),
        text(verbatim(unit.number(row.capacity))),
        text(&place),
        mini(&row.fullest, row.capacity, longest, unit),
    ]
}

/// The components of every method in figures.
fn numbers(rows: &[MethodRow], unit: MemoryUnit) -> Node {
    let first = t!("method, {value}", value = unit.name());
    let mut head = vec![first];
    head.extend(Component::ALL.map(|component| component.name().into()));
    let lines: Vec<(bool, Vec<Node>)> = rows
        .iter()
        .map(|row| {
            let mut cells = vec![text(row.label)];
            for (_, bytes) in row.fullest.components() {
                let figure = if bytes == Bytes::ZERO { "–".to_owned() } else { unit.number(bytes) };
                cells.push(text(verbatim(&figure)));
            }
            (row.chosen, cells)
        })
        .collect();
    table("Components by method", &head, &lines)
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
    let rows: Vec<(bool, Vec<Node>)> =
        slips.iter().map(|slip| (false, [slip.place, slip.printed, slip.corrected].map(text).to_vec())).collect();
    let label = t!("Slips of {source}", source);
    let head = ["where", "printed", "its formula gives"];
    el("div", &[("class", "slips")], &[table(&label, &head, &rows)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::report::methods::rows;
    use crate::core::run::Method;

    #[test]
    fn every_method_can_be_chosen_and_tells_what_it_leaves_out() {
        let rows = rows(&evaluate(&Run::default()).unwrap());
        let view = methods(&rows, MemoryUnit::Gib);
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
