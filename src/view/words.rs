//! Each picture in a sentence, for screen readers, titles and exports.

use crate::core::memory::Verdict;
use crate::core::report::{Memory, Pipeline, Report};
use crate::core::run::Run;
use crate::core::units::{MemoryUnit, show_percent, show_seconds, thousands};

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

/// What the tab's title begins with: "Fits 31.1 GiB".
#[must_use]
pub fn peak(report: &Report, unit: MemoryUnit) -> String {
    format!(
        "{} {}",
        verdict(report.memory.verdict),
        unit.show(report.memory.peak_bytes)
    )
}

/// The Run's name: "Llama 3.1 8B on 64 GPUs".
#[must_use]
pub fn name(run: &Run) -> String {
    format!("{} on {} GPUs", run.model.title(), thousands(run.gpus))
}

/// The Run in a line: "Llama 3.1 8B · 64 × H100 80 GB · TP2 PP4".
#[must_use]
pub fn line(run: &Run) -> String {
    let mut line = format!(
        "{} · {} × {}",
        run.model.title(),
        thousands(run.gpus),
        run.gpu.title()
    );
    let mut joint = " · ";
    for (name, size) in [
        ("TP", run.tp),
        ("PP", run.pp),
        ("CP", run.cp),
        ("EP", run.ep),
    ] {
        if size > 1 {
            line.extend([joint, name, &size.to_string()]);
            joint = " ";
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_by_model_gpus_and_the_sizes_above_one() {
        let run = Run {
            gpus: 16_384,
            ..Run::default()
        };
        assert_eq!(name(&run), "Llama 3.1 8B on 16\u{2009}384 GPUs");
        assert_eq!(
            line(&run),
            "Llama 3.1 8B · 16\u{2009}384 × H100 80 GB · TP2 PP4"
        );
    }
}
