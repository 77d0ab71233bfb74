//! Settings beside what a run left behind: a launch script or a model's file says which run the log or trace is of.

use crate::import;
use crate::logs::{Reading, SIZES};
use serde::{Deserialize, Serialize};
use shardscope_core::diagnose::{stated_settings, unlike};
use shardscope_core::issue::Issue;
use shardscope_core::message::{Message, verbatim};
use shardscope_core::run::Run;
use shardscope_core::run::registry::field;
use shardscope_core::t;

/// Bytes of a text that are kept for the import at most: launch scripts are far shorter.
const LONGEST: usize = 262_144;

/// A run as a file of settings states it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatedRun {
    /// Name of the format: "Megatron-LM's arguments".
    pub format: Message,
    pub run: Run,
    /// Values that the file leaves out, with those taken instead.
    pub assumed: Vec<Message>,
    /// Settings that it states, of those that a diagnosis may take to differ.
    pub known: Vec<String>,
}

/// The beginning of a text that may be settings, while it is short enough to be.
#[derive(Default)]
pub(super) struct SettingsText {
    bytes: Vec<u8>,
    is_longer: bool,
}

impl SettingsText {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.is_longer |= self.bytes.len() + bytes.len() > LONGEST;
        if self.is_longer {
            self.bytes = Vec::new();
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// The run that the text states; none of a text that is no settings. The rest is that of `present`.
    pub(super) fn stated(&self, present: &Run) -> Option<Result<StatedRun, Vec<Issue>>> {
        stated(self.text()?, present)
    }

    fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok().filter(|text| !self.is_longer && !text.trim().is_empty())
    }
}

fn stated(text: &str, present: &Run) -> Option<Result<StatedRun, Vec<Issue>>> {
    let read = import::is_known(text).then(|| import::read(text, present))?;
    Some(read.map(|read| {
        let other = import::read(text, &unlike(present));
        let mut known = other.map_or_else(|_| Vec::new(), |other| stated_settings(&read.run, &other.run));
        known.extend(read.stated_kernels());
        StatedRun { format: read.format, run: read.run, assumed: read.assumed, known }
    }))
}

/// True of a line that tells of a step by its number: `iteration 12/ 100`, `step: 12`.
fn tells_step(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    ["iteration", "step", "iter"].into_iter().any(|word| {
        line.match_indices(word).any(|(at, _)| {
            let behind = &line[at + word.len()..];
            let number = behind.trim_start_matches([' ', ':', '=', '[', '"', '\'']);
            number.len() < behind.len() && number.starts_with(|first: char| first.is_ascii_digit())
        })
    })
}

/// What stands before the first line of a step, and what stands behind the last one.
fn beside_steps(text: &str) -> [&str; 2] {
    let mut at = 0;
    let mut ends = None;
    for line in text.split_inclusive('\n') {
        if tells_step(line) {
            ends = Some((ends.map_or(at, |(first, _)| first), at + line.len()));
        }
        at += line.len();
    }
    ends.map_or([text, ""], |(first, last)| [&text[..first], &text[last..]])
}

/// The sizes in which a log is of another run than the settings beside it, if there are any: `log` is what it states.
/// What the settings leave out is as in `present`.
pub(super) fn disagreement(log: &[(String, String)], settings: &StatedRun, present: &Run) -> Option<Message> {
    let differs = |(key, value): &(String, String)| {
        let field = field(SIZES.into_iter().find(|size| size == key)?)?;
        let other = field.text(&settings.run)?;
        let is_as_here = field.text(present).as_ref() == Some(&other);
        let is_open = is_as_here && settings.known.iter().all(|known| known != key);
        (other != *value && !is_open).then(|| {
            let (label, value) = (field.label, verbatim(value.clone()));
            t!("{label} {value} and not {other}", label, value, other)
        })
    };
    let differing: Vec<Message> = log.iter().filter_map(differs).collect();
    (!differing.is_empty()).then(|| {
        t!(
            "Log and settings are not of one run: the log has {sizes}. The log's are taken.",
            sizes = Message::joined(", ", differing)
        )
    })
}

/// A log with a script in one text: the log's settings are those of the script, but where the log states its own.
pub(super) fn with_script(mut reading: Reading, text: &SettingsText, present: &Run) -> Reading {
    let tells_time = reading.step.is_some() || !reading.peaks.is_empty();
    if reading.stated.is_none() || !tells_time {
        return reading;
    }
    let mut parts = text.text().map(beside_steps).into_iter().flatten().filter(|part| !part.trim().is_empty());
    let mut refused = None;
    let found = parts.find_map(|part| match stated(part, present)? {
        Ok(stated) => Some(stated),
        Err(errors) => {
            refused = refused.take().or_else(|| errors.into_iter().next());
            None
        }
    });
    if let (None, Some(error)) = (&found, refused) {
        reading.assumed.push(t!("settings in the same text cannot be read: {why}", why = error.message));
    }
    if let Some(stated) = found {
        reading.notes.extend(reading.stated.as_ref().and_then(|log| disagreement(log, &stated, present)));
        let run = reading.run_on(&stated.run);
        reading = reading.without_guesses().of_run(&run);
        reading.stated = None;
        reading.known.extend(stated.known);
        reading.assumed.push(t!("its settings are those in the same text: {format}", format = stated.format));
        reading.assumed.extend(stated.assumed);
    }
    reading
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_steps_are_told_from_settings() {
        for line in ["iteration 12/ 100 | elapsed", "{'step': 4}", "[INFO] step: 12 loss: 3", "Iter [12/100]"] {
            assert!(tells_step(line), "{line}");
        }
        for line in ["--train-iters 500", "max_steps: 10", "--log-interval 1", "steps_per_epoch = 3"] {
            assert!(!tells_step(line), "{line}");
        }
        assert_eq!(beside_steps("a\nstep 1\nb\nstep 2\nc"), ["a\n", "c"]);
        assert_eq!(beside_steps("a"), ["a", ""]);
    }
}
