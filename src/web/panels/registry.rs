//! The panels that need nothing but an evaluation, by name: HTML text of it.

use crate::core::pipeline;
use crate::core::report::over_time::{OverTime, over_time};
use crate::core::report::{Evaluation, Figure, balance, explain, methods};
use crate::core::run::{Method, OneOf};
use crate::core::units::{MemoryUnit, parse_number, whole};
use crate::io::export::{Picture, chrome_trace, ops_csv, picture as picture_file, svg};
use crate::view::charts::figure::{save, save_drawn};
use crate::view::charts::lod::Sums;
use crate::view::charts::palette::Theme;
use crate::view::charts::viewport::Viewport;
use crate::view::node::action::Choice;
use crate::view::node::markup::{Node, el, fold, leaf, raw};
use crate::view::paint::memory::{AREA, AXIS, AreaPicture, GUTTER};
use crate::view::panels::about::about;
use crate::view::panels::changes::what_changed;
use crate::view::panels::cuts::{grids, ring, sequences};
use crate::view::panels::memory;
use crate::view::panels::mesh::mesh;
use crate::view::panels::over_time::{areas, curve_table, legend, peak_words};
use crate::view::panels::overlap::rows;
use crate::view::panels::pipeline::ranks;
use crate::view::panels::schedules::about as about_schedule;
use crate::view::panels::step::step;
use crate::view::panels::sync::{CHOICES, sync};
use crate::view::panels::unequal::{SPREADS, unequal};
use crate::view::panels::uneven::{picture as splits, uneven};
use plotters::prelude::SVGBackend;
use plotters_backend::DrawingBackend;

/// What is asked of a panel.
pub struct Question<'a> {
    /// The Run, evaluated.
    pub evaluation: &'a Evaluation,
    /// What of it: the figure to explain, the row to open; empty for all.
    pub of: &'a str,
    /// GiB or GB.
    pub unit: MemoryUnit,
}

/// A panel.
pub struct NamedPanel {
    /// What the page asks for.
    pub name: &'static str,
    /// What it shows.
    pub html: fn(&Question) -> Node,
}

/// All of them.
pub static PANELS: &[NamedPanel] = &[
    entry("about", about_figure),
    entry("memory-bars", |asked| {
        let bars = memory::picture(asked.evaluation, asked.unit);
        saved(bars, "memory", "memory", asked)
    }),
    entry("memory-bands", |asked| {
        memory::measured(&asked.evaluation.report.memory, asked.unit)
    }),
    entry("memory-table", |asked| {
        memory::data_table(&asked.evaluation.report.memory, asked.unit)
    }),
    entry("methods", |asked| {
        memory::methods(&methods::rows(asked.evaluation), asked.unit)
    }),
    entry("over-time", over_the_step),
    entry("narrow", |asked| {
        memory::narrow(asked.evaluation, asked.unit)
    }),
    entry("mesh", |asked| mesh(&asked.evaluation.scenario)),
    entry("sequences", |asked| sequences(&asked.evaluation.scenario)),
    entry("grids", |asked| grids(&asked.evaluation.scenario)),
    entry("overlap", |asked| {
        let evaluation = asked.evaluation;
        let rows = rows(evaluation, asked.unit);
        saved(rows, "overlap", "overlap", asked)
    }),
    entry("picture", |asked| {
        let mut parts = asked.of.split(':');
        let name = parts.next().filter(|name| !name.is_empty());
        let theme = theme(parts.next());
        let width = parts.next().and_then(parse_number).unwrap_or(800.0);
        let width = width.clamp(320.0, 4000.0);
        let name = name.unwrap_or("memory");
        picture_file(name, asked.evaluation, theme, width, asked.unit)
            .map_or_else(Node::none, |svg| raw(&svg))
    }),
    entry("uneven", |asked| {
        balance(asked.evaluation).map_or_else(Node::none, |balance| {
            uneven(&balance, &asked.evaluation.scenario.run.gpu.title())
        })
    }),
    entry("splits", |asked| splits(asked.evaluation, asked.unit)),
    entry("idea", |asked| {
        pipeline::idea(asked.evaluation.report.pipeline.schedule)
            .map_or_else(Node::none, about_schedule)
    }),
    entry("ranks", |asked| ranks(asked.evaluation)),
    entry("gradients", |asked| {
        let mut policies = CHOICES.into_iter().map(|(policy, _)| policy);
        let chosen = policies.find(|one| Choice::Policy(*one).id() == asked.of);
        sync(asked.evaluation, chosen.unwrap_or_default())
    }),
    entry("unequal", |asked| {
        let mut spreads = SPREADS.into_iter().map(|(spread, _)| spread);
        let chosen = spreads.find(|one| Choice::Spread(*one).id() == asked.of);
        unequal(asked.evaluation, chosen.unwrap_or(SPREADS[0].0))
    }),
    entry("csv", |asked| raw(&ops_csv(&asked.evaluation.timeline))),
    entry("trace", |asked| raw(&chrome_trace(asked.evaluation))),
    entry("svg", timeline_svg),
    entry("ring", |asked| ring(&asked.evaluation.scenario, asked.unit)),
    entry("step", |asked| {
        saved(step(asked.evaluation), "step", "step", asked)
    }),
    entry("changed", |asked| {
        what_changed(&asked.evaluation.scenario.run)
    }),
];

