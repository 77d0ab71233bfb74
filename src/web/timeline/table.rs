//! The fold with every schedule, which the worker evaluates one after the other while it is open.

use crate::core::report::{ScheduleRow, schedule_ids, schedule_row, schedule_row_with};
use crate::core::run::{OneOf, Run};
use crate::view::panels::schedules::table;
use crate::web::html::effect;
use crate::web::i18n::say;
use crate::web::panel::is_open;
use crate::web::render::patched;
use crate::web::state::State;
use crate::web::worker::{Job, Progress, Reply, Request, request};
use leptos::prelude::*;

pub fn schedules(state: State) -> AnyView {
    let open = RwSignal::new(false);
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
    let content = Signal::derive(move || {
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
    });
    view! {
        <details class="data-table" id="schedules" on:toggle=move |event| open.set(is_open(&event))>
            <summary>{say("All schedules for this run")}</summary>
            <div use:patched=content></div>
        </details>
    }
    .into_any()
}
