//! Many micro-batches: fill, a period as often as it is needed, drain.
//!
//! In an order of few micro-batches, two cuts at which every chain has advanced by the same number of micro-batches
//! bound a period. To repeat what lies between is a legal order of more micro-batches: counts relative to each other
//! are the same, so precedence, room and freedom of dead-lock carry over. A period solved by itself
//! ([`modulo`](super::modulo)) has such cuts at once. The best is the one of the least makespan at the full number of
//! micro-batches.

use super::modulo::periodic;
use super::problem::{Problem, Ticks};
use super::search::{OrderSearch, replay};
use super::stages::StepStages;
use crate::sort::sort_by;
use std::collections::HashMap;

/// An order of ops as chains, of which the middle is run several times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folded {
    /// First part.
    pub fill: Vec<u16>,
    /// Repeated part.
    pub period: Vec<u16>,
    /// Times that it runs.
    pub times: u32,
    /// Micro-batches of a period.
    pub step: u32,
    /// Last part.
    pub drain: Vec<u16>,
}

impl Folded {
    pub fn chains(&self) -> Vec<u16> {
        self.unfolded(self.times)
    }

    /// All ops with the period run `times` times.
    fn unfolded(&self, times: u32) -> Vec<u16> {
        let mut chains = self.fill.clone();
        for _ in 0..times {
            chains.extend_from_slice(&self.period);
        }
        chains.extend_from_slice(&self.drain);
        chains
    }
}

/// Ops of which a repeated period is not looked for.
pub const DIRECT: usize = 3_000;

/// Cuts that are timed, of each order.
const CUTS: usize = 24;

/// Ops that are timed to choose among the most promising.
const REPLAYED: usize = 200_000;

/// Micro-batches that every number differs from by a multiple of many periods.
const COMMON: u32 = 12;

/// An order of many micro-batches: the best of several short ones repeated. None where no short one repeats.
pub fn folded(stages: &StepStages, budget: u64) -> Option<Folded> {
    let (problem, _) = stages.problem();
    let m = stages.microbatches;
    let ranks = u32::try_from(stages.ranks()).unwrap_or(u32::MAX);
    let room = stages.room.iter().copied().max().unwrap_or(1).min(4 * ranks);
    let least = (3 * ranks).max(room + ranks).max(2 * COMMON);
    let mut sizes: Vec<u32> = Vec::new();
    for step in [COMMON, room] {
        let few = least + (m % step + step - least % step) % step;
        if few < m && !sizes.contains(&few) {
            sizes.push(few);
        }
    }
    let mut found: Vec<(Ticks, Folded)> = Vec::new();
    for &few in &sizes {
        let short = Problem { microbatches: few, ..problem.clone() };
        let mut search = OrderSearch::new(&short, budget / sizes.len() as u64);
        let solved = periodic(&StepStages { microbatches: few, ..stages.clone() });
        if let Some(solved) = &solved {
            search.start_from(solved.clone());
        }
        search.finish();
        for chains in search.orders.into_iter().chain(solved) {
            found.extend(folds(&problem, &chains, few));
        }
    }
    sort_by(&mut found, |one, other| one.0.cmp(&other.0));
    // A period may drift beyond what two of it show: the most promising are timed whole.
    found.truncate((REPLAYED / problem.ops().max(1)).clamp(3, CUTS));
    let timed = found.into_iter().filter_map(|(_, fold)| Some((replay(&problem, &fold.chains())?, fold)));
    timed.min_by_key(|(ticks, _)| *ticks).map(|(_, fold)| fold)
}

/// Ways to repeat a part of `chains`, an order of `few` micro-batches, with what each takes at the full number, about:
/// the added time of two periods carried on.
fn folds(problem: &Problem, chains: &[u16], few: u32) -> Vec<(Ticks, Folded)> {
    let count = problem.chains.len();
    let mut counts = vec![0u32; count];
    let mut seen: HashMap<Vec<u32>, Vec<(usize, u32)>> = HashMap::new();
    let mut cuts: Vec<(usize, usize, u32)> = Vec::new();
    for at in 0..=chains.len() {
        let least = counts.iter().copied().min().unwrap_or(0);
        if least > 0 && counts.iter().all(|count| *count < few) {
            let relative: Vec<u32> = counts.iter().map(|count| count - least).collect();
            let places = seen.entry(relative).or_default();
            for (from, before) in places.iter() {
                let step = least - before;
                if (problem.microbatches - few).is_multiple_of(step) {
                    cuts.push((*from, at, step));
                }
            }
            places.push((at, least));
        }
        if let Some(chain) = chains.get(at) {
            counts[usize::from(*chain)] += 1;
        }
    }
    // Those in the middle first: far from fill and drain.
    let middle = chains.len() / 2;
    sort_by(&mut cuts, |one, other| {
        let off = |cut: &(usize, usize, u32)| (cut.0 + cut.1).abs_diff(2 * middle);
        off(one).cmp(&off(other))
    });
    let mut tried: HashMap<u32, usize> = HashMap::new();
    cuts.retain(|(_, _, step)| {
        let times = tried.entry(*step).or_default();
        *times += 1;
        *times <= CUTS / 4
    });
    let timed = cuts.into_iter().take(CUTS).filter_map(|(from, to, step)| {
        let times = 1 + (problem.microbatches - few) / step;
        let fold = Folded {
            fill: chains[..from].to_vec(),
            period: chains[from..to].to_vec(),
            times,
            step,
            drain: chains[to..].to_vec(),
        };
        let ends = |times: u32| {
            let longer = Problem { microbatches: few + step * (times - 1), ..problem.clone() };
            replay(&longer, &fold.unfolded(times))
        };
        let runs = times.min(3.max(2 * few / step));
        let (long, longer) = (ends(runs)?, ends(runs + 2)?);
        Some((long + (longer - long) * Ticks::from(times - runs) / 2, fold))
    });
    timed.collect()
}
