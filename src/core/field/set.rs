//! Setting a field to a value. Nothing panics and nothing is guessed: a value of the wrong type or out of range is
//! refused with a message that names what would work.

use super::choice::Choice;
use super::row::{FieldOf, Slot};
use super::text::{bound, plain, shorten};
use super::value::Value;
use crate::message::Message;
use crate::t;

/// A number below this is 0: nothing here is as small, and what is divided by it stays finite.
const SMALLEST: f64 = 1e-20;
/// A list of at most this many numbers is read; longer ones are refused.
const LONGEST_LIST: usize = 65_536;
/// A text of at most this many bytes is read: what it becomes in a link, three letters a byte at worst, is read back.
pub const LONGEST_TEXT: usize = 400_000;

impl<T: Default + 'static> FieldOf<T> {
    /// Sets the value in `run`; [`Value::Null`] sets the default.
    ///
    /// # Errors
    /// A value of the wrong type, out of range or not on the list, with what would work.
    pub fn set(&self, run: &mut T, value: &Value) -> Result<(), Message> {
        let default = || self.get(&T::default());
        let value = if *value == Value::Null { default() } else { value.clone() };
        let value = if value == Value::Null { value } else { self.fit(value)? };
        if self.put(run, &value) {
            return Ok(());
        }
        match (&self.slot, &value) {
            (Slot::Choice { options }, Value::Text(id)) => Err(unknown(id, &options())),
            (Slot::Text, Value::Text(text)) => {
                Err(t!("\"{text}\" is not known: {hint}", text = shorten(text), hint = Message::plain(self.hint)))
            }
            _ => Err(self.wrong_type("one of a list", &value)),
        }
    }

    /// `value` as the slot takes it; nothing for an empty list or text.
    fn fit(&self, value: Value) -> Result<Value, Message> {
        Ok(match (self.slot, value) {
            (Slot::Count { range, .. }, Value::Number(number)) => Value::from(in_range(number, range)?),
            (Slot::Count { .. }, other) => return Err(self.wrong_type("a whole number", &other)),
            (Slot::Number { range, .. }, Value::Number(number)) => {
                if !(range.0..=range.1).contains(&number) {
                    return Err(outside(range));
                }
                Value::Number(if number < SMALLEST { 0.0 } else { number })
            }
            (Slot::Number { .. }, other) => return Err(self.wrong_type("a number", &other)),
            (Slot::Toggle, Value::Bool(yes)) => Value::Bool(yes),
            // Dropout is often given as its probability.
            (Slot::Toggle, Value::Number(share)) if (0.0..=1.0).contains(&share) => Value::Bool(share > 0.0),
            (Slot::Toggle, other) => return Err(self.wrong_type("true or false", &other)),
            (Slot::Choice { .. }, Value::Text(id)) => Value::Text(id),
            (Slot::Choice { options }, Value::Bool(yes)) => {
                let id = if yes { "all" } else { "none" };
                if !options().iter().any(|option| option.id == id) {
                    return Err(self.wrong_type("one of a list", &Value::Bool(yes)));
                }
                Value::Text(id.to_owned())
            }
            (Slot::Choice { .. }, other) => return Err(self.wrong_type("one of a list", &other)),
            (Slot::Counts | Slot::Set { .. }, Value::List(items)) if items.is_empty() => Value::Null,
            (Slot::Counts, Value::List(items)) if items.len() > LONGEST_LIST => {
                return Err(t!("{items} entries; at most {LONGEST_LIST} are read", items = items.len(), LONGEST_LIST));
            }
            (Slot::Counts, Value::List(items)) => {
                let count = |item: &Value| match item {
                    Value::Number(number) => in_range(*number, (0, 1 << 40)).map(Value::from),
                    other => Err(self.wrong_type("a list of whole numbers", other)),
                };
                Value::List(items.iter().map(count).collect::<Result<_, _>>()?)
            }
            (Slot::Counts, other) => return Err(self.wrong_type("a list of whole numbers", &other)),
            (Slot::Numbers { length, range }, Value::List(items)) if items.len() == length => {
                numbers_in_range(&items, range)?;
                Value::List(items)
            }
            (Slot::Numbers { length, .. }, _) => {
                return Err(t!("{key} takes {length} numbers", key = self.key, length));
            }
            // One name is a list of one.
            (Slot::Set { .. }, one @ Value::Text(_)) => return self.fit(Value::List(vec![one])),
            (Slot::Set { options }, Value::List(items)) => self.ids_of(items, &options())?,
            (Slot::Set { .. }, other) => return Err(self.wrong_type("a list", &other)),
            (Slot::Text, value) => self.text_of(value)?,
        })
    }

    /// A list of ids of `options`, older names replaced.
    fn ids_of(&self, mut items: Vec<Value>, options: &[Choice]) -> Result<Value, Message> {
        let is_one = |id: &str| options.iter().any(|option| option.id == id);
        for item in &mut items {
            match item {
                Value::Text(id) if is_one(id) => {}
                Value::Text(id) => match also(id).filter(|now| is_one(now)) {
                    Some(now) => *id = now.to_owned(),
                    None => return Err(unknown(id, options)),
                },
                other => return Err(self.wrong_type("a list of names", other)),
            }
        }
        Ok(Value::List(items))
    }

    /// Free text, trimmed.
    fn text_of(&self, value: Value) -> Result<Value, Message> {
        let text = match value {
            Value::Text(text) => text,
            Value::Number(number) => number.to_string(),
            other => joined(&other).ok_or_else(|| self.wrong_type("text, or a list of lists of tokens", &other))?,
        };
        if text.len() > LONGEST_TEXT {
            return Err(t!("longer than the {LONGEST_TEXT} letters that a link can hold", LONGEST_TEXT));
        }
        let text = text.trim();
        Ok(if text.is_empty() { Value::Null } else { Value::Text(text.to_owned()) })
    }

    fn wrong_type(&self, wanted: &'static str, got: &Value) -> Message {
        t!("{key} takes {wanted}, this is {kind}", key = self.key, wanted, kind = got.kind())
    }
}

/// The id that another program's name of it means: Megatron-LM's `--recompute-modules`.
fn also(name: &str) -> Option<&'static str> {
    match name {
        "layernorm" => Some("norm"),
        "mla_up_proj" => Some("mla_up"),
        _ => None,
    }
}

/// The whole number that `number` is, if it is one within the range.
fn in_range(number: f64, (low, high): (u64, u64)) -> Result<u64, Message> {
    match crate::units::whole(number) {
        Some(count) if (low..=high).contains(&count) => Ok(count),
        _ if number > high as f64 => Err(t!("Enter a whole number of at most {high}.", high)),
        _ => Err(t!("Enter a whole number of at least {low}.", low)),
    }
}

/// The message of a number outside the range.
fn outside((low, high): (f64, f64)) -> Message {
    let [low, high] = [low, high].map(bound);
    t!("Enter a number from {low} to {high}.", low, high)
}

/// Refuses items that are no numbers within the range.
fn numbers_in_range(items: &[Value], range: (f64, f64)) -> Result<(), Message> {
    items.iter().try_for_each(|item| match item {
        Value::Number(number) if (range.0..=range.1).contains(number) => Ok(()),
        Value::Number(_) => Err(outside(range)),
        other => Err(t!("a number belongs here, this is {kind}", kind = other.kind())),
    })
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

/// Names of what there is in a message, at most.
const NEAREST: usize = 5;

/// The message of an `id` that is none of `options`, with those that begin most like it.
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