/// The theme that a question names; the light one where it names none.
fn theme(id: Option<&str>) -> Theme {
    id.and_then(Theme::named).unwrap_or_default()
}

/// A picture with the buttons that save it below, as `io::export` draws it for its own Run.
fn saved(picture: Node, name: &'static str, drawn: &'static str, asked: &Question) -> Node {
    let buttons = save_drawn(name, drawn, asked.unit, &asked.evaluation.scenario.run);
    Node::from_iter([picture, el("p", &[("class", "saves")], &[buttons])])
}

const fn entry(name: &'static str, html: fn(&Question) -> Node) -> NamedPanel {
    NamedPanel { name, html }
}

/// The timeline as an SVG file, `of` = "start:end:width:rank:theme".
fn timeline_svg(asked: &Question) -> Node {
    let mut parts = asked.of.split(':');
    let mut number = || parts.next().and_then(parse_number);
    let evaluation = asked.evaluation;
    let all = Viewport::all(evaluation.timeline.makespan());
    let (start, end) = (number().unwrap_or(all.start), number().unwrap_or(all.end));
    let width = number().unwrap_or(1200.0).clamp(320.0, 8000.0);
    let rank = number()
        .and_then(whole)
        .and_then(|rank| usize::try_from(rank).ok());
    let theme = theme(parts.next());
    raw(&svg(&Picture {
        evaluation,
        sums: &Sums::of(&evaluation.timeline),
        view: Viewport {
            start,
            end: end.max(start + all.full * 1e-9),
            ..all
        },
        width,
        rank: rank
            .unwrap_or(0)
            .min(evaluation.timeline.ranks.len().saturating_sub(1)),
        theme,
    }))
}

/// Memory of one stage over the step, `of` = "stage:theme:width": the picture, its fullest instant in words, a table.
fn over_the_step(question: &Question) -> Node {
    let mut parts = question.of.split(':');
    let evaluation = question.evaluation;
    let report = &evaluation.report.memory;
    let stage = parts.next().and_then(|stage| stage.parse().ok());
    let known = stage.filter(|stage| *stage < report.per_stage.len());
    let theme = theme(parts.next());
    let width: usize = parts
        .next()
        .and_then(|width| width.parse().ok())
        .unwrap_or(600);
    let Some(curve) = over_time(evaluation, known.unwrap_or(report.peak_stage)) else {
        return leaf("p", "muted", "Nothing is simulated for this run.");
    };
    let other = if report.method == Method::Detailed.id() {
        Node::none()
    } else {
        leaf(
            "p",
            "muted",
            "By the detailed method: the published ones know no time.",
        )
    };
    [
        el(
            "p",
            &[("class", "legend")],
            &[legend(evaluation.scenario.gpu.usable, question.unit)],
        ),
        picture(evaluation, &curve, theme, width, question.unit),
        el("p", &[("class", "saves")], &[save("memory-over-time")]),
        leaf("p", "peak-words", peak_words(&curve, question.unit)),
        other,
        fold("Show as a table", curve_table(&curve, question.unit)),
    ]
    .into_iter()
    .collect()
}

/// The areas as SVG, at the width of the panel.
fn picture(
    evaluation: &Evaluation,
    curve: &OverTime,
    theme: Theme,
    width: usize,
    unit: MemoryUnit,
) -> Node {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // constants, in pixels
    let (gutter, height) = (GUTTER as usize, (AREA + AXIS) as u32);
    let columns = width.clamp(gutter + 100, 2000) - gutter;
    let areas = areas(curve, evaluation.scenario.gpu.usable, columns);
    let picture = AreaPicture {
        areas: &areas,
        makespan: curve.makespan,
        unit,
        palette: theme.palette(),
        scale: 1.0,
    };
    let mut svg = String::new();
    let size = (u32::try_from(columns + gutter).unwrap_or(600), height);
    let mut backend = SVGBackend::with_string(&mut svg, size);
    let painted = picture.paint(&mut backend).and_then(|()| backend.present());
    drop(backend);
    // A picture that cannot be painted is left out; words and table say the same.
    if painted.is_ok() {
        raw(&svg)
    } else {
        Node::none()
    }
}

/// The panel called `name`; nothing where there is none.
#[must_use]
pub fn named(name: &str, question: &Question) -> Node {
    PANELS
        .iter()
        .find(|panel| panel.name == name)
        .map_or_else(Node::none, |panel| (panel.html)(question))
}

/// Where a figure comes from; the fullest GPU where none is named.
fn about_figure(question: &Question) -> Node {
    let evaluation = question.evaluation;
    let peak = Figure::Memory(evaluation.report.memory.peak_stage);
    Figure::from_id(question.of)
        .and_then(|figure| explain(evaluation, figure))
        .or_else(|| explain(evaluation, peak))
        .map_or_else(
            || leaf("p", "muted", "Choose a figure to see where it comes from."),
            |term| about(&term, question.unit),
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::report::evaluate;
    use crate::core::run::Run;

    #[test]
    fn every_panel_says_something_of_the_default_run() {
        let evaluation = evaluate(&Run::default()).unwrap();
        for panel in PANELS {
            let question = Question {
                evaluation: &evaluation,
                of: "",
                unit: MemoryUnit::Gib,
            };
            assert_ne!((panel.html)(&question), Node::none(), "{}", panel.name);
        }
    }
}
