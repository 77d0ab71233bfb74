//! Functions for JavaScript: plain objects in, plain objects out. Importing the package mounts nothing, and nothing
//! throws for what it is given.

mod answers;
mod functions;
mod plain;
mod settings;

use crate::core::issue::{Issue, Severity};
use crate::core::run::Value;
use crate::core::sort::sort_by;
use crate::io::request::Verb;
use crate::io::{auto, link};
use crate::web::javascript::functions::Functions;
use crate::web::javascript::plain::{reply, text, value};
use js_sys::Promise;
use serde::Serialize;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen_futures::JsFuture;

/// The version of the calculator.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// The report of a Run.
#[wasm_bindgen(js_name = report)]
pub fn report(run: JsValue) -> JsValue {
    late(|second| (second.report)(run))
}

/// One schedule under given durations.
#[wasm_bindgen(js_name = schedule)]
pub fn schedule(request: JsValue) -> JsValue {
    late(|second| (second.schedule)(request))
}

/// Distance of a Run's order from the best one under the same memory.
#[wasm_bindgen(js_name = certify)]
pub fn certify(run: JsValue) -> JsValue {
    late(|second| (second.certify)(run))
}

/// The best layouts of a Run: a promise, worked on in slices so that the page around it stays alive.
#[wasm_bindgen(js_name = plan)]
pub async fn plan(request: JsValue) -> JsValue {
    promised(|second| (second.plan)(request)).await
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
    loaded().map_or_else(refusal, call)
}

/// What the promise of `call` resolves to, or a refusal while the late part is not loaded.
async fn promised(call: impl FnOnce(Functions) -> Promise) -> JsValue {
    match loaded().map(call) {
        Some(promise) => JsFuture::from(promise).await.unwrap_or_default(),
        None => refusal(),
    }
}

#[cfg_attr(not(feature = "split"), allow(clippy::unnecessary_wraps))] // with the feature there may be none yet
fn loaded() -> Option<Functions> {
    #[cfg(feature = "split")]
    return LOADED.get();
    #[cfg(not(feature = "split"))]
    return Some(functions::functions());
}

fn refusal() -> JsValue {
    reply(Err::<(), _>(vec![Issue::error("", "a part of the calculator is not loaded yet: await init() first")]))
}

/// Loads what all functions need but [`version`] and those of links.
///
/// # Errors
/// It did not arrive.
#[wasm_bindgen(js_name = ready)]
pub async fn ready() -> Result<(), JsValue> {
    let loaded = functions::late_functions().await;
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
    promised(|second| (second.diagnose)(files, run)).await
}

/// Fits measured runs: a profile, its parts, and the run to make next.
#[wasm_bindgen(js_name = calibrate)]
pub fn calibrate_runs(request: JsValue) -> JsValue {
    late(|second| (second.calibrate)(request))
}

/// The whole run of a Run with a token budget: calendar, losses, energy, cost; or the answer to an inverse question.
#[wasm_bindgen(js_name = wholeRun)]
pub fn whole_run(request: JsValue) -> JsValue {
    late(|second| (second.whole_run)(request))
}

/// The step of reinforcement learning of a Run with `rl.*`, and the steps of other splits.
#[wasm_bindgen(js_name = rl)]
pub fn rl_step(request: JsValue) -> JsValue {
    late(|second| (second.rl)(request))
}

/// One line of the command line (tools/npm) as the object to be printed; undefined where `verb` is none.
#[wasm_bindgen(js_name = answerLine)]
pub fn answer_line(verb: &str, line: &str) -> JsValue {
    let Some(verb) = Verb::named(verb) else {
        return JsValue::UNDEFINED;
    };
    late(|second| (second.answer)(verb, line))
}
