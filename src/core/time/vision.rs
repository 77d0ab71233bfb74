//! Time of a vision tower in front of the first stage: patches, layers of plain attention and FFN, a projector.
//!
//! Source: layers and tokens as the uneven-pipeline note counts them, `N = ceil(W/p) ceil(H/p)` tokens an image, one
//! image a sequence, attention over all of them. A frozen tower has no backward pass; its projector has.

use super::attention::{Core, core};
use super::elementwise::activation;
use super::gemm::{Output, linear};
use super::rates::Rates;
use crate::model::Vision;
use crate::run::Scenario;

/// Width of a head where the tower does not say: as the published towers of a billion parameters and more.
const HEAD: f64 = 128.0;

/// Forward, input-gradient and weight-gradient seconds of the tower for one micro-batch on one rank.
pub(crate) fn tower_time(scenario: &Scenario, rates: &Rates, vision: Vision, weight: Output) -> [f64; 3] {
    let t = scenario.layout.tp as f64;
    let images = scenario.run.micro_batch as f64;
    let patches = vision.patches() as f64;
    let n = patches * images;
    let (h, f) = (vision.hidden as f64, vision.ffn as f64);
    let mut sum = [0.0; 3];
    let mut add = |times: [f64; 3], count: f64| {
        for (sum, time) in sum.iter_mut().zip(times) {
            *sum += time * count;
        }
    };
    let layers = vision.layers as f64;
    for (k, out) in [(h, 3.0 * h / t), (h / t, h), (h, f / t), (f / t, h)] {
        add(linear(rates, n, k, out, weight), layers);
    }
    let heads = (h / HEAD / t).max(1.0);
    let (forward, backward) = core(
        rates,
        Core {
            heads,
            head_width: h / t / heads,
            tokens: n,
            keys: patches,
            ring: 1.0,
            causal: false,
            fused: scenario.run.runs_flash_attention(),
            dropout: false,
        },
    );
    let e = rates.element;
    let gelu = activation(false, f / t, e, true);
    let per_token = n / rates.elementwise.0;
    add(
        [
            forward + (10.0 * e * h + gelu.0) * per_token + rates.host.0 / 3.0,
            backward + (12.0 * e * h + gelu.1) * per_token + rates.host.0 * (2.0 / 3.0),
            0.0,
        ],
        layers,
    );
    let patch = (vision.channels * vision.patch * vision.patch) as f64;
    let wide = scenario.model.hidden as f64;
    add(linear(rates, n, patch, h, weight), 1.0);
    if vision.frozen {
        sum = [sum[0], 0.0, 0.0];
    }
    for (k, out) in [(h, wide), (wide, wide)] {
        for (sum, time) in sum.iter_mut().zip(linear(rates, n, k, out, weight)) {
            *sum += time;
        }
    }
    sum
}

/// FLOPs of an image, forward and backward, as [`tower_time`] runs it: of N tokens with width h and FFN f,
/// `L (N (8 h² + 4 h f) + 4 N² h)`, the patches' embedding and a projector of two products; backward is twice forward,
/// and none of a frozen tower.
pub(crate) fn tower_flops(vision: Vision, wide: u64) -> f64 {
    let n = vision.patches() as f64;
    let (h, f, wide) = (vision.hidden as f64, vision.ffn as f64, wide as f64);
    let layer = n * (8.0 * h * h + 4.0 * h * f) + 4.0 * n * n * h;
    let patch = (vision.channels * vision.patch * vision.patch) as f64;
    let tower = vision.layers as f64 * layer + 2.0 * n * patch * h;
    let projector = 2.0 * n * (h * wide + wide * wide);
    let passes = if vision.frozen { 1.0 } else { 3.0 };
    passes * tower + 3.0 * projector
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;

    /// Uneven-pipeline note, case 2: image 224, patch 14, 28 layers of width 4096. The tower's FLOPs are those of 7.3
    /// LLM layers of its LLM at 1024 tokens (8.75e12 over 1.195e12); its smaller batches make it cost more, not less.
    #[test]
    fn the_tower_of_the_uneven_note_costs_more_than_seven_of_its_llm_layers() {
        let scenario = Scenario::new(&Run::default()).unwrap();
        let rates = Rates::of(&scenario);
        let vision = Vision::of_the_uneven_note(4096);
        let time: f64 = tower_time(&scenario, &rates, vision, Output::Added(4.0)).iter().sum();
        let flops = 8.75e12 / 2.0;
        assert!((tower_flops(vision, 4096) / 8.75e12 - 1.0).abs() < 0.02);
        assert!(time > flops / rates.gemm.0 && time < 6.0 * flops / rates.gemm.0);
    }
}
