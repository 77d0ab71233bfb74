//! What follows from a Run, as the page sees it: made at once where the page can, and in the back room where the
//! schedule is a rarer one or its ops are many, so that typing never waits.

use crate::core::issue::Issue;
use crate::core::report::{Evaluation, evaluate, evaluate_timed, needs_worker};
use crate::core::run::Run;
use crate::web::back;
use leptos::prelude::*;
use std::sync::Arc;

/// What is shown: the last Run that made sense, and what is wrong with the present one.
#[derive(Clone)]
pub struct Shown {
    /// The last good evaluation; none where there was none yet.
    pub evaluation: Option<Arc<Evaluation>>,
    /// Nothing made sense yet: the evaluation is the default Run's.
    pub stands_in: bool,
    /// What keeps the present Run from being shown.
    pub errors: Vec<Issue>,
    /// The present Run is still being simulated: the evaluation is an earlier one's.
    pub waits: bool,
}

type Made = Result<Arc<Evaluation>, Vec<Issue>>;

/// What follows from `run`, as it changes; errors and waiting keep the last good evaluation.
pub fn evaluated(run: impl Fn() -> Option<Run> + Send + Sync + 'static) -> Memo<Shown> {
    follow(Signal::derive(run))
}

fn follow(run: Signal<Option<Run>>) -> Memo<Shown> {
    let arrived = RwSignal::new(None::<(Run, Made)>);
    let asking = StoredValue::new(false);
    // One question at a time: whatever was typed meanwhile is asked when the answer is there.
    Effect::new(move |_| {
        let known = arrived.with(|made| made.as_ref().map(|(run, _)| run.clone()));
        let wanted = run.get().filter(needs_worker);
        if let Some(wanted) = wanted
            && known.as_ref() != Some(&wanted)
            && !asking.get_value()
        {
            asking.set_value(true);
            leptos::task::spawn_local(async move {
                let timed = back::timed(&wanted).await;
                let made = timed.and_then(|timed| evaluate_timed(&wanted, timed).map(Arc::new));
                // The panel may be gone by now.
                if asking.try_set_value(false).is_none() {
                    arrived.set(Some((wanted, made)));
                }
            });
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
            let made = if needs_worker(&run) {
                arrived.with(|made| {
                    let made = made.as_ref().filter(|(known, _)| *known == run);
                    made.map(|(_, made)| made.clone())
                })
            } else {
                Some(evaluate(&run).map(Arc::new))
            };
            match made {
                Some(Ok(evaluation)) => shown(Some(evaluation)),
                Some(Err(errors)) => {
                    let mut last = last(errors);
                    if last.evaluation.is_none() {
                        last.evaluation = evaluate(&Run::default()).ok().map(Arc::new);
                        last.stands_in = true;
                    }
                    last
                }
                None => Shown {
                    waits: true,
                    ..last(Vec::new())
                },
            }
        },
        |_, _| true,
    )
}

fn shown(evaluation: Option<Arc<Evaluation>>) -> Shown {
    Shown {
        evaluation,
        stands_in: false,
        errors: Vec::new(),
        waits: false,
    }
}
