//! The window on the time axis that all pictures share, and the selection in each.

use crate::core::pipeline::trace::OpPlace;
use crate::core::report::{Evaluation, with_schedule};
use crate::view::charts::prepared::{KeyNotes, Prepared};
use crate::view::charts::shape::Shape;
use crate::view::charts::viewport::Viewport;
use crate::view::node::action::TimelineAction;
use crate::web::browser::html::effect;
use crate::web::state::State;
use crate::web::state::evaluated::{Shown, drawn, evaluated};
use leptos::prelude::*;
use std::sync::Arc;

/// One picture: a timeline and what is chosen in it.
#[derive(Clone, Copy)]
pub struct Lane {
    /// The timeline, made ready; none: no picture.
    pub prepared: Memo<Option<Arc<Prepared>>>,
    /// The op under the pointer.
    pub hover: RwSignal<Option<OpPlace>>,
    /// The op chosen by click or key.
    pub focus: RwSignal<Option<OpPlace>>,
    /// The selected rank, whose memory is drawn.
    pub rank: Signal<usize>,
    /// Its memory over time.
    pub curve: Memo<Arc<Vec<(f64, u32)>>>,
    /// Place of the pointer, pixels from its left; none: elsewhere.
    pub pointer: RwSignal<Option<f64>>,
    pub size: Size,
}

/// Sizes of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// High rows and a curve of memory below them.
    Tall,
    /// One of several pictures that share axis and clock.
    Low,
    /// Rows that fill so many pixels, with a lens under the pointer.
    Filling(u32),
}

impl Lane {
    fn new(prepared: Memo<Option<Arc<Prepared>>>, rank: Signal<usize>, size: Size) -> Self {
        let curve = Memo::new(move |_| {
            let prepared = prepared.get();
            Arc::new(
                prepared
                    .map_or(Vec::new(), |prepared| prepared.curve(rank.get().min(prepared.ranks().saturating_sub(1)))),
            )
        });
        Self {
            prepared,
            hover: RwSignal::new(None),
            focus: RwSignal::new(None),
            rank,
            curve,
            pointer: RwSignal::new(None),
            size,
        }
    }
    /// One of several pictures that share axis and clock; the memory is its fullest rank's.
    pub fn low(prepared: Memo<Option<Arc<Prepared>>>) -> Self {
        Self::new(prepared, Signal::derive(move || fullest(prepared)), Size::Low)
    }
    /// Places of its rows.
    pub fn shape(self) -> Shape {
        let (ranks, fullest) = (self.ranks(), fullest(self.prepared));
        match self.size {
            Size::Tall => Shape::of(ranks, fullest),
            Size::Low => Shape::low(ranks, fullest),
            Size::Filling(height) => Shape::filling(ranks, fullest, f64::from(height)),
        }
    }
    /// True for one of several pictures that share axis and clock.
    pub fn is_low(self) -> bool {
        self.size == Size::Low
    }
    /// What the picture in `view`, `width` pixels wide, has beside its blocks.
    pub fn notes(self, view: Viewport, width: f64) -> KeyNotes {
        let drawn = self.shape().ranks;
        self.prepared.with(|prepared| {
            prepared.as_ref().map_or_else(KeyNotes::default, |prepared| {
                // Before the width of its rows is known.
                if width <= 0.0 {
                    return KeyNotes::of_blocks([&*prepared.evaluation]);
                }
                prepared.notes(drawn, view, width)
            })
        })
    }
    /// Number of its ranks.
    pub fn ranks(self) -> usize {
        self.prepared.with(|prepared| prepared.as_ref().map_or(0, |prepared| prepared.ranks()))
    }
    /// Its end, seconds.
    pub fn makespan(self) -> f64 {
        self.prepared.with(|prepared| prepared.as_ref().map_or(0.0, |prepared| prepared.makespan()))
    }
}

/// Window and selection that all pictures share.
#[derive(Clone, Copy)]
pub struct TimelineLook {
    /// The Run's own schedule.
    pub own: Lane,
    /// The one it is compared with.
    pub other: Lane,
    /// The window on the time axis; none: all of it.
    pub window: RwSignal<Option<Viewport>>,
    /// End of the axis: the longer of the two.
    pub full: Memo<f64>,
    /// Most memory that one of them draws, MiB.
    pub most: Memo<u32>,
    /// Width of the rows, CSS pixels.
    pub width: RwSignal<f64>,
    /// True if the critical path is drawn.
    pub path: RwSignal<bool>,
    /// The instant of the step that is shown, seconds; none: no step is played.
    pub clock: RwSignal<Option<f64>>,
    /// True while the playhead moves.
    pub plays: RwSignal<bool>,
}

/// Height of the rows on the first screen, and in a frame, pixels.
const ROWS: [u32; 2] = [119, 240];

/// The rank that needs the most memory; 0 where there is no picture.
fn fullest(prepared: Memo<Option<Arc<Prepared>>>) -> usize {
    prepared.with(|prepared| prepared.as_ref().map_or(0, |prepared| prepared.fullest()))
}

