//! Functions for JavaScript that read and write other programs' settings and logs.

use crate::core::issue::Issue;
use crate::core::run::{Run, Value};
use crate::core::t;
use crate::io::export::{self, Stamp};
use crate::io::json::Text;
use crate::io::request::{self, Imported, Measured, Verb};
use crate::io::{import as importer, logs};
use crate::web::plain::{reply, text, value};
use wasm_bindgen::JsValue;

/// As [`crate::web::api`] calls them once they are loaded.
#[derive(Clone, Copy)]
pub(crate) struct Functions {
    pub(crate) import: fn(JsValue, JsValue) -> JsValue,
    pub(crate) export: fn(JsValue, JsValue, JsValue) -> JsValue,
    pub(crate) log: fn(JsValue, JsValue) -> JsValue,
    pub(crate) answer: fn(Verb, &str) -> JsValue,
}

/// All of them.
pub(crate) fn functions() -> Functions {
    Functions { import, export: written, log, answer: |verb, line| reply(request::answer(verb, line)) }
}

fn import(of: JsValue, run: JsValue) -> JsValue {
    let read = || {
        let present = Run::from_value(&value(run)?)?;
        importer::read(&text(of, "an import")?, &present)
    };
    reply(read().map(Imported::from))
}

fn written(run: JsValue, format: JsValue, stamp: JsValue) -> JsValue {
    let written = move || {
        let run = Run::from_value(&value(run)?)?;
        let stamp = value(stamp)?;
        let text_of = |key: &str| match stamp.get(key) {
            Some(Value::Text(text)) => Ok(text.clone()),
            None | Some(Value::Null) => Ok(String::new()),
            Some(other) => {
                let message = t!("{key} takes text, this is {kind}", key = key.to_owned(), kind = other.kind());
                Err(vec![Issue::error(key, message)])
            }
        };
        let (date, address) = (text_of("date")?, text_of("address")?);
        let stamp = Stamp { date: &date, address: &address };
        export::export(&run, &text(format, "a format")?, &stamp)
    };
    reply(written().map(Text::from))
}

fn log(of: JsValue, run: JsValue) -> JsValue {
    let read = || {
        let present = Run::from_value(&value(run)?)?;
        logs::read(&text(of, "a log")?, &present)
    };
    reply(read().map(Measured::from))
}
