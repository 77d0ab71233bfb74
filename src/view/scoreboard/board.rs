//! Questions and rows of the scoreboard, and the sign of a verdict.

use crate::look::Look;
use crate::prelude::*;
use crate::words::marked;
use shardscope_core::scoreboard::{About, Question, Score};

/// A row of the table.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Its file, without the end; links hold it.
    pub id: String,
    /// The tool that predicts.
    pub about: About,
    pub score: Score,
}

/// Identity of the row of a file that was dropped on the page.
pub const DROPPED: &str = "dropped";

#[derive(Clone, Debug, Default)]
pub struct Board {
    pub questions: Vec<Question>,
    /// The rows, this calculator's first.
    pub tools: Vec<Tool>,
}

impl Board {
    /// The row that `look` names, the first where there is none of the name.
    pub fn tool(&self, look: &Look) -> Option<&Tool> {
        let named = self.tools.iter().find(|tool| tool.id == look.tool);
        named.or(self.tools.first())
    }
}

/// A verdict with its sign.
pub(super) fn sign(verdict: Verdict) -> Node {
    let (class, words) = marked(verdict);
    leaf("b", class, words)
}
