//! The best layout in every cell of a map over two axes: two fields of a search, model size by nodes as the Ultra-Scale
//! Playbook draws it, or (TP, PP, CP) by GPUs as Fujii's tables do. Every cell is exact: its own ranking, ended only
//! when nothing left in it can be faster.

use crate::run::{Based, Recompute, Run, Schedule};
use crate::search::axes::{Axes, SplitRule};
use crate::search::engine::Search;
use crate::search::filter::{Filter, LayoutAxis};
use crate::search::promise::{LayoutPlace, Promise};
use crate::search::ranking::Ranking;
use crate::search::request::PlanRequest;
use crate::sort::{sort, sort_by};
use std::rc::Rc;

mod cells;

use cells::models;
pub use cells::{Cells, Head, MapAxes, MapCell};

const NODES: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Layouts of the paper's picture.
const LAYOUTS: usize = 12;

/// A search whose layouts fill some of the cells.
#[derive(Clone, Debug)]
struct Job {
    run: Run,
    limited: bool,
    /// The cells, each for one (TP, PP, CP) or for all.
    cells: Vec<(usize, Option<[u64; 3]>)>,
}

/// A map under way.
#[derive(Clone, Debug)]
pub struct Map {
    /// Answers of its cells, as far as known.
    pub found: Cells,
    /// By cell: the ranking of its layouts, and those that are tight at best.
    rankings: Vec<(usize, Ranking, Vec<LayoutPlace>)>,
    jobs: Vec<Job>,
    search: Option<Search>,
}

impl Map {
    /// The map of `picture` over the layouts of `search` that `filter` keeps; the search is bounded.
    pub fn new(picture: MapAxes, run: &Run, search: &Search, filter: &Filter) -> Self {
        let mut map = Self {
            found: Cells { picture, across: Vec::new(), down: Vec::new(), cells: Vec::new(), done: false },
            rankings: Vec::new(),
            jobs: Vec::new(),
            search: None,
        };
        match picture {
            MapAxes::Fields(across, down) => map.fields(across, down, search, filter),
            MapAxes::Sizes => map.sizes(run),
            MapAxes::Layouts => map.layouts(run, search),
        }
        // Taken from the end.
        map.jobs.reverse();
        map.rankings.reverse();
        map
    }

    pub(crate) fn is_over(&self) -> bool {
        self.rankings.is_empty() && self.jobs.is_empty()
    }

    /// Works for about `budget` units; `search` is the one that the map was made from.
    pub fn step(&mut self, search: &mut Search, budget: u64) {
        let mut left = budget;
        while left > 0 && !self.is_over() {
            let spent = match self.search.take() {
                // A search of its own: bounded first, then ranked cell by cell.
                Some(mut apart) => {
                    let spent = self.bound_apart(&mut apart, left);
                    if !apart.is_bounded() || !self.rankings.is_empty() {
                        self.search = Some(apart);
                    }
                    spent
                }
                None if self.rankings.is_empty() => self.next_job(),
                None => self.rank(search),
            };
            left = left.saturating_sub(spent.max(1));
        }
        self.found.done = self.is_over();
    }

    fn bound_apart(&mut self, apart: &mut Search, budget: u64) -> u64 {
        if apart.is_bounded() {
            return self.rank(apart);
        }
        let spent = budget.min(1000);
        apart.step(spent);
        if apart.is_bounded()
            && let Some(job) = self.jobs.pop()
        {
            for (cell, sizes) in job.cells.into_iter().rev() {
                let (promises, near, any) = of_layout(apart, sizes);
                self.open(cell, &promises, near, any);
            }
        }
        spent
    }

    fn next_job(&mut self) -> u64 {
        let Some(job) = self.jobs.last() else {
            return 1;
        };
        if let Some(search) = search_of(job) {
            self.search = Some(search);
        } else {
            for (cell, _) in &job.cells {
                self.found.cells[*cell] = MapCell::Void;
            }
            self.jobs.pop();
        }
        10
    }

