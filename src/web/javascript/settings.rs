//! Functions for JavaScript that read and write other programs' settings and logs.

use crate::core::issue::Issue;
use crate::core::run::{Run, Value};
use crate::core::t;
use crate::io::auto;
use crate::io::evidence::{EvidenceReader, diagnose};
use crate::io::export::{self, Stamp};
use crate::io::json::Text;
use crate::io::request::{self, Imported, RunMeasurements};
use crate::io::{import as importer, logs};
use crate::web::javascript::plain::{reply, text, value};
use js_sys::Uint8Array;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, future_to_promise};

pub(super) fn import(of: JsValue, run: JsValue, given: JsValue) -> JsValue {
    let read = || {
        let present = Run::from_value(&value(run)?)?;
        let given = value(given)?;
        given.entries(&request::GIVEN)?;
        importer::read_given(&text(of, "an import")?, &present, &request::given(&given)?)
    };
    reply(read().map(Imported::from))
}

pub(super) fn written(run: JsValue, format: JsValue, stamp: JsValue) -> JsValue {
    let written = move || {
        let run = Run::from_value(&auto::resolved(&value(run)?)?.0)?;
        let stamp = value(stamp)?;
        let text_of = |key: &str| match stamp.get(key) {
            Some(Value::Text(text)) => Ok(text.clone()),
            None | Some(Value::Null) => Ok(String::new()),
            Some(other) => {
                let message = t!("{key} takes text, this is {kind}", key = key.to_owned(), kind = other.kind());
                Err(vec![Issue::error(key, message)])
            }
        };
        let (date, address) = (text_of("date")?, text_of("address")?);
        let stamp = Stamp { date: &date, address: &address };
        export::export(&run, &text(format, "a format")?, &stamp)
    };
    reply(written().map(Text::from))
}

pub(super) fn log(of: JsValue, run: JsValue) -> JsValue {
    let read = || {
        let present = Run::from_value(&value(run)?)?;
        logs::read(&text(of, "a log")?, &present)
    };
    reply(read().map(RunMeasurements::from))
}

/// Bytes of a file that are read at once.
const PIECE: f64 = 4_194_304.0;

/// Reads files (`File` or `Blob`) piece by piece, and says where the rest is.
pub(super) fn diagnosed(files: JsValue, run: JsValue) -> js_sys::Promise {
    future_to_promise(async move {
        let run = match value(run).and_then(|run| Run::from_value(&run)) {
            Ok(run) => run,
            Err(errors) => return Ok(reply(Err::<(), _>(errors))),
        };
        let mut read = Vec::new();
        for file in js_sys::Array::from(&files).iter() {
            let Ok(file) = file.dyn_into::<web_sys::Blob>() else {
                let errors = vec![Issue::error("files", t!("takes files, or blobs of their bytes"))];
                return Ok(reply(Err::<(), _>(errors)));
            };
            read.push(pieces(&file, &run).await);
        }
        Ok(reply(diagnose(&read.iter().collect::<Vec<_>>(), &run)))
    })
}

async fn pieces(file: &web_sys::Blob, run: &Run) -> Result<crate::io::evidence::EvidenceFile, Vec<Issue>> {
    let failed = || vec![Issue::error("files", t!("the file cannot be read"))];
    let (size, mut at) = (file.size(), 0.0);
    let mut reader = EvidenceReader::default();
    while at < size {
        let end = (at + PIECE).min(size);
        let slice = file.slice_with_f64_and_f64(at, end).map_err(|_| failed())?;
        let bytes = JsFuture::from(slice.array_buffer()).await.map_err(|_| failed())?;
        if reader.push(&Uint8Array::new(&bytes).to_vec()).is_err() {
            break;
        }
        at = end;
    }
    reader.finish(run)
}
