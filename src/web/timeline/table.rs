//! The fold with every schedule, which the worker evaluates one after the other while it is open.

use crate::core::report::{ScheduleRow, schedule_ids, schedule_row, schedule_row_with};
use crate::core::run::{OneOf, Run};
use crate::view::node::markup::Node;
use crate::view::panels::schedules::table;
use crate::web::html::{effect, flag};
use crate::web::i18n::say;
use crate::web::panel::part;
use crate::web::state::State;
use crate::web::worker::{Job, Progress, Reply, Request, request};
use leptos::prelude::*;

pub fn schedules(state: State) -> AnyView {
    let title = say("All schedules for this run");
    part(
        Some("schedules"),
        "fold",
        title,
        flag(|| false),
        move |open| rows(state, open),
    )
}

/// The table; its rows are requested while `open`.
fn rows(state: State, open: Signal<bool>) -> Signal<Node> {
    // The Run that was asked about, the request, and the rows that have arrived.
    let rows = RwSignal::new((Run::default(), Vec::<ScheduleRow>::new()));
    let requested = StoredValue::new(None::<Request>);
    let wanted = Memo::new(move |_| {
        let evaluation = open.get().then(|| state.evaluation()).flatten()?;
        Some(evaluation.scenario.run.clone())
    });
    effect(move || {
        if let Some(request) = requested.get_value() {
            request.cancel();
        }
        let Some(run) = wanted.get() else {
            return;
        };
        rows.set((run.clone(), Vec::new()));
        let mut ids = schedule_ids();
        let request = request(Job::AllSchedules(run.clone()), move |progress| {
            let Progress::Reply(Reply::Schedule(figures)) = progress else {
                return;
            };
            let row = ids.next().and_then(|id| match figures {
                Some(figures) => schedule_row_with(&run, id, Ok(figures)),
                // Why it cannot run is found before anything is simulated.
                None => schedule_row(&run, id),
            });
            let _ = rows.try_update(|(_, rows)| rows.extend(row));
        });
        requested.set_value(Some(request));
    });
    Signal::derive(move || {
        rows.with(|(run, rows)| {
            let left = schedule_ids().count() - rows.len();
            table(
                rows,
                run.schedule.id(),
                state.chosen.get().sort,
                state.unit.get(),
                left,
            )
        })
    })
}
