//! Memory of a rank of a vision tower on GPUs of its own.

use super::activations::cut;
use crate::memory::verdict::{fragmentation, process};
use crate::model::{Cut, Vision, vision_inventory};
use crate::run::Scenario;
use crate::units::Bytes;

/// Bytes of such a rank: states of the tower and its projector over its tensor parallelism, those of the optimizer over
/// its replicas as well from ZeRO-1 on; activations of the micro-batches that are under way, one more than the pipeline
/// has ranks because the tower is in front of it.
pub fn tower_rank(scenario: &Scenario) -> Option<Bytes> {
    let (model, precision) = (&scenario.model, scenario.precision);
    let vision = model.vision.filter(Vision::is_apart)?;
    let t = vision.tp.max(1);
    let projector = model.projector().dense_per_rank(model, t);
    let tower = model.vision_tower().dense_per_rank(model, t) - projector;
    let trained = projector + if vision.frozen { 0.0 } else { tower };
    let sharers = if scenario.run.zero >= 1 { vision.replicas() as f64 } else { 1.0 };
    let optimizer = precision.optimizer(scenario.run.optimizer) / sharers;
    let states = precision.weights * (tower + projector) + trained * (precision.gradients() + optimizer);
    let tensor = t as f64;
    let residual = if scenario.run.sequence_parallel { tensor } else { 1.0 };
    let cut = Cut { tp: tensor, residual, linear_input: residual, ..cut::<f64>(scenario) };
    let images = scenario.sequences() as f64 * vision.largest().images_a_sequence() * scenario.tower_share();
    let kept: f64 = vision_inventory(model, images, &cut).iter().map(|tensor| tensor.bytes).sum();
    let alive = (scenario.layout.pp + 1).min(scenario.layout.microbatches) as f64;
    Some(Bytes(fragmentation(scenario) * (states + alive * kept)) + process(scenario))
}
