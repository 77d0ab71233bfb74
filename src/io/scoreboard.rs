//! Questions and predictions of the scoreboard as lines of JSON (`docs/scoreboard.md`).

use super::json::{MAX_BYTES, Text};
use serde::Serialize;
use shardscope_core::accuracy::record::RECORD;
use shardscope_core::accuracy::{BandCount, Evidence, FILES, read as rows_of};
use shardscope_core::issue::Issue;
use shardscope_core::memory::Verdict;
use shardscope_core::message::Message;
use shardscope_core::run::Value;
use shardscope_core::scoreboard::{self, About, ColumnScore, MOST, Outcomes, Predicted, Question, Score, VERSION};
use shardscope_core::t;
use std::collections::BTreeSet;

/// Notes on a file that are kept; a file of another kind has one for each of its lines.
const MAX_NOTES: usize = 20;

/// A file of predictions as it was read.
#[derive(Clone, Debug, Default)]
pub struct Predictions {
    /// Its first line, where that says who predicts.
    pub about: About,
    pub lines: Vec<Predicted>,
    /// Lines that were not understood, with their number.
    pub notes: Vec<Message>,
}

/// Reads a file of predictions; what is not understood becomes a note.
pub fn read(text: &str) -> Predictions {
    let mut file = Predictions::default();
    if text.len() > MAX_BYTES as usize {
        file.notes.push(t!("longer than {bytes} bytes: not read", bytes = MAX_BYTES.to_string()));
        return file;
    }
    let mut ids = BTreeSet::new();
    let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    for (at, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let number = at + 1;
        if let (true, Ok(about)) = (file.lines.is_empty(), serde_json::from_str::<About>(line)) {
            if about.scoreboard != VERSION {
                file.notes.push(t!("version {version} of the format is not read here", version = about.scoreboard));
            }
            file.about = about;
            continue;
        }
        let note = match serde_json::from_str::<Predicted>(line) {
            Err(error) => t!("line {number}: {error}", number, error = error.to_string()),
            Ok(predicted) => match predicted.fault() {
                Some(field) => t!(
                    "line {number}: {field} is not a number above 0 and at most {most}",
                    number,
                    field = field.to_owned(),
                    most = format!("{MOST:e}"),
                ),
                None if !ids.insert(predicted.id.clone()) => {
                    t!("line {number}: {id} again; the first line counts", number, id = predicted.id)
                }
                None => {
                    file.lines.push(predicted);
                    continue;
                }
            },
        };
        if file.notes.len() < MAX_NOTES {
            file.notes.push(note);
        }
    }
    file
}

/// Notes on predictions of runs that are not asked for.
pub fn unknown(questions: &[Question], predictions: &[Predicted]) -> Option<Message> {
    let asked: BTreeSet<&str> = questions.iter().map(|question| question.id.as_str()).collect();
    let mut others = predictions.iter().filter(|line| !asked.contains(line.id.as_str()));
    let first = others.next()?;
    let count = 1 + others.count();
    Some(t!("{count} lines answer no question, {id} first", count, id = first.id.clone()))
}

fn line<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

/// `runs.jsonl`: the questions, a line each.
pub fn questions_text(questions: &[Question]) -> String {
    questions.iter().map(|question| line(&question.to_value())).collect()
}

/// A file of predictions.
pub fn predictions_text(about: &About, predictions: &[Predicted]) -> String {
    line(about) + &predictions.iter().map(line).collect::<String>()
}

/// First line of this calculator's own predictions.
pub fn ours() -> About {
    About {
        scoreboard: VERSION,
        name: "Shardscope".to_owned(),
        kind: "this page".to_owned(),
        url: String::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        questions: String::new(),
        note: "steps from all settings of a row, by constants fitted to what was published before it".to_owned(),
    }
}

/// Answers of the verb.
#[derive(Serialize)]
#[serde(untagged)]
pub enum ScoreboardAnswer {
    Text(Text),
    Scored(Box<Scored>),
}

/// The row of a tool, as plain data.
#[derive(Serialize)]
pub struct Scored {
    errors: Vec<Issue>,
    /// Lines that were not understood.
    notes: Vec<Message>,
    about: About,
    columns: [ColumnScore; 5],
    outcomes: Outcomes,
    /// Runs by verdict, and those that ran out.
    bands: [(Verdict, usize, usize); 3],
}

/// Rows of the tables in a request, which are named as their files.
fn evidence(request: &Value) -> Result<Vec<Evidence>, Vec<Issue>> {
    let mut rows = Vec::new();
    for (file, _) in FILES {
        let Some(Value::Text(csv)) = request.get("tables").and_then(|tables| tables.get(file)) else {
            let message = t!("needs the text of {file}", file = *file);
            return Err(vec![Issue::error("tables", message)]);
        };
        rows.extend(rows_of(file, csv).0);
    }
    Ok(rows)
}

/// `{"tables": {...}, "ask": "questions"}` is answered by `runs.jsonl`, `"ask": "predictions"` by this calculator's,
/// `{"tables": {...}, "predictions": ...}` by the row of a tool, and `{"ask": "origin"}` by the errors of runs that
/// were predicted before they were known (`public/data/accuracy.csv`).
///
/// # Errors
/// Questions that the request lacks.
pub fn answer(request: &Value) -> Result<ScoreboardAnswer, Vec<Issue>> {
    request.entries(&["ask", "tables", "predictions"])?;
    let text = |text: String| ScoreboardAnswer::Text(text.into());
    if matches!(request.get("ask"), Some(Value::Text(ask)) if ask == "origin") {
        return Ok(text(RECORD.to_owned()));
    }
    let rows = evidence(request)?;
    let questions = scoreboard::questions(&rows);
    match (request.get("ask"), request.get("predictions")) {
        (Some(Value::Text(ask)), None) if ask == "questions" => Ok(text(questions_text(&questions))),
        (Some(Value::Text(ask)), None) if ask == "predictions" => {
            Ok(text(predictions_text(&ours(), &scoreboard::predictions(&rows))))
        }
        (None, Some(Value::Text(predictions))) => {
            let Predictions { about, lines, mut notes } = read(predictions);
            notes.extend(unknown(&questions, &lines));
            let Score { columns, outcomes, bands, .. } = Score::new(&questions, &lines);
            let bands = bands.map(|BandCount { verdict, runs, ran_out }| (verdict, runs, ran_out));
            Ok(ScoreboardAnswer::Scored(Box::new(Scored {
                errors: Vec::new(),
                notes,
                about,
                columns,
                outcomes,
                bands,
            })))
        }
        _ => Err(vec![Issue::error("ask", "needs questions, predictions, origin, or a file of predictions beside")]),
    }
}
