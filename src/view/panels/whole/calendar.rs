//! The calendar as a bar from the first step to the last token, and its losses as a waterfall.

use super::found::{WholeRunAnswer, duration, is_wide};
use super::kinds::{Row, TRAINING, in_order};
use crate::charts::figure::{legend, swatch};
use crate::charts::ticks::ticks;
use crate::node::figure::Scope;
use crate::panels::budget::{plain, show_tokens};
use crate::prelude::*;
use shardscope_core::sort::sort_by;
use shardscope_core::units::group;
use shardscope_core::whole_run::{CalendarRange, Loss, LossKind, RangeFrom, WholeRunFigure};

const DAY: f64 = 86_400.0;
/// Share of a row's width that all bars take together: words have the rest.
const BARS: f64 = 0.6;

/// Days or hours as they stand at the axis.
fn day(days: f64, show: fn(f64) -> String) -> Message {
    if days < 2.0 { t!("hour {n}", n = show(days * 24.0)) } else { t!("day {n}", n = show(days)) }
}

/// A share below which two decimals of a percentage say nothing.
const LEAST: f64 = 5e-5;

/// A share of the calendar; a small one with two decimals, so that the rows add up to their sum.
fn share_of(time: Seconds, calendar: Seconds) -> Message {
    let share = time / calendar;
    let is_small = share > 0.0 && share < 0.01;
    if share > 0.0 && share < LEAST {
        return verbatim("< 0.01 %");
    }
    verbatim(if is_small { format!("{:.2} %", share * 100.0) } else { show_percent(share) })
}

/// A round number without zeros that say nothing.
fn round_number(value: f64) -> String {
    group(&((value * 1e6).round() / 1e6).to_string())
}

