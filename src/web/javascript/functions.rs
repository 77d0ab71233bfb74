//! The functions for JavaScript that are loaded by `init`: a visitor of the page needs none of them.

use crate::io::request::Verb;
use crate::web::javascript::{answers, settings};
use crate::web::late::parts;
use js_sys::Promise;
use wasm_bindgen::JsValue;

parts! {
    second: late_functions() -> Functions = functions();
}

/// As [`crate::web::javascript`] calls them once they are loaded.
#[derive(Clone, Copy)]
pub(crate) struct Functions {
    pub(crate) report: fn(JsValue) -> JsValue,
    pub(crate) schedule: fn(JsValue) -> JsValue,
    pub(crate) certify: fn(JsValue) -> JsValue,
    pub(crate) plan: fn(JsValue) -> Promise,
    pub(crate) calibrate: fn(JsValue) -> JsValue,
    pub(crate) whole_run: fn(JsValue) -> JsValue,
    pub(crate) rl: fn(JsValue) -> JsValue,
    pub(crate) answer: fn(Verb, &str) -> JsValue,
    pub(crate) import: fn(JsValue, JsValue, JsValue) -> JsValue,
    pub(crate) export: fn(JsValue, JsValue, JsValue) -> JsValue,
    pub(crate) log: fn(JsValue, JsValue) -> JsValue,
    pub(crate) diagnose: fn(JsValue, JsValue) -> Promise,
}

/// All of them.
pub(crate) fn functions() -> Functions {
    Functions {
        report: answers::report,
        schedule: answers::schedule,
        certify: answers::certify,
        plan: answers::plan,
        calibrate: answers::calibrated,
        whole_run: answers::whole,
        rl: answers::rl_step,
        answer: answers::line,
        import: settings::import,
        export: settings::written,
        log: settings::log,
        diagnose: settings::diagnosed,
    }
}
