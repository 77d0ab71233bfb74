//! The ranked layouts: filters, the table, why each beats the next, memory against throughput.

use super::controls::{PlanView, button, chips_of, fold};
use crate::charts::figure::key;
use crate::node::action::{Compare, PlanFold};
use crate::node::figure::Scope;
use crate::panels::budget::budget_tokens;
use crate::panels::names::told_apart;
use crate::panels::ranged::without_unit;
use crate::prelude::*;
use crate::words;
use shardscope_core::memory::verdict::{HALF_BAND, chance};
use shardscope_core::pipeline::able::overlaps_on_one_stage;
use shardscope_core::run::{Method, Recompute};
use shardscope_core::search::filter::{Filter, LayoutAxis};
use shardscope_core::search::ladder::is_same_layout;
use shardscope_core::search::map::{MapAxes, MapCell};
use shardscope_core::search::session::{PlanCommand, RowOrder};
use shardscope_core::search::sweep::Points;
use shardscope_core::search::{
    Axes, Figures, FoundLayout, LayoutPlace, Proposal, fastest, least_told, recommended, serves, simpler, stages_words,
    ties, why as reason,
};
use shardscope_core::units::{fixed, show_off};
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

/// A layout in one line: its sizes, and what is not usual.
pub fn layout(found: &FoundLayout) -> Message {
    line(&found.run, found.figures.dp)
}

/// The layout of `run`, which has `dp` replicas, in one line: two that differ have two lines.
pub fn line(run: &Run, dp: u64) -> Message {
    let mut list = vec![verbatim(words::sizes(run, dp)), verbatim(format!("ZeRO-{}", run.zero))];
    list.push(t!("micro-batch {micro_batch}", micro_batch = run.micro_batch));
    if run.pp > 1 {
        list.push(words::schedule(run));
    }
    if run.recompute != Recompute::None {
        list.push(run.recompute.words());
    }
    if run.tp > 1 && !run.sequence_parallel {
        list.push(t!("no SP"));
    }
    list.extend(run.stage_layers.as_deref().map(stages_words));
    Message::joined(" · ", list)
}

/// The sizes of a layout, and below them what else a row has: the form's symbols, and no word that a figure implies.
pub(crate) fn short(run: &Run, dp: u64) -> [Message; 2] {
    let mut list = vec![verbatim(format!("ZeRO-{}", run.zero))];
    if run.pp > 1 {
        list.push(words::schedule(run));
    }
    if run.micro_batch > 1 {
        list.push(verbatim(format!("b {}", run.micro_batch)));
    }
    if run.recompute != Recompute::None {
        list.push(run.recompute.words());
    }
    list.extend(run.adapter.method.map(|method| method.choice().label.into()));
    list.extend(run.stage_layers.as_deref().map(stages_words));
    let others = [
        (run.tp > 1 && !run.sequence_parallel, "no SP"),
        (run.offload.optimizer.is_some(), "optimizer on the host"),
        (run.offload.parameters.is_some(), "parameters on the host"),
    ];
    list.extend(others.iter().filter(|(is, _)| *is).map(|(_, word)| (*word).into()));
    [verbatim(words::sizes(run, dp)), Message::joined(", ", list)]
}

/// Filters of the rows, as chips to press: the usual ones, and the others folded.
pub(crate) fn chips(view: &PlanView, axes: &Axes) -> Node {
    let (order, filter) = (view.query.order, &view.query.filter);
    let orders = RowOrder::ALL.map(|one| {
        let command = PanelAction::Plan(PlanCommand::Order(one));
        (command, one.label().into(), one == order)
    });
    let parts =
        key(&[("c-compute", "compute"), ("hatch", "bubble"), ("c-exposed", "exposed"), ("c-opt-step", "optimizer")]);
    let orders = choices(["Show", "Order of the layouts"], orders, parts);
    if order == RowOrder::Cheapest {
        return orders;
    }
    let fits = (PlanCommand::FilterFits, filter.fits, t!("no tight ones"));
    let sizes = LayoutAxis::Tp.values(axes).into_iter();
    let sizes = sizes.map(|tp| {
        let on = filter.max_tp == Some(tp);
        (PlanCommand::MaxTp(tp), on, t!("TP up to {tp}", tp))
    });
    let usual = chips_of("Only", std::iter::once(fits).chain(sizes));
    let also = view.query.run.is_tuned().then(|| {
        let label = t!("adapters and offloading");
        chips_of("Search also", std::iter::once((PlanCommand::Also, view.query.also, label)))
    });
    let others = Filter::AXES.iter().filter(|axis| axis.values(axes).len() > 1).map(|axis| {
        let chips = axis.values(axes).into_iter().map(|value| {
            let command = PlanCommand::Filter(*axis, value);
            (command, filter.has(*axis, value), axis.label(axes, value))
        });
        chips_of(axis.name(), chips)
    });
    let others = fold(view, PlanFold::Filters, "More filters", || others.collect());
    let clear = (!filter.is_empty()).then(|| button("link", PlanCommand::ClearFilter, None, "show all again"));
    let lines = also.into_iter().chain([usual, others]).chain(clear);
    let lines: Node = lines.collect();
    Node::from_iter([orders, el("div", &[("class", "filters")], &[lines])])
}

