//! Parameters that one GPU holds: what its gradients and gathered weights are counted by.

use crate::explain::Quantity;
use crate::explain::symbols::{DENSE, EXPERT_GROUP, ROUTED, SHARDS, SWEPT, UPDATED};
use crate::model::{stage_elements, stage_range};
use crate::run::{Saved, Scenario};

/// Elements on one rank of the rows that pad an embedding or a head.
fn padding(scenario: &Scenario) -> f64 {
    let rows = scenario.padded_vocabulary() - scenario.model.vocab;
    (rows * scenario.model.hidden) as f64 / scenario.layout.tp as f64
}

/// Number of embeddings and heads on global stage `stage`, as [`stage_elements`] counts them: one more for multi-token
/// prediction where the stage `predicts` and has no embedding that this could share.
fn ends(scenario: &Scenario, stage: usize, predicts: bool) -> f64 {
    let (first, last) = (stage == 0, stage + 1 == scenario.stage_layers.len());
    let (model, shared) = (&scenario.model, scenario.model.shares_embedding());
    let head = last && !model.headless && !(shared && first);
    let again = predicts && model.mtp_modules > 0 && !first && !(last && shared);
    [first, head, again].into_iter().filter(|there| *there).count() as f64
}

/// Parameters of one GPU, elements.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HeldParameters {
    /// Outside the routed experts.
    pub dense: f64,
    /// Routed experts.
    pub experts: f64,
    /// The part of `dense` in projections of keys and values whose heads other tensor-parallel ranks hold as well: of
    /// the model's heads and of its second kind of heads.
    pub copied: [f64; 2],
}

impl HeldParameters {
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
            let padding = ends(scenario, *stage, predicts) * padding(scenario);
            Self {
                dense: sum.dense + elements.dense_per_rank(model, layout.tp) + padding,
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
        let end = (model.vocab * model.hidden) as f64 / layout.tp as f64 + padding(scenario);
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
    /// Parameters inside and outside the routed experts.
    pub fn total(self) -> f64 {
        self.dense + self.experts
    }

    /// Numbers of trained parameters: those that the rank updates, and those whose gradients it holds at the end of a
    /// step.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, ModelParts, Run};

    /// Parameters outside experts on a rank of Llama 3.1 8B with another vocabulary, at t = 4.
    fn dense(vocab: u64, tied: bool, objective: &'static str) -> f64 {
        let mut model: Based<ModelParts> = Based::preset("llama-3.1-8b");
        (model.parts.vocab, model.parts.tied_embeddings) = (Some(vocab), Some(tied));
        let run = Run { model, tp: 4, pp: 1, gpus: 8, objective: Based::preset(objective), ..Run::default() };
        HeldParameters::of(&Scenario::new(&run).unwrap(), &[0]).dense
    }

    /// A reward model has a head of one output, which no row pads.
    #[test]
    fn only_the_embedding_of_a_reward_model_is_padded() {
        for tied in [false, true] {
            assert_eq!(dense(131_073, tied, "reward"), dense(131_584, tied, "reward"));
        }
    }

    /// Megatron's golden GPT-7B pads 131073 entries to 131584 at t = 4 (`gpt3_7b_tp4_pp1_memory_speed`): embedding and
    /// head are messages of `131584 h / 4` elements each, as they are in memory; tied ones are one.
    #[test]
    fn padded_rows_travel_as_they_stand_in_memory() {
        let dense = |vocab, tied| dense(vocab, tied, "next-token");
        assert_eq!(dense(131_073, false), dense(131_584, false));
        assert_eq!(dense(131_584, false) - dense(131_584, true), 131_584.0 * 4096.0 / 4.0);
        assert_eq!(dense(131_073, true), dense(131_584, true));
    }
}
