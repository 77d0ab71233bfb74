//! The gallery in text and small pictures: what fits, what trains with stale weights, what does not fit or cannot run.

use super::card::{Gallery, card, tick};
use crate::node::figure::Scope;
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

/// True if the schedule trains with weights of an earlier step: what is learned differs from that of the others.
fn is_stale(variant: ScheduleVariant) -> bool {
    variant.schedule.row().endless
}

/// The cards of the schedules that fit, a table of those that do not or cannot run, and all of them as a table.
pub fn cards(gallery: &Gallery) -> Node {
    let mut rows = sorted(gallery.rows, gallery.look.sort);
    if gallery.look.sort.is_by_certificate() {
        sort_by(&mut rows, |first, second| {
            let order = gap_to_best(gallery, first.variant).total_cmp(&gap_to_best(gallery, second.variant));
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
    let unpictured = rows.iter().filter(|row| !is_pictured(row));
    let reasons: Vec<Node> = unpictured.map(|row| reason(gallery, row)).collect();
    let unpictured = if reasons.is_empty() {
        Node::none()
    } else {
        let heads = ["schedule", "peak", "bubble", "why"];
        let heads: Node = heads.into_iter().map(|head| leaf("th", "", head)).collect();
        let table = grid("", heads, reasons.into_iter().collect());
        let parts = [heading("Do not fit or cannot run"), scrolled("Do not fit or cannot run", table)];
        el("div", &[("class", "without")], &parts)
    };
    let table = table(&gallery.own.scenario.run, gallery.rows, gallery.look.sort, gallery.unit);
    Node::from_iter([list(false), stale, unpictured, fold("Show as a table", table)])
}

/// How far the order of `variant` can be from the best order, as a share of its makespan: 0 where it is proven optimal,
/// infinite where it has no certificate.
fn gap_to_best(gallery: &Gallery, variant: ScheduleVariant) -> f64 {
    let found = (gallery.certificate)(variant).and_then(Option::as_ref);
    found.map_or(f64::INFINITY, |found| if found.proven { 0.0 } else { found.gap })
}

/// The row of a schedule that has no picture, with the reason.
fn reason(gallery: &Gallery, row: &ScheduleRow) -> Node {
    let cell = |content: Node| el("td", &[], &[content]);
    let name = cell(match &row.figures {
        Ok(_) => tick(gallery, row.variant, &[]),
        Err(_) => text(row.variant.name()),
    });
    let own = &gallery.own.scenario.run;
    let scope = Scope::of_changed(own, &row.set);
    let [peak, bubble, why] = match &row.figures {
        Err(why) => [Message::default(), Message::default(), why.clone()],
        Ok(figures) => {
            let over = gallery.unit.beyond(figures.peak_bytes, gallery.own.report.memory.capacity_bytes);
            let why = t!(
                "{over} too much: {held} micro-batches of activations held, {copies}× the weights",
                over = scope.says("memory.missing_bytes", over),
                held = number(figures.in_flight, 3),
                copies = figures.weight_copies
            );
            // Less explains no peak.
            let head = figures.head_bytes.0 >= 0.05 * figures.peak_bytes.0;
            let head = head.then(|| {
                t!(
                    "on rank {rank}, the fullest, {head} of logits and inputs of the head held as long",
                    rank = figures.fullest,
                    head = scope.says("schedules:head_bytes", gallery.unit.show(figures.head_bytes))
                )
            });
            let why = Message::joined(" · ", std::iter::once(why).chain(head));
            [verbatim(gallery.unit.show(figures.peak_bytes)), verbatim(show_percent(figures.bubble_fraction)), why]
        }
    };
    let figure = |shown: Message, field: &'static str| {
        let cell = leaf("td", "", shown);
        if row.figures.is_ok() { cell.reports(field, &scope) } else { cell }
    };
    let [peak, bubble] = [figure(peak, "memory.peak_bytes"), figure(bubble, "pipeline.bubble_fraction")];
    let cells = [name, peak, bubble, leaf("td", "note", why)];
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
                let drawn = sketches.iter().find(|(of, _)| *of == variant);
                drawn.map(|(_, sketch)| sketch)
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
            // Two shares of different wholes: what each divides by is said once.
            assert!(html.contains("</b> in span"));
            assert_eq!(html.matches("over their time in the whole pipeline. In span: ").count(), 1);
            assert!(!html.contains("NaN") && !html.contains("inf "));
        }
    }

    /// On one rank the order of passes is no difference: no share of nothing has a sign.
    #[test]
    fn a_step_that_is_as_long_is_the_same() {
        let run = Run { pp: 1, ..Run::default() };
        let (html, _) = shown(&run, &GalleryLook::default());
        assert!(html.contains(">same<") && !html.contains("−0.0 %") && !html.contains("+0.0 %"), "{html}");
        assert!(!html.contains("−&lt;") && !html.contains("+&lt;"), "{html}");
    }

    /// `PipeDream` and `PipeDream-2BW` train with weights of an earlier step.
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
