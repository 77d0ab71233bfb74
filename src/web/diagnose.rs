//! Diagnose: files are dropped, read piece by piece by a worker and sent nowhere; the diagnosis follows the Run.

use crate::core::diagnose::{Diagnosis, of_brief};
use crate::core::issue::Issue;
use crate::core::message::verbatim;
use crate::core::run::Run;
use crate::core::t;
use crate::core::units::{Bytes, show_bytes};
use crate::io::evidence::{EvidenceAnswer, EvidenceFile, ExampleFile, SentAnswer, SentFile, answer, markdown};
use crate::view::node::action::TimelineAction;
use crate::view::node::markup::{Node, PanelAction, leaf};
use crate::view::panels::chosen::LayoutOrigin;
use crate::view::panels::diagnose::{LanePair, LaneZoom, diagnosis, diagnosis_of_link, offered, since};
use crate::view::panels::issues::line;
use crate::view::panels::runs::bare;
use crate::view::views::View;
use crate::web::browser::html::{effect, flag, text, view_of};
use crate::web::browser::i18n::{say, translated};
use crate::web::document::render::{Handler, handled, patched};
use crate::web::form::history;
use crate::web::late::parts;
use crate::web::reader::{FRAME_MS, pieces, unreadable};
use crate::web::state::State;
use crate::web::worker::job::{from_bytes, to_bytes};
use crate::web::worker::{EvidenceWorker, FileEnd, FileReading};
use crate::web::{browser, runs};
use js_sys::Uint8Array;
use leptos::prelude::*;
use std::sync::Arc;
use wasm_bindgen::JsCast;

parts! {
    second: diagnose_view(state: State) -> AnyView = whole(state);
    second: diagnose_frame(state: State) -> AnyView = framed(state);
}

/// What a file is, or why it cannot be read.
type ReadFile = Result<EvidenceFile, Vec<Issue>>;

/// A file that was read.
struct HeldFile {
    name: String,
    /// Its number in the worker that diagnoses large ones.
    number: u32,
    /// It as a worker takes it; handed over once the worker has it.
    bytes: Uint8Array,
    /// None of a large one, which is for the worker.
    read: Option<ReadFile>,
}

/// Bytes of a file from which the worker diagnoses it: a trace of about 20,000 kernels, which takes the page a frame.
const LARGE: u32 = 600_000;

/// Everything that the view follows.
#[derive(Clone, Copy)]
struct Page {
    state: State,
    files: RwSignal<Vec<HeldFile>, LocalStorage>,
    /// What the files say of the run, by the page or by the worker.
    answer: RwSignal<Option<EvidenceAnswer>, LocalStorage>,
    /// The run when the first of the files was read.
    before: RwSignal<Option<Run>>,
    /// A pasted text is among the files: its box stays.
    pasted: RwSignal<bool>,
    /// The diagnosis of the files; none without files.
    found: RwSignal<Option<Result<Diagnosis, Vec<Issue>>>, LocalStorage>,
    /// The timeline of the trace, where one was read.
    lanes: RwSignal<Option<LanePair>, LocalStorage>,
    /// The part of it that is shown; all of it where nothing was chosen.
    zoom: RwSignal<Option<LaneZoom>>,
    /// The diagnosis that the link holds.
    of_link: Memo<Option<String>>,
    /// The file that is read, bytes that were read and all, while it is.
    progress: RwSignal<Option<(String, f64, f64)>>,
    /// The drop that is read, by number: a later one ends it.
    turn: StoredValue<u32>,
    /// The worker that reads.
    reading: StoredValue<Option<FileReading>, LocalStorage>,
    /// The worker that diagnoses large files, where there is one.
    beside: StoredValue<Option<EvidenceWorker>, LocalStorage>,
    /// The question that the worker has, by number.
    asked: StoredValue<u32>,
    /// The number of the last file.
    numbered: StoredValue<u32>,
}