/// Step time, tokens a second and MFU rank layouts of as many GPUs alike: one of the last two is enough.
fn head(order: RowOrder) -> [(&'static str, &'static str); 7] {
    let (used, peak) = match order {
        RowOrder::Cheapest => (("GPU-hours", ""), ("peak", "phone-hide")),
        _ => (("MFU", "phone-hide"), ("peak", "")),
    };
    [("", "number"), ("layout", ""), ("step", ""), ("what the step is made of", "grow"), used, peak, ("", "tools")]
}

/// The rows in the order that is asked for.
fn ordered<'a>(view: &'a PlanView) -> Cow<'a, [Rc<FoundLayout>]> {
    match view.query.order {
        RowOrder::Fastest => Cow::Borrowed(&view.result.rows[..]),
        RowOrder::Leanest => Cow::Borrowed(&view.result.layouts.front[..]),
        RowOrder::Cheapest => {
            let sweep = view.result.cheapest.as_ref();
            Cow::Owned(sweep.map(Points::cheapest).unwrap_or_default())
        }
    }
}

/// Rows that are shown before "Show more" is pressed.
const FIRST: usize = 9;

/// The page's own run above the ranked layouts, each with what it changes; `done`: the search is over.
pub fn rows(view: &PlanView, done: bool) -> Node {
    let order = view.query.order;
    let found = &ordered(view)[..];
    if found.is_empty() {
        return if done && view.result.done && !view.query.filter.is_empty() {
            muted("No layout that is left by the filters can be listed: all need more than the driver shows.")
        } else {
            Node::none()
        };
    }
    let present = view.own.map(|present| FoundLayout {
        run: present.scenario.run.clone(),
        figures: Figures::from(&present.report),
        place: LayoutPlace::new(0, 0),
    });
    let work = |one: &FoundLayout| one.figures.time_s.0 * one.run.gpus as f64;
    let works = found.iter().map(|one| work(one)).chain(present.iter().map(work));
    let most = works.fold(f64::MIN_POSITIVE, f64::max);
    let of_map = simpler_in_map(view, found);
    let (tied, simplest) = match order {
        RowOrder::Fastest => (ties(found), recommended(found).filter(|_| of_map.is_none())),
        _ => (0, None),
    };
    let is_open = view.folds.contains(&PlanFold::Rows);
    let count = if is_open { found.len() } else { FIRST };
    // Behind the ranked ones the page's own. It stands alone where it is not one of them.
    let more = more(found.iter().map(|one| &**one).chain(&present));
    let ranked = found.iter().enumerate().take(count).map(|(index, one)| {
        let mark = if simplest == Some(index) {
            "simplest"
        } else if index < tied {
            "≈"
        } else {
            ""
        };
        row(view, Some(index), (one, &more[index]), present.as_ref(), most, mark)
    });
    // The run stands once: in its place where it is one of the rows.
    let is_ranked = |present: &&FoundLayout| found.iter().take(count).any(|one| is_same(one, present));
    let first = present.as_ref().filter(|present| !is_ranked(present));
    let first = first.map(|present| row(view, None, (present, &more[found.len()]), None, most, ""));
    let lines: Vec<Node> = first.into_iter().chain(ranked).collect();
    let head: Node =
        head(order).iter().map(|(name, class)| leaf(if name.is_empty() { "td" } else { "th" }, class, *name)).collect();
    let table = grid("layouts", head, lines.into_iter().collect());
    let rows = el("div", &[("class", "rows")], &[scrolled("Ranked layouts", table)]);
    let legend =
        t!("Changes are against your run. b: micro-batch · × n: chunks per rank · shorter: fewer layers, beside the \
            embedding or the head");
    let chosen = if are_all(view) { chosen_row(found) } else { None };
    let notes = [legend, Message::joined(" ", [rule(view, of_map)].into_iter().chain(chosen).chain(left_out(view)))];
    let notes = notes.map(|note: Message| footnote(note));
    let more = (found.len() > FIRST).then(|| {
        let words = if is_open {
            t!("Show the first {count}", count = FIRST)
        } else {
            t!("Show {count} more", count = found.len() - FIRST)
        };
        link_button(words).on(PanelAction::Fold(PlanFold::Rows))
    });
    let proposal = view.result.proposal.as_ref().filter(|_| order == RowOrder::Fastest && view.query.filter.is_empty());
    let complete = view.result.progress.is_some_and(|progress| progress.done);
    let proposal = proposal.map(|proposal| proposed(proposal, complete));
    std::iter::once(rows).chain(more).chain(proposal).chain(notes).collect()
}

