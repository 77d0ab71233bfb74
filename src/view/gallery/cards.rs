//! The gallery in text and small pictures: what fits, what trains with stale weights, what does not fit or cannot run.

use super::card::{Gallery, card, tick};
use crate::panels::schedules::{sorted, table};
use crate::prelude::*;
use shardscope_core::advice::ScheduleRow;
use shardscope_core::report::ScheduleVariant;
use shardscope_core::sort::sort_by;

/// The verdict of a schedule; none where it cannot run.
pub(super) fn verdict(row: &ScheduleRow) -> Option<Verdict> {
    row.figures.as_ref().ok().map(|figures| figures.verdict)
}

/// True if it has a picture: it fits or is tight.
pub(super) fn is_pictured(row: &ScheduleRow) -> bool {
    verdict(row).is_some_and(|verdict| verdict != Verdict::Oom)
}

/// Trains with weights of an earlier step: another training than the others'.
fn is_stale(variant: ScheduleVariant) -> bool {
    variant.schedule.row().endless
}

/// The pictures, and what has none.
pub fn cards(gallery: &Gallery) -> Node {
    let mut rows = sorted(gallery.rows, gallery.look.sort);
    if gallery.look.sort.is_by_certificate() {
        sort_by(&mut rows, |one, other| {
            let order = distance(gallery, one.variant).total_cmp(&distance(gallery, other.variant));
            if gallery.look.sort.down { order.reverse() } else { order }
        });
    }
    let list = |stale: bool| -> Node {
        let pictured = rows.iter().filter(|row| is_pictured(row));
        let pictured = pictured.filter(|row| is_stale(row.variant) == stale);
        let cards: Vec<Node> = pictured.map(|row| card(gallery, row)).collect();
        if cards.is_empty() {
            return Node::none();
        }
        el("ul", &[("class", "cards")], &cards)
    };
    let stale = match list(true) {
        Node::List(_) => Node::none(),
        cards => Node::from_iter([
            heading("Stale weights"),
            muted(
                "They never drain: gradients are of weights of an earlier step, so they train another way. The \
                    figures are of the steady state.",
            ),
            cards,
        ]),
    };
    let without: Vec<Node> = rows.iter().filter(|row| !is_pictured(row)).map(|row| without(gallery, row)).collect();
    let without = if without.is_empty() {
        Node::none()
    } else {
        let heads = ["schedule", "peak", "bubble", "why"];
        let heads: Node = heads.into_iter().map(|head| leaf("th", "", head)).collect();
        let table = grid("", heads, without.into_iter().collect());
        let parts = [heading("Do not fit or cannot run"), scrolled("Do not fit or cannot run", table)];
        el("div", &[("class", "without")], &parts)
    };
    let table = table(&gallery.own.scenario.run, gallery.rows, gallery.look.sort, gallery.unit);
    Node::from_iter([list(false), stale, without, fold("Show as a table", table)])
}

/// Share of an order's makespan above what is proven of any order, nothing where it is optimal; infinite where there is
/// no certificate.
fn distance(gallery: &Gallery, variant: ScheduleVariant) -> f64 {
    let found = (gallery.certificate)(variant).and_then(Option::as_ref);
    found.map_or(f64::INFINITY, |found| if found.proven { 0.0 } else { found.gap })
}

