//! What Muon adds to an update: five Newton-Schulz steps for every hidden matrix, and the shards it needs whole.
//!
//! A step of an m x n momentum, m at most n, multiplies `X Xᵀ`, its square, and the polynomial with `X`: `4 m² n + 2 m³`
//! FLOPs. Whole matrices are spread over the ranks that share states; tensor-parallel ranks gather the momentum in fp32
//! and repeat the steps. Source: Megatron-LM `optimizer/muon.py` (`--muon-tp-mode duplicated`), Moonlight section 2.

use super::rates::Rates;
use crate::model::{Architecture, Moe};
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

/// Seconds a parameter that a rank updates; 0 for other optimizers.
#[must_use]
pub(crate) fn seconds_a_parameter(scenario: &Scenario, rates: &Rates) -> f64 {
    if scenario.run.optimizer != Optimizer::Muon {
        return 0.0;
    }
    let gathered = MOMENTUM * (scenario.layout.tp as f64 - 1.0) / scenario.gpu.intra.0;
    flops_a_parameter(scenario) / rates.gemm_plain.0 + gathered
}

/// FLOPs a parameter on a rank: those of whole matrices over their elements, once for each rank that has a part.
#[must_use]
pub(crate) fn flops_a_parameter(scenario: &Scenario) -> f64 {
    let model = &scenario.model;
    let (t, etp) = (scenario.layout.tp as f64, scenario.layout.etp as f64);
    let (mut work, mut elements) = (0.0, 0.0);
    for (rows, columns, count, ranks) in matrices(model, t, etp) {
        work += count * flops(rows, columns) * ranks;
        elements += count * rows * columns;
    }
    let ends = model.embedding().total() + model.head().total();
    let adam = if model.tied_embeddings {
        ends / 2
    } else {
        ends
    };
    work / (elements + adam as f64)
}

fn matrices(model: &Architecture, t: f64, etp: f64) -> Vec<Matrix> {
    let (h, layers) = (model.hidden as f64, model.layers as f64);
    let up = if model.gated_ffn { 2.0 } else { 1.0 };
    let routed = model.moe_layers() as f64;
    let mut list = attention(model, layers, t);
    let kinds = model.all_kinds();
    let dense = kinds.iter().filter(|(kind, _)| kind.ffn.is_dense());
    let dense: f64 = dense.map(|(_, count)| *count as f64).sum();
    list.push((up * model.ffn as f64, h, dense, t));
    list.push((h, model.ffn as f64, dense, t));
    if let Some(Moe {
        experts,
        expert_ffn,
        shared_experts,
        ..
    }) = model.moe
    {
        let (width, many) = (expert_ffn as f64, routed * experts as f64);
        list.push((up * width, h, many, etp));
        list.push((h, width, many, etp));
        let shared = (shared_experts * expert_ffn) as f64;
        list.push((up * shared, h, routed, t));
        list.push((h, shared, routed, t));
    }
    list
}

/// Projections of `layers` layers, queries, keys and values apart.
fn attention(model: &Architecture, layers: f64, t: f64) -> Vec<Matrix> {
    let (h, a) = (model.hidden as f64, model.heads as f64);
    let Some(mla) = model.mla else {
        let (q, kv) = (model.query_width() as f64, model.kv_width() as f64);
        return vec![(q, h, 2.0 * layers, t), (kv, h, 2.0 * layers, t)];
    };
    let (nope, rope) = (mla.qk_nope_head_dim as f64, mla.qk_rope_head_dim as f64);
    let (value, rank) = (mla.v_head_dim as f64, mla.kv_lora_rank as f64);
    let query = a * (nope + rope);
    let mut list = vec![
        (rank + rope, h, layers, 1.0),
        (a * (nope + value), rank, layers, t),
        (h, a * value, layers, t),
    ];
    if mla.q_lora_rank > 0 {
        let q = mla.q_lora_rank as f64;
        list.extend([(q, h, layers, 1.0), (query, q, layers, t)]);
    } else {
        list.push((query, h, layers, t));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Based, Run};

    /// `20 m² n + 10 m³` of a 4096 x 14336 matrix: 5.5 TFLOP, 9.4e4 a parameter (survey, section 6).
    #[test]
    fn a_matrix_of_llama_8b_takes_5_5_teraflops() {
        let work = flops(4096.0, 14336.0);
        assert!((work / 5.5e12 - 1.0).abs() < 0.01, "{work}");
        assert!((work / (4096.0 * 14336.0) / 9.4e4 - 1.0).abs() < 0.01);
    }

    /// Survey, section 6: 6 % of DeepSeek-V3's training FLOPs at 4 M tokens, 0.4 % at 63 M.
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
        let work = flops_a_parameter(&scenario) * model.elements().total() as f64;
        for (tokens, share) in [(4e6, 0.06), (63e6, 0.004)] {
            let training = 6.0 * model.elements().active() as f64 * tokens;
            let ours = work / training;
            assert!((0.6..1.4).contains(&(ours / share)), "{ours} {share}");
        }
    }

    #[test]
    fn tensor_parallel_ranks_repeat_the_steps() {
        let of = |tp| {
            let run = Run {
                optimizer: Optimizer::Muon,
                tp,
                ..Run::default()
            };
            flops_a_parameter(&Scenario::new(&run).unwrap())
        };
        assert!((of(4) / of(1) - 4.0).abs() < 1e-9);
    }
}
