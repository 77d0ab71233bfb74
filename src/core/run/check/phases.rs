//! Needs of the phases of reinforcement learning: a framework, an engine that the GPU holds, second models that this
//! layout can run.

use super::Check;
use crate::cluster::Gpu;
use crate::issue::Issue;
use crate::run::registry::first_set;
use crate::run::{Method, PhasesParts, Run};
use crate::t;
use crate::units::MemoryUnit;

impl Check<'_> {
    /// Checks the phases; `errors` understands the Run of a second model.
    pub fn phases(&mut self, gpu: &Gpu, errors: fn(&Run) -> Vec<Issue>) {
        let (run, parts) = (self.run, &self.run.filled_phases(gpu));
        let Some(phases) = parts.resolve(gpu) else {
            if *parts != PhasesParts::default()
                && let Some(field) = first_set(run, "phases")
            {
                let message = t!("{field} says nothing without a framework", field = field.label);
                self.refuse("phases.framework", message, "verl");
            }
            return;
        };
        if phases.rollout.0 > gpu.usable.0 {
            let message = t!(
                "the engine cannot reserve more than the GPU has, {usable}",
                usable = MemoryUnit::Gib.show(gpu.usable)
            );
            let issue = Issue::error("phases.rollout_gib", message);
            let half = (gpu.usable.gib() / 2.0).ceil();
            self.issues.push(issue.with_fix("phases.rollout_gib", half));
        }
        let gpus = run.rl.apart().unwrap_or(run.gpus);
        if !gpus.is_multiple_of(phases.rollout_tp) {
            let message = t!("the engines' GPUs must divide {gpus}", gpus);
            let sizes = super::divisors(gpus).filter(|size| *size <= 1 << 10);
            self.error_near("phases.rollout_tp", message, phases.rollout_tp, sizes);
        }
        for (field, second) in [("phases.critic", phases.critic), ("phases.reward", phases.reward)] {
            let wrong = second.map(|second| errors(&run.of_second(second)));
            // A fault that the policy has as well is named at the policy.
            let of_policy = |issue: &Issue| self.issues.iter().any(|other| other.field == issue.field);
            if let Some(first) = wrong.into_iter().flatten().find(|issue| !of_policy(issue)) {
                self.refuse(field, t!("this model cannot run so: {reason}", reason = first.message), "policy");
            }
        }
        if run.memory_method != Method::Detailed {
            let message = "this method knows no phases: it counts the policy's training alone";
            self.doubt("memory_method", message, "detailed");
        }
    }
}
