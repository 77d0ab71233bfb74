//! The gallery in text and small pictures: what fits, what trains with stale weights, what does not fit or cannot run.

use super::sketch::{Axis, Sketch, WIDTH};
use super::{GalleryAction, Look, MOST};
use crate::core::memory::Verdict;
use crate::core::message::{Message, verbatim};
use crate::core::pipeline::{idea, schedule};
use crate::core::report::{Evaluation, ScheduleFigures, ScheduleRow, Variant};
use crate::core::t;
use crate::core::units::{Bytes, MemoryUnit, Seconds, number, show_percent, show_seconds};
use crate::view::charts::ticks::ticks;
use crate::view::node::Node;
use crate::view::node::markup::{Action, el, fold, leaf, percent, raw, scrolled, text};
use crate::view::panels::schedules::{sorted, table};
use crate::view::panels::words::verdict;

/// Names of what is drawn, as the style sheet has them.
const KINDS: [&str; 3] = ["f", "b", "w"];
/// The zero-bubble papers' measure is shown from this difference on.
const DIFFERS: f64 = 5e-4;
/// What the pictures are sorted by: the column of the table, and its word.
const SORTS: [(&str, &str); 3] = [("step", "step"), ("bubble", "bubble"), ("peak", "memory")];

/// What the gallery shows.
pub struct Gallery<'a> {
    /// The page's Run.
    pub own: &'a Evaluation,
    /// Its schedules, as far as they are known.
    pub rows: &'a [ScheduleRow],
    /// Their pictures, as far as they are drawn.
    pub sketch: &'a dyn Fn(Variant) -> Option<&'a Sketch>,
    /// The axis that all of them share.
    pub axis: Axis,
    /// What is looked at.
    pub look: &'a Look,
    /// GiB or GB.
    pub unit: MemoryUnit,
}

/// The letter of the `at`-th timeline that is compared.
#[must_use]
pub fn letter(at: usize) -> &'static str {
    ["A", "B", "C", "D"].get(at).copied().unwrap_or("")
}

/// Title, what is seen, and how it is sorted and drawn; `left` schedules are still being simulated.
#[must_use]
pub fn head(gallery: &Gallery, left: usize) -> Node {
    let look = gallery.look;
    let layout = &gallery.own.report.layout;
    let fit = gallery.rows.iter().filter(|row| fits(row)).count();
    let about = t!(
        "{fit} schedules that fit, each simulated with this run's stage times: {ranks} ranks, {microbatches} micro-batches.",
        fit,
        ranks = gallery.own.order.ranks.len(),
        microbatches = layout.microbatches
    );
    let axis = gallery.axis.cut.map_or_else(
        || t!("All pictures share one time axis."),
        |(from, to)| {
            t!(
                "All pictures share one time axis, cut between {from} and {to} where the pattern repeats.",
                from = show_seconds(Seconds(from)),
                to = show_seconds(Seconds(to))
            )
        },
    );
    let wait = if left > 0 {
        t!("{left} more are being simulated…", left)
    } else {
        t!("Tick up to four to compare whole steps.")
    };
    let words = Message::joined(" ", [about, axis, wait]);
    let button = |action: Action, label: Message, on: bool| {
        let pressed = [("aria-pressed", if on { "true" } else { "false" })];
        el("button", &pressed, &[text(label)]).on(action)
    };
    let sorts = SORTS.iter().map(|(key, word)| {
        let now = look.sort.text();
        let arrow = match now.strip_prefix('-') {
            Some(down) if down == *key => " ↓",
            _ => "",
        };
        let label = Message::joined("", [Message::plain(word), verbatim(arrow)]);
        let on = now.trim_start_matches('-') == *key;
        button(Action::Sort(key), label, on)
    });
    let whole = |whole: bool, label: &'static str| {
        let action = Action::Gallery(GalleryAction::Whole(whole));
        button(action, label.into(), look.whole == whole)
    };
    let group = |buttons: Node, label: &'static str| {
        let group = [("class", "seg"), ("role", "group")];
        el("span", &group, &[buttons]).label(label)
    };
    let tools = [
        leaf("small", "muted", "Sort by"),
        group(sorts.collect(), "Sort by"),
        group(
            Node::from_iter([whole(false, "fill and drain"), whole(true, "whole step")]),
            "Time axis",
        ),
    ];
    let said = [
        leaf("h2", "", "Schedules for this run"),
        el(
            "p",
            &[("class", "muted"), ("role", "status")],
            &[text(words)],
        ),
        legend(),
    ];
    Node::from_iter([
        el("div", &[], &said),
        el("div", &[("class", "tools")], &tools),
    ])
}

