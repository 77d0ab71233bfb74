//! The head of the gallery: what is seen, how it is sorted and drawn.

use super::card::shows_span;
use super::{Gallery, GalleryAction, MOST};
use crate::charts::figure::{bands, legend, swatch};
use crate::panels::pipeline::IN_SPAN;
use crate::prelude::*;
use crate::words::{FITS, MAY_RUN_OUT, TIGHT, WOULD_FIT, line, of_microbatches, of_ranks, verdict_under};
use shardscope_core::advice::ScheduleRow;
use shardscope_core::report::ScheduleVariant;

/// Orders of the pictures: the key of the sorting, and its word.
const SORTS: [(&str, &str); 4] =
    [("step", "step"), ("bubble", "bubble"), ("peak", "memory"), ("certificate", "distance from the optimum")];

/// The view's title, and what its schedules run.
pub fn opening(gallery: &Gallery) -> Node {
    let about = t!(
        "{run}: {ranks}, {microbatches}. All have its stage times.",
        run = line(&gallery.own.scenario.run),
        ranks = of_ranks(gallery.own.order.ranks.len()),
        microbatches = of_microbatches(gallery.own.report.layout.microbatches)
    );
    Node::from_iter([title("Schedules"), el("p", &[("class", "muted")], &[text(about)])])
}

/// "24 fit · 3 would fit in other software · 2 tight · 1 may run out."
fn counts(run: &Run, rows: &[ScheduleRow]) -> Message {
    let said = |row: &ScheduleRow| Some(verdict_under(run, &row.set, row.figures.as_ref().ok()?).2);
    let said: Vec<&str> = rows.iter().filter_map(said).collect();
    let count_of = |wanted: &str| said.iter().filter(|word| **word == wanted).count();
    let [would, tight, above] = [WOULD_FIT, TIGHT, MAY_RUN_OUT].map(count_of);
    let parts = [
        Some(t!("{count} fit", count = count_of(FITS))),
        (would > 0).then(|| t!("{count} would fit in other software", count = would)),
        (tight > 0).then(|| t!("{count} tight", count = tight)),
        (above > 0).then(|| t!("{count} may run out", count = above)),
    ];
    t!("{counts}.", counts = Message::joined(" · ", parts.into_iter().flatten()))
}

/// "1F1B is ticked: up to 3 more can be ticked, to compare whole steps."
fn ticked(variants: &[ScheduleVariant]) -> Message {
    let names = Message::joined(", ", variants.iter().map(|variant| variant.name()));
    match (variants.len(), MOST.saturating_sub(variants.len())) {
        (0, more) => t!("Tick up to {more} to compare whole steps.", more),
        (1, more) => {
            t!("{name} is ticked: up to {more} more can be ticked, to compare whole steps.", name = names, more)
        }
        (_, 0) => t!("{names} are ticked: no more can be.", names),
        (_, more) => t!("{names} are ticked: up to {more} more can be.", names, more),
    }
}

/// Counts, order and look of the cards; `left` schedules are still being simulated.
pub fn head(gallery: &Gallery, left: usize) -> Node {
    let look = gallery.look;
    let about = counts(&gallery.own.scenario.run, gallery.rows);
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
        ticked(&look.ticked(&gallery.own.scenario.run))
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
        group(Node::from_iter([whole(false, "fill and drain"), whole(true, "whole step")]), "Time axis"),
    ];
    let is_banded = gallery.rows.iter().any(|row| (gallery.sketch)(row.variant).is_some_and(|sketch| sketch.has_bands));
    let kinds = KINDS.iter().map(swatch).chain([inline("lighter: later stages of the rank")]);
    let kinds = kinds.chain(is_banded.then(bands));
    // Two shares of different wholes stand on the cards: what each divides by is said once.
    let bubbles = if gallery.rows.iter().any(shows_span) {
        muted(t!(
            "Bubble: idle time of all ranks over their time in the whole pipeline. In span: {definition}.",
            definition = IN_SPAN
        ))
    } else {
        Node::none()
    };
    let title = [
        leaf("h2", "", t!("All {count}", count = gallery.rows.len())),
        el("p", &[("class", "muted"), ("role", "status")], &[text(words)]),
        legend(kinds),
        bubbles,
    ];
    Node::from_iter([el("div", &[], &title), el("div", &[("class", "tools")], &tools)])
}

/// Kinds of ops and their colours.
const KINDS: [(&str, &str); 4] = [
    ("c-forward", "F forward"),
    ("c-backward", "B, BW backward"),
    ("c-weight", "W weight gradient"),
    ("hatch", "bubble"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::GalleryLook;

    /// What is ticked and what may still be ticked are as many as the buttons take: presses on further schedules are
    /// taken until the words say that no more can be.
    #[test]
    fn the_words_say_how_many_more_a_press_can_tick() {
        let (run, mut look) = (Run::default(), GalleryLook::default());
        let number =
            |text: &str| text.split(|c: char| !c.is_ascii_digit()).rfind(|part| !part.is_empty())?.parse().ok();
        let others = ScheduleVariant::all(&run).into_iter().filter(|one| *one != ScheduleVariant::of(&run));
        for (at, variant) in others.take(MOST + 1).enumerate() {
            let before = look.ticked(&run);
            let words = ticked(&before).to_string();
            let (_, more) = words.split_once(" ticked: ").unwrap();
            assert_eq!(number(more).unwrap_or(0), MOST - before.len(), "{words}");
            assert!(before.iter().all(|one| words.contains(&one.name().to_string())), "{words}");
            assert_eq!(before.len(), (at + 1).min(MOST));
            look.press(&run, GalleryAction::Tick(variant));
        }
        look.ticked = Some(Vec::new());
        assert_eq!(number(&ticked(&look.ticked(&run)).to_string()), Some(MOST));
    }
}
