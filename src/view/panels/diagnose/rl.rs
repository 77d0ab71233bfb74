//! A step of reinforcement learning: what its log times beside what is predicted, as three ratios.

use super::head;
use crate::prelude::*;
use shardscope_core::diagnose::{Diagnosis, RlPart};

/// The ratios, with a button that sets what was measured on the run; none where nothing was measured of such a step.
pub(super) fn ratios(found: &Diagnosis) -> Option<Node> {
    if found.rl.is_empty() {
        return None;
    }
    let name = |part: RlPart| match part {
        RlPart::Generation => t!("Generation"),
        RlPart::Update => t!("Policy updates"),
        RlPart::Sync => t!("New weights to the engines"),
    };
    let shown = |seconds: Option<f64>| seconds.map_or_else(String::new, |seconds| show_seconds(Seconds(seconds)));
    let table = Rows::of(found.rl.clone())
        .column("part", |row| name(row.name))
        .figures("measured", |row| shown(Some(row.measured_s)))
        .figures("predicted", |row| shown(row.predicted_s))
        .figures("measured over predicted", |row| row.ratio.map_or_else(String::new, |ratio| number(ratio, 3)))
        .table("Parts of a step of reinforcement learning");
    let set = found.rl.iter().filter(|row| row.predicted_s.is_some()).map(|row| {
        let key = match row.name {
            RlPart::Generation => "rl.measured_generation_s",
            RlPart::Update => "rl.measured_update_s",
            RlPart::Sync => "rl.measured_sync_s",
        };
        (key, row.measured_s.to_string())
    });
    let set: Vec<(&'static str, String)> = set.collect();
    let mut parts = vec![head("Measured over predicted", t!("medians of the steps in the log"), Node::none()), table];
    if !set.is_empty() {
        let words =
            t!("Set on the run, the measured seconds stand in for the predicted ones and make the range of the step \
                narrower.");
        parts.push(muted(words));
        parts.push(el("p", &[("class", "row-of-buttons")], &[apply("main", set, "", "Set them on the run")]));
    }
    Some(Node::from_iter(parts))
}
