//! The schedules as text: a table over all of them for one Run, what one is about, two beside each other.

use super::memory::part_rows;
use super::pipeline::IN_SPAN;
use super::waterfall::part_words;
use crate::node::figure::Scope;
use crate::prelude::*;
use crate::words::{VerdictWords, unnamed, untold, verdict_under};
use shardscope_core::advice::{ScheduleFigures, ScheduleRow};
use shardscope_core::memory::StageMemory;
use shardscope_core::pipeline::{SCHEDULES, ScheduleInfo as Row};
use shardscope_core::sort::sort_by;
use shardscope_core::time::{Part, PartKind};

/// A column: its key in links and buttons, its head, and what it means.
const COLUMNS: [(&str, &str, &str); 9] = [
    ("name", "schedule", "as the menu names it"),
    ("step", "step", "the whole step"),
    ("bubble", "bubble", "idle share of the ranks' time"),
    ("span", "bubble in span", IN_SPAN),
    ("held", "held", "activations of the rank that holds most, in micro-batches"),
    ("activations", "activations", "bytes of activations on the rank that holds most"),
    ("peak", "fullest GPU", "all its memory, and whether that fits"),
    ("copies", "weights", "copies of its share of the weights on a rank"),
    ("messages", "messages", "tensors that cross ranks, per micro-batch"),
];

/// The key of what has no column: how far an order is from the best one, which comes late.
const CERTIFICATE: &str = "certificate";

/// Keys in links and buttons, by the number of the column.
fn keys() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().map(|column| column.0).chain([CERTIFICATE])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Sort {
    /// Column, from 0.
    pub column: usize,
    /// Largest first.
    pub down: bool,
}

impl Default for Sort {
    /// The shortest step first.
    fn default() -> Self {
        Self { column: 1, down: false }
    }
}

impl Sort {
    /// After a press on the head of the column `key`: by it, the other way round if it was so already.
    pub fn pressed(self, key: &str) -> Self {
        let column = keys().position(|column| column == key);
        let down = column == Some(self.column) && !self.down;
        let column = column.unwrap_or(self.column);
        Self { column, down }
    }

    /// As a link writes it: the column's name, with a minus before it for the largest first.
    pub fn text(self) -> String {
        let down = if self.down { "-" } else { "" };
        format!("{down}{}", keys().nth(self.column).unwrap_or_default())
    }

    /// By certificates, which the rows do not hold.
    pub const fn is_by_certificate(self) -> bool {
        self.column == COLUMNS.len()
    }

    /// The column that a link names; the default where it names none.
    pub fn named(text: &str) -> Self {
        let key = text.strip_prefix('-').unwrap_or(text);
        let column = keys().position(|column| column == key);
        column.map_or_else(Self::default, |column| Self { column, down: key != text })
    }
}

fn key(row: &ScheduleRow, column: usize) -> f64 {
    let Ok(figures) = &row.figures else {
        return f64::INFINITY;
    };
    match column {
        1 => figures.step_s.0,
        2 => figures.bubble_fraction,
        3 => figures.bubble_span,
        4 => figures.in_flight,
        5 => figures.activations_bytes.0,
        6 => figures.peak_bytes.0,
        7 => f64::from(figures.weight_copies),
        8 => figures.messages,
        _ => 0.0,
    }
}

/// The rows in the order of `sort`; what cannot run comes last either way.
pub fn sorted(rows: &[ScheduleRow], sort: Sort) -> Vec<&ScheduleRow> {
    let mut out: Vec<&ScheduleRow> = rows.iter().collect();
    sort_by(&mut out, |a, b| {
        let order = if sort.column == 0 {
            a.variant.name().to_string().cmp(&b.variant.name().to_string())
        } else {
            key(a, sort.column).total_cmp(&key(b, sort.column))
        };
        let order = if sort.down { order.reverse() } else { order };
        a.figures.is_err().cmp(&b.figures.is_err()).then(order)
    });
    out
}

