//! Logs of training programs and of benchmarks, traces and memory snapshots: what was measured, and of which run.
//!
//! A [`LogReader`] takes the bytes in pieces, keeps a few numbers, and returns at the end what it understood. It knows
//! no page and holds no text, so that a file of gigabytes needs no more memory than a short one.

mod clock;
mod collect;
mod counts;
mod dump;
mod layout;
mod line;
mod nccl;
mod patterns;
mod pickle;
mod reading;
mod snapshot;
mod special;
mod steps;
pub mod summary;
mod trace;

pub use patterns::LoggedQuantity;
pub(crate) use reading::SIZES;
pub use reading::{LoggedSteps, RateOf, Reading};
pub(crate) use steps::Series;

use crate::json_scan::Scanner;
use crate::kineto::KinetoReader;
use collect::Log;
use pickle::PickleReader;
use shardscope_core::issue::Issue;
use shardscope_core::message::Message;
use shardscope_core::run::Run;
use shardscope_core::t;
use snapshot::Snapshot;

/// Larger text is refused.
const MAX_TEXT: u64 = 200_000_000;
/// Larger traces and snapshots are refused.
const MAX_JSON: u64 = 2_000_000_000;
/// Bytes at the beginning that tell the kind of a file.
const HEAD: usize = 4096;

/// Kind of a file, by its first bytes.
enum Kind {
    /// Not enough bytes yet.
    Unknown(Vec<u8>),
    Text(Box<Log>),
    Trace(Scanner, Box<KinetoReader>),
    Snapshot(Scanner, Box<Snapshot>),
    Pickle(Box<PickleReader>),
}

/// Reads one file, piece by piece.
pub struct LogReader {
    kind: Kind,
    taken: u64,
}

impl Default for LogReader {
    fn default() -> Self {
        Self { kind: Kind::Unknown(Vec::new()), taken: 0 }
    }
}

/// Why a file of `size` bytes is not read at all.
pub fn too_large(size: u64, is_json: bool) -> Option<Issue> {
    let most = if is_json { MAX_JSON } else { MAX_TEXT };
    let megabytes = |bytes: u64| bytes / 1_000_000;
    let message = |size, most| t!("{size} MB: at most {most} MB are read", size, most);
    (size > most).then(|| Issue::error("", message(megabytes(size), megabytes(most))))
}

impl LogReader {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// Why the file cannot be read: not text, too large, a pickle that is no snapshot. Nothing more is to be pushed
    /// then.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Issue> {
        self.taken += bytes.len() as u64;
        if let Kind::Unknown(head) = &mut self.kind {
            head.extend_from_slice(bytes);
            if head.len() < HEAD {
                return Ok(());
            }
            let head = std::mem::take(head);
            return self.open(&head);
        }
        self.take(bytes)
    }

    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// The reading; settings that the file leaves out are those of `present`.
    ///
    /// # Errors
    /// The issue of a text in which nothing is understood, with the formats that would be.
    pub fn finish(mut self, present: &Run) -> Result<Reading, Vec<Issue>> {
        if let Kind::Unknown(head) = &mut self.kind {
            let head = std::mem::take(head);
            self.open(&head).map_err(|issue| vec![issue])?;
        }
        match self.kind {
            Kind::Text(log) => Reading::of(&log.finish(), present),
            Kind::Trace(scanner, trace) => {
                let (trace, notes) = trace.finish(scanner.depth() == 0).map_err(|issue| vec![issue])?;
                Ok(trace::reading(&trace, notes, present))
            }
            Kind::Snapshot(scanner, snapshot) => {
                let reading = snapshot.finish(present)?;
                Ok(if scanner.depth() == 0 { reading } else { cut_off(reading) })
            }
            Kind::Pickle(pickle) => match pickle.finish() {
                (snapshot, true) => snapshot.finish(present),
                (snapshot, false) => match snapshot.finish(present) {
                    Ok(reading) => Ok(cut_off(reading)),
                    Err(_) => Err(vec![pickle::broken()]),
                },
            },
            Kind::Unknown(_) => Err(vec![Issue::error("", reading::nothing())]),
        }
    }

    fn open(&mut self, head: &[u8]) -> Result<(), Issue> {
        self.kind = recognise(head)?;
        self.take(head)
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Issue> {
        let is_json = !matches!(self.kind, Kind::Text(_));
        if let Some(issue) = too_large(self.taken, is_json) {
            return Err(issue);
        }
        match &mut self.kind {
            Kind::Text(log) => log.push(bytes),
            Kind::Trace(scanner, trace) => {
                scanner.push(bytes, |scanner, key, event| trace.take(scanner, key, event));
                return trace.overflow().map_or(Ok(()), Err);
            }
            Kind::Snapshot(scanner, snapshot) => {
                scanner.push(bytes, |scanner, key, event| snapshot.take(scanner, key, event));
            }
            Kind::Pickle(pickle) => return pickle.push(bytes),
            Kind::Unknown(_) => {}
        }
        Ok(())
    }
}

/// The reading of a file that ends in the middle.
fn cut_off(mut reading: Reading) -> Reading {
    reading.notes.push(t!("the file ends in the middle: what stands before is read"));
    reading
}

/// Recognises a file by its first bytes.
fn recognise(head: &[u8]) -> Result<Kind, Issue> {
    let refuse = |message: Message| Err(Issue::error("", message));
    match head {
        [b'P', b'K', 3, 4, ..] if !holds(head, b"data.pkl") => {
            return refuse(t!("compressed: unpack it first"));
        }
        // Protocols 2 to 5.
        [0x80, 2..=5, ..] => return Ok(Kind::Pickle(Box::default())),
        // A file of torch.save is a zip of one.
        [b'P', b'K', 3, 4, ..] => {
            return refuse(t!(
                "a pickle, which can run code when it is opened: convert it where you made it, {command}",
                command = shardscope_core::message::verbatim(PICKLE)
            ));
        }
        // gzip, zstd, xz, bzip2.
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0xfd, b'7', b'z', ..] | [b'B', b'Z', b'h', ..] => {
            return refuse(t!("compressed: unpack it first"));
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            return refuse(t!("UTF-16: save it as UTF-8"));
        }
        _ => {}
    }
    if head.contains(&0) {
        return refuse(t!("not text: it holds bytes that no log has"));
    }
    let text = String::from_utf8_lossy(head);
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if start.starts_with('{') || start.starts_with('[') {
        if ["\"segments\"", "\"device_traces\""].iter().any(|key| text.contains(key)) {
            return Ok(Kind::Snapshot(Scanner::default(), Box::default()));
        }
        let signs = ["\"traceEvents\"", "\"schemaVersion\"", "\"deviceProperties\"", "\"ph\""];
        if signs.iter().any(|key| text.contains(key)) {
            return Ok(Kind::Trace(Scanner::default(), Box::default()));
        }
    }
    Ok(Kind::Text(Box::default()))
}

fn holds(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|part| part == word)
}

/// Command that turns a snapshot into JSON.
const PICKLE: &str = "python -c \"import \
    pickle,json,sys;json.dump(pickle.load(open(sys.argv[1],'rb')),sys.stdout,default=str)\" snap.pickle > snap.json";

/// Reads a whole text at once.
///
/// # Errors
/// As [`LogReader::push`] and [`LogReader::finish`].
pub fn read(text: &str, present: &Run) -> Result<Reading, Vec<Issue>> {
    let mut reader = LogReader::default();
    reader.push(text.as_bytes()).map_err(|issue| vec![issue])?;
    reader.finish(present)
}
