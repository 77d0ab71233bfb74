//! What a log of reinforcement learning says of a step: seconds of generation, of updates and of new weights, beside
//! what is predicted.
//!
//! Names of timers: verl `trainer/ppo/ray_trainer.py:1388` to 1610 (b178a3cd) behind `timing_s/`; NeMo-RL
//! `algorithms/grpo.py:3721` (7ea279ab), lines `  • policy_training: 34.20s (27.8%)`; slime
//! `observability/train_metric_utils.py:371` and `rollout_metrics.py:63` (624b824a) behind `perf/`; TRL
//! `extras/profiling.py:111` and `trainer/grpo_trainer.py:1792` (f2cd5771), exported by its trackers, without the
//! update.

use super::hints::number;
use serde::{Deserialize, Serialize};
use shardscope_core::diagnose::{Diagnosis, RlPart, RlRow};
use shardscope_core::issue::Issue;
use shardscope_core::message::Message;
use shardscope_core::rl::predicted_parts;
use shardscope_core::run::Run;
use shardscope_core::sort::median;
use shardscope_core::t;
use shardscope_core::units::{Seconds, show_seconds};
use std::collections::BTreeMap;

/// Steps that are kept at most.
const MAX_STEPS: usize = 100_000;

/// Words right before the seconds of a part, and whether what they time is a wait and no work.
const TIMERS: [(&str, RlPart, bool); 14] = [
    ("timing_s/gen:", RlPart::Generation, false),
    ("timing_s/update_actor:", RlPart::Update, false),
    ("timing_s/update_weights:", RlPart::Sync, false),
    ("timing_s/param_sync:", RlPart::Sync, false),
    ("• generation:", RlPart::Generation, false),
    ("• exposed_generation:", RlPart::Generation, true),
    ("• policy_training:", RlPart::Update, false),
    ("• prepare_for_generation/transfer_and_update_weights:", RlPart::Sync, false),
    ("• weight_sync:", RlPart::Sync, false),
    ("perf/rollout_time", RlPart::Generation, false),
    ("perf/actor_train_time", RlPart::Update, false),
    ("perf/update_weights_time", RlPart::Sync, false),
    ("trainer.vllm.generate", RlPart::Generation, false),
    ("trainer.sync_weights", RlPart::Sync, false),
];

/// Seconds of the parts of every step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RlTimers {
    seconds: BTreeMap<RlPart, Vec<f64>>,
    /// It times how long the trainer waits for samples, which is no generation.
    waits: bool,
}

