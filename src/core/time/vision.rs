//! Time of a vision tower in front of the first stage: patches, layers of plain attention and FFN, a projector.
//!
//! Source: layers and tokens as the uneven-pipeline note counts them, `N = ceil(W/p) ceil(H/p)` tokens an image,
//! attention over all of them. A frozen tower has no backward pass; its projector has.

use super::attention::{Core, core};
use super::elementwise::activation;
use super::gemm::{Output, linear};
use super::rates::Rates;
use crate::model::Vision;
use crate::run::Scenario;

/// Width of a head where the tower does not say: as the published towers of a billion parameters and more.
const HEAD: f64 = 128.0;

/// Forward, input-gradient and weight-gradient seconds of the tower for one micro-batch on one rank: on ranks of its
/// own for those of all replicas of the language model that it serves. Of images of several sizes the mean micro-batch.
pub(crate) fn tower_time(scenario: &Scenario, rates: &Rates, vision: Vision, weight: Output) -> [f64; 3] {
    if !vision.image_sizes.differ() {
        return of_one_size(scenario, rates, vision, weight);
    }
    let mut sum = [0.0; 3];
    for (alone, share) in vision.by_size() {
        for (sum, time) in sum.iter_mut().zip(of_one_size(scenario, rates, alone, weight)) {
            *sum += share * time;
        }
    }
    sum
}

/// Forward, input-gradient and weight-gradient seconds of [`tower_time`] where all images have one size.
fn of_one_size(scenario: &Scenario, rates: &Rates, vision: Vision, weight: Output) -> [f64; 3] {
    let t = if vision.is_apart() { vision.tp } else { scenario.layout.tp } as f64;
    let images = scenario.sequences() as f64 * vision.images_a_sequence() * scenario.tower_share();
    if images <= 0.0 {
        return [0.0; 3];
    }
    let patches = vision.patches() as f64;
    let n = patches * images;
    let (h, q, f) = (vision.hidden as f64, vision.queries() as f64, vision.ffn as f64);
    let mut sum = [0.0; 3];
    let mut add = |times: [f64; 3], count: f64| {
        for (sum, time) in sum.iter_mut().zip(times) {
            *sum += time * count;
        }
    };
    let layers = vision.layers as f64;
    let up = if vision.gated { 2.0 * f } else { f };
    for (k, out) in [(h, 3.0 * q / t), (q / t, h), (h, up / t), (f / t, h)] {
        add(linear(rates, n, k, out, weight), layers);
    }
    let all_heads = if vision.heads > 0 { vision.heads as f64 } else { q / HEAD };
    let heads = (all_heads / t).max(1.0);
    for (layers, keys) in vision.attention() {
        let (forward, backward) = core::<f64>(
            rates,
            Core {
                heads,
                head_width: q / t / heads,
                tokens: n,
                keys: keys as f64,
                ring: 1.0,
                causal: false,
                fused: scenario.run.runs_flash_attention(),
                dropout: false,
            },
        );
        add([forward, backward, 0.0], layers as f64);
    }
    let e = rates.element;
    let gelu = activation(vision.gated, f / t, e, true);
    let per_token = n / rates.elementwise.0;
    add(
        [
            (10.0 * e * h + gelu.0) * per_token + rates.host.0 / 3.0,
            (12.0 * e * h + gelu.1) * per_token + rates.host.0 * (2.0 / 3.0),
            0.0,
        ],
        layers,
    );
    add(linear(rates, n, vision.patch_elements() as f64, h, weight), 1.0);
    if vision.frozen {
        sum = [sum[0], 0.0, 0.0];
    }
    add_projector(&mut sum, scenario, rates, (vision, images), weight);
    sum
}

/// Adds the seconds of the projector, which no freezing of the tower spares, for so many images.
fn add_projector(
    sum: &mut [f64; 3],
    scenario: &Scenario,
    rates: &Rates,
    (vision, images): (Vision, f64),
    weight: Output,
) {
    let merged = vision.tokens() as f64 * images;
    if merged <= 0.0 {
        return;
    }
    let wide = scenario.model.hidden;
    let [input, inner] = [vision.projector_input(), vision.projector_width(wide)].map(|width| width as f64);
    let matrices = [(input, inner), (inner, wide as f64)];
    let matrices = if vision.pooled { vec![(input, wide as f64)] } else { matrices.to_vec() };
    let projectors = 1.0 + vision.deepstack as f64;
    for (k, out) in matrices {
        for (sum, time) in sum.iter_mut().zip(linear(rates, merged, k, out, weight)) {
            *sum += projectors * time;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::vision_flops;
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
        assert!((vision_flops(&vision, 4096) / 8.75e12 - 1.0).abs() < 0.02);
        assert!(time > flops / rates.gemm.0 && time < 6.0 * flops / rates.gemm.0);
    }
}
