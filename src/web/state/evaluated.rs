//! Evaluation of a Run, as the page shows it. Figures are computed at once, or by the worker where that takes long; ops
//! are simulated apart from them, by the worker where they are many, so that neither typing nor figures wait for
//! pictures.

use crate::core::issue::Issue;
use crate::core::report::{Evaluation, MAX_OPS_AT_ONCE, evaluate, evaluate_timed, needs_worker};
use crate::core::run::Run;
use crate::core::search::ladder::Ladder;
use crate::web::browser::after_paint;
use crate::web::browser::html::effect;
use crate::web::late::{Late, parts};
use crate::web::worker::{Job, JobProgress, JobRequest, Reply, request};
use leptos::prelude::*;
use std::sync::Arc;

parts! {
    views: layout_instead(run: Run) -> Option<Run> = Ladder::stand_in(&run);
}

/// The last valid evaluation, and the errors of the present Run.
#[derive(Clone)]
pub(crate) struct Shown {
    /// The last valid evaluation; none where there was none yet.
    pub evaluation: Option<Arc<Evaluation>>,
    /// There was no valid Run yet: the evaluation is of the present one in another layout, which is proposed.
    pub stands_in: bool,
    /// Errors that keep the present Run from being shown.
    pub errors: Vec<Issue>,
    /// The present Run is still being simulated: the evaluation is an earlier one's.
    pub waits: bool,
}

type Evaluated = Result<Arc<Evaluation>, Vec<Issue>>;

/// Evaluation of `run`, as it changes; errors and waiting keep the last valid evaluation.
pub fn evaluated(run: impl Fn() -> Option<Run> + Send + Sync + 'static) -> Memo<Shown> {
    follow(Signal::derive(run))
}

fn follow(run: Signal<Option<Run>>) -> Memo<Shown> {
    let late = Late::new();
    let arrived = RwSignal::new(None::<(Run, Evaluated)>);
    let requested = StoredValue::new(None::<(Run, JobRequest)>);
    effect(move || {
        let wanted = run.get().filter(needs_worker);
        if let Some((before, request)) = requested.get_value() {
            if wanted.as_ref() == Some(&before) {
                return;
            }
            request.cancel();
            requested.set_value(None);
        }
        let has_arrived = arrived.with_untracked(|arrived| {
            let run = arrived.as_ref().map(|(run, _)| run);
            run == wanted.as_ref()
        });
        if let Some(wanted) = wanted
            && !has_arrived
        {
            let job = Job::Evaluate(wanted.clone());
            let run = wanted.clone();
            let request = request(job, move |progress| {
                let result = match progress {
                    JobProgress::Reply(Reply::Evaluated(Some(timed))) => evaluate_timed(&run, timed),
                    // Its errors are found before anything is simulated.
                    JobProgress::Reply(_) => evaluate(&run),
                    JobProgress::Failed => Err(vec![Issue::error("schedule", FAILED)]),
                    JobProgress::Done => return,
                };
                // The panel may be gone by now.
                let _ = arrived.try_set(Some((run.clone(), result.map(Arc::new))));
            });
            requested.set_value(Some((wanted, request)));
        }
    });
    Memo::new_with_compare(
        move |before: Option<&Shown>| {
            let last = |errors| Shown {
                evaluation: before.and_then(|before| before.evaluation.clone()),
                stands_in: before.is_some_and(|before| before.stands_in),
                waits: false,
                errors,
            };
            let Some(run) = run.get() else {
                return shown(None);
            };
            let evaluated = if needs_worker(&run) {
                arrived.with(|arrived| {
                    let arrived = arrived.as_ref().filter(|(of, _)| *of == run);
                    arrived.map(|(_, evaluated)| evaluated.clone())
                })
            } else {
                Some(evaluate(&run).map(Arc::new))
            };
            match evaluated {
                Some(Ok(evaluation)) => shown(Some(evaluation)),
                Some(Err(errors)) => {
                    let mut last = last(errors);
                    if last.evaluation.is_none() || last.stands_in {
                        let proposed = late.value(layout_instead(run.clone())).ok().flatten().flatten();
                        let proposal = proposed.and_then(|run| evaluate(&run).ok());
                        last.stands_in = proposal.is_some();
                        last.evaluation = proposal.map(Arc::new);
                    }
                    last
                }
                None => Shown { waits: true, ..last(Vec::new()) },
            }
        },
        |_, _| true,
    )
}

/// The last valid evaluation once a frame with its key figures has been painted; the first one at once. What shows many
/// elements follows it, so that the figures do not wait for their layout.
pub fn painted(shown: Memo<Shown>) -> RwSignal<Option<Arc<Evaluation>>> {
    let latest = move || shown.with_untracked(|shown| shown.evaluation.clone());
    let painted = RwSignal::new(latest());
    let take = move || {
        let now = latest();
        if differ(Some(&painted.get_untracked()), Some(&now)) {
            painted.set(now);
        }
    };
    effect(move || {
        shown.track();
        if painted.with_untracked(Option::is_none) { take() } else { after_paint(take) }
    });
    painted
}

/// The evaluation whose ops can be drawn: at once where they are few, else once the worker has simulated them. What was
/// drawn before stays until then. And whether the worker has failed.
pub fn drawn(
    of: impl Fn() -> Option<Arc<Evaluation>> + Send + Sync + 'static,
) -> (Memo<Option<Arc<Evaluation>>>, Signal<bool>) {
    let latest = Signal::derive(of);
    let latest = Memo::new_with_compare(move |_| latest.get(), differ);
    let (arrived, failed) = (RwSignal::new(()), RwSignal::new(false));
    let requested = StoredValue::new(None::<JobRequest>);
    effect(move || {
        if let Some(request) = requested.get_value() {
            request.cancel();
            requested.set_value(None);
        }
        if failed.get_untracked() {
            failed.set(false);
        }
        let Some(evaluation) = latest.get().filter(|evaluation| !is_ready(evaluation)) else {
            return;
        };
        let job = Job::Simulate(evaluation.scenario.run.clone());
        let request = request(job, move |progress| {
            // The panel may be gone by now.
            if let JobProgress::Reply(Reply::Simulated(Some(times))) = progress {
                evaluation.keep_timeline(&times);
                let _ = arrived.try_set(());
            } else if matches!(progress, JobProgress::Failed) {
                let _ = failed.try_set(true);
            }
        });
        requested.set_value(Some(request));
    });
    let drawn = Memo::new_with_compare(
        move |before: Option<&Option<Arc<Evaluation>>>| {
            arrived.track();
            let evaluation = latest.get()?;
            if is_ready(&evaluation) { Some(evaluation) } else { before.cloned().flatten() }
        },
        differ,
    );
    (drawn, failed.into())
}

/// True if its ops are simulated, or are so as quickly as a frame is painted.
fn is_ready(evaluation: &Evaluation) -> bool {
    evaluation.has_timeline() || evaluation.order.items() as u64 <= MAX_OPS_AT_ONCE
}

fn differ(before: Option<&Option<Arc<Evaluation>>>, now: Option<&Option<Arc<Evaluation>>>) -> bool {
    let pointer = |of: Option<&Option<Arc<Evaluation>>>| of.and_then(Option::as_ref).map(Arc::as_ptr);
    pointer(before) != pointer(now)
}

/// Why there is no simulation where the worker ended.
pub(crate) const FAILED: &str =
    "the simulation ended with a fault, likely for lack of memory: fewer micro-batches or stages would do";

fn shown(evaluation: Option<Arc<Evaluation>>) -> Shown {
    Shown { evaluation, stands_in: false, errors: Vec::new(), waits: false }
}
