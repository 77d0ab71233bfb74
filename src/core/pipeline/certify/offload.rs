//! The least time of a step whose activations may leave for the host: a bound over every order and every choice of what
//! leaves.
//!
//! Each rank has one stage and, beside its compute, a machine that takes activations out and one that brings them in,
//! or one for both. A micro-batch takes room from the start of its forward pass to the end of its way out, and from the
//! start of its way in to the end of its backward pass. Which ones leave is free.
//!
//! For a stage, y of m micro-batches leave; `head` is the least time before its first forward pass, `tail` after its
//! last backward pass, `rt` from the start of a forward pass to the start of the backward pass of the same micro-batch:
//!
//! - work: `head + m (f + b + w)` and `head + m (f + b) + tail`;
//! - link: the y ways out follow the first forward pass one after the other, and the last is followed by its way in,
//!   its backward pass and those in front; mirrored for the ways in.
//!   `head + f + b + max(tail, w) + max(y o + l, o + y l)`, or `y (o + l)` of one machine for both;
//! - room times time: one that stays takes room for `rt + b + w` at least, one that leaves for `f + o + l + b + w`;
//! - start: before `head + rt` no backward pass starts, so room comes from ways out alone and at most
//!   `n = min(m, c + min(y, (rt − f)/o))` forward passes have started.
//!
//! None uses the order of the micro-batches. Fact 1 (`problem`) does not hold here: with activations that leave, an
//! order of micro-batches out of their sequence may end earlier.

/// What a quotient of sums of seconds may be less than in exact numbers, as a share of it; 64 stages lose 1e-14.
const ROUNDING: f64 = 1e-12;

/// One stage of a rank of its own, in seconds or ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OffloadedStage {
    pub forward: f64,
    /// Gradients of the input, or both where weights are not apart.
    pub backward: f64,
    /// Gradients of the weights, where they are apart; else 0.
    pub weight: f64,
    /// Way of a micro-batch's activations to the host, and back.
    pub out: f64,
    pub back: f64,
    /// Micro-batches whose activations it has room for, at least 1.
    pub room: u32,
}

/// What holds for all stages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OffloadRules {
    pub microbatches: u32,
    /// A message between two stages.
    pub lag: f64,
    /// Gradients of weights are ops of their own.
    pub is_split: bool,
    /// One machine for both ways.
    pub is_shared: bool,
}

/// The least time of a step of `stages`; 0 for none.
pub fn least_with_offload(stages: &[OffloadedStage], rules: OffloadRules) -> f64 {
    let bounds = (0..stages.len()).map(|at| least_by_stage(stages, at, rules).0);
    bounds.fold(0.0, f64::max)
}

/// Micro-batches that leave the stage `at` where its own bound is least; the fewest of those.
pub(super) fn leaving_at_least(stages: &[OffloadedStage], at: usize, rules: OffloadRules) -> u32 {
    least_by_stage(stages, at, rules).1
}

/// The least time of a step by the rules of the stage `at` alone, and the number of leaving micro-batches that is best
/// for it; symbols as at the head of this file.
fn least_by_stage(stages: &[OffloadedStage], at: usize, rules: OffloadRules) -> (f64, u32) {
    let OffloadRules { microbatches, lag, is_split, is_shared } = rules;
    let OffloadedStage { forward: f, backward: b, weight: w, out, back, room } = stages[at];
    let m = f64::from(microbatches);
    let before = &stages[..at];
    let head: f64 = before.iter().map(|stage| stage.forward + lag).sum();
    let tail: f64 = before.iter().map(|stage| stage.backward + lag).sum();
    let behind = &stages[at + 1..];
    let round = f + behind.iter().map(|stage| stage.forward + stage.backward + 2.0 * lag).sum::<f64>();
    let room = f64::from(room.max(1));
    let work = (head + m * (f + b + w)).max(head + m * (f + b) + tail);
    let last = if is_split { 0.0 } else { tail };
    let with = |leaving: u32| {
        let y = f64::from(leaving);
        let link = match leaving {
            0 => 0.0,
            _ if is_shared => y * (out + back),
            _ => (y * out + back).max(out + y * back),
        };
        let link = if leaving == 0 { 0.0 } else { head + f + b + tail.max(w) + link };
        let held = y * (f + out + back + b + w) + (m - y) * (round + b + w);
        // As many as in exact numbers: one fewer would make the bound too high.
        let gone = if out > 0.0 { ((round - f) / out * (1.0 + ROUNDING)).floor().min(y) } else { y };
        let started = m.min(room + gone) * f;
        let rest = |each: f64, end: f64| head + round + m * each - started.min(round) + end;
        let start = if is_split { rest(f + b + w, 0.0).max(rest(f + b, tail)) } else { rest(f + b + w, tail) };
        work.max(link).max(head + held / room + last).max(start)
    };
    let bounds = (0..=microbatches).map(|leaving| (with(leaving), leaving));
    bounds.fold((f64::INFINITY, 0), |best, found| if found.0 < best.0 { found } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With room for all micro-batches nothing has to leave, and a link that takes no time makes one room enough for
    /// as many forward passes as come: both are bounds by the work alone.
    #[test]
    fn room_or_a_fast_link_leaves_the_work() {
        let stage =
            |out: f64, room: u32| OffloadedStage { forward: 1.0, backward: 2.0, weight: 0.0, out, back: out, room };
        let rules = OffloadRules { microbatches: 8, lag: 0.0, is_split: false, is_shared: false };
        let of = |out: f64, room: u32| least_with_offload(&[stage(out, room); 4], rules);
        // 1F1B: (m + p - 1)(f + b).
        assert!((of(100.0, 8) - 33.0).abs() < 1e-9, "{}", of(100.0, 8));
        assert!((of(0.0, 1) - 33.0).abs() < 1e-9, "{}", of(0.0, 1));
        assert!(of(1.0, 1) > of(1.0, 2) && of(1.0, 2) >= of(1.0, 4));
        assert!(of(4.0, 2) > of(1.0, 2));
    }
}