/// The view; hidden while another is open.
pub(crate) fn whole(state: State) -> AnyView {
    let page = Page {
        state,
        files: RwSignal::new_local(Vec::new()),
        answer: RwSignal::new_local(None),
        before: RwSignal::new(None),
        pasted: RwSignal::new(false),
        found: RwSignal::new_local(None),
        lanes: RwSignal::new_local(None),
        zoom: RwSignal::new(None),
        of_link: Memo::new(move |_| state.view.get().diagnosis),
        progress: RwSignal::new(None),
        turn: StoredValue::new(0),
        reading: StoredValue::new_local(None),
        beside: StoredValue::new_local(None),
        asked: StoredValue::new(0),
        numbered: StoredValue::new(0),
    };
    page.follow();
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
        <main
            class="diagnose"
            id="diagnose"
            tabindex="-1"
            hidden=hidden
            on:dragover=|event| event.prevent_default()
            on:drop=move |event| page.dropped(&event)
        >
            <div class="panel-head">
                <h2>{say("Diagnose")}</h2>
                <span class="tools" role="group" aria-label=say("Diagnose")>
                    {tab(false, "Where is the rest?")}
                    {tab(true, "Fitted to your runs")}
                </span>
                {page.tools(first)}
            </div>
            <div hidden=first>{page.files_view()}</div>
            <div hidden=second>{move || opened.get().then(|| runs::page(state))}</div>
        </main>
    }
    .into_any()
}

/// Parts and causes that the link holds, in another page.
pub(crate) fn framed(state: State) -> AnyView {
    let of_link = Memo::new(move |_| state.view.get().diagnosis);
    let shown = view_of(move || from_link(state, of_link));
    let empty = flag(move || of_link.with(Option::is_some));
    view! {
        <div use:patched=shown></div>
        <p class="muted" hidden=empty>
            {say("This frame shows a diagnosis that its link holds; this link holds none. Diagnose makes such links.")}
        </p>
    }
    .into_any()
}

/// What a link holds, as a view; nothing where it holds none.
fn from_link(state: State, text: Memo<Option<String>>) -> Node {
    let found = text.with(|text| text.as_deref().and_then(of_brief));
    found.map_or_else(Node::none, |found| diagnosis_of_link(&found, &state.run.with(bare)))
}

impl Page {
    /// Names of the files, what can be done with them, what is read.
    fn tools(self, hidden: Signal<bool>) -> AnyView {
        let none = move || self.files.with(Vec::is_empty) && self.of_link.with(Option::is_none);
        let names = view_of(move || {
            self.files
                .with(|files| files.iter().map(|file| leaf("span", "pill", verbatim(file.name.clone()))).collect())
        });
        let progress = move || {
            self.progress.get().map_or_else(String::new, |(name, read, all)| {
                let [read, all] = [read, all].map(|bytes| show_bytes(Bytes(bytes)));
                translated(t!("{name}: {read} of {all}", name = verbatim(name), read, all))
            })
        };
        let add = move |_| {
            if let Some(input) = browser::by_id("evidence") {
                input.click();
            }
        };
        view! {
            <span class="files" hidden=hidden>
                <span class="names" use:patched=names></span>
                <span role="status" class="muted small" hidden=flag(move || self.progress.with(Option::is_none))>
                    {text(progress)}" "
                    <button on:click=move |_| self.stop()>{say("Stop")}</button>
                </span>
                <span class="spring"></span>
                <button hidden=flag(none) on:click=add>{say("Add files")}</button>
                <button class="quiet" hidden=flag(none) on:click=move |_| self.clear()>{say("Start again")}</button>
            </span>
        }
        .into_any()
    }

    fn files_view(self) -> AnyView {
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
        let empty = move || self.files.with(Vec::is_empty);
        let nothing = move || empty() && self.of_link.with(Option::is_none);
        let shown = view_of(move || self.shown());
        let table = view_of(offered);
        let handler: Handler = Arc::new(move |action| self.act(action));
        let same = Arc::clone(&handler);
        let class = text(move || if nothing() { "board-drop large" } else { "board-drop" }.to_owned());
        let box_hidden = flag(move || !empty() && !self.pasted.get());
        view! {
            <p class="muted" hidden=flag(move || !nothing())>
                {say("Where is the rest? Compare a run of yours with the one on this page, part by part.")}
            </p>
            <label class=class hidden=flag(move || !empty())>
                <b>{say("Drop a log, a trace, an out-of-memory message, a memory snapshot")}</b>
                <span class="muted">
                    {say("several files at once, one a rank · read in this browser, nothing is sent or kept")}
                </span>
                <span class="choose">{say("Choose files")}</span>
                <input type="file" class="visually-hidden" multiple id="evidence" on:change=chosen/>
            </label>
            <textarea
                hidden=box_hidden
                rows="2"
                aria-label=say("Or paste a log or a message")
                placeholder=say("Or paste a log or a message")
                spellcheck="false"
                on:input=move |event| self.paste(&event_target_value(&event))
            ></textarea>
            <div aria-live="polite" on:keydown=move |event| self.key(&event) use:handled=(shown, handler)></div>
            <div hidden=flag(move || !nothing()) use:handled=(table, same)></div>
        }
        .into_any()
    }

