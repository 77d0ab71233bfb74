//! The page's state: one signal of the Run, one memo of what follows from it, and what is looked at.

use crate::issue::Issue;
use crate::report::{Evaluation, Figure, evaluate, work};
use crate::run::Run;
use crate::run::registry::{Field, field};
use crate::scene::palette::Theme;
use crate::share::link::{self, View};
use crate::ui::browser;
use crate::ui::field::shown_text;
use crate::units::MemoryUnit;
use leptos::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// What is shown: the last Run that made sense, and what is wrong with the present one.
#[derive(Clone)]
pub struct Shown {
    /// The last good evaluation; none where not even the first Run made sense.
    pub evaluation: Option<Arc<Evaluation>>,
    /// What keeps the present Run from being shown.
    pub errors: Vec<Issue>,
    /// The present Run takes long to simulate: it waits until typing settles.
    pub waits: bool,
}

/// Handles to everything; copied into every panel.
#[derive(Clone, Copy)]
pub struct State {
    /// The Run as typed.
    pub run: RwSignal<Run>,
    /// What follows from it.
    pub shown: Memo<Shown>,
    /// What the link said that was not understood.
    pub notices: RwSignal<Vec<Issue>>,
    /// The figure that the drawer explains.
    pub figure: RwSignal<Option<Figure>>,
    /// Whether the drawer is open, where it is one.
    pub drawer: RwSignal<bool>,
    /// GiB or GB.
    pub unit: RwSignal<MemoryUnit>,
    /// Light or dark.
    pub theme: RwSignal<Theme>,
    /// The schedule to lay under the Run's own.
    pub compare: RwSignal<Option<String>>,
    /// A second Run, kept to be compared with the first.
    pub second: RwSignal<Option<Run>>,
    /// The Run once typing has settled.
    pub settled: RwSignal<Option<Run>>,
    /// The last text typed into a field that was not understood: the field, and what the Run said when it was typed.
    pub unread: RwSignal<Option<(&'static Field, String)>>,
    /// What the link asks to show.
    pub view: StoredValue<View>,
    /// Words typed into the search for a setting.
    pub search: RwSignal<String>,
}

impl State {
    /// From the address.
    pub fn from_address() -> Self {
        let link = link::decode(&browser::link_text());
        let run = RwSignal::new(link.run);
        let theme = theme_of(&link.view);
        let settled = settle(run);
        Self {
            run,
            shown: Memo::new_with_compare(
                move |before: Option<&Shown>| shown(&run.read(), before, settled),
                |_, _| true,
            ),
            compare: RwSignal::new(link.view.compare.clone()),
            second: RwSignal::new(link.view.second.clone()),
            settled,
            unread: RwSignal::new(None),
            notices: RwSignal::new(link.notices),
            figure: RwSignal::new(None),
            drawer: RwSignal::new(false),
            unit: RwSignal::new(MemoryUnit::Gib),
            theme: RwSignal::new(theme),
            view: StoredValue::new(link.view),
            search: RwSignal::new(String::new()),
        }
    }

    /// The last good evaluation.
    pub fn evaluation(&self) -> Option<Arc<Evaluation>> {
        self.shown.with(|shown| shown.evaluation.clone())
    }

    /// Whether the picture is not of what was typed last.
    pub fn is_stale(&self) -> bool {
        let unread = || match self.unread.get() {
            Some((field, after)) => shown_text(*self, field) == after,
            None => false,
        };
        self.shown
            .with(|shown| shown.waits || !shown.errors.is_empty())
            || unread()
    }

    /// Everything to be said, worst first.
    pub fn issues(&self) -> Vec<Issue> {
        self.shown.with(|shown| {
            let warnings = match &shown.evaluation {
                Some(evaluation) if shown.errors.is_empty() => &evaluation.report.warnings[..],
                _ => &[],
            };
            let mut all = shown.errors.clone();
            all.extend_from_slice(warnings);
            all.extend(self.notices.get());
            all
        })
    }

    /// Sets the fields that a fix names.
    pub fn apply(&self, set: &[(&'static str, String)]) {
        self.run.update(|run| {
            for (key, text) in set {
                if let Some(field) = field(key)
                    && let Ok(value) = field.parse(text)
                {
                    // A fix that cannot be set changes nothing: its issue stays where it is.
                    let _ = field.set(run, &value);
                }
            }
        });
    }

    /// Opens the drawer on a figure.
    pub fn ask(&self, figure: Figure) {
        self.figure.set(Some(figure));
        self.drawer.set(true);
    }

    /// The panel to show alone, if the link asks for one.
    pub fn embed(&self) -> Option<String> {
        self.view.with_value(|view| view.embed.clone())
    }
}

/// The theme that a link asks for, else the visitor's own.
pub fn theme_of(view: &View) -> Theme {
    match view.theme.as_deref() {
        Some("dark") => Theme::Dark,
        Some("light") => Theme::Light,
        _ => browser::preferred_theme(),
    }
}

/// A Run of more ops than this is simulated only when typing has settled.
const LONG: u64 = 50_000;
/// How long typing settles.
const SETTLE: Duration = Duration::from_millis(300);

/// The last Run that stayed unchanged for a moment.
fn settle(run: RwSignal<Run>) -> RwSignal<Option<Run>> {
    let settled = RwSignal::new(None);
    let pending = StoredValue::new(None::<TimeoutHandle>);
    Effect::new(move |_| {
        run.track();
        if let Some(before) = pending.get_value() {
            before.clear();
        }
        let timer = set_timeout_with_handle(move || settled.set(Some(run.get_untracked())), SETTLE);
        pending.set_value(timer.ok());
    });
    settled
}

fn shown(run: &Run, before: Option<&Shown>, settled: RwSignal<Option<Run>>) -> Shown {
    let last = || before.and_then(|before| before.evaluation.clone());
    if let Some(evaluation) = last()
        && work(run).is_some_and(|ops| ops > LONG)
        && settled.with(|settled| settled.as_ref() != Some(run))
    {
        return Shown {
            evaluation: Some(evaluation),
            errors: Vec::new(),
            waits: true,
        };
    }
    match evaluate(run) {
        Ok(evaluation) => Shown {
            evaluation: Some(Arc::new(evaluation)),
            errors: Vec::new(),
            waits: false,
        },
        Err(errors) => Shown {
            evaluation: last().or_else(|| evaluate(&Run::default()).ok().map(Arc::new)),
            errors,
            waits: false,
        },
    }
}
