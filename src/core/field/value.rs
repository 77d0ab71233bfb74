//! A configuration value before it is understood: what JSON, a JavaScript object or a link can hold.

use crate::issue::Issue;
use crate::t;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A JSON-like value; objects keep their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Absent: the default applies.
    #[default]
    Null,
    /// true or false.
    Bool(bool),
    /// A number; whole ones are exact up to 2⁵³.
    Number(f64),
    Text(String),
    List(Vec<Value>),
    /// An object.
    Map(Vec<(String, Value)>),
}

impl Value {
    /// "a number", "text"...: for messages about a wrong type.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Map(_) => "an object",
        }
    }
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
    /// The entry of an object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Self::Map(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }
    /// The entries of a request: of an object that has no other keys than `keys`.
    ///
    /// # Errors
    /// A value that is no object; every key that is not of `keys`.
    pub fn entries(&self, keys: &[&str]) -> Result<&[(String, Self)], Vec<Issue>> {
        let Self::Map(entries) = self else {
            let message = t!("a request is an object of fields, this is {kind}", kind = self.kind());
            return Err(vec![Issue::error("", message)]);
        };
        let unknown = entries.iter().filter(|(key, _)| !keys.contains(&key.as_str()));
        let message = || t!("no such field; a request has {join}", join = keys.join(", "));
        let issues: Vec<_> = unknown.map(|(key, _)| Issue::error(key.clone(), message())).collect();
        if issues.is_empty() { Ok(entries) } else { Err(issues) }
    }
    /// Nested objects as dotted keys: `{"model": {"layers": 8}}` is `model.layers` = 8. An object below a key that
    /// `opens` does not know stays one value.
    pub fn flat(&self, opens: fn(&str) -> bool) -> Vec<(String, Value)> {
        let mut out = Vec::new();
        self.flatten("", opens, &mut out);
        out
    }

    fn flatten(&self, prefix: &str, opens: fn(&str) -> bool, out: &mut Vec<(String, Value)>) {
        match self {
            Self::Map(entries) if prefix.is_empty() || opens(prefix) => {
                for (key, value) in entries {
                    if prefix.is_empty() {
                        value.flatten(key, opens, out);
                    } else {
                        value.flatten(&format!("{prefix}.{key}"), opens, out);
                    }
                }
            }
            other => out.push((prefix.to_owned(), other.clone())),
        }
    }

    /// Dotted keys as nested objects.
    pub fn nested(pairs: Vec<(String, Value)>) -> Self {
        let mut root = Self::Map(Vec::new());
        for (key, value) in pairs {
            root.insert(&key, value);
        }
        root
    }

    fn insert(&mut self, key: &str, value: Value) {
        let Self::Map(entries) = self else { return };
        match key.split_once('.') {
            None => entries.push((key.to_owned(), value)),
            Some((first, rest)) => {
                let at = entries.iter().position(|(name, _)| name == first);
                let at = at.unwrap_or_else(|| {
                    entries.push((first.to_owned(), Self::Map(Vec::new())));
                    entries.len() - 1
                });
                entries[at].1.insert(rest, value);
            }
        }
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Number(count as f64)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Value {
    fn from(yes: bool) -> Self {
        Self::Bool(yes)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::List(items)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(value) => match crate::units::whole(*value) {
                Some(count) => serializer.serialize_u64(count),
                None => serializer.serialize_f64(*value),
            },
            Self::Text(value) => serializer.serialize_str(value),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Self::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Value, D::Error> {
        inner.deserialize_any(self)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_flattened_nests_again() {
        let nested: Value = serde_json::from_str(r#"{"a":{"b":1,"c":{"d":"x"}},"e":[2],"f":{"g":true}}"#).unwrap();
        let flat = nested.flat(|_| true);
        let keys: Vec<_> = flat.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["a.b", "a.c.d", "e", "f.g"]);
        assert_eq!(Value::nested(flat), nested);
        assert_eq!(nested.flat(|_| false).len(), 3);
    }
}
