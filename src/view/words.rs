//! Each picture in a sentence, for screen readers, titles and exports.

use crate::core::memory::Verdict;
use crate::core::memory::verdict::Chance;
use crate::core::report::{Memory, Pipeline, Report};
use crate::core::run::{Method, OneOf, Run};
use crate::core::units::{MemoryUnit, show_percent, show_seconds, thousands};

/// The verdict's word.
#[must_use]
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Fits => "Fits",
        Verdict::Tight => "May not fit",
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

/// What is known of the verdict: "Uses 38.0 % of usable memory. None of 132 measured runs with this verdict ran out."
#[must_use]
pub fn known(memory: &Memory) -> String {
    let Chance { like, ran_out } = memory.chance;
    let outcome = match ran_out {
        _ if like == 0 => "No measured run is like this.".to_owned(),
        0 => format!("None of {like} measured runs with this verdict ran out."),
        _ if ran_out == like => format!("All of {like} measured runs with this verdict ran out."),
        _ => format!("Of {like} measured runs like this, {ran_out} ran out."),
    };
    let uses = match memory.verdict {
        Verdict::Fits => "Uses",
        Verdict::Tight => "May not fit:",
        Verdict::Oom => "Does not fit:",
    };
    let of = if memory.method == Method::Fujii.id() {
        "the memory on the box"
    } else {
        "usable memory"
    };
    let share = show_percent(memory.need_bytes / memory.capacity_bytes);
    format!("{uses} {share} of {of}. {outcome}")
}

/// The fullest rank; where it may not fit, with what is known of that: "Rank 3: 103 % of usable; of 31 measured runs like
/// this, 18 ran out".
#[must_use]
pub fn fullest(memory: &Memory) -> String {
    let rank = memory.peak_stage;
    let Chance { like, ran_out } = memory.chance;
    if memory.verdict == Verdict::Tight && like > 0 {
        let share = show_percent(memory.need_bytes / memory.capacity_bytes);
        format!(
            "Fullest GPU, rank {rank}: {share} of usable; of {like} measured runs like this, {ran_out} ran out"
        )
    } else {
        format!("Fullest GPU: rank {rank}")
    }
}

/// "4 ranks run 32 micro-batches in 4.82 s; 21.4 % of it is idle, 27.3 % of the ideal time; 24.1 % in span, as the
/// zero-bubble papers count."
#[must_use]
pub fn pipeline(pipeline: &Pipeline, microbatches: u64) -> String {
    let said = format!(
        "{} ranks run {microbatches} micro-batches in {}; {} of it is idle, {} of the ideal time; {} in span, as the zero-bubble papers count.",
        pipeline.peak_in_flight.len(),
        show_seconds(pipeline.makespan_s),
        show_percent(pipeline.bubble_fraction),
        show_percent(pipeline.bubble_over_ideal),
        show_percent(pipeline.bubble_span)
    );
    match once(pipeline) {
        Some(once) => format!("{said} {once}"),
        None => said,
    }
}

/// What happens once in a training and not in every step, of a schedule that never drains.
#[must_use]
pub fn once(pipeline: &Pipeline) -> Option<String> {
    let (fill, drain) = pipeline.fill_s.zip(pipeline.drain_s)?;
    Some(format!(
        "Steady state: this schedule never drains between steps. Fill ({}) and drain ({}) happen once in a training; the timeline draws one step with both.",
        show_seconds(fill),
        show_seconds(drain)
    ))
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

    /// The outcomes of Fujii 2024, tables 3 and 4: 132 runs fit, of 31 tight ones 18 ran out, all 69 others did.
    #[test]
    fn what_is_known_of_a_verdict_is_what_became_of_measured_runs() {
        for (seq_len, words) in [
            (
                8_192,
                [
                    "Uses",
                    "None of 132 measured runs with this verdict ran out.",
                ],
            ),
            (
                28_672,
                ["May not fit:", "Of 31 measured runs like this, 18 ran out."],
            ),
            (
                65_536,
                [
                    "Does not fit:",
                    "All of 69 measured runs with this verdict ran out.",
                ],
            ),
        ] {
            let run = Run {
                seq_len,
                ..Run::default()
            };
            let memory = crate::core::report::report(&run).unwrap().memory;
            let known = known(&memory);
            assert!(words.iter().all(|part| known.contains(part)), "{known}");
            assert!(known.contains("% of usable memory."), "{known}");
        }
    }

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
