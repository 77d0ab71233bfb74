//! A pipeline step as a job shop: chains of equal ops on ranks, arcs between them, room that chains share.
//!
//! Fact 1 (micro-batches in order): some optimal schedule runs every (stage, kind) in the order 0..m−1. Sort the
//! starts of each (stage, kind) and give the k-th to micro-batch k: the k-th smallest start of a successor is never
//! before the k-th smallest end of its predecessor, and memory counts only. So a schedule is a merging of chains on
//! each rank.
//!
//! Fact 2 (a cap is an arc): where a rank has one stage and holds at most c of its activations, F(s, k) starts no
//! earlier than the end of W(s, k − c), since activations are freed in order. Memory disappears into the arcs.
//!
//! Fact 3 (backwards): with all arcs turned round and micro-batches counted from the end it is the same kind of problem
//! with the same optimum.
//!
//! Two or more stages on a rank share its room: each keeps its own arc (valid, weaker), and the room is a [`Pool`].

/// Time in ticks, whose length is a [`TickScale`](super::stages::TickScale).
pub type Ticks = i64;

/// The ops of one stage and kind, one a micro-batch, run in the order of the micro-batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The rank that runs it.
    pub rank: usize,
    pub ticks: Ticks,
}

/// Op k of `to` starts at least `lag` after the end of op k − `offset` of `from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arc {
    /// The chain that goes first.
    pub from: usize,
    /// The chain that waits.
    pub to: usize,
    /// Least time between.
    pub lag: Ticks,
    /// Micro-batches between.
    pub offset: u32,
}

/// Activations of several stages that share the room of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    pub rank: usize,
    /// Units that it can hold.
    pub room: u32,
    /// For each stage: the chain that takes units, the chain that frees them, and how many.
    pub stages: Vec<(usize, usize, u32)>,
}

/// Chains, arcs and pools; every chain has one op a micro-batch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Problem {
    /// Ranks: each runs one op at a time.
    pub ranks: usize,
    /// Ops of every chain.
    pub microbatches: u32,
    pub chains: Vec<Chain>,
    /// The arcs; those of offset 0 make no cycle.
    pub arcs: Vec<Arc>,
    pub pools: Vec<Pool>,
}

/// Least offset and, at it, longest distance from the start of op k of a chain to the start of op k + offset of
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Micro-batches.
    pub offset: u32,
    /// Ticks from start to start.
    pub distance: Ticks,
}

impl Problem {
    pub fn ops(&self) -> usize {
        self.chains.len() * self.microbatches as usize
    }

    /// The problem with time turned round (Fact 3): what freed room takes it.
    pub fn reversed(&self) -> Self {
        let turned = self.arcs.iter().map(|arc| Arc { from: arc.to, to: arc.from, ..*arc });
        let pools = self.pools.iter().cloned().map(|mut pool| {
            for (takes, frees, _) in &mut pool.stages {
                std::mem::swap(takes, frees);
            }
            pool
        });
        Self { arcs: turned.collect(), pools: pools.collect(), ..self.clone() }
    }

    /// The chains, each after those that it waits for within a micro-batch.
    pub fn topological(&self) -> Vec<usize> {
        let mut waits = vec![Vec::new(); self.chains.len()];
        for arc in self.arcs.iter().filter(|arc| arc.offset == 0) {
            waits[arc.to].push(arc.from);
        }
        let mut order: Vec<usize> = Vec::with_capacity(self.chains.len());
        let mut placed = vec![false; self.chains.len()];
        while order.len() < self.chains.len() {
            let before = order.len();
            for chain in 0..self.chains.len() {
                if !placed[chain] && waits[chain].iter().all(|from| placed[*from]) {
                    placed[chain] = true;
                    order.push(chain);
                }
            }
            if order.len() == before {
                break; // a cycle: no order at all
            }
        }
        order
    }

    pub fn chains_by_rank(&self) -> Vec<Vec<usize>> {
        let mut lists = vec![Vec::new(); self.ranks];
        for (index, chain) in self.chains.iter().enumerate() {
            lists[chain.rank].push(index);
        }
        lists
    }

    /// Between every pair of chains, along arcs and along the chains themselves; none where nothing forces an order.
    /// From each chain the arcs are followed until nothing gets better: arcs within a micro-batch are settled in one
    /// round.
    pub fn reach(&self) -> Vec<Vec<Option<Reach>>> {
        let count = self.chains.len();
        let mut arcs = vec![Vec::new(); count];
        for arc in &self.arcs {
            arcs[arc.from].push(*arc);
        }
        let arcs: Vec<Arc> =
            self.topological().into_iter().flat_map(|chain| std::mem::take(&mut arcs[chain])).collect();
        let better = |now: Option<Reach>, found: Reach| {
            now.is_none_or(|now| {
                found.offset < now.offset || found.offset == now.offset && found.distance > now.distance
            })
        };
        let mut reach = vec![vec![None; count]; count];
        for (chain, row) in reach.iter_mut().enumerate() {
            row[chain] = Some(Reach { offset: 0, distance: 0 });
            let mut open = true;
            while std::mem::take(&mut open) {
                for arc in &arcs {
                    let Some(Reach { offset, distance }) = row[arc.from] else { continue };
                    let distance = distance + self.chains[arc.from].ticks + arc.lag;
                    let found = Reach { offset: offset + arc.offset, distance };
                    if better(row[arc.to], found) {
                        row[arc.to] = Some(found);
                        open = true;
                    }
                }
            }
        }
        reach
    }
}
