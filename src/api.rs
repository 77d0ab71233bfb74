//! What JavaScript may call: plain objects in, plain objects out. Importing the package mounts nothing.

use crate::issue::{Issue, Severity};
use crate::report::{self, Refusal};
use crate::run::{Run, Value};
use crate::search::Request;
use crate::share::courier;
use crate::share::import::{huggingface, summary::summary};
use crate::share::panels::Question;
use crate::units::MemoryUnit;
use crate::{pipeline, scene, search, share};
use js_sys::{Array, Float64Array, Function, Promise, Reflect};
use serde::Serialize;
use serde_wasm_bindgen::Serializer;
use std::cell::RefCell;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

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

/// Units of a search between two turns of the event loop: some milliseconds.
const SLICE: u64 = 4000;

/// The best layouts of a Run: a promise, worked on in slices so that the page around it stays alive.
#[wasm_bindgen(js_name = plan, skip_typescript)]
pub async fn plan_door(request: JsValue) -> JsValue {
    let read = value(request).and_then(|request| Request::from_value(&request));
    let mut request = match read {
        Ok(request) => request,
        Err(errors) => return reply(Err::<(), _>(errors)),
    };
    while !request.search.step(SLICE).done {
        turn().await;
    }
    reply(Ok(request.plan()))
}

/// Lets everything else of the event loop run once.
async fn turn() {
    let promise = Promise::new(&mut |resolve, _| {
        let global = js_sys::global();
        let timer = Reflect::get(&global, &JsValue::from_str("setTimeout"));
        let timer = timer
            .ok()
            .and_then(|timer| timer.dyn_into::<Function>().ok());
        // Where there are no timers, going on at once is all that is left.
        let set = timer.and_then(|timer| timer.call1(&JsValue::UNDEFINED, &resolve).ok());
        if set.is_none() {
            let _ = resolve.call0(&JsValue::UNDEFINED);
        }
    });
    let _ = JsFuture::from(promise).await;
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

/// An answer of the page's back room: a panel as HTML text, or a simulation as [`share::courier`] packs it.
#[wasm_bindgen(skip_typescript)]
#[must_use]
pub fn answer(name: &str, of: &str, unit: &str, link: &str) -> JsValue {
    if name == "timed" {
        return timed(link);
    }
    JsValue::from_str(&panel(name, of, unit, link))
}

/// The pipeline of a link's Run: numbers and warnings, or what is wrong as text.
fn timed(link: &str) -> JsValue {
    match report::time(&share::link::decode(link).run) {
        Ok(timed) => Array::of2(
            &Float64Array::from(&courier::pack(&timed)[..]),
            &JsValue::from_str(&courier::issue_lines(&timed.warnings)),
        )
        .into(),
        Err(errors) => JsValue::from_str(&courier::issue_lines(&errors)),
    }
}

/// A panel as HTML text: see [`share::panels`].
fn panel(name: &str, of: &str, unit: &str, link: &str) -> String {
    let unit = if unit == MemoryUnit::Gb.name() {
        MemoryUnit::Gb
    } else {
        MemoryUnit::Gib
    };
    if name == "import" {
        return import(of);
    }
    let run = share::link::decode(link).run;
    if name == "plan" {
        return planned(&run, unit);
    }
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

thread_local! {
    /// The plan that the page last asked for, kept between its turns.
    static PLAN: RefCell<Option<(Run, Request)>> = const { RefCell::new(None) };
}

/// The plan of `run`: one slice of work on it, and how far it is; its rows once it is over. The page asks again while
/// the text holds `data-more`.
fn planned(run: &Run, unit: MemoryUnit) -> String {
    PLAN.with_borrow_mut(|kept| {
        let question = Request::question(run);
        if kept.as_ref().is_none_or(|(known, _)| *known != question) {
            *kept = Request::new(&question, &[], search::TOP)
                .ok()
                .map(|request| (question, request));
        }
        let Some((question, request)) = kept else {
            let words = "This run has no model, GPU or precision to plan for.";
            return scene::markup::span("p", "muted", words).into_string();
        };
        let progress = request.search.step(SLICE);
        if !progress.done {
            return scene::plan::progress(&progress).into_string();
        }
        let walk = search::recipe::walk(question, request.search.best().first());
        scene::plan::plan(&request.plan(), &walk, unit, share::link::encode).into_string()
    })
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
