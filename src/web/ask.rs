//! The page asks the second module, which is loaded with the first question.

use crate::io::asked::Asked;
use crate::web::worker::job::{from_bytes, to_bytes};
use js_sys::{Function, Promise, Uint8Array};
use serde::de::DeserializeOwned;
use std::cell::RefCell;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

thread_local! {
    /// `(question, piece?) => Promise<answer>`, all bytes; with a piece of a file the question is what becomes of it.
    static MODULE: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Takes the function that loads the module and asks it.
pub(crate) fn use_module(ask: Function) {
    MODULE.set(Some(ask));
}

/// The second module's answer; none where it cannot be loaded.
pub(crate) async fn asked<T: DeserializeOwned>(question: &Asked) -> Option<T> {
    from_bytes(&ask(&to_bytes(question), None).await?)
}

/// Its answer to a question, about `piece` of a file where there is one; none where it cannot be loaded.
pub(crate) async fn ask(question: &[u8], piece: Option<&Uint8Array>) -> Option<Vec<u8>> {
    let module = MODULE.with_borrow(Clone::clone)?;
    let (question, piece) = (Uint8Array::from(question), JsValue::from(piece.cloned()));
    let answer = module.call2(&JsValue::UNDEFINED, &question, &piece).ok()?;
    let answer: Promise = answer.dyn_into().ok()?;
    let answer: Uint8Array = JsFuture::from(answer).await.ok()?.dyn_into().ok()?;
    Some(answer.to_vec())
}
