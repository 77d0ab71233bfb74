//! A period solved by itself: every micro-batch does the same, one period after the one before.
//!
//! With period P an op of stage s and kind x of micro-batch k starts at k P + offset(s, x); a rank runs F, B and W of
//! its stage once a period, so their places modulo P must not overlap. Let x(s) be the time from the start of F(s) to
//! the start of B(s). From the last stage inwards x(s) is at least x(s + 1) and what lies between; F and B fit where
//! x(s) modulo P leaves room for both, and W in the gap before or behind B. The least such x(s) grows with x(s + 1), so
//! going from stage to stage with the least x is exact: memory holds where W ends within c periods after its F began.
//! The least P is found by raising it.

use super::stages::StepStages;

/// Growth of the period from one trial to the next.
const GROWTH: f64 = 1.0005;
/// Most trials: the period grows to about twice the bound.
const TRIALS: usize = 1400;

/// Less than this share of a period is no overlap.
const SLACK: f64 = 1e-9;

/// Offsets of forward, backward and weight gradient of a stage.
type Offsets = [f64; 3];

/// The chains of `microbatches` in the order in which a solved period starts them; none where stages share ranks or no
/// period was found.
pub fn periodic(stages: &StepStages) -> Option<Vec<u16>> {
    if stages.home.iter().enumerate().any(|(stage, rank)| stage != *rank) {
        return None;
    }
    let last = stages.home.len() - 1;
    let (mut period, mut round) = (0.0f64, 0.0);
    for stage in (0..=last).rev() {
        period = period.max(stages.work(stage));
        round +=
            stages.forward[stage] + stages.backward_input[stage] + if stage < last { 2.0 * stages.lag } else { 0.0 };
        period = period.max((round + stages.weight(stage)) / f64::from(stages.room[stage]));
    }
    let (period, offsets) = (0..TRIALS).find_map(|_| {
        let found = offsets(stages, period).map(|offsets| (period, offsets));
        period *= GROWTH;
        found
    })?;
    let kinds = stages.kinds();
    let mut starts: Vec<(f64, u16)> = Vec::with_capacity(stages.microbatches as usize * kinds * offsets.len());
    for (stage, each) in offsets.iter().enumerate() {
        for (kind, offset) in each.iter().take(kinds).enumerate() {
            let chain = u16::try_from(stage * kinds + kind).ok()?;
            starts.extend((0..stages.microbatches).map(|k| (f64::from(k) * period + offset, chain)));
        }
    }
    crate::sort::sort_by(&mut starts, |one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    Some(starts.into_iter().map(|(_, chain)| chain).collect())
}

/// The offsets of every stage with period `period`, if they exist.
fn offsets(stages: &StepStages, period: f64) -> Option<Vec<Offsets>> {
    let last = stages.home.len() - 1;
    let slack = period * SLACK;
    let mut spans = vec![(0.0, 0.0); last + 1];
    let mut least = 0.0;
    for stage in (0..=last).rev() {
        let (f, b, w) = (stages.forward[stage], stages.backward_input[stage], stages.weight(stage));
        least += f;
        let allowed = f64::from(stages.room[stage]) * period + slack;
        // B at x, W right after it; or W in the gap between F and B, a period or more later.
        let behind = next(least, period, f, period - b - w, slack).map(|x| (x, x + b));
        let before =
            next(least, period, f + w, period - b, slack).map(|x| (x, ((x + b - slack) / period).ceil() * period + f));
        let fits = |found: &(f64, f64)| found.1 + w <= allowed;
        let fitting = behind.filter(fits).into_iter().chain(before.filter(fits));
        let (x, weight) = fitting.min_by(|one, other| one.0.total_cmp(&other.0))?;
        spans[stage] = (x, weight);
        least = x + b + 2.0 * stages.lag;
    }
    let mut head = 0.0;
    let each = spans.iter().enumerate().map(|(stage, (x, weight))| {
        let start = head;
        head += stages.forward[stage] + stages.lag;
        [start, start + x, start + weight]
    });
    Some(each.collect())
}

/// The least time from `least` on that lies between `from` and `to` modulo `period`.
fn next(least: f64, period: f64, from: f64, to: f64, slack: f64) -> Option<f64> {
    if to + slack < from {
        return None;
    }
    let turn = (least / period).floor();
    [turn - 1.0, turn, turn + 1.0].into_iter().find_map(|turn| {
        let (from, to) = (turn * period + from, turn * period + to);
        (least <= to + slack).then(|| least.max(from))
    })
}
