//! What JavaScript may call: plain objects in, plain objects out. Importing the package mounts nothing, and nothing
//! throws for what it is given.

use crate::core::calibrate::calibrate;
use crate::core::issue::{Issue, Severity};
use crate::core::pipeline;
use crate::core::report;
use crate::core::run::{Run, Value};
use crate::core::search::Request;
use crate::core::sort::sort_by;
use crate::core::t;
use crate::io::export::{self, Stamp};
use crate::io::request::{self, Exported, Imported, Measured, Verb};
use crate::io::{import, link, logs};
use crate::web::plain::{reply, text, value};
use crate::web::worker::next_turn;
use serde::Serialize;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// The version of the calculator.
#[wasm_bindgen]
#[must_use]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// The report of a Run.
#[wasm_bindgen(js_name = report)]
#[must_use]
pub fn report(run: JsValue) -> JsValue {
    reply(value(run).and_then(|run| report::report_value(&run).map_err(|no| no.errors)))
}

/// One schedule under given durations.
#[wasm_bindgen(js_name = schedule)]
#[must_use]
pub fn schedule(request: JsValue) -> JsValue {
    reply(value(request).and_then(|request| pipeline::request::answer(&request)))
}

/// Units of a search between two turns of the event loop: some milliseconds.
const SLICE: u64 = 4000;

/// The best layouts of a Run: a promise, worked on in slices so that the page around it stays alive.
#[wasm_bindgen(js_name = plan)]
pub async fn plan(request: JsValue) -> JsValue {
    let read = value(request).and_then(|request| Request::from_value(&request));
    let mut request = match read {
        Ok(request) => request,
        Err(errors) => return reply(Err::<(), _>(errors)),
    };
    while !request.search.step(SLICE).done {
        next_turn().await;
    }
    reply(Ok(request.plan()))
}

#[derive(Serialize)]
struct Encoded {
    errors: Vec<Issue>,
    fragment: String,
}

/// The link of a Run, without `#`.
#[wasm_bindgen(js_name = encodeLink)]
#[must_use]
pub fn encode_link(run: JsValue) -> JsValue {
    let run = value(run).and_then(|run| Run::from_value(&run));
    reply(run.map(|run| Encoded { errors: Vec::new(), fragment: link::encode(&run) }))
}

#[derive(Serialize)]
struct Decoded {
    errors: Vec<Issue>,
    run: Value,
    notices: Vec<Issue>,
}

/// The Run of a link; what was not understood comes as notices.
#[wasm_bindgen(js_name = decodeLink)]
#[must_use]
pub fn decode_link(link: JsValue) -> JsValue {
    reply(text(link, "a link").map(|text| {
        let mut link = link::decode(&text);
        let later = |issue: &Issue| issue.severity != Severity::Warning;
        sort_by(&mut link.notices, |a, b| later(a).cmp(&later(b)));
        Decoded { errors: Vec::new(), run: link.run.to_value(), notices: link.notices }
    }))
}

/// The Run that a text of another program, a link or an export means; what it does not say is as in `run`.
#[wasm_bindgen(js_name = importText)]
#[must_use]
pub fn import_text(of: JsValue, run: JsValue) -> JsValue {
    let read = || {
        let present = Run::from_value(&value(run)?)?;
        import::read(&text(of, "an import")?, &present)
    };
    reply(read().map(Imported::from))
}

/// A Run in one of the forms of [`export::FORMATS`]; `stamp` may hold `date` and `address`.
#[wasm_bindgen(js_name = exportRun)]
#[must_use]
pub fn export_run(run: JsValue, format: JsValue, stamp: JsValue) -> JsValue {
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
    reply(written().map(Exported::from))
}

/// What a log, a benchmark's output, a trace or a memory snapshot measured; what it does not say of its run is as in `run`.
#[wasm_bindgen(js_name = readLog)]
#[must_use]
pub fn read_log(of: JsValue, run: JsValue) -> JsValue {
    let read = || {
        let present = Run::from_value(&value(run)?)?;
        logs::read(&text(of, "a log")?, &present)
    };
    reply(read().map(Measured::from))
}

/// What measured runs teach: a profile, what it is made of, and the run to make next.
#[wasm_bindgen(js_name = calibrate)]
#[must_use]
pub fn calibrate_runs(request: JsValue) -> JsValue {
    reply(value(request).and_then(|request| calibrate(&request)))
}

/// One line of the `shardscope` command (tools/npm) as the object to be printed; undefined where `verb` is none.
#[wasm_bindgen(js_name = answerLine)]
#[must_use]
pub fn answer_line(verb: &str, line: &str) -> JsValue {
    let Some(verb) = Verb::named(verb) else {
        return JsValue::UNDEFINED;
    };
    reply(request::answer(verb, line))
}
