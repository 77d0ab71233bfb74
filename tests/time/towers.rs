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

/// A mix of sizes is between its sizes alone, and images of one size are that size.
#[test]
fn images_of_several_sizes_stand_between_them() {
    let step = |sizes: &str| report(&format!("{QWEN}&model.vision.base=qwen3.5{sizes}"));
    let [small, large] =
        ["448", "1344"].map(|side| step(&format!("&model.vision.image_width={side}&model.vision.image_height={side}")));
    let of = |sizes: &str| step(&format!("&model.vision.image_sizes={sizes}"));
    let (half, one) = (of("448x448:1,1344x1344:1"), of("448x448:5"));
    assert!((one.step.time_s / small.step.time_s - 1.0).abs() < 1e-12);
    let between = (half.step.time_s - small.step.time_s) / (large.step.time_s - small.step.time_s);
    assert!((between - 0.5).abs() < 0.05, "{between}");
    // Memory is that of the micro-batch with the largest.
    assert_eq!(half.memory.per_stage[0].total, large.memory.per_stage[0].total);
    let refused = |sizes: &str| {
        let decoded = decode(&format!("v=1&{QWEN}&model.vision.base=qwen3.5&model.vision.image_sizes={sizes}"));
        let issues = decoded.notices.iter().map(|notice| notice.field.clone());
        issues.chain(evaluate(&decoded.run).err().into_iter().flatten().map(|issue| issue.field)).collect::<Vec<_>>()
    };
    assert!(refused("448x448:1").is_empty());
    // Shares that sum to nothing, and an image of 1,000,000 pixels a side.
    for sizes in ["448x448:0", "1000000x1000000:1"] {
        assert!(
            refused(sizes).iter().any(|field| field == "model.vision.image_sizes"),
            "{sizes}: {:?}",
            refused(sizes)
        );
    }
}
