//! Handles of the view, and what of it is computed once.

use crate::core::pipeline::OpKind;
use crate::core::report::Evaluation;
use crate::view::cluster::base::{base, stage_of_tone, tones};
use crate::view::cluster::crossing::tables;
use crate::view::cluster::moment::{Waits, op_at};
use crate::view::cluster::opened::hit;
use crate::view::cluster::picture::ClusterLook as Picture;
use crate::view::cluster::wires::{Wire, load, wires};
use crate::view::cluster::{Scene, kinds, summary};
use crate::view::node::Node;
use crate::web::browser::html::view_once;
use crate::web::browser::window_height;
use crate::web::state::State;
use crate::web::timeline::look::TimelineLook;
use leptos::prelude::*;
use std::sync::Arc;
use wasm_bindgen::JsCast;

/// The colours of loads go up to this share of the step at least.
const SCALE: f64 = 0.25;

/// Pixels above and below the picture in a frame: the key, and the line with the run.
const AROUND: f64 = 104.0;

/// Height of the picture in a frame of another page.
fn room_in_frame() -> f64 {
    window_height() - AROUND
}

/// The picture while only the pointer moves.
pub(super) struct Drawn {
    pub(super) evaluation: Arc<Evaluation>,
    pub(super) scene: Scene,
    pub(super) base: Node,
}

/// Handles of the view.
#[derive(Clone, Copy)]
pub(super) struct Map {
    pub(super) state: State,
    pub(super) look: TimelineLook,
    pub(super) open: Signal<bool>,
    pub(super) width: RwSignal<f64>,
    /// The GPU under the pointer.
    pub(super) hover: RwSignal<Option<u64>>,
    pub(super) drawn: Memo<Option<Arc<Drawn>>>,
    /// Traffic of each pipeline rank.
    pub(super) traffic: Memo<Arc<Vec<Vec<Wire>>>>,
    pub(super) playing: RwSignal<bool>,
}

impl Map {
    pub(super) fn new(state: State, open: Signal<bool>) -> Self {
        let width = RwSignal::new(0.0);
        let drawn = Memo::new_with_compare(
            move |before: Option<&Option<Arc<Drawn>>>| {
                if !open.get() || width.get() < 1.0 {
                    return before.cloned().flatten();
                }
                let evaluation = state.evaluation()?;
                let mesh = evaluation.scenario.layout.mesh();
                let scene = Scene::within(mesh, width.get(), state.view.embed.is_some().then(room_in_frame));
                let base = base(&scene, &evaluation);
                Some(Arc::new(Drawn { evaluation, scene, base }))
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
            look: expect_context::<TimelineLook>().large(state),
            open,
            width,
            hover: RwSignal::new(None),
            drawn,
            traffic,
            playing: RwSignal::new(false),
        }
    }
    /// The selected GPU.
    pub(super) fn gpu(self, drawn: &Drawn) -> u64 {
        let gpu = self.state.view.gpu.get().unwrap_or(0);
        gpu.min(drawn.scene.mesh.ranks() - 1)
    }
    /// Traffic of the selected GPU.
    pub(super) fn wires(self) -> Vec<Wire> {
        let rank = self.state.rank().unwrap_or(0);
        self.traffic.with(|all| all.get(rank).cloned().unwrap_or_default())
    }
    /// Load of the links that colour the picture, by pipeline rank, and the end of their scale.
    pub(super) fn loads(self) -> Option<(Vec<f64>, f64)> {
        let link = self.state.view.chosen.get().load?;
        let loads: Vec<f64> = self.traffic.with(|all| all.iter().map(|wires| load(wires, link)).collect());
        let most = loads.iter().copied().fold(SCALE, f64::max);
        Some((loads, most))
    }
    /// A view of the cluster that is computed while it is open.
    pub(super) fn view(self, of: impl Fn(&Drawn) -> Node + Send + Sync + 'static) -> Signal<Node> {
        view_once(move || self.open.get().then(|| self.drawn.get()).flatten().map(|drawn| of(&drawn)))
    }
    /// The tables of what leaves its node.
    pub(super) fn crossings(self) -> Signal<Node> {
        self.view(move |drawn| {
            let (gpu, unit) = (self.gpu(drawn), self.state.view.unit.get());
            self.traffic.with(|traffic| tables(&drawn.evaluation, gpu, traffic, unit))
        })
    }
    /// Waits of the chosen block of the timeline, or of the selected stage at the instant that is shown.
    pub(super) fn waits(self, wires: &[Wire]) -> Option<Waits> {
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
    pub(super) fn picture(self, drawn: &Drawn) -> Node {
        let scene = &drawn.scene;
        let selected = self.gpu(drawn);
        let gpu = self.hover.get().unwrap_or(selected).min(scene.mesh.ranks() - 1);
        let wires = self.wires();
        let kinds = match self.state.view.chosen.get().group {
            Some(kind) => vec![kind],
            None => kinds(&drawn.evaluation),
        };
        let played = self.look.clock.get().zip(self.look.own.prepared.get());
        let doing = played.map(|(time, prepared)| {
            let timeline = prepared.evaluation.timeline();
            let op = |tone| op_at(timeline, stage_of_tone(scene, tone), time);
            let doing = (0..tones(scene)).map(|tone| op(tone).map(|(_, op)| op.op.kind));
            doing.collect::<Vec<Option<OpKind>>>()
        });
        let waits = self.waits(&wires).unwrap_or_default();
        let load = self.loads().map(|(loads, most)| {
            let share = |tone| loads.get(stage_of_tone(scene, tone)).copied().unwrap_or(0.0) / most;
            (0..tones(scene)).map(share).collect::<Vec<f64>>()
        });
        let picture = Picture {
            scene,
            base: &drawn.base,
            theme: self.state.view.theme.get(),
            selected,
            gpu,
            kinds: &kinds,
            wires: &wires,
            doing: doing.as_deref(),
            load: load.as_deref(),
            lit: &waits.kinds,
            lit_stage: waits.link(self.state.rank().unwrap_or(0)),
        };
        picture.view(summary(scene, self.state.view.chosen.get().load))
    }
    /// The GPU at a pointer.
    pub(super) fn under(self, event: &web_sys::MouseEvent) -> Option<u64> {
        let drawn = self.drawn.get_untracked()?;
        let frame: web_sys::Element = event.current_target()?.dyn_into().ok()?;
        let at = frame.query_selector("svg").ok().flatten()?.get_bounding_client_rect();
        // A frame in another page shows the map smaller.
        let zoom = (at.width() / drawn.scene.width).max(0.01);
        let x = (f64::from(event.client_x()) - at.left()) / zoom;
        let y = (f64::from(event.client_y()) - at.top()) / zoom;
        let selected = untrack(|| self.gpu(&drawn));
        hit(&drawn.scene, x, y, selected)
    }
    pub(super) fn key(self, event: &web_sys::KeyboardEvent) {
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
        self.state.view.select(to);
    }
    pub(super) fn makespan(self) -> f64 {
        let prepared = self.look.own.prepared.get_untracked();
        prepared.map_or(0.0, |prepared| prepared.makespan())
    }
}
