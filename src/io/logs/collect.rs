//! A text log, line by line, down to a few numbers.

use super::dump::Dump;
use super::line::{Lines, number};
use super::nccl::{Mamf, Nccl};
use super::patterns::{PATTERNS, Pattern, Program, Quantity, matches};
use super::steps::Series;
use std::collections::BTreeMap;

/// What a log has said so far.
#[derive(Default)]
pub struct Log {
    lines: Lines,
    pub(super) heard: Heard,
}

/// The numbers of a log.
#[derive(Default)]
pub(crate) struct Heard {
    /// Lines that were understood, by program.
    pub programs: BTreeMap<Program, u64>,
    /// Values over the steps, by program and quantity.
    pub series: Vec<(Program, Quantity, Series)>,
    /// Settings that lines state: field and value.
    pub settings: Vec<(&'static str, f64)>,
    /// The program's own arguments.
    pub dump: Dump,
    /// Rows of nccl-tests.
    pub nccl: Nccl,
    /// Results of MAMF-finder.
    pub mamf: Mamf,
    /// What an out-of-memory message needed, GiB: at least.
    pub ran_out: Option<f64>,
    /// The progress bar that takes longest: its steps, and the seconds of all.
    bar: (u64, f64),
    /// The step of the last line that printed one.
    step: Option<u64>,
}

impl Log {
    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let heard = &mut self.heard;
        self.lines.push(bytes, |line| heard.line(line));
    }

    /// The numbers, after the last byte.
    pub fn finish(mut self) -> Heard {
        let heard = &mut self.heard;
        self.lines.end(|line| heard.line(line));
        self.heard
    }
}

impl Heard {
    /// The series of a quantity, of the program that printed most of it.
    #[must_use]
    pub(crate) fn series_of(&self, quantity: Quantity) -> Option<(Program, &Series)> {
        let all = self
            .series
            .iter()
            .filter(|(_, of, series)| *of == quantity && !series.is_empty());
        let lines = |program: &Program| self.programs.get(program).copied().unwrap_or(0);
        all.max_by_key(|(program, ..)| lines(program))
            .map(|(program, _, series)| (*program, series))
    }

    fn add(&mut self, program: Program, quantity: Quantity, value: f64) {
        let step = self.step;
        let known = self.series.iter_mut();
        let found = known
            .filter(|(of, what, _)| *of == program && *what == quantity)
            .map(|(.., series)| series)
            .next();
        if let Some(series) = found {
            series.add(step, value);
        } else {
            let mut series = Series::of(quantity);
            series.add(step, value);
            self.series.push((program, quantity, series));
        }
    }

    fn line(&mut self, line: &str) {
        if self.dump.take(line) || self.nccl.take(line) || self.mamf.take(line) {
            return;
        }
        let Some(pattern) = PATTERNS.iter().find(|pattern| matches(pattern, line)) else {
            return;
        };
        if self.special(pattern, line) {
            *self.programs.entry(pattern.program).or_default() += 1;
        }
    }

    /// The numbers of a line that matches; false where it has none after all.
    fn special(&mut self, pattern: &Pattern, line: &str) -> bool {
        match pattern.program {
            Program::NvidiaSmi => self.smi(line),
            Program::PyTorch => self.pytorch(line),
            Program::ProgressBar => self.progress_bar(line),
            _ => self.numbers(pattern, line),
        }
    }

    fn numbers(&mut self, pattern: &Pattern, line: &str) -> bool {
        let mut any = false;
        // Composer tells the step in a line of its own; elsewhere a line without one belongs to the next step.
        if pattern.program != Program::Composer {
            self.step = None;
        }
        for (word, quantity, scale) in pattern.numbers {
            let behind = line.find(word).map(|at| &line[at + word.len()..]);
            let Some((value, _)) = behind.and_then(number) else {
                continue;
            };
            let value = value * scale;
            any = true;
            match quantity {
                Quantity::Iteration => self.step = crate::core::units::whole(value),
                Quantity::Setting(key) => self.settings.push((key, value)),
                Quantity::SeqLen => self.settings.push(("seq_len", value)),
                Quantity::MicroBatch => self.settings.push(("micro_batch", value)),
                other => self.add(pattern.program, *other, value),
            }
        }
        self.settings.truncate(1000);
        any
    }

