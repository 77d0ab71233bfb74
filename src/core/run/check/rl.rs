//! Settings of reinforcement learning that contradict each other. What a step needs and nobody has said is asked for
//! where the step is computed.

use super::Check;
use crate::issue::Issue;
use crate::run::registry::first_set;
use crate::run::{PhasesBy, RlParts};
use crate::t;
use crate::units::{show_count, whole};

impl Check<'_> {
    pub fn rl(&mut self) {
        let rl = &self.run.rl;
        if *rl == RlParts::default() {
            return;
        }
        if rl.algorithm.is_none() {
            if let Some(field) = first_set(self.run, "rl") {
                let message = t!("{field} says nothing without an algorithm", field = field.label);
                self.refuse("rl.algorithm", message, "grpo");
            }
            return;
        }
        self.engines();
        self.lengths_of_responses();
        self.staleness();
    }

    /// GPUs of the engines.
    fn engines(&mut self) {
        let (run, rl) = (self.run, &self.run.rl);
        let tp = run.engine_tp();
        match (rl.is_split(), rl.rollout_gpus) {
            (true, Some(engines)) if engines >= run.gpus => {
                let message = t!(
                    "{engines} GPUs for the engines leave none of the {gpus} GPUs to train on",
                    engines,
                    gpus = run.gpus
                );
                self.error_near("rl.rollout_gpus", message, run.gpus / 2, self.splits());
            }
            (true, Some(engines)) if !engines.is_multiple_of(tp) => {
                let message = t!("{engines} GPUs are no whole engines of {tp} GPUs", engines, tp);
                self.error_near("rl.rollout_gpus", message, engines, self.splits());
            }
            (true, Some(_)) => {
                let trainer = run.training_gpus();
                let message = t!(
                    "this report is of the {trainer} GPUs that train; the step of reinforcement learning, which has a \
                        view of its own, is of all {gpus}",
                    trainer,
                    gpus = run.gpus
                );
                self.warnings.push(Issue::notice("rl.rollout_gpus", message));
            }
            (false, Some(_)) => {
                self.doubt("rl.rollout_gpus", "engines that share the training's GPUs have none of their own", "");
            }
            // The step asks how many they are.
            (_, None) => {}
        }
    }

    /// Numbers of GPUs that engines may have beside a trainer.
    fn splits(&self) -> impl Iterator<Item = u64> + use<> {
        let run = self.run;
        let tp = run.engine_tp();
        let (gpus, ranks) = (run.gpus, run.tp.saturating_mul(run.pp).saturating_mul(run.cp).max(1));
        let engines = (1..=MOST_ENGINES).map(move |engines| engines * tp).take_while(move |taken| *taken < gpus);
        engines.filter(move |taken| (gpus - taken).is_multiple_of(ranks))
    }

    fn lengths_of_responses(&mut self) {
        let rl = &self.run.rl;
        let parts = &rl.response_tokens;
        if parts.mean.is_some() && parts.median.is_some() {
            self.refuse("rl.response_tokens.median", "give the mean of the responses or their median, not both", "");
        }
        if let (Some(mean), Some(limit)) = (parts.mean, rl.response_limit)
            && mean > limit as f64
        {
            let message =
                t!("responses of {mean} tokens on average do not end by {limit}", mean = show_count(mean), limit);
            let issue = Issue::error("rl.response_limit", message);
            let next = whole(mean.ceil()).and_then(u64::checked_next_power_of_two);
            self.issues.push(match next {
                Some(next) => issue.with_fix("rl.response_limit", next),
                None => issue,
            });
        }
        if rl.updates.unwrap_or(1) > rl.prompts.unwrap_or(u64::MAX).saturating_mul(rl.samples.unwrap_or(1)) {
            self.refuse("rl.updates", "a step has at most one update for each response", 1);
        }
        if rl.tool_s.is_some() && rl.turns.unwrap_or(1) == 1 {
            self.refuse("rl.turns", "a tool stands between two turns: how many turns has a response?", 2);
        }
    }

    /// A response is older than its weights only where generation does not wait for training.
    fn staleness(&mut self) {
        let (run, rl) = (self.run, &self.run.rl);
        let is_stale = rl.staleness.is_some_and(|steps| steps > 0.0);
        // verl's `colocate_async` keeps unfinished responses for the next step.
        if is_stale && !rl.is_split() && run.phases.framework != Some(PhasesBy::Verl) {
            let message = "on shared GPUs generation and training take turns: no response is older than the weights";
            self.refuse("rl.staleness", message, 0);
        }
        if is_stale && run.phases.framework == Some(PhasesBy::Trl) {
            let message = "TRL's two pools wait for each other: no response is older than the weights";
            self.refuse("rl.staleness", message, 0);
        }
        if rl.order.is_some() && !is_stale {
            self.refuse("rl.order", "batches have an order only with a staleness limit over 0", "");
        }
    }
}

/// Most engines that a fix tries.
const MOST_ENGINES: u64 = 1 << 12;
