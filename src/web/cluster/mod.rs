//! The cluster view: the picture of nodes and GPUs with the groups of one of them, memory and timeline of the same
//! selection, a step that can be played, and what leaves its node.

mod picture;
mod player;

use crate::core::pipeline::Kind;
use crate::core::report::Evaluation;
use crate::core::run::registry::field;
use crate::io::asked::Asked;
use crate::view::cluster::base::{base, stage_of_tone, tones};
use crate::view::cluster::crossing::Question;
use crate::view::cluster::moment::{Waits, op_at};
use crate::view::cluster::opened::hit;
use crate::view::cluster::picture::Look as Picture;
use crate::view::cluster::wires::{Wire, load, wires};
use crate::view::cluster::{Scene, kinds, ranks, selected, summary};
use crate::view::node::Node;
use crate::view::panel::Panel;
use crate::view::views::View;
use crate::web::browser;
use crate::web::field::choice_select;
use crate::web::html::{effect, flag, text, view_once};
use crate::web::i18n::{say, translated};
use crate::web::import::asked;
use crate::web::panel::shown;
use crate::web::render::patched;
use crate::web::state::State;
use crate::web::timeline::look::Look;
use crate::web::timeline::surface::surface;
use leptos::prelude::*;
use picture::head_and_map;
use player::player;
use std::sync::Arc;
use wasm_bindgen::JsCast;

/// The colours of loads go up to this share of the step at least.
const SCALE: f64 = 0.25;

/// What is drawn while only the pointer moves.
struct Drawn {
    evaluation: Arc<Evaluation>,
    scene: Scene,
    base: Node,
}

/// Handles of the view.
#[derive(Clone, Copy)]
struct Map {
    state: State,
    look: Look,
    open: Signal<bool>,
    width: RwSignal<f64>,
    /// The GPU under the pointer.
    hover: RwSignal<Option<u64>>,
    drawn: Memo<Option<Arc<Drawn>>>,
    /// Traffic of each pipeline rank.
    traffic: Memo<Arc<Vec<Vec<Wire>>>>,
    playing: RwSignal<bool>,
}

