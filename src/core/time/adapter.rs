//! Time of adapters in a layer: no gradients of frozen weights, thin products beside every adapted linear, weights that
//! are unpacked before each pass.

use super::layer_time::LayerTime;
use super::rates::Rates;
use crate::model::{LayerKind, Linear, linears};
use crate::run::{Adapter, AdapterMethod, Scenario};

/// Bytes a weight that a kernel unpacks is written in.
const UNPACKED: f64 = 2.0;
/// Bytes a weight that PyTorch's operators read and write: shifted into 32 bits (0.5 + 4), cast to 8 (5), masked (2),
/// less the zero (2), scaled (3). Source: `AutoGPTQ` `qlinear_cuda_old.py`.
const UNPACKED_BY_OPERATORS: f64 = 16.5;
/// Factor of operators on single bytes, spread over groups, over the time of their bytes: 2 by Qwen-7B's Q-LoRA runs,
/// which meets those of Qwen-14B.
const NARROW: f64 = 2.0;
/// Bytes a weight moves where DoRA forms `W + B A` and the norms of its rows, every forward pass.
const MAGNITUDES: f64 = 3.0 * 2.0;

/// Elements a row that adapters read and write, (of the input, of the output), forward and backward. Operators: A x
/// reads the input, B writes, the scaling reads and writes, the sum reads two and writes one; backward the scaling
/// again, A and B each read for both of their gradients, the input's is written and added. One kernel adds to what is
/// there. Source: PEFT `lora/layer.py`, Unsloth `fast_lora.py`.
const fn passes(fused: bool) -> [(f64, f64); 2] {
    if fused { [(1.0, 2.0), (3.0, 2.0)] } else { [(1.0, 6.0), (5.0, 4.0)] }
}

/// Takes the gradients of frozen weights out of `time` and adds adapters: `2 r (in + out)` a row and pass on tensor
/// cores, and the [`passes`] over inputs and outputs, which at small ranks are what takes time.
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
    let visited = model.moe.map_or(0, |moe| moe.top_k) as f64 * scenario.imbalance();
    let tokens = scenario.tokens_per_rank();
    // A rank holds its part of the experts and of every matrix.
    let share = |linear: &Linear| match linear.experts {
        None => (1.0, 1.0 / layout.tp as f64),
        Some(experts) => (visited, experts as f64 / (layout.ep * layout.etp) as f64),
    };
    for linear in adapter.beside_apart(model, kind) {
        let (rows, kept) = share(&linear);
        let rows = rows * tokens;
        let widths = (linear.input + linear.output) as f64 / layout.tp as f64;
        let moved = passes(rates.fused).map(|(input, output)| {
            let width = input * linear.input as f64 + output * linear.output as f64;
            rates.element * rows * width / layout.tp as f64 / rates.elementwise.0
        });
        let products = 2.0 * rows * adapter.rank as f64 * widths / rates.gemm_plain.0;
        let launches = 2.0 * rates.launch.0;
        time.linear[0] += products + launches;
        time.linear[1] += products + launches;
        time.linear[2] += products + launches;
        time.elementwise.0 += moved[0];
        time.elementwise.1 += moved[1];
        if adapter.method == AdapterMethod::Dora {
            let elements = kept * linear.elements() as f64;
            time.elementwise.0 += MAGNITUDES * elements / rates.elementwise.0;
        }
    }
    if let Some(base) = adapter.base.filter(|_| !adapter.is_read_by(scenario.precision)) {
        let elements: f64 = linears(model, kind).iter().map(|linear| share(linear).1 * linear.elements() as f64).sum();
        let unpacked = base.bytes(model.hidden as f64) + UNPACKED;
        let (forward, backward) =
            if base.stays_unpacked() { (NARROW * UNPACKED_BY_OPERATORS, 0.0) } else { (unpacked, unpacked) };
        time.elementwise.0 += forward * elements / rates.elementwise.0;
        time.elementwise.1 += backward * elements / rates.elementwise.0;
    }
}
