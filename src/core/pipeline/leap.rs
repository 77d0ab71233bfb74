//! The steady state of an order: once a simulation repeats itself, what it repeats is not simulated again.
//!
//! Where all ranks are in loops of their rows, they are run turn by turn. The state after a turn is where each rank is
//! in its loop, when it is free, and when the results that wait for a reader were made; nothing else decides what
//! follows. The next turns are a function of the state that is made of sums and maxima only: a state whose times are all
//! d later is followed by the same, d later. So when the state after turn k is that after turn k − c, every time d later,
//! c turns take d for as long as no rank leaves its loop, and all but the last of them are left out.
//!
//! In an order of several phases (`GPipe`: forwards, then backwards) nothing comes back to the ranks in front within a
//! phase, and each may keep a pace of its own. Then the times of the state differ each by its own d_i, twice in a row,
//! and once more behind what was left out. By how much the i-th time of the next state is above d_i later is a convex
//! function of the turns left out, since maxima of sums are; it is 0 at three points, hence at all between them.

use super::machine::{Lane, Machine, Part, Place, is_made};

/// Times that differ by no more of what has passed are equal: what rounding leaves.
const ROUNDING: f64 = 1e-13;
/// Longest period looked for, in turns. Those of max-plus systems are the lengths of their slowest cycles, here of ranks.
const LONGEST: usize = 256;
/// Loops that repeat less often are run through.
const FEWEST: u32 = 4;
/// Turns of the first of several phases at least, so that what the later ones read of it is there.
const LEAD: usize = 8;

/// A rank after a turn.
#[derive(Clone, Copy)]
struct Mark {
    /// Turns behind, and the step in the turn; none where it is not in its loop yet.
    at: Option<(u32, usize)>,
    free: f64,
}

/// One loop a rank, which all ranks run at the same time.
type Phase = Vec<usize>;

/// The loops that are longest, as far as every rank has one.
fn phases(lanes: &[Lane]) -> Vec<Phase> {
    let all = || lanes.iter().flat_map(|lane| &lane.parts);
    let most = all().map(|part| part.source.times).max().unwrap_or(0);
    let long = |part: &Part| part.source.times >= FEWEST && part.source.times > most / 2;
    let of = |lane: &Lane| -> Vec<usize> {
        let parts = lane.parts.iter().enumerate();
        let long = parts.filter(|(_, part)| long(part));
        long.map(|(at, _)| at).collect()
    };
    let each: Vec<Vec<usize>> = lanes.iter().map(of).collect();
    let count = each.first().map_or(0, Vec::len);
    let step = |(lane, loops): (&Lane, &Vec<usize>), at: usize| {
        lane.parts[loops[at]].source.step.unsigned_abs()
    };
    let alike = each.iter().all(|loops| loops.len() == count)
        && (0..count).all(|at| {
            let mut steps = lanes.iter().zip(&each).map(|lane| step(lane, at));
            let first = steps.next();
            steps.all(|step| Some(step) == first)
        });
    if !alike {
        return Vec::new();
    }
    (0..count)
        .map(|at| each.iter().map(|loops| loops[at]).collect())
        .collect()
}

/// Runs `machine` to its end, leaving out what repeats. False where what was left out did not go on as it began: then
/// the order is to be simulated whole.
pub(super) fn run(machine: &mut Machine) -> bool {
    let phases = phases(&machine.lanes);
    for (index, phase) in phases.iter().enumerate() {
        let lead = if phases.len() > 1 && index == 0 {
            LEAD
        } else {
            0
        };
        match leap(machine, phase, phases.len() > 1, lead) {
            Some(true) => {}
            Some(false) => return false,
            None => break,
        }
    }
    machine.run(|_| Place {
        part: usize::MAX,
        ..Place::default()
    });
    machine.is_done()
}

