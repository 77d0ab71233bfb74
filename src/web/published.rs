//! The rows of the accuracy panel: tables beside the page, computed a few rows at a time.

use crate::core::accuracy::{Bench, FILES, read};
use crate::core::message::Message;
use crate::core::t;
use crate::view::node::markup::Node;
use crate::view::panels::accuracy::{self, Yours};
use crate::web::browser;
use crate::web::html::view_once;
use crate::web::render::patched;
use crate::web::state::State;
use crate::web::worker::next_turn;
use leptos::prelude::*;

/// Rows that are computed at once: some milliseconds.
const SLICE: usize = 8;

/// The rows, computed in the background; `words` says how far, `begun` becomes false where a table cannot be had.
pub(crate) fn published(state: State, words: RwSignal<Message>, begun: RwSignal<bool>) -> AnyView {
    let bench = StoredValue::new_local(Bench::default());
    let all = RwSignal::new(Node::none());
    leptos::task::spawn_local(async move {
        if compute(bench, words).await {
            words.set(Message::default());
            let _ = all.try_set(bench.with_value(accuracy::all));
            state.runs.ask(state);
        } else {
            begun.set(false);
        }
    });
    let content = view_once(move || {
        let all = all.get();
        if all == Node::none() {
            return Some(all);
        }
        let evaluation = state.evaluation()?;
        let (runs, standings) = state.runs.fit.get().unzip();
        let standings = standings.map_or_else(Vec::new, |fit| fit.fit.standings);
        let yours = Yours { runs: runs.as_deref().unwrap_or_default(), standings: &standings };
        let near = bench.with_value(|bench| accuracy::near(bench, &evaluation.scenario, yours));
        Some(Node::from_iter([near, all]))
    });
    view! { <div use:patched=content></div> }.into_any()
}

/// Fetches the tables and computes their rows into `bench`; false where one cannot be had, which `words` then says.
async fn compute(bench: StoredValue<Bench, LocalStorage>, words: RwSignal<Message>) -> bool {
    let mut fresh = Bench::default();
    for (file, _) in FILES {
        let Some(csv) = browser::text_beside(&format!("data/{file}")).await else {
            words.set(t!(
                "data/{file} could not be read: the page is offline, a single file, or in a frame that may not fetch. The same rows are in its source, in public/data.",
                file = *file
            ));
            return false;
        };
        fresh.add(read(file, &csv));
    }
    while (0..SLICE).all(|_| fresh.advance()) {
        words.set(t!("{count} runs computed…", count = fresh.done()));
        next_turn().await;
    }
    bench.try_set_value(fresh).is_none()
}