/// The table. A press on a head sorts, one on a name chooses.
pub fn table(run: &Run, rows: &[ScheduleRow], sort: Sort, unit: MemoryUnit) -> Node {
    let head: Node = COLUMNS
        .iter()
        .enumerate()
        .map(|(index, (key, name, title))| {
            let state = match (sort.column == index, sort.down) {
                (false, _) => "none",
                (true, false) => "ascending",
                (true, true) => "descending",
            };
            let button = [("class", "link")];
            let arrow = match state {
                "ascending" => " ↑",
                "descending" => " ↓",
                _ => "",
            };
            let button =
                el("button", &button, &[text(*name), text(verbatim(arrow))]).title(*title).on(Action::Sort(key));
            el("th", &[("aria-sort", state), ("scope", "col")], &[button])
        })
        .collect();
    let head = Node::from_iter([head, leaf("th", "note", "needs")]);
    let body = sorted(rows, sort).into_iter().map(|row| line(run, row, unit)).collect();
    let table = grid("schedules", head, body);
    let note = t!(
        "Press a schedule's name to use it, where your software has it. Each is simulated with this run's stage times. \
            Bubble: idle share of the ranks' time. Bubble in span: what the zero-bubble papers count, idle time \
            between a rank's first and last op over its work. Schedules that never drain are shown in the steady \
            state."
    );
    let note = muted(note);
    Node::from_iter([scrolled("Schedules for this run", table), note])
}

fn line(run: &Run, row: &ScheduleRow, unit: MemoryUnit) -> Node {
    let mine = row.set.is_empty();
    let called = row.variant.name();
    let unnamed = unnamed(run, &row.set);
    let name = if mine {
        strong(called)
    } else if let Some(words) = unnamed {
        Node::from_iter([text(called), text(" "), aside(words)])
    } else {
        let title = t!("Use {row}", row = called.clone());
        apply("link", row.set.clone(), &title, called)
    };
    let name = el("td", &[], &[name]);
    let rest = match &row.figures {
        Err(why) => el("td", &[("colspan", "8"), ("class", "note muted")], &[text("– "), text(why.clone())]),
        Ok(figures) => {
            let scope = Scope::of_changed(run, &row.set);
            cells(figures, verdict_under(run, &row.set, figures), &scope, unit)
        }
    };
    let needs = row.variant.schedule.row().needs;
    el("tr", &[("class", if mine { "peak" } else { "" })], &[name, rest, leaf("td", "note", needs)])
        .keyed(&row.variant.to_string())
}

fn cells(figures: &ScheduleFigures, (.., verdict): VerdictWords, scope: &Scope, unit: MemoryUnit) -> Node {
    let peak = [verbatim(unit.number(figures.peak_bytes)), verdict.into()];
    [
        ("step.time_s", verbatim(show_seconds(figures.step_s))),
        ("pipeline.bubble_fraction", verbatim(show_percent(figures.bubble_fraction))),
        ("pipeline.bubble_span", verbatim(show_percent(figures.bubble_span))),
        ("pipeline.in_flight", verbatim(number(figures.in_flight, 3))),
        ("pipeline.activations_bytes", verbatim(unit.number(figures.activations_bytes))),
        ("memory.peak_bytes", Message::joined(" · ", peak)),
        ("pipeline.weight_copies", verbatim(format!("{}×", figures.weight_copies))),
        ("pipeline.messages", verbatim(number(figures.messages, 3))),
    ]
    .into_iter()
    .map(|(field, cell)| leaf("td", "", cell).reports(field, scope))
    .collect()
}

/// The options of the list of schedules to compare with.
pub fn compare_options(chosen: &str) -> Node {
    let option = |id: &str, name: &'static str| {
        let selected = if id == chosen { "selected" } else { "" };
        let value = [("value", id), ("selected", selected)];
        el("option", &value, &[text(name)])
    };
    // No text would make its value the label; none makes it empty.
    let selected = if chosen.is_empty() { "selected" } else { "" };
    let none = [("selected", selected)];
    let none = el("option", &none, &[]).say("label", "compare with…");
    let others = SCHEDULES.iter().filter(|row| row.kind != Schedule::Custom);
    let others: Node = others.map(|row| option(row.id(), row.name())).collect();
    Node::from_iter([none, others])
}

