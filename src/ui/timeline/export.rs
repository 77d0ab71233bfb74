//! The timeline as a file: picture, table of ops, trace.

use super::look::Look;
use crate::share::export::{Picture, chrome_trace, file_name, ops_csv, svg};
use crate::ui::state::State;
use crate::ui::{browser, chart};
use leptos::prelude::*;

/// Offers the file that `kind` names: png, svg, csv, trace.
pub fn export(state: State, look: Look, kind: &str) {
    let Some(prepared) = look.own.prepared.get_untracked() else {
        return;
    };
    let evaluation = &prepared.evaluation;
    let own = crate::scene::viewport::Viewport::all(prepared.makespan());
    let window = look.window.get_untracked();
    let picture = Picture {
        evaluation,
        sums: &prepared.sums,
        view: window.map_or(own, |_| look.seen()),
        width: look.width.get_untracked().max(640.0),
        rank: look.own.rank.get_untracked(),
        theme: state.theme.get_untracked(),
    };
    match kind {
        "png" => {
            if let Some(address) = chart::png(&picture) {
                browser::download_address(&file_name(evaluation, "png"), &address);
            }
        }
        "svg" => browser::download(
            &file_name(evaluation, "svg"),
            "image/svg+xml",
            &svg(&picture),
        ),
        "csv" => browser::download(
            &file_name(evaluation, "csv"),
            "text/csv",
            &ops_csv(&evaluation.timeline),
        ),
        "trace" => browser::download(
            &file_name(evaluation, "trace.json"),
            "application/json",
            &chrome_trace(evaluation),
        ),
        _ => {}
    }
}
