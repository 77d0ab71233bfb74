//! Each picture in a sentence, for screen readers, titles and exports.

use crate::memory::Verdict;
use crate::report::{Memory, Pipeline, Report};
use crate::units::{MemoryUnit, show_percent, show_seconds};

/// The verdict's word.
#[must_use]
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Fits => "Fits",
        Verdict::Tight => "Tight",
        Verdict::Oom => "Out of memory",
    }
}

/// "Rank 0 peaks at 61.2 GiB of 79.2; activations are the largest part, 41 %."
#[must_use]
pub fn memory(memory: &Memory, unit: MemoryUnit) -> String {
    let Some(rank) = memory.per_stage.get(memory.peak_stage) else {
        return String::new();
    };
    let largest = rank
        .components()
        .into_iter()
        .max_by(|a, b| a.1.0.total_cmp(&b.1.0))
        .unwrap_or_default();
    format!(
        "Rank {} peaks at {} of {}; {} are the largest part, {:.0} %.",
        memory.peak_stage,
        unit.show(memory.peak_bytes),
        unit.show(memory.capacity_bytes),
        largest.0,
        100.0 * (largest.1 / memory.peak_bytes)
    )
}

/// "4 ranks run 32 micro-batches in 4.82 s; 21.4 % of it is idle, 27.3 % of the ideal time."
#[must_use]
pub fn pipeline(pipeline: &Pipeline, microbatches: u64) -> String {
    format!(
        "{} ranks run {microbatches} micro-batches in {}; {} of it is idle, {} of the ideal time.",
        pipeline.peak_in_flight.len(),
        show_seconds(pipeline.makespan_s),
        show_percent(pipeline.bubble_fraction),
        show_percent(pipeline.bubble_over_ideal)
    )
}

/// The tab's title: "Fits 31.1 GiB · Llama 3.1 8B on 64 GPUs".
#[must_use]
pub fn title(report: &Report, model: &str, gpus: u64, unit: MemoryUnit) -> String {
    format!(
        "{} {} · {model} on {gpus} GPUs",
        verdict(report.memory.verdict),
        unit.show(report.memory.peak_bytes)
    )
}
