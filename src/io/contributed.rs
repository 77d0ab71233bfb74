//! A run that somebody measured, as a line of the tables of published runs: everything about it is checked before it is
//! written (`tools/accuracy add`).

use crate::link;
use shardscope_core::accuracy::{SOURCES, origin::origin_of, read};
use shardscope_core::issue::Issue;
use shardscope_core::message::verbatim;
use shardscope_core::report::{Evaluation, evaluate};
use shardscope_core::run::Run;
use shardscope_core::run::registry::field;
use shardscope_core::t;

/// The table that runs are added to, below `public/data`.
pub const TABLE: &str = "throughput_3.csv";
/// Dates and publishers of documents, there too.
pub const ORIGINS: &str = "origins.csv";

/// Factor between prediction and measurement beyond which the settings are doubted: no published run of the tables is
/// further off.
const DOUBTFUL: f64 = 3.0;
/// Years that a document may be of: software of before this is not modelled.
const YEARS: [f64; 2] = [2019.0, 2100.0];

/// A run that a visitor contributes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contribution {
    /// Title, table or page, and where everybody can read it.
    pub document: String,
    /// When it was published, in years: 2026.5 is July 2026.
    pub date: f64,
    pub publisher: String,
    /// The run's settings: a link of the page, or what is behind its `#`.
    pub link: String,
    /// Software with its release, and what the document leaves open.
    pub note: String,
    /// Seconds of a step, as printed.
    pub step_s: Option<f64>,
    /// Tokens a second and GPU, as printed.
    pub tokens_per_s_per_gpu: Option<f64>,
    /// A prediction that is far off is no reason to doubt it.
    pub anyway: bool,
}

/// A run that may be added.
#[derive(Clone, Debug, PartialEq)]
pub struct AddedRun {
    /// The line of [`TABLE`].
    pub line: String,
    /// The line of [`ORIGINS`]; none where a line there has the document already.
    pub origin: Option<String>,
    /// The source of `src/core/accuracy/sources.rs` that reads it; none: it has to get one.
    pub source: Option<&'static str>,
    /// Seconds of a step: measured, predicted, and the ends of the range.
    pub measured_s: f64,
    pub predicted_s: f64,
    pub range_s: [f64; 2],
}

impl Contribution {
    /// Checks it against the tables as they are: `table` is [`TABLE`]'s text.
    ///
    /// # Errors
    /// The entries that are missing or impossible, by name.
    pub fn check(&self, table: &str) -> Result<AddedRun, Vec<Issue>> {
        let mut issues = self.stated();
        let decoded = link::decode(&self.link);
        // The command's option is the link; the message says which of its keys it is.
        let named = |issue: Issue| {
            let field = verbatim(issue.field);
            Issue::error("link", t!("{field}: {message}", field, message = issue.message))
        };
        issues.extend(decoded.notices.into_iter().map(named));
        let run = decoded.run;
        if run.profile != Run::default().profile || run.measured_step_s.is_some() {
            let message = t!("the link holds a fit or a measured step: share the run without them");
            issues.push(Issue::error("link", message));
        }
        let evaluation = match evaluate(&run) {
            Ok(evaluation) => evaluation,
            Err(wrong) => {
                issues.extend(wrong.into_iter().map(named));
                return Err(issues);
            }
        };
        let Some(measured_s) = self.measured_s(&run, &mut issues) else {
            return Err(issues);
        };
        let step = &evaluation.report.step;
        let (predicted_s, range_s) = (step.time_s.0, [step.low_s.0, step.high_s.0]);
        let off = (predicted_s / measured_s).max(measured_s / predicted_s);
        if off > DOUBTFUL && !self.anyway {
            let message = t!(
                "predicted {predicted} s, measured {measured} s: look at the settings and the unit; --anyway adds it",
                predicted = verbatim(format!("{predicted_s:.3}")),
                measured = verbatim(format!("{measured_s:.3}"))
            );
            issues.push(Issue::error("link", message));
        }
        let line = self.line(&evaluation, table);
        let text = format!("{}\n{line}\n", table.trim_end());
        let (before, after) = (read(TABLE, table).0, read(TABLE, &text).0);
        let is_there = |run: &Run| before.iter().any(|row| row.run == *run && row.origin == self.document);
        if is_there(&run) || table.lines().any(|known| known == line) {
            issues.push(Issue::error("link", t!("the table has this run of this document already")));
        }
        if !issues.is_empty() {
            return Err(issues);
        }
        let added = after.iter().find(|row| before.iter().all(|known| known.id != row.id));
        let origin = origin_of(TABLE, &self.document).is_none().then(|| {
            let cells = [TABLE, &self.document, &format!("{}", self.date), &self.publisher, "stated by who added it"];
            cells.map(cell).join(",")
        });
        let source = added.map(|row| SOURCES[row.source].name);
        Ok(AddedRun { line, origin, source, measured_s, predicted_s, range_s })
    }

