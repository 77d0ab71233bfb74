//! How long the stages of a block take: stages that hold the same are timed once.

use crate::memory::chunk_activation_bytes;
use crate::model::{LayerElements, stage_elements};
use crate::run::Scenario;
use crate::time::Clock;
use crate::traffic::{StageWindows, stage_waits};

/// Seconds of one micro-batch on a stage, waits included, as the report adds them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageTime {
    /// Forward.
    pub forward: f64,
    /// Gradient of the input.
    pub backward_input: f64,
    /// Gradient of the weight.
    pub backward_weight: f64,
    /// One message to the next stage.
    pub send: f64,
}

impl StageTime {
    /// Both gradients.
    #[must_use]
    pub fn backward(&self) -> f64 {
        self.backward_input + self.backward_weight
    }
}

/// Which stages are alike: same layers of either kind, same ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kinds {
    /// The kind of each global stage.
    pub of: Vec<usize>,
    /// A stage of each kind.
    pub sample: Vec<usize>,
}

impl Kinds {
    /// The kinds among the stages of `scenario`.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let layers = &scenario.stage_layers;
        let first_routed = scenario.model.moe.map_or(u64::MAX, |moe| moe.dense_layers);
        let end = layers.len().saturating_sub(1);
        let mut keys: Vec<[u64; 4]> = Vec::new();
        let mut kinds = Self::default();
        let mut start = 0;
        for (stage, count) in layers.iter().enumerate() {
            let dense = first_routed.clamp(start, start + count) - start;
            start += count;
            let key = [*count, dense, u64::from(stage == 0), u64::from(stage == end)];
            let known = keys.iter().position(|other| *other == key);
            kinds.of.push(known.unwrap_or(keys.len()));
            if known.is_none() {
                keys.push(key);
                kinds.sample.push(stage);
            }
        }
        kinds
    }

    /// Seconds of each kind.
    #[must_use]
    pub fn times(&self, scenario: &Scenario, clock: &Clock) -> Vec<StageTime> {
        let samples = self.sample.iter();
        samples.map(|stage| stage_time(scenario, clock, *stage)).collect()
    }

    /// Activations that one micro-batch keeps on each kind, bytes.
    #[must_use]
    pub fn activations(&self, scenario: &Scenario) -> Vec<f64> {
        let samples = self.sample.iter();
        samples.map(|stage| chunk_activation_bytes(scenario, *stage).0).collect()
    }

    /// Elements of each kind.
    #[must_use]
    pub fn elements(&self, scenario: &Scenario) -> Vec<LayerElements> {
        let (model, layers) = (&scenario.model, &scenario.stage_layers);
        let samples = self.sample.iter();
        samples.map(|stage| stage_elements(model, layers, *stage)).collect()
    }
}

fn stage_time(scenario: &Scenario, clock: &Clock, stage: usize) -> StageTime {
    let compute = clock.stage(scenario, stage);
    let windows = StageWindows {
        column_weight: compute.column_weight,
        attention_forward: compute.attention_forward,
        attention_backward: compute.attention_backward,
        linear: compute.linear,
        forward: compute.forward,
        backward: compute.backward_input + compute.backward_weight,
    };
    let waits = stage_waits(scenario, stage, &windows);
    StageTime {
        forward: (compute.forward + waits.forward()).0,
        backward_input: (compute.backward_input + waits.backward()).0,
        backward_weight: compute.backward_weight.0,
        send: waits.send.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, Run};

    #[test]
    fn stages_of_one_kind_take_the_same_time() {
        for model in ["llama-3.1-8b", "deepseek-v3"] {
            let run = Run {
                model: Based::preset(model),
                pp: 8,
                zero: 3,
                ..Run::default()
            };
            let scenario = Scenario::new(&run).unwrap();
            let clock = Clock::new(&scenario);
            let kinds = Kinds::new(&scenario);
            let times = kinds.times(&scenario, &clock);
            for (stage, kind) in kinds.of.iter().enumerate() {
                assert_eq!(stage_time(&scenario, &clock, stage), times[*kind]);
            }
            assert!(kinds.sample.len() < 8);
        }
    }
}
