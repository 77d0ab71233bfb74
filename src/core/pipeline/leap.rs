//! The steady state of an order: once a simulation repeats itself, what it repeats is not simulated again.
//!
//! Where all ranks are in loops of their rows, they are run turn by turn. The state after a turn is where each rank is
//! in its loop, when it is free, and when the results that wait for a reader were made; nothing else decides what
//! follows. The next turns are a function of the state that is made of sums and maxima only: a state whose times are
//! all d later is followed by the same, d later. So when the state after turn k is that after turn k − c, every time
//! d later, c turns take d for as long as no rank leaves its loop, and all but the last of them are left out.
//!
//! In an order of several phases (`GPipe`: forwards, then backwards) nothing comes back to the ranks in front within a
//! phase, and each may keep a pace of its own. Then the times of the state differ each by its own `d_i`, twice in a
//! row, and once more behind what was left out. By how much the i-th time of the next state is above `d_i` later is a
//! convex function of the turns left out, since maxima of sums are; it is 0 at three points, hence at all between them.

use super::machine::{Lane, Machine, Made, Part, Place};

/// Times that differ by no more of what has passed are equal: what rounding leaves.
const ROUNDING: f64 = 1e-13;
/// Longest period looked for, in turns. Those of max-plus systems are the lengths of their slowest cycles, here of
/// ranks.
const LONGEST: usize = 256;
/// Loops that repeat less often are run through.
const FEWEST: u32 = 4;
/// Fewest turns of the first of several phases: later phases read results of this number of turns.
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
    let parts = || lanes.iter().flat_map(|lane| &lane.parts);
    let most = parts().map(|part| part.source.times).max().unwrap_or(0);
    let long = |part: &Part| part.source.times >= FEWEST && part.source.times > most / 2;
    let longest = |lane: &Lane| -> Vec<usize> {
        let parts = lane.parts.iter().enumerate();
        let long = parts.filter(|(_, part)| long(part));
        long.map(|(at, _)| at).collect()
    };
    let each: Vec<Vec<usize>> = lanes.iter().map(longest).collect();
    let count = each.first().map_or(0, Vec::len);
    let step = |(lane, loops): (&Lane, &Vec<usize>), at: usize| lane.parts[loops[at]].source.step.unsigned_abs();
    let alike = each.iter().all(|loops| loops.len() == count)
        && (0..count).all(|at| {
            let mut steps = lanes.iter().zip(&each).map(|lane| step(lane, at));
            let first = steps.next();
            steps.all(|step| Some(step) == first)
        });
    if !alike {
        return Vec::new();
    }
    (0..count).map(|at| each.iter().map(|loops| loops[at]).collect()).collect()
}

/// Runs `machine` to its end, leaving out what repeats. False where what was left out did not go on as it began: then
/// the order is to be simulated whole.
pub(super) fn run(machine: &mut Machine) -> bool {
    let phases = phases(&machine.lanes);
    for (index, phase) in phases.iter().enumerate() {
        let lead = if phases.len() > 1 && index == 0 { LEAD } else { 0 };
        match leap(machine, phase, phases.len() > 1, lead) {
            Some(true) => {}
            Some(false) => return false,
            None => break,
        }
    }
    machine.run(|_| Place { part: usize::MAX, ..Place::default() });
    machine.is_done()
}

/// The ranks after a turn of `phase`.
#[allow(clippy::cast_possible_truncation)] // turns are u32
fn limit(phase: &Phase, turn: usize) -> impl Fn(usize) -> Place {
    move |rank| Place { part: phase[rank], turn: turn as u32, step: 0 }
}

/// The part of an order that repeats: the turn from which on, the number of turns, and the delay of each rank, and of
/// each result that waits to be read, from one period to the next.
struct Period {
    turn: usize,
    turns: usize,
    ranks: Vec<f64>,
    waiting: Vec<(Waiting, f64)>,
}