/// The schedule's idea, its cost, its requirements and its source.
pub fn about(row: &Row) -> Node {
    let from = cited(row.source, row.source.short);
    let term =
        |name: &'static str, message: &'static str| Node::from_iter([leaf("dt", "", name), leaf("dd", "", message)]);
    el(
        "dl",
        &[("class", "idea")],
        &[
            term("Idea", row.idea),
            term("Costs", row.cost),
            term("Needs", row.needs),
            leaf("dt", "", "Source"),
            el("dd", &[], &[from]),
        ],
    )
}

/// A schedule that is compared with another.
pub struct ComparedSchedule {
    name: Message,
    figures: ScheduleFigures,
    /// Parts of its step.
    parts: Vec<Part>,
    /// Memory of each rank.
    ranks: Vec<StageMemory>,
    /// Whose report the figures are of.
    scope: Scope,
}

impl ComparedSchedule {
    pub fn new(name: Message, evaluation: &Evaluation) -> Self {
        let scope = Scope::of(&evaluation.scenario.run, None);
        let (parts, ranks) = (evaluation.report.step.parts.clone(), evaluation.report.memory.per_stage.clone());
        Self { name, figures: ScheduleFigures::of(evaluation), parts, ranks, scope }
    }

    fn step(&self) -> Message {
        self.scope.says("step.time_s", show_seconds(self.figures.step_s))
    }

    fn bubble(&self) -> Message {
        self.scope.says("pipeline.bubble_fraction", show_percent(self.figures.bubble_fraction))
    }
}

/// Two schedules of `run` in a sentence: the second against the first in step, bubble and activations; another where no
/// estimate tells which step is shorter.
pub fn against(run: &Run, first: &ComparedSchedule, second: &ComparedSchedule, unit: MemoryUnit) -> Message {
    let (a, b, name_a, name_b) = (&first.figures, &second.figures, &first.name, &second.name);
    let ratio = b.step_s / a.step_s;
    let share = show_percent((1.0 - ratio).abs());
    let time = if (ratio - 1.0).abs() < SMALLEST_PRINTED {
        t!("{name_b} takes as long as {name_a}", name_b, name_a)
    } else if ratio < 1.0 {
        t!("{name_b} takes {share} less time than {name_a}", name_b, share, name_a)
    } else {
        t!("{name_b} takes {share} more time than {name_a}", name_b, share, name_a)
    };
    let said = times_and_activations(time, first, second, unit);
    let said = std::iter::once(said).chain(idles_less(a, b)).chain(made_up(first, second));
    let memory = copies(a, b, unit).or_else(|| fullest(first, second, unit));
    Message::joined(" ", said.chain(memory).chain(untold(run, ratio)))
}

