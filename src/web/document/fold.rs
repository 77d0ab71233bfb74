//! The page's fold: like [`crate::view::node::markup::fold`], with a content that the page computes while it is open.

use leptos::prelude::*;
use wasm_bindgen::JsCast;

/// A summary line with what opens below it.
pub(crate) struct Fold {
    /// Id of the element.
    pub id: Option<&'static str>,
    /// Classes of the element.
    pub class: &'static str,
    /// The line that stays visible.
    pub summary: AnyView,
    /// True while it is open.
    pub open: Signal<bool>,
    /// Choice of the user; [`Self::open`] follows it.
    pub chosen: RwSignal<Option<bool>>,
    /// The part that opens.
    pub content: AnyView,
}

impl Fold {
    /// Its element.
    pub fn view(self) -> AnyView {
        let Self { id, class, summary, open, chosen, content } = self;
        let toggled = move |event: leptos::ev::Event| {
            let target = event.target();
            let Some(fold) = target.and_then(|it| it.dyn_into::<web_sys::Element>().ok()) else {
                return;
            };
            let now = fold.has_attribute("open");
            // The event comes later than the change: the page may have dropped the fold, or changed it itself.
            if open.try_get_untracked().is_some_and(|open| open != now) {
                chosen.set(Some(now));
                // A fold that must stay open opens again.
                if !now && open.get_untracked() {
                    let _ = fold.set_attribute("open", "");
                }
            }
        };
        view! {
            <details id=id class=class open=open on:toggle=toggled>
                <summary>{summary}</summary>
                {content}
            </details>
        }
        .into_any()
    }
}
