//! Ids of the lessons and their steps: the part of the lessons that links need before one is opened.

use std::fmt::{self, Display, Formatter};

/// Lessons with their steps, in the order they are shown; links hold these words, so they never change. The first
/// links named a step by its number, which is beside it and opens it for ever; later steps have 0.
const LESSONS: [(&str, &[(&str, usize)]); 13] = [
    (
        "memory",
        &[
            ("states", 1),
            ("precisions", 2),
            ("activations", 3),
            ("layer", 0),
            ("scores", 4),
            ("recomputation", 5),
            ("logits", 6),
            ("fit", 7),
        ],
    ),
    ("formats", &[("bits", 0), ("scaling", 0), ("blocks", 0)]),
    ("gpu", &[("kernels", 0), ("tiles", 0), ("profile", 0)]),
    ("collectives", &[("kinds", 0), ("ring", 0), ("server", 0), ("tree", 0), ("bandwidth", 0), ("gradients", 0)]),
    (
        "zero",
        &[
            ("copies", 1),
            ("collectives", 2),
            ("overlap", 3),
            ("optimizer", 4),
            ("shards", 5),
            ("everywhere", 0),
            ("traffic", 6),
            ("flow", 0),
            ("pipeline", 0),
            ("scaling", 7),
        ],
    ),
    (
        "tensor",
        &[
            ("matrix", 1),
            ("pair", 2),
            ("heads", 0),
            ("f-and-g", 3),
            ("between", 4),
            ("embedding", 0),
            ("cost", 5),
            ("square", 6),
            ("cube", 7),
        ],
    ),
    (
        "sequence",
        &[
            ("outside", 1),
            ("tokens", 2),
            ("ulysses", 3),
            ("ring", 4),
            ("causal", 5),
            ("zig-zag", 6),
            ("compared", 7),
            ("lengths", 0),
        ],
    ),
    (
        "pipelines",
        &[
            ("naive", 1),
            ("halves", 0),
            ("gpipe", 2),
            ("1f1b", 3),
            ("messages", 0),
            ("interleaving", 4),
            ("zb-h1", 5),
            ("zb-v", 6),
            ("chimera", 7),
            ("hanayo", 8),
            ("dualpipe", 9),
            ("pipedream", 10),
            ("bubble", 11),
            ("bound", 0),
            ("uneven", 12),
        ],
    ),
    (
        "overlap",
        &[("kernels", 1), ("exchange", 2), ("gradients", 3), ("gathers", 4), ("tensor", 5), ("ring", 6), ("cost", 7)],
    ),
    ("experts", &[("routing", 0), ("capacity", 0), ("exchange", 0), ("overlap", 0)]),
    (
        "layout",
        &[
            ("fit", 1),
            ("recomputation", 2),
            ("batch", 3),
            ("tensor", 4),
            ("pipeline", 5),
            ("context", 6),
            ("savings", 0),
            ("cuts", 0),
            ("restore", 0),
            ("nodes", 0),
            ("gpus", 0),
            ("recipe", 7),
            ("flow", 0),
        ],
    ),
    ("whole", &[("failures", 0), ("saves", 0)]),
    ("rl", &[("tail", 0), ("staleness", 0), ("split", 0), ("place", 0)]),
];

/// A step by its lesson and its place there, both from 0; shown and linked as `pipelines.interleaving`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepId {
    pub(super) lesson: usize,
    pub(super) step: usize,
}

impl StepId {
    /// The step that a link names: `pipelines.interleaving`, its old number `pipelines.4`, or `pipelines` for the
    /// first.
    pub fn named(text: &str) -> Option<Self> {
        let (lesson, step) = text.split_once('.').unwrap_or((text, "1"));
        let lesson = LESSONS.iter().position(|(id, _)| *id == lesson)?;
        let number = step.parse().unwrap_or(0);
        let steps = LESSONS[lesson].1;
        let step = steps.iter().position(|(id, old)| *id == step || (number > 0 && number == *old))?;
        Some(Self { lesson, step })
    }
    /// The first step of the first lesson.
    pub const fn first() -> Self {
        Self { lesson: 0, step: 0 }
    }
    pub fn lesson_id(self) -> &'static str {
        LESSONS[self.lesson].0
    }
    /// Its id within the lesson.
    pub fn id(self) -> &'static str {
        LESSONS[self.lesson].1[self.step].0
    }
    /// Every step of every lesson, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        let steps = |lesson: usize| 0..LESSONS[lesson].1.len();
        (0..LESSONS.len()).flat_map(move |lesson| steps(lesson).map(move |step| Self { lesson, step }))
    }
    /// The one before and the one behind, over all lessons.
    pub fn neighbours(self) -> [Option<Self>; 2] {
        let steps: Vec<Self> = Self::all().collect();
        let at = steps.iter().position(|step| *step == self).unwrap_or(0);
        [at.checked_sub(1), Some(at + 1)].map(|at| steps.get(at?).copied())
    }
}

impl Display for StepId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.lesson_id(), self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_its_id_here_and_its_row_in_its_lesson() {
        let rows = crate::learn::LESSONS.iter();
        let rows = rows.flat_map(|lesson| lesson.steps.iter().map(|step| (lesson.id, step.id)));
        let ids = StepId::all().map(|id| (id.lesson_id(), id.id()));
        let (rows, ids): (Vec<_>, Vec<_>) = (rows.collect(), ids.collect());
        let first = rows.iter().zip(&ids).position(|(row, id)| row != id);
        let at = first.unwrap_or(rows.len().min(ids.len()));
        let help = "a step is a row of its lesson's `steps` and an id in `src/view/steps.rs`, in the same order";
        assert_eq!(rows.get(at), ids.get(at), "{help}");
    }

    #[test]
    fn a_link_names_a_step_and_a_step_its_link() {
        for id in StepId::all() {
            assert_eq!(StepId::named(&id.to_string()), Some(id));
            assert!(id.id().parse::<usize>().is_err(), "{id}: numbers are the old links");
        }
        assert_eq!(StepId::named("pipelines").unwrap().to_string(), "pipelines.naive");
        for text in ["", "pipelines.", "pipelines.0", "pipelines.99", "pipelines.x", "cooking.1"] {
            assert_eq!(StepId::named(text), None, "{text}");
        }
        let [before, after] = StepId::first().neighbours();
        assert!(before.is_none() && after.is_some());
    }
}
