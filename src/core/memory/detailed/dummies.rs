//! Transformer Engine's dummy weight gradients.

use super::holding::{is_last, kinds_of};
use crate::explain::Quantity;
use crate::explain::symbols::{ELEMENT, LINEAR_IN, LINEAR_OUT};
use crate::memory::estimate::RankLoad;
use crate::model::{Mixer, Mla};
use crate::run::Scenario;

/// One buffer in the precision of the passes for every distinct shape (out, in) of a linear on the rank: in bf16
/// `2 Σ out · in`.
///
/// With fused gradient accumulation the weight gradient goes straight into the main gradient and a dummy of its shape
/// is handed to autograd. Source: Transformer Engine `module/base.py` `get_dummy_wgrad` (2.3 on, grouped linears 2.10
/// on); off with `--no-gradient-accumulation-fusion`.
pub fn bytes<Q: Quantity>(scenario: &Scenario, load: &RankLoad) -> Q {
    let element = scenario.precision.computes.activation();
    let mut shapes = Shapes::default();
    for stage in &load.stages {
        for (kind, _) in kinds_of(scenario, *stage).iter() {
            mixer(scenario, kind.mixer, &mut shapes);
            if kind.ffn.is_dense() {
                let (ffn, tp) = (scenario.model.ffn, scenario.layout.tp);
                pair(scenario, scenario.model.hidden, ffn / tp, &mut shapes);
            }
            if kind.ffn.is_routed() {
                experts(scenario, &mut shapes);
            }
        }
        if is_last(scenario, *stage) && !scenario.model.headless {
            let rows = scenario.padded_vocabulary() / scenario.layout.tp;
            shapes.insert((rows, scenario.model.hidden));
        }
    }
    let bytes = shapes.0.iter().map(|shape| dummy::<f64>(element, *shape)).sum();
    Q::added_up(bytes, || shapes.0.first().map_or(Q::number(0.0), |shape| dummy(element, *shape)))
}

/// Bytes of the dummy of one shape, `element` each.
fn dummy<Q: Quantity>(element: f64, (out, input): (u64, u64)) -> Q {
    ELEMENT.of::<Q>(element) * LINEAR_OUT.of::<Q>(out) * LINEAR_IN.of::<Q>(input)
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

/// Up and down projection of an FFN of local width `ffn` on tokens of width `input`.
fn pair(scenario: &Scenario, input: u64, ffn: u64, shapes: &mut Shapes) {
    let up = if scenario.model.gated_ffn { 2 * ffn } else { ffn };
    shapes.insert((up, input));
    shapes.insert((input, ffn));
}

fn experts(scenario: &Scenario, shapes: &mut Shapes) {
    let Some(moe) = scenario.model.moe else {
        return;
    };
    let h = scenario.model.hidden;
    let width = moe.input(h);
    pair(scenario, width, moe.expert_ffn / scenario.layout.etp, shapes);
    if moe.latent > 0 {
        shapes.insert((width, h));
        shapes.insert((h, width));
    }
    if moe.shared_experts > 0 {
        let width = moe.shared_experts * moe.expert_ffn;
        pair(scenario, h, width / scenario.layout.tp, shapes);
    }
}

fn mixer(scenario: &Scenario, mixer: Mixer, shapes: &mut Shapes) {
    let (model, tp) = (&scenario.model, scenario.layout.tp);
    let h = model.hidden;
    match mixer {
        Mixer::None => {}
        Mixer::Full | Mixer::Window | Mixer::Second | Mixer::Chunked => {
            if let Some(heads) = model.attention_heads(mixer) {
                let ranks = tp.min(heads.key_value).max(1);
                let gate = if model.output_gate { heads.output() } else { 0 };
                let query = (heads.queries() + gate) / tp;
                shapes.insert((query + heads.projected_kv() / ranks, h));
                shapes.insert((h, heads.output() / tp));
            }
        }
        Mixer::Latent | Mixer::Sparse => {
            if let Some(mla) = model.mla {
                latent(scenario, mla, shapes);
            }
        }
        Mixer::DeltaNet => {
            if let Some(own) = model.delta_net {
                let wide = 2 * (own.keys() + own.values() + own.value_heads);
                shapes.insert((wide / tp, h));
                shapes.insert((h, own.values() / tp));
            }
        }
        Mixer::Kda => {
            if let Some(own) = model.kda {
                shapes.insert((own.inner() / tp, h));
                shapes.insert((h, own.inner() / tp));
            }
        }
        Mixer::Mamba => {
            if let Some(own) = model.mamba {
                shapes.insert((own.projected() / tp, h));
                shapes.insert((h, own.inner() / tp));
            }
        }
        Mixer::Compressed(_) => {
            if let Some(own) = model.compressed {
                let (queries, grouped) = (model.query_width() / tp, own.o_groups * own.o_lora_rank);
                shapes.insert((own.q_lora_rank, h));
                shapes.insert((queries, own.q_lora_rank));
                shapes.insert((h, grouped / tp));
            }
        }
    }
}

fn latent(scenario: &Scenario, mla: Mla, shapes: &mut Shapes) {
    let (model, tp) = (&scenario.model, scenario.layout.tp);
    let (h, a) = (model.hidden, model.heads);
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

    /// `docs/methods/memory.md`, worked numbers: Llama-70B at t = 1: 1.59 GiB without the head and 3.55 with it.
    #[test]
    fn dummies_of_llama_70b_take_1_59_gib_and_3_55_with_the_head() {
        let run = Run { model: Based::preset("llama-3.1-70b"), tp: 1, pp: 2, ..Run::default() };
        let scenario = Scenario::new(&run).unwrap();
        for (stage, printed) in [(0, 1.59), (1, 3.55)] {
            let load = RankLoad { stages: vec![stage], in_flight: vec![1.0], weight_versions: 1 };
            let gib = Bytes(bytes::<f64>(&scenario, &load)).gib();
            assert!((gib - printed).abs() < 0.006, "{gib}");
        }
    }
}
