//! The cluster view: the picture of nodes and GPUs with the groups of one of them, memory and timeline of the same
//! selection, a step that can be played, and what leaves its node.

mod map;
mod picture;
mod player;

use crate::core::run::registry::field;
use crate::view::cluster::{ranks, selected};
use crate::view::panel::Panel;
use crate::view::views::View;
use crate::web::browser;
use crate::web::browser::html::{flag, text};
use crate::web::browser::i18n::{say, translated};
use crate::web::document::panel::shown;
use crate::web::document::render::patched;
use crate::web::form::choice::choice_select;
use crate::web::late::parts;
use crate::web::state::State;
use crate::web::strip::halted;
use crate::web::timeline::surface::surface;
use leptos::prelude::*;
use map::Map;
use picture::head_and_map;
use player::player;

parts! {
    views: cluster_view(state: State) -> AnyView = whole(state);
    views: cluster_frame(state: State) -> AnyView = map(state);
}

/// The view; hidden while another is open.
pub(crate) fn whole(state: State) -> AnyView {
    let map = Map::new(state, flag(move || state.view.open.get() == View::Cluster));
    let side = map.view(move |drawn| {
        let gpu = map.gpu(drawn);
        selected::selected(&drawn.evaluation, gpu, &map.wires(), state.view.unit.get())
    });
    let bars = shown(state, move || map.open.get().then(|| Panel::MemoryBars(state.rank())));
    let crossings = map.crossings();
    let stale = flag(move || state.is_stale());
    view! {
        <main class="cluster" id="cluster" tabindex="-1" hidden=flag(move || !map.open.get())>
            {halted(state, move || map.open.get())}
            <div class="cluster-top stale-able" class:stale=stale>
                {head_and_map(map)}
                <aside aria-label=say("Selected GPU")>
                    {selection(map)}
                    <div use:patched=side></div>
                    {copy_button(map)}
                </aside>
            </div>
            <div class="cluster-pair stale-able" class:stale=stale>
                <section aria-labelledby="cluster-memory">
                    <div class="panel-head">
                        <h2 id="cluster-memory">{say("Memory per GPU, by pipeline rank")}</h2>
                    </div>
                    <div use:patched=bars></div>
                </section>
                <section aria-labelledby="cluster-timeline">
                    <div class="panel-head">
                        <h2 id="cluster-timeline">{say("Pipeline timeline")}</h2>
                    </div>
                    {surface(state, map.look, map.look.own, ().into_any())}
                    {player(map)}
                </section>
            </div>
            <section class="stale-able" class:stale=stale aria-labelledby="cluster-crossing">
                <div class="panel-head">
                    <h2 id="cluster-crossing">{say("What leaves its node, and what need not")}</h2>
                    <span class="spring"></span>
                    <span class="tools">
                        <small>{say("rank order")}" "</small>
                        {field("rank_order").map(|field| choice_select(state, field, "Rank order"))}
                    </span>
                </div>
                <div use:patched=crossings></div>
            </section>
        </main>
    }
    .into_any()
}

/// The picture alone, in an embed.
pub fn map(state: State) -> AnyView {
    head_and_map(Map::new(state, flag(|| true)))
}

/// The number of the selected GPU, to type.
fn selection(map: Map) -> AnyView {
    let number = move || {
        let drawn = map.drawn.get();
        drawn.map_or_else(String::new, |drawn| map.gpu(&drawn).to_string())
    };
    let typed = move |event| {
        if let Ok(gpu) = event_target_value(&event).trim().parse() {
            map.state.view.select(Some(gpu));
        }
    };
    view! {
        <label class="cluster-number">
            <span>{say("GPU")}</span>
            <input type="text" inputmode="numeric" prop:value=text(number) on:change=typed/>
        </label>
    }
    .into_any()
}

fn copy_button(map: Map) -> AnyView {
    let copied = RwSignal::new(false);
    let copy = move |_| {
        let Some(drawn) = map.drawn.get_untracked() else {
            return;
        };
        let mesh = drawn.scene.mesh;
        browser::copy(&ranks::rank_table(mesh), move |done| {
            copied.set(done);
            if !done {
                let table = ranks::rank_table(mesh);
                browser::download("ranks.tsv", "text/tab-separated-values", &table);
            }
        });
    };
    let label = move || translated(if copied.get() { "Copied" } else { "Copy the rank table" });
    view! { <button on:click=copy>{text(label)}</button> }.into_any()
}
