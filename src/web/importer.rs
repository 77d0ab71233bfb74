//! The second WebAssembly module: the readers of other programs' settings, which the page loads when a text is brought in
//! and the JavaScript package at once.

use crate::core::run::Run;
use crate::io::import::{self, Question, Reading};
use crate::io::request::{self, Imported};
use crate::web::plain::{reply, text, value};
use crate::web::worker::job::{from_bytes, to_bytes};
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

/// A line of the verb `import` of the `shardscope` command (tools/npm) as the object to be printed.
#[wasm_bindgen(js_name = importLine)]
#[must_use]
pub fn import_line(line: &str) -> JsValue {
    reply(request::import(line))
}

/// What the page asks and is answered, [`Question`] and [`Reading`], as bytes.
#[wasm_bindgen(js_name = readImport)]
#[must_use]
pub fn read_import(question: &[u8]) -> Vec<u8> {
    let reading = from_bytes::<Question>(question).map(|question| Reading::of(&question));
    to_bytes(&reading)
}
