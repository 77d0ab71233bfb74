//! Which steps there are: what the page knows of the lessons before they are opened.

use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// Ids of the lessons, in their order, and how many steps each has. Links hold ids: they never change.
pub(super) const COUNTS: [(&str, usize); 7] =
    [("memory", 7), ("zero", 7), ("tensor", 7), ("sequence", 7), ("pipelines", 12), ("overlap", 7), ("layout", 7)];

/// A step by its lesson and its number, both from 0; shown and linked as `pipelines.4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepId {
    pub(super) lesson: usize,
    pub(super) step: usize,
}

impl StepId {
    /// The step that a link names: `pipelines.4`, or `pipelines` for its first.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        let (id, number) = text.split_once('.').unwrap_or((text, "1"));
        let lesson = COUNTS.iter().position(|(known, _)| *known == id)?;
        let step = number.parse::<usize>().ok()?.checked_sub(1)?;
        (step < COUNTS[lesson].1).then_some(Self { lesson, step })
    }
    /// The first step of the first lesson.
    #[must_use]
    pub const fn first() -> Self {
        Self { lesson: 0, step: 0 }
    }
    /// Id of its lesson.
    #[must_use]
    pub fn lesson_id(self) -> &'static str {
        COUNTS[self.lesson].0
    }
    /// Every step of every lesson, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        let steps = |lesson: usize| 0..COUNTS[lesson].1;
        (0..COUNTS.len()).flat_map(move |lesson| steps(lesson).map(move |step| Self { lesson, step }))
    }
    /// The one before and the one behind, over all lessons.
    #[must_use]
    pub fn neighbours(self) -> [Option<Self>; 2] {
        let all: Vec<Self> = Self::all().collect();
        let at = all.iter().position(|step| *step == self).unwrap_or(0);
        [at.checked_sub(1), Some(at + 1)].map(|at| all.get(at?).copied())
    }
}

impl Display for StepId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.lesson_id(), self.step + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::LESSONS;
    use super::*;

    #[test]
    fn every_step_of_every_lesson_has_its_number() {
        let steps = LESSONS.iter().map(|lesson| lesson.steps.len());
        assert!(steps.eq(COUNTS.map(|(_, count)| count)));
    }

    #[test]
    fn a_link_names_a_step_and_a_step_its_link() {
        for id in StepId::all() {
            assert_eq!(StepId::named(&id.to_string()), Some(id));
        }
        assert_eq!(StepId::named("pipelines").unwrap().to_string(), "pipelines.1");
        for text in ["", "pipelines.0", "pipelines.99", "pipelines.x", "cooking.1"] {
            assert_eq!(StepId::named(text), None, "{text}");
        }
        let [before, after] = StepId::first().neighbours();
        assert!(before.is_none() && after.is_some());
    }
}
