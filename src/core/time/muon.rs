//! Muon's addition to an update: five Newton-Schulz steps for every hidden matrix, and the shards it needs whole.
//!
//! A step of an m x n momentum, m at most n, multiplies `X Xᵀ`, its square, and the polynomial with `X`: `4 m² n + 2
//! m³` FLOPs. Whole matrices are spread over the ranks that share states; tensor-parallel ranks gather the momentum in
//! fp32 and repeat the steps. Source: Megatron-LM `optimizer/muon.py` (`--muon-tp-mode duplicated`), Moonlight section
//! 2.

use super::rates::Rates;
use crate::explain::Quantity;
use crate::explain::symbols::{NARROW_SIDE, WIDE_SIDE};
use crate::model::{Architecture, Ffn, Mixer, Mla, stage_elements};
use crate::run::{Optimizer, Scenario};

/// Newton-Schulz steps.
const STEPS: f64 = 5.0;
/// Bytes of a momentum that tensor-parallel ranks gather.
const MOMENTUM: f64 = 4.0;

/// Rows and columns of a hidden matrix, how many of it, and ranks that share it.
type Matrix = (f64, f64, f64, f64);

/// The hidden matrices of a rank's stages, of all experts.
#[derive(Default)]
struct Matrices {
    /// Outside the routed experts.
    dense: Vec<Matrix>,
    experts: Vec<Matrix>,
}

/// FLOPs of the steps of a `rows` x `columns` matrix.
fn flops<Q: Quantity>(rows: f64, columns: f64) -> Q {
    let (m, n) = (NARROW_SIDE.of::<Q>(rows.min(columns)), WIDE_SIDE.of::<Q>(rows.max(columns)));
    (m * m * n * 4.0 + m * m * m * 2.0) * STEPS
}

/// FLOPs of the steps of the first hidden matrix of `stages`; none where they have none.
pub(crate) fn first_matrix<Q: Quantity>(scenario: &Scenario, stages: &[usize]) -> Option<Q> {
    let Matrices { dense, experts } = Matrices::of(scenario, stages);
    dense.iter().chain(&experts).next().map(|(rows, columns, ..)| flops(*rows, *columns))
}

/// Seconds that a rank with `stages` takes for the steps of the matrices among the `sharded` parameters that it
/// updates; 0 for other optimizers. The vocabulary, which Adam steps, has no part in it.
pub(crate) fn seconds(scenario: &Scenario, rates: &Rates, stages: &[usize], sharded: f64) -> f64 {
    if scenario.run.optimizer != Optimizer::Muon {
        return 0.0;
    }
    let Matrices { dense, experts } = Matrices::of(scenario, stages);
    let (layout, zero) = (&scenario.layout, scenario.zero);
    // Ranks that spread the matrices of a group over each other.
    let groups =
        if zero.stage == 0 { [1; 2] } else { [zero.shard * zero.outer, zero.expert_shard * zero.expert_outer] };
    let shares = [groups[0] as f64, (layout.ep * groups[1]) as f64];
    let sum = |of: fn(&Matrix) -> f64| -> f64 {
        let lists = [&dense, &experts].into_iter().zip(shares);
        lists.map(|(list, share)| list.iter().map(of).sum::<f64>() / share).sum()
    };
    let work = sum(|(rows, columns, count, _)| count * flops::<f64>(*rows, *columns));
    let gathered = sum(|(rows, columns, count, ranks)| MOMENTUM * count * rows * columns * (ranks - 1.0) / ranks);
    let time = work / rates.gemm_plain.0 + gathered / scenario.gpu.intra.0;
    if scenario.adapter.is_none() {
        return time;
    }
    // Adapters: as much for each of their parameters as for each of the model's.
    let held = |stage: &usize| {
        let predicts = scenario.modules_on(*stage) > 0;
        let elements = stage_elements(&scenario.model, &scenario.stage_layers, *stage, predicts);
        let [dense, experts] = groups.map(|group| group as f64);
        elements.dense_per_rank(&scenario.model, layout.tp) / dense
            + elements.experts_per_rank(layout.ep, layout.etp) / experts
    };
    time * sharded / stages.iter().map(held).sum::<f64>().max(1.0)
}

impl Matrices {
    fn of(scenario: &Scenario, stages: &[usize]) -> Self {
        let model = &scenario.model;
        let (t, etp) = (scenario.layout.tp as f64, scenario.layout.etp as f64);
        let mut matrices = Self::default();
        for stage in stages {
            for (kind, layers) in scenario.kinds_on(*stage).iter() {
                mixer(model, kind.mixer, *layers as f64, t, &mut matrices.dense);
                ffn(model, kind.ffn, *layers as f64, [t, etp], &mut matrices);
            }
        }
        matrices
    }
}