/// The parts of the step that make the difference, where the bubble alone would make it another: the second has a
/// smaller bubble and takes longer, or a larger one and takes less, or as large a one and another time. Those of a
/// fifth of the difference or more, and what remains; they sum to it.
fn made_up(first: &ComparedSchedule, second: &ComparedSchedule) -> Option<Message> {
    let (a, b) = (&first.figures, &second.figures);
    let more = b.step_s - a.step_s;
    let same_bubble = show_percent(a.bubble_fraction) == show_percent(b.bubble_fraction);
    let same_step = show_seconds(a.step_s) == show_seconds(b.step_s);
    let other_way = same_bubble || (more.0 > 0.0) != (b.bubble_fraction > a.bubble_fraction);
    if same_step || !other_way {
        return None;
    }
    let by = |one: &ComparedSchedule, kind: PartKind| {
        one.parts.iter().filter(|part| part.kind == kind).map(|part| part.seconds).sum::<Seconds>()
    };
    let differs = second.parts.iter().map(|part| (part.kind, part.seconds - by(first, part.kind)));
    let mut differs: Vec<(PartKind, Seconds)> = differs.collect();
    differs.retain(|(_, more_of)| more_of.0.abs() >= TELLING * more.0.abs());
    differs.sort_by(|(_, one), (_, other)| other.0.abs().total_cmp(&one.0.abs()));
    let rest = more - differs.iter().map(|(_, more_of)| *more_of).sum::<Seconds>();
    let mut named: Vec<(&'static str, Seconds)> =
        differs.into_iter().map(|(kind, more_of)| (part_words(kind), more_of)).collect();
    if named.is_empty() {
        return None;
    }
    if rest.0.abs() > UNTOLD * more.0.abs() {
        named.push(("the rest", rest));
    }
    let said = named.into_iter().map(|(part, more_of)| {
        let time = show_seconds(Seconds(more_of.0.abs()));
        let (time, part) = (second.scope.says(format!("step beside the first's: {part}"), time), Message::plain(part));
        if more_of.0 < 0.0 { t!("{part} {time} less", part, time) } else { t!("{part} {time} more", part, time) }
    });
    let parts = Message::joined(", ", said.collect::<Vec<_>>());
    Some(t!("Parts of its step that differ: {parts}.", parts))
}

/// Share of the difference of two steps from which a part of it is named.
pub const TELLING: f64 = 0.2;

/// Share of it up to which what remains is not said: it changes none of three digits.
pub const UNTOLD: f64 = 0.0005;

/// Why the pipeline of `b` takes longer than that of `a` although its ranks idle less, or takes less although they idle
/// more: the share of another time is no time.
fn idles_less(a: &ScheduleFigures, b: &ScheduleFigures) -> Option<Message> {
    let works = |one: &ScheduleFigures| one.makespan_s * (1.0 - one.bubble_fraction);
    let (longer, less) = (b.makespan_s.0 > a.makespan_s.0, b.bubble_fraction < a.bubble_fraction);
    let (own, other) = (show_seconds(works(b)), show_seconds(works(a)));
    (longer == less && own != other && b.step_s != a.step_s).then(|| {
        t!(
            "The bubble is a share of the ranks' time: here ranks compute for {own} instead of {other} and are idle \
            otherwise.",
            own,
            other
        )
    })
}

/// The bubble of `second` beside that of `first`.
fn bubbles(first: &ComparedSchedule, second: &ComparedSchedule) -> Message {
    let (own, other) = (second.bubble(), first.bubble());
    if own.to_string() == other.to_string() {
        t!("has the same bubble, {bubble}", bubble = own)
    } else {
        t!("has a bubble of {own} instead of {other}", own, other)
    }
}

/// The first sentence of [`against`], which begins with `time`.
fn times_and_activations(
    time: Message,
    first: &ComparedSchedule,
    second: &ComparedSchedule,
    unit: MemoryUnit,
) -> Message {
    let (a, b) = (&first.figures, &second.figures);
    let more = b.activations_bytes.0 - a.activations_bytes.0;
    let bytes = unit.show(Bytes(more.abs()));
    if more.abs() < SMALLEST_PRINTED * a.activations_bytes.0 {
        return t!(
            "{time} per step ({own_time} against {other_time}) and {bubbles}. Both hold {held} micro-batches.",
            time,
            own_time = second.step(),
            other_time = first.step(),
            bubbles = bubbles(first, second),
            held = number(b.in_flight, 3)
        );
    }
    let memory = if more > 0.0 { t!("{bytes} more activations", bytes) } else { t!("{bytes} less activations", bytes) };
    let most = |one: &ComparedSchedule| {
        let ranks = one.ranks.iter().max_by(|one, other| one.activations.0.total_cmp(&other.activations.0));
        ranks.map(|rank| rank.stage)
    };
    // The rank that holds most is not always the fullest, nor the same in both.
    let place = match (most(second), most(first)) {
        (Some(rank), Some(other)) if rank == other => t!("on rank {rank}, which holds most of them", rank),
        (Some(rank), Some(other)) => {
            t!("on rank {rank} than the other on rank {other}, where each holds most", rank, other)
        }
        _ => t!("on the rank that holds most"),
    };
    let [own_held, other_held] = [b, a].map(|row| number(row.in_flight, 3));
    let held = if own_held == other_held {
        t!("both hold {held} micro-batches", held = own_held)
    } else {
        t!("{own_held} micro-batches instead of {other_held}", own_held, other_held)
    };
    t!(
        "{time} per step ({own_time} against {other_time}), {bubbles}, and holds {memory} {place} ({held}).",
        time,
        own_time = second.step(),
        other_time = first.step(),
        bubbles = bubbles(first, second),
        memory,
        place,
        held
    )
}

/// What makes the fullest GPU of `second` need other memory than that of `first` although both hold as many
/// micro-batches where they hold most: another rank may be the fullest, with more of them or with the logits.
fn fullest(first: &ComparedSchedule, second: &ComparedSchedule, unit: MemoryUnit) -> Option<Message> {
    let (a, b) = (&first.figures, &second.figures);
    let differs = (b.peak_bytes.0 - a.peak_bytes.0).abs() >= SMALLEST_PRINTED * a.peak_bytes.0;
    if !differs || number(a.in_flight, 3) != number(b.in_flight, 3) {
        return None;
    }
    let larger = if b.peak_bytes.0 > a.peak_bytes.0 { &second.ranks } else { &first.ranks };
    let rank = larger.iter().max_by(|one, other| one.total.0.total_cmp(&other.total.0))?.stage;
    let (own, other) = (second.ranks.get(rank)?, first.ranks.get(rank)?);
    let change = change(own, other, rank, &second.scope, unit)?;
    let [peak, other_peak] =
        [second, first].map(|one| one.scope.says("memory.peak_bytes", unit.show(one.figures.peak_bytes)));
    let [held, other_held] = [own, other].map(|memory| number(memory.in_flight, 3));
    // Peaks of two ranks are not as far apart as one rank's own memory.
    let printed = |bytes: Bytes| unit.printed(bytes);
    let is_peak = printed(own.total) == printed(b.peak_bytes) && printed(other.total) == printed(a.peak_bytes);
    let in_all = (!is_peak).then(|| {
        let [whole, other_whole] = [(second, own), (first, other)]
            .map(|(one, memory)| one.scope.says(format!("memory of rank {rank}"), unit.show(memory.total)));
        t!("In all rank {rank} needs {whole} instead of {other_whole}.", rank, whole, other_whole)
    });
    let said = if held == other_held {
        t!(
            "Its fullest GPU needs {peak} instead of {other_peak}: rank {rank} has {change}.",
            peak,
            other_peak,
            rank,
            change
        )
    } else {
        t!(
            "Its fullest GPU needs {peak} instead of {other_peak}: of micro-batches rank {rank} holds {held} instead \
                of {other_held}, with {change}.",
            peak,
            other_peak,
            rank,
            held,
            other_held,
            change
        )
    };
    Some(Message::joined(" ", std::iter::once(said).chain(in_all)))
}

/// Parts of a rank's memory that are named at most.
const NAMED: usize = 4;

/// By how much `own` has more of each part of the memory of a rank than `other`, the largest first; what is left is
/// named as the rest, so that they add up to the difference of both as it is printed.
fn change(own: &StageMemory, other: &StageMemory, rank: usize, scope: &Scope, unit: MemoryUnit) -> Option<Message> {
    let rows = part_rows(&[own, other]).into_iter();
    let mut parts: Vec<(&'static str, f64)> = Vec::new();
    // The weights, gradients and states of one tensor are rows of one name.
    for (name, more) in rows.map(|row| (row.name, row.bytes[0].0 - row.bytes[1].0)) {
        match parts.iter_mut().find(|part| part.0 == name) {
            Some(part) => part.1 += more,
            None => parts.push((name, more)),
        }
    }
    sort_by(&mut parts, |one, other| other.1.abs().total_cmp(&one.1.abs()));
    let all = unit.printed(own.total) - unit.printed(other.total);
    let mut left = all;
    let mut named = Vec::new();
    for (name, bytes) in parts.into_iter().take(NAMED) {
        let size = unit.printed(Bytes(bytes));
        if size == 0.0 || !named.is_empty() && (left * 10.0).round() == 0.0 {
            break;
        }
        left -= size;
        named.push((name, size));
    }
    if (left * 10.0).round() != 0.0 && !named.is_empty() {
        named.push(("of the rest", left));
    }
    let said = named.into_iter().map(|(item, size)| {
        let bytes = scope.says(format!("rank {rank} beside the first's: {item}"), unit.show(unit.bytes(size.abs())));
        if size > 0.0 { t!("{bytes} more {item}", bytes, item) } else { t!("{bytes} less {item}", bytes, item) }
    });
    let said: Vec<Message> = said.collect();
    (!said.is_empty()).then(|| Message::joined(", ", said))
}

/// What several copies of the weights make of all memory, where the two schedules keep different numbers of them.
fn copies(a: &ScheduleFigures, b: &ScheduleFigures, unit: MemoryUnit) -> Option<Message> {
    let is_less = b.peak_bytes.0 < a.peak_bytes.0;
    let [more, less] = if is_less { [a, b] } else { [b, a] }.map(|row| row.peak_bytes);
    (a.weight_copies != b.weight_copies).then(|| {
        t!(
            "It keeps {own} copies of its share of the weights instead of {other}: {peak} against \
                {other_peak} in all, {sign}{bytes}.",
            own = b.weight_copies,
            other = a.weight_copies,
            peak = unit.number(b.peak_bytes),
            other_peak = unit.show(a.peak_bytes),
            sign = if is_less { "−" } else { "+" },
            bytes = unit.beyond(more, less)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::report::{ScheduleVariant, memory_limit};

    fn row(text: &str) -> ScheduleRow {
        let run = Run::default();
        let variant = ScheduleVariant::named(text).unwrap();
        ScheduleRow::of(&run, variant, memory_limit(&run), None)
    }

    /// All, and one that cannot run.
    fn rows() -> Vec<ScheduleRow> {
        let rows = ScheduleVariant::all(&Run::default()).into_iter();
        let rows = rows.map(|variant| row(&variant.to_string()));
        rows.chain([row("custom")]).collect()
    }

    #[test]
    fn every_column_sorts_both_ways_and_what_cannot_run_stays_last() {
        let rows = rows();
        for (index, (name, ..)) in COLUMNS.iter().enumerate() {
            let sort = Sort::named(name);
            assert_eq!((sort.column, sort.text().as_str()), (index, *name));
            assert_eq!(Sort::named(&sort.pressed(name).text()), sort.pressed(name));
            for sort in [sort, sort.pressed(name)] {
                let sorted = sorted(&rows, sort);
                assert_eq!(sorted.last().map(|row| row.variant.schedule), Some(Schedule::Custom));
                let keys = sorted.iter().map(|row| key(row, index));
                let keys: Vec<f64> = keys.filter(|key| key.is_finite()).collect();
                assert!(keys.len() >= 24, "{name}");
                let ordered = |a: &f64, b: &f64| if sort.down { a >= b } else { a <= b };
                assert!(keys.is_sorted_by(ordered), "{name} {keys:?}");
            }
        }
    }

    #[test]
    fn a_row_chooses_its_schedule_and_the_chosen_one_is_marked() {
        let view = table(&Run::default(), &rows(), Sort::default(), MemoryUnit::Gib);
        let action = |set: &[(&'static str, &str)]| {
            let set = set.iter().map(|(key, text)| (*key, (*text).to_owned()));
            Action::Apply(set.collect())
        };
        let interleaved = action(&[("schedule", "interleaved-1f1b"), ("virtual_stages", "2")]);
        assert!(view.actions().contains(&&interleaved));
        assert!(!view.actions().contains(&&action(&[("schedule", "1f1b")])));
        let html = view.to_html();
        assert_eq!(html.matches("class=\"peak\"").count(), 1);
        let why = row("custom").figures.unwrap_err().to_string();
        assert!(why.contains("order") && html.contains(&why), "{why}");
    }

    /// The zero-bubble papers' own measure has a column of its own beside the idle share of the whole.
    #[test]
    fn both_bubbles_have_a_column() {
        let rows = [row("zb-h2")];
        let figures = rows[0].figures.clone().unwrap();
        let html = table(&Run::default(), &rows, Sort::default(), MemoryUnit::Gib).to_html();
        let [share, span] = [figures.bubble_fraction, figures.bubble_span].map(show_percent);
        let cells = format!("<td>{share}</td><td>{span}</td>");
        assert!(html.contains(&cells), "{cells}: {html}");
        let heads = [">bubble<", ">bubble in span<"].map(|head| html.find(head).unwrap());
        assert!(heads[0] < heads[1]);
    }

    fn compared(name: &str, figures: ScheduleFigures) -> ComparedSchedule {
        ComparedSchedule { name: verbatim(name), figures, parts: Vec::new(), ranks: Vec::new(), scope: Scope::run() }
    }

    /// PipeDream updates the weights after every micro-batch, so replicas exchange gradients as often; PipeDream-2BW
    /// accumulates them and does so once a step (Narayanan 2021, section 3). Their bubbles are the same, and exposed
    /// messages of data parallelism make the difference. Of any two schedules of which the one with the smaller bubble
    /// takes longer, or the other way round, the parts are said; of no others.
    #[test]
    fn a_step_that_the_bubble_does_not_explain_says_which_part_does() {
        let run = Run::default();
        let variants = ScheduleVariant::all(&run).into_iter();
        let known: Vec<(ScheduleVariant, Evaluation)> = variants
            .filter_map(|variant| {
                let other = run.with_texts(&variant.set(&run, memory_limit(&run)))?;
                Some((variant, evaluate(&other).ok()?))
            })
            .collect();
        let of = |one: &(ScheduleVariant, Evaluation)| ComparedSchedule::new(one.0.name(), &one.1);
        let named = |schedule| known.iter().find(|one| one.0.schedule == schedule).unwrap();
        let said = against(&run, &of(named(Schedule::Pipedream2bw)), &of(named(Schedule::Pipedream)), MemoryUnit::Gib);
        let said = said.to_string();
        assert!(said.contains("step that differ: exposed DP ") && said.contains(" more."), "{said}");
        let mut explained = 0;
        for (one, other) in known.iter().flat_map(|one| known.iter().map(move |other| (one, other))) {
            let (a, b) = (of(one), of(other));
            let words = against(&run, &a, &b, MemoryUnit::Gib).to_string();
            let (a, b) = (&a.figures, &b.figures);
            let [step, bubble] =
                [(a.step_s.0, b.step_s.0), (a.bubble_fraction, b.bubble_fraction)].map(|(before, after)| {
                    (after / before - 1.0) * f64::from(u8::from((after / before - 1.0).abs() > 0.02))
                });
            if step * bubble < 0.0 {
                assert!(words.contains("Parts of its step that differ: "), "{words}");
                explained += 1;
            } else if step * bubble > 0.0 {
                assert!(!words.contains("Parts of its step"), "{words}");
            }
        }
        assert!(explained > 4, "{explained}");
    }

    /// PipeDream's pipeline never drains, but it runs the optimizer after every micro-batch: what is compared is the
    /// step.
    #[test]
    fn a_comparison_is_of_steps() {
        let figures_of = |id| row(id).figures.unwrap();
        let (flush, endless) = (figures_of("1f1b"), figures_of("pipedream"));
        assert!(endless.step_s / flush.step_s > endless.makespan_s / flush.makespan_s);
        let (one, two) = (compared("1F1B", flush), compared("PipeDream", endless));
        let message = against(&Run::default(), &one, &two, MemoryUnit::Gib).to_string();
        for figures in [&flush, &endless] {
            let step = show_seconds(figures.step_s);
            assert!(message.contains(&step), "{step}: {message}");
        }
    }

    #[test]
    fn a_comparison_says_time_bubble_and_memory() {
        let figures = |id| row(id).figures.unwrap();
        let one = compared("1F1B", figures("1f1b"));
        let gpipe = compared("GPipe", figures("gpipe"));
        let message = against(&Run::default(), &one, &gpipe, MemoryUnit::Gib).to_string();
        assert!(message.starts_with("GPipe ") && message.contains("instead of 4"), "{message}");
        assert!(message.contains("more activations") && message.contains("32"), "{message}");
        let same = against(&Run::default(), &one, &one, MemoryUnit::Gib).to_string();
        assert!(same.contains("takes as long as") && same.contains("Both hold "), "{same}");
        assert!(same.contains("has the same bubble, ") && !same.contains(" instead of "), "{same}");
    }

    /// 1F1B holds p - r micro-batches on rank r, ZB-H1 p on each (its paper, section 2.3): both hold p at most, and the
    /// last rank, with the logits, is fuller under ZB-H1. What is said of it is that rank's memory in the two reports.
    #[test]
    fn another_fullest_gpu_at_equal_micro_batches_has_its_reason() {
        let [one, zb] = [Schedule::OneFOneB, Schedule::ZbH1].map(|schedule| {
            let run = Run { schedule, ..Run::default() };
            evaluate(&run).unwrap()
        });
        let [a, b] = [&one, &zb].map(|of| ComparedSchedule::new(verbatim(of.scenario.run.schedule.id()), of));
        let said = against(&Run::default(), &a, &b, MemoryUnit::Gib).to_string();
        let last = one.report.memory.per_stage.len() - 1;
        let [held, other_held] = [&zb, &one].map(|of| of.report.memory.per_stage[last].in_flight);
        assert_eq!((held, other_held), (4.0, 1.0));
        let [peak, other_peak] = [&zb, &one].map(|of| MemoryUnit::Gib.show(of.report.memory.peak_bytes));
        let words = format!(
            "Its fullest GPU needs {peak} instead of {other_peak}: of micro-batches rank {last} holds 4 instead of 1, \
                with "
        );
        assert!(said.contains(&words) && said.contains("Both hold 4 micro-batches"), "{said}");
        assert!(zb.report.memory.peak_stage == last && one.report.memory.peak_stage == 0, "{said}");
        let back = against(&Run::default(), &b, &a, MemoryUnit::Gib).to_string();
        assert!(back.contains("rank 3 holds 1 instead of 4, with ") && back.contains(" less "), "{back}");
    }

    /// What is said of two ranks adds up: the parts that a rank has more and less of are the difference of all its
    /// memory, as it is printed, for any two schedules of which the fullest GPU is spoken of.
    #[test]
    fn the_parts_of_a_fullest_gpu_add_up() {
        let run = Run::default();
        let of: Vec<Evaluation> = [Schedule::OneFOneB, Schedule::ZbH1, Schedule::Gpipe, Schedule::Eager]
            .into_iter()
            .filter_map(|schedule| evaluate(&Run { schedule, ..run.clone() }).ok())
            .collect();
        let unit = MemoryUnit::Gib;
        let mut seen = 0;
        for (one, other) in of.iter().flat_map(|one| of.iter().map(move |other| (one, other))) {
            for (own, other) in one.report.memory.per_stage.iter().zip(&other.report.memory.per_stage) {
                let Some(said) = change(own, other, 0, &Scope::run(), unit) else { continue };
                let words = said.to_string();
                let sizes = words.split(", ").map(|part| {
                    let size: f64 = part.split(' ').next().unwrap().parse().unwrap();
                    if part.contains(" less ") { -size } else { size }
                });
                let all = unit.printed(own.total) - unit.printed(other.total);
                assert!((sizes.sum::<f64>() - all).abs() < 0.05, "{all}: {words}");
                seen += 1;
            }
        }
        assert!(seen > 4, "{seen}");
    }

    /// Gains between layouts of a dense run are told from 7.4 % on: the longer step is then 7.9 % more.
    #[test]
    fn a_gain_inside_the_error_of_differences_may_be_equal() {
        let a = row("1f1b").figures.unwrap();
        for (ratio, is_told) in [(0.85, true), (0.93, false), (1.05, false), (1.12, true), (1.0, true)] {
            let b = ScheduleFigures { step_s: a.step_s * ratio, ..a };
            let [a, b] = [a, b].map(|figures| compared("1F1B", figures));
            let said = against(&Run::default(), &a, &b, MemoryUnit::Gib).to_string();
            let untold = "They may be equal: the shorter takes ";
            let least = " % less, and gains below 7.4 % cannot be told apart.";
            assert_eq!(said.contains(untold) && said.contains(least), !is_told, "{ratio}: {said}");
        }
    }
}
