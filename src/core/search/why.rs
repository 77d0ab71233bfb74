//! Why one layout beats another, from the terms of their reports.

use super::ranking::Found;
use crate::run::{OneOf, Run};
use crate::units::Seconds;

/// A part of a step as what one layout wins or loses by: less of it, more of it, how much there is.
type Part = (&'static str, &'static str, Seconds);

fn parts(found: &Found) -> [Part; 5] {
    let step = &found.report.step;
    [
        ("less compute", "more compute", step.compute_s),
        ("less bubble", "more bubble", step.bubble_s),
        (
            "less exposed communication",
            "more exposed communication",
            step.exposed_comm_s,
        ),
        (
            "a shorter optimizer step",
            "a longer optimizer step",
            step.optimizer_s,
        ),
        (
            "less waiting for the data loader",
            "more waiting for the data loader",
            step.host_s,
        ),
    ]
}

/// What `one` sets that `other` does not, in the field's own terms.
#[must_use]
pub fn differences(one: &Run, other: &Run) -> String {
    let mut list: Vec<String> = [
        ("TP", one.tp, other.tp),
        ("PP", one.pp, other.pp),
        ("CP", one.cp, other.cp),
        ("EP", one.ep, other.ep),
        ("ETP", one.etp, other.etp),
        ("ZeRO", one.zero, other.zero),
        ("micro-batch", one.micro_batch, other.micro_batch),
    ]
    .into_iter()
    .filter(|(_, ours, theirs)| ours != theirs)
    .map(|(name, ours, theirs)| format!("{name} {ours} instead of {theirs}"))
    .collect();
    if (one.schedule, one.virtual_stages) != (other.schedule, other.virtual_stages) && one.pp > 1 {
        let chunks = if one.virtual_stages > 1 {
            format!(" with {} chunks a rank", one.virtual_stages)
        } else {
            String::new()
        };
        list.push(format!("{}{chunks}", one.schedule.choice().label));
    }
    if one.recompute != other.recompute {
        list.push(one.recompute.words());
    }
    if one.sequence_parallel != other.sequence_parallel && one.tp > 1 {
        let with = if one.sequence_parallel {
            "with"
        } else {
            "without"
        };
        list.push(format!("{with} sequence parallelism"));
    }
    if one.stage_layers != other.stage_layers {
        list.push(match &one.stage_layers {
            Some(_) => "fewer layers beside the embedding or the head".to_owned(),
            None => "layers split evenly".to_owned(),
        });
    }
    list.join(", ")
}

/// One sentence: what `one` does differently from `next`, and the terms that decide.
#[must_use]
pub fn why(one: &Found, next: &Found) -> String {
    let step = next.report.step.time_s.0;
    let (mut most, mut least) = (("", 0.0), ("", 0.0));
    for ((less, more, ours), (.., theirs)) in parts(one).into_iter().zip(parts(next)) {
        let gain = theirs.0 - ours.0;
        if gain > most.1 {
            most = (less, gain);
        }
        if gain < least.1 {
            least = (more, gain);
        }
    }
    let saved = next.report.step.time_s.0 - one.report.step.time_s.0;
    let memory = next.report.memory.peak_bytes - one.report.memory.peak_bytes;
    let room = memory.0.abs() / one.report.memory.capacity_bytes.0;
    let differs = differences(&one.run, &next.run);
    let percent = |seconds: f64| format!("{:.1} % of the step", seconds / step * 100.0);
    if saved <= 1e-6 * step {
        let left = if memory.0 > 0.0 { "leaves" } else { "needs" };
        return format!(
            "As fast as the next, which differs by {differs}; it {left} {memory_gib:.1} GiB more.",
            memory_gib = memory.gib().abs()
        );
    }
    let mut sentence = format!("{differs}: {} saves {}", most.0, percent(most.1));
    if least.1 < -0.001 * step {
        let lost = format!(" against {} of {}", percent(-least.1), least.0);
        sentence.push_str(&lost);
    }
    if room > 0.02 {
        let more = if memory.0 > 0.0 { "less" } else { "more" };
        sentence = format!(
            "{sentence}, for {:.1} GiB {more} memory",
            memory.gib().abs()
        );
    }
    sentence.push('.');
    sentence
}
