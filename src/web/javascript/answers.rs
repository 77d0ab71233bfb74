//! Functions for JavaScript that answer the calculator's own verbs.

use crate::core::advice;
use crate::core::calibrate::calibrate;
use crate::core::issue::Issue;
use crate::core::pipeline;
use crate::core::rl;
use crate::core::run::Value;
use crate::core::search::PlanRequest;
use crate::core::whole_run;
use crate::io::auto::{self, ChosenAnswer};
use crate::io::request::{self, Verb};
use crate::web::javascript::plain::{reply, value};
use crate::web::worker::next_turn;
use js_sys::Promise;
use serde::Serialize;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::future_to_promise;

/// An answer, with the layout that was chosen for it where it was.
fn reply_chosen<T: Serialize>(answer: Result<(T, Option<Value>), Vec<Issue>>) -> JsValue {
    match answer {
        Ok((answer, Some(chosen))) => reply(Ok(ChosenAnswer::new(answer, chosen))),
        other => reply(other.map(|(answer, _)| answer)),
    }
}

pub(super) fn report(run: JsValue) -> JsValue {
    let answer = || {
        let (run, chosen) = auto::resolved(&value(run)?)?;
        Ok((advice::report_value(&run).map_err(|no| no.errors)?, chosen))
    };
    reply_chosen(answer())
}

pub(super) fn schedule(request: JsValue) -> JsValue {
    reply(value(request).and_then(|request| pipeline::request::answer(&request)))
}

pub(super) fn certify(run: JsValue) -> JsValue {
    let answer = || {
        let (run, chosen) = auto::resolved(&value(run)?)?;
        Ok((advice::certify::certify(&run)?, chosen))
    };
    reply_chosen(answer())
}

/// Units of a search between two turns of the event loop: some milliseconds.
const SLICE: u64 = 4000;

pub(super) fn plan(request: JsValue) -> Promise {
    future_to_promise(async move {
        let read = value(request).and_then(|request| PlanRequest::from_value(&auto::unasked(&request)?));
        let mut request = match read {
            Ok(request) => request,
            Err(errors) => return Ok(reply(Err::<(), _>(errors))),
        };
        while !request.search.step(SLICE).is_over() {
            next_turn().await;
        }
        Ok(reply(Ok(request.plan())))
    })
}

pub(super) fn calibrated(request: JsValue) -> JsValue {
    reply(value(request).and_then(|request| calibrate(&request)))
}

pub(super) fn whole(request: JsValue) -> JsValue {
    let answer = || {
        let (request, chosen) = auto::resolved(&value(request)?)?;
        Ok((whole_run::answer(&request)?, chosen))
    };
    reply_chosen(answer())
}

pub(super) fn rl_step(request: JsValue) -> JsValue {
    reply(value(request).and_then(|request| rl::answer(&request)))
}

/// One line of the command line, as the object to be printed.
pub(super) fn line(verb: Verb, line: &str) -> JsValue {
    reply(request::answer(verb, line))
}