/// What the list leaves out that the schedules of the same run have.
fn left_out(view: &PlanView) -> Option<Message> {
    overlaps_on_one_stage(&view.query.run).then(|| {
        t!("Left out: layouts with PP 1 that overlap two micro-batches, which the Schedules tab has as 1F1B with \
                overlap.")
    })
}

/// A layout of the map of the same tab that is simpler than every listed one that ties with the first.
fn simpler_in_map<'a>(view: &'a PlanView, found: &[Rc<FoundLayout>]) -> Option<&'a FoundLayout> {
    let map = view.result.map.as_ref().filter(|map| matches!(map.picture, MapAxes::Fields(..)))?;
    let cells = map.cells.iter().filter_map(|cell| match cell {
        MapCell::Best(found) => Some(&**found),
        _ => None,
    });
    simpler(found, cells)
}

/// True if two layouts are one, whatever settings without effect they have.
fn is_same(one: &FoundLayout, other: &FoundLayout) -> bool {
    let figures = |one: &FoundLayout| (one.run.gpus, one.figures.time_s.0, one.figures.peak.bytes.0);
    figures(one) == figures(other) && is_same_layout(&one.run, &other.run)
}

/// The layout with an order of its own, beside the ranked ones.
fn proposed(proposal: &Proposal, complete: bool) -> Node {
    let found = &proposal.found;
    let time = strong(verbatim(show_seconds(found.figures.time_s)));
    let line = [time, text(" · "), inline(layout(found)), text(" "), tools(found, false)];
    el("div", &[("class", "proposed")], &[el("p", &[], &line), muted(proposal.words(complete))])
}

/// True if the rows are of all layouts that "choose for me" looks at.
fn are_all(view: &PlanView) -> bool {
    let query = &view.query;
    query.order == RowOrder::Fastest && query.filter.is_empty() && !query.also && view.result.done
}

/// Which of the rows `found` of all layouts "choose for me" takes, where that is not the first one.
fn chosen_row(found: &[Rc<FoundLayout>]) -> Option<Message> {
    let at = fastest(found).filter(|at| *at > 0)?;
    let row = at + 1;
    let first = &found[0];
    Some(if serves(&first.run, &first.figures.peak) {
        t!(
            "“Choose for me” takes row {row}: of layouts with the same printed step, the one with the most even \
                stages, then the fewest chunks a rank.",
            row
        )
    } else {
        t!("“Choose for me” takes row {row}: it fits, and the software runs it.", row)
    })
}