    /// Opens a cell on its layouts, of which there are `any`.
    fn open(&mut self, cell: usize, promises: &[Promise], near: Vec<LayoutPlace>, any: bool) {
        if promises.is_empty() && near.is_empty() {
            self.found.cells[cell] = if any { MapCell::Out } else { MapCell::Void };
        } else {
            self.rankings.push((cell, Ranking::new(promises, 1, false), near));
        }
    }

    fn rank(&mut self, search: &mut Search) -> u64 {
        let Some((cell, ranking, near)) = self.rankings.last_mut() else {
            return 1;
        };
        if !ranking.is_over() {
            return search.rank_more(ranking);
        }
        self.found.cells[*cell] = match (ranking.best().first(), ranking.tight) {
            (Some(found), _) => MapCell::Best(Rc::clone(found)),
            (None, true) => MapCell::Tight,
            (None, false) => {
                if let Some(place) = near.pop() {
                    let (tight, work) = search.is_tight(place);
                    ranking.tight = tight;
                    return work;
                }
                MapCell::Out
            }
        };
        self.rankings.pop();
        1
    }

    fn size(&mut self) {
        let cells = self.found.across.len() * self.found.down.len();
        self.found.cells = vec![MapCell::Open; cells];
    }

    fn fields(&mut self, across: LayoutAxis, down: LayoutAxis, search: &Search, filter: &Filter) {
        let space = search.space();
        let (columns, rows) = (across.values(&space.axes), down.values(&space.axes));
        let heads = |axis: LayoutAxis, values: &[u64]| -> Vec<Head> {
            let values = values.iter();
            values.map(|value| Head::Value(axis, *value)).collect()
        };
        self.found.across = heads(across, &columns);
        self.found.down = heads(down, &rows);
        self.size();
        let mut promises: Vec<(Vec<Promise>, Vec<LayoutPlace>)> = vec![Default::default(); self.found.cells.len()];
        let mut any = vec![false; self.found.cells.len()];
        let mut next = search.promises().iter().peekable();
        let mut next_near = search.near().iter().peekable();
        for (at, block) in space.blocks.iter().enumerate() {
            for (index, &member) in space.members(block).iter().enumerate() {
                let place = |values: &[u64], axis: LayoutAxis| {
                    let place = axis.of(space, block, member);
                    values.iter().position(|value| *value == place)
                };
                let here = LayoutPlace::new(at, index);
                let promise = next.next_if(|promise| promise.place == here);
                let near = next_near.next_if(|place| **place == here);
                if !filter.keeps(space, block, member) {
                    continue;
                }
                if let (Some(column), Some(row)) = (place(&columns, across), place(&rows, down)) {
                    let cell = row * columns.len() + column;
                    any[cell] = true;
                    promises[cell].0.extend(promise.copied());
                    promises[cell].1.extend(near.copied());
                }
            }
        }
        for (cell, ((promises, near), any)) in promises.into_iter().zip(any).enumerate() {
            self.open(cell, &promises, near, any);
        }
    }

    fn sizes(&mut self, run: &Run) {
        let per_node = run.gpus_per_node.or_else(|| {
            let gpu = run.gpu.resolve().ok()?;
            Some(gpu.per_node)
        });
        let per_node = per_node.unwrap_or(8);
        self.found.across = NODES.map(Head::Count).into();
        self.found.down = (0..models().count()).map(Head::Model).collect();
        self.size();
        for (row, model) in models().enumerate() {
            for (column, nodes) in NODES.iter().enumerate() {
                self.jobs.push(Job {
                    run: Run { model: Based::preset(model.id), gpus: nodes * per_node, ..run.clone() },
                    limited: true,
                    cells: vec![(row * NODES.len() + column, None)],
                });
            }
        }
    }

