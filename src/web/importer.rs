//! The second WebAssembly module: the readers and writers of other programs' settings, which the page loads when a text is
//! imported or exported; the JavaScript package loads it in `init`.

use crate::core::calibrate::calibrate;
use crate::core::issue::Issue;
use crate::core::run::{Run, Value};
use crate::io::asked::Asked;
use crate::io::export::{self, Stamp};
use crate::io::import::{self, Reading};
use crate::io::logs::{
    self,
    asked::{Open, Piece},
};
use crate::io::request::{self, Exported, Imported, Measured};
use crate::web::plain::{reply, text, value};
use crate::web::worker::job::{from_bytes, to_bytes};
use std::cell::RefCell;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// The Run that a text of another program, a link or an export means; what it does not say is as in `run`.
#[wasm_bindgen(js_name = importText)]
#[must_use]
pub fn import_text(of: JsValue, run: JsValue) -> JsValue {
    let read = || {
        let present = Run::from_value(&value(run)?)?;
        import::read(&text(of, "an import")?, &present)
    };
    reply(read().map(Imported::from))
}

/// A Run in one of the forms of [`export::FORMATS`]; `stamp` may hold `date` and `address`.
#[wasm_bindgen(js_name = exportRun)]
#[must_use]
pub fn export_run(run: JsValue, format: JsValue, stamp: JsValue) -> JsValue {
    let written = move || {
        let run = Run::from_value(&value(run)?)?;
        let stamp = value(stamp)?;
        let text_of = |key: &str| match stamp.get(key) {
            Some(Value::Text(text)) => Ok(text.clone()),
            None | Some(Value::Null) => Ok(String::new()),
            Some(other) => {
                let message = format!("{key} takes text, this is {}", other.kind());
                Err(vec![Issue::error(key, message)])
            }
        };
        let (date, address) = (text_of("date")?, text_of("address")?);
        let stamp = Stamp {
            date: &date,
            address: &address,
        };
        export::export(&run, &text(format, "a format")?, &stamp)
    };
    reply(written().map(Exported::from))
}

/// What a log, a benchmark's output, a trace or a memory snapshot measured; what it does not say of its run is as in `run`.
#[wasm_bindgen(js_name = readLog)]
#[must_use]
pub fn read_log(of: JsValue, run: JsValue) -> JsValue {
    let read = || {
        let present = Run::from_value(&value(run)?)?;
        logs::read(&text(of, "a log")?, &present)
    };
    reply(read().map(Measured::from))
}

/// A line of the verb `log` of the `shardscope` command as the object to be printed.
#[wasm_bindgen(js_name = logLine)]
#[must_use]
pub fn log_line(line: &str) -> JsValue {
    reply(request::log(line))
}

/// A line of the verb `import` of the `shardscope` command (tools/npm) as the object to be printed.
#[wasm_bindgen(js_name = importLine)]
#[must_use]
pub fn import_line(line: &str) -> JsValue {
    reply(request::import(line))
}

/// A line of the verb `export` of the `shardscope` command (tools/npm) as the object to be printed.
#[wasm_bindgen(js_name = exportLine)]
#[must_use]
pub fn export_line(line: &str) -> JsValue {
    reply(request::export(line))
}

/// What measured runs teach: a profile, what it is made of, and the run to make next.
#[wasm_bindgen(js_name = calibrate)]
#[must_use]
pub fn calibrate_runs(request: JsValue) -> JsValue {
    reply(value(request).and_then(|request| calibrate(&request)))
}

/// A line of the verb `calibrate` of the `shardscope` command as the object to be printed.
#[wasm_bindgen(js_name = calibrateLine)]
#[must_use]
pub fn calibrate_line(line: &str) -> JsValue {
    reply(request::calibrated(line))
}

/// Requests of the page and their replies, as bytes: see [`Asked`].
#[wasm_bindgen(js_name = readImport)]
#[must_use]
pub fn read_import(question: &[u8]) -> Vec<u8> {
    match from_bytes(question) {
        Some(Asked::Import(question)) => to_bytes(&Some(Reading::of(&question))),
        Some(Asked::Export(order)) => to_bytes(&order.written()),
        Some(Asked::Lesson(question)) => to_bytes(&question.page()),
        Some(Asked::Crossings(question)) => to_bytes(&question.tables()),
        None => Vec::new(),
    }
}

/// Takes a piece of a file that the page reads: the question, [`Piece`], and its answer as bytes.
#[wasm_bindgen(js_name = readPiece)]
#[must_use]
pub fn read_piece(question: &[u8], bytes: &[u8]) -> Vec<u8> {
    thread_local! {
        static OPEN: RefCell<Open> = const { RefCell::new(None) };
    }
    let take = |piece: Piece| OPEN.with_borrow_mut(|open| piece.take(bytes, open));
    to_bytes(&from_bytes::<Piece>(question).map(take))
}
