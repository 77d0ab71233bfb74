//! The cluster view: the picture of nodes and GPUs with the groups of one of them, memory and timeline of the same
//! selection, a step that can be played, and what leaves its node.

use crate::core::pipeline::Kind;
use crate::core::report::Evaluation;
use crate::core::run::registry::field;
use crate::core::t;
use crate::core::units::{Seconds, show_seconds};
use crate::view::cluster::moment::{Waits, op_at};
use crate::view::cluster::picture::{
    Look as Picture, base, hit, legend, stage_of_tone, tones, who,
};
use crate::view::cluster::wires::{Wire, load, wires};
use crate::view::cluster::{Scene, busiest, crossing, kinds, ranks, selected, summary, tools};
use crate::view::node::Node;
use crate::view::node::markup::leaf;
use crate::view::panel::Panel;
use crate::view::views::View;
use crate::web::browser;
use crate::web::field::choice_select;
use crate::web::html::{effect, flag, text, view_once};
use crate::web::i18n::{say, translated};
use crate::web::panel::{part, shown};
use crate::web::render::{nodes, patched};
use crate::web::state::State;
use crate::web::timeline::look::Look;
use crate::web::timeline::surface::surface;
use leptos::html::Div;
use leptos::prelude::*;
use std::sync::Arc;
use wasm_bindgen::JsCast;

/// Seconds in which a step is played.
const PLAY: f64 = 12.0;
/// Positions of the slider over the step.
const POSITIONS: f64 = 1000.0;

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
    /// How busy the links are that colour the picture, by pipeline rank, and the busiest of them.
    fn loads(self) -> Option<(Vec<f64>, f64)> {
        let link = self.state.chosen.get().load?;
        let loads: Vec<f64> = self
            .traffic
            .with(|all| all.iter().map(|wires| load(wires, link)).collect());
        let most = loads.iter().copied().fold(0.0, f64::max);
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
        let doing = self.look.clock.get().map(|time| {
            let timeline = drawn.evaluation.timeline();
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
                    / most.max(f64::MIN_POSITIVE)
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
        picture.view(summary(scene))
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
    let crossings = map.view(move |drawn| {
        crossing::crossings(
            &drawn.evaluation,
            map.gpu(drawn),
            &map.wires(),
            state.unit.get(),
        )
    });
    let orders = map.view(|drawn| crossing::reordered_table(&drawn.evaluation));
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
                <div use:patched=orders></div>
            </section>
        </main>
    }
    .into_any()
}

/// The picture alone, in someone's page.
pub fn map(state: State) -> AnyView {
    head_and_map(Map::new(state, flag(|| true)))
}

fn head_and_map(map: Map) -> AnyView {
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
        drawn.map_or_else(String::new, |drawn| translated(summary(&drawn.scene)))
    };
    let busy = move || translated(map.traffic.with(|all| busiest(all)));
    let legend = map.view(move |_| {
        let most = map.loads().map(|(_, most)| most);
        legend(&map.wires(), most, state.unit.get())
    });
    let picture = map.view(move |drawn| map.picture(drawn));
    let tools = map.view(move |drawn| {
        let chosen = state.chosen.get();
        tools(&drawn.evaluation, chosen.group, chosen.load)
    });
    // What a pointer or a key is on; read out for keys.
    let status = move || {
        let drawn = map.drawn.get()?;
        let gpu = map.hover.get().unwrap_or(map.gpu(&drawn));
        Some(translated(t!(
            "GPU {gpu}: {place}",
            gpu,
            place = who(&drawn.scene, gpu)
        )))
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
        let same = under.is_some() && state.gpu.get_untracked() == under;
        map.hover.set(None);
        state.gpu.set(if same { None } else { under });
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

/// Plays the step, or shows an instant of it.
fn player(map: Map) -> AnyView {
    let clock = map.look.clock;
    let play = move |_| {
        let starts = !map.playing.get_untracked();
        map.playing.set(starts);
        if starts {
            if clock
                .get_untracked()
                .is_none_or(|time| time >= map.makespan())
            {
                clock.set(Some(0.0));
            }
            tick(map, js_sys::Date::now());
        }
    };
    let stop = move |_| {
        map.playing.set(false);
        clock.set(None);
    };
    let position = move || {
        let whole = map
            .look
            .own
            .prepared
            .get()
            .map_or(1.0, |prepared| prepared.makespan());
        clock.get().unwrap_or(0.0) / whole * POSITIONS
    };
    let moved = move |event| {
        if let Ok(position) = event_target_value(&event).parse::<f64>() {
            map.playing.set(false);
            clock.set(Some(position / POSITIONS * map.makespan()));
        }
    };
    let now = move || show_seconds(Seconds(clock.get().unwrap_or(0.0)));
    let words = move || {
        let drawn = map.drawn.get();
        let waits = drawn.and_then(|_| map.waits(&map.wires()));
        waits.map_or_else(Node::none, |waits| leaf("p", "", waits.words()))
    };
    view! {
        <div class="cluster-player">
            <button on:click=play>
                {text(move || translated(if map.playing.get() { "Pause" } else { "Play the step" }))}
            </button>
            <input
                type="range"
                min="0"
                max=POSITIONS.to_string()
                aria-label=say("Instant of the step")
                aria-valuetext=text(now)
                prop:value=text(move || format!("{:.0}", position()))
                on:input=moved
            />
            <output>{text(now)}</output>
            <button hidden=flag(move || clock.get().is_none()) on:click=stop>{say("Show the stages")}</button>
        </div>
        {nodes("muted cluster-waits", words)}
    }
    .into_any()
}

/// One frame of the step that is played.
fn tick(map: Map, before: f64) {
    request_animation_frame(move || {
        let plays = map.playing.try_get_untracked().unwrap_or(false);
        if !plays || !map.open.get_untracked() {
            return;
        }
        let (now, whole) = (js_sys::Date::now(), map.makespan());
        let time =
            map.look.clock.get_untracked().unwrap_or(0.0) + (now - before) / 1000.0 / PLAY * whole;
        map.look.clock.set(Some(time.min(whole)));
        if time < whole {
            tick(map, now);
        } else {
            map.playing.set(false);
        }
    });
}
