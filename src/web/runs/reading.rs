//! A text or a file that is imported, read piece by piece; a later one ends it.

use crate::core::issue::Issue;
use crate::io::logs::{LogReader, Reading, read, too_large};
use crate::view::panels::runs::bare;
use crate::web::state::State;
use crate::web::state::runs::Runs;
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
    pub(crate) fn take_text(self, state: State, text: &str) {
        let turn = self.begin();
        self.progress.set(None);
        if text.trim().is_empty() || self.add(state, text) {
            return;
        }
        self.end(turn, Some(read(text, &state.run.with_untracked(bare))));
    }

    /// Reads a file.
    pub(crate) fn take_file(self, state: State, file: web_sys::File) {
        let turn = self.begin();
        let size = file.size();
        let is_json = [".json", ".trace"].iter().any(|end| file.name().ends_with(end));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the size of a file
        let refused = too_large(size as u64, is_json);
        if let Some(issue) = refused {
            self.read.set(Some(Err(vec![issue])));
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
            let reading = self.pieces(state, &file, turn).await;
            self.end(turn, reading);
        });
    }

    /// Reads `file` from its beginning to its end; none where it cannot be read, or another has begun.
    async fn pieces(self, state: State, file: &web_sys::File, turn: u32) -> Option<Result<Reading, Vec<Issue>>> {
        let size = file.size();
        let (mut reader, mut at) = (LogReader::default(), 0.0);
        while at < size {
            let end = (at + PIECE).min(size);
            let slice = file.slice_with_f64_and_f64(at, end).ok()?;
            let bytes = JsFuture::from(slice.array_buffer()).await.ok()?;
            if self.turn.try_get_value()? != turn {
                return None;
            }
            if let Err(issue) = reader.push(&Uint8Array::new(&bytes).to_vec()) {
                return Some(Err(vec![issue]));
            }
            at = end;
            self.progress.set(Some(at / size));
        }
        Some(reader.finish(&state.run.with_untracked(bare)))
    }

    fn end(self, turn: u32, reading: Option<Result<Reading, Vec<Issue>>>) {
        if self.turn.try_get_value() != Some(turn) {
            return;
        }
        self.progress.set(None);
        let failed = || Err(vec![Issue::error("", "The file cannot be read.")]);
        self.read.set(Some(reading.unwrap_or_else(failed)));
    }
}