/// Runs up to `phase` and through what does not repeat, at most `end` turns.
fn seek(machine: &mut Machine, phase: &Phase, end: usize, open: bool, lead: usize) -> Option<Period> {
    let p = phase.len();
    let mut marks: Vec<Mark> = Vec::new();
    let mut prints: Vec<f64> = Vec::new();
    let mut unread: Vec<Waiting> = Vec::with_capacity(2 * p);
    for turn in 0..end {
        machine.run(limit(phase, turn));
        let lanes = machine.lanes.iter().zip(phase);
        marks.extend(lanes.map(|(lane, part)| {
            #[allow(clippy::cast_possible_truncation)] // turns are u32
            let behind = (turn as u32).checked_sub(lane.at.turn);
            let behind = behind.filter(|_| lane.at.part == *part);
            Mark { at: behind.map(|behind| (behind, lane.at.step)), free: lane.free }
        }));
        let at = |back: usize| marks.get((turn.checked_sub(back)?) * p..)?.get(..p);
        waiting(machine, phase, &mut unread);
        prints.push(print(&machine.lanes, &unread, open));
        let latest = machine.lanes.iter().map(|lane| lane.free);
        let size = latest.fold(0.0, f64::max) * (p + unread.len()) as f64;
        let alike = |c: &usize| {
            let one = prints[turn] - prints[turn - c];
            let two = if open { prints[turn - c] - prints[turn - 2 * c] } else { 0.0 };
            (one - two).abs() <= 4.0 * ROUNDING * size
        };
        let longest = LONGEST.min(turn / if open { 2 } else { 1 });
        let mut candidates = (1..=longest).filter(alike).filter(|_| turn >= lead);
        let found = candidates.find_map(|c| {
            let (now, before) = (at(0)?, at(c)?);
            let earlier = if open { Some(at(2 * c)?) } else { None };
            let mut ranks = 0..p;
            if !ranks.all(|rank| repeats(now, before, earlier, rank)) {
                return None;
            }
            let later = now.iter().zip(before);
            let later: Vec<f64> = later.map(|(now, before)| now.free - before.free).collect();
            let paces = paces(machine, &unread, c, (!open).then(|| later[0]))?;
            Some((c, later, paces))
        });
        if let Some((turns, ranks, paces)) = found {
            return Some(Period { turn, turns, ranks, waiting: unread.into_iter().zip(paces).collect() });
        }
    }
    None
}

/// Runs up to `phase` and through what does not repeat, and leaves out what does; none where nothing does. False where
/// it does not go on.
fn leap(machine: &mut Machine, phase: &Phase, open: bool, lead: usize) -> Option<bool> {
    let turns = |(lane, part): (&Lane, &usize)| lane.parts[*part].source.times as usize;
    let fewest = machine.lanes.iter().zip(phase).map(turns).min()?;
    let period = seek(machine, phase, fewest, open, lead)?;
    let c = period.turns;
    // Where paces differ, one period behind what is left out has to show that they last.
    let rest = if open { 2 * c } else { 0 };
    let times = (fewest - period.turn).checked_sub(rest)? / c;
    if times == 0 {
        return None;
    }
    let mut ends: Vec<f64> = Vec::with_capacity(phase.len());
    for (lane, pace) in machine.lanes.iter_mut().zip(period.ranks) {
        ends.push(lane.free + (times + 1) as f64 * pace);
        lane.free += times as f64 * pace;
        #[allow(clippy::cast_possible_truncation)] // turns are u32
        let left_out = (times * c) as u32;
        lane.at.turn += left_out;
        lane.settle();
    }
    let mut results: Vec<(isize, f64)> = Vec::new();
    for (wait, pace) in period.waiting {
        let cell = |times: usize| wait.cell + wait.stride * (times * c).cast_signed();
        let end = |times: usize| wait.made.end + times as f64 * pace;
        // The results of an earlier phase are there.
        if machine.board.made(cell(times)).is_none() {
            // A rank that waits for it already is further than the period says.
            if machine.board.enter(cell(times), end(times), wait.made.maker).is_some() {
                return Some(false);
            }
        }
        if (times + 1) * c < wait.left {
            results.push((cell(times + 1), end(times + 1)));
        }
    }
    if !open {
        return Some(true);
    }
    machine.run(limit(phase, period.turn + (times + 1) * c));
    let made = |cell| machine.board.made(cell).map(|made| made.end);
    let mut lanes = machine.lanes.iter().zip(ends);
    let mut results = results.into_iter();
    let kept = lanes.all(|(lane, end)| equal((lane.free, end)))
        && results.all(|(cell, end)| made(cell).is_some_and(|made| equal((made, end))));
    Some(kept)
}

