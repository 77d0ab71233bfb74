//! Weights of models that compute beside the trained one: a reference of its shapes, a teacher.

use super::holding::{Holding, holdings};
use super::states::split_weights;
use crate::explain::Quantity;
use crate::explain::symbols::{PIPELINE, SHARDS, TEACHER};
use crate::memory::estimate::{Component, Item, RankLoad};
use crate::run::{ReferencePlace, Scenario};
use crate::units::Bytes;

/// Name of the frozen copy among the items.
pub(crate) const REFERENCE_MODEL: &str = "reference model";

/// Weights alone of a frozen copy of the parameters `parts`: sharded with ZeRO-3, else whole. Source: TRL f2cd577
/// `trainer/dpo_trainer.py:930` (`prepare_deepspeed`, `prepare_fsdp`), whose DeepSpeed keeps stages below 3 whole;
/// ms-swift 3602360 `megatron/trainers/rlhf_mixin.py` (`ref_models`, no optimizer).
fn copy<Q: Quantity>(scenario: &Scenario, parts: &[Holding]) -> Q {
    let own = parts.iter().filter(|part| !part.kind.is_adapter());
    Q::total("W_i", own.map(|part| (part.name.into(), split_weights(scenario, part))))
}

/// Weights of the teacher on a rank, in 16 bits: its part of a model cut as the student is.
fn teacher<Q: Quantity>(scenario: &Scenario) -> Option<Q> {
    let model = scenario.learnt.teacher?.architecture().unwrap_or(scenario.model);
    let layout = &scenario.layout;
    let elements = model.elements();
    let dense = elements.dense_per_rank(&model, layout.tp);
    let experts = elements.experts_per_rank(layout.ep, layout.etp);
    let shards = if scenario.zero.stage >= 3 { scenario.zero.shard } else { 1 };
    let parameters = TEACHER.of::<Q>(dense + experts) * 2.0 / PIPELINE.of::<Q>(layout.pp);
    Some(parameters / SHARDS.factor::<Q>(shards))
}

/// Items of the models beside the trained one on the rank that holds `parts`.
pub(super) fn weights<Q: Quantity>(scenario: &Scenario, parts: &[Holding]) -> Vec<Item<Q>> {
    let mut items = Vec::new();
    if scenario.learnt.reference == ReferencePlace::Resident {
        items.push(Item::held(Component::Weights, REFERENCE_MODEL, copy(scenario, parts)));
    }
    items.extend(teacher(scenario).map(|bytes| Item::held(Component::Weights, "teacher", bytes)));
    items
}

/// Bytes of a rank's reference that waits in host memory and comes for its pass; 0 where it does not.
pub(crate) fn reference_on_host(scenario: &Scenario, load: &RankLoad) -> f64 {
    match scenario.learnt.reference {
        ReferencePlace::Offloaded => copy::<f64>(scenario, &holdings(scenario, load)),
        _ => 0.0,
    }
}

/// Bytes of the reference that the fullest GPU keeps in host memory.
pub(crate) fn offloaded_reference(scenario: &Scenario, loads: &[RankLoad]) -> Bytes {
    Bytes(loads.iter().map(|load| reference_on_host(scenario, load)).fold(0.0, f64::max))
}
