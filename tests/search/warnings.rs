//! Warnings that say what the figures beside them say.

use shardscope::core::report::{Report, evaluate};
use shardscope::core::run::{Run, Value};
use shardscope::core::traffic::Traffic;

fn report(json: &str) -> Report {
    let value: Value = serde_json::from_str(json).unwrap();
    evaluate(&Run::from_value(&value).unwrap()).unwrap().report
}

/// A report that warns of communication in every micro-batch sends as many times what it sends in a step with one.
#[test]
fn a_warning_of_every_micro_batch_goes_with_as_much_traffic() {
    for stack in ["megatron-2025", "fsdp2", "torchtitan", "deepspeed"] {
        for zero in [2, 3] {
            let at = |batch: u64| {
                report(&format!(
                    r#"{{"stack":"{stack}","zero":{zero},"pp":4,"tp":2,"gpus":64,"global_batch":{batch}}}"#
                ))
            };
            let gradients = |report: &Report| {
                let rows = report.overlap.iter().filter(|row| row.traffic == Traffic::Dp);
                rows.map(|row| row.bytes_per_gpu.0).sum::<f64>()
            };
            let (few, many) = (at(64), at(256));
            let warns = many.warnings.iter().any(|issue| ["zero", "zero2_reduce"].contains(&issue.field.as_str()));
            assert_eq!(warns, gradients(&many) > 1.5 * gradients(&few), "{stack} ZeRO-{zero}");
        }
    }
}