    /// The diagnosis follows the files and the Run; the link holds its parts and causes.
    fn follow(self) {
        effect(move || {
            let run: Run = self.state.run.with(bare);
            let is_large = self.files.with(|files| files.iter().any(|file| file.read.is_none()));
            if is_large {
                return self.ask(&run);
            }
            let answer = self.files.with(|files| {
                let evidence: Vec<&ReadFile> = files.iter().filter_map(|file| file.read.as_ref()).collect();
                (!evidence.is_empty()).then(|| answer(&evidence, &run))
            });
            self.answer.set(answer);
        });
        effect(move || {
            let (found, lanes) = self.answer.with(|answer| match answer {
                Some(EvidenceAnswer { found, lanes, predicted }) => {
                    let lanes = lanes.clone().filter(|_| found.is_ok());
                    (Some(found.clone()), lanes.map(|lanes| LanePair::of(lanes, predicted.clone())))
                }
                None => (None, None),
            });
            if let Some(Ok(found)) = &found {
                let text = crate::core::diagnose::brief(found);
                self.state.view.change(|view| view.diagnosis = text);
            }
            self.lanes.set(lanes);
            self.found.set(found);
        });
        // A file that was dropped on another view.
        effect(move || {
            if let Some(files) = self.state.dropped.get() {
                self.state.dropped.set(None);
                self.take(&files);
            }
        });
        // A text that was pasted onto the page.
        effect(move || {
            if let Some(text) = self.state.pasted.get() {
                self.state.pasted.set(None);
                self.paste(&text);
            }
        });
    }

    /// Asks the worker for the diagnosis of the files; what it holds already is not sent again.
    fn ask(self, run: &Run) {
        let turn = counted(self.asked);
        let failed = move || {
            let _ =
                self.answer.try_set(Some(EvidenceAnswer { found: Err(vec![fault()]), lanes: None, predicted: None }));
        };
        let answered = move |answer: Option<(u32, Vec<u8>)>| match answer {
            Some((turn, bytes)) if self.asked.try_get_value() == Some(turn) => {
                let _ = self.progress.try_set(None);
                match from_bytes::<SentAnswer>(&bytes) {
                    Some(answer) => drop(self.answer.try_set(Some(answer.into()))),
                    None => failed(),
                }
            }
            Some(_) => {}
            None => failed(),
        };
        self.beside.update_value(|beside| {
            if beside.is_none() {
                *beside = EvidenceWorker::start(answered).ok();
            }
            let Some(worker) = beside else {
                return failed();
            };
            self.files.with_untracked(|files| {
                for file in files.iter().filter(|file| file.bytes.length() > 0) {
                    worker.hold(file.number, &file.bytes);
                }
                let numbers: Vec<u32> = files.iter().map(|file| file.number).collect();
                worker.ask(turn, run, &numbers);
            });
        });
    }

    fn shown(self) -> Node {
        let run: Run = self.state.run.with(bare);
        let since =
            |found: &Diagnosis| self.before.with(|before| before.as_ref().and_then(|one| since(one, &run, found)));
        self.found.with(|found| match found {
            None => from_link(self.state, self.of_link),
            Some(Ok(found)) => self.lanes.with(|lanes| {
                let zoom = self.zoom.get();
                let lanes = lanes.as_ref().map(|lanes| (lanes, zoom.unwrap_or_else(|| lanes.whole())));
                since(found).into_iter().chain([diagnosis(found, &markdown(found), &run, lanes)]).collect()
            }),
            Some(Err(issues)) => issues.iter().map(|issue| line(&Issue::error("", issue.message.clone()))).collect(),
        })
    }

