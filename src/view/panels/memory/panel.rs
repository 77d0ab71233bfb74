//! The memory bars as a tree, and the line below them with the range of the need.

use super::{Bar, Bars, Segment, bars, legend, parts_tip};
use crate::node::figure::Scope;
use crate::panels::strip::likely_need;
use crate::prelude::*;
use crate::words;
use shardscope_core::memory::StageMemory;
use shardscope_core::report::Memory;
use shardscope_core::run::Method;

/// Parts that a tooltip names; it sums the others in one line.
const MAX_PARTS: usize = 9;
/// Most bars that are drawn at full height, each with its name beside it.
const MANY: usize = 16;
/// Of many bars every such one, counted from the fullest, has its name and its total beside it: nearer ones would cover
/// each other.
const NAMED: usize = 4;
/// Where all bars end before this share of the width, tooltips are drawn to the right of the bars.
const ROOMY: f64 = 0.55;

/// One stacked bar for each pipeline rank, with the capacity as a mark. Every part of a bar has a tooltip with its own
/// parts, and a click on it opens its formula.
pub fn picture(evaluation: &Evaluation, selected: Option<usize>, unit: MemoryUnit) -> Node {
    let memory = &evaluation.report.memory;
    let picture = bars(memory);
    // A tooltip beside the bars covers none of them.
    let end = picture.bars.iter().map(Bar::end).fold(0.0, f64::max);
    let beside = (end < ROOMY).then_some(end);
    let is_named = named(&picture.bars);
    let rows: Node = picture
        .bars
        .iter()
        .zip(is_named)
        .filter_map(|(bar, is_named)| {
            let rank = memory.per_stage.get(bar.stages.0)?;
            let (first, last) = bar.stages;
            let chosen = selected.is_some_and(|rank| (first..=last).contains(&rank));
            let place = Place { capacity: picture.capacity, beside, scope: &Scope::run(), press: &Action::Explain };
            Some(row(bar, rank, &place, [is_named, chosen], unit))
        })
        .collect();
    let class = if picture.bars.len() > MANY { "bars many" } else { "bars" };
    // The style sheet gives the part above the capacity the colour of the verdict.
    let class = if memory.verdict == Verdict::Tight { format!("{class} tight-bars") } else { class.to_owned() };
    let capacity = Scope::run().says("memory.capacity_bytes", unit.show(memory.capacity_bytes));
    let note = if counts_nominal_capacity(memory) {
        t!("{capacity} on the box, as the paper counts", capacity)
    } else {
        t!(
            "{usable} usable of a \"{box_gb} GB\" GPU",
            usable = capacity,
            box_gb = format!("{:.0}", evaluation.scenario.gpu.memory.gib())
        )
    };
    Node::from_iter([
        leaf(
            "p",
            if memory.phases.is_empty() { "visually-hidden" } else { "muted" },
            t!(
                "{verdict}: {memory}",
                verdict = words::verdict_of(&evaluation.scenario.run, &memory.peak()).2,
                memory = words::memory(memory, unit, &Scope::run())
            ),
        ),
        legend(&[&picture]),
        el("div", &[("class", &class)], &[rows]),
        el("p", &[("class", "capacity-note")], &[ask("plain", Figure::Capacity, &[text(&note)])]),
    ])
}

/// The bars of another run, drawn beside those of the page's run. `press` gives the action of a click on a part.
pub(crate) fn beside(
    memory: &Memory,
    picture: &Bars,
    scope: &Scope,
    press: &dyn Fn(Figure) -> Action,
    unit: MemoryUnit,
) -> Node {
    let place = Place { capacity: picture.capacity, beside: None, scope, press };
    let rows = picture.bars.iter().zip(named(&picture.bars)).filter_map(|(bar, is_named)| {
        let rank = memory.per_stage.get(bar.stages.0)?;
        Some(row(bar, rank, &place, [is_named, false], unit))
    });
    let class = if picture.bars.len() > MANY { "bars many" } else { "bars" };
    el("div", &[("class", class)], &[rows.collect()])
}

/// For each of `bars` whether its name and total are shown where the bars are many: the fullest is one of those.
fn named(bars: &[Bar]) -> impl Iterator<Item = bool> + use<> {
    let fullest = bars.iter().position(|bar| bar.is_peak).unwrap_or(0);
    (0..bars.len()).map(move |at| at.abs_diff(fullest).is_multiple_of(NAMED))
}

/// The scope of the figures of a pipeline rank of the page's run.
pub(crate) fn of_rank(rank: usize) -> Scope {
    rank_of(&Scope::run(), rank)
}

/// The scope of the figures of a pipeline rank of the run that `scope` is of.
fn rank_of(scope: &Scope, rank: usize) -> Scope {
    scope.part(format_args!("rank {rank}"))
}

/// Properties that all bars of one picture share.
struct Place<'a> {
    /// The capacity on the scale, 0 to 1.
    capacity: f64,
    /// Left edge of the tooltips on the scale, where they are drawn to the right of all bars.
    beside: Option<f64>,
    /// The run whose figures the bars show.
    scope: &'a Scope,
    /// The action of a click on the button of a figure.
    press: &'a dyn Fn(Figure) -> Action,
}

/// True of a method that compares with the capacity in the name of the GPU ("80 GB"), as its paper does, not with what
/// a program can use.
fn counts_nominal_capacity(memory: &Memory) -> bool {
    memory.method == Method::Fujii.id()
}