fn legend() -> Node {
    let item = |class: &str, label: &'static str| {
        let square = leaf("i", &format!("swatch {class}"), "");
        el("span", &[], &[square, text(label)])
    };
    let items = [
        item("c-forward", "F forward"),
        item("c-backward", "B, BW backward"),
        item("c-weight", "W weight gradient"),
        item("hatch", "bubble"),
        leaf("span", "", "lighter: later chunk of the rank"),
    ];
    el("div", &[("class", "legend")], &items)
}

fn fits(row: &ScheduleRow) -> bool {
    let figures = row.figures.as_ref();
    figures.is_ok_and(|figures| figures.verdict != Verdict::Oom)
}

/// Trains with weights of an earlier step: another training than the others'.
fn is_stale(variant: Variant) -> bool {
    schedule(variant.id).is_some_and(|row| row.endless)
}

/// The pictures, and what has none.
#[must_use]
pub fn cards(gallery: &Gallery) -> Node {
    let rows = sorted(gallery.rows, gallery.look.sort);
    let list = |stale: bool| -> Node {
        let shown = rows.iter().filter(|row| fits(row));
        let shown = shown.filter(|row| is_stale(row.variant) == stale);
        let cards: Vec<Node> = shown.map(|row| card(gallery, row)).collect();
        if cards.is_empty() {
            return Node::none();
        }
        el("ul", &[("class", "cards")], &cards)
    };
    let stale = match list(true) {
        Node::List(_) => Node::none(),
        cards => Node::from_iter([
            leaf("h3", "", "Stale weights"),
            leaf(
                "p",
                "muted",
                "They never drain: gradients are of weights of an earlier step, so they train another way. The figures are of the steady state.",
            ),
            cards,
        ]),
    };
    let without: Vec<Node> = rows
        .iter()
        .filter(|row| !fits(row))
        .map(|row| without(gallery, row))
        .collect();
    let without = if without.is_empty() {
        Node::none()
    } else {
        let body = el("tbody", &[], &without);
        let heads = ["schedule", "peak", "bubble", "why"];
        let heads: Node = heads.into_iter().map(|head| leaf("th", "", head)).collect();
        let heads = el("thead", &[], &[el("tr", &[], &[heads])]);
        let parts = [
            leaf("h3", "", "Do not fit or cannot run"),
            scrolled("Do not fit or cannot run", el("table", &[], &[heads, body])),
        ];
        el("div", &[("class", "without")], &parts)
    };
    let table = table(gallery.rows, gallery.look.sort, gallery.unit);
    Node::from_iter([list(false), stale, without, fold("Show as a table", table)])
}

/// The button that compares a schedule, with its letter where it is compared.
fn tick(gallery: &Gallery, variant: Variant, inside: &[Node]) -> Node {
    let ticked = gallery.look.ticked(&gallery.own.scenario.run);
    let at = ticked.iter().position(|one| *one == variant);
    let full = at.is_none() && ticked.len() >= MOST;
    let attributes = [
        ("class", "tick"),
        ("aria-pressed", if at.is_some() { "true" } else { "false" }),
        ("disabled", if full { "disabled" } else { "" }),
    ];
    let mark = leaf("i", "", verbatim(at.map_or("", letter)));
    let name = leaf("b", "", verbatim(variant.name()));
    let title = if full {
        t!("Four are compared already")
    } else {
        t!("Compare whole steps")
    };
    let mut parts = vec![mark, name];
    parts.extend_from_slice(inside);
    el("button", &attributes, &parts)
        .title(title)
        .on(Action::Gallery(GalleryAction::Tick(variant)))
}

fn card(gallery: &Gallery, row: &ScheduleRow) -> Node {
    let (variant, own) = (row.variant, Variant::of(&gallery.own.scenario.run));
    let Ok(figures) = &row.figures else {
        return Node::none();
    };
    let ticked = gallery.look.ticked(&gallery.own.scenario.run);
    let class = if ticked.contains(&variant) {
        "card on"
    } else {
        "card"
    };
    let brief = idea(variant.id).map_or("", |idea| idea.idea);
    let parts = [
        tick(
            gallery,
            variant,
            &[difference(gallery, variant == own, figures)],
        ),
        el("small", &[("class", "brief")], &[text(brief)]).title(brief),
        picture(gallery, row, figures),
        numbers(gallery, variant, figures),
    ];
    let name = variant.to_string();
    el("li", &[("class", class), ("data-variant", &name)], &parts).keyed(&name)
}

