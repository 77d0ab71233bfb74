//! Benchmarks of one constant: nccl-tests and MAMF-finder.

use super::line::number;
use shardscope_core::sort::median;

/// Messages from here on are large: bandwidth decides.
const LARGE: f64 = 16e6;

/// Output of nccl-tests: the ranks of its header and its rows.
#[derive(Default)]
pub(crate) struct Nccl {
    hosts: Vec<String>,
    pub ranks: u64,
    /// The collective, where the output names it.
    pub collective: Option<String>,
    /// Bytes, seconds and bus bandwidth (bytes a second) of each row, out of place.
    rows: Vec<(f64, f64, f64)>,
    /// The mean over all sizes, from which the rate of large ones does not follow.
    pub average: Option<f64>,
}

impl Nccl {
    /// Takes a line; false where it is none of nccl-tests.
    pub fn take(&mut self, line: &str) -> bool {
        // A launcher may write before it which rank it is of.
        if let Some((_, header)) = line.split_once('#').filter(|(before, _)| before.len() < 64)
            && self.header(header)
        {
            return true;
        }
        // size, count, type, op or root, then time, algbw, busbw, #wrong: columns differ by version.
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(of_type) = words.iter().position(|word| TYPES.contains(word)) else {
            return false;
        };
        let counts = words[..of_type].iter().rev().take(2);
        let counts: Vec<u64> = counts.map_while(|word| word.parse().ok()).collect();
        let [_, size] = counts[..] else {
            return false;
        };
        let (size, words) = (size as f64, &words[of_type - 2..]);
        if !matches!(words.len(), 8..=13) {
            return false;
        }
        // Time (µs), algbw and busbw (GB/s) are together: the first is the size over the second.
        let found = words[3..].windows(3).find_map(|three| {
            let values: Vec<f64> = three.iter().filter_map(|word| word.parse().ok()).collect();
            let [time, algorithm, _] = values[..] else {
                return None;
            };
            let near = (size / time / 1e3 / algorithm - 1.0).abs() < 0.05;
            near.then_some(values)
        });
        let Some(values) = found else {
            return false;
        };
        if self.rows.len() < 4096 && values.iter().all(|value| *value > 0.0) {
            self.rows.push((size, values[0] * 1e-6, values[2] * 1e9));
        }
        true
    }

    fn header(&mut self, header: &str) -> bool {
        if let Some((_, behind)) = header.split_once("Avg bus bandwidth") {
            self.average = number(behind).map(|(value, _)| value);
            return self.average.is_some();
        }
        if let Some((_, behind)) = header.split_once("Collective test starting:") {
            self.collective = behind.split_whitespace().next().map(str::to_owned);
            return true;
        }
        let words: Vec<&str> = header.split_whitespace().collect();
        if let (Some(&"Rank"), Some(on)) = (words.first(), words.iter().position(|word| *word == "on")) {
            self.ranks += 1;
            if let Some(host) = words.get(on + 1)
                && self.hosts.len() < 4096
                && !self.hosts.iter().any(|known| known == host)
            {
                self.hosts.push((*host).to_owned());
            }
            return true;
        }
        false
    }

    /// Hosts that took part, 1 where the header is missing.
    pub fn nodes(&self) -> u64 {
        self.hosts.len().max(1) as u64
    }

    /// Latency and bus bandwidth of `t = α + S f/B`, by least squares of the relative error; the median bandwidth of
    /// large messages where there is too little to fit.
    pub fn line(&self) -> Option<(f64, f64)> {
        let large: Vec<&(f64, f64, f64)> = self.rows.iter().filter(|row| row.0 >= LARGE).collect();
        let rows: Vec<&(f64, f64, f64)> =
            if large.is_empty() { self.rows.iter().rev().take(1).collect() } else { large };
        let bandwidths: Vec<f64> = rows.iter().map(|row| row.2).collect();
        let median = median(&bandwidths)?;
        // Weighted by 1/t²: Σ ((t - α - βx)/t)² with x = busbw t, the bytes on the wire.
        let (mut a, mut b, mut c, mut d, mut e) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (_, time, bandwidth) in &self.rows {
            let (one, x) = (1.0 / time, *bandwidth);
            a += one * one;
            b += one * x;
            c += x * x;
            d += one;
            e += x;
        }
        let determinant = a * c - b * b;
        if self.rows.len() >= 4 && determinant > 1e-9 * a * c {
            let (alpha, beta) = ((d * c - e * b) / determinant, (a * e - b * d) / determinant);
            if alpha >= 0.0 && beta > 0.0 && (0.8..1.5).contains(&(1.0 / beta / median)) {
                return Some((alpha, 1.0 / beta));
            }
        }
        Some((0.0, median))
    }

    pub fn count(&self) -> usize {
        self.rows.len()
    }
}

/// Types of nccl-tests' rows.
const TYPES: &[&str] = &[
    "int8", "uint8", "int32", "uint32", "int64", "uint64", "half", "float", "double", "bfloat16", "bf16", "fp8_e4m3",
    "fp8_e5m2", "f8e4m3", "f8e5m2",
];

/// Rate that MAMF-finder found, TFLOP/s: the mean at the best shape where it prints one.
#[derive(Default)]
pub(crate) struct Mamf {
    mean: Option<f64>,
    best: Option<f64>,
}

impl Mamf {
    /// Takes a line; false where it is none of MAMF-finder.
    pub fn take(&mut self, line: &str) -> bool {
        let Some((before, behind)) = line.split_once("TFLOPS @") else {
            return false;
        };
        let shaped = behind
            .split_whitespace()
            .next()
            .is_some_and(|shape| shape.split('x').filter(|side| side.parse::<u64>().is_ok()).count() == 3);
        let word = before.trim_start();
        let Some((value, _)) = word.rfind([':', 's']).and_then(|at| number(&word[at + 1..])) else {
            return false;
        };
        if !shaped {
            return false;
        }
        if word.contains("mean:") {
            self.mean = Some(value);
        } else if word.contains("max:") || word.contains("best outcome was") {
            self.best = Some(self.best.unwrap_or(0.0).max(value));
        } else if !word.contains("median:") {
            return false;
        }
        true
    }

    /// TFLOP/s that a large product reaches.
    pub fn tflops(&self) -> Option<f64> {
        self.mean.or(self.best)
    }
}
