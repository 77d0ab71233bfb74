//! Requests of the page about a file, a piece at a time, and their replies, as data in the language of the page.

use super::{LogReader, Reading, Steps};
use crate::core::calibrate::Observation;
use crate::core::issue::Issue;
use crate::core::message::{Catalogue, Message};
use crate::io::link;
use serde::{Deserialize, Serialize};

/// What a piece of a file is to the whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// The file begins with it.
    pub first: bool,
    /// The file ends with it.
    pub last: Option<Wanted>,
}

/// How the answer is wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    /// The link of the Run that fills in what the file leaves out.
    pub link: String,
    /// Texts of the page's language.
    pub catalogue: Catalogue,
}

/// What becomes of a piece.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// It is taken: the next one is awaited.
    More,
    /// Nothing more has to be read: the final reply names the reason.
    Enough,
    /// The file is understood.
    Understood(Box<Understood>),
    /// It is not, and why.
    Refused(Vec<String>),
}

/// A [`Reading`] in the language of the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Understood {
    /// What wrote the file.
    pub program: String,
    /// The run: the file's own where it states one, else the one at hand.
    pub link: String,
    /// Its step.
    pub step: Option<Steps>,
    /// What is to be kept of it; none where nothing was measured.
    pub observation: Option<Observation>,
    /// Figure and how it was read.
    pub measured: Vec<(String, String)>,
    /// Setting and how it was read.
    pub used: Vec<(String, String)>,
    /// What it leaves out, and what is taken instead.
    pub assumed: Vec<String>,
    /// What does not agree, or cannot be used.
    pub notes: Vec<String>,
}

/// The file that is read, or why it cannot be.
pub(crate) type Open = Option<Result<LogReader, Issue>>;

impl Piece {
    /// Takes `bytes` for the file that is `open`.
    #[must_use]
    pub fn take(&self, bytes: &[u8], open: &mut Open) -> Answer {
        if self.first {
            *open = Some(Ok(LogReader::default()));
        }
        let fault = match open {
            Some(Ok(reader)) => reader.push(bytes).err(),
            _ => None,
        };
        if let Some(fault) = fault {
            *open = Some(Err(fault));
        }
        match (&self.last, &open) {
            (None, Some(Ok(_))) => Answer::More,
            (None, _) => Answer::Enough,
            (Some(wanted), _) => wanted.answer(open.take()),
        }
    }
}

impl Wanted {
    fn answer(&self, open: Open) -> Answer {
        let shown = |message: &Message| message.translated(&self.catalogue);
        let present = link::decode(&self.link).run;
        let read = match open {
            Some(Ok(reader)) => reader.finish(&present),
            Some(Err(issue)) => Err(vec![issue]),
            None => Err(Vec::new()),
        };
        match read {
            Ok(reading) => Answer::Understood(Box::new(Understood::of(&reading, shown))),
            Err(issues) => {
                let all = issues.iter().map(|issue| shown(&issue.message));
                Answer::Refused(all.collect())
            }
        }
    }
}

impl Understood {
    fn of(reading: &Reading, shown: impl Fn(&Message) -> String) -> Self {
        let all = |messages: &[Message]| messages.iter().map(&shown).collect();
        let pairs = |all: &[(Message, Message)]| {
            let shown = all.iter().map(|(entry, how)| (shown(entry), shown(how)));
            shown.collect()
        };
        Self {
            program: shown(&reading.program),
            link: link::encode(&reading.run),
            step: reading.step,
            observation: reading.observation(""),
            measured: pairs(&reading.measured),
            used: pairs(&reading.used),
            assumed: all(&reading.assumed),
            notes: all(&reading.notes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `text` in pieces of `size` bytes.
    fn in_pieces(text: &[u8], size: usize) -> Answer {
        let mut open = None;
        let count = text.len().div_ceil(size);
        for (at, bytes) in text.chunks(size).enumerate() {
            let piece = Piece { first: at == 0, last: (at + 1 == count).then(Wanted::default) };
            match piece.take(bytes, &mut open) {
                Answer::More => {}
                Answer::Enough => {
                    let end = Piece { first: false, last: Some(Wanted::default()) };
                    return end.take(&[], &mut open);
                }
                answer => return answer,
            }
        }
        Answer::More
    }

    #[test]
    fn a_file_in_pieces_means_what_it_means_as_a_whole() {
        let line = |step: u64| {
            let ms = 6000 + step % 7;
            format!(
                " iteration {step}/ 500 | consumed samples: {} | elapsed time per iteration (ms): {ms}.5 | global batch size: 64 |",
                step * 64
            )
        };
        let log = (1..400).map(line).collect::<Vec<_>>().join("\n");
        let whole = in_pieces(log.as_bytes(), log.len());
        let Answer::Understood(of) = &whole else { panic!("{whole:?}") };
        let step = of.observation.as_ref().and_then(|one| one.step_s);
        assert_eq!(step, Some(6.0035), "{of:?}");
        for size in [1, 7, 4096, 5000] {
            assert_eq!(in_pieces(log.as_bytes(), size), whole, "{size}");
        }
    }

    #[test]
    fn what_cannot_be_read_ends_early_and_says_why_at_the_end() {
        let mut pickle = vec![0x80, 4];
        pickle.resize(20_000, b'x');
        for size in [5000, 20_000] {
            let Answer::Refused(why) = in_pieces(&pickle, size) else { panic!("{size}") };
            assert!(why[0].contains("json.dump"), "{why:?}");
        }
        let nothing = Piece::default().take(b"text", &mut None);
        assert_eq!(nothing, Answer::Enough);
    }
}