/// Runs up to `phase` and through what does not repeat, and leaves out what does; none where nothing does.
fn leap(machine: &mut Machine, phase: &Phase, open: bool, lead: usize) -> Option<bool> {
    let limit = |turn: usize| {
        #[allow(clippy::cast_possible_truncation)] // turns are u32
        let turn = turn as u32;
        move |rank: usize| Place {
            part: phase[rank],
            turn,
            step: 0,
        }
    };
    let turns = |(lane, part): (&Lane, &usize)| lane.parts[*part].source.times as usize;
    let fewest = machine.lanes.iter().zip(phase).map(turns).min()?;
    let p = phase.len();
    let mut marks: Vec<Mark> = Vec::new();
    // By how much the last rank is behind the first, and when: a quick look at what may repeat.
    let mut spreads: Vec<(f64, f64)> = Vec::new();
    for turn in 0..fewest {
        machine.run(limit(turn));
        let lanes = machine.lanes.iter().zip(phase);
        marks.extend(lanes.map(|(lane, part)| {
            #[allow(clippy::cast_possible_truncation)] // turns are u32
            let behind = (turn as u32).checked_sub(lane.at.turn);
            Mark {
                at: behind
                    .filter(|_| lane.at.part == *part)
                    .map(|behind| (behind, lane.at.step)),
                free: lane.free,
            }
        }));
        let at = |back: usize| marks.get((turn.checked_sub(back)?) * p..)?.get(..p);
        let last = machine.lanes.last().map_or(0.0, |lane| lane.free);
        spreads.push((last - machine.lanes[0].free, last));
        let alike = |c: usize| {
            let ((now, size), (before, _)) = (spreads[turn], spreads[turn - c]);
            open || (now - before).abs() <= 2.0 * ROUNDING * size
        };
        let longest = LONGEST.min(turn / if open { 2 } else { 1 });
        let found = (1..=longest)
            .filter(|c| turn >= lead && alike(*c))
            .find_map(|c| {
                let (now, before) = (at(0)?, at(c)?);
                let earlier = if open { Some(at(2 * c)?) } else { None };
                let pace = (!open).then(|| now[0].free - before[0].free);
                let same = repeats(now, before, earlier);
                let waiting = same.then(|| pending(machine, phase, c, pace)).flatten()?;
                Some((c, waiting))
            });
        let Some((c, waiting)) = found else { continue };
        // Where paces differ, one period behind what is left out has to show that they last.
        let rest = if open { 2 * c } else { 0 };
        let times = (fewest - turn).checked_sub(rest)? / c;
        if times == 0 {
            return None;
        }
        let (now, before) = (at(0)?, at(c)?);
        let later = |rank: usize, times: usize| {
            now[rank].free + times as f64 * (now[rank].free - before[rank].free)
        };
        let expected: Vec<f64> = (0..p).map(|rank| later(rank, times + 1)).collect();
        for (rank, lane) in machine.lanes.iter_mut().enumerate() {
            lane.free = later(rank, times);
            #[allow(clippy::cast_possible_truncation)] // turns are u32
            let left_out = (times * c) as u32;
            lane.at.turn += left_out;
            lane.settle();
        }
        let mut shown: Vec<(usize, f64)> = Vec::new();
        for wait in waiting {
            let target = |times: usize| {
                let cells = wait.stride * (times * c).cast_signed();
                (wait.cell.cast_signed() + cells).cast_unsigned()
            };
            let end = |times: usize| wait.end + times as f64 * wait.pace;
            let cell = target(times);
            // What an earlier phase has made is there.
            if machine
                .makers
                .get(cell)
                .is_some_and(|maker| !is_made(*maker))
            {
                machine.ends[cell] = end(times);
                machine.makers[cell] = machine.makers[wait.cell];
            }
            if (times + 1) * c < wait.left {
                shown.push((target(times + 1), end(times + 1)));
            }
        }
        if !open {
            return Some(true);
        }
        machine.run(limit(turn + (times + 1) * c));
        let lanes = machine.lanes.iter().zip(expected);
        let kept = lanes.map(|(lane, end)| (lane.free, end)).all(equal)
            && shown.into_iter().all(|(cell, end)| {
                machine
                    .makers
                    .get(cell)
                    .is_some_and(|maker| is_made(*maker))
                    && equal((machine.ends[cell], end))
            });
        return Some(kept);
    }
    None
}