    fn act(self, action: PanelAction) {
        match action {
            PanelAction::Example(at) => self.example(at),
            PanelAction::Cause(at) => {
                let id = self.found.with_untracked(|found| Some(found.as_ref()?.as_ref().ok()?.causes.get(at)?.id));
                let place = id.and_then(|id| self.lanes.with_untracked(|lanes| lanes.as_ref()?.around(id)));
                if place.is_some() {
                    self.zoom.set(place);
                    if let Some(lanes) = browser::by_id("lanes") {
                        lanes.scroll_into_view();
                    }
                }
            }
            PanelAction::Timeline(TimelineAction::In) => self.look(|lanes, zoom| lanes.zoomed(zoom, 2.0)),
            PanelAction::Timeline(TimelineAction::Out) => self.look(|lanes, zoom| lanes.zoomed(zoom, 0.5)),
            PanelAction::Timeline(TimelineAction::Fit) => self.zoom.set(None),
            PanelAction::Calibrate => self.calibrate(),
            PanelAction::UseRun => self.use_own(),
            PanelAction::Layouts => {
                self.use_own();
                self.state.view.show(View::Run);
                browser::to_top();
            }
            PanelAction::Pan(later) => self.look(|lanes, zoom| lanes.moved(zoom, if later { 0.5 } else { -0.5 })),
            _ => {}
        }
    }

    /// The keys of timelines, while the focus is in the diagnosis and not in a field.
    fn key(self, event: &web_sys::KeyboardEvent) {
        if event.ctrl_key() || event.meta_key() || event.alt_key() || browser::is_typing() {
            return;
        }
        match event.key().as_str() {
            "w" => self.look(|lanes, zoom| lanes.zoomed(zoom, 1.5)),
            "s" => self.look(|lanes, zoom| lanes.zoomed(zoom, 1.0 / 1.5)),
            "a" => self.look(|lanes, zoom| lanes.moved(zoom, -0.2)),
            "d" => self.look(|lanes, zoom| lanes.moved(zoom, 0.2)),
            "0" => self.zoom.set(None),
            _ => return,
        }
        event.prevent_default();
    }

    fn look(self, change: impl Fn(&LanePair, LaneZoom) -> LaneZoom) {
        let next = self.lanes.with_untracked(|lanes| {
            let lanes = lanes.as_ref()?;
            let zoom = change(lanes, self.zoom.get_untracked().unwrap_or_else(|| lanes.whole()));
            Some((zoom != lanes.whole()).then_some(zoom))
        });
        if let Some(zoom) = next {
            self.zoom.set(zoom);
        }
    }

    /// Makes the run that the files state the page's, where that is another.
    fn use_own(self) {
        let own = self.found.with_untracked(|found| found.as_ref()?.as_ref().ok()?.own.clone());
        if let Some(own) = own {
            self.before.set(Some(bare(&own)));
            history::import(self.state, *own);
        }
    }

    /// Keeps the log, as it was read, among the runs that the other tab fits, and opens that tab.
    fn calibrate(self) {
        let log = self.files.with_untracked(|files| {
            files.iter().find_map(|file| match &file.read {
                Some(Ok(EvidenceFile::Log(reading, ..))) => Some((**reading).clone()),
                _ => None,
            })
        });
        if let Some(log) = log {
            let own = self.found.with_untracked(|found| found.as_ref()?.as_ref().ok()?.own.clone());
            let run = own.map_or_else(|| self.state.run.with_untracked(bare), |own| *own);
            let run = log.run_on(&run);
            self.state.runs.keep_reading(self.state, log.of_run(&run));
        }
        self.state.view.show(View::Diagnose(true));
        browser::to_top();
    }

    /// Opens an example with its own run.
    fn example(self, at: usize) {
        let Some(example) = ExampleFile::ALL.into_iter().nth(at) else {
            return;
        };
        self.clear();
        history::load(self.state, example.run(), LayoutOrigin::Example);
        self.put(example.name().to_owned(), example.evidence());
        browser::to_top();
    }

    fn next(self) -> u32 {
        counted(self.turn)
    }

    fn stop(self) {
        self.next();
        self.reading.set_value(None);
        self.progress.set(None);
    }

    /// Takes files that are dropped on the view.
    fn dropped(self, event: &web_sys::DragEvent) {
        event.prevent_default();
        let Some(files) = event.data_transfer().and_then(|data| data.files()) else {
            return;
        };
        let fitted = self.state.view.open.get_untracked() == View::Diagnose(true);
        match files.get(0).filter(|_| fitted) {
            Some(file) => self.state.runs.take_file(self.state, file),
            None => self.take(&files),
        }
    }

