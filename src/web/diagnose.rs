//! Diagnose: files are dropped, read here piece by piece and sent nowhere; the diagnosis follows the Run.

use crate::core::issue::Issue;
use crate::core::message::verbatim;
use crate::core::run::Run;
use crate::core::t;
use crate::core::units::show_percent;
use crate::io::evidence::{Evidence, EvidenceReader, diagnose, markdown};
use crate::view::node::markup::{Node, leaf};
use crate::view::panels::diagnose::{diagnosis, offered};
use crate::view::panels::issues::line;
use crate::view::panels::runs::bare;
use crate::view::views::View;
use crate::web::browser::html::{flag, text, view_of};
use crate::web::browser::i18n::{say, translated};
use crate::web::document::render::patched;
use crate::web::late::parts;
use crate::web::runs;
use crate::web::state::State;
use js_sys::Uint8Array;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;

parts! {
    second: diagnose_view(state: State) -> AnyView = whole(state);
}

/// Bytes that are read at once: less than a frame's work.
const PIECE: f64 = 262_144.0;

/// A file, read: its name, and what it is or why it cannot be read.
type ReadFile = (String, Result<Evidence, Vec<Issue>>);

/// Everything that the view follows.
#[derive(Clone, Copy)]
struct Page {
    state: State,
    files: RwSignal<Vec<ReadFile>, LocalStorage>,
    /// The file that is read and its share, while it is.
    progress: RwSignal<Option<(String, f64)>>,
    /// The drop that is read, by number: a later one ends it.
    turn: StoredValue<u32>,
}

/// The view; hidden while another is open.
pub(crate) fn whole(state: State) -> AnyView {
    let page = Page {
        state,
        files: RwSignal::new_local(Vec::new()),
        progress: RwSignal::new(None),
        turn: StoredValue::new(0),
    };
    let shown = move || state.view.open.get();
    let hidden = flag(move || !matches!(shown(), View::Diagnose(_)));
    let first = flag(move || shown() == View::Diagnose(true));
    let second = flag(move || shown() != View::Diagnose(true));
    let opened = Memo::new(move |before: Option<&bool>| before == Some(&true) || shown() == View::Diagnose(true));
    let tab = move |fitted: bool, label: &'static str| {
        let press = move |_| state.view.show(View::Diagnose(fitted));
        let pressed = text(move || (shown() == View::Diagnose(fitted)).to_string());
        view! {
            <button class="toggle-link" aria-pressed=pressed on:click=press>{say(label)}</button>
        }
    };
    view! {
        <main class="diagnose" id="diagnose" tabindex="-1" hidden=hidden>
            <div class="panel-head">
                <h2>{say("Diagnose")}</h2>
                <span class="tools" role="group" aria-label=say("Diagnose")>
                    {tab(false, "Where is the rest?")}
                    {tab(true, "Fitted to your runs")}
                </span>
            </div>
            <div hidden=first>{page.files_view()}</div>
            <div hidden=second>{move || opened.get().then(|| runs::page(state))}</div>
        </main>
    }
    .into_any()
}

impl Page {
    fn files_view(self) -> AnyView {
        let dropped = move |event: web_sys::DragEvent| {
            event.prevent_default();
            if let Some(files) = event.data_transfer().and_then(|data| data.files()) {
                self.take(&files);
            }
        };
        let chosen = move |event: web_sys::Event| {
            let input = event.target().and_then(|target| target.dyn_into::<web_sys::HtmlInputElement>().ok());
            if let Some(input) = input {
                if let Some(files) = input.files() {
                    self.take(&files);
                }
                // The same file may be chosen again.
                input.set_value("");
            }
        };
        let progress = move || {
            self.progress.get().map_or_else(String::new, |(name, share)| {
                translated(t!("{name}: {share} read", name = verbatim(name), share = show_percent(share)))
            })
        };
        let found = view_of(move || self.found());
        let none = move || self.files.with(Vec::is_empty);
        let table = view_of(offered);
        view! {
            <p class="muted">{say("Compare a run of yours with the one on this page, part by part. Files are read in \
                this browser; nothing of them is sent or kept.")}</p>
            <label class="board-drop" on:dragover=|event| event.prevent_default() on:drop=dropped>
                {say("Drop a log, a trace, an out-of-memory message, a memory snapshot, or choose files")}
                <input type="file" multiple id="evidence" on:change=chosen/>
            </label>
            <textarea
                rows="2"
                aria-label=say("Or paste a log or a message")
                placeholder=say("Or paste a log or a message")
                spellcheck="false"
                on:input=move |event| self.paste(&event_target_value(&event))
            ></textarea>
            <p role="status" class="muted" hidden=flag(move || self.progress.with(Option::is_none))>
                {text(progress)}" "
                <button on:click=move |_| self.stop()>{say("Stop")}</button>
            </p>
            <p hidden=flag(none)>
                <button on:click=move |_| self.clear()>{say("Start again")}</button>
            </p>
            <div aria-live="polite" use:patched=found></div>
            <div hidden=flag(move || !none()) use:patched=table></div>
        }
        .into_any()
    }