/// How much longer or shorter than the Run's own step.
fn difference(gallery: &Gallery, is_own: bool, figures: &ScheduleFigures) -> Node {
    if is_own {
        return leaf("span", "change", "your run");
    }
    let ratio = figures.step_s / gallery.own.report.step.time_s - 1.0;
    let sign = if ratio < 0.0 { "−" } else { "+" };
    let class = if ratio < -DIFFERS {
        "change better"
    } else {
        "change"
    };
    let share = verbatim(format!("{sign}{}", show_percent(ratio.abs())));
    leaf("span", class, share)
}

/// What those hear who do not see a picture, and those read who point at it.
fn described(gallery: &Gallery, variant: Variant, figures: &ScheduleFigures) -> Message {
    t!(
        "{name}: step {step}, bubble {bubble}, peak {peak} of {capacity}, {held} stage-micro-batches held",
        name = verbatim(variant.name()),
        step = show_seconds(figures.step_s),
        bubble = show_percent(figures.bubble_fraction),
        peak = gallery.unit.show(figures.peak_bytes),
        capacity = gallery.unit.show(gallery.own.report.memory.capacity_bytes),
        held = number(figures.in_flight, 3)
    )
}

fn picture(gallery: &Gallery, row: &ScheduleRow, figures: &ScheduleFigures) -> Node {
    let axis = gallery.axis;
    let marks = ticks(0.0, axis.end, if axis.cut.is_some() { 10 } else { 5 })
        .into_iter()
        .filter(|tick| {
            let inside = |(from, to): (f64, f64)| *tick > from && *tick < to;
            !axis.cut.is_some_and(inside)
        });
    let marks: Node = marks
        .map(|tick| {
            let at = percent("left", axis.x(tick));
            let label = if tick == 0.0 {
                "0".to_owned()
            } else {
                show_seconds(Seconds(tick))
            };
            el("span", &[("style", &at)], &[text(verbatim(label))])
        })
        .collect();
    let drawn = (gallery.sketch)(row.variant);
    let inside = drawn.map_or_else(Node::none, |sketch| drawing(sketch, axis));
    let image = el("div", &[("class", "sketch"), ("role", "img")], &[inside]).label(described(
        gallery,
        row.variant,
        figures,
    ));
    let marks = el(
        "div",
        &[("class", "marks"), ("aria-hidden", "true")],
        &[marks],
    );
    Node::from_iter([image, marks])
}

/// The sketch as SVG that fills its place, the hatch of idle time behind it.
fn drawing(sketch: &Sketch, axis: Axis) -> Node {
    let height = sketch.height();
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\">"
    );
    let mut path = |class: &str, d: &str| {
        svg.push_str("<path class=\"");
        svg.push_str(class);
        svg.push_str("\" d=\"");
        svg.push_str(d);
        svg.push_str("\"/>");
    };
    path("paper", &sketch.gaps());
    for (kind, chunk, d) in &sketch.paths {
        path(&format!("{} c{chunk}", KINDS[*kind % 3]), d);
    }
    if let Some((from, to)) = axis.cut {
        let (left, right) = (axis.x(from) * WIDTH, axis.x(to) * WIDTH);
        let middle = f64::midpoint(left, right);
        let paper = format!("M{left:.0} 0H{right:.0}V{height}H{left:.0}z");
        path("paper", &paper);
        let half = height / 2;
        path(
            "break",
            &format!("M{left:.0} 0L{middle:.0} {half}L{left:.0} {height}"),
        );
        path(
            "break",
            &format!("M{middle:.0} 0L{right:.0} {half}L{middle:.0} {height}"),
        );
    }
    svg.push_str("</svg>");
    let idle = percent("width", axis.x(sketch.end));
    let behind = if sketch.end > axis.end {
        let end = show_seconds(Seconds(sketch.end));
        leaf("em", "", t!("to {end} →", end))
    } else {
        Node::none()
    };
    Node::from_iter([
        el("i", &[("class", "hatch"), ("style", &idle)], &[]),
        raw(&svg),
        behind,
    ])
}

