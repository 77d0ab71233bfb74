//! The step of reinforcement learning as rows of a table: phase, GPUs, time.

use shardscope_core::report::Evaluation;
use shardscope_core::rl::predict;
use shardscope_core::units::{show_percent, show_seconds};

/// The rows, where the run has a step of reinforcement learning and everything that it follows from is set.
pub(super) fn table(evaluation: &Evaluation) -> Option<Vec<Vec<String>>> {
    let run = &evaluation.scenario.run;
    run.rl.algorithm?;
    let step = predict(run).ok()?;
    let range = format!("{} to {}", show_seconds(step.low_s), show_seconds(step.high_s));
    let mut rows = vec![vec!["step".to_owned(), range, show_seconds(step.step_s)]];
    rows.extend(
        step.phases
            .iter()
            .map(|phase| vec![phase.name.id().to_owned(), phase.group.id().to_owned(), show_seconds(phase.seconds)]),
    );
    let idle = step.idle.iter().filter(|idle| idle.share > 0.0);
    rows.extend(idle.map(|idle| vec!["waiting".to_owned(), idle.group.id().to_owned(), show_percent(idle.share)]));
    Some(rows)
}
