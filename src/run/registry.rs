//! What can be set, as data: one [`Field`] a setting, from which the link, JSON, the form, the hints and the tests come.
//!
//! This file is the mechanism; the rows are in `fields.rs`. Reading never panics and never guesses: a value of the
//! wrong type or out of range is refused with a message that says what would work.

use super::Run;
use super::choices::Choice;
pub use super::fields::FIELDS;
use super::value::Value;
use crate::issue::Issue;
use crate::units::{group, is_mark, parse_count, parse_number, thousands};

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

/// The values that the stepper beside a field walks through.
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
    /// One line that says what it is.
    pub hint: &'static str,
    /// Shown only on request: the rarely used and the parts of a preset.
    pub advanced: bool,
    /// What it holds.
    pub slot: Slot,
}

/// A number below this is 0: nothing here is as small, and what is divided by it stays finite.
const SMALLEST: f64 = 1e-20;
/// A list of at most this many numbers is read; longer ones are refused.
const LONGEST_LIST: usize = 65_536;
/// A text of at most this many bytes is read: what it becomes in a link, three letters a byte at worst, is read back.
pub const LONGEST_TEXT: usize = 400_000;

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
            Slot::Counts { get, .. } => get(run)
                .map(|list| Value::List(list.iter().map(|count| Value::from(*count)).collect())),
            Slot::Set { get, .. } => {
                get(run).map(|ids| Value::List(ids.into_iter().map(text).collect()))
            }
            Slot::Text { get, .. } => get(run).map(|order| Value::Text(order.to_owned())),
        }
        .unwrap_or_default()
    }

    /// Sets the value in `run`; [`Value::Null`] sets the default.
    ///
    /// # Errors
    /// What is wrong with the value and what would work.
    pub fn set(&self, run: &mut Run, value: &Value) -> Result<(), String> {
        let default = || self.get(&Run::default());
        let value = if *value == Value::Null {
            &default()
        } else {
            value
        };
        match &self.slot {
            Slot::Count { range, set, .. } => {
                let count = match value {
                    Value::Null => None,
                    Value::Number(number) => Some(in_range(*number, *range)?),
                    other => return Err(self.wrong_type("a whole number", other)),
                };
                set(run, count);
            }
            Slot::Number { range, set, .. } => {
                let number = match value {
                    Value::Null => None,
                    Value::Number(number) if (range.0..=range.1).contains(number) => {
                        Some(if *number < SMALLEST { 0.0 } else { *number })
                    }
                    Value::Number(number) => {
                        let [number, low, high] =
                            [*number, range.0, range.1].map(|number| group(&number.to_string()));
                        return Err(format!("{number} is outside {low} to {high}"));
                    }
                    other => return Err(self.wrong_type("a number", other)),
                };
                set(run, number);
            }
            Slot::Toggle { set, .. } => match value {
                Value::Null => set(run, None),
                Value::Bool(yes) => set(run, Some(*yes)),
                // Dropout is often given as its probability.
                Value::Number(share) if (0.0..=1.0).contains(share) => set(run, Some(*share > 0.0)),
                other => return Err(self.wrong_type("true or false", other)),
            },
            Slot::Choice { options, set, .. } => match value {
                Value::Null => {
                    set(run, None);
                }
                Value::Text(id) if set(run, Some(id)) => {}
                Value::Bool(yes) if set(run, Some(if *yes { "all" } else { "none" })) => {}
                Value::Text(id) => return Err(unknown(id, &options())),
                other => return Err(self.wrong_type("one of a list", other)),
            },
            Slot::Counts { set, .. } => {
                let list = match value {
                    Value::Null => None,
                    Value::List(items) if items.is_empty() => None,
                    Value::List(items) if items.len() <= LONGEST_LIST => Some(
                        items
                            .iter()
                            .map(|item| match item {
                                Value::Number(number) => in_range(*number, (0, 1 << 40)),
                                other => Err(self.wrong_type("a list of whole numbers", other)),
                            })
                            .collect::<Result<Vec<_>, _>>()?,
                    ),
                    Value::List(items) => {
                        return Err(format!(
                            "{} entries; at most {LONGEST_LIST} are read",
                            items.len()
                        ));
                    }
                    other => return Err(self.wrong_type("a list of whole numbers", other)),
                };
                set(run, list);
            }
            Slot::Set { options, set, .. } => self.set_ids(run, value, &options(), *set)?,
            Slot::Text { set, .. } => {
                let text = match value {
                    Value::Null => None,
                    Value::Text(text) => Some(text.clone()),
                    other => Some(joined(other).ok_or_else(|| {
                        self.wrong_type("text, or a list of lists of tokens", other)
                    })?),
                };
                if text.as_ref().is_some_and(|text| text.len() > LONGEST_TEXT) {
                    return Err(format!(
                        "longer than the {LONGEST_TEXT} letters that a link can hold"
                    ));
                }
                let text = text.map(|text| text.trim().to_owned());
                set(run, text.filter(|text| !text.is_empty()));
            }
        }
        Ok(())
    }

    fn set_ids(
        &self,
        run: &mut Run,
        value: &Value,
        options: &[Choice],
        set: fn(&mut Run, Option<&[&str]>) -> bool,
    ) -> Result<(), String> {
        let Value::List(items) = value else {
            if *value == Value::Null {
                set(run, None);
                return Ok(());
            }
            return Err(self.wrong_type("a list", value));
        };
        let mut ids = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Value::Text(id) if options.iter().any(|option| option.id == id) => {
                    ids.push(id.as_str());
                }
                Value::Text(id) => return Err(unknown(id, options)),
                other => return Err(self.wrong_type("a list of names", other)),
            }
        }
        set(run, (!ids.is_empty()).then_some(&ids));
        Ok(())
    }

    /// The value that typed or linked text means.
    ///
    /// # Errors
    /// What is wrong with the text and what would work.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        if text.is_empty() {
            return if self.get(&Run::default()) == Value::Null {
                Ok(Value::Null)
            } else {
                Err(format!("{} needs a value", self.label))
            };
        }
        match &self.slot {
            Slot::Count { range, .. } => parse_count(text).map(Value::from).ok_or_else(|| {
                format!(
                    "\"{}\" is not a whole number from {} to {}",
                    shorten(text),
                    thousands(range.0),
                    thousands(range.1)
                )
            }),
            Slot::Number { range, .. } => parse_number(text).map(Value::Number).ok_or_else(|| {
                format!(
                    "\"{}\" is not a number from {} to {}",
                    shorten(text),
                    group(&range.0.to_string()),
                    group(&range.1.to_string())
                )
            }),
            Slot::Toggle { .. } => match text.to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Ok(Value::Bool(true)),
                "false" | "0" | "no" | "off" => Ok(Value::Bool(false)),
                _ => Err(format!("\"{}\" is neither true nor false", shorten(text))),
            },
            Slot::Counts { .. } => text
                .split(',')
                .map(|item| {
                    parse_count(item)
                        .map(Value::from)
                        .ok_or_else(|| format!("\"{}\" is not a whole number", shorten(item)))
                })
                .collect::<Result<Vec<_>, _>>()
                .map(Value::List),
            Slot::Set { .. } => Ok(Value::List(
                text.split(',')
                    .map(|item| Value::Text(item.trim().to_owned()))
                    .collect(),
            )),
            Slot::Choice { .. } | Slot::Text { .. } => Ok(Value::Text(text.to_owned())),
        }
    }

    /// The value as links and inputs write it; none where it is unset.
    #[must_use]
    pub fn text(&self, run: &Run) -> Option<String> {
        plain(&self.get(run))
    }

    /// Whether `run` differs from the default here.
    #[must_use]
    pub fn is_changed(&self, run: &Run) -> bool {
        self.get(run) != self.get(&Run::default())
    }

    fn wrong_type(&self, wanted: &str, got: &Value) -> String {
        format!("{} takes {wanted}, this is {}", self.key, got.kind())
    }
}

