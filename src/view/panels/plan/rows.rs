//! The ranked layouts: filters, the table, why each beats the next, memory against throughput.

use super::{View, button, chips_of, fold};
use crate::core::memory::Verdict;
use crate::core::memory::verdict::HALF_BAND;
use crate::core::message::{Message, verbatim};
use crate::core::run::{OneOf, Recompute, Run};
use crate::core::search::filter::{Axis, Filter};
use crate::core::search::session::{Fold, PlanCommand};
use crate::core::search::{Axes, Figures, Found, Place, TIE, recommended, ties, why as reason};
use crate::core::t;
use crate::core::units::{Bytes, group, show_off, show_percent, show_seconds, significant};
use crate::view::node::action::Compare;
use crate::view::node::markup::{Action, Node, el, leaf, percent, scrolled, text};
use crate::view::panels::strip::without_unit;
use crate::view::panels::words;
use std::sync::Arc;

/// The sizes of a layout in one line: those that are not 1, and what is not usual.
pub fn layout(found: &Found) -> Message {
    let run = &found.run;
    let sizes = [
        ("TP", run.tp),
        ("PP", run.pp),
        ("CP", run.cp),
        ("EP", run.ep),
        ("ETP", run.etp),
    ];
    let mut list: Vec<Message> = sizes
        .into_iter()
        .filter(|(_, size)| *size > 1)
        .map(|(name, size)| verbatim(format!("{name} {size}")))
        .collect();
    list.push(verbatim(format!("DP {}", found.figures.dp)));
    list.push(verbatim(format!("ZeRO-{}", run.zero)));
    list.push(t!(
        "micro-batch {micro_batch}",
        micro_batch = run.micro_batch
    ));
    if run.pp > 1 {
        list.push(schedule(run).into());
    }
    if run.recompute != Recompute::None {
        list.push(run.recompute.words());
    }
    if run.tp > 1 && !run.sequence_parallel {
        list.push(t!("no SP"));
    }
    if run.stage_layers.is_some() {
        list.push(t!("fewer layers beside the embedding or the head"));
    }
    Message::joined(" · ", list)
}

/// The sizes of a layout, and below them what else a row has: the form's symbols, and no word that a figure implies.
fn short(run: &Run, dp: u64) -> [Message; 2] {
    let sizes = [
        ("TP", run.tp),
        ("PP", run.pp),
        ("CP", run.cp),
        ("EP", run.ep),
        ("ETP", run.etp),
        ("DP", dp),
    ];
    let sizes = sizes.into_iter();
    let named = sizes.filter(|(name, size)| *size > 1 || *name == "DP");
    let sizes: Vec<String> = named.map(|(name, size)| format!("{name} {size}")).collect();
    let mut list = vec![verbatim(format!("ZeRO-{}", run.zero))];
    if run.pp > 1 {
        // Several chunks of a plain 1F1B are an interleaved one.
        list.push(schedule(run).replace("interleaved 1F1B", "1F1B").into());
    }
    if run.micro_batch > 1 {
        list.push(verbatim(format!("b {}", run.micro_batch)));
    }
    if run.recompute != Recompute::None {
        list.push(run.recompute.words());
    }
    let others = [
        (run.tp > 1 && !run.sequence_parallel, "no SP"),
        (run.stage_layers.is_some(), "uneven"),
    ];
    list.extend(
        others
            .iter()
            .filter(|(is, _)| *is)
            .map(|(_, word)| (*word).into()),
    );
    [verbatim(sizes.join(" · ")), Message::joined(", ", list)]
}

/// The schedule with its chunks a rank.
pub fn schedule(run: &Run) -> String {
    let name = run.schedule.choice().label;
    if run.virtual_stages > 1 {
        format!("{name} × {}", run.virtual_stages)
    } else {
        name.to_owned()
    }
}

/// What rows are shown, as chips to press: the usual ones, and the others folded.
pub(crate) fn chips(view: &View, axes: &Axes) -> Node {
    let filter = &view.query.filter;
    let fits = (PlanCommand::FilterFits, filter.fits, t!("no tight ones"));
    let sizes = Axis::Tp.values(axes).into_iter();
    let sizes = sizes.map(|tp| {
        let on = filter.max_tp == Some(tp);
        (PlanCommand::MaxTp(tp), on, t!("TP up to {tp}", tp))
    });
    let usual = chips_of("Only", std::iter::once(fits).chain(sizes));
    let others = Filter::AXES.iter().map(|axis| {
        let values = axis.values(axes).into_iter();
        let chips = values.map(|value| {
            let command = PlanCommand::Filter(*axis, value);
            (command, filter.has(*axis, value), axis.label(axes, value))
        });
        chips_of(axis.name(), chips)
    });
    let others = fold(view, Fold::Filters, "More filters", || others.collect());
    let clear = (!filter.is_empty())
        .then(|| button("link", PlanCommand::ClearFilter, None, "show all again"));
    let lines: Node = [usual, others].into_iter().chain(clear).collect();
    el("div", &[("class", "filters")], &[lines])
}

