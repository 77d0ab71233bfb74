//! Functions for JavaScript: plain objects in, plain objects out. Importing the package mounts nothing, and nothing
//! throws for what it is given.

mod plain;
mod settings;

use crate::core::advice;
use crate::core::calibrate::calibrate;
use crate::core::issue::{Issue, Severity};
use crate::core::pipeline;
use crate::core::rl;
use crate::core::run::Value;
use crate::core::search::PlanRequest;
use crate::core::sort::sort_by;
use crate::core::whole_run;
use crate::io::auto::{self, ChosenAnswer};
use crate::io::link;
use crate::io::request::Verb;
use crate::web::javascript::plain::{reply, text, value};
use crate::web::javascript::settings::Functions;
use crate::web::worker::next_turn;
use serde::Serialize;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// An answer, with the layout that was chosen for it where it was.
fn reply_chosen<T: Serialize>(answer: Result<(T, Option<Value>), Vec<Issue>>) -> JsValue {
    match answer {
        Ok((answer, Some(chosen))) => reply(Ok(ChosenAnswer::new(answer, chosen))),
        other => reply(other.map(|(answer, _)| answer)),
    }
}

/// The version of the calculator.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// The report of a Run.
#[wasm_bindgen(js_name = report)]
pub fn report(run: JsValue) -> JsValue {
    let answer = || {
        let (run, chosen) = auto::resolved(&value(run)?)?;
        Ok((advice::report_value(&run).map_err(|no| no.errors)?, chosen))
    };
    reply_chosen(answer())
}

/// One schedule under given durations.
#[wasm_bindgen(js_name = schedule)]
pub fn schedule(request: JsValue) -> JsValue {
    reply(value(request).and_then(|request| pipeline::request::answer(&request)))
}

/// Distance of a Run's order from the best one under the same memory.
#[wasm_bindgen(js_name = certify)]
pub fn certify(run: JsValue) -> JsValue {
    let answer = || {
        let (run, chosen) = auto::resolved(&value(run)?)?;
        Ok((advice::certify::certify(&run)?, chosen))
    };
    reply_chosen(answer())
}

/// Units of a search between two turns of the event loop: some milliseconds.
const SLICE: u64 = 4000;

/// The best layouts of a Run: a promise, worked on in slices so that the page around it stays alive.
#[wasm_bindgen(js_name = plan)]
pub async fn plan(request: JsValue) -> JsValue {
    let read = value(request).and_then(|request| PlanRequest::from_value(&auto::unasked(&request)?));
    let mut request = match read {
        Ok(request) => request,
        Err(errors) => return reply(Err::<(), _>(errors)),
    };
    while !request.search.step(SLICE).is_over() {
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
pub fn encode_link(run: JsValue) -> JsValue {
    let fragment = value(run).and_then(|run| auto::encode(&run));
    reply(fragment.map(|fragment| Encoded { errors: Vec::new(), fragment }))
}

#[derive(Serialize)]
struct Decoded {
    errors: Vec<Issue>,
    run: Value,
    notices: Vec<Issue>,
}

/// The Run of a link; what was not understood comes as notices.
#[wasm_bindgen(js_name = decodeLink)]
pub fn decode_link(link: JsValue) -> JsValue {
    reply(text(link, "a link").map(|text| {
        let mut link = link::decode(&text);
        let later = |issue: &Issue| issue.severity != Severity::Warning;
        sort_by(&mut link.notices, |a, b| later(a).cmp(&later(b)));
        Decoded { errors: Vec::new(), run: auto::to_value(&link), notices: link.notices }
    }))
}

#[cfg(feature = "split")]
thread_local! {
    static LOADED: std::cell::Cell<Option<Functions>> = const { std::cell::Cell::new(None) };
}

/// Result of `call` with the functions of the late part, or a refusal while that is not loaded.
fn late(call: impl FnOnce(Functions) -> JsValue) -> JsValue {
    #[cfg(feature = "split")]
    let loaded = LOADED.get();
    #[cfg(not(feature = "split"))]
    let loaded = Some(crate::web::javascript::settings::functions());
    let refusal = || {
        reply(Err::<(), _>(vec![Issue::error("", "a part of the calculator is not loaded yet: await init() first")]))
    };
    loaded.map_or_else(refusal, call)
}

/// Loads what [`import_text`], [`export_run`], [`read_log`] and [`answer_line`] need.
///
/// # Errors
/// It did not arrive.
#[wasm_bindgen(js_name = ready)]
pub async fn ready() -> Result<(), JsValue> {
    let loaded = crate::web::javascript::settings::late_functions().await;
    let loaded = loaded.map_err(|_| js_sys::Error::new("a part of the calculator did not arrive"))?;
    #[cfg(feature = "split")]
    LOADED.set(Some(loaded));
    #[cfg(not(feature = "split"))]
    let _ = loaded;
    Ok(())
}

/// The Run that a text of another program, a link or an export means; what it does not say is as in `run`. `given` may
/// hold values of variables and files, by the keys that a request to import has for them.
#[wasm_bindgen(js_name = importText)]
pub fn import_text(of: JsValue, run: JsValue, given: JsValue) -> JsValue {
    late(|second| (second.import)(of, run, given))
}

/// A Run in one of the forms of [`crate::io::export::FORMATS`]; `stamp` may hold a
/// date and an address.
#[wasm_bindgen(js_name = exportRun)]
pub fn export_run(run: JsValue, format: JsValue, stamp: JsValue) -> JsValue {
    late(|second| (second.export)(run, format, stamp))
}

/// Reads a log, a benchmark's output, a trace or a memory snapshot; settings that it leaves out are as in `run`.
#[wasm_bindgen(js_name = readLog)]
pub fn read_log(of: JsValue, run: JsValue) -> JsValue {
    late(|second| (second.log)(of, run))
}

/// Where the rest of a measured step or of the memory is: a promise, since files (`File` or `Blob`) are read piece by
/// piece.
#[wasm_bindgen(js_name = diagnose)]
pub async fn diagnose_files(files: JsValue, run: JsValue) -> JsValue {
    let mut promise = None;
    let refused = late(|second| {
        promise = Some((second.diagnose)(files, run));
        JsValue::UNDEFINED
    });
    match promise {
        Some(promise) => wasm_bindgen_futures::JsFuture::from(promise).await.unwrap_or_default(),
        None => refused,
    }
}

/// Fits measured runs: a profile, its parts, and the run to make next.
#[wasm_bindgen(js_name = calibrate)]
pub fn calibrate_runs(request: JsValue) -> JsValue {
    reply(value(request).and_then(|request| calibrate(&request)))
}

/// The whole run of a Run with a token budget: calendar, losses, energy, cost; or the answer to an inverse question.
#[wasm_bindgen(js_name = wholeRun)]
pub fn whole_run(request: JsValue) -> JsValue {
    let answer = || {
        let (request, chosen) = auto::resolved(&value(request)?)?;
        Ok((whole_run::answer(&request)?, chosen))
    };
    reply_chosen(answer())
}

/// The step of reinforcement learning of a Run with `rl.*`, and the steps of other splits.
#[wasm_bindgen(js_name = rl)]
pub fn rl_step(request: JsValue) -> JsValue {
    reply(value(request).and_then(|request| rl::answer(&request)))
}

/// One line of the command line (tools/npm) as the object to be printed; undefined where `verb` is none.
#[wasm_bindgen(js_name = answerLine)]
pub fn answer_line(verb: &str, line: &str) -> JsValue {
    let Some(verb) = Verb::named(verb) else {
        return JsValue::UNDEFINED;
    };
    late(|second| (second.answer)(verb, line))
}
