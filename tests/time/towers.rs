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

/// Megatron-Bridge 067f987, `qwen35-vl-non-colocated-sft.md`, section 4: Qwen3.5-VL 27B with TP 4, PP 2, DP 2 on 16
/// GPUs, and one more for the tower, images of 768 pixels a side.
fn mimo(seq: u64, batch: u64, apart: bool) -> Report {
    let own = if apart { "&gpus=17&model.vision.placement=own-ranks" } else { "&gpus=16" };
    report(&format!(
        "model.base=qwen-3.5-27b&model.vision.base=qwen3.5&model.vision.image_width=768&model.vision.image_height=768\
            &tp=4&pp=2&seq_len={seq}&global_batch={batch}&stack=megatron-2026&gpu=h100-sxm-80gb{own}"
    ))
}

/// A rank of its own is never slower than the first stage. The measured gains of the four cells with images of one size
/// are larger than those here: sequences there are as long as their samples, of which the table says a maximum alone,
/// and the tower under TP 4 is bound by its host, by no count that is printed.
#[test]
fn a_tower_on_a_rank_of_its_own_shortens_the_step_as_measured_in_part() {
    let rows = table("layouts/mimo_measured.csv");
    assert_eq!(rows.len(), 12);
    let mut errors = Vec::new();
    for row in rows.iter().filter(|row| row["data"].starts_with("RDR")) {
        let (seq, batch) = (row["seq"].parse().unwrap(), row["global_batch"].parse().unwrap());
        let [first, own] = [false, true].map(|apart| mimo(seq, batch, apart).step.time_s.0);
        let (ours, measured) = (100.0 * (1.0 - own / first), row["wall_less_percent"].parse::<f64>().unwrap());
        println!("seq {seq}, batch {batch}: {ours:.1} % less, measured {measured} %");
        assert!(ours > 0.0 && ours < measured, "{ours} {measured}");
        errors.push(ours / measured);
    }
    assert_eq!(errors.len(), 4);
}

/// A rank of the tower that a GPU does not hold is refused at its field: the verdict is that of the other ranks.
#[test]
fn a_tower_that_no_gpu_holds_is_refused() {
    let run = |images: u64| {
        let link = format!("{QWEN}&gpus=65&model.vision.base=qwen3.5&model.vision.placement=own-ranks");
        evaluate(&decode(&format!("v=1&{link}&model.vision.images={images}")).run)
    };
    assert!(run(1).is_ok());
    let Err(issues) = run(4000) else { panic!("4,000 images fit") };
    assert!(issues.iter().any(|issue| issue.field == "model.vision.gpus"), "{issues:?}");
}

/// Two pipelines side by side: without images the step is that of the language model, and a tower that is longer than
/// the longest rank sets the pace, m times its passes and what the pipeline takes to fill and drain.
#[test]
fn the_longer_of_tower_and_pipeline_sets_the_pace() {
    let link = |images: u64, own: u64| {
        report(&format!(
            "model.base=qwen-3.5-27b&model.vision.base=qwen3.5&model.vision.placement=own-ranks&gpus={}\
                &model.vision.gpus={own}&model.vision.images={images}&tp=8&pp=4&seq_len=16384&global_batch=64\
                &stack=megatron-2026&gpu.base=h100-sxm-80gb&gpu.memory_gib=4096",
            64 + own
        ))
    };
    let text = report(
        "model.base=qwen-3.5-27b&gpus=64&tp=8&pp=4&seq_len=16384&global_batch=64&stack=megatron-2026\
            &gpu.base=h100-sxm-80gb&gpu.memory_gib=4096",
    );
    let none = link(0, 2);
    assert!((none.step.time_s / text.step.time_s - 1.0).abs() < 1e-9);
    assert_eq!(none.memory.per_stage[0].total, text.memory.per_stage[0].total);
    let m = text.layout.microbatches as f64;
    assert_eq!(none.layout.microbatches as f64, m);
    for images in [1, 4, 15] {
        let seen = link(images, 2);
        let tower = seen.tower.unwrap();
        let passes = tower.passes().0;
        let (step, alone) = (seen.step.time_s.0, text.step.time_s.0);
        assert!(step >= alone.max(m * passes) && step <= alone + m * passes, "{images}: {step} {alone} {passes}");
        let more = step - alone;
        assert!((tower.is_hidden() && (more / passes - 1.0).abs() < 1e-6) || more > passes, "{more} {passes}");
    }
    // Twice the GPUs take half of the images each.
    let [few, many] = [link(15, 2), link(15, 4)].map(|report| report.tower.unwrap());
    assert!(many.passes().0 < 0.6 * few.passes().0 && many.memory_bytes.0 < few.memory_bytes.0);
}

#[test]
fn towers_that_cannot_stand_apart_are_named_at_their_fields() {
    let refused = |link: &str| {
        let run = decode(&format!("v=1&model.base=qwen-3.5-27b&model.vision.base=qwen3.5&{link}")).run;
        evaluate(&run).unwrap_err().remove(0).field
    };
    let apart = "model.vision.placement=own-ranks&tp=4&pp=2&global_batch=64";
    assert_eq!(refused(&format!("{apart}&gpus=16&model.vision.gpus=16")), "model.vision.gpus");
    assert_eq!(refused(&format!("{apart}&gpus=18&model.vision.gpus=2&model.vision.tp=4")), "model.vision.tp");
    assert_eq!(refused(&format!("{apart}&gpus=35&model.vision.gpus=3")), "model.vision.gpus");
}
