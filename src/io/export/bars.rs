//! Pictures of a Run by name: the page's bars of HTML (memory by stage, the overlap rows, the step), its timeline, its
//! card.

use super::card::card;
use super::picture::{Picture, svg};
use shardscope_core::memory::Component;
use shardscope_core::message::{Catalogue, verbatim};
use shardscope_core::report::Evaluation;
use shardscope_core::t;
use shardscope_core::time::PartKind;
use shardscope_core::units::{MemoryUnit, show_percent, show_seconds, significant};
use shardscope_view::charts::drawing::{Anchor, Box, Drawing};
use shardscope_view::charts::ink::Ink;
use shardscope_view::charts::lod::Sums;
use shardscope_view::charts::viewport::Viewport;
use shardscope_view::palette::Theme;
use shardscope_view::panels::memory::bars;
use shardscope_view::panels::waterfall::parts;
use shardscope_view::views::Drawn;
use shardscope_view::words::name;

/// Height of a bar, pixels.
const BAR: f64 = 22.0;
/// Distance between the tops of two bars, pixels.
const PITCH: f64 = 30.0;
/// The share of the width that memory's bars have; their totals are right of it.
const PLOT: f64 = 0.93;
/// Paper between two parts of a bar, and the least that a part is drawn as, of the width.
const APART: f64 = 0.0012;

/// A picture as an SVG file `width` pixels wide, in the language of `catalogue`.
pub fn picture(
    drawn: Drawn,
    evaluation: &Evaluation,
    theme: Theme,
    width: f64,
    unit: MemoryUnit,
    catalogue: &Catalogue,
) -> String {
    let (drawing, what) = match drawn {
        Drawn::Card => return card(evaluation, theme, unit, catalogue),
        Drawn::Timeline => {
            let (sums, view) = (Sums::of(evaluation.timeline()), Viewport::all(evaluation.spans.makespan()));
            let rank = evaluation.report.memory.peak_stage;
            let whole = Picture { evaluation, sums: &sums, view, width, rank, theme, catalogue };
            return svg(&whole);
        }
        Drawn::Memory => (memory(evaluation, unit), t!("memory per GPU by pipeline rank")),
        Drawn::Overlap => (overlap(evaluation), t!("communication against the compute beside it")),
        Drawn::Step => (step(evaluation), t!("where a step's time goes")),
    };
    let title = t!("{run}: {what}", run = name(&evaluation.scenario.run), what);
    drawing.file(width, theme, title, catalogue)
}

