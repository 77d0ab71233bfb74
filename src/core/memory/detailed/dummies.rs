//! Transformer Engine's dummy weight gradients.

use super::holding::{is_last, kinds, layers_of, padded_vocabulary};
use crate::memory::estimate::RankLoad;
use crate::run::Scenario;

/// One buffer in the precision of the passes for every distinct shape (out, in) of a linear on the rank: in bf16
/// `2 Σ out · in`.
///
/// With fused gradient accumulation the weight gradient goes straight into the main gradient and a dummy of its shape
/// is handed to autograd. Source: Transformer Engine `module/base.py` `get_dummy_wgrad` (2.3 on, grouped linears 2.10
/// on); off with `--no-gradient-accumulation-fusion`.
#[must_use]
pub fn bytes(scenario: &Scenario, load: &RankLoad) -> f64 {
    let element = scenario.precision.computes.activation();
    let mut shapes = Shapes::default();
    for stage in &load.stages {
        let [(dense, _), (moe, _)] = kinds(scenario, &layers_of(scenario, *stage));
        if dense + moe > 0 {
            attention(scenario, &mut shapes);
        }
        if dense > 0 {
            let (ffn, tp) = (scenario.model.ffn, scenario.layout.tp);
            pair(scenario, ffn / tp, &mut shapes);
        }
        if moe > 0 {
            experts(scenario, &mut shapes);
        }
        if is_last(scenario, *stage) {
            let rows = padded_vocabulary(scenario) / scenario.layout.tp;
            shapes.insert((rows, scenario.model.hidden));
        }
    }
    shapes
        .0
        .into_iter()
        .map(|(out, input)| element * out as f64 * input as f64)
        .sum()
}

/// Shapes met so far, each once; a rank has a handful.
#[derive(Default)]
struct Shapes(Vec<(u64, u64)>);

impl Shapes {
    fn insert(&mut self, shape: (u64, u64)) {
        if !self.0.contains(&shape) {
            self.0.push(shape);
        }
    }
}

/// Up and down projection of an FFN of local width `ffn`.
fn pair(scenario: &Scenario, ffn: u64, shapes: &mut Shapes) {
    let model = &scenario.model;
    let up = if model.gated_ffn { 2 * ffn } else { ffn };
    shapes.insert((up, model.hidden));
    shapes.insert((model.hidden, ffn));
}

fn experts(scenario: &Scenario, shapes: &mut Shapes) {
    let Some(moe) = scenario.model.moe else {
        return;
    };
    pair(scenario, moe.expert_ffn / scenario.layout.etp, shapes);
    if moe.shared_experts > 0 {
        let width = moe.shared_experts * moe.expert_ffn;
        pair(scenario, width / scenario.layout.tp, shapes);
    }
}

fn attention(scenario: &Scenario, shapes: &mut Shapes) {
    let (model, tp) = (&scenario.model, scenario.layout.tp);
    let (h, a) = (model.hidden, model.heads);
    let Some(mla) = model.mla else {
        let (q, kv) = (model.query_width(), model.kv_width());
        shapes.insert((q / tp + 2 * kv / model.key_value_ranks(tp), h));
        shapes.insert((h, q / tp));
        return;
    };
    let query = a * (mla.qk_nope_head_dim + mla.qk_rope_head_dim) / tp;
    if mla.q_lora_rank > 0 {
        shapes.insert((mla.q_lora_rank, h));
        shapes.insert((query, mla.q_lora_rank));
    } else {
        shapes.insert((query, h));
    }
    shapes.insert((mla.kv_lora_rank + mla.qk_rope_head_dim, h));
    let key_value = a * (mla.qk_nope_head_dim + mla.v_head_dim) / tp;
    shapes.insert((key_value, mla.kv_lora_rank));
    shapes.insert((h, a * mla.v_head_dim / tp));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, Run};
    use crate::units::Bytes;

    /// Survey section 2.2, Llama-70B at t = 1: 1.59 GiB without the head and 3.55 with it.
    #[test]
    fn dummies_of_llama_70b_take_1_59_gib_and_3_55_with_the_head() {
        let run = Run {
            model: Based::preset("llama-3.1-70b"),
            tp: 1,
            pp: 2,
            ..Run::default()
        };
        let scenario = Scenario::new(&run).unwrap();
        for (stage, printed) in [(0, 1.59), (1, 3.55)] {
            let load = RankLoad {
                stages: vec![stage],
                in_flight: vec![1.0],
                weight_versions: 1,
            };
            let gib = Bytes(bytes(&scenario, &load)).gib();
            assert!((gib - printed).abs() < 0.006, "{gib}");
        }
    }
}
