//! The place of a late part on the page: what is shown until it is there.

use super::render::patched;
use crate::view::node::markup::leaf;
use crate::web::browser::html::{flag, view_of};
use crate::web::browser::i18n::say;
use crate::web::late::Missing;
use leptos::prelude::*;

/// What is said of a part that did not arrive.
pub(super) const MISSING: &str = "A part of the page did not arrive. Check the network.";

/// The view of a late part; while it is awaited and where it does not arrive that is said, with a button that asks
/// again.
pub(crate) fn arriving<Loaded>(load: impl Fn() -> Loaded + Send + Sync + 'static) -> AnyView
where
    Loaded: Future<Output = Result<AnyView, Missing>> + Send + 'static,
{
    let (again, waits) = (RwSignal::new(()), RwSignal::new(true));
    let view = move || {
        again.track();
        waits.set(true);
        let loaded = load();
        Suspend::new(async move {
            let view = loaded.await;
            // The view may be gone by now.
            let _ = waits.try_set(false);
            view.unwrap_or_else(|Missing| missing(again))
        })
    };
    let words = view_of(|| leaf("p", "muted", "Loading…").say("role", "status"));
    view! { <div hidden=flag(move || !waits.get()) use:patched=words></div>{view} }.into_any()
}

fn missing(again: RwSignal<()>) -> AnyView {
    view! {
        <p class="issue error missing" role="alert">
            {say(MISSING)}
            " "
            <button on:click=move |_| again.set(())>{say("Try again")}</button>
        </p>
    }
    .into_any()
}
