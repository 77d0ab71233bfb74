//! The time that no order of the same stages falls below, and its parts.

use super::super::bars::{Bar, Scale};
use super::super::pictures::Pipeline;
use super::order::of;
use super::{Dials, Live};
use crate::core::message::Message;
use crate::core::pipeline::certify::{Certificate, Proof};
use crate::core::run::Schedule;
use crate::core::t;
use crate::core::units::number;
use crate::view::charts::ink::Ink;

/// Schedules whose stages differ: whole, halved, with a split backward pass, both.
const SCHEDULES: [(Schedule, &str); 4] = [
    (Schedule::OneFOneB, "1F1B"),
    (Schedule::Interleaved, "Interleaved 1F1B"),
    (Schedule::ZbH1, "ZB-H1"),
    (Schedule::ZbV, "ZB-V"),
];

const PARTS: Scale = Scale {
    parts: &[
        ("until the first pass arrives", Ink::Muted),
        ("work of the last rank", Ink::Forward),
        ("until the last gradient is back", Ink::Backward),
    ],
    unit: ("", 1.0),
};

/// The bound of `one` without a search.
fn certified(one: &Pipeline) -> Option<Certificate> {
    Some(Proof::new(&one.order, &one.durations).ok()?.certificate())
}

/// The bound by its parts: wait and work of the last rank, and what must follow.
fn parts(one: &Pipeline, bound: f64) -> Option<[f64; 3]> {
    let last = one.timeline.ranks.last()?;
    let wait = last.iter().map(|op| op.start).fold(f64::INFINITY, f64::min);
    let work: f64 = last.iter().map(|op| op.end - op.start).sum();
    Some([wait, work, (bound - wait - work).max(0.0)])
}

pub(super) fn bound(dials: &Dials) -> Live {
    let found = SCHEDULES.map(|(schedule, name)| {
        let one = of(schedule, dials)?;
        let certificate = certified(&one)?;
        Some((name, certificate, one))
    });
    let bars: Vec<Bar> = found
        .iter()
        .flatten()
        .filter_map(|(name, certificate, one)| {
            let takes = number(one.stats.makespan_s, 3);
            let name: Message = if certificate.proven {
                t!("{name} takes {takes} ◆", name = *name, takes)
            } else {
                t!("{name} takes {takes}", name = *name, takes)
            };
            Some(Bar::new(name, parts(one, certificate.lower_bound_s)?))
        })
        .collect();
    let Some((_, certificate, one)) = &found[0] else {
        return Live::default();
    };
    let [wait, work, rest] = parts(one, certificate.lower_bound_s).unwrap_or_default();
    let text = vec![
        t!(
            "Could another order win? No order avoids this: the last rank waits until the first micro-batch has come down, works for all of them, and its last gradient goes back up. The sum is a bound."
        ),
        t!(
            "Where an order takes just as long (◆), none is shorter. Only other stages help: smaller ones, or split backward passes."
        ),
    ];
    Live::of(text)
        .formula(
            "T ≥ (p − 1) F + m (F + BW) + (p − 1) BW",
            format!(
                "{} + {} + {} = {}",
                number(wait, 3),
                number(work, 3),
                number(rest, 3),
                number(certificate.lower_bound_s, 3)
            ),
        )
        .note(t!(
            "Of 1F1B. The calculator also counts how many micro-batches each rank can hold, and proves more by a search: see the certificates of {view}.",
            view = "Schedules"
        ))
        .below("the bound of 1F1B, over its work", certificate.lower_bound_s / work, 1.15, |ratio| number(ratio, 3))
        .bars(&PARTS, &bars, None)
}

#[cfg(test)]
mod tests {
    use super::super::LESSON;
    use super::*;

    /// Narayanan 2021, section 2.2, and Zero Bubble, sections 3 and 6, with F = B = W = 1: `3 m + 3 (p - 1)` for whole
    /// stages, half the idle time for two, `3 m + p - 1` and half of that with a split backward pass. The bounds are these
    /// times, so each order is the shortest of its stages.
    #[test]
    fn the_bounds_are_the_papers_times() {
        let step = LESSON.steps.iter().find(|step| step.id == "bound").unwrap();
        for (at, p, m) in [(vec![1, 1], 4.0, 8.0), (vec![1, 3], 4.0, 32.0), (vec![2, 2], 8.0, 16.0)] {
            let dials = Dials::new(step.sliders, &at);
            let idle = [3.0, 1.5, 1.0, 0.5].map(|each| each * (p - 1.0));
            for ((schedule, name), idle) in SCHEDULES.into_iter().zip(idle) {
                let one = of(schedule, &dials).unwrap();
                let certificate = certified(&one).unwrap();
                let closed = 3.0 * m + idle;
                assert!((certificate.lower_bound_s - closed).abs() < 1e-3, "{name}: {certificate:?}");
                assert!(certificate.proven && (one.stats.makespan_s - closed).abs() < 1e-9, "{name}");
                let sum: f64 = parts(&one, certificate.lower_bound_s).unwrap().iter().sum();
                assert!((sum - closed).abs() < 1e-3, "{name}");
            }
        }
    }
}