impl RlTimers {
    /// Takes a line in small letters.
    pub(super) fn line(&mut self, lower: &str) {
        if !["timing_s/", "•", "perf/", "time taken"].iter().any(|word| lower.contains(word)) {
            return;
        }
        for (words, part, is_wait) in TIMERS {
            let Some((seconds, _)) = lower.find(words).and_then(|at| number(&lower[at + words.len()..])) else {
                continue;
            };
            self.waits |= is_wait;
            let known = self.seconds.entry(part).or_default();
            if !is_wait && seconds > 0.0 && seconds.is_finite() && known.len() < MAX_STEPS {
                known.push(seconds);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.seconds.values().all(Vec::is_empty)
    }

    /// The median of a part; of three steps and more without the first, which compiles.
    fn of(&self, part: RlPart) -> Option<f64> {
        let all = self.seconds.get(&part)?;
        median(if all.len() > 2 { &all[1..] } else { all }).filter(|seconds| *seconds > 0.0)
    }

    /// Puts the parts beside what is predicted for `run`.
    pub(super) fn tell(&self, found: &mut Diagnosis, run: &Run) {
        if self.is_empty() {
            return;
        }
        let streams = run.rl.apart().is_some() && run.rl.staleness.unwrap_or(0.0) > 0.0;
        let predicted = match run.rl.algorithm {
            None => {
                found.read.push(t!(
                    "The run on the page has no reinforcement learning: with an algorithm, prompts and lengths set \
                        there, each part stands beside its prediction."
                ));
                None
            }
            Some(_) => match predicted_parts(run) {
                Ok(parts) => Some(parts),
                Err(issues) => {
                    let missing = issues.into_iter().map(|issue| Issue::warning(issue.field, issue.message));
                    found.warnings.extend(missing);
                    None
                }
            },
        };
        if self.waits {
            found.read.push(t!(
                "Its exposed_generation is what the trainer waits for samples, not how long they take: it is not \
                    compared."
            ));
        }
        let rows = RlPart::ALL.into_iter().enumerate().filter_map(|(at, name)| {
            let measured_s = self.of(name)?;
            // The trainer's timer of generation is its wait where the engines run beside it.
            let waits = name == RlPart::Generation && streams;
            let predicted_s = predicted.map(|parts| parts[at]).filter(|seconds| *seconds > 0.0 && !waits);
            Some(RlRow { name, measured_s, predicted_s, ratio: predicted_s.map(|predicted| measured_s / predicted) })
        });
        found.rl = rows.collect();
        if streams && found.rl.iter().any(|row| row.name == RlPart::Generation) {
            found.read.push(t!(
                "Generation runs beside training here: its time in the log may be what the trainer waits, and is not \
                    compared."
            ));
        }
    }

    /// The step in a sentence; none for a log that is not of reinforcement learning.
    pub(super) fn verdict(&self) -> Option<Message> {
        let parts = RlPart::ALL.into_iter().filter_map(|part| {
            let seconds = show_seconds(Seconds(self.of(part)?));
            Some(match part {
                RlPart::Generation => t!("generation {seconds}", seconds),
                RlPart::Update => t!("updates {seconds}", seconds),
                RlPart::Sync => t!("new weights {seconds}", seconds),
            })
        });
        let parts: Vec<Message> = parts.collect();
        (!parts.is_empty())
            .then(|| t!("A step of reinforcement learning: {parts}.", parts = Message::joined(", ", parts)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> [Option<f64>; 3] {
        let mut timers = RlTimers::default();
        for line in lines {
            timers.line(&line.to_ascii_lowercase());
        }
        RlPart::ALL.map(|part| timers.of(part))
    }

    /// Lines as the programs print them.
    #[test]
    fn four_programs_say_how_long_the_parts_of_a_step_take() {
        let verl = "step:2 - timing_s/gen:74.020 - timing_s/old_log_prob:3.566 - timing_s/update_actor:14.302 - \
            timing_s/update_weights:2.5 - timing_s/step:96.551";
        assert_eq!(of(&[verl]), [Some(74.02), Some(14.302), Some(2.5)]);
        let nemo = [
            "  • Total step time: 66.60s",
            "  • policy_training: 22.10s (33.2%)",
            "  • generation: 30.00s (45.0%)",
            "  • prepare_for_generation/total: 4.00s (6.0%)",
            "  • prepare_for_generation/transfer_and_update_weights: 2.10s (3.2%)",
        ];
        assert_eq!(of(&nemo), [Some(30.0), Some(22.1), Some(2.1)]);
        let slime = [
            "perf 3: {'rollout/response_len/mean': 900.0, 'perf/rollout_time': 98.5}",
            "perf 3: {'perf/update_weights_time': 0.3, 'perf/train_wait_time': 101.2, 'perf/actor_train_time': 41.0, \
             'perf/actor_train_tok_per_s': 41000.0}",
        ];
        assert_eq!(of(&slime), [Some(98.5), Some(41.0), Some(0.3)]);
        let trl = "{\"profiling/Time taken: GRPOTrainer.vLLM.generate\": 12.5, \
            \"profiling/Time taken: GRPOTrainer.sync_weights\": 1.5}";
        assert_eq!(of(&[trl]), [Some(12.5), None, Some(1.5)]);
    }

    /// What the trainer waits is no generation; the first of several steps compiles.
    #[test]
    fn waits_and_first_steps_are_no_parts() {
        assert_eq!(of(&["  • exposed_generation: 21.00s (40.0%)"]), [None; 3]);
        let step = |seconds: f64| format!("step:1 - timing_s/gen:{seconds}");
        let lines = [step(300.0), step(70.0), step(72.0), step(71.0)];
        assert_eq!(of(&lines.each_ref().map(String::as_str))[0], Some(71.0));
    }
}
