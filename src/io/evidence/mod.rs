//! Files that a run left behind, each recognised by its first bytes and read piece by piece: traces (also gzip),
//! tables of profilers, dumps of pipelines, logs, messages of allocators, memory snapshots.
//!
//! An [`EvidenceReader`] keeps numbers and no text; names of hosts, users and paths are not kept.

mod examples;
mod hints;
mod jobs;
mod markdown;
mod oom;
mod rl;
mod sent;
mod stated;
mod tables;

pub use examples::ExampleFile;
pub use hints::LogHints;
pub use markdown::markdown;
pub use rl::RlTimers;
pub use sent::{EvidenceAnswer, SentAnswer, SentFile, SentIssue, SentMemory};
pub use stated::StatedRun;

use crate::dialect::text::python::is_program;
use crate::json_scan::Scanner;
use crate::kineto::KinetoReader;
use crate::logs::{LogReader, Reading};
use flate2::write::MultiGzDecoder;
use jobs::{PrimusReader, RocprofReader};
use oom::OomScanner;
use shardscope_core::diagnose::{
    self, CallTable, Comparison, Diagnosis, KernelRow, MeasuredLanes, MemoryTrend, OutOfMemory, RankTrace, RunTimes,
    StepSeries, WorkerOp,
};
use shardscope_core::issue::{Issue, Severity};
use shardscope_core::message::{Message, verbatim};
use shardscope_core::model::CountedBy;
use shardscope_core::report::{Evaluation, evaluate};
use shardscope_core::run::{Run, Scenario};
use shardscope_core::t;
use shardscope_core::time::KernelClass;
use shardscope_core::units::{MemoryUnit, Seconds, show_percent, show_seconds};
use stated::{SettingsText, disagreement, with_script};
use std::collections::BTreeMap;
use std::io::Write;
use tables::{TableRead, is_table};

/// Bytes at the beginning that tell the kind of a file.
const HEAD: usize = 4096;
/// Larger tables are refused.
const MAX_TABLE: usize = 200_000_000;
/// Unpacked bytes of one file at most.
const MAX_UNPACKED: u64 = 4_000_000_000;
/// Lines longer than this are cut.
const LINE: usize = 8192;

/// The kind of one file, with its contents.
pub enum EvidenceFile {
    Trace(Box<RankTrace>, Vec<Issue>),
    Workers(Vec<WorkerOp>),
    Calls(Vec<CallTable>),
    /// Kernels by class, without their order.
    Sums(BTreeMap<KernelClass, (u64, f64)>),
    Memory(Box<OutOfMemory>),
    /// A log or a snapshot; the message of an allocator in it, where there is one, and what its other lines say.
    Log(Box<Reading>, Option<Box<OutOfMemory>>, Box<LogHints>),
    /// A text without steps that says something of a run.
    Hints(Box<LogHints>),
    /// Settings: the run that the other files are of.
    Settings(Box<StatedRun>),
}

/// A text log, as the reader of logs takes it, and the messages of allocators in it.
#[derive(Default)]
struct TextReader {
    log: LogReader,
    refused: Option<Issue>,
    oom: OomScanner,
    hints: LogHints,
    /// Sizes of a message in another language; empty of none.
    translated: Option<Vec<String>>,
    /// A line tells that the host's memory ran out.
    is_of_host: bool,
    line: Vec<u8>,
    /// The text itself, where it is short enough to be settings.
    settings: SettingsText,
    /// True of a pickle, which has no lines.
    binary: bool,
}

impl TextReader {
    fn push(&mut self, bytes: &[u8]) {
        self.binary |= self.log.taken() == 0 && bytes.first() == Some(&0x80);
        if self.refused.is_none()
            && let Err(issue) = self.log.push(bytes)
        {
            self.refused = Some(issue);
        }
        if self.binary {
            return;
        }
        self.settings.push(bytes);
        for byte in bytes {
            if *byte == b'\n' {
                self.line();
            } else if self.line.len() < LINE {
                self.line.push(*byte);
            }
        }
    }

    /// Takes the line that ends here.
    fn line(&mut self) {
        let line = String::from_utf8_lossy(&self.line);
        self.oom.line(&line);
        self.hints.line(&line);
        self.is_of_host |= oom::is_of_host(&line.to_ascii_lowercase());
        if self.translated.is_none() && oom::is_translated(&line) {
            self.translated = Some(oom::sizes(&line));
        }
        self.line.clear();
    }

