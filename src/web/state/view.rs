//! The view context: the one state that links hold, the parts of it to follow, and choices that links do not hold.

use crate::core::cluster::{GroupKind, Link};
use crate::core::pipeline::sync::ReducePolicy;
use crate::core::run::{OneOf, Run};
use crate::core::traffic::Traffic;
use crate::core::units::MemoryUnit;
use crate::view::gallery::GalleryLook;
use crate::view::look;
use crate::view::palette::Theme;
use crate::view::view_state::ViewState;
use crate::view::views::{Embed, PanelsTab, View, led_by_schedule};
use crate::web::browser;
use leptos::prelude::*;

/// Variants of panels that were chosen.
#[derive(Clone, Copy, Default)]
pub(crate) struct PanelChoices {
    /// When gradients leave in the picture of them.
    pub policy: ReducePolicy,
    /// The messages that are drawn beside a micro-batch; those that cost most where none were chosen.
    pub beside: Option<Traffic>,
    /// The groups that the cluster shows.
    pub group: Option<GroupKind>,
    /// The links whose load colours it.
    pub load: Option<Link>,
}

/// Handles to the view; copied into every panel.
#[derive(Clone, Copy)]
pub(crate) struct Viewed {
    state: RwSignal<ViewState>,
    /// The panel shown alone; the page is loaded again for another.
    pub embed: Option<Embed>,
    /// The open view.
    pub open: Memo<View>,
    /// Positions of the sliders of the open step.
    pub sliders: Memo<String>,
    /// Choices in the gallery.
    pub gallery: Memo<GalleryLook>,
    /// The selected GPU, by its global rank.
    pub gpu: Memo<Option<u64>>,
    /// Id of the schedule under the Run's own.
    pub compare: Memo<Option<String>>,
    /// The open tab of the Run's panels.
    pub tab: Memo<PanelsTab>,
    /// Even and uneven layers are shown in the tab of the pipeline.
    pub splits: Memo<bool>,
    /// Seed of the simulated future that was chosen.
    pub future: Memo<Option<u64>>,
    /// Row and class of the scoreboard.
    pub board: Memo<look::Look>,
    /// Days of the inverse questions.
    pub days: Memo<Option<f64>>,
    /// The Run that is compared with the first.
    pub second: Memo<Option<Run>>,
    /// The layout was chosen for the visitor.
    pub follows: Memo<bool>,
    /// The language that the link asks for.
    pub lang: Memo<Option<String>>,
    /// The page of the dialog that the link asks for.
    pub page: Memo<Option<String>>,
    /// Light or dark: by the link, else by the visitor.
    pub theme: Memo<Theme>,
    preferred: RwSignal<Theme>,
    /// The language that the visitor chose, on this or an earlier visit.
    pub language: RwSignal<Option<String>>,
    /// GiB or GB.
    pub unit: RwSignal<MemoryUnit>,
    /// Variants of panels.
    pub chosen: RwSignal<PanelChoices>,
    /// The tab that is open is one that the schedule led to.
    led: StoredValue<bool>,
}

/// A part of the state to follow.
fn part<T: Clone + PartialEq + Send + Sync + 'static>(state: RwSignal<ViewState>, of: fn(&ViewState) -> &T) -> Memo<T> {
    Memo::new(move |_| state.with(|state| of(state).clone()))
}

impl Viewed {
    /// For the state that the page is opened with.
    pub fn new(opened: ViewState) -> Self {
        let embed = opened.embed;
        let preferred = RwSignal::new(browser::preferred_theme());
        let state = RwSignal::new(opened);
        Self {
            state,
            embed,
            open: part(state, |state| &state.open),
            sliders: part(state, |state| &state.sliders),
            gallery: part(state, |state| &state.gallery),
            gpu: part(state, |state| &state.gpu),
            compare: part(state, |state| &state.compare),
            tab: Memo::new(move |_| state.with(|state| state.tab).unwrap_or(PanelsTab::Memory)),
            splits: part(state, |state| &state.splits),
            future: part(state, |state| &state.future),
            board: part(state, |state| &state.board),
            days: part(state, |state| &state.days),
            second: part(state, |state| &state.second),
            follows: part(state, |state| &state.chosen),
            lang: part(state, |state| &state.lang),
            page: part(state, |state| &state.page),
            theme: Memo::new(move |_| state.with(|state| state.theme).unwrap_or_else(|| preferred.get())),
            preferred,
            language: RwSignal::new(browser::stored("language")),
            unit: RwSignal::new(MemoryUnit::Gib),
            chosen: RwSignal::new(PanelChoices::default()),
            led: StoredValue::new(false),
        }
    }

    /// The state as it is; follows it.
    pub fn get(self) -> ViewState {
        self.state.get()
    }

    /// The state as it is; does not follow it.
    pub fn now(self) -> ViewState {
        self.state.get_untracked()
    }

    /// Changes the state, and with it the address.
    pub fn change(self, change: impl FnOnce(&mut ViewState)) {
        let mut state = self.now();
        change(&mut state);
        self.set(state);
    }

    /// Shows `state`, as a link says it.
    pub fn set(self, state: ViewState) {
        if self.state.with_untracked(|now| *now != state) {
            self.state.set(state);
        }
    }

    /// The tab that a chosen schedule leads to.
    pub fn follow_schedule(self, pairs: bool) {
        let (tab, led) = led_by_schedule(self.now().tab, self.led.get_value(), pairs);
        self.led.set_value(led);
        self.change(|state| state.tab = tab);
    }

    /// Selects a GPU.
    pub fn select(self, gpu: Option<u64>) {
        self.change(|state| state.gpu = gpu);
    }

    /// Keeps a second Run, or none.
    pub fn keep_second(self, run: Option<Run>) {
        self.change(|state| state.second = run);
    }

    /// Opens a view, as an entry of the browser's history.
    pub fn show(self, view: View) {
        let before = self.open.get_untracked();
        if before == view {
            return;
        }
        // Another step of a lesson begins with its title.
        let turns = !before.is_like(view) || matches!(view, View::Learn(_));
        if turns && self.embed.is_none() {
            browser::to_top();
        }
        self.change(|state| state.show(view));
    }

    /// Keeps the language called `id` for later visits; a language in the link is replaced.
    pub fn prefer_language(self, id: &str) {
        self.language.set(Some(id.to_owned()));
        browser::store("language", id);
        self.change(|state| state.lang = state.lang.take().map(|_| id.to_owned()));
    }

    /// Shows `theme`, now and on later visits; a theme in the link is replaced.
    pub fn prefer(self, theme: Theme) {
        self.preferred.set(theme);
        browser::store("theme", theme.id());
        self.change(|state| state.theme = state.theme.map(|_| theme));
    }
}
