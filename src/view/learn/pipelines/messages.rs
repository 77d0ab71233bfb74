//! Messages between the stages, drawn where a rank waits for one.

use super::super::pictures::Pipeline;
use crate::learn::prelude::*;

/// The schedule at the places of the sliders, with messages of `latency` forward passes.
fn with(schedule: Schedule, dials: &Dials, latency: f64) -> Option<Pipeline> {
    let sizes = (dials.small("p"), dials.small("m"));
    Pipeline::with_messages(schedule, |spec| (spec.pp, spec.microbatches) = sizes, latency)
}

/// The time by which messages of this latency lengthen a schedule.
fn added(schedule: Schedule, dials: &Dials, latency: f64) -> f64 {
    let end = |latency| with(schedule, dials, latency).map_or(0.0, |one| one.stats.makespan_s);
    end(latency) - end(0.0)
}

pub(super) fn messages(dials: &Dials) -> Live {
    let (p, m) = (dials.get("p"), dials.get("m"));
    let latency = dials.get("c") as f64 / 100.0;
    let [gpipe, one_f] = [Schedule::Gpipe, Schedule::OneFOneB].map(|schedule| added(schedule, dials, latency));
    let whole = with(Schedule::OneFOneB, dials, 0.0).map_or(1.0, |one| one.stats.makespan_s);
    let idle = (p - 1) as f64 * (3.0 + 2.0 * latency);
    let all = 3.0 * (m + p - 1) as f64 + 2.0 * (p - 1) as f64 * latency;
    Live::of([
        t!(
            "A micro-batch travels between ranks: activations down, gradients up. A rank with other work does not \
                notice; one without waits, here {share} of a forward pass.",
            share = show_percent(latency)
        ),
        t!(
            "GPipe waits while it fills and drains, {gpipe} in all. 1F1B waits again in every round of {p} \
                micro-batches, for a gradient before its next forward pass: {more}.",
            gpipe = number(gpipe, 3),
            p,
            more = number(one_f, 3)
        ),
    ])
    .formula(
        "bubble = (p − 1)(3 + 2 c) / (3 (m + p − 1) + 2 (p − 1) c)",
        format!("{} / {} = {}", number(idle, 3), number(all, 3), show_percent(idle / all)),
    )
    .below("what messages add to the time of 1F1B", one_f / whole, 0.05, show_percent)
    .drawn(vec![("1F1B", with(Schedule::OneFOneB, dials, latency)), ("GPipe", with(Schedule::Gpipe, dials, latency))])
}

#[cfg(test)]
mod tests {
    use super::super::LESSON;
    use super::*;
    use shardscope_core::pipeline::trace::Awaited;

    /// By hand: the first forward passes cross `p - 1` links and the last gradients come back over them, so GPipe takes
    /// `(m + p - 1) (F + BW) + 2 (p - 1) c`. In 1F1B the first rank has p micro-batches on the way: in the steady state
    /// p more micro-batches take one round trip more, `2 (p - 1) c`.
    #[test]
    fn messages_add_a_round_trip_and_in_1f1b_one_for_every_p_micro_batches() {
        let step = LESSON.steps.iter().find(|step| step.id == "messages").unwrap();
        for at_p in 0..3 {
            for at_c in 0..step.sliders[2].values.len() {
                let [few, many] = [2, 3].map(|at_m| Dials::new(step.sliders, &[at_p, at_m, at_c]));
                let (p, m) = (few.get("p") as f64, few.get("m") as f64);
                let latency = few.get("c") as f64 / 100.0;
                let trip = 2.0 * (p - 1.0) * latency;
                let plain = with(Schedule::Gpipe, &few, 0.0).unwrap().stats.makespan_s;
                assert!((plain - 3.0 * (m + p - 1.0)).abs() < 1e-9);
                let gpipe = added(Schedule::Gpipe, &few, latency);
                assert!((gpipe - trip).abs() < 1e-9, "p {p} m {m} c {latency}: {gpipe}");
                let [few, many] = [few, many].map(|dials| added(Schedule::OneFOneB, &dials, latency));
                assert!((many - few - trip * m / p).abs() < 1e-9, "p {p} m {m} c {latency}: {few} {many}");
            }
        }
    }

    /// A message is drawn only in time in which its rank runs nothing, never longer than it takes, and none where
    /// messages take no time.
    #[test]
    fn messages_are_drawn_in_idle_time() {
        let step = LESSON.steps.iter().find(|step| step.id == "messages").unwrap();
        let dials = Dials::new(step.sliders, &[]);
        for schedule in [Schedule::Gpipe, Schedule::OneFOneB, Schedule::ZbH1] {
            assert!(with(schedule, &dials, 0.0).unwrap().awaited().is_empty());
            let one = with(schedule, &dials, 0.25).unwrap();
            let drawn = one.awaited();
            assert!(!drawn.is_empty());
            for Awaited { rank, from, to } in drawn {
                assert!(from < to && to - from <= 0.25 + 1e-9, "{from} {to}");
                let ops = &one.timeline.ranks[rank];
                assert!(ops.iter().all(|op| op.end <= from + 1e-9 || op.start >= to - 1e-9), "{rank}: {from} {to}");
            }
        }
    }
}
