//! Plain objects of JavaScript: what it passes as a [`Value`], and what is returned. Requests are read step by step and
//! within bounds, so that whatever it is (nested without end, throwing when it is read, larger than any request) ends
//! as an issue and never as an exception.

use crate::core::issue::Issue;
use crate::core::report::Refusal;
use crate::core::run::Value;
use crate::core::t;
use crate::core::units::whole;
use crate::io::json::{MAX_BYTES, MAX_DEPTH, too_deep};
use js_sys::{Array, JsString, Reflect};
use serde::Serialize;
use serde_wasm_bindgen::Serializer;
use std::cell::Cell;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

/// Entries of all lists and objects together.
const MAX_ENTRIES: usize = 1 << 20;
/// Requests that a getter of a request may make, one within the other; beyond, the stack would end somewhere.
const MAX_NESTED_READS: u32 = 4;
/// Letters of a key, and about as many of a path of them.
const LONGEST_KEY: u32 = 200;

// As js_sys has them, but an exception (of a proxy, of a getter) is returned as an error.
#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = Array, js_name = isArray)]
    fn is_list(value: &JsValue) -> Result<bool, JsValue>;
    #[wasm_bindgen(catch, js_namespace = Object, js_name = keys)]
    fn keys(value: &JsValue) -> Result<Array, JsValue>;
    /// "[object Object]", "[object Date]"...
    #[wasm_bindgen(catch, js_namespace = ["Object", "prototype", "toString"], js_name = call)]
    fn sort_of(value: &JsValue) -> Result<JsValue, JsValue>;
}

thread_local! {
    /// Requests that are being read.
    static READING: Cell<u32> = const { Cell::new(0) };
}

/// A request: an object of fields; nothing given is an empty one.
///
/// # Errors
/// Dotted key of the first value that is not plain.
pub fn value(given: JsValue) -> Result<Value, Vec<Issue>> {
    let within = READING.get();
    if within > MAX_NESTED_READS {
        let message = "is read while it is read, by a getter of its own";
        return Err(vec![Issue::error("", message)]);
    }
    let mut reader = Reader { entries: MAX_ENTRIES, letters: MAX_BYTES };
    READING.set(within + 1);
    let read = reader.read(given, "", 0);
    READING.set(within);
    match read {
        Ok(Value::Null) => Ok(Value::Map(Vec::new())),
        Ok(value) => Ok(value),
        Err(issue) => Err(vec![issue]),
    }
}

/// A text that is called `name`; nothing given is an empty one.
///
/// # Errors
/// A value that is no text, or too long a one.
pub fn text(given: JsValue, name: &str) -> Result<String, Vec<Issue>> {
    if given.is_null() || given.is_undefined() {
        return Ok(String::new());
    }
    match value(given)? {
        Value::Text(text) => Ok(text),
        other => {
            let message = t!("{key} takes text, this is {kind}", key = name.to_owned(), kind = other.kind());
            Err(vec![Issue::error("", message)])
        }
    }
}

/// An answer as a plain object; `{ errors }` where there is none.
pub fn reply<T: Serialize>(answer: Result<T, Vec<Issue>>) -> JsValue {
    let plain = Serializer::json_compatible();
    let written = match answer {
        Ok(answer) => answer.serialize(&plain),
        Err(errors) => Refusal { errors }.serialize(&plain),
    };
    written.unwrap_or(JsValue::NULL)
}

/// The rest of the bounds.
struct Reader {
    entries: usize,
    letters: u32,
}

impl Reader {
    fn read(&mut self, given: JsValue, path: &str, depth: usize) -> Result<Value, Issue> {
        if given.is_null() || given.is_undefined() {
            return Ok(Value::Null);
        }
        if let Some(yes) = given.as_bool() {
            return Ok(Value::Bool(yes));
        }
        if let Some(number) = given.as_f64() {
            return Ok(Value::Number(number));
        }
        if given.is_bigint() {
            // Beyond 2^63, as beyond 2^53, there is no field that takes it.
            let count = i64::try_from(given);
            return Ok(Value::Number(count.map_or(f64::INFINITY, |count| count as f64)));
        }
        let given = match given.dyn_into::<JsString>() {
            Ok(text) => return self.text(&text, path).map(Value::Text),
            Err(given) => given,
        };
        if depth == MAX_DEPTH {
            return Err(too_deep(path));
        }
        if !given.is_object() {
            let message =
                if given.is_function() { t!("a function is no plain value") } else { t!("a symbol is no plain value") };
            return Err(Issue::error(path, message));
        }
        let thrown = |_| Issue::error(path, "cannot be read: it throws");
        if is_list(&given).map_err(thrown)? {
            let length = Reflect::get(&given, &"length".into()).map_err(thrown)?;
            let length = length.as_f64().and_then(whole);
            let length = length.and_then(|length| u32::try_from(length).ok());
            let length = self.take(length.unwrap_or(u32::MAX), path)?;
            let item = |at| {
                let item = Reflect::get_u32(&given, at).map_err(thrown)?;
                self.read(item, path, depth + 1)
            };
            return (0..length).map(item).collect::<Result<_, _>>().map(Value::List);
        }
        // Maps, dates and arrays of bytes would be read as objects without fields.
        if sort_of(&given).map_err(thrown)? != "[object Object]" {
            return Err(Issue::error(path, "is no plain object"));
        }
        let names = keys(&given).map_err(thrown)?;
        self.take(names.length(), path)?;
        let entry = |name: JsValue| {
            let key = self.key(&name, path)?;
            let dotted = match path {
                "" => key.clone(),
                path if path.len() > LONGEST_KEY as usize => path.to_owned(),
                path => format!("{path}.{key}"),
            };
            let value = Reflect::get(&given, &name).map_err(|_| Issue::error(&dotted, "cannot be read: it throws"))?;
            Ok((key, self.read(value, &dotted, depth + 1)?))
        };
        names.iter().map(entry).collect::<Result<_, _>>().map(Value::Map)
    }

    fn take(&mut self, entries: u32, path: &str) -> Result<u32, Issue> {
        let left = self.entries.checked_sub(entries as usize);
        self.entries = left.ok_or_else(|| {
            Issue::error(path, t!("more than {most} entries: not read", most = MAX_ENTRIES.to_string()))
        })?;
        Ok(entries)
    }

    fn text(&mut self, text: &JsString, path: &str) -> Result<String, Issue> {
        // Asked before it is copied.
        let left = self.letters.checked_sub(text.length());
        self.letters = left.ok_or_else(|| {
            Issue::error(path, t!("more than {most} letters: not read", most = MAX_BYTES.to_string()))
        })?;
        Ok(String::from(text))
    }

    fn key(&mut self, name: &JsValue, path: &str) -> Result<String, Issue> {
        match name.dyn_ref::<JsString>() {
            Some(name) if name.length() <= LONGEST_KEY => self.text(name, path),
            _ => {
                let message = t!("has a key of more than {most} letters", most = LONGEST_KEY.to_string());
                Err(Issue::error(path, message))
            }
        }
    }
}
