//! What a text is that was pasted onto the page, not into a field that takes it: what a run left behind, or settings.

use super::dialect::text::python::is_program;
use super::evidence::{self, EvidenceFile};
use super::import::is_known;
use shardscope_core::run::Run;

/// The view that takes a pasted text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastedKind {
    /// A message of an allocator, a log, a trace or a profiler's table: to diagnose.
    Evidence,
    /// A link, settings of a program or a model's file: to import.
    Settings,
}

/// Letters that the field which searches settings takes.
pub const SEARCH_LETTERS: usize = 99;

/// True where `text`, pasted into the field which searches settings, is words to search for. Several lines, more
/// letters than the field takes, an allocator's message, options, JSON and links are pasted as anywhere on the page.
pub fn is_search(text: &str) -> bool {
    let line = text.trim();
    let lower = line.to_ascii_lowercase();
    let others = ["tried to allocate", "outofmemoryerror", "#v=1", "://"];
    line.chars().count() <= SEARCH_LETTERS
        && !line.contains(['\n', '\r'])
        && !line.starts_with(['{', '['])
        && line.split_whitespace().filter(|word| word.starts_with("--")).count() < 2
        && !others.iter().any(|other| lower.contains(other))
}

/// The kind of `text`; none for a text that neither view understands.
///
/// A log states its settings too, and a launch script names what it logs. So what was measured decides first, then what
/// is set, then lines that say something of a run without a step.
pub fn pasted(text: &str) -> Option<PastedKind> {
    // A program and a notebook measure nothing; the import says what of them is read.
    if is_program(text) || text.contains("\"cell_type\"") && is_known(text) {
        return Some(PastedKind::Settings);
    }
    let read = evidence::read(text.as_bytes(), &Run::default());
    let measured = match &read {
        Ok(EvidenceFile::Log(reading, message, _)) => {
            message.is_some() || reading.step.is_some() || !reading.series.is_empty()
        }
        Ok(EvidenceFile::Hints(_) | EvidenceFile::Settings(_)) | Err(_) => false,
        Ok(_) => true,
    };
    if measured {
        Some(PastedKind::Evidence)
    } else if is_known(text) {
        Some(PastedKind::Settings)
    } else {
        read.is_ok().then_some(PastedKind::Evidence)
    }
}