    /// `86224MiB / 97871MiB`, or a line of `--query-gpu=memory.used,memory.total --format=csv`: `86224 MiB, 97871 MiB`.
    fn smi(&mut self, line: &str) -> bool {
        let Some((before, behind)) = line.split_once("MiB") else {
            return false;
        };
        let used = before.trim_end().rsplit(|c: char| !c.is_ascii_digit());
        let used = used.take(1).find_map(|used| used.parse::<f64>().ok());
        let total = number(behind.trim_start_matches([' ', '/', ',']));
        let total = total.filter(|(_, unit)| unit.trim_start().starts_with("MiB"));
        let (Some(one), Some(other)) = (used, total.map(|(value, _)| value)) else {
            return false;
        };
        // The query has them in any order.
        let (used, total) = (one.min(other), one.max(other) / 1024.0);
        self.step = Some(1);
        self.add(Program::NvidiaSmi, Quantity::Device, used / 1024.0);
        self.add(Program::NvidiaSmi, Quantity::DeviceMemory, total);
        true
    }

    /// `| Allocated memory | 1062 MB | 4877 MB |`: current and peak, "MB" and "MiB" both of 2²⁰ bytes; and what an
    /// out-of-memory message says.
    fn pytorch(&mut self, line: &str) -> bool {
        let gib = |text: &str| {
            let (value, unit) = number(text)?;
            let scale = match unit.trim_start().get(..1)? {
                "K" => 1.0 / 1_048_576.0,
                "M" => 1.0 / 1024.0,
                "G" => 1.0,
                "T" => 1024.0,
                _ => return None,
            };
            Some(value * scale)
        };
        if let Some((_, behind)) = line.split_once("Tried to allocate") {
            let part = |word: &str| gib(behind.split_once(word)?.1);
            let (Some(tried), Some(total)) = (gib(behind), part("ty of")) else {
                return false;
            };
            let free = part("of which").unwrap_or(0.0);
            self.ran_out = Some(self.ran_out.unwrap_or(0.0).max(total - free + tried));
            self.step = Some(1);
            self.add(Program::PyTorch, Quantity::DeviceMemory, total);
            return true;
        }
        let quantity = if line.contains("Allocated") {
            Quantity::Allocated
        } else {
            Quantity::Reserved
        };
        let Some(peak) = line.split('|').nth(3).and_then(gib) else {
            return false;
        };
        self.step = Some(1);
        self.add(Program::PyTorch, quantity, peak);
        true
    }

    /// ` 42%|████ | 420/1000 [10:01<13:50, 12.31s/it, loss=1.2]`.
    fn progress_bar(&mut self, line: &str) -> bool {
        let Some((before, _)) = line.split_once("s/it").or_else(|| line.split_once("it/s")) else {
            return false;
        };
        let start = before.rfind([' ', ',', '[']).map_or(0, |at| at + 1);
        let Some((value, _)) = number(&before[start..]).filter(|(value, _)| *value > 0.0) else {
            return false;
        };
        let seconds = if line.contains("s/it") {
            value
        } else {
            1.0 / value
        };
        // "| 420/1000 [": how far it is; without it, it is no bar.
        let at = before.find('[').map(|at| &before[..at]);
        let done = at.and_then(|text| text.trim_end().rsplit(['|', ' ']).next());
        let Some((done, _)) = done.and_then(|text| text.split_once('/')) else {
            return false;
        };
        // Checkpoints are loaded and texts tokenised under bars of their own: the training is what takes longest.
        let count = at.and_then(|text| text.trim_end().rsplit('/').next()?.trim().parse().ok());
        let bar = (count.unwrap_or(0), count.unwrap_or(0) as f64 * seconds);
        if bar.0 != self.bar.0 {
            if bar.1 < self.bar.1 {
                return false;
            }
            let others =
                |(_, quantity, _): &(Program, Quantity, Series)| *quantity != Quantity::Iterations;
            self.series.retain(others);
            self.bar = bar;
        }
        self.step = done.parse().ok();
        self.add(Program::ProgressBar, Quantity::Iterations, seconds);
        true
    }
}