    /// Seconds of a measured step, given or by the rate of tokens; none where neither is given.
    fn measured_s(&self, run: &Run, issues: &mut Vec<Issue>) -> Option<f64> {
        let tokens = run.global_batch as f64 * run.seq_len as f64;
        let by_rate = self.tokens_per_s_per_gpu.map(|rate| tokens / rate / run.gpus as f64);
        let measured = self.step_s.or(by_rate).filter(|seconds| seconds.is_finite() && *seconds > 0.0);
        if measured.is_none() {
            issues.push(Issue::error("step_s", t!("give the seconds of a step, or the tokens a second and GPU")));
            return None;
        }
        if let (Some(seconds), Some(rate)) = (self.step_s, by_rate)
            && !(0.95..=1.05).contains(&(seconds / rate))
        {
            let message = t!("the seconds and the tokens a second are not those of one step of this link");
            issues.push(Issue::error("step_s", message));
        }
        measured
    }

    /// Issues for the texts that are missing.
    fn stated(&self) -> Vec<Issue> {
        let mut issues = Vec::new();
        for (name, text) in
            [("document", &self.document), ("publisher", &self.publisher), ("link", &self.link), ("note", &self.note)]
        {
            if text.trim().is_empty() {
                issues.push(Issue::error(name, t!("is missing")));
            }
            if text.contains(['\n', '\r', '"']) {
                issues.push(Issue::error(name, t!("may have no quotes and no ends of lines: it is a cell of a table")));
            }
        }
        if !(YEARS[0]..=YEARS[1]).contains(&self.date) {
            issues.push(Issue::error("date", t!("is the year of the document, with its month as a fraction: 2026.5")));
        }
        issues
    }

    /// The line of the table: what a reader looks for in its columns, and the settings in the last.
    fn line(&self, evaluation: &Evaluation, table: &str) -> String {
        let (run, layout) = (&evaluation.scenario.run, &evaluation.scenario.layout);
        let settings: Vec<String> = run.changed_texts().iter().map(|(key, value)| format!("{key}={value}")).collect();
        let text = |key: &str| field(key).and_then(|field| field.text(run)).unwrap_or_default();
        let figure = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        let known = [
            ("source", self.document.clone()),
            ("year", self.date.floor().to_string()),
            ("model", run.model.title().to_string()),
            ("seq", run.seq_len.to_string()),
            ("gbs", run.global_batch.to_string()),
            ("mbs", run.micro_batch.to_string()),
            ("gpus", run.gpus.to_string()),
            ("gpu_type", run.gpu.title().to_string()),
            ("dp", layout.dp.to_string()),
            ("tp", run.tp.to_string()),
            ("pp", run.pp.to_string()),
            ("vpp", evaluation.scenario.chunks.to_string()),
            ("cp", run.cp.to_string()),
            ("ep", run.ep.to_string()),
            ("zero", run.zero.to_string()),
            ("recompute", text("recompute")),
            ("precision", text("precision")),
            ("tokens_per_s_per_gpu", figure(self.tokens_per_s_per_gpu)),
            ("step_time_s", figure(self.step_s)),
            ("notes", self.note.clone()),
            ("run", settings.join("&")),
        ];
        let head = table.lines().find(|line| !line.starts_with('#')).unwrap_or_default();
        let of = |column: &str| {
            let found = known.iter().find(|(name, _)| *name == column);
            found.map(|(_, value)| cell(value)).unwrap_or_default()
        };
        head.split(',').map(of).collect::<Vec<_>>().join(",")
    }
}

/// A cell of a table: in quotes where it holds a comma.
fn cell(text: &str) -> String {
    if text.contains(',') { format!("\"{text}\"") } else { text.to_owned() }
}
