//! The row of a setting, and the setting of a struct: what it holds and how that is reached.

use super::choice::Choice;
use super::value::Value;
use std::ops::Deref;

/// The section of the form that shows a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Group {
    /// The shapes of what is trained.
    Model,
    /// The machines.
    Cluster,
    /// The division of the work.
    Parallelism,
    /// Batch, precision, recomputation.
    #[default]
    Training,
    /// The methods by which memory and time are computed.
    Method,
}

/// The values that the stepper beside a field goes through.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Steps {
    /// The next larger or smaller value that gives a valid Run.
    #[default]
    Valid,
    /// Like [`Valid`](Self::Valid), but the roundest within twice or half: 64, 128, 256.
    Round,
    /// Twice or half.
    Double,
    /// A fixed increment.
    By(f64),
}

/// Type of the value of a field, with its limits.
#[derive(Clone, Copy, Debug)]
pub enum Slot {
    /// A whole number.
    Count {
        /// Smallest and largest that mean anything.
        range: (u64, u64),
        /// Values of the stepper.
        steps: Steps,
    },
    Number {
        /// Smallest and largest that mean anything.
        range: (f64, f64),
        /// Values of the stepper.
        steps: Steps,
    },
    Toggle,
    Choice {
        options: fn() -> Vec<Choice>,
    },
    Counts,
    /// A list of `length` numbers.
    Numbers {
        /// Numbers in the list.
        length: usize,
        /// Smallest and largest that mean anything.
        range: (f64, f64),
    },
    Set {
        options: fn() -> Vec<Choice>,
    },
    Text,
}

/// Everything of a setting but its key and value.
#[derive(Default)]
pub struct Row {
    pub group: Group,
    /// Its name in the form.
    pub label: &'static str,
    /// Its abbreviation, if it has one: "TP".
    pub symbol: &'static str,
    pub unit: &'static str,
    /// Its description, one line.
    pub hint: &'static str,
    /// Shown on request: the rarely used and the parts of a preset.
    pub advanced: bool,
    pub(super) count: (u64, u64),
    pub(super) number: (f64, f64),
    pub(super) length: usize,
    pub(super) steps: Steps,
}

pub(crate) fn model(label: &'static str) -> Row {
    Row { group: Group::Model, label, ..Row::default() }
}
pub(crate) fn cluster(label: &'static str) -> Row {
    Row { group: Group::Cluster, label, ..Row::default() }
}
pub(crate) fn parallelism(label: &'static str) -> Row {
    Row { group: Group::Parallelism, label, ..Row::default() }
}
pub(crate) fn training(label: &'static str) -> Row {
    Row { group: Group::Training, label, ..Row::default() }
}
pub(crate) fn method(label: &'static str) -> Row {
    Row { group: Group::Method, label, ..Row::default() }
}

impl Row {
    pub(crate) fn symbol(self, symbol: &'static str) -> Self {
        Self { symbol, ..self }
    }
    pub(crate) fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }
    pub(crate) fn hint(self, hint: &'static str) -> Self {
        Self { hint: hint.trim(), ..self }
    }
    pub(crate) fn advanced(self) -> Self {
        Self { advanced: true, ..self }
    }
    /// A whole number from `low` to `high`.
    pub(crate) fn count(self, low: u64, high: u64, steps: Steps) -> Self {
        Self { count: (low, high), steps, ..self }
    }
    /// A number from `low` to `high`, stepped by `step`.
    pub(crate) fn number(self, low: f64, high: f64, step: f64) -> Self {
        Self { number: (low, high), steps: Steps::By(step), ..self }
    }
    /// `length` numbers from `low` to `high`.
    pub(crate) fn numbers(self, length: usize, low: f64, high: f64) -> Self {
        Self { number: (low, high), length, ..self }
    }
}

type Get<T> = Box<dyn Fn(&T) -> Value + Send + Sync>;
type Put<T> = Box<dyn Fn(&mut T, &Value) -> bool + Send + Sync>;

/// One setting of a `T`. It reads as its [`Row`].
pub struct FieldOf<T> {
    /// The dotted key in links and JSON; never changes.
    pub key: &'static str,
    /// Type and limits of its value.
    pub slot: Slot,
    row: Row,
    get: Get<T>,
    put: Put<T>,
}

impl<T> Deref for FieldOf<T> {
    type Target = Row;

    fn deref(&self) -> &Row {
        &self.row
    }
}

impl<T: 'static> FieldOf<T> {
    /// A setting that `get` reads and `put` writes; `put` is false for an id that there is not.
    pub(crate) fn new(
        key: &'static str,
        row: Row,
        slot: Slot,
        get: fn(&T) -> Value,
        put: fn(&mut T, &Value) -> bool,
    ) -> Self {
        Self { key, slot, row, get: Box::new(get), put: Box::new(put) }
    }

    /// The setting as one of the struct that holds the `T`.
    pub(super) fn within<Whole: 'static>(
        self,
        part: fn(&Whole) -> &T,
        part_mut: fn(&mut Whole) -> &mut T,
    ) -> FieldOf<Whole> {
        let Self { key, slot, row, get, put } = self;
        FieldOf {
            key,
            slot,
            row,
            get: Box::new(move |whole| get(part(whole))),
            put: Box::new(move |whole, value| put(part_mut(whole), value)),
        }
    }

    /// The value in `run`; [`Value::Null`] where an optional field is unset.
    pub fn get(&self, run: &T) -> Value {
        (self.get)(run)
    }

    /// Writes a value of the right type and range.
    pub(super) fn put(&self, run: &mut T, value: &Value) -> bool {
        (self.put)(run, value)
    }

    /// Unsets an optional value, whatever the default.
    pub fn unset(&self, run: &mut T) {
        self.put(run, &Value::Null);
    }
}

impl<T: Default + 'static> FieldOf<T> {
    /// A value in `run` other than the default.
    pub fn is_changed(&self, run: &T) -> bool {
        self.get(run) != self.get(&T::default())
    }
}
