//! The views of the page, one of which is shown: the Run, and what stands beside it.

use super::steps::StepId;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// A view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum View {
    /// The Run: inputs, figures and panels.
    #[default]
    Run,
    /// Every schedule for the Run.
    Schedules,
    /// Nodes, GPUs, groups and links.
    Cluster,
    /// A step of a lesson.
    Learn(StepId),
}

impl View {
    /// What the header offers, in its order.
    pub const OFFERED: [Self; 4] = [Self::Run, Self::Schedules, Self::Cluster, Self::Learn(StepId::first())];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "Run",
            Self::Schedules => "Schedules",
            Self::Cluster => "Cluster",
            Self::Learn(_) => "Learn",
        }
    }

    /// Whether both are the same view, whatever each shows.
    #[must_use]
    pub fn is_like(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    /// The step of a lesson that is open; the first where none is.
    #[must_use]
    pub const fn step(self) -> StepId {
        match self {
            Self::Learn(step) => step,
            _ => StepId::first(),
        }
    }

    /// The view that a link opens: `view.open` has a name, `view.lesson` a step; the Run where neither is there.
    #[must_use]
    pub fn linked(open: Option<&str>, lesson: Option<&str>) -> Self {
        match (open, lesson.and_then(StepId::named)) {
            (_, Some(step)) => Self::Learn(step),
            (Some("schedules"), None) => Self::Schedules,
            (Some("cluster"), None) => Self::Cluster,
            (Some("learn"), None) => Self::Learn(StepId::first()),
            _ => Self::Run,
        }
    }

    /// Its settings in a link: `view.open` and `view.lesson`.
    #[must_use]
    pub fn link(self) -> [Option<String>; 2] {
        match self {
            Self::Run => [None, None],
            Self::Learn(step) => [None, Some(step.to_string())],
            view => [Some(view.to_string()), None],
        }
    }
}

impl Display for View {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run => f.write_str("run"),
            Self::Schedules => f.write_str("schedules"),
            Self::Cluster => f.write_str("cluster"),
            Self::Learn(step) => write!(f, "learn {step}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_names_a_view_and_a_view_its_link() {
        let steps = StepId::all().map(View::Learn);
        for view in [View::Run, View::Schedules, View::Cluster].into_iter().chain(steps) {
            let [open, lesson] = view.link();
            assert_eq!(View::linked(open.as_deref(), lesson.as_deref()), view);
        }
        assert_eq!(View::linked(Some("kitchen"), Some("cooking.1")), View::Run);
        assert!(View::Learn(StepId::first()).is_like(View::linked(Some("learn"), None)));
    }
}