    fn layouts(&mut self, run: &Run, search: &Search) {
        let space = search.space();
        let mut promises: Vec<Promise> = search.promises().to_vec();
        // Reversed order: the smallest bound is the greatest.
        sort_by(&mut promises, |a, b| b.cmp(a));
        let mut rows: Vec<[u64; 3]> = Vec::new();
        for promise in promises {
            let block = space.blocks[promise.place.block()];
            let sizes = [block.tp, block.pp, block.cp];
            if !rows.contains(&sizes) {
                rows.push(sizes);
            }
            if rows.len() == LAYOUTS {
                break;
            }
        }
        sort(&mut rows);
        let counts: Vec<u64> = [run.gpus / 4, run.gpus / 2, run.gpus]
            .into_iter()
            .chain([run.gpus.saturating_mul(2), run.gpus.saturating_mul(4)])
            .filter(|gpus| *gpus > 0)
            .collect();
        self.found.across = counts.iter().map(|count| Head::Count(*count)).collect();
        self.found.down = rows.iter().map(|sizes| Head::Sizes(*sizes)).collect();
        self.size();
        for (column, gpus) in counts.iter().enumerate() {
            let cell = |row: usize| row * counts.len() + column;
            let cells = rows.iter().enumerate();
            self.jobs.push(Job {
                run: Run { gpus: *gpus, ..run.clone() },
                limited: false,
                cells: cells.map(|(row, sizes)| (cell(row), Some(*sizes))).collect(),
            });
        }
    }
}

/// The layouts of `sizes`, all where there are none: the promises, those that are tight at best, and whether the space
/// has any.
fn of_layout(search: &Search, sizes: Option<[u64; 3]>) -> (Vec<Promise>, Vec<LayoutPlace>, bool) {
    let blocks = &search.space().blocks;
    let same = |index: usize| {
        let block = &blocks[index];
        sizes.is_none_or(|sizes| sizes == [block.tp, block.pp, block.cp])
    };
    let promises = search.promises().iter();
    let of_cell = promises.filter(|promise| same(promise.place.block()));
    let near = search.near().iter().filter(|place| same(place.block()));
    (of_cell.copied().collect(), near.copied().collect(), (0..blocks.len()).any(same))
}

