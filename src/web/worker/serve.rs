//! The worker's side: takes jobs, posts replies.

use super::job::{Job, Pace, from_bytes, to_bytes, turn};
use super::next_turn;
use super::slices::slices;
use js_sys::{Array, Uint8Array};
use std::cell::RefCell;
use std::collections::BTreeSet;
use wasm_bindgen::prelude::{Closure, wasm_bindgen};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent};

/// Milliseconds of work between two turns: a cancelled search ends after one slice.
const SLICE_MS: f64 = 30.0;

thread_local! {
    /// Jobs that are under way.
    static ACTIVE: RefCell<BTreeSet<u32>> = const { RefCell::new(BTreeSet::new()) };
}

/// Takes jobs from now on, and posts "open": `[number, job]` starts one, `[number]` cancels it; `[number, reply, ...]`
/// are parts of its result, `[number]` its end.
#[wasm_bindgen(js_name = serveJobs)]
pub fn serve_jobs() {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let post = scope.clone();
    let receive = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        let message = Array::from(&event.data());
        let Some(number) = super::page::number_of(&message) else {
            return;
        };
        let bytes = message.get(1).dyn_into::<Uint8Array>();
        match bytes.ok().and_then(|bytes| from_bytes(&bytes.to_vec())) {
            Some(job) => {
                ACTIVE.with_borrow_mut(|active| active.insert(number));
                wasm_bindgen_futures::spawn_local(work(post.clone(), number, job));
            }
            None => {
                ACTIVE.with_borrow_mut(|active| active.remove(&number));
            }
        }
    });
    scope.set_onmessage(Some(receive.as_ref().unchecked_ref()));
    // Lives as long as the worker.
    receive.forget();
    let _ = scope.post_message(&JsValue::from_str("open"));
}

async fn work(scope: DedicatedWorkerGlobalScope, number: u32, job: Job) {
    let pace = Pace { now: js_sys::Date::now, slice_ms: SLICE_MS };
    let Ok(mut slices) = slices(job, pace).await else {
        // The page hears of it as of any fault of a worker.
        wasm_bindgen::throw_str("the part that works on jobs did not arrive");
    };
    loop {
        let (replies, over) = turn(&mut *slices, pace);
        if !ACTIVE.with_borrow(|active| active.contains(&number)) {
            return;
        }
        // One message for all of them: the page shows them together.
        if !replies.is_empty() {
            let (message, transfer) = (Array::of1(&number.into()), Array::new());
            for reply in replies {
                let bytes = Uint8Array::from(&to_bytes(&reply)[..]);
                transfer.push(&bytes.buffer());
                message.push(&bytes);
            }
            let _ = scope.post_message_with_transfer(&message, &transfer);
        }
        if over {
            break;
        }
        next_turn().await;
    }
    ACTIVE.with_borrow_mut(|active| active.remove(&number));
    let _ = scope.post_message(&Array::of1(&number.into()));
}
