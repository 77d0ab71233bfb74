//! What JavaScript may call: plain objects in, plain objects out. Importing the package mounts nothing.

use crate::issue::{Issue, Severity};
use crate::report::{self, Refusal};
use crate::run::{Run, Value};
use crate::share::import::{huggingface, summary::summary};
use crate::share::panels::Question;
use crate::units::MemoryUnit;
use crate::{pipeline, share};
use serde::Serialize;
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// The types of the doors, in the contract's names.
#[wasm_bindgen(typescript_custom_section)]
const TYPES: &'static str = include_str!("api.d.ts");

/// The version of the calculator.
#[wasm_bindgen(skip_typescript)]
#[must_use]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// The report of a Run.
#[wasm_bindgen(js_name = report, skip_typescript)]
#[must_use]
pub fn report_door(run: JsValue) -> JsValue {
    reply(value(run).and_then(|run| report::report_value(&run).map_err(|no| no.errors)))
}

/// One schedule under given durations.
#[wasm_bindgen(js_name = schedule, skip_typescript)]
#[must_use]
pub fn schedule_door(request: JsValue) -> JsValue {
    reply(value(request).and_then(|request| pipeline::request::answer(&request)))
}

#[derive(Serialize)]
struct Encoded {
    errors: Vec<Issue>,
    fragment: String,
}

/// The link of a Run, without `#`.
#[wasm_bindgen(js_name = encodeLink, skip_typescript)]
#[must_use]
pub fn encode_link(run: JsValue) -> JsValue {
    let run = value(run).and_then(|run| Run::from_value(&run));
    reply(run.map(|run| Encoded {
        errors: Vec::new(),
        fragment: share::link::encode(&run),
    }))
}

#[derive(Serialize)]
struct Decoded {
    errors: Vec<Issue>,
    run: Value,
    notices: Vec<Issue>,
}

/// The Run of a link; what was not understood comes as notices.
#[wasm_bindgen(js_name = decodeLink, skip_typescript)]
#[must_use]
pub fn decode_link(text: &str) -> JsValue {
    let mut link = share::link::decode(text);
    link.notices
        .sort_by_key(|issue| issue.severity != Severity::Warning);
    reply(Ok(Decoded {
        errors: Vec::new(),
        run: link.run.to_value(),
        notices: link.notices,
    }))
}

/// A panel of the page's back room, as HTML text: see [`share::panels`].
#[wasm_bindgen(skip_typescript)]
#[must_use]
pub fn panel(name: &str, of: &str, unit: &str, link: &str) -> String {
    let unit = if unit == MemoryUnit::Gb.name() {
        MemoryUnit::Gb
    } else {
        MemoryUnit::Gib
    };
    if name == "import" {
        return import(of);
    }
    let run = share::link::decode(link).run;
    report::evaluate(&run).map_or_else(
        |_| String::new(),
        |evaluation| {
            share::panels::panel(
                name,
                &Question {
                    evaluation: &evaluation,
                    of,
                    unit,
                },
            )
            .into_string()
        },
    )
}

/// What a configuration file of another program means.
fn import(text: &str) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    let read = js_sys::JSON::parse(text)
        .map_err(|_| {
            vec![Issue::error(
                "model",
                "this is no JSON: paste the whole file, from { to }",
            )]
        })
        .and_then(value)
        .and_then(|config| huggingface::read(&config));
    summary(&read).into_string()
}

fn value(object: JsValue) -> Result<Value, Vec<Issue>> {
    if object.is_undefined() || object.is_null() {
        return Ok(Value::Map(Vec::new()));
    }
    serde_wasm_bindgen::from_value(object)
        .map_err(|error| vec![Issue::error("", format!("not a plain object: {error}"))])
}

fn reply<T: Serialize>(answer: Result<T, Vec<Issue>>) -> JsValue {
    let plain = Serializer::json_compatible();
    let written = match answer {
        Ok(answer) => answer.serialize(&plain),
        Err(errors) => Refusal { errors }.serialize(&plain),
    };
    written.unwrap_or(JsValue::NULL)
}
