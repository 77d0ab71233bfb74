//! Why one layout beats another, from the terms of their reports.

use super::ladder::CHOSEN;
use super::ranking::FoundLayout;
use crate::advice::{is_told, untold};
use crate::message::Message;
use crate::run::{OneOf, Run};
use crate::t;
use crate::units::Seconds;
use std::cmp::Ordering;

/// A part of a step as what one layout wins or loses by: less of it, more of it, how much there is.
type Part = (&'static str, &'static str, Seconds);

fn parts(found: &FoundLayout) -> [Part; 5] {
    let step = &found.figures;
    [
        ("less compute", "more compute", step.compute_s),
        ("less bubble", "more bubble", step.bubble_s),
        ("less exposed communication", "more exposed communication", step.exposed_comm_s),
        ("a shorter optimizer step", "a longer optimizer step", step.optimizer_s),
        ("less waiting for the data loader", "more waiting for the data loader", step.host_s),
    ]
}

/// Settings of `one` that `other` does not have, in the field's own terms.
pub fn differences(one: &Run, other: &Run) -> Message {
    let mut list: Vec<Message> = [
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
    .map(|(name, ours, theirs)| t!("{name} {ours} instead of {theirs}", name, ours, theirs))
    .collect();
    if (one.schedule, one.virtual_stages) != (other.schedule, other.virtual_stages) && one.pp > 1 {
        let schedule = one.schedule.choice().label;
        list.push(if one.virtual_stages > 1 {
            t!("{schedule} with {n} chunks per rank", schedule, n = one.virtual_stages)
        } else {
            schedule.into()
        });
    }
    if one.recompute != other.recompute {
        list.push(one.recompute.words());
    }
    if one.sequence_parallel != other.sequence_parallel && one.tp > 1 {
        list.push(if one.sequence_parallel {
            t!("with sequence parallelism")
        } else {
            t!("without sequence parallelism")
        });
    }
    if one.ep_overlap != other.ep_overlap {
        list.push(t!("EP overlap {kind}", kind = Message::plain(one.experts_beside().choice().label)));
    }
    if one.stage_layers != other.stage_layers {
        list.push(match &one.stage_layers {
            Some(layers) => stages_words(layers),
            None => t!("layers split evenly"),
        });
    }
    Message::joined(", ", list)
}

/// Settings that [`differences`] says beside those of [`CHOSEN`].
const BESIDE: [&str; 4] = ["recompute.layers", "recompute.budget", "stage_layers", "ep_overlap"];

/// True if [`differences`] says the setting `key`.
pub fn is_in_differences(key: &str) -> bool {
    CHOSEN.contains(&key) || BESIDE.contains(&key)
}

/// Stages whose layers are listed at most.
const LISTED_STAGES: usize = 8;

/// An uneven split: its layers by stage; of many stages, which ends have fewer, or how many layers the ends and the
/// stages between them have.
pub fn stages_words(layers: &[u64]) -> Message {
    if layers.len() > LISTED_STAGES {
        return shorter_stages(layers);
    }
    let layers = layers.iter().map(u64::to_string).collect::<Vec<_>>().join("/");
    t!("layers by stage {layers}", layers)
}

/// Which ends of an uneven split have fewer layers than the stages between them, which are alike; else the layers of
/// both ends and the least and the most between them.
fn shorter_stages(layers: &[u64]) -> Message {
    let [first, inner @ .., last] = layers else { return t!("layers by stage") };
    let (least, most) = (inner.iter().min().unwrap_or(first), inner.iter().max().unwrap_or(first));
    if least < most {
        return t!("layers by stage {first}, {least} to {most}, {last}", first, least, most, last);
    }
    match (first.cmp(least), last.cmp(least)) {
        (Ordering::Less, Ordering::Less) => t!("first and last stage shorter"),
        (Ordering::Less, Ordering::Equal) => t!("first stage shorter"),
        (Ordering::Equal, Ordering::Less) => t!("last stage shorter"),
        _ => t!("layers by stage {first}, {middle}, {last}", first, middle = least, last),
    }
}

/// The part of a step by which `other` takes longer than `one` most, in words: "more bubble"; none where no part grows.
pub fn main_loss(one: &FoundLayout, other: &FoundLayout) -> Option<&'static str> {
    let mut most = (None, 0.0);
    for ((.., ours), (_, more, theirs)) in parts(one).into_iter().zip(parts(other)) {
        if (theirs - ours).0 > most.1 {
            most = (Some(more), (theirs - ours).0);
        }
    }
    most.0
}

/// What `one` does differently from `next`, and the terms that decide: with their shares of the step where the
/// difference of both is larger than its error, else by name alone and that both may be equal.
pub fn why(one: &FoundLayout, next: &FoundLayout) -> Message {
    let step = next.figures.time_s.0;
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
    let saved = next.figures.time_s.0 - one.figures.time_s.0;
    let memory = next.figures.peak.bytes - one.figures.peak.bytes;
    let share = memory.0.abs() / one.figures.peak.capacity.0;
    let differs = differences(&one.run, &next.run);
    let gib = format!("{:.1} GiB", memory.gib().abs());
    let percent = |seconds: f64| format!("{:.1} %", seconds / step * 100.0);
    if saved <= 1e-6 * step {
        return if memory.0 > 0.0 {
            t!("As fast as the next, which differs by {differs}; it leaves {gib} more.", differs, gib)
        } else {
            t!("As fast as the next, which differs by {differs}; it needs {gib} more.", differs, gib)
        };
    }
    // Shares of a step that are smaller than the error of the whole difference would be read as known.
    let is_told = is_told(&one.run, one.figures.time_s.0, step);
    let mut clauses = vec![if is_told {
        t!("{differs}: {gain} saves {percent} of the step", differs, gain = most.0, percent = percent(most.1))
    } else {
        t!("{differs}: {gain}", differs, gain = most.0)
    }];
    if least.1 < -0.001 * step {
        clauses.push(if is_told {
            t!("against {percent} of {loss}", percent = percent(-least.1), loss = least.0)
        } else {
            t!("against {loss}", loss = least.0)
        });
    }
    if share > 0.02 {
        clauses.push(if memory.0 > 0.0 { t!("for {gib} less memory", gib) } else { t!("for {gib} more memory", gib) });
    }
    let sentence = t!("{clauses}.", clauses = Message::joined(", ", clauses));
    let equal = (!is_told).then(|| untold(&one.run, one.figures.time_s.0, step));
    Message::joined(" ", std::iter::once(sentence).chain(equal))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the words say of the ends and of the stages between them is true of the split.
    #[test]
    fn the_words_of_many_stages_are_true_of_them() {
        for ends in [1, 2, 3] {
            for inner in [vec![2; 8], vec![3; 8], vec![2, 2, 2, 3, 3, 3, 2, 2]] {
                for last in [1, 2, 3] {
                    let layers: Vec<u64> = [vec![ends], inner.clone(), vec![last]].concat();
                    let words = stages_words(&layers).to_string();
                    let are_alike = inner.iter().all(|one| *one == inner[0]);
                    let (first, last) = (ends < inner[0], last < inner[0]);
                    assert_eq!(words.starts_with("first and last stage"), are_alike && first && last, "{layers:?}");
                    if words.contains("shorter") {
                        assert!(are_alike && (first || last), "{layers:?} {words}");
                        assert_eq!(words.contains("first"), first, "{layers:?} {words}");
                        assert_eq!(words.contains("last"), last, "{layers:?} {words}");
                    }
                }
            }
        }
    }
}
