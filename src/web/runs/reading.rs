//! A text or a file that is imported, read piece by piece by the second module; a later one ends it.

use crate::core::run::Run;
use crate::io::link;
use crate::io::logs::asked::{Answer, Piece, Wanted};
use crate::io::logs::too_large;
use crate::view::panels::runs::bare;
use crate::web::ask::ask;
use crate::web::i18n::{self, translated};
use crate::web::state::State;
use crate::web::state::runs::Runs;
use crate::web::worker::job::{from_bytes, to_bytes};
use js_sys::Uint8Array;
use leptos::prelude::*;
use wasm_bindgen_futures::JsFuture;

/// Bytes that are read at once: less than a frame's work.
const PIECE: f64 = 262_144.0;
/// Larger files are no saved runs.
const SAVED: f64 = 4e6;
/// A text no longer than this may be a link with a profile.
const SHORT: f64 = 4e3;

impl Runs {
    /// Ends the reading of a file.
    pub fn stop(self) {
        self.begin();
        self.progress.set(None);
    }

    /// A new text or file: what is read is let go.
    fn begin(self) -> u32 {
        self.read.set(None);
        self.offered.set(None);
        self.turn
            .try_update_value(|turn| {
                *turn += 1;
                *turn
            })
            .unwrap_or_default()
    }

    /// Reads a text that was typed or pasted.
    pub(crate) fn take_text(self, state: State, text: String) {
        let turn = self.begin();
        self.progress.set(None);
        if text.trim().is_empty() || self.add(state, &text) {
            return;
        }
        leptos::task::spawn_local(async move {
            let piece = Piece { first: true, last: Some(wanted(state)) };
            let answer = send(&piece, &Uint8Array::from(text.as_bytes())).await;
            self.end(turn, answer);
        });
    }

    /// Reads a file.
    pub(crate) fn take_file(self, state: State, file: web_sys::File) {
        let turn = self.begin();
        let size = file.size();
        let is_json = [".json", ".trace"].iter().any(|end| file.name().ends_with(end));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the size of a file
        let refused = too_large(size as u64, is_json);
        if let Some(issue) = refused {
            let why = vec![untrack(|| translated(&issue.message))];
            self.read.set(Some(Answer::Refused(why)));
            return;
        }
        self.label.update(|label| {
            if label.is_empty() {
                *label = file.name();
            }
        });
        self.progress.set(Some(0.0));
        leptos::task::spawn_local(async move {
            if size < SAVED && is_json || size < SHORT {
                let text = JsFuture::from(file.text()).await;
                let text = text.ok().and_then(|text| text.as_string());
                if text.is_some_and(|text| self.turn.get_value() == turn && self.add(state, &text)) {
                    self.label.set(String::new());
                    self.progress.set(None);
                    return;
                }
            }
            let answer = self.pieces(state, &file, turn).await;
            self.end(turn, answer);
        });
    }

    /// Reads `file` from its beginning to its end; none where it cannot be read, or another has begun.
    async fn pieces(self, state: State, file: &web_sys::File, turn: u32) -> Option<Answer> {
        let size = file.size();
        let mut at = 0.0;
        loop {
            let end = (at + PIECE).min(size);
            let slice = file.slice_with_f64_and_f64(at, end).ok()?;
            let bytes = JsFuture::from(slice.array_buffer()).await.ok()?;
            if self.turn.try_get_value()? != turn {
                return None;
            }
            let mut piece = Piece { first: at == 0.0, last: (end >= size).then(|| wanted(state)) };
            let mut answer = send(&piece, &Uint8Array::new(&bytes)).await?;
            if answer == Answer::Enough {
                piece = Piece { first: false, last: Some(wanted(state)) };
                answer = send(&piece, &Uint8Array::new_with_length(0)).await?;
            }
            if self.turn.try_get_value()? != turn {
                return None;
            }
            if answer != Answer::More {
                return Some(answer);
            }
            at = end;
            self.progress.set(Some(at / size));
        }
    }

    fn end(self, turn: u32, answer: Option<Answer>) {
        if self.turn.try_get_value() != Some(turn) {
            return;
        }
        self.progress.set(None);
        let failed = || {
            let why = "The reader did not arrive, or the file cannot be read. Check the network and try again.";
            Answer::Refused(vec![untrack(|| translated(why))])
        };
        self.read.set(Some(answer.unwrap_or_else(failed)));
    }
}

/// The Run that fills in what a file leaves out, and the language of the page.
fn wanted(state: State) -> Wanted {
    let run: Run = state.run.with_untracked(bare);
    Wanted { link: link::encode(&run), catalogue: untrack(i18n::shown).1.as_ref().clone() }
}

async fn send(piece: &Piece, bytes: &Uint8Array) -> Option<Answer> {
    let answer = ask(&to_bytes(piece), Some(bytes)).await?;
    from_bytes::<Option<Answer>>(&answer).flatten()
}
