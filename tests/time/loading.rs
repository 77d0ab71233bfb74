//! Loading of data on the first stage, which NVIDIA's note on uneven pipelines counts to that stage's time.

use crate::common::{scenario, step_s};
use shardscope::core::advice::{answer, balance};
use shardscope::core::report::{SplitOrigin, evaluate};
use shardscope::core::run::Run;
use shardscope::core::run::presets::PUBLISHED;
use shardscope::core::time::PartKind;

fn loaded(settings: &str, seconds: f64) -> Run {
    scenario(&format!(r#"{{{settings},"loader_stage_s":{seconds}}}"#)).run
}

/// One stage works m times as long as it loads more: m L. Under 1F1B the longest stage sets the pace, so that loading
/// far longer than all else adds m L to the step, too (Narayanan et al. 2021, section 2.2).
#[test]
fn every_micro_batch_waits_for_its_data() {
    for (layout, seconds, tolerance) in
        [(r#""pp":1,"tp":8"#, 0.3, 1e-9), (r#""pp":4"#, 60.0, 0.02), (r#""pp":2,"schedule":"gpipe""#, 60.0, 0.02)]
    {
        let plain = scenario(&format!("{{{layout}}}"));
        let m = plain.layout.microbatches as f64;
        let with = scenario(&format!(r#"{{{layout},"loader_stage_s":{seconds}}}"#));
        let longer = step_s(&with) - step_s(&plain);
        assert!((longer / (m * seconds) - 1.0).abs() < tolerance, "{layout}: {longer}");
    }
}

/// The parts of a step sum to it, and the loader's are those of the average rank: m L/p.
#[test]
fn loading_is_the_loaders_part_of_the_step() {
    let report = evaluate(&loaded(r#""pp":4"#, 0.5)).unwrap().report;
    let sum: f64 = report.step.parts.iter().map(|part| part.seconds.0).sum();
    assert!((sum / report.step.time_s.0 - 1.0).abs() < 1e-9);
    let loader = report.step.parts.iter().find(|part| part.kind == PartKind::Loader).unwrap();
    assert!((loader.seconds.0 - report.layout.microbatches as f64 * 0.5 / 4.0).abs() < 1e-9);
    assert_eq!(loader.seconds, report.step.host_s);
}

/// The note moves layers away from the first stage, which has loading and the vision tower besides: the best split does
/// so the more, the longer the loading. Its steps are far from those of this run, and the report says how far.
#[test]
fn layers_leave_the_stage_that_loads() {
    let note = PUBLISHED.iter().find(|run| run.id == "qwen2-vl-even").unwrap().run();
    let first = |seconds| {
        let run = Run { loader_stage_s: seconds, ..note.clone() };
        balance(&evaluate(&run).unwrap()).unwrap().of(SplitOrigin::Best).unwrap().layers[0]
    };
    assert!(first(0.05) < first(0.0));
    let uneven = answer(&note).unwrap().uneven.unwrap();
    let words = uneven.note.unwrap().to_string();
    // 28.4 and 19.6 s: 82.4 and 78.2 % are missing; the larger is said.
    assert!(words.contains("28.4 s and 19.6 s") && words.contains("82 %"), "{words}");
    let other = Run { loader_stage_s: 0.7, ..note };
    assert!(answer(&other).unwrap().uneven.is_some_and(|uneven| uneven.measured.is_some() && uneven.note.is_none()));
}
