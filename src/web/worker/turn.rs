//! A turn of the event loop, in a page, a worker or Node.

use js_sys::{Function, Promise, Reflect};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

/// Lets everything else of the event loop run once: input, painting, messages.
pub(crate) async fn next_turn() {
    let promise = Promise::new(&mut |resolve, _| {
        let global = js_sys::global();
        let timer = Reflect::get(&global, &JsValue::from_str("setTimeout"));
        let timer = timer.ok().and_then(|timer| timer.dyn_into::<Function>().ok());
        let timer_set = timer.and_then(|timer| timer.call1(&JsValue::UNDEFINED, &resolve).ok());
        // An environment without timers goes on at once.
        if timer_set.is_none() {
            let _ = resolve.call0(&JsValue::UNDEFINED);
        }
    });
    let _ = JsFuture::from(promise).await;
}