impl Map {
    fn new(state: State, open: Signal<bool>) -> Self {
        let width = RwSignal::new(0.0);
        let drawn = Memo::new_with_compare(
            move |before: Option<&Option<Arc<Drawn>>>| {
                if !open.get() || width.get() < 1.0 {
                    return before.cloned().flatten();
                }
                let evaluation = state.evaluation()?;
                let scene = Scene::of(evaluation.scenario.layout.mesh(), width.get());
                let base = base(&scene, &evaluation);
                Some(Arc::new(Drawn {
                    evaluation,
                    scene,
                    base,
                }))
            },
            |_, _| true,
        );
        let traffic = Memo::new_with_compare(
            move |before: Option<&Arc<Vec<Vec<Wire>>>>| match state.evaluation() {
                Some(evaluation) if open.get() => Arc::new(wires(&evaluation)),
                _ => before.cloned().unwrap_or_default(),
            },
            |_, _| true,
        );
        Self {
            state,
            look: expect_context(),
            open,
            width,
            hover: RwSignal::new(None),
            drawn,
            traffic,
            playing: RwSignal::new(false),
        }
    }
    /// The selected GPU.
    fn gpu(self, drawn: &Drawn) -> u64 {
        let gpu = self.state.gpu.get().unwrap_or(0);
        gpu.min(drawn.scene.mesh.ranks() - 1)
    }
    /// Traffic of the selected GPU.
    fn wires(self) -> Vec<Wire> {
        let rank = self.state.rank().unwrap_or(0);
        self.traffic
            .with(|all| all.get(rank).cloned().unwrap_or_default())
    }
    /// How busy the links are that colour the picture, by pipeline rank, and the end of their scale.
    fn loads(self) -> Option<(Vec<f64>, f64)> {
        let link = self.state.chosen.get().load?;
        let loads: Vec<f64> = self
            .traffic
            .with(|all| all.iter().map(|wires| load(wires, link)).collect());
        let most = loads.iter().copied().fold(SCALE, f64::max);
        Some((loads, most))
    }
    /// A view of the cluster that is computed while it is open.
    fn view(self, of: impl Fn(&Drawn) -> Node + Send + Sync + 'static) -> Signal<Node> {
        view_once(move || {
            self.open
                .get()
                .then(|| self.drawn.get())
                .flatten()
                .map(|drawn| of(&drawn))
        })
    }
    /// The tables of what leaves its node, from the second module.
    fn crossings(self) -> Signal<Node> {
        let tables = RwSignal::new(Node::none());
        effect(move || {
            let Some(drawn) = self.open.get().then(|| self.drawn.get()).flatten() else {
                return;
            };
            let (gpu, unit) = (self.gpu(&drawn), self.state.unit.get());
            let question = self
                .traffic
                .with(|all| Question::new(&drawn.evaluation, gpu, all, unit));
            // Gone when the effect runs again.
            let latest = StoredValue::new(());
            leptos::task::spawn_local(async move {
                let asked = asked(&Asked::Crossings(Box::new(question))).await;
                if let (Some(answer), false) = (asked, latest.is_disposed()) {
                    tables.set(answer);
                }
            });
        });
        tables.into()
    }
    /// What the chosen block of the timeline, or the selected stage at the instant that is shown, waits for.
    fn waits(self, wires: &[Wire]) -> Option<Waits> {
        let (clock, focus) = (self.look.clock.get(), self.look.own.focus.get());
        if clock.is_none() && focus.is_none() {
            return None;
        }
        let prepared = self.look.own.prepared.get()?;
        Some(match (clock, focus) {
            (Some(time), _) => Waits::at(&prepared, self.state.rank().unwrap_or(0), time, wires),
            (None, Some(place)) => Waits::of(&prepared, place, wires),
            (None, None) => return None,
        })
    }
    fn picture(self, drawn: &Drawn) -> Node {
        let scene = &drawn.scene;
        let selected = self.gpu(drawn);
        let gpu = self
            .hover
            .get()
            .unwrap_or(selected)
            .min(scene.mesh.ranks() - 1);
        let wires = self.wires();
        let kinds = match self.state.chosen.get().group {
            Some(kind) => vec![kind],
            None => kinds(&drawn.evaluation),
        };
        let played = self.look.clock.get().zip(self.look.own.prepared.get());
        let doing = played.map(|(time, prepared)| {
            let timeline = prepared.evaluation.timeline();
            let op = |tone| op_at(timeline, stage_of_tone(scene, tone), time);
            let doing = (0..tones(scene)).map(|tone| op(tone).map(|(_, op)| op.op.kind));
            doing.collect::<Vec<Option<Kind>>>()
        });
        let waits = self.waits(&wires).unwrap_or_default();
        let load = self.loads().map(|(loads, most)| {
            let share = |tone| {
                loads
                    .get(stage_of_tone(scene, tone))
                    .copied()
                    .unwrap_or(0.0)
                    / most
            };
            (0..tones(scene)).map(share).collect::<Vec<f64>>()
        });
        let picture = Picture {
            scene,
            base: &drawn.base,
            theme: self.state.theme.get(),
            selected,
            gpu,
            kinds: &kinds,
            wires: &wires,
            doing: doing.as_deref(),
            load: load.as_deref(),
            lit: &waits.kinds,
            lit_stage: waits.link(self.state.rank().unwrap_or(0)),
        };
        picture.view(summary(scene, self.state.chosen.get().load))
    }
    /// The GPU at a pointer.
    fn under(self, event: &web_sys::MouseEvent) -> Option<u64> {
        let drawn = self.drawn.get_untracked()?;
        let frame: web_sys::Element = event.current_target()?.dyn_into().ok()?;
        let frame = frame.get_bounding_client_rect();
        let (x, y) = (
            f64::from(event.client_x()) - frame.left(),
            f64::from(event.client_y()) - frame.top(),
        );
        let selected = untrack(|| self.gpu(&drawn));
        hit(&drawn.scene, x, y, selected)
    }
    fn key(self, event: &web_sys::KeyboardEvent) {
        let Some(drawn) = self.drawn.get_untracked() else {
            return;
        };
        let gpu = untrack(|| self.gpu(&drawn));
        if event.ctrl_key() || event.meta_key() || event.alt_key() {
            return;
        }
        let to = match event.key().as_str() {
            "Escape" => None,
            key => match drawn.scene.walked(gpu, key) {
                Some(next) => Some(next),
                None => return,
            },
        };
        event.prevent_default();
        self.hover.set(None);
        self.state.gpu.set(to);
    }
    fn makespan(self) -> f64 {
        let prepared = self.look.own.prepared.get_untracked();
        prepared.map_or(0.0, |prepared| prepared.makespan())
    }
}

/// The view; built when it is first opened.
pub fn cluster(state: State) -> AnyView {
    let built = Memo::new(move |before: Option<&bool>| {
        before == Some(&true) || state.open.get() == View::Cluster
    });
    (move || built.get().then(|| whole(state))).into_any()
}

fn whole(state: State) -> AnyView {
    let map = Map::new(state, flag(move || state.open.get() == View::Cluster));
    let side = map.view(move |drawn| {
        let gpu = map.gpu(drawn);
        selected::selected(&drawn.evaluation, gpu, &map.wires(), state.unit.get())
    });
    let bars = shown(state, move || {
        map.open.get().then(|| Panel::MemoryBars(state.rank()))
    });
    let crossings = map.crossings();
    view! {
        <main class="cluster" id="cluster" tabindex="-1" hidden=flag(move || !map.open.get())>
            <div class="cluster-top stale-able" class:stale=flag(move || state.is_stale())>
                {head_and_map(map)}
                <aside aria-label=say("Selected GPU")>
                    {selection(map)}
                    <div use:patched=side></div>
                    {copy_button(map)}
                </aside>
            </div>
            <div class="cluster-pair">
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
                    {surface(state, map.look, map.look.own)}
                    {player(map)}
                </section>
            </div>
            <section aria-labelledby="cluster-crossing">
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
            map.state.gpu.set(Some(gpu));
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
    let label = move || {
        translated(if copied.get() {
            "Copied"
        } else {
            "Copy the rank table"
        })
    };
    view! { <button on:click=copy>{text(label)}</button> }.into_any()
}
