//! Fields as text: what links and inputs hold, read and written.

use super::row::{FieldOf, Slot};
use super::value::Value;
use crate::message::Message;
use crate::t;
use crate::units::{group, is_mark, parse_count, parse_number, shortest};

impl<T: Default + 'static> FieldOf<T> {
    /// The value that typed or linked text means.
    ///
    /// # Errors
    /// A text that means no such value, with what would.
    pub fn parse(&self, text: &str) -> Result<Value, Message> {
        let text = text.trim();
        if text.is_empty() {
            return if self.get(&T::default()) == Value::Null {
                Ok(Value::Null)
            } else {
                Err(t!("Enter a value for {field}.", field = self.label))
            };
        }
        match &self.slot {
            Slot::Count { range, .. } => parse_count(text)
                .map(Value::from)
                .ok_or_else(|| t!("Enter a whole number of at least {low}.", low = range.0)),
            Slot::Number { range, .. } => parse_number(text)
                .map(Value::Number)
                .ok_or_else(|| t!("Enter a number from {low} to {high}.", low = bound(range.0), high = bound(range.1))),
            Slot::Toggle => match text.to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Ok(Value::Bool(true)),
                "false" | "0" | "no" | "off" => Ok(Value::Bool(false)),
                _ => Err(t!("Enter true or false.")),
            },
            Slot::Counts => list(text, |item| {
                let number = parse_count(item).map(Value::from);
                number.ok_or_else(|| t!("Enter whole numbers between commas, not \"{item}\".", item = shorten(item)))
            }),
            Slot::Numbers { .. } => list(text, |item| {
                let number = parse_number(item).map(Value::Number);
                number.ok_or_else(|| t!("Enter numbers between commas, not \"{item}\".", item = shorten(item)))
            }),
            Slot::Set { .. } => list(text, |item| Ok(Value::Text(item.trim().to_owned()))),
            Slot::Choice { .. } | Slot::Text => Ok(Value::Text(text.to_owned())),
        }
    }

    /// The value as links and inputs write it; none where it is unset.
    pub fn text(&self, run: &T) -> Option<String> {
        plain(&self.get(run))
    }
}

/// The list of what `read` makes of the items between commas.
fn list(text: &str, read: impl Fn(&str) -> Result<Value, Message>) -> Result<Value, Message> {
    text.split(',').map(read).collect::<Result<_, _>>().map(Value::List)
}

/// A scalar or a flat list as text: integers plain, numbers by their shortest form that reads back.
pub fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Map(_) => None,
        Value::Bool(yes) => Some(yes.to_string()),
        Value::Number(number) => Some(shortest(*number)),
        Value::Text(text) => Some(text.clone()),
        Value::List(items) => Some(items.iter().filter_map(plain).collect::<Vec<_>>().join(",")),
    }
}

/// An end of a range in a message: long round numbers as a power of ten.
pub(super) fn bound(number: f64) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let written = format!("{number:e}");
    let Some(power) = written.strip_prefix("1e").filter(|power| power.parse::<i32>().is_ok_and(|power| power >= LONG))
    else {
        return group(&shortest(number));
    };
    let raised: String = power.bytes().map(|digit| DIGITS[usize::from(digit.wrapping_sub(b'0')) % 10]).collect();
    format!("10{raised}")
}

/// Zeros of a number from which on it is written as a power.
const LONG: i32 = 9;

/// At most 40 characters of what was typed, for a message; what would turn the message around is left out.
pub(super) fn shorten(text: &str) -> String {
    let mut seen = text.chars().filter(|c| !is_mark(*c));
    let mut short: String = seen.by_ref().take(40).collect();
    if seen.next().is_some() {
        short.pop();
        short.push('…');
    }
    short
}
