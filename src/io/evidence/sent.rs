//! A file that a worker has read, on its way to the page: all of it that a diagnosis needs, and no text of the file.

use super::{EvidenceFile, LogHints};
use crate::logs::Reading;
use serde::{Deserialize, Serialize};
use shardscope_core::diagnose::{CallTable, MemoryTrend, Moment, OutOfMemory, RankTrace, WorkerOp};
use shardscope_core::issue::{Issue, Severity};
use shardscope_core::message::Message;
use shardscope_core::time::KernelClass;
use std::collections::BTreeMap;

/// What became of a file: the counterpart of a `Result<EvidenceFile, Vec<Issue>>`. A trace is cut to the step that is
/// diagnosed.
#[derive(Serialize, Deserialize)]
pub enum SentFile {
    Trace(Box<RankTrace>, Vec<SentIssue>),
    Workers(Vec<WorkerOp>),
    Calls(Vec<CallTable>),
    Sums(BTreeMap<KernelClass, (u64, f64)>),
    Memory(Box<SentMemory>),
    Log(Box<Reading>, Option<Box<SentMemory>>, Box<LogHints>),
    Hints(Box<LogHints>),
    /// It could not be read.
    Unread(Vec<SentIssue>),
}

/// An issue of a file: whether it is an error, its field and its words.
#[derive(Serialize, Deserialize)]
pub struct SentIssue(bool, String, Message);

impl From<Issue> for SentIssue {
    fn from(issue: Issue) -> Self {
        Self(issue.severity == Severity::Error, issue.field, issue.message)
    }
}

impl From<SentIssue> for Issue {
    fn from(SentIssue(is_error, field, message): SentIssue) -> Self {
        if is_error { Self::error(field, message) } else { Self::warning(field, message) }
    }
}

/// Libraries whose messages are read.
const LIBRARIES: [&str; 3] = ["NCCL", "cuBLAS", "JAX"];

/// The fields of an [`OutOfMemory`].
#[derive(Serialize, Deserialize)]
pub struct SentMemory {
    sizes: [Option<f64>; 9],
    driver_pool: bool,
    /// Place in [`LIBRARIES`].
    library: Option<usize>,
    places: [Option<u64>; 3],
    moment: Option<Moment>,
    makes_states: bool,
    resumed: bool,
    trend: Option<MemoryTrend>,
}

impl From<OutOfMemory> for SentMemory {
    fn from(one: OutOfMemory) -> Self {
        Self {
            sizes: [
                one.asked,
                one.total,
                one.free,
                one.allocated,
                one.unused,
                one.process,
                one.others,
                one.allowed,
                one.pools,
            ],
            driver_pool: one.driver_pool,
            library: one.library.and_then(|name| LIBRARIES.iter().position(|known| *known == name)),
            places: [one.rank, one.gpu, one.step],
            moment: one.moment,
            makes_states: one.makes_states,
            resumed: one.resumed,
            trend: one.trend,
        }
    }
}

impl From<SentMemory> for OutOfMemory {
    fn from(sent: SentMemory) -> Self {
        let [asked, total, free, allocated, unused, process, others, allowed, pools] = sent.sizes;
        let [rank, gpu, step] = sent.places;
        Self {
            asked,
            total,
            free,
            allocated,
            unused,
            process,
            others,
            allowed,
            pools,
            driver_pool: sent.driver_pool,
            library: sent.library.and_then(|at| LIBRARIES.get(at).copied()),
            rank,
            gpu,
            step,
            moment: sent.moment,
            makes_states: sent.makes_states,
            resumed: sent.resumed,
            trend: sent.trend,
        }
    }
}

impl From<Result<EvidenceFile, Vec<Issue>>> for SentFile {
    fn from(read: Result<EvidenceFile, Vec<Issue>>) -> Self {
        let sent = |issues: Vec<Issue>| issues.into_iter().map(SentIssue::from).collect();
        let memory = |message: Box<OutOfMemory>| Box::new(SentMemory::from(*message));
        match read {
            Ok(EvidenceFile::Trace(trace, notes)) => Self::Trace(Box::new(trace.of_median_step()), sent(notes)),
            Ok(EvidenceFile::Workers(ops)) => Self::Workers(ops),
            Ok(EvidenceFile::Calls(tables)) => Self::Calls(tables),
            Ok(EvidenceFile::Sums(sums)) => Self::Sums(sums),
            Ok(EvidenceFile::Memory(message)) => Self::Memory(memory(message)),
            Ok(EvidenceFile::Log(reading, message, hints)) => Self::Log(reading, message.map(memory), hints),
            Ok(EvidenceFile::Hints(hints)) => Self::Hints(hints),
            Err(issues) => Self::Unread(sent(issues)),
        }
    }
}

impl From<SentFile> for Result<EvidenceFile, Vec<Issue>> {
    fn from(sent: SentFile) -> Self {
        let issues = |sent: Vec<SentIssue>| sent.into_iter().map(Issue::from).collect();
        let memory = |message: Box<SentMemory>| Box::new(OutOfMemory::from(*message));
        Ok(match sent {
            SentFile::Trace(trace, notes) => EvidenceFile::Trace(trace, issues(notes)),
            SentFile::Workers(ops) => EvidenceFile::Workers(ops),
            SentFile::Calls(tables) => EvidenceFile::Calls(tables),
            SentFile::Sums(sums) => EvidenceFile::Sums(sums),
            SentFile::Memory(message) => EvidenceFile::Memory(memory(message)),
            SentFile::Log(reading, message, hints) => EvidenceFile::Log(reading, message.map(memory), hints),
            SentFile::Hints(hints) => EvidenceFile::Hints(hints),
            SentFile::Unread(unread) => return Err(issues(unread)),
        })
    }
}