/// The bar: a share of its width for each share of time; the bracket below holds four of five outcomes.
pub(super) fn bar(answer: &WholeRunAnswer, range: Option<&CalendarRange>) -> Node {
    let figures = &answer.figures;
    let most = range.map_or(figures.days * 1.25, |range| range.high_days.max(figures.days) * 1.03);
    let at = |days: f64| days / most;
    let mut start = 0.0;
    let mut segments = Vec::new();
    let part = |((_, name, class), loss): (&'static Row, Loss)| (*name, *class, loss.seconds);
    let is_first = |(row, _): &(&Row, Loss)| row.0 == LossKind::Startup;
    let startup = in_order(figures).filter(is_first);
    let others = in_order(figures).filter(|one| !is_first(one));
    let training = ("Training", TRAINING, figures.training_s);
    for (name, class, time) in startup.map(part).chain([training]).chain(others.map(part)) {
        let share = at(time.0 / DAY);
        let title = t!("{part}: {time}", part = name, time = duration(time));
        segments.extend((share > 0.0).then(|| bar_at(class, start, share).title(title)));
        start += share;
    }
    let range = range.filter(|range| range.high_days > range.low_days);
    segments.extend(range.map(|range| bracket(at(range.low_days), at(range.high_days))));
    let end = at(figures.days);
    let scale = if most < 2.0 { 24.0 } else { 1.0 };
    let round = ticks(0.0, most * scale, 5).into_iter().map(|tick| tick / scale);
    let marks = round.filter(|days| (at(*days) - end).abs() > 0.17 && at(*days) < 0.93).map(|days| {
        leaf("span", "", if days == 0.0 { t!("start") } else { day(days, round_number) })
            .say("style", verbatim(percent("left", at(days))))
    });
    let side = if end > 0.85 { "before" } else { "" };
    // As many digits as the headline above it.
    let wide = range.is_some_and(|range| is_wide(figures.days, range));
    let shown: fn(f64) -> String = if wide { |value| plain(value, true) } else { |value| plain(value, false) };
    let ends =
        leaf("b", side, t!("ends {day}", day = day(figures.days, shown))).say("style", verbatim(percent("left", end)));
    let marks: Vec<Node> = marks.chain([ends]).collect();
    let label = t!(
        "{days} days from the first step to the last token of {tokens}, of which {share} train",
        days = shown(figures.days),
        tokens = show_tokens(figures.tokens),
        share = show_percent(figures.productive)
    );
    let bar = el("div", &[("class", "calendar-bar"), ("role", "img")], &segments).label(label);
    let used = in_order(figures).filter(|(_, loss)| loss.seconds.0 > 0.0).map(|((_, name, class), _)| (*class, *name));
    let entries = std::iter::once((TRAINING, "Training")).chain(used);
    let head = [
        leaf("h2", "", "From first step to last token"),
        leaf("span", "spring", ""),
        legend(entries.map(|entry| swatch(&entry))),
    ];
    Node::from_iter([
        el("div", &[("class", "panel-head")], &head),
        bar,
        el("div", &[("class", "marks"), ("aria-hidden", "true")], &marks),
    ])
}

/// The waterfall of losses, the largest first, each beginning where the one above ends, and which input widens the
/// range most.
pub(super) fn losses(answer: &WholeRunAnswer, range: Option<&CalendarRange>) -> Node {
    let figures = &answer.figures;
    let calendar = Seconds(figures.days * DAY);
    let mut rows: Vec<_> = in_order(figures).map(|(row, loss)| (row, loss.seconds)).collect();
    sort_by(&mut rows, |a, b| b.1.0.total_cmp(&a.1.0));
    let lost: Seconds = rows.iter().map(|(_, time)| *time).sum();
    let mut start = 0.0;
    let mut lines = Vec::new();
    for ((kind, name, class), time) in rows {
        let share = if lost.0 > 0.0 { BARS * (time / lost) } else { 0.0 };
        let bar = (share > 0.0).then(|| bar_at(class, start, share));
        let end = start + share;
        let (side, place) =
            if start > 1.0 - end { ("before", percent("right", 1.0 - start)) } else { ("after", percent("left", end)) };
        let words = el("em", &[("class", side), ("style", &place)], &[text(note(answer, *kind))]);
        // The count leaves out those that strike a restart; the key figure of interruptions says both.
        let words = match kind {
            LossKind::RepeatedWork | LossKind::Restarts => words.title(t!("interruptions of the running job")),
            _ => words,
        };
        let inside: Vec<Node> = bar.into_iter().chain([words]).collect();
        let ask =
            el("button", &[("class", "plain")], &[text(*name)]).on(Action::ExplainWhole(WholeRunFigure::Loss(*kind)));
        let cells = [
            el("span", &[("class", "who")], &[ask]),
            el("span", &[("class", "track")], &inside),
            leaf("span", "amount", verbatim(duration(time))).reports(WholeRunFigure::Loss(*kind).id(), &Scope::run()),
            leaf("span", "share", share_of(time, calendar))
                .reports("whole:share", &Scope::run().part(WholeRunFigure::Loss(*kind).id())),
        ];
        let class = if time.0 > 0.0 { "row" } else { "row zero" };
        lines.push(el("div", &[("class", class)], &cells).keyed(name));
        start = end;
    }
    let width = format!("right:auto;{}", percent("width", BARS));
    let whole = el("i", &[("class", "whole"), ("style", &width)], &[]);
    let total = [
        leaf("span", "who", "Lost"),
        el("span", &[("class", "track")], &if lost.0 > 0.0 { vec![whole] } else { Vec::new() }),
        leaf("span", "amount", verbatim(duration(lost))).reports("whole:lost", &Scope::run()),
        leaf("span", "share", share_of(lost, calendar)).reports("whole:share", &Scope::run().part("lost")),
    ];
    lines.push(el("div", &[("class", "row total")], &total).keyed("total"));
    Node::from_iter([
        leaf("h3", "", t!("Where {time} go", time = Scope::run().says("whole:lost", duration(lost)))),
        el("div", &[("class", "waterfall")], &lines),
        range.map_or_else(Node::none, |range| leaf("p", "muted note", widest(range))),
        leaf(
            "p",
            "muted note",
            t!(
                "MFU over the calendar: {calendar}; of a step: {step}.",
                calendar = Scope::run().says("whole:calendar_mfu", show_percent(figures.calendar_mfu)),
                step = Scope::run().says("step.mfu", show_percent(figures.calendar_mfu / figures.productive))
            ),
        ),
    ])
}

/// The sentence on the input that moves the range most.
fn widest(range: &CalendarRange) -> Message {
    match range.range_from {
        Some(RangeFrom::Failures) => {
            t!("The rate of failures widens the range most: give hours between interruptions, or the class of your \
                    nodes.")
        }
        Some(RangeFrom::Operation) => t!("The time of a restart widens the range most: give your own."),
        Some(RangeFrom::Step) => t!("The step's own range widens this one most: a measured step narrows it."),
        None => t!("Nothing is uncertain here."),
    }
}

/// The origin of a loss in numbers.
fn note(answer: &WholeRunAnswer, kind: LossKind) -> Message {
    let (figures, setting) = (&answer.figures, &answer.setting);
    match kind {
        LossKind::Startup => t!("first process to first step, once"),
        LossKind::Evaluation if setting.evaluations == 0.0 => t!("none in this run"),
        LossKind::Evaluation => t!(
            "{count} × {time}",
            count = group(&format!("{:.0}", setting.evaluations)),
            time = duration(setting.evaluation)
        ),
        LossKind::Rollbacks if setting.rollbacks == 0.0 => t!("none in this run"),
        LossKind::Rollbacks => t!(
            "{count} × {steps} steps",
            count = group(&format!("{:.0}", setting.rollbacks)),
            steps = group(&format!("{:.0}", setting.rollback_steps))
        ),
        LossKind::Checkpoints => match figures.checkpoint_s {
            Some(every) => t!(
                "{save} every {every}",
                save = Scope::run().says("whole:save_s", duration(figures.save_s)),
                every = Scope::run().says("whole:checkpoint_s", duration(every))
            ),
            None => t!("none in this run"),
        },
        LossKind::RepeatedWork | LossKind::Restarts if figures.interruptions == 0.0 => t!("none in this run"),
        LossKind::RepeatedWork | LossKind::Restarts => answer.show_each(kind),
        LossKind::Stragglers if setting.straggler <= 1.0 => t!("in the step, or none"),
        LossKind::Stragglers => t!("steps take {factor} times as long", factor = significant(setting.straggler, 4)),
    }
}
