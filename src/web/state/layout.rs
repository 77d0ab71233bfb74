//! The layout that follows the model: chosen again at every edit of what it depends on, as long as it was chosen
//! before.

use super::view::Viewed;
use crate::core::run::Run;
use crate::core::search::ladder::{Ladder, Outcome, asks_anew, differs_in_layout};
use crate::web::html::effect;
use crate::web::worker::{Job, Progress, Reply, Request, request};
use leptos::prelude::*;

/// The choice: the Run that is shown, and what the ladder said of it.
#[derive(Clone, Copy)]
pub(crate) struct ChosenLayout {
    /// The Run whose figures are shown: as typed, or the one before while a layout is being chosen.
    pub settled: Memo<Run>,
    /// A layout is being chosen.
    pub waits: Memo<bool>,
    /// End of the last ladder, and the Run that it led to.
    outcome: RwSignal<Option<(Run, Outcome)>, LocalStorage>,
    /// The Run whose layout stands, whatever it differs in from the one before.
    accepted: RwSignal<Option<Run>>,
    /// The Run as it was typed before its layout was chosen.
    typed: StoredValue<Option<Run>>,
    run: RwSignal<Run>,
    /// Stored: the state is passed by value.
    view: StoredValue<Viewed>,
}

impl ChosenLayout {
    /// Follows `run` while `view` says so.
    pub fn new(run: RwSignal<Run>, view: Viewed) -> Self {
        let accepted = RwSignal::new(None::<Run>);
        let settled = Memo::new(move |before: Option<&Run>| {
            let (now, accepted) = (run.get(), accepted.get());
            match before {
                Some(before) if view.follows.get() && accepted.as_ref() != Some(&now) && follows(before, &now) => {
                    before.clone()
                }
                _ => now,
            }
        });
        let layout = Self {
            settled,
            waits: Memo::new(move |_| run.with(|run| settled.with(|settled| run != settled))),
            outcome: RwSignal::new_local(None),
            accepted,
            typed: StoredValue::new(None),
            run,
            view: StoredValue::new(view),
        };
        layout.listen();
        layout
    }

    fn listen(self) {
        let requested = StoredValue::new(None::<Request>);
        let last = StoredValue::new(self.run.get_untracked());
        effect(move || {
            let (now, waits) = (self.run.get(), self.waits.get());
            let before = last.get_value();
            if before == now {
                return;
            }
            last.set_value(now.clone());
            if let Some(request) = requested.get_value() {
                request.cancel();
                requested.set_value(None);
            }
            if waits {
                requested.set_value(self.choose(now));
            } else if self.accepted.with_untracked(|accepted| accepted.as_ref() != Some(&now))
                && differs_in_layout(&before, &now)
            {
                self.view.get_value().change(|view| view.chosen = false);
            }
        });
    }

    /// Climbs the ladder of `run`: at once where that is short, else in the worker.
    fn choose(self, run: Run) -> Option<Request> {
        if let Some(outcome) = Ladder::at_once(&run) {
            self.end(&run, Some(outcome));
            return None;
        }
        Some(request(Job::Layout(run.clone()), move |progress| {
            let outcome = match progress {
                Progress::Reply(Reply::Layout(outcome)) => Some(*outcome),
                Progress::Reply(_) => return,
                // The end of a search whose layout stands already: the one that was typed.
                _ if self.accepted.try_with_untracked(|accepted| accepted.as_ref() == Some(&run)).unwrap_or(true) => {
                    return;
                }
                // Without a model, a GPU or a worker the Run is shown as it is.
                Progress::Done | Progress::Failed => None,
            };
            let asked = self.run.try_with_untracked(|now| *now == run).unwrap_or(false);
            if asked {
                self.end(&run, outcome);
            }
        }))
    }

    /// Shows the layout that was chosen for `run`; where none fits, the one that needs least.
    fn end(self, run: &Run, outcome: Option<Outcome>) {
        let chosen = match &outcome {
            Some(Outcome::Chosen(choice)) => choice.run.clone(),
            Some(Outcome::Failed(failure)) => failure.run.clone(),
            Some(Outcome::Undivided) | None => run.clone(),
        };
        self.typed.set_value(Some(run.clone()));
        self.outcome.set(outcome.map(|outcome| (chosen.clone(), outcome)));
        self.accept(&chosen);
        self.run.set(chosen);
    }

    /// Lets the layout of `run` stand.
    pub fn accept(self, run: &Run) {
        self.accepted.set(Some(run.clone()));
    }

    /// End of the ladder that led to the Run as it is; none where none was climbed.
    pub fn outcome(self) -> Option<Outcome> {
        let run = self.run.get();
        self.outcome.with(|outcome| outcome.as_ref().filter(|(of, _)| *of == run).map(|(_, outcome)| outcome.clone()))
    }

    /// Chooses a layout now, and from now on; or takes the last choice back.
    pub fn press(self, choose: bool) {
        self.view.get_value().change(|view| view.chosen = choose);
        if choose {
            self.choose(self.run.get_untracked());
        } else if let Some(run) = self.typed.get_value() {
            self.accept(&run);
            self.run.set(run);
        }
    }
}

/// True if a layout is chosen for `now` after `before`.
fn follows(before: &Run, now: &Run) -> bool {
    asks_anew(before, now) && !differs_in_layout(before, now)
}