    fn finish(mut self, present: &Run) -> Result<EvidenceFile, Vec<Issue>> {
        if !self.line.is_empty() {
            self.line();
        }
        let hints = self.hints;
        let memory = self.oom.finish().map(|message| {
            let trend = MemoryTrend::of(&hints.memory);
            Box::new(OutOfMemory { resumed: hints.resumed, trend, ..message })
        });
        let read = match self.refused {
            Some(issue) => Err(vec![issue]),
            None => self.log.finish(present),
        };
        match (read, memory) {
            (Ok(reading), memory) => {
                let mut reading = with_script(reading, &self.settings, present);
                reading.notes.extend((self.is_of_host && memory.is_none()).then(of_host));
                Ok(EvidenceFile::Log(Box::new(reading), memory, Box::new(hints)))
            }
            (Err(_), Some(memory)) => Ok(EvidenceFile::Memory(memory)),
            (Err(issues), None) => match self.settings.stated(present) {
                Some(stated) => stated.map(|stated| EvidenceFile::Settings(Box::new(stated))),
                None if !hints.is_empty() => Ok(EvidenceFile::Hints(Box::new(hints))),
                None if self.is_of_host => Err(vec![Issue::error("files", of_host())]),
                None => Err(self.translated.map_or(issues, |sizes| vec![translated(&sizes)])),
            },
        }
    }
}

/// Why a process that the host ended is no message of a GPU's memory.
fn of_host() -> Message {
    t!("the host ended the process, most often because its own memory ran out: the text has no message of a GPU's \
        memory. The kernel's log (dmesg) shows the cause; fewer data loader workers, or weights that the ranks load in \
        turn, need less")
}

/// The issue of an allocator's message in another language, with the `sizes` that it prints.
fn translated(sizes: &[String]) -> Issue {
    let sizes = sizes.join(", ");
    Issue::error(
        "files",
        if sizes.is_empty() {
            t!("a message of running out of memory in another language: paste the English one")
        } else {
            t!(
                "a message of running out of memory in another language, with {sizes}: paste the English one, which \
                    says which is which",
                sizes = verbatim(sizes)
            )
        },
    )
}

/// The kind of a file, with what was read of it so far.
enum Kind {
    /// Not known yet: the bytes so far.
    Unknown(Vec<u8>),
    Trace(Scanner, Box<KinetoReader>),
    Primus(Scanner, Box<PrimusReader>),
    Rocprof(Scanner, Box<RocprofReader>),
    Table(Vec<u8>),
    Text(Box<TextReader>),
    /// A program of Python, which no run left behind: the run that it starts is.
    Program(SettingsText),
}

