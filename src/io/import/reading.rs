//! Requests of the page to the importer's module and their replies, as data in the language of the page.

use super::read;
use crate::core::issue::Issue;
use crate::core::message::{Catalogue, Message};
use crate::io::link;
use serde::{Deserialize, Serialize};

/// A text, and over which Run it is read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// What was typed, pasted, dropped.
    pub text: String,
    /// The link of the Run that says the rest.
    pub link: String,
    /// Texts of the page's language.
    pub catalogue: Catalogue,
}

/// What a text means, or why it cannot be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reading {
    /// It is read.
    Meaning {
        /// What it was recognised as.
        format: String,
        /// The link of the Run.
        link: String,
        /// Entry and what it says.
        used: Vec<(String, String)>,
        /// What the text leaves out, and what is taken instead.
        assumed: Vec<String>,
        /// Entries that say nothing of a Run.
        ignored: Vec<String>,
    },
    /// What is wrong with it.
    Refused(Vec<String>),
}

impl Reading {
    /// The answer to `question`.
    #[must_use]
    pub fn of(question: &Question) -> Self {
        let shown = |message: &Message| message.translated(&question.catalogue);
        let all = |messages: Vec<Message>| messages.iter().map(shown).collect();
        match read(&question.text, &link::decode(&question.link).run) {
            Ok(meaning) => Self::Meaning {
                format: shown(&meaning.format),
                link: link::encode(&meaning.run),
                used: meaning.used.into_iter().map(|(entry, what)| (entry, shown(&what))).collect(),
                assumed: all(meaning.assumed),
                ignored: all(meaning.ignored),
            },
            Err(issues) => {
                let message = |issue: &Issue| shown(&issue.message);
                Self::Refused(issues.iter().map(message).collect())
            }
        }
    }
}