/// The order of the rows, and the rule that admits them.
fn rule(view: &PlanView, of_map: Option<&FoundLayout>) -> Message {
    let tie = show_gain(least_told(&view.query.run));
    let order = match (view.query.order, of_map) {
        (RowOrder::Fastest, Some(simpler)) => t!(
            "Strictly by time; ≈ may be as fast as the first, whose gain over it is below {tie} %. The simplest of \
                those, which fits with the smallest TP × CP × PP, is not listed here: the map has {layout}.",
            tie,
            layout = layout(simpler)
        ),
        (RowOrder::Fastest, None) => t!(
            "Strictly by time; ≈ may be as fast as the first, whose gain over it is below {tie} %. Of those, \
                “simplest” marks the one that fits with the smallest TP × CP × PP, of equals the fastest.",
            tie
        ),
        (RowOrder::Leanest, _) => t!("By memory; each is the fastest of those that need no more."),
        (RowOrder::Cheapest, _) => t!(
            "The fastest layout on each of 1, 2, 4, … GPUs up to those of the run; GPU-hours for {tokens} tokens.",
            tokens = show_count(tokens(view))
        ),
    };
    let [fit, tight] = [Verdict::Fits, Verdict::Tight].map(|verdict| chance(Method::Detailed, verdict, false));
    let feasible = t!(
        "A layout is listed if its estimated need, fragmentation included, is no more than the driver shows: by this \
            {listed} measured runs would be listed ({fit} called fit, {tight} tight), of which {ran} ran. Rule and \
            estimate were set with these runs in view. A layout is tight within {band} % below that; above it, a run \
            may run out of memory.",
        listed = fit.like + tight.like,
        fit = fit.like,
        tight = tight.like,
        ran = fit.like + tight.like - fit.ran_out - tight.ran_out,
        band = significant(HALF_BAND.value * 100.0, 1)
    );
    Message::joined(" ", [order, feasible])
}

/// Tokens to train.
fn tokens(view: &PlanView) -> f64 {
    budget_tokens(&view.query.run)
}

/// A difference from the page's own layout.
fn change(words: String, better: bool) -> Node {
    leaf("small", if better { "change better" } else { "change" }, verbatim(words))
}

/// What each of `list` says behind its name, so that no two that differ have one name.
pub(crate) fn more<'a>(list: impl Iterator<Item = &'a FoundLayout>) -> Vec<Vec<Message>> {
    let named = |one: &'a FoundLayout| (Message::joined(", ", short(&one.run, one.figures.dp)), &one.run);
    let (names, runs): (Vec<Message>, Vec<&Run>) = list.map(named).unzip();
    told_apart(&names, &runs, &|_, _| true)
}

/// A layout: `index` of a ranked one, none of the page's own; what it changes of `own`.
fn row(
    view: &PlanView,
    index: Option<usize>,
    (one, more): (&FoundLayout, &[Message]),
    own: Option<&FoundLayout>,
    most: f64,
    mark: &'static str,
) -> Node {
    let figures = &one.figures;
    let memory = &figures.peak;
    let rate = fixed(figures.tokens_per_s_per_gpu, 0);
    let order = view.query.order;
    let alike = own.filter(|own| own.run.gpus == one.run.gpus);
    // On the run's own layout a press would change nothing.
    let is_own = index.is_none() || own.is_some_and(|own| is_same(one, own));
    let against = own.filter(|_| !is_own);
    let alike = alike.filter(|_| !is_own);
    let faster = alike.map(|own| {
        let share = figures.time_s / own.figures.time_s - 1.0;
        change(show_off(share, 1), share < 0.0 && words::is_told(&one.run, 1.0 + share))
    });
    let leaner = against.map(|own| {
        let (here, there) = (memory.bytes, own.figures.peak.bytes);
        let (sign, more) = if here.0 < there.0 {
            ("−", view.unit.beyond(there, here))
        } else {
            ("+", view.unit.beyond(here, there))
        };
        change(format!("{sign}{more}"), false)
    });
    let scope = Scope::of(&one.run, view.own.map(|own| &own.scenario.run));
    let time = strong(verbatim(show_seconds(figures.time_s))).reports("step.time_s", &scope);
    let range = narrowed(one).map(|range| leaf("small", "range", verbatim(range)));
    let peak = inline(verbatim(view.unit.show(memory.bytes))).reports("memory.peak_bytes", &scope);
    let peak = peak.title(words::fullest(memory));
    let (class, sign, verdict) = words::verdict_of(&one.run, memory);
    let verdict = t!("{sign}{verdict}", sign, verdict);
    let used = if order == RowOrder::Cheapest {
        let hours = |one: &FoundLayout| tokens(view) / one.figures.tokens_per_s_per_gpu / 3600.0;
        let dearer = against.map(|own| {
            let share = hours(one) / hours(own) - 1.0;
            change(show_off(share, 1), share < 0.0)
        });
        let hours = inline(verbatim(show_count(hours(one))));
        std::iter::once(hours).chain(dearer).collect()
    } else {
        inline(verbatim(show_percent(figures.mfu))).reports("step.mfu", &scope)
    };
    let used = el("div", &[], &[used]).title(t!("{rate} tokens/s/GPU", rate));
    let cells: [Node; 7] = [
        text(verbatim(index.map_or(0, |index| index + 1).to_string())),
        name(view, (one, more), against, mark),
        std::iter::once(time).chain(faster).chain(range).collect(),
        made_of(figures, most / one.run.gpus as f64),
        used,
        [peak, text(" "), leaf("b", class, verdict)]
            .into_iter()
            .chain(leaner.into_iter().flat_map(|leaner| [text(" "), leaner]))
            .collect(),
        tools(one, is_own),
    ];
    let cells: Node =
        head(order).iter().zip(cells).map(|((_, class), cell)| el("td", &[("class", class)], &[cell])).collect();
    let class = if is_own { "you" } else { "" };
    el("tr", &[("class", class)], &[cells])
}