/// A number that is the same where the ranks are as far apart (in an `open` order: that moves on evenly where they do),
/// and hardly ever else: the times weighed by the golden ratio's multiples.
fn print(lanes: &[Lane], waiting: &[Waiting], open: bool) -> f64 {
    let first = lanes.first().map_or(0.0, |lane| lane.free);
    let (base, waiting) = if open { (0.0, &[][..]) } else { (first, waiting) };
    let ends = waiting.iter().map(|wait| wait.made.end);
    let mut weight = 0.0;
    let weighed = lanes.iter().map(|lane| lane.free).chain(ends).map(|time| {
        weight += 0.618_033_988_749_895;
        if weight >= 1.0 {
            weight -= 1.0;
        }
        weight * (time - base)
    });
    weighed.sum()
}

fn equal((one, other): (f64, f64)) -> bool {
    (one - other).abs() <= ROUNDING * one.abs().max(other.abs())
}

/// True if a rank is where it was c turns before, and as much later as the first, or, where `earlier` is given, twice
/// by its own pace.
fn repeats(now: &[Mark], before: &[Mark], earlier: Option<&[Mark]>, rank: usize) -> bool {
    let (this, that) = (now[rank], before[rank]);
    let expected = match earlier {
        None => that.free + (now[0].free - before[0].free),
        Some(earlier) => 2.0 * that.free - earlier[rank].free,
    };
    this.at.is_some()
        && this.at == that.at
        && earlier.is_none_or(|earlier| earlier[rank].at == this.at)
        && equal((this.free, expected))
}

/// A result that has been made and not yet read.
struct Waiting {
    cell: isize,
    stride: isize,
    made: Made,
    /// Turns of the loop that are left, the one that reads this result included.
    left: usize,
}

/// Fills `list` with the results that the loops of `phase` have not read yet.
fn waiting(machine: &Machine, phase: &Phase, list: &mut Vec<Waiting>) {
    list.clear();
    for (lane, part) in machine.lanes.iter().zip(phase) {
        let part = &lane.parts[*part];
        let stride = part.stride;
        for first in machine.waits(part) {
            let mut cell = first + stride * lane.turn();
            let mut left = (part.source.times.saturating_sub(lane.at.turn)) as usize;
            while let Some(made) = machine.board.made(cell).filter(|_| left > 0) {
                list.push(Waiting { cell, stride, made, left });
                cell += stride;
                left -= 1;
            }
        }
    }
}

/// By how much each of `waiting` is later than the one c turns before; none where that is not the `common` pace, or not
/// twice its own.
fn paces(machine: &Machine, waiting: &[Waiting], c: usize, common: Option<f64>) -> Option<Vec<f64>> {
    let pace = |wait: &Waiting| {
        let now = wait.made.end;
        let before = |times: isize| {
            let cell = wait.cell - wait.stride * c.cast_signed() * times;
            machine.board.made(cell).map(|made| made.end)
        };
        let pace = now - before(1)?;
        let expected = match common {
            Some(pace) => pace,
            None => (now - before(2)?) / 2.0,
        };
        ((pace - expected).abs() <= ROUNDING * now).then_some(pace)
    };
    waiting.iter().map(pace).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Durations, SCHEDULES, Spec, build};

    /// The number of results that are computed for an order, and the number of results that it has.
    fn made(spec: &Spec, durations: &Durations) -> Option<(usize, usize)> {
        let order = build(spec, durations).ok()?.order;
        let mut machine = Machine::new(&order, durations, true, false);
        assert!(run(&mut machine), "{}", spec.schedule.id());
        let results = 2 * order.stages as usize * order.units() as usize;
        let cells = 0..results.cast_signed();
        let made = cells.filter(|cell| machine.board.made(*cell).is_some());
        Some((made.count(), results))
    }

    /// Every schedule but those that are laid out by their durations, with equal stages and with long ends.
    #[test]
    fn what_is_simulated_does_not_grow_with_the_micro_batches() {
        for row in SCHEDULES.iter().filter(|row| !row.uses_durations) {
            for longer in [1.0, 1.3] {
                let spec = |m| Spec { virtual_stages: 2, ..Spec::new(row, 4, m) };
                let mut durations = Durations::uniform(spec(1).stages(), 1.0, 1.1, 0.9).with_p2p(0.01);
                durations.forward[0] *= longer;
                let last = durations.backward_input.len() - 1;
                durations.backward_input[last] *= longer;
                let (Some(few), Some(many)) = (made(&spec(400), &durations), made(&spec(2000), &durations)) else {
                    assert_eq!(row.id(), "custom");
                    continue;
                };
                assert_eq!(few.0, many.0, "{}", row.id());
                assert!(few.0 < few.1 * 3 / 5, "{} {few:?}", row.id());
            }
        }
    }
}