/// The bar of `rank`, with its name on the left and its total on the right.
fn row(bar: &Bar, rank: &StageMemory, place: &Place, [is_named, chosen]: [bool; 2], unit: MemoryUnit) -> Node {
    let (name, capacity) = (bar.name(), place.capacity);
    // The Tab key reaches the fullest rank's parts; arrow keys move on from there.
    let tab = if bar.is_peak { "0" } else { "-1" };
    let mut track: Vec<Node> = bar.segments.iter().map(|part| segment(rank, part, tab, place, unit)).collect();
    let end = bar.end();
    track.push(if end < capacity {
        bar_at("free", end, capacity - end)
    } else {
        bar_at("over", capacity, end - capacity)
    });
    track.push(el("i", &[("class", "capacity"), ("style", &percent("left", capacity))], &[]));
    track.extend(bar.range.map(|(low, high)| bracket(low, high)));
    let class = if bar.is_peak { "total bold" } else { "total" };
    let of_row = match (is_named, chosen) {
        (true, true) => "bar-row named chosen",
        (true, false) => "bar-row named",
        (false, true) => "bar-row chosen",
        (false, false) => "bar-row",
    };
    let (total, scope) = (unit.number(bar.total), rank_of(place.scope, bar.stages.0));
    let label =
        t!("{ranks}, {bytes}", ranks = &name, bytes = scope.says("memory.per_stage.total_bytes", unit.show(bar.total)));
    el(
        "div",
        &[("class", of_row), ("role", "group")],
        &[
            el("button", &[("class", "who")], &[text(name.clone())]).on((place.press)(Figure::Memory(bar.stages.0))),
            el("div", &[("class", "track")], &track),
            leaf("span", class, verbatim(&total)).reports("memory.per_stage.total_bytes", &scope),
        ],
    )
    .label(label)
}

/// One component of a bar, with its tooltip: the parts that it is made of.
fn segment(rank: &StageMemory, part: &Segment, tab: &str, place: &Place, unit: MemoryUnit) -> Node {
    let component = part.component;
    let style = percent("width", part.length);
    let label = t!(
        "{component} of rank {stage}: {bytes}",
        component = component.name(),
        stage = rank.stage,
        bytes = rank_of(place.scope, rank.stage).says(component.name(), unit.show(part.bytes))
    );
    let mut items = rank.parts(component);
    // Parts that are printed as 0 are left out.
    items.retain(|item| unit.show(item.bytes) != unit.show(Bytes::ZERO));
    let named = items.iter().take(MAX_PARTS);
    let mut parts: Vec<(Message, String)> = named.map(|item| (item.name.into(), unit.show(item.bytes))).collect();
    let rest: Bytes = items.iter().skip(MAX_PARTS).map(|item| item.bytes).sum();
    if rest.0 > 0.0 {
        let name = t!("{n} more", n = items.len() - MAX_PARTS);
        parts.push((name, unit.show(rest)));
    }
    let (side, at) = match place.beside {
        Some(end) => ("tip parts beside", percent("left", end)),
        None if part.start < 0.5 => ("tip parts", percent("left", part.start)),
        None => ("tip parts", percent("right", (1.0 - part.start - part.length).max(0.0))),
    };
    let attributes = [("class", part.class()), ("style", style), ("tabindex", tab.to_owned())];
    let attributes = attributes.each_ref().map(|(key, value)| (*key, value.as_str()));
    let tip = el("span", &[("class", side), ("style", &at), ("aria-hidden", "true")], &[parts_tip(&label, &parts)]);
    let figure = Figure::Component(rank.stage, component);
    el("button", &attributes, &[tip]).label(label).on((place.press)(figure)).keyed(component.name())
}

/// The line below the bars: what measured runs like this one needed, the likely range of the need, and the links to
/// the rule of the capacity and to the search for the largest model that fits.
pub fn measured(evaluation: &Evaluation, unit: MemoryUnit) -> Node {
    let memory = &evaluation.report.memory;
    let [low, high] = likely_need(memory, unit);
    let range = t!("likely {low} to {high}, judged by measured runs that also set the rule", low, high);
    let known = words::known(&evaluation.scenario.run, memory);
    let rule = ask("link", Figure::Capacity, &[text("the rule")]);
    let largest = el("button", &[("class", "link largest")], &[text("largest model that fits here")]);
    Node::from_iter([inline(known), inline(&range), rule, largest.on(Action::SearchModels(Vec::new()))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_bar_tells_its_parts_and_asks_for_its_formula() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let view = picture(&evaluation, None, MemoryUnit::Gib);
        let html = view.to_html();
        let segments: usize = bars(&evaluation.report.memory).bars.iter().map(|bar| bar.segments.len()).sum();
        assert_eq!(html.matches("class=\"segment ").count(), segments);
        for figure in [
            Figure::Component(0, Component::Activations),
            Figure::Component(3, Component::Buffers),
            Figure::Memory(2),
            Figure::Capacity,
        ] {
            let explain = Action::Explain(figure);
            assert!(view.actions().contains(&&explain), "{figure:?}");
        }
        assert!(html.contains("logits") && !html.contains("NaN"));
    }

    #[test]
    fn the_range_of_the_need_stands_beside_what_is_known_of_it() {
        let evaluation = evaluate(&Run::default()).unwrap();
        let memory = &evaluation.report.memory;
        let html = measured(&evaluation, MemoryUnit::Gib).to_html();
        for part in [
            MemoryUnit::Gib.number(memory.need_low_bytes),
            MemoryUnit::Gib.show(memory.need_high_bytes),
            words::known(&evaluation.scenario.run, memory).to_string(),
        ] {
            assert!(html.contains(&part), "{html}");
        }
        let run = Run { memory_method: Method::Fujii, ..Run::default() };
        let html = measured(&evaluate(&run).unwrap(), MemoryUnit::Gib);
        assert!(html.to_html().contains("on the box"));
    }
}
