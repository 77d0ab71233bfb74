//! Window on the whole axis; click or drag moves it.

use super::look::TimelineLook;
use leptos::html::Div;
use leptos::prelude::*;

pub(crate) fn minimap(look: TimelineLook) -> AnyView {
    let track = NodeRef::<Div>::new();
    let percent = |share: f64| format!("{:.3}%", share * 100.0);
    let go = move |event: web_sys::PointerEvent| {
        if event.buttons() == 0 {
            return;
        }
        let Some(track) = track.get_untracked() else {
            return;
        };
        let area = track.get_bounding_client_rect();
        let at = (f64::from(event.client_x()) - area.left()) / area.width();
        let view = look.seen();
        look.set(view.panned(at * view.full - f64::midpoint(view.start, view.end)));
    };
    let from = move || percent(look.view().start / look.view().full);
    let wide = move || percent(look.view().span() / look.view().full);
    view! {
        <div class="timeline">
            <div
                class="minimap"
                node_ref=track
                aria-hidden="true"
                hidden=move || look.view().is_all()
                on:pointerdown=go
                on:pointermove=go
            >
                <i style:left=from style:width=wide></i>
            </div>
        </div>
    }
    .into_any()
}
