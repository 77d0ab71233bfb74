//! Imports: read by the importer's module, which is loaded with the first text.

use crate::core::issue::Issue;
use crate::io::asked::Asked;
use crate::io::import::summary::summary;
use crate::io::import::{Question, Reading};
use crate::io::link;
use crate::view::node::markup::Node;
use crate::view::panels::issues::line;
use crate::web::html::effect;
use crate::web::i18n;
use crate::web::state::State;
use crate::web::worker::job::{from_bytes, to_bytes};
use js_sys::{Function, Promise, Uint8Array};
use leptos::prelude::*;
use serde::de::DeserializeOwned;
use std::cell::RefCell;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

thread_local! {
    /// `(question, piece?) => Promise<answer>`, all bytes; with a piece of a file the question is what becomes of it.
    static IMPORTER: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Takes the function that loads the module and asks it.
pub(crate) fn use_importer(ask: Function) {
    IMPORTER.set(Some(ask));
}

/// What `typed` would make of the Run of the page; nothing while `typed` has no text.
pub fn meaning(state: State, typed: impl Fn() -> Option<String> + 'static) -> Signal<Node> {
    let shown = RwSignal::new(Node::none());
    effect(move || {
        let Some(text) = typed().filter(|text| !text.trim().is_empty()) else {
            shown.set(Node::none());
            return;
        };
        let run = state.run.get();
        let question = Asked::Import(Question {
            text,
            link: link::encode(&run),
            catalogue: i18n::shown().1.as_ref().clone(),
        });
        // Gone when the effect runs again.
        let latest = StoredValue::new(());
        leptos::task::spawn_local(async move {
            let reading = asked::<Option<Reading>>(&question).await.flatten();
            if latest.is_disposed() {
                return;
            }
            shown.set(match reading {
                Some(reading) => summary(&reading, &run),
                None => line(&Issue::error(
                    "",
                    "The reader of imports did not arrive. Check the network and change the text to try again.",
                )),
            });
        });
    });
    shown.into()
}

/// The second module's answer; none where it cannot be loaded.
pub(crate) async fn asked<T: DeserializeOwned>(question: &Asked) -> Option<T> {
    from_bytes(&ask_importer(&to_bytes(question), None).await?)
}

/// The importer's answer to a question, about `piece` of a file where there is one; none where it cannot be loaded.
pub(crate) async fn ask_importer(question: &[u8], piece: Option<&Uint8Array>) -> Option<Vec<u8>> {
    let importer = IMPORTER.with_borrow(Clone::clone)?;
    let (question, piece) = (Uint8Array::from(question), JsValue::from(piece.cloned()));
    let answer = importer
        .call2(&JsValue::UNDEFINED, &question, &piece)
        .ok()?;
    let answer: Promise = answer.dyn_into().ok()?;
    let answer: Uint8Array = JsFuture::from(answer).await.ok()?.dyn_into().ok()?;
    Some(answer.to_vec())
}