/// The range of a layout's step, "3.27–3.64 s", where a profile narrows it.
pub(crate) fn narrowed(found: &FoundLayout) -> Option<String> {
    found.run.profile.widths.as_ref()?;
    let (low, high) = (found.figures.low_s, found.figures.high_s);
    let (low, high) = (show_seconds(low), show_seconds(high));
    Some(format!("{}–{high}", without_unit(&low, &high)))
}

/// The layout's name; of a ranked one a fold with the reason, in a sentence.
fn name(
    view: &PlanView,
    (one, more): (&FoundLayout, &[Message]),
    own: Option<&FoundLayout>,
    mark: &'static str,
) -> Node {
    let [mut sizes, others] = short(&one.run, one.figures.dp);
    let others = Message::joined(", ", [others].into_iter().chain(more.iter().cloned()));
    if view.query.order == RowOrder::Cheapest {
        let gpus = t!("{gpus} GPUs", gpus = one.run.gpus);
        sizes = Message::joined(" · ", [gpus, sizes]);
    }
    let tag = (!mark.is_empty()).then(|| leaf("span", "tag", mark));
    let unable = words::unable(&one.run).or_else(|| words::needed(&one.run)).map(|words| leaf("span", "tag", words));
    let sizes = std::iter::once(strong(sizes)).chain(tag).chain(unable);
    let lines: Node = sizes.chain([aside(others)]).collect();
    // Layouts on other GPUs are places of another search, and differ in more than their layout.
    let Some(own) = own.filter(|_| view.query.order != RowOrder::Cheapest) else {
        return el("div", &[], &[lines]);
    };
    let pinned = view.query.pinned.contains(&one.place);
    let pin = PlanCommand::Pin(one.place);
    let more = [paragraph(reason(one, own)), button("toggle-link", pin, Some(pinned), "pin")];
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

/// What can be done with a layout; nothing with the run's own.
fn tools(one: &FoundLayout, own: bool) -> Node {
    if own {
        return faint("your run");
    }
    let run = Arc::new(one.run.clone());
    let compare = leaf("button", "choose", "Compare").on(Action::Compare(Compare::Keep(Arc::clone(&run))));
    let load = leaf("button", "choose", "Use").on(Action::Load(run));
    Node::from_iter([compare, text(" "), load])
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::calibrate::fit_step;
    use shardscope_core::report::report;

    fn found(run: Run) -> FoundLayout {
        FoundLayout { figures: Figures::from(&report(&run).unwrap()), run, place: LayoutPlace::new(0, 0) }
    }

    /// Two layouts whose steps are printed alike: the one with even stages is taken, and the words name its row; the
    /// first needs no words.
    #[test]
    fn the_row_that_is_chosen_is_named_where_it_is_not_the_first() {
        let even = found(Run { gpus: 128, ..Run::default() });
        let uneven = Run { stage_layers: Some(vec![8, 8, 8, 8]), ..even.run.clone() };
        let uneven = FoundLayout { run: uneven, ..even.clone() };
        assert_eq!(even.figures.peak.overall, Verdict::Fits);
        let rows = |list: &[&FoundLayout]| list.iter().map(|one| Rc::new((*one).clone())).collect::<Vec<_>>();
        let said = chosen_row(&rows(&[&uneven, &even])).unwrap().to_string();
        assert!(said.contains("takes row 2") && said.contains("even"), "{said}");
        assert_eq!(chosen_row(&rows(&[&even, &uneven])), None);
    }

    /// A row's name has what not every release of its software has: stages of Megatron Core 0.13, tensor parallelism
    /// under ZeRO-3 of `DeepSpeed` 0.19.4. Even stages need nothing.
    #[test]
    fn a_row_names_the_release_that_its_layout_needs() {
        use shardscope_core::search::session::{PlanQuery, PlanSession};
        let query = PlanQuery::new(&Run::default());
        let result = PlanSession::new(query.clone()).unwrap().result(false);
        let view = PlanView { query: &query, result: &result, own: None, folds: &[], unit: MemoryUnit::Gib };
        for (edits, needs) in [
            ([("pp", "4"), ("stage_layers", "8,8,9,7"), ("stack", "megatron-2024")], "needs Megatron Core 0.13"),
            ([("pp", "4"), ("stage_layers", "8,8,8,8"), ("stack", "megatron-2024")], ""),
            ([("pp", "1"), ("zero", "3"), ("stack", "deepspeed")], "needs DeepSpeed 0.19.4"),
        ] {
            let one = found(Run::default().with_texts(&edits).unwrap());
            let html = name(&view, (&one, &[]), None, "").to_html();
            assert!(html.contains(needs) && html.contains("needs ") != needs.is_empty(), "{html}");
        }
    }

    /// 80 layers on 32 stages: two splits with the same ends and as many layers between them, in another order, read
    /// the same in few words, and the rows go on with the layers. What differs already says no more.
    #[test]
    fn rows_of_one_name_go_on_with_what_they_differ_in() {
        let set = [("model", "llama-3.1-70b"), ("gpus", "256"), ("tp", "1"), ("pp", "8"), ("virtual_stages", "4")];
        let run =
            Run { schedule: shardscope_core::run::Schedule::Interleaved, ..Run::default().with_texts(&set).unwrap() };
        let split = |layers: &[u64]| found(Run { stage_layers: Some(layers.to_vec()), ..run.clone() });
        let mut layers = shardscope_core::run::even_split(82, 32);
        (layers[0], layers[31]) = (layers[0] - 1, layers[31] - 1);
        let mut moved = layers.clone();
        let (fewer, more_of) = (1..31).fold((1, 1), |(fewer, more_of), at| {
            (
                if layers[at] < layers[fewer] { at } else { fewer },
                if layers[at] > layers[more_of] { at } else { more_of },
            )
        });
        moved.swap(fewer, more_of);
        let (one, other) = (split(&layers), split(&moved));
        assert_ne!(layers, moved);
        assert_eq!(short(&one.run, 32), short(&other.run, 32));
        let [said_one, said_other] = &more([&one, &other].into_iter())[..] else { panic!() };
        let said = [said_one, said_other].map(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(said[0].len(), 1);
        assert!(said[0] != said[1] && said[1][0].contains("/2/2/"), "{said:?}");
        let even = found(Run { stage_layers: None, ..run });
        assert!(more([&one, &even].into_iter()).iter().all(Vec::is_empty));
    }

    /// The search tries one stage under 1F1B alone: where the software can overlap two micro-batches on it, which is a
    /// row of the schedules, the list says so.
    #[test]
    fn the_list_says_that_it_leaves_out_overlap_on_one_stage() {
        use shardscope_core::search::session::{PlanQuery, PlanSession};
        for (model, stack, says) in [
            ("mixtral-8x7b", "megatron-2025", true),
            ("mixtral-8x7b", "hf-trainer", false),
            ("llama-3.1-8b", "megatron-2025", false),
        ] {
            let set = [("model", model), ("stack", stack)];
            let query = PlanQuery::new(&Run::default().with_texts(&set).unwrap());
            let result = PlanSession::new(query.clone()).unwrap().result(false);
            let view = PlanView { query: &query, result: &result, own: None, folds: &[], unit: MemoryUnit::Gib };
            assert_eq!(left_out(&view).is_some(), says, "{model} {stack}");
        }
    }

    #[test]
    fn a_row_shows_its_range_where_a_profile_narrows_it() {
        let run = Run::default();
        assert_eq!(narrowed(&found(run.clone())), None);
        let seconds = found(run.clone()).figures.time_s.0;
        let profile = fit_step(&run, seconds).unwrap();
        let row = found(Run { profile, ..run });
        let range = narrowed(&row).unwrap();
        assert!(range.ends_with(&show_seconds(row.figures.high_s)), "{range}");
        assert!(range.contains('–') && range.matches(" s").count() == 1, "{range}");
    }
}