/// Step time, tokens a second and MFU rank layouts alike: one of the last two is enough.
const HEAD: [(&str, &str); 7] = [
    ("", "number"),
    ("layout", ""),
    ("step", ""),
    ("what the step is made of", "grow"),
    ("MFU", "phone-hide"),
    ("peak", ""),
    ("", "tools"),
];

/// Rows that are shown until someone asks for more.
const FIRST: usize = 9;

/// The page's own run above the ranked layouts, each with what it changes; `done`: the search is over.
pub fn rows(view: &View, done: bool) -> Node {
    let found = &view.result.rows;
    if found.is_empty() {
        return if done && !view.query.filter.is_empty() {
            leaf(
                "p",
                "muted",
                "No layout that is left by the filters counts as feasible.",
            )
        } else {
            Node::none()
        };
    }
    let own = view.own.map(|own| Found {
        run: own.scenario.run.clone(),
        figures: Figures::from(&own.report),
        place: Place::new(0, 0),
    });
    let times = found.iter().map(|one| one.figures.time_s.0);
    let times = times.chain(own.iter().map(|own| own.figures.time_s.0));
    let longest = times.fold(f64::MIN_POSITIVE, f64::max);
    let (tied, simplest) = (ties(found), recommended(found));
    let all = view.query.is_open(Fold::Rows);
    let shown = if all { found.len() } else { FIRST };
    let ranked = found.iter().enumerate().take(shown).map(|(index, one)| {
        let mark = if simplest == Some(index) {
            "simplest"
        } else if index < tied {
            "≈"
        } else {
            ""
        };
        row(view, Some(index), one, own.as_ref(), longest, mark)
    });
    let first = own
        .as_ref()
        .map(|own| row(view, None, own, None, longest, ""));
    let lines: Vec<Node> = first.into_iter().chain(ranked).collect();
    let head: Node = HEAD
        .iter()
        .map(|(name, class)| leaf(if name.is_empty() { "td" } else { "th" }, class, *name))
        .collect();
    let table = [
        el("thead", &[], &[el("tr", &[], &[head])]),
        el("tbody", &[], &lines),
    ];
    let table = el("table", &[("class", "layouts")], &table);
    let rows = el(
        "div",
        &[("class", "rows")],
        &[scrolled("Layouts by step time", table)],
    );
    let legend = t!(
        "Changes are against your run. b: micro-batch · × n: chunks per rank · uneven: fewer layers beside the embedding or the head"
    );
    let notes = [legend, rule()].map(|note: Message| leaf("p", "muted note", note));
    let more = (found.len() > FIRST).then(|| {
        let words = if all {
            t!("Show the first {count}", count = FIRST)
        } else {
            t!("Show {count} more", count = found.len() - FIRST)
        };
        button("link", PlanCommand::Toggle(Fold::Rows), None, words)
    });
    std::iter::once(rows).chain(more).chain(notes).collect()
}

/// How rows are ordered, and which are rows at all.
fn rule() -> Message {
    t!(
        "Strictly by time; ≈ ties with the first within {tie} %, of which one is the simplest. A layout counts as feasible if its estimated need, fragmentation included, is no more than the driver shows: of 144 published runs that did, 143 ran (the rule was chosen, and the estimate fitted, with them in view); tight is within {band} % of it.",
        tie = significant(TIE * 100.0, 2),
        band = significant(HALF_BAND.value * 100.0, 1)
    )
}

