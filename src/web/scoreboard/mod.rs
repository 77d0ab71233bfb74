//! The scoreboard: tables and rows are fetched when it is opened; a file that is dropped is scored here and sent
//! nowhere.

pub(crate) mod published;

use crate::core::accuracy::{Evidence, FILES, read as rows_of};
use crate::core::message::{Message, verbatim};
use crate::core::scoreboard::{ROWS, Score, questions};
use crate::core::t;
use crate::core::units::{Seconds, show_seconds};
use crate::io::scoreboard::{Predictions, questions_text, read, unknown};
use crate::view::look::{Look, Slice};
use crate::view::node::markup::{Node, PanelAction, el, leaf};
use crate::view::scoreboard::{Board, DROPPED, Tool, head, list, name, readings, scatter, submit, table, verdicts};
use crate::view::views::View;
use crate::web::browser;
use crate::web::browser::html::{flag, view_of};
use crate::web::browser::i18n::say;
use crate::web::document::render::{Handler, handled, patched};
use crate::web::late::parts;
use crate::web::state::State;
use crate::web::worker::next_turn;
use leptos::prelude::*;
use std::sync::Arc;
use wasm_bindgen_futures::JsFuture;

parts! {
    second: board_view(state: State) -> AnyView = whole(state);
    second: board_frame(state: State) -> AnyView = framed(state);
}

/// Everything that the view follows.
#[derive(Clone, Copy)]
struct Page {
    state: State,
    board: RwSignal<Board, LocalStorage>,
    /// Progress, or why there is no table.
    words: RwSignal<Message>,
    /// Lines of the dropped file that were not understood.
    notes: RwSignal<Vec<Message>>,
}

/// The view; hidden while another is open.
pub(crate) fn whole(state: State) -> AnyView {
    let page = Page::new(state);
    let hidden = flag(move || state.view.open.get() != View::Scoreboard);
    let aside = page.view(|board, look| {
        let tool = board.tool(look).map(|tool| verdicts(board, tool)).unwrap_or_default();
        Node::from_iter([el("section", &[], &[tool]), el("section", &[], &[submit()])])
    });
    let list = view_of(move || {
        let is_open = state.view.open.get() == View::Scoreboard;
        let look = state.view.board.get();
        page.board.with(|board| {
            if is_open && !board.tools.is_empty() {
                state.run.with(|run| list(board, &look, run))
            } else {
                Node::none()
            }
        })
    });
    let readings = page.view(|board, _| readings(board));
    view! {
        <main class="board" id="board" tabindex="-1" hidden=hidden>
            {page.shown(page.view(|board, _| head(board)))}
            {page.status()}
            {page.shown(page.view(table))}
            <div class="board-pair">
                {page.shown(page.view(scatter))}
                <div>
                    {page.shown(aside)}
                    {page.drop_zone()}
                </div>
            </div>
            <div use:patched=list></div>
            {page.shown(readings)}
        </main>
    }
    .into_any()
}

/// Table and scatter in an embed.
pub(crate) fn framed(state: State) -> AnyView {
    let page = Page::new(state);
    let title = view_of(name);
    view! {
        <div class="board">
            <div use:patched=title></div>
            {page.status()} {page.shown(page.view(table))} {page.shown(page.view(scatter))}
        </div>
    }
    .into_any()
}

impl Page {
    fn new(state: State) -> Self {
        let page = Self {
            state,
            board: RwSignal::new_local(Board::default()),
            words: RwSignal::new(t!("Reading the published runs…")),
            notes: RwSignal::new(Vec::new()),
        };
        leptos::task::spawn_local(async move {
            let found = match tables().await {
                Ok(tables) => board(&tables, &ROWS).await,
                Err(file) => Err(file),
            };
            let words = match found {
                Ok(board) => {
                    let _ = page.board.try_set(board);
                    Message::default()
                }
                Err(file) => unread(file),
            };
            let _ = page.words.try_set(words);
        });
        page
    }

    /// A part of the view; nothing until there is a table.
    fn view(self, part: fn(&Board, &Look) -> Node) -> Signal<Node> {
        view_of(move || {
            let look = self.state.view.board.get();
            self.board.with(|board| if board.tools.is_empty() { Node::none() } else { part(board, &look) })
        })
    }

    fn shown(self, part: Signal<Node>) -> AnyView {
        let handler: Handler = Arc::new(move |action| match action {
            PanelAction::Questions => {
                let text = self.board.with_untracked(|board| questions_text(&board.questions));
                browser::download("runs.jsonl", "application/x-ndjson", &text);
            }
            PanelAction::Predictions => {
                if let Some(input) = browser::by_id("predictions") {
                    input.click();
                }
            }
            _ => {}
        });
        view! { <div use:handled=(part, handler)></div> }.into_any()
    }

