//! Reads a file that a run left behind: in a worker of its own, which is served here, or in the page where there can be
//! none. The worker that holds large files and diagnoses them is served here as well.

use crate::core::issue::Issue;
use crate::core::message::Message;
use crate::core::run::Run;
use crate::core::t;
use crate::core::units::whole;
use crate::io::evidence::{EvidenceFile, EvidenceReader, SentAnswer, SentFile, answer};
use crate::web::late::parts;
use crate::web::worker::job::{from_bytes, to_bytes};
use crate::web::worker::number_of;
use js_sys::{Array, Uint8Array};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::Pin;
use wasm_bindgen::prelude::{Closure, wasm_bindgen};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{DedicatedWorkerGlobalScope, File, MessageEvent};

parts! {
    second: evidence_bytes(file: File, run: Run, told: Box<dyn FnMut(f64)>) -> ReadBytes
        = Box::pin(read_bytes(file, run, told));
    second: evidence_answer(run: Run, numbers: Vec<u32>) -> Vec<u8> = answer_bytes(&run, &numbers);
}

/// What a worker makes of a file, as bytes; none where the browser does not give the file.
type ReadBytes = Pin<Box<dyn Future<Output = Option<Vec<u8>>>>>;

/// Bytes that are read at once: at first, at least and at most.
const PIECE: [f64; 3] = [262_144.0, 65_536.0, 4_194_304.0];
/// Milliseconds that a piece should take in the page: less than a frame.
pub(crate) const FRAME_MS: f64 = 9.0;
/// Milliseconds that a piece should take in a worker: progress is told ten times a second.
const WORKER_MS: f64 = 100.0;

/// Takes a file from now on, and posts "open". What it is sent and posts: `web::worker::file`.
#[wasm_bindgen(js_name = serveFile)]
pub fn serve_file() {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let post = scope.clone();
    let receive = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        let message = Array::from(&event.data());
        let run = message.get(0).dyn_into::<Uint8Array>().ok();
        let run = run.and_then(|bytes| from_bytes(&bytes.to_vec())).unwrap_or_default();
        if let Ok(file) = message.get(1).dyn_into::<File>() {
            wasm_bindgen_futures::spawn_local(serve(post.clone(), file, run));
        }
    });
    scope.set_onmessage(Some(receive.as_ref().unchecked_ref()));
    // Lives as long as the worker.
    receive.forget();
    let _ = scope.post_message(&JsValue::from_str("open"));
}

/// Reads `file`, posts how far it is and what was read.
async fn serve(scope: DedicatedWorkerGlobalScope, file: File, run: Run) {
    let post = scope.clone();
    let told = Box::new(move |read: f64| drop(post.post_message(&Array::of1(&read.into()))));
    let bytes = match evidence_bytes(file, run, told).await {
        Ok(reading) => reading.await,
        Err(_) => None,
    };
    let _ = match bytes {
        Some(bytes) => {
            let bytes = Uint8Array::from(&bytes[..]);
            scope.post_message_with_transfer(&Array::of1(&bytes), &Array::of1(&bytes.buffer()))
        }
        None => scope.post_message(&Array::of1(&JsValue::NULL)),
    };
}

/// A file that the worker holds: as it came, or unpacked once it was asked for.
enum HeldEvidence {
    Bytes(Vec<u8>),
    Read(Result<EvidenceFile, Vec<Issue>>),
}

thread_local! {
    static HELD: RefCell<BTreeMap<u32, HeldEvidence>> = const { RefCell::new(BTreeMap::new()) };
}

/// Holds and diagnoses files from now on, and posts "open". What it is sent and posts: `web::worker::evidence`.
#[wasm_bindgen(js_name = serveEvidence)]
pub fn serve_evidence() {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let post = scope.clone();
    let receive = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        let message = Array::from(&event.data());
        let (Some(number), Ok(bytes)) = (number_of(&message), message.get(1).dyn_into::<Uint8Array>()) else {
            return;
        };
        let bytes = bytes.to_vec();
        if message.length() == 2 {
            HELD.with_borrow_mut(|held| held.insert(number, HeldEvidence::Bytes(bytes)));
            return;
        }
        let numbers = Array::from(&message.get(2)).into_iter().filter_map(|one| whole(one.as_f64()?));
        let numbers = numbers.filter_map(|one| u32::try_from(one).ok()).collect();
        let (post, run) = (post.clone(), from_bytes(&bytes).unwrap_or_default());
        wasm_bindgen_futures::spawn_local(async move {
            let bytes = evidence_answer(run, numbers).await.unwrap_or_default();
            let bytes = Uint8Array::from(&bytes[..]);
            let message = Array::of2(&number.into(), &bytes);
            let _ = post.post_message_with_transfer(&message, &Array::of1(&bytes.buffer()));
        });
    });
    scope.set_onmessage(Some(receive.as_ref().unchecked_ref()));
    // Lives as long as the worker.
    receive.forget();
    let _ = scope.post_message(&JsValue::from_str("open"));
}

/// The answer for files that are held, by their numbers; others are forgotten.
fn answer_bytes(run: &Run, numbers: &[u32]) -> Vec<u8> {
    HELD.with_borrow_mut(|held| {
        held.retain(|number, _| numbers.contains(number));
        for file in held.values_mut() {
            if let HeldEvidence::Bytes(bytes) = file {
                let bytes = std::mem::take(bytes);
                *file = HeldEvidence::Read(from_bytes::<SentFile>(&bytes).map_or_else(unreadable, Into::into));
            }
        }
        let files = numbers.iter().filter_map(|number| match held.get(number)? {
            HeldEvidence::Read(read) => Some(read),
            HeldEvidence::Bytes(_) => None,
        });
        to_bytes(&SentAnswer::from(answer(&files.collect::<Vec<_>>(), run)))
    })
}

pub(crate) fn unreadable() -> Result<EvidenceFile, Vec<Issue>> {
    Err(vec![Issue::error("files", Message::from("The file cannot be read."))])
}

/// Reads `file` from its beginning to its end, as many bytes at once as take `pace` milliseconds; none where it was
/// stopped.
pub(crate) async fn pieces(
    file: &File,
    run: &Run,
    pace: f64,
    mut told: impl FnMut(f64),
    stopped: impl Fn() -> bool,
) -> Option<Result<EvidenceFile, Vec<Issue>>> {
    let size = file.size();
    let (mut reader, mut at, mut piece) = (EvidenceReader::default(), 0.0, PIECE[0]);
    while at < size {
        let end = (at + piece).min(size);
        let slice = file.slice_with_f64_and_f64(at, end).ok()?;
        let Ok(bytes) = JsFuture::from(slice.array_buffer()).await else {
            reader.broken(Issue::error("files", t!("The file cannot be read.")));
            break;
        };
        if stopped() {
            return None;
        }
        let begun = js_sys::Date::now();
        if reader.push(&Uint8Array::new(&bytes).to_vec()).is_err() {
            break;
        }
        let took = (js_sys::Date::now() - begun).max(1.0);
        // Half way to the length that takes the time that it should.
        piece = f64::midpoint(piece, piece * (pace / took).clamp(0.25, 4.0)).clamp(PIECE[1], PIECE[2]);
        at = end;
        told(at);
    }
    Some(reader.finish(run))
}

/// What [`pieces`] reads of `file` inside a worker, as bytes that can be sent to the page; none where reading stopped.
async fn read_bytes(file: File, run: Run, told: Box<dyn FnMut(f64)>) -> Option<Vec<u8>> {
    let read = pieces(&file, &run, WORKER_MS, told, || false).await?;
    Some(to_bytes(&SentFile::from(read)))
}