/// A layout: `index` of a ranked one, none of the page's own; what it changes of `own`.
fn row(
    view: &View,
    index: Option<usize>,
    one: &Found,
    own: Option<&Found>,
    longest: f64,
    mark: &'static str,
) -> Node {
    let figures = &one.figures;
    let memory = &figures.peak;
    let (low, high) = (show_seconds(figures.low_s), show_seconds(figures.high_s));
    let rate = group(&format!("{:.0}", figures.tokens_per_s_per_gpu));
    let change = |words: String, better: bool| {
        let class = if better { "change better" } else { "change" };
        leaf("small", class, verbatim(words))
    };
    let faster = own.map(|own| {
        let share = figures.time_s / own.figures.time_s - 1.0;
        change(show_off(share, 1), share < 0.0)
    });
    let leaner = own.map(|own| {
        let more = memory.bytes - own.figures.peak.bytes;
        let shown = view.unit.number(Bytes(more.0.abs()));
        let sign = if more.0 < 0.0 { "−" } else { "+" };
        change(format!("{sign}{shown}"), false)
    });
    let time = leaf("b", "", show_seconds(figures.time_s)).title(t!("{low} to {high}", low, high));
    let range = narrowed(one).map(|range| leaf("small", "range", verbatim(range)));
    let tight = memory.verdict != Verdict::Fits;
    let peak = leaf("span", "", view.unit.number(memory.bytes)).title(words::fullest(memory));
    let warned = tight.then(|| leaf("span", "tight", "▲ ").label("may not fit"));
    let mfu = leaf("span", "", show_percent(figures.mfu)).title(t!("{rate} tokens/s/GPU", rate));
    let cells: [Node; 7] = [
        text(index.map_or(0, |index| index + 1).to_string()),
        name(view, one, own, mark),
        std::iter::once(time).chain(faster).chain(range).collect(),
        made_of(figures, longest),
        mfu,
        warned.into_iter().chain([peak]).chain(leaner).collect(),
        tools(one, index.is_none()),
    ];
    let cells: Node = HEAD
        .iter()
        .zip(cells)
        .map(|((_, class), cell)| el("td", &[("class", class)], &[cell]))
        .collect();
    let class = if index.is_none() { "you" } else { "" };
    el("tr", &[("class", class)], &[cells])
}

/// The range of a layout's step, "3.27–3.64 s", where a profile narrows it.
#[must_use]
pub(crate) fn narrowed(found: &Found) -> Option<String> {
    found.run.profile.widths.as_ref()?;
    let (low, high) = (found.figures.low_s, found.figures.high_s);
    let (low, high) = (show_seconds(low), show_seconds(high));
    Some(format!("{}–{high}", without_unit(&low, &high)))
}

/// The layout's name; of a ranked one a fold with the reason, in a sentence.
fn name(view: &View, one: &Found, own: Option<&Found>, mark: &'static str) -> Node {
    let [sizes, others] = short(&one.run, one.figures.dp);
    let tag = (!mark.is_empty()).then(|| leaf("span", "tag", mark));
    let sizes = std::iter::once(leaf("b", "", sizes)).chain(tag);
    let lines: Node = sizes.chain([leaf("small", "", others)]).collect();
    let Some(own) = own else {
        return el("div", &[], &[lines]);
    };
    let pinned = view.query.pinned.contains(&one.place);
    let pin = PlanCommand::Pin(one.place);
    let more = [
        leaf("p", "", reason(one, own)),
        button("toggle-link", pin, Some(pinned), "pin"),
    ];
    let key = format!("{}.{}", one.place.block(), one.place.member());
    let head = el("summary", &[], &[lines]).title(layout(one));
    el("details", &[], &[head, el("div", &[], &more)]).keyed(&key)
}

/// Compute, bubble and exposed communication, then the rest, on one scale for all rows.
fn made_of(figures: &Figures, longest: f64) -> Node {
    let rest = figures.optimizer_s + figures.host_s;
    let parts = [
        ("c-compute", figures.compute_s),
        ("hatch", figures.bubble_s),
        ("c-exposed", figures.exposed_comm_s),
        ("c-opt-step", rest),
    ];
    let bars = parts.map(|(class, time)| {
        let width = percent("width", time.0 / longest);
        el("i", &[("class", class), ("style", &width)], &[])
    });
    let bubble = show_percent(figures.bubble_fraction);
    let exposed = show_percent(figures.exposed_comm_s / figures.time_s);
    el("div", &[("class", "mini")], &bars).title(t!(
        "bubble {bubble}, exposed communication {exposed}",
        bubble,
        exposed
    ))
}

fn tools(one: &Found, own: bool) -> Node {
    if own {
        return leaf("span", "muted", "your run");
    }
    let run = Arc::new(one.run.clone());
    let compare =
        leaf("button", "choose", "Compare").on(Action::Compare(Compare::Keep(Arc::clone(&run))));
    let load = leaf("button", "choose", "Use").on(Action::Load(run));
    Node::from_iter([compare, text(" "), load])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::calibrate::fit_step;
    use crate::core::report::report;

    fn found(run: Run) -> Found {
        Found {
            figures: Figures::from(&report(&run).unwrap()),
            run,
            place: Place::new(0, 0),
        }
    }

    #[test]
    fn a_row_shows_its_range_where_a_profile_narrows_it() {
        let run = Run::default();
        assert_eq!(narrowed(&found(run.clone())), None);
        let seconds = found(run.clone()).figures.time_s.0;
        let profile = fit_step(&run, seconds).unwrap();
        let of = found(Run { profile, ..run });
        let range = narrowed(&of).unwrap();
        assert!(range.ends_with(&show_seconds(of.figures.high_s)), "{range}");
        assert!(
            range.contains('–') && range.matches(" s").count() == 1,
            "{range}"
        );
    }
}