/// Matrices of an FFN of `layers` layers.
fn ffn(model: &Architecture, ffn: Ffn, layers: f64, [t, etp]: [f64; 2], lists: &mut Matrices) {
    let h = model.hidden as f64;
    let up = if model.gated_ffn { 2.0 } else { 1.0 };
    let pair = |width: f64, input: f64, count: f64, ranks: f64| {
        [(up * width, input, count, ranks), (input, width, count, ranks)]
    };
    if ffn.is_dense() {
        lists.dense.extend(pair(model.ffn as f64, h, layers, t));
    }
    if let Some(moe) = model.moe.filter(|_| ffn.is_routed()) {
        let input = moe.input(model.hidden) as f64;
        lists.experts.extend(pair(moe.expert_ffn as f64, input, layers * moe.experts as f64, etp));
        let shared = (moe.shared_experts * moe.expert_ffn) as f64;
        lists.dense.extend(pair(shared, h, layers, t));
        if moe.latent > 0 {
            lists.dense.extend([(input, h, layers, 1.0), (h, input, layers, 1.0)]);
        }
    }
}

/// Projections of `layers` layers with `mixer`, queries, keys and values apart; Adam steps the input projection of
/// Mamba-2. Source: Megatron-LM `mamba_mixer.py`, `use_muon`.
fn mixer(model: &Architecture, mixer: Mixer, layers: f64, t: f64, list: &mut Vec<Matrix>) {
    let h = model.hidden as f64;
    if let (Mixer::Latent | Mixer::Sparse, Some(mla)) = (mixer, model.mla) {
        return latent(model, mla, layers, t, list);
    }
    let (projected, inner) = match (mixer, model.mamba, model.delta_net, model.kda) {
        (Mixer::Mamba, Some(sizes), ..) => {
            return list.push((h, sizes.inner() as f64, layers, t));
        }
        (Mixer::DeltaNet, _, Some(sizes), _) => (2 * (sizes.keys() + sizes.values()), sizes.values()),
        (Mixer::Kda, _, _, Some(sizes)) => (4 * sizes.inner(), sizes.inner()),
        _ => {
            let Some(heads) = model.attention_heads(mixer) else {
                return;
            };
            let keys = heads.projected_kv() as f64 / 2.0;
            return list.extend([
                (heads.queries() as f64, h, layers, t),
                (keys, h, 2.0 * layers, t),
                (h, heads.output() as f64, layers, t),
            ]);
        }
    };
    list.extend([(projected as f64, h, layers, t), (h, inner as f64, layers, t)]);
}

