//! What a field is: its key, where the form shows it, what it holds and how that is reached in a [`Run`].

use super::Run;
use super::choices::Choice;
use super::value::Value;

/// The section of the form that shows a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// What is trained.
    Model,
    /// On what.
    Cluster,
    /// How it is divided.
    Parallelism,
    /// Batch, precision, recomputation.
    Training,
    /// How memory and time are computed.
    Method,
}

/// The values that the stepper beside a field goes through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steps {
    /// The next larger or smaller value that gives a valid Run.
    Valid,
    /// Like [`Valid`](Self::Valid), but the roundest within twice or half: 64, 128, 256.
    Round,
    /// Twice or half.
    Double,
    /// A fixed increment.
    By(f64),
}

/// What a field holds and how it is reached in a [`Run`]. `get` gives none where an optional field is unset.
pub enum Slot {
    /// A whole number.
    Count {
        /// Smallest and largest that mean anything.
        range: (u64, u64),
        /// What the stepper does.
        steps: Steps,
        /// Reads it.
        get: fn(&Run) -> Option<u64>,
        /// Writes it.
        set: fn(&mut Run, Option<u64>),
    },
    /// A number.
    Number {
        /// Smallest and largest that mean anything.
        range: (f64, f64),
        /// What the stepper does.
        steps: Steps,
        /// Reads it.
        get: fn(&Run) -> Option<f64>,
        /// Writes it.
        set: fn(&mut Run, Option<f64>),
    },
    /// Yes or no.
    Toggle {
        /// Reads it.
        get: fn(&Run) -> Option<bool>,
        /// Writes it.
        set: fn(&mut Run, Option<bool>),
    },
    /// One of a list.
    Choice {
        /// The list.
        options: fn() -> Vec<Choice>,
        /// Reads the id.
        get: fn(&Run) -> Option<&'static str>,
        /// Writes by id; false where there is no such id.
        set: fn(&mut Run, Option<&str>) -> bool,
    },
    /// A list of whole numbers.
    Counts {
        /// Reads it.
        get: fn(&Run) -> Option<&Vec<u64>>,
        /// Writes it.
        set: fn(&mut Run, Option<Vec<u64>>),
    },
    /// A list of `length` numbers.
    Numbers {
        /// How many.
        length: usize,
        /// Smallest and largest that mean anything.
        range: (f64, f64),
        /// Reads it.
        get: fn(&Run) -> Option<&Vec<f64>>,
        /// Writes it.
        set: fn(&mut Run, Option<Vec<f64>>),
    },
    /// A list of ids.
    Set {
        /// What may be in it.
        options: fn() -> Vec<Choice>,
        /// Reads the ids.
        get: fn(&Run) -> Option<Vec<&'static str>>,
        /// Writes by ids; false where one is not known.
        set: fn(&mut Run, Option<&[&str]>) -> bool,
    },
    /// Free text.
    Text {
        /// Reads it.
        get: fn(&Run) -> Option<&str>,
        /// Writes it.
        set: fn(&mut Run, Option<String>),
    },
}

/// One setting.
pub struct Field {
    /// The dotted key in links and JSON; never changes.
    pub key: &'static str,
    /// Where the form shows it.
    pub group: Group,
    /// The field's own term.
    pub label: &'static str,
    /// Its abbreviation, if it has one: "TP".
    pub symbol: &'static str,
    /// Unit beside the input.
    pub unit: &'static str,
    /// Its description, one line.
    pub hint: &'static str,
    /// Shown only on request: the rarely used and the parts of a preset.
    pub advanced: bool,
    /// What it holds.
    pub slot: Slot,
}

impl Field {
    /// The value in `run`; [`Value::Null`] where an optional field is unset.
    #[must_use]
    pub fn get(&self, run: &Run) -> Value {
        let text = |id: &'static str| Value::Text(id.to_owned());
        match &self.slot {
            Slot::Count { get, .. } => get(run).map(Value::from),
            Slot::Number { get, .. } => get(run).map(Value::Number),
            Slot::Toggle { get, .. } => get(run).map(Value::Bool),
            Slot::Choice { get, .. } => get(run).map(text),
            Slot::Counts { get, .. } => {
                get(run).map(|list| Value::List(list.iter().map(|count| Value::from(*count)).collect()))
            }
            Slot::Numbers { get, .. } => {
                get(run).map(|list| Value::List(list.iter().copied().map(Value::Number).collect()))
            }
            Slot::Set { get, .. } => get(run).map(|ids| Value::List(ids.into_iter().map(text).collect())),
            Slot::Text { get, .. } => get(run).map(|order| Value::Text(order.to_owned())),
        }
        .unwrap_or_default()
    }

    /// Whether `run` differs from the default here.
    #[must_use]
    pub fn is_changed(&self, run: &Run) -> bool {
        self.get(run) != self.get(&Run::default())
    }
}
