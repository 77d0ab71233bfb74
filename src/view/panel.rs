//! The panels that need nothing but an evaluation.

use crate::charts::figure::save;
use crate::paint::memory::{AREA, AXIS, AreaPicture, GUTTER};
use crate::palette::Theme;
use crate::panels::about::about;
use crate::panels::away::away;
use crate::panels::cuts::{grids, ring, sequences};
use crate::panels::experts::experts;
use crate::panels::lengths::lengths;
use crate::panels::memory;
use crate::panels::over_time::{areas, curve_table, legend, peak_words};
use crate::panels::overlap::rows;
use crate::panels::pipeline::ranks;
use crate::panels::rl::rl;
use crate::panels::schedules::about as about_schedule;
use crate::panels::step::step;
use crate::panels::sync::sync;
use crate::panels::uneven::{picture as splits, uneven};
use crate::panels::whole;
use crate::prelude::*;
use plotters::prelude::SVGBackend;
use plotters_backend::DrawingBackend;
use shardscope_core::advice::balance;
use shardscope_core::pipeline::sync::ReducePolicy;
use shardscope_core::report::over_time::{OverTime, over_time};
use shardscope_core::report::{explain, methods};
use shardscope_core::run::Method;
use shardscope_core::traffic::Traffic;
use shardscope_core::whole_run::WholeRunFigure;

/// Tabs of the page that show one of several panels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tab {
    /// Traffic, and ways to cut tensors and sequences.
    Overlap,
    /// The pipeline; its timeline comes first.
    Pipeline,
}

/// A panel, with the selection that it shows. A new one is a variant here, a row of [`Panel::ALL`] and an arm of
/// [`Panel::view`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Panel {
    /// Derivation of a figure; of the fullest GPU's memory where none is chosen.
    About(Option<Figure>),
    /// Derivation of a figure of the whole run.
    AboutWhole(WholeRunFigure),
    /// A bar a pipeline rank, the selected one marked.
    MemoryBars(Option<usize>),
    /// The verdict against measured runs.
    MemoryBands,
    /// Phases, offloading and the staircase of a fine-tuning run.
    Tuning,
    /// The step of reinforcement learning.
    Rl,
    /// The bars as a table.
    MemoryTable,
    /// Memory by every method.
    Methods,
    /// Memory of one rank over the step.
    OverTime {
        /// The rank; the fullest where none is chosen.
        rank: Option<usize>,
        /// Light or dark.
        theme: Theme,
        /// Width of the picture, pixels.
        width: usize,
    },
    /// Measurements that narrow down a run that should have fitted.
    Narrow,
    /// Communication against compute, and a micro-batch with the messages of a kind.
    Overlap(Option<Traffic>),
    /// A sequence cut over ranks.
    Sequences,
    /// Ring attention step by step.
    Ring,
    /// Tensor parallelism in one, two and three dimensions.
    Grids,
    /// Load of the busiest expert rank.
    Experts,
    /// Certainty of the step, and utilisation by other counts.
    Step,
    /// Stages that take unequal time.
    Uneven,
    /// Even and uneven splits of the layers.
    Splits,
    /// The timeline as a table.
    Ranks,
    /// Moments at which gradients leave.
    Gradients(ReducePolicy),
    /// Samples of unequal length on data-parallel replicas.
    Lengths,
    /// What room and a way to the host can save.
    Away,
    /// Principle of the schedule.
    Idea,
}

impl Panel {
    /// One of each.
    pub const ALL: &[Self] = &[
        Self::About(None),
        Self::AboutWhole(WholeRunFigure::Days),
        Self::MemoryBars(None),
        Self::MemoryBands,
        Self::Tuning,
        Self::Rl,
        Self::MemoryTable,
        Self::Methods,
        Self::OverTime { rank: None, theme: Theme::Light, width: 600 },
        Self::Narrow,
        Self::Overlap(None),
        Self::Sequences,
        Self::Ring,
        Self::Grids,
        Self::Experts,
        Self::Step,
        Self::Uneven,
        Self::Splits,
        Self::Ranks,
        Self::Gradients(ReducePolicy::StepEnd),
        Self::Lengths,
        Self::Away,
        Self::Idea,
    ];

    /// Panels that a tab offers, each with its name there. The page places the others.
    const OFFERED: &[(Tab, &str, Self)] = &[
        (Tab::Overlap, "by traffic", Self::Overlap(None)),
        (Tab::Overlap, "a sequence cut", Self::Sequences),
        (Tab::Overlap, "ring attention", Self::Ring),
        (Tab::Overlap, "tensors in 1D to 3D", Self::Grids),
        (Tab::Overlap, "experts' load", Self::Experts),
        (Tab::Pipeline, "even and uneven layers", Self::Splits),
        (Tab::Pipeline, "gradients", Self::Gradients(ReducePolicy::StepEnd)),
        (Tab::Pipeline, "unequal samples", Self::Lengths),
        (Tab::Pipeline, "activations to the host", Self::Away),
        (Tab::Pipeline, "the schedule", Self::Idea),
    ];

