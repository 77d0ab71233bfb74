//! Sentences that take a figure apart: what they name adds up to the figure, as printed.

use crate::common::random::{Random, random_run};
use shardscope::core::report::{ScheduleVariant, evaluate, memory_limit};
use shardscope::core::run::Run;
use shardscope::view::charts::prepared::Prepared;
use shardscope::view::gallery::stack::winner;
use std::sync::Arc;

/// A printed time in seconds, and half a unit of its last digit.
pub(super) fn time_of(text: &str) -> (f64, f64) {
    let (number, unit) = text.trim().rsplit_once(' ').unwrap();
    let second = [("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9), ("h", 3600.0), ("d", 86_400.0)];
    let size = second.iter().find(|(name, _)| *name == unit).unwrap().1;
    let digits: String = number.chars().filter(|c| c.is_ascii_digit() || ".e-".contains(*c)).collect();
    let value: f64 = digits.parse().unwrap();
    // Three significant digits.
    let half = if value > 0.0 { 0.5 * 10f64.powf(value.log10().floor() - 2.0) } else { 0.0 };
    (value * size, half * size)
}

/// Sum of the printed parts, `3.1 s less` and `1.2 s more`, and how far rounding may move it.
fn sum_of(parts: &str) -> (f64, f64) {
    parts.split(", ").fold((0.0, 0.0), |(sum, slack), part| {
        let (named, way) = part.rsplit_once(' ').unwrap();
        let [unit, number] = [0, 1].map(|at| named.rsplit(' ').nth(at).unwrap());
        let (time, half) = time_of(&format!("{number} {unit}"));
        let time = match way {
            "less" => time,
            "more" => -time,
            _ => panic!("{part}"),
        };
        (sum + time, slack + half)
    })
}

/// Parts of the difference of two steps, of random runs and of every schedule that they can have.
#[test]
fn parts_of_why_a_schedule_is_faster_sum_to_the_printed_difference() {
    let mut random = Random::new(20);
    let (mut compared, mut with_loss, mut with_rest) = (0, 0, 0);
    while compared < 600 {
        let run = random_run(&mut random);
        let run = Run { gpus: run.gpus.min(64), global_batch: run.global_batch.min(64), pp: run.pp.max(2), ..run };
        let Ok(own) = evaluate(&run) else { continue };
        let own = (ScheduleVariant::of(&run), Prepared::of(Arc::new(own)));
        for variant in ScheduleVariant::all(&run).into_iter().filter(|variant| *variant != own.0) {
            let Some(other) = run.with_texts(&variant.set(&run, memory_limit(&run))) else { continue };
            let Ok(other) = evaluate(&other) else { continue };
            let other = Prepared::of(Arc::new(other));
            let words = winner(&[(own.0, &own.1), (variant, &other)]).unwrap().to_string();
            let Some((said, parts)) = words.split_once(" Of that, mean of the ranks: ") else { continue };
            let before = said.rsplit_once(" (").unwrap().0;
            let (gain, half) = time_of(before.rsplit_once(", ").unwrap().1);
            // What the software runs of the two is said behind it.
            let parts = parts.split(". ").next().unwrap().trim_end_matches('.');
            let (sum, slack) = sum_of(parts);
            // A remainder that moves none of the three digits is not said.
            assert!((sum - gain).abs() <= slack + half + 0.0005 * gain + 1e-12, "{sum} of {gain}: {words}");
            compared += 1;
            with_loss += usize::from(parts.contains(" more"));
            with_rest += usize::from(parts.contains("the rest "));
        }
    }
    assert!(with_loss > 50 && with_rest > 50, "{with_loss} {with_rest}");
}
