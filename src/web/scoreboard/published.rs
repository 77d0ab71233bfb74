//! The rows of the accuracy panel: tables beside the page, computed a few rows at a time.

use crate::core::accuracy::Bench;
use crate::core::message::Message;
use crate::core::scoreboard::ROWS;
use crate::core::t;
use crate::view::node::markup::Node;
use crate::view::panels::accuracy::{self, Yours};
use crate::view::scoreboard::Board;
use crate::web::browser::html::view_once;
use crate::web::document::render::patched;
use crate::web::late::parts;
use crate::web::scoreboard::{board, tables, unread};
use crate::web::state::State;
use crate::web::worker::next_turn;
use leptos::prelude::*;

parts! {
    second: published_runs(state: State, words: RwSignal<Message>, begun: RwSignal<bool>) -> AnyView
        = published(state, words, begun);
}

/// Rows that are computed at once: some milliseconds.
const SLICE: usize = 8;

/// The slice of the scoreboard at once, then all rows computed in the background; `words` says how far, `begun` becomes
/// false where a table cannot be had.
pub(crate) fn published(state: State, words: RwSignal<Message>, begun: RwSignal<bool>) -> AnyView {
    let slice = RwSignal::new_local(Board::default());
    let panel = RwSignal::new(Node::none());
    leptos::task::spawn_local(async move {
        match read(slice).await {
            Ok(bench) => {
                state.runs.ask(state);
                let bench = computed(bench, words).await;
                words.set(Message::default());
                let _ = panel.try_set(slice.with_untracked(|board| accuracy::all(&bench, board)));
            }
            Err(file) => {
                words.set(unread(file));
                begun.set(false);
            }
        }
    });
    let content = view_once(move || {
        if slice.with(|board| board.tools.is_empty()) {
            return Some(Node::none());
        }
        let run = state.evaluation()?.scenario.run.clone();
        let (runs, standings) = state.runs.fit.get().unzip();
        let standings = standings.map_or_else(Vec::new, |fit| fit.fit.standings);
        let yours = Yours { runs: runs.as_deref().unwrap_or_default(), standings: &standings };
        let near = slice.with(|board| accuracy::near(board, &run, yours));
        Some(Node::from_iter([near, panel.get()]))
    });
    view! { <div use:patched=content></div> }.into_any()
}

/// The tables and this calculator's row into `slice`, and the rows to compute; the file that could not be had.
async fn read(slice: RwSignal<Board, LocalStorage>) -> Result<Bench, String> {
    let tables = tables().await?;
    let _ = slice.try_set(board(&tables, &ROWS[..1]).await?);
    let mut bench = Bench::default();
    for table in tables {
        bench.add(table);
    }
    Ok(bench)
}

/// All rows of `bench`.
async fn computed(mut bench: Bench, words: RwSignal<Message>) -> Bench {
    while (0..SLICE).all(|_| bench.advance()) {
        words.set(t!("{count} runs computed…", count = bench.done()));
        next_turn().await;
    }
    bench
}
