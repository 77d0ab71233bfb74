//! A file that a worker has read, on its way to the page: all of it that a diagnosis needs, and no text of the file.
//! A diagnosis that a worker has made, on its way there too.
//!
//! The form of a worker's messages has no names, so that fields which JSON leaves out where they are empty have to be
//! there: the structs here have them.

use super::{EvidenceFile, LogHints, StatedRun};
use crate::logs::Reading;
use serde::{Deserialize, Serialize};
use shardscope_core::diagnose::{
    CallTable, CauseId, Comparison, Diagnosis, Fingerprint, FoundCause, GapRow, KernelRow, MeasuredLanes, MemoryFound,
    MemoryTrend, MessageRow, Moment, OtherChange, OutOfMemory, PartRow, RankTrace, RankWaits, Remedy, RlRow,
    SeveralRanks, SizeReading, StepSeries, StepShare, TraceLanes, WorkerOp, WorkerRatios, WorkerTimes,
};
use shardscope_core::issue::{Issue, Severity};
use shardscope_core::memory::Component;
use shardscope_core::message::Message;
use shardscope_core::run::Run;
use shardscope_core::run::registry::field;
use shardscope_core::time::{KernelClass, PartKind};
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
    Settings(Box<StatedRun>),
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
const LIBRARIES: [&str; 6] = ["NCCL", "cuBLAS", "JAX", "vLLM", "CUDA", "HIP"];

/// The fields of an [`OutOfMemory`].
#[allow(clippy::struct_excessive_bools)] // facts of a stack that do not exclude each other
#[derive(Serialize, Deserialize)]
pub struct SentMemory {
    sizes: [Option<f64>; 9],
    driver_pool: bool,
    /// Place in [`LIBRARIES`].
    library: Option<usize>,
    places: [Option<u64>; 3],
    moment: Option<Moment>,
    makes_states: bool,
    to_fp32: bool,
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
            to_fp32: one.to_fp32,
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
            to_fp32: sent.to_fp32,
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
            Ok(EvidenceFile::Settings(stated)) => Self::Settings(stated),
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
            SentFile::Settings(stated) => EvidenceFile::Settings(stated),
            SentFile::Unread(unread) => return Err(issues(unread)),
        })
    }
}

/// What files say of a run: their diagnosis, or why none of them could be read, and the timeline of the first rank.
pub struct EvidenceAnswer {
    pub found: Result<Diagnosis, Vec<Issue>>,
    pub lanes: Option<MeasuredLanes>,
    /// The same rank in the run that is compared; none where nothing is.
    pub predicted: Option<TraceLanes>,
}

/// An [`EvidenceAnswer`] on its way to the page.
#[derive(Serialize, Deserialize)]
pub struct SentAnswer {
    found: Result<Box<SentDiagnosis>, Vec<SentIssue>>,
    lanes: Option<MeasuredLanes>,
    predicted: Option<TraceLanes>,
}

impl From<EvidenceAnswer> for SentAnswer {
    fn from(EvidenceAnswer { found, lanes, predicted }: EvidenceAnswer) -> Self {
        Self { found: found.map(|found| Box::new(found.into())).map_err(all), lanes, predicted }
    }
}

impl From<SentAnswer> for EvidenceAnswer {
    fn from(SentAnswer { found, lanes, predicted }: SentAnswer) -> Self {
        Self { found: found.map(|found| (*found).into()).map_err(all), lanes, predicted }
    }
}

fn all<Own, Sent: From<Own>>(list: Vec<Own>) -> Vec<Sent> {
    list.into_iter().map(Sent::from).collect()
}

