//! Views of the page, one of which is shown, panels that other pages show alone, and pictures that become files.

use super::steps::StepId;
use shardscope_core::run::{Choice, OneOf, one_of};
use std::fmt::{self, Display, Formatter};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// The Run: inputs, figures and panels.
    #[default]
    Run,
    /// Where the rest of a measured step or of the memory is; true: what measured runs teach.
    Diagnose(bool),
    /// From the first step to the last token.
    Whole,
    /// Every schedule for the Run.
    Schedules,
    /// Nodes, GPUs, groups and links.
    Cluster,
    /// A step of a lesson.
    Learn(StepId),
    /// Errors of each calculator on published runs.
    Scoreboard,
}

one_of! {
    /// A tab of panels below the first screen of a Run.
    PanelsTab {
        /// Memory.
        Memory = "memory" "Memory",
        /// Overlap.
        Overlap = "overlap" "Overlap",
        /// Layouts.
        Layouts = "layouts" "Layouts",
        /// The pipeline.
        Pipeline = "pipeline" "Pipeline",
        /// Costs and scaling.
        Costs = "costs" "Costs and scaling",
        /// Accuracy.
        Accuracy = "accuracy" "Accuracy",
    }
}

/// The tab of a Run whose schedule was chosen, and whether the schedule led to it: one that runs passes in pairs is
/// chosen for what hides in a pair, which Overlap draws. A tab that a person opened stays, and one that a schedule led
/// to goes with it. `tab` is the open one where it is not the first, `led` whether a schedule led to it.
pub fn led_by_schedule(tab: Option<PanelsTab>, led: bool, pairs: bool) -> (Option<PanelsTab>, bool) {
    let led = led && tab == Some(PanelsTab::Overlap);
    match (tab, pairs) {
        (None, true) => (Some(PanelsTab::Overlap), true),
        (Some(_), false) if led => (None, false),
        _ => (tab, led),
    }
}

const fn row(view: View, id: &'static str, label: &'static str) -> (View, Choice) {
    (view, Choice { id, label })
}

impl OneOf for View {
    // Views that the header offers, in its order.
    const ALL: &'static [(Self, Choice)] = &[
        row(Self::Run, "run", "Run"),
        row(Self::Diagnose(false), "diagnose", "Diagnose"),
        row(Self::Whole, "whole", "Whole run"),
        row(Self::Schedules, "schedules", "Schedules"),
        row(Self::Cluster, "cluster", "Cluster"),
        row(Self::Learn(StepId::first()), "learn", "Learn"),
        row(Self::Scoreboard, "scoreboard", "Scoreboard"),
    ];

    // Every step of a lesson is of one view.
    fn choice(self) -> Choice {
        let row = Self::ALL.iter().find(|(view, _)| view.is_like(self));
        row.map_or(Choice { id: "", label: "" }, |(_, choice)| *choice)
    }
}

impl View {
    /// Views that the header offers, in its order.
    pub fn offered() -> impl Iterator<Item = Self> {
        Self::ALL.iter().map(|(view, _)| *view)
    }

    /// True for the views that a phone's bar has room for.
    pub const fn is_frequent(self) -> bool {
        !matches!(self, Self::Cluster | Self::Learn(_) | Self::Scoreboard)
    }

    /// True for two steps of lessons, and for a view and itself.
    pub fn is_like(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

impl Display for View {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Learn(step) => write!(f, "learn {step}"),
            view => f.write_str(view.id()),
        }
    }
}

one_of! {
    /// A panel that another page shows alone.
    Embed {
        /// Memory.
        Memory = "memory" "memory",
        /// The pipeline timeline.
        Timeline = "timeline" "pipeline timeline",
        /// Overlap.
        Overlap = "overlap" "overlap",
        /// The key figures.
        Strip = "strip" "key figures",
        /// The whole run.
        Whole = "whole" "whole run",
        /// The parts of the step.
        Waterfall = "waterfall" "waterfall",
        /// The gallery of schedules.
        Schedules = "schedules" "schedules",
        /// The map of the cluster.
        Cluster = "cluster" "cluster",
        /// A step of a lesson.
        Lesson = "lesson" "lesson",
        /// The table and scatter of the scoreboard.
        Scoreboard = "scoreboard" "scoreboard",
        /// Parts and causes of a diagnosis that the link holds.
        Diagnose = "diagnose" "diagnosis",
        /// The step of reinforcement learning.
        Rl = "rl" "reinforcement learning",
        /// The Run beside the second one that the link holds.
        Compare = "compare" "comparison",
        /// Figures and panels of the Run.
        All = "all" "everything",
    }
}

one_of! {
    /// A picture that is drawn from an evaluation; its id names its file.
    Drawn {
        /// The run in figures, for previews.
        Card = "card" "card",
        /// The pipeline timeline.
        Timeline = "timeline" "timeline",
        /// Memory by pipeline rank.
        Memory = "memory" "memory",
        /// Parts of a step.
        Step = "step" "step",
        /// Communication against the compute beside it.
        Overlap = "overlap" "overlap",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_has_a_row_under_its_id() {
        for view in View::offered() {
            assert_eq!(View::from_id(view.id()), Some(view), "a view needs a row");
        }
    }

    /// DualPipe (DeepSeek-V3, 3.2.1) runs a forward with a backward pass so that the messages of each hide behind the
    /// other: choosing it shows them. 1F1B pairs none.
    #[test]
    fn a_schedule_of_pairs_leads_to_overlap_and_a_tab_that_a_person_opened_stays() {
        let overlap = Some(PanelsTab::Overlap);
        assert_eq!(led_by_schedule(None, false, true), (overlap, true));
        assert_eq!(led_by_schedule(overlap, true, true), (overlap, true));
        assert_eq!(led_by_schedule(overlap, true, false), (None, false));
        assert_eq!(led_by_schedule(None, false, false), (None, false));
        for tab in [overlap, Some(PanelsTab::Costs)] {
            assert_eq!(led_by_schedule(tab, false, true), (tab, false));
            assert_eq!(led_by_schedule(tab, false, false), (tab, false));
        }
        // Another tab was opened after the schedule led to this one.
        assert_eq!(led_by_schedule(Some(PanelsTab::Costs), true, false), (Some(PanelsTab::Costs), false));
    }
}