/// The search of a job; the playbook's picture keeps to 1F1B and even splits, as the playbook does.
fn search_of(job: &Job) -> Option<Search> {
    let mut axes = Axes::able(&job.run).ok()?;
    if job.limited {
        if axes.schedules.contains(&Schedule::OneFOneB) {
            axes.schedules = vec![Schedule::OneFOneB];
        }
        axes.splits = vec![SplitRule::Even];
        axes.sequence_parallel = vec![true];
        axes.recompute = vec![Recompute::None, Recompute::Full];
    }
    let request = PlanRequest::with_axes(&job.run, axes, &[], 1).ok()?;
    Some(request.search)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Verdict;
    use crate::search::ranking::FoundLayout;

    fn run() -> Run {
        let run = Run { gpus: 8, global_batch: 16, ..Run::default() };
        // It runs every ZeRO stage.
        run.with_texts(&[("stack", "megatron-2025")]).unwrap()
    }

    #[test]
    fn choosing_the_other_sides_axis_exchanges_the_axes() {
        let exchanged = MapAxes::Fields(LayoutAxis::Pp, LayoutAxis::Tp);
        assert_eq!(MapAxes::default().with_across(LayoutAxis::Pp), exchanged);
        assert_eq!(MapAxes::default().with_down(LayoutAxis::Tp), exchanged);
        let other = MapAxes::Fields(LayoutAxis::Pp, LayoutAxis::Zero);
        assert_eq!(exchanged.with_down(LayoutAxis::Zero), other);
    }

    /// Each cell against a search of its own, pinned to it.
    #[test]
    fn a_cell_holds_what_a_search_pinned_to_it_finds() {
        let mut request = PlanRequest::new(&run(), &[], 5).unwrap();
        request.search.finish();
        let picture = MapAxes::Fields(LayoutAxis::Tp, LayoutAxis::Pp);
        let mut map = Map::new(picture, &run(), &request.search, &Filter::default());
        while !map.is_over() {
            map.step(&mut request.search, 50);
        }
        for (column, tp) in [1, 2, 4, 8].into_iter().enumerate() {
            for (row, pp) in [1, 2, 4, 8].into_iter().enumerate() {
                let pinned = Run { tp, pp, ..run() };
                let mut alone = PlanRequest::new(&pinned, &["tp", "pp"], 1).unwrap();
                alone.search.finish();
                let best = alone.search.best().first();
                let time = |found: &FoundLayout| found.figures.time_s;
                match (map.found.cell(column, row), best) {
                    (MapCell::Best(ours), Some(theirs)) => assert_eq!(time(ours), time(theirs)),
                    (MapCell::Tight | MapCell::Out | MapCell::Void, None) => {}
                    other => panic!("tp {tp} pp {pp}: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn layouts_by_gpus_are_filled_and_the_own_column_holds_the_first() {
        let mut request = PlanRequest::new(&run(), &[], 1).unwrap();
        request.search.finish();
        let mut map = Map::new(MapAxes::Layouts, &run(), &request.search, &Filter::default());
        while !map.is_over() {
            map.step(&mut request.search, 500);
        }
        assert_eq!(map.found.across, [2, 4, 8, 16, 32].map(Head::Count));
        let times = (0..map.found.down.len()).filter_map(|row| match map.found.cell(2, row) {
            MapCell::Best(found) => Some(found.figures.time_s.0),
            _ => None,
        });
        let least = times.fold(f64::INFINITY, f64::min);
        assert_eq!(least, request.search.best()[0].figures.time_s.0);
        assert!(map.found.cells.iter().all(|cell| !matches!(cell, MapCell::Open)));
    }

    /// A cell without a listed layout says tight where the report of one of its layouts does, out of memory where none
    /// does.
    #[test]
    fn a_cell_without_a_best_layout_has_the_best_verdict_of_its_layouts() {
        let job = Job {
            run: Run { model: Based::preset("llama-3.1-70b"), gpus: 16, global_batch: 16, ..Run::default() },
            limited: true,
            cells: Vec::new(),
        };
        let mut search = search_of(&job).unwrap();
        search.finish();
        let mut map = Map::new(MapAxes::Fields(LayoutAxis::Tp, LayoutAxis::Pp), &job.run, &search, &Filter::default());
        while !map.is_over() {
            map.step(&mut search, 500);
        }
        let mut counts = [0, 0];
        let heads = |heads: &[Head]| -> Vec<u64> {
            heads.iter().map(|head| if let Head::Value(_, value) = head { *value } else { 0 }).collect()
        };
        for (column, tp) in heads(&map.found.across).into_iter().enumerate() {
            for (row, pp) in heads(&map.found.down).into_iter().enumerate() {
                let space = search.space();
                let blocks = space.blocks.iter().filter(|block| (block.tp, block.pp) == (tp, pp));
                let layouts =
                    blocks.flat_map(|block| space.members(block).iter().map(|member| space.run(block, *member)));
                let verdicts = layouts.filter_map(|run| Some(crate::report::report(&run).ok()?.memory.overall()));
                match map.found.cell(column, row) {
                    MapCell::Tight => {
                        assert_eq!(verdicts.min(), Some(Verdict::Tight), "tp {tp} pp {pp}");
                        counts[0] += 1;
                    }
                    MapCell::Out => {
                        assert_eq!(verdicts.min(), Some(Verdict::Oom), "tp {tp} pp {pp}");
                        counts[1] += 1;
                    }
                    _ => {}
                }
            }
        }
        println!("{} tight, {} out of memory", counts[0], counts[1]);
        assert!(counts[0] + counts[1] > 0);
    }
}
