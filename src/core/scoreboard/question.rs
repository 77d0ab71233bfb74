//! Questions: published runs with all that their source says of them but the answer.

use crate::accuracy::{Evidence, EvidenceSource, MeasuredQuantity, Measurement, TUNED};
use crate::field::Value;
use crate::run::presets::{MLPERF_RUNS, PublishedRun};
use crate::run::registry::{BASED, FIELDS, Field};
use crate::run::{Run, RunLength, Scenario};
use crate::statics::named;
use crate::time::Products;
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the format.
pub const VERSION: u32 = 1;

named! {
    /// A column of the table: what of a run is predicted, and of which runs.
    #[derive(Default, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Column: name {
        /// Steps of dense models in 16 bits and more.
        #[default]
        Dense = "Dense bf16",
        /// Steps of dense models in fp8 and fp4.
        Low = "fp8",
        /// Steps of models with routed experts.
        Experts = "Mixture of experts",
        Tuned = "Fine-tuning",
        Peaks = "Memory peaks",
    }
}

impl Column {
    fn of(row: &Evidence) -> Option<Self> {
        let scenario = Scenario::new(&row.run).ok()?;
        Some(if row.source().file == TUNED || scenario.adapter.is_some() {
            Self::Tuned
        } else if scenario.model.moe.is_some() {
            Self::Experts
        } else if Products::of(&scenario) == Products::Plain {
            Self::Dense
        } else {
            Self::Low
        })
    }
}

/// A published run with its answers.
#[derive(Clone, Debug)]
pub struct Question {
    /// Its line in the tables.
    pub id: String,
    /// Its name in the source.
    pub name: String,
    pub source: &'static EvidenceSource,
    /// The document that printed it.
    pub origin: String,
    pub run: Run,
    /// The column of its step.
    pub column: Column,
    /// Seconds of a step, measured.
    pub step_s: Option<f64>,
    /// The measured peak, GiB, and what it is the peak of.
    pub peak_gib: Option<(MeasuredQuantity, f64)>,
    /// True if it ran out of memory; none where its source says nothing of memory, nor what was done to make it fit.
    pub ran_out: Option<bool>,
}

impl Question {
    /// True of the runs whose outcomes set the rule of this program's verdict on memory.
    pub fn sets_the_rule(&self) -> bool {
        self.source.quantity == MeasuredQuantity::FujiiTflops
    }

    /// The run to open: with the length that its log has, where it is one of MLPerf.
    pub fn opened(&self) -> Run {
        MLPERF_RUNS.iter().find(|known| known.id == self.id).map_or_else(|| self.run.clone(), PublishedRun::run)
    }
}

/// The questions that `rows` answer, in their order: one for each line of the tables.
pub fn questions(rows: &[Evidence]) -> Vec<Question> {
    let mut questions: Vec<Question> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    // Memory between steps is no peak, and says of no run that it fits.
    for row in rows.iter().filter(|row| row.source().quantity != MeasuredQuantity::Steady) {
        let at = if let Some(at) = places.get(row.id.as_str()) {
            *at
        } else {
            let Some(column) = Column::of(row) else { continue };
            places.insert(&row.id, questions.len());
            questions.push(Question {
                id: row.id.clone(),
                name: row.label.clone(),
                source: row.source(),
                origin: row.origin.clone(),
                run: row.run.clone(),
                column,
                step_s: None,
                peak_gib: None,
                ran_out: None,
            });
            questions.len() - 1
        };
        let question = &mut questions[at];
        match row.measured {
            Measurement::Step(seconds) => {
                question.step_s = Some(seconds);
                let is_outcome = row.source().quantity == MeasuredQuantity::FujiiTflops;
                question.ran_out = question.ran_out.or(is_outcome.then_some(false));
            }
            Measurement::Memory(gib) => {
                question.peak_gib = question.peak_gib.or(Some((row.source().quantity, gib)));
                question.ran_out = question.ran_out.or(Some(false));
            }
            Measurement::RanOut => question.ran_out = Some(true),
        }
    }
    questions
}

