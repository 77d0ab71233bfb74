//! What adapters change in the time of a layer: no gradients of frozen weights, thin products beside every adapted
//! linear, weights that are unpacked before each pass.

use super::layer_time::LayerTime;
use super::rates::Rates;
use crate::model::{LayerKind, Linear, linears};
use crate::run::{Adapter, AdapterMethod, Scenario};

/// Bytes a quantised weight moves when it is unpacked: read in 4 bits, written in 16.
const UNPACKED: f64 = 2.5;
/// Bytes a weight moves where DoRA forms `W + B A` and the norms of its rows, every forward pass.
const MAGNITUDES: f64 = 3.0 * 2.0;

/// Takes the gradients of frozen weights out of `time` and adds adapters: `2 r (in + out)` a row and pass on tensor cores,
/// and `2 (in + out)` elements that are read and written once more, which at small ranks is what takes time.
pub(crate) fn beside_frozen(
    scenario: &Scenario,
    adapter: &Adapter,
    rates: &Rates,
    kind: LayerKind,
    time: &mut LayerTime,
) {
    time.linear[2] = 0.0;
    time.column_weight = 0.0;
    let (model, layout) = (&scenario.model, &scenario.layout);
    let visited = model.moe.map_or(0, |moe| moe.top_k) as f64 * scenario.run.moe_imbalance;
    let tokens = scenario.tokens_per_rank();
    // A rank holds its part of the experts and of every matrix.
    let share = |linear: &Linear| match linear.experts {
        None => (1.0, 1.0 / layout.tp as f64),
        Some(experts) => (visited, experts as f64 / (layout.ep * layout.etp) as f64),
    };
    for linear in adapter.beside(model, kind) {
        let (rows, held) = share(&linear);
        let rows = rows * tokens;
        let widths = (linear.input + linear.output) as f64 / layout.tp as f64;
        let products = 2.0 * rows * adapter.rank as f64 * widths / rates.gemm_plain.0;
        let passes = 2.0 * rates.element * rows * widths / rates.elementwise.0;
        let launches = 2.0 * rates.launch.0;
        time.linear[0] += products + launches;
        time.linear[1] += products + launches;
        time.linear[2] += products + launches;
        time.elementwise.0 += passes;
        time.elementwise.1 += passes;
        if adapter.method == AdapterMethod::Dora {
            let elements = held * linear.elements() as f64;
            time.elementwise.0 += MAGNITUDES * elements / rates.elementwise.0;
        }
    }
    if adapter.base.is_some() {
        let elements: f64 = linears(model, kind)
            .iter()
            .map(|linear| share(linear).1 * linear.elements() as f64)
            .sum();
        let unpacking = UNPACKED * elements / rates.elementwise.0;
        time.elementwise.0 += unpacking;
        time.elementwise.1 += unpacking;
    }
}
