//! Utilisation: the peak it is counted against, and the published ways to count FLOPs, against rows that print both
//! TFLOP/s and tokens a second. Their ratio is the FLOPs of a token as the program counts them.

use crate::common::{Row, scenario, table};
use shardscope::core::model::{Architecture, CountedBy};
use shardscope::core::report::evaluate;
use shardscope::core::time::ComputePeak;

fn count(by: CountedBy, model: &Architecture, seq: u64) -> f64 {
    by.convention().flops_per_token(model, seq).unwrap()
}

fn number(row: &Row, column: &str) -> Option<f64> {
    row[column].parse().ok()
}

/// Rows of the sources that contain `source`, with the FLOPs of a token that each implies.
fn printed(source: &str) -> Vec<(Row, f64)> {
    let rows = table("throughput.csv").into_iter();
    let rows = rows.filter(|row| row["source"].contains(source));
    let with_flops = |row: Row| {
        let rate = number(&row, "tflops_per_gpu")? * 1e12;
        let tokens = number(&row, "tokens_per_s_per_gpu")?;
        Some((row, rate / tokens))
    };
    rows.filter_map(with_flops).collect()
}

/// NVIDIA's Megatron-Bridge prints what Megatron's `num_floating_point_operations` gives; tokens a second are rounded,
/// so the median row of each model counts. With and without multi-token prediction, dense and routed.
#[test]
fn megatron_bridge_prints_what_megatron_counts() {
    let rows = printed("Megatron-Bridge");
    let experts = |active: &str, layers: u64, hidden: u64, heads: u64, ffn: u64| {
        format!(
            r#"{{"base":"{active}","layers":{layers},"hidden":{hidden},"heads":{heads},"kv_heads":4,"head_dim":128,
                "vocab":151936,"moe":{{"experts":128,"top_k":8,"expert_ffn":{ffn}}}}}"#
        )
    };
    for (name, model, seq) in [
        ("LLAMA3_8B", r#""llama-3.1-8b""#.to_owned(), 8192),
        ("LLAMA3_70B", r#""llama-3.1-70b""#.to_owned(), 8192),
        ("LLAMA3.1_405B", r#""llama-3.1-405b""#.to_owned(), 8192),
        ("DeepSeekV3", r#"{"base":"deepseek-v3","mtp_modules":1}"#.to_owned(), 4096),
        ("DeepSeekV3 (w/o MTP)", r#""deepseek-v3""#.to_owned(), 4096),
        ("Qwen3_30B_a3B", experts("mixtral-8x7b", 48, 2048, 32, 768), 4096),
        ("Qwen3_235B_a22B", experts("mixtral-8x7b", 94, 4096, 64, 1536), 4096),
    ] {
        let mut flops: Vec<f64> =
            rows.iter().filter(|(row, _)| row["model"] == name).map(|(_, flops)| *flops).collect();
        flops.sort_by(f64::total_cmp);
        let median = flops[flops.len() / 2];
        let run = format!(r#"{{"model":{model},"tp":1,"pp":1,"gpus":8,"seq_len":{seq}}}"#);
        let ours = count(CountedBy::Megatron, &scenario(&run).model, seq);
        assert!((ours / median - 1.0).abs() < 0.004, "{name}: {ours} {median}");
    }
}

/// llm-foundry counts `6 N + 12 L d s` with every parameter, as the `PaLM` paper does: 108 rows of MPT models.
#[test]
fn llm_foundry_prints_what_the_palm_paper_counts() {
    let rows = printed("llm-foundry");
    assert!(rows.len() > 100);
    for (row, flops) in rows {
        let [layers, hidden, ffn, heads, vocab, seq] =
            ["layers", "hidden", "ffn", "heads", "vocab", "seq"].map(|column| row[column].parse::<u64>().unwrap());
        let mpt = Architecture {
            gated_ffn: false,
            tied_embeddings: true,
            learned_positions: seq,
            ..Architecture::llama(layers, hidden, ffn, heads, heads, vocab)
        };
        let ours = count(CountedBy::Palm, &mpt, seq);
        // Both figures are printed as whole numbers.
        let rounded = |column: &str| 0.5 / number(&row, column).unwrap();
        let slack = 0.003 + rounded("tflops_per_gpu") + rounded("tokens_per_s_per_gpu");
        assert!((ours / flops - 1.0).abs() < slack, "{}: {ours} {flops}", row["model"]);
    }
}

/// NVIDIA's recipes (24.11) print 551.7 TFLOP/s as 55.78 % in bf16 and 886 as 44.77 % in fp8 on H100.
#[test]
fn utilisation_is_a_share_of_the_peak_that_computes() {
    for (precision, rate, printed) in [("bf16", 551.7, 0.5578), ("te-fp8", 886.0, 0.4477)] {
        let peak = ComputePeak::of(&scenario(&format!(r#"{{"precision":"{precision}"}}"#)));
        assert!((rate / peak.tflops - printed).abs() < 2e-4, "{precision}");
    }
    // A100 multiplies fp32 at 156 TFLOP/s in TF32 by NVIDIA's data sheet.
    let single = r#"{"gpu":"a100-sxm-80gb","precision":"fp32"}"#;
    assert_eq!(ComputePeak::of(&scenario(single)).tflops, 156.0);
}

/// H20's data sheet: 296 TFLOP/s in fp8, 148 in bf16. More than a hundred percent cannot be.
#[test]
fn fp8_on_h20_is_below_its_fp8_peak() {
    let request = r#"{"model":"llama-3.1-405b","gpu":"h20-sxm-96gb","gpus":512,"tp":8,"pp":16,
        "precision":"deepseek-fp8","global_batch":512,"seq_len":8192}"#;
    let step = evaluate(&scenario(request).run).unwrap().report.step;
    assert_eq!((step.peak.precision, step.peak.tflops), ("fp8", 296.0));
    assert!((step.mfu * 296.0 / step.tflops_per_gpu - 1.0).abs() < 1e-12);
    assert!(step.mfu < 1.0 && step.hfu < 1.0, "{}", step.mfu);
    // A dense model without multi-token prediction and router: our causal count is Megatron's.
    let [megatron, torchtitan, nanotron, palm] = &step.mfu_by[..] else {
        panic!("{:?}", step.mfu_by);
    };
    assert!((megatron.mfu / step.mfu - 1.0).abs() < 1e-12);
    assert!(megatron.mfu < nanotron.mfu && nanotron.mfu < torchtitan.mfu && torchtitan.mfu < palm.mfu);
}

/// Half of the square is the most that a causal mask leaves: a share of the peak above 1 counts what is not computed,
/// and says so.
#[test]
fn a_convention_above_the_peak_says_why() {
    let windows = r#"{"model":"gemma-3-27b","gpus":64,"seq_len":1048576,"pp":1,"tp":8,"cp":8,"cp_comm":"all-gather","global_batch":8}"#;
    let mut notes = 0;
    for json in [windows, "{}"] {
        for row in &evaluate(&scenario(json).run).unwrap().report.step.mfu_by {
            assert!(!row.counts.is_empty());
            assert_eq!(row.note.is_some(), row.mfu > 1.0, "{:?} {}", row.name, row.mfu);
            notes += usize::from(row.note.is_some());
        }
    }
    assert!(notes > 0);
}