/// Settings that are ours alone: constants of hosts that were fitted, shares of overlap, what changes no step.
const OURS: [&str; 8] = [
    "loader_ns",
    "loader_stage_s",
    "overlap.",
    "profile.",
    "stack.host_us_per_layer",
    "memory_method",
    "attention_flops",
    "model.arguments",
];

impl Question {
    /// The document that printed it, as far as its line says, else its table.
    pub fn document(&self) -> &str {
        if self.origin.is_empty() { self.source.name } else { &self.origin }
    }

    /// The memory that it is a peak of, in words.
    pub fn peak_is(&self) -> Option<&'static str> {
        Some(match self.peak_gib?.0 {
            MeasuredQuantity::AllocatedLast => "allocated, last pipeline rank",
            MeasuredQuantity::Reserved => "reserved, fullest rank",
            _ => "allocated, fullest rank",
        })
    }

    /// The question as an object: the run with everything that follows from its presets, and no answer.
    pub fn to_value(&self) -> Value {
        let text = |text: &str| Value::Text(text.to_owned());
        let asks = [
            ("step_s", self.step_s.is_some()),
            ("peak_gib", self.peak_gib.is_some()),
            ("verdict", self.ran_out.is_some()),
        ];
        let asks = asks.iter().filter(|(_, is_asked)| *is_asked).map(|(name, _)| text(name)).collect();
        let mut pairs = vec![
            ("v".to_owned(), Value::Number(f64::from(VERSION))),
            ("id".to_owned(), text(&self.id)),
            ("asks".to_owned(), Value::List(asks)),
            ("class".to_owned(), text(self.column.name())),
            ("name".to_owned(), text(&self.name)),
            ("source".to_owned(), text(self.document())),
        ];
        pairs.extend(self.peak_is().map(|words| ("peak_is".to_owned(), text(words))));
        if let Ok(scenario) = Scenario::new(&self.run) {
            let elements = scenario.model.elements();
            let derived = [
                ("derived.parameters", elements.total()),
                ("derived.active_parameters", elements.active()),
                ("derived.dp", scenario.layout.dp),
                ("derived.microbatches", scenario.layout.microbatches),
            ];
            pairs.extend(derived.map(|(key, count)| (key.to_owned(), Value::Number(count as f64))));
        }
        pairs.push(("run".to_owned(), stated(&self.run)));
        Value::nested(pairs)
    }
}

/// The key of `field` in a question: that of a preset is `base`, beside the keys of its parts.
fn place(field: &Field) -> String {
    if BASED.contains(&field.key) { format!("{}.base", field.key) } else { field.key.to_owned() }
}

/// True for a setting that is this calculator's alone.
pub fn is_ours(key: &str) -> bool {
    OURS.iter().any(|ours| key.starts_with(ours))
}

/// The run as an object: what a person would state, with the parts of its presets (`gated_ffn: false` among them), and
/// everything else without which the object would be read as another run.
fn stated(run: &Run) -> Value {
    let run = Run { length: RunLength::default(), ..run.resolved() };
    let is_said = |field: &Field| {
        let value = field.get(&run);
        let is_part = field.key.contains('.');
        // A tool that knows no presets cannot tell what a network lacks unless it is said.
        let is_nothing = value == Value::Number(0.0) || value == Value::Bool(false) && !field.key.starts_with("model.");
        value != Value::Null && (field.is_changed(&run) || !is_part && !field.advanced) && !(is_part && is_nothing)
    };
    let asked = || FIELDS.iter().filter(|field| !is_ours(field.key));
    let object = |said: &[&Field]| Value::nested(said.iter().map(|field| (place(field), field.get(&run))).collect());
    let mut said: Vec<&Field> = asked().filter(|field| is_said(field)).collect();
    if let Ok(read) = Run::from_value(&object(&said)) {
        let read = read.resolved();
        said = asked()
            .filter(|field| said.iter().any(|other| other.key == field.key) || field.get(&read) != field.get(&run))
            .collect();
    }
    object(&said)
}