/// A schedule without a picture, and why.
fn without(gallery: &Gallery, row: &ScheduleRow) -> Node {
    let cell = |content: Node| el("td", &[], &[content]);
    let name = cell(match &row.figures {
        Ok(_) => tick(gallery, row.variant, &[]),
        Err(_) => text(row.variant.name()),
    });
    let [peak, bubble, why] = match &row.figures {
        Err(why) => [Message::default(), Message::default(), why.clone()],
        Ok(figures) => {
            let over = figures.peak_bytes.0 - gallery.own.report.memory.capacity_bytes.0;
            let why = t!(
                "{over} too much: {held} micro-batches of activations held, {copies}× the weights",
                over = gallery.unit.show(Bytes(over.max(0.0))),
                held = number(figures.in_flight, 3),
                copies = figures.weight_copies
            );
            [verbatim(gallery.unit.show(figures.peak_bytes)), verbatim(show_percent(figures.bubble_fraction)), why]
        }
    };
    let cells = [name, leaf("td", "", peak), leaf("td", "", bubble), leaf("td", "note", why)];
    el("tr", &[], &cells).keyed(&row.variant.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::sketch::{Axis, Sketch};
    use super::super::{GalleryAction, GalleryLook};
    use super::*;
    use crate::gallery::head;
    use shardscope_core::advice::run_with;
    use shardscope_core::report::memory_limit;

    /// The gallery of `run` with all of its pictures.
    fn shown(run: &Run, look: &GalleryLook) -> (String, usize) {
        let evaluation = evaluate(run).unwrap();
        let limit = look.limit(run);
        let variants = ScheduleVariant::all(run);
        let rows: Vec<ScheduleRow> =
            variants.iter().map(|variant| ScheduleRow::of(run, *variant, limit, None)).collect();
        let axis = Axis::of(&evaluation, look.whole);
        let sketches: Vec<(ScheduleVariant, Sketch)> = variants
            .iter()
            .filter_map(|variant| {
                let other = evaluate(&run_with(run, *variant, limit).ok()?).ok()?;
                Some((*variant, Sketch::of(&other, axis)))
            })
            .collect();
        let gallery = Gallery {
            own: &evaluation,
            rows: &rows,
            sketch: &|variant| {
                let mut each = sketches.iter();
                each.find(|(of, _)| *of == variant).map(|(_, one)| one)
            },
            certificate: &|_| None,
            axis,
            look,
            unit: MemoryUnit::Gib,
        };
        let pieces: Node = Node::from_iter([head(&gallery, 0), cards(&gallery)]);
        (pieces.to_html(), rows.len())
    }

    #[test]
    fn every_schedule_stands_once_with_its_picture_or_why_it_has_none() {
        let run = Run::default();
        for whole in [false, true] {
            let look = GalleryLook { whole, ..GalleryLook::default() };
            let (html, count) = shown(&run, &look);
            let cards = html.matches("data-variant=").count();
            let drawn = html.matches("<svg").count();
            assert_eq!(cards, drawn);
            let (_, without) = html.split_once("Do not fit or cannot run").unwrap();
            let (without, _) = without.split_once("</table>").unwrap();
            assert_eq!(cards + without.matches("<tr>").count() - 1, count);
            assert_eq!(html.matches("your run").count(), 1);
            assert!(!html.contains("NaN") && !html.contains("inf "));
        }
    }

    /// Ops of `PipeDream` are of stale weights; the others' sections hold none of them.
    #[test]
    fn schedules_of_stale_weights_are_set_apart() {
        let (html, _) = shown(&Run::default(), &GalleryLook::default());
        let (before, after) = html.split_once("Stale weights").unwrap();
        for id in ["pipedream", "pipedream-2bw"] {
            let card = format!("data-variant=\"{id}\"");
            assert!(after.contains(&card) && !before.contains(&card), "{id}");
        }
    }

    /// GPipe holds every micro-batch: with long sequences it is the first that does not fit, and its card names the
    /// reason.
    #[test]
    fn what_does_not_fit_says_how_much_is_too_much() {
        let run = Run { seq_len: 16384, ..Run::default() };
        let (html, _) = shown(&run, &GalleryLook::default());
        let (_, without) = html.split_once("Do not fit or cannot run").unwrap();
        let (_, gpipe) = without.split_once(">GPipe<").unwrap();
        assert!(gpipe.contains("too much: 32 micro-batches"), "{gpipe}");
    }

    #[test]
    fn four_are_ticked_at_most_and_have_letters() {
        let run = Run::default();
        let mut look = GalleryLook::default();
        for id in ["zb-v", "dualpipe", "v-min"] {
            look.press(&run, GalleryAction::Tick(ScheduleVariant::named(id).unwrap()));
        }
        let (html, count) = shown(&run, &look);
        for letter in ["A", "B", "C", "D"] {
            assert_eq!(html.matches(&format!("<i>{letter}</i>")).count(), 1);
        }
        assert_eq!(html.matches("aria-pressed=\"true\" title").count(), 4);
        assert!(html.matches("disabled=\"disabled\"").count() >= count - 6);
        assert_eq!(memory_limit(&run), 4);
    }
}
