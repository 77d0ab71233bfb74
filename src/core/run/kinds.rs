//! Stages of a scenario that are alike: what one of them takes, keeps and sends is worked out once.

use super::Scenario;
use crate::model::MAX_KINDS;

/// Number of facts that stages of one kind share besides their layers: where the layers begin in the pattern, whether
/// the stage is the first, whether it is the last, modules of multi-token prediction, hidden states that it sends,
/// layers in bf16 at its start, and at its end.
const BESIDE: usize = 7;

/// Key of a kind of stage: layers of each kind of the model, and the other features that tell kinds apart.
pub type Alike = [u64; MAX_KINDS + BESIDE];

/// Stages that are alike: same layers of every kind, same ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StageKinds {
    /// The kind of each global stage.
    pub of: Vec<usize>,
    /// A stage of each kind.
    pub sample: Vec<usize>,
    pub keys: Vec<Alike>,
}

impl StageKinds {
    /// The kinds among the stages of `scenario`.
    pub fn new(scenario: &Scenario) -> Self {
        let layers = &scenario.stage_layers;
        let model = &scenario.model;
        let kinds_of_model = model.all_kinds();
        let period = model.pattern.layers().max(1);
        let end = layers.len().saturating_sub(1);
        let mut kinds = Self { of: Vec::with_capacity(layers.len()), ..Self::default() };
        let mut start = 0;
        for (stage, count) in layers.iter().enumerate() {
            let mut key = [0; MAX_KINDS + BESIDE];
            for (kind, held) in model.kinds(start..start + count).iter() {
                let place = kinds_of_model.iter().position(|(known, _)| known == kind);
                key[place.unwrap_or(0)] = *held;
            }
            let [first, last] = scenario.bf16_ends(&(start..start + count));
            key[MAX_KINDS..].copy_from_slice(&[
                start % period,
                u64::from(stage == 0),
                u64::from(stage == end),
                scenario.modules_on(stage),
                scenario.states_sent(stage),
                first,
                last,
            ]);
            start += count;
            let position = kinds.keys.iter().position(|other| *other == key);
            kinds.of.push(position.unwrap_or(kinds.keys.len()));
            if position.is_none() {
                kinds.keys.push(key);
                kinds.sample.push(stage);
            }
        }
        kinds
    }

    /// Values of `of` for each global stage, computed once a kind.
    pub fn each<T: Clone>(&self, mut of: impl FnMut(usize) -> T) -> Vec<T> {
        let samples: Vec<T> = self.sample.iter().map(|stage| of(*stage)).collect();
        self.of.iter().map(|kind| samples[*kind].clone()).collect()
    }
}
