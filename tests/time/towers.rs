//! Vision towers: their FLOPs count, and a run without images is the run of its language model.

use crate::common::table;
use shardscope::core::report::{Report, evaluate};
use shardscope::io::link::decode;

fn report(link: &str) -> Report {
    evaluate(&decode(&format!("v=1&{link}")).run).unwrap_or_else(|issues| panic!("{issues:?}: {link}")).report
}

const QWEN: &str = "model.base=qwen-3.5-27b&gpus=64&tp=8&pp=1&seq_len=4096&global_batch=64&stack=megatron-2026";

/// Another program's table: Qwen3.5's tower and projector have 412.8 and 44.8 million parameters and take 5.561 TFLOP
/// forward of an image of 1,024 pixels a side; trained, three times that for every one of the 64 sequences.
#[test]
fn a_tower_counts_in_parameters_flops_and_time() {
    let rows = table("layouts/encoders.csv");
    let row = rows.iter().find(|row| row["id"] == "qwen3.5-27b").unwrap();
    let cell = |column: &str| row[column].parse::<f64>().unwrap();
    let text = report(QWEN);
    let seen = report(&format!("{QWEN}&model.vision.base=qwen3.5"));
    let added = (seen.parameters.total - text.parameters.total) as f64 / 1e6;
    assert!((added / (cell("tower_Mparams") + cell("projector_Mparams")) - 1.0).abs() < 2e-3, "{added}");
    let flops = |report: &Report| report.step.mfu * report.step.time_s.0 * 64.0 * 1e12;
    let peak = seen.step.peak.rate().0 / 1e12;
    let more = (flops(&seen) - flops(&text)) * peak;
    let expected = 64.0 * 3.0 * cell("fwd_TFLOP_1024") * 1e12;
    assert!((more / expected - 1.0).abs() < 0.02, "{more} {expected}");
    assert!(seen.step.time_s > text.step.time_s);
    // Images count by their number: two of them take twice the FLOPs.
    let two = report(&format!("{QWEN}&model.vision.base=qwen3.5&model.vision.images=2"));
    assert!((((flops(&two) - flops(&text)) * peak) / (2.0 * expected) - 1.0).abs() < 0.02);
    // A frozen tower has forward passes alone.
    let frozen = report(&format!("{QWEN}&model.vision.base=qwen3.5&model.vision.frozen=true"));
    let forward = (flops(&frozen) - flops(&text)) * peak;
    assert!(forward < 0.4 * more && forward > 0.33 * more);
}

/// Images that take more tokens than the sequence has are named at their field.
#[test]
fn more_images_than_a_sequence_holds_are_named() {
    let warned = |images: u64| {
        let report = report(&format!("{QWEN}&model.vision.base=qwen3.5&model.vision.images={images}"));
        report.warnings.iter().any(|issue| issue.field == "model.vision.images")
    };
    // 1,024 tokens each, of 4,096.
    assert!(!warned(4) && warned(5));
}