fn equal((one, other): (f64, f64)) -> bool {
    (one - other).abs() <= ROUNDING * one.abs().max(other.abs())
}

/// Whether ranks are where they were c turns before, and as much later: all alike, or, where `earlier` is given, each
/// twice by its own pace.
fn repeats(now: &[Mark], before: &[Mark], earlier: Option<&[Mark]>) -> bool {
    let pace = now[0].free - before[0].free;
    let mut ranks = (0..now.len()).map(|rank| {
        let (now, before) = (now[rank], before[rank]);
        let expected = match earlier {
            None => before.free + pace,
            Some(earlier) => 2.0 * before.free - earlier[rank].free,
        };
        now.at.is_some()
            && now.at == before.at
            && earlier.is_none_or(|earlier| earlier[rank].at == now.at)
            && equal((now.free, expected))
    });
    ranks.all(|same| same)
}

/// A result that has been made and not yet read.
struct Waiting {
    cell: usize,
    stride: isize,
    end: f64,
    /// By how much it is later than the one c turns before.
    pace: f64,
    /// Turns until its loop ends, from the one that reads it on.
    left: usize,
}

/// The results that wait to be read; none where they are not later than those of c turns before by the `common` pace, or
/// twice by their own.
fn pending(
    machine: &Machine,
    phase: &Phase,
    c: usize,
    common: Option<f64>,
) -> Option<Vec<Waiting>> {
    let mut waiting = Vec::new();
    let end = |cell: isize| {
        let cell = usize::try_from(cell).ok()?;
        let made = machine
            .makers
            .get(cell)
            .is_some_and(|maker| is_made(*maker));
        made.then(|| machine.ends[cell])
    };
    let back = c.cast_signed();
    for (lane, part) in machine.lanes.iter().zip(phase) {
        let part = &lane.parts[*part];
        let stride = part.stride;
        for first in machine.waits(part) {
            let mut cell = first + stride * lane.at.turn as isize;
            let mut left = (part.source.times - lane.at.turn) as usize;
            while let Some(now) = end(cell).filter(|_| left > 0) {
                let pace = now - end(cell - stride * back)?;
                let expected = match common {
                    Some(pace) => pace,
                    None => (now - end(cell - 2 * stride * back)?) / 2.0,
                };
                if (pace - expected).abs() > ROUNDING * now {
                    return None;
                }
                waiting.push(Waiting {
                    cell: cell.cast_unsigned(),
                    stride,
                    end: now,
                    pace,
                    left,
                });
                cell += stride;
                left -= 1;
            }
        }
    }
    Some(waiting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Durations, SCHEDULES, Spec, build};

    /// Results that are computed of an order of so many micro-batches, and of how many there are.
    fn made(spec: &Spec, durations: &Durations) -> Option<(usize, usize)> {
        let order = build(spec, durations).ok()?.order;
        let mut machine = Machine::new(&order, durations, true, false);
        assert!(run(&mut machine), "{}", spec.schedule.id);
        let made = machine.makers.iter().filter(|maker| is_made(**maker));
        Some((made.count(), machine.makers.len()))
    }

    /// Every schedule but those that are laid out by their durations, with equal stages and with long ends.
    #[test]
    fn what_is_simulated_does_not_grow_with_the_micro_batches() {
        for row in SCHEDULES.iter().filter(|row| !row.uses_durations) {
            for longer in [1.0, 1.3] {
                let spec = |m| Spec {
                    virtual_stages: 2,
                    ..Spec::new(row, 4, m)
                };
                let mut durations =
                    Durations::uniform(spec(1).stages(), 1.0, 1.1, 0.9).with_p2p(0.01);
                durations.forward[0] *= longer;
                let last = durations.backward_input.len() - 1;
                durations.backward_input[last] *= longer;
                let (Some(few), Some(many)) =
                    (made(&spec(400), &durations), made(&spec(2000), &durations))
                else {
                    assert_eq!(row.id, "custom");
                    continue;
                };
                assert_eq!(few.0, many.0, "{}", row.id);
                assert!(few.0 < few.1 * 3 / 5, "{} {few:?}", row.id);
            }
        }
    }
}
