//! A text log, line by line, down to a few numbers.

use super::dump::{ArgumentLine, Dump};
use super::line::{Lines, number};
use super::nccl::{Mamf, Nccl};
use super::patterns::{LinePattern, LogProgram, LoggedQuantity, PATTERNS, STATED, matches};
use super::steps::Series;
use std::cmp::Reverse;
use std::collections::BTreeMap;

#[derive(Default)]
pub struct Log {
    lines: Lines,
    pub(super) heard: Heard,
}

/// The numbers of a log.
#[derive(Default)]
pub(crate) struct Heard {
    /// Lines that were understood, by program.
    pub programs: BTreeMap<LogProgram, u64>,
    /// Values over the steps, by program and quantity.
    pub series: Vec<(LogProgram, LoggedQuantity, Series)>,
    /// Settings that lines state: field and value.
    pub settings: Vec<(&'static str, f64)>,
    /// The program's own arguments.
    pub dump: Dump,
    pub nccl: Nccl,
    pub mamf: Mamf,
    /// Least memory that an out-of-memory message asked for, GiB.
    pub ran_out: Option<f64>,
    /// Step and seconds since the start, by the last line of a program that prints a mean or a clock since its start.
    pub clock: Option<(f64, f64)>,
    /// True if its steps generate samples, as those of reinforcement learning do.
    pub generates: bool,
    /// Steps of the optimizer since the last round of slime.
    pub(super) updates: u64,
    /// The progress bar that takes longest: its steps, and the seconds of all.
    pub(super) bar: (u64, f64),
    /// The step of the last line that printed one.
    pub(super) step: Option<u64>,
    /// The number of the last line that had one.
    last: Option<f64>,
    /// First and last step by program.
    numbers: BTreeMap<LogProgram, (u64, u64)>,
    /// Runs that began before this one.
    pub begun: u64,
    /// The last of them that told of steps.
    earlier: Option<Box<Heard>>,
    /// The batch grew while it ran.
    pub grown: bool,
    /// Lines that tell of a step, and how many of them have a smaller step or batch than the line before.
    turns: (u64, u64),
    /// Times and rates that no step has: 0, NaN, 10³⁰⁰.
    pub impossible: u64,
}

impl Log {
    pub fn push(&mut self, bytes: &[u8]) {
        let heard = &mut self.heard;
        self.lines.push(bytes, |line| heard.line(line));
    }

    /// The numbers, after the last byte.
    pub fn finish(mut self) -> Heard {
        let heard = &mut self.heard;
        self.lines.end(|line| heard.line(line));
        let begun = heard.begun;
        let earlier = heard.earlier.take().filter(|_| !heard.has_steps());
        let heard = earlier.map_or(self.heard, |earlier| *earlier);
        Heard { begun, ..heard }
    }
}

impl Heard {
    /// The series of a quantity, of the program that printed it most often; of two the first by [`LogProgram`].
    pub(crate) fn series_of(&self, quantity: LoggedQuantity) -> Option<(LogProgram, &Series)> {
        let candidates = self.series.iter().filter(|(_, of, _)| *of == quantity);
        let longest = candidates.max_by_key(|(program, _, series)| (series.len(), Reverse(*program)))?;
        let (program, _, series) = longest;
        (!series.is_empty()).then_some((*program, series))
    }

    /// The program that wrote it: of those that tell of steps, if any does, the one of most lines.
    pub(crate) fn program(&self) -> Option<LogProgram> {
        let steps = |wanted: LogProgram| {
            let mut series = self.series.iter().filter(|(program, ..)| *program == wanted);
            series.any(|(_, what, _)| what.is_step())
        };
        let programs = self.programs.iter();
        // A progress bar is that of a program that says more of itself.
        let is_own = |of: LogProgram| of != LogProgram::ProgressBar;
        let most = programs
            .max_by_key(|(of, lines)| (is_own(**of) && steps(**of), of.trains(), steps(**of), is_own(**of), **lines));
        most.map(|(program, _)| *program)
    }

