//! The types that a setting can have, to and from [`Value`]s.

use super::choice::OneOf;
use super::row::{FieldOf, Row, Slot};
use super::value::Value;
use crate::units::whole;

/// A part of a struct that has settings: one, or those of a struct of its own.
pub trait Settable: Sized + 'static {
    /// Its settings. One that is alone has this `key` and `row`.
    fn fields(key: &'static str, row: Row) -> Vec<FieldOf<Self>>;
}

/// Settings of the part of `Whole` that `part` reaches.
pub(crate) fn at<Whole: 'static, Part: Settable>(
    key: &'static str,
    row: Row,
    part: fn(&Whole) -> &Part,
    part_mut: fn(&mut Whole) -> &mut Part,
) -> impl Iterator<Item = FieldOf<Whole>> {
    Part::fields(key, row).into_iter().map(move |field| field.within(part, part_mut))
}

/// The type of one setting.
pub trait Held: Sized + 'static {
    /// Type of its values, with the limits of its row.
    fn slot(row: &Row) -> Slot;
    fn get(&self) -> Value;
    /// From a value within the limits; none where it is no such thing.
    fn of(value: &Value) -> Option<Self>;
}

impl<T: Held> Settable for T {
    fn fields(key: &'static str, row: Row) -> Vec<FieldOf<Self>> {
        let put = |held: &mut Self, value: &Value| Self::of(value).map(|new| *held = new).is_some();
        let slot = Self::slot(&row);
        vec![FieldOf::new(key, row, slot, Self::get, put)]
    }
}

impl Held for u64 {
    fn slot(row: &Row) -> Slot {
        Slot::Count { range: row.count, steps: row.steps }
    }
    fn get(&self) -> Value {
        Value::from(*self)
    }
    fn of(value: &Value) -> Option<Self> {
        f64::of(value).and_then(whole)
    }
}

impl Held for f64 {
    fn slot(row: &Row) -> Slot {
        Slot::Number { range: row.number, steps: row.steps }
    }
    fn get(&self) -> Value {
        Value::Number(*self)
    }
    fn of(value: &Value) -> Option<Self> {
        if let Value::Number(number) = value { Some(*number) } else { None }
    }
}

impl Held for bool {
    fn slot(_: &Row) -> Slot {
        Slot::Toggle
    }
    fn get(&self) -> Value {
        Value::Bool(*self)
    }
    fn of(value: &Value) -> Option<Self> {
        if let Value::Bool(yes) = value { Some(*yes) } else { None }
    }
}

impl Held for String {
    fn slot(_: &Row) -> Slot {
        Slot::Text
    }
    fn get(&self) -> Value {
        Value::Text(self.clone())
    }
    fn of(value: &Value) -> Option<Self> {
        value.text().map(str::to_owned)
    }
}

impl<T: OneOf> Held for T {
    fn slot(_: &Row) -> Slot {
        Slot::Choice { options: T::choices }
    }
    fn get(&self) -> Value {
        Value::Text(self.id().to_owned())
    }
    fn of(value: &Value) -> Option<Self> {
        T::from_id(value.text()?)
    }
}

/// A type of which settings hold lists.
trait Listed: Held {
    /// Type of the lists, with the limits of their row.
    fn slot_of_list(row: &Row) -> Slot;
}

impl Listed for u64 {
    fn slot_of_list(_: &Row) -> Slot {
        Slot::Counts
    }
}

impl Listed for f64 {
    fn slot_of_list(row: &Row) -> Slot {
        Slot::Numbers { length: row.length, range: row.number }
    }
}

impl<T: OneOf> Listed for T {
    fn slot_of_list(_: &Row) -> Slot {
        Slot::Set { options: T::choices }
    }
}

impl<T: Listed> Held for Vec<T> {
    fn slot(row: &Row) -> Slot {
        T::slot_of_list(row)
    }
    fn get(&self) -> Value {
        Value::List(self.iter().map(Held::get).collect())
    }
    fn of(value: &Value) -> Option<Self> {
        let Value::List(items) = value else { return None };
        items.iter().map(Held::of).collect()
    }
}

/// May be unset.
impl<T: Held> Held for Option<T> {
    fn slot(row: &Row) -> Slot {
        T::slot(row)
    }
    fn get(&self) -> Value {
        self.as_ref().map(T::get).unwrap_or_default()
    }
    fn of(value: &Value) -> Option<Self> {
        if *value == Value::Null { Some(None) } else { T::of(value).map(Some) }
    }
}
