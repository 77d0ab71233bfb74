//! What JavaScript may call: plain objects in, plain objects out. Importing the package mounts nothing, and nothing
//! throws for what it is given.

use crate::core::issue::{Issue, Severity};
use crate::core::pipeline;
use crate::core::report;
use crate::core::run::{Run, Value};
use crate::core::search::Request;
use crate::core::sort::sort_by;
use crate::io;
use crate::io::request::{self, Verb};
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
    reply(run.map(|run| Encoded {
        errors: Vec::new(),
        fragment: io::link::encode(&run),
    }))
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
        let mut link = io::link::decode(&text);
        let later = |issue: &Issue| issue.severity != Severity::Warning;
        sort_by(&mut link.notices, |a, b| later(a).cmp(&later(b)));
        Decoded {
            errors: Vec::new(),
            run: link.run.to_value(),
            notices: link.notices,
        }
    }))
}

/// One line of the `shardscope` command (tools/npm) as the object to be printed; undefined where `verb` is none. The second
/// module answers the verbs `import`, `export`, `log` and `calibrate`.
#[wasm_bindgen(js_name = answerLine)]
#[must_use]
pub fn answer_line(verb: &str, line: &str) -> JsValue {
    let Some(verb) = Verb::named(verb) else {
        return JsValue::UNDEFINED;
    };
    reply(request::answer(verb, line))
}
