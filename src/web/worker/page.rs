//! The page's side: starts the worker when the first job comes, hands out replies, cancels.

use super::job::{Job, Pace, Reply, WorkerLane, from_bytes, to_bytes, turn};
use super::next_turn;
use super::slices::slices;
use crate::core::units::whole;
use js_sys::{Array, Function, Object, Promise, Reflect, Uint8Array};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use wasm_bindgen::prelude::{Closure, wasm_bindgen};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{Event, MessageEvent, Url, Worker, WorkerOptions, WorkerType};

#[wasm_bindgen]
extern "C" {
    /// The address of the module's JavaScript.
    #[wasm_bindgen(thread_local_v2, js_namespace = ["import", "meta"], js_name = url)]
    static MODULE_URL: String;
}

/// Progress of a job.
pub enum JobProgress {
    /// A part of the result.
    Reply(Reply),
    /// Everything has been replied.
    Done,
    /// The worker ended with a fault: no more will come.
    Failed,
}

/// A job that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobRequest(u32);

type Handler = Rc<RefCell<dyn FnMut(JobProgress)>>;

#[derive(Default)]
struct Connection {
    /// By lane.
    workers: [Option<Opening>; 2],
    waiting: BTreeMap<u32, Waiting>,
    last: u32,
}

/// A job that is not over.
#[derive(Clone)]
struct Waiting {
    lane: WorkerLane,
    handler: Handler,
    /// A worker has it.
    is_sent: bool,
}

/// A worker that was started.
#[derive(Clone)]
struct Opening {
    /// Resolves to the worker, or is rejected where there can be none.
    worker: Promise,
    /// What it says is heard as long as this is held; none where it could not be started.
    _heard: Rc<Option<Heard>>,
}

/// What listens to a worker; nothing of either is left when it is dropped.
struct Heard {
    worker: Worker,
    _receive: Closure<dyn FnMut(MessageEvent)>,
    _fail: Closure<dyn FnMut(Event)>,
}

impl Drop for Heard {
    fn drop(&mut self) {
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
    }
}

/// Milliseconds of work between two turns of the page's event loop: a frame stays in time.
const SLICE_MS: f64 = 8.0;

thread_local! {
    static CONNECTION: RefCell<Connection> = RefCell::default();
}

/// Starts `job`; `handle` is called with its progress until it is done or cancelled.
///
/// A background search, for instance: `let request = request(Job::Plan(PlanQuery::search(&run)), handle)` starts it,
/// `handle` gets `JobProgress::Reply(Reply::Plan(result))` as rows are found and `JobProgress::Done` at the end, and
/// `request.cancel()` before the next request drops it. Nothing of it runs on the page's thread but `handle`.
pub fn request(job: Job, handle: impl FnMut(JobProgress) + 'static) -> JobRequest {
    let lane = job.lane();
    let number = CONNECTION.with_borrow_mut(|connection| {
        connection.last += 1;
        let handler = Rc::new(RefCell::new(handle));
        connection.waiting.insert(connection.last, Waiting { lane, handler, is_sent: false });
        connection.last
    });
    spawn_local(async move {
        match worker(lane).await {
            Some(worker) => {
                let bytes = Uint8Array::from(&to_bytes(&job)[..]);
                if is_sent(number) {
                    let _ = worker.post_message(&Array::of2(&number.into(), &bytes));
                }
            }
            None => work_here(number, job).await,
        }
    });
    JobRequest(number)
}

impl JobRequest {
    /// Cancels the job: its handler is not called again. A search ends after its slice; a worker that simulates it and
    /// has nothing else to do is ended.
    pub(crate) fn cancel(self) {
        let cancelled = CONNECTION.with_borrow_mut(|connection| {
            let Waiting { lane, is_sent, .. } = connection.waiting.remove(&self.0)?;
            // A worker that does not have it yet never gets it.
            if !is_sent {
                return None;
            }
            let is_used = connection.waiting.values().any(|other| other.lane == lane);
            let ends = lane == WorkerLane::Simulation && !is_used;
            let worker = &mut connection.workers[lane as usize];
            let opening = if ends { worker.take() } else { worker.clone() };
            Some((opening?, ends))
        });
        let Some((opening, ends)) = cancelled else {
            return;
        };
        spawn_local(async move {
            let Some(worker) = opened(&opening).await else {
                return;
            };
            if ends {
                worker.terminate();
            } else {
                let _ = worker.post_message(&Array::of1(&self.0.into()));
            }
        });
    }
}

fn is_waiting(number: u32) -> bool {
    CONNECTION.with_borrow(|connection| connection.waiting.contains_key(&number))
}

/// Notes that a worker gets the job; false where it was cancelled.
fn is_sent(number: u32) -> bool {
    CONNECTION.with_borrow_mut(|connection| {
        let waiting = connection.waiting.get_mut(&number);
        waiting.map(|waiting| waiting.is_sent = true).is_some()
    })
}