    /// The panel of an evaluation, with memory in `unit`.
    pub fn view(self, evaluation: &Evaluation, unit: MemoryUnit) -> Node {
        let (scenario, report) = (&evaluation.scenario, &evaluation.report);
        match self {
            Self::About(figure) => about_figure(evaluation, figure, unit),
            Self::AboutWhole(figure) => whole::derivation(evaluation, figure, unit),
            Self::MemoryBars(_) | Self::MemoryBands | Self::Tuning => self.first_view(evaluation, unit),
            Self::Rl => rl(evaluation, unit),
            Self::MemoryTable => memory::data_table(&report.memory, unit),
            Self::Methods => memory::methods(&evaluation.scenario.run, &methods::rows(evaluation), unit),
            Self::OverTime { rank, theme, width } => over_the_step(evaluation, rank, theme, width, unit),
            Self::Narrow => memory::narrow(evaluation, unit),
            Self::Overlap(kind) => rows(evaluation, kind, unit),
            Self::Sequences => sequences(scenario),
            Self::Ring => ring(scenario, unit),
            Self::Grids => grids(scenario),
            Self::Experts => experts(evaluation),
            Self::Step => step(evaluation),
            Self::Uneven => {
                let gpu = scenario.run.gpu.title();
                balance(evaluation).map_or_else(Node::none, |balance| uneven(&balance, &gpu))
            }
            Self::Splits => splits(evaluation, unit),
            Self::Ranks => ranks(evaluation, "Timeline table"),
            Self::Gradients(policy) => sync(evaluation, policy),
            Self::Lengths => lengths(evaluation),
            Self::Away => away(evaluation),
            Self::Idea => about_schedule(report.pipeline.schedule.row()),
        }
    }

    /// The view of a panel of the first screen, which the page has without the code of all others; nothing of another.
    pub fn first_view(self, evaluation: &Evaluation, unit: MemoryUnit) -> Node {
        match self {
            Self::MemoryBars(selected) => memory::picture(evaluation, selected, unit),
            Self::MemoryBands => memory::measured(evaluation, unit),
            Self::Tuning => memory::tuning(evaluation, unit),
            _ => Node::none(),
        }
    }

    /// Panels of a tab in their order, with their names.
    pub fn offered(tab: Tab) -> impl Iterator<Item = (&'static str, Self)> {
        let rows = Self::OFFERED.iter().filter(move |(place, ..)| *place == tab);
        rows.map(|(_, name, panel)| (*name, *panel))
    }

    /// True if it shows the timeline of the evaluation, op by op.
    pub fn draws_ops(self) -> bool {
        matches!(self, Self::OverTime { .. } | Self::Gradients(_))
    }
}

/// Memory of one rank over the step: the picture, its fullest instant in words, a table.
fn over_the_step(evaluation: &Evaluation, rank: Option<usize>, theme: Theme, width: usize, unit: MemoryUnit) -> Node {
    let report = &evaluation.report.memory;
    let rank = rank.filter(|rank| *rank < report.per_stage.len());
    let Some(curve) = over_time(evaluation, rank.unwrap_or(report.peak_stage)) else {
        return muted("Nothing is simulated for this run.");
    };
    let other = if report.method == Method::Detailed.id() {
        Node::none()
    } else {
        muted("By the detailed method: the published ones know no time.")
    };
    Node::from_iter([
        el("p", &[("class", "legend")], &[legend(evaluation.scenario.gpu.usable, unit)]),
        picture(evaluation, &curve, theme, width, unit),
        el("div", &[("class", "saves")], &[save("memory-over-time")]),
        leaf("p", "peak-words", peak_words(&curve, unit)),
        other,
        fold("Show as a table", curve_table(&curve, unit)),
    ])
}

/// The areas as SVG, at the width of the panel.
fn picture(evaluation: &Evaluation, curve: &OverTime, theme: Theme, width: usize, unit: MemoryUnit) -> Node {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // constants, in pixels
    let (gutter, height) = (GUTTER as usize, (AREA + AXIS) as u32);
    let columns = width.clamp(gutter + 100, 2000) - gutter;
    let areas = areas(curve, evaluation.scenario.gpu.usable, columns);
    let picture = AreaPicture { areas: &areas, makespan: curve.makespan, unit, palette: theme.palette(), scale: 1.0 };
    let mut svg = String::new();
    let size = (u32::try_from(columns + gutter).unwrap_or(600), height);
    let mut backend = SVGBackend::with_string(&mut svg, size);
    let painted = picture.paint(&mut backend).and_then(|()| backend.present());
    drop(backend);
    // A picture that cannot be painted is left out; words and table say the same.
    if painted.is_ok() { raw(&svg) } else { Node::none() }
}

/// Derivation of a figure; of the fullest GPU where none is chosen.
fn about_figure(evaluation: &Evaluation, figure: Option<Figure>, unit: MemoryUnit) -> Node {
    let peak = Figure::Memory(evaluation.report.memory.peak_stage);
    figure
        .and_then(|figure| explain(evaluation, figure))
        .or_else(|| explain(evaluation, peak))
        .map_or_else(|| muted("Choose a figure to see where it comes from."), |term| about(&term, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_panel_but_those_of_tuning_and_reinforcement_learning_shows_something_of_the_default_run() {
        let evaluation = evaluate(&Run::default()).unwrap();
        for panel in Panel::ALL {
            let view = panel.view(&evaluation, MemoryUnit::Gib);
            let is_empty = view == Node::none();
            assert_eq!(is_empty, matches!(panel, Panel::Tuning | Panel::Rl), "{panel:?}");
        }
    }
}
