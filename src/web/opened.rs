//! Views that stand beside the Run, from when they are first opened on.

use crate::view::views::View;
use crate::web::cluster::cluster_view;
use crate::web::compare::second_run;
use crate::web::diagnose::diagnose_view;
use crate::web::document::arriving::arriving;
use crate::web::gallery::schedules_view;
use crate::web::learn::lesson_view;
use crate::web::scoreboard::board_view;
use crate::web::state::State;
use crate::web::whole::whole_view;
use leptos::prelude::*;

/// The whole run; kept once it was open.
pub(crate) fn whole(state: State) -> AnyView {
    let opened = since(state, View::Whole);
    (move || opened.get().then(|| arriving(move || whole_view(state)))).into_any()
}

/// What a run left behind; kept once it was open.
pub(crate) fn diagnose(state: State) -> AnyView {
    let opened = Memo::new(move |before: Option<&bool>| {
        before == Some(&true) || matches!(state.view.open.get(), View::Diagnose(_))
    });
    (move || opened.get().then(|| arriving(move || diagnose_view(state)))).into_any()
}

/// All schedules; kept once it was open.
pub(crate) fn schedules(state: State) -> AnyView {
    let opened = since(state, View::Schedules);
    (move || opened.get().then(|| arriving(move || schedules_view(state)))).into_any()
}

/// The cluster; kept once it was open.
pub(crate) fn cluster(state: State) -> AnyView {
    let opened = since(state, View::Cluster);
    (move || opened.get().then(|| arriving(move || cluster_view(state)))).into_any()
}

/// The scoreboard; kept once it was open.
pub(crate) fn scoreboard(state: State) -> AnyView {
    let opened = since(state, View::Scoreboard);
    (move || opened.get().then(|| arriving(move || board_view(state)))).into_any()
}

/// The open step of a lesson.
pub(crate) fn lesson(state: State) -> AnyView {
    let open = Memo::new(move |_| matches!(state.view.open.get(), View::Learn(_)));
    (move || open.get().then(|| arriving(move || lesson_view(state)))).into_any()
}

/// The second Run beside the first, while there is one.
pub(crate) fn second(state: State) -> AnyView {
    let is_there = Memo::new(move |_| state.view.second.with(Option::is_some));
    (move || is_there.get().then(|| arriving(move || second_run(state)))).into_any()
}

/// True from the moment `view` is open.
fn since(state: State, view: View) -> Memo<bool> {
    Memo::new(move |before: Option<&bool>| before == Some(&true) || state.view.open.get() == view)
}
