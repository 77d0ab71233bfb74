//! What JavaScript may call: plain objects in, plain objects out. Importing the package mounts nothing, and nothing
//! throws for what it is given.

mod plain;

use crate::core::issue::{Issue, Severity};
use crate::core::pipeline;
use crate::core::report::{self, Refusal};
use crate::core::run::{Run, Value};
use crate::core::search::Request;
use crate::core::search::desk::Desk;
use crate::core::units::MemoryUnit;
use crate::io::courier;
use crate::io::export::Stamp;
use crate::web::panels::{self, Question, room};
use crate::{io, view};
use js_sys::{Array, Float64Array, Function, Promise, Reflect};
use plain::{text, value};
use serde::Serialize;
use serde_wasm_bindgen::Serializer;
use std::cell::RefCell;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

/// The version of the calculator.
#[wasm_bindgen]
#[must_use]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// The report of a Run.
#[wasm_bindgen(js_name = report)]
#[must_use]
pub fn report_door(run: JsValue) -> JsValue {
    reply(value(run).and_then(|run| report::report_value(&run).map_err(|no| no.errors)))
}

/// One schedule under given durations.
#[wasm_bindgen(js_name = schedule)]
#[must_use]
pub fn schedule_door(request: JsValue) -> JsValue {
    reply(value(request).and_then(|request| pipeline::request::answer(&request)))
}

/// Units of a search between two turns of the event loop: some milliseconds.
const SLICE: u64 = 4000;

/// The best layouts of a Run: a promise, worked on in slices so that the page around it stays alive.
#[wasm_bindgen(js_name = plan)]
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
        link.notices
            .sort_by_key(|issue| issue.severity != Severity::Warning);
        Decoded {
            errors: Vec::new(),
            run: link.run.to_value(),
            notices: link.notices,
        }
    }))
}

#[derive(Serialize)]
struct Imported {
    errors: Vec<Issue>,
    format: String,
    run: Value,
    used: Vec<(String, String)>,
    assumed: Vec<String>,
    ignored: Vec<String>,
}

/// The Run that a text of another program, a link or an export means; what it does not say is as in `run`.
#[wasm_bindgen(js_name = importText)]
#[must_use]
pub fn import_text(of: JsValue, run: JsValue) -> JsValue {
    let read = || {
        let present = Run::from_value(&value(run)?)?;
        io::import::read(&text(of, "an import")?, &present)
    };
    reply(read().map(|read| Imported {
        errors: Vec::new(),
        format: read.format,
        run: read.run.to_value(),
        used: read.used,
        assumed: read.assumed,
        ignored: read.ignored,
    }))
}

#[derive(Serialize)]
struct Exported {
    errors: Vec<Issue>,
    text: String,
}

/// A Run in one of the forms of [`io::export::FORMATS`]; `stamp` may hold `date` and `address`.
#[wasm_bindgen(js_name = exportRun)]
#[must_use]
pub fn export_run(run: JsValue, format: JsValue, stamp: JsValue) -> JsValue {
    let written = move || {
        let run = Run::from_value(&value(run)?)?;
        let stamp = value(stamp)?;
        let said = |key: &str| match stamp.get(key) {
            Some(Value::Text(text)) => Ok(text.clone()),
            None | Some(Value::Null) => Ok(String::new()),
            Some(other) => {
                let message = format!("{key} takes text, this is {}", other.kind());
                Err(vec![Issue::error(key, message)])
            }
        };
        let (date, address) = (said("date")?, said("address")?);
        let stamp = Stamp {
            date: &date,
            address: &address,
        };
        io::export::export(&run, &text(format, "a format")?, &stamp)
    };
    reply(written().map(|text| Exported {
        errors: Vec::new(),
        text,
    }))
}

/// Today as an ISO date, in universal time.
fn today() -> String {
    let now = String::from(js_sys::Date::new_0().to_iso_string());
    now.split('T').next().unwrap_or_default().to_owned()
}

/// An answer of the page's back room: a panel as HTML text, or a simulation as [`io::courier`] packs it; `address` is
/// the page's own, for links.
#[wasm_bindgen]
#[must_use]
pub fn answer(
    name: JsValue,
    of: JsValue,
    unit: JsValue,
    link: JsValue,
    address: JsValue,
) -> JsValue {
    let made = || {
        let link = text(link, "a link")?;
        let name = text(name, "a panel's name")?;
        if name == "timed" {
            return Ok(timed(&link));
        }
        let (of, unit) = (text(of, "a question")?, text(unit, "a unit")?);
        let address = text(address, "an address")?;
        let html = panel(&name, &of, &unit, &link, &address);
        Ok(JsValue::from_str(&html))
    };
    made().unwrap_or_else(|errors| reply(Err::<(), _>(errors)))
}

/// The pipeline of a link's Run: numbers and warnings, or what is wrong as text.
fn timed(link: &str) -> JsValue {
    match report::time(&io::link::decode(link).run) {
        Ok(timed) => Array::of2(
            &Float64Array::from(&courier::pack(&timed)[..]),
            &JsValue::from_str(&courier::issue_lines(&timed.warnings)),
        )
        .into(),
        Err(errors) => JsValue::from_str(&courier::issue_lines(&errors)),
    }
}

/// A panel as HTML text: see [`back::PANELS`].
fn panel(name: &str, of: &str, unit: &str, link: &str, address: &str) -> String {
    let unit = if unit == MemoryUnit::Gb.name() {
        MemoryUnit::Gb
    } else {
        MemoryUnit::Gib
    };
    let run = io::link::decode(link).run;
    if name == "room" {
        let stamp = Stamp {
            date: &today(),
            address,
        };
        return room(of, &run, &stamp).into_string();
    }
    if name == "plan" {
        return planned(&run, of, unit);
    }
    report::evaluate(&run).map_or_else(
        |_| String::new(),
        |evaluation| {
            panels::panel(
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
    /// The page's plan, kept between its turns.
    static DESK: RefCell<Option<Desk>> = const { RefCell::new(None) };
}

/// The plan of `run`: does what `of` says, works for a slice, and says how far it is. The page asks again while the text
/// holds `data-more`.
fn planned(run: &Run, of: &str, unit: MemoryUnit) -> String {
    DESK.with_borrow_mut(|kept| {
        match kept {
            Some(desk) => desk.look_at(run),
            None => *kept = Desk::new(run).ok(),
        }
        let Some(desk) = kept else {
            let words = "This run has no model, GPU or precision to plan for.";
            return format!(
                "\n{}",
                view::markup::leaf("p", "muted", words).into_string()
            );
        };
        desk.hear(of);
        let over = desk.step(slice());
        view::plan::panel(desk, over, unit, io::link::encode)
    })
}

/// Units of a slice of the page's plan: a tenth of a second in a worker, which nothing waits for; short in the page.
fn slice() -> u64 {
    let in_page = Reflect::has(&js_sys::global(), &JsValue::from_str("document"));
    if in_page.unwrap_or(true) {
        SLICE
    } else {
        8 * SLICE
    }
}

fn reply<T: Serialize>(answer: Result<T, Vec<Issue>>) -> JsValue {
    let plain = Serializer::json_compatible();
    let written = match answer {
        Ok(answer) => answer.serialize(&plain),
        Err(errors) => Refusal { errors }.serialize(&plain),
    };
    written.unwrap_or(JsValue::NULL)
}