    /// Tokens of a step over all GPUs, as the log counts them.
    pub(crate) fn step_tokens(&self) -> Option<f64> {
        self.series_of(LoggedQuantity::StepTokens).and_then(|(_, series)| Some(series.durations()?.median))
    }

    /// True if it tells of rounds of reinforcement learning, which are no steps.
    pub(crate) fn has_rounds(&self) -> bool {
        self.generates || self.series_of(LoggedQuantity::Round).is_some()
    }

    /// True if lines of two runs alternate.
    pub(crate) fn is_mixed(&self) -> bool {
        let (lines, back) = self.turns;
        let mut steps = self.series.iter().filter(|(_, what, _)| what.is_step());
        back >= MIXED && 3 * back >= lines || steps.any(|(.., series)| series.is_mixed())
    }

    pub(super) fn add(&mut self, program: LogProgram, quantity: LoggedQuantity, value: f64) {
        let step = self.step;
        if quantity.is_step() && !POSSIBLE.contains(&value) {
            self.impossible += 1;
            return;
        }
        let lists = self.series.iter_mut();
        let found = lists.filter(|(of, what, _)| *of == program && *what == quantity).map(|(.., series)| series).next();
        if let Some(series) = found {
            series.add(step, value);
        } else {
            let mut series = Series::of(quantity);
            series.add(step, value);
            self.series.push((program, quantity, series));
        }
    }

    fn line(&mut self, line: &str) {
        match self.dump.take(line, self.has_steps()) {
            ArgumentLine::None => {}
            ArgumentLine::Kept => return,
            ArgumentLine::OfAnotherRun => {
                self.begin_again();
                self.dump.take(line, false);
                return;
            }
        }
        if self.nccl.take(line) || self.mamf.take(line) {
            return;
        }
        let Some(pattern) = PATTERNS.iter().find(|pattern| matches(pattern, line)) else {
            if let Some((key, value)) = stated(line) {
                self.set(key, value);
            }
            return;
        };
        if self.special(pattern, line) {
            *self.programs.entry(pattern.program).or_default() += 1;
        }
    }

    /// Starts another run: the steps so far are put aside, settings stay until the log gives them again.
    pub(super) fn begin_again(&mut self) {
        let next = Self {
            begun: self.begun + 1,
            dump: self.dump.clone(),
            settings: self.settings.clone(),
            nccl: std::mem::take(&mut self.nccl),
            mamf: std::mem::take(&mut self.mamf),
            ..Self::default()
        };
        let mut before = std::mem::replace(self, next);
        let earlier = before.earlier.take();
        self.earlier = if before.has_steps() { Some(Box::new(before)) } else { earlier };
    }

    /// True if it tells how long a step takes.
    pub(super) fn has_steps(&self) -> bool {
        let mut steps = self.series.iter().filter(|(_, what, _)| what.is_step());
        steps.any(|(.., series)| !series.is_empty())
    }

    /// Takes a setting; another value than before, behind steps, is of another run.
    pub(super) fn set(&mut self, key: &'static str, value: f64) {
        let position = self.settings.iter().position(|(known, _)| *known == key);
        let Some(at) = position else {
            return self.settings.push((key, value));
        };
        let differs = self.settings[at].1 != value;
        if differs && self.has_steps() && !PER_BATCH.contains(&key) {
            self.begin_again();
        }
        self.settings[at].1 = value;
    }

    /// The numbers of a line that matches; false where it has none after all.
    fn special(&mut self, pattern: &LinePattern, line: &str) -> bool {
        match pattern.program {
            LogProgram::NvidiaSmi => self.smi(line),
            LogProgram::PyTorch => self.pytorch(line),
            LogProgram::ProgressBar => self.progress_bar(line),
            LogProgram::Torchtitan if pattern.numbers.is_empty() => self.mesh(line),
            LogProgram::HfTrainer if pattern.numbers.is_empty() => {
                self.generates = true;
                true
            }
            LogProgram::MsSwift | LogProgram::MegatronSwift => self.swift(pattern, line),
            LogProgram::Slime => self.slime(pattern, line),
            LogProgram::LlamaFactory => self.factory(pattern, line),
            _ => self.numbers(pattern, line),
        }
    }