/// Tells the handler of `number`, which may ask for more or cancel meanwhile.
fn tell(number: u32, progress: JobProgress) {
    let handler = CONNECTION.with_borrow_mut(|connection| match progress {
        JobProgress::Reply(_) => connection.waiting.get(&number).cloned(),
        JobProgress::Done | JobProgress::Failed => connection.waiting.remove(&number),
    });
    if let Some(Waiting { handler, .. }) = handler {
        handler.borrow_mut()(progress);
    }
}

/// The worker is gone, and with it all that was asked of it; the next job starts another.
fn fail_all(lane: WorkerLane) {
    let (gone, failed) = CONNECTION.with_borrow_mut(|connection| {
        let gone = connection.workers[lane as usize].take();
        let waiting = std::mem::take(&mut connection.waiting).into_iter();
        let (failed, others) = waiting.partition(|(_, of)| of.lane == lane);
        connection.waiting = others;
        (gone, failed)
    });
    // Its listeners are dropped once the one that called this has returned.
    spawn_local(async move { drop(gone) });
    let failed: BTreeMap<u32, Waiting> = failed;
    for Waiting { handler, .. } in failed.into_values() {
        handler.borrow_mut()(JobProgress::Failed);
    }
}

/// The job in the page itself: what fits a turn of the event loop at a time.
async fn work_here(number: u32, job: Job) {
    let pace = Pace { now: js_sys::Date::now, slice_ms: SLICE_MS };
    let Ok(mut slices) = slices(job, pace).await else {
        return tell(number, JobProgress::Failed);
    };
    loop {
        next_turn().await;
        if !is_waiting(number) {
            return;
        }
        let (replies, over) = turn(&mut *slices, pace);
        for reply in replies {
            tell(number, JobProgress::Reply(reply));
        }
        if over {
            return tell(number, JobProgress::Done);
        }
    }
}

async fn worker(lane: WorkerLane) -> Option<Worker> {
    let opening = CONNECTION.with_borrow(|connection| connection.workers[lane as usize].clone());
    let opening = opening.unwrap_or_else(|| {
        let mut heard = None;
        let worker = Promise::new(&mut |resolve, reject| match start(lane, &resolve, &reject) {
            Ok(started) => heard = Some(started),
            Err(_) => drop(reject.call0(&JsValue::UNDEFINED)),
        });
        let opening = Opening { worker, _heard: Rc::new(heard) };
        CONNECTION.with_borrow_mut(|connection| {
            connection.workers[lane as usize] = Some(opening.clone());
        });
        opening
    });
    opened(&opening).await
}

async fn opened(opening: &Opening) -> Option<Worker> {
    JsFuture::from(opening.worker.clone()).await.ok()?.dyn_into().ok()
}

/// Starts the worker with this very module, already compiled.
fn start(lane: WorkerLane, resolve: &Function, reject: &Function) -> Result<Heard, JsValue> {
    let worker = new_worker()?;
    let is_open = Rc::new(Cell::new(false));
    let (resolve, opened, opens) = (resolve.clone(), worker.clone(), Rc::clone(&is_open));
    let receive = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        let Some(message) = event.data().dyn_ref::<Array>().cloned() else {
            opens.set(true);
            let _ = resolve.call1(&JsValue::UNDEFINED, &opened);
            return;
        };
        let Some(number) = number_of(&message) else {
            return;
        };
        if message.length() == 1 {
            tell(number, JobProgress::Done);
        }
        for bytes in message.iter().skip(1) {
            let reply = from_bytes(&bytes.unchecked_into::<Uint8Array>().to_vec());
            tell(number, reply.map_or(JobProgress::Failed, JobProgress::Reply));
        }
    });
    worker.set_onmessage(Some(receive.as_ref().unchecked_ref()));

    let (reject, failed) = (reject.clone(), worker.clone());
    let fail = Closure::<dyn FnMut(Event)>::new(move |event: Event| {
        event.prevent_default();
        failed.terminate();
        if is_open.get() {
            fail_all(lane);
        } else {
            // Without a worker the page works itself.
            let _ = reject.call0(&JsValue::UNDEFINED);
        }
    });
    worker.set_onerror(Some(fail.as_ref().unchecked_ref()));

    send_module(&worker, "serveJobs")?;
    Ok(Heard { worker, _receive: receive, _fail: fail })
}

/// A worker that waits for its module.
pub(super) fn new_worker() -> Result<Worker, JsValue> {
    let address = Url::new_with_base("worker.js", &MODULE_URL.with(String::clone))?.href();
    let options = WorkerOptions::new();
    options.set_type(WorkerType::Module);
    Worker::new_with_options(&address, &options)
}

/// Gives it this very module, already compiled, and the name of the function that it serves with.
pub(super) fn send_module(worker: &Worker, serves: &str) -> Result<(), JsValue> {
    let first = Object::new();
    Reflect::set(&first, &"url".into(), &MODULE_URL.with(String::clone).into())?;
    Reflect::set(&first, &"module".into(), &wasm_bindgen::module())?;
    Reflect::set(&first, &"serves".into(), &serves.into())?;
    worker.post_message(&first)
}

/// The number of a message.
pub(crate) fn number_of(message: &Array) -> Option<u32> {
    let number = message.get(0).as_f64().and_then(whole)?;
    u32::try_from(number).ok()
}
