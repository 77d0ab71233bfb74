//! Parameters that one GPU holds: what its gradients and gathered weights are counted by.

use crate::explain::Quantity;
use crate::explain::symbols::{DENSE, EXPERT_GROUP, ROUTED, SHARDS, SWEPT, UPDATED};
use crate::model::{stage_elements, stage_range};
use crate::run::{Saved, Scenario};

/// Parameters of one GPU, elements.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    /// Outside the routed experts.
    pub dense: f64,
    /// Routed experts.
    pub experts: f64,
    /// Of those outside the experts, projections of keys and values whose heads other tensor-parallel ranks hold too,
    /// by the shape of the heads.
    pub copied: [f64; 2],
}

impl Held {
    /// Parameters of one GPU that has `stages`.
    pub fn of(scenario: &Scenario, stages: &[usize]) -> Self {
        let (model, layout) = (&scenario.model, &scenario.layout);
        let ranks = model.key_value_ranks(layout.tp);
        stages.iter().fold(Self::default(), |sum, stage| {
            let predicts = scenario.modules_on(*stage) > 0;
            let elements = stage_elements(model, &scenario.stage_layers, *stage, predicts);
            let copied = |shape: usize| {
                let ranks = ranks[shape];
                if layout.tp > ranks { elements.key_value[shape] as f64 / ranks as f64 } else { 0.0 }
            };
            Self {
                dense: sum.dense + elements.dense_per_rank(model, layout.tp),
                experts: sum.experts + elements.experts_per_rank(layout.ep, layout.etp),
                copied: [0, 1].map(|shape| sum.copied[shape] + copied(shape)),
            }
        })
    }
    /// Trained parameters: beside a frozen base its adapters, and copies of the ends.
    pub fn trained(scenario: &Scenario, stages: &[usize]) -> Self {
        let Some(adapter) = &scenario.adapter else {
            return Self::of(scenario, stages);
        };
        let (model, layout) = (&scenario.model, &scenario.layout);
        let end = (model.vocab * model.hidden) as f64 / layout.tp as f64;
        let mut held = Self::default();
        for &stage in stages {
            let kinds = model.kinds(stage_range(&scenario.stage_layers, stage));
            for (kind, layers) in kinds.iter() {
                let [dense, routed] = adapter.elements(model, *kind, layout.tp, layout.ep, layout.etp);
                held.dense += *layers as f64 * dense;
                held.experts += *layers as f64 * routed;
            }
            let last = stage + 1 == scenario.stage_layers.len();
            let saves = |end| adapter.saved.contains(&end);
            let ends = [stage == 0 && saves(Saved::Embedding), last && saves(Saved::Head)];
            held.dense += ends.into_iter().filter(|saved| *saved).count() as f64 * end;
        }
        held
    }
    /// All of them.
    pub fn total(self) -> f64 {
        self.dense + self.experts
    }

    /// Of trained parameters those that the rank updates, and those whose gradients it has.
    pub(crate) fn updated<Q: Quantity>(self, scenario: &Scenario) -> [Q; 2] {
        let zero = scenario.zero;
        let dense = DENSE.of::<Q>(self.dense);
        let updated = if zero.stage == 0 {
            dense + ROUTED.summand::<Q>(self.experts)
        } else {
            let experts =
                ROUTED.summand::<Q>(self.experts) / EXPERT_GROUP.of::<Q>(zero.expert_shard * zero.expert_outer);
            dense / SHARDS.of::<Q>(zero.shard * zero.outer) + experts
        };
        let updated = updated.called(UPDATED);
        [updated, SWEPT.of(if zero.stage == 3 { updated.value() } else { self.total() })]
    }
}
