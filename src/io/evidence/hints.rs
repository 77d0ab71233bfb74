//! What lines of a log say besides steps: figures of utilisation, Megatron-LM's timers, memory step by step,
//! allocations that were tried again. Numbers are kept and no text.

use super::oom::step_of;
use super::rl::RlTimers;
use crate::logs::{LoggedQuantity, Series};
use serde::{Deserialize, Serialize};
use shardscope_core::diagnose::{MemoryLine, StatedUtilisation, TimerName, TimerTimes};
use std::collections::BTreeMap;

/// Lines of one figure that are kept at most.
const MAX_LINES: usize = 100_000;
const GIB: f64 = 1_073_741_824.0;

/// Figures of a log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogHints {
    /// MFU, TFLOP/s a GPU and tokens a second of each line that has them.
    mfu: Vec<f64>,
    tflops: Vec<f64>,
    tokens: Vec<f64>,
    /// Milliseconds of each timer, least and most of all ranks, line by line.
    timers: BTreeMap<TimerName, Vec<(f64, f64)>>,
    pub memory: Vec<MemoryLine>,
    /// Allocations that failed and were tried again.
    pub retries: u64,
    /// A checkpoint was read.
    pub resumed: bool,
    /// Parts of a step of reinforcement learning.
    pub rl: RlTimers,
}

/// The number at the start of `text`, with what is behind it.
pub(super) fn number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start_matches([' ', ':', '=', '\t', '(', '|', '\'', '"', '~']);
    let end = text.find(|letter: char| !letter.is_ascii_digit() && !matches!(letter, '.' | ',')).unwrap_or(text.len());
    let value = text[..end].trim_end_matches(['.', ',']).replace(',', "").parse().ok()?;
    Some((value, text[end..].trim_start()))
}

/// The number right before `at` of `text`, over spaces and a percent sign.
fn number_before(text: &str, at: usize) -> Option<(f64, bool)> {
    let before = text[..at].trim_end();
    let percent = before.ends_with('%');
    let before = before.trim_end_matches('%').trim_end();
    let start = before
        .rfind(|letter: char| !letter.is_ascii_digit() && !matches!(letter, '.' | ','))
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let value = before[start..].replace(',', "").parse().ok()?;
    Some((value, percent))
}

/// Takes `value` as that of the next line.
fn keep(values: &mut Vec<f64>, value: f64) {
    if values.len() < MAX_LINES {
        values.push(value);
    }
}

impl LogHints {
    pub(crate) fn line(&mut self, line: &str) {
        let lower = line.to_ascii_lowercase();
        self.utilisation(&lower);
        self.timer(&lower);
        self.memory(&lower);
        self.rl.line(&lower);
        if lower.contains("memory allocation retries") || lower.contains("allocator cache flushes") {
            let word = if lower.contains("retries") { " cuda memory allocation retries" } else { " pytorch allocator" };
            let count = lower.find(word).and_then(|at| number_before(&lower, at)).map_or(1.0, |(count, _)| count);
            self.retries = self.retries.max(shardscope_core::units::whole(count).unwrap_or(1));
        }
        // Transformers loads the shards of a model that way, which is no state of training.
        let read = ["loading checkpoint", "loaded checkpoint", "resuming from", "resumed from"];
        self.resumed |= read.iter().any(|words| lower.contains(words)) && !lower.contains("checkpoint shards");
    }

    fn utilisation(&mut self, lower: &str) {
        if let Some(at) = lower.find("mfu") {
            let behind = number(&lower[at + 3..]).map(|(value, rest)| (value, rest.starts_with('%')));
            let found = number_before(lower, at).filter(|(_, percent)| *percent).or(behind);
            if let Some((value, percent)) = found {
                let share = if percent || value > 1.5 { value / 100.0 } else { value };
                if (0.001..=2.0).contains(&share) {
                    keep(&mut self.mfu, share);
                }
            }
        }
        let behind = ["tflop/s/gpu):", "tflops/gpu:", "tflops:", "tflops="];
        let behind = behind.iter().find_map(|word| number(&lower[lower.find(word)? + word.len()..]));
        let before = || ["tflop/s", "tflops"].iter().find_map(|word| number_before(lower, lower.find(word)?));
        let tflops = behind.map(|(value, _)| value).or_else(|| before().map(|(value, _)| value));
        if let Some(value) = tflops.filter(|value| (0.1..=1e5).contains(value)) {
            keep(&mut self.tflops, value);
        }
        let behind = ["tps:", "wps:", "tokens/s/gpu):"];
        let behind = behind.iter().find_map(|word| number(&lower[lower.find(word)? + word.len()..]));
        let words = ["tokens/s", "tok/s", "tokens per second", "tokens/second"];
        let before = || words.iter().find_map(|word| number_before(lower, lower.find(word)?));
        if let Some(value) = behind.map(|(value, _)| value).or_else(|| before().map(|(value, _)| value)) {
            keep(&mut self.tokens, value);
        }
    }