/// A swatch with its name each, in a row at `y`.
fn legend(drawing: &mut Drawing, y: f64, entries: &[(Ink, &'static str)]) {
    let each = 1.0 / entries.len().max(1) as f64;
    for (at, (ink, name)) in entries.iter().enumerate() {
        let x = at as f64 * each;
        let swatch = Box { x, width: 0.012, y, height: 10.0 };
        drawing.fill(swatch, *ink, 1.0, "");
        drawing.words((x + 0.018, y + 5.0), Anchor::Start, Ink::Muted, *name);
    }
}

fn memory(evaluation: &Evaluation, unit: MemoryUnit) -> Drawing {
    let memory = &evaluation.report.memory;
    let visible = bars(memory);
    let foot = PITCH * visible.bars.len() as f64;
    let mut drawing = Drawing::new(foot + 48.0);
    let place = |component: Component| {
        let mut components = Component::ALL.into_iter();
        Ink::Memory(components.position(|other| other == component).unwrap_or(0))
    };
    for (row, bar) in visible.bars.iter().enumerate() {
        let y = PITCH * row as f64;
        drawing.name(y + BAR / 2.0, bar.name());
        for part in &bar.segments {
            // Parts that the page sets apart with a line, and parts that it does not.
            let gap = if part.is_sliver() { 0.0 } else { APART };
            let at = Box { x: part.start * PLOT, width: (part.length * PLOT - gap).max(APART), y, height: BAR };
            let title = t!("{part}: {bytes}", part = part.component.name(), bytes = unit.show(part.bytes));
            drawing.fill(at, place(part.component), 1.0, title);
        }
        let total = unit.number(bar.total);
        drawing.words((1.0, y + BAR / 2.0), Anchor::End, Ink::Text, verbatim(&total));
    }
    let capacity = visible.capacity * PLOT;
    let top = (capacity, 0.0);
    drawing.line(top, (capacity, foot), Ink::Paper, 4.0);
    drawing.line(top, (capacity, foot), Ink::Text, 2.0);
    let label = t!("{capacity} usable", capacity = unit.show(memory.capacity_bytes));
    drawing.words((capacity, foot + 8.0), Anchor::End, Ink::Text, label);
    let entries: Vec<_> = visible.used().map(|component| (place(component), component.name())).collect();
    legend(&mut drawing, foot + 26.0, &entries);
    drawing
}

fn overlap(evaluation: &Evaluation) -> Drawing {
    let rows = &evaluation.report.overlap;
    let most = rows.iter().filter_map(|row| row.ratio).fold(1.0, f64::max) * 1.25;
    let foot = PITCH * rows.len() as f64;
    let mut drawing = Drawing::new(foot + 36.0);
    for (at, row) in rows.iter().enumerate() {
        let y = PITCH * at as f64;
        drawing.name(y + BAR / 2.0, verbatim(row.traffic.id().to_uppercase()));
        let part = |from: f64, to: f64| Box { x: from / most, width: (to - from) / most, y, height: BAR };
        let ratio = row.ratio.unwrap_or(0.0);
        drawing.fill(part(0.0, ratio.min(1.0)), Ink::Exposed, 0.45, "");
        if ratio > 1.0 {
            drawing.fill(part(1.0, ratio), Ink::Exposed, 1.0, "");
        }
        let title = t!(
            "{ratio}: {wire} on the wire, {compute} of compute, {uncovered} uncovered, {slows} slows compute",
            ratio = row.ratio.map_or_else(|| "–".to_owned(), |ratio| significant(ratio, 3)),
            wire = show_seconds(row.comm_s),
            compute = show_seconds(row.compute_s),
            uncovered = show_seconds(row.not_hidden_s),
            slows = show_seconds(row.slows_compute_s)
        );
        let beside = (ratio / most + 0.01, y + BAR / 2.0);
        if beside.0 < 0.5 {
            drawing.words(beside, Anchor::Start, Ink::Text, title);
        } else {
            drawing.words((0.01, beside.1), Anchor::Start, Ink::Text, title);
        }
    }
    drawing.line((1.0 / most, 0.0), (1.0 / most, foot), Ink::Text, 2.0);
    let rule = "1: as long as the compute beside it";
    drawing.words((1.0 / most, foot + 9.0), Anchor::End, Ink::Muted, rule);
    // The step counts the average rank.
    drawing.words((0.0, foot + 25.0), Anchor::Start, Ink::Muted, "of the busiest rank; uncovered: beside no compute");
    drawing
}

fn step(evaluation: &Evaluation) -> Drawing {
    let step = &evaluation.report.step;
    let ink = |part: PartKind| match part {
        PartKind::Bubble => None,
        PartKind::ExposedTp | PartKind::ExposedCp | PartKind::ExposedEp | PartKind::ExposedDp => Some(Ink::Exposed),
        PartKind::Optimizer => Some(Ink::Optimizer),
        PartKind::Launches | PartKind::Loader => Some(Ink::Muted),
        PartKind::Ideal | PartKind::Kernels | PartKind::Recompute => Some(Ink::Forward),
    };
    let visible: Vec<_> =
        parts(step).filter(|(_, time)| time.0 > 0.0).map(|(row, time)| (row.0, ink(row.3[0]), time)).collect();
    let mut drawing = Drawing::new(PITCH * visible.len() as f64);
    let mut x = 0.0;
    for (row, (name, ink, time)) in visible.iter().enumerate() {
        let width = *time / step.time_s;
        let at = Box { x, width, y: PITCH * row as f64, height: BAR };
        if let Some(ink) = ink {
            drawing.fill(at, *ink, 1.0, "");
        } else {
            drawing.hatch(at);
            drawing.frame(at, Ink::Line);
        }
        let title =
            t!("{name} {time} ({share})", name = *name, time = show_seconds(*time), share = show_percent(width));
        let middle = at.y + BAR / 2.0;
        if x + width < 0.6 {
            drawing.words((x + width + 0.01, middle), Anchor::Start, Ink::Text, title);
        } else if x > 0.3 {
            drawing.words((x - 0.01, middle), Anchor::End, Ink::Text, title);
        } else {
            drawing.words((0.01, middle), Anchor::Start, Ink::Paper, title);
        }
        x += width;
    }
    drawing
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardscope_core::report::evaluate;
    use shardscope_core::run::Run;

    #[test]
    fn every_bar_picture_is_a_file_of_its_own() {
        let evaluation = evaluate(&Run::default()).unwrap();
        for (drawn, said) in
            [(Drawn::Memory, "rank 3"), (Drawn::Overlap, "on the wire"), (Drawn::Step, "Kernels below peak")]
        {
            for theme in [Theme::Light, Theme::Dark] {
                let svg = picture(drawn, &evaluation, theme, 800.0, MemoryUnit::Gib, &Catalogue::default());
                assert!(svg.starts_with("<svg xmlns=") && svg.contains(said), "{drawn:?}");
                assert!(!svg.contains("NaN") && !svg.contains("var("), "{drawn:?}");
            }
        }
    }
}
