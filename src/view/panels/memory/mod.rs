//! The memory panel: geometry of its bars, and its view.

mod advice;
mod bars;
mod methods;
mod panel;
mod table;
mod thin;
mod tuning;

pub(crate) use advice::narrow;
pub use advice::suggestions;
pub use bars::{Bar, Bars, Segment, bars, scale};
pub(crate) use bars::{bars_on, part_rows};
pub use methods::methods;
pub(crate) use panel::{beside, of_rank};
pub use panel::{measured, picture};
pub(crate) use table::data_table;
pub use thin::suggested;
pub use tuning::tuning;

use crate::prelude::*;
use shardscope_core::memory::StageMemory;

/// A component's swatch and name.
pub(crate) fn legend_entry(component: Component) -> Node {
    el("span", &[], &[swatch(component), text(component.name())])
}

/// The legend of the components that any of `pictures` has.
pub fn legend(pictures: &[&Bars]) -> Node {
    let used = |component: &Component| {
        let mut pictures = pictures.iter();
        pictures.any(|picture| picture.used().any(|one| one == *component))
    };
    let entries: Node = Component::ALL.into_iter().filter(used).map(legend_entry).collect();
    let attributes = [("class", "legend"), ("aria-hidden", "true")];
    el("div", &attributes, &[entries])
}

pub(crate) fn swatch(component: Component) -> Node {
    el("i", &[("class", &format!("swatch c-{}", component.name()))], &[])
}

/// A title over named figures, for a tip; of phrasing content only, so that it may stand in a button.
pub(crate) fn parts_tip(title: impl Into<Message>, parts: &[(Message, String)]) -> Node {
    let lines: Node = parts.iter().flat_map(|(name, figure)| [leaf("i", "", name), strong(verbatim(figure))]).collect();
    Node::from_iter([leaf("strong", "", title), el("span", &[("class", "figures")], &[lines])])
}

/// A small bar of `memory` with a mark at `capacity`, on a scale that ends at `longest`.
fn mini(memory: &StageMemory, capacity: Bytes, longest: Bytes, unit: MemoryUnit) -> Node {
    let mut parts: Vec<Node> = Component::ALL
        .into_iter()
        .zip(memory.components())
        .filter(|(_, (_, bytes))| bytes.0 > 0.0)
        .map(|(component, (name, bytes))| {
            let class = format!("c-{}", component.name());
            let title = t!("{component} {bytes}", component = name, bytes = unit.show(bytes));
            let style = percent("width", bytes / longest);
            let drawn = el("i", &[("class", &class), ("style", &style)], &[]);
            // A part that is printed as 0 says nothing.
            if unit.printed(bytes) > 0.0 { drawn.title(title) } else { drawn }
        })
        .collect();
    let mark = percent("left", capacity / longest);
    parts.push(el("u", &[("style", &mark)], &[]));
    el("div", &[("class", "mini"), ("aria-hidden", "true")], &parts)
}

/// The mark and word of a verdict on `bytes` of `run` in what has `capacity`.
fn verdict(run: &Run, given: Verdict, [bytes, capacity]: [Bytes; 2]) -> Node {
    let (class, mark, word) = crate::words::verdict_words(run, given, [bytes, capacity]);
    let word = leaf("span", "word", word);
    el("span", &[("class", class)], &[leaf("span", "mark", mark), word])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{verdict_of, verdict_under};
    use shardscope_core::advice::ScheduleFigures;
    use shardscope_core::report::methods::rows;

    /// One state has one word: above the card the verdict of every table is that of the key figures.
    #[test]
    fn above_the_card_every_table_says_that_it_may_run_out() {
        let run = Run { seq_len: 30_720, ..Run::default() };
        let evaluation = evaluate(&run).unwrap();
        let memory = &evaluation.report.memory;
        assert!(memory.verdict == Verdict::Tight && memory.peak_bytes > memory.capacity_bytes);
        let figures = ScheduleFigures::of(&evaluation);
        let said = [verdict_of(&run, &memory.peak()).2, verdict_under(&run, &[], &figures).2];
        assert_eq!(said, ["May run out"; 2]);
        let methods = methods::methods(&run, &rows(&evaluation), MemoryUnit::Gib).to_html();
        let own = methods.split("<tr").find(|row| row.contains("aria-pressed=\"true\"")).unwrap();
        assert!(own.contains("May run out") && !own.contains("Tight"), "{own}");
        // The last step of the list is the run.
        let way = advice::narrow(&evaluation, MemoryUnit::Gib).to_html();
        let last = way.split("</table>").next().unwrap().split("<tr").last().unwrap();
        assert!(last.contains("May run out") && !last.contains("Tight"), "{last}");
    }
}