/// A struct with the same fields as its own, of which none is left out: each with its type here, how it is sent and how
/// it arrives.
macro_rules! sent {
    ($(#[$about:meta])* $sent:ident of $own:ident {
        $($same:ident: $type:ty,)*
        $(=> $field:ident: $other:ty, $send:expr, $arrive:expr;)*
    }) => {
        $(#[$about])*
        #[derive(Serialize, Deserialize)]
        struct $sent { $($same: $type,)* $($field: $other,)* }

        impl From<$own> for $sent {
            fn from(own: $own) -> Self {
                let $own { $($same,)* $($field,)* } = own;
                Self { $($same,)* $($field: $send($field),)* }
            }
        }

        impl From<$sent> for $own {
            fn from(sent: $sent) -> Self {
                let $sent { $($same,)* $($field,)* } = sent;
                Self { $($same,)* $($field: $arrive($field),)* }
            }
        }
    };
}

sent! {
    SentRank of RankWaits {
        rank: u64,
        wire_s: f64,
        waiting_s: f64,
        makes_wait_s: f64,
        compute_s: Option<f64>,
        offset_ns: Option<i64>,
    }
}

sent! {
    SentRanks of SeveralRanks {
        calls: u64,
        late: Option<u64>,
        workers: Option<f64>,
        slow: Option<u64>,
        stages: Option<f64>,
        => ranks: Vec<SentRank>, all, all;
    }
}

sent! {
    SentWorkers of WorkerTimes {
        steps: u64,
        workers: u64,
        microbatches: u64,
        measured_s: f64,
        even_s: Option<f64>,
        stages_s: Option<f64>,
        others_s: Option<f64>,
        ratios: WorkerRatios,
    }
}

sent! {
    SentCause of FoundCause {
        id: CauseId,
        seconds: Option<f64>,
        bytes: Option<f64>,
        title: Message,
        evidence: Message,
        change: Option<Message>,
        measure: Option<Message>,
        predicted_s: Option<f64>,
        change_s: Option<[f64; 2]>,
        missing: Option<f64>,
        => set: Vec<(String, String)>, keys, known_keys;
        => others: Vec<SentChange>, all, all;
        => not_enough: Vec<SentChange>, all, all;
    }
}

sent! {
    SentChange of OtherChange {
        change: Message,
        => set: Vec<(String, String)>, keys, known_keys;
    }
}

sent! {
    SentRemedy of Remedy {
        part: PartKind,
        seconds: f64,
        change: Message,
        words: Message,
        change_s: Option<[f64; 2]>,
        told: bool,
        => set: Vec<(String, String)>, keys, known_keys;
    }
}

/// Keys of fields as texts.
fn keys(set: Vec<(&'static str, String)>) -> Vec<(String, String)> {
    set.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Texts as keys of fields; a text that is no key is left out.
fn known_keys(set: Vec<(String, String)>) -> Vec<(&'static str, String)> {
    set.into_iter().filter_map(|(key, value)| Some((field(&key)?.key, value))).collect()
}

sent! {
    SentFingerprint of Fingerprint {
        name: Message,
        tokens: Option<f64>,
        off: f64,
        logits: bool,
        logit_bytes: u64,
        longer: bool,
        scores: bool,
        also: Vec<SizeReading>,
        decides: Option<Message>,
    }
}

sent! {
    SentFound of MemoryFound {
        short: Option<f64>,
        experts: bool,
        rank: Option<u64>,
        stage: Option<usize>,
        besides: f64,
        need: Option<[f64; 4]>,
        fullest: Option<(usize, f64)>,
        no_run: bool,
        => message: SentMemory, SentMemory::from, OutOfMemory::from;
        => fingerprint: Option<SentFingerprint>, maybe, maybe;
        => predicted: Vec<(String, f64)>, components, known_components;
        => causes: Vec<SentCause>, all, all;
    }
}

fn maybe<Own, Sent: From<Own>>(one: Option<Own>) -> Option<Sent> {
    one.map(Sent::from)
}

/// Names of components as texts.
fn components(parts: Vec<(&'static str, f64)>) -> Vec<(String, f64)> {
    parts.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect()
}

/// Texts as names of components; a text that is no name is left out.
fn known_components(parts: Vec<(String, f64)>) -> Vec<(&'static str, f64)> {
    let known = |name: &str| Component::ALL.into_iter().map(Component::name).find(|known| *known == name);
    parts.into_iter().filter_map(|(name, bytes)| Some((known(&name)?, bytes))).collect()
}

sent! {
    /// The fields of a [`Diagnosis`].
    SentDiagnosis of Diagnosis {
        read: Vec<Message>,
        comparison: Comparison,
        verdict: Message,
        window_ns: i64,
        rank: Option<u64>,
        step: bool,
        microbatches: Option<f64>,
        predicted_s: Option<f64>,
        low_s: Option<f64>,
        high_s: Option<f64>,
        parts: Vec<PartRow>,
        kernels: Vec<KernelRow>,
        gaps: Vec<GapRow>,
        messages: Vec<MessageRow>,
        explained: Option<f64>,
        difference_s: Option<f64>,
        series: Option<StepSeries>,
        rl: Vec<RlRow>,
        expected: BTreeMap<StepShare, f64>,
        made_of: Vec<(PartKind, f64)>,
        own: Option<Box<Run>>,
        => errors: Vec<SentIssue>, all, all;
        => warnings: Vec<SentIssue>, all, all;
        => causes: Vec<SentCause>, all, all;
        => remedies: Vec<SentRemedy>, all, all;
        => ranks: Option<SentRanks>, maybe, maybe;
        => workers: Option<SentWorkers>, maybe, maybe;
        => memory: Option<SentFound>, maybe, maybe;
    }
}
