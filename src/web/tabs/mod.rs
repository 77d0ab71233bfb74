//! The panels below the first screen as tabs, each built when it is first opened.

mod accuracy;
mod kinds;
pub(crate) mod overlap;
pub(crate) mod plan;

use crate::core::run::OneOf;
use crate::view::views::PanelsTab;
use crate::web::browser::html::{flag, text};
use crate::web::browser::i18n::say;
use crate::web::document::arriving::arriving;
use crate::web::late::parts;
use crate::web::memory::MemoryPanel;
use crate::web::state::State;
use crate::web::tabs::accuracy::AccuracyPanel;
use crate::web::tabs::overlap::{CostsPanel, OverlapPanel};
use crate::web::tabs::plan::layouts;
use crate::web::timeline::TimelinePanel;
use leptos::prelude::*;

parts! {
    views: tab_panel(part: PanelsTab) -> AnyView = panel(part);
}

/// A tab's panel. Memory is the first that is seen: it comes with the page, the others with their part.
fn opened(part: PanelsTab) -> AnyView {
    if part == PanelsTab::Memory { view! { <MemoryPanel/> }.into_any() } else { arriving(move || tab_panel(part)) }
}

fn panel(part: PanelsTab) -> AnyView {
    let state = expect_context::<State>();
    match part {
        PanelsTab::Memory => view! { <MemoryPanel/> }.into_any(),
        PanelsTab::Overlap => view! { <OverlapPanel/> }.into_any(),
        PanelsTab::Layouts => layouts(state),
        PanelsTab::Pipeline => view! { <TimelinePanel/> }.into_any(),
        PanelsTab::Costs => view! { <CostsPanel/> }.into_any(),
        PanelsTab::Accuracy => view! { <AccuracyPanel/> }.into_any(),
    }
}

/// All tabs in their order.
fn tabs() -> impl Iterator<Item = PanelsTab> {
    PanelsTab::ALL.iter().map(|(tab, _)| *tab)
}

/// The tabs with the panel of the open one.
#[component]
pub(crate) fn Tabs() -> impl IntoView {
    let state = expect_context::<State>();
    let open = state.view.tab;
    let tab = move |part: PanelsTab| {
        let selected = text(move || (open.get() == part).to_string());
        let show = move |_| state.view.change(|view| view.tab = Some(part).filter(|tab| *tab != PanelsTab::Memory));
        view! { <button role="tab" aria-selected=selected on:click=show>{say(part.choice().label)}</button> }
    };
    let body = move |part: PanelsTab| {
        let has_been_open = Memo::new(move |before: Option<&bool>| before == Some(&true) || open.get() == part);
        let content = move || has_been_open.get().then(|| opened(part));
        // The layouts of the default Run are none of this one's.
        let is_foreign = flag(move || part == PanelsTab::Layouts && state.stands_in());
        view! { <div hidden=flag(move || open.get() != part) inert=is_foreign>{content}</div> }
    };
    view! {
        <nav class="tabs" id="panels" role="tablist" aria-label=say("Panels")>{tabs().map(tab).collect_view()}</nav>
        {tabs().map(body).collect_view()}
    }
}
