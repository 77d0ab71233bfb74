//! Figures for a spreadsheet: memory by stage, overlap, the schedule by rank; bytes and seconds.

use super::Stamp;
use crate::pipeline::Half;
use crate::report::Evaluation;

/// Three tables with an empty line between them, after comments with version, date and link.
#[must_use]
pub fn csv(evaluation: &Evaluation, stamp: &Stamp) -> String {
    let report = &evaluation.report;
    let mut lines = vec![
        format!("# {}", stamp.made()),
        format!("# {}", stamp.link(&evaluation.scenario.run)),
        "stage,weights_bytes,gradients_bytes,optimizer_bytes,activations_bytes,buffers_bytes,overhead_bytes,total_bytes,capacity_bytes,in_flight".to_owned(),
    ];
    for stage in &report.memory.per_stage {
        let parts = stage.components().map(|(_, bytes)| bytes.0.to_string());
        lines.push(format!(
            "{},{},{},{},{}",
            stage.stage,
            parts.join(","),
            stage.total.0,
            report.memory.capacity_bytes.0,
            stage.in_flight
        ));
    }
    lines.push(String::new());
    lines.push("communication,bytes_per_gpu,comm_s,compute_s,ratio,exposed_s".to_owned());
    for row in &report.overlap {
        lines.push(format!(
            "{},{},{},{},{},{}",
            row.name,
            row.bytes_per_gpu.0,
            row.comm_s.0,
            row.compute_s.0,
            row.ratio,
            row.exposed_s.0
        ));
    }
    lines.push(String::new());
    lines.push("rank,ops,busy_s,idle_s,first_start_s,last_end_s,peak_in_flight".to_owned());
    let makespan = report.pipeline.makespan_s.0;
    for (rank, ops) in evaluation.timeline.ranks.iter().enumerate() {
        // The halves of a pair run at once: one of them counts.
        let counted = ops.iter().filter(|op| op.half != Half::Second);
        let busy: f64 = counted.map(|op| op.end - op.start).sum();
        let (first, last) = (
            ops.first().map_or(0.0, |op| op.start),
            ops.last().map_or(0.0, |op| op.end),
        );
        let held = report
            .pipeline
            .peak_in_flight
            .get(rank)
            .copied()
            .unwrap_or(0);
        lines.push(format!(
            "{rank},{},{busy},{},{first},{last},{held}",
            ops.len(),
            makespan - busy
        ));
    }
    lines.push(String::new());
    lines.join("\n")
}