/// Step, bubble (and what the zero-bubble papers count where it differs) and memory.
fn numbers(gallery: &Gallery, variant: Variant, figures: &ScheduleFigures) -> Node {
    let pair = |value: String, word: &'static str| {
        let value = leaf("b", "", verbatim(value));
        el("span", &[], &[value, text(" "), text(word)])
    };
    let splits = schedule(variant.id).is_some_and(|row| row.splits_backward);
    let differs = (figures.bubble_span - figures.bubble_fraction).abs() > DIFFERS;
    let span = if splits && differs {
        pair(show_percent(figures.bubble_span), "in span")
            .title("idle time between a rank's first and last op over its work, as the zero-bubble papers count")
    } else {
        Node::none()
    };
    let capacity = gallery.own.report.memory.capacity_bytes;
    let share = (figures.peak_bytes / capacity).min(1.0);
    let fill = [("style", &*percent("width", share))];
    let peak = gallery.unit.show(figures.peak_bytes);
    let tight = match figures.verdict {
        Verdict::Fits => Node::none(),
        other => leaf("span", "tight", verdict(other)),
    };
    let time = [
        pair(show_seconds(figures.step_s), "step"),
        pair(show_percent(figures.bubble_fraction), "bubble"),
        span,
    ];
    let memory = [
        leaf("b", "", verbatim(peak)),
        el("span", &[("class", "fill")], &[el("i", &fill, &[])]),
        tight,
    ];
    let lines = [time, memory].map(|line| el("p", &[("class", "numbers")], &line));
    lines.into_iter().collect()
}

/// A schedule without a picture, and why.
fn without(gallery: &Gallery, row: &ScheduleRow) -> Node {
    let cell = |content: Node| el("td", &[], &[content]);
    let name = cell(match &row.figures {
        Ok(_) => tick(gallery, row.variant, &[]),
        Err(_) => text(verbatim(row.variant.name())),
    });
    let [peak, bubble, why] = match &row.figures {
        Err(why) => [Message::default(), Message::default(), why.clone()],
        Ok(figures) => {
            let over = figures.peak_bytes.0 - gallery.own.report.memory.capacity_bytes.0;
            let why = t!(
                "{over} too much: {held} stage-micro-batches of activations held, {copies}× the weights",
                over = gallery.unit.show(Bytes(over.max(0.0))),
                held = number(figures.in_flight, 3),
                copies = figures.weight_copies
            );
            [
                verbatim(gallery.unit.show(figures.peak_bytes)),
                verbatim(show_percent(figures.bubble_fraction)),
                why,
            ]
        }
    };
    let cells = [
        name,
        leaf("td", "", peak),
        leaf("td", "", bubble),
        leaf("td", "note", why),
    ];
    el("tr", &[], &cells).keyed(&row.variant.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::report::{evaluate, memory_limit, run_with};
    use crate::core::run::Run;

    /// The gallery of `run` with all of its pictures.
    fn shown(run: &Run, look: &Look) -> (String, usize) {
        let own = evaluate(run).unwrap();
        let limit = look.limit(run);
        let all = Variant::all(run);
        let rows: Vec<ScheduleRow> = all
            .iter()
            .map(|variant| ScheduleRow::of(run, *variant, limit, None))
            .collect();
        let axis = Axis::of(&own, look.whole);
        let sketches: Vec<(Variant, Sketch)> = all
            .iter()
            .filter_map(|variant| {
                let other = evaluate(&run_with(run, *variant, limit).ok()?).ok()?;
                Some((*variant, Sketch::of(&other, axis)))
            })
            .collect();
        let gallery = Gallery {
            own: &own,
            rows: &rows,
            sketch: &|variant| {
                let mut each = sketches.iter();
                each.find(|(of, _)| *of == variant).map(|(_, one)| one)
            },
            axis,
            look,
            unit: MemoryUnit::Gib,
        };
        let pieces: Node = [head(&gallery, 0), cards(&gallery)].into_iter().collect();
        (pieces.to_html(), rows.len())
    }

    #[test]
    fn every_schedule_stands_once_with_its_picture_or_why_it_has_none() {
        let run = Run::default();
        for whole in [false, true] {
            let look = Look {
                whole,
                ..Look::default()
            };
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
        let (html, _) = shown(&Run::default(), &Look::default());
        let (before, after) = html.split_once("Stale weights").unwrap();
        for id in ["pipedream", "pipedream-2bw"] {
            let card = format!("data-variant=\"{id}\"");
            assert!(after.contains(&card) && !before.contains(&card), "{id}");
        }
    }

    /// GPipe holds every micro-batch: with long sequences it is the first that does not fit, and says so.
    #[test]
    fn what_does_not_fit_says_how_much_is_too_much() {
        let run = Run {
            seq_len: 16384,
            ..Run::default()
        };
        let (html, _) = shown(&run, &Look::default());
        let (_, without) = html.split_once("Do not fit or cannot run").unwrap();
        let (_, gpipe) = without.split_once(">GPipe<").unwrap();
        assert!(
            gpipe.contains("too much: 32 stage-micro-batches"),
            "{gpipe}"
        );
    }

    #[test]
    fn four_are_ticked_at_most_and_have_letters() {
        let run = Run::default();
        let mut look = Look::default();
        for id in ["zb-v", "dualpipe", "v-min"] {
            look.press(&run, GalleryAction::Tick(Variant::named(id).unwrap()));
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