    /// Adds what was read in the page, in place of a file of that name.
    fn put(self, name: String, read: ReadFile) {
        self.hold(name, Uint8Array::from(&to_bytes(&SentFile::from(read))[..]));
    }

    /// Adds a file in the form of a worker, in place of one of that name.
    fn hold(self, name: String, bytes: Uint8Array) {
        let is_large = bytes.length() > LARGE;
        let unpacked = || from_bytes::<SentFile>(&bytes.to_vec()).map_or_else(unreadable, Into::into);
        let read = (!is_large).then(unpacked);
        self.add(HeldFile { name, number: counted(self.numbered), bytes, read });
    }

    fn add(self, file: HeldFile) {
        let run = self.state.run.with_untracked(bare);
        let _ = self.before.try_update(|before| {
            before.get_or_insert(run);
        });
        let _ = self.files.try_update(|files| {
            files.retain(|known| known.name != file.name);
            files.push(file);
        });
    }

    fn clear(self) {
        self.stop();
        self.zoom.set(None);
        self.before.set(None);
        self.pasted.set(false);
        self.beside.set_value(None);
        self.files.set(Vec::new());
        self.state.view.change(|view| view.diagnosis = None);
    }

    /// Reads a text that was pasted, in place of what was pasted before.
    fn paste(self, pasted: &str) {
        let name = translated(t!("pasted text"));
        let present = self.state.run.with_untracked(bare);
        self.pasted.set(true);
        if pasted.trim().is_empty() {
            self.files.update(|files| files.retain(|known| known.name != name));
        } else {
            self.put(name, crate::io::evidence::read(pasted.as_bytes(), &present));
        }
    }

    /// Reads files one after the other.
    fn take(self, list: &web_sys::FileList) {
        let files: Vec<web_sys::File> = (0..list.length()).filter_map(|at| list.get(at)).collect();
        if files.is_empty() {
            return;
        }
        self.stop();
        let turn = self.next();
        self.zoom.set(None);
        leptos::task::spawn_local(async move {
            for file in files {
                let name = file.name();
                let Some(read) = self.read(&file, turn).await else {
                    return;
                };
                match read {
                    Ok(bytes) => self.hold(name, bytes),
                    Err(read) => {
                        let (number, bytes) = (counted(self.numbered), Uint8Array::default());
                        self.add(HeldFile { name, number, bytes, read: Some(read) });
                    }
                }
            }
            // Of large files the answer ends it.
            if self.files.try_with_untracked(|files| files.iter().all(|file| file.read.is_some())) == Some(true) {
                let _ = self.progress.try_set(None);
            }
        });
    }

    /// Reads `file`, in a worker where there can be one, whose bytes are given on as they are; else, and where it
    /// cannot be read, what it is here. None where it was stopped or another drop has begun.
    async fn read(self, file: &web_sys::File, turn: u32) -> Option<Result<Uint8Array, ReadFile>> {
        let (name, size) = (file.name(), file.size());
        let told = move |read: f64| drop(self.progress.try_set(Some((name.clone(), read, size))));
        told(0.0);
        let run = self.state.run.with_untracked(bare);
        let end = match FileReading::start(file, &run, told.clone()) {
            Ok(reading) => {
                let ended = reading.ended();
                self.reading.set_value(Some(reading));
                ended.await
            }
            Err(_) => FileEnd::NoWorker,
        };
        if self.turn.try_get_value()? != turn {
            return None;
        }
        let _ = self.reading.try_set_value(None);
        match end {
            FileEnd::Read(bytes) => Some(Ok(bytes)),
            FileEnd::NoWorker => {
                let stopped = move || self.turn.try_get_value() != Some(turn);
                pieces(file, &run, FRAME_MS, told, stopped).await.map(Err)
            }
            FileEnd::Failed => Some(Err(Err(vec![fault()]))),
            FileEnd::Stopped => None,
        }
    }
}

/// The next number of a counter.
fn counted(counter: StoredValue<u32>) -> u32 {
    let next = counter.try_update_value(|last| {
        *last += 1;
        *last
    });
    next.unwrap_or_default()
}

/// A worker ended before it had an answer.
fn fault() -> Issue {
    Issue::error(
        "files",
        t!("reading ended with a fault: the file may need more memory than the browser gives. Fewer steps, recorded \
                without stacks and shapes, make it smaller"),
    )
}
