//! The timeline as a file: picture, table of ops, trace.

use super::look::TimelineLook;
use crate::io::export::{Picture, chrome_trace, file_name, ops_csv, svg};
use crate::view::charts::viewport::Viewport;
use crate::view::node::action::TimelineAction;
use crate::web::browser;
use crate::web::browser::canvas;
use crate::web::browser::i18n::shown;
use crate::web::state::State;
use leptos::prelude::*;

/// Downloads the timeline as the file that `kind` names. A picture shows the visible part of the time axis; the table
/// and the trace are whole.
pub fn export(state: State, look: TimelineLook, kind: TimelineAction) {
    let Some(prepared) = look.own.prepared.get_untracked() else {
        return;
    };
    let evaluation = &prepared.evaluation;
    let whole_axis = Viewport::all(prepared.makespan());
    let is_zoomed = look.window.get_untracked().is_some();
    let (_, catalogue) = untrack(shown);
    let picture = Picture {
        evaluation,
        sums: &prepared.sums,
        view: if is_zoomed { look.seen() } else { whole_axis },
        width: look.width.get_untracked().max(640.0),
        rank: look.own.rank.get_untracked(),
        theme: state.view.theme.get_untracked(),
        catalogue: &catalogue,
    };
    let (extension, text) = match kind {
        TimelineAction::Png => {
            if let Some(address) = canvas::png(&picture) {
                browser::download_address(&file_name(evaluation, "png"), &address);
            }
            return;
        }
        TimelineAction::Svg => ("svg", svg(&picture)),
        TimelineAction::Csv => ("csv", ops_csv(evaluation.timeline())),
        _ => ("trace.json", chrome_trace(evaluation)),
    };
    browser::download(&file_name(evaluation, extension), "text/plain", &text);
}