/// Projections of latent attention; those down are whole on every rank.
fn latent(model: &Architecture, mla: Mla, layers: f64, t: f64, list: &mut Vec<Matrix>) {
    let (h, a) = (model.hidden as f64, model.heads as f64);
    let (nope, rope) = (mla.qk_nope_head_dim as f64, mla.qk_rope_head_dim as f64);
    let (value, rank) = (mla.v_head_dim as f64, mla.kv_lora_rank as f64);
    let query = a * (nope + rope);
    list.extend([(rank + rope, h, layers, 1.0), (a * (nope + value), rank, layers, t), (h, a * value, layers, t)]);
    if mla.q_lora_rank > 0 {
        let q = mla.q_lora_rank as f64;
        list.extend([(q, h, layers, 1.0), (query, q, layers, t)]);
    } else {
        list.push((query, h, layers, t));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, Run};

    fn flops(rows: f64, columns: f64) -> f64 {
        super::flops(rows, columns)
    }

    /// `20 m² n + 10 m³` of a 4096 x 14336 matrix: 5.5 TFLOP, 9.4e4 a parameter: the closed form.
    #[test]
    fn a_matrix_of_llama_8b_takes_5_5_teraflops() {
        let work = flops(4096.0, 14336.0);
        assert!((work / 5.5e12 - 1.0).abs() < 0.01, "{work}");
        assert!((work / (4096.0 * 14336.0) / 9.4e4 - 1.0).abs() < 0.01);
    }

    /// Nemotron 3 Nano: 23 of 52 layers are Mamba-2, whose input projection Adam steps, and 6 attention: the steps are
    /// those of its matrices layer by layer, `20 m² n + 10 m³` each.
    #[test]
    fn a_hybrid_model_steps_the_matrices_of_each_kind_of_layer() {
        let run =
            Run { model: Based::preset("nemotron-3-nano"), optimizer: Optimizer::Muon, tp: 1, pp: 1, ..Run::default() };
        let scenario = Scenario::new(&run).unwrap();
        let (h, model) = (2688.0, &scenario.model);
        let (moe, mamba) = (model.moe.unwrap(), model.mamba.unwrap());
        let (q, kv) = (32.0 * 128.0, 2.0 * 128.0);
        let (inner, wide) = (mamba.inner() as f64, moe.expert_ffn as f64);
        let shared = wide * moe.shared_experts as f64;
        let experts = moe.experts as f64 * 2.0 * flops(wide, h) + 2.0 * flops(shared, h);
        let attention = 2.0 * flops(q, h) + 2.0 * flops(kv, h);
        let by_hand = 6.0 * attention + 23.0 * (flops(inner, h) + experts);
        let ours = all(&scenario, &[0]);
        assert!((ours / by_hand - 1.0).abs() < 1e-12, "{ours} {by_hand}");
    }

    /// The closed form over 6 FLOPs a parameter and token: 6 % of DeepSeek-V3's training FLOPs at 4 M tokens, 0.4 % at
    /// 63 M.
    #[test]
    fn muon_takes_6_percent_of_deepseek_v3_at_4_m_tokens_and_0_4_at_63_m() {
        let run = Run {
            model: Based::preset("deepseek-v3"),
            optimizer: Optimizer::Muon,
            gpus: 2048,
            tp: 1,
            pp: 16,
            ep: 64,
            seq_len: 4096,
            global_batch: 15360,
            ..Run::default()
        };
        let scenario = Scenario::new(&run).unwrap();
        let model = &scenario.model;
        let stages: Vec<usize> = (0..scenario.stage_layers.len()).collect();
        let work = all(&scenario, &stages);
        for (tokens, share) in [(4e6, 0.06), (63e6, 0.004)] {
            let training = 6.0 * model.elements().active() as f64 * tokens;
            let ours = work / training;
            assert!((0.6..1.4).contains(&(ours / share)), "{ours} {share}");
        }
    }

    /// Megatron-LM `optimizer/muon.py`, mode `duplicated`: every tensor-parallel rank steps whole matrices, which takes
    /// no rank less, and gathers what it has not. Experts of ETP 1 are whole where they are, so that tensor
    /// parallelism gathers none of them.
    #[test]
    fn tensor_parallel_ranks_repeat_the_steps() {
        let of = |model, tp, ep| {
            let mut run = Run { optimizer: Optimizer::Muon, tp, pp: 1, zero: 0, ..Run::default() };
            (run.model, run.ep) = (Based::preset(model), ep);
            let scenario = Scenario::new(&run).unwrap();
            let rates = Rates::of(&scenario);
            (seconds(&scenario, &rates, &[0], 1.0), all(&scenario, &[0]) / rates.gemm_plain.0, scenario)
        };
        let (one, work, _) = of("llama-3.1-8b", 1, 1);
        assert!((one / work - 1.0).abs() < 1e-12);
        let (four, work, scenario) = of("llama-3.1-8b", 4, 1);
        // 4 bytes of 3/4 of the layers' 6.98 G elements.
        let gathered = 4.0 * 0.75 * 6.979_321_856e9 / scenario.gpu.intra.0;
        assert!(((four - work) / gathered - 1.0).abs() < 1e-9, "{}", (four - work) / gathered);
        let (_, work, scenario) = of("mixtral-8x7b", 2, 8);
        let experts = 32.0 * 8.0 * (flops(28672.0, 4096.0) + flops(14336.0, 4096.0));
        let dense = 32.0 * (2.0 * flops(4096.0, 4096.0) + 2.0 * flops(1024.0, 4096.0));
        let rates = Rates::of(&scenario);
        assert!((work * rates.gemm_plain.0 / (experts + dense) - 1.0).abs() < 1e-12);
        let attention = 32.0 * (2.0 * 4096.0 * 4096.0 + 2.0 * 1024.0 * 4096.0);
        let by_hand = (experts / 8.0 + dense) / rates.gemm_plain.0 + 4.0 * 0.5 * attention / scenario.gpu.intra.0;
        assert!((seconds(&scenario, &rates, &[0], 1.0) / by_hand - 1.0).abs() < 1e-9);
    }

    /// FLOPs of all matrices of `stages`, once.
    fn all(scenario: &Scenario, stages: &[usize]) -> f64 {
        let Matrices { dense, experts } = Matrices::of(scenario, stages);
        dense.iter().chain(&experts).map(|(rows, columns, count, _)| count * flops(*rows, *columns)).sum()
    }
}