    fn status(self) -> AnyView {
        let words = view_of(move || {
            self.words.with(|words| leaf("p", "muted board-status", words.clone()).say("role", "status"))
        });
        view! { <div hidden=flag(move || self.words.with(Message::is_empty)) use:patched=words></div> }.into_any()
    }

    /// A place for a file of predictions.
    fn drop_zone(self) -> AnyView {
        let dropped = move |event: web_sys::DragEvent| {
            event.prevent_default();
            let file = event.data_transfer().and_then(|data| data.files()).and_then(|files| files.get(0));
            if let Some(file) = file {
                self.take(&file);
            }
        };
        let notes = view_of(move || {
            let lines = self.notes.get();
            let lines: Node = lines.iter().map(|note| leaf("p", "issue warning", note.clone())).collect();
            lines
        });
        view! {
            <label class="board-drop" on:dragover=|event| event.prevent_default() on:drop=dropped>
                {say("Drop predictions.jsonl here, or choose the file")}
                <input
                    type="file"
                    id="predictions"
                    accept=".jsonl,.json,.txt"
                    on:change=move |event| if let Some(file) = browser::chosen(&event) { self.take(&file); }
                />
            </label>
            <div aria-live="polite" use:patched=notes></div>
        }
        .into_any()
    }

    /// Scores a file, and shows its row below ours.
    fn take(self, file: &web_sys::File) {
        let (name, promise) = (file.name(), file.text());
        let began = js_sys::Date::now();
        leptos::task::spawn_local(async move {
            let Ok(content) = JsFuture::from(promise).await else { return };
            let Predictions { mut about, lines, mut notes } = read(&content.as_string().unwrap_or_default());
            if about.name.is_empty() {
                about.name = name.chars().take(40).collect();
            }
            let found = self.board.try_update(|board| {
                notes.extend(unknown(&board.questions, &lines));
                let count = lines.len();
                let tool = Tool { id: DROPPED.to_owned(), score: Score::new(&board.questions, &lines), about };
                board.tools.retain(|tool| tool.id != DROPPED);
                board.tools.insert(board.tools.len().min(1), tool);
                count
            });
            if let Some(count) = found {
                let slice = self.state.view.board.get_untracked().slice;
                let slice = if slice == Slice::Verdicts { Slice::default() } else { slice };
                self.state.view.change(|view| view.board = Look { tool: DROPPED.to_owned(), slice });
                // The table is there by now.
                let time = show_seconds(Seconds((js_sys::Date::now() - began) / 1e3));
                let words = t!(
                    "{count} lines of {name} scored in {time}; nothing was sent",
                    count,
                    name = verbatim(&name),
                    time
                );
                notes.insert(0, words);
                let _ = self.notes.try_set(notes);
            }
        });
    }
}

/// The tables of published runs, each with the number of its lines; the file that could not be had.
pub(crate) async fn tables() -> Result<Vec<(Vec<Evidence>, usize)>, String> {
    let mut tables = Vec::new();
    for (file, _) in FILES {
        let csv = browser::text_beside(&format!("data/{file}")).await.ok_or_else(|| (*file).to_owned())?;
        tables.push(rows_of(file, &csv));
        next_turn().await;
    }
    Ok(tables)
}

/// The questions of `tables`, and the rows of `files`; the file that could not be had.
pub(crate) async fn board(tables: &[(Vec<Evidence>, usize)], files: &[&str]) -> Result<Board, String> {
    let rows: Vec<Evidence> = tables.iter().flat_map(|(rows, _)| rows).cloned().collect();
    let questions = questions(&rows);
    let mut tools = Vec::new();
    for file in files {
        let text = browser::text_beside(&format!("data/scoreboard/{file}")).await;
        let text = text.ok_or_else(|| format!("scoreboard/{file}"))?;
        let Predictions { about, lines, .. } = read(&text);
        let id = file.trim_end_matches(".jsonl").to_owned();
        tools.push(Tool { id, about, score: Score::new(&questions, &lines) });
        next_turn().await;
    }
    Ok(Board { questions, tools })
}

/// Why there is no table.
pub(crate) fn unread(file: String) -> Message {
    t!(
        "data/{file} could not be read: the page is offline, a single file, or in a frame that may not fetch. The \
            same rows are in its source, in public/data.",
        file
    )
}
