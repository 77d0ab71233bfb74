//! Needs of an objective: software that trains by it, a reference to compare with, a teacher to learn from.

use super::Check;
use crate::field::OneOf;
use crate::message::verbatim;
use crate::run::{Objective, ReferencePlace};
use crate::t;

impl Check<'_> {
    pub fn objective(&mut self) {
        let (run, named) = (self.run, self.run.objective.named());
        let label = verbatim(named.choice().label);
        match run.objective.parts.reference {
            Some(place) if place != ReferencePlace::Nowhere && !named.has_reference() => {
                let message = t!("{objective} compares with no reference", objective = label.clone());
                self.refuse("objective.reference", message, "none");
            }
            Some(ReferencePlace::AdaptersOff) if run.adapter.method.is_none() => {
                let message = "without adapters the base is what is trained: a reference is a copy of it";
                self.refuse("objective.reference", message, "resident");
            }
            _ => {}
        }
        match (named, run.objective.parts.teacher) {
            (Objective::Distillation, None) => {
                self.refuse("objective.teacher", "say which model is the teacher", "policy");
            }
            (other, Some(_)) if other != Objective::Distillation => {
                let message = t!("{objective} has no teacher", objective = label.clone());
                self.refuse("objective.teacher", message, "");
            }
            _ => {}
        }
        let trainer = run.stack.base.map(|_| run.stack.preset_row().trainer);
        if trainer.is_some_and(|trainer| !trainer.has_objective(named)) {
            let message = t!(
                "{software} does not train {objective}",
                software = verbatim(run.stack.preset_row().choice.label),
                objective = label
            );
            self.refuse("objective", message, "next-token");
        }
    }
}