    /// `    forward-compute ....................: (1700.21, 1800.34)`, milliseconds.
    fn timer(&mut self, lower: &str) {
        let Some((name, times)) = lower.trim_start().split_once(" .") else {
            return;
        };
        let Some(name) = TimerName::ALL.into_iter().find(|one| one.name() == name.trim()) else {
            return;
        };
        let Some((_, times)) = times.split_once(':') else {
            return;
        };
        let Some((least, rest)) = number(times) else {
            return;
        };
        let most = number(rest.trim_start_matches(',')).map_or(least, |(most, _)| most);
        let known = self.timers.entry(name).or_default();
        if most >= least && known.len() < MAX_LINES {
            known.push((least, most));
        }
    }

    /// DeepSpeed's `MA 5.4 GB Max_MA 6.2 GB CA 8.1 GB`, torchtitan's and NeMo's `memory: 38.2GiB`, and words before
    /// sizes in GiB.
    fn memory(&mut self, lower: &str) {
        if self.memory.len() >= MAX_LINES {
            return;
        }
        let size = |word: &str| {
            let (value, unit) = number(&lower[lower.find(word)? + word.len()..])?;
            let factor = match unit.get(..2)? {
                "gi" | "gb" => GIB,
                "mi" | "mb" => GIB / 1024.0,
                _ => return None,
            };
            Some(value * factor)
        };
        let most = size("max_ma ").or_else(|| size("max allocated:")).or_else(|| size("max_allocated:"));
        let allocated = size(" ma ").or_else(|| size(" allocated:")).filter(|own| Some(*own) != most || most.is_none());
        let reserved = size(" ca ").or_else(|| size("reserved:")).or_else(|| size("memory:"));
        if most.is_none() && allocated.is_none() && reserved.is_none() {
            return;
        }
        let next = self.memory.last().map_or(1, |line| line.step + 1);
        let step = step_of(lower).unwrap_or(next);
        self.memory.push(MemoryLine { step, allocated, most, reserved });
    }

    /// The figures of the step that the reader of logs takes: that of the median, without the first and the odd ones.
    pub fn stated(&self) -> StatedUtilisation {
        let of_median_step = |rates: &[f64]| {
            let mut series = Series::of(LoggedQuantity::TokensPerGpu);
            for rate in rates {
                series.add(None, *rate);
            }
            series.rates().map(|rates| rates.median)
        };
        StatedUtilisation {
            mfu: of_median_step(&self.mfu),
            tflops: of_median_step(&self.tflops),
            tokens: of_median_step(&self.tokens),
        }
    }

    /// The median of each timer, seconds.
    pub fn timers(&self) -> Vec<TimerTimes> {
        let middle = |values: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| {
            let mut sorted: Vec<f64> = values.iter().map(of).collect();
            sorted.sort_by(f64::total_cmp);
            sorted.get(sorted.len() / 2).copied().unwrap_or(0.0) * 1e-3
        };
        let timers = self.timers.iter().map(|(name, values)| TimerTimes {
            name: *name,
            least: middle(values, |pair| pair.0),
            most: middle(values, |pair| pair.1),
        });
        timers.collect()
    }

    /// True where lines print TFLOP/s or MFU, which depend on how FLOPs are counted.
    pub fn has_utilisation(&self) -> bool {
        !(self.mfu.is_empty() && self.tflops.is_empty())
    }

    /// True where it says nothing that a diagnosis can use alone.
    pub fn is_empty(&self) -> bool {
        let utilisation = !(self.mfu.is_empty() || self.tflops.is_empty() && self.tokens.is_empty());
        !utilisation && self.timers.is_empty() && self.memory.len() < 3 && self.rl.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> LogHints {
        let mut hints = LogHints::default();
        for line in lines {
            hints.line(line);
        }
        hints
    }

    /// Megatron-LM reads a state of training; Transformers reads weights, and prints its arguments.
    #[test]
    fn a_model_that_is_loaded_is_no_run_that_goes_on() {
        assert!(of(&[" loading checkpoint from /x at iteration 500"]).resumed);
        assert!(of(&["Resuming from step 500"]).resumed);
        assert!(!of(&["Loading checkpoint shards: 100%|####| 4/4", "resume_from_checkpoint: null"]).resumed);
    }

    /// Lines of torchtitan, Megatron-LM and DeepSpeed, as their sources write them.
    #[test]
    fn utilisation_timers_and_memory_are_read() {
        let stated =
            of(&["step: 10  loss: 7.2  memory: 38.20GiB(40%)  tps: 9,600  tflops: 480.0  mfu: 24.3%"]).stated();
        assert_eq!((stated.mfu, stated.tflops, stated.tokens), (Some(0.243), Some(480.0), Some(9600.0)));
        let timers = of(&["    forward-compute ................................: (1500.00, 1750.00)"]).timers();
        assert_eq!(timers, [TimerTimes { name: TimerName::Forward, least: 1.5, most: 1.75 }]);
        let memory = of(&["MA 5.4 GB         Max_MA 6.2 GB         CA 8.1 GB         Max_CA 8 GB"]).memory;
        assert_eq!((memory[0].most, memory[0].reserved), (Some(6.2 * GIB), Some(8.1 * GIB)));
        assert_eq!(of(&["see https://example.org/x for the docs"]), LogHints::default());
    }
}
