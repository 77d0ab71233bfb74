//! The time that no order of the same stages falls below, its parts, and how far from it each schedule is.

use super::super::pictures::Pipeline;
use super::order::of;
use crate::learn::prelude::*;
use shardscope_core::pipeline::certify::certificate::OPTIMAL;
use shardscope_core::pipeline::certify::{Certificate, Proof};

/// Schedules whose stages differ: whole, halved, with a split backward pass, both; and one whose gap stays open.
const SCHEDULES: [(Schedule, &str); 5] = [
    (Schedule::OneFOneB, "1F1B, whole stages"),
    (Schedule::Interleaved, "Interleaved 1F1B, half stages"),
    (Schedule::ZbH1, "ZB-H1, split backward"),
    (Schedule::ZbV, "ZB-V, half stages, split backward"),
    (Schedule::Hanayo, "Hanayo, quarter stages"),
];
/// Steps of a search for a shorter order, where ranks times micro-batches are at most so many: some hundredths of a
/// second.
const STEPS: usize = 200;
const SMALL: u64 = 64;

const PARTS: Scale = Scale {
    parts: &[
        ("until the first pass arrives", Ink::Muted),
        ("work of the last rank", Ink::Forward),
        ("until the last gradient is back", Ink::Backward),
    ],
    unit: ("", 1.0),
};

/// The certificate of `one` after `steps` of a search.
fn certified(one: &Pipeline, steps: usize) -> Option<Certificate> {
    let mut proof = Proof::new(&one.order, &one.durations).ok()?;
    let _ = (0..steps).any(|_| proof.step());
    Some(proof.certificate())
}

/// The schedule with its time and its certificate, and the time of a shorter order where the search found one.
fn named(name: &'static str, certificate: &Certificate, one: &Pipeline) -> Message {
    let takes = number(one.stats.makespan_s, 3);
    if certificate.best_s < one.stats.makespan_s * (1.0 - OPTIMAL) {
        let best = number(certificate.best_s, 3);
        return t!("{name}: {takes} ◇ {best} exists", name = Message::from(name), takes, best);
    }
    let gap = show_at_most(certificate.gap);
    let certificate = if certificate.proven { verbatim("◆") } else { t!("◇ gap {gap}", gap) };
    t!("{name}: {takes} {certificate}", name = Message::from(name), takes, certificate)
}

/// The bound by its parts: wait and work of the last rank, and what must follow.
fn parts(one: &Pipeline, bound: f64) -> Option<[f64; 3]> {
    let last = one.timeline.ranks.last()?;
    let wait = last.iter().map(|op| op.start).fold(f64::INFINITY, f64::min);
    let work: f64 = last.iter().map(|op| op.end - op.start).sum();
    Some([wait, work, (bound - wait - work).max(0.0)])
}

pub(super) fn bound(dials: &Dials) -> Live {
    let is_small = dials.get("p") * dials.get("m") <= SMALL;
    let found = SCHEDULES.map(|(schedule, name)| {
        if schedule == Schedule::Hanayo && !is_small {
            return None;
        }
        let one = of(schedule, dials)?;
        let certificate = certified(&one, if is_small { STEPS } else { 0 })?;
        Some((name, certificate, one))
    });
    let bars: Vec<Bar> = found
        .iter()
        .flatten()
        .filter_map(|(name, certificate, one)| {
            Some(Bar::new(named(name, certificate, one), parts(one, certificate.lower_bound_s)?))
        })
        .collect();
    let Some((_, certificate, one)) = &found[0] else {
        return Live::default();
    };
    let [wait, work, rest] = parts(one, certificate.lower_bound_s).unwrap_or_default();
    Live::of([
        t!("No order avoids this: the last rank waits until the first micro-batch has come down, works for all, and \
                its last gradient goes back up. The sum is a bound."),
        t!("An order that takes as long (◆) is the shortest of its stages: only smaller stages or split backward \
                passes help. Else (◇) the gap bounds what could be gained."),
    ])
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
        "Of 1F1B. A search raises the bound by the micro-batches that each rank can hold; {view} shows such \
            certificates for your run.",
        view = "Schedules"
    ))
    .below("the ratio of 1F1B's bound to its work", certificate.lower_bound_s / work, 1.15, |ratio| number(ratio, 3))
    .bars(&PARTS, &bars, None)
}

#[cfg(test)]
mod tests {
    use super::super::LESSON;
    use super::*;

    /// Narayanan 2021, section 2.2, and Zero Bubble, sections 3 and 6, with F = B = W = 1: `3 m + 3 (p - 1)` for whole
    /// stages, half the idle time for two, `3 m + p - 1` and half of that with a split backward pass. The bounds are
    /// these times, so each order is the shortest of its stages.
    #[test]
    fn the_bounds_are_the_papers_times() {
        let step = LESSON.steps.iter().find(|step| step.id == "bound").unwrap();
        for (at, p, m) in [(vec![1, 1], 4.0, 8.0), (vec![1, 3], 4.0, 32.0), (vec![2, 2], 8.0, 16.0)] {
            let dials = Dials::new(step.sliders, &at);
            let idle = [3.0, 1.5, 1.0, 0.5].map(|each| each * (p - 1.0));
            for ((schedule, name), idle) in SCHEDULES.into_iter().zip(idle) {
                let one = of(schedule, &dials).unwrap();
                let certificate = certified(&one, STEPS).unwrap();
                let closed = 3.0 * m + idle;
                assert!((certificate.lower_bound_s - closed).abs() < 1e-3, "{name}: {certificate:?}");
                assert!(certificate.proven && (one.stats.makespan_s - closed).abs() < 1e-9, "{name}");
                let sum: f64 = parts(&one, certificate.lower_bound_s).unwrap().iter().sum();
                assert!((sum - closed).abs() < 1e-3, "{name}");
            }
        }
    }

    /// Zero Bubble, section 6: ZB-V needs `m ≥ 2 p` micro-batches; with fewer a search finds a shorter order of the
    /// same stages in the same memory.
    #[test]
    fn few_micro_batches_leave_zb_v_above_its_bound() {
        let step = LESSON.steps.iter().find(|step| step.id == "bound").unwrap();
        let dials = Dials::new(step.sliders, &[1, 0]);
        assert_eq!((dials.get("p"), dials.get("m")), (4, 4));
        let one = of(Schedule::ZbV, &dials).unwrap();
        let certificate = certified(&one, STEPS).unwrap();
        assert!(certificate.lower_bound_s <= certificate.best_s && certificate.best_s < one.stats.makespan_s);
    }
}