    pub(super) fn numbers(&mut self, pattern: &LinePattern, line: &str) -> bool {
        let mut any = false;
        // Elsewhere a line without a step belongs to the next one.
        if !pattern.program.numbers_above() {
            self.step = None;
        }
        for (word, quantity, scale) in pattern.numbers {
            let behind = line.find(word).map(|at| &line[at + word.len()..]);
            let Some((value, _)) = behind.and_then(number) else {
                let is_none = quantity.is_step() && behind.is_some_and(is_no_number);
                self.impossible += u64::from(is_none);
                any |= is_none;
                continue;
            };
            let value = value * scale;
            any = true;
            match quantity {
                LoggedQuantity::Iteration => self.step(pattern, value),
                LoggedQuantity::Setting(key) => self.set(key, value),
                LoggedQuantity::GlobalBatch => self.batch(pattern.program, value),
                other => self.add(pattern.program, *other, value),
            }
        }
        any
    }

    /// Takes the number of a step; one that is not behind the first of the run begins another.
    fn step(&mut self, pattern: &LinePattern, number: f64) {
        let before = self.last.replace(number);
        self.step = shardscope_core::units::whole(number);
        let is_step = pattern.numbers.iter().any(|(_, what, _)| what.is_step());
        let (Some(step), true) = (self.step, is_step) else {
            return;
        };
        self.turns.0 += 1;
        self.turns.1 += u64::from(before.is_some_and(|before| number + RANKS_APART < before));
        let ends = self.numbers.get(&pattern.program).copied();
        let (first, last) = ends.unwrap_or((step, step));
        if step <= first && last > first + 1 {
            self.begin_again();
            self.step = Some(step);
            self.numbers.insert(pattern.program, (step, step));
        } else {
            let both = (first.min(step), last.max(step));
            self.numbers.insert(pattern.program, both);
        }
    }

    /// Takes the sequences of a step; steps of a smaller batch, before it grew, are let go.
    fn batch(&mut self, program: LogProgram, batch: f64) {
        let before = self.series_of(LoggedQuantity::GlobalBatch);
        let before = before.and_then(|(of, series)| series.last().filter(|_| of == program));
        if before.is_some_and(|before| (before / batch - 1.0).abs() > SAME_BATCH) {
            self.turns.1 += u64::from(before.is_some_and(|before| batch < before));
            self.series.retain(|(_, what, _)| !what.is_step());
            self.grown = true;
        }
        self.add(program, LoggedQuantity::GlobalBatch, batch);
    }
}

/// Seconds of a step, or what is done in one.
const POSSIBLE: std::ops::RangeInclusive<f64> = 1e-7..=1e13;
/// Steps that ranks of one run are apart, at most, when each prints its own.
const RANKS_APART: f64 = 2.0;
/// Steps backwards that two runs in turn have at least.
const MIXED: u64 = 3;
/// Settings that may be found anew at every batch.
const PER_BATCH: [&str; 1] = ["micro_batch"];
/// Batches that differ less are printed with few digits.
const SAME_BATCH: f64 = 0.02;

/// True if `text` begins with what programs print for no number.
fn is_no_number(text: &str) -> bool {
    let text = text.trim_start_matches([' ', '\t', '\'', '"', '=', ':', '-', '+']);
    let start = text.get(..3).unwrap_or_default();
    start.eq_ignore_ascii_case("nan") || start.eq_ignore_ascii_case("inf")
}

/// A setting on a line of its own, as YAML and JSON write it: `tensor_model_parallel_size: 4`.
fn stated(line: &str) -> Option<(&'static str, f64)> {
    let (before, value) = line.rsplit_once(':')?;
    let name = before.trim_end_matches('"').rsplit([' ', '\t', '"', ']', ':']);
    let name = name.take(1).next()?;
    let (_, key) = STATED.iter().find(|(known, _)| *known == name)?;
    let value = value.trim().trim_end_matches(',').parse::<f64>().ok()?;
    (value >= 1.0).then_some((*key, value))
}
