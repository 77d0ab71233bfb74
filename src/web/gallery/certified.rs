//! Certificates of the gallery's schedules, and the search for a split and an order together, from the worker.

use super::compared::is_seen;
use crate::core::advice::ScheduleRow;
use crate::core::run::Run;
use crate::view::gallery::bounds::{self, JointBest};
use crate::view::gallery::certificate::ScheduleCertificate;
use crate::view::node::markup::Node;
use crate::web::browser::html::{effect, flag, view_of};
use crate::web::browser::i18n::say;
use crate::web::document::render::patched;
use crate::web::state::State;
use crate::web::worker::{Job, JobProgress, JobRequest, Reply, request};
use leptos::prelude::*;

/// The rows of the gallery, and the Run and limit that they are of once all are there.
pub(super) type Rows = (Option<(Run, u64)>, Vec<ScheduleRow>);

/// Certificates of all rows once they have their figures, those that are compared first.
pub(super) fn certify(state: State, rows: RwSignal<Rows>, certificates: RwSignal<Vec<ScheduleCertificate>>) {
    let requested = StoredValue::new(None::<JobRequest>);
    let wanted = Memo::new(move |_| {
        let question = rows.with(|(question, _)| question.clone())?;
        is_seen(state).then_some(question)
    });
    effect(move || {
        if let Some(before) = requested.get_value() {
            before.cancel();
        }
        certificates.set(Vec::new());
        let Some((run, limit)) = wanted.get() else {
            return;
        };
        let ticked = state.view.gallery.with_untracked(|look| look.ticked(&run));
        let (which, variants) = rows.with_untracked(|(_, rows)| {
            let which = bounds::wanted(rows, &ticked);
            let variants: Vec<_> = which.iter().map(|at| rows[*at].variant).collect();
            (which, variants)
        });
        // The worker sends a bound for each row first, then in the same order what a longer search made of it.
        let (mut variants, mut searched) = (variants.into_iter(), 0);
        let job = Job::Certificates { run, limit, which };
        let request = request(job, move |progress| {
            let JobProgress::Reply(Reply::Certificate(found, done)) = progress else {
                return;
            };
            let found = found.map(|found| *found);
            let _ = certificates.try_update(|list| {
                if !done {
                    list.extend(variants.next().map(|variant| (variant, found)));
                } else if let Some((_, certificate)) = list.get_mut(searched) {
                    *certificate = found;
                    searched += 1;
                }
            });
        });
        requested.set_value(Some(request));
    });
}

/// The search for a split of layers and an order together: starts when it is asked for, can be stopped.
pub(super) fn joint(state: State) -> AnyView {
    let found = RwSignal::new(JointBest::default());
    let requested = StoredValue::new(None::<JobRequest>);
    let stop = move || {
        if let Some(before) = requested.try_update_value(Option::take).flatten() {
            before.cancel();
        }
    };
    // A certificate is of the Run that it was found for.
    effect(move || {
        state.run.track();
        stop();
        found.set(JointBest::default());
    });
    let press = move |_| {
        stop();
        if found.with_untracked(|found| found.running) {
            found.update(|found| found.running = false);
            return;
        }
        let Some(evaluation) = untrack(|| state.evaluation()) else {
            return;
        };
        found.set(JointBest { running: true, ..JointBest::default() });
        let job = Job::Split(evaluation.scenario.run.clone());
        let request = request(job, move |progress| match progress {
            JobProgress::Reply(Reply::Split(best, done)) => {
                let _ = found.try_set(JointBest { best: best.map(|best| *best), running: !done, ended: done });
            }
            JobProgress::Failed => {
                let _ = found.try_update(|found| found.running = false);
            }
            _ => {}
        });
        requested.set_value(Some(request));
    };
    let result = view_of(move || match state.evaluation() {
        Some(own) => bounds::joint(&found.get(), &own),
        None => Node::none(),
    });
    let running = move || found.with(|found| found.running);
    view! {
        <div class="joint">
            <h3>{say("Joint search")}</h3>
            <p class="muted">{say("Split of layers and order together, each rank with as many micro-batches as the \
                fullest rank of this run holds.")}</p>
            <button on:click=press>
                <span hidden=flag(running)>{say("Search splits and orders")}</span>
                <span hidden=flag(move || !running())>{say("Stop")}</span>
            </button>
            <div use:patched=result></div>
        </div>
    }
    .into_any()
}
