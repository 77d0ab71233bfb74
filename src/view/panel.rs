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
use shardscope_core::whole_run;

/// Tabs of the page that show one of several panels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tab {
    /// Traffic, and ways to cut tensors and sequences.
    Overlap,
    /// The pipeline; its timeline comes first.
    Pipeline,
}

/// Declares the panels, each with the selection that it shows, the tab and the name under which it is offered (a panel
/// without them is placed by the page), an example for tests, and its view of an evaluation in a unit of memory.
macro_rules! panels {
    (($evaluation:ident, $unit:ident)
     $($(#[$doc:meta])+ $name:ident $(($held:ident: $of:ty))? $({ $($(#[$about:meta])+ $field:ident: $type:ty,)+ })?
       $([$tab:ident $label:literal])? = $example:expr => $view:expr;)+) => {
        /// A panel, with the selection that it shows.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Panel {
            $($(#[$doc])+ $name $(($of))? $({ $($(#[$about])+ $field: $type,)+ })?,)+
        }

        impl Panel {
            /// One of each.
            pub const ALL: &[Self] = &[$($example),+];

            /// Panels that a tab offers, each with its name there.
            const OFFERED: &[(Tab, &str, Self)] = &[$($((Tab::$tab, $label, $example),)?)+];

            /// The panel of an evaluation.
            pub fn view(self, $evaluation: &Evaluation, $unit: MemoryUnit) -> Node {
                match self {
                    $(Self::$name $(($held))? $({ $($field),+ })? => $view,)+
                }
            }
        }
    };
}

panels! { (evaluation, unit)
    /// Derivation of a figure; of the fullest GPU's memory where none is chosen.
    About(figure: Option<Figure>) = Self::About(None) => about_figure(evaluation, figure, unit);
    /// Derivation of a figure of the whole run.
    AboutWhole(figure: whole_run::WholeRunFigure) = Self::AboutWhole(whole_run::WholeRunFigure::Days)
        => whole::derivation(evaluation, figure, unit);
    /// A bar a pipeline rank, the selected one marked.
    MemoryBars(selected: Option<usize>) = Self::MemoryBars(None) => memory::picture(evaluation, selected, unit);
    /// The verdict against measured runs.
    MemoryBands = Self::MemoryBands => memory::measured(&evaluation.report.memory, unit);
    /// Phases, offloading and the staircase of a fine-tuning run.
    Tuning = Self::Tuning => memory::tuning(evaluation, unit);
    /// The step of reinforcement learning.
    Rl = Self::Rl => rl(evaluation, unit);
    /// The bars as a table.
    MemoryTable = Self::MemoryTable => memory::data_table(&evaluation.report.memory, unit);
    /// Memory by every method.
    Methods = Self::Methods => memory::methods(&methods::rows(evaluation), unit);
    /// Memory of one rank over the step.
    OverTime {
        /// The rank; the fullest where none is chosen.
        rank: Option<usize>,
        /// Light or dark.
        theme: Theme,
        /// Width of the picture, pixels.
        width: usize,
    } = Self::OverTime { rank: None, theme: Theme::Light, width: 600 }
        => over_the_step(evaluation, rank, theme, width, unit);
    /// Measurements that narrow down a run that should have fitted.
    Narrow = Self::Narrow => memory::narrow(evaluation, unit);
    /// Communication against compute, and a micro-batch with the messages of a kind.
    Overlap(kind: Option<Traffic>) [Overlap "by traffic"] = Self::Overlap(None) => rows(evaluation, kind, unit);
    /// A sequence cut over ranks.
    Sequences [Overlap "a sequence cut"] = Self::Sequences => sequences(&evaluation.scenario);
    /// Ring attention step by step.
    Ring [Overlap "ring attention"] = Self::Ring => ring(&evaluation.scenario, unit);
    /// Tensor parallelism in one, two and three dimensions.
    Grids [Overlap "tensors in 1D to 3D"] = Self::Grids => grids(&evaluation.scenario);
    /// Load of the busiest expert rank.
    Experts [Overlap "experts' load"] = Self::Experts => experts(evaluation);
    /// Certainty of the step, and utilisation by other counts.
    Step = Self::Step => step(evaluation);
    /// Stages that take unequal time.
    Uneven = Self::Uneven => {
        let gpu = evaluation.scenario.run.gpu.title();
        balance(evaluation).map_or_else(Node::none, |balance| uneven(&balance, &gpu))
    };
    /// Even and uneven splits of the layers.
    Splits [Pipeline "even and uneven layers"] = Self::Splits => splits(evaluation, unit);
    /// The timeline as a table.
    Ranks = Self::Ranks => ranks(evaluation, "Timeline table");
    /// Moments at which gradients leave.
    Gradients(policy: ReducePolicy) [Pipeline "gradients"]
        = Self::Gradients(ReducePolicy::StepEnd) => sync(evaluation, policy);
    /// Samples of unequal length on data-parallel replicas.
    Lengths [Pipeline "unequal samples"] = Self::Lengths => lengths(evaluation);
    /// What room and a way to the host can save.
    Away [Pipeline "activations to the host"] = Self::Away => away(evaluation);
    /// Principle of the schedule.
    Idea [Pipeline "the schedule"] = Self::Idea => about_schedule(evaluation.report.pipeline.schedule.row());
}

impl Panel {
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
