//! A file that is read by a worker of its own: the page stays quick, a stop ends the worker at once, and with the
//! worker goes all memory that the reading took.
//!
//! The page sends `[run, file]` once the worker is open. The worker posts `[bytes]` while it reads, and at the end
//! what was read in the form of `to_bytes`, or null where it could not read at all. The worker's side: `web::reader`.

use super::job::to_bytes;
use super::page::{new_worker, send_module};
use crate::core::run::Run;
use js_sys::{Array, Function, Promise, Uint8Array};
use std::cell::Cell;
use std::rc::Rc;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Event, File, MessageEvent, Worker};

/// How the reading of a file ended.
pub(crate) enum FileEnd {
    /// What was read, in the form of `to_bytes`.
    Read(Uint8Array),
    /// There can be no worker here: the page reads the file itself.
    NoWorker,
    /// The worker ended with a fault; a file that needs more memory than the browser gives does that.
    Failed,
    Stopped,
}

/// A file that a worker reads. The worker ends when this is dropped.
pub(crate) struct FileReading {
    worker: Worker,
    end: Function,
    promise: Promise,
    _receive: Closure<dyn FnMut(MessageEvent)>,
    _fail: Closure<dyn FnMut(Event)>,
}

/// What the promise resolves to where no bytes came.
const NO_WORKER: f64 = 0.0;
const FAILED: f64 = 1.0;

impl FileReading {
    /// Starts to read `file`; settings that it leaves out are those of `run`. `told` is given the bytes that were read
    /// so far.
    pub fn start(file: &File, run: &Run, mut told: impl FnMut(f64) + 'static) -> Result<Self, JsValue> {
        let worker = new_worker()?;
        let request = Array::of2(&Uint8Array::from(&to_bytes(run)[..]), file);
        let mut end = None;
        let promise = Promise::new(&mut |resolve, _| end = Some(resolve));
        let end = end.ok_or(JsValue::NULL)?;
        let is_open = Rc::new(Cell::new(false));
        let (opens, opened, ends) = (Rc::clone(&is_open), worker.clone(), end.clone());
        let receive = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            let data = event.data();
            let Some(message) = data.dyn_ref::<Array>() else {
                opens.set(true);
                let _ = opened.post_message(&request);
                return;
            };
            let first = message.get(0);
            match first.as_f64() {
                Some(read) => told(read),
                None if first.is_instance_of::<Uint8Array>() => drop(ends.call1(&JsValue::UNDEFINED, &first)),
                None => drop(ends.call1(&JsValue::UNDEFINED, &FAILED.into())),
            }
        });
        worker.set_onmessage(Some(receive.as_ref().unchecked_ref()));
        let failed = end.clone();
        let fail = Closure::<dyn FnMut(Event)>::new(move |event: Event| {
            event.prevent_default();
            let why = if is_open.get() { FAILED } else { NO_WORKER };
            let _ = failed.call1(&JsValue::UNDEFINED, &why.into());
        });
        worker.set_onerror(Some(fail.as_ref().unchecked_ref()));
        send_module(&worker, "serveFile")?;
        Ok(Self { worker, end, promise, _receive: receive, _fail: fail })
    }

    /// Resolves when it ends.
    pub fn ended(&self) -> impl Future<Output = FileEnd> + use<> {
        let ended = JsFuture::from(self.promise.clone());
        async move {
            match ended.await {
                Ok(bytes) if bytes.is_instance_of::<Uint8Array>() => FileEnd::Read(bytes.unchecked_into()),
                Ok(why) if why.as_f64() == Some(NO_WORKER) => FileEnd::NoWorker,
                Ok(why) if why.is_undefined() => FileEnd::Stopped,
                _ => FileEnd::Failed,
            }
        }
    }
}

impl Drop for FileReading {
    fn drop(&mut self) {
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
        self.worker.terminate();
        let _ = self.end.call0(&JsValue::UNDEFINED);
    }
}
