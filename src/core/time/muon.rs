//! Muon's addition to an update: five Newton-Schulz steps for every hidden matrix, and the shards it needs whole.
//!
//! A step of an m x n momentum, m at most n, multiplies `X Xᵀ`, its square, and the polynomial with `X`: `4 m² n + 2
//! m³` FLOPs. Whole matrices are spread over the ranks that share states; tensor-parallel ranks gather the momentum in
//! fp32 and repeat the steps. Source: Megatron-LM `optimizer/muon.py` (`--muon-tp-mode duplicated`), Moonlight section
//! 2.

use super::rates::Rates;
use crate::model::{Architecture, Ffn, Mixer, Mla};
use crate::run::{Optimizer, Scenario};

/// Newton-Schulz steps.
const STEPS: f64 = 5.0;
/// Bytes of a momentum that tensor-parallel ranks gather.
const MOMENTUM: f64 = 4.0;

/// Rows and columns of a hidden matrix, how many of it, and ranks that share it.
type Matrix = (f64, f64, f64, f64);

/// FLOPs of the steps of a `rows` x `columns` matrix.
fn flops(rows: f64, columns: f64) -> f64 {
    let (m, n) = (rows.min(columns), rows.max(columns));
    STEPS * (4.0 * m * m * n + 2.0 * m * m * m)
}

/// Seconds a parameter that a rank with `stages` updates; 0 for other optimizers.
pub(crate) fn seconds_a_parameter(scenario: &Scenario, rates: &Rates, stages: &[usize]) -> f64 {
    if scenario.run.optimizer != Optimizer::Muon {
        return 0.0;
    }
    let gathered = MOMENTUM * (scenario.layout.tp as f64 - 1.0) / scenario.gpu.intra.0;
    flops_a_parameter(scenario, stages) / rates.gemm_plain.0 + gathered
}

/// FLOPs a parameter on a rank with `stages`: those of whole matrices over their elements, once for each rank that has
/// a part.
pub(crate) fn flops_a_parameter(scenario: &Scenario, stages: &[usize]) -> f64 {
    let model = &scenario.model;
    let (t, etp) = (scenario.layout.tp as f64, scenario.layout.etp as f64);
    let mut matrices = Vec::new();
    let mut adam = 0.0;
    for stage in stages {
        for (kind, layers) in scenario.kinds_on(*stage).iter() {
            let layers = *layers as f64;
            adam += layers * mixer(model, kind.mixer, layers, t, &mut matrices);
            ffn(model, kind.ffn, layers, [t, etp], &mut matrices);
        }
    }
    let (first, last) = (stages.contains(&0), stages.contains(&scenario.last_stage()));
    let embedding = if first { model.embedding().total() } else { 0 };
    let head = if last && !(first && model.shares_embedding()) { model.head().total() } else { 0 };
    let (mut work, mut elements) = (0.0, (embedding + head) as f64 + adam);
    for (rows, columns, count, ranks) in matrices {
        work += count * flops(rows, columns) * ranks;
        elements += count * rows * columns;
    }
    if elements > 0.0 { work / elements } else { 0.0 }
}

/// Matrices of an FFN of `layers` layers.
fn ffn(model: &Architecture, ffn: Ffn, layers: f64, [t, etp]: [f64; 2], list: &mut Vec<Matrix>) {
    let h = model.hidden as f64;
    let up = if model.gated_ffn { 2.0 } else { 1.0 };
    let mut pair = |width: f64, input: f64, count: f64, ranks: f64| {
        list.extend([(up * width, input, count, ranks), (input, width, count, ranks)]);
    };
    if ffn.is_dense() {
        pair(model.ffn as f64, h, layers, t);
    }
    if let Some(moe) = model.moe.filter(|_| ffn.is_routed()) {
        let input = moe.input(model.hidden) as f64;
        pair(moe.expert_ffn as f64, input, layers * moe.experts as f64, etp);
        let shared = (moe.shared_experts * moe.expert_ffn) as f64;
        pair(shared, h, layers, t);
        if moe.latent > 0 {
            list.extend([(input, h, layers, 1.0), (h, input, layers, 1.0)]);
        }
    }
}

/// Projections of `layers` layers with `mixer`, queries, keys and values apart; returns the elements of one layer that
/// Adam steps, the input projection of Mamba-2. Source: Megatron-LM `mamba_mixer.py`, `use_muon`.
fn mixer(model: &Architecture, mixer: Mixer, layers: f64, t: f64, list: &mut Vec<Matrix>) -> f64 {
    let h = model.hidden as f64;
    if let (Mixer::Latent | Mixer::Sparse, Some(mla)) = (mixer, model.mla) {
        latent(model, mla, layers, t, list);
        return 0.0;
    }
    let (projected, inner) = match (mixer, model.mamba, model.delta_net, model.kda) {
        (Mixer::Mamba, Some(sizes), ..) => {
            list.push((h, sizes.inner() as f64, layers, t));
            return h * sizes.projected() as f64;
        }
        (Mixer::DeltaNet, _, Some(sizes), _) => (2 * (sizes.keys() + sizes.values()), sizes.values()),
        (Mixer::Kda, _, _, Some(sizes)) => (4 * sizes.inner(), sizes.inner()),
        _ => {
            let Some(heads) = model.attention_heads(mixer) else {
                return 0.0;
            };
            let keys = heads.projected_kv() as f64 / 2.0;
            list.extend([
                (heads.queries() as f64, h, layers, t),
                (keys, h, 2.0 * layers, t),
                (h, heads.output() as f64, layers, t),
            ]);
            return 0.0;
        }
    };
    list.extend([(projected as f64, h, layers, t), (h, inner as f64, layers, t)]);
    0.0
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
        let ours = flops_a_parameter(&scenario, &[0]) * model.elements().total() as f64;
        assert!((ours / by_hand - 1.0).abs() < 2e-3, "{ours} {by_hand}");
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
        let work = flops_a_parameter(&scenario, &stages) * model.elements().total() as f64;
        for (tokens, share) in [(4e6, 0.06), (63e6, 0.004)] {
            let training = 6.0 * model.elements().active() as f64 * tokens;
            let ours = work / training;
            assert!((0.6..1.4).contains(&(ours / share)), "{ours} {share}");
        }
    }

    #[test]
    fn tensor_parallel_ranks_repeat_the_steps() {
        let flops = |tp| {
            let run = Run { optimizer: Optimizer::Muon, tp, ..Run::default() };
            flops_a_parameter(&Scenario::new(&run).unwrap(), &[0])
        };
        assert!((flops(4) / flops(1) - 4.0).abs() < 1e-9);
    }
}
