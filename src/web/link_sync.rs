//! The address bar follows the Run, and the Run follows the address bar.

use crate::io::link;
use crate::view::gallery::Look;
use crate::web::browser;
use crate::web::history;
use crate::web::state::{State, gallery_of, gpu_of, theme_of, view_of};
use crate::web::{dialog_page, modal};
use leptos::prelude::*;
use std::time::Duration;

/// Typing settles this long before the address changes: browsers refuse more than a few changes a second.
const SETTLE: Duration = Duration::from_millis(150);

/// Keeps both in step; in an embed the address is not changed.
pub fn keep(state: State) {
    let pending = StoredValue::new(None::<TimeoutHandle>);
    if state.embed().is_none() {
        Effect::new(move |first: Option<()>| {
            let fragment = state.run.with(|run| link::encode_with(run, &view(state)));
            if first.is_none() && browser::link_text().is_empty() {
                return;
            }
            if let Some(before) = pending.get_value() {
                before.clear();
            }
            let settled = move || {
                browser::show_link(&fragment);
                history::settle(state);
            };
            let timer = set_timeout_with_handle(settled, SETTLE);
            pending.set_value(timer.ok());
        });
    }
    for event in ["hashchange", "popstate"] {
        let handle = window_event_listener_untyped(event, move |_| {
            let read = link::opened(&browser::link_text());
            let (open, gpu) = (view_of(&read.view), gpu_of(&read.view));
            let gallery = gallery_of(&read.view);
            if read.view.theme.is_some() {
                state.theme.set(theme_of(&read.view));
                state.view.update_value(|view| view.theme = read.view.theme);
            }
            if state.compare.get_untracked() != read.view.compare {
                state.compare.set(read.view.compare);
            }
            if state.open.get_untracked() != open {
                state.open.set(open);
            }
            let sliders = read.view.sliders.unwrap_or_default();
            if state.sliders.get_untracked() != sliders {
                state.sliders.set(sliders);
            }
            if state.gallery.with_untracked(|look| *look != gallery) {
                state.gallery.set(gallery);
            }
            if state.gpu.get_untracked() != gpu {
                state.gpu.set(gpu);
            }
            if state.lang.get_untracked() != read.view.lang {
                state.lang.set(read.view.lang);
            }
            if state.second.with_untracked(|second| *second != read.view.second) {
                state.second.set(read.view.second);
            }
            let asked = read.view.page.as_deref();
            let opened = state.view.with_value(|view| view.page.clone());
            if let Some(page) = asked.filter(|page| opened.as_deref() != Some(page)) {
                modal::open(state, dialog_page::named(page));
                state.view.update_value(|view| view.page.clone_from(&read.view.page));
            }
            // A link of nothing but bad values is the Run that is there, and more to say.
            state.notices.set(read.notices);
            if state.run.with_untracked(|run| *run != read.run) {
                state.run.set(read.run);
            }
        });
        on_cleanup(move || handle.remove());
    }
}

/// What of the view belongs into the address: theme, language and page that the link itself asked for.
pub(crate) fn view(state: State) -> link::View {
    let (compare, second) = (state.compare.get(), state.second.get());
    let lang = state.lang.get();
    let [open, lesson, sliders] = state.linked_view();
    let [ticked, sort, axis, limit] = state.gallery.with(Look::link);
    state.view.with_value(|view| link::View {
        theme: view.theme.clone(),
        lang,
        page: view.page.clone(),
        open,
        gpu: state.gpu.get().map(|gpu| gpu.to_string()),
        lesson,
        sliders,
        ticked,
        sort,
        axis,
        limit,
        compare,
        second,
        ..link::View::default()
    })
}
