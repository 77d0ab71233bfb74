//! One-machine bounds by the counts of a rank, each computed once.

use super::problem::{Problem, Ticks};
use super::tails::Tails;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A hasher for keys that are one number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Multiply(u64);

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }
    fn write_u64(&mut self, word: u64) {
        // Fibonacci hashing; the upper bits are mixed into the lower, which a table looks at.
        let mixed = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

pub type NumberMap<T> = HashMap<u64, T, BuildHasherDefault<Multiply>>;

/// J by rank, remaining counts and the chain left out.
#[derive(Clone, Debug)]
pub struct Memo {
    ranks: Vec<NumberMap<Ticks>>,
    by_rank: Vec<Vec<usize>>,
    bits: Vec<u32>,
}

impl Memo {
    pub fn new(problem: &Problem) -> Self {
        let by_rank = problem.chains_by_rank();
        let bits = by_rank.iter().map(|chains| 60 / u32::try_from(chains.len().max(1)).unwrap_or(60));
        Self { ranks: vec![NumberMap::default(); problem.ranks], bits: bits.collect(), by_rank }
    }

    /// [`Tails::left`]. The key holds every count whole and which chain is left out, so no two subsets share it.
    pub fn left(&mut self, tails: &Tails, rank: usize, counts: &[Ticks], skipped: Option<usize>) -> Ticks {
        let (mut key, mut left_out, mut most) = (0u64, 0u64, 0);
        for (at, chain) in self.by_rank[rank].iter().enumerate() {
            let count = counts[*chain].cast_unsigned();
            key = key << self.bits[rank] | count;
            most |= count;
            if Some(*chain) == skipped {
                left_out = at as u64 + 1;
            }
        }
        if left_out >= 16 || most >> self.bits[rank] != 0 {
            return tails.left(rank, counts, skipped);
        }
        let key = key << 4 | left_out;
        *self.ranks[rank].entry(key).or_insert_with(|| tails.left(rank, counts, skipped))
    }
}
