//! Large files that were read are held and diagnosed by a worker of their own: the page gets the answer and no kernels.
//!
//! The page sends `[number, bytes]`, a file in the form of `to_bytes`, and `[turn, run, numbers]`, which asks for the
//! diagnosis of those files; all others are forgotten. The worker posts `[turn, bytes]`, a `SentAnswer`. The worker's
//! side: `web::reader`.

use super::job::to_bytes;
use super::page::{new_worker, number_of, send_module};
use crate::core::run::Run;
use js_sys::{Array, Uint8Array};
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Event, MessageEvent, Worker};

/// Messages with what they hand over, until the worker is open.
type Waiting = Rc<RefCell<Option<Vec<(Array, Array)>>>>;

/// A worker that holds files. It ends when this is dropped, and all memory of the files with it.
pub(crate) struct EvidenceWorker {
    worker: Worker,
    waiting: Waiting,
    _receive: Closure<dyn FnMut(MessageEvent)>,
    _fail: Closure<dyn FnMut(Event)>,
}

impl EvidenceWorker {
    /// Starts one; `answered` is given turns with the bytes of their answers, and none once it has ended with a fault.
    pub fn start(answered: impl Fn(Option<(u32, Vec<u8>)>) + 'static) -> Result<Self, JsValue> {
        let worker = new_worker()?;
        let waiting: Waiting = Rc::new(RefCell::new(Some(Vec::new())));
        let answered = Rc::new(answered);
        let (opens, opened, answers) = (Rc::clone(&waiting), worker.clone(), Rc::clone(&answered));
        let receive = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            let Some(message) = event.data().dyn_ref::<Array>().cloned() else {
                for (message, transfer) in opens.borrow_mut().take().unwrap_or_default() {
                    let _ = opened.post_message_with_transfer(&message, &transfer);
                }
                return;
            };
            let bytes = message.get(1).dyn_into::<Uint8Array>().ok();
            if let Some((turn, bytes)) = number_of(&message).zip(bytes) {
                answers(Some((turn, bytes.to_vec())));
            }
        });
        worker.set_onmessage(Some(receive.as_ref().unchecked_ref()));
        let fail = Closure::<dyn FnMut(Event)>::new(move |event: Event| {
            event.prevent_default();
            answered(None);
        });
        worker.set_onerror(Some(fail.as_ref().unchecked_ref()));
        send_module(&worker, "serveEvidence")?;
        Ok(Self { worker, waiting, _receive: receive, _fail: fail })
    }

    /// Hands a file over.
    pub fn hold(&self, number: u32, bytes: &Uint8Array) {
        self.post(Array::of2(&number.into(), bytes), Array::of1(&bytes.buffer()));
    }

    /// Asks for the diagnosis of files.
    pub fn ask(&self, turn: u32, run: &Run, numbers: &[u32]) {
        let numbers: Array = numbers.iter().map(|number| JsValue::from(*number)).collect();
        let run = Uint8Array::from(&to_bytes(run)[..]);
        self.post(Array::of3(&turn.into(), &run, &numbers), Array::new());
    }

    fn post(&self, message: Array, transfer: Array) {
        match &mut *self.waiting.borrow_mut() {
            Some(waiting) => waiting.push((message, transfer)),
            None => drop(self.worker.post_message_with_transfer(&message, &transfer)),
        }
    }
}

impl Drop for EvidenceWorker {
    fn drop(&mut self) {
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
        self.worker.terminate();
    }
}
