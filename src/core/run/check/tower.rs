//! A vision tower on ranks of its own: GPUs that are there, replicas that serve whole replicas of the language model.

use super::{Check, divisors};
use crate::model::Vision;
use crate::run::Layout;
use crate::t;

impl Check<'_> {
    /// Source: Megatron-LM d98e8a6, `megatron/core/models/mimo` (grids tile the world, data-parallel sizes divide one
    /// another); Megatron-Bridge 067f987, `megatron_mimo_config.py`.
    pub fn tower(&mut self, layout: &Layout) {
        let run = self.run;
        let Some(vision) = self.model.vision.filter(Vision::is_apart) else { return };
        if vision.gpus >= run.gpus {
            let message = t!(
                "a tower on {own} GPUs of its own leaves none of {gpus} for the language model",
                own = vision.gpus,
                gpus = run.gpus
            );
            self.refuse("model.vision.gpus", message, 1);
            return;
        }
        if run.rl.algorithm.is_some() {
            let message = "a tower on ranks of its own is not planned in reinforcement learning";
            self.refuse("model.vision.placement", message, "first-stage");
        }
        if !vision.gpus.is_multiple_of(vision.tp) || vision.heads > 0 && !vision.heads.is_multiple_of(vision.tp) {
            let message = t!(
                "{gpus} GPUs and {heads} heads of the tower do not divide by its tensor parallelism {tp}",
                gpus = vision.gpus,
                heads = vision.heads,
                tp = vision.tp
            );
            let heads = vision.heads;
            let whole = divisors(vision.gpus).filter(|tp| heads == 0 || heads.is_multiple_of(*tp));
            self.error_near("model.vision.tp", message, 1, whole);
            return;
        }
        let (own, dp) = (vision.replicas(), layout.dp);
        if !own.is_multiple_of(dp) && !dp.is_multiple_of(own) {
            let message = t!(
                "{own} replicas of the tower and {dp} of the language model: one number has to divide the other",
                own,
                dp
            );
            let tp = vision.tp;
            self.error_near("model.vision.gpus", message, vision.gpus, divisors(dp).map(move |own| own * tp));
        }
    }
}