/// Made ready anew with each evaluation that can be drawn.
pub fn prepared(drawn: Memo<Option<Arc<Evaluation>>>) -> Memo<Option<Arc<Prepared>>> {
    Memo::new_with_compare(move |_| Some(Arc::new(Prepared::of(drawn.get()?))), |_, _| true)
}

/// The picture of what was evaluated: none while that is an earlier schedule's.
pub fn current(shown: Memo<Shown>) -> Memo<Option<Arc<Prepared>>> {
    let (drawn, _) = drawn(move || {
        let evaluated = shown.get();
        evaluated.evaluation.filter(|_| evaluated.errors.is_empty() && !evaluated.waits)
    });
    prepared(drawn)
}

impl TimelineLook {
    /// The look of the first screen.
    pub fn new(state: State) -> Self {
        let height = ROWS[usize::from(state.view.embed.is_some())];
        let prepared = prepared(state.drawn);
        // Until one is chosen it is the fullest, as the memory above it is.
        let rank = Memo::new(move |_| state.rank().unwrap_or_else(|| fullest(prepared))).into();
        let lane = Lane::new(prepared, rank, Size::Filling(height));
        let look = Self::over(&[lane, lane]);
        // Another run has another step: its instant is at the same part of it.
        let before = StoredValue::new(0.0);
        effect(move || {
            let (end, was) = (lane.makespan(), before.get_value());
            if end <= 0.0 {
                return;
            }
            before.set_value(end);
            if let Some(instant) = look.clock.get_untracked().filter(|_| was > 0.0 && was != end) {
                look.clock.set(Some((instant * (end / was)).min(end)));
            }
        });
        look
    }
    /// The look of a large picture of the same timeline, and of a second schedule below it.
    pub fn large(self, state: State) -> Self {
        let compared = evaluated(move || {
            let id = state.view.compare.get()?;
            let evaluation = state.evaluation()?;
            let run = &evaluation.scenario.run;
            run.with_texts(&with_schedule(run, &id))
        });
        let lanes = [self.own.prepared, current(compared)].map(|drawn| Lane::new(drawn, self.own.rank, Size::Tall));
        Self { clock: self.clock, ..Self::over(&lanes) }
    }
    /// The look that these pictures share; there are at least two.
    pub fn over(lanes: &[Lane]) -> Self {
        let (ends, curves) = (lanes.to_vec(), lanes.to_vec());
        Self {
            own: lanes[0],
            other: lanes[1],
            window: RwSignal::new(None),
            full: Memo::new(move |_| ends.iter().map(|lane| lane.makespan()).fold(0.0, f64::max)),
            most: Memo::new(move |_| {
                let most = |lane: &Lane| {
                    let most = |curve: &Arc<Vec<(f64, u32)>>| curve.iter().map(|at| at.1).max();
                    lane.curve.with(most).unwrap_or(0)
                };
                curves.iter().map(most).max().unwrap_or(0)
            }),
            width: RwSignal::new(0.0),
            path: RwSignal::new(false),
            clock: RwSignal::new(None),
            plays: RwSignal::new(true),
        }
    }
    /// Chooses the op of `lane` at `place` and selects its rank; a second press lets go of the op.
    pub fn press(self, lane: Lane, state: State, place: Option<OpPlace>) {
        let same = lane.focus.get_untracked() == place;
        lane.focus.set(place.filter(|_| !same));
        if let Some(place) = place {
            state.select_rank(place.rank);
        }
        if !lane.is_low() {
            self.clock.set(None);
        }
    }
    /// Zooms by `action`; false where `action` is not a zoom.
    pub fn zoomed(self, action: TimelineAction) -> bool {
        match action {
            TimelineAction::In => self.zoom(2.0),
            TimelineAction::Out => self.zoom(0.5),
            TimelineAction::Fit => self.window.set(None),
            _ => return false,
        }
        true
    }
    /// The visible window: the same part of the axis after an edit.
    pub fn view(self) -> Viewport {
        let whole_axis = Viewport::all(self.full.get());
        self.window.get().map_or(whole_axis, |window| window.on(whole_axis.full))
    }
    /// The visible window for event handlers, read without following it.
    pub fn seen(self) -> Viewport {
        untrack(|| self.view())
    }
    /// What `lanes`, all of this look, have beside their blocks.
    pub fn notes(self, lanes: &[Lane]) -> KeyNotes {
        let (view, width) = (self.view(), self.width.get());
        lanes.iter().map(|lane| lane.notes(view, width)).fold(KeyNotes::default(), KeyNotes::or)
    }
    pub fn set(self, view: Viewport) {
        self.window.set((!view.is_all()).then_some(view));
    }
    /// Closer by `factor` around the middle.
    pub(crate) fn zoom(self, factor: f64) {
        let view = self.seen();
        self.set(view.zoomed(factor, f64::midpoint(view.start, view.end)));
    }
    /// Shows the chosen op of `lane` large.
    pub(crate) fn focus(self, lane: Lane) {
        let place = lane.focus.get_untracked();
        let prepared = lane.prepared.get_untracked();
        if let (Some(place), Some(prepared)) = (place, prepared)
            && let Some(op) = prepared.op(place)
        {
            self.set(self.seen().showing(op.start, op.end));
        }
    }
}
