//! Setting a field to a value. Nothing panics and nothing is guessed: a value of the wrong type or out of range is
//! refused with a message that names what would work.

use super::Run;
use super::choices::Choice;
use super::field::{Field, Slot};
use super::text::{plain, shorten};
use super::value::Value;
use crate::message::Message;
use crate::t;
use crate::units::group;

/// A number below this is 0: nothing here is as small, and what is divided by it stays finite.
const SMALLEST: f64 = 1e-20;
/// A list of at most this many numbers is read; longer ones are refused.
const LONGEST_LIST: usize = 65_536;
/// A text of at most this many bytes is read: what it becomes in a link, three letters a byte at worst, is read back.
pub const LONGEST_TEXT: usize = 400_000;

impl Field {
    /// Sets the value in `run`; [`Value::Null`] sets the default.
    ///
    /// # Errors
    /// What is wrong with the value and what would work.
    pub fn set(&self, run: &mut Run, value: &Value) -> Result<(), Message> {
        let default = || self.get(&Run::default());
        let value = if *value == Value::Null { &default() } else { value };
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
                    Value::Number(number) => return Err(outside(*number, *range)),
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
                        return Err(t!(
                            "{items} entries; at most {LONGEST_LIST} are read",
                            items = items.len(),
                            LONGEST_LIST
                        ));
                    }
                    other => return Err(self.wrong_type("a list of whole numbers", other)),
                };
                set(run, list);
            }
            Slot::Numbers { length, range, set, .. } => {
                let list = match value {
                    Value::Null => None,
                    Value::List(items) if items.len() == *length => Some(all_in_range(items, *range)?),
                    _ => return Err(t!("{key} takes {length} numbers", key = self.key, length)),
                };
                set(run, list);
            }
            Slot::Set { options, set, .. } => self.set_ids(run, value, &options(), *set)?,
            Slot::Text { set, .. } => {
                let text = match value {
                    Value::Null => None,
                    Value::Text(text) => Some(text.clone()),
                    other => Some(
                        joined(other).ok_or_else(|| self.wrong_type("text, or a list of lists of tokens", other))?,
                    ),
                };
                if text.as_ref().is_some_and(|text| text.len() > LONGEST_TEXT) {
                    return Err(t!("longer than the {LONGEST_TEXT} letters that a link can hold", LONGEST_TEXT));
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
    ) -> Result<(), Message> {
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

    fn wrong_type(&self, wanted: &'static str, got: &Value) -> Message {
        t!("{key} takes {wanted}, this is {kind}", key = self.key, wanted, kind = got.kind())
    }
}

/// The whole number that `number` is, if it is one within the range.
fn in_range(number: f64, (low, high): (u64, u64)) -> Result<u64, Message> {
    match crate::units::whole(number) {
        Some(count) if (low..=high).contains(&count) => Ok(count),
        _ if number > high as f64 => Err(t!("too large (at most {high})", high)),
        _ => Err(t!(
            "{number} is not a whole number from {low} to {high}",
            number = group(&number.to_string()),
            low,
            high
        )),
    }
}

/// That `number` is not within the range.
fn outside(number: f64, (low, high): (f64, f64)) -> Message {
    let [number, low, high] = [number, low, high].map(|number| group(&number.to_string()));
    t!("{number} is outside {low} to {high}", number, low, high)
}

/// The numbers that `items` are, if all are within the range.
fn all_in_range(items: &[Value], range: (f64, f64)) -> Result<Vec<f64>, Message> {
    let number = |item: &Value| match item {
        Value::Number(number) if (range.0..=range.1).contains(number) => Ok(*number),
        Value::Number(number) => Err(outside(*number, range)),
        other => Err(t!("a number belongs here, this is {kind}", kind = other.kind())),
    };
    items.iter().map(number).collect()
}

/// A list of lists of tokens as one text: commas within a rank, `|` between ranks.
fn joined(value: &Value) -> Option<String> {
    let Value::List(ranks) = value else {
        return None;
    };
    let ranks: Option<Vec<String>> =
        ranks.iter().map(|rank| matches!(rank, Value::List(_) | Value::Text(_)).then(|| plain(rank))?).collect();
    Some(ranks?.join("|"))
}

/// Names at most this many of what there is.
const NEAREST: usize = 5;

/// That `id` is none of `options`, and the ones that begin most like it.
fn unknown(id: &str, options: &[Choice]) -> Message {
    let alike = |option: &Choice| {
        let both = id.bytes().zip(option.id.bytes());
        both.take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count()
    };
    let most = options.iter().map(alike).max().unwrap_or(0);
    let near = options.iter().filter(|option| alike(option) == most);
    let ids: Vec<&str> = near.take(NEAREST).map(|option| option.id).collect();
    t!(
        "\"{id}\" is not known; there is {ids}",
        id = shorten(id),
        ids = ids.join(", ") + if ids.len() < options.len() { ", ..." } else { "" },
    )
}
