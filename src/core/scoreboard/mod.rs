//! Calculators held to published runs: questions without answers, predictions of any tool, scores.
//!
//! A question is a line of the tables of [`crate::accuracy`]; `docs/scoreboard.md` has the format. What a tool leaves
//! out counts as not covered; what it was fitted to is left out of its row.

mod ours;
mod prediction;
mod question;
mod score;

pub use ours::predictions;
pub use prediction::{About, AskedQuantity, MOST, Predicted};
pub use question::{Column, Question, VERSION, is_ours, questions};
pub use score::{ColumnScore, Judged, Miss, Outcomes, OutcomesByUse, Score};

/// Rows of the table, in its order: files of predictions in `data/scoreboard/` beside the page, this calculator's
/// first.
pub const ROWS: [&str; 7] = [
    "shardscope.jsonl",
    "llm-cluster-simulator.jsonl",
    "simumax.jsonl",
    "megatron.jsonl",
    "deepspeed.jsonl",
    "cookbook.jsonl",
    "rule-of-thumb.jsonl",
];