/// A file by its unpacked bytes.
struct Sink {
    kind: Kind,
    /// Unpacked bytes so far.
    taken: u64,
    /// Why it takes no more bytes.
    issue: Option<Issue>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.push(bytes);
        if self.issue.is_some() { Err(std::io::Error::other("refused")) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Sink {
    fn new() -> Self {
        Self { kind: Kind::Unknown(Vec::new()), taken: 0, issue: None }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.taken += bytes.len() as u64;
        if self.taken > MAX_UNPACKED {
            self.issue = Some(Issue::error("files", t!("more than 4 GB unpacked: record fewer steps")));
            return;
        }
        if let Kind::Unknown(head) = &mut self.kind {
            head.extend_from_slice(bytes);
            if head.len() < HEAD {
                return;
            }
            let head = std::mem::take(head);
            self.kind = recognise(&head);
            self.take(&head);
        } else {
            self.take(bytes);
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        match &mut self.kind {
            Kind::Unknown(_) => {}
            Kind::Program(text) => text.push(bytes),
            Kind::Trace(scanner, trace) => {
                scanner.push(bytes, |scanner, key, event| trace.take(scanner, key, event));
                self.issue = self.issue.take().or_else(|| trace.overflow());
            }
            Kind::Primus(scanner, primus) => {
                scanner.push(bytes, |scanner, key, event| primus.take(scanner, key, event));
            }
            Kind::Rocprof(scanner, rocprof) => {
                scanner.push(bytes, |scanner, key, event| rocprof.take(scanner, key, event));
            }
            Kind::Table(text) => {
                if text.len() + bytes.len() > MAX_TABLE {
                    self.issue = Some(Issue::error("files", t!("a table of more than 200 MB: not read")));
                } else {
                    text.extend_from_slice(bytes);
                }
            }
            Kind::Text(reader) => reader.push(bytes),
        }
    }

    fn finish(mut self, present: &Run) -> Result<EvidenceFile, Vec<Issue>> {
        if let Kind::Unknown(head) = &mut self.kind {
            let head = std::mem::take(head);
            self.kind = recognise(&head);
            self.take(&head);
        }
        let nothing = || vec![Issue::error("files", t!("nothing in it is understood"))];
        match self.kind {
            Kind::Unknown(_) => Err(nothing()),
            Kind::Program(text) => {
                let program = || {
                    let message = t!("a program of Python, not what a run left behind: Import reads its settings");
                    Err(vec![Issue::error("files", message)])
                };
                text.stated(present).map_or_else(program, |stated| Ok(EvidenceFile::Settings(Box::new(stated?))))
            }
            Kind::Trace(scanner, mut trace) => {
                if let Some(ops) = trace.operations() {
                    return Ok(EvidenceFile::Workers(ops));
                }
                let complete = scanner.depth() == 0;
                let (trace, notes) = trace.finish(complete).map_err(|issue| vec![issue])?;
                Ok(EvidenceFile::Trace(Box::new(trace), notes))
            }
            Kind::Primus(_, primus) => {
                let ops = primus.finish();
                if ops.is_empty() { Err(nothing()) } else { Ok(EvidenceFile::Workers(ops)) }
            }
            Kind::Rocprof(_, rocprof) => {
                let trace = rocprof.finish().ok_or_else(nothing)?;
                Ok(EvidenceFile::Trace(Box::new(trace), Vec::new()))
            }
            Kind::Table(bytes) => match tables::read(&String::from_utf8_lossy(&bytes)).ok_or_else(nothing)? {
                TableRead::Sums(sums) => Ok(EvidenceFile::Sums(sums)),
                TableRead::Trace(trace) => Ok(EvidenceFile::Trace(trace, Vec::new())),
                TableRead::Calls(calls) => Ok(EvidenceFile::Calls(calls)),
            },
            Kind::Text(reader) => reader.finish(present),
        }
    }
}

/// The kind of a file by its first bytes.
fn recognise(head: &[u8]) -> Kind {
    let text = String::from_utf8_lossy(head);
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if tables::is_list(&text) {
        return Kind::Table(Vec::new());
    }
    if start.starts_with('{') || start.starts_with('[') {
        if has(&["\"fwd_start\"", "\"bwd_start\""]) {
            return Kind::Primus(Scanner::default(), Box::default());
        }
        if has(&["\"rocprofiler-sdk-tool\""]) {
            return Kind::Rocprof(Scanner::default(), Box::default());
        }
        let snapshot = has(&["\"segments\"", "\"device_traces\""]);
        if !snapshot && has(&["\"traceEvents\"", "\"schemaVersion\"", "\"deviceProperties\"", "\"ph\""]) {
            return Kind::Trace(Scanner::default(), Box::default());
        }
    } else if is_table(&text) {
        return Kind::Table(Vec::new());
    }
    if is_program(start) { Kind::Program(SettingsText::default()) } else { Kind::Text(Box::default()) }
}

/// Reads one file, packed with gzip or not.
#[derive(Default)]
pub struct EvidenceReader {
    reader: Option<Packed>,
    /// Bytes that were taken, as they are in the file.
    taken: u64,
    /// The first bytes, until they tell whether the file is packed.
    first: Vec<u8>,
    /// Why nothing more is taken.
    fault: Option<Issue>,
}

enum Packed {
    Plain(Box<Sink>),
    Gzip(Box<MultiGzDecoder<Sink>>),
}

impl EvidenceReader {
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// Why the file cannot be read further; nothing more is to be pushed then, and what is before can be had from
    /// [`Self::finish`].
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Issue> {
        let taken = self.take(bytes);
        if let Err(issue) = &taken {
            self.broken(issue.clone());
        }
        taken
    }

    /// Notes that the rest of the file cannot be had.
    pub fn broken(&mut self, why: Issue) {
        self.fault.get_or_insert(why);
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Issue> {
        self.taken += bytes.len() as u64;
        if self.reader.is_none() {
            self.first.extend_from_slice(bytes);
            if self.first.len() < 2 {
                return Ok(());
            }
            let first = std::mem::take(&mut self.first);
            self.reader = Some(if first.starts_with(&[0x1f, 0x8b]) {
                Packed::Gzip(Box::new(MultiGzDecoder::new(Sink::new())))
            } else {
                Packed::Plain(Box::new(Sink::new()))
            });
            return self.give(&first);
        }
        self.give(bytes)
    }

    fn give(&mut self, bytes: &[u8]) -> Result<(), Issue> {
        match &mut self.reader {
            Some(Packed::Plain(sink)) => {
                sink.push(bytes);
                sink.issue.clone().map_or(Ok(()), Err)
            }
            Some(Packed::Gzip(packed)) => packed.write_all(bytes).map_err(|_| {
                let own = packed.get_ref().issue.clone();
                own.unwrap_or_else(|| Issue::error("files", t!("the gzip is damaged")))
            }),
            None => Ok(()),
        }
    }

    /// What the file is, as far as it could be read; settings that it leaves out are those of `present`.
    ///
    /// # Errors
    /// The parts that could not be read.
    pub fn finish(mut self, present: &Run) -> Result<EvidenceFile, Vec<Issue>> {
        let mut fault = self.fault.take();
        let read = match self.reader {
            Some(Packed::Plain(sink)) => sink.finish(present),
            Some(Packed::Gzip(mut packed)) => {
                let is_whole = packed.try_finish().is_ok();
                let sink = std::mem::replace(packed.get_mut(), Sink::new());
                let cut = || (!is_whole).then(|| Issue::warning("files", t!("the gzip was cut off")));
                fault = fault.or_else(|| sink.issue.clone()).or_else(cut);
                sink.finish(present)
            }
            None => {
                let mut sink = Sink::new();
                sink.push(&self.first);
                sink.finish(present)
            }
        };
        let Some(fault) = fault else {
            return read;
        };
        match read {
            Ok(EvidenceFile::Trace(trace, mut notes)) => {
                notes.push(Issue::warning("files", t!("{why}: what stands before is read", why = fault.message)));
                Ok(EvidenceFile::Trace(trace, notes))
            }
            _ if fault.severity == Severity::Error => Err(vec![fault]),
            other => other,
        }
    }
}

/// Reads a whole file at once.
///
/// # Errors
/// As [`EvidenceReader::finish`].
pub fn read(bytes: &[u8], present: &Run) -> Result<EvidenceFile, Vec<Issue>> {
    let mut reader = EvidenceReader::default();
    // A file that breaks off gives what is before.
    let _ = reader.push(bytes);
    reader.finish(present)
}

/// The contents of several files, kind by kind.
#[derive(Default)]
struct Sorted<'a> {
    traces: Vec<&'a RankTrace>,
    notes: Vec<Issue>,
    unread: Vec<Issue>,
    ops: Vec<WorkerOp>,
    calls: Vec<CallTable>,
    sums: Option<&'a BTreeMap<KernelClass, (u64, f64)>>,
    readings: Vec<&'a Reading>,
    hints: Vec<&'a LogHints>,
    memory: Option<&'a OutOfMemory>,
    stated: Option<&'a StatedRun>,
}

impl<'a> Sorted<'a> {
    fn of(files: &[&'a Result<EvidenceFile, Vec<Issue>>]) -> Self {
        let mut all = Self::default();
        for file in files {
            match file {
                Ok(EvidenceFile::Trace(trace, issues)) => {
                    all.traces.push(trace);
                    all.notes.extend(issues.iter().cloned());
                }
                Ok(EvidenceFile::Workers(more)) => all.ops.extend(more.iter().copied()),
                Ok(EvidenceFile::Calls(tables)) => all.calls.extend(tables.iter().cloned()),
                Ok(EvidenceFile::Sums(more)) => all.sums = all.sums.or(Some(more)),
                Ok(EvidenceFile::Memory(message)) => all.memory = all.memory.or(Some(message)),
                Ok(EvidenceFile::Log(read, message, hints)) => {
                    all.readings.push(read);
                    all.hints.push(hints);
                    all.memory = all.memory.or(message.as_deref());
                }
                Ok(EvidenceFile::Hints(hints)) => all.hints.push(hints),
                Ok(EvidenceFile::Settings(stated)) => all.stated = all.stated.or(Some(stated)),
                Err(issues) => all.unread.extend(issues.iter().cloned()),
            }
        }
        all.traces.sort_by_key(|trace| trace.rank);
        all
    }
}

/// The diagnosis of what files hold, with the timeline of the first rank that has a trace, measured and predicted.
pub fn answer(files: &[&Result<EvidenceFile, Vec<Issue>>], run: &Run) -> EvidenceAnswer {
    let found = diagnose(files, run);
    let traces = files.iter().filter_map(|file| match file {
        Ok(EvidenceFile::Trace(trace, _)) => Some(trace),
        _ => None,
    });
    let first = traces.min_by_key(|trace| trace.rank).filter(|_| found.is_ok());
    let lanes = first.and_then(|trace| MeasuredLanes::of(trace));
    // Of the run that all other figures are of.
    let compared = found.as_ref().ok().filter(|found| found.predicted_s.is_some());
    let compared = compared.map(|found| found.own.as_deref().unwrap_or(run));
    let predicted = lanes.as_ref().zip(compared).and_then(|(lanes, run)| lanes.predicted(run));
    EvidenceAnswer { found, lanes, predicted }
}

/// The diagnosis of what files hold; issues of files that could not be read become warnings beside those that could.
///
/// # Errors
/// No file could be read.
pub fn diagnose(files: &[&Result<EvidenceFile, Vec<Issue>>], run: &Run) -> Result<Diagnosis, Vec<Issue>> {
    compared_with(files, run, !run.is_as_opened())
}

/// [`diagnose()`] beside a run that was given, also where it is the one that the page opens with.
///
/// # Errors
/// No file could be read.
pub fn diagnose_given(files: &[&Result<EvidenceFile, Vec<Issue>>], run: &Run) -> Result<Diagnosis, Vec<Issue>> {
    compared_with(files, run, true)
}

/// [`diagnose`]; `is_given`: somebody stated `run`.
fn compared_with(
    files: &[&Result<EvidenceFile, Vec<Issue>>],
    run: &Run,
    is_given: bool,
) -> Result<Diagnosis, Vec<Issue>> {
    let Sorted { traces, notes, unread, ops, calls, sums, readings, hints, memory, stated } = Sorted::of(files);
    let page = run;
    let run = stated.map_or(page, |stated| &stated.run);
    let reading = readings.first().copied();
    let own = reading.map_or_else(|| run.clone(), |reading| reading.run_on(run));
    let of_own = reading.cloned().map(|log| {
        let is_settled = stated.is_some() && log.stated.is_some();
        if is_settled { log.without_guesses().of_run(&own) } else { log.of_run(&own) }
    });
    let reading = of_own.as_ref();
    let used = &own;
    let compared = if traces.is_empty() { used } else { run };
    let mut found = if !traces.is_empty() {
        let mut found = match traces[..] {
            [first, second] if first.rank.is_some() && first.rank == second.rank => {
                diagnose::of_two_traces(first, second, run)
            }
            _ => diagnose::of_traces(&traces, run),
        };
        found.memory = memory.map(|message| diagnose::out_of_memory(message.clone(), Some(run)));
        if let Some(step) = reading.and_then(|reading| reading.step) {
            diagnose::without_profiler(&mut found, step.seconds);
        }
        if let Some(reading) = reading {
            let traced = (found.step && used == run).then_some(found.window_ns as f64 * 1e-9);
            let log = of_log(reading, used, hints.first().copied(), &known_of(reading, stated), traced);
            tell_log(&mut found, log, used != run);
        }
        found
    } else if let Some(found) = diagnose::of_workers(&ops) {
        found
    } else if !calls.is_empty() {
        of_calls(calls)
    } else if let Some(message) = memory {
        let is_given = is_given || stated.is_some() || reading.is_some_and(Reading::states_model);
        diagnose::of_memory(message.clone(), is_given.then_some(used))
    } else if let Some(found) = of_two_logs(&readings) {
        found
    } else if let Some(reading) = reading {
        let hints = hints.first().copied();
        let mut found = of_log(reading, used, hints, &known_of(reading, stated), None);
        let rate = hints.and_then(|hints| hints.stated().tflops).zip(reading.step);
        if let Some((tflops, step)) = rate.filter(|_| reading.stated.is_some() && stated.is_none()) {
            diagnose::contradict(&mut found, tflops, step.seconds, used);
        } else if let Some((tflops, step)) = rate {
            found.warnings.extend(diagnose::work_of_other_settings(tflops, step.seconds, used));
        }
        let by = reading.counted_by.zip(reading.step).filter(|_| found.predicted_s.is_some() && rate.is_some());
        found.read.extend(by.and_then(|(by, step)| diagnose::utilisation_by(by, step.seconds, used)));
        found
    } else if let Some(hints) = hints.first() {
        of_hints(hints, run)
    } else if let Some(sums) = sums {
        of_sums(sums, run)
    } else if let Some(stated) = stated {
        of_settings(stated)
    } else {
        return Err(unread);
    };
    let is_alone = stated.is_some() && files.len() == 1;
    if let Some(stated) = stated {
        if !is_alone {
            found.read.push(t!("The run is that of the settings beside it: {format}.", format = &stated.format));
        }
        // A trace is compared with the run of the settings alone.
        let log = reading.and_then(|reading| reading.stated.as_ref()).filter(|_| traces.is_empty());
        let differs = log.and_then(|log| disagreement(log, stated, page));
        found.warnings.extend(differs.map(|message| Issue::warning("files", message)));
        found.read.extend(stated.assumed.iter().cloned());
    }
    // What was measured of the page's run is no setting of the files'.
    let present = Run { measured_step_s: None, profile: compared.profile.clone(), ..page.clone() };
    if found.predicted_s.is_some() || found.memory.is_some() {
        let stated = diagnose::differences(compared, &present);
        if !stated.is_empty() {
            let settings = Message::joined(", ", stated);
            found.read.push(if is_alone {
                t!("It states these settings, which differ from the page's: {settings}.", settings)
            } else {
                t!("It is compared with the run that it states, which differs from the page's: {settings}.", settings)
            });
            found.own = Some(Box::new(compared.clone()));
        }
    }
    let other_batch = reading.and_then(Reading::other_batch).filter(|_| found.predicted_s.is_some());
    found.warnings.extend(other_batch.map(|message| Issue::warning("files", message)));
    found.warnings.extend(notes);
    found.warnings.extend(unread.into_iter().map(|issue| Issue::warning("files", issue.message)));
    Ok(found)
}

/// Settings that a log and the file of settings beside it state.
fn known_of(reading: &Reading, stated: Option<&StatedRun>) -> Vec<String> {
    let beside = stated.into_iter().flat_map(|stated| &stated.known);
    reading.known.iter().chain(beside).cloned().collect()
}

/// Adds what a log beside a trace tells: its verdict, its steps where the trace is of a whole one, and what their
/// pattern is consistent with. `is_of_other` where the log states another run than the trace is compared with.
fn tell_log(found: &mut Diagnosis, log: Diagnosis, is_of_other: bool) {
    let words = if is_of_other {
        t!("The log beside the trace, of the run that it states: {verdict}", verdict = log.verdict)
    } else {
        t!("The log beside the trace: {verdict}", verdict = log.verdict)
    };
    found.verdict = Message::joined(" ", [found.verdict.clone(), words]);
    let pattern = log.series.as_ref().map(StepSeries::causes).unwrap_or_default();
    // A cause that was measured stays as it is, in each part of the step that has it.
    for cause in pattern {
        if found.causes.iter().all(|known| known.id != cause.id) {
            found.causes.push(cause);
        }
    }
    found.read.extend(log.read);
    found.warnings.extend(log.warnings);
    found.rl = log.rl;
    if found.step && !is_of_other {
        found.series = log.series;
    }
}

/// Settings alone: the run that they state as it is predicted, and what to add to compare it.
fn of_settings(stated: &StatedRun) -> Diagnosis {
    let mut found = Diagnosis::empty(Comparison::SumsOnly, Message::default());
    let format = &stated.format;
    match (diagnose::ExpectedStep::of(&stated.run, 0), evaluate(&stated.run)) {
        (Ok(expected), Ok(Evaluation { report, .. })) => {
            let [time, low, high] =
                [expected.time, expected.low, expected.high].map(|seconds| show_seconds(Seconds(seconds)));
            found.verdict = t!(
                "Settings alone ({format}), and nothing that was measured. By prediction a step takes {time} ({low} to \
                    {high}), and the fullest GPU needs {need} of {capacity}. Add the log of this run, a trace or an \
                    out-of-memory message: it is compared with that.",
                format,
                time,
                low,
                high,
                need = MemoryUnit::Gib.show(report.memory.need_bytes),
                capacity = MemoryUnit::Gib.show(report.memory.capacity_bytes)
            );
            (found.predicted_s, found.low_s, found.high_s) =
                (Some(expected.time), Some(expected.low), Some(expected.high));
            found.remedies = diagnose::remedies(&stated.run);
            found.made_of = expected.made_of;
            found.expected = expected.shares;
        }
        (Err(issues), _) | (_, Err(issues)) => {
            found.verdict = t!(
                "Settings alone ({format}), and nothing that was measured. The run that they state cannot be computed.",
                format
            );
            found.warnings = issues;
        }
    }
    found
}

/// Two logs with steps, beside each other.
fn of_two_logs(readings: &[&Reading]) -> Option<Diagnosis> {
    let [first, second] = readings else {
        return None;
    };
    let times = |reading: &Reading| Some(RunTimes { run: reading.run.clone(), step_s: reading.step?.seconds });
    let mut found = diagnose::of_two_runs(&times(first)?, &times(second)?)?;
    for reading in readings {
        found.read.push(t!("Read as {program}.", program = &reading.program));
    }
    Some(found)
}

/// A text without steps: how its utilisation is counted, its timers, its memory.
fn of_hints(hints: &LogHints, run: &Run) -> Diagnosis {
    let nothing = || t!("The file tells of no step: what its other lines say is listed.");
    let verdict = hints.rl.verdict().unwrap_or_else(nothing);
    let mut found = Diagnosis::empty(Comparison::SumsOnly, verdict);
    add_hints(&mut found, hints, run, None);
    if hints.has_utilisation() {
        found.read.push(of_no_program());
    }
    found
}

/// Whose count of FLOPs a figure follows, where no program is recognised.
fn of_no_program() -> Message {
    t!("How its MFU and TFLOP/s count FLOPs is not known: no program is recognised.")
}

/// Adds what the lines of a log say besides its steps; `by` is whose count of FLOPs its figures follow.
fn add_hints(found: &mut Diagnosis, hints: &LogHints, run: &Run, by: Option<CountedBy>) {
    let stated = hints.stated();
    if let Some(definition) = diagnose::definition(&stated, run) {
        found.causes.insert(0, definition);
    } else if let Some(counted) = diagnose::counted(&stated, run) {
        found.read.push(t!(
            "Its utilisation is counted over {peak} TFLOP/s, the dense peak of the GPU.",
            peak = shardscope_core::units::fixed(counted.peak_tflops, 0)
        ));
    }
    if let Some(mfu) = stated.mfu {
        found.read.push(t!("The log prints an MFU of {mfu} itself, of its median step.", mfu = show_percent(mfu)));
    }
    let step_s = found.window_ns as f64 * 1e-9;
    let printed = stated.tflops.filter(|_| step_s > 0.0 && found.predicted_s.is_some());
    found.read.extend(printed.and_then(|tflops| diagnose::printed_rate(tflops, step_s, run, by)));
    hints.rl.tell(found, run);
    let expected = diagnose::ExpectedStep::of(run, 0).ok();
    let step = found.window_ns as f64 * 1e-9;
    let timers = hints.timers();
    let whole = timers.iter().map(|timer| timer.most).fold(step, f64::max);
    if !timers.is_empty() {
        let mut causes = diagnose::by_timers(&timers, whole, expected.as_ref());
        causes.append(&mut found.causes);
        found.causes = causes;
        found.read.push(t!(
            "Timers were read: {count}. At this level they wait for the GPU, which lengthens the step.",
            count = timers.len()
        ));
    }
    let experts = Scenario::new(run).is_ok_and(|scenario| scenario.model.moe.is_some());
    if let Some(cause) = MemoryTrend::of(&hints.memory).and_then(|trend| trend.cause(experts)) {
        found.causes.push(cause);
    }
    found.name_causes_once();
    if hints.retries > 0 {
        found.read.push(t!(
            "Allocations that failed and were tried again: {count}. Memory is near its limit.",
            count = hints.retries
        ));
    }
}

/// Times of a log's steps, and the peaks that it tells. `known` are settings of `own` that files state, `traced` is the
/// step of a trace beside the log.
fn of_log(reading: &Reading, own: &Run, hints: Option<&LogHints>, known: &[String], traced: Option<f64>) -> Diagnosis {
    let seconds: Vec<f64> = if reading.series.is_empty() {
        reading.step.iter().map(|step| step.seconds).collect()
    } else {
        reading.series.clone()
    };
    let mut found = if seconds.is_empty() {
        let nothing = || t!("The file tells of no step: what it measures stands under Fitted to your runs.");
        let words = hints.and_then(|hints| hints.rl.verdict()).unwrap_or_else(nothing);
        Diagnosis::empty(Comparison::SumsOnly, words)
    } else {
        let typical = reading.step.as_ref().map(|step| step.seconds);
        diagnose::of_steps_beside(&seconds, &reading.numbers, typical, own, known, traced)
    };
    if let Some(hints) = hints {
        add_hints(&mut found, hints, own, reading.counted_by);
        if hints.has_utilisation() {
            let words = &reading.count_words;
            found.read.push(if words.is_empty() { of_no_program() } else { words.clone() });
        }
    }
    found.read.push(t!("Read as {program}.", program = &reading.program));
    for (words, figure) in &reading.measured {
        found.read.push(Message::joined(": ", [words.clone(), figure.clone()]));
    }
    found.read.extend(reading.compared_peaks());
    found.read.extend(reading.assumed.iter().cloned());
    found.warnings.extend(reading.notes.iter().map(|note| Issue::warning("files", note)));
    found
}

/// Sums of kernels without an order.
fn of_sums(sums: &BTreeMap<KernelClass, (u64, f64)>, run: &Run) -> Diagnosis {
    let words = t!(
        "A summary has no order: sums of kernels by class, no exposed messages and no gaps. A table with the start of \
            every kernel (nsys stats --report cuda_gpu_trace) has."
    );
    let mut found = Diagnosis::empty(Comparison::SumsOnly, words);
    let expected = diagnose::ExpectedStep::of(run, 0).ok();
    #[allow(clippy::cast_possible_truncation)] // nanoseconds of kernels
    let rows = sums.iter().map(|(class, (count, seconds))| KernelRow {
        class: *class,
        count: *count,
        measured_ns: (seconds * 1e9) as i64,
        median_ns: (seconds * 1e9) as i64 / i64::try_from((*count).max(1)).unwrap_or(1),
        predicted_s: expected.as_ref().and_then(|expected| expected.kernels.get(class).copied()),
    });
    found.kernels = rows.collect();
    found
}

/// Tables of collectives by rank: who waits, and for whom.
fn of_calls(tables: Vec<CallTable>) -> Diagnosis {
    let (wires, by_rank): (Vec<_>, Vec<_>) = tables.into_iter().partition(|table| table.rows.is_empty());
    let Some(mut first) = by_rank.into_iter().next() else {
        let words = t!("A table of collectives without their ranks: who waits needs the table by rank.");
        return Diagnosis::empty(Comparison::SumsOnly, words);
    };
    if let Some(wire) = wires.iter().find(|wire| wire.name == first.name) {
        first.wire_s = wire.wire_s;
    }
    let waits = first.waits();
    let row = waits.ranks.first();
    let late = waits.late.and_then(|late| waits.ranks.iter().find(|row| row.rank == late));
    let seconds = |value: f64| show_seconds(Seconds(value));
    let verdict = match (row, late) {
        (Some(row), Some(late)) => t!(
            "Rank {rank} spends {all} in {calls} calls of {name}; on the wire they take {wire}: {share} is waiting for \
                rank {late}.",
            rank = row.rank,
            all = seconds(row.wire_s + row.waiting_s),
            calls = waits.calls,
            name = verbatim(&first.name),
            wire = seconds(row.wire_s),
            share = show_percent(row.waiting_s / (row.wire_s + row.waiting_s)),
            late = late.rank
        ),
        _ => t!("No rank makes the others wait for long."),
    };
    let mut found = Diagnosis::empty(Comparison::SumsOnly, verdict);
    if let Some(late) = late {
        let id = diagnose::CauseId::LateRank;
        found.causes.push(diagnose::FoundCause {
            seconds: Some(late.makes_wait_s),
            change: Some(t!("look at that rank's GPU and host: clocks, errors, other processes")),
            ..diagnose::FoundCause::new(
                id,
                t!(
                    "Rank {rank} comes last to every call: the others wait {seconds} on average.",
                    rank = late.rank,
                    seconds = seconds(late.makes_wait_s)
                ),
            )
        });
    }
    found.rank = row.map(|row| row.rank);
    found.ranks = Some(waits);
    found
}
