//! Imports: read by the second module, which is loaded with the first text.

use crate::core::issue::Issue;
use crate::io::asked::Asked;
use crate::io::import::summary::summary;
use crate::io::import::{Question, Reading};
use crate::io::link;
use crate::view::node::markup::Node;
use crate::view::panels::issues::line;
use crate::web::ask::asked;
use crate::web::html::effect;
use crate::web::i18n;
use crate::web::state::State;
use leptos::prelude::*;

/// What `typed` would make of the Run of the page; nothing while `typed` has no text.
pub fn meaning(state: State, typed: impl Fn() -> Option<String> + 'static) -> Signal<Node> {
    let shown = RwSignal::new(Node::none());
    effect(move || {
        let Some(text) = typed().filter(|text| !text.trim().is_empty()) else {
            shown.set(Node::none());
            return;
        };
        let run = state.run.get();
        let question =
            Asked::Import(Question { text, link: link::encode(&run), catalogue: i18n::shown().1.as_ref().clone() });
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
