//! The drawer that explains a figure: closed until one is asked, gone with Escape or a press elsewhere unless it is
//! pinned.

use crate::core::report::Figure;
use crate::core::t;
use crate::core::whole_run::WholeRunFigure;
use crate::io::export::Stamp;
use crate::io::wrong::{Hero, WrongFigure, repository};
use crate::view::node::markup::{Node, copied, el, muted, paragraph, text as words};
use crate::view::panel::Panel;
use crate::web::browser;
use crate::web::browser::html::{flag, text, view_of, view_once};
use crate::web::browser::i18n::{say, translated};
use crate::web::document::panel::{late_view, part, shown};
use crate::web::document::render::patched;
use crate::web::document::shortcuts::{drawer_closes, keeps_drawer};
use crate::web::late::Late;
use crate::web::state::evaluated::evaluated;
use crate::web::state::{Panels, State};
use leptos::prelude::*;

/// The drawer.
#[component]
pub(crate) fn About() -> impl IntoView {
    let (state, panels) = (expect_context::<State>(), expect_context::<Panels>());
    let pinned = RwSignal::new(false);
    let close = move |_| {
        panels.drawer.set(false);
        drawer_closes();
    };
    let asked = move || panels.whole.get().map_or_else(|| Panel::About(panels.figure.get()), Panel::AboutWhole);
    let handle = window_event_listener_untyped("pointerdown", move |event| {
        if panels.drawer.get_untracked() && !pinned.get_untracked() && !keeps_drawer(&event) {
            panels.drawer.set(false);
        }
    });
    on_cleanup(move || handle.remove());
    let own = shown(state, move || (panels.drawer.get() && !panels.of_second.get()).then(asked));
    let late = Late::new();
    let second = evaluated(move || panels.of_second.get().then(|| state.view.second.get()).flatten());
    let of_second = move || {
        let evaluation = second.with(|second| second.evaluation.clone())?;
        let about = late_view(late, Panel::About(panels.figure.get()), evaluation, state.view.unit.get());
        Some(Node::from_iter([muted("Of B, the run beside this one."), about]))
    };
    let content = view_of(move || {
        if panels.drawer.get() && panels.of_second.get() {
            return of_second().unwrap_or_else(Node::none);
        }
        own.get()
    });
    let rank = move || match panels.figure.get() {
        Some(Figure::Memory(rank) | Figure::Component(rank, _))
            if !panels.of_second.get() && state.rank() != Some(rank) =>
        {
            Some(rank)
        }
        _ => None,
    };
    let select = move |rank: usize| {
        let label = say(t!("Select rank {rank}", rank));
        view! { <button class="link" on:click=move |_| state.select_rank(rank)>{label}</button> }
    };
    let pin = text(move || translated(if pinned.get() { "unpin" } else { "pin" }));
    view! {
        <span class="tools">
            {move || rank().map(select)}
            <button
                class="link"
                aria-pressed=text(move || pinned.get().to_string())
                on:click=move |_| pinned.update(|on| *on = !*on)
            >
                {pin}
            </button>
            <button class="link close-sheet" on:click=close>{say("close")}</button>
        </span>
        <div use:patched=content></div>
        {move || {
            let of_step = || panels.figure.get().and_then(measured);
            let own = panels.drawer.get() && !panels.of_second.get();
            let hero = own.then(|| panels.whole.get().map_or_else(of_step, measured_whole));
            hero.flatten().map(|hero| wrong(state, hero))
        }}
    }
}

/// The figure that a person may have measured, of those that the drawer explains.
fn measured(figure: Figure) -> Option<Hero> {
    Some(match figure {
        Figure::Memory(_) => Hero::Memory,
        Figure::Capacity => Hero::Fits,
        Figure::Step => Hero::Step,
        Figure::Tokens | Figure::Mfu => Hero::Tokens,
        Figure::Bubble => Hero::Bubble,
        Figure::Exposed => Hero::Exposed,
        _ => return None,
    })
}

/// The figure that a person may have measured, of those of a whole run.
fn measured_whole(figure: WholeRunFigure) -> Option<Hero> {
    match figure {
        WholeRunFigure::Days => Some(Hero::Days),
        WholeRunFigure::Cost | WholeRunFigure::GpuHours => Some(Hero::Cost),
        _ => None,
    }
}

/// "This was wrong": the text of an issue about the figure, to copy, and the form where the repository has an address.
fn wrong(state: State, hero: Hero) -> AnyView {
    part(None, "fold wrong", say("This was wrong"), flag(|| false), move |open| {
        view_once(move || {
            let evaluation = open.get().then(|| state.evaluation()).flatten()?;
            let (date, address) = (browser::today(), browser::address());
            let form = WrongFigure::new(hero, &evaluation, &Stamp { date: &date, address: &address });
            let link = form.address(&repository()).map_or_else(Node::none, |address| {
                let to = [("href", &*address), ("target", "_blank"), ("rel", "noopener")];
                el("a", &to, &[words("Open the form")])
            });
            let how = "Copy this, write what you measured into it, and send it to the maintainers. Nothing is sent \
                from here.";
            Some(Node::from_iter([paragraph(how), copied("", &form.text(), link)]))
        })
    })
}
