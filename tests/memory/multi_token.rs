//! Modules of multi-token prediction on a stage of their own: its parameters, time and messages.

use shardscope::core::memory::Verdict;
use shardscope::core::report::evaluate;
use shardscope::core::run::{Based, Run, Scenario, Schedule};
use shardscope::core::time::Clock;
use shardscope::core::traffic::{HeldParameters, microbatch_traffic};

/// DeepSeek-V3 on 16 ranks of two stages, `Et*3|(tt|)*29,m|L` (Megatron-LM `pipeline_parallel_layout.md`).
fn deepseek(mtp_stage: Option<u64>) -> Run {
    let mut run = Run {
        model: Based::preset("deepseek-v3"),
        gpus: 1024,
        tp: 1,
        pp: 16,
        ep: 64,
        schedule: Schedule::Interleaved,
        virtual_stages: 2,
        stage_layers: Some([vec![3], vec![2; 29], vec![0; 2]].concat()),
        mtp_stage,
        global_batch: 1024,
        ..Run::default()
    };
    run.model.parts.mtp_modules = Some(1);
    run
}

#[test]
fn modules_on_a_stage_of_their_own_take_their_layer_along_and_leave_the_loss() {
    let [with_loss, apart] = [None, Some(30)].map(|stage| Scenario::new(&deepseek(stage)).unwrap());
    let held = |scenario: &Scenario, stage| HeldParameters::of(scenario, &[stage]).total();
    let moved = held(&with_loss, 31) - held(&apart, 31);
    assert!((held(&apart, 30) / moved - 1.0).abs() < 1e-12);
    // What remains on the stage of the loss: the head and a norm.
    assert!((held(&apart, 31) - (129_280.0 + 1.0) * 7168.0).abs() < 1.0);
    let seconds = |scenario: &Scenario, stage| {
        let clock = Clock::new(scenario);
        clock.stage(scenario, stage).total().0
    };
    let (both, loss, modules) = (seconds(&with_loss, 31), seconds(&apart, 31), seconds(&apart, 30));
    assert!(modules > 0.0 && loss > 0.0 && (both / (modules + loss) - 1.0).abs() < 1e-12);
    // The stage of the modules sends two hidden states forward, any other one. Every stage but the first sends back a
    // gradient for each state that it received.
    let sent = |stage| microbatch_traffic(&apart, stage).pp.0;
    assert_eq!((sent(30), sent(29), sent(31)), (3.0 * sent(0), 2.0 * sent(0), 2.0 * sent(0)));
    let report = evaluate(&deepseek(Some(30))).unwrap().report;
    assert_ne!(report.memory.verdict, Verdict::Fits);
}

#[test]
fn modules_stand_on_the_last_virtual_stage_of_any_rank_but_the_first() {
    for stage in [0, 3, 16, 32, 40] {
        let issues = Scenario::new(&deepseek(Some(stage))).unwrap_err();
        assert_eq!(issues[0].field, "mtp_stage", "{stage}");
        let fix = issues[0].fix.clone().unwrap().set;
        let set: Vec<_> = fix.iter().map(|(k, v)| (*k, v.clone())).collect();
        let mended = deepseek(Some(stage)).with_texts(&set).unwrap();
        assert!(Scenario::new(&mended).is_ok(), "{stage}: {set:?}");
    }
    for stage in 17..32 {
        assert!(Scenario::new(&deepseek(Some(stage))).is_ok(), "{stage}");
    }
}
