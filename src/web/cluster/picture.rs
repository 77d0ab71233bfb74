//! The picture with its head, and the pointer on it.

use super::map::Map;
use crate::core::message::Message;
use crate::core::t;
use crate::view::cluster::legend::legend;
use crate::view::cluster::names::who;
use crate::view::cluster::{busiest, kinds, rails, ranks, summary, tools};
use crate::web::browser;
use crate::web::browser::html::{effect, flag, text, view_once};
use crate::web::browser::i18n::{say, translated};
use crate::web::document::panel::part;
use crate::web::document::render::patched;
use leptos::html::Div;
use leptos::prelude::*;

pub(super) fn head_and_map(map: Map) -> AnyView {
    let frame = NodeRef::<Div>::new();
    effect(move || {
        if let Some(element) = frame.get() {
            browser::watch_width(&element, move |width| {
                if width > 0.0 {
                    map.width.set(width);
                }
            });
        }
    });
    let state = map.state;
    let line = move || {
        let drawn = map.drawn.get();
        drawn.map_or_else(String::new, |drawn| translated(summary(&drawn.scene, state.view.chosen.get().load)))
    };
    let busy = move || translated(map.traffic.with(|all| busiest(all)));
    let legend = map.view(move |_| {
        let most = map.loads().map(|(_, most)| most);
        legend(&map.wires(), most, state.view.unit.get())
    });
    let picture = map.view(move |drawn| map.picture(drawn));
    let tools = map.view(move |drawn| {
        let chosen = state.view.chosen.get();
        tools(&drawn.evaluation, chosen.group, chosen.load)
    });
    // Part under a pointer or a key; read out for keys.
    let status = move || {
        let drawn = map.drawn.get()?;
        let gpu = map.hover.get().unwrap_or(map.gpu(&drawn));
        let place = t!("GPU {gpu}: {place}", gpu, place = who(&drawn.scene, gpu));
        let rails = rails::sentence(drawn.scene.mesh, gpu, &kinds(&drawn.evaluation));
        let sentences = [place, rails].into_iter().filter(|one| !one.is_empty());
        Some(translated(Message::joined(". ", sentences)))
    };
    let moved = move |event: web_sys::PointerEvent| {
        if event.pointer_type() == "touch" {
            return;
        }
        let under = map.under(&event);
        if map.hover.get_untracked() != under {
            map.hover.set(under);
        }
    };
    let pressed = move |event: web_sys::MouseEvent| {
        let under = map.under(&event);
        // A second press lets go.
        let same = under.is_some() && state.view.gpu.get_untracked() == under;
        map.hover.set(None);
        state.view.select(if same { None } else { under });
    };
    view! {
        <section class="cluster-map-panel" aria-labelledby="cluster-title">
            <div class="panel-head">
                <h2 id="cluster-title">{say("Cluster")}</h2>
                <span class="spring"></span>
                <div use:patched=tools></div>
            </div>
            <p class="muted">{text(line)}</p>
            <p>{text(busy)}</p>
            <div use:patched=legend></div>
            <div
                class="cluster-frame"
                node_ref=frame
                tabindex="0"
                role="application"
                aria-label=say("Cluster: arrow keys select a GPU")
                aria-describedby="cluster-gpu"
                on:pointermove=moved
                on:pointerleave=move |_| map.hover.set(None)
                on:click=pressed
                on:keydown=move |event| map.key(&event)
            >
                <div use:patched=picture></div>
            </div>
            <p class="muted" id="cluster-gpu" role="status">{text(move || status().unwrap_or_default())}</p>
            {part(None, "fold", say("Show as a table"), flag(|| false), move |open| {
                view_once(move || {
                    let drawn = open.get().then(|| map.drawn.get()).flatten()?;
                    Some(ranks::node_table(&drawn.scene, map.gpu(&drawn)))
                })
            })}
        </section>
    }
    .into_any()
}
