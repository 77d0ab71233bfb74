//! Views of the page, one of which is shown, and panels that other pages show alone.

use super::steps::StepId;
use std::fmt::{self, Display, Formatter};

/// A view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// The Run: inputs, figures and panels.
    #[default]
    Run,
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

/// Views that the header offers, in its order: id in links, and name.
const VIEWS: [(View, &str, &str); 6] = [
    (View::Run, "run", "Run"),
    (View::Whole, "whole", "Whole run"),
    (View::Schedules, "schedules", "Schedules"),
    (View::Cluster, "cluster", "Cluster"),
    (View::Learn(StepId::first()), "learn", "Learn"),
    (View::Scoreboard, "scoreboard", "Scoreboard"),
];

impl View {
    /// Views that the header offers, in its order.
    pub fn offered() -> impl Iterator<Item = Self> {
        VIEWS.iter().map(|(view, ..)| *view)
    }

    /// The view with this id in links.
    #[must_use]
    pub fn named(id: &str) -> Option<Self> {
        VIEWS.iter().find(|(_, known, _)| *known == id).map(|(view, ..)| *view)
    }

    fn row(self) -> (&'static str, &'static str) {
        let row = VIEWS.iter().find(|(view, ..)| view.is_like(self));
        row.map_or(("", ""), |(_, id, name)| (*id, *name))
    }

    /// Its id in links.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.row().0
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// True for the views that a phone's bar has room for.
    #[must_use]
    pub const fn is_frequent(self) -> bool {
        !matches!(self, Self::Cluster | Self::Scoreboard)
    }

    /// True for two steps of lessons, and for a view and itself.
    #[must_use]
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

/// A panel that another page shows alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Embed {
    /// Memory.
    Memory,
    /// The pipeline timeline.
    Timeline,
    /// Overlap.
    Overlap,
    /// The key figures.
    Strip,
    /// The whole run.
    Whole,
    /// Where the step goes.
    Waterfall,
    /// The gallery of schedules.
    Schedules,
    /// The map of the cluster.
    Cluster,
    /// A step of a lesson.
    Lesson,
    /// The table and scatter of the scoreboard.
    Scoreboard,
    /// Figures and panels of the Run.
    All,
}

impl Embed {
    /// All panels: id in links, and name.
    pub const ALL: [(Self, &'static str, &'static str); 11] = [
        (Self::Memory, "memory", "memory"),
        (Self::Timeline, "timeline", "pipeline timeline"),
        (Self::Overlap, "overlap", "overlap"),
        (Self::Strip, "strip", "key figures"),
        (Self::Whole, "whole", "whole run"),
        (Self::Waterfall, "waterfall", "waterfall"),
        (Self::Schedules, "schedules", "schedules"),
        (Self::Cluster, "cluster", "cluster"),
        (Self::Lesson, "lesson", "lesson"),
        (Self::Scoreboard, "scoreboard", "scoreboard"),
        (Self::All, "all", "everything"),
    ];

    /// The panel with this id in links.
    #[must_use]
    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known, _)| *known == id).map(|(panel, ..)| *panel)
    }

    /// Its id in links.
    #[must_use]
    pub fn id(self) -> &'static str {
        let row = Self::ALL.iter().find(|(panel, ..)| *panel == self);
        row.map_or("", |(_, id, _)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_and_panel_has_a_row_under_its_id() {
        for view in View::offered() {
            assert_eq!(View::named(view.id()), Some(view), "a view needs a row in `VIEWS`");
        }
        for (panel, id, _) in Embed::ALL {
            assert_eq!((Embed::named(id), panel.id()), (Some(panel), id), "a panel needs a row in `Embed::ALL`");
        }
    }
}