/// The whole number that `number` is, if it is one within the range.
fn in_range(number: f64, (low, high): (u64, u64)) -> Result<u64, String> {
    match crate::units::whole(number) {
        Some(count) if (low..=high).contains(&count) => Ok(count),
        _ => Err(format!(
            "{} is not a whole number from {} to {}",
            group(&number.to_string()),
            thousands(low),
            thousands(high)
        )),
    }
}

/// What of `run` no link could say, field by field: for Runs that were not read by the fields themselves.
#[must_use]
pub fn out_of_range(run: &Run) -> Vec<Issue> {
    let mut probe = run.clone();
    FIELDS
        .iter()
        .filter_map(|field| {
            let message = field.set(&mut probe, &field.get(run)).err()?;
            Some(Issue::error(field.key, message))
        })
        .collect()
}

/// The field with this dotted key; `model`, `gpu` and `precision` also answer to `.base`.
#[must_use]
pub fn field(key: &str) -> Option<&'static Field> {
    let key = match key {
        "model.base" => "model",
        "gpu.base" => "gpu",
        "precision.base" => "precision",
        other => other,
    };
    FIELDS.iter().find(|field| field.key == key)
}

/// A scalar or a flat list as text: integers plain, numbers by their shortest form that reads back.
pub fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Map(_) => None,
        Value::Bool(yes) => Some(yes.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Text(text) => Some(text.clone()),
        Value::List(items) => Some(items.iter().filter_map(plain).collect::<Vec<_>>().join(",")),
    }
}

/// A list of lists of tokens as one text: commas within a rank, `|` between ranks.
fn joined(value: &Value) -> Option<String> {
    let Value::List(ranks) = value else {
        return None;
    };
    let ranks: Option<Vec<String>> = ranks
        .iter()
        .map(|rank| matches!(rank, Value::List(_) | Value::Text(_)).then(|| plain(rank))?)
        .collect();
    Some(ranks?.join("|"))
}

/// Names at most this many of what there is.
const NEAREST: usize = 5;

/// That `id` is none of `options`, and the ones that begin most like it.
fn unknown(id: &str, options: &[Choice]) -> String {
    let alike = |option: &Choice| {
        let both = id.bytes().zip(option.id.bytes());
        both.take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count()
    };
    let most = options.iter().map(alike).max().unwrap_or(0);
    let near = options.iter().filter(|option| alike(option) == most);
    let ids: Vec<&str> = near.take(NEAREST).map(|option| option.id).collect();
    format!(
        "\"{}\" is not known; there is {}{}",
        shorten(id),
        ids.join(", "),
        if ids.len() < options.len() {
            ", ..."
        } else {
            ""
        }
    )
}

/// At most 40 characters of what was typed, for a message; what would turn the message around is left out.
fn shorten(text: &str) -> String {
    let mut seen = text.chars().filter(|c| !is_mark(*c));
    let mut short: String = seen.by_ref().take(40).collect();
    if seen.next().is_some() {
        short.pop();
        short.push('…');
    }
    short
}
