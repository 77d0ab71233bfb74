//! The layout and where it is from: chosen again at every edit of what it depends on, as long as it was chosen before.

use super::history::History;
use super::view::Viewed;
use crate::core::run::Run;
use crate::core::search::auto::of_layout;
use crate::core::search::ladder::{Ladder, LadderEnd, differs_in_layout};
use crate::view::panels::chosen::{LayoutOrigin, is_chosen_anew};
use crate::web::browser::html::effect;
use crate::web::late::{at_once, parts};
use crate::web::worker::{Job, JobProgress, JobRequest, Reply, request};
use leptos::prelude::*;

parts! {
    views: layout_guess(run: Run, pins: Vec<&'static str>) -> Option<Run>
        = Ladder::guess(&run, &pins).map(|guess| guess.run);
}

/// Runs whose layout's origin is remembered.
const REMEMBERED: usize = 64;

/// The choice: the Run that is shown, and what the search said of it.
#[derive(Clone, Copy)]
pub(crate) struct ChosenLayout {
    /// The Run whose figures are shown: as typed, or the one before while a layout is being chosen.
    pub settled: Memo<Run>,
    /// A layout is being chosen, and none is shown yet.
    pub waits: Memo<bool>,
    /// The search for a layout is under way; a first guess may be shown.
    pub searches: RwSignal<bool>,
    /// Where the layout is from.
    pub origin: RwSignal<LayoutOrigin>,
    /// It is under way, and there is no guess.
    blind: RwSignal<bool>,
    requested: StoredValue<Option<JobRequest>>,
    /// The Run of the last link whose layout was weighed.
    weighed: StoredValue<Option<Run>>,
    /// The guess that is shown until the search is over.
    guessed: StoredValue<Option<Run>>,
    /// End of the last search, and the Run that it led to.
    outcome: RwSignal<Option<(Run, LadderEnd)>, LocalStorage>,
    /// The Run whose layout stands, whatever it differs in from the one before.
    accepted: RwSignal<Option<Run>>,
    /// The Run of the link that was opened last.
    opened: StoredValue<Run>,
    /// The Run as it was typed before its layout was chosen, and where its layout was from.
    typed: StoredValue<Option<(Run, LayoutOrigin)>>,
    /// Runs of this visit with the origins of their layouts, the last one last.
    origins: StoredValue<Vec<(Run, LayoutOrigin)>>,
    run: RwSignal<Run>,
    history: StoredValue<History>,
    /// Stored: the state is passed by value.
    view: StoredValue<Viewed>,
}

impl ChosenLayout {
    /// Follows `run`, whose layout is from `origin`, while `view` says so.
    pub fn new(run: RwSignal<Run>, view: Viewed, origin: LayoutOrigin, history: StoredValue<History>) -> Self {
        let accepted = RwSignal::new(None::<Run>);
        let origin = RwSignal::new(origin);
        let settled = Memo::new(move |before: Option<&Run>| {
            let (now, accepted) = (run.get(), accepted.get());
            match before {
                Some(before)
                    if view.follows.get()
                        && accepted.as_ref() != Some(&now)
                        && is_chosen_anew(before, &now, origin.get_untracked()) =>
                {
                    before.clone()
                }
                _ => now,
            }
        });
        let blind = RwSignal::new(false);
        let layout = Self {
            settled,
            waits: Memo::new(move |_| blind.get() || differ(run, settled)),
            searches: RwSignal::new(false),
            origin,
            blind,
            requested: StoredValue::new(None),
            weighed: StoredValue::new(None),
            guessed: StoredValue::new(None),
            outcome: RwSignal::new_local(None),
            accepted,
            opened: StoredValue::new(run.get_untracked()),
            typed: StoredValue::new(None),
            origins: StoredValue::new(Vec::new()),
            run,
            history,
            view: StoredValue::new(view),
        };
        layout.listen();
        layout
    }

    fn listen(self) {
        let last = StoredValue::new(self.run.get_untracked());
        effect(move || {
            let (now, asks) = (self.run.get(), differ(self.run, self.settled));
            let before = last.get_value();
            if before == now {
                return;
            }
            last.set_value(now.clone());
            if self.guessed.with_value(|guessed| guessed.as_ref() == Some(&now)) {
                return;
            }
            self.stop();
            if asks {
                self.choose(&now, &[]);
            } else if self.accepted.with_untracked(|accepted| accepted.as_ref() != Some(&now))
                && differs_in_layout(&before, &now)
            {
                self.view.get_value().change(|view| view.chosen = false);
                self.origin.set(LayoutOrigin::Yours);
            }
        });
        effect(move || {
            let (run, origin) = (self.run.get(), self.origin.get());
            self.origins.update_value(|known| {
                known.retain(|(other, _)| *other != run);
                known.push((run, origin));
                let beyond = known.len().saturating_sub(REMEMBERED);
                known.drain(..beyond);
            });
        });
    }

    /// Ends the search that is under way.
    fn stop(self) {
        if let Some(request) = self.requested.get_value() {
            request.cancel();
        }
        self.requested.set_value(None);
        self.guessed.set_value(None);
        for signal in [self.searches, self.blind] {
            if signal.get_untracked() {
                signal.set(false);
            }
        }
    }

    /// Chooses the layout of `run`, whose fields in `pins` stay: a guess at once where there is one and its part of the
    /// program is here, then the fastest.
    pub fn choose(self, run: &Run, pins: &[&'static str]) {
        self.stop();
        self.typed.set_value(Some((run.clone(), self.origin.get_untracked())));
        self.origin.set(LayoutOrigin::Chosen);
        self.view.get_value().change(|view| view.chosen = true);
        self.searches.set(true);
        let guess = at_once(layout_guess(run.clone(), pins.to_vec())).flatten();
        match &guess {
            Some(guess) => {
                self.guessed.set_value(Some(guess.clone()));
                self.accept(guess, LayoutOrigin::Chosen);
                self.run.set(guess.clone());
            }
            None => self.blind.set(true),
        }
        let typed = run.clone();
        let job = Job::Layout(run.clone(), pins.iter().map(|pin| (*pin).to_owned()).collect());
        let request = request(job, move |progress| {
            let outcome = match progress {
                JobProgress::Reply(Reply::Layout(outcome)) => Some(*outcome),
                JobProgress::Reply(_) => return,
                // The end of a search whose layout stands already.
                _ if !self.searches.try_get_untracked().unwrap_or(false) => return,
                // Without a model, a GPU or a worker the Run is shown as it is.
                JobProgress::Done | JobProgress::Failed => None,
            };
            let shown = |now: &Run| *now == typed || guess.as_ref() == Some(now);
            if self.run.try_with_untracked(shown).unwrap_or(false) {
                self.end(&typed, guess.as_ref(), outcome);
            }
        });
        self.requested.set_value(Some(request));
    }

    /// Shows the layout that was chosen for `run`; where none fits, the one that needs least.
    fn end(self, run: &Run, guess: Option<&Run>, outcome: Option<LadderEnd>) {
        let chosen = match &outcome {
            Some(LadderEnd::Chosen(choice)) => choice.run.clone(),
            Some(LadderEnd::Failed(failure)) => failure.run.clone(),
            Some(LadderEnd::Undivided) | None => guess.unwrap_or(run).clone(),
        };
        self.guessed.set_value(None);
        self.searches.set(false);
        self.blind.set(false);
        if outcome.is_none() && guess.is_none() {
            self.origin.set(LayoutOrigin::Yours);
        }
        self.outcome.set(outcome.map(|outcome| (chosen.clone(), outcome)));
        if guess.is_some() {
            // Guess and choice are one step of undo.
            self.history.get_value().time.set_value(js_sys::Date::now());
        }
        self.accepted.set(Some(chosen.clone()));
        self.run.set(chosen);
    }

    /// Where the layout is from, while it follows the Run.
    pub fn followed(self) -> Option<LayoutOrigin> {
        self.view.get_value().follows.get().then(|| self.origin.get())
    }

    /// Lets the layout of `run`, which is from `origin`, stand.
    pub fn accept(self, run: &Run, origin: LayoutOrigin) {
        self.accepted.set(Some(run.clone()));
        if self.origin.get_untracked() != origin {
            self.origin.set(origin);
        }
        let follows = matches!(origin, LayoutOrigin::Chosen | LayoutOrigin::Example);
        self.view.get_value().change(|view| view.chosen = follows);
    }

    /// A link with `run` was opened.
    pub fn open(self, run: &Run) {
        self.opened.set_value(run.clone());
    }

    /// True if the layout is that of the link that was opened last.
    pub fn is_of_link(self) -> bool {
        self.run.with(|run| self.opened.with_value(|opened| !differs_in_layout(opened, run)))
    }

    /// Where the layout of `run` was from when it was shown on this visit.
    pub fn remembered(self, run: &Run) -> Option<LayoutOrigin> {
        self.origins.with_value(|known| known.iter().find(|(other, _)| other == run).map(|(_, origin)| *origin))
    }

    /// Looks for what would do where the layout was chosen when the link was made, and does not fit: the Run stays.
    pub fn weigh(self) {
        let run = self.run.get_untracked();
        let known = self.outcome.with_untracked(|outcome| outcome.as_ref().is_some_and(|(of, _)| *of == run));
        if known || self.searches.get_untracked() || self.weighed.with_value(|of| of.as_ref() == Some(&run)) {
            return;
        }
        self.weighed.set_value(Some(run.clone()));
        let asked = request(Job::Layout(run.clone(), Vec::new()), move |progress| {
            let JobProgress::Reply(Reply::Layout(outcome)) = progress else { return };
            let is_shown = self.run.try_with_untracked(|now| *now == run).unwrap_or(false);
            if is_shown && let Some(end @ LadderEnd::Failed(_)) = Some(*outcome) {
                self.outcome.set(Some((run.clone(), end)));
            }
        });
        self.requested.set_value(Some(asked));
    }

    /// End of the search that led to the Run as it is; none where none was made.
    pub fn outcome(self) -> Option<LadderEnd> {
        let run = self.run.get();
        self.outcome.with(|outcome| outcome.as_ref().filter(|(of, _)| *of == run).map(|(_, outcome)| outcome.clone()))
    }

    /// Chooses a layout now, and from now on; or takes the last choice back.
    pub fn press(self, choose: bool) {
        if choose {
            self.choose(&self.run.get_untracked(), &[]);
        } else if let Some((run, origin)) = self.typed.get_value() {
            // A layout that was chosen for other settings.
            let origin = if origin == LayoutOrigin::Chosen { LayoutOrigin::Yours } else { origin };
            self.accept(&run, origin);
            self.view.get_value().change(|view| view.chosen = false);
            self.run.set(run);
        }
    }

    /// Chooses the layout of an opened link that gives these fields of it and leaves the others open.
    pub fn resolve(self, given: &[String]) {
        let pins: Vec<&'static str> = given.iter().filter_map(|key| of_layout(key)).collect();
        self.choose(&self.run.get_untracked(), &pins);
    }
}

/// The Run is not the one that is shown.
fn differ(run: RwSignal<Run>, settled: Memo<Run>) -> bool {
    run.with(|run| settled.with(|settled| run != settled))
}
