//! The fold with every schedule, which the worker evaluates one after the other while it is open.

use crate::core::report::{ScheduleRow, schedule_ids, schedule_row, schedule_row_with};
use crate::core::run::{OneOf, Run};
use crate::view::schedules::{Sort, table};
use crate::web::browser;
use crate::web::html::text;
use crate::web::state::State;
use crate::web::worker::{Job, Progress, Reply, Request, request};
use leptos::prelude::*;
use wasm_bindgen::JsCast;

pub fn schedules(state: State) -> AnyView {
    let open = RwSignal::new(false);
    let sort = RwSignal::new(Sort::default());
    // The Run that was asked about, the request, and the rows that have arrived.
    let rows = RwSignal::new((Run::default(), Vec::<ScheduleRow>::new()));
    let requested = StoredValue::new(None::<Request>);
    let wanted = Memo::new(move |_| {
        let evaluation = open.get().then(|| state.evaluation()).flatten()?;
        Some(evaluation.scenario.run.clone())
    });
    Effect::new(move |_| {
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
    let content = text(move || {
        rows.with(|(run, rows)| {
            let left = schedule_ids().count() - rows.len();
            table(rows, run.schedule.id(), sort.get(), state.unit.get(), left).to_html()
        })
    });
    let pressed = move |event: web_sys::MouseEvent| {
        if let Some((key, button)) = browser::pressed_data(&event, "data-sort") {
            sort.update(|sort| *sort = sort.pressed(&key));
            browser::focus_again(&button, "data-sort");
        }
    };
    let toggled = move |event: leptos::ev::Event| {
        let fold = event
            .target()
            .and_then(|target| target.dyn_into::<web_sys::Element>().ok());
        open.set(fold.is_some_and(|fold| fold.has_attribute("open")));
    };
    view! {
        <details class="twin" id="schedules" on:toggle=toggled on:click=pressed>
            <summary>"All schedules for this run"</summary>
            <div inner_html=content></div>
        </details>
    }
    .into_any()
}