    /// The diagnosis of the files for the Run of the page.
    fn found(self) -> Node {
        let run: Run = self.state.run.with(bare);
        self.files.with(|files| {
            if files.is_empty() {
                return Node::none();
            }
            let names: Node = files.iter().map(|(name, _)| leaf("span", "pill", verbatim(name.clone()))).collect();
            let evidence: Vec<&Result<Evidence, Vec<Issue>>> = files.iter().map(|(_, file)| file).collect();
            let body = match diagnose(&evidence, &run) {
                Ok(found) => diagnosis(&found, &markdown(&found)),
                Err(issues) => issues.iter().map(|issue| line(&Issue::error("", issue.message.clone()))).collect(),
            };
            Node::from_iter([names, body])
        })
    }

    fn next(self) -> u32 {
        let turn = self.turn.try_update_value(|turn| {
            *turn += 1;
            *turn
        });
        turn.unwrap_or_default()
    }

    fn stop(self) {
        self.next();
        self.progress.set(None);
    }

    fn clear(self) {
        self.stop();
        self.files.set(Vec::new());
    }

    /// Reads a text that was pasted, in place of what was pasted before.
    fn paste(self, pasted: &str) {
        let name = translated(t!("pasted text"));
        self.files.update(|files| files.retain(|(known, _)| *known != name));
        if pasted.trim().is_empty() {
            return;
        }
        let present = self.state.run.with_untracked(bare);
        let read = crate::io::evidence::read(pasted.as_bytes(), &present);
        self.files.update(|files| files.push((name, read)));
    }

    /// Reads files one after the other.
    fn take(self, list: &web_sys::FileList) {
        let files: Vec<web_sys::File> = (0..list.length()).filter_map(|at| list.get(at)).collect();
        if files.is_empty() {
            return;
        }
        let turn = self.next();
        leptos::task::spawn_local(async move {
            for file in files {
                let name = file.name();
                let Some(read) = self.pieces(&file, turn).await else {
                    return;
                };
                let put = self.files.try_update(|files| {
                    files.retain(|(known, _)| *known != name);
                    files.push((name, read));
                });
                if put.is_none() {
                    return;
                }
            }
            let _ = self.progress.try_set(None);
        });
    }

    /// Reads `file` from its beginning to its end; none where another drop has begun.
    async fn pieces(self, file: &web_sys::File, turn: u32) -> Option<Result<Evidence, Vec<Issue>>> {
        let (size, name) = (file.size(), file.name());
        let failed = || Err(vec![Issue::error("files", "The file cannot be read.")]);
        let (mut reader, mut at) = (EvidenceReader::default(), 0.0);
        while at < size {
            let end = (at + PIECE).min(size);
            let slice = file.slice_with_f64_and_f64(at, end).ok()?;
            let Ok(bytes) = JsFuture::from(slice.array_buffer()).await else {
                return Some(failed());
            };
            if self.turn.try_get_value()? != turn {
                return None;
            }
            if let Err(issue) = reader.push(&Uint8Array::new(&bytes).to_vec()) {
                return Some(Err(vec![issue]));
            }
            at = end;
            self.progress.try_set(Some((name.clone(), at / size)));
        }
        Some(reader.finish(&self.state.run.with_untracked(bare)))
    }
}
